# [group] saving

# [case] save_output | an output can be saved as well
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = Exp.apply(x)
out = dict(name=type(y.grad_fn).__name__, y=y)
y.sum().backward()
out["g"] = x.grad

# [case] save_none_and_attributes | None may be saved; plain values go on ctx
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x, None)
        ctx.k = k
        return x * k
    @staticmethod
    def backward(ctx, g):
        x, n = ctx.saved_tensors
        seen.append((x, n, ctx.k))
        return g * ctx.k, None
seen = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
F.apply(x, 3.0).sum().backward()
out = dict(seen=seen, g=x.grad)

# [case] save_not_a_tensor | only tensors and None can be saved
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, 3)
        return x * 1
    @staticmethod
    def backward(ctx, g):
        return g
x = torch.tensor([1.0], requires_grad=True)
out = {}
try:
    F.apply(x)
except TypeError as e:
    out["error"] = e

# [case] saved_input_modified | a saved input changed in place is noticed
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
y = Sq.apply(h)
h.add_(1)
out = {}
try:
    y.sum().backward()
except RuntimeError as e:
    out["error"] = e

# [case] second_backward | saved tensors are freed after the first pass
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
x = torch.tensor([3.0], requires_grad=True)
y = Sq.apply(x)
y.backward()
out = dict(g=x.grad.clone())
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [case] attribute_kept_is_not_freed | a tensor kept as an attribute survives a second pass
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.x
x = torch.tensor([3.0], requires_grad=True)
y = Sq.apply(x)
y.backward()
y.backward()
out = dict(g=x.grad, is_input=y.grad_fn.x is x)

# [case] saved_tensors_of_node | the node of a custom function is its ctx
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        ctx.note = "hello"
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a
a = torch.tensor([2.0], requires_grad=True)
b = torch.tensor([3.0])
fn = Mul.apply(a, b).grad_fn
out = dict(saved=fn.saved_tensors, same=fn.saved_tensors[0] is a, note=fn.note, needs=fn.needs_input_grad, name=fn.name(), nf=fn.next_functions[1])

# [group] needs_input_grad

# [case] flags_per_argument | one flag per argument, numbers included
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, k):
        return a * b * k
    @staticmethod
    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None
seen = []
a = torch.tensor([1.0], requires_grad=True)
F.apply(a, torch.tensor([2.0]), 3).backward()
F.apply(a, a * 1, 3).backward()
out = dict(seen=seen)

# [case] gradient_for_constant_dropped | a gradient for an input that needs none is ignored
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a
a = torch.tensor([2.0], requires_grad=True)
b = torch.tensor([3.0])
F.apply(a, b).backward()
out = dict(a=a.grad, b=b.grad)

# [case] forward_runs_without_grad | forward runs with grad mode off; backward too, unless create_graph
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        seen.append(torch.is_grad_enabled())
        y = x * 2
        seen.append(y.requires_grad)
        return y
    @staticmethod
    def backward(ctx, g):
        seen.append(torch.is_grad_enabled())
        return g * 2
seen = []
x = torch.tensor([1.0], requires_grad=True)
torch.autograd.grad(F.apply(x), x)
torch.autograd.grad(F.apply(x), x, create_graph=True)
out = dict(seen=seen)

# [case] tensors_in_lists_are_not_seen | tensors inside a list get no edge
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, xs, k):
        return xs[0] * k
    @staticmethod
    def backward(ctx, g):
        return None, g
x = torch.tensor([1.0], requires_grad=True)
k = torch.tensor([2.0], requires_grad=True)
y = F.apply([x], 3.0)
z = F.apply([x], k)
out = dict(y=y, z=z, n=len(z.grad_fn.next_functions))

# [group] in_place_and_views

# [case] dirty_leaf | a leaf cannot be marked dirty
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g
x = torch.tensor([1.0], requires_grad=True)
out = {}
try:
    F.apply(x)
except RuntimeError as e:
    out["error"] = e

# [case] dirty_not_returned | a dirty input must be returned
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        return g
x = torch.tensor([1.0], requires_grad=True)
out = {}
try:
    F.apply(x * 1)
except RuntimeError as e:
    out["error"] = e

# [case] dirty_constant | marking a constant dirty gives it history when another input needs it
class AddTo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, buf, x):
        buf.add_(x)
        ctx.mark_dirty(buf)
        return buf
    @staticmethod
    def backward(ctx, g):
        return g, g * 3
buf = torch.zeros(2)
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = AddTo.apply(buf, x)
y.sum().backward()
out = dict(buf=buf, same=y is buf, g=x.grad)

# [case] returned_view_of_input | a view of the input made in forward
class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:2]
    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, torch.zeros(1)])
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = First.apply(x)
out = dict(y=y, view=y._is_view())
y.sum().backward()
out["g"] = x.grad
z = First.apply(x * 1)
try:
    z.mul_(2)
except RuntimeError as e:
    out["error"] = e

# [case] two_same_inputs_returned | the same constant returned untouched
class Id(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, c):
        return x * 1, c
    @staticmethod
    def backward(ctx, g, h):
        return g, h
x = torch.tensor([1.0], requires_grad=True)
c = torch.tensor([2.0])
y, d = Id.apply(x, c)
out = dict(y=y, d=d, same=d is c)

# [group] outputs

# [case] materialize_off | set_materialize_grads(False) lets None through
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3
    @staticmethod
    def backward(ctx, g, h):
        seen.append((g, h))
        return (0 if g is None else g * 2) + (0 if h is None else h * 3)
seen = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
a, b = Two.apply(x)
b.sum().backward()
out = dict(seen=seen, g=x.grad)

# [case] non_tensor_outputs | other values come through untouched, with a None gradient
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, "text", 7, None
    @staticmethod
    def backward(ctx, g, *rest):
        seen.append(rest)
        return g * 2
seen = []
x = torch.tensor([1.0], requires_grad=True)
y, t, n, z = F.apply(x)
y.backward()
out = dict(y=y, t=t, n=n, z=z, seen=seen, g=x.grad)

# [case] integer_output | an integer output is never differentiable
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x.long()
    @staticmethod
    def backward(ctx, g, gi):
        seen.append(gi)
        return g * 2
seen = []
x = torch.tensor([1.5, 2.5], requires_grad=True)
y, i = F.apply(x)
y.sum().backward()
out = dict(y=y, i=i, seen=seen)

# [case] single_output_in_tuple | a tuple of one stays a tuple; a list is refused
class T(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x * 2,)
    @staticmethod
    def backward(ctx, g):
        return g * 2
class L(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return [x * 2]
    @staticmethod
    def backward(ctx, *g):
        return g[0]
x = torch.tensor([1.0], requires_grad=True)
r = T.apply(x)
out = dict(kind=type(r).__name__, y=r[0])
try:
    q = L.apply(x)
    out["list"] = type(q).__name__
except TypeError as e:
    out["list"] = e

# [case] output_numbers | several outputs, their numbers and shared node
class Three(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1, x * 2, x * 3
    @staticmethod
    def backward(ctx, a, b, c):
        return a + 2 * b + 3 * c
x = torch.tensor([1.0], requires_grad=True)
a, b, c = Three.apply(x)
(a * 1 + b * 10 + c * 100).backward()
out = dict(nrs=[t.output_nr for t in (a, b, c)], same=a.grad_fn is c.grad_fn, g=x.grad)

# [group] arguments

# [case] default_arguments_and_slots | backward returns a slot per argument passed
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y=None, k=2):
        return x * k
    @staticmethod
    def backward(ctx, g):
        return g * 2, None, None
x = torch.tensor([1.0], requires_grad=True)
F.apply(x).backward()
F.apply(x, None).backward()
F.apply(x, None, 5).backward()
out = dict(g=x.grad)

# [case] same_tensor_twice | the same tensor in two positions collects both gradients
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b
    @staticmethod
    def backward(ctx, g):
        return g * 10, g * 100
x = torch.tensor([1.0], requires_grad=True)
F.apply(x, x).backward()
out = dict(g=x.grad)

# [case] wrong_number_of_arguments | forward's own complaint
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b
    @staticmethod
    def backward(ctx, g):
        return g, g
out = {}
try:
    F.apply(torch.ones(1, requires_grad=True))
except TypeError as e:
    out["error"] = type(e).__name__

# [group] errors

# [case] too_few_gradients | a gradient missing
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * b
    @staticmethod
    def backward(ctx, g):
        return g
a = torch.ones(1, requires_grad=True)
out = {}
try:
    F.apply(a, a * 1).backward()
except RuntimeError as e:
    out["error"] = e

# [case] wrong_shape | a gradient of a shape that cannot be summed to the input's
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return torch.ones(5)
a = torch.ones(2, 3, requires_grad=True)
out = {}
try:
    F.apply(a).sum().backward()
except RuntimeError as e:
    out["error"] = e

# [case] larger_shape_is_summed | a gradient that broadcasting made larger is summed; a double one is cast
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a + torch.ones(4, 3)
    @staticmethod
    def backward(ctx, g):
        return g.double()
a = torch.ones(3, requires_grad=True)
F.apply(a).sum().backward()
out = dict(g=a.grad)

# [case] gradient_for_a_number | a gradient for an argument that is no tensor
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, k):
        return a * k
    @staticmethod
    def backward(ctx, g):
        return g, g
out = {}
try:
    F.apply(torch.ones(1, requires_grad=True), 2).backward()
except RuntimeError as e:
    out["error"] = e

# [case] no_forward_and_instances | a missing forward, and instances
class F(torch.autograd.Function):
    @staticmethod
    def backward(ctx, g):
        return g
out = {}
try:
    F.apply(torch.ones(1, requires_grad=True))
except NotImplementedError as e:
    out["forward"] = e
class G(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
try:
    G()(torch.ones(1))
except (RuntimeError, TypeError) as e:
    out["instance"] = e

# [case] error_in_backward | an exception in backward reaches the caller; the leaf is left alone
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, g):
        raise IndexError("broken")
x = torch.ones(2, requires_grad=True)
out = {}
try:
    F.apply(x).sum().backward()
except IndexError as e:
    out["error"] = e
out["g"] = x.grad

# [case] once_differentiable | its gradient cannot be differentiated again
from_once = torch.autograd.function.once_differentiable
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    @from_once
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
x = torch.tensor([3.0], requires_grad=True)
(g,) = torch.autograd.grad(Sq.apply(x), x, create_graph=True)
out = dict(g=g)
w = torch.tensor([1.0], requires_grad=True)
(h,) = torch.autograd.grad(Sq.apply(x) * w, x, create_graph=True)
out["h"] = h
try:
    h.backward()
except RuntimeError as e:
    out["error"] = e

# [case] both_backward_and_vjp | vjp is another name for backward; both are too many
class V(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def vjp(ctx, g):
        return g * 20
class B(V):
    @staticmethod
    def backward(ctx, g):
        return g
x = torch.tensor([1.0], requires_grad=True)
V.apply(x).backward()
out = dict(g=x.grad)
try:
    B.apply(x).backward()
except RuntimeError as e:
    out["error"] = e

# [group] newer_forms

# [case] setup_context_defaults | setup_context's inputs include the defaults
class F(torch.autograd.Function):
    @staticmethod
    def forward(x, k=3.0):
        return x * k
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.n = len(inputs)
        ctx.save_for_backward(output)
    @staticmethod
    def backward(ctx, g):
        return (g * 3,) + (None,) * (ctx.n - 1)
x = torch.tensor([1.0], requires_grad=True)
a, b = F.apply(x), F.apply(x, 5.0)
(a + b).backward()
out = dict(a=a, n=(a.grad_fn.n, b.grad_fn.n), g=x.grad)

# [case] class_method_access | extra static methods and inheritance
class Base(torch.autograd.Function):
    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor
class Twice(Base):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = 2
        return x * 2
x = torch.tensor([1.0], requires_grad=True)
y = Twice.apply(x)
y.backward()
out = dict(name=y.grad_fn.name(), cls=type(y.grad_fn).__name__, g=x.grad, isnode=isinstance(y.grad_fn, torch.autograd.graph.Node))

# [case] saved_intermediate_second_order | an intermediate computed in forward cuts the second order
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        d = 2 * x
        ctx.save_for_backward(d)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
x = torch.tensor([3.0], requires_grad=True)
w = torch.tensor([1.0], requires_grad=True)
(g,) = torch.autograd.grad(Sq.apply(x) * w, x, create_graph=True)
out = dict(g=g, second=torch.autograd.grad(g, [x, w], allow_unused=True))

# [case] output_saved_second_order | a saved output keeps its history for the second order
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
x = torch.tensor([1.0], requires_grad=True)
(g,) = torch.autograd.grad(Exp.apply(x), x, create_graph=True)
(h,) = torch.autograd.grad(g, x)
out = dict(g=g, h=h)

# [case] custom_jvp | a jvp gives a custom function a forward derivative
fw = torch.autograd.forward_ad
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x
    @staticmethod
    def jvp(ctx, t):
        return 20 * ctx.x * t
class NoJvp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x
out = {}
with fw.dual_level():
    d = fw.make_dual(torch.tensor([3.0]), torch.tensor([1.0]))
    out["t"] = fw.unpack_dual(Sq.apply(d)).tangent
    try:
        NoJvp.apply(d)
    except NotImplementedError as e:
        out["error"] = e

# [case] dirty_view_with_hooks | a custom in-place function on a view, and hooks registered before and after
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, s):
        ctx.mark_dirty(x)
        ctx.s = s
        return x.mul_(s)
    @staticmethod
    def backward(ctx, g):
        return g * ctx.s, None
seen = []
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 1
y.register_hook(lambda g: seen.append(("before", g.clone())))
same = Scale.apply(y, 3.0) is y
y.register_hook(lambda g: seen.append(("after", g.clone())))
v = y[1:]
r = Scale.apply(v, 2.0)
(y * y).sum().backward()
out = dict(same=same, view=r is v, names=(y.grad_fn.name(), v.grad_fn.name()), y=y, seen=seen, g=x.grad)

# [case] none_and_marked_outputs | gradients come only for the outputs that were used, None for the others
class Several(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(False)
        i = a.argmax()
        ctx.mark_non_differentiable(i)
        return a + b, i, a * b, None, "text"
    @staticmethod
    def backward(ctx, g, gi, h, n, s):
        seen.append((g, gi, h, n, s))
        return g, h
seen = []
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
o = Several.apply(a, b)
o[0].sum().backward()
first = (a.grad, b.grad)
o = Several.apply(a, b)
o[2].sum().backward()
out = dict(first=first, b=b.grad, seen=seen, numbers=[o[0].output_nr, o[2].output_nr], plain=o[3:])

# [case] saved_constants_among_outputs | an output without history that was saved comes back without one
class Sorted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        values, places = x.sort()
        double = values * 2
        ctx.mark_non_differentiable(places, double)
        ctx.save_for_backward(places, values, double)
        return values, places, double
    @staticmethod
    def backward(ctx, g, *rest):
        places, values, double = ctx.saved_tensors
        seen.append((places, values, double))
        return torch.zeros_like(g).scatter(0, places, g * values)
seen = []
x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
values, places, double = Sorted.apply(x)
out = dict(saved=values.grad_fn.saved_tensors, first=torch.autograd.grad(values.sum(), x, create_graph=True), seen=seen)
double.mul_(2)
try:
    values.sum().backward()
except RuntimeError as e:
    out["written"] = e

# [case] an_instance_for_a_ctx | an instance of a Function takes what forward wants to save
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        ctx.k = 2
        return x / ctx.k
ctx = Half()
out = dict(y=Half.forward(ctx, torch.ones(2)), k=ctx.k, saved=[t.tolist() for t in ctx.to_save])

# [case] dirty_views_refused | a view that may not be written is refused when forward has marked it
class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.add_(1))
        return x
    @staticmethod
    def backward(ctx, g):
        return g
x = torch.ones(4, requires_grad=True)
with torch.no_grad():
    plain = (x * 1)[:2]
    hidden = x[:2]
out = {}
for name, t in dict(part=(x * 1).split(2)[0], row=(x * 1).unbind()[0], hidden=hidden, plain=plain).items():
    try:
        out[name] = Add.apply(t)
    except RuntimeError as e:
        out[name] = str(e)[:140]

# [case] dirty_view_of_a_dual | the jvp of a Function that writes to a view writes to the tangent of its base
fw = torch.autograd.forward_ad
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        ctx.mark_dirty(x)
        return x.mul_(k)
    @staticmethod
    def jvp(ctx, t, _):
        return t.mul_(ctx.k)
with fw.dual_level():
    v = fw.make_dual(torch.arange(6.0), torch.ones(6))
    part, row = v[1:4], v.view(2, 3)[1]
    out = {}
    for name, t, k in (("part", part, 3.0), ("whole", v, 2.0), ("row", row, 5.0), ("turned", v.view(3, 2).t(), 7.0)):
        Scale.apply(t, k)
        out[name] = [fw.unpack_dual(q).tangent.clone() for q in (v, part, row)]
    try:
        fw.unpack_dual(3)
    except TypeError as e:
        out["number"] = e

# [case] accessed_once | with clear_saved_tensors_on_access the saved tensors can be asked for once
class Square(torch.autograd.Function):
    clear_saved_tensors_on_access = True
    @staticmethod
    def forward(ctx, x, saves, asks):
        ctx.asks = asks
        if saves:
            ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        seen.append(ctx.saved_tensors if ctx.asks else None)
        return g, None, None
def told(fn):
    try:
        return fn()
    except RuntimeError as e:
        return e
x = torch.ones(2, requires_grad=True)
out = {}
for saves in (True, False):
    for asks in (True, False):
        seen = []
        y = Square.apply(x, saves, asks)
        out[saves, asks] = [told(lambda: y.sum().backward()), told(lambda: y.grad_fn.saved_tensors), told(lambda: y.sum().backward()), seen]
y = Square.apply(x, True, False)
out["before"] = y.grad_fn.saved_tensors, told(lambda: y.grad_fn.saved_tensors), y.grad_fn._raw_saved_tensors

# [case] errors_of_backward_in_order | what is no gradient is found before a gradient of another shape
x, z = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
out = {}
for name, result in dict(number=(torch.ones(2), torch.ones(2), 5), text=(torch.ones(5), "a", None), extra=(torch.ones(5), torch.ones(3), torch.ones(2)), shape=(torch.ones(5), torch.ones(7), None)).items():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, z, k):
            return x * k
        @staticmethod
        def backward(ctx, g):
            return result
    try:
        Bad.apply(x, z, 2.0).sum().backward()
    except RuntimeError as e:
        out[name] = str(e)[-70:]
class Flag(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(0)
        return x
try:
    Flag.apply(x)
except TypeError as e:
    out["flag"] = e

# [case] dirty_but_not_recorded | under no_grad, or without a derivative, what forward wrote to comes back detached; the input stays what it was
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, constant):
        ctx.mark_dirty(x.mul_(2))
        if constant:
            ctx.mark_non_differentiable(x)
        return x
    @staticmethod
    def backward(ctx, g):
        return g * 2, None
out = {}
for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
    for name, make in dict(leaf=lambda a: a, computed=lambda a: a * 1, part=lambda a: (a * 1)[:1], constant=lambda a: a.detach()).items():
        x = make(torch.ones(2, requires_grad=True))
        with mode():
            y = Double.apply(x, mode is torch.enable_grad)
        out[mode.__name__, name] = x, y, y is x, x._version, y._is_view()

# [case] dirty_view_saved | a view that forward wrote to and saved comes back as the output of the Function's own node
class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(3))
        ctx.save_for_backward(x)
        return x
    @staticmethod
    def backward(ctx, g):
        seen.append(ctx.saved_tensors)
        return g * ctx.saved_tensors[0]
seen = []
a = torch.arange(1.0, 4.0, requires_grad=True)
y = Triple.apply((a * 1)[1:])
out = dict(y=y, twice=torch.autograd.grad((y * y).sum(), a, create_graph=True), seen=seen)
y.mul_(2)
try:
    y.sum().backward()
except RuntimeError as e:
    out["written"] = str(e)[-260:]

# [case] views_of_duals | a Function that returns a view: its tangent is one of the tangent of what it was given, and follows writes
fw = torch.autograd.forward_ad
class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)
    @staticmethod
    def jvp(ctx, t):
        return t.view(-1)
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def jvp(ctx, t):
        return t
class Copied(Flat):
    @staticmethod
    def jvp(ctx, t):
        return t.clone().view(-1)
out = {}
def told(fn):
    try:
        return fn()
    except RuntimeError as e:
        return str(e)[-120:]
for make in (Flat, Same, Copied):
    for name, view in dict(itself=lambda d: d, part=lambda d: d[:1], computed=lambda d: (d * 2)[:], filled=lambda d: torch.zeros(4, 2)[:2].copy_(d)).items():
        with fw.dual_level():
            d = fw.make_dual(torch.ones(2, 2), torch.arange(4.0).view(2, 2))
            out[make.__name__, name] = told(lambda: fw.unpack_dual(make.apply(view(d))).tangent)
with fw.dual_level():
    d = fw.make_dual(torch.ones(2, 2), torch.arange(4.0).view(2, 2))
    y = Flat.apply(d)
    y[:2].mul_(3)
    d[1].mul_(5)
    out["written"] = fw.unpack_dual(d).tangent, fw.unpack_dual(y).tangent

# [case] tangents_lie_as_values | the tangent of a result lies in memory as the result does, so it can be seen as that can
fw = torch.autograd.forward_ad
with fw.dual_level():
    d = fw.make_dual(torch.arange(3.0), torch.arange(3.0))
    y = d + torch.ones(2, 3)
    t = fw.make_dual(torch.ones(3, 2).t(), torch.arange(6.0).view(2, 3))
    out = dict(y=fw.unpack_dual(y.view(-1)).tangent, stride=fw.unpack_dual(y).tangent.stride(), t=fw.unpack_dual(t.t().view(-1)).tangent)
out["func"] = torch.func.jvp(lambda v: (v + torch.ones(2, 3)).view(-1), (torch.ones(3),), (torch.arange(3.0),))

# [case] constant_view_saved | a result without gradient that is a view comes back as it went in, not as a result of the node
class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        turned = x.t()
        ctx.mark_non_differentiable(turned)
        ctx.save_for_backward(turned, x)
        return x * 2, turned
    @staticmethod
    def backward(ctx, g, h):
        seen.extend((t.requires_grad, t.is_leaf, t.grad_fn and t.grad_fn.name()) for t in ctx.saved_tensors)
        return g * 2
seen = []
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y, t = Part.apply(a)
y.sum().backward()
out = dict(seen=seen, t=[t.requires_grad, t.is_leaf], a=a.grad)

# [case] view_of_leaf_dirty_several | a view of a leaf that is written and returned beside another result: which complaint comes
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x, x.sum()
    @staticmethod
    def backward(ctx, g, h):
        return g
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
out = {}
for name, x in dict(of_leaf=a.view(4), of_result=(a * 1).view(4), of_expanded=(a * 1).unbind()[0]).items():
    try:
        Both.apply(x)
    except RuntimeError as e:
        out[name] = str(e)[:60]

# [case] no_grad_view_saved | a view from a no_grad block, written in forward, can be saved though it has no history any more
class Empty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        total = x.sum()
        ctx.save_for_backward(x.zero_())
        return total
    @staticmethod
    def backward(ctx, g):
        return g
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
with torch.no_grad():
    x = a.view(4)
y = Empty.apply(x)
out = dict(y=y, a=a.detach().clone())
try:
    x.grad_fn
except RuntimeError as e:
    out["history"] = str(e)[:60]
