"""Memory that NumPy holds, too: a write through an array is no operation, so nobody tells the recorder.

The recorder keeps what such memory held when it last looked, and compares when the memory is used again, before a pass that
needs it, and at the end. It looks only at what is used, so recording stays linear; with nothing shared it looks at nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from .statements import Found, find_write

_WHOLE = 1 << 18  # so many bytes are compared one by one; of more memory, every so-manieth number
_SAMPLES = 1 << 12
_LATEST = 64


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array whose memory this one is a view of, itself if it owns what it shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class _Memory:
    """One piece of memory: what it held when somebody last looked, and where in the program that was."""

    def __init__(self, array: np.ndarray, address: int | None, place: Any):
        self.array, self.address = array, address
        self.place = place
        self.held = fingerprint(array)


class Shared:
    """All memory of one recording that tensors and NumPy arrays share, by the id of the array that owns it.

    owner     tensor -> the array that owns its memory, or None
    address   tensor -> what tells its memory from all other, whether it is shared or not; or None
    """

    def __init__(self, owner: Callable[[Any], np.ndarray | None], address: Callable[[Any], int | None]):
        self.owner, self.address = owner, address
        self.memory: dict[int, _Memory] = {}
        self._tensors: dict[int, Any] = {}  # one over each piece of memory
        self._over: dict[int | None, list[Any]] = {}  # address -> the tensors of the recording there
        self._seen = 0

    def add(self, t: Any, place: Any) -> None:
        """From here on NumPy may write into the memory of `t`."""
        array = self.owner(t)
        if array is not None and array.size and id(array) not in self.memory:
            self.memory[id(array)] = _Memory(array, self.address(t), place)
            self._tensors[id(array)] = t

    def written(self, t: Any, place: Any) -> None:
        """The memory of `t` was written by an operation, of which the recorder was told."""
        array = self.owner(t)
        memory = None if array is None else self.memory.get(id(array))
        if memory is not None:
            memory.held, memory.place = fingerprint(memory.array), place

    def moved(self, t: Any) -> None:
        """`t` may have other memory than before: `.data =` gave it some, or a number became an array to be shared."""
        self._over.setdefault(self.address(t), []).append(t)

    def forget(self, t: Any) -> None:
        """The memory of `t` is written by something that tells nobody afterwards: it is not looked at any more."""
        array = self.owner(t)
        self.memory.pop(id(array), None)
        self._tensors.pop(id(array), None)

    def changes(self, tensors: Iterable[Any], place: Any, frame: Any) -> list[tuple[int, Found | None, Any]]:
        """The memory behind some tensors that is not what it was: (id, the statement that wrote it, where it was last seen)."""
        found = []
        for t in tensors:
            array = self.owner(t)
            memory = None if array is None else self.memory.get(id(array))
            if memory is None:
                continue
            now = fingerprint(memory.array)
            if now != memory.held:
                since, memory.held = memory.place, now
                found.append((id(memory.array), find_write(frame, memory.array, since, place), since))
            memory.place = place
        return found

    def all(self) -> list[Any]:
        """A tensor over each piece of memory."""
        return list(self._tensors.values())

    def latest(self) -> list[Any]:
        """A tensor over each of the pieces of memory that were shared last: a loop may share one more each time."""
        return list(islice(reversed(self._tensors.values()), _LATEST))

    def over(self, key: int, met: dict[int, Any]) -> list[Any]:
        """The tensors over a piece of memory; `met` are all of the recording, of which those that are new since are looked at."""
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
