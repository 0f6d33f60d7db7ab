"""The gradient penalty: the norm of an input's gradient is part of the loss."""

import torch
from torch import autograd, nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-3)


def gradient_penalty(real, fake, weight=10.0):
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    (grad,) = autograd.grad(
        outputs=score,
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )
    return weight * ((grad.norm(2, dim=1) - 1) ** 2).mean()


for step in range(5):
    real, fake = torch.randn(10, 3) + 1, torch.randn(10, 3) * 0.5
    loss = critic(fake).mean() - critic(real).mean()
    penalty = gradient_penalty(real, fake)
    optimizer.zero_grad()
    (loss + penalty).backward()
    optimizer.step()
    print(f"{step} {loss.item():.4f} {penalty.item():.4f}")
print([round(p.grad.norm().item(), 4) for p in critic.parameters()])
