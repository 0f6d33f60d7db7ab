"""What the stepper's view "Cost" shows of a trace: the memory that saved values hold, from tracing/cost.py.

curve    [step, bytes of what was computed for the graph, bytes of the program's own tensors]: where they change
nodes    [node, bytes, bytes of the program's own tensors, the steps from which it holds them, the steps at which it has let go or -1]
"""

from __future__ import annotations

from autograd_lab.tracing.cost import Cost, cost
from autograd_lab.tracing.trace import Record, Trace


def costs(trace: Trace, seen: Cost | None = None) -> Record:
    """The two lists; `seen` is the cost if it is known already."""
    found = seen or cost(trace)
    pairs = list(zip(found.held, found.leaves, strict=True))
    curve = [[k, *pair] for k, pair in enumerate(pairs) if not k or pair != pairs[k - 1]]
    nodes = [
        [
            one.n,
            one.bytes,
            one.leaves,
            *([-1 if k is None else k for k in ks] for ks in zip(*one.periods, strict=True)),
        ]
        for one in found.nodes
    ]
    return {"curve": curve, "nodes": nodes}
