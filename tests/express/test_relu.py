"""relu written out: with express on and off it leaves the same numbers, graphs, saved values and messages."""

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.autograd.seams import DOORS
from autograd_lab.express import VARIABLE
from autograd_lab.nn import functional as F


@pytest.fixture(autouse=True)
def not_fixed_by_the_environment(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    yield
    monkeypatch.undo()
    lab.fast()


def switch(on):
    lab.fast(on)
    F.linear(torch.ones(1, 2), torch.ones(3, 2, requires_grad=True), torch.ones(3))  # loads what is on then
    assert (DOORS.relu is not None) is on


def leaf(*shape, dtype=None):
    x = torch.linspace(-2, 2, 6)
    return (x.reshape(*shape) if shape else x[1].clone()).to(dtype or torch.float32).requires_grad_()


OPERANDS = {
    "leaf": lambda: leaf(2, 3),
    "double": lambda: leaf(2, 3, dtype=torch.float64),
    "half": lambda: leaf(2, 3, dtype=torch.float16),
    "number": leaf,
    "constant": lambda: leaf(2, 3).detach(),
    "computed": lambda: leaf(2, 3) * 2,
    "view": lambda: (leaf(2, 3) * 2)[1:],
    "transposed": lambda: leaf(2, 3).t(),
    "one_of_several": lambda: leaf(2, 3).unbind()[0],
    "integers": lambda: torch.arange(-2, 3),
    "booleans": lambda: torch.tensor([True, False]),
    "nan": lambda: torch.tensor([float("nan"), -0.0, float("inf")], requires_grad=True),
    "no_tensor": lambda: 3,
    "list": lambda: [1.0],
}


def told(make, how):
    """What relu of an operand leaves."""
    try:
        x = make()
        y = how(x)
        told = [y._data.tobytes(), y._data.strides, y.dtype, y._version, repr(y)]
        if y.requires_grad:
            node = y.grad_fn
            told += [node.name(), *[fn and fn.name() for fn, _ in node.next_functions]]
            if node.name() == "ReluBackward0":
                told += [node._saved_result._data.tobytes(), node._saved_result.grad_fn is node]
            y.retain_grad()
            y.sum().backward()
            told += [y.grad, x.grad if x.is_leaf else None]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return repr(told)


def without_recording(x):
    with torch.no_grad():
        return F.relu(x)


def written_afterwards(x):
    y = F.relu(x)
    y.mul_(2)
    return y


def in_place(x):
    return F.relu(x * 1, inplace=True)


@pytest.mark.parametrize("how", [F.relu, torch.nn.ReLU(), without_recording, written_afterwards, in_place])
@pytest.mark.parametrize("operand", OPERANDS)
def test_on_and_off(operand, how):
    results = []
    for on in (True, False):
        switch(on)
        results.append(told(OPERANDS[operand], how))
    assert results[0] == results[1]


def test_it_is_the_nodes_number_that_orders_a_pass():
    switch(True)
    x = leaf(2, 3)
    numbers = [n._sequence_nr() for n in (F.relu(x).grad_fn, (x * 2).grad_fn, F.relu(x).grad_fn)]
    assert [n - numbers[0] for n in numbers] == [0, 1, 2]
