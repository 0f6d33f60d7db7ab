"""torch.nn.functional: layers as functions, without parameters of their own. Their rules are in ops/."""

import inspect
import math

import numpy as np

from ..autograd import no_grad
from ..autograd.errors import not_for, other_type
from ..autograd.record import apply, check_fits
from ..autograd.seams import DOORS
from ..autograd.variable import wrap
from ..creation import follow
from ..dtypes import ALL
from ..interface.publish import publish
from ..ops import activations, attention, composed, draws, losses, normalization, pooling, products
from ..ops.convolution import (
    FILTERED,
    RESAMPLING,
    ChannelShuffleBackward0,
    Col2ImBackward0,
    Im2ColBackward0,
    PixelShuffleBackward0,
    PixelUnshuffleBackward0,
    UpsampleNearestBackward0,
    check_padded_dims,
    conv_transpose,
    convolution,
    pad_by_mode,
    pad_constant,
    resample,
)
from ..ops.convolution import affine_grid as _affine_grid
from ..ops.embedding import one_hot as _one_hot
from ..ops.rule import FUNCTIONS, METHODS, as_float, broadcast_shape, common_type, floats_only
from ..ops.scalars import over, plus, times
from ..world.missing import finder
from ..world.warning import warn

_IMPORTED = {*globals()}

# -- activations --------------------------------------------------------------------------------------


_relu, _relu_ = METHODS["relu"], METHODS["relu_"]


def relu(input, inplace=False):
    """max(x, 0)."""
    if inplace:
        return _relu_(input)
    out = None if DOORS.relu is None else DOORS.relu(input)
    return _relu(input) if out is None else out


def _with_inplace(name, doc):
    """The function `name` of ops/activations.py with PyTorch's `inplace` argument appended."""
    plain = getattr(activations, name, None) or FUNCTIONS[name]
    changing = getattr(activations, name + "_", None) or FUNCTIONS.get(name + "_") or METHODS.get(name + "_")

    form = inspect.signature(plain)
    last = len(form.parameters) - 1

    def fn(input, *args, inplace=False, **kwargs):
        if len(args) > last:
            *args, inplace = args
        return (changing if inplace else plain)(input, *args, **kwargs)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc
    flag = inspect.Parameter("inplace", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False)
    fn.__signature__ = form.replace(parameters=[*form.parameters.values(), flag])
    return fn


leaky_relu = _with_inplace("leaky_relu", "x where x > 0, else negative_slope * x.")
elu = _with_inplace("elu", "x where x > 0, else alpha * (exp(x) - 1).")
selu = _with_inplace("selu", "elu with the constants that keep mean 0 and variance 1.")
celu = _with_inplace("celu", "x where x > 0, else alpha * (exp(x / alpha) - 1).")
silu = _with_inplace("silu", "x * sigmoid(x).")
mish = _with_inplace("mish", "x * tanh(softplus(x)).")
hardtanh = _with_inplace("hardtanh", "x cut off at min_val and max_val.")
hardsigmoid = _with_inplace("hardsigmoid", "A piecewise linear sigmoid.")
hardswish = _with_inplace("hardswish", "x * hardsigmoid(x).")
threshold = _with_inplace("threshold", "x where x > threshold, else value.")

leaky_relu_, elu_, hardtanh_, threshold_ = (
    getattr(activations, name) for name in ("leaky_relu_", "elu_", "hardtanh_", "threshold_")
)
relu_, selu_, celu_, rrelu_ = METHODS["relu_"], activations.selu_, activations.celu_, activations.rrelu_
gelu, softplus, logsigmoid, glu = (
    activations.gelu,
    activations.softplus,
    activations.logsigmoid,
    activations.glu,
)
softsign, tanhshrink, prelu = activations.softsign, activations.tanhshrink, activations.prelu
hardshrink, softshrink = activations.hardshrink, activations.softshrink
tanh, sigmoid = FUNCTIONS["tanh"], FUNCTIONS["sigmoid"]


def relu6(input, inplace=False):
    """X cut off at 0 and 6."""
    return hardtanh(input, 0, 6, inplace=inplace)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu with a random slope in training, with the mean slope in evaluation."""
    return (activations.rrelu_ if inplace else activations.rrelu)(input, lower, upper, training)


def _softmax_dim(name, ndim):
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """Exponentials along `dim` that add up to 1."""
    if dim is None:
        dim = _softmax_dim("softmax", input._data.ndim)
    return FUNCTIONS["softmax"](input, dim, dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """Softmax of -x."""
    if dim is None:
        dim = _softmax_dim("softmin", input._data.ndim)
    return FUNCTIONS["softmax"](-input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """The logarithm of softmax."""
    if dim is None:
        dim = _softmax_dim("log_softmax", input._data.ndim)
    return FUNCTIONS["log_softmax"](input, dim, dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A random choice along `dim`, softened so that gradients pass; `hard`: one-hot in the forward pass."""
    from ..random import rng_of

    x = logits._data
    draws.continuous(x.dtype, "Exponential")
    gumbels = wrap(-np.log(rng_of().exponential(1.0, x.shape).astype(x.dtype)))
    soft = FUNCTIONS["softmax"]((logits + gumbels) / tau, dim)
    if not hard:
        return soft
    best = soft._data.argmax(dim)
    chosen = np.moveaxis(np.eye(x.shape[dim], dtype=x.dtype)[best], -1, dim)
    return follow(wrap(chosen), soft) - soft.detach() + soft


# -- linear -------------------------------------------------------------------------------------------

linear = products.linear
bilinear = FUNCTIONS["bilinear"]
pdist = FUNCTIONS["pdist"]
conv_tbc = FUNCTIONS["conv_tbc"]


# -- dropout ------------------------------------------------------------------------------------------


def _check_p(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropout(name, training):
    """F.<name> over torch.<name>."""
    plain, changing = FUNCTIONS[name], FUNCTIONS[name + "_"]

    def fn(input, p=0.5, training=training, inplace=False):
        _check_p(p)
        return (changing if inplace else plain)(input, p, training)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = plain.__doc__
    return fn


dropout = _dropout("dropout", True)
alpha_dropout = _dropout("alpha_dropout", False)
feature_alpha_dropout = _dropout("feature_alpha_dropout", False)


def _channel_dropout(name, spatial):
    def fn(input, p=0.5, training=True, inplace=False):
        _check_p(p)
        n = input._data.ndim
        sizes = f"{spatial + 1}D or {spatial + 2}D input"
        purpose = (
            f"exists to provide channel-wise dropout on inputs with {spatial} spatial dimension{'s' * (spatial > 1)}, a channel "
            "dimension, and an optional batch dimension"
        )
        if n not in (spatial + 1, spatial + 2):
            if spatial == 1:
                raise RuntimeError(
                    f"{name}: Expected {sizes}, but received a {n}D input. Note that {name} {purpose} (i.e. {sizes}s)."
                )
            warn(
                f"{name}: Received a {n}-D input to {name}, which is deprecated and will result in an error in a future "
                "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
                f"{name} {purpose} (i.e. {sizes}s)."
            )
        batched = n == spatial + 2 or spatial == 2
        if spatial == 2 and n == 3:
            warn(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
                "change in a future release to interpret the input as one without a batch dimension, i.e. shape "
                "(C, H, W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d "
                "instead.",
            )
        if not batched:
            input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
        out = FUNCTIONS["feature_dropout_" if inplace else "feature_dropout"](input, p, training)
        if batched:
            return out
        return out.squeeze_(0) if inplace else out.squeeze(0)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = "dropout of whole channels."
    return fn


dropout1d = _channel_dropout("dropout1d", 1)
dropout2d = _channel_dropout("dropout2d", 2)
dropout3d = _channel_dropout("dropout3d", 3)


# -- embedding ----------------------------------------------------------------------------------------

one_hot = _one_hot


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """Rows of `weight`, looked up by the integers in `input`."""
    if padding_idx is not None:
        rows = weight._data.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    else:
        padding_idx = -1
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    return FUNCTIONS["embedding"](weight, input, padding_idx, scale_grad_by_freq, sparse)


def _shorten(weight, input, max_norm, norm_type):
    """Scale down the rows about to be looked up to `max_norm`, in one unrecorded write."""
    table = weight.detach()
    picked = np.unique(input._data)
    for row in picked:
        if not -len(table) <= row < len(table):
            raise IndexError(
                f"select(): index {row} out of range for tensor of size {list(table.shape)} at dimension 0"
            )
    places = follow(wrap(picked), input)
    rows = table[places]
    for row in rows:
        norm = float(METHODS["norm"](row, norm_type)._data)
        if norm > max_norm:
            row *= max_norm / (norm + 1e-7)
    table[places] = rows


_BAG_MODES = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Rows of `weight` looked up by `input`, then summed, averaged or maximized within each bag.

    input               (bags, n), or (n,) cut into bags by `offsets`, where each one starts
    weight              (rows, d)
    mode                "sum", "mean" or "max"
    per_sample_weights  in the shape of `input`: the weight of each row in a sum
    padding_idx         a row to ignore
    returns             (bags, d)

    Raises ValueError for a `mode` or offsets of the wrong kind, NotImplementedError for weights in a mean or maximum.
    """
    if weight._data.dtype.kind in "iu" and input._data.dtype.kind == "f":
        warn(
            "Argument order of nn.functional.embedding_bag was changed. "
            "Usage `embedding_bag(weight, input, ...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        )
        input, weight = weight, input
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = wrap(np.arange(input.shape[0], dtype=input._data.dtype) * input.shape[1])
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None or not hasattr(offsets, "dim"):
            raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in _BAG_MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        _shorten(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    return FUNCTIONS["embedding_bag"](
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _BAG_MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


# -- normalization ------------------------------------------------------------------------------------


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Every sample normalized over its last dims."""
    if isinstance(normalized_shape, int):
        raise TypeError(
            "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"
        )
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Every sample divided by the root of its mean square over the last dims."""
    return normalization.rms_norm(input, normalized_shape, weight, eps)


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """Every channel normalized over the batch, or by the running statistics in evaluation."""
    if training:
        size = input._data.shape
        if size[0] * math.prod(size[2:]) == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {input.shape}"
            )
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return normalization.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """Every channel of every sample normalized over its positions."""
    if use_input_stats and math.prod(input._data.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return normalization.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Every sample normalized over groups of channels."""
    size = input._data.shape
    if len(size) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(size)}")
    if size[0] * size[1] // num_groups * math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(size)}")
    return normalization.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Every channel divided by a power of the mean square of its neighbors."""
    if input._data.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input._data.ndim} dimensions)"
        )
    if not input._data.size:
        return input
    square = (input * input).unsqueeze(1)
    if input._data.ndim == 3:
        mean = avg_pool2d(pad(square, (0, 0, size // 2, (size - 1) // 2)), (size, 1), stride=1).squeeze(1)
    else:
        n, c, h = input._data.shape[:3]
        square = (input * input).view(n, 1, c, h, -1)
        square = pad(square, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        mean = avg_pool3d(square, (size, 1, 1), stride=1).squeeze(1).view(*input._data.shape)
    return input / (mean * alpha + k) ** beta


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """`input` divided by its p-norm along `dim` (at least eps)."""
    norm = METHODS["norm"](input, p, dim, keepdim=True)
    return input / norm.clamp_min(eps).expand_as(input)


# -- convolution and pooling --------------------------------------------------------------------------


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A weight (out, in / groups, k) slid along the last dim."""
    return convolution(1, "conv1d", input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A weight (out, in / groups, kh, kw) slid over the last two dims."""
    return convolution(2, "conv2d", input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """A weight (out, in / groups, kd, kh, kw) slid over the last three dims."""
    return convolution(3, "conv3d", input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The map that sends the gradient of conv1d to its input."""
    return conv_transpose(
        1, "conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The map that sends the gradient of conv2d to its input."""
    return conv_transpose(
        2, "conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The map that sends the gradient of conv3d to its input."""
    return conv_transpose(
        3, "conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation
    )


def _given(stride):
    return stride is not None and stride not in ((), [])


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of the last dim."""
    return pooling.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of the last two dims."""
    return pooling.max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of the last three dims."""
    return pooling.max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of the last dim."""
    pooling.two_or_three_dims("avg_pool1d", input)
    stride = stride if _given(stride) else kernel_size
    return pooling.as_row(
        avg_pool2d,
        input,
        pooling.of_row("avg_pool1d", "kernel_size", kernel_size, 1),
        pooling.of_row("avg_pool1d", "stride", stride, 1),
        pooling.of_row("avg_pool1d", "padding", padding, 0),
        ceil_mode,
        count_include_pad,
    )


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of the last two dims."""
    return pooling.avg_pool(
        2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of the last three dims."""
    return pooling.avg_pool(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _lp_pool(means, largest, nd):
    """The p-norm of windows, from their means; an infinite p gives the largest element."""

    def fn(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        if norm_type == math.inf:
            return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
        places = kernel_size if nd == 1 else math.prod(_several(kernel_size, nd))
        out = means(input**norm_type, kernel_size, stride, 0, ceil_mode)
        return (out.sign() * relu(out.abs()) * places) ** (1.0 / norm_type)

    fn.__name__ = fn.__qualname__ = f"lp_pool{nd}d"
    fn.__doc__ = "The p-norm of each window."
    return fn


def _several(value, n):
    """A setting as a tuple of `n` numbers. Raises ValueError for another number of them."""
    value = tuple(value) if isinstance(value, (tuple, list)) else (value,) * n
    if len(value) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(value)})")
    if len(value) > n:
        raise ValueError(f"too many values to unpack (expected {n})")
    return value


lp_pool1d = _lp_pool(avg_pool1d, max_pool1d, 1)
lp_pool2d = _lp_pool(avg_pool2d, max_pool2d, 2)
lp_pool3d = _lp_pool(avg_pool3d, max_pool3d, 3)


def _fractional(nd):
    name = f"fractional_max_pool{nd}d"

    def plain(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if len(output_ratio) > nd:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            output_size = [int(input.size(i - nd) * output_ratio[i]) for i in range(nd)]
        return pooling.fractional_max_pool(
            nd, input, kernel_size, output_size, _random_samples, return_indices
        )

    def with_indices(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        return plain(input, kernel_size, output_size, output_ratio, True, _random_samples)

    for fn, ending in ((plain, ""), (with_indices, "_with_indices")):
        fn.__name__ = fn.__qualname__ = name + ending
    plain.__doc__ = """The largest element of windows at random distances, as many as `output_size` or `output_ratio` says."""
    with_indices.__doc__ = plain.__doc__ + " Returns the places as well."
    return plain, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional(3)


def _unpooled(input, kernel_size, stride, padding, output_size, nd):
    """The output size of a max_unpool: the requested one, if possible, or the smallest."""
    have = input.shape
    least = [(have[i - nd] - 1) * stride[i] + kernel_size[i] - 2 * padding[i] for i in range(nd)]
    if output_size is None:
        output_size = least
    else:
        if len(output_size) == nd + 2:
            output_size = output_size[2:]
        if len(output_size) != nd:
            raise ValueError(
                f"output_size should be a sequence containing {nd} or {nd + 2} elements, but it has a length of "
                f"'{len(output_size)}'"
            )
        for i, n in enumerate(least):
            low, high = n - stride[i], n + stride[i]
            if not low < output_size[i] < high:
                raise ValueError(
                    f'invalid output_size "{output_size}" (dim {i} must be between {low} and {high})'
                )
    for i, n in enumerate(output_size):
        if n < 0:
            raise ValueError(
                f"max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[{i}]={n}"
            )
    return tuple(output_size)


def _max_unpool(nd):
    def fn(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = pooling.pair(kernel_size, nd)
        if isinstance(kernel_size, (tuple, list)) and len(kernel_size) < nd and output_size is None:
            sizes = "two elements (height, width)" if nd < 3 else "three elements (depth, height, width)"
            raise RuntimeError(
                f"There should be exactly {sizes} in output_size, but got {len(kernel_size) + (nd == 1)} elements."
            )
        stride = kernel if stride is None else pooling.pair(stride, nd)
        out = _unpooled(input, kernel, stride, pooling.pair(padding, nd), output_size, nd)
        if nd > 1:
            return pooling.max_unpool(input, indices, out, stride)
        return pooling.max_unpool(input.unsqueeze(-1), indices.unsqueeze(-1), (*out, 1), stride).squeeze(-1)

    fn.__name__ = fn.__qualname__ = f"max_unpool{nd}d"
    fn.__doc__ = f"""The largest elements of max_pool{nd}d put back to the places they were taken from; zero between them.

    indices      the places, as max_pool{nd}d(..., return_indices=True) gives them
    output_size  the size before pooling, since several sizes are pooled to the same one

    Raises ValueError for an output_size that no pooling leads from, RuntimeError for places outside of it.
    Source: torch.nn.functional.max_unpool{nd}d of PyTorch 2.13.
    """
    return fn


max_unpool1d, max_unpool2d, max_unpool3d = _max_unpool(1), _max_unpool(2), _max_unpool(3)


def _grid(input, output_size, n):
    whole = output_size is None or isinstance(output_size, int)
    sizes = (output_size,) * n if whole else tuple(output_size)
    if not whole and len(sizes) >= input._data.ndim:
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    return tuple([s if s is not None else input._data.shape[i - n] for i, s in enumerate(sizes)])


def adaptive_avg_pool1d(input, output_size):
    """The means of `output_size` cells that cover the last dim."""
    if output_size is None:  # two-dimensional pooling reads None as "unchanged"
        raise TypeError("output_size must be a number of cells, not None")
    (n,) = pooling.one_number("adaptive_avg_pool1d", "output_size", output_size)
    pooling.two_or_three_dims("adaptive_avg_pool1d", input)
    return pooling.as_row(pooling.adaptive_avg_pool2d, input, (1, n))


def adaptive_avg_pool2d(input, output_size):
    """The means of a grid of cells that cover the last two dims."""
    return pooling.adaptive_avg_pool2d(input, _grid(input, output_size, 2))


def adaptive_avg_pool3d(input, output_size):
    """The means of a grid of cells that cover the last three dims."""
    return pooling.adaptive_avg_pool3d(input, _grid(input, output_size, 3))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest elements of `output_size` cells that cover the last dim."""
    return pooling.adaptive_max_pool1d(input, _grid(input, output_size, 1), return_indices)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest elements of a grid of cells that cover the last two dims."""
    return pooling.adaptive_max_pool2d(input, _grid(input, output_size, 2), return_indices)


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest elements of a grid of cells that cover the last three dims."""
    return pooling.adaptive_max_pool3d(input, _grid(input, output_size, 3), return_indices)


def _with_indices(fn):
    """The variant of a pool that also returns the indices."""
    if "adaptive" in fn.__name__:

        def both(input, output_size, return_indices=False):
            return fn(input, output_size, True)

    else:

        def both(
            input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
        ):
            return fn(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    both.__name__ = both.__qualname__ = fn.__name__ + "_with_indices"
    both.__doc__ = f"What `{fn.__name__}` returns with return_indices=True."
    return both


max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(
    _with_indices, (max_pool1d, max_pool2d, max_pool3d)
)
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = map(
    _with_indices, (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)
)


def _floats_or_bools(input, kernel):
    if input._data.dtype.kind in "iu":
        raise not_for(input._data.dtype, kernel)


def _sliding(**settings):
    """Settings of `fold` and `unfold` as pairs of numbers. Raises RuntimeError for invalid ones."""
    pairs = {name: pooling.pair(value) for name, value in settings.items()}
    for name, pair in pairs.items():
        if len(pair) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    for name, text, short, least in (
        ("kernel_size", "kernel size should be greater than zero", "kernel", 1), ("stride", "stride should be greater than zero", "stride", 1),
        ("dilation", "dilation should be greater than zero", "dilation", 1), ("padding", "padding should be non-negative", "pad", 0),
    ):  # fmt: skip
        height, width = pairs[name]
        if min(height, width) < least:
            raise RuntimeError(f"{text}, but got {short}_height: {height} {short}_width: {width}")
    return pairs.values()


def _check_image(input, dims, of):
    """Raise RuntimeError unless `input` has one of two numbers of dims, and elements."""
    shape = input._data.shape
    batch = len(shape) == dims[1]
    if len(shape) not in dims or 0 in shape[batch:]:
        raise RuntimeError(
            f"Expected {dims[0]}D or {dims[1]}D (batch mode) tensor {of}, but got: {list(shape)}"
        )


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Every window of an image as a column."""
    settings = _sliding(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)
    kernel, dilation, padding, stride = settings
    ndim = input._data.ndim
    if ndim < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {ndim})"
        )
    _check_image(input, (3, 4), "with possibly 0 batch size and other non-zero dimensions for input")
    _floats_or_bools(input, "im2col_out_cpu")
    h, w = input._data.shape[-2:]
    blocks = tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip((h, w), kernel, dilation, padding, stride, strict=True)
    )
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({h}, {w}), kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {blocks}, but its components must be at least one."
        )
    return apply(Im2ColBackward0, (input,), *settings, h, w)


def _check_columns(shape, size, kernel, dilation, padding, stride):
    """Raise RuntimeError if a matrix of `shape` is not what unfolding an image of `size` would give."""
    (height, width), (rows, columns) = kernel, shape
    if rows % (height * width):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={kernel}."
        )
    blocks = [
        int((n + 2 * p - d * (k - 1) - 1) / s) + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    ]
    if math.prod(blocks) != columns:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected "
            f"size of input's dimension 2 to match the calculated number of sliding blocks {blocks[0]} * {blocks[1]} = "
            f"{math.prod(blocks)}, but got input.size(2)={columns}."
        )
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, calculated "
            f"shape of the array of sliding blocks as ({blocks[0]}, {blocks[1]}), which is too small (non-positive)"
        )


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns put back as an image, overlaps added."""
    size, *settings = _sliding(
        output_size=output_size,
        kernel_size=kernel_size,
        dilation=dilation,
        padding=padding,
        stride=stride,
    )
    _check_image(input, (2, 3), "for input with possibly 0 batch size and non-zero dimensions for input")
    _check_columns(input._data.shape[-2:], size, *settings)
    _floats_or_bools(input, "col2im_out_cpu")
    return apply(Col2ImBackward0, (input,), *settings, size)


def pad(input, pad, mode="constant", value=None):
    """`input` with a border; `pad` gives (before, after) for the last dim, then for the one before it, and so on."""
    pad = tuple(pad)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    ndim = input._data.ndim
    if len(pad) // 2 > ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding "
            f"length {len(pad)} "
            f"and input of dimension {ndim}"
        )
    if mode == "constant":
        for i in range(len(pad) // 2):
            size = input._data.shape[-1 - i]
            before, after = pad[2 * i : 2 * i + 2]
            if max(-before, 0) + max(-after, 0) > size:
                raise RuntimeError("narrow(): length must be non-negative.")
        return pad_constant(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode in ("reflect", "replicate"):
        return pad_by_mode(input, pad, mode)
    if mode == "circular":
        return _pad_circular(input, pad)
    raise NotImplementedError(f"Unrecognised padding mode {mode}")


def _pad_circular(input, pad):
    """Circular padding: writes the middle, then each border from the opposite end."""
    check_padded_dims(input, pad)
    shape, dims = list(input._data.shape), []
    for i in range(len(pad) // 2):
        dim, (before, after) = len(shape) - 1 - i, pad[2 * i : 2 * i + 2]
        if max(before, after) > shape[dim]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if before + after + shape[dim] < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        shape[dim] += before + after
        dims.append((dim, before, after))
    out = input.new_empty(shape)
    middle = out
    for dim, before, after in reversed(dims):
        start, end = max(before, 0), shape[dim] - max(after, 0)
        middle = middle.narrow(dim, start, end - start)
        input = input.narrow(dim, max(-before, 0), end - start)
    middle.copy_(input)
    for dim, before, after in dims:
        size, start, end = shape[dim], max(before, 0), shape[dim] - max(after, 0)
        if before > 0:
            out.narrow(dim, 0, before).copy_(out.narrow(dim, end - before, before))
        if after > 0:
            out.narrow(dim, size - after, after).copy_(out.narrow(dim, start, after))
    return out


def _check_shuffle(op, input, name, factor):
    """The shape of `input`, checked to be divisible by that factor."""
    shape = input._data.shape
    if len(shape) < 3:
        raise RuntimeError(
            f"{op} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{op} expects a positive {name}, but got {factor}")
    return shape


def pixel_shuffle(input, upscale_factor):
    """(n, c r^2, h, w) rearranged as (n, c, h r, w r)."""
    shape = _check_shuffle("pixel_shuffle", input, "upscale_factor", upscale_factor)
    if shape[-3] % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={shape[-3]} is not divisible by {upscale_factor**2}"
        )
    return apply(PixelShuffleBackward0, (input,), upscale_factor)


def channel_shuffle(input, groups):
    """The channels (dim 1) shuffled: one of each group in turn."""
    if input._data.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    c = input._data.shape[1]
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    return apply(ChannelShuffleBackward0, (input,), groups)


def pixel_unshuffle(input, downscale_factor):
    """(n, c, h r, w r) rearranged as (n, c r^2, h, w)."""
    shape = _check_shuffle("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    for name, d in (("height", -2), ("width", -1)):
        if shape[d] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({d})={shape[d]} is not "
                f"divisible by {downscale_factor}"
            )
    return apply(PixelUnshuffleBackward0, (input,), downscale_factor)


# -- losses -------------------------------------------------------------------------------------------


_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _enum(reduction, size_average=None, reduce=None):
    """PyTorch's number for a reduction. Raises ValueError for an unknown one."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    found = _REDUCTIONS.get(reduction)
    if found is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return found


def legacy_reduction(size_average, reduce):
    """The reduction meant by the deprecated arguments size_average and reduce."""
    average = True if size_average is None else size_average
    name = "none" if reduce is False else "mean" if average else "sum"
    warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
    )
    return name


_reduce = composed.reduced


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Negative log likelihood of the right classes, from log probabilities."""
    return losses.nll_loss_nd(input, target, weight, _enum(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """log_softmax and nll_loss in one; the target holds classes, or (in the shape of `input`) probabilities."""
    if size_average is None is reduce and reduction in _REDUCTIONS:
        reduction = _REDUCTIONS[reduction]
    else:
        reduction = _enum(reduction, size_average, reduce)
    if DOORS.cross_entropy is not None and weight is None and label_smoothing == 0.0:
        loss = DOORS.cross_entropy(input, target, reduction, ignore_index)
        if loss is not None:
            return loss
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    x, t = input._data, target._data
    class_dim = 0 if x.ndim == 1 else 1
    if x.shape == t.shape:
        return _cross_entropy_of_probabilities(
            input, target, weight, ignore_index, reduction, label_smoothing, class_dim
        )
    log_p = losses.log_softmax(input, class_dim)
    if label_smoothing > 0.0:
        return _smoothed(log_p, target, weight, ignore_index, reduction, label_smoothing, class_dim)
    return losses.nll_loss_nd(log_p, target, weight, reduction, ignore_index)


def _cross_entropy_of_probabilities(input, target, weight, ignore_index, reduction, smoothing, class_dim):
    from ..dtypes import ALL

    t = target._data
    if t.dtype.kind != "f":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {ALL[t.dtype].type_name}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    n_classes = input._data.shape[class_dim]
    if smoothing > 0.0:
        target = plus(times(target, 1 - smoothing), smoothing / n_classes)
    product = FUNCTIONS["log_softmax"](input, class_dim) * target
    if weight is not None:
        shape = [1] * input._data.ndim
        shape[class_dim] = n_classes
        product = product * weight.view(shape)
    if reduction == 1:
        return over(-product.sum(), input._data.size // n_classes if n_classes else 0.0)
    return -product.sum() if reduction == 2 else -product.sum(class_dim)


def _smoothed(log_p, target, weight, ignore_index, reduction, smoothing, class_dim):
    """Part of the probability is spread evenly over all classes."""
    if smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}")
    n_classes = log_p._data.shape[class_dim]
    nll = losses.nll_loss_nd(log_p, target, weight, reduction, ignore_index)
    if weight is not None:
        shape = [1] * log_p._data.ndim
        shape[class_dim] = n_classes
        smooth = -(log_p * weight.view(shape)).sum(class_dim)
    else:
        smooth = -log_p.sum(class_dim)
    ignored = target._data == ignore_index
    smooth = smooth.masked_fill(wrap(np.asarray(ignored)), 0.0)
    if reduction == 1:
        kept_ = ~ignored
        if weight is None:
            total = wrap(np.int64(kept_.sum()))
        else:
            total = wrap(weight._data[target._data[kept_]].sum())
        smooth = smooth.sum() / total
    elif reduction == 2:
        smooth = smooth.sum()
    return times(nll, 1 - smoothing) + times(smooth, smoothing / n_classes)


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy of linear(input, linear_weight, linear_bias).

    input          (n, features) or (features,)
    linear_weight  (classes, *d, features); with d the target is (n, *d), or (n, classes, *d) if it holds probabilities
    linear_bias    (classes, *d)
    options        must be None: PyTorch's memory-saving computation in chunks of classes does not exist here

    Raises RuntimeError for shapes that do not fit together, NotImplementedError for options.
    Source: torch.nn.functional.linear_cross_entropy of PyTorch 2.13.
    """
    if options is not None:
        raise NotImplementedError(
            "autograd_lab's linear_cross_entropy has no options: it takes all classes at once"
        )
    x, w = input._data, linear_weight._data
    if w.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {w.ndim}")
    if x.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {x.ndim}")
    if x.shape[-1] != w.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{x.shape[-1]} and {w.shape[-1]}, respectively"
        )
    if w.ndim > 2 and x.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {w.shape} requires batched input, (N, {x.shape[-1]}), got "
            f"unbatched input with shape {x.shape}"
        )
    if linear_bias is not None and linear_bias._data.shape != w.shape[:-1]:
        raise RuntimeError(f"expected linear_bias shape {w.shape[:-1]}, got {linear_bias._data.shape}")
    if target._data.dtype.kind == "f" and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if w.ndim > 2:
        linear_weight = linear_weight.view(-1, w.shape[-1])
        linear_bias = None if linear_bias is None else linear_bias.view(-1)
    logits = linear(input, linear_weight, linear_bias).view(*x.shape[:-1], *w.shape[:-1])
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, None, ignored, None, reduction, label_smoothing)


def _broadcast(input, target):
    """Both, broadcast to one shape, with PyTorch's warning if the shapes differed."""
    if target.size() != input.size():
        warn(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
            "This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        )
        return FUNCTIONS["broadcast_tensors"](input, target)
    return input, target


def _weighted(loss, weight, input, reduction):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    loss = loss * weight
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.sum() / weight.sum()


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Mean squared error."""
    a, b = _broadcast(input, target)
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if weight is not None:
        return _weighted((a - b) ** 2, weight, input, reduction)
    return losses.MseLossBackward0.run(a, b, _enum(reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Mean absolute error."""
    a, b = _broadcast(input, target)
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if weight is not None:
        return _weighted((a - b).abs(), weight, input, reduction)
    return _reduce((a - b).abs(), _enum(reduction))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Absolute error, squared below beta."""
    a, b = _broadcast(input, target)
    reduction = _enum(reduction, size_average, reduce)
    beta = float(beta)
    if beta == 0.0:
        return _reduce((a - b).abs(), reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return losses.SmoothL1LossBackward0.run(a, b, reduction, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared error below delta, delta times the absolute error above."""
    a, b = _broadcast(input, target)
    delta = float(delta)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if a._data.dtype is not b._data.dtype:  # the result has the type of `input`
        check_fits(a, np.empty(a._data.shape, common_type([a._data, b._data])))
        b = b.to(a.dtype)
    if weight is None:
        return losses.HuberLossBackward0.run(a, b, _enum(reduction), delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = losses.HuberLossBackward0.run(a, b, 0, delta) * weight
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return _reduce(loss, _enum(reduction))


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Cross entropy of probabilities and targets between 0 and 1."""
    reduction = _enum(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(FUNCTIONS["broadcast_shapes"](target.size(), weight.size()))
    if target._data.dtype is not input._data.dtype:
        raise RuntimeError(
            f"Found dtype {ALL[target._data.dtype].type_name} but expected {ALL[input._data.dtype].type_name}"
        )
    floats_only(input._data, "binary_cross_entropy")
    weight = None if weight is None else weight.to(input.dtype)
    return losses.call(losses.BinaryCrossEntropyBackward0, (input, target, weight), reduction)


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """binary_cross_entropy of sigmoid(input), without overflow."""
    reduction = _enum(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return composed.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """Kullback-Leibler divergence: sum of t (log t - x), where x are log probabilities."""
    if size_average is not None or reduce is not None:
        enum = _enum(reduction, size_average, reduce)
    else:
        if reduction == "mean":
            warn(
                "reduction: 'mean' divides the total loss by both the batch size and the support "
                "size.'batchmean' divides "
                "only by the batch size, and aligns with the KL div math definition.'mean' will be changed "
                "to behave the "
                "same as 'batchmean' in the next major release.",
            )
        enum = _enum("sum" if reduction == "batchmean" else reduction)
    loss = composed.kl_div(input, target, enum, log_target=log_target)
    return loss / input.size()[0] if reduction == "batchmean" and input._data.ndim else loss


def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """Negative log likelihood of a count under a Poisson distribution."""
    reduction = _enum(reduction, size_average, reduce)
    return composed.poisson_nll_loss(input, target, log_input, full, eps, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log likelihood under a Gaussian with the given variance."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = input.new_full(input.shape, var)
    elif (var._data < 0).any():
        raise ValueError("var has negative entry/entries")
    a, b = input._data.shape, var._data.shape
    if a != b:
        if a[:-1] == b:
            var = var.unsqueeze(-1)
        elif not (len(a) == len(b) and sum(y for x, y in zip(a, b, strict=True) if x != y) == 1):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, _enum(reduction))


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """X where the target is 1, max(0, margin - x) where it is -1."""
    return composed.hinge_embedding_loss(input, target, margin, _enum(reduction, size_average, reduce))


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, -target (x1 - x2) + margin)."""
    reduction = _enum(reduction, size_average, reduce)
    if not input1._data.ndim == input2._data.ndim == target._data.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return composed.margin_ranking_loss(input1, input2, target, margin, reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target x))."""
    if (
        input._data.dtype.kind != "f"
    ):  # PyTorch computes in floats and converts the result to the type of `input`
        check_fits(-input, as_float(target._data))
    whole = broadcast_shape((input._data, target._data))
    if whole != input._data.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(whole)}"
        )
    target = target.to(input.dtype)
    return losses.call(
        losses.SoftMarginLossBackward0, (input, target), _enum(reduction, size_average, reduce)
    )


def _rows_of_classes(shape):
    """(number of rows, number of classes) of scores with up to two dims. Raises RuntimeError if there are no classes."""
    if len(shape) > 2 or 0 in shape[-1:]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(shape)}"
        )
    return (1, 1, *shape)[-2:]


def _check_labels(input, target, kernel):
    if input._data.dtype.name not in ("float32", "float64"):
        raise not_for(input._data.dtype, kernel)
    if target._data.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.type_name}")


def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """Every wrong class must stay `margin` below the right one."""
    reduction = _enum(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight._data.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    n, n_classes = _rows_of_classes(input._data.shape)
    t = target._data
    if t.ndim > 1 or t.size != n:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
            f"Expected target size [{n}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight._data.size != n_classes:
        raise RuntimeError(f"inconsistent weight size, expected {n_classes} but got {list(weight.shape)}")
    _check_labels(input, target, "multi_margin_loss_cpu_kernel")
    if weight is not None and weight._data.dtype is not input._data.dtype:
        raise other_type(input._data, weight._data)
    if t.size and (t.min() < 0 or t.max() >= n_classes):
        raise RuntimeError("target out of range")
    return losses.call(losses.MultiMarginLossBackward0, (input, target, weight), p, margin, reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Every right class must stay 1 above every wrong one; a row of `target` lists the right ones and ends with -1."""
    reduction = _enum(reduction, size_average, reduce)
    shape, t = input._data.shape, target._data
    _n, n_classes = _rows_of_classes(shape)
    if t.shape != shape and (shape or t.size != 1 or t.ndim > 1):
        raise RuntimeError(f"inconsistent target size: {list(t.shape)} for input of size: {list(shape)}")
    if t.size and t.dtype.kind == "i" and (t.min() < -1 or t.max() >= n_classes):
        raise RuntimeError("argument #2 'target' is out of range")
    _check_labels(input, target, "multilabel_margin_loss_forward_out_frame")
    return losses.call(losses.MultilabelMarginLossBackward0, (input, target), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Binary cross entropy with logits, averaged over classes."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(input._data.ndim - 1) / input._data.shape[-1]
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    return _reduce(loss, _enum(reduction))


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    reduction = _enum(reduction, size_average, reduce)
    return composed.cosine_embedding_loss(input1, input2, target, margin, reduction)


def triplet_margin_loss(
    anchor,
    positive,
    negative,
    margin=1.0,
    p=2,
    eps=1e-6,
    swap=False,
    size_average=None,
    reduce=None,
    reduction="mean",
):
    """max(0, |a - p| - |a - n| + margin)."""
    reduction = _enum(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return composed.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)


# -- distances ----------------------------------------------------------------------------------------


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """max(0, d(a, p) - d(a, n) + margin) with a custom distance (default: Euclidean)."""
    reduction = _enum(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    composed.same_dims(anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, distance(positive, negative))
    return _reduce((margin + near - far).clamp_min(0), reduction)


def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    """The negative log likelihood of target sequences for unaligned inputs (connectionist temporal classification).

    log_probs       (t, n, classes) or (t, classes): log probabilities, as from log_softmax
    targets         (n, s), of which the first target_lengths[i] labels of row i count, or all of them in one row
    input_lengths   n numbers or a tensor of them: how many of the t time steps count; target_lengths: how many labels
    blank           the class that means "no label"
    reduction       "none", "sum", or "mean": each loss divided by its target's length, then their mean
    zero_infinity   whether a target too long for its input has loss 0 instead of inf
    returns         a number, or (n,) without reduction

    The gradient is right for log probabilities from log_softmax (see CtcLossBackward0), and has no derivative.
    Raises ValueError for an unknown reduction, RuntimeError for lengths and shapes that do not fit.
    Source: torch.nn.functional.ctc_loss of PyTorch 2.13.
    """
    settings = blank, _enum(reduction), zero_infinity
    return _CHECKED["ctc_loss"](log_probs, targets, input_lengths, target_lengths, *settings)


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """x1 . x2 / (|x1| |x2|) along `dim`, the norms at least eps."""
    if x1._data.shape != x2._data.shape:
        x1, x2 = FUNCTIONS["broadcast_tensors"](x1, x2)
    common = ALL[common_type([x1._data, x2._data])]
    if not common.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common.type_name}"
        )
    x1, x2 = x1.to(common), x2.to(common)
    from ..ops.reductions import vector_norm

    norms = [vector_norm(x, 2, dim, True).clone() for x in (x1, x2)]
    with no_grad():
        for norm in norms:
            norm.clamp_min_(eps)
    unit = x2 / norms[1]  # before that of x1, as in PyTorch
    return (x1 / norms[0] * unit).sum(dim)


pairwise_distance = composed.pairwise_distance

scaled_dot_product_attention = attention.scaled_dot_product_attention
multi_head_attention_forward = attention.multi_head_attention_forward


_FORMS = "output size in (o1, o2, ...,oK)", "scale_factor in (s1, s2, ...,sK)"


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resize: nearest neighbor, linear (bilinear, trilinear), bicubic, or by averaging (area).

    size or scale_factor, one number or one for each spatial dim.   align_corners: the first and last elements keep their positions.
    antialias: filter images in mode "bilinear", "bicubic" or "lanczos" when shrinking, so that no detail is skipped.
    """
    nd, old = input._data.ndim - 2, input._data.shape[2:]
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not 1 <= nd <= 3:
        raise _cannot_resize(nd, mode)
    plain = mode in ("nearest", "area", "nearest-exact")
    if plain and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if antialias and (mode not in FILTERED or nd != 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    given = size if size is not None else scale_factor
    given = [given] * nd if isinstance(given, (int, float, np.number)) else list(given)
    if len(given) != nd:
        raise ValueError(
            f"Input and {'output' if size is not None else 'scale_factor'} must have the same number of spatial dimensions, "
            f"but got input with spatial dimensions of {list(old)} and "
            f"{'output size of' if size is not None else 'scale_factor of shape'} {tuple(given)}. Please provide input tensor "
            f"in (N, C, d1, d2, ...,dK) format and {_FORMS[size is None]} format."
        )
    if size is not None and not all(isinstance(n, (int, np.integer)) for n in given):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with "
            f"types {[type(n) for n in given]}"
        )
    if size is None and not all(abs(n * f) < 2**63 for n, f in zip(old, given, strict=True)):  # nor is nan
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    factors = None
    if size is None:
        factors = None if recompute_scale_factor or mode == "area" else [float(f) for f in given]
        given = [math.floor(n * f) for n, f in zip(old, given, strict=True)]
    given = tuple(given)
    _check_sizes(input, old, given, mode)
    if mode == "area":
        return _AREA[nd](input, given)
    if mode in ("nearest", "nearest-exact"):
        return UpsampleNearestBackward0.run(input, given, factors, mode == "nearest-exact")
    if mode == "lanczos" and nd == 2:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    if antialias:
        return resample(input, given, factors, mode, bool(align_corners), True)
    if mode not in RESAMPLING:
        raise _cannot_resize(nd, mode)
    if RESAMPLING[mode][0] != nd:
        raise NotImplementedError(
            f"Got {nd + 2}D input, but {mode} mode needs {RESAMPLING[mode][0] + 2}D input"
        )
    return resample(input, given, factors, mode, bool(align_corners))


def _cannot_resize(nd, mode):
    return NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {nd + 2}D) for the modes: nearest | linear | bilinear | "
        f"bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
    )


def _check_sizes(input, old, new, mode):
    letters = "DHW"[3 - len(old) :]
    if min(*old, *new, 1) < 1 and mode != "area":
        was, will = (", ".join(f"{k}: {n}" for k, n in zip(letters, s, strict=True)) for s in (old, new))
        joint = " and" if len(old) == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({was}){joint} output ({will})"
        )
    if not input._data.shape[1] and mode != "area":
        raise RuntimeError(
            f"Non-empty {input._data.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )


_AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The older name of interpolate."""
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """Enlarge by copying the nearest element: an older name for one mode of interpolate."""
    warn("`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """Enlarge by bilinear interpolation with aligned corners: an older name for one mode of interpolate."""
    warn("`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, "bilinear", True)


def _corners(align_corners):
    """The setting as a bool; unset it is False, with PyTorch's warning."""
    if align_corners is None:
        warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
        )
    return bool(align_corners)


def affine_grid(theta, size, align_corners=None):
    """The grid with which grid_sample applies an affine map to images: every position of the result times `theta`.

    theta          (n, 2, 3), or (n, 3, 4) for volumes: the matrices, with the shift as last column
    size           (n, c, h, w) or (n, c, d, h, w): the output size of grid_sample
    align_corners  whether -1 and 1 are the centers of the outermost elements, or their outer edges
    returns        (n, h, w, 2) or (n, d, h, w, 3)

    Raises ValueError for a theta that does not fit, NotImplementedError for a size of other than 4 or 5 numbers.
    Source: torch.nn.functional.affine_grid of PyTorch 2.13.
    """
    align_corners = _corners(align_corners)
    if theta._data.dtype.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    nd = len(size) - 2
    if nd not in (2, 3):
        raise NotImplementedError(
            f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}."
        )
    if theta._data.ndim != 3 or theta._data.shape[1:] != (nd, nd + 1):
        raise ValueError(
            f"Expected a batch of {nd}D affine matrices of shape Nx{nd}x{nd + 1} for size {size}. Got {theta.shape}."
        )
    if align_corners and min(size[2:]) == 1:
        warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is "
            "not an intended use case of affine_grid. See the documentation of affine_grid for details."
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _affine_grid(theta, size, align_corners)


_SAMPLING = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Sample `input` at the positions in `grid`, interpolating between elements.

    input          (n, c, h, w), or (n, c, d, h, w) with the first two modes
    grid           (n, *out, 2 or 3): x, y (and z) of each position, from -1 to 1 across the image
    mode           "bilinear", "nearest" or "bicubic": how neighbors are weighted
    padding_mode   the values outside: "zeros", the nearest element of the "border", or the image mirrored ("reflection")
    align_corners  whether -1 and 1 are the centers of the outermost elements, or their outer edges
    returns        (n, c, *out)

    Raises ValueError for an unknown mode, RuntimeError for shapes that do not fit together.
    Source: torch.nn.functional.grid_sample of PyTorch 2.13.
    """
    if mode not in _SAMPLING:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in _OUTSIDE:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    settings = _SAMPLING[mode], _OUTSIDE[padding_mode], _corners(align_corners)
    return _CHECKED["grid_sampler"](input, grid, *settings)


_CHECKED = publish({name: FUNCTIONS[name] for name in ("ctc_loss", "grid_sampler")}, "", __name__)
"""Functions of the torch namespace that check the arguments passed on to them themselves."""


globals().update(publish({k: v for k, v in globals().items() if k not in _IMPORTED}, "F.", __name__))

__getattr__ = finder("nn.functional")
