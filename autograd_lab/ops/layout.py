"""How a result lies in memory, where NumPy would lay it out otherwise than PyTorch.

It shows in strides, in what `view` accepts, and in the random numbers that fill a tensor in the order of its memory. A rule
names one of these functions as its `layout`; each takes the result and the first operand.
"""

import numpy as np


def rows(data, x):
    """Row by row, whatever the operand's order: reductions, softmax, norms, cumulative sums."""
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)


def like(data, x):
    """In the order of the operand's dims: flips, sorts, copies with a part replaced."""
    if x.flags.c_contiguous or data.ndim != x.ndim:
        return rows(data, x)
    return ordered(data, order_of(x))


def channels(data, x):
    """With the channels last if the operand has them last: convolution, pooling, padding, resizing."""
    if x.flags.c_contiguous or not (x.ndim == data.ndim and x.ndim in (4, 5) and channels_last(x)):
        return rows(data, x)
    return ordered(data, (0, *range(2, x.ndim), 1))


def order_of(x):
    """The dims of an array from the farthest apart in memory to the nearest."""
    return tuple(sorted(range(x.ndim), key=lambda d: -abs(x.strides[d])))


def ordered(data, order):
    """The same numbers with their dims in this order in memory."""
    laid = np.ascontiguousarray(data.transpose(order))
    return laid.transpose(np.argsort(order))


def channels_last(x):
    """Whether an image or volume (batch, channels, ...) has the numbers of all channels of a place side by side."""
    least = 0
    if x.strides[1] == 0:
        return False
    for d in (1, *range(x.ndim - 1, 1, -1), 0):
        n, stride = x.shape[d], x.strides[d] // x.itemsize
        if n == 0 or stride < least or (d == 0 and least == x.strides[1] // x.itemsize):
            return False
        least = stride * n if n > 1 else stride
    return True


__all__ = ["channels", "channels_last", "like", "order_of", "ordered", "rows"]
