"""k-means, histograms, graph sums: index_add, scatter, bincount, unique, searchsorted."""

import torch

torch.manual_seed(50)
points = torch.cat(
    [
        torch.randn(10, 2) + c
        for c in (torch.tensor([0.0, 4.0]), torch.tensor([4.0, 0.0]), torch.tensor([-4.0, -4.0]))
    ]
)
centers = points[torch.randperm(len(points))[:3]].clone()
for step in range(5):
    labels = torch.cdist(points, centers).argmin(dim=1)
    sums = torch.zeros(3, 2).index_add_(0, labels, points)
    counts = torch.bincount(labels, minlength=3)
    centers = sums / counts.clamp(min=1).unsqueeze(1)
    print(step, counts, sums.sum())
print(centers)
edges = torch.tensor([[0, 1, 2, 2, 3], [1, 2, 0, 3, 0]])
features = torch.randn(4, 3, requires_grad=True)
weight = torch.rand(5, requires_grad=True)
messages = features[edges[0]] * weight[:, None]
received = torch.zeros(4, 3).scatter_add(0, edges[1][:, None].expand(-1, 3), messages)
degree = torch.zeros(4).scatter_add_(0, edges[1], torch.ones(5))
out = received / degree.clamp(min=1)[:, None]
biggest = torch.zeros(4, 3).scatter_reduce(
    0, edges[1][:, None].expand(-1, 3), messages, reduce="amax", include_self=False
)
(out.pow(2).sum() + biggest.sum()).backward()
print(out.detach(), weight.grad, features.grad[2])
values, inverse, count = torch.unique(
    torch.tensor([3, 1, 3, 2, 1, 3]), return_inverse=True, return_counts=True
)
print(values, inverse, count)
print(
    torch.histc(points[:, 0], bins=4, min=-6, max=6),
    torch.searchsorted(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.5, 1.0, 5.0])),
)
one_hot = torch.zeros(4, 3).scatter_(1, torch.tensor([[0], [2], [1], [2]]), 1.0)
print(one_hot, torch.bucketize(torch.tensor([0.1, 3.3]), torch.tensor([1.0, 2.0, 3.0])))
mask = points[:, 0] > 0
print(
    points[mask].shape,
    mask.nonzero().squeeze(1)[:5],
    torch.masked_select(points, points > 5),
    torch.where(mask)[0][-1],
)
table = torch.zeros(3, 3, dtype=torch.long)
table.index_put_((torch.tensor([0, 0, 1]), torch.tensor([1, 1, 2])), torch.tensor(1), accumulate=True)
print(table, torch.take_along_dim(points, points.argsort(dim=0), dim=0)[0])
