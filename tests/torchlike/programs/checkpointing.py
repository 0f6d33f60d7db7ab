"""Gradient checkpointing: blocks computed twice, the same gradients; dropout drawn again the same."""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(77)
calls = []


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = nn.Linear(n, n)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        calls.append(1)
        return x + self.drop(torch.relu(self.lin(x)))


blocks = nn.ModuleList([Block(6) for _ in range(4)])
x = torch.randn(3, 6)


def run(cheap):
    torch.manual_seed(5)
    h = x
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False) if cheap else block(h)
    loss = h.pow(2).mean()
    blocks.zero_grad()
    loss.backward()
    return loss.item(), [p.grad.clone() for p in blocks.parameters()]


loss, plain = run(False)
first = len(calls)
cheap_loss, cheap = run(True)
print(loss, cheap_loss, first, len(calls) - first)
print(all(torch.allclose(a, b) for a, b in zip(plain, cheap)), plain[0][0])
seq = nn.Sequential(*[nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(4)])
inp = torch.randn(2, 6, requires_grad=True)
out = checkpoint_sequential(seq, 2, inp, use_reentrant=False)
out.sum().backward()
print(inp.grad[0])
