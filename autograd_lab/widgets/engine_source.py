"""The engine's own source, as the stepper shows it beside the program, and what its variables hold.

Three pages: how an operation becomes a node, the loop that carries the gradients back, and what else the core tells of. They say
themselves where each event is told: a statement with the comment `# event: pop` has just run when a `pop` is told (see tracing/told.py).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from autograd_lab.core import engine, hooks, modes, node, record
from autograd_lab.core.tensor import Tensor
from autograd_lab.torchlike.autograd import record as around_record
from autograd_lab.torchlike.autograd import views as around_views
from autograd_lab.tracing.state import State
from autograd_lab.tracing.trace import Record, Trace

FORWARD: tuple[Callable[..., Any], ...] = (
    record.apply, record.record_all, record.record, record.apply_view, around_record.overwrite, around_record.write,
    node.make_node, node.save, around_views.rebase_history, around_views.copy_slices,
)  # fmt: skip
"""What is shown of the forward pass: first operations that give a new tensor, then those that write into one."""
BACKWARD: tuple[Callable[..., Any], ...] = tuple(
    getattr(engine.BackwardPass, method)
    for method in ("__init__", "_seed", "_loop", "_run_node", "_apply", "_deliver_all", "_deliver")
)
"""What is shown of the loop, in the order of the page."""
BESIDE: tuple[Callable[..., Any], ...] = (
    modes.State.set_grad, Tensor._set_requires_grad, Tensor.detach, Tensor.item, Tensor.tolist,
    hooks.retain_grad,
)  # fmt: skip
"""What the core tells of besides."""
CUT = "    \N{HORIZONTAL ELLIPSIS}"
"""The heading of what follows the examples of a docstring: one row that says that lines are left out."""
PACKAGE = Path(__file__).parents[1]
OPERATIONS = ("node", "edge", "const", "inplace")
"""Kinds of events that tell of an operation."""
MARK = re.compile(r"\s*# event: ([\w, ]+)$")


@lru_cache(1)
def listing() -> Record:
    """{"pages": [[[heading, first line number, text], ..], ..], "at": {mark: [page, row]}}: the functions of each page.

    A heading says in which file and class a function is; it is "" where that is as before, `CUT` after lines left out. See `rows`.
    """
    pages = [page(functions) for functions in (FORWARD, BACKWARD, BESIDE)]
    at: dict[str, list[int]] = {}
    for i, parts in enumerate(pages):
        for row, (_, line) in enumerate(rows(parts)):
            for marks in MARK.findall(line):
                at.update({mark: [i, row] for mark in marks.split(", ")})
        for part in parts:
            part[2] = unmarked(part[2])
    return {"pages": pages, "at": at}


def plain(functions: tuple[Callable[..., Any], ...]) -> list[list[Any]]:
    """`page`, without the marks."""
    return [[heading, first, unmarked(text)] for heading, first, text in page(functions)]


def unmarked(text: str) -> str:
    """Lines of source without what says which event they tell."""
    return "\n".join(MARK.sub("", line) for line in text.split("\n"))


def places(functions: tuple[Callable[..., Any], ...]) -> dict[tuple[str, int], int]:
    """{(file, line number): row} of a page."""
    found, file = {}, ""
    for row, (number, text) in enumerate(rows(page(functions))):
        if not number and text.startswith("# "):
            file = str(PACKAGE / text[2:].partition(",")[0])
        elif number:
            found[file, number] = row
    return found


def page(functions: tuple[Callable[..., Any], ...]) -> list[list[Any]]:
    """The source of some functions: [heading, first line number, text] of each."""
    parts = []
    before = ""
    for function in functions:
        lines, first = inspect.getsourcelines(function)
        owner = function.__qualname__.removesuffix(function.__name__).rstrip(".")
        file = Path(inspect.getfile(function)).relative_to(PACKAGE).as_posix()
        heading = f"# {file}" + (owner and f", class {owner}")
        for start, stop in without_examples(lines):
            text = "\n".join(
                line.rstrip().removeprefix("    " if owner else "") for line in lines[start:stop]
            )
            parts.append([CUT if start else "" if heading == before else heading, first + start, text])
            before = heading
    return parts


def without_examples(lines: list[str]) -> list[tuple[int, int]]:
    """The stretches of a function's source, (start, stop), that are left when the examples of its docstring are taken out."""
    begin = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>>")), None)
    if begin is None:
        return [(0, len(lines))]
    end = next(i for i in range(begin, len(lines)) if lines[i].strip() == '"""')
    return [(0, begin - 1), (end, len(lines))]  # and without the empty line before them


def rows(parts: list[list[Any]]) -> list[tuple[int, str]]:
    """The rows of a page, (line number, text); what is no line of a file has the number 0 (`engineRows` in assets/engine.js does the same)."""
    found: list[tuple[int, str]] = []
    for heading, first, text in parts:
        if found and heading != CUT:
            found.append((0, ""))
        if heading:
            found.append((0, heading))
        found += enumerate(text.split("\n"), first)
    return found


def ran(trace: Trace) -> bool:
    """Whether this engine ran the passes of a trace: not PyTorch's, and not one that goes wrong on purpose."""
    passes = [e for e in trace.events if e["k"] == "backward"]
    return bool(passes) and not any(e.get("library") or e.get("engine") for e in passes)


def variables(state: State, mark: str) -> Record:
    """What the variables at the statement of that `mark` hold after the last event: numbers of nodes, tensors and values in the trace.

    In an operation that left a node (marks "node" and "edge"):
        rule     the name of its class
        inputs   tensors
        edges    for each operand a node, or None
        saved    [tensor, version]; left out of a write in place, which saves copies that are no tensors of the program
        out      tensors
    At the other statements of the forward pass, and beside it: see `BY_MARK`.
    In the backward pass:
        node     the node in hand, or None
        ready    nodes, the next one first
        deps     {node: how many messages it waits for}
        buffers  {node: the values that lie there, one for each of its outputs}
    Empty when neither is at work.
    """
    e, trace = state.event, state.trace
    if e is not None and mark in ("node", "edge"):
        made = trace.nodes[e["n"]]
        told = {
            "rule": made["name"],
            "inputs": made["inputs"],
            "edges": edges(made),
            "out": made["outputs"],
        }
        if not writes(state):
            told["saved"] = [[t, *(version or [0])] for _, t, *version in made["saved"]]
        return told
    if e is not None and mark in BY_MARK:
        return BY_MARK[mark](trace, e)
    if state.phase != "backward" or (e is not None and e["k"] in OPERATIONS):
        return {}
    return {
        "node": state.active,
        "ready": state.queue,
        "deps": state.deps,
        "buffers": {n: lying(state, n) for n in state.buffers},
    }


def edges(made: Record) -> list[int | None]:
    """The nodes to which the edges of one lead."""
    return [edge and edge[0] for edge in made["edges"]]


def _of_slices(trace: Trace, e: Record) -> Record:
    """In the `__init__` of CopySlices. The base is not known if the program never used it."""
    made = trace.nodes[e["n"]]
    base, view = made["inputs"][0], made["inner"]["view"]
    return {
        "inner": made["inner"]["name"],
        "base": None if base == view else base,
        "view": view,
        "edges": edges(made),
    }


def _rewritten(trace: Trace, e: Record) -> Record:
    """In `overwrite`, of a write that is recorded; through a view, its node is the one inside CopySlices, whose edges are not known."""
    copied, made = trace.rewritten(e), trace.nodes[e["n"]]
    rule = made["name"] if copied is None else trace.nodes[copied]["inner"]["name"]
    known = edges(made) if copied is None else None
    return {"name": e.get("op"), "target": e["t"], "rule": rule, "inputs": e.get("in"), "edges": known}


BY_MARK: dict[str, Callable[[Trace, Record], Record]] = {
    "const": lambda _, e: {"inputs": e["in"], "out": e["t"]},
    "const view": lambda _, e: {"x": next(iter(e["in"]), None), "out": e["t"]},
    "inplace": lambda _, e: (
        {"target": e["t"], "data": e.get("v")} if e["k"] == "inplace" else {"data": e["v"]}
    ),
    "inplace recorded": _rewritten,
    "edge CopySlices": _of_slices,
    "mode": lambda _, e: {"on": e["grad"]},
    "flag": lambda _, e: {"self": e["t"], "value": e["requires_grad"]},
    "flag retain_grad": lambda trace, e: {"self": e["t"], "fn": trace.tensors[e["t"]].get("node")},
    "detach": lambda _, e: {"self": e["from"], "out": [e["t"]]},
    "read": lambda _, e: {"self": e["t"], "number": e.get("v")},
    "read tolist": lambda _, e: {"self": e["t"], "numbers": e.get("v")},
}
"""What the variables hold at statements that run once, by their mark; what is None is not shown."""

VALUES = ("data", "number", "numbers")
"""Those that are the number of a value."""


def writes(state: State) -> bool:
    """Whether the last event tells of a write in place."""
    k, events = state.k - 1, state.trace.events
    while k and events[k]["k"] == "edge":
        k -= 1
    return bool(events[k]["k"] == "inplace")


def lying(state: State, n: int) -> list[int | None]:
    """The values that lie at node `n`, one for each of its outputs that can have a gradient."""
    trace, buffer = state.trace, state.nodes[n].buffer
    wanted = [i for i, t in enumerate(trace.nodes[n]["outputs"]) if trace.tensors[t]["requires_grad"]]
    return [buffer.get(i) for i in range(1 + max([*wanted, *buffer], default=0))]


__all__ = [
    "BY_MARK",
    "MARK",
    "VALUES",
    "listing",
    "lying",
    "places",
    "plain",
    "ran",
    "rows",
    "variables",
    "writes",
]
