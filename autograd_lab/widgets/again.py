"""The film of a run from the film of another one that took the same path: only its numbers are made anew.

As long as a slider changes nothing but numbers, the film's steps, timelines, boxes and lines stay, and so do all places in its tables:
what stands there is put in. Both traces refer to their values by `Slot`: what is equal by chance has two places.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from autograd_lab.tracing import rules
from autograd_lab.tracing.builder import Slot
from autograd_lab.tracing.trace import Record, Trace

from .curves import curves
from .details import jacobians

Film = Any
"""frames.Film, which needs this file."""

#: The fields of events that refer to a value, and those that are lists of such.
_ONE = {
    "inplace": ("v",), "read": ("v",), "grad": ("v",), "seed": ("v",), "deliver": ("v", "old", "sum"), "accumulate": ("old", "add", "new"),
    "retain": ("v",),
}  # fmt: skip
_SEVERAL = {"pop": ("g",), "hook": ("before", "after"), "vjp": ("in", "out")}
_OF_TENSORS = ("value", "grad")
_OF_NODES = ("seq", "jacobian")  # nothing of a film hangs on the one, the other is put in


class _Differs(Exception):  # noqa: N818 - no error
    """The two are not alike."""


Slots = dict[int, int]


def same_path(old: Trace, new: Trace) -> Slots | None:
    """What stands in each slot of `new`, if it differs from `old` in nothing but numbers; else None."""
    parts = ("tensors", "nodes", "events")
    if (
        any(len(getattr(old, part)) != len(getattr(new, part)) for part in parts)
        or old.sources != new.sources
    ):
        return None
    slots: Slots = {}
    try:
        for a, b in zip(old.tensors, new.tensors, strict=True):
            _alike(a, b, _OF_TENSORS)
            for key in _OF_TENSORS:
                _meet(slots, a.get(key), b.get(key))
        for a, b in zip(old.nodes, new.nodes, strict=True):
            _alike(a, b, _OF_NODES)
            if "compiled" in a:  # its lines are not compared
                return None
        for a, b in zip(old.events, new.events, strict=True):
            _events(slots, a, b)
    except _Differs:
        return None
    return slots if rules.names_of(old).hold_for(new) else None


def _events(slots: Slots, a: Record, b: Record) -> None:
    kind = a["k"]
    one, several = _ONE.get(kind, ()), _SEVERAL.get(kind, ())
    if kind == "error":  # what is said about it may have numbers in it
        raise _Differs
    if a != b:
        _alike(a, b, (*one, *several, "base") if kind == "inplace" else (*one, *several))
    for key in one:
        _meet(slots, a.get(key), b.get(key))
    for key in several:
        x, y = a.get(key) or (), b.get(key) or ()
        if len(x) != len(y):
            raise _Differs
        for v, w in zip(x, y, strict=True):
            _meet(slots, v, w)
    if kind == "inplace":
        x, y = a.get("base") or (None, None), b.get("base") or (None, None)
        if x[0] != y[0]:
            raise _Differs
        _meet(slots, x[1], y[1])


def _meet(slots: Slots, a: int | None, b: int | None) -> None:
    """`b` stands where `a` stood."""
    if a is None and b is None:
        return
    if type(a) is not Slot or type(b) is not Slot or a.slot != b.slot:
        raise _Differs
    slots[b.slot] = b


def _alike(a: Record, b: Record, but: Collection[str]) -> None:
    if a != b and (a.keys() != b.keys() or any(a[key] != b[key] for key in a if key not in but)):
        raise _Differs


def refilled(film: Film, trace: Trace, slots: Slots) -> Record | None:
    """The document of another run of the same path; None if it says something else, too.

    film    a film that was made as a whole
    trace   of the run, with its `slots`, as `same_path` gives them
    """  # fmt: skip
    if any((slots[a] == slots[b]) != same for a, b, same in film.compared):
        return None
    now, doc = film.on(trace), film.doc
    for slot, number in film.places.items():
        v = slots[slot]
        now.values.items[number], _ = now.item(v)
        now.count(number, v)
    say = _put_strings(now, slots)
    maths = (rules.forward(trace, n) for n in range(len(trace.nodes)))
    doc = doc | {
        "say": say,
        "nodes": [
            row | {"math": math, "numbers": numbers}
            for row, (math, numbers) in zip(doc["nodes"], maths, strict=True)
        ],
        "units": [row | now.sizes(unit) for row, unit in zip(doc["units"], now.units, strict=True)],
        "backward": [row | {"w": now.pill_width(row["tl"])} for row in doc["backward"]],
        "details": doc["details"] | {"jacobians": jacobians(trace)},
        "curves": doc["curves"] and curves(trace),
        "strings": now.strings.items,
        "values": now.values.items,
    }
    return doc | now.magnitudes(doc)


def _put_strings(film: Film, slots: Slots) -> list[list[int]]:
    """Put in what has numbers in it; returns the places of each step's sentence.

    Sentences share the parts that were equal: of those that no longer are, all but the first get places of their own.
    """
    items, events = film.strings.items, film.trace.events
    for number, pairs in film.labels:
        items[number], _ = film.label(pairs)
    for place, n, k, came, sent in film.sent:
        gradients = [[v if v is None else slots[v.slot] for v in part] for part in (came, sent)]
        for number, term in zip(place, film.terms(n, k and events[k - 1], *gradients), strict=True):
            items[number] = term.numbers
    known = {number: items[number] for number in film.fixed}
    more: dict[str, int] = {}
    say: list[list[int]] = []
    for k, numbers in enumerate(film.doc["say"]):
        row = []
        for i, text in enumerate(film.narrator.phrase(k)):
            number = numbers[i] if i < len(numbers) else -1
            if number < 0 or known.setdefault(number, text) != text:
                number = more.setdefault(text, len(items))
                items += [text][: number + 1 - len(items)]
            items[number] = text
            row.append(number)
        say.append(row)
    return say
