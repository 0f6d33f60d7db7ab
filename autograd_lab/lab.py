"""The teaching side: record, step, draw, expect. `from autograd_lab import lab`."""

from .course.expect import expect
from .trace import Trace, narrate, state
from .trace.recorder import record


def step(what, *inputs, **options):
    """Open the stepper on a trace, or record `what(*inputs)` and open it (see widgets)."""
    from . import widgets

    return widgets.step(what, *inputs, **options)


def draw(what, **options):
    """A static picture of the graph behind a loss, or of a trace (see widgets)."""
    from . import widgets

    return widgets.draw(what, **options)


__all__ = ["Trace", "draw", "expect", "narrate", "record", "state", "step"]
