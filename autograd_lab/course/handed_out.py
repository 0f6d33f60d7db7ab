"""Whether code is still as it was handed out: compared by syntax tree, without comments, docstrings and layout.

    same_code(text, stub)   every statement of `text` is one of the stub's
    does_nothing(text)      a function without a working line: `...`, `pass`, `raise NotImplementedError`

Both compare whole functions: one changed number or one deleted line is an attempt.
"""

from __future__ import annotations

import ast
import functools
import textwrap


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
