# [group] sums

# [case] sum_dims | sums over dims, negative dims, tuples, keepdim
x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
y = x.sum(-1)
z = x.sum((0, 2), keepdim=True)
w = x.sum(dim=[1])
((y * torch.arange(6.0).reshape(2, 3)).sum() + z[0, 1, 0] * 100 + w[1, 2] * 1000).backward()
out = dict(shapes=[y.shape, z.shape, w.shape, x.sum(()).shape], z=z.detach(), g=x.grad)

# [case] sum_errors | dims out of range and repeated
x = torch.ones(2, 3)
out = {}
for name, f in dict(range=lambda: x.sum(2), neg=lambda: x.mean(-3), twice=lambda: x.sum((0, 0)), prod=lambda: x.prod(5), max=lambda: x.max(2), alias=lambda: x.sum((0, -2)), scalar=lambda: torch.tensor(1.0).sum(1), med=lambda: x.median(3), am=lambda: x.argmax(2), sm=lambda: x.cumsum(2)).items():
    try:
        f()
    except (IndexError, RuntimeError) as e:
        out[name] = e

# [case] zero_dim_reductions | reductions of 0-dim tensors along dim 0
s = torch.tensor(3.0, requires_grad=True)
y = s.sum(0) + s.mean(-1) + s.max(0).values + s.prod(0) + s.logsumexp(0) + s.cumsum(0)
y.backward()
out = dict(y=y.detach(), g=s.grad, keep=s.sum(0, keepdim=True).shape, amax=s.amax().detach(), var=s.detach().var(unbiased=False))

# [case] empty_along_dim | reducing an empty dim
x = torch.zeros(2, 0, 3)
out = dict(s=x.sum(1), p=x.prod(1), m=x.mean(1), shape=x.sum(0).shape, all=x.bool().all(1), any=x.bool().any(1), lse=torch.zeros(2, 0).logsumexp(1), cs=x.cumsum(1).shape, nsum=torch.zeros(0).nansum(), norm=torch.zeros(0).norm())
for name, f in dict(max=lambda: x.max(1), amax=lambda: x.amax(1), argmax=lambda: torch.zeros(0).argmax(), med=lambda: torch.zeros(0).median(), amaxall=lambda: torch.zeros(0).amax()).items():
    try:
        out[name] = f()
    except Exception as e:
        out[name] = e

# [case] nan_ignoring | nansum, nanmean, and how nan spreads in the others
x = torch.tensor([[1.0, float("nan")], [3.0, 4.0]], requires_grad=True)
y = x.nansum() + x.nanmean(1).sum() * 10
y.backward()
out = dict(y=y.detach(), g=x.grad, sum=x.sum().detach(), max=x.max().detach(), amax=x.amax(0).detach(), argmax=x.argmax(), med=x.median().detach(), nm=x.nanmedian().detach(), mean=x.mean(1).detach(), sort=x.sort(1).values.detach())

# [case] dtype_argument | the dtype argument of sum, mean and prod
x = torch.tensor([1.5, 2.5], requires_grad=True)
y = x.sum(dtype=torch.float64)
y.backward()
out = dict(y=y, g=x.grad, i=x.detach().sum(dtype=torch.int64), m=torch.tensor([1, 2]).mean(dtype=torch.float32), p=torch.prod(torch.tensor([2, 3]), dtype=torch.float64), cs=x.detach().cumsum(0, dtype=torch.float64))

# [group] extremes

# [case] max_dim_first_index | max and min along a dim give the first winner all of it
x = torch.tensor([[3.0, 1.0, 3.0], [2.0, 2.0, 0.0]], requires_grad=True)
m = x.max(dim=1)
n = x.min(1, keepdim=True)
(m.values * torch.tensor([1.0, 10.0]) + n[0].squeeze(1) * 100).sum().backward()
out = dict(v=m.values, i=m.indices, kv=n.values, ki=n.indices, g=x.grad, a=x.argmax(), a1=x.argmin(1), ak=x.argmax(0, keepdim=True))

# [case] min_all_ties | the full minimum shares among ties, of matrices too
x = torch.tensor([[1.0, 2.0], [1.0, 1.0]], requires_grad=True)
(x.min() + x.amin() * 10 + x.amax() * 100).backward()
out = dict(g=x.grad, mm=torch.aminmax(x.detach()))

# [case] sort_stability | sort and argsort with equal values, descending, along dims
x = torch.tensor([[2.0, 1.0, 2.0], [0.0, 0.0, -1.0]], requires_grad=True)
s, i = torch.sort(x, dim=1, stable=True)
d, j = torch.sort(x, dim=0, descending=True)
((s * torch.tensor([1.0, 10.0, 100.0])).sum() + (d[0] * 1000).sum()).backward()
out = dict(s=s, i=i, d=d, j=j, g=x.grad, ints=torch.tensor([3, 1, 2]).sort(), bools=torch.tensor([True, False]).sort().values, ms=torch.msort(x).detach())

# [case] topk_and_kthvalue | topk along dims, kthvalue, their errors
x = torch.tensor([[4.0, 1.0, 3.0], [2.0, 6.0, 5.0]], requires_grad=True)
t = x.topk(2, dim=1)
u = x.topk(1, dim=0, largest=False)
k = x.kthvalue(2, dim=1)
((t.values * torch.tensor([1.0, 2.0])).sum() + u.values.sum() * 10 + k.values.sum() * 100).backward()
out = dict(tv=t.values, ti=t.indices, uv=u.values, ui=u.indices, kv=k.values, ki=k.indices, g=x.grad)
for name, f in dict(big=lambda: x.topk(4), kth=lambda: x.kthvalue(0)).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] median_and_mode | median of even counts is the lower one; mode; quantile
x = torch.tensor([[4.0, 1.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]], requires_grad=True)
m = x.median(1)
d = x.mode(1)
(m.values * torch.tensor([1.0, 10.0]) + d.values * 100).sum().backward()
out = dict(mv=m.values, mi=m.indices, dv=d.values, g=x.grad, all=x.median().detach(), q=torch.quantile(x.detach(), 0.5), qd=torch.quantile(x.detach(), torch.tensor([0.25, 0.75]), dim=1))

# [case] cummax_cummin | running extremes and their positions
x = torch.tensor([1.0, 3.0, 2.0, 3.0, 5.0], requires_grad=True)
a, b = x.cummax(0), torch.cummin(x, 0)
((a.values * torch.arange(1.0, 6.0)).sum() + (b.values * 10).sum()).backward()
out = dict(av=a.values, ai=a.indices, bv=b.values, bi=b.indices, g=x.grad)

# [case] max_forms | the three forms of max
x = torch.tensor([[1.0, 5.0], [7.0, 2.0]], requires_grad=True)
out = dict(all=torch.max(x), dim=torch.max(x, 0), two=torch.max(x, torch.tensor(3.0)), kw=torch.max(x, dim=1, keepdim=True), tup=len(x.max(0)), unpack=[t.shape for t in x.min(1)], ints=torch.tensor([3, 9]).max(), argm=torch.argmax(x, dim=1))

# [group] products

# [case] prod_with_zeros | products with no, one and two zeros
out = {}
for name, v in dict(none=[2.0, 3.0, 4.0], one=[2.0, 0.0, 4.0], two=[0.0, 0.0, 4.0], neg=[-1.0, 2.0, -3.0]).items():
    x = torch.tensor(v, requires_grad=True)
    y = x.prod()
    y.backward()
    out[name] = (y, x.grad)
x = torch.tensor([[1.0, 0.0], [2.0, 3.0]], requires_grad=True)
x.prod(1).sum().backward()
out["dim"] = x.grad

# [case] cumprod_with_zeros | running products with zeros
out = {}
for name, v in dict(none=[2.0, 3.0, 4.0], one=[2.0, 0.0, 4.0], two=[0.0, 3.0, 0.0]).items():
    x = torch.tensor(v, requires_grad=True)
    y = x.cumprod(0)
    (y * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    out[name] = (y, x.grad)

# [case] cumsum_and_logcumsumexp | running sums along dims
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
a, b, c = x.cumsum(0), x.cumsum(-1), x.logcumsumexp(1)
((a[1] * 10).sum() + b[:, 1].sum() * 100 + c[:, -1].sum()).backward()
out = dict(a=a, b=b, c=c, g=x.grad, d=torch.diff(x.detach()), cum0=torch.tensor(2.0).cumsum(0), ints=torch.tensor([True, True]).cumsum(0))

# [group] spread

# [case] var_std_corrections | the corrections of var and std
x = torch.tensor([1.0, 2.0, 4.0, 9.0], requires_grad=True)
out = {}
for name, f in dict(var=lambda: x.var(), biased=lambda: x.var(unbiased=False), c2=lambda: x.var(correction=2), std=lambda: x.std(), std0=lambda: x.std(correction=0), tv=lambda: torch.var(x, dim=0, unbiased=True), sm=lambda: torch.std_mean(x)[0]).items():
    y = f()
    out[name] = (y.detach(), torch.autograd.grad(y, x)[0])

# [case] degenerate_spread | one element, and constants
x = torch.tensor([5.0], requires_grad=True)
c = torch.tensor([2.0, 2.0], requires_grad=True)
v = x.var()
(g,) = torch.autograd.grad(v, x)
s = c.std()
s.backward()
out = dict(v=v.detach(), g=g, s=s.detach(), cg=c.grad, cor=torch.tensor([1.0, 2.0]).var(correction=2), std1=torch.tensor([1.0]).std(unbiased=False))

# [case] var_dims | var over several dims, with keepdim
x = torch.arange(8.0).reshape(2, 2, 2).requires_grad_()
y = x.var((0, 2), keepdim=True)
z = x.std(-1, correction=0)
(y.sum() + z.sum() * 10).backward()
out = dict(y=y, z=z, g=x.grad, all=torch.var_mean(x.detach()))

# [group] exponentials_and_norms

# [case] logsumexp_stable | logsumexp of large and of -inf elements
x = torch.tensor([[1000.0, 1000.0], [-float("inf"), 0.0]], requires_grad=True)
y = x.logsumexp(1)
y.sum().backward()
out = dict(y=y, g=x.grad, both=torch.logsumexp(torch.zeros(2, 2), (0, 1)), keep=torch.logsumexp(torch.zeros(2, 3), 1, keepdim=True), inf=torch.logsumexp(torch.tensor([float("inf"), 0.0]), 0), ints=torch.tensor([1, 2]).logsumexp(0))

# [case] norm_orders | the p-norms and their gradients
inf = float("inf")
out = {}
for p in [0, 0.5, 1, 2, 3, inf, -inf, "fro"]:
    x = torch.tensor([3.0, -4.0, 0.5], requires_grad=True)
    y = x.norm(p=p)
    y.backward()
    out[str(p)] = (y, x.grad)

# [case] norm_dims_and_zero | norms along dims, with a zero row, and 1-norms at zero
x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
y = x.norm(dim=1)
z = x.norm(p=1, dim=0, keepdim=True)
w = torch.linalg.vector_norm(x, ord=float("inf"), dim=1)
(y.sum() + z.sum() * 10 + w.sum() * 100).backward()
out = dict(y=y, z=z, w=w, g=x.grad, dist=torch.dist(x.detach(), torch.ones(2, 2)), mat=torch.linalg.matrix_norm(x.detach()))

# [case] any_all_dims | any and all along dims, of numbers and of nothing
x = torch.tensor([[True, False], [True, True]])
out = dict(any=x.any(), all=x.all(), d0=x.all(0), d1=x.any(dim=1, keepdim=True), f=torch.tensor([0.0, 2.0]).any(), ints=torch.tensor([1, 2]).all(), empty=(torch.tensor([]).any(), torch.tensor([]).all()), u8=torch.tensor([1, 0], dtype=torch.uint8).any(), nz=torch.count_nonzero(torch.tensor([[0, 1], [2, 0]]), dim=0))

# [case] equality_helpers | equal, allclose, isclose with tolerances and nan
a = torch.tensor([1.0, 2.0, float("nan")])
out = dict(eq=torch.equal(a, a), ac=torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-6])), no=torch.allclose(torch.tensor([1.0]), torch.tensor([1.1])), tol=torch.allclose(torch.tensor([1.0]), torch.tensor([1.1]), atol=0.2), ic=torch.isclose(a, a), icn=torch.isclose(a, a, equal_nan=True), shape=torch.equal(torch.ones(2), torch.ones(2, 1)))

# [case] weighted_statistics | histc, bincount, trace, dot-like reductions
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x.trace() + (x * x).sum().sqrt() + x.flatten().dot(torch.ones(4))
y.backward()
out = dict(y=y.detach(), g=x.grad, bc=torch.bincount(torch.tensor([0, 2, 2]), minlength=4), bw=torch.bincount(torch.tensor([0, 1, 1]), weights=torch.tensor([0.5, 1.0, 2.0])), uq=torch.unique(torch.tensor([2, 1, 2]), return_counts=True))

# [case] none_for_a_dim | None, given as dim, is the form with dims, or none at all
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
out = dict(default=x.sum().grad_fn.name(), given=x.sum(None).grad_fn.name(), mean=x.mean(dim=None).grad_fn.name(), kept=x.sum(None, True), numpy=x.sum(np.int64(1)))
for name in ["prod", "max", "median", "logsumexp", "squeeze"]:
    try:
        getattr(x, name)(None)
    except TypeError as e:
        out[name] = e

# [case] flags_are_bools | a flag is True or False, not a number
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
out = {}
for name, f in dict(sum=lambda: x.sum(0, 1), word=lambda: x.sum(0, keepdim=1), mean=lambda: torch.mean(x, 0, 1), amax=lambda: x.amax(0, 1), topk=lambda: x.topk(1, 0, 1), kth=lambda: x.kthvalue(1, 0, keepdim=0), var=lambda: x.var(0, unbiased=1), argmax=lambda: x.argmax(0, 1), all=lambda: x.all(0, 1), right=lambda: x.sum(0, True)).items():
    try:
        out[name] = f()
    except TypeError as e:
        out[name] = e
try:
    x.sum(keepdim=True)
except TypeError as e:
    out["alone"] = e

# [case] dims_of_nothing | empty dims and tensors without dims are refused by the dim that was given
e, s = torch.zeros(2, 0), torch.tensor(0.5)
out = {}
for name, f in dict(amax=lambda: e.amax(-1), amin=lambda: e.amin((0, -1)), argmax=lambda: e.argmax(-1), median=lambda: e.median(-1)[0], quantile=lambda: e.nanquantile(0.5), running=lambda: s.logcumsumexp(1), last=lambda: s.logcumsumexp(-1), unbind=lambda: s.unbind(-1), far=lambda: s.unbind(1), sum=lambda: e.sum(-1), logsumexp=lambda: e.logsumexp(-1)).items():
    try:
        out[name] = f()
    except (IndexError, RuntimeError) as error:
        out[name] = error
