"""Weights that are functions of other parameters: `module.weight` is computed anew wherever it is read.

register_parametrization(module, "weight", fn) keeps the old weight as module.parametrizations.weight.original and makes
module.weight = fn(original), with a gradient to the original.
"""

from collections.abc import Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy

from ...autograd import no_grad
from ...autograd.variable import Variable
from ..containers import ModuleDict, ModuleList
from ..parameter import Parameter

_CACHE = {"depth": 0, "values": {}}


@contextmanager
def cached():
    """Inside, every parametrized tensor is computed once and then reused."""
    _CACHE["depth"] += 1
    try:
        yield
    finally:
        _CACHE["depth"] -= 1
        if not _CACHE["depth"]:
            _CACHE["values"].clear()


class ParametrizationList(ModuleList):
    """The functions of one tensor, in order, and its original(s): `original`, or original0, original1, ..."""

    def __init__(self, modules, original, unsafe=False):
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        value = original
        with no_grad():
            for fn in reversed(self):
                if hasattr(fn, "right_inverse"):
                    with suppress(NotImplementedError):
                        value = fn.right_inverse(value)
        self.is_tensor = isinstance(value, Variable)
        if self.is_tensor:
            self.ntensors = 1
            if value.dtype is not dtype:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the dtype.\noriginal.dtype: {dtype}\n"
                    f"right_inverse(original).dtype: {value.dtype}"
                )
            if value is not original:  # the parameter stays the object that an optimizer may know
                original.data = value.detach()
            _register(self, "original", original)
        else:
            self._register_several(value, original)
        if not unsafe:
            now = self()
            if not isinstance(now, Variable):
                raise ValueError(f"A parametrization must return a tensor. Got {type(now).__name__}.")
            for what, was, new in ("dtype", dtype, now.dtype), ("shape", shape, now.shape):
                if new != was:
                    raise ValueError(
                        f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled.\n"
                        f"unparametrized {what}: {was}\nparametrized {what}: {new}"
                    )

    def _register_several(self, values, original):
        wanted = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got"
        if not isinstance(values, Sequence):
            raise ValueError(f"{wanted} {type(values).__name__}")
        self.ntensors = len(values)
        for i, value in enumerate(values):
            if not isinstance(value, Variable):
                raise ValueError(f"{wanted} element {i} of the sequence with type {type(value).__name__}.")
            if isinstance(original, Parameter):
                value = Parameter(value.detach(), original.requires_grad)
            value.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", value)

    def right_inverse(self, value):
        """Set the originals so that the computed tensor is `value`; every function needs a right_inverse."""
        with no_grad():
            for fn in reversed(self):
                if not hasattr(fn, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(fn).__name__} does not implement right_inverse."
                    )
                value = fn.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Variable):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if value.dtype is not self.original.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                    f"{self.original.dtype}"
                )
            self.original.data = value.detach()
            return
        if not isinstance(value, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                f"{len(value)}."
            )
        for i, (name, new) in enumerate(zip(self._names(), value, strict=True)):
            if not isinstance(new, Variable):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. Got element "
                    f"{i} of type {type(new).__name__}."
                )
            old = getattr(self, name)
            if new.dtype is not old.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {new.dtype} while `{name}` has dtype {old.dtype}"
                )
            old.data = new.detach()

    def forward(self):
        if len(self) == 0:
            raise RuntimeError("this list of parametrizations is empty")
        first, *rest = self
        value = first(*[getattr(self, n) for n in self._names()])
        for fn in rest:
            value = fn(value)
        return value

    def _names(self):
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]


def _value(module, name):
    fns = module.parametrizations[name]
    if not _CACHE["depth"]:
        return fns()
    key = id(module), name
    if key not in _CACHE["values"]:
        _CACHE["values"][key] = fns()
    return _CACHE["values"][key]


def _check_next(parametrization, value, name):
    """Raise ValueError if a further parametrization does not map tensors such as `value` to their like."""
    new = parametrization(value)
    if not isinstance(new, Variable):
        raise ValueError(f"A parametrization must return a tensor. Got {type(new).__name__}.")
    text = "Registering a parametrization may not change the {} of the tensor"
    _same_kind(value, new, text, name, f"parametrization({name}).")
    if hasattr(parametrization, "right_inverse"):
        try:
            old = parametrization.right_inverse(new)
        except NotImplementedError:
            return
        if not isinstance(old, Variable):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(old).__name__}")
        text = f"The tensor returned by parametrization.right_inverse must have the same {{}} as {name}"
        _same_kind(value, old, text, name, "returned ")


def _same_kind(a, b, text, name, other):
    for what in ("dtype", "shape"):
        have, want = getattr(b, what), getattr(a, what)
        if have != want:
            raise ValueError(
                f"{text.format(what)}, unless the `unsafe` flag is enabled.\n{name}.{what}: {want}\n{other}{what}: {have}"
            )


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Make module.<tensor_name> the result of `parametrization`(original); several ones follow on each other.

    A right_inverse(value) method of the parametrization says which original a given value has. Returns the module; raises
    ValueError if there is no such tensor, or (without unsafe=True) if shape or dtype would change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        fns = module.parametrizations[tensor_name]
        value = getattr(module, tensor_name)
        if not unsafe:
            _check_next(parametrization, value, f"module.{tensor_name}")
        fns.append(parametrization)
        fns.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    fns = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.__class__ = _parametrized(type(module))
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = fns

    def get(self):
        return _value(self, tensor_name)

    def put(self, value):
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, put))
    return module


def _parametrized(base):
    """A class of its own for a module with parametrized tensors, which are its properties."""

    def copied(self, memo):
        if id(self) not in memo:
            memo[id(self)] = copy = self.__new__(type(self))
            copy.__dict__ = deepcopy(self.__dict__, memo)
        return memo[id(self)]

    def state(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    names = {"__module__": __name__, "__getstate__": state}
    if not hasattr(base, "__deepcopy__"):
        names["__deepcopy__"] = copied
    return type(f"Parametrized{base.__name__}", (base,), names)


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def is_parametrized(module, tensor_name=None):
    """Whether the module has parametrized tensors, or whether this one is."""
    fns = module.__dict__.get("_modules", {}).get("parametrizations")
    if fns is None:
        return False
    return len(fns) > 0 if tensor_name is None else tensor_name in fns


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make module.<tensor_name> a plain tensor again: with its computed value, or (leave_parametrized=False) the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    fns = module.parametrizations[tensor_name]
    if not leave_parametrized and not fns.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence "
            "of tensors."
        )
    if fns.is_tensor:
        original = fns.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    else:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give a module the parametrizations of another (of one tensor, or of all), and the originals under them. Returns it."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        value = getattr(from_module, name)
        fns = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(value))
        for fn in fns:
            register_parametrization(to_module, name, fn)
        own = to_module.parametrizations[name]
        for key in [k for k in vars(fns)["_parameters"] if k.startswith("original")]:
            setattr(own, key, getattr(fns, key))
    return to_module


def type_before_parametrizations(module):
    """The class that the module had before its first parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]
