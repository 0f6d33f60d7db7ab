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
