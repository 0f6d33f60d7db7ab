"""Views and in-place writing: two tensors over one memory, and how history stays true when the memory changes.

A view remembers its base, the first tensor of the family. All of a family share one version counter. When a member is
written in place, the *base* gets the new history: a CopySlices node says "all of the old value, except this slice, which
came out of that operation". Every other view then finds that its own history is out of date (its version differs) and
makes it anew, as an AsStridedBackward0 on the base: "these elements of the base".
"""

from ..layout import contiguous_format
from .formulas import in_formula
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
from .modes import THREAD
from .node import Node, count_down, new, weak
from .saved import FREED
from .variable import (
    DEAD_END,
    INFERENCE,
    NO_EDGE,
    OWN_TYPE,
    AutogradMeta,
    Registry,
    Variable,
    accumulator_of,
    edge_of,
    pair_of,
)

DEFAULT, NO_GRAD, MULTI_OUTPUT, IN_INFERENCE, IN_CUSTOM = (
    "default",
    "no_grad",
    "multi_output",
    "inference",
    "custom",
)


class ViewMeta(AutogradMeta):
    """The meta of a view: its base, the edge it had when last looked at, and the version at that time."""

    __slots__ = ("creation", "edge", "version")

    def __init__(self, base, edge, version, creation):
        # What AutogradMeta sets, written out: views are made often, and a second call costs as much as all this.
        self.requires_grad = self.retains_grad = False
        self.grad = self.accumulator = self.hooks = self.post_accumulate_hooks = self.detached = None
        self.grad_dtype = OWN_TYPE
        self.base = base
        self.edge = edge
        self.version = version
        self.creation = creation

    def find_edge(self, t):
        """The edge of the view `t`, made anew if the family was written to since."""
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
            check_written_view(t, self, indirect=True)
            self.set_edge(t, as_strided_node(t, self.base))

    def set_edge(self, t, edge):
        """Give the view a new history, moving what retain_grad asked for to it."""
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
        node._hooks().retain[nr] = weak(t)


def make_view(source, data, edge=NO_EDGE, creation=DEFAULT):
    """A view of `source` whose numbers are `data`, a NumPy view of its memory."""
    t = new(Registry.tensor)
    t._data = data
    t._edge = None
    state = THREAD.state
    if source._box is INFERENCE:
        t._box, t._edge, t._meta = INFERENCE, NO_EDGE, None
        return t
    box = t._box = source._shared_box()
    if creation is DEFAULT:
        if state.inference:
            creation = IN_INFERENCE
        elif not state.grad:
            creation = NO_GRAD
    parent = source._meta
    if parent is not None and parent.base is not None:
        if creation is DEFAULT:
            creation = parent.creation
        source = parent.base
    t._meta = ViewMeta(source, edge, box[0], creation)
    return t


def check_written_view(t, meta, indirect=False):
    """Raise RuntimeError if writing to this view (or, `indirect`, to its base) leaves its history undefined."""
    if meta.creation is DEFAULT:
        return
    how = (
        "is being modified inplace"
        if not indirect
        else "its base or another view of its base has been modified inplace"
    )
    node, nr = pair_of(meta.edge)
    if node is not None:
        from .errors import short_name

        text = f"Output {nr} of {short_name(node)} is a view and {how}. "
        if meta.creation is IN_INFERENCE or meta.creation is NO_GRAD:
            where = (
                ("inference", "in normal mode")
                if meta.creation is IN_INFERENCE
                else ("no_grad", "with grad mode enabled")
            )
            text = (
                f"Output {nr} of {short_name(node)} is a view of a view which was created in {where[0]} mode and {how} "
                f"{where[1]}. "
            )
    elif meta.creation is IN_INFERENCE:
        text = f"A view was created in inference mode and {how} in normal mode. "
    else:
        text = f"A view was created in no_grad mode and {how} with grad mode enabled. "
    if meta.creation is MULTI_OUTPUT:
        text += (
            "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
            "to be modified inplace. You should replace the inplace operation by an out-of-place one."
        )
    elif meta.creation is IN_CUSTOM:
        text += (
            "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
            "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
            "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
        )
    else:
        block = "no_grad" if meta.creation is NO_GRAD else "inference_mode"
        text += (
            "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
            f"the view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or "
            "both outside (if you want the inplace to be tracked)."
        )
    raise RuntimeError(text)


def check_writable(t, others=()):
    """Raise RuntimeError if `t` may not be written in place now: a leaf that requires grad, or a view of one."""
    if not THREAD.state.grad:
        return
    if t._edge is NO_EDGE and all((o._edge or edge_of(o)) is NO_EDGE for o in others):
        return
    meta = t._meta
    requires = t.requires_grad
    if meta is not None and meta.base is not None and (requires or any(o.requires_grad for o in others)):
        check_written_view(t, meta)
        if requires and meta.base._last_edge() is NO_EDGE:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            )
    if requires and t._last_edge() is NO_EDGE:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def rebase_history(t, node):
    """After `t` was written in place by the operation of `node`: give it (and its family) the new history."""
    meta = t._meta
    if meta is not None and meta.base is not None:
        base = meta.base
        copy = CopySlices(base, t, node)
        old = base._edge
        base._edge = copy
        if base._meta is not None and base._meta.retains_grad:
            move_retention(base, old, base._edge)
        edge = as_strided_node(t, base)
        copy.seen_as = weak(edge)
        meta.set_edge(t, edge)
    else:
        old = t._edge
        t._edge = node
        if meta is not None and meta.retains_grad:
            move_retention(t, old, t._edge)


class AsStridedBackward0(Node):
    """A view seen from its base: some elements of its memory.

    Math: y = as_strided(a, size, stride, storage_offset).   VJP: as_strided_added(zeros_like(a), g, size, stride,
    storage_offset).
    Saves: no tensors.  PyTorch: torch.as_strided
    """

    __slots__ = ()
    keeps = ("size", "stride", "storage_offset")

    def vjp(self, g):
        size, stride, offset, (base_size, base_stride, base_offset) = self.args
        if offset is None:  # as_strided was not given one
            offset = base_offset
        if 0 in size or 0 in base_size:
            return zeros(base_size, g)
        kept = []  # the others hold one element, or the same ones again
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


def as_strided_node(t, base):
    """The history of the view `t` as elements of `base`, whose own history may be new."""
    node = new(AsStridedBackward0)
    node._next = (edge_of(base),)
    node.priority = count_down()
    node.args = (*geometry(t), geometry(base))
    node.saved = ()
    node.versions = node.fold = node.hooks = None
    created(node)
    return node


class CopySlices(Node):
    """A base of which one slice was overwritten in place by another operation (`inner`).

    Math: y = a with a slice replaced by what the operation inside made of it.
    VJP: to a: g whose slice has gone back through the operation inside; to the others: what that sends for the slice.
    PyTorch: torch::autograd::CopySlices
    """

    __slots__ = ("inner", "overlaps", "seen_as")

    def __init__(self, base, view, inner):
        self.inner = inner
        self.seen_as = None
        self.overlaps = shares_places(view) or shares_places(base)
        self._next = (edge_of(base), *inner._edges[1:])
        self.priority = count_down()
        self.args = place_in(base, view)
        self.saved = (None,)
        self.versions = self.fold = self.hooks = None
        created(self)

    def name(self):
        return "torch::autograd::CopySlices"

    def unpack(self, tensors):
        super().unpack(tensors)  # raises if this node was freed
        inner = self.inner
        if not inner.saved:
            return [()]
        values = type(inner).unpack(inner, tensors)
        # A result that was saved is the view as it was then: its history is that of the view, as long as somebody has it.
        node = self.seen_as() if tensors and self.seen_as is not None else None
        if node is not None:
            for i, t in enumerate(values):
                if isinstance(t, Variable) and inner.result_number(i) is not None:
                    t._edge = node
        return [values]

    def release(self):
        self.saved = FREED
        self.inner = None  # what it saved may still be needed: its result knows it as its own node

    def vjp(self, g, values):
        from .metadata import fold

        if self.overlaps:  # g could not be laid out so, nor its slice be written back: elements share places
            raise overlap_error()
        inner = self.inner
        whole, part = copied(g, *self.args)
        piece = part.clone(memory_format=contiguous_format) if isinstance(part, Variable) else part.copy()
        results = in_formula(type(inner), type(inner).vjp, inner, piece if inner.plain else [piece], *values)
        if not isinstance(results, tuple):
            results = (results,)
        if inner.fold is not None:
            results = fold(inner, results)
        first, *rest = results
        if first is None:
            if (
                inner.kind == "function"
            ):  # as PyTorch: then nothing goes to the base, neither to the rest of it
                return None, *rest
            first = zeros(part.shape, part)
        put(part, first)
        return whole, *rest


def created(node):
    """Tell whoever watches that `node` was made by the engine itself, not by an operation."""
    state = THREAD.state
    if state.special:
        from .record import announce

        announce(state, node)
