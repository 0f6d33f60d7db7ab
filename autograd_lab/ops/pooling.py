"""The rules of pooling: a window slides over the last dims, and only its maximum or its mean is kept."""

import itertools
import math

import numpy as np

from ..autograd.record import apply
from ..autograd.variable import Variable, wrap
from ..autograd.views import scatter
from . import both
from .convolution import unwindow, windows
from .general import GeneralRule, call
from .rule import Rule


def pair(value, n=2):
    """A setting as a tuple of `n` numbers."""
    if isinstance(value, int):
        return (value,) * n
    value = tuple(value)
    return value * n if len(value) == 1 else value


def _out_size(size, kernel, stride, padding, dilation, ceil_mode):
    """How many windows fit; with ceil_mode also those that start inside but end outside."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    out = -(-reach // stride) if ceil_mode else reach // stride
    if ceil_mode and out * stride >= size + padding:
        out -= 1
    return out + 1


def _check(x, kernel, stride, padding, dilation, ceil_mode):
    if any(2 * p > d * (k - 1) + 1 for p, k, d in zip(padding, kernel, dilation, strict=True)):
        p, k, d = next((p, k, d) for p, k, d in zip(padding, kernel, dilation, strict=True) if 2 * p > d * (k - 1) + 1)
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
        )
    if any(s <= 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    size = x.shape[-len(kernel) :]
    out = tuple(
        _out_size(*each, ceil_mode) for each in zip(size, kernel, stride, padding, dilation, strict=True)
    )
    if any(o < 1 for o in out):
        channels = x.shape[-len(kernel) - 1]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, (channels, *size)))}). Calculated output size: "
            f"({'x'.join(map(str, (channels, *[max(o, 0) for o in out])))}). Output size is too small"
        )
    return out


def _framed(x, out, kernel, stride, padding, dilation, value):
    """x (n, c, *size) with a frame of `value`, just large enough for `out` windows in each dim."""
    need = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(out, stride, dilation, kernel, strict=True)]
    after = [max(0, n - p - s) for n, p, s in zip(need, padding, x.shape[2:], strict=True)]
    if any(padding) or any(after):
        x = np.pad(x, [(0, 0), (0, 0), *zip(padding, after, strict=True)], constant_values=value)
    return x[(slice(None), slice(None), *[slice(0, n) for n in need])]


class _MaxPool(GeneralRule):
    """What the max pools share: the winner of each window, and where it stood."""

    inputs = saves = ("self", "result1")
    operands = extras = 1

    def forward(x, kernel, stride, padding, dilation, ceil_mode, out):
        nd = len(kernel)
        low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        seen = windows(_framed(x, out, kernel, stride, padding, dilation, low), kernel, stride, dilation)
        flat = np.moveaxis(seen.reshape(*x.shape[:2], math.prod(kernel), *out), 2, -1)
        best = flat.argmax(-1)
        values = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        # The winner's place in the image: where its window starts, plus its place in the window.
        place = np.zeros(best.shape, np.int64)
        offsets = np.unravel_index(best, kernel)
        for i in range(nd):
            start = np.arange(out[i]) * stride[i] - padding[i]
            shape = [1] * best.ndim
            shape[2 + i] = out[i]
            place = place * x.shape[2 + i] + start.reshape(shape) + offsets[i] * dilation[i]
        return np.ascontiguousarray(values), place

    def vjp(self, g, x, place):
        n, c, *size = x.shape
        planes = np.arange(n * c).reshape((n, c) + (1,) * len(size)) * math.prod(size)
        return scatter(g, both.array_of(place) + planes, tuple(x.shape))


class MaxPool2DWithIndicesBackward0(_MaxPool):
    """The largest element of each window.

    Math: y = max over the window of a.   VJP: g goes to the winner; an element that wins several windows gets their sum.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a and the winners' places.   PyTorch: torch.nn.functional.max_pool2d
    """

    op = "max_pool2d_with_indices"
    inputs = saves = ("self", "result1")
    operands = extras = 1
    keeps = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def kept(self, name, value):
        return () if name == "stride" and self.args[-1] else super().kept(name, value)

    def forward(x, kernel, stride, padding, dilation, ceil_mode, out, default_stride):
        return _MaxPool.forward(x, kernel, stride, padding, dilation, ceil_mode, out)


class MaxPool3DWithIndicesBackward0(MaxPool2DWithIndicesBackward0):
    """The same for (n, c, d, h, w).   PyTorch: torch.nn.functional.max_pool3d"""

    op = "max_pool3d_with_indices"
    inputs = saves = ("self", "result1")
    operands = extras = 1


def max_pool(nd, input, kernel, stride, padding, dilation, ceil_mode, return_indices):
    """max_pool2d and max_pool3d."""
    x = input._data
    if x.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(f"non-empty {nd + 1}D or {nd + 2}D (batch mode) tensor expected for input")
    kernel, padding, dilation = pair(kernel, nd), pair(padding, nd), pair(dilation, nd)
    default = stride is None or stride == ()
    steps = kernel if default else pair(stride, nd)
    out = _check(x, kernel, steps, padding, dilation, ceil_mode)
    rule = MaxPool2DWithIndicesBackward0 if nd == 2 else MaxPool3DWithIndicesBackward0
    batched = input if x.ndim == nd + 2 else input.unsqueeze(0)
    result = call(rule, (batched,), kernel, steps, padding, dilation, ceil_mode, out, default)
    place = None
    if return_indices:
        place = wrap(_MaxPool.forward(batched._data, kernel, steps, padding, dilation, ceil_mode, out)[1])
    if x.ndim == nd + 1:
        result, place = result.squeeze(0), place if place is None else place.squeeze(0)
    return (result, place) if return_indices else result


class AvgPool2DBackward0(Rule):
    """The mean of each window.

    Math: y = sum of the window / number of its elements.   VJP: every element of a window gets its g / that number.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a.   PyTorch: torch.nn.functional.avg_pool2d
    """

    op = "avg_pool2d"
    saves = ("self",)
    keeps = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    def forward(x, kernel, stride, padding, ceil_mode, include_pad, divisor, out, default_stride):
        one = (1,) * len(kernel)
        seen = windows(_framed(x, out, kernel, stride, padding, one, 0), kernel, stride, one)
        total = seen.sum(tuple(range(2, 2 + len(kernel))))
        return total / _counts(x.shape[2:], out, kernel, stride, padding, include_pad, divisor).astype(x.dtype)

    def vjp(self, g, x):
        return both.run(_AvgPoolAdjoint, (g,), tuple(x.shape[2:]), *self.args)

    def kept(self, name, value):
        return () if name == "stride" and self.args[-1] else super().kept(name, value)


class AvgPool3DBackward0(AvgPool2DBackward0):
    """The same for (n, c, d, h, w).   PyTorch: torch.nn.functional.avg_pool3d"""

    op = "avg_pool3d"


class _AvgPoolAdjoint(Rule, name="AvgPool2DBackwardBackward0"):
    """What a mean over windows sends back, as an operation of its own; its own gradient is avg_pool of g."""

    keeps = ("size",)

    def forward(g, size, kernel, stride, padding, ceil_mode, include_pad, divisor, out, default_stride):
        one = (1,) * len(kernel)
        g = g / _counts(size, out, kernel, stride, padding, include_pad, divisor).astype(g.dtype)
        pieces = np.broadcast_to(g[(slice(None), slice(None), *[None] * len(kernel))], (*g.shape[:2], *kernel, *out))
        need = [max((o - 1) * s + k, p + n) for o, s, k, p, n in zip(out, stride, kernel, padding, size, strict=True)]
        whole = unwindow(pieces, need, stride, one)
        return np.ascontiguousarray(
            whole[(slice(None), slice(None), *[slice(p, p + n) for p, n in zip(padding, size, strict=True)])]
        )

    def vjp(self, h):
        return both.run(AvgPool2DBackward0, (h,), *self.args[1:])


def _counts(size, out, kernel, stride, padding, include_pad, divisor):
    """By what each window's sum is divided, as an array of shape `out`."""
    if divisor is not None:
        return np.full(out, divisor)
    counts = np.ones((1,) * len(out), int)
    for i, (n, o, k, s, p) in enumerate(zip(size, out, kernel, stride, padding, strict=True)):
        start = np.arange(o) * s - p
        end = np.minimum(start + k, n + p)
        if not include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        shape = [1] * len(out)
        shape[i] = o
        counts = counts * (end - start).reshape(shape)
    return counts


def avg_pool(nd, input, kernel, stride, padding, ceil_mode, include_pad, divisor):
    """avg_pool2d and avg_pool3d."""
    x = input._data
    if x.ndim < nd + 1:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got {-nd - 1})"
        )
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    kernel, padding = pair(kernel, nd), pair(padding, nd)
    default = stride is None or stride == ()
    steps = kernel if default else pair(stride, nd)
    out = _check(x, kernel, steps, padding, (1,) * nd, ceil_mode)
    batched = input if x.ndim == nd + 2 else input.unsqueeze(0)
    rule = AvgPool2DBackward0 if nd == 2 else AvgPool3DBackward0
    result = apply(rule, (batched,), kernel, steps, padding, ceil_mode, include_pad, divisor, out, default)
    return result if x.ndim == nd + 2 else result.squeeze(0)


# -- adaptive -----------------------------------------------------------------------------------------


def _cells(size, out):
    """(cell, slices) for each place of the output: cell i of n covers floor(i s / n) to ceil((i + 1) s / n)."""
    for cell in itertools.product(*map(range, out)):
        yield cell, tuple(slice(i * s // n, -(-(i + 1) * s // n)) for i, s, n in zip(cell, size, out, strict=True))


class AdaptiveAvgPool2DBackward0(Rule):
    """The means of a grid of cells that covers the whole image.

    Math: y[i, j] = mean of cell (i, j).   VJP: every element of a cell gets its g / size of the cell.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a.   PyTorch: torch.nn.functional.adaptive_avg_pool2d
    """

    op = "_adaptive_avg_pool2d"
    saves = ("self",)

    def forward(x, out):
        y = np.empty((*x.shape[: -len(out)], *out), x.dtype)
        dims = tuple(range(-len(out), 0))
        for cell, where in _cells(x.shape[-len(out) :], out):
            y[(..., *cell)] = x[(..., *where)].mean(dims)
        return y

    def vjp(self, g, x):
        out = self.args[0]
        return both.run(_AdaptiveAdjoint, (g,), tuple(x.shape[-len(out) :]), out)


class _AdaptiveAdjoint(Rule, name="AdaptiveAvgPool2DBackwardBackward0"):
    """What the means of the cells send back, as an operation of its own."""

    def forward(g, size, out):
        whole = np.zeros((*g.shape[: -len(out)], *size), g.dtype)
        for cell, where in _cells(size, out):
            part = whole[(..., *where)]
            part += g[(..., *cell)].reshape(*g.shape[: -len(out)], *[1] * len(out)) / math.prod(part.shape[-len(out) :])
        return whole

    def vjp(self, h):
        return both.run(AdaptiveAvgPool2DBackward0, (h,), self.args[1])


def adaptive_avg_pool2d(input, out):
    """The means of a grid of `out` cells."""
    x = input._data
    if x.ndim not in (3, 4):
        raise RuntimeError(f"adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got {list(x.shape)}")
    if out == (1, 1):
        return input.mean((-1, -2), keepdim=True)
    return apply(AdaptiveAvgPool2DBackward0, (input,), out)


class AdaptiveMaxPool2DBackward0(GeneralRule):
    """The largest elements of a grid of cells that covers the whole image.

    VJP: g goes to the winner of each cell.   Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a and the winners' places.
    PyTorch: torch.nn.functional.adaptive_max_pool2d
    """

    op = "adaptive_max_pool2d"
    inputs = saves = ("self", "result1")
    operands = extras = 1

    def forward(x, out):
        n, c, h, w = x.shape
        y, place = np.empty((n, c, *out), x.dtype), np.empty((n, c, *out), np.int64)
        for (i, j), (rows, cols) in _cells((h, w), out):
            cell = x[:, :, rows, cols].reshape(n, c, -1)
            best = cell.argmax(-1)
            y[:, :, i, j] = np.take_along_axis(cell, best[..., None], -1)[..., 0]
            wide = cols.stop - cols.start
            place[:, :, i, j] = (rows.start + best // wide) * w + cols.start + best % wide
        return y, place

    def vjp(self, g, x, place):
        return _MaxPool.vjp(self, g, x, place)


def adaptive_max_pool2d(input, out, return_indices=False):
    """The largest elements of a grid of `out` cells."""
    x = input if input._data.ndim == 4 else input.unsqueeze(0)
    result = call(AdaptiveMaxPool2DBackward0, (x,), out)
    place = wrap(AdaptiveMaxPool2DBackward0.forward(x._data, out)[1]) if return_indices else None
    if input._data.ndim == 3:
        result, place = result.squeeze(0), place if place is None else place.squeeze(0)
    return (result, place) if return_indices else result


__all__ = ["Variable", "adaptive_avg_pool2d", "adaptive_max_pool2d", "avg_pool", "max_pool", "pair"]
