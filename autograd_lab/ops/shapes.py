"""Shapes: views of the same memory (reshape, transpose, slices, ...), joins (cat, stack) and rearranged copies.

A view computes nothing: it is the same memory under another shape and other strides. Its VJP puts the gradient back where the
elements came from. The functions in the first part are for formulas: like those of both.py they take arrays and Tensors.
"""

import functools
import math
import operator

import numpy as np

from ..autograd.engine import sum_to
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace, apply_view, apply_views, edges_of, finish_inplace, node_for, wanted
from ..autograd.variable import Variable, bump_version, wrap
from ..autograd.views import MULTI_OUTPUT, check_writable, gather, move_retention, positions, scatter
from ..dtypes import ALL, Size, promote_np
from ..dtypes import dtype as dtype_type
from ..warning import warn_once
from . import both
from .rule import FUNCTIONS, METHODS, Rule, function, method

ALL_OF = slice(None)

# -- helpers ------------------------------------------------------------------------------------------


def dim_of(dim, ndim):
    """`dim` counted from the front. Raises IndexError if there is no such dim."""
    if type(dim) is not int:
        dim = operator.index(dim)
    last = max(ndim, 1)
    if not -last <= dim < last:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got {dim})")
    return dim + last if dim < 0 else dim


def sizes_of(args, name="shape"):
    """The ints a user gave as f(2, 3), f((2, 3)) or f(torch.Size(...))."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    for n in args:
        if type(n) is not int:
            break
    else:
        return args if type(args) is tuple else tuple(args)
    try:
        return tuple([operator.index(n) for n in args])
    except TypeError:
        wrong = next(n for n in args if not hasattr(n, "__index__"))
        raise TypeError(f"argument '{name}' must be tuple of ints, but found element of type {type(wrong).__name__}") from None


def dims_of(dims, ndim):
    """Several dims counted from the front; one int counts as a tuple of one."""
    return tuple([dim_of(d, ndim) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))])


def at(ndim, dim, index):
    """The NumPy index that picks `index` along `dim` and leaves a view, also of a single element."""
    return (ALL_OF,) * (dim % max(ndim, 1)) + (index, ...)


def strided(x, shape, strides):
    """A writable view of the array `x` from its first element on, with byte strides of its own."""
    if x.flags.c_contiguous and x.size:
        return np.ndarray(shape, x.dtype, x, 0, strides)
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def placed(g, shape, index):
    """Zeros of `shape` with the array `g` at the NumPy `index`."""
    whole = np.zeros(shape, dtype=g.dtype)
    whole[index] = g
    return whole


def unsqueeze_to(g, dims, shape):
    """`g` with the dims of size one back that squeeze took away."""
    if not isinstance(g, Variable):
        return g.reshape(shape)
    for d in dims:
        g = g.unsqueeze(d)
    return g


def joined(parts, dim):
    """cat of arrays or Tensors."""
    return FUNCTIONS["cat"](parts, dim) if isinstance(parts[0], Variable) else np.concatenate(parts, dim)


def piece(g, dim, start, length):
    """`length` entries of `g` along `dim`, from `start` on."""
    if isinstance(g, Variable):
        return g.narrow(dim, start, length)
    return g[at(g.ndim, dim, slice(start, start + length))]


def cast(g, np_dtype):
    """`g` in another number type."""
    if isinstance(g, Variable):
        return g.to(ALL[np_dtype])
    return g.astype(np_dtype, copy=False)


class ShapeRule(Rule):
    """A rule whose plain values are dims, sizes and positions, which PyTorch keeps as unsigned numbers."""

    def kept(self, name, value):
        if isinstance(value, tuple):
            return tuple([self.kept(name, v) for v in value])
        return value + 2**64 if type(value) is int and value < 0 else value


# -- the same elements under another shape ------------------------------------------------------------


class ViewBackward0(ShapeRule):
    """Another shape over the same memory.

    Math: y[i] = a[i], counted in row-major order.   VJP: g in the old shape.
    Shapes: any with as many elements.   Saves: nothing.   PyTorch: torch.Tensor.view
    """

    keeps = ("self_sym_sizes",)

    def forward(x, shape):
        return x.reshape(shape)

    def vjp(self, g):
        return g.reshape(self.args[-1])


class ReshapeAliasBackward0(ViewBackward0):
    """What reshape records for a view of memory that is not contiguous.

    Math: y[i] = a[i].   VJP: g in the old shape.   Shapes: any with as many elements.   Saves: nothing.   PyTorch: _reshape_alias
    """


class UnsafeViewBackward0(ViewBackward0):
    """The last step of a reshape that had to copy: a new shape for a fresh clone, not counted as a view of it.

    Math: y[i] = a[i].   VJP: g in the old shape.   Shapes: any with as many elements.   Saves: nothing.   PyTorch: _unsafe_view
    """

    keeps = ("shape", "self_sym_sizes")

    def __dir__(self):
        return [n for n in super().__dir__() if n != "_saved_shape"]


def infer_size(shape, numel):
    """`shape` with its -1 worked out. Raises RuntimeError if it does not hold `numel` elements."""
    unknown = -1
    known = 1
    for i, n in enumerate(shape):
        if n >= 0:
            known *= n
        elif n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        elif unknown >= 0:
            raise RuntimeError("only one dimension can be inferred")
        else:
            unknown = i
    if known == numel and (unknown < 0 or known):
        return shape if unknown < 0 else (*shape[:unknown], 1, *shape[unknown + 1 :])
    if unknown >= 0 and known and numel % known == 0:
        return (*shape[:unknown], numel // known, *shape[unknown + 1 :])
    if unknown >= 0 and not known and not numel:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be "
            "any value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def reshaped(x, shape):
    """The array `x` in another shape over the same memory, or None if only a copy can have that shape."""
    y = x.reshape(shape)
    return y if x.flags.c_contiguous or not x.size or np.may_share_memory(x, y) else None


@method
def view(self, *shape, size=None, dtype=None):
    """The same memory in another shape; one size may be -1. With a dtype: the same bytes read as other numbers.

    Raises RuntimeError if the strides do not allow that shape (then use reshape).
    """
    if size is not None:
        shape = (size,)
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtype_type)):
        return _view_as_dtype(self, dtype or shape[0])
    if not shape:
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of:\n * (torch.dtype dtype)\n"
            " * (tuple of ints size)\n"
        )
    x = self._array()
    data = reshaped(x, infer_size(sizes_of(shape, "size"), x.size))
    if data is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return apply_view(ViewBackward0, self, data)


def _view_as_dtype(t, dtype):
    data = t._array()
    if dtype.np.itemsize != data.dtype.itemsize and not data.ndim:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {ALL[data.dtype].type_name} as {dtype.type_name} (different element sizes)"
        )
    if t.requires_grad:
        return wrap(data.view(dtype.np), box=t._shared_box())
    return apply_view(ViewBackward0, t, data.view(dtype.np))


@function
def reshape(input, *shape):
    """The elements in another shape: a view where the strides allow it, else a copy (torch.reshape)."""
    if not shape:
        raise TypeError('reshape() missing 1 required positional arguments: "shape"')
    x = input._array()
    shape = infer_size(sizes_of(shape), x.size)
    data = reshaped(x, shape)
    if data is not None:
        return apply_view(ViewBackward0 if x.flags.c_contiguous else ReshapeAliasBackward0, input, data)
    return apply(UnsafeViewBackward0, (METHODS["clone"](input, memory_format="contiguous"),), shape)


@method
def view_as(self, other):
    """self.view(other.shape)."""
    return view(self, other._data.shape)


@method
def reshape_as(self, other):
    """self.reshape(other.shape)."""
    return reshape(self, other._data.shape)


@function
def ravel(input):
    """One dim, as a view if possible (torch.ravel)."""
    return view(METHODS["contiguous"](input), -1)


@function
def flatten(input, start_dim=0, end_dim=-1):
    """The dims from start_dim to end_dim made one (torch.flatten); the tensor itself if that is one already."""
    shape = input._data.shape
    start, end = dim_of(start_dim, len(shape)), dim_of(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@function
def unflatten(input, dim, sizes):
    """One dim split into several (torch.unflatten)."""
    shape = input._data.shape
    d = dim_of(dim, len(shape))
    sizes = sizes_of((sizes,), "sizes")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        new = infer_size(sizes, shape[d])
    except RuntimeError as error:
        if "only one" in str(error):
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the input tensor"
        ) from None
    return view(input, (*shape[:d], *new, *shape[d + 1 :]))


class SqueezeBackward0(ShapeRule):
    """All dims of size one left out.

    Math: the same elements.   VJP: g with those dims back.   Shapes: (2, 1, 3) -> (2, 3).   Saves: nothing.   PyTorch: torch.squeeze
    """

    keeps = ("self_sym_sizes",)

    def vjp(self, g):
        shape = self.args[-1]
        return unsqueeze_to(g, [d for d, n in enumerate(shape) if n == 1], shape)


class SqueezeBackward1(ShapeRule):
    """One dim left out, if its size is one.

    Math: the same elements.   VJP: g with that dim back.   Shapes: (2, 1, 3) -> (2, 3).   Saves: nothing.   PyTorch: torch.squeeze
    """

    keeps = ("dim", "self_sym_sizes")

    def vjp(self, g):
        dim, shape = self.args
        dims = (dim,) if isinstance(dim, int) else dim
        dims = sorted(d % len(shape) for d in dims) if shape else ()
        return unsqueeze_to(g, [d for d in dims if shape[d] == 1], shape)


class SqueezeBackward2(SqueezeBackward1):
    """Several dims left out, where their size is one.

    Math: the same elements.   VJP: g with those dims back.   Shapes: (1, 2, 1) -> (2,).   Saves: nothing.   PyTorch: torch.squeeze
    """


class SqueezeBackward3(SqueezeBackward0):
    """The in-place form of SqueezeBackward0.   Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.squeeze_"""


class SqueezeBackward4(SqueezeBackward1):
    """The in-place form of SqueezeBackward1.   Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.squeeze_"""


class SqueezeBackward5(SqueezeBackward1):
    """The in-place form of SqueezeBackward2.   Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.squeeze_"""


def _squeezed(input, dim):
    """The array without the dims, and the arguments the rule keeps."""
    x = input._array()
    shape = x.shape
    if dim is None:
        return x.reshape([n for n in shape if n != 1]), ()
    dims = dims_of(dim, len(shape))
    index = tuple([0 if n == 1 and d in dims else ALL_OF for d, n in enumerate(shape)])
    return x[(*index, ...)], (tuple(dim) if isinstance(dim, list) else dim,)


@function
def squeeze(input, dim=None):
    """Without dims of size one: all of them, or those named (torch.squeeze)."""
    data, args = _squeezed(input, dim)
    rule = SqueezeBackward0 if dim is None else SqueezeBackward1 if isinstance(dim, int) else SqueezeBackward2
    return apply_view(rule, input, data, *args)


@method
def squeeze_(self, dim=None):
    """The in-place form of `squeeze`: the tensor itself changes its shape."""
    data, args = _squeezed(self, dim)
    rule = SqueezeBackward3 if dim is None else SqueezeBackward4 if isinstance(dim, int) else SqueezeBackward5
    return _reshape_in_place(rule, self, data, *args)


def _reshape_in_place(rule, t, data, *args):
    """Give the tensor `t` itself the array `data`, a view of its own."""
    check_writable(t)
    state = THREAD.state
    node = None
    if state.grad:
        edges = edges_of((t,))
        if wanted(edges):
            node = node_for(rule, edges, (t,), (), args)
    bump_version(t)
    t._data = data
    if node is not None:
        if t._is_view():
            t._meta.set_edge(t, (node, 0))
        else:
            old, t._edge = t._edge, (node, 0)
            if t._meta is not None and t._meta.retains_grad:
                move_retention(t, old, t._edge)
    if state.special:
        finish_inplace(state, rule, (t,), t, node, rule.__name__)
    return t


class UnsqueezeBackward0(ShapeRule):
    """A new dim of size one.

    Math: the same elements.   VJP: g without that dim.   Shapes: (2, 3) -> (2, 1, 3).   Saves: nothing.   PyTorch: torch.unsqueeze
    """

    keeps = ("dim",)

    def vjp(self, g):
        dim = self.args[0]
        return g.squeeze(dim)


class UnsqueezeBackward1(UnsqueezeBackward0):
    """The in-place form of UnsqueezeBackward0.   Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.unsqueeze_"""


def _unsqueezed(input, dim):
    x = input._array()
    d = dim_of(dim, x.ndim + 1)
    return x.reshape((*x.shape[:d], 1, *x.shape[d:]))


@function
def unsqueeze(input, dim):
    """With a new dim of size one at `dim` (torch.unsqueeze)."""
    return apply_view(UnsqueezeBackward0, input, _unsqueezed(input, dim), dim)


@method
def unsqueeze_(self, dim):
    """The in-place form of `unsqueeze`."""
    return _reshape_in_place(UnsqueezeBackward1, self, _unsqueezed(self, dim), dim)


# -- the dims in another order ------------------------------------------------------------------------


class TransposeBackward0(ShapeRule):
    """Two dims swapped.

    Math: y[.., i, .., j, ..] = a[.., j, .., i, ..].   VJP: g with the same dims swapped.
    Shapes: (2, 3, 4) -> (3, 2, 4).   Saves: nothing.   PyTorch: torch.transpose
    """

    keeps = ("dim0", "dim1")

    def vjp(self, g):
        return g.swapaxes(*self.args) if g.shape else g


class TransposeBackward1(TransposeBackward0):
    """The in-place form of TransposeBackward0.   Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.transpose_"""


class TBackward0(ShapeRule):
    """A matrix transposed.

    Math: y[i, j] = a[j, i].   VJP: g transposed.   Shapes: (2, 3) -> (3, 2).   Saves: nothing.   PyTorch: torch.t
    """

    def vjp(self, g):
        return g.t() if isinstance(g, Variable) else g.T


class TBackward1(TBackward0):
    """The in-place form of TBackward0.   Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.t_"""


class PermuteBackward0(ShapeRule):
    """The dims in another order.

    Math: dim i of y is dim dims[i] of a.   VJP: g with its dims put back.   Shapes: (2, 3, 4) -> (4, 2, 3) for dims (2, 0, 1).
    Saves: nothing.   PyTorch: torch.permute
    """

    keeps = ("dims",)

    def vjp(self, g):
        dims = self.args[0]
        back = [0] * len(dims)
        for i, d in enumerate(dims):
            back[d % len(dims)] = i
        return g.permute(back) if isinstance(g, Variable) else g.transpose(back)


def _swapped(x, dim0, dim1):
    a, b = dim_of(dim0, x.ndim), dim_of(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x


@function
def transpose(input, dim0, dim1):
    """Two dims swapped, as a view (torch.transpose)."""
    return apply_view(TransposeBackward0, input, _swapped(input._array(), dim0, dim1), dim0, dim1)


@method
def transpose_(self, dim0, dim1):
    """The in-place form of `transpose`."""
    return _reshape_in_place(TransposeBackward1, self, _swapped(self._array(), dim0, dim1), dim0, dim1)


@function
def swapaxes(input, axis0, axis1):
    """Another name of transpose."""
    return transpose(input, axis0, axis1)


@function
def swapdims(input, dim0, dim1):
    """Another name of transpose."""
    return transpose(input, dim0, dim1)


METHODS["swapaxes_"] = METHODS["swapdims_"] = transpose_


def _check_t(x, name):
    if x.ndim > 2:
        raise RuntimeError(f"{name}() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return x.T


@function
def t(input):
    """A matrix transposed, as a view; vectors stay as they are (torch.t)."""
    return apply_view(TBackward0, input, _check_t(input._array(), "t"))


@method
def t_(self):
    """The in-place form of `t`."""
    return _reshape_in_place(TBackward1, self, _check_t(self._array(), "t_"))


@function
def permute(input, *dims, **named):
    """The dims in another order, as a view (torch.permute)."""
    dims = sizes_of(dims or (named["dims"],), "dims")
    x = input._array()
    if len(dims) != x.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {x.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = dims_of(dims, x.ndim)
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return apply_view(PermuteBackward0, input, x.transpose(order), dims)


@function
def movedim(input, source, destination):
    """Some dims moved to other places, the rest keeping their order (torch.movedim)."""
    n = input._data.ndim
    given = [list(d) if isinstance(d, (tuple, list)) else [d] for d in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({given[0]} dims) should contain the same number of dims as "
            f"destination ({given[1]} dims)"
        )
    src, dst = dims_of(given[0], n), dims_of(given[1], n)
    for name, dims, text in (("source", src, given[0]), ("destination", dst, given[1])):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({text})")
    if not n:
        return input
    order = [-1] * n
    for s, d in zip(src, dst, strict=True):
        order[d] = s
    rest = iter([d for d in range(n) if d not in src])
    return permute(input, [next(rest) if d < 0 else d for d in order])


@function
def moveaxis(input, source, destination):
    """Another name of movedim."""
    return movedim(input, source, destination)


@function
def adjoint(input):
    """The last two dims swapped (torch.adjoint; there are no complex numbers to conjugate)."""
    return transpose(input, -2, -1)


def _matrices_only(name, exact):
    what = "matrices (2-D tensors)" if exact else "matrices or batches of matrices"

    def get(self):
        n = self._data.ndim
        if n == 0:
            rest = "Consider using x.conj()." if name == "H" else "This function is the identity in these cases."
            warn_once(f"Tensor.{name} is deprecated on 0-D tensors. {rest}")
            return self
        if n < 2 or (exact and n > 2):
            more = f" For batches of matrices, consider using tensor.m{name}" if n > 2 else ""
            raise RuntimeError(f"tensor.{name} is only supported on {what}. Got {n}-D tensor.{more}")
        return transpose(self, -2, -1)

    return property(get, doc="The last two dims swapped, as a view.")


def _reversed_dims(self):
    n = self._data.ndim
    if n == 0:
        warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    elif n != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
            "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
            "1, -1, -1))` to reverse the dimensions of a tensor."
        )
    return permute(self, tuple(range(n - 1, -1, -1)))


METHODS["T"] = property(_reversed_dims, doc="All dims in reverse order, as a view.")
METHODS["mT"], METHODS["mH"] = _matrices_only("mT", False), _matrices_only("mH", False)
METHODS["H"] = _matrices_only("H", True)
METHODS["real"] = property(lambda self: self, doc="The tensor itself: there are no complex numbers here.")


# -- repeated without a copy --------------------------------------------------------------------------


class ExpandBackward0(ShapeRule):
    """Dims of size one repeated without a copy: every repetition is the same memory.

    Math: y[.., i, ..] = a[.., 0, ..].   VJP: g summed over the repetitions.   Shapes: (1, 3) -> (2, 3).
    Saves: nothing.   PyTorch: torch.Tensor.expand
    """

    keeps = ("self_sym_sizes",)

    def vjp(self, g):
        return sum_to(g, self.args[0])


@method
def expand(self, *size, **named):
    """Dims of size one repeated without a copy, and new dims in front; -1 leaves a size (torch.Tensor.expand)."""
    size = sizes_of(size or (named["size"],), "size")
    x = self._array()
    lead = len(size) - x.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand({self.type()}{{{list(x.shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({x.ndim})"
        )
    shape, strides = list(size), [0] * len(size)
    for i in range(len(size) - 1, -1, -1):
        n = x.shape[i - lead] if i >= lead else 1
        if size[i] == -1:
            if i < lead:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            shape[i] = n
        elif n != size[i] and n != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({size[i]}) must match the existing size ({n}) at non-singleton dimension "
                f"{i}.  Target sizes: {list(size)}.  Tensor sizes: {list(x.shape)}"
            )
        if shape[i] == n:
            strides[i] = x.strides[i - lead] if i >= lead else 0
    return apply_view(ExpandBackward0, self, strided(x, tuple(shape), tuple(strides)))


@method
def expand_as(self, other):
    """self.expand(other.shape)."""
    return expand(self, other._data.shape)


@function
def broadcast_to(input, size):
    """Another name of expand."""
    return expand(input, size)


@function(method=False)
def broadcast_shapes(*shapes):
    """The shape that several shapes broadcast to (torch.broadcast_shapes)."""
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    out = [1] * max([len(s) for s in shapes], default=0)
    for k, shape in enumerate(shapes):
        for i in range(-1, -1 - len(shape), -1):
            if shape[i] < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({shape[i]}): ({shape[i]})")
            if shape[i] in (1, out[i]):
                continue
            if out[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[i]} at {i}! Mismatching argument at index {k} had "
                    f"{shape}; but expected shape should be broadcastable to {out}"
                )
            out[i] = shape[i]
    return Size(out)


@function(method=False)
def broadcast_tensors(*tensors):
    """All tensors expanded to their common shape (torch.broadcast_tensors)."""
    from .rule import broadcast_error

    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    try:
        shape = np.broadcast_shapes(*[t._data.shape for t in tensors])
    except ValueError:
        raise broadcast_error([t._data for t in tensors]) from None
    return tuple([t if t._data.shape == shape else expand(t, shape) for t in tensors])


# -- parts --------------------------------------------------------------------------------------------


class SelectBackward0(ShapeRule):
    """One entry along a dim.

    Math: y = a[.., index, ..].   VJP: g at that place, zero elsewhere.   Shapes: (2, 3, 4) -> (2, 4) for dim 1.
    Saves: nothing.   PyTorch: torch.select
    """

    keeps = ("dim", "index", "self_sym_sizes")

    def vjp(self, g):
        dim, index, shape = self.args
        if isinstance(g, Variable):
            return apply(SelectBackwardBackward0, (g,), dim, index, shape)
        return placed(g, shape, at(len(shape), dim, index))


class SelectBackwardBackward0(ShapeRule):
    """The backward of select as an operation: a tensor put into zeros.

    Math: y = 0; y[.., index, ..] = a.   VJP: that entry of g.   Shapes: (2, 4) -> (2, 3, 4).   Saves: nothing.
    PyTorch: select_backward
    """

    keeps = ("dim", "index")

    def forward(x, dim, index, shape):
        return placed(x, shape, at(len(shape), dim, index))

    def vjp(self, g):
        dim, index, shape = self.args
        return g.select(dim, index) if isinstance(g, Variable) else g[at(len(shape), dim, index)]


class SliceBackward0(ShapeRule):
    """Every step-th entry along a dim, from start to end.

    Math: y = a[.., start:end:step, ..].   VJP: g at those places, zero elsewhere.   Shapes: (2, 3) -> (2, 2) for 1:3.
    Saves: nothing.   PyTorch: basic indexing, torch.narrow
    """

    keeps = ("dim", "start", "end", "step", "self_sym_sizes")

    def vjp(self, g):
        dim, start, end, step, shape = self.args
        if isinstance(g, Variable):
            return apply(SliceBackwardBackward0, (g,), dim, start, end, step, shape)
        return placed(g, shape, at(len(shape), dim, slice(start, end, step)))


class SliceBackwardBackward0(ShapeRule):
    """The backward of a slice as an operation: a tensor put into zeros.

    Math: y = 0; y[.., start:end:step, ..] = a.   VJP: that slice of g.   Shapes: (2, 2) -> (2, 3).   Saves: nothing.
    PyTorch: slice_backward
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
    """The same tensor once more, as x[...] gives it.

    Math: y = a.   VJP: g.   Shapes: the same.   Saves: nothing.   PyTorch: alias
    """

    def vjp(self, g):
        return g


def take_slice(input, dim, start, end, step=1):
    """input[.., start:end:step, ..] as a recorded view."""
    x = input._array()
    return apply_view(SliceBackward0, input, x[at(x.ndim, dim, slice(start, end, step))], dim, start, end, step)


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
    start = operator.index(start)
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return take_slice(input, dim, start, start + length)


class UnbindBackward0(ShapeRule):
    """All entries along a dim, as a tuple.

    Math: y_k = a[.., k, ..].   VJP: the g_k stacked, zero where none arrived.   Shapes: (2, 3) -> two of (3,).
    Saves: nothing.   PyTorch: torch.unbind, iteration
    """

    plain = False
    keeps = ("dim",)

    def vjp(self, gs):
        some = next(g for g in gs if g is not None)
        gs = [both.zeros(some.shape, some) if g is None else g for g in gs]
        return FUNCTIONS["stack"](gs, self.args[0]) if isinstance(some, Variable) else np.stack(gs, self.args[0])


class SplitBackward0(ShapeRule):
    """A dim cut into pieces of equal length, as a tuple.

    Math: y_k = a[.., k*n:(k+1)*n, ..].   VJP: the g_k joined, zero where none arrived.   Shapes: (5, 3) -> (2, 3), (2, 3), (1, 3).
    Saves: nothing.   PyTorch: torch.split, torch.chunk
    """

    plain = False
    keeps = ("split_size", "dim", "self_sym_sizes")

    def vjp(self, gs):
        size, dim, shape = self.args
        n = shape[dim]
        sizes = [min(size, n - k * size) for k in range(len(gs))]
        return _rejoined(gs, sizes, dim, shape)


class SplitWithSizesBackward0(ShapeRule):
    """A dim cut into pieces of given lengths, as a tuple.

    Math: y_k = a[.., start_k:start_k + n_k, ..].   VJP: the g_k joined, zero where none arrived.   Shapes: (5,) -> (1,), (4,).
    Saves: nothing.   PyTorch: torch.split, torch.split_with_sizes
    """

    plain = False
    keeps = ("split_sizes", "dim", "self_sym_sizes")

    def vjp(self, gs):
        sizes, dim, shape = self.args
        return _rejoined(gs, sizes, dim, shape)


def _rejoined(gs, sizes, dim, shape):
    some = next(g for g in gs if g is not None)
    d = dim % len(shape)
    parts = [
        both.zeros((*shape[:d], n, *shape[d + 1 :]), some) if g is None else g for g, n in zip(gs, sizes, strict=True)
    ]
    return joined(parts, dim)


@function
def unbind(input, dim=0):
    """The entries along `dim` as a tuple of views (torch.unbind)."""
    x = input._array()
    if not x.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = dim_of(dim, x.ndim)
    return apply_views(UnbindBackward0, input, [x[at(x.ndim, d, k)] for k in range(x.shape[d])], MULTI_OUTPUT, dim)


def _pieces(rule, input, dim, sizes, kept):
    x = input._array()
    ends = np.cumsum(sizes).tolist()
    parts = [x[at(x.ndim, dim, slice(end - n, end))] for n, end in zip(sizes, ends, strict=True)]
    return apply_views(rule, input, parts, MULTI_OUTPUT, kept, dim)


@function
def split(tensor, split_size_or_sections, dim=0):
    """Pieces of equal length, or of given lengths, along `dim` (torch.split)."""
    size = split_size_or_sections
    if isinstance(size, (tuple, list)):
        return split_with_sizes(tensor, size, dim)
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


@function
def split_with_sizes(input, split_sizes, dim=0):
    """Pieces of given lengths along `dim` (torch.split_with_sizes)."""
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
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), but got "
            f"split_sizes={list(sizes)}"
        )
    return _pieces(SplitWithSizesBackward0, input, dim, sizes, sizes)


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
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    n = shape[dim_of(dim, len(shape))]
    if isinstance(indices_or_sections, Variable):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        k = indices_or_sections
        if k <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {k}")
        short, longer = divmod(n, k)
        ends = [short * i + min(i, longer) for i in range(k + 1)]
    else:
        ends = [0, *indices_or_sections, n]
    return tuple([take_slice(input, dim, a, b) for a, b in zip(ends, ends[1:], strict=False)])


def _split_dim(name, least, dim):
    def fn(input, indices_or_sections):
        shape = input._data.shape
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {len(shape)} dimensions!"
            )
        d = 0 if len(shape) == 1 else dim
        k = indices_or_sections
        if isinstance(k, int) and k and shape[d] % k:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {d}, but the size of the dimension {shape[d]} is not divisible "
                f"by the split_size {k}!"
            )
        return tensor_split(input, k, d)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"tensor_split along dim {dim} (torch.{name})."
    return function(fn)


hsplit, vsplit, dsplit = _split_dim("hsplit", 1, 1), _split_dim("vsplit", 2, 0), _split_dim("dsplit", 3, 2)


class DiagonalBackward0(ShapeRule):
    """A diagonal, as a view.

    Math: y[.., k] = a[.., k, .., k + offset, ..].   VJP: g on that diagonal, zero elsewhere.
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
    """The diagonal of a matrix as a copy.   Math, VJP, Shapes: as diagonal.   Saves: nothing.   PyTorch: torch.diag of a matrix"""


class DiagonalBackwardBackward0(ShapeRule):
    """The backward of diagonal as an operation: a tensor put on a diagonal of zeros.

    Math: y = 0; y's diagonal = a.   VJP: that diagonal of g.   Shapes: (4, 2) -> (2, 3, 4).   Saves: nothing.
    PyTorch: diagonal_backward
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
    return apply_view(DiagonalBackward0, input, diagonal_of(input._array(), offset, dim1, dim2), offset, dim1, dim2)


class DiagEmbedBackward0(ShapeRule):
    """The last dim put on a diagonal of zeros.

    Math: y[.., k, k + offset] = a[.., k].   VJP: that diagonal of g.   Shapes: (2, 3) -> (2, 3, 3).   Saves: nothing.
    PyTorch: torch.diag_embed, torch.diag of a vector
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
        n = -(-self._data.size // (shape[1] + 1))
        METHODS["fill_"](as_strided(self, (n,), (sum(self.stride()),)), fill_value)
    else:
        METHODS["fill_"](as_strided(self, (min(shape),), (sum(self.stride()),)), fill_value)
    return self


class UnfoldBackward0(ShapeRule):
    """Overlapping windows along a dim, as a view.

    Math: y[.., i, .., j] = a[.., i * step + j, ..].   VJP: each g added where its element came from.
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

    Math: y[i * step + j] += a[i, .., j].   VJP: the windows of g.   Shapes: (4, 2) -> (5,).   Saves: nothing.
    PyTorch: unfold_backward
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
    return apply_view(UnfoldBackward0, self, windows_of(self._array(), dimension, size, step), dimension, size, step)


class AsStrided(ShapeRule, name="AsStridedBackward0"):
    """Any elements of the memory, by size and strides.

    Math: y[i] = memory[offset + sum(i * stride)].   VJP: each g added where its element came from.
    Shapes: any.   Saves: nothing.   PyTorch: torch.as_strided
    """

    keeps = ("size", "stride", "storage_offset")

    def vjp(self, g):
        where, shape = self.args[3:]
        return scatter(g, where, shape)


def owner_of(x):
    """The array that owns the memory of the array `x`."""
    while True:
        base = x.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # np.lib.stride_tricks puts an object of its own in between
            if not isinstance(base, np.ndarray):
                return x
        x = base


def storage_of(x):
    """The memory behind the array `x` as one flat array."""
    return owner_of(x).ravel(order="K")


def offset_of(x):
    """Where the array `x` begins in its storage, in elements."""
    owner = owner_of(x)
    return 0 if owner is x else (_address(x) - _address(owner)) // x.itemsize


def _address(x):
    return x.__array_interface__["data"][0]


def _strided_of(input, size, stride, storage_offset):
    size, stride = sizes_of((size,), "size"), sizes_of((stride,), "stride")
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    x = input._array()
    memory = storage_of(x).view(x.dtype)
    offset = offset_of(x) if storage_offset is None else storage_offset
    needed = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if needed > memory.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {x.itemsize} "
            f"requiring a storage size of {needed * x.itemsize} are out of bounds for storage of size {memory.nbytes}"
        )
    strides = tuple([s * x.itemsize for s in stride])
    return np.lib.stride_tricks.as_strided(memory[offset:], size, strides), size, stride


@function
def as_strided(input, size, stride, storage_offset=None):
    """A view of the memory with a size, strides and an offset of its own (torch.as_strided)."""
    data, size, stride = _strided_of(input, size, stride, storage_offset)
    x = input._array()
    where = positions(data, x) if input.requires_grad and THREAD.state.grad else None
    return apply_view(AsStrided, input, data, size, stride, storage_offset, where, x.shape)


class AsStridedScatterBackward0(ShapeRule):
    """A copy with the elements that as_strided would give replaced.

    Math: y = a; as_strided(y) = b.   VJP: to a: g, zero at those places;  to b: g at those places.   Shapes: b as that view.
    Saves: nothing.   PyTorch: torch.as_strided_scatter
    """

    inputs = ("self", "src")
    keeps = ("size", "stride", "storage_offset")

    def forward(x, src, size, stride, offset, where):
        return scatter(src, where, x.shape, base=x)

    def vjp(self, g):
        where = self.args[3]
        return scatter(both.zeros(where.shape, g), where, g.shape, base=g), gather(g, where, None)


@function
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy with the elements that as_strided would give replaced (torch.as_strided_scatter)."""
    data, size, stride = _strided_of(input, size, stride, storage_offset)
    where = positions(data, input._array())
    return apply(AsStridedScatterBackward0, (input, src), size, stride, storage_offset, where)


# -- joins --------------------------------------------------------------------------------------------


def promoted(arrays):
    """Some arrays in the number type that all fit in."""
    common = functools.reduce(promote_np, [x.dtype for x in arrays])
    return [x.astype(common, copy=False) for x in arrays]


class CatBackward0(ShapeRule):
    """Tensors joined along a dim.

    Math: y = [a, b, ...].   VJP: to each the piece of g it became.   Shapes: (2, 3), (4, 3) -> (6, 3) for dim 0.
    Saves: nothing.   PyTorch: torch.cat
    """

    inputs = ("tensors",)
    keeps = ("dim",)

    def forward(*arrays):
        *arrays, dim, operands = arrays
        first = arrays[0].dtype
        if any([x.dtype is not first for x in arrays]):
            arrays = promoted(arrays)
        if any([shape == (0,) for shape, _ in operands]):
            arrays = [x for x in arrays if x.shape != (0,)] or arrays[:1]
        return np.concatenate(arrays, dim)

    def vjp(self, g):
        dim, operands = self.args
        grads, start = [], 0
        for k, (shape, dtype) in enumerate(operands):
            if shape == (0,) != g.shape:
                grads.append(both.zeros(shape, g))
                continue
            n = shape[dim]
            grads.append(cast(piece(g, dim, start, n), dtype) if self.needs(k) else None)
            start += n
        return tuple(grads)


class StackBackward0(ShapeRule):
    """Tensors of one shape joined along a new dim.

    Math: y[.., k, ..] = a_k.   VJP: to a_k the entry k of g.   Shapes: (2, 3), (2, 3) -> (2, 2, 3).
    Saves: nothing.   PyTorch: torch.stack
    """

    inputs = ("tensors",)
    keeps = ("dim",)

    def forward(*arrays):
        *arrays, dim, _ = arrays
        return np.stack(promoted(arrays), dim)

    def vjp(self, g):
        dim, dtypes = self.args
        if isinstance(g, Variable):
            return tuple([cast(g.select(dim, k), d) if self.needs(k) else None for k, d in enumerate(dtypes)])
        return tuple([g[at(g.ndim, dim, k)].astype(d, copy=False) for k, d in enumerate(dtypes)])


def _tensors(tensors, name):
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    for k, t in enumerate(tensors):
        if not isinstance(t, Variable):
            raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type(t).__name__}")
    return tuple(tensors)


@function(method=False)
def cat(tensors, dim=0, *, axis=None):
    """Tensors joined along a dim they have (torch.cat)."""
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
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
        elif shape[:d] != first[:d] or shape[d + 1 :] != first[d + 1 :]:
            i = next(i for i, (a, b) in enumerate(zip(first, shape, strict=True)) if a != b and i != d)
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {d}. Expected size {first[i]} but got size {shape[i]} for "
                f"tensor number {k} in the list."
            )
    if first is None:
        dim_of(dim, 1)
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
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(t._data.shape)} at "
                f"entry {k}"
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

    Math: y = diag(a, b, ...).   VJP: to each its block of g.   Shapes: (2, 3), (1, 4) -> (3, 7).   Saves: nothing.
    PyTorch: torch.block_diag
    """

    inputs = ("tensors",)

    def forward(*arrays):
        *arrays, shapes = arrays
        sizes = [_matrix_size(s) for s in shapes]
        whole = np.zeros((sum(n for n, _ in sizes), sum(m for _, m in sizes)), arrays[0].dtype)
        i = j = 0
        for x, (n, m) in zip(arrays, sizes, strict=True):
            whole[i : i + n, j : j + m] = x
            i, j = i + n, j + m
        return whole

    def vjp(self, g):
        grads = []
        i = j = 0
        for shape in self.args[0]:
            n, m = _matrix_size(shape)
            block = piece(piece(g, 0, i, n), 1, j, m)
            grads.append(block if len(shape) == 2 else block.reshape(shape))
            i, j = i + n, j + m
        return tuple(grads)


def _matrix_size(shape):
    return shape if len(shape) == 2 else (1, shape[0] if shape else 1)


@function(method=False)
def block_diag(*tensors):
    """Matrices along the diagonal of a matrix of zeros; vectors count as one row (torch.block_diag)."""
    for k, t in enumerate(tensors):
        if t._data.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {k} has {t._data.ndim} dimensions"
            )
    return apply(BlockDiagBackward0, tensors, tuple([t._data.shape for t in tensors]))


@function(method=False)
def meshgrid(*tensors, indexing=None):
    """The grid of coordinates of several vectors, as expanded views (torch.meshgrid)."""
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t._data.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
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
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(g) for g in meshgrid(*tensors, indexing="ij")], 1)


@function
def combinations(input, r=2, with_replacement=False):
    """All choices of r entries of a vector, one a row (torch.combinations)."""
    n = input._data.size
    places = np.indices((n,) * r)
    mask = np.ones((n,) * r, bool)
    for a, b in zip(places, places[1:], strict=False):
        mask &= a <= b if with_replacement else a < b
    return stack([METHODS["masked_select"](g, wrap(mask)) for g in meshgrid(*[input] * r, indexing="ij")], 1)


# -- rearranged copies --------------------------------------------------------------------------------


class RepeatBackward0(ShapeRule):
    """Copies side by side along each dim.

    Math: y[i] = a[i mod n].   VJP: the copies' gradients summed.   Shapes: (2, 3) -> (4, 3) for repeats (2, 1).
    Saves: nothing.   PyTorch: torch.Tensor.repeat, torch.tile
    """

    keeps = ("repeats", "self_sym_sizes")

    def forward(x, repeats):
        return np.tile(x, repeats)

    def vjp(self, g):
        repeats, shape = self.args
        if 0 in repeats:
            return both.zeros(shape, g)
        lead = len(repeats) - len(shape)
        split, summed = list(repeats[:lead]), list(range(lead))
        for r, n in zip(repeats[lead:], shape, strict=True):
            if r != 1:
                summed.append(len(split))
                split.append(r)
            split.append(n)
        return both.sum_over(g.reshape(split), tuple(summed))


@method
def repeat(self, *repeats, **named):
    """Copies side by side, `repeats` times along each dim (torch.Tensor.repeat)."""
    repeats = sizes_of(repeats or (named["repeats"],), "repeats")
    shape = self._data.shape
    if len(repeats) < len(shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
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
def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each entry repeated in its place (torch.repeat_interleave)."""
    if dim is None:
        input, dim = view(METHODS["contiguous"](input), -1), 0
    d = dim_of(dim, input._data.ndim)
    if isinstance(repeats, Variable) and repeats._data.size == 1:
        repeats = repeats.item()
    if isinstance(repeats, int):
        shape = input._data.shape
        wide = expand(unsqueeze(input, d + 1), (*shape[: d + 1], repeats, *shape[d + 1 :]))
        return flatten(METHODS["clone"](wide, memory_format="contiguous"), d, d + 1)
    n = input._data.shape[d]
    if repeats._data.shape != (n,):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._data.size} and input.size({d}) = {n}"
        )
    return METHODS["index_select"](input, dim, wrap(np.repeat(np.arange(n), repeats._data)))


class FlipBackward0(ShapeRule):
    """Some dims in reverse order.

    Math: y[i] = a[n - 1 - i].   VJP: g flipped.   Shapes: the same.   Saves: nothing.   PyTorch: torch.flip
    """

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

    Math: y[i] = a[(i - shift) mod n].   VJP: g rolled back.   Shapes: the same.   Saves: nothing.   PyTorch: torch.roll
    """

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
    shifts = sizes_of((shifts,) if isinstance(shifts, (tuple, list)) else (shifts,), "shifts")
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and (dims or len(shifts) > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    dims_of(dims, input._data.ndim)
    return apply(RollBackward0, (input,), shifts, dims)


class Rot90Backward0(ShapeRule):
    """A plane turned by k right angles.

    Math: for k = 1, y[i, j] = a[j, n - 1 - i].   VJP: g turned back.   Shapes: (2, 3) -> (3, 2) for odd k.   Saves: nothing.
    PyTorch: torch.rot90
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
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return apply(Rot90Backward0, (input,), k, tuple(dims))


class TrilBackward0(ShapeRule):
    """The lower triangle of a matrix, zero above.

    Math: y[i, j] = a[i, j] if j <= i + diagonal else 0.   VJP: g's lower triangle.   Shapes: (..., n, m).   Saves: nothing.
    PyTorch: torch.tril
    """

    op = "tril"
    keeps = ("diagonal",)

    def forward(x, diagonal):
        return np.tril(x, diagonal)

    def vjp(self, g):
        k = self.args[0]
        return g.tril(k) if isinstance(g, Variable) else np.tril(g, k)


class TriuBackward0(ShapeRule):
    """The upper triangle of a matrix, zero below.

    Math: y[i, j] = a[i, j] if j >= i + diagonal else 0.   VJP: g's upper triangle.   Shapes: (..., n, m).   Saves: nothing.
    PyTorch: torch.triu
    """

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


# -- what a tensor's memory looks like ----------------------------------------------------------------


@method
def size(self, dim=None):
    """The shape, or the size of one dim."""
    shape = self._data.shape
    if dim is None:
        return Size(shape)
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[dim_of(dim, len(shape))]


@method
def dim(self):
    """The number of dims."""
    return self._data.ndim


METHODS["ndimension"] = dim


@function
def numel(input):
    """The number of elements."""
    return input._data.size


METHODS["nelement"] = numel


@method
def stride(self, dim=None):
    """How many elements of memory lie between neighbours along each dim, or along one."""
    x = self._data
    steps = _strides(x) if isinstance(x, np.ndarray) else ()
    return steps if dim is None else steps[dim_of(dim, len(steps))]


def _strides(x):
    """The strides in elements. NumPy leaves those of a dim of size one open; PyTorch counts them as contiguous."""
    steps = [0] * x.ndim
    following = 1
    for i in range(x.ndim - 1, -1, -1):
        n = x.shape[i]
        steps[i] = x.strides[i] // x.itemsize
        if not x.size or (n == 1 and not steps[i]):
            steps[i] = following
        following = max(n, 1) * steps[i]
    return tuple(steps)


@method
def storage_offset(self):
    """Where in the memory the first element lies."""
    return offset_of(self._array())


@method
def is_contiguous(self, memory_format=None):
    """Whether the elements lie in memory in row-major order without gaps."""
    return not isinstance(self._data, np.ndarray) or self._data.flags.c_contiguous


@method
def data_ptr(self):
    """The address of the first element."""
    return _address(self._array())


@method
def element_size(self):
    """The bytes of one element."""
    return self._data.dtype.itemsize


@method
def is_same_size(self, other):
    """Whether both have the same shape."""
    return self._data.shape == other._data.shape


METHODS["nbytes"] = property(lambda self: self._data.nbytes, doc="The bytes of all elements.")
METHODS["itemsize"] = property(lambda self: self._data.dtype.itemsize, doc="The bytes of one element.")


class _Storage:
    """What `untyped_storage()` gives: enough to ask whether two tensors share memory."""

    def __init__(self, x):
        self._memory = storage_of(x)

    def data_ptr(self):
        return _address(self._memory)

    def nbytes(self):
        return self._memory.nbytes

    size = __len__ = nbytes

    def tolist(self):
        return self._memory.tolist()


@method
def untyped_storage(self):
    """The memory behind the tensor, shared with its views."""
    return _Storage(self._array())


@method
def storage(self):
    """The memory behind the tensor, shared with its views."""
    return _Storage(self._array())


@method
def resize_(self, *size):
    """Give the tensor another shape, with new memory if it needs more. Raises RuntimeError if it requires grad."""
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    size = sizes_of(size, "size")
    memory = storage_of(self._array())
    n = math.prod(size)
    if n > memory.size:
        memory = np.concatenate([memory, np.zeros(n - memory.size, memory.dtype)])
    self._data = memory[:n].reshape(size)
    return self


@method
def __iter__(self):
    if not self._data.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(unbind(self, 0))
