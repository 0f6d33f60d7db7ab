"""A NumPy that counts with 32 bits, as in WebAssembly, on a machine that counts with 64.

`install()` puts it in NumPy's place for every module that is imported later. Its functions make int32 of Python's integers and of
positions, and those that refuse int64 there refuse it here. What arrays do themselves (methods, brackets) stays as it is.
"""

import functools
import sys
import types

import numpy as real

FROM_PYTHON = {  # function: where the dtype stands among its arguments
    "array": 1, "asarray": 1, "asanyarray": 1, "ascontiguousarray": 1, "full": 2, "zeros": 1, "ones": 1, "empty": 1, "full_like": 2,
    "arange": 3, "linspace": 5, "identity": 1, "eye": 3, "tri": 3, "sum": 2, "prod": 2, "cumsum": 2, "cumprod": 2, "trace": 4,
    "where": None, "concatenate": None, "stack": None, "append": None, "tile": None, "pad": None, "broadcast_to": None,
    "atleast_1d": None,
}  # fmt: skip
"""They make int64 of Python's integers, or of smaller integers that they add up, if no dtype is asked for."""

COUNTING = [
    "argsort",
    "argmax",
    "argmin",
    "argpartition",
    "lexsort",
    "nonzero",
    "flatnonzero",
    "argwhere",
    "searchsorted",
    "digitize",
    "indices",
    "unravel_index",
    "ravel_multi_index",
    "bincount",
    "count_nonzero",
    "tril_indices",
    "triu_indices",
    "diag_indices",
    "histogram",
]
"""They return positions or counts."""

POSITIONS = {"take": 1, "put": 1, "repeat": 1, "bincount": 0, "choose": 0}
"""They refuse int64: function, and which argument."""


def install():
    """Put it in NumPy's place."""
    narrow = types.ModuleType("numpy")
    narrow.__getattr__ = lambda name: getattr(real, name)
    narrow.__path__ = real.__path__
    for name, place in FROM_PYTHON.items():
        setattr(narrow, name, from_python(getattr(real, name), place))
    for name in COUNTING:
        setattr(narrow, name, counting(getattr(real, name)))
    for name, place in POSITIONS.items():
        setattr(narrow, name, wanting(getattr(narrow, name), place))
    narrow.unique = unique
    narrow.intp = narrow.int_ = real.int32
    narrow.uintp = narrow.uint = real.uint32
    sys.modules["numpy"] = narrow


def from_python(fn, place):
    @functools.wraps(fn)
    def narrow(*args, **named):
        asked = named.get("dtype", args[place] if place is not None and len(args) > place else None)
        if asked is int:
            return fn(*args, **named).astype(real.int32)
        out = fn(*args, **named)
        return out if asked is not None or holds_int64((args, list(named.values()))) else small(out)

    return narrow


def counting(fn):
    @functools.wraps(fn)
    def narrow(*args, **named):
        return small(fn(*args, **named))

    return narrow


def wanting(fn, place):
    @functools.wraps(fn)
    def narrow(*args, **named):
        if getattr(args[place], "dtype", None) == real.int64:
            raise TypeError(
                f"{fn.__name__}: Cannot cast array data from int64 to int32 according to the rule 'safe'"
            )
        return fn(*args, **named)

    return narrow


def unique(*args, **named):
    values, *others = found if isinstance(found := real.unique(*args, **named), tuple) else (found,)
    return (values, *small(others)) if others else values


def holds_int64(value):
    if isinstance(value, real.ndarray | real.generic):
        return value.dtype == real.int64
    return isinstance(value, list | tuple) and any(map(holds_int64, value))


def small(value):
    """int32 of what has int64, in nested tuples and lists; numbers that do not fit stay as they are, as they do there."""
    if isinstance(value, list | tuple):
        return type(value)(map(small, value)) if type(value) in (list, tuple) else value
    if not isinstance(value, real.ndarray | real.generic) or value.dtype != real.int64:
        return value
    fits = not value.size or -(2**31) <= value.min() <= value.max() < 2**31
    return value.astype(real.int32) if fits else value
