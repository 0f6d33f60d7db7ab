"""Formulas: the code of PyTorch that is C++, whose recorded steps treat a plain number otherwise than Python does."""

import functools

from .modes import THREAD


def in_formula(rule, fn, *args, **kwargs):
    """Call `fn`, a VJP, with its steps recorded as those of PyTorch's C++ are: `2 * g` is a MulBackward1 with one edge.

    In Python `2 * g` makes the number a tensor first (MulBackward0). So it is in the user's own code, and in the rules of products
    and quotients, where the number may be one that the user gave: their `plain_numbers` says False.
    """
    state = THREAD.state
    before, state.formula = state.formula, rule.plain_numbers
    try:
        return fn(*args, **kwargs)
    finally:
        state.formula = before


def as_formula(fn):
    """The decorator of functions that PyTorch composes in C++."""
    fn.plain_numbers = True

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return in_formula(fn, fn, *args, **kwargs)

    return call


__all__ = ["as_formula", "in_formula"]
