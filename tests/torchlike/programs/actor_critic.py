"""Reinforcement learning's detaches: policy gradient with a baseline, and soft actor-critic's targets."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, Normal

torch.manual_seed(1)
policy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3))
value = nn.Linear(2, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)
for episode in range(3):
    states = torch.randn(6, 2)
    dist = Categorical(logits=policy(states))
    actions = dist.sample()
    rewards = (actions == 1).float() - 0.1 * states[:, 0]
    returns = torch.flip(torch.cumsum(torch.flip(rewards, [0]), 0), [0])
    baseline = value(states).squeeze(-1)
    advantage = (returns - baseline).detach()
    loss = (
        -(dist.log_prob(actions) * advantage).mean()
        + F.smooth_l1_loss(baseline, returns)
        - 0.01 * dist.entropy().mean()
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(episode, actions.tolist(), f"{loss.item():.4f}")


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)

    def forward(self, s):
        mean, log_std = self.net(s).chunk(2, dim=-1)
        normal = Normal(mean, log_std.clamp(-5, 2).exp())
        u = normal.rsample()
        a = torch.tanh(u)
        return a, (normal.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)


actor, critic = Actor(), nn.Linear(3, 1)
target = copy.deepcopy(critic).requires_grad_(False)
log_alpha = torch.zeros(1, requires_grad=True)
opt_a = torch.optim.Adam(actor.parameters(), lr=0.01)
opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
opt_alpha = torch.optim.Adam([log_alpha], lr=0.01)
for step in range(3):
    s, a, r, s2 = torch.randn(5, 2), torch.rand(5, 1) * 2 - 1, torch.randn(5, 1), torch.randn(5, 2)
    with torch.no_grad():
        a2, logp2 = actor(s2)
        y = r + 0.9 * (target(torch.cat([s2, a2], 1)) - log_alpha.exp() * logp2)
    critic_loss = F.mse_loss(critic(torch.cat([s, a], 1)), y)
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
    new, logp = actor(s)
    actor_loss = (log_alpha.exp().detach() * logp - critic(torch.cat([s, new], 1))).mean()
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
    alpha_loss = -(log_alpha * (logp + 1.0).detach()).mean()
    opt_alpha.zero_grad()
    alpha_loss.backward()
    opt_alpha.step()
    with torch.no_grad():
        for t, c in zip(target.parameters(), critic.parameters()):
            t.data.mul_(0.9)
            t.data.add_(0.1 * c.data)
    print(step, f"{critic_loss.item():.4f} {actor_loss.item():.4f} {log_alpha.item():.4f}")
