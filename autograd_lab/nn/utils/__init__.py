"""torch.nn.utils: clipping of gradients, all parameters as one vector; packed sequences and parametrized weights beside it."""

import importlib
import math

import numpy as np

from ...absent import finder
from ...autograd import no_grad
from ...autograd.modes import WATCHERS, tell
from ...autograd.record import write
from ...autograd.variable import wrap
from ...ops.rule import FUNCTIONS
from ...tensor import Tensor


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
            tell("grad_set", p, "clip_grad_norm_")


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients so that their total norm is at most max_norm; returns the norm before."""
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    total = get_total_norm([p.grad for p in _with_grad(parameters)], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Cut every element of every gradient off at +- clip_value."""
    limit = float(clip_value)
    for p in _with_grad(parameters):
        write(p.grad, np.clip(p.grad._array(), -limit, limit))
        if WATCHERS:
            tell("grad_set", p, "clip_grad_value_")


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


_find = finder("nn.utils")


def __getattr__(name):
    if name in ("parametrizations", "parametrize", "rnn"):
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"):
        return getattr(importlib.import_module(f"{__name__}.older"), name)
    return _find(name)


__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]
