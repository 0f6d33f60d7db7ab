"""The rules of convolution and of fold/unfold: one bilinear map and its two adjoints, each differentiable through the others.

    conv          x, w -> y      y[n, o, i] = sum over channels c and places k of w[o, c, k] x[n, c, i stride
    + k dilation - padding] to_input      g, w -> gx     what conv sends to x; also the forward of conv_transpose
    to_weight     g, x -> gw     what conv sends to w

All for any number of spatial dims, by im2col: the windows of x side by side as a matrix, then one matrix product.
Further down: padding, interpolation to another size, and grid sampling.
"""

import itertools
import math
import operator
from typing import NamedTuple

import numpy as np

from ..autograd.errors import CPP_NAMES, TYPE_NAMES, not_for, other_type
from ..autograd.record import apply
from ..autograd.variable import Variable, wrap
from ..dtypes import number_as
from ..layout import channels
from ..world.warning import warn_once
from . import array_or_tensor as both
from .general import GeneralRule, call, gradients
from .rule import Rule, floats_only, function, no_bools

# -- on arrays ----------------------------------------------------------------------------------------


def _padded(x, padding):
    if not any(padding):
        return x
    return np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])


def windows(x, kernel, stride, dilation):
    """All windows of the (padded) x: a view of shape (n, c, *kernel, *out)."""
    n, c, *size = x.shape
    out = [
        (s - d * (k - 1) - 1) // st + 1 for s, k, st, d in zip(size, kernel, stride, dilation, strict=True)
    ]
    step = x.strides
    return np.lib.stride_tricks.as_strided(
        x,
        (n, c, *kernel, *out),
        (
            *step[:2],
            *[s * d for s, d in zip(step[2:], dilation, strict=True)],
            *[s * t for s, t in zip(step[2:], stride, strict=True)],
        ),
        writeable=False,
    )


def unwindow(pieces, size, stride, dilation):
    """The adjoint of `windows`: pieces (n, c, *kernel, *out) added up where they came from, as (n, c, *size)."""
    nd = len(size)
    n, c = pieces.shape[:2]
    kernel, out = pieces.shape[2 : 2 + nd], pieces.shape[2 + nd :]
    whole = np.zeros((n, c, *size), pieces.dtype)
    for k in itertools.product(*map(range, kernel)):
        where = tuple(
            slice(i * d, i * d + (o - 1) * s + 1, s)
            for i, d, o, s in zip(k, dilation, out, stride, strict=True)
        )
        whole[(slice(None), slice(None), *where)] += pieces[(slice(None), slice(None), *k)]
    return whole


def _crop(x, padding):
    if not any(padding):
        return x
    inside = [slice(p, x.shape[i + 2] - p) for i, p in enumerate(padding)]
    return np.ascontiguousarray(x[(slice(None), slice(None), *inside)])


def conv(x, w, how):
    """The convolution of x (n, c, *size) with w (o, c / groups, *kernel)."""
    columns = _columns(x, how)
    n = x.shape[0]
    columns = columns.reshape(n, how.groups, math.prod(w.shape[1:]), math.prod(how.out))
    return (w.reshape(how.groups, w.shape[0] // how.groups, math.prod(w.shape[1:])) @ columns).reshape(
        n, w.shape[0], *how.out
    )


def to_input(g, w, how):
    """The gradient g (n, o, *out) of a convolution, sent to its input."""
    n, o = g.shape[:2]
    groups, out = how.groups, how.out
    flat = w.reshape(groups, o // groups, math.prod(w.shape[1:])).swapaxes(1, 2)
    pieces = flat @ g.reshape(n, groups, o // groups, math.prod(out))
    pieces = pieces.reshape(n, groups * w.shape[1], *how.kernel, *out)
    size = [s + 2 * p for s, p in zip(how.size, how.padding, strict=True)]
    return _crop(unwindow(pieces, size, how.stride, how.dilation), how.padding)


def to_weight(g, x, how):
    """The gradient g (n, o, *out) of a convolution, sent to its weight."""
    n, o = g.shape[:2]
    groups, per = how.groups, x.shape[1] // how.groups * math.prod(how.kernel)
    columns = _columns(x, how).reshape(n, groups, per, math.prod(how.out))
    columns = columns.transpose(1, 0, 3, 2).reshape(groups, n * math.prod(how.out), per)
    rows = g.reshape(n, groups, o // groups, math.prod(how.out)).transpose(1, 2, 0, 3)
    return (rows.reshape(groups, o // groups, n * math.prod(how.out)) @ columns).reshape(
        o, x.shape[1] // groups, *how.kernel
    )


def _columns(x, how):
    columns = windows(_padded(x, how.padding), how.kernel, how.stride, how.dilation)
    return columns[(..., *[slice(0, n) for n in how.out])]


class How(NamedTuple):
    """One convolution: the spatial sizes of its input, weight and output, and how the weight slides."""

    size: tuple
    kernel: tuple
    out: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int


# -- rules --------------------------------------------------------------------------------------------


class ConvolutionBackward0(GeneralRule):
    """Convolution: a small weight slid over the input.

    Math: y = z if bias is None else z + reshape(bias, (-1,) + (1,) * (ndim(y) - 2)); z = conv(input, weight, stride=stride,
    padding=padding, dilation=dilation, groups=groups).
    VJP: to input: conv_input(shape(input), weight, g, stride=stride, padding=padding, dilation=dilation, groups=groups); to
    weight: conv_weight(input, shape(weight), g, stride=stride, padding=padding, dilation=dilation, groups=groups); to bias:
    sum(reshape(g, (size(y, 0), size(y, 1), -1)), (0, 2)). To the input every window gets the weight times its g; the weight gets
    the sum of the windows, each times its g.
    Shapes: x (n, c, *size), w (o, c / groups, *kernel), b (o,) -> (n, o, *out).   Saves: x and w.   PyTorch: torch.conv2d
    """

    layout = channels
    op = "convolution"
    inputs = ("input", "weight", "bias")
    saves = ("input", "weight")
    keeps = ("stride", "padding", "dilation", "groups", "transposed", "output_padding", "bias_sym_sizes_opt")

    def forward(x, w, b, *args):
        return _biased(conv(x, w, args[-1]), b)

    def vjp(self, g, x, w):
        return _gradients(self, g, x, w)


class ConvTransposeBackward0(ConvolutionBackward0, name="ConvolutionBackward0"):
    """Transposed convolution: the map that sends a convolution's gradient to its input, used as a layer.

    Math: y = z if bias is None else z + reshape(bias, (-1,) + (1,) * (ndim(y) - 2)); z = conv_transpose(input, weight,
    stride=stride, padding=padding, dilation=dilation, groups=groups, output_padding=output_padding).
    VJP: to input: conv(g, weight, stride=stride, padding=padding, dilation=dilation, groups=groups); to weight: conv_weight(g,
    shape(weight), input, stride=stride, padding=padding, dilation=dilation, groups=groups); to bias: sum(reshape(g, (size(y, 0),
    size(y, 1), -1)), (0, 2)). It is what a convolution sends to its input, so a convolution takes the gradient back.
    Shapes: x (n, c, *size), w (c, o / groups, *kernel), b (o,).   Saves: x and w.   PyTorch: torch.conv_transpose2d
    """

    def forward(x, w, b, *args):
        return _biased(to_input(x, w, args[-1]), b)

    def vjp(self, g, x, w):
        return _gradients(self, g, x, w)


def _gradients(node, g, x, w):
    wanted = node.needs(0), node.needs(1), node.needs(2)
    return gradients(ConvolutionBackwardBackward0, wanted, (g, x, w), *node.args[:6], node.args[-1])


def _biased(out, b):
    if b is not None:
        out += b.reshape(-1, *[1] * (out.ndim - 2))
    return out


class ConvolutionBackwardBackward0(GeneralRule):
    """The VJP of a convolution, or of a transposed one, as an operation of three results.

    Math: y0 = conv(grad_output, weight, stride=stride, padding=padding, dilation=dilation, groups=groups) if transposed else
    conv_input(shape(input), weight, grad_output, stride=stride, padding=padding, dilation=dilation, groups=groups); y1 =
    conv_weight(grad_output, shape(weight), input, stride=stride, padding=padding, dilation=dilation, groups=groups) if transposed
    else conv_weight(input, shape(weight), grad_output, stride=stride, padding=padding, dilation=dilation, groups=groups); y2 =
    sum(reshape(grad_output, (size(grad_output, 0), size(grad_output, 1), -1)), (0, 2)).
    VJP: to grad_output: of_x + of_w + of_b; to input: nothing if numel(y1) == 0 else conv(grad_output, g1, stride=stride,
    padding=padding, dilation=dilation, groups=groups) if transposed else conv_input(shape(input), g1, grad_output, stride=stride,
    padding=padding, dilation=dilation, groups=groups); to weight: nothing if numel(y0) == 0 else conv_weight(grad_output,
    shape(weight), g0, stride=stride, padding=padding, dilation=dilation, groups=groups) if transposed else conv_weight(g0,
    shape(weight), grad_output, stride=stride, padding=padding, dilation=dilation, groups=groups); of_x = 0 if numel(y0) == 0 else
    conv_input(shape(grad_output), weight, g0, stride=stride, padding=padding, dilation=dilation, groups=groups) if transposed
    else conv(g0, weight, stride=stride, padding=padding, dilation=dilation, groups=groups); of_w = 0 if numel(y1) == 0 else
    conv_input(shape(grad_output), g1, input, stride=stride, padding=padding, dilation=dilation, groups=groups) if transposed else
    conv(input, g1, stride=stride, padding=padding, dilation=dilation, groups=groups); of_b = 0 if numel(y2) == 0 else reshape(g2,
    (-1,) + (1,) * (ndim(input) - 2)).
    Shapes: those of g, x and w.   Saves: all three.
    """

    op = "convolution_backward"
    inputs = saves = ("grad_output", "input", "weight")
    keeps = ("stride", "padding", "dilation", "groups", "transposed", "output_padding")
    plain = False

    def forward(g, x, w, *args):
        transposed, how, wanted = args[4], *args[-2:]
        to_x, pair = (conv, (x, g)) if transposed else (to_input, (g, x))
        return (
            to_x(g, w, how) if wanted[0] else None,
            to_weight(*pair, how) if wanted[1] else None,
            _over_places(g) if wanted[2] else None,
        )

    def vjp(self, grads, g, x, w):
        a, c, d = grads
        transposed, how = self.args[4], self.args[-1]
        forth, back = (_ToInput, _Conv) if transposed else (_Conv, _ToInput)
        to_g = to_x = to_w = None
        if a is not None:
            to_g = _map(forth, a, w, how)
            to_w = _map(_ToWeight, *((a, g) if transposed else (g, a)), how)
        if c is not None:
            to_g, to_x = both.plus(to_g, _map(forth, x, c, how)), _map(back, g, c, how)
        if d is not None and d.shape == g.shape[1:2]:  # empty for a convolution without bias
            to_g = both.plus(to_g, _at_all_places(d, g))
        return to_g, to_x, to_w


def _over_places(g):
    return g.sum((0, *range(2, len(g.shape))))


def _at_all_places(d, g):
    return both.expand(d.reshape((1, -1) + (1,) * (len(g.shape) - 2)), g.shape)


def _map(rule, a, b, how):
    """One of the three maps: called directly on arrays, recorded on Tensors, with a third edge for the absent bias."""
    if isinstance(a, Variable) or isinstance(b, Variable):
        return call(rule, (a, b, None), how)
    return rule.forward(a, b, None, how)


class _Conv(GeneralRule, name="ConvolutionBackward0"):
    """A convolution inside the gradient of a gradient.

    Math: y = conv(input, weight, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]).
    VJP: to input: conv_input(shape(input), weight, g, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]); to weight:
    conv_weight(input, shape(weight), g, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]).
    """

    inputs, saves = ("input", "weight", "bias"), ("input", "weight")

    def forward(x, w, _, how):
        return conv(x, w, how)

    def vjp(self, g, x, w):
        return _two(self, (_ToInput, g, w), (_ToWeight, g, x))


class _ToInput(GeneralRule, name="ConvolutionBackward0"):
    """What a convolution sends to its input, as an operation of its own.

    Math: y = conv_input(shape(y), weight, grad, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]).
    VJP: to grad: conv(g, weight, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]); to weight: conv_weight(g,
    shape(weight), grad, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]).
    """

    inputs, saves = ("grad", "weight", "bias"), ("grad", "weight")

    def forward(g, w, _, how):
        return to_input(g, w, how)

    def vjp(self, h, g, w):
        return _two(self, (_Conv, h, w), (_ToWeight, g, h))


class _ToWeight(GeneralRule, name="ConvolutionBackward0"):
    """What a convolution sends to its weight, as an operation of its own.

    Math: y = conv_weight(input, shape(y), grad, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]).
    VJP: to grad: conv(input, g, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]); to input:
    conv_input(shape(input), g, grad, stride=how[3], padding=how[4], dilation=how[5], groups=how[6]).
    """

    inputs, saves = ("grad", "input", "bias"), ("grad", "input")

    def forward(g, x, _, how):
        return to_weight(g, x, how)

    def vjp(self, h, g, x):
        return _two(self, (_Conv, x, h), (_ToInput, g, h))


def _two(node, *maps):
    """The gradients of a bilinear map: each of them one of the three maps again."""
    return *(_map(*m, node.args[0]) if node.needs(i) else None for i, m in enumerate(maps)), None


# -- functions ----------------------------------------------------------------------------------------


def convolution(nd, name, input, weight, bias, stride, padding, dilation, groups):
    """conv1d, conv2d, conv3d: a convolution over the last `nd` dims (torch.nn.functional.conv2d)."""
    x, w = input._data, weight._data
    unbatched = x.ndim == nd + 1
    if x.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(
            f"Expected {nd + 1}D (unbatched) or {nd + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x.shape)}"
        )
    wd = w.ndim - 2
    if wd < 1:
        raise RuntimeError("weight should have at least three dimensions")
    if isinstance(padding, str) and w.ndim != nd + 2:
        raise RuntimeError(
            f"Expected {w.ndim}-dimensional input for {w.ndim}-dimensional weight{list(w.shape)}, but got "
            f"{nd + 2}-dimensional input of size {list(x.shape)} instead"
        )
    stride = _sizes(stride, wd, "stride", spread=nd)
    dilation = _sizes(dilation, wd, "dilation", spread=nd)
    if unbatched:
        input = input.unsqueeze(0)
    by_name = padding
    if isinstance(padding, str):
        input, padding = _padding_by_name(input, w, stride, padding, dilation)
    else:
        padding = _sizes(padding, wd, "padding", spread=nd)
    _check_conv(input._data, w, bias, stride, padding, dilation, groups)
    size, kernel = input._data.shape[2:], w.shape[2:]
    _check_filled(input._data)
    if 0 in kernel and input._data.size:
        raise _empty_kernel(kernel, any(d != 1 for d in dilation))
    if x.dtype.kind == "b" or (x.dtype.kind in "iu" and x.dtype != np.int64):
        spread = any(d != 1 for d in dilation)
        if spread or x.dtype.kind == "b":
            whole = "compute_columns3d" if nd == 3 else "slow_conv2d_cpu"
            raise not_for(x.dtype, "slow_conv_dilated<>" if spread else whole)
    out = tuple(
        (s + 2 * p - d * (k - 1) - 1) // t + 1
        for s, p, d, k, t in zip(size, padding, dilation, kernel, stride, strict=True)
    )
    how = How(size, kernel, out, stride, padding, dilation, groups)
    b = (0,) if bias is None else bias._data.shape
    padding, extra = ((0,), (0,)) if by_name == "valid" else (padding, (0,) * nd)  # as PyTorch stores them
    result = call(
        ConvolutionBackward0, (input, weight, bias), stride, padding, dilation, groups, False, extra, b, how
    )
    return result.squeeze(0) if unbatched else result


def conv_transpose(nd, name, input, weight, bias, stride, padding, output_padding, groups, dilation):
    """conv_transpose1d, conv_transpose2d: see ConvTransposeBackward0."""
    x, w = input._data, weight._data
    if x.ndim not in (nd + 1, nd + 2):
        raise RuntimeError(
            f"Expected {nd + 1}D (unbatched) or {nd + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x.shape)}"
        )
    unbatched = x.ndim == nd + 1
    if unbatched:
        input = input.unsqueeze(0)
        x = input._data
    stride, padding, dilation, extra = (
        _sizes(v, nd, n)
        for v, n in (
            (stride, "stride"),
            (padding, "padding"),
            (dilation, "dilation"),
            (output_padding, "output_padding"),
        )
    )
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(e < 0 for e in extra):
        raise RuntimeError("negative output_padding is not supported")
    if any(t <= 0 for t in stride):
        raise RuntimeError("non-positive stride is not supported")
    _check_groups(w, groups)
    if x.shape[1] != w.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w.shape)}, expected input{list(x.shape)} to have {w.shape[0]} "
            f"channels, but got {x.shape[1]} channels instead"
        )
    n_out = w.shape[1] * groups
    if bias is not None and bias._data.shape != (n_out,):
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w.shape)}, expected bias to be 1-dimensional with {n_out} elements, but got "
            f"bias of size {list(bias._data.shape)} instead"
        )
    _check_filled(x)
    if 0 in w.shape[2:]:
        raise _empty_kernel(w.shape[2:], False)
    if any(d <= 0 for d in dilation):
        got = dilation if nd > 1 else (1, *dilation)
        names = [
            f"dilation_{side}: {d}"
            for side, d in zip(("depth", "height", "width")[-len(got) :], got, strict=True)
        ]
        raise RuntimeError(f"dilation should be greater than zero, but got {', '.join(names)}")
    if any(e >= max(t, d) for e, t, d in zip(extra, stride, dilation, strict=True)):
        raise _too_much_extra(extra, stride, dilation)
    if x.dtype != np.int64:
        floats_only(x, f"slow_conv_transpose{max(nd, 2)}d_out_cpu")
    if x.dtype is not w.dtype:
        raise other_type(x, w)
    kernel = w.shape[2:]
    size = tuple(
        (n - 1) * t - 2 * p + d * (k - 1) + e + 1
        for n, t, p, d, k, e in zip(x.shape[2:], stride, padding, dilation, kernel, extra, strict=True)
    )
    if min(size) < 1 and x.size:
        was, will = ((1, *s) if nd == 1 else s for s in (x.shape[2:], size))
        raise RuntimeError(
            f"Given input size per channel: ({' x '.join(map(str, was))}). Calculated output size per channel: "
            f"({' x '.join(map(str, will))}). Output size is too small"
        )
    how = How(size, kernel, x.shape[2:], stride, padding, dilation, groups)
    b = (0,) if bias is None else bias._data.shape
    result = call(
        ConvTransposeBackward0, (input, weight, bias), stride, padding, dilation, groups, True, extra, b, how
    )
    return result.squeeze(0) if unbatched else result


def _check_filled(x):
    if not x.size and 0 not in x.shape[:2]:
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x.shape)}"
        )


def _empty_kernel(kernel, spread):
    """The error for a weight with an empty spatial dim."""
    text = "kernel size should be greater than zero, but got"
    if spread:
        return RuntimeError(f"{text} {list(kernel)}")
    if len(kernel) == 3:
        return RuntimeError(f"{text}: {' x '.join(map(str, kernel))} (TxHxW)")
    height, width = (1, *kernel)[-2:]
    return RuntimeError(f"{text} kernel_height: {height} kernel_width: {width}")


def _sizes(value, n, what, spread=None):
    """A setting as a tuple of `n` numbers, from one number or several."""
    values = (value,) * (spread or n) if isinstance(value, int) else tuple(value)
    if len(values) == 1:
        values = values * n
    if len(values) != n:
        raise RuntimeError(
            f"expected {what} to be a single integer value or a list of {n} values to match the convolution "
            "dimensions, but "
            f"got {what}={list(values)}"
        )
    return values


def _padding_by_name(input, w, stride, padding, dilation):
    if padding == "valid":
        return input, (0,) * len(stride)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(t != 1 for t in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
    if any(t % 2 for t in totals):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy "
            "of the input be created"
        )
        pad = [v for t in reversed(totals) for v in (0, t % 2)]
        input = pad_constant(input, pad)
    return input, tuple(t // 2 for t in totals)


def _too_much_extra(extra, stride, dilation):
    names = ("depth", "height", "width") if len(extra) == 3 else ("height", "width")
    parts = []
    for what, numbers, missing in (
        ("output_padding", extra, 0),
        ("stride", stride, 1),
        ("dilation", dilation, 1),
    ):
        both_dims = numbers if len(numbers) > 1 else (missing, *numbers)  # PyTorch sees an image of one row
        parts += [f"{what}_{name}: {n}" for name, n in zip(names, both_dims, strict=True)]
    return RuntimeError(
        f"output padding must be smaller than either stride or dilation, but got {' '.join(parts)}"
    )


def _check_groups(w, groups):
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if w.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(w.shape)} instead"
        )
    if w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(w.shape)}] instead"
        )


def _check_conv(x, w, b, stride, padding, dilation, groups):
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(t <= 0 for t in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d < 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if 0 in dilation:
        got = list(dilation) if len(dilation) > 1 else [1, *dilation]
        raise RuntimeError(f"dilation should be greater than zero, but got {got}")
    _check_groups(w, groups)
    if x.shape[1] != w.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
            f"{w.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    if b is not None and b._data.shape != (w.shape[0],):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with {w.shape[0]} "
            "elements, but got "
            f"bias of size {list(b._data.shape)} instead"
        )
    padded = [s + 2 * p for s, p in zip(x.shape[2:], padding, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    if any(s < k for s, k in zip(padded, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )
    if b is not None and b._data.dtype is not x.dtype:
        raise RuntimeError(
            f"Input type ({CPP_NAMES[x.dtype.name]}) and bias type ({CPP_NAMES[b._data.dtype.name]}) should be the same"
        )
    if x.dtype is not w.dtype:
        raise other_type(x, w)


# -- unfold and fold ----------------------------------------------------------------------------------


class Im2ColBackward0(Rule):
    """Every window of an image as a column.

    Math: y = im2col(a, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride).
    VJP: col2im(g, (size(a, -2), size(a, -1)), kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride). Each
    column is added back to its window.
    Shapes: (n, c, h, w) or (c, h, w) -> (n, c * kernel, windows).   Saves: nothing.   PyTorch: torch.nn.functional.unfold
    """

    inputs = ("self",)
    keeps = (
        "kernel_size",
        "dilation",
        "padding",
        "stride",
        "self_sym_argsize_minus_2",
        "self_sym_argsize_minus_1",
    )

    def forward(x, kernel, dilation, padding, stride, h, w):
        c = x.shape[-3]
        columns = windows(_padded(x.reshape(-1, c, h, w), padding), kernel, stride, dilation)
        return columns.reshape(*x.shape[:-3], c * math.prod(kernel), math.prod(columns.shape[-2:]))

    def vjp(self, g):
        kernel, dilation, padding, stride, h, w = self.args
        return both.run(Col2ImBackward0, (g,), kernel, dilation, padding, stride, (h, w))


class Col2ImBackward0(Rule):
    """Columns put back as an image, overlaps added: the adjoint of unfold.

    Math: y = col2im(a, size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride).
    VJP: im2col(g, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride).
    Shapes: (n, c * kernel, windows) -> (n, c, h, w), or both without n.   Saves: nothing.   PyTorch: torch.nn.functional.fold
    """

    inputs = ("self",)
    keeps = ("kernel_size", "dilation", "padding", "stride")

    def forward(columns, kernel, dilation, padding, stride, size):
        out = [
            (s + 2 * p - d * (k - 1) - 1) // t + 1
            for s, p, d, k, t in zip(size, padding, dilation, kernel, stride, strict=True)
        ]
        c = columns.shape[-2] // math.prod(kernel)
        pieces = columns.reshape(-1, c, *kernel, *out)
        whole = unwindow(pieces, [s + 2 * p for s, p in zip(size, padding, strict=True)], stride, dilation)
        return _crop(whole, padding).reshape(*columns.shape[:-2], c, *size)

    def vjp(self, g):
        kernel, dilation, padding, stride, (h, w) = self.args
        return both.run(Im2ColBackward0, (g,), kernel, dilation, padding, stride, h, w)


class PixelShuffleBackward0(Rule):
    """Channels spread over the image: r x r channels become one that is r times as wide and high.

    Math: y = pixel_shuffle(a, upscale_factor).   VJP: pixel_unshuffle(g, upscale_factor).
    Shapes: (..., c r^2, h, w) -> (..., c, h r, w r).   Saves: nothing.   PyTorch: torch.nn.functional.pixel_shuffle
    """

    layout = channels
    keeps = ("upscale_factor",)

    def forward(x, r):
        *lead, c, h, w = x.shape
        y = x.reshape(*lead, c // (r * r), r, r, h, w)
        n = len(lead)
        order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
        return y.transpose(order).reshape(*lead, c // (r * r), h * r, w * r)

    def vjp(self, g):
        return both.run(PixelUnshuffleBackward0, (g,), *self.args)


class PixelUnshuffleBackward0(Rule):
    """The opposite of PixelShuffle.

    Math: y = pixel_unshuffle(a, downscale_factor).   VJP: pixel_shuffle(g, downscale_factor).
    Saves: nothing.   PyTorch: torch.nn.functional.pixel_unshuffle
    """

    layout = channels
    keeps = ("downscale_factor",)

    def forward(y, r):
        *lead, c, h, w = y.shape
        x = y.reshape(*lead, c, h // r, r, w // r, r)
        n = len(lead)
        order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
        return x.transpose(order).reshape(*lead, c * r * r, h // r, w // r)

    def vjp(self, g):
        return both.run(PixelShuffleBackward0, (g,), *self.args)


class ChannelShuffleBackward0(Rule):
    """The channels shuffled: one of each group in turn.

    Math: y = channel_shuffle(a, groups).
    VJP: channel_shuffle(g, size(a, 1) // groups). Channel i of group k goes to place i * groups + k, and back.
    Shapes: (n, c, *) unchanged.   Saves: nothing.   PyTorch: torch.nn.functional.channel_shuffle
    """

    layout = channels
    keeps = ("groups",)

    def forward(x, groups):
        n, c, *size = x.shape
        return x.reshape(n, groups, c // groups, *size).swapaxes(1, 2).reshape(x.shape)

    def vjp(self, g):
        return both.run(ChannelShuffleBackward0, (g,), g.shape[1] // self.args[0])


# -- padding ------------------------------------------------------------------------------------------


class ConstantPadNdBackward0(Rule):
    """A border of a constant around the last dims; a negative width cuts off.

    Math: y = pad(a, pad, value).   VJP: pad(g, negative(pad)). A negative width cuts off, so the border is cut off again.
    Shapes: each padded dim grows by both widths.   Saves: nothing.   PyTorch: torch.nn.functional.pad
    """

    layout = channels
    inputs = ("self",)
    keeps = ("pad",)

    def forward(x, pad, value):
        pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [
            (pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)
        ]
        x = x[tuple(slice(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(x.shape, pairs, strict=True))]
        return np.pad(x, [(max(0, a), max(0, b)) for a, b in pairs], constant_values=value)

    def vjp(self, g):
        return both.run(ConstantPadNdBackward0, (g,), tuple([-p for p in self.args[0]]), 0)

    def kept(self, name, value):
        return tuple(v % 2**64 for v in value) if name == "pad" else super().kept(name, value)


def pad_constant(input, pad, value=0):
    """`input` with a border of `value`; `pad` gives (before, after) for the last dim first."""
    if isinstance(value, (int, float)):
        if value < 0 and input._data.dtype.kind == "u":
            raise RuntimeError("value cannot be converted to type uint8_t without overflow")
        number_as(value, input._data.dtype)  # raises if the type cannot hold it
    return apply(ConstantPadNdBackward0, (input,), tuple(pad), value)


class _Unpadded(Rule):
    """The gradient of such a border: each g added to the element its value was copied from.

    Math: y = put(zeros_like(self), origins, grad_output, accumulate=True); origins = pad(reshape(arange(numel(self)),
    shape(self)), padding, mode='MODE').
    VJP: to grad_output: pad(g, padding, mode='MODE'); to self: 0.
    """

    inputs = ("grad_output", "self")
    keeps = ("padding", "places", "self_sym_sizes")

    def forward(g, x, _padding, places, *_):
        return both.brought_back(g, places, x.shape)

    def vjp(self, h):
        padding, places, shape = self.args
        return both.run(self.border, (h,), padding, places), both.zeros(shape, h)


class _ByPlace(Rule):
    """A border copied from the inside: every element of the result is some element of the input."""

    inputs = ("self",)
    saves = ("self",)
    keeps = ("padding",)

    @classmethod
    def run(cls, input, pad):
        x = input._data
        pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [
            (pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)
        ]
        places = [cls.inside(np.arange(-a, n + b), n) for n, (a, b) in zip(x.shape, pairs, strict=True)]
        where = np.arange(x.size).reshape(x.shape)[np.ix_(*places)]
        return apply(cls, (input,), tuple(pad), where)

    def inside(place, n):
        """The index, from 0 to n - 1, of the element to read at each position, which may be outside."""
        return np.clip(place, 0, n - 1)

    def forward(x, pad, where):
        return x.reshape(-1)[where]

    def vjp(self, g, x):
        return both.run(self.gradient, (g, x), *self.args)


class ReflectionPad1DBackward0(_ByPlace):
    """A border mirrored from the inside.

    Math: y = pad(a, padding, mode='reflect').
    VJP: put(zeros_like(a), origins, g, accumulate=True); origins = pad(reshape(arange(numel(a)), shape(a)), padding,
    mode='reflect'). Each g is added to the element its value was copied from.
    Shapes: each padded dim grows by both widths.   Saves: the input.   PyTorch: torch.nn.functional.pad(mode="reflect")
    """

    layout = channels
    inputs = saves = ("self",)

    def inside(place, n):
        return np.where(place < 0, -place, np.where(place < n, place, 2 * (n - 1) - place))


class ReplicationPad1DBackward0(_ByPlace):
    """A border that repeats the outermost element.

    Math: y = pad(a, padding, mode='replicate').
    VJP: put(zeros_like(a), origins, g, accumulate=True); origins = pad(reshape(arange(numel(a)), shape(a)), padding,
    mode='replicate'). Each g is added to the element its value was copied from.
    Shapes: each padded dim grows by both widths.   Saves: the input.   PyTorch: torch.nn.functional.pad(mode="replicate")
    """

    layout = channels
    inputs = saves = ("self",)


def _with_gradient(rule, mode):
    """Give a border's rule the rule of its gradient, under PyTorch's name."""
    name = rule.__name__.replace("Backward0", "BackwardBackward0")
    body = {
        "__doc__": _Unpadded.__doc__.replace("MODE", mode),
        "border": rule,
        "inputs": _Unpadded.inputs,
        "keeps": _Unpadded.keeps,
        "forward": _Unpadded.forward,
    }
    rule.gradient = type(name, (_Unpadded,), body)
    return rule


_BORDERS = {("reflect", 1): ReflectionPad1DBackward0, ("replicate", 1): ReplicationPad1DBackward0}
for (_mode, _), _rule in list(_BORDERS.items()):
    for _nd in (2, 3):
        _name = _rule.__name__.replace("1D", f"{_nd}D")
        _body = {"__doc__": _rule.__doc__, "inputs": ("self",), "saves": ("self",)}
        _BORDERS[_mode, _nd] = _with_gradient(type(_name, (_rule,), _body), _mode)
    _with_gradient(_rule, _mode)


_SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}


class _Resized(Rule):
    """Another size for images: `forward` is given what it needs, and what the node shows in the order of `shows`."""

    saves = ()

    def _read_saved(self, name):
        return self.args[1][self.shows.index(name)]

    @staticmethod
    def shown(size, factors, shape, *more):
        """What a node shows: names in `_shown_by`."""
        return size, *[None if factors is None else float(factors[i]) for i in range(len(size))], *more, shape


def _shown_by(n, *more):
    """The attributes of the nodes of an operation on images of `n` dims, and of its gradient."""
    names = "output_size", *_SCALES[n], *more
    return (*names, "self_sym_sizes"), names


class UpsampleNearestBackward0(_Resized):
    """Every place of a larger image copies the nearest element of the input.

    Math: y = interpolate(a, shown[0], scale_factor=None if shown[1] is None else shown[1:-1], mode='MODE').
    VJP: put(zeros_like(a), origins, g, accumulate=True); origins = interpolate(reshape(arange(numel(a)), shape(a)), shown[0],
    scale_factor=None if shown[1] is None else shown[1:-1], mode='MODE'). Each g is added to the element its value was copied
    from.
    Shapes: (n, c, *size) -> (n, c, *out).   Saves: nothing.   PyTorch: torch.nn.functional.interpolate
    """

    layout = channels
    inputs = ("self",)

    def forward(x, places, shown):
        return x.reshape(-1)[places]

    @classmethod
    def run(cls, input, size, factors=None, exact=False):
        if input._data.dtype.name != "uint8":
            plane = "upsample_nearest2d_channels_last"
            floats_only(input._data, plane if len(size) == 2 else "compute_indices_weights_nearest")
        where = np.arange(input._data.size).reshape(input._data.shape)
        for i, (n, m) in enumerate(zip(input._data.shape[2:], size, strict=True)):
            if exact or factors is not None:
                step = 1 / factors[i] if factors is not None else n / m
                nearest = np.floor((np.arange(m) + 0.5 * exact) * np.float32(step)).astype(np.intp)
                where = where.take(np.minimum(nearest, n - 1), axis=2 + i)
            else:
                where = where.take(np.arange(m) * n // m, axis=2 + i)
        shown = cls.shown(size, factors, input._data.shape)
        return apply((_UPSAMPLE_EXACT if exact else _UPSAMPLE)[len(size)], (input,), where, shown)

    def vjp(self, g):
        return both.run(self.gradient, (g,), *self.args)


class _NearestGradient(_Resized):
    """The gradient of such a copy, as an operation: each g added to the element its value was copied from.

    Math: y = put(zeros(shape(y)), origins, a, accumulate=True); origins = interpolate(reshape(arange(numel(y)), shape(y)),
    shown[0], scale_factor=None if shown[1] is None else shown[1:-1], mode='MODE').
    VJP: interpolate(g, shown[0], scale_factor=None if shown[1] is None else shown[1:-1], mode='MODE').
    """

    inputs = ("grad_output",)

    def forward(g, places, shown):
        return both.brought_back(g, places, shown[-1])

    def vjp(self, h):
        return both.run(self.resizing, (h,), *self.args)


def _nearest(name, mode):
    """The rules of nearest neighbours for 1 to 3 dims, each with that of its gradient."""
    doc, doc_of_gradient = (
        rule.__doc__.replace("MODE", mode) for rule in (UpsampleNearestBackward0, _NearestGradient)
    )
    rules = {}
    for n in (1, 2, 3):
        shows, of_gradient = _shown_by(n)
        own = {"__doc__": doc, "inputs": ("self",), "shows": shows}
        rules[n] = type(f"{name}{n}DBackward0", (UpsampleNearestBackward0,), own)
        own = {
            "__doc__": doc_of_gradient,
            "inputs": ("grad_output",),
            "shows": of_gradient,
            "forward": _NearestGradient.forward,
        }
        rules[n].gradient = type(f"{name}{n}DBackwardBackward0", (_NearestGradient,), own)
        rules[n].gradient.resizing = rules[n]
    return rules


_UPSAMPLE = _nearest("UpsampleNearest", "nearest")
_UPSAMPLE_EXACT = _nearest("UpsampleNearestExact", "nearest-exact")


def linear_weights(n, m, factor, align_corners, dtype):
    """The (m, n) matrix of linear interpolation from n positions to m."""
    at = np.maximum(_sources(n, m, factor, align_corners), 0)
    left = np.minimum(np.floor(at).astype(np.int64), n - 1)
    part = at - left
    matrix = np.zeros((m, n))
    np.add.at(matrix, (np.arange(m), left), 1 - part)
    np.add.at(matrix, (np.arange(m), np.minimum(left + 1, n - 1)), part)
    return matrix.astype(dtype)


def cubic_weights(n, m, factor, align_corners, dtype):
    """The (m, n) matrix of cubic interpolation from n positions to m over four neighbors (a = -0.75); edges are repeated."""
    at, a = _sources(n, m, factor, align_corners), -0.75
    left = np.floor(at).astype(np.int64)
    matrix = np.zeros((m, n))
    for offset in (-1, 0, 1, 2):
        d = np.abs(at - (left + offset))
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((d - 5) * d + 8) * d * a - 4 * a
        np.add.at(matrix, (np.arange(m), np.clip(left + offset, 0, n - 1)), np.where(d <= 1, near, far))
    return matrix.astype(dtype)


def _triangle(d):
    return np.maximum(1 - np.abs(d), 0)


def _cubic(d):
    d, a = np.abs(d), -0.5
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, (((d - 5) * d + 8) * d - 4) * a
    return np.where(d < 1, near, np.where(d < 2, far, 0))


def _lanczos(d):
    return np.where(np.abs(d) < 3, np.sinc(d) * np.sinc(d / 3), 0)


def filter_weights(curve):
    """Makes similar matrices with a filter that widens as the image shrinks, so that every element counts.

    curve  the weight as a function of the distance
    """

    def weights(n, m, factor, align_corners, dtype):
        if n == m:
            return np.eye(n, dtype=dtype)
        if align_corners:
            step = (n - 1) / (m - 1) if m > 1 else 0.0
        else:
            step = 1 / factor if factor else n / m
        at = step * (np.arange(m) + 0.5)[:, None]
        matrix = curve((np.arange(n) - at + 0.5) / max(step, 1))
        total = matrix.sum(1, keepdims=True)
        return (matrix / np.where(total == 0, 1, total)).astype(dtype)

    return weights


def _sources(n, m, factor, align_corners):
    """The source coordinate, among n positions, of each of m positions; with align_corners the first and the last coincide."""
    if align_corners:
        return np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    return (np.arange(m) + 0.5) * (1 / factor if factor else n / m) - 0.5


def _resampled(x, matrices):
    """Each spatial dim of x multiplied by its matrix."""
    for i, matrix in enumerate(matrices):
        x = np.moveaxis(np.tensordot(x, matrix, (2 + i, 1)), -1, 2 + i)
    return np.asarray(x, order="C")


class UpsampleLinearBackward0(_Resized):
    """Another size by interpolation: every place of the result is a weighted sum of a few of the input's.

    Math: y = a @ W0.T if ndim(a) == 3 else W0 @ a @ W1.T if ndim(a) == 4 else einsum('...ijk,li,mj,nk->...lmn', a, W0, W1, W2);
    W0 = resizing(size(a, 2), size(y, 2), scale_factor=shown[1], mode='MODE', align_corners=shown[-2]); W1 = resizing(size(a, 3),
    size(y, 3), scale_factor=shown[2], mode='MODE', align_corners=shown[-2]); W2 = resizing(size(a, 4), size(y, 4),
    scale_factor=shown[3], mode='MODE', align_corners=shown[-2]).
    VJP: g @ W0 if ndim(a) == 3 else W0.T @ g @ W1 if ndim(a) == 4 else einsum('...lmn,li,mj,nk->...ijk', g, W0, W1, W2). For each
    spatial dim there is a matrix of weights, `resizing`, that makes the new size of the old one.
    Shapes: (n, c, *size) -> (n, c, *out).   Saves: nothing.   PyTorch: torch.nn.functional.interpolate
    """

    layout = channels
    inputs = ("self",)

    def forward(x, matrices, shown):
        return _resampled(x, matrices)

    def vjp(self, g):
        matrices, shown = self.args
        return both.run(self.gradient, (g,), tuple([m.T for m in matrices]), shown)


class UpsampleLinearBackwardBackward0(_Resized):
    """The gradient of an interpolation: the same with the weights transposed.

    Math: y = a @ W0 if ndim(a) == 3 else W0.T @ a @ W1 if ndim(a) == 4 else einsum('...lmn,li,mj,nk->...ijk', a, W0, W1, W2); W0
    = resizing(size(y, 2), size(a, 2), scale_factor=shown[1], mode='MODE', align_corners=shown[-2]); W1 = resizing(size(y, 3),
    size(a, 3), scale_factor=shown[2], mode='MODE', align_corners=shown[-2]); W2 = resizing(size(y, 4), size(a, 4),
    scale_factor=shown[3], mode='MODE', align_corners=shown[-2]).
    VJP: g @ W0.T if ndim(a) == 3 else W0 @ g @ W1.T if ndim(a) == 4 else einsum('...ijk,li,mj,nk->...lmn', g, W0, W1, W2). The
    matrices are those of the interpolation, transposed.
    Shapes: (n, c, *out) -> (n, c, *size).   Saves: nothing.
    """

    inputs = ("grad_output",)

    def forward(g, matrices, shown):
        return _resampled(g, matrices)

    def vjp(self, gg):
        matrices, shown = self.args
        return both.run(self.resizing, (gg,), tuple([m.T for m in matrices]), shown)


def _resampling(name, n, mode):
    back = UpsampleLinearBackwardBackward0
    doc, doc_of_gradient = (rule.__doc__.replace("MODE", mode) for rule in (UpsampleLinearBackward0, back))
    shows, of_gradient = _shown_by(n, "align_corners")
    gradient = type(f"{name}BackwardBackward0", (back,), {"__doc__": doc_of_gradient, "shows": of_gradient})
    own = {"__doc__": doc, "gradient": gradient, "shows": shows}
    gradient.resizing = type(f"{name}Backward0", (UpsampleLinearBackward0,), own)
    return gradient.resizing


RESAMPLING = {
    "linear": (1, _resampling("UpsampleLinear1D", 1, "linear"), linear_weights),
    "bilinear": (2, _resampling("UpsampleBilinear2D", 2, "linear"), linear_weights),
    "trilinear": (3, _resampling("UpsampleTrilinear3D", 3, "linear"), linear_weights),
    "bicubic": (2, _resampling("UpsampleBicubic2D", 2, "cubic"), cubic_weights),
}
"""Each mode's number of spatial dims, its rule, and the function that makes its weights."""

FILTERED = {
    "bilinear": (2, _resampling("UpsampleBilinear2DAa", 2, "linear, antialias"), filter_weights(_triangle)),
    "bicubic": (2, _resampling("UpsampleBicubic2DAa", 2, "cubic, antialias"), filter_weights(_cubic)),
    "lanczos": (2, _resampling("UpsampleLanczos2DAa", 2, "lanczos, antialias"), filter_weights(_lanczos)),
}
"""The same with antialias=True."""


def resample(input, size, factors, mode, align_corners, antialias=False):
    """`input` (n, c, *) interpolated to `size`; factors as given by the user, or None."""
    nd, rule, weights = (FILTERED if antialias else RESAMPLING)[mode]
    x = input._data
    of_bytes = nd == 2 and x.dtype.name == "uint8" and mode != "lanczos"
    if antialias and x.dtype.name == "float16":
        raise not_for(x.dtype, "compute_index_ranges_weights")
    if not of_bytes:
        floats_only(x, "compute_index_ranges_weights" if antialias else _resampler_of(mode))
    matrices = [
        weights(
            n, m, None if factors is None else factors[i], align_corners, np.float64 if of_bytes else x.dtype
        )
        for i, (n, m) in enumerate(zip(x.shape[2:], size, strict=True))
    ]
    if of_bytes:
        return wrap(_resampled_bytes(x, matrices))
    return apply(rule, (input,), tuple(matrices), rule.shown(size, factors, x.shape, align_corners))


def _resampler_of(mode):
    """The name of the kernel in PyTorch's errors."""
    if mode == "bilinear":
        return "upsample_bilinear2d_channels_last"
    return f"compute_indices_weights_{'cubic' if mode == 'bicubic' else 'linear'}"


def _resampled_bytes(x, matrices):
    """The same for uint8 images, in integer arithmetic as in PyTorch: along the rows, then the columns, rounded to bytes after each.

    The weights are multiples of the smallest power of two for which they fit 16 bits.
    """
    for axis in (3, 2):
        weights, bits = matrices[axis - 2], 0
        while bits < 22 and int(0.5 + weights.max() * 2 ** (bits + 1)) < 2**15:
            bits += 1
        whole = np.trunc(weights * 2**bits + np.copysign(0.5, weights)).astype(np.int64)
        sums = np.moveaxis(np.tensordot(x.astype(np.int64), whole, (axis, 1)), -1, axis)
        x = np.clip((sums + 2**bits // 2) >> bits, 0, 255).astype(np.uint8)
    return np.asarray(x, order="C")


def check_padded_dims(input, pad):
    """Raise NotImplementedError unless the input is an image or a batch of images."""
    ndim, nd = input._data.ndim, len(pad) // 2
    if ndim not in (nd + 1, nd + 2) or nd > 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\nSupported combinations "
            "for non-constant "
            "padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: "
            "padding size = 4 (pads "
            "last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )


def pad_by_mode(input, pad, mode):
    """`input` with a border that repeats the edge (`replicate`) or mirrors the inside (`reflect`)."""
    check_padded_dims(input, pad)
    nd = len(pad) // 2
    x = input._data
    if 0 in x.shape[x.ndim - nd - 1 :]:
        raise RuntimeError(
            f"Expected {nd + 1}D or {nd + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(x.shape)}"
        )
    if mode == "reflect":
        for i in range(nd):
            if max(pad[2 * i : 2 * i + 2]) >= x.shape[-1 - i]:
                raise RuntimeError(
                    f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input "
                    "dimension, but got: "
                    f"padding ({pad[2 * i]}, {pad[2 * i + 1]}) at dimension {x.ndim - 1 - i} of input {list(x.shape)}"
                )
    size = x.shape[-nd:]
    out = [n + sum(pad[2 * (nd - 1 - i) :][:2]) for i, n in enumerate(size)]
    if max(out) < 1:
        letters = "DHW"[-nd:]
        was = ", ".join(f"{k}: {n}" for k, n in zip(letters, size, strict=True))
        will = " ".join(f"{k}: {n}" for k, n in zip(letters, out, strict=True))
        raise RuntimeError(f"input ({was}) is too small. Calculated output {will}")
    no_bools(x, f"{'reflection' if mode == 'reflect' else 'replication'}_pad{nd}d")
    return _BORDERS[mode, nd].run(input, pad)


# -- sampling where a grid says -----------------------------------------------------------------------

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2

_A = -0.75
_TAPS = {
    NEAREST: ((0, (1,)),),
    BILINEAR: ((0, (-1, 1)), (1, (1, 0))),
    BICUBIC: (
        (-1, (_A, -2 * _A, _A, 0)),
        (0, (_A + 2, -_A - 3, 0, 1)),
        (1, (-_A - 2, 2 * _A + 3, -_A, 0)),
        (2, (-_A, _A, 0, 0)),
    ),
}
"""The neighbors that each mode reads along one dim, relative to the rounded position (down, or to the nearest), with the weight of each: a
polynomial in the fractional part, highest power first. Derivatives of any order are derivatives of these.
"""


def _folded(at, n, padding, align_corners):
    """Positions outside of 0 .. n - 1 moved inside, with the derivative of each: 1, -1 (mirrored), 0 (clamped to the edge)."""
    turn = np.ones_like(at)
    if padding == REFLECTION:
        low, span = (0, n - 1) if align_corners else (-0.5, n)
        if span == 0:
            return np.zeros_like(at), np.zeros_like(at)
        away = np.abs(at - low)
        rest, backwards = away % span, away // span % 2 == 1
        turn[(at < low) != backwards] = -1
        at = np.where(backwards, span - rest, rest) + low
    # PyTorch counts the edge itself as clamped. fmin and fmax: a nan goes to position 0, as there.
    turn[~((at > 0) & (at < n - 1))] = 0
    return np.fmin(np.fmax(at, 0), n - 1), turn


def _along(at, n, order, mode, padding, align_corners):
    """[(position, weight)] for one dim of size n: what is read for the grid coordinates `at`, with each weight's derivative.

    `order` is the order of the derivative by `at`. -1 and 1 are the centers of the outermost elements (align_corners) or their outer edges.
    """
    slope = (n - 1) / 2 if align_corners else n / 2
    place = (at + 1) * slope - (0 if align_corners else 0.5)
    if padding != ZEROS and mode != BICUBIC:
        place, turn = _folded(place, n, padding, align_corners)
        slope = slope * turn
    first = np.rint(place) if mode == NEAREST else np.floor(place)
    part = place - first
    taps = []
    for offset, weight in _TAPS[mode]:
        place = first + offset
        if padding != ZEROS and mode == BICUBIC:  # the curve continues outside, through the values there
            place = _folded(place, n, padding, align_corners)[0]
        if mode == NEAREST:  # also where the position is nan, which counts as outside
            weight = np.full(part.shape, float(not order))
        else:
            weight = np.polyval(np.polyder(weight, order), part) * slope**order
        taps.append((place, weight.astype(at.dtype)))
    return taps


def _neighbors(grid, size, orders, *how):
    """Pairs (flat position in an image of `size`, weight), each (n, points): one pair for each combination of neighbors.

    The weights are differentiated `orders[j]` times by the grid's j-th coordinate, which belongs to dim -1 - j.
    Neighbors outside of the image have the position after the last one.
    """
    points = grid.reshape(len(grid), math.prod(grid.shape[1:-1]), len(size))
    by_dim = np.moveaxis(points, -1, 0)[::-1]
    taps = [_along(at, n, order, *how) for at, n, order in zip(by_dim, size, orders[::-1], strict=True)]
    for combination in itertools.product(*taps):
        flat, weight, inside = 0, 1, True
        for n, (place, part) in zip(size, combination, strict=True):
            flat, weight = flat * n + place, weight * part
            inside &= (place >= 0) & (place <= n - 1)
        yield np.where(inside, flat, math.prod(size)).astype(np.int64), weight


def _sampled(x, grid, orders, *how):
    """Sample each image of x (n, c, *size) at `grid` (n, *out, nd)."""
    n, c, *size = x.shape
    with np.errstate(invalid="ignore"):  # an infinite grid gives nan, without a warning
        images = np.concatenate([x.reshape(n, c, math.prod(size)), np.zeros((n, c, 1), x.dtype)], 2)
        images, y = np.moveaxis(images, 1, 2), np.zeros((n, math.prod(grid.shape[1:-1]), c), x.dtype)
        # all channels of a place are read at once
        places = np.ascontiguousarray(images).reshape(n * images.shape[1], c)
        for place, weight in _neighbors(grid, size, orders, *how):
            y += places[place + np.arange(n)[:, None] * images.shape[1]] * weight[..., None]
    return np.ascontiguousarray(np.moveaxis(y, 1, 2)).reshape(n, c, *grid.shape[1:-1])


def _spread(g, grid, size, orders, *how):
    """The adjoint: add each g (n, c, *out) to the positions that were read; returns (n, c, *size)."""
    n, c = g.shape[:2]
    g = g.reshape(n, c, math.prod(g.shape[2:]))
    images = np.zeros((n, c, math.prod(size) + 1), g.dtype)
    first = np.arange(n * c).reshape(n, c, 1) * images.shape[2]  # NumPy adds quickly in one dim only
    with np.errstate(invalid="ignore"):
        for place, weight in _neighbors(grid, size, orders, *how):
            np.add.at(images.reshape(-1), (first + place[:, None]).ravel(), (g * weight[:, None]).ravel())
    return np.ascontiguousarray(images[..., :-1]).reshape(n, c, *size)


class GridSampler2DBackward0(Rule):
    """An image read at places between its elements: y is a weighted sum of the neighbors of each place.

    Math: y = reshape(X @ sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners).T, shape(y)); X =
    reshape(input, (size(input, 0), size(input, 1), -1)).
    VJP: to input: reshape(G @ sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners), shape(input));
    to grid: reshape(einsum('ncp,ncs,nkps->npk', G, X, D), shape(grid)); G = reshape(g, (size(input, 0), size(input, 1), -1)); D =
    sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners, 1).
    Shapes: x (n, c, *size), grid (n, *out, dims) -> (n, c, *out).   Saves: x and the grid.   PyTorch:
    torch.nn.functional.grid_sample
    """

    inputs = saves = ("input", "grid")
    no_jvp = "grid_sampler_2d"
    keeps = ("interpolation_mode", "padding_mode", "align_corners")

    def forward(x, grid, *how):
        return _sampled(x, grid, (0,) * grid.shape[-1], *how)

    def vjp(self, g, x, grid):
        return gradients(self.gradient, (self.needs(0), self.needs(1)), (g, x, grid), *self.args)


class GridSampler2DBackwardBackward0(GeneralRule):
    """The VJP of grid_sample as an operation of two results: what it sends to x, and to the grid.

    Math: y0 = reshape(G @ W, shape(input)); y1 = reshape(einsum('ncp,ncs,nkps->npk', G, X, D), shape(grid)); X = reshape(input,
    (size(input, 0), size(input, 1), -1)); G = reshape(grad_output, (size(input, 0), size(input, 1), -1)); W =
    sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners); D = sample_weights(grid, shape(input),
    interpolation_mode, padding_mode, align_corners, 1).
    VJP: to grad_output: reshape(H @ W.T + einsum('ncs,nkps,npk->ncp', X, D, K), shape(grad_output)); to input: nothing if
    interpolation_mode == 1 else reshape(einsum('ncp,nkps,npk->ncs', G, D, K), shape(input)); to grid:
    reshape(einsum('ncp,ncs,nkps->npk', G, H, D) + einsum('ncp,ncs,nklps,npk->npl', G, X, DD, K), shape(grid)); DD =
    sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners, 2); H = reshape(g0, (size(input, 0),
    size(input, 1), -1)); K = reshape(g1, (size(grid, 0), -1, size(grid, -1))).
    Shapes: those of g, x and the grid.   Saves: all three.
    """

    inputs = saves = ("grad_output", "input", "grid")
    keeps = ("interpolation_mode", "padding_mode", "align_corners")
    plain = False

    def forward(g, x, grid, *how):
        *how, wanted = how
        orders = (0,) * grid.shape[-1]
        return (
            _spread(g, grid, x.shape[2:], orders, *how) if wanted[0] else None,
            _to_grid(_Sample, g, (x, grid), orders, how) if wanted[1] else None,
        )

    def vjp(self, grads, g, x, grid):
        how, orders = self.args, (0,) * grid.shape[-1]
        h, k = grads
        to_g = to_x = to_grid = None
        if h is not None:
            to_g = both.run(self.sample, (h, grid), orders, *how)
            to_grid = _to_grid(self.sample, g, (h, grid), orders, how)
        for j in range(len(orders) if k is not None else 0):
            along = tuple([int(i == j) for i in range(len(orders))])
            factor = k[..., j][:, None]
            to_g = both.plus(to_g, factor * both.run(self.sample, (x, grid), along, *how))
            to_grid = both.plus(to_grid, _to_grid(self.sample, g * factor, (x, grid), along, how))
            if how[0] != NEAREST:
                to_x = both.plus(
                    to_x, both.run(self.to_input, (g * factor, grid), tuple(x.shape[2:]), along, *how)
                )
        return to_g, to_x, to_grid


def _to_grid(rule, g, inputs, orders, how):
    """The gradient of the grid from which a result was sampled: for each coordinate, g times the result's derivative, summed over channels."""
    parts = []
    for j in range(len(orders)):
        higher = tuple([order + (i == j) for i, order in enumerate(orders)])
        product = g * both.run(rule, inputs, higher, *how)
        parts.append(product.sum(1).reshape((*inputs[1].shape[:-1], 1)))
    return both.cat(parts, -1)


class _Sample(Rule, name="GridSampler2DBackward0"):
    """A sampling with differentiated weights, inside the gradient of a gradient: linear in x.

    Math: y = reshape(X @ sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners, 0, orders).T,
    shape(y)); X = reshape(input, (size(input, 0), size(input, 1), -1)).
    VJP: to input: nothing if interpolation_mode == 1 and orders[0] + orders[1] + orders[-1] > 0 else reshape(G @
    sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners, 0, orders), shape(input)); to grid:
    reshape(einsum('ncp,ncs,nkps->npk', G, X, D), shape(grid)); G = reshape(g, (size(input, 0), size(input, 1), -1)); D =
    sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners, 1, orders).
    Shapes: x (n, c, *size), grid (n, *out, dims) -> (n, c, *out).   Saves: x and the grid.
    """

    inputs = saves = ("input", "grid")
    keeps = ("orders", "interpolation_mode", "padding_mode", "align_corners")

    def forward(x, grid, orders, *how):
        return _sampled(x, grid, orders, *how)

    def vjp(self, g, x, grid):
        orders, *how = self.args
        flat = how[0] == NEAREST and any(orders)  # then nothing depends on x, and PyTorch returns None
        return (
            both.run(self.to_input, (g, grid), tuple(x.shape[2:]), orders, *how)
            if self.needs(0) and not flat
            else None,
            _to_grid(type(self), g, (x, grid), orders, how) if self.needs(1) else None,
        )


class _ToImage(Rule, name="GridSampler2DBackward0"):
    """What a sampling sends to its image, as an operation of its own: the adjoint of `_Sample`.

    Math: y = reshape(G @ sample_weights(grid, shape(y), interpolation_mode, padding_mode, align_corners, 0, orders), shape(y)); G
    = reshape(grad_output, (size(grad_output, 0), size(grad_output, 1), -1)).
    VJP: to grad_output: reshape(H @ sample_weights(grid, shape(y), interpolation_mode, padding_mode, align_corners, 0, orders).T,
    shape(grad_output)); to grid: reshape(einsum('ncp,ncs,nkps->npk', G, H, D), shape(grid)); H = reshape(g, (size(grad_output,
    0), size(grad_output, 1), -1)); D = sample_weights(grid, shape(y), interpolation_mode, padding_mode, align_corners, 1,
    orders).
    Shapes: g (n, c, *out), grid (n, *out, dims) -> (n, c, *size).   Saves: g and the grid.
    """

    inputs = saves = ("grad_output", "grid")
    keeps = ("size", "orders", "interpolation_mode", "padding_mode", "align_corners")

    def forward(g, grid, size, orders, *how):
        return _spread(g, grid, size, orders, *how)

    def vjp(self, hh, g, grid):
        _size, orders, *how = self.args
        return (
            both.run(self.sample, (hh, grid), orders, *how) if self.needs(0) else None,
            _to_grid(self.sample, g, (hh, grid), orders, how) if self.needs(1) else None,
        )


class GridSampler3DBackward0(GridSampler2DBackward0):
    """A volume read at places between its elements.

    Math: y = reshape(X @ sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners).T, shape(y)); X =
    reshape(input, (size(input, 0), size(input, 1), -1)).
    VJP: to input: reshape(G @ sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners), shape(input));
    to grid: reshape(einsum('ncp,ncs,nkps->npk', G, X, D), shape(grid)); G = reshape(g, (size(input, 0), size(input, 1), -1)); D =
    sample_weights(grid, shape(input), interpolation_mode, padding_mode, align_corners, 1).
    Shapes: x (n, c, d, h, w), grid (n, *out, 3) -> (n, c, *out).   Saves: x and the grid.   PyTorch:
    torch.nn.functional.grid_sample
    """

    inputs = saves = ("input", "grid")
    no_jvp = "grid_sampler_3d"


class GridSampler3DBackwardBackward0(GridSampler2DBackwardBackward0):
    """The same for volumes."""

    inputs = saves = ("grad_output", "input", "grid")


class _Sample3D(_Sample, name="GridSampler3DBackward0"):
    """The same for volumes."""

    inputs = saves = ("input", "grid")


class _ToImage3D(_ToImage, name="GridSampler3DBackward0"):
    """The same for volumes."""

    inputs = saves = ("grad_output", "grid")


for _rules in (
    (GridSampler2DBackward0, GridSampler2DBackwardBackward0, _Sample, _ToImage),
    (GridSampler3DBackward0, GridSampler3DBackwardBackward0, _Sample3D, _ToImage3D),
):
    for _rule in _rules:
        _, _rule.gradient, _rule.sample, _rule.to_input = _rules


class AffineGridGeneratorBackward0(Rule):
    """The grid that makes a sampling turn, stretch and shift an image.

    Math: y = reshape(unit_grid(size, align_corners=align_corners) @ a.T, shape(y)).
    VJP: reshape(g, (size(a, 0), -1, size(a, 1))).T @ unit_grid(size, align_corners=align_corners).
    Shapes: theta (n, dims, dims + 1), size (n, c, *out) -> (n, *out, dims).   Saves: nothing.   PyTorch:
    torch.nn.functional.affine_grid
    """

    inputs = ("theta",)
    keeps = ("size", "align_corners")

    def forward(theta, size, align_corners):
        places = _places(size[2:], align_corners, theta.dtype)
        return (places @ theta.swapaxes(1, 2)).reshape(size[0], *size[2:], len(size) - 2)

    def vjp(self, g):
        size, align_corners = self.args
        places = both.constant(_places(size[2:], align_corners, both.array_of(g).dtype), g)
        columns = both.transpose(g.reshape((size[0], math.prod(size[2:]), len(size) - 2)))
        return columns @ both.expand(places, (size[0], *places.shape))


def _places(size, align_corners, dtype):
    """The coordinates of an image as rows (x, y, 1) or (x, y, z, 1); x runs along the last dim."""
    axes = [
        np.linspace(-1, 1, n) * (1 if align_corners else (n - 1) / n) if n > 1 else np.zeros(n) for n in size
    ]
    places = np.meshgrid(*axes, indexing="ij")[::-1]
    return np.stack([*places, np.ones(size)], -1).reshape(math.prod(size), len(size) + 1).astype(dtype)


@function(method=False, name="affine_grid_generator")
def affine_grid(theta, size, align_corners):
    """The grid of an affine map for images of `size`.

    theta (n, 2, 3) for a size of 4 numbers, (n, 3, 4) for one of 5; returns (n, *size[2:], 2 or 3).
    Raises RuntimeError if they differ in n.
    """
    size, have = tuple([operator.index(n) for n in size]), theta._data.shape
    if have[0] != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {[size[0], have[-1]]} but got: "
            f"{[have[0], have[-1]]}."
        )
    return apply(AffineGridGeneratorBackward0, (theta,), size, bool(align_corners))


@function(method=False)
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """Sample `input` (n, c, *size) at `grid` (n, *out, dims); returns (n, c, *out) (torch.grid_sampler).

    The modes are numbers: 0 bilinear, 1 nearest, 2 bicubic;  0 zeros, 1 border, 2 reflection.
    Raises RuntimeError for shapes and types that do not fit together, NotImplementedError for integers, ValueError for
    an unknown mode.
    """
    if interpolation_mode not in _TAPS or padding_mode not in (ZEROS, BORDER, REFLECTION):
        raise ValueError(f"grid_sampler(): unknown mode {interpolation_mode} or padding {padding_mode}")
    x, at = input._data, grid._data
    have = f"input with sizes {list(x.shape)} and grid with sizes {list(at.shape)}"
    if not x.ndim or not at.ndim or len(x) != len(at):
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {have}")
    if at.shape[-1] != x.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {x.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(at.shape)}"
        )
    for dim, n in enumerate(x.shape[2:], 2):
        if n == 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(x.shape)} "
                f"with dimension {dim} being empty"
            )
    if x.ndim not in (4, 5) or at.ndim != x.ndim:
        kind = "4D" if x.ndim == 4 else "5D"
        raise RuntimeError(
            f"grid_sampler(): expected {kind} input and grid with same number of dimensions, but got {have}"
        )
    if x.ndim == 5 and interpolation_mode == BICUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if x.dtype.kind != "f":
        name = "grid_sampler_2d_cpu_kernel_impl" if x.ndim == 4 else "grid_sampler3d_cpu"
        raise not_for(x.dtype, name)
    if x.dtype is not at.dtype:
        raise other_type(x, at)
    rule = GridSampler2DBackward0 if x.ndim == 4 else GridSampler3DBackward0
    return apply(rule, (input, grid), interpolation_mode, padding_mode, bool(align_corners))


@function(method=False)
def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler for images (n, c, h, w) and grids (n, *out, 2) (torch.grid_sampler_2d)."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@function(method=False)
def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """grid_sampler for volumes (n, c, d, h, w) and grids (n, *out, 3) (torch.grid_sampler_3d)."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


class ConvTbcBackward0(Rule):
    """A convolution along time, the first dim.

    Math: y = permute(conv1d(X, W, padding=pad), (2, 0, 1)) + bias; X = permute(self, (1, 2, 0)); W = permute(weight, (2, 1, 0)).
    VJP: to self: permute(conv1d_input(shape(X), W, G, padding=pad), (2, 0, 1)); to weight: permute(conv1d_weight(X, shape(W), G,
    padding=pad), (2, 1, 0)); to bias: g; G = permute(g, (1, 2, 0)).
    Shapes: a (times, n, in), w (k, in, out), b (out,) -> (times + 2 pad - k + 1, n, out).   Saves: a, w, b.   PyTorch:
    torch.conv_tbc
    """

    op = "conv_tbc"
    no_jvp = "conv_tbc"
    inputs = saves = ("self", "weight", "bias")
    keeps = ("pad",)

    def forward(x, w, b, pad):
        width, times = len(w), len(x) + 2 * pad - len(w) + 1
        out = np.empty((times, x.shape[1], w.shape[2]), x.dtype)
        out[...] = b
        for k in range(width):
            there, here = _overlap(k - pad, len(x), times)
            out[here] += x[there] @ w[k]
        return out

    def vjp(self, g, x, w, _bias):
        (pad,) = self.args
        to_x, to_w = both.zeros(tuple(x.shape), g), []
        for k in range(w.shape[0]):
            there, here = _overlap(k - pad, x.shape[0], g.shape[0])
            after = (there.start, x.shape[0] - there.stop)
            to_x = to_x + _with_zeros(g[here] @ both.transpose(w[k]), *after)
            rows = x[there].reshape((-1, x.shape[2]))
            to_w.append((both.transpose(rows) @ g[here].reshape((-1, g.shape[2]))).reshape((1, *w.shape[1:])))
        return to_x, both.cat(to_w, 0), g.sum((0, 1))


def _overlap(shift, count, times):
    """The valid times t + shift of an input of `count` times for t in `times`, and these t, as slices."""
    start = min(max(0, -shift), times)
    stop = max(start, min(times, count - shift))
    return slice(start + shift, stop + shift) if stop > start else slice(0, 0), slice(start, stop)


def _with_zeros(x, before, after):
    """`x` with rows of zeros before and after it."""
    return both.cat([both.zeros((before, *x.shape[1:]), x), x, both.zeros((after, *x.shape[1:]), x)], 0)


@function(method=False)
def conv_tbc(input, weight, bias, pad=0):
    """A convolution of (times, n, channels) along time (torch.conv_tbc)."""
    x, w, b = input._data, weight._data, bias._data
    for wrong, text in (
        (x.ndim != 3, "Input must have 3 dims: time, batch, in_channel"),
        (w.ndim != 3, "Weight tensor must have 3 dims: kernel_width, in_channels, out_channels."),
        (b.ndim != 1, "Bias must be 1-D"),
    ):
        if wrong:
            raise RuntimeError(text)
    if x.shape[2] != w.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if len(b) != w.shape[2]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    if x.dtype != w.dtype:
        kinds = [TYPE_NAMES[t.dtype.name] for t in (x, w)]
        raise RuntimeError("self and mat2 must have the same dtype, but got {} and {}".format(*kinds))
    times = len(x) + 2 * pad - len(w) + 1
    if times < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {times}: {[times, x.shape[1], w.shape[2]]}"
        )
    return apply(ConvTbcBackward0, (input, weight, bias), pad)


__all__ = [
    "check_padded_dims",
    "conv_transpose",
    "convolution",
    "pad_by_mode",
    "pad_constant",
    "unwindow",
    "windows",
]
