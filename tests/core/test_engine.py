"""The reverse pass: right sums in the right order, without recursion, leaving nothing behind."""

import contextvars
import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab.autograd.full_pass import FullPass
from autograd_lab.autograd.node import AccumulateGrad
from autograd_lab.ops.rule import RULES


def scalar(x, requires_grad=True):
    return torch.tensor(float(x), requires_grad=requires_grad)


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - b,
    lambda a, b: a * 0.5,
    lambda a, b: (a * a + 1.0).reciprocal() * b,
]


def naive(fn, g):
    """{leaf: gradient} by recursion over every path: exponential, but nobody doubts it."""
    if isinstance(fn, AccumulateGrad):
        return {fn.variable: g}
    total = {}
    grads = fn.vjp(g, *fn.unpack(False)) if fn.saved else fn.vjp(g)
    grads = grads if isinstance(grads, tuple) else (grads,)
    for (node, _), grad in zip(fn.next_functions, grads, strict=True):
        if node is not None:
            for leaf, part in naive(node, grad).items():
                total[leaf] = total.get(leaf, 0) + part
    return total


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12)
)
def test_random_graphs_agree_with_the_sum_over_paths(program):
    """Whatever the sharing, a leaf's gradient is the sum over all paths to it."""
    leaves = [scalar(x) for x in (1.5, -0.5, 2.0)]
    values = list(leaves)
    for op, i, j in program:
        values.append(OPERATIONS[op](values[i % len(values)], values[j % len(values)]))
    loss = values[-1]
    assume(abs(loss.item()) < 1e15)  # squaring a dozen times overflows, and inf - inf proves nothing
    with np.errstate(over="ignore", invalid="ignore"):
        want = naive(loss.grad_fn, np.float32(1.0))
    loss.backward()
    for leaf in leaves:
        if leaf in want:
            if np.isfinite(want[leaf]):
                np.testing.assert_allclose(
                    leaf.grad.item(), want[leaf], rtol=1e-3, atol=1e-3 * (1 + abs(want[leaf]))
                )
        else:
            assert leaf.grad is None


def test_separating_graph():
    """Only a value reused at two depths tells the right order from all the wrong ones: 96, not 144, 48 or 0."""
    a = scalar(2)
    b = a * a
    (b * (b * 3)).backward()
    assert a.grad.item() == 96.0


def test_newest_ready_node_first_and_accumulators_before_all():
    """The order of PyTorch's engine, seen by hooks on the nodes."""
    w1, w2, x = scalar(1), scalar(2), scalar(3, False)
    h = (w1 * x) * (w1 * x)
    loss = (h * w2 - 1.0) ** 2
    order = []
    stack, seen = [loss.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        name = type(node).__name__
        label = f"Acc({'w1' if node.variable is w1 else 'w2'})" if name == "AccumulateGrad" else name
        node.register_hook(lambda gi, go, label=label: order.append(label))
        stack += [n for n, _ in node.next_functions]
    loss.backward()
    assert order == [
        "PowBackward0", "SubBackward0", "MulBackward0", "Acc(w2)", "MulBackward0", "MulBackward0", "MulBackward0", "Acc(w1)",
    ]  # fmt: skip


def test_of_two_ready_nodes_the_newer_runs_first():
    """After c = sin(b), then d = cos(a), cos is newer: it and its leaf come first, whatever the order of the operands."""
    for swapped in (False, True):
        a, b = scalar(1), scalar(2)
        c = b.sin()
        d = a.cos()
        y = d * c if swapped else c * d
        order = []
        for label, node in (
            ("sin", c.grad_fn),
            ("cos", d.grad_fn),
            ("b", c.grad_fn.next_functions[0][0]),
            ("a", d.grad_fn.next_functions[0][0]),
        ):
            node.register_hook(lambda gi, go, label=label, order=order: order.append(label))
        y.backward()
        assert order == ["cos", "a", "sin", "b"]


@pytest.mark.parametrize(("swapped", "there"), [(False, False), (True, True)])
def test_leaves_are_served_in_the_order_of_their_edges(swapped, there):
    """A leaf without hooks does not overtake one with hooks that stands before it."""
    a, b = scalar(2), scalar(3)
    seen = []
    a.register_post_accumulate_grad_hook(lambda _: seen.append(b.grad is not None))
    (b * a if swapped else a * b).backward()
    assert seen == [there]


def test_stepping_runs_the_same_loop():
    """A pass stopped after each node gives what an uninterrupted one gives, and leaks no grad mode while it rests."""
    a = scalar(2)
    b = a * a
    loss = b * (b * 3)
    run = FullPass([((loss.grad_fn, 0), np.float32(1.0))], keep_graph=False, create_graph=False)
    steps = 0
    while run.ready:
        run.run(1)
        steps += 1
        assert torch.is_grad_enabled()
        assert (a * 1).requires_grad
    assert (steps, a.grad.item()) == (4, 96.0)


def test_a_long_chain_needs_no_recursion():
    """200,000 nodes: built, run and freed without the stack growing."""
    x = scalar(1)
    y = x
    for _ in range(200_000):
        y = y + 1.0
    y.backward()
    del y
    assert x.grad.item() == 1.0


@pytest.fixture
def no_gc():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x * x,
        lambda x: (x * 3).exp() if hasattr(x, "exp") else x * 3,
        lambda x: x.reciprocal(),
        lambda x: (x * 1).mul_(x),
        lambda x: (x * 2).pow_(2),
    ],
)
@pytest.mark.parametrize("run", [False, True])
def test_graphs_die_with_their_last_reference(no_gc, program, run):
    """No node waits for the garbage collector: not before backward, not after."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = program(x)
    ref = weakref.ref(y.grad_fn)
    if run:
        y.backward(torch.ones(2))
    del y
    assert ref() is None


def test_the_leaf_does_not_keep_its_accumulator(no_gc):
    """Two graphs over one leaf share its AccumulateGrad; when both are gone it is gone."""
    x = scalar(3)
    p, q = x * 2, x * x
    acc = p.grad_fn.next_functions[0][0]
    assert acc is q.grad_fn.next_functions[0][0]
    ref = weakref.ref(acc)
    del p, q, acc
    assert ref() is None


def test_nodes_are_small():
    """No rule gives its nodes a `__dict__`, and an edge to the only output of a node is that node, not a pair."""
    assert [rule.__name__ for rule in RULES.values() if rule.__dictoffset__] == []
    x = scalar(3)
    y = x * 2
    z = y.exp()
    assert z.grad_fn._edges == (y.grad_fn,)
    assert z.grad_fn.next_functions == ((y.grad_fn, 0),)
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_a_rule_shows_its_own_saved_values_only():
    """What a rule inherits from one that saves more is not among its attributes."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    fn = torch.clamp_min(x, 0.5).grad_fn
    assert not hasattr(fn, "_saved_nonsense")
    assert not hasattr(fn, "_saved_max")
    assert "_saved_max" not in dir(fn)
    in_place = torch.nn.functional.elu(x * 1, inplace=True).grad_fn
    assert hasattr(in_place, "_raw_saved_result")
    assert not hasattr(in_place, "_raw_saved_self")


def test_threads_have_their_own_grad_mode():
    """no_grad in one thread leaves the other recording."""
    inside, done = threading.Event(), threading.Event()
    seen = []

    def quiet():
        with torch.no_grad():
            inside.set()
            done.wait(10)
            seen.append((scalar(1) * 2).requires_grad)

    thread = threading.Thread(target=quiet)
    thread.start()
    assert inside.wait(10)
    seen.append((scalar(1) * 2).requires_grad)
    done.set()
    thread.join()
    assert seen == [True, False]


def test_an_error_in_the_pass_restores_the_grad_mode():
    """A hook that raises ends the pass; recording is as it was."""
    x = scalar(1)
    y = x * 2

    def fail(g):
        raise KeyError("mine")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="mine"), torch.no_grad():
        y.backward()
    assert torch.is_grad_enabled()
    assert x.grad is None


def test_numpy_warnings_stay_silent_and_the_users_settings_untouched(recwarn):
    """1/0 is inf without a word, as in PyTorch; NumPy itself still warns."""
    x = torch.tensor([1.0, 0.0], requires_grad=True)
    (1.0 / x).backward(torch.ones(2))
    assert x.grad.tolist() == [-1.0, -float("inf")]
    assert not list(recwarn)
    assert np.geterr()["divide"] == "warn"


def test_a_leaf_that_was_detached_and_then_given_a_history_is_refused():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    x.detach_()
    x.add_(y)
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        x.sum().backward()
    quiet = torch.tensor([1.0], requires_grad=True)
    z = quiet * 3
    quiet.requires_grad_(False)
    z.backward()
    assert quiet.grad is None


MODE = contextvars.ContextVar("MODE", default="unset")


def nested(depth, at_the_bottom):
    """A function whose backward runs a pass of its own through the same, so deep; and what each saw around it."""
    seen = []

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            ctx.left = left
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            seen.append((threading.current_thread(), torch.is_grad_enabled(), MODE.get()))
            if not ctx.left:
                at_the_bottom()
                return g, None
            with torch.enable_grad():
                x = torch.ones(1, requires_grad=True)
                Nested.apply(x, ctx.left - 1).sum().backward()
            return g + x.grad, None

    return lambda x: Nested.apply(x, depth).sum(), seen


def test_passes_within_passes_go_deeper_than_python_calls():
    y, seen = nested(800, lambda: None)
    x = scalar(1.0)
    token = MODE.set("set")
    y(x).backward()
    MODE.reset(token)
    assert x.grad.item() == 801.0
    assert len(seen) == 801
    threads = {thread for thread, *_ in seen}
    assert len(threads) == 17
    assert [thread for thread in threads if thread.is_alive()] == [threading.current_thread()]
    assert {(grad, mode) for _, grad, mode in seen} == {(False, "set")}


def test_an_error_comes_up_from_the_deepest_pass():
    def fail():
        raise ZeroDivisionError("at the bottom")

    y, _ = nested(120, fail)
    loss = y(scalar(1.0))
    with torch.no_grad():
        with pytest.raises(ZeroDivisionError, match="at the bottom"):
            loss.backward()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()
