# [group] arithmetic

# [case] numbers_on_the_left | 2 - x, 2 / x, 2 ** x, and the same with a number on the right
x = torch.tensor([1.0, 2.0], requires_grad=True)
ops = dict(radd=2 + x, rsub=2 - x, rmul=2 * x, rdiv=2 / x, rpow=2 ** x, add=x + 2, sub=x - 2, mul=x * 2, div=x / 2, pow=x ** 0.5, fdiv=x.detach() // 2, mod=x % 2, sq=torch.square(x), pos=+x)
out = {k: None if v.grad_fn is None else v.grad_fn.name() for k, v in ops.items()}
out["rdiv_next"] = (2 / x).grad_fn.next_functions[0][0].name()

# [case] function_forms | torch.add and friends give the same nodes as the operators
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
ops = dict(add=torch.add(x, y), sub=torch.subtract(x, y), mul=torch.multiply(x, y), div=torch.true_divide(x, y), neg=torch.negative(x), pow=torch.pow(x, 2), powt=torch.pow(x, y), fpow=torch.float_power(x, 2),
           sa=torch.sub(x, y, alpha=2), floor=torch.div(x, y, rounding_mode="floor"), rem=torch.remainder(x, 2), fmod=torch.fmod(x, 2), abs=torch.absolute(x), rec=x.reciprocal(), at=torch.atan2(x, y), hyp=torch.hypot(x, y), xl=torch.xlogy(x, y), la=torch.logaddexp(x, y), ldexp=torch.copysign(x, y))
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [case] in_place_names | the in-place forms carry the same names
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
c = lambda: x * 1
ops = dict(add=c().add_(y), sub=c().sub_(1), mul=c().mul_(y), div=c().div_(y), neg=c().neg_(), pow=c().pow_(2), addcmul=c().addcmul_(x, y), lerp=c().lerp_(y, 0.5), clamp=c().clamp_(0, 1), exp=c().exp_(), abs=c().abs_(), relu=torch.relu_(c()), fill=c().fill_(2.0), rec=c().reciprocal_(), sig=c().sigmoid_(), mf=c().masked_fill_(x > 1, 0.0))
out = {k: type(v.grad_fn).__name__ for k, v in ops.items()}

# [case] min_max_pairs | binary maximum, minimum, fmax, fmin, max of two
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 1.0], requires_grad=True)
ops = dict(maximum=torch.maximum(x, y), minimum=torch.minimum(x, y), fmax=torch.fmax(x, y), fmin=torch.fmin(x, y), mx=torch.max(x, y), mn=torch.min(x, y), where=torch.where(x > y, x, y), clamp=x.clamp(0, 1), cmin=x.clamp_min(0.0), cmax=x.clamp_max(1.0), ct=torch.clamp(x, y, y), clip=x.clip(0, 1))
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [case] names_end_in_zero | name() and the class name agree; leaves are AccumulateGrad
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
acc = y.grad_fn.next_functions[0][0]
out = dict(name=y.grad_fn.name(), cls=type(y.grad_fn).__name__, acc=acc.name(), acls=type(acc).__name__, leaf=x.grad_fn)

# [group] reductions

# [case] reduce_dim | reductions along a dim
x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
ops = dict(sum=x.sum(0), sumt=x.sum((0, 1)), mean=x.mean(1), prod=x.prod(0), var=x.var(0), std=x.std(1), max=x.max(1).values, min=x.min(0)[0], amax=x.amax(0), amin=x.amin(1), norm=x.norm(dim=1), norm1=x.norm(p=1), lse=x.logsumexp(0), median=x.median(1).values, mode=x.mode(0).values, kth=x.kthvalue(1, 1).values)
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [case] reduce_more | min of all, median of all, vector norms, nansum, cumulative ops, sort and topk
x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
ops = dict(min=x.min(), median=x.median(), nansum=x.nansum(), vn=torch.linalg.vector_norm(x), ln=torch.linalg.norm(x), fro=torch.norm(x), dist=torch.dist(x, x.detach() * 2), cumsum=x.cumsum(0), cumprod=x.cumprod(1), cummax=x.cummax(0).values, lcse=x.logcumsumexp(0), sort=x.sort(0).values, topk=x.topk(1).values, trace=x.trace(), vm=torch.var_mean(x)[0], sm=torch.std_mean(x)[1], aminmax=torch.aminmax(x).min, nm=x.nanmean())
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [case] softmaxes | softmax, log_softmax and what is built of them
F = torch.nn.functional
x = torch.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
ops = dict(soft=x.softmax(1), logs=x.log_softmax(0), fs=F.softmax(x, dim=-1), smin=F.softmin(x, dim=1), ts=torch.softmax(x, 0), norm=F.normalize(x), cos=F.cosine_similarity(x, x.detach()), pd=F.pairwise_distance(x, x.detach() + 1))
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [group] shapes

# [case] view_family | the names behind views
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
ops = dict(view=x.view(3, 2), reshape=x.reshape(6), flatten=x.flatten(), ravel=x.ravel(), t=x.t(), T=x.T, mT=x.mT, transpose=x.transpose(0, 1), permute=x.permute(1, 0), squeeze=x.unsqueeze(0).squeeze(), sq0=x.unsqueeze(0).squeeze(0), unsq=x.unsqueeze(1), expand=x[:1].expand(2, 3), narrow=x.narrow(0, 0, 1), select=x.select(0, 1), diag=x.diagonal(), unfold=x.unfold(1, 2, 1), astr=x.as_strided((2,), (1,)), vas=x.view_as(torch.zeros(3, 2)), unflat=x.unflatten(1, (3, 1)), alias=x.detach().requires_grad_().view(-1), movedim=x.movedim(0, 1), swap=x.swapaxes(0, 1))
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [case] no_op_shapes | what shape ops that change nothing record
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
ops = dict(reshape=x.reshape(1, 2), view=x.view(1, 2), expand=x.expand(1, 2), squeeze=x.squeeze(1), permute=x.permute(0, 1), flatten=x[0].flatten(), full=x[:], ell=x[...])
out = {k: None if v.grad_fn is None else v.grad_fn.name() for k, v in ops.items()}
out["same"] = {k: v is x for k, v in dict(reshape=x.reshape(1, 2), contiguous=x.contiguous(), flat=x.flatten(0, 0)).items()}

# [case] more_copies | tile, rot90, tril, pad, repeat_interleave, hstack, split kinds
F = torch.nn.functional
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
ops = dict(tile=x.tile(2), rot=torch.rot90(x), tril=x.tril(), triu=x.triu(), pad=F.pad(x, (1, 1)), padr=F.pad(x[None], (1, 1), mode="replicate"), rep=x.repeat_interleave(2, 0), h=torch.hstack([x, x]), v=torch.vstack([x, x]), sws=x.split([1, 1])[1], ts=x.tensor_split(2)[0], hs=torch.hsplit(x, 2)[0], diag=torch.diag(x), de=torch.diag_embed(x), mg=torch.meshgrid(x[0], x[1], indexing="ij")[0], kron=torch.kron(x, x), blk=torch.block_diag(x, x), cp=torch.cartesian_prod(x[0], x[1]), fl=x.fliplr(), sc=torch.column_stack([x, x]), ds=torch.dstack([x, x]))
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [group] indexing

# [case] index_functions | gather, take, index_select and the scatters
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
i = torch.tensor([[0, 1, 0]])
r = torch.tensor([0, 1])
m = x.detach() > 2
ops = dict(gather=x.gather(0, i), take=x.take(r), isel=x.index_select(1, r), msel=x.masked_select(m), scatter=x.scatter(0, i, 0.0), scattert=x.scatter(0, i, x.detach()), sadd=x.scatter_add(0, i, x.detach()), iadd=x.index_add(1, r, torch.ones(2, 2)), icopy=x.index_copy(1, r, torch.ones(2, 2)), ifill=x.index_fill(1, r, 0.0), iput=x.index_put((r,), torch.ones(3)), mfill=x.masked_fill(m, 0.0), mfillt=x.masked_fill(m, torch.tensor(1.0)), along=torch.take_along_dim(x, i, 0), msc=x.masked_scatter(m, torch.ones(6)), sred=x.scatter_reduce(0, i, x.detach(), "sum"))
out = {k: v.grad_fn.name() for k, v in ops.items()}

# [case] assignments | what b[...] = v leaves as grad_fn
x = torch.tensor([1.0, 2.0], requires_grad=True)
def after(f):
    b = torch.zeros(3, 2) * x
    f(b)
    return type(b.grad_fn).__name__
def int_(b): b[0] = x
def sl(b): b[1:] = 5.0
def fancy(b): b[torch.tensor([0, 2])] = x
def mask(b): b[b.detach() >= 0] = 1.0
def full(b): b[:] = x
def ell(b): b[...] = 0.0
out = {f.__name__: after(f) for f in (int_, sl, fancy, mask, full, ell)}

# [case] bracket_combinations | chained and combined indices
x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
i = torch.tensor([0, 1])
ops = dict(ints=x[0, 1, 2], intslice=x[0, 1:], tensor0=x[torch.tensor(1)], both=x[i, i], lst=x[[0, 1]], newax=x[:, None, 0], tr=x[True], rowmask=x[torch.tensor([True, False])], npi=x[np.array([0, 1])], fullslice=x[:, :], stepped=x[..., ::2])
out = {k: type(v.grad_fn).__name__ for k, v in ops.items()}

# [group] products

# [case] matmul_names | what @ records for each combination of dims
m = torch.ones(2, 3, requires_grad=True)
v = torch.ones(3, requires_grad=True)
b = torch.ones(4, 2, 3, requires_grad=True)
ops = dict(dot=v @ v, mv=m @ v, vm=torch.ones(2, requires_grad=True) @ m, mm=m @ m.t(), bmm=b @ b.mT, bm=b @ m.t(), bv=b @ v, mb=m @ b.mT, fdot=torch.dot(v, v), fmv=torch.mv(m, v), fmm=torch.mm(m, m.t()), fbmm=torch.bmm(b, b.mT), inner=torch.inner(v, v), outer=torch.outer(v, v), vdot=torch.vdot(v, v), ger=torch.ger(v, v), tdot=torch.tensordot(m, v, dims=1), chain=torch.linalg.multi_dot([m, m.t(), m]))
out = {k: o.grad_fn.name() for k, o in ops.items()}

# [case] more_products | einsum, baddbmm, addbmm, bilinear, conv, embedding, linalg
F = torch.nn.functional
m = torch.eye(2).requires_grad_()
b = torch.ones(3, 2, 2, requires_grad=True)
ops = dict(es=torch.einsum("ij,jk->ik", m, m), tr=torch.einsum("ii->", m), bad=torch.baddbmm(b, b, b), emb=F.embedding(torch.tensor([0, 1]), m), inv=torch.inverse(m), linv=torch.linalg.inv(m), det=torch.det(m), ldet=torch.linalg.det(m), solve=torch.linalg.solve(m, m[0]), chol=torch.linalg.cholesky(m), slog=torch.linalg.slogdet(m)[1], mp=torch.matrix_power(m, 3), cross=torch.linalg.cross(torch.ones(3, requires_grad=True), torch.ones(3)), addr=torch.addr(m, m[0], m[1]), logdet=torch.logdet(m))
out = {k: o.grad_fn.name() for k, o in ops.items()}

# [case] nn_function_names | convolution, pooling, norms, dropout, interpolation-free layers
F = torch.nn.functional
x = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
w = torch.ones(1, 1, 2, 2, requires_grad=True)
ops = dict(conv=F.conv2d(x, w), c1=F.conv1d(x.reshape(1, 1, 16), w.reshape(1, 1, 4)), mp=F.max_pool2d(x, 2), ap=F.avg_pool2d(x, 2), aap=F.adaptive_avg_pool2d(x, 1), ln=F.layer_norm(x, (4,)), bn=F.batch_norm(x, torch.zeros(1), torch.ones(1)), gn=F.group_norm(x, 1), drop0=F.dropout(x, 0.5, training=False), unfold=F.unfold(x, 2))
out = {k: type(o.grad_fn).__name__ if o.grad_fn is not None else None for k, o in ops.items()}

# [group] functions

# [case] more_pointwise | asin, sinh, erfc, exp2, log2, sigmoid relatives
x = torch.tensor([0.25, 0.5], requires_grad=True)
names = ["asin", "acos", "sinh", "cosh", "asinh", "atanh", "erfc", "erfinv", "exp2", "log2", "log10", "floor", "ceil", "round", "trunc", "frac", "lgamma", "digamma", "logit", "sinc", "deg2rad", "nan_to_num", "positive", "i0", "arctan", "arcsin", "neg", "relu_"]
out = {}
for n in names:
    out[n] = type(getattr(x * 1, n)().grad_fn).__name__

# [case] activation_names | the activations of nn.functional
F = torch.nn.functional
x = torch.tensor([0.25, -0.5], requires_grad=True)
ops = dict(relu=F.relu(x), relu6=F.relu6(x), leaky=F.leaky_relu(x), elu=F.elu(x), selu=F.selu(x), celu=F.celu(x), gelu=F.gelu(x), silu=F.silu(x), mish=F.mish(x), softplus=F.softplus(x), softsign=F.softsign(x), ht=F.hardtanh(x), hs=F.hardsigmoid(x), hsw=F.hardswish(x), ls=F.logsigmoid(x), tanh=F.tanh(x), sig=F.sigmoid(x), ts=F.tanhshrink(x), thr=F.threshold(x, 0.0, 1.0), prelu=F.prelu(x, torch.tensor([0.1])), glu=F.glu(x), hshr=F.hardshrink(x), sshr=F.softshrink(x), expit=torch.special.expit(x), rrelu=F.rrelu(x, training=False))
out = {k: type(o.grad_fn).__name__ for k, o in ops.items()}

# [case] more_loss_names | other losses and reductions
F = torch.nn.functional
x = torch.tensor([[0.25, 1.0], [2.0, 0.5]], requires_grad=True)
h = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
t = torch.tensor([1, 0])
ops = dict(ce_soft=F.cross_entropy(x, h), ce_smooth=F.cross_entropy(x, t, label_smoothing=0.1), ce_sum=F.cross_entropy(x, t, reduction="sum"), ce_none=F.cross_entropy(x, t, reduction="none"), mse_none=F.mse_loss(x, h, reduction="none"), l1_none=F.l1_loss(x, h, reduction="none"), kl_mean=F.kl_div(x, h, reduction="batchmean"), pois=F.poisson_nll_loss(x, h), gnll=F.gaussian_nll_loss(x, h, torch.ones(2, 2)), hinge=F.hinge_embedding_loss(x, h * 2 - 1), mrl=F.margin_ranking_loss(x[0], x[1], torch.ones(2)), cel=F.cosine_embedding_loss(x, h, torch.tensor([1, -1])), trip=F.triplet_margin_loss(x, h, h + 1), softm=F.soft_margin_loss(x, h), mm=F.multi_margin_loss(x, t), bw=F.binary_cross_entropy_with_logits(x, h, weight=torch.tensor(2.0)), mse_grad_t=F.mse_loss(h, x))
out = {k: type(o.grad_fn).__name__ for k, o in ops.items()}

# [group] changed_in_place

# [case] chain_below_after_in_place | the old node stays below the new one
x = torch.tensor([1.0, 4.0], requires_grad=True)
y = x.exp()
old = y.grad_fn
y.add_(1).mul_(2)
out = dict(now=y.grad_fn.name(), below=y.grad_fn.next_functions[0][0].name(), bottom=y.grad_fn.next_functions[0][0].next_functions[0][0] is old, version=y._version)

# [case] write_into_constant | an in-place op on a constant with a differentiable operand
x = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.zeros(2)
out = dict(before=b.grad_fn)
b.add_(x)
out.update(b=b, nf=[f if f is None else f.name() for f, _ in b.grad_fn.next_functions])
c = torch.ones(2)
c.copy_(x)
d = torch.ones(2)
d.mul_(x)
out.update(c=c, d=d)

# [case] view_writes | names of base and view after a write through the view
x = torch.arange(4.0).requires_grad_()
b = x * 1
v = b.view(2, 2)
v[0].mul_(2)
out = dict(base=type(b.grad_fn).__name__, bname=b.grad_fn.name(), view=v.grad_fn.name())
w = b[1:]
w.zero_()
out.update(base2=type(b.grad_fn).__name__, w=w.grad_fn.name(), nf=[None if f is None else f.name() for f, _ in b.grad_fn.next_functions])

# [case] conversions_that_do_nothing | to() that changes nothing records nothing, clone and copies do
x = torch.tensor([1.0], requires_grad=True)
out = dict(to=x.to(torch.float32) is x, cp=x.to(torch.float32, copy=True).grad_fn.name(), dev=x.to("cpu") is x, cpu=x.cpu() is x, bf=x.bfloat16().grad_fn.name(), typ=x.type(torch.float64).grad_fn.name(), both=x.to("cpu", torch.float64).grad_fn.name(), other=x.to(torch.ones(1, dtype=torch.float64)).grad_fn.name(), d2f=x.double().float().grad_fn.name(), cl=torch.clone(x).grad_fn.name())
