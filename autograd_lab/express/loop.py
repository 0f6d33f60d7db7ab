"""The loop of a backward pass that nobody watches, in which gradients are arrays and every node runs.

It does what the engine's own loop does (autograd/engine.py), in fewer steps: all is written out, and what is served next anyway is not queued.
"""

from heapq import heappop, heappush, heapreplace

from ..torchlike.autograd.float16 import HALF, in_single
from ..torchlike.autograd.metadata import unbroadcast
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import LEAVES, AccumulateGrad


def loop(run):
    """Run the pass `run` to its end."""
    ready, deps, buffers, keep = run.ready, run.deps, run.buffers, run.keep_graph
    state = THREAD.state
    # A leaf is served before all nodes, so it need not queue if no other leaf is in front of it. Nor need a node that is
    # likely to be the next to run: it is kept at hand.
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
            if node.fold is not None:
                grads = unbroadcast(node, grads)
            if saved and not keep:
                node.release()
        else:
            grads = run._run_node(node, g)
            if state.grad or len(state.saved_hooks) != len(run.saved_hooks):
                run._settle(state)  # a hook changed what holds for all of the pass
        if type(edges) is not tuple:
            edges = (edges,)
        for fn, g in zip(edges, grads if type(grads) is tuple else (grads,)):  # noqa: B905 - `strict` costs too much
            if type(fn) is tuple:  # nobody, or one of several outputs
                fn, nr = fn
                if fn is not None:
                    run._deliver(fn, nr, g, None, None)
            else:
                if fn in buffers:
                    before = buffers.pop(fn)
                    if before is not None:
                        g = before if g is None else before + g
                left = deps.get(fn, 1)  # the second half of a node that a hook unfolded is not there
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


__all__ = ["loop"]
