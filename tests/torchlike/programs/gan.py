"""Generator against discriminator: two optimizers, detach, labels as full tensors."""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(999)
G = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 2), nn.Tanh())
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1), nn.Sigmoid())


def weights_init(m):
    if m.__class__.__name__.find("Linear") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.2)
        nn.init.constant_(m.bias.data, 0)


G.apply(weights_init)
D.apply(weights_init)
criterion = nn.BCELoss()
opt_d = optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_g = optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
for i in range(5):
    D.zero_grad()
    real = torch.randn(16, 2) * 0.1 + 0.5
    label = torch.full((16,), 1.0, dtype=torch.float)
    err_real = criterion(D(real).view(-1), label)
    err_real.backward()
    fake = G(torch.randn(16, 4))
    label.fill_(0.0)
    err_fake = criterion(D(fake.detach()).view(-1), label)
    err_fake.backward()
    opt_d.step()
    G.zero_grad()
    label.fill_(1.0)
    out = D(fake).view(-1)
    err_g = criterion(out, label)
    err_g.backward()
    opt_g.step()
    print(
        f"[{i}] D {err_real.item() + err_fake.item():.4f} G {err_g.item():.4f} D(G(z)) {out.mean().item():.4f}"
    )
