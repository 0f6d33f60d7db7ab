"""Operators that tell the recorder when they are refused: `a @ b` with shapes that do not fit.

The functions and methods of `interface/publish.py` tell a watcher by themselves, where a call has ended anyway. Operators have no such
place: to have one would cost each of them, always. So Tensor gets other ones while a recording runs.
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
    *_BINARY, *[f"__r{name[2:]}" for name in _BINARY], "__bool__", "__float__", "__int__", "__len__",
    "item", "numpy", "register_hook", "requires_grad_", "retain_grad", "tolist",
)  # fmt: skip
"""The operators, and the methods that refuse tensors and are not in the rule book."""

_NAMES = {
    "getitem": "indexing",
    "setitem": "writing into",
    "float": "float()",
    "int": "int()",
    "bool": "bool()",
    "len": "len()",
}

_LOCK = threading.Lock()
_BEFORE: dict[str, Any] = {}
_WITH: dict[str, Any] = {}
_LISTENING = [0]


def listen() -> None:
    """From here on operators tell; for all threads, of which those without a recording have nobody to tell."""
    with _LOCK:
        _LISTENING[0] += 1
        if _LISTENING[0] > 1:
            return
        tensor = Registry.tensor
        for name in _TOLD:
            if name in vars(tensor) and isinstance(own := getattr(tensor, name), FunctionType):
                _BEFORE[name] = own
                _WITH[name] = _telling(name, own)
                setattr(tensor, name, _WITH[name])


def leave() -> None:
    """A recording has ended: after the last one the operators are those of before, except for what was replaced meanwhile."""
    with _LOCK:
        _LISTENING[0] -= 1
        if _LISTENING[0]:
            return
        members = vars(Registry.tensor)
        for name, own in _BEFORE.items():
            if members.get(name) is _WITH[name]:
                setattr(Registry.tensor, name, own)
        _BEFORE.clear()
        _WITH.clear()


def _telling(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return own(*args, **kwargs)
        except Exception as error:
            if WATCHERS:
                watcher().refused(name, args, error, sys._getframe())
            raise

    return call


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
