"""Parameter and Buffer: tensors that a Module recognizes when they are assigned to it."""

from collections import OrderedDict

from ..autograd.variable import alias
from ..creation import tensor
from ..tensor import Tensor


class _ParameterMeta(type):
    """Makes isinstance(t, Parameter) also true for subclasses of Tensor that carry the mark `_is_param`."""

    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and instance.__dict__.get("_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A leaf that requires grad (unless told otherwise) and is a module's own: assigning it to a Module registers it.

    Shares memory and version counter with `data`. An operation on a Parameter gives a plain Tensor.
    """

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = tensor([])
        if type(data) is not Tensor and type(data) is not Parameter:
            t = data.detach().requires_grad_(requires_grad)
            t._is_param = True
            return t
        out = alias(data)
        out.__class__ = cls
        if requires_grad:
            if data._data.dtype.kind != "f":
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            out._set_requires_grad(True)
        return out

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, *, tensor_contents=None):
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


def _rebuild_parameter(data, requires_grad, hooks):
    return Parameter(data, requires_grad)


class _BufferMeta(type):
    def __instancecheck__(cls, instance):
        if super().__instancecheck__(instance):
            return True
        return cls is Buffer and isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that belongs to a module's state but is not trained. What is made is a plain Tensor with a mark."""

    __slots__ = ()

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = tensor([])
        t = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


__all__ = ["Buffer", "Parameter"]
