# [group] softmax

# [case] softmax_dims | softmax over each dim, its gradient
x = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], requires_grad=True)
a, b = x.softmax(0), torch.softmax(x, dim=-1)
(a[0, 0] + b[0, 2] * 10).backward()
out = dict(a=a, b=b, g=x.grad, smin=torch.nn.functional.softmin(x.detach(), dim=1))

# [case] softmax_stable | huge logits do not overflow
x = torch.tensor([1000.0, 999.0, -1000.0], requires_grad=True)
y = x.softmax(0)
y[0].backward()
out = dict(y=y, g=x.grad, big=torch.tensor([float("inf"), 0.0]).softmax(0))

# [case] softmax_dtype_and_errors | dtype argument, integers, wrong dims
F = torch.nn.functional
i = torch.tensor([1, 2])
out = dict(typed=F.softmax(i, dim=0, dtype=torch.float64), scalar=torch.tensor(3.0).softmax(0))
for name, f in dict(ints=lambda: i.softmax(0), dim=lambda: torch.ones(2).softmax(1)).items():
    try:
        out[name] = f()
    except (RuntimeError, IndexError, NotImplementedError) as e:
        out[name] = e

# [case] softmax_implicit_dim | leaving dim out warns
F = torch.nn.functional
out = dict(v=F.softmax(torch.tensor([1.0, 2.0])), m=F.log_softmax(torch.tensor([[1.0, 2.0], [3.0, 3.0]])))

# [case] log_softmax_against_log | log_softmax equals log of softmax, with a better gradient
x = torch.tensor([0.0, 200.0], requires_grad=True)
a = x.log_softmax(0)
a[0].backward()
g = x.grad.clone()
x.grad = None
b = x.softmax(0).log()
b[0].backward()
out = dict(a=a, g=g, b=b, gb=x.grad)

# [group] classification

# [case] cross_entropy_reductions | mean, sum and none
F = torch.nn.functional
x = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]], requires_grad=True)
t = torch.tensor([1, 0])
out = {}
for r in ("mean", "sum", "none"):
    loss = F.cross_entropy(x, t, reduction=r)
    out[r] = (loss, torch.autograd.grad(loss.sum(), x)[0])

# [case] cross_entropy_probabilities | class probabilities as the target, with weights and smoothing
F = torch.nn.functional
x = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]], requires_grad=True)
p = torch.tensor([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]], requires_grad=True)
a = F.cross_entropy(x, p)
b = F.cross_entropy(x, p, weight=torch.tensor([1.0, 2.0, 3.0]), label_smoothing=0.1)
(a + b).backward()
out = dict(a=a.detach(), b=b.detach(), x=x.grad, p=p.grad)

# [case] cross_entropy_single_and_images | an unbatched input, and extra dims
F = torch.nn.functional
x = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
a = F.cross_entropy(x, torch.tensor(2))
m = torch.arange(12.0).reshape(1, 3, 2, 2).requires_grad_()
b = F.cross_entropy(m, torch.tensor([[[0, 1], [2, 0]]]))
(a + b).backward()
out = dict(a=a.detach(), b=b.detach(), x=x.grad, m=m.grad)

# [case] classification_errors | targets out of range, wrong types, shapes and reductions
F = torch.nn.functional
x = torch.ones(2, 3)
out = {}
for name, f in dict(range=lambda: F.cross_entropy(x, torch.tensor([0, 3])), neg=lambda: F.nll_loss(x, torch.tensor([0, -1])), batch=lambda: F.cross_entropy(x, torch.tensor([0])), flt=lambda: F.nll_loss(x, torch.tensor([0.0, 1.0])), red=lambda: F.mse_loss(x, x, reduction="avg"), bcer=lambda: F.binary_cross_entropy(torch.tensor([2.0]), torch.tensor([1.0])), bces=lambda: F.binary_cross_entropy(torch.ones(2), torch.ones(3)), bcels=lambda: F.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(3)), smooth=lambda: F.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=1.5), w=lambda: F.cross_entropy(x, torch.tensor([0, 1]), weight=torch.ones(2))).items():
    try:
        out[name] = f()
    except Exception as e:
        out[name] = e

# [case] all_ignored | every target ignored: the mean is nan, the sum 0
F = torch.nn.functional
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
t = torch.tensor([-100])
a, b = F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="sum")
b.backward()
out = dict(a=a, b=b, g=x.grad, own=F.nll_loss(x.detach(), torch.tensor([1]), ignore_index=1, reduction="none"))

# [case] nll_of_log_softmax | cross entropy is nll of log_softmax; the module forms
x = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]], requires_grad=True)
t = torch.tensor([2, 2])
w = torch.tensor([0.5, 1.0, 2.0])
a = torch.nn.NLLLoss(weight=w)(x.log_softmax(1), t)
b = torch.nn.CrossEntropyLoss(weight=w)(x, t)
c = torch.nn.CrossEntropyLoss(reduction="sum", ignore_index=0, label_smoothing=0.2)(x, t)
(b + c).backward()
out = dict(a=a.detach(), b=b.detach(), c=c.detach(), g=x.grad, rep=repr(torch.nn.CrossEntropyLoss()))

# [case] smoothing_with_weights_and_ignore | label smoothing together with weights and ignored targets
F = torch.nn.functional
x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 2.0, 1.0]], requires_grad=True)
t = torch.tensor([0, 1, -100])
loss = F.cross_entropy(x, t, weight=torch.tensor([1.0, 3.0, 0.5]), label_smoothing=0.3)
loss.backward()
out = dict(loss=loss.detach(), g=x.grad, none=F.cross_entropy(x, t, label_smoothing=0.3, reduction="none").detach())

# [group] regression

# [case] mse_forms | mse with the three reductions, gradients to both sides
F = torch.nn.functional
x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
t = torch.tensor([0.0, 2.0, 1.0], requires_grad=True)
out = {}
for r in ("mean", "sum", "none"):
    loss = F.mse_loss(x, t, reduction=r)
    out[r] = (loss, torch.autograd.grad(loss.sum(), (x, t)))
out["module"] = torch.nn.MSELoss()(x, t)

# [case] huber_deltas | delta and beta, zero beta
F = torch.nn.functional
out = {}
for name, f in dict(h2=lambda a, b: F.huber_loss(a, b, delta=2.0), s2=lambda a, b: F.smooth_l1_loss(a, b, beta=2.0), s0=lambda a, b: F.smooth_l1_loss(a, b, beta=0.0), hs=lambda a, b: F.huber_loss(a, b, reduction="sum", delta=0.5), sn=lambda a, b: F.smooth_l1_loss(a, b, reduction="none")).items():
    x = torch.tensor([0.0, 0.5, -1.0, 3.0], requires_grad=True)
    loss = f(x, torch.zeros(4))
    out[name] = (loss.detach(), torch.autograd.grad(loss.sum(), x)[0])
for name, f in dict(delta=lambda: F.huber_loss(x, x, delta=0.0), beta=lambda: F.smooth_l1_loss(x, x, beta=-1.0)).items():
    try:
        f()
    except (ValueError, RuntimeError) as e:
        out[name] = e

# [case] l1_sum_and_target_grad | l1 by sum and none, gradient of the target
F = torch.nn.functional
x = torch.tensor([1.0, -2.0, 0.0], requires_grad=True)
t = torch.tensor([0.0, 0.0, 0.0], requires_grad=True)
loss = F.l1_loss(x, t, reduction="sum")
loss.backward()
out = dict(loss=loss, x=x.grad, t=t.grad, none=torch.nn.L1Loss(reduction="none")(x, t))

# [case] regression_size_mismatch | sizes that broadcast warn, others are errors
F = torch.nn.functional
x = torch.ones(2, 1)
out = dict(l1=F.l1_loss(x, torch.ones(2)), hub=F.smooth_l1_loss(x, torch.zeros(2)))
try:
    F.mse_loss(x, torch.ones(3, 2))
except RuntimeError as e:
    out["error"] = e

# [case] other_regression | poisson and gaussian negative log likelihood
F = torch.nn.functional
x = torch.tensor([0.5, 1.0], requires_grad=True)
v = torch.tensor([1.0, 0.25], requires_grad=True)
t = torch.tensor([1.0, 3.0])
a = F.poisson_nll_loss(x, t)
b = F.poisson_nll_loss(x, t, log_input=False, full=True, reduction="sum")
c = F.gaussian_nll_loss(x, t, v)
d = F.gaussian_nll_loss(x, t, v, full=True, reduction="none")
(a + b + c + d.sum()).backward()
out = dict(a=a.detach(), b=b.detach(), c=c.detach(), d=d.detach(), x=x.grad, v=v.grad)

# [group] binary

# [case] bce_plain | bce on probabilities, with the logarithm clamped
F = torch.nn.functional
p = torch.tensor([0.0, 0.25, 1.0, 0.5], requires_grad=True)
t = torch.tensor([1.0, 0.0, 1.0, 0.5])
loss = F.binary_cross_entropy(p, t, reduction="none")
loss.sum().backward()
out = dict(loss=loss, g=p.grad, mean=F.binary_cross_entropy(p, t, weight=torch.tensor([1.0, 2.0, 3.0, 4.0])))

# [case] bce_logits_weights | weight, pos_weight and the gradient of the target
F = torch.nn.functional
x = torch.tensor([[0.5, -1.0], [2.0, 0.0]], requires_grad=True)
t = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
loss = F.binary_cross_entropy_with_logits(x, t, weight=torch.tensor([1.0, 2.0]), pos_weight=torch.tensor([3.0, 0.5]), reduction="sum")
loss.backward()
out = dict(loss=loss.detach(), x=x.grad, t=t.grad, module=torch.nn.BCEWithLogitsLoss()(x, t).detach(), bce=torch.nn.BCELoss()(x.sigmoid(), t.detach()).detach())

# [case] kl_reductions | kl_div by reduction, with log targets and zeros
F = torch.nn.functional
x = torch.tensor([[-1.0, -0.5], [-2.0, -0.1]], requires_grad=True)
t = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
out = {r: F.kl_div(x, t, reduction=r).detach() for r in ("batchmean", "sum", "none")}
loss = F.kl_div(x, x.detach() * 2, reduction="sum", log_target=True)
loss.backward()
out.update(logt=loss.detach(), g=x.grad)

# [case] kl_mean_warns | the mean reduction of kl_div warns
F = torch.nn.functional
out = dict(v=F.kl_div(torch.tensor([[-1.0, -0.5]]), torch.tensor([[0.5, 0.5]])))

# [case] cosine_and_distance | cosine_similarity along dims, zero vectors, pairwise distances
F = torch.nn.functional
x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
y = torch.tensor([[4.0, 3.0], [1.0, 1.0]])
c, d = F.cosine_similarity(x, y), F.pairwise_distance(x, y)
(c.sum() + d.sum()).backward()
out = dict(c=c.detach(), d=d.detach(), g=x.grad, c0=F.cosine_similarity(x.detach(), y, dim=0), cdist=torch.cdist(x.detach(), y), p1=F.pairwise_distance(x.detach(), y, p=1.0, keepdim=True))

# [case] normalize_forms | normalize along dims and norms; the zero vector
F = torch.nn.functional
x = torch.tensor([[3.0, 4.0], [0.0, 0.0], [-1.0, 1.0]], requires_grad=True)
n = F.normalize(x)
n[:, 0].sum().backward()
out = dict(n=n.detach(), g=x.grad, p1=F.normalize(x.detach(), p=1.0, dim=0), v=F.normalize(torch.tensor([3.0, 4.0]), dim=0))

# [case] margin_losses | hinge, ranking, cosine embedding, triplet
F = torch.nn.functional
a = torch.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
b = torch.tensor([[1.5, 1.0], [0.0, 1.0]])
out = {}
for name, f in dict(rank=lambda: F.margin_ranking_loss(a[:, 0], b[:, 0], torch.tensor([1.0, -1.0]), margin=0.1), hinge=lambda: F.hinge_embedding_loss(a, torch.tensor([[1.0, -1.0], [-1.0, 1.0]])), cos=lambda: F.cosine_embedding_loss(a, b, torch.tensor([1.0, -1.0])), trip=lambda: F.triplet_margin_loss(a, b, b * 2), soft=lambda: F.soft_margin_loss(a, torch.tensor([[1.0, -1.0], [-1.0, 1.0]])), multi=lambda: F.multi_margin_loss(a, torch.tensor([0, 1])), mlsm=lambda: F.multilabel_soft_margin_loss(a, torch.tensor([[1.0, 0.0], [0.0, 1.0]]))).items():
    loss = f()
    out[name] = (loss.detach(), torch.autograd.grad(loss, a)[0])

# [case] ctc_lengths_in_tensors | ctc_loss refuses lengths in tensors as it does in tuples
F = torch.nn.functional
p = torch.zeros(3, 1, 4).log_softmax(-1)
out = {}
for name, lengths in dict(tensors=(torch.tensor([5]), torch.tensor([2])), tuples=((5,), (2,)), right=(torch.tensor([3]), torch.tensor([2]))).items():
    try:
        out[name] = F.ctc_loss(p, torch.tensor([[1, 2]]), *lengths)
    except RuntimeError as e:
        out[name] = e
