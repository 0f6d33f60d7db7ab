"""Comparisons, tests and boolean logic: results are constants, since no gradient passes through a yes or no."""

import operator

import numpy as np

from ..autograd.errors import TYPE_NAMES, not_for
from ..autograd.modes import THREAD, WATCHERS, watcher
from ..autograd.record import apply_inplace, edges_of, finish, make_node
from ..autograd.variable import Variable, pair_of, wrap
from ..dtypes import meet, native
from . import array_or_tensor as both
from .rule import (
    FUNCTIONS,
    METHODS,
    Rule,
    broadcast_error,
    function,
    method,
    number_operand,
    operator_of,
    pointwise_inplace,
    tensor_of,
)


def constant_result(inputs, array, op):
    """The result of an operation that no gradient passes through."""
    out = wrap(array)
    state = THREAD.state
    if state.special:
        finish(state, op, inputs, (out,), None, ())
    return out


class NoDerivative(Rule, name="NotImplemented"):
    """An operation without a derivative in PyTorch: it can be computed, but backward through it is an error.

    Math: y = what the operation gives.   VJP: to a, b, c, d: nothing.
    """

    def name(self):
        return "torch::autograd::NotImplemented"

    @property
    def next_functions(self):
        """The edges of the operands; PyTorch lists only those that require a gradient."""
        return tuple([pair for pair in super().next_functions if pair[0] is not None])

    @classmethod
    def which(cls, args):
        """PyTorch's name of the operation."""
        return args[0]

    @classmethod
    def refuse_jvp(cls, args):
        raise NotImplementedError(
            f"Trying to use forward AD with aten::{cls.which(args)} that does not support it."
        )

    def vjp(self, g):
        raise RuntimeError(f"derivative for aten::{self.which(self.args)} is not implemented")


def underived(op, inputs, *arrays):
    """The results of an operation without a derivative: backward through them raises if an operand requires a gradient."""
    outs = tuple([wrap(array) for array in arrays])
    state = THREAD.state
    node = None
    if state.grad and arrays[0].dtype.kind == "f":
        edges = tuple([edge for edge in edges_of(inputs) if pair_of(edge)[0] is not None])
        if edges:
            node = make_node(NoDerivative, edges, (op,))
            for i, out in enumerate(outs):
                out._edge = (node, i) if i else node
    if state.special:
        finish(state, NoDerivative, inputs, outs, node, (op,))
    return outs if len(outs) > 1 else outs[0]


def operands(input, other):
    """The arrays (or an array and a number) of two operands, in their common type; or (array, NotImplemented)."""
    x = input._data
    if isinstance(other, Variable):
        y = other._data
        if x.dtype is not y.dtype:
            meeting = meet(x, y)
            x, y = x.astype(meeting), y.astype(meeting)
        return x, y
    return number_operand(x, other, False)


def both_tensors(op, input, other, numbers=False):
    """The two operands, if they are Tensors. Raises TypeError in PyTorch's words."""
    if numbers and isinstance(input, Variable):
        other = tensor_of(other, input)
    for i, (name, value) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(value, Variable):
            raise TypeError(
                f"{op}(): argument '{name}' (position {i}) must be Tensor, not {type(value).__name__}"
            )
    return input, other


def fitting(fn, *arrays):
    """Call fn(*arrays). Raises PyTorch's RuntimeError if their shapes do not broadcast."""
    try:
        return fn(*arrays)
    except ValueError:
        raise broadcast_error(arrays) from None


def compare(name, sign, fn, *aliases):
    """Make the function, the method and the in-place method of a comparison."""

    def call(input, other):
        x, y = operands(input, other)
        if y is NotImplemented:
            return NotImplemented
        return constant_result((input, other), fitting(fn, x, y), name)

    class WithNumber(Rule, name=name.capitalize() + "Backward0"):
        __doc__ = f"""A comparison with a number, written over the operand: the new values do not move with the old ones.

        Math: y = a {sign} number.   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.Tensor.{name}_
        """

        op = name

        def forward(x, number):
            return fn(*number_operand(x, number, False))

        def vjp(self, g):
            return both.zeros_like(g)

    class Comparison(Rule, name=name.capitalize() + "Backward1"):
        __doc__ = f"""A comparison written over one of its operands.

        Math: y = a {sign} b.   VJP: to a: 0; to b: 0.   Shapes: broadcast.   Saves: nothing.   PyTorch: torch.Tensor.{name}_
        """

        op = name
        inputs = ("self", "other")
        makes_bool = True

        def forward(x, y):
            return fn(x, y)

        def vjp(self, g):
            return both.zeros_like(g), both.zeros_like(g)

    def call_(input, other):
        if isinstance(other, (int, float)):
            return apply_inplace(WithNumber, (input,), other)
        return pointwise_inplace(Comparison, (input, tensor_of(other, input)))

    return _publish(name, call, call_, aliases, number_first=False)


def _publish(name, call, call_, aliases=(), number_first=True):
    def checked(input, other):
        if not number_first and not isinstance(input, Variable):
            raise TypeError(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
            )
        input = input if isinstance(input, Variable) else tensor_of(input, other)
        out = call(input, other)
        if out is NotImplemented:
            raise TypeError(
                f"{name}(): argument 'other' (position 2) must be Tensor or a number, not {type(other).__name__}"
            )
        return out

    checked.__name__ = checked.__qualname__ = call.__name__ = call.__qualname__ = name
    checked.__doc__ = f"Elementwise `{name}` of a tensor and a tensor or number (torch.{name})."
    for key in (name, *aliases):
        FUNCTIONS[key] = METHODS[key] = checked
        METHODS[key + "_"] = call_
    return call


def _with_arrays(compared):
    """In PyTorch `==` takes arrays too, element by element, and is the only comparison that does."""

    def call(self, other):
        return compared(self, wrap(native(np.asarray(other))) if isinstance(other, np.ndarray) else other)

    return call


METHODS.update(
    __eq__=_with_arrays(compare("eq", "==", operator.eq)),
    __ne__=compare("ne", "!=", operator.ne, "not_equal"),
    __lt__=compare("lt", "<", operator.lt, "less"),
    __le__=compare("le", "<=", operator.le, "less_equal"),
    __gt__=compare("gt", ">", operator.gt, "greater"),
    __ge__=compare("ge", ">=", operator.ge, "greater_equal"),
)


# -- logic --------------------------------------------------------------------------------------------


def bitwise(name, fn, symbol):
    """Make the functions of an operation on the bits of integers and booleans."""
    kernel = {"lshift": "lshift_cpu", "rshift": "rshift_cpu"}.get(symbol, f"{name}_cpu")

    def check(x):
        if x.dtype.kind == "f" or (x.dtype.kind == "b" and symbol.endswith("shift")):
            raise not_for(x.dtype, kernel)
        return x

    def call(input, other):
        x, y = operands(input, other)
        if y is NotImplemented:
            return NotImplemented
        return constant_result((input, other), fitting(fn, check(x), y), name)

    class Bitwise(Rule, name=f"_{name}"):
        """An operation on bits, in place."""

        op = name
        widens = False
        operands = 0  # bits have no gradient; the target keeps its history

        def forward(x, y):
            return fn(check(x), y)

    def call_(input, other):
        return pointwise_inplace(Bitwise, (input, tensor_of(other, input)))

    call = _publish(name, call, call_)
    METHODS.update({f"__{symbol}__": call, f"__r{symbol}__": call, f"__i{symbol}__": operator_of(call_)})


bitwise("bitwise_and", operator.and_, "and")
bitwise("bitwise_or", operator.or_, "or")
bitwise("bitwise_xor", operator.xor, "xor")
bitwise("bitwise_left_shift", operator.lshift, "lshift")
bitwise("bitwise_right_shift", operator.rshift, "rshift")
for _symbol, _shift in (("lshift", operator.lshift), ("rshift", operator.rshift)):
    METHODS[f"__r{_symbol}__"] = operator_of(lambda self, other, fn=_shift: fn(tensor_of(other, self), self))


@function
def bitwise_not(input):
    """Invert every bit or boolean (torch.bitwise_not)."""
    x = input._data
    if x.dtype.kind == "f":
        raise not_for(x.dtype, "bitwise_not_cpu")
    return constant_result((input,), ~x, "bitwise_not")


@method
def bitwise_not_(self):
    """The in-place form of `bitwise_not`."""
    return apply_inplace(BitwiseNot, (self,))


class BitwiseNot(Rule, name="_bitwise_not"):
    """Inverts every bit, in place."""

    op = "bitwise_not"
    operands = 0

    def forward(x):
        return bitwise_not(wrap(x))._data


@method(name="__invert__")
def _invert(self):
    if self._data.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


def logical(name, fn, n):
    """Make the functions of a logical operation on tensors of any type: nonzero is true."""

    def check(others, what):
        if len(others) >= n:
            raise TypeError(f"{what}() takes {n - 1} positional arguments but {len(others)} were given")

    def call(input, *others):
        check(others, name)
        inputs = both_tensors(name, input, *others) if n == 2 else (input,)
        return constant_result(inputs, np.asarray(fitting(fn, *[t._data for t in inputs]))[()], name)

    def call_(self, *others):
        check(others, name + "_")
        return pointwise_inplace(Logical, (self, *others))

    class Logical(Rule, name=f"_{name}"):
        """A logical operation, in place."""

        op = name
        operands = 0
        makes_bool = True

        def forward(*arrays):
            return fn(*arrays)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Elementwise {name} of {'two tensors' if n == 2 else 'a tensor'} (torch.{name})."
    FUNCTIONS[name] = METHODS[name] = call
    METHODS[name + "_"] = call_


logical("logical_and", np.logical_and, 2)
logical("logical_or", np.logical_or, 2)
logical("logical_xor", np.logical_xor, 2)
logical("logical_not", np.logical_not, 1)


def whole(name, fn):
    """Make the function of an operation on pairs of integers."""

    def call(input, other):
        x, y = operands(*both_tensors(name, input, other))
        if x.dtype.kind not in "iu":
            raise not_for(x.dtype, f"{name}_cpu")
        return constant_result((input, other), fitting(fn, x, y), name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Elementwise {name} of two tensors of whole numbers (torch.{name})."
    FUNCTIONS[name] = METHODS[name] = call


whole("gcd", np.gcd)
whole("lcm", np.lcm)


# -- tests --------------------------------------------------------------------------------------------


def test(name, on_floats, on_others):
    """Make the function of an elementwise test; non-floating types always give `on_others`."""

    def call(input):
        x = input._data
        data = on_floats(x) if x.dtype.kind == "f" else np.full(x.shape, on_others)[()]
        return constant_result((input,), data, name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Elementwise {name} (torch.{name})."
    FUNCTIONS[name] = METHODS[name] = call


test("isnan", np.isnan, False)
test("isinf", np.isinf, False)
test("isfinite", np.isfinite, True)
test("isposinf", np.isposinf, False)
test("isneginf", np.isneginf, False)
test("isreal", lambda x: np.full(x.shape, True)[()], True)


@function
def signbit(input):
    """Whether each number carries a minus sign, zeros included (torch.signbit)."""
    x = input._data
    return constant_result((input,), np.signbit(x) if x.dtype.kind == "f" else x < 0, "signbit")


@function
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol * |other|, element by element (torch.isclose)."""
    x, y = (t._data for t in both_tensors("isclose", input, other))
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    if x.dtype is not y.dtype:
        raise RuntimeError(f"{TYPE_NAMES[x.dtype.name]} did not match {TYPE_NAMES[y.dtype.name]}")
    close = THREAD.state.run(fitting, lambda x, y: np.isclose(x, y, rtol, atol, equal_nan), x, y)
    return constant_result((input, other), np.asarray(close)[()], "isclose")


@function
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close, as a Python bool (torch.allclose)."""
    if WATCHERS:
        watcher().looked(input, "allclose")
        watcher().looked(other, "allclose")
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@function
def equal(input, other):
    """Whether two tensors have the same shape and elements, as a Python bool (torch.equal)."""
    if WATCHERS:
        watcher().looked(input, "equal")
        watcher().looked(other, "equal")
    return input._data.shape == other._data.shape and bool((input._data == other._data).all())


@function
def is_nonzero(input):
    """Whether a tensor of one element is not zero, as a Python bool (torch.is_nonzero)."""
    return bool(input if isinstance(input, Variable) else input._data)
