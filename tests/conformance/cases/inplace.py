# [group] versions

# [case] each_write_counts | every in-place op counts one, also under no_grad
x = torch.zeros(3)
seen = [x._version]
for op in (lambda: x.add_(1), lambda: x.mul_(2), lambda: x.zero_(), lambda: x.fill_(3), lambda: x.copy_(torch.ones(3)), lambda: x.__setitem__(0, 5.0), lambda: x.clamp_(0, 1), lambda: x.exp_(), lambda: x.t_() if x.dim() > 2 else x.unsqueeze_(0), lambda: x.squeeze_()):
    op()
    seen.append(x._version)
with torch.no_grad():
    x += 1
seen.append(x._version)
out = dict(seen=seen)

# [case] results_start_at_zero | results of ops and copies have counters of their own
x = torch.zeros(2)
x.add_(1).add_(1)
out = dict(x=x._version, add=(x + 1)._version, clone=x.clone()._version, view=x.view(2, 1)._version, det=x.detach()._version, data=x.data._version, to=x.to(torch.float64)._version, ident=x.contiguous()._version)

# [case] optimizer_counts | an optimizer step counts as a write
w = torch.tensor([1.0], requires_grad=True)
w.grad = torch.tensor([1.0])
opt = torch.optim.SGD([w], lr=0.1)
opt.step()
out = dict(v=w._version >= 1, w=w)

# [case] out_counts | out= counts as a write
o = torch.zeros(2)
r = torch.add(torch.ones(2), torch.ones(2), out=o)
out = dict(v=o._version, same=r is o, o=o)

# [case] increment_version | a version can be bumped by hand
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
y = h * h
torch.autograd.graph.increment_version(h)
out = dict(v=h._version)
try:
    y.sum().backward()
except RuntimeError as e:
    out["error"] = e

# [group] leaf_rule

# [case] leaf_error | every in-place form on a leaf that requires grad
out = {}
for name, f in dict(add=lambda t: t.add_(1), iadd=lambda t: t.__iadd__(1), mul=lambda t: t.mul_(2), zero=lambda t: t.zero_(), copy=lambda t: t.copy_(torch.ones(2)), fill=lambda t: t.fill_(1), relu=lambda t: t.relu_(), clamp=lambda t: t.clamp_(0, 1)).items():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    try:
        f(x)
    except RuntimeError as e:
        out[name] = e

# [case] leaf_without_grad_joins | a constant leaf becomes part of the graph by an in-place op
x = torch.tensor([1.0, 2.0], requires_grad=True)
c = torch.ones(2)
c += x
out = dict(c=c, leaf=c.is_leaf)
c.sum().backward()
out["g"] = x.grad
try:
    c.requires_grad_(False)
except RuntimeError as e:
    out["error"] = e

# [case] parameter_update | updates of a leaf under no_grad and through .data
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w ** 2).sum().backward()
with torch.no_grad():
    w -= 0.1 * w.grad
w.data.sub_(1.0)
out = dict(w=w, leaf=w.is_leaf, version=w._version)

# [case] leaf_view_no_grad | a view of a leaf written under no_grad, and a leaf's detached alias
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with torch.no_grad():
    x[1:].mul_(10)
x.detach()[0] = -1.0
out = dict(x=x, version=x._version)

# [group] saved_modified

# [case] input_changed | functions that save their input notice a change of the input
x = torch.tensor([0.5, 2.0], requires_grad=True)
out = {}
for name in ["log", "sin", "abs", "square", "exp", "neg", "cos", "sigmoid", "rsqrt", "atan"]:
    h = x * 1
    y = getattr(h, name)()
    h.add_(1)
    try:
        y.sum().backward()
        out[name] = "ok"
    except RuntimeError as e:
        out[name] = e

# [case] message_names_the_op | the message names the op that wrote last
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(mul=lambda t: t.mul_(2), zero=lambda t: t.zero_(), item=lambda t: t.__setitem__(0, 1.0), copy=lambda t: t.copy_(x), exp=lambda t: t.exp_(), twice=lambda t: t.add_(1).add_(1)).items():
    h = x * 1
    y = h * h
    f(h)
    try:
        y.sum().backward()
    except RuntimeError as e:
        out[name] = str(e).split("which is ")[-1].split(";")[0]

# [case] matmul_operand_changed | the operands of a product
x = torch.ones(2, 2, requires_grad=True)
w = torch.ones(2, 2, requires_grad=True)
h = x * 1
y = h @ w
h.add_(1)
out = {}
try:
    y.sum().backward()
except RuntimeError as e:
    out["error"] = e
    out["tail"] = str(e).split("modified by an inplace operation: ")[1].split(". Hint")[0].replace("torch.FloatTensor", "T")

# [case] dtype_in_message | double and integer tensors in the message
x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
h = x * 1
y = h.exp() * h
h.add_(1)
out = {}
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e
i = torch.tensor([0, 1])
z = torch.tensor([1.0, 2.0], requires_grad=True)
y = z[i]
i.zero_()
try:
    y.sum().backward()
    out["g"] = z.grad
except RuntimeError as e:
    out["index"] = e

# [case] base_changed_through_view | a saved tensor changed through a view of it
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 1
y = h.exp().sum() + (h ** 2).sum()
h[0].mul_(5)
out = {}
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [case] view_saved_base_changed | a saved view and a write to its base elsewhere
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 1
y = (h[:1] ** 2).sum()
h[2:].zero_()
out = {}
try:
    y.backward()
    out["g"] = x.grad
except RuntimeError as e:
    out["error"] = e

# [case] result_changed_more | other functions that save their result
F = torch.nn.functional
x = torch.tensor([0.5, 2.0], requires_grad=True)
out = {}
for name, f in dict(softmax=lambda: x.softmax(0), logsm=lambda: x.log_softmax(0), rsqrt=lambda: x.rsqrt(), rec=lambda: x.reciprocal(), tan=lambda: x.tan(), expm1=lambda: x.expm1(), exp2=lambda: x.exp2(), norm=lambda: x.norm(), cumprod=lambda: x.cumprod(0), amax=lambda: x.amax(), prod=lambda: x.prod(), lse=lambda: x.logsumexp(0), max=lambda: x.max(), elu=lambda: F.elu(x), std=lambda: x.std()).items():
    y = f()
    y.add_(1)
    try:
        y.sum().backward()
        out[name] = "ok"
    except RuntimeError as e:
        out[name] = e

# [group] harmless

# [case] nothing_saved | ops that save nothing do not mind
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(add=lambda h: h + x, sub=lambda h: x - h, neg=lambda h: -h, sum=lambda h: h.sum(), mean=lambda h: h.mean(), view=lambda h: h.view(2, 1) * 1, cat=lambda h: torch.cat([h, h]), mulnum=lambda h: h * 3, divnum=lambda h: h / 2, clone=lambda h: h.clone(), where=lambda h: torch.where(torch.tensor([True, False]), h, x), pow1=lambda h: h ** 1, stack=lambda h: torch.stack([h, h])).items():
    h = x * 1
    y = f(h)
    h.add_(5)
    try:
        (g,) = torch.autograd.grad(y.sum(), x)
        out[name] = g
    except RuntimeError as e:
        out[name] = e

# [case] divided_operand | a numerator is not needed when the divisor is constant; a divisor always is
x = torch.tensor([1.0, 2.0], requires_grad=True)
k = torch.tensor([3.0, 4.0])
out = {}
for name, f in dict(num=lambda h: h / k, den=lambda h: k / h).items():
    h = x * 1
    y = f(h)
    h.add_(1)
    try:
        y.sum().backward()
        out[name] = "ok"
    except RuntimeError as e:
        out[name] = e
y = x / k
k.add_(1)
try:
    y.sum().backward()
except RuntimeError as e:
    out["const"] = e

# [case] relu_in_place | relu_ in a chain, the memory saver
F = torch.nn.functional
w = torch.tensor([1.0, -2.0], requires_grad=True)
h = F.relu(w * 3, inplace=True)
y = (h * 2).sum()
y.backward()
out = dict(h=h, g=w.grad, m=torch.nn.ReLU(inplace=True)(torch.tensor([-1.0, 1.0])))

# [case] tanh_then_add | a change after the node that needs the value was already run is fine
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.tanh()
h2 = h + 1
h2.mul_(3)
h2.sum().backward()
out = dict(g=x.grad)

# [case] write_before_use | writes before the saving are harmless
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.add_(1).mul_(2)
y = h * h
y.sum().backward()
out = dict(g=x.grad, v=h._version)

# [group] own_rules

# [case] in_place_chain | a chain of in-place ops and its gradient
x = torch.tensor([1.0, 2.0], requires_grad=True)
k = torch.tensor([2.0, 4.0], requires_grad=True)
y = x * 1
y.add_(k, alpha=2).mul_(3).sub_(k).div_(2).neg_()
y.sum().backward()
out = dict(y=y, x=x.grad, k=k.grad)

# [case] in_place_functions | exp_, sqrt_, tanh_, sigmoid_, reciprocal_, abs_, sin_
x = torch.tensor([0.25, 0.5], requires_grad=True)
out = {}
for name in ["exp_", "sqrt_", "tanh_", "sigmoid_", "reciprocal_", "abs_", "sin_", "log_", "rsqrt_", "square_", "floor_", "round_", "relu_", "cos_"]:
    y = x * 2
    try:
        getattr(y, name)()
        (g,) = torch.autograd.grad(y.sum(), x)
        out[name] = (y.detach(), g)
    except RuntimeError as e:
        out[name] = e

# [case] div_by_itself | y.div_(y), y.add_(y), y.sub_(y)
x = torch.tensor([2.0, 4.0], requires_grad=True)
out = {}
for name in ["div_", "add_", "sub_", "copy_", "pow_"]:
    y = x * 1
    try:
        getattr(y, name)(y)
        out[name] = (y.detach(), torch.autograd.grad(y.sum(), x)[0])
    except RuntimeError as e:
        out[name] = e

# [case] copy_and_fill | copy_ hands the gradient to its source, fill_ and zero_ cut it
x = torch.tensor([1.0, 2.0], requires_grad=True)
s = torch.tensor([3.0], requires_grad=True)
y = x * 1
y.copy_(s)
z = x * 1
z.zero_()
w = x * 1
w.fill_(s[0].detach())
(y + z + w).sum().backward()
out = dict(y=y, z=z, w=w, x=x.grad, s=s.grad)

# [case] swap_and_set | transposing, squeezing and resizing in place
x = torch.arange(6.0).reshape(1, 2, 3).requires_grad_()
y = x * 1
y.squeeze_(0)
y.t_()
y.unsqueeze_(-1)
out = dict(shape=y.shape, name=y.grad_fn.name(), version=y._version)
y[0].sum().backward()
out["g"] = x.grad

# [case] scatter_and_index_inplace | scatter_, scatter_add_, index_fill_ on a computed tensor
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
s = torch.tensor([10.0, 20.0], requires_grad=True)
i = torch.tensor([0, 2])
a = (x * 1).scatter_(0, i, s)
b = (x * 1).scatter_add_(0, i, s)
c = (x * 1).index_fill_(0, i, 7.0)
(a + 10 * b + 100 * c).sum().backward()
out = dict(a=a, b=b, c=c, x=x.grad, s=s.grad)

# [case] tril_and_diag_fill | tril_, fill_diagonal_, triu_
x = torch.ones(2, 2, requires_grad=True)
y = (x * 3).tril_()
z = (x * 2).fill_diagonal_(9.0)
(y + z * 10).sum().backward()
out = dict(y=y, z=z, g=x.grad)

# [group] shapes_and_types

# [case] inplace_type_errors | results that do not fit the target's type
out = {}
i = torch.tensor([1, 2])
for name, f in dict(exp=lambda: i.exp_(), tdiv=lambda: i.__itruediv__(2), mulf=lambda: i.mul_(1.5), addt=lambda: i.add_(torch.tensor(1.5)), sqrt=lambda: i.sqrt_(), clamp=lambda: i.clamp_(0.5, 1.5), pow=lambda: i.pow_(-1)).items():
    try:
        out[name] = f()
    except RuntimeError as e:
        out[name] = e
i.copy_(torch.tensor([5.9, -5.9]))
out["copy"] = i

# [case] inplace_shape_errors | operands larger than the target
a = torch.ones(3)
out = {}
for name, f in dict(mul=lambda: a.mul_(torch.ones(2, 3)), sub=lambda: a.sub_(torch.ones(4)), copy=lambda: a.copy_(torch.ones(2)), iadd=lambda: a.__iadd__(torch.ones(1, 3)), clamp=lambda: a.clamp_(torch.zeros(2, 3)), mf=lambda: a.masked_fill_(torch.ones(2, 3, dtype=torch.bool), 0.0), addmm=lambda: torch.ones(2, 3).addmm_(torch.ones(2, 2), torch.ones(2, 2))).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e
out["a"] = a

# [case] overlapping_writes | overlapping memory: expanded targets and shifted copies
e = torch.zeros(3, 1).expand(3, 2)
out = {}
for name, f in dict(mul=lambda: e.mul_(2), fill=lambda: e.fill_(1.0), zero=lambda: e.zero_(), setitem=lambda: e.__setitem__(0, 1.0), copy=lambda: e.copy_(torch.ones(3, 2))).items():
    try:
        f()
        out[name] = "ok"
    except RuntimeError as err:
        out[name] = err
b = torch.arange(4.0)
try:
    b[1:].add_(b[:-1])
    out["shift"] = b
except RuntimeError as err:
    out["shift"] = err

# [case] double_operand_inplace | a double operand in an in-place op on floats: gradients in each dtype
x = torch.tensor([1.0, 2.0], requires_grad=True)
d = torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)
y = x * 1
y.mul_(d)
y.sum().backward()
out = dict(y=y, x=x.grad, d=d.grad)

# [case] returns_self | in-place ops return the very tensor
x = torch.ones(2)
y = x
y += 1
out = dict(add=x.add_(1) is x, iadd=y is x, clamp=x.clamp_(0, 1) is x, zero=x.zero_() is x, req=x.requires_grad_() is x, copy=torch.zeros(2).copy_(x).shape)

# [case] numbers_among_tensors | the old forms with a number among the tensors
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * 1).add_(2, x)
y.addcmul_(3, x, x)
y.addcdiv_(-1, x, torch.tensor([2.0, 4.0]))
y.sum().backward()
out = dict(y=y, g=x.grad, plain=x.add(1, 2))

# [case] copied_into_integers | what is copied into whole numbers or booleans leaves its history behind
x = torch.tensor([1.5, 0.0], requires_grad=True)
out = {}
for dtype in (torch.int64, torch.uint8, torch.bool):
    whole = torch.zeros(2, dtype=dtype)
    rows = torch.zeros(2, 2, dtype=dtype)
    rows[0] = x
    rows[1, 0] = x[0]
    cell = torch.zeros(2, 2, dtype=dtype)
    cell[:, 1].copy_(x)
    out[str(dtype)] = (whole.copy_(x), rows, cell)

# [case] written_by_itself | of an operand that its own operation overwrote the message names the history it has since
x = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
out = {}
for name, write in dict(mul=lambda y: y.mul_(y), atan2=lambda y: y.atan2_(y), power=lambda y: y.pow_(y), fused=lambda y: y.addcmul_(y, y), part=lambda y: y[:2].mul_(y[:2]), later=lambda y: y.mul_(y).neg_()).items():
    y = x.exp()
    write(y)
    try:
        y.sum().backward()
    except RuntimeError as e:
        out[name] = str(e)[100:200]
