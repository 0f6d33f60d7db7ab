"""+ - * / of two tensors of one type and shape, or of a tensor and a float: core/rule.py, record.py and node.py in one function.

Everything less simple is left to the core.
"""

import operator

import numpy as np

from ..core.rule import DOUBLE, SINGLE
from ..core.rules.arithmetic import AddBackward0, DivBackward0, MulBackward0, SubBackward0
from ..core.seams import DOORS
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import count_down
from ..torchlike.autograd.variable import NO_EDGE, Registry, Variable, find_edge, new
from ..torchlike.ops.arithmetic import OPERATORS

SINGLES: dict[float, np.ndarray] = {}
DOUBLES: dict[float, np.ndarray] = {}
"""Numbers used with floats, as 0-d arrays of that type: NumPy takes as long to convert a Python number as to multiply by it."""


def _learn(number, kind, known):
    """`number` as a 0-d array of the type `kind`, and from now on one of those `known`."""
    y = THREAD.state.run(np.array, number, kind)  # 1e300 is inf as a single float, without a warning
    if number:  # 0.0 and -0.0 would share an entry
        if len(known) > 1000:
            known.clear()
        known[number] = y
    return y


def written_out(rule, forward):
    """The operator of a rule of the core, written out."""
    call, args, array = rule.call, rule.default_args, np.ndarray
    plan = {where: users for where, _nr, users in rule.save_plan}
    keep_a, keep_b = plan.get(0, 0), plan.get(1, 0)

    def operate(input, other):
        state = THREAD.state
        x = input._data
        kind = x.dtype
        if state.special or input._box is not None or (kind is not SINGLE and kind is not DOUBLE):
            return call(input, other)
        if isinstance(other, Variable):
            y = other._data
            if kind is not y.dtype or other._box is not None or x.shape != y.shape or x.ndim > 1:
                return call(input, other)
            eb = other._edge or find_edge(other)
        elif other.__class__ is float and not state.formula:
            y, eb = other, NO_EDGE
            if x.__class__ is array:
                known = SINGLES if kind is SINGLE else DOUBLES
                y = known.get(other)
                if y is None:
                    y = _learn(other, kind, known)
        else:
            return call(input, other)
        out = new(DOORS.tensor)
        out._data = state.run(forward, x, y)
        out._box = out._meta = None
        if not state.grad or ((ea := input._edge or find_edge(input)) is NO_EDGE and eb is NO_EDGE):
            out._edge = NO_EDGE
            return out
        out._edge = node = new(rule)
        node._next = (ea, eb) if eb is not NO_EDGE or type(ea) is tuple else ea
        node.priority = count_down()
        node.args = args
        node.broadcast = node.hooks = node.versions = None
        if plan:
            needs = (ea is not NO_EDGE) | (eb is not NO_EDGE) << 1
            node.saved = input if needs & keep_a else None, other if needs & keep_b else None
        else:
            node.saved = ()
        return out

    operate.__name__ = operate.__qualname__ = call.__name__
    operate.__doc__ = call.__doc__
    return operate


_ADD, _MUL = written_out(AddBackward0, operator.add), written_out(MulBackward0, operator.mul)
WRITTEN_OUT = {
    "__add__": _ADD,
    "__radd__": _ADD,
    "__mul__": _MUL,
    "__rmul__": _MUL,
    "__sub__": written_out(SubBackward0, operator.sub),
    "__truediv__": written_out(DivBackward0, operator.truediv),
}


def switch(on):
    """Give Tensor these operators, or those of the core."""
    for name, fn in WRITTEN_OUT.items():
        setattr(Registry.tensor, name, fn if on else OPERATORS[name])


__all__ = ["WRITTEN_OUT", "switch", "written_out"]
