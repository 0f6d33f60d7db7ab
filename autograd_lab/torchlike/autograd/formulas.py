"""Formulas: code that is C++ in PyTorch, where recorded steps treat plain numbers differently from Python."""

import functools

from .modes import THREAD


def in_formula(rule, fn, *args, **kwargs):
    """Call `fn`, a VJP, and record its steps as PyTorch records its C++: `2 * g` is a MulBackward1 with one edge.

    In Python, `2 * g` first makes the number a tensor (MulBackward0). The same holds in the user's own code, and in the rules of products
    and quotients, where the number may come from the user: these have `plain_numbers = False`.
    """
    state = THREAD.state
    before, state.formula = state.formula, rule.plain_numbers
    try:
        return fn(*args, **kwargs)
    finally:
        state.formula = before


def as_formula(fn):
    """Decorates functions that PyTorch composes in C++."""
    fn.plain_numbers = True

    @functools.wraps(fn)
    def call(*args, **kwargs):
        return in_formula(fn, fn, *args, **kwargs)

    return call


__all__ = ["as_formula", "in_formula"]
