"""The rules of + - * / ** and of the sign: the arithmetic behind every other formula.

>>> a, b = torch.tensor(6.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
>>> (a / b - a).backward()
>>> a.grad.item(), b.grad.item()
(-0.5, -1.5)
"""

import operator

from ..array_or_tensor import zeros_like
from ..record import apply
from ..rule import METHODS, Rule, binary, function, unary
from ..tensor import Tensor


@binary("add")
class AddBackward0(Rule):
    """Sum of two tensors.

    Math: y = a + alpha * b.   VJP: to a: g; to b: alpha * g.   The message is copied.
    Shapes: a and b broadcast; each gradient is summed back to its operand's shape. Saves: nothing.   PyTorch:
    torch.add
    """

    inputs = ("self", "other")
    keeps = ("alpha",)
    default_args = (1,)

    def forward(x, y, alpha=1):
        return x + y if alpha == 1 else x + y * alpha

    def vjp(self, g):
        alpha = self.args[0]
        return g, g if alpha == 1 else g * alpha


@binary("sub")
class SubBackward0(Rule):
    """Difference of two tensors.

    Math: y = a - alpha * b.   VJP: to a: g; to b: -alpha * g.
    Shapes: as add.   Saves: nothing.   PyTorch: torch.sub
    """

    inputs = ("self", "other")
    keeps = ("alpha",)
    default_args = (1,)

    def forward(x, y, alpha=1):
        return x - y if alpha == 1 else x - y * alpha

    def vjp(self, g):
        alpha = self.args[0]
        return g, (-g if alpha == 1 else -g * alpha) if self.needs(1) else None


@binary("mul")
class MulBackward0(Rule):
    """Elementwise product.

    Math: y = a * b.   VJP: to a: g * b; to b: g * a.   The factors swap.
    Shapes: a and b broadcast; each gradient is summed back to its operand's shape. Saves: each factor that the
    other's gradient needs.   PyTorch: torch.mul
    """

    inputs = ("self", "other")
    saves = ("self", "other")
    saves_if = {"self": (1,), "other": (0,)}
    forward = operator.mul

    def vjp(self, g, a, b):
        # PyTorch goes by the operands' names, "other" before "self": under create_graph the order of the new nodes shows it.
        to_other = None if a is None else g * a
        return None if b is None else g * b, to_other


@binary("div")
class DivBackward0(Rule):
    """Elementwise quotient.

    Math: y = a / b.   VJP: to a: g / b; to b: -g * (a / b) / b.
    Shapes: as mul.   Saves: b, and a if b wants a gradient.   PyTorch: torch.div
    """

    inputs = ("self", "other")
    saves = ("self", "other")
    saves_if = {"self": (1,)}
    forward = operator.truediv

    def vjp(self, g, a, b):
        to_other = None if a is None else -g * ((a / b) / b)
        return g / b if self.needs(0) else None, to_other


class RsubBackward1(Rule):
    """A number minus a tensor.

    Math: y = number - alpha * a.   VJP: -alpha * g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.rsub
    """

    op = "rsub"
    keeps = ("alpha",)

    def forward(x, alpha, number):
        return number - x if alpha == 1 else number - alpha * x

    def vjp(self, g):
        alpha = self.args[0]
        return -g if alpha == 1 else -g * alpha


@unary("neg")
class NegBackward0(Rule):
    """Negation.

    Math: y = -a.   VJP: -g.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.neg
    """

    forward = operator.neg

    def vjp(self, g):
        return -g


@unary("reciprocal")
class ReciprocalBackward0(Rule):
    """Reciprocal.

    Math: y = 1 / a.   VJP: -g * y * y.   Shapes: elementwise.   Saves: the result.   PyTorch: torch.reciprocal
    """

    saves = ("result",)

    def forward(x):
        return x.dtype.type(1) / x

    def vjp(self, g, y):
        return -g * (y * y)


class PowBackward0(Rule):
    """A tensor to the power of a number.

    Math: y = a ** exponent.   VJP: g * exponent * a ** (exponent - 1) if exponent != 0 else 0.
    Shapes: elementwise.   Saves: a, and the number.   PyTorch: torch.pow
    """

    op = "pow"
    saves = ("self",)
    keeps = ("exponent",)

    def forward(x, exponent):
        # NumPy's power with a small integer exponent is many times slower than multiplying.
        return x * x if exponent == 2 else x * x * x if exponent == 3 else x**exponent

    def vjp(self, g, x):
        n = self.args[0]
        if n == 0:
            return zeros_like(g)
        if n == 2 and not isinstance(x, Tensor):  # as above: NumPy's power is slow
            return g * (x * 2)
        return g * (n * x ** (n - 1))


@function
def pow(input, exponent):
    """`input` to the power of a number (torch.pow).

    >>> torch.pow(torch.tensor([1.0, 3.0]), 2)
    tensor([1., 9.])
    """
    return apply(PowBackward0, (input,), exponent)


def rsub(input, other):
    """`other - input`."""
    return apply(RsubBackward1, (input,), 1, other)


def rdiv(input, other):
    """`other / input`."""
    return ReciprocalBackward0.call(input) * other


METHODS.update(
    {rule.op + "_": rule.call_ for rule in (AddBackward0, SubBackward0, MulBackward0, DivBackward0)}
)

OPERATORS = {
    "__add__": AddBackward0.call,
    "__radd__": AddBackward0.call,
    "__iadd__": AddBackward0.call_,
    "__sub__": SubBackward0.call,
    "__rsub__": rsub,
    "__isub__": SubBackward0.call_,
    "__mul__": MulBackward0.call,
    "__rmul__": MulBackward0.call,
    "__imul__": MulBackward0.call_,
    "__truediv__": DivBackward0.call,
    "__rtruediv__": rdiv,
    "__itruediv__": DivBackward0.call_,
    "__neg__": NegBackward0.call,
    "__pow__": pow,
}
"""Python's operators, for Tensor."""
