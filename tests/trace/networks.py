"""Recorded networks of any size, in the two shapes that matter for large graphs: wide (a number a tensor) and deep."""

import itertools
import math
import random

import autograd_lab as torch
from autograd_lab import lab, nn


class Neuron:
    def __init__(self, inputs, r):
        self.w = [torch.tensor(r.uniform(-1, 1) / inputs**0.5, requires_grad=True) for _ in range(inputs)]
        self.b = torch.tensor(0.1, requires_grad=True)

    def __call__(self, xs):
        total = self.b
        for w, x in zip(self.w, xs, strict=True):
            total = total + w * x
        return torch.tanh(total)


class Layer:
    def __init__(self, inputs, outputs, r):
        self.neurons = [Neuron(inputs, r) for _ in range(outputs)]

    def __call__(self, xs):
        return [neuron(xs) for neuron in self.neurons]


class MLP:
    def __init__(self, sizes, r):
        self.layers = [Layer(a, b, r) for a, b in itertools.pairwise(sizes)]

    def __call__(self, xs):
        for layer in self.layers:
            xs = layer(xs)
        return xs


def neurons(nodes):
    """A scalar network in micrograd's way, of about `nodes` nodes: two hidden layers, wide."""
    r, width = random.Random(0), max(2, round(math.sqrt(nodes / 3) - 1.5))
    net, xs = MLP((3, width, width, 1), r), [torch.tensor(r.uniform(-1, 1)) for _ in range(3)]
    with lab.record(f"scalar network of width {width}") as trace:
        (y,) = net(xs)
        loss = (y - 1.0) ** 2
        loss.backward()
    return trace


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm, self.l1, self.l2 = nn.LayerNorm(n), nn.Linear(n, 2 * n), nn.Linear(2 * n, n)

    def forward(self, x):
        return x + self.l2(torch.relu(self.l1(self.norm(x))))


class Deep(nn.Module):
    def __init__(self, depth, n=8):
        super().__init__()
        self.stem, self.head = nn.Linear(4, n), nn.Linear(n, 2)
        self.blocks = nn.Sequential(*[Block(n) for _ in range(depth)])

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def blocks(nodes):
    """A residual network on arrays, of about `nodes` nodes: deep."""
    depth = max(1, nodes // 13)
    net = Deep(depth)
    x, labels = torch.ones(5, 4), torch.tensor([0, 1, 1, 0, 1])
    with lab.record(f"residual network of {depth} blocks") as trace:
        loss = nn.functional.cross_entropy(net(x), labels)
        loss.backward()
    return trace


def turns(count):
    """A recurrent network of `count` turns, whose weights all turns share."""
    wx, wh, b = (torch.ones(n, 4, requires_grad=True) for n in (3, 4, 1))
    xs = [torch.ones(2, 3) * i for i in range(count)]
    with lab.record(f"recurrent network, {count} turns") as trace:
        h = torch.zeros(2, 4)
        for x in xs:
            a = x @ wx + h @ wh
            h = torch.tanh(a + b)
        loss = (h**2).mean()
        loss.backward()
    return trace
