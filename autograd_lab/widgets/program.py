"""A program as a text: it is run and recorded, and what there is to show of it is plain data. `%%step` and pages with an editor use it.

Nothing here needs a widget's packages: a page may have Python with NumPy and no more.
"""

from __future__ import annotations

import builtins
import io
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from types import CodeType, ModuleType, TracebackType
from typing import Any

from autograd_lab.tracing import Trace
from autograd_lab.tracing.questions import STANDING, questions
from autograd_lab.tracing.recorder import AtMost, Recording, record
from autograd_lab.tracing.sources import keep_source
from autograd_lab.tracing.trace import Record
from autograd_lab.tracing.why.answer import caption

from . import still
from .frames import film
from .literals import inputs
from .opening import cut
from .wire import encode

MOST_EVENTS = 20_000
MOST_SECONDS = 9.0
"""A recording of a program that somebody typed ends here, and what was recorded until then is shown."""
MOST_PRINTED = 100_000
"""So many characters of what a program prints are kept."""
CARRIED = 200
"""Up to so many events a stepper carries its questions in every mode, so that the modes can be switched on without a kernel."""


def recorded(
    parts: Iterable[CodeType], namespace: dict[str, Any], recorder: record
) -> tuple[Recording | None, BaseException | None]:
    """Run code in a namespace and record it: the recording, and the exception that ended the program.

    The recording is None if it could not begin, since another one is running.
    """  # fmt: skip
    trace: Recording | None = None
    parts = list(parts)
    try:
        with recorder as trace:
            try:
                for part in parts:
                    exec(part, namespace)
            finally:
                trace.find_names(namespace, parts)
                trace.list_code(parts)
    except BaseException as error:
        return trace, error
    return trace, None


def from_line(error: BaseException, file: str) -> TracebackType | None:
    """The traceback from the program's own first line on, without the calls that ran it; None if it raised before."""
    here = error.__traceback__
    while here is not None and here.tb_frame.f_code.co_filename != file:
        here = here.tb_next
    return here


def traits(trace: Trace, position: int = 0, source: str = "") -> Record:
    """What the front end of a stepper asks for, where no kernel answers: the same as an exported `Stepper(trace, position)` has.

    With the `source` of the program its inputs that are one number are in it: see literals.py.
    """
    carried = len(trace) <= CARRIED
    asked = encode({"standing": STANDING, "questions": questions(trace)}) if carried else ""
    return {
        "_asks": [], "_edit": {}, "_edit_answer": {}, "_film": encode(film(trace)), "_inputs": inputs(trace, source), "_kernel": False, "_quiz": asked,
        "_run": 0, "_seen": 0, "_still": still.key(still.text(trace, "")), "by": "event", "engine_log": [], "level": "all",
        "mode": "watch", "position": min(max(position, 0), len(trace)), "predictions": [],
    }  # fmt: skip


@dataclass
class Ran:
    """What a program did: `trace` is None if it recorded nothing to step through."""

    trace: Trace | None
    error: Record | None
    """type, message, line (1 is the first, 0 if unknown), text (the traceback from the program's own line on)."""
    source: str = ""
    cut: str = ""
    """The limit at which the recording ended, and the program with it: "events", "time", or "" for none."""
    variables: dict[str, Any] = field(default_factory=dict)

    def shown(self) -> Record:
        """All that a page shows of it, for JSON."""
        trace = self.trace
        opens_at = 0 if trace is None or self.error is None else len(trace)  # where it failed, if it did
        return {
            "traits": None if trace is None else traits(trace, opens_at, self.source),
            "why": [] if trace is None else answers(trace),
            "error": self.error,
            "events": 0 if trace is None else len(trace),
            "cut": self.cut,
        }


def run(
    source: str,
    tell: Callable[[str], object],
    file: str = "program.py",
    most: int = MOST_EVENTS,
    seconds: float = MOST_SECONDS,
    namespace: dict[str, Any] | None = None,
    ended: Callable[[], object] = lambda: None,
) -> Ran:
    """Run the text of a program for this engine, or for PyTorch, and record it.

    tell           is called with what the program prints, soon after it does
    file           its name in tracebacks and in the stepper
    most, seconds  after so many events, or so long, recording ends, and the program with it
    namespace      where it runs, if not in a new one; its `__builtins__` decide what `import torch` means
    ended          is called when the program is over: what it recorded is worked out after that, which takes time as well
    """  # fmt: skip
    keep_source(file, source)
    output = Output(tell)
    main = None
    if namespace is None:
        main = ModuleType("__main__")
        namespace = vars(main)
        namespace.update(__file__=file, __builtins__=builtins)
    trace: Trace | None = None
    with redirect_stdout(output), redirect_stderr(output), _alone(main), warnings.catch_warnings():
        try:
            parts = [compile(source, file, "exec", dont_inherit=True)]
        except (SyntaxError, ValueError) as wrong:  # ValueError: a null character
            return Ran(None, _told(wrong, file))
        limit = AtMost(most, seconds)
        trace, failure = recorded(parts, namespace, record(limit=limit))
    if isinstance(failure, SystemExit) and not isinstance(failure.code, int | None):
        output.write(f"{failure.code}\n")  # as Python does
    output.tell_all()
    ended()
    reached = ""
    if trace is not None and (
        limit.full or len(trace) > most
    ):  # the limit counts one event where there may be several
        reached = "events" if len(trace) > most else "time"
        trace = cut(trace, most)
    error = None if failure is None or isinstance(failure, SystemExit) else _told(failure, file)
    return Ran(trace if trace is not None and trace.tensors else None, error, source, reached, namespace)


@contextmanager
def _alone(main: ModuleType | None) -> Iterator[None]:
    """While a program runs, its module is `__main__`, where pickle, inspect and typing look for its classes, and nobody types."""
    before, typed = sys.modules.get("__main__"), sys.stdin
    sys.stdin = _Nobody()
    if main is not None:
        sys.modules["__main__"] = main
    try:
        yield
    finally:
        sys.stdin = typed
        if before is not None:
            sys.modules["__main__"] = before


class _Nobody(io.TextIOBase):
    """Where `input()` reads from."""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]  # typeshed has two signatures of it
        """Refuse."""
        raise OSError(
            "nobody can type into this program while it runs: write the value into it, in place of input()"
        )

    read = readline


def answers(trace: Trace, most: int = 40) -> list[Record]:
    """What `lab.why` says about the variables of a program: leaves that require a gradient first, and as many as can be read.

    Each is {"name", "says" (the cause in a few words), "cause", "question", "sentences", "lines", "fix", "edits", "step"}.
    """
    last = {tensor["name"]: t for t, tensor in enumerate(trace.tensors) if _is_variable(tensor["name"])}
    order = sorted(last.values(), key=lambda t: (not trace.tensors[t]["requires_grad"], not trace.tensors[t]["leaf"], t))  # fmt: skip
    return [
        {"name": trace.tensors[t]["name"], "says": caption(answer.cause)} | answer.to_dict()
        for t in order[:most]
        for answer in [trace.why(t)]
    ]


def _is_variable(name: str) -> bool:
    return name.replace(".", "_").isidentifier()


def _told(error: BaseException, file: str) -> Record:
    """An exception as plain data."""
    here = from_line(error, file)
    if isinstance(error, SyntaxError) and error.filename == file:
        line, here = error.lineno or 0, None
    else:
        places = [frame.lineno or 0 for frame in traceback.extract_tb(here) if frame.filename == file]
        line = places[-1] if places else 0
    lines = traceback.TracebackException(type(error), error, here)
    if isinstance(error, SyntaxError):
        message = error.msg  # str() says file and line once more
    else:
        message = _said(error)
    return {"type": type(error).__name__, "message": message, "line": line, "text": "".join(lines.format())}


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as other:  # of the program's own class
        return f"its text cannot be shown: {type(other).__name__}: {other}"


class Output(io.TextIOBase):
    """Where a program prints to: told a few times a second, and only so much."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._told_to = tell
        self.left = MOST_PRINTED
        self.waiting: list[str] = []
        self.told = time.monotonic()

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, text: str) -> int:
        """Keep text; tell what is kept if the last time was long ago."""
        if self.left > 0:
            self.waiting.append(text[: self.left])
            self.left -= len(text)
            if self.left <= 0:
                self.waiting.append(f"\n... the rest is left out: {MOST_PRINTED:,} characters are enough.\n")
            if time.monotonic() - self.told > 0.1:
                self.tell_all()
        return len(text)

    def tell_all(self) -> None:
        """Tell all that is kept."""
        if self.waiting:
            self._told_to("".join(self.waiting))
            self.waiting.clear()
        self.told = time.monotonic()
