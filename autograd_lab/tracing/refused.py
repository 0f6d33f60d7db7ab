"""Operators that tell the recorder when they are refused: `a @ b` with shapes that do not fit.

The functions and methods of `interface/publish.py` tell a watcher by themselves, where a call has ended anyway. Operators have no such
place: who never records does not pay for it. So Tensor gets other ones when the first recording begins. They stay, since a class that
changes with every recording makes all of Python's lookups in it anew, which took a third of the time of a short recording.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

from ..torchlike.autograd.modes import WATCHERS, watcher
from ..torchlike.autograd.variable import Registry

_BINARY = [name for name in vars(operator) if name.startswith("__") and name.endswith("__")]
_TOLD = (
    *[name for name in _BINARY if name != "__add__"], *[f"__r{name[2:]}" for name in _BINARY], "__bool__", "__float__", "__int__", "__len__",
    "item", "numpy", "register_hook", "requires_grad_", "retain_grad", "tolist",
    "__add__",
)  # fmt: skip
"""The operators, and the methods that refuse tensors and are not in the rule book. The last tells other threads that all are there."""

_OF_TWO = frozenset(
    f"__{kind}{name}__" for kind in ("", "r", "i") for name in ("add", "sub", "mul", "truediv", "matmul")
)
"""Those that run most often: with the number of arguments written out telling costs half as much."""

_NAMES = {
    "getitem": "indexing",
    "setitem": "writing into",
    "float": "float()",
    "int": "int()",
    "bool": "bool()",
    "len": "len()",
}

_LOCK = threading.Lock()
_TELLING: dict[str, Callable[..., Any]] = {}


def listen() -> None:
    """From here on operators tell. After `lab.fast()`, which replaces them, this is done anew."""
    tensor = Registry.tensor
    members = vars(tensor)
    if members["__add__"] is _TELLING.get("__add__"):
        return
    with _LOCK:
        for name in _TOLD:
            own = getattr(tensor, name) if name in members else None  # loads those that are not there yet
            if isinstance(own, FunctionType) and own is not _TELLING.get(name):
                _TELLING[name] = _telling(name, own)
                setattr(tensor, name, _TELLING[name])


def _telling(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    def of_two(self: Any, other: Any) -> Any:
        try:
            return own(self, other)
        except Exception as error:
            if WATCHERS:
                watcher().refused(name, (self, other), error, sys._getframe())
            raise

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return own(*args, **kwargs)
        except Exception as error:
            if WATCHERS:
                watcher().refused(name, args, error, sys._getframe())
            raise

    return wraps(own)(of_two if name in _OF_TWO else call)


def operation_called(name: str) -> str:
    """What a narrator calls an operation: "matmul" for the key "Tensor.__matmul__", "add_" for "__iadd__"."""
    name = name.rpartition(".")[2]
    if not name.startswith("__"):
        return name
    plain = name.strip("_")
    if plain in _NAMES:
        return _NAMES[plain]
    if name in _REFLECTED:
        return plain[1:]
    return f"{plain[1:]}_" if name in _INPLACE else plain


_INPLACE = {name for name in _BINARY if name.startswith("__i") and f"__{name[3:]}" in _BINARY}
_REFLECTED = {f"__r{name[2:]}" for name in _BINARY} - set(_BINARY)
