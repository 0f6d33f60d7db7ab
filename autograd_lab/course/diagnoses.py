"""A diagnosis must be true of every program that gives the results of a known mistake, whatever that program looks like.

    other_code(says, answer, question, programs) -> what it says of code that need not be there

A check sees results, not code: `w = w - ...`, `new = w - ...` and a step through a copy leave the same numbers. So a sentence may say
what the results show, and what to write; of code it may mention what the reference answer consists of, without the
variables that only this answer has, and the names that the question and the handed-out code give to things. "d = p is no copy"
puzzles a student who has no d, "leave out detach" one who has already done so, and "`/=` writes into it" one who wrote `div_`.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable
from functools import cache

_WORD = re.compile(r"[A-Za-z_]\w*")
_WRITES = re.compile(r"[-+*/@]=(?!=)")
_ASSIGNED = re.compile(r"[A-Za-z_][\w.\[\]]* (?:[-+*/]?=) [^,:;?`.]+")
PLAIN = frozenset(_WORD.findall("""
    a add all at backward bias copy divide empty get go grad item list mean ones operation order parameters part requires_grad right score
    shape slopes square sum up values visit weight wrong x zeros
"""))  # fmt: skip
"""Names in programs of the bank that are also words of the language, or of the course."""


def other_code(says: str, answer: str, handed_out: str, question: str, programs: Iterable[str]) -> list[str]:
    """Names and assignments in a sentence that a program with the same results may not have.

    answer      the cell of the reference answer
    handed_out  the same cell as students get it
    programs    the right and wrong programs of the item, whose names count as code
    """
    known = (names(answer) - variables(answer)) | variables(handed_out) | PLAIN | set(_WORD.findall(question))
    code = set().union(*map(names, (answer, handed_out, *programs)))
    found = [word for word in dict.fromkeys(_WORD.findall(says)) if word in code - known]
    there = _squashed(answer + question)
    found += [text for text in _ASSIGNED.findall(says) if _squashed(text) not in there]
    return found + [
        sign for sign in dict.fromkeys(_WRITES.findall(says)) if sign not in answer + question + handed_out
    ]


@cache
def names(code: str) -> frozenset[str]:
    """The names in a piece of code that cannot be taken for words: of methods, functions and keywords, and variables of one or two letters."""
    try:
        tree = ast.parse(textwrap.dedent(code))
    except SyntaxError:  # such as a lambda in the middle of a call
        return frozenset(re.findall(r"(?<=\.)[A-Za-z_]\w*|[A-Za-z_]\w*(?=\()", code))
    found: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
        elif isinstance(node, ast.keyword):
            found.add(node.arg)
        elif isinstance(node, ast.Name | ast.arg):
            name = node.id if isinstance(node, ast.Name) else node.arg
            found.update([name] if len(name) < 3 or "_" in name else [])
    return frozenset(name for name in found if name)


def variables(code: str) -> frozenset[str]:
    """The names that a piece of code assigns, and the arguments of its functions."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return frozenset(found)


def _squashed(text: str) -> str:
    return re.sub(r"\s", "", text)
