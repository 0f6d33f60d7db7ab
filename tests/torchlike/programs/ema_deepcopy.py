"""A running average of a net: deepcopy, lerp_, state_dict, comparison of predictions."""

import copy

import torch
import torch.nn as nn

torch.manual_seed(10)
model = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
ema = copy.deepcopy(model)
for p in ema.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 3), torch.randn(16, 1)


@torch.no_grad()
def update(source, average, decay=0.8):
    for a, s in zip(average.parameters(), source.parameters()):
        a.mul_(decay).add_(s, alpha=1 - decay)
    for a, s in zip(average.buffers(), source.buffers()):
        a.copy_(s)


for step in range(6):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update(model, ema)
model.eval(), ema.eval()
print(f"{nn.functional.mse_loss(model(x), y):.4f} {nn.functional.mse_loss(ema(x), y):.4f}")
print(next(ema.parameters())[0], next(model.parameters())[0])
print(all(a is not b for a, b in zip(model.parameters(), ema.parameters())), ema[1].num_batches_tracked)
averaged = torch.optim.swa_utils.AveragedModel(model)
model[0].weight.data += 1
averaged.update_parameters(model)
averaged.update_parameters(model)
print(averaged.n_averaged, averaged.module[0].weight[0])
