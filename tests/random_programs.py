"""Small random programs for test_random_programs: what a program may do, and an interpreter for any torch-like module.

A program is data: the leaves, then steps (operation, i, j, k), whose numbers pick tensors and variants modulo what there is.
`run` executes it on a module and notes what happened after every step and at the end, in plain Python values, so that the
notes of two modules can be compared.
"""

import math
import warnings

import numpy as np
from graphs import nested
from hypothesis import strategies as st

SHAPES = [(), (3,), (2, 3), (1, 3), (2, 1), (2, 2)]
NUMBERS = [2.0, -0.5, 3, 0.25]

UNARY = ["neg", "exp", "sin", "tanh", "sigmoid", "abs", "square", "relu", "clone", "cos"]
BINARY = ["add", "sub", "mul", "div", "maximum"]
INPLACE_UNARY = ["neg_", "exp_", "sin_", "tanh_", "sigmoid_", "relu_", "zero_", "square_"]
INPLACE_BINARY = ["add_", "sub_", "mul_", "div_", "copy_"]


def program(steps=8, kinds=None):
    """A strategy for whole programs of up to so many steps, of the given kinds."""
    number = st.integers(0, 11)
    step = st.tuples(st.sampled_from(kinds or sorted(STEPS)), number, number, number)
    leaf = st.tuples(st.integers(0, len(SHAPES) - 1), st.booleans(), st.integers(0, 5))
    return st.tuples(st.lists(leaf, min_size=1, max_size=3), st.lists(step, min_size=1, max_size=steps))


class Run:
    """The state of a running program: the tensors so far, and what happened."""

    def __init__(self, torch):
        self.torch = torch
        self.tensors = []
        self.notes = []
        self.seen = []  # what hooks were given

    def pick(self, i):
        """Tensor number i, counted from the newest."""
        return self.tensors[-1 - i % len(self.tensors)]


def share_memory(x, y):
    """Whether two tensors are views of one memory."""
    return x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()


STEPS = {}


def step(fn):
    """Register a kind of step under its name."""
    STEPS[fn.__name__] = fn
    return fn


@step
def unary(p, i, j, k):
    return getattr(p.pick(i), UNARY[k % len(UNARY)])()


@step
def binary(p, i, j, k):
    return getattr(p.torch, BINARY[k % len(BINARY)])(p.pick(i), p.pick(j))


@step
def with_number(p, i, j, k):
    return WITH_NUMBER[k % len(WITH_NUMBER)](p.pick(i), NUMBERS[j % len(NUMBERS)])


WITH_NUMBER = [
    lambda x, n: x + n, lambda x, n: x - n, lambda x, n: x * n, lambda x, n: x / n, lambda x, n: n - x, lambda x, n: n * x,
    lambda x, n: x**2, lambda x, n: x**3, lambda x, n: n / x,
]  # fmt: skip


@step
def view(p, i, j, k):
    x = p.pick(i)
    n = x.shape[0] if x.ndim else 1
    kind = j % 8
    if kind == 0:
        return x.reshape(-1)
    if kind == 1:
        return x[k % n] if x.ndim else x[...]
    if kind == 2:
        return x[k % 2 :] if x.ndim else x.unsqueeze(0)
    if kind == 3:
        return x.t() if x.ndim < 3 else x
    if kind == 4:
        return x.unsqueeze(k % (x.ndim + 1))
    if kind == 5:
        return x.view(x.shape)
    if kind == 6:
        return x.expand(2, *x.shape)
    return x.squeeze()


@step
def strided_view(p, i, j, k):
    x = p.pick(i)
    last, kind = x.ndim - 1, j % 8
    if x.ndim == 0:
        return x.reshape(1)
    if kind == 0:
        return x.diagonal() if x.ndim > 1 else x.unsqueeze(-1)
    if kind == 1:
        return x.unfold(last, 1, 1)
    if kind == 2:
        return x.as_strided(x.shape, x.stride())
    if kind == 3:
        return x.narrow(last, k % 2, 1)
    if kind == 4:
        return x.select(last, 0)
    if kind == 5:
        return x.transpose(0, last)
    if kind == 6:
        return x.permute(*reversed(range(x.ndim)))
    return x[..., k % 2 :]


@step
def several_views(p, i, j, k):
    x = p.pick(i)
    parts = x.unbind() if j % 2 else x.split(1)
    p.tensors.extend(parts[1:])
    return parts[0]


@step
def detach(p, i, j, k):
    return p.pick(i).detach()


@step
def reduce(p, i, j, k):
    x = p.pick(i)
    kind = k % 5
    if kind == 0:
        return x.sum()
    if kind == 1:
        return x.mean()
    if kind == 2:
        return x.sum(0, keepdim=bool(j % 2))
    if kind == 3:
        return x.amax()
    return x.prod()


@step
def join(p, i, j, k):
    x, y = p.pick(i), p.pick(j)
    return p.torch.cat([x, y]) if k % 2 else p.torch.stack([x, y])


@step
def inplace_unary(p, i, j, k):
    return getattr(p.pick(i), INPLACE_UNARY[k % len(INPLACE_UNARY)])()


@step
def inplace_binary(p, i, j, k):
    x, y = p.pick(i), p.pick(j)
    if y is not x and share_memory(x, y):
        y = y.clone()  # of an operand that overlaps the target PyTorch may read what it has overwritten
    return getattr(x, INPLACE_BINARY[k % len(INPLACE_BINARY)])(y)


@step
def inplace_number(p, i, j, k):
    x, n = p.pick(i), NUMBERS[j % len(NUMBERS)]
    return [x.add_, x.mul_, x.sub_, x.fill_][k % 4](n)


@step
def set_item(p, i, j, k):
    x, value = p.pick(i), p.pick(j)
    at = k % max(x.shape[0], 1)  # an empty tensor has no place 0 either: both libraries then say so
    if x[at].shape != value.shape or (share_memory(x, value) and not value.is_contiguous()):
        value = value.clone()  # PyTorch expands it first, and then takes its strides for an overlap; or it reads what it has written
    x[at] = value if j % 3 else NUMBERS[k % len(NUMBERS)]
    return x


@step
def set_part(p, i, j, k):
    x, value = p.pick(i), p.pick(j)
    if value.numel() == 1:
        value = value.reshape(()).clone()
    elif share_memory(x, value):
        value = value.clone()
    if x.ndim == 0:
        x[...] = value
    elif k % 4 == 0:
        x[..., 0] = value
    elif k % 4 == 1:
        x[0:1] = value
    elif k % 4 == 2:
        x.diagonal()[:] = value if k % 3 else 2.0
    else:
        x[..., :1].mul_(value.clone())
    return x


@step
def masked(p, i, j, k):
    x = p.pick(i)
    mask = x > NUMBERS[j % len(NUMBERS)]
    if not x.is_contiguous():
        return None  # the layout of some results is the kernel's choice
    if k % 3 == 0:
        return x.masked_fill(mask, 0.5)
    if k % 3 == 1:
        return x.masked_fill_(mask, 0.5)
    return p.torch.where(mask, x, p.pick(j))


@step
def picked(p, i, j, k):
    x = p.pick(i)
    n = max(x.shape[0], 1)
    if not x.is_contiguous():
        return None
    if k % 4 == 0:
        return x[p.torch.tensor([0, j % n, 0])]
    if k % 4 == 1:
        return x[x > 0.5]
    if k % 4 == 2:
        x[p.torch.tensor([0, j % n])] = NUMBERS[j % len(NUMBERS)]
        return x
    return x.index_select(0, p.torch.tensor([j % n, 0]))


@step
def several_results(p, i, j, k):
    x = p.pick(i)
    if not x.is_contiguous():
        return None
    return x.max(0).values if k % 2 else x.sort(0, descending=bool(j % 2)).values


@step
def cumulative(p, i, j, k):
    x = p.pick(i)
    if not x.is_contiguous():
        return None
    return x.cumsum(0) if k % 2 else x.softmax(0)


@step
def product(p, i, j, k):
    return p.pick(i) @ p.pick(j).t()


@step
def layer(p, i, j, k):
    """Two nodes in one, if the weight is a leaf: see what express fuses."""
    x, w = p.pick(i), p.tensors[j % min(3, len(p.tensors))]
    bias = w[:, 0] if k % 3 == 0 else p.torch.full((len(w),), 0.5, dtype=w.dtype)
    return p.torch.nn.functional.linear(x, w, bias)


@step
def loss_of_classes(p, i, j, k):
    x = p.pick(i)
    target = p.torch.arange(len(x)) % max(x.shape[-1], 1)
    return p.torch.nn.functional.cross_entropy(x, target, reduction=["mean", "sum"][k % 2])


@step
def inplace_on_part(p, i, j, k):
    x = p.pick(i)
    part = x[k % 2 :] if j % 2 else x[0]
    return getattr(part, ["mul_", "add_", "sub_"][k % 3])(NUMBERS[j % len(NUMBERS)])


@step
def through_data(p, i, j, k):
    p.pick(i).data.mul_(2)


@step
def custom(p, i, j, k):
    x, y = p.pick(i), p.pick(j)
    if k % 6 == 2:
        # PyTorch 2.13.0 aborts when a leaf that a graph waits for is marked dirty.
        x = (x * 1)[...] if j % 2 else x * 1
    return functions(p)[k % 6].apply(x, y)


@step
def checkpointed(p, i, j, k):
    y = p.pick(j)
    return p.torch.utils.checkpoint.checkpoint(
        lambda x: (
            (x.exp() * y).sigmoid() if k % 2 else x * x
        ),  # not the sine, which makes noise of large numbers
        p.pick(i),
        use_reentrant=k % 5 == 0,
        preserve_rng_state=False,
    )


@step
def saved_hooked(p, i, j, k):
    graph = p.torch.autograd.graph
    with graph.saved_tensors_hooks(
        lambda t: t.detach() * 1, lambda t: p.seen.append(("unpack", numbers(t))) or t
    ):
        return STEPS[["unary", "binary", "with_number", "reduce"][k % 4]](p, i, j, k)


@step
def multi_hook(p, i, j, k):
    tensors = [p.pick(i), p.pick(j)]
    for t in tensors:
        t.grad_fn  # noqa: B018 - as in tensor_hook
    if k % 2:

        def fn(gs):
            p.seen.append(("all", [numbers(g) for g in gs]))
    else:

        def fn(g):
            p.seen.append(("any", numbers(g)))

    p.torch.autograd.graph.register_multi_grad_hook(tensors, fn, mode="all" if k % 2 else "any")


@step
def anomaly(p, i, j, k):
    with p.torch.autograd.set_detect_anomaly(True):
        p.pick(i).sum().backward(retain_graph=bool(k % 2))


@step
def second_order(p, i, j, k):
    x = p.pick(j)
    (g,) = p.torch.autograd.grad((p.pick(i) ** 2).sum(), [x], create_graph=True)
    (h,) = p.torch.autograd.grad((g * g).sum(), [x], retain_graph=bool(k % 2), allow_unused=True)
    p.seen.append(("second", numbers(g), numbers(h)))


@step
def without_grad(p, i, j, k):
    with p.torch.no_grad():
        return STEPS[QUIET[i % len(QUIET)]](p, j, k, i + k)


@step
def in_inference(p, i, j, k):
    with p.torch.inference_mode():
        x = STEPS[QUIET[i % len(QUIET)]](p, j, k, i + k)
    p.tensors = [
        t for t in p.tensors if not t.is_inference()
    ]  # what PyTorch makes of these later varies with its kernels
    return None if x.is_inference() else x


def functions(p):
    """Custom functions for one module."""
    if not hasattr(p, "functions"):
        p.functions = make_functions(p)
    return p.functions


def make_functions(p):
    torch = p.torch

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    class Result(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x.exp() + 0 * y.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.shape = inputs[1].shape

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0], torch.zeros(ctx.shape, dtype=torch.float64)

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(False)
            return x.clone(), y * 3

        @staticmethod
        def backward(ctx, g, h):
            p.seen.append(("two", numbers(g), numbers(h)))
            return g, None if h is None else h * 3

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5, None

    class View(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.shape = x.shape
            return x.view(-1)

        @staticmethod
        def backward(ctx, g):
            return g.view(ctx.shape), None

    class First:
        @staticmethod
        def apply(x, y):
            # Copies: PyTorch 2.13.0 crashes if one of several outputs of a Function retains its gradient and is written to.
            a, b = Two.apply(x, y)
            p.tensors.append(b * 1)
            return a * 1

    return [Product, Result, Dirty, First, Same, View]


QUIET = [
    "unary",
    "binary",
    "view",
    "inplace_unary",
    "inplace_number",
    "inplace_binary",
    "several_views",
    "with_number",
    "set_item",
]


@step
def leaf_flag(p, i, j, k):
    x = p.pick(i)
    if k % 3 == 0:
        return x.detach_()
    return x.requires_grad_(bool(k % 3 - 1))


@step
def retain(p, i, j, k):
    p.pick(i).retain_grad()


@step
def tensor_hook(p, i, j, k):
    x = p.pick(i)
    x.grad_fn  # noqa: B018 - PyTorch 2.13.0 crashes for a view of something written to, unless somebody looked at this

    def hook(g):
        p.seen.append(("tensor", numbers(g)))
        if g is None or k % 3 == 0:
            return None
        return g * 2 if k % 3 == 1 else g + 1

    x.register_hook(hook)


@step
def node_hook(p, i, j, k):
    fn = p.pick(i).grad_fn
    if fn is None:
        return
    if k % 2:
        fn.register_prehook(lambda gs: p.seen.append(("pre", [numbers(g) for g in gs])))
    else:
        fn.register_hook(
            lambda gs, os: p.seen.append(("post", [numbers(g) for g in gs], [numbers(o) for o in os]))
        )


@step
def post_accumulate_hook(p, i, j, k):
    p.pick(i).register_post_accumulate_grad_hook(lambda t: p.seen.append(("accumulated", numbers(t.grad))))


@step
def backward(p, i, j, k):
    p.pick(i).sum().backward(retain_graph=bool(k % 2))


@step
def backward_with_gradient(p, i, j, k):
    x = p.pick(i)
    x.backward(p.torch.ones_like(x) * 2, retain_graph=True)


@step
def backward_inputs(p, i, j, k):
    p.pick(i).sum().backward(inputs=[p.pick(j)], retain_graph=True)


@step
def gradient(p, i, j, k):
    (g,) = p.torch.autograd.grad(
        p.pick(i).sum(),
        [p.pick(j)],
        retain_graph=bool(k % 2),
        create_graph=bool(k % 3),
        allow_unused=bool(k % 4),
    )
    if g is not None and k % 3:
        p.seen.append(("steps", g.requires_grad, nested(g.grad_fn)))
    return None if g is None else g * 1


@step
def zero_grad(p, i, j, k):
    p.pick(i).grad = None


# -- notes --------------------------------------------------------------------------------------------


def numbers(t):
    """The numbers of a tensor as a nested list; None for None."""
    return None if t is None else np.asarray(t.detach().tolist(), dtype=np.float64).tolist()


def words(error):
    """An exception as its type and first words."""
    return type(error).__name__, " ".join(str(error).split()[:6])


def describe(t):
    """All that can be seen of a tensor, except its number of aliases."""
    fn = t.grad_fn
    version = "inference" if t.is_inference() else t._version
    return {
        "value": numbers(t), "shape": tuple(t.shape), "requires_grad": t.requires_grad, "leaf": t.is_leaf,
        "fn": None if fn is None else type(fn).__name__, "version": version, "view": t._is_view(),
        "nr": t.output_nr, "retains": t.retains_grad,
    }  # fmt: skip


def attempt(fn):
    """fn(), or the words of what it raised."""
    try:
        return fn()
    except Exception as error:
        return words(error)


def make_leaf(torch, leaf):
    """A leaf tensor from its description (shape number, requires_grad, offset)."""
    shape, requires_grad, offset = leaf
    shape = SHAPES[shape]
    data = (np.arange(math.prod(shape), dtype=np.float64) * 0.5 - 0.75 + offset / 4).reshape(shape)
    return torch.tensor(data.tolist(), dtype=torch.float64, requires_grad=requires_grad)


def run(torch, program):
    """Run a program on a module; returns the list of notes."""
    leaves, steps = program
    p = Run(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        p.tensors = [make_leaf(torch, leaf) for leaf in leaves]
        for name, i, j, k in steps:
            try:
                result = STEPS[name](p, i, j, k)
            except Exception as error:
                p.notes.append((name, words(error)))
                continue
            if result is None:
                p.notes.append((name, None))
            else:
                if not any(result is t for t in p.tensors):
                    p.tensors.append(result)
                p.notes.append((name, attempt(lambda t=result: describe(t))))
            if len(p.tensors) > 12:
                del p.tensors[: len(p.tensors) - 12]
        for t in p.tensors:
            p.notes.append(("end", attempt(lambda t=t: describe(t)), attempt(lambda t=t: numbers(t.grad))))
        p.notes.append(("hooks", p.seen))
    return p.notes
