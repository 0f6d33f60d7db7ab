"""torch.nn.utils: clipping of gradients, all parameters as one vector; packed sequences, parametrized, pruned and fused weights beside it."""

import importlib
import inspect
import math

import numpy as np

from ...autograd import no_grad
from ...autograd.modes import WATCHERS, watcher
from ...autograd.record import write
from ...autograd.variable import wrap
from ...ops.rule import FUNCTIONS
from ...random import fork_rng
from ...tensor import Tensor
from ...world.missing import finder
from ...world.warning import warn


def _with_grad(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p for p in parameters if p.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors seen as one vector."""
    from ...linalg import vector_norm

    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return wrap(np.float32(0))
    with no_grad():
        norms = [vector_norm(t.detach(), norm_type) for t in tensors]
        total = vector_norm(FUNCTIONS["stack"](norms), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale all gradients by max_norm / total_norm if that is below 1."""
    factor = (
        min(1.0, float(max_norm) / (total_norm._data + 1e-6))
        if total_norm._data == total_norm._data
        else total_norm._data
    )
    for p in _with_grad(parameters):
        data = p.grad._array()
        write(p.grad, data * data.dtype.type(factor))
        if WATCHERS:
            watcher().grad_set(p, "clip_grad_norm_")


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients so that their total norm is at most max_norm; returns the norm before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm([p.grad for p in _with_grad(parameters)], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The older name of clip_grad_norm_."""
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Cut every element of every gradient off at +- clip_value."""
    limit = float(clip_value)
    for p in _with_grad(parameters):
        write(p.grad, np.clip(p.grad._array(), -limit, limit))
        if WATCHERS:
            watcher().grad_set(p, "clip_grad_value_")


def parameters_to_vector(parameters):
    """All parameters in one vector (recorded: its gradient reaches them)."""
    return FUNCTIONS["cat"]([p.view(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Give each parameter its slice of `vec`, as its data."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        n = p._data.size
        p.data = vec[start : start + n].view_as(p).data
        start += n


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters hold whatever numbers: no random numbers are drawn for them.

    Raises RuntimeError for what is no Module class, or takes no device.
    """
    from ..module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng():
        return module_cls(*args, **kwargs)


def _laid(module, memory_format, kinds):
    from .. import modules

    if isinstance(module, tuple(getattr(modules, kind) for kind in kinds)):
        module.weight.data = module.weight.detach().clone(memory_format=memory_format)
    for child in module.children():
        _laid(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay the weights of all Conv2d and ConvTranspose2d in the module out in a memory format; returns it."""
    return _laid(module, memory_format, ("Conv2d", "ConvTranspose2d"))


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay the weights of all Conv3d and ConvTranspose3d in the module out in a memory format; returns it."""
    return _laid(module, memory_format, ("Conv3d", "ConvTranspose3d"))


_find = finder("nn.utils")

_ELSEWHERE = {
    "older": ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"),
    "fusion": ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"),
}
"""Names of this module that stand in one below it, which is loaded when the first of them is asked for."""


def __getattr__(name):
    if name in ("fusion", "parametrizations", "parametrize", "prune", "rnn", "stateless"):
        return importlib.import_module(f"{__name__}.{name}")
    for page, names in _ELSEWHERE.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{page}"), name)
    return _find(name)


__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "get_total_norm",
    "parameters_to_vector",
    "skip_init",
    "vector_to_parameters",
]
