"""Which of the user's statements wrote into an array. NumPy gives no notice, so the source is searched for candidates.

The search covers the running calls, innermost first, and the functions that their statements call: assignments to
elements, augmented assignments, methods and functions that write, calls that receive the array. Names are looked up in the
variables of those calls; no user code is run.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from ..torchlike.autograd.variable import Variable
from .sources import from_source

_PASS_ON = {
    "T", "data", "detach", "numpy", "view", "view_as", "reshape", "ravel", "squeeze", "unsqueeze", "transpose", "permute", "t",
    "cpu", "contiguous", "flat", "swapaxes", "expand", "real", "mT",
}  # fmt: skip
_PASS_ARGUMENT = {
    "asarray",
    "asanyarray",
    "from_numpy",
    "as_tensor",
    "atleast_1d",
    "atleast_2d",
    "ravel",
    "memoryview",
}
_METHODS = {"sort", "fill", "partition", "put", "itemset", "setfield", "resize"}
_FUNCTIONS = {"copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal", "shuffle"}
_DEEPEST = 4


class Found(NamedTuple):
    """A statement that writes: its place, its text, and whether it is the only candidate."""

    code: CodeType
    line: int
    text: str
    only: bool


class _Candidate(NamedTuple):
    rank: int  # 0: it writes; 1: it passes the array to a function without a known source
    line: int  # belongs to the statement in the call that was searched
    code: CodeType
    inner: int  # the line that writes
    text: str
    maybe: bool  # whether it stands in a branch


def find_write(
    frame: FrameType | None, array: np.ndarray, since: Any, now: Any, base: FrameType | None = None
) -> Found | None:
    """The statement that wrote into `array` between the places `since` and `now`, each (code, instruction) or None.

    base   the call in which the recording began: who called it has done nothing since
    """
    start, end = _line(since), _line(now)
    seen = 0
    if start is not None and not _is_running(start[0], frame):
        over = _after(start[0], start[1], array)
        if over is not None:
            return over
    while frame is not None and seen < 20:
        code = frame.f_code
        found = list(_candidates(code, _Names(frame.f_locals, frame.f_globals), array, 0))
        if found:
            best = min(c.rank for c in found)
            found = [c for c in found if c.rank == best]
            here = frame.f_lineno
            first = start[1] if start is not None and start[0] is code else 0
            last = 1 << 30 if now is None else end[1] if end is not None and end[0] is code else here
            between = [c for c in found if first < c.line <= last] or [
                c for c in found if c.line >= last or c.line <= first
            ]
            if between:
                return _chosen(between, last)
        frame, seen = None if frame is base else frame.f_back, seen + 1
    return None


def _chosen(found: list[_Candidate], last: int) -> Found:
    """The last of the candidates; sure if it certainly ran, or is the only one."""
    chosen = max(found, key=lambda c: (c.line <= last, c.line))
    places = {(c.code.co_filename, c.inner) for c in found}
    only = chosen.rank == 0 and (len(places) == 1 or not any(c.maybe for c in found))
    return Found(chosen.code, chosen.inner, chosen.text, only)


def _is_running(code: CodeType, frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code is code:
            return True
        frame = frame.f_back
    return False


def _after(code: CodeType, line: int, array: np.ndarray) -> Found | None:
    """The statement of a finished call that wrote after `line`, where the call began to share the memory of `array`."""
    names = _Names({}, {})
    for statement in _statements(code.co_filename).get(_start_of(code), ()):
        if isinstance(statement, ast.Assign) and statement.lineno <= line <= _end_of_head(statement):
            names.aliases |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
    found = [c for c in _candidates(code, names, array, 0, line) if c.rank == 0]
    return _chosen(found, 1 << 30) if found else None


def instruction_at(code: CodeType, line: int) -> int:
    """The offset of the first instruction of a line."""
    return next((2 * i for i, (at, *_) in enumerate(code.co_positions()) if at == line), 0)


def loaded_names(function: Any) -> set[str]:
    """The names in a user's function, attributes included."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return set() if code is None else set(code.co_names)


def line_of_def(code: CodeType) -> int:
    """The line of `def`, below the decorators."""
    text = linecache.getlines(code.co_filename)
    lines = range(code.co_firstlineno, min(code.co_firstlineno + 20, len(text) + 1))
    return next(
        (n for n in lines if text[n - 1].lstrip().startswith(("def ", "async def "))), code.co_firstlineno
    )


def backward_of(node: Any) -> Any:
    """The backward that the user wrote for the node of a custom Function; None for other nodes."""
    return getattr(getattr(type(node), "_forward_cls", type(node)), "backward", None)


def returns_nothing(function: Any) -> bool:
    """Whether a user's function neither returns a value nor raises: a `return` was forgotten."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    if code is None:
        return False
    body = _statements(code.co_filename).get(_start_of(code), [])
    ends = [
        s for s in body if isinstance(s, ast.Raise) or (isinstance(s, ast.Return) and s.value is not None)
    ]
    return bool(body) and not ends


def named_on_line(frame: FrameType, line: int, kind: type) -> list[Any]:
    """The values of certain types that the statement on a line of a call names."""
    names = _Names(frame.f_locals, frame.f_globals)
    found = {}
    for statement in _statements(frame.f_code.co_filename).get(_start_of(frame.f_code), ()):
        if statement.lineno <= line <= _end_of_head(statement):
            for e in _expressions(statement):
                value = _look_up(e, names) if isinstance(e, (ast.Name, ast.Attribute)) else None
                if isinstance(value, kind):
                    found[id(value)] = value
    return list(found.values())


def _line(place: Any) -> tuple[CodeType, int] | None:
    if place is None:
        return None
    code, instruction = place
    line = list(code.co_positions())[instruction // 2][0]
    return code, line or code.co_firstlineno


class _Names:
    """The variables that a statement sees, and which of them are aliases of the array."""

    def __init__(self, local: Any, shared: Any):
        self.local, self.shared = local, shared
        self.aliases: set[str] = set()

    def get(self, name: str) -> Any:
        return self.local.get(name, self.shared.get(name))


def _candidates(
    code: CodeType, names: _Names, array: np.ndarray, depth: int, after: int = 0
) -> Iterator[_Candidate]:
    text = linecache.getlines(code.co_filename)
    for statement in _statements(code.co_filename).get(_start_of(code), ()):
        line = statement.lineno
        if line <= after:
            continue
        maybe = line in _conditional(code.co_filename)
        shown = " ".join(part.strip() for part in text[line - 1 : _end_of_head(statement)])
        if _writes(statement, names, array):
            yield _Candidate(0, line, code, line, shown, maybe)
            continue
        for call in _calls(statement):
            callee = _callee(call.func, code, names)
            if callee is not None and _is_users(callee.code, code):
                if depth < _DEEPEST:
                    inside = _Names(_bound(callee, call, names, array), callee.shared)
                    inside.aliases = {name for name, value in inside.local.items() if value is _ALIAS}
                    for c in _candidates(callee.code, inside, array, depth + 1):
                        yield c._replace(line=line, maybe=maybe or c.maybe)
            elif any(_shows(argument, names, array) for argument in _arguments(call)) and not _reads(call):
                yield _Candidate(1, line, code, line, shown, maybe)
        _note_aliases(statement, names, array)


_ALIAS = object()  # represents an argument that is a view of the array, without evaluating it


def _is_users(inner: CodeType, outer: CodeType) -> bool:
    """Whether a function is the user's own: from the same file, or from one in the same folder."""
    return inner.co_filename == outer.co_filename or not any(
        part in inner.co_filename for part in ("site-packages", "dist-packages", "autograd_lab", "<frozen")
    )


class _Callee(NamedTuple):
    """A user's function that is called: its code, its global variables, its closure, the object whose method it is."""

    code: CodeType
    shared: dict[str, Any]
    closure: dict[str, Any]
    receiver: Any


def _callee(e: ast.expr, caller: CodeType, names: _Names) -> _Callee | None:
    """The called function, if it is a Python function that can be looked up."""
    found, receiver = _called(e, names)
    if isinstance(found, FunctionType):
        closure = {}
        for name, cell in zip(found.__code__.co_freevars, found.__closure__ or (), strict=False):
            with contextlib.suppress(ValueError):  # not yet filled
                closure[name] = cell.cell_contents
        return _Callee(found.__code__, found.__globals__, closure, receiver)
    if isinstance(e, ast.Name) and names.get(e.id) is None:  # defined in a call that is over
        for inner in caller.co_consts:
            if isinstance(inner, CodeType) and inner.co_name == e.id:
                return _Callee(inner, names.shared, dict(names.local), None)
    return None


def _bound(callee: _Callee, call: ast.Call, names: _Names, array: np.ndarray) -> dict[str, Any]:
    """The arguments of a call of the user's function, as far as they can be looked up."""
    code = callee.code
    parameters = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    given = dict(callee.closure)
    if callee.receiver is not None and parameters:
        given[parameters.pop(0)] = callee.receiver

    def value(e: ast.expr) -> Any:
        found = _look_up(e, names)
        return _ALIAS if found is None and _shows(e, names, array) else found

    for name, argument in zip(parameters, call.args, strict=False):
        given[name] = value(argument)
    for keyword in call.keywords:
        if keyword.arg:
            given[keyword.arg] = value(keyword.value)
    return given


def _writes(statement: ast.stmt, names: _Names, array: np.ndarray) -> bool:
    """Whether a statement itself writes into the array."""
    if isinstance(statement, ast.AugAssign):
        return _shows(statement.target, names, array)
    if isinstance(statement, ast.Assign):
        targets = [
            t
            for target in statement.targets
            for t in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
        if any(isinstance(t, ast.Subscript) and _shows(t.value, names, array) for t in targets):
            return True
    for call in _calls(statement):
        method = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if (
            method in _METHODS
            and isinstance(call.func, ast.Attribute)
            and _shows(call.func.value, names, array)
        ):
            return True
        if method in _FUNCTIONS and call.args and _shows(call.args[0], names, array):
            return True
        if any(k.arg == "out" and _shows(k.value, names, array) for k in call.keywords):
            return True
    return False


def _reads(call: ast.Call) -> bool:
    """Whether a call only makes another view of the array."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _PASS_ARGUMENT or name in ("print", "len", "array", "tensor", "append")


def _note_aliases(statement: ast.stmt, names: _Names, array: np.ndarray) -> None:
    """`h = a.detach().numpy()` makes h an alias of the array."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                (names.aliases.add if _shows(statement.value, names, array) else names.aliases.discard)(
                    target.id
                )


def _shows(e: ast.expr, names: _Names, array: np.ndarray) -> bool:
    """Whether an expression is the array, a tensor over it, or a view of them."""
    if isinstance(e, ast.Name):
        return e.id in names.aliases or is_over(names.get(e.id), array)
    if isinstance(e, ast.Attribute):
        return is_over(_look_up(e, names), array) or (e.attr in _PASS_ON and _shows(e.value, names, array))
    if isinstance(e, ast.Subscript):
        return _shows(e.value, names, array) or any(
            is_over(x, array) for x in _held(_look_up(e.value, names))
        )
    if isinstance(e, ast.Call):
        if isinstance(e.func, ast.Attribute):
            if e.func.attr in _PASS_ON and _shows(e.func.value, names, array):
                return True
            return e.func.attr in _PASS_ARGUMENT and bool(e.args) and _shows(e.args[0], names, array)
        return (
            isinstance(e.func, ast.Name)
            and e.func.id in _PASS_ARGUMENT
            and bool(e.args)
            and _shows(e.args[0], names, array)
        )
    return False


def _held(value: Any) -> list[Any]:
    """The elements of a list, tuple or dict."""
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else []


def is_over(value: Any, array: np.ndarray) -> bool:
    """Whether a value is an array, or a tensor, whose memory is that of `array`."""
    data = value._data if isinstance(value, Variable) else value
    if isinstance(data, (bytearray, memoryview)) and data:
        data = np.frombuffer(data, np.uint8)
    if isinstance(data, np.ndarray):
        return np.may_share_memory(data, array)
    if is_tensor(value):
        begin = array.__array_interface__["data"][0]
        return bool(value.device.type == "cpu" and begin <= value.data_ptr() < begin + max(1, array.nbytes))
    return False


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of either library."""
    return isinstance(value, Variable) or (
        type(value).__module__.startswith("torch") and hasattr(type(value), "untyped_storage")
    )


def _look_up(e: ast.expr, names: _Names) -> Any:
    """The value of a name, or of a name with attributes; None if finding it would run code."""
    if isinstance(e, ast.Name):
        return names.get(e.id)
    if isinstance(e, ast.Attribute):
        return _attribute(_look_up(e.value, names), e.attr)
    return None


def _attribute(owner: Any, name: str) -> Any:
    if owner is None:
        return None
    if name == "grad" and is_tensor(owner):
        return owner.grad if owner.is_leaf else None
    held = getattr(owner, "__dict__", {})
    for where in ("", "_parameters", "_buffers", "_modules"):
        found = held.get(name) if not where else (held.get(where) or {}).get(name)
        if found is not None:
            return found
    found = inspect.getattr_static(owner, name, None)
    return (
        found
        if isinstance(found, (FunctionType, staticmethod, classmethod)) or inspect.isroutine(found)
        else None
    )


def _called(e: ast.expr, names: _Names) -> tuple[Any, Any]:
    """(function, the object whose method it is, or None) of a call."""
    found = _look_up(e, names)
    if isinstance(found, MethodType):
        return found.__func__, found.__self__
    if isinstance(found, staticmethod):
        return found.__func__, None
    if isinstance(found, FunctionType) and isinstance(e, ast.Attribute):
        owner = _look_up(e.value, names)
        return found, None if inspect.ismodule(owner) or inspect.isclass(owner) else owner
    if inspect.isroutine(found) or isinstance(found, FunctionType):
        return found, None
    forward = inspect.getattr_static(type(found), "forward", None)  # a call of a module
    return (forward, found) if isinstance(forward, FunctionType) else (None, None)


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *[k.value for k in call.keywords]]


@lru_cache(maxsize=10_000)
def _calls(statement: ast.stmt) -> tuple[ast.Call, ...]:
    """The calls in a statement, without those of the statements inside it."""
    return tuple(e for e in _expressions(statement) if isinstance(e, ast.Call))


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement, without the statements inside it and the bodies of lambdas."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.Lambda):
            stack += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _end_of_head(statement: ast.stmt) -> int:
    """The last line of a statement; for a compound one, that of its head."""
    body = getattr(statement, "body", None)
    return max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or statement.lineno


def _start_of(code: CodeType) -> int:
    """The key of a code object in `_statements`: 0 for a module's."""
    return 0 if code.co_name == "<module>" else code.co_firstlineno


@from_source
def _conditional(tree: ast.Module) -> set[int]:
    """The lines of statements that may not have run: those in a branch."""
    branches = [s for s in ast.walk(tree) if isinstance(s, (ast.If, ast.Try, ast.Match))]
    return {
        s.lineno
        for branch in branches
        for s in ast.walk(branch)
        if isinstance(s, ast.stmt) and s is not branch
    }


@from_source
def _statements(tree: ast.Module) -> dict[int, list[ast.stmt]]:
    """{first line of a function, 0 for the module: its statements, without those of functions in it}."""
    found: dict[int, list[ast.stmt]] = {0: []}
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, function = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                stack.append((child, min([child.lineno, *[d.lineno for d in child.decorator_list]])))
            elif isinstance(child, ast.stmt):
                found.setdefault(function, []).append(child)
                stack.append((child, function))
            elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
                stack.append((child, function))
    for statements in found.values():
        statements.sort(key=lambda s: s.lineno)
    return found
