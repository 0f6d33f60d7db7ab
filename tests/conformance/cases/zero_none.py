# [group] never_reached

# [case] unused_leaf_is_none | a leaf that takes no part keeps None
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([2.0], requires_grad=True)
h = w * 3
(x * 2).backward()
out = dict(x=x.grad, w=w.grad)

# [case] other_branch_is_none | only the branch that was taken is reached
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = torch.tensor([3.0], requires_grad=True)
b = torch.tensor([4.0], requires_grad=True)
y = (x * a).sum() if x.sum() > 2 else (x * b).sum()
y.backward()
out = dict(a=a.grad, b=b.grad, x=x.grad)

# [case] through_comparison_is_none | a leaf used only in a comparison or an index
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([5.0, 6.0], requires_grad=True)
((x > 1) * w).sum().backward()
w.grad = None
out = dict(x=x.grad, idx=torch.autograd.grad(w[x.argmax()], [w, x], allow_unused=True))

# [case] frozen_leaf_is_none | a leaf frozen before use keeps None
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([2.0], requires_grad=True)
w.requires_grad_(False)
(x * w).backward()
out = dict(x=x.grad, w=w.grad)

# [case] no_grad_path_is_none | a leaf used under no_grad only
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([2.0], requires_grad=True)
with torch.no_grad():
    s = w * 5
(x * s).backward()
out = dict(x=x.grad, w=w.grad)

# [group] zeros_not_none

# [case] unused_elements | elements that take no part have zeros
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x[1].backward()
out = dict(g=x.grad)

# [case] unused_pieces | unused pieces of split and of several outputs
x = torch.arange(4.0, requires_grad=True)
a, b = x.split(2)
calls = []
b.register_hook(lambda g: calls.append(g))
a.sum().backward()
v = torch.tensor([[1.0, 2.0]], requires_grad=True)
var, mean = torch.var_mean(v)
mean.backward()
out = dict(g=x.grad, calls=calls, v=v.grad)

# [case] multiply_by_mask | masked elements get zeros
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
m = torch.tensor([1.0, 0.0, 1.0])
(x * m).sum().backward()
out = dict(g=x.grad)

# [case] saturated_functions | zero slopes: relu, clamp, hardtanh, floor division
F = torch.nn.functional
out = {}
for name, f in dict(relu=lambda t: t.relu(), clamp=lambda t: t.clamp(0, 1), ht=F.hardtanh, trunc=lambda t: t.trunc(), floor=lambda t: torch.div(t, 2, rounding_mode="floor"), sign=torch.sign, ceil=torch.ceil, thr=lambda t: F.threshold(t, 0, 1), hv=lambda t: (t - t.round())).items():
    x = torch.tensor([-3.0, 0.25, 5.0], requires_grad=True)
    f(x).sum().backward()
    out[name] = x.grad

# [case] self_difference | x - x has a gradient of zeros, x * 0 too, x ** 0 too
out = {}
for name, f in dict(diff=lambda t: t - t, zero=lambda t: t * 0, pow0=lambda t: t ** 0, ratio=lambda t: t / t).items():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f(x).sum().backward()
    out[name] = x.grad

# [case] zero_upstream | a gradient of zeros passed in
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x).backward(torch.zeros(2))
out = dict(g=x.grad)

# [case] overwritten_values | values overwritten in place leave zeros behind
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
y[0] = 0.0
z = x * 1
z.zero_()
(y.sum() + z.sum()).backward()
out = dict(g=x.grad)
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = w * 1
v.fill_(3.0)
v.sum().backward()
out["w"] = w.grad

# [group] dead_branches

# [case] where_nan_trap | where does not stop a nan of the branch not taken
x = torch.tensor([0.0, 1.0], requires_grad=True)
torch.where(x > 0, x.log(), torch.zeros_like(x)).sum().backward()
a = x.grad
x.grad = None
safe = torch.where(x > 0, x, torch.ones_like(x))
torch.where(x > 0, safe.log(), torch.zeros_like(x)).sum().backward()
out = dict(trap=a, safe=x.grad)

# [case] max_losers | losers of a maximum get zeros
x = torch.tensor([[1.0, 5.0], [4.0, 2.0]], requires_grad=True)
x.max(1).values.sum().backward()
a = torch.tensor([1.0, 3.0], requires_grad=True)
b = torch.tensor([2.0, 2.0], requires_grad=True)
torch.maximum(a, b).sum().backward()
out = dict(x=x.grad, a=a.grad, b=b.grad)

# [case] masked_softmax | masked logits get zero gradient
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
m = torch.tensor([False, False, True])
y = x.masked_fill(m, -float("inf")).softmax(0)
y[0].backward()
out = dict(y=y, g=x.grad)

# [case] zero_times_infinity_forms | zero upstream against infinite slopes
out = {}
for name, f in dict(sqrt=torch.sqrt, log=torch.log, rec=torch.reciprocal, rsqrt=torch.rsqrt, acos=lambda t: torch.acos(t + 1), norm=lambda t: t.norm(), powh=lambda t: t ** 0.5, xlogx=lambda t: t * t.log()).items():
    x = torch.tensor([0.0], requires_grad=True)
    (f(x) * 0).sum().backward()
    out[name] = x.grad

# [group] resetting

# [case] zero_in_place | zero_() keeps the tensor
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
held = x.grad
x.grad.zero_()
(x * 3).sum().backward()
out = dict(held=held, same=held is x.grad)

# [case] assigned_then_added | a gradient assigned anew is added to in place
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
mine = torch.tensor([5.0, 5.0])
x.grad = mine
x.sum().backward()
out = dict(mine=mine, same=x.grad is mine)

# [case] del_grad | deleting .grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
del x.grad
out = dict(none=x.grad)
x.sum().backward()
out["again"] = x.grad

# [case] grad_detached_from_reset | a clone of .grad survives a reset in place
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
c, d, a = x.grad.clone(), x.grad.detach(), x.grad
x.grad.zero_()
out = dict(c=c, d=d, a=a)

# [group] custom_none

# [case] none_for_one_input | None for one input, a gradient for the other
class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b
    @staticmethod
    def backward(ctx, g):
        return g * 2, None
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
First.apply(a, b).backward()
out = dict(a=a.grad, b=b.grad)

# [case] none_and_another_path | None on one path, a gradient on the other
class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return None
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
(Stop.apply(h) + h * 5).sum().backward()
out = dict(g=x.grad)

# [case] only_none_below | a leaf that gets nothing but None stays None, though its post hook runs
class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return None
x = torch.tensor([1.0, 2.0], requires_grad=True)
posts = []
x.register_post_accumulate_grad_hook(lambda p: posts.append("post"))
(Stop.apply(x.exp())).sum().backward()
out = dict(g=x.grad, posts=posts)

# [case] unused_custom_output_none | without materialized zeros an unused output's gradient is None
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3
    @staticmethod
    def backward(ctx, g, h):
        seen.append((g is None, h is None))
        return g
seen = []
x = torch.tensor([1.0], requires_grad=True)
a, b = Two.apply(x)
b.backward()
a.backward()
out = dict(seen=seen, g=x.grad)

# [case] none_into_cat_and_stack | None upstream of cat and select counts as zeros
class Stop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 1
    @staticmethod
    def backward(ctx, g):
        return None
x = torch.tensor([1.0, 2.0], requires_grad=True)
a, b = x.split(1)
(Stop.apply(a) + b).sum().backward()
out = dict(g=x.grad)
