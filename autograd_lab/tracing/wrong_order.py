"""Backward passes that are wrong on purpose, to be compared with the right one.

The engine waits: a node runs once, when all its messages are there. The first reverse pass that someone writes
often does not wait. `wrong_order` records a computation as usual, then sends gradients back through the
same nodes, by the same rules, in one of the orders people try:

    "visit-once"      walk the graph depth first and run each node when it is first reached: later messages are lost
    "breadth-first"   the same with a queue, level by level
    "path-recursion"  pass every message on at once: right sums, but a node runs once for each path that leads to it

This is not a second engine: its traces are marked as faulty, and it never writes `.grad`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..torchlike.autograd.engine import count_dependencies
from ..torchlike.autograd.metadata import unbroadcast
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import AccumulateGrad
from ..torchlike.autograd.variable import Variable, edge_of, pair_of
from .recorder import keep_last, record
from .trace import Trace

ORDERS = ("visit-once", "breadth-first", "path-recursion")
MOST_RUNS = 2000  # path-recursion runs a node once for each path: 40 diamonds in a row have a trillion


def wrong_order(fn: Callable[..., Any], *inputs: Any, order: str = "visit-once", title: str = "") -> Trace:
    """The trace of `fn(*inputs)` and of a backward pass in a wrong order.

    fn      returns a tensor that requires a gradient; its gradient starts as ones
    inputs  the arguments of `fn`; their `.grad` is not touched
    order   "visit-once", "breadth-first" or "path-recursion" (see the module's docstring)
    title   a heading for the trace, if not the name of the order

    Raises ValueError for an unknown order or a result without history, and RuntimeError if "path-recursion" would run
    more than 2,000 nodes.
    """
    if order not in ORDERS:
        raise ValueError(f"order {order!r} is not one of {', '.join(map(repr, ORDERS))}")
    recording = record(title or f"{order}: a faulty engine")
    with keep_last(), recording as trace:
        _result = fn(*inputs)
        edge = pair_of(edge_of(_result)) if isinstance(_result, Variable) else (None, 0)
        if edge[0] is None:
            raise ValueError(
                f"fn returned {'a tensor without grad_fn' if isinstance(_result, Variable) else type(_result).__name__}: "
                "there is no graph to go back through. It must return a tensor computed from one that requires a gradient."
            )
        _Pass(recording.recorder, edge, np.ones_like(_result._data), order).run()
    return trace


class _Pass:
    """One faulty pass. It reports its events to the recorder like a pass of the engine."""

    keep_graph = True
    create_graph = tensors = False
    needed = captures = None
    watch: Any = None

    def __init__(self, recorder: Any, edge: Any, seed: Any, order: str):
        self.recorder, self.engine = recorder, order
        self.seed = seed
        self.edge = edge
        self.deps = count_dependencies([edge[0]])
        self.waiting: deque[Any] = deque()  # what breadth-first has reached but not run
        self.buffers: dict[Any, list[Any]] = {}
        self.reached: set[Any] = set()
        self.ran: set[Any] = set()
        self.grads: dict[Any, Any] = {}  # instead of the leaves' .grad
        self.runs = 0

    def run(self) -> None:
        recorder, (root, nr) = self.recorder, self.edge
        recorder.pass_started(self, [(self.edge, self.seed)], "backward")
        state = THREAD.state
        grad, state.grad, watch = state.grad, False, state.watch
        state.watch = None  # the rules are not part of the program
        state.refresh()
        try:
            with np.errstate(all="ignore"):
                self._deliver(root, nr, self.seed, None, None)
                if self.engine == "breadth-first":
                    self._by_level()
                else:
                    self._by_depth(root)
        finally:
            state.grad, state.watch = grad, watch
            state.refresh()
        self.watch.pass_done(self)

    def _by_level(self) -> None:
        while self.waiting:
            node = self.waiting.popleft()
            for i, (fn, nr), g in self._work(node):
                self._deliver(fn, nr, g, node, i)

    def _by_depth(self, root: Any) -> None:
        """Walk as a recursive function would: the first operand to the end before the second."""
        stack = [(root, iter(self._work(root)))]
        while stack:
            node, messages = stack[-1]
            for i, (fn, nr), g in messages:
                again = self._deliver(fn, nr, g, node, i)
                if again:
                    stack.append((fn, iter(self._work(fn))))
                    break
            else:
                stack.pop()

    def _deliver(self, fn: Any, nr: int, g: Any, sender: Any, i: int | None) -> bool:
        """Put a message into the buffer of `fn`; returns whether `fn` runs now."""
        slots = self.buffers.setdefault(fn, [None] * (1 if fn.plain else fn.n_outputs))
        old = slots[nr]
        slots[nr] = total = old if g is None else g if old is None else old + g
        self.watch.delivered(self, sender, i, fn, nr, g, old, total)
        if self.engine == "path-recursion" or fn not in self.reached:
            self.reached.add(fn)
            self.waiting.append(fn)
            self.recorder.notes.append(("pushed", self, fn, 0))
            return True
        return False

    def _work(self, node: Any) -> list[tuple[int, Any, Any]]:
        """Run a node on the contents of its buffer; returns the messages that it sends."""
        self.runs += 1
        if self.runs > MOST_RUNS:
            raise RuntimeError(
                f"path-recursion has run {MOST_RUNS} nodes and is not done: it runs a node once for each path that leads "
                "to it, and the number of paths doubles with every diamond. Try a smaller graph."
            )
        if self.engine != "breadth-first":
            self.waiting.remove(node)
        slots = self.buffers.pop(node)
        watch = self.watch
        watch.popped(self, node, slots[0] if node.plain else slots)
        if isinstance(node, AccumulateGrad):
            old, g = self.grads.get(node), slots[0]
            if g is not None:
                self.grads[node] = g.copy() if old is None else old + g
                watch._accumulated(node, g, old, self.grads[node])
            return []
        grads: Any = (None,) * len(node.next_functions)
        if any(g is not None for g in slots) or not node.skips_undefined:
            rule = type(node)
            values = rule.unpack(node, False)
            watch.applying(self, node, slots)
            grads = rule.vjp(node, slots[0] if node.plain else slots, *values)
            grads = grads if isinstance(grads, tuple) else (grads,)
            if node.broadcast is not None:
                grads = unbroadcast(node, grads)
        watch.applied(self, node, slots, grads)
        messages = []
        for i, (fn, nr) in enumerate(node.next_functions):
            if fn is None:
                watch.pruned(self, node, i)
            else:
                messages.append((i, (fn, nr), grads[i]))
        return messages
