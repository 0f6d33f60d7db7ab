"""Does practice hold what it promises? Every kind of question, over many seeds, in one table.

    python -m autograd_lab.course.bank --practice

Each question: the right answer is accepted, each known mistake is refused and named, and no two answers are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..reveal import judge, same
from .question import LEVELS, Kind, Question, draw
from .session import NOTEBOOKS, kinds


@dataclass
class Row:
    """One kind of question."""

    notebook: str
    kind: str
    questions: int = 0
    different: int = 0
    """How many of the questions differ in their program, or in what is asked."""
    accepted: int = 0
    """Questions whose right answer is accepted."""
    mistakes: int = 0
    named: int = 0
    tries: int = 0
    """Questions that were drawn until all had answers that differ."""
    most: int = 0

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.accepted == self.questions and self.named == self.mistakes > 0


def rows(seeds: int, notebooks: tuple[str, ...] = NOTEBOOKS) -> Iterator[Row]:
    """A row for each kind of these notebooks: the seeds 0, 1, ..., at levels that take turns."""
    for number in notebooks:
        for kind in kinds(number):
            yield _row(number, kind, seeds)


def _row(number: str, kind: Kind, seeds: int) -> Row:
    row, seen = Row(number, kind.__name__), set()
    for seed in range(seeds):
        question = draw(kind, f"{number} {seed} proof", LEVELS[seed % len(LEVELS)])
        right, mistakes, named = judged(question)
        row.questions += 1
        row.accepted += right
        row.mistakes += mistakes
        row.named += named
        row.tries += question.tries
        row.most = max(row.most, question.tries)
        seen.add((question.program.code, question.ask))
    row.different = len(seen)
    return row


def judged(question: Question) -> tuple[bool, int, int]:
    """(whether the right answers are accepted, how many mistakes are known, how many of them are refused and named)."""
    right, mistakes, named = True, 0, 0
    for asked, part in zip(question.asked, question.parts, strict=True):
        right &= judge(asked, part.truth, part.truth)[0]
        values = [part.truth, *(mistake.value for mistake in part.mistakes)]
        for i, mistake in enumerate(part.mistakes, 1):
            mistakes += 1
            alone = not any(same(mistake.value, other) for j, other in enumerate(values) if j != i)
            named += alone and judge(asked, mistake.value, part.truth) == (False, mistake.says)
    return right, mistakes, named


def table(found: list[Row]) -> str:
    """The rows as text."""
    head = f"{'':<4}{'kind':<13}{'questions':>9}{'different':>11}{'accepted':>10}{'mistakes':>10}{'named':>8}{'redrawn':>9}{'most':>6}"
    lines = [head]
    for row in found:
        redrawn = 100 * (row.tries - row.questions) / row.tries
        lines.append(
            f"{row.notebook:<4}{row.kind:<13}{row.questions:>9}{row.different:>11}{row.accepted:>10}{row.mistakes:>10}{row.named:>8}{redrawn:>7.0f} %{row.most:>6}"
        )
    sums = [sum(getattr(row, name) for row in found) for name in ("questions", "different", "accepted", "mistakes", "named")]  # fmt: skip
    lines.append(
        f"{'all':<4}{len(found):<13}"
        + "".join(f"{n:>{w}}" for n, w in zip(sums, (9, 11, 10, 10, 8), strict=True))
    )
    return "\n".join(lines)
