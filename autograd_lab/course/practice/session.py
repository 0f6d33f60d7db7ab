"""The questions of one call of `lab.practice`, one after the other: how hard the next one is follows from the answers."""

from __future__ import annotations

import importlib
import random
from typing import Any

from ..contents import title
from ..reveal import bare, judge, line, open_, plain
from .question import LEVELS, Kind, Question, draw, show

NOTEBOOKS = ("00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "12")
"""The notebooks that have practice."""
UP = 2
"""So many right answers in a row at a level lead to the next one; a wrong one leads back. assets/practice.js does the same."""
MOST_SEED = 10_000
MOST_AGAIN = 20
"""So often a question is drawn anew that was asked before."""


def kinds(number: str) -> list[Kind]:
    """The kinds of questions of a notebook. Raises ValueError if it has none."""
    if number not in NOTEBOOKS:
        raise ValueError(
            f"lab.practice has no questions for {number!r}. What to do: give the number of a notebook in quotes, "
            f"one of {', '.join(NOTEBOOKS)}"
        )
    return list(importlib.import_module(f".of_{number}", __package__).KINDS)


def ask(number: str, seed: int, n: int, level: int, seen: set[str] | None = None) -> Question:
    """Question `n` (from 0) of a notebook: always the same for a seed, a level, and what was `seen` before, to which it is added."""
    known = kinds(number)
    kind = known[(random.Random(f"{number} {seed}").randrange(len(known)) + n) % len(known)]
    seen = set() if seen is None else seen
    for again in range(MOST_AGAIN):
        question = draw(kind, f"{number} {seed} {n} {level}" + f" {again}" * bool(again), level)
        if question.key not in seen:
            break
    seen.add(question.key)
    return question


def following(level: int, run: int, right: bool) -> tuple[int, int]:
    """The level after an answer, and how many right ones in a row were given at it."""
    if not right:
        return max(level - 1, LEVELS[0]), 0
    if run + 1 == UP and level < LEVELS[-1]:
        return level + 1, 0
    return level, run + 1


class Verdict:
    """What became of an answer."""

    def __init__(self, right: bool, lines: list[str], misconceptions: tuple[str, ...]) -> None:
        self.right = right
        self.misconceptions = misconceptions
        """The ids of the known misconceptions behind it."""
        self._lines = lines

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return "\n".join(self._lines)


class Practice:
    """Questions without end: `.question`, `.answer(...)`, `.show_me()`, `.step()`; a notebook shows a card for it."""

    def __init__(self, number: str, seed: int) -> None:
        kinds(number)
        self.number, self.seed = number, seed
        self.level, self.run, self.streak, self.n = LEVELS[0], 0, 0, 0
        self.right = 0
        """How many answers were right, of `n`."""
        self._seen: set[str] = set()
        self._question: Question | None = None
        self._before: Question | None = None
        self._card: Any = None

    @property
    def question(self) -> Question:
        """The question that waits for an answer."""
        if self._question is None:
            self._question = ask(self.number, self.seed, self.n, self.level, self._seen)
        return self._question

    def answer(self, *said: Any) -> Verdict:
        """The verdict on an answer; then the next question is there.

        said    a number, a word, None, or a list; one for each part, if the question has several: `p.answer(12, None)`

        Raises ValueError if it is not one for each part. `...` is no answer, and changes nothing.
        """
        asked, parts = self.question.asked, self.question.parts
        if len(said) == 1 and len(parts) > 1 and isinstance(said[0], list | tuple):
            said = tuple(said[0])
        if len(said) != len(parts):
            wanted = ", ".join(part.label for part in parts)
            raise ValueError(
                f"this question asks for {len(parts)}, {wanted}, and you gave {len(said)}. What to do: give one after the other"
            )
        if open_(list(said)):
            return Verdict(False, ["There is no answer yet: the dots are still there."], ())
        verdicts, lines, found = [], [], []
        for part, own, one in zip(asked, parts, said, strict=True):
            given = plain(one)
            right, why = judge(part, given, own.truth)
            verdicts.append(right)
            told = {
                "label": part.label,
                "right": right,
                "why": why,
                "said": show(given),
                "truth": show(own.truth),
            }
            lines.append(line(told, len(parts) > 1).replace("**", ""))
            found += [a.misconception for a in part.answers if a.why == why and a.misconception]
        self.note(all(verdicts))
        return Verdict(all(verdicts), [*lines, self.standing()], tuple(dict.fromkeys(found)))

    def show_me(self) -> Verdict:
        """The right answer and why. It counts as a wrong one, so that the next question is easier."""
        lines = [f"{part.label}: {show(part.truth)}. {part.why}" for part in self.question.parts]
        self.note(False)
        return Verdict(False, [*lines, self.standing()], ())

    def note(self, right: bool) -> None:
        """Go on to the next question after a right or a wrong answer."""
        self._before, self._question = self.question, None
        self.level, self.run = following(self.level, self.run, right)
        self.streak = self.streak + 1 if right else 0
        self.right += right
        self.n += 1

    def step(self) -> Any:
        """The stepper on the program of the last question that was answered; before the first answer, a ValueError."""
        if self._before is None:
            raise ValueError(
                "the stepper would give the answer away. What to do: answer first, or call show_me()"
            )
        from autograd_lab import widgets

        return widgets.step(self._before.program.trace)

    def standing(self) -> str:
        """Level, and how many answers were right."""
        row = f", {self.streak} in a row" if self.streak > 1 else ""
        return f"Level {self.level} of {LEVELS[-1]}. {self.right} of {self.n} right{row}."

    @property
    def call(self) -> str:
        """The call that gives the same questions again."""
        return f'lab.practice("{self.number}", seed={self.seed})'

    def __repr__(self) -> str:
        return text(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        from autograd_lab.widgets.practice import still

        return {"text/plain": text(self), "text/html": still(self)}

    def _ipython_display_(self, **kwargs: Any) -> None:
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        if getattr(get_ipython(), "kernel", None) is None:  # a terminal
            print(text(self))
        elif (card := self._display_()) is self:  # no widgets are installed
            display(self._repr_mimebundle_(), raw=True)
        else:
            card._ipython_display_(**kwargs)

    def _display_(self) -> Any:
        """The card, which marimo asks for; this object itself where no widgets are installed."""
        try:
            from autograd_lab.widgets.practice_card import Card
        except ImportError:
            return self
        self._card = self._card or Card(self)
        return self._card


def text(practice: Practice) -> str:
    """The question as lines of text, and how to answer it."""
    question = practice.question
    lines = [f"Practice {practice.number} \u00b7 {title(practice.number)}. Question {practice.n + 1}, level {practice.level} of {LEVELS[-1]}.", ""]  # fmt: skip
    lines += [f"    {one}" for one in question.program.code.splitlines()]
    lines += ["", question.ask.replace("`", "")]
    for part in question.asked:
        choices = " \u00b7 ".join(bare(answer.value) for answer in part.answers) if part.offered else ""
        lines += [f"  {part.label}: {choices}".rstrip().rstrip(":")]
    if question.chips:
        lines.append(f"  Put in order: {', '.join(question.chips)}")
    dots = ", ".join("..." for _ in question.parts)
    return "\n".join(
        [*lines, "", f"Answer with p.answer({dots}), where p = {practice.call}; p.show_me() tells."]
    )


def practice(number: str, seed: int | None = None) -> Practice:
    """Ever new questions on small graphs; see lab.practice."""
    if not isinstance(number, str):
        raise TypeError(
            f'lab.practice takes the number of a notebook in quotes, such as "04", not {type(number).__name__} {number!r}'
        )
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
        raise TypeError(
            f"seed is a whole number, such as 7, or left out for new questions; this is {type(seed).__name__} {seed!r}"
        )
    return Practice(number, random.SystemRandom().randrange(1, MOST_SEED) if seed is None else seed)
