"""Modules put together: dicts and lists of parameters, buffers, functional_call, device moves."""

import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(66)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
        self.scales = nn.ParameterList([torch.ones(3) * i for i in range(1, 3)])
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_parameter("missing", None)
        self.extra = nn.ParameterDict({"gain": torch.tensor(2.0)})

    def forward(self, x, route="a"):
        self.count += 1
        return self.extra["gain"] * torch.relu(self.layers[route](x)) * self.scales[0] + self.scales[1]


m = Mixed()
x = torch.randn(2, 3)
print(m(x, route="b").shape, m.count, [n for n, _ in m.named_parameters()], [n for n, _ in m.named_buffers()])
print(m)
replaced = {n: torch.zeros_like(p) for n, p in m.named_parameters()}
print(functional_call(m, replaced, (x,)), m.count.item())
weights = {k: v.detach().clone().requires_grad_() for k, v in m.named_parameters()}
grads = torch.autograd.grad(
    functional_call(m, weights, (x,), {"route": "b"}).sum(), list(weights.values()), allow_unused=True
)
print([None if g is None else tuple(g.shape) for g in grads])
print(
    m.double().layers["a"].weight.dtype,
    m.float().count.dtype,
    m.to("cpu") is m,
    m.training,
    m.eval().training,
)
print(m.get_submodule("layers.b"), m.get_parameter("scales.1"), len(list(m.children())))
with torch.no_grad():
    m.apply(lambda s: s.weight.fill_(0.5) if isinstance(s, nn.Linear) else None)
print(
    m.layers["b"].weight.sum(),
    sum(p.numel() for p in m.parameters()),
    nn.utils.parameters_to_vector(m.scales).sum(),
)
m.requires_grad_(False)
m.layers["a"].requires_grad_()
print([n for n, p in m.named_parameters() if p.requires_grad])
