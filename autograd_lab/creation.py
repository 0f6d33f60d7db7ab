"""Tensors from nothing: from data, constants, ranges and random numbers."""

import numpy as np

from .autograd.variable import Variable, wrap
from .dtypes import Defaults, to_dtype


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new leaf with a copy of `data`: numbers, nested lists, a NumPy array (torch.tensor)."""
    array = np.array(data if not isinstance(data, Variable) else data._data)
    if dtype is not None:
        array = array.astype(to_dtype(dtype).np)
    elif array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        array = array.astype(Defaults.np)
    if requires_grad and array.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    out = wrap(array if array.ndim else array[()])
    return out.requires_grad_(True) if requires_grad else out


def ones(*size, dtype=None, requires_grad=False):
    size = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return tensor(np.ones(size, (to_dtype(dtype).np if dtype else Defaults.np)), requires_grad=requires_grad)


FACTORIES = {"tensor": tensor, "ones": ones}
"""The functions of this page that belong in the torch-like namespace."""
