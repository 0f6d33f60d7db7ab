"""torch.special: mathematical functions under the names physics and statistics know them by."""

import math

from .autograd.formulas import as_formula
from .autograd.record import apply
from .autograd.variable import Variable
from .interface.publish import publish
from .ops import broadcasting as pairs
from .ops import pointwise as rules
from .ops.rule import FUNCTIONS, pointwise, tensor_of
from .world.missing import finder

_IMPORTED = {*globals()}

digamma = psi = FUNCTIONS["digamma"]
erf, erfc, erfinv = FUNCTIONS["erf"], FUNCTIONS["erfc"], FUNCTIONS["erfinv"]
exp2, expm1, log1p = FUNCTIONS["exp2"], FUNCTIONS["expm1"], FUNCTIONS["log1p"]
expit, logit = FUNCTIONS["sigmoid"], FUNCTIONS["logit"]
gammainc, gammaincc = FUNCTIONS["igamma"], FUNCTIONS["igammac"]
gammaln, multigammaln, polygamma = FUNCTIONS["lgamma"], FUNCTIONS["mvlgamma"], FUNCTIONS["polygamma"]
i0, sinc, xlogy = FUNCTIONS["i0"], FUNCTIONS["sinc"], FUNCTIONS["xlogy"]
logsumexp, softmax, log_softmax = FUNCTIONS["logsumexp"], FUNCTIONS["softmax"], FUNCTIONS["log_softmax"]
round = FUNCTIONS["round"]


def entr(input):
    """-input * log(input), 0 at 0 and -inf below (torch.special.entr)."""
    return apply(rules.SpecialEntrBackward0, (input,))


def i1(input):
    """The modified Bessel function of order 1 (torch.special.i1)."""
    return apply(rules.SpecialI1Backward0, (input,))


def log_ndtr(input):
    """The logarithm of the normal distribution function (torch.special.log_ndtr)."""
    return apply(rules.SpecialLogNdtrBackward0, (input,))


@as_formula
def ndtr(input):
    """The normal distribution function: the chance that a normal number is below `input` (torch.special.ndtr)."""
    return 0.5 * (1 + erf(input * math.sqrt(0.5)))


def xlog1py(input, other):
    """Input * log(1 + other), 0 where `input` is 0 (torch.special.xlog1py)."""
    if not isinstance(input, Variable) and not isinstance(other, Variable):
        raise TypeError("xlog1py(): at least one of the arguments must be a Tensor")
    if isinstance(input, (int, float)):
        return apply(pairs.SpecialXlog1PyBackward1, (other,), input)
    if isinstance(other, (int, float)):
        return apply(pairs.SpecialXlog1PyBackward2, (input,), other)
    return pointwise(pairs.SpecialXlog1PyBackward0, (tensor_of(input), tensor_of(other)), floats=True)


globals().update(publish({k: v for k, v in globals().items() if k not in _IMPORTED}, "special.", __name__))

__getattr__ = finder("special")
