"""Splits the joint graph into forward and backward: what is saved, and what is recomputed.

Whatever the backward reads from the forward must be saved, or recomputed from something that is. The best choice is a minimum cut. Each
value is an edge from its own "in" to its own "out", with the cost of saving it as its capacity:

    source -> in      the cost of recomputing the value; infinite if it must not be recomputed (a matrix product)
    in -> out         the cost of saving it: its bytes; nearly nothing for what is kept anyway
    out -> in         from a value to those computed from it: infinite, since they cannot be recomputed without it
    out -> sink       infinite, if the backward reads it

Of the edges in the minimum cut, those from "in" to "out" are values to save, those from the source are values to recompute. (The idea is
that of PyTorch's min_cut_rematerialization_partition.)
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from .graph import Graph, Step, Value
from .passes import pointwise

RECOMPUTE_FROM = 1 << 16
"""The cost of one more NumPy call, in bytes of memory: smaller values are not worth recomputing."""

SLOW = frozenset(
    f"{name}Backward0"
    for name in ("Exp", "Log", "Tanh", "Sigmoid", "Sin", "Cos", "Pow", "Log1P", "Expm1", "Erf", "Softplus", "Silu", "Sinh", "Cosh")
)  # fmt: skip
"""Pointwise rules that take several times as long as reading and writing their memory."""


def split(
    graph: Graph, n_inputs: int, n_outputs: int, *, recompute_from: float = RECOMPUTE_FROM
) -> tuple[Graph, Graph, list[Value]]:
    """Split the joint graph in two: (forward, backward, saved).

    forward   takes the inputs and returns the outputs, then the saved values
    backward  takes the saved values, then the gradients of the outputs, and returns the gradients of the inputs
    recompute_from   the bytes that a NumPy call is worth; math.inf: recompute only views
    """
    outputs, grads = graph.outputs[:n_outputs], graph.outputs[n_outputs:]
    inputs, given = graph.inputs[:n_inputs], graph.inputs[n_inputs:]
    tangent = set(given)
    late = set()
    for step in graph.steps:
        if any(v in tangent for v in step.values()):
            tangent.update(step.outs)
            late.add(step)
    read = [v for step in graph.steps if step in late for v in step.values()]
    read += [g for g in grads if g is not None]
    needed = dict.fromkeys(v for v in read if v not in tangent and not v.constant)
    ahead = _makers(graph, outputs, set())
    saved, again = _cheapest(graph, list(needed), set(inputs), outputs, ahead, recompute_from)
    early = _makers(graph, [*outputs, *saved], set())
    early.update(step for step in graph.steps if step.how == "draw")
    back = [step for step in graph.steps if step in late or any(out in again for out in step.outs)]
    forward = Graph(inputs, [s for s in graph.steps if s in early], [*outputs, *saved])
    backward = Graph([*saved, *given], _when_needed(back, late, grads), list(grads))
    return forward, backward, saved


def _when_needed(steps: list[Step], late: set[Step], grads: list[Any]) -> list[Step]:
    """The steps of the backward, with each recomputing step just before its first reader."""
    makers = {out: step for step in steps if step not in late for out in step.outs}
    order: dict[Step, None] = {}

    def place(step: Step) -> None:
        stack = [step]
        while stack:
            missing = [makers[v] for v in stack[-1].values() if v in makers and makers[v] not in order]
            if missing:
                stack.extend(missing)
            else:
                order[stack.pop()] = None

    for step in steps:
        if step in late:
            place(step)
    for g in grads:
        if g in makers:
            place(makers[g])
    return list(order)


def _makers(graph: Graph, wanted: list[Any], known: set[Value]) -> set[Step]:
    """The steps that the wanted values depend on."""
    read = {v for v in wanted if v is not None and v not in known}
    found = set()
    for step in reversed(graph.steps):
        if any(out in read for out in step.outs):
            found.add(step)
            read.update(step.values())
    return found


def _cheapest(
    graph: Graph, needed: list[Value], inputs: set[Value], outputs: list[Any], ahead: set[Step], call: float
) -> tuple[list[Value], set[Value]]:
    """(what to save, what to recompute) so that all `needed` values are available in the backward."""
    made_by = {out: step for step in graph.steps for out in step.outs}
    there = inputs | {v for v in outputs if v is not None}
    pipes: dict[Any, dict[Any, float]] = {"source": {}, "sink": {}}
    open_ = list(needed)
    seen = dict.fromkeys(needed)
    while open_:
        value = open_.pop()
        step = made_by.get(value)
        view = step is not None and step.how in ("view", "views") and _looks_into(step)
        save = math.inf if view and value not in there else 1.0 if value in there else value.bytes + 1.0
        pipes.setdefault((value, "in"), {})[value, "out"] = save
        pipes.setdefault((value, "out"), {})
        pipes["source"][value, "in"] = math.inf if step is None else _effort(step, ahead, call)
        for operand in step.values() if step is not None else ():
            if operand.constant:
                continue
            pipes.setdefault((operand, "out"), {})[value, "in"] = math.inf
            if operand not in seen:
                seen[operand] = None
                open_.append(operand)
    for value in needed:
        pipes[value, "out"]["sink"] = math.inf
    full = least_cut(pipes)
    order = [*graph.inputs, *(out for step in graph.steps for out in step.outs)]
    known = [v for v in order if v in seen]
    saved = [v for v in known if (v, "in") in full and (v, "out") not in full]
    return saved, {v for v in known if (v, "in") not in full}


def _looks_into(step: Step) -> bool:
    """Whether a view step shares the memory of its operand."""
    kinds = [one[0] for one in step.args] if step.how == "views" else [step.args[0]]
    return "take" not in kinds


def _effort(step: Step, ahead: set[Step], call: float) -> float:
    """The cost of running a step in the backward, in bytes."""
    if step.how == "draw":
        return math.inf
    if step not in ahead:
        return 0.0  # no result needs it: it runs once in any case
    if step.how in ("view", "views") and _looks_into(step):
        return 0.0
    if any(v.written for v in step.values()):
        return math.inf  # by the time of the backward, the numbers have changed
    if step.how == "cast" or step.how == "named" or pointwise(step):
        share = 1.0 if step.rule in SLOW else 0.25
        return call + share * sum(out.bytes for out in step.outs)
    return math.inf


def least_cut(pipes: dict[Any, dict[Any, float]]) -> set[Any]:
    """The nodes reachable from "source" at maximum flow: the source side of a minimum cut.

    pipes   {from: {to: capacity}}.   Shortest augmenting paths (Edmonds and Karp, 1972).
    """
    left: dict[Any, dict[Any, float]] = {node: dict(to) for node, to in pipes.items()}
    for node, to in pipes.items():
        for other in to:
            left.setdefault(other, {}).setdefault(node, 0.0)
    while True:
        came: dict[Any, Any] = {"source": None}
        queue = deque(["source"])
        while queue and "sink" not in came:
            node = queue.popleft()
            for other, width in left[node].items():
                if width > 0 and other not in came:
                    came[other] = node
                    queue.append(other)
        if "sink" not in came:
            return set(came)
        path, node = [], "sink"
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]
        flow = min(left[a][b] for a, b in path)
        if flow == math.inf:
            raise ValueError("a value is needed that can neither be saved nor computed again")
        for a, b in path:
            left[a][b] -= flow
            left[b][a] += flow


__all__ = ["RECOMPUTE_FROM", "least_cut", "split"]
