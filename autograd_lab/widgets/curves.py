"""The curves of a training loop: the loss and the gradients of each layer, one point for each time that its backward pass runs.

The passes of a loop begin at one place in the code. A program may have others beside them: of a second loss, or of `autograd.grad`
for a penalty. They are no points of the curve: what they do to gradients counts for the point before them. A second loss that fills
`.grad` as well, as in a generative adversarial network, has a curve of its own, without gradients.

steps    the step at which each pass begins
name     of the tensor that all of these passes start from; "loss" if it has none, or several
loss     the number that the pass starts from, null if it is no single number
grads    {layer: [the norm of its gradients when the next pass begins: the square root of the sum of all squares (2-norm) over the
         parameters that were reached; null if none was, or if they are not finite, ...]}
others   [{"steps": ..., "name": ..., "loss": ...}, ...] of the passes that other places begin
turns    the steps at which the iterations of the outermost loop begin
"""

from __future__ import annotations

import math
from typing import Any

from autograd_lab.tracing import rules
from autograd_lab.tracing.scopes import iteration
from autograd_lab.tracing.trace import Record, Trace

_MOST_LAYERS = 8
_MOST_LOSSES = 3


def curves(trace: Trace) -> Record | None:
    """The curves, or None if no place in the code began two passes."""
    places = _places(trace)
    if not places:
        return None
    passes, others = places[0], [_curve(trace, more) for more in places[1:_MOST_LOSSES]]
    begins = {k: i for i, k in enumerate(passes)}
    found: dict[str, list[float | None]] = {}
    norms: dict[
        str, dict[int, float | None]
    ] = {}  # since the last point: layer -> {parameter: the norm of its gradient}
    first: dict[str, int] = {}  # the first of a layer's parameters
    at = -1
    for k, e in enumerate(trace.events, 1):
        if k in begins:
            at = begins[k]
            norms.clear()
        elif e["k"] == "accumulate" and at >= 0:
            layer = _layer(trace.tensors[e["t"]]["name"])
            if not layer:
                continue
            first[layer] = min(e["t"], first.get(layer, e["t"]))
            norms.setdefault(layer, {})[e["t"]] = _norm(trace, e["new"])
            parts = [norm for norm in norms[layer].values() if norm is not None]
            whole = len(parts) == len(norms[layer])
            line = found.setdefault(layer, [None] * len(passes))
            line[at] = _finite(math.hypot(*parts)) if whole else None
    layers = dict(
        sorted(list(found.items())[:_MOST_LAYERS], key=lambda one: first[one[0]])
    )  # as they were made: a pass meets the last one first
    return {**_curve(trace, passes), "grads": layers, "others": others}


def _curve(trace: Trace, passes: dict[int, Record]) -> Record:
    """The loss at each of these passes, without gradients."""
    roots = {_root(trace, e).get("name", "") for e in passes.values()}
    name = roots.pop() if len(roots) == 1 else ""
    return {"steps": list(passes), "name": name or "loss", "loss": [_loss(trace, e) for e in passes.values()]}


def _places(trace: Trace) -> list[dict[int, Record]]:
    """The passes of each place in the code that began several, by the step at which they begin: first those that fill most `.grad`,
    then the most. Of the other places only those whose passes fill some `.grad`, in the order of the code's running.
    """
    begun: dict[Any, dict[int, Record]] = {}
    filled: dict[Any, int] = {}
    open_: list[Any] = []
    for k, e in enumerate(trace.events, 1):
        if e["k"] == "backward":
            place = tuple(e["src"] or ())
            if not open_:
                begun.setdefault(place, {})[k] = e
            open_.append(place)
        elif e["k"] in ("done", "error") and open_:
            open_.pop()
        elif e["k"] == "accumulate" and open_:
            filled[open_[0]] = filled.get(open_[0], 0) + 1
    first = max(begun, key=lambda place: (filled.get(place, 0), len(begun[place])), default=None)
    if len(begun.get(first, ())) < 2:
        return []
    others = [place for place in begun if place != first and len(begun[place]) > 1 and place in filled]
    return [begun[first], *[begun[place] for place in others]]


def trained(trace: Trace) -> tuple[set[str], dict[int, str]]:
    """The iterations of training loops: those in which an optimizer wrote, and for each step at which it read a gradient which it was."""
    turns: set[str] = set()
    read: dict[int, str] = {}
    met: dict[int, int] = {}  # a gradient -> the step at which it was read first
    for k, e in enumerate(trace.events, 1):
        if e["k"] == "leaf" and trace.tensors[e["t"]].get("grad_of") is not None:
            met[e["t"]] = k
        elif e["k"] == "inplace" and (turn := iteration(e.get("scope") or "")):
            gradients = [t for t in e.get("in") or () if trace.tensors[t].get("grad_of") == e["t"]]
            turns.update(turn for _ in gradients)
            read.update((met.pop(t), turn) for t in gradients if t in met)
    return turns, read


def turns(trace: Trace) -> list[int]:
    """The steps at which the iterations of the outermost loop begin; a loop that ran once has none (see scopes.py)."""
    begun: dict[str, int] = {}
    last = 0
    for k, e in enumerate(trace.events, 1):
        turn = iteration((trace.nodes[e["n"]] if e["k"] == "node" else e).get("scope") or "", outermost=True)
        if turn and turn not in begun:
            begun[turn] = max(last + 1, 1)
        if e["k"] in ("done", "node", "inplace"):
            last = k
    return list(begun.values())


def _root(trace: Trace, e: Record) -> Record:
    """The tensor that a pass starts from; {} if it is older than the recording, or one of several."""
    outputs = trace.nodes[e["roots"][0]]["outputs"] if len(e["roots"]) == 1 else None
    return trace.tensors[outputs[0]] if outputs else {}


def _loss(trace: Trace, e: Record) -> float | None:
    if not _root(trace, e):
        return None
    v = trace.names.written(e["roots"][0])
    return None if v is None else _finite(rules.scalar(trace.values[v]))


def _layer(name: str) -> str:
    """The layer of a parameter: "model.0" of "model.0.weight"; a variable is a layer by itself."""
    return name.rpartition(".")[0] or name


def _norm(trace: Trace, v: int | None) -> float | None:
    """The 2-norm of a value; None if it is not finite, or not known: of large values traces of earlier versions lack it."""
    if v is None:
        return None
    record = trace.values[v]
    found = _numbers(record["data"]) if "data" in record else [record.get("norm")]
    finite = [float(x) for x in found if isinstance(x, int | float) and math.isfinite(x)]
    return math.hypot(*finite) if len(finite) == len(found) else None


def _numbers(data: Any) -> list[Any]:
    return [x for part in data for x in _numbers(part)] if isinstance(data, list) else [data]


def _finite(x: Any) -> float | None:
    return float(f"{x:.4g}") if isinstance(x, int | float) and math.isfinite(x) else None
