"""How an operation becomes a node.

Every operation of the library ends here (the few hottest have this written out in ops/rule.py): compute with NumPy, wrap
the result and, if recording is on and some operand wants a gradient, make a node that remembers the way back.
"""

import numpy as np

from . import anomaly
from .halves import HALF, in_single
from .memory import check_overlap, same_elements, settled, shares_places
from .modes import THREAD, WATCHERS, watcher
from .node import count_down, new, save
from .saved import as_packed, stand_in
from .variable import INFERENCE, NO_EDGE, Registry, bump_version, find_edge, wrap
from .views import DEFAULT, check_writable, make_view, rebase_history


def edges_of(inputs):
    """The edges of some operands: where their gradients are to go."""
    return tuple([t._edge or find_edge(t) for t in inputs])


def wanted(edges):
    """Whether anybody behind these edges wants a gradient."""
    for edge in edges:  # noqa: SIM110 - a generator in `any` costs five times as much
        if edge is not NO_EDGE:
            return True
    return False


def make_node(rule, edges, args=(), saved=()):
    """A node of class `rule`, made now."""
    node = new(rule)
    node._next = edges
    node.priority = count_down()
    node.args = args
    node.fold = node.hooks = node.versions = None
    if saved:
        save(node, saved)
    else:
        node.saved = ()
    return node


def apply(rule, inputs, *args):
    """Run the operation of `rule` on Tensors `inputs` with plain values `args`; record it if a gradient is wanted.

    Returns a new Tensor, or a tuple of them if the rule has several outputs.
    """
    state = THREAD.state
    arrays = [t._data for t in inputs]
    forward = rule.forward
    if rule.widens and arrays and arrays[0].dtype is HALF:
        forward = in_single(forward, rule.rounds_numbers)
    data = state.run(forward, *arrays, *args)
    if not rule.plain:
        return _apply_multi(state, rule, inputs, data, args)
    if rule.layout is not None:
        data = rule.layout(data, inputs[0]._data)
    out = wrap(data)
    node = None
    if state.grad:
        edges = edges_of(inputs[: rule.operands])
        if wanted(edges):
            if data.dtype.kind != "f":
                from .errors import TYPE_NAMES

                raise RuntimeError(f"Autograd not support dtype: {TYPE_NAMES[data.dtype.name]}")
            node = node_for(rule, edges, inputs, (out,), args)
            out._edge = node
    if state.special:
        finish(state, rule, inputs, (out,), node, args)
    return out


def node_for(rule, edges, inputs, outputs, args):
    """A node of class `rule` that keeps what the rule says it saves; no results if `outputs` is None."""
    if rule.shape_names:
        args = (*args, *[inputs[i]._data.shape for i in rule.shape_names])
    saved = ()
    if rule.saves:
        saved = []
        for _name, where, nr, users in rule.save_plan:
            if nr is None and (users is None or any(edges[i] is not NO_EDGE for i in users)):
                saved.append(inputs[where])
            elif nr is None or outputs is None:
                saved.append(None)
            else:
                out = outputs[nr]
                saved.append(wrap(out._data, NO_EDGE, out._shared_box()))
        saved = (*saved, *inputs[len(rule.inputs) :]) if rule.saves_rest else tuple(saved)
    return make_node(rule, edges, args, saved)


def _apply_multi(state, rule, inputs, data, args):
    own = inputs[0]._data  # a result is never the operand itself, even if sorting one element changes nothing
    if rule.layout is not None:
        data = [rule.layout(d, own) for d in data]
    outputs = tuple([wrap(d if d is not own else d.copy()) for d in data])
    node = None
    if state.grad:
        edges = edges_of(inputs[: rule.operands])
        if wanted(edges):
            node = node_for(rule, edges, inputs, outputs, args)
            for nr, out in enumerate(outputs):
                if out._data.dtype.kind == "f":
                    out._edge = (node, nr)
                    node.n_outputs = nr + 1  # results like the indices of a sort get no gradients
    if state.special:
        finish(state, rule, inputs, outputs, node, args)
    return outputs


def apply_view(rule, x, data, *args):
    """Record that `data`, a NumPy view of the memory of `x`, was taken; returns the view Tensor."""
    state = THREAD.state
    node = None
    edge = NO_EDGE
    if state.grad:
        link = x._edge or find_edge(x)
        if link is not NO_EDGE:  # node_for, written out: views are made often and save nothing
            node = new(rule)
            node._next = (link,)
            node.priority = count_down()
            node.args = (*args, x._data.shape) if rule.shape_names else args
            node.saved = ()
            node.fold = node.hooks = node.versions = None
            edge = node
    out = make_view(x, data, edge)
    if state.special:
        finish(state, rule, (x,), (out,), node, args)
    return out


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
    node = None
    if state.grad:
        edges = edges_of(inputs[: rule.operands])
        if wanted(edges):
            node = inplace_node(rule, inputs, edges, args)
    return overwrite(state, rule, inputs, data, node, name or rule.op + "_", args)


def overwrite(state, rule, inputs, data, node, name, args):
    """The second half of an in-place operation: `data` becomes the value of its first operand, `node` its history."""
    target = inputs[0]
    tangent = state.dual.before_write(rule, inputs, data, args) if state.dual is not None else None
    write(target, data)
    if node is not None:
        refresh_results(node, rule, target)
        rebase_history(target, node)
    if tangent is not None:
        state.dual.written(target, tangent, node)
    if state.special:
        finish_inplace(state, rule, inputs, target, node, name, args)
    return target


_FILLS = frozenset([
    "IndexPutBackward0", "FillBackward0", "FillBackward1", "FillBackward2", "FillBackward3", "IndexFillBackward0", "IndexFillBackward1",
    "MaskedFillBackward0", "MaskedFillBackward1", "ThresholdBackward1", "ZeroBackward0",
])  # fmt: skip
"""These may write where places share memory: one number everywhere, in each place by itself, or (with a warning of its own) by index."""


def inplace_node(rule, inputs, edges, args):
    """The node of an in-place operation: the old value of its target is saved as a copy, with its history.

    An operand that happens to be the target itself is kept as an alias, which will be found overwritten; kept as
    itself it would make node and tensor hold each other for ever.
    """
    target = inputs[0]
    old = copy_of(target, edges[0]) if rule.saves_first(edges) else target
    others = [stand_in(t, edges[0]) if t is target else t for t in inputs[1:]]
    node = node_for(rule, edges, (old, *others), None, args)
    if old is not target and old._edge is not NO_EDGE:
        copy = old._edge  # PyTorch makes it after the node, and numbers them so
        copy.priority, node.priority = node.priority, copy.priority
    return node


def copy_of(t, edge):
    """A clone of `t` whose gradient goes where that of `t` went, and that moves as `t` did."""
    if edge is not NO_EDGE:
        edge = make_node(Registry.clone, (edge,), ("K",))
    copy = wrap(t._data.copy() if isinstance(t._data, np.ndarray) else t._data, edge)
    dual = THREAD.state.dual
    if dual is not None:
        dual.copied(copy, t)
    return copy


def refresh_results(node, rule, target):
    """A saved result of an in-place operation is the target's memory as it is after the write."""
    if not rule.result_names:
        return
    saved = list(node.saved)
    versions = list(node.versions or (0,) * len(saved))
    for i, name in enumerate(rule.saves):
        if name in rule.result_names:
            saved[i] = wrap(target._data, NO_EDGE, target._shared_box())
            versions[i] = target._box[0]
    node.saved, node.versions = as_packed(node, saved, THREAD.state), tuple(versions)


def check_fits(target, data):
    """Raise RuntimeError if `data` cannot be written into `target`: a larger shape, a wider kind of number."""
    shape = target._data.shape
    if data.shape != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(data.shape)}"
        )
    have, want = data.dtype, target._data.dtype
    if have is not want and RANK[have.kind] > RANK[want.kind]:
        from .errors import TYPE_NAMES

        raise RuntimeError(
            f"result type {TYPE_NAMES[have.name]} can't be cast to the desired output type {TYPE_NAMES[want.name]}"
        )


RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
"""Kinds of numbers by how much they hold: what is of a higher one cannot be written into a lower."""


def write(target, data):
    """Put the numbers `data` into the memory of `target` and count the write."""
    if WATCHERS:
        watcher().writing(target)
    memory = target._data
    if isinstance(memory, np.ndarray):
        if target._box is not INFERENCE:
            bump_version(target)
        if not memory.flags.writeable:
            # NumPy lends some arrays read-only (a dim of size one that was broadcast): write to a copy of our own.
            memory = target._data = memory.copy()
        np.copyto(memory, data, casting="unsafe")
    else:
        if target._box is not INFERENCE:
            bump_version(target)
        target._data = (
            memory.dtype.type(data) if not isinstance(data, np.ndarray) else data.astype(memory.dtype)[()]
        )
    if target._box is INFERENCE:
        bump_version(
            target
        )  # raises outside of inference mode; the write has happened by then, in PyTorch as well


def finish(state, rule, inputs, outputs, node, args):
    """The end of an operation while something unusual is going on; see State.special."""
    if state.inference and not any(o._meta is not None for o in outputs):
        for out in outputs:
            out._box = INFERENCE
    if node is not None:
        announce(state, node)
    if state.dual is not None:
        state.dual.propagate(rule, inputs, outputs, node, args)
    if state.watch is not None:
        state.watch.operation(rule, inputs, outputs, node, args)


def finish_inplace(state, rule, inputs, target, node, name, args=()):
    """The same for an in-place operation."""
    if node is not None:
        announce(state, node)
    if state.watch is not None:
        state.watch.written(rule, inputs, target, node, name, args)


def announce(state, node):
    """Tell anomaly mode and the user's creation hooks of a new node."""
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
