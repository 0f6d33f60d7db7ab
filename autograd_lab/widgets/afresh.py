"""One process runs many programs of an editor, and each begins as if it were alone: what another has set or replaced is put back."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autograd_lab.torchlike import creation, dtypes, printing, random
from autograd_lab.torchlike.autograd import modes

_OWN = ("autograd_lab", "torch")
_AROUND = (*_OWN, "builtins", "numpy", "random", "math")


class Afresh:
    """Everything that programs share, as it is now.

    Functions, classes and modules are put back where a program has replaced them: in this library, in the modules it needs, and in
    sys.modules. Of numbers and other settings a list says what they are; most of what this library keeps in variables may change.
    """

    def __init__(self) -> None:
        self._seed = random.get_rng_state()
        self._deepest, self._path, self._argv = sys.getrecursionlimit(), [*sys.path], [*sys.argv]
        self._folder = Path.cwd()
        self._numpy = np.geterr(), np.get_printoptions()
        self._modules: dict[str, ModuleType] = {}
        self._parts: dict[int, tuple[Any, dict[str, Any], set[str]]] = {}
        self._look()

    def restore(self) -> None:
        """Put all back."""
        for owner, parts, names in self._parts.values():
            now = vars(owner)
            for name in [name for name, part in parts.items() if now.get(name) is not part]:
                if not callable(parts[name]) and name in now and _origin(now[name]) in _OWN:
                    parts[name] = now[name]  # a method that was loaded when it was asked for
                else:
                    setattr(owner, name, parts[name])
            for name in now.keys() - names:
                if _is_strange(now[name]) or (_origin(now[name]) not in _OWN and _hides(owner, name)):
                    delattr(owner, name)
        sys.modules.update(
            {name: module for name, module in self._modules.items() if sys.modules.get(name) is not module}
        )
        self._settings()
        self._look()

    def _look(self) -> None:
        """Note the parts that came since the last time: many do when they are first asked for."""
        for name, module in [*sys.modules.items()]:
            if isinstance(module, ModuleType) and name.partition(".")[0] in _AROUND:
                self._note(module)
                self._modules.setdefault(name, module)

    def _note(self, owner: Any) -> None:
        _, parts, names = self._parts.setdefault(id(owner), (owner, {}, set()))
        for name, part in [*vars(owner).items()]:
            if name in names:
                continue
            names.add(name)
            if callable(part) or isinstance(part, ModuleType) or hasattr(part, "__get__"):
                parts[name] = part
            if isinstance(part, type) and _origin(part) in _OWN and id(part) not in self._parts:
                self._note(part)

    def _settings(self) -> None:
        random.set_rng_state(self._seed)
        dtypes.set_default_dtype(dtypes.float32)
        printing.set_printoptions(profile="default")
        creation.use_deterministic_algorithms(False)
        modes.THREAD.state = modes.State()  # no_grad, anomaly mode and all else that was entered
        if layers := sys.modules.get("autograd_lab.torchlike.nn.module"):
            layers.begin_anew()
        errors, printed = self._numpy
        np.seterr(**errors)
        np.set_printoptions(**printed)
        sys.setrecursionlimit(self._deepest)
        sys.path[:], sys.argv[:] = self._path, self._argv
        os.chdir(self._folder)


def _origin(part: Any) -> str:
    """The package that a part comes from, or that of its type."""
    name = part.__name__ if isinstance(part, ModuleType) else getattr(part, "__module__", None)
    return str(name or type(part).__module__).partition(".")[0]


def _is_strange(part: Any) -> bool:
    """Whether a program wrote it."""
    return _origin(getattr(part, "__func__", part)) == "__main__"


def _hides(owner: Any, name: str) -> bool:
    """Whether a name that was added hides a part of this library: an inherited one, or one that a module loads when it is asked for."""
    if isinstance(owner, type):
        return any(name in vars(base) for base in owner.__mro__[1:])
    return _origin(owner) in _OWN and ("__getattr__" in vars(owner) or hasattr(type(owner), "__getattr__"))
