"""torch.testing: `assert_close`, the comparison for tests of one's own."""

from collections import namedtuple
from collections.abc import Mapping, Sequence

import numpy as np

from ..autograd.variable import Variable
from ..creation import as_tensor

_TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
"""(rtol, atol) by type; whole numbers and booleans must be equal."""

_Options = namedtuple("_Options", "rtol atol equal_nan check_dtype check_stride allow_subclasses")


class _Unlike(Exception):  # noqa: N818 - it says what differs, and becomes the AssertionError
    """Two values that differ: the text, and where in lists and dicts they stand."""

    def __init__(self, text, where=()):
        super().__init__(text)
        self.where = where


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| (torch.testing.assert_close).

    Compares tensors, NumPy arrays, numbers, None, and lists, tuples and dicts of these; types and shapes must be the same.
    Without `rtol` and `atol` they follow the type: 1.3e-6 and 1e-5 for float32, 1e-7 for float64, equality for whole numbers.
    `msg` replaces the text, or is called with it. Raises TypeError for what cannot be compared, ValueError for one tolerance
    without the other.
    """
    if (rtol is None) is not (atol is None):
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}."
        )
    if rtol is not None and (rtol < 0 or atol < 0):
        raise ValueError(f"the tolerances must not be negative, but got rtol={rtol} and atol={atol}")
    options = _Options(rtol, atol, equal_nan, check_dtype, check_stride, allow_subclasses)
    try:
        for where, a, b in list(_pairs(actual, expected, (), options)):
            try:
                _compare(a, b, options)
            except _Unlike as found:
                raise _Unlike(str(found), where) from None
    except _Unlike as found:
        text = str(found) + _at(found.where)
        raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg) from None


def _pairs(a, b, where, options):
    """The pairs (where, actual, expected) that two nested values consist of. Raises _Unlike if they are built differently."""
    if (
        isinstance(a, Sequence)
        and isinstance(b, Sequence)
        and not isinstance(a, str)
        and not isinstance(b, str)
    ):
        if len(a) != len(b):
            raise _Unlike(f"The length of the sequences mismatch: {len(a)} != {len(b)}", where)
        for i in range(len(a)):
            yield from _pairs(a[i], b[i], (*where, i), options)
    elif isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            missing, more = sorted(b.keys() - a.keys(), key=str), sorted(a.keys() - b.keys(), key=str)
            raise _Unlike(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {more}",
                where,
            )
        for key in a:
            yield from _pairs(a[key], b[key], (*where, key), options)
    elif (
        a is None
        or b is None
        or _both(a, b, (bool, np.bool_))
        or _both(a, b, (int, float, np.number))
        or (_both(a, b, Variable) and (options.allow_subclasses or type(a) is type(b)))
        or _both(a, b, np.ndarray)
    ):
        yield where, a, b
    else:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}." + _at(where)
        )


def _at(where):
    return "\n\nThe failure occurred for item " + "".join(f"[{key!r}]" for key in where) if where else ""


def _both(a, b, kinds):
    return isinstance(a, kinds) and isinstance(b, kinds)


def _compare(a, b, options):
    """Raise _Unlike if two tensors, arrays, numbers or other single values differ."""
    if a is None or b is None:
        if a is not b:
            raise _Unlike(f"None mismatch: {a} is not {b}")
    elif _both(a, b, (bool, np.bool_)):
        if bool(a) is not bool(b):
            raise _Unlike(f"Booleans mismatch: {bool(a)} is not {bool(b)}")
    elif isinstance(a, (int, float, np.number)):
        if options.check_dtype and type(a) is not type(b):
            raise _Unlike(f"The (d)types do not match: {type(a)} != {type(b)}.")
        kinds = [np.int64 if isinstance(one, (int, np.integer)) else np.float64 for one in (a, b)]
        _compare_arrays(np.array(a, kinds[0]), np.array(b, kinds[1]), options)
    else:
        _compare_tensors(as_tensor(a), as_tensor(b), options)


def _compare_tensors(a, b, options):
    for name, mine, theirs, asked in (
        ("shape", a.shape, b.shape, True),
        ("dtype", a.dtype, b.dtype, options.check_dtype),
        ("stride()", a.stride(), b.stride(), options.check_stride),
    ):
        if asked and mine != theirs:
            raise _Unlike(
                f"The values for attribute '{name}' do not match: {_said(name, mine)} != {_said(name, theirs)}."
            )
    _compare_arrays(np.asarray(a._data), np.asarray(b._data), options)


def _said(name, value):
    return f"torch.Size({list(value)})" if name == "shape" else value


def _compare_arrays(x, y, options):
    rtol, atol = options.rtol, options.atol
    if rtol is None:
        both = [_TOLERANCES.get(z.dtype.name, (0.0, 0.0)) for z in (x, y)]
        rtol, atol = max(r for r, _ in both), max(a for _, a in both)
    if x.dtype != y.dtype:
        kind = np.promote_types(x.dtype, y.dtype)
        x, y = x.astype(kind), y.astype(kind)
    if x.dtype.kind != "f":
        x, y = x.astype(np.int64), y.astype(np.int64)
    close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if close.all():
        return
    with np.errstate(all="ignore"):
        apart = np.where(close, 0, np.abs(x - y))
        share = np.where(close, 0, apart / np.abs(y))
    exact = rtol == atol == 0
    verdict = "not equal!" if exact else "not close!"
    if x.ndim == 0:
        allowed = ["", ""] if exact else [f" (up to {atol} allowed)", f" (up to {rtol} allowed)"]
        raise _Unlike(
            f"Scalars are {verdict}\n\nExpected {y.item()} but got {x.item()}.\n"
            f"Absolute difference: {apart.item()}{allowed[0]}\nRelative difference: {share.item()}{allowed[1]}"
        )
    count = int(close.size - close.sum())
    lines = [
        f"Tensor-likes are {verdict}\n",
        f"Mismatched elements: {count} / {close.size} ({count / close.size:.1%})",
    ]
    share = share.astype(np.float32 if x.dtype.kind == "i" else x.dtype)
    for name, off, limit in (("absolute", apart, atol), ("relative", share, rtol)):
        place = tuple(int(i) for i in np.unravel_index(np.argmax(off), off.shape))
        allowed = "" if exact else f" (up to {limit} allowed)"
        lines.append(f"Greatest {name} difference: {off[place].item()} at index {place}{allowed}")
    raise _Unlike("\n".join(lines))


__all__ = ["assert_close"]
