# [group] creation

# [case] requires_grad_keyword | factories with requires_grad
out = dict(t=torch.tensor([1.0], requires_grad=True), o=torch.ones(2, requires_grad=True), f=torch.full((1,), 2.0, requires_grad=True), e=torch.eye(2, requires_grad=True), a=torch.arange(0.0, 2.0, requires_grad=True), l=torch.linspace(0, 1, 2, requires_grad=True), z=torch.zeros(1, dtype=torch.float64, requires_grad=True))

# [case] shape_arguments | sizes as numbers, tuples and Size; new_* and like forms
x = torch.ones(2, 3, dtype=torch.float64)
out = dict(a=torch.ones(2, 3).shape, b=torch.zeros((2, 3)).shape, c=torch.empty(torch.Size([1, 2])).shape, nf=x.new_full((2,), 3), no=x.new_ones(1), ne=x.new_empty(0, 2).shape, nt=x.new_tensor([1, 2]), zl=torch.zeros_like(x, dtype=torch.int64), el=torch.empty_like(x).dtype, fl=torch.full_like(x, 2))

# [case] parameter_is_leaf | Parameters require gradients by default
p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
q = torch.nn.Parameter(torch.tensor([1.0]), requires_grad=False)
out = dict(p=(p.requires_grad, p.is_leaf, type(p).__name__, isinstance(p, torch.Tensor)), q=q.requires_grad, mul=type(p * 2).__name__, y=p * 2, det=type(p.detach()).__name__, isp=isinstance(p, torch.nn.Parameter))

# [case] legacy_constructors | torch.Tensor and friends
out = dict(t=torch.Tensor([1, 2]), shape=torch.Tensor(2, 3).shape, f=torch.FloatTensor([1.5]), l=torch.LongTensor([1, 2]), e=torch.Tensor().shape)

# [group] propagation

# [case] any_input_is_enough | one differentiable operand makes the result differentiable
x = torch.tensor([1.0], requires_grad=True)
c = torch.tensor([2.0])
out = dict(a=x + c, b=c * c, d=torch.cat([c, x]), e=torch.where(torch.tensor([True]), c, c), f=torch.stack([c, c]), g=c @ x, h=torch.maximum(c, x))

# [case] derived_flags | flags along a chain with a detach in the middle
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x * 2
b = a.detach()
c = b * 3
d = c * x
out = {k: (t.requires_grad, t.is_leaf) for k, t in dict(x=x, a=a, b=b, c=c, d=d).items()}

# [case] integral_functions | argmax, sort indices, comparisons, floor to int
x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
out = dict(am=x.argmin(), ars=x.argsort(), si=x.sort().indices, sv=x.sort().values, tk=x.topk(2).indices, ne=x != 2, lo=torch.logical_not(x), fi=torch.isfinite(x), ss=torch.searchsorted(torch.tensor([1.0, 2.0]), x.detach()), un=torch.unique(torch.tensor([3, 1, 3])), bc=torch.bincount(torch.tensor([0, 1, 1])), il=torch.floor(x).int(), cl=torch.isclose(x, x), s=torch.sign(x))

# [case] like_random_free | results of *_like and new_* on computed tensors are leaves
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
out = dict(z=torch.zeros_like(h), n=h.new_ones(2), o=torch.ones_like(h, requires_grad=True), e=torch.empty_like(h).is_leaf)

# [group] flags

# [case] off_for_nonleaf | a computed tensor's flag cannot be assigned
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
out = {}
for name, f in dict(on=lambda: setattr(y, "requires_grad", True), same=lambda: y.requires_grad_(), attr=lambda: setattr(y, "requires_grad", False), method=lambda: y.requires_grad_(False)).items():
    try:
        f()
        out[name] = y.requires_grad
    except RuntimeError as e:
        out[name] = e

# [case] flag_on_after_use | a flag set later does not reach results made before
w = torch.tensor([1.0, 2.0])
y = w * 3
w.requires_grad_()
z = w * 3
out = dict(y=y, z=z)
try:
    y.sum().backward()
except RuntimeError as e:
    out["error"] = e

# [case] read_only_attributes | grad_fn, is_leaf and shape cannot be assigned
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, v in dict(is_leaf=False, grad_fn=None, shape=(2, 1), _version=3, output_nr=1).items():
    try:
        setattr(x, name, v)
    except (AttributeError, RuntimeError) as e:
        out[name] = type(e).__name__
x.my_note = "kept"
out["note"] = x.my_note

# [case] freeze_keeps_grad | switching the flag off keeps the gradient
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
w.requires_grad_(False)
out = dict(w=w, g=w.grad)
w.requires_grad_(True)
w.sum().backward()
out["again"] = w.grad

# [case] flag_type_error | the flag must be a bool
x = torch.ones(2)
out = {}
try:
    x.requires_grad = 1
except (TypeError, RuntimeError) as e:
    out["int"] = e
try:
    x.requires_grad_("yes")
except (TypeError, RuntimeError) as e:
    out["text"] = type(e).__name__
out["x"] = x.requires_grad

# [group] copies

# [case] clone_keeps_requires | clone of a leaf is no leaf; of a constant it is
x = torch.tensor([1.0, 2.0], requires_grad=True)
c = torch.tensor([1.0, 2.0])
out = dict(cx=x.clone(), cc=c.clone(), dx=x.clone().detach(), ptr=x.clone().data_ptr() == x.data_ptr())

# [case] deepcopy_of_leaf | deepcopy of leaves keeps flags and gradient; of a result it is an error
import copy
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
d = copy.deepcopy(x)
d.data[0] = 9.0
out = dict(d=d, g=d.grad, x=x, same=d is x)
try:
    copy.deepcopy(x * 2)
except RuntimeError as e:
    out["error"] = e

# [case] shallow_copy | copy.copy shares memory
import copy
x = torch.tensor([1.0, 2.0], requires_grad=True)
s = copy.copy(x)
with torch.no_grad():
    s[0] = 5.0
out = dict(x=x, s=s, same=s is x)

# [case] no_op_conversions | conversions that change nothing return the same object
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = dict(type_as=x.type_as(x) is x, cpu=x.cpu() is x, to=x.to(x) is x, exp=x.expand(2) is x, resh=x.reshape(2) is x, view=x.view(2) is x, clone=x.clone() is x, det=x.detach() is x, sq=x.squeeze() is x, flat=x.flatten() is x, pos=(+x) is x)

# [group] grad_attribute

# [case] grad_shape_checked | wrong shapes are refused; right ones are kept as given
x = torch.tensor([1.0, 2.0], requires_grad=True)
g = torch.tensor([5.0, 6.0])
x.grad = g
out = dict(same=x.grad is g)
try:
    x.grad = torch.ones(2, 1)
except RuntimeError as e:
    out["shape"] = e
del x.grad
out["deleted"] = x.grad

# [case] grad_of_constant | a constant can carry a .grad too
c = torch.tensor([1.0, 2.0])
c.grad = torch.tensor([3.0, 4.0])
out = dict(c=c, g=c.grad)

# [case] grad_is_plain | the accumulated gradient is a constant leaf of the leaf's shape
x = torch.tensor([[1.0], [2.0]], requires_grad=True)
(x * torch.ones(2, 3)).sum().backward()
out = dict(g=x.grad, leaf=x.grad.is_leaf, fn=x.grad.grad_fn, gg=x.grad.grad)

# [case] text_as_grad | other types as .grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, v in dict(text="g", arr=np.ones(2), lst=[1.0, 2.0], zero=0).items():
    try:
        x.grad = v
    except TypeError as e:
        out[name] = e

# [group] becoming_nonleaf

# [case] in_place_on_constant | a constant written with a differentiable value is no leaf any more
x = torch.tensor([1.0, 2.0], requires_grad=True)
c = torch.zeros(2)
before = (c.is_leaf, c.requires_grad)
c.add_(x)
out = dict(before=before, after=(c.is_leaf, c.requires_grad), c=c)

# [case] output_nr_of_others | the output numbers of split, max, sort and var_mean
x = torch.tensor([[4.0, 2.0], [1.0, 3.0]], requires_grad=True)
p, q = x.split(1)
m = x.max(1)
s = x.sort(1)
v, mu = torch.var_mean(x, 1)
out = dict(split=(p.output_nr, q.output_nr), max=(m.values.output_nr, m.indices.output_nr), sort=(s[0].output_nr,), vm=(v.output_nr, mu.output_nr), same=v.grad_fn is mu.grad_fn, names=(type(m).__name__, m._fields if hasattr(m, "_fields") else None))

# [case] backward_on_plain_leaf | a constant leaf has nothing to go back to
c = torch.tensor(2.0)
out = {}
try:
    c.backward()
except RuntimeError as e:
    out["error"] = e
try:
    (c * 2).backward()
except RuntimeError as e:
    out["result"] = e

# [case] leaf_after_detach_ | detach_ makes a leaf of a result, requires_grad_ starts anew
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = (x * 2).detach_().requires_grad_()
(h * h).sum().backward()
out = dict(h=h, hg=h.grad, x=x.grad)

# [case] flags_and_types | requires_grad is a bool and dtype a torch.dtype
out = {}
for name, f in dict(number=lambda: torch.tensor([1.0], requires_grad=1), text=lambda: torch.tensor([1.0], requires_grad="yes"), numpy=lambda: torch.tensor([1.0], dtype=np.float32), python=lambda: torch.tensor([1.0], dtype=float), word=lambda: torch.set_default_dtype(d=torch.float64), edge=lambda: torch.autograd.graph.get_gradient_edge(3)).items():
    try:
        out[name] = f()
    except Exception as e:
        out[name] = e
