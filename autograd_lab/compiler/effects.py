"""What a captured call does beside its results: buffers and parameters that it writes, gradients that a backward pass in it
leaves, random numbers that it draws.

The code of a graph returns the new numbers of a buffer as one more output, and they are written back when all is computed, with
as many counted writes as the plain function made. What it computes last, without a way back, it writes over the old numbers
itself. A gradient that a pass inside leaves is an output too, and becomes a new `.grad`. Random numbers are a step of
the graph that draws from the same generator, in the same order, each time it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..torchlike.autograd.memory import shares_places
from ..torchlike.autograd.modes import THREAD, WATCHERS, watcher
from ..torchlike.autograd.record import write
from ..torchlike.autograd.variable import INFERENCE, bump_version, version_of, wrap
from ..torchlike.random import DEFAULT
from .graph import NotAsCaptured


@dataclass
class Effects:
    """What one captured graph does beside its results."""

    writes: list[tuple[int, int]] = field(default_factory=list)
    """(input, how many writes are counted), in the order of the outputs behind those of the function."""
    draws: bool = False
    views: bool = False
    """Whether some results are views of others, taken when the graph has run."""
    direct: frozenset[int] = frozenset()
    """The inputs among these over which the code of the graph writes itself."""
    grads: list[tuple[int, int | None]] = field(default_factory=list)
    """(input, the version of its new `.grad`, one of the last outputs); None for one whose `.grad` is set to None."""
    spent: list[int] = field(default_factory=list)
    """The results from which a backward pass was run inside: they have a history, and it is used up."""
    passes: bool = False
    """Whether a backward pass is run inside."""
    drawn_from: Any = None
    """The state of the default generator before the newest call."""

    def __bool__(self) -> bool:
        return bool(self.writes or self.draws or self.grads or self.passes)

    def replaced(self, n_outputs: int, tensors: list[Any]) -> dict[int, int]:
        """{output: input} for what is written in a way that the code of a graph with `n_outputs` outputs may do itself."""
        first = n_outputs - self.outputs
        return {
            first + k: i
            for k, (i, counted) in enumerate(self.writes)
            if counted and isinstance(tensors[i]._data, np.ndarray) and tensors[i]._data.ndim
        }

    @property
    def outputs(self) -> int:
        """How many outputs of the graph are no results of the function: first what is written, then gradients."""
        return len(self.writes) + sum(version is not None for _, version in self.grads)


def with_effects(inner: Callable[[tuple], Any], effects: Effects) -> Callable[[tuple], list[Any]]:
    """`inner`, which runs a graph and gives (results, new numbers of what is written and gradients), with its effects."""
    draws, grads = effects.draws, effects.grads
    targets = [i for i, _ in effects.writes]
    direct = [(i, counted) for i, counted in effects.writes if i in effects.direct]
    writes = [(i, counted) for i, counted in effects.writes if i not in effects.direct]

    def call(tensors: tuple) -> list[Any]:
        if targets:
            _check_apart(tensors, targets)
        if direct:
            _prepare([tensors[i] for i, _ in direct])
        if draws:
            effects.drawn_from = DEFAULT.rng.bit_generator.state
        try:
            outputs, left = inner(tensors)
        except NotAsCaptured:
            if draws:
                DEFAULT.rng.bit_generator.state = effects.drawn_from
            raise
        for i, counted in direct:
            box = tensors[i]._box
            if box is None or WATCHERS:
                _count(tensors[i], counted)
            else:
                box[0] += counted
        if left:
            for (i, counted), new in zip(writes, left, strict=False):
                _store(tensors[i], new, counted)
        if grads:
            coming = iter(left[len(writes) :])
            for i, version in grads:
                tensors[i].grad = None if version is None else _gradient(next(coming), version)
        return outputs

    return call


def _prepare(targets: list[Any]) -> None:
    """Before the code of a graph writes over tensors. Raises NotAsCaptured if that is for the library to do."""
    for t in targets:
        if not t._data.flags.writeable or t._box is INFERENCE:
            raise NotAsCaptured("what is written is read-only, or may not be written")
    if THREAD.state.mutation is not None:
        raise NotAsCaptured("what is written is watched")
    if WATCHERS:
        for t in targets:
            watcher().writing(t)


def _count(target: Any, counted: int) -> None:
    """Count the writes of the plain function into what the code of a graph has written over."""
    box = target._box
    if box is None:
        target._box = [counted]
    else:
        box[0] += counted
    if WATCHERS:
        watcher().written("copy_", (target,), target, None, "copy_")


def _gradient(array: Any, version: int) -> Any:
    """A gradient in memory that nothing else is in."""
    if isinstance(array, np.ndarray) and array.base is not None:
        array = array.copy()
    return wrap(array, box=[version] if version else None)


def grad_of(t: Any) -> Any:
    """The `.grad` of a tensor, without a word about it."""
    return None if t._meta is None else t._meta.grad


def set_grads(grads: list[tuple[Any, Any]]) -> None:
    """Put a `.grad` where it was, without a word about it."""
    for t, grad in grads:
        if t._meta is not None or grad is not None:
            t._ensure_meta().grad = grad


def _store(target: Any, new: Any, counted: int) -> None:
    """Write the numbers `new` into `target`, counting as many writes as the plain function does."""
    if not counted:
        target._array()[...] = new
        return
    memory, box = target._data, target._box
    plain = isinstance(memory, np.ndarray) and memory.flags.writeable and box and box is not INFERENCE
    if plain and counted == 1 and not WATCHERS and THREAD.state.mutation is None:
        box[0] += 1  # as `write` does, without its other cases
        memory[...] = new
        return
    write(target, new)
    for _ in range(counted - 1):
        bump_version(target)
    state = THREAD.state
    if state.watch is not None:
        state.watch.written("copy_", (target, wrap(new)), target, None, "copy_")


def _check_apart(tensors: tuple, targets: list[int]) -> None:
    """Raise NotAsCaptured if a tensor that will be written shares its memory with another input, or with itself."""
    arrays = [t._data for t in tensors]
    for x in arrays:
        if x.base is not None:
            break
    else:
        if len(set(map(id, arrays))) == len(arrays):
            return
    for i in targets:
        mine = arrays[i]
        if not isinstance(mine, np.ndarray):
            continue
        if shares_places(tensors[i]) or any(
            j != i and isinstance(x, np.ndarray) and np.may_share_memory(x, mine)
            for j, x in enumerate(arrays)
        ):
            raise NotAsCaptured("what is written shares its memory with another tensor")


@dataclass
class Written:
    """A tensor that was there before the call and is written in it."""

    tensor: Any
    before: Any
    """Its numbers before the first write."""
    version: int
    """Its version then."""
    counted: int = 0
    """How many writes were counted since."""


class Rewind:
    """A run that can be taken back, so that what it did is done once when it is done again compiled.

    Holds what the function wrote, where the generator stood, and the notes of a recorder that looked on.
    """

    def __init__(self, recorder: Any = None) -> None:
        self.recorder = recorder
        self._written: list[Written] = []
        self._before = self._now()
        self._after = self._before

    def _now(self) -> Any:
        data = [(w.tensor, np.array(w.tensor._data)[()], writes_into(w.tensor)) for w in self._written]
        notes = None if self.recorder is None else self.recorder.mark()
        return data, DEFAULT.rng.bit_generator.state, notes

    def ran(self, written: list[Written]) -> None:
        """The run is over; it wrote these. What it left in `.grad` need not be taken back: it is set again, or was None."""
        self._written = written
        self._after = self._now()
        self._before = [(w.tensor, w.before, w.version) for w in written], *self._before[1:]

    def back(self) -> None:
        """All as it was before the run."""
        self._set(self._before)

    def forth(self) -> None:
        """All as the run left it."""
        self._set(self._after)

    def _set(self, what: Any) -> None:
        data, state, notes = what
        for t, x, version in data:
            if isinstance(t._data, np.ndarray):
                np.copyto(t._data, x)
            else:
                t._data = x
            if t._box is not None and t._box is not INFERENCE:
                t._box[0] = version
        DEFAULT.rng.bit_generator.state = state
        if self.recorder is not None:
            self.recorder.restore(notes)


def writes_into(t: Any) -> int:
    """How many writes into a tensor were counted."""
    return 0 if t._box is INFERENCE else version_of(t)


def redrawn(entry: Any, function: Callable[[], Any]) -> Any:
    """What `function` gives if the generator stands where it stood before the newest call of `entry`; it stays where it is."""
    if not entry.effects.draws:
        return function()
    now = DEFAULT.rng.bit_generator.state
    try:
        DEFAULT.rng.bit_generator.state = entry.effects.drawn_from
        return function()
    finally:
        DEFAULT.rng.bit_generator.state = now


__all__ = ["Effects", "Rewind", "Written", "redrawn", "with_effects"]
