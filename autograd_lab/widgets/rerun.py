"""Changing an input and running the graph again: `lab.step(fn, *inputs)` keeps the function and its inputs.

Each run gets leaves of its own, made from the inputs' original or changed numbers, so that a new run does not
affect the user's tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from autograd_lab.tracing import Trace
from autograd_lab.tracing.answers import AnswerError, Number, read, read_one
from autograd_lab.tracing.trace import Record

if TYPE_CHECKING:
    from autograd_lab.torchlike.tensor import Tensor

#: Tensors of at most so many numbers can be changed in the leaf table.
MOST_NUMBERS = 16


class Run:
    """A function with its inputs, to be recorded: first with the user's own, then with changed ones."""

    def __init__(self, fn: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        self.fn = fn
        self.names = _names(fn, len(inputs))
        self.given = inputs
        self.first = [_copy(x) for x in inputs]
        self.grads = [getattr(x, "grad", None) if _is_leaf(x) else None for x in inputs]
        self.grads = [None if g is None else _copy(g) for g in self.grads]
        self.now = list(self.first)
        self.recorded: Trace | None = None  # the first run
        self.outside: list[tuple[Tensor, Any]] = []  # other leaves the function used, and their .grad before

    def record(self) -> Trace:
        """Run on the user's own tensors."""
        before: dict[int, Any] = {}
        trace = self._record(self.given, before)
        self.recorded = trace
        mine = {id(x) for x in self.given}
        self.outside = [(t, g) for t, g in before.values() if id(t) not in mine]
        return trace

    def again(self, now: list[Any]) -> Trace:
        """Run on changed numbers, in new leaves; the other leaves that the function uses keep their `.grad`."""
        with self._as_before():
            trace = self._record(self._leaves_of(now), {})
        self.now = list(now)
        return trace

    def unrecorded(self) -> None:
        """Run once more on the numbers of the last run, in new leaves, and record nothing."""
        with self._as_before():
            loss = self.fn(*self._leaves_of(self.now))
            if getattr(loss, "requires_grad", False):
                loss.backward()

    def _leaves_of(self, now: list[Any]) -> tuple[Any, ...]:
        inputs = []
        for given, x, g in zip(self.given, now, self.grads, strict=True):
            if _is_leaf(given):
                x = _copy(x)
                x.requires_grad_(given.requires_grad)
                x.grad = None if g is None else _copy(g)
                inputs.append(x)
            else:
                inputs.append(x if not _is_tensor(given) else given)
        return tuple(inputs)

    def _record(self, inputs: tuple[Any, ...], before: dict[int, Any]) -> Trace:
        from autograd_lab.tracing.recorder import record

        names = {name: x for name, x in zip(self.names, inputs, strict=True) if _is_tensor(x)}
        started = False
        with record(names=names) as trace:
            _loss = self.fn(*inputs)  # underscored: the user's code has no such name
            before |= _leaves(trace)
            if getattr(_loss, "requires_grad", False):
                _loss.backward()
                started = True
        if started:
            _into_the_function(trace, self.recorded)
        return trace

    @contextmanager
    def _as_before(self) -> Iterator[None]:
        from autograd_lab.torchlike.creation import tensor

        kept = [(t, t.grad) for t, _ in self.outside]
        try:
            for t, g in self.outside:
                t.grad = None if g is None else tensor(g, dtype=t.dtype)
            yield
        finally:
            for t, g in kept:
                t.grad = g

    def index(self, name: str) -> int:
        """The index of the input called `name`. Raises ValueError if there is none that can be changed."""
        if name not in self.names:
            raise ValueError(
                f"there is no input {name!r}: the function's inputs are {', '.join(self.names) or 'none'}"
            )
        i = self.names.index(name)
        if _is_tensor(self.given[i]) and not _is_leaf(self.given[i]):
            raise ValueError(f"{name} was computed by other operations: change the leaf it comes from")
        return i

    def read(self, name: str, value: Any) -> list[Any]:
        """The inputs with another value for `name`. Raises ValueError if the value does not fit."""
        i = self.index(name)
        old = self.now[i]
        if isinstance(value, str):
            try:
                value = _plain((read if np.ndim(old) else read_one)(value))
            except AnswerError as error:
                raise ValueError(f"{error} {name} stays as it is.") from None
            if value is None:
                raise ValueError(f"{name} needs a number. It stays as it is.")
        now = list(self.now)
        if not _is_tensor(old):
            now[i] = value
            return now
        try:
            data = np.asarray(value.tolist() if hasattr(value, "tolist") else value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{value!r} is not an array of numbers. {name} stays as it is.") from None
        if data.shape != tuple(old.shape):
            raise ValueError(f"{_wanted(name, tuple(old.shape))} It stays as it is.")
        kind = np.dtype(old.detach().numpy().dtype)
        if kind.kind in "iub" and not np.array_equal(data, data.astype(kind)):
            raise ValueError(f"{name} holds {kind.name} numbers. It stays as it is.")
        from autograd_lab.torchlike.creation import tensor

        now[i] = tensor(data.tolist(), dtype=old.dtype)
        return now


class Rerun(traitlets.HasTraits):
    """The part of the stepper that runs the function again."""

    trace: Trace
    if TYPE_CHECKING:
        position: int

        def hold_sync(self) -> Any:
            """Send what changes inside in one message."""

        def _show_trace(self, trace: Trace, position: int) -> None:
            """Show another trace at this step."""

    _inputs = traitlets.List(traitlets.Dict()).tag(sync=True)
    _edit = traitlets.Dict().tag(sync=True)
    _edit_answer = traitlets.Dict().tag(sync=True)
    _kernel = traitlets.Bool(True, help="whether somebody answers; an export says no").tag(sync=True)
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

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs of the current run, by name."""
        run = self._need_run()
        return dict(zip(run.names, run.now, strict=True))

    def _need_run(self) -> Run:
        if self.run is None:
            raise RuntimeError(
                "this stepper has only a recording: use lab.step(fn, *inputs) to change inputs and run again"
            )
        return self.run

    def _replace(self, run: Run, now: list[Any]) -> None:
        trace = run.again(now)
        k = _same_place(self.trace, self.position, trace)
        with self.hold_sync():
            self._show_trace(trace, k)
            self._list_inputs()

    def _list_inputs(self) -> None:
        """What the front end offers for editing."""
        run, found = self._need_run(), []
        leaves = {e["t"] for e in self.trace if e["k"] == "leaf"}
        for name, given, now, first in zip(run.names, run.given, run.now, run.first, strict=True):
            t = next((t for t in sorted(leaves) if self.trace.tensors[t]["name"] == name), None)
            if t is None or not _is_leaf(given) or np.size(now.detach().numpy()) > MOST_NUMBERS:
                continue
            text, before = (_text(x.tolist()) for x in (now, first))
            found.append({"t": t, "name": name, "text": text, "changed": text != before})
        self._inputs = found

    @traitlets.observe("_measure")
    def _on_measure(self, change: Record) -> None:
        """The button "Measure times" was pressed."""
        from autograd_lab.tracing.timing import timed

        answer: Record = {"n": change["new"]}
        try:
            found = timed(self.trace, self._need_run().unrecorded)
            answer["times"] = [[n, *pair] for n, pair in found.items()]
        except (ValueError, RuntimeError) as error:
            answer["error"] = str(error)
        except Exception as error:  # whatever the user's function raises is shown beside the button
            answer["error"] = f"The function raises {type(error).__name__}: {error}"
        self._measured = answer

    @traitlets.observe("_edit")
    def _on_edit(self, change: Record) -> None:
        """A field in the browser was committed."""
        asked = change["new"]
        if not asked:
            return
        answer: Record = {"n": asked["n"], "error": ""}
        try:
            if asked.get("reset"):
                self.reset()
            else:
                self.edit(asked["name"], str(asked["text"]))
        except (ValueError, RuntimeError) as error:
            answer["error"] = str(error)
        except Exception as error:  # whatever the user's function raises is shown beside the field
            answer["error"] = f"With this value the function raises {type(error).__name__}: {error}"
        self._edit_answer = answer


def _names(fn: Callable[..., Any], count: int) -> list[str]:
    """The names of the function's parameters, as far as they can be found."""
    try:
        parameters = list(inspect.signature(getattr(fn, "forward", fn)).parameters.values())  # a module's own
    except (TypeError, ValueError):
        parameters = []
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in plain][:count]
    return names + [f"x{i}" for i in range(len(names) + 1, count + 1)]


def _leaves(trace: Any) -> dict[int, Any]:
    """The tensors that a running recording has met and that accumulate a gradient, with their current one."""
    found = [t for t in list(trace._recorder.met.values()) if _is_leaf(t) and t.requires_grad]
    # as arrays: copying tensors would be recorded as well
    return {id(t): (t, None if t._meta.grad is None else t._meta.grad._data.copy()) for t in found}


def _into_the_function(trace: Trace, first: Trace | None) -> None:
    """Let the backward pass that this file started begin at the function's own line that made the result.

    The line that runs is one of this file's callers: `lab.step(...)`, or what brings an edited input from the page. A result without a
    line keeps that of the `first` run.
    """
    event = _last_pass(trace)
    if event is None or not event.get("src"):
        return
    here, made = list(event["src"]), next((trace.nodes[n].get("src") for n in event["roots"]), None)
    if made is not None:
        index, line = made
    elif (known := None if first is None else _last_pass(first)) is not None and known.get("src"):
        source, line = first.sources[known["src"][0]], known["src"][1]  # type: ignore[union-attr]
        index = next((i for i, one in enumerate(trace.sources) if one["name"] == source["name"]), -1)
        if index < 0:
            index = len(trace.sources)
            trace.sources.append({"name": source["name"], "lines": {}})
    else:
        return
    for e in trace.events[trace.events.index(event) :]:
        if e.get("src") == here:
            e["src"] = [index, line]
    for source in (
        first.sources if first is not None else ()
    ):  # the same listing, although another line ran it
        for one in trace.sources:
            if one["name"] == source["name"]:
                one["lines"] = source["lines"] | one["lines"]
    used = {x["src"][0] for x in (*trace.events, *trace.nodes) if x.get("src")}
    if here[0] not in used and here[0] == len(trace.sources) - 1:
        trace.sources.pop()


def _last_pass(trace: Trace) -> Record | None:
    """The event with which the last pass that is in no other one began."""
    depth, found = 0, None
    for e in trace.events:
        if e["k"] == "backward":
            found = found if depth else e
            depth += 1
        elif e["k"] in ("done", "error"):
            depth = max(depth - 1, 0)
    return found


def _is_tensor(x: Any) -> bool:
    from autograd_lab.torchlike.tensor import Tensor

    return isinstance(x, Tensor)


def _is_leaf(x: Any) -> bool:
    return _is_tensor(x) and x.is_leaf


def _copy(x: Any) -> Any:
    return x.detach().clone() if _is_tensor(x) else x


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(x) for x in value]
    return value.x if isinstance(value, Number) else value


def _text(data: Any) -> str:
    if isinstance(data, list):
        return f"[{', '.join(map(_text, data))}]"
    return f"{data:.7g}" if isinstance(data, float) else str(data)


def _wanted(name: str, shape: tuple[int, ...]) -> str:
    if not shape:
        return f"{name} is one number."
    example = np.arange(1, np.prod(shape) + 1).reshape(shape).tolist()
    like = f", like {example}" if np.prod(shape) <= MOST_NUMBERS else ""
    return f"{name} has shape {'x'.join(map(str, shape)) if len(shape) > 1 else list(shape)}: write all its numbers{like}."


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
