"""Rules with absent operands, and with further results that only the way back needs."""

import numpy as np

from ..autograd.float16 import HALF, in_single
from ..autograd.modes import THREAD
from ..autograd.record import finish, node_for
from ..autograd.variable import NO_EDGE, Variable, find_edge, wrap
from .rule import Rule, common_type


class GeneralRule(Rule):
    """A rule run by `call`: an operand may be None (a missing weight or bias has the edge (None, 0)).

    extras  how many of the last `inputs` are not given but come out of `forward` beside the result:
    statistics, places
    """

    extras = 0
    torch_name = ""  # what PyTorch calls the operation when it refuses an operand that must not want a gradient, if not `op`
    promotes = False  # whether operands of different types meet in one, as in arithmetic

    def packing_order(self, count):
        """As of any node, but that what comes out of `forward` beside the result is packed with the results, after all operands."""
        operands = self.inputs[: len(self.inputs) - self.extras]
        return sorted(range(count), key=lambda i: (self.saves[i] not in operands, self.saves[i]))


def call(rule, inputs, *args):
    """Run a GeneralRule on Tensors (or None for an absent one) and plain values; record it if a gradient is
    wanted.
    """
    return call_for_all(rule, inputs, *args)[0]


def call_for_all(rule, inputs, *args):
    """The same for the result and the extras, which are the very tensors that are saved."""
    state = THREAD.state
    if state.grad and rule.operands:
        for name, t in zip(rule.inputs[rule.operands :], inputs[rule.operands :], strict=False):
            if t is not None and t.requires_grad:
                raise RuntimeError(
                    f"The function '{rule.torch_name or rule.op}' is not differentiable with respect to argument '{name}'. This "
                    "input cannot have requires_grad True."
                )
    arrays = [t if t is None else t._data for t in inputs]
    if rule.promotes and any(x.dtype is not arrays[0].dtype for x in arrays):
        meeting = common_type(arrays)
        arrays = [x.astype(meeting) for x in arrays]
    forward = in_single(rule.forward) if arrays[0].dtype is HALF else rule.forward
    data = state.run(forward, *arrays, *args)
    extras = ()
    if rule.extras:
        data, *extras = data
        extras = [wrap(e) for e in extras]
        inputs = (*inputs, *extras)
    if rule.layout is not None:
        data = rule.layout(data, arrays[0])
    out = wrap(data)
    node = None
    if state.grad:
        operands = inputs[: rule.operands]
        edges = tuple([NO_EDGE if t is None else t._edge or find_edge(t) for t in operands])
        for edge in edges:
            if edge is not NO_EDGE:
                node = node_for(rule, edges, inputs, (out,), args)
                node.fold = _fold(operands, data)
                out._edge = node
                break
    if state.special:
        finish(state, rule, inputs, (out,), node, args)
    return out, *extras


def gradients(rule, wanted, inputs, *args):
    """What a VJP sends to several operands, computed by `rule`: on arrays as it is, on Tensors recorded as one node.

    `wanted` says of each result whether anybody wants it; the others are None.
    """
    if not isinstance(inputs[0], Variable):
        return rule.forward(*inputs, *args, wanted)
    state = THREAD.state
    arrays = [t if t is None else t._data for t in inputs]
    forward = in_single(rule.forward) if arrays[0].dtype is HALF else rule.forward
    data = state.run(forward, *arrays, *args, wanted)
    outputs = tuple([wrap(np.zeros(0) if d is None else d) for d in data])
    node = None
    if state.grad:
        edges = tuple([NO_EDGE if t is None else t._edge or find_edge(t) for t in inputs[: rule.operands]])
        if any(edge is not NO_EDGE for edge in edges):
            node = node_for(rule, edges, inputs, outputs, args)
            node.n_outputs = len(outputs)
            for nr, out in enumerate(outputs):
                out._edge = (node, nr)
    if state.special:
        finish(state, rule, inputs, outputs, node, args)
    return tuple([out if w else None for out, w in zip(outputs, wanted, strict=True)])


def _fold(operands, data):
    """What the engine must undo: operands of different types were computed in one."""
    if all(t is None or t._data.dtype is data.dtype for t in operands):
        return None
    return tuple([((), data.dtype) if t is None else (t._data.shape, t._data.dtype) for t in operands])


__all__ = ["GeneralRule", "call", "call_for_all", "gradients"]
