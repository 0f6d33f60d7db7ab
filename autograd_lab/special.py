"""torch.special: special functions, under the names they have there."""

from .ops.rule import FUNCTIONS

_SAME = (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "logit", "logsumexp", "polygamma", "round", "sinc", "xlogy",
    "softmax", "log_softmax",
)  # fmt: skip
_RENAMED = {"expit": "sigmoid", "gammaln": "lgamma", "psi": "digamma", "multigammaln": "mvlgamma"}

__all__ = []
for _name, _source in [*zip(_SAME, _SAME, strict=True), *_RENAMED.items()]:
    if _source in FUNCTIONS:
        globals()[_name] = FUNCTIONS[_source]
        __all__.append(_name)  # noqa: PYI056 - which functions there are depends on ops/


def ndtr(input):
    """The distribution function of the normal distribution (torch.special.ndtr)."""
    return (1 + FUNCTIONS["erf"](input * 0.7071067811865476)) * 0.5


def xlog1py(input, other):
    """input * log(1 + other), 0 where input is 0 (torch.special.xlog1py)."""
    return FUNCTIONS["xlogy"](input, 1 + other)


def entr(input):
    """-x log x, 0 at 0 (torch.special.entr)."""
    return -FUNCTIONS["xlogy"](input, input)


__all__ += ["entr", "ndtr", "xlog1py"]
