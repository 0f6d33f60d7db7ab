"""Memory: where the elements of tensors are, and whether several of them share one number.

A tensor is a piece of memory with a size, strides and an offset. In-place writes check whether elements share memory (an expanded tensor)
or overlap with what is read. A gradient that goes back through a view is laid out like the tensors were, so that the view's size, strides
and offset select the same elements in it.
"""

import numpy as np

from ...core.array_or_tensor import zeros
from ..dtypes import as_int64, as_places
from .variable import Variable, wrap

# -- elements that share places -----------------------------------------------------------------------


def shares_places(t):
    """Whether several elements of `t` share one number in memory, as in an expanded tensor."""
    memory = t._data
    return (
        isinstance(memory, np.ndarray)
        and 0 in memory.strides
        and memory.size > 0
        and any(s == 0 and n > 1 for s, n in zip(memory.strides, memory.shape, strict=True))
    )


def overlap_error():
    """The error for writing to a tensor whose elements share memory."""
    return RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
        "clone() the tensor before performing the operation."
    )


def settled(t, data):
    """`data` prepared for writing to a `t` whose elements share memory: of elements with the same address, those that changed win."""
    memory = t._data
    size, stride = memory.shape, t.stride()
    where = seen(np.arange(span(size, stride)), size, stride, 0)
    places = np.empty(span(size, stride), memory.dtype)
    changed = data != memory
    places[where] = data
    places[where[changed]] = data[changed]
    return places[where]


def same_elements(a, b):
    """Whether two tensors are the same elements of the same memory, in the same order."""
    if a is b or a._box is None or a._box is not b._box:
        return a is b
    x, y = a._array(), b._array()
    return (x.dtype, x.shape, x.strides) == (y.dtype, y.shape, y.strides) and x.ctypes.data == y.ctypes.data


def check_overlap(t, others):
    """Raise RuntimeError if writing to `t` while reading `others` would depend on the order of the elements."""
    if shares_places(t):
        raise overlap_error()
    check_partly(t, others)


def check_partly(t, others):
    """Raise RuntimeError if `t`, about to be written, partially overlaps with one of `others`."""
    box = t._box
    if box is not None:  # this memory may be shared
        for o in others:
            if o._box is box and o is not t and _shares_memory(t, o) and not _same_places(t, o):
                raise overlapping()


def check_apart(t, others):
    """Raise RuntimeError if `t`, about to be written, shares any memory with `others`, even as the same tensor."""
    if any(o is t or _shares_memory(t, o) for o in others):
        raise overlapping()


def overlapping():
    """The error for writing to a tensor some of whose memory is being read."""
    return RuntimeError(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
        "location. Please clone() the tensor before performing the operation."
    )


def _shares_memory(t, o):
    """Whether two tensors without gaps share some memory (others are not checked)."""
    a, b = t._data, o._data
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or not (a.size and b.size):
        return False
    if (a if a.base is None else a.base) is not (b if b.base is None else b.base):
        return False
    if not (has_no_gaps(a) and has_no_gaps(b)):
        return False
    a_start, b_start = a.__array_interface__["data"][0], b.__array_interface__["data"][0]
    return a_start < b_start + b.nbytes and b_start < a_start + a.nbytes


def _same_places(t, o):
    """Whether two tensors without gaps are the same elements of the same memory, in the same order."""
    a, b = t._array(), o._array()
    return a.ctypes.data == b.ctypes.data and a.nbytes == b.nbytes and t.stride() == o.stride()


def has_no_gaps(a):
    """Whether the elements of an array fill a piece of memory without gaps."""
    expected = a.itemsize
    for stride, n in sorted((s, n) for s, n in zip(a.strides, a.shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= n
    return True


# -- the memory of a gradient -------------------------------------------------------------------------
#
# A gradient that goes back through a view is laid out in memory like the tensors were, so that the same size, strides and offset select the
# same elements in it. The functions take both arrays (an ordinary pass) and Tensors (create_graph).


def geometry(t):
    """The memory layout of the tensor `t`: size, stride and offset, counted in elements."""
    return t._array().shape, t.stride(), t._storage_offset()


def place_in(base, t):
    """Size and stride of `base`, and the geometry of its view `t`, the offset counted from the first element of `base`."""
    own_size, own_stride, start = geometry(base)
    size, stride, offset = geometry(t)
    return own_size, own_stride, (size, stride, offset - start)


def span(size, stride, offset=0):
    """How many elements of memory a tensor of that geometry spans."""
    return 0 if 0 in size else offset + 1 + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])


def seen(memory, size, stride, offset):
    """A view of that geometry of the flat `memory` (for a Tensor: of the memory behind it)."""
    if isinstance(memory, Variable):
        return memory.as_strided(size, stride, offset)
    if offset < 0 or span(size, stride, offset) > memory.size:
        raise beyond(size, stride, offset, memory)
    step = memory.itemsize
    start = min(offset, memory.size)  # a view without elements may begin past the end, except in NumPy
    return np.ndarray(size, memory.dtype, memory, start * step, [s * step for s in stride])


def beyond(size, stride, offset, memory):
    """The error for a geometry that goes beyond the flat array `memory`."""
    if offset < 0:
        return RuntimeError(f"Tensor: invalid storage offset {offset}")
    return RuntimeError(
        f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {memory.itemsize} "
        f"requiring a storage size of {span(size, stride, offset) * memory.itemsize} are out of bounds for storage of size "
        f"{memory.nbytes}"
    )


def put(part, values):
    """Write `values`, or a number, over `part`, a view of something the formula itself has made."""
    if not isinstance(part, Variable):
        part[...] = values
    elif isinstance(values, Variable):
        part.copy_(values)
    else:
        part.fill_(values)


def copied(g, size, stride, place):
    """A copy of `g` in the memory layout of its tensor, and the view of it with the geometry `place` (see `place_in`)."""
    if isinstance(g, Variable):
        whole = g.new_empty_strided(size, stride).copy_(g)
        return whole, seen(whole, *place)
    memory = np.empty(span(size, stride), g.dtype)
    whole = seen(memory, size, stride, 0)
    whole[...] = g
    return whole, seen(memory, *place)


def repeats_places(size, stride):
    """Whether elements of a tensor of that geometry may share memory (torch: maybe_overlapping_memory)."""
    reach = 0
    for step, n in sorted(zip(stride, size, strict=True)):
        if n != 1:
            if step <= reach:
                return True
            reach += step * (n - 1)
    return False


def added(memory, size, stride, offset, g):
    """`memory` with `g` added at that geometry, where several elements may have the same address."""
    where = seen(np.arange(memory.shape[0]), size, stride, offset).reshape(-1)
    if isinstance(memory, Variable):
        return memory.index_add_(0, wrap(as_int64(where)), g.reshape(-1))
    np.add.at(memory, where, g.reshape(-1))
    return memory


def shared_out(memory, size, stride, offset):
    """`memory` with each number divided by the count of elements that a tensor of that geometry has at its address."""
    where = seen(np.arange(memory.shape[0]), size, stride, offset).reshape(-1)
    count = np.bincount(as_places(where), minlength=memory.shape[0]).clip(1)
    if isinstance(memory, Variable):
        return memory.div_(wrap(count.astype(memory._data.dtype)))
    memory /= count
    return memory


__all__ = [
    "added", "beyond", "check_apart", "check_overlap", "check_partly", "copied", "geometry", "has_no_gaps", "overlap_error", "overlapping", "place_in",
    "put", "repeats_places", "same_elements", "seen", "settled", "shared_out", "shares_places", "span", "zeros",
]  # fmt: skip
