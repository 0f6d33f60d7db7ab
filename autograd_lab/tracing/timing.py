"""How long each node of a trace takes: measured in runs of their own, which are not recorded, because recording takes time too.

Nodes are told apart by their order: the run must make the nodes of the trace, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from ..torchlike.autograd.modes import THREAD, WATCHERS
from ..torchlike.autograd.watch import Watch
from .trace import Trace

RUNS = 5


class Stopwatch(Watch):
    """Times the operations and rules of one run. An operation begins with its first computation; a rule's time includes handing on what it gives."""

    def __init__(self) -> None:
        self.nodes: list[
            Any
        ] = []  # the nodes in the order in which they were made, kept, or Python could reuse an id
        self.seconds: dict[
            int, list[float]
        ] = {}  # id of a node -> the seconds of its operation and of its rule
        self.began: float | None = None
        self.met: list[Any] = []  # other nodes, such as accumulators, as they run
        self.at_work: list[tuple[Any, Any, float]] = []  # (pass, node, since when), the innermost last

    def __enter__(self) -> Stopwatch:
        state = THREAD.state
        if state.watch is not None:
            raise RuntimeError(
                "a recording is running: measure after its block, for recording takes time too"
            )
        self.state, self.run = state, state.run
        state.watch, state.run = self, self._run
        WATCHERS.append(self)
        state.refresh()
        return self

    def __exit__(self, *error: object) -> None:
        self.state.watch, self.state.run = None, self.run
        WATCHERS.remove(self)
        self.state.refresh()

    def _run(self, fn: Any, *args: Any) -> Any:
        if self.began is None:
            self.began = perf_counter()
        return self.run(fn, *args)

    def _operation(self, node: Any) -> None:
        now = perf_counter()
        if node is not None:
            self.nodes.append(node)
            self.seconds[id(node)] = [now - (now if self.began is None else self.began), 0.0]
        self.began = None

    def operation(self, rule: Any, inputs: Any, outputs: Any, node: Any, args: Any) -> None:
        """An operation has ended."""
        self._operation(node)

    def written(self, rule: Any, inputs: Any, target: Any, node: Any, name: str, args: Any = ()) -> None:
        """A write has ended."""
        self._operation(target.grad_fn if node is not None else None)

    def popped(self, run: Any, node: Any, g: Any) -> None:
        """A node begins; the one before it has handed on all that it gives."""
        if self.at_work and self.at_work[-1][0] is run:
            self._ended()
        if id(node) not in self.seconds:
            self.met.append(node)
            self.seconds[id(node)] = [0.0, 0.0]
        self.at_work.append((run, node, perf_counter()))

    def pass_done(self, run: Any) -> None:
        """The last node of a pass has ended."""
        if self.at_work and self.at_work[-1][0] is run:
            self._ended()

    def failed(self, run: Any, error: BaseException) -> None:
        """A pass ends early."""
        self.at_work.clear()

    def _ended(self) -> None:
        _, node, began = self.at_work.pop()
        self.seconds[id(node)][1] += perf_counter() - began


def timed(trace: Trace, go: Callable[[], object], runs: int = RUNS) -> dict[int, tuple[float, float]]:
    """{node: (seconds of its operation, of its rule)} for the nodes of `trace`: the shortest of several calls of `go`.

    `go` runs the program of the trace again. Raises ValueError if that makes other nodes than the trace has.
    """
    made = [e["n"] for e in trace.events if e["k"] in ("node", "inplace") and e.get("n") is not None]
    popped = [e["n"] for e in trace.events if e["k"] == "pop"]
    met = list(dict.fromkeys(n for n in popped if n not in set(made)))
    best: dict[int, tuple[float, float]] = {}
    for _ in range(runs):
        with Stopwatch() as watch:
            go()
        names = [type(node).__name__ for node in watch.nodes]
        if names != [trace.nodes[n]["name"] for n in made]:
            raise ValueError(
                f"a run without recording made {len(names)} nodes and the recorded one {len(made)}, or others: the times would belong "
                "to other nodes. What to do: let the function do the same in each run, with a fixed seed for instance"
            )
        pairs = [*zip(made, watch.nodes, strict=True), *zip(met, watch.met, strict=False)]
        for n, node in pairs:
            forward, backward = watch.seconds[id(node)]
            known = best.get(n, (forward, backward))
            best[n] = min(known[0], forward), min(known[1], backward)
    return best
