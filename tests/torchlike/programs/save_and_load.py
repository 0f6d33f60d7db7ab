"""A checkpoint on disk: model, optimizer and scheduler go on where they stopped."""

import io
import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(55)


def build():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)


def train(model, optimizer, scheduler, steps):
    for _ in range(steps):
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    return loss.item()


x, y = torch.randn(10, 3), torch.randn(10, 1)
first = build()
train(*first, 3)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    torch.save(
        {
            "epoch": 3,
            "model": first[0].state_dict(),
            "opt": first[1].state_dict(),
            "sched": first[2].state_dict(),
        },
        path,
    )
    loaded = torch.load(path, weights_only=True)
second = build()
print(second[0].load_state_dict(loaded["model"]))
second[1].load_state_dict(loaded["opt"])
second[2].load_state_dict(loaded["sched"])
a, b = train(*first, 3), train(*second, 3)
print(loaded["epoch"], a == b, a, second[1].param_groups[0]["lr"])
buffer = io.BytesIO()
torch.save(torch.arange(6.0).view(2, 3)[:, 1:], buffer)
buffer.seek(0)
back = torch.load(buffer)
print(back)
small = nn.Linear(3, 2)
try:
    small.load_state_dict({"weight": torch.zeros(2, 4)})
except RuntimeError as error:
    print(error)
print(small.load_state_dict({"weight": torch.zeros(2, 3), "other": torch.ones(1)}, strict=False))
