"""Batched products: einsum in many forms, bmm, matmul's broadcasting, tensordot, gradients of all."""

import torch

torch.manual_seed(60)
a = torch.randn(2, 3, 4, requires_grad=True)
b = torch.randn(2, 4, 5, requires_grad=True)
w = torch.randn(5, 4, requires_grad=True)
v = torch.randn(4, requires_grad=True)
results = {
    "bij,bjk->bik": torch.einsum("bij,bjk->bik", a, b),
    "bij,kj->bik": torch.einsum("bij,kj->bik", a, w),
    "bij->ji": torch.einsum("bij->ji", a),
    "...j,j": torch.einsum("...j,j", a, v),
    "bii": torch.einsum("bii->bi", a[:, :, :3]),
    "i,j": torch.einsum("i,j->ij", v, v),
    "bij,bjk,lk": torch.einsum("bij,bjk,kj->b", a, b, w),
    "bmm": torch.bmm(a, b),
    "matmul": a @ w.t(),
    "vector": torch.matmul(a, v),
    "tensordot": torch.tensordot(a, b, dims=([0, 2], [0, 1])),
    "outer": torch.outer(v, v[:2]),
    "inner": torch.inner(a, v),
    "addmm": torch.addmm(torch.zeros(3, 5), a[0], b[0], beta=0.5, alpha=2),
    "chain": torch.linalg.multi_dot([a[0], b[0], w]),
}
for name, r in results.items():
    grads = torch.autograd.grad(r.pow(2).sum(), (a, b, w, v), allow_unused=True)
    print(
        name,
        tuple(r.shape),
        f"{r.sum().item():.4f}",
        [None if g is None else round(g.norm().item(), 3) for g in grads],
    )
heads = torch.randn(2, 6, 8).view(2, 6, 2, 4).permute(0, 2, 1, 3)
print(heads.shape, heads.is_contiguous(), heads.reshape(4, 6, 4).stride(), (heads @ heads.mT).shape)
