"""In which order the numbers of a tensor lie in memory.

It shows in strides, in what `view` accepts, and in the random numbers that fill a tensor in the order of its memory. Where
NumPy would lay out a result otherwise than PyTorch, a rule names one of these functions as its `layout`; each takes the
result and the first operand. The others are the memory formats that a user can ask for.
"""

import numpy as np

from .world.warning import warn_once


def rows(data, x):
    """Row by row, whatever the operand's order: reductions, softmax, norms, cumulative sums."""
    return data if data.flags.c_contiguous else np.ascontiguousarray(data)


def like(data, x):
    """In the order of the operand's dims: flips, sorts, copies with a part replaced."""
    if x.flags.c_contiguous or data.ndim != x.ndim:
        return rows(data, x)
    return ordered(data, order_of(x))


def columns(data, x=None):
    """Each matrix column after column, as LAPACK leaves factors, inverses and solutions."""
    turned = data.swapaxes(-2, -1)
    if turned.flags.c_contiguous and 1 not in data.shape:
        return data
    return turned.copy("C").swapaxes(-2, -1)


def channels(data, *operands):
    """With the channels last if the operands have them last: convolution, pooling, padding, resizing, joining."""
    if all([x.ndim == data.ndim and has_channels_last(x) for x in operands]):
        return ordered(data, last_order(data.ndim))
    return rows(data, data)


def elementwise(data, *operands):
    """Of operands that lie in different orders: the first one decides, the others where it says nothing (it is broadcast there)."""
    for x in operands:
        if not x.flags.c_contiguous:
            break
    else:
        return data
    rank = data.ndim
    strides = [_steps(x, data.shape) for x in operands]
    # The dims from the nearest in memory to the farthest, sorted by insertion as PyTorch does it: what no operand decides
    # stays where it is.
    nearest = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        moving = i
        for j in range(i - 1, -1, -1):
            verdict = _compared(strides, data.shape, nearest[j], nearest[moving])
            if verdict < 0:
                break
            if verdict > 0:
                nearest[j], nearest[moving] = nearest[moving], nearest[j]
                moving = j
    return ordered(data, nearest[::-1])


def _steps(x, shape):
    """The strides of an operand as one of the result's rank; 0 where it is broadcast."""
    more = len(shape) - x.ndim
    own = [0 if n == 1 != whole else s for n, s, whole in zip(x.shape, x.strides, shape[more:], strict=True)]
    return [0] * more + own


def _compared(strides, shape, near, far):
    """1 if dim `far` should be nearer in memory than `near`, -1 if not, 0 if no operand tells."""
    for s in strides:
        a, b = s[near], s[far]
        if a and b:
            if a != b:
                return 1 if a > b else -1
            if shape[near] > shape[far]:
                return 1
    return 0


def order_of(x):
    """The dims of an array from the farthest apart in memory to the nearest."""
    return tuple(sorted(range(x.ndim), key=lambda d: -abs(x.strides[d])))


def ordered(data, order):
    """The same numbers with their dims in this order in memory, those of size one too."""
    turned = data.transpose(order)
    if turned.flags.c_contiguous and 1 not in data.shape:
        return data
    return turned.copy("C").transpose(np.argsort(order))


def last_order(rank):
    """The dims of an image or volume in the order that has the channels last."""
    return (0, *range(2, rank), 1)


def has_channels_last(x):
    """Whether an image or volume (batch, channels, ...) has the numbers of all channels of a place side by side."""
    if x.flags.c_contiguous or x.ndim not in (4, 5) or x.strides[1] == 0:
        return False
    least = 0
    for d in (1, *range(x.ndim - 1, 1, -1), 0):
        n, stride = x.shape[d], x.strides[d] // x.itemsize
        if n == 0 or stride < least or (d == 0 and least == x.strides[1] // x.itemsize):
            return False
        least = stride * n if n > 1 else stride
    return True


class layout:  # noqa: N801 - PyTorch's name
    """How the elements lie in memory; here always torch.strided."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"


class memory_format(layout):  # noqa: N801 - PyTorch's name
    """The order in memory that a copy is asked to have (torch.memory_format)."""

    def __init__(self, name, rank=None):
        super().__init__(name)
        self.rank = rank  # how many dims a tensor must have for it

    def holds(self, array):
        """Whether the array lies in this order, without gaps."""
        if self.rank is None:
            return array.flags.c_contiguous
        return array.ndim == self.rank and array.transpose(last_order(self.rank)).flags.c_contiguous

    def suits(self, array):
        """Whether `to` takes the array as it is: for the common order, what does not have the channels last."""
        return has_channels_last(array) == (self.rank is not None) and self.rank in (None, array.ndim)

    def lay(self, array):
        """`array` in this order, copied if it is not. Raises RuntimeError if it has not as many dims as that takes."""
        return rows(array, array) if self.rank is None else ordered(array, self.order(array.ndim))

    def order(self, rank):
        """The dims of `rank` in this order, the farthest apart first. Raises RuntimeError if it takes another number of them."""
        if self.rank not in (None, rank):
            raise RuntimeError(f"required rank {self.rank} tensor to use {self._name} format")
        return range(rank) if self.rank is None else last_order(rank)


def check_layouts(grad, param):
    """Warn of a `.grad` that lies in memory otherwise than its leaf does (arrays), as PyTorch does once it has added to it.

    What counts are the strides of dims that have several entries; for a leaf with gaps, whether the gradient has none.
    """
    if grad.strides == param.strides:
        return
    sizes = sorted((abs(s), n) for s, n in zip(param.strides, param.shape, strict=True) if n > 1)
    dense, step = True, param.itemsize
    for stride, n in sizes:
        dense, step = dense and stride == step, step * n
    if not dense:
        fits = grad.flags.c_contiguous
    else:
        fits = all(
            n == 1 or s // grad.itemsize == r // param.itemsize
            for n, s, r in zip(param.shape, grad.strides, param.strides, strict=True)
        )
    if not fits:
        text = "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance."
        for name, x in (("grad", grad), ("param", param)):
            text += f"\n{name}.sizes() = {list(x.shape)}, strides() = {[s // x.itemsize for s in x.strides]}"
        warn_once(text, "gradient layout contract")


strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last", 4), memory_format("channels_last_3d", 5)

__all__ = [
    "channels", "channels_last", "channels_last_3d", "check_layouts", "columns", "contiguous_format", "layout", "like", "memory_format", "preserve_format", "rows",
    "strided",
]  # fmt: skip
