"""torch.func: derivatives as functions of functions, and vmap; as PyTorch gave them, recorded and live.

To record: `python -m tests.record func`.
"""

import gc
import weakref

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab
from autograd_lab.autograd.modes import THREAD

START = """
from torch.func import *
vmap = torch.vmap
x, y = torch.arange(6.0).view(2, 3), torch.arange(9.0).view(3, 3)
r = x.clone().requires_grad_()
w = torch.ones(2, 3, requires_grad=True)

def f(a):
    return (a**3).sum()

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).split(' has structure ')[0].split(' with structure ')[0]}"

"""

CASES = {
    "vmap": """
vmap(lambda a, b: a + b)(x, x)
vmap(lambda a, b: a + b)(x, y)
vmap(lambda a: 1.0)(x)
vmap(lambda a: a, in_dims=None)(x)
vmap(lambda a: a, in_dims=(0, 0))(x)
vmap(lambda a: a, in_dims=2)(x)
vmap(lambda a: a, in_dims=-1)(x)
vmap(lambda a: a, out_dims=1)(x)
vmap(lambda a: a, out_dims=-1)(x)
vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x)
vmap(lambda a: (a, a.sum()), out_dims=(1,))(x)
vmap(lambda a: a + torch.rand(3))(x)
vmap(lambda a: a)()
vmap(lambda a: a)(3)
vmap(lambda a, b: a * b, in_dims=(0, None))(x, 3)
vmap(lambda a, b: a[0] * b, in_dims=(1, 0))(x, y)
vmap(lambda d: d["a"])({"a": x})
vmap(lambda d, e: d["a"] * d["b"] + e[0], in_dims=({"a": 0, "b": None}, [1]))({"a": x, "b": x[0]}, [x.t()])
vmap(lambda a: a, in_dims=0.5)(x)
vmap(lambda a: torch.zeros(2))(x)
vmap(vmap(lambda a: a * 2))(x)
vmap(vmap(lambda a, b: a * b, in_dims=(0, None)), in_dims=(None, 0))(x[0], x[1])
vmap(lambda a: a, chunk_size=0)(x)
vmap(lambda a: a, chunk_size=1)(x)
vmap(lambda a: a, randomness="foo")(x)
vmap(lambda a: None)(x)
vmap(lambda a: a)(torch.ones(0, 3))
vmap(lambda a: (a.sum(), a), out_dims=(0, 1))(torch.ones(0, 3))
vmap(lambda a: (a, 3))(x)
vmap(lambda a: a, out_dims=None)(x)
vmap(lambda a: (a, torch.ones(2)), out_dims=(0, None))(x)
vmap(lambda a: [a, {"k": a}])(x)
vmap(lambda a: a, out_dims=5)(x)
vmap(lambda a: a)(torch.tensor(1.0))
vmap(lambda a, k=1: a * k)(x, k=3)
vmap(lambda a: a + torch.rand(3), randomness="same")(torch.zeros(2, 3)).std(0)
vmap(lambda a: a + torch.rand(3), randomness="different")(torch.zeros(2, 3)).std(0) > 0
vmap(torch.dot)(x, x)
vmap(lambda a: (a * w[0]).sum())(r).requires_grad
""",
    "grad": """
grad(f)(x)
grad(lambda a: a * 2)(x)
grad(lambda a: (a.sum(), 1))(x)
grad(lambda a: (a.sum(), a * 2), has_aux=True)(x)
grad(lambda a: (a.sum(), "aux"), has_aux=True)(x)
grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x)
grad(lambda a, b: (a * b).sum(), argnums=1)(x, x + 1)
grad(lambda a, b: (a * b).sum(), argnums=-1)(x, x + 1)
grad(lambda a, b: (a * b).sum(), argnums=5)(x, x + 1)
grad(f)(3)
grad(lambda a: torch.tensor(1.0))(x)
grad(grad(lambda a: a**4))(torch.tensor(2.0))
grad(grad(grad(lambda a: a**4)))(torch.tensor(2.0))
grad(lambda a: f(a) * 2)(r).requires_grad
grad_and_value(f)(x)
grad_and_value(lambda a: (f(a), a + 1), has_aux=True)(x)
grad(lambda d: (d["a"] * d["b"][0]).sum())({"a": x, "b": [x + 1]})
grad(lambda a: a.sum().long())(x)
grad(lambda a: 3.0)(x)
grad(lambda a: (a * w).sum())(x)
grad(lambda a: (a * a * w).sum())(x).sum()
grad(lambda a: a.detach().sum())(x)
grad(lambda a, k=1: (a * k).sum())(x, k=3)
grad(f, argnums=(0, 0))(x)
grad(lambda a: grad(lambda b: (a * b * b).sum())(a).sum())(x)
grad(lambda a: vmap(grad(lambda b: (b**3).sum()))(a).sum())(x)
""",
    "vjp and jvp": """
vjp(lambda a: a * 2, x)[0], vjp(lambda a: a * 2, x)[1](torch.ones(2, 3))
vjp(lambda a: a * 2, x)[1](torch.ones(3))
vjp(lambda a, b: (a * b, a), x, x + 1)[1]((x, x))
vjp(lambda a, b: (a * b, a), x, x + 1)[1](x)
vjp(lambda a: (a * 2, a + 1), x, has_aux=True)[2]
vjp(lambda a: (a * 2, "aux"), x, has_aux=True)[2]
vjp(lambda a: 3, x)
vjp(lambda a: a * 2, x, has_aux=True)
grad(lambda v: vjp(lambda a: a**2, x)[1](v)[0].sum())(x)
grad(lambda a: vjp(lambda b: b**3, a)[1](torch.ones(2, 3))[0].sum())(x)
jvp(lambda a: a**2, (x,), (x,))
jvp(lambda a, b: a * b, (x, x), (x, x + 1))
jvp(lambda a: a**2, x, x)
jvp(lambda a: a**2, (x,), (x, x))
jvp(lambda a: (a * 2, a + 1), (x,), (x,), has_aux=True)
jvp(lambda a: torch.ones(2), (x,), (x,))
jvp(lambda a: a**2, (), ())
jvp(lambda d: {"s": d["a"] * d["b"]}, ({"a": x, "b": x},), ({"a": x, "b": torch.zeros(2, 3)},))
jvp(grad(f), (x,), (torch.ones(2, 3),))
jvp(lambda a: jvp(lambda b: b**3, (a,), (torch.ones(2, 3),))[1], (x,), (torch.ones(2, 3),))
grad(lambda t: jvp(lambda b: b**3, (x,), (t,))[1].sum())(x)
linearize(lambda a: a**2, x)[0], linearize(lambda a: a**2, x)[1](x)
""",
    "jacobians": """
jacrev(lambda a: a**2)(x[0])
jacfwd(lambda a: a**2)(x[0])
jacrev(lambda a, b: (a * b, {"s": a.sum()}), argnums=(0, 1))(x[0], x[1])
jacfwd(lambda a, b: (a * b, {"s": a.sum()}), argnums=(0, 1))(x[0], x[1])
jacrev(lambda a: a.t() @ a)(x)
jacfwd(lambda a: a.t() @ a)(x)
hessian(f)(x[0])
hessian(lambda a, b: (a * b).sum(), argnums=(0, 1))(x[0], x[1])
jacrev(lambda a: (a**2, a + 1), has_aux=True)(x[0])
jacfwd(lambda a: (a**2, a + 1), has_aux=True)(x[0])
jacrev(lambda a: (a**2, "aux"), has_aux=True)(x[0])
jacrev(lambda d: d["a"] * 2)({"a": x[0]})
jacrev(lambda a: 3)(x)
vmap(jacrev(lambda a: a**2))(x)
vmap(hessian(f))(x)
jacfwd(jacrev(f))(x[0])
jacrev(jacrev(lambda a: a**3))(x[0])
jacrev(lambda a: a * w[0])(x[0]).requires_grad, jacfwd(lambda a: a * w[0])(x[0]).requires_grad
jacrev(f, argnums=(0, 0))(x)
jacrev(lambda a: torch.ones(2))(x[0])
jacrev(lambda a: a[:0])(x[0])
""",
}

MODELS = {
    "the gradients of each example, and of an ensemble": """
model = fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
params = {name: p.detach() for name, p in model.named_parameters()}

def loss(params, a, t):
    return (functional_call(model, params, (a.unsqueeze(0),)) - t).square().sum()

each = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, torch.ones(2))
out["each"] = each, [(g.shape, g.requires_grad) for g in each.values()]
out["all"] = grad(lambda p: sum(loss(p, a, 1.0) for a in x))(params)
models = [fill(nn.Linear(3, 2)) for _ in range(3)]
stacked, buffers = stack_module_state(models)
out["stacked"] = {k: (v, v.is_leaf) for k, v in stacked.items()}, buffers
out["ensemble"] = vmap(lambda p, b, a: functional_call(models[0], (p, b), (a,)), in_dims=(0, 0, None))(stacked, buffers, x)
out["ensemble"].sum().backward()
out["grads"] = [v.grad for v in stacked.values()]
out["refused"] = told(lambda: stack_module_state([])), told(lambda: stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()]))
""",
    "functorch, the older name": """
import importlib
older = importlib.import_module("functorch" if torch.__name__ == "torch" else "autograd_lab._functorch")
torch.manual_seed(0)
model = fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
fmodel, params = older.make_functional(model)
x, y = torch.randn(5, 3), torch.randn(5, 2)
loss = lambda params, x, y: F.mse_loss(fmodel(params, x), y)
out["model"] = fmodel(params, x), type(fmodel).__name__, fmodel.param_names, [type(p).__name__ for p in params]
out["grads"] = older.grad(loss)(params, x, y), older.vmap(older.grad(loss), (None, 0, 0))(params, x, y)
out["free"] = [p.requires_grad for p in older.make_functional(model, disable_autograd_tracking=True)[1]], params[0] is model[0].weight
out["jacobian"] = older.jacrev(fmodel, argnums=1)(params, x[0]), older.hessian(lambda a: a.pow(3).sum())(x[0])
norm = nn.Sequential(fill(nn.Linear(3, 4)), nn.BatchNorm1d(4))
fnorm, params, buffers = older.make_functional_with_buffers(norm)
out["buffers"] = fnorm(params, buffers, x), buffers, fnorm.buffer_names, norm[1].num_batches_tracked
models = [nn.Linear(3, 2) for _ in range(3)]
several, params, buffers = older.combine_state_for_ensemble(models)
out["ensemble"] = older.vmap(several, (0, 0, None))(params, buffers, x), params, [p.requires_grad for p in params]
out["wrong"] = [
    told(lambda: older.make_functional(norm)), told(lambda: older.combine_state_for_ensemble([])),
    told(lambda: older.combine_state_for_ensemble([models[0], nn.Tanh()])),
    told(lambda: older.combine_state_for_ensemble([models[0], nn.Linear(3, 2).eval()])),
]
layer = fill(nn.Linear(2, 2))
tied, params = older.make_functional(nn.Sequential(layer, layer))
out["tied"] = len(params), tied([p * 2 for p in params], torch.ones(1, 2))
""",
    "the surroundings differentiate the results": """
for name, g in {"grad": grad(lambda a: (a * a * w).sum())(x), "jacrev": jacrev(lambda a: (a * a * w).sum(0))(x),
                "jacfwd": jacfwd(lambda a: (a * a * w).sum(0))(x), "vjp": vjp(lambda a: a * a * w, x)[1](torch.ones(2, 3))[0],
                "jvp": jvp(lambda a: a * a * w, (x,), (x,))[1], "given": grad(f)(r)}.items():
    leaf = r if name == "given" else w
    out[name] = torch.autograd.grad(g.sum(), leaf)
with torch.no_grad():
    out["without"] = grad(f)(r), grad(lambda a: (a * w).sum())(x)
def quiet(a):
    with torch.no_grad():
        b = a**2
    return (a * b).sum()
out["inside"] = grad(quiet)(x)
out["leaf"] = grad(lambda a: (a + w).sum())(x), w.grad is None
""",
    "what a transformed function may not do": """
at = {
    "grad": lambda f: grad(f)(x.clone()),
    "vjp": lambda f: vjp(f, x.clone())[0],
    "jvp": lambda f: jvp(f, (x.clone(),), (torch.ones(2, 3),)),
    "jacrev": lambda f: jacrev(f)(x.clone()),
    "jacfwd": lambda f: jacfwd(f)(x.clone()),
    "hessian": lambda f: hessian(f)(x.clone()),
    "vmap": lambda f: vmap(f)(x.clone()),
}
in_all = lambda f: {name: told(lambda: transform(f)) for name, transform in at.items()}
out["1"] = in_all(lambda a: a.requires_grad_().sum())
out["2"] = in_all(lambda a: a.requires_grad_(False).sum())
out["3"] = in_all(lambda a: (a * a.detach().requires_grad_()).sum())
out["4"] = {name: told(lambda: t(lambda a: ((b := a.sin()).retain_grad(), b.sum())[1])) for name, t in at.items()}
out["5"] = in_all(lambda a: ((a**2).sum().backward(), a.sum())[1])
out["6"] = in_all(lambda a: torch.autograd.functional.jacobian(lambda b: b**2, a).sum())
out["7"] = in_all(lambda a: torch.autograd.functional.vjp(lambda b: (b**2).sum(), a)[1].sum())
out["8"] = in_all(lambda a: torch.autograd.functional.hvp(lambda b: (b**2).sum(), a, a)[1].sum())
hooks = lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)
with hooks():
    inside = {name: told(lambda: transform(f)) for name, transform in at.items() if name != "jvp"}
def hooked(a):
    with hooks():
        return (a**2).sum()
out["9"] = in_all(hooked)
out["10"] = in_all(lambda a: a.mul_(2).sum())
b = torch.arange(3.0); out["11"] = jvp(lambda a: a.mul_(2) * 3, (b,), (torch.ones(3),))
b = torch.arange(3.0); out["12"] = jvp(lambda a: (a.mul_(2), a), (b[1:],), (torch.ones(2),))
b = torch.arange(3.0); out["13"] = jacfwd(lambda a: (a[1:].mul_(2), a)[1])(b)
out["14"] = told(lambda: grad(lambda a: a.mul_(2).sum())(r * 1))
out["15"] = told(lambda: grad(lambda a: grad(lambda c: c.mul_(2).sum())(a * 1).sum())(x))
""",
    "arguments that do not fit": """
out["1"] = {f"{t.__name__} {n}": told(lambda: t(torch.mul, argnums=n)(x[0, 1], x[0, 2])) for n in ((), [0], 0.5, ("0",), (0, 0), (0, -2), -3, 2) for t in (grad, jacrev, jacfwd, hessian)}
out["2"] = told(lambda: jacrev(torch.mul, argnums=None)(x[0, 1], x[0, 2]))
out["3"] = jacfwd(torch.mul, argnums=None)(x[0, 1], x[0, 2])
out["4"] = [told(lambda: vjp(lambda a: result, x)) for result in (None, (), [], {}, [None], 1, True, "abc", {"a": 1})]
out["5"] = [told(lambda: jvp(lambda a: result, (x,), (x,))) for result in (None, (), [], {}, [None], 1, True, "abc", {"a": 1})]
out["6"] = [told(lambda: jacrev(lambda a: result)(x)) for result in (None, (), [], {}, [None], 1, "abc")]
out["7"] = [told(lambda: jacfwd(lambda a: result)(x)) for result in (None, (), [], {}, [None], 1, "abc")]
out["8"] = [told(lambda: linearize(lambda a: result, x)[0]) for result in (None, (), [], {})]
out["9"] = told(lambda: jvp(torch.sin, x, (x,)))
out["10"] = told(lambda: jvp(torch.sin, (x,), x))
out["11"] = told(lambda: jvp(torch.sin, (x,), [x]))
out["12"] = told(lambda: jvp(torch.sin, (1.0,), (x,)))
out["13"] = told(lambda: jvp(torch.sin, (x,), (1.0,)))
out["14"] = told(lambda: jvp(torch.sin, ((x, 1),), ((1, x),)))
out["15"] = told(lambda: jvp(torch.sin, ((),), ((),)))
out["16"] = told(lambda: jvp(torch.sin, (x.long(),), (x,)))
out["17"] = told(lambda: jvp(torch.sin, (x,), (x.long(),)))
out["18"] = told(lambda: jvp(lambda a: (a, y), (x,), (x,), strict=True))
out["19"] = jvp(lambda a: (a, a * 2), (x,), (x,), strict=True)
out["20"] = [told(lambda: jacrev(torch.sin, chunk_size=n)(x[0])) for n in (0, -2, 1, 2)]
out["21"] = told(lambda: jacfwd(torch.sin, randomness="foo")(x[0]))
models = [torch.nn.Linear(2, 2) for _ in range(2)]
models[0].weight.requires_grad_(False)
out["23"] = told(lambda: stack_module_state(models))
models[1].weight.requires_grad_(False)
out["25"] = {name: p.requires_grad for name, p in stack_module_state(models)[0].items()}
""",
    "without recording around them, and in inference mode": """
def of_all(given):
    v = torch.ones(3)
    cube = lambda a: (a**3).sum()
    return {
        "grad": grad(cube)(given), "jacrev": jacrev(torch.sin)(given), "jacfwd": jacfwd(torch.sin)(given),
        "hessian": hessian(cube)(given), "jvp": jvp(torch.sin, (given,), (v,)), "vjp": vjp(torch.sin, given)[1](v),
        "twice": grad(lambda a: grad(cube)(a).sum())(given), "many": vmap(grad(cube))(given.expand(2, 3)),
        "value": grad_and_value(cube)(given), "captured": grad(lambda a: (a * given).sum())(v), "along": jvp(lambda a: a * given, (given,), (given,)),
        "inference": (grad(cube)(given).is_inference(), grad_and_value(cube)(given)[1].is_inference()),
    }
z = torch.arange(3.0, requires_grad=True)
with torch.no_grad():
    quiet = [of_all(torch.arange(3.0)), of_all(z), of_all(z * 1)]
with torch.inference_mode():
    there = [of_all(torch.arange(3.0)), of_all(x[0]), of_all(z)]
    made = torch.arange(3.0)
out["1"] = of_all(made)
out["not saved for others"] = [told(f) for f in (
    lambda: w[0] * made, lambda: vmap(lambda a: (w * made * a).sum())(x), lambda: vmap(lambda a: (w[0] * a).sum())(made.expand(2, 3)),
    lambda: grad(lambda a: (a * made * w).sum())(x[0]), lambda: grad(lambda a: (w[0] * made).sum() + a.sum())(x[0]),
)]
first, back = vjp(lambda a: a**2, z)
with torch.no_grad():
    quietly = back(torch.ones(3))
out["2"] = quietly, first
with torch.no_grad():
    first, back = vjp(lambda a: a**2, z)
later, = back(torch.ones(3))
out["3"] = first, later, torch.autograd.grad(later.sum(), z)
with torch.inference_mode():
    (there,) = back(torch.ones(3))
out["4"] = there, there.is_inference()
""",
    "writes to an argument that is not differentiated by": """
v = torch.tensor([1.0, 2.0, 3.0])
def into(a, b):
    b.add_(a)
    return (a * b).sum()
for name, g in {"grad": grad(into), "jacrev": jacrev(lambda a, b: b.mul_(a)), "vmap": vmap(grad(lambda a, b: b.mul_(a).sum())),
                "value": grad_and_value(into)}.items():
    b = torch.tensor([1.0, 0.5, 2.0])
    out[name] = told(lambda: g(v, b)), b, b.requires_grad, b._version > 0
b = torch.tensor([1.0, 0.5, 2.0])
out["in a dict"] = grad(lambda a, d: d["k"].mul_(a).sum())(v, {"k": b}), b, b.requires_grad
out["parameter"] = told(lambda: grad(into)(v, nn.Parameter(b)))
""",
    "derivatives of derivatives made linear": """
v, u = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.5, 2.0])
cube = lambda a: (a**3).sum()
out["grad"] = linearize(lambda a: grad(cube)(a), v)[1](u)
out["vjp"] = linearize(lambda a: vjp(lambda q: q**3, a)[1](torch.ones(3))[0], v)[1](u)
out["vmap"] = linearize(lambda a: vmap(grad(lambda q: q**3))(a), v)[1](u)
out["twice"] = linearize(lambda a: grad(lambda q: (grad(cube)(q) * q).sum())(a), v)[1](u)
with torch.no_grad():
    out["no_grad"] = linearize(lambda a: grad(cube)(a), v)[1](u)
""",
    "a step inside a step": """
weight = torch.tensor([0.5, -1.0], requires_grad=True)
tasks = torch.tensor([[[1.0, 2.0], [0.5, 1.0]], [[-1.0, 1.0], [2.0, 0.0]]])

def loss(wt, data):
    return ((data[0] * wt).sum() - data[1].sum()).square()

def adapted(wt, data):
    return loss(wt - 0.1 * grad(loss)(wt, data), data)

total = vmap(adapted, in_dims=(None, 0))(weight, tasks).sum()
total.backward()
out["maml"] = total, weight.grad, grad(lambda wt: adapted(wt, tasks[0]))(weight.detach())
""",
    "a differential equation": """
net = fill(nn.Sequential(nn.Linear(1, 5), nn.Tanh(), nn.Linear(5, 1)))
u = lambda t: net(t.view(1, 1)).squeeze()
points = torch.linspace(-1, 1, 4)
residual = vmap(grad(grad(u)))(points) + vmap(u)(points)
loss = residual.square().mean()
loss.backward()
out["pinn"] = loss, [p.grad for p in net.parameters()]
""",
    "whole numbers among the results": """
v = torch.tensor([1.0, 3.0, 2.0])
out["jvp"] = jvp(lambda a: (a * 2, a.argmax()), (v,), (v,)), jvp(lambda a: a > 1, (v,), (v,)), jvp(lambda a: tuple(a.sort()), (v,), (v,))
out["strict"] = told(lambda: jvp(lambda a: a > 1, (v,), (v,), strict=True))
out["jacfwd"] = jacfwd(lambda a: (a * 2, a.argmax()))(v)
out["jacrev"] = told(lambda: jacrev(lambda a: (a * 2, a.argmax()))(v))
out["vjp"] = told(lambda: vjp(lambda a: (a * 2, a.argmax()), v))
out["grad"] = told(lambda: grad(lambda a: a.argmax())(v)), told(lambda: grad(lambda a: (a.sum(), a.argmax()), has_aux=True)(v))
""",
    "Functions with a jvp of their own": """
class N(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2

class W(N):  # forwards another derivative than backwards
    @staticmethod
    def jvp(ctx, t):
        return t * 5

class S(N):
    @staticmethod
    def forward(x, k):
        return x * x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(inputs[0], output)
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g * ctx.k, None

    @staticmethod
    def jvp(ctx, t, _):
        x, y = ctx.saved_tensors
        return 3 * x * t * ctx.k + 0 * y

class M(N):
    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(FULL)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * y + h, g * x + h

    @staticmethod
    def jvp(ctx, s, t):
        x, y = ctx.saved_tensors
        missing.append((s is None, t is None))
        if s is None or t is None:
            return (3 * s * y, s) if t is None else (3 * x * t, t)
        return 3 * (s * y + x * t), s + t

class D(W):
    @staticmethod
    def forward(x):
        return x * 2, (x * 0).long()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return g * 2

    @staticmethod
    def jvp(ctx, t):
        return t * 5, None

v = torch.tensor([1.0, 2.0, 3.0])
sums = lambda F_: lambda a: (F_.apply(a) ** 2).sum()
out["none"] = told(lambda: jvp(N.apply, (v,), (v,))), told(lambda: jacfwd(N.apply)(v)), jvp(lambda a: a * N.apply(v), (v,), (v,))
out["outside"] = grad(lambda b: jvp(lambda a: a * N.apply(b), (v,), (v,))[1].sum())(v)
out["another"] = jvp(W.apply, (v,), (v,)), jacfwd(W.apply)(v), linearize(W.apply, v)[1](v), jacrev(W.apply)(v)
out["of a gradient"] = jvp(grad(sums(W)), (v,), (v,)), hessian(sums(W))(v), jacrev(jacrev(sums(W)))(v)
out["gradient of it"] = grad(lambda b: jvp(W.apply, (b,), (v,))[1].sum())(v), grad(lambda b: jvp(W.apply, (b,), (v,))[0].sum())(v)
out["and of its square"] = grad(lambda b: jvp(lambda a: W.apply(a * a), (b,), (v,))[1].sum())(v)
out["batch"] = vmap(lambda a: jvp(W.apply, (a,), (a,)))(torch.stack([v, v + 1]))
s2 = lambda a: S.apply(a.sin(), 2.0).cos()
out["saved"] = jvp(s2, (v,), (v,)), jacfwd(s2)(v), hessian(lambda a: s2(a).sum())(v)
out["saved, gradient"] = [grad(lambda b: jvp(s2, (b,), (v,))[i].sum())(v) for i in (0, 1)]
out["saved, batch"] = vmap(lambda a: jvp(s2, (a,), (a,)))(torch.stack([v, v + 1]))
for FULL in (True, False):
    missing = []
    out[f"two, {FULL}"] = jvp(M.apply, (v, v + 1), (v, v)), jvp(lambda a: M.apply(a, v), (v,), (v,)), jvp(lambda a: M.apply(v, a), (v,), (v,))
    out[f"one of two, {FULL}"] = jvp(lambda a: M.apply(a, v)[1], (v,), (v,)), jacfwd(lambda a: M.apply(v, a)[0])(v)
    out[f"missing, {FULL}"] = sorted(set(missing))
    missing = []
    out[f"of another transform, {FULL}"] = grad(lambda b: jvp(lambda a: M.apply(a, b)[0], (v,), (v,))[1].sum())(v), sorted(set(missing))

class I(W):
    @staticmethod
    def jvp(ctx, t):
        return t.mul_(5)

out["in place"] = jvp(lambda a: I.apply(a.sin()), (v,), (v,))
out["constant"] = jvp(lambda a: D.apply(a)[0], (v,), (v,)), jvp(D.apply, (v,), (v,))
""",
    "a model by its parameters": """
model = fill(nn.Linear(3, 2))
params = dict(model.named_parameters())
out["hessian"] = hessian(lambda p: functional_call(model, p, (x,)).square().sum())({k: v.detach() for k, v in params.items()})
g = grad(lambda p: functional_call(model, p, (x,)).square().sum())(params)
out["recorded"] = {k: (v, v.requires_grad) for k, v in g.items()}
""",
}

FORWARD = (
    START
    + """
fw = torch.autograd.forward_ad
v = torch.tensor([1.0, -1.0, 0.5])
x, X = torch.tensor([1.0, 2.0, 3.0]), torch.arange(6.0).view(2, 3) / 3
w = torch.tensor([0.5, 1.5, -1.0], requires_grad=True)
r = x.clone().requires_grad_()
one = torch.ones(3)
net = fill(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3)))
params = {k: p.detach() for k, p in net.named_parameters()}
along = {k: torch.ones_like(p) for k, p in params.items()}
loss = lambda p: functional_call(net, p, (X,)).square().mean()

def still(f):
    def call(*args):
        with torch.no_grad():
            return f(*args)
    return call

def within(f, x=x, v=v):
    with fw.dual_level():
        return tuple(fw.unpack_dual(f(fw.make_dual(x, v))))

def wrote(f):
    def call(transform, at=None):
        at = x.clone() if at is None else at
        return transform(f)(at), at
    return call

square = still(lambda a: a * a)
S = lambda f: lambda a: f(a).sum()
G = lambda f: grad(S(f))
J = lambda f: lambda a: jvp(f, (a,), (v,))
T = lambda f: lambda a: jvp(f, (a,), (v,))[1]
V = lambda f: lambda a: vjp(f, a)[1](one)[0]

class N(torch.autograd.Function):
    generate_vmap_rule = True
    @staticmethod
    def forward(x): return x * 2
    @staticmethod
    def setup_context(ctx, inputs, output): pass
    @staticmethod
    def backward(ctx, g): return g * 2

class Q(N):
    @staticmethod
    def forward(x): return x * x
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(inputs[0], output)
        ctx.save_for_backward(inputs[0], output)
        ctx.kind = ctx.result_names = "accumulate"
    @staticmethod
    def backward(ctx, g):
        a, y = ctx.saved_tensors
        return g * 2 * y / a
    @staticmethod
    def jvp(ctx, t):
        a, y = ctx.saved_tensors
        return t * 2 * y / a

class N5(N):
    @staticmethod
    def jvp(ctx, t): return t * 5

class Dirty(N):
    @staticmethod
    def forward(x): return x.mul_(2)
    @staticmethod
    def setup_context(ctx, inputs, output): ctx.mark_dirty(inputs[0])
    @staticmethod
    def jvp(ctx, t): return t.mul_(2)

"""
)

FOLLOWED = """
def partly(a):
    return square(a) * a

def pieces(a):
    b = a.clone()
    with torch.no_grad():
        b[1:].mul_(a[:2])
        b[0] = a[2] * a[1]
    return b.sin() * a

def filled(a):
    b = torch.zeros_like(a)
    with torch.no_grad():
        b.copy_(a * a)
        b[:2].add_(a[1:])
    return b * a

def product(a):
    with torch.no_grad():
        return a.view(1, 3) @ torch.ones(3, 3) * a

def seen(a):
    return torch.stack([a.sin().cos() * a[0], a.cumsum(0).tanh()]).prod(0)

for f in (partly, pieces, filled, product, seen):
    out[f.__name__] = told(lambda: (WHAT))
"""
"""Functions that compute or write under no_grad, which forward mode follows; and one that does not."""

KINDS = """
J(f)(x)
J(f)(r)
jacfwd(f)(x)
hessian(S(f))(x)
J(G(f))(x)
G(T(f))(x)
J(J(f))(x)
jacfwd(jacfwd(f))(x)
jacrev(jacfwd(f))(x)
jacfwd(jacrev(f))(x)
J(J(J(f)))(x)
J(G(T(f)))(x)
G(T(G(f)))(x)
J(G(G(f)))(x)
J(J(G(f)))(x)
grad(lambda t: jvp(V(f), (x,), (t,))[1].sum())(v)
grad(lambda t: jvp(T(f), (x,), (t,))[1].sum())(v)
grad(lambda t: jvp(jacrev(f), (x,), (t,))[1].sum())(v)
still(J(f))(r)
torch.inference_mode()(J(f))(x)
jvp(lambda u: vjp(f, x)[1](u)[0], (v,), (x,))
grad(lambda b: T(lambda a: f(a * b))(b).sum())(x)
grad(lambda b: jacfwd(lambda a: f(a * b))(b).sum())(x)
J(lambda b: jvp(lambda a: f(a * b), (v,), (b,))[1])(x)
grad(lambda t: jvp(G(f), (x,), (t,))[1].sum())(v)
grad(lambda t: jvp(f, (x,), (t,))[1].sum())(v)
jvp(lambda t: jvp(G(f), (x,), (t,))[1], (v,), (x,))
jacfwd(lambda t: jvp(f, (x,), (t,))[1])(v)
jacrev(lambda t: jvp(f, (x,), (t,))[1])(v)
vmap(lambda a, t: jvp(f, (a,), (t,)))(torch.stack([x, v]), torch.stack([v, x]))
vmap(lambda t: jvp(G(f), (x,), (t,))[1])(torch.stack([v, x]))
vmap(jacfwd(f))(torch.stack([x, v]))
vmap(hessian(S(f)))(torch.stack([x, v + 2]))
jacfwd(lambda a, b: f(a * b) * b, argnums=(0, 1))(x, v)
hessian(lambda a, b: (f(a * b) * b).sum(), argnums=(0, 1))(x, v + 2)
torch.autograd.grad(sum(o.sum() for o in J(f)(r)), r, allow_unused=True)
torch.autograd.grad(jacfwd(f)(r).sum(), r, allow_unused=True)
torch.autograd.grad(J(G(lambda a: f(a) * w))(x)[1].sum(), w)
torch.autograd.grad(hessian(lambda a: (f(a) * w * a).sum())(x).sum(), w)
torch.autograd.grad(T(T(lambda a: f(a) * w))(x).sum(), w)
J(lambda a: grad_and_value(S(f))(a)[1])(x)
J(lambda a: grad(lambda b: (f(b).sum(), f(b)), has_aux=True)(a)[1])(x)
J(lambda a: vjp(f, a)[0])(x)
J(lambda a: f(a - 0.1 * G(f)(a)))(x)
within(G(f))
within(jacrev(f))
within(V(f))
within(lambda d: vjp(f, x)[1](d)[0])
within(lambda d: vmap(f)(d.expand(2, 3)))
within(lambda d: jacrev(lambda a: f(a) * d)(x))
within(lambda d: grad(lambda a: grad(lambda b: (f(b) * a).sum())(a).sum())(d))
torch.autograd.grad(within(G(f), r)[1].sum(), r, allow_unused=True)
linearize(f, x)[0], linearize(f, x)[1](v) if f is not pieces else None
"""

LEVELS = """
wrote(lambda a: a.mul_(2) * a)(J)
wrote(lambda a: a.mul_(2) * a)(jacfwd)
wrote(lambda a: (a * a, a.mul_(2))[0])(J)
wrote(lambda a: (a.sin(), a.mul_(2))[0])(jacfwd)
wrote(lambda a: (a.sin(), still(lambda: a.mul_(2))())[0] * a)(J)
wrote(lambda a: (a.sin(), still(lambda: a.mul_(2))())[0] * a)(jacfwd)
wrote(lambda a: (a[1:].mul_(a[:2]), a * a)[1])(J)
wrote(lambda a: (a.detach().mul_(2), a * a)[1])(J)
wrote(lambda a: (a.detach().mul_(2), a * a)[1])(jacfwd)
wrote(lambda a: (a.data.mul_(2), a * a)[1])(J)
wrote(lambda a: (a.zero_(), a * a)[1])(J)
wrote(lambda a: a.mul_(2) * a)(J, r * 1)
wrote(lambda a: a.mul_(2) * a)(J, x.clone().requires_grad_())
wrote(still(lambda a: a.mul_(2) * a))(J, x.clone().requires_grad_())
wrote(still(lambda a: a.mul_(2) * a))(J, r * 1)
wrote(lambda a: (still(lambda: a.mul_(2))(), (a * a).sum())[1])(grad)
wrote(lambda a: (still(lambda: a.mul_(2))(), (a * a).sum())[1])(grad, x.clone().requires_grad_())
wrote(lambda a: (still(lambda: a.mul_(2))(), (a * a).sum())[1])(grad, r * 1)
wrote(lambda a: (a.detach().mul_(2), (a * a).sum())[1])(grad)
wrote(lambda a: (a.detach().mul_(2), (a * a).sum())[1])(grad, r * 1)
wrote(lambda a: (a.data.mul_(2), (a * a).sum())[1])(grad)
wrote(lambda a: ((a * a).sum(), a.detach().mul_(2))[0])(grad)
wrote(lambda a: (a.mul_(2), (a * a).sum())[1])(grad)
wrote(lambda a: (a.mul_(2), (a * a).sum())[1])(grad, r * 1)
wrote(lambda a: (still(lambda: a.mul_(2))(), a * a)[1])(jacrev)
wrote(lambda a: (still(lambda: a[1:].mul_(2))(), a * a)[1])(V)
wrote(lambda a: (a.detach()[1:].mul_(2), a * a)[1])(V, r * 1)
grad(lambda b: grad(lambda a: (still(lambda: a.mul_(2))(), (a * a * a).sum())[1])(b * 1).sum())(x.clone())
grad(lambda b: grad(lambda a: (still(lambda: a.mul_(2))(), (a * a * a).sum())[1])(b).sum())(x.clone())
torch.autograd.grad(grad(lambda a: (still(lambda: a.mul_(2))(), (a * a * a).sum())[1])(r * 1).sum(), r)
J(lambda b: grad(lambda a: (still(lambda: a.mul_(2))(), (a * a * a).sum())[1])(b))(x.clone())
J(lambda b: grad(lambda a: (a.detach().mul_(2), (a * a * a).sum())[1])(b))(x.clone())
within(lambda d: grad(lambda a: (still(lambda: a.mul_(2))(), (a * a * a).sum())[1])(d * 1))
(lambda t: (jvp(lambda a: a.mul_(2) * a, (x.clone(),), (t,)), t))(v.clone())
grad(lambda t: jvp(lambda a: (b := a.clone(), b[1:].mul_(a[:2]), b)[2], (x,), (t,))[1].sum())(v)
jvp(torch.sin, (x,), (torch.ones(2),))
jvp(torch.sin, (X.t(),), (X.t(),))
jacfwd(lambda a: a.reshape(-1) * 2)(X.t())
within(lambda d: jvp(torch.sin, (d,), (v,))[0])
within(lambda d: jvp(torch.sin, (x,), (v,))[0])
within(lambda d: jacfwd(torch.sin)(d))
within(lambda d: hessian(lambda a: a.sin().sum())(x))
within(lambda d: linearize(torch.sin, x)[0])
J(lambda a: within(lambda d: d * a)[1])(x)
G(lambda a: within(lambda d: d * d * a)[1])(x)
G(lambda a: within(lambda d: d * d * d, a)[1])(x)
J(lambda a: a * (fw._current_level + 2))(x), fw._current_level
J(lambda a: fw.make_dual(a, v) * 2)(x)
J(lambda a: fw.make_dual(x, v) * 2)(x)
J(lambda a: fw.unpack_dual(fw.make_dual(x, v) * a).tangent)(x)
J(lambda a: fw.unpack_dual(fw.make_dual(a.detach(), v) * 2).tangent)(x)
J(lambda a: fw.unpack_dual(a * a).tangent)(x)
J(lambda a: fw.unpack_dual(a * a).primal)(x)
J(lambda b: jvp(lambda a: fw.unpack_dual(a * b).tangent, (x,), (v,)))(x)
J(lambda b: jvp(lambda a: fw.unpack_dual(a * a * b).tangent, (b,), (v,)))(x)
J(lambda b: jvp(lambda a: fw.unpack_dual(a * a * b).primal, (b,), (v,)))(x)
J(lambda a: fw.exit_dual_level(level=3))(x), fw._current_level
jacfwd(lambda a: fw.make_dual(x, v) * a)(x)
J(lambda a: (a * a).detach_() * a)(x)
J(lambda b: jvp(lambda a: a.detach() * a * b, (b,), (v,)))(x)
J(lambda b: jvp(lambda a: (a * a).detach_() * a * b, (b,), (v,)))(x)
J(lambda a: torch.tensor(a.tolist()))(x)
J(lambda a: (a * a).requires_grad * a)(x), J(lambda a: a.requires_grad * a)(x)
J(lambda a: torch.add(a, a, out=torch.empty(3)))(x)
J(lambda b: jvp(lambda a: torch.add(b, b, out=torch.empty(3)), (x,), (v,)))(x)
jacfwd(lambda a: a * torch.rand(3))(x)
(torch.manual_seed(0), jacfwd(lambda a: a * torch.rand(3), randomness="same")(x))[1]
(torch.manual_seed(0), jacfwd(lambda a: a * torch.rand(3), randomness="different")(x))[1]
(lambda n: (jacfwd(lambda a: (n.append(1), a * a)[1])(x), n))([])
(lambda n: (hessian(lambda a: (n.append(1), (a * a).sum())[1])(x), n))([])
(lambda n: (J(lambda a: (n.append(1), a * a)[1])(x), n))([])
(lambda m: (jvp(lambda a: m.eval()(a), (X,), (X,)), m.running_mean))(nn.BatchNorm1d(3))
jvp(loss, (params,), (along,))
jvp(grad(loss), (params,), (along,))
hessian(loss)(params)["2.bias"]["2.bias"]
grad(lambda p: jvp(loss, (p,), (along,))[1])(params)["0.bias"]
linearize(loss, params)[1](along)
vmap(hessian(S(net)))(X)
jvp(lambda a, b: (a * b, {"k": square(a)}), (x, v), (v, x))
jvp(lambda a: (a * 2, square(a)), (x,), (v,), has_aux=True)
jacfwd(lambda a: (a * 2, square(a)), has_aux=True)(x)
jacfwd(lambda a, b: (square(a) * b, b), argnums=(0, 1))(x, v)
jacfwd(lambda a, b: square(a) * b, argnums=1)(x, v)
jacfwd(lambda a: (a, "s"), has_aux=True)(x)
jacfwd(lambda a: a[:0])(x)
jacfwd(torch.sin)(torch.arange(3))
jvp(lambda a: a.detach(), (x,), (v,), strict=True)
jvp(lambda a: (a[:0], a), (x,), (v,), strict=True)
linearize(lambda a: (a * 2, square(a)), x)[1](v)
linearize(lambda a, b: square(a) * b, x, v)[1](v, x)
linearize(square, x)[1](torch.ones(2))
linearize(square, x)[1](v.double())
linearize(lambda a: a * 2, torch.arange(3))
linearize(lambda a: a * w, x)[1](v)
linearize(lambda a: a.clone().mul_(a) * a, x)[1](v)
(lambda f: (f(v), f(x), f(v)))(linearize(lambda a: square(a) * a, x)[1])
jvp(linearize(lambda a: a * a * a, x)[1], (v,), (x,))
(lambda n: (lambda f: (f(v), f(x), n[1:] == [1] * 9))(linearize(lambda a: (n.append(1), a * a)[1], x)[1]))([])
J(lambda a: Q.apply(a.sin()) * a)(x), jacfwd(lambda a: Q.apply(a.sin()) * a)(x)
J(still(lambda a: Q.apply(a.sin()) * a))(x)
G(T(lambda a: Q.apply(a.sin()) * a))(x), J(G(lambda a: Q.apply(a.sin()) * a))(x)
within(G(lambda a: Q.apply(a.sin()) * a)), within(lambda d: torch.autograd.grad(Q.apply(d).sum(), d)[0], r)
linearize(lambda a: Q.apply(a.sin()) * a, x)[1](v)
J(lambda a: Dirty.apply(a * a) * a)(x), jacfwd(lambda a: Dirty.apply(a * a) * a)(x)
J(N.apply)(x), within(N.apply), within(G(lambda a: N.apply(a) * a))
within(lambda d: torch.autograd.grad(r * r, r, d)[0])
within(lambda d: torch.autograd.grad(r * r, r, d, create_graph=True)[0])
within(lambda d: grad_and_value(lambda a: (a * a).sum())(d)[1])
within(lambda d: vmap(grad(lambda a: a**3))(d))
J(lambda a: F.layer_norm(a, (3,)) * a)(x), hessian(lambda a: (F.layer_norm(a, (3,)) * a).sum())(x)
J(lambda a: a.softmax(0).log_softmax(0))(x), J(J(lambda a: a.softmax(0)))(x)
J(lambda a: (b := a.view(1, 3).clone(), b.t_(), b.squeeze_(), b * a)[3])(x), J(J(lambda a: (b := a.view(1, 3).clone(), b.t_(), b * b)[2]))(x)
J(still(lambda a: torch.zeros(3).index_add_(0, torch.tensor([0, 0, 1]), a)))(x), J(still(lambda a: a.clone().clamp_(1.5, 2.5) * a))(x)
J(J(still(lambda a: (b := torch.ones(3, 3), b.diagonal().copy_(a * a), b @ a)[2])))(x)
J(J(lambda a: a.clone().tanh_() * a))(x), J(J(lambda a: (b := a * a, b.mul_(a), b)[2]))(x)
J(J(G(lambda a: (b := a * 1, b.mul_(a), b[1:].mul_(a[:2]), b)[3])))(x)
J(J(lambda a: N5.apply(a) * a))(x)
J(G(T(lambda a: (b := a * a, b.exp_(), b * a)[2])))(x), J(G(lambda a: (b := a * a, b.tanh_(), b * a)[2]))(x)
G(T(lambda a: (b := a.sin(), still(lambda: b.unsqueeze_(0))(), b[0] * a)[2]))(x)
G(T(lambda a: (b := a.sin(), still(lambda: b.unsqueeze_(0).mul_(2).squeeze_(0))(), b * a)[2]))(x)
torch.autograd.grad(jvp(G(lambda a: (still(lambda: a.mul_(2))(), a * a)[1]), (x.clone(),), (r,))[1].sum(), r)
torch.autograd.grad(jvp(lambda a: (b := a[1:], still(lambda: b.mul_(2))(), b * b)[2], (x.clone(),), (r * 1,))[1].sum(), r)
(lambda t: (jvp(lambda a: a.mul_(x) * a, (x.clone(),), (t.expand(3),)), t))(torch.ones(1))
(lambda t: (jvp(lambda a: a.mul_(x) * a, (x.clone(),), (t[0],)), t))(torch.stack([v, x]))
(lambda t: (jvp(lambda a: a.mul_(x) * a, (x.clone(),), (t[:, 0],)), t))(torch.stack([v, x], 1))
(lambda t: (jvp(lambda a: (a[1:].mul_(x[1:]), a * a)[1], (x.clone(),), (t,)), t))(v.clone())
(lambda t: (J(jacrev(lambda a: (still(lambda: a.mul_(2))(), a.exp())[1]))(x.clone()), jvp(jacrev(lambda a: (still(lambda: a.mul_(2))(), a.exp())[1]), (x.clone(),), (t,)), t))(v.clone())
J(lambda a: vmap(lambda t: jvp(lambda b: b.mul_(2) * b, (a,), (t,))[1])(torch.stack([v, x])))(x.clone())
jacfwd(lambda a: vmap(lambda t: jvp(lambda b: (c := b * b, b.zero_(), c * c)[2], (a,), (t,))[1])(torch.stack([v, x])))(x.clone())
jacfwd(jacfwd(lambda a: vmap(lambda t: jvp(lambda b: (c := b * b, b.zero_(), c * c)[2], (a,), (t,))[1])(torch.stack([v, x]))[1]))(x.clone())
V(lambda a: vmap(lambda t: jvp(lambda b: (still(lambda: b.mul_(2))(), b * b)[1], (a,), (t,))[1])(torch.stack([v, x])).sum(0))(x.clone())
within(lambda d: vmap(lambda t: d.mul_(2) * t)(torch.stack([v, x])))
(lambda t: (jvp(lambda a: a.mul_(X), (X.clone(),), (t.t(),)), t))(X.t().contiguous())
torch.autograd.grad(jvp(lambda a: (b := a.view(3), still(lambda: (a.mul_(2), b + 0))(), b * b)[2], (x.clone(),), (r * 1,))[1].sum(), r)
J(lambda a: (c := a.view(3), a.mul_(2), vmap(lambda t: (e := a * t, c.mul_(2) * e)[1])(torch.stack([v, x])))[2])(x.clone())
J(lambda p: jvp(lambda q: vmap(lambda t: q.mul_(2) * t)(torch.stack([v, x])), (x.clone(),), (p * 1,))[1])(x)
within(lambda d: (lambda c: vmap(lambda t: (e := c * t, c.copy_(d), e + c)[2])(torch.stack([v, x])))(torch.zeros(3)))
torch.autograd.grad(jvp(lambda a: vmap(lambda t: (a[1:].mul_(2), a * w * t)[1])(torch.stack([v, x])), (x.clone(),), (v.clone(),))[1].sum(), w)
torch.autograd.grad(jvp(lambda a: (a * w, a.mul_(2))[0], (x.clone(),), (v.clone(),))[1].sum(), w)
jacfwd(lambda a, b: a.view(1, 3) @ b.view(3, 1), argnums=(0, 1))(x, v)
J(J(lambda a: F.conv1d(a.view(1, 1, 3), a[:2].view(1, 1, 2))))(x)
"""

PROGRAMS = {
    **{kind: FORWARD + FOLLOWED.replace("WHAT", kind) for kind in KINDS.strip().splitlines()},
    **{line: FORWARD + f"out['r'] = told(lambda: ({line}))" for line in LEVELS.strip().splitlines()},
    **{
        line: START + f"out['r'] = told(lambda: ({line}))"
        for lines in CASES.values()
        for line in lines.strip().splitlines()
    },
    **{name: START + code for name, code in MODELS.items()},
}
STORED = stored(__file__)


def without_nodes(value):
    """The result without the names of nodes: those of a batched rule differ from those of a loop."""
    if isinstance(value, dict):
        return {k: without_nodes(v) for k, v in value.items() if k not in ("node", "warnings")}
    return [without_nodes(v) for v in value] if isinstance(value, list) else value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch.func", autograd_lab.func)
    mine, theirs = run(PROGRAMS[name], autograd_lab), STORED["results"][name]
    assert not differences(without_nodes(mine), without_nodes(theirs))


def test_the_inputs_of_a_transform_die_with_it():
    """Without the garbage collector: nothing holds itself."""
    torch, func = autograd_lab, autograd_lab.func
    seen = []

    def cube(a):
        seen.append(weakref.ref(a))
        return (a**3).sum()

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(a):
            return a * a

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs, output)

        @staticmethod
        def jvp(ctx, t):
            a, y = ctx.saved_tensors
            return 2 * a * t + 0 * y

    def square(a):
        seen.append(weakref.ref(a))
        return Square.apply(a)

    def steps(a):
        b = a.tanh() * a
        c = b.clone()
        c[1:].mul_(2)
        seen.extend(map(weakref.ref, (a, b, c)))
        return c.exp()

    def in_a_level(x):
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, torch.ones(2))
            return torch.autograd.forward_ad.unpack_dual(steps(dual)).tangent.sum()

    gc.disable()
    try:
        func.grad(cube)(torch.ones(2))
        func.jvp(cube, (torch.ones(2),), (torch.ones(2),))
        assert func.jvp(square, (torch.ones(2),), (torch.ones(2),))[1].tolist() == [2, 2]
        func.hessian(cube)(torch.ones(2))
        func.vjp(cube, torch.ones(2))[1](torch.tensor(1.0))
        for x in (torch.ones(2), torch.ones(2, requires_grad=True)):
            func.jvp(steps, (x,), (x.detach(),))
            func.jvp(lambda a: func.jvp(steps, (a,), (a,))[1], (x,), (x.detach(),))
            func.hessian(lambda a: steps(a).sum())(x)
            func.grad(lambda a: func.jvp(steps, (a,), (torch.ones(2),))[1].sum())(x)
            func.linearize(steps, x)[1](torch.ones(2))
            in_a_level(x)
        assert [ref() for ref in seen] == [None] * len(seen)
    finally:
        gc.enable()


def test_jacfwd_gives_a_number_many_tangents():
    torch, func = autograd_lab, autograd_lab.func
    unpack = torch.autograd.forward_ad.unpack_dual
    with pytest.raises(NotImplementedError, match="unpack_dual inside of jacfwd is not supported"):
        func.jacfwd(lambda a: unpack(a).tangent * a)(torch.ones(2))
    assert func.jacfwd(lambda a: unpack(a).tangent * a)(torch.ones(1)).tolist() == [[1.0]]


def test_writes_in_a_level_of_a_captured_tensor_are_followed():
    """PyTorch refuses them; nothing may be lost where they are allowed."""
    torch, func = autograd_lab, autograd_lab.func
    x, v = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
    c, d = torch.zeros(2), torch.zeros(2)
    assert func.jvp(lambda a: c.copy_(a * a) * a, (x,), (v,))[1].tolist() == [3.0, -12.0]
    assert func.jacfwd(lambda a: d.copy_(a * a) * a)(x).tolist() == [[3.0, 0.0], [0.0, 12.0]]
    assert c.tolist() == d.tolist() == [1.0, 4.0]


class Product(autograd_lab.autograd.Function):
    """a b, with a jvp that uses what was saved."""

    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, s, t):
        a, b = ctx.saved_tensors
        return s * b + a * t


SECOND = {
    "a custom Function": lambda torch, a: Product.apply(a.sin(), a * a) * a,
    "layer_norm": lambda torch, a: torch.nn.functional.layer_norm(a, (3,)) * a,
    "solve": lambda torch, a: torch.linalg.solve(a * a.t() + 3 * torch.eye(3, dtype=a.dtype), a.sin()),
    "slogdet": lambda torch, a: torch.linalg.slogdet(a + 3 * torch.eye(3, dtype=a.dtype))[1],
    "det": lambda torch, a: torch.det(a * a),
}
"""Where PyTorch's second derivatives by forward mode are not those of the function: it takes something saved as constant."""


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_agree_with_differences(name):
    torch, func = autograd_lab, autograd_lab.func
    f = lambda a: SECOND[name](torch, a)  # noqa: E731
    a = (torch.arange(9.0, dtype=torch.float64) / 7 + 0.3).view(3, 3)
    v, u = a.cos(), a.sin()

    def first(a):
        return func.jvp(f, (a,), (v,))[1]

    h = 1e-6
    want = (first(a + h * u) - first(a - h * u)) / (2 * h)
    assert torch.allclose(func.jvp(first, (a,), (u,))[1], want, rtol=1e-6, atol=1e-8)
    if name != "a custom Function":  # it has no backward, and needs none for its jvp to be differentiated
        backwards = func.grad(lambda a: first(a).sum())(a)
        assert torch.allclose((backwards * u).sum(), want.sum(), rtol=1e-6, atol=1e-8)


def test_a_tangent_costs_no_more_in_a_long_function(monkeypatch):
    """What is looked at to push a tangent through an operation is that operation's VJP, not all that went before."""
    torch, func, node = autograd_lab, autograd_lab.func, autograd_lab.autograd.Node
    looked, edges = [], node.next_functions.fget
    monkeypatch.setattr(node, "next_functions", property(lambda self: looked.append(0) or edges(self)))

    def count(n):
        looked.clear()
        x = torch.ones(3)

        def chain(a):
            for _ in range(n):
                a = a.view(3, 1).sum(1) * a.dot(a)
            return a.sum()

        func.grad(lambda a: func.jvp(chain, (a,), (x,))[1])(x)
        return len(looked)

    assert count(20) - count(10) == count(30) - count(20) > 0


@pytest.mark.parametrize("recorded", [False, True])
def test_a_level_holds_no_tangents_of_what_is_gone(recorded):
    torch, func = autograd_lab, autograd_lab.func
    held = []

    def steps(a):
        for _ in range(9):
            a = a.tanh()
        held.append(len(THREAD.state.dual.directions[0].entries))
        return a

    func.jvp(steps, (torch.ones(3, requires_grad=recorded),), (torch.ones(3),))
    assert held[0] <= 3


def test_linearize_gives_what_jvp_gives():
    """Whatever the function writes, and where; PyTorch's linearize traces it, and does not see all of that."""
    torch, func = autograd_lab, autograd_lab.func
    x, v, w = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -1.0, 0.5]), torch.ones(3, requires_grad=True)

    @torch.no_grad()
    def pieces(a):
        b = a * w
        b.mul_(a)
        b[1:].mul_(a[:2])
        b[0] = a[2] * b[1]
        c = b.sin()
        b.add_(c)
        return b * c

    def twice(a):
        b = a * w
        c = b * w
        with torch.no_grad():
            b.mul_(2)
        return b * c

    for f in (pieces, lambda a: pieces(a) * w * a, twice):
        value, change = func.jvp(f, (x,), (v,))
        again, along = func.linearize(f, x)
        for t in (along(v), again, along(-v)):
            assert t.requires_grad == value.requires_grad
        assert torch.allclose(along(v), change)
        assert torch.allclose(along(-2 * v), -2 * change)
        assert torch.equal(again, value)


def test_the_jacobian_of_an_empty_input_has_the_type_of_the_result():
    torch, func = autograd_lab, autograd_lab.func
    for jacobian in (func.jacfwd, func.jacrev):
        empty = jacobian(lambda a: torch.ones(2, dtype=torch.float64) + a.sum())(
            torch.zeros(0, dtype=torch.float64)
        )
        assert (empty.shape, empty.dtype) == ((2, 0), torch.float64)


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS, lambda mine, theirs: differences(without_nodes(mine), without_nodes(theirs)))
