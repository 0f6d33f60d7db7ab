"""Embedding bags: rows looked up by index and reduced bag by bag, without storing the rows themselves."""

import numpy as np

from ..autograd.variable import Variable, wrap
from ..dtypes import as_places
from . import array_or_tensor as both
from .embedding import EmbeddingDenseBackwardBackward0
from .general import GeneralRule, call
from .rule import function

SUM, MEAN, MAX = 0, 1, 2


class EmbeddingBagBackward0(GeneralRule):
    """Rows of a table, added up, averaged or compared within each bag.

    Math: y = embedding_bag(indices, weight, starts, mode='sum' if mode == 0 else 'mean' if mode == 1 else 'max',
    per_sample_weights=per_sample_weights, padding_idx=padding_idx if padding_idx >= 0 else None).
    VJP: to weight: scatter_add(zeros_like(weight), 0, bag_winners(weight, indices, starts, padding_idx=padding_idx if padding_idx
    >= 0 else None), unsqueeze(n > 0, -1) * g) if mode == 2 else index_add(zeros_like(weight), 0, indices, G[bags] * p); to
    per_sample_weights: sum(g[bags] * weight[indices], -1) * (indices != padding_idx if padding_idx >= 0 else 1); G = g /
    unsqueeze(maximum(n, 1), -1) if mode == 1 else g; bags = bag_of(indices, starts); n = bag_sizes(indices, starts,
    padding_idx=padding_idx if padding_idx >= 0 else None); p = 1 if padding_idx < 0 and per_sample_weights is None and not
    scale_grad_by_freq else unsqueeze(k * m, -1); k = 1 if padding_idx < 0 and per_sample_weights is not None else indices !=
    padding_idx; m = 1 / bincount(indices)[indices] if scale_grad_by_freq else 1 if per_sample_weights is None else
    per_sample_weights; starts = offsets[:size(y, 0)] if size(offsets, 0) > size(y, 0) else offsets. The padding row, and an empty
    bag, get and give nothing.
    Shapes: w (rows, d), index (n,), p (n,), offsets (bags,) -> (bags, d).   Saves: the indices, the bag of each, the sizes of the
    bags, the winning rows; w and p if p is given.   PyTorch: torch.nn.functional.embedding_bag
    """

    op = "_embedding_bag"
    no_jvp = "_embedding_bag"
    inputs = ("weight", "per_sample_weights", "indices", "offsets", "result1", "result2", "result3")
    operands = 2
    saves = ("weight", "per_sample_weights", "indices", "offsets", "result1", "result2", "result3")
    saves_if = {"weight": (1,)}
    keeps = ("mode", "padding_idx", "scale_grad_by_freq", "sparse", "weight_sym_argsize_0")

    def kept(self, name, value):
        return value % 2**64 if name == "padding_idx" else super().kept(name, value)

    def forward(w, p, index, offsets, bag, sizes, winners, mode, padding, *_):
        bags = len(sizes)
        if mode == MAX:
            y = np.take_along_axis(w, winners, 0) if len(w) else np.zeros((bags, w.shape[1]), w.dtype)
            y[sizes == 0] = 0
            return y
        counted = index != padding
        rows = w[index[counted]]
        if p is not None:
            rows = rows * p[counted][:, None]
        y = np.zeros((bags, w.shape[1]), w.dtype)
        np.add.at(y, bag[counted], rows)
        return y / np.maximum(sizes, 1)[:, None].astype(w.dtype) if mode == MEAN else y

    def vjp(self, g, w, p, index, _offsets, bag, sizes, winners):
        mode, padding, by_frequency, _sparse, rows = self.args
        index, bag, sizes, winners = (both.array_of(t) for t in (index, bag, sizes, winners))
        to_w = to_p = None
        if mode == MAX:
            there = np.broadcast_to((sizes > 0)[:, None], g.shape)
            to_w = both.add_along(both.masked(g, there), winners, 0, (rows, g.shape[1]))
            return to_w, None
        each = _rows(g, bag)
        if self.needs(1):
            to_p = both.masked((each * _rows(w, index)).sum(1), index != padding)
        if self.needs(0):
            shares = np.ones(len(index), both.array_of(g).dtype)
            if mode == MEAN:
                shares = shares / np.maximum(sizes, 1)[bag].astype(shares.dtype)
            if by_frequency and len(index):
                shares = shares / np.bincount(as_places(index))[index].astype(shares.dtype)
            each = each * both.constant(shares[:, None], g)
            if p is not None:
                each = each * p.reshape((-1, 1))
            to_w = both.run(EmbeddingDenseBackwardBackward0, (each,), index, padding, rows)
        return to_w, to_p


def _rows(x, index):
    return x.index_select(0, wrap(index)) if isinstance(x, Variable) else x[index]


@function(method=False)
def embedding_bag(
    weight,
    indices,
    offsets,
    scale_grad_by_freq=False,
    mode=0,
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Bags of rows (torch.embedding_bag): the result, the bag of each index, the sizes of the bags, the winners.

    `mode` is 0 for sums, 1 for means, 2 for maxima. Raises RuntimeError for indices and offsets that do not fit.
    """
    w, index, starts = weight._data, indices._data, offsets._data
    for name, t in (("indices", indices), ("offsets", offsets)):
        if t._data.dtype.name not in ("int64", "int32"):
            raise RuntimeError(
                f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but "
                f"got {t.type()} instead (while checking arguments for embedding_bag)"
            )
    if w.dtype.kind != "f":
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but "
            f"got {weight.type()} instead (while checking arguments for embedding_bag)"
        )
    factors = per_sample_weights
    if factors is not None and factors._data.dtype is not w.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but "
            f"type {weight.type()} does not equal {factors.type()} (while checking arguments for embedding_bag)"
        )
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {starts[0]}"
        )
    if starts.size and starts[-1] > len(index):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {len(index)} but got offsets[-1] of {starts[-1]}"
        )
    rows = len(w)
    padding = -1
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
            )
        padding = padding_idx % rows
    if include_last_offset:
        if not starts.size:
            raise RuntimeError("include_last_offset: numBags should be at least 1")
        end, starts = starts[-1], starts[:-1]
        if end < len(index):
            index = index[:end]
            indices = wrap(index)
            if per_sample_weights is not None:
                per_sample_weights = per_sample_weights[: len(index)]
    wrong = np.flatnonzero((index < 0) | (index >= rows))
    if wrong.size:
        i, value = wrong[0], index[wrong[0]]
        if (
            w.dtype.name == "float32" and mode != MAX and padding_idx is None
        ):  # PyTorch has a message of its own for this
            raise RuntimeError(
                f"Index {i} of input takes value {value} which is not in the valid range [0, {rows})"
            )
        raise RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {value}"
        )
    bag = np.searchsorted(starts, np.arange(len(index)), side="right").astype(index.dtype) - 1
    if not starts.size:  # no bags: nothing is looked up
        index, bag = index[:0], bag[:0]
        indices = wrap(index)
    sizes = np.bincount(as_places(bag[index != padding]), minlength=len(starts)).astype(index.dtype)
    winners = _winners(w, index, bag, padding, len(starts)) if mode == MAX else sizes
    if mode == SUM and padding_idx is None:
        winners = np.zeros_like(sizes)  # PyTorch counts the bags only where it needs to
    parts = (bag, np.zeros_like(sizes) if mode == SUM and padding_idx is None else sizes, winners)
    kept = tuple([wrap(part) for part in parts])
    out = call(
        EmbeddingBagBackward0,
        (weight, per_sample_weights, indices, offsets, *kept),
        mode,
        padding,
        scale_grad_by_freq,
        sparse,
        rows,
    )
    return (out, *kept)


def _winners(w, index, bag, padding, bags):
    """For each bag and column, the row with the largest number, the first one at a tie."""
    winners = np.zeros((bags, w.shape[1]), index.dtype)
    best = np.full((bags, w.shape[1]), -np.inf, w.dtype)
    seen = np.zeros(bags, bool)
    for row, b in zip(index.tolist(), bag.tolist(), strict=True):
        if row == padding:
            continue
        better = (w[row] > best[b]) | ~seen[b]
        winners[b][better], best[b][better] = row, w[row][better]
        seen[b] = True
    return winners


__all__ = ["embedding_bag"]
