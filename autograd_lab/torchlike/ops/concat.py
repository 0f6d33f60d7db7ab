"""Joins (cat, stack, meshgrid, ...) and rearranged copies (repeat, flip, roll, tril, ...).

All of them copy. The VJP of a join splits the gradient again; that of a rearrangement restores the order.
"""

import functools
import itertools

import numpy as np

from ..autograd.errors import not_for
from ..autograd.metadata import summed
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import Variable, wrap
from ..creation import follow
from ..dtypes import Defaults, as_places, promote_np
from ..layout import channels, contiguous_format, like, rows
from ..world.warning import warn_once
from . import array_or_tensor as both
from .rule import FUNCTIONS, METHODS, function, method
from .shapes import (
    ShapeRule,
    at,
    cast,
    dim_of,
    dims_of,
    expand,
    flatten,
    piece,
    reshape,
    sizes_of,
    unsqueeze,
    view,
)

# -- joins --------------------------------------------------------------------------------------------


def promoted(arrays):
    """Some arrays, promoted to their common type."""
    common = functools.reduce(promote_np, [x.dtype for x in arrays])
    return [x.astype(common, copy=False) for x in arrays]


class CatBackward0(ShapeRule):
    """Tensors joined along a dim.

    Math: y = cat(operands, dim).   VJP: to each: zeros_like(a) if shape(a) == (0,) else narrow(g, dim,
    before(operands, k, dim), size(a, dim)).   Each gets the piece of g it became.
    Shapes: (2, 3), (4, 3) -> (6, 3) for dim 0. Saves: nothing.   PyTorch: torch.cat
    """

    inputs = ("tensors",)
    keeps = ("dim",)
    widens = False  # nothing is computed

    def forward(*arrays):
        *arrays, dim, operands = arrays
        first = arrays[0].dtype
        if any([x.dtype is not first for x in arrays]):
            arrays = promoted(arrays)
        if any([shape == (0,) for shape, _ in operands]):
            arrays = [x for x in arrays if x.shape != (0,)] or arrays[:1]
        return channels(np.concatenate(arrays, dim), *arrays)

    def vjp(self, g):
        dim, operands = self.args
        grads, start = [], 0
        for shape, dtype in operands:
            if shape == (0,):
                grads.append(both.zeros(shape, g))
                continue
            n = shape[dim]
            grads.append(cast(piece(g, dim, start, n), dtype))
            start += n
        return tuple(grads)


class StackBackward0(ShapeRule):
    """Tensors of one shape joined along a new dim.

    Math: y = stack(operands, dim).   VJP: to each: select(g, dim, k).
    Shapes: (2, 3), (2, 3) -> (2, 2, 3). Saves: nothing.   PyTorch: torch.stack
    """

    inputs = ("tensors",)
    keeps = ("dim",)
    widens = False  # nothing is computed

    def forward(*arrays):
        *arrays, dim, _ = arrays
        return np.asarray(np.stack(promoted(arrays), dim), order="C")

    def vjp(self, g):
        dim, dtypes = self.args
        if isinstance(g, Variable):
            return tuple([cast(g.select(dim, k), d) if self.needs(k) else None for k, d in enumerate(dtypes)])
        return tuple([g[at(g.ndim, dim, k)].astype(d, copy=False) for k, d in enumerate(dtypes)])


def _tensors(tensors, name):
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for k, t in enumerate(tensors):
        if not isinstance(t, Variable):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type(t).__name__}")
    if not tensors and name.endswith("stack") and name != "stack":
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tuple(tensors)


@function(method=False)
def cat(tensors, dim=0, *, axis=None):
    """Tensors joined along an existing dim (torch.cat)."""
    tensors = _tensors(tensors, "cat")
    dim = dim if axis is None else axis
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    shapes = [t._data.shape for t in tensors]
    first = None
    for k, shape in enumerate(shapes):
        if not shape:
            raise RuntimeError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
        if shape == (0,):
            continue
        if first is None:
            first, d = shape, dim_of(dim, len(shape))
        elif len(shape) != len(first):
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}"
            )
        elif shape[:d] != first[:d] or shape[d + 1 :] != first[d + 1 :]:
            i = next(i for i, (a, b) in enumerate(zip(first, shape, strict=True)) if a != b and i != d)
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {d}. Expected size {first[i]} but got "
                f"size {shape[i]} for tensor number {k} in the list."
            )
    if first is None:
        dim = 0  # tensors of size (0,) can be joined along any dim
    return apply(CatBackward0, tensors, dim, tuple([(t._data.shape, t._data.dtype) for t in tensors]))


FUNCTIONS["concat"] = FUNCTIONS["concatenate"] = cat


@function(method=False)
def stack(tensors, dim=0):
    """Tensors of one shape joined along a new dim (torch.stack)."""
    tensors = _tensors(tensors, "stack")
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]._data.shape
    dim_of(dim, len(first) + 1)
    for k, t in enumerate(tensors):
        if t._data.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and "
                f"{list(t._data.shape)} at entry {k}"
            )
    return apply(StackBackward0, tensors, dim, tuple([t._data.dtype for t in tensors]))


def _each(fn, tensors):
    if len(tensors) == 1:
        return tuple([fn(t) for t in tensors[0]]) if isinstance(tensors[0], (tuple, list)) else fn(tensors[0])
    return tuple([fn(t) for t in tensors])


@function(method=False)
def atleast_1d(*tensors):
    """With at least one dim (torch.atleast_1d)."""
    return _each(lambda t: t if t._data.ndim else reshape(t, 1), tensors)


@function(method=False)
def atleast_2d(*tensors):
    """With at least two dims (torch.atleast_2d)."""

    def raised(t):
        n = t._data.ndim
        return reshape(t, 1, 1) if n == 0 else unsqueeze(t, 0) if n == 1 else t

    return _each(raised, tensors)


@function(method=False)
def atleast_3d(*tensors):
    """With at least three dims (torch.atleast_3d)."""

    def raised(t):
        n = t._data.ndim
        if n == 0:
            return reshape(t, 1, 1, 1)
        return unsqueeze(unsqueeze(t, 0), -1) if n == 1 else unsqueeze(t, -1) if n == 2 else t

    return _each(raised, tensors)


@function(method=False)
def hstack(tensors):
    """Joined side by side: along dim 1, or dim 0 for vectors (torch.hstack)."""
    tensors = atleast_1d(_tensors(tensors, "hstack"))
    return cat(tensors, 0 if tensors and tensors[0]._data.ndim == 1 else 1)


@function(method=False)
def vstack(tensors):
    """Joined one below the other (torch.vstack)."""
    return cat(atleast_2d(_tensors(tensors, "vstack")), 0)


@function(method=False)
def dstack(tensors):
    """Joined along the third dim (torch.dstack)."""
    return cat(atleast_3d(_tensors(tensors, "dstack")), 2)


@function(method=False)
def column_stack(tensors):
    """Vectors as the columns of a matrix (torch.column_stack)."""
    tensors = _tensors(tensors, "column_stack")
    return hstack([reshape(t, t._data.size, 1) if t._data.ndim <= 1 else t for t in tensors])


FUNCTIONS["row_stack"] = vstack


class BlockDiagBackward0(ShapeRule):
    """Matrices along the diagonal of a matrix of zeros.

    Math: y = block_diag(operands).   VJP: to each: block(g, operands, k).
    Shapes: (2, 3), (1, 4) -> (3, 7).   Saves: nothing. PyTorch: torch.block_diag
    """

    inputs = ("tensors",)
    widens = False  # nothing is computed

    def forward(*arrays):
        *arrays, shapes, _ = arrays
        sizes = [_matrix_size(s) for s in shapes]
        kind = promoted(arrays)[0].dtype
        whole = np.zeros((sum(n for n, _ in sizes), sum(m for _, m in sizes)), kind)
        i = j = 0
        for x, (n, m) in zip(arrays, sizes, strict=True):
            whole[i : i + n, j : j + m] = x
            i, j = i + n, j + m
        return whole

    def vjp(self, g):
        grads = []
        i = j = 0
        for shape, dtype in zip(*self.args, strict=True):
            n, m = _matrix_size(shape)
            block = cast(piece(piece(g, 0, i, n), 1, j, m), dtype)
            if isinstance(block, Variable):
                for _ in range(0 if THREAD.state.calling else 2 - len(shape)):
                    block = block.squeeze(-1)
                grads.append(summed(block, shape))
            else:
                grads.append(block.reshape(shape))
            i, j = i + n, j + m
        return tuple(grads)


def _matrix_size(shape):
    return shape if len(shape) == 2 else (1, shape[0] if shape else 1)


@function(method=False)
def block_diag(*tensors):
    """Matrices along the diagonal of a matrix of zeros; vectors count as one row (torch.block_diag)."""
    if not tensors:
        return wrap(np.empty((1, 0), Defaults.np))
    for k, t in enumerate(tensors):
        if t._data.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has "
                f"{t._data.ndim} dimensions"
            )
    shapes, kinds = zip(*[(t._data.shape, t._data.dtype) for t in tensors], strict=True)
    return apply(BlockDiagBackward0, tensors, shapes, kinds)


@function(method=False)
def meshgrid(*tensors, indexing=None):
    """The grid of coordinates of several vectors, as expanded views (torch.meshgrid)."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
        )
        indexing = "ij"
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t._data.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
        if t._data.dtype != tensors[0]._data.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = [tensors[k]._data.size for k in order]
    return tuple(
        [
            expand(view(t, [-1 if order[i] == k else 1 for i in range(len(shape))]), shape)
            for k, t in enumerate(tensors)
        ]
    )


@function(method=False)
def cartesian_prod(*tensors):
    """All combinations of the entries of several vectors, one a row (torch.cartesian_prod)."""
    for t in tensors:
        if t._data.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(g) for g in meshgrid(*tensors, indexing="ij")], 1)


@function
def combinations(input, r=2, with_replacement=False):
    """All choices of r entries of a vector, one a row (torch.combinations)."""
    if input._data.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input._data.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return wrap(np.empty(0, input._data.dtype))
    n = input._data.size
    places = np.indices((n,) * r)
    mask = np.ones((n,) * r, bool)
    for a, b in itertools.pairwise(places):
        mask &= a <= b if with_replacement else a < b
    return stack([METHODS["masked_select"](g, wrap(mask)) for g in meshgrid(*[input] * r, indexing="ij")], 1)


# -- rearranged copies --------------------------------------------------------------------------------


class RepeatBackward0(ShapeRule):
    """Copies side by side along each dim.

    Math: y = repeat(a, repeats).   VJP: copies_summed(g, shape(a)).
    Shapes: (2, 3) -> (4, 3) for repeats (2, 1). Saves: nothing.   PyTorch: torch.Tensor.repeat, torch.tile
    """

    keeps = ("repeats", "self_sym_sizes")

    def forward(x, repeats):
        return np.tile(x, repeats)

    def vjp(self, g):
        repeats, shape = self.args
        if 0 in repeats:
            return both.zeros(shape, g)
        lead = len(repeats) - len(shape)
        for _ in range(lead):
            g = g.sum(0)
        split, summed = [], []
        for r, n in zip(repeats[lead:], shape, strict=True):
            if r != 1:
                summed.append(len(split))
                split.append(r)
            split.append(n)
        return both.sum_over(g.reshape(split), tuple(summed)) if summed else g


@method
def repeat(self, *repeats, **named):
    """Copies side by side, `repeats` times along each dim (torch.Tensor.repeat)."""
    repeats = sizes_of(repeats or (named["repeats"],), "repeats")
    shape = self._data.shape
    if len(repeats) < len(shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    if any(r < 0 for r in repeats):
        full = (1,) * (len(repeats) - len(shape)) + shape
        sizes = [r * n for r, n in zip(repeats, full, strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(sizes)}: {sizes}")
    return apply(RepeatBackward0, (self,), repeats)


@function
def tile(input, *dims, **named):
    """Like repeat, but missing repeats count as one (torch.tile)."""
    if not dims and not named:
        raise TypeError('tile() missing 1 required positional arguments: "dims"')
    dims = sizes_of(dims or (named["dims"],), "dims")
    return repeat(input, (1,) * (input._data.ndim - len(dims)) + dims)


@function
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each entry repeated in its place; of one tensor alone, each number k as often as it says (torch.repeat_interleave)."""
    if repeats is None:
        if input._data.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return follow(wrap(_repeated_places(input._data)), input)
    if dim is None:
        input, dim = view(METHODS["contiguous"](input), -1), 0
    d = dim_of(dim, input._data.ndim)
    if isinstance(repeats, Variable) and repeats._data.size == 1:
        repeats = repeats.item()
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        shape = input._data.shape
        if output_size is not None and output_size != repeats * shape[d]:
            raise RuntimeError(
                f"repeat_interleave: Invalid output_size, expected {repeats * shape[d]} but got {output_size}"
            )
        wide = expand(unsqueeze(input, d + 1), (*shape[: d + 1], repeats, *shape[d + 1 :]))
        return flatten(METHODS["clone"](wide, memory_format=contiguous_format), d, d + 1)
    n = input._data.shape[d]
    if repeats._data.shape != (n,):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._data.size} and input.size({d}) = {n}"
        )
    places = _repeated_places(repeats._data)
    if output_size is not None and output_size != len(places):
        raise RuntimeError("allocated size does not match required size")
    return METHODS["index_select"](input, dim, follow(wrap(places), repeats))


def _repeated_places(repeats):
    """0, 1, 2, ..., each as often as `repeats` says."""
    if repeats.dtype not in (np.int64, np.int32):
        raise not_for(repeats.dtype, "repeat_interleave_cpu")
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    return np.repeat(np.arange(len(repeats), dtype=np.int64), as_places(repeats))


class FlipBackward0(ShapeRule):
    """Some dims in reverse order.

    Math: y = flip(a, dims).   VJP: flip(g, dims).   Shapes: the same.   Saves: nothing.   PyTorch: torch.flip
    """

    layout = like
    keeps = ("dims",)

    def forward(x, dims):
        return np.flip(x, dims).copy() if x.ndim else x.copy()

    def vjp(self, g):
        dims = self.args[0]
        return g.flip(dims) if isinstance(g, Variable) else FlipBackward0.forward(g, dims)


@function
def flip(input, *dims, **named):
    """Some dims in reverse order, as a copy (torch.flip)."""
    dims = sizes_of(dims or (named["dims"],), "dims")
    seen = set()
    for d in dims_of(dims, input._data.ndim):
        if d in seen:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        seen.add(d)
    return apply(FlipBackward0, (input,), dims)


@function
def fliplr(input):
    """Dim 1 in reverse order (torch.fliplr)."""
    if input._data.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@function
def flipud(input):
    """Dim 0 in reverse order (torch.flipud)."""
    if input._data.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


class RollBackward0(ShapeRule):
    """Entries shifted along some dims, those that fall off coming in at the other end.

    Math: y = roll(a, shifts, dims).   VJP: roll(g, negative(shifts), dims).
    Shapes: the same.   Saves: nothing. PyTorch: torch.roll
    """

    layout = channels
    keeps = ("shifts", "dims")

    def forward(x, shifts, dims):
        return np.roll(x, shifts, dims) if dims else np.roll(x, shifts[0])

    def vjp(self, g):
        shifts, dims = self.args
        back = tuple([-s for s in shifts])
        return g.roll(back, dims) if isinstance(g, Variable) else RollBackward0.forward(g, back, dims)


@function
def roll(input, shifts, dims=()):
    """Entries shifted along `dims`, or through the flattened tensor (torch.roll)."""
    shifts = sizes_of((shifts,), "shifts")
    dims = () if dims is None else dims
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and (dims or len(shifts) > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    dims_of(dims, input._data.ndim)
    if dims and not input._data.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return apply(RollBackward0, (input,), shifts, dims)


class Rot90Backward0(ShapeRule):
    """A plane turned by k right angles.

    Math: y = rot90(a, k, dims).   VJP: rot90(g, -k, dims).
    Shapes: (2, 3) -> (3, 2) for odd k. Saves: nothing. PyTorch: torch.rot90
    """

    keeps = ("k", "dims")

    def forward(x, k, dims):
        a, b = dims
        if k % 4 == 1:
            return np.flip(x, b).copy().swapaxes(a, b)
        if k % 4 == 3:
            return np.flip(x, a).copy().swapaxes(a, b)
        return (np.flip(x, dims) if k % 4 else x).copy()

    def vjp(self, g):
        k, dims = self.args
        return g.rot90(-k, dims) if isinstance(g, Variable) else Rot90Backward0.forward(g, -k, dims)


@function
def rot90(input, k=1, dims=(0, 1)):
    """A plane turned by k right angles, from dims[0] towards dims[1] (torch.rot90)."""
    n = input._data.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if n < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {n}")
    a, b = dims_of(tuple(dims), n)
    if a == b:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return apply(Rot90Backward0, (input,), k, tuple(dims))


class TrilBackward0(ShapeRule):
    """The lower triangle of a matrix, zero above.

    Math: y = tril(a, diagonal).   VJP: tril(g, diagonal).   Shapes: (..., n, m). Saves: nothing. PyTorch: torch.tril
    """

    layout = rows
    op = "tril"
    keeps = ("diagonal",)

    def forward(x, diagonal):
        return np.tril(x, diagonal)

    def vjp(self, g):
        k = self.args[0]
        return g.tril(k) if isinstance(g, Variable) else np.tril(g, k)


class TriuBackward0(ShapeRule):
    """The upper triangle of a matrix, zero below.

    Math: y = triu(a, diagonal).   VJP: triu(g, diagonal).   Shapes: (..., n, m). Saves: nothing. PyTorch: torch.triu
    """

    layout = rows
    op = "triu"
    keeps = ("diagonal",)

    def forward(x, diagonal):
        return np.triu(x, diagonal)

    def vjp(self, g):
        k = self.args[0]
        return g.triu(k) if isinstance(g, Variable) else np.triu(g, k)


def _triangle(rule, name):
    def check(t):
        if t._data.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")

    def fn(input, diagonal=0):
        check(input)
        return apply(rule, (input,), diagonal)

    def in_place(self, diagonal=0):
        check(self)
        return apply_inplace(rule, (self,), diagonal)

    fn.__name__, in_place.__name__ = name, name + "_"
    fn.__doc__ = rule.__doc__
    in_place.__doc__ = f"The in-place form of `{name}`."
    method(in_place)
    return function(fn)


tril, triu = _triangle(TrilBackward0, "tril"), _triangle(TriuBackward0, "triu")
