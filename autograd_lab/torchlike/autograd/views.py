"""PyTorch's additions to core/views.py: views made in inference mode or by custom Functions, overlapping views, multi-output views."""

from ...core import record as recording
from ...core import views as core
from ...core.node import make_node
from ...core.seams import CLASSES
from ..layout import contiguous_format
from .formulas import in_formula
from .handed import recorded_vjp
from .memory import (
    added,
    copied,
    geometry,
    overlap_error,
    place_in,
    put,
    repeats_places,
    seen,
    shared_out,
    shares_places,
    span,
    zeros,
)
from .metadata import unbroadcast
from .modes import THREAD
from .node import Node, created
from .variable import DEAD_END, NO_EDGE, Registry, Variable, accumulator_of, edge_of, new, pair_of, weak

DEFAULT, NO_GRAD, MULTI_OUTPUT, IN_INFERENCE, IN_CUSTOM = (
    "default",
    "no_grad",
    "multi_output",
    "inference",
    "custom",
)
"""How a view was made."""


class ViewMeta(core.ViewMeta):
    """The meta of a view, which remembers how it was made."""

    def __init__(self, source, edge, creation=DEFAULT):
        # Not by `super()`: a step of training makes one for each weight.
        self.requires_grad = self.retains_grad = False
        self.accumulator = self.grad = self.hooks = None
        parent = source._meta
        self.base = source if parent is None or parent.base is None else parent.base
        self.edge, self.version = edge, source._box[0]
        if creation is DEFAULT:
            state = THREAD.state
            if not state.grad:
                creation = IN_INFERENCE if state.inference else NO_GRAD
            elif self.base is not source:
                creation = source._meta.creation
        self.creation = creation

    def find_edge(self, t):
        if self.edge is NO_EDGE and not self.base.requires_grad:
            return accumulator_of(t) if self.requires_grad else NO_EDGE
        if self.version != t._box[0] and THREAD.state.grad:
            self.refresh(t)
        if self.edge is not NO_EDGE:
            return self.edge
        return accumulator_of(t) if self.requires_grad else DEAD_END

    def refresh(self, t):
        """Make the history of the view `t` anew if the family was written to. Raises RuntimeError if that is not allowed."""
        if self.version != t._box[0] and (self.edge is not NO_EDGE or self.base.requires_grad):
            self.check_written(indirect=True)
            self.set_edge(t, as_strided_node(t, self.base))

    def set_edge(self, t, edge):
        """Give the view a new history, moving what retain_grad asked for to it."""
        old, self.edge, self.version = self.edge, edge, t._box[0]
        if self.retains_grad:
            move_retention(t, old, edge)
        copy = self.base._edge
        if isinstance(copy, CopySlices) and copy.seen_as is None:
            copy.seen_as = weak(edge)  # the history of the view since the write that made `copy`

    def check_written(self, indirect=False):
        """Raise RuntimeError if writing to this view (or, `indirect`, to its base) leaves its history undefined."""
        if self.creation is DEFAULT:
            return
        how = (
            "is being modified inplace"
            if not indirect
            else "its base or another view of its base has been modified inplace"
        )
        node, nr = pair_of(self.edge)
        if node is not None:
            from .errors import short_name

            text = f"Output {nr} of {short_name(node)} is a view and {how}. "
            if self.creation is IN_INFERENCE or self.creation is NO_GRAD:
                where = (
                    ("inference", "in normal mode")
                    if self.creation is IN_INFERENCE
                    else ("no_grad", "with grad mode enabled")
                )
                text = (
                    f"Output {nr} of {short_name(node)} is a view of a view which was created in {where[0]} mode and {how} "
                    f"{where[1]}. "
                )
        elif self.creation is IN_INFERENCE:
            text = f"A view was created in inference mode and {how} in normal mode. "
        else:
            text = f"A view was created in no_grad mode and {how} with grad mode enabled. "
        if self.creation is MULTI_OUTPUT:
            text += (
                "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
                "to be modified inplace. You should replace the inplace operation by an out-of-place one."
            )
        elif self.creation is IN_CUSTOM:
            text += (
                "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
                "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
                "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
            )
        else:
            block = "no_grad" if self.creation is NO_GRAD else "inference_mode"
            text += (
                "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
                f"the view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or "
                "both outside (if you want the inplace to be tracked)."
            )
        raise RuntimeError(text)


def move_retention(t, old, edge):
    """`retain_grad` follows the tensor to its newest history."""
    node, nr = pair_of(old)
    if node is not None and node.hooks is not None:
        node.hooks.retain.pop(nr, None)
    node, nr = pair_of(edge)
    if node is not None:
        node._hooks().retain[nr] = weak(t)


def make_view(source, data, edge=NO_EDGE, creation=DEFAULT):
    """A view of `source` whose numbers are `data`, a NumPy view of its memory."""
    t = new(Registry.tensor)
    t._data = data
    t._edge = None
    box = t._box = source._shared_box()
    if box[0] < 0:  # writes are not counted, so no history could be kept true
        t._edge, t._meta = NO_EDGE, None
    else:
        t._meta = ViewMeta(source, edge, creation)
    return t


recording.make_view = make_view


# -- what may be written ------------------------------------------------------------------------------


def check_writable(t, others=()):
    """Raise RuntimeError if `t` may not be written in place now: a leaf that requires a gradient, or a view of one."""
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
    """The same for the view of that `meta`: what it is a view of may be a leaf that requires a gradient."""
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
        set_history(base, copy_slices(base, t, node))
        meta.set_edge(t, as_strided_node(t, base))
    else:
        set_history(t, node)


def set_history(t, node):
    """Make `node` the history of `t`, which is no view; what retain_grad asked for moves to it."""
    old, t._edge = t._edge, node
    if t._meta is not None and t._meta.retains_grad:
        move_retention(t, old, node)


def copy_slices(base, t, inner):
    """The history of `base`, whose view `t` was overwritten by the operation of the node `inner`."""
    edges = edge_of(base), *inner._edges[1:]
    node = make_node(CopySlices, edges, place_in(base, t))  # event: edge CopySlices
    node.inner, node.seen_as = inner, None
    node.overlaps = shares_places(t) or shares_places(base)
    node.saved = (None,)  # so that the node is asked for what the operation inside saved
    created(node)
    return node


def as_strided_node(t, base):
    """The history of the view `t` as elements of `base`, whose own history may be new."""
    node = make_node(AsStridedBackward0, (edge_of(base),), (*geometry(t), geometry(base)))
    created(node)
    return node


# -- the nodes ----------------------------------------------------------------------------------------


class AsStridedBackward0(core.AsStridedBackward0):
    """A view seen from its base: some elements of its memory.

    Math: y = as_strided(a, size, stride, storage_offset).   VJP: as_strided_added(zeros_like(a), g, size, stride,
    storage_offset).
    Saves: no tensors.  PyTorch: torch.as_strided
    """

    keeps = ("size", "stride", "storage_offset")

    def vjp(self, g):
        size, stride, offset, (base_size, base_stride, base_offset) = self.args
        if offset is None:  # as_strided was not given an offset
            offset = base_offset
        if 0 in size or 0 in base_size:
            return zeros(base_size, g)
        kept = []  # the other dims hold one element, or repeat the same elements
        for d in range(len(size) - 1, -1, -1):
            if size[d] == 1:
                g = g.squeeze(d)
            elif stride[d] == 0:
                g = g.sum(d)
            else:
                kept.insert(0, d)
        size, stride = [size[d] for d in kept], [stride[d] for d in kept]
        first = min(offset, base_offset)
        offset, base_offset = offset - first, base_offset - first
        memory = zeros(max(span(base_size, base_stride, base_offset), span(size, stride, offset)), g)
        if repeats_places(size, stride):
            memory = added(memory, size, stride, offset, g)
        else:
            put(seen(memory, size, stride, offset), g)
        if repeats_places(base_size, base_stride):
            memory = shared_out(memory, base_size, base_stride, base_offset)
        return seen(memory, base_size, base_stride, base_offset)


class CopySlices(core.CopySlices):
    """A base of which one slice was overwritten in place by another operation (`inner`).

    Math: y = a with a slice replaced by what the operation inside made of it.
    VJP: to a: g whose slice has gone back through the operation inside; to the others: what that sends for the slice.
    PyTorch: torch::autograd::CopySlices
    """

    __slots__ = ("overlaps", "seen_as")

    def unpack(self, tensors):
        Node.unpack(self, tensors)  # raises if this node was freed
        values = type(self.inner).unpack(self.inner, tensors)
        # A saved result is the view as it was then: it has the view's history, as long as the view is in use.
        node = self.seen_as() if tensors and self.seen_as is not None else None
        if node is not None:
            for i, t in enumerate(values):
                if isinstance(t, Variable) and self.inner.result_number(i) is not None:
                    t._edge = node
        return values

    def vjp(self, g, *values):
        if (
            self.overlaps
        ):  # g could not be laid out like this, nor its slice written back: elements share memory
            raise overlap_error()
        whole, part = copied(g, *self.args)
        first, *rest = self.through_inner(part, values)
        if first is None and self.inner.kind == "function":
            return None, *rest  # as PyTorch: then nothing goes to the base, neither to the rest of it
        put(part, zeros(part.shape, part) if first is None else first)
        return whole, *rest

    def through_inner(self, part, values):
        """What the operation inside sends for the slice `part` of the gradient."""
        inner = self.inner
        piece = part.clone(memory_format=contiguous_format) if isinstance(part, Variable) else part.copy()
        rule = type(inner)
        vjp = recorded_vjp(rule) if isinstance(part, Variable) else rule.vjp
        results = in_formula(rule, vjp, inner, piece if inner.plain else [piece], *values)
        results = results if isinstance(results, tuple) else (results,)
        return results if inner.broadcast is None else unbroadcast(inner, results)


CLASSES["ViewMeta"] = ViewMeta

__all__ = [
    "DEFAULT", "IN_CUSTOM", "IN_INFERENCE", "MULTI_OUTPUT", "NO_GRAD", "AsStridedBackward0", "CopySlices", "ViewMeta", "as_strided_node",
    "check_writable", "make_view", "move_retention", "rebase_history", "set_history",
]  # fmt: skip
