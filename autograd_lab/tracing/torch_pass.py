"""One backward pass of real PyTorch, seen through hooks on the nodes of the graph.

What the hooks see is taken as it is: which node runs when, with which gradients before and after the user's own hooks, what
its rule gave, `.grad` before and after. What PyTorch does not show is worked out from these by the same bookkeeping as in our
engine (autograd/engine.py): how many messages each node waits for, what lies in its input buffer, which nodes are ready.
A node that PyTorch runs is taken as the next one whatever the bookkeeping says, so the order in the trace is the real one.
"""

from __future__ import annotations

import functools
import heapq
from typing import TYPE_CHECKING, Any

from torch.autograd.graph import GradientEdge, get_gradient_edge

from ..autograd.needed import needed_nodes
from .torch_builder import encode_tensor, is_accumulator

if TYPE_CHECKING:
    from .torch_adapter import TorchRecorder

Slot = tuple[Any, Any]  # (the gradient, what the trace keeps of it)
NOTHING: Slot = (None, None)


class TorchPass:
    """The notes of one pass; its attributes keep_graph, create_graph and needed are what the builder asks for.

    recorder   where the notes go
    roots      tensors or GradientEdges from which the pass starts
    grads      the gradients of the roots
    inputs     None or empty, or what autograd.grad wants gradients of (`to_leaves`: backward(inputs=...))
    """

    def __init__(
        self, recorder: TorchRecorder, roots, grads, keep_graph, create_graph, inputs, to_leaves, user
    ):
        self.recorder = recorder
        self.keep_graph, self.create_graph = keep_graph, create_graph
        self.frame: Any = None  # the Python frame the engine is called from
        self.handles: list[Any] = []
        edges = [_edge(t) for t in roots]
        self.deps = count_dependencies([node for node, _ in edges])
        self.captures: dict[Any, list[tuple[int, int]]] = {}
        self.needed: dict[Any, bool] | None = None
        accumulators = {id(node.variable): node for node in self.deps if is_accumulator(node)}
        wanted = [(accumulators[id(t)], 0) if id(t) in accumulators else _edge(t) for t in inputs or ()]
        if wanted and to_leaves:
            self.needed = needed_nodes((), self.deps, (), [node for node, _ in wanted])
        elif wanted:
            for place, (node, nr) in enumerate(wanted):
                self.captures.setdefault(node, []).append((nr, place))
            self.needed = needed_nodes((), self.deps, self.captures, ())
        self.buffers: dict[Any, list[Slot]] = {}
        self.ready: dict[Any, None] = {}
        self.heap: list[
            tuple[int, int, Any]
        ] = []  # the ready nodes, and others that were taken before their turn
        self.node: Any = None  # the node at work
        self.arriving: list[Any] = []  # what it got, after hooks
        self.leaving: list[Any] = []  # what its rule gave
        self.slots: list[Slot] = []  # what lay in its input buffer
        self.outbox: list[Any] = []  # what it sends and has not been delivered
        self._find_user_hooks(accumulators)
        place = None if user is None else (user.f_code, user.f_lasti)
        pairs = list(zip(edges, grads, strict=True))
        recorder.notes.append((
            "pass_started", self, pairs, dict(self.deps), "backward" if to_leaves else "grad", place,
        ))  # fmt: skip
        for (node, nr), g in pairs:
            if self.needed is None or node in self.needed:
                self._deliver(node, nr, self._slot(g), None, None)
        for node in self.deps:
            if self.needed is None or self.needed.get(node):
                self._watch(node)

    def remove_hooks(self) -> None:
        """Take our hooks off the graph."""
        for handle in self.handles:
            handle.remove()
        self.handles = []

    # -- hooks ----------------------------------------------------------------------------------------

    def _watch(self, node) -> None:
        """Our hooks: the first and the last before the node runs, the first and the last after it."""
        self._surround(node.register_prehook, node, self.taken, self.running)
        self._surround(node.register_hook, node, self.applied, self.served)

    def _surround(self, register, node, first, last) -> None:
        """Hook `first` before and `last` after what the user has registered; one function for both if there is nothing."""
        hooks = self._register(register, functools.partial(self._call, (first, last), node))
        users = {key: fn for key, fn in hooks.items() if key not in self.recorder.ours}
        if users:
            self.handles.pop().remove()
            self._register(register, functools.partial(self._call, (first,), node), first=True)
            self._register(register, functools.partial(self._call, (last,), node, users=True))

    def _register(self, register, fn, first=False) -> Any:
        """Put a hook of ours behind the user's, or `first`, before them; returns the table of hooks."""
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
        if not recorder.passes or recorder.passes[-1] is not self:
            return  # a pass inside this one reached the same node
        recorder.settle()
        with recorder.quietly():
            for step in steps:
                step(node, grads, users)

    def _find_user_hooks(self, accumulators) -> None:
        """Which tensors of the trace have hooks, or keep their gradient: the engine runs those before our first hook."""
        self.hooked: dict[Any, list[int]] = {}
        self.retaining: dict[Any, list[Any]] = {}
        for t in self.recorder.met.values():
            if not t.requires_grad:
                continue
            node, nr = (accumulators.get(id(t)), 0) if t.is_leaf else (t.grad_fn, t.output_nr)
            if node not in self.deps:
                continue
            if t._backward_hooks:
                self.hooked.setdefault(node, []).append(nr)
                self._register(t.register_hook, functools.partial(self._first_tensor_hook, node), first=True)
            if t.retains_grad and not t.is_leaf:
                self.retaining.setdefault(node, []).append(t)

    # -- what happens to a node, in order -------------------------------------------------------------

    def _first_tensor_hook(self, node, _grad) -> None:
        """A hook before those of the user on a tensor that `node` made: so far only taking the node has been noted."""
        recorder = self.recorder
        if recorder.passes and recorder.passes[-1] is self and self.node is not node:
            recorder.settle()
            with recorder.quietly():
                self._take(node)

    def _take(self, node) -> None:
        self.flush()
        while node in self.ready and self._next() is not node and self._next_is_only_captured():
            self._pop(self._next())
        self.slots = self._pop(node)

    def taken(self, node, grads, _users) -> None:
        """The first hook before `node`: what it is sent, after the hooks on its tensor and retain_grad."""
        if self.node is not node:
            self._take(node)
        self._tensor_hooks(node, self.slots, grads)
        for t in self.retaining.get(node, ()):
            if grads[t.output_nr] is not None:
                self._note("retained", t, node, self._value(t.grad))
        self.arriving = [self._value(g) for g in grads]

    def running(self, node, grads, users) -> None:
        """The last hook before `node`: what its rule gets."""
        after = [self._value(g) for g in grads]
        if users:
            self._note("hooked", node, "pre", self.arriving, after)
        self.arriving = after
        if is_accumulator(node):
            self._watch_accumulation(node)

    def applied(self, node, grads, _users) -> None:
        """The first hook after `node`: what its rule gave."""
        self.leaving = [self._value(g) for g in grads]
        if is_accumulator(node):
            leaf = node.variable
            if self.arriving[0] is not None:
                if leaf.grad is not None:
                    self.recorder.grads[id(leaf.grad)] = leaf.grad, leaf
                if not leaf._post_accumulate_grad_hooks:
                    self._note("accumulated", node, self.arriving[0], self._value(leaf.grad))
                else:
                    after = [self._value(leaf.grad)]
                    self._note("hooked", node, "post_accumulate", after, after)
            return
        sent = [
            g if self._is_wanted(fn) else None
            for g, (fn, _) in zip(self.leaving, node.next_functions, strict=True)
        ]
        self._note("applied", node, self.arriving, sent)
        if not self.keep_graph:
            self._note("released", node)

    def served(self, node, grads, users) -> None:
        """The last hook after `node`: what it sends."""
        after = [self._value(g) for g in grads]
        if users:
            self._note("hooked", node, "post", self.leaving, after)
        for i, (fn, nr) in enumerate(node.next_functions):
            self.outbox.append((fn, nr, (grads[i], after[i]), node, i))
        self.node = None
        if not self.create_graph:
            self.flush()

    def before_sum(self) -> None:
        """The engine is about to add two messages, which under create_graph is an operation: deliver those before."""
        with self.recorder.quietly():
            while self.outbox:
                fn, nr, (g, _), *_ = self.outbox[0]
                slots = self.buffers.get(fn, [])
                if g is not None and nr < len(slots) and slots[nr][0] is not None:
                    return
                self._send(*self.outbox.pop(0))

    def flush(self) -> None:
        """Deliver what the last node sends."""
        while self.outbox:
            self._send(*self.outbox.pop(0))

    def _send(self, fn, nr, message, sender, i) -> None:
        if self._is_wanted(fn):
            self._deliver(fn, nr, message, sender, i)
        else:
            self._note("pruned", sender, i)

    def _is_wanted(self, fn) -> bool:
        return fn is not None and (self.needed is None or fn in self.needed)

    def _watch_accumulation(self, node) -> None:
        """`.grad` as the rule of the accumulator leaves it, before the user's hooks see it."""
        leaf = node.variable
        if not leaf._post_accumulate_grad_hooks:
            return

        def accumulated(leaf):
            with self.recorder.quietly():
                self._note("accumulated", node, self.arriving[0], self._value(leaf.grad))

        self._register(leaf.register_post_accumulate_grad_hook, accumulated, first=True)

    def finish(self, result) -> None:
        """The engine is back: what it only collected for autograd.grad was taken last."""
        self.flush()
        while self.ready:
            node = self._next()
            slots = self._pop(node)
            for nr, place in self.captures.get(node, ()):
                grads = [slot[0] for slot in slots]
                grads[nr] = result[place]
                self._tensor_hooks(node, slots, grads)
        self._note("pass_done", self)

    def fail(self, error, place) -> None:
        """The engine raised. If no node was at work, it was a hook on the tensor that was to be taken next."""
        self.flush()
        while (
            self.node is None
            and self.ready
            and self._next_is_only_captured()
            and self._next() not in self.hooked
        ):
            self._pop(self._next())
            self.node = None
        if self.node is None and self.ready:
            self._pop(self._next())
        elif self.node is None:
            self._note("pass_done", self)  # all was done: what it collected did not please
            return
        self.recorder.failed_with(error, place)

    # -- bookkeeping ----------------------------------------------------------------------------------

    def _deliver(self, fn, nr, message: Slot, sender, i) -> None:
        slots = self.buffers.setdefault(fn, [])
        while len(slots) <= nr:
            slots.append(NOTHING)
        old = slots[nr]
        if message[0] is not None:
            slots[nr] = message if old[0] is None else self._slot(old[0] + message[0])
        self.deps[fn] -= 1
        self._note("delivered", sender, i, fn, nr, message[1], old[1], slots[nr][1])
        if not self.deps[fn]:
            self.ready[fn] = None
            heapq.heappush(self.heap, (-fn._sequence_nr(), len(self.recorder.notes), fn))
            self._note("pushed", self, fn, -fn._sequence_nr())

    def _next(self):
        """The ready node with the highest sequence number; of several accumulators the one that came first."""
        while self.heap[0][2] not in self.ready:
            heapq.heappop(self.heap)
        return self.heap[0][2]

    def _next_is_only_captured(self) -> bool:
        return self.needed is not None and not self.needed[self._next()]

    def _pop(self, node) -> list[Slot]:
        self.ready.pop(node, None)
        slots = self.buffers.pop(node, [NOTHING])
        if not is_accumulator(node):
            slots += [NOTHING] * (len(node._input_metadata) - len(slots))
        old = self._value(node.variable.grad) if is_accumulator(node) else None
        self._note("popped", self, node, [value for _, value in slots], old)
        self.node = node
        return slots

    def _tensor_hooks(self, node, slots, grads) -> None:
        """Note the hooks on tensors: those known to be there, and any other change since the buffer."""
        for nr, (slot, g) in enumerate(zip(slots, grads, strict=False)):
            after = self._value(g)
            if nr in self.hooked.get(node, ()) or after != slot[1]:
                self._note("hooked", node, "tensor", [slot[1]], [after])

    def _slot(self, g) -> Slot:
        return g, self._value(g)

    def _value(self, g):
        return encode_tensor(g)

    def _note(self, *note) -> None:
        self.recorder.notes.append(note)


def count_dependencies(roots) -> dict[Any, int]:
    """{node: number of messages it will get} for every node behind `roots`, in the order in which ours are counted."""
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


def _edge(t) -> tuple[Any, int]:
    """(node, output number) of a tensor, or of a GradientEdge."""
    edge = t if isinstance(t, GradientEdge) else get_gradient_edge(t)
    return edge.node, edge.output_nr


__all__ = ["TorchPass"]
