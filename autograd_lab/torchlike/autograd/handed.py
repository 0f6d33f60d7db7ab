"""What passes between the engine and the user's code: gradients that hooks are handed and give back, nodes called by hand.

The engine computes with arrays, the user sees tensors. What is one array for the engine is one tensor for the user, and whoever
writes into it changes every message that lies in the same memory: `a + b` sends one array to both.
"""

import functools

from .formulas import in_formula
from .hooks import as_tensor
from .modes import THREAD
from .variable import Variable


def as_tensors(grads):
    """Gradients as the user may see them: what is one array is one tensor."""
    made = {}
    for g in grads:
        if id(g) not in made:
            made[id(g)] = as_tensor(g)
    return tuple([made[id(g)] for g in grads])


def hand(run, node, stage, grads, context=()):
    """Gradients of the pass `run` as user code may see them, noted before it can change them.

    stage    where that code is attached: "tensor", "pre", "post" or "post_accumulate"
    context  more gradients that it is shown, and whose places it cannot take
    """
    if run.watch is not None:
        run.watch.handing(run, node, stage, grads, context)
    return as_tensors((*grads, *context))


def take_back(run, node, stage, grads, given, after, nr=0):
    """The gradients `after` that user code made of `grads`, which it saw as the tensors `given`, in the form the pass computes with.

    nr   of a tensor hook: the output of `node` that the gradient belongs to
    """
    put_back(run, grads, given)
    if run.watch is not None:
        run.watch.hooked(run, node, stage, after, nr)
    return [t._data if isinstance(t, Variable) and not run.tensors else t for t in after]


def put_back(run, grads, given):
    """See to it that what user code wrote into the tensors `given` is in the messages of `run`.

    It is, where they share memory. A NumPy scalar has none: the new one takes the place of the old one wherever that is under way.
    """
    for g, t in zip(grads, given, strict=True):
        if g is not None and g is not t and t._data is not g:
            for fn, held in run.buffers.items():
                if held is g:
                    run.buffers[fn] = t._data
                elif type(held) is list:
                    held[:] = [t._data if one is g else one for one in held]
            for place, one in run.captured.items():
                if one is g:
                    run.captured[place] = t._data


def formula(node, g, values, by_hand):
    """The rule of `node` on Tensors, in a pass that is recorded or because the user calls the node, with PyTorch's own steps."""
    if not by_hand:
        return in_formula(type(node), recorded_vjp(type(node)), node, g, *values)
    state = THREAD.state
    before, state.calling = state.calling, True
    try:
        if node.skips_undefined and (g is None if node.plain else all(one is None for one in g)):
            return (None,) * len(node._edges)
        return in_formula(node, functools.partial(recorded_vjp(type(node)), node), g, *values)
    finally:
        state.calling = before


def recorded_vjp(rule):
    """The VJP of a rule for Tensors: where PyTorch records other steps than the formula's own, those."""
    return PARITY.get(rule) or rule.vjp


PARITY: dict = {}
"""{rule: its VJP for Tensors} of rules of the core whose formula PyTorch records in other steps; ops/parity.py fills it."""


__all__ = ["PARITY", "as_tensors", "formula", "hand", "put_back", "recorded_vjp", "take_back"]
