"""The gradients that autograd.grad returns are told, and are not called .grad."""

import re

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import narrate
from autograd_lab.tracing.builder import encode


def leaf(*values):
    return torch.tensor(values if len(values) > 1 else values[0], requires_grad=True)


CALLS = {
    "one": lambda a, b: torch.autograd.grad((a * b).sum(), a),
    "several": lambda a, b: torch.autograd.grad((a * b).sum(), [a, b]),
    "none": lambda a, b: torch.autograd.grad(a.sum(), [a, b], allow_unused=True),
    "zeros": lambda a, b: torch.autograd.grad(a.sum(), [a, b], materialize_grads=True),
    "of a result": lambda a, b: torch.autograd.grad((y := a * b).sum(), y),
    "a graph": lambda a, b: torch.autograd.grad((a * a * b).sum(), [a, b], create_graph=True),
    "with outputs": lambda a, b: torch.autograd.grad(a * b, a, torch.tensor([1.0, -1.0])),
    "batched": lambda a, b: torch.autograd.grad(a * b, a, torch.eye(2), is_grads_batched=True),
    "an edge": lambda a, b: torch.autograd.grad((a * b).sum(), torch.autograd.graph.get_gradient_edge(a)),
    "in a hook": lambda a, b: in_a_hook(a, b),
}


def in_a_hook(a, b):
    def hook(g):
        with torch.enable_grad():
            return g * torch.autograd.grad(b.exp(), b)[0]

    y = a * b
    y.register_hook(hook)
    return torch.autograd.grad(y.sum(), a)


@pytest.mark.parametrize("call", CALLS)
def test_what_grad_returns_is_told(call):
    a, b = leaf(1.0, 2.0), leaf(3.0)
    with lab.record() as trace:
        found = CALLS[call](a, b)
        sum(g.sum() for g in found if g is not None)
    dones = [(k, e) for k, e in enumerate(trace.events, 1) if e["k"] == "done"]
    k, event = dones[-1]
    told = [None if v is None else trace.values[v] for v in event["returned"]]
    assert told == [None if g is None else encode(np.asarray(g.detach().numpy())) for g in found]
    assert re.search(r"autograd\.grad returns the gradient", narrate(trace, k))
    assert "adds nothing to any .grad" in narrate(trace, k)
    assert a.grad is None
    assert b.grad is None
    assert not [t["name"] for t in trace.tensors if t["name"].endswith(".grad")]


def test_a_pass_that_fills_grad_returns_nothing():
    a = leaf(1.0, 2.0)
    y = a * 2
    y.retain_grad()
    with lab.record() as trace:
        y.sum().backward(retain_graph=True)
        torch.autograd.grad((y * 2).sum(), a)
    texts = [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] == "done"]
    assert "returns" not in texts[0]
    assert texts[1].endswith("returns the gradient of a: [4, 4].")  # y.grad has changed


def test_what_is_returned_and_assigned_is_called_grad():
    a = leaf(1.0, 2.0)
    with lab.record() as trace:
        (a.grad,) = torch.autograd.grad(a.sum(), a)
        a.grad * 2
    assert [t["name"] for t in trace.tensors if t.get("grad_of") is not None] == ["a.grad"]
