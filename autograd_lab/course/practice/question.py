"""One question of `lab.practice`: a small program that has run, what is asked about it, and what each known mistake would say.

A kind of question is a function `make(rng, level) -> Question`, in the file of its notebook (of_04.py). The right answer is what the
engine computes; a known mistake is the same program by a wrong rule, mostly one of engines.py. `draw` asks a kind for another
question while two of its answers are the same: then the answer would not tell who made which mistake.
"""

from __future__ import annotations

import linecache
import random
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import autograd_lab as torch
from autograd_lab.tracing import Trace
from autograd_lab.tracing.recorder import keep_last, record
from autograd_lab.tracing.sources import keep_source

from .. import foreseen, items
from ..reveal import asked, bare, plain, same

LEVELS = range(1, 6)
MOST_TRIES = 200
"""So many questions are drawn at most, until one has answers that all differ."""
MOST, DIGITS = 500, 3
"""A right number has this size at most, and so many decimals: it can be found on paper."""


class RedrawError(Exception):
    """A question that does not do: two of its answers are the same, or a number is too large."""


class Program:
    """A program of a few lines, which has run: once, recorded, in a namespace of its own."""

    def __init__(self, *lines: str) -> None:
        self.code = "\n".join(line for line in lines if line)
        self.space: dict[str, Any] = {"torch": torch, "__name__": "practice"}
        self.error = ""
        """What it raised, "" if nothing."""
        # the recorder knows the text of a file by its name
        self._file = f"<practice {zlib.crc32(self.code.encode()):08x}>"
        # `lab.why` goes on speaking of the student's own recording
        with (
            keep_last(),
            record("practice") as self._recording,
            warnings.catch_warnings(),
            torch.enable_grad(),
        ):
            warnings.simplefilter("ignore")
            try:
                exec(compile(self.code, self._file, "exec"), self.space)
            except RuntimeError as error:
                self.error = str(error)

    @cached_property
    def trace(self) -> Trace:
        """What was recorded, with the variables' names, which are found in the text."""
        keep_source(self._file, self.code)
        found = self._recording
        trace = Trace(found.title, found.sources, found.values, found.tensors, found.nodes, found.events)
        del linecache.cache[self._file]
        return trace

    def __getitem__(self, expression: str) -> Any:
        """What an expression gives after the program has run, as plain data."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # a .grad that is read where there is none is what some questions are about
            return tidy(plain(eval(expression, self.space)))

    def outcome(self, expression: str) -> Any:
        """The same, or "error" if the program has raised one."""
        return "error" if self.error else self[expression]

    def picture(self) -> str:
        """The graph as it is before the first backward pass, as SVG; "" if the program records nothing."""
        from autograd_lab.widgets.frames import film
        from autograd_lab.widgets.themed import themed

        if not self.trace.nodes:
            return ""
        end = next((k for k, e in enumerate(self.trace) if e["k"] == "backward"), len(self.trace))
        return themed(film(self.trace), end)

    def told(self) -> str:
        """The same in words, for those who do not see it: from which tensors each node's tensor was made."""
        trace, made = self.trace, []
        for node in trace.nodes:
            if node["kind"] != "accumulate":
                names = [trace.tensors[t]["name"] or "a constant" for t in node["inputs"]]
                name = trace.tensors[node["outputs"][0]]["name"] or "a tensor in between"
                made.append(f"{name} from {' and '.join(names)}")
        return f"The graph: {'; '.join(made)}" if made else ""


@dataclass(frozen=True)
class Mistake:
    """What a known mistake says, and what is said to it; `id` is its misconception, if it has one."""

    value: Any
    says: str
    id: str = ""


def bank(item: str, begins: str, value: Any) -> Mistake:
    """A mistake that `lab.check` knows: the sentence of the item's wrong answer that begins so. Raises LookupError if there is none."""
    for wrong in items.shipped()[item].wrong:
        if wrong.says.startswith(begins):
            return Mistake(value, wrong.says, wrong.id)
    raise LookupError(f"no wrong answer of item {item} is told: {begins}...")


@dataclass
class Part:
    """One value that is asked for."""

    label: str
    truth: Any
    why: str
    mistakes: Sequence[Mistake]
    offered: bool = False
    """Whether the answers are choices."""

    def __post_init__(self) -> None:
        self.truth = tidy(self.truth)
        self.mistakes = [Mistake(tidy(m.value), m.says, m.id) for m in self.mistakes]

    def foreseen(self, rng: random.Random) -> foreseen.Part:
        """The same as a part of `lab.reveal`'s; choices are mixed, if there are more than two words."""
        answers = [foreseen.Answer(self.truth, self.why, True)]
        answers += [foreseen.Answer(m.value, m.says, False, m.id) for m in self.mistakes]
        if all(isinstance(a.value, int | float) and not isinstance(a.value, bool) for a in answers):
            answers.sort(key=lambda answer: answer.value)
        elif {a.value for a in answers if isinstance(a.value, bool)} == {True, False}:
            answers.sort(key=lambda answer: not answer.value)
        else:
            rng.shuffle(answers)
        return foreseen.Part(self.label, self.offered, answers)


@dataclass
class Question:
    """What is asked about a program."""

    ask: str
    program: Program
    parts: Sequence[Part]
    chips: Sequence[str] = ()
    """Names to put in order: a click writes the next one."""
    graph: str = "before"
    """When its graph is shown: "before" the answer, "after" it, or "never"."""
    kind: str = field(default="", init=False)
    tries: int = field(default=0, init=False)
    seed: str = field(default="", init=False)

    def check(self) -> None:
        """Raise RedrawError if two answers to a part are the same, or if a number is too large for paper."""
        for part in self.parts:
            values = [part.truth, *(mistake.value for mistake in part.mistakes)]
            for i, value in enumerate(values):
                if any(same(value, other) for other in values[:i]):
                    raise RedrawError(f"two answers to {part.label} are {value}")
            if not all(map(_friendly, _numbers(part.truth))):
                raise RedrawError(f"{part.truth} is hard to compute on paper")

    @property
    def key(self) -> str:
        """What two questions have in common that are the same."""
        return f"{self.program.code}\n{self.ask}"

    @cached_property
    def asked(self) -> list[foreseen.Part]:
        """Its parts in the form of `lab.reveal`."""
        rng = random.Random(f"{self.seed} choices")
        return [part.foreseen(rng) for part in self.parts]

    def card(self) -> list[dict[str, Any]]:
        """Each part for the card, as `reveal.judged` gives it."""
        return [
            asked(part, ..., one.truth, answered=False)
            for part, one in zip(self.asked, self.parts, strict=True)
        ]


Kind = Callable[[random.Random, int], Question]


def draw(kind: Kind, seed: str, level: int) -> Question:
    """The question of this kind, seed and level: always the same. Raises RuntimeError if none of 200 will do, which the bank rules out."""
    rng = random.Random(seed)
    last: Exception | None = None
    for tries in range(1, MOST_TRIES + 1):
        try:
            question = kind(rng, level)
            question.check()
        except RedrawError as error:
            last = error
            continue
        question.kind, question.tries, question.seed = kind.__name__, tries, seed
        return question
    raise RuntimeError(
        f"practice {kind.__module__}.{kind.__name__}, seed {seed!r}, level {level}: "
        f"none of {MOST_TRIES} questions will do, the last because {last}. This is a bug of autograd_lab's"
    )


def tidy(value: Any) -> Any:
    """Numbers as on paper: to six digits, and whole ones without a point."""
    if isinstance(value, float):
        rounded = float(f"{value:.6g}") + 0.0
        return int(rounded) if rounded.is_integer() and abs(rounded) < 1e9 else rounded
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(map(tidy, value))
    return value


def show(value: Any) -> str:
    """A value in a sentence."""
    return bare(tidy(value))


def leaf(name: str, value: float) -> str:
    """The line that makes a leaf."""
    return f"{name} = torch.tensor({float(value)}, requires_grad=True)"


def constant(name: str, value: float) -> str:
    """The line that makes a tensor that does not require a gradient."""
    return f"{name} = torch.tensor({float(value)})"


def times(n: int) -> str:
    """How often, in words."""
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def both(n: int) -> str:
    """All of so many, in words."""
    return "both" if n == 2 else f"all {n}"


def _numbers(value: Any) -> list[float]:
    if isinstance(value, list | tuple):
        return [number for one in value for number in _numbers(one)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _friendly(number: float) -> bool:
    return abs(number) <= MOST and abs(number - round(number, DIGITS)) < 1e-9
