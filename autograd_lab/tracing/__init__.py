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


def _to_networkx(self: Trace) -> Any:
    """The nodes and edges of this trace as an `nx.MultiDiGraph`, from each result to its operands.

    The nodes have the numbers of the trace, the edges the number of the operand as their key. README.md, beside this file, lists
    the attributes. Needs networkx.
    """
    from .networks import of_trace

    return of_trace(self)


_to_networkx.__name__, _to_networkx.__qualname__ = "to_networkx", "Trace.to_networkx"
Trace.to_networkx = _to_networkx
_why.__name__, _why.__qualname__ = "why", "Trace.why"
Trace.why = _why
Trace.names = property(names_of, doc="What formulas call the tensors (see rules.py); worked out once.")
del _why, _to_networkx

__all__ = ["State", "Trace", "TraceError", "label", "narrate", "state"]
