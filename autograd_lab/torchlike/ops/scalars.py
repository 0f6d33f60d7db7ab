"""A tensor and a plain number, as PyTorch's own code records them: one edge, and the number kept as it is.

In Python `x * 0.9` makes the number a tensor first (MulBackward0, with an edge for it). The C++ code behind cross_entropy with
label smoothing, for instance, does not, and neither do the formulas of VJPs (see autograd/formulas.py).
"""

import numpy as np

from ..autograd.record import apply
from ..autograd.variable import wrap
from ..creation import follow
from ..dtypes import Defaults
from .rule import Rule


class AddBackward1(Rule):
    """A tensor plus a number.

    Math: y = a + number.   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.add
    """

    op = "add"

    def forward(x, number):
        return x + number

    def vjp(self, g):
        return g


class SubBackward1(Rule):
    """A tensor minus a number.

    Math: y = a - number.   VJP: g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.sub
    """

    op = "sub"

    def forward(x, number):
        return x - number

    def vjp(self, g):
        return g


class MulBackward1(Rule):
    """A tensor times a number.

    Math: y = a * other.   VJP: g * other.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.mul
    """

    op = "mul"
    keeps = ("other",)

    def forward(x, number):
        return x * number

    def vjp(self, g):
        return g * self.args[0]


class DivBackward1(Rule):
    """A tensor divided by a number.

    Math: y = a / other.   VJP: g / other.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.div
    """

    op = "div"
    keeps = ("other",)

    def forward(x, number):
        return x / number

    def vjp(self, g):
        return g / self.args[0]


def _with_number(rule, x, number, floats=False):
    if isinstance(number, np.generic):
        number = number.item()
    floats = floats or isinstance(number, float)
    if floats and x._data.dtype.kind != "f":  # the type that PyTorch gives both
        x = follow(wrap(x._data.astype(Defaults.np)), x)
    return apply(rule, (x,), number)


def plus(x, number):
    """X + number."""
    return _with_number(AddBackward1, x, number)


def minus(x, number):
    """X - number."""
    return _with_number(SubBackward1, x, number)


def times(x, number):
    """X * number."""
    return _with_number(MulBackward1, x, number)


def over(x, number):
    """X / number."""
    return _with_number(DivBackward1, x, number, floats=True)


__all__ = ["minus", "over", "plus", "times"]
