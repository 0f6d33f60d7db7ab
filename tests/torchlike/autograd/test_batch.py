"""Batches: vmap, batched gradients and the checks of both refuse what PyTorch refuses, and share what it shares.

To record: `python -m tests.record batch`.
"""

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab
from autograd_lab.autograd.batch import Batch
from autograd_lab.tracing.recorder import Recorder, record

START = """
from torch.func import *
x = torch.arange(6.0).view(3, 2)
acc, table = torch.zeros(2), torch.zeros(3, 2)

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:190]}"

def then(*steps):
    return steps[-1]

"""

# What is done to each row `a` of x. `shared` is a tensor that all rows share, made in the function.
ROWS = """
a.sum().item() + a
float(a.sum()) * a
int(a.sum()) * a
[a, -a][a.sum().long()]
[a for _ in range(a.sum().long())]
x[0][: a.sum().long() % 2]
a if a.sum() > 3 else -a
a if not a.sum() else -a
a if torch.is_nonzero(a.sum()) else -a
a if torch.equal(a, x[0]) else -a
a if torch.equal(x[0], a) else -a
a if torch.allclose(a, x[0]) else -a
a if x.sum() > 3 else -a
a * x.sum().item()
torch.tensor(a.tolist())
torch.from_numpy(a.numpy())
torch.from_numpy(a.detach().numpy())
torch.as_tensor(np.asarray(a))
torch.tensor([a.sum(), 1.0])
torch.tensor([[1.0], [a.sum()]])
torch.as_tensor(a)
f"{a.sum():.2f}"
torch.full((2,), a.sum())
torch.arange(a.sum())
torch.linspace(0, a.sum(), 3)
torch.logspace(0, a.sum(), 3)
a.clamp(0, a.max())
a.nonzero()
torch.where(a)
torch.where(a > 1, a, 0.0)
torch.argwhere(a + 1)
a[a > 1]
x[0][a > 1]
a[x[0] > 0]
a[a.argmax()]
x[a.argmax()]
a.masked_select(a > 1)
a.masked_select(x[0] > 0)
a.masked_fill(a > 1, 0.0)
then(b := a.clone(), b.__setitem__(b > 1, 0.0), b)
then(b := a.clone(), b.__setitem__(x[0] > 0, 0.0), b)
a.unique()
a.unique_consecutive()
torch.combinations(a)
F.one_hot(a.long())
F.one_hot(a.long(), 6)
F.embedding(torch.tensor([0, 1]), x + a[0], max_norm=1.0)
torch.quantile(x[0], a / 10)
torch.linalg.pinv(torch.eye(2), atol=a / 10)
torch.repeat_interleave(a, torch.tensor([1, 2]))
torch.searchsorted(x[2], a)
a + torch.rand(2)
a + torch.randn_like(a)
a[torch.randperm(2)]
a.clone().uniform_()
F.dropout(a)
torch.zeros(2).add_(a)
torch.zeros(2).mul_(a)
torch.zeros(2).copy_(a)
torch.zeros(2).fill_(a.sum())
torch.zeros(2).masked_fill_(a > 1, 0.0)
torch.zeros(2).index_add_(0, torch.tensor([0, 1]), a)
torch.zeros(2).index_copy_(0, torch.tensor([0, 1]), a)
torch.zeros(2).scatter_(0, torch.tensor([0, 1]), a)
torch.zeros(2).scatter_add_(0, torch.tensor([0, 1]), a)
torch.zeros(2).addcmul_(a, a)
torch.zeros(2).lerp_(a, 0.5)
torch.ones(2).pow_(a)
torch.ones(2).clamp_(a)
torch.ones(2).gt_(a)
torch.ones(2).logical_and_(a)
torch.ones(2).atan2_(a)
torch.zeros(2).addmv_(torch.ones(2, 2), a)
then(shared := torch.zeros(2), shared.__setitem__(0, a[0]), shared)
then(shared := torch.zeros(2), shared.__setitem__(slice(None), a), shared)
then(shared := torch.zeros(2), shared.__setitem__(torch.tensor([0, 1]), a), shared)
then(shared := torch.zeros(2), shared.__setitem__(a.long() % 2, 1.0), shared)
then(shared := torch.zeros(2), shared.__setitem__(0, x[2, 0]), shared + a)
torch.zeros(2).data.add_(a)
a.data.add_(1)
a.new_zeros(2).add_(a)
a.new_full((2,), 1.0).add_(a)
a.new_ones(2).add_(a)
a.new_empty(2).zero_().add_(a)
a.new_tensor([0.0, 0.0]).add_(a)
torch.zeros_like(a).add_(a)
torch.full_like(a, 2.0).add_(a)
torch.empty_like(a).zero_().add_(a)
a.long().add_(a.long())
a.sum(dtype=torch.int64).add_(a.long()[0])
a.to(torch.float64).add_(a)
a.detach().clone().add_(a)
a.clone().view(2, 1).add_(a[0])
a.add_(1)
a.split(1)[0].add_(a[1:])
acc.add_(a)
acc.add_(1) + a
then(acc.add_(1), acc.add_(1), acc + a)
then(table[0].add_(1), table.sum() + a)
then(table.view(-1)[1:3].mul_(2).add_(1), table[0] + a)
F.batch_norm(a.view(1, 2).expand(3, 2), torch.zeros(2), torch.ones(2), training=True)
F.batch_norm(x, acc, torch.ones(2), training=True)[0] + a
torch.zeros(2)
len(a) * a
sum(v for v in a)
torch.bincount(a.long(), minlength=6)
a + a.storage_offset()
a[1:] + a[1:].storage_offset()
a.as_strided((1,), (1,), 1)
a.as_strided((2,), (0,))
a[1:].as_strided((1,), (1,), a[1:].storage_offset())
a.clone().as_strided((1,), (1,), 1)
x.as_strided((2,), (1,), 1) + a
then(a.as_strided((1,), (1,), 1).mul_(0), a)
grad(lambda v: (v.as_strided((2,), (0,), 1) ** 2).sum())(a)
vmap(lambda v: v.as_strided((1,), (1,), 0))(a.view(2, 1))
jvp(lambda p, q: then(p.view(1, 2).mul_(q), p), (a.clone(), a), (a, a + 1))
grad(lambda v: then(b := v.clone(), b[:1].mul_(v[1:]), b.sum()))(a)
grad(lambda v: grad(lambda u: then(b := u * 1, b[:1].mul_(u[1:]), (b**2).sum()))(v).sum())(a)
F.max_pool1d(a[None], 2, return_indices=True)[1].sum().item() + a
vmap(lambda v: v + a)(x)
vmap(lambda v: v + a.sum().item())(x)
vmap(lambda v: a + v.sum().item())(x)
vmap(lambda v: a + x.sum().item())(x)
vmap(lambda v: a.clone().add_(v))(x)
vmap(lambda v: torch.zeros(2).add_(v))(x)
vmap(lambda v: acc.add_(1) + a + v)(x)
vmap(lambda v: v.clone().add_(a))(x)
vmap(lambda v: v, out_dims=None)(x)
vmap(lambda v: a, out_dims=None)(x)
grad(lambda v: (v * v).sum())(a)
grad(lambda v: (v * v).sum())(a).sum().item() + a
grad(lambda v: (v * v).sum())(x[0]).sum().item() + a
grad(lambda v: (v * a).sum())(x[0]).sum().item() + a
jvp(lambda v: v * v, (a,), (a,))[1].sum().item() + a
"""

KINDS = {
    "different": [
        "torch.rand(2) > 0",
        "acc.uniform_()",
        "(torch.rand(2) * 0).sum().item() + a",
        "torch.zeros(2).add_(torch.rand(2)) > 0",
        "a + (F.dropout(torch.ones(2), 0.5) > 5)",
    ],
    "same": [
        "torch.rand(2) - torch.rand(2) < 2",
        "then(torch.manual_seed(0), a + (torch.rand(2) * 0).sum().item())",
    ],
}

FUNCTION = """
class F_(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return WAY(g, x)

x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
acc = torch.zeros(3, dtype=torch.float64)
WAY = lambda g, x: """

WAYS = """
2 * g
2 * g * g.sum().item()
2 * g + 0 * x[0].item()
then(acc.add_(1), 2 * g + 0 * acc)
then(acc.add_(g), 2 * g)
2 * g.detach()
2 * g + 0 * x.detach()
torch.zeros_like(x).add_(g)
torch.zeros_like(g).add_(2 * g)
g.new_zeros(3).add_(2 * g)
2 * g + 0 * torch.rand(3)
torch.where(g > 0, 2 * g, 2 * g)
2 * g if g.sum() < 100 else g
2 * g if x.sum() < 100 else g
then(h := 2 * g, h.__setitem__(0, 5.0), h)
2 * torch.from_numpy(g.detach().numpy())
2 * torch.tensor(g.tolist(), dtype=torch.float64)
2 * g if torch.equal(g, g) else g
then(g.nonzero(as_tuple=False), 2 * g)
None
"""

CHECKS = {
    "grad": "out['r'] = told(lambda: torch.autograd.grad(F_.apply(x), x, torch.eye(3).double(), is_grads_batched=True, allow_unused=True))",
    "recorded": "out['r'] = told(lambda: [g if g is None else g.detach() for g in torch.autograd.grad(F_.apply(x) * x, x, torch.eye(3).double(), is_grads_batched=True, create_graph=True)])",
    "gradcheck": """
for fast in (False, True):
    for raised in (True, False):
        out[f"{fast} {raised}"] = told(
            lambda: torch.autograd.gradcheck(F_.apply, (x,), check_batched_grad=True, fast_mode=fast, raise_exception=raised)
        )
""",
    "behind others": "out['r'] = told(lambda: torch.autograd.grad(F_.apply(x.sin()).cos(), x, torch.eye(3).double(), is_grads_batched=True))",
    "jacobian": "out['r'] = told(lambda: torch.autograd.functional.jacobian(F_.apply, x.detach(), vectorize=True))",
}  # fmt: skip

OTHERS = {
    "a memory kept from one turn to the next": """
kept = {}

def mask(n):
    if n not in kept:
        kept[n] = torch.zeros(n)
        kept[n][0] = 1
        kept[n].add_(1)
    return kept[n]

out["r"] = vmap(lambda a: a * mask(2))(x), kept[2]
out["nested"] = vmap(lambda a: vmap(lambda b: a * b * mask(2))(x))(x), kept[2]
""",
    "what all share is written once": """
out["r"] = vmap(lambda a: then(acc.add_(1), acc * a))(x), acc, acc._version
out["nested"] = vmap(lambda a: vmap(lambda b: then(table.add_(1), table[0] * a * b))(x))(x), table
norm = torch.nn.BatchNorm1d(2)
out["norm"] = vmap(lambda a: norm(x) + a)(x), norm.running_mean, norm.num_batches_tracked
leaf = torch.ones(2, requires_grad=True)
h = leaf * 1
out["history"] = told(lambda: vmap(lambda a: then(h.mul_(2), h * a))(x).sum().backward()), leaf.grad
""",
    "what is refused has no effect": """
out["r"] = told(lambda: vmap(lambda a: acc.add_(a))(x)), acc, told(lambda: vmap(lambda a: table[1:].copy_(a))(x)), table
weight = x.clone()
out["embedding"] = told(lambda: vmap(lambda a: F.embedding(a.long(), weight, max_norm=0.5))(x % 3))[:20], weight
""",
    "after an error all is as before": """
told(lambda: vmap(lambda a: a.sum().item())(x))
out["r"] = x.sum().item(), bool(x.sum() > 3), x[x > 2], torch.zeros(2).add_(x[0])
kept = []
vmap(lambda a: then(kept.append(a), a))(x)
""",
    "a Function with a vmap of its own": """
class Sorted(torch.autograd.Function):
    @staticmethod
    def forward(x, dim):
        order = np.argsort(x.detach().numpy(), dim)
        return torch.from_numpy(np.take_along_axis(x.detach().numpy(), order, dim)), torch.from_numpy(order)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[1]
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, g, _):
        (order,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(ctx.dim, order, g), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        x = x.movedim(in_dims[0], 0)
        return Sorted.apply(x, dim if dim < 0 else dim + 1), (0, 0)

y = torch.tensor([[3.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
out["each"] = vmap(lambda a: Sorted.apply(a, 0)[0])(y)
out["nested"] = vmap(vmap(lambda a: Sorted.apply(a, -1)))(torch.stack([y, -y]))
out["gradient"] = vmap(grad(lambda a: (Sorted.apply(a, 0)[0] * torch.arange(3.0)).sum()))(y)
out["after"] = told(lambda: vmap(lambda a: Sorted.apply(a, 0)[0].sum().item())(y))[:50]
Sorted.vmap = torch.autograd.Function.vmap
out["none"] = told(lambda: vmap(lambda a: Sorted.apply(a, 0)[0])(y))[:60]
Sorted.generate_vmap_rule = True
out["made"] = told(lambda: vmap(lambda a: Sorted.apply(a, 0)[0])(y))[:50]
""",
    "operations of one's own": """
@torch.library.custom_op("tests_of_batches::sin3", mutates_args=())
def sin3(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.numpy()) * 3)

@torch.library.custom_op("tests_of_batches::add_to", mutates_args=("x",))
def add_to(x: torch.Tensor, y: torch.Tensor) -> None:
    x.numpy()[...] += y.numpy()

out["each"] = vmap(sin3)(x)
out["item"] = told(lambda: vmap(lambda a: sin3(a).sum().item() + a)(x))[:60]
out["written"] = told(lambda: vmap(lambda a: then(add_to(acc, a), a))(x))[:60], acc
""",
    "Jacobians and products of torch.func": """
class S(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        return WAY(g, ctx.saved_tensors[0])

class U(S):
    generate_vmap_rule = False

v = torch.tensor([1.0, 2.0, 3.0])
for name, WAY in {
    "right": lambda g, x: g * 2,
    "item": lambda g, x: g * 2 + 0 * g.sum().item(),
    "item of the value": lambda g, x: g * 2 + 0 * x.sum().item(),
    "branch": lambda g, x: g * 2 if g.sum() < 100 else g,
    "write": lambda g, x: torch.zeros(3).add_(g * 2),
    "draw": lambda g, x: g * 2 + 0 * torch.rand(3),
}.items():
    out[name + ", jacrev"] = told(lambda: jacrev(S.apply)(v))
    out[name + ", jacrev of U"] = told(lambda: jacrev(U.apply)(v))
    out[name + ", jacrev of jacrev"] = told(lambda: jacrev(jacrev(lambda a: S.apply(a) * a))(v))
    out[name + ", a batch of jacrev"] = told(lambda: vmap(jacrev(S.apply))(torch.stack([v, v + 1])))
    out[name + ", products"] = told(lambda: vmap(vjp(S.apply, v)[1])(torch.eye(3))[0])
out["jacfwd of U"] = told(lambda: jacfwd(U.apply)(v))
for name, f in {
    "item": lambda a: a * a.sum().item(),
    "branch": lambda a: a * a if a.sum() > 0 else a,
    "draw": lambda a: a * (1 + 0 * torch.rand(3)),
    "write": lambda a: torch.zeros(3).add_(a),
    "mask": lambda a: a[a > 1] ** 2,
}.items():
    out[name + ", jacrev of it"] = told(lambda: jacrev(f)(v))
    out[name + ", jacfwd of it"] = told(lambda: jacfwd(f)(v))
    out[name + ", hessian of it"] = told(lambda: hessian(lambda a: f(a).sum())(v))
    out[name + ", batch of its jacrev"] = told(lambda: vmap(jacrev(f))(torch.stack([v, v + 1])))
out["draws that may"] = told(lambda: jacfwd(lambda a: a * (1 + 0 * torch.rand(3)), randomness="same")(v))
""",
    "a Jacobian of nothing": """
for n in (0, 2):
    inputs = torch.ones(n), torch.ones(0, 3)
    out[str(n)] = torch.autograd.functional.jacobian(lambda a, b: a * 2, inputs, vectorize=True, strategy="forward-mode")
""",
    "hooks": """
seen = []
y = torch.tensor([1.0, 2.0], requires_grad=True)
z = y * y
z.register_hook(lambda g: seen.append(told(lambda: g.sum().item())))
out["r"] = told(lambda: torch.autograd.grad(z, y, torch.eye(2), is_grads_batched=True)), seen[0]
z = y * y
z.register_hook(lambda g: 2 * g)
out["twice"] = torch.autograd.grad(z, y, torch.eye(2), is_grads_batched=True)
""",
    "tangents": """
class J(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

    @staticmethod
    def jvp(ctx, t):
        return WAY(ctx.saved_tensors[0], t)

d = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
for name, WAY in {
    "right": lambda x, t: 2 * x * t,
    "item": lambda x, t: 2 * x * t + 0 * t.sum().item(),
    "item of the value": lambda x, t: 2 * x * t + 0 * x.sum().item(),
    "branch": lambda x, t: 2 * x * t if t.sum() < 100 else t,
    "write": lambda x, t: torch.zeros_like(x).add_(2 * x * t),
}.items():
    out[name] = told(lambda: torch.autograd.gradcheck(J.apply, (d,), check_forward_ad=True, check_batched_forward_grad=True))
    out[name + ", not checked"] = told(lambda: torch.autograd.gradcheck(J.apply, (d,), check_forward_ad=True))
    out[name + ", forward Jacobian"] = told(
        lambda: torch.autograd.functional.jacobian(J.apply, d.detach(), vectorize=True, strategy="forward-mode")
    )
WAY = lambda x, t: 2 * x * t + 0 * t.sum().item()
out["behind others"] = told(
    lambda: torch.autograd.gradcheck(lambda x: J.apply(x.sin()), (d,), check_forward_ad=True, check_batched_forward_grad=True)
)
for name, f in {"exp": torch.exp, "two": lambda x: (x * 2, x.sum()), "none": lambda x: x.detach() * 1}.items():
    out[name] = told(lambda: torch.autograd.gradcheck(f, (d,), check_forward_ad=True, check_batched_forward_grad=True, check_batched_grad=True))
""",
    "the checks draw from the default generator": """
d = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
for name, checks in {"none": {}, "gradients": {"check_batched_grad": True}, "both": {
    "check_batched_grad": True, "check_batched_forward_grad": True, "check_forward_ad": True}}.items():
    torch.manual_seed(0)
    out[name] = torch.autograd.gradcheck(lambda x: (x * x, x.sum()), (d,), **checks), torch.rand(2) if name == "none" else None
out["second"] = torch.autograd.gradgradcheck(lambda x: x.sin() * x, (d,), check_batched_grad=True)
""",
    "a gradient for each": """
y = torch.ones(2, 3, requires_grad=True)
z = (y * 2, y.sum(), y * y)
out["several"] = torch.autograd.grad(z, y, (torch.ones(4, 2, 3), torch.arange(4.0), torch.ones(4, 2, 3)), is_grads_batched=True)
other = torch.ones(2, requires_grad=True)
out["unused"] = told(lambda: torch.autograd.grad(z[0], (y, other), torch.ones(4, 2, 3), is_grads_batched=True, allow_unused=True))
""",
}  # fmt: skip

PROGRAMS = {
    **{
        line: START
        + f"out['r'] = told(lambda: vmap(lambda a: {line})(x.clone()))\nout['acc'], out['table'] = acc, table"
        for line in ROWS.strip().splitlines()
    },
    **{
        f"{kind}: {line}": START
        + f"out['r'] = told(lambda: vmap(lambda a: {line}, randomness={kind!r})(x.clone()))\nout['acc'] = acc.shape"
        for kind, lines in KINDS.items()
        for line in lines
    },
    **{
        f"{name}: {way}": START + FUNCTION + way + "\n" + check
        for way in WAYS.strip().splitlines()
        for name, check in CHECKS.items()
    },
    **{name: START + code for name, code in OTHERS.items()},
}
STORED = stored(__file__)


def without_nodes(value):
    """The result without the names of nodes and the warnings: those of a batched rule differ from those of a loop."""
    if isinstance(value, dict):
        return {k: without_nodes(v) for k, v in value.items() if k not in ("node", "warnings")}
    return [without_nodes(v) for v in value] if isinstance(value, list) else value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch.func", autograd_lab.func)
    mine, theirs = run(PROGRAMS[name], autograd_lab), STORED["results"][name]
    assert not differences(without_nodes(mine), without_nodes(theirs))


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS, lambda mine, theirs: differences(without_nodes(mine), without_nodes(theirs)))


def test_a_batch_hears_of_everything_a_recorder_is_told():
    """It stands in the recorder's place, where an event without a method would be an AttributeError."""
    events = {name for name, fn in vars(Recorder).items() if callable(fn) and not name.startswith("_")}
    own = {
        "beginning",
        "builder",
        "finish",
        "find_names",
        "here",
        "knows",
        "lists",
        "mark",
        "missed",
        "number_of",
        "owner_of",
        "restore",
        "so_far",
        "tensor_type",
        "up_to_date",
        "why",
    }
    assert {name for name in events - own if not hasattr(Batch, name)} == set()


def test_a_recorder_around_a_batch_sees_what_happens_inside():
    torch = autograd_lab
    with record() as tape:
        torch.func.vmap(lambda a: a.sin())(torch.ones(3, 2, requires_grad=True))
    assert sum(event["k"] == "node" for event in tape.events) >= 6  # select and sin, three times


def test_batches_in_a_batch_under_a_recorder():
    """The inner one finds the outer one behind the pair that stands for it and the recorder."""
    torch = autograd_lab
    x, shared = torch.ones(3, 2), torch.zeros(2)

    def inner(a, b):
        shared.add_(1)
        return a * b + shared

    with record():
        result = torch.func.vmap(lambda a: torch.func.vmap(lambda b: inner(a, b))(x))(x)
        with pytest.raises(RuntimeError, match=r"\[2\] doesn't match the broadcast shape \[3, 3, 2\]"):
            torch.func.vmap(lambda a: torch.func.vmap(lambda b: torch.zeros(2).add_(a * b))(x))(x)
    assert (result == 2).all()
    assert shared.tolist() == [1, 1]


def test_a_compiled_function_in_a_batch():
    torch = autograd_lab
    f = torch.compile(lambda a: (a.sin() * 2).sum())
    x = torch.arange(6.0).view(3, 2)
    for _ in range(3):
        assert torch.allclose(torch.func.vmap(f)(x), (x.sin() * 2).sum(1))
        assert torch.allclose(torch.func.vmap(torch.func.grad(f))(x), 2 * x.cos())


def test_nothing_is_left_behind():
    """Nobody looks on any more, and tensors that left hold no batch that holds others."""
    from autograd_lab.autograd.modes import THREAD, WATCHERS

    torch = autograd_lab
    torch.func.vmap(lambda a: torch.func.vmap(lambda b: a + b)(a))(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match="item"):
        torch.func.vmap(lambda a: a.sum().item())(torch.ones(3, 2))
    kept = []
    torch.func.vmap(lambda a: kept.append(a) or a)(torch.ones(3, 2))
    torch.func.vmap(lambda a: kept[0].sum().item() + a)(torch.ones(3, 2))
    state = THREAD.state
    assert (WATCHERS, state.watch, state.special, state.again) == ([], None, False, False)
