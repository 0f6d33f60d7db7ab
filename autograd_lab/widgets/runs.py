"""A function with its inputs, to be run and recorded again with other numbers.

Each run gets leaves of its own, made from the inputs' original or changed numbers, so that a new run does not
affect the user's tensors; arrays, lists, dicts and sets among the inputs are copied for each run. Every run draws the same random numbers
as the first (of this package, of NumPy and of Python), and leaves the generators, and other leaves that the function uses, as they were.
What else it changes stays changed: a list of its own grows with each run.
"""

from __future__ import annotations

import functools
import inspect
import io
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_lab.tracing import Trace
from autograd_lab.tracing.answers import AnswerError, Number, read, read_one
from autograd_lab.tracing.narrate import a_or_an
from autograd_lab.tracing.trace import Record

if TYPE_CHECKING:
    from autograd_lab.torchlike.tensor import Tensor

#: Tensors of at most so many numbers can be changed in the leaf table.
MOST_NUMBERS = 16

GENERATORS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
)
"""How the states of the generators of Python and NumPy are read and set."""


class UnfitError(ValueError):
    """An input cannot have this value."""


def _refuse(fn: Callable[..., Any], inputs: dict[str, Any]) -> None:
    """Raise TypeError if a call of the function would not run its body, or would not be recorded."""
    called = fn.func if isinstance(fn, functools.partial) else fn
    for one in (called, getattr(called, "__call__", None)):  # noqa: B004 - what a call of it runs
        kind = next((kind for kind, so in _NOT_RUN.items() if so(one)), None)
        if kind is not None:
            raise TypeError(
                f"step() calls a function and steps through what it does, and a call of {kind} only prepares it. What to do: run it "
                "inside `with lab.record() as trace:`, then lab.step(trace)"
            )
    for name, x in inputs.items():
        if type(x).__module__.partition(".")[0] == "torch" and not is_tensor(x):
            raise TypeError(
                f"the function is recorded on tensors of autograd_lab, and {name} is one of PyTorch's. What to do: "
                "trace = lab.record_torch(fn, ...), which lab.step(trace) and lab.cost(trace) take"
            )


_NOT_RUN: dict[str, Callable[[Any], bool]] = {
    "a generator function": inspect.isgeneratorfunction,
    "an async function": lambda fn: inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn),
}


@contextmanager
def _advised() -> Iterator[None]:
    """Say whose pass it is that fails: the user's code has no call of `backward()`."""
    try:
        yield
    except RuntimeError as error:
        error.add_note(
            "lab.step(fn, ...) calls backward() on what fn returns. What to do: return one number, such as a loss or a sum, and do not "
            "call backward() in fn; or run your code inside `with lab.record() as trace:`, then lab.step(trace)."
        )
        raise


def _what(x: Any) -> str:
    return "None (is there a `return`?)" if x is None else a_or_an(type(x).__name__)


class Run:
    """A function with its inputs, to be recorded: first with the user's own, then with changed ones."""

    def __init__(self, fn: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        from autograd_lab.torchlike import random as own

        self.fn = fn
        self.names = _names(fn, len(inputs))
        _refuse(fn, dict(zip(self.names, inputs, strict=True)))
        self.given = inputs
        self.first = [_copy(x) for x in inputs]
        self.grads = [getattr(x, "grad", None) if is_leaf(x) else None for x in inputs]
        self.grads = [None if g is None else _copy(g) for g in self.grads]
        self.now = list(self.first)
        self.recorded: Trace | None = None  # the first run
        self.returned = ""  # what the last run returned, if it was no tensor
        self.outside: list[tuple[Tensor, Any]] = []  # other leaves the function used, and their .grad before
        self.leaves = inputs  # of the last run
        self.random = own.DEFAULT._seed, own.DEFAULT.rng.state  # before the first run
        self.draws = [
            (get, put, get()) for get, put in GENERATORS
        ]  # of others from which the function draws, likewise

    def record(self) -> Trace:
        """Run on the user's own tensors."""
        before: dict[int, Any] = {}
        trace = self._record(self.given, before)
        self.recorded = trace
        self.draws = [one for one in self.draws if not _same(one[2], one[0]())]
        mine = {id(x) for x in self.given}
        self.outside = [(t, g) for t, g in before.values() if id(t) not in mine]
        return trace

    def again(self, now: list[Any]) -> Trace:
        """Run on changed numbers, in new leaves; the other leaves that the function uses keep their `.grad`."""
        inputs = self._new_leaves(now)
        with self._as_before():
            trace = self._record(inputs, {})
        self.now, self.leaves = list(now), inputs
        return trace

    def unrecorded(self) -> Any:
        """Run once more on the numbers of the last run, in new leaves, and record nothing; what the function prints is not shown."""
        with self._as_before(), redirect_stdout(io.StringIO()):
            loss = self.fn(*self._new_leaves(self.now))
            if getattr(loss, "requires_grad", False):
                loss.backward()
            return loss

    def plainly(self, now: list[Any]) -> Any:
        """What the function returns for these numbers, without a recording; what it prints is not shown."""
        with self._as_before(), redirect_stdout(io.StringIO()):
            return self.fn(*self._new_leaves(now))

    def gradient(self, i: int) -> float | None:
        """What the last run added to the `.grad` of an input that is one number; None if nothing came."""
        after, before = getattr(self.leaves[i], "grad", None), self.grads[i]
        return None if after is None else float(after.item()) - (0.0 if before is None else before.item())

    def _new_leaves(self, now: list[Any]) -> tuple[Any, ...]:
        inputs = []
        for given, x, g in zip(self.given, now, self.grads, strict=True):
            if is_leaf(given):
                x = _copy(x)
                x.requires_grad_(given.requires_grad)
                x.grad = None if g is None else _copy(g)
                inputs.append(x)
            else:
                inputs.append(given if is_tensor(given) else _copy(x))
        return tuple(inputs)

    def _record(self, inputs: tuple[Any, ...], before: dict[int, Any]) -> Trace:
        from autograd_lab.tracing.recorder import record

        names = {name: x for name, x in zip(self.names, inputs, strict=True) if is_tensor(x)}
        started = False
        recording = record(names=names)
        recording.recorder.apart = True  # for the films of the next ones, see again.py
        with recording as trace:
            _loss = self.fn(*inputs)  # underscored: the user's code has no such name
            before |= _leaves(trace)
            if getattr(_loss, "requires_grad", False):
                with _advised():
                    _loss.backward()
                started = True
        self.returned = "" if is_tensor(_loss) else _what(_loss)
        if started:
            _into_the_function(trace, self.recorded)
        return trace

    @contextmanager
    def _as_before(self) -> Iterator[None]:
        from autograd_lab.torchlike.creation import tensor
        from autograd_lab.torchlike.random import DEFAULT, Stream

        seed, state = self.random
        kept = [(t, t.grad, t._data, t._data.copy()) for t, _ in self.outside]
        drawn, others = (DEFAULT._seed, DEFAULT.rng), [(put, get()) for get, put, _ in self.draws]
        try:
            DEFAULT._seed, DEFAULT.rng = seed, Stream(seed, state)
            for _, put, before in self.draws:
                put(before)
            for t, g in self.outside:
                t.grad = None if g is None else tensor(g, dtype=t.dtype)
            yield
        finally:
            DEFAULT._seed, DEFAULT.rng = drawn
            for put, before in others:
                put(before)
            for t, g, data, numbers in kept:
                t.grad, t._data = g, data
                if data.flags.writeable:
                    np.copyto(data, numbers)

    def index(self, name: str) -> int:
        """The index of the input called `name`. Raises ValueError if there is none that can be changed."""
        if name not in self.names:
            raise UnfitError(
                f"there is no input {name!r}: the function's inputs are {', '.join(self.names) or 'none'}"
            )
        i = self.names.index(name)
        if is_tensor(self.given[i]) and not is_leaf(self.given[i]):
            raise UnfitError(f"{name} was computed by other operations: change the leaf it comes from")
        return i

    def read(self, name: str, value: Any) -> list[Any]:
        """The inputs with another value for `name`. Raises ValueError if the value does not fit."""
        i = self.index(name)
        old = self.now[i]
        typed = isinstance(value, str)
        if typed:
            try:
                value = _plain((read if np.ndim(old) else read_one)(value))
            except AnswerError as error:
                raise UnfitError(f"{error} {name} stays as it is.") from None
            if value is None:
                raise UnfitError(f"{name} needs a number. It stays as it is.")
        now = list(self.now)
        if not is_tensor(old):
            now[i] = _like(old, value) if typed and is_one_number(old) else value
            return now
        try:
            data = np.asarray(value.tolist() if hasattr(value, "tolist") else value, dtype=np.float64)
        except (TypeError, ValueError):
            raise UnfitError(f"{value!r} is not an array of numbers. {name} stays as it is.") from None
        if not data.ndim and old.numel() == 1:
            data = data.reshape(tuple(old.shape))
        if data.shape != tuple(old.shape):
            raise UnfitError(f"{_wanted(name, tuple(old.shape))} It stays as it is.")
        kind = np.dtype(old.detach().numpy().dtype)
        if kind.kind in "iub" and not np.array_equal(data, data.astype(kind)):
            raise UnfitError(f"{name} holds {kind.name} numbers. It stays as it is.")
        from autograd_lab.torchlike.creation import tensor

        now[i] = tensor(data.tolist(), dtype=old.dtype)
        return now


def failed(error: BaseException) -> str:
    """What is said about a value that does not fit, or with which the function raises."""
    own = isinstance(error, UnfitError | RuntimeError)  # of `read`, or of a pass: they say all
    return str(error) if own else f"With this value the function raises {type(error).__name__}: {error}"


def stops(value: float, before: Record | None = None) -> Record:
    """Where the slider of a number can stop: "low", "by" and "count"; as `before`, if the value lies within.

    `value` is the middle one of 41, the outer ones are max(1, 2 * abs(value)) away, or a little more, so that all have few digits.
    """
    if before and before["low"] <= value <= before["low"] + before["by"] * (before["count"] - 1):
        return before
    if not math.isfinite(value):
        return {"low": 0.0, "by": 0.0, "count": 0}
    far = max(1.0, 2 * abs(value)) / _EACH_SIDE
    power = 10.0 ** math.floor(math.log10(far))
    by = next((n * power for n in _STEPS if n * power >= far * (1 - 1e-9)), 10 * power)
    if isinstance(value, int):
        by = math.ceil(by)
    return {"low": round_to(value - _EACH_SIDE * by), "by": round_to(by), "count": 2 * _EACH_SIDE + 1}


_EACH_SIDE = 20
_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def round_to(x: float) -> float:
    """Without the last digits, which only rounding has made; assets/slider.js does the same."""
    return float(f"{x:.10g}")


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
    found = [t for t in list(trace._recorder.met.values()) if is_leaf(t) and t.requires_grad]
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


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor."""
    from autograd_lab.torchlike.tensor import Tensor

    return isinstance(x, Tensor)


def is_leaf(x: Any) -> bool:
    """Whether it is a tensor that no operation made."""
    return is_tensor(x) and x.is_leaf


def is_one_number(x: Any) -> bool:
    """Whether it holds one real number, which a slider can change: a leaf, an array or number of NumPy's, or a number of Python's."""
    if is_tensor(x):
        return x.is_leaf and x.numel() == 1 and not x.is_complex() and not str(x.dtype).endswith("bool")
    if isinstance(x, np.ndarray | np.generic):
        return x.size == 1 and x.dtype.kind in "iuf"
    return type(x) in (int, float)


def number_in(x: Any) -> int | float:
    """The number in what `is_one_number` is true of, in as few digits as its dtype needs."""
    one = np.asarray(x.detach().numpy() if is_tensor(x) else x).reshape(-1)[0]
    return int(one) if isinstance(one, np.integer) else float(str(one))


def _like(old: Any, value: Any) -> Any:
    """A number in the form of `old`, which is no tensor."""
    if isinstance(old, np.ndarray):
        return np.full(old.shape, value, old.dtype)
    if type(old) is int:
        return int(value) if value == value // 1 else value
    return type(old)(value)


def with_number(old: Any, value: float) -> Any:
    """What `is_one_number` is true of, with another number."""
    from autograd_lab.torchlike.creation import tensor

    return (
        tensor(np.full(tuple(old.shape), value).tolist(), dtype=old.dtype)
        if is_tensor(old)
        else _like(old, value)
    )


def _copy(x: Any) -> Any:
    if is_tensor(x):
        return x.detach().clone()
    return x.copy() if type(x) in (np.ndarray, list, dict, set) else x


def _same(a: Any, b: Any) -> bool:
    """Whether two states of a generator are equal."""
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(x) for x in value]
    return value.x if isinstance(value, Number) else value


def written(data: Any) -> str:
    """Numbers as they are typed."""
    if isinstance(data, list):
        return f"[{', '.join(map(written, data))}]"
    return f"{data:.7g}" if isinstance(data, float) else str(data)


def _wanted(name: str, shape: tuple[int, ...]) -> str:
    if not shape:
        return f"{name} is one number."
    example = np.arange(1, np.prod(shape) + 1).reshape(shape).tolist()
    like = f", like {example}" if np.prod(shape) <= MOST_NUMBERS else ""
    return f"{name} has shape {'x'.join(map(str, shape)) if len(shape) > 1 else list(shape)}: write all its numbers{like}."
