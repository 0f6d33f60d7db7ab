"""How long each node of a trace takes: measured in runs of their own, which are not recorded, because recording takes time too.

The profiler measures. Nodes are told apart by their order: the run must make the nodes of the trace, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..torchlike.autograd.modes import THREAD
from .trace import Trace

RUNS = 5
_IN_A_PASS = "autograd::engine::evaluate_function: "


def timed(trace: Trace, go: Callable[[], object], runs: int = RUNS) -> dict[int, tuple[float, float]]:
    """{node: (seconds of its operation, of what the engine does for it)} for the nodes of `trace`: the shortest of several calls of `go`.

    `go` runs the program of the trace again. Raises ValueError if that makes other nodes than the trace has, RuntimeError while a
    recording runs.
    """
    from ..torchlike.autograd.profiler import profile

    if THREAD.state.watch is not None:
        raise RuntimeError("a recording is running: measure after its block, for recording takes time too")
    best: dict[int, tuple[float, float]] = {}
    for _ in range(runs):
        with profile() as run:
            go()
        for n, (forward, backward) in _per_node(trace, run.function_events).items():
            known = best.get(n, (forward, backward))
            best[n] = min(known[0], forward), min(known[1], backward)
    return best


def _per_node(trace: Trace, events: list[Any]) -> dict[int, tuple[float, float]]:
    """The seconds of one run, from its events."""
    made = [e["n"] for e in trace.events if e["k"] in ("node", "inplace") and e.get("n") is not None]
    popped = [e["n"] for e in trace.events if e["k"] == "pop"]
    passes = [e for e in events if e.name.startswith(_IN_A_PASS)]
    operations = [e for e in events if e.made_a_node]
    names = [e.name.removeprefix(_IN_A_PASS).rpartition("::")[2] for e in passes]
    if len(operations) != len(made) or names != [trace.nodes[n]["name"] for n in popped]:
        raise ValueError(
            f"a run without recording made {len(operations)} nodes and the recorded one {len(made)}, or others: the times would belong "
            "to other nodes. What to do: let the function do the same in each run, with a fixed seed for instance"
        )
    found = {n: [0.0, 0.0] for n in (*made, *popped)}
    for part, nodes, took in ((0, made, operations), (1, popped, passes)):
        for n, e in zip(nodes, took, strict=True):
            found[n][part] += e.cpu_time_total / 1e6
    return {n: (forward, backward) for n, (forward, backward) in found.items()}
