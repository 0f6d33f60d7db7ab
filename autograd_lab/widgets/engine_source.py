"""The engine's own source, as the stepper shows it beside the program, and what its variables hold.

Two pages: how an operation becomes a node, and the loop that carries the gradients back. They say themselves where each event
is told: a statement with the comment `# event: pop` has just run when a `pop` is told.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from autograd_lab.core import engine, node, record
from autograd_lab.core.rule import RULES
from autograd_lab.tracing.state import State
from autograd_lab.tracing.trace import Record, Trace

FORWARD: tuple[Callable[..., Any], ...] = (
    record.apply, record.record_all, record.record, record.planned, node.make_node, node.save,
)  # fmt: skip
"""What is shown of the forward pass, in the order in which it runs."""
BACKWARD: tuple[Callable[..., Any], ...] = tuple(
    getattr(engine.BackwardPass, method)
    for method in ("__init__", "_seed", "_loop", "_run_node", "_apply", "_deliver_all", "_deliver")
)
"""What is shown of the loop, in the order of the page."""
OPERATIONS = ("node", "edge", "const", "inplace")
"""Kinds of events that tell of an operation."""
MARK = re.compile(r"\s*# event: ([a-z, ]+)$")


@lru_cache(1)
def listing() -> Record:
    """{"pages": [{"name", "lines": [[number, text], ..]}, ..], "at": {kind of event: [page, place in its lines]}}.

    What is no line of a file, such as the gap between two functions, has the number 0.
    """
    at: dict[str, list[int]] = {}
    return {"pages": [page(functions, i, at) for i, functions in enumerate((FORWARD, BACKWARD))], "at": at}


def page(functions: tuple[Callable[..., Any], ...], i: int, at: dict[str, list[int]]) -> Record:
    """Page number `i`: the source of some functions. The marks in it are put into `at`."""
    lines: list[list[int | str]] = []
    name = ""
    for function in functions:
        text, first = inspect.getsourcelines(function)
        if lines:
            lines.append([0, ""])
        if name != (name := "core/" + Path(inspect.getfile(function)).name):
            lines.append([0, f"# {name}"])
        indent = "" if function.__name__ == function.__qualname__ else "    "
        for number, line in enumerate(text, first):
            for kinds in MARK.findall(line):
                at.update({kind: [i, len(lines)] for kind in kinds.split(", ")})
            lines.append([number, MARK.sub("", line.rstrip()).removeprefix(indent)])
    return {"lines": lines}


def ran(trace: Trace) -> bool:
    """Whether this engine ran the passes of a trace: not PyTorch's, and not one that goes wrong on purpose."""
    passes = [e for e in trace.events if e["k"] == "backward"]
    return bool(passes) and not any(e.get("library") or e.get("engine") for e in passes)


@lru_cache(1)
def _operations() -> frozenset[str]:
    """What operations of one result are called."""
    return frozenset(
        op for rule in RULES.values() if (op := getattr(rule, "op", "")) and getattr(rule, "plain", True)
    )


def elsewhere(trace: Trace, e: Record) -> bool:
    """Whether an event came about without the statement that its kind is marked at: it did so in code that is not shown."""
    kind = e["k"]
    if kind in (
        "node",
        "edge",
    ):  # functions of the user's, compiled ones and writes through views make theirs themselves
        made = trace.nodes[e["n"]]
        return made["kind"] != "op" or "inner" in made
    if kind == "const":
        made = trace.tensors[e["t"][0]]  # by `record`, if it is one tensor and no view
        return (
            len(e["t"]) > 1 or made["base"] is not None or e["why"] == "copy" or e["op"] not in _operations()
        )
    return False


def variables(state: State) -> Record:
    """What the variables on the page hold after the last event: numbers of nodes, tensors and values in the trace.

    In the forward pass, of the operation that ran:
        rule     its name
        inputs   tensors
        edges    for each operand a node, or None; left out, as `saved` is, if the operation left no node
        saved    [tensor, version]; left out of a write in place, which saves copies that are no tensors of the program
        out      tensors
    In the backward pass:
        node     the node in hand, or None
        ready    nodes, the next one first
        deps     {node: how many messages it waits for}
        buffers  {node: the values that lie there, one for each of its outputs}
    Empty when neither is at work.
    """
    e, trace = state.event, state.trace
    if e is not None and e["k"] in OPERATIONS:
        n = e.get("n")
        if n is None:
            out = e["t"] if isinstance(e["t"], list) else [e["t"]]
            return {"rule": e.get("op"), "inputs": e["in"], "out": out}
        made = trace.nodes[n]
        told = {
            "rule": made["name"],
            "inputs": made["inputs"],
            "edges": [edge and edge[0] for edge in made["edges"]],
            "out": made["outputs"],
        }
        if not writes(state):
            told["saved"] = [[t, *(version or [0])] for _, t, *version in made["saved"]]
        return told
    if state.phase != "backward":
        return {}
    return {
        "node": state.active,
        "ready": state.queue,
        "deps": state.deps,
        "buffers": {n: lying(state, n) for n in state.buffers},
    }


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


__all__ = ["elsewhere", "listing", "lying", "ran", "variables", "writes"]
