"""What a captured call does beside its results: buffers that it writes, random numbers that it draws.

The code of a graph writes nothing that was there before. It returns the new numbers of a buffer as one more output, and they
are written back when all is computed, with as many counted writes as the plain function made. Random numbers are a step of
the graph that draws from the same generator, in the same order, each time it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..autograd.modes import THREAD
from ..autograd.record import write
from ..autograd.variable import INFERENCE, bump_version, version_of
from ..autograd.views import shares_places
from ..random import DEFAULT
from .graph import NotAsCaptured


@dataclass
class Effects:
    """What one captured graph does beside its results."""

    writes: list[tuple[int, int]] = field(default_factory=list)
    """(input, how many writes are counted), in the order of the outputs behind those of the function."""
    draws: bool = False
    views: bool = False
    """Whether some results are views of others, taken when the graph has run."""
    drawn_from: Any = None
    """The state of the default generator before the newest call."""

    def __bool__(self) -> bool:
        return bool(self.writes) or self.draws


def with_effects(
    inner: Callable[[tuple], list[Any]], effects: Effects, n: int
) -> Callable[[tuple], list[Any]]:
    """`inner`, which runs a graph and gives `n` results and then the new numbers of what is written, with its effects."""
    writes, draws = effects.writes, effects.draws
    targets = [i for i, _ in writes]

    def call(tensors: tuple) -> list[Any]:
        if targets:
            _check_apart(tensors, targets)
        if draws:
            effects.drawn_from = DEFAULT.rng.bit_generator.state
        try:
            outputs = inner(tensors)
        except NotAsCaptured:
            if draws:
                DEFAULT.rng.bit_generator.state = effects.drawn_from
            raise
        for (i, counted), new in zip(writes, outputs[n:], strict=True):
            _store(tensors[i], new, counted)
        return outputs[:n]

    return call


def _store(target: Any, new: Any, counted: int) -> None:
    """Write the numbers of `new` into `target`, counting as many writes as the plain function does."""
    if not counted:
        target._array()[...] = new._data
        return
    write(target, new._data)
    for _ in range(counted - 1):
        bump_version(target)
    state = THREAD.state
    if state.watch is not None:
        state.watch.written("copy_", (target, new), target, None, "copy_")


def _check_apart(tensors: tuple, targets: list[int]) -> None:
    """Raise NotAsCaptured if a tensor that will be written shares its memory with another input, or with itself."""
    arrays = [t._data for t in tensors]
    plain = all(x.base is None for x in arrays) and len({id(x) for x in arrays}) == len(arrays)
    if plain:
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
        data = [(w.tensor, np.array(w.tensor._data)[()], _version(w.tensor)) for w in self._written]
        notes = None if self.recorder is None else self.recorder.mark()
        return data, DEFAULT.rng.bit_generator.state, notes

    def ran(self, written: list[Written]) -> None:
        """The run is over; it wrote these."""
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


def _version(t: Any) -> int:
    return 0 if t._box is INFERENCE else version_of(t)


class Both:
    """Two watchers in the place of one: each is told of everything."""

    running = True

    def __init__(self, first: Any, second: Any) -> None:
        self._first, self._second = first, second

    def __getattr__(self, name: str) -> Any:
        first, second = getattr(self._first, name), getattr(self._second, name)

        def tell(*args: Any, **kwargs: Any) -> None:
            first(*args, **kwargs)
            second(*args, **kwargs)

        return tell


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


__all__ = ["Both", "Effects", "Rewind", "Written", "redrawn", "with_effects"]
