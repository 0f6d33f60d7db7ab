"""The rules of pooling: a window slides over the last dims, and only its maximum or its mean is kept."""

import itertools
import math

import numpy as np

from ..autograd.errors import not_for
from ..autograd.record import apply
from ..autograd.variable import Variable
from ..layout import channels, channels_last, contiguous_format, has_channels_last
from ..random import rng_of
from . import array_or_tensor as both
from .convolution import unwindow, windows
from .embedding import drawn
from .general import GeneralRule, call_for_all
from .rule import Rule, floats_only, function, kernel


def pair(value, n=2):
    """A setting as a tuple of `n` numbers."""
    if isinstance(value, (int, np.integer)):
        return (value,) * n
    value = tuple(value)
    return value * n if len(value) == 1 else value


def out_size(size, kernel, stride, padding, dilation, ceil_mode):
    """The number of windows that fit; with ceil_mode including those that start inside but end outside."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    out = -(-reach // stride) if ceil_mode else reach // stride
    if ceil_mode and out * stride >= size + padding:
        out -= 1
    return out + 1


_COUNTS = {2: "two", 3: "three"}


def _setting(op, nd, name, value):
    """A setting of pooling in `nd` dims as a tuple. Raises RuntimeError for a wrong number of values."""
    out = pair(value, nd)
    if len(out) != nd:
        either = {"stride": "either be omitted, a single int,", "dilation": "be either a single int,"}
        rest = "either be a single int,"
        if op == "avg_pool3d" and name != "dilation":
            either, rest = {"stride": "be omitted, a single int,"}, "be a single int,"
        raise RuntimeError(f"{op}: {name} must {either.get(name, rest)} or a tuple of {_COUNTS[nd]} ints")
    return out


def _not_empty(op, x, nd):
    """Raise RuntimeError if an image of the batch `x` has no elements."""
    empty = [i for i, n in enumerate(x.shape) if not n and (i or x.ndim == nd + 1)]
    if not empty and x.ndim <= nd + 2:
        return
    if nd == 2:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(x.shape)}"
        )
    op = "max_pool3d_with_indices_out_cpu_template" if op == "max_pool3d" else op
    raise RuntimeError(
        f"{op}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
        f"{list(x.shape)} and non-batch dimension {empty[0] - (x.ndim == nd + 2)} has length zero!"
    )


def _check(op, x, kernel, stride, padding, dilation, ceil_mode):
    """The number of windows in each dim. Raises RuntimeError for invalid settings, in PyTorch's order."""
    for p, k, s, d in zip(padding, kernel, stride, dilation, strict=True):
        if s == 0:
            raise RuntimeError("stride should not be zero")
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > int((d * (k - 1) + 1) / 2):
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    for what, short, values in (
        ("kernel size", "k", kernel), ("stride", "d", stride), ("dilation", "dilation", dilation),
    ):  # fmt: skip
        if any(v <= 0 for v in values):
            raise RuntimeError(f"{what} should be greater than zero, but got {_by_dim(short, values)}")
    _not_empty(op, x, len(kernel))
    size = x.shape[-len(kernel) :]
    if op == "avg_pool3d" and any(n < k for n, k in zip(size, kernel, strict=True)):
        raise RuntimeError(
            f"input image ({_by_dim('', size)}) smaller than kernel size ({_by_dim('k', kernel)})"
        )
    if any(p > k // 2 for p, k in zip(padding, kernel, strict=True)):
        raise _too_much_padding(padding, kernel)
    out = tuple(
        out_size(*each, ceil_mode) for each in zip(size, kernel, stride, padding, dilation, strict=True)
    )
    if any(o < 1 for o in out):
        channels = x.shape[-len(kernel) - 1]
        raise RuntimeError(
            f"Given input size: ({'x'.join(map(str, (channels, *size)))}). Calculated output size: "
            f"({'x'.join(map(str, (channels, *out)))}). Output size is too small"
        )
    return out


def _by_dim(name, values):
    """A setting in PyTorch's messages, such as "kH: 2 kW: 3"."""
    return " ".join(f"{name}{dim}: {v}" for dim, v in zip("THW"[-len(values) :], values, strict=True))


def _too_much_padding(padding, kernel):
    text = "pad should be smaller than or equal to half of kernel size, but got "
    if len(kernel) == 2:
        return RuntimeError(
            f"{text}padW = {padding[1]}, padH = {padding[0]}, kW = {kernel[1]}, kH = {kernel[0]}"
        )
    places = (("T", 0), ("W", 2), ("H", 1))
    sizes = [f"k{k}: {kernel[i]}" for k, i in places] + [f"pad{k}: {padding[i]}" for k, i in places]
    return RuntimeError(text + " ".join(sizes))


def _framed(x, out, kernel, stride, padding, dilation, value):
    """Return x (n, c, *size) padded with `value`, just enough for `out` windows in each dim."""
    need = [(o - 1) * s + d * (k - 1) + 1 for o, s, d, k in zip(out, stride, dilation, kernel, strict=True)]
    after = [max(0, n - p - s) for n, p, s in zip(need, padding, x.shape[2:], strict=True)]
    if any(padding) or any(after):
        x = np.pad(x, [(0, 0), (0, 0), *zip(padding, after, strict=True)], constant_values=value)
    return x[(slice(None), slice(None), *[slice(0, n) for n in need])]


def _winner(seen):
    """The maximum along the last dim and its index: the first at a tie, but the last of several nan."""
    best = seen.argmax(-1)
    values = np.take_along_axis(seen, best[..., None], -1)[..., 0]
    lost = np.isnan(values) if seen.dtype.kind == "f" else np.False_
    if lost.any():
        best[lost] = seen.shape[-1] - 1 - np.isnan(seen[lost][..., ::-1]).argmax(-1)
    return values, best


def _max_pool(x, kernel, stride, padding, dilation, out):
    """The maximum of each window, and its position in the image; x has the spatial dims of the kernel last."""
    nd = len(kernel)
    low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    planes = x.reshape(1, math.prod(x.shape[:-nd]), *x.shape[-nd:])
    seen = windows(_framed(planes, out, kernel, stride, padding, dilation, low), kernel, stride, dilation)
    flat = np.moveaxis(seen.reshape(*planes.shape[:2], math.prod(kernel), *out), 2, -1)
    values, best = _winner(flat)
    # The position: where the window starts, plus the position in the window.
    place = np.zeros(best.shape, np.int64)
    offsets = np.unravel_index(best, kernel)
    for i in range(nd):
        shape = [1] * best.ndim
        shape[2 + i] = out[i]
        start = (np.arange(out[i]) * stride[i] - padding[i]).reshape(shape)
        place = place * x.shape[i - nd] + start + offsets[i] * dilation[i]
    shape = (*x.shape[:-nd], *out)
    return np.ascontiguousarray(values).reshape(shape), place.reshape(shape)


class Adjoint(Rule):
    """The VJP of a linear operation as an operation of its own: linear in g, and without effect on the
    operand itself.

    inputs  the gradient, and the operand; `back` is the VJP's own VJP, that is, the operation
    """

    inputs = ("grad_output", "self")
    keeps = ("self_sym_sizes",)

    def back(self, h):
        """What goes back to the gradient."""
        raise NotImplementedError

    def vjp(self, h):
        return self.back(h), both.zeros(self.args[-1], h)


def _paired(pool, gradient):
    """Link a pooling rule and the rule of its gradient."""
    pool.gradient, gradient.pool = gradient, pool


class _Winners(Adjoint):
    """Each g added to the winner of its window, found at one of `winners` in the flattened input.

    Math: y = put(zeros_like(self), winners, grad_output, accumulate=True).   VJP: to grad_output: take(g, winners); to self: 0.
    """

    keeps = ("winners", "self_sym_sizes")

    def forward(g, x, winners, *_):
        return both.brought_back(g, winners, x.shape)

    def back(self, h):
        return both.taken(h, self.args[0])


def _place_in_all(place, shape, nd):
    """Positions in the flattened array, from positions in each image."""
    planes = np.arange(math.prod(shape[:-nd])).reshape(shape[:-nd] + (1,) * nd)
    return place + planes * math.prod(shape[-nd:])


class MaxPool2DWithIndicesBackwardBackward0(_Winners):
    """The gradient of max_pool2d.   VJP: gg at the winners."""

    inputs = ("grad_output", "self")
    forward = _Winners.forward


class MaxPool2DWithIndicesBackward0(GeneralRule):
    """The largest element of each window.

    Math: y = max_pool(a, kernel_size=kernel_size, stride=stride, padding=padding, dilation=dilation, size=out).
    VJP: put(zeros_like(a), winners, g, accumulate=True); winners = max_pool_winners(a, kernel_size=kernel_size, stride=stride,
    padding=padding, dilation=dilation, size=out). All goes to the winner; an element that wins several windows gets their sum.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a and the winners' places.   PyTorch: torch.nn.functional.max_pool2d
    """

    layout = channels
    op = "max_pool2d_with_indices"
    inputs = saves = ("self", "result1")
    operands = extras = 1
    keeps = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    gradient = MaxPool2DWithIndicesBackwardBackward0

    def kept(self, name, value):
        return () if name == "stride" and self.args[-1] else super().kept(name, value)

    def forward(x, kernel, stride, padding, dilation, ceil_mode, out, default_stride):
        return _max_pool(x, kernel, stride, padding, dilation, out)

    def vjp(self, g, x, place):
        where = _place_in_all(both.array_of(place), tuple(x.shape), len(self.args[0]))
        return both.run(self.gradient, (g, x), where)


class MaxPool3DWithIndicesBackwardBackward0(_Winners):
    """The gradient of max_pool3d.   VJP: gg at the winners."""

    inputs = ("grad_output", "self")
    forward = _Winners.forward


class MaxPool3DWithIndicesBackward0(MaxPool2DWithIndicesBackward0):
    """The same for (n, c, d, h, w).

    PyTorch: torch.nn.functional.max_pool3d
    """

    op = "max_pool3d_with_indices"
    inputs = saves = ("self", "result1")
    operands = extras = 1
    gradient = MaxPool3DWithIndicesBackwardBackward0


def max_pool(nd, input, kernel, stride, padding, dilation, ceil_mode, return_indices):
    """max_pool2d and max_pool3d."""
    x = input._data
    op = f"max_pool{nd}d"
    kernel = _setting(op, nd, "kernel_size", kernel)
    default = stride is None or stride in ((), [])
    steps = kernel if default else _setting(op, nd, "stride", stride)
    padding, dilation = _setting(op, nd, "padding", padding), _setting(op, nd, "dilation", dilation)
    if x.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(f"non-empty {nd + 1}D or {nd + 2}D (batch mode) tensor expected for input")
    if x.dtype.kind == "b":
        raise not_for(x.dtype, op)
    out = _check(op, x, kernel, steps, padding, dilation, ceil_mode)
    rule = MaxPool2DWithIndicesBackward0 if nd == 2 else MaxPool3DWithIndicesBackward0
    both_results = call_for_all(rule, (input,), kernel, steps, padding, dilation, ceil_mode, out, default)
    return both_results if return_indices else both_results[0]


class AvgPool2DBackward0(Rule):
    """The mean of each window.

    Math: y = window_sums(a, kernel_size=kernel_size, stride=stride, padding=padding, size=out) / n; n = divisor_override if
    divisor_override else product(kernel_size) if max(padding) == 0 and not ceil_mode else window_sizes(shape(a),
    kernel_size=kernel_size, stride=stride, padding=padding, count_include_pad=count_include_pad, size=out).
    VJP: add_to_windows(g / n, zeros_like(a), kernel_size=kernel_size, stride=stride, padding=padding).
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a.   PyTorch: torch.nn.functional.avg_pool2d
    """

    layout = channels
    op = "avg_pool2d"
    saves = ("self",)
    keeps = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    def forward(x, kernel, stride, padding, ceil_mode, include_pad, divisor, out, default_stride):
        nd = len(kernel)
        one = (1,) * nd
        planes = x.reshape(1, math.prod(x.shape[:-nd]), *x.shape[-nd:])
        seen = windows(_framed(planes, out, kernel, stride, padding, one, 0), kernel, stride, one)
        total = seen.sum(tuple(range(2, 2 + nd))).reshape(*x.shape[:-nd], *out)
        counts = _counts(x.shape[-nd:], out, kernel, stride, padding, include_pad, divisor).astype(x.dtype)
        return total / counts if x.dtype.kind == "f" else np.trunc(total / counts).astype(x.dtype)

    def vjp(self, g, x):
        return both.run(self.gradient, (g, x), *self.args)

    def kept(self, name, value):
        return () if name == "stride" and self.args[-1] else super().kept(name, value)


class AvgPool3DBackward0(AvgPool2DBackward0):
    """The same for (n, c, d, h, w).

    PyTorch: torch.nn.functional.avg_pool3d
    """

    op = "avg_pool3d"


class AvgPool2DBackwardBackward0(Adjoint):
    """The gradient of avg_pool2d: g / number of elements, to each element of the window.

    Math: y = add_to_windows(a / n, zeros_like(b), kernel_size=kernel_size, stride=stride, padding=padding); n = divisor_override
    if divisor_override else product(kernel_size) if max(padding) == 0 and not ceil_mode else window_sizes(shape(b),
    kernel_size=kernel_size, stride=stride, padding=padding, count_include_pad=count_include_pad, size=out).
    VJP: to a: window_sums(g, kernel_size=kernel_size, stride=stride, padding=padding, size=out) / n; to b: 0.
    """

    inputs = ("grad_output", "self")
    keeps = (*AvgPool2DBackward0.keeps, "out", "default_stride", "self_sym_sizes")

    def forward(g, x, kernel, stride, padding, ceil_mode, include_pad, divisor, out, default_stride, *_):
        nd = len(kernel)
        size = x.shape[-nd:]
        g = g / _counts(size, out, kernel, stride, padding, include_pad, divisor).astype(g.dtype)
        planes = g.reshape(1, math.prod(x.shape[:-nd]), *[1] * nd, *out)
        pieces = np.broadcast_to(planes, (*planes.shape[:2], *kernel, *out))
        need = [
            max((o - 1) * s + k, p + n)
            for o, s, k, p, n in zip(out, stride, kernel, padding, size, strict=True)
        ]
        whole = unwindow(pieces, need, stride, (1,) * nd)
        inside = tuple(slice(p, p + n) for p, n in zip(padding, size, strict=True))
        return np.ascontiguousarray(whole[(slice(None), slice(None), *inside)]).reshape(x.shape)

    def back(self, h):
        return both.run(self.pool, (h,), *self.args[:-1])


class AvgPool3DBackwardBackward0(AvgPool2DBackwardBackward0):
    """The same for (n, c, d, h, w)."""


_paired(AvgPool2DBackward0, AvgPool2DBackwardBackward0)
_paired(AvgPool3DBackward0, AvgPool3DBackwardBackward0)


def _counts(size, out, kernel, stride, padding, include_pad, divisor):
    """The divisor of each window's sum, as an array of shape `out`."""
    if divisor is not None:
        return np.full(out, divisor)
    counts = np.ones((1,) * len(out), np.int64)
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
    op = f"avg_pool{nd}d"
    kernel = _setting(op, nd, "kernel_size", kernel)
    default = stride is None or stride in ((), [])
    steps = kernel if default else _setting(op, nd, "stride", stride)
    padding = _setting(op, nd, "padding", padding)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if nd == 3 and x.ndim not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    if x.ndim < nd + 1:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got {-nd - 1})"
        )
    if (x.dtype.kind != "f" and x.dtype != np.int64) or (nd == 3 and x.dtype.itemsize == 2):
        raise not_for(x.dtype, op if nd == 2 else f"{op}_out_frame")
    out = _check(op, x, kernel, steps, padding, (1,) * nd, ceil_mode)
    rule = AvgPool2DBackward0 if nd == 2 else AvgPool3DBackward0
    return apply(rule, (input,), kernel, steps, padding, ceil_mode, include_pad, divisor, out, default)


# -- adaptive -----------------------------------------------------------------------------------------


def _cells(size, out):
    """(cell, slices) for each position of the output: cell i of n covers floor(i s / n) to ceil((i + 1) s / n)."""
    for cell in itertools.product(*map(range, out)):
        yield (
            cell,
            tuple(slice(i * s // n, -(-(i + 1) * s // n)) for i, s, n in zip(cell, size, out, strict=True)),
        )


class AdaptiveAvgPool2DBackward0(Rule):
    """The means of a grid of cells that covers the whole image.

    Math: y = cell_means(a, out).
    VJP: add_to_cells(g, zeros_like(a)). Every element of a cell gets g divided by the size of the cell.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a.   PyTorch: torch.nn.functional.adaptive_avg_pool2d
    """

    layout = channels
    op = "_adaptive_avg_pool2d"
    saves = ("self",)

    def forward(x, out):
        y = np.empty((*x.shape[: -len(out)], *out), x.dtype)
        dims = tuple(range(-len(out), 0))
        for cell, where in _cells(x.shape[-len(out) :], out):
            y[(..., *cell)] = x[(..., *where)].mean(dims)
        return y

    def vjp(self, g, x):
        _check_gradient(self, g)
        return both.run(self.gradient, (g, x), *self.args)


class AdaptiveAvgPool2DBackwardBackward0(Adjoint):
    """The gradient of adaptive_avg_pool2d: g / size of the cell, to each element of it.

    Math: y = add_to_cells(a, zeros_like(b)).   VJP: to a: cell_means(g, output_size); to b: 0.
    """

    inputs = ("grad_output", "self")
    keeps = ("output_size", "self_sym_sizes")

    def forward(g, x, out, *_):
        whole = np.zeros(x.shape, g.dtype)
        for cell, where in _cells(x.shape[-len(out) :], out):
            part = whole[(..., *where)]
            part += g[(..., *cell)][(..., *[None] * len(out))] / math.prod(part.shape[-len(out) :])
        return whole

    def back(self, h):
        return both.run(self.pool, (h,), self.args[0])


class AdaptiveAvgPool3DBackward0(AdaptiveAvgPool2DBackward0):
    """The same for (n, c, d, h, w).

    PyTorch: torch.nn.functional.adaptive_avg_pool3d
    """

    op = "_adaptive_avg_pool3d"


class AdaptiveAvgPool3DBackwardBackward0(AdaptiveAvgPool2DBackwardBackward0):
    """The same for (n, c, d, h, w)."""


_paired(AdaptiveAvgPool2DBackward0, AdaptiveAvgPool2DBackwardBackward0)
_paired(AdaptiveAvgPool3DBackward0, AdaptiveAvgPool3DBackwardBackward0)


def adaptive_avg_pool2d(input, out):
    """The means of a grid of `out` cells."""
    return _adaptive_avg_pool(AdaptiveAvgPool2DBackward0, "adaptive_avg_pool2d", input, out)


def adaptive_avg_pool3d(input, out):
    """The means of a grid of `out` cells."""
    return _adaptive_avg_pool(AdaptiveAvgPool3DBackward0, "adaptive_avg_pool3d", input, out)


def _adaptive_avg_pool(rule, name, input, out):
    x, nd = input._data, int(name[-2])
    if x.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(f"{name}(): Expected {nd + 1}D or {nd + 2}D tensor, but got {list(x.shape)}")
    _check_out(name, out, nd)
    if out == (1,) * nd:
        return input.mean(tuple(range(-1, -1 - nd, -1)), keepdim=True)
    check_cells(name, x, range(x.ndim - 2, x.ndim) if nd == 2 else range(1, x.ndim))
    floats_only(x, name if nd == 2 else f"{name}_cpu")
    return apply(rule, (input,), out)


def check_cells(name, x, dims):
    """Raise RuntimeError if `x` has no elements along one of `dims`."""
    for i in dims:
        if not x.shape[i]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(x.shape)} with dimension {i} being empty"
            )


def _check_gradient(node, g):
    """Raise PyTorch's RuntimeError for an output without cells."""
    for i, n in enumerate(g.shape):
        if i and not n:
            raise RuntimeError(
                f"{node.op.lstrip('_')}_backward(): Expected grad_output to have non-zero size for non-batch dimensions, but "
                f"grad_output has sizes {list(g.shape)} with dimension {i} being empty"
            )


def _check_out(name, out, nd):
    if len(out) != nd:
        raise RuntimeError(f"{name}: output_size must be {nd}")
    if any(n < 0 for n in out):
        sizes = ", ".join(map(str, out))
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{sizes}}}"
        )


class AdaptiveMaxPool2DBackwardBackward0(_Winners):
    """The gradient of adaptive_max_pool2d.   VJP: gg at the winners."""

    inputs = ("grad_output", "self")
    forward = _Winners.forward


class AdaptiveMaxPool2DBackward0(GeneralRule):
    """The largest elements of a grid of cells that covers the whole image.

    Math: y = cell_maxima(a, out).
    VJP: put(zeros_like(a), cell_winners(a, out), g, accumulate=True). All goes to the winner of each cell.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a and the winners' places.   PyTorch: torch.nn.functional.adaptive_max_pool2d
    """

    layout = channels
    op = "adaptive_max_pool2d"
    inputs = saves = ("self", "result1")
    operands = extras = 1
    gradient = AdaptiveMaxPool2DBackwardBackward0

    def forward(x, out):
        nd = len(out)
        lead, size = x.shape[:-nd], x.shape[-nd:]
        numbers = np.arange(math.prod(size)).reshape(size)
        y, place = np.empty((*lead, *out), x.dtype), np.empty((*lead, *out), np.int64)
        for cell, where in _cells(size, out):
            inside = numbers[where].reshape(-1)
            y[(..., *cell)], best = _winner(x[(..., *where)].reshape(*lead, len(inside)))
            place[(..., *cell)] = inside[best]
        return y, place

    def vjp(self, g, x, place):
        _check_gradient(self, g)
        where = _place_in_all(both.array_of(place), tuple(x.shape), len(self.args[0]))
        return both.run(self.gradient, (g, x), where)


class AdaptiveMaxPool3DBackwardBackward0(_Winners):
    """The gradient of adaptive_max_pool3d.   VJP: gg at the winners."""

    inputs = ("grad_output", "self")
    forward = _Winners.forward


class AdaptiveMaxPool3DBackward0(AdaptiveMaxPool2DBackward0):
    """The same for (n, c, d, h, w).

    PyTorch: torch.nn.functional.adaptive_max_pool3d
    """

    op = "adaptive_max_pool3d"
    inputs = saves = ("self", "result1")
    operands = extras = 1
    gradient = AdaptiveMaxPool3DBackwardBackward0


def adaptive_max_pool2d(input, out, return_indices=False):
    """The largest elements of a grid of `out` cells."""
    return _adaptive_max_pool(AdaptiveMaxPool2DBackward0, 2, input, out, return_indices)


def adaptive_max_pool3d(input, out, return_indices=False):
    """The largest elements of a grid of `out` cells."""
    return _adaptive_max_pool(AdaptiveMaxPool3DBackward0, 3, input, out, return_indices)


def _adaptive_max_pool(rule, nd, input, out, return_indices):
    x = input._data
    name = f"adaptive_max_pool{nd}d"
    if len(out) != nd:
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {nd}")
    if x.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(f"{name}(): Expected {nd + 1}D or {nd + 2}D tensor, but got: {list(x.shape)}")
    check_cells(name, x, range(1, x.ndim))
    floats_only(x, name if nd == 2 else f"{name}_cpu")
    if any(n < 0 for n in out):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(out)}: {[*input.shape[: -len(out)], *out]}"
        )
    both_results = call_for_all(rule, (input,), out)
    return both_results if return_indices else both_results[0]


def as_row(fn, input, *args):
    """One-dimensional pooling as two-dimensional: an image of one row."""
    result = fn(input.unsqueeze(-2), *args)
    if isinstance(result, tuple):
        return tuple(r.squeeze(-2) for r in result)
    return result.squeeze(-2)


def of_row(op, name, value, before):
    """The setting `name` of the one-dimensional pool `op`, converted to two dims."""
    if value is None:
        return None
    return (before, *one_number(op, name, value))


def one_number(op, name, value):
    """A setting of the one-dimensional pool `op` as a tuple. Raises RuntimeError unless it is one number."""
    value = (value,) if isinstance(value, int) else tuple(value)
    if len(value) != 1:
        raise RuntimeError(f"{op}() argument '{name}' should contain one int (got {len(value)})")
    return value


def two_or_three_dims(name, input):
    """Raise RuntimeError unless `input` is a sequence, or a batch of them."""
    if input._data.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input._data.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )


def _check_row(x, settings, ceil_mode):
    """The errors of max_pool1d for invalid settings, if no indices are requested."""
    if x.ndim not in (2, 3) or 0 in x.shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(x.shape)}"
        )
    for name, value in settings.items():
        if not isinstance(value, int) and len(value) != 1:
            kind = "None, an int, list of ints," if name == "stride" else "an int, list of ints"
            kind += "," if name == "padding" else ""
            raise RuntimeError(
                f"max_pool1d() {name} must be {kind} or tuple of ints of size 1 but got size {len(value)}"
            )
    kernel, stride, padding, dilation = (v if isinstance(v, int) else v[0] for v in settings.values())
    for name, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and kernel_size={kernel}"
        )
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    out = out_size(x.shape[-1], kernel, stride, padding, dilation, ceil_mode)
    if out <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {out}")
    floats_only(x, "max_pool1d_impl")


def max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    """The largest element of each window of the last dim."""
    stride = kernel_size if stride is None or stride in ((), []) else stride
    settings = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    if return_indices:
        two_or_three_dims("max_pool1d", input)
    else:
        _check_row(input._data, settings, ceil_mode)
    settings = [of_row("max_pool1d", name, value, int(name != "padding")) for name, value in settings.items()]
    return as_row(lambda x: max_pool(2, x, *settings, ceil_mode, return_indices), input)


@function(method=False)
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest element of each window of the last dim, and their positions (torch.max_pool1d_with_indices)."""
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def adaptive_max_pool1d(input, out, return_indices):
    """The largest elements of cells that cover the last dim."""
    out = one_number("adaptive_max_pool1d", "output_size", out)
    two_or_three_dims("adaptive_max_pool1d", input)
    check_cells("adaptive_max_pool1d", input._data, range(1, input._data.ndim))
    return as_row(adaptive_max_pool2d, input, (1, *out), return_indices)


@function(method=False, name="adaptive_max_pool1d")
def _adaptive_max_pool1d(input, output_size):
    """The largest elements of `output_size` cells that cover the last dim, and their positions (torch.adaptive_max_pool1d)."""
    return adaptive_max_pool1d(input, output_size, True)


# -- at places of chance ------------------------------------------------------------------------------


@kernel
def window_samples(shape, dtype):
    """Uniform random numbers from the default generator, which shift the windows of fractional pooling."""
    return rng_of().uniform(0, 1, shape, dtype)


def _starts(u, size, kernel, out):
    """Where `out` windows begin in a dim of `size`: steps of two lengths, in an order that `u` (planes,) decides -> (planes, out)."""
    starts = np.full((len(u), out), size - kernel)
    if out > 1:
        step = u.dtype.type(size - kernel) / u.dtype.type(out - 1)
        first = np.arange(out - 1, dtype=u.dtype)
        starts[:, :-1] = ((first + u[:, None]) * step).astype(np.int64) - (u[:, None] * step).astype(np.int64)
    return starts


class FractionalMaxPool2DBackwardBackward0(_Winners):
    """The gradient of fractional_max_pool2d.   VJP: gg at the winners."""

    inputs = ("grad_output", "self")
    forward = _Winners.forward


class FractionalMaxPool2DBackward0(GeneralRule):
    """The largest element of windows that lie at random distances, so that they are `out` in number.

    Math: y = fractional_max_pool(a, b, kernel_size=kernel_size, output_size=output_size).
    VJP: put(zeros_like(a), winners, g, accumulate=True); winners = fractional_max_pool_winners(a, b, kernel_size=kernel_size,
    output_size=output_size). All goes to the winner of each window.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: a and the winners' places.   PyTorch:
    torch.nn.functional.fractional_max_pool2d
    """

    op = "fractional_max_pool2d"
    inputs = ("self", "random_samples", "result1")
    saves = ("self", "result1")
    operands = extras = 1
    keeps = ("kernel_size", "output_size")
    gradient = FractionalMaxPool2DBackwardBackward0

    def forward(x, samples, kernel, out):
        nd = len(out)
        size = x.shape[-nd:]
        planes = x.reshape(math.prod(x.shape[:-nd]), math.prod(size))
        n = x.shape[0] if x.ndim == nd + 2 else 1
        samples = samples[:n].reshape(len(planes), nd)
        samples = samples[:, ::-1] if nd == 2 else samples  # for an image, the width comes first
        place = np.zeros((len(planes), *[1] * (2 * nd)), np.int64)
        for i in range(nd):
            starts = _starts(samples[:, i], size[i], kernel[i], out[i])
            inside = starts[..., None] + np.arange(kernel[i])
            shape = [len(planes), *[1] * (2 * nd)]
            shape[1 + i], shape[1 + nd + i] = out[i], kernel[i]
            place = place * size[i] + inside.reshape(shape)
        place = place.reshape(len(planes), math.prod(out), math.prod(kernel))
        seen = np.take_along_axis(planes[:, None], place, 2)
        values, best = _winner(seen)
        where = np.take_along_axis(place, best[..., None], -1)
        shape = (*x.shape[:-nd], *out)
        return values.reshape(shape), where.reshape(shape)

    def vjp(self, g, x, place):
        where = _place_in_all(both.array_of(place), tuple(x.shape), len(self.args[0]))
        return both.run(self.gradient, (g, x), where)


class FractionalMaxPool3DBackwardBackward0(_Winners):
    """The gradient of fractional_max_pool3d.   VJP: gg at the winners."""

    inputs = ("grad_output", "self")
    forward = _Winners.forward


class FractionalMaxPool3DBackward0(FractionalMaxPool2DBackward0):
    """The same for (n, c, d, h, w).

    PyTorch: torch.nn.functional.fractional_max_pool3d
    """

    op = "fractional_max_pool3d"
    inputs = ("self", "random_samples", "result1")
    saves = ("self", "result1")
    operands = extras = 1
    gradient = FractionalMaxPool3DBackwardBackward0


def fractional_max_pool(nd, input, kernel, out, samples, return_indices):
    """fractional_max_pool2d and fractional_max_pool3d.

    samples  (n, c, nd) numbers from [0, 1), or None: drawn
    """
    x, op = input._data, f"fractional_max_pool{nd}d"
    several = "Ints" if nd == 2 else "three Ints"
    if x.ndim <= nd:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got {-nd - 1})"
        )
    n = 1 if x.ndim == nd + 1 else x.shape[0]
    if samples is None:
        floats_only(x, "check_uniform_bounds")
        samples = drawn("window_samples", (n, x.shape[-nd - 1], nd), x.dtype)
    kernel, out = [(v,) * nd if isinstance(v, (int, np.integer)) else tuple(v) for v in (kernel, out)]
    for name, value in (("kernel_size", kernel), ("output_size", out)):
        if len(value) != nd:
            raise RuntimeError(f"{op}: {name} must either be a single Int or tuple of {several}")
    _check_samples(x, samples._data, n, nd)
    place = op if nd == 2 else f"{op}_out"
    for i in range(x.ndim - nd - 1, x.ndim):
        if not x.shape[i]:
            raise RuntimeError(
                f"{place}(): Expected input to have non-zero size for non-batch dimensions, but got{list(x.shape)} with "
                f"dimension {i} being empty."
            )
    for name, size, o, k in zip(("time", "height", "width")[-nd:], x.shape[-nd:], out, kernel, strict=True):
        if o + k - (nd == 2) > size:  # volumes need one more position
            raise RuntimeError(f"{place}(): pool {name} {k} too large relative to input {name} {size}")
    if min(out) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(out)}: {[*x.shape[:-nd], *out]}"
        )
    rule = FractionalMaxPool2DBackward0 if nd == 2 else FractionalMaxPool3DBackward0
    both_results = call_for_all(rule, (input, samples), kernel, out)
    return both_results if return_indices else both_results[0]


def _check_samples(x, samples, n, nd):
    """Raise RuntimeError unless there is a number for each dim of each plane."""
    if samples.dtype != x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < n:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != x.shape[-nd - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != nd:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {nd}; got {samples.shape[2]}.")


# -- undone -------------------------------------------------------------------------------------------


class MaxUnpool2DBackward0(Rule):
    """Elements put back to the places they were taken from; zero between them.

    Math: y = put(zeros(shape(y)), in_all(indices, out), a).
    VJP: take(g, in_all(indices, out)). The places, counted in each image, should differ: of two elements that meet, the last one
    stays.
    Shapes: (n, c, h, w) -> (n, c, oh, ow).   Saves: the places.   PyTorch: torch.nn.functional.max_unpool2d
    """

    layout = channels
    op = "max_unpool2d"
    inputs = ("self", "indices")
    operands = 1
    saves = ("indices",)

    @classmethod
    def linear(cls, args):
        return True

    def forward(x, place, out):
        lead = x.shape[: -len(out)]
        planes = np.zeros((math.prod(lead), math.prod(out)), x.dtype)
        per_plane = (len(planes), math.prod(x.shape[-len(out) :]))
        if planes.size:
            np.put_along_axis(planes, place.reshape(per_plane), x.reshape(per_plane), 1)
        return planes.reshape(*lead, *out)

    def vjp(self, g, place):
        place = both.array_of(place)
        nd = len(self.args[0])
        per_plane = (*place.shape[:-nd], math.prod(place.shape[-nd:]))
        if isinstance(g, Variable) and place.size:
            g = g.contiguous(memory_format=channels_last if has_channels_last(place) else contiguous_format)
            return both.take_along(g.view(*per_plane[:-1], -1), place.reshape(per_plane), -1).view(
                place.shape
            )
        per_image = (*per_plane[:-1], math.prod(g.shape[-nd:]))
        return both.take_along(g.reshape(per_image), place.reshape(per_plane), -1).reshape(place.shape)


class MaxUnpool3DBackward0(MaxUnpool2DBackward0):
    """The same for (n, c, d, h, w).

    PyTorch: torch.nn.functional.max_unpool3d
    """

    op = "max_unpool3d"


def max_unpool(input, indices, out, stride):
    """max_unpool2d and max_unpool3d, according to the number of sizes in `out`."""
    x, place, nd = input._data, indices._data, len(out)
    if place.dtype != np.int64:
        got = f" but got: {indices.dtype.type_name}" if nd == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{got}")
    if x.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(
            f"Input to max_unpooling{nd}d should be a {nd + 1}d or {nd + 2}d Tensor, but got a tensor with {x.ndim} dimensions."
        )
    if place.shape != x.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(x.shape)}) but got indices tensor with "
            f"shape: {list(place.shape)}"
        )
    if nd == 3 and min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    for i in range(1, x.ndim):
        if not x.shape[i]:
            raise RuntimeError(
                f"max_unpooling{nd}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got "
                f"{list(x.shape)} with dimension {i} being empty."
            )
    floats_only(x, f"max_unpool{nd}d")
    count = math.prod(out)
    wrong = place[(place < 0) | (place >= count)] if count else place[:0]
    if wrong.size:
        raise RuntimeError(
            f"Found an invalid max index: {wrong.flat[-1]} (output volumes are of size {'x'.join(map(str, out))})"
        )
    return apply(MaxUnpool2DBackward0 if nd == 2 else MaxUnpool3DBackward0, (input, indices), tuple(out))


__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "as_row",
    "avg_pool",
    "check_cells",
    "fractional_max_pool",
    "max_pool",
    "max_pool1d",
    "max_unpool",
    "of_row",
    "out_size",
    "pair",
    "two_or_three_dims",
]
