"""Rules that reduce many numbers to few: sums, means, variances, extremes, norms, running sums, softmax."""

import math

import numpy as np

from ...core.rules.reductions import MeanBackward0, SumBackward0, SumBackward1, total
from .. import return_types
from ..autograd.errors import TYPE_NAMES, not_for
from ..autograd.memory import put
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace, apply_laid_out
from ..autograd.variable import NO_EDGE, Variable, edge_of, wrap
from ..creation import follow
from ..dtypes import Defaults, meet, to_dtype
from ..interface.words import take_numpy_words
from ..layout import rows
from ..world.warning import warn
from . import array_or_tensor as both
from . import numerics
from .arithmetic import no_bool_difference
from .broadcasting import MaximumBackward0, MinimumBackward0
from .comparison import both_tensors, constant_result
from .rule import FUNCTIONS, METHODS, Rule, floats_only, function, method, pointwise

# -- dims ---------------------------------------------------------------------------------------------


def wrap_dim(dim, ndim):
    """`dim` counted from the front. Raises PyTorch's IndexError if there is no such dim."""
    n = ndim or 1
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


def wrap_dims(dims, ndim):
    """A tuple of dims counted from the front, each once; None and () mean all of them."""
    if dims is None or dims == ():
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    found = []
    for dim in dims:
        dim = wrap_dim(dim, ndim)
        if dim in found:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
        found.append(dim)
    return tuple(found) if ndim else ()


EVERY_DIM = object()
"""The default of `dim`: an explicit None also means all dims, but is a different signature."""


def dims_given(op, dim):
    """The `dim` argument as PyTorch stores it: a tuple, or None."""
    if isinstance(dim, (int, np.integer)) and not isinstance(dim, bool):
        return (int(dim),)
    if dim is None or (isinstance(dim, (tuple, list)) and all(isinstance(d, (int, np.integer)) for d in dim)):
        return dim if dim is None else tuple(dim)
    raise TypeError(
        f"{op}() received an invalid combination of arguments - got dim={dim!r}, expected an int or a tuple of ints"
    )


def spread(g, shape, dims, keepdim):
    """`g`, the gradient of a reduction of `shape` over `dims`, with the reduced dims restored with size 1.

    The number that is left if no dims were named broadcasts anyway.
    """
    if keepdim or not shape or dims in (None, ()):
        return g
    return both.unsqueeze(g, wrap_dims(dims, len(shape)), shape)


class Reduction(Rule):
    """The common base of reductions: dims read back as PyTorch stores them."""

    def kept(self, name, value):
        if name == "dim" and isinstance(value, tuple):
            return tuple([Rule.kept(self, name, d) for d in value])
        return Rule.kept(self, name, value)


def reduce_as(rule, input, dtype, *args):
    """Run `rule` on `input` converted to `dtype` (if given); the gradient has the input's own type."""
    if dtype is None:
        return apply(rule, (input,), *args)
    x, dtype = input._data, to_dtype(dtype).np
    if dtype.kind != "f":  # the rules return int64 for any integer type
        out = apply(rule, (follow(wrap(x.astype(dtype, copy=False)), input),), *args)
        return out if out._data.dtype == dtype else follow(wrap(out._data.astype(dtype)), out)
    if dtype == x.dtype:
        return apply(rule, (input,), *args)
    out = apply(rule, (follow(wrap(x.astype(dtype), edge_of(input)), input),), *args)
    if out._edge is not NO_EDGE:
        out._edge.broadcast = ((x.shape, x.dtype),)
    return out


# -- sums and means -----------------------------------------------------------------------------------


def _sum(x, dims, keepdim):
    if x.dtype.kind != "f":
        return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=np.int64)
    if x.dtype.itemsize == 2:  # float16 is summed in float32, as in PyTorch
        return np.add.reduce(x, axis=dims, keepdims=keepdim, dtype=np.float32).astype(x.dtype)
    return np.add.reduce(x, axis=dims, keepdims=keepdim)


@function
def sum(input, dim=EVERY_DIM, keepdim=False, *, dtype=None):
    """The sum of all elements, or over `dim`, an int or a tuple (torch.sum)."""
    if dim is EVERY_DIM and not keepdim:
        return reduce_as(SumBackward0, input, dtype)
    return reduce_as(SumBackward1, input, dtype, dims_given("sum", dim), keepdim)


class MeanBackward1(Reduction):
    """Mean over some dims.

    Math: y = sum(a, dim=dim, keepdim=keepdim) / size(a, dim).   VJP: spread(g, a, dim=dim) / size(a, dim).
    Shapes: the dims go, or stay with size 1. Saves: nothing.   PyTorch: torch.mean
    """

    layout = rows
    op = "mean"
    keeps = ("dim", "keepdim", "self_sym_numel", "self_sym_sizes")

    def forward(x, dims, keepdim, _):
        dims = wrap_dims(dims, x.ndim)
        return total(x, dims, keepdim) / x.dtype.type(numerics.count(x.shape, dims))

    def vjp(self, g):
        dims, keepdim, _, shape = self.args
        n = numerics.count(shape, wrap_dims(dims, len(shape)))
        return both.expand(spread(g, shape, dims, keepdim), shape) / n


@function
def mean(input, dim=EVERY_DIM, keepdim=False, *, dtype=None):
    """The mean of all elements, or over `dim` (torch.mean); floating types only."""
    have = input._data.dtype if dtype is None else to_dtype(dtype).np
    if have.kind != "f":
        what = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {what} dtype must be either a floating point or complex dtype. "
            f"Got: {TYPE_NAMES[have.name]}"
        )
    if dim is EVERY_DIM and not keepdim:
        return reduce_as(MeanBackward0, input, dtype, input._data.size)
    return reduce_as(MeanBackward1, input, dtype, dims_given("mean", dim), keepdim, input._data.size)


class NansumBackward0(Reduction):
    """Sum that leaves out nan.

    Math: y = nansum(a, dim=dim, keepdim=keepdim).   VJP: where(isnan(a), 0, spread(g, a, dim=dim)).
    Shapes: as sum.   Saves: a. PyTorch: torch.nansum
    """

    layout = rows
    op = "nansum"
    saves = ("self",)
    keeps = ("dim", "keepdim")

    def forward(x, dims, keepdim):
        if x.dtype.kind == "f":
            x = np.where(np.isnan(x), x.dtype.type(0), x)
        return _sum(x, wrap_dims(dims, x.ndim), keepdim)

    def vjp(self, g, x):
        dims, keepdim = self.args
        return both.expand(spread(g, x.shape, dims, keepdim), x.shape) * both.constant(
            ~np.isnan(both.array_of(x)), g
        )


@function
def nansum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of what is not nan (torch.nansum)."""
    if dtype is not None and to_dtype(dtype).np.kind != "f":  # nan cannot be converted to an integer
        input = (
            METHODS["nan_to_num"](input.detach(), 0.0, math.inf, -math.inf)
            if input._data.dtype.kind == "f"
            else input
        )
        return sum(input, dim, keepdim, dtype=dtype)
    return reduce_as(NansumBackward0, input, dtype, dims_given("nansum", dim), keepdim)


@function
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of what is not nan (torch.nanmean)."""
    if input._data.dtype.kind != "f":
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            + TYPE_NAMES[input._data.dtype.name]
        )
    if dtype is not None and to_dtype(dtype).np.kind != "f":
        raise RuntimeError(
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {to_dtype(dtype).type_name}"
        )
    numbers = (~METHODS["isnan"](input.detach())).sum(dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / numbers


@method
def sum_to_size(self, *size):
    """The sum over what was broadcast, so that the result has shape `size` (torch.Tensor.sum_to_size)."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    shape = self._data.shape
    if not size:
        return sum(self)
    lead = len(shape) - len(size)
    if lead < 0 or any(n not in (1, m) for n, m in zip(size, shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    dims = [*range(lead), *[i + lead for i, n in enumerate(size) if n == 1 and shape[i + lead] != 1]]
    out = sum(self, dims, True) if dims else self
    return out.view(size) if lead else out


# -- products -----------------------------------------------------------------------------------------


def _prod(x, dims, keepdim):
    return np.multiply.reduce(x, axis=dims, keepdims=keepdim, dtype=None if x.dtype.kind == "f" else np.int64)


def times_others(g, x, dim):
    """`g` times the product of the other elements of `x` along `dim`, computed without division, so zeros are safe."""
    n = x.shape[dim]
    if n < 2 or 0 in x.shape:
        return both.expand(g, x.shape)
    one = both.zeros_like(both.slice_of(x, dim, 0, 1)) + 1
    before = both.cumprod(both.cat([one, both.slice_of(x, dim, 0, n - 1)], dim), dim)
    after = both.flip(
        both.cumprod(both.cat([one, both.flip(both.slice_of(x, dim, 1, n), dim)], dim), dim), dim
    )
    return g * (before * after)


class ProdBackward0(Rule):
    """Product of all elements.

    Math: y = prod(a).   VJP: g * product_of_others(a).   Without zeros that is g * y / a.
    Shapes: any -> ().   Saves: a and the result.   PyTorch: torch.prod
    """

    op = "prod"
    saves = ("self", "result")

    def forward(x):
        return _prod(x, None, False)

    def vjp(self, g, x, y):
        if not x.shape:
            return g
        if (both.array_of(x) != 0).all():
            return g * (y / x)
        return times_others(g, x.ravel(), 0).reshape(x.shape)


class ProdBackward1(Reduction):
    """Product along a dim.

    Math: y = prod(a, dim=dim, keepdim=keepdim).   VJP: spread(g, a, dim=dim) * product_of_others(a, dim).   Without zeros
    that is g * y / a.
    Shapes: the dim goes, or stays with size 1.   Saves: a and the result.   PyTorch: torch.prod
    """

    layout = rows
    op = "prod"
    saves = ("self", "result")
    keeps = ("dim", "keepdim")

    def forward(x, dim, keepdim):
        return _prod(x, wrap_dims(dim, x.ndim), keepdim)

    def vjp(self, g, x, y):
        dim, keepdim = self.args
        if not x.shape:
            return g
        g = spread(g, x.shape, dim, keepdim)
        if (both.array_of(x) != 0).all():
            return g * (spread(y, x.shape, dim, keepdim) / x)
        return times_others(g, x, wrap_dim(dim, len(x.shape)))


@function
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along `dim` (torch.prod)."""
    if dim is None:
        return reduce_as(ProdBackward0, input, dtype)
    if isinstance(dim, (tuple, list)):
        raise TypeError("prod(): it multiplies along one dim")
    return reduce_as(ProdBackward1, input, dtype, dim, keepdim)


# -- variance -----------------------------------------------------------------------------------------


def _var(x, dims, correction, keepdim):
    dims = wrap_dims(dims, x.ndim)
    center = x - numerics.mean(x, dims, True)
    free = max_(numerics.count(x.shape, dims) - (1 if correction is None else correction), 0)
    return np.true_divide((center * center).sum(axis=dims, keepdims=keepdim), free, dtype=x.dtype)


max_ = max


def _var_vjp(g, x, dims, correction, keepdim):
    whole, dims = dims is None or not x.shape, wrap_dims(dims, len(x.shape))
    free = numerics.count(x.shape, dims) - (1 if correction is None else correction)
    if whole:
        mean = x.mean() if isinstance(x, Variable) else numerics.mean(x, dims, False)
        if free <= 0:
            center = both.array_of(x) - both.array_of(mean)
            return g * both.constant(np.where(center == 0, np.nan, np.inf).astype(center.dtype), g)
    else:
        mean = both.mean_over(x, dims, True)
        g = spread(g, x.shape, dims, keepdim or len(x.shape) == 1)
    return (2.0 / free if free else math.inf) * g * (x - mean)


def _std_vjp(g, x, y, *args):
    return _var_vjp(both.filled(g / (y * 2), both.array_of(y) == 0), x, *args)


class VarBackward0(Reduction):
    """Variance.

    Math: y = sum((a - mean(a, dim=dim, keepdim=True)) ** 2, dim=dim, keepdim=keepdim) / n; n = size(a, dim) - (1 if
    correction is None else correction).   VJP: 2 * spread(g, a, dim=dim) * (a - mean(a, dim=dim, keepdim=True)) / n; n =
    size(a, dim) - (1 if correction is None else correction).
    Shapes: as sum.   Saves: a.   PyTorch: torch.var
    """

    layout = rows
    op = "var"
    saves = ("self",)
    keeps = ("dim", "correction", "keepdim")

    def forward(x, dims, correction, keepdim):
        return _var(x, dims, correction, keepdim)

    def vjp(self, g, x):
        return _var_vjp(g, x, *self.args)


class StdBackward0(Reduction):
    """Standard deviation.

    Math: y = std(a, dim=dim, correction=correction, keepdim=keepdim).   VJP: where(y_ == 0, 0, spread(g, a, dim=dim) * (a
    - mean(a, dim=dim, keepdim=True)) / (y_ * n)); y_ = spread(y, a, dim=dim); n = size(a, dim) - (1 if correction is None
    else correction).
    Shapes: as sum.   Saves: a and the result.   PyTorch: torch.std
    """

    layout = rows
    op = "std"
    saves = ("self", "result")
    keeps = ("dim", "correction", "keepdim")

    def forward(x, dims, correction, keepdim):
        return np.sqrt(_var(x, dims, correction, keepdim))

    def vjp(self, g, x, y):
        return _std_vjp(g, x, y, *self.args)


class VarMeanBackward0(Reduction):
    """Variance and mean at once.

    Math: y0 = var(a, dim=dim, correction=correction, keepdim=keepdim); y1 = mean(a, dim=dim, keepdim=keepdim).   VJP:
    2 * spread(g0, a, dim=dim) * (a - mean(a, dim=dim, keepdim=True)) / n + spread(g1, a, dim=dim) / size(a, dim); n = size(a,
    dim) - (1 if correction is None else correction).
    Shapes: as sum.   Saves: a.   PyTorch: torch.var_mean
    """

    layout = rows
    op = "var_mean"
    plain = False
    saves = ("self",)
    keeps = ("dim", "correction", "keepdim")

    def forward(x, dims, correction, keepdim):
        return _var(x, dims, correction, keepdim), numerics.mean(x, wrap_dims(dims, x.ndim), keepdim)

    def vjp(self, gs, x):
        return _with_mean(gs[1], x, self.args, None if gs[0] is None else _var_vjp(gs[0], x, *self.args))


class StdMeanBackward0(Reduction):
    """Standard deviation and mean at once.

    Math: y0 = std(a, dim=dim, correction=correction, keepdim=keepdim); y1 = mean(a, dim=dim, keepdim=keepdim).   VJP:
    where(y_ == 0, 0, spread(g0, a, dim=dim) * (a - mean(a, dim=dim, keepdim=True)) / (y_ * n)) + spread(g1, a, dim=dim) /
    size(a, dim); y_ = spread(y0, a, dim=dim); n = size(a, dim) - (1 if correction is None else correction).
    Shapes: as sum.   Saves: a and y0. PyTorch: torch.std_mean
    """

    layout = rows
    op = "std_mean"
    plain = False
    saves = ("self", "result0")
    results = {"result0": 0}
    keeps = ("dim", "correction", "keepdim")

    def forward(x, dims, correction, keepdim):
        return np.sqrt(_var(x, dims, correction, keepdim)), numerics.mean(x, wrap_dims(dims, x.ndim), keepdim)

    def vjp(self, gs, x, y):
        return _with_mean(gs[1], x, self.args, None if gs[0] is None else _std_vjp(gs[0], x, y, *self.args))


def _with_mean(g, x, args, other):
    if g is None:
        return other
    dims, _, keepdim = args
    n = numerics.count(x.shape, wrap_dims(dims, len(x.shape)))
    to_mean = both.expand(spread(g, x.shape, dims, keepdim), x.shape) / n
    return to_mean if other is None else other + to_mean


def _spread_function(op, rule):
    def call(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
        x = input._data
        if x.dtype.kind != "f":
            raise RuntimeError("std and var only support floating point and complex dtypes")
        if isinstance(dim, bool):  # the old signature var(unbiased)
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        elif correction is None and dim is not None:
            correction = 1
        dims = dims_given(op, dim)
        n = numerics.count(x.shape, wrap_dims(dims, x.ndim))
        if n - (1 if correction is None else correction) <= 0:
            warn(
                f"{op}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
                "(input numel divided by output numel).",
            )
        return apply(rule, (input,), dims, correction, keepdim)

    call.__name__ = call.__qualname__ = op
    call.__doc__ = rule.__doc__
    FUNCTIONS[op] = call
    if rule.plain:
        METHODS[op] = call


_spread_function("var", VarBackward0)
_spread_function("std", StdBackward0)
_spread_function("var_mean", VarMeanBackward0)
_spread_function("std_mean", StdMeanBackward0)


# -- extremes -----------------------------------------------------------------------------------------


def _evenly(g, x, y):
    """`g` shared by all elements equal to the result `y`."""
    x, y = both.array_of(x), both.array_of(y)
    hits = np.isnan(x) if y != y else x == y
    count = np.count_nonzero(hits)
    if isinstance(g, Variable):
        return both.zeros(x.shape, g).masked_fill(
            wrap(np.asarray(hits)), g / wrap(np.asarray(count, np.int64))
        )
    return g / int(count) * hits.astype(x.dtype)


class MaxBackward1(Rule):
    """Largest element.

    Math: y = amax(a).   VJP: g * hit / sum(hit); hit = a == y.   The largest share g evenly.
    Shapes: any -> ().   Saves: a and the result. PyTorch: torch.max
    """

    op = "max"
    saves = ("self", "result")
    forward = np.max

    def vjp(self, g, x, y):
        return _evenly(g, x, y)


class MinBackward1(MaxBackward1):
    """Smallest element.

    Math: y = amin(a).   VJP: g * hit / sum(hit); hit = a == y.   The smallest share g evenly.
    Shapes: any -> ().   Saves: a and the result. PyTorch: torch.min
    """

    op = "min"
    forward = np.min


class Selection(Reduction):
    """A reduction along a dim that picks elements: the gradient goes back to where they were.

    Math: y0 = gather(a, dim, y1) if keepdim or ndim(a) == 0 else squeeze(gather(a, dim, unsqueeze(y1, dim)), dim).
    VJP: scatter(zeros_like(a), dim, I, G); I = y1 if keepdim or ndim(a) == 0 else unsqueeze(y1, dim); G = g0 if keepdim or
    ndim(a) == 0 else unsqueeze(g0, dim).   Only the element that was picked gets g.
    Shapes: the dim goes, or stays with size 1.   Saves: the indices. Further arguments of `forward` come after the
    shape of the operand.
    """

    plain = False
    saves = ("indices",)
    results = {"indices": 1}
    keeps = ("dim", "keepdim", "self_sym_sizes")

    def restore(self, i, t):
        return t if t._data.dtype.kind != "f" else super().restore(i, t)

    def vjp(self, gs, indices):
        dim, keepdim, shape = self.args[:3]
        index = both.array_of(indices)
        if not shape and not isinstance(gs[0], Variable):
            return gs[0]
        dim = wrap_dim(dim, len(shape))
        g = spread(gs[0], shape, dim, keepdim) if shape else gs[0]
        return both.put_along(g, index.reshape(g.shape), dim, shape)


def pick(x, dim, index, keepdim):
    """The values and indices of a selection, from the index along `dim` (with the dim kept)."""
    values = np.take_along_axis(x, index, dim)
    if not keepdim:
        values, index = values.squeeze(dim), index.squeeze(dim)
    return np.asarray(values, order="C")[()], np.asarray(index, np.int64, order="C")[()]


def _arg(fn, x, dim, keepdim):
    if not x.ndim:
        return x, np.int64(0)
    dim = wrap_dim(dim, x.ndim)
    return pick(x, dim, fn(x, axis=dim, keepdims=True), keepdim)


class MaxBackward0(Selection):
    """Largest along a dim, the first at a tie.

    Math: y0 = amax(a, dim=dim, keepdim=keepdim); y1 = argmax(a, dim=dim, keepdim=keepdim).   VJP: scatter(zeros_like(a),
    dim, I, G); I = y1 if keepdim or ndim(a) == 0 else unsqueeze(y1, dim); G = g0 if keepdim or ndim(a) == 0 else
    unsqueeze(g0, dim).   Only the element that was picked gets g.
    Shapes: the dim goes, or stays with size 1. Saves: the indices.   PyTorch: torch.max
    """

    op = "max"

    def forward(x, dim, keepdim):
        return _arg(np.argmax, x, dim, keepdim)


class MinBackward0(Selection):
    """Smallest along a dim, the first at a tie.

    Math: y0 = amin(a, dim=dim, keepdim=keepdim); y1 = argmin(a, dim=dim, keepdim=keepdim).   VJP: scatter(zeros_like(a),
    dim, I, G); I = y1 if keepdim or ndim(a) == 0 else unsqueeze(y1, dim); G = g0 if keepdim or ndim(a) == 0 else
    unsqueeze(g0, dim).   Only the element that was picked gets g.
    Shapes: the dim goes, or stays with size 1. Saves: the indices.   PyTorch: torch.min
    """

    op = "min"

    def forward(x, dim, keepdim):
        return _arg(np.argmin, x, dim, keepdim)


def not_empty(op, x, dims):
    """Raise PyTorch's error if there is nothing to choose from; `dims` is None, an int or a tuple."""
    if dims is None or dims == ():
        if x.size == 0:
            kind = IndexError if op.startswith("arg") else RuntimeError
            more = "" if op.startswith("arg") else " Specify the reduction dim with the 'dim' argument."
            raise kind(f"{op}(): Expected reduction dim to be specified for input.numel() == 0.{more}")
        return
    as_given = (dims,) if isinstance(dims, int) else dims
    for dim, given in zip(wrap_dims(dims, x.ndim), as_given, strict=False):  # a 0-d tensor has none
        if x.shape[dim] == 0:
            shown = given if op in ("amax", "amin") else dim
            raise IndexError(f"{op}(): Expected reduction dim {shown} to have non-zero size.")


def _extreme(op, whole, along, elementwise):
    def call(input, dim=None, keepdim=False, *, other=None):
        other = dim if isinstance(dim, Variable) else other
        if other is not None:
            return elementwise(input, other)
        x = input._data
        if dim is not None:
            wrap_dim(dim, x.ndim)
        not_empty(op, x, dim)
        if dim is None:
            return apply(whole, (input,))
        return getattr(return_types, op)(apply(along, (input,), dim, keepdim))

    call.__name__ = call.__qualname__ = op
    call.__doc__ = f"The {op} of all elements; along `dim`, with the indices; or of two tensors (torch.{op})."
    FUNCTIONS[op] = METHODS[op] = call


_extreme("max", MaxBackward1, MaxBackward0, MaximumBackward0.call)
_extreme("min", MinBackward1, MinBackward0, MinimumBackward0.call)


class AmaxBackward0(Reduction):
    """Largest over some dims, without indices.

    Math: y = amax(a, dim=dim, keepdim=keepdim).   VJP: spread(g, a, dim=dim) * hit / sum(hit, dim=dim, keepdim=True);
    hit = a == spread(y, a, dim=dim).   The largest share g evenly.
    Shapes: as sum.   Saves: a and the result. PyTorch: torch.amax
    """

    layout = rows
    op = "amax"
    saves = ("self", "result")
    keeps = ("dim", "keepdim")

    def forward(x, dims, keepdim):
        return np.max(x, axis=wrap_dims(dims, x.ndim), keepdims=keepdim)

    def vjp(self, g, x, y):
        return _in_shape(_share(g, x, y, *self.args), x.shape)


class AminBackward0(AmaxBackward0):
    """Smallest over some dims, without indices.

    Math: y = amin(a, dim=dim, keepdim=keepdim).   VJP: spread(g, a, dim=dim) * hit / sum(hit, dim=dim, keepdim=True);
    hit = a == spread(y, a, dim=dim).   The smallest share g evenly.
    Shapes: as sum.   Saves: a and the result. PyTorch: torch.amin
    """

    op = "amin"

    def forward(x, dims, keepdim):
        return np.min(x, axis=wrap_dims(dims, x.ndim), keepdims=keepdim)


def _in_shape(g, shape):
    """Removes the dim of size 1 that was put back for a reduced 0-d tensor."""
    return g if shape or not g.shape else g.sum()


def _share(g, x, y, dims, keepdim):
    shape = x.shape
    hits = both.array_of(x) == both.array_of(spread(y, shape, dims, keepdim))
    over = wrap_dims(dims, len(shape))
    count = hits.sum(axis=over, keepdims=True)
    if isinstance(g, Variable):
        if not keepdim:  # as in PyTorch: no dims means all, but then none is put back
            kept = [1 if d in over else n for d, n in enumerate(shape)] or [1]
            g = g.reshape(g.shape if dims is None or dims == () else kept)
        return g / wrap(np.asarray(count, np.int64)) * wrap(np.asarray(hits))
    return spread(g, shape, dims, keepdim) * (hits / count).astype(x.dtype)


@function
def amax(input, dim=(), keepdim=False):
    """The largest over `dim`, an int or a tuple; ties share the gradient (torch.amax)."""
    not_empty("amax", input._data, dim)
    return apply(AmaxBackward0, (input,), dims_given("amax", dim), keepdim)


@function
def amin(input, dim=(), keepdim=False):
    """The smallest over `dim`, an int or a tuple; ties share the gradient (torch.amin)."""
    not_empty("amin", input._data, dim)
    return apply(AminBackward0, (input,), dims_given("amin", dim), keepdim)


class AminmaxBackward0(Reduction):
    """Smallest and largest at once.

    Math: y0 = amin(a, dim=dim, keepdim=keepdim); y1 = amax(a, dim=dim, keepdim=keepdim).   VJP: spread(g0, a, dim=dim) *
    low / sum(low, dim=dim, keepdim=True) + spread(g1, a, dim=dim) * high / sum(high, dim=dim, keepdim=True); low = a
    == spread(y0, a, dim=dim); high = a == spread(y1, a, dim=dim).
    Shapes: as sum. Saves: a and both results.   PyTorch: torch.aminmax
    """

    layout = rows
    op = "aminmax"
    plain = False
    saves = ("self", "min", "max")
    results = {"min": 0, "max": 1}
    keeps = ("dim", "keepdim")

    def forward(x, dim, keepdim):
        dims = wrap_dims(dim, x.ndim)
        return np.min(x, axis=dims, keepdims=keepdim), np.max(x, axis=dims, keepdims=keepdim)

    def vjp(self, gs, x, low, high):
        parts = [_share(g, x, y, *self.args) for g, y in zip(gs, (low, high), strict=True) if g is not None]
        return _in_shape(parts[0] if len(parts) == 1 else parts[0] + parts[1], x.shape)


@function
def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the largest (torch.aminmax)."""
    shape = input._data.shape
    if dim is not None and shape and not shape[wrap_dim(dim, len(shape))]:
        raise IndexError(
            f"aminmax: Expected reduction dim {wrap_dim(dim, len(shape))} to have non-zero size."
        )
    if 0 in shape and dim is None:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    return return_types.aminmax(apply(AminmaxBackward0, (input,), dim, keepdim))


def _index_of(op, fn):
    def call(input, dim=None, keepdim=False):
        x = input._data
        if x.dtype.kind == "b":
            raise RuntimeError(f"{op}(): does not support bool input")
        if dim is not None:
            wrap_dim(dim, x.ndim)
        not_empty(op, x, dim)
        axis = None if dim is None or not x.ndim else wrap_dim(dim, x.ndim)
        return constant_result(
            (input,), np.asarray(fn(x, axis=axis, keepdims=keepdim)).astype(np.int64)[()], op
        )

    call.__name__ = call.__qualname__ = op
    call.__doc__ = f"Where the {op[3:]} is: counted through all elements, or along `dim` (torch.{op})."
    FUNCTIONS[op] = METHODS[op] = call


_index_of("argmax", np.argmax)
_index_of("argmin", np.argmin)


# -- counting and asking ------------------------------------------------------------------------------


def _ask(op, fn):
    def call(input, dim=None, keepdim=False):
        x = input._data
        none = isinstance(dim, (tuple, list)) and not dim  # here, unlike in sum, that means no dim at all
        axis = () if none else wrap_dims(dims_given(op, dim), x.ndim)
        data = np.asarray(fn(x, axis=axis, keepdims=keepdim), order="C")
        return constant_result((input,), data.astype(x.dtype if x.dtype == np.uint8 else bool)[()], op)

    call.__name__ = call.__qualname__ = op
    call.__doc__ = f"Whether {op} of the elements are true, all together or over `dim` (torch.{op})."
    FUNCTIONS[op] = METHODS[op] = call


_ask("any", np.any)
_ask("all", np.all)


@function
def count_nonzero(input, dim=None):
    """The number of nonzero elements (torch.count_nonzero)."""
    x = input._data
    count = np.count_nonzero(x, axis=wrap_dims(dims_given("count_nonzero", dim), x.ndim))
    return constant_result((input,), np.asarray(count, np.int64, order="C")[()], "count_nonzero")


# -- norms --------------------------------------------------------------------------------------------


def _norm(x, p, dims, keepdim):
    size = np.abs(x)
    if p == math.inf or p == -math.inf:
        return (np.max if p > 0 else np.min)(size, axis=dims, keepdims=keepdim)
    if p == 0:
        return (x != 0).sum(axis=dims, keepdims=keepdim).astype(x.dtype)
    if p == 1:
        return size.sum(axis=dims, keepdims=keepdim)
    if p == 2:
        return np.sqrt((x * x).sum(axis=dims, keepdims=keepdim))
    return (size**p).sum(axis=dims, keepdims=keepdim) ** x.dtype.type(1 / p)


def _norm_vjp(g, x, y, p, dims, keepdim):
    if p == 0:
        return None
    y, g = spread(y, x.shape, dims, keepdim), spread(g, x.shape, dims, keepdim)
    if p == 1:
        return both.sign(x) * g
    zero = both.array_of(y) == 0
    if p == 2:
        return g * both.filled(x / y, zero)
    if math.isinf(p):
        size = np.abs(both.array_of(x))
        hits = (size == both.array_of(y)) | np.isnan(size)
        ties = hits.sum(axis=wrap_dims(dims, len(x.shape)), keepdims=True)
        ties, hits = (both.constant(n.astype(size.dtype), g) for n in (ties, hits))
        return both.sign(x) * (g / ties * hits)
    if p < 1:
        size = both.filled(_size_to_the(p - 1, x), both.array_of(x) == 0)
        return both.sign(x) * size * g * y ** (1 - p)
    size = _size_to_the(p - 1 if p < 2 else p - 2, x)
    return (both.sign(x) if p < 2 else x) * size * both.filled(g / y ** (p - 1), zero)


def _size_to_the(exponent, x):
    """|x| ** exponent; as in PyTorch the absolute value is overwritten, which shows in the recorded steps."""
    size = both.abs_(x)
    return size.pow_(exponent) if isinstance(x, Variable) else size**exponent


class LinalgVectorNormBackward0(Reduction):
    """p-norm of a vector, or over some dims.

    Math: y = norm(a, p=ord, dim=dim, keepdim=keepdim).   VJP: nothing if ord == 0 else g_ * sign(a) if ord == 1 else
    where(y_ == 0, 0, g_ * a / y_) if ord == 2 else g_ * sign(a) * hit / sum(hit, dim=dim, keepdim=True) if abs(ord)
    == inf else where(a == 0, 0, g_ * sign(a) * abs(a) ** (ord - 1) * y_ ** (1 - ord)) if ord < 1 else where(y_ == 0,
    0, g_ * sign(a) * abs(a) ** (ord - 1) / y_ ** (ord - 1)); g_ = spread(g, a, dim=dim); y_ = spread(y, a, dim=dim); hit =
    (abs(a) == y_) or isnan(a).
    Shapes: as sum.   Saves: a and the result.   PyTorch: torch.linalg.vector_norm
    """

    layout = rows
    op = "linalg_vector_norm"
    saves = ("self", "result")
    keeps = ("ord", "dim", "keepdim")

    def forward(x, p, dims, keepdim):
        return _norm(x, p, wrap_dims(dims, x.ndim), keepdim)

    def vjp(self, g, x, y):
        return _norm_vjp(g, x, y, *self.args)


class NormBackward1(LinalgVectorNormBackward0):
    """The same norm under the name it has inside other functions.

    Math: y = norm(a, p=p, dim=dim, keepdim=keepdim).   VJP: nothing if p == 0 else g_ * sign(a) if p == 1 else
    where(y_ == 0, 0, g_ * a / y_) if p == 2 else g_ * sign(a) * hit / sum(hit, dim=dim, keepdim=True) if abs(p) ==
    inf else where(a == 0, 0, g_ * sign(a) * abs(a) ** (p - 1) * y_ ** (1 - p)) if p < 1 else where(y_ == 0, 0, g_ *
    sign(a) * abs(a) ** (p - 1) / y_ ** (p - 1)); g_ = spread(g, a, dim=dim); y_ = spread(y, a, dim=dim); hit = (abs(a) == y_)
    or isnan(a).
    PyTorch: torch.nn.functional.pairwise_distance.
    """

    op = "norm"
    keeps = ("p", "dim", "keepdim")


def vector_norm(input, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The `ord`-norm over `dim`, or of all elements (torch.linalg.vector_norm)."""
    x = input._data
    if x.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[x.dtype.name]}"
        )
    if dtype is not None and to_dtype(dtype).np.itemsize < x.dtype.itemsize:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({TYPE_NAMES[x.dtype.name]}) should be convertible without "
            f"narrowing to the specified dtype ({to_dtype(dtype).type_name})"
        )
    dims = dims_given("linalg.vector_norm", dim)
    if numerics.count(x.shape, wrap_dims(dims, x.ndim)) == 0 and (math.isinf(ord) or ord < 0):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not "
            "have an identity"
        )
    return reduce_as(LinalgVectorNormBackward0, input, dtype, ord, dims, keepdim)


@function
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm over `dim`, or of all elements; "fro" is p = 2 (torch.norm)."""
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    if p == "nuc":
        dim = tuple(range(input._data.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
        return FUNCTIONS["linalg_matrix_norm"](input, "nuc", dim, keepdim)
    return vector_norm(input, 2 if p is None or p == "fro" else p, dim, keepdim, dtype=dtype)


class DistBackward0(Rule):
    """p-norm of a difference.

    Math: y = norm(a - b, p=p).   VJP: to a: nothing if p == 0 else d; to b: nothing if p == 0 else -d; d = g * sign(a
    - b) if p == 1 else where(y == 0, 0, g * (a - b) / y) if p == 2 else g * sign(a - b) * hit / sum(hit) if abs(p)
    == inf else where(a == b, 0, g * sign(a - b) * abs(a - b) ** (p - 1) * y ** (1 - p)) if p < 1 else where(y == 0,
    0, g * sign(a - b) * abs(a - b) ** (p - 1) / y ** (p - 1)); hit = abs(a - b) == y.
    Shapes: a and b broadcast -> (). Saves: a, b and the result.   PyTorch: torch.dist
    """

    op = "dist"
    inputs = ("self", "other")
    saves = ("self", "other", "result")
    keeps = ("p",)

    def forward(a, b, p):
        return _norm(a - b, p, None, False)

    def vjp(self, g, a, b, y):
        share = _norm_vjp(g, a - b, y, self.args[0], None, False)
        to_b = None if share is None else -share
        if share is not None and isinstance(g, Variable):  # PyTorch computes it once for each operand
            share = _norm_vjp(g, a - b, y, self.args[0], None, False)
        return share, to_b


@function
def dist(input, other, p=2):
    """The p-norm of `input - other` (torch.dist)."""
    both_tensors("dist", input, other)
    no_bool_difference(input._data, other._data)
    if meet(input._data, other._data).kind != "f":
        return vector_norm(input - other, p)
    return pointwise(DistBackward0, (input, other), p)


class LogsumexpBackward0(Reduction):
    """Logarithm of a sum of exponentials, without overflow.

    Math: y = logsumexp(a, dim=dim, keepdim=keepdim).   VJP: spread(g, a, dim=dim) * exp(a - spread(y, a, dim=dim)).
    Shapes: as sum.   Saves: a and the result. PyTorch: torch.logsumexp
    """

    layout = rows
    op = "logsumexp"
    saves = ("self", "result")
    keeps = ("dim", "keepdim")

    def forward(x, dims, keepdim):
        dims = wrap_dims(dims, x.ndim)
        top = np.max(x, axis=dims, keepdims=True, initial=-np.inf)
        top = np.where(np.isinf(top), x.dtype.type(0), top)
        total = np.log(np.exp(x - top).sum(axis=dims, keepdims=keepdim))
        return total + (top if keepdim else top.reshape(total.shape))

    def vjp(self, g, x, y):
        dims, keepdim = self.args
        return spread(g, x.shape, dims, keepdim) * both.exp(x - spread(y, x.shape, dims, keepdim))


@function
def logsumexp(input, dim, keepdim=False):
    """log(sum(exp(input))) over `dim` (torch.logsumexp)."""
    if input._data.dtype.kind != "f":
        input = follow(wrap(input._data.astype(Defaults.np)), input)
    return apply(LogsumexpBackward0, (input,), dims_given("logsumexp", dim), keepdim)


# -- running reductions -------------------------------------------------------------------------------


class CumsumBackward0(Reduction):
    """Running sum.

    Math: y = cumsum(a, dim).   VJP: flip(cumsum(flip(g, dim), dim), dim).   To each element the sum of g from its place to the end.
    Shapes: unchanged.   Saves: nothing. PyTorch: torch.cumsum
    """

    layout = rows
    op = "cumsum"
    keeps = ("dim",)

    def forward(x, dim):
        dtype = x.dtype if x.dtype.kind == "f" else np.int64
        return np.cumsum(x, axis=wrap_dim(dim, x.ndim), dtype=dtype) if x.ndim else x.astype(dtype)

    def vjp(self, g):
        dim = wrap_dim(self.args[0], len(g.shape))
        still = math.prod(g.shape) <= 1 or g.shape[dim] == 1
        return g if still else both.reversed_cumsum(g, dim)


class CumprodBackward0(Reduction):
    """Running product.

    Math: y = cumprod(a, dim).   VJP: omitting_each(g, a, dim).   To a[i] the sum over k >= i of g[k] times the
    product of all a[j] up to k but a[i]; without zeros that is g * y summed from i to the end, / a[i].
    Shapes: unchanged.   Saves: a and the result.   PyTorch: torch.cumprod
    """

    layout = rows
    op = "cumprod"
    saves = ("self", "result")
    keeps = ("dim",)

    def forward(x, dim):
        dtype = x.dtype if x.dtype.kind == "f" else np.int64
        return np.cumprod(x, axis=wrap_dim(dim, x.ndim), dtype=dtype) if x.ndim else x.astype(dtype)

    def vjp(self, g, x, y):
        dim = wrap_dim(self.args[0], len(x.shape))
        if not x.shape or x.shape[dim] == 1 or 0 in x.shape:
            return g
        if (both.array_of(x) != 0).all():
            return both.reversed_cumsum(y * g, dim) / x
        if isinstance(x, Variable):
            return _omitting_each(g, x, dim)
        n = x.shape[dim]
        one = both.zeros_like(both.slice_of(y, dim, 0, 1)) + 1
        before = both.cat([one, both.slice_of(y, dim, 0, n - 1)], dim)
        return before * _tails(g, both.slice_of(x, dim, 1, n), dim)


def _omitting_each(g, x, dim):
    """The VJP of cumprod as PyTorch records it where there are zeros: to x[k] the sum over j of g[j] and the product of the rest."""
    n = x.shape[dim]
    out = both.zeros(x.shape, g)
    for k in range(n):
        products = (
            both.narrow(x, dim, 0, k).prod(dim, True) if k else both.zeros_like(both.narrow(x, dim, 0, 1)) + 1
        )
        if k < n - 1:
            after = both.narrow(x, dim, k + 1, n - 1 - k).cumprod(dim)
            products = both.cat([products, products.expand(after.shape) * after if k else after], dim)
        put(out.select(dim, k), (both.narrow(g, dim, k, n - k) * products).sum(dim))
    return out


def _tails(g, factors, dim):
    """tail[i] = g[i] + factors[i] * tail[i + 1]: the effect of a change at i on everything from i on."""
    n = g.shape[dim]
    tails = [both.slice_of(g, dim, n - 1, n)]
    for i in range(n - 2, -1, -1):
        tails.append(both.slice_of(g, dim, i, i + 1) + both.slice_of(factors, dim, i, i + 1) * tails[-1])
    return both.cat(tails[::-1], dim)


class LogcumsumexpBackward0(Reduction):
    """Running logsumexp.

    Math: y = logcumsumexp(a, dim).   VJP: later_shares(g, a, y, dim).   To a[i] the sum over k >= i of g[k] *
    exp(a[i] - y[k]).
    Shapes: unchanged.   Saves: a and the result.   PyTorch: torch.logcumsumexp
    """

    layout = rows
    op = "logcumsumexp"
    saves = ("self", "result")
    keeps = ("dim",)

    def forward(x, dim):
        dim = wrap_dim(dim, x.ndim)
        return numerics.logcumsumexp(x, dim) if x.ndim else x

    def vjp(self, g, x, y):
        dim = wrap_dim(self.args[0], len(x.shape))
        if not x.shape or 0 in x.shape:
            return g
        if any(t != "vmap" for t in THREAD.state.transforms):
            return self._linear(g, x, y, dim)
        size, sign = both.log(both.abs_(g)), both.array_of(g)
        lowest = float(np.finfo(sign.dtype).min)

        def part(held):  # the contribution of the g of one sign, summed in log space
            logs = both.flip(both.where(held, size, lowest) - y, dim)
            return both.exp(both.flip(both.run(LogcumsumexpBackward0, (logs,), dim), dim) + x)

        return part(sign > 0) - part(sign < 0)

    def _linear(self, g, x, y, dim):
        """The formula evaluated directly, every i with every k: torch.func differentiates it by g, even where g is 0."""
        shape, n = x.shape, x.shape[dim]
        beside, above = (*shape[: dim + 1], 1, *shape[dim + 1 :]), (*shape[:dim], 1, *shape[dim:])
        later = np.triu(np.ones((n, n), bool)).reshape(n, n, *[1] * (len(shape) - dim - 1))
        shares = both.exp(both.where(later, x.reshape(beside) - y.reshape(above), -math.inf))
        return both.sum_over(g.reshape(above) * shares, (dim + 1,))

    def tangent(x, v, dim):
        if not x._data.size or not x._data.ndim:
            return v
        powers = (x - METHODS["amax"](x, dim, True)).exp()
        return (powers * v).cumsum(dim) / (powers.cumsum(dim) + 1e-13)  # PyTorch's formula, against 0 / 0


def _running(op, rule):
    def call(input, dim, *, dtype=None):
        wrap_dim(dim, input._data.ndim)
        if dtype is not None and to_dtype(dtype).np.kind == "b":
            raise not_for(to_dtype(dtype).np, f"{op}_out_cpu")
        return reduce_as(rule, input, dtype, dim)

    call.__name__ = call.__qualname__ = op
    call.__doc__ = rule.__doc__
    FUNCTIONS[op] = METHODS[op] = call


_running("cumsum", CumsumBackward0)
_running("cumprod", CumprodBackward0)


def _running_inplace(op, rule):
    def call(self, dim, *, dtype=None):
        if dtype is not None and to_dtype(dtype).np != self._data.dtype:
            own, other = (TYPE_NAMES[d.name].lower() for d in (self._data.dtype, to_dtype(dtype).np))
            raise RuntimeError(
                f"Bad in-place call: input tensor dtype {own} and output tensor dtype {other} should match"
            )
        return apply_inplace(rule, (self,), dim)

    call.__name__ = call.__qualname__ = op
    call.__doc__ = f"The in-place form of `{op.rstrip('_')}`."
    METHODS[op] = call


_running_inplace("cumsum_", CumsumBackward0)
_running_inplace("cumprod_", CumprodBackward0)


@function
def logcumsumexp(input, dim):
    """The running log(sum(exp(input))) along `dim` (torch.logcumsumexp)."""
    floats_only(input._data, "logcumsumexp_out_cpu")
    return apply(LogcumsumexpBackward0, (input,), dim)


class CummaxBackward0(Selection):
    """Running maximum, the latest at a tie.

    Math: y0 = cummax(a, dim).   VJP: scatter_add(zeros_like(a), dim, y1, g0).   Each g goes where its maximum came
    from.
    Shapes: unchanged. Saves: a and the indices.   PyTorch: torch.cummax
    """

    layout = rows
    op = "cummax"
    saves = ("self", "indices")
    keeps = ("dim",)

    def forward(x, dim):
        return _running_extreme(x, dim, np.maximum, np.greater_equal)

    def vjp(self, gs, x, indices):
        if not x.shape and not isinstance(gs[0], Variable):
            return gs[0]
        return both.add_along(gs[0], both.array_of(indices), wrap_dim(self.args[0], len(x.shape)), x.shape)


class CumminBackward0(CummaxBackward0):
    """Running minimum, the latest at a tie.

    Math: y0 = cummin(a, dim).   VJP: scatter_add(zeros_like(a), dim, y1, g0).   Each g goes where its minimum came
    from.
    Shapes: unchanged. Saves: a and the indices.   PyTorch: torch.cummin
    """

    op = "cummin"

    def forward(x, dim):
        return _running_extreme(x, dim, np.minimum, np.less_equal)


def _running_extreme(x, dim, fn, reaches):
    if not x.ndim:
        return x, np.int64(0)
    dim = wrap_dim(dim, x.ndim)
    values = fn.accumulate(x, axis=dim)
    hits = reaches(x, values)
    if x.dtype.kind == "f":
        hits |= np.isnan(x)
    places = np.arange(x.shape[dim]).reshape([-1 if i == dim else 1 for i in range(x.ndim)])
    return values, np.maximum.accumulate(np.where(hits, places, 0), axis=dim).astype(np.int64)


def _check_running(op, input, dim):
    if not input._data.ndim and dim not in (-1, 0):
        raise IndexError(f"{op}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
    wrap_dim(dim, input._data.ndim)


@function
def cummax(input, dim):
    """The running maximum along `dim`, and where it is (torch.cummax)."""
    _check_running("cummax", input, dim)
    return return_types.cummax(apply(CummaxBackward0, (input,), dim))


@function
def cummin(input, dim):
    """The running minimum along `dim`, and where it is (torch.cummin)."""
    _check_running("cummin", input, dim)
    return return_types.cummin(apply(CumminBackward0, (input,), dim))


def _check_joins(shape, other, dim):
    if len(other) != len(shape):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (n, m) in enumerate(zip(shape, other, strict=True)):
        if i != dim and n != m:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                f"dimension; input.size({i}) = {n}, but got tensor.size({i}) = {m}"
            )


@function
def diff(input, n=1, dim=-1, prepend=None, append=None):
    """The differences of neighbors along `dim`, applied n times (torch.diff)."""
    if not input._data.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    where = wrap_dim(dim, input._data.ndim)
    for t in (prepend, append):
        if t is not None:
            _check_joins(input._data.shape, t._data.shape, where)
    if n == 0:
        return follow(wrap(np.zeros_like(input._data)), input).copy_(input)
    parts = [t for t in (prepend, input, append) if t is not None]
    out = both.cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, out._data.shape[where])):
        size = out._data.shape[where]
        earlier, later = out.narrow(dim, 0, size - 1), out.narrow(dim, 1, size - 1)
        out = METHODS["logical_xor"](later, earlier) if out._data.dtype.kind == "b" else later - earlier
    return out


# -- softmax ------------------------------------------------------------------------------------------


class SoftmaxBackward0(Rule):
    """Exponentials that add up to 1.

    Math: y = exp(a) / sum(exp(a), dim=dim, keepdim=True).   VJP: y * (g - sum(g * y, dim=dim, keepdim=True)).
    Shapes: unchanged. Saves: the result.   PyTorch: torch.softmax
    """

    layout = rows
    op = "_softmax"
    saves = ("result",)
    keeps = ("dim",)

    def forward(x, dim):
        if not x.size:
            return x.copy()
        dim = dim if x.ndim else None
        e = np.exp(x - np.maximum.reduce(x, axis=dim, keepdims=True))
        return e / np.add.reduce(e, axis=dim, keepdims=True)

    def vjp(self, g, y):
        return both.run(SoftmaxBackwardDataBackward0, (g, y), *self.args)


class SafeSoftmaxBackward0(SoftmaxBackward0):
    """Softmax that gives zeros, not nan, where everything along the dim is -inf: a query that may attend to nothing.

    Math: y = where(s == 0, 0, e / s); e = exp(a); s = sum(e, dim=dim, keepdim=True).   VJP: y * (g - sum(g * y,
    dim=dim, keepdim=True)).
    Shapes: unchanged.   Saves: the result. PyTorch: torch._safe_softmax
    """

    op = "_safe_softmax"
    keeps = ("dim",)
    saves = ("result",)

    def forward(x, dim):
        if not x.size:
            return x.copy()
        dim = dim if x.ndim else None
        top = np.maximum.reduce(x, axis=dim, keepdims=True)
        e = np.exp(x - np.where(np.isinf(top), 0, top).astype(x.dtype))
        total = np.add.reduce(e, axis=dim, keepdims=True)
        return e / np.where(total == 0, 1, total).astype(x.dtype)


class SoftmaxBackwardDataBackward0(Rule):
    """The VJP of softmax as an operation: h = y * (g - sum of g * y).

    Math: y = b * (a - sum(a * b, dim=dim, keepdim=True)).   VJP: to a: b * (g - sum(g * b, dim=dim, keepdim=True));
    to b: g * a - g * sum(a * b, dim=dim, keepdim=True) - a * sum(g * b, dim=dim, keepdim=True).
    Shapes: unchanged. Saves: g, y.
    """

    op = "_softmax_backward_data"
    inputs = saves = ("grad_output", "output")
    keeps = ("dim",)

    def forward(g, y, dim):
        gy = g * y
        return gy - y * np.add.reduce(gy, axis=dim if g.ndim else None, keepdims=True)

    def vjp(self, gg, g, y):
        to_g = both.run(type(self), (gg, y), *self.args)
        return to_g, g * gg - _sum_along(y * g, *self.args) * gg - g * _sum_along(y * gg, *self.args)


class LogSoftmaxBackward0(Rule):
    """Logarithm of the softmax.

    Math: y = a - log(sum(exp(a), dim=dim, keepdim=True)).   VJP: g - exp(y) * sum(g, dim=dim, keepdim=True).
    Shapes: unchanged. Saves: the result.   PyTorch: torch.log_softmax
    """

    layout = rows
    op = "_log_softmax"
    saves = ("result",)
    keeps = ("dim",)

    def forward(x, dim):
        if not x.size:
            return x.copy()
        return numerics.log_softmax(x, dim if x.ndim else None)

    def vjp(self, g, y):
        return both.run(LogSoftmaxBackwardDataBackward0, (g, y), *self.args)


class LogSoftmaxBackwardDataBackward0(Rule):
    """The VJP of log_softmax as an operation: h = g - exp(y) * sum of g.

    Math: y = a - exp(b) * sum(a, dim=dim, keepdim=True).   VJP: to a: g - sum(g * exp(b), dim=dim, keepdim=True); to
    b: -g * exp(b) * sum(a, dim=dim, keepdim=True).
    Shapes: unchanged.   Saves: g, y.
    """

    op = "_log_softmax_backward_data"
    inputs = saves = ("grad_output", "output")
    keeps = ("dim",)

    forward = numerics.log_softmax_backward

    def vjp(self, gg, g, y):
        share = both.exp(y)
        to_y = -_sum_along(g, *self.args) * share * gg
        return gg - _sum_along(gg * share, *self.args), to_y


def _sum_along(x, dim):
    """The sum along `dim`, with the dim kept; a number stays unchanged."""
    return both.sum_over(x, (dim,), True) if x.shape or isinstance(x, Variable) else x


def _softmax_function(op, rule):
    def call(input, dim, dtype=None):
        if dtype is not None and to_dtype(dtype).np != input._data.dtype:
            input = input.to(to_dtype(dtype))
        x = input._data
        dim_of_all = wrap_dim(dim, x.ndim)
        if x.dtype.kind != "f":
            last = dim_of_all == max(x.ndim, 1) - 1
            raise not_for(x.dtype, f"{op}_lastdim_kernel_impl" if last else f"{op}_kernel_impl")
        return apply_laid_out(rule, (input,), (dim,))

    call.__name__ = call.__qualname__ = op
    call.__doc__ = rule.__doc__
    FUNCTIONS[op] = METHODS[op] = call
    return call


softmax = _softmax_function("softmax", SoftmaxBackward0)
log_softmax = _softmax_function("log_softmax", LogSoftmaxBackward0)

take_numpy_words(__name__)
