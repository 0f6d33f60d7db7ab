"""How an operation becomes a node.

Every operation ends here: compute with NumPy, wrap the result and, if recording is on and some operand wants a gradient, make
a node that remembers where gradients go.

>>> x, k = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
>>> (x * k).grad_fn.name()
'MulBackward0'
>>> (k * k).grad_fn is None  # no operand wants a gradient
True
"""

import weakref

import numpy as np

from .modes import THREAD, WATCHERS, watcher
from .node import created, make_node, new
from .node import kept as kept_by
from .seams import CLASSES, DOORS
from .tensor import NO_EDGE, Tensor, alias, bump_version, find_edge, wrap
from .views import check_writable, make_view, rebase_history

HALF = np.dtype(np.float16)


def edges_of(inputs):
    """The edges of some operands: where their gradients go. A number has none."""
    return tuple([t._edge or find_edge(t) if isinstance(t, Tensor) else NO_EDGE for t in inputs])


def wanted(edges):
    """Which of these edges lead somewhere, as the bits of a number; 0 if no gradient is wanted at all."""
    bits = 0
    for i, edge in enumerate(edges):
        if edge is not NO_EDGE:
            bits |= 1 << i
    return bits


def apply(rule, inputs, *args):
    """Run the operation of `rule` on Tensors `inputs` with plain values `args`; record it if a gradient is wanted."""
    state = THREAD.state
    arrays = [t._data for t in inputs]
    data = state.run(forward_of(rule, arrays), *arrays, *args)
    if rule.layout is not None:
        data = rule.layout(data, arrays[0])
    return record_all(state, rule, inputs, data, args)


def forward_of(rule, arrays):
    """The function that computes the operation of `rule` on `arrays`."""
    if arrays and arrays[0].dtype is HALF and DOORS.halves is not None:
        return DOORS.halves(rule)
    return rule.forward


def record_all(state, rule, inputs, data, args=(), fold=None):
    """`record`, for operands whose edges are not known yet."""
    edges, needs = NO_EDGE, 0
    if state.grad:
        edges = edges_of(inputs[: rule.operands])
        needs = wanted(edges)
    return record(state, rule, inputs, edges, needs, data, args, fold)


def record(state, rule, inputs, edges, needs, data, args=(), fold=None):
    """Wrap the result `data` of an operation and make its node, if one is wanted. Returns the Tensor.

    edges   where the gradients of the operands go
    needs   which of them lead somewhere (see `wanted`)
    fold    for each operand its (shape, dtype), if broadcasting or promotion changed one of them
    """
    out = new(DOORS.tensor)
    out._data = data
    out._box = out._meta = node = None
    if needs:
        kept = with_shapes(rule, inputs, args) if rule.shape_names else args
        saved = planned(rule, inputs, (out,), needs) if rule.save_plan else ()
        out._edge = node = make_node(rule, edges, kept, saved, fold)
    else:
        out._edge = NO_EDGE  # event: const
    if state.special:
        finish(state, rule, inputs, (out,), node, args)
    return out


def node_for(rule, edges, inputs, outputs, args=(), fold=None):
    """A node of class `rule` with the values that the rule saves; without results if `outputs` is None."""
    saved = planned(rule, inputs, outputs, wanted(edges)) if rule.save_plan else ()
    return make_node(rule, edges, with_shapes(rule, inputs, args), saved, fold)


def with_shapes(rule, inputs, args):
    """The plain values of a node, including the operand shapes that the rule keeps."""
    return (*args, *[inputs[i]._data.shape for i in rule.shape_names])


def planned(rule, inputs, outputs, needs):
    """The values that a rule saves, if a gradient that goes somewhere needs them.

    Results are saved as aliases without history: if a node held its own output, neither could be freed without the garbage collector.
    """
    saved = []
    for where, nr, users in rule.save_plan:
        if nr is None:
            saved.append(inputs[where] if users < 0 or needs & users else None)
        elif outputs is None:
            saved.append(None)
        else:
            out = outputs[nr]
            saved.append(wrap(out._data, NO_EDGE, out._shared_box()))
    if rule.saves_rest:
        saved += inputs[len(rule.inputs) :]
    return tuple(saved)


def apply_view(rule, x, data, *args):
    """Record that `data`, a NumPy view of the memory of `x`, was taken; returns the view Tensor."""
    state = THREAD.state
    node, edge = None, NO_EDGE
    if state.grad:
        link = x._edge or find_edge(x)
        if link is not NO_EDGE:
            kept = with_shapes(rule, (x,), args) if rule.shape_names else args
            edge = node = make_node(rule, (link,), kept)
    out = make_view(x, data, edge)  # event: const view
    if state.special:
        finish(state, rule, (x,), (out,), node, args)
    return out


# -- writing in place -------------------------------------------------------------------------------------


def apply_inplace(rule, inputs, *args):
    """The operation of `rule`, written into its first operand, which is returned.

    Raises RuntimeError for a leaf that requires grad, and if the result does not fit.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 2
    >>> y.add_(1) is y, y.grad_fn.name()
    (True, 'AddBackward0')
    >>> x.add_(1)
    Traceback (most recent call last):
    RuntimeError: a leaf Variable that requires grad is being used in an in-place operation...
    """
    target, *others = inputs
    check_writable(target, [t for t in others if isinstance(t, Tensor)])
    state = THREAD.state
    arrays = [t._data if isinstance(t, Tensor) else t for t in inputs]
    data = state.run(rule.forward, *arrays, *args)
    shape = target._data.shape
    if data.shape != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(data.shape)}"
        )
    folds = tuple([(np.shape(x), data.dtype) for x in arrays])
    node = inplace_node(state, rule, inputs, args, folds if any(s != shape for s, _ in folds) else None)
    return overwrite(state, rule, inputs, data, node, rule.op + "_", args)


def inplace_node(state, rule, inputs, args, fold=None):
    """The node of an in-place operation, or None: saves a copy of the target's old value, with its history.

    An operand that is the target itself is saved as an alias, which will be found overwritten; saving the target would make node and tensor
    hold each other forever.
    """
    target, *others = inputs
    edges = edges_of(inputs[: rule.operands])
    needs = wanted(edges)
    if not state.grad or not needs:
        return None
    old = copy_of(target, edges[0]) if saves_first(rule, needs) else target
    others = [stand_in(t, edges[0]) if t is target else t for t in others]
    node = node_for(rule, edges, (old, *others), None, args, fold)
    if old is not target and old._edge is not NO_EDGE:
        copy = old._edge  # PyTorch makes it after the node, and numbers them accordingly
        copy.priority, node.priority = node.priority, copy.priority
    return node


def saves_first(rule, needs):
    """Whether the first operand would be saved."""
    return any(where == 0 and needs & users for where, _nr, users in rule.save_plan)


def copy_of(t, edge):
    """A clone of `t` whose gradient goes where that of `t` went."""
    if edge is not NO_EDGE:
        edge = make_node(CLASSES["CloneBackward0"], (edge,), ("K",))
    return wrap(t._data.copy(), edge)


def stand_in(t, edge):
    """An alias to save for an operand `t` that is about to be overwritten; the error message refers to `t` itself."""
    out = alias(t, edge)
    out.stands_for = weakref.ref(t)
    return out


def overwrite(state, rule, inputs, data, node, name, args):
    """The second half of an in-place operation: `data` becomes the value of its first operand, `node` its history."""
    target = inputs[0]
    after = None
    if state.special and DOORS.overwrite is not None:
        after = DOORS.overwrite(state, rule, inputs, data, node, args)
    write(target, data)
    if node is not None:
        refresh_results(node, rule, target)
        rebase_history(target, node)  # event: inplace recorded
    if after is not None:
        after(node)
    if state.special:
        finish_inplace(state, rule, inputs, target, node, name, args)
    return target


def refresh_results(node, rule, target):
    """A saved result of an in-place operation is the target's memory after the write."""
    results = [i for i, (_where, nr, _users) in enumerate(rule.save_plan) if nr is not None]
    if results:
        saved, versions = list(node.saved), list(node.versions or (0,) * len(node.saved))
        for i in results:
            saved[i] = wrap(target._data, NO_EDGE, target._shared_box())
            versions[i] = target._box[0]
        node.saved, node.versions = kept_by(node, tuple(saved)), tuple(versions)


def write(target, data):
    """Put the numbers `data` into the memory of `target` and count the write."""
    if WATCHERS:
        watcher().writing(target)
    memory = target._data
    if not isinstance(memory, np.ndarray):
        target._data = data.astype(memory.dtype)[()]
    else:
        if not memory.flags.writeable:
            # Some NumPy arrays are read-only (after broadcasting a dim of size one): write to a copy.
            memory = target._data = memory.copy()
        np.copyto(memory, data, casting="unsafe")
    bump_version(target)  # event: inplace


# -- telling of it ----------------------------------------------------------------------------------------


def finish(state, rule, inputs, outputs, node, args):
    """The end of an operation while something unusual is going on; see State.special."""
    if DOORS.finish is not None:
        DOORS.finish(state, rule, inputs, outputs, node, args)
    if state.watch is not None:
        state.watch.operation(rule, inputs, outputs, node, args)


def finish_inplace(state, rule, inputs, target, node, name, args=()):
    """The same for an in-place operation."""
    if node is not None:
        created(node)
    if state.watch is not None:
        state.watch.written(rule, inputs, target, node, name, args)
