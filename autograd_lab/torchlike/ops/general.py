"""Rules with absent operands, and with extra results that only the backward pass needs."""

import numpy as np

from ..autograd.float16 import HALF, in_single
from ..autograd.modes import THREAD
from ..autograd.record import finish, node_for, record_all
from ..autograd.variable import NO_EDGE, Variable, find_edge, wrap
from .rule import Rule, common_type


class GeneralRule(Rule):
    """A rule run by `call`: an operand may be None (a missing weight or bias has the edge (None, 0)).

    extras  how many of the last `inputs` are not passed in but returned by `forward` after the result:
    statistics, places
    """

    extras = 0
    torch_name = ""  # PyTorch's name of the operation when it refuses an operand that must not require a gradient, if not `op`
    promotes = False  # whether operands of different types are promoted, as in arithmetic

    def packing_order(self, count):
        """As for any node, except that extra results of `forward` are packed with the results, after all operands."""
        operands = self.inputs[: len(self.inputs) - self.extras]
        return sorted(range(count), key=lambda i: (self.saves[i] not in operands, self.saves[i]))


def call(rule, inputs, *args):
    """Run a GeneralRule on Tensors (or None for an absent one) and plain values; record it if a gradient is
    wanted.
    """
    return call_for_all(rule, inputs, *args)[0]


def call_for_all(rule, inputs, *args):
    """The same, returning the result and the extras: the tensors that are saved."""
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
    broadcast = _broadcast(inputs[: rule.operands], data)
    return record_all(state, rule, inputs, data, args, broadcast), *extras


def gradients(rule, wanted, inputs, *args):
    """What a VJP sends to several operands, computed by `rule`: directly on arrays, recorded as one node on Tensors.

    `wanted` says for each result whether it is needed; the others are None.
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


def _broadcast(operands, data):
    """What the engine must undo: operands of different types were promoted to one type."""
    if all(t is None or t._data.dtype is data.dtype for t in operands):
        return None
    return tuple([((), data.dtype) if t is None else (t._data.shape, t._data.dtype) for t in operands])


__all__ = ["GeneralRule", "call", "call_for_all", "gradients"]
