"""A variational autoencoder: the reparameterization trick, and the two terms of its loss."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(11)


class VAE(nn.Module):
    def __init__(self, width=12, hidden=8, latent=2):
        super().__init__()
        self.enc = nn.Linear(width, hidden)
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.Sigmoid())

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return eps.mul(std).add_(mu)

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


data = (torch.rand(30, 12) > 0.6).float()
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    optimizer.zero_grad()
    recon, mu, logvar = model(data)
    bce = F.binary_cross_entropy(recon, data, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    loss = bce + kld
    loss.backward()
    optimizer.step()
    print(f"{step}: {loss.item() / len(data):.4f} = {bce.item() / 30:.4f} + {kld.item() / 30:.4f}")
with torch.no_grad():
    print(model.dec(torch.zeros(1, 2)))
