"""Run a small program that says `import torch`, with this library in PyTorch's place, and keep what it did.

`torch` is replaced for the program alone: other code of the process goes on to import what it did.
"""

from __future__ import annotations

import builtins
import contextlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from autograd_lab.tracing import Trace
from autograd_lab.tracing.recorder import keep_last
from autograd_lab.widgets import program

NAME = "program.py"
"""What tracebacks and the stepper call the program's file; the playground's programs have the same name."""


@dataclass
class Ran:
    """What a program did: its output, the warnings it heard, the error it ended with, its variables, and of a recorded one the trace."""

    printed: str = ""
    warned: list[str] = field(default_factory=list)
    error: str = ""
    """The last line of the traceback, such as "RuntimeError: ...", or ""."""
    traceback: str = ""
    """The error as Python prints it, with the lines of the program alone."""
    variables: dict[str, Any] = field(default_factory=dict)
    trace: Trace | None = None


def run(text: str) -> Ran:
    """Run a program with this library as `torch`, and record it."""
    with keep_last(), heard("autograd_lab") as ran:
        printed: list[str] = []
        done = program.run(text, printed.append, NAME, namespace=ran.variables)
        ran.printed, ran.trace = "".join(printed), done.trace
        if done.error is not None:
            ran.error = f"{done.error['type']}: {done.error['message']}"
            ran.traceback = _own_lines(done.error["text"])
    return ran


def _own_lines(text: str) -> str:
    """A traceback without the lines of other files than the program."""
    parts = re.split(r"^(?=  File |\S)", text, flags=re.M)
    return "".join(
        part for part in parts if not part.startswith("  File ") or part.startswith(f'  File "{NAME}"')
    )


@contextlib.contextmanager
def heard(library: str) -> Iterator[Ran]:
    """A Ran whose variables are a namespace in which `torch` is the library of this name; it gets the warnings that are given inside."""
    own = {**vars(builtins), "__import__": _importing(library)}
    ran = Ran(variables={"__name__": "__main__", "__builtins__": own})
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield ran
    ran.warned = [f"{one.category.__name__}: {one.message}" for one in heard]


def _importing(library: str) -> Any:
    """`__import__` for a program to which `torch` means the library."""

    def find(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        top, dot, rest = name.partition(".")
        if top != "torch" or level:
            return builtins.__import__(name, globals, locals, fromlist, level)
        module = import_module(library + dot + rest)
        for part in fromlist or ():
            if not hasattr(module, part):
                with contextlib.suppress(ModuleNotFoundError):  # Python itself says what cannot be imported
                    import_module(f"{module.__name__}.{part}")
        return module if fromlist else import_module(library)

    return find
