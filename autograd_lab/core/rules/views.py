"""The rules of views: another shape, repeated dims, one entry, a range."""

import operator

import numpy as np

from ..array_or_tensor import sum_to, zeros
from ..record import apply_view
from ..rule import Rule, function, method
from ..tensor import Tensor, wrap


def at(ndim, dim, index):
    """The NumPy index that selects `index` along `dim` as a view, even of a single element."""
    return (slice(None),) * (dim % max(ndim, 1)) + (index, ...)


class ViewBackward0(Rule):
    """Another shape over the same memory.

    Math: y = reshape(a, shape(y)).   VJP: reshape(g, shape(a)).   Elements are counted in row-major order.
    Shapes: any with as many elements.   Saves: nothing.   PyTorch: torch.Tensor.view
    """

    keeps = ("self_sym_sizes",)

    def forward(x, shape):
        return x.reshape(shape)

    def vjp(self, g):
        return g.reshape(self.args[-1])


class ExpandBackward0(Rule):
    """Dims of size one repeated without a copy: every repetition is the same memory.

    Math: y = expand(a, shape(y)).   VJP: g.   It is summed over the repetitions.
    Shapes: (1, 3) -> (2, 3). Saves: nothing.   PyTorch: torch.Tensor.expand
    """

    keeps = ("self_sym_sizes",)

    def vjp(self, g):
        return sum_to(g, self.args[0])


class SelectBackward0(Rule):
    """One entry along a dim.

    Math: y = select(a, dim=dim, index=index).   VJP: select_scatter(zeros_like(a), g, dim=dim, index=index).
    Shapes: (2, 3, 4) -> (2, 4) for dim 1. Saves: nothing.   PyTorch: torch.select
    """

    keeps = ("dim", "index", "self_sym_sizes")

    def vjp(self, g):
        dim, index, shape = self.args
        return placed(g, shape, at(len(shape), dim, index))


class SliceBackward0(Rule):
    """Every step-th entry along a dim, from start to end.

    Math: y = slice(a, dim=dim, start=start, end=end, step=step).   VJP: slice_scatter(zeros_like(a), g, dim=dim, start=start, end=end, step=step).
    Shapes: (2, 3) -> (2, 2) for 1:3. Saves: nothing.   PyTorch: basic indexing, torch.narrow
    """

    keeps = ("dim", "start", "end", "step", "self_sym_sizes")

    def vjp(self, g):
        dim, start, end, step, shape = self.args
        return placed(g, shape, at(len(shape), dim, slice(start, end, step)))


def placed(g, shape, index):
    """Zeros of `shape` with `g` at the NumPy `index`."""
    whole = zeros(shape, g)
    whole[index] = g
    return whole


@method
def view(self, *shape):
    """The same memory in another shape (torch.Tensor.view). Raises RuntimeError if the strides do not allow it.

    >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
    >>> rows = x.view(2, 2)
    >>> x[0] = 9
    >>> rows.tolist()
    [[9.0, 2.0], [3.0, 4.0]]
    """
    shape = shape[0] if isinstance(shape[0], (tuple, list)) else shape
    x = self._array()
    data = x.reshape(shape)
    if not np.shares_memory(data, x) and x.size:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride. Use .reshape(...) instead."
        )
    return apply_view(ViewBackward0, self, data)


@method
def expand(self, *shape):
    """Dims of size one repeated without a copy, and new dims in front, as a view (torch.Tensor.expand).

    Raises ValueError if the tensor does not broadcast to that shape.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> x.expand(3, 2).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    shape = shape[0] if isinstance(shape[0], (tuple, list)) else shape
    return apply_view(ExpandBackward0, self, np.broadcast_to(self._array(), shape))


@function
def select(input, dim, index):
    """One entry along `dim`, as a view without that dim (torch.select).

    Raises IndexError if there is no such dim or entry, and TypeError if `index` is not a whole number.

    >>> torch.select(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 1, 0)
    tensor([1., 3.])
    """
    x, index = input._array(), operator.index(index)
    return apply_view(SelectBackward0, input, np.moveaxis(x, dim, 0)[index, ...], dim, index)


def getitem(self, index):
    """Basic indexing: numbers, slices and `...`, one dim after another, each a view (select, slice).

    Raises TypeError for any other index, IndexError for one out of range, and ValueError for a slice that goes backwards.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x[1, 0].item(), x[..., 1], x[:, :1].shape == (2, 1)
    (3.0, tensor([2., 4.]), True)
    """
    index, dim = index if isinstance(index, tuple) else (index,), 0
    for i, part in enumerate(index):
        if isinstance(part, slice):
            n = self.shape[dim]
            start, stop, step = part.indices(n)
            if step < 1:
                raise ValueError("step must be greater than zero")
            if (start, stop, step) != (0, n, 1):
                data = self._array()[at(self.ndim, dim, part)]
                self = apply_view(SliceBackward0, self, data, dim, start, stop, step)
            dim += 1
        elif part is Ellipsis:
            dim = self.ndim - len(index) + i + 1  # the parts after it belong to the last dims
        else:
            self = select(self, dim, part)
    return self


def setitem(self, index, value):
    """`self[index] = value`: overwrites the view `self[index]`."""
    value = value if isinstance(value, Tensor) else wrap(np.asarray(value, self._data.dtype))
    getitem(self, index).copy_(value)
