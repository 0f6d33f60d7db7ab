"""The film as sent to the browser: the same document in a tenth of its size.

A film is full of records with the same keys and of numbers that grow slowly. `encode` turns lists of records
into columns and growing numbers into differences, guided only by the shape of the data, and deflates the
JSON of that; `decode` and its counterpart in assets/wire.js return the same document. Every packed thing is a pair or
triple that begins with its kind:

    ["=", x]                 x as it is
    ["*", n, x]              x, n times
    ["+", s, [i, ...]]       integers; each but the first s is the difference to the one s places before
    ["$", [text, ...], P]    texts, each once, and the packed list of their indices
    ["|", w, [P, ...]]       lists of the same length w, packed as w columns
    ["/", P, Q]              lists: their lengths, and what is in them, one after the other
    ["#", [key, ...], [P]]   records with the same keys: one packed column for each
    ["@", {key: P}]          one record

A film of which the reader has another, as when a slider moves, travels as the difference to that one (`difference`, and `changed` here
and in wire.js). It is packed, too, and what is packed in it may also begin with

    ["&", {key: D}]          the record it was, but for these parts; a D is such a difference, or packed
    ["~", n, [i, ...], [D, ...], P]  the first n of the list it was, but for these items, and perhaps more after them
    ["<", [x, ...]]          texts: a number is one of the list it was, -1 - n the next n of it after the last one taken
"""

from __future__ import annotations

import base64
import json
import zlib
from itertools import chain
from operator import sub
from typing import Any

_SMALL = 4  # shorter lists are not packed
_SAMPLE = 1000  # so many integers suffice to choose the encoding of a column
_STRIDES = (1, 2, 3, 4)


def encode(document: dict[str, Any]) -> str:
    """The film as text: packed, deflated, in base64. Raises ValueError for numbers without a JSON form."""
    text = json.dumps(pack(document), separators=(",", ":"), allow_nan=False, check_circular=False)
    deflate = zlib.compressobj(4, zlib.DEFLATED, -15)  # a third of the time of level 6, for 5 % more bytes
    return base64.b64encode(deflate.compress(text.encode()) + deflate.flush()).decode("ascii")


def decode(text: str) -> dict[str, Any]:
    """The film that was passed to `encode`."""
    film: dict[str, Any] = unpack(json.loads(zlib.decompress(base64.b64decode(text), -15)))
    return film


def pack(x: Any) -> list[Any]:
    """Plain data (what JSON knows, and tuples) in the form described above."""
    if isinstance(x, dict):
        return ["@", {str(key): pack(value) for key, value in x.items()}]
    if not isinstance(x, list | tuple) or len(x) < _SMALL:
        return ["=", x]
    kinds = set(map(type, x))
    if len(kinds) == 1 or kinds == {list, tuple}:
        kind = kinds.pop()
        if kind is int:
            return _integers(x)
        if kind is str:
            return _texts(x)
        if kind in (list, tuple):
            return _lists(x)
        if kind is dict and x[0] and all(y.keys() == x[0].keys() for y in x):
            return ["#", list(x[0]), [pack([y[key] for y in x]) for key in x[0]]]
    if x[0] is None and all(y is None for y in x):
        return ["*", len(x), None]
    return ["=", x]


def difference(old: Any, new: Any) -> list[Any]:
    """How `new` differs from `old`, in the form described above; both are plain data."""
    kind = type(new)
    if kind is not type(old):
        return pack(new)
    if kind is dict and old.keys() == new.keys():
        return ["&", {str(key): difference(old[key], x) for key, x in new.items() if x != old[key]}]
    if kind not in (list, tuple) or not old or not new:
        return pack(new)
    if type(new[0]) is str and len(new) >= _SMALL and set(map(type, new)) == {str}:
        return _from_texts(old, new)
    places = [i for i, (x, y) in enumerate(zip(old, new, strict=False)) if x != y]
    if 2 * len(places) > len(new) and type(new[places[0]]) is not dict:
        return pack(new)  # in columns
    kept = min(len(old), len(new))
    if kept < 2 * _SMALL and all(type(new[i]) not in (dict, list, tuple) for i in places):
        return pack(new)
    found = ["~", kept, places, [difference(old[i], new[i]) for i in places]]
    return [*found, pack(new[kept:])] if len(new) > kept else found


def _from_texts(old: Any, new: Any) -> list[Any]:
    known = {text: i for i, text in enumerate(old) if type(text) is str}
    found: list[Any] = []
    last = -2  # the place of the text taken last
    for text in new:
        i = known.get(text)
        if i is None:
            found.append(text)
        elif i == last + 1:
            if found and type(found[-1]) is int and found[-1] < 0:
                found[-1] -= 1
            else:
                found.append(-2)
        else:
            found.append(i)
        last = last if i is None else i
    return ["<", found]


def changed(old: Any, found: list[Any]) -> Any:
    """What `new` was for `difference(old, new)`; `old` stays as it is, and is part of the result where that is the same."""
    kind, a = found[:2]
    if kind == "&":
        return {key: changed(old[key], a[str(key)]) if str(key) in a else x for key, x in old.items()}
    if kind == "~":
        items = list(old[:a])
        for i, one in zip(found[2], found[3], strict=True):
            items[i] = changed(old[i], one)
        return items + [x for more in found[4:] for x in unpack(more)]
    if kind != "<":
        return unpack(found)
    texts: list[str] = []
    last = -2
    for one in a:
        if type(one) is str:
            texts.append(one)
        elif one >= 0:
            texts.append(old[one])
            last = one
        else:
            texts += old[last + 1 : last - one]
            last -= 1 + one
    return texts


def _integers(x: Any) -> list[Any]:
    first = x[0]
    if x.count(first) == len(x):
        return ["*", len(x), first]
    sample = x[:_SAMPLE]
    costs = {0: sum(map(abs, sample))}
    for s in _STRIDES:
        costs[s] = sum(map(abs, map(sub, sample[s:], sample)))
    stride = min(costs, key=lambda s: (costs[s], s))
    if not stride:
        return ["=", x]
    return ["+", stride, [*x[:stride], *map(sub, x[stride:], x)]]


def _texts(x: Any) -> list[Any]:
    known = {text: i for i, text in enumerate(dict.fromkeys(x))}
    if len(known) == 1:
        return ["*", len(x), x[0]]
    if 2 * len(known) > len(x):
        return ["=", x]
    return ["$", list(known), pack([known[text] for text in x])]


def _lists(x: Any) -> list[Any]:
    lengths = list(map(len, x))
    if lengths.count(lengths[0]) < len(x):
        return ["/", pack(lengths), pack(list(chain.from_iterable(x)))]
    if not lengths[0]:
        return ["=", x]
    return ["|", lengths[0], [pack(column) for column in zip(*x, strict=True)]]


def unpack(packed: list[Any]) -> Any:
    """What was passed to `pack`; tuples come back as lists."""
    kind, a, *rest = packed
    if kind == "=":
        return a
    if kind == "@":
        return {key: unpack(value) for key, value in a.items()}
    b = rest[0]
    if kind == "*":
        return [b] * a
    if kind == "+":
        values = b[:a]
        for i in range(a, len(b)):
            values.append(values[i - a] + b[i])
        return values
    if kind == "$":
        return [a[i] for i in unpack(b)]
    if kind == "|":
        return [list(row) for row in zip(*map(unpack, b), strict=True)]
    if kind == "#":
        columns = [unpack(column) for column in b]
        return [dict(zip(a, row, strict=True)) for row in zip(*columns, strict=True)]
    lists, flat, start = [], unpack(b), 0
    for length in unpack(a):
        lists.append(flat[start : start + length])
        start += length
    return lists
