"""Submissions whose code is more alike than the class explains.

    similar(class_) -> [Pair]       the pairs of students of one notebook to examine, most alike first
    same(class_) -> [Same]          the students with one and the same long answer, however alike the class is

For `same` two answers are one if nothing but names, layout, comments, annotations and the order of functions differs. Two people seldom write so much alike by chance, and in
a class in which twenty have, each pair looks ordinary to `similar`: so these are always listed, and so is the course's own solution.

Code is compared as its syntax tree, read as a list of tokens: names, texts and layout do not count, and neither do comments,
annotations, imports or lines that print. Each run of K tokens is hashed; a fixed part of the hashes is kept, chosen by winnowing (Schleimer,
Wilkerson and Aiken, 2003, "Winnowing: local algorithms for document fingerprinting"), which finds every common stretch of
K + WINDOW - 1 tokens at any position. The released notebook's own stretches are removed.

The weight of a stretch depends on how many students have it: the fewer, the higher; it is 0 for one that all have. So a
common solution does not make students similar. Then each student's nearest classmate is determined: a pair is
listed only if it is clearly nearer than nearest classmates usually are in this class, and has something that next to nobody else has.
Short answers have too few stretches, and are never compared.

Similar code has many causes: work in pairs, a shared example, a page found by both. The list tells where to look.
"""

from __future__ import annotations

import ast
import hashlib
import keyword
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from .merge import Released, parsed
from .model import Job

K = 6
"""Tokens in a stretch."""
WINDOW = 3
"""At least one of this many consecutive stretches is kept."""
LEAST = 35
"""Minimum number of stretches beyond the released code for a submission to be compared."""
ALIKE = 0.87
"""A pair is listed from this similarity on,"""
BEYOND = 2.0
"""if it is this many standard deviations above that of nearest classmates (both computed from medians, so that a few similar pairs do not
shift them).
"""
FEW = 3
"""A listed pair shares a stretch that at most this many students have, the two among them. Without one, both have only made choices, each
of which many have made: with three ways to write an answer and some habits, two in a class of forty meet.
"""
CLASS = 5
"""The minimum number of submissions for learning what a class shares."""
MOST_SIGNS = 20_000


@dataclass(frozen=True)
class Pair:
    """Two students whose code for one notebook is more alike than the class explains."""

    notebook: str
    one: str
    other: str
    similarity: float
    """The share of the shorter code that both have in common with few others, from 0 to 1."""
    items: tuple[str, ...] = ()
    """The places where they match, largest first."""


@dataclass(frozen=True)
class Same:
    """The students of one notebook who handed in the same long answer (see `nameless`)."""

    notebook: str
    item: str
    """The item, "" for cells of the students' own, ALL for all answers of the notebook together."""
    students: tuple[str, ...]
    of_the_course: bool = False
    """Whether it is the course's own solution."""


ALL = "all answers"


@dataclass
class Code:
    """A student's code for one notebook."""

    student: str
    parts: dict[str, str] = field(default_factory=dict)
    """{item, or "" for cells of the student's own: source}."""


def code_of(job: Job) -> Code:
    """What the student wrote in a merged notebook."""
    code = Code(job.student)
    for cell in job.cells:
        if cell.role in ("answer", "extra") and not cell.untouched:
            item = cell.item if cell.role == "answer" else ""
            code.parts[item] = f"{code.parts[item]}\n\n{cell.source}" if item in code.parts else cell.source
    return code


def similar(notebook: str, codes: Iterable[Code], released: Released) -> list[Pair]:
    """The pairs of one notebook that are more alike than the class explains, most alike first."""
    given = {print_ for cell in released.cells for print_ in fingerprints(cell.source)}
    prints = {code.student: _of_parts(code, given) for code in codes}
    prints = {student: parts for student, parts in prints.items() if parts}
    every = {student: set().union(*parts.values()) for student, parts in prints.items()}
    count = len(every)
    if count < CLASS:
        return []
    having = Counter(print_ for own in every.values() for print_ in own)
    weight = {print_: math.log(count / n) for print_, n in having.items()}
    heavy = {student: sum(weight[print_] for print_ in own) for student, own in every.items()}
    alike: dict[tuple[str, str], float] = {}
    nearest = dict.fromkeys(every, 0.0)
    for one, other in combinations(sorted(every), 2):
        least = min(heavy[one], heavy[other])
        if least:
            much = sum(weight[print_] for print_ in every[one] & every[other]) / least
            alike[one, other] = much
            nearest[one], nearest[other] = max(nearest[one], much), max(nearest[other], much)
    usual = statistics.median(nearest.values())
    spread = 1.4826 * statistics.median(abs(much - usual) for much in nearest.values())
    bar = max(ALIKE, usual + BEYOND * max(spread, 0.02))
    found = [
        Pair(notebook, one, other, round(much, 3), _where(prints[one], prints[other], weight))
        for (one, other), much in alike.items()
        if much >= bar and min(len(every[one]), len(every[other])) >= LEAST
        if any(having[print_] <= FEW for print_ in every[one] & every[other])
    ]
    return sorted(found, key=lambda pair: (-pair.similarity, pair.one, pair.other))


def same(
    notebook: str, codes: Iterable[Code], released: Released, solutions: Mapping[str, str]
) -> list[Same]:
    """The groups of one notebook with the same long answer, those with the course's own solution (`solutions`, by item) first."""
    given = {print_ for cell in released.cells for print_ in fingerprints(cell.source)}
    wrote: dict[tuple[str, tuple[object, ...]], set[str]] = {}
    for code in codes:
        answers = {item: source for item, source in sorted(code.parts.items()) if item}
        own = {item: fingerprints(source) - given for item, source in code.parts.items()}
        for item, source in code.parts.items():
            if len(own[item]) >= LEAST:
                wrote.setdefault((item, nameless(source)), set()).add(code.student)
        if len(set().union(*(own[item] for item in answers))) >= LEAST:
            whole = tuple(sign for item, source in answers.items() for sign in (item, *nameless(source)))
            wrote.setdefault((ALL, whole), set()).add(code.student)
    model = {(item, nameless(source)) for item, source in solutions.items()}
    found = [
        Same(notebook, key[0], tuple(sorted(students)), key in model)
        for key, students in wrote.items()
        if len(students) > 1 or key in model
    ]
    listed = {one.students for one in found if one.item != ALL}
    found = [one for one in found if one.item != ALL or one.students not in listed]
    return sorted(found, key=lambda one: (not one.of_the_course, -len(one.students), one.item, one.students))


def _of_parts(code: Code, given: set[int]) -> dict[str, frozenset[int]]:
    parts = {item: fingerprints(source) - given for item, source in sorted(code.parts.items())}
    return {item: own for item, own in parts.items() if own}


def _where(
    one: Mapping[str, frozenset[int]], other: Mapping[str, frozenset[int]], weight: Mapping[int, float]
) -> tuple[str, ...]:
    both = set().union(*one.values()) & set().union(*other.values())
    much = {item: sum(weight.get(p, 0) for p in own & both) for item, own in one.items()}
    return tuple(sorted((item for item in much if much[item] >= 3), key=lambda item: (-much[item], item)))


# --- fingerprints -------------------------------------------------------------------------------------


@lru_cache(1 << 12)  # in a class, many short answers are identical
def fingerprints(source: str) -> frozenset[int]:
    """The hashes of a piece of code."""
    read = signs(source)
    grams = [_hash(read[i : i + K]) for i in range(len(read) - K + 1)]
    if len(grams) <= WINDOW:
        return frozenset(grams)
    return frozenset(min(grams[i : i + WINDOW]) for i in range(len(grams) - WINDOW + 1))


def _hash(gram: Sequence[str]) -> int:
    return int.from_bytes(hashlib.blake2b("\n".join(gram).encode(), digest_size=8).digest(), "big")


def signs(source: str) -> list[str]:
    """A piece of code as tokens, without its author's names and layout."""
    tree = _parsed(source)
    if tree is None:
        return _tokens(source)
    nodes: list[ast.AST] = []
    todo: list[ast.AST] = [tree]
    while todo and len(nodes) < 4 * MOST_SIGNS:
        node = todo.pop()
        if type(node) in _NOTHING or _is_docstring(node):
            continue  # the latter is a docstring, or a comment in the form of one
        nodes.append(node)
        below: list[ast.AST] = []
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                below.append(value)
            elif isinstance(value, list):
                below += [one for one in value if isinstance(one, ast.AST) and not _is_filling(one, node)]
        todo += reversed(below)
    own = {node.attr for node in nodes if type(node) is ast.Attribute and type(node.ctx) is ast.Store}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return [sign for node in nodes if (sign := _sign(node, own))][:MOST_SIGNS]


def _parsed(source: str) -> ast.Module | None:
    """The syntax tree of a piece of code without annotations and lines that print, which do none of the work; None if it is not Python."""
    tree = parsed(source)
    for node in ast.walk(tree) if tree else ():
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None and not isinstance(node, ast.AnnAssign):
                setattr(node, name, None)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [_of_work(one) for one in block])
    return tree


def _of_work(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.AnnAssign):
        return ast.Assign([node.target], node.value) if node.value else ast.Pass()
    prints = (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "print"
    )
    return ast.Pass() if prints else node


_NOTHING = {ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.Load, ast.Store, ast.Del}
"""Nodes that do not count, with everything below them."""
_SIGNS = {ast.Module: "", ast.Expr: "", ast.arguments: "", ast.Name: "name", ast.arg: "name"}


@lru_cache(1 << 12)
def nameless(source: str) -> tuple[object, ...]:
    """A piece of code as tokens in which the author's names are numbers, in the order in which they appear in their function.

    Two pieces have the same ones if they differ in names, layout, comments, docstrings, annotations, imports and lines that print alone, and
    in the order of functions, methods and classes.
    """
    tree = _parsed(source)
    return tuple(source.split()) if tree is None else tuple(_any_order(tree))


def _any_order(tree: ast.Module | ast.ClassDef) -> list[object]:
    """The tokens of what stands between functions and classes, and then theirs, sorted."""
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    parts = [
        _any_order(node) if isinstance(node, ast.ClassDef) else _nameless(ast.Module([node], []))
        for node in defined
    ]
    return [*_nameless(tree), *sorted(map(tuple, parts), key=repr)]


def _nameless(tree: ast.AST) -> list[object]:
    out: list[object] = []
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    attributes |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    todo: list[tuple[object, tuple[_Scope, ...]]] = [(tree, (_Scope(None),))]
    while todo and len(out) < 4 * MOST_SIGNS:
        node, scopes = todo.pop()
        if isinstance(node, list):
            counts = [
                one
                for one in node
                if type(one) not in _NOTHING and not _is_docstring(one) and not _is_empty(one)
            ]
            out.append(f"{len(counts)} of")
            todo += [(one, scopes) for one in reversed(counts)]
        elif isinstance(node, ast.AST) and type(node) not in _NOTHING:
            out.append(type(node).__name__)
            inside = (*scopes, _Scope(node)) if isinstance(node, ast.FunctionDef) else scopes
            parts = [(getattr(node, field, None), field) for field in node._fields if field != "type_params"]
            for value, field in reversed(parts):
                if isinstance(value, str) and _is_name(node, field, value in attributes):
                    todo.append((_number(f".{value}" if field == "attr" else value, scopes), scopes))
                else:
                    todo.append((value, inside))
        elif not isinstance(node, ast.AST):
            out.append(repr(node)[:200])
    return out


class _Scope:
    """The names of one function (of the module without one), and their numbers."""

    def __init__(self, function: ast.FunctionDef | None) -> None:
        nodes = list(ast.walk(function)) if function else []
        self.own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        self.own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.numbers: dict[str, int] = {}


def _number(name: str, scopes: tuple[_Scope, ...]) -> tuple[int, int]:
    """What stands for a name: how deep its function is, and which of that function's names it is."""
    depth = next((d for d in range(len(scopes) - 1, 0, -1) if name in scopes[d].own), 0)
    numbers = scopes[depth].numbers
    return depth, numbers.setdefault(name, len(numbers))


def _is_name(node: ast.AST, field: str, given: bool) -> bool:
    """Whether this field holds a name that the author may have chosen: a keyword is its function's, an attribute its object's."""
    if isinstance(node, ast.Attribute | ast.alias | ast.keyword):
        return given and isinstance(node, ast.Attribute)
    return field in ("id", "arg", "name")


def _is_docstring(node: object) -> bool:
    return type(node) is ast.Expr and type(node.value) is ast.Constant


def _is_filling(node: ast.AST, around: ast.AST) -> bool:
    """Whether it is text of an f-string. Versions of Python split it differently, and no text counts."""
    return isinstance(around, ast.JoinedStr) and type(node) is ast.Constant


def _is_empty(node: object) -> bool:
    """Whether it is an empty text, which some versions of Python put into an f-string."""
    return type(node) is ast.Constant and node.value == ""


def _sign(node: ast.AST, own: set[str]) -> str:
    """The token of a node; "" if it has none."""
    sign = _SIGNS.get(type(node))
    if sign is not None:
        return sign
    if isinstance(node, ast.Attribute):
        return "." if node.attr in own else f".{node.attr}"
    if isinstance(node, ast.keyword):
        return f"{node.arg}="
    if isinstance(node, ast.Constant):
        return "text" if isinstance(node.value, str | bytes) else repr(node.value)[:20]
    return type(node).__name__


_READ = re.compile(
    r"""
      (?P<text>  (?i:[rbuft]{0,2})
                 (?: \"\"\" (?:[^\\]|\\.)*? (?:\"\"\"|\\?\Z) | \'\'\' (?:[^\\]|\\.)*? (?:\'\'\'|\\?\Z)
                   | " (?:[^"\\\n]|\\.)* "? | ' (?:[^'\\\n]|\\.)* '? ) )
    | (?P<number>(?:\d|\.\d) (?:[eE][+-]?\d|[\w.])* )
    | (?P<name>  [^\W\d]\w* )
    | (?P<sign>  \*\*=? | //=? | <<=? | >>=? | \.\.\. | -> | [-+*/%@&|^=!<>:]= | [-+*/%@&|^=<>:~.,;()[\]{}] )
    | \#[^\n]* | .
    """,
    re.VERBOSE | re.DOTALL,
)
"""A token. Text that does not end goes on to the end of its line, or of everything: so no text is read twice, however long it is."""


def _tokens(source: str) -> list[str]:
    """The tokens of text that is not Python: its words and punctuation.

    Python's own `tokenize` reads such text, and f-strings, in another way in each version; the counts must not depend on it.
    """
    out: list[str] = []
    for found in _READ.finditer(source[: 10 * MOST_SIGNS]):
        kind, token = found.lastgroup, found[0]
        if kind == "text":
            out.append("text")
        elif kind == "name":
            out.append(token if keyword.iskeyword(token) else "name")
        elif kind:
            out.append(token)
    return out[:MOST_SIGNS]
