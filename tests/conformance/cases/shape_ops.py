# [group] reshaping

# [case] reshape_and_view | reshape, view, -1, view_as, reshape_as
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
a, b, c = x.reshape(3, -1), x.view(-1), x.t().reshape(6)
((a * torch.arange(6.0).reshape(3, 2)).sum() + b[4] * 10 + c[1] * 100).backward()
out = dict(a=a, b=b, c=c, shapes=[x.reshape((6, 1)).shape, x.view(torch.Size([1, 6])).shape, x.reshape_as(torch.zeros(6)).shape, x.view(2, 1, 3).shape], share=(a.data_ptr() == x.data_ptr(), c.data_ptr() == x.data_ptr()), g=x.grad)

# [case] squeeze_unsqueeze | squeeze of one dim, all dims, several dims; unsqueeze at negative dims
x = torch.arange(3.0).reshape(1, 3, 1).requires_grad_()
out = dict(shapes=[x.squeeze().shape, x.squeeze(0).shape, x.squeeze(1).shape, x.squeeze(-1).shape, x.squeeze((0, 2)).shape, x.unsqueeze(0).shape, x.unsqueeze(-1).shape, x.unsqueeze(-4).shape, torch.tensor(1.0).unsqueeze(0).shape, torch.tensor(1.0).squeeze().shape])
(x.squeeze() * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
out["g"] = x.grad

# [case] flatten_edge_cases | flatten of scalars, ranges and negative dims; their errors
x = torch.zeros(2, 3, 4)
out = dict(shapes=[x.flatten().shape, x.flatten(-2).shape, x.flatten(0, 1).shape, x.flatten(1, 1).shape, torch.flatten(x, start_dim=1).shape, x.unflatten(2, (2, -1)).shape, x.ravel().shape, torch.tensor(1.0).ravel().shape])
for name, f in dict(order=lambda: x.flatten(2, 1), unf=lambda: x.unflatten(1, (2, 2)), dim=lambda: x.flatten(5)).items():
    try:
        f()
    except (RuntimeError, IndexError) as e:
        out[name] = e

# [case] reshape_errors | what cannot be reshaped, viewed or squeezed
x = torch.ones(2, 3)
out = {}
for name, f in dict(size=lambda: x.reshape(4), view=lambda: x.view(7), neg=lambda: x.reshape(-2, 3), unk=lambda: x.view(-1, -1), noncont=lambda: x.t().view(6), sq=lambda: x.squeeze(3), unsq=lambda: x.unsqueeze(-4), empty=lambda: torch.zeros(0, 2).reshape(-1, 0)).items():
    try:
        f()
    except (RuntimeError, IndexError) as e:
        out[name] = e

# [case] contiguity | strides and contiguous
x = torch.arange(6.0).reshape(2, 3)
t = x.t()
out = dict(strides=(x.stride(), t.stride(), x[:, ::2].stride(), x[None].stride(), x.stride(0)), cont=(x.is_contiguous(), t.is_contiguous(), t.contiguous().is_contiguous()), offset=x[1].storage_offset(), cs=t.contiguous().stride(), nd=(x.ndim, x.dim(), x.numel(), x.nelement(), x.size(-1)), nbytes=x.nbytes)

# [group] permuting

# [case] permute_forms | permute by tuples and negatives, movedim of several dims, adjoints
x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
y = x.permute((2, 0, 1))
z = torch.movedim(x, (0, 1), (1, 2))
out = dict(shapes=[y.shape, x.permute(-1, 0, 1).shape, z.shape, x.moveaxis(0, 2).shape, x.swapdims(0, 1).shape, x.transpose(-1, -2).shape, x[0].T.shape, x.mT.shape, torch.permute(x, (1, 0, 2)).shape, x[0, 0].t().shape])
(y * torch.arange(24.0).reshape(4, 2, 3)).sum().backward()
out["g"] = x.grad

# [case] permute_errors | permutations that are none
x = torch.ones(2, 3, 4)
out = {}
for name, f in dict(count=lambda: x.permute(0, 1), dup=lambda: x.permute(0, 0, 1), range=lambda: x.permute(0, 1, 3), t=lambda: x.t(), tr=lambda: x.transpose(0, 3)).items():
    try:
        f()
    except (RuntimeError, IndexError) as e:
        out[name] = e

# [case] roll_and_flip_more | roll without dims, by negatives, flips and rotations
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
a, b, c, d = torch.roll(x, 1), x.roll(-1, 0), torch.rot90(x), x.flip([0])
((a + b * 10 + d * 100) * torch.arange(6.0).reshape(2, 3)).sum().backward()
out = dict(a=a, b=b, c=c, d=d, ud=torch.flipud(x).detach(), lr=torch.fliplr(x).detach(), r2=torch.rot90(x, 2, [0, 1]).detach(), g=x.grad)

# [group] joining

# [case] cat_dims_and_errors | cat along dims, negative dims, and what it refuses
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = torch.tensor([[3.0], [4.0]], requires_grad=True)
a = torch.cat([x, x * 2, torch.zeros(1, 2)], dim=0)
b = torch.cat((y, y), -1)
((a * torch.arange(6.0).reshape(3, 2)).sum() + b[0, 1] * 10).backward()
out = dict(a=a, b=b, x=x.grad, y=y.grad)
for name, f in dict(sizes=lambda: torch.cat([x, torch.ones(1, 3)]), dims=lambda: torch.cat([x, torch.ones(2)]), empty=lambda: torch.cat([]), zero=lambda: torch.cat([torch.tensor(1.0), torch.tensor(2.0)]), dim=lambda: torch.cat([x, x], 2), typ=lambda: torch.cat([x, 3])).items():
    try:
        f()
    except Exception as e:
        out[name] = e

# [case] stack_forms | stack along dims; hstack, vstack, dstack
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
s, t = torch.stack([a, b], dim=1), torch.stack([a, b], -2)
((s * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum() + t[0, 1] * 10).backward()
out = dict(s=s, t=t, a=a.grad, b=b.grad, h=torch.hstack([a, b]).detach(), v=torch.vstack([a, b]).detach(), d=torch.dstack([a, b]).shape, c=torch.column_stack([a, b]).detach(), at=torch.atleast_2d(a).shape)
for name, f in dict(sizes=lambda: torch.stack([a, torch.ones(3)]), empty=lambda: torch.stack([]), dim=lambda: torch.stack([a, b], 3)).items():
    try:
        f()
    except (RuntimeError, IndexError) as e:
        out[name] = e

# [group] splitting

# [case] split_and_chunk | split by size and by list, uneven chunks
x = torch.arange(7.0, requires_grad=True)
a, b, c = x.split(3)
d, e = x.split([2, 5])
ch = x.chunk(3)
(b.sum() + (d * 10).sum() + ch[2].sum() * 100).backward()
out = dict(sizes=[t.shape for t in (a, b, c, d, e)], ch=[t.tolist() for t in ch], few=len(torch.arange(5).chunk(4)), ts=[t.tolist() for t in torch.tensor_split(torch.arange(7), 3)], ti=[t.tolist() for t in torch.tensor_split(torch.arange(7), (2, 5))], kind=type(ch).__name__, g=x.grad)

# [case] split_errors | sizes that do not add up
x = torch.arange(6.0).reshape(2, 3)
out = {}
for name, f in dict(sum=lambda: x.split([1, 3], 1), neg=lambda: x.split(-1), chunk=lambda: x.chunk(0), dim=lambda: x.split(1, 2), zero=lambda: x.split(0)).items():
    try:
        f()
    except (RuntimeError, IndexError, ValueError) as e:
        out[name] = e

# [case] unbind_and_iterate | unbind along dims, unpacking, enumerate, zip
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
cols = x.unbind(1)
(p, q) = x
y = sum(c.prod() * (i + 1) for i, c in enumerate(cols)) + (p * q).sum()
y.backward()
out = dict(n=len(cols), kind=type(cols).__name__, g=x.grad, lst=[v.item() for v in x[0]], it=[tuple(r.shape) for r in x], rev=[r.tolist() for r in reversed(x)])

# [case] split_unused_parts | pieces not used get zeros
x = torch.arange(6.0, requires_grad=True)
a, b, c = x.split(2)
(b * b).sum().backward()
out = dict(g=x.grad)

# [group] repeating_and_cutting

# [case] repeat_forms | repeat, tile, repeat_interleave, expand
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
a, b = x.repeat(2, 2), x.tile((3,))
c = x.repeat_interleave(2, dim=1)
d = torch.repeat_interleave(x, torch.tensor([1, 2]), dim=1)
((a * torch.arange(8.0).reshape(2, 4)).sum() + (b * 10).sum() + c[0, 1] * 100 + d[0, 2] * 1000).backward()
out = dict(a=a, b=b, c=c, d=d, g=x.grad, flat=torch.tensor([[1, 2], [3, 4]]).repeat_interleave(2), lead=x.repeat(2, 1, 1).shape)
try:
    x.repeat(2)
except RuntimeError as e:
    out["error"] = e

# [case] padding | pad constant, with values, on several dims, cropping; other modes
F = torch.nn.functional
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
a, b, c = F.pad(x, (1, 2)), F.pad(x, (0, 0, 1, 0), value=9.0), F.pad(x, (-1, 0))
(a.sum() + b.sum() * 10 + c.sum() * 100).backward()
v = torch.tensor([[[1.0, 2.0, 3.0]]], requires_grad=True)
r, s = F.pad(v, (2, 1), mode="reflect"), F.pad(v, (1, 1), mode="replicate")
(r.sum() + s.sum() * 10).backward()
out = dict(a=a, b=b, c=c, g=x.grad, r=r, s=s, circ=F.pad(v.detach(), (1, 1), mode="circular"), vg=v.grad)

# [case] triangles_and_diagonals | tril and triu with offsets, diagonals of batches, diag_embed
x = torch.arange(9.0).reshape(3, 3).requires_grad_()
a, b, c = x.tril(), x.triu(-1), torch.tril(x[:2], 1)
d, e = x.diagonal(-1), torch.diag(x, 1)
(a.sum() + b.sum() * 10 + c.sum() * 100 + d.sum() * 1000 + e[0] * 10000).backward()
out = dict(a=a, b=b, c=c, d=d, e=e, g=x.grad, emb=torch.diag_embed(torch.tensor([[1.0, 2.0]])), dv=torch.diag(torch.tensor([1.0, 2.0]), 1), bd=torch.arange(8.0).reshape(2, 2, 2).diagonal(dim1=1, dim2=2), idx=torch.tril_indices(2, 2), df=torch.diagflat(torch.tensor([1.0, 2.0])))

# [case] unfold_and_strided | sliding windows and as_strided
x = torch.arange(6.0, requires_grad=True)
u = x.unfold(0, 3, 2)
s = x.as_strided((2, 2), (1, 2), 1)
((u * torch.tensor([1.0, 10.0, 100.0])).sum() + s.sum() * 1000).backward()
out = dict(u=u, s=s, g=x.grad, str_=s.stride(), off=s.storage_offset())
try:
    x.unfold(0, 7, 1)
except RuntimeError as e:
    out["error"] = e

# [case] ranges_and_grids | arange, linspace, meshgrid of one, cartesian_prod, combinations
out = dict(a=torch.arange(5), b=torch.arange(1, 4), c=torch.arange(1, 2, 0.25), d=torch.arange(5, 0, -2), e=torch.linspace(0, 1, 5), f=torch.arange(0), g=torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])), h=torch.combinations(torch.tensor([1, 2, 3])), m=[t.shape for t in torch.meshgrid(torch.arange(2), torch.arange(3), indexing="xy")], i=torch.arange(2.5), l1=torch.linspace(3, 10, 1))
for name, f in dict(step=lambda: torch.arange(0, 5, -1), zero=lambda: torch.arange(0, 5, 0)).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] meshgrid_default_warns | meshgrid without indexing warns
a, b = torch.meshgrid(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]))
out = dict(a=a, b=b)

# [case] sizes_by_name | reshape and broadcast_to by names and places
x = torch.arange(6.0).reshape(2, 3)
out = dict(method=x.reshape(shape=(3, 2)), function=torch.reshape(input=x, shape=(6,)), spread=x.broadcast_to(2, 2, 3).shape, tuple=x.broadcast_to((1, 2, 3)).shape, order=(x.dim_order(), x.t().dim_order()), same=(x.is_set_to(x.detach()), x.is_set_to(x.t())))
for name, f in dict(two=lambda: x.unflatten(0, (-1, -1)), both=lambda: x.reshape(3, 2, shape=(6,))).items():
    try:
        out[name] = f()
    except Exception as e:
        out[name] = e
