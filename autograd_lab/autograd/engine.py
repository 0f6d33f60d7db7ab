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

The stepper shows this page while it runs. `# event: pop` says at which statement it is when that event is told.
"""

import itertools
from heapq import heappop, heappush

from .metadata import fold
from .modes import THREAD

_ids = itertools.count().__next__


class BackwardPass:
    """One reverse pass, which can be run as a whole or some nodes at a time.

    roots         [((node, output_nr), gradient)] with gradients as arrays, or as Tensors if `create_graph`
    keep_graph    whether nodes keep their saved values afterwards
    create_graph  whether the pass itself is recorded, so that its results can be differentiated again

    `backward` and `grad` run a FullPass (full_pass.py): this one, and around it what PyTorch has besides.
    """

    needed = None  # in a pass that goes to some leaves only: {node: whether it runs}
    expected = None  # what shape and type gradients must have, where that is not plain
    tensors = False  # whether gradients are Tensors, as in a pass that is recorded; they are arrays otherwise

    def __init__(self, roots, keep_graph, create_graph, call="backward"):
        self.id = _ids()
        self.keep_graph = keep_graph
        self.create_graph = self.tensors = create_graph
        self.ready = []
        self.buffers = {}
        self.watch = THREAD.state.watch
        self._count(roots)  # event: backward, counts
        if self.watch is not None:
            self.watch.pass_started(self, roots, call)  # who may put another in its place
        self._seed(roots)

    def run(self, limit=-1):
        """Run `limit` nodes, or all that are left (the default). The grad mode is entered and left in here."""
        state = THREAD.state
        before = state.grad
        state.grad = self.create_graph
        try:
            self._run(limit)
        except BaseException as error:
            if self.watch is not None:
                self.watch.failed(self, error)
            raise
        finally:
            state.grad = before
        if self.watch is not None and not self.ready:
            self.watch.pass_done(self)

    def _loop(self, limit):
        ready, buffers = self.ready, self.buffers
        while ready and limit:  # event: done
            limit -= 1  # one below zero is never reached
            _, node = heappop(ready)  # event: pop
            if self.watch is not None:
                self.watch.popped(self, node, buffers[node])
            grads = self._run_node(node, buffers.pop(node))  # event: hook, retain
            if grads is not None:
                self._deliver_all(node, grads)

    def _run_node(self, node, g):
        """Run one node on the gradient that arrived (of several outputs: a list of them)."""
        return self._apply(node, [g] if node.plain else g)

    def _apply(self, node, slots):
        """The rule itself. Returns a tuple with one gradient (or None) per operand."""
        watch = self.watch
        rule = type(node)  # which has the methods: attributes of a custom Function's node may have any name
        values = rule.unpack(node, self.tensors)
        if watch is not None:
            watch.applying(self, node, slots)
        grads = self._vjp(rule, node, slots, values)  # event: vjp, accumulate
        if type(grads) is not tuple:
            grads = (grads,)
        if node.fold is not None:
            grads = fold(node, grads)
        if watch is not None:
            watch.applied(self, node, slots, grads)
        if not self.keep_graph:
            rule.release(node)  # event: free
            if watch is not None:
                watch.released(self, node)
        return grads

    def _deliver_all(self, node, grads):
        """Send each gradient of a node where its edge leads; what nobody needs is pruned."""
        needed = self.needed
        for i, edge in enumerate(node._edges):
            fn, nr = edge if type(edge) is tuple else (edge, 0)
            if fn is not None and (needed is None or fn in needed):  # event: pruned
                g = grads[i] if self.expected is None else self._fitted(grads[i], fn, nr, i, node)
                self._deliver(fn, nr, g, node, i)
            elif self.watch is not None:
                self.watch.pruned(self, node, i)

    def _deliver(self, fn, nr, g, sender, i):
        """Add message `g` to slot `nr` of `fn`, and queue `fn` if it was the last one awaited."""
        if fn.plain:
            old = self.buffers.get(fn)
            self.buffers[fn] = total = old if g is None else g if old is None else old + g
        else:
            slots = self.buffers.get(fn) or self.buffers.setdefault(fn, [None] * fn.n_outputs)
            old = slots[nr]
            slots[nr] = total = old if g is None else g if old is None else old + g
        left = self.deps[fn] = self.deps.get(fn, 1) - 1  # event: seed, deliver
        watch = self.watch
        if watch is not None:
            watch.delivered(self, sender, i, fn, nr, g, old, total)
        if not left:
            heappush(self.ready, (fn.priority, fn))  # event: push
            if watch is not None:
                watch.pushed(self, fn)

    # What FullPass does with more care.

    def _count(self, roots):
        self.deps = count_dependencies([node for (node, _), _ in roots])

    def _seed(self, roots):
        for (node, nr), g in roots:
            if self.needed is None or node in self.needed:
                self._deliver(node, nr, g, None, None)

    def _run(self, limit):
        self._loop(limit)

    def _vjp(self, rule, node, slots, values):
        return rule.vjp(node, slots[0] if node.plain else slots, *values)


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
