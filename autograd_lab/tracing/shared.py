"""Memory shared with NumPy: a write through an array is not an operation, so the recorder hears nothing of it.

The recorder keeps the last known contents of such memory, and compares them when the memory is used again, before a pass that
needs it, and at the end. It checks only what is used, so recording stays linear; with nothing shared it checks nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from .statements import Found, find_write

_WHOLE = 1 << 18  # memory of at most this many bytes is compared as a whole; of larger memory, a sample
_SAMPLES = 1 << 12
_LATEST = 64


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array whose memory this one is a view of, itself if it owns what it shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class _Memory:
    """One piece of memory: its contents at the last check, and the place in the program at that time."""

    def __init__(self, array: np.ndarray, address: int | None, place: Any):
        self.array, self.address = array, address
        self.place = place
        self.held = fingerprint(array)


class Shared:
    """All memory of one recording that tensors and NumPy arrays share, by the id of the array that owns it.

    owner     tensor -> the array that owns its memory, or None
    address   tensor -> what identifies its memory, shared or not; or None
    """

    def __init__(self, owner: Callable[[Any], np.ndarray | None], address: Callable[[Any], int | None]):
        self.owner, self.address = owner, address
        self.memory: dict[int, _Memory] = {}
        self._tensors: dict[int, Any] = {}  # one tensor over each piece of memory
        self._over: dict[int | None, list[Any]] = {}  # address -> the tensors of the recording there
        self._seen = 0

    def add(self, t: Any, place: Any) -> None:
        """From here on NumPy may write into the memory of `t`."""
        array = self.owner(t)
        if array is not None and array.size and id(array) not in self.memory:
            self.memory[id(array)] = _Memory(array, self.address(t), place)
            self._tensors[id(array)] = t

    def written(self, t: Any, place: Any) -> None:
        """The memory of `t` was written by an operation that the recorder has noted."""
        array = self.owner(t)
        memory = None if array is None else self.memory.get(id(array))
        if memory is not None:
            memory.held, memory.place = fingerprint(memory.array), place

    def moved(self, t: Any) -> None:
        """`t` may have new memory: `.data =` assigned it, or a number became an array in order to be shared."""
        self._over.setdefault(self.address(t), []).append(t)

    def forget(self, t: Any) -> None:
        """The memory of `t` is written by something that gives no notice: stop checking it."""
        array = self.owner(t)
        self.memory.pop(id(array), None)
        self._tensors.pop(id(array), None)

    def changes(
        self, tensors: Iterable[Any], place: Any, frame: Any, base: Any = None
    ) -> list[tuple[int, Found | None, Any]]:
        """The memory behind some tensors that has changed: (id, the statement that wrote it, the place of the last check)."""
        found = []
        for t in tensors:
            array = self.owner(t)
            memory = None if array is None else self.memory.get(id(array))
            if memory is None:
                continue
            now = fingerprint(memory.array)
            if now != memory.held:
                since, memory.held = memory.place, now
                found.append((id(memory.array), find_write(frame, memory.array, since, place, base), since))
            memory.place = place
        return found

    def all(self) -> list[Any]:
        """A tensor over each piece of memory."""
        return list(self._tensors.values())

    def latest(self) -> list[Any]:
        """A tensor over each of the most recently shared pieces of memory: a loop may share another one in each turn."""
        return list(islice(reversed(self._tensors.values()), _LATEST))

    def over(self, key: int, met: dict[int, Any]) -> list[Any]:
        """The tensors over a piece of memory; `met` are all of the recording: only those added since the last call are examined."""
        if len(met) < self._seen:  # some were forgotten
            self._seen, self._over = 0, {}
        for t in islice(reversed(met.values()), len(met) - self._seen):
            self._over.setdefault(self.address(t), []).append(t)
        self._seen = len(met)
        memory = self.memory[key]
        found = {id(t): t for t in self._over.get(memory.address, ()) if self.owner(t) is memory.array}
        return list(found.values())


def fingerprint(array: np.ndarray) -> bytes:
    """What an array holds, as bytes; of a large one, a sample."""
    if array.nbytes <= _WHOLE:
        return array.tobytes()
    return array.flat[:: array.size // _SAMPLES].tobytes()
