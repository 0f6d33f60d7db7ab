"""The engine that a student writes piece by piece in exercises 02 to 06: what there is of it so far.

A piece that has passed its check is kept beside the progress (see scores.py), and stands in the next exercises in place of the
course's, which is in own_engine.py. Who left one out goes on with the course's. Where no progress is stored, as in grading, there are
only the course's: a mistake in one piece costs its points once.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import json
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from autograd_lab.tracing.sources import keep_source

from . import own_engine, scores

ITEMS = {"record": "02.7", "count": "03.4", "pop": "04.5", "deliver": "05.4", "accumulate": "06.5"}
"""The steps in their order, and the item that asks for each."""
FUNCTIONS = {step: step for step in ITEMS} | {"accumulate": "backward"}
"""What the function of a step is called."""
_FILE = "engine.json"
_session: dict[str, str] = {}


class Engine:
    """The pieces of an engine as attributes; printed, it shows their code, and says whose it is."""

    def __init__(self, space: dict[str, Any], parts: list[tuple[str, str, str]]) -> None:
        self._parts = parts
        for name in ("Node", "Value", *(name for name, _, _ in parts)):
            setattr(self, name, space[name])
        self._space = space

    def completed(self, name: str, function: Any) -> tuple[dict[str, Any], dict[str, str]]:
        """The functions of the engine with `function` as the piece `name`, and {name: whose it is} of the pieces there are.

        Where a later piece is missing, the functions have the course's.
        """
        self._space[name] = function
        return self._space, {name: whose for name, whose, _ in self._parts} | {name: "yours"}

    def __repr__(self) -> str:
        if not self._parts:
            return "Nothing yet: your first piece is exercise 02.7."
        return "\n\n\n".join(f"# {name}: {whose}\n{code.strip()}" for name, whose, code in self._parts)


def engine_so_far(step: str | None = None) -> Engine:
    """The pieces before `step`: "record", "count", "pop", "deliver" or "accumulate"; without it all of them. Raises ValueError for another name.

    Yours where your check has passed, the course's where it has not. All are attributes, `engine.pop`, beside the classes `engine.Node`
    and `engine.Value`. Printed, it shows the code of the pieces, and says whose each is.
    """
    steps = list(ITEMS)
    if step is not None and step not in ITEMS:
        raise ValueError(
            f"engine_so_far() knows no step {step!r}. The steps are {', '.join(map(repr, steps))}"
        )
    before = steps[: None if step is None else steps.index(step)]
    return _engine(before, kept())


def _engine(steps: list[str], own: dict[str, str]) -> Engine:
    """These steps, of the student's `own` code where there is some that can stand alone."""
    space: dict[str, Any] = {"__name__": "engine"}
    exec(_compiled(), space)
    space |= {
        "Node": own_engine.Node,
        "Value": own_engine.Value,
    }  # those of the checks, too: isinstance is true of what they make
    parts = []
    for step in steps:
        name, item = FUNCTIONS[step], ITEMS[step]
        code = _courses(name)
        whose = f"the course's, {item} is still open"
        if step in own:
            trouble = _put(own[step], name, space)
            whose = f"the course's: {trouble}" if trouble else f"yours, from {item}"
            code = code if trouble else own[step]
        parts.append((name, whose, code))
    return Engine(space, parts)


@cache
def _courses(name: str) -> str:
    """The code of the course's function: programs make an engine for each operation, and to find the code takes milliseconds."""
    return inspect.getsource(getattr(own_engine, name))


@cache
def _compiled() -> CodeType:
    return compile(inspect.getsource(own_engine), own_engine.__file__, "exec", dont_inherit=True)


def _put(code: str, name: str, space: dict[str, Any]) -> str:
    """Put the student's function `name` into the engine; returns why it cannot stand there, "" if it does."""
    own = dict(space)  # helpers of the student's do not replace pieces of the engine
    file = f"<your {name}>"
    keep_source(file, code)
    try:
        exec(compile(code, file, "exec", dont_inherit=True), own)
    except Exception as error:  # whatever it is, the course's piece takes its place
        return f"yours does not run, {type(error).__name__}: {error}"
    function = own.get(name)
    if not isinstance(function, FunctionType) or function.__code__.co_filename != file:
        return f"there is no function {name} in your cell"
    codes = [
        x.__code__ for x in own.values() if isinstance(x, FunctionType) and x.__code__.co_filename == file
    ]
    used = {name for one in codes for name in _globals_of(one)}
    missing = sorted(name for name in used if name not in own and not hasattr(builtins, name))
    if missing:
        return f"yours needs {missing[0]}, which is not in its cell"
    space[name] = function
    return ""


def _globals_of(code: CodeType) -> Iterator[str]:
    """The global names that a function reads, and those inside it."""
    for line in dis.get_instructions(code):
        if line.opname == "LOAD_GLOBAL":
            yield line.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_of(constant)


def runs_the_courses(name: str, work: Callable[[], object]) -> bool:
    """Whether `work` leaves its task to the course's function `name` of the engine."""
    codes: list[CodeType] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: codes.append(frame.f_code) if event == "call" else None)
    try:
        work()
    finally:
        sys.setprofile(before)
    return any(code.co_name == name and code.co_filename == own_engine.__file__ for code in codes)


# -- when a piece fails the next one -------------------------------------------------------------------------


def at_fault(answer: Any, passes: Callable[[], bool]) -> str:
    """Which of the student's earlier pieces an answer fails with, as a sentence; "" if it fails with the course's as well.

    passes   judges the answer anew, while the course's pieces stand in the place of the student's
    """
    methods = vars(answer).values() if isinstance(answer, type) else ()
    spaces = (one.__globals__ for one in (answer, *methods) if isinstance(one, FunctionType))
    space: dict[str, Any] | None = next(spaces, None)
    mine = (
        [] if space is None else [step for step, name in FUNCTIONS.items() if any(_of_a_student(space, name))]
    )
    for steps in (*([step] for step in mine), mine):
        with _as_the_courses(space or {}, [FUNCTIONS[step] for step in steps]):
            passed = bool(steps) and passes()
        if passed:
            names = " and ".join(f"`{FUNCTIONS[step]}`" for step in steps)
            places = " and ".join(ITEMS[step] for step in steps)
            return (
                f"With the course's {names} it passes, and grading has that. Your own, from {places}, passed the check there, but "
                "does something else here: look at it once more."
            )
    return ""


def _of_a_student(space: dict[str, Any], name: str) -> Iterator[tuple[Any, str]]:
    """Where a student's function `name` stands: (the names that a module, an engine or another piece can see, the name there)."""
    seen: dict[int, dict[str, Any]] = {}
    todo = [space]
    while todo:
        held = todo.pop()
        if id(held) in seen:
            continue
        seen[id(held)] = held
        for key, x in [*held.items()]:
            if isinstance(x, Engine):
                todo += [vars(x), x._space]
            elif isinstance(x, FunctionType) and x.__code__.co_filename.startswith("<your "):
                todo.append(x.__globals__)
                if x.__code__.co_filename == f"<your {name}>" and x.__name__ == name:
                    yield held, key


@contextmanager
def _as_the_courses(space: dict[str, Any], names: list[str]) -> Iterator[None]:
    """Inside, the course's functions stand in the place of the student's."""
    places = [(held, key, name, held[key]) for name in names for held, key in _of_a_student(space, name)]
    try:
        for held, key, name, _ in places:
            held[key] = getattr(own_engine, name)
        yield
    finally:
        for held, key, _, function in places:
            held[key] = function


# -- keeping ----------------------------------------------------------------------------------------------


def kept() -> dict[str, str]:
    """{step: code} of the student's pieces that have passed; a file that cannot be read has none."""
    path = _place()
    if path is None or not path.is_file():
        return dict(_session)
    try:
        pieces = json.loads(path.read_text(encoding="utf-8"))["pieces"]
        return {step: str(pieces[step]) for step in ITEMS if step in pieces} | _session
    except (ValueError, KeyError, TypeError):
        return dict(_session)


def keep(item_id: str, answer: Any) -> None:
    """Keep the code of an answer that has passed, if its item is a step; with no folder to write to, for this session only."""
    step = next((step for step, item in ITEMS.items() if item == item_id), None)
    if step is None or not isinstance(answer, FunctionType) or not answer.__name__.isidentifier():
        return
    pieces = kept() | {step: cell_of(answer, FUNCTIONS[step])}
    path = _place()
    if path is None:
        return
    _session[step] = pieces[step]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"format": "autograd-lab-engine", "version": 1, "pieces": pieces}, indent=1),
            encoding="utf-8",
        )
    except OSError:
        return  # _session still knows


def _place() -> Path | None:
    progress = scores.place()
    return progress and progress.with_name(_FILE)


def cell_of(function: FunctionType, name: str) -> str:
    """The code of a function under the name `name`, with the imports, functions, classes and constants of its cell."""
    text = "".join(linecache.getlines(function.__code__.co_filename))
    try:
        cell = ast.parse(text).body
    except SyntaxError:  # a magic stands above it
        text = textwrap.dedent(inspect.getsource(function))
        cell = ast.parse(text).body
    lines = text.split("\n")
    parts = ["\n".join(lines[_first(part) - 1 : part.end_lineno]) for part in cell if _is_kept(part)]
    if function.__name__ != name:
        parts.append(f"{name} = {function.__name__}")
    return "\n\n\n".join(parts) + "\n"


def _first(part: ast.stmt) -> int:
    return min([part.lineno, *(one.lineno for one in getattr(part, "decorator_list", []))])


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except ValueError:
        return False
    return True


def _is_kept(part: ast.stmt) -> bool:
    """Whether a statement of a cell defines something; the classes Node and Value are the engine's."""
    if isinstance(part, ast.Assign):
        return _is_literal(part.value)
    if isinstance(part, ast.ClassDef) and part.name in ("Node", "Value"):
        return False
    return isinstance(part, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)


__all__ = ["FUNCTIONS", "ITEMS", "Engine", "engine_so_far", "keep", "kept"]
