"""A mixture density net: log-sum-exp in the loss, sampling by gather."""

import math

import torch
import torch.nn as nn

torch.manual_seed(18)
x = torch.linspace(-2, 2, 40).unsqueeze(1)
y = x.sin() * torch.where(torch.rand(40, 1) > 0.5, 1.0, -1.0) + 0.05 * torch.randn(40, 1)


class MDN(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.h = nn.Linear(1, 10)
        self.pi, self.mu, self.sigma = nn.Linear(10, k), nn.Linear(10, k), nn.Linear(10, k)

    def forward(self, x):
        h = torch.tanh(self.h(x))
        return torch.log_softmax(self.pi(h), -1), self.mu(h), nn.functional.softplus(self.sigma(h)) + 1e-3


model = MDN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
for step in range(12):
    log_pi, mu, sigma = model(x)
    log_p = -0.5 * ((y - mu) / sigma) ** 2 - sigma.log() - 0.5 * math.log(2 * math.pi)
    loss = -torch.logsumexp(log_pi + log_p, dim=-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print(step, f"{loss.item():.5f}")
with torch.no_grad():
    log_pi, mu, sigma = model(x[::10])
    k = log_pi.exp().multinomial(1)
    sample = torch.normal(mu.gather(1, k), sigma.gather(1, k))
print(k.flatten(), sample.flatten())
big = torch.tensor([1000.0, 1000.5, -1000.0], requires_grad=True)
torch.logsumexp(big, 0).backward()
print(big.grad, torch.log(torch.exp(big).sum()), torch.softmax(big, 0))
