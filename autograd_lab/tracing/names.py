"""Which line of the user's code is running, and what the user calls a tensor.

Python 3.11 knows the very expression an instruction belongs to, so `y = x * w` tells that the product is called y before it
is assigned; the names of leaves are looked up where they live, in the frame that uses them.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any


@lru_cache(maxsize=10_000)
def line_of(code: CodeType, instruction: int) -> tuple[int, str]:
    """(line, name) of the instruction at offset `instruction`: its line, and the variable its value is assigned to or ''."""
    positions = list(code.co_positions())[instruction // 2]
    line, end_line, column, end_column = positions
    if line is None:
        return code.co_firstlineno, ""
    if column is None or end_column is None or end_line is None:
        return line, ""
    return line, _assigned(code.co_filename, line, end_line, column, end_column)


def is_in_with(code: CodeType, instruction: int) -> bool:
    """Whether the instruction is the entering of a `with`, or part of what that enters: `no_grad()` in `with torch.no_grad():`."""
    line, end_line, column, end_column = list(code.co_positions())[instruction // 2]
    if line is None or column is None or end_line is None or end_column is None:
        return True  # nothing is known: the usual case is taken
    begin, end = (line, column), (end_line, end_column)
    for node, entered in _withs(code.co_filename, len(linecache.getlines(code.co_filename))):
        if (begin, end) == _range(node) or any(
            _range(e)[0] <= begin and end <= _range(e)[1] for e in entered
        ):
            return True
    return False


def _range(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


@lru_cache(maxsize=100)
def _withs(file: str, _count: int) -> list[tuple[ast.stmt, list[ast.expr]]]:
    """The `with` statements of a source, each with the expressions that it enters."""
    try:
        tree = ast.parse("".join(python_only(linecache.getlines(file))))
    except SyntaxError:
        return []
    withs = [node for node in ast.walk(tree) if isinstance(node, (ast.With, ast.AsyncWith))]
    return [(node, [item.context_expr for item in node.items]) for node in withs]


def _assigned(file: str, line: int, end_line: int, column: int, end_column: int) -> str:
    for target, value in _assignments(file, len(linecache.getlines(file))).get(line, ()):
        if (value.lineno, value.end_lineno, value.col_offset, value.end_col_offset) == (
            line,
            end_line,
            column,
            end_column,
        ):
            return target
    return ""


@lru_cache(maxsize=100)
def _assignments(file: str, _count: int) -> dict[int, list[tuple[str, ast.expr]]]:
    """Every `name = expression` of a source, by the line the expression begins on."""
    try:
        tree = ast.parse("".join(python_only(linecache.getlines(file))))
    except SyntaxError:
        return {}
    found: dict[int, list[tuple[str, ast.expr]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.value.lineno, []).append((node.targets[0].id, node.value))
        elif isinstance(node, ast.NamedExpr):
            found.setdefault(node.value.lineno, []).append((node.target.id, node.value))
    return found


def python_only(lines: list[str]) -> list[str]:
    """The lines with magics and shell escapes blanked, so that a cell parses."""
    return ["\n" if line.lstrip()[:1] in ("%", "!") else line for line in lines]


def name_in(frame: FrameType, value: Any, deep: bool = True) -> str:
    """What `value` is called in this frame: a local or global variable or, if `deep`, part of what a variable holds.

    Looking `deep` also goes on to the callers of the frame; that is for parameters, not for every intermediate.
    """
    here: FrameType | None = frame
    while here is not None:
        variables, shared = here.f_locals, here.f_globals
        scopes = (variables, shared) if variables is not shared else (shared,)
        for scope in scopes:
            for name, held in dict(scope).items():
                if held is value and not name.startswith(("_", "@")):
                    return name
        if not deep:
            return ""
        for scope in scopes:
            for name, held in dict(scope).items():
                if _can_hold(type(held)) and not name.startswith(("_", "@")):  # type: ignore[arg-type]
                    found = _inside(name, held, value)
                    if found:
                        return found
        here = None if here.f_code.co_name == "<module>" else here.f_back
    return ""


@lru_cache(maxsize=10_000)  # for its type checker no class is hashable: hence the comment where it is called
def _can_hold(kind: type) -> bool:
    return kind in (list, tuple, dict) or hasattr(kind, "named_parameters")


def _inside(name: str, held: Any, value: Any) -> str:
    """The dotted or indexed name of `value` in a module, list, tuple or dict called `name`, or ''."""
    if hasattr(type(held), "named_parameters"):
        for inner, parameter in parts(held, "_parameters"):
            if parameter is value:
                inner = inner.replace("_orig_mod.", "")  # a compiled module has its module's parts as its own
                return inner if name == "self" else f"{name}.{inner}"
    elif type(held) in (list, tuple) and len(held) <= 100:
        for i, item in enumerate(held):
            if item is value:
                return f"{name}[{i}]"
    elif type(held) is dict and len(held) <= 100:
        for key, item in list(held.items()):
            if item is value and isinstance(key, str):
                return f"{name}[{key!r}]"
    return ""


_PRIVATE = ("_", "@")


def part_in(frame: FrameType, value: Any) -> str:
    """What `value` is called as a part of something that a variable of this frame holds, or ''."""
    for scope in (frame.f_locals, frame.f_globals):
        for name, held in dict(scope).items():
            if not name.startswith(_PRIVATE):
                own = (
                    vars(held).items()
                    if type(held).__module__ == "__main__" and hasattr(held, "__dict__")
                    else ()
                )
                for inner, part in (
                    *parts_of(name, held),
                    *((f"{name}.{key}", part) for key, part in list(own)),
                ):
                    if part is value:
                        return inner
    return ""


def parts_of(name: str, held: Any, deep: int = 2) -> Iterator[tuple[str, Any]]:
    """(name, thing) for the tensors that a module called `name` holds, and for what lists and dicts hold; each is looked at once.

    Modules are read where they keep their parts: to ask them for their parameters might run code of the user's.
    """
    if hasattr(type(held), "named_parameters"):
        waiting, seen = [("" if name == "self" else f"{name}.", held)], {id(held)}
        while waiting:
            path, here = waiting.pop()
            own = getattr(here, "__dict__", {})
            for inner, thing in (*_items(own, "_parameters"), *_items(own, "_buffers"), *list(own.items())):
                if inner.startswith(_PRIVATE):
                    continue
                if hasattr(type(thing), "requires_grad"):
                    yield f"{path}{inner}", thing
                elif deep and type(thing) in (list, tuple, dict):
                    yield from parts_of(f"{path}{inner}", thing, deep - 1)
            for inner, module in reversed(own.get("_modules", {}).items()):
                if module is not None and id(module) not in seen:
                    seen.add(id(module))
                    waiting.append((path if inner == "_orig_mod" else f"{path}{inner}.", module))
    elif type(held) in (list, tuple) and len(held) <= 100:
        for i, item in enumerate(held):
            yield f"{name}[{i}]", item
            yield from parts_of(f"{name}[{i}]", item, deep - 1) if deep else ()
    elif type(held) is dict and len(held) <= 100:
        for key, item in list(held.items()):
            if isinstance(key, str):
                yield f"{name}[{key!r}]", item
                yield from parts_of(f"{name}[{key!r}]", item, deep - 1) if deep else ()


def _items(own: dict[str, Any], kind: str) -> list[tuple[str, Any]]:
    return list(own.get(kind, {}).items())


def parts(module: Any, own: str) -> Iterator[tuple[str, Any]]:
    """The parts that a module and those inside it keep in `own`, "_parameters" or "_modules", by their dotted names.

    They are read where the modules keep them: to ask `named_parameters()` might run code of the user's.
    """
    waiting, seen = [("", module)], set()
    while waiting:
        path, here = waiting.pop()
        if here is None or id(here) in seen:
            continue
        seen.add(id(here))
        held = vars(here)
        yield from ((path + name, part) for name, part in held.get(own, {}).items() if part is not None)
        waiting += [(f"{path}{name}.", inner) for name, inner in reversed(held.get("_modules", {}).items())]
