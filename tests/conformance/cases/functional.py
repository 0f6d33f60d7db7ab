# [group] vjp_jvp

# [case] vjp_scalar_no_v | for a scalar function v may be left out
A = torch.autograd.functional
value, g = A.vjp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
out = dict(value=value, g=g)

# [case] vjp_several_inputs | tuples in, tuples out
A = torch.autograd.functional
value, gs = A.vjp(lambda a, b: (a * b, a + b), (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])), (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])))
out = dict(value=value, gs=gs)

# [case] jvp_several_inputs | directions for two inputs
A = torch.autograd.functional
value, t = A.jvp(lambda a, b: a * b, (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])), (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])))
out = dict(value=value, t=t)

# [case] jvp_errors | a missing, misshapen or miscounted v
A = torch.autograd.functional
f = lambda x: x * 2
out = {}
for name, g in dict(missing=lambda: A.jvp(f, torch.ones(2)), shape=lambda: A.jvp(f, torch.ones(2), torch.ones(3)), count=lambda: A.jvp(f, torch.ones(2), (torch.ones(2), torch.ones(2))), input=lambda: A.jvp(f, 3.0, torch.ones(1))).items():
    try:
        g()
    except (RuntimeError, TypeError) as e:
        out[name] = e

# [case] vjp_independent | an independent output gives zeros, or an error when strict
A = torch.autograd.functional
out = dict(r=A.vjp(lambda x: torch.ones(2), torch.ones(2), torch.ones(2)))
try:
    A.vjp(lambda x: torch.ones(2), torch.ones(2), torch.ones(2), strict=True)
except RuntimeError as e:
    out["strict"] = e

# [case] jvp_independent_strict | strict jvp
A = torch.autograd.functional
out = dict(r=A.jvp(lambda x: torch.ones(2), torch.ones(2), torch.ones(2)))
try:
    A.jvp(lambda x: torch.ones(2), torch.ones(2), torch.ones(2), strict=True)
except RuntimeError as e:
    out["strict"] = e

# [case] vjp_create_graph | the value and product keep their history with create_graph
A = torch.autograd.functional
x = torch.tensor([1.0, 2.0], requires_grad=True)
value, g = A.vjp(lambda t: t ** 3, x, torch.tensor([1.0, 1.0]), create_graph=True)
g.sum().backward()
out = dict(req=(value.requires_grad, g.requires_grad), grad=x.grad)
v2, g2 = A.vjp(lambda t: t ** 3, x, torch.tensor([1.0, 1.0]))
out["plain"] = (v2, g2)

# [case] scalar_jvp | a scalar input needs no v
A = torch.autograd.functional
out = dict(r=A.jvp(lambda x: x ** 2, torch.tensor(3.0)))

# [case] forward_mode_duals | dual numbers: primal and tangent
fw = torch.autograd.forward_ad
with fw.dual_level():
    d = fw.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0]))
    y = (d * d).sin() + d.sum()
    p, t = fw.unpack_dual(y)
    c = fw.unpack_dual(torch.ones(2)).tangent
out = dict(p=p, t=t, none=c)

# [case] forward_mode_errors | dual tensors need a level, and shapes that agree
fw = torch.autograd.forward_ad
out = {}
try:
    fw.make_dual(torch.ones(2), torch.ones(2))
except RuntimeError as e:
    out["level"] = e
with fw.dual_level():
    try:
        fw.make_dual(torch.ones(2), torch.ones(3))
    except RuntimeError as e:
        out["shape"] = e
    d = fw.make_dual(torch.ones(2), torch.ones(2))
out["after"] = fw.unpack_dual(d).tangent

# [case] forward_over_matrices | tangents through products, reductions and views
fw = torch.autograd.forward_ad
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
v = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
out = {}
with fw.dual_level():
    d = fw.make_dual(x, v)
    for name, y in dict(mm=d @ d, t=d.t(), sum=d.sum(0), exp=d.exp(), max=d.max(1).values, cat=torch.cat([d, d])[0], soft=d.softmax(1), div=d / (d + 1), idx=d[0, 1], pw=d ** 3).items():
        out[name] = fw.unpack_dual(y).tangent

# [group] jacobian

# [case] jacobian_tuple_input | several inputs: a tuple of Jacobians
A = torch.autograd.functional
j = A.jacobian(lambda a, b: a * b.sum(), (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0])))
out = dict(j=j, kind=type(j).__name__)

# [case] jacobian_tuple_output | several outputs: one entry per output
A = torch.autograd.functional
j = A.jacobian(lambda a: (a ** 2, a.sum()), torch.tensor([1.0, 2.0]))
k = A.jacobian(lambda a, b: (a * b, b), (torch.tensor([1.0]), torch.tensor([2.0])))
out = dict(j=j, k=k)

# [case] jacobian_shapes | shapes of matrices and scalars
A = torch.autograd.functional
x = torch.arange(6.0).reshape(2, 3)
out = dict(m=A.jacobian(lambda t: t.t() * 2, x).shape, s=A.jacobian(lambda t: t.sum(), x).shape, z=A.jacobian(lambda t: t ** 2, torch.tensor(3.0)), e=A.jacobian(lambda t: t.expand(2), torch.tensor([1.0])).shape)

# [case] jacobian_create_graph | a Jacobian that can be differentiated
A = torch.autograd.functional
x = torch.tensor([1.0, 2.0], requires_grad=True)
j = A.jacobian(lambda t: t ** 3, x, create_graph=True)
j.sum().backward()
out = dict(j=j.detach(), req=j.requires_grad, plain=A.jacobian(lambda t: t ** 3, x).requires_grad, g=x.grad)

# [case] jacobian_forward_mode | the forward-mode strategy gives the same
A = torch.autograd.functional
f = lambda x: torch.stack([x[0] * x[1], x[1].exp()])
x = torch.tensor([2.0, 1.0])
out = dict(f=A.jacobian(f, x, vectorize=True, strategy="forward-mode"), r=A.jacobian(f, x, strategy="reverse-mode"))
try:
    A.jacobian(f, x, strategy="forward-mode")
except NotImplementedError as e:
    out["error"] = e

# [case] jacobian_errors | inputs and results that are no tensors, strict with vectorize
A = torch.autograd.functional
x = torch.ones(2)
out = {}
for name, g in dict(inp=lambda: A.jacobian(lambda t: t, [1.0]), res=lambda: A.jacobian(lambda t: 3.0, x), num=lambda: A.jacobian(lambda t: t, 2.0), both=lambda: A.jacobian(lambda t: t, x, strict=True, vectorize=True), tupres=lambda: A.jacobian(lambda t: (t, 2), x)).items():
    try:
        g()
    except (TypeError, RuntimeError) as e:
        out[name] = e

# [case] jacobian_unused_input | one of two inputs is not used
A = torch.autograd.functional
f = lambda a, b: a * 2
xs = (torch.tensor([1.0, 2.0]), torch.tensor([3.0]))
out = dict(j=A.jacobian(f, xs))
try:
    A.jacobian(f, xs, strict=True)
except RuntimeError as e:
    out["strict"] = e

# [group] hessian

# [case] hessian_two_inputs | blocks for two inputs
A = torch.autograd.functional
h = A.hessian(lambda a, b: (a * a * b).sum() + b[0] ** 3, (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])))
out = dict(h=h, n=(len(h), len(h[0])))

# [case] hessian_linear_and_matrix | zero for linear functions; a matrix input
A = torch.autograd.functional
out = dict(lin=A.hessian(lambda x: (x * 3).sum(), torch.ones(2)), mat=A.hessian(lambda x: (x ** 2).sum() * x[0, 1], torch.ones(2, 2)).shape, const=A.hessian(lambda x: torch.tensor(2.0), torch.ones(2)), s=A.hessian(lambda x: x.sin(), torch.tensor(0.5)))

# [case] hessian_strict | strict complains about an independent output or jacobian
A = torch.autograd.functional
out = {}
for name, f in dict(const=lambda x: torch.tensor(2.0), linear=lambda x: (3 * x).sum()).items():
    try:
        A.hessian(f, torch.ones(2), strict=True)
    except RuntimeError as e:
        out[name] = e

# [case] hessian_errors | a tuple result, a float result
A = torch.autograd.functional
out = {}
for name, f in dict(tup=lambda x: (x.sum(), x.sum()), num=lambda x: 1.0, two=lambda x: x.sum().expand(2)).items():
    try:
        A.hessian(f, torch.ones(2))
    except (RuntimeError, TypeError) as e:
        out[name] = e

# [case] hessian_vectorized | vectorize gives the same; create_graph keeps history
A = torch.autograd.functional
x = torch.tensor([1.0, 2.0], requires_grad=True)
f = lambda t: (t ** 4).sum() + t.prod()
h = A.hessian(f, x, create_graph=True)
h.sum().backward()
out = dict(v=A.hessian(f, x, vectorize=True), h=h.detach(), g=x.grad)

# [group] products

# [case] hvp_several_inputs | products over two inputs
A = torch.autograd.functional
f = lambda a, b: (a * b).sum() + (a ** 3).sum()
xs = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
vs = (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
out = dict(hvp=A.hvp(f, xs, vs), vhp=A.vhp(f, xs, vs))

# [case] hvp_errors | no v, wrong shapes, not a scalar
A = torch.autograd.functional
f = lambda x: (x ** 2).sum()
out = {}
for name, g in dict(missing=lambda: A.hvp(f, torch.ones(2)), shape=lambda: A.vhp(f, torch.ones(2), torch.ones(3)), vector=lambda: A.hvp(lambda x: x, torch.ones(2), torch.ones(2)), vvec=lambda: A.vhp(lambda x: x, torch.ones(2), torch.ones(2))).items():
    try:
        g()
    except RuntimeError as e:
        out[name] = e

# [case] hvp_linear_function | the product of a linear function is zero, or an error when strict
A = torch.autograd.functional
f = lambda x: (x * 3).sum()
out = dict(hvp=A.hvp(f, torch.ones(2), torch.ones(2)), vhp=A.vhp(f, torch.ones(2), torch.ones(2)))
for name, g in dict(hvp_s=lambda: A.hvp(f, torch.ones(2), torch.ones(2), strict=True), vhp_s=lambda: A.vhp(f, torch.ones(2), torch.ones(2), strict=True)).items():
    try:
        g()
    except RuntimeError as e:
        out[name] = e

# [case] vhp_scalar_input | a scalar input needs no v
A = torch.autograd.functional
out = dict(vhp=A.vhp(lambda x: x ** 4, torch.tensor(2.0)), hvp=A.hvp(lambda x: x ** 4, torch.tensor(2.0)))

# [case] inputs_untouched | neither .grad nor flags of the inputs change
A = torch.autograd.functional
x = torch.tensor([1.0, 2.0], requires_grad=True)
A.hvp(lambda t: (t ** 3).sum(), x, torch.ones(2))
A.jacobian(lambda t: t ** 2, x)
c = torch.tensor([1.0])
seen = []
A.vjp(lambda t: (seen.append((t is c, t.requires_grad)), t * 2)[1], c, torch.ones(1))
out = dict(grad=x.grad, c=c, seen=seen)

# [case] forward_mode_blocks | blocks of a Jacobian in forward mode come in lists
A = torch.autograd.functional
x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
f = lambda a, b: (a * b, b.sum())
out = dict(both=A.jacobian(f, (x, y), vectorize=True, strategy="forward-mode"), outputs=A.jacobian(lambda a: (a * a, a.sum()), x, vectorize=True, strategy="forward-mode"), inputs=A.jacobian(lambda a, b: a * b, (x, y), vectorize=True, strategy="forward-mode"), reverse=A.jacobian(f, (x, y), vectorize=True))
