"""Changing the picture instead of the net: activation maximization and a fast gradient sign attack."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
net = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 4))
for p in net.parameters():
    p.requires_grad_(False)
net.eval()
image = (0.1 * torch.randn(1, 1, 8, 8)).requires_grad_()
for step in range(5):
    score = net(image)[0, 2] - 0.01 * image.norm()
    score.backward()
    with torch.no_grad():
        image += 0.5 * image.grad / (image.grad.std() + 1e-8)
        image.clamp_(-2, 2)
    image.grad.zero_()
    print(step, f"{score.item():.4f}")
x = torch.rand(1, 1, 8, 8, requires_grad=True)
label = net(x).argmax(1)
loss = F.cross_entropy(net(x), label)
grad = torch.autograd.grad(loss, x)[0]
attacked = torch.clamp(x + 0.3 * grad.sign(), 0, 1).detach()
print(label, net(attacked).argmax(1), F.cross_entropy(net(attacked), label).item() > loss.item())
blurred = F.avg_pool2d(F.pad(attacked, (1, 1, 1, 1), mode="reflect"), 3, stride=1)
smaller = F.interpolate(blurred, scale_factor=0.5, mode="bilinear", align_corners=False)
print(blurred.shape, smaller.shape, smaller[0, 0, 0])
