"""What a trace says that saved values hold is what the engine's nodes really hold, at every point of random programs."""

import gc
import re
import time
import weakref
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.core.watch import Watch
from autograd_lab.torchlike.autograd.function import Kept
from autograd_lab.torchlike.autograd.modes import THREAD, WATCHERS
from autograd_lab.torchlike.autograd.saved import Packed
from autograd_lab.torchlike.autograd.variable import Variable
from autograd_lab.torchlike.utils.checkpoint import _as_recomputed, _Holder
from autograd_lab.tracing import Trace
from autograd_lab.tracing.cost import DROPPED, cost
from autograd_lab.tracing.shared import owner_of
from autograd_lab.utils.checkpoint import checkpoint

# -- what the engine holds -------------------------------------------------------------------------------


def nodes_behind(tensors):
    """Every node that can be reached from the tensors."""
    found, stack = {}, [t.grad_fn for t in tensors if t.grad_fn is not None]
    while stack:
        node = stack.pop()
        if id(node) in found:
            continue
        found[id(node)] = node
        stack += [fn for fn, _ in node.next_functions if fn is not None]
        if getattr(node, "inner", None) is not None:
            found[id(node.inner)] = node.inner
    return list(found.values())


def held_by(one):
    """The tensors that one saved value keeps alive."""
    if isinstance(one, Kept):
        return held_by(one.packed) if one.packed is not None else held_by(one.tensor)
    if isinstance(one, Packed):
        assert one.unpack_hook is not _as_recomputed, "the graph of a second run is out of reach"
        return held_by(one.content)
    if isinstance(one, _Holder):
        # By its handle: the frames that a recording keeps hold the last value longer than an unrecorded run does.
        again = [
            one.frame.recomputed[run][handle] for run, handle in one.handles.items() if handle is not None
        ]
        return [t for x in (*one.frame.args, *again) for t in held_by(x)]
    if isinstance(one, (list, tuple)):
        return [t for x in one for t in held_by(x)]
    return [one] if isinstance(one, Variable) else []


def really_held(tensors):
    """The bytes of the memory that the nodes behind some tensors keep alive, each piece once."""
    pieces = {}
    for node in nodes_behind(tensors):
        for one in (getattr(node, "_kept", None) if node.kind == "function" else node.saved) or ():
            for t in held_by(one):
                array = owner_of(t._data) if isinstance(t._data, np.ndarray) else t._data
                pieces[id(array)] = array
    return sum(array.nbytes for array in pieces.values())


# -- random programs -------------------------------------------------------------------------------------


class Custom(torch.autograd.Function):
    """Saves an input, its output, and a tensor that nobody else sees."""

    @staticmethod
    def forward(ctx, a, b):
        inside = a.cos()
        y = a.sin() * b
        ctx.save_for_backward(a, y, inside, None)
        return y

    @staticmethod
    def backward(ctx, g):
        a, y, inside, _ = ctx.saved_tensors
        first, second = (
            ctx.needs_input_grad
        )  # what is computed for nothing, or not used, is a graph that goes at once
        return g * inside + 0 * a if first else None, 0 * y * g if second else None


def segment(a, b):
    return ((a * b).tanh().exp() * 0.5).sigmoid()


PACKS = {
    "the tensor": lambda t: t,
    "a copy": lambda t: t.clone(),
    "a tuple": lambda t: ("cpu", t.detach()),
    "nothing": lambda t: t.tolist(),
}
OPERATIONS = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "number": lambda a, b: a * 3.0,
    "exp": lambda a, b: a.exp(),
    "tanh": lambda a, b: a.tanh(),
    "matmul": lambda a, b: a @ b.T,
    "max": lambda a, b: a.max(0, keepdim=True)[0] * b,
    "softmax": lambda a, b: torch.softmax(a, 1),
    "dropout": lambda a, b: torch.nn.functional.dropout(a, 0.5),
    "view": lambda a, b: a[1:] * b[:1],
    "reshape": lambda a, b: a.reshape(-1)[None, :4] * a,
    "expand": lambda a, b: a[:1].expand(4, 4) * b,
    "detach": lambda a, b: a.detach() * b,
    "custom": lambda a, b: Custom.apply(a, b),
    "checkpoint": lambda a, b: checkpoint(segment, a, b, use_reentrant=False),
    "nested": lambda a, b: checkpoint(
        lambda x, y: checkpoint(segment, x, y, use_reentrant=False) * y, a, b, use_reentrant=False
    ),
    "reentrant": lambda a, b: checkpoint(segment, a, b, use_reentrant=True),
}
WRITES = {
    "add_": lambda a, b: a.add_(b),
    "mul_": lambda a, b: a.mul_(b),
    "relu_": lambda a, b: a.relu_(),
    "view_": lambda a, b: a[0].mul_(b[0]),
    "zero_": lambda a, b: a[1].zero_(),
}
ENDS = "backward", "retain", "grad", "create_graph", "part", "none"

STEP = st.tuples(
    st.sampled_from([*OPERATIONS, *OPERATIONS, *WRITES]), st.integers(0, 9), st.integers(0, 9),
    st.sampled_from(["", "", "", "", "no_grad", *PACKS]),
)  # fmt: skip
PROGRAM = st.tuples(st.lists(STEP, min_size=1, max_size=6), st.sampled_from(ENDS), st.booleans())


def run(program, look):
    """Run a program; `look(tensors)` at its hooks and between its statements."""
    steps, end, hooked = program
    leaves = [torch.randn(4, 4, requires_grad=True), torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)]
    made = list(leaves)
    with_hook = []
    kept = []  # what was replaced too: a trace counts a graph to its end

    def watched(t):
        # While a pass with create_graph runs, only the engine reaches the nodes that it makes.
        if (
            hooked
            and end != "create_graph"
            and t.requires_grad
            and not t.is_leaf
            and t.grad_fn not in with_hook
        ):
            with_hook.append(t.grad_fn)
            t.register_hook(lambda g: look(kept))
        return t

    for name, i, j, how in steps:
        a, b = made[i % len(made)], made[j % len(made)]
        if a.shape != (4, 4) or b.shape != (4, 4):
            a, b = leaves[0], leaves[2]
        if name == "reentrant" and not (a.requires_grad or b.requires_grad):
            a = leaves[0]  # it warns otherwise
        pack = PACKS.get(how)
        with torch.set_grad_enabled(how != "no_grad"):
            if name in WRITES:
                if a.is_leaf and a.requires_grad:
                    a = a * 1.0
                    kept.append(a)
                WRITES[name](a, b)
                out = a
            elif pack is not None and how != "no_grad" and name not in ("checkpoint", "nested", "reentrant"):
                with torch.autograd.graph.saved_tensors_hooks(
                    pack,
                    lambda x: (
                        x
                        if isinstance(x, torch.Tensor)
                        else x[1]
                        if isinstance(x, tuple)
                        else torch.tensor(x)
                    ),
                ):
                    out = OPERATIONS[name](a, b)
            else:
                out = OPERATIONS[name](a, b)
        out = watched(out)
        made.append(out)
        kept.append(out)
    loss = sum([t.sum() for t in made if t.requires_grad])
    kept.append(loss)
    if end == "part":
        torch.autograd.grad(loss, leaves[0], allow_unused=True)
    elif end == "grad":
        torch.autograd.grad(loss, [t for t in leaves if t.requires_grad], allow_unused=True)
    elif end == "create_graph":
        wanted = [
            t for t in leaves if t.requires_grad
        ]  # all: a gradient that is pruned is a graph that goes at once
        kept += [
            g
            for g in torch.autograd.grad(loss, wanted, create_graph=True, allow_unused=True)
            if g is not None
        ]
    elif end != "none":
        loss.backward(retain_graph=end == "retain")
    look(kept)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PROGRAM)
def test_a_trace_says_what_the_nodes_hold(program):
    """At each hook of the pass and at the end, on random programs: views, writes, hooks on saved tensors, checkpoints, create_graph, ..."""
    found = []
    torch.manual_seed(0)
    refused = ""
    try:
        with lab.record() as trace:
            run(program, lambda tensors: found.append(really_held(tensors)))
    except RuntimeError as error:
        refused = str(error)
    if refused:  # a saved value was overwritten, or a reentrant checkpoint met autograd.grad
        assert "modified by an inplace operation" in refused or "use_reentrant" in refused
        return
    c = cost(trace)
    total = [a + b for a, b in zip(c.held, c.leaves, strict=True)]
    at = [k for k, e in enumerate(trace, 1) if e["k"] == "hook" and e["stage"] == "tensor"] + [len(trace)]
    assert [total[k] for k in at] == found
    agrees_with_its_curve(c)


def agrees_with_its_curve(c):
    """What nodes are said to hold, and when, is what the curve shows: at each step they can hold as much, and something only if it does."""
    for k, (held, own) in enumerate(zip(c.held, c.leaves, strict=True)):
        now = [one for one in c.nodes if one.holds(k)]
        assert max((one.bytes for one in now), default=0) <= c.peak
        assert held <= sum(one.bytes for one in now)
        assert bool(held) == any(one.bytes for one in now)
        assert not any(one.leaves for one in now if not one.bytes) or own
    for one in c.nodes:
        assert (one.since, one.until) == (one.periods[0][0], one.periods[-1][1])
        assert all(a[1] is not None and a[1] < b[0] for a, b in pairwise(one.periods))


# -- the shapes that students are to see -----------------------------------------------------------------


def network(x, *weights):
    """A chain of tanh layers."""
    for w in weights:
        x = torch.tanh(x @ w)
    return (x * x).mean()


def weights(n, size=8):
    return [torch.randn(size, size, requires_grad=True) for _ in range(n)]


def turns(curve):
    """How often a curve changes direction."""
    steps = [b - a for a, b in pairwise(curve) if a != b]
    return sum((a > 0) != (b > 0) for a, b in pairwise(steps))


def test_it_grows_in_the_forward_pass_and_shrinks_in_the_backward_pass():
    torch.manual_seed(0)
    c = lab.cost(network, torch.randn(4, 8), *weights(3))
    middle = next(k for k, e in enumerate(c.trace, 1) if e["k"] == "backward")
    assert c.held[: middle + 1] == sorted(c.held[: middle + 1])
    assert c.held[middle:] == sorted(c.held[middle:], reverse=True)
    assert c.peak == c.held[middle] == 3 * 4 * 8 * 4
    assert c.held[-1] == c.leaves[-1] == 0
    assert [(one.label, one.bytes, one.leaves) for one in c.nodes if one.leaves] == [
        ("MmBackward0 #2", 128, 256), ("MmBackward0 #3", 128, 256), ("MmBackward0 #1", 0, 128),
    ]  # fmt: skip


def test_it_is_flat_without_recording():
    def quiet(*inputs):
        with torch.no_grad():
            return network(*inputs)

    c = lab.cost(quiet, torch.randn(4, 8), *weights(3))
    assert set(c.held) == set(c.leaves) == {0}
    assert c.nodes == []
    assert "hold nothing" in repr(c)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_make_teeth_and_a_lower_peak(reentrant):
    def saving(x, *ws):
        for i in range(0, len(ws), 2):
            x = checkpoint(
                lambda x, a, b: torch.tanh(torch.tanh(x @ a) @ b), x, *ws[i : i + 2], use_reentrant=reentrant
            )
        return (x * x).mean()

    torch.manual_seed(0)
    x, ws = torch.randn(4, 8, requires_grad=True), weights(6)
    whole, saved = lab.cost(network, x, *ws), lab.cost(saving, x, *ws)
    assert saved.peak < whole.peak
    assert turns(whole.held) == 1
    assert turns(saved.held) == 1 + 2 * 3  # one tooth for each checkpoint
    assert saved.held[-1] == 0


def test_what_is_computed_again_for_each_pass_is_held_each_time():
    torch.manual_seed(0)
    x, w = torch.randn(4, 8), torch.randn(8, 8, requires_grad=True)
    with lab.record() as trace:
        y = checkpoint(lambda x: torch.tanh(x @ w), x, use_reentrant=False)
        loss = (y * y).sum()
        loss.backward(retain_graph=True)
        loss.backward()
    found = lab.cost(trace)
    (tanh,) = [one for one in found.nodes if one.label.startswith("Tanh")]
    begins = [k for k, (a, b) in enumerate(pairwise(found.held), 1) if b > a and k > tanh.since - 1]
    assert len(tanh.periods) == 2
    assert [since for since, _ in tanh.periods] == begins
    assert [tanh.holds(k) for period in tanh.periods for k in period] == [True, False] * 2
    assert tanh.bytes == 4 * 4 * 8
    row = next(line for line in str(found).splitlines() if line.startswith("Tanh"))
    assert re.split(" {2,}", row)[-2:] == [", ".join(map(str, ks)) for ks in zip(*tanh.periods, strict=True)]


def test_the_text_has_bytes_steps_and_lines_and_no_times():
    torch.manual_seed(0)
    c = lab.cost(network, torch.randn(4, 8), *weights(2))
    first, second, head, *rows = repr(c).splitlines()
    assert first.startswith("Saved values hold at most 256 bytes, at step ")
    assert first.endswith("; 0 bytes at the end.")
    assert second == "In addition, they hold 384 bytes of the program's own tensors, which live anyway."
    assert head.split() == [
        "node",
        "line",
        "holds",
        "of",
        "the",
        "program's",
        "own",
        "from",
        "step",
        "to",
        "step",
    ]
    assert [row.split()[0] for row in rows] == [
        "MmBackward0",
        "TanhBackward0",
        "TanhBackward0",
        "MulBackward0",
        "MmBackward0",
    ]
    assert " us" not in repr(c)
    assert c == cost(Trace.from_json(c.trace.to_json()))


def test_what_is_held_at_the_end_says_that_it_may_have_been_dropped():
    """Three graphs that are dropped one after the other, and three that their passes have freed."""

    def program(x, passes):
        for _ in range(3):
            y = torch.tanh(x).sum()
            if passes:
                y.backward()

    x = torch.ones(4, requires_grad=True)
    with lab.record() as dropped:
        program(x, False)
    with lab.record() as freed:
        program(x, True)
    assert cost(dropped).held[-1] == 3 * 4 * 4
    assert f"48 bytes at the end.\n{DROPPED}" in repr(cost(dropped))
    assert DROPPED not in repr(cost(freed))


def held_by_all(nodes):
    """The bytes that some nodes hold, each piece once."""
    pieces = {}
    for node in nodes:
        for one in (getattr(node, "_kept", None) if node.kind == "function" else node.saved) or ():
            for t in held_by(one):
                array = owner_of(t._data) if isinstance(t._data, np.ndarray) else t._data
                pieces[id(array)] = array
    return sum(array.nbytes for array in pieces.values())


class Looking(Watch):
    """Notes what is held whenever a node is made or its turn in a pass comes."""

    def __init__(self):
        self.found, self.nodes = [], []

    def look(self):
        alive = [node for ref in self.nodes if (node := ref()) is not None]
        self.found.append(held_by_all(alive))

    def operation(self, rule, inputs, outputs, node, args):
        if node is not None:
            self.nodes.append(weakref.ref(node))
            self.look()

    def written(self, rule, inputs, target, node, name, args=()):
        self.operation(rule, inputs, (), node, args)

    def popped(self, run, node, g):
        self.look()


def rebound(x, w):
    for _ in range(3):
        loss = (x * w).tanh().sum()
    return loss


def evaluated(x, w):
    """Without no_grad, and then trained."""
    for _ in range(2):
        (x * w).exp()
    y = (x * w).exp()
    y.sum().backward()
    del y
    return (x * w).sum()


def rebuilt(x, w):
    y = x
    for _ in range(2):
        y = (y * w).tanh()
    y = x * w  # lets go of two turns
    return y.exp().sum()


def listed(x, w):
    losses = [(x * w).exp() for _ in range(3)]
    losses.pop(1)
    kept = losses[0] * 2
    losses.clear()
    x * 3.0
    return kept.mean()


def overwritten(x, w):
    for _ in range(2):
        y = x * 1.0
        y[0].mul_(w[0])
        y.exp_()
    return (y * w).sum()


def forgotten(x, w):
    """A branch of what is trained goes, the rest is freed by its pass."""
    h = (x * w).exp()
    aside = h.tanh()
    del aside
    return ((h * 3.0) * h).sum()


def tangled(x, w):
    """A cycle, which only the collector finds: it is held."""
    y = x * w
    y.me = y
    del y
    return (x.exp() * w).sum()


def by_functions(x, w):
    for _ in range(2):
        Custom.apply(x, w)
        checkpoint(segment, x, w, use_reentrant=False)
    return (x * w).sum()


def nothing(x, w):
    for _ in range(2):
        w = w + torch.ones(4, 4)
        y = x * w
        y = y.exp() * y


def clipped(x, w):
    """A second derivative, whose graph goes with the first turn."""
    for _ in range(2):
        (g,) = torch.autograd.grad((x * w).exp().sum(), x, create_graph=True)
        size = (g * g).sum()
    return size


LETTING_GO = [
    rebound, evaluated, rebuilt, listed, overwritten, forgotten, tangled, by_functions, nothing, clipped,
]  # fmt: skip


def looked_at(program, inputs):
    """What is held at each moment of a run that is not recorded; the collector rests."""
    look, state = Looking(), THREAD.state
    gc.disable()
    state.watch = look
    WATCHERS.append(look)
    state.refresh()
    try:
        loss = program(*inputs)
        if loss is not None:
            loss.backward()
    finally:
        state.watch = None
        WATCHERS.remove(look)
        state.refresh()
        gc.enable()
    return look.found


def at_moments(c):
    """The same as the curve has it."""
    total = [a + b for a, b in zip(c.held, c.leaves, strict=True)]
    return [
        total[k]
        for k, e in enumerate(c.trace, 1)
        if e["k"] in ("node", "inplace", "pop") and e.get("n") is not None
    ]


@pytest.mark.parametrize("program", LETTING_GO)
def test_of_a_function_the_curve_knows_what_the_program_lets_go_of(program, capsys):
    """Whenever a node is made or has its turn, the nodes that are alive hold what the curve says."""
    inputs = [torch.randn(4, 4, requires_grad=True) for _ in range(2)]
    found = looked_at(program, inputs)

    def aloud(x, w):
        print("once")
        return program(x, w)

    assert at_moments(lab.cost(aloud, *inputs)) == found
    assert capsys.readouterr().out == "once\n"


SLOTS = st.lists(
    st.tuples(
        st.sampled_from(sorted((OPERATIONS.keys() | WRITES.keys()) - {"nested", "reentrant"})),
        *[st.integers(0, 2)] * 3,
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SLOTS, st.integers(0, 3))
def test_of_any_function_it_knows_that(steps, ends):
    """Three variables that are bound again and again; at the end a pass, or a pass in between as well."""

    def program(x, w):
        torch.manual_seed(0)
        at = [x * 1.0, w * 1.0, x * w]
        for n, (name, i, j, to) in enumerate(steps):
            a, b = at[i], at[j]
            if ends and name == "checkpoint":  # in a pass the graph of its second run is out of our reach
                name = "exp"
            if a.shape != (4, 4) or b.shape != (4, 4):
                a, b = x * 1.0, w
            at[to] = (OPERATIONS | WRITES)[name](a, b)
            if ends == 3 and n == 2:
                at[0].sum().backward(retain_graph=True)
        return None if not ends else at[ends - 1].sum()

    inputs = [torch.randn(4, 4, requires_grad=True) for _ in range(2)]
    try:
        found = looked_at(program, inputs)
    except RuntimeError as error:  # a saved value was overwritten
        if "modified by an inplace operation" not in str(error):
            raise
        return
    c = lab.cost(program, *inputs)
    assert at_moments(c) == found
    assert DROPPED not in repr(c)  # what is held at the end is


@pytest.mark.parametrize("how", ["step", "in place", "statistics"])
def test_a_function_that_changes_what_stays_runs_once(how):
    """A second run would be seen: in the state of an optimizer, in a tensor of the program's own, in running statistics."""

    def world():
        torch.manual_seed(0)
        layer, data = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)), torch.zeros(3)
        sgd, runs = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9), []

        def train(x):
            runs.append(how)
            if how == "step":
                layer[0](x).exp().mean().backward()
                sgd.step()
            elif how == "in place":
                data.add_(1.0)
            else:
                layer(x)
            layer[0](x).exp()  # an evaluation without no_grad

        return train, lambda: [
            len(runs), data.tolist(), layer[1].running_mean.tolist(), *(one["momentum_buffer"].tolist() for one in sgd.state.values())
        ]  # fmt: skip

    (once, seen), (costed, found) = world(), world()
    x = torch.arange(6.0).reshape(2, 3)
    once(x)
    c = lab.cost(costed, x)
    assert found() == seen()
    assert c.held[-1]
    assert DROPPED in repr(c)


def test_of_a_function_that_does_something_else_each_time_it_is_not_known():
    calls = []

    def fickle(x):
        calls.append(x)
        for _ in range(len(calls)):
            y = (x * x).exp()
        return y.sum() if len(calls) < 3 else None

    x = torch.ones(4, requires_grad=True)
    calls[:] = [x]
    c = lab.cost(fickle, x)
    assert c.held[-1]
    assert DROPPED in repr(c)

    def failing(x):
        calls.append(x)
        (x * x).exp()
        assert len(calls) < 2

    calls.clear()
    c = lab.cost(failing, x)
    assert c.held[-1]
    assert DROPPED in repr(c)


def test_times_come_from_runs_of_their_own():
    x, ws = torch.randn(4, 8), weights(2)
    c = lab.cost(network, x, *ws)
    before = c.trace.to_json()
    times = c.times()
    assert c.trace.to_json() == before
    assert {c.trace.nodes[n]["name"] for n in times.seconds} == {node["name"] for node in c.trace.nodes}
    assert all(forward >= 0 and backward > 0 for forward, backward in times.seconds.values())
    assert repr(times).splitlines()[0].split() == ["node", "forward", "backward"]
    assert [w.grad is not None for w in ws] == [
        True,
        True,
    ]  # from the recorded run, to which nothing was added
    assert torch.equal(ws[0].grad, torch.autograd.grad(network(x, *ws), ws[0])[0])


def test_times_of_another_program_are_refused():
    calls = []

    def fickle(x):
        calls.append(x)
        return (x.exp() if len(calls) == 1 else x.tanh()).sum()

    c = lab.cost(fickle, torch.ones(2, requires_grad=True))
    with pytest.raises(ValueError, match="made 2 nodes and the recorded one 2, or others"):
        c.times()
    with pytest.raises(RuntimeError, match=r"a trace cannot run again.*lab\.cost\(fn, \*inputs\)"):
        lab.cost(c.trace).times()
    with pytest.raises(TypeError, match="takes a trace, a stepper or a function, not int"):
        lab.cost(3)
    with pytest.raises(TypeError, match="takes no inputs"):
        lab.cost(c.trace, 3)


def test_it_takes_time_in_proportion_to_the_events():
    """Three sizes: the instructions for one event do not grow."""

    def chain(n):
        x = torch.ones(3, requires_grad=True)
        with lab.record() as trace:
            y = x
            for _ in range(n):
                y = y.exp().tanh() * y
            y.sum().backward()
        events = len(trace)
        begun = time.process_time()
        for _ in range(3):
            cost(trace)
        return (time.process_time() - begun) / events

    chain(50)
    small, middle, large = chain(100), chain(400), chain(1600)
    assert large < 3 * min(small, middle)


def test_pytorchs_traces_have_it_as_far_as_pytorch_tells():
    pytest.importorskip("torch")
    import torch as real

    def program(x, w):
        h = real.tanh(x @ w)
        return (h * h).mean()

    x, w = real.ones(2, 3), real.ones(3, 4, requires_grad=True)
    with lab.record_torch() as trace:
        program(x, w).backward()
    c = cost(trace)
    ours = lab.cost(
        lambda x, w: ((h := torch.tanh(x @ w)) * h).mean(),
        torch.ones(2, 3),
        torch.ones(3, 4, requires_grad=True),
    )
    assert (c.peak, max(c.leaves), c.held[-1]) == (ours.peak, max(ours.leaves), 0)


def in_a_view(a, b):
    y = a * 1.0
    y[0].mul_(b[0])
    y.add_(b)
    return y.exp().sum()


def with_a_gradient(a, b):
    (g,) = torch.autograd.grad((a * a * b).sum(), a, create_graph=True)
    return g.sum() + a.detach().sum()


@pytest.mark.parametrize(
    "program",
    [
        in_a_view,
        with_a_gradient,
        lambda a, b: Custom.apply(a, b).sum(),
        lambda a, b: checkpoint(segment, a, b, use_reentrant=False).sum(),
        lambda a, b: checkpoint(segment, a, b, use_reentrant=True).sum(),
        lambda a, b: torch.max(a, 0)[0].sum() + torch.nn.functional.dropout(b).sum(),
    ],
    ids=["writes", "create_graph", "Function", "checkpoint", "reentrant", "several results"],
)
def test_the_times_are_of_the_right_nodes(program):
    c = lab.cost(program, torch.randn(4, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True))
    seconds = c.times().seconds
    popped = {e["n"] for e in c.trace if e["k"] == "pop"}
    made = {e["n"] for e in c.trace if e["k"] in ("node", "inplace")}
    assert set(seconds) == popped | made - {None}
    assert all((backward > 0) == (n in popped) for n, (_, backward) in seconds.items())


PACKED = {
    "nothing": lambda t: t,
    "a copy": lambda t: t.clone(),
    "less": lambda t: t[:1].clone(),
    "several": lambda t: {"copy": t.clone(), "number": 3},
    "no tensor": lambda t: 3,
}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_what_hooks_packed_is_held_in_recordings_of_pytorch_too(pack):
    """By nodes that save operands: while a result is packed, PyTorch's operation is not over yet."""

    def held(library, recording):
        x = library.ones(4, 6, requires_grad=True)
        with (
            recording() as trace,
            library.autograd.graph.saved_tensors_hooks(pack, lambda _: library.ones(4, 6)),
        ):
            y = x * 2
            (y * y).sum().backward()
        found = cost(trace)
        return found.peak, [(one.label, one.bytes) for one in found.nodes], found.held[-1]

    assert held(pytest.importorskip("torch"), lab.record_torch) == held(torch, lab.record)


def in_segments(lib, again, x, w, v):
    for _ in range(3):
        x = again(lambda h: lib.tanh(lib.exp(lib.sin(h))), x * 1.0)
    return x.sum()


def with_weights(lib, again, x, w, v):
    for _ in range(2):
        x = again(lambda h, w: lib.tanh(h @ w) * h, x, w)
    return (x * x).sum()


def ends_in_an_operand(lib, again, x, w, v):
    return again(lambda h: lib.sin(lib.exp(h)) * 3.0, x).sum()


def nested(lib, again, x, w, v):
    def inner(h, w):
        return lib.exp(h @ w).sin()

    return again(lambda h, w: lib.tanh(again(inner, h.cos(), w)), x, w).sum()


def with_an_unused_input(lib, again, x, w, v):
    return (again(lambda h, v: lib.tanh(h).exp(), x, v * 2).sum() + v.sum()) * v.sum()


def beside_others(lib, again, x, w, v):
    y = lib.tanh(x @ w)
    return (again(lambda h: h.exp() * h.sin(), y) * y).sum()


SEGMENTS = [in_segments, with_weights, ends_in_an_operand, nested, with_an_unused_input, beside_others]


@pytest.mark.parametrize("program", SEGMENTS)
@pytest.mark.parametrize("passes", [1, 2])
def test_checkpoints_of_pytorch_hold_their_inputs_and_what_they_compute_again(program, passes):
    """As those of this package, node by node: whether from the start, how much, until which event; and so does the curve, but for when it
    rises.
    """
    pytest.importorskip("torch")
    import torch as real
    from torch.utils.checkpoint import checkpoint as real_checkpoint

    def held(lib, recording, segment):
        x, w, v = (lib.full(shape, 0.5, requires_grad=True) for shape in ((4, 6), (6, 6), (3,)))
        with recording() as trace:
            y = program(lib, lambda f, *args: segment(f, *args, use_reentrant=False), x, w, v)
            for i in range(passes):
                y.backward(retain_graph=i + 1 < passes)
        found = cost(trace)
        agrees_with_its_curve(found)

        def event(k):
            e = trace.events[k - 1] if k else {}
            return e.get("k"), trace.nodes[e["n"]]["name"] if e.get("n") is not None else ""

        def made(one):
            e = trace.events[one.since - 1]
            return e["k"] == "node" and e["n"] == one.n

        nodes = [
            (one.label, one.bytes, one.leaves, made(one), [event(until) for _, until in one.periods])
            for one in found.nodes
        ]
        curve = [(n, own) for (n, own), _ in groupby(zip(found.held, found.leaves, strict=True))]
        return found.held[-1], curve, sorted(nodes)

    assert held(real, lab.record_torch, real_checkpoint) == held(torch, lab.record, checkpoint)
