"""The rules of + - * / ** and of the sign: the arithmetic that carries every other formula."""

import math

import numpy as np

from ...core.rules.arithmetic import (
    AddBackward0,
    DivBackward0,
    MulBackward0,
    NegBackward0,
    PowBackward0,
    ReciprocalBackward0,
    RsubBackward1,
    SubBackward0,
)
from ...core.seams import extend
from ..autograd.errors import not_for
from ..autograd.float16 import HALF
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import Variable, wrap
from ..dtypes import number_as
from . import array_or_tensor as both
from . import scalars
from .rule import (
    FUNCTIONS,
    METHODS,
    Rule,
    binary,
    common_type,
    function,
    in_place_of,
    method,
    number_operand,
    operator_of,
    pointwise,
    pointwise_inplace,
    publish_in_place,
    tensor_of,
    with_in_place,
)

# -- the rules of the core ------------------------------------------------------------------------------------
#
# PyTorch's behavior beyond their formulas: refuse booleans, round numbers next to float16, record numbers in formulas.


def no_bool_difference(x, y):
    """Raise RuntimeError if the array `x` or `y` (an array or a number) of a subtraction is boolean."""
    truth = isinstance(y, bool) or getattr(getattr(y, "dtype", None), "kind", "") == "b"
    if truth and x.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if truth or x.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )


def _difference(x, y, alpha=1):
    if x.dtype.kind == "b":
        no_bool_difference(x, y)
    return x - y if alpha == 1 else x - y * alpha


def _refuse_bools(a, b):
    no_bool_difference(a._data, b._data if isinstance(b, Variable) else b)


def _from_number(x, alpha, number):
    no_bool_difference(x, number)
    x, number = number_operand(x, number, False)
    return number - x if alpha == 1 else number - alpha * x


def _negative(x):
    if x.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
            "use the `~` or `logical_not()` operator instead."
        )
    return -x


extend(AddBackward0, rounds_numbers=True, with_number=staticmethod(scalars.plus))
extend(
    SubBackward0,
    rounds_numbers=True,
    with_number=staticmethod(scalars.minus),
    refuse=staticmethod(_refuse_bools),
)
extend(MulBackward0, plain_numbers=False, with_number=staticmethod(scalars.times))
extend(DivBackward0, plain_numbers=False, with_number=staticmethod(scalars.over))
extend(RsubBackward1, rounds_numbers=True)
extend(PowBackward0, rounds_numbers=True)
extend(NegBackward0, integer=True)
for _rule, _forward in (
    (SubBackward0, _difference),
    (RsubBackward1, _from_number),
    (NegBackward0, _negative),
):
    _rule.forward = staticmethod(_forward)
for _rule in (AddBackward0, SubBackward0, MulBackward0):
    with_in_place(_rule)
with_in_place(DivBackward0, floats=True)
for _rule in (NegBackward0, ReciprocalBackward0):
    publish_in_place(_rule.op, in_place_of(_rule))


class RsubBackward0(Rule):
    """A tensor subtracted from another: rsub(a, b) = b - alpha * a.

    Math: y = b - alpha * a.   VJP: to a: -alpha * g; to b: g.
    Shapes: broadcast.   Saves: nothing.   PyTorch: torch.rsub
    """

    op = "rsub"
    inputs = ("self", "other")
    keeps = ("alpha",)

    def forward(x, y, alpha):
        return y - x * alpha if alpha != 1 else y - x

    def vjp(self, g):
        alpha = self.args[0]
        return -g * alpha if alpha != 1 else -g, g


class PowBackward1(Rule):
    """A tensor to the power of a tensor.

    Math: y = a ** b.   VJP: to a: where(b == 0, 0, g * b * a ** (b - 1)); to b: where((a == 0) and (b >= 0), 0, g * y
    * log(a)).
    Shapes: broadcast.   Saves: a, b and the result.   PyTorch: torch.pow
    """

    op = "pow"
    inputs = ("self", "exponent")
    saves = ("self", "exponent", "result")

    def forward(x, n):
        return _power_of_tensor(x, n)

    def vjp(self, g, a, b, y):
        to_a = to_b = None
        if self.needs(1):
            silent = (both.array_of(a) == 0) & (both.array_of(b) >= 0)
            to_b = g * both.where(silent, 0, y * both.log(a))
        if self.needs(0):
            to_a = both.where(both.array_of(b) == 0, 0, g * (b * a ** (b - 1)))
        return to_a, to_b


class PowBackward2(Rule):
    """A number to the power of a tensor.

    Math: y = self ** a.   VJP: where(a >= 0, 0, g * y * log(self)) if self == 0 else g * y * log(self).
    Shapes: elementwise.   Saves: the exponent and the result.   PyTorch: torch.pow
    """

    op = "pow"
    rounds_numbers = True
    inputs = ("exponent",)
    saves = ("exponent", "result")
    keeps = ("self",)

    def forward(x, number):
        x, number = number_operand(x, number, False)
        if x.dtype.kind in "iu":
            return _whole_power(np.asarray(number, x.dtype), x)
        return number**x

    def vjp(self, g, a, y):
        c = self.args[0]
        if c == 0:
            return g * both.where(both.array_of(a) >= 0, 0, y * -math.inf)
        return g * (y * float(np.log(c) if c > 0 else np.nan))


def _power_of_tensor(x, n):
    if x.dtype.kind == "b":
        raise not_for(x.dtype, "pow")
    return _whole_power(x, n) if x.dtype.kind in "iu" else x**n


def _whole_power(x, n):
    """Integers to integer powers; for negative `n`, 1 / x ** -n truncated, 0 for x = 0."""
    out = x ** np.maximum(n, 0)
    negative = n < 0
    if not negative.any():
        return out
    odd = np.where(n % 2 == 0, x.dtype.type(1), x)
    return np.where(negative, np.where(np.abs(x) == 1, odd, x.dtype.type(0)), out)[()]


def _power(x, n):
    given = n
    x, n = number_operand(x, n, False)
    if x.dtype.kind in "iu":
        if given < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        number_as(given, x.dtype)  # raises if the type cannot hold it
    if x.dtype.kind == "f":
        # NumPy's float power with a small integer exponent is many times slower than multiplying.
        if n == 2:
            return x * x
        if n == 3:
            return x * x * x
        if n == 0.5:
            return np.sqrt(x)
        if n == -0.5:
            return 1 / np.sqrt(x)
    return x**n if x.dtype.kind != "b" else x | (not n)


PowBackward0.forward = staticmethod(_power)


@function
def pow(input, exponent):
    """`input` to the power of `exponent`; either may be a number, not both (torch.pow)."""
    if isinstance(exponent, Variable):
        if not isinstance(input, Variable):
            return apply(PowBackward2, (exponent,), input)
        return POW.call(input, exponent)
    if input._data.dtype is HALF:
        number_as(exponent, HALF)  # raises if float16 cannot hold it
    return apply(PowBackward0, (input,), exponent.item() if isinstance(exponent, np.generic) else exponent)


@method
def pow_(self, exponent):
    """The in-place form of `pow`."""
    if isinstance(exponent, Variable):
        return pointwise_inplace(POW, (self, exponent))
    return apply_inplace(PowBackward0, (self,), exponent)


POW = binary("pow")(PowBackward1)
METHODS["pow"], METHODS["pow_"], FUNCTIONS["pow"] = pow, pow_, pow


_plain_add, _plain_sub = FUNCTIONS["add"], FUNCTIONS["sub"]


def _factor(input, other, alpha):
    """`alpha` in the common type of `input` and `alpha * other`. Raises RuntimeError if that type cannot hold it."""
    meeting = common_type([input._data, other._data])
    if isinstance(alpha, bool) and meeting.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if meeting.kind == "f":
        return alpha
    if isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return number_as(alpha, meeting)


@function
def add(input, other, *, alpha=1):
    """`input + alpha * other` (torch.add)."""
    if type(alpha) is int and alpha == 1:
        return _plain_add(input, other)
    other = tensor_of(other, input)
    return pointwise(AddBackward0, (input, other), _factor(input, other, alpha))


@function
def sub(input, other, *, alpha=1):
    """`input - alpha * other` (torch.sub)."""
    if type(alpha) is int and alpha == 1:
        return _plain_sub(input, other)
    other = tensor_of(other, input)
    no_bool_difference(input._data, other._data)
    return pointwise(SubBackward0, (input, other), _factor(input, other, alpha))


FUNCTIONS["subtract"] = METHODS["subtract"] = FUNCTIONS["sub"]
FUNCTIONS["multiply"] = METHODS["multiply"] = FUNCTIONS["mul"]
FUNCTIONS["negative"] = METHODS["negative"] = FUNCTIONS["neg"]


@method
def add_(self, other, *, alpha=1):
    """The in-place form of `add`."""
    return _scaled_in_place(AddBackward0, self, other, alpha)


@method
def sub_(self, other, *, alpha=1):
    """The in-place form of `sub`."""
    return _scaled_in_place(SubBackward0, self, other, alpha)


def _scaled_in_place(rule, input, other, alpha):
    if type(alpha) is int and alpha == 1:
        return rule.call_(input, other)
    other = tensor_of(other, input)
    kind = input._data.dtype
    if type(alpha) is float and kind.kind == "f" and kind is other._data.dtype and not THREAD.state.grad:
        return rule.call_(input, other * alpha)  # the hot path of optimizers
    if rule is SubBackward0:
        no_bool_difference(input._data, other._data)
    factor = _factor(input, other, alpha)
    if THREAD.state.grad:
        return pointwise_inplace(rule, (input, other), factor)
    return rule.call_(input, other * (factor if factor is alpha else wrap(factor)))  # the faster way


for _name, _alias in (("mul_", "multiply_"), ("neg_", "negative_"), ("sub_", "subtract_")):
    METHODS[_alias] = METHODS[_name]


@function
def rsub(input, other, *, alpha=1):
    """`other - alpha * input` (torch.rsub)."""
    if isinstance(other, Variable):
        no_bool_difference(input._data, other._data)
        return pointwise(RsubBackward0, (input, other), _factor(input, other, alpha))
    _factor(input, tensor_of(other, input), alpha)
    return apply(RsubBackward1, (input,), alpha, other)


def _rsub(self, other):
    if isinstance(other, Variable):  # called by name: a - b does not get here
        return rsub(self, other)
    if isinstance(other, (int, float, np.generic)):
        if THREAD.state.formula:
            return SubBackward0.call(tensor_of(other, self), self)
        return apply(RsubBackward1, (self,), 1, other)
    return NotImplemented


def _rdiv(self, other):
    if isinstance(other, (Variable, int, float, np.generic, np.ndarray)):
        if THREAD.state.formula and not isinstance(other, Variable):
            return DivBackward0.call(tensor_of(other, self), self)
        return METHODS["reciprocal"](self) * other
    return NotImplemented


def _pow(self, other):
    return pow(self, other) if isinstance(other, (Variable, int, float, np.generic)) else NotImplemented


def _rpow(self, other):
    if isinstance(other, Variable):
        return pow(other, self)
    if isinstance(other, (int, float, np.generic)):
        return apply(PowBackward2, (self,), other.item() if isinstance(other, np.generic) else other)
    return NotImplemented


OPERATORS = {
    "__add__": AddBackward0.call,
    "__radd__": AddBackward0.call,
    "__iadd__": AddBackward0.call_,
    "__sub__": SubBackward0.call,
    "__rsub__": _rsub,
    "__isub__": SubBackward0.call_,
    "__mul__": MulBackward0.call,
    "__rmul__": MulBackward0.call,
    "__imul__": MulBackward0.call_,
    "__truediv__": DivBackward0.call,
    "__rdiv__": _rdiv,
    "__rtruediv__": _rdiv,
    "__itruediv__": DivBackward0.call_,
    "__neg__": METHODS["neg"],
    "__pow__": _pow,
    "__rpow__": _rpow,
    "__ipow__": operator_of(pow_),
}
"""Python's operators, for Tensor."""

__all__ = ["OPERATORS"]
