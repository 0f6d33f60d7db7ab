"""Where a zero arose: from an element of a gradient back to the nodes that received something and passed on nothing."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import NamedTuple

from ..trace import Record
from .facts import Facts, Pass
from .numbers import NORMALIZED, SOFTMAX, Column, Numbers

_STEPS = 20_000  # at most this many places are examined, for all elements together


class Birth(NamedTuple):
    """One place at which a zero arose.

    kind    "flat": the derivative is 0. "sum": terms that are not 0 add up to 0. "messages": so do the messages that arrive.
            "underflow": a product of numbers that are not 0 is too small. "hook", "seed", "function": user code gave the zero.
            "whole": the node was sent something and sent only zeros; its derivatives are not known one by one.
    n, i    the node and the operand that got the zero
    k       the event that shows it
    c       the element of the operand, None for all of them
    terms   the terms of a sum
    """

    kind: str
    n: int
    i: int
    k: int
    c: int | None
    terms: tuple[float, ...] = ()


class Factor(NamedTuple):
    """The factor by which one node changed the size of a gradient: its derivative, or the outgoing gradient divided by the incoming one."""

    n: int
    by: float


class Births:
    """The messages of one pass, and how zeros got into them."""

    def __init__(self, facts: Facts, numbers: Numbers, run: Pass) -> None:
        self.facts, self.numbers, self.run = facts, numbers, run
        self.applied: dict[int, tuple[int, Record]] = {}
        self.messages: dict[tuple[int, int], list[tuple[int, Record]]] = defaultdict(list)
        self.seeds: dict[tuple[int, int], tuple[int, Record]] = {}
        self.hooks: dict[int, list[tuple[int, Record]]] = defaultdict(list)
        self.steps = 0
        for k, e in facts.during(run, "vjp", "deliver", "seed", "hook"):
            if e["k"] == "vjp":
                self.applied[e["n"]] = k, e
            elif e["k"] == "deliver":
                self.messages[e["to"], e.get("slot", 0)].append((k, e))
            elif e["k"] == "seed":
                self.seeds[e["n"], e.get("slot", 0)] = k, e
            elif e["stage"] != "post_accumulate":
                self.hooks[e["n"]].append((k, e))

    # -- exact zeros ----------------------------------------------------------------------------------

    def of(self, n: int, slot: int, c: int | None) -> list[Birth]:
        """The births of the zero that node `n` got in element `c` of its gradient `slot`; `c` = None: in all of them."""
        found: list[Birth] = []
        seen = {(n, slot, c)}
        row = [(n, slot, c)]
        for place in row:
            self.steps += 1
            if self.steps > _STEPS:
                break
            for further in self._look(*place, found):
                if further not in seen:
                    seen.add(further)
                    row.append(further)
        return found

    def _look(
        self, n: int, slot: int, c: int | None, found: list[Birth]
    ) -> list[tuple[int, int, int | None]]:
        """Births of the zero that arrived at one place, and the places further back that it came from."""
        hooked = self._hooked(n, slot, c, ("tensor", "pre"))
        if hooked is not None:
            found.append(hooked)
            return []
        arrived = self.messages.get((n, slot), [])
        alive = [(k, e) for k, e in arrived if not self._is_zero(e["v"], c)]
        if alive:
            terms = tuple(self._at(e["v"], c) for _, e in alive)
            found.append(Birth("messages", n, slot, alive[-1][0], c, terms))
            return []
        if (n, slot) in self.seeds and not arrived:
            found.append(Birth("seed", n, slot, self.seeds[n, slot][0], c))
            return []
        further: list[tuple[int, int, int | None]] = []
        for _, e in arrived:
            further += self._sent(e["n"], e["i"], c, found)
        return further

    def _sent(self, n: int, i: int, c: int | None, found: list[Birth]) -> list[tuple[int, int, int | None]]:
        """The reason why node `n` sent a zero to its operand `i`."""
        if n not in self.applied:
            return []
        k, e = self.applied[n]
        hooked = self._hooked(n, i, c, ("post",))
        if hooked is not None:
            found.append(hooked)
            return []
        facts = self.facts
        came = [s for s, v in enumerate(e["in"]) if v is not None]
        if all(self._all_zero(e["in"][s]) for s in came):
            empty = any(self.numbers.empty(t) for t in facts.trace.nodes[n]["outputs"])
            if empty and i < len(e["out"]) and facts.numbers(e["out"][i]):
                found.append(Birth("empty", n, i, k, c))
                return []
            return [(n, s, None) for s in came]
        if facts.trace.nodes[n]["kind"] == "function":
            found.append(Birth("function", n, i, k, c))
            return []
        sent = e["out"][i] if i < len(e["out"]) else None
        if self._too_small(n, i, e, came):
            found.append(Birth("underflow", n, i, k, None))
            return []
        if c is None:
            numbers = facts.numbers(sent) if self.numbers.array(sent) is not None else []
            if not numbers or self.numbers.column(n, i, 0, k) is None:
                found.append(Birth("whole", n, i, k, None))
                return []
            return [p for j in range(len(numbers)) for p in self._element(n, i, j, k, e, came, found)]
        return self._element(n, i, c, k, e, came, found)

    def _too_small(self, n: int, i: int, e: Record, came: list[int]) -> bool:
        """Whether every product of the incoming gradient and a factor of the node underflows, though neither is 0."""
        if (
            came != [0]
            or i >= len(e["out"])
            or not self.facts.zero(e["out"][i])
            or self.numbers.array(e["in"][0]) is not None
        ):
            return False
        factor = self.numbers.factor(n, i)
        product = self.numbers.largest(e["in"][0]) * factor
        return 0 < product < self.numbers.limits(e["out"][i]).tiny / 2

    def _element(
        self, n: int, i: int, c: int, k: int, e: Record, came: list[int], found: list[Birth]
    ) -> list[tuple[int, int, int | None]]:
        column = self.numbers.column(n, i, c, k) if came == [0] else None
        g = self.numbers.flat(e["in"][0]) if column is not None else None
        if column is None or g is None:
            found.append(Birth("whole", n, i, k, c))
            return []
        if not column:
            found.append(Birth("flat", n, i, k, c))
            return []
        terms = tuple(x * g[r] for r, x in column if g[r] != 0)
        if not terms:
            if any(
                g[r] != 0 for r in self._softmax_row(n, c, len(g))
            ):  # all of them depend on c, but too weakly
                found.append(Birth("flat", n, i, k, c))
                return []
            return [(n, 0, r) for r, _ in column]
        tiny = self.numbers.limits(e["out"][i]).tiny
        if max(map(abs, terms)) < tiny:
            found.append(Birth("underflow", n, i, k, c, terms))
        elif len(terms) > 1 and cancels(sum(terms), terms, 1e-4):
            found.append(Birth("sum", n, i, k, c, terms))
        else:
            found.append(Birth("whole", n, i, k, c))
        return []

    def _softmax_row(self, n: int, c: int, size: int) -> list[int]:
        """The elements that a softmax normalizes together with element c; none if node n is not a softmax."""
        node = self.facts.trace.nodes[n]
        shape = self.facts.trace.tensors[node["outputs"][0]]["shape"]
        dim = (node.get("params") or {}).get("dim")
        if self.numbers.op(n) not in SOFTMAX or not shape or not isinstance(dim, int) or prod(shape) != size:
            return []
        step = prod(shape[dim % len(shape) + 1 :])
        width = shape[dim]
        first = c - c // step % width * step
        return [first + j * step for j in range(width)]

    def _hooked(self, n: int, slot: int, c: int | None, stages: tuple[str, ...]) -> Birth | None:
        for k, e in self.hooks.get(n, ()):
            if e["stage"] not in stages:
                continue
            j = slot if len(e["before"]) > slot else 0
            before, after = e["before"][j], e["after"][j] if j < len(e["after"]) else None
            if before is None or after is None:
                continue
            if not self._is_zero(before, c) and self._is_zero(after, c):
                return Birth("hook", n, slot, k, c)
        return None

    def _all_zero(self, v: int) -> bool:
        return self.facts.zero(v)

    def _is_zero(self, v: int | None, c: int | None) -> bool:
        if v is None:
            return True
        numbers = self.numbers.flat(v)
        if c is None or numbers is None:
            return self.facts.zero(v)
        return c >= len(numbers) or bool(numbers[c] == 0)

    def _at(self, v: int | None, c: int | None) -> float:
        numbers = self.numbers.flat(v)
        return (
            self.numbers.largest(v)
            if c is None or numbers is None or c >= len(numbers)
            else float(numbers[c])
        )

    # -- small numbers --------------------------------------------------------------------------------

    def followed(
        self, n: int, slot: int, c: int | None, birth: bool = True
    ) -> tuple[Birth | None, list[Factor]]:
        """Follow the largest terms of a nonzero number back: the factors of its size.

        Returns the first sum on the way that only rounding keeps from being 0 (None if there is none, or `birth` is False), and by how
        much each node before that multiplied the gradient.
        """
        factors: list[Factor] = []
        for _ in range(_STEPS):
            arrived = [(k, e) for k, e in self.messages.get((n, slot), ()) if e["v"] is not None]
            if not arrived:
                break
            terms = tuple(self._at(e["v"], c) for _, e in arrived)
            last = arrived[-1][1]
            total, limits = self._at(last["sum"], c), self.numbers.limits(last["sum"])
            if birth and len(terms) > 1 and cancels(total, terms, 16 * limits.eps):
                return Birth("messages", n, slot, arrived[-1][0], c, terms), factors
            _, e = max(zip(map(abs, terms), (e for _, e in arrived), strict=True), key=lambda pair: pair[0])
            n, i = e["n"], e["i"]
            if n not in self.applied:
                break
            k, vjp = self.applied[n]
            came = [s for s, v in enumerate(vjp["in"]) if v is not None]
            went = abs(self._at(e["v"], c))
            column = self.numbers.column(n, i, c, k) if came == [0] and c is not None else None
            g = self.numbers.flat(vjp["in"][0]) if column else None
            left = went <= 1e-5 * self.numbers.largest(vjp["in"][0])
            if birth and left and i == 0 and self.numbers.op(n) in NORMALIZED and self.even(vjp["in"][0]):
                return Birth("whole", n, i, k, c), factors
            if column and g is not None:
                products = [(abs(x * g[r]), r) for r, x in column]
                row: Column = [(r, x) for r, x in column if g[r] != 0]
                parts = tuple(x * g[r] for r, x in row)
                if birth and len(parts) > 1 and cancels(went, parts, 16 * len(parts) * limits.eps):
                    return Birth("sum", n, i, k, c, parts), factors
                _, c = max(products)
                came_in = abs(float(g[c]))
                slope = abs(column[0][1]) if len(column) == 1 else went / came_in if came_in else 1.0
                factors.append(Factor(n, slope))
                slot = 0
                continue
            slot = max(came, key=lambda s: self.numbers.largest(vjp["in"][s]), default=0)
            biggest = self.numbers.largest(vjp["in"][slot])
            sent = self.numbers.largest(e["v"])
            rounding = sent <= 1e-5 * biggest
            if birth and rounding and (self.even(vjp["in"][slot]) or self.numbers.shared(n, i) > 1):
                return Birth("whole", n, i, k, None), factors
            factors.append(Factor(n, (went if c is not None else sent) / biggest if biggest else 1.0))
            c = None
        return None, factors

    def even(self, v: int | None) -> bool:
        """Whether all numbers of a value are equal."""
        numbers = self.facts.numbers(v)
        return bool(numbers) and max(numbers) - min(numbers) <= 1e-6 * max(map(abs, numbers))


def cancels(total: float, terms: tuple[float, ...], rounding: float) -> bool:
    """Whether terms add up to no more than what rounding leaves of them."""
    return abs(total) <= rounding * sum(map(abs, terms))


__all__ = ["Birth", "Births", "Factor", "cancels"]
