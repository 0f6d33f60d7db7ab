"""What PyTorch adds to a reverse pass (core/engine.py): restricted passes, hooks, anomaly mode, dual numbers, float16, checks."""

import numpy as np

from ...core.engine import BackwardPass, needed_nodes
from ...core.engine import count_dependencies as count
from ...core.hooks import run_before
from . import anomaly, collector
from .float16 import HALF, in_single
from .handed import formula, hand, take_back
from .hooks import as_tensor, run_node_hooks, run_post_accumulate_hooks, run_tensor_hooks
from .metadata import EXPECTED, expected_in, fitted
from .modes import THREAD
from .node import AccumulateGrad, Node
from .seams import DOORS
from .threads import in_another_thread

_ARRAY = np.ndarray
DEEP = 50
"""Passes nested deeper than a multiple of this continue in another thread, since Python limits the call depth in one."""


class FullPass(BackwardPass):
    """The reverse pass of `backward` and `grad`.

    only          None, or nodes to run for backward(inputs=...)
    """

    depth = 0  # how many passes enclose this one
    node = None  # the node that is running, in anomaly mode
    callbacks = ()  # the callbacks from graph.queue_callback
    express = None  # replaces the loop in an unwatched pass (see seams.py)

    def __init__(self, roots, keep_graph, create_graph, captures=None, only=None, call="backward"):
        self.only = only
        self.root = roots[0][0][0] if len(roots) == 1 else None
        super().__init__(roots, keep_graph, create_graph, captures, call)

    def _count(self, roots):
        state = THREAD.state
        part = self.captures is not None or self.only is not None
        if state.dual is not None:
            self.tensors = True  # dual numbers may occur
        unfold = part or self.tensors or EXPECTED.data or self.watch is not None or state.anomaly
        self.deps = (count_dependencies if unfold else count)([node for (node, _), _ in roots])
        if EXPECTED.data:  # the dict itself: a WeakKeyDictionary is slow to tell that it is empty
            self.expected = expected_in(self.deps)
            self.tensors = self.tensors or self.expected is not None
        if part:
            wanted = dict.fromkeys(self.captures or (), False) | dict.fromkeys(self.only or (), True)
            self.needed = needed_nodes(self.deps, wanted)
        self.ordinary = not (part or self.tensors) and self.watch is None
        if self.ordinary:
            self.express = DOORS.loop

    def _seed(self, roots):
        root = self.root
        if self.ordinary and root is not None and root.plain:  # the usual case
            self.ready.append((root.priority, root))
            self.buffers[root] = roots[0][1]
            return
        if self.tensors:
            roots = [
                ((node, nr), self._fitted(as_tensor(g), node, nr, i))
                for i, ((node, nr), g) in enumerate(roots)
            ]
        super()._seed(roots)

    def run(self, limit=-1):
        """Run `limit` nodes, or all that are left (the default). The modes of the pass are entered and left in here."""
        state = THREAD.state
        outer = state.running
        if outer is not None:
            self.depth = outer.depth + 1
        state.running = self
        self.saved_hooks = tuple(state.saved_hooks)
        self.bare = self.needed is None and not state.anomaly
        paused = len(self.deps) > collector.LARGE and collector.pause()
        quiet, off = state.quiet
        warnings = quiet.set(off)  # like np.errstate, in a tenth of the time
        try:
            super().run(limit)
        finally:
            quiet.reset(warnings)
            if len(state.saved_hooks) != len(self.saved_hooks):  # a hook that raised had changed them
                state.saved_hooks = list(self.saved_hooks)
                state.refresh()
            state.running = outer
            if paused:
                collector.go_on()

    def _run(self, limit):
        as_a_whole = self.express is not None and limit < 0 and not THREAD.state.anomaly
        loop, argument = (self.express, self) if as_a_whole else (self._loop, limit)
        if self.depth % DEEP < DEEP - 1:
            loop(argument)
        else:
            in_another_thread(loop, argument)
        if not self.ready:
            for fn in self.callbacks:  # a callback may add another
                fn()

    def _run_node(self, node, slots):
        """Run one node with its hooks and modes. Returns None if it was only captured."""
        self.settle()
        grads = self._in_anomaly_mode(node, slots) if THREAD.state.anomaly else self._with_hooks(node, slots)
        self.settle()
        return grads

    def settle(self):
        """Restore the grad mode and the saved-tensor hooks of the pass after code of the user, which may have changed them."""
        state = THREAD.state
        self.bare = self.needed is None and not state.anomaly
        if state.grad is not self.create_graph or len(state.saved_hooks) != len(self.saved_hooks):
            state.grad, state.saved_hooks = self.create_graph, list(self.saved_hooks)
            state.refresh()

    def _in_anomaly_mode(self, node, slots):
        """Run one node; if it fails or computes a nan, tell where it was made."""
        self.node = node
        try:
            grads = self._with_hooks(node, slots)
        except Exception:
            anomaly.explain(node)
            raise
        finally:
            self.node = None
        if grads is not None and THREAD.state.check_nan:
            anomaly.check(node, grads)
        return grads

    def _with_hooks(self, node, slots):
        """Run one node with the hooks before and after it; capture what autograd.grad wants."""
        hooks = node.hooks
        if self.captures is not None and node in self.captures and self.needed[node]:
            self._capture(node, slots)  # before its hooks; for a node that stops here, the hooks come first
        leaf = node.variable if isinstance(node, AccumulateGrad) else None
        if hooks is not None:
            slots = run_before(self, node, slots)
        if self.needed is not None and not self.needed[node]:
            self._capture(node, slots)
            return None
        if hooks is not None and hooks.pre:
            given = hand(self, node, "pre", slots)
            slots = take_back(self, node, "pre", slots, given, run_node_hooks(hooks.pre, given))
        grads = self._apply(node, slots)
        if leaf is not None and leaf._meta.post_accumulate_hooks:
            given = hand(self, node, "post_accumulate", (leaf._meta.grad,))
            run_post_accumulate_hooks(leaf)
            take_back(self, node, "post_accumulate", given, given, (leaf._meta.grad,))
        if hooks is not None and hooks.post:
            sent = self._wanted(node, grads)
            given = hand(self, node, "post", sent, slots)
            after = run_node_hooks(hooks.post, given[: len(sent)], given[len(sent) :])
            grads = tuple(take_back(self, node, "post", [*sent, *slots], given, after))
        return grads

    def _wanted(self, node, grads):
        """The gradients that PyTorch would have computed: its rules skip those that go nowhere."""
        if node.kind == "function":
            return grads
        needed = self.needed
        wanted = [fn is not None and (needed is None or fn in needed) for fn, _ in node.next_functions]
        if node.inputs == ("tensors",) and any(wanted):
            return grads  # for a list, PyTorch computes all or none
        return [g if want else None for g, want in zip(grads, wanted, strict=True)]

    def _vjp(self, rule, node, slots, values):
        g = slots[0]
        if type(g) is _ARRAY and g.dtype is not HALF and node.plain:  # nearly every time
            return rule.vjp(node, g, *values)
        if g is None and node.skips_undefined and not any([s is not None for s in slots]):
            # The saved values were unpacked all the same: PyTorch checks them, and complains if they were freed.
            return (None,) * len(node._edges)
        g = slots[0] if node.plain else slots
        if self.tensors:
            return formula(node, g, values, False)
        if rule.widens and (_is_half(slots) if g is None or type(g) is list else g.dtype is HALF):
            return in_single(rule.vjp)(node, g, *values)
        return rule.vjp(node, g, *values)

    def with_tensor_hooks(self, node, nr, table, g):
        if not table:
            return g
        given = hand(self, node, "tensor", (g,))
        return take_back(self, node, "tensor", (g,), given, (run_tensor_hooks(table, *given),), nr)[0]

    def _fitted(self, g, fn, nr, i, sender=None):
        """Message `g`, the `i`-th of its sender (None: a root), as slot `nr` of `fn` expects it; see metadata.py."""
        known = self.expected and self.expected.get(fn)
        if g is None or not known or nr not in known:
            return g
        return fitted(g, *known[nr], i, sender and sender.name())


def count_dependencies(roots):
    """{node: number of messages it will get}, after nodes that stand for two, for speed, have become these."""
    deps = count(roots)
    fused = [node for node in deps if type(node).unfold is not Node.unfold]
    for node in fused:
        node.unfold()
    return count(roots) if fused else deps


def _is_half(slots):
    return any([s is not None and s.dtype is HALF for s in slots])


__all__ = ["FullPass", "count_dependencies"]
