"""`why`: the cause of a gradient that is None, zero, nan or not what was expected, and the lines that led to it.

answer.py    Why: cause, sentences, lines, what to do; CAUSES, the list of all causes
facts.py     look-ups over a trace: makers, flags over time, passes, the data's path and where it is cut
question.py  one question, and how an answer is put together
failures.py  the pass ended with an error
refusals.py  what autograd's own error messages mean
cures.py     fixes, as edits of the student's lines
source.py    the student's program: its lines and statements, and changes to them
missing.py   .grad is None
wild.py      .grad is nan or inf
zeros.py     .grad is zero, in places or next to zero
births.py    where a zero came into a gradient
second.py    a missing second derivative
numbers.py   values at an event, elementwise local derivatives
history.py   .grad is a number: accumulated, stale, edited, as computed
writes.py    something was overwritten unnoticed: a saved value, .grad, what ctx keeps
live.py      without a recording: what the tensors themselves reveal
"""

from __future__ import annotations

from typing import Any

from ..called import called_in
from ..trace import Trace
from .answer import CAUSES, Line, Why
from .facts import Facts
from .failures import failure
from .history import number
from .missing import missing
from .question import Question
from .second import constant_derivative
from .wild import wild
from .writes import cleared_by_hook, overwritten
from .zeros import although_nan, partly_zero, zero

__all__ = ["CAUSES", "Line", "Why", "why"]


def why_stopped(trace: Trace) -> Why | None:
    """Why the program of a trace ended with an error, asked about the tensor whose gradient was wanted; None if that is not known."""
    e = trace.events[-1] if len(trace) else {"k": ""}
    if e["k"] != "error":
        return None
    wanted = [t for t, tensor in enumerate(trace.tensors) if tensor["requires_grad"] and tensor["leaf"]]
    others = range(len(trace.tensors)) if "grad" in e["message"] else ()
    asked = next(iter(wanted or e.get("of") or others), None)
    try:
        answer = None if asked is None else why(trace, asked)
    except LookupError:  # the trace of another tool may lack what an answer needs
        answer = None
    return None if answer is None or answer.cause in ("as-computed", "accumulated") else answer


def why(trace: Trace, tensor: Any, loss: Any = None, name: str = "") -> Why:
    """Why the gradient of a tensor of `trace` is what it is at the end of the trace.

    tensor  its name (the last tensor of that name), its number in the trace or, of a recording, the tensor itself
    name    its name in the answer if the trace has none
    loss    the tensor that the gradient was expected from, given like `tensor`, if backward was last called on another one

    Raises KeyError for a name or tensor, and IndexError for a number, that is not in the trace.
    """
    q = Question(Facts(trace), find(trace, tensor), None if loss is None else find(trace, loss), name)
    if q.facts.grad_now(q.t) is None:
        constant = constant_derivative(q)
        if constant is not None:
            return constant
    stopped = failure(q)
    if stopped is not None:
        return stopped
    written = cleared_by_hook(q) or overwritten(q)
    if written is not None:
        return written
    v = q.facts.grad_now(q.t)
    if v is None:
        return missing(q)
    if q.facts.wild(v):
        return wild(q)
    if q.facts.zero(v) and not q.facts.cancelled(q.t):
        return zero(q)
    answer = number(q)
    if answer.cause != "as-computed":
        return answer
    return although_nan(q, partly_zero(q) or answer)


def find(trace: Trace, tensor: Any) -> int:
    """The number of a tensor of the trace."""
    if isinstance(tensor, str):
        found = [t for t, record in enumerate(trace.tensors) if record["name"] == tensor]
        if not found:  # perhaps as the stepper has it
            found = [t for t, name in enumerate(called_in(trace)) if name == tensor]
        if not found:
            names = sorted({record["name"] for record in trace.tensors if record["name"].isidentifier()})
            raise KeyError(
                f"no tensor called {tensor!r} is in the trace; it has {', '.join(names) or 'no names'}"
            )
        return found[-1]
    if not isinstance(tensor, int):
        return trace.number_of(tensor)
    if not 0 <= tensor < len(trace.tensors):
        raise IndexError(f"tensor {tensor} is not in the trace, which has {len(trace.tensors)} tensors")
    return tensor
