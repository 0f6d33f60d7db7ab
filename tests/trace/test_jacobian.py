"""The local Jacobians in a trace: numbers held against functional.jacobian, here and in PyTorch, words against numbers."""

import importlib.util

import numpy as np
import pytest
import structures

import autograd_lab
from autograd_lab import lab
from autograd_lab.tracing import jacobian

rng = np.random.default_rng(5)
A, B, V, P = (
    rng.normal(size=(2, 3)),
    rng.normal(size=(3, 4)),
    rng.normal(size=3),
    rng.uniform(0.5, 2, size=(2, 3)),
)
# name: (one operation, its operands)
OPS = {
    "add": (lambda t, a, b: a + b, [A, P]),
    "add broadcast": (lambda t, a, b: a + b, [A, V]),
    "add alpha": (lambda t, a, b: t.add(a, b, alpha=3), [A, P]),
    "sub": (lambda t, a, b: a - b, [A, V]),
    "mul": (lambda t, a, b: a * b, [A, P]),
    "mul broadcast": (lambda t, a, b: a * b, [A, V]),
    "mul scalars": (lambda t, a, b: a * b, [np.float64(2), np.float64(3)]),
    "mul scalar": (lambda t, a, b: a * b, [np.float64(2), V]),
    "mul number": (lambda t, a: 3 * a, [V]),
    "div": (lambda t, a, b: a / b, [A, P]),
    "pow": (lambda t, a: a**3, [A]),
    "neg": (lambda t, a: -a, [A]),
    "exp": (lambda t, a: t.exp(a), [A]),
    "log": (lambda t, a: t.log(a), [P]),
    "tanh": (lambda t, a: t.tanh(a), [A]),
    "relu": (lambda t, a: t.relu(a), [A]),
    "sigmoid": (lambda t, a: t.sigmoid(a), [V]),
    "gelu": (lambda t, a: t.nn.functional.gelu(a), [V]),
    "mm": (lambda t, a, b: a @ b, [A, B]),
    "mv": (lambda t, a, b: a @ b, [A, V]),
    "bmm": (lambda t, a, b: t.bmm(a, b), [rng.normal(size=(2, 2, 2)), rng.normal(size=(2, 2, 3))]),
    "dot": (lambda t, a, b: t.dot(a, b), [V, V + 1]),
    "addmm": (lambda t, c, a, b: t.addmm(c, a, b), [rng.normal(size=4), A, B]),
    "sum": (lambda t, a: a.sum(), [A]),
    "sum dim": (lambda t, a: a.sum(1), [A]),
    "mean dim": (lambda t, a: a.mean(0), [A]),
    "softmax": (lambda t, a: t.softmax(a, 1), [A]),
    "softmax dim 0": (lambda t, a: t.softmax(a, 0), [A]),
    "log_softmax": (lambda t, a: t.log_softmax(a, 1), [A]),
    "transpose": (lambda t, a: a.t(), [A]),
    "permute": (lambda t, a: a.permute(1, 0), [A]),
    "flip": (lambda t, a: t.flip(a, [0]), [A]),
    "roll": (lambda t, a: t.roll(a, 1, 0), [A]),
    "reshape": (lambda t, a: a.reshape(3, 2), [A]),
    "unsqueeze": (lambda t, a: a.unsqueeze(0), [A]),
    "expand": (lambda t, a: a.expand(2, 3), [V]),
    "select": (lambda t, a: a[1], [A]),
    "slice": (lambda t, a: a[:, 1:], [A]),
    "index": (lambda t, a: a[[0, 0, 1]], [V]),
    "cat": (lambda t, a, b: t.cat([a, b]), [V, V]),
    "stack": (lambda t, a, b: t.stack([a, b]), [V, V]),
    "max": (lambda t, a: a.max(), [A]),
    "clone": (lambda t, a: a.clone(), [A]),
    "cumsum": (lambda t, a: a.cumsum(0), [V]),
    "where": (lambda t, a, b: t.where(a > 0, a, b), [A, P]),
    "clamp": (lambda t, a: a.clamp(min=0), [A]),
}  # fmt: skip


def tensors(torch, arrays):
    return [torch.tensor(np.array(a), dtype=torch.float64, requires_grad=True) for a in arrays]


def recorded(name):
    """The last node of one operation, and its Jacobians as matrices."""
    fn, arrays = OPS[name]
    inputs = tensors(autograd_lab, arrays)
    with lab.record() as trace:
        fn(autograd_lab, *inputs)
    node = next(n for n in reversed(trace.nodes) if n["kind"] == "op")
    return trace, node, [matrix(one) for one in node["jacobian"]]


def matrix(one):
    found = np.zeros((one["rows"], one["columns"]))
    for r, c, x in zip(*(one["entries"][k::3] for k in range(3)), strict=True):
        found[r, c] = float(x)
    return found


def functional(torch, name):
    fn, arrays = OPS[name]
    inputs = tensors(torch, arrays)
    found = torch.autograd.functional.jacobian(lambda *x: fn(torch, *x), tuple(inputs))
    return [j.detach().numpy().reshape(-1, i.numel()) for j, i in zip(found, inputs, strict=True)]


@pytest.mark.parametrize("name", OPS)
def test_the_numbers_are_the_derivatives(name):
    _, _, found = recorded(name)
    for own, want in zip(found, functional(autograd_lab, name), strict=True):
        np.testing.assert_allclose(own, want, rtol=6e-6, atol=1e-9)  # the trace keeps six digits


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="a live comparison with PyTorch")
@pytest.mark.parametrize("name", OPS)
def test_the_numbers_are_pytorch_s(name):
    import torch

    _, _, found = recorded(name)
    for own, want in zip(found, functional(torch, name), strict=True):
        np.testing.assert_allclose(own, want, rtol=6e-6, atol=1e-9)


@pytest.mark.parametrize("name", OPS)
def test_what_is_said_of_large_ones_holds_for_small_ones(name):
    trace, node, found = recorded(name)
    shapes = [trace.tensors[t]["shape"] for t in node["inputs"]]
    out = trace.tensors[node["outputs"][0]]["shape"]
    from autograd_lab.ops.rule import RULES

    said = 0
    for i, numbers in enumerate(found):
        kind, formula = jacobian.declared(RULES[node["name"]], i, shapes, out, node["params"])
        arrays, dim = OPS[name][1], 0 if "dim 0" in name else 1
        assert not kind or structures.holds(kind, formula, numbers, arrays, out, i, dim), (kind, formula)
        said += bool(kind)
    assert said or name in ("cumsum",)


@pytest.mark.parametrize(
    ("name", "structures"),
    [
        ("mul", ["diagonal", "diagonal"]), ("add", ["identity", "identity"]), ("add broadcast", ["identity", "copies"]),
        ("mm", ["Kronecker product"] * 2), ("transpose", ["permutation"]), ("select", ["selection"]), ("mul scalars", ["number"] * 2),
        ("sum", ["row"]), ("sum dim", ["sum"]), ("mean dim", ["groups"]), ("dot", ["row"] * 2), ("mv", ["Kronecker product", "matrix"]),
        ("bmm", ["blocks"] * 2), ("cumsum", ["triangular"]), ("mul broadcast", ["diagonal", "copies"]),
    ],
)  # fmt: skip
def test_structures_are_named(name, structures):
    _, node, _ = recorded(name)
    assert [one["structure"] for one in node["jacobian"]] == structures


def test_a_large_one_is_only_described():
    w = autograd_lab.ones(300, 200, requires_grad=True)
    with lab.record() as trace:
        autograd_lab.ones(8, 300) @ w
    (one,) = trace.nodes[-1]["jacobian"]
    assert one == {
        "operand": 1,
        "rows": 1600,
        "columns": 60000,
        "structure": "Kronecker product",
        "formula": "a kron I_200",
    }


def test_values_written_over_later_are_those_of_the_time():
    """In a training loop the weights are written over: each node's Jacobian shows the weights it saved."""
    w = autograd_lab.tensor([2.0, 5.0], requires_grad=True)
    x = autograd_lab.tensor([1.0, 3.0], requires_grad=True)
    with lab.record() as trace:
        for _ in range(2):
            (w * x).sum().backward()
            with autograd_lab.no_grad():
                w -= 0.5 * w.grad
                w.grad = None
    products = [n for n in trace.nodes if n["op"] == "mul"]
    assert [matrix(n["jacobian"][1]).diagonal().tolist() for n in products] == [[2.0, 5.0], [1.5, 3.5]]


def test_what_a_view_wrote_over_is_not_guessed():
    """Between two writes through views no copy of w is certain: where it was saved then, no numbers are shown."""
    w, x = autograd_lab.tensor([2.0, 5.0]), autograd_lab.tensor([1.0, 3.0], requires_grad=True)
    with lab.record() as trace:
        for _ in range(3):
            x * w
            w[:1].mul_(10)
    first, second, third = [n["jacobian"][0] for n in trace.nodes if n["op"] == "mul"]
    assert matrix(first).diagonal().tolist() == [2.0, 5.0]
    for one in (second, third):
        assert "entries" not in one
        assert one["structure"] == "diagonal"


def test_the_user_s_own_rules_are_not_run_again():
    calls = []

    class Double(autograd_lab.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            calls.append(g)
            return g * 2

    x = autograd_lab.tensor(1.0, requires_grad=True)
    with lab.record() as trace:
        Double.apply(x).backward()
    node = next(n for n in trace.nodes if n["kind"] == "function")
    assert "jacobian" not in node
    assert len(calls) == 1


def test_j_transposed_g_is_what_the_pass_sent():
    torch = autograd_lab
    x = torch.tensor(A, requires_grad=True)
    w = torch.tensor(B, requires_grad=True)
    with lab.record() as trace:
        torch.log_softmax(torch.tanh(x @ w) + x.sum(1, keepdim=True), 1)[0].sum().backward()
    checked = 0
    for e in trace.events:
        if e["k"] != "vjp":
            continue
        g = np.array(trace.values[e["in"][0]]["data"], float).reshape(-1)
        for one in trace.nodes[e["n"]]["jacobian"]:
            sent = np.array(trace.values[e["out"][one["operand"]]]["data"], float).reshape(-1)
            np.testing.assert_allclose(matrix(one).T @ g, sent, rtol=1e-4, atol=1e-6)
            checked += 1
    assert checked >= 8
