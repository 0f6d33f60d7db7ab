"""A Hamiltonian net trained through its own gradients, and a coupling flow with its log-determinant."""

import torch
import torch.nn as nn

torch.manual_seed(9)
H = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(H.parameters(), lr=1e-2)
state = torch.randn(30, 2)
velocity = torch.stack([state[:, 1], -state[:, 0]], 1)
for step in range(6):
    s = state.clone().requires_grad_()
    dH = torch.autograd.grad(H(s).sum(), s, create_graph=True)[0]
    predicted = torch.cat([dH[:, 1:], -dH[:, :1]], dim=1)
    loss = (predicted - velocity).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{loss.item():.5f}", H[0].weight.grad.norm())


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        a, b = x.flip(1).chunk(2, 1) if self.flip else x.chunk(2, 1)
        s, t = self.net(a).unbind(1)
        s = torch.tanh(s)
        out = torch.cat([a, b * s.exp().unsqueeze(1) + t.unsqueeze(1)], 1)
        return (out.flip(1) if self.flip else out), s


flow = nn.ModuleList([Coupling(i % 2 == 1) for i in range(4)])
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
base = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
data = torch.randn(50, 2) @ torch.tensor([[1.0, 0.8], [0.0, 0.5]]) + torch.tensor([1.0, -1.0])
for step in range(5):
    z, logdet = data, torch.zeros(50)
    for layer in flow:
        z, ld = layer(z)
        logdet = logdet + ld
    loss = -(base.log_prob(z) + logdet).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.5f}")
x = data[:1].clone()
J = torch.autograd.functional.jacobian(lambda v: flow[0](v.unsqueeze(0))[0][0], x[0])
print(torch.allclose(torch.linalg.slogdet(J)[1], flow[0](x)[1][0], atol=1e-5))
