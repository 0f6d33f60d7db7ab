"""Weight normalization and spectral normalization, by hand and by the library."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations, parametrize

torch.manual_seed(31)


class WeightNormLinear(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.v = nn.Parameter(torch.randn(m, n))
        self.g = nn.Parameter(torch.ones(m, 1))

    def forward(self, x):
        return F.linear(x, self.g * self.v / self.v.norm(dim=1, keepdim=True))


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


layer = WeightNormLinear(3, 2)
x = torch.randn(5, 3)
layer(x).pow(2).sum().backward()
print(layer.g.grad, (layer.v.grad * layer.v).sum(1))
u = F.normalize(torch.randn(4), dim=0)
W = torch.randn(4, 3, requires_grad=True)
for _ in range(3):
    with torch.no_grad():
        v = F.normalize(W.t().mv(u), dim=0)
        u = F.normalize(W.mv(v), dim=0)
sigma = torch.dot(u, torch.mv(W, v))
(W / sigma).sum().backward()
print(sigma, torch.linalg.svdvals(W.detach())[0], W.grad[0])
square = nn.Linear(3, 3)
parametrize.register_parametrization(square, "weight", Symmetric())
print(torch.allclose(square.weight, square.weight.T), [n for n, _ in square.named_parameters()])
square(x).sum().backward()
print(square.parametrizations.weight.original.grad)
parametrize.remove_parametrizations(square, "weight")
print([n for n, _ in square.named_parameters()])
normed = parametrizations.weight_norm(nn.Linear(3, 2), name="weight")
print(sorted(normed.state_dict()), normed(x).sum())
spectral = parametrizations.spectral_norm(nn.Linear(3, 4))
print(torch.linalg.matrix_norm(spectral.eval().weight, 2) < 1.5, spectral(x)[0])
