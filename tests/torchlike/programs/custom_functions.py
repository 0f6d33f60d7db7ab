"""autograd.Function: straight-through rounding, a clamp of one's own, a double backward, gradcheck."""

import torch
from torch.autograd import Function, gradcheck, gradgradcheck


class StraightThroughRound(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class MyClamp(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        inside = (x >= ctx.low) & (x <= ctx.high)
        return grad * inside, None, None


class Cube(Function):
    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx, grad, grad_slope):
        x, slope = ctx.saved_tensors
        return grad * slope + grad_slope * 6 * x


class ReverseGradient(Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.neg() * ctx.strength, None


x = torch.tensor([-1.7, 0.2, 0.6, 2.4], requires_grad=True)
(StraightThroughRound.apply(x) * torch.arange(4.0)).sum().backward()
print(StraightThroughRound.apply(x), x.grad)
x.grad = None
MyClamp.apply(x, -1.0, 1.0).pow(2).sum().backward()
print(x.grad)
y, slope = Cube.apply(x)
(g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
print(g, torch.autograd.grad(g.sum(), x)[0])
d = torch.linspace(-1, 1, 5, dtype=torch.double, requires_grad=True)
print(gradcheck(lambda t: Cube.apply(t)[0], (d,)), gradgradcheck(lambda t: Cube.apply(t)[0], (d,)))
print(torch.autograd.grad(ReverseGradient.apply(x, 0.5).sum(), x))
print(y.grad_fn.name(), y.grad_fn.next_functions[0][0].__class__.__name__)
