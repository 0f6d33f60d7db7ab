"""The rules of matrix products: two matrices, a matrix and a vector, and the transpose of a matrix."""

import operator

from ..record import apply, apply_view
from ..rule import Rule, function
from ..tensor import Tensor


class TwoMatrices(Rule):
    """The common base of matrix @ matrix rules. Its last five `args` are those of `memory_of`.

    For a factor that lies in memory column by column, PyTorch computes (b @ g^T)^T in place of the equal g @ b^T. That shows in the nodes
    under create_graph and in the layout of the gradient, so it is done here as well.

    factors  the names of the two
    """

    factors: tuple

    def to_first(self, g, b):
        """The gradient of a @ b with respect to a: g @ b^T."""
        shape, _, strides, _, size = self.args[-5:]
        if b is None:
            return None
        if isinstance(g, Tensor) and strides == (size, size * shape[0]):
            return (b @ g.t()).t()
        return g @ transposed(b)

    def to_second(self, g, a):
        """The gradient of a @ b with respect to b: a^T @ g."""
        _, shape, _, strides, size = self.args[-5:]
        if a is None:
            return None
        if strides == (size, size * shape[0]) if isinstance(g, Tensor) else strides[0] == size:
            return transposed(transposed(g) @ a)
        return transposed(a) @ g


def transposed(x):
    """The transpose of a matrix."""
    return x.t() if isinstance(x, Tensor) else x.T


def memory_of(x, y):
    """Sizes, strides and item size of two factors, the last five `args` of a TwoMatrices."""
    return x.shape, y.shape, x.strides, y.strides, x.itemsize


class MmBackward0(TwoMatrices):
    """Product of two matrices.

    Math: y = a @ b.   VJP: to a: g @ b.T; to b: a.T @ g.
    Shapes: (n, m) @ (m, p) -> (n, p).   Saves: each factor that the other's gradient needs.   PyTorch: torch.mm
    """

    op = "mm"
    inputs = factors = saves = ("self", "mat2")
    saves_if = {"self": (1,), "mat2": (0,)}
    shows = ("self_sym_sizes", "self_sym_strides", "mat2_sym_sizes", "mat2_sym_strides")

    def forward(x, y, *memory):
        return x @ y

    def vjp(self, g, a, b):
        to_second = self.to_second(g, a)  # before the other one: see MulBackward0
        return self.to_first(g, b), to_second


class MvBackward0(Rule):
    """Matrix times vector.

    Math: y = a @ b.   VJP: to a: outer(g, b); to b: a.T @ g.
    Shapes: (n, m) @ (m,) -> (n,).   Saves: each factor the other needs.   PyTorch: torch.mv
    """

    op = "mv"
    inputs = ("self", "vec")
    saves = ("self", "vec")
    saves_if = {"self": (1,), "vec": (0,)}
    forward = operator.matmul

    def vjp(self, g, a, v):
        return None if v is None else g.reshape((-1, 1)) * v, None if a is None else transposed(a) @ g


class TBackward0(Rule):
    """A matrix transposed.

    Math: y = a.T.   VJP: g.T.   Shapes: (2, 3) -> (3, 2).   Saves: nothing.   PyTorch: torch.t
    """

    def vjp(self, g):
        return transposed(g)


@function
def matmul(input, other):
    """The product of a matrix and a matrix or vector (torch.matmul). Raises RuntimeError for other shapes.

    >>> torch.matmul(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    x, y = input._data, other._data
    if x.ndim != 2 or y.ndim not in (1, 2) or x.shape[1] != y.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({list(x.shape)} and {list(y.shape)})")
    if y.ndim == 1:
        return apply(MvBackward0, (input, other))
    return apply(MmBackward0, (input, other), *memory_of(x, y))


@function
def t(input):
    """A matrix transposed, as a view (torch.t).

    >>> torch.t(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return apply_view(TBackward0, input, input._array().T)
