"""The rules of sums and means."""

import numpy as np

from ..array_or_tensor import expand
from ..record import apply
from ..rule import Rule, function


def total(x, dims=None, keepdim=False):
    """The sum of an array over some dims."""
    whole = None if x.dtype.kind == "f" else np.int64
    return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=whole)


def counted(dims, ndim):
    """One or more dims, counted from the front; all dims for None or an empty tuple."""
    if dims is None or dims == ():
        return tuple(range(ndim))
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    return tuple([d % ndim for d in dims if ndim])


class SumBackward0(Rule):
    """Sum of all elements.

    Math: y = sum(a).   VJP: g.   Every element that was added gets it.
    Shapes: any -> ().   Saves: nothing.   PyTorch: torch.sum
    """

    op = "sum"
    keeps = ("self_sym_sizes",)
    forward = total

    def vjp(self, g):
        return expand(g, self.args[0])


class SumBackward1(Rule):
    """Sum over some dims.

    Math: y = sum(a, dim=dim, keepdim=keepdim).   VJP: spread(g, a, dim=dim).   Every element that was added gets the g of
    its sum.
    Shapes: the dims go, or stay with size 1. Saves: nothing.   PyTorch: torch.sum
    """

    op = "sum"
    keeps = ("dim", "keepdim", "self_sym_sizes")

    def forward(x, dims, keepdim):
        return total(x, dims or counted(dims, x.ndim), keepdim)  # NumPy refuses a dim that is not there

    def vjp(self, g):
        dims, _, shape = self.args
        dims = counted(dims, len(shape))
        return expand(g.reshape([1 if d in dims else n for d, n in enumerate(shape)]), shape)


class MeanBackward0(Rule):
    """Mean of all elements.

    Math: y = sum(a) / numel(a).   VJP: g / numel(a).
    Shapes: any -> ().   Saves: nothing.   PyTorch: torch.mean
    """

    op = "mean"
    keeps = ("self_sym_numel", "self_sym_sizes")

    def forward(x, n):
        return total(x) / x.dtype.type(n)

    def vjp(self, g):
        n, shape = self.args
        return expand(g, shape) / n


@function
def sum(input, dim=None, keepdim=False):
    """The sum of all elements, or over some dims (torch.sum). Raises IndexError if there is no such dim.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.sum(x), torch.sum(x, dim=0)
    (tensor(10.), tensor([4., 6.]))
    """
    if dim is None:
        return apply(SumBackward0, (input,))
    return apply(SumBackward1, (input,), dim, keepdim)


@function
def mean(input):
    """The mean of all elements (torch.mean).

    >>> x = torch.tensor([1.0, 2.0, 6.0, 7.0], requires_grad=True)
    >>> m = torch.mean(x)
    >>> m.backward()
    >>> m.item(), x.grad.tolist()
    (4.0, [0.25, 0.25, 0.25, 0.25])
    """
    return apply(MeanBackward0, (input,), input._data.size)
