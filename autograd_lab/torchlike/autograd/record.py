"""PyTorch's additions to core/record.py: several outputs, overlapping memory, type checks."""

import weakref

import numpy as np

from ...core import record as core
from ...core.node import make_node
from ...core.record import apply_view, edges_of, finish, record, saved_values, wanted, with_shapes
from ...core.seams import CLASSES, DOORS
from ...core.tensor import bump_version
from . import anomaly
from .errors import TYPE_NAMES
from .float16 import HALF, in_single
from .memory import check_overlap, same_elements, settled, shares_places
from .modes import THREAD, WATCHERS, watcher
from .node import created
from .saved import as_packed
from .variable import INFERENCE, NO_EDGE, Variable, alias, edge_of, wrap
from .views import DEFAULT, check_writable, make_view, rebase_history


def apply(rule, inputs, *args):
    """Run the operation of `rule` on Tensors `inputs` with plain values `args`; record it if a gradient is wanted.

    Returns a new Tensor, or a tuple of them if the rule has several outputs.
    """
    if not rule.plain:
        return apply_several(rule, inputs, args)
    if rule.operands is rule.layout is None and not (inputs and inputs[0]._data.dtype is HALF):
        out = core.apply(rule, inputs, *args)
    else:
        out = apply_laid_out(rule, inputs, args)
    if out._edge is not NO_EDGE and out._data.dtype.kind != "f":
        raise RuntimeError(f"Autograd not support dtype: {TYPE_NAMES[out._data.dtype.name]}")
    return out


def apply_laid_out(rule, inputs, args):
    """`apply` for halves, and for a rule that lays out its result or has operands without gradients."""
    state = THREAD.state
    arrays = [t._data for t in inputs]
    data = state.run(forward_of(rule, arrays), *arrays, *args)
    if rule.layout is not None:
        data = rule.layout(data, arrays[0])
    edges, needs = links_of(rule, inputs) if state.grad else (NO_EDGE, 0)
    if not (needs and rule.saves_rest):
        return record(state, rule, inputs, edges, needs, data, args)
    out = wrap(data)
    out._edge = node = node_for(rule, edges, inputs, (out,), args)
    if state.special:
        finish(state, rule, inputs, (out,), node, args)
    return out


def apply_several(rule, inputs, args):
    """`apply` for a rule of several outputs."""
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


def forward_of(rule, arrays):
    """What computes the operation of `rule` on `arrays`: halves in single precision, unless the rule is about number types."""
    if rule.widens and arrays and arrays[0].dtype is HALF:
        return in_single(rule.forward, rule.rounds_numbers)
    return rule.forward


def record_all(state, rule, inputs, data, args=(), broadcast=None):
    """The core's function of this name, for a rule whose last inputs may be indices or masks, which have no edge."""
    edges, needs = links_of(rule, inputs) if state.grad else (NO_EDGE, 0)
    return record(state, rule, inputs, edges, needs, data, args, broadcast)


def links_of(rule, inputs):
    """The edges of the operands that can want a gradient, and which of them lead somewhere (see `wanted`)."""
    operands = len(inputs) if rule.operands is None else rule.operands
    if operands == 1 and isinstance(inputs[0], Variable):  # written out: half of all rules
        edge = inputs[0]._edge or edge_of(inputs[0])
        return (edge,), edge is not NO_EDGE
    edges = edges_of(inputs[:operands])
    return edges, wanted(edges)


def node_for(rule, edges, inputs, outputs, args=(), broadcast=None):
    """A node of class `rule` that keeps what the rule says it saves."""
    saved = saved_values(rule, inputs, outputs, wanted(edges)) if rule.save_plan else ()
    if rule.saves_rest:
        saved += tuple(inputs[len(rule.inputs) :])
    return make_node(rule, edges, with_shapes(rule, inputs, args), saved, broadcast)


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

    Raises RuntimeError where PyTorch does: a leaf that requires a gradient, an expanded target, a result that does not fit.
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


# -- writing in place ----------------------------------------------------------------------------------------


def inplace_node(state, rule, inputs, args):
    """The node of an in-place operation, or None: the old value of its target is saved as a copy, with its history.

    An operand that happens to be the target itself is kept as an alias, which will be found overwritten; kept as
    itself it would make node and tensor hold each other for ever.
    """
    if not state.grad:
        return None
    target, *others = inputs
    edges = edges_of(inputs[: rule.operands])
    needs = wanted(edges)
    if not needs:
        return None
    old = copied(target, edges[0]) if saves_first(rule, needs) else target
    kept = [old, *[stand_in(t, edges[0]) if t is target else t for t in others]]
    saved = [
        kept[where] if nr is None and (users < 0 or needs & users) else None
        for where, nr, users in rule.save_plan
    ]
    if rule.saves_rest:
        saved += kept[len(rule.inputs) :]
    node = make_node(rule, edges, with_shapes(rule, inputs, args), tuple(saved))
    if old is not target and old._edge is not NO_EDGE:
        copy = old._edge  # PyTorch makes it after the node, and numbers them so
        copy.priority, node.priority = node.priority, copy.priority
    return node


def saves_first(rule, needs):
    """Whether the first operand would be saved."""
    return any(where == 0 and needs & users for where, _nr, users in rule.save_plan)


def copied(t, edge):
    """A clone of `t` whose gradient goes where that of `t` went."""
    if edge is not NO_EDGE:
        edge = make_node(CLASSES["CloneBackward0"], (edge,), ("K",))
    return wrap(t._data.copy(), edge)


def copy_of(t, edge):
    """The same, and the clone moves as `t` did."""
    copy = copied(t, edge)
    dual = THREAD.state.dual
    if dual is not None:
        dual.copied(copy, t)
    return copy


def stand_in(t, edge):
    """An alias to save for an operand `t` that is about to be overwritten; the message about that speaks of `t` itself."""
    out = alias(t, edge)
    out.stands_for = weakref.ref(t)
    return out


def overwrite(state, rule, inputs, data, node, name, args):
    """The second half of an in-place operation: `data` becomes the value of its first operand, `node` its history."""
    target = inputs[0]
    after = overwriting(state, rule, inputs, data, node, args) if state.special else None
    write(target, data)
    if node is not None:
        refresh_results(node, rule, target)
        rebase_history(target, node)  # event: inplace recorded
    if after is not None:
        after(node)
    if state.special:
        finish_inplace(state, rule, inputs, target, node, name, args)
    return target


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
        and saves_first(rule, wanted(node._edges))
    ):
        dual.copied(node.saved[0], target)
    tangent = dual.before_write(rule, inputs, data, args)
    return None if tangent is None else lambda node: dual.written(target, tangent, node)


def refresh_results(node, rule, target):
    """A saved result of an in-place operation is the target's memory as it is after the write."""
    results = [i for i, (_where, nr, _users) in enumerate(rule.save_plan) if nr is not None]
    if results:
        saved, versions = list(node.saved), list(node.versions or (0,) * len(node.saved))
        for i in results:
            saved[i] = wrap(target._data, NO_EDGE, target._shared_box())
            versions[i] = target._box[0]
        node.saved, node.versions = as_packed(node, tuple(saved)), tuple(versions)


def write(target, data):
    """Put the numbers `data` into the memory of `target` and count the write."""
    if WATCHERS:
        watcher().writing(target)
    memory = target._data
    if not isinstance(memory, np.ndarray):
        target._data = data.astype(memory.dtype)[()]
    else:
        if not memory.flags.writeable:
            # NumPy lends some arrays read-only (a dim of size one that was broadcast): write to a copy of our own.
            memory = target._data = memory.copy()
        np.copyto(memory, data, casting="unsafe")
    bump_version(target)  # event: inplace


def finish_inplace(state, rule, inputs, target, node, name, args=()):
    """The end of an in-place operation while something unusual goes on."""
    if node is not None:
        created(node)
    if state.watch is not None:
        state.watch.written(rule, inputs, target, node, name, args)


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


DOORS.finish = finished

__all__ = [
    "RANK", "announce", "apply", "apply_inplace", "apply_laid_out", "apply_view", "apply_views", "check_fits", "copy_of", "edges_of", "finish",
    "finish_inplace", "inplace_node", "make_node", "node_for", "overwrite", "record_all", "wanted", "write",
]  # fmt: skip
