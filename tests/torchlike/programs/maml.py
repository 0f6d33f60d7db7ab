"""Learning to learn: gradients of inner steps flow back to the start (create_graph=True)."""

import torch
import torch.nn.functional as F

torch.manual_seed(4)


def net(x, params):
    w1, b1, w2, b2 = params
    return F.linear(torch.tanh(F.linear(x, w1, b1)), w2, b2)


params = [torch.randn(10, 1) * 0.5, torch.zeros(10), torch.randn(1, 10) * 0.5, torch.zeros(1)]
params = [p.requires_grad_() for p in params]
meta = torch.optim.Adam(params, lr=0.01)
for iteration in range(4):
    meta.zero_grad()
    total = 0.0
    for task in range(3):
        phase, amplitude = torch.rand(1) * 3.14, torch.rand(1) + 0.5
        x = torch.rand(8, 1) * 4 - 2
        y = amplitude * torch.sin(x + phase)
        fast = params
        for _ in range(2):
            inner = F.mse_loss(net(x[:4], fast), y[:4])
            grads = torch.autograd.grad(inner, fast, create_graph=True)
            fast = [p - 0.1 * g for p, g in zip(fast, grads)]
        outer = F.mse_loss(net(x[4:], fast), y[4:])
        outer.backward()
        total += outer.item()
    print(iteration, f"{total:.4f}", f"{params[0].grad.norm().item():.4f}", fast[0].grad_fn.name())
    meta.step()
