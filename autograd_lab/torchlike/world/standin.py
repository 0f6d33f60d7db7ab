"""Runs programs written for PyTorch unchanged: autograd_lab takes the name torch.

    autograd-lab run train.py --epochs 3        a program in files
    lab.stand_in()                              in a notebook, before its first `import torch`

From then on `import torch`, `from torch import nn`, `import torch.nn.functional as F` import this library, in the program and in all
modules that it imports.
"""

import argparse
import importlib
import multiprocessing
import pkgutil
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import autograd_lab

from ...loading.paths import place_of, public
from ..dtypes import Defaults
from ..random import DEFAULT
from .aliases import PLACES
from .devices import version

_OURS = {
    "__main__", "_version", "bench", "cli", "core", "course", "data", "datasets", "express", "grade", "interface", "lab", "loading", "site",
    "standin", "torchlike", "tracing", "widgets", "world",
}  # fmt: skip
"""Names that are not part of the torch-like namespace."""


_LEFT_OUT = """
    _higher_order_ops _higher_order_ops.associative_scan _tensor_str _subclasses _subclasses.fake_tensor distributed._composable distributed._composable.fsdp distributed._tensor
    distributed._tensor.experimental distributed.autograd distributed.elastic distributed.elastic.multiprocessing distributed.elastic.multiprocessing.errors distributed.optim
    distributed.device_mesh distributed.fsdp distributed.rpc distributed.tensor distributed.tensor.parallel fft futures fx fx.experimental fx.experimental.proxy_tensor
    fx.passes fx.passes.shape_prop hub multiprocessing nested nn.attention.flex_attention nn.parallel.distributed nn.parallel.scatter_gather package profiler quasirandom
    signal signal.windows sparse utils._foreach_utils utils.benchmark utils.cpp_extension utils.dlpack utils.model_zoo utils.tensorboard utils.tensorboard.writer
"""
"""Modules of PyTorch's that do not exist here. Many programs import one without using it, so they can be imported."""


_NOT_THERE = ("torch.distributed.rpc.api",)
"""Names that a PyTorch without such a module lacks, and that programs check with hasattr."""


class _Refusing(type):
    """The metaclass of placeholders for names in left-out modules: `isinstance` is False, any use raises an error that says why."""

    def __call__(cls, *args, **kwargs):
        raise NotImplementedError(
            f"{cls.__module__}.{cls.__name__}: autograd_lab leaves {cls.__module__} out"
        )

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(
            f"{cls.__module__}.{cls.__name__}.{name}: autograd_lab leaves {cls.__module__} out"
        )

    def __getitem__(cls, item):
        return cls  # in annotations


class _LeftOut(ModuleType):
    """A left-out module of PyTorch's. Any attribute exists, and raises when used."""

    def __init__(self, name: str) -> None:
        super().__init__(
            name, f"{name} is left out; its names can be imported, and say so when they are used."
        )
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or f"{self.__name__}.{name}" in _NOT_THERE:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        if name in ("is_available", "kineto_available"):
            return lambda: False
        made = _Refusing(name, (), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class _Operator:
    """A name below torch.ops.aten. Programs use them as keys for their own tensor classes; calling one raises."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> "_Operator":
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, made := _Operator(f"{self._name}.{name}"))
        return made

    def __repr__(self) -> str:
        return self._name

    def __call__(self, *args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"{self._name}: autograd_lab leaves torch.ops.aten out")


class _Torch(ModuleType):
    """The module that replaces torch: the names of autograd_lab, with the version of PyTorch that it follows."""

    __path__: ClassVar[list[str]] = []  # a package in which only registered modules are found

    def __init__(self) -> None:
        super().__init__("torch", autograd_lab.__doc__)
        self.__version__ = version.__version__
        self.__spec__ = ModuleSpec(
            "torch", None, is_package=True
        )  # programs use it to check whether torch is installed

    def __getattr__(self, name: str) -> object:
        return getattr(autograd_lab, name)

    def __dir__(self) -> list[str]:
        return dir(autograd_lab)


def _import_all(package: ModuleType) -> None:
    """Import what is inside `package`, and inside that, of the torch-like namespace: later the names would be missed."""
    for found in pkgutil.iter_modules(package.__path__, f"{place_of(package.__name__)}."):
        if public(found.name).split(".")[1] not in _OURS:
            module = importlib.import_module(found.name)
            if found.ispkg:
                _import_all(module)


@contextmanager
def undrawn() -> Iterator[None]:
    """A block (`with torch.device("meta")`) that restores the default generator at its end."""
    state = DEFAULT.rng.state
    try:
        yield
    finally:
        DEFAULT.rng.state = state


def stand_in() -> ModuleType:
    """Make `import torch` import autograd_lab in this process, and return it.

    Raises ImportError if PyTorch itself has been imported already: existing references to it would remain.
    """
    present = sys.modules.get("torch")
    if isinstance(present, _Torch):
        return present
    if present is not None:
        raise ImportError(
            "autograd_lab cannot take the name torch: PyTorch itself has been imported in this process. Restart the kernel (or "
            "Python), and call stand_in() before the first import of torch"
        )
    for folder in (autograd_lab, autograd_lab.torchlike, autograd_lab.torchlike.world):
        _import_all(folder)
    Defaults.meta = undrawn
    for path, holder in PLACES.items():  # some programs inspect the names with vars
        source = "nn" if path.startswith("nn.modules.") else holder
        place = vars(sys.modules[f"autograd_lab.{path}"])
        for name, value in vars(sys.modules[f"autograd_lab.{source}".rstrip(".")]).items():
            if not name.startswith("_"):
                place.setdefault(name, value)
    torch = _Torch()
    for kind in (autograd_lab.Tensor, autograd_lab.Size, autograd_lab.dtype, autograd_lab.device):
        kind.__module__ = "torch"  # programs print type(x)
    for name, module in list(sys.modules.items()):
        package, _, rest = name.partition(".")
        if package == "autograd_lab" and rest and rest.split(".")[0] not in _OURS:
            sys.modules[f"torch.{rest}"] = module
    sys.modules["torch"] = torch
    sys.modules["functorch"] = sys.modules["torch._functorch"]
    for path in _LEFT_OUT.split():
        parent, _, last = f"torch.{path}".rpartition(".")
        sys.modules[f"torch.{path}"] = left_out = _LeftOut(f"torch.{path}")
        setattr(sys.modules[parent], last, left_out)
    for name in (
        "cpu_count",
        "current_process",
        "get_start_method",
        "get_all_start_methods",
        "set_start_method",
    ):
        setattr(sys.modules["torch.multiprocessing"], name, getattr(multiprocessing, name))
    sys.modules["torch.ops"].aten = _Operator("torch.ops.aten")
    torch.Future = sys.modules["torch.futures"].Future
    for refused in (
        "torch.PyTorchFileReader",
        "torch.PyTorchFileWriter",
        "torch.overrides.TorchFunctionMode",
    ):
        parent, _, name = refused.rpartition(".")
        setattr(sys.modules[parent], name, _Refusing(name, (), {"__module__": parent}))
    return torch


def main(argv: list[str] | None = None) -> int:
    """Run `autograd-lab run`."""
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
    if "autograd_lab.express" in sys.modules:  # the command itself has imported `lab`, the program has not
        sys.modules["autograd_lab.express"].on()
    sys.argv = [options.program, *options.arguments]
    if options.module:
        sys.path.insert(0, "")
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(options.program).resolve().parent))
        runpy.run_path(options.program, run_name="__main__")
    return 0
