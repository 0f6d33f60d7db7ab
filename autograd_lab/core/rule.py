"""What a rule is, and how one becomes a function and a method.

A rule is the class of the nodes it makes: `forward` computes with NumPy, `vjp` sends a gradient back. The decorators below turn a
rule into the functions a user calls, so a new operation is one class; nothing else needs editing.
"""

from collections.abc import Callable

import numpy as np

from .modes import THREAD
from .node import Node
from .record import apply_inplace, record, record_all
from .seams import DOORS
from .tensor import NO_EDGE, Tensor, edge_of

FUNCTIONS: dict[str, Callable] = {}
"""Every function that an operation defines, by name."""

METHODS: dict[str, Callable] = {}
"""Every method of Tensor that an operation defines, by name."""

RULES: dict[str, type] = {}
"""Every rule by its node name: the rule book."""

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


class Rule(Node):
    """An operation: how to compute it, and how a gradient passes back through it.

    forward      computes the result: of the operands' arrays, then the plain values
    inputs       names of the tensor operands, as PyTorch's saved attributes call them
    saves        which of them the VJP needs; any other name stands for the result
    saves_if     {name: operand numbers}: save it only if one of these operands wants a gradient
    keeps        names of the plain values passed to `forward` after the arrays; a name ending in _sym_sizes is the shape of that operand
    default_args the plain values if a call passes none
    """

    op = ""
    saves_if: dict = {}
    forward: Callable
    call: Callable
    call_: Callable
    default_args: tuple = ()
    shape_names: tuple = ()

    def __init_subclass__(cls):
        RULES.setdefault(cls.__name__, cls)
        if "forward" in vars(cls):
            cls.forward = staticmethod(cls.forward)
        cls.save_plan = tuple([cls.planned(saved) for saved in cls.saves])
        cls.shape_names = tuple(
            cls.inputs.index(k.removesuffix("_sym_sizes")) for k in cls.keeps if k.endswith("_sym_sizes")
        )

    @classmethod
    def planned(cls, saved):
        """Where the value called `saved` comes from: (operand number, output number, which gradients need it, as bits)."""
        users = cls.saves_if.get(saved)
        bits = -1 if users is None else sum(1 << i for i in users)
        return (cls.inputs.index(saved), None, bits) if saved in cls.inputs else (None, 0, bits)


def function(fn):
    """Register `fn` as a function of the torch-like namespace and as a method of Tensor."""
    FUNCTIONS[fn.__name__] = METHODS[fn.__name__] = fn
    return fn


def method(fn):
    """Register `fn` as a method of Tensor."""
    METHODS[fn.__name__] = fn
    return fn


def unary(op):
    """Make the function and method of a pointwise rule of one operand: `op(x)` and `x.op()`. Returns the rule.

    >>> @unary("cube")
    ... class CubeBackward0(Rule):
    ...     saves = ("self",)
    ...     def forward(x): return x * x * x
    ...     def vjp(self, g, x): return g * 3 * (x * x)
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = CubeBackward0.call(x)
    >>> y
    tensor(8., grad_fn=<CubeBackward0>)
    >>> y.backward()
    >>> x.grad
    tensor(12.)
    """

    def decorate(rule):
        forward = rule.forward

        def call(input):
            x = input._data
            kind = x.dtype
            if kind is not SINGLE and kind is not DOUBLE:
                return DOORS.mixed(rule, input)
            state = THREAD.state
            data = state.run(forward, x)
            edge = (input._edge or edge_of(input)) if state.grad else NO_EDGE
            edges = edge if type(edge) is not tuple else (edge,)
            return record(state, rule, (input,), edges, edge is not NO_EDGE, data)

        return published(rule, op, call)

    return decorate


def binary(op):
    """Make the function and methods of a pointwise rule of two operands that broadcast, the second of which may be a number.

    Returns the rule; the function is `rule.call`, its in-place form `rule.call_`.

    >>> @binary("area")
    ... class AreaBackward0(Rule):
    ...     inputs = saves = ("self", "other")
    ...     def forward(x, y): return x * y
    ...     def vjp(self, g, x, y): return g * y, g * x
    >>> column = torch.tensor([[1.0], [2.0]], requires_grad=True)
    >>> AreaBackward0.call(column, torch.tensor([3.0, 4.0])).sum().backward()
    >>> column.grad.tolist()  # each gradient is summed over the dims that were broadcast
    [[7.0], [7.0]]
    """

    def decorate(rule):
        forward, args = rule.forward, rule.default_args

        def call(input, other):
            state, broadcast = THREAD.state, None
            x = input._data
            kind = x.dtype
            if kind is not SINGLE and kind is not DOUBLE:
                return DOORS.mixed(rule, input, other)
            if isinstance(other, Tensor):
                y = other._data
                if kind is not y.dtype:
                    return DOORS.mixed(rule, input, other)
                if x.shape != y.shape:
                    broadcast = (x.shape, kind), (y.shape, kind)
                eb = other._edge or edge_of(other)
            elif type(other) is float and not state.formula:
                y, eb = other, NO_EDGE
            else:
                return DOORS.mixed(rule, input, other)
            data = DOORS.compute(state, forward, x, y)
            edges, needs = NO_EDGE, 0
            if state.grad:
                ea = input._edge or edge_of(input)
                edges = (ea, eb) if eb is not NO_EDGE or type(ea) is tuple else ea
                needs = (ea is not NO_EDGE) | (eb is not NO_EDGE) << 1
            return record(state, rule, (input, other), edges, needs, data, args, broadcast)

        def call_(input, other):
            return apply_inplace(rule, (input, other), *args)

        rule.call_ = call_
        return published(rule, op, call)

    return decorate


def published(rule, op, call):
    """Register `call` as the function and method `op`, which is what `rule` computes. Returns the rule."""
    call.__name__ = call.__qualname__ = rule.op = op
    call.__doc__ = rule.__doc__
    FUNCTIONS[op] = METHODS[op] = rule.call = call
    return rule


def mixed(rule, *operands):
    """An elementwise operation whose operands are not all floats of one type: types are promoted as in NumPy."""
    arrays = [t._data if isinstance(t, Tensor) else t for t in operands]
    state = THREAD.state
    data = state.run(rule.forward, *arrays)
    broadcast = tuple([(np.shape(x), getattr(x, "dtype", data.dtype)) for x in arrays])
    return record_all(state, rule, operands, data, rule.default_args, broadcast)


def compute(state, forward, x, y):
    """The result of `forward` for two arrays that broadcast, or for an array and a number."""
    return state.run(forward, x, y)


DOORS.compute, DOORS.mixed = compute, mixed
