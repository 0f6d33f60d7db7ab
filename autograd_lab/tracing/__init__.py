"""What the engine did, as plain data: the trace, its state after k events, and a sentence for each event."""

from .narrate import label, narrate
from .state import State, state
from .trace import Trace, TraceError

__all__ = ["State", "Trace", "TraceError", "label", "narrate", "state"]
