"""A recorder that fails must not take the program with it: what it could not note becomes an event, and the program goes on.

Only failures of the recorder's own are caught here. The user's code, and the operations themselves, run outside of these guards.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

STRICT = "AUTOGRAD_LAB_STRICT"
"""The environment variable under which such a failure raises: the project's tests set it."""


def strict() -> bool:
    """Whether a failure of the recorder is to raise."""
    return os.environ.get(STRICT, "") not in ("", "0")


def text_of(error: BaseException) -> str:
    """What an error says. Its class may be the user's, and saying it may fail, too."""
    try:
        return str(error)
    except Exception as another:
        return f"(asking for the text raised {type(another).__name__})"


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """Let a method of a recorder fail without harm: `missed` of the recorder is told of it instead."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.missed(method.__name__, error)

    return call
