"""Whether two traces tell the same story, event by event, save for differences that are listed one by one.

`compare(native, real, differences)` walks both traces together. Nodes and tensors have numbers of their own in each trace: the first
time two of them meet they are taken for the same, and have to be so from then on. A `Difference` in the list has to be found, so a
list cannot hold more than what there is.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from autograd_lab.tracing import Trace
from autograd_lab.tracing.rules import is_number, operands


@dataclass(frozen=True)
class Only:
    """Events that only one of the traces has: `times` of this kind, about a node, an operation or a tensor (its name).

    With `line`, those of a line that holds this text; the first `after` of such are in both traces.
    """

    side: str
    kind: str
    about: str = ""
    times: int = 1
    line: str = ""
    after: int = 0


@dataclass(frozen=True)
class Field:
    """A field that is not the same: of which kind of event, about which node or operation, and what it is on either side."""

    kind: str
    about: str
    field: str
    native: Any
    real: Any


def about(trace: Trace, event: dict[str, Any]) -> str:
    """What an event is about, in a word."""
    if event.get("n") is not None:
        return str(trace.nodes[event["n"]]["name"])
    if "op" in event:
        return str(event["op"])
    t = event.get("t")
    if isinstance(t, int):
        return str(trace.tensors[t]["name"])
    return str(event.get("grad", ""))


class Comparison:
    def __init__(self, native: Trace, real: Trace, differences: list[Only | Field]) -> None:
        self.native, self.real = native, real
        self.left = {
            side: {d: d.times for d in differences if isinstance(d, Only) and d.side == side}
            for side in ("native", "real")
        }
        self.fields = [d for d in differences if isinstance(d, Field)]
        self.found: set[Field] = set()
        self.nodes: dict[int, int] = {}
        self.nodes_back: dict[int, int] = {}
        self.tensors: dict[int, int] = {}
        self.again: set[int] = set()  # native tensors that are new where the real one is known already
        self.k = 0

    def run(self) -> None:
        native, real = self.kept("native"), self.kept("real")
        for (i, ours), (j, theirs) in zip(native, real, strict=False):
            self.k = i
            self.where = f"event {i} of {len(self.native)}: {self.text(self.native, ours)}\n and {j}: {self.text(self.real, theirs)}\n"
            assert ours["k"] == theirs["k"], self.where
            self.event(ours, theirs)
        rest = native[len(real) :] + real[len(native) :]
        assert not rest, f"only one of the traces goes on: {rest[0]}"
        for side, counts in self.left.items():
            assert not any(counts.values()), f"not found in the {side} trace: {counts}"
        assert self.found == set(self.fields), f"no such difference: {set(self.fields) - self.found}"
        order = [sorted((n for n in nodes), key=lambda n: t.nodes[n]["seq"]) for t, nodes in
                 ((self.native, self.made(self.nodes)), (self.real, self.made(self.nodes).values()))]  # fmt: skip
        assert [self.nodes[n] for n in order[0]] == order[1], "the nodes were made in another order"

    def made(self, nodes: dict[int, int]) -> dict[int, int]:
        return {n: m for n, m in nodes.items() if self.native.nodes[n]["kind"] != "accumulate"}

    def kept(self, side: str) -> list[tuple[int, dict[str, Any]]]:
        """The events of one side without those that only it has."""
        trace, counts = getattr(self, side), self.left[side]
        kept = []
        seen: Counter[Only] = Counter()
        for k, event in enumerate(trace.events):
            for d, left in counts.items():
                if (
                    left
                    and (d.kind, d.about) == (event["k"], about(trace, event))
                    and d.line in self.text_of(trace, event)
                ):
                    seen[d] += 1
                    if seen[d] <= d.after:
                        continue
                    counts[d] -= 1
                    if event["k"] == "leaf" and side == "native":
                        self.again.add(event["t"])
                    break
            else:
                kept.append((k, event))
        return kept

    @staticmethod
    def text(trace: Trace, event: dict[str, Any]) -> str:
        return f"{about(trace, event)} {event}"

    def differs(self, event: dict[str, Any], field: str, ours: Any, theirs: Any) -> bool:
        """Whether a field that is not the same is one that is listed."""
        for d in self.fields:
            if (d.kind, d.about, d.field) == (event["k"], about(self.native, event), field) and (
                (ours, theirs) == (d.native, d.real)
            ):
                self.found.add(d)
                return True
        return False

    def event(self, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
        theirs = {field: x for field, x in theirs.items() if field != "library"}
        assert ours.keys() == theirs.keys(), self.where
        for field in sorted(ours, key=lambda f: f not in ("n", "to", "t", "from")):
            a, b = ours[field], theirs[field]
            kind = ours["k"]
            at = self.where + field
            if field == "src":
                assert self.line(self.native, a) == self.line(self.real, b), at
            elif field in ("n", "to") or (field == "old" and kind == "inplace"):
                if isinstance(a, list):
                    assert a[1] == b[1], at
                    a, b = a[0], b[0]
                self.node(a, b, at)
            elif field == "base":
                assert (a is None) == (b is None), at
                if a is not None:
                    self.tensor(a[0], b[0], at)
                    self.value(a[1], b[1], at)
            elif field in ("roots", "queue"):
                assert len(a) == len(b), at
                for x, y in zip(a, b, strict=True):
                    self.node(x, y, at)
            elif field == "deps":
                assert len(a) == len(b), at
                for (x, m), (y, n) in zip(a, b, strict=True):
                    assert m == n, at
                    self.node(x, y, at)
            elif field in ("t", "from", "of", "inputs") or (
                field == "in" and kind in ("const", "inplace", "refused")
            ):
                if a is None or b is None:
                    assert a is b, at
                    continue
                a, b = (x if isinstance(x, list) else [x] for x in (a, b))
                assert len(a) == len(b), at
                for x, y in zip(a, b, strict=True):
                    self.tensor(x, y, at)
            elif field == "saved":
                self.saved(ours, a, b, at)
            elif field in ("v", "old", "sum", "add", "new"):
                self.value(a, b, at)
            elif field in ("g", "in", "out", "before", "after"):
                assert len(a) == len(b), at
                for x, y in zip(a, b, strict=True):
                    self.value(x, y, at)
            elif a != b:
                assert self.differs(ours, field, a, b), at
        if ours["k"] == "node" or (ours["k"] == "inplace" and ours["n"] is not None):
            self.contents(ours, self.native.nodes[ours["n"]], self.real.nodes[theirs["n"]])
            if ours["k"] == "inplace":
                copied = [t.rewritten(e) for t, e in ((self.native, ours), (self.real, theirs))]
                assert (copied[0] is None) == (copied[1] is None), at
                if copied[0] is not None:
                    self.contents(ours, self.native.nodes[copied[0]], self.real.nodes[copied[1]])

    def saved(self, event: dict[str, Any], a: list[Any], b: list[Any], at: str) -> None:
        if event["k"] == "free":
            assert a == b or self.differs(event, "saved", tuple(a), tuple(b)), at
            return
        names = [tuple(name for name, *_ in x) for x in (a, b)]
        if names[0] != names[1]:
            assert self.differs(event, "saved", *names), at
            common = set(names[0]) & set(names[1])
            a, b = ([s for s in x if s[0] in common] for x in (a, b))
        for (_, t, version), (_, u, other) in zip(a, b, strict=True):
            assert version == other, at
            self.tensor(t, u, at)

    def contents(self, event: dict[str, Any], a: dict[str, Any], b: dict[str, Any]) -> None:
        """What is written down about the node of an event."""
        at = f"{self.where}{a}\n{b}\n"
        for field in ("name", "op", "kind", "math", "vjp", "made_in", "scope"):
            assert a[field] == b[field], at + field
        self.jacobian(a.get("jacobian", []), b.get("jacobian", []), at)
        for field in ("inputs", "outputs"):
            assert len(a[field]) == len(b[field]), at + field
            for t, u in zip(a[field], b[field], strict=True):
                self.tensor(t, u, at + field)
        assert len(a["edges"]) == len(b["edges"]), at
        for x, y in zip(a["edges"], b["edges"], strict=True):
            assert (x is None) == (y is None), at
            if x is not None:
                assert x[1] == y[1], at
                self.node(x[0], y[0], at)
        if a["params"] != b["params"]:
            mine = {k: v for k, v in a["params"].items() if b["params"].get(k, self) != v}
            its = {k: v for k, v in b["params"].items() if a["params"].get(k, self) != v}
            assert self.differs(event, "params", tuple(mine), tuple(its)), f"{at}{mine} {its}"

    @staticmethod
    def jacobian(a: list[Any], b: list[Any], at: str) -> None:
        assert len(a) == len(b), at
        for x, y in zip(a, b, strict=True):
            assert x.keys() == y.keys(), at
            for field in x:
                same = close(x[field], y[field], scale({"data": x["entries"]}) if field == "entries" else 1.0)
                assert same, f"{at} {field} {x} {y}"

    def node(self, a: int | None, b: int | None, at: str) -> None:
        assert (a is None) == (b is None), at
        if a is None or b is None:
            return
        assert self.nodes.setdefault(a, b) == b, at
        assert self.nodes_back.setdefault(b, a) == a, at
        x, y = self.native.nodes[a], self.real.nodes[b]
        assert x["name"] == y["name"], at
        assert given(x) == given(y), at

    def tensor(self, a: int, b: int, at: str) -> None:
        known = self.tensors.setdefault(a, b)
        assert known == b, at
        x, y = self.native.tensors[a], self.real.tensors[b]
        if a in self.again:
            assert x["shape"] == y["shape"], at
            return self.value(x["value"], y["value"], at)
        for field in ("name", "shape", "dtype", "requires_grad", "leaf", "output_nr"):
            if field == "dtype" and is_number(x):
                continue  # 3 written into a tensor of floats is 3.0 here, and a whole number until it is used there
            assert x[field] == y[field], f"{at} {field}: {x} {y}"
        assert (x["base"] is None) == (y["base"] is None), at
        if is_number(x):
            assert float(self.native.values[x["value"]]["data"]) == float(
                self.real.values[y["value"]]["data"]
            ), at
        else:
            self.value(x["value"], y["value"], at)
        return None

    def value(self, a: int | None, b: int | None, at: str) -> None:
        assert (a is None) == (b is None), at
        if a is None or b is None:
            return
        x, y = self.native.values[a], self.real.values[b]
        assert x.keys() == y.keys(), at
        for field in x:
            assert close(x[field], y[field], scale(x)), f"{at} {field}: {x} {y}"

    @staticmethod
    def text_of(trace: Trace, event: dict[str, Any]) -> str:
        """The line an event came from."""
        src = event.get("src")
        return "" if src is None else str(trace.sources[src[0]]["lines"].get(str(src[1]), ""))

    @staticmethod
    def line(trace: Trace, src: list[int] | None) -> Any:
        return (
            None
            if src is None
            else (trace.sources[src[0]]["name"], src[1], trace.sources[src[0]]["lines"].get(str(src[1])))
        )


def scale(value: dict[str, Any]) -> float:
    """The size of the largest number in a value, or 1: sums of large numbers leave errors in small ones."""
    numbers = flat([value[field] for field in ("data", "corner", "min", "max") if field in value])
    return max([1.0, *(abs(x) for x in numbers if isinstance(x, int | float) and math.isfinite(x))])


def flat(x: Any) -> list[Any]:
    return [z for y in x for z in flat(y)] if isinstance(x, list) else [x]


def given(node: dict[str, Any]) -> str:
    """Which operands of a node were given: "x.x" if the second of three was not; those at the end are left out."""
    return "".join("." if t is None else "x" for t in operands(node)).rstrip(".")


def close(a: Any, b: Any, size: float) -> bool:
    """Numbers alike to five digits or to 1e-6 of the largest; lists of such; everything else equal."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y, size) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=2e-5, abs_tol=1e-6 * size)
    return bool(a == b)


def compare(native: Trace, real: Trace, differences: list[Only | Field]) -> None:
    """Assert that the traces agree but for these differences."""
    Comparison(native, real, differences).run()
