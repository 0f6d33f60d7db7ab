"""The stepper: a widget that walks through a trace, and the same walk from Python.

All frames travel to the browser once; stepping there needs no kernel. What a click can do, a method can do, so a
notebook runs without anybody clicking. The output also holds a still picture and the steps as a table, for viewers
without widgets and for nbval, which compares them.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from autograd_lab.tracing import State, Trace, narrate, state
from autograd_lab.tracing.narrate import Narrator, fill
from autograd_lab.tracing.trace import Record

from .frames import film
from .quiz import Quiz
from .svg import svg
from .wire import encode

#: Rows of the table beside the still picture; longer traces are cut, the widget shows them all.
MOST_ROWS = 200
_ASSETS = Path(__file__).parent / "assets"


#: The modules of the front end; each imports only from those before it, and no two export the same name.
MODULES = (
    "core.js", "wire.js", "formula.js", "dom.js", "graph.js", "zoom.js", "panels.js", "table.js", "stepper.js",
)  # fmt: skip
STYLES = ("stepper.css", "views.css")


@cache
def front_end() -> str:
    """The stepper's JavaScript as one module: the sources one after the other, without what joins them."""
    sources = [(_ASSETS / name).read_text(encoding="utf-8") for name in MODULES]
    return "".join(re.sub(r"^import .*?;\n|^export (?!default)", "", text, flags=re.M) for text in sources)


@cache
def style() -> str:
    """The style sheets, one after the other."""
    return "".join((_ASSETS / name).read_text(encoding="utf-8") for name in STYLES)


class Stepper(Quiz, anywidget.AnyWidget):
    """Walk through `trace`, forwards and backwards, in the browser or from Python.

    `position` is the number of events that have happened: 0 before the first, `len(trace)` at the end.
    `predict` (True, or kinds of questions) asks what comes next before showing it; `mode="engine"` lets you choose the
    next node and send the messages (see `Quiz`).
    """

    _esm = front_end()
    _css = style()
    _film = traitlets.Unicode().tag(sync=True)
    position = traitlets.Int(0, help="events shown so far").tag(sync=True)
    by = traitlets.Enum(["event", "node"], "event", help="what Step and Play move by").tag(sync=True)

    def __init__(
        self,
        trace: Trace,
        position: int = 0,
        *,
        predict: bool | str | Iterable[str] = False,
        mode: str = "watch",
        **traits: Any,
    ) -> None:
        self.trace = trace
        self.film: Record = film(trace)
        super().__init__(_film=encode(self.film), position=position, **traits)
        self._open_quiz(predict, mode)

    @traitlets.validate("position")
    def _inside(self, proposal: Record) -> int:
        return int(min(max(proposal["value"], 0), len(self.trace)))

    # The buttons' twins.

    def step(self, n: int = 1) -> Stepper:
        """Go on by `n` events."""
        return self.goto(self.position + n)

    def back(self, n: int = 1) -> Stepper:
        """Go back by `n` events."""
        return self.goto(self.position - n)

    def first(self) -> Stepper:
        """Go to the beginning, before the first event."""
        return self.goto(0)

    def last(self) -> Stepper:
        """Go to the end."""
        return self.goto(len(self.trace))

    def goto(self, k: int) -> Stepper:
        """Show the picture after `k` events; beyond the ends it stays at the end."""
        self.position = k
        return self

    def next_node(self) -> Stepper:
        """Go on to where the next node has been made, or has done its work."""
        return self.goto(next((s for s in self.film["stops"] if s > self.position), len(self.trace)))

    def previous_node(self) -> Stepper:
        """Go back to where the node before was made, or did its work."""
        return self.goto(next((s for s in reversed(self.film["stops"]) if s < self.position), 0))

    # What is on screen.

    @property
    def narration(self) -> str:
        """The sentence on screen."""
        return narrate(self.trace, self.position)

    @property
    def state(self) -> State:
        """The picture on screen as plain data."""
        return state(self.trace, self.position)

    # What viewers without widgets see.

    def __repr__(self) -> str:
        now = self.state
        node = f": {Narrator(self.trace).nodes[now.node]}" if now.node is not None else ""
        return f"Stepper({now.phase} {self.position}/{len(self.trace)}{node})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[Record, Record]:
        bundle: Record = {"text/plain": self.to_text(), "text/html": self.to_html()}
        if os.environ.get("AUTOGRAD_LAB_STATIC") == "1":
            return bundle, {}
        view = super()._repr_mimebundle_(**kwargs)
        if view is None:
            return bundle, {}
        data, metadata = view
        return {**data, **bundle}, metadata

    def to_text(self) -> str:
        """The steps as lines of text."""
        width = len(str(len(self.trace)))
        lines = [repr(self), self._summary()]
        lines += [f"{k:>{width}}  {sentence}" for k, sentence in self._rows()]
        return "\n".join([*lines, *self._rest()])

    def to_html(self) -> str:
        """A still picture of the last step and the steps as a table, in a form that sanitizing leaves alone."""
        picture = base64.b64encode(svg(self.film, self._shown).encode()).decode("ascii")
        rows = "".join(f"<tr><td>{k}</td><td>{escape(sentence)}</td></tr>" for k, sentence in self._rows())
        rest = "".join(f"<p>{escape(line)}</p>" for line in self._rest())
        label = escape(f"Computation graph. {self._summary()}", quote=True)
        return (
            f'<img alt="{label}" style="max-width:100%" src="data:image/svg+xml;base64,{picture}">'
            f"<details><summary>{escape(self._summary())}</summary>"
            f"<table><tr><th>step</th><th>what happens</th></tr>{rows}</table>{rest}</details>"
        )

    def _summary(self) -> str:
        backward = sum(p["k"] == "backward" for p in self.trace)
        passes = {0: "forward only", 1: "forward and backward"}.get(
            backward, f"forward and {backward} backward passes"
        )
        title = f"{self.trace.title}: " if self.trace.title else ""
        return f"{title}{len(self.trace)} steps, {passes}, {len(self.trace.nodes)} nodes"

    def _rows(self) -> list[tuple[int, str]]:
        narrator = Narrator(self.trace)
        return [(k, fill(narrator.phrase(k))) for k in range(1, min(self._shown, MOST_ROWS) + 1)]

    def _rest(self) -> list[str]:
        if self.question:
            return [f"What comes next is asked first: {self.question}"]
        left = len(self.trace) - MOST_ROWS
        return [f"... and {left} more steps"] if left > 0 else []
