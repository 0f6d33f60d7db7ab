"""Checks an operation against live PyTorch, and against central differences without it.

An operation is one line of a table: Op(name, function, shapes). Its function gets the module under test first
(autograd_lab, or PyTorch), then a tensor of each shape:

    Op("lerp", lambda torch, a, b: torch.lerp(a, b, 0.3), [(2, 3), (3,)])
"""

import zlib
from dataclasses import dataclass, field

import numpy as np

import autograd_lab

EPS = 1e-6


@dataclass
class Op:
    """One operation to check."""

    name: str
    fn: object
    shapes: list = field(default_factory=lambda: [(2, 3)])
    low: float = -1.0
    high: float = 1.0
    second: bool = True  # whether its gradient can be differentiated
    values: object = None  # arrays to use instead of random ones
    tolerance: float = 1e-9  # relative, against PyTorch
    skip: tuple = ()  # what not to compare with PyTorch: "saved", "edges", "moves"

    def arrays(self):
        """The operands: random, the same in every run, and never the same twice in one array."""
        if self.values is not None:
            return [np.array(v, np.float64) for v in self.values]
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return [rng.uniform(self.low, self.high, shape) for shape in self.shapes]

    def __str__(self):
        return self.name.replace(" ", "_")


def unary(name, fn=None, low=-1.0, high=1.0, **more):
    """An operation of one tensor, in every kind of shape."""
    fn = fn or (lambda torch, x: getattr(torch, name)(x))
    return [Op(f"{name} {list(s)}", fn, [s], low, high, **more) for s in ((2, 3), (), (3, 1, 2), (0, 2))]


def binary(name, fn=None, low=-1.0, high=1.0, **more):
    """An operation of two tensors, in every way shapes can meet."""
    fn = fn or (lambda torch, x, y: getattr(torch, name)(x, y))
    shapes = ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (4, 1, 3)), ((), (2, 3)), ((), ()), ((0, 3), (1, 3))
    return [Op(f"{name} {list(a)} {list(b)}", fn, [a, b], low, high, **more) for a, b in shapes]


def leaves(torch, arrays):
    """Leaf tensors of some arrays, each wanting a gradient."""
    return [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]


def outputs(result):
    """The tensors in what an operation returned."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


def array(t):
    """A tensor of either library as an array; None stays."""
    return None if t is None else np.asarray(t.numpy(force=True))


def cotangents(outs, seed=1):
    """Fixed random numbers in the shape of each output."""
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 1.5, tuple(o.shape)) for o in outs]


def first_order(torch, op, arrays):
    """(inputs, the cotangents as leaves, outputs that move, their gradients as recorded tensors)."""
    xs = leaves(torch, arrays)
    outs = outputs(op.fn(torch, *xs))
    moving = [o for o in outs if o.requires_grad]
    vs = leaves(torch, cotangents(moving))
    grads = (
        torch.autograd.grad(moving, xs, vs, create_graph=True, allow_unused=True)
        if moving
        else [None] * len(xs)
    )
    return xs, vs, outs, grads


def record(torch, op, arrays):
    """Everything an operation does: outputs, node names, first and second derivatives."""
    xs, vs, outs, grads = first_order(torch, op, arrays)
    result = {
        "out": [array(o) for o in outs],
        "nodes": [o.grad_fn and o.grad_fn.name() for o in outs],
        "edges": [o.grad_fn and [f and f.name() for f, _ in o.grad_fn.next_functions] for o in outs],
        "grads": [array(g) for g in grads],
    }
    if "saved" not in op.skip:  # some are memory that PyTorch never wrote to, of which nothing can be said
        result["saved"] = [o.grad_fn and saved_values(o.grad_fn) for o in outs]
    if op.second:
        moving = [g for g in grads if g is not None and g.requires_grad]
        result["moves"] = [g is not None and g.requires_grad for g in grads]
        if moving:
            ws = [torch.tensor(w, dtype=torch.float64) for w in cotangents(moving, 2)]
            second = torch.autograd.grad(moving, [*xs, *vs], ws, allow_unused=True)
            result["second"] = [array(g) for g in second]
    return result


def saved_values(node):
    """{name: value} of what a node says it saved; a tensor's value is its shape and numbers."""
    values = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            if hasattr(value, "requires_grad"):
                value = (
                    "tensor",
                    str(value.dtype),
                    tuple(value.shape),
                    value.requires_grad,
                    (array(value) + 0.0).round(6).tolist(),
                )
            values[name] = value
    return values


def difference(a, b):
    """The largest relative difference of two arrays, relative to 1e-3 for what is smaller; nan equals nan."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return np.inf
    if a.dtype.kind != "f":
        return 0.0 if np.array_equal(a, b) else np.inf
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = np.where(same, 0, np.abs(a - b) / np.maximum(np.abs(b), 1e-3))
    gap = np.where(np.isnan(gap), np.inf, gap)
    return float(gap.max()) if gap.size else 0.0


WORST = {"difference": 0.0, "where": None}


def compare(op, torch, skip=()):
    """Hold what autograd_lab does against what PyTorch does; returns a list of complaints."""
    arrays = op.arrays()
    ours, theirs = record(autograd_lab, op, arrays), record(torch, op, arrays)
    complaints = []
    for key in theirs:
        if key in op.skip or key in skip:
            continue
        mine = ours.get(key)
        if key in ("nodes", "edges", "moves", "saved"):
            if str(mine) != str(theirs[key]) if key == "saved" else mine != theirs[key]:
                complaints.append(f"{key}: {mine}\ninstead of {theirs[key]}")
            continue
        if mine is None or len(mine) != len(theirs[key]):
            complaints.append(f"{key}: {mine} instead of {theirs[key]}")
            continue
        for i, (a, b) in enumerate(zip(mine, theirs[key], strict=True)):
            if (a is None) != (b is None):
                complaints.append(f"{key}[{i}]: {a} instead of {b}")
            elif a is not None:
                gap = difference(a, b)
                if WORST["difference"] < gap < op.tolerance == 1e-9:
                    WORST.update(difference=gap, where=f"{op.name} {key}[{i}]")
                if gap > op.tolerance:
                    complaints.append(f"{key}[{i}]: off by {gap:.2g}\n{a}\n{b}")
    return complaints


def check_like_pytorch(op, torch, skip=()):
    """Whether autograd_lab does what PyTorch does."""
    complaints = compare(op, torch, skip)
    assert not complaints, "\n".join(complaints)


def central(f, arrays, directions):
    """(f(arrays + e * directions) - f(arrays - e * directions)) / 2e."""
    up = f([a + EPS * d for a, d in zip(arrays, directions, strict=True)])
    down = f([a - EPS * d for a, d in zip(arrays, directions, strict=True)])
    return (up - down) / (2 * EPS)


def check_differences(op):
    """First and second derivatives against central differences along random directions, without PyTorch."""
    torch = autograd_lab
    arrays = op.arrays()
    rng = np.random.default_rng(3)
    directions = [rng.standard_normal(a.shape) for a in arrays]
    xs, vs, outs, grads = first_order(torch, op, arrays)
    moving = [i for i, o in enumerate(outs) if o.requires_grad]
    weights = [array(v) for v in vs]

    def value(arrays):
        with torch.no_grad():
            outs = outputs(op.fn(torch, *[torch.tensor(a, dtype=torch.float64) for a in arrays]))
        return sum(float((array(outs[i]) * w).sum()) for i, w in zip(moving, weights, strict=True))

    slope = sum(float((array(g) * d).sum()) for g, d in zip(grads, directions, strict=True) if g is not None)
    np.testing.assert_allclose(
        slope, central(value, arrays, directions), rtol=2e-5, atol=1e-7, err_msg="first order"
    )
    for g, x in zip(grads, xs, strict=True):
        assert g is None or (g.shape == x.shape and g.dtype == x.dtype), (
            "a gradient has the shape and type of its tensor"
        )
    if not op.second:
        return
    probes = [rng.standard_normal(a.shape) for a in arrays]
    moving = [(g, p) for g, p in zip(grads, probes, strict=True) if g is not None and g.requires_grad]
    bend = 0.0
    if moving:
        wanted = torch.autograd.grad(
            [g for g, _ in moving],
            xs,
            [torch.tensor(p, dtype=torch.float64) for _, p in moving],
            allow_unused=True,
        )
        bend = sum(
            float((array(g) * d).sum()) for g, d in zip(wanted, directions, strict=True) if g is not None
        )

    def gradient(arrays):
        xs = leaves(torch, arrays)
        outs = [o for o in outputs(op.fn(torch, *xs)) if o.requires_grad]
        seeds = [torch.tensor(w, dtype=torch.float64) for w in weights]
        grads = torch.autograd.grad(outs, xs, seeds, allow_unused=True) if outs else ()
        return sum(float((array(g) * p).sum()) for g, p in zip(grads, probes, strict=False) if g is not None)

    np.testing.assert_allclose(
        bend, central(gradient, arrays, directions), rtol=5e-5, atol=2e-6, err_msg="second order"
    )
