"""Rules that work on each element by itself: exponentials, trigonometry, rounding, clamping, and pairs of tensors."""

import math

import numpy as np

from ..autograd.errors import TYPE_NAMES
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace, edges_of, finish, make_node, wanted
from ..autograd.variable import Variable, wrap
from ..dtypes import float64, meet
from . import both, numerics
from .arithmetic import pow
from .comparison import both_tensors
from .rule import (
    FUNCTIONS,
    METHODS,
    Rule,
    as_float,
    broadcast_error,
    common_type,
    function,
    method,
    number_operand,
    pointwise,
    pointwise_inplace,
    tensor_of,
    unary,
)


def not_for(x, name):
    """The error of an operation that has no code for the type of the array `x`."""
    return NotImplementedError(f"\"{name}\" not implemented for '{TYPE_NAMES[x.dtype.name]}'")


def no_bools(x, name):
    """The array `x`, which must not be of booleans."""
    if x.dtype.kind == "b":
        raise not_for(x, name)
    return x


# -- exponentials and logarithms ----------------------------------------------------------------------


@unary("exp")
class ExpBackward0(Rule):
    """Exponential.

    Math: y = exp(a).   VJP: g * y.   Shapes: elementwise.   Saves: the result.   PyTorch: torch.exp
    """

    saves = ("result",)
    forward = np.exp

    def vjp(self, g, y):
        return g * y


@unary("exp2")
class Exp2Backward0(Rule):
    """Power of two.

    Math: y = 2 ** a.   VJP: g * y * log(2).   Shapes: elementwise.   Saves: the result.   PyTorch: torch.exp2
    """

    saves = ("result",)
    forward = np.exp2

    def vjp(self, g, y):
        return g * y * math.log(2)


@unary("expm1")
class Expm1Backward0(Rule):
    """exp(a) - 1, exact near 0.

    Math: y = exp(a) - 1.   VJP: g * (y + 1).   Shapes: elementwise.   Saves: the result.   PyTorch: torch.expm1
    """

    saves = ("result",)
    forward = np.expm1

    def vjp(self, g, y):
        return g * (y + 1)


@unary("log")
class LogBackward0(Rule):
    """Natural logarithm.

    Math: y = log(a).   VJP: g / a.   Shapes: elementwise.   Saves: a.   PyTorch: torch.log
    """

    saves = ("self",)
    forward = np.log

    def vjp(self, g, x):
        return g / x


@unary("log2")
class Log2Backward0(Rule):
    """Logarithm to base 2.

    Math: y = log2(a).   VJP: g / (a * log(2)).   Shapes: elementwise.   Saves: a.   PyTorch: torch.log2
    """

    saves = ("self",)
    forward = np.log2

    def vjp(self, g, x):
        return g / (x * math.log(2))


@unary("log10")
class Log10Backward0(Rule):
    """Logarithm to base 10.

    Math: y = log10(a).   VJP: g / (a * log(10)).   Shapes: elementwise.   Saves: a.   PyTorch: torch.log10
    """

    saves = ("self",)
    forward = np.log10

    def vjp(self, g, x):
        return g / (x * math.log(10))


@unary("log1p")
class Log1PBackward0(Rule):
    """log(1 + a), exact near 0.

    Math: y = log(1 + a).   VJP: g / (a + 1).   Shapes: elementwise.   Saves: a.   PyTorch: torch.log1p
    """

    saves = ("self",)
    forward = np.log1p

    def vjp(self, g, x):
        return g / (x + 1)


@unary("sqrt")
class SqrtBackward0(Rule):
    """Square root.

    Math: y = sqrt(a).   VJP: g / (2 * y), which is inf at 0.   Shapes: elementwise.   Saves: the result.   PyTorch: torch.sqrt
    """

    saves = ("result",)
    forward = np.sqrt

    def vjp(self, g, y):
        return g / (2 * y)


@unary("rsqrt")
class RsqrtBackward0(Rule):
    """One over the square root.

    Math: y = 1 / sqrt(a).   VJP: -g / 2 * y ** 3.   Shapes: elementwise.   Saves: the result.   PyTorch: torch.rsqrt
    """

    saves = ("result",)

    def forward(x):
        return 1 / np.sqrt(x)

    def vjp(self, g, y):
        return -0.5 * g * y**3




# -- trigonometry -------------------------------------------------------------------------------------


@unary("sin")
class SinBackward0(Rule):
    """Sine.

    Math: y = sin(a).   VJP: g * cos(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.sin
    """

    saves = ("self",)
    forward = np.sin

    def vjp(self, g, x):
        return g * both.cos(x)


@unary("cos")
class CosBackward0(Rule):
    """Cosine.

    Math: y = cos(a).   VJP: -g * sin(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.cos
    """

    saves = ("self",)
    forward = np.cos

    def vjp(self, g, x):
        return g * -both.sin(x)


@unary("tan")
class TanBackward0(Rule):
    """Tangent.

    Math: y = tan(a).   VJP: g * (1 + y ** 2).   Shapes: elementwise.   Saves: the result.   PyTorch: torch.tan
    """

    saves = ("result",)
    forward = np.tan

    def vjp(self, g, y):
        return g * (1 + y * y)


@unary("asin")
class AsinBackward0(Rule):
    """Inverse sine.

    Math: y = asin(a).   VJP: g / sqrt(1 - a ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.asin
    """

    saves = ("self",)
    forward = np.arcsin

    def vjp(self, g, x):
        return g * both.rsqrt(-x * x + 1)


@unary("acos")
class AcosBackward0(Rule):
    """Inverse cosine.

    Math: y = acos(a).   VJP: -g / sqrt(1 - a ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.acos
    """

    saves = ("self",)
    forward = np.arccos

    def vjp(self, g, x):
        return g * -both.rsqrt(-x * x + 1)


@unary("atan")
class AtanBackward0(Rule):
    """Inverse tangent.

    Math: y = atan(a).   VJP: g / (1 + a ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.atan
    """

    saves = ("self",)
    forward = np.arctan

    def vjp(self, g, x):
        return g / (x * x + 1)


@unary("sinh")
class SinhBackward0(Rule):
    """Hyperbolic sine.

    Math: y = sinh(a).   VJP: g * cosh(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.sinh
    """

    saves = ("self",)
    forward = np.sinh

    def vjp(self, g, x):
        return g * both.cosh(x)


@unary("cosh")
class CoshBackward0(Rule):
    """Hyperbolic cosine.

    Math: y = cosh(a).   VJP: g * sinh(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.cosh
    """

    saves = ("self",)
    forward = np.cosh

    def vjp(self, g, x):
        return g * both.sinh(x)


@unary("asinh")
class AsinhBackward0(Rule):
    """Inverse hyperbolic sine.

    Math: y = asinh(a).   VJP: g / sqrt(a ** 2 + 1).   Shapes: elementwise.   Saves: a.   PyTorch: torch.asinh
    """

    saves = ("self",)
    forward = np.arcsinh

    def vjp(self, g, x):
        return g * both.rsqrt(x**2 + 1)


@unary("acosh")
class AcoshBackward0(Rule):
    """Inverse hyperbolic cosine.

    Math: y = acosh(a).   VJP: g / sqrt(a ** 2 - 1).   Shapes: elementwise.   Saves: a.   PyTorch: torch.acosh
    """

    saves = ("self",)
    forward = np.arccosh

    def vjp(self, g, x):
        return g * both.rsqrt(x * x - 1)


@unary("atanh")
class AtanhBackward0(Rule):
    """Inverse hyperbolic tangent.

    Math: y = atanh(a).   VJP: g / (1 - a ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.atanh
    """

    saves = ("self",)
    forward = np.arctanh

    def vjp(self, g, x):
        return g / (1 - x**2)


@unary("tanh")
class TanhBackward0(Rule):
    """Hyperbolic tangent.

    Math: y = tanh(a).   VJP: g * (1 - y ** 2).   Shapes: elementwise.   Saves: the result.   PyTorch: torch.tanh
    """

    saves = ("result",)
    forward = np.tanh

    def vjp(self, g, y):
        return both.run(TanhBackwardBackward0, (g, y))


class TanhBackwardBackward0(Rule):
    """The VJP of tanh as an operation: h = g * (1 - y ** 2).

    VJP: to g: gg * (1 - y ** 2);  to y: gg * g * -2 * y.   Shapes: elementwise.   Saves: g, y.
    """

    op = "tanh_backward"
    inputs = saves = ("grad_output", "result")

    def forward(g, y):
        return g * (1 - y * y)

    def vjp(self, gg, g, y):
        return both.run(TanhBackwardBackward0, (gg, y)), gg * (-2 * y * g)


@unary("sigmoid")
class SigmoidBackward0(Rule):
    """Logistic function.

    Math: y = 1 / (1 + exp(-a)).   VJP: g * y * (1 - y).   Shapes: elementwise.   Saves: the result.   PyTorch: torch.sigmoid
    """

    saves = ("result",)
    forward = numerics.sigmoid

    def vjp(self, g, y):
        return both.run(SigmoidBackwardBackward0, (g, y))


class SigmoidBackwardBackward0(Rule):
    """The VJP of sigmoid as an operation: h = g * y * (1 - y).

    VJP: to g: gg * y * (1 - y);  to y: gg * g * (1 - 2 * y).   Shapes: elementwise.   Saves: g, y.
    """

    op = "sigmoid_backward"
    inputs = saves = ("grad_output", "output")

    def forward(g, y):
        return g * (1 - y) * y

    def vjp(self, gg, g, y):
        return both.run(SigmoidBackwardBackward0, (gg, y)), gg * g * (-2 * y + 1)


@unary("sinc")
class SincBackward0(Rule):
    """sin(pi a) / (pi a), 1 at 0.

    Math: y = sin(pi a) / (pi a).   VJP: g * (pi a cos(pi a) - sin(pi a)) / (pi a ** 2), 0 at 0.
    Shapes: elementwise.   Saves: a.   PyTorch: torch.sinc
    """

    saves = ("self",)

    def forward(x):
        t = math.pi * x
        return np.where(x == 0, x.dtype.type(1), np.sin(t) / t)

    def vjp(self, g, x):
        t = x * math.pi
        return both.masked(g * ((t * both.cos(t) - both.sin(t)) / (t * x)), both.array_of(x) != 0)


@unary("deg2rad")
class Deg2RadBackward0(Rule):
    """Degrees to radians.

    Math: y = a * pi / 180.   VJP: g * pi / 180.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.deg2rad
    """

    def forward(x):
        return x * (math.pi / 180)

    def vjp(self, g):
        return g * (math.pi / 180)


@unary("rad2deg")
class Rad2DegBackward0(Rule):
    """Radians to degrees.

    Math: y = a * 180 / pi.   VJP: g * 180 / pi.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.rad2deg
    """

    def forward(x):
        return x * (180 / math.pi)

    def vjp(self, g):
        return g * (180 / math.pi)


# -- special functions --------------------------------------------------------------------------------


@unary("erf")
class ErfBackward0(Rule):
    """Error function.

    Math: y = 2 / sqrt(pi) * integral of exp(-t ** 2) from 0 to a.   VJP: g * 2 / sqrt(pi) * exp(-a ** 2).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.erf
    """

    saves = ("self",)
    forward = numerics.erf

    def vjp(self, g, x):
        return 2 / math.sqrt(math.pi) * both.exp(-(x**2)) * g


@unary("erfc")
class ErfcBackward0(Rule):
    """Complementary error function.

    Math: y = 1 - erf(a).   VJP: -g * 2 / sqrt(pi) * exp(-a ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.erfc
    """

    saves = ("self",)
    forward = numerics.erfc

    def vjp(self, g, x):
        return -2 / math.sqrt(math.pi) * both.exp(-(x**2)) * g


@unary("erfinv")
class ErfinvBackward0(Rule):
    """Inverse of the error function.

    Math: erf(y) = a.   VJP: g * sqrt(pi) / 2 * exp(y ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.erfinv
    """

    saves = ("self",)
    forward = numerics.erfinv

    def vjp(self, g, x):
        return 0.5 * math.sqrt(math.pi) * both.exp(both.erfinv(x) ** 2) * g


@unary("lgamma")
class LgammaBackward0(Rule):
    """Logarithm of |gamma|.

    Math: y = log |gamma(a)|.   VJP: g * digamma(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.lgamma
    """

    saves = ("self",)
    forward = numerics.lgamma

    def vjp(self, g, x):
        return g * both.digamma(x)


@unary("digamma")
class DigammaBackward0(Rule):
    """Derivative of lgamma.

    Math: y = digamma(a).   VJP: g * polygamma(1, a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.digamma
    """

    saves = ("self",)
    forward = numerics.digamma

    def vjp(self, g, x):
        return g * both.run(PolygammaBackward0, (x,), 1)


class PolygammaBackward0(Rule):
    """n-th derivative of digamma.

    Math: y = polygamma(n, a).   VJP: g * polygamma(n + 1, a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.polygamma
    """

    op = "polygamma"
    saves = ("self",)
    keeps = ("n",)

    def forward(x, n):
        return numerics.polygamma(as_float(x), n)

    def vjp(self, g, x):
        return g * both.run(PolygammaBackward0, (x,), self.args[0] + 1)


@function(method=False)
def polygamma(n, input):
    """The n-th derivative of digamma (torch.polygamma)."""
    return apply(PolygammaBackward0, (input,), n)


@method(name="polygamma")
def _polygamma_method(self, n):
    return polygamma(n, self)


@unary("i0")
class I0Backward0(Rule):
    """Modified Bessel function of order 0.

    Math: y = I0(a).   VJP: g * I1(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.i0
    """

    saves = ("self",)

    def forward(x):
        return numerics.bessel(x, 0)

    def vjp(self, g, x):
        return g * both.run(SpecialI1Backward0, (x,))


class SpecialI1Backward0(Rule):
    """Modified Bessel function of order 1.

    Math: y = I1(a).   VJP: g * (I0(a) - y / a), g / 2 at 0.   Shapes: elementwise.   Saves: a and the result.
    PyTorch: torch.special.i1
    """

    op = "special_i1"
    saves = ("self", "result")

    def forward(x):
        return numerics.bessel(as_float(x), 1)

    def vjp(self, g, x, y):
        zero = both.array_of(x) == 0
        return g * both.where(zero, 0.5, both.run(I0Backward0, (x,)) - y / both.where(zero, 1, x))


# -- sign and rounding --------------------------------------------------------------------------------


@unary("abs", integer=True)
class AbsBackward0(Rule):
    """Absolute value.

    Math: y = |a|.   VJP: g * sign(a), 0 at 0.   Shapes: elementwise.   Saves: a.   PyTorch: torch.abs
    """

    saves = ("self",)

    def forward(x):
        return np.abs(no_bools(x, "abs_cpu"))

    def vjp(self, g, x):
        return g * both.sign(x)


class Flat(Rule):
    """A function of steps: its gradient is zero.

    VJP: 0.   Shapes: elementwise.   Saves: nothing.
    """

    def vjp(self, g):
        return both.zeros_like(g)


@unary("sign", integer=True)
class SignBackward0(Flat):
    """Sign.

    Math: y = -1, 0 or 1.   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.sign
    """

    forward = numerics.sign


class SgnBackward0(Flat):
    """Sign, as PyTorch generalizes it to complex numbers.

    Math: y = -1, 0 or 1.   VJP: 0.   Shapes: elementwise.   Saves: a and the result, as PyTorch does.   PyTorch: torch.sgn
    """

    op = "sgn"
    saves = ("self", "result")
    forward = numerics.sign

    def vjp(self, g, *_):
        return both.zeros_like(g)


@function
def sgn(input):
    """-1, 0 or 1 (torch.sgn)."""
    return apply(SgnBackward0, (input,))


@method
def sgn_(self):
    """The in-place form of `sgn`."""
    return apply_inplace(SgnBackward0, (self,))


@unary("floor", integer=True)
class FloorBackward0(Flat):
    """Rounding down.

    Math: y = largest whole number <= a.   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.floor
    """

    def forward(x):
        return np.floor(no_bools(x, "floor_vml_cpu"))


@unary("ceil", integer=True)
class CeilBackward0(Flat):
    """Rounding up.

    Math: y = smallest whole number >= a.   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.ceil
    """

    def forward(x):
        return np.ceil(no_bools(x, "ceil_vml_cpu"))


@unary("trunc", integer=True)
class TruncBackward0(Flat):
    """Rounding towards zero.

    Math: y = a without its fraction.   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.trunc
    """

    def forward(x):
        return np.trunc(no_bools(x, "trunc_vml_cpu"))


@unary("round", integer=True)
class RoundBackward0(Flat):
    """Rounding to the nearest whole number, halves to the even one.

    Math: y = round(a).   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.round
    """

    def forward(x):
        return np.round(no_bools(x, "round_vml_cpu"))


class RoundBackward1(Flat):
    """Rounding to a number of decimals.

    Math: y = round(a * 10 ** d) / 10 ** d.   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.round(decimals=d)
    """

    op = "round"

    def forward(x, decimals):
        scale = 10.0 ** abs(decimals)
        return np.round(x * scale) / scale if decimals > 0 else np.round(x / scale) * scale


_round = FUNCTIONS["round"]


@function
def round(input, *, decimals=0):
    """`input` rounded to `decimals` places, halves to even (torch.round)."""
    return apply(RoundBackward1, (input,), decimals) if decimals else _round(input)


@unary("frac", integer=True)
class FracBackward0(Rule):
    """Fractional part.

    Math: y = a - trunc(a).   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.frac
    """

    def forward(x):
        if x.dtype.kind != "f":
            raise not_for(x, "frac_cpu")
        return x - np.trunc(x)

    def vjp(self, g):
        return g


class NanToNumBackward0(Rule):
    """Numbers in place of nan and the infinities.

    Math: y = a, or the stand-in where a is not finite.   VJP: g where a is finite.
    Shapes: elementwise.   Saves: a.   PyTorch: torch.nan_to_num
    """

    op = "nan_to_num"
    saves = ("self",)

    def forward(x, nan, posinf, neginf):
        if x.dtype.kind != "f":
            return x.copy()
        limits = np.finfo(x.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        return np.nan_to_num(x, copy=True, nan=nan or 0.0, posinf=high, neginf=low)

    def vjp(self, g, x):
        return both.masked(g, np.isfinite(both.array_of(x)))


@function
def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """`input` with nan, inf and -inf replaced by finite numbers (torch.nan_to_num)."""
    return apply(NanToNumBackward0, (input,), nan, posinf, neginf)


@method
def nan_to_num_(self, nan=0.0, posinf=None, neginf=None):
    """The in-place form of `nan_to_num`."""
    return apply_inplace(NanToNumBackward0, (self,), nan, posinf, neginf)


class LogitBackward0(Rule):
    """Inverse of the sigmoid, of `a` clamped to [eps, 1 - eps] if eps is given.

    Math: y = log(a / (1 - a)).   VJP: g / (a * (1 - a)), 0 where clamped.   Shapes: elementwise.   Saves: a.   PyTorch: torch.logit
    """

    op = "logit"
    saves = ("self",)
    keeps = ("eps",)

    def forward(x, eps):
        x = as_float(x)
        z = x if eps is None else np.clip(x, eps, 1 - eps)
        return np.log(z / (1 - z))

    def vjp(self, g, x):
        eps, z = self.args[0], both.array_of(x)
        inside = (z >= (eps or 0)) & (z <= 1 - (eps or 0))
        to_x = g / (x * (1 - x))
        return both.where(inside, to_x, math.nan) if eps is None else both.masked(to_x, inside)


@function
def logit(input, eps=None):
    """log(input / (1 - input)), of `input` clamped to [eps, 1 - eps] if eps is given (torch.logit)."""
    return apply(LogitBackward0, (input,), eps)


@method
def logit_(self, eps=None):
    """The in-place form of `logit`."""
    return apply_inplace(LogitBackward0, (self,), eps)


@function
def square(input):
    """`input` times itself (torch.square), recorded as a power."""
    return pow(input, 2)


@method
def square_(self):
    """The in-place form of `square`."""
    return METHODS["pow_"](self, 2)


@function
def positive(input):
    """`input` itself (torch.positive)."""
    if input._data.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# -- clamping and choosing ----------------------------------------------------------------------------


class ClampBackward1(Rule):
    """Limits that are numbers.

    Math: y = min(max(a, low), high).   VJP: g where low <= a <= high, the limits included.
    Shapes: elementwise.   Saves: a.   PyTorch: torch.clamp
    """

    op = "clamp"
    saves = ("self",)
    keeps = ("min", "max")

    def forward(x, low, high):
        for limit, choose in ((low, np.maximum), (high, np.minimum)):
            if limit is not None:
                x, limit = number_operand(x, limit, False)
                x = choose(x, limit)
        return x

    def vjp(self, g, x):
        low, high = self.args
        x = both.array_of(x)
        inside = True if low is None else x >= low
        return both.masked(g, inside if high is None else inside & (x <= high))


class ClampMinBackward0(ClampBackward1):
    """A lower limit that is a number.

    Math: y = max(a, low).   VJP: g where a >= low.   Shapes: elementwise.   Saves: a.   PyTorch: torch.clamp_min
    """

    op = "clamp_min"
    keeps = ("min",)

    def forward(x, low):
        return ClampBackward1.forward(x, low, None)

    def vjp(self, g, x):
        return both.masked(g, both.array_of(x) >= self.args[0])


class ClampMaxBackward0(ClampBackward1):
    """An upper limit that is a number.

    Math: y = min(a, high).   VJP: g where a <= high.   Shapes: elementwise.   Saves: a.   PyTorch: torch.clamp_max
    """

    op = "clamp_max"
    keeps = ("max",)

    def forward(x, high):
        return ClampBackward1.forward(x, None, high)

    def vjp(self, g, x):
        return both.masked(g, both.array_of(x) <= self.args[0])


class ClampBackward0(Rule):
    """Limits that are tensors.

    Math: y = min(max(a, low), high).   VJP: to a: g where low <= a <= high;  to low: g where a < low < high;
    to high: g where a > high or high < low.   Shapes: broadcast.   Saves: a, low, high.   PyTorch: torch.clamp
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

    Math: y = max(a, low).   VJP: to a: g where a >= low;  to low: g where a < low.
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

    Math: y = min(a, high).   VJP: to a: g where a <= high;  to high: g where a > high.
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
    """The rule and the operands that clamp `input` to tensors; of integers, which have no infinity, one limit may be missing."""
    low, high = (None if limit is None else tensor_of(limit, input) for limit in (min, max))
    if input._data.dtype.kind == "f":
        low = tensor_of(-math.inf, input) if low is None else low
        high = tensor_of(math.inf, input) if high is None else high
    elif low is None:
        return ClampMaxBackward1, (input, high)
    elif high is None:
        return ClampMinBackward1, (input, low)
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

    Math: y = a where the condition holds, else b.   VJP: to a: g where it holds, exactly 0 elsewhere;  to b: the rest.
    Shapes: all three broadcast.   Saves: the condition.   PyTorch: torch.where
    """

    op = "where"
    inputs = ("self", "other", "condition")
    operands = 2
    saves = ("condition",)
    forward = np.where

    def vjp(self, g, condition):
        condition = both.array_of(condition)
        to_b = both.masked(g, ~condition) if self.needs(1) else None
        return both.masked(g, condition) if self.needs(0) else None, to_b


@function(method=False)
def where(condition, input=None, other=None):
    """`input` where `condition` holds, `other` elsewhere; with the condition alone, the places where it is not 0 (torch.where)."""
    if input is None and other is None:
        return tuple([wrap(places) for places in np.nonzero(np.atleast_1d(condition._data))])
    if condition._data.dtype.kind != "b":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.type_name}"
        )
    a = tensor_of(input, other if isinstance(other, Variable) else None)
    b = tensor_of(other, input if isinstance(input, Variable) else None)
    c, x, y = condition._data, a._data, b._data
    meeting = common_type([x, y])
    state = THREAD.state
    try:
        out = wrap(np.where(c, x, y).astype(meeting, copy=False))
    except ValueError:
        raise broadcast_error([c, x, y]) from None
    node = None
    edges = edges_of((a, b))
    if state.grad and wanted(edges):
        node = make_node(WhereBackward0, edges, (), (condition,))
        node.fold = (x.shape, x.dtype), (y.shape, y.dtype)
        out._edge = (node, 0)
    if state.special:
        finish(state, WhereBackward0, (a, b, condition), (out,), node, ())
    return out


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


def floats_only(x, name):
    """The array `x`, which must be of floats."""
    if x.dtype.kind != "f":
        raise not_for(x, name)
    return x


def _to_winner(g, tie, loses):
    return both.masked(both.where(tie, g / 2, g), ~loses)


@pair("maximum", inplace=False)
class MaximumBackward0(Rule):
    """The larger of two.

    Math: y = max(a, b).   VJP: g to the larger, half to each at a tie.   Shapes: broadcast.   Saves: a, b.   PyTorch: torch.maximum
    """

    inputs = saves = ("self", "other")
    forward = np.maximum

    def vjp(self, g, a, b):
        a, b = both.array_of(a), both.array_of(b)
        return _to_winner(g, a == b, a < b), _to_winner(g, a == b, a > b)


@pair("minimum", inplace=False)
class MinimumBackward0(Rule):
    """The smaller of two.

    Math: y = min(a, b).   VJP: g to the smaller, half to each at a tie.   Shapes: broadcast.   Saves: a, b.   PyTorch: torch.minimum
    """

    inputs = saves = ("self", "other")
    forward = np.minimum

    def vjp(self, g, a, b):
        a, b = both.array_of(a), both.array_of(b)
        return _to_winner(g, a == b, a > b), _to_winner(g, a == b, a < b)


@pair("fmax", inplace=False)
class FmaxBackward0(Rule):
    """The larger of two, where a number wins over nan.

    Math: y = fmax(a, b).   VJP: to a: g where a >= b or b is nan;  to b: the rest.   Shapes: broadcast.   Saves: a, b.
    PyTorch: torch.fmax
    """

    inputs = saves = ("self", "other")
    forward = np.fmax

    def vjp(self, g, a, b):
        a, b = both.array_of(a), both.array_of(b)
        first = (a >= b) | np.isnan(b)
        return both.masked(g, first), both.masked(g, ~first)


@pair("fmin", inplace=False)
class FminBackward0(Rule):
    """The smaller of two, where a number wins over nan.

    Math: y = fmin(a, b).   VJP: to a: g where a <= b or b is nan;  to b: the rest.   Shapes: broadcast.   Saves: a, b.
    PyTorch: torch.fmin
    """

    inputs = saves = ("self", "other")
    forward = np.fmin

    def vjp(self, g, a, b):
        a, b = both.array_of(a), both.array_of(b)
        first = (a <= b) | np.isnan(b)
        return both.masked(g, first), both.masked(g, ~first)


@pair("atan2", floats=True)
class Atan2Backward0(Rule):
    """The angle of the point (b, a).

    Math: y = atan2(a, b).   VJP: to a: g * b / (a ** 2 + b ** 2);  to b: -g * a / (a ** 2 + b ** 2).
    Shapes: broadcast.   Saves: a, b.   PyTorch: torch.atan2
    """

    inputs = saves = ("self", "other")
    forward = np.arctan2

    def vjp(self, g, a, b):
        square = a * a + b * b
        weight = both.masked(1 / square, both.array_of(square) != 0)
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
        return None if a is None else g * (a / y), None if b is None else g * (b / y)


class RemainderBackward0(Rule):
    """The remainder of a division by a number, with the sign of the divisor.

    Math: y = a - floor(a / c) * c.   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.remainder
    """

    op = "remainder"

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

    Math: y = a - trunc(a / c) * c.   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.fmod
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
    return np.remainder(x, y)


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


class NoDerivative(Rule, name="NotImplemented"):
    """An operation PyTorch has no derivative for: it can be computed, but backward through it is an error."""

    keeps = ("what",)

    def name(self):
        return "torch::autograd::NotImplemented"

    def vjp(self, g):
        raise RuntimeError(f"derivative for aten::{self.args[0]} is not implemented")


class FloorDivide(NoDerivative, name="NotImplemented"):
    """A quotient rounded down, in place."""

    op = "floor_divide"
    inputs = ("self", "other")

    def forward(x, y, _):
        return _floor_quotient(x, y)


def underived(op, inputs, data):
    """The result of an operation without a derivative: an error waits behind it if an operand requires grad."""
    out = wrap(data)
    state = THREAD.state
    node = None
    if state.grad and data.dtype.kind == "f":
        edges = tuple([edge for edge in edges_of(inputs) if edge[0] is not None])
        if edges:
            node = make_node(NoDerivative, edges, (op,))
            out._edge = (node, 0)
    if state.special:
        finish(state, NoDerivative, inputs, (out,), node, (op,))
    return out


def _floor_quotient(x, y):
    no_bools(x, "div_floor_cpu")
    _no_zero_division(x, y)
    return np.floor_divide(x, y)


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
    """The in-place form of `floor_divide`, on tensors that do not require grad."""
    return pointwise_inplace(FloorDivide, (self, tensor_of(other, self)), "floor_divide_")


def run_numpy(fn, *arrays):
    """`fn` of some arrays without NumPy's warnings, and with PyTorch's error if they do not broadcast."""
    try:
        return THREAD.state.run(fn, *arrays)
    except ValueError:
        raise broadcast_error(arrays) from None


class DivBackward2(Rule):
    """A quotient that is rounded.

    Math: y = floor(a / b) or trunc(a / b).   VJP: 0.   Shapes: broadcast.   Saves: b, and a if b wants a gradient.   PyTorch: torch.div
    """

    op = "div"
    inputs = saves = ("self", "other")
    saves_if = {"self": (1,)}
    keeps = ("rounding_mode",)

    def forward(a, b, rounding_mode):
        if rounding_mode == "floor":
            return _floor_quotient(a, b)
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
    return pointwise_inplace(DivBackward2, (self, tensor_of(other, self)), rounding_mode)


def _check_mode(mode):
    if mode not in ("trunc", "floor"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'")


class XlogyBackward0(Rule):
    """a * log(b), 0 where a is 0.

    VJP: to a: g * log(b), 0 where a = 0 and b <= 0;  to b: g * a / b.   Shapes: broadcast.   Saves: a, b.   PyTorch: torch.xlogy
    """

    op = "xlogy"
    inputs = saves = ("self", "other")
    saves_if = {"self": (0, 1)}

    def forward(a, b):
        return numerics.xlogy(a, b)

    def vjp(self, g, a, b):
        to_a = None
        if self.needs(0):
            log = xlogy(g, b) if isinstance(g, Variable) else numerics.xlogy(g, b)
            to_a = both.masked(log, ~((both.array_of(a) == 0) & (both.array_of(b) <= 0)))
        return to_a, g * a / b if self.needs(1) else None


class XlogyBackward1(Rule):
    """c * log(a) for a number c.

    VJP: g * c / a.   Shapes: elementwise.   Saves: a.   PyTorch: torch.xlogy
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

    VJP: g * log(c), 0 where a = 0 and c <= 0.   Shapes: elementwise.   Saves: a.   PyTorch: torch.xlogy
    """

    op = "xlogy"
    saves = ("self",)
    keeps = ("other",)

    def forward(a, number):
        a = as_float(a)
        return numerics.xlogy(a, a.dtype.type(number))

    def vjp(self, g, a):
        c = self.args[0]
        slope = g * float(np.log(np.float64(c)))
        return slope if c > 0 else both.masked(slope, both.array_of(a) != 0)


@function
def xlogy(input, other):
    """input * log(other), 0 where `input` is 0 (torch.xlogy)."""
    if not isinstance(input, Variable):
        return apply(XlogyBackward1, (other,), input)
    if not isinstance(other, Variable):
        return apply(XlogyBackward2, (input,), other)
    return pointwise(XlogyBackward0, (input, other), floats=True)


@method
def xlogy_(self, other):
    """The in-place form of `xlogy`."""
    return pointwise_inplace(XlogyBackward0, (self, tensor_of(other, self)), floats=True)


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
        return g / (1 + both.exp(b - a)), g / (1 + both.exp(a - b))


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
        return g / (1 + 2 ** (b - a)), g / (1 + 2 ** (a - b))


@pair("ldexp", floats=True)
class LdexpBackward0(Rule):
    """Multiplication by a power of two.

    Math: y = a * 2 ** b.   VJP: to a: g * 2 ** b;  to b: g * y * log(2).
    Shapes: broadcast.   Saves: b if a wants a gradient, and the result.   PyTorch: torch.ldexp
    """

    inputs = ("self", "other")
    saves = ("other", "result")
    saves_if = {"other": (0,), "result": (1,)}

    def forward(a, b):
        return a * np.exp2(b)

    def vjp(self, g, b, y):
        return g * 2**b if self.needs(0) else None, g * y * math.log(2) if self.needs(1) else None


class CopysignBackward0(Rule):
    """The size of one with the sign of another.

    Math: y = |a| with the sign of b.   VJP: to a: g * y / a, 0 at 0;  to b: 0.   Shapes: broadcast.
    Saves: a and the result.   PyTorch: torch.copysign
    """

    op = "copysign"
    inputs = ("self", "other")
    saves = ("self", "result")
    saves_if = {"self": (0,)}
    forward = np.copysign

    def vjp(self, g, a, y):
        return _copysign_vjp(g, a, y) if self.needs(0) else None, both.zeros_like(g)


class CopysignBackward1(Rule):
    """The size of a tensor with the sign of a number.

    VJP: g * y / a, 0 at 0.   Shapes: elementwise.   Saves: a and the result.   PyTorch: torch.copysign
    """

    op = "copysign"
    saves = ("self", "result")

    def forward(a, number):
        return np.copysign(as_float(a), number)

    def vjp(self, g, a, y):
        return _copysign_vjp(g, a, y)


def _copysign_vjp(g, a, y):
    return g * both.masked(y / a, both.array_of(a) != 0)


@function
def copysign(input, other):
    """|input| with the sign of `other` (torch.copysign)."""
    if isinstance(other, Variable):
        return pointwise(CopysignBackward0, (input, other), floats=True)
    return apply(CopysignBackward1, (input,), other)


@method
def copysign_(self, other):
    """The in-place form of `copysign`."""
    return pointwise_inplace(CopysignBackward0, (self, tensor_of(other, self)), floats=True)


@function
def heaviside(input, values):
    """0 below zero, 1 above, `values` at zero (torch.heaviside), for which PyTorch has no derivative."""
    if not isinstance(values, Variable):
        raise TypeError(f"heaviside(): argument 'values' (position 2) must be Tensor, not {type(values).__name__}")
    if input._data.dtype is not values._data.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return underived("heaviside", (input, values), run_numpy(np.heaviside, input._data, values._data).astype(input._data.dtype))


class Heaviside(NoDerivative, name="NotImplemented"):
    """A step, in place."""

    op = "heaviside"
    inputs = ("self", "values")

    def forward(x, values, _):
        return np.heaviside(x, values).astype(x.dtype)


@method
def heaviside_(self, values):
    """The in-place form of `heaviside`."""
    if self._data.dtype is not values._data.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return pointwise_inplace(Heaviside, (self, values), "heaviside_")


@function
def float_power(input, exponent):
    """`input` to the power of `exponent`, computed in float64 (torch.float_power)."""
    wide = [v.to(float64) if isinstance(v, Variable) else float(v) for v in (input, exponent)]
    return pow(*wide)


@method
def float_power_(self, exponent):
    """The in-place form of `float_power`, for float64 only."""
    if self.dtype is not float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.type_name} but the operation's result requires dtype Double"
        )
    return METHODS["pow_"](self, exponent)


@pair("nextafter")
class NextafterBackward0(Rule):
    """The next floating-point number after a, towards b.

    VJP: to a: g where a and b differ;  to b: g where they are equal.   Shapes: broadcast.   Saves: a, b if b wants a gradient.
    PyTorch: torch.nextafter
    """

    inputs = saves = ("self", "other")
    saves_if = {"self": (0, 1), "other": (0, 1)}

    def forward(a, b):
        return np.nextafter(floats_only(a, "nextafter_cpu"), b)

    def vjp(self, g, a, b):
        same = both.array_of(a) == both.array_of(b)
        return both.masked(g, ~same), both.masked(g, same)


# -- three at a time ----------------------------------------------------------------------------------


class LerpBackward0(Rule):
    """A point between two, the place given by a number.

    Math: y = a + w * (b - a).   VJP: to a: g * (1 - w);  to b: g * w.   Shapes: broadcast.   Saves: nothing.   PyTorch: torch.lerp
    """

    op = "lerp"
    inputs = ("self", "end")
    keeps = ("weight",)

    def forward(a, b, w):
        return _between(a, b, w)

    def vjp(self, g):
        w = self.args[0]
        return g * (1 - w), g * w


class LerpBackward1(Rule):
    """A point between two, the place given by a tensor.

    Math: y = a + w * (b - a).   VJP: to a: g * (1 - w);  to b: g * w;  to w: g * (b - a).
    Shapes: broadcast.   Saves: w, and a and b if w wants a gradient.   PyTorch: torch.lerp
    """

    op = "lerp"
    inputs = saves = ("self", "end", "weight")
    saves_if = {"self": (2,), "end": (2,), "weight": (0, 1)}

    def forward(a, b, w):
        return _between(a, b, w)

    def vjp(self, g, a, b, w):
        to_a, to_b = g * (1 - w) if self.needs(0) else None, g * w if self.needs(1) else None
        return to_a, to_b, g * (b - a) if self.needs(2) else None


def _between(a, b, w):
    floats_only(a, "lerp_kernel_scalar")
    # From the nearer end, so that w = 0 and w = 1 give the ends exactly.
    return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)).astype(a.dtype, copy=False)


def _same_type(input, **others):
    for name, t in others.items():
        if isinstance(t, Variable) and t._data.dtype is not input._data.dtype:
            have, want = t._data.dtype.name, input._data.dtype.name
            names = {"float32": "float", "float64": "double", "int64": "long int", "float16": "c10::Half"}
            raise RuntimeError(f"expected dtype {names.get(want, want)} for `{name}` but got dtype {names.get(have, have)}")


@function
def lerp(input, end, weight):
    """The point between `input` and `end` at `weight`, a number or a tensor (torch.lerp)."""
    _same_type(input, end=end, weight=weight)
    if isinstance(weight, Variable):
        return pointwise(LerpBackward1, (input, end, weight))
    return pointwise(LerpBackward0, (input, end), weight)


@method
def lerp_(self, end, weight):
    """The in-place form of `lerp`."""
    if isinstance(weight, Variable):
        return pointwise_inplace(LerpBackward1, (self, end, weight))
    return pointwise_inplace(LerpBackward0, (self, end), weight)


class AddcmulBackward0(Rule):
    """A product added to a tensor.

    Math: y = a + v * b * c.   VJP: to a: g;  to b: g * c * v;  to c: g * b * v.   Shapes: broadcast.
    Saves: each factor that the other's gradient needs.   PyTorch: torch.addcmul
    """

    op = "addcmul"
    inputs = ("self", "tensor1", "tensor2")
    saves = ("tensor1", "tensor2")
    saves_if = {"tensor1": (2,), "tensor2": (1,)}
    keeps = ("value",)

    def forward(a, b, c, value):
        return a + a.dtype.type(value) * b * c

    def vjp(self, g, b, c):
        v = self.args[0]
        return g, None if c is None else g * (c * v), None if b is None else g * (b * v)


class AddcdivBackward0(Rule):
    """A quotient added to a tensor.

    Math: y = a + v * b / c.   VJP: to a: g;  to b: g * v / c;  to c: -g * v * b / c ** 2.   Shapes: broadcast.
    Saves: c, and b if c wants a gradient.   PyTorch: torch.addcdiv
    """

    op = "addcdiv"
    inputs = ("self", "tensor1", "tensor2")
    saves = ("tensor1", "tensor2")
    saves_if = {"tensor1": (2,), "tensor2": (1, 2)}
    keeps = ("value",)

    def forward(a, b, c, value):
        if b.dtype.kind != "f":
            raise RuntimeError(
                "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
                "true division of tensor1 and tensor2."
            )
        return a + a.dtype.type(value) * b / c

    def vjp(self, g, b, c):
        v = self.args[0]
        return g, g * (v / c) if self.needs(1) else None, -g * (v * b / (c * c)) if self.needs(2) else None


def _with_value(op, rule):
    def call(input, tensor1, tensor2, *, value=1):
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


def _reflected(fn):
    """`number op tensor`: the number becomes a tensor."""

    def call(self, other):
        if not isinstance(other, (int, float, np.generic)):
            return NotImplemented
        return fn(tensor_of(other, self), self)

    return call


def _number_remainder(input, other):
    return underived("remainder", (input, other), run_numpy(_remainder, *_quotient_operands(input, other)[2:]))


METHODS.update(
    __abs__=METHODS["abs"],
    __pos__=positive,
    __mod__=METHODS["remainder"],
    __rmod__=_reflected(_number_remainder),
    __imod__=METHODS["remainder_"],
    __floordiv__=floor_divide,
    __rfloordiv__=_reflected(floor_divide),
    __ifloordiv__=floor_divide_,
)

for alias, name in {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh", "arctan2": "atan2", "clip": "clamp", "divide": "div", "fix": "trunc", "true_divide": "div",
}.items():  # fmt: skip
    FUNCTIONS[alias] = METHODS[alias] = FUNCTIONS[name]
    if name + "_" in METHODS:
        METHODS[alias + "_"] = METHODS[name + "_"]
