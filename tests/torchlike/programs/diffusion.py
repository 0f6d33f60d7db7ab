"""A tiny diffusion model: noise schedule, time embedding, training target, ancestral sampling."""

import math

import torch
import torch.nn as nn

torch.manual_seed(202)
T = 10
betas = torch.linspace(1e-3, 0.3, T)
alphas = 1.0 - betas
abar = torch.cumprod(alphas, dim=0)


def time_embedding(t, dim=8):
    freqs = torch.exp(-math.log(1000) * torch.arange(dim // 2) / (dim // 2))
    args = t[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, time_embedding(t)], dim=-1))


model = Denoiser()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
angle = torch.rand(64) * 2 * torch.pi
data = torch.stack([angle.cos(), angle.sin()], dim=1)
for step in range(8):
    t = torch.randint(0, T, (64,))
    noise = torch.randn_like(data)
    a = abar[t].unsqueeze(1)
    noisy = a.sqrt() * data + (1 - a).sqrt() * noise
    loss = nn.functional.mse_loss(model(noisy, t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 2 == 1:
        print(step, f"{loss.item():.4f}")


@torch.no_grad()
def sample(n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        x = (x - betas[i] / (1 - abar[i]).sqrt() * model(x, t)) / alphas[i].sqrt()
        if i > 0:
            x += betas[i].sqrt() * torch.randn_like(x)
    return x


print(sample(3))
