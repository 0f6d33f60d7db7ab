"""The student's program as a trace keeps it: lines and, where they can be parsed, statements; and changes to it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cached_property

from ..trace import Record
from .answer import Edit

_MOST_TRIES = 40  # lines dropped from the end of a function whose last statement is incomplete in the trace

Compound = ast.For | ast.While | ast.With | ast.FunctionDef


class Source:
    """One source of a trace. Line numbers are those of the file; what cannot be parsed has no statements."""

    def __init__(self, record: Record) -> None:
        self.name: str = record["name"]
        self.lines: dict[int, str] = {int(n): text for n, text in record["lines"].items()}

    @cached_property
    def trees(self) -> list[ast.Module]:
        """The contiguous pieces, parsed, with the line numbers of the file."""
        found = []
        for first, piece in self._pieces():
            for end in range(len(piece), max(0, len(piece) - _MOST_TRIES), -1):
                try:
                    tree = ast.parse(textwrap.dedent("\n".join(piece[:end])))
                except SyntaxError:
                    continue
                found.append(ast.increment_lineno(tree, first - 1))
                break
        return found

    def _pieces(self) -> Iterator[tuple[int, list[str]]]:
        """(number of the first line, lines) of each run of lines without a gap; magics of a notebook are blank."""
        first = 0
        piece: list[str] = []
        for n in sorted(self.lines):
            if piece and n != first + len(piece):
                yield first, piece
                piece = []
            if not piece:
                first = n
            text = self.lines[n]
            piece.append("" if text.lstrip()[:1] in ("%", "!") else text)
        if piece:
            yield first, piece

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each node of the trees."""
        return {inner: node for node in self._nodes for inner in ast.iter_child_nodes(node)}

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        """All nodes of the trees."""
        return [node for tree in self.trees for node in ast.walk(tree)]

    @cached_property
    def _compounds(self) -> list[Compound]:
        return [node for node in self._nodes if isinstance(node, Compound)]

    @cached_property
    def _simple(self) -> list[ast.stmt]:
        return [node for node in self._nodes if isinstance(node, ast.stmt) and not hasattr(node, "body")]

    def statements(self) -> Iterator[ast.stmt]:
        """All statements that contain no others, in order."""
        return iter(self._simple)

    def statement(self, n: int) -> ast.stmt | None:
        """The statement on line n, if it fills that line and no other."""
        for node in self.statements():
            if node.lineno == n == node.end_lineno:
                rest = self.lines.get(n, "").lstrip()[(node.end_col_offset or 0) - node.col_offset :].strip()
                alone = self._starts_its_line(node) and (not rest or rest.startswith("#"))
                return node if alone else None
        return None

    def _starts_its_line(self, node: ast.stmt) -> bool:
        around = self.parents[node]
        return isinstance(around, ast.Module) or around.lineno != node.lineno  # type: ignore[attr-defined]

    def around(self, n: int, *kinds: type) -> list[Compound]:
        """The compound statements of some kinds around line n, innermost first."""
        found = [
            node
            for node in self._compounds
            if isinstance(node, kinds) and node.body[0].lineno <= n <= (node.body[-1].end_lineno or 0)
        ]
        return sorted(found, key=lambda node: -node.lineno)

    def assigned(self, name: str) -> list[ast.Assign]:
        """The statements `name = ...`; `name` may be dotted."""
        return [
            s
            for s in self.statements()
            if isinstance(s, ast.Assign) and len(s.targets) == 1 and ast.unparse(s.targets[0]) == name
        ]

    def targets(self, n: int) -> list[str]:
        """The names that the statement on line n assigns, single or in a tuple."""
        for s in self.statements():
            if s.lineno <= n <= (s.end_lineno or s.lineno) and isinstance(s, ast.Assign):
                return [ast.unparse(part) for target in s.targets for part in _names(target)]
        return []

    def read_on(self, n: int) -> list[str]:
        """The names and attributes of names that line n reads."""
        for s in self.statements():
            if s.lineno <= n <= (s.end_lineno or s.lineno):
                return [
                    ast.unparse(part)
                    for part in ast.walk(s)
                    if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))
                    and isinstance(part.ctx, ast.Load)
                ]
        return []

    def decides(self, n: int, names: set[str], m: int) -> bool:
        """Whether line m is inside an `if` or a loop whose condition is on line n, or reads one of the names."""
        for tree in self.trees:
            for node in ast.walk(tree):
                if not isinstance(node, ast.If | ast.While):
                    continue
                asked = {
                    ast.unparse(x) for x in ast.walk(node.test) if isinstance(x, ast.Name | ast.Attribute)
                }
                last = [*node.body, *node.orelse][-1].end_lineno or 0
                if node.body[0].lineno <= m <= last and (node.test.lineno == n or names & asked):
                    return True
        return False

    def updated(self, n: int) -> list[str]:
        """The expressions whose `.grad` line n reads to compute something new: p in `p = p - lr * p.grad`."""
        for s in self.statements():
            if s.lineno <= n <= (s.end_lineno or s.lineno) and isinstance(s, (ast.Assign, ast.Return)):
                return [
                    ast.unparse(x.value)
                    for x in ast.walk(s)
                    if isinstance(x, ast.Attribute) and x.attr == "grad"
                ]
        return []

    def filled_on(self, n: int) -> list[str]:
        """The targets of line n: the names that it assigns or adds to, and the lists that it appends to."""
        found = self.targets(n)
        for s in self.statements():
            if s.lineno <= n <= (s.end_lineno or s.lineno):
                found += [ast.unparse(s.target)] if isinstance(s, ast.AugAssign) else []
                found += [
                    ast.unparse(x.func.value)
                    for x in ast.walk(s)
                    if isinstance(x, ast.Call)
                    and isinstance(x.func, ast.Attribute)
                    and x.func.attr in ("append", "extend", "insert")
                ]
        return found

    def computed_from(self, names: set[str]) -> set[str]:
        """These names, and those that were computed from them."""
        found = set(names)
        while True:
            more = {
                name
                for s in self.statements()
                if found & set(self.read_on(s.lineno))
                for name in self.filled_on(s.lineno)
            }
            if more <= found:
                return found
            found |= more

    def knows(self, n: int, name: str) -> bool:
        """Whether the function around line n, or the program if there is none, has a variable of this name."""
        function = next(iter(self.around(n, ast.FunctionDef)), None)
        if isinstance(function, ast.FunctionDef):
            return any(
                node.arg == name if isinstance(node, ast.arg) else node.id == name
                for node in ast.walk(function)
                if isinstance(node, ast.arg)
                or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
            )
        return any(
            name == target.split("[")[0].split(".")[0]
            for s in self.statements()
            if not self.around(s.lineno, ast.FunctionDef)
            for target in self.targets(s.lineno)
        )

    def mentions(self, name: str) -> bool:
        """Whether the first part of a dotted or indexed name is a word of the program."""
        first = name.split(".")[0].split("[")[0]
        return any(first == word for text in self.lines.values() for word in _words(text))

    def indent(self, n: int) -> str:
        """The indentation of line n."""
        text = self.lines.get(n, "")
        return text[: len(text) - len(text.lstrip())]


def _names(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _names(part)
    else:
        yield target


def _words(text: str) -> list[str]:
    return "".join(c if c.isidentifier() or c.isdigit() else " " for c in text).split()


class Patch:
    """Changes to a source, line by line."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._before: dict[int, list[str]] = {}
        self._now: dict[int, str | None] = {}
        self._after: dict[int, list[str]] = {}

    def replace(self, n: int, text: str) -> Patch:
        """Replace line n by `text`, with the line's indentation."""
        self._now[n] = textwrap.indent(text, self.source.indent(n))
        return self

    def delete(self, n: int) -> Patch:
        """Delete line n; a block that would be empty gets a `pass`."""
        statement = self.source.statement(n)
        body = getattr(self.source.parents.get(statement), "body", []) if statement is not None else []
        if len(body) == 1:
            return self.replace(n, "pass")
        self._now[n] = None
        return self

    def gone(self, n: int) -> Patch:
        """Delete line n, whatever it is."""
        self._now[n] = None
        return self

    def dedented(self, n: int, by: int) -> Patch:
        """Move line n left by `by` columns."""
        text = self.source.lines.get(n, "")
        self._now[n] = text[by:] if not text[:by].strip() else text
        return self

    def before(self, n: int, text: str) -> Patch:
        """Insert `text` before line n."""
        self._before.setdefault(n, []).append(textwrap.indent(text, self.source.indent(n)))
        return self

    def after(self, n: int, text: str) -> Patch:
        """Insert `text` after line n."""
        self._after.setdefault(n, []).append(textwrap.indent(text, self.source.indent(n)))
        return self

    def rewrite(self, n: int, change: Callable[[ast.AST], ast.AST | None]) -> Patch | None:
        """Line n with the expressions that `change` replaces; None if there are none or the line cannot be parsed."""
        statement = self.source.statement(n)
        if statement is None:
            return None
        rewriter = _Rewriter(change)
        new = rewriter.visit(ast.parse(ast.unparse(statement)))
        if not rewriter.changed:
            return None
        text = ast.unparse(ast.fix_missing_locations(new))
        return self.replace(n, re.sub(r"^(\w+), = ", r"(\1,) = ", text))

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The changes, by line."""
        found = []
        for n in sorted({*self._before, *self._now, *self._after}):
            now = self._now.get(n, self.source.lines.get(n, ""))
            lines = [*self._before.get(n, ()), *([] if now is None else [now]), *self._after.get(n, ())]
            found.append(Edit(self.source.name, n, "\n".join(lines)))
        return tuple(found)


class _Rewriter(ast.NodeTransformer):
    """Replaces the outermost expressions that have a replacement."""

    def __init__(self, change: Callable[[ast.AST], ast.AST | None]) -> None:
        self.change = change
        self.changed = False

    def visit(self, node: ast.AST) -> ast.AST:
        new = self.change(node)
        if new is not None:
            self.changed = True
            return new
        return self.generic_visit(node)
