"""Warnings that PyTorch gives once for each session."""

import sys
import warnings

_given: set[str] = set()
_always = [False]


def set_warn_always(on):
    """Show every warning each time, not only the first time (torch.set_warn_always)."""
    _always[0] = bool(on)


def is_warn_always_enabled():
    """Whether every warning is shown each time (torch.is_warn_always_enabled)."""
    return _always[0]


PACKAGE = __name__.partition(".")[0]


def warn(text, category=UserWarning):
    """Warn at the user's line: the nearest one outside of this package."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def warn_once(text, key=None):
    """Show a UserWarning once: the first with this text, or the first with the same `key`."""
    key = key or text
    if _always[0] or key not in _given:
        _given.add(key)
        warn(text)
