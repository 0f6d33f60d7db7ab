"""Rules of several tensors that broadcast: where, clamping, remainders, hypot, interpolation."""

import math

import numpy as np

from ...core.rules.pointwise import MaximumBackward0
from ..autograd.errors import CPP_NAMES, not_for
from ..autograd.float16 import HALF
from ..autograd.metadata import cast
from ..autograd.modes import THREAD, WATCHERS, watcher
from ..autograd.record import apply, apply_inplace, record_all
from ..autograd.variable import Variable, wrap
from ..dtypes import as_int64, float64, meet, number_as
from ..world.warning import warn_once
from . import array_or_tensor as both
from . import numerics
from .arithmetic import pow
from .comparison import NoDerivative, both_tensors, constant_result, underived
from .pointwise import positive
from .rule import (
    FUNCTIONS,
    METHODS,
    Rule,
    as_float,
    broadcast_error,
    common_type,
    floats_only,
    function,
    method,
    no_bools,
    number_operand,
    operator_of,
    pointwise,
    pointwise_inplace,
    tensor_of,
)

# -- clamping and choosing ----------------------------------------------------------------------------


class ClampBackward1(Rule):
    """Limits that are numbers.

    Math: y = clamp(a, min, max).   VJP: where(a <= max, g, 0) if min is None else where(a >= min, g, 0) if max is
    None else where(min <= a <= max, g, 0).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.clamp
    """

    op = "clamp"
    saves = ("self",)
    keeps = ("min", "max")

    def forward(x, low, high):
        for limit, choose in ((low, np.maximum), (high, np.minimum)):
            if limit is not None:
                given = limit
                x, limit = number_operand(x, limit, False)
                if x.dtype.kind != "f" or x.dtype.itemsize == 2:
                    number_as(given, x.dtype)  # raises if the type cannot hold it
                x = choose(x, limit)
        return x

    def vjp(self, g, x):
        low, high = self.args
        x = both.array_of(x)
        inside = True if low is None else x >= low
        return both.masked(g, inside if high is None else inside & (x <= high))


class ClampMinBackward0(ClampBackward1):
    """A lower limit that is a number.

    Math: y = maximum(a, min).   VJP: where(a >= min, g, 0).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.clamp_min
    """

    op = "clamp_min"
    keeps = ("min",)

    def forward(x, low):
        return ClampBackward1.forward(x, low, None)

    def vjp(self, g, x):
        return both.masked(g, both.array_of(x) >= self.args[0])


class ClampMaxBackward0(ClampBackward1):
    """An upper limit that is a number.

    Math: y = minimum(a, max).   VJP: where(a <= max, g, 0).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.clamp_max
    """

    op = "clamp_max"
    keeps = ("max",)

    def forward(x, high):
        return ClampBackward1.forward(x, None, high)

    def vjp(self, g, x):
        return both.masked(g, both.array_of(x) <= self.args[0])


class ClampBackward0(Rule):
    """Limits that are tensors.

    Math: y = minimum(maximum(a, b), c).   VJP: to a: where(b <= a <= c, g, 0); to b: where(a < b < c, g, 0); to c:
    where((a > c) or (c < b), g, 0).
    Shapes: broadcast.   Saves: a, low, high.   PyTorch: torch.clamp
    """

    op = "clamp"
    inputs = saves = ("self", "min", "max")

    def forward(x, low, high):
        return np.minimum(np.maximum(x, low), high)

    def vjp(self, g, x, low, high):
        x, low, high = both.array_of(x), both.array_of(low), both.array_of(high)
        to_low = both.masked(g, (x < low) & (low < high)) if self.needs(1) else None
        to_high = both.masked(g, (x > high) | (high < low)) if self.needs(2) else None
        return both.masked(g, (x >= low) & (x <= high)), to_low, to_high

    def _read_saved(self, name):
        value = super()._read_saved(name)
        return None if name != "self" and value.ndim == 0 and np.isinf(value._data) else value


class ClampMinBackward1(Rule):
    """A lower limit that is a tensor.

    Math: y = maximum(a, b).   VJP: to a: where(a >= b, g, 0); to b: where(a < b, g, 0).
    Shapes: broadcast.   Saves: a, low.   PyTorch: torch.clamp_min
    """

    op = "clamp_min"
    inputs = saves = ("self", "min")
    forward = np.maximum

    def vjp(self, g, x, low):
        x, low = both.array_of(x), both.array_of(low)
        return both.masked(g, x >= low), both.masked(g, x < low)


class ClampMaxBackward1(Rule):
    """An upper limit that is a tensor.

    Math: y = minimum(a, b).   VJP: to a: where(a <= b, g, 0); to b: where(a > b, g, 0).
    Shapes: broadcast.   Saves: a, high.   PyTorch: torch.clamp_max
    """

    op = "clamp_max"
    inputs = saves = ("self", "max")
    forward = np.minimum

    def vjp(self, g, x, high):
        x, high = both.array_of(x), both.array_of(high)
        return both.masked(g, x <= high), both.masked(g, x > high)


def _limits(min, max):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    for limit in (min, max):
        if not isinstance(limit, (Variable, int, float, np.generic, type(None))):
            raise TypeError(f"clamp(): the limits must be Tensors or numbers, not {type(limit).__name__}")
    return isinstance(min, Variable) or isinstance(max, Variable)


@function
def clamp(input, min=None, max=None):
    """`input` limited to [min, max], either of which may be left out; numbers or tensors (torch.clamp)."""
    if not _limits(min, max):
        return apply(ClampBackward1, (input,), min, max)
    return pointwise(*_with_limits(input, min, max))


def _with_limits(input, min, max):
    """The rule and operands that clamp `input` to tensors; integers have no infinity for a missing limit."""
    if any(isinstance(limit, (int, float)) for limit in (min, max)):
        raise TypeError("clamp(): the limits are two tensors or two numbers")
    low, high = (None if limit is None else tensor_of(limit, input) for limit in (min, max))
    if input._data.dtype.kind == "f":
        low = tensor_of(-math.inf, input) if low is None else low
        high = tensor_of(math.inf, input) if high is None else high
    elif low is None:
        return ClampMaxBackward1, (input, high)
    elif high is None:
        return ClampMinBackward1, (input, low)
    if {x._data.dtype.kind for x in (input, low, high)} == {"b"}:
        raise not_for(input._data.dtype, "clamp_cpu")
    return ClampBackward0, (input, low, high)


@function
def clamp_min(input, min):
    """`input`, but no less than `min` (torch.clamp_min)."""
    if isinstance(min, Variable):
        return pointwise(ClampMinBackward1, (input, min))
    return apply(ClampMinBackward0, (input,), min)


@function
def clamp_max(input, max):
    """`input`, but no more than `max` (torch.clamp_max)."""
    if isinstance(max, Variable):
        return pointwise(ClampMaxBackward1, (input, max))
    return apply(ClampMaxBackward0, (input,), max)


@method
def clamp_(self, min=None, max=None):
    """The in-place form of `clamp`."""
    if _limits(min, max):
        return pointwise_inplace(*_with_limits(self, min, max))
    return apply_inplace(ClampBackward1, (self,), min, max)


@method
def clamp_min_(self, min):
    """The in-place form of `clamp_min`."""
    if isinstance(min, Variable):
        return pointwise_inplace(ClampMinBackward1, (self, min))
    return apply_inplace(ClampMinBackward0, (self,), min)


@method
def clamp_max_(self, max):
    """The in-place form of `clamp_max`."""
    if isinstance(max, Variable):
        return pointwise_inplace(ClampMaxBackward1, (self, max))
    return apply_inplace(ClampMaxBackward0, (self,), max)


class WhereBackward0(Rule):
    """Choosing between two tensors.

    Math: y = where(condition, a, b).   VJP: to a: where(condition, g, 0); to b: where(condition, 0, g).
    Shapes: all three broadcast.   Saves: the condition.   PyTorch: torch.where
    """

    op = "where"
    inputs = ("self", "other", "condition")
    operands = 2
    saves = ("condition",)

    def forward(x, y, condition):
        return np.where(condition, x, y)

    def vjp(self, g, condition):
        condition = both.array_of(condition)
        to_b = both.where(condition, 0, g) if self.needs(1) else None
        return both.masked(g, condition) if self.needs(0) else None, to_b


@function(method=False)
def where(condition, input=None, other=None):
    """`input` where `condition` holds, else `other`; with the condition alone, where it is not 0 (torch.where)."""
    if input is None and other is None:
        if WATCHERS:
            watcher().looked(condition, "where")
        found = np.nonzero(np.atleast_1d(condition._data))
        return tuple([constant_result((condition,), as_int64(places), "where") for places in found])
    if condition._data.dtype == np.uint8:
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version "
            "of PyTorch. Use a boolean condition instead."
        )
        condition = wrap(condition._data.astype(bool))
    elif condition._data.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.type_name}"
        )
    for number, t in ((input, other), (other, input)):
        if isinstance(t, Variable) and type(number) is int and t._data.dtype.kind in "iu":
            number_as(number, t._data.dtype)  # raises if the type cannot hold it
    a = tensor_of(input, other if isinstance(other, Variable) else None)
    b = tensor_of(other, input if isinstance(input, Variable) else None)
    c, x, y = condition._data, a._data, b._data
    meeting = common_type([x, y])
    state = THREAD.state
    try:
        data = np.where(c, x, y).astype(meeting, copy=False)
    except ValueError:
        raise broadcast_error([c, x, y]) from None
    broadcast = (x.shape, x.dtype), (y.shape, y.dtype)
    return record_all(state, WhereBackward0, (a, b, condition), data, (), broadcast)


@method(name="where")
def _where_method(self, condition, other):
    return where(condition, self, other)


# -- pairs of tensors ---------------------------------------------------------------------------------


def pair(op, *, floats=False, inplace=True, numbers=False):
    """Make the functions of a pointwise rule of two tensors that broadcast.

    `floats`: integers are computed in the default float.  `numbers`: the second operand may be a number.
    """

    def decorate(rule):
        rule.op = op

        def call(input, other):
            return pointwise(rule, both_tensors(op, input, other, numbers), floats=floats)

        def call_(input, other):
            return pointwise_inplace(rule, both_tensors(op, input, other, numbers), floats=floats)

        rule.call, rule.call_ = call, call_
        for name, fn in ((op, call), (op + "_", call_))[: 1 + inplace]:
            fn.__name__ = fn.__qualname__ = name
            fn.__doc__ = rule.__doc__
            METHODS[name] = fn
        FUNCTIONS[op] = call
        return rule

    return decorate


def to_winner(g, tie, loses):
    """The gradient of the winning operand: `g`, or half of it at a tie."""
    return both.filled(both.where(tie, g / 2, g), loses)


pair("maximum", inplace=False)(MaximumBackward0)


@pair("minimum", inplace=False)
class MinimumBackward0(Rule):
    """The smaller of two.

    Math: y = minimum(a, b).   VJP: to a: where(a == b, g / 2, where(a > b, 0, g)); to b: where(a == b, g / 2, where(a
    < b, 0, g)).
    Shapes: broadcast.   Saves: a, b. PyTorch: torch.minimum
    """

    inputs = saves = ("self", "other")
    forward = np.minimum

    def vjp(self, g, a, b):
        a, b = both.array_of(a), both.array_of(b)
        return to_winner(g, a == b, a > b), to_winner(g, a == b, a < b)


@pair("fmax", inplace=False)
class FmaxBackward0(Rule):
    """The larger of two, where a number wins over nan.

    Math: y = fmax(a, b).   VJP: to a: where((a >= b) or isnan(b), g, 0); to b: where((a >= b) or isnan(b), 0, g).
    Shapes: broadcast.   Saves: a, b. PyTorch: torch.fmax
    """

    inputs = saves = ("self", "other")
    forward = np.fmax

    def vjp(self, g, a, b):
        a, b = both.array_of(a), both.array_of(b)
        first = (a >= b) | np.isnan(b)
        return both.filled(g, ~first), both.filled(g, first)


@pair("fmin", inplace=False)
class FminBackward0(Rule):
    """The smaller of two, where a number wins over nan.

    Math: y = fmin(a, b).   VJP: to a: where((a <= b) or isnan(b), g, 0); to b: where((a <= b) or isnan(b), 0, g).
    Shapes: broadcast.   Saves: a, b. PyTorch: torch.fmin
    """

    inputs = saves = ("self", "other")
    forward = np.fmin

    def vjp(self, g, a, b):
        a, b = both.array_of(a), both.array_of(b)
        first = (a <= b) | np.isnan(b)
        return both.filled(g, ~first), both.filled(g, first)


@pair("atan2", floats=True)
class Atan2Backward0(Rule):
    """The angle of the point (b, a).

    Math: y = atan2(a, b).   VJP: to a: where(r == 0, 0, g * b / r); to b: where(r == 0, 0, -g * a / r); r = a ** 2 +
    b ** 2.
    Shapes: broadcast.   Saves: a, b.   PyTorch: torch.atan2
    """

    inputs = saves = ("self", "other")
    forward = np.arctan2

    def vjp(self, g, a, b):
        square = a * a + b * b
        weight = both.filled(both.reciprocal(square), both.array_of(square) == 0)
        return g * b * weight, g * -a * weight


@pair("hypot")
class HypotBackward0(Rule):
    """The length of the vector (a, b).

    Math: y = sqrt(a ** 2 + b ** 2).   VJP: to a: g * a / y;  to b: g * b / y.
    Shapes: broadcast.   Saves: a, b (each if it wants a gradient) and the result.   PyTorch: torch.hypot
    """

    inputs = ("self", "other")
    saves = ("self", "other", "result")
    saves_if = {"self": (0,), "other": (1,)}

    def forward(a, b):
        return np.hypot(floats_only(a, "hypot_cpu"), b)

    def vjp(self, g, a, b, y):
        to_b = None if b is None else g * b / y
        return None if a is None else g * a / y, to_b


class RemainderBackward0(Rule):
    """The remainder of a division by a number, with the sign of the divisor.

    Math: y = a - floor(a / number) * number.   VJP: g.
    Shapes: elementwise.   Saves: nothing.   PyTorch: torch.remainder
    """

    op = "remainder"
    rounds_numbers = True

    def forward(x, number):
        return _remainder(*number_operand(x, number, False))

    def vjp(self, g):
        return g


class RemainderBackward1(Rule):
    """The remainder of a division, with the sign of the divisor.

    Math: y = a - floor(a / b) * b.   VJP: to a: g;  to b: -g * floor(a / b).
    Shapes: broadcast.   Saves: a and b if b wants a gradient.   PyTorch: torch.remainder
    """

    op = "remainder"
    inputs = saves = ("self", "other")
    saves_if = {"self": (1,), "other": (1,)}

    def forward(a, b):
        return _remainder(a, b)

    def vjp(self, g, a, b):
        return g, -g * _quotient(a, b, "floor") if self.needs(1) else None


class FmodBackward0(RemainderBackward0):
    """The remainder of a division by a number, with the sign of the dividend.

    Math: y = a - trunc(a / number) * number.   VJP: g.
    Shapes: elementwise.   Saves: nothing.   PyTorch: torch.fmod
    """

    op = "fmod"

    def forward(x, number):
        return _fmod(*number_operand(x, number, False))


class FmodBackward1(Rule):
    """The remainder of a division, with the sign of the dividend.

    Math: y = a - trunc(a / b) * b.   VJP: to a: g;  to b: -g * trunc(a / b).
    Shapes: broadcast.   Saves: a and b if b wants a gradient.   PyTorch: torch.fmod
    """

    op = "fmod"
    inputs = saves = ("self", "other")
    saves_if = {"self": (1,), "other": (1,)}

    def forward(a, b):
        return _fmod(a, b)

    def vjp(self, g, a, b):
        return g, -g * _quotient(a, b, "trunc") if self.needs(1) else None


def _quotient(a, b, rounding_mode):
    if isinstance(a, Variable):
        return div(a, b, rounding_mode=rounding_mode)
    return DivBackward2.forward(a, b, rounding_mode)


def _no_zero_division(x, y):
    if x.dtype.kind != "f" and np.any(np.equal(y, 0)):
        raise RuntimeError("ZeroDivisionError")


def _remainder(x, y):
    no_bools(x, "remainder_cpu")
    _no_zero_division(x, y)
    r = np.remainder(x, y)
    zero = r == 0
    if r.dtype.kind == "f" and zero.any():  # NumPy gives zero the sign of the divisor, C that of the dividend
        r = np.where(zero, np.copysign(r, x), r)
    return r


def _fmod(x, y):
    no_bools(x, "fmod_cpu")
    _no_zero_division(x, y)
    return np.fmod(x, y)


def with_number(op, rule0, rule1):
    """Functions for an operation that has one rule for a number and another for a tensor on the right."""

    def call(input, other):
        if isinstance(other, Variable):
            return pointwise(rule1, both_tensors(op, input, other))
        if isinstance(other, (int, float, np.generic)):
            return apply(rule0, (input,), other)
        return NotImplemented

    def call_(input, other):
        if isinstance(other, Variable):
            return pointwise_inplace(rule1, (input, other))
        return apply_inplace(rule0, (input,), other)

    for name, fn in ((op, call), (op + "_", call_)):
        fn.__name__ = fn.__qualname__ = name
        fn.__doc__ = rule1.__doc__
        METHODS[name] = fn
    FUNCTIONS[op] = call


with_number("remainder", RemainderBackward0, RemainderBackward1)
with_number("fmod", FmodBackward0, FmodBackward1)


class FloorDivide(NoDerivative, name="NotImplemented"):
    """A quotient rounded down, in place.

    Math: y = a // b.   VJP: to a, b: nothing.
    """

    op = "floor_divide"
    inputs = ("self", "other")
    widens = False  # as in DivBackward2

    def forward(x, y, _):
        return _floor_quotient(x, y)


class FloorDivideByNumber(NoDerivative, name="NotImplemented"):
    """The same by a number.

    Math: y = a // number.   VJP: nothing.
    """

    op = "floor_divide"

    def forward(x, _, number):
        return _floor_quotient(*number_operand(x, number, False))


def _floor_quotient(x, y):
    no_bools(x, "div_floor_cpu")
    _no_zero_division(x, y)
    return (_floor_of_halves if np.result_type(x, y) == HALF else np.floor_divide)(x, y)


def _floor_of_halves(x, y):
    """np.floor_divide(x, y) with every step rounded to float16, as in PyTorch."""
    quotient, rest = x / y, np.fmod(x, y)
    beyond = np.isinf(quotient) & ~np.isinf(x)  # the quotient overflows float16
    whole = np.where(beyond, x, x - rest) / y
    whole = np.where((rest != 0) & ((y < 0) != (rest < 0)), whole - HALF.type(1), whole)
    floor = np.floor(whole)
    floor = np.where(whole - floor > 0.5, floor + HALF.type(1), floor)
    floor = np.where(whole == 0, np.copysign(HALF.type(0), quotient), floor)
    return np.where(y == 0, quotient, floor)


def _quotient_operands(input, other):
    input, other = tensor_of(input, other), tensor_of(other, input)
    x, y = input._data, other._data
    meeting = meet(x, y)
    return input, other, x.astype(meeting), y.astype(meeting)


@function
def floor_divide(input, other):
    """The quotient rounded down (torch.floor_divide), for which PyTorch has no derivative."""
    input, other, x, y = _quotient_operands(input, other)
    return underived("floor_divide", (input, other), run_numpy(_floor_quotient, x, y))


@method
def floor_divide_(self, other):
    """The in-place form of `floor_divide`, on tensors that do not require a gradient."""
    if isinstance(other, (int, float)):
        return apply_inplace(FloorDivideByNumber, (self,), "floor_divide_", other)
    return pointwise_inplace(FloorDivide, (self, tensor_of(other, self)), "floor_divide_")


def run_numpy(fn, *arrays):
    """`fn` of some arrays without NumPy's warnings, and with PyTorch's error if they do not broadcast."""
    try:
        return THREAD.state.run(fn, *arrays)
    except ValueError:
        raise broadcast_error(arrays) from None


class DivBackward2(Rule):
    """A quotient that is rounded.

    Math: y = floor(a / b) if rounding_mode == 'floor' else trunc(a / b).   VJP: to a, b: 0.
    Shapes: broadcast.   Saves: b, and a if b wants a gradient. PyTorch: torch.div
    """

    op = "div"
    inputs = saves = ("self", "other")
    saves_if = {"self": (1,)}
    keeps = ("rounding_mode",)
    widens = False  # for float16, the quotient is rounded before it is truncated

    def forward(a, b, rounding_mode):
        if rounding_mode == "floor":
            return _floor_quotient(a, b)
        no_bools(a, "div_trunc_cpu")
        _no_zero_division(a, b)
        return np.trunc(a / b) if a.dtype.kind == "f" else ((a - np.fmod(a, b)) // b)

    def vjp(self, g, a, b):
        return both.zeros_like(g), both.zeros_like(g)


_true_div, _true_div_ = FUNCTIONS["div"], METHODS["div_"]


@function
def div(input, other, *, rounding_mode=None):
    """`input / other`; rounded towards zero or down if `rounding_mode` is "trunc" or "floor" (torch.div)."""
    if rounding_mode is None:
        return _true_div(input, other)
    _check_mode(rounding_mode)
    return pointwise(DivBackward2, (input, tensor_of(other, input)), rounding_mode)


@method
def div_(self, other, *, rounding_mode=None):
    """The in-place form of `div`."""
    if rounding_mode is None:
        return _true_div_(self, other)
    _check_mode(rounding_mode)
    return pointwise_inplace(DivBackward2, (self, tensor_of(other, self)), rounding_mode, given=other)


def _check_mode(mode):
    if mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )


class XlogyBackward0(Rule):
    """a * log(b), 0 where a is 0.

    Math: y = xlogy(a, b).   VJP: to a: where((a == 0) and (b <= 0), 0, xlogy(g, b)); to b: g * a / b.   Here xlogy(a,
    b) is a * log(b), but 0 where a is 0 (and b no nan).
    Shapes: broadcast.   Saves: a, b. PyTorch: torch.xlogy
    """

    op = "xlogy"
    inputs = saves = ("self", "other")
    saves_if = {"self": (0, 1)}

    def forward(a, b):
        return numerics.xlogy(a, b)

    def vjp(self, g, a, b):
        to_a, to_b = None, g * a / b if self.needs(1) else None
        if self.needs(0):
            log = xlogy(g, b) if isinstance(g, Variable) else numerics.xlogy(g, b)
            to_a = both.filled(log, (both.array_of(a) == 0) & (both.array_of(b) <= 0))
        return to_a, to_b


class XlogyBackward1(Rule):
    """c * log(a) for a number c.

    Math: y = xlogy(self, a).   VJP: g * self / a.   Shapes: elementwise.   Saves: a.   PyTorch: torch.xlogy
    """

    op = "xlogy"
    inputs = saves = ("other",)
    keeps = ("self",)

    def forward(b, number):
        b = as_float(b)
        return numerics.xlogy(b.dtype.type(number), b)

    def vjp(self, g, b):
        return g * self.args[0] / b


class XlogyBackward2(Rule):
    """a * log(c) for a number c.

    Math: y = xlogy(a, other).   VJP: where(a == 0, 0, xlogy(g, other)) if other <= 0 else g * log(other).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.xlogy
    """

    op = "xlogy"
    saves = ("self",)
    keeps = ("other",)

    def forward(a, number):
        a = as_float(a)
        return numerics.xlogy(a, a.dtype.type(number))

    def vjp(self, g, a):
        c = self.args[0]
        slope = both.run(XlogyBackward2, (g,), c)
        return slope if c > 0 else both.filled(slope, both.array_of(a) == 0)


@function
def xlogy(input, other):
    """Input * log(other), 0 where `input` is 0 (torch.xlogy)."""
    if not isinstance(input, Variable):
        return apply(XlogyBackward1, (other,), input)
    if not isinstance(other, Variable):
        return apply(XlogyBackward2, (input,), other)
    return pointwise(XlogyBackward0, (input, other), floats=True)


@method
def xlogy_(self, other):
    """The in-place form of `xlogy`."""
    if isinstance(other, (int, float)) and self._data.dtype.kind == "f":
        return apply_inplace(XlogyBackward2, (self,), other)
    return pointwise_inplace(XlogyBackward0, (self, tensor_of(other, self)), floats=True)


class SpecialXlog1PyBackward0(Rule):
    """a * log(1 + b), 0 where a is 0.

    Math: y = xlogy(a, 1 + b).   VJP: to a: where((a == 0) and (b <= -1), 0, xlogy(g, 1 + b)); to b: g * a / (b + 1).
    Shapes: broadcast.   Saves: a, b. PyTorch: torch.special.xlog1py
    """

    op = "special_xlog1py"
    inputs = saves = ("self", "other")
    saves_if = {"self": (0, 1)}

    def forward(a, b):
        return numerics.xlogy(a, 1 + b, np.log1p(b))

    def vjp(self, g, a, b):
        to_a, to_b = None, g * a / (b + 1) if self.needs(1) else None
        if self.needs(0):
            rule = type(self)
            log = pointwise(rule, (g, b)) if isinstance(g, Variable) else rule.forward(g, b)
            to_a = both.filled(log, (both.array_of(a) == 0) & (both.array_of(b) <= -1))
        return to_a, to_b


class SpecialXlog1PyBackward1(Rule):
    """c * log(1 + a) for a number c.

    Math: y = xlogy(self, 1 + a).   VJP: g * self / (a + 1).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.special.xlog1py
    """

    op = "special_xlog1py"
    inputs = saves = ("other",)
    keeps = ("self",)

    def forward(b, number):
        b = as_float(b)
        return SpecialXlog1PyBackward0.forward(b.dtype.type(number), b)

    def vjp(self, g, b):
        return g * self.args[0] / (b + 1)


class SpecialXlog1PyBackward2(Rule):
    """a * log(1 + c) for a number c.

    Math: y = xlogy(a, 1 + other).   VJP: where(a == 0, 0, xlogy(g, 1 + other)) if other <= -1 else g * log(1 +
    other).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.special.xlog1py
    """

    op = "special_xlog1py"
    saves = ("self",)
    keeps = ("other",)

    def forward(a, number):
        a = as_float(a)
        return SpecialXlog1PyBackward0.forward(a, a.dtype.type(number))

    def vjp(self, g, a):
        c = self.args[0]
        slope = both.run(SpecialXlog1PyBackward2, (g,), c)
        return slope if c > -1 else both.filled(slope, both.array_of(a) == 0)


@pair("logaddexp", inplace=False)
class LogaddexpBackward0(Rule):
    """The logarithm of a sum of exponentials.

    Math: y = log(exp(a) + exp(b)).   VJP: to a: g / (1 + exp(b - a));  to b: g / (1 + exp(a - b)).
    Shapes: broadcast.   Saves: a, b.   PyTorch: torch.logaddexp
    """

    inputs = saves = ("self", "other")

    def forward(a, b):
        return np.logaddexp(floats_only(a, "logaddexp_cpu"), b)

    def vjp(self, g, a, b):
        to_b = g / (1 + both.exp(a - b))
        return g / (1 + both.exp(b - a)), to_b


@pair("logaddexp2", inplace=False)
class Logaddexp2Backward0(Rule):
    """The same to base 2.

    Math: y = log2(2 ** a + 2 ** b).   VJP: to a: g / (1 + 2 ** (b - a));  to b: g / (1 + 2 ** (a - b)).
    Shapes: broadcast.   Saves: a, b.   PyTorch: torch.logaddexp2
    """

    inputs = saves = ("self", "other")

    def forward(a, b):
        return np.logaddexp2(floats_only(a, "logaddexp2_cpu"), b)

    def vjp(self, g, a, b):
        to_b = g / (1 + 2 ** (a - b))
        return g / (1 + 2 ** (b - a)), to_b


@pair("ldexp", floats=True)
class LdexpBackward0(Rule):
    """Multiplication by a power of two.

    Math: y = a * 2.0 ** b.   VJP: to a: g * 2.0 ** b; to b: g * y * log(2).
    Shapes: broadcast.   Saves: b if a wants a gradient, and the result.   PyTorch: torch.ldexp
    """

    inputs = ("self", "other")
    saves = ("other", "result")
    saves_if = {"other": (0,)}

    def forward(a, b):
        return a * np.exp2(b)

    def vjp(self, g, b, y):
        if self.needs(0) and both.array_of(b).dtype.kind != "f":
            b = cast(b, both.array_of(g).dtype)  # NumPy has no integer 2 ** -1
        return g * 2**b if self.needs(0) else None, g * y * math.log(2) if self.needs(1) else None


def _zeros(node, i, g):
    """Zeros for operand `i`, in its shape as in PyTorch, which shows if the user calls the node."""
    if THREAD.state.calling and node.broadcast is not None:
        return wrap(np.zeros(node.broadcast[i][0], g._data.dtype)[()])
    return both.zeros_like(g)


class CopysignBackward0(Rule):
    """The size of one with the sign of another.

    Math: y = copysign(a, b).   VJP: to a: where(a == 0, 0, g * y / a); to b: 0.
    Shapes: broadcast. Saves: a and the result.   PyTorch: torch.copysign
    """

    op = "copysign"
    inputs = ("self", "other")
    saves = ("self", "result")
    saves_if = {"self": (0,)}
    forward = np.copysign

    def vjp(self, g, a, y):
        return _copysign_vjp(g, a, y) if self.needs(0) else None, _zeros(self, 1, g)


class CopysignBackward1(Rule):
    """The size of a tensor with the sign of a number.

    Math: y = copysign(a, number).   VJP: where(a == 0, 0, g * y / a).
    Shapes: elementwise.   Saves: a and the result.   PyTorch: torch.copysign
    """

    op = "copysign"
    saves = ("self", "result")

    def forward(a, number):
        return np.copysign(as_float(a), number)

    def vjp(self, g, a, y):
        return _copysign_vjp(g, a, y)


def _copysign_vjp(g, a, y):
    return g * both.filled(y / a, both.array_of(a) == 0)


@function
def copysign(input, other):
    """|input| with the sign of `other` (torch.copysign)."""
    if isinstance(other, Variable):
        return pointwise(CopysignBackward0, (input, other), floats=True)
    return apply(CopysignBackward1, (input,), other)


@method
def copysign_(self, other):
    """The in-place form of `copysign`."""
    if isinstance(other, (int, float)) and self._data.dtype.kind == "f":
        return apply_inplace(CopysignBackward1, (self,), other)
    return pointwise_inplace(CopysignBackward0, (self, tensor_of(other, self)), floats=True)


@function
def heaviside(input, values):
    """0 below zero, 1 above, `values` at zero (torch.heaviside), for which PyTorch has no derivative."""
    if not isinstance(values, Variable):
        raise TypeError(
            f"heaviside(): argument 'values' (position 2) must be Tensor, not {type(values).__name__}"
        )
    if input._data.dtype is not values._data.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return underived(
        "heaviside",
        (input, values),
        run_numpy(_heaviside, input._data, values._data).astype(input._data.dtype),
    )


def _heaviside(x, values):
    """NumPy's, but 0 for nan, as in PyTorch."""
    return np.where(x == 0, values, x > 0)


class Heaviside(NoDerivative, name="NotImplemented"):
    """A step, in place.

    Math: y = where(a == 0, b, a > 0).   VJP: to a, b: nothing.
    """

    op = "heaviside"
    inputs = ("self", "values")

    def forward(x, values, _):
        return _heaviside(x, values).astype(x.dtype)


@method
def heaviside_(self, values):
    """The in-place form of `heaviside`."""
    if self._data.dtype is not values._data.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return pointwise_inplace(Heaviside, (self, values), "heaviside_")


@function
def float_power(input, exponent):
    """`input` to the power of `exponent`, computed in float64 (torch.float_power)."""
    exponent, input = [v.to(float64) if isinstance(v, Variable) else float(v) for v in (exponent, input)]
    return pow(input, exponent)


@method
def float_power_(self, exponent):
    """The in-place form of `float_power`, for float64 only."""
    if self.dtype is not float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.type_name} but the operation's result requires "
            "dtype Double"
        )
    return METHODS["pow_"](self, exponent)


@pair("nextafter")
class NextafterBackward0(Rule):
    """The next floating-point number after a, towards b.

    Math: y = nextafter(a, b).   VJP: to a: where(a == b, 0, g); to b: 0.
    Shapes: broadcast. Saves: a and b if a wants a gradient.   PyTorch: torch.nextafter
    """

    inputs = saves = ("self", "other")
    saves_if = {"self": (0,), "other": (0,)}

    def forward(a, b):
        return np.nextafter(floats_only(a, "nextafter_cpu"), b)

    def vjp(self, g, a, b):
        if a is None:
            return None, _zeros(self, 1, g)
        same = both.array_of(a) == both.array_of(b)
        return both.masked(g, ~same), _zeros(self, 1, g)


# -- three at a time ----------------------------------------------------------------------------------


class LerpBackward0(Rule):
    """A point between two, the place given by a number.

    Math: y = a + weight * (b - a).   VJP: to a: g * (1 - weight); to b: g * weight.
    Shapes: broadcast.   Saves: nothing. PyTorch: torch.lerp
    """

    op = "lerp"
    inputs = ("self", "end")
    keeps = ("weight",)

    def forward(a, b, w):
        return _between(a, b, w)

    def vjp(self, g):
        w = self.args[0]
        to_b = g * w
        return g * (1 - w), to_b


class LerpBackward1(Rule):
    """A point between two, the place given by a tensor.

    Math: y = a + weight * (b - a).   VJP: to a: g * (1 - weight); to b: g * weight; to weight: g * (b - a).
    Shapes: broadcast.   Saves: w, and a and b if w wants a gradient.   PyTorch: torch.lerp
    """

    op = "lerp"
    inputs = saves = ("self", "end", "weight")
    saves_if = {"self": (2,), "end": (2,)}

    def forward(a, b, w):
        return _between(a, b, w)

    def vjp(self, g, a, b, w):
        to_b = g * w if self.needs(1) else None
        to_a = g * (1 - w) if self.needs(0) else None
        return to_a, to_b, g * (b - a) if self.needs(2) else None


def _between(a, b, w):
    # From the nearer end, so that w = 0 and w = 1 give the ends exactly.
    return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)).astype(a.dtype, copy=False)


def _same_type(input, **others):
    for name, t in others.items():
        if isinstance(t, Variable) and t._data.dtype is not input._data.dtype:
            have, want = CPP_NAMES[t._data.dtype.name], CPP_NAMES[input._data.dtype.name]
            raise RuntimeError(f"expected dtype {want} for `{name}` but got dtype {have}")


def _check_lerp(input, end, weight):
    if isinstance(weight, Variable) and not weight._data.ndim:
        _same_type(input, end=end)  # a 0-d weight may be of another type
    else:
        _same_type(input, end=end, weight=weight)
    floats_only(input._data, "lerp_kernel_tensor" if isinstance(weight, Variable) else "lerp_kernel_scalar")


@function
def lerp(input, end, weight):
    """The point between `input` and `end` at `weight`, a number or a tensor (torch.lerp)."""
    _check_lerp(input, end, weight)
    if isinstance(weight, Variable):
        return pointwise(LerpBackward1, (input, end, weight))
    return pointwise(LerpBackward0, (input, end), weight)


@method
def lerp_(self, end, weight):
    """The in-place form of `lerp`."""
    _check_lerp(self, end, weight)
    if isinstance(weight, Variable):
        return pointwise_inplace(LerpBackward1, (self, end, weight))
    return pointwise_inplace(LerpBackward0, (self, end), weight)


class AddcmulBackward0(Rule):
    """A product added to a tensor.

    Math: y = a + value * b * c.   VJP: to a: g; to b: g * c * value; to c: g * b * value.
    Shapes: broadcast. Saves: each factor that the other's gradient needs.   PyTorch: torch.addcmul
    """

    op = "addcmul"
    inputs = ("self", "tensor1", "tensor2")
    saves = ("tensor1", "tensor2")
    saves_if = {"tensor1": (2,), "tensor2": (1,)}
    keeps = ("value",)

    def forward(a, b, c, value):
        return no_bools(a, "addcmul_cpu_out") + a.dtype.type(value) * b * c

    def vjp(self, g, b, c):
        v = self.args[0]
        return g, None if c is None else g * (c * v), None if b is None else g * (b * v)


_WHOLE_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division "
    "of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
    "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
    "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
)


class AddcdivBackward0(Rule):
    """A quotient added to a tensor.

    Math: y = a + value * b / c.   VJP: to a: g; to b: g * value / c; to c: -g * value * b / c ** 2.
    Shapes: broadcast. Saves: c, and b if c wants a gradient.   PyTorch: torch.addcdiv
    """

    op = "addcdiv"
    inputs = ("self", "tensor1", "tensor2")
    saves = ("tensor1", "tensor2")
    saves_if = {"tensor1": (2,)}
    keeps = ("value",)

    def forward(a, b, c, value):
        if b.dtype.kind != "f":
            raise RuntimeError(_WHOLE_ADDCDIV)
        return a + a.dtype.type(value) * b / c

    def vjp(self, g, b, c):
        v = self.args[0]
        share = both.constant(
            both.array_of(c).dtype.type(v), c
        )  # a number divided by a tensor is a division, not 1 / c times the number
        return (
            g,
            g * (share / c) if self.needs(1) else None,
            -g * (v * b / (c * c)) if self.needs(2) else None,
        )


def _with_value(op, rule):
    def call(input, tensor1, tensor2, *, value=1):
        if rule is AddcdivBackward0 and tensor1._data.dtype.kind != "f" != tensor2._data.dtype.kind:
            raise RuntimeError(_WHOLE_ADDCDIV)
        return pointwise(rule, (input, tensor1, tensor2), value)

    def call_(self, tensor1, tensor2, *, value=1):
        return pointwise_inplace(rule, (self, tensor1, tensor2), value)

    call.__name__ = call.__qualname__ = op
    call.__doc__ = rule.__doc__
    call_.__name__ = call_.__qualname__ = op + "_"
    call_.__doc__ = f"The in-place form of `{op}`."
    FUNCTIONS[op] = METHODS[op] = call
    METHODS[op + "_"] = call_


_with_value("addcmul", AddcmulBackward0)
_with_value("addcdiv", AddcdivBackward0)


# -- operators and second names -----------------------------------------------------------------------


def _reflected(fn, of_tensors):
    """`number op tensor`: the number becomes a tensor; `of_tensors` handles two tensors, for calls by name."""

    def call(self, other):
        if isinstance(other, Variable):
            return of_tensors(other, self)
        if not isinstance(other, (int, float, np.generic)):
            return NotImplemented
        return fn(tensor_of(other, self), self)

    return call


def _number_remainder(input, other):
    input = tensor_of(input, other)
    return underived(
        "remainder", (input, other), run_numpy(_remainder, *_quotient_operands(input, other)[2:])
    )


@function(method=False)
def remainder(input, other):
    """The remainder of a division, with the sign of the divisor (torch.remainder); for a number as `input`, PyTorch has no derivative."""
    if isinstance(input, (int, float)) and isinstance(other, Variable):
        return _number_remainder(input, other)
    return METHODS["remainder"](input, other)


METHODS.update(
    __abs__=METHODS["abs"],
    __pos__=positive,
    __mod__=METHODS["remainder"],
    __rmod__=_reflected(_number_remainder, METHODS["remainder"]),
    __imod__=operator_of(METHODS["remainder_"]),
    __floordiv__=operator_of(floor_divide),
    __rfloordiv__=_reflected(floor_divide, floor_divide),
    __ifloordiv__=operator_of(floor_divide_),
)

for alias, name in {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh", "arctan2": "atan2", "clip": "clamp", "divide": "div", "fix": "trunc", "true_divide": "div",
}.items():  # fmt: skip
    FUNCTIONS[alias] = METHODS[alias] = FUNCTIONS[name]
    if name + "_" in METHODS:
        METHODS[alias + "_"] = METHODS[name + "_"]
