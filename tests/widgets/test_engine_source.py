"""The engine's source beside the program: the line that is lit is the statement that had run when the event was told."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.autograd.modes import THREAD
from autograd_lab.autograd.watch import Watch
from autograd_lab.core import engine
from autograd_lab.widgets.engine_source import listing, ran
from autograd_lab.widgets.frames import film

FILE = engine.__file__
LINES = {number: text for number, text in listing()["lines"] if number}
AT = listing()["at"]


def test_what_is_shown_is_the_page():
    page = Path(FILE).read_text(encoding="utf-8").splitlines()
    for number, text in LINES.items():
        assert page[number - 1].partition("  # event: ")[0] == ("    " + text if text else "")
    assert "heappop(ready)" in LINES[AT["pop"]]
    assert "heappush" in LINES[AT["push"]]
    assert "._vjp(" in LINES[AT["vjp"]]
    assert not any("# event" in text for text in LINES.values())


def test_it_is_small():
    assert len(json.dumps(listing())) <= 12_000


EVENTS = {  # what the watcher is told, and the kind of event that the trace makes of it
    "pass_started": "backward", "popped": "pop", "applied": "vjp", "released": "free", "pruned": "pruned", "delivered": "deliver",
    "pushed": "push", "pass_done": "done",
}  # fmt: skip


class Listener(Watch):
    """Notes for each event the last marked line of the engine's page that ran before it."""

    def __init__(self):
        self.last = None
        self.told = []

    def trace(self, frame, event, _):
        if frame.f_code.co_filename != FILE:
            return None
        self.note(frame, event)
        return self.note

    def note(self, frame, event, _=None):
        if event == "line" and frame.f_lineno in AT.values():
            self.last = frame.f_lineno
        return self.note


def listening(verb, kind):
    def told(self, *arguments):
        sent_by = arguments[1] if verb == "delivered" else 0
        self.told.append(("seed" if sent_by is None else kind, self.last))

    return told


for verb, kind in EVENTS.items():
    setattr(Listener, verb, listening(verb, kind))


def running(self, *_):
    """Hooks run within the statement that is marked: note where the loop is."""
    frame = sys._getframe(1)
    while frame.f_code.co_name != "_loop":
        frame = frame.f_back
    self.told.append(("hook", frame.f_lineno))


Listener.hooked = Listener.retained = running

OPERATIONS = [
    lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a.tanh(), lambda a, b: a - b.detach(), lambda a, b: (a * 2).sum() * b,
    lambda a, b: torch.stack([a, b]).unbind()[1] + a,
]  # fmt: skip
GRAPHS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(GRAPHS, st.booleans())
def test_a_marked_statement_runs_right_before_its_event(steps, hooked):
    made = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.5, 3.0], requires_grad=True)]
    for operation, i, j in steps:
        made.append(OPERATIONS[operation](made[i % len(made)], made[j % len(made)]))
    if hooked:
        made[-1].register_hook(lambda g: g * 2)
        made[0].register_hook(lambda g: g * 2)
        made[0].register_post_accumulate_grad_hook(lambda t: None)
        if made[-1].grad_fn is not None:
            made[-1].retain_grad()
            made[-1].grad_fn.register_hook(lambda given, sent: None)
    loss = made[-1].sum()
    ear, state = Listener(), THREAD.state
    state.watch = ear
    state.refresh()
    before = sys.gettrace()
    sys.settrace(ear.trace)
    try:
        loss.backward()
    finally:
        sys.settrace(before)
        state.watch = None
        state.refresh()
    assert {kind for kind, _ in ear.told} >= {"backward", "seed", "push", "pop", "vjp", "done"}
    assert hooked is ("hook" in {kind for kind, _ in ear.told})
    for kind, line in ear.told:
        assert line == AT[kind], f"{kind} was told after {LINES[line].strip()}"


def test_films_of_other_engines_have_none():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        (x * x).backward()
    assert ran(trace)
    assert film(trace)["engine"] == listing()
    with lab.record() as forward_only:
        x * 2
    assert "engine" not in film(forward_only)
    wrong = lab.wrong_order(lambda x: (x * x) * x, torch.tensor(2.0, requires_grad=True), order="visit-once")
    for trace in wrong if isinstance(wrong, tuple) else (wrong,):
        assert ran(trace) is not any(e.get("engine") for e in trace.events)


def test_pytorchs_loop_is_not_ours():
    real = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
    with lab.record_torch() as trace:
        x = real.tensor(2.0, requires_grad=True)
        (x * x).backward()
    assert not ran(trace)
    assert "engine" not in film(trace)
