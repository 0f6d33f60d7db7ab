"""What is graded: the released notebooks, and the keys to them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from autograd_lab._version import __version__
from autograd_lab.course.items import Item, from_json
from autograd_lab.course.resources import course_root

from . import merge
from .model import CannotGradeError
from .variants import Variants

GRADING = 5
"""Incremented when the same submission and keys may give a different result: everything is then graded again."""


@dataclass(frozen=True)
class Course:
    """What is graded: the released notebooks, and the keys to them."""

    released: Mapping[str, merge.Released]
    items: Mapping[str, Sequence[Item]]
    answers: Path | None = None
    """The folder with the course's own solutions, if there is one."""
    variants: Variants | None = None
    """The copies of the class, if students have numbers of their own."""

    def items_of(self, student: str, notebook: str) -> Sequence[Item]:
        """The items of a notebook as this student is graded on them; none for a notebook without keys."""
        items = self.items.get(notebook, ())
        return items if self.variants is None else self.variants.own(items, student)

    def key_of(self, item: Item, student: str) -> str:
        """A digest of an item's whole key, with the student's numbers."""
        if self.variants is None or not item.variant:
            return self.keys[item.id]
        return f"{self.keys[item.id]} {self.variants.seed(student)}"

    def varies(self, notebook: str) -> bool:
        """Whether an item of a notebook may have other numbers for every student."""
        return any(item.variant for item in self.items.get(notebook, ()))

    @cached_property
    def solutions(self) -> dict[str, str]:
        """{item: the course's own answer, as code}; nothing for those whose notebook cannot be read."""
        found: dict[str, str] = {}
        for path in sorted(self.answers.glob("*.ipynb")) if self.answers else ():
            with suppress(CannotGradeError):
                found |= {
                    cell.item: cell.source for cell in merge.released(path).cells if cell.role == "answer"
                }
        return found

    @cached_property
    def keys(self) -> dict[str, str]:
        """{item: digest of its whole key}."""
        return {item.id: digest_of(item) for items in self.items.values() for item in items}

    @cached_property
    def asks(self) -> dict[str, str]:
        """{notebook: digest of everything that running it depends on, except the submission itself}."""
        return {notebook: self._asked(notebook) for notebook in self.items}

    def _asked(self, notebook: str) -> str:
        asks = [
            [i.id, i.stubs, i.kind, [[p.name, p.source, p.cases] for p in i.probes]]
            for i in self.items[notebook]
        ]
        return digest_of([GRADING, __version__, self.released[notebook].digest, asks])


def load_course(exercises: Path | None = None, keys: Path | None = None) -> Course:
    """The released notebooks in `exercises` and the keys in `keys`, by default those of this checkout.

    Raises CannotGradeError if either is missing.
    """
    root = course_root()
    exercises = exercises or root / "exercises"
    keys = keys or root / "solutions" / "keys"
    books = [merge.released(path) for path in sorted(exercises.glob("*.ipynb"))]
    books = [book for book in books if book.items]
    if not books:
        raise CannotGradeError(
            f"There are no released notebooks in {exercises}.",
            "no notebook in it calls lab.check.",
            "name the folder that was handed out: --exercises FOLDER",
        )
    found: dict[str, Item] = {}
    for path in sorted(keys.glob("*.json")):
        try:
            found |= {item.id: item for item in from_json(path.read_text(encoding="utf-8"))}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise CannotGradeError(
                f"The key {path} cannot be read.", f"{error}.", "restore it, or run `autograd-lab build`"
            ) from error
    if not found:
        raise CannotGradeError(
            f"There are no keys in {keys}.",
            "keys hold the hidden checks; they are in a checkout of the project, not in what students install.",
            "grade from a checkout, or name their folder: --keys FOLDER",
        )
    graded = [book for book in books if all(item in found for item in book.items)]
    return Course(
        {book.name: book for book in graded},
        {book.name: [found[item] for item in book.items] for book in graded},
        keys.parent,
    )


def choose_notebooks(course: Course, wanted: str) -> list[str]:
    """The notebooks meant by "04,05" or "04_backward_node_by_node". Raises CannotGradeError if there is no such notebook."""
    chosen = []
    for word in filter(None, re.split(r"[,\s]+", wanted)):
        fits = [
            name
            for name, book in course.released.items()
            if word.removesuffix(".ipynb") in (name, book.number)
        ]
        if not fits:
            raise CannotGradeError(
                f"There is no notebook {word!r} to grade.",
                "no released notebook with a key has this name or number.",
                f"there are: {', '.join(book.number for book in course.released.values())}",
            )
        chosen += fits
    return sorted(set(chosen))


def digest_of(value: Any) -> str:
    """A digest of plain data, and of data classes."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=vars).encode()).hexdigest()
