"""The incomplete gamma functions: the distribution function of gamma numbers, and what it leaves."""

from ..autograd.errors import not_for
from . import array_or_tensor as both
from . import numerics
from .broadcasting import pair
from .rule import RULES, Rule


def _floats(compute, name):
    def forward(a, x):
        if x.dtype.kind != "f":
            raise not_for(x.dtype, name)
        return compute(a, x)

    return forward


@pair("igamma")
class IgammaBackward0(Rule):
    """The probability that a gamma number of concentration a is at most b.

    Math: y = igamma(a, b).
    VJP: to a: nothing; to b: g * b ** (a - 1) * exp(-b) / exp(lgamma(a)). PyTorch has no derivative by a either.
    Shapes: broadcast.   Saves: a, b.   PyTorch: torch.igamma
    """

    inputs = saves = ("self", "other")
    no_jvp = "igamma"
    forward = _floats(numerics.gammainc, "igamma_cpu")
    sign = 1

    def vjp(self, g, a, x):
        if self.needs(0):
            raise NotImplementedError(f"the derivative for '{self.op}: input' is not implemented.")
        log = (a - 1) * both.log(x) - x - both.run(RULES["LgammaBackward0"], (a,))
        return None, g * (self.sign * both.exp(log))


@pair("igammac")
class IgammacBackward0(IgammaBackward0):
    """The probability that a gamma number of concentration a is above b.

    Math: y = 1 - igamma(a, b).
    VJP: to a: nothing; to b: -g * b ** (a - 1) * exp(-b) / exp(lgamma(a)). PyTorch has no derivative by a either.
    Shapes: broadcast.   Saves: a, b.   PyTorch: torch.igammac
    """

    no_jvp = "igammac"
    forward = _floats(numerics.gammaincc, "igammac_cpu")
    sign = -1
