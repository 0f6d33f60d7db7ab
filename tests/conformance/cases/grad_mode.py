# [group] no_grad

# [case] results_are_constants | nothing computed inside requires grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    y = x * 2
    v = x[0]
    w = x.view(2, 1)
    z = x.detach()
    c = x.clone()
out = dict(y=y, v=v, w=w, z=z, c=c, x=x)

# [case] leaf_update_inside | in-place updates of leaves are allowed inside
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    x -= 0.5
    x[0] = 9.0
    x.mul_(2)
out = dict(x=x, version=x._version)

# [case] view_made_inside_written_outside | a view made in no_grad may not be written outside
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
with torch.no_grad():
    v = x[:1]
    u = h[:1]
out = dict(v=v, u=u)
for name, t in dict(leaf=v, nonleaf=u).items():
    try:
        t.mul_(2)
    except RuntimeError as e:
        out[name] = e

# [case] in_place_inside_no_grad | an in-place op inside no_grad keeps grad_fn and bumps the version
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
with torch.no_grad():
    h.mul_(10)
out = dict(h=h, version=h._version)
h.sum().backward()
out["g"] = x.grad

# [case] requires_grad_inside | requires_grad of a result can be switched on inside
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    y = (x * 2).requires_grad_()
(y * y).sum().backward()
out = dict(y=y, yg=y.grad, xg=x.grad)

# [case] detach_and_backward_error | a loss computed inside cannot be differentiated
x = torch.tensor(2.0, requires_grad=True)
out = {}
with torch.no_grad():
    y = x * x
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [case] out_argument | out= refuses tensors that require grad, except in no_grad
a = torch.ones(2, requires_grad=True)
o = torch.zeros(2)
out = {}
try:
    torch.add(a, 1, out=o)
except RuntimeError as e:
    out["error"] = e
with torch.no_grad():
    torch.mul(a, 5, out=o)
out["o"] = o

# [group] nesting

# [case] enable_inside_no_grad | enable_grad inside no_grad records again
x = torch.tensor([1.0], requires_grad=True)
seen = []
with torch.no_grad():
    seen.append(torch.is_grad_enabled())
    with torch.enable_grad():
        seen.append(torch.is_grad_enabled())
        y = x * 2
    seen.append(torch.is_grad_enabled())
    z = y * 3
out = dict(seen=seen, y=y, z=z)

# [case] same_object_twice | one no_grad object used twice and nested in itself
ng = torch.no_grad()
seen = []
with ng:
    seen.append(torch.is_grad_enabled())
seen.append(torch.is_grad_enabled())
with ng:
    with ng:
        pass
    seen.append(torch.is_grad_enabled())
seen.append(torch.is_grad_enabled())
torch.set_grad_enabled(True)
out = dict(seen=seen)

# [case] yields_nothing | what `as` gives
with torch.no_grad() as a:
    pass
with torch.enable_grad() as b:
    pass
with torch.set_grad_enabled(True) as c:
    pass
out = dict(a=a, b=b, c=c, mode=torch.is_grad_enabled())

# [group] set_grad_enabled

# [case] as_function | a plain call switches for good
x = torch.tensor([1.0], requires_grad=True)
torch.set_grad_enabled(False)
y = x * 2
torch.set_grad_enabled(True)
z = x * 2
out = dict(y=y, z=z)

# [case] as_decorator | as a decorator it acts in the function only
@torch.set_grad_enabled(False)
def f(x):
    return x * 2
on = torch.is_grad_enabled()
x = torch.tensor([1.0], requires_grad=True)
@torch.set_grad_enabled(True)
def g(x):
    return x * 3
with torch.no_grad():
    inner = g(x)
out = dict(on=on, f=f(x), g=inner, after=torch.is_grad_enabled())

# [case] conditional_mode | the training / evaluation switch
x = torch.tensor([1.0], requires_grad=True)
res = []
for train in (True, False):
    with torch.set_grad_enabled(train):
        res.append((x * 2).requires_grad)
out = dict(res=res)

# [group] decorators

# [case] enable_grad_decorator | enable_grad as a decorator inside no_grad
@torch.enable_grad()
def f(x):
    return x * 2
x = torch.tensor([1.0], requires_grad=True)
with torch.no_grad():
    y = f(x)
    after = torch.is_grad_enabled()
out = dict(y=y, after=after)

# [case] decorated_method_and_error | a decorated method; the mode is restored after an error
class A:
    @torch.no_grad()
    def step(self, x):
        if x.item() > 1:
            raise ValueError("too big")
        return x * 2
x = torch.tensor([1.0], requires_grad=True)
out = dict(y=A().step(x))
try:
    A().step(x * 2)
except ValueError as e:
    out["error"] = e
out["on"] = torch.is_grad_enabled()

# [case] generator_send_and_close | send, throw and close pass through a decorated generator
log = []
@torch.no_grad()
def gen():
    try:
        while True:
            try:
                got = yield torch.is_grad_enabled()
                log.append(("got", got, torch.is_grad_enabled()))
            except KeyError:
                log.append(("thrown", torch.is_grad_enabled()))
    finally:
        log.append(("closed", torch.is_grad_enabled()))
g = gen()
first = next(g)
second = g.send("hello")
third = g.throw(KeyError("k"))
on = torch.is_grad_enabled()
g.close()
out = dict(seen=(first, second, third), on=on, log=log)

# [case] undecorated_generator_leaks | a with block inside a generator leaks its mode while paused
def gen():
    with torch.no_grad():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()
g = gen()
seen = [next(g), torch.is_grad_enabled(), next(g)]
g.close()
seen.append(torch.is_grad_enabled())
torch.set_grad_enabled(True)
out = dict(seen=seen)

# [case] generator_return_value | the return value of a decorated generator arrives
@torch.no_grad()
def gen():
    yield 1
    return "done"
def outer():
    r = yield from gen()
    yield r
out = dict(vals=list(outer()))

# [case] decorating_a_class | decorating a class acts on its construction
x = torch.tensor([1.0], requires_grad=True)
@torch.no_grad()
def make():
    class Inner:
        y = x * 2
    return Inner
out = dict(y=make().y)

# [group] inference

# [case] inference_results | tensors made inside are inference tensors
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.inference_mode():
    y = x * 2
    v = x[0]
    on = (torch.is_inference_mode_enabled(), torch.is_grad_enabled())
out = dict(y=y, inf=(y.is_inference(), x.is_inference(), v.is_inference()), on=on, after=torch.is_inference_mode_enabled(), fn=torch.is_inference(y))

# [case] inference_inplace_outside | writing an inference tensor outside
with torch.inference_mode():
    t = torch.ones(2)
    t.add_(1)
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = dict(t=t)
try:
    t.add_(1)
    out["inplace"] = t
except RuntimeError as e:
    out["inplace"] = e
try:
    t.mul_(x)
except RuntimeError as e:
    out["graph"] = e

# [case] inference_version | inference tensors have no version counter
with torch.inference_mode():
    t = torch.ones(2)
out = {}
try:
    t._version
except RuntimeError as e:
    out["error"] = e
try:
    t.view(2, 1)
    out["view"] = "ok"
except RuntimeError as e:
    out["view"] = e
out["sum"] = t.sum()

# [case] inference_false | inference_mode(False) inside switches it off again
x = torch.tensor([1.0], requires_grad=True)
with torch.inference_mode():
    with torch.inference_mode(False):
        y = x * 2
        on = torch.is_inference_mode_enabled()
    z = x * 2
out = dict(y=y, on=on, inf=(y.is_inference(), z.is_inference()))

# [case] inference_decorator | inference_mode as a decorator, with and without parentheses
@torch.inference_mode()
def f(x):
    return x * 2
@torch.inference_mode
def g(x):
    return x * 3
x = torch.tensor([1.0], requires_grad=True)
out = dict(f=f(x), g=g(x), inf=(f(x).is_inference(), g(x).is_inference()), on=torch.is_inference_mode_enabled())

# [case] inference_requires_grad_inside | what asking for gradients does inside
with torch.inference_mode():
    t = torch.ones(2, requires_grad=True)
    y = t * 2
out = dict(req=t.requires_grad, y=y.requires_grad, inf=t.is_inference(), leaf=t.is_leaf)
out["backward"] = None
try:
    (t * 2).sum().backward()
except RuntimeError as e:
    out["backward"] = e

# [case] inference_clone_and_detach | clone outside gives a normal tensor, detach does not
with torch.inference_mode():
    t = torch.ones(2)
c = t.clone()
d = t.detach()
out = dict(c=c.is_inference(), d=d.is_inference(), cr=c.requires_grad_().requires_grad, add=(t + 1).is_inference())

# [group] during_backward

# [case] mode_in_custom_backward | the mode inside a custom backward
seen = []
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        seen.append((torch.is_grad_enabled(), g.requires_grad))
        return g * 2
x = torch.tensor([1.0], requires_grad=True)
F.apply(x).backward()
torch.autograd.grad(F.apply(x * x), x, create_graph=True)
out = dict(seen=seen)

# [case] post_accumulate_mode | the post-accumulate hook runs without grad
w = torch.tensor([1.0, 2.0], requires_grad=True)
seen = []
def step(p):
    seen.append(torch.is_grad_enabled())
    p.add_(p.grad, alpha=-0.1)
    p.grad = None
w.register_post_accumulate_grad_hook(step)
(w * w).sum().backward()
out = dict(w=w, seen=seen, g=w.grad)

# [case] backward_restores_mode | an error in backward leaves the mode as it was
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
def bad(g):
    raise ValueError("stop")
y.register_hook(bad)
out = {}
try:
    torch.autograd.grad(y, x, create_graph=True)
except ValueError as e:
    out["error"] = e
out["on"] = torch.is_grad_enabled()
with torch.no_grad():
    try:
        y.backward()
    except ValueError:
        pass
    out["off"] = torch.is_grad_enabled()

# [case] inference_values_mixed | what meets an inference tensor outside, and what it may not do
F = torch.nn.functional
with torch.inference_mode():
    a = torch.ones(3)
    v = a[1:]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
z = torch.ones(3)
with torch.inference_mode():
    z.mul_(5)
    w = z[0:1]
out = dict(kinds=[t.is_inference() for t in (a, v, a.clone(), a.detach(), a.reshape(3), a * 2, torch.stack([a, a]), torch.cat([a, x]), F.linear(a, torch.ones(2, 3)), w)], view=(v._is_view(), w._is_view()), sum=x + a, z=z, version=z._version)
for name, f in dict(product=lambda: x * a, linear=lambda: F.linear(a, x[None]), write=lambda: w.add_(1), flag=lambda: a.requires_grad_(), root=lambda: a.sum().backward(), count=lambda: a._version).items():
    try:
        out[name] = f()
    except RuntimeError as e:
        out[name] = e

# [case] inference_keeps_out | in inference mode detach_ does nothing, and no hook is asked what a graph may not keep
x = torch.ones(2, requires_grad=True)
y = x * 2
v = y[:1]
with torch.inference_mode():
    x.detach_(), y.detach_(), v.detach_()
    i = torch.ones(2)
out = dict(x=x, y=y, v=v)
w = (x * 1).add_(1)
def told(fn):
    try:
        return fn()
    except RuntimeError as e:
        return e
out["written"] = told(lambda: torch.maximum(w, i))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
    out["hooked"] = told(lambda: x * i), told(lambda: x + i)

# [case] inference_views_move | in inference mode a view of a dual number has a tangent, what is computed has none
fw = torch.autograd.forward_ad
with fw.dual_level():
    x = fw.make_dual(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.5, 1.0], [1.5, 2.0]]))
    with torch.inference_mode():
        made = dict(view=x.view(4), row=x[1], turned=x.t(), twice=x * 2, copy=x.clone(), parts=x.unbind()[0])
    out = {name: fw.unpack_dual(t).tangent for name, t in made.items()}
    out["later"] = fw.unpack_dual(made["view"] * 3).tangent
