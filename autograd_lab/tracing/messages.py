"""What is noted of a backward pass while user code can reach the gradients under way.

In most passes nobody but the engine sees a gradient before it lies in `.grad`, and there it is a copy. So the recorder keeps the
engine's own arrays. But a hook or a custom Function is handed them, the caller has the one the pass began with and, from
`autograd.grad`, those it ended with; each may write into them, at once or later. Of such a pass the numbers themselves are noted,
as they are at that moment: before user code is handed a gradient, and again when it is done.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..autograd.node import AccumulateGrad
from ..autograd.saved import Packed
from ..autograd.variable import Variable
from ..compiler.compiled import CompiledFunctionBackward
from ..compiler.opened import backward_lines
from .builder import Summary, encode, owner

_ARRAY = np.ndarray
LARGE = (
    1 << 16
)  # of so many numbers at most an array is copied; of a larger one a trace keeps a summary, made at once


def snapshot(data: Any) -> Any:
    """The numbers of an array as they are now."""
    if not isinstance(data, _ARRAY):
        return data  # nobody can write into a NumPy scalar
    return data.copy("K") if data.size <= LARGE else Summary(data)  # the quickest order


class InFlight:
    """The messages that wait in input buffers, by the memory they lie in: user code may write into one that it was not handed.

    A node such as that of `a + b` sends the same array to both operands. Who is handed the one also holds the other.

    Gradients are known by the name of their memory and by what is noted of them, which `same` compares; none is held on to.
    """

    def __init__(self, same: Callable[[Any, Any], bool]):
        self.same = same
        self.places: dict[tuple[Any, int], tuple[Any, Any]] = {}  # (node, output) -> (memory, what was noted)
        self.waiting: dict[Any, dict[tuple[Any, int], None]] = {}  # memory -> places
        self.handed: set[Any] = set()  # the memory that user code has got hold of
        self.open: dict[tuple[Any, int], None] = {}  # the places of such memory

    def put(self, place: tuple[Any, int], memory: Any, noted: Any) -> None:
        """A gradient lies in `place` now, alone or as a sum."""
        if place in self.places:
            self.take(place)
        self.places[place] = memory, noted
        self.waiting.setdefault(memory, {})[place] = None
        if memory in self.handed:
            self.open[place] = None

    def take(self, place: tuple[Any, int]) -> None:
        """It does not lie there any more."""
        memory, _ = self.places.pop(place, (None, None))
        here = self.waiting.get(memory)
        if here is not None:
            here.pop(place, None)
            self.open.pop(place, None)
            if not here:
                del self.waiting[memory]

    def hand(self, memories: Iterable[Any]) -> None:
        """User code gets hold of gradients in these memories; None stands for no gradient."""
        for memory in memories:
            if memory is not None and memory not in self.handed:
                self.handed.add(memory)
                self.open.update(self.waiting.get(memory, {}))

    def changed(self, noted: Callable[[Any, int], Any]) -> Iterator[tuple[Any, int, Any, Any]]:
        """(node, output, noted before, noted now) of what user code wrote into; `noted` tells what lies in a place now."""
        for place in list(self.open):
            memory, before = self.places[place]
            now = noted(*place)
            if not self.same(before, now):
                self.places[place] = memory, now
                yield *place, before, now


class OpenPass:
    """Takes the recorder's place in a pass whose gradients user code can reach.

    At its best it copies each array once: what was noted of one is good until user code runs.
    """

    def __init__(self, recorder: Any):
        self.recorder = recorder
        self.copies: dict[int, tuple[Any, Any]] = {}  # id of an array -> (the array, what was noted of it)
        self.flight = InFlight(_same)
        self.arriving: list[Any] = []  # noted: what the node at work got
        self.before: list[Any] = []  # noted: what the user code at work was handed
        self.old: Any = None  # noted: `.grad` of the leaf at work
        self.pushed, self.released, self.pruned = recorder.pushed, recorder.released, recorder.pruned
        self.retained, self.failed, self.pass_done = recorder.retained, recorder.failed, recorder.pass_done

    def noted(self, g: Any) -> Any:
        """The numbers of a gradient as they are now."""
        if isinstance(g, Variable):
            g = g._data
        if not isinstance(g, np.ndarray):
            return g
        known = self.copies.get(id(g))
        if known is None:
            known = self.copies[id(g)] = g, snapshot(g)
        return known[1]

    def delivered(self, run, sender, i, fn, nr, g, old, total) -> None:
        """A message reached the input buffer of `fn`."""
        known = self.copies.get(id(total))
        now = self.noted(total) if known is None else known[1]
        v, was = (now, None) if old is None and g is total else (self.noted(g), self.noted(old))
        self.recorder.notes.append(("delivered", sender, i, fn, nr, v, was, now))
        if total is not None:
            self.flight.put((fn, nr), _memory(total), now)

    def popped(self, run, node, g) -> None:
        """The engine takes `node` from the queue."""
        grads = [g] if node.plain else g
        self.arriving = [self.noted(x) for x in grads]
        for nr in range(len(grads)):
            self.flight.take((node, nr))
        self._find_grad(node)
        self.recorder.notes.append(
            ("popped", run, node, self.arriving[0] if node.plain else list(self.arriving))
        )

    def _accumulated(self, node, g, old, new) -> None:
        """`g` was added to the gradient of a leaf, which was `old` and is now in the array `new`."""
        self.recorder._accumulated(node, self.noted(g), old, new)

    def _find_grad(self, node) -> None:
        self.old = grad_now(node) if isinstance(node, AccumulateGrad) else None

    def handing(self, run, node, stage, grads, context=()) -> None:
        """User code is about to be handed gradients."""
        self.before = [self.noted(g) for g in grads]
        self.flight.hand(map(_memory, (*grads, *context)))

    def hooked(self, run, node, stage, after, nr=0) -> None:
        """User code saw, perhaps changed, gradients."""
        self.copies.clear()
        now = [self.noted(g) for g in after]
        self.recorder.notes.append(("hooked", node, stage, self.before, now, nr))
        self.flight.hand(map(_memory, after))
        self._tell_others(run)
        if stage == "tensor":
            self.arriving[nr] = now[0]
        elif stage == "pre":
            self.arriving = now
        if stage in ("tensor", "pre"):
            self._find_grad(node)  # the hook of a leaf may have changed that as well

    def applying(self, run, node, slots) -> None:
        """The rule of `node` is about to run, for a custom Function the user's `backward`."""
        self._tell_arrived(node, slots)
        if node.kind == "function":
            self.flight.hand(map(_memory, slots))

    def applied(self, run, node, slots, grads) -> None:
        """The rule of `node` ran; for an accumulator, `.grad` was written."""
        recorder = self.recorder
        if isinstance(node, AccumulateGrad):
            recorder.old = self.old
            recorder.applied(run, node, self.arriving, grads)
            return
        by_user = node.kind == "function"
        if by_user or any(type(t) is Packed for t in node.saved):
            self.copies.clear()
            if not by_user:
                self._tell_arrived(node, slots)  # hooks unpacked what was saved, and the rule ran after them
        sent = grads if run.needed is None else asked_for(run, node, grads)
        recorder.notes.append(("applied", node, list(self.arriving), [self.noted(g) for g in sent]))
        if isinstance(node, CompiledFunctionBackward):
            recorder.notes.append(("opened", node, "backward", backward_lines(node, slots), ()))
        if by_user:
            self.flight.hand(map(_memory, grads))
        self._tell_others(run)

    def _tell_arrived(self, node, slots) -> None:
        """Note what user code, handed something else, changed of the gradients that `node` has taken."""
        for nr, (was, g) in enumerate(zip(self.arriving, slots, strict=True)):
            now = self.noted(g)
            if not _same(was, now):
                self.recorder.notes.append(("hooked", node, "shared", [was], [now], nr))
                self.arriving[nr] = now

    def _tell_others(self, run) -> None:
        """The same of messages that wait elsewhere."""

        def noted(fn, nr):
            held = run.buffers[fn]
            return self.noted(held[nr] if isinstance(held, list) else held)

        for fn, nr, before, now in self.flight.changed(noted):
            self.recorder.notes.append(("hooked", fn, "shared", [before], [now], nr))


def watch_of(recorder: Any, run: Any, roots: list[Any]) -> Any:
    """Who is to take the notes of the pass `run`: the recorder itself while user code cannot reach a gradient of it."""
    if run.tensors or _runs_user_code(run.deps) or not lend(recorder.notes, [g for _, g in roots]):
        return OpenPass(recorder)
    return recorder


def lend(notes: list[Any], grads: Any, at: int | None = None) -> bool:
    """Note, at a place in the notes, what the memory of these gradients holds now, for the caller has them and may write there.

    Whatever lies in it is then read from that copy (see builder.Lent). Returns False if the memory is not NumPy's own.
    """
    owners = {id(x): x for x in map(owner, grads) if not isinstance(x, np.generic | None)}.values()
    if not all(isinstance(x, np.ndarray) for x in owners):
        return False
    lent = [("given", x, ctypes.string_at(x.ctypes.data, x.nbytes)) for x in owners]
    at = len(notes) if at is None else at
    notes[at:at] = lent
    return True


def _runs_user_code(nodes: Iterable[Any]) -> bool:
    """Whether one of the nodes calls hooks, or is the user's own."""
    for node in nodes:
        hooks = node.hooks
        if hooks is not None:
            if hooks.tensor or hooks.pre or hooks.post:
                return True
            if node.kind == "accumulate":
                meta = node.variable._meta
                if meta.hooks or meta.post_accumulate_hooks:
                    return True
        if node.kind == "function":
            return True
        for t in node.saved:
            if type(t) is Packed:
                return True
    return False


def asked_for(run: Any, node: Any, grads: Any) -> Any:
    """The gradients that a pass to some leaves only sends on: what nobody asked for is not sent, nor computed by PyTorch."""
    return [g if fn in run.needed else None for g, (fn, _) in zip(grads, node.next_functions, strict=False)]


def grad_now(node: Any) -> Any:
    """What `.grad` of the leaf of an accumulator holds now."""
    grad = node.variable._meta.grad
    return None if grad is None else snapshot(grad._data)


def _memory(g: Any) -> int | None:
    """Names the memory of a gradient, which all views of one array share; None where there is none."""
    return None if g is None else id(owner(g._data if isinstance(g, Variable) else g))


def _same(a: Any, b: Any) -> bool:
    """Whether two notes are of the same numbers."""
    if a is b or a is None or b is None:
        return a is b
    if isinstance(a, Summary) or isinstance(b, Summary):
        return encode(a) == encode(b)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


__all__ = ["InFlight", "OpenPass", "asked_for", "grad_now", "lend", "snapshot", "watch_of"]
