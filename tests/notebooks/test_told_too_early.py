"""What a student's page says below an open question does not answer it. (What cells print: see test_predictions.py.)

A long answer (96, MulBackward0, a list) is looked for in all that follows in the notebook; a short one (3, True, error) as far as
the next question, alone in code or as a word. Explanations stand in predictions/, under `> `, and come with the answer.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest

from autograd_lab.course import build
from autograd_lab.course.foreseen import questions
from autograd_lab.course.reveal import bare, plain
from autograd_lab.course.student import INSTRUCTOR

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))

IN_WORDS = {
    0: ("zero", "no"), 1: ("one", "once"), 2: ("two", "twice", "both"), 3: ("three",), 4: ("four",), 5: ("five",),
    6: ("six",), 7: ("seven",), 8: ("eight",), 9: ("nine",), 10: ("ten",), 12: ("twelve",), 15: ("fifteen",), 20: ("twenty",),
}  # fmt: skip

# Words that every notebook has in these places, whatever the answers are.
FRAME = re.compile(r"^#+ .*$|^\d\. |\*\*\d+ minutes.*$|\(\d\)|\]\(\S+\)|^- \[.*$", re.MULTILINE)


# Where a short answer means something else: fenced code, formulas, the choices of the next question.
ELSEWHERE = re.compile(
    r"```.*?```|\$[^$]*\$|`[^`\n]+`(?: · `[^`\n]+`)+|`\"[^`\n]+\"`(?:(?:,|,? or) `\"[^`\n]+\"`)+", re.DOTALL
)


class Hit(NamedTuple):
    """An answer that is found, and the words around it."""

    ask: str
    form: str
    around: str

    def is_at(self, place: tuple[str, str, str]) -> bool:
        """Whether it is at this place: (question, form, words around it)."""
        return (self.ask, self.form) == place[:2] and place[2] in self.around


def forms(value: Any) -> tuple[list[str], bool]:
    """How an answer may be written, and whether that is long enough to mean nothing else."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float | list | tuple):
        return [bare(value)], len(bare(value)) > 6
    if isinstance(value, int | float):
        return [f"{value:g}", *IN_WORDS.get(value, ())], len(f"{value:g}") > 1
    if not value:
        return [bare(value)], True
    inside = [", ".join(map(bare, value)), ", ".join(map(repr, value)), " and ".join(map(bare, value))]
    return [bare(value), *(inside if len(value) > 1 else ())], True


def told(cells: list[Any], known: dict[str, Any]) -> Iterator[Hit]:
    """Answers in the prose that follows their question."""
    for_ever: dict[str, list[str]] = {}
    until_next: dict[str, list[str]] = {}
    for cell in cells:
        if INSTRUCTOR in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "code":
            if asked := re.findall(r'"(\d\d\.[a-z])"', cell.source):
                until_next = {}
            for ask in asked:
                for part in known[ask].parts:
                    written, long = forms(next(a.value for a in part.answers if a.right))
                    (for_ever if long else until_next).setdefault(ask, []).extend(written)
            continue
        everything = FRAME.sub(" ", cell.source)
        # code is an answer only if it is nothing else
        short = re.sub(
            r"`([^`]+)`",
            lambda code: " " if re.search(r"[ ,(=\[]", code[1]) else code[1],
            ELSEWHERE.sub(" ", everything),
        )
        places = [(everything, *one) for one in for_ever.items()] + [
            (short, *one) for one in until_next.items()
        ]
        for prose, ask, written in places:
            for form in written:
                for found in re.finditer(rf"(?<![\w.\-]){re.escape(form)}(?!\w|\.\d)", prose, re.IGNORECASE):
                    around = prose[max(0, found.start() - 30) : found.end() + 30]
                    yield Hit(ask, form, " ".join(around.split()))


# (question, answer, words around it): why it does not tell. Each was looked at.
HARMLESS: dict[tuple[str, str, str], str] = {
    ("01.a", "2", "slope of at 2 is"): "the place, not the number of operations",
    ("02.c", "MulBackward0", "AddBackward0 MulBackward0"): "the graph to write code for, of other lines",
    ("02.c", "MulBackward0", "None MulBackward0"): "the same graph",
    ("02.c", "MulBackward0", "((<MulBackward0 object"): "the edges of another program",
    ("04.f", "both", "Both engines"): "two engines, not two messages",
    (
        "04.f",
        "both",
        "Both edges lead to the same node",
    ): "of a tensor that is used again, in another program",
    ("04.f", "one", "add one rule"): "a rule",
    ("04.f", "one", "the one that was made last"): "a node",
    ("06.i", "h", "a state h"): "another program",
    ("07.a", "detach", "where detach makes"): "the subject of the notebook, not the cure",
    ("07.k", "no_grad", "under `no_grad`. Then it stays"): "of the update, not of the memory",
    ("08.c", "(3, 1)", "to a tensor of shape `(3, 1)`"): "the tensor of another question",
    ("08.c", "3, 1", "to a tensor of shape `(3, 1)`"): "the same",
    ("08.e", "two", "first two and of the last two"): "two of four numbers",
    ("08.e", "two", "two backward calls"): "calls",
    ("09.m", "backward", "`backward(v)` weights"): "the method",
    ("09.m", "backward", "Backward needs a pass"): "both modes are named, and what each needs",
    ("10.d", "error", 'a number, or "error"'): "the choices of the next question",
    ("11.e", "0", "away from 0"): "the place, not the slope",
    ("14.c", "3", "3. x with one row"): "the third call of a list",
}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_no_prose_below_a_question_answers_it(source):
    number = source.stem[:2]
    found = [*told(build.read_source(source).cells, questions(number))]
    assert [hit for hit in found if not any(map(hit.is_at, HARMLESS))] == []
    assert [
        one for one in HARMLESS if one[0][:2] == number and not any(hit.is_at(one) for hit in found)
    ] == []


def test_an_answer_in_later_prose_is_found():
    """In the notebook where it would be: each way in which an answer may be written."""
    cells = build.read_source(SOURCES[4]).cells  # of 04
    asked = next(i for i, cell in enumerate(cells) if cell.cell_type == "code" and '"04.f"' in cell.source)
    for sentence, ask in (
        ("so `a.grad` is 96", "04.c"),
        ("they give 144", "04.e"),
        ("b waits for two", "04.f"),
    ):
        spoilt = build.read_source(SOURCES[4]).cells
        spoilt.insert(asked + 1, nbformat.v4.new_markdown_cell(sentence + " here"))
        assert ask in {hit.ask for hit in told(spoilt, questions("04")) if sentence in hit.around}
    assert not any("here" in hit.around for hit in told(cells, questions("04")))
