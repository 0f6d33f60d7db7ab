"""Views and in-place writes: two tensors over one memory, and how history stays true when the memory changes.

A view remembers its base, the first tensor of the family. The whole family shares one version counter. When a member is written in place,
the *base* gets the new history: a CopySlices node says "all of the old value, except this slice, which came out of that operation". Every
other view then finds that its own history is out of date (its version differs) and regenerates it as an AsStridedBackward0 on the base:
"these elements of the base".

>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> base = x * 1
>>> first = base[0]
>>> first.mul_(10).grad_fn.name()
'AsStridedBackward0'
>>> base.grad_fn.name()
'torch::autograd::CopySlices'
>>> base.sum().backward()
>>> x.grad
tensor([10.,  1.])
"""

import numpy as np

from .array_or_tensor import unbroadcast
from .modes import THREAD
from .node import FREED, Node, make_node
from .seams import CLASSES
from .tensor import NO_EDGE, AutogradMeta, accumulator_of, edge_of, wrap


class ViewMeta(AutogradMeta):
    """The meta of a view: its base, and its edge and version when it was last used."""

    def __init__(self, source, edge):
        super().__init__()
        parent = source._meta
        self.base = source if parent is None or parent.base is None else parent.base
        self.edge = edge
        self.version = source._box[0]

    def find_edge(self, t):
        """The edge of the view `t`, regenerated if the family was written since."""
        self.refresh(t)
        return accumulator_of(t) if self.edge is NO_EDGE and self.requires_grad else self.edge

    def refresh(self, t):
        """Rebuild the history of the view `t` if the family was written to."""
        if self.version != t._box[0] and self.base.requires_grad:
            self.edge = make_node(AsStridedBackward0, (edge_of(self.base),), place(self.base, t))
            self.version = t._box[0]


CLASSES["ViewMeta"] = ViewMeta


def make_view(source, data, edge=NO_EDGE):
    """A view of `source` whose numbers are `data`, a NumPy view of its memory."""
    t = wrap(data, None, source._shared_box())
    t._meta = CLASSES["ViewMeta"](source, edge)
    return t


def check_writable(t):
    """Raise RuntimeError if `t` may not be written in place now: a leaf that requires a gradient, or a view of one."""
    if THREAD.state.grad and t.requires_grad:
        base = t._meta and t._meta.base
        if (t if base is None else base)._last_edge() is NO_EDGE:
            what = "a leaf" if base is None else "a view of a leaf"
            raise RuntimeError(f"{what} Variable that requires grad is being used in an in-place operation.")


def rebase_history(t, node):
    """After `t` was written in place by the operation of `node`: give it (and its family) the new history."""
    base = t._meta and t._meta.base
    if base is None:
        t._edge = node
    else:
        base._edge = copy = make_node(CopySlices, (edge_of(base), *node._edges[1:]), place(base, t))
        copy.inner = node
        t._meta.refresh(t)


# -- the nodes ----------------------------------------------------------------------------------------
#
# They compute with arrays only: a recorded pass would need Tensors with a layout in memory, which the core does not have.


def place(base, t):
    """Where the view `t` lies in the memory of its base: shape and strides of both, and the distance, in bytes."""
    x, y = base._array(), t._array()
    start, first = [a.__array_interface__["data"][0] for a in (x, y)]
    return x.shape, x.strides, y.shape, y.strides, first - start


def laid_out(dtype, shape, strides, part_shape, part_strides, offset):
    """Zeros that lie in memory as a base does, and the part of them that is seen through its view (see `place`)."""
    memory = bytearray(dtype.itemsize + sum([(n - 1) * step for n, step in zip(shape, strides, strict=True)]))
    whole = np.ndarray(shape, dtype, memory, 0, strides)
    return whole, np.ndarray(part_shape, dtype, memory, offset, part_strides)


class AsStridedBackward0(Node):
    """A view seen from its base: some elements of its memory.

    Math: y = as_strided(a, size, stride, storage_offset).   VJP: as_strided_added(zeros_like(a), g, size, stride,
    storage_offset).
    Saves: no tensors.  PyTorch: torch.as_strided
    """

    def vjp(self, g):
        whole, part = laid_out(g.dtype, *self.args)
        part[...] = g
        return whole


class CopySlices(Node):
    """A base after another operation (`inner`) overwrote one slice of it in place.

    Math: y = a with a slice replaced by what the operation inside made of it.
    VJP: to a: g whose slice has gone back through the operation inside; to the others: what that sends for the slice.
    PyTorch: torch::autograd::CopySlices
    """

    __slots__ = ("inner",)

    def name(self):
        return "torch::autograd::CopySlices"

    def unpack(self, tensors):
        super().unpack(tensors)  # raises if this node was freed
        return self.inner.unpack(tensors)

    def release(self):
        self.saved = FREED
        self.inner = None  # keep what it saved: its result has it as its own node

    def vjp(self, g, *values):
        whole, part = laid_out(g.dtype, *self.args)
        whole[...] = g
        sent = self.inner.vjp(part.copy(), *values)
        sent = sent if isinstance(sent, tuple) else (sent,)
        first, *rest = sent if self.inner.broadcast is None else unbroadcast(self.inner, sent)
        part[...] = 0 if first is None else first
        return whole, *rest
