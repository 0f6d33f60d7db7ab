"""Number types, sizes, and the rules of type promotion.

NumPy and PyTorch disagree about the last: to PyTorch a 0-d tensor or a Python number only decides the *kind* of the
result (bool < integer < floating), never its width, and integers become the default float, not float64.
"""

import contextlib
import math
import operator

import numpy as np

from .autograd.errors import TYPE_NAMES, type_name


class dtype:  # noqa: N801 - PyTorch's name
    """A number type, such as torch.float32. Compare with `is` or `==`; `np` is NumPy's counterpart."""

    __slots__ = ("is_floating_point", "is_signed", "itemsize", "name", "np")

    def __init__(self, name):
        self.name = name
        self.np = np.dtype(name)
        self.itemsize = self.np.itemsize
        self.is_floating_point = self.np.kind == "f"
        self.is_signed = self.np.kind in "fi"

    is_complex = False

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return _named, (self.name,)

    @property
    def type_name(self):
        """PyTorch's name for it in error messages: Float, Double, Long, ..."""
        return TYPE_NAMES[self.name]

    def to_complex(self):
        """Raises RuntimeError: there are no complex numbers here."""
        raise RuntimeError(f"autograd_lab has no complex numbers, so {self!r} has no complex counterpart")


class foreign(dtype):  # noqa: N801 - one of the dtypes
    """A number type of PyTorch's that does not exist here: programs may name it and compare with it, but not compute in it."""

    __slots__ = ("limits", "why")

    def __init__(self, name, itemsize, why, limits=None):
        self.name, self.itemsize, self.why = name, itemsize, why
        self.limits = limits  # for finfo or iinfo: (eps, min, max, tiny), or (min, max)
        self.is_floating_point = "float" in name
        self.is_signed = not name.startswith("uint") and name != "float8_e8m0fnu"

    @property
    def is_complex(self):
        """Whether it is one of the complex types."""
        return self.name.startswith("complex")

    @property
    def np(self):
        """Raises TypeError."""
        raise TypeError(f"there are no tensors of {self!r} here: {self.why}")

    def __reduce__(self):
        return self.name


def _named(name):
    return ALL[np.dtype(name)]


float16, float32, float64 = dtype("float16"), dtype("float32"), dtype("float64")
uint8, int8, int16, int32, int64 = (
    dtype("uint8"),
    dtype("int8"),
    dtype("int16"),
    dtype("int32"),
    dtype("int64"),
)
bool_ = dtype("bool")
half, float_, double, short, int_, long = float16, float32, float64, int16, int32, int64

_NO_BFLOAT, _NO_COMPLEX, _NO_EIGHTH, _NO_UNSIGNED = (
    "NumPy has no bfloat16; use torch.float32 or torch.float16",
    "autograd_lab has no complex numbers",
    "NumPy has no floating type of 8 bits or less; use torch.float32 or torch.float16",
    "PyTorch itself computes little with it; use torch.int32 or torch.int64",
)
bfloat16 = foreign(
    "bfloat16", 2, _NO_BFLOAT, (2**-7, -(2 - 2**-7) * 2.0**127, (2 - 2**-7) * 2.0**127, 2.0**-126)
)
complex32, complex64, complex128 = [foreign(f"complex{n}", n // 8, _NO_COMPLEX) for n in (32, 64, 128)]
_EIGHTHS = {
    "8_e4m3fn": (0.125, -448.0, 448.0, 2.0**-6),
    "8_e4m3fnuz": (0.125, -240.0, 240.0, 2.0**-7),
    "8_e5m2": (0.25, -57344.0, 57344.0, 2.0**-14),
    "8_e5m2fnuz": (0.125, -57344.0, 57344.0, 2.0**-15),
    "8_e8m0fnu": (1.0, 2.0**-127, 2.0**127, 2.0**-127),
    "4_e2m1fn_x2": None,
}
FOREIGN = {
    **{f"uint{n}": foreign(f"uint{n}", n // 8, _NO_UNSIGNED, (0, 2**n - 1)) for n in (16, 32, 64)},
    **{f"float{name}": foreign(f"float{name}", 1, _NO_EIGHTH, limits) for name, limits in _EIGHTHS.items()},
}
"""Further types of that kind, by name."""

ALL = {d.np: d for d in (float16, float32, float64, uint8, int8, int16, int32, int64, bool_)}


def native(array):
    """The same memory with the shared object of its type: the rules compare types by identity.

    NumPy may have several objects for one type; an unpickled array has its own.
    """
    shared = ALL[array.dtype].np
    return array if array.dtype is shared else array.view(shared)


class Defaults:
    """The default floating type (torch.set_default_dtype)."""

    dtype = float32
    np = float32.np
    meta = None
    """Makes the context for `with torch.device("meta")`, or None; set for programs written for PyTorch (standin.py)."""


def set_default_dtype(d, /):
    """Set the type of tensors made from Python floats; floating types only (torch.set_default_dtype)."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    Defaults.dtype, Defaults.np = d, d.np


def get_default_dtype():
    """The type of tensors made from Python floats (torch.get_default_dtype)."""
    return Defaults.dtype


def to_dtype(d, name="to"):
    """A dtype from a dtype, a NumPy type or Python's float, int and bool. Raises TypeError for anything else."""
    if isinstance(d, dtype):
        return d
    found = None
    if not isinstance(d, str) and not (isinstance(d, type) and issubclass(d, np.generic)):
        with contextlib.suppress(TypeError):
            found = ALL.get(np.dtype(np.int64 if d is int else d))
    if found is None:
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(d).__name__}")
    return found


_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}


def promote_types(a, b):
    """The narrowest dtype that both can be converted to; any float outranks integers (torch.promote_types)."""
    return ALL[promote_np(a.np, b.np)]


def promote_np(a, b):
    """The same for NumPy dtypes."""
    if a is b:
        return a
    ra, rb = _RANK[a.kind], _RANK[b.kind]
    if ra == rb or (ra < 2 and rb < 2):
        return np.promote_types(a, b)
    return a if ra > rb else b


def meet(x, y):
    """The common NumPy dtype of the arrays `x` and `y`; 0-d ones only contribute their kind."""
    a, b = x.dtype, y.dtype
    if a is b:
        return a
    if (x.ndim == 0) != (y.ndim == 0):
        full, zero = (b, a) if x.ndim == 0 else (a, b)
        if _RANK[zero.kind] > _RANK[full.kind]:
            return promote_np(full, zero)
        return full
    return promote_np(a, b)


def meet_number(x_dtype, number):
    """The common NumPy dtype of an array and a Python number."""
    if isinstance(number, bool):
        return x_dtype
    if isinstance(number, int):
        return np.dtype(np.int64) if x_dtype.kind == "b" else x_dtype
    return x_dtype if x_dtype.kind == "f" else Defaults.np


def result_type(a, b):
    """The dtype of an operation on `a` and `b`, tensors or numbers (torch.result_type)."""
    from .autograd.variable import Variable

    if isinstance(a, Variable) and isinstance(b, Variable):
        return ALL[meet(a._data, b._data)]
    if isinstance(a, Variable):
        return ALL[meet_number(a._data.dtype, b)]
    if isinstance(b, Variable):
        return ALL[meet_number(b._data.dtype, a)]
    return ALL[meet(np.asarray(_of_number(a)), np.asarray(_of_number(b)))]


def _of_number(n):
    return np.asarray(n, dtype=dtype_of_number(n).np)


def dtype_of_number(n):
    """The dtype that a Python number gets as a tensor."""
    if isinstance(n, bool):
        return bool_
    return int64 if isinstance(n, int) else Defaults.dtype


NARROW = np.dtype(np.intp).itemsize < 8
"""Whether NumPy counts with 32 bits here, as in WebAssembly, while positions and integers of tensors have 64."""


def as_places(index):
    """An array of positions as `take`, `put`, `repeat`, `bincount` and `reduceat` want it: where NARROW, they refuse int64."""
    return index.astype(np.intp) if NARROW else index


def as_int64(numbers):
    """An array that NumPy made of Python's numbers, or by counting, as the data of a tensor: where NARROW, its integers are int32."""
    return numbers.astype(np.int64) if NARROW and numbers.dtype == np.intp else numbers


def can_cast(from_, to):
    """Whether a value of one type may be stored in another (torch.can_cast).

    Floats cannot become integers, and only bools can become bools.
    """
    return _RANK[from_.np.kind] <= _RANK[to.np.kind]


def _asked(name, type):
    """The dtype argument of finfo or iinfo. Raises TypeError if it is not a dtype."""
    if isinstance(type, dtype):
        return type
    if type not in (float, int, bool):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type_name(type)}")
    return to_dtype(type)


class finfo:  # noqa: N801 - PyTorch's name
    """The limits of a floating type (torch.finfo): eps, max, min, tiny, bits, resolution."""

    def __init__(self, type=None):
        type = Defaults.dtype if type is None else _asked("finfo", type)
        if not type.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        self.bits = 8 * type.itemsize
        if isinstance(type, foreign) and type.limits is not None:
            self.eps, self.min, self.max, self.tiny = type.limits
        else:
            info = np.finfo(type.np)
            self.eps, self.min, self.max, self.tiny = [
                float(v) for v in (info.eps, info.min, info.max, info.tiny)
            ]
        self.smallest_normal = self.tiny
        self.resolution = 10.0 ** -int(-math.log10(self.eps))
        self.dtype = type.name

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:  # noqa: N801 - PyTorch's name
    """The limits of an integer type (torch.iinfo): max, min, bits."""

    def __init__(self, type):
        type = _asked("iinfo", type)
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
            )
        self.bits, self.dtype = 8 * type.itemsize, type.name
        if isinstance(type, foreign):
            self.min, self.max = type.limits
        else:
            info = np.iinfo(type.np)
            self.min, self.max = int(info.min), int(info.max)

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


_C_NAMES = {
    "float16": "c10::Half", "float32": "float", "float64": "double", "uint8": "uint8_t", "int8": "int8_t",
    "int16": "int16_t", "int32": "int", "int64": "int64_t",
}  # fmt: skip
_LIMITS = {d.np: float(np.finfo(d.np).max) for d in (float16, float32, float64)}
_LIMITS.update(
    {d.np: (int(np.iinfo(d.np).min), int(np.iinfo(d.np).max)) for d in (uint8, int8, int16, int32, int64)}
)


def number_as(value, np_dtype):
    """A Python number as a NumPy scalar of that type. Raises RuntimeError if it is too large for it."""
    if np_dtype.kind == "b":
        return np.bool_(value)
    limit = _LIMITS[np_dtype]
    if np_dtype.kind == "f":
        fits = abs(value) <= limit or value != value or abs(value) == np.inf
    else:
        fits = (limit[0] or -limit[1]) <= value <= limit[1]
    if not fits:
        raise RuntimeError(f"value cannot be converted to type {_C_NAMES[np_dtype.name]} without overflow")
    return np_dtype.type(value) if np_dtype.kind == "f" else np.int64(value).astype(np_dtype)


def fill_value_as(value, np_dtype):
    """The same for filling memory, where float16 may overflow to infinity, as in PyTorch."""
    if np_dtype == np.float16:
        with np.errstate(over="ignore"):
            return np_dtype.type(value)
    return number_as(value, np_dtype)


def _whole(i, n):
    if not hasattr(type(n), "__index__"):
        raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')")
    return operator.index(n)


class Size(tuple):
    """The shape of a tensor: a tuple that prints as torch.Size([2, 3])."""

    __slots__ = ()

    def __new__(cls, items=()):
        """The sizes as ints. Raises TypeError if one is not an int."""
        return tuple.__new__(cls, [_whole(i, n) for i, n in enumerate(items)])

    @classmethod
    def of(cls, shape):
        """The same for a tuple of ints, unchecked."""
        return tuple.__new__(cls, shape)

    def __repr__(self):
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def numel(self):
        """The number of elements of a tensor of this shape."""
        n = 1
        for k in self:
            n *= k
        return n

    def __add__(self, other):
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        if hasattr(type(other), "__radd__"):
            return NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other):
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times):
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __getitem__(self, i):
        item = tuple.__getitem__(self, i)
        return Size(item) if isinstance(i, slice) else item

    def __reduce__(self):
        return Size, (tuple(self),)
