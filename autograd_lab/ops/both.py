"""Functions for formulas: given arrays they compute with NumPy, given Tensors they are recorded operations.

A VJP is written once. In an ordinary pass its values are arrays and `cos(x)` is np.cos; under create_graph they are Tensors
and `cos(x)` is x.cos(), a node of its own that can be differentiated again. Operators (+ - * / @ **) and the methods
.sum, .reshape need no help: arrays and Tensors share them.
"""

import numpy as np

from ..autograd.variable import Variable, wrap


def _pointwise(name, on_arrays):
    def fn(x):
        return getattr(x, name)() if isinstance(x, Variable) else on_arrays(x)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"{name} of an array or a Tensor."
    return fn


exp = _pointwise("exp", np.exp)
log = _pointwise("log", np.log)
sin = _pointwise("sin", np.sin)
cos = _pointwise("cos", np.cos)
tanh = _pointwise("tanh", np.tanh)
sinh = _pointwise("sinh", np.sinh)
cosh = _pointwise("cosh", np.cosh)
sqrt = _pointwise("sqrt", np.sqrt)
sign = _pointwise("sign", np.sign)
abs_ = _pointwise("abs", np.abs)


def array_of(x):
    """The numbers of an array or a Tensor, for conditions and positions that carry no gradient."""
    return x._data if isinstance(x, Variable) else x


def constant(array, like):
    """`array` as a constant of the same kind as `like`: an array, or a Tensor without history."""
    return wrap(np.asarray(array)) if isinstance(like, Variable) else array


def where(condition, a, b):
    """`a` where the array `condition` is true, `b` elsewhere; `a` and `b` may be numbers."""
    if isinstance(a, Variable) or isinstance(b, Variable):
        return _where(array_of(condition), a, b)
    return np.where(array_of(condition), a, b).astype(_float_type(a, b), copy=False)


def _where(condition, a, b):
    from .rule import FUNCTIONS

    return FUNCTIONS["where"](wrap(np.asarray(condition)), a, b)


def _float_type(a, b):
    return a.dtype if hasattr(a, "dtype") else b.dtype


def masked(g, condition):
    """`g` where the array `condition` is true and exactly zero elsewhere, also where `g` is inf or nan."""
    if isinstance(g, Variable):
        return _where(condition, g, 0)
    return np.where(condition, g, g.dtype.type(0))


def zeros(shape, like):
    """Zeros of `shape` in the type of `like`."""
    return like.new_zeros(shape) if isinstance(like, Variable) else np.zeros(shape, dtype=like.dtype)


def transpose(x):
    """The last two dims swapped."""
    return x.transpose(-2, -1) if isinstance(x, Variable) else x.swapaxes(-2, -1)


def expand(x, shape):
    """`x` broadcast to `shape`."""
    return x.expand(shape) if isinstance(x, Variable) else np.broadcast_to(x, shape)


def sum_over(x, dims, keepdim=False):
    """The sum over a tuple of dims (an empty tuple: nothing is summed)."""
    if not dims:
        return x
    return x.sum(dims, keepdim) if isinstance(x, Variable) else x.sum(axis=dims, keepdims=keepdim)
