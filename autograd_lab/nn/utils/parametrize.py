"""Weights that are functions of other parameters: `module.weight` is computed anew wherever it is read.

register_parametrization(module, "weight", fn) keeps the old weight as module.parametrizations.weight.original and makes
module.weight = fn(original), with a gradient to the original.
"""

from contextlib import contextmanager

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
        super().__init__(modules)
        self.unsafe = unsafe
        value = original
        with no_grad():
            for fn in reversed(self):
                if hasattr(fn, "right_inverse"):
                    value = fn.right_inverse(value)
        self.is_tensor = isinstance(value, Variable)
        self.ntensors = 1 if self.is_tensor else len(value)
        values = [value] if self.is_tensor else list(value)
        for i, new in enumerate(values):
            name = "original" if self.is_tensor else f"original{i}"
            if isinstance(original, Parameter):
                if new is original:
                    self.register_parameter(name, original)
                else:
                    self.register_parameter(name, Parameter(new.detach(), original.requires_grad))
            else:
                self.register_buffer(name, new)
        if not unsafe:
            now = self()
            if not isinstance(now, Variable):
                raise ValueError(f"A parametrization must return a tensor. Got {type(now).__name__}.")
            if now.dtype is not original.dtype or now.shape != original.shape:
                raise ValueError(
                    "Registering a parametrization may not change the shape or the dtype of the tensor, unless the `unsafe` "
                    f"flag is enabled.\nbefore: {tuple(original.shape)} {original.dtype}\nafter: {tuple(now.shape)} {now.dtype}"
                )

    def right_inverse(self, value):
        """Set the originals so that the computed tensor is `value`; every function needs a right_inverse."""
        with no_grad():
            for fn in reversed(self):
                if not hasattr(fn, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(fn).__name__} does not implement right_inverse, so the tensor cannot be set."
                    )
                value = fn.right_inverse(value)
            values = [value] if self.is_tensor else list(value)
            for i, new in enumerate(values):
                getattr(self, "original" if self.is_tensor else f"original{i}").data = new.detach()

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
    _same_kind(value, new, "Registering a parametrization may not change the {} of the tensor", name)
    if hasattr(parametrization, "right_inverse"):
        try:
            old = parametrization.right_inverse(new)
        except NotImplementedError:
            return
        if not isinstance(old, Variable):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(old).__name__}")
        text = f"The tensor returned by parametrization.right_inverse must have the same {{}} as {name}"
        _same_kind(value, old, text, name)


def _same_kind(a, b, text, name):
    for what in ("dtype", "shape"):
        have, want = getattr(b, what), getattr(a, what)
        if have != want:
            raise ValueError(
                f"{text.format(what)}, unless the `unsafe` flag is enabled.\n{name}.{what}: {want}\nreturned {what}: {have}"
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
        base = type(module)
        module.__class__ = type(f"Parametrized{base.__name__}", (base,), {"__module__": base.__module__})
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = fns

    def get(self):
        return _value(self, tensor_name)

    def put(self, value):
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, put))
    return module


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
    with no_grad():
        value = getattr(module, tensor_name).detach().clone()
    original = fns.original if fns.is_tensor else None
    as_parameter = isinstance(fns._parameters.get("original" if fns.is_tensor else "original0"), Parameter)
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if original is None:
        original = Parameter(value) if as_parameter else value
    elif leave_parametrized:
        original.data = value
    if as_parameter:
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
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
