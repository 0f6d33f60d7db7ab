"""A message shown is the message that was sent, whatever user code does with it: at that moment, later, or to another one.

`CASES` is a product of tables: what the code does x where it is attached x which graph x create_graph x retain_grad, each in two
passes, of which the first is all that a single one would be. `Oracle` works out what happens in each, on plain NumPy arrays and with no help from the engine, and copies every number
when it is used; the traces of both recorders must tell exactly that. Besides, the traces of all other programs must agree with
themselves (see invariants.py).
"""

import importlib.util
import itertools
import math
import sys
import warnings
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import random_programs as programs
import samples
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from invariants import check
from torch_programs import PROGRAMS

import autograd_lab
import autograd_lab.utils.checkpoint
from autograd_lab import lab

sys.path.append(str(Path(__file__).parents[1] / "core"))
from test_random_programs import same

pytestmark = pytest.mark.slow  # the product of its tables is played, each case on a graph of its own

HAS_TORCH = importlib.util.find_spec("torch") is not None


def times(g, factor):
    g *= factor  # in place, for tensors and arrays alike


def plain(g):
    return g if isinstance(g, np.ndarray) else g.detach()


ACTIONS = {  # what user code does with a gradient that it is handed; `kept` is written when the pass is over
    "looks": lambda g, kept: None,
    "keeps": lambda g, kept: kept.append(g),
    "writes": lambda g, kept: times(g, -2.0),
    "writes a detached alias": lambda g, kept: times(plain(g), -2.0),
    "writes through NumPy": lambda g, kept: times(np.asarray(plain(g)), -2.0),
    "writes and returns": lambda g, kept: (times(g, 0.5), g)[1],
    "writes and returns a view": lambda g, kept: (times(g, 0.5), g[:])[1],
    "returns": lambda g, kept: g * 2 + 1,
    "returns and keeps": lambda g, kept: (kept.append(g * 2), kept[-1])[1],
    "writes what it kept before": lambda g, kept: (times(kept[0], 4.0) if kept else None, kept.append(g))[0],
}
PLACES = [
    "x", "w", "h", "pre h", "post h", "pre x", "post x", "x.grad", "backward", "pre out", "post out",
    "v later", "x.grad later", "h.grad later", "grad()",
]  # fmt: skip
GRAPHS = ["chain", "product", "shared"]


class Case(NamedTuple):
    place: str
    action: str
    graph: str
    create_graph: bool
    retain: bool


CASES = [
    Case(*case)
    for case in itertools.product(PLACES, ACTIONS, GRAPHS, (False, True), (False, True))
    if case[1] == "writes"
    or not (case[0].endswith("later") or case[0] == "grad()")  # these only write, and later
]
PASSES_OF_A_CASE = 2
X, W, V = [1.0, -2.0], [3.0, 0.5], [1.0, 2.0]


def play(torch, recorder, case):
    """The trace of one case."""
    kept = []

    def act(g):
        return ACTIONS[case.action](g, kept)

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 5

        @staticmethod
        def backward(ctx, g):
            made = act(g) if case.place == "backward" else None
            return g * 5 if made is None else made

    def before(grads):
        made = act(grads[0])
        return None if made is None else (made, *grads[1:])

    def after(grads, given):
        made = act((grads or given)[0])
        return None if made is None or not grads else (made, *grads[1:])

    x, w = (torch.tensor(data, dtype=torch.float64, requires_grad=True) for data in (X, W))
    v = torch.tensor(V, dtype=torch.float64)
    with recorder() as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        h = x + w if case.graph == "shared" else x * w
        y = Scale.apply(h)
        out = {"chain": lambda: y * 3, "product": lambda: y * x, "shared": lambda: y + h}[case.graph]()
        if case.retain or case.place == "h.grad later":
            h.retain_grad()
        if case.place in ("x", "w", "h"):
            {"x": x, "w": w, "h": h}[case.place].register_hook(act)
        elif case.place == "x.grad":
            x.register_post_accumulate_grad_hook(lambda p: (act(p.grad), None)[1])
        elif case.place.startswith(("pre ", "post ")):
            stage, _, name = case.place.partition(" ")
            leaf = h.grad_fn.next_functions[0][0]
            node = {"x": leaf, "h": h.grad_fn, "out": out.grad_fn}[name]
            (node.register_prehook if stage == "pre" else node.register_hook)(
                before if stage == "pre" else after
            )
        for _ in range(PASSES_OF_A_CASE):
            if case.place == "grad()":
                results = torch.autograd.grad(
                    out, [x, w], v, retain_graph=True, create_graph=case.create_graph
                )
                kept += [*results, v]
            else:
                out.backward(v, retain_graph=True, create_graph=case.create_graph)
            later = {"v later": v, "x.grad later": x.grad, "h.grad later": h.grad if h.retains_grad else None}
            with torch.no_grad():
                for g in [*kept, *([later[case.place]] if case.place in later else [])]:
                    times(g, 0.25)
    return trace


class Oracle:
    """The same case on NumPy arrays: every event of its passes as (kind, node, copies of the numbers...).

    takes   whether a first `.grad` is the message itself if nobody else holds it, as in PyTorch: a post-hook then writes into both
    """

    def __init__(self, case, takes=False):
        self.case, self.kept, self.events = case, [], []
        self.takes = takes and case.graph != "shared" and case.place == "post x" and not case.create_graph
        self.data = {"x": np.array(X), "w": np.array(W)}
        first = "Add" if case.graph == "shared" else "Mul"
        last = "Add" if case.graph == "shared" else "Mul"
        h, y, out = f"{first}Backward0 1", "ScaleBackward 1", f"{last}Backward0 2"
        self.h, self.y, self.out = h, y, out
        self.data["h"] = (
            self.data["x"] + self.data["w"] if first == "Add" else self.data["x"] * self.data["w"]
        )
        self.data["y"] = self.data["h"] * 5
        self.edges = {
            h: ["x", "w"],
            y: [h],
            out: {"chain": [y, None], "product": [y, "x"], "shared": [y, h]}[case.graph],
        }
        self.grads = {}

    def rule(self, node, g):
        d = self.data
        if node == self.y:
            made = self.act(g) if self.case.place == "backward" else None
            return [g * 5 if made is None else made]
        if node == self.h:
            return [g, g] if self.case.graph == "shared" else [g * d["w"], g * d["x"]]
        return {
            "chain": lambda: [g * 3, None],
            "product": lambda: [g * d["x"], g * d["y"]],
            "shared": lambda: [g, g],
        }[self.case.graph]()

    def act(self, g):
        return ACTIONS[self.case.action](g, self.kept)

    def note(self, kind, node, *numbers):
        self.events.append((kind, node, *[copy(part) for part in numbers]))

    def others(self):
        """User code ran: what changed of the messages that wait?"""
        for node, g in self.buffers.items():
            if g.tolist() != self.noted[node]:
                self.note("shared", node, self.noted[node], g)
                self.noted[node] = g.tolist()

    def hook(self, stage, node, values, i=0):
        """User code gets `values[i]`, or what `i` is itself; what it returns takes that place."""
        before = copy(values)
        made = self.act(values[i] if isinstance(i, int) else i)
        if made is not None and isinstance(i, int) and stage != "post_accumulate":
            values = [*values[:i], made, *values[i + 1 :]]
        self.note(stage, node, before, values)
        self.others()
        return values

    def backward(self, v):
        place, captured = self.case.place, self.case.place == "grad()"
        self.buffers, self.noted = {}, {}
        waiting = {}
        for edges in self.edges.values():
            for to in edges:
                waiting[to] = waiting.get(to, 0) + 1
        self.note("seed", self.out, v)
        self.put(self.out, v)
        ready = [self.out]
        while ready:
            leaves = [node for node in ready if node in ("x", "w")]
            node = leaves[0] if leaves else max(ready, key=[self.h, self.y, self.out].index)
            ready.remove(node)
            got = [self.buffers.pop(node)]
            self.note("pop", node, got)
            if place == ("h" if node == self.h else node):
                got = self.hook("tensor", node, got)
            if node == self.h and (self.case.retain or place == "h.grad later"):
                self.grads["h"] = got[0].copy() if "h" not in self.grads else self.grads["h"] + got[0]
                self.note("retain", node, self.grads["h"])
            if node in ("x", "w") and captured:
                self.kept.append(got[0])
                continue
            if place == f"pre {({self.h: 'h', self.out: 'out'}).get(node, node)}":
                got = self.hook("pre", node, got)
            if node in ("x", "w"):
                old = copy(self.grads.get(node))
                if node in self.grads and not self.case.create_graph:
                    self.grads[node] += got[0]
                elif self.takes and node not in self.grads:
                    self.grads[node] = got[0]
                else:
                    self.grads[node] = got[0].copy() + self.grads.get(node, 0)
                self.note("accumulate", node, old, got[0], self.grads[node])
                if place == f"{node}.grad":
                    self.hook("post_accumulate", node, [self.grads[node]])
                if place == f"post {node}":
                    self.hook("post", node, [], got[0])
                continue
            given = copy(got)
            sent = self.rule(node, got[0])
            self.note("vjp", node, given, sent)
            self.others()
            if place == f"post {({self.h: 'h', self.out: 'out'}).get(node)}":
                sent = self.hook("post", node, sent)
            for i, (to, g) in enumerate(zip(self.edges[node], sent, strict=True)):
                if to is None:
                    continue
                old = self.buffers.get(to)
                total = g if old is None else old + g
                self.note("deliver", node, i, to, g, old, total)
                self.put(to, total)
                waiting[to] -= 1
                if not waiting[to]:
                    ready.append(to)

    def put(self, node, g):
        self.buffers[node], self.noted[node] = g, g.tolist()

    def run(self):
        v = np.array(V)
        for _ in range(PASSES_OF_A_CASE):
            self.backward(v)
            later = {"v later": v, "x.grad later": self.grads.get("x"), "h.grad later": self.grads.get("h")}
            if self.case.place == "grad()":
                self.kept.append(v)
            for g in [*self.kept, *([later[self.case.place]] if self.case.place in later else [])]:
                g *= 0.25
        return self.events


def copy(numbers):
    if isinstance(numbers, list):
        return [copy(part) for part in numbers]
    return numbers.tolist() if isinstance(numbers, np.ndarray) else numbers


def told(trace):
    """What a trace tells of its passes, in the form of the oracle."""
    seen, labels = {}, []
    for node in trace.nodes:
        name = node["name"]
        seen[name] = seen.get(name, 0) + 1
        labels.append(
            trace.tensors[node["tensor"]]["name"] if node["tensor"] is not None else f"{name} {seen[name]}"
        )

    def numbers(v):
        if isinstance(v, list):
            return [numbers(one) for one in v]
        return None if v is None else trace.values[v]["data"]

    fields = {
        "seed": ["v"], "pop": ["g"], "retain": ["v"], "accumulate": ["old", "add", "new"], "vjp": ["in", "out"],
        "deliver": ["v", "old", "sum"], "hook": ["before", "after"],
    }  # fmt: skip
    events = []
    for e in trace.events:
        if e["k"] in fields:
            found = [numbers(e[name]) for name in fields[e["k"]]]
            kind = e["stage"] if e["k"] == "hook" else e["k"]
            if kind == "shared":
                found = [one for (one,) in found]
            if kind == "deliver":
                found = [e["i"], labels[e["to"]], *found]
            events.append((kind, labels[e["n"]], *found))
    return events


def assert_told(torch, recorder, case):
    trace = play(torch, recorder, case)
    want, got = Oracle(case, takes=torch.__name__ == "torch").run(), told(trace)
    for k, (a, b) in enumerate(itertools.zip_longest(want, got)):
        assert a == b, f"{case}: message {k}\nit was   {a}\nthe trace {b}"
    check(trace)


@pytest.mark.parametrize("place", PLACES)
def test_the_trace_tells_what_was_sent(place):
    for case in CASES:
        if case.place == place:
            assert_told(autograd_lab, lab.record, case)


@pytest.mark.parametrize("place", PLACES)
def test_the_trace_of_pytorch_tells_what_was_sent(place):
    torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
    cases = [case for case in CASES if case.place == place]
    for case in cases if len(cases) < 30 else cases[::5]:
        assert_told(torch, lab.record_torch, case)


# -- what the product leaves out --------------------------------------------------------------------------


def messages(trace, kind, *names):
    """The numbers of these fields of all events of a kind."""
    shown = [[e[name] for name in names] for e in trace.events if e["k"] == kind]
    return [[None if v is None else trace.values[v]["data"] for v in one] for one in shown]


def test_a_gradient_that_only_its_caller_has_is_shown_as_it_was():
    """No user code runs in these passes; what they began and ended with is written afterwards."""
    torch = autograd_lab
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    big = torch.tensor([5.0, 1.0, 2.0, 7.0])
    v = big[1:3]
    with lab.record() as trace:
        (a + b).backward(v)
        big.zero_()
        (a - b).backward(v)
        (g, _) = torch.autograd.grad((a + b) * 3, [a, b], torch.ones(2))
    g.zero_()
    assert messages(trace, "seed", "v") == [[[1.0, 2.0]], [[0.0, 0.0]], [[1.0, 1.0]]]
    assert [one for (one,) in messages(trace, "deliver", "v")][:2] == [[1.0, 2.0]] * 2
    assert [one for (one,) in messages(trace, "deliver", "v")][-2:] == [[3.0, 3.0]] * 2
    check(trace)


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_a_hook_that_changes_grad_before_and_after_accumulation(library):
    torch = autograd_lab if library == "autograd_lab" else pytest.importorskip("torch", exc_type=ImportError)
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.full((2,), 5.0)

    def before(g):
        x.grad.detach().numpy()[...] = 1.0

    def after(p):
        p.grad = None

    x.register_hook(before)
    x.register_post_accumulate_grad_hook(after)
    with lab.record() if torch is autograd_lab else lab.record_torch() as trace:
        (x * 3).sum().backward()
    assert messages(trace, "accumulate", "old", "add", "new") == [[[1.0, 1.0], [3.0, 3.0], [4.0, 4.0]]]
    hooks = [e for e in trace.events if e["k"] == "hook" and e["stage"] == "post_accumulate"]
    (v,), after = hooks[0]["before"], hooks[0]["after"]
    assert (trace.values[v]["data"], after) == ([4.0, 4.0], [None])


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_a_single_number_is_shared_as_an_array_is(library):
    """What `h + a` sends is one gradient: a hook on h that writes into it writes into what a gets, and into the caller's own."""
    torch = autograd_lab if library == "autograd_lab" else pytest.importorskip("torch", exc_type=ImportError)

    def write(g):
        g.mul_(3)

    a, v = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0)
    h = a * 2
    h.register_hook(write)
    with lab.record() if torch is autograd_lab else lab.record_torch() as trace:
        (h + a).backward()
    assert a.grad.item() == 9
    assert [e["stage"] for e in trace.events if e["k"] == "hook"] == ["tensor", "shared"]
    check(trace)
    a = torch.tensor(1.0, requires_grad=True)
    a.register_hook(write)
    (a + 1).backward(v)
    assert (a.grad.item(), v.item()) == (3, 3)


@pytest.mark.skipif(not HAS_TORCH, reason="compares with PyTorch")
def test_hooks_of_modules_in_both():
    """What was sent is the same. (A pre-hook of a module hangs before our identity node, and behind PyTorch's.)"""
    import torch as real

    traces = []
    for torch, recorder in ((autograd_lab, lab.record), (real, lab.record_torch)):
        model = torch.nn.Linear(2, 2)
        with torch.no_grad():
            for p in model.parameters():
                p.fill_(0.5)
        model.register_full_backward_pre_hook(lambda module, given: (given[0] * 2,))
        model.register_full_backward_hook(lambda module, grads, given: (grads[0].mul_(4),))
        x = torch.ones(3, 2, requires_grad=True)
        with recorder() as trace:
            (model(x * 2) * 3).sum().backward()
        check(trace)
        traces.append([e for e in told(trace) if e[0] in ("seed", "pop", "deliver", "accumulate")])
    assert traces[0] == traces[1]


# -- every other trace ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", samples.SMALL)
def test_the_samples_agree_with_themselves(name):
    assert check(samples.SMALL[name]())


def recorded(torch, recorder, name):
    steps = PROGRAMS[name](torch)
    next(steps)
    try:
        with recorder() as trace:
            for _ in steps:
                pass
    except RuntimeError:
        pass  # some are there to fail
    return trace


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_comparison_agrees_with_itself(name):
    compared = check(recorded(autograd_lab, lab.record, name))
    assert compared or name == "not_a_scalar"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_in_pytorch_agrees_with_itself(name):
    torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
    check(recorded(torch, lab.record_torch, name))


WRITES = [lambda g: g.mul_(2), lambda g: g.clamp_(-0.5, 0.5), lambda g: g.add_(1), lambda g: g.zero_()]


def writing_hook(p, i, j, k):
    """Writes into what it is handed, or into what a hook was handed before, and returns that or something new."""
    x = p.pick(i)
    x.grad_fn  # noqa: B018 - see programs.tensor_hook
    kept = p.__dict__.setdefault("kept", [])

    def hook(g):
        if g is not None:
            kept.append(g)
            WRITES[j % 4](kept[j % len(kept)] if k % 2 else g)
        return None if g is None or k % 3 == 2 else g if k % 3 else g * 2

    x.register_hook(hook)


def writing_node_hook(p, i, j, k):
    fn = p.pick(i).grad_fn

    def write(grads):
        for g in grads:
            if g is not None:
                WRITES[j % 4](g)

    if fn is not None and k % 2:
        fn.register_prehook(write)
    elif fn is not None:
        fn.register_hook(lambda grads, given: write(given if k % 4 else grads))


def writing_post_accumulate_hook(p, i, j, k):
    def hook(t):
        if k % 3 == 0:
            t.grad = None
        elif t.grad is not None:
            t.grad.mul_(3)

    p.pick(i).register_post_accumulate_grad_hook(hook)


def writing_function(p, i, j, k):
    class Writes(p.torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            WRITES[j % 4](g)
            return g if k % 2 else g * 2

    return Writes.apply(p.pick(i))


USERS = {
    f.__name__: f for f in (writing_hook, writing_node_hook, writing_post_accumulate_hook, writing_function)
}
COMPUTES = [
    "unary", "binary", "with_number", "view", "several_views", "join", "several_results", "cumulative", "product", "custom",
    "saved_hooked", "inplace_number", "set_item", "writing_function",
]  # fmt: skip
HOOKS = ["retain", "tensor_hook", "node_hook", "post_accumulate_hook", "multi_hook", *list(USERS)[:-1]]
PASSES = ["backward", "backward_with_gradient", "backward_inputs", "gradient"]
number = st.integers(0, 11)


def steps(names, **size):
    return st.lists(st.tuples(st.sampled_from(names), number, number, number), **size)


PARTS = st.tuples(
    st.lists(
        st.tuples(st.integers(0, len(programs.SHAPES) - 1), st.just(True), st.integers(0, 5)),
        min_size=1,
        max_size=3,
    ),
    steps(COMPUTES, min_size=1, max_size=5),
    steps(HOOKS, max_size=4),
    steps(PASSES, min_size=1, max_size=2),
    steps([*COMPUTES, *HOOKS, *PASSES], max_size=3),
)
EXAMPLES = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def run(torch, parts):
    leaves, *lists = parts
    return programs.run(torch, (leaves, [step for part in lists for step in part]))


@pytest.fixture(autouse=True)
def writing_steps(monkeypatch):
    for name, step in USERS.items():
        monkeypatch.setitem(programs.STEPS, name, step)


RANDOM = settings(
    EXAMPLES, suppress_health_check=[*EXAMPLES.suppress_health_check, HealthCheck.function_scoped_fixture]
)


@RANDOM
@given(PARTS)
def test_random_programs_agree_with_themselves(parts):
    with lab.record() as trace:
        run(autograd_lab, parts)
    check(trace)


@pytest.mark.skipif(not HAS_TORCH, reason="records real PyTorch")
@settings(RANDOM, max_examples=50)
@given(PARTS)
def test_random_programs_in_pytorch_agree_with_themselves(parts):
    import torch

    with lab.record_torch() as trace:
        run(torch, parts)
    check(trace)


@pytest.mark.skipif(not HAS_TORCH, reason="compares with PyTorch")
@RANDOM
@given(PARTS)
def test_hooks_that_write_do_what_they_do_in_pytorch(parts):
    """A message that two nodes share changes for both. (Not the gradient of a sum: PyTorch's cannot be written, ours can.)"""
    import torch

    leaves, computes, hooks, *_ = parts
    parts = leaves, computes, hooks, [("backward_with_gradient", *(step[1:])) for step in parts[3]]
    for w, g in zip(run(torch, parts), run(autograd_lab, parts), strict=True):
        assert same(w, g), f"PyTorch: {w}\nours:    {g}"


TOLD = {
    "pop": ("g",), "hook": ("before", "after"), "retain": ("v",), "vjp": ("in", "out"), "deliver": ("v", "old", "sum"),
    "pruned": (), "free": (), "accumulate": ("old", "add", "new"), "done": (),
}  # fmt: skip
"""Kinds of events of a backward pass, and the values in them."""


def story(trace):
    """What a trace tells of its backward passes, without numbers of things: the node, the stage of a hook, the values."""
    for e in trace.events:
        if e["k"] in TOLD:
            node = trace.nodes[e["n"]]["name"] if e.get("n") is not None else ""
            values = [e[key] if isinstance(e[key], list) else [e[key]] for key in TOLD[e["k"]]]
            numbers = [None if v is None else trace.values[v].get("data") for part in values for v in part]
            yield (e["k"], node, e.get("stage")), numbers


def near(a, b):
    """Whether numbers of a trace, which have six digits, are the same but for how the last of these was rounded."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=3e-6)
    return a == b


@pytest.mark.skipif(not HAS_TORCH, reason="compares with PyTorch")
@settings(RANDOM, max_examples=300)
@example(([(0, True, 0)], [("unary", 0, 0, 0)] * 2, [("retain", 1, 0, 0)], [("gradient", 0, 1, 0)], []))
@example(([(0, True, 0)], [("unary", 0, 0, 0)] * 2, [("tensor_hook", 1, 0, 0)], [("gradient", 0, 1, 0)], []))
@example(
    (
        [(1, True, 5)],
        [("several_views", 1, 11, 5)] * 3,
        [("multi_hook", 1, 11, 5), ("multi_hook", 0, 9, 2), ("tensor_hook", 3, 10, 11)],
        [("backward_inputs", 1, 10, 0)],
        [],
    )
)
@given(PARTS)
def test_random_passes_are_told_alike_on_both_libraries(parts):
    import torch

    with lab.record() as ours:
        here = run(autograd_lab, parts)
    with lab.record_torch() as theirs:
        there = run(torch, parts)
    # PyTorch refuses writes into the gradient of a sum.
    assume(len(here) == len(there) and all(map(same, there, here)))
    for k, (a, b) in enumerate(zip_longest(story(ours), story(theirs))):
        assert a is not None, f"only in PyTorch: {b}"
        assert b is not None, f"not in PyTorch: {a}"
        assert a[0] == b[0], f"event {k}"
        assert near(a[1], b[1]), f"event {k}: {a} in PyTorch {b}"


FORWARD = [
    *COMPUTES[:9], "reduce", "detach", "inplace_unary", "inplace_binary", "inplace_number", "set_item", "set_part",
    "masked", "picked", "inplace_on_part", "through_data", "without_grad", "leaf_flag", "retain",
]  # fmt: skip
"""Steps that are told alike: no losses, whose kernel has a name of its own in PyTorch where nothing is recorded; no custom Functions,
of whose results PyTorch says nothing where they have no node (test_torch_recording.py has those that do)."""
ABOUT_TENSORS = ("t", "in", "from")
LEAVES = st.lists(
    st.tuples(st.integers(0, len(programs.SHAPES) - 1), st.booleans(), st.integers(0, 5)),
    min_size=1,
    max_size=3,
)
CLUES = ("k", "i", "version", "how", "why", "grad", "requires_grad")


def plainly(trace):
    """What a trace tells of a forward pass: (what, the numbers of tensors and nodes in it, values) of each event.

    Operations without a node are called by the rule here, by the kernel there: "indexselect" and "index_select"; and `where` has its
    operands in another order.
    """
    for e in trace.events:
        about = ("n", trace.nodes[e["n"]]["name"]) if e.get("n") is not None else ()
        what = tuple([e.get(key) for key in CLUES]), about, e.get("op", "").replace("_", "")
        tensors = [
            sorted(e[key]) if e["k"] == "const" else e[key] for key in ABOUT_TENSORS if e.get(key) is not None
        ]
        nodes = [n for n in (e.get("n"), e.get("old"), *(e.get("to") or ())[:1]) if n is not None]
        values = [e["v"]] if e.get("v") is not None else []
        if e.get("base") is not None:  # of a view: its base, and what that holds now
            tensors.append(e["base"][0])
            values.append(e["base"][1])
        yield what, tensors, nodes, [trace.values[v].get("data") for v in values]


def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, list) else [x]


class Pairs:
    """Numbers of things in two traces: two that meet are taken for the same, and have to be so from then on."""

    def __init__(self):
        self.theirs, self.ours = {}, {}

    def match(self, ours, theirs):
        ours, theirs = flat(ours), flat(theirs)
        return len(ours) == len(theirs) and all(
            self.theirs.setdefault(a, b) == b and self.ours.setdefault(b, a) == a
            for a, b in zip(ours, theirs, strict=True)
        )


@pytest.mark.skipif(not HAS_TORCH, reason="compares with PyTorch")
@settings(RANDOM, max_examples=300)
@example([(1, True, 0)], [("unary", 0, 0, 0), ("retain", 0, 0, 0), ("retain", 0, 0, 0)])
@example([(1, True, 0)], [("unary", 0, 0, 0), ("inplace_binary", 0, 0, 2)])
@example(
    [(1, True, 0)],
    [("leaf_flag", 0, 0, 1), ("leaf_flag", 0, 0, 1), ("leaf_flag", 0, 0, 2), ("unary", 0, 0, 0)],
)
@example([(3, True, 3), (1, True, 2), (4, False, 5)], [("product", 4, 2, 7)])
@given(LEAVES, steps(FORWARD, min_size=1, max_size=6))
def test_random_forward_passes_are_told_alike_on_both_libraries(leaves, lines):
    """Every event in its order: the verb, the node, the tensors, the numbers."""
    import torch

    with lab.record() as ours:
        here = programs.run(autograd_lab, (leaves, lines))
    with lab.record_torch() as theirs:
        there = programs.run(torch, (leaves, lines))
    assert all(map(same, there, here))
    assume(
        not any(type(note[1]) is tuple for note in there)
    )  # the operands of what raises are met in PyTorch
    tensors, nodes = Pairs(), Pairs()
    for k, (a, b) in enumerate(zip_longest(plainly(ours), plainly(theirs))):
        assert a is not None, f"only in PyTorch: {b}"
        assert b is not None, f"not in PyTorch: {a}"
        assert a[0] == b[0], f"event {k}"
        assert tensors.match(a[1], b[1]), f"event {k}: other tensors: {a} in PyTorch {b}"
        assert nodes.match(a[2], b[2]), f"event {k}: other nodes: {a} in PyTorch {b}"
        assert near(a[3], b[3]), f"event {k}: {a} in PyTorch {b}"
