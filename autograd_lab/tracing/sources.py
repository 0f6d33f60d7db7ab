"""The text of the user's code: kept where tracebacks and recordings look for it, and what is worked out from it while it stays the same."""

from __future__ import annotations

import ast
import io
import linecache
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Found = TypeVar("Found")
_MOST = 100


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
            known.pop(file, None)
            if len(known) >= _MOST:
                del known[next(iter(known))]
            last = known[file] = lines, work(_tree(lines))
        return last[1]

    return found


def _tree(lines: list[str]) -> ast.Module:
    try:
        return ast.parse("".join(python_only(lines)))
    except SyntaxError:
        return ast.Module([], [])
