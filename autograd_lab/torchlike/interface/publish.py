"""Functions and methods as users get them: with an `out` argument, and PyTorch's message for a call that fits no signature."""

import sys
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from types import FunctionType

from ..autograd.batch import RefusedError
from ..autograd.modes import THREAD, WATCHERS, watcher
from ..autograd.views import check_writable
from ..layout import layout, strided
from ..world.device import on_cpu
from ..world.overrides import ask_for, overloaded_for, when_subclassed
from .arguments import Seen, SeenOfPlain, admit, other_form, why
from .out import refuse_dual, typed_as, write_out


def publish(functions, place, module):
    """{name: function} as users get them in the namespace `place` ("", "F.", "linalg.") of the module named `module`."""
    return {
        name: _public(fn, place + name, module)
        if isinstance(fn, FunctionType) and not name.startswith("_")
        else fn
        for name, fn in functions.items()
    }


def publish_methods(methods):
    """The same for methods of Tensor. A method without arguments stays unchanged: Python itself refuses wrong calls."""
    return {
        name: fn
        if not isinstance(fn, FunctionType) or name.startswith("__") or takes_nothing(fn)
        else _public_method(fn, "Tensor." + name)
        for name, fn in methods.items()
    }


def takes_nothing(fn):
    """Whether a function has one parameter only."""
    code = fn.__code__
    return code.co_argcount + code.co_kwonlyargcount == 1 and not code.co_flags & (
        CO_VARARGS | CO_VARKEYWORDS
    )


_NEVER_NUMBERS = frozenset(("input", "target", "weight", "bias", "mat1", "mat2", "inplace"))


def _first_number(fn):
    """How many parameters of `fn` precede the first that may be a number."""
    code = unwrap(fn).__code__
    names = code.co_varnames[: code.co_argcount]
    return next((i for i, name in enumerate(names) if name not in _NEVER_NUMBERS), len(names))


def _public(fn, key, module):
    first_number, seen = _first_number(fn), Seen()

    def look_at_all():
        nonlocal first_number, seen
        first_number, seen = -1, SeenOfPlain()

    def call(*args, out=None, **kwargs):
        try:
            if kwargs or len(args) > first_number:
                if kwargs:
                    types = (*map(type, args), *kwargs, *map(type, kwargs.values()))
                elif len(args) == 2:  # written out: three times as fast
                    types = type(args[0]), type(args[1])
                elif len(args) == 1:
                    types = (type(args[0]),)
                else:
                    types = (*map(type, args),)
                if types not in seen:
                    found = overloaded_for(key, args, kwargs)
                    if found:
                        return ask_for(
                            key, call, found, args, kwargs if out is None else {**kwargs, "out": out}
                        )
                    args, kwargs = admit(key, fn, args, kwargs, types, seen)
                if kwargs and ("layout" in kwargs or "device" in kwargs):
                    _check_layout(kwargs.get("layout"))
                    on_cpu(kwargs.get("device"))
            if out is not None:
                found = overloaded_for(key, (out,), {})
                if found:
                    return ask_for(key, call, found, args, {**kwargs, "out": out})
            try:
                if out is None:
                    return fn(*args, **kwargs) if kwargs else fn(*args)
                if THREAD.state.dual is not None:
                    refuse_dual(key, out, (*args, *kwargs.values()))
                result = fn(*args, **typed_as(out, key, args, kwargs))
                return write_out(key, result, out, (*args, *kwargs.values()))
            except RefusedError:
                raise  # no other arguments are valid
            except Exception as error:
                found = overloaded_for(key, args, kwargs)
                otherwise = (
                    None
                    if found or isinstance(error, NotImplementedError)
                    else other_form(key, args, kwargs, error)
                )
                if otherwise is None:
                    if out is not None:
                        kwargs["out"] = out
                    complaint = None if found else why(key, fn, args, kwargs, error)
                    if complaint is None and not found:
                        raise
            if found:
                return ask_for(key, call, found, args, kwargs)
            if otherwise is not None:
                args, kwargs = otherwise
                return call(*args, out=out, **kwargs)
            raise TypeError(complaint)
        except Exception as error:
            if WATCHERS:
                watcher().refused(key, (*args, *kwargs.values()), error, sys._getframe())
            raise

    when_subclassed(look_at_all)
    call.__module__ = module
    return _dressed(call, fn, key)


def _check_layout(wanted):
    """Raise NotImplementedError for layouts that do not exist here."""
    if isinstance(wanted, layout) and wanted is not strided:
        raise NotImplementedError(
            f"there are no tensors of layout {wanted} here: autograd_lab has neither sparse nor nested tensors"
        )


def _public_method(fn, key):
    seen, any_number = Seen(), bool(unwrap(fn).__code__.co_flags & CO_VARARGS)

    def look_at_all():
        nonlocal seen
        seen = SeenOfPlain()

    def call(self, *args, **kwargs):
        try:
            if kwargs and "layout" in kwargs:
                _check_layout(kwargs["layout"])
            if args or kwargs or any_number:
                if kwargs:
                    types = (*map(type, args), *kwargs, *map(type, kwargs.values()))
                elif len(args) == 2:  # as above
                    types = type(args[0]), type(args[1])
                elif len(args) == 1:
                    types = (type(args[0]),)
                else:
                    types = (*map(type, args),)
                if types not in seen:
                    found = overloaded_for(key, args, kwargs)
                    if found:
                        return ask_for(key, call, found, (self, *args), kwargs)
                    args, kwargs = admit(key, fn, args, kwargs, types, seen)
            try:
                result = fn(self, *args, **kwargs)
                if result is not NotImplemented:
                    return result
                found = otherwise = None
                complaint = why(key, fn, args, kwargs, None)
            except RefusedError:
                raise  # no other arguments are valid
            except Exception as error:
                found = overloaded_for(key, args, kwargs)
                otherwise = None if found else other_form(key, args, kwargs, error)
                if otherwise is None and not found:
                    complaint = why(key, fn, args, kwargs, error)
                    if complaint is None:
                        if key[-1] == "_" and key not in _NO_WRITE:
                            check_writable(self)  # PyTorch first checks for a leaf that may not be written
                        raise
            if found:
                return ask_for(key, call, found, (self, *args), kwargs)
            if otherwise is not None:
                args, kwargs = otherwise
                return call(self, *args, **kwargs)
            raise TypeError(complaint)
        except Exception as error:
            if WATCHERS:
                watcher().refused(key, (self, *args, *kwargs.values()), error, sys._getframe())
            raise

    when_subclassed(look_at_all)
    call.__module__ = fn.__module__
    return _dressed(call, fn, key)


_NO_WRITE = frozenset(
    f"Tensor.{name}"
    for name in ["resize_", "resize_as_", "requires_grad_", "detach_", "set_", "apply_", "map_", "map2_"]
)
"""Methods whose names end in an underscore, but that write no numbers, or have their own message for a leaf."""


def _dressed(call, fn, key):
    call.__name__ = call.__qualname__ = key.rpartition(".")[2]
    call.__doc__, call.__wrapped__ = fn.__doc__, fn
    return call


__all__ = ["publish", "publish_methods"]
