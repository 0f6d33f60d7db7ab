"""Warnings that PyTorch gives once for each session."""

import sys
import warnings

_given: set[str] = set()
_always = [False]


def set_warn_always(on):
    """Give every warning each time, not only the first (torch.set_warn_always)."""
    _always[0] = bool(on)


def is_warn_always_enabled():
    """Whether every warning is given each time (torch.is_warn_always_enabled)."""
    return _always[0]


PACKAGE = __name__.partition(".")[0]


def warn(text, category=UserWarning):
    """A warning that points at the user's line: the nearest one outside of this package."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def warn_once(text, key=None):
    """A UserWarning, the first time only: the first of this text, or of all that share the `key`."""
    key = key or text
    if _always[0] or key not in _given:
        _given.add(key)
        warn(text)
