"""torch.nn.init: filling a tensor with the numbers training starts from. All of them write in place, unrecorded."""

import math

import numpy as np

from ..autograd import no_grad
from ..autograd.modes import WATCHERS, watcher
from ..autograd.record import write
from ..random import laid_out, rng_of
from ..world.warning import warn

_GAINS = {
    "linear": 1,
    "conv1d": 1,
    "conv2d": 1,
    "conv3d": 1,
    "conv_transpose1d": 1,
    "conv_transpose2d": 1,
    "conv_transpose3d": 1,
    "sigmoid": 1,
    "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3.0 / 4,
}


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance through a nonlinearity. Raises ValueError for an unknown one."""
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _filled(tensor, values, name="copy_"):
    with no_grad():
        tensor._array()
        write(tensor, np.asarray(values).astype(tensor._data.dtype, copy=False))
        if WATCHERS:
            watcher().written(None, (tensor,), tensor, None, name)
    return tensor


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform between a and b."""
    x = tensor._data
    return _filled(tensor, laid_out(rng_of(generator).uniform(a, b, (x.size,), x.dtype), x), "uniform_")


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Gaussian."""
    x = tensor._data
    numbers = rng_of(generator).normal(mean, std, (x.size,), x.dtype, x.flags.c_contiguous)
    return _filled(tensor, laid_out(numbers, x), "normal_")


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Gaussian, redrawn until it lies between a and b."""
    rng, shape, dtype = rng_of(generator), tensor._data.shape, tensor._data.dtype
    values = rng.normal(mean, std, shape, dtype).astype(dtype)
    while (outside := (values < dtype.type(a)) | (values > dtype.type(b))).any():
        values = np.where(outside, rng.normal(mean, std, shape, dtype), values)
    return _filled(tensor, values)


def constant_(tensor, val):
    """One number everywhere."""
    return _filled(tensor, np.full(tensor._data.shape, val), "fill_")


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity matrix."""
    if tensor._data.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor._data.shape))


def dirac_(tensor, groups=1):
    """A convolution that passes its input through."""
    shape = tensor._data.shape
    if len(shape) not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(shape)
    per = shape[0] // groups
    center = tuple(k // 2 for k in shape[2:])
    for g in range(groups):
        for d in range(min(per, shape[1])):
            values[(g * per + d, d, *center)] = 1
    return _filled(tensor, values)


def _calculate_fan_in_and_fan_out(tensor):
    shape = tensor._data.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform with the variance of Glorot and Bengio: gain^2 * 2 / (fan_in + fan_out)."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Gaussian with the same variance."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    if 0 in tensor._data.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform with the variance of He et al.: gain^2 / fan."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Gaussian with the same variance."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Rows (or columns) that are orthonormal, times gain."""
    if tensor._data.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    shape = tensor._data.shape
    if not tensor._data.size:
        return tensor
    rows, cols = shape[0], tensor._data.size // shape[0]
    flat = rng_of(generator).normal(0.0, 1.0, (rows, cols), tensor._data.dtype)
    q, r = np.linalg.qr(flat if rows >= cols else flat.T)
    q *= np.sign(np.diag(r))
    return _filled(tensor, gain * (q if rows >= cols else q.T).reshape(shape))


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Gaussian, with a part of every column set to zero."""
    if tensor._data.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor._data.shape
    rng = rng_of(generator)
    values = rng.normal(0, std, (rows, cols), tensor._data.dtype)
    for col in range(cols):  # the rows always come from the default generator, as in PyTorch
        values[rng_of().permutation(rows)[: math.ceil(sparsity * rows)], col] = 0
    return _filled(tensor, values)


def _older_name(fn):
    name = fn.__name__[:-1]

    def call(*args, **kwargs):
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return fn(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The older name of {name}_."
    return call


for _fn in (
    uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_, orthogonal_, sparse_
):  # fmt: skip
    globals()[_fn.__name__[:-1]] = _older_name(_fn)

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
