# Four steps down a slope
#
# This is all of training: forward, backward, move a little against the gradient, clear the gradient.
# The update happens under no_grad, since it must not become part of the graph.
#
# step: inplace w
# notebook: 13

import torch

x = torch.tensor([1.0, 2.0, 4.0])
target = torch.tensor([3.0, 5.0, 9.0])
w = torch.tensor(0.0, requires_grad=True)
b = torch.tensor(0.0, requires_grad=True)
for step in range(4):
    loss = ((w * x + b - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        b -= 0.05 * b.grad
    w.grad = b.grad = None
    print(f"loss {loss:.3f}, w {w:.3f}, b {b:.3f}")
