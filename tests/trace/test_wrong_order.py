"""Backward passes that go wrong on purpose: what each order gets wrong, and that it says so."""

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace, narrate, state
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.recorder import last_recording
from autograd_lab.tracing.wrong_order import ORDERS


def diamond(a):
    b = a * a
    c = b * 3
    return b * c


def chain(a):
    return (a * 2).exp().sum()


def final(trace, name):
    end = state(trace, len(trace))
    t = next(i for i, tensor in enumerate(trace.tensors) if tensor["name"] == name)
    return trace.values[end.tensors[t].grad]["data"]


@pytest.mark.parametrize(
    ("order", "grad"), [("visit-once", 24.0), ("breadth-first", 48.0), ("path-recursion", 96.0)]
)
def test_what_each_order_makes_of_a_diamond(order, grad):
    """d(3 a^4)/da = 96 at a = 2. Depth first loses b's second message and a's second; breadth first loses b's."""
    a = torch.tensor(2.0, requires_grad=True)
    trace = lab.wrong_order(diamond, a, order=order)
    assert final(trace, "a") == grad
    assert a.grad is None
    assert Trace.from_json(trace.to_json()).events == trace.events


@pytest.mark.parametrize("order", ORDERS)
def test_on_a_chain_every_order_is_right(order):
    a = torch.tensor([0.0, 1.0], requires_grad=True)
    trace = lab.wrong_order(chain, a, order=order)
    chain(a).backward()
    assert final(trace, "a") == pytest.approx(a.grad.tolist(), rel=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_it_says_that_it_is_faulty(order):
    trace = lab.wrong_order(diamond, torch.tensor(2.0, requires_grad=True), order=order)
    assert trace.title == f"{order}: a faulty engine"
    k = next(k for k, e in enumerate(trace.events, 1) if e["k"] == "backward")
    assert trace.events[k - 1]["engine"] == order
    assert narrate(trace, k) == f"A faulty engine starts at MulBackward0 #3. Its order: {order}."
    said = " ".join(map(Narrator(trace).sentence, range(len(trace) + 1)))
    assert "with 1 of its 2 messages: this engine does not wait" in said
    assert ("this message is lost" in said) == (order != "path-recursion")


def test_path_recursion_runs_a_node_once_for_each_path():
    trace = lab.wrong_order(diamond, torch.tensor(2.0, requires_grad=True), order="path-recursion")
    runs = [trace.nodes[e["n"]]["name"] for e in trace.events if e["k"] == "pop"]
    assert runs.count("AccumulateGrad") == 4
    assert runs.count("MulBackward0") == 4  # y, c, and b twice


def test_path_recursion_gives_up_in_words():
    def diamonds(a):
        for _ in range(30):
            a = a + a
        return a

    with pytest.raises(RuntimeError, match="number of paths doubles with every diamond"):
        lab.wrong_order(diamonds, torch.tensor(1.0, requires_grad=True), order="path-recursion")


def test_bad_calls():
    a = torch.tensor(2.0, requires_grad=True)
    with pytest.raises(ValueError, match="'depth' is not one of 'visit-once', 'breadth-first'"):
        lab.wrong_order(diamond, a, order="depth")
    with pytest.raises(ValueError, match="without grad_fn: there is no graph"):
        lab.wrong_order(lambda x: x.detach() * 2, a)
    with pytest.raises(ValueError, match="fn returned float: there is no graph"):
        lab.wrong_order(lambda x: 1.0, a)


def test_it_is_not_the_last_recording_and_leaves_the_graph_alone():
    a = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        b = a * a
    lab.wrong_order(lambda x: x * 3, b)
    assert last_recording() is trace
    b.backward()  # its saved values are still there
    assert a.grad.item() == 4


def test_nodes_with_several_outputs_and_arrays():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    trace = lab.wrong_order(lambda x: torch.cat(torch.unbind(x)).sum(), x, order="path-recursion")
    assert final(trace, "x") == [[1, 1], [1, 1]]
