"""The text of the user's code: kept where tracebacks and recordings look for it, and what is worked out from it while it stays the same."""

from __future__ import annotations

import ast
import io
import linecache
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import TypeVar

Found = TypeVar("Found")
_MOST = 100
_TRIES = 10


def keep_source(file: str, text: str) -> None:
    """Make `text` the source of `file`, which is no file on a disk.

    It is cut into lines as Python counts them: `str.splitlines` would also end one at a form feed, or at U+2028 in a string.
    """
    linecache.cache[file] = len(text), None, list(io.StringIO(text, newline=None)), file


def python_only(lines: list[str]) -> list[str]:
    """The lines with magics and shell escapes blanked, so that a cell parses."""
    return ["\n" if line.lstrip()[:1] in ("%", "!") else line for line in lines]


def from_source(work: Callable[[ast.Module], Found]) -> Callable[[str], Found]:
    """Make a function of the name of a file from one of its syntax tree, which is empty if the file does not parse.

    It works once for a text: another program may come under the same name, as it does with each Run of an editor.
    """
    known: dict[str, tuple[list[str], Found]] = {}

    @wraps(work)
    def found(file: str) -> Found:
        lines = linecache.getlines(file)
        last = known.get(file)
        if last is None or (last[0] is not lines and last[0] != lines):
            last = lines, work(_tree(lines))
            known.pop(file, None)  # the newest is last
            for oldest in list(known)[: 1 - _MOST]:
                known.pop(oldest, None)  # unless another thread did
            known[file] = last
        return last[1]

    return found


def _tree(lines: list[str]) -> ast.Module:
    text = "".join(python_only(lines))
    for _ in range(_TRIES):
        with suppress(SystemError):  # of Python 3.11: two threads parse at once (python/cpython#106905)
            try:
                return ast.parse(text)
            except SyntaxError:
                break
    return ast.Module([], [])
