"""What the engine did, as plain data: the trace, its state after k events, and a sentence for each event."""

from typing import Any

from .narrate import label, narrate
from .rules import names_of
from .state import State, state
from .trace import Trace, TraceError


def _why(self: Trace, tensor: Any, loss: Any = None, name: str = "") -> Any:
    """Why the gradient of a tensor is None, zero, nan or unexpected: a `Why` (see the folder why).

    tensor, loss   a name in this trace, a tensor's number or, of a recording, the tensor itself
    name           what to call the tensor if the trace has no name for it
    """
    from .why import why

    return why(self, tensor, loss, name)


_why.__name__, _why.__qualname__ = "why", "Trace.why"
Trace.why = _why
Trace.names = property(names_of, doc="What formulas call the tensors (see rules.py); worked out once.")
del _why

__all__ = ["State", "Trace", "TraceError", "label", "narrate", "state"]
