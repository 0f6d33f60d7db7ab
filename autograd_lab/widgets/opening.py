"""A long trace is opened in two stages, so that its first steps can be seen while the rest is computed.

A page that waits for the stepper gets the film of the trace's beginning, and the rest a few seconds later, within
the same cell: under "Run All" too, and without a thread. Elsewhere, for example when a notebook is executed to be compared or stored,
the beginning would not be seen, and everything is made at once. The final contents of the notebook are the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol

from autograd_lab.tracing import Trace
from autograd_lab.tracing.recorder import Recording

#: A trace of at most so many events is opened at once.
SHORT = 2000
#: The beginning consists of so many events, or notes of a recording.
BEGINNING = 500


def is_awaited() -> bool:
    """Whether the code runs in a cell that is open on a page: pages name the cell to run, programs do not."""
    if os.environ.get("AUTOGRAD_LAB_STATIC") == "1":
        return False
    request = getattr(getattr(_shell(), "kernel", None), "get_parent", None)
    # Without a channel: that of a kernel in a browser has none.
    parent = (request() if request is not None else None) or {}
    return bool(parent.get("metadata", {}).get("cellId"))


def beginning(trace: Trace) -> tuple[Trace, int] | None:
    """The first steps of a long trace, and how many it has in all (-1: not known yet); None if the trace is short.

    A recording that has not been looked at is not built for it.
    """
    if isinstance(trace, Recording):
        first = trace.beginning(BEGINNING)
        if first is not None:
            return cut(first, BEGINNING), -1
    if len(trace) <= SHORT:
        return None
    return cut(trace, BEGINNING), len(trace)


def cut(trace: Trace, steps: int) -> Trace:
    """The trace of the first `steps` events, with only the tensors and nodes that these lead to."""
    events = trace.events[:steps]
    nodes, tensors = 0, 0  # the number needed: those made first come first
    for e in events:
        named = [e.get("n"), e.get("old") if e["k"] == "inplace" else None, e.get("behind")]
        named += [e["to"][0] if e["k"] == "edge" else e.get("to"), *e.get("roots", ()), *e.get("queue", ())]
        named += [n for n, _ in e.get("deps", ())]
        nodes = max(nodes, _after(named))
        if e["k"] != "vjp":  # whose "in" are values
            t, base = e.get("t"), e.get("base") or ()
            met = [*(t if isinstance(t, list) else [t]), e.get("from"), *e.get("in", ()), *base[:1]]
            met += [*(e.get("of") or ()), *(e.get("inputs") or ())] if e["k"] in ("backward", "error") else []
            tensors = max(tensors, _after(met))
    checked = 0
    while checked < nodes:
        node = trace.nodes[checked]
        nodes = max(nodes, _after(edge[0] for edge in node["edges"] if edge is not None))
        saved = [t for _, t, *_ in node.get("saved") or ()]
        tensors = max(tensors, _after([*node["inputs"], *node["outputs"], node.get("tensor"), *saved]))
        checked += 1
    checked = 0
    while checked < tensors:
        tensors = max(tensors, _after([trace.tensors[checked].get("base")]))
        checked += 1
    return Trace(
        trace.title, trace.sources, trace.values, trace.tensors[:tensors], trace.nodes[:nodes], events
    )


def _after(numbers: Iterable[int | None]) -> int:
    """The number of items needed to include these."""
    return max((n + 1 for n in numbers if n is not None), default=0)


class Completed(Protocol):
    """A widget that is opened in two stages."""

    def complete(self) -> None:
        """Compute the rest."""


def complete_after_cell(widget: Completed) -> None:
    """Compute the rest when the running cell is over, if nothing needed it before."""
    shell = _shell()
    if not _PENDING and shell is not None:
        shell.events.register("post_run_cell", _complete)
    _PENDING.append(widget)


_PENDING: list[Completed] = []


def _complete(*_: Any) -> None:
    shell = _shell()
    if shell is not None:
        shell.events.unregister("post_run_cell", _complete)
    waiting = list(_PENDING)
    _PENDING.clear()
    for widget in waiting:
        widget.complete()


def _shell() -> Any:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return None
    return get_ipython()
