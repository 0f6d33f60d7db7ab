"""What a rule is, and how one becomes a function and a method.

A rule is the class of the nodes it makes: `forward` computes with NumPy, `vjp` sends a gradient back. The decorators below turn a
rule into the functions a user calls, so that a new operation is one class and nothing else needs editing.
"""

from collections.abc import Callable

import numpy as np

from .modes import THREAD
from .node import Node
from .record import apply_inplace, record, record_all
from .seams import DOORS
from .tensor import NO_EDGE, Tensor, find_edge

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
    saves        which of them (and of the results) the VJP needs
    saves_if     {name: operand numbers}: save it only if one of these operands wants a gradient
    saves_rest   whether the last of `saves` means all inputs from there on
    results      {name: output number} for saved outputs other than the first
    keeps        names of the plain values passed to `forward` after the arrays; a name ending in _sym_sizes is the shape of that operand
    operands     how many of the inputs can require grad, if not all: the indices and masks after them have no edge
    elementwise  whether each element of the result depends on one element of each operand
    default_args the plain values if a call passes none
    layout       sets the memory layout of the result, if it differs from NumPy's: a function of result and first operand
    """

    op = ""
    operands: int | None = None
    results: dict = {}
    saves_rest = False
    saves_if: dict = {}
    forward: Callable
    call: Callable
    call_: Callable
    elementwise = False
    default_args: tuple = ()
    layout: Callable | None = None
    shape_names: tuple = ()
    functions: tuple = ("forward", "layout")  # which attributes are plain functions, not methods

    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.__name__ = name
        RULES.setdefault(cls.__name__, cls)
        for own in set(cls.functions) & set(vars(cls)):
            fn = vars(cls)[own]
            if callable(fn):  # not None, and not a staticmethod yet
                setattr(cls, own, staticmethod(fn))
        cls.save_plan = tuple([cls.planned(saved) for saved in cls.saves])
        cls.shape_names = tuple(
            cls.inputs.index(k.removesuffix("_sym_sizes")) for k in cls.keeps if k.endswith("_sym_sizes")
        )

    @classmethod
    def planned(cls, saved):
        """Where the value called `saved` comes from: (operand number, output number, which gradients need it, as bits)."""
        users = cls.saves_if.get(saved)
        bits = -1 if users is None else sum(1 << i for i in users)
        if saved in cls.inputs:
            return cls.inputs.index(saved), None, bits
        return None, cls.results.get(saved, 0), bits


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
        rule.op, rule.elementwise = op, True
        forward = rule.forward

        def call(input):
            x = input._data
            kind = x.dtype
            if kind is not SINGLE and kind is not DOUBLE:
                return mixed(rule, input)
            state = THREAD.state
            data = state.run(forward, x)
            edge = (input._edge or find_edge(input)) if state.grad else NO_EDGE
            edges = edge if type(edge) is not tuple else (edge,)
            return record(state, rule, (input,), edges, edge is not NO_EDGE, data)

        return published(rule, call)

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
        rule.op, rule.elementwise = op, True
        forward, args = rule.forward, rule.default_args

        def call(input, other):
            state, fold = THREAD.state, None
            x = input._data
            kind = x.dtype
            if kind is not SINGLE and kind is not DOUBLE:
                return mixed(rule, input, other)
            if isinstance(other, Tensor):
                y = other._data
                if kind is not y.dtype:
                    return mixed(rule, input, other)
                if x.shape != y.shape:
                    fold = (x.shape, kind), (y.shape, kind)
                eb = other._edge or find_edge(other)
            elif type(other) is float and not state.formula:
                y, eb = other, NO_EDGE
            else:
                return mixed(rule, input, other)
            data = computed(state, forward, x, y)
            edges, needs = NO_EDGE, 0
            if state.grad:
                ea = input._edge or find_edge(input)
                edges = (ea, eb) if eb is not NO_EDGE or type(ea) is tuple else ea
                needs = (ea is not NO_EDGE) | (eb is not NO_EDGE) << 1
            return record(state, rule, (input, other), edges, needs, data, args, fold)

        def call_(input, other):
            return apply_inplace(rule, (input, other), *args)

        rule.call_ = named(call_, op + "_", rule)
        return published(rule, call)

    return decorate


def computed(state, forward, x, y):
    """The result of `forward` for two arrays, or an array and a number. Raises RuntimeError if they do not broadcast."""
    try:
        data = state.run(forward, x, y)
    except ValueError:
        raise shape_error(x.shape, y.shape) from None
    return data if data.ndim < 2 or DOORS.layout is None else DOORS.layout(data, x, y)


def published(rule, call):
    """Register `call` as the function of `rule`, which is returned."""
    FUNCTIONS[rule.op] = METHODS[rule.op] = rule.call = named(call, rule.op, rule)
    return rule


def named(fn, name, rule):
    """`fn` with a name and the docstring of its rule."""
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = rule.__doc__
    return fn


def mixed(rule, *operands):
    """An elementwise operation whose operands are not all floats of one type: types are promoted as in NumPy."""
    if DOORS.mixed is not None:
        return DOORS.mixed(rule, *operands)
    if not all(isinstance(t, (Tensor, int, float)) for t in operands):
        return NotImplemented
    arrays = [t._data if isinstance(t, Tensor) else t for t in operands]
    state = THREAD.state
    data = state.run(rule.forward, *arrays) if len(arrays) == 1 else computed(state, rule.forward, *arrays)
    fold = tuple(
        [(np.shape(x), data.dtype if x is t else x.dtype) for x, t in zip(arrays, operands, strict=True)]
    )
    return record_all(state, rule, operands, data, rule.default_args, fold)


def shape_error(a, b):
    """The error for two shapes that do not broadcast."""
    for k in range(1, min(len(a), len(b)) + 1):
        if a[-k] != b[-k] and 1 not in (a[-k], b[-k]):
            dim = max(len(a), len(b)) - k
            return RuntimeError(
                f"The size of tensor a ({a[-k]}) must match the size of tensor b ({b[-k]}) at non-singleton dimension {dim}"
            )
    return RuntimeError(f"shapes {list(a)} and {list(b)} do not fit together")
