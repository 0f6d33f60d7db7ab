"""Conditions that packages built on PyTorch put before their work: torch._check and its like, as PyTorch words them."""

import builtins

from ..autograd.variable import Variable
from .warning import warn


def _check_with(error_type, cond, message):
    """Raise `error_type` with what `message()` gives, unless `cond` is True."""
    if not isinstance(cond, builtins.bool):
        if isinstance(cond, Variable):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() "
                "to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error_type}")
    if message is None:
        raise error_type(
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _raising(name, error_type):
    def check(cond, message=None):
        _check_with(error_type, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"Raise {error_type.__name__} with what `message()` gives, unless `cond` is True."
    return check


_check = _raising("_check", RuntimeError)
_check_index = _raising("_check_index", IndexError)
_check_value = _raising("_check_value", ValueError)
_check_type = _raising("_check_type", TypeError)
_check_not_implemented = _raising("_check_not_implemented", NotImplementedError)


def _check_is_size(i, message=None, *, max=None):
    """Raise RuntimeError unless the number may be a size."""
    warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     "
        "Use _check(i >= 0) instead.",
        FutureWarning,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raise `error_type` unless all elements of a tensor of bools are True."""
    if not isinstance(cond, Variable):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond._data.dtype.kind != "b":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, builtins.bool(cond._data.all()), message)


def _check_tensor_all(cond, message=None):
    """Raise RuntimeError unless all elements of a tensor of bools are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert(condition, message):
    """What `assert` does, as a function."""
    if not condition:
        raise AssertionError(message)


NAMES = {name: value for name, value in list(globals().items()) if name.startswith(("_check", "_assert"))}
"""What stands in torch."""

__all__ = ["NAMES"]
