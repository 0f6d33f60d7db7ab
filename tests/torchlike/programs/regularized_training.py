"""L1, elastic net, early stopping, weight decay by hand, noise, mixup, label smoothing: the usual tricks."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(33)
X = torch.randn(40, 10)
true = torch.zeros(10)
true[:3] = torch.tensor([2.0, -1.0, 0.5])
Y = X @ true + 0.1 * torch.randn(40)
w = nn.Parameter(torch.zeros(10))
opt = torch.optim.SGD([w], lr=0.05)
best, wait, kept = float("inf"), 0, None
for epoch in range(30):
    opt.zero_grad()
    loss = F.mse_loss(X[:30] @ w, Y[:30])
    (loss + 0.05 * w.abs().sum() + 0.01 * w.pow(2).sum()).backward()
    opt.step()
    with torch.no_grad():
        w.copy_(F.softshrink(w, 0.002))
        val = F.mse_loss(X[30:] @ w, Y[30:]).item()
    if val < best - 1e-3:
        best, wait, kept = val, 0, w.detach().clone()
    else:
        wait += 1
        if wait == 3:
            break
print(epoch, f"{best:.4f}", kept)
print((kept.abs() < 0.05).sum(), torch.count_nonzero(kept))
net = nn.Sequential(nn.Linear(10, 16), nn.LeakyReLU(), nn.AlphaDropout(0.1), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
labels = torch.randint(3, (40,))
for step in range(4):
    lam = torch.rand(1).item()
    perm = torch.randperm(40)
    mixed = lam * X + (1 - lam) * X[perm]
    mixed = mixed + 0.05 * torch.randn_like(mixed)
    out = net(mixed)
    loss = lam * F.cross_entropy(out, labels, label_smoothing=0.1) + (1 - lam) * F.cross_entropy(
        out, labels[perm], weight=torch.tensor([1.0, 2.0, 0.5])
    )
    net.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.4f}")
focal = lambda logits, t, gamma=2.0: (
    (1 - F.softmax(logits, 1).gather(1, t[:, None])) ** gamma
    * F.cross_entropy(logits, t, reduction="none")[:, None]
).mean()
print(
    focal(net.eval()(X), labels),
    F.kl_div(F.log_softmax(net(X), 1), F.softmax(X[:, :3], 1), reduction="batchmean"),
)
teacher = F.softmax(torch.randn(40, 3) / 2.0, dim=1)
print(
    F.cross_entropy(net(X), teacher),
    F.huber_loss(X @ w, Y, delta=0.5),
    F.poisson_nll_loss(X @ w, Y.abs()),
    F.gaussian_nll_loss(X @ w, Y, torch.ones(40)),
)
