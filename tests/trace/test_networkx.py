"""The graph for networkx: the sum over all its paths is the gradient, and so is one reverse pass in any topological order."""

import importlib.util
import math
import random
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import random_programs as programs
from hypothesis import HealthCheck, assume, given, reject, settings

import autograd_lab as torch
from autograd_lab import lab

EXAMPLES = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
SCALAR = [
    "binary", "binary", "detach", "inplace_binary", "inplace_number", "inplace_unary", "reduce", "unary", "with_number", "without_grad",
]  # fmt: skip


def scalar(steps):
    """A strategy for programs whose tensors all hold one number."""
    return programs.program(steps, SCALAR).map(lambda p: ([(0, *rest) for _, *rest in p[0]], p[1]))


def made(program):
    """(the tensors that collect gradients, what was computed last) of a program."""
    p = programs.Run(torch)
    p.tensors = [programs.make_leaf(torch, leaf) for leaf in program[0]]
    leaves = list(p.tensors)
    for name, i, j, k in program[1]:
        try:
            result = programs.STEPS[name](p, i, j, k)
        except (RuntimeError, IndexError):  # such as a write into a leaf
            continue
        if result is not None and result.dtype is torch.float64 and result.dim() == 0:
            p.tensors.append(result)
    try:
        return [x for x in leaves if x.is_leaf and x.requires_grad], p.tensors[-1] * 1
    except RuntimeError:  # a view made under no_grad whose base was written later: nothing can use it
        reject()


def root_of(graph):
    (root,) = [n for n, is_root in graph.nodes(data="root") if is_root]
    return root


def products(graph, leaf):
    """For each path from the root to a leaf: the product of the derivatives along it."""
    return [
        math.prod(graph.edges[edge]["derivative"] for edge in path)
        for path in nx.all_simple_edge_paths(graph, root_of(graph), leaf)
    ]


def reverse_pass(graph, order):
    """({node: its gradient}, how many edges were touched): each node in turn sends the sum of what it got."""
    total, touched = dict.fromkeys(graph, 0.0), 0
    total[root_of(graph)] = 1.0
    for n in order:
        for _, to, derivative in graph.out_edges(n, data="derivative"):
            total[to] += derivative * total[n]
            touched += 1
    return total, touched


def any_order(graph, seed):
    """A topological order, another one for another seed."""
    r = random.Random(seed)
    rank = {n: r.random() for n in graph}
    return list(nx.lexicographical_topological_sort(graph, rank.__getitem__))


def behind(graph):
    """The part of a graph that leads from its root."""
    root = root_of(graph)
    return graph.subgraph({root, *nx.descendants(graph, root)})


def close(a, b, scale, digits):
    return abs(a - b) <= 10.0**-digits * max(1, abs(a), abs(b), scale)


def compare(graph, leaf_of, leaves, digits):
    """All paths, and three orders, against `.grad`."""
    graph = behind(graph)
    derivatives = [d for _, _, d in graph.edges(data="derivative")]
    assert None not in derivatives, "the local derivative is known on every edge of a scalar graph"
    assume(all(math.isfinite(d) and abs(d) < 1e30 for d in derivatives))
    counts = dict.fromkeys(graph, 0) | {root_of(graph): 1}
    for n in nx.topological_sort(graph):
        for _, to in graph.out_edges(n):
            counts[to] += counts[n]
    passes = [reverse_pass(graph, any_order(graph, seed))[0] for seed in range(3)]
    reached = 0
    for leaf in leaves:
        n = leaf_of(graph, leaf)
        if n is None:
            assert leaf.grad is None
            continue
        reached += 1
        assume(counts[n] < 2000)
        along = products(graph, n)
        scale = sum(map(abs, along))
        assume(scale < 1e100)
        assert len(along) == counts[n]
        assert close(sum(along), leaf.grad.item(), scale, digits)
        for found in passes:
            assert close(found[n], leaf.grad.item(), scale, digits)
    assert reached == sum(kind == "leaf" for _, kind in graph.nodes(data="kind"))


WRITTEN = "modified by an inplace operation"


@EXAMPLES
@given(scalar(10))
def test_the_sum_over_all_paths_is_the_gradient(program):
    """A live tensor: no recording, the derivatives from the saved values."""
    leaves, loss = made(program)
    a, b, c = (*leaves, None, None, None)[:3]
    assume(loss.grad_fn is not None)
    try:
        graph = lab.graph(loss)
    except RuntimeError:
        with pytest.raises(RuntimeError, match=WRITTEN):
            loss.backward()
        return
    loss.backward()
    names = {id(a): "a", id(b): "b", id(c): "c"}

    def leaf_of(graph, leaf):
        found = [n for n, name in graph.nodes(data="tensor") if name == names[id(leaf)]]
        return found[0] if found else None

    compare(graph, leaf_of, leaves, 9)


@EXAMPLES
@given(scalar(10))
def test_and_in_a_recording(program):
    """A trace rounds to six digits, and keeps the derivatives after the pass has freed its graph."""
    with lab.record() as trace:
        leaves, loss = made(program)
        assume(loss.grad_fn is not None)
        try:
            loss.backward()
        except RuntimeError as error:
            if WRITTEN not in str(error):
                raise
            return

    def leaf_of(graph, leaf):
        found = [
            n
            for n, kind in graph.nodes(data="kind")
            if kind == "leaf" and trace.tensors[trace.nodes[n]["tensor"]] is trace.tensors[number[id(leaf)]]
        ]
        return found[0] if found else None

    number = {id(leaf): trace.number_of(leaf) for leaf in leaves if leaf.grad is not None}
    compare(trace.to_networkx(), leaf_of, [x for x in leaves if id(x) in number], 4)


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_the_paths_of_n_diamonds_double_and_the_edges_do_not(n):
    x = torch.tensor(1.01, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(n):
        y = y * y
    graph = lab.graph(y)
    (leaf,) = [m for m, kind in graph.nodes(data="kind") if kind == "leaf"]
    along = products(graph, leaf)
    assert (len(along), graph.number_of_edges(), graph.number_of_nodes()) == (2**n, 2 * n, n + 1)
    total, touched = reverse_pass(graph, nx.topological_sort(graph))
    y.backward()
    assert touched == 2 * n
    assert total[leaf] == pytest.approx(x.grad.item(), rel=1e-12)
    assert sum(along) == pytest.approx(2**n * 1.01 ** (2**n - 1), rel=1e-12)


def three_lines():
    """The graph of notebook 04."""
    a = torch.tensor(2.0, requires_grad=True)
    b = a * a
    c = b * 3
    loss = b * c
    return lab.graph(loss), loss


def test_an_order_that_is_not_topological_is_wrong():
    graph, _ = three_lines()
    label = {text: n for n, text in graph.nodes(data="label")}
    right = [label[name] for name in ("loss", "c", "b", "a")]
    wrong = [label[name] for name in ("loss", "b", "c", "a")]
    assert reverse_pass(graph, right)[0][label["a"]] == 96
    assert reverse_pass(graph, wrong)[0][label["a"]] == 48
    assert list(nx.all_topological_sorts(graph)) == [right]


def test_the_attributes_of_a_live_graph():
    graph, loss = three_lines()
    nothing = {"line": None, "shape": (), "gradient": None}
    mul = {"name": "MulBackward0", "kind": "operation", "root": False} | nothing
    assert isinstance(graph, nx.MultiDiGraph)
    assert dict(graph.nodes(data=True)) == {
        0: {"name": "AccumulateGrad", "kind": "leaf", "root": False, "tensor": "a", "label": "a", "value": 2} | nothing,
        1: mul | {"tensor": "b", "label": "b", "value": 4},
        2: mul | {"tensor": "c", "label": "c", "value": 12},
        3: mul | {"tensor": "loss", "label": "loss", "value": 48, "root": True},
    }  # fmt: skip
    along = {"output": 0, "line": None}
    assert {(u, v, k): data for u, v, k, data in graph.edges(keys=True, data=True)} == {
        (1, 0, 0): along | {"derivative": 2},
        (1, 0, 1): along | {"derivative": 2},
        (2, 1, 0): along | {"derivative": 3},
        (3, 1, 0): along | {"derivative": 12},
        (3, 2, 1): along | {"derivative": 4},
    }
    loss.backward(retain_graph=True)
    assert [data["gradient"] for _, data in lab.graph(loss).nodes(data=True)] == [96, None, None, None]


def test_the_attributes_of_a_trace():
    with lab.record() as trace:
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        k = torch.tensor(3.0, requires_grad=True)
        y = (w * k).sum()
        loss = y * k
        loss.backward()
    graph = trace.to_networkx()
    by = {data["label"]: (n, data) for n, data in graph.nodes(data=True)}
    assert set(by) == {"w", "k", "MulBackward0", "y", "loss"}
    line = test_the_attributes_of_a_trace.__code__.co_firstlineno + 5
    assert by["loss"][1] == {
        "name": "MulBackward0", "kind": "operation", "root": True, "tensor": "loss", "label": "loss", "shape": (),
        "value": 27, "gradient": 1, "line": ("test_networkx.py", line),
    }  # fmt: skip
    assert by["w"][1]["gradient"] == [9, 9]
    assert by["w"][1]["value"] == [1, 2]
    assert (by["MulBackward0"][1]["shape"], by["y"][1]["gradient"], by["k"][1]["gradient"]) == ((2,), 3, 18)
    assert graph.edges[by["loss"][0], by["y"][0], 0] == {
        "derivative": 3,
        "output": 0,
        "line": ("test_networkx.py", line),
    }
    assert graph.edges[by["MulBackward0"][0], by["w"][0], 0]["derivative"] is None, "a matrix is no number"
    assert [*graph.nodes] == [*range(len(trace.nodes))]
    again = lab.Trace.from_json(trace.to_json())
    assert nx.utils.graphs_equal(graph, again.to_networkx())
    assert nx.utils.graphs_equal(graph, lab.graph(trace))


def test_infinite_and_unknown_numbers_of_a_trace():
    with lab.record() as trace:
        x = torch.tensor(0.0, requires_grad=True)
        big = torch.tensor(np.zeros((9, 9)), requires_grad=True)
        loss = 1 / x + big.sum()
        loss.backward()
    by = {data["label"]: data for _, data in trace.to_networkx().nodes(data=True)}
    assert by["loss"]["value"] == math.inf
    assert by["x"]["gradient"] == -math.inf
    assert (by["big"]["value"], by["big"]["shape"]) == (None, (9, 9))


def test_a_graph_is_asked_for_without_a_trace_of_it():
    """Nothing is recorded, nothing is kept, and the pass afterwards is the same."""
    with lab.record() as trace:
        x = torch.tensor(2.0, requires_grad=True)
        y = torch.tanh(x * x)
        lab.graph(y)
        assert x.grad is None
        y.backward()
    kinds = [event["k"] for event in trace]
    assert kinds[: kinds.index("backward")] == ["leaf", "node", "edge", "edge", "node", "edge"]
    assert x.grad.item() == pytest.approx(4 * (1 - math.tanh(4) ** 2), rel=1e-4)


def test_hooks_are_not_run_and_what_a_function_raises_is_left_out():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            raise AssertionError("run")

    def unpack(packed):
        raise AssertionError("unpacked")

    x = torch.tensor(3.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        h = x * x
    loss = Square.apply(h) * 2
    graph = lab.graph(loss)
    kinds = {data["label"]: data["kind"] for _, data in graph.nodes(data=True)}
    assert kinds == {"x": "leaf", "h": "operation", "SquareBackward": "Function", "loss": "operation"}
    assert [d for *_, d in sorted(graph.edges(keys=True, data="derivative"))] == [None, None, None, 2]


class Scaled(torch.autograd.Function):
    """k * a * a * b, for a number k."""

    asked: list[float] = []  # noqa: RUF012 (the tests look into it)

    @staticmethod
    def forward(ctx, a, k, b):
        ctx.save_for_backward(a, b)
        ctx.k = k
        return k * a * a * b

    @staticmethod
    def backward(ctx, g):
        Scaled.asked.append(g.item())
        a, b = ctx.saved_tensors
        return g * 2 * ctx.k * a * b, None, g * ctx.k * a * a


def with_a_function():
    x, y = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    return x, y, Scaled.apply(x * y, 5.0, y + 0) * 7


def test_the_derivatives_of_a_function_are_those_of_its_backward():
    """Live: asked once, with 1, and nothing else is changed; the paths through it add up, too."""
    x, y, loss = with_a_function()
    Scaled.asked.clear()
    graph = lab.graph(loss)
    assert Scaled.asked == [1]
    assert (x.grad, y.grad) == (None, None)
    of = {data["label"]: n for n, data in graph.nodes(data=True)}
    node = of["ScaledBackward"]
    assert [d for *_, d in graph.out_edges(node, data="derivative")] == [2 * 5 * 6 * 2, 5 * 6 * 6]
    loss.backward()
    assert (sum(products(graph, of["x"])), sum(products(graph, of["y"]))) == (x.grad, y.grad)


def test_in_a_recording_they_are_what_it_sent():
    with lab.record() as trace:
        x, y, loss = with_a_function()
        loss.backward()
    Scaled.asked.clear()
    graph = trace.to_networkx()
    assert Scaled.asked == []
    of = {data["label"]: n for n, data in graph.nodes(data=True)}
    assert sum(products(graph, of["x"])) == pytest.approx(x.grad.item())
    assert sum(products(graph, of["y"])) == pytest.approx(y.grad.item())


def test_asking_a_function_is_not_an_event():
    kinds = []
    for ask in (lab.graph, lambda loss: None):
        with lab.record() as trace:
            ask(with_a_function()[2])
        kinds.append([event["k"] for event in trace])
    assert kinds[0] == kinds[1]
    assert torch.is_grad_enabled()


def test_labels_are_told_apart():
    x = torch.tensor(1.0, requires_grad=True)
    graph = lab.graph(x.neg().neg().neg())
    assert [text for _, text in graph.nodes(data="label")] == [
        "x",
        "NegBackward0 #1",
        "NegBackward0 #2",
        "NegBackward0 #3",
    ]


def test_a_long_chain_is_no_recursion():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y + 1
    assert lab.graph(y).number_of_edges() == 5000


def freed():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    return y


def overwritten():
    x = torch.tensor(2.0, requires_grad=True)
    h = x * 1
    y = h * h
    h.add_(1)
    return y


@pytest.mark.parametrize(
    ("what", "error", "said"),
    [
        (lambda: torch.tensor(1.0), ValueError, "does not require a gradient"),
        (lambda: torch.tensor(1.0, requires_grad=True).detach(), ValueError, "or it was detached"),
        (lambda: torch.tensor(1.0, requires_grad=True), ValueError, "is a leaf: no operation computed it"),
        (lambda: 3, TypeError, "takes a trace or a tensor .*, not int"),
        (lambda: None, TypeError, "not NoneType"),
        (freed, RuntimeError, r"needs the saved values of MulBackward0, .* freed them. .* backward\(retain_graph=True\)"),
        (overwritten, RuntimeError, WRITTEN),
    ],
)  # fmt: skip
def test_what_has_no_graph_says_so(what, error, said):
    with pytest.raises(error, match=said):
        lab.graph(what())


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_the_graph_of_a_tensor_of_pytorchs_has_no_derivatives():
    import torch as pytorch

    class Square(pytorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, g):
            return g

    x = pytorch.tensor(2.0, requires_grad=True)
    y = Square.apply(x)
    graph = lab.graph(y * x)
    nodes = [(d["label"], d["kind"], d["value"]) for _, d in graph.nodes(data=True)]
    assert nodes == [("x", "leaf", 2), ("y", "Function", 4), ("MulBackward0", "operation", 8)]
    assert [*graph.edges(keys=True, data="derivative")] == [(1, 0, 0, None), (2, 1, 0, None), (2, 0, 1, None)]


def test_networkx_is_loaded_when_it_is_asked_for():
    code = """
import sys
import autograd_lab as torch
from autograd_lab import lab
with lab.record() as trace:
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward()
print("networkx" in sys.modules)
trace.to_networkx()
print("networkx" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
