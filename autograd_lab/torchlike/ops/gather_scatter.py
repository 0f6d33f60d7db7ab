"""Gather and scatter along a dim or under a mask: index_select, gather, scatter, masked_fill, take, and others.

Each rule here either gathers (its VJP scatters, adding where a position was gathered twice) or scatters (its VJP gathers).
"""

import math

import numpy as np

from ..autograd.errors import CPP_NAMES, TYPE_NAMES
from ..autograd.function import undifferentiable
from ..autograd.memory import check_apart, check_partly, shares_places
from ..autograd.metadata import sum_to
from ..autograd.modes import WATCHERS, watcher
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import Variable, edge_of, wrap
from ..autograd.views import check_writable
from ..creation import follow
from ..dtypes import ALL, as_places, number_as
from ..layout import like, rows
from ..world.warning import warn, warn_once
from . import array_or_tensor as both
from .comparison import NoDerivative, constant_result
from .indexing import added_at
from .rule import METHODS, broadcast_error, function, method, shape_error
from .shapes import ShapeRule, at, dim_of, expand, infer_size, placed, reshape
from .slicing import diagonal_of, select, take_slice, unbind

# -- for formulas: arrays and Tensors alike -----------------------------------------------------------


def along(index, dim, shape):
    """NumPy's index for the positions (.., index[.., k, ..], ..) of an array of `shape`."""
    if not shape:
        return (...,)
    if not index.ndim:
        return (index,)
    if not index.size:  # may have any number of dims, and any type
        return (index.astype(np.intp),) * len(shape)
    n = index.ndim
    places = [np.arange(k).reshape((k,) + (1,) * (n - 1 - d)) for d, k in enumerate(index.shape)]
    places[dim % n] = index
    return tuple(places)


def gathered(x, dim, index):
    """Gather of an array or Tensor."""
    if isinstance(x, Variable):
        return METHODS["gather"](x, dim, index if isinstance(index, Variable) else wrap(index))
    index = both.array_of(index)
    if not x.ndim:
        return np.full(index.shape, x, x.dtype)
    return x[along(index, dim, x.shape)]


def scattered(x, dim, index, src):
    """scatter_add of arrays or Tensors."""
    if isinstance(x, Variable):
        return METHODS["scatter_add"](x, dim, index if isinstance(index, Variable) else wrap(index), src)
    return ScatterAddBackward0.forward(x, src, both.array_of(index), dim)


def rows_of(g, dim, index):
    """index_select of an array or Tensor."""
    if isinstance(g, Variable):
        return METHODS["index_select"](g, dim, index if isinstance(index, Variable) else wrap(index))
    return IndexSelectBackward0.forward(g, both.array_of(index), dim)


def _rows_for(source, g, dim, index):
    """The rows of `g` that the rows of `source` went to."""
    if not isinstance(g, Variable):
        return rows_of(g, dim, index).reshape(source.shape)
    if source.shape:
        return rows_of(g, dim, index).expand_as(source)
    return rows_of(g, dim, index.squeeze(0))


def _as_index(index, like):
    return (
        index
        if isinstance(like, Variable) == isinstance(index, Variable)
        else both.constant(both.array_of(index), like)
    )


def _index_kind(name, index, text):
    if index._data.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): {text}")


def _in_bounds(index, n, dim, error=RuntimeError, negative=False, name=""):
    i = index._data
    if not i.size:
        return
    if negative:
        fits = i.max() < n and i.min() >= -n
    else:
        fits = i.view(f"u{i.itemsize}").max() < n  # a negative index is a huge unsigned one
    if not fits:
        wrong = next(k for k in i.reshape(-1).tolist() if not (-n if negative else 0) <= k < n)
        raise error(f"{name}index {wrong} is out of bounds for dimension {dim} with size {n}")


def _register(name, build):
    """Make the function `name`, its method and its in-place form.

    `build` checks the arguments and returns (rule, inputs, args).
    """

    def fn(input, *args, **kwargs):
        rule, inputs, rest = build(input, *args, **kwargs)
        return apply(rule, inputs, *rest)

    def in_place(self, *args, **kwargs):
        rule, inputs, rest = build(self, *args, **kwargs)
        check_writable(self)
        if name == "masked_fill":
            check_partly(self, inputs[-1:])
        elif name != "masked_scatter":
            check_apart(self, inputs[-1:] if name == "index_fill" else inputs[1:])
        if name.endswith("_fill") and shares_places(self):
            warn(
                f"Use of {name}_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
                "operation. This also applies to advanced indexing e.g. tensor[mask] = scalar"
            )
        return apply_inplace(rule, inputs, *rest, name=name + "_")

    fn.__name__ = fn.__qualname__ = name
    in_place.__name__ = in_place.__qualname__ = name + "_"
    fn.__doc__ = build.__doc__
    in_place.__doc__ = f"The in-place form of `{name}`."
    fn.__wrapped__ = in_place.__wrapped__ = build
    method(in_place)
    return function(fn)


# -- rows ---------------------------------------------------------------------------------------------


class IndexSelectBackward0(ShapeRule):
    """Entries along a dim, in the order of an index.

    Math: y = index_select(a, dim, index).   VJP: index_add(zeros_like(a), dim, index, g).
    Shapes: (5, 3) -> (2, 3) for two. Saves: the index.   PyTorch: torch.index_select
    """

    inputs = ("self", "index")
    operands = 1
    saves = ("index",)
    keeps = ("dim", "self_sym_sizes")

    def forward(x, index, dim):
        return x.take(as_places(index.reshape(-1)), axis=dim) if x.ndim else np.array(x)

    def vjp(self, g, index):
        dim, shape = self.args
        return _rows_added(both.zeros(shape, g), dim, index, g)


@function
def index_select(input, dim, index):
    """Entries along `dim` in the order of a vector of indices, as a copy (torch.index_select)."""
    if index._data.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _index_kind("index_select", index, "Expected dtype int32 or int64 for index")
    shape = input._data.shape
    d = dim_of(dim, len(shape))
    i = index._data
    if not shape and i.size != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {i.size} value(s)")
    if len(shape) > 1 and not shape[d] and i.size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if i.size and i.view(f"u{i.itemsize}").max() >= (shape[d] if shape else 1):
        if d == 1 or (len(shape) > 1 and 0 in shape):
            wrong = next(k for k in i.reshape(-1).tolist() if not 0 <= k < shape[d])
            raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={shape[d]}")
        raise IndexError("index out of range in self")
    return apply(IndexSelectBackward0, (input, index), dim)


class IndexAddBackward0(ShapeRule):
    """Rows added at given entries of a dim.

    Math: y = index_add(a, dim, index, alpha * b).   VJP: to a: g; to b: alpha * reshape(index_select(g, dim, index),
    shape(b)).
    Shapes: b has as many entries along the dim as the index.   Saves: the index, b.   PyTorch: torch.index_add
    """

    inputs = ("self", "source", "index")
    operands = 2
    saves = ("index", "source")
    saves_if = {"index": (1,), "source": (1,)}
    keeps = ("dim", "alpha", "source_dim")

    def forward(x, source, index, dim, alpha, _=0):
        y = np.array(x) if not isinstance(x, np.ndarray) else x.copy()
        source = source if alpha == 1 else (source * alpha).astype(x.dtype)
        if not y.ndim:
            return y + source.sum().astype(x.dtype)
        moved = np.moveaxis(y, dim, 0)
        rows = np.moveaxis(source, dim, 0) if source.ndim else source.reshape(1)
        added_at(moved, (index.reshape(-1),), rows)
        return y

    def vjp(self, g, index, source):
        dim, alpha, _ = self.args
        if source is None:
            return g, None
        to_source = _rows_for(source, g, dim, index)
        return g if self.needs(0) else None, to_source if alpha == 1 else to_source * alpha


def _index_add(input, dim, index, source, *, alpha=1):
    """A copy with the rows of `source` added at the entries `index` of `dim` (torch.index_add)."""
    shape = input._data.shape
    d = dim_of(dim, len(shape))
    rows = source._data.shape[d] if d < source._data.ndim else 1
    if index._data.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.type_name}"
        )
    if source._data.dtype is not input._data.dtype:
        raise RuntimeError(
            f"index_add_(): self ({input.dtype.type_name}) and source ({source.dtype.type_name}) must have "
            "the same scalar type"
        )
    if index._data.size != rows:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index._data.size}) should be equal to source.size(dim): "
            f"({rows}), for dim: {d}"
        )
    other = source._data.shape
    if [*shape[:d], *shape[d + 1 :]] != [*other[:d], *other[d + 1 :]] or len(shape) != len(other):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(shape)} source.shape = {list(other)}"
        )
    _in_bounds(index, shape[d] if shape else 1, d)
    if input._data.dtype.kind != "f":
        alpha = number_as(alpha, input._data.dtype)
    return IndexAddBackward0, (input, source, index), (dim, alpha, source._data.ndim)


class IndexFillBackward0(ShapeRule):
    """Given entries of a dim set to a number.

    Math: y = index_fill(a, dim, index, value).   VJP: index_fill(g, dim, index, 0).
    Shapes: the same.   Saves: the index. PyTorch: torch.index_fill
    """

    layout = like
    inputs = ("self", "index")
    operands = 1
    saves = ("index",)
    keeps = ("dim",)

    def forward(x, index, dim, value):
        y = np.array(x) if not isinstance(x, np.ndarray) else x.copy()
        y[at(y.ndim, dim, index.reshape(-1))[: max(y.ndim, 1)] if y.ndim else ...] = value
        return y

    def vjp(self, g, index):
        dim = self.args[0]
        if isinstance(g, Variable):
            return METHODS["index_fill"](g, dim, index, 0)
        return IndexFillBackward0.forward(g, index, dim, 0)


class IndexFillBackward1(ShapeRule):
    """Given entries of a dim set to a 0-d tensor.

    Math: y = index_fill(a, dim, index, value).   VJP: to a: index_fill(g, dim, index, 0); to value:
    sum(index_select(g, dim, unique(index))).
    Shapes: c is 0-d.   Saves: the index.   PyTorch: torch.index_fill
    """

    layout = like
    inputs = ("self", "value", "index")
    operands = 2
    saves = ("index",)
    keeps = ("dim",)

    def forward(x, value, index, dim):
        return IndexFillBackward0.forward(x, index, dim, value)

    def vjp(self, g, index):
        dim = self.args[0]
        to_self = (
            METHODS["index_fill"](g, dim, index, 0)
            if isinstance(g, Variable)
            else IndexFillBackward0.forward(g, index, dim, 0)
        )
        once = METHODS["unique"](index) if isinstance(index, Variable) else np.unique(index)
        return to_self, rows_of(g, dim, once).sum() if self.needs(1) else None


def _index_fill(input, dim, index, value):
    """A copy with the entries `index` of `dim` set to one value (torch.index_fill)."""
    shape = input._data.shape
    d = dim_of(dim, len(shape))
    if index._data.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    _in_bounds(index, shape[d] if shape else 1, d, IndexError, negative=True)
    if isinstance(value, Variable):
        if value._data.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._data.ndim} dimension(s)."
            )
        return IndexFillBackward1, (input, value, index), (dim,)
    return IndexFillBackward0, (input, index), (dim, number_as(value, input._data.dtype))


class IndexCopyBackward0(ShapeRule):
    """Given entries of a dim replaced by rows of another tensor.

    Math: y = index_copy(a, dim, index, b).   VJP: to a: index_fill(g, dim, index, 0); to b: reshape(index_select(g,
    dim, index), shape(b)).
    Shapes: b has as many entries along the dim as the index.   Saves: the index, b.   PyTorch: torch.index_copy
    """

    inputs = ("self", "source", "index")
    operands = 2
    saves = ("index", "source")
    saves_if = {"source": (1,)}
    keeps = ("dim", "source_dim")

    @classmethod
    def linear(cls, args):
        return True

    def forward(x, source, index, dim, _):
        y = np.array(x) if not isinstance(x, np.ndarray) else x.copy()
        if not y.ndim:
            y.reshape(1)[index.reshape(-1)] = source.reshape(-1)
        else:
            np.moveaxis(y, dim, 0)[index.reshape(-1)] = np.moveaxis(source, dim, 0) if source.ndim else source
        return y

    def vjp(self, g, index, source):
        dim = self.args[0]
        to_self = (
            METHODS["index_fill"](g, dim, index, 0)
            if isinstance(g, Variable)
            else IndexFillBackward0.forward(g, index, dim, 0)
        )
        return to_self, _rows_for(source, g, dim, index) if self.needs(1) else None


def _index_copy(input, dim, index, source):
    """A copy with the entries `index` of `dim` replaced by the rows of `source` (torch.index_copy)."""
    shape, other = input._data.shape, source._data.shape
    d = dim_of(dim, len(shape))
    if index._data.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index._data.ndim})")
    if not other and index._data.size != 1:
        raise IndexError(
            f"index_copy_(): When source is scalar, index should have one element (got {index._data.size})"
        )
    if len(other) != len(shape) and other and shape:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(other)}), destination dimensionality ({len(shape)})"
        )
    if index._data.dtype != np.int64:
        raise RuntimeError(
            "index_copy_(): Expected a long tensor for index, but got " + index.dtype.type_name
        )
    if source._data.dtype is not input._data.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{input.dtype.type_name} and (source) {source.dtype.type_name}"
        )
    if not other and len(shape) > 1:
        kept = " ".join(str(n) for i, n in enumerate(shape) if i != d)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{kept} at dimension {d} and source slice shape:  at dimension 0."
        )
    if len(other) > 1 and not shape:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape:  at dimension "
            f"0 and source slice shape: {' '.join(map(str, other[1:]))} at dimension 0."
        )
    if other and index._data.size != other[d]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index._data.size}) should be equal to source.size(dim) ({other[d]})"
        )
    _in_bounds(index, shape[d] if shape else 1, d, IndexError, name="index_copy_(): ")
    return IndexCopyBackward0, (input, source, index), (dim, source._data.ndim)


_register("index_add", _index_add)
_register("index_fill", _index_fill)
_register("index_copy", _index_copy)

# -- gather and scatter -------------------------------------------------------------------------------


class GatherBackward0(ShapeRule):
    """One element along a dim for each entry of an index.

    Math (dim 0): y[i, j] = a[index[i, j], j].   Math: y = gather(a, dim, index).   VJP: scatter_add(zeros_like(a),
    dim, index, g).
    Shapes: that of the index, which is no larger than a in the other dims.   Saves: a, the index. PyTorch:
    torch.gather
    """

    inputs = ("self", "index")
    operands = 1
    saves = ("self", "index")
    keeps = ("dim", "sparse_grad")

    def forward(x, index, dim, _sparse):
        return gathered(x, dim, index)

    def vjp(self, g, x, index):
        return scattered(both.zeros_like(x), self.args[0], index, g)


def _check_index(name, input, dim, index):
    shape, other = input._data.shape or (1,), index._data.shape or (1,)
    d = dim_of(dim, input._data.ndim)
    if not index._data.size:
        return d
    if index._data.dtype not in (np.int64, np.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if len(shape) != len(other):
        whose = "input" if name == "gather" else "self"
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {whose} tensor")
    return d


@function
def gather(input, dim, index, *, sparse_grad=False):
    """One element along `dim` for each entry of `index` (torch.gather)."""
    d = _check_index("gather", input, dim, index)
    shape, other = input._data.shape or (1,), index._data.shape or (1,)
    for k, (n, m) in enumerate(zip(shape, other, strict=False)):
        if k != d and m > n and index._data.size:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(other)} to be no larger than "
                f"self {list(shape)} apart from dimension {d}"
            )
    _in_bounds(index, shape[d], d)
    return apply(GatherBackward0, (input, index), dim, sparse_grad)


def _cut(src, index):
    """The part of `src` that an index of smaller size uses."""
    if not index.size:
        return np.empty(index.shape, src.dtype)
    return src[tuple([slice(n) for n in index.shape])] if src.shape != index.shape else src


class ScatterBackward0(ShapeRule):
    """Elements of a dim overwritten where an index says.

    Math (dim 0): y = a; y[index[i, j], j] = b[i, j].   Math: y = scatter(a, dim, index, b).   VJP: to a: scatter(g,
    dim, index, 0); to b: gather(g, dim, index).
    Shapes: the index is no larger than b.   Saves: the index.   PyTorch: torch.scatter
    """

    inputs = ("self", "src", "index")
    operands = 2
    saves = ("index",)
    keeps = ("dim",)

    @classmethod
    def linear(cls, args):
        return True

    def forward(x, src, index, dim, *_):
        return ScatterBackward1.forward(x, index, dim, _cut(src, index))

    def vjp(self, g, index):
        dim, shape = self.args
        to_self = _cleared(g, dim, index) if self.needs(0) else None
        return to_self, _whole(self, gathered(g, dim, index), shape) if self.needs(1) else None


def _whole(node, g, shape):
    """The gradient of a source of `shape`, if needed.

    Raises RuntimeError, like PyTorch's engine, if the index left out some of it.
    """
    if not node.needs(1):
        return None
    if g.shape != shape:
        raise RuntimeError(
            f"Function {node.name()} returned an invalid gradient at index 1 - got {list(g.shape)} but expected shape "
            f"compatible with {list(shape)}"
        )
    return g


class ScatterBackward1(ShapeRule):
    """Elements of a dim set to a number where an index says.

    Math (dim 0): y = a; y[index[i, j], j] = c.   Math: y = scatter(a, dim, index, value).   VJP: scatter(g, dim,
    index, 0).
    Shapes: the same. Saves: the index. PyTorch: torch.scatter
    """

    inputs = ("self", "index")
    operands = 1
    saves = ("index",)
    keeps = ("dim",)

    def forward(x, index, dim, value):
        y = np.array(x) if not isinstance(x, np.ndarray) else x.copy()
        if y.ndim:
            y[along(index, dim, y.shape)] = value
        elif index.size:
            y[...] = np.reshape(value, -1)[-1]  # a 0-d tensor has one position: the last write wins
        return y

    def vjp(self, g, index):
        return _cleared(g, self.args[0], index)


def _cleared(g, dim, index):
    """`g` with zeros where the index says."""
    if isinstance(g, Variable):
        return METHODS["scatter"](g, dim, index, 0.0)
    return ScatterBackward1.forward(g, index, dim, 0)


class ScatterAddBackward0(ShapeRule):
    """Elements added along a dim where an index says.

    Math (dim 0): y = a; y[index[i, j], j] += b[i, j].   Math: y = scatter_add(a, dim, index, b).   VJP: to a: g; to
    b: gather(g, dim, index).
    Shapes: the index is no larger than b.   Saves: the index.   PyTorch: torch.scatter_add
    """

    inputs = ("self", "src", "index")
    operands = 2
    saves = ("index",)
    saves_if = {"index": (1,)}
    keeps = ("dim",)

    @classmethod
    def linear(cls, args):
        return True

    def forward(x, src, index, dim, *_):
        y = np.array(x) if not isinstance(x, np.ndarray) else x.copy()
        if not y.ndim:
            return y + _cut(src, index).sum(dtype=y.dtype)
        np.add.at(y, along(index, dim, y.shape), _cut(src, index))
        return y

    def vjp(self, g, index):
        dim, shape = self.args
        return g if self.needs(0) else None, _whole(self, gathered(g, dim, index), shape) if self.needs(
            1
        ) else None


def _in_one_place(rule, x, src, index, *args):
    """A scatter into a 0-d array, as one into a vector of one element."""
    return rule.forward(np.reshape(x, 1), np.reshape(src, -1), np.reshape(index, -1), *args)[0]


class ScatterReduced(NoDerivative, ShapeRule, name="NotImplemented"):
    """A scatter that reduces with the legacy `reduce=` argument, which has no derivative.

    Math: y = a; y[index] op= b.   VJP: none.   Shapes: as scatter.   Saves: nothing.
    PyTorch: torch.scatter(reduce=...)
    """

    inputs = ("self", "src", "index")
    operands = 1
    keeps = ()

    @classmethod
    def which(cls, _):
        return "scatter"

    def forward(x, src, index, dim, reduce):
        if not x.ndim:
            return _in_one_place(ScatterReduced, x, src, index, dim, reduce)
        y = x.copy()
        (np.add if reduce == "add" else np.multiply).at(y, along(index, dim, y.shape), _cut(src, index))
        return y


def _check_src(name, input, d, index, src):
    shape, other, given = input._data.shape or (1,), index._data.shape or (1,), src._data.shape or (1,)
    if src._data.dtype is not input._data.dtype:
        name = name.removesuffix("_reduce")  # PyTorch's message is that of scatter
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if len(given) < len(other) and index._data.size:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(given)}, {len(given) - 1}], but got "
            f"{len(given)})"
        )
    if len(given) > len(other) and index._data.size:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(m > n for k, (n, m) in enumerate(zip(shape, other, strict=False)) if k != d) or any(
        m > n for n, m in zip(given, other, strict=False)
    ):
        raise RuntimeError(
            f"Expected index {list(other)} to be no larger than self {list(shape)} apart from dimension {d} "
            f"and to be no larger size than src {list(given)}"
        )


def _scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy with elements of `src` (or one value) put along `dim` where `index` says (torch.scatter)."""
    d = _check_index("scatter", input, dim, index)
    src = value if src is None else src
    if isinstance(src, Variable):
        _check_src("scatter", input, d, index, src)
    else:
        shape, other = input._data.shape or (1,), index._data.shape or (1,)
        if index._data.size and any(
            m > n for k, (n, m) in enumerate(zip(shape, other, strict=True)) if k != d
        ):
            raise RuntimeError(
                f"Expected index {list(other)} to be no larger than self {list(shape)} apart from dimension {d}"
            )
    _in_bounds(index, (input._data.shape or (1,))[d], d)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if isinstance(src, Variable):
            warn_once(
                "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in "
                "a future PyTorch release. Use torch.scatter_reduce instead for more reduction options."
            )
        else:
            src = wrap(np.full(index._data.shape, src, input._data.dtype))
        return ScatterReduced, (input, src, index), (dim, reduce)
    if isinstance(src, Variable):
        return ScatterBackward0, (input, src, index), (dim, src._data.shape)
    return ScatterBackward1, (input, index), (dim, number_as(src, input._data.dtype))


def _scatter_add(input, dim, index, src):
    """A copy with elements of `src` added along `dim` where `index` says (torch.scatter_add)."""
    d = _check_index("scatter", input, dim, index)
    _check_src("scatter", input, d, index, src)
    _in_bounds(index, (input._data.shape or (1,))[d], d)
    return ScatterAddBackward0, (input, src, index), (dim, src._data.shape)


class ScatterReduceBackward0(ShapeRule):
    """Elements combined along a dim where an index says: summed, multiplied, averaged, or the largest or smallest kept.

    Math (dim 0): y[t, j] = reduce of a[t, j] and all b[i, j] with index[i, j] = t. Math: y = scatter_reduce(a, dim,
    index, b, reduce, include_self).   VJP: to a: to_a if include_self else scatter(to_a, dim, index, 0); to b:
    gather(g, dim, index) if reduce == 'sum' else gather(g / n, dim, index) if reduce == 'mean' else gather(g, dim,
    index) * scatter_others(a, dim, index, b, include_self) if reduce == 'prod' else (b == gather(y, dim, index)) *
    gather(g / wins, dim, index); to_a = g if reduce == 'sum' else g / n if reduce == 'mean' else g *
    scatter_reduce(ones_like(a), dim, index, b, 'prod', True) if reduce == 'prod' else (a == y) * g / wins; n =
    maximum(scatter_add(ones_like(a) if include_self else zeros_like(a), dim, index, ones_like(b)), 1); wins =
    maximum(scatter_add(a == y, dim, index, b == gather(y, dim, index)), 1).   Of several zeros multiplied, prod has
    no second derivative.
    Shapes: as scatter.   Saves: a, b, the index, the result.   PyTorch: torch.scatter_reduce
    """

    inputs = ("self", "src", "index")
    operands = 2
    saves = ("self", "src", "index", "result")
    keeps = ("dim", "reduce", "include_self")
    again = "scatter_reduce"
    picked, added, cleared = staticmethod(gathered), staticmethod(scattered), staticmethod(_cleared)
    UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}

    @classmethod
    def linear(cls, args):
        return args[1] in ("sum", "mean")

    def forward(x, src, index, dim, reduce, include_self):
        if not x.ndim:
            return _in_one_place(ScatterReduceBackward0, x, src, index, dim, reduce, include_self)
        y = x.copy()
        places = along(index, dim, y.shape)
        src = _cut(src, index)
        ufunc = ScatterReduceBackward0.UFUNCS[reduce]
        if not include_self:
            info = (
                np.finfo(y.dtype)
                if y.dtype.kind == "f"
                else np.iinfo(y.dtype)
                if y.dtype.kind in "iu"
                else None
            )
            low, high = (
                (-np.inf, np.inf) if y.dtype.kind == "f" else (info.min, info.max) if info else (False, True)
            )
            y[places] = {"prod": 1, "amax": low, "amin": high}.get(reduce, 0)
        ufunc.at(y, places, src)
        if reduce == "mean":
            count = np.ones(y.shape, np.int64) if include_self else np.zeros(y.shape, np.int64)
            np.add.at(count, places, 1)
            count = np.maximum(count, 1)
            y = y / count.astype(y.dtype) if y.dtype.kind == "f" else y // count.astype(y.dtype)
        return y

    def vjp(self, g, x, src, index, y):
        dim, reduce, include_self = self.args
        zeros, ones_src = both.zeros_like(x), both.zeros_like(src) + 1
        if reduce == "sum":
            to_self, to_src = g, _whole(self, self.picked(g, dim, index), src.shape)
        elif reduce == "mean":
            count = self.added(zeros + 1 if include_self else zeros, dim, index, ones_src)
            count = both.where(both.array_of(count) == 0, 1, count)
            share = self.picked(g, dim, index) / self.picked(count, dim, index)
            to_self, to_src = g / count, _whole(self, share, src.shape)
        elif reduce == "prod":
            to_self, to_src = self._prod(g, x, src, index, y)
        else:
            is_x = both.constant((both.array_of(x) == both.array_of(y)).astype(both.array_of(x).dtype), g)
            hits = both.array_of(src) == both.array_of(self.picked(y, dim, index))
            is_src = both.constant(hits.astype(both.array_of(x).dtype), g)
            share = g / both.where(both.array_of(sum_ := self.added(is_x, dim, index, is_src)) == 0, 1, sum_)
            to_self, to_src = is_x * share, is_src * self.picked(share, dim, index)
        return to_self if include_self else self.cleared(to_self, dim, index), to_src

    def _prod(self, g, x, src, index, y):
        dim, _, include_self = self.args

        def prod(a, b):
            if isinstance(a, Variable):
                return METHODS[self.again](a, dim, index, b, "prod", include_self=include_self)
            return self.forward(a, b, index, *self.args)

        # Where an operand is zero, the product of the others is not result / operand: compute it without that zero.
        plain_x = both.filled(x, both.array_of(x) == 0, 1)
        to_self = g * prod(plain_x, src) / plain_x
        zero, places = both.array_of(src) == 0, both.array_of(index)
        zeros_at = self.added(np.zeros(x.shape, np.int64), dim, places, zero.astype(np.int64))
        zeros = self.picked(zeros_at, dim, places)
        single = zero & (zeros == 1)
        others = self.picked(g * prod(x, both.filled(src, single, 1)), dim, index)
        to_src = both.where(single, others, self.picked(g * y, dim, index) / both.filled(src, zero, 1))
        if (
            isinstance(g, Variable) and (zeros > 1).any()
        ):  # that they are zero tells nothing about their tangents
            name = self.inputs[1]
            (to_src,) = undifferentiable(
                f"{self.again}(): Double backward is unsupported for {name} when >1 zeros in {name} are scattered to the "
                "same position in self",
                (to_src,),
                (edge_of(to_src),),
            )
        return to_self, to_src


def _scatter_reduce(input, dim, index, src, reduce, *, include_self=True):
    """A copy with elements of `src` combined into it along `dim` where `index` says (torch.scatter_reduce)."""
    if reduce not in ScatterReduceBackward0.UFUNCS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    d = _check_index("scatter", input, dim, index)
    _check_src("scatter_reduce", input, d, index, src)
    _in_bounds(index, (input._data.shape or (1,))[d], d)
    return ScatterReduceBackward0, (input, src, index), (dim, reduce, include_self)


def _rows_added(x, dim, index, src):
    """index_add of arrays or Tensors."""
    if isinstance(x, Variable):
        return METHODS["index_add"](x, dim, index, src)
    return IndexAddBackward0.forward(x, src, index, dim, 1)


def _rows_cleared(g, dim, index):
    """`g` with zeros in the rows of the index."""
    if isinstance(g, Variable):
        return METHODS["index_fill"](g, dim, index, 0)
    return IndexFillBackward0.forward(g, index, dim, 0)


class IndexReduceBackward0(ScatterReduceBackward0):
    """Rows combined along a dim: multiplied, averaged, or the largest or smallest kept.

    Math, Math: y = scatter_reduce(a, dim, rows(index, b, dim), b, reduce, include_self).   VJP: to a: to_a if
    include_self else scatter(to_a, dim, rows(index, b, dim), 0); to b: gather(g, dim, rows(index, b, dim)) if reduce
    == 'sum' else gather(g / n, dim, rows(index, b, dim)) if reduce == 'mean' else gather(g, dim, rows(index, b, dim))
    * scatter_others(a, dim, rows(index, b, dim), b, include_self) if reduce == 'prod' else (b == gather(y, dim,
    rows(index, b, dim))) * gather(g / wins, dim, rows(index, b, dim)); to_a = g if reduce == 'sum' else g / n if
    reduce == 'mean' else g * scatter_reduce(ones_like(a), dim, rows(index, b, dim), b, 'prod', True) if reduce ==
    'prod' else (a == y) * g / wins; n = maximum(scatter_add(ones_like(a) if include_self else zeros_like(a), dim,
    rows(index, b, dim), ones_like(b)), 1); wins = maximum(scatter_add(a == y, dim, rows(index, b, dim), b ==
    gather(y, dim, rows(index, b, dim))), 1).   Of several zeros multiplied, prod has no second derivative.
    Shapes: as index_add. Saves: as scatter_reduce. PyTorch: torch.index_reduce
    """

    inputs = ("self", "source", "index")
    no_jvp = "index_reduce"
    saves = ("self", "source", "index", "result")
    again = "index_reduce"
    picked, added, cleared = staticmethod(rows_of), staticmethod(_rows_added), staticmethod(_rows_cleared)

    def forward(x, source, index, dim, reduce, include_self):
        if not x.ndim:
            return _in_one_place(ScatterReduceBackward0, x, source, index, 0, reduce, include_self)
        return ScatterReduceBackward0.forward(
            x, source, _repeated(index, dim, source.shape), dim, reduce, include_self
        )


def _repeated(index, dim, shape):
    """A vector of indices along `dim`, the same for all other dims."""
    return np.broadcast_to(
        np.expand_dims(index, [d for d in range(len(shape)) if d != dim % len(shape)]), shape
    )


def _check_rows(x, d, index, source):
    """The errors of index_reduce for an index or a source that does not fit."""
    if index.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {TYPE_NAMES[index.dtype.name]} "
            f"and size: {list(index.shape)}"
        )
    if index.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {TYPE_NAMES[index.dtype.name]}"
        )
    if source.dtype is not x.dtype:
        names = [TYPE_NAMES[a.dtype.name] for a in (x, source)]
        raise RuntimeError(
            "index_reduce_(): self ({}) and source ({}) must have the same scalar type".format(*names)
        )
    if not source.ndim and x.ndim > 1:
        raise IndexError(f"Dimension specified as {d} but tensor has no dimensions")
    rows = source.shape[d] if source.ndim > d else 1
    if index.size != rows and (source.ndim > d or index.size != 1):
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.size}) should be equal to source.size(dim): ({rows}), for dim: {d}"
        )
    if [n for i, n in enumerate(x.shape) if i != d] != [n for i, n in enumerate(source.shape) if i != d] or (
        source.ndim != x.ndim
    ):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(x.shape)} source.shape = {list(source.shape)}"
        )
    if index.size and (index.min() < 0 or index.max() >= (x.shape or (1,))[d]):
        raise IndexError("index out of range in self")


def _index_reduce(input, dim, index, source, reduce, *, include_self=True):
    """A copy with the rows of `source` combined into the entries `index` of `dim` (torch.index_reduce)."""
    warn_once("index_reduce() is in beta and the API may change at any time.")
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    d = dim_of(dim, input._data.ndim)
    _check_rows(input._data, d, index._data, source._data)
    return IndexReduceBackward0, (input, source, index), (dim, reduce, include_self)


_register("index_reduce", _index_reduce)
_register("scatter", _scatter)
_register("scatter_add", _scatter_add)
_register("scatter_reduce", _scatter_reduce)


@function
def take_along_dim(input, indices, dim=None):
    """Gather with broadcasting; without a dim, from the flattened tensor (torch.take_along_dim)."""
    if indices._data.dtype != np.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.type_name}"
        )
    if dim is None:
        return gather(input.view(-1) if input.is_contiguous() else reshape(input, -1), 0, indices.view(-1))
    n, m = input._data.ndim, indices._data.ndim
    if n != m:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{n} dimensions for input, and {m} dimensions for indices"
        )
    d = dim_of(dim, n)
    a, b = list(input._data.shape), list(indices._data.shape)
    try:
        common = np.broadcast_shapes([*a[:d], 1, *a[d + 1 :]], [*b[:d], 1, *b[d + 1 :]])
    except ValueError:
        raise shape_error(tuple(a), tuple(b)) from None
    if indices._data.size and indices._data.min() < 0:  # here, unlike in gather, they count from the end
        indices = follow(wrap(np.where(indices._data < 0, indices._data + a[d], indices._data)), indices)
    input = expand(input, (*common[:d], a[d], *common[d + 1 :]))
    return gather(input, d, expand(indices, (*common[:d], b[d], *common[d + 1 :])))


# -- flat positions -----------------------------------------------------------------------------------


class TakeBackward0(ShapeRule):
    """Elements by their number in the flattened tensor.

    Math: y = take(a, index).   VJP: put(zeros_like(a), index, g, accumulate=True).
    Shapes: that of the index. Saves: a, the index. PyTorch: torch.take
    """

    inputs = ("self", "index")
    operands = 1
    saves = ("self", "index")

    def forward(x, index):
        return x.take(as_places(index))

    def vjp(self, g, x, index):
        if isinstance(g, Variable):
            return METHODS["put"](both.zeros_like(x), index, g, True)
        return PutBackward0.forward(both.zeros_like(x), g, index, True)


class PutBackward0(ShapeRule):
    """Elements overwritten, or added to, by their number in the flattened tensor.

    Math: y = put(a, index, b, accumulate=accumulate).   VJP: to a: g if accumulate else put(g, index, zeros_like(b));
    to b: reshape(take(g, index), shape(b)).
    Shapes: b has as many elements as the index.   Saves: the index, b.   PyTorch: torch.put
    """

    inputs = ("self", "source", "index")
    operands = 2
    saves = ("index", "source")
    saves_if = {"source": (1,)}
    keeps = ("accumulate",)

    @classmethod
    def linear(cls, args):
        return True

    def forward(x, source, index, accumulate):
        y = np.array(x, order="C")
        i = np.where(index < 0, index + y.size, index).reshape(-1)
        if accumulate:
            np.add.at(y.reshape(-1), i, source.reshape(-1))
        else:
            y.reshape(-1)[i] = source.reshape(-1)
        return y

    def vjp(self, g, index, source):
        accumulate = self.args[0]
        if isinstance(g, Variable):
            to_self = g if accumulate else METHODS["put"](g, index, both.zeros(index.shape, g), False)
            return to_self, METHODS["take"](g, index).reshape(source.shape) if self.needs(1) else None
        to_self = g if accumulate else PutBackward0.forward(g, np.zeros(index.shape, g.dtype), index, False)
        return to_self, g.take(as_places(index)).reshape(source.shape) if self.needs(1) else None


def _flat_bounds(input, index):
    n, i = input._data.size, index._data
    if i.size and (i.max() >= n or i.min() < -n):
        wrong = next(k for k in i.reshape(-1).tolist() if not -n <= k < n)
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {n} elements.")


@function
def take(input, index):
    """Elements by their number in the flattened tensor (torch.take)."""
    if index._data.dtype != np.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {index.dtype.type_name}")
    if not input._data.size and index._data.size:
        raise IndexError("take(): tried to take from an empty tensor")
    _flat_bounds(input, index)
    return apply(TakeBackward0, (input, index))


def _put(input, index, source, accumulate=False):
    """A copy with elements overwritten by their number in the flattened tensor (torch.put)."""
    if index._data.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {index.dtype.type_name}")
    if input._data.dtype is not source._data.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.type_name} and "
            f"source.dtype = {source.dtype.type_name}"
        )
    if index._data.size != source._data.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._data.size}, index.numel() = {index._data.size}"
        )
    _flat_bounds(input, index)
    return PutBackward0, (input, source, index), (accumulate,)


_register("put", _put)

# -- masks --------------------------------------------------------------------------------------------


class MaskedFillBackward0(ShapeRule):
    """Elements under a mask set to a number.

    Math: y = where(mask, value, a).   VJP: where(mask, 0, g).
    Shapes: a and mask broadcast. Saves: the mask. PyTorch: torch.masked_fill
    """

    inputs = ("self", "mask")
    operands = 1
    saves = ("mask",)

    def forward(x, mask, value, _shape):
        return np.asarray(np.where(mask, number_as(value, x.dtype), x), order="C")

    def vjp(self, g, mask):
        return _unfilled(g, mask, self.args[-1])


class MaskedFillBackward1(ShapeRule):
    """Elements under a mask set to a 0-d tensor.

    Math: y = where(mask, value, a).   VJP: to a: where(mask, 0, g); to value: sum(where(mask, g, 0)).
    Shapes: a and mask broadcast, c is 0-d.   Saves: the mask.   PyTorch: torch.masked_fill
    """

    inputs = ("self", "value", "mask")
    operands = 2
    saves = ("mask",)

    def forward(x, value, mask, _shape):
        return np.asarray(np.where(mask, value.astype(x.dtype), x), order="C")

    def vjp(self, g, mask):
        to_value = None
        if self.needs(1):
            to_value = (
                METHODS["masked_select"](g, mask).sum()
                if isinstance(g, Variable)
                else both.masked(g, mask).sum()
            )
        return _unfilled(g, mask, self.args[-1]), to_value


def _unfilled(g, mask, shape):
    g = METHODS["masked_fill"](g, mask, 0) if isinstance(g, Variable) else both.masked(g, mask == 0)
    return sum_to(g, shape) if g.shape != shape else g


def _fit(input, mask):
    try:
        return np.broadcast_shapes(input._data.shape, mask._data.shape)
    except ValueError:
        raise broadcast_error([mask._data, input._data]) from None


def _masked_fill(input, mask, value):
    """A copy with the elements under a mask set to one value (torch.masked_fill)."""
    _fit(input, mask)
    if mask._data.dtype.kind != "b":
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {CPP_NAMES[mask._data.dtype.name]}"
        )
    if isinstance(value, Variable):
        if value._data.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._data.ndim} dimension(s)."
            )
        return MaskedFillBackward1, (input, value, mask), (input._data.shape,)
    return MaskedFillBackward0, (input, mask), (value, input._data.shape)


_register("masked_fill", _masked_fill)


class MaskedSelectBackward0(ShapeRule):
    """The elements under a mask, in a row.

    Math: y = masked_select(a, mask).   VJP: masked_scatter(zeros_like(a), mask, g).
    Shapes: a and mask broadcast; y has one dim. Saves: a, the mask.   PyTorch: torch.masked_select
    """

    inputs = ("self", "mask")
    operands = 1
    saves = ("self", "mask")

    def forward(x, mask):
        x, mask = np.broadcast_arrays(x, mask)
        return x[mask]

    def vjp(self, g, x, mask):
        shape = np.broadcast_shapes(x.shape, mask.shape)
        zeros = both.zeros(shape, g)
        if isinstance(g, Variable):
            whole = METHODS["masked_scatter"](zeros, mask, g)
        else:
            zeros[np.broadcast_to(mask, shape)] = g
            whole = zeros
        return sum_to(whole, x.shape) if shape != x.shape else whole


@function
def masked_select(input, mask):
    """The elements under a mask, in a row (torch.masked_select)."""
    if mask._data.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    _fit(input, mask)
    return apply(MaskedSelectBackward0, (input, mask))


class MaskedScatterBackward0(ShapeRule):
    """Elements under a mask replaced, one after the other, by those of another tensor.

    Math: y = masked_scatter(a, mask, b).   VJP: to a: where(mask, 0, g); to b: masked_take(g, mask, shape(b)).
    Shapes: a and mask broadcast.   Saves: the mask.   PyTorch: torch.masked_scatter
    """

    layout = rows
    inputs = ("self", "source", "mask")
    operands = 2
    saves = ("mask",)
    keeps = ("source_sym_sizes",)

    def forward(x, source, mask, _shape):
        shape = np.broadcast_shapes(x.shape, mask.shape)
        y = np.array(np.broadcast_to(x, shape))
        mask = np.broadcast_to(mask, shape)
        y[mask] = source.reshape(-1)[: np.count_nonzero(mask)]
        return y

    def vjp(self, g, mask):
        shape, source_shape = self.args
        to_source = None
        if self.needs(1):
            to_source = both.run(MaskedScatterBackwardBackward0, (g, mask), source_shape)
        return _unfilled(g, mask, shape), to_source

    def _read_saved(self, name):
        return self.args[-1] if name == "source_sym_sizes" else super()._read_saved(name)


class MaskedScatterBackwardBackward0(ShapeRule):
    """What masked_scatter sends to its source, as an operation: the elements of g under the mask, then zeros.

    Math: y = masked_take(a, mask, sizes).   VJP: masked_scatter(zeros_like(a), mask, g).
    Shapes: that of the source.   Saves: the mask.   PyTorch: masked_scatter_backward
    """

    inputs = ("grad_output", "mask")
    operands = 1
    saves = ("mask",)
    keeps = ("sizes", "grad_output_sym_sizes")

    def forward(g, mask, sizes):
        picked = g[np.broadcast_to(mask, g.shape)]
        out = np.zeros(math.prod(sizes), g.dtype)
        out[: picked.size] = picked
        return out.reshape(sizes)

    def vjp(self, h, mask):
        zeros = both.zeros(self.args[-1], h)
        if isinstance(h, Variable):
            return METHODS["masked_scatter"](zeros, mask, h)
        return MaskedScatterBackward0.forward(zeros, h, mask, None)


def _masked_scatter(input, mask, source):
    """A copy with the elements under a mask replaced by those of `source` in turn (torch.masked_scatter)."""
    shape = _fit(input, mask)
    if mask._data.dtype.kind != "b":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.type_name}"
        )
    if source._data.dtype is not input._data.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {input.dtype.type_name} and "
            f"{source.dtype.type_name}"
        )
    if np.count_nonzero(np.broadcast_to(mask._data, shape)) > source._data.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return MaskedScatterBackward0, (input, source, mask), (input._data.shape,)


_register("masked_scatter", _masked_scatter)


@function
def nonzero(input, *, as_tuple=False):
    """The positions of the elements that are not zero, one a row (torch.nonzero).

    as_tuple: one tensor for each dim instead.
    """
    if WATCHERS:
        watcher().looked(input, "nonzero")
    found = _positions(input)
    if not as_tuple:
        return found
    if not input._data.ndim:
        return (wrap(np.zeros(int(bool(input._data)), np.int64)),)
    return unbind(found, 1)


def _positions(input):
    """The positions of nonzero elements, one a row; the columns are contiguous in memory."""
    found = np.argwhere(input._data).astype(np.int64, copy=False).copy("F")
    out = wrap(found) if input.requires_grad else constant_result((input,), found, "nonzero")
    return follow(out, input)


@function
def argwhere(input):
    """The positions of the elements that are not zero, one a row (torch.argwhere)."""
    if WATCHERS:
        watcher().looked(input, "argwhere")
    return _positions(input)


@function(method=False)
def unravel_index(indices, shape):
    """Flat positions as one tensor of positions for each dim (torch.unravel_index)."""
    if indices._data.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    shape = (shape,) if isinstance(shape, int) else shape
    if not isinstance(shape, (tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    wrong = [n for n in shape if not isinstance(n, int)]
    if wrong:
        raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(wrong[0])}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    steps = np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))], np.int64)
    return METHODS["unbind"](
        follow(wrap(indices._data[..., None] // steps % np.array(shape, np.int64)), indices), -1
    )


# -- a slice replaced, without writing in place -------------------------------------------------------


class SelectScatterBackward0(ShapeRule):
    """A copy with one entry of a dim replaced.

    Math: y = select_scatter(a, b, dim, index).   VJP: to a: select_scatter(g, zeros_like(b), dim, index); to b:
    select(g, dim, index).
    Shapes: b as that entry. Saves: nothing.   PyTorch: torch.select_scatter
    """

    layout = like
    inputs = ("self", "src")
    keeps = ("dim", "index")

    def forward(x, src, dim, index):
        return _replaced(x, at(x.ndim, dim, index), src)

    def vjp(self, g):
        dim, index = self.args
        if isinstance(g, Variable):
            part = select(g, dim, index)
            return METHODS["select_scatter"](g, both.zeros_like(part), dim, index), part
        where = at(g.ndim, dim, index)
        return _replaced(g, where, 0), g[where]


class SliceScatterBackward0(ShapeRule):
    """A copy with a slice of a dim replaced.

    Math: y = slice_scatter(a, b, dim, start, end, step).   VJP: to a: slice_scatter(g, zeros_like(b), dim, start,
    end, step); to b: slice(g, dim, start, end, step).
    Shapes: b as that slice.   Saves: nothing.   PyTorch: torch.slice_scatter
    """

    layout = like
    inputs = ("self", "src")
    keeps = ("dim", "start", "end", "step")

    def forward(x, src, dim, start, end, step):
        return _replaced(x, at(x.ndim, dim, slice(start, end, step)), src)

    def vjp(self, g):
        dim, start, end, step = self.args
        if isinstance(g, Variable):
            part = take_slice(g, dim, start, end, step)
            return METHODS["slice_scatter"](g, both.zeros_like(part), dim, start, end, step), part
        where = at(g.ndim, dim, slice(start, end, step))
        return _replaced(g, where, 0), g[where]


class DiagonalScatterBackward0(ShapeRule):
    """A copy with a diagonal replaced.

    Math: y = diagonal_scatter(a, b, offset, dim1, dim2).   VJP: to a: diagonal_scatter(g, zeros_like(b), offset,
    dim1, dim2); to b: diagonal(g, offset, dim1, dim2).
    Shapes: b as the diagonal. Saves: nothing.   PyTorch: torch.diagonal_scatter
    """

    layout = like
    inputs = ("self", "src")
    keeps = ("offset", "dim1", "dim2")

    def forward(x, src, offset, dim1, dim2):
        y = x.copy()
        diagonal_of(y, offset, dim1, dim2)[...] = src
        return y

    def vjp(self, g):
        args = self.args
        if isinstance(g, Variable):
            part = g.diagonal(*args)
            return METHODS["diagonal_scatter"](g, both.zeros_like(part), *args), part
        return DiagonalScatterBackward0.forward(g, 0, *args), diagonal_of(g, *args)


def _replaced(x, where, value):
    y = x.copy()
    y[where] = value
    return y


def _check_part(src, shape):
    if src._data.shape != shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src._data.shape)}, "
            f"slice size = {list(shape)}"
        )


@function
def select_scatter(input, src, dim, index):
    """A copy with one entry of `dim` replaced (torch.select_scatter)."""
    _check_part(src, select(input.detach(), dim, index)._data.shape)
    return apply(SelectScatterBackward0, (input, src), dim, index)


@function
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy with a slice of `dim` replaced (torch.slice_scatter)."""
    x = input._data
    _check_part(src, x[at(x.ndim, dim_of(dim, x.ndim), slice(start, end, step))].shape)
    return apply(SliceScatterBackward0, (input, src), dim, start, end, step)


@function
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy with a diagonal replaced (torch.diagonal_scatter)."""
    _check_part(src, diagonal_of(input._array(), offset, dim1, dim2).shape)
    return apply(DiagonalScatterBackward0, (input, src), offset, dim1, dim2)


__all__ = ["ALL", "along", "gathered", "infer_size", "placed", "rows_of", "scattered"]
