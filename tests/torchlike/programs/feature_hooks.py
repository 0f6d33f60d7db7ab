"""Hooks: features of inner layers, class activation maps, gradient logging and editing."""

import torch
import torch.nn as nn

torch.manual_seed(20)
model = nn.Sequential()
model.add_module("conv", nn.Conv2d(1, 3, 3, padding=1))
model.add_module("act", nn.ReLU())
model.add_module("pool", nn.AdaptiveAvgPool2d(1))
model.add_module("flat", nn.Flatten())
model.add_module("fc", nn.Linear(3, 2))
features, gradients = {}, {}


def save_output(name):
    def hook(module, inputs, output):
        features[name] = output.detach()
        output.register_hook(lambda g: gradients.__setitem__(name, g.clone()))

    return hook


handles = [m.register_forward_hook(save_output(n)) for n, m in model.named_children() if n in ("act", "fc")]
x = torch.rand(2, 1, 5, 5, requires_grad=True)
out = model(x)
out[:, 1].sum().backward()
weights = gradients["act"].mean(dim=(2, 3), keepdim=True)
cam = torch.relu((weights * features["act"]).sum(1))
print({k: tuple(v.shape) for k, v in features.items()}, cam[0, 0])
for h in handles:
    h.remove()
features.clear()
model(x)
print(len(features))
seen = []
handle = model.fc.register_full_backward_hook(
    lambda m, gi, go: seen.append((tuple(gi[0].shape), go[0].sum().item()))
)
pre = model.fc.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
x.grad = None
h = x.register_hook(lambda g: g.clamp(max=0.01))
model(x).sum().backward()
print(seen, x.grad.max(), x.grad[0, 0, 0])
handle.remove(), pre.remove(), h.remove()
z = torch.tensor([1.0, 2.0], requires_grad=True)
z.register_post_accumulate_grad_hook(lambda p: print("accumulated", p.grad))
(z**2).sum().backward()
mid = z * 3
mid.retain_grad()
mid.prod().backward()
print(mid.grad, z.grad)
