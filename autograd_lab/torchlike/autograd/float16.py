"""Halves (float16): PyTorch computes with them in single precision and rounds once, forward and backward."""

import numpy as np

HALF = np.dtype(np.float16)


def in_single(forward, rounds_numbers=False):
    """`forward` for halves: computed in single precision, its results rounded to halves.

    With `rounds_numbers`, Python's numbers among the operands are rounded to halves first.
    """

    def computed(*values):
        if rounds_numbers:
            values = [_rounded(v) if type(v) in (int, float) else v for v in values]
        out = forward(*[_widened(v) for v in values])
        return tuple([_narrowed(part) for part in out]) if isinstance(out, (tuple, list)) else _narrowed(out)

    return computed


def _rounded(number):
    with np.errstate(over="ignore"):
        return float(np.float64(number).astype(HALF))


def _widened(value):
    if type(value) is list:  # the gradients of several outputs
        return [_widened(v) for v in value]
    return value.astype(np.float32) if getattr(value, "dtype", None) is HALF else value


def _narrowed(part):
    return part.astype(HALF) if getattr(part, "dtype", None) == np.float32 else part


__all__ = ["HALF", "in_single"]
