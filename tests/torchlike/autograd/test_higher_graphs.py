"""The graphs of gradients, under create_graph: which nodes a VJP leaves, what they lead to, and in which order they were made.

Recorded and live. Of each function: its own graph, those of its gradients, and of one more derivative where that is the same.

To record: `python -m tests.record higher_graphs`.
"""

import pytest
from recorded import check_live, differences, run, stored

START = """
import warnings

def made_in_order(tensors):
    numbers = [t.grad_fn._sequence_nr() for t in tensors if t is not None and t.grad_fn is not None]
    return sorted(range(len(numbers)), key=numbers.__getitem__)

def look(fn, leaves, times):
    ys = fn(*leaves)
    ys = [ys] if isinstance(ys, torch.Tensor) else list(ys)
    out["own"] = [graph(y.grad_fn) for y in ys]
    for order in range(1, times + 1):
        ys = [y for y in ys if y is not None and y.requires_grad]
        if not ys:
            break
        sent = [torch.full_like(y, 0.5) for y in ys]
        ys = torch.autograd.grad(ys, leaves, sent, create_graph=True, allow_unused=True)
        out[f"{order}"] = [None if y is None else (y.requires_grad, graph(y.grad_fn)) for y in ys]
        out[f"{order} in order"] = made_in_order(ys)

def leaf(*shape):
    values = np.linspace(-0.7, 0.9, int(np.prod(shape))).reshape(shape) + 0.013
    return torch.tensor(values, requires_grad=True)

T = torch.tensor
square, line, image = leaf(2, 2), leaf(3), leaf(1, 2, 4, 4)
positive = leaf(2, 2).detach().abs().requires_grad_()
"""

ONE = """
x * 2
2 * x
x / 3
(x + 1) * x
(1 - x) * x
(x - 1) ** 2
x**3
x**0.5
2**x
torch.add(x, x * x, alpha=3)
torch.sub(x, x * x, alpha=3)
torch.rsub(x * x, x, alpha=2)
torch.remainder(x * x, 2)
torch.xlogy(x, 2.0)
(x * x).clamp(0, 1)
torch.lerp(x, x * x, 0.3)
torch.addcmul(x, x, x, value=3)
torch.where(x > 0, x * x, 2.0)
(x * x).masked_fill(x > 0, 2.0)
(x * x).mean()
(x * x).mean(0)
(x * x).abs()
(x * x).cumsum(0)
(x * 1).div_(2)
(x * 1).mul_(x).mul_(2)
(x * x).add_(1).mul_(x)
x * T(2.0)
x.exp()
x.log()
x.log1p()
x.expm1()
x.sqrt()
x.square()
x.sin()
x.tanh()
x.sigmoid()
x.atan()
x.asinh()
x.erf()
torch.softmax(x, -1)
torch.log_softmax(x, -1)
F.relu(x * x)
F.leaky_relu(x)
F.softplus(x, 2.0)
F.elu(x, 0.7)
F.selu(x)
F.silu(x)
F.gelu(x)
F.mse_loss(x, x * 0 + 1)
F.huber_loss(x, x * 0)
F.binary_cross_entropy_with_logits(x, x.detach() * 0 + 1)
F.cross_entropy(x, T([0, 1]))
F.cross_entropy(x, T([0, 1]), label_smoothing=0.1)
torch.special.ndtr(x)
""".strip().splitlines()

SEVERAL = {
    "product": ("lambda a, b: a * b", "square, square * 1"),
    "quotient": ("lambda a, b: a / b", "square, positive * 1"),
    "matrix product": ("lambda a, b: a @ b", "square, square * 1"),
    "batches": ("torch.bmm", "leaf(2, 2, 3), leaf(2, 3, 1)"),
    "addmm": ("lambda a, b, c: torch.addmm(a, b, c, beta=2, alpha=3)", "square, square * 1, square * 1"),
    "linear": ("F.linear", "leaf(4, 3), leaf(2, 3), leaf(2)"),
    "conv1d": ("lambda x, w, b: F.conv1d(x, w, b, stride=2)", "leaf(1, 2, 5), leaf(3, 2, 2), leaf(3)"),
    "conv2d without bias": ("F.conv2d", "image, leaf(2, 2, 3, 3)"),
    "conv2d of a frozen weight": ("lambda x: F.conv2d(x, torch.ones(2, 2, 3, 3).double())", "image,"),
    "conv2d of an input without gradient": ("lambda w: F.conv2d(image.detach(), w)", "leaf(2, 2, 3, 3),"),
    "conv_transpose2d": ("F.conv_transpose2d", "image, leaf(2, 3, 2, 2), leaf(3)"),
    "batch_norm": ("lambda x, w, b: F.batch_norm(x, None, None, w, b, True)", "leaf(4, 3), line, leaf(3)"),
    "batch_norm in evaluation": (
        "lambda x, w, b: F.batch_norm(x, torch.zeros(3).double(), torch.ones(3).double(), w, b)",
        "leaf(4, 3), line, leaf(3)",
    ),
    "batch_norm of frozen weights in evaluation": (
        "lambda x: F.batch_norm(x, torch.zeros(3).double(), torch.ones(3).double(), line.detach())",
        "leaf(4, 3),",
    ),
    "layer_norm": ("lambda x, w, b: F.layer_norm(x, (3,), w, b)", "leaf(4, 3), line, leaf(3)"),
    "instance_norm": ("lambda x, w, b: F.instance_norm(x, None, None, w, b)", "leaf(2, 3, 4), line, leaf(3)"),
    "instance_norm without weights": ("lambda x: F.instance_norm(x)", "leaf(2, 3, 4),"),
    "glu": ("F.glu", "square,"),
    "soft_margin_loss": ("lambda x: F.soft_margin_loss(x, torch.ones_like(x))", "square,"),
    "prelu": ("F.prelu", "leaf(2, 3), line"),
    "grid_sample": ("lambda x, g: F.grid_sample(x, g, align_corners=False)", "image, leaf(1, 2, 2, 2)"),
    "pools of volumes": (
        "lambda x: (F.avg_pool3d(x, 2), F.max_pool3d(x, 2), F.adaptive_avg_pool3d(x, 2), F.adaptive_max_pool3d(x, 2))",
        "leaf(1, 1, 3, 4, 4),",
    ),
    "a custom function's own steps": (
        "(lambda f: (lambda x: f.apply(x)))(type('Twice', (torch.autograd.Function,), dict(forward=staticmethod(lambda ctx, x: "
        "(ctx.save_for_backward(x), x * x * 2)[1]), backward=staticmethod(lambda ctx, g: g * 4 * ctx.saved_tensors[0] + 0))))",
        "square,",
    ),
    "a hook's own steps": (
        "lambda x: (lambda y: (y.register_hook(lambda g: g * 3), y)[1])(x * x) * 1",
        "square,",
    ),
}

BEYOND_ZERO = ("log", "sqrt", "**0.5")
"""Functions that are given positive numbers."""

PROGRAMS = {}
for line in ONE:
    leaves = "positive" if any(part in line for part in BEYOND_ZERO) else "square"
    PROGRAMS[line] = START + f"look(lambda x: {line}, [{leaves}], 2)"
for name, (fn, leaves) in SEVERAL.items():
    own = f"[t.detach().clone().requires_grad_() for t in ({leaves})]"
    PROGRAMS[name] = START + f"look({fn}, {own}, 1)"
PROGRAMS["weight_norm"] = (
    START
    + """
warnings.simplefilter("ignore")
for dim in (0, 1, None):
    for kind, norm in (("new", torch.nn.utils.parametrizations.weight_norm), ("old", torch.nn.utils.weight_norm)):
        layer = norm(nn.Linear(2, 3), dim=dim)
        y = layer(torch.ones(1, 2))
        out[f"{dim} {kind}"] = graph(y.grad_fn)
"""
)

PROGRAMS["a custom function that writes into a part"] = (
    START
    + """
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 2

x = square.detach().clone().requires_grad_()
y = x * x
Doubled.apply(y[0])
g, = torch.autograd.grad(y.sin().sum(), x, create_graph=True)
out["products by a number"] = graph(y.grad_fn), graph(g.grad_fn).count("MulBackward1")
"""
)

# Writes through views: what goes back through them is written through the same sizes, strides and offsets.
WRITES = {
    "a column": "v = y[:, 1]; v.mul_(w[:2])",
    "a column, seen through it": "v = y[:, 1]; v.mul_(w[:2]); y = v",
    "a row, and then the whole": "y[0].mul_(w); y.mul_(w)",
    "a part of a part": "y[1:][:, 1:].mul_(w[1:])",
    "a transposed view": "y.t().mul_(w[:2])",
    "a base in another order": "y = y.t().contiguous().t(); y[0].mul_(w)",
    "a diagonal": "y.diagonal().mul_(w[:2])",
    "numbers": "y[0] = 5.0; y[1:].zero_()",
    "numbers into all of it": "y.view(-1).zero_()",
    "a tensor": "y[0] = w * 2",
    "a tensor, broadcast": "y[:, :2] = w[:2]",
    "two views of one memory": "a, b = y[0], y.view(-1)[1:4]; a.mul_(w); b.mul_(w); y = y * b.sum() + a",
    "as_strided, places shared": "y = y.as_strided((2, 2), (1, 1))",
    "as_strided, with dims of one and repeated": "y = y.as_strided((2, 1, 3), (0, 1, 1), 2)",
    "as_strided of a column": "y = y[:, 1].as_strided((2, 2), (1, 2))",
    "as_strided of a column, from before it": "y = y[:, 1].as_strided((2, 2), (1, 2), 0)",
    "as_strided of a column, from behind its first element": "y = y[:, 1].as_strided((2,), (1,), 3)",
    "as_strided of what is expanded": "y = y[0].expand(2, 3).as_strided((3,), (1,))",
    "as_strided of what is expanded, from its second element": "y = y[0].expand(2, 3).as_strided((2,), (1,), 1)",
    "as_strided without elements": "y = y.as_strided((0, 3), (1, 1)) * w",
    "a piece without elements": "y[2:].mul_(w)",
    "one element": "y.sum().view(1).mul_(w[0])",
    "a view of a number": "y = y.sum(); y.view(1).mul_(w[:1])",
    "by what saves its result": "v = y[0]; v.exp_(); y = v + y.sum()",
    "by what saves its result, then seen no more": "y[0].sigmoid_()",
    "a number by a number": "y = y.sum(); y[...] = w[0] * 2",
}
for name, line in WRITES.items():
    PROGRAMS["written: " + name] = (
        START
        + f"""
x, w = T([[0.5, -1.0, 2.0], [1.5, 3.0, -0.5]], requires_grad=True), T([2.0, -3.0, 0.5], requires_grad=True)

def program(x, w):
    y = x * x
    {line}
    return y * y

look(program, [x, w], 2)
grads = torch.autograd.grad(program(x, w).sum(), [x, w], allow_unused=True)
out["gradients"] = [None if g is None else g.tolist() for g in grads]
grads = torch.autograd.grad(program(x, w).sum(), [x, w], allow_unused=True, create_graph=True)
out["the same with a graph"] = [None if g is None else (g.tolist(), g.stride(), g.storage_offset()) for g in grads]
"""
    )

PROGRAMS["a custom function that sends nothing to the part it writes"] = (
    START
    + """
class Overwritten(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.mark_dirty(x)
        return x.copy_(by)

    @staticmethod
    def backward(ctx, g):
        return None, g

x, by = square.detach().clone().requires_grad_(), T([1.0, 2.0], requires_grad=True)
y = x * x
Overwritten.apply(y[0], by)
to_x, to_by = torch.autograd.grad(y.sum(), [x, by], allow_unused=True)
out["to the base"], out["to the other"] = to_x, to_by.tolist()
"""
)

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_steps_are_those_of_pytorch(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)
