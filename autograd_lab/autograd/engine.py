"""The reverse pass: gradients flow from the roots to the leaves.

A node may run only when everything that uses its output has sent its message, or it would pass on half a gradient. So
the engine first counts, for each node, how many messages it must wait for. Then it takes, again and again, the ready
node that was created last (accumulators before all others), lets its rule turn the incoming gradient into one per
operand, and delivers these. Messages for the same place are added up on arrival.

    count    deps[node] = how many edges of this graph lead to it
    seed     the gradient of each root with respect to itself
    loop     pop the newest ready node; run its rule; deliver; whoever got the last message becomes ready

Nothing here recurses, so a chain of a million nodes is no deeper than one of three. The loop is a method that can stop
after any number of nodes: `backward()` runs it to the end, the stepper watches it one node at a time.
"""

import itertools
from heapq import heappop, heappush

from . import anomaly, collector
from .formulas import in_formula
from .halves import HALF, in_single
from .handed import hand, take_back
from .hooks import as_tensor, keep_gradient, run_node_hooks, run_post_accumulate_hooks, run_tensor_hooks
from .metadata import EXPECTED, expected_in, fitted, fold
from .modes import THREAD
from .needed import needed_nodes
from .node import AccumulateGrad, Node
from .seams import DOORS
from .threads import in_another_thread

_ids = itertools.count().__next__

DEEP = 50
"""Every so many passes within passes go on in another thread, for Python limits how deep calls may go in one."""


class BackwardPass:
    """One reverse pass, which can be run as a whole or some nodes at a time.

    roots         [((node, output_nr), gradient)] with gradients as arrays, or as Tensors if `create_graph`
    keep_graph    whether nodes keep their saved values afterwards
    create_graph  whether the pass itself is recorded, so that its results can be differentiated again
    captures      None, or {node: [(output_nr, place)]}: gradients wanted by autograd.grad, stored in `captured`
    only          None, or nodes to run for backward(inputs=...)
    """

    depth = 0  # how many passes this one runs in
    needed = expected = None
    node = None  # the node that is running, in anomaly mode
    callbacks = ()  # what graph.queue_callback was given
    express = None  # what takes the place of the loop in a pass that nobody watches (see seams.py)

    def __init__(self, roots, keep_graph, create_graph, captures=None, only=None, call="backward"):
        state = THREAD.state
        self.id = _ids()
        self.root = roots[0][0][0] if len(roots) == 1 else None
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.captures = captures
        self.captured = {}
        self.ready = []
        self.buffers = {}
        self.watch = watch = state.watch
        # Gradients are Tensors in a pass that is recorded, or in which dual numbers may turn up; arrays otherwise.
        self.tensors = create_graph or state.dual is not None
        part = captures is not None or only is not None
        nodes = [node for (node, _), _ in roots] if self.root is None else [self.root]
        self.deps = count_dependencies(nodes, part or self.tensors or EXPECTED.data or watch or state.anomaly)
        if EXPECTED.data:  # the dict itself: a weak one is slow to say that it is empty
            self.expected = expected_in(self.deps)
            self.tensors = self.tensors or self.expected is not None
        if part:
            self.needed = needed_nodes(roots, self.deps, captures or (), only or ())
        if watch is not None:
            watch.pass_started(self, roots, call)  # who may put another in its place
        if watch is self.needed is self.expected is None and not self.tensors and DOORS.loop is not None:
            self.express = DOORS.loop
        root = self.root
        if root is not None and root.plain and watch is self.needed is None and not self.tensors:
            self.ready.append((root.priority, root))  # the usual case
            self.buffers[root] = roots[0][1]
            return
        for i, ((node, nr), g) in enumerate(roots):
            if self.tensors:
                g = self._fitted(as_tensor(g), node, nr, i)
            if self.needed is None or node in self.needed:
                self._deliver(node, nr, g, None, None)

    def run(self, limit=-1):
        """Run `limit` nodes, or all that are left (the default). The grad mode is entered and left in here."""
        state = THREAD.state
        before, outer = state.grad, state.running
        if outer is not None:
            self.depth = outer.depth + 1
        state.grad, state.running = self.create_graph, self
        self.saved_hooks = tuple(state.saved_hooks)
        paused = len(self.deps) > collector.LARGE and collector.pause()
        quiet, off = state.quiet
        warnings = quiet.set(off)  # what np.errstate does, in a tenth of the time
        try:
            as_a_whole = self.express is not None and limit < 0 and not state.anomaly
            loop, argument = (self.express, self) if as_a_whole else (self._loop, limit)
            if self.depth % DEEP < DEEP - 1:
                loop(argument)
            else:
                in_another_thread(loop, argument)
            if not self.ready:
                for fn in self.callbacks:  # one may add another
                    fn()
        except BaseException as error:
            if self.watch is not None:
                self.watch.failed(self, error)
            raise
        finally:
            quiet.reset(warnings)
            if len(state.saved_hooks) != len(self.saved_hooks):
                self._settle(state)  # a hook that raised had changed them
            state.grad, state.running = before, outer
            if paused:
                collector.go_on()
        if self.watch is not None and not self.ready:
            self.watch.pass_done(self)

    def _loop(self, limit):
        ready, buffers = self.ready, self.buffers
        state = THREAD.state
        run_node = self._run_in_anomaly_mode if state.anomaly else self._run_node
        while ready and limit:
            limit -= 1  # one below zero is never reached
            _, node = heappop(ready)
            grads = run_node(node, buffers.pop(node))
            if state.grad is not self.create_graph or len(state.saved_hooks) != len(self.saved_hooks):
                self._settle(state)  # a hook changed what holds for all of the pass
            if grads is not None:
                self._deliver_all(node, grads)

    def _settle(self, state):
        """Every node runs in the grad mode and with the saved-tensor hooks of the pass, whatever was set in another."""
        state.grad, state.saved_hooks = self.create_graph, list(self.saved_hooks)
        state.refresh()

    def _deliver(self, fn, nr, g, sender, i):
        """Add message `g` to slot `nr` of `fn`, and queue `fn` if it was the last one awaited."""
        if fn.plain:
            old = self.buffers.get(fn)
            self.buffers[fn] = total = old if g is None else g if old is None else old + g
        else:
            slots = self.buffers.get(fn) or self.buffers.setdefault(fn, [None] * fn.n_outputs)
            old = slots[nr]
            slots[nr] = total = old if g is None else g if old is None else old + g
        left = self.deps[fn] = self.deps.get(fn, 1) - 1
        watch = self.watch
        if watch is not None:
            watch.delivered(self, sender, i, fn, nr, g, old, total)
        if not left:
            heappush(self.ready, (fn.priority, fn))
            if watch is not None:
                watch.pushed(self, fn)

    def _deliver_all(self, node, grads):
        """Send each gradient of a node where its edge leads; what nobody needs is pruned."""
        needed, expected = self.needed, self.expected
        for i, edge in enumerate(node._edges):
            fn, nr = edge if type(edge) is tuple else (edge, 0)
            if fn is not None and (needed is None or fn in needed):
                g = grads[i] if expected is None else self._fitted(grads[i], fn, nr, i, node)
                self._deliver(fn, nr, g, node, i)
            elif self.watch is not None:
                self.watch.pruned(self, node, i)

    def _fitted(self, g, fn, nr, i, sender=None):
        """Message `g`, the `i`-th of its sender, as slot `nr` of `fn` expects it; see metadata.py."""
        known = self.expected and self.expected.get(fn)
        if g is None or not known or nr not in known:
            return g
        return fitted(g, *known[nr], i, sender and sender.name())

    def _run_in_anomaly_mode(self, node, g):
        """Run one node; if it fails, or makes a nan, say where it was made."""
        self.node = node
        try:
            grads = self._run_node(node, g)
        except Exception:
            anomaly.explain(node)
            raise
        finally:
            self.node = None
        if grads is not None and THREAD.state.check_nan:
            anomaly.check(node, grads)
        return grads

    def _run_node(self, node, g):
        """Run one node with everything that can be around it: hooks, captures, several outputs, a recorder watching.

        Returns its gradients, or None if it was only captured.
        """
        watch, hooks = self.watch, node.hooks
        if watch is not None:
            watch.popped(self, node, g)
        slots = [g] if node.plain else g
        if hooks is self.captures is self.needed is None:
            return self._apply(node, slots)
        if self.captures is not None and node in self.captures and self.needed[node]:
            self._capture(
                node, slots
            )  # what autograd.grad is asked for, before the hooks of a node that goes on
        leaf = node.variable if isinstance(node, AccumulateGrad) else None
        leaf_hooks = leaf._meta.hooks if leaf is not None and not isinstance(leaf._edge, Node) else None
        if leaf_hooks:
            slots = [self._tensor_hooks(node, 0, leaf_hooks, slots[0])]
        if hooks is not None:
            slots = self._hooks_before(node, slots)
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
        """What PyTorch would have computed of the gradients: its rules leave out what goes nowhere."""
        if node.kind == "function":
            return grads
        needed = self.needed
        wanted = [fn is not None and (needed is None or fn in needed) for fn, _ in node.next_functions]
        if node.inputs == ("tensors",) and any(wanted):
            return grads  # of a list PyTorch computes all or none
        return [g if want else None for g, want in zip(grads, wanted, strict=True)]

    def _capture(self, node, slots):
        for nr, place in self.captures[node]:
            self.captured[place] = slots[nr]

    def _apply(self, node, slots):
        """The rule itself. Returns a tuple with one gradient (or None) per operand."""
        watch = self.watch
        # Even if nothing arrived: PyTorch looks at the saved values, and complains of what was freed.
        # Methods are looked up in the class: a custom Function's node may have attributes of any name.
        rule = type(node)
        values = rule.unpack(node, self.tensors)
        if slots[0] is None and node.skips_undefined and not any([s is not None for s in slots]):
            grads = (None,) * len(node._edges)
        else:
            given = slots[0] if node.plain else slots
            if watch is not None:
                watch.applying(self, node, slots)
            if self.tensors:
                grads = in_formula(rule, rule.vjp, node, given, *values)
            elif rule.widens and any([s is not None and s.dtype is HALF for s in slots]):
                grads = in_single(rule.vjp)(node, given, *values)
            else:
                grads = rule.vjp(node, given, *values)
            if type(grads) is not tuple:
                grads = (grads,)
            if node.fold is not None:
                grads = fold(node, grads)
        if watch is not None:
            watch.applied(self, node, slots, grads)
        if not self.keep_graph:
            rule.release(node)
            if watch is not None:
                watch.released(self, node)
        return grads

    def _hooks_before(self, node, slots):
        hooks = node.hooks
        slots = list(slots)
        for nr, table in list(hooks.tensor):
            slots[nr] = self._tensor_hooks(node, nr, table, slots[nr])
        for nr, ref in list(hooks.retain.items()):
            t = ref()
            if t is not None and slots[nr] is not None:
                keep_gradient(t, slots[nr])
                if self.watch is not None:
                    self.watch.retained(self, t, slots[nr])
        return slots

    def _tensor_hooks(self, node, nr, table, g):
        if not table:
            return g
        given = hand(self, node, "tensor", (g,))
        return take_back(self, node, "tensor", (g,), given, (run_tensor_hooks(table, *given),), nr)[0]


def count_dependencies(roots, unfold=True):
    """{node: number of messages it will get} for every node reachable from `roots` (each root gets its seed)."""
    deps = {}
    stack = []
    for node in roots:
        if node in deps:
            deps[node] += 1
        else:
            deps[node] = 1
            stack.append(node)
    while stack:
        node = stack.pop()
        edges = (node.unfold() if unfold else node)._next
        for fn in edges if type(edges) is tuple else (edges,):
            if type(fn) is tuple:
                fn, _ = fn
                if fn is None:
                    continue
            if fn in deps:
                deps[fn] += 1
            else:
                deps[fn] = 1
                if fn._next:
                    stack.append(fn)
    return deps


__all__ = ["BackwardPass", "count_dependencies"]
