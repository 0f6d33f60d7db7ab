"""Whether code is still as it was handed out: compared by syntax tree, without comments, docstrings and layout.

    same_code(text, stub)   every statement of `text` is one of the stub's
    does_nothing(text)      a function without a working line: `...`, `pass`, `raise NotImplementedError`
    has_gap(text)           a `...  # your code here` that still stands for the work

The first two compare whole functions: one changed number or one deleted line is an attempt.
"""

from __future__ import annotations

import ast
import functools
import re
import textwrap
from collections.abc import Iterator

STUB = "# your code here"
_GAP = re.compile(r"\.\.\.\s*" + STUB)


def same_code(text: str, stub: str) -> bool:
    """Whether `text`, a function or some statements, is in `stub` unchanged; False if it cannot be parsed."""
    given, there = _read(text), statements(stub)
    return given is not None and bool(given.body) and all(ast.dump(node) in there for node in given.body)


@functools.cache
def statements(stub: str) -> frozenset[str]:
    """All statements of what was handed out, at any depth; none if it cannot be parsed.

    Cached: there are few, and many answers are compared with each.
    """
    known = _read(stub)
    if known is None:
        return frozenset()
    return frozenset(ast.dump(node) for node in ast.walk(known) if isinstance(node, ast.stmt))


def does_nothing(text: str) -> bool:
    """Whether `text` is one function whose body consists of a docstring and placeholders."""
    tree = _read(text)
    return (
        tree is not None
        and len(tree.body) == 1
        and isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(tree.body[0].body[0], ast.Pass)
    )


def has_gap(text: str) -> bool:
    """Whether a gap of `text` is still open: its `...` may run, and nothing else in its place does the work.

    Who writes above the gap, or turns its line into a comment, has filled it.
    """
    lines = text.splitlines()
    marked = {number for number, line in enumerate(lines, start=1) if _GAP.search(line)}
    if not marked:
        return False
    try:
        return any(node.lineno in marked for node in _that_may_run(ast.parse(textwrap.dedent(text)).body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True


def _that_may_run(body: list[ast.stmt]) -> Iterator[ast.Constant]:
    """Every `...` of a piece of code, except below a return or raise, and as a line of its own beside others that work."""
    work = [node for node in body if not _placeholder(node) and not _is_constant(node, str)]
    for node in body:
        if not (work and _is_constant(node, type(...))):
            for field in ast.iter_fields(node):
                yield from _in_field(field[1])
        if isinstance(node, ast.Return | ast.Raise) and not _placeholder(node):
            return


def _in_field(value: object) -> Iterator[ast.Constant]:
    if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
        yield from _that_may_run(value)
    elif isinstance(value, list):
        for one in value:
            yield from _in_field(one)
    elif isinstance(value, ast.Constant) and value.value is ...:
        yield value
    elif isinstance(value, ast.AST):
        for _, part in ast.iter_fields(value):
            yield from _in_field(part)


def _read(text: str) -> ast.Module | None:
    """The code without docstrings; a body of placeholders is `pass`. None if it cannot be parsed, or is too deep to be compared."""
    try:
        tree = ast.parse(textwrap.dedent(text))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                work = node.body[1:] if _is_constant(node.body[0], str) else node.body
                node.body = [ast.Pass()] if all(map(_placeholder, work)) else work
        ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def _is_constant(node: ast.stmt, kind: type) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, kind)
    )


def _placeholder(node: ast.stmt) -> bool:
    """Whether a statement is a placeholder for work."""
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    return isinstance(node, ast.Pass) or _is_constant(node, type(...))
