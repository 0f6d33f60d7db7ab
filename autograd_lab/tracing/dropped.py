"""When the program lets go of the nodes that no pass has freed: seen in another run of it, which is not recorded.

A recording keeps all nodes alive. The other run only notes in which order nodes are made and taken up by passes, and between which two of
these moments one of them dies. The moments of both runs are the same, or the answer would belong to another program.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..torchlike.autograd import collector
from ..torchlike.autograd.modes import THREAD, WATCHERS
from ..torchlike.autograd.watch import Watch
from .trace import Trace


class _Moments(Watch):
    """The moments of a run, each as the name of its node; and how many there had been when a node died."""

    def __init__(self) -> None:
        self.count = 0
        self.all: list[tuple[bool, str]] = []
        self.ends: dict[int, int] = {}
        self.alive: dict[int, weakref.ref[Any]] = {}

    def operation(self, rule: Any, inputs: Any, outputs: Any, node: Any, args: Any) -> None:
        if node is None:
            return
        i, self.count = self.count, self.count + 1
        self.all.append((True, node.name()))
        self.alive[i] = weakref.ref(node, lambda _: self.ends.setdefault(i, len(self.all)))

    def written(self, rule: Any, inputs: Any, target: Any, node: Any, name: str, args: Any = ()) -> None:
        self.operation(rule, inputs, (), node, args)

    def popped(self, run: Any, node: Any, g: Any) -> None:
        self.all.append((False, node.name()))


def dropped(trace: Trace, go: Callable[[], object]) -> dict[int, int] | None:
    """{node: the step at which the program has let go of it}, as far as that is before the end; None if `go` does not do the same again.

    go   runs the program of the trace; what it returns is held
    """
    if THREAD.state.watch is not None:
        return None
    moments, state = _Moments(), THREAD.state
    with collector.paused():  # a cycle dies when the collector comes: until then it is held
        state.watch = moments
        WATCHERS.append(moments)
        state.refresh()
        try:
            result = go()
            ends = dict(moments.ends)
        except Exception:
            return None
        finally:
            state.watch = None
            WATCHERS.remove(moments)
            state.refresh()
            moments.alive.clear()
    del result
    steps: list[int] = []
    made: list[int] = []
    known: list[tuple[bool, str]] = []
    for k, e in enumerate(trace.events, 1):
        if e["k"] in ("node", "inplace", "pop") and (n := e.get("n")) is not None:
            inside = trace.rewritten(e) if e["k"] == "inplace" else None  # a write through a view
            node = trace.nodes[n] if inside is None else trace.nodes[inside]["inner"]
            steps.append(k)
            known.append((e["k"] != "pop", node["name"]))
            if e["k"] != "pop":
                made.append(n if inside is None else inside)
    if [(is_made, name.rpartition("::")[2]) for is_made, name in moments.all] != known:
        return None
    steps.append(len(trace))
    return {made[i]: steps[end] for i, end in ends.items() if steps[end] > steps[end - 1]}
