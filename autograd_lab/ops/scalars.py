"""A tensor and a plain number, as PyTorch's own composite functions record them: one edge, and the number
kept as it is.

In Python `x * 0.9` makes the number a tensor first (MulBackward0, with an edge for it); the C++ code behind
cross_entropy with label smoothing, for instance, does not.
"""

from ..autograd.record import apply
from ..autograd.variable import wrap
from ..dtypes import Defaults
from .arithmetic import DivBackward1, MulBackward1
from .reductions import NormBackward1
from .rule import Rule


class AddBackward1(Rule):
    """A tensor plus a number.

    Math: y = a + c.   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.add
    """

    op = "add"

    def forward(x, number):
        return x + number

    def vjp(self, g):
        return g


class SubBackward1(Rule):
    """A tensor minus a number.

    Math: y = a - c.   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.sub
    """

    op = "sub"

    def forward(x, number):
        return x - number

    def vjp(self, g):
        return g


def _float_with(x, number):
    """`x`, in the default float type if it has whole numbers and `number` is none: the type that PyTorch gives both."""
    whole = x._data.dtype.kind != "f" and isinstance(number, float)
    return wrap(x._data.astype(Defaults.np)) if whole else x


def plus(x, number):
    """X + number."""
    return apply(AddBackward1, (_float_with(x, number),), number)


def minus(x, number):
    """X - number."""
    return apply(SubBackward1, (_float_with(x, number),), number)


def times(x, number):
    """X * number."""
    return apply(MulBackward1, (_float_with(x, number),), number)


def over(x, number):
    """X / number."""
    return apply(DivBackward1, (_float_with(x, float(number)),), number)


def norm_of(x, p, dims, keepdim):
    """The p-norm over a tuple of dims."""
    return apply(NormBackward1, (x,), p, dims, keepdim)


__all__ = ["minus", "norm_of", "over", "plus", "times"]
