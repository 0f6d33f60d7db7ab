"""Tied weights, frozen layers, parameter groups, and what the optimizer leaves alone."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
        self.head = nn.Linear(3, 1, bias=False)

    def forward(self, a, b):
        fa, fb = self.backbone(a), self.backbone(b)
        return self.head((fa - fb).abs()).squeeze(-1), fa


class TiedAutoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, 6))
        self.bias_h, self.bias_v = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(6))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        return F.linear(torch.sigmoid(F.linear(x, self.weight, self.bias_h)), self.weight.t(), self.bias_v)


model = Siamese()
for name, p in model.backbone[0].named_parameters():
    p.requires_grad = False
before = {k: v.clone() for k, v in model.state_dict().items()}
optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
a, b, same = torch.randn(8, 4), torch.randn(8, 4), torch.tensor([0.0, 1.0] * 4)
for _ in range(3):
    logit, _ = model(a, b)
    loss = F.binary_cross_entropy_with_logits(logit, same)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
for k, v in model.state_dict().items():
    print(k, "unchanged" if torch.equal(v, before[k]) else "changed", model.get_parameter(k).grad is None)
auto = TiedAutoencoder()
x = torch.rand(7, 6)
loss = F.mse_loss(auto(x), x)
loss.backward()
print(loss, auto.weight.grad)
shared = nn.Linear(2, 2)
net = nn.Sequential(shared, nn.Tanh(), shared)
print(len(list(net.parameters())), len(net.state_dict()), sum(1 for _ in net.modules()))
net(torch.ones(1, 2)).sum().backward()
print(shared.weight.grad)
