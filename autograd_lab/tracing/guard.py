"""A recorder that fails must not stop the program: what it could not note becomes an event, and the program continues.

Only the recorder's own failures are caught here. The user's code, and the operations themselves, run outside these guards.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

STRICT = "AUTOGRAD_LAB_STRICT"
"""The environment variable that makes such a failure raise; the project's tests set it."""


def strict() -> bool:
    """Whether a failure of the recorder raises."""
    return os.environ.get(STRICT, "") not in ("", "0")


def text_of(error: BaseException) -> str:
    """The message of an error. Its class may be the user's, whose `__str__` may fail."""
    try:
        return str(error)
    except Exception as another:
        return f"(asking for the text raised {type(another).__name__})"


def guarded(method: Callable[..., None]) -> Callable[..., None]:
    """Catch failures of a recorder's method, and pass them to its method `missed` instead."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.missed(method.__name__, error)

    return call
