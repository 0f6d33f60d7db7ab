"""The rules of normalization: subtract a mean, divide by a spread, then scale and shift.

All of them are one formula over different dims: with xh = (x - mean) / spread and g' = g * weight, the
gradient of x is (g' - mean(g') - xh mean(g' xh)) / spread, the means taken over the dims that were normalized.
"""

import math

import numpy as np

from ..autograd.errors import other_type
from ..autograd.modes import THREAD, WATCHERS, watcher
from ..autograd.record import apply
from ..autograd.variable import Variable
from ..layout import channels, rows
from . import array_or_tensor as both
from .general import GeneralRule, call, gradients
from .reductions import NormBackward1
from .rule import METHODS, Rule, floats_only, function, kernel
from .scalars import plus


def _stats(x, dims, eps):
    """The mean over `dims`, and 1 / sqrt(variance + eps); of an array or a Tensor."""
    if isinstance(x, Variable):
        mean = x.mean(dims, True)
        d = x - mean
        return mean, ((d * d).mean(dims, True) + eps).rsqrt()
    mean = x.mean(dims, keepdims=True, dtype=x.dtype)
    d = x - mean
    return mean, 1 / np.sqrt((d * d).mean(dims, keepdims=True, dtype=x.dtype) + x.dtype.type(eps))


def _centered(g, xh, rstd, dims):
    """The formula in the module's docstring."""
    n = math.prod(g.shape[d] for d in dims)
    keep = {"keepdim": True} if isinstance(g, Variable) else {"keepdims": True}
    mean_g, mean_gx = g.sum(dims, **keep) / n, (g * xh).sum(dims, **keep) / n
    return (g - mean_g - xh * mean_gx) * rstd


def _sent(g, x, w, mean, rstd, dims, lead, wanted, moving=True):
    """The gradients that a normalization over `dims` sends to x, w and b, where w and b repeat along `lead`; None for those not needed.

    `moving`: whether mean and rstd depend on x.
    """
    xh = (x - mean) * rstd
    to_x = None
    if wanted[0]:
        scaled = g if w is None else g * w
        to_x = _centered(scaled, xh, rstd, dims) if moving else scaled * rstd
    return to_x, _summed(g * xh, lead) if wanted[1] else None, _summed(g, lead) if wanted[2] else None


def _sent_twice(grads, g, x, w, mean, rstd, dims, lead, moving=True):
    """The VJP of `_sent`: from the gradients of its results to those of g, x and w.

    With p(v) = (v - mean(v) - xh mean(v xh)) / spread, which is its own transpose, the gradient of x was p(g'), and
    changing x changes xh by p. So a gradient h of it sends p(h) w to g, and to x
    -(xh mean(h p(g')) + mean(g' xh) p(h) + mean(h xh) p(g')) / spread.
    """
    to_x, to_w, to_b = grads
    xh = (x - mean) * rstd

    def p(v):
        return _centered(v, xh, rstd, dims) if moving else v * rstd

    def mean_of(v):
        return both.mean_over(v, dims, True)

    back_g = back_x = back_w = None
    if to_x is not None:
        ph = p(to_x)
        back_g = ph if w is None else ph * w
        back_w = None if w is None else _summed(g * ph, lead)
        if moving:
            scaled = g if w is None else g * w
            pg = p(scaled)
            back_x = -rstd * (xh * mean_of(to_x * pg) + mean_of(scaled * xh) * ph + mean_of(to_x * xh) * pg)
    if to_w is not None:
        back_g, back_x = both.plus(back_g, to_w * xh), both.plus(back_x, p(to_w * g))
    if to_b is not None:
        back_g = both.plus(back_g, both.expand(to_b, g.shape))
    return back_g, back_x, back_w


def _shaped(v, ndim, dim=1):
    """A vector over the channels, shaped to broadcast with a tensor of `ndim` dims."""
    return None if v is None else v.reshape((1,) * dim + (-1,) + (1,) * (ndim - dim - 1))


class NativeLayerNormBackward0(GeneralRule):
    """Layer norm: every sample normalized over its last dims.

    Math: y = (h if weight is None else h * weight) + (0 if bias is None else bias).   VJP: to input: (d - mean(d,
    dim=last_dims(normalized_shape), keepdim=True) - h * mean(d * h, dim=last_dims(normalized_shape), keepdim=True)) /
    s; to weight: g * h; to bias: g; d = g if weight is None else g * weight; h = (input - mean(input,
    dim=last_dims(normalized_shape), keepdim=True)) / s; s = sqrt(var(input, dim=last_dims(normalized_shape),
    correction=0, keepdim=True) + eps).
    Shapes: w and b have the shape of the normalized dims.   Saves: x, w, b, mean, 1 / spread.   PyTorch: layer_norm
    """

    layout = rows
    op = "native_layer_norm"
    inputs = saves = ("input", "weight", "bias", "result1", "result2")
    operands, extras = 3, 2
    keeps = ("normalized_shape",)

    def forward(x, w, b, shape, eps):
        mean, rstd = _stats(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
        y = (x - mean) * rstd
        if w is not None:
            y = y * w
        return (y if b is None else y + b).astype(x.dtype, copy=False), mean, rstd

    def vjp(self, g, x, w, b, mean, rstd):
        wanted = self.needs(0), self.needs(1), self.needs(2)
        return gradients(NativeLayerNormBackwardBackward0, wanted, (g, x, mean, rstd, w, b), *self.args)


class NativeLayerNormBackwardBackward0(GeneralRule):
    """The VJP of layer norm as an operation of three results.

    Math: y0 = (d - mean(d, dim=last_dims(normalized_shape), keepdim=True) - h * mean(d * h,
    dim=last_dims(normalized_shape), keepdim=True)) / s; y1 = sum_to_size(a * h, normalized_shape); y2 =
    sum_to_size(a, normalized_shape); d = grad_out if weight is None else grad_out * weight; h = (input - mean(input,
    dim=last_dims(normalized_shape), keepdim=True)) / s; s = sqrt(var(input, dim=last_dims(normalized_shape),
    correction=0, keepdim=True) + eps).   VJP: to grad_out: (pg if weight is None else pg * weight) + g1 * h + g2; to
    input: -(h * mean(g0 * pd, dim=last_dims(normalized_shape), keepdim=True) + mean(d * h,
    dim=last_dims(normalized_shape), keepdim=True) * pg + mean(g0 * h, dim=last_dims(normalized_shape), keepdim=True)
    * pd) / s + pv; to weight: grad_out * pg; pg = (g0 - mean(g0, dim=last_dims(normalized_shape), keepdim=True) - h *
    mean(g0 * h, dim=last_dims(normalized_shape), keepdim=True)) / s; pd = (d - mean(d,
    dim=last_dims(normalized_shape), keepdim=True) - h * mean(d * h, dim=last_dims(normalized_shape), keepdim=True)) /
    s; pv = (v - mean(v, dim=last_dims(normalized_shape), keepdim=True) - h * mean(v * h,
    dim=last_dims(normalized_shape), keepdim=True)) / s; v = g1 * grad_out; to bias: nothing; d = grad_out if weight
    is None else grad_out * weight; h = (input - mean(input, dim=last_dims(normalized_shape), keepdim=True)) / s; s =
    sqrt(var(input, dim=last_dims(normalized_shape), correction=0, keepdim=True) + eps).
    Shapes: as layer norm. Saves: g, x, mean, 1 / spread, w.
    """

    op = "native_layer_norm_backward"
    inputs = ("grad_out", "input", "mean", "rstd", "weight", "bias")
    saves = inputs[:5]
    keeps = ("normalized_shape",)
    plain = False

    def forward(g, x, mean, rstd, w, b, shape, eps, wanted):
        return _sent(g, x, w, mean, rstd, *_split(x, shape), wanted)

    def vjp(self, grads, g, x, mean, rstd, w):
        shape, eps = self.args
        dims, lead = _split(x, shape)
        if isinstance(x, Variable):
            mean, rstd = _stats(x, dims, eps)
        to_g, to_x, to_w = _sent_twice(grads, g, x, w, mean, rstd, dims, lead)
        return to_g, to_x, None, None, to_w, None


def _split(x, shape):
    """The dims of `x` that are normalized, the last ones, and those before them."""
    ndim = len(x.shape)
    return tuple(range(ndim - len(shape), ndim)), tuple(range(ndim - len(shape)))


def _summed(x, dims):
    return x.sum(dims) if dims else x


@function(method=False)
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """Every sample normalized over its last dims (torch.layer_norm)."""
    x = input._data
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._data.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t._data.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if x.shape[x.ndim - len(shape) :] != shape or x.ndim < len(shape):
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got "
            f"input of size{list(x.shape)}"
        )
    _same_type(x, weight, bias)
    floats_only(x, "LayerNormKernelImpl")
    return call(NativeLayerNormBackward0, (input, weight, bias), shape, eps)


def _same_type(x, *others):
    """Raise RuntimeError unless all have the same type; with float16, all of the others may be float32.

    Which error it is depends on the first of the others, as in PyTorch.
    """
    others = [t._data for t in others if t is not None]
    for other in others:
        if other.dtype is x.dtype:
            continue
        if others[0].dtype is x.dtype:
            raise other_type(x, other)
        if any(one.dtype.name != "float32" for one in others):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if x.dtype.name != "float16":
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


class NativeBatchNormBackward0(GeneralRule):
    """Batch norm: every channel normalized over the batch, or by the running statistics in evaluation.

    Math: y = (h if weight is None else h * per_channel(weight, input)) + (0 if bias is None else per_channel(bias,
    input)).   VJP: to input: (d - mean(d, dim=all_but(1, ndim(input)), keepdim=True) - h * mean(d * h, dim=all_but(1,
    ndim(input)), keepdim=True)) / s if training else d / s; to weight: sum(g * h, dim=all_but(1, ndim(input))); to
    bias: sum(g, dim=all_but(1, ndim(input))); d = g if weight is None else g * per_channel(weight, input); h = (input
    - m) / s; m = mean(input, dim=all_but(1, ndim(input)), keepdim=True) if training else per_channel(running_mean,
    input); s = sqrt((var(input, dim=all_but(1, ndim(input)), correction=0, keepdim=True) if training else
    per_channel(running_var, input)) + eps).
    Shapes: x (n, c, ...), w and b (c,). Saves: x, w, the running statistics, mean, 1 / spread.   PyTorch:
    torch.nn.functional.batch_norm
    """

    layout = channels
    op = "native_batch_norm"
    inputs = ("input", "weight", "bias", "running_mean", "running_var", "result1", "result2")
    operands, extras = 3, 2
    saves = ("input", "weight", "running_mean", "running_var", "result1", "result2")
    keeps = ("training", "eps")

    def forward(x, w, b, running_mean, running_var, training, eps, *_):
        nothing = np.zeros(0, x.dtype)
        if training:
            mean, rstd = _stats(x, _others(x.ndim), eps)
            saved = mean.reshape(-1), rstd.reshape(-1)
        else:
            mean = _shaped(running_mean, x.ndim)
            rstd = 1 / np.sqrt(_shaped(running_var, x.ndim) + x.dtype.type(eps))
            saved = nothing, nothing
        y = (x - mean) * rstd
        if w is not None:
            y = y * _shaped(w, x.ndim)
        return (y if b is None else y + _shaped(b, x.ndim)).astype(x.dtype, copy=False), *saved

    def vjp(self, g, x, *saved):
        wanted = self.needs(0), self.needs(1), self.needs(2)
        return gradients(NativeBatchNormBackwardBackward0, wanted, (g, x, *saved), *self.args[:2])


class NativeBatchNormBackwardBackward0(GeneralRule):
    """The VJP of batch norm as an operation of three results.

    Math: y0 = (d - mean(d, dim=all_but(1, ndim(input)), keepdim=True) - h * mean(d * h, dim=all_but(1, ndim(input)),
    keepdim=True)) / s if train else d / s; y1 = sum(a * h, dim=all_but(1, ndim(input))); y2 = sum(a, dim=all_but(1,
    ndim(input))); d = grad_out if weight is None else grad_out * per_channel(weight, input); h = (input - m) / s; m =
    mean(input, dim=all_but(1, ndim(input)), keepdim=True) if train else per_channel(running_mean, input); s =
    sqrt((var(input, dim=all_but(1, ndim(input)), correction=0, keepdim=True) if train else per_channel(running_var,
    input)) + eps).   VJP: to grad_out: (pg if weight is None else pg * per_channel(weight, input)) + per_channel(g1,
    input) * h + per_channel(g2, input); to input: (-(h * mean(g0 * pd, dim=all_but(1, ndim(input)), keepdim=True) +
    mean(d * h, dim=all_but(1, ndim(input)), keepdim=True) * pg + mean(g0 * h, dim=all_but(1, ndim(input)),
    keepdim=True) * pd) / s if train else 0) + pv; to weight: sum(grad_out * pg, dim=all_but(1, ndim(input))); pg =
    ((g0 - mean(g0, dim=all_but(1, ndim(input)), keepdim=True) - h * mean(g0 * h, dim=all_but(1, ndim(input)),
    keepdim=True)) / s if train else g0 / s); pd = ((d - mean(d, dim=all_but(1, ndim(input)), keepdim=True) - h *
    mean(d * h, dim=all_but(1, ndim(input)), keepdim=True)) / s if train else d / s); pv = ((v - mean(v,
    dim=all_but(1, ndim(input)), keepdim=True) - h * mean(v * h, dim=all_but(1, ndim(input)), keepdim=True)) / s if
    train else v / s); v = per_channel(g1, input) * grad_out; d = grad_out if weight is None else grad_out *
    per_channel(weight, input); h = (input - m) / s; m = mean(input, dim=all_but(1, ndim(input)), keepdim=True) if
    train else per_channel(running_mean, input); s = sqrt((var(input, dim=all_but(1, ndim(input)), correction=0,
    keepdim=True) if train else per_channel(running_var, input)) + eps).
    Shapes: as batch norm.   Saves: all it is given.
    """

    op = "native_batch_norm_backward"
    inputs = saves = (
        "grad_out",
        "input",
        "weight",
        "running_mean",
        "running_var",
        "save_mean",
        "save_invstd",
    )
    operands = 5
    keeps = ("train", "eps")
    plain = False

    def forward(g, x, w, running_mean, running_var, mean, rstd, training, eps, wanted):
        if training:
            mean, rstd = _shaped(mean, x.ndim), _shaped(rstd, x.ndim)
        else:
            mean, rstd = _running(running_mean, running_var, x.ndim, eps)
        dims = _others(x.ndim)
        return _sent(g, x, _shaped(w, x.ndim), mean, rstd, dims, dims, wanted, training)

    def vjp(self, grads, g, x, w, running_mean, running_var, mean, rstd):
        training, eps = self.args
        ndim = len(x.shape)
        dims = _others(ndim)
        if not training:
            mean, rstd = _running(running_mean, running_var, ndim, eps)
        elif isinstance(x, Variable):
            mean, rstd = _stats(x, dims, eps)
        else:
            mean, rstd = _shaped(mean, ndim), _shaped(rstd, ndim)
        to_x, to_w, to_b = grads
        grads = to_x, _shaped(to_w, ndim), _shaped(to_b, ndim)
        return *_sent_twice(grads, g, x, _shaped(w, ndim), mean, rstd, dims, dims, training), None, None


def _running(mean, var, ndim, eps):
    """The running statistics as factors: the mean, and 1 / sqrt(variance + eps)."""
    return _shaped(mean, ndim), (_shaped(var, ndim) + eps) ** -0.5


def _others(ndim):
    """Every dim but that of the channels."""
    return (0, *range(2, ndim))


@function(method=False)
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """Normalize every channel: in training over the batch, which also updates the running statistics (torch.batch_norm)."""
    x = input._data
    channels = x.shape[1] if x.ndim > 1 else 0
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError(
            f"running_{'mean' if running_mean is None else 'var'} must be defined in evaluation mode"
        )
    for name, t in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if t is not None and t._data.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t._data.size}")
    if not x.size:  # nothing to normalize; the graph is PyTorch's
        out = input.clone()
        for combine, t in ((METHODS["mul"], weight), (METHODS["add"], bias)):
            out = out if t is None else combine(out, t.select(0, 0))
        return out
    floats_only(x, "batch_norm")
    _same_type(x, weight, bias, running_mean, running_var)
    dual = None if training else THREAD.state.dual
    if dual is not None and dual.tangents(input) and any(map(dual.tangents, (running_mean, running_var))):
        raise RuntimeError(
            "batch_norm is not differentiable wrt running_mean and running_var, they cannot have forward grad defined"
        )
    out = call(NativeBatchNormBackward0, (input, weight, bias, running_mean, running_var), training, eps)
    if training and running_mean is not None:
        dims = _others(x.ndim)
        n = x.size // max(channels, 1)
        unbiased = n / max(n - 1, 1)
        for t, moved, args in (
            (running_mean, moved_mean, (dims, momentum)),
            (running_var, moved_var, (dims, momentum, unbiased)),
        ):
            old = t._array()
            data = moved(old, x, *args)
            if WATCHERS:
                watcher().moving(t, moved.__name__, (t, input), args, data)
            old[...] = data  # PyTorch counts no write here either
    return out


@kernel
def moved_mean(old, x, dims, momentum):
    """A running mean, moved towards the mean of `x` over `dims`."""
    return old * (1 - momentum) + x.mean(dims).astype(old.dtype) * momentum


@kernel
def moved_var(old, x, dims, momentum, unbiased):
    """A running variance, moved towards that of `x` over `dims`; `unbiased` is n / (n - 1)."""
    return old * (1 - momentum) + (x.var(dims) * unbiased).astype(old.dtype) * momentum


class NativeGroupNormBackward0(GeneralRule):
    """Group norm: every sample normalized over groups of channels.

    Math: y = (h if weight is None else h * per_channel(weight, input)) + (0 if bias is None else per_channel(bias,
    input)); h = reshape(k, shape(input)).   VJP: to input: reshape((d - mean(d, dim=2, keepdim=True) - k * mean(d *
    k, dim=2, keepdim=True)) / s, shape(input)); to weight: sum(g * reshape(k, shape(input)), dim=all_but(1,
    ndim(input))); to bias: sum(g, dim=all_but(1, ndim(input))); d = reshape(g if weight is None else g *
    per_channel(weight, input), (N, group, C * HxW // group)); k = (x - mean(x, dim=2, keepdim=True)) / s; s =
    sqrt(var(x, dim=2, correction=0, keepdim=True) + eps); x = reshape(input, (N, group, C * HxW // group)).
    Shapes: x (n, c, ...), w and b (c,).   Saves: x, w, mean, 1 / spread. PyTorch: group_norm
    """

    layout = channels
    op = "native_group_norm"
    inputs = ("input", "weight", "bias", "result1", "result2")
    operands, extras = 3, 2
    saves = ("input", "weight", "result1", "result2")
    keeps = ("N", "C", "HxW", "group", "eps")

    def forward(x, w, b, n, c, hw, groups, eps):
        grouped = x.reshape(n, groups, c * hw // groups)
        mean, rstd = _stats(grouped, (2,), eps)
        y = ((grouped - mean) * rstd).reshape(x.shape)
        if w is not None:
            y = y * _shaped(w, x.ndim)
        y = (y if b is None else y + _shaped(b, x.ndim)).astype(x.dtype, copy=False)
        return y, mean.reshape(n, groups), rstd.reshape(n, groups)

    def vjp(self, g, x, w, mean, rstd):
        n, c, hw, groups, eps = self.args
        shape, ndim = x.shape, len(x.shape)
        x = x.reshape((n, groups, c * hw // groups))
        if isinstance(x, Variable):
            mean, rstd = _stats(x, (2,), eps)
        else:
            mean, rstd = mean[..., None], rstd[..., None]
        xh = (x - mean) * rstd
        to_x = to_w = None
        if self.needs(0):
            scaled = (g if w is None else g * _shaped(w, ndim)).reshape((n, groups, c * hw // groups))
            to_x = _centered(scaled, xh, rstd, (2,)).reshape(shape)
        if self.needs(1):
            to_w = (g * xh.reshape(shape)).sum(_others(ndim))
        return to_x, to_w, g.sum(_others(ndim)) if self.needs(2) else None


@function(method=False)
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    """Every sample normalized over groups of channels (torch.group_norm)."""
    x = input._data
    n, c, *rest = x.shape
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if c % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(x.shape)} and "
            f"num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._data.shape != (c,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got "
                f"{name} of shape "
                f"{list(t._data.shape)} and input of shape {list(x.shape)}"
            )
    _same_type(x, weight, bias)
    floats_only(x, "GroupNormKernelImpl")
    return call(NativeGroupNormBackward0, (input, weight, bias), n, c, math.prod(rest), num_groups, eps)


@function(method=False)
def instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
):
    """A batch norm in which every sample is its own batch, with the channels of all samples side by side (torch.instance_norm)."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    x = input._data
    n, c, *rest = x.shape

    def each(t):
        return None if t is None else t.repeat(n)

    weights = each(weight), each(bias)
    mean, var = (None if t is None else each(t).to(input.dtype) for t in (running_mean, running_var))
    flat = input.contiguous().view(1, n * c, *rest)
    out = batch_norm(flat, *weights, mean, var, use_input_stats, momentum, eps, cudnn_enabled)
    if use_input_stats:
        for t, moved in ((running_mean, mean), (running_var, var)):
            if t is not None:
                t.copy_(moved.view(n, c).mean(0))
    return out.view(*x.shape)


@function(method=False)
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Every sample divided by the root of its mean square over the last dims (torch.rms_norm)."""
    normalized_shape = tuple(normalized_shape)
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    if weight is not None and weight._data.shape != normalized_shape:
        raise RuntimeError(
            f"Expected weight to be of same shape as normalized_shape, but got weight of shape {list(weight.shape)} and "
            f"normalized_shape = {list(normalized_shape)}"
        )
    if input._data.shape[max(0, input._data.ndim - len(normalized_shape)) :] != normalized_shape:
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*"
            f"{', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    floats_only(input._data, "rms_norm")
    dims = tuple(range(input._data.ndim - len(normalized_shape), input._data.ndim))
    if eps is None:
        eps = float(np.finfo(input._data.dtype).eps)
    x = input.float() if input._data.dtype.itemsize < 4 else input  # the squares would overflow in float16
    out = x * plus((x**2).mean(dims, True), eps).rsqrt()
    return (out if weight is None else out * weight).to(input.dtype)


class WeightNormInterfaceBackward0(GeneralRule):
    """A weight by length and direction.

    Math: y = a * b / norm(a, dim=all_but(dim, ndim(a)), keepdim=True).   VJP: to a: (g - a * s / n ** 2) * b / n; to
    b: s / n; s = sum(g * a, dim=all_but(dim, ndim(a)), keepdim=True); n = norm(a, dim=all_but(dim, ndim(a)),
    keepdim=True).
    Shapes: w as v; g and the norms have size 1 in the dims that are summed.   Saves: v, g, the norms. PyTorch:
    torch._weight_norm, whose second derivative takes the norms for constants
    """

    op = "_weight_norm_interface"
    inputs = saves = ("v", "g", "result1")
    operands, extras = 2, 1
    keeps = ("dim",)

    def forward(v, g, dim):
        norms = np.sqrt((v * v).sum(_but(dim, v.ndim), keepdims=True))
        return v * (g / norms), norms

    def vjp(self, gw, v, g, norms):
        dims = _but(self.args[0], len(v.shape))
        if isinstance(v, Variable):
            norms = both.sum_over(v * v, dims, True).sqrt()
        along = both.sum_over(gw * v, dims, True) / norms
        return (gw - v * (along / norms)) * (g / norms) if self.needs(0) else None, along


def _but(dim, ndim):
    return tuple(d for d in range(ndim) if d != dim)


@function(name="_weight_norm", method=False)
def weight_norm(v, g, dim=0):
    """Compute v times g divided by the norm of each slice of v along `dim`; -1: by the norm of all of v (torch._weight_norm)."""
    if dim in (0, v._data.ndim - 1):
        return call(WeightNormInterfaceBackward0, (v, g), dim)
    return v * (g / norm_except_dim(v, 2, dim))


class NormBackward0(NormBackward1):
    """The norm of all elements, inside other functions.   PyTorch: torch.norm_except_dim."""

    op = "norm"


@function(method=False)
def norm_except_dim(v, pow=2, dim=0):
    """The norm of every slice of v along `dim`, in a shape that broadcasts with v; -1: of all of it (torch.norm_except_dim)."""
    shape = v._data.shape
    if dim == -1:
        return apply(NormBackward0, (v,), float(pow), tuple(range(len(shape))), False)
    if dim not in (0, len(shape) - 1):
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    n, ones = shape[dim], (1,) * (len(shape) - 1)
    if dim == 0:
        return apply(NormBackward1, (v.contiguous().view(n, -1),), float(pow), (1,), False).view(n, *ones)
    return apply(NormBackward1, (v.contiguous().view(-1, n),), float(pow), (0,), False).view(*ones, n)


class CrossMapLRN2dBackward(Rule):
    """Every channel divided by a power of what its neighbors' squares add up to.

    Math: y = a * s ** -beta; s = k + alpha / size * near(a ** 2, size).   VJP: g * s ** -beta - 2 * alpha * beta /
    size * a * near_back(g * a * s ** (-beta - 1), size); s = k + alpha / size * near(a ** 2, size).
    Shapes: (n, c, h, w).   Saves: a.   PyTorch: torch.nn.CrossMapLRN2d, whose VJP takes the sums over other channels
    """

    op = "CrossMapLRN2d"
    saves = ("self",)

    def forward(x, size, alpha, beta, k):
        return x * _spread(x, size, alpha, k) ** -beta

    def vjp(self, g, x):
        size, alpha, beta, k = self.args
        spread = _spread(x, size, alpha, k)
        back = _near(g * x * spread ** (-beta - 1), size, backwards=True)
        return g * spread**-beta - x * back * (2 * alpha * beta / size)


def _spread(x, size, alpha, k):
    return _near(x * x, size) * (alpha / size) + k


def _near(x, size, backwards=False):
    """For each channel of `x` the sum over nearby channels; as in PyTorch's layer, the first is included even if it is far away."""
    n, half = x.shape[1], (size - 1) // 2
    c = np.arange(n)
    near = (np.abs(c[:, None] - c) <= half) | ((c == 0) & (c[:, None] > half))
    near = both.constant((near.T if backwards else near).astype(both.array_of(x).dtype), x)
    return (near @ x.reshape((x.shape[0], n, -1))).reshape(x.shape)


def cross_map_lrn(input, size, alpha, beta, k):
    """The function of nn.CrossMapLRN2d."""
    if input._data.ndim != 4:
        raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input._data.ndim}D instead.")
    return apply(CrossMapLRN2dBackward, (input,), size, alpha, beta, k)


__all__ = [
    "batch_norm",
    "cross_map_lrn",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "norm_except_dim",
    "rms_norm",
    "weight_norm",
]
