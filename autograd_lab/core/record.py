"""How an operation becomes a node.

Every operation ends here: compute with NumPy, wrap the result and, if recording is on and some operand wants a gradient, make
a node that remembers where gradients go.

>>> x, k = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
>>> (x * k).grad_fn.name()
'MulBackward0'
>>> (k * k).grad_fn is None  # no operand wants a gradient
True
"""

import numpy as np

from .modes import THREAD, WATCHERS, watcher
from .node import make_node
from .seams import DOORS
from .tensor import NO_EDGE, Tensor, bump_version, edge_of, new, wrap
from .views import check_writable, make_view, rebase_history


def edges_of(inputs):
    """The edges of some operands: where their gradients go. A number has none."""
    return tuple([t._edge or edge_of(t) if isinstance(t, Tensor) else NO_EDGE for t in inputs])


def wanted(edges):
    """Which of these edges lead somewhere, as the bits of a number; 0 if no gradient is wanted at all."""
    return sum([(edge is not NO_EDGE) << i for i, edge in enumerate(edges)])


def apply(rule, inputs, *args):
    """Run the operation of `rule` on Tensors `inputs` with plain values `args`; record it if a gradient is wanted."""
    state = THREAD.state
    data = state.run(rule.forward, *[t._data for t in inputs], *args)
    return record_all(state, rule, inputs, data, args)


def record_all(state, rule, inputs, data, args=(), broadcast=None):
    """`record`, for operands whose edges are not known yet."""
    edges = edges_of(inputs) if state.grad else ()
    return record(state, rule, inputs, edges, wanted(edges), data, args, broadcast)


def record(state, rule, inputs, edges, needs, data, args=(), broadcast=None):
    """Wrap the result `data` of an operation and make its node, if one is wanted. Returns the Tensor.

    edges      where the gradients of the operands go
    needs      which of them lead somewhere (see `wanted`)
    broadcast  the (shape, dtype) of each operand, if broadcasting or promotion changed one of them
    """
    out = new(DOORS.tensor)
    out._data = data
    out._box = out._meta = node = None
    if needs:
        kept = with_shapes(rule, inputs, args) if rule.shape_names else args
        saved = saved_values(rule, inputs, (out,), needs) if rule.save_plan else ()
        out._edge = node = make_node(rule, edges, kept, saved, broadcast)
    else:
        out._edge = NO_EDGE  # event: const
    if state.special:
        finish(state, rule, inputs, (out,), node, args)
    return out


def with_shapes(rule, inputs, args):
    """The plain values of a node, including the operand shapes that the rule keeps."""
    return (*args, *[inputs[i]._data.shape for i in rule.shape_names])


def saved_values(rule, inputs, outputs, needs):
    """The values that a rule saves, if a gradient that goes somewhere needs them.

    Results are saved as aliases without history: if a node held its own output, neither could be freed without the garbage collector.
    """
    saved = []
    for where, nr, users in rule.save_plan:
        if nr is None:
            saved.append(inputs[where] if users < 0 or needs & users else None)
        else:
            out = outputs[nr]
            saved.append(wrap(out._data, NO_EDGE, out._shared_box()))
    return tuple(saved)


def apply_view(rule, x, data, *args):
    """Record that `data`, a NumPy view of the memory of `x`, was taken; returns the view Tensor."""
    state = THREAD.state
    node = None
    if state.grad:
        link = x._edge or edge_of(x)
        if link is not NO_EDGE:
            kept = with_shapes(rule, (x,), args) if rule.shape_names else args
            node = make_node(rule, (link,), kept)
    out = make_view(x, data, node or NO_EDGE)  # event: const view
    if state.special:
        finish(state, rule, (x,), (out,), node, args)
    return out


# -- writing in place -------------------------------------------------------------------------------------


def apply_inplace(rule, inputs, *args):
    """The operation of `rule`, written into its first operand, which is returned.

    Raises RuntimeError for a leaf that requires a gradient, and ValueError for a result that does not fit.
    """
    target = inputs[0]
    check_writable(target)
    state = THREAD.state
    arrays = [t._data if isinstance(t, Tensor) else t for t in inputs]
    data = state.run(rule.forward, *arrays, *args)
    node = inplace_node(rule, inputs, args, data.dtype) if state.grad else None
    if WATCHERS:
        watcher().writing(target)
    np.copyto(target._array(), data, casting="unsafe")
    bump_version(target)
    if node is not None:
        rebase_history(target, node)
    if state.watch is not None:
        state.watch.written(rule, inputs, target, node, rule.op + "_", args)
    return target


def inplace_node(rule, inputs, args, dtype):
    """The node of an operation that is about to overwrite its first operand; None if no gradient is wanted.

    It saves a copy of what is overwritten: if it held the tensor itself, neither could ever be freed.
    """
    edges = edges_of(inputs)
    needs = wanted(edges)
    if not needs:
        return None
    old = wrap(inputs[0]._data.copy(), edges[0])
    kept = [old if t is inputs[0] else t for t in inputs]
    shapes = [(t._data.shape, t._data.dtype) if isinstance(t, Tensor) else ((), dtype) for t in inputs]
    saved = saved_values(rule, kept, (), needs)
    return make_node(rule, edges, with_shapes(rule, inputs, args), saved, tuple(shapes))


# -- telling the watcher ----------------------------------------------------------------------------------


def finish(state, rule, inputs, outputs, node, args):
    """The end of an operation while something unusual is going on; see State.special."""
    if DOORS.finish is not None:
        DOORS.finish(state, rule, inputs, outputs, node, args)
    if state.watch is not None:
        state.watch.operation(rule, inputs, outputs, node, args)
