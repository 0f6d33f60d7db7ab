"""The loop of an unwatched backward pass in which gradients are arrays and every node runs.

It does the same as the engine's own loop (core/engine.py) in fewer steps: everything is written out, and a node that runs next anyway is
not queued.
"""

from heapq import heappop, heappush, heapreplace
from types import MappingProxyType

from ..core.engine import _ids as new_id
from ..core.engine import count_dependencies
from ..torchlike.autograd import collector
from ..torchlike.autograd.float16 import HALF, in_single
from ..torchlike.autograd.full_pass import FullPass
from ..torchlike.autograd.metadata import EXPECTED, unbroadcast
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import AccumulateGrad

LEAVES = -(2**61)
"""The priorities of leaves lie below this number, those of all other nodes above."""


class WholePass(FullPass):
    """The pass of `loss.backward()` while nothing unusual goes on: what a FullPass finds out in several steps is known beforehand."""

    captures = only = watch = None
    create_graph = tensors = False
    saved_hooks = ()
    captured = MappingProxyType({})

    def __init__(self, root, seed, keep_graph):
        self.id = new_id()
        self.root, self.keep_graph = root, keep_graph
        self.deps = count_dependencies((root,))
        self.ready, self.buffers = [(root.priority, root)], {root: seed}


def backward(root, seed, keep_graph):
    """Run the pass that begins with `seed` at the node `root`; whether it was as plain as this needs."""
    state = THREAD.state
    if state.special or state.running is not None or EXPECTED.data or not root.plain:
        return False
    run = state.running = WholePass(root, seed, keep_graph)
    paused = len(run.deps) > collector.LARGE and collector.pause()
    grad, state.grad = state.grad, False
    quiet, off = state.quiet
    warnings = quiet.set(off)
    try:
        loop(run)
        for fn in run.callbacks:
            fn()
    finally:
        quiet.reset(warnings)
        state.grad, state.running = grad, None
        if state.saved_hooks:  # a hook that raised had changed them
            state.saved_hooks = []
            state.refresh()
        if paused:
            collector.go_on()
    return True


def loop(run):
    """Run the pass `run` to its end."""
    ready, deps, buffers, keep = run.ready, run.deps, run.buffers, run.keep_graph
    # A leaf runs before all nodes, so it need not be queued if no other leaf is waiting. Nor need a node that is likely to run next: it is
    # kept at hand.
    hand = held = None
    while True:
        if hand is None:
            if not ready:
                break
            node = heappop(ready)[1]
            g = buffers.pop(node)
        else:
            node, g, hand = hand, held, None
            if ready and ready[0][0] < node.priority:
                buffers[node] = g
                node = heapreplace(ready, (node.priority, node))[1]
                g = buffers.pop(node)
        edges = node._next
        if node.hooks is None and node.plain and g is not None:
            saved = node.saved
            if g.dtype is HALF and node.widens:
                grads = in_single(node.vjp)(g, *node.unpack(False))
            else:
                grads = node.vjp(g, *node.unpack(False)) if saved else node.vjp(g)
            if node.broadcast is not None:
                grads = unbroadcast(node, grads if type(grads) is tuple else (grads,))
            if saved and not keep:
                node.release()
        else:
            grads = run._run_node(node, [g] if node.plain else g)
        if type(edges) is not tuple:
            edges = (edges,)
        for fn, g in zip(edges, grads if type(grads) is tuple else (grads,)):  # noqa: B905 - `strict` costs too much
            if type(fn) is tuple:  # no node, or a node with several outputs
                fn, nr = fn
                if fn is not None:
                    run._deliver(fn, nr, g, None, None)
            else:
                if fn in buffers:
                    before = buffers.pop(fn)
                    if before is not None:
                        g = before if g is None else before + g
                left = deps.get(fn, 1)  # the second half of a node that a hook unfolded is missing
                if left > 1:
                    deps[fn] = left - 1
                    buffers[fn] = g
                    continue
                if type(fn) is AccumulateGrad:
                    if fn.hooks is None and (not ready or ready[0][0] > LEAVES):
                        fn.vjp(g, node.fresh)
                        continue
                elif hand is None:
                    hand, held = fn, g
                    continue
                buffers[fn] = g
                heappush(ready, (fn.priority, fn))


__all__ = ["backward", "loop"]
