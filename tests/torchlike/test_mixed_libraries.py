"""Tensors of PyTorch among those of autograd_lab: every operation says that they do not go together, in either order."""

import operator

import pytest

import autograd_lab as ours

torch = pytest.importorskip("torch", exc_type=ImportError)


def with_hook(t):
    x = ours.ones(2, 2, requires_grad=True)
    x.register_hook(lambda g: t)
    x.sum().backward()


def from_backward(t):
    class Doubled(ours.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return t

    Doubled.apply(ours.ones(2, 2, requires_grad=True)).sum().backward()


OPERATORS = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lt", "le", "gt", "ge", "eq", "ne"),
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "ipow", "imatmul"),
]  # fmt: skip
FUNCTIONS = {
    "add": lambda o, t: ours.add(o, t),
    "matmul": lambda o, t: ours.matmul(t, o),
    "cat": lambda o, t: ours.cat([o, t]),
    "stack": lambda o, t: ours.stack((t, o)),
    "where": lambda o, t: ours.where(o > 0, o, t),
    "relu": lambda o, t: ours.relu(t),
    "sum": lambda o, t: ours.sum(t),
    "maximum": lambda o, t: ours.maximum(o, t),
    "einsum": lambda o, t: ours.einsum("ij,jk->ik", o, t),
    "zeros_like": lambda o, t: ours.zeros_like(t),
    "out": lambda o, t: ours.add(o, o, out=t),
    "linear": lambda o, t: ours.nn.functional.linear(o, t),
    "mse_loss": lambda o, t: ours.nn.functional.mse_loss(o, t),
    "cross_entropy": lambda o, t: ours.nn.functional.cross_entropy(o, t.long()),
    "embedding": lambda o, t: ours.nn.functional.embedding(t.long(), o),
    "Linear": lambda o, t: ours.nn.Linear(2, 2)(t),
    "Sequential": lambda o, t: ours.nn.Sequential(ours.nn.Linear(2, 2), ours.nn.ReLU())(t),
    "method": lambda o, t: o.add(t),
    "copy_": lambda o, t: o.copy_(t),
    "gather": lambda o, t: o.gather(0, t.long()),
    "type_as": lambda o, t: o.type_as(t),
    "index": lambda o, t: o[t > 0],
    "setitem": lambda o, t: operator.setitem(o, 0, t[0]),
    "data": lambda o, t: setattr(o, "data", t),
    "grad of a leaf": lambda o, t: setattr(o, "grad", t),
    "Parameter": lambda o, t: ours.nn.Parameter(t),
    "Buffer": lambda o, t: ours.nn.Buffer(t),
    "backward": lambda o, t: (o * ours.ones(2, 2, requires_grad=True)).backward(t),
    "autograd.backward": lambda o, t: ours.autograd.backward(t),
    "autograd.grad, outputs": lambda o, t: ours.autograd.grad(t.sum(), [o]),
    "autograd.grad, inputs": lambda o, t: ours.autograd.grad(o.sum(), t),
    "autograd.grad, one of the inputs": lambda o, t: ours.autograd.grad(o.sum(), [o, t]),
    "hook": lambda o, t: with_hook(t),
    "Function.backward": lambda o, t: from_backward(t),
    "jacobian": lambda o, t: ours.autograd.functional.jacobian(lambda x: x * 2, t),
    "vjp": lambda o, t: ours.autograd.functional.vjp(lambda x: x.sum(), (o, t)),
    "func.grad": lambda o, t: ours.func.grad(lambda x: x.sum())(t),
    "vmap": lambda o, t: ours.func.vmap(lambda x: x * 2)(t),
    "PyTorch's add": lambda o, t: torch.add(t, o),
    "PyTorch's sin": lambda o, t: torch.sin(o),
    "PyTorch's cat": lambda o, t: torch.cat([t, o]),
    "PyTorch's linear": lambda o, t: torch.nn.functional.linear(t, o),
    "PyTorch's mse_loss": lambda o, t: torch.nn.functional.mse_loss(t, o),
    "PyTorch's Linear": lambda o, t: torch.nn.Linear(2, 2)(o),
    "PyTorch's index": lambda o, t: t[o > 0],
}
SAID = "A tensor of PyTorch and one of autograd_lab cannot be used together"


@pytest.fixture(params=["plain", "requires_grad"])
def pair(request):
    wants = request.param == "requires_grad"
    t = torch.ones(2, 2)
    return ours.ones(2, 2, requires_grad=wants), torch.nn.Parameter(t) if wants else t


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("express", [True, False])
def test_an_operator_refuses_both_orders(name, express, pair):
    ours.lab.fast(express)
    o, t = pair
    for a, b in ((o, t), (t, o)):
        with pytest.raises(RuntimeError, match=SAID):
            getattr(operator, name)(a, b)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_refuses(name, pair):
    with pytest.raises(RuntimeError, match=SAID):
        FUNCTIONS[name](*pair)


def test_a_subclass_is_refused_as_well():
    class Mine(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match=SAID):
        ours.ones(2) * torch.ones(2).as_subclass(Mine)


def test_a_copy_is_what_helps():
    t = torch.ones(2, requires_grad=True)
    assert (ours.tensor(t.detach().numpy()) * ours.ones(2)).tolist() == [1, 1]


def test_record_torch_takes_no_tensor_of_ours():
    with pytest.raises(
        TypeError,
        match="record_torch.. records PyTorch, and an input is a tensor of autograd_lab. What to do",
    ):
        ours.lab.record_torch(lambda x: x * x, ours.tensor(2.0, requires_grad=True))
