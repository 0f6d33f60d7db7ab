"""The rules of embeddings and dropout: rows looked up by index, and elements dropped at random."""

import math

import numpy as np

from ..autograd.modes import WATCHERS, watcher
from ..autograd.record import apply
from ..autograd.variable import Variable, wrap
from ..creation import follow
from ..dtypes import as_places
from ..random import memory_order, rng_of
from . import array_or_tensor as both
from .comparison import constant_result
from .rule import FUNCTIONS, KERNELS, METHODS, Rule, function, kernel


class EmbeddingBackward0(Rule):
    """Rows of a table.

    Math: y = weight[indices].
    VJP: index_put(zeros_like(weight), [indices], h / n, accumulate=True); h = where(unsqueeze(indices == padding_idx, -1), 0, g)
    if padding_idx >= 0 else g; n = unsqueeze(bincount(reshape(indices, (-1,)))[indices], -1) if scale_grad_by_freq else 1. Each
    row gets the sum of the g of its places, the padding row none.
    Shapes: w (rows, d), index of any shape -> (*index, d).   Saves: the indices.   PyTorch: torch.nn.functional.embedding
    """

    op = "embedding"
    inputs = ("weight", "indices")
    operands = 1
    saves = ("indices",)
    keeps = ("padding_idx", "scale_grad_by_freq", "sparse", "weight_sym_argsize_0")

    def forward(w, index, *_):
        if index.size and (index.min() < 0 or index.max() >= len(w)):
            raise IndexError("index out of range in self")
        return w[index]

    def vjp(self, g, index):
        padding, by_frequency, _sparse, rows = self.args
        index = both.array_of(index)
        if by_frequency:
            g = g * both.constant(
                (1 / np.bincount(as_places(index.reshape(-1)))[index][..., None]).astype(
                    both.array_of(g).dtype
                ),
                g,
            )
        return both.run(EmbeddingDenseBackwardBackward0, (g,), index, padding, rows)

    def kept(self, name, value):
        return value % 2**64 if name == "padding_idx" else super().kept(name, value)


class EmbeddingDenseBackwardBackward0(Rule):
    """The VJP of embedding as an operation: rows added up in a table.

    Math: y = index_put(zeros(num_weights, size(a, -1)), [indices], h, accumulate=True); h = where(unsqueeze(indices ==
    padding_idx, -1), 0, a) if padding_idx >= 0 else a.
    VJP: where(unsqueeze(indices == padding_idx, -1), 0, g[indices]) if padding_idx >= 0 else g[indices].
    Shapes: (*index, d) -> (rows, d).   Saves: nothing.
    """

    op = "embedding_dense_backward"
    inputs = ("grad_output",)
    keeps = ("indices", "padding_idx", "num_weights")

    def forward(g, index, padding, rows):
        table = np.zeros((rows, g.shape[-1]), g.dtype)
        flat, g = index.reshape(-1), g.reshape(index.size, g.shape[-1])
        if flat.size:
            # Equal indices are grouped and summed at once, which is faster than np.add.at row by row.
            order = np.argsort(flat, kind="stable")
            sorted_index = flat[order]
            starts = np.flatnonzero(np.concatenate(([True], sorted_index[1:] != sorted_index[:-1])))
            table[sorted_index[starts]] = np.add.reduceat(g[order], starts, axis=0)
        if padding >= 0:
            table[padding] = 0
        return table

    def vjp(self, gg):
        index, padding, _rows = self.args
        if isinstance(gg, Variable):
            picked = FUNCTIONS["embedding"](gg, wrap(index), padding)
        else:
            picked = gg[index]
        return both.masked(picked, np.broadcast_to((index != padding)[..., None], picked.shape))


@function(method=False)
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of `weight` (torch.embedding; note the order of arguments)."""
    if weight._data.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices._data.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{indices.type()} instead (while checking arguments for embedding)"
        )
    if not weight._data.shape[0] and indices._data.size and indices._data.ndim:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    return apply(
        EmbeddingBackward0, (weight, indices), padding_idx, scale_grad_by_freq, sparse, weight._data.shape[0]
    )


def one_hot(tensor, num_classes=-1):
    """Rows of zeros with a 1 at the given place (torch.nn.functional.one_hot)."""
    index = tensor._data
    if index.dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not index.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return wrap(np.zeros((*index.shape, num_classes), np.int64))
    if WATCHERS:
        watcher().looked(tensor, "one_hot" if num_classes == -1 else "classes")
    if index.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(index.max()) + 1
    elif index.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = (index[..., None] == np.arange(num_classes)).astype(np.int64, order="C")
    return follow(constant_result((tensor,), out, "one_hot"), tensor)


def drop(input, p, training):
    """Zero with probability `p`, everything else divided by 1 - p."""
    return throw(input, p, training, _dropped)


def throw(input, p, training, way, in_place=False):
    """Dropout in one of its forms.

    way       a function of a tensor's array and p that returns the factor and what to add after that (or None)
    in_place  whether to change the tensor itself and return it
    """
    x = input._data
    if p == 0 or not training or not x.size:
        return input
    times = METHODS["mul_" if in_place else "mul"]
    if p == 1:
        return times(input, wrap(x.dtype.type(0)))
    if x.dtype.kind != "f":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.dtype.type_name}"
        )
    factor, term = way(x, p)
    out = times(input, factor)
    return out if term is None else METHODS["add_" if in_place else "add"](out, term)


def _dropped(x, p):
    return _mask_for(x, p), None


def _dropped_features(x, p):
    return drawn("dropout_mask", _features(x), p, x.dtype), None


def _features(x):
    """The shape of one number for each channel of `x`."""
    if x.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*x.shape[:2], *[1] * (x.ndim - 2))


def _to_selus_limit(noise, p):
    """Dropped elements become selu's lower limit; then everything is scaled and shifted to keep mean and variance."""
    alpha = 1.7580993408473766
    a = 1 / math.sqrt((alpha**2 * p + 1) * (1 - p))
    return noise * a, (noise - 1) * (alpha * a) + alpha * a * p


def _alpha_dropped(x, p):
    return _to_selus_limit(drawn("kept", x.shape, p, x.dtype), p)


def _alpha_dropped_features(x, p):
    return _to_selus_limit(drawn("kept", _features(x), p, x.dtype), p)


def _mask_for(x, p):
    """Coin tosses for each element of `x`, in its memory order."""
    order = memory_order(x)
    if order is None:
        return drawn("dropout_mask", x.shape, p, x.dtype)
    mask = drawn("dropout_mask", tuple([x.shape[d] for d in order]), p, x.dtype)
    return mask.permute([order.index(d) for d in range(x.ndim)])


@kernel
def dropout_mask(shape, p, dtype):
    """Coin tosses from the default generator: 1 / (1 - p) with probability 1 - p, otherwise 0."""
    return kept(shape, p, dtype) / dtype.type(max(1 - p, 1e-30))


def drawn(name, *args):
    """A tensor of random numbers that the kernel `name` draws from the default generator; watchers are told."""
    out = wrap(KERNELS[name](*args))
    if WATCHERS:
        watcher().drew(name, args, out)
    return out


@kernel
def kept(shape, p, dtype):
    """Coin tosses from the default generator: 1 with probability 1 - p, otherwise 0."""
    return (rng_of().random(shape) < 1 - p).astype(dtype)


def _publish(name, way, text):
    def fn(input, p, train):
        _check_p(p)
        return throw(input, p, train, way)

    def in_place(input, p, train):
        _check_p(p)
        return throw(input, p, train, way, in_place=True)

    fn.__name__ = fn.__qualname__ = name
    in_place.__name__ = in_place.__qualname__ = name + "_"
    fn.__doc__ = f"{text} (torch.{name})."
    in_place.__doc__ = f"The in-place form of `{name}`."
    FUNCTIONS[name], FUNCTIONS[name + "_"] = fn, in_place


def _check_p(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


_publish("dropout", _dropped, "Elements zeroed with probability `p`, the others divided by 1 - p")
_publish("feature_dropout", _dropped_features, "Dropout of whole channels")
_publish("alpha_dropout", _alpha_dropped, "Dropout for nets of SELUs")
_publish("feature_alpha_dropout", _alpha_dropped_features, "Dropout of whole channels, for nets of SELUs")


__all__ = ["drawn", "drop", "embedding", "kept", "one_hot", "throw"]
