"""The engine's own source, as the stepper shows it beside the program: the loop that runs, and at which line each event is told.

The page says so itself: a statement with the comment `# event: pop` has just run when a `pop` is told.
"""

from __future__ import annotations

import inspect
import re
from functools import lru_cache

from autograd_lab.core import engine
from autograd_lab.tracing.trace import Record, Trace

METHODS = ("__init__", "_seed", "_loop", "_run_node", "_apply", "_deliver_all", "_deliver")
"""What is shown of the class, in the order of the page."""
MARK = re.compile(r"\s*# event: ([a-z, ]+)$")
NAME = "autograd_lab/core/engine.py"


@lru_cache(1)
def listing() -> Record:
    """{"name", "lines": [[number, text], ..], "at": {kind of event: number}}; a line between two methods has the number 0."""
    found: list[tuple[int, list[str]]] = []
    for method in METHODS:
        text, first = inspect.getsourcelines(getattr(engine.BackwardPass, method))
        found.append((first, text))
    lines: list[list[int | str]] = []
    at: dict[str, int] = {}
    for first, text in sorted(found):
        if lines:
            lines.append([0, ""])
        for number, line in enumerate(text, first):
            for kinds in MARK.findall(line):
                at.update(dict.fromkeys(kinds.split(", "), number))
            lines.append([number, MARK.sub("", line.rstrip()).removeprefix("    ")])
    return {"name": NAME, "lines": lines, "at": at}


def ran(trace: Trace) -> bool:
    """Whether this engine ran the passes of a trace: not PyTorch's, and not one that goes wrong on purpose."""
    passes = [e for e in trace.events if e["k"] == "backward"]
    return bool(passes) and not any(e.get("library") or e.get("engine") for e in passes)


__all__ = ["listing", "ran"]
