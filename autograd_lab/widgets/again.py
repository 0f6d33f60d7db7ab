"""The film of a run from the film of another one that took the same path: only its numbers are made anew.

As long as a slider changes nothing but numbers, the film's steps, timelines, boxes and lines stay, and so do all places in its tables:
what stands there is put in. Both traces refer to their values by `Slot`: what is equal by chance has two places.
An input that is no tensor is called by its number where it is an operand, and stands in formulas where it is a parameter: then names
and formulas are made anew, too.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import repeat
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
_SEVERAL = {"pop": ("g",), "done": ("returned",), "hook": ("before", "after"), "vjp": ("in", "out")}
_OF_TENSORS = ("value", "grad")
#: Kinds of events whose sentences have no numbers of the program.
_WITHOUT_VALUES = frozenset(("edge", "push", "free", "mode", "idle", "counts", "backward", "flag"))
_OF_NODES = ("seq", "jacobian", *rules.PARAMETERS, "inner")
"""Nothing of a film hangs on the first, the second is put in; of the others numbers may differ."""


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
            _alike(a, b, (*_OF_TENSORS, "name"))
            if a["name"] != b["name"] and not (rules.is_number(a) and rules.is_number(b)):
                return None
            for key in _OF_TENSORS:
                _meet(slots, a.get(key), b.get(key))
        for a, b in zip(old.nodes, new.nodes, strict=True):
            _alike(a, b, _OF_NODES)
            for key in _OF_NODES[2:]:
                _but_numbers(a.get(key), b.get(key))
            if "compiled" in a:  # its lines are not compared
                return None
        for a, b in zip(old.events, new.events, strict=True):
            _events(slots, a, b)
    except _Differs:
        return None
    return slots


def _events(slots: Slots, a: Record, b: Record) -> None:
    kind = a["k"]
    one, several = _ONE.get(kind, ()), _SEVERAL.get(kind, ())
    if kind in ("error", "refused"):  # what is said about it may have numbers in it
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


def _but_numbers(a: Any, b: Any) -> None:
    """The two may have other numbers in the same places."""
    if a == b:
        return
    if type(a) is not type(b) or isinstance(a, bool):
        raise _Differs
    if isinstance(a, dict) and a.keys() == b.keys():
        a, b = list(a.values()), [b[key] for key in a]
    if isinstance(a, list | tuple) and len(a) == len(b):
        for x, y in zip(a, b, strict=True):
            _but_numbers(x, y)
    elif not isinstance(a, int | float):
        raise _Differs


def refilled(film: Film, trace: Trace, slots: Slots) -> Record | None:
    """The document of another run of the same path; None if it says something else, too.

    film    a film that was made as a whole
    trace   of the run, with its `slots`, as `same_path` gives them
    """  # fmt: skip
    if any((slots[a] == slots[b]) != same for a, b, same in film.compared):
        return None
    named = all(a["name"] == b["name"] for a, b in zip(film.trace.tensors, trace.tensors, strict=True))
    named = named and rules.names_of(film.trace).hold_for(trace)
    now, doc = film.on(trace, named), film.doc
    for slot, number in film.places.items():
        v = slots[slot]
        now.values.items[number], _ = now.item(v)
        now.count(number, v)
    say = _put_strings(now, slots, named)
    if say is None:
        return None
    if not named:
        rows = zip(doc["nodes"], map(rules.sends, repeat(trace), range(len(trace.nodes))), strict=True)
        doc = (
            doc
            | now.tensors()
            | {"nodes": [row | {"rule": rule} for row, rule in rows], "g": trace.names.gradient}
        )
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


def _put_strings(film: Film, slots: Slots, named: bool) -> list[list[int]] | None:
    """Put in what has numbers in it; returns the places of each step's sentence. None if one text in two places has become two.

    Sentences share the parts that were equal: of those that no longer are, all but the first get places of their own. A step whose
    kind tells of no value says the same, if all is `named` as it was.
    """
    items, events = film.strings.items, film.trace.events
    for number, pairs in film.labels:
        items[number], _ = film.label(pairs)
    known = {number: items[number] for number in film.fixed}
    for out, n, k, came, sent in film.sent:
        gradients = [[v if v is None else slots[v.slot] for v in part] for part in (came, sent)]
        for (_, to, rule, number, _), term in zip(
            out, film.terms(n, k and events[k - 1], *gradients), strict=True
        ):
            items[number] = term.numbers
            if known.setdefault(to, term.to) != term.to or known.setdefault(rule, term.rule) != term.rule:
                return None
    if named:
        for k, numbers in enumerate(film.doc["say"]):
            if k and events[k - 1]["k"] in _WITHOUT_VALUES:
                known.update((number, items[number]) for number in numbers)
    else:
        for number, text in known.items():
            items[number] = text
    more: dict[str, int] = {}
    say: list[list[int]] = []
    for k, numbers in enumerate(film.doc["say"]):
        if named and k and events[k - 1]["k"] in _WITHOUT_VALUES:
            say.append(numbers)
            continue
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
