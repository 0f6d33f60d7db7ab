"""A little U-Net with skip connections, group norm, transposed convolutions and a dice loss."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(100)


def double_conv(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False),
        nn.GroupNorm(2, o),
        nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1),
        nn.ELU(),
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = double_conv(1, 4), double_conv(4, 8)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.last = double_conv(8, 4)
        self.out = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        up = self.up(b)
        dy, dx = a.size(2) - up.size(2), a.size(3) - up.size(3)
        up = F.pad(up, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.out(self.last(torch.cat([a, up], dim=1)))


def dice_loss(logits, mask, eps=1.0):
    p = torch.sigmoid(logits)
    inter = (p * mask).sum(dim=(1, 2, 3))
    return 1 - ((2 * inter + eps) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + eps)).mean()


x = torch.rand(2, 1, 9, 9)
mask = (x > 0.6).float()
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, "min", patience=1)
for step in range(4):
    logits = net(x)
    loss = dice_loss(logits, mask) + F.binary_cross_entropy_with_logits(logits, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    scheduler.step(loss)
    print(step, f"{loss.item():.4f}", logits.shape)
print(sum(p.numel() for p in net.parameters()), [n for n, _ in net.named_modules()][:6])
