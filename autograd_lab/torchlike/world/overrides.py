"""Subclasses of Tensor, and tensor-like arguments of functions: `__torch_function__` (torch.overrides).

    class Tagged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            print(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

If the class of an argument has this method, it is called instead of the function. The method of Tensor itself calls the function and
converts its results to the subclass.

Plain tensors must not pay for this. So a subclass of Tensor gets a base between, whose methods ask first; those of Tensor stay as
they are. Functions look at the types of arguments anyway that they have not seen (interface/publish.py); from the first subclass on, all
of them look at all of their arguments.
"""

import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache, update_wrapper, wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from ..autograd.errors import MIXED, is_of_pytorch, refuse_pytorch
from ..autograd.record import apply_view
from ..autograd.variable import Registry, Variable
from ..interface.forms import INSIDE, forms_of
from ..ops.rule import RULES
from .missing import finder

_PACKAGE = __name__.partition(".")[0]

# -- who is asked -------------------------------------------------------------------------------------


class _Off(threading.local):
    depth = 0
    func: Callable | None = None  # what a tensor was asked for, and is being called


_OFF = _Off()


class DisableTorchFunctionSubclass:
    """Inside, `__torch_function__` is disabled (torch._C.DisableTorchFunctionSubclass)."""

    def __enter__(self) -> None:
        _OFF.depth += 1

    def __exit__(self, *_: object) -> None:
        _OFF.depth -= 1


def disabled(func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
    """A `__torch_function__` that disables dispatch for a class (torch._C._disabled_torch_function_impl)."""
    return _call(func, args, kwargs)


def _call(func: Callable, args: tuple, kwargs: dict | None) -> Any:
    """Call `func` without dispatch; raises RuntimeError for a function of PyTorch itself, which would dispatch anyway."""
    outer = _OFF.func
    if outer is func:
        raise RuntimeError(MIXED)
    _OFF.func = func
    try:
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs or {})
    finally:
        _OFF.func = outer


_MARK = "_asks"
"""An attribute of the base of subclasses. (To compare with the base itself would make it, and then all functions look closer.)"""


@cache
def is_asked(kind: Any) -> bool:
    """Whether dispatch applies to a class: not to Tensor, nor to the library's own subclasses."""
    method = getattr(kind, "__torch_function__", None)
    if method is None or method is disabled:
        return False
    return not issubclass(kind, Variable) or hasattr(kind, _MARK)


def overloaded(values: Any) -> list:
    """The arguments (also inside lists) that dispatch applies to: one of each class, subclasses before their bases."""
    found: list = []
    if _OFF.depth:
        return found
    for value in values:
        for one in value if type(value) in (tuple, list) else (value,):
            kind: Any = type(one)
            if is_asked(kind) and not any(type(other) is kind for other in found):
                place = next(
                    (i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found)
                )
                found.insert(place, one)
    return found


def ask(name: str, func: Callable, found: list, args: tuple, kwargs: dict) -> Any:
    """Dispatch a call of `func`, a C++ function in PyTorch, to the first of `found` that handles it.

    Raises TypeError, with `name` in its text, if all decline.
    """
    types = tuple(map(type, found))
    result = _answer(func, found, types, args, kwargs, "Defining your `__torch_function__`", UserWarning)
    if result is NotImplemented:
        raise TypeError(
            f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
            + "".join(f"  - tensor subclass {kind}\n" for kind in types)
            + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
        )
    return result


def ask_in_python(name: str, func: Callable, found: list, values: Any, args: tuple, kwargs: dict) -> Any:
    """The same for a function that is Python in PyTorch. The types include Tensor if a plain tensor is in `values`."""
    types = tuple(map(type, found))
    if any(type(value) is Registry.tensor for value in values):
        types = (*types, Registry.tensor)
    begin = "Defining your `__torch_function__"  # PyTorch, too, does not close this quote
    result = _answer(func, found, types, args, kwargs, begin, DeprecationWarning)
    if result is NotImplemented:
        raise TypeError(
            f"no implementation found for '{name}' on types that implement __torch_function__: {[*types]}"
        )
    return result


def _answer(
    func: Callable, found: list, types: tuple, args: tuple, kwargs: dict, begin: str, kind: type[Warning]
) -> Any:
    refuse_pytorch(*found)
    for one in found:
        method = one.__torch_function__
        if getattr(method, "__self__", None) is one:
            text = "as a plain method is deprecated and will be an error in future, please define it as a classmethod."
            warnings.warn(f"{begin} {text}", kind, stacklevel=5)
        result = method(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


_ASK_NOBODY = frozenset(("as_tensor", "asarray", "is_storage", "is_tensor", "tensor", "typename"))
"""Functions that accept anything."""

_FUNCTIONAL = frozenset((
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_tensors", "cartesian_prod", "cdist", "chain_matmul", "einsum", "lu",
    "meshgrid", "norm", "split", "tensordot", "unique", "unique_consecutive", "unravel_index",
))  # fmt: skip
"""Functions that PyTorch has in its module torch.functional."""


def overloaded_for(key: str, args: tuple, kwargs: dict) -> list:
    """`overloaded` for a call of the public function of a key such as "F.relu"."""
    return [] if key in _ASK_NOBODY else overloaded((*args, *kwargs.values()))


def ask_for(key: str, func: Callable, found: list, args: tuple, kwargs: dict) -> Any:
    """`ask` for the public function of a key."""
    place, _, name = key.rpartition(".")
    if forms_of(key) is None or key in INSIDE:
        full = resolve_name(func) or f"torch.{key}"
        return ask_in_python(full, func, found, (*args, *kwargs.values()), args, kwargs)
    if place == "F":
        full = name if forms_of(name) else f"nn.{name}"
    else:
        full = {"": name, "Tensor": key}.get(place, f"{place}.{place}_{name}")
    return ask(f"torch.{full}", func, found, args, kwargs)


# -- subclasses of Tensor --------------------------------------------------------------------------------

_REPORTED = {
    "add": "__add__ __radd__", "sub": "__sub__", "mul": "__mul__ __rmul__", "div": "__truediv__", "remainder": "__mod__",
    "matmul": "__matmul__", "neg": "__neg__", "positive": "__pos__", "abs": "__abs__", "bitwise_and": "__rand__",
    "bitwise_or": "__ror__", "bitwise_xor": "__rxor__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__",
    "add_": "__iadd__", "sub_": "__isub__", "mul_": "__imul__", "div_": "__itruediv__", "floor_divide_": "__ifloordiv__",
    "remainder_": "__imod__",
}  # fmt: skip
_METHODS = {operator: name for name, operators in _REPORTED.items() for operator in operators.split()}
"""The method passed to `__torch_function__` for an operator."""

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")

_NOT_ASKED = frozenset(
    ("__new__", "__init_subclass__", "__torch_function__", "__hash__", "__iter__", "__copy__", "__deepcopy__", "__reduce_ex__", "as_subclass")
)  # fmt: skip
_WRITES = (
    "__setitem__", "__getitem__",
    *(f"__i{name}__" for name in ("add", "and", "floordiv", "lshift", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor")),
)  # fmt: skip
"""Operators of a plain tensor for which Python does not try a subclass on the other side: they dispatch themselves."""

_ON_FIRST: list[Callable[[], None]] = []
_ARE_SUBCLASSES: list[bool] = []
_MAKING = threading.Lock()


def when_subclassed(fn: Callable[[], None]) -> None:
    """Call `fn` when the first subclass is created, or now if there is one."""
    _ON_FIRST.append(fn)
    if _ARE_SUBCLASSES:
        fn()


@cache
def base_of_subclasses() -> type:
    """The class between Tensor and its subclasses, whose methods and attributes dispatch."""
    tensor = Registry.tensor
    members: dict[str, Any] = {
        _MARK: True,
        "__slots__": (),
        "__doc__": tensor.__doc__,
        "__module__": tensor.__module__,
    }
    members["__hash__"] = tensor.__hash__  # which a class with `__eq__` would not inherit
    members["__iter__"] = lambda self: iter(self.unbind(0)) if self.dim() else tensor.__iter__(self)
    for name in dir(tensor):
        if name in _NOT_ASKED or (name.startswith("_") and not name.endswith("__")):
            continue
        member = getattr(tensor, name)
        if isinstance(member, FunctionType):
            if member.__name__ != name:  # whoever is asked looks at the name
                member = _renamed(member, name)
                setattr(tensor, name, member)
            members[name] = _asking(name, member)
        elif isinstance(member, property):
            members[name] = _asking_property(name, member)
    for name in _WRITES:
        setattr(tensor, name, members[name])
    _ARE_SUBCLASSES.append(True)
    for fn in [*_ON_FIRST]:
        fn()
    return type("TensorBase", (tensor,), members, asks=True)


def _renamed(fn: FunctionType, name: str) -> Callable:
    """The same function under another name."""
    copy = FunctionType(fn.__code__, fn.__globals__, name, fn.__defaults__, fn.__closure__)
    copy.__kwdefaults__ = fn.__kwdefaults__
    return update_wrapper(copy, fn, assigned=("__module__", "__doc__"))


_IN_PYTHON = frozenset(
    f"__{name}__"
    for name in ("contains", "floordiv", "format", "ipow", "pow", "rdiv", "rfloordiv", "rlshift", "rmatmul", "rmod", "rpow", "rrshift", "rsub")
)  # fmt: skip
"""Operators that PyTorch has in Python."""


def _asking(name: str, own: Callable) -> Callable:
    """The method `own` of Tensor with dispatch."""
    tensor = Registry.tensor
    operator = name[2:-2] if name.startswith("__") else ""
    forward = f"__{operator[1:]}__" if operator[:1] == "r" and hasattr(tensor, f"__{operator[1:]}__") else ""
    binary = forward or operator in _COMPARISONS or hasattr(tensor, f"__r{operator}__") or name in _METHODS

    def asked(name: str, found: list, args: tuple, kwargs: dict) -> Any:
        reported = _METHODS.get(name, name)
        func, full = getattr(tensor, reported), f"torch.Tensor.{reported}"
        try:
            if name in _IN_PYTHON:
                return ask_in_python(full, func, found, args, args, kwargs)
            return ask(full, func, found, args, kwargs)
        except TypeError:
            if not binary:
                raise
            # Whoever raised it, as in PyTorch: perhaps the other operand knows how.
            return NotImplemented

    @wraps(own)
    def call(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # every signature there is
        found = overloaded((self, *args, *kwargs.values()))
        if forward and isinstance(args[0] if args else None, Variable):
            straight = args[0], self  # Python turns to a subclass first, on whatever side it stands
            return asked(forward, found, straight, kwargs) if found else getattr(tensor, forward)(*straight)
        return asked(name, found, (self, *args), kwargs) if found else own(self, *args, **kwargs)

    return call


def _asking_property(name: str, own: property) -> property:
    """The attribute `own` of Tensor, with dispatch when it is read, set or deleted."""

    def through(func: Callable, direct: Callable) -> Callable:
        def access(self, *value):  # type: ignore[no-untyped-def]  # as above
            found = overloaded((self, *value))
            if not found:
                return direct(self, *value)
            return ask(f"torch.Tensor.{name}.{func.__name__}", func, found, (self, *value), {})

        return access

    assert own.fget is not None  # tensor.py sees to it that all three are there
    assert own.fset is not None
    assert own.fdel is not None
    return property(
        through(own.__get__, own.fget),
        through(own.__set__, own.fset),
        through(own.__delete__, own.fdel),
        own.__doc__,
    )


def _subclassed(cls: type, asks: bool = False, **options: Any) -> None:
    """Insert the dispatching base between a new subclass and Tensor, except for the library's own subclasses."""
    tensor = Registry.tensor
    super(tensor, cls).__init_subclass__(**options)
    if not asks and cls.__module__.partition(".")[0] == _PACKAGE:
        cls.__torch_function__ = staticmethod(disabled)  # type: ignore[attr-defined]  # the class is any
    elif not asks and tensor in cls.__bases__:
        if not _ARE_SUBCLASSES:
            # before the lock: what this loads may wait for another thread, which may wait for the lock
            for name in dir(tensor):
                getattr(tensor, name)
        with _MAKING:  # threads that make the first subclasses need the same base
            between = base_of_subclasses()
        cls.__bases__ = tuple(between if base is tensor else base for base in cls.__bases__)


def _torch_function(
    cls: type, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
) -> Any:
    """Call `func` and convert its results to this class (torch.Tensor.__torch_function__).

    Returns NotImplemented if one of `types` is not a base of this class: that one must decide.
    """
    if not all(issubclass(cls, kind) for kind in types):
        if any(map(is_of_pytorch, types)):
            raise RuntimeError(MIXED)
        return NotImplemented
    result = _call(func, args, kwargs)
    if func in get_default_nowrap_functions():
        return result
    with DisableTorchFunctionSubclass():
        return _as_class(result, cls)


def _as_class(result: Any, cls: type) -> Any:
    if cls is Registry.tensor:
        return result
    if isinstance(result, Variable):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)([_as_class(one, cls) for one in result])
    return result


def as_subclass(self, cls):  # type: ignore[no-untyped-def]  # a method of Tensor, which has no types
    """An alias of the tensor with the same memory and history, as an instance of a subclass (torch.Tensor.as_subclass)."""
    _check_class(cls)
    out = apply_view(RULES["AliasBackward0"], self, self._array())
    out.__class__ = cls
    return out


def _make_subclass(cls, data, require_grad=False):  # type: ignore[no-untyped-def]  # as above
    """A leaf of the class `cls` in the memory of `data` (torch.Tensor._make_subclass)."""
    _check_class(cls)
    if not isinstance(data, Variable):
        raise TypeError(
            f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}"
        )
    with DisableTorchFunctionSubclass():
        out = data.detach()
    if require_grad and out._data.dtype.kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    out.__class__ = cls
    return out._require_grad(require_grad)


def _check_class(cls: Any) -> None:
    """Raise TypeError unless `cls` is Tensor or a subclass."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Registry.tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
            "inherits from Tensor."
        )


def install() -> None:
    """Give Tensor what its subclasses need."""
    tensor = Registry.tensor
    tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
    tensor.__init_subclass__ = classmethod(_subclassed)  # type: ignore[assignment, arg-type]
    tensor.as_subclass = as_subclass  # type: ignore[attr-defined]
    tensor._make_subclass = staticmethod(_make_subclass)  # type: ignore[attr-defined]


# -- for functions of one's own ---------------------------------------------------------------------------


def has_torch_function(relevant_args: Any) -> bool:
    """Whether dispatch applies to one of several arguments (torch.overrides.has_torch_function)."""
    return bool(overloaded([*relevant_args]))


def handle_torch_function(public_api: Callable, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """Dispatch `public_api(*args, **kwargs)` to `relevant_args`; calls it if dispatch applies to none.

    TypeError if all decline (torch.overrides.handle_torch_function).
    """
    found = overloaded([*relevant_args])
    if not found:
        return public_api(*args, **kwargs)
    name = resolve_name(public_api) or f"{public_api.__module__}.{public_api.__name__}"
    return ask_in_python(name, public_api, found, relevant_args, args, kwargs)


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Decorates a function to dispatch on the arguments that `dispatcher` returns (torch.overrides.wrap_torch_function)."""

    def decorate(func: Callable) -> Callable:
        @wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether it is a tensor, or has `__torch_function__` (torch.overrides.is_tensor_like)."""
    return isinstance(inp, Variable) or hasattr(inp, "__torch_function__")


@cache
def _names() -> dict[Any, str]:
    """The names of functions passed to `__torch_function__`."""
    whole = vars(sys.modules[_PACKAGE])
    names: dict[Any, str] = {whole[name]: f"torch.functional.{name}" for name in _FUNCTIONAL}
    for place in ("", ".nn.functional", ".linalg", ".special"):
        for name, func in list(vars(import_module(_PACKAGE + place)).items()):
            if isinstance(func, FunctionType):
                names.setdefault(func, f"torch{place}.{name}")
    for name in dir(Registry.tensor):
        member = getattr(Registry.tensor, name)
        if isinstance(member, FunctionType):
            names[member] = f"torch.Tensor.{name}"
        elif isinstance(member, property):
            for way in ("__get__", "__set__", "__delete__"):
                names[getattr(member, way)] = f"torch.Tensor.{name}.{way}"
    return names


def resolve_name(f: Any) -> str | None:
    """The name of a function that can be asked for, such as "torch.Tensor.add"; None for others (torch.overrides.resolve_name)."""
    return _names().get(f)


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether it is a method of Tensor, or reads or sets an attribute (torch.overrides.is_tensor_method_or_property)."""
    return (resolve_name(func) or "").startswith("torch.Tensor.")


@cache
def get_default_nowrap_functions() -> set[Callable]:
    """The functions whose results are not converted: `_base` and `grad` (torch.overrides.get_default_nowrap_functions)."""
    tensor: Any = Registry.tensor
    return {tensor._base.__get__, tensor.grad.__get__}


__getattr__ = finder("overrides")

__all__ = [
    "get_default_nowrap_functions",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]
