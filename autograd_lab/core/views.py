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

import weakref

import numpy as np

from .array_or_tensor import unbroadcast, zeros
from .modes import THREAD
from .node import FREED, Node, count_down, created, make_node, new
from .seams import CLASSES, DOORS
from .tensor import (
    DEAD_END,
    NO_EDGE,
    OWN_TYPE,
    AutogradMeta,
    Tensor,
    accumulator_of,
    edge_of,
    pair_of,
)


class ViewMeta(AutogradMeta):
    """The meta of a view: its base, and its edge and version when it was last used."""

    __slots__ = ("edge", "version")

    def __init__(self, source, edge):
        # Same as in AutogradMeta, written out: views are made often, and a second call costs as much as all of this.
        self.requires_grad = self.retains_grad = False
        self.grad = self.accumulator = self.hooks = self.post_accumulate_hooks = self.detached = None
        self.grad_dtype = OWN_TYPE
        parent = source._meta
        self.base = source if parent is None or parent.base is None else parent.base
        self.edge = edge
        self.version = source._box[0]

    def find_edge(self, t):
        """The edge of the view `t`, regenerated if the family was written since."""
        if self.edge is NO_EDGE and not self.base.requires_grad:
            return accumulator_of(t) if self.requires_grad else NO_EDGE
        if self.version != t._box[0] and THREAD.state.grad:
            self.refresh(t)
        if self.edge is not NO_EDGE:
            return self.edge
        return accumulator_of(t) if self.requires_grad else DEAD_END

    def refresh(self, t):
        """Regenerate the history of the view `t` if the family was written. Raises RuntimeError if that is not allowed."""
        if self.version != t._box[0] and (self.edge is not NO_EDGE or self.base.requires_grad):
            self.check_written(indirect=True)
            self.set_edge(t, as_strided_node(t, self.base))

    def check_written(self, indirect=False):
        """May raise RuntimeError if writing to this view (or, `indirect`, to its base) leaves its history undefined."""

    def set_edge(self, t, edge):
        """Give the view a new history, and move retain_grad to it."""
        old, self.edge, self.version = self.edge, edge, t._box[0]
        if self.retains_grad:
            move_retention(t, old, edge)


def move_retention(t, old, edge):
    """`retain_grad` follows the tensor to its newest history."""
    node, nr = pair_of(old)
    if node is not None and node.hooks is not None:
        node.hooks.retain.pop(nr, None)
    node, nr = pair_of(edge)
    if node is not None:
        node._hooks().retain[nr] = weakref.ref(t)


def make_view(source, data, edge=NO_EDGE, *how):
    """A view of `source` whose numbers are `data`, a NumPy view of its memory."""
    t = new(DOORS.tensor)
    t._data = data
    t._edge = None
    box = t._box = source._shared_box()
    if box[0] < 0:  # writes are not counted, so a history could become wrong
        t._edge, t._meta = NO_EDGE, None
    else:
        t._meta = CLASSES["ViewMeta"](source, edge, *how)
    return t


# -- what may be written ------------------------------------------------------------------------------


def check_writable(t, others=()):
    """Raise RuntimeError if `t` may not be written in place now: a leaf that requires grad, or a view of one."""
    if not THREAD.state.grad:
        return
    if t._edge is NO_EDGE and all((o._edge or edge_of(o)) is NO_EDGE for o in others):
        return
    meta, requires = t._meta, t.requires_grad
    if meta is not None and meta.base is not None and (requires or any(o.requires_grad for o in others)):
        check_view(meta, requires)
    if requires and t._last_edge() is NO_EDGE:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def check_view(meta, requires):
    """The same for the view with that `meta`: its base may be a leaf that requires grad."""
    meta.check_written()
    if requires and meta.base._last_edge() is NO_EDGE:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


def rebase_history(t, node):
    """After `t` was written in place by the operation of `node`: give it (and its family) the new history."""
    meta = t._meta
    if meta is not None and meta.base is not None:
        base = meta.base
        copy = CLASSES["CopySlices"](base, t, node)
        set_history(base, copy)
        edge = as_strided_node(t, base)
        meta.set_edge(t, edge)
    else:
        set_history(t, node)


def set_history(t, node):
    """Make `node` the history of `t`, which is not a view, and move retain_grad to it."""
    old, t._edge = t._edge, node
    if t._meta is not None and t._meta.retains_grad:
        move_retention(t, old, node)


# -- the nodes ----------------------------------------------------------------------------------------


def geometry(t):
    """The memory layout of a tensor: size, stride, and the offset from the start of its memory, in elements.

    >>> geometry(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])[1])
    ((3,), (1,), 3)
    """
    x = t._array()
    owner = x if x.base is None else x.base
    start = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return x.shape, tuple([step // x.itemsize for step in x.strides]), start // x.itemsize


def span(size, stride):
    """How many elements of memory a tensor of that geometry spans."""
    return 0 if 0 in size else 1 + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])


def seen(memory, size, stride, offset):
    """A view of that geometry of the flat `memory`."""
    if isinstance(memory, Tensor):
        return memory.as_strided(size, stride, offset)
    step = memory.itemsize
    return np.ndarray(size, memory.dtype, memory, offset * step, [s * step for s in stride])


def put(part, values):
    """Write `values` over `part`, a view of something the formula itself has made."""
    if isinstance(part, Tensor):
        part.copy_(values)
    else:
        part[...] = values


class AsStridedBackward0(Node):
    """A view seen from its base: some elements of its memory.

    Math: y = as_strided(a, size, stride, storage_offset).   VJP: as_strided_added(zeros_like(a), g, size, stride,
    storage_offset).
    Saves: no tensors.  PyTorch: torch.as_strided
    """

    keeps = ("size", "stride", "storage_offset")

    def vjp(self, g):
        size, stride, offset, (base_size, base_stride, base_offset) = self.args
        memory = zeros((span(base_size, base_stride),), g)
        put(seen(memory, size, stride, offset - base_offset), g)
        return seen(memory, base_size, base_stride, 0)


def as_strided_node(t, base):
    """The history of the view `t` as elements of `base`, whose own history may be new."""
    rule = CLASSES["AsStridedBackward0"]
    node = make_node(rule, (edge_of(base),), (*rule.geometry(t), rule.geometry(base)))
    created(node)
    return node


AsStridedBackward0.geometry = staticmethod(geometry)


class CopySlices(Node):
    """A base of which one slice was overwritten in place by another operation (`inner`).

    Math: y = a with a slice replaced by what the operation inside made of it.
    VJP: to a: g whose slice has gone back through the operation inside; to the others: what that sends for the slice.
    PyTorch: torch::autograd::CopySlices
    """

    __slots__ = ("inner",)

    def __init__(self, base, view, inner):
        self.inner = inner
        self._next = (edge_of(base), *inner._edges[1:])  # event: edge CopySlices
        self.priority = count_down()
        self.args = self.place(base, view)
        self.saved = (None,)
        self.versions = self.fold = self.hooks = None
        created(self)

    def name(self):
        return "torch::autograd::CopySlices"

    def unpack(self, tensors):
        super().unpack(tensors)  # raises if this node was freed
        return [type(self.inner).unpack(self.inner, tensors) if self.inner.saved else ()]

    def release(self):
        self.saved = FREED
        self.inner = None  # keep what it saved: its result has it as its own node

    def vjp(self, g, values):
        whole, part = self.copied(g)
        first, *rest = self.through_inner(part, values)
        if first is None and self.inner.kind == "function":
            return None, *rest  # as in PyTorch: then nothing goes to the base, not even outside of the slice
        put(part, zeros(part.shape, part) if first is None else first)
        return whole, *rest

    def place(self, base, view):
        """The position of the view in its base: (size, stride) of the base; (size, stride, offset) of the view in it."""
        size, stride, start = geometry(base)
        view_size, view_stride, offset = geometry(view)
        return size, stride, (view_size, view_stride, offset - start)

    def copied(self, g):
        """A copy of `g` in the memory layout of the base, and the view of it that was overwritten."""
        size, stride, place = self.args
        memory = zeros((span(size, stride),), g)
        whole = seen(memory, size, stride, 0)
        put(whole, g)
        return whole, seen(memory, *place)

    def through_inner(self, part, values):
        """What the operation inside sends for the slice `part` of the gradient."""
        inner = self.inner
        piece = part.clone() if isinstance(part, Tensor) else part.copy()
        results = type(inner).vjp(inner, piece if inner.plain else [piece], *values)
        results = results if isinstance(results, tuple) else (results,)
        return results if inner.fold is None else unbroadcast(inner, results)


CLASSES.update(AsStridedBackward0=AsStridedBackward0, CopySlices=CopySlices, ViewMeta=ViewMeta)
