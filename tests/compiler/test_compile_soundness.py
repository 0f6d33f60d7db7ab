"""Nothing silently wrong: whatever a function does, compiled it gives what it gives plain, call after call, or the same error."""

import math
import random
import warnings

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import nn

F = nn.functional


def leaf(k, *shape, grad=True):
    """A leaf with other numbers for every k."""
    return torch.tensor(
        np.random.default_rng(k).uniform(0.3, 0.9, shape).astype(np.float32), requires_grad=grad
    )


def three(k):
    return [leaf(k, 3)]


def ints(*rows):
    """A maker that gives one row of whole numbers for each call."""
    return lambda k: [torch.tensor(list(rows[k]))]


def floats(*rows):
    return lambda k: [torch.tensor([float(x) for x in rows[k]])]


def value(f, inputs, k):
    """The results as lists."""
    out = f(*inputs)
    return [
        t.tolist() if isinstance(t, torch.Tensor) else t for t in (out if isinstance(out, tuple) else (out,))
    ]


def gradients(f, inputs, k):
    """The result and the gradients of the inputs and of WEIGHT."""
    WEIGHT.grad = None
    out = f(*inputs)
    out.sum().backward()
    return [out.tolist(), *[t.grad.tolist() if t.grad is not None else None for t in (*inputs, WEIGHT)]]


def written(f, inputs, k):
    """The inputs and results after the first result was written to."""
    with torch.no_grad():
        outs = f(*inputs)
        outs = outs if isinstance(outs, tuple) else (outs,)
        outs[0].add_(1)
        return [t.tolist() for t in (*inputs, *outs)]


def overwritten_result(f, inputs, k):
    out = f(*inputs)
    with torch.no_grad():
        out.add_(1)
    return out.sum().backward()


def overwritten_input(f, inputs, k):
    out = f(*inputs)
    inputs[0].detach().add_(1)
    out.sum().backward()
    return inputs[0].grad.tolist()


WEIGHT = torch.tensor(np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32), requires_grad=True)
SCALE = 1.0
NESTED = {"a": [1.0]}
GENERATOR = torch.Generator()
KEPT: list = []


class Holder:
    """An object with attributes of its own, of its class, and of methods that speak of globals."""

    factor = 1.0
    weight = torch.ones(3)

    def __init__(self):
        self._own = 1.0
        self.last = torch.zeros(3)

    @property
    def own(self):
        return self._own

    @staticmethod
    def scaled(x):
        return x * Holder.factor

    def by_global(self, x):
        return x * SCALE


class Slotted:
    __slots__ = ("factor", "weight")

    def __init__(self):
        self.factor, self.weight = 1.0, torch.ones(3)


HOLDER, SLOTTED = Holder(), Slotted()


def helper(x):
    return x * 2


def other_helper(x):
    return x * 5


CODES = helper.__code__, other_helper.__code__


def patched(space, name):
    """An action that puts another function in the place of one, for every second call."""

    def act(f, inputs, k):
        before = getattr(space, name)
        try:
            if k % 2:
                setattr(space, name, lambda *args: args[-1] * 100.0)
            return value(f, inputs, k)
        finally:
            setattr(space, name, before)

    return act


def without_recording(f, inputs, k):
    with torch.no_grad():
        out = f(*inputs)
    return [out.tolist(), out.requires_grad]


def records_anyway(x):
    with torch.enable_grad():
        return x * x


def registers_hook(x):
    x.register_hook(lambda g: g * 2)
    return x * 3


def registers_post_hook(x):
    x.register_post_accumulate_grad_hook(lambda p: KEPT.append(1))
    return x * 3


def counting(f, inputs, k):
    KEPT.clear()
    return [gradients(f, inputs, k), len(KEPT)]


def with_hook_on_computed_input(f, inputs, k):
    x = inputs[0] * 1
    x.register_hook(lambda g: g * 10)
    f(x).sum().backward()
    return inputs[0].grad.tolist()


def setting(change):
    """An action that changes something before each call."""

    def act(f, inputs, k):
        change(k)
        return value(f, inputs, k)

    return act


def set_scale(k):
    global SCALE
    SCALE = float(k)


def stores(x):
    HOLDER.last = x * 2
    return x * 3


def appends(x):
    KEPT.append(x)
    return x * 2


def assigns_global(x):
    global SCALE
    SCALE = 7.0
    return x * 2


def fills_rows(x):
    y = torch.zeros(2, 3)
    y[0] = x
    y[1] = x * 2
    return y


def writes_base_of_view(x):
    y = x * 2
    z = y.view(3, 1)
    y.add_(1)
    return z * 2


def writes_detached(x):
    y = x * 2
    y.detach().add_(1)
    return y * 2


def sets_under_mask(x):
    y = x * 1
    y[y > 1] = 7.0
    return y


def kept_and_clone(x):
    y = x * 2
    return y, y.clone()


def keeps(f, inputs, k):
    if not k:
        KEPT.clear()
    return [value(f, inputs, k), len(KEPT)]


def with_hook_on_input(f, inputs, k):
    inputs[0].register_hook(lambda g: g * 10)
    return gradients(f, inputs, k)


def in_float64(f, inputs, k):
    torch.set_default_dtype([torch.float32, torch.float64][k % 2])
    try:
        return str(f(*inputs).dtype)
    finally:
        torch.set_default_dtype(torch.float32)


ROWS = ints((0, 1, 2, 1), (0, 1, 2, 2), (0, -1, 2, 2), (0, 1, 5, 2))
CLASSES = ints((0, 1, 2, 0), (0, 1, -100, 0), (0, 3, 1, 1), (0, -1, 1, 1))
MAYBE_ZERO = floats((1, 2, 3), (1, 2, 4), (0, 2, 3), (0, 0, 3))

CASES = {
    # results have memory of their own
    "clone": (lambda x: x.clone(), three, written),
    "times one": (lambda x: x * 1, three, written),
    "a view of a clone": (lambda x: x.clone().reshape(3, 1), three, written),
    "the same twice": (lambda x: (x + 1, x + 1), three, written),
    "a result and its clone": (kept_and_clone, three, written),
    "a constant": (lambda x: torch.ones(3) * 2, three, written),
    "a saved result is overwritten": (lambda x: x.exp(), three, overwritten_result),
    "a saved input is overwritten": (lambda x: x * x, three, overwritten_input),
    "an input nobody saves is overwritten": (lambda x: x * 2, three, overwritten_input),
    # everything the function can reach is guarded
    "a class's tensor": (lambda x: x * Holder.weight, three, setting(lambda k: Holder.weight.fill_(k))),
    "a class's number": (lambda x: x * HOLDER.factor, three, setting(lambda k: setattr(Holder, "factor", k / 2))),
    "a static method": (lambda x: Holder.scaled(x), three, setting(lambda k: setattr(Holder, "factor", k / 2))),
    "a property": (lambda x: x * HOLDER.own, three, setting(lambda k: setattr(HOLDER, "_own", k / 2))),
    "a method's global": (lambda x: HOLDER.by_global(x), three, setting(set_scale)),
    "a slot's tensor": (lambda x: x * SLOTTED.weight, three, setting(lambda k: SLOTTED.weight.fill_(k))),
    "a slot's number": (lambda x: x * SLOTTED.factor, three, setting(lambda k: setattr(SLOTTED, "factor", k / 2))),
    "a global in a global": (lambda x: x * NESTED["a"][0], three, setting(lambda k: NESTED["a"].__setitem__(0, k / 2))),
    "a function's code": (lambda x: helper(x), three, setting(lambda k: setattr(helper, "__code__", CODES[k % 2]))),
    "a method": (lambda x: HOLDER.by_global(x), three, patched(Holder, "by_global")),
    "a function of the library": (lambda x: torch.sin(x), three, patched(torch, "sin")),
    "a function of a module of the library": (lambda x: F.relu(x), three, patched(F, "relu")),
    "a function three modules down": (lambda x: torch.nn.functional.relu(x), three, patched(F, "relu")),
    "recording switched on inside": (records_anyway, three, without_recording),
    "a hook on an argument": (registers_hook, three, gradients),
    "a hook after accumulation": (registers_post_hook, three, counting),
    "a hook that was there": (lambda x: x * x, three, with_hook_on_computed_input),
    "minus zero": (lambda x, s: x * s, lambda k: [leaf(k, 3), -0.0 if k % 2 else 0.0], lambda f, i, k: str(value(f, i, k))),
    "one and True": (lambda x, n: x * n, lambda k: [leaf(k, 3), (1, True, 1.0, 2)[k]], value),
    "the default dtype": (lambda x: x + torch.ones(3), lambda k: [torch.arange(3)], in_float64),
    "the same tensor twice": (lambda a, b: a * b + a, lambda k: [leaf(1, 3)] * 2 if k % 2 else [leaf(1, 3), leaf(2, 3)], gradients),
    # what no guard compares
    "contiguous or not": (lambda x: x * 2 if x.is_contiguous() else x * 3, lambda k: [leaf(k, 3, 3).t() if k % 2 else leaf(k, 3, 3)], value),
    "leaf or not": (lambda x: x * 2 if x.is_leaf else x * 3, lambda k: [leaf(k, 3) * 1 if k % 2 else leaf(k, 3)], value),
    "the version": (lambda x: x * (x._version + 1), lambda k: [leaf(k, 3, grad=False).add_(k) if k % 2 else leaf(k, 3)], value),
    "strides": (lambda x: x * x.stride(0), lambda k: [leaf(k, 3, 4).t() if k % 2 else leaf(k, 4, 3)], value),
    # side effects
    "a stored attribute": (stores, three, lambda f, i, k: [value(f, i, k), HOLDER.last.tolist()]),
    "a list that grows": (appends, three, keeps),
    "an assigned global": (assigns_global, three, lambda f, i, k: [set_scale(1), value(f, i, k), SCALE]),
    "an own generator": (
        lambda x: x * torch.rand(3, generator=GENERATOR), three,
        lambda f, i, k: [None if k else GENERATOR.manual_seed(1).initial_seed(), value(f, i, k)],
    ),
    "Python's random": (lambda x: x * random.random(), three, lambda f, i, k: [None if k else random.seed(1), value(f, i, k)]),
    # indices and classes out of bounds, shapes that only the numbers tell
    "embedding": (lambda i: F.embedding(i, WEIGHT), ROWS, value),
    "index": (lambda i: WEIGHT[i], ROWS, value),
    "index_select": (lambda i: WEIGHT.index_select(0, i), ROWS, value),
    "gather": (lambda i: WEIGHT.gather(0, i.reshape(-1, 1)), ROWS, value),
    "scatter": (lambda i: torch.zeros(6, 1).scatter(0, i.reshape(-1, 1), WEIGHT[:, :1]), ROWS, value),
    "scatter_add": (lambda i: torch.zeros(4, 1).scatter_add(0, i.reshape(-1, 1), WEIGHT[:, :1]), ROWS, value),
    "index_add": (lambda i: torch.zeros(4, 3).index_add(0, i, WEIGHT), ROWS, value),
    "index_copy": (lambda i: torch.zeros(4, 3).index_copy(0, i, WEIGHT), ROWS, value),
    "index_fill": (lambda i: WEIGHT.index_fill(0, i, 0.0), ROWS, value),
    "cross entropy": (lambda t: F.cross_entropy(WEIGHT, t), CLASSES, value),
    "cross entropy, no reduction": (lambda t: F.cross_entropy(WEIGHT, t, reduction="none"), CLASSES, value),
    "one_hot": (lambda i: F.one_hot(i), ints((0, 0), (0, 0), (1, 2), (3, 0)), value),
    "nonzero": (lambda x: x.nonzero(), MAYBE_ZERO, value),
    "where with a condition alone": (lambda x: torch.where(x), MAYBE_ZERO, value),
    "under a mask": (lambda x: x[x > 0] * 2, MAYBE_ZERO, value),
    "masked_select": (lambda x: x.masked_select(x > 0), MAYBE_ZERO, value),
    "unique": (lambda x: torch.unique(x), MAYBE_ZERO, value),
    "isclose with a tolerance": (lambda x: torch.isclose(x, x + 0.1, rtol=0.5), MAYBE_ZERO, value),
    "searchsorted to the right": (lambda x: torch.searchsorted(torch.tensor([1.0, 2.0]), x, right=True), MAYBE_ZERO, value),
    "indices of a pooling": (
        lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
        lambda k: [torch.tensor(np.random.default_rng(k).permutation(16).astype(np.float32).reshape(1, 1, 4, 4))], value,
    ),
    "whole numbers divided": (lambda a: torch.tensor([4, 6, 8]) // a, ints((1, 2, 3), (2, 2, 2), (0, 1, 1), (0, 0, 0)), value),
    # infinities and what is no number
    "edges": (
        lambda x: torch.softmax(x, 0) + torch.relu(x) + torch.sign(x) + torch.sgn(x) + x.clamp(-1, 1),
        lambda k: [torch.tensor([[1.0, 2, 3], [math.inf, -1, 2], [math.nan, 0, 1], [-math.inf, -0.0, 3]][k], requires_grad=True)],
        gradients,
    ),
    # in place
    "rows are filled": (fills_rows, three, gradients),
    "the base of a view is written": (writes_base_of_view, three, gradients),
    "a detached alias is written": (writes_detached, three, gradients),
    "elements under a mask are set": (sets_under_mask, MAYBE_ZERO, value),
    # around the call
    "a hook on the input": (lambda x: x * x, three, with_hook_on_input),
    "an operand of several": (lambda x: (x * 2, x * x)[1], three, gradients),
    "no way back at all": (lambda x: torch.sign(x), three, gradients),
    "no gradient flows": (lambda x: x.norm(p=0, dim=0, keepdim=True), three, gradients),
    "two indices of one shape": (lambda x: x[torch.tensor([0, 1, 2]), torch.tensor([2, 0, 0])], lambda k: [leaf(k, 3, 3)], gradients),
    "the largest of all": (lambda x: x.max() * WEIGHT, three, gradients),
}  # fmt: skip


def outcomes(fn, make, act):
    """What four calls give, or the errors they raise."""
    global SCALE
    SCALE, Holder.factor, HOLDER._own, SLOTTED.factor = 1.0, 1.0, 1.0, 1.0
    found = []
    for k in range(4):
        torch.manual_seed(k)
        try:
            found.append(act(fn, make(k), k))
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            found.append(f"{type(error).__name__}: {error}".split(", which is output")[0])
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_compiled_function_does_what_the_plain_one_does(name):
    fn, make, act = CASES[name]
    want = outcomes(fn, make, act)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = outcomes(torch.compile(fn), make, act)
    for g, w in zip(got, want, strict=True):
        assert near(g, w), (g, w)


def near(a, b):
    """Whether two nested lists hold the same, floats up to rounding."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) or (a != a and b != b)
    return type(a) is type(b) and a == b


MODULES = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)), (5, 3)),
    "batch norm and dropout": (lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.3)), (5, 3)),
    "convolution": (lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()), (2, 1, 4, 4)),
    "recurrent": (lambda: nn.LSTM(3, 4), (5, 2, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules_train_and_are_evaluated_as_plain_ones(name):
    """Parameters, running statistics and random numbers, in both modes, with a hook that comes and goes."""
    make, shape = MODULES[name]
    seen = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = make()
        call = torch.compile(model) if compiled else model
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for k in range(6):
                model.train(k % 3 < 2)
                torch.manual_seed(k)
                handle = model.register_forward_hook(lambda m, a, out: None) if k == 4 else None
                out = call(leaf(k, *shape))
                out = out[0] if isinstance(out, tuple) else out
                out.square().sum().backward()
                with torch.no_grad():
                    for p in model.parameters():
                        p -= 0.01 * p.grad
                        p.grad = None
                if handle is not None:
                    handle.remove()
                found += [out.tolist(), *[t.tolist() for t in model.state_dict().values()]]
        seen.append(found)
    assert near_all(*seen)


def near_all(a, b):
    return all(np.allclose(x, y, rtol=1e-4, atol=1e-5) for x, y in zip(a, b, strict=True))
