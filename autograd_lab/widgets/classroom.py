"""A question for a whole class, on the projector: the vote first, then the stepper on the question's own program.

poll.py has the votes and their texts; here they get a front end (assets/classroom.js) and, below it, the
stepper. The truth is sent to the browser packed, so that searching the page does not reveal it.
"""

from __future__ import annotations

import traitlets

from autograd_lab.tracing import Trace
from autograd_lab.tracing.trace import Record

from . import still
from .poll import Poll
from .stepper import Stepper
from .wire import encode


class Classroom(Poll, Stepper):
    """A question, its votes, and the stepper that opens when the truth is shown; its methods are those of both."""

    _poll = traitlets.Unicode().tag(sync=True)

    def __init__(self, poll: Record, trace: Trace) -> None:
        self.poll = poll
        super().__init__(trace)
        self._open_poll(poll)
        self._poll = encode(poll)
        self._still = still.key(self.poll_text())

    def __repr__(self) -> str:
        return f"Classroom({self.poll['id']}: {self.poll_state()})"

    @property
    def heading(self) -> str:
        """The question's id and its text."""
        return self.title

    def summary(self) -> str:
        """The progress of the vote."""
        return f"{self.poll['id']}: {self.poll_state()}"

    def to_text(self) -> str:
        """The question and the votes; the steps too, once the truth is shown."""
        return "\n".join([self.poll_text(), *([super().to_text()] if self.revealed else [])])

    def still(self, note: str = "", beside_widget: bool = False) -> str:
        """The question and the votes; picture and steps too, once the truth is shown."""
        inside = self.poll_html() + (super().still(note) if self.revealed else "")
        return still.framed(inside, self._still, beside_widget)
