# [group] freed

# [case] second_backward | a second backward through saved values is an error
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
y.backward()
out = {}
for name, f in dict(backward=lambda: y.backward(), grad=lambda: torch.autograd.grad(y, x), kept=lambda: y.backward(retain_graph=True)).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e
out["g"] = x.grad

# [case] grad_frees_too | autograd.grad frees the graph like backward
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp().sum()
torch.autograd.grad(y, x)
out = {}
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e
out["g"] = x.grad

# [case] which_ops_rerun | which single ops can be run twice
F = torch.nn.functional
x = torch.tensor([0.5, 2.0], requires_grad=True)
w = torch.tensor([1.0, 3.0])
out = {}
for name, f in dict(add=lambda: x + 1, sub=lambda: 1 - x, neg=lambda: -x, mulnum=lambda: x * 3, multensor=lambda: x * w, divnum=lambda: x / 2, pow=lambda: x ** 2, exp=lambda: x.exp(), sum=lambda: x.sum(), mean=lambda: x.mean(), max=lambda: x.max(), view=lambda: x.view(2, 1), idx=lambda: x[0], fancy=lambda: x[[0, 1]], cat=lambda: torch.cat([x, x]), relu=lambda: x.relu(), clamp=lambda: x.clamp(0, 1), where=lambda: torch.where(x > 1, x, w), clone=lambda: x.clone(), abs=lambda: x.abs(), sign=lambda: x.sign(), cumsum=lambda: x.cumsum(0), sort=lambda: x.sort().values, softmax=lambda: x.softmax(0), double=lambda: x.double(), flip=lambda: x.flip(0), addalpha=lambda: torch.add(x, x, alpha=2), mf=lambda: x.masked_fill(w > 2, 0.0), l1=lambda: F.l1_loss(x, w), stack=lambda: torch.stack([x, x]), lerp=lambda: torch.lerp(x, w, 0.5), square=lambda: x.square(), round=lambda: x.round(), tril=lambda: x.view(1, 2).tril(), gather=lambda: x.gather(0, torch.tensor([0]))).items():
    y = f().sum()
    y.backward()
    try:
        y.backward()
        out[name] = "ok"
    except RuntimeError:
        out[name] = "freed"

# [case] partly_freed | a pass that fails half way has freed what it ran
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
y = h.sin().sum()
def stop(g):
    raise ValueError("stop")
handle = h.register_hook(stop)
out = {}
try:
    y.backward()
except ValueError as e:
    out["first"] = e
handle.remove()
try:
    y.backward()
except RuntimeError as e:
    out["second"] = e
h.sum().backward()
out["g"] = x.grad

# [case] new_forward_each_time | a new forward pass each time needs nothing
w = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(3):
    (w * w).sum().backward()
out = dict(g=w.grad)

# [group] nothing_to_free

# [case] views_can_rerun | chains of views and sums
x = torch.arange(4.0, requires_grad=True)
y = x.view(2, 2).t()[0].sum() + x.flip(0)[:2].mean()
y.backward()
y.backward()
out = dict(g=x.grad)

# [case] leaf_root_reruns | a leaf as its own root any number of times
x = torch.tensor(1.0, requires_grad=True)
for _ in range(3):
    x.backward()
out = dict(g=x.grad)

# [case] custom_without_saved | a custom function that saves nothing
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
x = torch.tensor([1.0], requires_grad=True)
y = Twice.apply(x)
y.backward()
y.backward()
out = dict(g=x.grad)

# [case] plain_values_survive | plain saved values can be read after the pass, tensors cannot
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = (x ** 2.5)
s = y.sum(1)
s.sum().backward()
out = dict(exponent=y.grad_fn._saved_exponent, dim=s.grad_fn._saved_dim, keepdim=s.grad_fn._saved_keepdim)
try:
    y.grad_fn._saved_self
except RuntimeError as e:
    out["error"] = e

# [group] shared_parts

# [case] trunk_retained | two losses over one trunk, the first retaining
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * x
a, b = h.sum(), (h * 2).sum()
a.backward(retain_graph=True)
b.backward()
out = dict(g=x.grad)

# [case] sum_of_losses | or both at once
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
torch.autograd.backward([h.sum(), (h * 2).sum()])
out = dict(g=x.grad)

# [case] heads_are_separate | only the trunk is shared: the second head's own part runs before the error
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
h = x.exp()
a, b = h.sum(), (h * w).sum()
a.backward()
out = {}
try:
    b.backward()
except RuntimeError as e:
    out["error"] = e
out.update(x=x.grad, w=w.grad)

# [case] restricted_grad_keeps_below | autograd.grad to an intermediate frees only what it ran
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
y = (h * h).sum()
(g,) = torch.autograd.grad(y, h)
h.backward(g)
out = dict(g=g, x=x.grad)
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [case] detached_trunk | a detached trunk is not shared
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
h = (x * x)
a = h.sum()
b = (h.detach() * w).sum()
a.backward()
b.backward()
out = dict(x=x.grad, w=w.grad)

# [group] implied

# [case] create_graph_false_retain | create_graph without retaining
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
(g,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
out = dict(g=g)
for name, t in dict(again=y, second=g).items():
    try:
        out[name] = torch.autograd.grad(t, x)
    except RuntimeError as e:
        out[name] = e

# [case] hessian_rows_need_it | several gradients of a gradient need the graph kept
x = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
rows = [torch.autograd.grad(g[0], x, retain_graph=True)[0]]
rows.append(torch.autograd.grad(g[1], x)[0])
out = dict(rows=rows)
try:
    torch.autograd.grad(g[0], x)
except RuntimeError as e:
    out["error"] = e

# [case] rnn_without_detach | a recurrent state carried over batches
w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(1.0)
total = 0
for _ in range(3):
    h = torch.tanh(h * w)
    total = total + h
total.backward()
out = dict(g=w.grad)
try:
    (h * w).backward()
except RuntimeError as e:
    out["error"] = e

# [case] jacobian_loop | retain_graph for all rows but the last
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x ** 2 * x.flip(0)
rows = []
for i in range(2):
    e = torch.zeros(2)
    e[i] = 1
    rows.append(torch.autograd.grad(y, x, e, retain_graph=i == 0)[0])
out = dict(rows=rows)

# [group] after_free

# [case] custom_saved_after_free | saved_tensors of a custom node after the pass
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.note = 5
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
x = torch.tensor([3.0], requires_grad=True)
y = Sq.apply(x)
before = y.grad_fn.saved_tensors[0]
y.backward()
out = dict(before=before, note=y.grad_fn.note)
try:
    y.grad_fn.saved_tensors
except RuntimeError as e:
    out["error"] = e

# [case] freed_by_deleting_nothing | results and graph structure live on after the pass
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
y = h.sum()
y.backward()
z = (h * 2).sum()
out = dict(z=z, names=[z.grad_fn.name(), h.grad_fn.name()])
try:
    z.backward()
except RuntimeError as e:
    out["error"] = e

# [case] in_place_after_backward | after the pass saved values may be changed
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
y = (h * h).sum()
y.backward()
h.add_(1)
with torch.no_grad():
    x.add_(1)
out = dict(h=h, x=x, g=x.grad)

# [case] constants_save_nothing | a node of which no operand needs what it could save can run again
F = torch.nn.functional
one, eye = torch.ones(2), torch.eye(2)
out = {}
for name, f in dict(bias=lambda x: F.linear(eye, eye, x), addmm=lambda x: torch.addmm(x, eye, eye, beta=2), addmv=lambda x: torch.addmv(x, eye, one), addr=lambda x: torch.addr(x, one, one), baddbmm=lambda x: torch.baddbmm(x, eye[None], eye[None]), addcmul=lambda x: torch.addcmul(x, one, one), fmod=lambda x: torch.fmod(x, one), remainder=lambda x: x % one, product=lambda x: x * one, division=lambda x: x / one, index_add=lambda x: x.index_add(0, torch.tensor([0]), one[:1])).items():
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    y = f(x).sum()
    y.backward()
    try:
        y.backward()
        out[name] = x.grad
    except RuntimeError as e:
        out[name] = e
