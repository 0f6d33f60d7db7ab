"""A node called by hand, `y.grad_fn(g)`, gives what it gives in PyTorch, as PyTorch left it, recorded and live.

Nobody has summed what broadcasting copied: that is the engine's work, once it knows where the gradients go.

To record: `python -m tests.record called_by_hand`.
"""

import importlib.util
import textwrap

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab

SETTING = """
def leaf(*shape, start=0.4, dtype=None):
    n = int(np.prod(shape))
    values = (np.arange(n) * 0.37 + start).reshape(shape).tolist()
    return torch.tensor(values, dtype=dtype or torch.float64, requires_grad=True)

def told(fn):
    try:
        r = fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:40]}"
    return [t if t is None else [list(t.shape), str(t.dtype), t.requires_grad, [round(x, 6) for x in t.detach().reshape(-1).tolist()]]
            for t in (r if isinstance(r, tuple) else (r,))]

def by_hand(y):
    g = torch.arange(1.0, y.numel() + 1, dtype=y.dtype).reshape(y.shape)
    return [y.grad_fn.name(), told(lambda: y.grad_fn(g))]
"""

BROADCASTS = [
    "a + b", "a - b", "a * b", "a / b", "a**b", "2.0**b", "a * 2.5", "2 - b", "torch.add(a, b, alpha=3)", "torch.sub(a, b, alpha=3)",
    "torch.rsub(a, b)", "torch.maximum(a, b)", "torch.minimum(a, b)", "torch.fmax(a, b)", "torch.fmin(a, b)", "torch.atan2(a, b)",
    "torch.fmod(a, b)", "torch.remainder(a, b)", "torch.hypot(a, b)", "torch.logaddexp(a, b)", "torch.logaddexp2(a, b)",
    "torch.xlogy(a, b)", "torch.special.xlog1py(a, b)", "torch.copysign(a, b)", "torch.nextafter(a, b)", "torch.float_power(a, b)",
    "torch.ldexp(a, b)", "torch.dist(a, b)", "torch.div(a, b, rounding_mode='floor')", "torch.clamp(a, min=b)",
    "torch.clamp(a, min=b - 0.2, max=b + 0.1)", "torch.lerp(a, b, 0.3)", "torch.lerp(a, b, c)", "torch.where(a > b, a, b)",
    "torch.where(c > 0.8, a, b)", "torch.addcmul(a, b, c, value=2)", "torch.addcdiv(a, b, c, value=2)", "torch.addcmul(c, a, b)",
    "torch.addcdiv(c, a, b)", "(a.expand(2, 3) * 1).add_(b)", "(a.expand(2, 3) * 1).mul_(b)", "(a.expand(2, 3) * 1).sub_(b, alpha=2)",
    "(a.expand(2, 3) * 1).div_(b)", "(a.expand(2, 3) * 1).pow_(b)", "(a.expand(2, 3) * 1).lerp_(b, 0.3)",
    "(a.expand(2, 3) * 1).addcmul_(b, c)", "(a.expand(2, 3) * 1).addcdiv_(b, c)", "(torch.zeros(2, 3, dtype=a.dtype) * 1).copy_(a)",
    "a.expand(2, 3).masked_fill(b > 0.6, c[0])", "torch.zeros(2, 3, dtype=a.dtype).index_put((torch.tensor([0, 1]),), c)",
    "F.l1_loss(a, b, reduction='none')", "F.mse_loss(a, b)", "F.huber_loss(a, b, reduction='none')",
    "F.smooth_l1_loss(a, b, reduction='sum')", "F.prelu(a - 0.6, c[:1])",
    "torch.addmm(c, a, b, beta=2, alpha=3)", "torch.addmv(c[0], b.expand(2, 3), c)", "torch.addr(c[0], a[:, 0], c)",
    "torch.baddbmm(c, a.expand(4, 2, 1), b.expand(4, 1, 3))", "torch.addbmm(c, a.expand(4, 2, 1), b.expand(4, 1, 3))",
    "F.linear(a, b.t(), c)", "a @ b", "torch.matmul(a.expand(4, 2, 1), b)", "torch.cross(b.expand(2, 3), c.expand(1, 3), dim=1)",
    "torch.einsum('ij,jk->ik', a, b)", "F.cosine_similarity(b, c.expand(4, 3))", "F.pairwise_distance(b, c.expand(4, 3))",
]  # fmt: skip
"""Every binary and ternary rule whose operands are broadcast, at shapes (2, 1), (1, 3) and (3,); and at others, if those fit."""

LINALG = [
    "torch.linalg.solve(m, v)", "torch.linalg.solve_triangular(m, v, upper=True)", "torch.cholesky_solve(v, m)", "torch.cdist(m, v)",
    "m @ v", "torch.kron(m, v)",
]  # fmt: skip

BODIES = {
    code: f"""
for name, shapes in {{'2': ((2, 1), (1, 3), (3,)), 'number': ((2, 1), (), (3,)), 'same': ((3,), (3,), (3,))}}.items():
    a, b, c = (leaf(*shape, start=0.4 + i / 7) for i, shape in enumerate(shapes))
    try:
        y = {code}
    except (RuntimeError, IndexError):
        continue  # these shapes do not fit
    out[name] = by_hand(y)
a, b, c = leaf(2, 1).detach(), leaf(1, 3, start=0.5), leaf(3, start=0.6).detach()
y = {code}
out['constants'] = by_hand(y) if y.requires_grad else None
"""
    for code in BROADCASTS
} | {
    code: f"""
for i, (k, n) in enumerate((((), ()), ((3,), ()), ((), (3,)), ((3,), (1,)))):
    m = (torch.eye(2, dtype=torch.float64) * 2 + 0.3).expand(*k, 2, 2).clone().requires_grad_()
    v = torch.arange(1.0, 5.0, dtype=torch.float64).reshape(2, 2).expand(*n, 2, 2).clone().requires_grad_()
    out[str(i)] = by_hand({code})
"""
    for code in LINALG
}

X = "x, w = leaf(2, dtype=torch.float32), leaf(2, 1, dtype=torch.float32)"

BODIES |= {
    "promotion": """
for code in ("a + b", "a - b", "a * b", "a / b", "a**b", "torch.where(a > b, a, b)", "torch.maximum(a, b)", "torch.hypot(a, b)"):
    a, b = leaf(2, 1, dtype=torch.float32), leaf(1, 3, start=0.5)
    out[code] = by_hand(eval(code))
""",
    "arguments": f"""
{X}
one = torch.ones(2, 2)
for name, args in {{"none": (None,), "two": (one, one), "no": (), "number": (1.0,), "list": ([1.0],)}}.items():
    out[name] = told(lambda: (x * w).grad_fn(*args))
for shape in ((), (1,), (2,), (3,), (2, 3), (2, 2, 2)):
    out[str(shape)] = told(lambda: (x * w).grad_fn(torch.ones(shape)))
for dtype in (torch.float64, torch.int64, torch.float16, torch.bool):
    out[str(dtype)] = told(lambda: (x * w).grad_fn(torch.ones(2, 2, dtype=dtype)))
v, _ = leaf(3, dtype=torch.float32).sort()
out["sort"] = [told(lambda: v.grad_fn(*args)) for args in ((torch.ones(3),), (torch.ones(3), None), (None,))]
parts = leaf(3, dtype=torch.float32).split(2)
out["split"] = [told(lambda: parts[0].grad_fn(*args)) for args in ((torch.ones(2), torch.ones(1)), (torch.ones(2), None), (None, None))]
""",
    "after_a_pass": f"""
one = torch.ones(2, 2)
for keep in (True, False):
    for op in ("mul", "add", "maximum", "where"):
        {X}
        y = torch.where(x > w, x, w) if op == "where" else getattr(torch, op)(x, w)
        y.sum().backward(retain_graph=keep)
        out[f"{{op}} {{keep}}"] = [told(lambda: y.grad_fn(one)), told(lambda: y.grad_fn(None))]
{X}
y = x * w
out["twice"] = [told(lambda: y.grad_fn(one)), told(lambda: y.grad_fn(one))]
with torch.no_grad():
    w.mul_(2)
out["overwritten"] = told(lambda: y.grad_fn(one))
""",
    "accumulators": f"""
def collect(g, old=None, grad=True):
    {X}
    node = (x * w).grad_fn.next_functions[0][0]
    x.grad = old
    def run():
        with torch.set_grad_enabled(grad):
            made = node(g)
        return (x.grad, *made)
    return told(run)
for grad in (True, False):
    for shape in ((2,), (), (1,), (3,), (2, 2)):
        out[f"{{shape}} {{grad}}"] = [collect(torch.ones(shape), None, grad), collect(torch.ones(shape), torch.ones(2), grad)]
out["none"] = [collect(None), collect(None, torch.ones(2))]
out["history"] = collect(torch.ones(2, requires_grad=True) * 2)
out["float64"] = collect(torch.ones(2, dtype=torch.float64))
{X}
node = (x * w).grad_fn.next_functions[0][0]
g = torch.ones(2)
out["result"] = [told(lambda: node(g)), told(lambda: node()), told(lambda: node(g, g))]
g.mul_(5)
out["copied"] = x.grad
""",
    "hooks": f"""
{X}
y, seen = x * w, []
y.register_hook(lambda g: seen.append("tensor"))
x.register_hook(lambda g: seen.append("leaf"))
x.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
for node in (y.grad_fn, y.grad_fn.next_functions[0][0]):
    node.register_prehook(lambda grads: seen.append("pre"))
    node.register_hook(lambda grads, given: seen.append("post"))
y.grad_fn(torch.ones(2, 2))
node = y.grad_fn.next_functions[0][0]
node(torch.ones(2))
node(None)
out["seen"] = seen
""",
}

PROGRAMS = {name: SETTING + textwrap.dedent(body) for name, body in BODIES.items()}
RECORDED = stored(__file__)


@pytest.fixture(autouse=True)
def _every_warning():
    """Some are given once in a process: another test may have had them."""
    libraries = [
        autograd_lab,
        *([importlib.import_module("torch")] if importlib.util.find_spec("torch") else []),
    ]
    for library in libraries:
        library.set_warn_always(True)
    yield
    for library in libraries:
        library.set_warn_always(False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_recorded(name):
    assert not differences(run(PROGRAMS[name], autograd_lab), RECORDED["results"][name])


def test_live():
    check_live(RECORDED, PROGRAMS)


def test_the_engine_still_sums():
    """What a node gives by hand is summed on the way to a leaf, and nothing else is changed by the call."""
    x = autograd_lab.tensor([1.0, 2.0], requires_grad=True)
    w = autograd_lab.tensor([[3.0], [4.0]], requires_grad=True)
    y = x * w
    to_x, to_w = y.grad_fn(autograd_lab.ones(2, 2))
    assert to_x.shape == to_w.shape == (2, 2)
    y.sum().backward()
    assert x.grad.tolist() == to_x.sum(0).tolist() == [7.0, 7.0]
    assert w.grad.tolist() == to_w.sum(1, keepdim=True).tolist() == [[3.0], [3.0]]
