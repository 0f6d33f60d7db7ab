"""The stepper: a widget that walks through a trace, and the same walk from Python.

All frames are sent to the browser once (those of a long trace in two parts); stepping there needs no kernel. Each click has a
method, so a notebook runs without clicks. The output also holds a still picture and the steps as a table, for viewers
without widgets and for nbval, which compares them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import anywidget
import traitlets

from autograd_lab.torchlike.autograd import collector
from autograd_lab.tracing import State, Trace, narrate, state
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.rules import describe
from autograd_lab.tracing.trace import Record

from . import levels, opening, still
from .frames import Numbers, film
from .front import packed, style
from .pictures import Pictures
from .quiz import Quiz
from .rerun import Rerun
from .runs import Run
from .shown import Shown
from .wire import difference, encode

BY = ("event", "node", "iteration")
MODES = ("watch", "predict", "engine")


def _kinds(trace: Trace) -> list[str]:
    return [event["k"] for event in trace.events]


class Stepper(Pictures, Shown, Quiz, Rerun, anywidget.AnyWidget):
    """Walk through `trace`, forwards and backwards, in the browser or from Python.

    `position` is the number of events that have happened: 0 before the first, `len(trace)` at the end.
    `predict` (True, or kinds of questions) asks what comes next before showing it; `mode="engine"` lets you choose the
    next node and send the messages (see `Quiz`).
    """

    _esm = packed(without=("compare.js", "static.js"))
    _css = style()
    _film = traitlets.Unicode().tag(sync=True)
    _change = traitlets.Unicode(help="how what is shown differs from `_film`: see wire.difference").tag(
        sync=True
    )
    position = traitlets.Int(0, help="events shown so far").tag(sync=True)
    _whole_film: Record | None = None
    _film_sent: Record | None = None  # the film that `_film` is
    _numbers: Numbers | None = None  # of that film, if others may follow
    by = traitlets.Enum(BY, "event", help="what Step and Play move by").tag(sync=True)

    level = traitlets.Enum(
        levels.LEVELS, "all", help="how much the notebook shows; the reader may choose another"
    ).tag(sync=True)

    @classmethod
    def refuse(cls, options: dict[str, Any], of_function: bool = False) -> None:
        """Raise TypeError or ValueError for an option that there is not, or that cannot have this value."""
        for name in options:
            if name not in cls.class_traits() and name not in ("predict", "mode"):
                given = (
                    f". To give the function its {name}: lab.step(lambda x: fn(x, {name}=...), x)"
                    if of_function
                    else ""
                )
                raise TypeError(
                    f"step() has no option {name!r}; it has by, level, mode, position, predict{given}"
                )
        for name, offered in (("by", BY), ("level", levels.LEVELS), ("mode", MODES)):
            if options.get(name, offered[0]) not in offered:
                raise ValueError(f"step() takes {name}= one of {', '.join(offered)}, not {options[name]!r}")

    def __init__(
        self,
        trace: Trace,
        position: int = 0,
        *,
        predict: bool | str | Iterable[str] = False,
        mode: str = "watch",
        run: Run | None = None,
        **traits: Any,
    ) -> None:
        self.refuse({**traits, "mode": mode})
        self.trace = trace
        self.run = run
        self._lock = RLock()
        awaited = opening.is_awaited()
        first = opening.beginning(trace) if awaited and not predict and mode == "watch" else None
        if first is None:
            self._film_sent = self.film
            shown = {"_film": encode(self.film), "_still": still.key(still.text(trace, ""))}
        else:
            self.is_complete = False
            head, steps = first
            shown = {"_film": encode(film(head) | {"coming": steps}), "_still": ""}
        super().__init__(
            position=position, _can_measure=run is not None, **shown, **{"level": levels.now(), **traits}
        )
        self.on_msg(self._told)
        if first is None:
            self._open_quiz(predict, mode)
            if run is not None:
                self._list_inputs()
        if awaited and (first is not None or not self._quiz):
            opening.complete_after_cell(self)

    @property
    def film(self) -> Record:
        """Everything that is drawn: see frames.py."""
        if self._whole_film is None:
            self._whole_film = self._film_of(self.trace)
        return self._whole_film

    def _film_of(self, trace: Trace) -> Record:
        if self.run is not None and self._numbers is None:
            self._numbers = Numbers()
        return film(trace, numbers=self._numbers)

    # JupyterLab delivers a page's messages while a cell runs, in a thread of their own: they wait for what is being sent.

    def set_state(self, sync_data: Record) -> None:
        """Apply what the page sent."""
        with self._lock:
            super().set_state(sync_data)

    @contextmanager
    def hold_sync(self) -> Iterator[None]:
        """A context manager: send all changes in one message, and hold the page's messages meanwhile."""
        with self._lock, super().hold_sync():
            yield

    def complete(self) -> None:
        """Send what is missing: the rest of a trace opened in two stages, and the questions."""
        with self._lock, collector.paused():
            if not self.is_complete:
                self.is_complete = True
                with self.hold_sync():
                    self._send_film()
                    self.position = min(self.position, len(self.trace))
                    self._still = still.key(still.text(self.trace, ""))
                    if self.run is not None:
                        self._list_inputs()
            self._carry_quiz()

    def before_keeping(self) -> None:
        """Include everything, for pages without a kernel to send it later."""
        self.complete()
        if self._change:
            with self.hold_sync():
                self._send_film()

    def _send_film(self) -> None:
        """Send the whole film."""
        self._film_sent, self._film, self._change = self.film, encode(self.film), ""

    def _show_trace(self, trace: Trace, position: int, more: bool) -> None:
        with self.hold_sync():  # so that the browser never combines a film with another film's step
            follows = self._film_sent is not None and _kinds(trace) == _kinds(self.trace)
            self.is_complete = True
            self.trace = trace
            self._whole_film = None
            if follows:
                parts = difference(self._film_sent or {}, self.film)
                self._change = json.dumps(parts, separators=(",", ":"), allow_nan=False, check_circular=False)
            else:
                self._numbers = None
                self._send_film()
            self.position = position
            if more:
                self._quiz = ""  # the next trace comes sooner without the questions of this one
            else:
                self._new_quiz()

    @traitlets.validate("position")
    def _inside(self, proposal: Record) -> int:
        k = max(proposal["value"], 0)  # the number of steps is unknown while the rest is being computed
        return int(min(k, len(self.trace)) if self.is_complete else k)

    # The methods of the buttons.

    def step(self, n: int = 1) -> Stepper:
        """Go forward by `n` events."""
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
        """Show the picture after `k` events, clipped to the ends."""
        self.position = k
        return self

    def next_node(self) -> Stepper:
        """Go to where the next node has been made, or has done its work."""
        return self.goto(next((s for s in self.film["stops"] if s > self.position), len(self.trace)))

    def previous_node(self) -> Stepper:
        """Go back to where the previous node was made, or did its work."""
        return self.goto(next((s for s in reversed(self.film["stops"]) if s < self.position), 0))

    def next_iteration(self) -> Stepper:
        """Go to where the next iteration of the program's loop begins, or to the end."""
        return self.goto(next((s for s in self.film["turns"] if s > self.position), len(self.trace)))

    def previous_iteration(self) -> Stepper:
        """Go back to where this iteration of the program's loop began, or the one before, or to the beginning."""
        return self.goto(next((s for s in reversed(self.film["turns"]) if s < self.position), 0))

    # What is on screen.

    @property
    def narration(self) -> str:
        """The sentence on screen."""
        return narrate(self.trace, self.position)

    @property
    def state(self) -> State:
        """The picture on screen as plain data."""
        return state(self.trace, self.position)

    def opened(self, part: str = "backward") -> str:
        """The lines that the compiled node on screen ran, with their inputs, results and origins.

        `part` is "forward" or "backward". Raises ValueError if the node on screen is not compiled, or has not run that part.
        """
        n = self.state.node
        lines = self.trace.nodes[n].get("compiled", {}).get(part) if n is not None else None
        if lines is None:
            raise ValueError(
                f"there is nothing to open: no compiled node that ran its {part} is on screen at step {self.position}"
            )
        rows = []
        for i, line in enumerate(lines, 1):
            values = [
                f"{name} = {describe(self.trace.values[v])}" for name, v in (*line["reads"], *line["makes"])
            ]
            rules = dict.fromkeys(rule or "a sum of two gradients" for rule, *_ in line["from"])
            places = dict.fromkeys(place for *_, place in line["from"] if place)
            rows.append(
                f"{i}  {line['text']}\n     {'; '.join(values)}\n     from {', '.join([*rules, *places])}"
            )
        return "\n".join(rows)

    # What viewers without widgets see.

    def __repr__(self) -> str:
        if not self.is_complete:  # asked for when it is displayed, and would take as long as all the rest
            return f"Stepper(step {self.position}, the rest is coming)"
        now = self.state
        node = f": {Narrator(self.trace).nodes[now.node]}" if now.node is not None else ""
        return f"Stepper({now.phase} {self.position}/{len(self.trace)}{node})"

    @property
    def heading(self) -> str:
        """The trace's title."""
        return self.trace.title

    def summary(self) -> str:
        """The numbers of steps, passes and nodes."""
        return still.summary(self.trace)

    def to_text(self) -> str:
        """The steps as lines of text."""
        return still.text(self.trace, repr(self), self._shown, self.question)

    def still(self, note: str = "", beside_widget: bool = False) -> str:
        """A picture of the last step and the steps as a table."""
        return still.html(self.trace, self.film, self._shown, self.question, note, beside_widget)
