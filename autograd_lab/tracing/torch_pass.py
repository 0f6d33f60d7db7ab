"""One backward pass of real PyTorch, seen through hooks on the nodes of the graph.

The hooks see which node runs when, with which gradients before and after the user's own hooks, the results of its rule, and
`.grad` before and after. What PyTorch does not show is derived from these by the same bookkeeping as in our
engine (core/engine.py): how many messages each node waits for, what is in its input buffer, which nodes are ready.
A node that PyTorch runs is the next one even if the bookkeeping disagrees, so the order in the trace is the real one.
"""

from __future__ import annotations

import functools
import heapq
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack, _pop_mode, _push_mode
from torch.utils.weak import TensorWeakRef

from ..core.engine import needed_nodes
from .messages import InFlight, LastLine
from .torch_builder import encode_tensor, has_numbers, is_accumulator, is_function, is_packed

Slot = tuple[Any, Any]  # (a copy of the gradient if others are to be added to it, what the trace keeps of it)
NOTHING: Slot = (None, None)
_NAN = re.compile(r"Function '\w+' returned nan values")


class Notes(Protocol):
    """The recording that a pass belongs to (torch_adapter.TorchRecorder)."""

    notes: list[Any]
    passes: list[TorchPass]
    """The running ones, innermost last."""
    ours: set[int]
    """The ids of our hooks."""
    met: dict[int, Any]
    grads: dict[int, Any]
    modes: Any
    memory: Any
    shared_memory: Any
    internal: tuple[str, ...]

    def settle(self) -> None:
        """Note the last operation."""

    def quietly(self, doing: str = "", place: Any = None) -> AbstractContextManager[Any]:
        """While the recorder itself computes."""

    def history(self, t: Any) -> Any:
        """The node that made `t`."""

    def failed_with(self, error: Any, place: Any) -> None:
        """A pass ended with an exception."""


class TorchPass:
    """The notes of one pass; the builder reads its attributes keep_graph, create_graph and needed.

    Nothing here holds a reference to a gradient: if there is no other, the engine adds in place, and an accumulator keeps what it is sent.
    """

    library = "PyTorch"

    def __init__(self, recorder: Notes, keep_graph, create_graph):
        self.recorder = recorder
        self.keep_graph, self.create_graph = keep_graph, create_graph
        self.frame: Any = None  # the Python frame the engine is called from
        self.handles: list[Any] = []
        self.deps: dict[Any, int] = {}
        self.captures: dict[Any, list[tuple[int, int]]] = {}
        self.needed: dict[Any, bool] | None = None
        self.buffers: dict[Any, list[Slot]] = {}
        self.flight = InFlight(lambda a, b: a == b)
        self.waiting: dict[
            tuple[Any, int], TensorWeakRef
        ] = {}  # the first message in each slot, as the engine has it
        self.ready: dict[Any, None] = {}
        self.heap: list[tuple[int, int, Any]] = []  # the ready nodes, and others that ran before their turn
        self.node: Any = None  # the running node
        self.came: list[Any] = []  # the memory of what arrived for it,
        self.given: list[Any] = []  # the gradients it got after hooks, and
        self.arriving: list[Any] = []  # what the trace keeps of them, after hooks
        self.old: Any = None  # of an accumulator: `.grad` before and
        self.new: Any = None  # after it
        self.sent: list[Any] = []  # the memory of what its rule gave, and
        self.leaving: list[Any] = []  # what the trace keeps of that
        self.slots: list[Slot] = []  # what was in its input buffer
        self.outbox: list[Any] = []  # what it sends, not delivered yet
        self.apart = False  # whether our dispatch mode is kept out of this pass (see `aside`)
        self.looking = False  # whether it is temporarily active
        self.lines = LastLine(recorder.internal)
        self.lost = False  # whether something could not be noted: then nothing later in the pass is

    def begin(self, roots, grads, inputs, to_leaves, user) -> None:
        """Note the start of the pass, and hook into the graph.

        roots      tensors or GradientEdges from which the pass starts
        grads      the gradients of the roots
        inputs     None or empty, or what autograd.grad wants gradients of (`to_leaves`: backward(inputs=...))
        """
        recorder = self.recorder
        edges = [_edge(t) for t in roots]
        self.deps = count_dependencies([node for node, _ in edges])
        accumulators = {id(node.variable): node for node in self.deps if is_accumulator(node)}
        wanted = [(accumulators.get(id(t)), 0) if is_leaf(t) else _edge(t) for t in inputs or ()]
        if wanted and to_leaves:
            self.needed = needed_nodes(self.deps, dict.fromkeys([node for node, _ in wanted if node], True))
        elif wanted:
            for place, (node, nr) in enumerate(wanted):
                if node is not None:  # None for a leaf that the pass does not reach
                    self.captures.setdefault(node, []).append((nr, place))
            self.needed = needed_nodes(self.deps, dict.fromkeys(self.captures, False))
        place = None if user is None else (user.f_code, user.f_lasti)
        kept = [
            t
            for t in inputs or ()
            if to_leaves and isinstance(t, torch.Tensor) and not (t.is_leaf or t.retains_grad)
        ]
        for t in kept:  # the engine is about to call retain_grad() on them
            recorder.notes.append(("flagged", t, t.requires_grad, "retain_grad", place))
        self._find_user_hooks(accumulators, set(map(id, kept)))
        pairs = list(zip(edges, grads, strict=False))  # PyTorch refuses other lengths
        recorder.notes.append((
            "pass_started", self, pairs, dict(self.deps), "backward" if to_leaves else "grad", place,
        ))  # fmt: skip
        self.flight.hand(_memory(g) for _, g in pairs)
        for (node, nr), g in pairs:
            if self.needed is None or node in self.needed:
                self._deliver(node, nr, g, self._value(g), None, None)
        for node in self.deps:
            if self.needed is None or self.needed.get(node):
                self._watch(node)
        self.lines.begin()  # PyTorch calls the user's hooks itself, one after another

    def remove_hooks(self) -> None:
        """Remove our hooks from the graph."""
        self.lines.end()
        for handle in self.handles:
            handle.remove()
        self.handles = []

    # -- hooks ----------------------------------------------------------------------------------------

    def _watch(self, node) -> None:
        """Our hooks: the first and the last before the node runs, the first and the last after it."""
        self._surround(node.register_prehook, node, self.taken, self.running)
        self._surround(node.register_hook, node, self.applied, self.served)

    def _surround(self, register, node, first, last) -> None:
        """Hook `first` before and `last` after the user's hooks; one function for both if there are none."""
        hooks = self._register(register, functools.partial(self._call, (first, last), node))
        users = {key: fn for key, fn in hooks.items() if key not in self.recorder.ours}
        if users:
            self.recorder.hooks.seen(node, hooks)
            self.handles.pop().remove()
            self._register(register, functools.partial(self._call, (first,), node), first=True)
            self._register(register, functools.partial(self._call, (last,), node, users=True))

    def _register(self, register, fn, first=False) -> Any:
        """Add a hook of ours after the user's, or before them if `first`; returns the table of hooks."""
        handle = register(fn)
        self.handles.append(handle)
        self.recorder.ours.add(handle.id)
        hooks = handle.hooks_dict_ref()
        if first:
            others = [(key, other) for key, other in hooks.items() if key != handle.id]
            for key, _ in others:
                hooks.pop(key)
            hooks.update(others)
        return hooks

    def _call(self, steps, node, grads, outputs=None, users=False) -> None:
        recorder = self.recorder
        if self.lost or not recorder.passes or recorder.passes[-1] is not self:
            return  # a nested pass reached the same node
        recorder.settle()
        self._look(False)
        with recorder.quietly("a backward pass") as trying:
            for step in steps:
                step(node, grads, users)
        self._lose(trying.failed)
        self._look(not self.lost and self._users_code_follows(steps, node))

    def _lose(self, failed: bool) -> None:
        """After a failure to note something: nothing that follows is noted, and no gradient is held."""
        if failed:
            self.lost, self.outbox, self.buffers, self.waiting = True, [], {}, {}

    def _users_code_follows(self, steps, node) -> bool:
        """Whether user code runs between these hooks of ours and the next: hooks, a custom Function, an unpack hook."""
        if len(steps) == 1 and steps[0] in (self.taken, self.applied):
            return True
        return steps[-1] == self.running and (is_function(node) or is_packed(node))

    def _look(self, on: bool) -> None:
        """Activate or deactivate our dispatch mode, if it is suspended."""
        if self.apart and on != self.looking:
            self.looking = on
            if on:
                _push_mode(self.recorder.modes[0])
            else:
                _pop_mode()

    def _find_user_hooks(self, accumulators, kept) -> None:
        """Which tensors of the trace have hooks, or keep their gradient: the engine runs those before our first hook.

        kept   ids of tensors that will retain it, although they do not say so yet
        """
        self.hooked: dict[Any, list[int]] = {}  # in the order in which they were hooked
        self.retaining: dict[Any, list[Any]] = {}
        met = self.recorder.met  # thousands, in each of a hundred passes: few are looked at
        marked = [t for key, t in met.items() if t.retains_grad or t._backward_hooks or key in kept]
        for t in sorted(marked, key=_first_hook):
            if not t.requires_grad:
                continue
            fn = self.recorder.history(t)
            node, nr = (accumulators.get(id(t)), 0) if fn is None else (fn, t.output_nr)
            if node not in self.deps:
                continue
            if t._backward_hooks:
                self.hooked.setdefault(node, []).append(nr)
                self._register(t.register_hook, functools.partial(self._first_tensor_hook, node), first=True)
                if self._is_only_captured(node):  # no other hook of ours follows those of the user
                    self._register(t.register_hook, functools.partial(self._last_tensor_hook, node, nr))
            if (t.retains_grad or id(t) in kept) and fn is not None:
                self.retaining.setdefault(node, []).append(t)

    # -- what happens to a node, in order -------------------------------------------------------------

    def _first_tensor_hook(self, node, _grad) -> None:
        """A hook before the user's on a tensor that `node` made: so far only popping the node has been noted."""
        recorder = self.recorder
        if not self.lost and recorder.passes and recorder.passes[-1] is self and self.node is not node:
            recorder.settle()
            with recorder.quietly("a backward pass") as trying:
                self._take(node)
            self._lose(trying.failed)
            self._look(not self.lost)

    def _last_tensor_hook(self, node, nr, grad) -> None:
        """A hook after the user's on output `nr` of a node that does not run."""
        recorder = self.recorder
        if not self.lost and recorder.passes and recorder.passes[-1] is self and self.node is node:
            recorder.settle()
            with recorder.quietly("a backward pass") as trying:
                self._tensor_hooks(node, self.slots, [grad] * (nr + 1), nr)
            self._lose(trying.failed)

    def _take(self, node) -> None:
        self.flush()
        self._leave_captured()
        while node in self.ready and self._next() is not node and self._is_only_captured(self._next()):
            self.slots = self._pop(self._next())
            self._leave_captured()
        self.slots = self._pop(node)

    def _leave_captured(self) -> None:
        """If the node popped last is only captured, it is done: note what its tensors retained."""
        if self.node is not None and self._is_only_captured(self.node):
            self._retained(self.node, [value for _, value in self.slots])
            self.node = None

    def taken(self, node, grads, _users) -> None:
        """The first hook before `node`: what it is sent, after the hooks on its tensor and retain_grad."""
        if self.node is not node:
            self._take(node)
        self._tensor_hooks(node, self.slots, grads)
        self._retained(node, grads)
        self.given = [_memory(g) for g in grads]
        self.arriving = [self._value(g) for g in grads]

    def _retained(self, node, grads) -> None:
        """Note the gradients that tensors retain, if they are among `grads`."""
        for t in self.retaining.get(node, ()):
            if grads[t.output_nr] is not None:
                self.recorder.grads[id(t.grad)] = t.grad, t
                self._note("retained", t, node, self._value(t.grad))

    def running(self, node, grads, users) -> None:
        """The last hook before `node`: the inputs of its rule."""
        after = [self._value(g) for g in grads]
        if users:
            self._note("hooked", node, "pre", self.arriving, after, 0, self.lines.take())
            self._touched(*self.given, *map(_memory, grads))
        self.given, self.arriving = [_memory(g) for g in grads], after
        if is_function(node):
            self.flight.hand(self.given)
        if is_accumulator(node):
            self.old = self._value(node.variable.grad)
            self._watch_accumulation(node)

    def applied(self, node, grads, _users) -> None:
        """The first hook after `node`: the results of its rule."""
        self.leaving = [self._value(g) for g in grads]
        self.sent = [_memory(g) for g in grads]
        if is_accumulator(node):
            leaf = node.variable
            if leaf._post_accumulate_grad_hooks:
                now = [self._value(leaf.grad)]
                self._note("hooked", node, "post_accumulate", [self.new], now, 0, self.lines.take())
                self._touched()
            else:
                self._accumulated(node)
            return
        sent = [
            g if self._is_wanted(fn) else None
            for g, (fn, _) in zip(self.leaving, node.next_functions, strict=True)
        ]
        place = self.lines.take() if is_function(node) else None
        self._note("applied", node, self.arriving, sent, place)
        self._touched(*(self.sent if is_function(node) else ()))
        if not self.keep_graph:
            self._note("released", node)

    def served(self, node, grads, users) -> None:
        """The last hook after `node`: what it sends."""
        after = [self._value(g) for g in grads]
        if users:
            self._note("hooked", node, "post", self.leaving, after, 0, self.lines.take())
            if is_accumulator(node) and self.new is not None:
                # PyTorch keeps the message itself as `.grad` if there is no other reference, so a hook may have written into it.
                now = self._value(node.variable.grad)
                if now != self.new:
                    self._note("grad_set", node.variable, now, "a hook", None)
            self._touched(*self.sent, *self.given, *map(_memory, grads))
        for i, (fn, nr) in enumerate(node.next_functions):
            self.outbox.append((fn, nr, grads[i], after[i], node, i))
        self.node = None
        if not self.create_graph:
            self.flush()

    def before_sum(self) -> None:
        """The engine is about to add two messages, which is an operation under create_graph: first deliver the earlier ones."""
        with self.recorder.quietly():
            while self.outbox:
                fn, nr, g, *_ = self.outbox[0]
                slots = self.buffers.get(fn, [])
                if g is not None and nr < len(slots) and slots[nr][1] is not None:
                    return
                self._send(*self.outbox.pop(0))

    def flush(self) -> None:
        """Deliver what the last node sends."""
        while self.outbox:
            self._send(*self.outbox.pop(0))

    def _send(self, fn, nr, g, value, sender, i) -> None:
        if self._is_wanted(fn):
            self._deliver(fn, nr, g, value, sender, i)
        else:
            self._note("pruned", sender, i)

    def _is_wanted(self, fn) -> bool:
        return fn is not None and (self.needed is None or fn in self.needed)

    def _watch_accumulation(self, node) -> None:
        """`.grad` as the accumulator's rule leaves it, before the user's hooks see it."""
        leaf = node.variable
        if not leaf._post_accumulate_grad_hooks:
            return

        def accumulated(leaf):
            with self.recorder.quietly("a gradient"):
                self._accumulated(node)
            self._look(True)

        self._register(leaf.register_post_accumulate_grad_hook, accumulated, first=True)

    def _accumulated(self, node) -> None:
        leaf = node.variable
        self.new = self._value(leaf.grad)
        if self.arriving[0] is not None:
            self._gradient_of(leaf)
            self._note("accumulated", node, self.arriving[0], self.new, self.old)

    def _gradient_of(self, leaf) -> None:
        """Remember whose gradient `leaf.grad` is, which the engine has just written."""
        if leaf.grad is not None:
            self.recorder.grads[id(leaf.grad)] = leaf.grad, leaf
            if self.recorder.memory:
                self.recorder.shared_memory.written(leaf.grad, None)

    def finish(self, result) -> None:
        """The engine has returned: what it only collected for autograd.grad came last."""
        if self.lost:
            self._catch_up()
        self.flush()
        if not self.lost:
            self._leave_captured()
        while self.ready and not self.lost:
            node = self._next()
            self.slots = self._pop(node)
            for nr, place in self.captures.get(node, ()):
                grads = [None for _ in self.slots]
                grads[nr] = result[place]
                self._tensor_hooks(node, self.slots, grads, nr)
            self._leave_captured()
        self._note("pass_done", self)

    def _catch_up(self) -> None:
        """After a pass that could not be followed to its end: note what it left in the leaves."""
        for node in self.deps:
            if is_accumulator(node) and node.variable.grad is not None:
                self._note("grad_set", node.variable, self._value(node.variable.grad), "backward", None)

    def fail(self, error, place) -> None:
        """The engine raised. If no node was running, the cause is a hook on the tensor of the next node."""
        if self.lost:
            self._catch_up()
            self.recorder.failed_with(error, place)
            return
        # Anomaly mode refuses what the last node has computed: nothing of it is sent.
        if _NAN.match(str(error)):
            self.outbox.clear()
            self.recorder.failed_with(error, place)
            return
        self.flush()
        while (
            self.node is None
            and self.ready
            and self._is_only_captured(self._next())
            and self._next() not in self.hooked
        ):
            self._pop(self._next())
            self.node = None
        if self.node is None and self.ready:
            self._pop(self._next())
        elif self.node is None:
            self._note("pass_done", self)  # the pass was complete: what it collected was refused
            return
        self.recorder.failed_with(error, place)

    # -- bookkeeping ----------------------------------------------------------------------------------

    def _deliver(self, fn, nr, g, value, sender, i) -> None:
        """A gradient `g`, stored in the trace as `value`, reaches an input buffer."""
        slots = self.buffers.setdefault(fn, [])
        while len(slots) <= nr:
            slots.append(NOTHING)
        self.deps[fn] -= 1
        numbers, old = slots[nr]
        if g is not None:
            total = g if old is None else numbers + g
            slots[nr] = (
                total.clone() if old is None and self.deps[fn] else total if self.deps[fn] else None,
                value if old is None else self._value(total),
            )
            if old is None:
                self.waiting[fn, nr] = TensorWeakRef(g)
                self.flight.put((fn, nr), _memory(g), value)
            else:  # the engine has a sum of its own now
                self.waiting.pop((fn, nr), None)
                self.flight.take((fn, nr))
        self._note("delivered", sender, i, fn, nr, value, old, slots[nr][1])
        if not self.deps[fn]:
            self.ready[fn] = None
            heapq.heappush(self.heap, (-fn._sequence_nr(), len(self.recorder.notes), fn))
            self._note("pushed", self, fn, -fn._sequence_nr())

    def _next(self):
        """The ready node with the highest sequence number; of several accumulators the one that came first."""
        while self.heap[0][2] not in self.ready:
            heapq.heappop(self.heap)
        return self.heap[0][2]

    def _is_only_captured(self, node) -> bool:
        """Whether autograd.grad wants what arrives at a node, which does not run."""
        return self.needed is not None and node in self.needed and not self.needed[node]

    def _pop(self, node) -> list[Slot]:
        self.ready.pop(node, None)
        slots = self.buffers.pop(node, [NOTHING])
        if not is_accumulator(node):
            slots += [NOTHING] * (len(node._input_metadata) - len(slots))
        self.came = [self.flight.places.get((node, nr), NOTHING)[0] for nr in range(len(slots))]
        for nr in range(len(slots)):
            self.flight.take((node, nr))
            self.waiting.pop((node, nr), None)
        self._note("popped", self, node, [value for _, value in slots])
        self.node = node
        return slots

    def _tensor_hooks(self, node, slots, grads, only=None) -> None:
        """Note the hooks on tensors (of one output `only`): the known ones, and any other change since the buffer."""
        hooked = self.hooked.get(node, [])
        every = dict.fromkeys([*hooked, *range(min(len(slots), len(grads)))]) if only is None else (only,)
        for nr in every:
            before, after = slots[nr][1], self._value(grads[nr])
            if nr in hooked or after != before:
                self._note("hooked", node, "tensor", [before], [after], nr, self.lines.take())
                self._touched(self.came[nr], _memory(grads[nr]))

    def _touched(self, *memories) -> None:
        """User code ran on these gradients: note which messages waiting elsewhere it wrote into."""
        self.flight.hand(memories)
        for fn, nr, before, now in self.flight.changed(self._waits):
            held, lies = self.buffers[fn][nr][0], self.waiting[fn, nr]()
            self.buffers[fn][nr] = None if held is None or lies is None else lies.clone(), now
            self._note("hooked", fn, "shared", [before], [now], nr)

    def _waits(self, fn, nr) -> Any:
        """The waiting message as the trace would store it now."""
        lies = self.waiting[fn, nr]()
        return self.buffers[fn][nr][1] if lies is None else self._value(lies)

    def _value(self, g):
        return encode_tensor(g)

    def _note(self, *note) -> None:
        self.recorder.notes.append(note)


def _first_hook(t) -> int:
    """The number of the first hook on a tensor, by which the hooks on the outputs of a node are ordered."""
    return min(t._backward_hooks or (0,))


@contextmanager
def aside(mode, create_graph) -> Iterator[bool]:
    """Around the call of the engine: suspend our dispatch mode, except where it must see new nodes. Yields whether it is suspended.

    PyTorch adds and computes gradients differently under any such mode. One of the user's has the same effect.
    """
    if create_graph or _get_current_dispatch_mode_stack() != [mode]:
        yield False
        return
    _pop_mode()
    try:
        yield True
    finally:  # also after an error: the engine restores the modes that it found
        _push_mode(mode)


def count_dependencies(roots) -> dict[Any, int]:
    """{node: number of messages it will get} for every node behind `roots`, in the order in which our engine counts."""
    deps: dict[Any, int] = {}
    stack = []
    for node in roots:
        if node not in deps:
            stack.append(node)
        deps[node] = deps.get(node, 0) + 1
    while stack:
        for fn, _ in stack.pop().next_functions:
            if fn is not None:
                if fn not in deps:
                    stack.append(fn)
                deps[fn] = deps.get(fn, 0) + 1
    return deps


def is_leaf(t) -> bool:
    """Whether this is a tensor without history, and not a GradientEdge."""
    return isinstance(t, torch.Tensor) and t.grad_fn is None


def _edge(t) -> tuple[Any, int]:
    """(node, output number) of a tensor or GradientEdge; the engine queries them a moment later, too."""
    if isinstance(t, torch.Tensor):
        return t.grad_fn or _accumulator(t), t.output_nr
    return t.node, t.output_nr


def _accumulator(leaf) -> Any:
    """The node that adds to the `.grad` of a leaf: where the edge of an operation on it would lead."""
    include, exclude = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    autograd = torch._C.DispatchKeySet(torch._C.DispatchKey.AutogradFunctionality)
    with torch._C._ForceDispatchKeyGuard(include, exclude - autograd), torch.enable_grad():
        return leaf.view_as(leaf).grad_fn.next_functions[0][0]


def _memory(g) -> int | None:
    """An id for the memory of a gradient, the same for all its views; None without one. Its storage object is not touched: that would keep it alive."""
    if g is None:
        return None
    if g.layout is not torch.strided or not has_numbers(g) or g._is_zerotensor():
        return id(g)
    return g.data_ptr() - g.storage_offset() * g.element_size()


__all__ = ["TorchPass", "aside"]
