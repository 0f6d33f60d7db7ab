"""Changing an input and running the graph again: `lab.step(fn, *inputs)` keeps the function and its inputs (runs.py).

The page asks by writing `_edit`: {"n": a number of its own, "name", "text": what was typed}, or "reset"; of a slider also "k": the step
on screen, and "more": whether it goes on; "h": the size of a nudge, if `nudge` is wanted too. A slider in Jupyter sends this as {"edit": ..},
a message of its own: a state would wait until the kernel has become idle. `_edit_answer` is {"n", "error", "nudge"}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from autograd_lab.torchlike.autograd import collector
from autograd_lab.tracing import Trace
from autograd_lab.tracing.trace import Record

from .runs import MOST_NUMBERS, Run, failed, is_one_number, is_tensor, number_in, stops, written

if TYPE_CHECKING:
    from .frames import Numbers


class Rerun(traitlets.HasTraits):
    """The part of the stepper that runs the function again."""

    trace: Trace
    if TYPE_CHECKING:
        position: int
        _numbers: Numbers | None

        @property
        def film(self) -> Record:
            """What is drawn."""

        def hold_sync(self) -> Any:
            """Send what changes inside in one message."""

        def _show_trace(self, trace: Trace, position: int, more: bool) -> None:
            """Show another trace at this step; `more` of them are about to come."""

    _inputs = traitlets.List(traitlets.Dict()).tag(sync=True)
    _edit = traitlets.Dict().tag(sync=True, echo_update=False)  # a page need not hear again what it asked
    _edit_answer = traitlets.Dict().tag(sync=True)
    _kernel = traitlets.Bool(True, help="whether somebody answers; an export says no").tag(sync=True)
    _stops = traitlets.Dict(help="of each input that is one number: where its slider stops")
    _can_measure = traitlets.Bool(False, help="whether there is a function to measure").tag(sync=True)
    _measure = traitlets.Int(0, help="how often times were asked for").tag(sync=True)
    _measured = traitlets.Dict(help="the answer, which no export keeps").tag(sync=True)
    run: Run | None = None

    def edit(self, name: str, value: Any) -> Any:
        """Set the input `name` to another value and run the function again; the stepper stays at the same place.

        `value` is a number, a list or a tensor of the input's shape, or the text that would be typed. Raises ValueError
        if it does not fit, RuntimeError if the stepper was not made by `lab.step(fn, *inputs)`; exceptions of the function
        propagate. After an exception the stepper still shows the previous run.
        """
        run = self._need_run()
        self._replace(run, run.read(name, value))
        return self

    def reset(self) -> Any:
        """Run again with the original inputs."""
        run = self._need_run()
        self._replace(run, list(run.first))
        return self

    def nudge(self, name: str, h: float = 1e-3) -> dict[str, float | None]:
        """Measure the derivative for the input `name`, one number: {"quotient": (f(x + h) - f(x)) / h, "gradient", "difference"}.

        The function runs twice more, unrecorded, in the input's dtype. An entry is None where there is no finite number.
        Raises ValueError if the input or the result is not one number, or h is 0; RuntimeError as `edit` does; exceptions of
        the function propagate.
        """
        from .nudge import quotients

        run = self._need_run()
        if not is_one_number(run.given[run.index(name)]):
            raise ValueError(
                f"{name} is not one number, so there is no single nudge of it: choose another input"
            )
        if not h:
            raise ValueError("the size h of a nudge is not 0: the quotient divides by it")
        found = quotients(run, name, h, seconds=0)
        if found["why"]:
            raise ValueError(found["why"])
        (quotient,), gradient = found["q"], found["gradient"]
        apart = None if quotient is None or gradient is None else quotient - gradient
        return {"quotient": quotient, "gradient": gradient, "difference": apart}

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs of the current run, by name."""
        run = self._need_run()
        return dict(zip(run.names, run.now, strict=True))

    def carried(self, name: str | None, room: int) -> Record:
        """What a page without a kernel is given for the slider of an input, the first that wants a gradient by default.

        Raises ValueError if the input has no slider. The function runs 41 times.
        """
        if self.run is None:
            return {}
        able = [one for one in self._inputs if "stops" in one and one["stops"]["count"]]
        which = next((one for one in able if name in (None, one["name"])), None)
        if name is not None and which is None:
            has = ", ".join(one["name"] for one in able) or "none"
            raise ValueError(f"there is no slider for {name!r}: the inputs that are one number are {has}")
        if which is None:
            return {}
        from .precomputed import precomputed

        text, where, said = precomputed(self.run, self.film, which, room, self._numbers)
        if not text:
            return {"_resting": said}
        if len(able) > 1:
            others = ", ".join(one["name"] for one in able if one is not which)
            said = f"{said} This page moves {which['name']} alone: {others} would need a kernel.".strip()
        alone = [{**one, "stops": where} if one is which else {**one, "stops": None} for one in self._inputs]
        return {"_slides": text, "_resting": said, "_inputs": alone}

    def _need_run(self) -> Run:
        if self.run is None:
            raise RuntimeError(
                "this stepper has only a recording: use lab.step(fn, *inputs) to change inputs and run again"
            )
        return self.run

    def _replace(self, run: Run, now: list[Any], more: bool = False) -> None:
        trace = run.again(now)
        k = _same_place(self.trace, self.position, trace)
        with self.hold_sync():
            self._show_trace(trace, k, more)
            self._list_inputs()

    def _list_inputs(self) -> None:
        """What the front end offers for editing and sliding, first what wants a gradient; "t" of what is no tensor is -1."""
        run = self._need_run()
        found: list[Record] = []
        leaves = {e["t"] for e in self.trace if e["k"] == "leaf"}
        for name, given, now, first in zip(run.names, run.given, run.now, run.first, strict=True):
            t = next((t for t in sorted(leaves) if self.trace.tensors[t]["name"] == name), None)
            if is_tensor(given):
                if t is None or not given.is_leaf or np.size(now.detach().numpy()) > MOST_NUMBERS:
                    continue
            elif not (is_one_number(given) and is_one_number(now)):
                continue
            text, before = (written(x.tolist() if hasattr(x, "tolist") else x) for x in (now, first))
            found.append(
                {"t": t if is_tensor(given) else -1, "name": name, "text": text, "changed": text != before}
            )
            if is_one_number(given):
                found[-1]["stops"] = self._stops[name] = stops(number_in(now), self._stops.get(name))
        found.sort(key=lambda one: not (one["t"] >= 0 and self.trace.tensors[one["t"]]["requires_grad"]))
        self._inputs = found

    @traitlets.observe("_measure")
    def _on_measure(self, change: Record) -> None:
        """The button "Measure times" was pressed."""
        from autograd_lab.tracing.cost import cost
        from autograd_lab.tracing.timing import timed

        from .costs import costs

        answer: Record = {"n": change["new"]}
        try:
            found = timed(self.trace, self._need_run().unrecorded)
            answer["times"] = [[n, *pair] for n, pair in found.items()]
            if (seen := cost(self.trace, self._need_run().unrecorded)).followed:
                answer["cost"] = costs(self.trace, seen)
        except (ValueError, RuntimeError) as error:
            answer["error"] = str(error)
        except Exception as error:  # whatever the user's function raises is shown beside the button
            answer["error"] = f"The function raises {type(error).__name__}: {error}"
        self._measured = answer

    @traitlets.observe("_edit")
    def _on_edit(self, change: Record) -> None:
        """A field in the browser was committed."""
        if change["new"]:
            self._answer(change["new"])

    def _told(self, _: Any, content: Any, __: Any) -> None:
        """A message came from the page."""
        if isinstance(content, dict) and isinstance(asked := content.get("edit"), dict):
            self._answer(asked)

    def _answer(self, asked: Record) -> None:
        answer: Record = {"n": asked["n"], "error": ""}
        with self.hold_sync(), collector.paused():  # once at the end, not after each part, and all is alive
            try:
                if "k" in asked:
                    self.position = asked["k"]
                if asked.get("reset"):
                    self.reset()
                else:
                    run = self._need_run()
                    self._replace(run, run.read(asked["name"], str(asked["text"])), asked.get("more", False))
                if "h" in asked:
                    from .nudge import quotients

                    answer["nudge"] = quotients(
                        run, asked["name"], asked["h"], 0.02 if asked.get("more") else 1
                    )
            except (
                Exception,
                SystemExit,
            ) as error:  # whatever the user's function raises is shown beside the field
                answer["error"] = failed(error)
            self._edit_answer = answer


def _same_place(old: Trace, k: int, new: Trace) -> int:
    """The step of a new run that corresponds to step `k`: as many events into the same phase."""
    if len(old) == len(new):
        return k
    starts = [0, *(i + 1 for i, e in enumerate(old) if e["k"] == "backward" and i < k)]
    phase, into = len(starts) - 1, k - starts[-1]
    found = [0, *(i + 1 for i, e in enumerate(new) if e["k"] == "backward")]
    if phase >= len(found):
        return len(new)
    end = found[phase + 1] - 1 if phase + 1 < len(found) else len(new)
    return min(found[phase] + into, end)
