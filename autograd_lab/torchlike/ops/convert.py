"""The same numbers in memory of their own or in another type: clone, to, copy_, fill_, and new tensors like one."""

import numpy as np

from ...core.rules.copies import (
    CloneBackward0,
    CopyBackwards,
    FillBackward0,
    FillBackward2,
    ToCopyBackward0,
    ZeroBackward0,
)
from ...core.seams import extend
from .. import creation
from ..autograd.memory import check_overlap
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import INFERENCE, NO_EDGE, Registry, Variable, bump_version, wrap
from ..autograd.views import check_writable
from ..dtypes import ALL, fill_value_as, to_dtype
from ..dtypes import dtype as dtype_type
from ..interface.forms import type_name
from ..layout import contiguous_format, preserve_format
from . import array_or_tensor as both
from .rule import FUNCTIONS, METHODS, Rule, function, method, shape_error, tensor_of
from .shapes import cast, sizes_of


def keeps(memory_format):
    """Whether no order in memory is asked for."""
    return memory_format is None or memory_format is preserve_format


def _cloned(x, order="K"):
    if not isinstance(x, np.ndarray):
        return x
    if order not in ("C", "K"):
        laid = order.lay(x)
        return laid.copy("K") if np.may_share_memory(laid, x) else laid
    return x.copy("C" if 0 in x.strides else order)


def _converted(x, dtype, old, order=None):
    if not isinstance(x, np.ndarray):
        return dtype.type(x)
    y = x.astype(dtype, order="K")
    return y if order is None else order.lay(y)


def filled(x, value):
    """An array like `x` of one number, or the number of a 0-d array. Raises RuntimeError if the type cannot hold it."""
    y = np.empty(x.shape, x.dtype)
    y.fill(value if isinstance(value, (np.ndarray, np.generic)) else fill_value_as(value, x.dtype))
    return y


def _copied(x, y, _shape, _dtype):
    try:
        return np.broadcast_to(y, x.shape).astype(x.dtype)
    except ValueError:
        try:
            both_shapes = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            raise shape_error(x.shape, y.shape) from None
        raise RuntimeError(
            f"output with shape {list(x.shape)} doesn't match the broadcast shape {list(both_shapes)}"
        ) from None


Registry.clone = CloneBackward0
extend(ToCopyBackward0, widens=False)
for _rule, _forward in (
    (CloneBackward0, _cloned),
    (ToCopyBackward0, _converted),
    (FillBackward0, filled),
    (CopyBackwards, _copied),
):
    _rule.forward = staticmethod(_forward)


@function
def clone(input, *, memory_format=None):
    """A copy that gradients flow through; strides are kept unless memory_format asks for contiguous (torch.clone)."""
    return apply(CloneBackward0, (input,), "K" if keeps(memory_format) else memory_format)


@method
def contiguous(self, memory_format=None):
    """The tensor itself if it lies in row-major order (or that of `memory_format`), else a copy that does."""
    data = self._data
    asked = contiguous_format if keeps(memory_format) else memory_format
    if not isinstance(data, np.ndarray) or asked.holds(data):
        return self
    return apply(CloneBackward0, (self,), asked)


def convert(t, dtype, copy=False, memory_format=None):
    """`t` as a tensor of the NumPy dtype and in that order: `t` itself if it is one already, unless `copy`."""
    x, old = t._data, t._data.dtype
    order = None if keeps(memory_format) or not isinstance(x, np.ndarray) else memory_format
    if old is dtype and not copy and (order is None or order.suits(x)):
        return t
    args = (dtype, old) if order is None else (dtype, old, order)
    if dtype.kind != "f":
        out = wrap(THREAD.state.run(ToCopyBackward0.forward, x, *args))
        return creation.follow(out, t)  # integers carry no gradient
    return apply(ToCopyBackward0, (t,), *args)


@method
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor in another number type: to(torch.float64), to(other), to("cpu"); itself if nothing changes.

    Raises an error for every device but the CPU.
    """
    for a in args:
        if isinstance(a, dtype_type) or a in (float, int, bool):
            dtype = a
        elif isinstance(a, Variable):
            dtype = a.dtype
        elif a is True or a is False:  # to(dtype, non_blocking, copy)
            copy = a if a is args[-1] and args[-2] in (True, False) else copy
        elif a is not None:
            creation.on_cpu(a)
    creation.on_cpu(device)
    return convert(self, to_dtype(dtype).np if dtype is not None else self._data.dtype, copy, memory_format)


def _converter(name, dtype):
    def fn(self, memory_format=None):
        return convert(self, dtype.np, memory_format=memory_format)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"The tensor as {dtype!r}; itself if it is that already."
    method(fn)


for _name, _dtype in {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "bool": "bool",
}.items():
    _converter(_name, ALL[np.dtype(_dtype)])


@method
def cpu(self):
    """The tensor itself: it is on the CPU already."""
    return self


@method
def cuda(self, device=None):
    """Raises AssertionError, or RuntimeError for a device by its number: there is no other than the CPU."""
    if isinstance(device, int):
        raise no_accelerator()
    creation.on_cpu("cuda")


def no_accelerator():
    """The error of whoever asks for the first, or any other, accelerator."""
    return RuntimeError("Cannot access accelerator device when none is available.")


@method
def get_device(self):
    """-1: it is on the CPU."""
    return -1


@method
def pin_memory(self, device=None):
    """Raises RuntimeError: there is no accelerator to pin memory for."""
    _check_device("pin_memory", device)
    raise no_accelerator()


@method
def is_pinned(self, device=None):
    """Always False."""
    _check_device("is_pinned", device)
    return False


def _check_device(op, device):
    if device is not None and not isinstance(device, (str, int, creation.device)):
        raise TypeError(
            f"{op}(): argument 'device' (position 1) must be torch.device, not {type_name(device)}"
        )


@method
def type_as(self, other):
    """self.to(other.dtype)."""
    return convert(self, other._data.dtype)


@method(name="type")
def type_(self, dtype=None):
    """The legacy type name, such as 'torch.FloatTensor'; with an argument, the tensor converted to that type."""
    if dtype is None:
        return f"torch.{self.dtype.type_name}Tensor"
    return convert(self, creation.legacy_dtype(dtype).np)


@method
def copy_(self, src, non_blocking=False):
    """Overwrite the tensor with `src`, broadcast and converted to its type; returns the tensor."""
    src = tensor_of(src, self)
    if self._data.dtype.kind != "f" and src.requires_grad:
        src = src.detach()  # whole numbers have no history
    return apply_inplace(CopyBackwards, (self, src), src._data.shape, src._data.dtype)


class FillBackward1(Rule):
    """All elements set to a 0-d tensor.

    Math: y = expand(b, shape(a)).   VJP: to a: 0; to b: sum(g).   Shapes: c is 0-d.   Saves: nothing.   PyTorch: torch.fill
    """

    op = "fill"
    inputs = ("self", "value")

    def forward(x, value, _dtype):
        return filled(x, value)

    def vjp(self, g):
        return both.zeros_like(g), cast(g.sum(), self.args[0]) if self.needs(1) else None


class FillBackward3(FillBackward1):
    """The in-place form of FillBackward1.

    Math: y = expand(b, shape(a)).   VJP: to a: 0; to b: sum(g).   Shapes: the same.   Saves: nothing.   PyTorch: torch.Tensor.fill_
    """


def _fill(run, scalar_rule, tensor_rule, t, value):
    if isinstance(value, Variable):
        if value._data.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._data.ndim} dimensions."
            )
        if run is apply_inplace:
            check_writable(t, (value,))
            check_overlap(t, ())
        return run(tensor_rule, (t, value), value._data.dtype)
    return run(scalar_rule, (t,), value)


@function(method=False)
def fill(input, value):
    """A tensor like `input` filled with one value (torch.fill)."""
    return _fill(apply, FillBackward0, FillBackward1, input, value)


@method
def fill_(self, value):
    """Set all elements to one value."""
    return _fill(apply_inplace, FillBackward2, FillBackward3, self, value)


@method
def zero_(self):
    """Set all elements to zero."""
    state, x = THREAD.state, self._data
    recorded = state.special or (state.grad and self._edge is not NO_EDGE)
    own = type(x) is np.ndarray and x.base is None and x.flags.writeable
    if own and not recorded and self._box is not INFERENCE:  # the gradients of a training loop
        bump_version(self)
        x.fill(0)
        return self
    return _fill(apply_inplace, ZeroBackward0, None, self, 0)


FUNCTIONS["fill_"], FUNCTIONS["zero_"] = fill_, zero_


# -- new tensors like this one ------------------------------------------------------------------------


def _new(name, factory):
    def fn(self, *size, dtype=None, device=None, requires_grad=False, **named):
        size = sizes_of(size or (named.get("size", ()),), "size")
        out = factory(size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)
        return creation.follow(out, self)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"{factory.__name__}(size) in the type of this tensor."
    method(fn)


_new("new_zeros", creation.zeros)
_new("new_ones", creation.ones)
_new("new_empty", creation.empty)


@method
def new_empty_strided(
    self, size, stride, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
):
    """empty_strided(size, stride) in the type of this tensor."""
    dtype = dtype or self.dtype
    out = creation.empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad)
    return creation.follow(out, self)


@method
def new_full(
    self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
):
    """full(size, fill_value) in the type of this tensor."""
    dtype = dtype or self.dtype
    out = creation.full(size, fill_value, dtype=dtype, device=device, requires_grad=requires_grad)
    return creation.follow(out, self)


@method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """tensor(data) in the type of this tensor."""
    return creation.tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@method
def new(self, *data, **named):
    """The legacy constructor of this tensor's type."""
    return creation.legacy_tensor(type(self), data, named, self.dtype)


for _kind in (
    "cuda",
    "ipu",
    "meta",
    "mkldnn",
    "mps",
    "nested",
    "quantized",
    "sparse",
    "sparse_csr",
    "vulkan",
    "xpu",
):
    METHODS[f"is_{_kind}"] = property(lambda self: False, doc="Always False.")
METHODS["is_cpu"] = property(lambda self: True, doc="Always True.")
METHODS["layout"] = property(lambda self: creation.strided, doc="Always torch.strided.")


@method
def share_memory_(self):
    """The tensor itself: its memory is that of one process."""
    return self


@method
def is_shared(self):
    """Always False."""
    return False


@method
def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, for it is dense; or in another number type (torch.Tensor.to_dense)."""
    if dtype is None:
        return self
    if not isinstance(dtype, dtype_type):
        raise TypeError(f"to_dense(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    return convert(self, dtype.np)


@method
def is_conj(self):
    """Always False."""
    return False


@method
def is_neg(self):
    """Always False."""
    return False


@method
def is_set_to(self, tensor):
    """Whether both are the same part of the same memory, seen with the same size and strides (torch.Tensor.is_set_to)."""
    x, y = self._array(), tensor._array()
    return x.__array_interface__["data"][0] == y.__array_interface__["data"][0] and (
        (x.shape, x.strides) == (y.shape, y.strides)
    )


@method
def dim_order(self):
    """The dims, from the farthest apart in memory to the nearest (torch.Tensor.dim_order)."""
    strides = self.stride()
    return tuple(sorted(range(self.dim()), key=lambda d: (-strides[d], d)))


def detach(input):
    """The same memory and version counter, without history (torch.detach)."""
    return input.detach()


def detach_(input):
    """Forget the tensor's history, in place (torch.detach_)."""
    return input.detach_()


FUNCTIONS["detach"], FUNCTIONS["detach_"] = detach, detach_


@function(method=False)
def is_inference(input):
    """Whether the tensor was made in inference mode (torch.is_inference)."""
    return input.is_inference()


def _each(name):
    """Make a method that writes `fn(number, ...)` of each element, and of those of other tensors, over the element."""

    def written(self, *args):
        *others, fn = args
        if any(t.requires_grad for t in (self, *others)):
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
            )
        for t in others:
            if t.dtype is not self.dtype:
                raise TypeError(f"{name}: expected {self.type()} for 'other' (got {t.type()})")
        rows = [t.expand(self._data.shape)._data.reshape(-1).tolist() for t in (self, *others)]
        numbers = [fn(*row) for row in zip(*rows, strict=True)]
        for number in numbers:
            if not isinstance(number, (bool, int, float)):
                raise TypeError(f"must be real number, not {type(number).__name__}")
        self._array()[...] = np.array(numbers, self._data.dtype).reshape(self._data.shape)
        return self

    written.__name__ = written.__qualname__ = name
    written.__doc__ = f"A Python function of each element over the element, slowly (torch.Tensor.{name})."
    METHODS[name] = written


_each("apply_")
_each("map_")
_each("map2_")


__all__ = ["ALL", "convert"]
