"""The expected shape and type of a gradient: those of the tensor when the graph was recorded.

A formula computes a gradient of the right shape by itself, unless its inputs were changed: `t.data = other` can give a tensor another shape
or type while its graph is alive. Then a gradient that is larger by broadcasting is summed, and any other shape is refused; another type is
converted, also to the one that `t.grad_dtype` requests.
"""

import functools
import weakref

import numpy as np

from ...core import array_or_tensor
from ...core.array_or_tensor import cast, unbroadcast
from ...core.rules import copies
from ...core.rules import views as view_rules
from .errors import CPP_NAMES
from .modes import THREAD
from .variable import OWN_TYPE, Variable, pair_of

EXPECTED: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
"""{node: {output_nr: (shape, dtype)}} where formulas compute something else: `.data` was replaced by another shape or type, or `grad_dtype`
was set (None: any type).
"""


def note_replaced(t, data):
    """Note the shape and type of gradients for `t`, because its `.data` is about to become `data`.

    A leaf of another type gets a new accumulator with its next operation, as in PyTorch; one of another shape does not.
    """
    old = t._data
    if data.shape == old.shape and data.dtype is old.dtype:
        return
    node, nr = pair_of(t._edge) if t._edge is not None else (None, 0)
    meta = t._meta
    if t._edge is None and meta is not None:
        if meta.base is not None:
            node, nr = pair_of(meta.find_edge(t))
        elif meta.accumulator is not None:
            node = meta.accumulator()
            if data.dtype is not old.dtype:
                meta.accumulator = None
    if node is not None:
        EXPECTED.setdefault(node, {}).setdefault(nr, (old.shape, old.dtype))


def gradient_type(t):
    """The NumPy type that the gradient of the leaf `t` must have, None for any."""
    meta = t._meta
    return t._data.dtype if meta is None or meta.grad_dtype is OWN_TYPE else meta.grad_dtype


def set_gradient_type(t, dtype):
    """Request gradients of `dtype` (None: of any type) for the leaf `t`, also from existing graphs."""
    meta = t._ensure_meta()
    have = None if meta.grad is None else meta.grad._data.dtype
    if dtype is not None and have is not None and have != dtype.np:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{dtype.type_name}' because there is already a gradient with dtype "
            f"'{CPP_NAMES[have.name]}'. Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new "
            "grad_dtype matches the existing gradient's dtype."
        )
    meta.grad_dtype = None if dtype is None else dtype.np
    node = meta.accumulator and meta.accumulator()
    if node is not None:
        note_type(node)


def note_type(node):
    """Note that the leaf of the accumulator `node` expects gradients of its `grad_dtype`."""
    leaf = node.variable
    shape, _ = EXPECTED.get(node, {}).get(0, (leaf._data.shape, None))
    EXPECTED[node] = {0: (shape, leaf._meta.grad_dtype)}


def expected_in(nodes):
    """The entries of EXPECTED for some `nodes`, or None."""
    alive = [ref() for ref in EXPECTED.keyrefs()]
    return {node: EXPECTED[node] for node in alive if node in nodes} or None


def sum_rows(x):
    """The sum over the rows of a matrix of floats (of its first dim: a vector gives a number)."""
    return ones(len(x), x.dtype).dot(x) if len(x) <= MANY else np.add.reduce(x, 0)


MANY = 4096
"""Of more rows than this a reduction adds up more accurately than a product, and there are no ones kept for them."""


@functools.lru_cache(maxsize=64)
def ones(shape, dtype):
    """Ones to multiply with: a product adds up the rows or columns of a matrix in a third of the time of a reduction."""
    made = np.ones(shape, dtype)
    made.flags.writeable = False  # it is lent to all
    return made


def sum_to(g, shape):
    """`g` summed over the dims along which `shape` was broadcast: of Tensors in PyTorch's steps, of rows in less time."""
    if isinstance(g, Variable):
        return g.sum_to_size(shape)
    if g.shape[1:] == shape and g.ndim == 2 and g.dtype.kind == "f":
        return sum_rows(g)  # what was added to each row
    return _sum_to(g, shape)


_sum_to = array_or_tensor.sum_to
for _page in (array_or_tensor, copies, view_rules):
    _page.sum_to = sum_to


def summed(g, shape):
    """`sum_to` in the rule of a node, for a pass. If the user calls a node, PyTorch does not sum the broadcast copies, nor does this."""
    return g if g.shape == shape or THREAD.state.calling else sum_to(g, shape)


def fitted(g, shape, dtype, i, sender=""):
    """The gradient `g`, the `i`-th result of the function `sender`, for a tensor of `shape` and `dtype`.

    Raises RuntimeError if it has another shape that cannot come from broadcasting this one.
    """
    if g.shape != shape:
        lead = len(g.shape) - len(shape)
        if lead < 0 or any(n != 1 and n != m for n, m in zip(shape, g.shape[lead:], strict=True)):
            raise RuntimeError(
                f"{f'Function {sender} returned an ' if sender else ''}invalid gradient at index {i} - got {list(g.shape)} but "
                f"expected shape compatible with {list(shape)}"
            )
        g = sum_to(g, shape)
    if dtype is None:
        return g
    if dtype.kind != "f":
        raise RuntimeError(
            f"a gradient cannot be of type {dtype.name}; see grad_dtype of the tensor it is for"
        )
    return cast(g, dtype)


def fitted_to(t, edge, g, run):
    """The same for a gradient of another shape that arrived at `t` through `edge`, when the pass `run` no longer knows its sender."""
    node, nr = edge
    if nr in EXPECTED.get(node, ()):
        return g  # the engine has converted it
    data = t._data
    for sender in run.deps if run is not None else ():
        for i, at in enumerate(sender.next_functions):
            if at == edge:
                return fitted(g, data.shape, data.dtype, i, sender.name())
    return fitted(g, data.shape, data.dtype, 0)


__all__ = [
    "EXPECTED", "MANY", "cast", "expected_in", "fitted", "fitted_to", "gradient_type", "note_replaced", "note_type", "ones", "set_gradient_type", "sum_rows", "sum_to",
    "summed", "unbroadcast",
]  # fmt: skip
