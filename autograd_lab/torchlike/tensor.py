"""Tensor: numbers, and where their gradients go.

This page is the graph part of a tensor: leaves and flags, `.grad`, `grad_fn`, detaching, hooks, `backward`. The numbers
are NumPy's; the operations are rules (ops/), each of which adds its methods here.
"""

import copy

import numpy as np

from . import autograd, printing
from .autograd.errors import CPP_NAMES, refuse_pytorch, transformed_text, type_name
from .autograd.hooks import HookDict, RemovableHandle
from .autograd.memory import geometry, seen
from .autograd.metadata import gradient_type, note_replaced, set_gradient_type
from .autograd.modes import THREAD, WATCHERS, watcher
from .autograd.node import Node, count_down
from .autograd.saved import check_attached
from .autograd.variable import (
    INFERENCE,
    NO_EDGE,
    Registry,
    Variable,
    alias,
    find_edge,
    pair_of,
    version_of,
    wrap,
)
from .creation import warn_of_scalar
from .dtypes import ALL, Size, dtype, native, to_dtype
from .ops import rule
from .ops.arithmetic import OPERATORS


class Tensor(Variable):
    """A multi-dimensional array that can request its gradient (torch.Tensor).

    Made by `tensor(data)`, by the factories (zeros, ones, arange, ...) and by operations. A *leaf* is a tensor that no
    recorded operation made; a leaf that requires a gradient collects its gradient in `.grad`.
    """

    __slots__ = ()

    def __hash__(self):
        return id(self)

    def __new__(cls, *data, **named):
        from .creation import legacy_tensor

        return legacy_tensor(cls, data, named, alike=False)

    def _array(self):
        data = self._data
        if not isinstance(data, np.ndarray):
            array = np.array(data)
            if self._data is not data:  # another thread was faster
                return self._array()
            data = self._data = array
            node = self._edge and pair_of(self._edge)[0]
            if node is not None:
                type(node).share_result(node, self, data)
        return data

    # -- what it is -----------------------------------------------------------------------------------

    @property
    def shape(self):
        """The size along each dim."""
        return Size.of(self._data.shape)

    @property
    def dtype(self):
        """The number type, such as torch.float32."""
        return ALL[self._data.dtype]

    @property
    def ndim(self):
        """The number of dims."""
        return self._data.ndim

    # -- leaves and flags -----------------------------------------------------------------------------

    def _flag(self, value):
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if self._last_edge() is not NO_EDGE:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables."
                + (
                    " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                    "var_no_grad = var.detach()."
                    if not value
                    else ""
                )
            )
        if value and self._data.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        self._set_requires_grad(value)

    def _unflag(self):
        raise RuntimeError("requires_grad must be a bool")

    requires_grad = property(Variable.requires_grad.fget, _flag, _unflag, Variable.requires_grad.__doc__)
    del _flag, _unflag

    def _set_requires_grad(self, value):
        if value and self._box is INFERENCE and not THREAD.state.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
            )
        super()._set_requires_grad(value)

    def requires_grad_(self, requires_grad=True):
        """Set the flag on a leaf and return the tensor itself.

        Raises RuntimeError for integer tensors, and when switching it off on a computed tensor.
        """
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                + type_name(requires_grad)
            )
        if THREAD.state.transforms:
            raise RuntimeError(
                transformed_text("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) ")
            )
        return self._require_grad(requires_grad)

    def _require_grad(self, requires_grad=True):
        computed = self._last_edge() is not NO_EDGE
        if computed and not requires_grad:
            self.requires_grad = False
        if requires_grad and self._data.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if not computed:
            self._set_requires_grad(bool(requires_grad))
        return self

    @property
    def _version(self):
        return version_of(self)

    @property
    def _base(self):
        meta = self._meta
        return None if meta is None else meta.base

    def _is_view(self):
        return self._base is not None

    def is_inference(self):
        """Whether the tensor was made in inference mode (torch.Tensor.is_inference)."""
        return self._box is INFERENCE

    # -- the gradient ---------------------------------------------------------------------------------

    def _assign(self, value):
        meta = self._meta
        if value is not None:
            self._check_grad(value)
            meta = self._ensure_meta()
        if meta is not None:
            meta.grad = value
            if WATCHERS:
                watcher().grad_set(self, "assigned")

    def _clear(self):
        self.grad = None

    grad = property(Variable.grad.fget, _assign, _clear, Variable.grad.__doc__)
    del _assign, _clear

    def _check_grad(self, value):
        if not isinstance(value, Tensor):
            refuse_pytorch(value)
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type_name(value)}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        wanted = gradient_type(self)
        if wanted is not None and value._data.dtype is not wanted:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{CPP_NAMES[value._data.dtype.name]}' to a tensor with grad_dtype "
                f"'{ALL[wanted].type_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
                "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
                "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
                "systems that assume they match."
            )
        if value._data.shape != self._data.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value._data.shape)}' to a tensor of size "
                f"'{list(self._data.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )

    @property
    def grad_dtype(self):
        """The type that `.grad` of this leaf must have, None for any; by default its own. Incoming gradients are cast to it.

        Raises RuntimeError for a computed tensor, and when set to a type that differs from that of an existing gradient.
        """
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        wanted = gradient_type(self)
        return None if wanted is None else ALL[wanted]

    @grad_dtype.setter
    def grad_dtype(self, value):
        if value is not None and not isinstance(value, dtype):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        set_gradient_type(self, value)

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Send a gradient back through the graph and add it to `.grad` of the leaves (torch.Tensor.backward).

        gradient      the gradient of this tensor, in its shape; optional for a tensor of one element (then 1)
        retain_graph  keep the saved values, so that backward can run again (default: create_graph)
        create_graph  record the pass itself, for second derivatives
        inputs        only these leaves (or computed tensors) get a gradient
        """
        autograd.backward(self, gradient, retain_graph, create_graph, None, inputs)

    def retain_grad(self):
        """Keep this computed tensor's gradient in `.grad`; on a leaf it does nothing.

        Raises RuntimeError if the tensor does not require a gradient.
        """
        transforms = THREAD.state.transforms
        if transforms[-1:] == ("jvp",):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if transforms and self.requires_grad:
            raise RuntimeError(transformed_text("retain_grad"))
        super().retain_grad()

    def register_post_accumulate_grad_hook(self, hook):
        """Call hook(self) after a gradient was added to `.grad` of this leaf."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.grad_fn is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        meta = self._ensure_meta()
        if meta.post_accumulate_hooks is None:
            meta.post_accumulate_hooks = HookDict()
            self._accumulator_looks()
        if WATCHERS:
            watcher().flagged(self, "register_hook")
        return RemovableHandle(meta.post_accumulate_hooks, hook)

    def _accumulator_looks(self):
        """Tell the accumulator of this leaf, if any, that there are hooks."""
        node, _ = pair_of(find_edge(self))
        if node is not None:
            node._hooks()

    # -- stepping out of the graph --------------------------------------------------------------------

    def detach_(self):
        """Forget this tensor's history, in place (but not in inference mode). Raises RuntimeError for a view."""
        if THREAD.state.inference:
            return self
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        if self._meta is not None:
            # retain_grad stays with the old history, as in PyTorch.
            self._meta.requires_grad = False
        if self._edge is not None and self._edge is not NO_EDGE:
            self._ensure_meta().detached = count_down()
            if Node.unpack is not check_attached:  # from the first one on nodes ask for what was cut off
                Node.unpack = check_attached
        self._edge = NO_EDGE
        if THREAD.state.dual is not None:
            THREAD.state.dual.forget(self)
        if WATCHERS:
            watcher().flagged(self, "detach_")
        return self

    @property
    def data(self):
        """The same memory as a constant with its own version counter: writes through it go unnoticed."""
        out = wrap(self._array(), NO_EDGE, INFERENCE if self._box is INFERENCE else None)
        if WATCHERS:
            watcher().detached(self, out, "data")
        return out

    @data.setter
    def data(self, value):
        if not isinstance(value, Tensor):
            refuse_pytorch(value)
            raise TypeError("Variable data has to be a tensor, but got " + type_name(value))
        if self.requires_grad and value._data.dtype.kind != "f":
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex dtype"
            )
        note_replaced(self, value._data)
        self._data = value._array()
        if WATCHERS:
            watcher().written(None, (self, value), self, None, "data =")

    @data.deleter
    def data(self):
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def numpy(self, *, force=False):
        """The memory as a NumPy array.

        Raises RuntimeError if the tensor requires a gradient and operations on it would be recorded (unless `force`).
        """
        if force:
            return self.detach().numpy()
        if self.requires_grad and THREAD.state.enabled():
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        array = self._array()
        if WATCHERS:
            watcher().read(self, "numpy")
        return array

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if copy:
            return np.array(array, dtype)
        return array if dtype is None else array.astype(dtype, copy=False)

    __array_priority__ = 1000

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """Results of NumPy functions on a Tensor become Tensors again; booleans become uint8, as in PyTorch."""
        return wrap(native(array.astype("uint8") if array.dtype == bool else array))

    # -- numbers --------------------------------------------------------------------------------------

    def _scalar(self):
        warn_of_scalar(self)
        if self._data.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __float__(self):
        return float(self._scalar())

    def __int__(self):
        if self._data.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return int(self.item())

    def __complex__(self):
        return complex(self._scalar())

    def __index__(self):
        if self._data.size != 1 or self._data.dtype.kind == "f":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        if WATCHERS:
            watcher().looked(self, "int")
        return int(self.item())

    def __bool__(self):
        if self._data.size > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        if self._data.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        if WATCHERS:
            watcher().looked(self, "bool")
        return bool(self._data.item())

    def __repr__(self, *, tensor_contents=None):
        return printing.tensor_str(self)

    def __format__(self, spec):
        if not self._data.ndim and type(self) is Tensor:
            return self.item().__format__(spec)
        return object.__format__(self, spec)

    def __len__(self):
        if self._data.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._data.shape[0]

    def __reversed__(self):
        return self.flip(0) if self._data.ndim else self

    def __contains__(self, value):
        if not isinstance(value, (Tensor, int, float, np.generic)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}."
            )
        return bool((self == value).any())

    def __copy__(self):
        out = alias(self)
        out.__class__ = type(self)
        out.__dict__.update(self.__dict__)
        return out._require_grad(self.requires_grad)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
                "  If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm "
                "usage, see https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        out = memo[id(self)] = wrap(_copied(self, memo))
        out.__class__ = type(self)
        out._box = [1]  # PyTorch counts the assignment of its memory
        out._require_grad(self.requires_grad)
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        if self._meta is not None and self._meta.grad is not None:
            out.grad = self._meta.grad.__deepcopy__(memo)
        if WATCHERS:
            watcher().remade(self, out, "deepcopy")
        return out

    def __reduce_ex__(self, protocol):
        return _rebuild, (type(self), np.array(self._data), self.requires_grad), self.__dict__ or None

    def is_floating_point(self):
        """Whether the numbers are floating point."""
        return self._data.dtype.kind == "f"

    def is_complex(self):
        """Always False: there are no complex tensors here."""
        return False

    @property
    def device(self):
        """The CPU, or what a program is told that builds a model without numbers (see device.py)."""
        from .world.device import here

        return here()


def _copied(t, memo):
    """The numbers of `t` for its deep copy: all memory behind it is copied, once for all tensors that share it."""
    from .ops.shapes import address_of, owner_of, storage_of

    data = t._data
    if not isinstance(data, np.ndarray):
        return data
    key = "memory", address_of(owner_of(data))
    if key not in memo:
        memo[key] = storage_of(data).copy()
    return seen(memo[key].view(data.dtype), *geometry(t))


def _rebuild(cls, data, requires_grad):
    data = native(data)
    t = wrap(data if data.ndim else data[()])
    t.__class__ = cls
    return t._require_grad(requires_grad)


def closed(name, attribute):
    """A method unchanged; a property with PyTorch's errors if it cannot be set or deleted.

    The property raises them itself: a `__delattr__` of Tensor would also slow down every assignment to a slot.
    """
    if not isinstance(attribute, property):
        return attribute

    def refuse(*_):
        raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

    return property(attribute.fget, attribute.fset or refuse, attribute.fdel or refuse, attribute.__doc__)


def install(methods):
    """Give Tensor the methods and properties that the rules define."""
    for name, fn in methods.items():
        setattr(Tensor, name, closed(name, fn))


_OF_THE_CORE = (
    "detach", "grad_fn", "is_leaf", "item", "output_nr", "register_hook", "retains_grad", "tolist", "_last_edge",
)  # fmt: skip
install({name: vars(Variable)[name] for name in _OF_THE_CORE})  # so that `vars(Tensor)` shows everything
install({name: own for name, own in vars(Tensor).items() if isinstance(own, property)})
rule.bind(Tensor)
Registry.functions = rule.FUNCTIONS
rule.FUNCTIONS["is_inference"] = Tensor.is_inference
install(OPERATORS)

__all__ = ["Tensor", "closed", "install", "to_dtype"]
