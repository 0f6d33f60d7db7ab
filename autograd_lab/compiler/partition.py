"""Forward and backward apart: what is saved for the way back, and what is computed again.

Whatever the way back reads of the forward must be saved, or be computed again from something that is. Which is best is
a least cut. Each value is a pipe from its own "in" to its own "out", as wide as it costs to save it:

    source -> in      how much it costs to compute the value again; no limit if that must not be (a matrix product)
    in -> out         how much it costs to save it: its bytes; nearly nothing for what is there anyway
    out -> in         from a value to those computed from it: no limit, for one cannot be computed again without the other
    out -> sink       no limit, if the way back reads it

The pipes that limit the flow from source to sink are cut: those from "in" to "out" are saved, those from the source are computed
again. (The idea is that of PyTorch's min_cut_rematerialization_partition.)
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from .graph import Graph, Step, Value
from .passes import pointwise

RECOMPUTE_FROM = 1 << 16
"""What one more call of NumPy costs, in bytes of memory: smaller values are not worth computing again."""

SLOW = frozenset(
    f"{name}Backward0"
    for name in ("Exp", "Log", "Tanh", "Sigmoid", "Sin", "Cos", "Pow", "Log1P", "Expm1", "Erf", "Softplus", "Silu", "Sinh", "Cosh")
)  # fmt: skip
"""Pointwise rules that take several times as long as reading and writing their memory."""


def split(
    graph: Graph, n_inputs: int, n_outputs: int, *, recompute_from: float = RECOMPUTE_FROM
) -> tuple[Graph, Graph, list[Value]]:
    """(forward, backward, saved): the joint graph cut in two.

    forward   takes the inputs and returns the outputs, then the saved values
    backward  takes the saved values, then the gradients of the outputs, and returns the gradients of the inputs
    recompute_from   the bytes that a call of NumPy is worth; math.inf: compute nothing again but views
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
    """The steps of the backward, each that computes something again just before its first reader."""
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
    """The steps without which the wanted values cannot be."""
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
    """(what to save, what to compute again) so that all `needed` values are there on the way back."""
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
    """Whether a view shares the memory of what it is a view of."""
    kinds = [one[0] for one in step.args] if step.how == "views" else [step.args[0]]
    return "take" not in kinds


def _effort(step: Step, ahead: set[Step], call: float) -> float:
    """What it costs to carry out a step on the way back, in bytes."""
    if step.how == "draw":
        return math.inf
    if step not in ahead:
        return 0.0  # no result needs it: it is carried out once in any case
    if step.how in ("view", "views") and _looks_into(step):
        return 0.0
    if any(v.written for v in step.values()):
        return math.inf  # on the way back other numbers stand there
    if step.how == "cast" or step.how == "named" or pointwise(step):
        share = 1.0 if step.rule in SLOW else 0.25
        return call + share * sum(out.bytes for out in step.outs)
    return math.inf


def least_cut(pipes: dict[Any, dict[Any, float]]) -> set[Any]:
    """What is still reached from "source" when as much as possible flows to "sink": the near side of a least cut.

    pipes   {from: {to: width}}.   Augmenting paths, the shortest first (Edmonds and Karp, 1972).
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
