"""Rules that work on each element of one tensor: exponentials, trigonometry, special functions, rounding."""

import math

import numpy as np

from ...core.rules.pointwise import ExpBackward0, LogBackward0, SigmoidBackward0, TanhBackward0
from .. import return_types
from ..autograd.errors import TYPE_NAMES
from ..autograd.record import apply, apply_inplace
from ..layout import elementwise
from . import array_or_tensor as both
from . import numerics
from .arithmetic import pow
from .rule import (
    FUNCTIONS,
    METHODS,
    Rule,
    as_float,
    floats_only,
    function,
    in_place_of,
    method,
    no_bools,
    publish_in_place,
    unary,
)

for _rule in (ExpBackward0, LogBackward0, TanhBackward0, SigmoidBackward0):
    publish_in_place(_rule.op, in_place_of(_rule))

# -- exponentials and logarithms ----------------------------------------------------------------------


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

    Math: y = sqrt(a).   VJP: g / (2 * y).   That is inf at 0.
    Shapes: elementwise.   Saves: the result. PyTorch: torch.sqrt
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
        return g * (1 + y**2)


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


@unary("asinh", inplace=False)
class AsinhBackward0(Rule):
    """Inverse hyperbolic sine.

    Math: y = asinh(a).   VJP: g / sqrt(a ** 2 + 1).   Shapes: elementwise.   Saves: a.   PyTorch: torch.asinh
    """

    saves = ("self",)
    forward = np.arcsinh

    def vjp(self, g, x):
        return g * both.rsqrt(x**2 + 1)


@unary("acosh", inplace=False)
class AcoshBackward0(Rule):
    """Inverse hyperbolic cosine.

    Math: y = acosh(a).   VJP: g / sqrt(a ** 2 - 1).   Shapes: elementwise.   Saves: a.   PyTorch: torch.acosh
    """

    saves = ("self",)
    forward = np.arccosh

    def vjp(self, g, x):
        return g * both.rsqrt(x * x - 1)


@unary("atanh", inplace=False)
class AtanhBackward0(Rule):
    """Inverse hyperbolic tangent.

    Math: y = atanh(a).   VJP: g / (1 - a ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.atanh
    """

    saves = ("self",)
    forward = np.arctanh

    def vjp(self, g, x):
        return g * 1 / (1 - x**2)


class AsinhBackward1(AsinhBackward0):
    """The in-place form of AsinhBackward0, of which PyTorch has no derivative.

    Math: y = asinh(a).   VJP: nothing.   NotImplementedError is raised.
    Saves: nothing.   PyTorch: Tensor.asinh_
    """

    saves = ()

    def vjp(self, g):
        raise NotImplementedError(f"the derivative for 'inplace version of {self.op}' is not implemented.")


class AcoshBackward1(AsinhBackward1):
    """The same for acosh.

    Math: y = acosh(a).   VJP: nothing.   NotImplementedError is raised.
    Saves: nothing.   PyTorch: Tensor.acosh_
    """

    op = "acosh"
    forward = np.arccosh


class AtanhBackward1(AsinhBackward1):
    """The same for atanh.

    Math: y = atanh(a).   VJP: nothing.   NotImplementedError is raised.
    Saves: nothing.   PyTorch: Tensor.atanh_
    """

    op = "atanh"
    forward = np.arctanh


for _rule in (AsinhBackward1, AcoshBackward1, AtanhBackward1):
    publish_in_place(_rule.op, in_place_of(_rule))


class TanhBackwardBackward0(Rule):
    """The VJP of tanh as an operation: h = g * (1 - y ** 2).

    Math: y = a * (1 - b ** 2).   VJP: to a: g * (1 - b ** 2); to b: g * a * (-2 * b).
    Shapes: elementwise.   Saves: g, y.
    """

    op = "tanh_backward"
    inputs = saves = ("grad_output", "result")

    def forward(g, y):
        return g * (1 - y * y)

    def vjp(self, gg, g, y):
        return both.run(TanhBackwardBackward0, (gg, y)), gg * (-2 * y * g)


class SigmoidBackwardBackward0(Rule):
    """The VJP of sigmoid as an operation: h = g * y * (1 - y).

    Math: y = a * b * (1 - b).   VJP: to a: g * b * (1 - b); to b: g * a * (1 - 2 * b).
    Shapes: elementwise.   Saves: g, y.
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

    Math: y = where(a == 0, 1, sin(pi * a) / (pi * a)).   VJP: where(a == 0, 0, g * (pi * a * cos(pi * a) - sin(pi *
    a)) / (pi * a ** 2)).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.sinc
    """

    saves = ("self",)

    def forward(x):
        t = math.pi * x
        return np.where(x == 0, x.dtype.type(1), np.sin(t) / t)

    def vjp(self, g, x):
        t, square = x * math.pi, x * x * math.pi
        sine = both.sin(t)  # before the cosine, as in PyTorch: it shows in the order of the gradients
        return both.where(both.array_of(square) == 0, 0, g * ((t * both.cos(t) - sine) / square))


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

    Math: y = erf(a).   VJP: g * 2 / sqrt(pi) * exp(-a ** 2).   Shapes: elementwise.   Saves: a.   PyTorch: torch.erf
    """

    saves = ("self",)
    forward = numerics.erf

    def vjp(self, g, x):
        return 2 / math.sqrt(math.pi) * both.exp(-(x**2)) * g


@unary("erfc")
class ErfcBackward0(Rule):
    """Complementary error function.

    Math: y = 1 - erf(a).   VJP: -g * 2 / sqrt(pi) * exp(-a ** 2).   Shapes: elementwise.   Saves: a.
    PyTorch: torch.erfc
    """

    saves = ("self",)
    forward = numerics.erfc

    def vjp(self, g, x):
        return -2 / math.sqrt(math.pi) * both.exp(-(x**2)) * g


@unary("erfinv")
class ErfinvBackward0(Rule):
    """Inverse of the error function.

    Math: y = erfinv(a).   VJP: g * sqrt(pi) / 2 * exp(y ** 2).   Where |a| is not below 1: nan, or inf at 1.
    Shapes: elementwise.   Saves: a.   PyTorch: torch.erfinv
    """

    saves = ("self",)
    forward = numerics.erfinv

    def vjp(self, g, x):
        return 0.5 * math.sqrt(math.pi) * both.exp(both.erfinv(x) ** 2) * g


@unary("lgamma")
class LgammaBackward0(Rule):
    """Logarithm of |gamma|.

    Math: y = lgamma(a).   VJP: g * digamma(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.lgamma
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

    Math: y = polygamma(n, a).   VJP: g * polygamma(n + 1, a).   Shapes: elementwise.   Saves: a.
    PyTorch: torch.polygamma
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
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return apply(PolygammaBackward0, (input,), n)


@method(name="polygamma")
def _polygamma_method(self, n):
    return polygamma(n, self)


class PolygammaBackward1(PolygammaBackward0):
    """The same in place."""


@method
def polygamma_(self, n):
    """The in-place form of `polygamma`."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return apply_inplace(PolygammaBackward1, (self,), n)


@unary("i0")
class I0Backward0(Rule):
    """Modified Bessel function of order 0.

    Math: y = i0(a).   VJP: g * i1(a).   Shapes: elementwise.   Saves: a.   PyTorch: torch.i0
    """

    saves = ("self",)

    def forward(x):
        return elementwise(numerics.bessel(x, 0), x)

    def vjp(self, g, x):
        return g * both.run(SpecialI1Backward0, (x,))


class SpecialI1Backward0(Rule):
    """Modified Bessel function of order 1.

    Math: y = i1(a).   VJP: where(abs(a) > 1e-15, g * (i0(a) - y / a), g / 2).
    Shapes: elementwise.   Saves: a and the result. PyTorch: torch.special.i1
    """

    op = "special_i1"
    saves = ("self", "result")

    def forward(x):
        return numerics.bessel(as_float(x), 1)

    def vjp(self, g, x, y):
        tiny = float(np.finfo(both.array_of(x).dtype).eps)
        apart = np.abs(both.array_of(x)) > tiny
        x = both.where(apart, x, tiny)
        share = y * both.reciprocal(x)
        return g * both.where(apart, both.run(I0Backward0, (x,)) - share, 0.5)


class SpecialEntrBackward0(Rule):
    """Entropy of a probability.

    Math: y = where(a > 0, -a * log(a), where(a == 0, 0, -inf)).   VJP: -g * (1 + log(a)).
    Shapes: elementwise.   Saves: a. PyTorch: torch.special.entr
    """

    op = "special_entr"
    saves = ("self",)

    def forward(x):
        x = as_float(x)
        return np.where(x < 0, x.dtype.type(-np.inf), -numerics.xlogy(x, np.abs(x)))

    def vjp(self, g, x):
        return g * -(1 + both.log(x))


class SpecialLogNdtrBackward0(Rule):
    """Logarithm of the normal distribution function.

    Math: y = log(Phi(a)).   VJP: g * phi(a) / Phi(a).   Shapes: elementwise.   Saves: a and the result.
    PyTorch: torch.special.log_ndtr
    """

    op = "special_log_ndtr"
    saves = ("self", "result")

    def forward(x):
        return numerics.log_ndtr(as_float(x))

    def vjp(self, g, x, y):
        return g / math.sqrt(2 * math.pi) * both.exp(-(y + x**2 / 2))


class MvlgammaBackward0(Rule):
    """Logarithm of the gamma function of several dimensions.

    Math: y = mvlgamma(a, p).   VJP: g * sum(digamma(unsqueeze(a, -1) - arange(p) / 2), -1).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.mvlgamma
    """

    op = "mvlgamma"
    saves = ("self",)
    keeps = ("p",)

    def forward(x, p):
        x = as_float(x)
        return sum(numerics.lgamma(x - j / 2) for j in range(p)) + p * (p - 1) / 4 * math.log(math.pi)

    def vjp(self, g, x):
        halves = np.arange(1 - self.args[0], 1, dtype=both.array_of(x).dtype) / 2
        args = both.constant(halves, x) + x[..., None]
        slopes = numerics.digamma(args) if isinstance(args, np.ndarray) else args.digamma_()
        return g * both.sum_over(slopes, (-1,))


def _check_dims(p):
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")


@function
def mvlgamma(input, p):
    """The logarithm of the p-dimensional gamma function (torch.mvlgamma)."""
    _check_dims(p)
    return apply(MvlgammaBackward0, (input,), p)


@method
def mvlgamma_(self, p):
    """The in-place form of `mvlgamma`."""
    _check_dims(p)
    if self._data.dtype.kind != "f":
        raise RuntimeError(
            f"mvlgamma: result type {TYPE_NAMES[self._data.dtype.name]} can't be cast to the desired output type Float"
        )
    return apply_inplace(MvlgammaBackward0, (self,), p)


# -- sign and rounding --------------------------------------------------------------------------------


@unary("abs", integer=True)
class AbsBackward0(Rule):
    """Absolute value.

    Math: y = abs(a).   VJP: g * sign(a).   That is 0 at 0.   Shapes: elementwise.   Saves: a.   PyTorch: torch.abs
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

    Math: y = sign(a).   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.sign
    """

    forward = numerics.sign


class SgnBackward0(Flat):
    """Sign, as PyTorch generalizes it to complex numbers.

    Math: y = sign(a).   VJP: 0.
    Shapes: elementwise.   Saves: a and the result, as PyTorch does. PyTorch: torch.sgn
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


def _whole(rounded, x, kernel):
    """`rounded(x)`; integers are whole, and NumPy before 2.1 would make floats of them."""
    return rounded(x) if x.dtype.kind == "f" else no_bools(x, kernel).copy()


@unary("floor", integer=True)
class FloorBackward0(Flat):
    """Rounding down.

    Math: y = floor(a).   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.floor
    """

    def forward(x):
        return _whole(np.floor, x, "floor_vml_cpu")


@unary("ceil", integer=True)
class CeilBackward0(Flat):
    """Rounding up.

    Math: y = ceil(a).   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.ceil
    """

    def forward(x):
        return _whole(np.ceil, x, "ceil_vml_cpu")


@unary("trunc", integer=True)
class TruncBackward0(Flat):
    """Rounding towards zero.

    Math: y = trunc(a).   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.trunc
    """

    def forward(x):
        return _whole(np.trunc, x, "trunc_vml_cpu")


@unary("round", integer=True)
class RoundBackward0(Flat):
    """Rounding to the nearest whole number, halves to the even one.

    Math: y = round(a).   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.round
    """

    def forward(x):
        return np.round(no_bools(x, "round_vml_cpu"))


class RoundBackward1(Flat):
    """Rounding to a number of decimals.

    Math: y = round(a * 10 ** decimals) / 10 ** decimals.   VJP: 0.
    Shapes: elementwise.   Saves: nothing. PyTorch: torch.round(decimals=d)
    """

    op = "round"

    def forward(x, decimals):
        scale = 10.0 ** abs(decimals) if abs(decimals) < 309 else math.inf
        return np.round(x * scale) / scale if decimals > 0 else np.round(x / scale) * scale


_round = FUNCTIONS["round"]


@function
def round(input, *, decimals=None):
    """`input` rounded to `decimals` places, halves to even (torch.round)."""
    if decimals:
        floats_only(input._data, "round_cpu")
    return _round(input) if decimals is None else apply(RoundBackward1, (input,), decimals)


_round_ = METHODS["round_"]


@method
def round_(self, *, decimals=None):
    """The in-place form of `round`."""
    return _round_(self) if decimals is None else apply_inplace(RoundBackward1, (self,), decimals)


FUNCTIONS["round_"] = round_


@unary("frac", integer=True)
class FracBackward0(Rule):
    """Fractional part.

    Math: y = a - trunc(a).   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.frac
    """

    def forward(x):
        floats_only(x, "frac_cpu")
        return x - np.trunc(x)

    def vjp(self, g):
        return g


class NanToNumBackward0(Rule):
    """Numbers in place of nan and the infinities.

    Math: y = nan_to_num(a, nan, posinf, neginf).   VJP: g * isfinite(a).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.nan_to_num
    """

    op = "nan_to_num"
    widens = False
    saves = ("self",)
    widens = False  # what replaces inf is the largest number of the type

    def forward(x, nan, posinf, neginf):
        if x.dtype.kind != "f":
            return x.copy()
        limits = np.finfo(x.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        return np.nan_to_num(x, copy=True, nan=nan or 0.0, posinf=high, neginf=low)

    def vjp(self, g, x):
        finite = np.isfinite(both.array_of(x))
        return g * both.constant(finite, g)


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

    Math: y = log(z / (1 - z)); z = clamp(a, eps, 1 - eps) if eps is not None else a.   VJP: where((a >= eps) and (a
    <= 1 - eps), g / (a * (1 - a)), 0) if eps is not None else where((a >= 0) and (a <= 1), g / (a * (1 - a)), nan).
    Shapes: elementwise.   Saves: a. PyTorch: torch.logit
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


class FrexpBackward0(Rule):
    """A number taken apart: a mantissa from 0.5 up to 1, and a power of two.

    Math: y0 = a / 2 ** y1.   VJP: g0 / 2 ** y1.   The exponent y1 gets none.
    Shapes: elementwise. Saves: e (int32).   PyTorch: torch.frexp
    """

    op = "frexp"
    plain = False
    saves = ("exponent",)
    results = {"exponent": 1}

    def forward(x):
        mantissa, exponent = np.frexp(x)
        return mantissa, np.where(np.isfinite(x), exponent, 0).astype(np.int32)[()]

    def restore(self, i, t):
        return t  # the exponent has no history

    def vjp(self, gs, exponent):
        scale = np.ldexp(1.0, both.array_of(exponent)).astype(both.array_of(gs[0]).dtype)
        return gs[0] / both.constant(scale, gs[0])


@function
def frexp(input):
    """The mantissa and the exponent of each number (torch.frexp); of floating types only."""
    if input._data.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return return_types.frexp(apply(FrexpBackward0, (input,)))
