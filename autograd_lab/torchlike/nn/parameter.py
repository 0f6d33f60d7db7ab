"""Parameter and Buffer: tensors that a Module recognizes when they are assigned to it."""

from collections import OrderedDict

from ..autograd.errors import refuse_pytorch
from ..autograd.modes import WATCHERS, watcher
from ..autograd.variable import NO_EDGE, Variable, alias, wrap
from ..creation import empty, tensor
from ..tensor import Tensor


class _ParameterMeta(type):
    """Makes isinstance(t, Parameter) also true for subclasses of Tensor that carry the mark `_is_param`."""

    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A leaf that requires a gradient by default; assigning it to an attribute of a Module registers it.

    Shares memory and version counter with `data`. An operation on a Parameter gives a plain Tensor.
    """

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = tensor([])
        refuse_pytorch(data)
        if type(data) is not Tensor and type(data) is not Parameter:
            t = data.detach()._require_grad(requires_grad)
            t._is_param = True
            return t
        out = alias(data)
        out.__class__ = cls
        if requires_grad:
            if data._data.dtype.kind != "f":
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            out._set_requires_grad(True)
        if WATCHERS:
            watcher().remade(data, out, "Parameter")
        return out

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
            if WATCHERS:
                watcher().remade(self, memo[id(self)], "deepcopy")
        return memo[id(self)]

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict()), self.__dict__ or None


def _rebuild_parameter(data, requires_grad, hooks):
    return Parameter(data, requires_grad)


class _BufferMeta(type):
    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that belongs to a module's state but is not trained. The result is a plain Tensor with a mark."""

    __slots__ = ()

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = tensor([])
        refuse_pytorch(data)
        t = data.detach()._require_grad(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


# -- without a shape ----------------------------------------------------------------------------------

_MEMORY = Variable.__dict__["_data"]
"""Where a tensor stores its numbers. A tensor without a shape stores an empty array there, for its dtype, and hides it."""


class _Uninitialized:
    """A tensor whose shape is not known yet. It can be converted to a dtype, and gets its shape from `materialize`."""

    __slots__ = ()
    cls_to_become = None
    """The class that it has once it has a shape."""

    @property
    def _data(self):
        name = type(self).__name__
        raise ValueError(
            f"Attempted to use an uninitialized parameter. A {name} has no numbers before its layer has seen an input. Call "
            "the network with a dummy batch first"
        )

    @property
    def shape(self):
        """Raises RuntimeError: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. Either its layer has not seen an input yet, or "
            "load_state_dict was given the state of such a layer: call the network with a dummy batch first"
        )

    @property
    def dtype(self):
        """The number type that it will have."""
        return self.data.dtype

    @property
    def data(self):
        """An empty tensor of the dtype that it will have."""
        return wrap(_MEMORY.__get__(self), NO_EDGE)

    @data.setter
    def data(self, value):
        _MEMORY.__set__(self, value.data._array())

    def is_floating_point(self):
        """Whether it will hold floating point numbers."""
        return self.data.is_floating_point()

    def to(self, *args, **kwargs):
        """Converts it to another dtype, like Tensor.to."""
        return type(self)(self.requires_grad, dtype=self.data.to(*args, **kwargs).dtype)

    def materialize(self, shape, device=None, dtype=None):
        """Give it a shape: from now on the same object is an ordinary, uninitialized parameter (or buffer).

        (torch.nn.parameter.UninitializedTensorMixin.materialize)
        """
        self.data = empty(shape, dtype=dtype or self.dtype, device=device)
        self.__class__ = self.cls_to_become

    def share_memory_(self):
        """Raises RuntimeError: there is nothing to share yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before "
            "calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents=None):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, dtype=self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, None, self.dtype)


def _without_shape(cls, requires_grad, device, dtype):
    made = alias(empty(0, dtype=dtype, device=device))
    made._require_grad(requires_grad)
    made.__class__ = cls
    return made


class UninitializedParameter(_Uninitialized, Parameter):
    """A Parameter whose shape will be known when its layer sees an input. Computing with it raises ValueError.

    (torch.nn.parameter.UninitializedParameter)
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _without_shape(cls, requires_grad, device, dtype)


class UninitializedBuffer(_Uninitialized, Tensor):
    """The same for a buffer."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        made = _without_shape(cls, requires_grad, device, dtype)
        made.persistent = persistent
        made._is_buffer = True
        return made


def is_lazy(tensor):
    """Whether it has no shape yet."""
    return isinstance(tensor, _Uninitialized)


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]
