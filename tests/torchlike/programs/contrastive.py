"""Metric learning: triplets, pairs, InfoNCE, nearest neighbours by cdist."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
encoder = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
centers = torch.randn(3, 5) * 2
x = centers.repeat_interleave(4, dim=0) + 0.3 * torch.randn(12, 5)
y = torch.arange(3).repeat_interleave(4)
optimizer = torch.optim.Adam(encoder.parameters(), lr=0.02)


def info_nce(z1, z2, temperature=0.5):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    n = z1.size(0)
    logits = z @ z.T / temperature
    logits.masked_fill_(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    return F.cross_entropy(logits, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


for step in range(4):
    z = encoder(x)
    anchor, positive, negative = z[::4], z[1::4], z[2::4].roll(1, 0)
    triplet = nn.TripletMarginLoss(margin=1.0)(anchor, positive, negative)
    distance = F.pairwise_distance(z[0::2], z[1::2])
    pair = torch.mean(torch.clamp(1.0 - distance, min=0.0) ** 2)
    cosine = F.cosine_embedding_loss(anchor, negative, -torch.ones(3), margin=0.2)
    nce = info_nce(z[0::2], z[1::2])
    loss = triplet + pair + cosine + nce
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, *(f"{v.item():.4f}" for v in (triplet, pair, cosine, nce)))
with torch.no_grad():
    z = encoder(x)
    d = torch.cdist(z, z)
    d.fill_diagonal_(float("inf"))
    print((y[d.argmin(1)] == y).float().mean(), d.min(), F.cosine_similarity(z[0], z[5], dim=0))
custom = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1.0 - F.cosine_similarity(a, b))
print(custom(z[0:2], z[2:4], z[6:8]))
