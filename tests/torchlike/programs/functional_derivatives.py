"""Jacobians, Hessians, products with them, forward mode: torch.autograd.functional and forward_ad."""

import torch
import torch.autograd.forward_ad as fwAD
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

x = torch.tensor([0.5, -1.0, 2.0])
y = torch.tensor([1.0, 3.0])


def f(x, y):
    return torch.stack([x.prod() * y[0], (x**2).sum() + y.prod(), torch.sin(x[0] * y[1])])


def scalar(x):
    return (x**3).sum() * x[0] + torch.exp(x[1])


for block in jacobian(f, (x, y)):
    print(block)
print(
    jacobian(lambda t: t.exp(), x, create_graph=True).grad_fn is not None,
    jacobian(f, (x, y), vectorize=True)[1],
)
print(hessian(scalar, x))
print(hvp(scalar, x, torch.ones(3))[1], vhp(scalar, x, torch.ones(3))[1])
print(vjp(f, (x, y), torch.tensor([1.0, 0.0, 2.0]))[1])
print(jvp(f, (x, y), (torch.ones(3), torch.zeros(2)))[1])
with fwAD.dual_level():
    dual = fwAD.make_dual(x, torch.tensor([1.0, 0.0, 0.0]))
    out = f(dual, y)
    value, tangent = fwAD.unpack_dual(out)
    print(value, tangent)
    layer = torch.nn.Linear(3, 2)
    print(fwAD.unpack_dual(torch.tanh(dual).sum()).tangent, fwAD.unpack_dual(x).tangent)
weights = torch.eye(3, requires_grad=True)
jac = torch.stack([torch.autograd.grad(f(weights @ x, y)[i], weights)[0].sum() for i in range(3)])
print(jac)
losses = ((weights @ torch.arange(12.0).view(3, 4)) ** 2).sum(0)
per_sample = torch.stack([torch.autograd.grad(l, weights, retain_graph=True)[0] for l in losses])
batched = torch.autograd.grad(losses, weights, torch.eye(4), is_grads_batched=True)[0]
print(per_sample.shape, torch.equal(per_sample, batched), per_sample.flatten(1).norm(dim=1))
