"""Answers as plain data: conversion, and comparison with a tolerance.

Student code returns tensors, arrays, NumPy numbers, tuples. `plain` converts them to JSON data, so that an answer can be
stored, sent to another process and compared there; `same` compares two of these, numbers with a tolerance.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import repeat
from typing import Any

import numpy as np

RTOL = 1e-4
"""Relative tolerance for numbers unless an item says otherwise."""
ATOL = 1e-7
MOST = 10_000
"""The maximum number of elements in an answer; more is a mistake, not an answer."""


class NotPlainError(TypeError):
    """An answer that is not data: a function, a module, an object of the student's own class."""


def plain(value: Any) -> Any:
    """`value` as JSON data: tensors and arrays become {"shape", "dtype", "data"}, a one-element 0-d one its number.

    Text is stripped. Infinities and not-a-number are the strings "inf", "-inf", "nan" inside {"float": ...}.
    Raises NotPlainError if `value` is not data, or has more than 10,000 numbers.
    """
    if type(value) is float and math.isfinite(value):  # most are
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Fraction | Decimal):
        try:
            value = float(value)
        except (OverflowError, ValueError) as error:
            raise NotPlainError(
                f"a {type(value).__name__} that no float can hold is not an answer"
            ) from error
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=repr)
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return plain(value.tolist())
    if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
        if value.size > MOST:
            raise NotPlainError(f"an array of {value.size:,} numbers; an answer holds {MOST:,} at most")
        if value.ndim == 0:
            return plain(value.item())
        return {"shape": list(value.shape), "dtype": value.dtype.name, "data": plain(value.tolist())}
    raise NotPlainError(
        f"a {type(value).__name__} is not an answer; give a number, a word, a list or a tensor"
    )


def same(a: Any, b: Any, rtol: float = RTOL) -> bool:
    """Whether two plain answers agree: numbers within `rtol`, words regardless of case, arrays in shape and numbers.

    True is not 1, None is not 0; a list of numbers agrees with an array of one dimension. None and nan may be given as words: "None".
    """
    if type(a) is float and type(b) is float:  # most are
        return math.isclose(a, b, rel_tol=rtol, abs_tol=ATOL)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b, repeat(rtol)))
    if isinstance(a, str) or isinstance(b, str):
        a, b = _in_words(a), _in_words(b)
    if isinstance(a, dict) and isinstance(b, dict) and "data" not in a and "data" not in b:
        if "float" in a or "float" in b:
            return a == b
        return a.keys() == b.keys() and all(same(a[key], b[key], rtol) for key in a)
    if isinstance(a, dict) or isinstance(b, dict):
        return _shape(a) == _shape(b) and same(_data(a), _data(b), rtol)
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, str) and isinstance(b, str):
        return a.casefold() == b.casefold()
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, rel_tol=rtol, abs_tol=ATOL)
    return False


def _in_words(x: Any) -> Any:
    """The word for a value that has one: None, nan and the infinities."""
    return "None" if x is None else x.get("float", x) if isinstance(x, dict) else x


def settled(fresh: Any, stored: Any, rtol: float = RTOL) -> Any:
    """`fresh`, but with the numbers of `stored` where they differ by at most a fiftieth of `rtol`: another processor's rounding."""
    if isinstance(fresh, dict) and isinstance(stored, dict):
        return {key: settled(value, stored.get(key), rtol) for key, value in fresh.items()}
    if isinstance(fresh, list) and isinstance(stored, list) and len(fresh) == len(stored):
        return [settled(a, b, rtol) for a, b in zip(fresh, stored, strict=True)]
    if isinstance(fresh, float) and isinstance(stored, float):
        return (
            stored if math.isclose(fresh, stored, rel_tol=rtol / 50, abs_tol=min(ATOL, rtol / 50)) else fresh
        )
    return fresh


def _data(x: Any) -> Any:
    return x["data"] if isinstance(x, dict) and "data" in x else x


def _shape(x: Any) -> list[int]:
    if isinstance(x, dict):
        return x.get("shape", [-1])
    shape = []
    while isinstance(x, list):
        shape.append(len(x))
        x = x[0] if x else None
    return shape


def show(x: Any) -> str:
    """A plain answer in a few words, the same on every machine: `96`, `[1, 2.5]`, `a tensor of shape [2, 3]: [[...`."""
    if isinstance(x, dict):
        if "float" in x:
            return str(x["float"])
        if "error" in x:
            return f"{x['error']}: {x['message']}" if x.get("message") else str(x["error"])
        if "data" in x:
            return _cut(f"{show(x['data'])} (shape {x['shape']})")
        return _cut("{" + ", ".join(f"{key}: {show(item)}" for key, item in x.items()) + "}")
    if isinstance(x, list):
        return _cut("[" + ", ".join(map(show, x)) + "]")
    if isinstance(x, float):
        return f"{x:.6g}"
    return repr(x) if isinstance(x, str) else str(x)


def _cut(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 4] + " ..."


def unanswered(value: Any) -> bool:
    """Whether some part of an answer is still the `...` it was handed out with."""
    if value is ...:
        return True
    if isinstance(value, dict):
        return any(map(unanswered, value.values()))
    return isinstance(value, list | tuple) and any(map(unanswered, value))
