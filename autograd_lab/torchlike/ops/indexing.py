"""x[...] and x[...] = v: picking elements, and putting them.

Basic indexing (ints, slices, None, ...) is a chain of views, one node for each step: x[0, :, 1:3] is a select and
a slice. Index tensors and masks copy: IndexBackward0. x[i] = v writes v into the view x[i]; with index tensors it
is index_put_.
"""

import operator

import numpy as np

from ..autograd.errors import FREED_TEXT, refuse_pytorch
from ..autograd.memory import check_apart, shares_places
from ..autograd.metadata import sum_to
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace, apply_view
from ..autograd.saved import FREED
from ..autograd.variable import Variable, wrap
from ..autograd.views import check_writable
from ..dtypes import ALL, as_places, fill_value_as
from ..world.warning import warn
from . import array_or_tensor as both
from .rule import METHODS, function, method
from .shapes import ALL_OF, ShapeRule, unsqueeze
from .slicing import AliasBackward0, SelectBackward0, SliceBackward0

INDEX_TYPES = {np.dtype(t).num for t in (np.int64, np.longlong, np.int32, np.intc, np.long, np.bool_)}
LAST = 2**63 - 1  # the end of an open slice, as PyTorch stores it

# -- x[...] -------------------------------------------------------------------------------------------


class IndexBackward0(ShapeRule):
    """Elements picked by index tensors or masks.

    Math: y = a[indices].   VJP: index_put(zeros_like(a), [indices], g, accumulate=True).   Each g is added at the
    place it was picked from: twice picked, twice added.
    Shapes: the index tensors broadcast; their shape takes the place of the dims they index. Saves: the index tensors.
    PyTorch: advanced indexing
    """

    inputs = ("self", "indices")
    operands = 1
    saves = ("indices",)
    saves_rest = True
    keeps = ("pattern", "self_sym_sizes")
    hides = ("pattern",)

    def forward(x, *rest):
        *indices, pattern = rest
        try:
            y = picked(x, numpy_index(pattern, indices))
        except IndexError:
            explain(x.shape, pattern, indices)
            raise
        if not y.size:  # NumPy accepts a mask without elements for any tensor
            explain(x.shape, pattern, indices)
        return y

    def vjp(self, g, *indices):
        pattern, shape = self.args
        if isinstance(g, Variable):
            return _index_put(both.zeros(shape, g), pattern, indices, g, True, rule=IndexPutImplBackward0)
        return added_at(np.zeros(shape, g.dtype), numpy_index(pattern, indices), g)

    def _read_saved(self, name):
        return saved_indices(self, self.args[0]) if name == "indices" else super()._read_saved(name)


class IndexPutBackward0(ShapeRule):
    """Elements overwritten at (or, accumulating, added to) places given by index tensors or masks.

    Math: y = index_put(a, [indices], b, accumulate=accumulate).   VJP: to a: g if accumulate else index_put(g,
    [indices], 0); to b: g[indices].
    Shapes: v broadcasts to what indexing would give.   Saves: the index tensors.   PyTorch: torch.Tensor.index_put_
    """

    inputs = ("self", "values", "indices")
    op = "index_put"
    operands = 2
    saves = ("indices",)
    saves_rest = True
    keeps = ("accumulate", "pattern")
    hides = ("pattern",)

    @classmethod
    def linear(cls, args):
        return True

    def forward(x, values, *rest):
        *indices, accumulate, pattern, shape = rest
        index = numpy_index(pattern, indices)
        y = np.array(x)
        try:
            return put(y, index, values, accumulate)
        except IndexError:
            explain(x.shape, pattern, indices)
            raise
        except ValueError:
            raise misfit(shape, y[index].shape) from None

    def vjp(self, g, *indices):
        accumulate, pattern, shape = self.args
        to_self = g if accumulate else index_put_of(g, pattern, indices, 0)
        if not self.needs(1):
            return to_self, None
        if isinstance(g, Variable):
            to_values = _index(g, pattern, indices)
        else:
            to_values = picked(g, numpy_index(pattern, indices))
        if to_values.shape == shape or THREAD.state.calling:
            return to_self, to_values
        # An assignment takes values with more dims, of size one, than it fills.
        fitting = shape[max(0, len(shape) - to_values.ndim) :]
        to_values = sum_to(to_values, fitting)
        return to_self, to_values if fitting == shape else to_values.reshape(shape)

    def _read_saved(self, name):
        return saved_indices(self, self.args[1]) if name == "indices" else super()._read_saved(name)


class IndexPutImplBackward0(IndexPutBackward0):
    """The same, as the derivative of picking by index.

    Math, VJP, Shapes, Saves: the same.   PyTorch: _index_put_impl_
    """


def saved_indices(node, pattern):
    """The index as PyTorch stores it: a tensor or None for each dim."""
    if node.saved is FREED:
        raise RuntimeError(FREED_TEXT)
    given = iter(node.unpack(True))
    return tuple([next(given) if here else None for here in pattern])


def numpy_index(pattern, indices):
    """NumPy's form of an index: `pattern` says for each dim whether one of `indices` is used there."""
    arrays = iter([i._data if isinstance(i, Variable) else i for i in indices])
    found = []
    for here in pattern:
        if not here:
            found.append(ALL_OF)
            continue
        i = next(arrays)
        if i.dtype.kind == "u":
            i = i.astype(bool)
        elif i.dtype.num not in INDEX_TYPES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        found.append(i)
    return tuple(found)


def picked(x, index):
    """x[index] as a new row-major array."""
    if len(index) == 1 and index[0].dtype.kind != "b":
        return x.take(as_places(index[0]), axis=0)
    y = x[index]
    return np.ascontiguousarray(y).reshape(-1).reshape(y.shape) if y.ndim else y


def put(x, index, values, accumulate):
    """Write `values` into the array `x` at `index`, or add them; returns `x`."""
    if accumulate:
        return added_at(x, index, values)
    x[index] = values
    return x


def added_at(x, index, values):
    """Add `values` to the array `x` at `index`, repeatedly where a position repeats; returns `x`."""
    if all(isinstance(i, slice) or i.dtype.kind == "b" for i in index) and len(index) == 1:
        x[index] += values  # a mask picks no position twice
        return x
    if len(index) == 1:  # whole rows: their flat positions need no table
        row = x.size // max(x.shape[0], 1)
        rows = np.where(index[0] < 0, index[0] + x.shape[0], index[0]).reshape(-1, 1)
        where, shape = rows * row + np.arange(row), index[0].shape + x.shape[1:]
    else:
        where = np.arange(x.size).reshape(x.shape)[index]
        shape = where.shape
    values = np.broadcast_to(values, shape).reshape(-1).astype(x.dtype, copy=False)
    if x.dtype.kind == "b":
        x.flat[where.reshape(-1)[values]] = True  # a repeated position gets both; a reshape may be a copy
    elif x.flags.c_contiguous:
        np.add.at(x.reshape(-1), where.reshape(-1), values)
    else:
        np.add.at(x, index, values.reshape(shape))
    return x


def index_put_of(g, pattern, indices, value):
    """A copy of the array or Tensor `g` with a number put at the index."""
    if isinstance(g, Variable):
        return _index_put(g, pattern, indices, wrap(np.asarray(value, g._data.dtype)), False)
    return put(g.copy(), numpy_index(pattern, indices), value, False)


def _index(x, pattern, indices):
    warn_of_bytes(indices)
    return apply(IndexBackward0, (x, *indices), pattern)


def misfit(values, picked):
    """The error for values that do not broadcast to what an index picks, both given as shapes."""
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(values)} cannot be broadcast to indexing result of shape "
        f"{list(picked)}"
    )


def _check_fit(x, index, values):
    picked = x[index].shape
    try:
        fits = np.broadcast_shapes(picked, values.shape) == picked
    except ValueError:
        fits = False
    if not fits:
        raise misfit(values.shape, picked)


def warn_of_bytes(indices):
    """PyTorch's warning for every mask of uint8."""
    for i in indices:
        if isinstance(i, Variable) and i._data.dtype == np.uint8:
            warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")


def _index_put(x, pattern, indices, values, accumulate, inplace=False, rule=IndexPutBackward0):
    warn_of_bytes(indices)
    if any(not i._data.size for i in indices):
        explain(x._data.shape, pattern, indices)
    have, want = values._data.dtype, x._data.dtype
    fills = values._data.size == 1 and not accumulate and len(indices) == 1 and is_mask(indices[0]._data)
    if fills:
        if indices[0]._data.dtype.kind != "b":
            raise RuntimeError(
                "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"
            )
        values = METHODS["to"](values, ALL[want])  # PyTorch fills under the mask, and casts the value
    elif have is not want:
        _check_fit(x._data, numpy_index(pattern, indices), values._data)
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {ALL[want].type_name} for the "
            f"destination and {ALL[have].type_name} for the source."
        )
    args = bool(accumulate), pattern, values._data.shape
    if not inplace:
        return apply(rule, (x, values, *indices), *args)
    if shares_places(x):
        warn(
            "Use of index_put_ on expanded tensors is deprecated. Please clone() the tensor before performing this "
            "operation. This also applies to advanced indexing e.g. tensor[indices] = tensor"
        )
    check_writable(x)
    if not fills:
        check_apart(x, [values, *[i for i in indices if not is_mask(i._data)]])
    return apply_inplace(IndexPutBackward0, (x, values, *indices), *args)


def explain(shape, pattern, indices):
    """Raise PyTorch's IndexError for an index that does not fit `shape`."""
    if len(pattern) > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    given = iter(indices)
    d = nr = 0
    lengths = []
    for here in pattern:
        if not here:
            d += 1
            continue
        i = next(given)
        i = i._data if isinstance(i, Variable) else i
        if is_mask(i):
            for k, n in enumerate(i.shape):
                if d + k >= len(shape) or shape[d + k] != n:
                    raise IndexError(
                        f"The shape of the mask {list(i.shape)} at index {k} does not match the shape of "
                        f"the indexed tensor {list(shape)} at index {d + k}"
                    )
            lengths.append((int(np.count_nonzero(i)),))
        else:
            wrong = [k for k in i.reshape(-1).tolist() if not -shape[d] <= k < shape[d]]
            if wrong and not shape[d]:
                raise IndexError("index is out of bounds for dimension with size 0")
            if wrong:
                raise IndexError(f"index {wrong[0]} is out of bounds for dimension {nr} with size {shape[d]}")
            lengths.append(i.shape)
        d += i.ndim if is_mask(i) else 1
        nr += i.ndim if is_mask(i) else 1
    try:
        np.broadcast_shapes(*lengths)
    except ValueError:
        shapes = ", ".join(str(list(s)) for s in lengths)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None


def is_mask(i):
    """Whether an index array is a mask: of bools or, deprecated, of uint8."""
    return i.dtype.kind == "b" or i.dtype == np.uint8


# An index is processed from left to right. Each step returns the view so far; index tensors are collected for the end.


def _is_number(i):
    return isinstance(i, (int, np.integer)) and not isinstance(i, bool)


def _as_tuple(index):
    """Whether a list used as an index counts as a tuple: if it contains anything but numbers."""
    if not isinstance(index, (list, str)) or len(index) >= 32:
        return False
    for i in index:
        if isinstance(i, (Variable, list, tuple, slice, str)) or i is None or i is Ellipsis:
            warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
                "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be "
                "interpreted as tensor index, x[torch.tensor(seq)], which will result either in an error "
                "or a different result",
            )
            return True
    return False


def _index_tensor(i):
    """An index given as a list, a range or a NumPy array, as a tensor."""
    from ..creation import tensor

    if isinstance(i, Variable):
        return i
    if isinstance(i, np.ndarray):
        return wrap(i)
    if isinstance(i, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(i, (list, tuple, range)):
        refuse_pytorch(i)
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{('numpy.' if isinstance(i, np.generic) else '') + type(i).__name__})"
        )
    t = tensor(list(i))
    return wrap(t._array().astype(np.int64)) if t._data.dtype.kind == "f" else t


def _select(t, dim, i, number):
    """t.select(dim, i) with the messages of indexing; `number` is how many old and new dims precede it."""
    x = t._array()
    if not x.ndim:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
            "to convert a 0-dim tensor to a number"
        )
    n = x.shape[dim]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {number} with size {n}")
    part = x[(ALL_OF,) * dim + (i, ...)] if dim else x[i, ...]
    return apply_view(SelectBackward0, t, part, dim, i)


def _bounds(s):
    """start, end and step of a slice. Raises ValueError if the step is not positive."""
    step = 1 if s.step is None else operator.index(s.step)
    if step <= 0:
        raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    try:
        start = 0 if s.start is None else operator.index(s.start)
        return start, LAST if s.stop is None else operator.index(s.stop), step
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _slice(t, dim, s, always):
    """t[.., s, ..]; a full slice is skipped, unless `always`."""
    x = t._array()
    if not x.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start, end, step = _bounds(s)
    if not always and start == 0 and end >= x.shape[dim] and step == 1:
        return t
    part = slice(start, end, step)
    return apply_view(
        SliceBackward0, t, x[(ALL_OF,) * dim + (part,)] if dim else x[part], dim, start, end, step
    )


def _walk(t, index):
    """Apply the basic parts of an index; returns the view, and the dims for the remaining index tensors, or None."""
    items = index if isinstance(index, tuple) else tuple(index) if _as_tuple(index) else (index,)
    items = [
        i if isinstance(i, (int, slice, np.integer)) or i is None or i is Ellipsis else _index_tensor(i)
        for i in items
    ]
    known = 0
    for i in items:
        if isinstance(i, Variable):
            known += i._data.ndim if is_mask(i._data) else 1
        elif not (i is None or i is Ellipsis or isinstance(i, bool)):
            known += 1
    ndim = t._data.ndim
    if known > ndim:
        if not ndim and _is_number(index):
            return _select(t, 0, index, 0), None, ()
        if not ndim and isinstance(index, slice):
            return _slice(t, 0, index, True), None, ()
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    pattern, tensors = [], []
    dim = number = 0
    for i in items:
        if (
            isinstance(i, Variable)
            and not i._data.ndim
            and i._data.dtype.kind in "iu"
            and not is_mask(i._data)
        ):
            i = int(i._data)
        if isinstance(i, (bool, Variable)):
            if isinstance(i, bool) or not i._data.ndim:
                if isinstance(i, Variable) and i._data.dtype.kind == "f":
                    raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
                t = unsqueeze(t, dim)  # a lone boolean: a new dim of size one, kept or emptied
                i = wrap(np.zeros(1 if i else 0, np.int64))
            pattern.append(True)
            tensors.append(i)
            wide = i._data.ndim if is_mask(i._data) else 1
            dim += wide
            number += wide
        elif i is None:
            t = unsqueeze(t, dim)
            pattern.append(False)
            dim += 1
            number += 1
        elif i is Ellipsis:
            pattern += [False] * (ndim - known)
            dim += ndim - known
            number += ndim - known
            known = ndim  # a second one has no effect
        elif isinstance(i, slice):
            t = _slice(t, dim, i, False)
            pattern.append(False)
            dim += 1
            number += 1
        else:
            t = _select(t, dim, int(i), number)
            number += 1
    if not tensors:
        return t, None, ()
    while not pattern[-1]:
        pattern.pop()
    return t, tuple(pattern), tensors


@method
def __getitem__(self, index):  # noqa: N807 - a method of Tensor
    kind = type(index)
    if kind is int:
        return _select(self, 0, index, 0)
    if kind is slice:
        return _slice(self, 0, index, True)
    t, pattern, tensors = _walk(self, index)
    if pattern is not None:
        return _index(t, pattern, tensors)
    if t is self:
        return apply_view(AliasBackward0, self, self._array())
    return t


@method
def __setitem__(self, index, value):  # noqa: N807 - a method of Tensor
    if not isinstance(value, Variable):
        if not isinstance(value, (bool, int, float, np.integer)):
            refuse_pytorch(value)
            raise TypeError(f"can't assign a {_type_name(value)} to a {self.type()}")
        value = wrap(fill_value_as(value, self._data.dtype))
    kind = type(index)
    if index is False:
        return
    if index is True:
        index = None
    if kind is int:
        t, pattern, tensors = _select(self, 0, index, 0), None, ()
    elif kind is slice:
        t, pattern, tensors = _slice(self, 0, index, False), None, ()
    else:
        t, pattern, tensors = _walk(self, index)
    if pattern is not None:
        sizes = _without_leading_ones(value._data.shape)
        if sizes != value._data.shape:
            value = value.view(sizes)
        _index_put(t, pattern, tensors, value, False, inplace=True)
        return
    shape = t._data.shape
    if not value._data.ndim and shape:
        METHODS["fill_"](t, value)
        return
    if value._data.shape != shape:
        value = value.view(_without_leading_ones(value._data.shape))
        if value._data.shape != shape:
            value = value.expand(shape)
    METHODS["copy_"](t, value)


@method
def __delitem__(self, index):  # noqa: N807 - a method of Tensor
    raise TypeError("Tensor does not support deleting items")


def _type_name(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _without_leading_ones(sizes):
    k = 0
    while k < len(sizes) and sizes[k] == 1:
        k += 1
    return sizes[k:]


def _given_indices(indices, name):
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
        )
    pattern = tuple([i is not None for i in indices])
    return pattern, [i for i in indices if i is not None]


@function
def index_put(input, indices, values, accumulate=False):
    """A copy with values put (or added) at the positions given by index tensors (torch.index_put)."""
    pattern, tensors = _given_indices(indices, "index_put")
    if len(pattern) > input._data.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input._data.ndim} (got {len(pattern)})")
    return _index_put(input, pattern, tensors, values, accumulate)


@method
def index_put_(self, indices, values, accumulate=False):
    """The in-place form of `index_put`."""
    pattern, tensors = _given_indices(indices, "index_put_")
    if not all(pattern):
        raise TypeError(f"expected Tensor as element {pattern.index(False)} in argument 0, but got NoneType")
    if len(pattern) > self._data.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self._data.ndim} (got {len(pattern)})")
    return _index_put(self, pattern, tensors, values, accumulate, inplace=True)
