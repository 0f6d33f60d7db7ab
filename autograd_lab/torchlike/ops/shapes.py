"""Shapes: the same elements under another shape, or with the dims in another order.

A view computes nothing: it is the same memory under another shape and other strides. Its VJP puts the gradient
back where the elements came from. The functions in the first part are for formulas: like those of array_or_tensor.py they
take arrays and Tensors.
"""

import math
import operator

import numpy as np

from ...core.rules.matrices import TBackward0
from ...core.rules.views import ExpandBackward0, ViewBackward0, at
from ..autograd.batch import start_of
from ..autograd.errors import CPP_NAMES, TYPE_NAMES
from ..autograd.modes import THREAD, WATCHERS
from ..autograd.record import (
    apply,
    apply_view,
    edges_of,
    finish_inplace,
    node_for,
    wanted,
)
from ..autograd.variable import Variable, bump_version, wrap
from ..autograd.views import check_writable, move_retention
from ..creation import addressable, follow
from ..dtypes import ALL, Size
from ..dtypes import dtype as dtype_type
from ..layout import channels_last, channels_last_3d, contiguous_format, has_channels_last, preserve_format
from ..world.warning import warn_once
from .rule import FUNCTIONS, METHODS, RULES, Rule, function, method

ALL_OF = slice(None)

# -- helpers ------------------------------------------------------------------------------------------


def dim_of(dim, ndim):
    """`dim` counted from the front. Raises IndexError if there is no such dim."""
    if type(dim) is not int:
        dim = operator.index(dim)
    last = max(ndim, 1)
    if not -last <= dim < last:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but got {dim})"
        )
    return dim + last if dim < 0 else dim


def sizes_of(args, name="shape"):
    """The ints of a call f(2, 3), f((2, 3)) or f(torch.Size(...))."""
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
        raise TypeError(
            f"argument '{name}' must be tuple of ints, but found element of type {type(wrong).__name__}"
        ) from None


def dims_of(dims, ndim):
    """Several dims counted from the front; one int counts as a tuple of one."""
    return tuple([dim_of(d, ndim) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))])


def strided(x, shape, strides):
    """A writable view of the array `x` from its first element on, with the given byte strides."""
    if x.flags.c_contiguous and x.size:
        return np.ndarray(shape, x.dtype, x, 0, strides)
    return np.lib.stride_tricks.as_strided(x, shape, strides)


def placed(g, shape, index):
    """Zeros of `shape` with the array `g` at the NumPy `index`."""
    whole = np.zeros(shape, dtype=g.dtype)
    whole[index] = g
    return whole


def unsqueeze_to(g, dims, shape):
    """`g` with the dims of size one that squeeze removed."""
    if not isinstance(g, Variable):
        return g.reshape(shape)
    for d in dims:
        g = g.unsqueeze(d)
    return g


def joined(parts, dim):
    """Cat of arrays or Tensors."""
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
    """A rule whose plain values are dims, sizes and positions, which PyTorch keeps as unsigned numbers.

    hides  which of `keeps` are our own and not listed among the `_saved_` attributes
    """

    hides: tuple = ()

    def __dir__(self):
        return [n for n in Rule.__dir__(self) if n[7:] not in self.hides]

    def kept(self, name, value):
        if isinstance(value, tuple):
            return tuple([self.kept(name, v) for v in value])
        return value + 2**64 if type(value) is int and value < 0 else value


# -- the same elements under another shape ------------------------------------------------------------


class ReshapeAliasBackward0(ViewBackward0):
    """What reshape records for a view of memory that is not contiguous.

    Math: y = reshape(a, shape(y)).   VJP: reshape(g, shape(a)).
    Shapes: any with as many elements.   Saves: nothing. PyTorch: _reshape_alias
    """


class UnsafeViewBackward0(ViewBackward0):
    """The last step of a reshape that had to copy: a new shape for a fresh clone, not counted as a view of it.

    Math: y = reshape(a, shape(y)).   VJP: reshape(g, shape(a)).
    Shapes: any with as many elements.   Saves: nothing. PyTorch: _unsafe_view
    """

    keeps = ("shape", "self_sym_sizes")
    hides = ("shape",)


def infer_size(shape, numel):
    """`shape` with its -1 resolved. Raises RuntimeError if it does not have `numel` elements."""
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
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def reshaped(x, shape):
    """The array `x` in another shape over the same memory, or None if that needs a copy."""
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
            "view() received an invalid combination of arguments - got (), but expected one of:\n * "
            "(torch.dtype dtype)\n * (tuple of ints size)\n"
        )
    x = self._array()
    data = reshaped(x, infer_size(sizes_of(shape, "size"), x.size))
    if data is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return apply_view(ViewBackward0, self, data)


def _check_view_as_dtype(t, data, dtype):
    old, new = data.dtype.itemsize, dtype.np.itemsize
    if old == new:
        return
    ending = f" to view {ALL[data.dtype].type_name} as {dtype.type_name} (different element sizes), but got "
    steps = t.stride()
    if steps[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1{ending}{steps[-1]}")
    ratio = new // old
    if ratio > 1:
        for name, n in (("size(-1)", data.shape[-1]), ("storage_offset()", offset_of(data))):
            if n % ratio:
                raise RuntimeError(f"self.{name} must be divisible by {ratio}{ending}{n}")
        for i, n in enumerate(steps[:-1]):
            if n % ratio:
                raise RuntimeError(f"self.stride({i}) must be divisible by {ratio}{ending}{n}")


def _view_as_dtype(t, dtype):
    data = t._array()
    if dtype.np.itemsize != data.dtype.itemsize and not data.ndim:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {ALL[data.dtype].type_name} as {dtype.type_name} (different element sizes)"
        )
    _check_view_as_dtype(t, data, dtype)
    if t.requires_grad:
        return follow(wrap(data.view(dtype.np), box=t._shared_box()), t)
    return apply_view(ViewBackward0, t, data.view(dtype.np))


@function
def reshape(input, *sizes, shape=None):
    """The elements in another shape: a view if the strides allow it, otherwise a copy (torch.reshape)."""
    if sizes and shape is not None:
        raise TypeError("reshape() got multiple values for argument 'shape'")
    shape = sizes if shape is None else (shape,)
    if not shape:
        raise TypeError('reshape() missing 1 required positional arguments: "shape"')
    x = input._array()
    shape = infer_size(sizes_of(shape), x.size)
    data = reshaped(x, shape)
    if data is not None:
        return apply_view(ViewBackward0 if x.flags.c_contiguous else ReshapeAliasBackward0, input, data)
    return apply(UnsafeViewBackward0, (METHODS["clone"](input, memory_format=contiguous_format),), shape)


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
    """Merge the dims from start_dim to end_dim (torch.flatten); the tensor itself if that is one dim already."""
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
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) "
            "in the input tensor"
        ) from None
    return view(input, (*shape[:d], *new, *shape[d + 1 :]))


class SqueezeBackward0(ShapeRule):
    """All dims of size one left out.

    Math: y = squeeze(a).   VJP: reshape(g, shape(a)).   The dims come back.
    Shapes: (2, 1, 3) -> (2, 3).   Saves: nothing. PyTorch: torch.squeeze
    """

    keeps = ("self_sym_sizes",)

    def vjp(self, g):
        shape = self.args[-1]
        return unsqueeze_to(g, [d for d, n in enumerate(shape) if n == 1], shape)


class SqueezeBackward1(ShapeRule):
    """One dim left out, if its size is one.

    Math: y = squeeze(a, dim).   VJP: reshape(g, shape(a)).   The dim comes back.
    Shapes: (2, 1, 3) -> (2, 3).   Saves: nothing. PyTorch: torch.squeeze
    """

    keeps = ("dim", "self_sym_sizes")

    def vjp(self, g):
        dim, shape = self.args
        dims = (dim,) if isinstance(dim, int) else dim
        dims = sorted(d % len(shape) for d in dims) if shape else ()
        return unsqueeze_to(g, [d for d in dims if shape[d] == 1], shape)


class SqueezeBackward2(SqueezeBackward1):
    """Several dims left out, where their size is one.

    Math: y = squeeze(a, dim).   VJP: reshape(g, shape(a)).   The dims come back.
    Shapes: (1, 2, 1) -> (2,).   Saves: nothing. PyTorch: torch.squeeze
    """


class SqueezeBackward3(SqueezeBackward0):
    """The in-place form of SqueezeBackward0.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.squeeze_
    """


class SqueezeBackward4(SqueezeBackward1):
    """The in-place form of SqueezeBackward1.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.squeeze_
    """


class SqueezeBackward5(SqueezeBackward1):
    """The in-place form of SqueezeBackward2.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.squeeze_
    """


def _squeezed(input, dim):
    """The array without the dims, and the arguments the rule keeps."""
    x = input._array()
    shape = x.shape
    if dim is None:
        return x.reshape([n for n in shape if n != 1]), ()
    dims = dims_of(dim, len(shape))
    twice = [d for d in dims if dims.count(d) > 1]
    if twice:
        raise RuntimeError(f"dim {twice[0]} appears multiple times in the list of dims")
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
    return reshape_in_place("squeeze_", rule, self, data, *args)


def reshape_in_place(name, rule, t, data, *args):
    """Give the tensor `t` itself the array `data`, a view of its own array: the operation `name`."""
    check_writable(t)
    state = THREAD.state
    node = None
    if state.grad:
        edges = edges_of((t,))
        if wanted(edges):
            node = node_for(rule, edges, (t,), (), args)
    tangent = None if state.dual is None else state.dual.before_write(rule, (t,), data, args)
    bump_version(t)
    t._data = data
    if tangent is not None:
        state.dual.reshaped(t, tangent)
    if node is not None:
        if t._is_view():
            t._meta.set_edge(t, node)
        else:
            old, t._edge = t._edge, node
            if t._meta is not None and t._meta.retains_grad:
                move_retention(t, old, t._edge)
    if state.special:
        finish_inplace(state, rule, (t,), t, node, name)
    return t


class UnsqueezeBackward0(ShapeRule):
    """A new dim of size one.

    Math: y = unsqueeze(a, dim).   VJP: squeeze(g, dim).
    Shapes: (2, 3) -> (2, 1, 3).   Saves: nothing. PyTorch: torch.unsqueeze
    """

    keeps = ("dim",)

    def vjp(self, g):
        dim = self.args[0]
        return g.squeeze(dim)


class UnsqueezeBackward1(UnsqueezeBackward0):
    """The in-place form of UnsqueezeBackward0.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.unsqueeze_
    """


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
    return reshape_in_place("unsqueeze_", UnsqueezeBackward1, self, _unsqueezed(self, dim), dim)


# -- the dims in another order ------------------------------------------------------------------------


class TransposeBackward0(ShapeRule):
    """Two dims swapped.

    Math: y = transpose(a, dim0, dim1).   VJP: transpose(g, dim0, dim1).
    Shapes: (2, 3, 4) -> (3, 2, 4).   Saves: nothing.   PyTorch: torch.transpose
    """

    keeps = ("dim0", "dim1")

    def vjp(self, g):
        return g.swapaxes(*self.args) if g.shape or isinstance(g, Variable) else g


class TransposeBackward1(TransposeBackward0):
    """The in-place form of TransposeBackward0.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.transpose_
    """


class TBackward1(TBackward0):
    """The in-place form of TBackward0.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: Tensor.t_
    """


class PermuteBackward0(ShapeRule):
    """The dims in another order.

    Math: y = permute(a, dims).   VJP: permute(g, inverse_order(dims)).
    Shapes: (2, 3, 4) -> (4, 2, 3) for dims (2, 0, 1). Saves: nothing.   PyTorch: torch.permute
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
    return reshape_in_place(
        "transpose_", TransposeBackward1, self, _swapped(self._array(), dim0, dim1), dim0, dim1
    )


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
    return reshape_in_place("t_", TBackward1, self, _check_t(self._array(), "t_"))


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
    """Move some dims to other positions; the rest keep their order (torch.movedim)."""
    n = input._data.ndim
    given = [list(d) if isinstance(d, (tuple, list)) else [d] for d in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({given[0]} dims) should contain the same "
            f"number of dims as destination ({given[1]} dims)"
        )
    src, dst = dims_of(given[0], n), dims_of(given[1], n)
    for name, dims, text in (("source", src, given[0]), ("destination", dst, given[1])):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({text})")
    if not n:
        return apply_view(RULES["AliasBackward0"], input, input._array())
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
    n = input._data.ndim
    if n == 0:
        warn_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return input
    if n == 1:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    return transpose(input, -2, -1)


def _matrices_only(name, exact):
    what = "matrices (2-D tensors)" if exact else "matrices or batches of matrices"

    def get(self):
        n = self._data.ndim
        if n == 0:
            rest = (
                "Consider using x.conj()."
                if name != "mT"
                else "This function is the identity in these cases."
            )
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
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
            "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
            "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
            "tensor."
        )
    return permute(self, tuple(range(n - 1, -1, -1)))


METHODS["T"] = property(_reversed_dims, doc="All dims in reverse order, as a view.")
METHODS["mT"], METHODS["mH"] = _matrices_only("mT", False), _matrices_only("mH", False)
METHODS["H"] = _matrices_only("H", True)


def _imag(self):
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


METHODS["imag"] = property(_imag, doc="Raises RuntimeError: there are no complex numbers here.")
METHODS["real"] = property(lambda self: self, doc="The tensor itself: there are no complex numbers here.")


# -- repeated without a copy --------------------------------------------------------------------------


@method
def expand(self, *size, **named):
    """Repeat dims of size one without copying, and add new dims in front; -1 keeps a size (torch.Tensor.expand)."""
    size = sizes_of(size or (named["size"],), "size")
    x = self._array()
    lead = len(size) - x.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand({self.type()}{{{list(x.shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({x.ndim})"
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
                f"The expanded size of the tensor ({size[i]}) must match the existing size ({n}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(x.shape)}"
            )
        if shape[i] == n:
            strides[i] = x.strides[i - lead] if i >= lead else 0
    return apply_view(ExpandBackward0, self, strided(x, tuple(shape), tuple(strides)))


@method
def expand_as(self, other):
    """self.expand(other.shape)."""
    return expand(self, other._data.shape)


@function
def broadcast_to(input, *size, **named):
    """Another name of expand."""
    return expand(input, *size, **named)


@function(method=False)
def broadcast_shapes(*shapes):
    """The shape that several shapes broadcast to (torch.broadcast_shapes)."""
    for s in shapes:
        if not isinstance(s, (int, tuple, list)):
            raise RuntimeError(
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}"
            )
    given = [(s,) if isinstance(s, int) else s for s in shapes]
    shapes = [tuple(s) for s in given]
    out = [1] * max([len(s) for s in shapes], default=0)
    for k, shape in enumerate(shapes):
        for i in range(-1, -1 - len(shape), -1):
            if shape[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[i] in (1, out[i]):
                continue
            if out[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[i]} at {i}! Mismatching argument "
                    f"at index {k} had {given[k]}; but expected shape should be broadcastable to {out}"
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


# -- what a tensor's memory looks like ----------------------------------------------------------------


def owner_of(x):
    """The array that owns the memory of the array `x`."""
    while True:
        base = x.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # np.lib.stride_tricks inserts an object of its own
            if not isinstance(base, np.ndarray):
                return x
        x = base


def storage_of(x):
    """The memory behind the array `x` as one flat array."""
    return owner_of(x).ravel(order="K")


def offset_of(x):
    """The offset of the array `x` in its storage, in elements."""
    owner = owner_of(x)
    return 0 if owner is x else (address_of(x) - address_of(owner)) // x.itemsize


def address_of(x):
    """The address of the first element of the array `x`."""
    return x.__array_interface__["data"][0]


@method
def size(self, dim=None):
    """The shape, or the size of one dim."""
    shape = self._data.shape
    if dim is None:
        return Size.of(shape)
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
    """The strides in elements, along each dim or along one."""
    x = self._data
    steps = _strides(x) if isinstance(x, np.ndarray) else ()
    return steps if dim is None else steps[dim_of(dim, len(steps))]


def _strides(x):
    """The strides in elements. In NumPy those of dims of size one, and of new empty arrays, are arbitrary; in PyTorch they are contiguous."""
    steps = [0] * x.ndim
    new = not x.size and not any(x.strides)
    following = 1
    for i in range(x.ndim - 1, -1, -1):
        n = x.shape[i]
        steps[i] = x.strides[i] // x.itemsize
        if new or (n <= 1 and not steps[i]):
            steps[i] = following
        following = max(n, 1) * steps[i]
    return tuple(steps)


@method
def storage_offset(self):
    """The offset of the first element in the memory."""
    offset = offset_of(self._array())
    return offset - start_of(self) if WATCHERS else offset


@method
def _storage_offset(self):
    """The same without telling a watcher; for an entry of a batch, its offset in the memory of the whole batch."""
    return offset_of(self._array())


@method
def is_contiguous(self, memory_format=None):
    """Whether the elements are in row-major order (or that of `memory_format`) without gaps."""
    return not isinstance(self._data, np.ndarray) or (memory_format or contiguous_format).holds(self._data)


@method
def data_ptr(self):
    """The address of the first element."""
    return address_of(self._array())


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
METHODS["_grad"] = property(
    lambda self: None if self._meta is None else self._meta.grad,
    lambda self, value: setattr(self, "grad", value),
    doc="`.grad`, without its warning for tensors that are no leaves.",
)
METHODS["_cdata"] = property(id, doc="A number that no other tensor has: in PyTorch, an address.")


class UntypedStorage:
    """The memory of a tensor, byte by byte."""

    def __init__(self, x):
        self._memory = self._seen(storage_of(x))

    def _seen(self, memory):
        return memory.view(np.uint8)

    def data_ptr(self):
        return address_of(self._memory)

    def nbytes(self):
        return self._memory.nbytes

    def size(self):
        return self._memory.size

    __len__ = size

    def tolist(self):
        return self._memory.tolist()

    def untyped(self):
        return self

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The bytes of a file, read on demand. Writes to them do not change the file."""
        if shared:
            raise NotImplementedError("UntypedStorage.from_file(shared=True): autograd_lab writes to no file")
        return cls(np.memmap(filename, np.uint8, "c", shape=(nbytes,)))

    def __getitem__(self, i):
        if not isinstance(i, slice):
            return self._memory[i].tolist()
        if i.step not in (None, 1):
            raise RuntimeError(f"Trying to slice with a step of {i.step}, but only a step of 1 is supported")
        part = type(self).__new__(type(self))
        part._memory = np.asarray(memoryview(self._memory[i]))  # the same memory, but not a view of it
        return part

    def __setitem__(self, i, value):
        self._memory[i] = value

    def __repr__(self):
        rows = "".join(f" {value}\n" for value in self.tolist())
        return f"{rows}[torch.storage.{type(self).__name__}({self._about()}device=cpu) of size {len(self)}]"

    def _about(self):
        return ""


class TypedStorage(UntypedStorage):
    """The same, number by number."""

    def untyped(self):
        return UntypedStorage(self._memory)

    def _seen(self, memory):
        return memory

    def _about(self):
        return f"dtype={ALL[self._memory.dtype]}, "


@method
def untyped_storage(self):
    """The memory behind the tensor, shared with its views."""
    return UntypedStorage(self._array())


@method
def storage(self):
    """The memory behind the tensor, shared with its views."""
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This should "
        "only matter to you if you are using storages directly.  To access UntypedStorage directly, use tensor.untyped_storage() "
        "instead of tensor.storage()"
    )
    return TypedStorage(self._array())


@method
def resize_as_(self, the_template, *, memory_format=None):
    """self.resize_(the_template.shape), in the template's order of dims for `preserve_format`."""
    like = the_template._data
    if memory_format is preserve_format:
        memory_format = (
            (channels_last if like.ndim == 4 else channels_last_3d)
            if has_channels_last(like)
            else contiguous_format
        )
    return resize_(self, *like.shape, memory_format=memory_format)


FUNCTIONS["resize_as_"] = resize_as_


@method
def resize_(self, *size, memory_format=None):
    """Give the tensor another shape, with new memory if it needs more, its dims in the order of `memory_format`.

    Raises RuntimeError if it requires a gradient.
    """
    if self.requires_grad and not THREAD.state.inference:
        raise RuntimeError("cannot resize variables that require grad")
    size = sizes_of(size, "size")
    if any(n < 0 for n in size) or math.prod(size) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    addressable(size)
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    if size == self._data.shape and memory_format is None:
        return self  # and its strides stay the same
    order = (memory_format or contiguous_format).order(len(size))
    bump_version(self)
    memory, start = storage_of(self._array()), offset_of(self._array())
    end = start + math.prod(size)
    if end > memory.size:
        memory = np.concatenate([memory, np.zeros(end - memory.size, memory.dtype)])
    self._data = memory[start:end].reshape([size[d] for d in order]).transpose(np.argsort(order))
    return self


@method
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Make the tensor share the memory of `source`, with the same size and strides, or with the given ones.

    source    a tensor, or a storage; without it the tensor becomes empty

    Memory that is too small is replaced by a larger one. Raises RuntimeError for another type and for a geometry outside of memory;
    NotImplementedError where PyTorch would record it as a node without a derivative.
    """
    kind, memory = self._data.dtype, getattr(source, "_memory", None)
    if memory is None:
        array = np.zeros(0, kind) if source is None else source._array()
        if THREAD.state.grad and (self.requires_grad or (source is not None and source.requires_grad)):
            check_writable(self)
            raise NotImplementedError(
                "set_ is not recorded here, where PyTorch's has no derivative: use it under no_grad"
            )
    else:
        array = memory.view(kind) if type(source) is UntypedStorage else memory
    if array.dtype is not kind and memory is not None:
        raise RuntimeError(
            f"Expected a Storage of type {CPP_NAMES[kind.name]} or an UntypedStorage, but got type {TYPE_NAMES[array.dtype.name]} "
            "for argument 1 'storage'"
        )
    if array.dtype is not kind:
        raise RuntimeError(
            f"Could not set tensor of type {CPP_NAMES[array.dtype.name]} to a tensor of type {CPP_NAMES[kind.name]}"
        )
    if size is not None:
        array = _seen_in(storage_of(array), storage_offset, tuple(size), stride, self._data.shape)
    bump_version(self)
    self._data = array
    return self


def _seen_in(memory, start, size, stride, old_size):
    grows = stride is not None or size != old_size
    if stride is None or stride == ():
        stride = [math.prod(n or 1 for n in size[d + 1 :]) for d in range(len(size))]
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if start < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {start}")
    end = start + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else start
    if end * memory.itemsize >= 2**63:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
        )
    if end > memory.size and not grows:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides [], storage offset {start}, and itemsize {memory.itemsize} requiring a storage "
            f"size of {end * memory.itemsize} are out of bounds for storage of size {memory.nbytes}"
        )
    if end > memory.size:
        memory = np.concatenate([memory, np.zeros(end - memory.size, memory.dtype)])
    steps = [s * memory.itemsize for s in stride]
    return np.lib.stride_tricks.as_strided(memory[start:], size, steps)
