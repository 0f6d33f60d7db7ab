"""Programs written for PyTorch, run as they are: autograd_lab takes the name torch.

    autograd-lab run train.py --epochs 3        a program in files of its own
    lab.stand_in()                              in a notebook, before its first `import torch`

From then on `import torch`, `from torch import nn`, `import torch.nn.functional as F` give this library, in the program and in
all modules that it imports.
"""

import argparse
import importlib
import pkgutil
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import autograd_lab

from .machine import version

_OURS = {
    "__main__", "_resources", "_version", "bench", "cli", "course", "data", "datasets", "grade", "lab", "standin", "tracing",
    "widgets",
}  # fmt: skip
"""What is no part of the torch-like namespace."""


class _Torch(ModuleType):
    """The module that stands for torch: the names of autograd_lab, with the version of PyTorch that it follows."""

    __path__: ClassVar[list[str]] = []  # a package, in which nothing is found but what is registered

    def __init__(self) -> None:
        super().__init__("torch", autograd_lab.__doc__)
        self.__version__ = version.__version__

    def __getattr__(self, name: str) -> object:
        return getattr(autograd_lab, name)

    def __dir__(self) -> list[str]:
        return dir(autograd_lab)


def _import_all(package: ModuleType) -> None:
    """Import what is inside `package`, and inside that, of the torch-like namespace: later the names would be missed."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name.split(".")[1] not in _OURS:
            module = importlib.import_module(found.name)
            if found.ispkg:
                _import_all(module)


def stand_in() -> ModuleType:
    """Let `import torch` give autograd_lab in this process, and return it.

    Raises ImportError if PyTorch itself has been imported already: what others hold of it would stay what it is.
    """
    present = sys.modules.get("torch")
    if isinstance(present, _Torch):
        return present
    if present is not None:
        raise ImportError(
            "autograd_lab cannot take the name torch: PyTorch itself has been imported in this process. Restart the kernel (or "
            "Python), and call stand_in() before the first import of torch"
        )
    _import_all(autograd_lab)
    torch = _Torch()
    for kind in (autograd_lab.Tensor, autograd_lab.Size, autograd_lab.dtype, autograd_lab.device):
        kind.__module__ = "torch"  # programs print type(x)
    for name, module in list(sys.modules.items()):
        package, _, rest = name.partition(".")
        if package == "autograd_lab" and rest and rest.split(".")[0] not in _OURS:
            sys.modules[f"torch.{rest}"] = module
    sys.modules["torch"] = torch
    return torch


def main(argv: list[str] | None = None) -> int:
    """Carry out `autograd-lab run`."""
    parser = argparse.ArgumentParser(
        prog="autograd-lab run",
        description="Run a program written for PyTorch, with autograd_lab in its place.",
    )
    parser.add_argument("-m", action="store_true", dest="module", help="PROGRAM is a module, as in python -m")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file")
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="what the program is given"
    )
    options = parser.parse_args(argv)
    if not options.module and not Path(options.program).is_file():
        parser.error(
            f"there is no file {options.program}; for a module of that name: autograd-lab run -m NAME"
        )
    stand_in()
    sys.argv = [options.program, *options.arguments]
    if options.module:
        sys.path.insert(0, "")
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(options.program).resolve().parent))
        runpy.run_path(options.program, run_name="__main__")
    return 0
