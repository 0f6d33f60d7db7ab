"""`lab.check("04.2", answer)`: passed, wrong and why, or not attempted; at once, in the student's own kernel."""

from __future__ import annotations

import contextlib
import io
import re
import time
import warnings
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from autograd_lab.tracing.recorder import keep_last, record

from . import kept, plain, probe, scores
from .items import Item, Probe, UnknownItemError, Verdict, chosen, difference, find, is_still_running, judge
from .outputs import marimo

if TYPE_CHECKING:
    from autograd_lab.tracing import Trace

SECONDS = 10
"""The time that a check gives a student's code. All checks of the course together take less."""
STEP_THROUGH = "Step through this case"
_asked: dict[str, int] = {}  # hints given, per item
LISTENERS: list[list[tuple[str, Any]]] = []
"""Where `check` stores what it is given, instead of judging it, while the builder or a grader runs a notebook's cells."""


class Result:
    """The result of `lab.check`, which a notebook displays; `step()` opens the failed case in the stepper."""

    def __init__(self, verdict: Verdict, answer: Any = None) -> None:
        self.verdict = verdict
        self._answer = answer

    @property
    def state(self) -> str:
        """One of "passed", "wrong" and "not attempted"."""
        return self.verdict.state

    @property
    def passed(self) -> bool:
        """Whether everything that can be checked here is right."""
        return self.verdict.state == "passed"

    @property
    def score(self) -> float:
        """Points earned so far, without hidden checks."""
        return self.verdict.score

    @property
    def misconception(self) -> str:
        """The id of the misconception behind this answer, or ""."""
        return self.verdict.misconception

    @cached_property
    def steppable(self) -> bool:
        """Whether there is a failed case to step through: one that records something before it ends or raises."""
        if self._case is None or "torch." not in self._case[0].source or is_still_running(self.verdict.got):
            return False
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return len(self._record()) > 0  # the check has already printed the output of the student's code

    @property
    def _case(self) -> tuple[Probe, int] | None:
        """The probe that failed, and the number of its case."""
        if self.verdict.case is None:
            return None
        name, i = self.verdict.case
        return next(p for p in self.verdict.item.probes if p.name == name), i

    def _record(self) -> Trace:
        """The failed case, recorded. Raises ValueError if there is none."""
        if self._case is None:
            raise ValueError(f"{self.verdict.item.id}: there is no failed case to step through")
        if is_still_running(self.verdict.got):
            raise ValueError(f"{self.verdict.item.id}: this case never ends, so it has no last step")
        failed, i = self._case
        about = failed.about(i)
        if failed.says:  # the stepper shows the probe's code: with the values of this case in its sentence
            failed = replace(failed, source=failed.source.replace(failed.says, about))
        function = probe.load(failed, self._answer)
        with (
            keep_last(),
            record(title=f"{self.verdict.item.id}: {about}") as trace,
            contextlib.suppress(Exception),  # the verdict has its exception
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            function(self._answer, *failed.cases[i])
        return trace

    def step(self) -> Any:
        """The case on which the answer failed, recorded and opened in the stepper. Raises ValueError if there is nothing to show."""
        from autograd_lab import widgets

        trace = self._record()
        if not len(trace):
            raise ValueError(
                f"{trace.title} runs without tensors, or ends before the first: there is nothing that the stepper could show"
            )
        return widgets.step(trace)

    def _lines(self) -> tuple[str, list[str]]:
        verdict, item = self.verdict, self.verdict.item
        here = item.points - item.hidden_points
        if verdict.state == "not attempted":
            asks = getattr(self._answer, "question", "")
            going_on = [f"The stepper goes on asking: {asks}"] if asks and isinstance(asks, str) else []
            return f"{item.id}: not attempted ({_points(item.points)})", going_on
        later = f"; {_points(item.hidden_points, 'more ')} at grading" if item.hidden_points else ""
        if verdict.state == "passed":
            return f"{item.id}: passed, {verdict.score:g} of {_points(here)}{later}", self._clicked()
        lines = [verdict.says] if verdict.says else []
        if self._case is not None:
            failed, i = self._case
            about = failed.about(i)
            detail = difference(about, verdict.got, verdict.want)
            if verdict.misconception or verdict.says not in (detail,):
                lines += [detail] if detail not in lines and not verdict.says.startswith(about) else []
            if self.steppable:
                lines.append(
                    f'This case in the stepper: lab.check("{item.id}", {_named(self._answer)}).step()'
                )
        elif not item.probes and not verdict.says:
            lines.append(f"{plain.show(verdict.got)} is not right.")
        lines += self._clicked()
        if item.hints and _asked.get(item.id, 0) < len(item.hints):
            lines.append(f'A hint: lab.hint("{item.id}")')
        return f"{item.id}: not right yet, {verdict.score:g} of {_points(here)}{later}", lines

    def _clicked(self) -> list[str]:
        """Additional feedback for a student who was the engine in a stepper instead of writing the answer."""
        played = getattr(self._answer, "engine_answer", None)
        if played is None:
            return []
        if self.passed:
            told = f"Grading runs your cells, and cannot click. Write this as your answer: {played}"
            return [told] if getattr(played, "clicked", False) else []
        slip = getattr(played, "slip", "")
        said = [f"What the stepper said to your first slip: {slip}"] if slip else []
        return [*said, "Your first tries count. For a new round press Once more in the stepper."]

    def __repr__(self) -> str:
        head, lines = self._lines()
        return "\n".join([head, *("  " + line for line in lines)])

    def _repr_html_(self) -> str:
        head, lines = self._lines()
        mark, color = {"passed": ("\u2713", "#00795a"), "wrong": ("\u2717", "#b3246b")}.get(
            self.state, ("\u2026", "#6b7683")
        )
        return _framed(color, f"{mark} {head}", lines)


class Failed(Result):
    """A verdict with a failed case: in a notebook, a button below it opens the stepper, if the case has anything to show."""

    def _display_(self) -> Any:
        """The same in marimo, whose own part opens and closes; the stepper is made when it is opened."""
        module: Any = marimo()
        said = module.Html(self._repr_html_())
        if not self.steppable:
            return said
        return module.vstack([said, module.accordion({STEP_THROUGH: module.lazy(self.step)})])

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """For marimo as well: it keeps no other last value until the part is opened."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _ipython_display_(self, **kwargs: Any) -> None:
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        if getattr(get_ipython(), "kernel", None) is None:  # a terminal
            print(repr(self))
            return
        from autograd_lab.widgets import opener

        if not self.steppable:
            display({"text/plain": repr(self), "text/html": self._repr_html_()}, raw=True)
            return
        page = opener.with_button(self._repr_html_())
        display({"text/plain": repr(self), "text/html": page}, raw=True)
        opener.show(self.step, STEP_THROUGH)


def _named(answer: Any) -> str:
    """The name of `answer` in the student's cell, if it can be found; otherwise dots."""
    if isinstance(answer, list | tuple):
        return f"[{', '.join(map(_named, answer))}]"
    name = getattr(answer, "__name__", "")
    return name if name.isidentifier() else "..."


_CODE = re.compile(r"`([^`]+)`|(lab\.(?:check|hint)\(.*\))")


def _marked_up(text: str) -> str:
    """HTML of a sentence; text between backticks, and calls of lab, are set as code."""
    return _CODE.sub(lambda m: f"<code>{m[1] or m[2]}</code>", escape(text, quote=False))


def _framed(color: str, head: str, lines: list[str]) -> str:
    body = "".join(f"<div style='margin-top:4px'>{_marked_up(line)}</div>" for line in lines)
    return (
        f"<div style='border-left:4px solid {color};padding:6px 12px;max-width:80ch'>"
        f"<b>{escape(head)}</b>{body}</div>"
    )


def _points(n: float, more: str = "") -> str:
    return f"{n:g} {more}point" + ("" if n == 1 else "s")


class Unknown:
    """The answer to an unknown id: a sentence with the existing ones."""

    state, passed, score, misconception, steppable = "unknown", False, 0.0, "", False

    def __init__(self, says: str) -> None:
        self.says = says

    def __repr__(self) -> str:
        return self.says

    def _repr_html_(self) -> str:
        return _framed("#6b7683", self.says, [])

    def step(self) -> Any:
        """Nothing was judged, so there is nothing to step through: raises ValueError."""
        raise ValueError(self.says)


def check(item_id: str, answer: Any = ...) -> Result | Unknown | None:
    """Judge `answer` to the item `item_id`, at once, without raising for mistakes of the student's.

    answer   a number, word, list or tensor; a function or class for code items; a stepper in which the student was the engine.
    """
    if LISTENERS:
        LISTENERS[-1].append((item_id, answer))
        return None
    try:
        item = own(item_id)
    except UnknownItemError as error:
        return Unknown(str(error))
    begun = time.monotonic()
    verdict = verdict_on(item, answer)
    if verdict.state == "wrong" and item.probes and time.monotonic() < begun + SECONDS / 5:
        from . import growing  # loaded when a function fails, perhaps with a piece of an engine

        if says := growing.at_fault(answer, lambda: verdict_on(item, answer).state == "passed"):
            verdict = replace(verdict, says=says, misconception="")
    scores.note(verdict)
    if verdict.state == "passed" and item.probes:
        from . import growing  # loaded when there is a piece to keep

        growing.keep(item_id, answer)
    return Result(verdict, answer) if verdict.case is None else Failed(verdict, answer)


def own(item_id: str) -> Item:
    """The item with this id, with the student's own numbers if the kernel has chosen some. Raises UnknownItemError."""
    item, seed = find(item_id), chosen()
    if seed is None or not item.variant:
        return item
    from .variants import of  # only a few courses have copies with numbers of their own

    return of(item, seed)


def verdict_on(item: Item, answer: Any) -> Verdict:
    """The verdict on a live answer, with the probes that the item has here."""
    answer = getattr(answer, "engine_answer", answer)
    if probe.unfinished(answer, item.stubs):
        return Verdict(item, "not attempted")
    if item.probes:
        if not callable(answer) and not isinstance(answer, list | tuple):
            return Verdict(item, "wrong", says=f"The question asks for a function; you gave {_kind(answer)}.")
        visible = [p for p in item.probes if not p.hidden]
        with keep_last():  # a probe may record; `lab.why` must still refer to the student's recording
            verdict = judge(item, outputs=probe.run(visible, answer, SECONDS))
        if verdict.state == "wrong" and not verdict.known:
            verdict.says = f"{verdict.says} {kept.of(answer, item)}".strip()
        return verdict
    try:
        return judge(item, plain.plain(answer))
    except plain.NotPlainError as error:
        return Verdict(item, "wrong", says=f"This cannot be an answer: {error}.")


def _kind(answer: Any) -> str:
    try:
        return plain.show(plain.plain(answer))
    except plain.NotPlainError:
        return f"a {type(answer).__name__}"


class Hint:
    """One hint; the next call returns the next one."""

    def __init__(self, item: Item, level: int) -> None:
        self.item, self.level = item, level

    @property
    def _head(self) -> str:
        return f"{self.item.id}, hint {self.level} of {len(self.item.hints)}"

    def __repr__(self) -> str:
        return f"{self._head}: {self.item.hints[self.level - 1]}"

    def _repr_html_(self) -> str:
        return _framed("#8a6100", self._head, [self.item.hints[self.level - 1]])


def hint(item_id: str, level: int | None = None) -> Hint | Unknown:
    """The next hint for an item, or the one of a given level (1, 2, 3). Raises ValueError if there is none."""
    try:
        item = own(item_id)
    except UnknownItemError as error:
        return Unknown(str(error))
    if not item.hints:
        raise ValueError(f"{item_id} has no hints")
    level = min(_asked.get(item_id, 0) + 1, len(item.hints)) if level is None else level
    if not 1 <= level <= len(item.hints):
        raise ValueError(f"{item_id} has hints 1 to {len(item.hints)}, not {level}")
    _asked[item_id] = max(level, _asked.get(item_id, 0))
    return Hint(item, level)
