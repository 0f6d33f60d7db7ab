"""A long trace is opened in two stages where a page waits for it, and ends up as one that was opened at once."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
import samples
from film_on_page import film_on_page

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace
from autograd_lab.tracing.builder import Builder
from autograd_lab.widgets import opening, step
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.stepper import Stepper
from autograd_lab.widgets.wire import decode


def long_recording(n: int = 330) -> Any:
    w = torch.tensor(1.01, requires_grad=True)
    with lab.record("long") as trace:
        y = w
        for _ in range(n):
            y = y * w
        y.backward()
    return trace


class Shell:
    """As much of IPython as opening a trace asks for: a cell that a page wants to be run."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.kernel = SimpleNamespace(get_parent=lambda: {"metadata": metadata})
        self.callbacks: list[Any] = []
        self.events = SimpleNamespace(
            register=lambda name, fn: self.callbacks.append(fn),
            unregister=lambda name, fn: self.callbacks.remove(fn),
        )

    def end_cell(self) -> None:
        for fn in list(self.callbacks):
            fn(None)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell({"cellId": "a1"})
    monkeypatch.setattr(opening, "_shell", lambda: shell)
    monkeypatch.setattr(opening, "_PENDING", [])
    return shell


def test_a_page_gets_the_beginning_first_and_all_when_the_cell_is_over(
    page: Shell, monkeypatch: pytest.MonkeyPatch
):
    trace = long_recording()
    s = step(trace)
    first = decode(s._film)
    assert trace._recorder._lists is None  # the trace itself has not been built for that
    assert (first["coming"], s.is_complete) == (-1, False)
    assert 100 < first["steps"] <= opening.BEGINNING
    page.end_cell()
    assert s.is_complete
    assert page.callbacks == []
    monkeypatch.setattr(opening, "_shell", lambda: None)
    whole = step(Trace.from_json(trace.to_json()))
    assert decode(s._film) == decode(whole._film)
    assert "coming" not in s.film
    assert s._still == whole._still
    assert s._quiz  # so that the questions need no kernel, which may be at work in other cells
    assert s.to_html() == whole.to_html()


def test_a_trace_that_is_built_is_cut(page: Shell):
    trace = Trace.from_json(long_recording().to_json())
    s = step(trace)
    first = decode(s._film)
    assert (first["steps"], first["coming"]) == (opening.BEGINNING, len(trace))
    s.goto(10**6)
    page.end_cell()
    assert s.position == len(trace)


@pytest.mark.parametrize("make", [samples.chain, samples.big])
def test_the_beginning_of_any_trace_can_be_drawn(make):
    trace = make(60)
    for steps in range(1, len(trace), 7):
        cut = opening.cut(trace, steps)
        Trace.from_json(cut.to_json())  # which checks every reference
        assert film(cut)["steps"] == steps


def test_where_no_page_waits_all_is_made_at_once(monkeypatch: pytest.MonkeyPatch):
    trace = long_recording()
    for shell in (None, Shell({}), SimpleNamespace()):
        monkeypatch.setattr(opening, "_shell", lambda shell=shell: shell)
        assert step(trace).is_complete
    monkeypatch.setattr(opening, "_shell", lambda: Shell({"cellId": "a1"}))
    monkeypatch.setenv("AUTOGRAD_LAB_STATIC", "1")
    assert step(trace).is_complete


def test_what_python_asks_for_is_there_at_once(page: Shell, tmp_path):
    trace = long_recording()
    s = step(trace)
    assert s.next_node().position == s.film["stops"][0]
    s.save_html(tmp_path / "a.html")
    assert s.is_complete
    page_now = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert s._film in page_now
    s.mode = "predict"
    assert s.question


def test_displaying_leaves_the_same_outputs(page: Shell, monkeypatch: pytest.MonkeyPatch):
    outputs: list[dict[str, Any]] = []

    def display(data, raw=False, display_id=None):
        outputs.append(dict(data))
        place = outputs[-1]
        return SimpleNamespace(update=lambda data, raw=False: (place.clear(), place.update(data)))

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: page)
    trace = long_recording()
    s = step(trace)
    s._ipython_display_()
    assert s.is_complete
    staged, outputs = outputs[:], []
    page.end_cell()

    def again(data, raw=False, display_id=None):
        outputs.append(dict(data))

    monkeypatch.setattr("IPython.display.display", again)
    monkeypatch.setattr(opening, "_shell", lambda: None)
    step(Trace.from_json(trace.to_json()))._ipython_display_()
    assert [list(data) for data in staged] == [list(data) for data in outputs]
    assert staged[0] == outputs[0]


def test_an_input_of_a_long_run_can_be_changed(page: Shell):
    def f(x):
        y = x
        for _ in range(330):
            y = y * 1.001
        return y

    s = step(f, torch.tensor(2.0, requires_grad=True))
    assert not s.is_complete
    page.end_cell()
    assert [one["name"] for one in s._inputs] == ["x"]
    before = film_on_page(s)
    s.edit("x", 3.0)
    assert film_on_page(s) != before
    assert isinstance(s, Stepper)


def test_a_message_of_the_page_waits_for_the_rest(page: Shell, monkeypatch: pytest.MonkeyPatch):
    """JupyterLab hands it to another thread of the kernel while the cell is at work: the trace must not be built twice at once."""
    s = step(long_recording())
    build, inside, threads = Builder.build, threading.Event(), []

    def slow(self, notes):
        threads.append(threading.get_ident())
        inside.set()
        time.sleep(0.2)  # the other thread gets its turn here
        return build(self, notes)

    def move():
        inside.wait(10)
        s.set_state({"position": 7})

    monkeypatch.setattr(Builder, "build", slow)
    other = threading.Thread(target=move)
    other.start()
    page.end_cell()
    other.join(10)
    assert threads == [threading.get_ident()]
    assert (s.is_complete, s.position) == (True, 7)
