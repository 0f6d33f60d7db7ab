"""Rules that sort, or select by rank: sort, topk, median, quantile, unique, searching."""

import math

import numpy as np

from .. import return_types
from ..autograd.errors import CPP_NAMES, TYPE_NAMES, not_for
from ..autograd.modes import THREAD
from ..autograd.record import apply, record_all
from ..autograd.variable import Variable, wrap
from ..creation import FACTORIES, follow
from ..dtypes import as_places
from ..interface.words import take_numpy_words
from ..layout import like
from ..world.warning import warn_once
from . import array_or_tensor as both
from .comparison import constant_result, underived
from .reductions import MaxBackward1, Selection, not_empty, pick, wrap_dim
from .rule import FUNCTIONS, METHODS, common_type, floats_only, function, method, no_bools, tensor_of
from .scalars import times
from .shapes import ShapeRule


def ranking(x, dim, descending=False):
    """The indices that sort `x` along `dim`; ties stay in order, nan is the largest."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    backwards = np.flip(np.argsort(np.flip(x, dim), axis=dim, kind="stable"), dim)
    return x.shape[dim] - 1 - backwards


class Ordering(Selection):
    """A selection that keeps the dim.

    VJP: g at the places `indices`, 0 elsewhere.   Shapes: the dim may shrink.   Saves: the indices.
    """

    keeps = ("dim", "self_sym_sizes")

    def vjp(self, gs, indices):
        dim, shape = self.args[:2]
        if not shape and not isinstance(gs[0], Variable):
            return gs[0]
        return both.put_along(gs[0], both.array_of(indices), wrap_dim(dim, len(shape)), shape)


class SortBackward0(Ordering):
    """Ascending or descending order along a dim.

    Math: y0 = sort(a, dim, descending=descending).
    VJP: scatter_add(zeros_like(a), dim, indices, g0). Each g goes to the element it stands for.
    Shapes: unchanged.   Saves: the indices.   PyTorch: torch.sort
    """

    layout = like
    op = "sort"

    def forward(x, dim, _, descending):
        if not x.ndim:
            return x, np.int64(0)
        return pick(x, dim, ranking(x, dim, descending), True)


class SortBackward1(SortBackward0):
    """The same, asked to be stable. PyTorch: torch.sort(stable=True)."""


@function
def sort(input, dim=-1, descending=False, *, stable=None):
    """`input` in order along `dim`, and where each element came from; nan counts as the largest (torch.sort)."""
    wrap_dim(dim, input._data.ndim)
    rule = SortBackward0 if stable is None else SortBackward1
    return return_types.sort(apply(rule, (input,), dim, input._data.shape, bool(descending)))


@function
def argsort(input, dim=-1, descending=False, *, stable=False):
    """The indices that sort `input` along `dim` (torch.argsort)."""
    x = input._data
    dim = wrap_dim(dim, x.ndim)
    order = ranking(x, dim, descending) if x.ndim else np.int64(0)
    return constant_result((input,), like(np.asarray(order, np.int64).reshape(x.shape), x)[()], "argsort")


@function
def msort(input):
    """`input` in ascending order along its first dim (torch.msort)."""
    return sort(input, 0)[0]


class TopkBackward0(Ordering):
    """The k largest (or smallest) along a dim.

    Math: y0 = narrow(sort(a, dim, descending=largest), dim, 0, k) if ndim(a) else a.
    VJP: scatter_add(zeros_like(a), dim, indices, g0). The elements that were not picked get 0.
    Shapes: the dim shrinks to k.   Saves: the indices.   PyTorch: torch.topk
    """

    op = "topk"

    def forward(x, dim, _, k, largest):
        if not x.ndim:
            return x, np.int64(0)
        return pick(x, dim, both.slice_of(ranking(x, dim, largest), dim % x.ndim, 0, k), True)


@function
def topk(input, k, dim=-1, largest=True, sorted=True):
    """The `k` largest (or smallest) along `dim`, and where they were (torch.topk)."""
    shape = input._data.shape
    if input._data.dtype.kind == "b":
        raise RuntimeError("topk does not support bool dtypes on CPU")
    dim_ = wrap_dim(dim, len(shape))
    if not 0 <= k <= (shape[dim_] if shape else 1):
        raise RuntimeError("selected index k out of range")
    return return_types.topk(apply(TopkBackward0, (input,), dim, shape, k, bool(largest)))


# -- one element by its rank --------------------------------------------------------------------------


class KthvalueBackward0(Selection):
    """The k-th smallest along a dim.

    Math: y0 = a if ndim(a) == 0 else narrow(sort(a, dim), dim, k - 1, 1) if keepdim else select(sort(a, dim), dim, k - 1).
    VJP: scatter_add(zeros_like(a), dim, I, G); I = indices if keepdim or ndim(a) == 0 else unsqueeze(indices, dim); G = g0 if
    keepdim or ndim(a) == 0 else unsqueeze(g0, dim). All goes to the element picked.
    Shapes: the dim goes, or stays with size 1.   Saves: the indices.   PyTorch: torch.kthvalue
    """

    op = "kthvalue"

    def forward(x, dim, keepdim, _, k):
        return _ranked(x, dim, keepdim, lambda _: k - 1)


def _ranked(x, dim, keepdim, rank):
    """The element whose rank along `dim` is rank(x): an int, or an array with one rank for each row."""
    if not x.ndim:
        return x, np.int64(0)
    dim = wrap_dim(dim, x.ndim)
    where = np.asarray(rank(x), np.int64)
    if where.ndim == 0:
        where = np.full([1 if i == dim else n for i, n in enumerate(x.shape)], where)
    return pick(x, dim, np.take_along_axis(ranking(x, dim), where, dim), keepdim)


@function
def kthvalue(input, k, dim=-1, keepdim=False):
    """The `k`-th smallest along `dim`, and where it is; k counts from 1 (torch.kthvalue)."""
    shape = input._data.shape
    d = wrap_dim(dim, len(shape))
    if shape and not shape[d]:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    no_bools(input._data, "kthvalue_cpu")
    if not 1 <= k <= (shape[d] if shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    return return_types.kthvalue(apply(KthvalueBackward0, (input,), dim, keepdim, shape, k))


def _middle(x, dim):
    """The rank of the lower median of each row; the median of a row with nan is nan, so then the rank of the first nan."""
    n = x.shape[dim]
    numbers = n - np.isnan(x).sum(axis=dim, keepdims=True) if x.dtype.kind == "f" else np.asarray(n)
    return np.where(numbers < n, numbers, (n - 1) // 2)


def _middle_of_numbers(x, dim):
    numbers = x.shape[dim] - np.isnan(x).sum(axis=dim, keepdims=True)
    return np.maximum((numbers - 1) // 2, 0)


class MedianBackward1(Selection):
    """The middle element along a dim, the lower one of two.

    Math: y0 = median(a, dim, keepdim=keepdim).
    VJP: scatter_add(zeros_like(a), dim, I, G); I = indices if keepdim or ndim(a) == 0 else unsqueeze(indices, dim); G = g0 if
    keepdim or ndim(a) == 0 else unsqueeze(g0, dim). All goes to the element picked.
    Shapes: the dim goes, or stays with size 1.   Saves: the indices.   PyTorch: torch.median
    """

    op = "median"

    def forward(x, dim, keepdim):
        return _ranked(x, dim, keepdim, lambda x: _middle(x, wrap_dim(dim, x.ndim)))


class NanmedianBackward1(Selection):
    """The middle element of those that are numbers.

    Math: y0 = nanmedian(a, dim, keepdim=keepdim).
    VJP: scatter_add(zeros_like(a), dim, I, G); I = indices if keepdim or ndim(a) == 0 else unsqueeze(indices, dim); G = g0 if
    keepdim or ndim(a) == 0 else unsqueeze(g0, dim). All goes to the element picked.
    Shapes: the dim goes, or stays with size 1.   Saves: the indices.   PyTorch: torch.nanmedian
    """

    op = "nanmedian"

    def forward(x, dim, keepdim):
        return _ranked(x, dim, keepdim, lambda x: _middle_of_numbers(x, wrap_dim(dim, x.ndim)))


class MedianBackward0(MaxBackward1):
    """The middle element of all, the lower one of two.

    Math: y = median(a).
    VJP: g * w / sum(w); w = (a == y) + isnan(a) * isnan(y). The elements equal to the median share g evenly.
    Shapes: any -> ().   Saves: a and the result.   PyTorch: torch.median
    """

    op = "median"

    def forward(x):
        if not x.size:
            return x.dtype.type(np.nan)
        return MedianBackward1.forward(x.reshape(-1), 0, False)[0]


class NanmedianBackward0(MaxBackward1):
    """The middle element of those that are numbers.

    Math: y = nanmedian(a).
    VJP: g * w / sum(w); w = (a == y) + isnan(a) * isnan(y). The elements equal to the median share g evenly.
    Shapes: any -> ().   Saves: a and the result.   PyTorch: torch.nanmedian
    """

    op = "nanmedian"

    def forward(x):
        if not x.size:
            return x.dtype.type(np.nan)
        return NanmedianBackward1.forward(x.reshape(-1), 0, False)[0]


def _median_function(op, whole, along):
    def call(input, dim=None, keepdim=False):
        no_bools(input._data, "median_cpu" if dim is None else "median_out")
        if dim is None:
            return apply(whole, (input,))
        wrap_dim(dim, input._data.ndim)
        not_empty("median", input._data, dim)
        return getattr(return_types, op)(apply(along, (input,), dim, keepdim))

    call.__name__ = call.__qualname__ = op
    call.__doc__ = along.__doc__
    FUNCTIONS[op] = METHODS[op] = call


_median_function("median", MedianBackward0, MedianBackward1)
_median_function("nanmedian", NanmedianBackward0, NanmedianBackward1)


class ModeBackward0(Selection):
    """The most frequent element along a dim, the smallest at a tie.

    Math: y0 = mode(a, dim, keepdim=keepdim).
    VJP: scatter_add(zeros_like(a), dim, I, G); I = indices if keepdim or ndim(a) == 0 else unsqueeze(indices, dim); G = g0 if
    keepdim or ndim(a) == 0 else unsqueeze(g0, dim). All goes to the element picked.
    Shapes: the dim goes, or stays with size 1.   Saves: the indices.   PyTorch: torch.mode
    """

    op = "mode"

    def forward(x, dim, keepdim):
        return _ranked(
            x, dim, keepdim, lambda x: _end_of_longest_run(np.sort(x, axis=dim), wrap_dim(dim, x.ndim))
        )


def _end_of_longest_run(x, dim):
    """The end of the longest run of equal elements in each row of the sorted `x`."""
    rows = np.moveaxis(x, dim, -1)
    n = rows.shape[-1]
    starts = np.where(rows[..., 1:] != rows[..., :-1], np.arange(1, n), 0)
    starts = np.maximum.accumulate(
        np.concatenate([np.zeros((*rows.shape[:-1], 1), np.int64), starts], -1), axis=-1
    )
    lengths = np.arange(n) - starts
    return np.moveaxis(np.argmax(lengths, axis=-1)[..., None], -1, dim)


@function
def mode(input, dim=-1, keepdim=False):
    """The most frequent element along `dim`, and where it is last (torch.mode)."""
    wrap_dim(dim, input._data.ndim)
    not_empty("mode", input._data, dim)
    return return_types.mode(apply(ModeBackward0, (input,), dim, keepdim))


def _quantile(op, input, q, dim, keepdim, interpolation, ignore_nan):
    x = input._data
    if x.dtype.kind != "f" or x.dtype.itemsize < 4:
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    several = isinstance(q, Variable) and q._data.ndim > 0
    if isinstance(q, Variable) and q._data.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if isinstance(q, Variable) and q._data.dtype != x.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    at = tensor_of(q, input)
    if not ((at._data >= 0) & (at._data <= 1)).all():
        if isinstance(q, Variable):
            raise RuntimeError("quantile() q values must be in the range [0, 1]")
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not x.size:
        raise RuntimeError("quantile() input tensor must be non-empty")
    ndim = x.ndim
    dim = None if dim is None else wrap_dim(dim, ndim)
    if dim is None:
        ordered = sort(input.flatten())[0]
    elif dim == ndim - 1:
        ordered = sort(input)[0]
    else:
        ordered = sort(input.unsqueeze(-1).transpose(dim, -1))[0]
    rest = [1 if dim is None or i == dim else n for i, n in enumerate(x.shape)] if keepdim else []
    if not keepdim and dim is not None:
        rest = [n for i, n in enumerate(x.shape) if i != dim]
    ordered = ordered.view([*rest, ordered._data.shape[-1]])
    positions = _quantile_positions(ordered._data, at, ignore_nan)
    ranks = positions._data
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": np.floor, "higher": np.ceil, "nearest": np.round}[interpolation](ranks)
    below = np.floor(ranks)
    out = ordered.gather(-1, follow(wrap(below.astype(np.int64)), positions))
    if interpolation in ("linear", "midpoint"):
        weight = (
            wrap(np.full_like(ranks, 0.5))
            if interpolation == "midpoint"
            else positions - follow(wrap(below), positions)
        )
        above = ordered.gather(-1, follow(wrap(np.ceil(ranks).astype(np.int64)), positions))
        out.lerp_(above, weight)
    return out.unsqueeze_(0).transpose_(0, -1).squeeze_(-1) if several else out.squeeze_(-1)


def _quantile_positions(x, q, ignore_nan):
    """The fractional positions of the quantiles `q` in each sorted row of `x`, as a tensor; nan is at the end of a row."""
    last = x.shape[-1] - 1
    nans = np.isnan(x).sum(axis=-1, keepdims=True)
    if ignore_nan:
        ranks = q * wrap((last - nans).astype(x.dtype))
        return both.filled(ranks, ranks._data < 0)
    ranks = times(q, last)
    whole = np.broadcast_shapes(ranks.shape, nans.shape)
    ranks = ranks if whole == ranks.shape else ranks.expand(whole)
    return both.filled(ranks, nans > 0, last)  # a row with nan: every quantile is nan


@function
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-th quantile of all elements, or along `dim`; q is a number or a tensor of several (torch.quantile)."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@function
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The same, leaving out nan (torch.nanquantile)."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# -- counting and searching ---------------------------------------------------------------------------


class Unique2Backward0(ShapeRule):
    """Each different element once.

    Math: y = unique(a).   VJP: nothing. PyTorch has no derivative for it.   Saves: nothing.   PyTorch: torch.unique.
    """

    op = "_unique2"
    no_jvp = "_unique2"
    text = "the derivative for '_unique2' is not implemented."

    def vjp(self, g):
        raise NotImplementedError(self.text)


class UniqueDimBackward0(Unique2Backward0):
    """Each different slice once.

    Math: y = unique(a, axis=dim).   VJP: nothing. PyTorch has no derivative for it.
    Saves: nothing.   PyTorch: torch.unique(dim=...).
    """

    op = "unique_dim"
    keeps = hides = ("dim",)
    no_jvp = "unique_dim"
    text = "the derivative for 'unique_dim' is not implemented."


class UniqueConsecutiveBackward0(Unique2Backward0):
    """Each run of equal elements once.

    Math: y = unique_consecutive(a, dim=dim).   VJP: nothing. PyTorch has no derivative for it.
    Saves: nothing.   PyTorch: torch.unique_consecutive.
    """

    op = "unique_consecutive"
    keeps = hides = ("dim",)
    no_jvp = "unique_consecutive"
    text = "the derivative for 'unique_consecutive' is not implemented."


def _unique_result(rule, input, values, inverse, counts, *dim):
    state = THREAD.state
    out = record_all(state, rule, (input,), np.array(values, order="C"), dim)
    extras = [wrap(np.array(e, np.int64, order="C")) for e in (inverse, counts) if e is not None]
    return (out, *extras) if extras else out


def _check_unique(x, dim):
    if dim is None:
        return
    if not x.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    wrap_dim(dim, x.ndim)
    empty = [i for i, n in enumerate(x.shape) if not n]
    if len(empty) > 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")
    if empty and empty != [wrap_dim(dim, x.ndim)]:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )


@function
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """Each different element (or slice along `dim`) once, in ascending order (torch.unique)."""
    x = input._data
    _check_unique(x, dim)
    if dim is not None and x.dtype.kind == "f" and x.shape[dim] <= 16 and np.isnan(x).any():
        values, inverse, counts = _unique_beside_nan(x, dim)
    else:
        values, inverse, counts = np.unique(
            x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
        )
    inverse = inverse.reshape(x.shape if dim is None else -1)
    rule, *given = (Unique2Backward0,) if dim is None else (UniqueDimBackward0, dim)
    inverse, counts = inverse if return_inverse else None, counts if return_counts else None
    return _unique_result(rule, input, values, inverse, counts, *given)


def _unique_beside_nan(x, dim):
    """(values, inverse, counts) of slices that contain nan, which is neither less nor greater than any number.

    So their order is that of std::sort: insertion sort up to 16 slices, unspecified beyond.
    """
    rows = np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
    order = []
    for i, row in enumerate(rows):
        at = 0 if order and _comes_before(row, rows[order[0]]) else len(order)
        while at and _comes_before(row, rows[order[at - 1]]):
            at -= 1
        order.insert(at, i)
    new = np.array([i == 0 or (rows[order[i]] != rows[order[i - 1]]).any() for i in range(len(order))])
    starts = np.flatnonzero(new)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(new) - 1
    return np.take(x, np.array(order)[starts], axis=dim), inverse, np.diff(np.append(starts, len(order)))


def _comes_before(row, other):
    differs = np.flatnonzero((row < other) | (row > other))
    return differs.size > 0 and row[differs[0]] < other[differs[0]]


@function
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """Each run of equal elements (or slices along `dim`) once (torch.unique_consecutive)."""
    x = input._data
    _check_unique(x, dim)
    if dim is None:
        rows = x.reshape(-1, 1)
    else:
        rows = np.moveaxis(x, dim, 0)
        rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    new = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])[: len(rows)]
    starts = np.flatnonzero(new)
    values = x.reshape(-1)[starts] if dim is None else np.take(x, starts, axis=dim)
    inverse = (np.cumsum(new) - 1).reshape(x.shape if dim is None else -1) if return_inverse else None
    counts = np.diff(np.append(starts, len(rows))) if return_counts else None
    return _unique_result(UniqueConsecutiveBackward0, input, values, inverse, counts, dim)


def _check_sorter(begin, edges, sorter):
    if sorter.shape != edges.shape:
        raise RuntimeError(
            f"{begin}boundary and sorter must have the same size, but got boundary tensor {list(edges.shape)}and got "
            f"sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype != np.int64:
        raise RuntimeError(
            f"{begin}sorter must be a tensor of long dtype but got dtype {TYPE_NAMES[sorter.dtype.name]}"
        )
    if sorter.size and (sorter.min() < 0 or sorter.max() >= edges.shape[-1]):
        raise RuntimeError(f"{begin}sorter index out of range")


@function
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """The position at which to insert each element of `input` into `sorted_sequence` to keep it sorted (torch.searchsorted)."""
    begin = "torch.searchsorted(): "
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{begin}side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(
            f"{begin}side and right can't be set to opposites, got side of {side} while right was True"
        )
    right = right or side == "right"
    edges = sorted_sequence._data
    x = tensor_of(input, sorted_sequence)._data
    if not edges.ndim:
        raise RuntimeError(f"{begin}boundaries tensor should have positive dimension, but got 0 dimension")
    if not x.ndim and edges.ndim > 1:
        raise RuntimeError(
            f"{begin}input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor "
            f"dim({edges.ndim}) and input value's dim(0) numel(1)"
        )
    if sorter is not None:
        _check_sorter(begin, edges, sorter._data)
        edges = np.take_along_axis(edges, sorter._data, -1)
    if edges.dtype is not x.dtype:
        meeting = common_type([edges, x])
        edges, x = edges.astype(meeting), x.astype(meeting)
    if edges.dtype.kind == "b":
        raise not_for(edges.dtype, "searchsorted_out_cpu")
    for what, array in (("boundary", edges), ("input value", x)):
        if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
            warn_once(
                f"{begin}{what} tensor is non-contiguous, this will lower the performance due to extra data copy when "
                f"converting non-contiguous tensor to contiguous, please use contiguous {what} tensor if possible."
            )
    side = "right" if right else "left"
    if edges.ndim == 1:
        found = np.searchsorted(edges, x, side)
    else:
        if edges.shape[:-1] != x.shape[:-1]:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                "boundaries tensor and input value tensor must match, but we got boundaries tensor "
                f"{list(edges.shape)} and input value tensor {list(x.shape)}"
            )
        count = math.prod(x.shape[:-1])
        rows = zip(edges.reshape(count, edges.shape[-1]), x.reshape(count, x.shape[-1]), strict=True)
        found = np.array([np.searchsorted(e, v, side) for e, v in rows], np.int64).reshape(x.shape)
    out = constant_result(
        (sorted_sequence,), np.asarray(found).astype(np.int32 if out_int32 else np.int64)[()], "searchsorted"
    )
    return follow(out, input)


@function(method=False)
def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The bucket between the `boundaries` of each element (torch.bucketize)."""
    if boundaries._data.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._data.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@function
def bincount(input, weights=None, minlength=0):
    """How often each of 0, 1, 2, ... occurs in `input`, or the sum of its weights (torch.bincount)."""
    x = input._data
    if x.dtype.kind in "fb":
        raise not_for(x.dtype, "bincount_cpu")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if x.ndim == 1 and not x.size:
        return constant_result((input,), np.zeros(minlength, np.int64), "bincount")
    if x.ndim != 1 or x.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights._data.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(as_places(x), None if weights is None else weights._data, minlength)
    dtype = (
        np.int64
        if weights is None
        else weights._data.dtype
        if weights._data.dtype == np.float32
        else np.float64
    )
    return underived("bincount", (input,) if weights is None else (input, weights), counts.astype(dtype))


@function
def histc(input, bins=100, min=0, max=0):
    """How many elements fall into each of `bins` equal parts of [min, max], by default of their range (torch.histc)."""
    x = input._data.reshape(-1)
    floats_only(x, "histogram_cpu")
    _check_bins(bins)
    if max < min:
        raise RuntimeError("torch.histc: max must be larger than min")
    if min == max and x.size:
        min, max = x.min(), x.max()
    if not (np.isfinite(min) and np.isfinite(max)):
        raise RuntimeError(f"torch.histc: range of [{min:g}, {max:g}] is not finite")
    if min == max:
        min, max = min - 1, max + 1
    return constant_result((input,), np.histogram(x, bins, (min, max))[0].astype(x.dtype), "histc")


@function
@method
def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """(how many elements fall between the edges of bins, the edges) (torch.histogram).

    bins     a number of equal bins of `range` (low, high), by default that of the elements; or a tensor with the edges
    weight   what each element counts;  density: the counts as a density, whose integral is one

    The last bin includes its upper edge. Elements outside, and nan, are not counted. PyTorch has no derivative for it.
    Raises RuntimeError if the edges, the range or the weight do not fit, NotImplementedError for elements that are not
    floats, and for float16 with a number of bins.
    """
    x = input._data.reshape(-1)
    given = isinstance(bins, Variable)
    if given and range is not None:
        raise TypeError("histogram() takes a range with a number of bins, not with the edges of bins")
    edges = _given_edges(x, bins) if given else _equal_edges(input, bins, range)
    inputs = (input, bins) if given else (input,)
    weights = np.ones_like(x)
    if weight is not None:
        inputs, weights = (*inputs, weight), weight._data.reshape(-1)
        _check_weights(x, weights)
    inside = (x >= edges[0]) & (x <= edges[-1])
    bin_of = np.minimum(np.searchsorted(edges, x[inside], "right") - 1, len(edges) - 2)
    counts = np.zeros(len(edges) - 1, x.dtype)
    np.add.at(counts, bin_of, weights[inside])
    if density:
        counts /= counts.sum() * np.diff(edges)
    return return_types.histogram(underived("histogram", inputs, counts, edges))


def _given_edges(x, bins):
    edges = bins._data
    complaint = None
    if edges.dtype is not x.dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype "
            f"{CPP_NAMES[x.dtype.name]} and bins for dimension 0 with dtype {CPP_NAMES[edges.dtype.name]}"
        )
    if edges.ndim != 1:
        complaint = (
            f"bins tensor should have one dimension, but got {edges.ndim} dimensions in the bins tensor"
        )
    elif not edges.size:
        complaint = "bins tensor should have at least 1 element, but got 0 elements in the bins tensor"
    if complaint:
        raise RuntimeError(f"torch.histogramdd: {complaint} for dimension 0")
    _check_bins(len(edges) - 1)
    floats_only(x, "histogram_cpu")
    return edges.copy()


def _check_bins(bins):
    if bins < 1:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


def _equal_edges(input, bins, range):
    x = input._data
    if floats_only(x, "histogramdd").dtype == np.float16:
        raise not_for(x.dtype, "histogramdd")
    _check_bins(bins)
    if range is not None and len(range) != 2:
        raise RuntimeError(
            "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got "
            f"{len(range)}"
        )
    low, high = range or ((x.min(), x.max()) if x.size else (0, 1))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension 0"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return FACTORIES["linspace"](float(low), float(high), bins + 1, dtype=input.dtype)._data


def _check_weights(x, weights):
    if weights.shape != x.shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {[*x.shape, 1]} and weight with shape "
            f"{list(weights.shape)}"
        )
    if weights.dtype is not x.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
            f"dtype, but got input({CPP_NAMES[x.dtype.name]}), and weight({CPP_NAMES[weights.dtype.name]})"
        )


@function
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Whether each element is among `test_elements` (torch.isin)."""
    given = (elements, test_elements)
    if not all(isinstance(t, (Variable, int, float)) for t in given) or not any(
        isinstance(t, Variable) for t in given
    ):
        raise TypeError("isin() takes tensors and numbers")
    x, y = (t._data if isinstance(t, Variable) else t for t in (elements, test_elements))
    for array in (x, y):
        if isinstance(array, (np.ndarray, np.generic)) and array.dtype.kind == "b":
            raise RuntimeError("Unsupported input type encountered for isin(): Bool")
    out = constant_result((), np.asarray(np.isin(x, y, invert=invert))[()], "isin")
    return follow(out, elements, test_elements)


take_numpy_words(__name__)
