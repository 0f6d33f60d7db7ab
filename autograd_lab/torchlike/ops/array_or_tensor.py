"""Functions for formulas: given arrays they compute with NumPy, given Tensors they are recorded operations.

A VJP is written once. In an ordinary pass its values are arrays and `cos(x)` is np.cos; under create_graph they are
Tensors and `cos(x)` is x.cos(), a node of its own that can be differentiated again. Operators (+ - * / @ **) and the
methods .sum, .reshape need no help: arrays and Tensors share them.
"""

import math

import numpy as np

from ...core.array_or_tensor import array_of, zeros
from ...core.array_or_tensor import expand as expand
from ...core.array_or_tensor import zeros_like as zeros_like
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import Variable, wrap
from . import numerics
from .rule import FUNCTIONS, METHODS, RULES


def _pointwise(name, on_arrays):
    def fn(x):
        return getattr(x, name)() if isinstance(x, Variable) else on_arrays(x)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"{name} of an array or a Tensor."
    return fn


exp = _pointwise("exp", np.exp)
log = _pointwise("log", np.log)
log1p = _pointwise("log1p", np.log1p)
sin = _pointwise("sin", np.sin)
cos = _pointwise("cos", np.cos)
tanh = _pointwise("tanh", np.tanh)
sinh = _pointwise("sinh", np.sinh)
cosh = _pointwise("cosh", np.cosh)
sqrt = _pointwise("sqrt", np.sqrt)
rsqrt = _pointwise("rsqrt", lambda x: 1 / np.sqrt(x))
reciprocal = _pointwise("reciprocal", lambda x: 1 / x)
sigmoid = _pointwise("sigmoid", numerics.sigmoid)
erf = _pointwise("erf", numerics.erf)
digamma = _pointwise("digamma", numerics.digamma)
erfinv = _pointwise("erfinv", numerics.erfinv)
sign = _pointwise("sgn", numerics.sign)
abs_ = _pointwise("abs", np.abs)


def run(rule, inputs, *args):
    """The operation of `rule` on arrays, or on Tensors as a node of its own."""
    if isinstance(inputs[0], Variable):
        return apply(rule, inputs, *args)
    return rule.forward(*inputs, *args)


def softplus(x):
    """log(1 + exp(x)) of an array or a Tensor."""
    return run(RULES["SoftplusBackward0"], (x,), 1, 20)


def constant(array, like):
    """`array` as a constant of the same kind as `like`: an array, or a Tensor without history."""
    return wrap(np.asarray(array)) if isinstance(like, Variable) else array


def indicator(condition, like):
    """1 where the array `condition` is true, 0 elsewhere, in the type of `like`."""
    return constant(condition.astype(array_of(like).dtype), like)


def where(condition, a, b):
    """`a` where the array `condition` is true, `b` elsewhere; `a` and `b` may be numbers."""
    if isinstance(a, Variable) or isinstance(b, Variable):
        return _where(array_of(condition), a, b)
    dtype = a.dtype if hasattr(a, "dtype") else b.dtype
    return np.where(array_of(condition), a, b).astype(dtype, copy=False)


def _where(condition, a, b):
    return FUNCTIONS["where"](wrap(np.asarray(condition)), a, b)


def masked(g, condition):
    """`g` where the array `condition` is true and exactly zero elsewhere, also where `g` is inf or nan."""
    if isinstance(g, Variable):
        return _where(condition, g, 0)
    return np.where(condition, g, g.dtype.type(0))


def filled(g, condition, value=0):
    """`value` where the array `condition` is true, else `g`: `masked` turned round, recorded as masked_fill."""
    if isinstance(g, Variable):
        return METHODS["masked_fill"](g, wrap(np.asarray(condition)), value)
    return np.where(condition, g.dtype.type(value), g)


def taken(x, where):
    """The elements of `x` at the flat positions `where`."""
    return x.reshape(-1)[wrap(where.astype(np.int64)) if isinstance(x, Variable) else where]


def brought_back(g, where, shape):
    """Zeros of `shape` with each element of `g` added at its flat position in `where`: the VJP of `taken`."""
    if isinstance(g, Variable):
        places = wrap(where.reshape(-1).astype(np.int64))
        return (
            zeros((math.prod(shape),), g).index_put((places,), g.reshape(-1), accumulate=True).reshape(shape)
        )
    flat = np.zeros(math.prod(shape), g.dtype)
    np.add.at(flat, where, g)
    return flat.reshape(shape)


def transpose(x):
    """The last two dims swapped."""
    return x.transpose(-2, -1) if isinstance(x, Variable) else x.swapaxes(-2, -1)


def tril(x, k=0):
    """What of the matrices `x` stands on the k-th diagonal or below it."""
    return x.tril(k) if isinstance(x, Variable) else np.tril(x, k)


def triu(x, k=0):
    """What of the matrices `x` stands on the k-th diagonal or above it."""
    return x.triu(k) if isinstance(x, Variable) else np.triu(x, k)


def plus(a, b):
    """The sum of two gradients, the first of which may be missing (None)."""
    return b if a is None else a + b


def unsqueeze(x, dims, shape):
    """`x` with dims of size 1 (counted from the front) where it lost those of `shape`."""
    if isinstance(x, Variable):
        for d in sorted(dims):
            x = x.unsqueeze(d)
        return x
    return x.reshape([1 if i in dims else n for i, n in enumerate(shape)])


def sum_over(x, dims, keepdim=False):
    """The sum over a tuple of dims (an empty tuple: nothing is summed)."""
    if not dims:
        return x
    return x.sum(dims, keepdim) if isinstance(x, Variable) else x.sum(axis=dims, keepdims=keepdim)


def mean_over(x, dims, keepdim=False):
    """The mean over a tuple of dims."""
    if isinstance(x, Variable):
        return x.mean(dims, keepdim)
    return numerics.mean(x, dims, keepdim)


def flip(x, dim):
    """`x` read backwards along `dim`."""
    return x.flip(dim) if isinstance(x, Variable) else np.flip(x, dim).copy()


def cumsum(x, dim):
    """The running sum along `dim`."""
    return x.cumsum(dim) if isinstance(x, Variable) else np.cumsum(x, axis=dim, dtype=x.dtype)


def cumprod(x, dim):
    """The running product along `dim`."""
    return x.cumprod(dim) if isinstance(x, Variable) else np.cumprod(x, axis=dim, dtype=x.dtype)


def reversed_cumsum(x, dim):
    """The sum from each place to the end of `dim`."""
    return flip(cumsum(flip(x, dim), dim), dim)


def slice_of(x, dim, start, stop):
    """The part start:stop of `x` along `dim`."""
    return x[(slice(None),) * dim + (slice(start, stop),)]


def narrow(x, dim, start, length):
    """The `length` places of `x` along `dim` from `start` on: a view, which `put` may write to."""
    if isinstance(x, Variable):
        return x.narrow(dim, start, length)
    return slice_of(x, dim % x.ndim, start, start + length)


def diagonal(x):
    """The diagonals of matrices: a view, which `put` may write to."""
    return x.diagonal(0, -2, -1) if isinstance(x, Variable) else np.einsum("...ii->...i", x)


def scale(part, number):
    """Multiply `part`, a view of what the formula itself has made, by `number` in place."""
    if isinstance(part, Variable):
        apply_inplace(RULES["MulBackward1"], (part,), number)
    else:
        part *= number


def cat(parts, dim):
    """Arrays or Tensors joined along `dim`."""
    if isinstance(parts[0], Variable):
        return FUNCTIONS["cat"](parts, dim)
    return np.concatenate(parts, axis=dim)


def take_along(x, index, dim):
    """The elements of `x` at the places `index` (an array) along `dim`."""
    if isinstance(x, Variable):
        return x.gather(dim, wrap(index))
    return np.take_along_axis(x, index, dim)


def put_along(g, index, dim, shape):
    """Zeros of `shape` with the values `g` at the places `index` (an array) along `dim`."""
    if isinstance(g, Variable):
        return zeros(shape, g).scatter(dim, wrap(index), g)
    out = np.zeros(shape, g.dtype)
    np.put_along_axis(out, index, g, dim)
    return out


def add_along(g, index, dim, shape):
    """The same where places may repeat: what falls together is added up."""
    if isinstance(g, Variable):
        return zeros(shape, g).scatter_add(dim, wrap(index), g)
    out = np.zeros(shape, g.dtype)
    places = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    np.add.at(out, tuple(places), g)
    return out
