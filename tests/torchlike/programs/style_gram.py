"""Style transfer's losses: Gram matrices of features, total variation, LBFGS on the picture."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
features = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(4, 6, 3, padding=1)
)
features.requires_grad_(False)


def gram_matrix(t):
    a, b, c, d = t.size()
    flat = t.view(a * b, c * d)
    return torch.mm(flat, flat.t()).div(a * b * c * d)


content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
content_target, style_target = features(content), gram_matrix(features(style))
picture = content.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([picture], lr=0.5, max_iter=4)
runs = [0]
while runs[0] < 12:

    def closure():
        with torch.no_grad():
            picture.clamp_(0, 1)
        optimizer.zero_grad()
        out = features(picture)
        content_loss = F.mse_loss(out, content_target)
        style_loss = 1e4 * F.mse_loss(gram_matrix(out), style_target)
        tv = (picture[..., 1:] - picture[..., :-1]).abs().mean()
        loss = content_loss + style_loss + 0.01 * tv
        loss.backward()
        runs[0] += 1
        if runs[0] % 4 == 0:
            print(runs[0], f"{content_loss.item():.4f} {style_loss.item():.4f}")
        return loss

    optimizer.step(closure)
print(picture[0, 0, 0, :4].detach())
