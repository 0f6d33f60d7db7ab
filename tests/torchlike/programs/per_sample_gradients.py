"""A gradient per example without vmap: by loops, and by the outer-product trick; noise added as in private SGD."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(70)
model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
x, t = torch.randn(5, 4), torch.tensor([0, 1, 1, 0, 1])
loops = []
for i in range(5):
    grads = torch.autograd.grad(F.cross_entropy(model(x[i : i + 1]), t[i : i + 1]), list(model.parameters()))
    loops.append(torch.cat([g.flatten() for g in grads]))
loops = torch.stack(loops)
acts, backs = {}, {}
for layer in (model[0], model[2]):
    layer.register_forward_hook(lambda m, i, o: acts.__setitem__(m, i[0].detach()))
    layer.register_full_backward_hook(lambda m, gi, go: backs.__setitem__(m, go[0].detach()))
F.cross_entropy(model(x), t, reduction="sum").backward()
pieces = []
for layer in (model[0], model[2]):
    pieces += [torch.einsum("bo,bi->boi", backs[layer], acts[layer]).flatten(1), backs[layer]]
print(torch.allclose(loops, torch.cat(pieces, 1), atol=1e-6), loops.norm(dim=1))
clipped = loops * (0.5 / loops.norm(dim=1, keepdim=True)).clamp(max=1.0)
private = clipped.sum(0) + 0.1 * torch.randn(loops.shape[1])
offset = 0
with torch.no_grad():
    for p in model.parameters():
        p.sub_(0.1 * private[offset : offset + p.numel()].view_as(p))
        offset += p.numel()
print(offset, F.cross_entropy(model(x), t))
nn.utils.vector_to_parameters(torch.zeros(offset), model.parameters())
print(model(x)[0])
