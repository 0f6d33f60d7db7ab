"""The card of `lab.practice` as a widget: the page judges, Python hears whether the answer was right, and sends the next question.

The front end is that of the cards of `lab.reveal` (assets/guess.js), and assets/practice.js. What is known without widgets is in practice.py.
"""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from . import still as stills
from .front import joined
from .guess import asset
from .practice import note, sealed, state, still
from .shown import Displayed


class Card(Displayed, anywidget.AnyWidget):
    """The card of a `Practice`, which has `.question`, `.note(right)` and the rest of course/practice/session.py."""

    _esm = f"""{asset("guess.js")}
{joined(("host.js", "practice.js"))}
export default {{ render: ({{ model, el }}) => practiceOf(model, el) }};"""
    _css = asset("guess.css") + asset("practice.css") + "\n:host .agl-guess { color-scheme: inherit; }"
    name = traitlets.Unicode(help="the notebook's number").tag(sync=True)
    note = traitlets.Unicode(help="how to get the same questions again, as HTML").tag(sync=True)
    question = traitlets.Unicode(help="the question, sealed").tag(sync=True)

    def __init__(self, practice: Any) -> None:
        self._practice = practice
        super().__init__(name=practice.number, note=note(practice), question=sealed(state(practice)))
        self._still = stills.key(self.to_text())
        self.on_msg(self._answered)

    def _answered(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content.get("n") == self._practice.n:  # a second view of the card says it a second time
            self._practice.note(bool(content.get("right")))
            self.question = sealed(state(self._practice))

    def __repr__(self) -> str:
        return f"Practice({self._practice.number}, level {self._practice.level})"

    def to_text(self) -> str:
        """The question as lines of text."""
        return repr(self._practice)

    def to_html(self) -> str:
        """The question as HTML that stands still."""
        return still(self._practice, beside_widget=True)
