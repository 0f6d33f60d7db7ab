"""Activation functions, with the kinks in the same places as PyTorch's.

Under create_graph, PyTorch records many of their gradients as operations of their own (such as ThresholdBackwardBackward0). These are rules
here too, so that a graph of second derivatives has the same nodes.
"""

import math

import numpy as np

from ...core.rules.pointwise import ReluBackward0
from ...core.seams import extend
from ..autograd.errors import TYPE_NAMES
from ..autograd.metadata import sum_to
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import wrap
from ..dtypes import number_as
from ..layout import rows
from ..random import rng_of
from . import array_or_tensor as both
from . import numerics
from .general import GeneralRule, gradients
from .pointwise import SigmoidBackwardBackward0
from .rule import Rule, floats_only, function, in_place_of, no_bools, pointwise, publish_in_place


class Gate(Rule):
    """The VJP of a piecewise linear function: each gradient is multiplied by the slope of its piece.

    Math: h = g * slope(a).   VJP: to g: gg * slope(a);  to a: 0.   Shapes: elementwise.   Saves: a.
    """

    inputs = ("grad_output", "self")
    saves = ("self",)

    def vjp(self, gg, x):
        return both.run(type(self), (gg, x), *self.args), both.zeros_like(x)


_BITS = {size: np.dtype(f"i{size}") for size in (2, 4, 8)}
_ZERO = {np.dtype(t): np.zeros((), t) for t in ("f2", "f4", "f8")}  # a Python number is slower in NumPy


class ThresholdBackwardBackward0(Gate):
    """The VJP of relu and threshold as an operation: h = g where a > t, else 0.

    Math: y = where(b > threshold, a, 0).   VJP: to a: where(b > threshold, g, 0); to b: 0.
    """

    op = "threshold_backward"
    keeps = ("threshold",)

    def forward(g, x, threshold):
        # np.where is slow on large arrays; multiplying the bits by 1 or 0 is exact, for inf and nan too.
        return (g.view(_BITS[g.itemsize]) * ~(x <= threshold)).view(g.dtype)


def _rectified(x):
    zero = _ZERO.get(x.dtype)
    if zero is None:
        if x.dtype.kind == "b":
            raise RuntimeError("Boolean inputs not supported for relu")
        zero = 0
    return np.maximum(x, zero)


extend(ReluBackward0, integer=True)
ReluBackward0.forward = staticmethod(_rectified)
publish_in_place("relu", in_place_of(ReluBackward0))


class ThresholdBackward0(Rule):
    """A constant in place of what is not above a threshold.

    Math: y = where(a > threshold, a, value).   VJP: where(a > threshold, g, 0).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.threshold
    """

    op = "threshold"
    saves = ("self",)
    keeps = ("threshold",)

    def forward(x, threshold, value):
        return np.where(x <= threshold, x.dtype.type(value), x)

    def vjp(self, g, x):
        return both.run(ThresholdBackwardBackward0, (g, x), self.args[0])


class ThresholdBackward1(ThresholdBackward0):
    """The same in place. PyTorch: torch.threshold_."""


@function(method=False)
def threshold(input, threshold, value):
    """`input` where it is above `threshold`, else `value` (torch.threshold)."""
    no_bools(input._data, "threshold_cpu")
    return apply(ThresholdBackward0, (input,), *_in_its_type(input, threshold, value))


def _in_its_type(input, *numbers):
    """Numbers converted for an integer tensor: truncated, -1 becomes 255 in a byte."""
    kind = input._data.dtype
    return numbers if kind.kind == "f" else tuple([number_as(n, kind).item() for n in numbers])


@function(method=False, name="threshold_")
def threshold_(input, threshold, value):
    """The in-place form of `threshold`."""
    no_bools(input._data, "threshold_cpu")
    return apply_inplace(ThresholdBackward1, (input,), *_in_its_type(input, threshold, value))


class LeakyReluBackwardBackward0(Gate):
    """The VJP of leaky_relu as an operation: h = g where a > 0, else slope * g.

    Math: y = where(b > 0, a, a * negative_slope).   VJP: to a: where(b > 0, g, g * negative_slope); to b: 0.
    """

    op = "leaky_relu_backward"
    keeps = ("negative_slope",)

    def forward(g, x, slope, *_):
        return np.where(x > 0, g, g * slope)


class LeakyReluBackward0(Rule):
    """Rectifier that lets a little through.

    Math: y = where(a > 0, a, a * negative_slope).   VJP: where(a > 0, g, g * negative_slope).
    Shapes: elementwise.   Saves: a. PyTorch: torch.nn.functional.leaky_relu
    """

    op = "leaky_relu"
    saves = ("self",)
    keeps = ("negative_slope",)

    def forward(x, slope):
        floats_only(x, "leaky_relu_cpu")
        return np.where(x > 0, x, x * slope)

    def vjp(self, g, x):
        return both.run(LeakyReluBackwardBackward0, (g, x), *self.args)


class LeakyReluBackward1(LeakyReluBackward0):
    """The same in place: the sign of the result tells which piece it was. Saves: the result. PyTorch: leaky_relu_."""

    saves = ("result",)

    def vjp(self, g, x):
        if self.args[0] < 0:
            raise RuntimeError(_NEGATIVE_SLOPE)
        return super().vjp(g, x)


_NEGATIVE_SLOPE = (
    "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is caused by calling "
    "in-place forward function with a negative slope, please call out-of-place version instead."
)


def leaky_relu(input, negative_slope=0.01):
    """`input` where positive, else negative_slope * input (torch.nn.functional.leaky_relu)."""
    return apply(LeakyReluBackward0, (input,), negative_slope)


def leaky_relu_(input, negative_slope=0.01):
    """The in-place form of `leaky_relu`."""
    return apply_inplace(LeakyReluBackward1, (input,), negative_slope)


class HardtanhBackwardBackward0(Gate):
    """The VJP of hardtanh as an operation: h = g strictly between the limits, else 0.

    Math: y = where(min_val < b < max_val, a, 0).   VJP: to a: where(min_val < b < max_val, g, 0); to b: 0.
    """

    op = "hardtanh_backward"
    keeps = ("min_val", "max_val")

    def forward(g, x, low, high):
        return np.where((x <= low) | (x >= high), g.dtype.type(0), g)


class HardtanhBackward0(Rule):
    """Limits at which the gradient already is zero.

    Math: y = clamp(a, min_val, max_val).   VJP: where(min_val < a < max_val, g, 0).
    Shapes: elementwise.   Saves: a. PyTorch: torch.nn.functional.hardtanh (and relu6)
    """

    op = "hardtanh"
    saves = ("self",)
    keeps = ("min_val", "max_val")

    def forward(x, low, high):
        if x.dtype.kind == "b":
            raise RuntimeError("Bool inputs not supported for hardtanh")
        return np.clip(x, x.dtype.type(low), x.dtype.type(high))

    def vjp(self, g, x):
        return both.run(HardtanhBackwardBackward0, (g, x), *self.args)


def _in_order(low, high):
    if low > high:
        raise ValueError("min_val cannot be greater than max_val")


def _check_limits(input, min_val, max_val):
    _in_order(min_val, max_val)
    if input._data.dtype.kind == "u" and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")


def hardtanh(input, min_val=-1.0, max_val=1.0):
    """`input` limited to [min_val, max_val] (torch.nn.functional.hardtanh)."""
    _check_limits(input, min_val, max_val)
    return apply(HardtanhBackward0, (input,), min_val, max_val)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """The in-place form of `hardtanh`."""
    _check_limits(input, min_val, max_val)
    return apply_inplace(HardtanhBackward0, (input,), min_val, max_val)


def relu6(input):
    """`input` limited to [0, 6] (torch.nn.functional.relu6)."""
    return hardtanh(input, 0, 6)


class HardsigmoidBackwardBackward0(Gate):
    """The VJP of hardsigmoid as an operation: h = g / 6 where -3 < a < 3, else 0.

    Math: y = where(-3 < b < 3, a / 6, 0).   VJP: to a: where(-3 < b < 3, g / 6, 0); to b: 0.
    """

    op = "hardsigmoid_backward"

    def forward(g, x):
        return np.where((x > -3) & (x < 3), g / 6, g.dtype.type(0))


class HardsigmoidBackward0(Rule):
    """A sigmoid made of three straight lines.

    Math: y = clamp(a + 3, 0, 6) / 6.   VJP: where(-3 < a < 3, g / 6, 0).
    Shapes: elementwise.   Saves: a. PyTorch: torch.nn.functional.hardsigmoid
    """

    op = "hardsigmoid"
    saves = ("self",)

    def forward(x):
        return np.clip(floats_only(x, "hardsigmoid_cpu") + 3, 0, 6) / 6

    def vjp(self, g, x):
        return both.run(HardsigmoidBackwardBackward0, (g, x))


def hardsigmoid(input):
    """min(max(input + 3, 0), 6) / 6 (torch.nn.functional.hardsigmoid)."""
    return apply(HardsigmoidBackward0, (input,))


def hardsigmoid_(input):
    """The in-place form of `hardsigmoid`."""
    return apply_inplace(HardsigmoidBackward0, (input,))


class HardswishBackwardBackward0(Rule):
    """The VJP of hardswish as an operation: h = g * (0, a / 3 + 1 / 2, or 1).

    Math: y = where(b <= -3, 0, where(b < 3, a * (b / 3 + 0.5), a)).   VJP: to a: where(b <= -3, 0, where(b < 3, g *
    (b / 3 + 0.5), g)); to b: where(-3 < b < 3, g * a / 3, 0).
    Shapes: elementwise.   Saves: g, a.
    """

    op = "hardswish_backward"
    inputs = saves = ("grad_output", "self")

    def forward(g, x):
        return np.where(x <= -3, g.dtype.type(0), np.where(x < 3, g * (x / 3 + 0.5), g))

    def vjp(self, gg, g, x):
        z = both.array_of(x)
        return both.run(type(self), (gg, x)), both.masked(gg * g / 3, (z > -3) & (z < 3))


class HardswishBackward0(Rule):
    """a times its hard sigmoid.

    Math: y = a * clamp(a + 3, 0, 6) / 6.   VJP: where(a <= -3, 0, where(a < 3, g * (a / 3 + 0.5), g)).
    Shapes: elementwise.   Saves: a. PyTorch: torch.nn.functional.hardswish
    """

    op = "hardswish"
    saves = ("self",)

    def forward(x):
        return floats_only(x, "hardswish_cpu") * np.clip(x + 3, 0, 6) / 6

    def vjp(self, g, x):
        return both.run(HardswishBackwardBackward0, (g, x))


def hardswish(input):
    """Input * hardsigmoid(input) (torch.nn.functional.hardswish)."""
    return apply(HardswishBackward0, (input,))


def hardswish_(input):
    """The in-place form of `hardswish`."""
    return apply_inplace(HardswishBackward0, (input,))


class HardshrinkBackwardBackward0(Gate):
    """The VJP of hardshrink as an operation: h = g where |a| > lambda, else 0.

    Math: y = where(abs(b) > lambd, a, 0).   VJP: to a: where(abs(b) > lambd, g, 0); to b: 0.
    """

    op = "hardshrink_backward"
    keeps = ("lambd",)

    def forward(g, x, lambd):
        return np.where((x >= -lambd) & (x <= lambd), g.dtype.type(0), g)


class HardshrinkBackward0(Rule):
    """Zero in place of what is small.

    Math: y = where(abs(a) > lambd, a, 0).   VJP: where(abs(a) > lambd, g, 0).
    Shapes: elementwise.   Saves: a. PyTorch: torch.hardshrink
    """

    op = "hardshrink"
    saves = ("self",)
    keeps = ("lambd",)

    def forward(x, lambd):
        floats_only(x, "hardshrink_cpu")
        return np.where((x >= -lambd) & (x <= lambd), x.dtype.type(0), x)

    def vjp(self, g, x):
        return both.run(HardshrinkBackwardBackward0, (g, x), *self.args)


@function
def hardshrink(input, lambd=0.5):
    """`input`, 0 where |input| <= lambd (torch.hardshrink)."""
    return apply(HardshrinkBackward0, (input,), lambd)


class SoftshrinkBackwardBackward0(HardshrinkBackwardBackward0):
    """The VJP of softshrink as an operation: h = g where |a| > lambda, else 0.

    Math: y = where(abs(b) > lambd, a, 0).   VJP: to a: where(abs(b) > lambd, g, 0); to b: 0.
    """

    op = "softshrink_backward"


class SoftshrinkBackward0(Rule):
    """What is small is zero, the rest moves towards zero.

    Math: y = where(abs(a) > lambd, a - lambd * sign(a), 0).   VJP: where(abs(a) > lambd, g, 0).
    Shapes: elementwise. Saves: a. PyTorch: torch.nn.functional.softshrink
    """

    op = "softshrink"
    saves = ("self",)
    keeps = ("lambd",)

    def forward(x, lambd):
        floats_only(x, "softshrink_cpu")
        return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))

    def vjp(self, g, x):
        return both.run(SoftshrinkBackwardBackward0, (g, x), *self.args)


def softshrink(input, lambd=0.5):
    """`input` moved by lambd towards 0, where it stays (torch.nn.functional.softshrink)."""
    dtype = floats_only(input._data, "softshrink_check").dtype
    if not 0 <= lambd <= np.finfo(dtype).max:
        raise RuntimeError(
            f"lambda must be in range [0, {np.finfo(dtype).max:g}] for input dtype {TYPE_NAMES[dtype.name]}, but found {lambd:g}"
        )
    return apply(SoftshrinkBackward0, (input,), lambd)


class RreluWithNoiseBackwardBackward0(Rule):
    """The VJP of rrelu as an operation: h = g * noise, or the mean slope's in evaluation.

    Math: y = a * c if training else where(b > 0, a, a * (lower + upper) / 2).   VJP: to a: g * c if training else
    where(b > 0, g, g * (lower + upper) / 2); to b: 0.
    Shapes: elementwise.   Saves: a and the noise.
    """

    op = "rrelu_with_noise_backward"
    inputs = ("grad_output", "self", "noise")
    operands = 2
    saves = ("self", "noise")
    keeps = ("lower", "upper", "training")

    def forward(g, x, noise, lower, upper, training):
        return g * noise if training else np.where(x > 0, g, g * ((lower + upper) / 2))

    def vjp(self, gg, x, noise):
        return both.run(type(self), (gg, x, noise), *self.args), both.zeros_like(x)


class RreluWithNoiseBackward0(Rule):
    """A leaky rectifier with a random slope for each element; in evaluation, the mean slope.

    Math: y = a * noise if training else where(a > 0, a, a * (lower + upper) / 2).   VJP: g * noise if training else
    where(a > 0, g, g * (lower + upper) / 2).   The noise is 1 above zero, and below it a number between lower and
    upper.
    Shapes: elementwise.   Saves: a and the noise (r, or 1 where a > 0).   PyTorch: torch.rrelu
    """

    op = "rrelu_with_noise"
    inputs = saves = ("self", "noise")
    operands = 1
    keeps = ("lower", "upper", "training")

    def forward(x, noise, lower, upper, training):
        return x * noise if training else np.where(x > 0, x, x * ((lower + upper) / 2))

    def vjp(self, g, x, noise):
        return both.run(RreluWithNoiseBackwardBackward0, (g, x, noise), *self.args)


class RreluWithNoiseBackward1(RreluWithNoiseBackward0):
    """The same in place. Saves: the result and the noise."""

    saves = ("noise", "result")

    def vjp(self, g, noise, y):
        lower, upper, training = self.args
        if not training and lower + upper < 0:
            raise RuntimeError(_NEGATIVE_SLOPE)
        return both.run(RreluWithNoiseBackwardBackward0, (g, y, noise), *self.args)


def _rrelu_noise(input, lower, upper, training):
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    x = floats_only(input._data, "rrelu_with_noise_out_cpu")
    if not training:
        return wrap(np.zeros(x.shape, x.dtype))
    noise = np.ones(x.shape, x.dtype)
    noise[x <= 0] = rng_of().uniform(lower, upper, (int((x <= 0).sum()),))
    return wrap(noise)


@function(method=False)
def rrelu(input, lower=1 / 8, upper=1 / 3, training=False):
    """leaky_relu with a random slope for each element in training, with the mean slope in evaluation (torch.rrelu)."""
    noise = _rrelu_noise(input, lower, upper, training)
    return apply(RreluWithNoiseBackward0, (input, noise), lower, upper, training)


@function(method=False, name="rrelu_")
def rrelu_(input, lower=1 / 8, upper=1 / 3, training=False):
    """The in-place form of `rrelu`."""
    noise = _rrelu_noise(input, lower, upper, training)
    return apply_inplace(RreluWithNoiseBackward1, (input, noise), lower, upper, training)


# -- smooth ones --------------------------------------------------------------------------------------


class EluBackwardBackward0(Rule):
    """The VJP of elu as an operation: h = g * scale, or g * scale * alpha * c * exp(c * a) where a <= 0.

    Math: y = a * slope; slope = where(b <= 0, input_scale * (b + alpha * scale) if is_result else input_scale * alpha
    * scale * exp(b * input_scale), scale).   VJP: to a: g * slope; to b: where(b < 0, g * a * input_scale if
    is_result else g * a * input_scale * slope, 0); slope = where(b <= 0, input_scale * (b + alpha * scale) if
    is_result else input_scale * alpha * scale * exp(b * input_scale), scale).
    Shapes: elementwise.   Saves: g, a.
    """

    op = "elu_backward"
    inputs = ("grad_output", "self_or_result")
    saves = ("grad_output", "self_or_result")
    keeps = ("alpha", "scale", "input_scale", "is_result")

    def forward(g, x, alpha, scale, input_scale, is_result):
        if is_result:
            return np.where(x <= 0, g * input_scale * (x + alpha * scale), g * scale)
        return np.where(x <= 0, g * (input_scale * alpha * scale) * np.exp(x * input_scale), g * scale)

    def vjp(self, gg, g, x):
        _, _, input_scale, is_result = self.args
        bend = gg * g * input_scale
        if not is_result:
            bend = both.run(type(self), (bend, x), *self.args)
        return both.run(type(self), (gg, x), *self.args), bend * both.indicator(both.array_of(x) < 0, x)


class EluBackward0(Rule):
    """Exponential below zero, straight above.

    Math: y = scale * where(a > 0, a, alpha * (exp(a * input_scale) - 1)).   VJP: g * scale * where(a > 0, 1, alpha *
    input_scale * exp(a * input_scale)).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.nn.functional.elu (and selu)
    """

    op = "elu"
    saves = ("self",)
    keeps = ("alpha", "scale", "input_scale")

    def forward(x, alpha, scale, input_scale):
        floats_only(x, "elu_cpu")
        return np.where(x <= 0, np.expm1(x * input_scale) * (alpha * scale), x * scale)

    def vjp(self, g, x):
        return both.run(EluBackwardBackward0, (g, x), *self.args, False)


class EluBackward1(EluBackward0):
    """The same in place, told from the result: below zero the slope is c * (y + alpha * scale). Saves: the result."""

    saves = ("result",)

    def vjp(self, g, y):
        _check_slope(self.args[0])
        return both.run(EluBackwardBackward0, (g, y), *self.args, True)


def _check_slope(alpha):
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused by "
            "calling in-place forward function with a negative slope, please call out-of-place version instead."
        )


class CeluBackward0(EluBackward0):
    """Elu whose slope is 1 on both sides of zero: y = a, or alpha * (exp(a / alpha) - 1).

    Math: y = where(a > 0, a, alpha * (exp(a / alpha) - 1)).   VJP: where(a > 0, g, g * exp(a / alpha)).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.celu
    """

    op = "celu"
    keeps = ("alpha",)

    def forward(x, alpha):
        return EluBackward0.forward(x, alpha, 1, 1 / alpha)

    def vjp(self, g, x):
        alpha = self.args[0]
        return both.run(EluBackwardBackward0, (g, x), alpha, 1, 1 / alpha, False)


class CeluBackward1(CeluBackward0):
    """The same in place. Saves: the result."""

    saves = ("result",)

    def vjp(self, g, y):
        alpha = self.args[0]
        _check_slope(alpha)
        return both.run(EluBackwardBackward0, (g, y), alpha, 1, 1 / alpha, True)


SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
"""alpha and scale of selu, which keep mean 0 and variance 1 from layer to layer."""


def elu(input, alpha=1.0):
    """`input`, or alpha * (exp(input) - 1) below zero (torch.nn.functional.elu)."""
    return apply(EluBackward0, (input,), alpha, 1, 1)


def elu_(input, alpha=1):
    """The in-place form of `elu`."""
    return apply_inplace(EluBackward1, (input,), alpha, 1, 1)


@function(method=False)
def selu(input):
    """A scaled elu (torch.selu)."""
    return apply(EluBackward0, (input,), *SELU, 1)


@function(method=False, name="selu_")
def selu_(input):
    """The in-place form of `selu`."""
    return apply_inplace(EluBackward1, (input,), *SELU, 1)


def _check_alpha(alpha):
    if not alpha:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")


@function(method=False)
def celu(input, alpha=1.0):
    """An elu without a corner at zero (torch.celu)."""
    _check_alpha(alpha)
    return apply(CeluBackward0, (input,), alpha)


@function(method=False, name="celu_")
def celu_(input, alpha=1.0):
    """The in-place form of `celu`."""
    _check_alpha(alpha)
    return apply_inplace(CeluBackward1, (input,), alpha)


class GeluBackwardBackward0(Rule):
    """The VJP of gelu as an operation: h = g * gelu'(a).

    Math: y = a * (Phi(b) + b * phi(b)) if approximate == 'none' else a * ((1 + t) / 2 + b / 2 * (1 - t ** 2) * du); t
    = tanh(sqrt(2 / pi) * (b + 0.044715 * b ** 3)); du = sqrt(2 / pi) * (1 + 3 * 0.044715 * b ** 2).   VJP: to a: g *
    (Phi(b) + b * phi(b)) if approximate == 'none' else g * ((1 + t) / 2 + b / 2 * (1 - t ** 2) * du); to b: g * a *
    phi(b) * (2 - b ** 2) if approximate == 'none' else g * a * (1 - t ** 2) * (du - b * t * du ** 2 + 3 * 0.044715 *
    sqrt(2 / pi) * b ** 2); t = tanh(sqrt(2 / pi) * (b + 0.044715 * b ** 3)); du = sqrt(2 / pi) * (1 + 3 * 0.044715 *
    b ** 2).
    Shapes: elementwise.   Saves: g, a.
    """

    op = "gelu_backward"
    inputs = saves = ("grad_output", "self")
    keeps = ("approximate",)

    def forward(g, x, approximate):
        return g * _gelu_slope(x, approximate)

    def vjp(self, gg, g, x):
        approximate = self.args[0]
        if approximate == "none":
            square = x * x
            density = both.exp(square * -0.5) * (1 / math.sqrt(2 * math.pi))
            bend = density * 2 - square * density
        else:
            _, du, t = _gelu_inside(x)
            s = 1 - t * t
            bend = s * du - x * t * s * du * du + 0.5 * x * s * (_GELU[0] * _GELU[1] * 6) * x
        return both.run(type(self), (gg, x), approximate), gg * g * bend


class GeluBackward0(Rule):
    """Gaussian error linear unit: a times the chance that a normal number is below it.

    Math: y = a * Phi(a) if approximate == 'none' else a * (1 + t) / 2; t = tanh(sqrt(2 / pi) * (a + 0.044715 * a **
    3)).   VJP: g * (Phi(a) + a * phi(a)) if approximate == 'none' else g * ((1 + t) / 2 + a / 2 * (1 - t ** 2) * du);
    t = tanh(sqrt(2 / pi) * (a + 0.044715 * a ** 3)); du = sqrt(2 / pi) * (1 + 3 * 0.044715 * a ** 2).
    Shapes: elementwise.   Saves: a.   PyTorch: torch.nn.functional.gelu
    """

    op = "gelu"
    saves = ("self",)
    keeps = ("approximate",)

    def forward(x, approximate):
        floats_only(x, "GeluKernelImpl")
        if approximate == "none":
            return x * 0.5 * (1 + numerics.erf(x * math.sqrt(0.5)))
        return 0.5 * x * (1 + _gelu_inside(x)[2])

    def vjp(self, g, x):
        return both.run(GeluBackwardBackward0, (g, x), *self.args)


_GELU = math.sqrt(2 / math.pi), 0.044715


def _gelu_inside(x):
    """u, du/dx and tanh(u) in the tanh approximation."""
    k, c = _GELU
    u = k * (x + c * x * x * x)
    return u, k * (1 + 3 * c * x * x), both.tanh(u)


def _gelu_slope(x, approximate):
    if approximate == "none":
        return 0.5 * (1 + both.erf(x * math.sqrt(0.5))) + x * both.exp(x * x / -2) / math.sqrt(2 * math.pi)
    _, du, t = _gelu_inside(x)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du


def gelu(input, *, approximate="none"):
    """`input` times its normal distribution function; approximate: "none" or "tanh" (torch.nn.functional.gelu)."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return apply(GeluBackward0, (input,), approximate)


class SiluBackward0(Rule):
    """a times its sigmoid.

    Math: y = a * sigmoid(a).   VJP: g * s * (1 + a * (1 - s)); s = sigmoid(a).
    Shapes: elementwise.   Saves: a. PyTorch: torch.nn.functional.silu
    """

    op = "silu"
    saves = ("self",)

    def forward(x):
        return floats_only(x, "silu_cpu") / (1 + np.exp(-x))

    def vjp(self, g, x):
        s = both.sigmoid(x)
        slope = 1 + x * (1 - s)
        return g * s * slope


def silu(input):
    """Input * sigmoid(input) (torch.nn.functional.silu)."""
    return apply(SiluBackward0, (input,))


def silu_(input):
    """The in-place form of `silu`."""
    return apply_inplace(SiluBackward0, (input,))


class MishBackward0(Rule):
    """a times the tanh of its softplus.

    Math: y = a * tanh(log(1 + exp(a))).   VJP: g * (t + a * sigmoid(a) * (1 - t ** 2)); t = tanh(log(1 + exp(a))).
    Shapes: elementwise. Saves: a.   PyTorch: torch.nn.functional.mish
    """

    op = "mish"
    saves = ("self",)

    def forward(x):
        return floats_only(x, "mish_cpu") * np.tanh(np.logaddexp(x, x.dtype.type(0)))

    def vjp(self, g, x):
        t = both.tanh(both.softplus(x))
        return g * (t + x * both.sigmoid(x) * (1 - t * t))


def mish(input):
    """Input * tanh(softplus(input)) (torch.nn.functional.mish)."""
    return apply(MishBackward0, (input,))


def mish_(input):
    """The in-place form of `mish`."""
    return apply_inplace(MishBackward0, (input,))


class SoftplusBackwardBackward0(Rule):
    """The VJP of softplus as an operation: h = g * sigmoid(beta * a), or g beyond the threshold.

    Math: y = where(beta * b > threshold, a, a * sigmoid(beta * b)).   VJP: to a: where(beta * b > threshold, g, g *
    sigmoid(beta * b)); to b: where(beta * b < threshold, g * a * beta * s * (1 - s), 0); s = sigmoid(beta * b).
    Shapes: elementwise. Saves: g, a.
    """

    op = "softplus_backward"
    inputs = saves = ("grad_output", "self")
    keeps = ("beta", "threshold")

    def forward(g, x, beta, threshold):
        return np.where(x * beta > threshold, g, g * numerics.sigmoid(x * beta))

    def vjp(self, gg, g, x):
        beta, threshold = self.args
        scaled = x * beta
        bend = both.run(SigmoidBackwardBackward0, (gg * g, both.sigmoid(scaled)))
        curved = both.indicator(both.array_of(scaled) < threshold, x)
        return both.run(type(self), (gg, x), beta, threshold), bend * curved * beta


class SoftplusBackward0(Rule):
    """A smooth rectifier.

    Math: y = where(beta * a > threshold, a, log(1 + exp(beta * a)) / beta).   VJP: where(beta * a > threshold, g, g *
    sigmoid(beta * a)).
    Shapes: elementwise. Saves: a.   PyTorch: torch.nn.functional.softplus
    """

    op = "softplus"
    saves = ("self",)
    keeps = ("beta", "threshold")

    def forward(x, beta, threshold):
        floats_only(x, "softplus_cpu")
        return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)

    def vjp(self, g, x):
        return both.run(SoftplusBackwardBackward0, (g, x), *self.args)


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * input)) / beta (torch.nn.functional.softplus)."""
    return apply(SoftplusBackward0, (input,), beta, threshold)


class LogSigmoidBackwardBackward0(Rule):
    """The VJP of logsigmoid as an operation: h = g * sigmoid(-a).

    Math: y = a * sigmoid(-b).   VJP: to a: g * sigmoid(-b); to b: -g * a * s * (1 - s); s = sigmoid(b).
    Shapes: elementwise.   Saves: g, a.
    """

    op = "log_sigmoid_backward"
    inputs = saves = ("grad_output", "self")

    def forward(g, x):
        return g * numerics.sigmoid(-x)

    def vjp(self, gg, g, x):
        s = both.sigmoid(x)
        return both.run(type(self), (gg, x)), gg * g * (s - 1) * s


class LogSigmoidBackward0(Rule):
    """Logarithm of the sigmoid, exact far out.

    Math: y = minimum(a, 0) - log(1 + exp(-abs(a))).   VJP: g * sigmoid(-a).
    Shapes: elementwise. Saves: a, and the buffer z. PyTorch: torch.nn.functional.logsigmoid
    """

    layout = rows
    op = "log_sigmoid_forward"
    inputs = saves = ("self", "buffer")
    operands = 1

    def forward(x, z):
        return np.minimum(x, x.dtype.type(0)) - np.log1p(z)

    def vjp(self, g, x, _):
        return both.run(LogSigmoidBackwardBackward0, (g, x))

    def packing_order(self, count):
        return range(count)  # PyTorch's buffer is a result


def logsigmoid(input):
    """log(sigmoid(input)) (torch.nn.functional.logsigmoid)."""
    x = floats_only(input._data, "log_sigmoid_cpu")
    return apply(LogSigmoidBackward0, (input, wrap(np.exp(-np.abs(x)))))


# -- with more than one operand, or made of others ----------------------------------------------------


class PreluKernelBackward0(Rule):
    """A leaky rectifier whose slope is learned.

    Math: y = where(a > 0, a, weight * a).   VJP: to a: where(a > 0, g, g * weight); to weight: where(a > 0, 0, g *
    a).
    Shapes: w broadcasts.   Saves: a, w.   PyTorch: torch.prelu
    """

    op = "_prelu_kernel"
    inputs = saves = ("self", "weight")

    def forward(x, w):
        return np.where(x > 0, x, w * x)

    def vjp(self, g, x, w):
        return gradients(PreluKernelBackwardBackward0, (self.needs(0), self.needs(1)), (g, x, w))


class PreluKernelBackwardBackward0(GeneralRule):
    """The VJP of prelu as an operation of two results: (g, or g * w where a <= 0;  g * a where a <= 0).

    Math: y0 = where(b > 0, a, a * c); y1 = where(b > 0, 0, a * b).   VJP: to a: where(b >= 0, g0, g0 * c + g1 * b);
    to b: where(b >= 0, 0, g1 * a); to c: where(b >= 0, 0, g0 * a).

    VJP from h and k, the gradients of these: to g: h, or h * w + k * a where a < 0;  to a: k * g and to w: h * g, where a < 0.
    Shapes: w broadcasts.   Saves: g, a, w.
    """

    op = "_prelu_kernel_backward"
    inputs = saves = ("grad_output", "self", "weight")
    plain = False

    def forward(g, x, w, _wanted):
        positive = x > 0
        return np.where(positive, g, g * w), np.where(positive, g.dtype.type(0), g * x)

    def vjp(self, grads, g, x, w):
        h, k = grads
        positive = both.array_of(x) >= 0  # here PyTorch treats 0 as positive, unlike in the operation
        to_g = to_x = to_w = None
        if h is not None:
            to_g, to_w = both.where(positive, h, h * w), both.where(positive, 0, h * g)
            to_w = to_w if to_w.shape == w.shape else sum_to(to_w, w.shape)
        if k is not None:
            to_g = both.plus(to_g, both.where(positive, 0, k * x))
            to_x = both.where(positive, 0, g * k)
            to_w = both.zeros_like(w) if to_w is None else to_w
        elif h is not None:
            to_x = both.zeros_like(x)
        return to_g, to_x, to_w


@function
def prelu(input, weight):
    """`input` where positive, else weight * input, with one weight or one for each channel (torch.prelu)."""
    if weight._data.dtype is not input._data.dtype:
        kinds = [TYPE_NAMES[t._data.dtype.name] for t in (input, weight)]
        raise RuntimeError("prelu: Type promoting not supported. Got {} and {}".format(*kinds))
    n, channels = weight._data.size, input._data.shape[1] if input._data.ndim > 1 else 1
    if n != 1:
        if not input._data.ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if n != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {n} and channel size = "
                f"{channels}."
            )
    if weight._data.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._data.ndim}"
        )
    floats_only(input._data, "prelu_cpu")
    shape = [1] * input._data.ndim
    if n != 1:
        shape[1] = n
    elif len(shape) > 1:
        shape[1] = 1
    if list(weight._data.shape) != shape:
        weight = weight.reshape(shape)
    return pointwise(PreluKernelBackward0, (input, weight))


class GluBackward0(Rule):
    """Gated linear unit: one half of a tensor gates the other.

    Math: y = chunk(a, 2, dim)[0] * sigmoid(chunk(a, 2, dim)[1]).   VJP: cat([g * s, g * first * s * (1 - s)], dim);
    first = chunk(a, 2, dim)[0]; s = sigmoid(chunk(a, 2, dim)[1]).
    Shapes: the dim is halved.   Saves: a.   PyTorch: torch.nn.functional.glu
    """

    op = "glu"
    saves = ("self",)
    keeps = ("dim",)

    def forward(x, dim):
        half = x.shape[dim] // 2
        dim = dim % x.ndim
        return both.slice_of(x, dim, 0, half) * numerics.sigmoid(both.slice_of(x, dim, half, None))

    def vjp(self, g, x):
        return both.run(GluBackwardBackward0, (g, x), *self.args)


class GluBackwardBackward0(Rule):
    """The VJP of glu as an operation: h1 = g * s, h2 = g * a1 * s * (1 - s).

    Math: y = cat([a * s, a * first * s * (1 - s)], dim); first = chunk(b, 2, dim)[0]; s = sigmoid(chunk(b, 2,
    dim)[1]).   VJP: to a: g1 * s + g2 * first * ds; to b: cat([g2 * a * ds, g1 * a * ds + g2 * a * first * ds * (1 -
    2 * s)], dim); g1 = chunk(g, 2, dim)[0]; g2 = chunk(g, 2, dim)[1]; first = chunk(b, 2, dim)[0]; s =
    sigmoid(chunk(b, 2, dim)[1]); ds = s * (1 - s).
    Shapes: g is half of a.   Saves: g, a.
    """

    op = "glu_backward"
    inputs = saves = ("grad_output", "self")
    keeps = ("dim",)

    def forward(g, x, dim):
        first, s = _gated(x, dim)
        return both.cat([g * s, g * first * s * (1 - s)], dim)

    def vjp(self, gg, g, x):
        (dim,) = self.args
        first, s = _gated(x, dim)
        one, two = _halves(gg, dim)
        slope = s * (1 - s)
        to_g = one * s + two * first * slope
        to_first = two * g * slope
        return to_g, both.cat([to_first, one * g * slope + to_first * first * (1 - 2 * s)], dim)


def _halves(x, dim):
    dim = dim % len(x.shape)
    half = x.shape[dim] // 2
    return both.slice_of(x, dim, 0, half), both.slice_of(x, dim, half, None)


def _gated(x, dim):
    """The first half of `x`, and the sigmoid of the second."""
    first, second = _halves(x, dim)
    return first, both.sigmoid(second)


def glu(input, dim=-1):
    """The first half of `input` along `dim` times the sigmoid of the second (torch.nn.functional.glu)."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if not -len(shape) <= dim < len(shape):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], but got {dim})"
        )
    if shape[dim] % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % len(shape)} is size {shape[dim]}"
        )
    floats_only(input._data, "glu_cpu")
    return apply(GluBackward0, (input,), dim)


def softsign(input):
    """Input / (1 + |input|) (torch.nn.functional.softsign)."""
    return input / (input.abs() + 1)


def tanhshrink(input):
    """Input - tanh(input) (torch.nn.functional.tanhshrink)."""
    return input - input.tanh()
