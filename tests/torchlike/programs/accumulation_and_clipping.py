"""A large batch in small pieces; gradients clipped by norm and by value; their norms logged."""

import torch
import torch.nn as nn

torch.manual_seed(17)
model = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 2))
data, target = torch.randn(24, 4) * 3, torch.randint(0, 2, (24,))
loss_fn = nn.CrossEntropyLoss()
whole = torch.autograd.grad(loss_fn(model(data), target), list(model.parameters()))
for x, t in zip(data.chunk(4), target.chunk(4)):
    (loss_fn(model(x), t) / 4).backward()
print([torch.allclose(p.grad, g, atol=1e-6) for p, g in zip(model.parameters(), whole)])
print(nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5))
print(torch.norm(torch.stack([p.grad.norm(2) for p in model.parameters()]), 2))
nn.utils.clip_grad_value_(model.parameters(), 0.05)
print(max(p.grad.abs().max() for p in model.parameters()))
optimizer = torch.optim.AdamW(
    [
        {"params": [p for n, p in model.named_parameters() if n.endswith("bias")], "weight_decay": 0.0},
        {"params": [p for n, p in model.named_parameters() if n.endswith("weight")], "lr": 0.01},
    ],
    lr=0.1,
    weight_decay=0.2,
)
optimizer.step()
print(optimizer)
print(model[0].bias, model[2].weight[0])
