# [group] basic

# [case] negative_and_nested | negative indices and chained brackets
x = torch.arange(12.0).reshape(3, 4).requires_grad_()
a, b, c = x[-1], x[-2][-1], x[:, -3:-1]
(a.sum() + b * 10 + c.sum() * 100).backward()
out = dict(a=a, b=b, c=c, g=x.grad)

# [case] none_and_ellipsis | new dims and the ellipsis
x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
shapes = [x[None].shape, x[..., None].shape, x[:, None, 1].shape, x[..., 0].shape, x[0, ..., 1].shape, x[None, ..., None, 2].shape, x[()].shape, x[...].shape]
y = x[..., None, 1:3][1]
y.sum().backward()
out = dict(shapes=shapes, y=y.detach(), g=x.grad)

# [case] steps_and_empty | steps, empty slices, and steps that are refused
x = torch.arange(6.0)
out = dict(two=x[::2], mid=x[1:5:3], none=x[4:2], past=x[3:100], neg=x[-2:], stride=x[::2].stride(), off=x[1::2].storage_offset())
for name, f in dict(minus=lambda: x[::-1], zero=lambda: x[::0], flt=lambda: x[1.0]).items():
    try:
        f()
    except (ValueError, IndexError, TypeError) as e:
        out[name] = e

# [case] bounds_messages | the messages about bounds and dims
x = torch.arange(6.0).reshape(2, 3)
out = {}
for name, f in dict(neg=lambda: x[-3], second=lambda: x[0, 3], scalar=lambda: torch.tensor(1.0)[0], many=lambda: x[0, 0, 0, 0], slices=lambda: x[:, :, 1:], select=lambda: x.select(0, 5), dim=lambda: x.select(2, 0), narrow=lambda: x.narrow(1, 2, 2), row=lambda: x[torch.tensor([0, 2])]).items():
    try:
        f()
    except (IndexError, RuntimeError) as e:
        out[name] = e

# [case] select_narrow_methods | select, narrow, unbind as methods
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
a, b = x.select(1, -1), x.narrow(1, -2, 2)
(a.sum() + b.sum() * 10).backward()
out = dict(a=a, b=b, g=x.grad, views=(a._is_view(), b._is_view()))

# [case] bool_scalar_index | True and False as indices
x = torch.tensor([1.0, 2.0], requires_grad=True)
y, z = x[True], x[False]
y.sum().backward()
out = dict(y=y, z=z.shape, g=x.grad)

# [case] zero_dim_tensor_index | a 0-dim tensor is an integer
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
i = torch.tensor(1)
y, z = x[i], x[:, i]
(y.sum() + z.sum()).backward()
out = dict(y=y, z=z, view=y._is_view(), g=x.grad)

# [group] advanced

# [case] boolean_masks | masks of the full shape, of leading dims, of one dim
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
a, b, c = x[x.detach() > 2], x[torch.tensor([True, False])], x[:, torch.tensor([True, False, True])]
(a.sum() + b.sum() * 10 + c.sum() * 100).backward()
out = dict(a=a, b=b, c=c, g=x.grad, none=x[torch.zeros(2, 3, dtype=torch.bool)].shape)

# [case] mask_errors | masks that do not fit
x = torch.arange(6.0).reshape(2, 3)
out = {}
for name, f in dict(short=lambda: x[torch.tensor([True])], full=lambda: x[torch.ones(3, 2, dtype=torch.bool)], col=lambda: x[:, torch.tensor([True, False])]).items():
    try:
        f()
    except IndexError as e:
        out[name] = e

# [case] repeated_rows | repeated indices add their gradients
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x[[0, 0, 1, 0]]
(y * torch.tensor([[1.0], [10.0], [100.0], [1000.0]])).sum().backward()
out = dict(y=y, g=x.grad)

# [case] tensor_with_none_and_slice | index tensors with None, slices and integers between
x = torch.arange(24.0).reshape(2, 3, 4)
i, j = torch.tensor([0, 1]), torch.tensor([[0], [1]])
out = dict(shapes=[x[i, :, j].shape, x[:, i, None].shape, x[i, 1].shape, x[..., i].shape, x[i, None, j].shape, x[j].shape, x[:, j, i].shape, x[0, j].shape], v=x[i, :, j][0])

# [case] index_kinds | lists, tuples, NumPy arrays, ranges and small integer types
x = torch.arange(5.0)
out = dict(lst=x[[0, 2]], tup=x[(1,)], np_=x[np.array([1, 1])], npb=x[np.array([True, False, True, False, True])], u8=x[torch.tensor([0, 1], dtype=torch.int32)], neg=x[torch.tensor([-1, -5])], blist=x[[True, False, False, False, True]], empty=x[[]], npint=x[np.int64(2)])
try:
    x[torch.tensor([0.0, 1.0])]
except IndexError as e:
    out["float"] = e
try:
    x[torch.tensor([5])]
except IndexError as e:
    out["range"] = e

# [case] paired_shape_mismatch | index tensors that do not broadcast
x = torch.arange(9.0).reshape(3, 3)
out = {}
try:
    x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
except IndexError as e:
    out["error"] = e
try:
    x[torch.tensor([0]), torch.tensor([0]), torch.tensor([0])]
except IndexError as e:
    out["many"] = e

# [case] nonzero_and_argwhere | positions of nonzero elements
x = torch.tensor([[0.0, 1.0], [2.0, 0.0]], requires_grad=True)
out = dict(nz=x.nonzero(), tup=x.nonzero(as_tuple=True), where=torch.where(x > 0), aw=torch.argwhere(x), y=x[x.nonzero(as_tuple=True)])

# [group] assignment

# [case] assign_mask_and_list | assigning through masks and lists
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
v = torch.tensor([10.0, 20.0], requires_grad=True)
y = x * 1
y[torch.tensor([True, False, True, False])] = v
z = x * 2
z[[0, 3]] = v
w = x * 3
w[w.detach() > 6] = 0.0
(y + z * 10 + w * 100).sum().backward()
out = dict(y=y, z=z, w=w, x=x.grad, v=v.grad)

# [case] assign_to_leaf | assignment to a leaf is refused, also through a mask
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
def a(): x[0] = 1.0
def b(): x[:] = 1.0
def c(): x[torch.tensor([True, False])] = 1.0
def d(): x[...] = 0.0
for f in (a, b, c, d):
    try:
        f()
    except RuntimeError as e:
        out[f.__name__] = e
with torch.no_grad():
    x[0] = 7.0
out["x"] = x

# [case] assign_shapes | values that broadcast, that have extra leading ones, that do not fit
b = torch.zeros(2, 3)
b[0] = torch.tensor([1.0, 2.0, 3.0])
b[:, 1] = torch.tensor([[7.0, 8.0]])
b[1, 2:] = torch.tensor([5])
out = dict(b=b, version=b._version)
def f(): b[0] = torch.ones(2)
def g(): b[:, 0] = torch.ones(3)
def h(): b[torch.tensor([0, 1])] = torch.ones(5)
def i(): b[5] = 1.0
for fn in (f, g, h, i):
    try:
        fn()
    except (RuntimeError, IndexError) as e:
        out[fn.__name__] = e

# [case] assign_types | values are converted to the target's type
i = torch.tensor([1, 2, 3])
i[0] = 7.9
i[1:] = torch.tensor([1.5, -1.5])
f = torch.zeros(2)
f[0] = True
f[1] = torch.tensor(3, dtype=torch.float64)
b = torch.tensor([False, False])
b[0] = 5
out = dict(i=i, f=f, b=b)

# [case] index_fill_copy_put_inplace | the in-place selectors
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
v = torch.tensor([10.0, 20.0], requires_grad=True)
i = torch.tensor([2, 0])
a, b, c = x * 1, x * 1, x * 1
a.index_copy_(0, i, v)
b.index_add_(0, i, v, alpha=2)
c.index_put_((i,), v, accumulate=True)
d = (x * 1).index_fill_(0, i, -1.0)
(a + b * 10 + c * 100 + d * 1000).sum().backward()
out = dict(a=a, b=b, c=c, d=d, x=x.grad, v=v.grad)

# [case] augmented_assignment | b[i] += v writes back
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = x * 1
b[1] += x[0]
b[1:] *= 2
b[[0, 0]] += 10.0
b.sum().backward()
out = dict(b=b, g=x.grad, version=b._version)

# [group] selectors

# [case] gather_errors_and_dims | gather along dim 0, with fewer rows, and its errors
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.gather(0, torch.tensor([[1, 0]]))
y.backward(torch.tensor([[5.0, 7.0]]))
out = dict(y=y, g=x.grad)
for name, f in dict(dtype=lambda: x.gather(0, torch.tensor([[0.0]])), dims=lambda: x.gather(0, torch.tensor([0])), range=lambda: x.gather(0, torch.tensor([[2, 0]])), size=lambda: x.gather(0, torch.tensor([[0, 0, 0]]))).items():
    try:
        f()
    except (RuntimeError, IndexError) as e:
        out[name] = e

# [case] scatter_forms | scatter with values, with a tensor, with reduction
x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
s = torch.tensor([[10.0, 20.0]], requires_grad=True)
i = torch.tensor([[2, 0]])
a = x.scatter(1, i, 5.0)
b = x.scatter(1, i, s)
c = x.scatter_add(1, torch.tensor([[1, 1]]), s)
(a.sum() + b.sum() * 10 + c.sum() * 100).backward()
out = dict(a=a, b=b, c=c, x=x.grad, s=s.grad)

# [case] scatter_reduce_kinds | the reductions of scatter_reduce
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
s = torch.tensor([4.0, 5.0, 6.0], requires_grad=True)
i = torch.tensor([0, 0, 2])
out = {}
for kind in ("sum", "prod", "mean", "amax", "amin"):
    y = x.scatter_reduce(0, i, s, kind)
    out[kind] = (y.detach(), torch.autograd.grad((y * torch.tensor([1.0, 2.0, 3.0])).sum(), (x, s)))
out["noself"] = x.scatter_reduce(0, i, s, "sum", include_self=False).detach()

# [case] take_and_put | flat selection
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = torch.take(x, torch.tensor([[3, 0], [0, 1]]))
y.backward(torch.tensor([[1.0, 10.0], [100.0, 1000.0]]))
out = dict(y=y, g=x.grad, put=torch.zeros(2, 2).put_(torch.tensor([3]), torch.tensor([9.0])), along=torch.take_along_dim(x.detach(), torch.tensor([[1], [0]]), dim=1))

# [case] index_select_dims | index_select along both dims and its errors
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
y = torch.index_select(x, 1, torch.tensor([2, 0, 2]))
y.sum().backward()
out = dict(y=y, g=x.grad)
for name, f in dict(range=lambda: x.index_select(0, torch.tensor([2])), dims=lambda: x.index_select(0, torch.tensor([[0]])), dtype=lambda: x.index_select(0, torch.tensor([0.0])), dim=lambda: x.index_select(2, torch.tensor([0]))).items():
    try:
        f()
    except (IndexError, RuntimeError) as e:
        out[name] = e

# [case] masked_scatter | masked_scatter and masked_select with broadcasting
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
s = torch.tensor([10.0, 20.0, 30.0, 40.0], requires_grad=True)
y = x.masked_scatter(torch.tensor([[True, False], [True, True]]), s)
z = x.masked_select(torch.tensor([False, True]))
(y.sum() + z.sum() * 10).backward()
out = dict(y=y, z=z, x=x.grad, s=s.grad)

# [case] where_and_masked_fill_forms | where with one argument, masked_fill in place and its errors
x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
y = (x * 1).masked_fill_(x.detach() < 0, 0.0)
y.sum().backward()
out = dict(y=y, g=x.grad)
for name, f in dict(mask=lambda: x.masked_fill(torch.tensor([1, 0, 1]), 0.0), value=lambda: x.masked_fill(x > 0, torch.ones(2)), cond=lambda: torch.where(torch.tensor([1.0]), x, x)).items():
    try:
        out[name] = f()
    except RuntimeError as e:
        out[name] = e

# [case] one_hot_and_embedding | one_hot, embedding and their gradients
F = torch.nn.functional
w = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
y = F.embedding(torch.tensor([[2, 0], [2, 1]]), w)
y.sum().backward()
p = F.embedding(torch.tensor([0, 1]), w, padding_idx=0)
out = dict(y=y.shape, g=w.grad.clone(), hot=F.one_hot(torch.tensor([1, 0]), 3), auto=F.one_hot(torch.tensor([2, 0])))
w.grad = None
p.sum().backward()
out["pad"] = w.grad

# [case] scatter_part_of_source | an index that leaves some of the source out
x = torch.tensor([1.0, 2.0], requires_grad=True)
c = torch.tensor([5.0, 7.0])
i = torch.tensor([1])
out = {}
for name, f in dict(scatter=lambda s: x.scatter(0, i, s), add=lambda s: x.scatter_add(0, i, s), total=lambda s: x.scatter_reduce(0, i, s, "sum"), mean=lambda s: x.scatter_reduce(0, i, s, "mean", include_self=False)).items():
    out[name] = torch.autograd.grad(f(c).sum(), x)
    try:
        s = c.clone().requires_grad_()
        out[name + " source"] = torch.autograd.grad(f(s).sum(), s)
    except RuntimeError as e:
        out[name + " source"] = e
