"""A function of one's own, stepped line by line: `lab.step_code(y.backward)`, for the engine that is written in exercise 13.3.

Python itself is asked for each line (sys.settrace), in that one function and in those defined inside it. Shown is the line that
has just run, with the variables as it left them: as in the stepper's tab "engine", which shows the lab's own loop.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Number
from types import CodeType, FrameType, FunctionType
from typing import Any

import anywidget
import traitlets

from autograd_lab.tracing.builder import source_name
from autograd_lab.tracing.guard import text_of

from .front import joined, style

MOST = 2_000
"""So many lines are recorded; then the call is stopped."""
MOST_AROUND = 100_000
"""So many lines may run in other functions of the same file, which are not shown."""
_SHOWN = 4  # elements of a list, set or dict
_LONGEST = 160  # characters of a variable
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("{", "}"), dict: ("{", "}"),
}  # fmt: skip


class _EnoughError(BaseException):
    """Ends the call. Not an Exception: what the call may catch by itself would not end it."""


@dataclass
class Line:
    """A line that has run: its number in the file, the variables as it left them, and the error that it raised, if it did."""

    number: int
    variables: dict[str, str]
    error: str = ""


@dataclass
class Ran:
    """What became of a call: its lines in the order in which they were done, the result, and the sentence that it ends with."""

    lines: list[Line] = field(default_factory=list)
    result: Any = None
    end: str = ""
    failed: BaseException | None = None


def run(call: Callable[..., Any], *inputs: Any) -> Ran:
    """Call `call(*inputs)`, noting each line of it. Its errors are noted, too, and not raised.

    Raises TypeError if `call` is no function or method written in Python.
    """
    code = _code_of(call)
    own, ran, around = set(_codes_in(code)), Ran(), 0
    waiting: dict[FrameType, list[Any]] = {}  # [the line that is running, the error it has raised]

    def finish(frame: FrameType) -> None:
        number, error = waiting.pop(frame, (None, ""))
        if number is not None:
            held = {name: text(x) for name, x in frame.f_locals.items() if not name.startswith(".")}
            ran.lines.append(Line(number, held, error))
            if len(ran.lines) >= MOST:
                raise _EnoughError

    def inside(frame: FrameType, event: str, what: Any) -> Any:
        if event == "exception":
            kind, error, _ = what
            waiting.setdefault(frame, [frame.f_lineno, ""])[1] = f"{kind.__name__}: {text_of(error)}"
        else:
            finish(frame)
            if event == "line":
                waiting[frame] = [frame.f_lineno, ""]
        return inside

    def beside(frame: FrameType, event: str, what: Any) -> Any:
        nonlocal around
        around += event == "line"
        if around > MOST_AROUND:
            raise _EnoughError
        return beside

    def trace(frame: FrameType, event: str, what: Any) -> Any:
        if frame.f_code in own:
            return inside
        return beside if frame.f_code.co_filename == code.co_filename else None

    name, before = code.co_name, sys.gettrace()
    sys.settrace(trace)
    try:
        ran.result = call(*inputs)
        ran.end = f"{name} has returned."
    except _EnoughError:
        seen = f"{MOST:,} lines" if len(ran.lines) >= MOST else f"{MOST_AROUND:,} lines of other functions"
        ran.end = f"Stopped after {seen}, before {name} returned. Does its loop end? Look at what should empty its list."
    except Exception as error:
        ran.failed = error
        ran.end = f"{name} ended with {type(error).__name__}: {text_of(error)}"
    finally:
        sys.settrace(before)
    return ran


def _code_of(call: Any) -> CodeType:
    function = getattr(call, "__func__", call)
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"lab.step_code() takes a function or a method of yours, but this is a {type(call).__name__}. What to do: "
            "`lab.step_code(y.backward)`, without parentheses after `backward`"
        )
    return function.__code__


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """A function's code and that of the functions defined in it; comprehensions and lambdas are parts of their line."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not constant.co_name.startswith("<"):
            yield from _codes_in(constant)


def text(x: Any, depth: int = 2) -> str:
    """What a variable holds, in short. Runs no code of the user's, which may be what is wrong: of an object, its class and its `data`."""
    kind = type(x)
    if kind in _BRACKETS:
        left, right = _BRACKETS[kind]
        if x and not depth:
            return f"{left}\N{HORIZONTAL ELLIPSIS}{right}"
        some = [x[i] for i in range(min(len(x), _SHOWN))] if kind in (list, tuple) else []
        if kind in (set, frozenset, dict):
            some = [one for one, _ in zip(x, range(_SHOWN), strict=False)]
        parts = [text(one, depth - 1) for one in some]
        if kind is dict:
            held = [one for one, _ in zip(x.values(), range(_SHOWN), strict=False)]
            parts = [f"{key}: {text(one, depth - 1)}" for key, one in zip(parts, held, strict=True)]
        if len(x) > _SHOWN:
            parts.append("\N{HORIZONTAL ELLIPSIS}")
        return _cut(left + ", ".join(parts) + ("," if kind is tuple and len(x) == 1 else "") + right)
    if kind is float:
        return f"{x:.6g}"
    if kind in (bool, int, str, type(None)):
        return _cut(repr(x)) if kind is not int or abs(x) < 10**30 else "a large int"
    if isinstance(x, FunctionType | type):
        return x.__name__
    try:
        data = object.__getattribute__(x, "__dict__").get("data")
    except AttributeError:
        data = None
    return f"{kind.__name__}({text(data, 0)})" if isinstance(data, Number) else kind.__name__


def _cut(whole: str) -> str:
    return whole if len(whole) <= _LONGEST else whole[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


class CodeStepper(anywidget.AnyWidget):
    """Steps through the lines of a call that has run; see `step_code` in lab.

    `lines` are the lines, `result` is what the call returned, `end` says how it ended, and `position` is how many lines are done.
    """

    _esm = joined(("core.js", "formula.js", "dom.js", "engine.js", "own.js"))
    _css = style()
    _run = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(0, help="lines that have run so far").tag(sync=True)

    def __init__(self, call: Callable[..., Any], *inputs: Any) -> None:
        code = _code_of(call)
        try:
            source, first = inspect.getsourcelines(code)
        except OSError:
            raise ValueError(
                f"lab.step_code() cannot find the source of {code.co_name}: define it in a cell or a file"
            ) from None
        self.ran = run(call, *inputs)
        if self.ran.failed is not None and not self.ran.lines:
            raise self.ran.failed
        super().__init__(_run=json.dumps(_document(code, source, first, self.ran), separators=(",", ":")))

    @property
    def lines(self) -> list[Line]:
        """The lines that ran."""
        return self.ran.lines

    @property
    def result(self) -> Any:
        """What the call returned."""
        return self.ran.result

    @property
    def end(self) -> str:
        """How the call ended."""
        return self.ran.end

    @traitlets.validate("position")
    def _inside(self, proposal: dict[str, Any]) -> int:
        return min(max(int(proposal["value"]), 0), len(self.lines))

    def __repr__(self) -> str:
        count = len(self.lines)
        return f"CodeStepper({count:,} line{'' if count == 1 else 's'} ran. {self.end})"


def _document(code: CodeType, source: list[str], first: int, ran: Ran) -> dict[str, Any]:
    """What the page draws: the source, and for each line that ran its row, its variables and, if it raised, the error."""
    indent = len(source[0]) - len(source[0].lstrip())
    owner = code.co_qualname.rpartition(".")[0].removesuffix(".<locals>")
    heading = source_name(code.co_filename) + (f", class {owner}" if owner else "")
    body = "\n".join(line.rstrip()[indent:] if line.strip() else "" for line in source)
    texts: dict[str, int] = {}
    steps = [
        [
            1 + line.number - first,
            [[name, texts.setdefault(x, len(texts))] for name, x in line.variables.items()],
            line.error,
        ]
        for line in ran.lines
    ]
    return {
        "parts": [[heading, first, body]],
        "steps": steps,
        "texts": list(texts),
        "end": ran.end,
        "name": code.co_name,
    }


__all__ = ["CodeStepper", "Line", "Ran", "run", "text"]
