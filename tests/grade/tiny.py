"""A notebook of three items that runs in a moment, for tests of what runs and scores notebooks.

1.1   a number, 7          1.2   a program that doubles, with a visible and a hidden probe          1.3   a list, [1, 2]
"""

from __future__ import annotations

from typing import Any

from autograd_lab.course.items import Item, Probe, Wrong
from autograd_lab.grade.model import Cell, Job, Limits, Result
from autograd_lab.grade.scoring import score

BOOK = "01_tiny"
STUB = "def double(x):\n    ...  # your code here\n"
EARLIER = "def double(x):\n    return x * x\n"
"""What stood in place of the stub in an earlier delivery."""
SECRET = 86_420_975
"""What the hidden probe expects: it stands nowhere that a submission can see."""

ITEMS = {
    BOOK: [
        Item("1.1", "number", 2, expected=7, wrong=[Wrong("That is one too many.", "off-by-one", 0.5, 8)]),
        Item(
            "1.2",
            "code",
            3,
            stub=STUB,
            earlier=[EARLIER],
            probes=[
                Probe(
                    "small", 1, "def small(answer, x):\n    return answer(x)", "", [[1], [2]], [2, 4]
                ),
                Probe(
                    "large", 2, "def large(answer, x):\n    return answer(x) * 5 + 5", "A large number",
                    [[8_642_097]], [SECRET], hidden=True,
                ),
            ],
            wrong=[Wrong("It squares.", "square", 0.25, outputs={"small(1)": 1, "small(2)": 4})],
        ),
        Item("1.3", "order", 4, expected=[1, 2], partial=True),
    ]
}  # fmt: skip
FULL = {"1.1": 2.0, "1.2": 3.0, "1.3": 4.0}
RIGHT = {"1.1": "seven = 7", "1.2": "def double(x):\n    return 2 * x", "1.3": "order = [1, 2]"}
NAMES = {"1.1": "seven", "1.2": "double", "1.3": "order"}

BRIEF = Limits(
    cell_cpu=1.0,
    cell_wall=60.0,
    probe_cpu=1,
    probe_wall=60.0,
    job_wall=300.0,
    memory=1 << 30,
    file=8 << 20,
    processes=24,
)
"""Limits that are met quickly."""


def job(student: str = "ada", extra: dict[str, str] | None = None, **answers: str) -> Job:
    """The notebook with all items right, but for `answers` (a1=..., a2=..., a3=...).

    `extra` are a student's own cells, {item: source}, each in front of that item's answer; "end" comes last.
    """
    extra = extra or {}
    cells = [Cell("start", "import autograd_lab as torch\nfrom autograd_lab import lab", "given")]
    for number, (item, right) in enumerate(RIGHT.items(), start=1):
        if item in extra:
            cells.append(Cell(f"own-{number}", extra[item], "extra"))
        source = answers.get(f"a{number}", right)
        cells.append(Cell(f"1-{number}-answer", source, "answer", item, untouched=source == STUB))
        cells.append(Cell(f"1-{number}-check", f'lab.check("{item}", {NAMES[item]})', "check", item))
    if "end" in extra:
        cells.append(Cell("own-end", extra["end"], "extra"))
    return Job(student, BOOK, tuple(cells))


def earned(made: Any, job: Job, run: Any = None) -> dict[str, float]:
    """{item: points} of a run."""
    return {result.item: result.score for result in results(made, job)}


def results(run: Any, job: Job) -> list[Result]:
    """The results of a run, in the notebook's order."""
    return score(job, run, ITEMS)
