"""A question with answers, two votes by show of hands, and a locked truth: all of `lab.classroom` except the widget.

classroom.py in this folder draws it, with the stepper on the question's program. This module needs no widget package
and is also the form that viewers without widgets get. The questions themselves are in course/ballots.py; see course/classroom.py.
"""

from __future__ import annotations

from html import escape
from typing import Any

import traitlets

from autograd_lab.tracing import Trace
from autograd_lab.tracing.trace import Record

from . import still
from .frames import film

ROUNDS = ("first vote", "second vote")
MOST_HANDS = 9999
_WIDE = 20  # characters of the longest bar


class Poll(traitlets.HasTraits):
    """The votes on one question. `poll` is its record: id, ask, code, answers, truth, trap, believes, refutes."""

    poll: Record
    votes = traitlets.List(help="hands for each answer, in the first and in the second vote").tag(sync=True)
    round = traitlets.Enum([1, 2], 1, help="which vote is being taken").tag(sync=True)
    revealed = traitlets.Bool(False, help="whether the truth has been shown").tag(sync=True)
    bars = traitlets.Bool(False, help="whether the bars are shown before the truth is").tag(sync=True)

    def _open_poll(self, poll: Record) -> None:
        self.poll = poll
        self.votes = [[0] * len(poll["answers"]) for _ in ROUNDS]

    @property
    def letters(self) -> str:
        """The letters of the answers: ABC or ABCD."""
        return "ABCDEFGH"[: len(self.poll["answers"])]

    def tally(self, **hands: int) -> Any:
        """Record a show of hands: c.tally(A=12, B=5). Answers not named have none; a second call corrects the first.

        Raises ValueError for an answer that is not offered, for a number that is not a count, or after the truth has been shown.
        """
        if self.revealed:
            raise ValueError(
                "the truth has been shown, so the vote is over: ask anew with lab.classroom(...) to vote again"
            )
        counts = [0] * len(self.letters)
        for letter, count in hands.items():
            if letter.upper() not in self.letters or len(letter) != 1:
                raise ValueError(f"there is no answer {letter}: they are called {', '.join(self.letters)}")
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_HANDS:
                raise ValueError(
                    f"{letter}={count!r} is not a number of hands: give a whole number from 0 to {MOST_HANDS}"
                )
            counts[self.letters.index(letter.upper())] = count
        votes = [list(row) for row in self.votes]
        votes[self.round - 1] = counts
        self.votes = votes
        return self

    def vote_again(self) -> Any:
        """Open the second vote, after the students have discussed the question. The first one is kept for comparison.

        Raises ValueError if there is no first vote yet, or if the truth has been shown.
        """
        self._unlocked("vote a second time")
        if self.revealed:
            raise ValueError("the truth has been shown, so there is nothing left to vote on")
        self.round = 2
        return self

    def reveal(self) -> Any:
        """Show the truth, what refutes the misconception, and the stepper on the program.

        Raises ValueError before a vote: students who have committed to an answer learn more from the truth.
        """
        self._unlocked("show the truth")
        self.revealed = True
        return self

    def _unlocked(self, what: str) -> None:
        if not any(self.votes[0]):
            raise ValueError(
                f"count hands before you {what}: c.tally({self.letters[0]}=12, {self.letters[1]}=5)"
            )

    @traitlets.validate("votes")
    def _counts(self, proposal: Record) -> list[list[int]]:
        votes = proposal["value"]
        wide = len(self.poll["answers"])
        fine = len(votes) == len(ROUNDS) and all(
            len(row) == wide and all(isinstance(n, int) and 0 <= n <= MOST_HANDS for n in row)
            for row in votes
        )
        if not fine:
            raise traitlets.TraitError(f"votes are two lists of {wide} counts, not {votes!r}")
        return [list(row) for row in votes]

    # What viewers without widgets see.

    @property
    def title(self) -> str:
        """The question's id and its text."""
        return f"{self.poll['id']}: {self.poll['ask']}"

    def poll_state(self) -> str:
        """The progress of the vote in a few words."""
        counted = [
            f"{name} {', '.join(map(str, row))}"
            for name, row in zip(ROUNDS, self.votes, strict=True)
            if any(row)
        ]
        return "; ".join([*(counted or ["no votes yet"]), "revealed" if self.revealed else "locked"])

    def poll_text(self) -> str:
        """The question, the votes, and the truth if it has been shown, as lines of text."""
        lines = [self.title, *(f"    {line}" for line in self.poll["code"])]
        for n, (letter, answer) in enumerate(zip(self.letters, self.poll["answers"], strict=True)):
            lines.append(f"  {letter}  {answer['text']}{self._mark(n)}")
            lines += [f"       {name:<11} {bar} {said}" for name, bar, said in self._bars(n)]
            if self.revealed:
                lines.append(f"       ({answer['why']})")
        return "\n".join([*lines, *self._said()])

    def poll_html(self) -> str:
        """The same as static, self-contained HTML."""
        code = escape("\n".join(self.poll["code"]))
        rows = []
        for n, (letter, answer) in enumerate(zip(self.letters, self.poll["answers"], strict=True)):
            bars = "<br>".join(f"{name} {bar} {said}" for name, bar, said in self._bars(n))
            why = f"<br>{escape(answer['why'])}" if self.revealed else ""
            rows.append(
                f"<tr><th>{letter}</th><td><code>{escape(answer['text'])}</code>{escape(self._mark(n))}{why}</td><td>{bars}</td></tr>"
            )
        said = "".join(f"<p>{escape(line)}</p>" for line in self._said())
        return (
            f"<p><strong>{escape(self.title)}</strong></p><pre>{code}</pre>"
            f"<table><tr><th></th><th>answer</th><th>hands</th></tr>{''.join(rows)}</table>{said}"
        )

    def _mark(self, n: int) -> str:
        if not self.revealed:
            return ""
        return {
            self.poll["truth"]: "  = the truth",
            self.poll["trap"]: f"  <- what {self.poll['id']} leads to",
        }.get(n, "")

    def _bars(self, n: int) -> list[tuple[str, str, str]]:
        found = []
        for name, row in zip(ROUNDS, self.votes, strict=True):
            if total := sum(row):
                bar = "\N{FULL BLOCK}" * round(_WIDE * row[n] / total)
                found.append((name, bar, f"{row[n]} ({100 * row[n] / total:.0f} %)"))
        return found

    def _said(self) -> list[str]:
        if self.revealed:
            return [
                f"You may think that {self.poll['believes']}.",
                f"That is not what happens. {self.poll['refutes']}",
            ]
        hands = ", ".join(f"{letter}=..." for letter in self.letters)
        ways = "c.vote_again() or c.reveal()" if any(self.votes[0]) and self.round == 1 else "c.reveal()"
        return [
            f'With c = lab.classroom("{self.poll["id"]}"): count the hands, c.tally({hands}); then {ways}.'
        ]


class TextPoll(Poll):
    """The question if no widgets are installed: text in a terminal, HTML in a notebook; run the cell again to see more."""

    def __init__(self, poll: Record, trace: Trace) -> None:
        self.poll = poll
        super().__init__()
        self._open_poll(poll)
        self.trace = trace

    def __repr__(self) -> str:
        return "\n".join([self.poll_text(), *([still.text(self.trace, "")] if self.revealed else [])])

    def _repr_html_(self) -> str:
        return self.poll_html() + (still.html(self.trace, film(self.trace)) if self.revealed else "")
