"""A physics-informed net: u'' + u = 0 with u(0) = 0, u'(0) = 1, by second derivatives of the net."""

import torch
import torch.nn as nn

torch.manual_seed(123)
torch.set_default_dtype(torch.float64)
net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
t = torch.linspace(0, 2, 15).reshape(-1, 1).requires_grad_(True)
for step in range(15):
    optimizer.zero_grad()
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    ddu = torch.autograd.grad(du, t, torch.ones_like(du), create_graph=True)[0]
    physics = ((ddu + u) ** 2).mean()
    start = u[0, 0] ** 2 + (du[0, 0] - 1) ** 2
    loss = physics + start
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(step, f"{physics.item():.6f} {start.item():.6f}")
print(torch.nn.utils.parameters_to_vector(net.parameters())[:4])
print(net(torch.tensor([[1.0]])))
torch.set_default_dtype(torch.float32)
