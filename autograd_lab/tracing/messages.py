"""The notes of a backward pass while user code can reach the gradients under way.

In most passes only the engine sees a gradient before it reaches `.grad`, and there it is a copy. So the recorder keeps the
engine's own arrays. But hooks and custom Functions receive them, the caller holds the one that the pass began with and, from
`autograd.grad`, those that it ended with; each may write into them, at once or later. When such an array is handed out, its
contents are copied for the notes taken so far: until then nothing can have written there. From then on the numbers
themselves are noted, as they are at that moment: before user code receives a gradient, and again when it is done.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..torchlike.autograd.node import AccumulateGrad
from ..torchlike.autograd.saved import Packed
from ..torchlike.autograd.variable import Variable
from ..torchlike.autograd.watch import Watch
from .builder import Summary, encode, owner
from .guard import guarded

_ARRAY = np.ndarray
LARGE = (
    1 << 16
)  # arrays of at most this many numbers are copied; a larger one is summarized at once, as in a trace


_LIBRARIES = "<frozen", *{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
"""Where code lies that runs after the user's: an engine calls Python's own, too."""


class LastLine:
    """Finds the line at which the user's code that an engine calls comes back: its last one.

    Python is asked (sys.settrace) while that code runs, and only if nobody else asks: a debugger or a measurement of coverage
    goes on undisturbed, and the line is unknown.
    """

    def __init__(self, internal: tuple[str, ...]) -> None:
        self.others = *internal, *_LIBRARIES
        self.place: tuple[CodeType, int] | None = None
        self.before: Any = None

    def begin(self) -> None:
        """The user's code is about to be called."""
        self.place, self.before = None, sys.gettrace()
        if self.before is None or isinstance(self.before, LastLine):
            sys.settrace(self)

    def end(self) -> tuple[CodeType, int] | None:
        """It is back: from which place."""
        asked: Any = sys.gettrace()
        if asked is self:
            sys.settrace(self.before)
        return self.take()

    def take(self) -> tuple[CodeType, int] | None:
        """From which place user code came back last, if any did since this was asked."""
        place, self.place = self.place, None
        return place

    def __call__(self, frame: FrameType, event: str, what: Any) -> Any:
        """What Python asks at each call."""
        if frame.f_code.co_filename.startswith(self.others):
            return None
        frame.f_trace_lines = False
        return self._back

    def _back(self, frame: FrameType, event: str, what: Any) -> Any:
        if event == "return":
            self.place = frame.f_code, frame.f_lasti
        return self._back


def snapshot(data: Any) -> Any:
    """The numbers of an array as they are now."""
    if not isinstance(data, _ARRAY):
        return data  # NumPy scalars are immutable
    return data.copy("K") if data.size <= LARGE else Summary(data)  # the fastest order


class InFlight:
    """The messages that wait in input buffers, by their memory: user code may write into one that it was not handed.

    A node such as that of `a + b` sends the same array to both operands: code that receives one also holds the other.

    A gradient is identified by the id of its memory and by what is noted of it, which `same` compares; none is kept alive.
    """

    def __init__(self, same: Callable[[Any, Any], bool]):
        self.same = same
        self.places: dict[tuple[Any, int], tuple[Any, Any]] = {}  # (node, output) -> (memory, what was noted)
        self.waiting: dict[Any, dict[tuple[Any, int], None]] = {}  # memory -> places
        self.handed: set[Any] = set()  # the memory that user code has access to
        self.open: dict[tuple[Any, int], None] = {}  # the places of such memory

    def put(self, place: tuple[Any, int], memory: Any, noted: Any) -> None:
        """A gradient is now in `place`, alone or as a sum."""
        if place in self.places:
            self.take(place)
        self.places[place] = memory, noted
        self.waiting.setdefault(memory, {})[place] = None
        if memory in self.handed:
            self.open[place] = None

    def take(self, place: tuple[Any, int]) -> None:
        """The gradient has left `place`."""
        memory, _ = self.places.pop(place, (None, None))
        here = self.waiting.get(memory)
        if here is not None:
            here.pop(place, None)
            self.open.pop(place, None)
            if not here:
                del self.waiting[memory]

    def hand(self, memories: Iterable[Any]) -> None:
        """User code gets access to gradients in these memories; None stands for no gradient."""
        for memory in memories:
            if memory is not None and memory not in self.handed:
                self.handed.add(memory)
                self.open.update(self.waiting.get(memory, {}))

    def changed(self, noted: Callable[[Any, int], Any]) -> Iterator[tuple[Any, int, Any, Any]]:
        """(node, output, noted before, noted now) of what user code wrote into; `noted` returns what is in a place now."""
        for place in list(self.open):
            memory, before = self.places[place]
            now = noted(*place)
            if not self.same(before, now):
                self.places[place] = memory, now
                yield *place, before, now


class OpenPass(Watch):
    """Takes the recorder's place in a pass whose gradients user code can reach.

    Until user code runs it takes the notes that the recorder would. After that it copies what user code can reach, once:
    what was noted of an array is valid until user code runs again.
    """

    def __init__(self, recorder: Any, run: Any, roots: Any, lent: list[Any], packed: bool, quiet: bool):
        self.recorder = recorder
        self.roots = roots  # the gradients that it begins with
        self.lent = lent  # see `lend`
        self.quiet = quiet
        self.all_copied = run.tensors  # with tensors it is unknown which code holds which memory
        self.copies: dict[int, tuple[Any, Any]] = {}  # id of an array -> (the array, what was noted of it)
        self.handed: set[int] = set()  # ids of the memory that user code has access to
        # id of memory -> (node, output, the earlier one or None): the places that it was sent to
        self.sent: dict[int, Any] = {}
        self.open: dict[Any, Any] = {}  # places where such memory waits -> noted: what is there
        self.arriving: Any = []  # noted: what the node at work got
        self.before: list[Any] = []  # noted: what the user code at work was handed
        self.old: Any = None  # noted: `.grad` of the leaf at work
        self.pushed, self.released, self.pruned = recorder.pushed, recorder.released, recorder.pruned
        self.retained, self.missed = recorder.retained, recorder.missed
        self.packed = packed  # whether hooks unpack what is saved
        self.lines = LastLine(recorder.internal)
        if not quiet:
            self._hand(run, roots)

    def noted(self, g: Any) -> Any:
        """The numbers of a gradient as they are now: the array itself where only the engine can write."""
        if type(g) is not _ARRAY:
            if isinstance(g, Variable):
                g = g._data
            if not isinstance(g, _ARRAY):
                return g
        memory = g if g.base is None else owner(g)
        if id(memory) not in self.handed and not self.all_copied and isinstance(memory, _ARRAY):
            return g
        known = self.copies.get(id(g))
        if known is None:
            known = self.copies[id(g)] = g, snapshot(g)
        return known[1]

    @guarded
    def delivered(self, run, sender, i, fn, nr, g, old, total) -> None:
        """A message reached the input buffer of `fn`."""
        if self.quiet:
            self.recorder.notes.append(("delivered", sender, i, fn, nr, g, old, total))
            return
        now = self.noted(total)
        v, was = (now, None) if old is None and g is total else (self.noted(g), self.noted(old))
        self.recorder.notes.append(("delivered", sender, i, fn, nr, v, was, now))
        if self.open:
            self.open.pop((fn, nr), None)
        if total is not None:
            self._wait(fn, nr, total, now)

    def _wait(self, fn, nr, g, noted) -> None:
        """A gradient is now in an input buffer. A node such as that of `a + b` sends one array to both operands."""
        memory: Any = id(g) if type(g) is _ARRAY and g.base is None else _memory(g)
        self.sent[memory] = fn, nr, self.sent.get(memory)
        if memory in self.handed:
            self.open[fn, nr] = noted

    @guarded
    def popped(self, run, node, g) -> None:
        """The engine takes `node` from the queue."""
        grads = [g] if node.plain else list(g)
        if not self.quiet:
            grads = list(map(self.noted, grads))
            for nr in range(len(grads) if self.open else 0):
                self.open.pop((node, nr), None)
        self.arriving = grads
        self._find_grad(node)
        self.recorder.notes.append(("popped", run, node, grads[0] if node.plain else grads))

    @guarded
    def _accumulated(self, node, g, old, new) -> None:
        """`g` was added to the gradient of a leaf, which was `old` and is now in the array `new`."""
        self.recorder._accumulated(node, self.noted(g), old, new)

    def _find_grad(self, node) -> None:
        self.old = grad_now(node) if isinstance(node, AccumulateGrad) else None

    def _begin(self, run) -> None:
        """User code is about to run for the first time in this pass; the caller holds the gradients that it began with."""
        self.quiet = False
        for fn, held in run.buffers.items():
            for nr, g in enumerate(held if isinstance(held, list) else [held]):
                if g is not None:
                    self._wait(fn, nr, g, self.noted(g))
        self._hand(run, self.roots)

    def _hand(self, run, grads) -> None:
        """User code gets access to gradients: make sure that what was noted of them does not change."""
        new = {id(x): x for x in (owner(_data(g)) for g in grads if g is not None)}
        for memory in new.keys() & self.handed:
            del new[memory]
        if not new:
            return
        if not self.all_copied:
            lend(self.lent, new.values())
            self.arriving = [snapshot(x) if _memory(x) in new else x for x in self.arriving]
        for memory in new:
            place = self.sent.get(memory)
            while place is not None:
                fn, nr, place = place
                g = _waits(run, fn, nr)
                if _memory(g) == memory:
                    self.open[fn, nr] = snapshot(_data(g))
        self.handed.update(new)

    @guarded
    def handing(self, run, node, stage, grads, context=()) -> None:
        """User code is about to get gradients."""
        if self.quiet:
            self._begin(run)
        self._hand(run, (*grads, *context))
        self.before = [self.noted(g) for g in grads]
        self.lines.begin()

    @guarded
    def hooked(self, run, node, stage, after, nr=0) -> None:
        """User code saw, perhaps changed, gradients."""
        place = self.lines.end()
        self.copies.clear()
        self._hand(run, after)
        now = [self.noted(g) for g in after]
        self.recorder.notes.append(("hooked", node, stage, self.before, now, nr, place))
        self._tell_others(run)
        if stage == "tensor":
            self._arrived(nr, now[0])
        elif stage == "pre":
            self.arriving = now
        if stage in ("tensor", "pre"):
            self._find_grad(node)  # the hook of a leaf may have changed that as well

    @guarded
    def applying(self, run, node, slots) -> None:
        """The rule of `node` is about to run, for a custom Function the user's `backward`."""
        if not self.quiet:
            self._tell_arrived(node, slots)
        if node.kind == "function":
            if self.quiet:
                self._begin(run)
            self._hand(run, slots)
            self.lines.begin()

    @guarded
    def applied(self, run, node, slots, grads) -> None:
        """The rule of `node` ran; for an accumulator, `.grad` was written."""
        recorder, place = self.recorder, self.lines.end()
        if isinstance(node, AccumulateGrad):
            recorder.old = self.old
            recorder.applied(run, node, self.arriving, grads)
            return
        by_user = node.kind == "function"
        if self.quiet and not by_user:
            recorder.applied(run, node, slots, grads)
            return
        if by_user or (self.packed and any(type(t) is Packed for t in node.saved)):
            self.copies.clear()
            if not by_user:
                self._tell_arrived(node, slots)  # hooks unpacked what was saved, and the rule ran after them
        sent = grads if run.needed is None else asked_for(run, node, grads)
        if by_user:
            self._hand(run, grads)
        recorder.notes.append(("applied", node, self.arriving, list(map(self.noted, sent)), place))
        if by_user and type(node)._compiled:
            from ..compiler.opened import backward_lines

            recorder.notes.append(("opened", node, "backward", backward_lines(node, slots), ()))
        if by_user or self.packed or self.all_copied:
            self._tell_others(run)

    def failed(self, run, error) -> None:
        """The pass ended with an exception, perhaps of the user's code that was at work."""
        self.lines.end()
        self.recorder.failed(run, error)

    @guarded
    def pass_done(self, run) -> None:
        """The pass is complete: the caller of `autograd.grad` gets access to what it collected."""
        self._hand(run, run.captured.values() if run.captures is not None else ())
        self.recorder.pass_done(run)

    def _tell_arrived(self, node, slots) -> None:
        """Note what user code, handed something else, changed of the gradients that `node` has taken."""
        for nr, (was, g) in enumerate(zip(self.arriving, slots, strict=True)):
            now = self.noted(g)
            if not _same(was, now):
                self.recorder.notes.append(("hooked", node, "shared", [was], [now], nr))
                self._arrived(nr, now)

    def _arrived(self, nr, noted) -> None:
        """One of the gradients that the node at work got was replaced; the notes keep the earlier list."""
        self.arriving = [*self.arriving[:nr], noted, *self.arriving[nr + 1 :]]

    def _tell_others(self, run) -> None:
        """The same for messages that wait elsewhere."""
        for (fn, nr), before in list(self.open.items()):
            now = self.noted(_waits(run, fn, nr))
            if not _same(before, now):
                self.open[fn, nr] = now
                self.recorder.notes.append(("hooked", fn, "shared", [before], [now], nr))


def watch_of(recorder: Any, run: Any, roots: list[Any], lent: list[Any]) -> Any:
    """The watcher that takes the notes of the pass `run`: the recorder itself if user code cannot reach its gradients."""
    grads = [g for _, g in roots]
    known = not run.tensors and lend(lent, map(owner, grads))
    called, packed = _user_code_in(run.deps)
    if known and not called and not packed:
        return recorder
    return OpenPass(recorder, run, grads, lent, packed, quiet=known and not packed)


def lend(lent: list[Any], owners: Iterable[Any]) -> bool:
    """Add to `lent`, which precedes the notes of a pass, what arrays hold now: they may be written later.

    Everything in their memory is then read from that copy (see builder.Lent). Returns False unless NumPy owns all of it.
    """
    known = True
    for x in {id(x): x for x in owners if x is not None and not isinstance(x, np.generic)}.values():
        if isinstance(x, _ARRAY):
            lent.append((x, ctypes.string_at(x.ctypes.data, x.nbytes)))
        else:
            known = False
    return known


def _user_code_in(nodes: Iterable[Any]) -> tuple[bool, bool]:
    """Whether one of the nodes calls hooks or is the user's own, and whether saved-tensor hooks, which no watcher sees, unpack what it saved."""
    called = packed = False
    for node in nodes:
        hooks = node.hooks
        if hooks is not None:
            if hooks.tensor or hooks.pre or hooks.post:
                called = True
            elif node.kind == "accumulate":
                meta = node.variable._meta
                called = called or bool(meta.hooks or meta.post_accumulate_hooks)
        if node.kind == "function":
            called = True
        for t in node.saved:
            if type(t) is Packed:
                packed = True
    return called, packed


def asked_for(run: Any, node: Any, grads: Any) -> Any:
    """The gradients that a pass to selected leaves sends on: it drops the others, which PyTorch does not even compute."""
    return [g if fn in run.needed else None for g, (fn, _) in zip(grads, node.next_functions, strict=False)]


def grad_now(node: Any) -> Any:
    """What `.grad` of an accumulator's leaf holds now."""
    grad = node.variable._meta.grad
    return None if grad is None else snapshot(grad._data)


def _memory(g: Any) -> int | None:
    """An id for the memory of a gradient, the same for all views of one array; None if there is no gradient."""
    return None if g is None else id(owner(_data(g)))


def _waits(run: Any, fn: Any, nr: int) -> Any:
    """What is in an input buffer now."""
    held = run.buffers.get(fn)
    return held[nr] if isinstance(held, list) else held


def _data(g: Any) -> Any:
    return g._data if isinstance(g, Variable) else g


def _same(a: Any, b: Any) -> bool:
    """Whether two notes have the same numbers."""
    if a is b or a is None or b is None:
        return a is b
    if isinstance(a, Summary) or isinstance(b, Summary):
        return encode(a) == encode(b)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


__all__ = ["InFlight", "OpenPass", "asked_for", "grad_now", "lend", "snapshot", "watch_of"]
