"""A neural ordinary differential equation, stepped by Euler's method and by a checkpointed one."""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(8)
field = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 2))
start = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
times = torch.linspace(0, 1, 11)
angle = times[-1]
rotation = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
target = start @ rotation.T


def solve(x, cheap=False):
    path = [x]
    for dt in times.diff():
        move = checkpoint(field, x, use_reentrant=False) if cheap else field(x)
        x = x + dt * move
        path.append(x)
    return torch.stack(path)


optimizer = torch.optim.Adam(field.parameters(), lr=0.02)
for step in range(5):
    optimizer.zero_grad()
    path = solve(start, cheap=step % 2 == 1)
    loss = (path[-1] - target).pow(2).sum(-1).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), path.shape)
print(field[0].weight.grad[:2])
