# [group] tensors

# [case] product_saves_both | a product saves what the other side needs
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
k = torch.tensor([5.0, 6.0])
both, const, num = (x * w).grad_fn, (x * k).grad_fn, (x * 3).grad_fn
out = dict(both=(both._saved_self is x, both._saved_other is w), const=(const._saved_self, const._saved_other), num=(num._saved_self, num._saved_other), names=sorted(n for n in dir(both) if n.startswith("_saved_")))

# [case] quotient_and_matmul | division, mm, mv, addmm
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
w = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
d, m, v = (x / w[1]).grad_fn, (x @ w).grad_fn, (x @ w[0]).grad_fn
names = lambda fn: sorted(n for n in dir(fn) if n.startswith("_saved_"))
out = dict(d=names(d), m=names(m), v=names(v), mself=m._saved_self, mat2=m._saved_mat2 is w, dself=d._saved_self is x, sizes=m._saved_self_sym_sizes if hasattr(m, "_saved_self_sym_sizes") else None)

# [case] names_by_op | the saved names of common ops
F = torch.nn.functional
x = torch.tensor([[0.5, 2.0], [1.0, 3.0]], requires_grad=True)
names = lambda t: sorted(n for n in dir(t.grad_fn) if n.startswith("_saved_"))
ops = dict(add=x + 1, sub=x - x, neg=-x, exp=x.exp(), tanh=x.tanh(), sin=x.sin(), sqrt=x.sqrt(), rec=x.reciprocal(), abs=x.abs(), relu=x.relu(), sum=x.sum(), sumd=x.sum(0), mean=x.mean(), meand=x.mean(0), prod=x.prod(), var=x.var(), std=x.std(), max=x.max(), maxd=x.max(0).values, amax=x.amax(0), norm=x.norm(), softmax=x.softmax(0), lsm=x.log_softmax(0), lse=x.logsumexp(0), cumsum=x.cumsum(0), cumprod=x.cumprod(0), sort=x.sort().values, topk=x.topk(1).values, clone=x.clone(), mse=F.mse_loss(x, x.detach()), bce=F.binary_cross_entropy_with_logits(x, x.detach()), nll=F.nll_loss(x, torch.tensor([0, 1])))
out = {k: names(v) for k, v in ops.items()}

# [case] names_of_shape_ops | the saved names of shape and index ops
x = torch.tensor([[0.5, 2.0], [1.0, 3.0]], requires_grad=True)
i = torch.tensor([[0, 1]])
names = lambda t: sorted(n for n in dir(t.grad_fn) if n.startswith("_saved_"))
ops = dict(view=x.view(4), t=x.t(), permute=x.permute(1, 0), transpose=x.transpose(0, 1), expand=x[None].expand(2, 2, 2), unsq=x.unsqueeze(0), sq=x[None].squeeze(0), select=x[0], slice=x[:, 1:], index=x[torch.tensor([0])], cat=torch.cat([x, x], 1), stack=torch.stack([x, x]), split=x.split(1)[0], unbind=x.unbind()[0], gather=x.gather(0, i), scatter=x.scatter(0, i, 0.0), isel=x.index_select(0, torch.tensor([0])), repeat=x.repeat(1, 2), flip=x.flip(0), roll=x.roll(1, 0), tril=x.tril(), diag=x.diagonal(), pad=torch.nn.functional.pad(x, (1, 0)), where=torch.where(x > 1, x, x), mf=x.masked_fill(x > 1, 0.0), clamp=x.clamp(0, 1), astr=x.as_strided((1,), (1,)), double=x.double(), unfold=x.unfold(0, 1, 1))
out = {k: names(v) for k, v in ops.items()}

# [case] result_is_another_object | a saved result is equal, but not the same object
x = torch.tensor([0.5, 1.0], requires_grad=True)
y = x.exp()
r = y.grad_fn._saved_result
out = dict(same=r is y, fn=r.grad_fn is y.grad_fn, ptr=r.data_ptr() == y.data_ptr(), r=r, twice=y.grad_fn._saved_result is r)

# [case] saved_detached_and_views | saved views and constants are the originals as well
x = torch.arange(4.0, requires_grad=True)
v = x[1:3]
c = torch.tensor([3.0, 4.0])
fn = (v * c).grad_fn
out = dict(other=fn._saved_other is c, self_=fn._saved_self, vfn=(v ** 2).grad_fn._saved_self is v)

# [group] scalars

# [case] numbers_saved | exponents, alphas, bounds, negative slopes
F = torch.nn.functional
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = dict(alpha=torch.sub(x, x, alpha=2).grad_fn._saved_alpha, exp=(x ** 2).grad_fn._saved_exponent, expf=(x ** 0.5).grad_fn._saved_exponent, lo=x.clamp(min=-1).grad_fn._saved_min if hasattr(x.clamp(min=-1).grad_fn, "_saved_min") else None, both=(x.clamp(0, 1.5).grad_fn._saved_min, x.clamp(0, 1.5).grad_fn._saved_max), slope=F.leaky_relu(x, 0.2).grad_fn._saved_negative_slope, beta=F.smooth_l1_loss(x, x.detach()).grad_fn._saved_beta, delta=F.huber_loss(x, x.detach(), delta=2.0).grad_fn._saved_delta, w=torch.lerp(x, x, 0.25).grad_fn._saved_weight)

# [case] dims_saved | dims are saved as given; negative ones read back as unsigned
x = torch.ones(2, 3, requires_grad=True)
out = dict(pos=x.softmax(1).grad_fn._saved_dim, neg=x.softmax(-1).grad_fn._saved_dim, sum=x.sum(0).grad_fn._saved_dim, sumneg=x.sum(-1).grad_fn._saved_dim, sumt=x.sum((0, 1)).grad_fn._saved_dim, tr=(x.transpose(0, 1).grad_fn._saved_dim0, x.transpose(0, -1).grad_fn._saved_dim1), sel=x[:, 2].grad_fn._saved_index, cat=torch.cat([x, x], -1).grad_fn._saved_dim, unsq=x.unsqueeze(-1).grad_fn._saved_dim, cum=x.cumsum(1).grad_fn._saved_dim)

# [case] sizes_and_types | sizes and scalar types
x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
out = dict(sum=x.sum().grad_fn._saved_self_sym_sizes, mean=(x.mean().grad_fn._saved_self_sym_sizes, x.mean().grad_fn._saved_self_sym_numel), md=x.mean(1).grad_fn._saved_self_sym_sizes, expand=x[:, :1].expand(2, 5).grad_fn._saved_self_sym_sizes, rep=x.repeat(2, 1).grad_fn._saved_repeats, corr=x.var(0).grad_fn._saved_correction, keep=x.var(0, keepdim=True).grad_fn._saved_keepdim)

# [case] slice_positions | where a slice starts, ends and steps
x = torch.arange(10.0, requires_grad=True)
fn = x[2:8:3].grad_fn
end = x[3:].grad_fn
out = dict(start=fn._saved_start, stop=fn._saved_end, step=fn._saved_step, dim=fn._saved_dim, sizes=fn._saved_self_sym_sizes, open=end._saved_end, sel=x[-1].grad_fn._saved_index, nar=(x.narrow(0, 1, 2).grad_fn._saved_start, x.narrow(0, 1, 2).grad_fn._saved_end))

# [group] structures

# [case] index_lists | indexing saves its index tensors
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
i = torch.tensor([0, 1])
fn = x[:, i].grad_fn
g = x.gather(1, torch.tensor([[0], [2]])).grad_fn
out = dict(idx=fn._saved_indices, sizes=fn._saved_self_sym_sizes, gi=g._saved_index, gd=g._saved_dim, isel=x.index_select(1, i).grad_fn._saved_index is i)

# [case] split_and_cat | split sizes, cat's dim and sizes
x = torch.arange(6.0).reshape(3, 2).requires_grad_()
s, w = x.split(2)[0].grad_fn, x.split([1, 2])[1].grad_fn
out = dict(size=s._saved_split_size, dim=s._saved_dim, sizes=w._saved_split_sizes, cat=torch.cat([x, x]).grad_fn._saved_dim, unb=x.unbind(1)[0].grad_fn._saved_dim, stack=torch.stack([x, x], 1).grad_fn._saved_dim)

# [case] sorted_indices | sort, topk and kthvalue save positions
x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
out = dict(sort=x.sort().values.grad_fn._saved_indices, topk=x.topk(2).values.grad_fn._saved_indices, kth=x.kthvalue(1).values.grad_fn._saved_indices, med=x.median(0).values.grad_fn._saved_indices, cm=x.cummax(0).values.grad_fn._saved_indices, amin=x.min(0).values.grad_fn._saved_indices)

# [case] where_and_mask | conditions and masks are saved as they are
x = torch.tensor([1.0, 2.0], requires_grad=True)
m = torch.tensor([True, False])
out = dict(where=torch.where(m, x, x).grad_fn._saved_condition is m, mf=x.masked_fill(m, 0.0).grad_fn._saved_mask is m, ms=x.masked_select(m).grad_fn._saved_mask is m, clamp=x.clamp(0, 1).grad_fn._saved_self is x)

# [group] life

# [case] freed_tensors | tensors freed after a pass, kept by retain_graph
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.sin()
y.sum().backward(retain_graph=True)
out = dict(kept=y.grad_fn._saved_self is x)
y.sum().backward()
for name in ("_saved_self", "_raw_saved_self"):
    try:
        getattr(y.grad_fn, name)
        out[name] = "ok"
    except RuntimeError as e:
        out[name] = e

# [case] modified_then_read | reading a saved tensor that was changed is an error too
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
y = h.sin()
h.add_(1)
out = {}
try:
    y.grad_fn._saved_self
except RuntimeError as e:
    out["error"] = e

# [case] custom_nodes_have_no_saved | a custom node has saved_tensors, no _saved_ names; wrong names are AttributeErrors
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
x = torch.tensor([3.0], requires_grad=True)
y = Sq.apply(x)
out = dict(names=[n for n in dir(y.grad_fn) if n.startswith("_saved")], st=y.grad_fn.saved_tensors[0] is x, has=hasattr(y.grad_fn, "_saved_self"), acc=[n for n in dir(y.grad_fn.next_functions[0][0]) if n.startswith("_saved")])
try:
    (x * 2).grad_fn._saved_nothing
except AttributeError as e:
    out["error"] = type(e).__name__

# [case] raw_hooks_twice | hooks on a raw saved value can be set once
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x ** 2
raw = y.grad_fn._raw_saved_self
raw.register_hooks(lambda t: t * 10, lambda t: t)
out = {}
try:
    raw.register_hooks(lambda t: t, lambda t: t)
except RuntimeError as e:
    out["again"] = e
y.sum().backward()
out["g"] = x.grad

# [case] view_after_a_write | what the new node of a view shows after a write through a member of its family
x = torch.arange(6.0, requires_grad=True).reshape(2, 3) * 1
v, w = x[:, 1:], x[1]
v.mul_(2)
keys = ("size", "stride", "storage_offset")
out = {name: [getattr(t.grad_fn, "_saved_" + key) for key in keys] for name, t in (("v", v), ("w", w))}
out["dir"] = [n for n in dir(v.grad_fn) if n.startswith("_saved")]
out["base"] = [n for n in dir(x.grad_fn) if n.startswith("_saved")]

# [case] saved_for_either | what two gradients need is always saved, what one needs only for that one
o = torch.tensor([0.5, 0.7])
out = {}
for a_wants, b_wants in ((True, False), (False, True), (True, True)):
    a = torch.tensor([0.25, 0.75]).requires_grad_(a_wants)
    b = torch.tensor([0.5, 0.125]).requires_grad_(b_wants)
    for name, y in dict(addcdiv=torch.addcdiv(a, o, b), lerp=torch.lerp(a, o, b), addcmul=torch.addcmul(a, b, o), ldexp=torch.ldexp(a, b), heaviside=torch.heaviside(a, b), mul=torch.mul(a, b), div=torch.div(a, b)).items():
        node = y.grad_fn
        out[name, a_wants, b_wants] = [(n, getattr(node, n)) for n in sorted(dir(node)) if n.startswith("_saved_")]

# [case] inside_of_losses | what the nodes within a loss or a norm have saved
F = torch.nn.functional
def saved(y):
    found, nodes = [], [y.grad_fn]
    while nodes:
        n = nodes.pop(0)
        if n is not None and n.name() != "torch::autograd::AccumulateGrad":
            found.append((n.name(), [(k, getattr(n, k)) for k in sorted(dir(n)) if k.startswith("_saved_")]))
            nodes += [m for m, _ in n.next_functions]
    return found
a = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)
b = torch.tensor([[1.0, 0.5, -0.5], [0.75, 2.0, 1.0]], requires_grad=True)
s = torch.tensor([1, -1])
out = dict(ranking=saved(F.margin_ranking_loss(a[0], b[0], torch.ones(3), margin=0.25)), cosine=saved(F.cosine_embedding_loss(a, b, s)), hinge=saved(F.hinge_embedding_loss(a[:, 0], s)), smoothed=saved(F.cross_entropy(a, torch.tensor([0, 1]), label_smoothing=0.1)), diff=saved(a.diff()), trapz=saved(torch.trapz(a)), relu6=saved(F.relu6(a)), huber=saved(F.huber_loss(a, b, delta=2)))

# [case] one_factor_only | a cross product saves what the other's gradient needs, a factorization its places without history
a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[4.0, 5.0, 6.5], [0.5, 1.0, 2.0]])
out = {}
for a_wants, b_wants in ((True, False), (False, True), (True, True)):
    x, y = a[None].clone().requires_grad_(a_wants), b.clone().requires_grad_(b_wants)
    c = torch.linalg.cross(x, y)
    out[a_wants, b_wants] = c.grad_fn._saved_self, c.grad_fn._saved_other, torch.autograd.grad(c.pow(2).sum(), [t for t in (x, y) if t.requires_grad])
m = torch.tensor([[4.0, 1.0], [1.0, 3.0]], requires_grad=True)
lu, pivots = torch.linalg.lu_factor(m)
out["pivots"] = lu.grad_fn._saved_pivots
out["solved"] = torch.linalg.lu_solve(lu.detach(), pivots, torch.ones(2, 1, requires_grad=True)).grad_fn._saved_result

# [case] resized_images | what the nodes of an interpolation show
F = torch.nn.functional
def saved(node):
    return node.name(), [(k, getattr(node, k)) for k in sorted(dir(node)) if k.startswith("_saved_")]
images = [torch.ones(1, 1, *[2] * n, requires_grad=True) for n in (1, 2, 3)]
out = {}
for i, options in enumerate((dict(size=5), dict(scale_factor=2, mode="nearest-exact"), dict(scale_factor=1.5, mode="linear"), dict(scale_factor=2, mode="bilinear", align_corners=True), dict(size=3, mode="bicubic"), dict(scale_factor=2, mode="bilinear", antialias=True, recompute_scale_factor=True), dict(size=3, mode="trilinear"))):
    for x in images:
        try:
            y = F.interpolate(x, **options)
        except (NotImplementedError, ValueError):
            continue
        g, = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        out[i, x.dim()] = saved(y.grad_fn), saved(g.grad_fn)
