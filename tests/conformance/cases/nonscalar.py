# [group] implicit

# [case] vector_needs_gradient | a vector has no implicit gradient
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(vec=lambda: (x * 2).backward(), empty=lambda: x[:0].backward(), fn=lambda: torch.autograd.backward(x * 2), none=lambda: (x * 2).backward(None), grad=lambda: torch.autograd.grad(x * 2, x), lst=lambda: torch.autograd.grad([x * 2], x, [None])).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e
out["g"] = x.grad

# [case] scalar_shapes | 0-dim, one-element vectors and matrices
x = torch.tensor(3.0, requires_grad=True)
(x * 2).backward()
(x * 2).reshape(1, 1, 1).backward()
x.expand(1).backward()
out = dict(g=x.grad)

# [case] constant_vector | the missing graph is noticed before the missing gradient
out = {}
try:
    (torch.ones(2) * 2).backward()
except RuntimeError as e:
    out["const"] = e
try:
    torch.ones(2).backward(torch.ones(2))
except RuntimeError as e:
    out["given"] = e

# [case] implicit_ones_dtype | the implicit gradient has the root's dtype
x = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
seen = []
y = (x * 2).float()
y.register_hook(lambda g: seen.append(g))
y.backward()
out = dict(seen=seen, g=x.grad)

# [case] integer_root | a root of integers or booleans
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, t in dict(cmp=(x > 1).sum(), arg=x.argmax(), long=x.sum().long()).items():
    try:
        t.backward()
    except RuntimeError as e:
        out[name] = e

# [group] explicit

# [case] ones_like_is_sum | a gradient of ones is the gradient of the sum
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x ** 3
y.backward(torch.ones_like(y), retain_graph=True)
a = x.grad.clone()
x.grad = None
y.sum().backward()
out = dict(a=a, b=x.grad)

# [case] gradient_with_history | a gradient that requires grad, with create_graph
x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, 3.0], requires_grad=True)
y = x * x
(g,) = torch.autograd.grad(y, x, v, create_graph=True)
g.sum().backward()
out = dict(g=g.detach(), v=v.grad, x=x.grad)

# [case] gradient_is_not_changed | the gradient passed in stays as it was
x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0, 3.0])
y = x.clone()
y.backward(v)
x.grad.mul_(100)
out = dict(v=v, g=x.grad)

# [case] gradient_expanded | an expanded or strided gradient
x = torch.ones(2, 3, requires_grad=True)
(x * 2).backward(torch.tensor([1.0]).expand(2, 3))
(x * 2).backward(torch.arange(6.0).reshape(3, 2).t())
out = dict(g=x.grad)

# [case] several_roots_several_gradients | a list of roots with a list of gradients
x = torch.tensor([1.0, 2.0], requires_grad=True)
torch.autograd.backward([x * 2, (x * x).sum()], [torch.tensor([1.0, 10.0]), torch.tensor(100.0)])
out = dict(g=x.grad)

# [case] gradient_for_scalar | a scalar root with a weight
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward(torch.tensor(5.0))
x.sum().backward(gradient=torch.tensor(2.0))
out = dict(g=x.grad)

# [case] half_gradient | gradients of other floating types are cast
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
seen = []
y = x * 2
y.register_hook(lambda g: seen.append(g.dtype))
y.backward(torch.tensor([1.0, 3.0], dtype=torch.float16))
out = dict(g=x.grad, seen=seen)

# [group] mismatches

# [case] wrong_size | sizes that do not match
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, g in dict(three=torch.ones(3), col=torch.ones(2, 1), empty=torch.ones(0)).items():
    try:
        (x * 2).backward(g)
    except RuntimeError as e:
        out[name] = e
try:
    x.sum().backward(torch.ones(1))
except RuntimeError as e:
    out["scalar"] = e
out["g"] = x.grad

# [case] not_a_tensor | numbers, lists and arrays as gradients
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, g in dict(number=1.0, lst=[1.0, 1.0]).items():
    try:
        (x * 2).backward(g)
        out[name] = "ok"
    except (TypeError, RuntimeError) as e:
        out[name] = e

# [case] too_many_gradients | more gradients than roots
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(backward=lambda: torch.autograd.backward([x * 2], [torch.ones(2), torch.ones(2)]), grad=lambda: torch.autograd.grad(x * 2, x, [torch.ones(2), torch.ones(2)]), none=lambda: torch.autograd.backward([x * 2, x.sum()], [torch.ones(2)])).items():
    try:
        out[name] = f()
    except RuntimeError as e:
        out[name] = e
out["g"] = x.grad

# [case] none_for_vector | None among the gradients is fine for scalars only
x = torch.tensor([1.0, 2.0], requires_grad=True)
torch.autograd.backward([x.sum(), x * 2], [None, torch.ones(2)])
out = dict(g=x.grad)
try:
    torch.autograd.backward([x.sum(), x * 2], [None, None])
except RuntimeError as e:
    out["error"] = e

# [case] bool_and_int_gradients | integer and boolean gradients are cast too
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, g in dict(ints=torch.tensor([1, 2]), bools=torch.tensor([True, False])).items():
    try:
        out[name] = torch.autograd.grad(x * 2, x, g)
    except RuntimeError as e:
        out[name] = e

# [case] flags_of_the_pass | retain_graph and create_graph are numbers for the engine
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(second=lambda: (x * x).backward(torch.ones(2), torch.ones(2)), none=lambda: (x * x).sum().backward(None, None, None), text=lambda: torch.autograd.grad((x * x).sum(), x, retain_graph="yes"), one=lambda: torch.autograd.grad((x * x).sum(), x, create_graph=1)).items():
    try:
        out[name] = f()
    except TypeError as e:
        out[name] = e
out["g"] = x.grad
