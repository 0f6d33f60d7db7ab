"""Running probes: the part of a check that runs in the process of the student's code, and does not know the answers."""

from __future__ import annotations

import inspect
import math
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from importlib import import_module
from types import CodeType, FrameType
from typing import Any

import numpy as np

from autograd_lab.torchlike.autograd.modes import as_now
from autograd_lab.tracing.sources import keep_source

from . import handed_out, plain
from .items import STILL_RUNNING, Probe, still_running
from .timeout import StillRunning, within

STUB = handed_out.STUB


def namespace() -> dict[str, Any]:
    """The namespace of a probe's code: torch (this library), lab, np, math, untouched, unhooked, own_class, dtype_of, soon, called.

    The first two are above this module; a probe uses them, as the student's code does.
    """
    torch, lab = (import_module(name) for name in ("autograd_lab", "autograd_lab.lab"))
    return {
        "torch": torch,
        "lab": lab,
        "np": np,
        "math": math,
        "untouched": untouched,
        "unhooked": unhooked,
        "own_class": own_class,
        "dtype_of": dtype_of,
        "soon": soon,
        "called": called,
        "__name__": "probe",
    }


def untouched(*tensors: Any) -> Callable[[], bool]:
    """A function that says, later, whether these tensors are as they are now.

    They have the same bits, nothing has been written to them and undone, none requires a gradient that did not, or has got one, and no hook is on them;
    and neither recording is switched nor the default dtype, which is all that an answer can leave behind for everybody.
    """
    torch = import_module("autograd_lab")

    def noted() -> list[Any]:
        modes = torch.is_grad_enabled(), torch.get_default_dtype()
        return [
            modes,
            *(
                (
                    (t.detach().numpy().tobytes(), t.shape, t._version, t.requires_grad, t.is_leaf),
                    t.requires_grad or t.grad is None,
                )
                for t in tensors
            ),
        ]

    before = noted()
    return lambda: noted() == before and unhooked(*tensors)


def unhooked(*tensors: Any) -> bool:
    """Whether no hook is on these tensors; of one that was computed, whether what is sent to it arrives, an infinite gradient too."""
    torch = import_module("autograd_lab")
    for t in (t for t in tensors if t.requires_grad):
        if t.is_leaf:
            for register in (t.register_hook, t.register_post_accumulate_grad_hook):
                handle = register(lambda g: None)
                there = len(handle._hooks())
                handle.remove()
                if there > 1:
                    return False
            continue
        with torch.enable_grad():
            sent = torch.full_like(t, math.inf, requires_grad=False)
            sent.view(-1)[1::2] = 3.0
            (arrived,) = torch.autograd.grad(t * 1, t, sent)
        if not torch.equal(arrived, sent):
            return False
    return True


def dtype_of(result: Any) -> str:
    """The name of the dtype of a tensor or array, such as "float32"; "" of anything else."""
    return str(getattr(result, "dtype", "")).rpartition(".")[2]


def own_class(answer: Any, known: type) -> type:
    """The class that has the name of `known` where the answer was written, or `known`: `isinstance` must be true there of what a probe makes."""
    own = getattr(answer, "__globals__", {}).get(known.__name__)
    return own if isinstance(own, type) else known


MOST_LINES = 100_000


def soon(work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` returns, if it runs at most 100,000 lines of Python.

    Raises RuntimeError if it runs more, so that a graph of thirty nodes tells who follows every path. Lines are counted, and not
    calls: to raise at a call may be to raise in a generator that is being closed, where Python drops the error and goes on.
    """
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        if event == "line" and count > MOST_LINES:
            raise RuntimeError("more than 100,000 lines of Python have run for a small graph")
        return trace

    sys.settrace(trace)
    try:
        return work(*arguments)
    finally:
        sys.settrace(before)


def called(work: Callable[[], Any]) -> list[tuple[str, str]]:
    """(module, name) of every function of Python's that runs while `work` does, once for each time."""
    seen: list[tuple[str, str]] = []
    before = sys.getprofile()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen.append((frame.f_globals.get("__name__", ""), frame.f_code.co_name))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return seen


def load(probe: Probe, answer: Any = None) -> Callable[..., Any]:
    """The function of a probe. A class that the question hands out, and the probe has as well, is that of the answer's notebook."""
    space = namespace()
    file = f"<probe {probe.name}>"
    keep_source(file, probe.source)
    exec(_compiled(probe.source, file), space)
    shared = [one for one in space.values() if isinstance(one, type) and one.__module__ == "probe"]
    space |= {one.__name__: own_class(answer, one) for one in shared}
    return space[probe.name]


@lru_cache(maxsize=200)
def _compiled(source: str, file: str) -> CodeType:
    return compile(source, file, "exec")


def run(probes: Iterable[Probe], answer: Any, seconds: float | None = None) -> dict[str, Any]:
    """{case: plain data} of some probes; an exception of the student's code is data too: {"error", "message"}.

    With `seconds`, a case during which the time of all of them ends is the last one, and its data say so.
    """
    outputs: dict[str, Any] = {}
    end = None if seconds is None else time.monotonic() + seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where warnings are errors, programs would behave differently
        for probe in probes:
            function = load(probe, answer)
            for i, (key, case) in enumerate(zip(probe.names(), probe.cases, strict=True)):
                put_back = as_now()
                try:
                    call = partial(_result, function, answer, case)
                    outputs[key] = call() if end is None else within(max(0.1, end - time.monotonic()), call)
                except StillRunning:
                    stopped = {"error": STILL_RUNNING, "message": f"after {seconds:g} seconds"}
                    return outputs | dict.fromkeys(probe.names()[i:], stopped)
                except KeyboardInterrupt as stop:
                    stop.args = (still_running(probe.about(i)),)
                    raise
                except Exception as error:  # any exception of the student's code is a result
                    outputs[key] = {"error": type(error).__name__, "message": _told(error)}
                finally:
                    put_back()  # a mode that the code has left switched spoils no other case
    return outputs


def _result(function: Callable[..., Any], answer: Any, case: list[Any]) -> Any:
    return plain.plain(function(answer, *case))


_IN_EVERY_PYTHON = {RecursionError: "maximum recursion depth exceeded", ZeroDivisionError: "division by zero"}
"""What stands for the messages that each version of Python words anew: known mistakes are recognized by their messages too."""


def _told(error: Exception) -> str:
    """The message of an error, the same in every version of Python."""
    return _IN_EVERY_PYTHON.get(type(error)) or str(error)[:300]


def unfinished(answer: Any, stubs: Iterable[str] = ()) -> bool:
    """Whether an answer is as it was handed out: `...`, code with an open gap (handed_out.has_gap), the code of one of
    `stubs`, or a function that does nothing.
    """
    if plain.unanswered(answer):
        return True
    texts = _texts(answer)
    if any(map(handed_out.has_gap, texts)):
        return True
    if inspect.isfunction(answer) and handed_out.does_nothing(texts[0]):
        return True
    return bool(texts) and any(all(handed_out.same_code(text, stub) for text in texts) for stub in stubs)


def text_of(answer: Any) -> str:
    """The code of a function, a class, or a list of them; "" if it is not known."""
    return "\n".join(map(textwrap.dedent, _texts(answer)))


def _texts(answer: Any) -> list[str]:
    return [_text(function) for function in _functions(answer)]


def _functions(answer: Any) -> list[Any]:
    if inspect.isfunction(answer):
        return [answer]
    if inspect.isclass(answer):
        return [
            getattr(member, "__func__", member)
            for member in vars(answer).values()
            if inspect.isfunction(getattr(member, "__func__", member))
        ]
    if isinstance(answer, list | tuple):
        return [function for part in answer for function in _functions(part)]
    return []


def _text(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""
