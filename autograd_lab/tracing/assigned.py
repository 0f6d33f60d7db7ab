"""Which of the tensors that were made in a statement its variable is bound to in the end.

`norm = clip_grad_norm_(..)` detaches gradients and computes several norms before it returns one. The builder sees that all of this happens in an
expression that is assigned to `norm`; here the variable is looked at once the statement is over.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from types import FrameType
from typing import Any

from .names import variables_of


class Assigned:
    """Notes ("assigned", variable, the tensor that it is bound to or None, the others), unless one tensor was made and that is it.

    Each call of the user's has at most one statement that is under way or the last one to have made a tensor.
    """

    def __init__(self, note: Callable[[tuple[Any, ...]], None]) -> None:
        self.note = note
        # id of a user's frame -> (it, where it was, the frame that it called, the tensors made in that)
        self.open: dict[int, tuple[FrameType, int, FrameType | None, list[Any]]] = {}

    def made(self, frame: FrameType | None, call: FrameType | None, tensors: Any) -> None:
        """The function that runs in `call`, called by the user's `frame`, made tensors."""
        if frame is None:
            return
        known, at = self.open.get(id(frame)), frame.f_lasti
        if known is not None:
            if known[2] is call and known[1] == at and call is not None:
                known[3].extend(tensors)
                return
            self._close(known)
        else:  # calls that are over, or further on: their variables may be others' soon
            for other in [one for one in self.open.values() if one[0].f_lasti != one[1]]:
                del self.open[id(other[0])]
                self._close(other)
        self.open[id(frame)] = frame, at, call, [*tensors]

    def moved_on(self, frame: FrameType | None) -> None:
        """A user's frame is at another place now."""
        known = self.open.get(id(frame))
        if known is not None and frame is not None and known[1] != frame.f_lasti:
            del self.open[id(frame)]
            self._close(known)

    def end(self) -> None:
        """All statements are over."""
        for known in self.open.values():
            self._close(known)
        self.open.clear()

    def _close(self, known: tuple[FrameType, int, FrameType | None, list[Any]]) -> None:
        frame, at, _, made = known
        whole, parts = variables_of(frame.f_code, at)
        if not (whole or parts):
            return
        scope = ChainMap(frame.f_locals, frame.f_globals)
        deleted = whole not in scope and frame.f_lasti != at  # and not: to be assigned once this call is over
        if whole and not (deleted and len(made) == 1):  # it was this one's name until then
            bound = scope.get(whole)
            if not (len(made) == 1 and made[0] is bound):  # else the builder has given it the name
                kept = next((t for t in made if t is bound), None)
                self.note(("assigned", whole, kept, [t for t in made if t is not kept]))
        for name in parts:
            bound = scope.get(name)
            if any(t is bound for t in made):
                self.note(("assigned", name, bound, ()))
