"""Functions for formulas: on arrays they compute with NumPy, on Tensors they are recorded operations.

A VJP is written once. In an ordinary pass its values are arrays; under create_graph they are Tensors, and each step makes a node
that can be differentiated again. Operators (+ - * / @ **) and the methods .sum and .reshape need no help: both classes have them.
"""

import numpy as np

from .modes import WATCHERS, watcher
from .tensor import Tensor, wrap


def array_of(x):
    """The numbers of an array or a Tensor, for conditions and positions that carry no gradient."""
    return x._data if isinstance(x, Tensor) else x


def zeros(size, like):
    """Zeros of the kind (array or Tensor) and type of `like`."""
    if not isinstance(like, Tensor):
        return np.zeros(size, like.dtype)
    out = wrap(np.zeros(size, like._data.dtype))
    if WATCHERS:
        watcher().followed(out, (like,))
    return out


def zeros_like(x):
    """Zeros in the shape and type of `x`: the gradient of a constant function."""
    return zeros(x.shape, x)


def constant(array, like):
    """`array` as a constant of the kind and type of `like`: an array, or a Tensor without history."""
    array = np.asarray(array).astype(array_of(like).dtype)
    return wrap(array) if isinstance(like, Tensor) else array


def masked(g, passes):
    """`g` where the array `passes` is true, exactly zero elsewhere, even where an array `g` is inf or nan.

    >>> masked(np.array([1.0, np.inf]), np.array([True, False])).tolist()
    [1.0, 0.0]
    """
    if isinstance(g, Tensor):
        return g * constant(passes, g)
    bits = BITS[g.itemsize]  # a product of whole numbers takes half the time of np.where
    kept = passes.astype(bits)
    kept *= g.view(bits)
    return kept.view(g.dtype)


BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}
"""The integer type as wide as a float of that many bytes."""


def expand(x, shape):
    """`x` broadcast to `shape`: a Tensor as a view, an array copied unless it has that shape."""
    if isinstance(x, Tensor):
        return x.expand(shape)
    if x.shape == shape:
        return x
    out = np.empty(shape, x.dtype)  # for small arrays faster than np.broadcast_to, and writable
    out[...] = x
    return out


def cast(g, dtype):
    """`g` in the NumPy type `dtype`."""
    if isinstance(g, Tensor):
        # `to` takes a type as `Tensor.dtype` gives it, which is NumPy's in the core and PyTorch's in the package.
        return g if g._data.dtype == dtype else g.to(wrap(np.empty(0, dtype)).dtype)
    return g if g.dtype == dtype else g.astype(dtype)


def sum_to(g, shape):
    """`g` summed over the dims along which `shape` was broadcast, so that the result has that shape."""
    lead = len(g.shape) - len(shape)  # dims that broadcasting added in front
    dims = [*range(lead), *[i + lead for i, n in enumerate(shape) if n == 1 != g.shape[i + lead]]]
    return (g.sum(tuple(dims)) if dims else g).reshape(shape)


def unbroadcast(node, grads):
    """Undo broadcasting and promotion: each gradient gets the shape and dtype its operand had.

    What was copied along a dim in the forward pass is summed along it in the backward pass.
    """
    fitted = []
    for g, (shape, dtype) in zip(grads, node.broadcast, strict=True):
        if g is not None:
            if g.shape != shape:
                g = sum_to(g, shape)
            if array_of(g).dtype != dtype:
                g = cast(g, dtype)
        fitted.append(g)
    return tuple(fitted)
