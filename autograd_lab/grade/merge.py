"""Merges a student's work into the notebook as it was released: (released, handed in) -> Job.

    cell of the release     in the file handed in            what runs
    given (imports, ...)    as released, or gone             the released one, before what comes after it in the release
                            changed                          the released one, then the student's
    answer                  filled in                        the student's
                            as released, emptied, or gone    the released stub: not attempted
                            several times                    the last that is filled in above the check
                            turned to Markdown               the student's, as code
    check                   anything                         the released one, where the student's stood below the answer
                                                             or at the end of the answer's section; never the student's
    none                    a student's own code             where it stands

A cell is recognized by its id, otherwise by nbgrader's grade_id, otherwise by its contents: the released text, the call of a check, or
the names that a check needs. The student's order is kept.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from autograd_lab.course import variants

from .model import CannotGradeError, Cell, Job
from .reading import Notebook, RawCell, UnreadableError, read
from .submissions import CHECK, Shelf, marks

MOST_PARSED = 100_000
"""A cell with more characters than this is searched line by line instead of parsed."""


@dataclass(frozen=True)
class ReleasedCell:
    """A code cell of a released notebook."""

    id: str
    grade_id: str
    source: str
    role: str
    """ "given", "answer" or "check"."""
    item: str = ""
    names: frozenset[str] = frozenset()
    """For a check and its answer: the names that are passed to the check."""


@dataclass(frozen=True)
class Released:
    """A notebook as it was handed out."""

    name: str
    number: str
    """The prefix of its items' ids."""
    raw: Notebook
    cells: tuple[ReleasedCell, ...]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its questions and its code."""
        parts = [[c.id, c.source, c.role, c.item] for c in self.cells]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @cached_property
    def imports(self) -> set[str]:
        """The names that its own cells import."""
        return set[str]().union(*(imported(cell.source) for cell in self.cells if cell.role == "given"))

    @property
    def items(self) -> list[str]:
        """The ids of the items it asks for."""
        return [cell.item for cell in self.cells if cell.role == "check"]


def released(path: Path) -> Released:
    """The notebook in a file of `exercises/`. Raises CannotGradeError if it is not one."""
    try:
        data = path.read_bytes()
        raw = read(data)
        block = json.loads(data).get("metadata", {}).get("autograd_lab", {})
    except (OSError, UnreadableError, ValueError) as error:
        raise CannotGradeError(
            f"The released notebook {path} cannot be read.",
            str(error),
            "restore it, or run `autograd-lab build`",
        ) from error
    code = [cell for cell in raw.cells if cell.kind == "code" and cell.source.strip()]
    cells: list[ReleasedCell] = []
    item, names = "", frozenset[str]()
    for number, cell in reversed(list(enumerate(code))):  # an answer belongs to the check below it
        name = cell.id or cell.grade_id or f"cell-{number + 1}"
        if only_checks(cell.source):
            item, names = CHECK.findall(cell.source)[0], checked_names(cell.source)
            cells.append(ReleasedCell(name, cell.grade_id, cell.source, "check", item, names))
        elif cell.solution:
            cells.append(ReleasedCell(name, cell.grade_id, cell.source, "answer", item, names))
        else:
            cells.append(ReleasedCell(name, cell.grade_id, cell.source, "given"))
    return Released(path.stem, str(block.get("id", path.stem.split("_")[0])), raw, tuple(reversed(cells)))


def shelf(notebooks: Iterable[Released]) -> Shelf:
    """The marks by which the files of these notebooks are recognized."""
    every = list(notebooks)
    return Shelf(
        {one.name: {m for cell in one.raw.cells for m in marks(cell)} for one in every},
        {one.name: {cell.source.strip() for cell in one.raw.cells} for one in every},
    )


def merge(
    release: Released, handed: Notebook, *, student: str = "", digest: str = "", notes: Iterable[str] = ()
) -> Job:
    """The notebook to run: the release with this student's answers and own cells.

    What a copy with numbers of its own has beyond the release (course/variants.py) is only noted: it does not run.
    """
    chosen = [variants.claims(cell.source) for cell in handed.cells if cell.kind == "code"]
    bare = (
        replace(cell, source=variants.without(cell.source)) if cell.kind == "code" else cell
        for cell in handed.cells
    )
    made = _Merge(release, replace(handed, cells=tuple(bare)))
    return Job(
        student,
        release.name,
        tuple(made.cells()),
        (*notes, *handed.notes, *made.notes),
        digest,
        variant=handed.variant,
        variant_cell=next((seed for seed in reversed(chosen) if seed is not None), None),
    )


@dataclass
class _Merge:
    """One merge: first the identity of each cell, then its place."""

    release: Released
    handed: Notebook
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.place = {cell.id: number for number, cell in enumerate(self.release.cells)}
        self.by_grade_id = {cell.grade_id: cell.id for cell in self.release.cells if cell.grade_id}
        self.by_text = {plain_text(cell.source): cell.id for cell in reversed(self.release.cells)}
        self.imports = self.release.imports
        self.prose = {cell.id for cell in self.release.raw.cells if cell.kind != "code" and cell.id}
        self.claims: dict[str, list[int]] = {cell.id: [] for cell in self.release.cells}
        """{released cell: the matching cells that were handed in}, numbered from 0."""
        self.claimed: dict[int, str] = {}
        for number, raw in enumerate(self.handed.cells):
            name = self._recognize(raw)
            if name:
                self.claims[name].append(number)
                self.claimed[number] = name
        self.answer: dict[str, int] = {}
        """{answer cell of the release: the number of the matching cell}."""
        self.dropped: set[int] = set()
        for cell in self.release.cells:
            if cell.role == "answer":
                self._settle_answer(cell)
            elif cell.role == "check":
                self._look_at_check(cell)
        asking = [name for name, numbers in self.claims.items() if numbers and not self._is_given(name)]
        if not asking and not self.answer:
            self.notes.append("None of the released questions was found in it: it may be another notebook.")

    # --- which cell is which ---

    def _is_given(self, name: str) -> bool:
        return self.release.cells[self.place[name]].role == "given"

    def _recognize(self, raw: RawCell) -> str:
        if raw.id in self.place:
            return raw.id
        if raw.grade_id in self.by_grade_id:
            return self.by_grade_id[raw.grade_id]
        if raw.kind != "code":
            return ""
        text = plain_text(raw.source)
        if text in self.by_text:
            return self.by_text[text]
        called = CHECK.findall(raw.source)
        for cell in self.release.cells:
            if cell.role != "check" or cell.item not in called:
                continue
            # A cell that also holds the answer is the answer; a cell with anything else around the call is an edited check.
            if only_checks(raw.source) or not cell.names & bound(raw.source):
                return cell.id
        return ""

    def _settle_answer(self, cell: ReleasedCell) -> None:
        numbers = self.claims[cell.id]
        filled = [n for n in numbers if not self._blank(n) and not self._as_released(n, cell)]
        check = self._student_check(cell.item)
        if not filled:
            elsewhere = self._elsewhere(cell, check)
            if elsewhere is None:
                if numbers:
                    self.answer[cell.id] = numbers[0]
                    self.dropped.update(numbers[1:])
                else:
                    self.notes.append(
                        f"The answer cell of {cell.item} is gone; the released one stands in its place."
                    )
                return
            self.dropped.update(numbers)
            self.answer[cell.id] = elsewhere
            self.notes.append(
                f"The answer to {cell.item} was found in cell {elsewhere + 1} by the names it gives."
            )
            return
        above = [n for n in filled if check is None or n < check]
        chosen = (above or filled)[-1]
        self.answer[cell.id] = chosen
        self.dropped.update(n for n in numbers if n not in filled)
        if len(filled) > 1:
            every = ", ".join(str(n + 1) for n in filled)
            self.notes.append(
                f"The answer cell of {cell.item} is there several times (cells {every}); cell {chosen + 1} counts."
            )
        if self.handed.cells[chosen].kind != "code":
            self.notes.append(f"The answer cell of {cell.item} was not a code cell any more; it ran as one.")

    def _elsewhere(self, cell: ReleasedCell, check: int | None) -> int | None:
        """A student's own cell that defines the names that an item needs, if its answer cell does not."""
        stubs = self.claims[cell.id]
        low, high = 0, len(self.handed.cells)
        if stubs:  # the stub is there: only cells next to it, above the check
            others = [n for n in self.claimed if n not in stubs and n < stubs[0]]
            later = [n for n in self.claimed if n not in stubs and n > stubs[0]]
            low, high = max(others, default=-1) + 1, min(later, default=high)
        best: tuple[tuple[bool, int, bool, int], int] | None = None
        for number, raw in enumerate(self.handed.cells[low:high], start=low):
            if number in self.claimed or not raw.source.strip() or (stubs and raw.kind != "code"):
                continue
            given = len(cell.names & bound(raw.source, strict=raw.kind != "code"))
            if given:
                rank = raw.kind == "code", given, check is None or number < check, number
                best = max(best, (rank, number)) if best else (rank, number)
        return best[1] if best else None

    def _look_at_check(self, cell: ReleasedCell) -> None:
        for number in self.claims[cell.id]:
            if plain_text(self.handed.cells[number].source) != plain_text(cell.source):
                self.notes.append(
                    f"The check of {cell.item} had been changed (cell {number + 1}); the released one ran, and an answer"
                    " written in that cell does not count."
                )
                return

    def _student_check(self, item: str) -> int | None:
        numbers = [
            n
            for cell in self.release.cells
            if cell.role == "check" and cell.item == item
            for n in self.claims[cell.id]
        ]
        return min(numbers, default=None)

    def _blank(self, number: int) -> bool:
        return all(
            not line.strip() or line.lstrip().startswith("#")
            for line in self.handed.cells[number].source.splitlines()
        )

    def _as_released(self, number: int, cell: ReleasedCell) -> bool:
        return plain_text(self.handed.cells[number].source) == plain_text(cell.source)

    # --- what stands where ---

    def cells(self) -> list[Cell]:
        """The merged cells in the order in which they run."""
        self.out: list[Cell] = []
        self.done: set[str] = set()
        checks = self._check_places()
        roles = {name: cell.role for name, cell in zip(self.place, self.release.cells, strict=True)}
        answers: dict[int, list[str]] = {}
        for name, number in self.answer.items():
            answers.setdefault(number, []).append(name)
        known = [n for n in sorted({*self.claimed, *answers}) if n not in self.dropped]
        place = {n: self.place[(answers.get(n) or [self.claimed.get(n, "")])[0]] for n in known}
        for number, raw in enumerate(self.handed.cells):
            for name in checks.get(number, []):
                self._put_missing(self.place[name])
                self._put(name)
            if number in self.dropped or roles.get(self.claimed.get(number, "")) == "check":
                continue
            following = next((place[n] for n in known if n >= number), len(self.place))
            self._put_missing(following)
            name = self.claimed.get(number, "")
            if number in answers:
                for one in answers[number]:
                    self._put_answer(one, number, first=one == answers[number][0])
            elif roles.get(name) == "given":
                self._put(name)
                if not self._as_released(number, self.release.cells[self.place[name]]) and raw.kind == "code":
                    self._put_extra(number)
            elif raw.kind == "code" and raw.source.strip():
                self._put_extra(number)
        for name in checks.get(len(self.handed.cells), []):
            self._put_missing(self.place[name])
            self._put(name)
        self._put_missing(len(self.place))
        return self.out

    def _check_places(self) -> dict[int, list[str]]:
        """{number of a cell handed in: the released checks that run just above it}."""
        places: dict[int, list[str]] = {}
        for cell in self.release.cells:
            if cell.role != "check":
                continue
            own = [c.id for c in self.release.cells if c.role == "answer" and c.item == cell.item]
            numbers = [self.answer[name] for name in own if name in self.answer]
            last = max(numbers, default=-1)
            below = [n for n in self.claims[cell.id] if n > last]
            if below and (numbers or not own):
                places.setdefault(below[0], []).append(cell.id)
            elif numbers:
                places.setdefault(self._end_of_section(last), []).append(cell.id)
        return places

    def _end_of_section(self, number: int) -> int:
        """The position, among the cells handed in, of the next released cell after this one."""
        for n in range(number + 1, len(self.handed.cells)):
            if n in self.claimed or self.handed.cells[n].id in self.prose or n in self.answer.values():
                return n
        return len(self.handed.cells)

    def _put_missing(self, before: int) -> None:
        """Released cells above position `before` that have not run: given ones; answers and checks if they are gone."""
        for cell in self.release.cells[:before]:
            if cell.id in self.done:
                continue
            gone = cell.role == "answer" and cell.id not in self.answer
            own = [c.id for c in self.release.cells if c.role == "answer" and c.item == cell.item]
            unasked = (
                cell.role == "check"
                and not any(name in self.answer for name in own)
                and not self._waits(cell, own)
            )
            if cell.role == "given" or gone or unasked:
                self._put(cell.id, untouched=gone)

    def _waits(self, cell: ReleasedCell, own: list[str]) -> bool:
        """Whether a check without an answer cell in the release runs later, where the student left it."""
        return not own and bool(self.claims[cell.id])

    def _put(self, name: str, untouched: bool = False) -> None:
        if name not in self.done:
            self.done.add(name)
            cell = self.release.cells[self.place[name]]
            self.out.append(Cell(cell.id, cell.source, cell.role, cell.item, untouched))

    def _put_answer(self, name: str, number: int, first: bool) -> None:
        self.done.add(name)
        cell, raw = self.release.cells[self.place[name]], self.handed.cells[number]
        if not first:
            return  # it is in the cell of another item, which runs once
        if self._blank(number) or self._as_released(number, cell):
            self.out.append(Cell(cell.id, cell.source, "answer", cell.item, untouched=True))
        else:
            self._look_at_names(number)
            self.out.append(Cell(cell.id, raw.source, "answer", cell.item))

    def _look_at_names(self, number: int) -> None:
        """Report if a student's cell redefines a name that the notebook imports, such as `lab`."""
        taken = sorted(_redefined(self.handed.cells[number].source) & self.imports)
        if taken:
            several = len(taken) > 1
            self.notes.append(
                f"Cell {number + 1} gives {'other meanings' if several else 'another meaning'} to {' and '.join(taken)}, which the "
                "notebook imports. The checks ran with the course's own lab; cells that use the "
                f"name{'s' if several else ''} may have failed."
            )

    def _put_extra(self, number: int) -> None:
        self._look_at_names(number)
        self.out.append(Cell(f"extra-{number + 1}", self.handed.cells[number].source, "extra"))


# ----------------------------------------------------------------------
# text of cells
# ----------------------------------------------------------------------


def plain_text(source: str) -> str:
    """A cell's text without what editors change: trailing blanks, blank lines around it."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def checked_names(source: str) -> frozenset[str]:
    """The names that a cell passes to lab.check: {"order"} of `lab.check("04.2", order)`."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            names |= {n.id for part in node.args[1:] for n in ast.walk(part) if isinstance(n, ast.Name)}
    return frozenset(names)


def only_checks(source: str) -> bool:
    """Whether a cell only calls lab.check."""
    tree = parsed(source) if CHECK.search(source) else None
    return tree is not None and all(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "check"
        and isinstance(node.value.func.value, ast.Name)
        for node in tree.body
    )


def parsed(source: str) -> ast.Module | None:
    """A cell's syntax tree, magics left out; None if it is not Python, or too much of it."""
    if len(source) > MOST_PARSED:
        return None
    lines = ["" if re.match(r"\s*[%!?]", line) else line for line in source.splitlines()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about a student's invalid escapes
            return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def bound(source: str, strict: bool = False) -> set[str]:
    """The names that a cell assigns at its top level; with `strict`, none unless all of it is Python."""
    names: set[str] = set()
    tree = parsed(source)
    try:
        if tree is not None:
            _collect(tree.body, names)
            return names
    except RecursionError:
        pass  # an expression of thousands of terms: fall back to searching line by line
    if strict:
        return set()
    found = re.findall(
        r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=(?!=)", source, re.MULTILINE
    )
    return {name for pair in found for name in pair if name}


@lru_cache(1 << 12)
def _redefined(source: str) -> frozenset[str]:
    """The names that a cell assigns at its top level, but for those that it imports."""
    return frozenset(bound(source) - imported(source))


def imported(source: str) -> set[str]:
    """The names that a cell imports, at whatever depth."""
    tree = parsed(source) if "import" in source else None
    found = (
        (n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)) if tree is not None else ()
    )
    return {(alias.asname or alias.name).split(".")[0] for node in found for alias in node.names}


def _collect(body: Iterable[ast.AST], names: set[str]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        else:
            names |= {
                n.id for n in _shallow(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            for part in ("body", "orelse", "finalbody"):
                _collect(getattr(node, part, None) or [] if isinstance(node, ast.stmt) else [], names)
            for handler in getattr(node, "handlers", []) + getattr(node, "cases", []):
                _collect(handler.body, names)


def _shallow(node: ast.AST) -> Iterable[ast.AST]:
    """The node and its descendants, without functions, comprehensions and nested statements."""
    yield node
    for child in ast.iter_child_nodes(node):
        inner = ast.stmt | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        if not isinstance(child, inner | ast.ExceptHandler | ast.match_case):
            yield from _shallow(child)
