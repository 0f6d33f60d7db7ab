"""Parts of a tensor as views: select, slices, split, unbind, diagonals, windows, any elements by strides.

A part computes nothing: it is the same memory with another start, shape and strides. Its VJP puts the gradient
back where the elements came from, and zeros elsewhere.
"""

import itertools
import operator

import numpy as np

from ...core.rules.views import SelectBackward0, SliceBackward0
from ..autograd.batch import start_of
from ..autograd.memory import geometry, put, seen, span
from ..autograd.modes import WATCHERS
from ..autograd.record import apply, apply_view, apply_views
from ..autograd.variable import Variable
from ..autograd.views import MULTI_OUTPUT, AsStridedBackward0
from . import array_or_tensor as both
from .rule import FUNCTIONS, METHODS, function, method
from .shapes import (
    ShapeRule,
    at,
    dim_of,
    joined,
    offset_of,
    placed,
    reshape,
    reshape_in_place,
    sizes_of,
    storage_of,
    strided,
)


class SelectBackwardBackward0(ShapeRule):
    """The backward of select as an operation: a tensor put into zeros.

    Math: y = select_scatter(zeros(shape), a, dim=dim, index=index).   VJP: select(g, dim=dim, index=index).
    Shapes: (2, 4) -> (2, 3, 4).   Saves: nothing. PyTorch: select_backward
    """

    keeps = ("dim", "index")

    def forward(x, dim, index, shape):
        return placed(x, shape, at(len(shape), dim, index))

    def vjp(self, g):
        dim, index, shape = self.args
        return g.select(dim, index) if isinstance(g, Variable) else g[at(len(shape), dim, index)]


class SliceBackwardBackward0(ShapeRule):
    """The backward of a slice as an operation: a tensor put into zeros.

    Math: y = slice_scatter(zeros(shape), a, dim=dim, start=start, end=end, step=step).   VJP: slice(g, dim=dim, start=start, end=end, step=step).
    Shapes: (2, 2) -> (2, 3).   Saves: nothing. PyTorch: slice_backward
    """

    keeps = ("dim", "start", "end", "step")

    def forward(x, dim, start, end, step, shape):
        return placed(x, shape, at(len(shape), dim, slice(start, end, step)))

    def vjp(self, g):
        dim, start, end, step, shape = self.args
        if isinstance(g, Variable):
            return take_slice(g, dim, start, end, step)
        return g[at(len(shape), dim, slice(start, end, step))]


class AliasBackward0(ShapeRule):
    """An alias of the tensor, as x[...] returns it.

    Math: y = a.   VJP: g.   Shapes: the same.   Saves: nothing.   PyTorch: alias
    """

    def vjp(self, g):
        return g


def take_slice(input, dim, start, end, step=1):
    """input[.., start:end:step, ..] as a recorded view."""
    x = input._array()
    return apply_view(
        SliceBackward0, input, x[at(x.ndim, dim, slice(start, end, step))], dim, start, end, step
    )


@function
def select(input, dim, index):
    """One entry along `dim`, as a view without that dim (torch.select)."""
    x = input._array()
    if not x.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = dim_of(dim, x.ndim)
    index = operator.index(index)
    if not -x.shape[d] <= index < x.shape[d]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(x.shape)} at dimension {dim}"
        )
    return apply_view(SelectBackward0, input, x[at(x.ndim, d, index)], dim, index)


@function
def narrow(input, dim, start, length):
    """`length` entries along `dim`, from `start` on, as a view (torch.narrow)."""
    x = input._data
    if not x.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    n = x.shape[dim_of(dim, x.ndim)]
    if isinstance(start, Variable) and (start._data.ndim or start._data.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start = operator.index(start)
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return take_slice(input, dim, start, start + length)


class UnbindBackward0(ShapeRule):
    """All entries along a dim, as a tuple.

    Math: yk = unbind(a, dim=dim)[k].   VJP: stack(gs, dim=dim).   A part whose gradient did not arrive counts as zero.
    Shapes: (2, 3) -> two of (3,). Saves: nothing.   PyTorch: torch.unbind, iteration
    """

    plain = False
    keeps = ("dim",)

    def vjp(self, gs):
        some = next(g for g in gs if g is not None)
        gs = [both.zeros(some.shape, some) if g is None else g for g in gs]
        return (
            FUNCTIONS["stack"](gs, self.args[0]) if isinstance(some, Variable) else np.stack(gs, self.args[0])
        )


class SplitBackward0(ShapeRule):
    """A dim cut into pieces of equal length, as a tuple.

    Math: yk = split(a, split_size, dim=dim)[k].   VJP: cat(gs, dim=dim).   A part whose gradient did not arrive counts as
    zero.
    Shapes: (5, 3) -> (2, 3), (2, 3), (1, 3). Saves: nothing.   PyTorch: torch.split, torch.chunk
    """

    plain = False
    keeps = ("split_size", "dim", "self_sym_sizes")

    def vjp(self, gs):
        size, dim, shape = self.args
        n = shape[dim]
        sizes = [min(size, n - k * size) for k in range(len(gs))]
        return _rejoined(gs, sizes, dim, shape)


class UnsafeSplitBackward0(SplitBackward0):
    """A dim cut into pieces of equal length, which are not views: each may be written in place.

    Math, VJP, Shapes: as split.   Saves: nothing.   PyTorch: torch.unsafe_split, torch.unsafe_chunk
    """

    op = "unsafe_split"
    plain = False
    keeps = ("split_size", "dim", "self_sym_sizes")

    def forward(x, size, dim):
        d = dim % x.ndim
        return tuple([x[at(x.ndim, d, slice(k, k + size))].copy() for k in range(0, x.shape[d], size)])


class SplitWithSizesBackward0(ShapeRule):
    """A dim cut into pieces of given lengths, as a tuple.

    Math: yk = split(a, split_sizes, dim=dim)[k].   VJP: cat(gs, dim=dim).   A part whose gradient did not arrive counts as
    zero.
    Shapes: (5,) -> (1,), (4,). Saves: nothing.   PyTorch: torch.split, torch.split_with_sizes
    """

    plain = False
    keeps = ("split_sizes", "dim", "self_sym_sizes")

    def vjp(self, gs):
        sizes, dim, shape = self.args
        return _rejoined(gs, sizes, dim, shape)


class UnsafeSplitWithSizesBackward0(SplitWithSizesBackward0):
    """A dim cut into pieces of given lengths, which are not views: each may be written in place.

    Math: yk = split(a, split_sizes, dim=dim)[k].   VJP: cat(gs, dim=dim).

    Math, VJP, Shapes: as split_with_sizes.   Saves: nothing.   PyTorch: torch.unsafe_split_with_sizes
    """

    op = "unsafe_split_with_sizes"
    plain = False
    keeps = SplitWithSizesBackward0.keeps

    def forward(x, sizes, dim):
        ends = np.cumsum(sizes).tolist()
        return tuple(
            [
                x[at(x.ndim, dim % x.ndim, slice(end - n, end))].copy()
                for n, end in zip(sizes, ends, strict=True)
            ]
        )


def _rejoined(gs, sizes, dim, shape):
    some = next(g for g in gs if g is not None)
    d = dim % len(shape)
    parts = [
        both.zeros((*shape[:d], n, *shape[d + 1 :]), some) if g is None else g
        for g, n in zip(gs, sizes, strict=True)
    ]
    return joined(parts, dim)


@function
def unbind(input, dim=0):
    """The entries along `dim` as a tuple of views (torch.unbind)."""
    x = input._array()
    d = dim_of(dim, x.ndim)
    if not x.ndim:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    return apply_views(
        UnbindBackward0, input, [x[at(x.ndim, d, k)] for k in range(x.shape[d])], MULTI_OUTPUT, dim
    )


def _pieces(rule, input, dim, sizes, kept):
    x = input._array()
    ends = np.cumsum(sizes).tolist()
    parts = [x[at(x.ndim, dim, slice(end - n, end))] for n, end in zip(sizes, ends, strict=True)]
    return apply_views(rule, input, parts, MULTI_OUTPUT, kept, dim)


@function(method=False)
def split(tensor, split_size_or_sections, dim=0):
    """Pieces of equal length, or of given lengths, along `dim` (torch.split)."""
    size = split_size_or_sections
    if isinstance(size, Variable):
        size = int(size)
    if isinstance(size, (tuple, list)):
        return split_with_sizes(tensor, size, dim)
    if not isinstance(size, int):
        raise TypeError(
            f"split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not {type(size).__name__}"
        )
    shape = tensor._data.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    n = shape[dim_of(dim, len(shape))]
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and n:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    sizes = [min(size, n - start) for start in range(0, n, size)] if n else [0]
    return _pieces(SplitBackward0, tensor, dim, sizes, size)


@method(name="split")
def _split(self, split_size, dim=0):
    """Pieces of equal length, or of given lengths, along `dim` (Tensor.split)."""
    return split(self, split_size, dim)


@function
def unsafe_split(tensor, split_size, dim=0):
    """Pieces of equal length along `dim`, each writable in place (torch.unsafe_split)."""
    shape = tensor._data.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 1:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    dim_of(dim, len(shape))
    return apply(UnsafeSplitBackward0, (tensor,), split_size, dim)


@function
def unsafe_chunk(input, chunks, dim=0):
    """At most `chunks` pieces of equal length along `dim`, each writable in place (torch.unsafe_chunk)."""
    if chunks < 1:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input._data.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    n = input._data.shape[dim_of(dim, input._data.ndim)]
    if not n:
        return tuple([METHODS["clone"](part) for part in chunk(input, chunks, dim)])
    return unsafe_split(input, max(1, -(-n // chunks)), dim)


def _given_lengths(input, split_sizes, dim):
    """The lengths of the pieces as a tuple of ints, which must sum to the size of the dim."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    n = shape[dim_of(dim, len(shape))]
    sizes = sizes_of((split_sizes,), "split_sizes")
    if any(s < 0 for s in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={list(sizes)}"
        )
    return sizes


@function
def split_with_sizes(input, split_sizes, dim=0):
    """Pieces of given lengths along `dim` (torch.split_with_sizes)."""
    sizes = _given_lengths(input, split_sizes, dim)
    return _pieces(SplitWithSizesBackward0, input, dim, sizes, sizes)


@function
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """Pieces of given lengths along `dim`, each writable in place (torch.unsafe_split_with_sizes)."""
    sizes = _given_lengths(input, split_sizes, dim)
    return apply(UnsafeSplitWithSizesBackward0, (input,), sizes, dim)


@function
def chunk(input, chunks, dim=0):
    """At most `chunks` pieces of equal length along `dim`, the last perhaps shorter (torch.chunk)."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = shape[dim_of(dim, len(shape))]
    if not n:
        return split_with_sizes(input, [0] * chunks, dim)
    return split(input, -(-n // chunks), dim)


@function
def tensor_split(input, indices_or_sections, dim=0):
    """Nearly equal pieces, or pieces between given indices, along `dim` (torch.tensor_split)."""
    shape = input._data.shape
    if not shape:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    n = shape[dim_of(dim, len(shape))]
    if isinstance(indices_or_sections, Variable):
        where = indices_or_sections._data
        if where.dtype != np.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{indices_or_sections.dtype.type_name}"
            )
        if where.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but "
                f"got a tensor with {where.ndim} dims"
            )
        indices_or_sections = where.tolist()
    if isinstance(indices_or_sections, bool):
        raise TypeError("tensor_split() takes a number of pieces, not a bool")
    if isinstance(indices_or_sections, int):
        k = indices_or_sections
        if k <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {k}")
        short, longer = divmod(n, k)
        ends = [short * i + min(i, longer) for i in range(k + 1)]
    else:
        ends = [0, *indices_or_sections, n]
    return tuple([take_slice(input, dim, a, b) for a, b in itertools.pairwise(ends)])


def _split_dim(name, least, dim):
    def fn(input, indices_or_sections):
        shape = input._data.shape
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                f"{len(shape)} dimensions!"
            )
        d = 0 if len(shape) == 1 else dim
        k = indices_or_sections
        if isinstance(k, int) and (not k or shape[d] % k):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension "
                f"{shape[d]} is not divisible by the split_size {k}!"
            )
        return tensor_split(input, k, d)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"tensor_split along dim {dim} (torch.{name})."
    return function(fn)


hsplit, vsplit, dsplit = _split_dim("hsplit", 1, 1), _split_dim("vsplit", 2, 0), _split_dim("dsplit", 3, 2)


class DiagonalBackward0(ShapeRule):
    """A diagonal, as a view.

    Math: y = diagonal(a, offset=offset, dim1=dim1, dim2=dim2).   VJP: diagonal_scatter(zeros_like(a), g, offset=offset, dim1=dim1, dim2=dim2).
    Shapes: (2, 3, 4) -> (4, 2): the two dims go, the diagonal comes last.   Saves: nothing.   PyTorch: torch.diagonal
    """

    keeps = ("offset", "dim1", "dim2", "self_sym_sizes")

    def forward(x, offset, dim1, dim2):
        return diagonal_of(x, offset, dim1, dim2).copy()

    def vjp(self, g):
        offset, dim1, dim2, shape = self.args
        if isinstance(g, Variable):
            return apply(DiagonalBackwardBackward0, (g,), offset, dim1, dim2, shape)
        return on_diagonal(g, offset, dim1, dim2, shape)


class DiagonalCopyBackward(DiagonalBackward0, name="DiagonalBackward0_copy"):
    """The diagonal of a matrix as a copy.

    Math, VJP, Shapes: as diagonal.   Saves: nothing.   PyTorch: torch.diag of a matrix
    """


class DiagonalBackwardBackward0(ShapeRule):
    """The backward of diagonal as an operation: a tensor put on a diagonal of zeros.

    Math: y = diagonal_scatter(zeros(shape), a, offset=offset, dim1=dim1, dim2=dim2).   VJP: diagonal(g, offset=offset, dim1=dim1, dim2=dim2).
    Shapes: (4, 2) -> (2, 3, 4).   Saves: nothing. PyTorch: diagonal_backward
    """

    keeps = ("offset", "dim1", "dim2")

    def forward(x, offset, dim1, dim2, shape):
        return on_diagonal(x, offset, dim1, dim2, shape)

    def vjp(self, g):
        args = self.args[:3]
        return g.diagonal(*args) if isinstance(g, Variable) else diagonal_of(g, *args)


def diagonal_of(x, offset, dim1, dim2):
    """A diagonal of an array, as a view (NumPy's own is read-only)."""
    d1, d2 = dim_of(dim1, x.ndim), dim_of(dim2, x.ndim)
    if d1 == d2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    start = x[at(x.ndim, d2, slice(offset, None))] if offset >= 0 else x[at(x.ndim, d1, slice(-offset, None))]
    n = min(start.shape[d1], start.shape[d2])
    rest = [d for d in range(x.ndim) if d not in (d1, d2)]
    return strided(
        start,
        (*[x.shape[d] for d in rest], n),
        (*[x.strides[d] for d in rest], x.strides[d1] + x.strides[d2]),
    )


def on_diagonal(g, offset, dim1, dim2, shape):
    """Zeros of `shape` with the array `g` on a diagonal."""
    whole = np.zeros(shape, dtype=g.dtype)
    diagonal_of(whole, offset, dim1, dim2)[...] = g
    return whole


@function
def diagonal(input, offset=0, dim1=0, dim2=1):
    """A diagonal as a view; it becomes the last dim (torch.diagonal)."""
    return apply_view(
        DiagonalBackward0, input, diagonal_of(input._array(), offset, dim1, dim2), offset, dim1, dim2
    )


class DiagEmbedBackward0(ShapeRule):
    """The last dim put on a diagonal of zeros.

    Math: y = diag_embed(a, offset=offset, dim1=dim1, dim2=dim2).   VJP: diagonal(g, offset=offset, dim1=dim1, dim2=dim2).
    Shapes: (2, 3) -> (2, 3, 3).   Saves: nothing. PyTorch: torch.diag_embed, torch.diag of a vector
    """

    keeps = ("offset", "dim1", "dim2")

    def forward(x, offset, dim1, dim2):
        n = x.shape[-1] + abs(offset)
        shape = list(x.shape[:-1])
        for d in sorted((dim_of(dim1, x.ndim + 1), dim_of(dim2, x.ndim + 1))):
            shape.insert(d, n)
        return on_diagonal(x, offset, dim1, dim2, shape)

    def vjp(self, g):
        return g.diagonal(*self.args) if isinstance(g, Variable) else diagonal_of(g, *self.args)


@function
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dim on a diagonal of zeros (torch.diag_embed)."""
    n = input._data.ndim + 1
    if dim_of(dim1, n) == dim_of(dim2, n):
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return apply(DiagEmbedBackward0, (input,), offset, dim1, dim2)


@function
def diag(input, diagonal=0):
    """A vector on a diagonal of zeros, or the diagonal of a matrix as a copy (torch.diag)."""
    n = input._data.ndim
    if n == 1:
        return diag_embed(input, diagonal)
    if n != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")
    return apply(DiagonalCopyBackward, (input,), diagonal, 0, 1)


@function
def diagflat(input, offset=0):
    """The elements in a row on a diagonal of zeros (torch.diagflat)."""
    return diag(reshape(METHODS["contiguous"](input), -1), offset)


@method
def fill_diagonal_(self, fill_value, wrap=False):
    """Set the main diagonal to one value; with `wrap`, a tall matrix's diagonal starts again at the bottom."""
    shape = self._data.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if wrap and len(shape) == 2 and shape[0] > shape[1] + 1:
        turn = shape[1] + 1  # a row is skipped before the diagonal starts again
        starts = range(0, shape[0], turn)
    else:
        starts = (0,)
    step, down = sum(self.stride()), self.stride(0)
    for start in starts:
        n = min(min(shape), shape[0] - start)
        METHODS["fill_"](as_strided(self, (n,), (step,), self.storage_offset() + start * down), fill_value)
    return self


class UnfoldBackward0(ShapeRule):
    """Overlapping windows along a dim, as a view.

    Math: y = unfold(a, dimension, size, step).   VJP: windows_added(g, shape(a), dimension, size, step).   Each g is
    added where its element came from.
    Shapes: (5,) -> (4, 2) for size 2, step 1.   Saves: nothing.   PyTorch: torch.Tensor.unfold
    """

    keeps = ("dimension", "size", "step", "self_sym_sizes")

    def vjp(self, g):
        dim, size, step, shape = self.args
        if isinstance(g, Variable):
            return apply(UnfoldBackwardBackward0, (g,), shape, dim, size, step)
        return from_windows(g, shape, dim, size, step)


class UnfoldBackwardBackward0(ShapeRule):
    """The backward of unfold as an operation: windows added up where they overlap.

    Math: y = windows_added(a, input_sizes, dim, size, step).   VJP: unfold(g, dim, size, step).
    Shapes: (4, 2) -> (5,).   Saves: nothing. PyTorch: unfold_backward
    """

    keeps = ("input_sizes", "dim", "size", "step")

    def forward(x, shape, dim, size, step):
        return from_windows(x, shape, dim, size, step)

    def vjp(self, g):
        args = self.args[1:]
        return g.unfold(*args) if isinstance(g, Variable) else windows_of(g, *args)


def windows_of(x, dim, size, step):
    """The windows of an array, as a view with the window's own dim last."""
    d = dim_of(dim, x.ndim)
    n, stride = (x.shape[d], x.strides[d]) if x.ndim else (1, x.itemsize)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not x.ndim:
        return strided(x, (size,), (stride,))
    shape, strides = list(x.shape), list(x.strides)
    shape[d], strides[d] = (n - size) // step + 1, stride * step
    return strided(x, (*shape, size), (*strides, stride))


def from_windows(g, shape, dim, size, step):
    """An array of `shape` in which the windows `g` are added up."""
    whole = np.zeros(shape, dtype=g.dtype)
    if not shape:
        return whole + g.reshape(-1).sum()
    d = dim % len(shape)
    last = (g.shape[d] - 1) * step + 1
    for j in range(size):
        whole[at(len(shape), d, slice(j, j + last, step))] += g[..., j]
    return whole


@method
def unfold(self, dimension, size, step):
    """Windows of `size` entries along a dim, `step` apart, as a view (torch.Tensor.unfold)."""
    return apply_view(
        UnfoldBackward0, self, windows_of(self._array(), dimension, size, step), dimension, size, step
    )


class AsStrided(ShapeRule, name="AsStridedBackward0"):
    """Any elements of the memory, by size and strides.

    Math: y = as_strided(a, size, stride, storage_offset).   VJP: as_strided_added(zeros_like(a), g, size, stride,
    storage_offset).   Each g is added where its element came from, if that is in the operand.
    Shapes: any.   Saves: nothing.   PyTorch: torch.as_strided
    """

    keeps = AsStridedBackward0.keeps
    vjp = AsStridedBackward0.vjp


def _strided_of(input, size, stride, storage_offset):
    size, stride = sizes_of((size,), "size"), sizes_of((stride,), "stride")
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    x = input._array()
    memory = storage_of(x).view(x.dtype)
    offset = offset_of(x) if storage_offset is None else storage_offset
    return seen(memory, size, stride, offset), size, stride


@function
def as_strided(input, size, stride, storage_offset=None):
    """A view of the memory with the given size, strides and offset (torch.as_strided)."""
    if storage_offset is not None and WATCHERS:
        storage_offset += start_of(input)
    data, size, stride = _strided_of(input, size, stride, storage_offset)
    return apply_view(AsStrided, input, data, size, stride, storage_offset, geometry(input))


class AsStridedBackward1(AsStrided):
    """The same in place: the tensor itself becomes that view.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.as_strided_
    """


@method
def as_strided_(self, size, stride, storage_offset=None):
    """The in-place form of `as_strided`: the tensor itself changes its size, strides and offset."""
    data, size, stride = _strided_of(self, size, stride, storage_offset)
    return reshape_in_place(
        "as_strided_", AsStridedBackward1, self, data, size, stride, storage_offset, geometry(self)
    )


FUNCTIONS["as_strided_"] = as_strided_


class AsStridedScatterBackward0(ShapeRule):
    """A copy with the elements that as_strided would give replaced.

    Math: y = as_strided_scatter(a, b, size, stride, storage_offset).   VJP: to a: as_strided_scatter(g,
    zeros_like(b), size, stride, storage_offset); to b: as_strided(g, size, stride, storage_offset).
    Shapes: b as that view. Saves: nothing.   PyTorch: torch.as_strided_scatter
    """

    inputs = ("self", "src")
    keeps = ("size", "stride", "storage_offset")

    def forward(x, src, size, stride, offset, own):
        memory = storage_of(x).copy()
        put(seen(memory, size, stride, own[2] if offset is None else offset), src)
        return seen(memory, *own)

    def vjp(self, g):
        size, stride, offset, own = self.args
        offset = own[2] if offset is None else offset
        memory = both.zeros(max(span(size, stride, offset), span(*own)), g)
        put(seen(memory, *own), g)
        part = seen(memory, size, stride, offset)
        to_src = part.clone() if isinstance(part, Variable) else part.copy()
        put(part, both.zeros(size, g))
        return seen(memory, *own), to_src


@function
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy with the elements that as_strided would give replaced (torch.as_strided_scatter)."""
    _, size, stride = _strided_of(input, size, stride, storage_offset)
    if tuple(size) != src._data.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(size)}"
        )
    return apply(AsStridedScatterBackward0, (input, src), size, stride, storage_offset, geometry(input))


@method
def __iter__(self):  # noqa: N807 - a method of Tensor
    if not self._data.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))
