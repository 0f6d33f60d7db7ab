"""The teaching side: record, step, draw, expect. `from autograd_lab import lab`."""

from typing import Any

from .course.expect import expect
from .course.reveal import reveal
from .tracing import Trace, narrate, state
from .tracing.recorder import record


def step(what: Any, *inputs: Any, **options: Any) -> Any:
    """Open the stepper on a trace, or record `what(*inputs)` and open it (see widgets)."""
    from . import widgets

    return widgets.step(what, *inputs, **options)


def draw(what: Any, **options: Any) -> Any:
    """A static picture of the graph behind a loss, or of a trace (see widgets)."""
    from . import widgets

    return widgets.draw(what, **options)


__all__ = ["Trace", "draw", "expect", "narrate", "record", "reveal", "state", "step"]
