# [group] pack_unpack

# [case] count_and_order | pack is called at forward, unpack at backward
log = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append(("pack", t.tolist())), t)[1], lambda t: (log.append(("unpack", t.tolist())), t)[1]):
    y = (x * w).exp()
log.append("-")
y.sum().backward()
out = dict(log=log, x=x.grad, w=w.grad)

# [case] unpack_changes_gradient | what unpack returns is what backward uses
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t * 10):
    y = (x ** 2).sum()
y.backward()
out = dict(g=x.grad)

# [case] unpack_must_return_tensor | unpack must return a tensor
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
    y = x.exp().sum()
out = {}
try:
    y.backward()
except TypeError as e:
    out["error"] = e

# [case] unpack_on_access | reading _saved_ calls unpack each time
log = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (log.append("unpack"), t)[1]):
    y = x.exp()
y.grad_fn._saved_result
y.grad_fn._saved_result
y.sum().backward()
out = dict(n=len(log), g=x.grad)

# [case] retain_unpacks_again | a retained graph unpacks at every pass
log = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append("p"), t)[1], lambda t: (log.append("u"), t)[1]):
    y = x.sin().sum()
y.backward(retain_graph=True)
y.backward()
out = dict(log=log)

# [case] no_requires_no_pack | constants and no_grad save nothing
log = []
c = torch.tensor([1.0, 2.0])
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append("pack"), t)[1], lambda t: t):
    c.exp() * c
    with torch.no_grad():
        x.exp()
    x.detach().sin()
out = dict(log=log)

# [case] what_pack_sees | what the pack hook is given
seen = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
def pack(t):
    seen.append((t is x, t.requires_grad, t.grad_fn is None, tuple(t.shape)))
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    y = x.sin()
    z = y.exp()
    (z * x).sum()
out = dict(seen=seen)

# [group] nesting

# [case] nested_and_restored | after the inner block the outer hooks are back; after both none
log = []
H = torch.autograd.graph.saved_tensors_hooks
x = torch.tensor([1.0], requires_grad=True)
try:
    with H(lambda t: (log.append("outer"), t)[1], lambda t: t):
        with H(lambda t: (log.append("inner"), t)[1], lambda t: t):
            x.exp()
            raise ValueError
except ValueError:
    pass
x.exp()
log.append("end")
out = dict(log=log)

# [case] error_in_pack | an exception in pack reaches the caller
x = torch.tensor([1.0], requires_grad=True)
def pack(t):
    raise KeyError("no room")
out = {}
try:
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        x.exp()
except KeyError as e:
    out["error"] = e
out["after"] = x.exp()

# [case] error_in_unpack | and one in unpack at backward
x = torch.tensor([1.0], requires_grad=True)
def unpack(t):
    raise KeyError("lost")
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
    y = x.exp()
out = {}
try:
    y.backward()
except KeyError as e:
    out["error"] = e
out["g"] = x.grad

# [case] hooks_with_checkpoint | hooks around a checkpoint
log = []
x = torch.tensor([1.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append("pack"), t)[1], lambda t: (log.append("unpack"), t)[1]):
    y = torch.utils.checkpoint.checkpoint(lambda t: t.exp().sin(), x, use_reentrant=False)
y.backward()
out = dict(n=len(log), g=x.grad)

# [case] second_order_with_hooks | hooks and create_graph
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    y = (x ** 3).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
out = dict(g=g.detach(), g2=torch.autograd.grad(g.sum(), x)[0])

# [group] consequences

# [case] save_on_cpu | save_on_cpu changes nothing but the place
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.save_on_cpu():
    y = (x.exp() * x).sum()
y.backward()
out = dict(y=y.detach(), g=x.grad)

# [case] copies_survive_in_place | packed copies do not notice in-place changes
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
    y = (h ** 2).sum()
h.mul_(100)
y.backward()
out = dict(g=x.grad)

# [case] identity_hooks_and_in_place | hooks take over the version check: even identity hooks let a change pass
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    y = (h ** 2).sum()
h.mul_(100)
out = {}
try:
    y.backward()
    out["g"] = x.grad
except RuntimeError as e:
    out["error"] = e

# [case] allow_mutation | allow_mutation_on_saved_tensors keeps the originals
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    h = x * 1
    y = (h ** 2).sum() + h.exp().sum()
    h.mul_(0)
    y.backward()
out = dict(g=x.grad, h=h)

# [case] quantized_store | a hook that stores rounded integers
x = torch.tensor([1.04, 2.96], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(lambda t: (t * 10).round().to(torch.int32), lambda q: q.to(torch.float32) / 10):
    y = (x ** 2).sum()
y.backward()
out = dict(y=y.detach(), g=x.grad)

# [group] disabling

# [case] disabled_inside_hooks | disabling while hooks are active
x = torch.tensor([1.0], requires_grad=True)
out = {}
log = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append("pack"), t)[1], lambda t: t):
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks("not now"):
            x.exp()
            out["inside"] = "ok"
    except RuntimeError as e:
        out["error"] = e
out["log"] = log

# [case] disabled_decorator_and_nested | nested messages; save_on_cpu is refused too
x = torch.tensor([1.0], requires_grad=True)
D = torch.autograd.graph.disable_saved_tensors_hooks
out = {}
with D("outer message"):
    with D("inner message"):
        try:
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                pass
        except RuntimeError as e:
            out["inner"] = e
    try:
        with torch.autograd.graph.save_on_cpu():
            pass
    except RuntimeError as e:
        out["outer"] = e
out["free"] = (x * x).grad_fn is not None

# [case] packing_order | what comes out of an op beside its result is packed after the operands
log = []
def seen(f):
    log.clear()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append((t.dtype, tuple(t.shape), t.requires_grad)), t)[1], lambda t: t):
        f()
    return list(log)
F = torch.nn.functional
x = torch.arange(32.0).sin().reshape(1, 2, 4, 4).requires_grad_()
w = torch.ones(2, requires_grad=True)
out = dict(pool1=seen(lambda: F.max_pool1d(x[0], 2)), pool2=seen(lambda: F.max_pool2d(x, 2)), adaptive=seen(lambda: F.adaptive_max_pool2d(x, 2)), batch=seen(lambda: F.batch_norm(x, None, None, w, w, True)), layer=seen(lambda: F.layer_norm(x, (4,))), logsigmoid=seen(lambda: F.logsigmoid(x[0, 0])), median=seen(lambda: x.median(0)))

# [case] numbers_in_place | a number written in place is saved as a number: no hook sees it
log = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(mul=lambda: (x + 0).mul_(2), half=lambda: (x + 0).mul_(0.5), div=lambda: (x + 0).div_(4), floor=lambda: (x + 0).div_(2, rounding_mode="floor"), tensor=lambda: (x + 0).mul_(torch.tensor(2.0)), flag=lambda: x * True).items():
    log.clear()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (log.append(t.detach().clone()), t)[1], lambda t: t):
        y = f()
    out[name] = (list(log), y.grad_fn._saved_other, torch.autograd.grad(y.sum(), x))

# [case] results_in_place | a hook gets the result of an in-place operation as it is after the write, and last
F = torch.nn.functional
a = torch.tensor([[0.5, 1.25, 2.0]])
out = {}
for name, f in dict(exp=lambda y: y.exp_(), sqrt=lambda y: y.sqrt_(), elu=lambda y: F.elu_(y - 1), power=lambda y: y.pow_(torch.full((3,), 1.5)), row=lambda y: y[0].exp_(), twice=lambda y: y.sigmoid_().tanh_(), products=lambda y: y.cumprod_(1)).items():
    x = a.clone().requires_grad_()
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t.detach().clone()) or t.detach().numpy().copy(), torch.from_numpy):
        y = x.clone()
        f(y)
    y.sum().backward()
    out[name] = x.grad, seen if name != "elu" else None

# [case] hooks_that_are_none | what cannot be called is refused before anything is saved with it
x = torch.ones(2, requires_grad=True)
out = {}
for name, pair in dict(both=(3, 4), unpack=(lambda t: t, None)).items():
    try:
        torch.autograd.graph.saved_tensors_hooks(*pair).__enter__()
    except TypeError as e:
        out[name] = e
out["y"] = x * x
