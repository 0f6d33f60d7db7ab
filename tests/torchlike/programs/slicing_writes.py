"""Writing into slices of a result, and what comes back through them."""

import torch

x = torch.arange(1.0, 7.0, requires_grad=True)
canvas = torch.zeros(4, 4)
canvas[1:3, 1:3] = x[:4].view(2, 2)
canvas[0] = x[4]
canvas[..., -1] += 2 * x[5]
canvas[torch.tensor([3, 3]), torch.tensor([0, 1])] = x[:2] ** 2
canvas.diagonal().mul_(3)
print(canvas, canvas.grad_fn.name())
(canvas * torch.arange(16.0).view(4, 4)).sum().backward()
print(x.grad)
y = torch.ones(3, 4, requires_grad=True)
z = y * 2
z[:, ::2] *= torch.tensor([[1.0], [2.0], [3.0]])
z[z > 5] = 0.0
row = z[1]
row.add_(1)
print(z, row, z._version)
z.pow(2).sum().backward()
print(y.grad)
series = [torch.tensor(1.0, requires_grad=True)]
buffer = torch.zeros(5)
for t in range(5):
    buffer[t] = series[-1] * 0.5 + t
    series.append(buffer[t].clone())
buffer.sum().backward()
print(series[0].grad, buffer)
leaf = torch.zeros(3, requires_grad=True)
try:
    leaf[0] = 1.0
except RuntimeError as error:
    print(error)
w = torch.rand(3, requires_grad=True)
out = w.exp()
out += 1
try:
    out.sum().backward()
except RuntimeError as error:
    print(str(error)[:150])
cat = torch.cat([x.detach()[:2], torch.full((2,), -1.0)])
cat[1::2], cat[0] = cat[::2].clone(), 9.0
print(cat, torch.stack([cat, cat.flip(0)]).unfold(1, 2, 1).shape)
