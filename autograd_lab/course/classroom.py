"""`lab.classroom("M06")`: a question for the whole class, a show of hands, then the truth and the stepper.

The programs and answers are those of ballots.py. A program runs when its question is asked, and is recorded like any other;
its result is the truth, which is not stored anywhere.
"""

from __future__ import annotations

import warnings
from html import escape
from importlib import import_module
from typing import Any

from autograd_lab.tracing import Trace
from autograd_lab.tracing.recorder import keep_last, record
from autograd_lab.tracing.sources import keep_source

from .ballots import BALLOTS, Ballot
from .misconceptions import MISCONCEPTIONS


def classroom(question: str | None = None) -> Any:
    """Ask the class: the question of a misconception, such as "M06"; without one, the list of all questions.

    c = lab.classroom("M06")     the program and its answers A, B, C, ...
    c.tally(A=12, B=5, C=8)      a show of hands, like the fields on screen
    c.vote_again()               after the students have discussed it; then c.tally(...) once more
    c.reveal()                   the truth, why the misconception fails, and the stepper on the same program

    Without widgets installed it is text and HTML, with the same methods. Raises KeyError for an unknown id.
    """
    if question is None:
        return Questions()
    poll, trace = ask(question)
    try:
        from autograd_lab.widgets.classroom import Classroom
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("autograd_lab"):
            raise
        from autograd_lab.widgets.poll import TextPoll

        return TextPoll(poll, trace)
    return Classroom(poll, trace)


def ask(question: str) -> tuple[dict[str, Any], Trace]:
    """A question with its computed truth, as plain data, and the trace of its program."""
    key = str(question).strip().upper()
    if key not in BALLOTS:
        raise KeyError(
            f"there is no question {question!r}: they are called {', '.join(BALLOTS)}; lab.classroom() lists them"
        )
    ballot = BALLOTS[key]
    gave, trace = run(key, ballot.program)
    answers = list(ballot.answers)
    if gave not in answers:
        raise ValueError(
            f"the program of {key} gives {gave!r}, which is none of its answers: {', '.join(answers)}. "
            "Another version of NumPy or of the engine computes something else; please report it."
        )
    about = MISCONCEPTIONS[key]
    return {
        "id": key, "home": about.home, "believes": about.believes, "ask": ballot.ask,
        "code": ballot.program.splitlines(),
        "answers": [{"text": text, "why": why} for text, why in ballot.answers.items()],
        "truth": answers.index(gave), "trap": answers.index(ballot.trap), "refutes": ballot.refutes,
    }, trace  # fmt: skip


def run(name: str, program: str) -> tuple[str, Trace]:
    """Run a program under the recorder: the value of its last line ("an error" if it raises), and the trace."""
    torch = import_module(
        "autograd_lab"
    )  # imported late, as a student's program would: it is above the course
    lines = program.rstrip("\n").split("\n")
    lines[-1] = f"_asked = {lines[-1]}"
    file = f"<{name}>"
    # the stepper shows the lines as in the question; only the last one differs, and it computes nothing
    keep_source(file, program)
    space: dict[str, Any] = {"torch": torch}
    with keep_last(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a .grad that is not retained; the stepper says so, too
        recording = record(title=name)
        try:
            with recording as trace:
                exec(compile("\n".join(lines), file, "exec"), space)
        except (RuntimeError, ValueError, TypeError):
            return "an error", trace
        return show(space["_asked"]), trace


def show(value: Any) -> str:
    """A value as written in the answers: 96, None, [2, 0, 0], MulBackward0, "0, None" for two."""
    if hasattr(value, "next_functions"):
        return str(value.name())
    if hasattr(value, "tolist"):
        return _numbers(value.tolist())
    if isinstance(value, tuple):
        if (
            all(isinstance(part, int) and not isinstance(part, bool) for part in value)
            and type(value) is not tuple
        ):
            return str(tuple(value))  # a shape
        return ", ".join(map(show, value))
    return _numbers(value)


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_numbers, value)) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Questions:
    """The list of all questions, by notebook."""

    def _rows(self) -> list[tuple[str, str, str]]:
        def order(item: tuple[str, Ballot]) -> tuple[str, str]:
            return MISCONCEPTIONS[item[0]].home, item[0]

        return [
            (MISCONCEPTIONS[key].home, key, MISCONCEPTIONS[key].believes)
            for key, _ in sorted(BALLOTS.items(), key=order)
        ]

    def __repr__(self) -> str:
        rows = [f"  {home}        {key}   {believes}" for home, key, believes in self._rows()]
        return "\n".join(
            ['Ask one with lab.classroom("M06").', "  notebook  id    what students may believe", *rows]
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{home}</td><td>{key}</td><td>{escape(believes)}</td></tr>"
            for home, key, believes in self._rows()
        )
        return (
            '<p>Ask one with <code>lab.classroom("M06")</code>.</p>'
            f"<table><tr><th>notebook</th><th>id</th><th>what students may believe</th></tr>{rows}</table>"
        )
