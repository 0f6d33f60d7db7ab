"""What torch.compile makes of a module: a module again, with the parameters of the one it was made from."""

from __future__ import annotations

from typing import Any

from ..torchlike.nn.module import Module
from .entry import Captured

_OF_THE_CODE = frozenset([
    "__name__", "backward_source", "breaks", "entries", "entry", "fn", "forward_source", "fullgraph", "graph", "guard_source",
    "misses", "save", "to_onnx",
])  # fmt: skip
"""What is asked of the compiled code, unless the module has something of that name itself."""


class OptimizedModule(Module):
    """A compiled module (`torch.compile` of an nn.Module).

    Calling it runs the compiled code; its parameters, buffers, mode and all other attributes are those of the module it was made
    from, which stays usable by itself and is its one child, `_orig_mod`: so the names in its state_dict begin with `_orig_mod.`,
    as PyTorch's do. What a compiled function shows (`graph`, `forward_source`, `breaks`, ...) it shows as well.
    """

    def __init__(self, compiled: Any) -> None:
        super().__init__()
        self.__dict__["_compiled"] = compiled
        self._modules["_orig_mod"] = compiled.fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's forward, compiled."""
        return self._compiled(*args, **kwargs)

    @property
    def training(self) -> bool:  # type: ignore[override]
        """The mode of the module it was made from."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        if name in _OF_THE_CODE and not hasattr(self._orig_mod, name):
            return getattr(self._compiled, name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__ or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod), *_OF_THE_CODE})

    def __len__(self) -> int:
        if hasattr(type(self._orig_mod), "__len__"):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._compiled,)


def code_of(compiled: Captured | OptimizedModule) -> Captured:
    """The compiled code itself, of a compiled function or module."""
    return compiled._compiled if isinstance(compiled, OptimizedModule) else compiled


__all__ = ["OptimizedModule", "code_of"]
