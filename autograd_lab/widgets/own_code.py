"""A function of one's own, stepped line by line: `lab.step_code(y.backward)`, for the engine that is written in exercise 13.3.

Python itself is asked for each line (sys.settrace), in that one function and in those defined inside it. Shown is the line that
has just run, with the variables as it left them: as in the stepper's tab "engine", which shows the lab's own loop.

Another run may stand beside it, with its own code: a `Beside`. Both are run with a `Witness`, which says what each line did, and
where the one does something, the line is lit where the other does the same.
"""

from __future__ import annotations

import inspect
import json
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from numbers import Number
from types import CodeType, FrameType, FunctionType
from typing import Any

import anywidget
import numpy as np
import traitlets

from autograd_lab.tracing.builder import source_name
from autograd_lab.tracing.guard import text_of

from . import still
from .engine_source import places, plain
from .front import joined, style
from .shown import Shown

MOST = 2_000
"""So many lines are recorded; then the call is stopped."""
MOST_AROUND = 100_000
"""So many lines may run in other functions of the same file, which are not shown."""
MOST_AT_ONCE = 1_000_000
"""So many instructions of Python may one line take: `while True: pass` is a line that is never left."""
_SHOWN = 4  # elements of a list, set or dict
_LONGEST = 160  # characters of a variable
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), frozenset: ("{", "}"), dict: ("{", "}"),
}  # fmt: skip


class _EnoughError(BaseException):
    """Ends the call. Not an Exception: what the call may catch by itself would not end it."""


Event = tuple[str, str]
"""What a line did, such as ("pop", "c"): the kind, and to which node."""


@dataclass
class Line:
    """A line that has run: its number in the file, the variables as it left them, and the error that it raised, if it did."""

    number: int
    variables: dict[str, str]
    error: str = ""
    file: str = ""
    events: Sequence[Event] = ()


@dataclass
class Ran:
    """What became of a call: its lines in the order in which they were done, the result, and the sentence that it ends with."""

    lines: list[Line] = field(default_factory=list)
    result: Any = None
    end: str = ""
    failed: BaseException | None = None


class Witness:
    """Says what the lines of a run did; this one says nothing."""

    NOTHING = object()
    """In place of what a function returned, while it has not."""
    names: Mapping[int, str] = {}
    """{id of an object: what it is called where a variable holds it}."""

    def called(self, frame: FrameType) -> None:
        """A function was called, in this frame."""

    def held(self, frame: FrameType) -> Mapping[str, Any]:
        """The variables to show of a frame."""
        return frame.f_locals

    def did(self, frame: FrameType, number: int, returned: Any) -> Sequence[Event]:
        """What line `number` of this frame has just done; with its last line, what the function has `returned`."""
        return ()


def run(
    call: Callable[..., Any],
    *inputs: Any,
    shown: Iterable[Callable[..., Any]] = (),
    witness: Witness = Witness(),  # noqa: B008 (it holds nothing)
    name: str = "",
) -> Ran:
    """Call `call(*inputs)`, noting each line of it. Its errors are noted, too, and not raised.

    shown     the functions whose lines are noted instead, if `call` only calls them
    witness   says what each line did
    name      what the sentence about its end calls it, if not by the name of the function

    Raises TypeError if `call`, or one of `shown`, is no function or method written in Python.
    """
    codes = [_code_of(one) for one in shown or (call,)]
    code = codes[0]
    own, ran, around, at_once = {part for one in codes for part in _codes_in(one)}, Ran(), 0, 0
    waiting: dict[FrameType, list[Any]] = {}  # [the line that is running, the error it has raised]

    def finish(frame: FrameType, returned: Any) -> None:
        number, error = waiting.pop(frame, (None, ""))
        if number is not None:
            variables = {
                name: text(x, names=witness.names)
                for name, x in witness.held(frame).items()
                if not name.startswith(".")
            }
            file = frame.f_code.co_filename
            ran.lines.append(Line(number, variables, error, file, witness.did(frame, number, returned)))
            if len(ran.lines) >= MOST:
                raise _EnoughError

    def inside(frame: FrameType, event: str, what: Any) -> Any:
        nonlocal at_once
        at_once = at_once + 1 if event == "opcode" else 0
        if at_once > MOST_AT_ONCE:
            finish(frame, Witness.NOTHING)
            raise _EnoughError
        if event == "opcode":
            return inside
        if event == "exception":
            kind, error, _ = what
            waiting.setdefault(frame, [frame.f_lineno, ""])[1] = f"{kind.__name__}: {text_of(error)}"
        else:
            finish(frame, what if event == "return" else Witness.NOTHING)
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
        witness.called(frame)
        if frame.f_code in own:
            frame.f_trace_opcodes = True
            return inside
        return beside if frame.f_code.co_filename == code.co_filename else None

    name, before = name or code.co_name, sys.gettrace()
    sys.settrace(trace)
    try:
        ran.result = call(*inputs)
        ran.end = f"{name} has returned."
    except _EnoughError:
        seen = f"{MOST:,} lines" if len(ran.lines) >= MOST else f"{MOST_AROUND:,} lines of other functions"
        if at_once > MOST_AT_ONCE:
            seen = f"{MOST_AT_ONCE:,} instructions in one line"
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


def source_of(code: CodeType) -> tuple[list[str], int]:
    """The lines of a function, and the number of the first. Raises ValueError if they cannot be found."""
    linecache.checkcache(code.co_filename)
    lines, first = (
        linecache.getlines(code.co_filename),
        code.co_firstlineno,
    )  # inspect would look at every module
    if len(lines) < first:
        raise ValueError(f"the source of {code.co_name} cannot be found: define it in a cell or a file")
    return inspect.getblock(lines[first - 1 :]), first


def text(x: Any, depth: int = 2, names: Mapping[int, str] = {}) -> str:
    """What a variable holds, in short. Runs no code of the user's, which may be what is wrong: of an object, its class and its `data`.

    `names` has names for some objects, by their ids.
    """
    if id(x) in names:
        return names[id(x)]
    kind = type(x)
    if kind in _BRACKETS:
        left, right = _BRACKETS[kind]
        if x and not depth:
            return f"{left}\N{HORIZONTAL ELLIPSIS}{right}"
        some = [x[i] for i in range(min(len(x), _SHOWN))] if kind in (list, tuple) else []
        if kind in (set, frozenset, dict):
            some = [one for one, _ in zip(x, range(_SHOWN), strict=False)]
        parts = [text(one, depth - 1, names) for one in some]
        if kind is dict:
            held = [one for one, _ in zip(x.values(), range(_SHOWN), strict=False)]
            parts = [f"{key}: {text(one, depth - 1, names)}" for key, one in zip(parts, held, strict=True)]
        if len(x) > _SHOWN:
            parts.append("\N{HORIZONTAL ELLIPSIS}")
        return _cut(left + ", ".join(parts) + ("," if kind is tuple and len(x) == 1 else "") + right)
    if kind is float:
        return f"{x:.6g}"
    if kind in (bool, int, str, type(None)):
        return _cut(repr(x)) if kind is not int or abs(x) < 10**30 else "a large int"
    if isinstance(x, FunctionType | type):
        return x.__name__
    if isinstance(x, np.ndarray | np.generic) and x.size == 1:
        return f"{x.item():.6g}"
    try:
        data = object.__getattribute__(x, "__dict__").get("data")
    except AttributeError:
        data = None
    return f"{kind.__name__}({text(data, 0)})" if isinstance(data, Number) else kind.__name__


def _cut(whole: str) -> str:
    return whole if len(whole) <= _LONGEST else whole[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


@dataclass
class Beside:
    """A run that stands beside another, and the functions whose code is shown of it."""

    title: str
    functions: tuple[Callable[..., Any], ...]
    lines: list[Line]
    in_order: frozenset[str] = frozenset()
    """Kinds of events of which the second is compared with the second, whatever it is about."""


def matched(
    lines: Sequence[Line], beside: Sequence[Line], in_order: frozenset[str]
) -> list[list[tuple[Event, tuple[int, str] | None]]]:
    """For each line, what it did, and which of the lines beside it does the same, and to what; None if none does.

    What a line does to a node for the third time is what the other does to that node for the third time; of kinds `in_order` the third
    is the third, whatever it is about.
    """
    where: dict[tuple[str, str, int], tuple[int, str]] = {}
    counts: dict[tuple[str, str], int] = {}

    def times(event: Event) -> tuple[str, str, int]:
        what = (event[0], "" if event[0] in in_order else event[1])
        counts[what] = counts.get(what, 0) + 1
        return *what, counts[what]

    for i, line in enumerate(beside):
        for event in line.events:
            where[times(event)] = i, event[1]
    counts.clear()
    return [[(event, where.get(times(event))) for event in line.events] for line in lines]


def align(lines: Sequence[Line], beside: Beside) -> list[tuple[int, str]]:
    """For each line, which of the lines beside it is lit, -1 before the first; and what the two do there, "" if the line did nothing."""
    found, at = [], -1
    for events in matched(lines, beside.lines, beside.in_order):
        said = []
        for (kind, name), other in events:
            if other is None:
                said.append(f"{kind} {name} here, nothing more in the lab")
            else:
                at = other[0]
                said.append(
                    f"{kind} {name}" + (f" here, {kind} {other[1]} in the lab" if other[1] != name else "")
                )
        found.append((at, "; ".join(said)))
    return found


class CodeStepper(Shown, anywidget.AnyWidget):
    """Steps through the lines of a call that has run; see `step_code` in lab.

    `lines` are the lines, `result` is what the call returned, `end` says how it ended, and `position` is how many lines are done.
    """

    _esm = joined(("core.js", "formula.js", "dom.js", "host.js", "engine.js", "own.js"))
    _css = style()
    _own = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(0, help="lines that have run so far").tag(sync=True)

    def __init__(
        self, call: Callable[..., Any], *inputs: Any, ran: Ran | None = None, beside: Beside | None = None
    ) -> None:
        """Run `call(*inputs)`, or show a run of `call` that has been: `ran`, with the one `beside` it."""
        code = _code_of(call)
        self._source, self._first = source_of(code)
        self.ran = run(call, *inputs) if ran is None else ran
        if self.ran.failed is not None and not self.ran.lines:
            raise self.ran.failed
        document = _document(code, self._source, self._first, self.ran, beside)
        super().__init__(_own=json.dumps(document, separators=(",", ":")), _still=still.key(repr(self)))

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

    heading = "Your code, line by line"

    def summary(self) -> str:
        """How many lines ran, and how that ended."""
        return repr(self)

    def to_text(self) -> str:
        """The same: what each line did is for the stepper to show."""
        return repr(self)

    def still(self, note: str = "", beside_widget: bool = False) -> str:
        """The code, and how it ended."""
        code = escape("".join(self._source).rstrip())
        return still.framed(f"<pre>{code}</pre><p>{escape(self.end + note)}</p>", self._still, beside_widget)


def _document(
    code: CodeType, source: list[str], first: int, ran: Ran, beside: Beside | None
) -> dict[str, Any]:
    """What the page draws: the source, and for each line that ran its row, its variables and, if it raised, the error.

    With a run beside it: also which line of that is lit, and what both do; `beside` has its title, source and lines.
    """
    indent = len(source[0]) - len(source[0].lstrip())
    owner = code.co_qualname.rpartition(".")[0].removesuffix(".<locals>")
    heading = source_name(code.co_filename) + (f", class {owner}" if owner else "")
    body = "\n".join(line.rstrip()[indent:] if line.strip() else "" for line in source)
    texts: dict[str, int] = {}

    def held(line: Line) -> list[list[Any]]:
        return [[name, texts.setdefault(x, len(texts))] for name, x in line.variables.items()]

    steps: list[list[Any]] = [[1 + line.number - first, held(line), line.error] for line in ran.lines]
    document: dict[str, Any] = {
        "parts": [[heading, first, body]],
        "steps": steps,
        "end": ran.end,
        "name": code.co_name,
    }
    if beside is not None:
        at = places(beside.functions)
        for step, both in zip(steps, align(ran.lines, beside), strict=True):
            step += both
        document["beside"] = {
            "title": beside.title,
            "parts": plain(beside.functions),
            "steps": [[at[line.file, line.number], held(line)] for line in beside.lines],
        }
    return document | {"texts": list(texts)}


__all__ = [
    "Beside",
    "CodeStepper",
    "Event",
    "Line",
    "Ran",
    "Witness",
    "align",
    "matched",
    "run",
    "source_of",
    "text",
]
