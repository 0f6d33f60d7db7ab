"""Changes to lab's functions while a notebook's cells run for a reading page; reading.py calls `begin` in their kernel.

A page runs no code, so it holds what comes after an answer too: the cells run as if every question were answered, and what they
show from there on is marked. The page seals it until the reader has answered.
"""

from __future__ import annotations

from typing import Any

from autograd_lab.course.reveal import Revealed, judged
from autograd_lab.widgets import export, guess

STEPPER = "application/vnd.autograd-lab.stepper+json"
"""What a page makes a stepper of: {"traits", "still", "label"}."""
CARD = "application/vnd.autograd-lab.card+json"
"""An open question: {"ask", "html"}."""
SEAL = "application/vnd.autograd-lab.seal+json"
"""From here on the outputs of a cell are for those who have answered the question {"ask"}."""

HOW = "Answer to see what happened, and why."
MORE = "Answer to see what happened, and why. What comes after it opens then."


def begin(lab: Any) -> None:
    """From now on questions stay open, what follows their answers is marked, and a stepper is its data. `lab` is autograd_lab.lab."""
    from IPython.display import display

    from autograd_lab.widgets.shown import Shown

    def show_data(shown: Shown, **_: Any) -> None:
        data = {"traits": export.traits(shown), "still": shown.still(), "label": shown.summary()}
        display({STEPPER: data, "text/plain": shown.summary()}, raw=True)

    lab.reveal = ask
    setattr(Shown, "_ipython_display_", show_data)  # noqa: B010  # mypy refuses to assign to a method


class Answered(Revealed):
    """What `reveal` returns here: true, and a mark in the output of the cell that asks for it."""

    def __init__(self, ask: str) -> None:
        super().__init__(True)
        self.ask = ask

    def __bool__(self) -> bool:
        from IPython.display import display

        display({SEAL: {"ask": self.ask}, "text/plain": ""}, raw=True)
        return True


def ask(prediction: Any, truth: Any, ask: str = "") -> Revealed:
    """Show the card of a question as it is before the answer; where the notebook itself gives one, as after it."""
    from IPython.display import display

    card = judged(prediction, truth, ask)
    html = guess.html(card, MORE if card["more"] else HOW, front=False)
    display({CARD: {"ask": ask, "html": html.split("<script>")[0]}, "text/plain": ""}, raw=True)
    return Revealed(True) if card["answered"] else Answered(ask)
