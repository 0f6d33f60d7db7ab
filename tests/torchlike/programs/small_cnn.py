"""A convolutional net on little pictures, with shapes printed on the way."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(4, 8, kernel_size=3, stride=2)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 3 * 3, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2) if x.shape[-1] == 14 else F.relu(self.conv1(x))
        x = F.relu(self.bn(self.conv2(x)))
        return F.log_softmax(self.fc(torch.flatten(x, 1)), dim=1)


images = torch.zeros(9, 1, 14, 14)
for i in range(9):
    images[i, 0, (i % 3) * 4 : (i % 3) * 4 + 4, :] = 1.0
images += 0.2 * torch.rand_like(images)
labels = torch.arange(9) % 3
net = CNN()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
for step in range(6):
    out = net(images)
    loss = F.nll_loss(out, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, round(loss.item(), 4), tuple(out.shape))
for name, p in net.named_parameters():
    print(name, tuple(p.shape), f"{p.grad.abs().mean():.5f}")
print(net)
print(net.bn.running_mean[:3], net.bn.num_batches_tracked)
