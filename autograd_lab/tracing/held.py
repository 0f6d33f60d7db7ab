"""What nodes keep alive besides the tensors that their `saved` lists: the records "holds" of a trace.

A rule may save what no variable ever had: a mask, indices, a copy of what a write in place destroyed. Saved-tensor hooks put something else
in place of a tensor, and what they return may hold memory: a copy, or at a checkpoint the function's inputs. When the checkpoint
computes the values again, they are there until the node that needs them has run.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..torchlike.autograd.function import Kept
from ..torchlike.autograd.saved import Packed
from ..torchlike.autograd.variable import Variable
from .shared import owner_of
from .trace import Record


class Held:
    """Writes the records "holds" of one trace: [tensor or null, bytes, first event, the event that ends it or null]."""

    def __init__(self, builder: Any) -> None:
        self.builder = weakref.proxy(builder)  # builder.Builder, which holds this
        self.open: dict[int, list[list[Any]]] = {}  # id of a node -> its records that last
        self.again: dict[
            int, list[list[Any]]
        ] = {}  # id of a node -> those of values computed again for its next run
        self.owners: dict[
            int, tuple[int, Record]
        ] = {}  # id of a holder -> its node: the id, and the record in the trace
        self.homes: dict[
            int, tuple[Any, int]
        ] = {}  # id of an array -> (it, the first tensor whose memory it is)
        self.nameless: dict[
            int, list[list[Any]]
        ] = {}  # id of an array that no tensor had so far -> the records about it

    def home(self, t: Any, i: int) -> int:
        """The first tensor in the memory of tensor `t`, number `i`: itself if no other was met there."""
        array = _memory(t)
        for one in self.nameless.pop(id(array), ()):
            one[0] = i
        return self.homes.setdefault(id(array), (array, i))[1]

    def lies_in(self, t: Any, i: int) -> bool:
        """Whether tensor `t` is in the memory that tensor number `i` was the first in."""
        found = self.homes.get(id(_memory(t)))
        return found is not None and found[1] == i

    def saved(self, node: Any, record: Record, saved: Any, owner: Any = None) -> None:
        """A node was made and has saved something; `owner` frees it, if that is another node."""
        key = id(node if owner is None else owner)
        listed = {t for _, t, _ in record["saved"]}
        for t in self._hidden(node, saved or (), key, record):
            if isinstance(t, Variable):
                i = self.builder.tensor_ids.get(id(t))
                if i not in listed:
                    self.open.setdefault(key, []).append(self._add(record, i, t))

    def _hidden(self, node: Any, saved: Any, key: int, record: Record) -> Iterator[Any]:
        """What the trace does not list of the values that a node has saved, and what hooks put in place of the others."""
        for i, one in enumerate(saved):
            packed = one.packed if isinstance(one, Kept) else one
            if isinstance(packed, Packed):
                yield from self._packed(packed, key, record)
            elif isinstance(one, Kept):
                yield one.tensor if one.result is None else None
            elif node.kind == "op" and self._is_result(node, i, record):
                yield None
            else:
                yield one

    def _is_result(self, node: Any, i: int, record: Record) -> bool:
        nr = node.result_number(i)
        return nr is not None and nr < len(record["outputs"])

    def _packed(self, packed: Any, key: int, record: Record) -> Iterator[Any]:
        """The tensors in what a hook returned. The graph of a checkpoint's second run holds nothing: it goes at once."""
        from ..torchlike.utils.checkpoint import _as_recomputed, _Holder

        content = packed.content
        if packed.unpack_hook is _as_recomputed:
            return
        if isinstance(content, _Holder):
            self.owners[id(content)] = key, record
            for one in content.frame.args:
                inner = one.packed if isinstance(one, Kept) else None
                if inner is not None:
                    yield from self._packed(inner, key, record)
                elif isinstance(one, Kept):
                    yield one.tensor
        elif isinstance(content, Variable):
            yield content
        elif isinstance(content, list | tuple):
            yield from content
        elif isinstance(content, dict):
            yield from content.values()

    def recomputed(self, holder: Any, t: Any) -> None:
        """A checkpoint has computed again what `holder` stands for."""
        key, record = self.owners.get(id(holder), (None, None))
        if key is not None and record is not None:
            self.again.setdefault(key, []).append(self._add(record, self.builder.tensor_ids.get(id(t)), t))

    def applied(self, node: Any) -> None:
        """A node's rule has run: it has used up what was computed again for it."""
        self._end(self.again.pop(id(node), ()), 1)

    def released(self, node: Any, after: int) -> None:
        """A node has let go of what it saved; `after` is 1 if no event tells of it, 0 if the last one did."""
        self._end(self.open.pop(id(node), ()), after)

    def _end(self, records: Any, after: int) -> None:
        for one in records:
            one[3] = len(self.builder.events) + after

    def _add(self, record: Record, i: int | None, t: Any) -> list[Any]:
        array = _memory(t)
        i = self.homes.get(id(array), (None, i))[1] if i is None else self.home(t, i)
        one = [i, int(array.nbytes), len(self.builder.events) + 1, None]
        record.setdefault("holds", []).append(one)
        if i is None:
            self.nameless.setdefault(id(array), []).append(one)
        return one


def _memory(t: Any) -> Any:
    """The array that owns the memory of a tensor; a number by itself has no other."""
    return owner_of(t._data) if isinstance(t._data, np.ndarray) else t._data
