"""What the views beside the graph show of a trace, worked out once: Jacobians, saved values, versions, hooks, boundaries, and the
rows of the table. Lists of numbers, so that they travel in columns (see wire.py); -1 stands for "none".

    jacobians  [node, operand, rows, columns, structure, formula, [r, c, x, ...] or null]
    origins    [step, tensor, why]: a tensor without history, and why: "inputs", "no_grad", "pass", "forward", "inference_mode", "copy",
               "detach", "data"
    marks      [source, line, why]: lines of the code where that happened
    pins       [step, tensor, version, node, step at which it was freed]: a saved value, which node reads it, and how long it is held
    writes     [step, tensor, version, value before, value after, grad_fn before, grad_fn after, operation, source, line]
    failures   [step, kind, tensor, version saved, version found, value then, value now, source and line of the one, of the other]
    hooks      [step, node, stage, [values before], [values after], tensor]: the tensor that it was registered on
    rows       [step, tensor, node, output, value, source, line]: the table, in the order of the program
    advice     [step, caption, sentences, what to do]: of the program that stopped there, as `lab.why` gives it
    adjoints   [step, node, slot, contribution, sum]: what a gradient is made of; contribution -2: a hook put `sum` in its place
"""

from __future__ import annotations

from typing import Any, Protocol

from autograd_lab.tracing import rules
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.trace import Record, Trace
from autograd_lab.tracing.why import why_stopped
from autograd_lab.tracing.why.answer import caption

#: Why an operation or a copy leaves a tensor without history, except the plain "no operand requires a gradient".
BOUNDARIES = ("no_grad", "inference_mode", "copy", "detach", "data")


class Film(Protocol):
    """The film that the lists belong to (frames.Film)."""

    trace: Trace
    narrator: Narrator

    def value(self, v: int | None) -> int:
        """A value's number in the film, -1 for none."""

    def same(self, a: int | None, b: int | None) -> bool:
        """Whether two values are equal."""


def details(film: Film) -> Record:
    """The lists above, for one film; values are added to its table."""
    trace, value = film.trace, film.value
    found: dict[str, list[Any]] = {
        name: [] for name in ("origins", "pins", "writes", "failures", "hooks", "rows", "adjoints")
    }
    marks: dict[tuple[int, int], str] = {}
    family = [_base(trace, t) for t in range(len(trace.tensors))]
    version: dict[int, int] = {}  # per family of views: where the shared counter stands
    current = [tensor["value"] for tensor in trace.tensors]
    owners = {node["tensor"]: n for n, node in enumerate(trace.nodes) if node["kind"] == "accumulate"}
    held: dict[int, list[list[int]]] = {}  # node -> its pins
    freed: dict[int, int] = {}
    written: dict[tuple[int, int], tuple[int, list[int]]] = {}  # (family, version) -> (value, place)

    running = False  # a pass: what hooks compute there is no boundary of the program

    def pin(k: int, n: int) -> None:
        for _, t, *saved in trace.nodes[n].get("saved") or []:
            if t is not None:
                held.setdefault(n, []).append([k, t, saved[0] if saved else 0, n, -1])
                found["pins"].append(held[n][-1])

    def row(k: int, t: int, n: int, slot: int, e: Record) -> None:
        found["rows"].append([k, t, n, slot, value(current[t]), *_place(e)])

    for k, e in enumerate(trace.events, 1):
        kind = e["k"]
        if kind in ("backward", "done", "error"):
            running = kind == "backward"
        if kind == "leaf":
            row(k, e["t"], owners.get(e["t"], -1), 0, e)
        elif kind == "node":
            pin(k, e["n"])
            for slot, t in enumerate(e["t"]):
                row(k, t, e["n"], slot, e)
        elif kind in ("const", "detach"):
            reason = film.narrator.reason(e)
            for t in e["t"] if kind == "const" else [e["t"]]:
                found["origins"].append([k, t, reason])
                row(k, t, -1, 0, e)
            if reason in BOUNDARIES and e.get("src") and not running:
                marks.setdefault((e["src"][0], e["src"][1]), reason)
        elif kind == "inplace":
            t, before = e["t"], current[e["t"]]
            current[t] = e["v"] if e.get("v") is not None else before
            if e.get("base") is not None:
                current[e["base"][0]] = e["base"][1]
            version[family[t]] = max(version.get(family[t], 0), e["version"])
            written[family[t], e["version"]] = current[t], _place(e)
            new, old = (-1 if e.get(key) is None else e[key] for key in ("n", "old"))
            places = _place(e)
            found["writes"].append(
                [k, t, e["version"], value(before), value(current[t]), old, new, e.get("op", ""), *places]
            )
            if new >= 0 and new not in held and new != old:
                pin(k, new)
                if (copied := trace.rewritten(e)) is not None:
                    pin(k, copied)
                row(k, t, new, 0, e)
        elif kind == "free":
            freed[e["n"]] = k
            for one in held.get(e["n"], []):
                one[4] = k
        elif kind == "hook":
            before, after = (e.get(key) or [] for key in ("before", "after"))
            shown = [[value(v) for v in part] for part in (before, after)]
            on = trace.hooked(e)
            found["hooks"].append([k, e["n"], e["stage"], *shown, -1 if on is None else on])
            if e["stage"] in ("tensor", "pre", "shared"):
                first = e.get("slot", 0)  # of those that may change one gradient only
                found["adjoints"] += [
                    [k, e["n"], first + i, -2, shown[1][i]]
                    for i, v in enumerate(after)
                    if i >= len(before) or not film.same(before[i], v)
                ]
        elif kind == "seed":
            found["adjoints"].append([k, e["n"], e.get("slot", 0), value(e["v"]), value(e["v"])])
        elif kind == "deliver":
            found["adjoints"].append([k, e["to"], e.get("slot", 0), value(e["v"]), value(e["sum"])])
        elif kind == "error" and e["n"] is not None:
            found["failures"] += _failure(film, k, e["n"], family, version, written, freed)
    return {
        **found,
        "advice": _advice(trace),
        "marks": [[*place, reason] for place, reason in marks.items()],
        "jacobians": jacobians(trace),
    }


def jacobians(trace: Trace) -> list[list[Any]]:
    """The first of the lists above."""
    return [
        [
            n,
            j["operand"],
            j["rows"],
            j["columns"],
            j.get("structure", ""),
            rules.renamed(trace, n, j.get("formula", "")),
            j.get("entries"),
        ]
        for n, node in enumerate(trace.nodes)
        for j in node.get("jacobian") or []
    ]


def _advice(trace: Trace) -> list[list[Any]]:
    """What to do about the error that ended the program, if one did."""
    answer = why_stopped(trace)
    if answer is None:
        return []
    said = "" if answer.cause == "failed" else " ".join(answer.sentences)  # which would repeat the error
    return [[len(trace), caption(answer.cause), said, answer.fix]]


def _base(trace: Trace, t: int) -> int:
    """The tensor whose memory `t` shares: views have their base's version counter."""
    while (base := trace.tensors[t].get("base")) is not None:
        t = base
    return t


def _place(e: Record) -> list[int]:
    return list(e["src"][:2]) if e.get("src") else [-1, -1]


def _failure(
    film: Film,
    k: int,
    n: int,
    family: list[int],
    version: dict[int, int],
    written: dict[tuple[int, int], tuple[int, list[int]]],
    freed: dict[int, int],
) -> list[list[Any]]:
    """What was wrong with the saved values of the node that failed: overwritten since, or freed by an earlier pass."""
    node = film.trace.nodes[n]
    made = _place(node)
    found: list[list[Any]] = []
    for _, t, *saved in node.get("saved") or []:
        if t is None:
            continue
        was, now = saved[0] if saved else 0, version.get(family[t], 0)
        if now != was:
            after, place = written.get((family[t], was + 1)) or written[family[t], now]
            then = film.value(film.narrator.value_at(t, was, n))
            one = [k, "version", t, was, now, then, film.value(after), *made, *place]
            found += [one] if one not in found else []
    if not found and n in freed:
        found.append([k, "freed", -1, freed[n], -1, -1, -1, *made, -1, -1])
    return found
