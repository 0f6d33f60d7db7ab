"""Creating tensors from data, constants and ranges (random ones are in ops/draws.py)."""

import functools
import math
import operator
import typing

import numpy as np

from . import printing, random, return_types
from .autograd.errors import CPP_NAMES, not_for, refuse_pytorch, type_name
from .autograd.modes import THREAD, WATCHERS, watcher
from .autograd.variable import INFERENCE, Registry, Variable, wrap
from .dtypes import (
    ALL,
    Defaults,
    as_int64,
    can_cast,
    dtype_of_number,
    fill_value_as,
    finfo,
    iinfo,
    native,
    promote_np,
    to_dtype,
)
from .dtypes import dtype as dtype_type
from .layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    strided,
)
from .world import warning
from .world.device import device, here, on_cpu
from .world.warning import warn, warn_once

# -- from data ----------------------------------------------------------------------------------------


def leaf(array, requires_grad=False):
    """A tensor around a new array, the result of all functions here."""
    t = wrap(array if array.ndim else array[()])
    if THREAD.state.inference:
        t._box = INFERENCE
    if requires_grad:
        if array.dtype.kind != "f":
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        t._set_requires_grad(True)
    if WATCHERS:
        watcher().made(t)
    return t


def follow(out, *sources):
    """Returns `out`, which was made from tensors without a recorded operation, and tells watchers from which."""
    if WATCHERS:
        watcher().followed(out, sources)
    return out


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new leaf with a copy of `data`: numbers, nested lists, a NumPy array (torch.tensor).

    Python floats become the default dtype, ints int64, bools bool; NumPy arrays keep their own type.
    """
    on_cpu(device, pin_memory)
    if not isinstance(requires_grad, bool):
        raise TypeError(
            f"tensor(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
        )
    dtype = None if dtype is None else to_dtype(dtype, "tensor").np
    if isinstance(data, Variable):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
        )
        array = np.array(data._data, dtype, order="K")
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.array(_usable(data), dtype, order="K")
    else:
        array = _from_python(data, dtype)
    out = leaf(array, requires_grad)
    if WATCHERS:
        watcher().copied(data, out)
    return out


def _usable(array):
    """`array` as a plain array, if tensors can have its type and strides. Raises TypeError or ValueError."""
    array = np.asarray(array)  # np.matrix has a different product
    if array.dtype not in ALL:
        name = array.dtype.type.__name__
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{name}. The only supported types are: float64, "
            "float32, float16, int64, int32, int16, int8, uint8, and bool."
        )
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides "
            "are not currently supported. (You can probably work around this by making a copy of your "
            "array  with array.copy().) "
        )
    return native(array)


def _from_python(data, dtype):
    """An array of numbers, nested lists or tuples of them, and of one-element tensors among them."""
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    found = []
    try:
        if isinstance(data, (list, tuple)):
            data = _without_tensors(data, found)
    except RecursionError:  # a list that contains itself
        if dtype is None and _depth(data) < 128:
            raise TypeError("new(): self-referential lists are incompatible") from None
        raise ValueError(f"too many dimensions '{type(data).__name__}'") from None
    try:
        array = as_int64(np.array(data))
    except ValueError:
        _explain_ragged(data)
        raise
    if array.dtype.kind in "uO" and (
        dtype.kind in "fb" if dtype is not None else _holds_float(data)
    ):  # an int beyond int64
        array = _as_floats(array, data)
    if array.dtype.kind not in "bif" and array.size:
        _explain_type(array, data)
    if dtype is None:
        first = _first(data)
        if found:
            dtype = functools.reduce(promote_np, found)
        elif isinstance(first, np.ndarray):
            warn_once(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
                "converting the list to a single numpy.ndarray with numpy.array() before converting to a "
                "tensor.",
            )
            dtype = functools.reduce(promote_np, _dtypes(data))
        elif any(issubclass(t, (np.generic, np.ndarray)) for t in _types(data, set())):
            dtype = functools.reduce(promote_np, _dtypes(data))
        else:
            dtype = Defaults.np if array.dtype.kind == "f" or not array.size else array.dtype
    elif dtype.kind in "iu" and array.dtype.kind == "i" and array.size:
        limits = np.iinfo(dtype)
        if array.max() > limits.max or array.min() < (limits.min or -limits.max):
            raise _too_large(dtype)
    elif dtype.kind in "iu" and array.dtype.kind == "f" and array.size:
        limits = np.iinfo(dtype)
        if not ((array >= limits.min) & (array <= limits.max)).all():  # nan is not within any limits
            raise _too_large(dtype)
    return native(array) if array.dtype == dtype else THREAD.state.run(array.astype, dtype)


def _holds_float(data):
    if isinstance(data, (list, tuple)):
        return any(_holds_float(d) for d in data)
    return isinstance(data, float)


def _as_floats(array, data):
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array  # it contains something else, which will raise


def warn_of_scalar(t):
    """PyTorch's warning for float(t) and similar conversions that leave the graph: once per process."""
    if THREAD.state.grad and t.requires_grad:
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first."
        )


def _too_large(dtype):
    return RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


def _without_tensors(data, found):
    """`data` with the tensors in it replaced by their numbers; their types are added to `found`."""
    if isinstance(data, Variable):
        if data._data.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        warn_of_scalar(data)
        found.append(data._data.dtype)
        return data._data.item()
    if isinstance(data, (list, tuple)):
        for item in data:
            if isinstance(item, (Variable, list, tuple)):
                return [_without_tensors(item, found) for item in data]
    elif isinstance(data, (bool, int, float)):
        found.append(dtype_of_number(data).np)
    return data


def _types(data, found):
    """The Python types of the numbers in nested lists."""
    if isinstance(data, (list, tuple)):
        kinds = set(map(type, data))
        if list in kinds or tuple in kinds:
            for part in data:
                _types(part, found)
        else:
            found |= kinds
    else:
        found.add(type(data))
    return found


def _dtypes(data):
    """The number type of each number in nested lists: NumPy's own, and the equivalent of Python's."""
    if isinstance(data, (list, tuple)):
        return [d for part in data for d in _dtypes(part)]
    return [data.dtype if isinstance(data, (np.generic, np.ndarray)) else dtype_of_number(data).np]


def _first(data):
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _depth(data):
    """The nesting depth of the first element of `data`, up to 128."""
    depth = 0
    while isinstance(data, (list, tuple)) and data and depth < 128:
        data, depth = data[0], depth + 1
    return depth


def _explain_type(array, data):
    kind = array.dtype.kind
    strange = next(
        (t for t in _types(data, set()) if not issubclass(t, (int, float, complex, str, np.generic))), None
    )
    if kind == "O" and strange is not None:
        raise RuntimeError(f"Could not infer dtype of {strange.__name__}")
    if kind in "uO":
        raise ValueError("Overflow when unpacking long long")
    if kind == "U" and not isinstance(_first(data), str):
        raise TypeError("new(): invalid data type 'str'")
    if kind == "U":
        raise ValueError("too many dimensions 'str'")
    if kind == "c":
        raise TypeError("autograd_lab has no complex numbers; use two real tensors")
    raise RuntimeError(f"Could not infer dtype of {type(_first(data)).__name__}")


def _explain_ragged(data):
    """Raise PyTorch's error for lists of unequal lengths."""
    sizes = []
    item = data
    while isinstance(item, (list, tuple)):
        sizes.append(len(item))
        item = item[0] if item else None

    def check(item, depth):
        if depth == len(sizes):
            if isinstance(item, (list, tuple)):
                raise TypeError(f"'{type(item).__name__}' object cannot be interpreted as an integer")
            return
        if not isinstance(item, (list, tuple)):
            raise TypeError("not a sequence")
        if len(item) != sizes[depth]:
            raise ValueError(f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(item)})")
        for part in item:
            check(part, depth + 1)

    check(data, 0)


def from_numpy(array):
    """A tensor that shares the memory of a NumPy array (torch.from_numpy)."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    if not array.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
            "This means writing to this tensor will result in undefined behavior. You may want to copy the "
            "array to protect its data or make it writable before converting it to a tensor. This type of "
            "warning will be suppressed for the rest of this program."
        )
    out = wrap(_usable(array))
    if WATCHERS:
        watcher().shared(out)
    return out


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, without copying if possible (torch.as_tensor)."""
    on_cpu(device)
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if isinstance(data, Variable):
        return data if dtype is None else data.to(to_dtype(dtype))
    return tensor(data, dtype=dtype)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """`obj` as a tensor; copied only on request, or if unavoidable (torch.asarray)."""
    if isinstance(obj, (bytearray, memoryview)):
        obj = frombuffer(obj, dtype=dtype or Defaults.dtype)
    if type(obj).__name__ == "UntypedStorage":
        obj = leaf(obj._memory.view(Defaults.np if dtype is None else to_dtype(dtype).np))
    if isinstance(obj, Variable) and copy is False and dtype is not None and obj.dtype is not to_dtype(dtype):
        have, want = obj.dtype.type_name, to_dtype(dtype).type_name
        raise ValueError(f"can't alias tensor with dtype '{have}' into dtype '{want}'.")
    if copy is False and not isinstance(obj, (Variable, np.ndarray)):
        if isinstance(obj, np.generic):
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    out = as_tensor(obj, dtype, device)
    if copy and (out is obj or isinstance(obj, np.ndarray)):
        out = out.clone()
    if requires_grad != out.requires_grad:
        out = (out.detach() if out is obj else out)._require_grad(requires_grad)
    return out


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """The numbers in some bytes, as a tensor over the same memory (torch.frombuffer).

    Raises ValueError if there are no bytes, or fewer than `count` complete numbers from `offset` on.
    """
    try:
        size = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    kind = to_dtype(dtype).np
    if not (size and count):
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % kind.itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({kind.itemsize})"
        )
    if count > 0 and offset + count * kind.itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {kind.itemsize} bytes) after offset ({offset} bytes) must not be greater "
            f"than actual buffer length ({size} bytes)"
        )
    if memoryview(buffer).readonly:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write "
            "to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect "
            "its data or make it writable before converting it to a tensor. This type of warning will be suppressed for the "
            "rest of this program."
        )
    out = leaf(np.frombuffer(buffer, kind, count, offset), requires_grad)
    if WATCHERS:
        watcher().shared(out)
    return out


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A 0-d tensor of one number, in the default dtype (torch.scalar_tensor)."""
    return tensor(s, dtype=dtype or Defaults.dtype, device=device, requires_grad=requires_grad)


# -- constants ----------------------------------------------------------------------------------------


def size_of(args, name):
    """The shape given as name(2, 3) or name((2, 3)). Raises TypeError if one of them is not an int."""
    together = len(args) == 1 and isinstance(args[0], (tuple, list))
    shape = []
    for i, n in enumerate(args[0] if together else args):
        if isinstance(n, np.bool_) or (isinstance(n, bool) and i == 0) or not hasattr(n, "__index__"):
            kind = type_name(n)
            if i > 0:  # the first decides whether this is a size at all
                raise TypeError(
                    f"{name}(): argument 'size' failed to unpack the object at pos {i + 1} with error "
                    f'"type must be tuple of ints,but got {kind}"'
                )
            found = f", but found element of type {kind} at pos 0" if together else f", not {kind}"
            raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints{found}")
        shape.append(operator.index(n))
    for n in shape:
        if n < 0:
            if name == "zeros":
                raise RuntimeError("zeros: Dimension size must be non-negative.")
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {shape}")
    return addressable(tuple(shape))


def addressable(shape):
    """Returns `shape` if that many elements are addressable. Raises RuntimeError otherwise."""
    size = math.prod(shape)
    if size >= 2**61:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if not size and math.prod(n or 1 for n in shape[1:]) >= 2**63:
        raise RuntimeError("Stride calculation overflowed")
    return shape


def float_type(dtype):
    """The NumPy type of `dtype`, or the default float."""
    return Defaults.np if dtype is None else to_dtype(dtype).np


def _constant(name, make, text):
    def fn(
        *size,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        pin_memory=False,
        memory_format=None,
        **named,
    ):
        on_cpu(device, pin_memory)
        if not size:
            if "size" not in named:
                raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
            size = (named["size"],)
            if isinstance(size[0], int):
                raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not int")
        out = make(size_of(size, name), float_type(dtype))
        return leaf(out if memory_format is None else memory_format.lay(out), requires_grad)

    def like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
        x = array_like(input, name)
        if device is not None:
            on_cpu(device)
        out = make(x.shape, x.dtype if dtype is None else to_dtype(dtype).np)
        return follow(leaf(_laid(out, x, memory_format), requires_grad), input)

    fn.__name__ = fn.__qualname__ = name
    like.__name__ = like.__qualname__ = name + "_like"
    fn.__doc__ = f"{text} of the given size (torch.{name})."
    like.__doc__ = f"{text} in the size and type of `input` (torch.{name}_like)."
    return fn, like


def array_like(input, name):
    """The array of a tensor passed to a `..._like` function."""
    if not isinstance(input, Variable):
        raise TypeError(
            f"{name}_like(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input._data


def _laid(out, x, memory_format):
    """`out` in the requested memory order, by default that of `x`."""
    if memory_format not in (None, preserve_format):
        return memory_format.lay(out)
    if isinstance(x, np.ndarray) and not x.flags.c_contiguous and 0 not in x.strides:
        laid = np.empty_like(x, dtype=out.dtype)
        laid[...] = out
        return laid
    return out


zeros, zeros_like = _constant("zeros", np.zeros, "Zeros")
ones, ones_like = _constant("ones", np.ones, "Ones")
empty, empty_like = _constant("empty", np.zeros, "Numbers yet to be written, zero for now,")


def full(size, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor filled with one value, in the type of the value (torch.full)."""
    on_cpu(device)
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    if isinstance(fill_value, Variable):
        if fill_value.requires_grad:
            raise TypeError("expected a number")
        if fill_value._data.ndim:
            raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
        dtype = dtype or fill_value.dtype
        fill_value = fill_value.item()
    dtype = dtype_of_number(fill_value).np if dtype is None else to_dtype(dtype).np
    return leaf(np.full(size_of((size,), "full"), fill_value_as(fill_value, dtype)), requires_grad)


def full_like(
    input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None
):
    """A tensor filled with one value, in the size and type of `input` (torch.full_like)."""
    x = array_like(input, "full")
    on_cpu(device)
    fill_value = fill_value.item() if isinstance(fill_value, Variable) else fill_value
    out = np.full(x.shape, fill_value_as(fill_value, x.dtype if dtype is None else to_dtype(dtype).np))
    return follow(leaf(_laid(out, x, memory_format), requires_grad), input)


def empty_strided(
    size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """Zeros laid out in memory with the given strides (torch.empty_strided)."""
    on_cpu(device, pin_memory)
    dtype = float_type(dtype)
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
        )
    n = 1 + sum((k - 1) * s for k, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if n * dtype.itemsize >= 2**63:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
        )
    memory = np.zeros(n, dtype)
    return leaf(
        np.lib.stride_tricks.as_strided(memory, size, [s * dtype.itemsize for s in stride]), requires_grad
    )


def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """Zeros without gaps, with dims in memory in the order `physical_layout`, outermost first (torch.empty_permuted)."""
    on_cpu(device, pin_memory)
    if len(size) != len(physical_layout):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for i, d in enumerate(physical_layout):
        if not 0 <= d < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index {i}).  "
                "NB: negative dims not currently supported; file an issue if you want it."
            )
        if d in physical_layout[:i]:
            raise RuntimeError("Duplicate dim not allowed")
    shape = size_of((size,), "empty_permuted")
    array = np.zeros([shape[d] for d in physical_layout], float_type(dtype))
    return leaf(array.transpose(np.argsort(physical_layout)), requires_grad)


def eye(n, m=None, *, dtype=None, layout=None, device=None, requires_grad=False):
    """Ones on the diagonal, zeros elsewhere (torch.eye)."""
    on_cpu(device)
    for name, k in (("n", n), ("m", m or 0)):
        if k < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {k}")
    return leaf(np.eye(n, m, dtype=float_type(dtype)), requires_grad)


# -- ranges -------------------------------------------------------------------------------------------


def _number(n):
    return n.item() if isinstance(n, (Variable, np.generic)) else n


def arange(*args, start=None, end=None, step=None, dtype=None, layout=None, device=None, requires_grad=False):
    """start, start + step, ... below end: int64 if all three are ints, otherwise the default float (torch.arange)."""
    on_cpu(device)
    given = [_number(n) for n in args]
    if len(given) == 1 and end is None:
        end = given[0]
    else:
        for name, value in zip(("start", "end", "step"), given, strict=False):
            start, end, step = (
                value if name == k else v for k, v in (("start", start), ("end", end), ("step", step))
            )
    start, end, step = (
        _number(0 if start is None else start),
        _number(end),
        _number(1 if step is None else step),
    )
    if dtype is None:
        dtype = np.dtype(np.int64) if all(isinstance(n, int) for n in (start, end, step)) else Defaults.np
    else:
        dtype = to_dtype(dtype).np
    _no_bools("arange", dtype)
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if dtype == np.int64:  # PyTorch counts in the type of the result
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    if end < start if step > 0 else end > start:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if all(isinstance(n, int) for n in (start, end, step)):
        if (end - start) // step >= 2**62:
            raise RuntimeError("invalid size, possible overflow?")
        return leaf(np.arange(start, end, step).astype(dtype, copy=False), requires_grad)
    n = math.ceil((end - start) / step)
    if n >= 2**63:
        raise RuntimeError("invalid size, possible overflow?")
    if dtype.kind != "f":
        return leaf((int(start) + int(step) * np.arange(n, dtype=np.int64)).astype(dtype), requires_grad)
    return leaf(_steps(start, step, n, dtype), requires_grad)


def _steps(start, step, n, dtype):
    """start, start + step, ... rounded exactly as with PyTorch's vectors of 32 bytes.

    The first number of each vector is computed and rounded, the others are computed from it; the rest at the end one by one.
    """
    lanes, wide = 32 // dtype.itemsize, np.float32 if dtype == np.float16 else np.float64
    start, step = WIDE(wide(start)), WIDE(wide(step))
    numbers = (step * np.arange(n) + start).astype(wide).astype(dtype)
    whole = n - n % (2 * lanes)
    for lane in range(1, lanes):
        numbers[lane:whole:lanes] = (numbers[:whole:lanes] + lane * step).astype(wide)
    return numbers


WIDE = np.longdouble
"""For a product and a sum with a single rounding, as on processors with FMA."""


def range_(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """start, start + step, ... up to and including end (torch.range, deprecated)."""
    warn_once(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
        "[start, end)."
    )
    start, end = (0, start) if end is None else (start, end)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if end < start if step > 0 else end > start:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = int((end - start) / step) + 1
    return leaf((start + step * np.arange(n)).astype(float_type(dtype)), requires_grad)


def _no_bools(op, dtype):
    if dtype.kind == "b":
        raise not_for(dtype, f"{op}_cpu")


def _ends(op, start, end, dtype):
    """Both ends of a range as numbers; integers for an integer result."""
    bad = [
        f"{name} with {t._data.ndim} dimension(s)"
        for name, t in (("start", start), ("end", end))
        if isinstance(t, Variable) and t._data.ndim
    ]
    if bad:
        raise RuntimeError(
            f"{op} only supports 0-dimensional start and end tensors, but got {' and '.join(bad)}."
        )
    start, end = [t._data.item() if isinstance(t, Variable) else t for t in (start, end)]
    if dtype.kind == "f":
        return _number(start), _number(end)
    if dtype.kind == "u" and min(_number(start), _number(end)) < 0:
        raise RuntimeError("value cannot be converted to type uint8_t without overflow")
    return int(_number(start)), int(_number(end))


def _evenly(start, end, steps, dtype):
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if steps < 2:
        return np.full(steps, start, dtype)
    work = dtype if dtype.kind == "f" else np.dtype(np.float64)
    start, end = work.type(start), work.type(end)
    step = (end - start) / work.type(steps - 1)
    wide = np.float16 if work == np.float16 else WIDE
    k, step = np.arange(steps).astype(wide), wide(step)
    points = np.where(k < steps // 2, start + step * k, end - step * (wide(steps - 1) - k))
    return points.astype(work).astype(dtype)


def linspace(start, end, steps, *, dtype=None, layout=None, device=None, requires_grad=False):
    """`steps` numbers from start to end at equal distances, both included (torch.linspace)."""
    on_cpu(device)
    dtype = float_type(dtype)
    _no_bools("linspace", dtype)
    steps = operator.index(steps)
    out = leaf(_evenly(*_ends("linspace", start, end, dtype), steps, dtype), requires_grad)
    return follow(out, start, end)


def logspace(start, end, steps, base=10.0, *, dtype=None, layout=None, device=None, requires_grad=False):
    """Base to the power of linspace(start, end, steps) (torch.logspace)."""
    on_cpu(device)
    dtype = float_type(dtype)
    _no_bools("logspace", dtype)
    steps = operator.index(steps)
    powers = _evenly(*_ends("logspace", start, end, dtype), steps, np.dtype(np.float64))
    return follow(leaf((base**powers).astype(dtype), requires_grad), start, end)


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    """The row and column numbers of a lower triangle (torch.tril_indices)."""
    for name, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{name} must be non-negative, got{n}")
    return leaf(np.stack(np.tril_indices(row, offset, col)).astype(to_dtype(dtype or int).np))


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None):
    """The row and column numbers of an upper triangle (torch.triu_indices)."""
    for name, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{name} must be non-negative, got{n}")
    return leaf(np.stack(np.triu_indices(row, offset, col)).astype(to_dtype(dtype or int).np))


# -- the constructors of old --------------------------------------------------------------------------


class LegacyType:
    """FloatTensor, LongTensor, ...: the legacy constructors, which take a size or data."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.__name__ = f"{dtype.type_name}Tensor"

    def __call__(self, *data, **named):
        return legacy_tensor(Registry.tensor, data, named, self.dtype)

    def __repr__(self):
        return f"<class 'torch.{self.__name__}'>"

    def __or__(self, other):
        return typing.Union[self, other]  # noqa: UP007 - this is what makes `torch.FloatTensor | None` mean something

    def __ror__(self, other):
        return typing.Union[other, self]  # noqa: UP007 - as above

    def __instancecheck__(self, t):
        return isinstance(t, Variable) and t.dtype is self.dtype


LEGACY = {f"{d.type_name}Tensor": LegacyType(d) for d in ALL.values()}


def legacy_dtype(what):
    """The dtype meant by x.type(what): a dtype, a name such as 'torch.LongTensor', or that constructor."""
    if isinstance(what, LegacyType):
        return what.dtype
    if isinstance(what, str):
        if what.removeprefix("torch.") not in LEGACY:
            raise ValueError(f"invalid type: '{what}'")
        return LEGACY[what.removeprefix("torch.")].dtype
    if what is Registry.tensor:
        return Defaults.dtype
    return to_dtype(what)


def legacy_tensor(cls, data, named, dtype=None, alike=True):
    """Tensor(2, 3) is an uninitialized tensor of that size, Tensor([1, 2]) has that data (torch.Tensor).

    data            the positional arguments
    named           the keyword arguments: size=, data= or other= instead, and a device
    dtype, alike    the type, and whether a given tensor must have it

    Raises TypeError if no signature fits, RuntimeError for a device other than the CPU.
    """
    where = named.get("device")
    rest = {name: value for name, value in named.items() if name != "device"}
    sized = bool(data) and (len(data) > 1 or _is_size(data[0])) and hasattr(data[0], "__index__")
    if (
        len(data) * (not sized) + len(rest) > 1
        or (sized and rest)
        or not rest.keys() <= {"size", "data", "other"}
    ):
        from .interface.arguments import why

        raise TypeError(why("Tensor.new", None, data, named, None))
    if where is not None and device(where).type != "cpu":
        raise RuntimeError(
            f"legacy constructor expects device type: cpu but device type: {device(where).type} was passed"
        )
    what = next(iter(rest.values()), None) if rest else data[0] if data else ()
    if sized or "size" in rest or type(what).__name__ == "Size" or (not data and not rest):
        shape = size_of(data if sized else (what if "size" in rest or what else (0,),), "new")
        out = leaf(np.zeros(shape, (dtype or Defaults.dtype).np))
    elif isinstance(what, Variable):
        out = _legacy_alias(what, dtype if alike else None, where)
    else:
        if what is None or isinstance(what, (bool, float, complex, dict)):
            raise TypeError(f"new(): data must be a sequence (got {type_name(what)})")
        out = tensor(what, dtype=dtype or Defaults.dtype)
    if type(out) is not cls:
        out.__class__ = cls
    return out


def _is_size(one):
    """Whether the only argument of a legacy constructor is a size; for a tensor, it makes a tensor like it."""
    return type(one).__name__ == "Size" or (
        isinstance(one, (int, np.integer, np.ndarray)) and not isinstance(one, bool) and not np.ndim(one)
    )


def _legacy_alias(what, dtype, where):
    """A tensor over the same memory. Raises TypeError if `dtype` is given and it has another type."""
    if where is not None:
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  Use torch.tensor(...) "
            "or torch.as_tensor(...) instead."
        )
    if dtype is not None and what.dtype is not dtype:
        wanted, got = [
            f"TensorOptions(dtype={CPP_NAMES[kind.name]}, device=cpu, layout=Strided, requires_grad=false (default), "
            "pinned_memory=false (default), memory_format=(nullopt))"
            for kind in (dtype.np, what._data.dtype)
        ]
        raise TypeError(f"expected {wanted} (got {got}")
    return what.detach()


def legacy_variable(cls, data=None, requires_grad=False, volatile=False):
    """Variable(data), as in old programs: a tensor over the same memory, without history (torch.autograd.Variable).

    Raises TypeError if `data` is not a tensor. `volatile` only warns.
    """
    if volatile:
        warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
    if data is None:
        return Registry.tensor()
    if not isinstance(data, Variable):
        refuse_pytorch(data)
        raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
    return data.detach()._require_grad(requires_grad)


Variable.__new__ = legacy_variable  # tensors have their own; this one is for Variable


# -- the rest of the namespace ------------------------------------------------------------------------


def is_tensor(obj):
    """Whether `obj` is a tensor (torch.is_tensor)."""
    return isinstance(obj, Variable)


def is_floating_point(input):
    """Whether the numbers are floating point (torch.is_floating_point)."""
    return input._data.dtype.kind == "f"


def is_complex(input):
    """False for every tensor: there are no complex ones here."""
    return input._data.dtype.kind == "c"


def is_grad_dtype(dtype):
    """Whether tensors of this type can require a gradient."""
    return dtype.is_floating_point


def get_num_threads():
    """The number of threads of an operation: always 1 here (torch.get_num_threads)."""
    return 1


def set_num_threads(n):
    """Does nothing: operations run in one thread here (torch.set_num_threads)."""
    _check_threads("set_num_threads", n)


def set_num_interop_threads(n):
    """Does nothing too (torch.set_num_interop_threads)."""
    _check_threads("set_num_interop_threads", n)


def _check_threads(name, n):
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool):
        raise RuntimeError(f"{name} expects an int, but got {type_name(n)}")
    if not -(2**31) <= n < 2**31:
        raise ValueError("Overflow when unpacking long")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")


_deterministic = 0, False


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Stores the setting; all algorithms here are deterministic anyway (torch.use_deterministic_algorithms)."""
    global _deterministic
    _deterministic = (2 - bool(warn_only)) * bool(mode), bool(warn_only)


def is_deterministic_algorithms_warn_only_enabled():
    """The setting `warn_only` made by `use_deterministic_algorithms`."""
    return _deterministic[1]


def get_deterministic_debug_mode():
    """0, or if deterministic algorithms were requested 1 (warn if there is none) or 2 (raise)."""
    return _deterministic[0]


def set_deterministic_debug_mode(debug_mode):
    """The setting of `use_deterministic_algorithms` as 0, 1 or 2, or "default", "warn", "error"."""
    modes = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in modes:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    mode = modes.get(debug_mode, debug_mode)
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def are_deterministic_algorithms_enabled():
    """The setting made by `use_deterministic_algorithms`."""
    return _deterministic[0] > 0


def typename(obj):
    """The full name of the type of `obj`, for a tensor its legacy name (torch.typename)."""
    if isinstance(obj, Variable):
        return obj.type()
    kind = obj if isinstance(obj, type) else type(obj)
    return (
        kind.__qualname__ if kind.__module__ in ("", "builtins") else f"{kind.__module__}.{kind.__qualname__}"
    )


def set_default_device(where):
    """Accepts the CPU only (torch.set_default_device)."""
    on_cpu(where)


def get_default_device():
    """The CPU, except inside of `with torch.device("meta")` (torch.get_default_device)."""
    return here()


def set_default_tensor_type(what):
    """The legacy way to set the default dtype (torch.set_default_tensor_type)."""
    from .dtypes import set_default_dtype

    warning.warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    if isinstance(what, dtype_type) or what is None:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    set_default_dtype(legacy_dtype(what))


_FUNCTIONS = (
    tensor, from_numpy, as_tensor, asarray, frombuffer, scalar_tensor, zeros, zeros_like, ones, ones_like, empty, empty_like, full,
    full_like, empty_strided, empty_permuted, eye, arange, linspace, logspace, tril_indices, triu_indices, device, layout, is_tensor,
    is_floating_point, is_complex, get_num_threads, set_num_threads, use_deterministic_algorithms,
    are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled, get_deterministic_debug_mode,
    set_deterministic_debug_mode, typename, set_default_device,
    get_default_device, set_default_tensor_type, finfo, iinfo, can_cast, printing.set_printoptions,
    printing.get_printoptions, warning.set_warn_always, warning.is_warn_always_enabled, random.Generator,
    random.manual_seed, random.seed, random.initial_seed, random.get_rng_state, random.set_rng_state,
)  # fmt: skip

FACTORIES = {
    **{fn.__name__: fn for fn in _FUNCTIONS},
    **LEGACY,
    "range": range_,
    "get_num_interop_threads": get_num_threads,
    "set_num_interop_threads": set_num_interop_threads,
    "default_generator": random.DEFAULT,
    "random": random,
    "return_types": return_types,
    "strided": strided,
    **{
        name: layout(name)
        for name in (
            "jagged",
            "sparse_bsc",
            "sparse_bsr",
            "sparse_coo",
            "sparse_csc",
            "sparse_csr",
            "_mkldnn",
        )
    },
    "memory_format": memory_format,
    "contiguous_format": contiguous_format,
    "legacy_contiguous_format": contiguous_format,
    "preserve_format": preserve_format,
    "channels_last": channels_last,
    "channels_last_3d": channels_last_3d,
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "newaxis": None,
}
"""The functions of this page that belong in the torch-like namespace."""

__all__ = ["FACTORIES", "LEGACY", "dtype_type", "leaf", "legacy_dtype", "legacy_tensor"]
