"""Which tensors and nodes have hooks now: the notes ("hook_added", owner, key) and ("hook_removed", owner, key).

A hook on a computed tensor belongs to the node that made it and stays there when the tensor is written in place; `key` tells two
such nodes of one tensor apart. Modules and `register_multi_grad_hook` register theirs on nodes and tensors, and are not followed
beyond that. What saved-tensor hooks packed is noted with its node, which calls the user's code as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..torchlike.autograd.saved import Packed, SavedTensor
from ..torchlike.autograd.variable import Variable

SAVED = "saved"  # the key of what hooks packed


class Hooked:
    """Follows hooks from their registration to their removal; `note` appends to the notes of a recorder."""

    def __init__(self, note: Callable[[tuple[Any, ...]], None]) -> None:
        self.note = note
        self.fresh: list[tuple[Any, Any, int]] = []  # owners whose tables are not known yet
        self.owners: dict[
            int, tuple[Any, tuple[Any, Any, int]]
        ] = {}  # id of a table -> (the table, its owner)
        self.walked: dict[int, Any] = {}  # nodes from before the recording

    def added(self, what: Any) -> None:
        """A hook is about to be registered on a tensor or node."""
        owner = _owner(what)
        self.fresh.append(owner)
        self.note(("hook_added", what, id(owner[1])))

    def changed(self, what: Any) -> None:
        """What a watcher is told of hooks that are not on tensors, and of all that are removed."""
        if isinstance(what, dict):
            self.removed(what)
        elif isinstance(what, SavedTensor):
            self.packed(what._node)
        else:
            self.added(what)

    def packed(self, node: Any) -> None:
        """Hooks are about to pack a value that `node` has saved."""
        self.note(("hook_added", node, SAVED))

    def removed(self, table: Any) -> None:
        """A hook was removed from its table."""
        while self.fresh:
            owner = self.fresh.pop()
            self.owners.update((id(one), (one, owner)) for one in _tables(*owner))
        known = self.owners.get(id(table))
        if known is not None and not any(_tables(*(owner := known[1]))):
            self.note(("hook_removed", owner[0], id(owner[1])))

    def met(self, t: Any, maker: Any) -> None:
        """A tensor from before the recording was met; `maker` is its node: whatever has hooks there is noted."""
        if maker is None:
            meta = t._meta
            if meta is not None:
                if meta.hooks or meta.post_accumulate_hooks:
                    self.added(t)
                accumulator = None if meta.accumulator is None else meta.accumulator()
                if accumulator is not None and any(_tables(accumulator, accumulator, 0)):
                    self._walk(accumulator)
            return
        if any(_tables(t, maker, t.output_nr)):
            self.added(t)
        self._walk(maker)

    def _walk(self, node: Any) -> None:
        stack = [node]
        while stack:
            node = stack.pop()
            if node is None or id(node) in self.walked:
                continue
            self.walked[id(node)] = node
            if any(_tables(node, node, 0)):
                self.added(node)
            if has_packed(node.saved or getattr(node, "_kept", None) or ()):
                self.packed(node)
            stack += [fn for fn, _ in node.next_functions]


class Polled(Hooked):
    """The same of real PyTorch, which does not tell of a removed hook, nor of one that is registered on a node: tables are looked at."""

    def __init__(self, note: Callable[[tuple[Any, ...]], None]) -> None:
        super().__init__(note)
        self.tables: dict[
            tuple[int, int], tuple[Any, Any]
        ] = {}  # those that are not empty, and whose they are

    def seen(self, what: Any, *tables: Any) -> None:
        """These are the tables of hooks of a tensor or node; None for one that does not exist."""
        for table in tables:
            if table:
                self.tables[id(what), id(table)] = what, table
                self.note(("hook_added", what, id(table)))

    def look(self, ours: set[int]) -> None:
        """Note which owners have lost their last hook, apart from the hooks with the ids `ours`."""
        for (number, key), (what, table) in list(self.tables.items()):
            if ours.issuperset(table):
                del self.tables[number, key]
                self.note(("hook_removed", what, key))


def has_packed(saved: Iterable[Any]) -> bool:
    """Whether one of a node's saved values was packed by hooks."""
    return any(type(x) is Packed or type(getattr(x, "packed", None)) is Packed for x in saved)


def _owner(what: Any) -> tuple[Any, Any, int]:
    """A tensor or node, the node that has its hooks (None for a leaf), and the number of the output they are of."""
    if not isinstance(what, Variable):
        return what, what, 0
    return what, what.grad_fn, what.output_nr


def _tables(what: Any, node: Any, nr: int) -> Iterator[Any]:
    """The tables of an owner's hooks that exist."""
    if node is None:
        meta = what._meta
        found = [] if meta is None else [meta.hooks, meta.post_accumulate_hooks]
    elif node.hooks is None:
        return
    elif isinstance(what, Variable):
        found = [table for output, table in node.hooks.tensor if output == nr]
    else:
        found = [node.hooks.pre, node.hooks.post]
    yield from (table for table in found if table is not None)
