"""What a pass costs: the memory that saved values hold after each event of a trace, and what each node holds of it.

A node saves what its rule will need, and saved values keep memory alive: of views and of what shares memory, the whole memory, once, however
many nodes look at it. What the program made itself (parameters, data) lives anyway and is counted apart; the rest lives only for
the backward pass.

A trace does not tell when the program lets go of a graph that no pass has freed: it counts to the end, and the text says so where
something does. The recorder could not tell: its notes refer to tensors, nodes and calls of functions, and so keep alive what they refer to.
Of a function, another run that is not recorded tells (dropped.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import Any

from .narrate import Narrator
from .trace import Record, Trace

ITEM_SIZES = {
    "float64": 8, "int64": 8, "uint64": 8, "complex64": 8, "complex128": 16, "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2,
    "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
UNITS = "bytes", "kB", "MB", "GB", "TB"
_MOST = 12  # lines of the table in the text
DROPPED = "What no backward pass has freed counts to the end, even if the program lets go of it before."
"""Said where something is held at the end; assets/cost.js has the same."""


@dataclass(frozen=True)
class NodeCost:
    """What one node holds.

    n        its number in the trace
    label    its name in sentences
    line     (source, line) of the operation, None where unknown
    bytes    of values computed for this graph alone: the most at one time
    leaves   of what the program made itself, which lives anyway: the most at one time
    periods  when it holds values computed for the graph, or, if it never does, what lives anyway: (the step at which that begins, the
             step at which it has let go of all of it, None if it never does). More than one if a checkpoint computes them for each pass
    """

    n: int
    label: str
    line: tuple[int, int] | None
    bytes: int
    leaves: int
    periods: tuple[tuple[int, int | None], ...]

    @property
    def since(self) -> int:
        """The step at which it begins to hold them for the first time."""
        return self.periods[0][0]

    @property
    def until(self) -> int | None:
        """The step at which it has let go of them for good, None if it never does."""
        return self.periods[-1][1]

    def holds(self, k: int) -> bool:
        """Whether it holds them after k events."""
        return any(since <= k and (until is None or k < until) for since, until in self.periods)


@dataclass(frozen=True, repr=False)
class Cost:
    """The cost of a trace. `held[k]` are the bytes that saved values hold after k events, `leaves[k]` those of the program's own tensors.

    `nodes` are the nodes that hold something, the largest first.
    """

    trace: Trace = field(compare=False)
    held: list[int]
    leaves: list[int]
    nodes: list[NodeCost]
    go: Callable[[], object] | None = field(default=None, compare=False)
    followed: bool = False
    """Whether another run has shown what the program lets go of."""

    def times(self) -> Times:
        """How long each node takes, measured now, in runs that are not recorded.

        Raises RuntimeError if this is the cost of a mere trace, which cannot run; ValueError if the function does something else each time.
        """
        from .timing import timed

        if self.go is None:
            raise RuntimeError(
                "a trace cannot run again, so it has no times. What to do: lab.cost(fn, *inputs).times()"
            )
        return Times(self.trace, timed(self.trace, self.go))

    @property
    def peak(self) -> int:
        """The most bytes that were held at once."""
        return max(self.held)

    @property
    def peak_at(self) -> int:
        """The first step at which as many were held."""
        return self.held.index(self.peak)

    def __repr__(self) -> str:
        return "\n".join([*self._summary(), *self._table()])

    def _summary(self) -> list[str]:
        """A sentence a line: a notebook breaks longer ones in the middle of a word."""
        steps = len(self.trace)
        if not self.peak and not self.nodes:
            return [
                f"Saved values hold nothing: at none of the {steps} steps does a node keep a value for a backward pass."
            ]
        line = self._line(self.peak_at)
        text = f"Saved values hold at most {size(self.peak)}, at step {self.peak_at} of {steps}{line and ': ' + line}; "
        text += f"{size(self.held[-1])} at the end."
        found = [text, DROPPED] if self.held[-1] and not self.followed else [text]
        own = max(self.leaves)
        if own:
            found.append(
                f"In addition, they hold {size(own)} of the program's own tensors, which live anyway."
            )
        return found

    def _table(self) -> list[str]:
        if not self.nodes:
            return []
        rows: list[tuple[str, ...]] = [
            ("node", "line", "holds", "of the program's own", "from step", "to step")
        ]
        for one in self.nodes[:_MOST]:
            begins, ends = zip(*one.periods, strict=True)
            rows.append(
                (
                    one.label,
                    str(one.line[1]) if one.line else "",
                    size(one.bytes),
                    size(one.leaves),
                    ", ".join(map(str, begins)),
                    ", ".join("the end" if k is None else str(k) for k in ends),
                )
            )
        return _columns(rows, len(self.nodes) - _MOST)

    def _line(self, k: int) -> str:
        """The line of the program that made step k: "line 4: h = torch.tanh(x)"."""
        for e in reversed(self.trace.events[:k]):
            src = e.get("src") or (self.trace.nodes[e["n"]].get("src") if e.get("n") is not None else None)
            if src:
                text = self.trace.sources[src[0]]["lines"].get(str(src[1]), "").strip()
                return f"line {src[1]}" + (f": {text}" if text else "")
        return ""


@dataclass(frozen=True, repr=False)
class Times:
    """How long the nodes of a trace take. `seconds` has {node: (of its operation, of its rule)}, the shortest of several runs."""

    trace: Trace
    seconds: dict[int, tuple[float, float]]

    def __repr__(self) -> str:
        names = Narrator(self.trace).nodes
        longest = sorted(self.seconds.items(), key=lambda one: (-sum(one[1]), one[0]))
        rows: list[tuple[str, ...]] = [("node", "forward", "backward")]
        rows += [(names[n], *(f"{x * 1e6:.1f} us" for x in pair)) for n, pair in longest[:_MOST]]
        return "\n".join(_columns(rows, len(longest) - _MOST))


def _columns(rows: list[tuple[str, ...]], more: int) -> list[str]:
    """Lines of text, with `more` rows left out."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = [
        [cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        for row in rows
    ]
    return ["  ".join(cells).rstrip() for cells in padded] + ([f"and {more} more"] if more > 0 else [])


def size(n: float) -> str:
    """A number of bytes for people, as in the stepper: "96 bytes", "1.5 kB"."""
    unit = 0
    while n >= 1000 and unit < len(UNITS) - 1:
        n, unit = n / 1000, unit + 1
    return f"{n:.2g} {UNITS[unit]}" if n < 10 and unit else f"{n:.0f} {UNITS[unit]}"


def cost(trace: Trace, go: Callable[[], object] | None = None) -> Cost:
    """The cost of a trace, in one run through its events.

    go   runs its program again, to measure times; and, if something is held to the end, to see what the program lets go of before:
         not if it writes into what it did not make, as a step of an optimizer does, for one step more would be seen
    """
    found = _cost(trace, go)
    if go is None or not (found.held[-1] or found.leaves[-1]) or _changes_what_stays(trace):
        return found
    from .dropped import dropped

    return _cost(trace, go, dropped(trace, go))


def _cost(trace: Trace, go: Callable[[], object] | None, seen: dict[int, int] | None = None) -> Cost:
    """The same; `seen` is when the program lets go of nodes, if that is known."""
    ends = seen or {}
    homes = _homes(trace)
    own = _own(trace, homes)
    sizes: dict[Any, int] = {}
    changes = {True: [0] * (len(trace) + 1), False: [0] * (len(trace) + 1)}
    by_home: dict[Any, list[tuple[int, int]]] = {}
    per_node: dict[int, dict[Any, list[tuple[int, int]]]] = {}
    end = len(trace) + 1
    for n, home, nbytes, since, until in _spans(trace, homes):
        until = min(end if until is None else until, ends.get(n, end))
        if not sizes.setdefault(home, nbytes) or since >= end:
            continue
        by_home.setdefault(home, []).append((since, until))
        per_node.setdefault(n, {}).setdefault(home, []).append((since, until))
    for home, periods in by_home.items():
        change = changes[home in own]
        for since, until in _union(periods):
            change[since] += sizes[home]
            if until < end:
                change[until] -= sizes[home]
    names = Narrator(trace).nodes
    nodes = []
    for n, held in per_node.items():
        computed = {home: spans for home, spans in held.items() if home not in own}
        leaves = {home: spans for home, spans in held.items() if home in own}
        when = _union([span for spans in (computed or leaves).values() for span in spans])
        src = trace.nodes[n].get("src")
        nodes.append(
            NodeCost(
                n,
                names[n],
                (src[0], src[1]) if src else None,
                _most(computed, sizes),
                _most(leaves, sizes),
                tuple((since, None if until == end else until) for since, until in when),
            )
        )
    nodes.sort(key=lambda one: (-one.bytes, -one.leaves, one.n))
    return Cost(
        trace, list(accumulate(changes[False])), list(accumulate(changes[True])), nodes, go, seen is not None
    )


def _homes(trace: Trace) -> list[int]:
    """For each tensor the one whose memory it is in: its base, what it was detached from, or what it shares memory with."""
    cut_off = {e["t"]: e["from"] for e in trace.events if e["k"] == "detach" and e.get("how") != "deepcopy"}
    homes: list[int] = []
    for t, tensor in enumerate(trace.tensors):
        above = [
            x for x in (tensor.get("base"), cut_off.get(t), tensor.get("shares")) if x is not None and x < t
        ]
        homes.append(homes[above[0]] if above else t)
    return homes


def _own(trace: Trace, homes: list[int]) -> set[Any]:
    """The tensors that the program made itself: they live without the graph."""
    computed: set[int] = set()
    depth = 0
    for e in trace.events:
        if e["k"] == "node" or (e["k"] == "const" and e.get("why") != "copy"):
            computed.update(homes[t] for t in e["t"] if trace.tensors[t].get("base") is None)
        elif e["k"] == "leaf" and depth and not trace.tensors[e["t"]]["name"]:
            computed.add(e["t"])  # of the engine: where a pass with create_graph begins, for instance
        depth = max(0, depth + (e["k"] == "backward") - (e["k"] in ("done", "error")))
    return {t for t in set(homes) if trace.tensors[t]["leaf"] and t not in computed}


def _changes_what_stays(trace: Trace) -> bool:
    """Whether the program writes into its own parameters, buffers or data."""
    homes = _homes(trace)
    own = _own(trace, homes)
    return any(e["k"] == "idle" or (e["k"] == "inplace" and homes[e["t"]] in own) for e in trace.events)


def _spans(trace: Trace, homes: list[int]) -> Iterator[tuple[int, Any, int, int, int | None]]:
    """What nodes hold: (node, what identifies the memory, its bytes, from which step, until which or None)."""
    since: dict[int, int] = {}
    until: dict[int, int] = {}
    for k, e in enumerate(trace.events, 1):
        if e["k"] == "node":
            since[e["n"]] = k
        elif e["k"] == "inplace":
            for n in (e.get("n"), trace.rewritten(e)):
                if n is not None and n != e.get("old"):
                    since.setdefault(n, k)
        elif e["k"] == "free":
            until[e["n"]] = k
    for n, k in since.items():
        for _, t, *_ in trace.nodes[n].get("saved") or ():
            if t is not None:
                yield n, homes[t], _bytes(trace.tensors[homes[t]]), k, until.get(n)
        for i, (t, nbytes, first, last) in enumerate(trace.nodes[n].get("holds") or ()):
            yield n, (n, i) if t is None else homes[t], nbytes, first, last


def _bytes(tensor: Record) -> int:
    """The bytes of a tensor's numbers; none for a number of the program's text, which is no tensor."""
    name = tensor["name"]
    if name[:1] in (*"-.0123456789",) or name in ("inf", "nan"):
        return 0
    return prod(tensor["shape"]) * ITEM_SIZES.get(tensor["dtype"], 4)


def _union(periods: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Periods without overlap that cover the same steps."""
    start, end = None, -1
    for since, until in sorted(periods):
        if start is None or since > end:
            if start is not None:
                yield start, end
            start, end = since, until
        else:
            end = max(end, until)
    if start is not None:
        yield start, end


def _most(held: dict[Any, list[tuple[int, int]]], sizes: dict[Any, int]) -> int:
    """The most bytes at one time, of pieces of memory that are held in these periods."""
    changes: dict[int, int] = {}
    for home, periods in held.items():
        for since, until in _union(periods):
            changes[since] = changes.get(since, 0) + sizes[home]
            changes[until] = changes.get(until, 0) - sizes[home]
    return max(accumulate(changes[k] for k in sorted(changes)), default=0)
