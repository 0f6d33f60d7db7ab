# [group] relations

# [case] base_and_is_view | _base and _is_view of views, copies and leaves
b = torch.arange(6.0)
v = b.view(2, 3)
out = dict(base=v._base is b, isv=v._is_view(), leaf=b._is_view(), none=b._base, copy=(b + 0)._base, vv=v.t()._base is b, det=v.detach()._base, sel=v[0]._base is b, exp=b[:1].expand(3)._base is b, cont=v.contiguous() is v, tc=v.t().contiguous()._is_view())

# [case] base_of_view_of_result | views of computed tensors and of leaves that require grad
x = torch.arange(4.0, requires_grad=True)
h = x * 1
v, w = x[1:], h[1:]
out = dict(v=v._base is x, w=w._base is h, n=(v * 1)._base, vv=v[1:]._base is x, leaf=(v.is_leaf, w.is_leaf))

# [case] storage_relations | pointers, offsets and strides of views
b = torch.arange(12.0).reshape(3, 4)
v = b[1:, ::2]
out = dict(off=v.storage_offset(), stride=v.stride(), ptr=(v.data_ptr() - b.data_ptr()) == 16, same=b.t().data_ptr() == b.data_ptr(), cont=v.is_contiguous())

# [case] versions_shared | all views of one base share one counter
b = torch.zeros(4)
v, w = b[:2], b.view(2, 2)
v.add_(1)
w[1].mul_(2)
out = dict(b=b._version, v=v._version, w=w._version, c=b.clone()._version, vals=b)

# [group] write_through_view

# [case] view_write_rewrites_base | a write to a view changes the base's history
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = x * 1
v = b[:2]
v.mul_(10)
out = dict(b=b, v=v, base=b.grad_fn.name())
b.sum().backward()
out["g"] = x.grad

# [case] two_views_one_write | a write through one view is seen by another
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = x * 1
v, w = b[:2], b[1:]
v.mul_(5)
out = dict(w=w, name=w.grad_fn.name())
w.sum().backward()
out["g"] = x.grad

# [case] overlapping_writes_in_order | overlapping views written one after the other
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = x * 1
b[:2].mul_(2)
b[1:].mul_(3)
b[1] += 1
out = dict(b=b)
(b * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
out["g"] = x.grad

# [case] fill_and_zero_views | parts overwritten by constants lose their gradient
x = torch.arange(6.0).reshape(2, 3).requires_grad_()
b = x * 2
b[0].zero_()
b[:, 1].fill_(7.0)
b[1, 2:] = 5.0
out = dict(b=b)
b.sum().backward()
out["g"] = x.grad

# [case] value_needs_gradient_base_does_not | a differentiable value written into a plain base through a view of a view
x = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.zeros(2, 2, 2)
v = b[1]
v[0] = x
out = dict(b=b, v=v, leaf=(b.is_leaf, v.is_leaf))
(b * 3).sum().backward()
out["g"] = x.grad

# [case] loop_fill | a table filled row by row from earlier rows
x = torch.tensor([1.0, 2.0], requires_grad=True)
t = torch.zeros(4, 2)
t[0] = x
for i in range(1, 4):
    t[i] = t[i - 1].clone() * x
out = dict(t=t)
t.sum().backward()
out["g"] = x.grad

# [case] loop_fill_without_clone | the same without clone: a saved row is overwritten in the same storage
x = torch.tensor([1.0, 2.0], requires_grad=True)
t = torch.zeros(3, 2)
t[0] = x
for i in range(1, 3):
    t[i] = t[i - 1] * x
out = {}
try:
    t.sum().backward()
    out["g"] = x.grad
except RuntimeError as e:
    out["error"] = e

# [case] diagonal_and_expand_writes | writes through a diagonal; through narrow and select
x = torch.arange(9.0).reshape(3, 3).requires_grad_()
b = x * 1
b.diagonal().mul_(10)
b.narrow(0, 0, 1).zero_()
b.select(1, 2).add_(100)
out = dict(b=b)
b.sum().backward()
out["g"] = x.grad

# [group] regenerated_view

# [case] view_sees_new_base | a view made before a write to the base shows the new values and history
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = x * 1
v = b[1:]
b.pow_(2)
out = dict(v=v, name=v.grad_fn.name())
v.sum().backward()
out["g"] = x.grad

# [case] chain_of_views_after_write | a view of a view after a write through a third
x = torch.arange(4.0, requires_grad=True)
b = x * 1
v = b.view(2, 2)
w = v[0]
b[0] = 10.0
out = dict(w=w, names=(w.grad_fn.name(), v.grad_fn.name()))
w.sum().backward()
out["g"] = x.grad

# [case] view_result_used_before | a result computed before the write keeps the old values
x = torch.tensor([1.0, 2.0], requires_grad=True)
b = x * 1
v = b[:1]
y = v * 3
b.add_(10)
z = v * 3
out = dict(y=y, z=z)
(y + z).sum().backward()
out["g"] = x.grad

# [case] as_strided_next | the regenerated view's parent is the base's new history
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = x * 1
v = b[:2]
b.mul_(2)
fn = v.grad_fn
out = dict(name=fn.name(), parent=fn.next_functions[0][0] is b.grad_fn, pname=fn.next_functions[0][0].name(), nr=v.output_nr)

# [case] constant_view_joins | a view of a constant base becomes differentiable with its base
x = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.zeros(3)
v = b[:2]
before = (v.requires_grad, v.is_leaf)
b[1:] = x
out = dict(before=before, after=(v.requires_grad, v.is_leaf), v=v)
v.sum().backward()
out["g"] = x.grad

# [group] refused

# [case] unbind_outputs_written | outputs of unbind, split and chunk may not be written
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
out = {}
for name, f in dict(unbind=lambda b: b.unbind()[0], split=lambda b: b.split(1)[1], chunk=lambda b: b.chunk(2)[0], iter=lambda b: next(iter(b)), sws=lambda b: b.split([1, 1])[0], hs=lambda b: torch.hsplit(b, 2)[0]).items():
    b = x * 1
    try:
        f(b).mul_(2)
        out[name] = "ok"
    except RuntimeError as e:
        out[name] = e

# [case] constant_pieces_written | pieces of a plain tensor may be written by constants, not by differentiable values
x = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.zeros(2, 2)
p, q = b.unbind()
p.add_(1)
out = dict(b=b)
try:
    q.add_(x)
    out["q"] = q
except RuntimeError as e:
    out["error"] = e

# [case] no_grad_view_written | a view made under no_grad may not be written with grad mode on
x = torch.tensor([1.0, 2.0], requires_grad=True)
b = x * 1
c = torch.zeros(2)
with torch.no_grad():
    v = b[0:1]
    w = c[0:1]
out = {}
try:
    v.zero_()
except RuntimeError as e:
    out["v"] = e
w.add_(1)
try:
    w.add_(x[:1])
    out["w"] = w
except RuntimeError as e:
    out["w"] = e
with torch.no_grad():
    v.zero_()
out["b"] = b

# [case] leaf_views_refused | views of leaves that require grad, of every kind
x = torch.ones(2, 2, requires_grad=True)
out = {}
for name, f in dict(view=lambda: x.view(4), t=lambda: x.t(), sel=lambda: x[0], exp=lambda: x[:1], diag=lambda: x.diagonal(), vv=lambda: x.view(4)[1:], unb=lambda: x.unbind()[0], unsq=lambda: x.unsqueeze(0)).items():
    try:
        f().add_(1)
    except RuntimeError as e:
        out[name] = e

# [case] piece_after_base_write_in_place | using pieces after the base was written, and clones of pieces
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
b = x * 1
p, q = b.split(2)
c = p.clone()
c.mul_(3)
out = dict(c=c)
(c.sum() + q.sum()).backward()
out["g"] = x.grad

# [group] view_kinds

# [case] more_view_ops | further ops that are views, and that are not
b = torch.arange(8.0).reshape(2, 4)
views = dict(reshape=b.reshape(8), flatten=b.flatten(), unflatten=b.unflatten(1, (2, 2)), split=b.split(1)[0], unbind=b.unbind()[0], chunk=b.chunk(2, 1)[1], T=b.T, mT=b.mT, movedim=b.movedim(0, 1), unfold=b.unfold(1, 2, 2), astr=b.as_strided((2,), (4,)), expand_as=b[:, :1].expand_as(b), data=b.data, full=b[:], squeeze_none=b.squeeze(), bto=torch.broadcast_to(b, (3, 2, 4)), real=b.swapaxes(0, 1), ts=b.tensor_split(2, 1)[0], none=b[None], ravel=b.ravel())
copies = dict(tc=b.t().reshape(8), clone=b.clone(), to=b.to(torch.float64), cat=torch.cat([b]), tril=b.tril(), gather=b.gather(0, torch.zeros(1, 4, dtype=torch.int64)), take=b.take(torch.tensor([0])), sort=b.sort().values, pad=torch.nn.functional.pad(b, (0, 0)), where=torch.where(b > 0, b, b), cont=b.t().contiguous(), diag=torch.diag(b[:, :2]), tile=b.tile(1), masked=b.masked_select(b >= 0))
out = dict(views={k: v._is_view() for k, v in views.items()}, copies={k: v._is_view() for k, v in copies.items()})

# [case] view_flags_propagate | views inherit requires_grad; of constants they stay leaves
x = torch.arange(4.0, requires_grad=True)
c = torch.arange(4.0)
out = dict(x=[(t.requires_grad, t.is_leaf) for t in (x[0], x.view(2, 2), x.detach()[0])], c=[(t.requires_grad, t.is_leaf) for t in (c[0], c.view(2, 2))])
v = c[:2]
v.requires_grad_()
out["own"] = (v.requires_grad, c.requires_grad, v.is_leaf)

# [case] view_dtype | view with a dtype reinterprets the bits
b = torch.tensor([1.0, -2.0])
i = b.view(torch.int32)
out = dict(i=i, back=i.view(torch.float32), shares=i.data_ptr() == b.data_ptr())

# [case] parts_exchanged | parts of one tensor written into each other
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.tensor([1.0, 10.0, 100.0])
out = {}
def swapped(y):
    t = y[0].clone()
    y[0] = y[2]
    y[2] = t
def by_lists(y):
    y[[0, 2]] = y[[2, 0]]
def running(y):
    y[1:] += y[:-1]
def shifted(y):
    y[1:] = y[:-1].clone()
def scaled(y):
    y /= y.sum()
def cell(y):
    y[0].copy_(y[1])
for f in (swapped, by_lists, running, shifted, scaled, cell):
    y = x * 1
    try:
        f(y)
        out[f.__name__] = (y, y.grad_fn.name(), torch.autograd.grad((y * w).sum(), x))
    except RuntimeError as e:
        out[f.__name__] = e

# [case] deep_copies_of_memory | a deep copy copies memory as a whole: views in it share the copy, with their strides and offsets
import copy
import pickle
a = torch.arange(6.0)
kept = copy.deepcopy({"a": a, "part": a[2:5], "turned": a.view(2, 3).t(), "again": a})
kept["a"].mul_(10)
out = dict(kept, same=kept["a"] is kept["again"], stride=kept["turned"].stride(), offset=kept["part"].storage_offset(), source=a)
net = torch.nn.Linear(1, 1)
net.register_buffer("whole", torch.arange(3.0))
net.register_buffer("half", net.whole[1:])
twin = copy.deepcopy(net)
twin.whole.add_(5)
out["buffers"] = twin.half, net.half
x = torch.ones(2, requires_grad=True)
x.note, x.other = [1], torch.zeros(2)
x.itself = x
c = copy.deepcopy(x)
out["attributes"] = c.note, c.note is x.note, c.other is x.other, c.itself is c
del x.itself
p = torch.nn.Parameter(torch.ones(2))
p.note = 3
out["pickled"] = pickle.loads(pickle.dumps(x)).note, pickle.loads(pickle.dumps(p)).note

# [case] no_edge_of_a_hidden_view | a view made under no_grad has no gradient edge
x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    v = x[:2]
out = dict(v=v)
try:
    torch.autograd.graph.get_gradient_edge(v)
except AssertionError as e:
    out["e"] = e
