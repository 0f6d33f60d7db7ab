"""PyTorch's additions to core/record.py: several outputs, overlapping memory, type checks."""

from ...core import record as core
from ...core.node import make_node
from ...core.record import (
    apply_view,
    edges_of,
    finish,
    finish_inplace,
    forward_of,
    inplace_node,
    node_for,
    overwrite,
    record_all,
    wanted,
    write,
)
from ...core.seams import DOORS
from . import anomaly
from .errors import TYPE_NAMES
from .float16 import in_single
from .memory import check_overlap, same_elements, settled, shares_places
from .modes import THREAD
from .variable import INFERENCE, NO_EDGE, wrap
from .views import DEFAULT, check_writable, make_view


def copy_of(t, edge):
    """A clone of `t` with the same edge and the same tangents."""
    copy = core.copy_of(t, edge)
    dual = THREAD.state.dual
    if dual is not None:
        dual.copied(copy, t)
    return copy


def apply(rule, inputs, *args):
    """Run the operation of `rule` on Tensors `inputs` with plain values `args`; record it if a gradient is wanted.

    Returns a new Tensor, or a tuple of them if the rule has several outputs.
    """
    if rule.plain:
        out = core.apply(rule, inputs, *args)
        if out._edge is not NO_EDGE and out._data.dtype.kind != "f":
            raise RuntimeError(f"Autograd not support dtype: {TYPE_NAMES[out._data.dtype.name]}")
        return out
    state = THREAD.state
    arrays = [t._data for t in inputs]
    parts = state.run(forward_of(rule, arrays), *arrays, *args)
    own = arrays[0]  # a result is never the operand itself, even if sorting one element changes nothing
    if rule.layout is not None:
        parts = [rule.layout(part, own) for part in parts]
    outputs = tuple([wrap(part if part is not own else part.copy()) for part in parts])
    node = None
    if state.grad:
        edges = edges_of(inputs[: rule.operands])
        if wanted(edges):
            node = node_for(rule, edges, inputs, outputs, args)
            for nr, out in enumerate(outputs):
                if out._data.dtype.kind == "f":
                    out._edge = (node, nr)
                    node.n_outputs = nr + 1  # results like the indices of a sort have no gradients
    if state.special:
        finish(state, rule, inputs, outputs, node, args)
    return outputs


def apply_views(rule, x, parts, creation, *args):
    """Record an operation that returns several views of `x` at once, such as unbind."""
    state = THREAD.state
    node = None
    if state.grad:
        edges = edges_of((x,))
        if edges[0] is not NO_EDGE:
            node = node_for(rule, edges, (x,), (), args)
            node.n_outputs = len(parts)
    if node is not None:
        outputs = tuple([make_view(x, part, (node, nr), creation) for nr, part in enumerate(parts)])
    else:
        outputs = tuple(
            [make_view(x, part, NO_EDGE, DEFAULT if not state.grad else creation) for part in parts]
        )
    if state.special:
        finish(state, rule, (x,), outputs, node, args)
    return outputs


def apply_inplace(rule, inputs, *args, name=None):
    """The same operation, written into its first operand, which is returned.

    Raises RuntimeError where PyTorch does: a leaf that requires grad, an expanded target, a result that does not fit.
    """
    target = inputs[0]
    check_writable(target, inputs[1:])
    fills = rule.__name__ in _FILLS
    if not fills and not (len(inputs) == 2 and same_elements(target, inputs[1])):
        check_overlap(target, inputs[1:])
    state = THREAD.state
    data = state.run(rule.forward, *[t._data for t in inputs], *args)
    check_fits(target, data)
    if fills and shares_places(target):
        data = settled(target, data)
    node = inplace_node(state, rule, inputs, args)
    return overwrite(state, rule, inputs, data, node, name or rule.op + "_", args)


_FILLS = frozenset([
    "IndexPutBackward0", "FillBackward0", "FillBackward1", "FillBackward2", "FillBackward3", "IndexFillBackward0", "IndexFillBackward1",
    "MaskedFillBackward0", "MaskedFillBackward1", "ThresholdBackward1", "ZeroBackward0",
])  # fmt: skip
"""These may write into elements that share memory: they write one number everywhere, or each element by itself, or (with their own warning)
by index.
"""


def check_fits(target, data):
    """Raise RuntimeError if `data` cannot be written into `target`: its shape is larger, or its kind of number is wider."""
    shape = target._data.shape
    if data.shape != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(data.shape)}"
        )
    have, want = data.dtype, target._data.dtype
    if have is not want and RANK[have.kind] > RANK[want.kind]:
        raise RuntimeError(
            f"result type {TYPE_NAMES[have.name]} can't be cast to the desired output type {TYPE_NAMES[want.name]}"
        )


RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
"""Kinds of numbers, ranked: a higher kind cannot be written into a lower one."""


# -- what the core asks of the next wing ------------------------------------------------------------------


def finished(state, rule, inputs, outputs, node, args):
    """An operation has run, or (without a rule) the engine made a node, while something unusual is going on."""
    if state.inference:
        mark_inference(outputs)
    if node is not None and (state.anomaly or state.creation_hooks):
        announce(state, node)
    if state.dual is not None and rule is not None:
        state.dual.propagate(rule, inputs, outputs, node, args)


def mark_inference(outputs):
    """Tensors made in inference mode count no writes."""
    if not any(out._meta is not None for out in outputs):
        for out in outputs:
            out._box = INFERENCE


def overwriting(state, rule, inputs, data, node, args):
    """Memory is about to be written while something unusual is going on. Returns a function that updates the tangent afterwards, or
    None.
    """
    target = inputs[0]
    if state.mutation is not None and target._box is not None and target._box is not INFERENCE:
        state.mutation.before_write(target)
    dual = state.dual
    if dual is None:
        return None
    if (
        node is not None
        and node.saved
        and node.saved[0] is not target
        and core.saves_first(rule, wanted(node._edges))
    ):
        dual.copied(node.saved[0], target)
    tangent = dual.before_write(rule, inputs, data, args)
    return None if tangent is None else lambda node: dual.written(target, tangent, node)


def halves(rule):
    """The `forward` of a rule for float16: computes in single precision, unless the rule itself is about number types."""
    return in_single(rule.forward, rule.rounds_numbers) if rule.widens else rule.forward


def announce(state, node):
    """Tell anomaly mode and the user's creation hooks about a new node."""
    if state.anomaly:
        anomaly.note_creation(node)
    if state.creation_hooks:
        if state.in_creation_hook:
            raise RuntimeError("A node was created inside of a node_creation_hook, which is not supported.")
        state.in_creation_hook = True
        try:
            for fn in list(state.creation_hooks):
                fn(node)
        finally:
            state.in_creation_hook = False


DOORS.finish, DOORS.overwrite, DOORS.halves = finished, overwriting, halves

__all__ = [
    "RANK", "announce", "apply", "apply_inplace", "apply_view", "apply_views", "check_fits", "copy_of", "edges_of", "finish",
    "finish_inplace", "inplace_node", "make_node", "node_for", "overwrite", "record_all", "wanted", "write",
]  # fmt: skip
