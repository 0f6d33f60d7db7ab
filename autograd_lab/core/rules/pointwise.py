"""Rules that work on each element by itself: exp, log, tanh, sigmoid, relu, maximum.

>>> x = torch.tensor([-1.0, 2.0], requires_grad=True)
>>> torch.relu(x).sum().backward()
>>> x.grad
tensor([0., 1.])
"""

import numpy as np

from ..array_or_tensor import array_of, constant, masked
from ..rule import Rule, binary, unary


@unary("exp")
class ExpBackward0(Rule):
    """Exponential.

    Math: y = exp(a).   VJP: g * y.   Shapes: elementwise.   Saves: the result.   PyTorch: torch.exp
    """

    saves = ("result",)
    forward = np.exp

    def vjp(self, g, y):
        return g * y


@unary("log")
class LogBackward0(Rule):
    """Natural logarithm.

    Math: y = log(a).   VJP: g / a.   Shapes: elementwise.   Saves: a.   PyTorch: torch.log
    """

    saves = ("self",)
    forward = np.log

    def vjp(self, g, x):
        return g / x


@unary("tanh")
class TanhBackward0(Rule):
    """Hyperbolic tangent.

    Math: y = tanh(a).   VJP: g * (1 - y ** 2).   Shapes: elementwise.   Saves: the result.   PyTorch: torch.tanh
    """

    saves = ("result",)
    forward = np.tanh

    def vjp(self, g, y):
        return g * (1 - y * y)


@unary("sigmoid")
class SigmoidBackward0(Rule):
    """Logistic function.

    Math: y = 1 / (1 + exp(-a)).   VJP: g * y * (1 - y).   Shapes: elementwise.   Saves: the result.
    PyTorch: torch.sigmoid
    """

    saves = ("result",)

    def forward(x):
        return 1 / (1 + np.exp(-x))  # exp(-x) may be inf, the result is then 0

    def vjp(self, g, y):
        return g * (1 - y) * y


@unary("relu")
class ReluBackward0(Rule):
    """Rectifier.

    Math: y = maximum(a, 0).   VJP: where(y > 0, g, 0).   So 0 at 0.
    Shapes: elementwise.   Saves: the result. PyTorch: torch.relu
    """

    saves = ("result",)

    def forward(x):
        return np.maximum(x, ZERO[x.itemsize])

    def vjp(self, g, y):
        return masked(g, array_of(y) != ZERO[y.dtype.itemsize])  # never negative; a nan passes, as in PyTorch


ZERO = {size: np.zeros((), f"f{size}") for size in (2, 4, 8)}
"""Zeros of the float types by size: NumPy takes longer to convert a Python number."""


@binary("maximum")
class MaximumBackward0(Rule):
    """The larger of two.

    Math: y = maximum(a, b).   VJP: to a: where(a == b, g / 2, where(a < b, 0, g)); to b: where(a == b, g / 2, where(a
    > b, 0, g)).
    Shapes: broadcast.   Saves: a, b. PyTorch: torch.maximum
    """

    inputs = saves = ("self", "other")
    forward = np.maximum

    def vjp(self, g, a, b):
        a, b = array_of(a), array_of(b)
        shared = g * constant(np.where(a == b, 0.5, 1), g)
        return masked(shared, ~(a < b)), masked(shared, ~(a > b))
