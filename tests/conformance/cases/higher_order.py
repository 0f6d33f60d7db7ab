# [group] scalars

# [case] elementary_second | second derivatives of elementary functions
out = {}
for name in ["exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "sin", "cos", "tan", "atan", "reciprocal", "square", "erf", "log1p", "expm1", "sinh", "cosh", "asin", "acos", "exp2", "log2", "log10", "asinh", "atanh", "lgamma"]:
    x = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(getattr(x, name)().sum(), x, create_graph=True)
    (g2,) = torch.autograd.grad(g.sum(), x, allow_unused=True)
    out[name] = (g.detach(), g2)

# [case] activations_second | second derivatives of piecewise activations
F = torch.nn.functional
out = {}
for name, f in dict(relu=F.relu, leaky=F.leaky_relu, elu=F.elu, selu=F.selu, celu=F.celu, mish=F.mish, softsign=F.softsign, hardtanh=F.hardtanh, hardswish=F.hardswish, tanhshrink=F.tanhshrink, gelut=lambda t: F.gelu(t, approximate="tanh")).items():
    x = torch.tensor([-0.7, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    out[name] = (g.detach(), torch.autograd.grad((g * torch.ones(3, dtype=torch.float64).requires_grad_()).sum(), x, allow_unused=True)[0])

# [case] power_tower | x ** n down to zero
x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
y, seen = x ** 3, []
for _ in range(4):
    (y,) = torch.autograd.grad(y, x, create_graph=True)
    seen.append((y.detach(), y.requires_grad))
out = dict(seen=seen)

# [case] exp_saves_result | the derivative of exp reuses its result, at every order
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
y = x.exp()
names, vals = [], []
for _ in range(3):
    (y,) = torch.autograd.grad(y, x, create_graph=True)
    names.append(y.grad_fn.name())
    vals.append(y.detach())
out = dict(names=names, vals=vals)

# [case] names_of_gradients | the nodes that gradients are made of
x = torch.tensor([0.5, 0.25], requires_grad=True)
w = torch.tensor([2.0, 3.0], requires_grad=True)
fs = dict(mul=lambda: x * w, div=lambda: x / w, pow=lambda: x ** 3, sin=lambda: x.sin(), log=lambda: x.log(), tanh=lambda: x.tanh(), sigmoid=lambda: x.sigmoid(), sqrt=lambda: x.sqrt(), rec=lambda: x.reciprocal(), sq=lambda: x.square(), softmax=lambda: x.softmax(0), ln=lambda: x.norm())
out = {}
for k, f in fs.items():
    (g,) = torch.autograd.grad(f().sum(), x, create_graph=True)
    out[k] = None if g.grad_fn is None else g.grad_fn.name()

# [case] gradient_that_does_not_require | a gradient that no longer depends on anything
x = torch.tensor([1.0, 2.0], requires_grad=True)
fs = dict(sum=lambda: x.sum(), lin=lambda: (x * 3).sum(), relu=lambda: x.relu().sum(), abs=lambda: x.abs().sum(), clamp=lambda: x.clamp(0, 5).sum(), view=lambda: x.view(2, 1).sum(), max=lambda: x.max(), idx=lambda: x[0], neg=lambda: (-x).sum())
out = {k: torch.autograd.grad(f(), x, create_graph=True)[0] for k, f in fs.items()}

# [group] products

# [case] hessian_by_rows | the full Hessian, row by row
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
y = x[0] ** 2 * x[1] + x[1].sin()
(g,) = torch.autograd.grad(y, x, create_graph=True)
rows = [torch.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(2)]
out = dict(h=torch.stack(rows))

# [case] hvp_by_dot | the Hessian-vector product as the gradient of g . v
x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
v = torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
y = (x.exp() * x.flip(0)).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
(hv,) = torch.autograd.grad(g @ v, x)
out = dict(hv=hv)

# [case] gradient_of_gradient_weights | a gradient with respect to grad_outputs is the linear map itself
x = torch.tensor([2.0, 3.0], requires_grad=True)
v = torch.ones(2, requires_grad=True)
(g,) = torch.autograd.grad(x ** 2, x, grad_outputs=v, create_graph=True)
out = dict(gv=torch.autograd.grad(g, v, torch.tensor([1.0, 10.0]), retain_graph=True), gx=torch.autograd.grad(g.sum(), x))

# [case] third_directional | a third derivative along a direction
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
v = torch.tensor([1.0, 1.0], dtype=torch.float64)
y = (x ** 4).sum() + x.prod() ** 2
for _ in range(3):
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    y = g @ v
out = dict(d3=y.detach())

# [group] through_structure

# [case] softmax_cross_entropy_second | second order through log_softmax and cross entropy
F = torch.nn.functional
x = torch.tensor([[1.0, 2.0, 0.5]], dtype=torch.float64, requires_grad=True)
out = {}
for name, f in dict(ce=lambda: F.cross_entropy(x, torch.tensor([1])), sm=lambda: x.softmax(1)[0, 0], lse=lambda: x.logsumexp(1).sum(), mse=lambda: F.mse_loss(x, torch.zeros(1, 3, dtype=torch.float64)), bce=lambda: F.binary_cross_entropy_with_logits(x, torch.ones(1, 3, dtype=torch.float64)), hub=lambda: F.huber_loss(x, torch.zeros(1, 3, dtype=torch.float64)), sl1=lambda: F.smooth_l1_loss(x, torch.zeros(1, 3, dtype=torch.float64))).items():
    (g,) = torch.autograd.grad(f(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * torch.tensor([[1.0, -1.0, 2.0]], dtype=torch.float64)).sum(), x)
    out[name] = (g.detach(), h)

# [case] broadcast_second | second order with broadcasting
a = torch.tensor([[1.0], [2.0]], dtype=torch.float64, requires_grad=True)
b = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64, requires_grad=True)
ga, gb = torch.autograd.grad((a ** 2 * b).sum(), (a, b), create_graph=True)
out = dict(ga=ga.detach(), gb=gb.detach(), second=torch.autograd.grad(ga.sum() + (gb ** 2).sum(), (a, b)))

# [case] reductions_second | prod, var, std, norm, max
out = {}
for name, f in dict(prod=lambda t: t.prod(), prodz=lambda t: (t * torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64)).prod(), var=lambda t: t.var(), std=lambda t: t.std(), norm=lambda t: t.norm(), n3=lambda t: t.norm(p=3), mx=lambda t: t.max() ** 2, cumprod=lambda t: t.cumprod(0).sum(), cumsum=lambda t: (t.cumsum(0) ** 2).sum(), mean=lambda t: (t.mean() ** 3)).items():
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (h,) = torch.autograd.grad(g[0] + g.sum(), x)
    out[name] = (g.detach(), h)

# [case] indexing_second | gather, scatter, index and where
x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
i = torch.tensor([0, 0, 2])
out = {}
for name, f in dict(index=lambda: (x[i] ** 3).sum(), gather=lambda: (x.gather(0, i) ** 3).sum(), sadd=lambda: (torch.zeros(3, dtype=torch.float64).scatter_add(0, i, x) ** 3).sum(), where=lambda: torch.where(x > 1.5, x ** 3, x * 2).sum(), put=lambda: (x.index_put((torch.tensor([0]),), x[2:]) ** 3).sum(), sort=lambda: (x.sort(descending=True).values ** 3 * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).sum(), pad=lambda: (torch.nn.functional.pad(x, (1, 1)) ** 3).sum()).items():
    (g,) = torch.autograd.grad(f(), x, create_graph=True)
    out[name] = (g.detach(), torch.autograd.grad(g.sum(), x)[0])

# [case] inplace_and_views_second | in-place writes and views are transparent as well
x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
y = x ** 2
y[1:].mul_(x[:2])
y.add_(1)
(g,) = torch.autograd.grad((y ** 2).sum(), x, create_graph=True)
(h,) = torch.autograd.grad(g.sum(), x)
out = dict(g=g.detach(), h=h)

# [case] linalg_second | second order through inverse and determinant
a = torch.tensor([[2.0, 1.0], [0.5, 3.0]], dtype=torch.float64, requires_grad=True)
out = {}
for name, f in dict(inv=lambda: torch.inverse(a)[0, 1], det=lambda: torch.det(a) ** 2, mm=lambda: (a @ a @ a).trace()).items():
    (g,) = torch.autograd.grad(f(), a, create_graph=True)
    out[name] = (g.detach(), torch.autograd.grad(g.sum(), a)[0])

# [case] conv_second | second order through a convolution
F = torch.nn.functional
x = torch.arange(5.0, dtype=torch.float64).reshape(1, 1, 5).requires_grad_()
w = torch.tensor([[[1.0, -2.0]]], dtype=torch.float64, requires_grad=True)
(g,) = torch.autograd.grad((F.conv1d(x, w) ** 2).sum(), w, create_graph=True)
out = dict(g=g.detach(), second=torch.autograd.grad(g.sum(), (x, w)))

# [group] accumulating

# [case] one_inner_step | differentiating through one gradient step
theta = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
w = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
(g,) = torch.autograd.grad((w - theta) ** 2, w, create_graph=True)
w1 = w - 0.1 * g
(w1 ** 2).backward()
out = dict(w1=w1, theta=theta.grad, w=w.grad)

# [case] backward_create_graph_warns | backward(create_graph=True) warns and leaves a differentiable .grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x ** 3).sum().backward(create_graph=True)
g = x.grad
out = dict(g=g)
x.grad = None
g.sum().backward()
out["second"] = x.grad

# [case] grad_norm_added_to_loss | loss plus squared gradient norm, in one backward
w = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
loss = (w ** 3).sum()
(g,) = torch.autograd.grad(loss, w, create_graph=True)
(loss + 0.5 * (g ** 2).sum()).backward()
out = dict(g=w.grad)

# [case] detached_inner_gradient | the first-order version of the inner step
theta = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
w = theta * 1
(g,) = torch.autograd.grad((w - 3) ** 2, w)
w1 = w - 0.1 * g
(w1 ** 2).backward()
out = dict(theta=theta.grad)

# [case] underived_losses | losses whose gradient has no derivative
F = torch.nn.functional
x = torch.tensor([[0.1, 0.9, 0.3], [0.7, 0.2, 0.4]], requires_grad=True)
out = {}
for name, f in dict(margin=lambda: F.multi_margin_loss(x, torch.tensor([0, 2])), squared=lambda: F.multi_margin_loss(x, torch.tensor([0, 2]), p=2, weight=torch.tensor([1.0, 2.0, 0.5])), labels=lambda: F.multilabel_margin_loss(x, torch.tensor([[0, 2, -1], [1, -1, 0]]), reduction="sum")).items():
    (g,) = torch.autograd.grad(f(), x, create_graph=True)
    out[name] = (g, g.grad_fn.name(), [n.name() for n, _ in g.grad_fn.next_functions])
    try:
        g.sum().backward()
    except RuntimeError as e:
        out[name + "_error"] = e

# [case] prelu_slope_known | a constant slope: the gradient does not depend on the input, but its derivative is zero, not missing
x = torch.tensor([-1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad(torch.nn.functional.prelu(x, torch.tensor([0.25])).sum(), x, create_graph=True)
out = dict(g=g.detach(), again=torch.autograd.grad(g.sum(), x, allow_unused=True))
