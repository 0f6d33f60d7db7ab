"""What must hold of every trace, whoever recorded it: each number is found again where the next event says it is.

`check(trace)` replays the bookkeeping of each backward pass: what lies in every input buffer, what a node got, what hooks made of
it, what the rule gave, what was delivered, and what `.grad` of each leaf holds. An event that contradicts what came before it
fails with its place. It computes no derivative: that the numbers are right ones is for the tests that have an oracle.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from autograd_lab.tracing import Trace

UNKNOWN = object()


@dataclass
class Pass:
    """The replayed state of one backward pass."""

    expected: dict[int, int] = field(default_factory=dict)
    arrived: Counter[int] = field(default_factory=Counter)
    buffers: dict[tuple[int, int], int | None] = field(default_factory=dict)  # (node, slot) -> value
    node: int | None = None
    incoming: list[int | None] = field(default_factory=list)
    outgoing: list[int | None] | None = None
    sent: int = 0  # how many of them have been delivered or left out
    left: Any = UNKNOWN  # what an accumulator left in `.grad`


class Checker:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.passes: list[Pass] = []
        self.grads: dict[int, Any] = {}  # tensor -> the value of its `.grad`
        self.accumulator = {
            node["tensor"]: n for n, node in enumerate(trace.nodes) if node["tensor"] is not None
        }

    def run(self) -> int:
        """Check every event; returns how many numbers were compared."""
        self.compared = 0
        for k, event in enumerate(self.trace.events):
            self.where = f"event {k} of {len(self.trace)}: {event}\n"
            check = getattr(self, "_" + event["k"], None)
            if check is not None:
                check(event)
        return self.compared

    # -- what is compared -----------------------------------------------------------------------------

    def same(self, a: Any, b: Any, what: str) -> None:
        """Two values of the trace are one, to the last digit."""
        if a is UNKNOWN or b is UNKNOWN:
            return
        self.compared += 1
        if a != b:
            shown = [None if v is None else self.trace.values[v] for v in (a, b)]
            raise AssertionError(f"{self.where}{what}: {shown[0]} is not {shown[1]}")

    def adds_up(self, old: int | None, v: int | None, total: int | None) -> None:
        """`total` is the sum of the other two, None counting as nothing."""
        if old is None or v is None:
            return self.same(total, v if old is None else old, "the sum with nothing")
        assert total is not None, self.where
        parts = [self.trace.values[x] for x in (old, v, total)]
        name = "data" if all("data" in part for part in parts) else "mean"
        if not all(name in part for part in parts) or len({str(p["shape"]) for p in parts}) > 1:
            return None
        size = max((abs(x) for part in parts for x in floats(part[name]) if math.isfinite(x)), default=1.0)
        for a, b, c in zip(*(floats(part[name]) for part in parts), strict=True):
            self.compared += 1
            s = a + b
            close = s == c or (math.isnan(s) and math.isnan(c)) or abs(s - c) <= 1e-5 * max(size, 1e-30)
            assert close or not math.isfinite(s), f"{self.where}{a} + {b} is not {c}"
        return None

    # -- one method for each kind of event --------------------------------------------------------------

    def _grad(self, e: Any) -> None:
        self.grads[e["t"]] = e["v"]

    def _backward(self, e: Any) -> None:
        self.passes.append(Pass())

    def _counts(self, e: Any) -> None:
        self.passes[-1].expected = dict(e["deps"])

    def _seed(self, e: Any) -> None:
        place = e["n"], e["slot"]
        if place in self.passes[-1].buffers:
            return  # of several roots that lead to one place only the numbers are told, not the sum
        self.passes[-1].buffers[place] = e["v"]

    def _deliver(self, e: Any) -> None:
        run = self.passes[-1]
        assert e["n"] == run.node, self.where + "a node sends that is not at work"
        assert e["i"] == run.sent, self.where + "a message is left out"
        run.sent += 1
        assert run.outgoing is not None, self.where + "nothing has been computed"
        self.same(e["v"], run.outgoing[e["i"]], "what is delivered, and what the node sends")
        assert self.trace.nodes[e["n"]]["edges"][e["i"]] == [e["to"], e["slot"]], self.where
        place = e["to"], e["slot"]
        self.same(e["old"], run.buffers.get(place), "what lies in the buffer")
        self.adds_up(e["old"], e["v"], e["sum"])
        run.buffers[place] = e["sum"]
        run.arrived[e["to"]] += 1
        assert (e["arrived"], e["of"]) == (run.arrived[e["to"]], run.expected.get(e["to"])), self.where

    def _pruned(self, e: Any) -> None:
        run = self.passes[-1]
        assert (e["n"], e["i"]) == (run.node, run.sent), self.where
        run.sent += 1

    def _push(self, e: Any) -> None:
        run = self.passes[-1]
        assert run.arrived[e["n"]] == run.expected.get(e["n"], 0), self.where + "ready too early"
        assert e["n"] in e["queue"], self.where

    def _pop(self, e: Any) -> None:
        run = self.passes[-1]
        if run.outgoing is not None:
            assert run.sent == len(self.trace.nodes[run.node]["edges"]), self.where + "not all has been sent"
        run.node, run.incoming, run.outgoing, run.sent = e["n"], list(e["g"]), None, 0
        run.left = UNKNOWN
        for nr, g in enumerate(e["g"]):
            self.same(g, run.buffers.pop((e["n"], nr), None), "what is taken, and what lay in the buffer")

    def _hook(self, e: Any) -> None:
        run = self.passes[-1]
        stage, before, after = e["stage"], e["before"], e["after"]
        assert len(before) == len(after), self.where
        if stage == "shared":
            place = e["n"], e["slot"]
            if e["n"] == run.node:
                self.same(before[0], run.incoming[e["slot"]], "what user code wrote into, at the node")
                run.incoming[e["slot"]] = after[0]
            else:
                self.same(before[0], run.buffers.get(place), "what user code wrote into, in the buffer")
                run.buffers[place] = after[0]
            assert before != after, self.where + "nothing was changed"
            return
        assert e["n"] == run.node, self.where
        if stage == "tensor":
            self.same(before[0], run.incoming[e["slot"]], "what a tensor hook is given")
            run.incoming[e["slot"]] = after[0]
        elif stage == "pre":
            for b, g in zip(before, run.incoming, strict=True):
                self.same(b, g, "what a pre-hook is given")
            run.incoming = list(after)
        elif stage == "post":
            leaf = self.trace.nodes[e["n"]]["tensor"] is not None
            for b, g in zip(before, [] if leaf else run.outgoing or (), strict=True):
                # What a pass does not want a custom Function computes all the same, and its post-hooks see that.
                self.same(b, UNKNOWN if g is None else g, "what a post-hook is given")
            run.outgoing = list(after)
        else:
            self.same(before[0], run.left, "what a post-accumulate hook finds in .grad")
            self.grads[self.trace.nodes[e["n"]]["tensor"]] = after[0]

    def _retain(self, e: Any) -> None:
        run, old = self.passes[-1], self.grads.get(e["t"])
        nr = self.trace.tensors[e["t"]]["output_nr"]
        assert e["n"] == run.node, self.where
        if old is not UNKNOWN:
            self.adds_up(old, run.incoming[nr], e["v"])
        self.grads[e["t"]] = e["v"]

    def _vjp(self, e: Any) -> None:
        run = self.passes[-1]
        assert e["n"] == run.node, self.where
        for g, arrived in zip(e["in"], run.incoming, strict=True):
            self.same(g, arrived, "what the rule is given, and what arrived")
        edges = self.trace.nodes[e["n"]]["edges"]
        assert len(e["out"]) == len(edges), self.where
        run.outgoing = list(e["out"])

    def _accumulate(self, e: Any) -> None:
        run = self.passes[-1]
        assert (e["n"], self.trace.nodes[e["n"]]["tensor"]) == (run.node, e["t"]), self.where
        self.same(e["add"], run.incoming[0], "what is accumulated, and what arrived")
        self.same(e["old"], self.grads.get(e["t"], UNKNOWN), "what .grad held")
        self.adds_up(e["old"], e["add"], e["new"])
        self.grads[e["t"]] = run.left = e["new"]

    def _done(self, e: Any) -> None:
        run = self.passes.pop()
        assert not run.buffers, self.where + "messages are left over"

    def _error(self, e: Any) -> None:
        if e["n"] is not None and self.passes:
            self.passes.pop()


def floats(data: Any) -> list[float]:
    """The numbers of nested lists."""
    if isinstance(data, list):
        return [x for part in data for x in floats(part)]
    return [math.nan if data is None else float(data)]


def check(trace: Trace) -> int:
    """Assert that the events of a trace agree with each other; returns how many numbers were compared."""
    return Checker(trace).run()
