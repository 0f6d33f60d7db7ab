"""Which numbers each student's copies have (course/variants.py): `autograd-lab deliver` writes them, and grading derives them anew.

    Variants(word, students)    a seed for each student, from the class's word: nothing has to be kept, and nobody without the word has another's
    note                        a sentence for the instructor, where a notebook is not the copy that its student got
    borrowed                    answers that fit somebody else's numbers

A student is graded with the numbers of the roster, whatever the notebook names: an answer to other numbers is wrong, and the instructor hears
whose they are. Students' pages say nothing of it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autograd_lab.course import variants
from autograd_lab.course.items import Item

from .model import Job
from .people import norm

MARK = "Variant: "
"""What a note about the copy begins with."""
COURSE = "the course's own notebook"
MOST_NAMED = 3


@dataclass(frozen=True)
class Variants:
    """The copies of a class."""

    word: str
    """What only the instructor knows."""
    students: tuple[str, ...] = ()
    """Those whose copies are known."""

    def seed(self, student: str) -> int:
        """The number of a student's copies, below 1,000,000,000."""
        digest = hmac.new(self.word.encode(), norm(student).encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:8], "big") % 10**9

    @cached_property
    def owners(self) -> dict[int, str]:
        """{number of a copy: the student whose it is}."""
        return {self.seed(student): student for student in self.students}

    def own(self, items: Sequence[Item], student: str) -> list[Item]:
        """The items with a student's numbers."""
        seed = self.seed(student)
        return [variants.of(item, seed) for item in items]


def note(job: Job, of: Variants | None) -> str:
    """What is odd about a notebook in which items vary, as a sentence; "" if it is the copy that its student got.

    of    the copies of the class; None if no word is known
    """
    named, cell = job.variant, job.variant_cell
    if of is None:
        if named is None and cell is None:
            return ""
        return (
            f"{MARK}This is a copy with numbers of its own ({cell if named is None else named}), but without the class's word nobody knows "
            "whose. It was graded with the course's numbers; give the word: --variants WORD."
        )
    own = of.seed(job.student)
    graded = f"It was graded with the numbers of {job.student}."
    if named == own:
        if cell is None:
            return (
                f"{MARK}The line that chooses its numbers is gone, so its checks had the course's. {graded}"
            )
        return "" if cell == own else f"{MARK}Its first cell was changed to {_whose(cell, of)}. {graded}"
    if named is None:
        if cell is None:
            return f"{MARK}It names no numbers: it is {COURSE}, or they were taken out. {graded}"
        if cell == own:
            return f"{MARK}Its metadata were lost, but its first cell has the right numbers."
        return f"{MARK}Its first cell has {_whose(cell, of)}, and its metadata name none. {graded}"
    mended = f", with the line of {job.student} put in" if cell == own else ""
    return f"{MARK}It has {_whose(named, of)}{mended}. {graded}"


def _whose(seed: int, of: Variants) -> str:
    student = of.owners.get(seed)
    return f"the numbers of {student}" if student else f"numbers that are nobody's in this class ({seed})"


@dataclass(frozen=True)
class Borrowed:
    """An answer that is none to the student's own numbers."""

    student: str
    item: str
    owners: tuple[str, ...]
    """Those to whose numbers it is one: right, or a known mistake."""
    same: tuple[str, ...] = ()
    """Others who gave the very same answer, which fits nobody's numbers."""


def borrowed(item: Item, answers: Mapping[str, Any], of: Variants) -> list[Borrowed]:
    """The answers to an item that varies, {student: value}, that fit another copy, or that two students share although their numbers differ.

    Answers of fewer than two different numbers are left out: they agree by chance.
    """
    known: dict[str, set[str]] = {}
    owners: dict[str, list[str]] = {}
    for student, seed in [*((student, of.seed(student)) for student in of.students), (COURSE, None)]:
        one = variants.of(item, seed)
        known[student] = {
            _key(a) for a in (one.expected, *one.accept, *(wrong.answer for wrong in one.wrong))
        }
        for key in known[student]:
            owners.setdefault(key, []).append(student)
    keys = {
        student: _key(answer)
        for student, answer in answers.items()
        if student in known and len({n for n in _numbers(answer) if n}) > 1
    }
    strange = {student: key for student, key in keys.items() if key not in known[student]}
    sharing: dict[str, list[str]] = {}
    for student, key in strange.items():
        if key not in owners:
            sharing.setdefault(key, []).append(student)
    found = []
    for student, key in sorted(strange.items()):
        others = tuple(who for who in sharing.get(key, ()) if who != student)
        if key in owners or others:
            found.append(Borrowed(student, item.id, tuple(owners.get(key, ())), others))
    return found


def _key(answer: Any) -> str:
    """A text that is the same for two answers that `plain.same` takes for one, rounding at an edge aside."""
    return json.dumps(_rounded(answer))


def _rounded(x: Any) -> Any:
    if isinstance(x, list):
        return [_rounded(part) for part in x]
    if isinstance(x, dict):
        return _rounded(x["data"]) if "data" in x else str(x.get("float", x))
    if isinstance(x, bool) or x is None:
        return str(x).casefold()
    return f"{x:.4g}" if isinstance(x, int | float) else str(x).casefold()


def _numbers(x: Any) -> Iterator[float]:
    if isinstance(x, dict):
        x = x.get("data")
    if isinstance(x, list):
        for part in x:
            yield from _numbers(part)
    elif isinstance(x, int | float) and not isinstance(x, bool):
        yield x


def some(names: Sequence[str]) -> str:
    """A few names in words."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
