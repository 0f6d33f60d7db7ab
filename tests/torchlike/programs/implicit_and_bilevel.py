"""Hyperparameters by gradients: unrolled training, and the implicit function theorem at a fixed point."""

import torch

torch.manual_seed(0)
X, y = torch.randn(20, 3), torch.randn(20)
Xv, yv = torch.randn(10, 3), torch.randn(10)
log_reg = torch.zeros(3, requires_grad=True)
outer = torch.optim.SGD([log_reg], lr=0.5)
for step in range(4):
    w = torch.zeros(3, requires_grad=True)
    for _ in range(5):
        loss = ((X @ w - y) ** 2).mean() + (log_reg.exp() * w**2).sum()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        w = w - 0.1 * g
    val = ((Xv @ w - yv) ** 2).mean()
    outer.zero_grad()
    val.backward()
    outer.step()
    print(step, f"{val.item():.5f}", log_reg.grad)


class FixedPoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, W, x):
        with torch.enable_grad():
            z = torch.zeros_like(x)
            for _ in range(40):
                z = torch.tanh(z @ W.t() + x)
        z = z.detach()
        ctx.save_for_backward(W, x, z)
        return z

    @staticmethod
    def backward(ctx, grad):
        W, x, z = ctx.saved_tensors
        with torch.enable_grad():
            W, x, z = (t.detach().requires_grad_() for t in (W, x, z))
            f = torch.tanh(z @ W.t() + x)
            u = grad
            for _ in range(40):
                u = grad + torch.autograd.grad(f, z, u, retain_graph=True)[0]
            return torch.autograd.grad(f, (W, x), u)


W = (0.3 * torch.randn(3, 3, dtype=torch.double)).requires_grad_()
x = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
print(torch.autograd.gradcheck(FixedPoint.apply, (W, x), atol=1e-4))
FixedPoint.apply(W, x).sum().backward()
print(W.grad, x.grad)
