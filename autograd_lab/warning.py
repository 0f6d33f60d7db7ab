"""Warnings that PyTorch gives once for each session."""

import warnings

_given: set[str] = set()
_always = [False]


def set_warn_always(on):
    """Give every warning each time, not only the first (torch.set_warn_always)."""
    _always[0] = bool(on)


def is_warn_always_enabled():
    """Whether every warning is given each time (torch.is_warn_always_enabled)."""
    return _always[0]


def warn_once(text, stacklevel=3):
    """A UserWarning, the first time only. `stacklevel` 3 points at the caller of the function that calls this."""
    if _always[0] or text not in _given:
        _given.add(text)
        warnings.warn(text, UserWarning, stacklevel=stacklevel)
