"""What the notebooks ask with `lab.reveal`, and what each answer tells about the one who gave it.

One text file per notebook, predictions/04.txt:

    04.b                                   the question's id, the third argument of lab.reveal; `04.b and more` if something
                                           is shown only to those who have answered
    ? a.grad                               a part with choices: every answer that is offered, in the order of the text
    - a.grad                               a part with a free answer: the right one, and wrong ones that are foreseen
    - right answers, in percent +- 3       an estimate: so far off still counts as right
    = 96: why it is so                     the right answer
    48 M06: what went wrong                a wrong one, with the misconception behind it if it has a name (misconceptions.py)
    > Why it has to be 96.                 what is said when all parts are answered, whatever the answer; a line a paragraph

Answers are written as in Python; what Python cannot read is a word. What a notebook would say after a question, and what would
give its answer away, stands here: the prose below the question is on the page before anybody has answered.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from . import packed

FOLDER = Path(__file__).parent / "predictions"
_ANSWER = re.compile(r"(= )?(.+?)(?: (M\d\d))?: (.+)")


class Answer(NamedTuple):
    """An answer that somebody may give, and what is said to it."""

    value: Any
    why: str
    right: bool = False
    misconception: str = ""


class Part(NamedTuple):
    """One value that is asked for."""

    label: str
    offered: bool
    """Whether the answers are choices."""
    answers: list[Answer]
    within: float = 0
    """How far off a number may be."""


class Question(NamedTuple):
    """One call of `lab.reveal`."""

    id: str
    parts: list[Part]
    more: bool = False
    """Whether something is shown only to those who have answered."""
    after: tuple[str, ...] = ()
    """What is said when all parts are answered, paragraph by paragraph."""


def question(ask: str) -> Question | None:
    """The question of this id, None if there is none."""
    return questions(ask.split(".")[0]).get(ask)


@cache
def questions(number: str) -> dict[str, Question]:
    """All questions of the notebook of this number, by id. Raises ValueError for a line that cannot be read."""
    return parse(packed.text_of(FOLDER, number, ".txt"))


def parse(text: str) -> dict[str, Question]:
    """The questions in the text of a file."""
    found: dict[str, Question] = {}
    for line in filter(str.strip, text.splitlines()):
        if heading := re.fullmatch(r"(\d\d\.[a-z]+)( and more)?", line):
            now = found[heading[1]] = Question(heading[1], [], bool(heading[2]))
        elif part := re.fullmatch(r"([?-]) (.+?)(?: \+- (\S+))?", line):
            now.parts.append(Part(part[2], part[1] == "?", [], float(part[3] or 0)))
        elif line.startswith("> "):
            now = found[now.id] = now._replace(after=(*now.after, line[2:]))
        elif answer := _ANSWER.fullmatch(line):
            right, value, misconception, why = answer.groups()
            now.parts[-1].answers.append(Answer(_read(value), why, bool(right), misconception or ""))
        else:
            raise ValueError(f"not a line of predictions: {line}")
    return found


def _read(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
