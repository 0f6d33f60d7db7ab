"""A line through points: weights as leaves, the update written out."""

import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 20).unsqueeze(1)
y = 3 * x - 0.5 + 0.1 * torch.randn(20, 1)
w = torch.randn(1, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for step in range(40):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.3 * w.grad
        b -= 0.3 * b.grad
    w.grad.zero_()
    b.grad = None
    if step % 10 == 0:
        print(step, loss.item())
print(w, b)
print("closed form", torch.linalg.lstsq(torch.cat([x, torch.ones_like(x)], 1), y).solution.flatten())
