"""Two traces in lockstep: how they are aligned and what is said of their differences."""

import itertools
import os
import subprocess
import sys

import pytest
import samples
from test_views import needs_node, run

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets.wire import decode


def diamond(a):
    b = a * a
    c = b * 3
    return b * c


def recorded(fn):
    a = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        fn(a).backward()
    return trace


def wrong(order):
    return lab.wrong_order(diamond, torch.tensor(2.0, requires_grad=True), order=order)


def with_detach(a):
    b = a * a
    c = (b * 3).detach()
    return b * c


def with_no_grad(a):
    b = a * a
    with torch.no_grad():
        c = b * 3
    return b * c


def check(comparison):
    """What holds of every comparison: both sides go from start to end, step by step, and every step is shown."""
    a, b = comparison.traces
    pairs = comparison.pairs
    assert pairs[0] == (0, 0)
    assert pairs[-1] == (len(a), len(b))
    for (i, j), (i2, j2) in itertools.pairwise(pairs):
        assert (i2 - i, j2 - j) in {(1, 1), (1, 0), (0, 1)}
    for d in comparison.differences:
        assert pairs[d.position] == (d.a, d.b)
    return {d.kind for d in comparison.differences}, [d.text for d in comparison.differences]


def test_the_same_twice():
    comparison = lab.compare(recorded(diamond), recorded(diamond))
    assert check(comparison) == (set(), [])
    assert repr(comparison) == "Comparison(trace a: 35 steps; trace b: 35 steps; 0 differences)"
    assert comparison.pairs == [(k, k) for k in range(36)]


@pytest.mark.parametrize(("order", "grad"), [("visit-once", 24), ("breadth-first", 48)])
def test_the_engine_and_a_wrong_order(order, grad):
    comparison = lab.compare(recorded(diamond), wrong(order), labels=("right", "wrong"))
    kinds, texts = check(comparison)
    assert texts[0] == f'a.grad in the end: 96 in "right", {grad} in "wrong".'
    assert any(
        "MulBackward0 #1 will run with 1 of its 2 messages" in t and t.startswith('Only in "wrong"')
        for t in texts
    )
    assert any("this message is lost" in t for t in texts)
    assert kinds >= {"result", "only b"}
    backward = [e["k"] for e in comparison.traces[0].events].index("backward") + 1
    first = min(d.position for d in comparison.differences)
    assert comparison.pairs[first][0] > backward  # the forward passes are the same


def test_path_recursion_is_right_in_the_end():
    _, texts = check(lab.compare(recorded(diamond), wrong("path-recursion")))
    assert not any("in the end" in t for t in texts)
    assert any("for this message alone" in t for t in texts)


@pytest.mark.parametrize(("other", "words"), [(with_no_grad, "under no_grad"), (with_detach, "detached")])
def test_with_and_without_history(other, words):
    comparison = lab.compare(recorded(diamond), recorded(other), labels=("without", "with"))
    _, texts = check(comparison)
    assert texts[0] == 'a.grad in the end: 96 in "without", 48 in "with".'
    assert any(words in t for t in texts)


def test_keeping_the_graph_is_no_difference_in_what_is_computed():
    def kept():
        a = torch.tensor(2.0, requires_grad=True)
        with lab.record() as trace:
            diamond(a).backward(retain_graph=True)
        return trace

    comparison = lab.compare(recorded(diamond), kept())
    assert check(comparison) == (set(), [])
    assert len(comparison.traces[0]) > len(
        comparison.traces[1]
    )  # the steps that free are still walked through


def test_another_number_in_the_same_place():
    comparison = lab.compare(recorded(lambda a: a * 3), recorded(lambda a: a * 4))
    kinds, texts = check(comparison)
    assert "value" in kinds
    assert 'a.grad in the end: 3 in "trace a", 4 in "trace b".' in texts
    assert any(t == 'a.grad: 3 in "trace a", 4 in "trace b".' for t in texts)


def test_nodes_are_told_apart_by_their_place_in_the_program():
    """A longer program has other node numbers; its common part is still the same."""
    comparison = lab.compare(recorded(lambda a: (a * 2) * a), recorded(lambda a: (a * 2) * a * 5))
    _, texts = check(comparison)
    only = [d for d in comparison.differences if d.kind == "only b"]
    assert only
    assert not any(d.kind == "other" and d.a < 5 for d in comparison.differences), texts


def test_walking():
    comparison = lab.compare(recorded(diamond), wrong("breadth-first"), labels=("right", "wrong"))
    assert comparison.steps == (0, 0)
    assert comparison.step(3).steps == (3, 3)
    stops = sorted({d.position for d in comparison.differences})
    seen = []
    comparison.first()
    while comparison.position < len(comparison.pairs) - 1:
        seen.append(comparison.next_difference().position)
    assert seen == stops
    assert comparison.previous_difference().position == stops[-2]
    assert comparison.back(1000).position == 0
    assert comparison.last().steps == (35, 32)
    assert comparison.narration[0].startswith("The queue is empty")
    with pytest.raises(TypeError, match="compare\\(\\) takes two traces, not int"):
        lab.compare(recorded(diamond), 3)
    with pytest.raises(ValueError, match="two traces: labels"):
        lab.compare(recorded(diamond), recorded(diamond), labels=("one",))


def test_what_is_kept_without_widgets():
    comparison = lab.compare(recorded(diamond), wrong("breadth-first"), labels=("right", "<wrong>"))
    text, html = comparison.to_text(), comparison.to_html()
    assert text.splitlines()[0] == repr(comparison)
    assert len(text.splitlines()) == 1 + len(comparison.differences)
    assert html.count("data:image/svg+xml;base64,") == 2
    assert "&lt;wrong&gt;" in html
    assert "<wrong>" not in html
    assert decode(comparison._films[1])["steps"] == 32
    assert set(comparison._repr_mimebundle_()[0]) >= {"text/plain", "text/html"}


def test_steppers_can_be_compared():
    comparison = lab.compare(lab.step(samples.diamond()), lab.step(samples.twice()))
    assert check(comparison)[1][0] == 'a.grad in the end: 96 in "trace a", 192 in "trace b".'


@needs_node
def test_pairs_in_the_browser(tmp_path):
    comparison = lab.compare(recorded(diamond), wrong("breadth-first"))
    flat, differences = comparison._pairs, comparison._differences
    script = """const p = new Pairs(docs[0], docs[1]), all = [...Array(p.last + 1).keys()];
      return [all.map((i) => p.at(i)), all.map((i) => p.alone(i)), all.map((i) => [p.stop(i, 1), p.stop(i, -1)]),
        [0, 1].map((side) => all.map((i) => p.find(side, p.at(i)[side])))];"""
    pairs, alone, stops, found = run(tmp_path, script, flat, differences)
    assert [tuple(pair) for pair in pairs] == comparison.pairs
    for p, who in enumerate(alone):
        if p:
            moved = [pairs[p][side] != pairs[p - 1][side] for side in (0, 1)]
            assert who == (-1 if all(moved) else moved.index(True))
    for p, (after, before) in enumerate(stops):
        assert comparison.goto(p).next_difference().position == after
        assert comparison.goto(p).previous_difference().position == before
    for side in (0, 1):
        for p, first in enumerate(found[side]):
            assert pairs[first][side] == pairs[p][side]
            assert first == 0 or pairs[first - 1][side] < pairs[p][side]


def test_lab_does_not_load_widgets_for_compare():
    code = (
        "import sys; from autograd_lab import lab; assert lab.compare; assert 'anywidget' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, env=dict(os.environ))


def test_two_tensors_of_one_name_have_gradients_of_their_own():
    """W after an update that detaches is a leaf, after one that does not it is none: only the first w was compared."""

    def computed(w):
        (w * w).backward()
        w = w - 0.1 * w.grad
        return w * w

    def detached(w):
        (w * w).backward()
        w = (w - 0.1 * w.grad).detach().requires_grad_()
        return w * w

    traces = []
    for program in (computed, detached):
        with lab.record() as trace:
            program(torch.tensor(3.0, requires_grad=True)).backward()
        traces.append(trace)
    _, texts = check(lab.compare(*traces, labels=("as it is", "detached")))
    assert 'w₁.grad in the end: 10.8 in "as it is", 6 in "detached".' in texts
    assert 'w₂.grad in the end: None in "as it is", 4.8 in "detached".' in texts
