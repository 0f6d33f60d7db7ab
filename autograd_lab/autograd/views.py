"""Views and in-place writing: two tensors over one memory, and how history stays true when the memory changes.

A view remembers its base, the first tensor of the family. All of a family share one version counter. When a member is
written in place, the *base* gets the new history: a CopySlices node says "all of the old value, except this slice, which
came out of that operation". Every other view then finds that its own history is out of date (its version differs) and
makes it anew, as an AsStridedBackward0 on the base: "these elements of the base".
"""

import numpy as np

from .formulas import in_formula
from .modes import THREAD
from .node import Node, count_down, new, weak
from .saved import FREED
from .variable import (
    DEAD_END,
    INFERENCE,
    NO_EDGE,
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


def shares_places(t):
    """Whether several elements of `t` are one number in memory, as in an expanded tensor."""
    memory = t._data
    return (
        isinstance(memory, np.ndarray)
        and 0 in memory.strides
        and memory.size > 0
        and any(s == 0 and n > 1 for s, n in zip(memory.strides, memory.shape, strict=True))
    )


def overlap_error():
    """The error of writing to a tensor that shares places."""
    return RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
        "clone() the tensor before performing the operation."
    )


def settled(t, data):
    """`data` as it can be written to a `t` that shares places: of the elements of one place, those that changed win."""
    memory = t._data
    where = _locations(memory, 0, memory.itemsize)
    places = np.empty(int(where.max()) + 1, memory.dtype)
    changed = data != memory
    places[where] = data
    places[where[changed]] = data[changed]
    return places[where]


def check_overlap(t, others):
    """Raise RuntimeError if writing to `t` while reading `others` would depend on the order of the elements."""
    if shares_places(t):
        raise overlap_error()
    box = t._box
    if box is not None and isinstance(t._data, np.ndarray):  # somebody may share this memory
        for o in others:
            if o._box is box and o is not t and _overlap_partly(t, o):
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
                    "memory location. Please clone() the tensor before performing the operation."
                )


def _overlap_partly(t, o):
    """Whether two tensors without gaps share some memory, but not as the same elements in the same order."""
    a, b = t._array(), o._array()
    if not (a.size and b.size and _dense(a) and _dense(b)):
        return False
    a_start, b_start = a.__array_interface__["data"][0], b.__array_interface__["data"][0]
    a_end, b_end = a_start + a.nbytes, b_start + b.nbytes
    if (a_start, a_end) == (b_start, b_end):
        return t.stride() != o.stride()
    return a_start < b_end and b_start < a_end


def _dense(a):
    """Whether the elements of an array fill a piece of memory without gaps."""
    expected = a.itemsize
    for stride, n in sorted((s, n) for s, n in zip(a.strides, a.shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= n
    return True


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
        meta.set_edge(t, as_strided_node(t, base))
    else:
        old = t._edge
        t._edge = node
        if meta is not None and meta.retains_grad:
            move_retention(t, old, t._edge)


def positions(part, whole):
    """Where the elements of the array `part` lie in the flattened array `whole`, whose memory it shares; -1: nowhere."""
    step = whole.itemsize
    start = whole.__array_interface__["data"][0]
    offset = (part.__array_interface__["data"][0] - start) // step
    where = _locations(part, offset, step)
    if whole.flags.c_contiguous:
        return np.where((where >= 0) & (where < whole.size), where, -1) if where.size else where
    own = _locations(whole, 0, step)
    reach = int(own.max()) + 1 if own.size else 0
    inverse = np.full(reach + 1, -1, dtype=np.intp)  # the last entry stands for all that lies outside
    inverse[own.reshape(-1)] = np.arange(own.size)
    return inverse[np.where((where >= 0) & (where < reach), where, reach)]


def _locations(array, offset, step):
    where = np.full(array.shape, offset, dtype=np.intp)
    for axis, (n, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        shape = [1] * array.ndim
        shape[axis] = n
        where += (np.arange(n) * (stride // step)).reshape(shape)
    return where


def gather(x, where, _shape):
    """The elements of `x` (an array or a Tensor) at the flat positions `where`."""
    return x.reshape(-1)[_index(where) if isinstance(x, Variable) else where]


def scatter(g, where, shape, base=None):
    """An array or Tensor of `shape` that holds `g` at the flat positions `where` and `base` (or zero) elsewhere.

    Without a base, what falls on the same place is added up.
    """
    if isinstance(g, Variable):
        flat = g.new_zeros(int(np.prod(shape, dtype=int))) if base is None else base.reshape(-1)
        return flat.index_put((_index(where.reshape(-1)),), g.reshape(-1), accumulate=base is None).reshape(
            shape
        )
    if base is None:
        flat = np.zeros(shape, dtype=g.dtype).reshape(-1)
        np.add.at(flat, where, g)
    else:
        flat = np.array(base).reshape(-1)
        flat[where] = g
    return flat.reshape(shape)


def scatter_found(g, where, shape):
    """`scatter` of those elements of `g` that have a place (see `positions`): as_strided reaches beyond its operand."""
    found = where >= 0
    if found.all():
        return scatter(g, where, shape)
    return scatter(gather(g, np.flatnonzero(found), None), where[found], shape)


def _index(where):
    from .variable import wrap

    return wrap(where.astype(np.int64))


class AsStridedBackward0(Node):
    """A view seen from its base: some elements of it.

    Math: y = a[where].   VJP: g at those places, zero elsewhere (added where places repeat).
    Saves: no tensors.  PyTorch: torch.as_strided
    """

    __slots__ = ()
    keeps = ("size", "stride", "storage_offset")

    def vjp(self, g):
        where, shape = self.args[3:]
        return scatter_found(g, where, shape)


def as_strided_node(t, base):
    """The history of the view `t` as elements of `base`, whose own history may be new."""
    node = new(AsStridedBackward0)
    node._next = (edge_of(base),)
    node.priority = count_down()
    part, whole = t._array(), base._array()
    node.args = (part.shape, t.stride(), t.storage_offset(), positions(part, whole), whole.shape)
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

    __slots__ = ("inner", "overlaps")

    def __init__(self, base, view, inner):
        self.inner = inner
        self.overlaps = shares_places(view)
        self._next = (edge_of(base), *inner._edges[1:])
        self.priority = count_down()
        whole = base._array()
        self.args = (positions(view._array(), whole), whole.shape)
        self.saved = (None,)
        self.versions = self.fold = self.hooks = None
        created(self)

    def name(self):
        return "torch::autograd::CopySlices"

    def unpack(self, tensors):
        super().unpack(tensors)  # raises if this node was freed
        inner = self.inner
        return [type(inner).unpack(inner, tensors)] if inner.saved else [()]

    def release(self):
        self.saved = FREED
        self.inner = None  # what it saved may still be needed: its result knows it as its own node

    def vjp(self, g, values):
        from .engine import fold

        if self.overlaps:  # the slice of g could not be written back, as its elements share places
            raise overlap_error()
        where, shape = self.args
        inner = self.inner
        piece = gather(g, where, shape)
        results = in_formula(type(inner), type(inner).vjp, inner, piece if inner.plain else [piece], *values)
        if not isinstance(results, tuple):
            results = (results,)
        if inner.fold is not None:
            results = fold(inner, results)
        first = results[0] if results[0] is not None else piece * 0
        return (scatter(first, where, shape, base=g), *results[1:])


def created(node):
    """Tell whoever watches that `node` was made by the engine itself, not by an operation."""
    state = THREAD.state
    if state.special:
        from .record import announce

        announce(state, node)
