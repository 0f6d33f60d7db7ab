"""The recorder: watches the engine and notes what it does.

The core calls the methods of the watcher in `State.watch` of the thread; this module has the one that records.
While the program runs, notes are only appended: the caller, and copies of numbers that may change. They become a trace
(builder.py) when it is first used, so that recording costs the program as little as possible.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import os
import re
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..torchlike.autograd import collector
from ..torchlike.autograd.modes import THREAD, WATCHERS
from ..torchlike.autograd.node import AccumulateGrad
from ..torchlike.autograd.variable import INFERENCE, Variable
from ..torchlike.autograd.watch import Watch
from . import refused
from .assigned import Assigned
from .builder import Builder, encode, owner
from .guard import guarded, strict, text_of
from .hooked import Hooked
from .messages import asked_for, grad_now, lend, snapshot, watch_of
from .names import Names, all_parts_of, leads_to, loop_variables, may_hold_parts, parts_of, passed_on_by
from .refused import operation_called
from .scopes import Call
from .shared import Shared, owner_of
from .statements import backward_of, instruction_at, is_over, loaded_names, named_on_line
from .trace import Trace

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
PASSED_THROUGH = copy.__file__, contextlib.__file__
"""Files of Python's own between the user's line and ours: `copy.deepcopy(model)`, `stack.enter_context(no_grad())`."""


class _Ours(dict[str, bool]):
    """{file: whether it belongs to this package}; needed for several frames of every operation, hence memoized."""

    def __missing__(self, file: str) -> bool:
        ours = self[file] = file.startswith(_PACKAGE) or file in PASSED_THROUGH
        return ours


_IS_OURS = _Ours()
# The file that calls the forward of a custom Function, here and in PyTorch.
_OF_FUNCTIONS = str(Path("autograd", "function.py"))
_NOBODY = None, -1
_ARRAY = np.ndarray
# Frames that are left and resumed, perhaps by another caller: generators and coroutines.
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
SMALL = 1 << 12  # a base of at most this many numbers is copied when a view of it is written


class _WithoutParentheses(type):
    """`with lab.record as trace:` enters the class itself, and Python's own message would not help."""

    def __enter__(cls) -> Recording:
        raise TypeError("lab.record was not called: write `with lab.record() as trace:`, with parentheses")

    def __exit__(cls, *_: object) -> None:
        pass


class record(metaclass=_WithoutParentheses):  # noqa: N801 - used like a function
    """Record what runs inside: `with lab.record() as trace: ...`.

    title   a heading for the trace
    names   {"w1": tensor, ...} for tensors whose names the recorder cannot find in your code
    limit   notes with a limit: AtMost. RecordingFull then ends the block, and is not raised again outside

    The trace is complete at the end of the block, even after an exception (which is then its last event). Recording is per
    thread; a second recording inside raises RuntimeError. A thread keeps its last recording until the next one begins, so
    that `lab.why(x)` can use it.
    """

    def __init__(self, title: str = "", names: dict[str, Any] | None = None, limit: AtMost | None = None):
        if not isinstance(title, str):
            raise TypeError(
                f"lab.record takes a title, a string, but was given a {type(title).__name__}. What to do: run the code in "
                "its block, `with lab.record() as trace: f(x).backward()`; `lab.step(f, x)` records a function by itself"
            )
        if not isinstance(names, dict | None):
            raise TypeError(
                f"lab.record takes names as a dict, such as {{'w': w}}, but was given a {type(names).__name__}"
            )
        self._recorder = Recorder(title, names or {})
        self._limit = limit
        if limit is not None:
            self._recorder.notes = limit

    def __enter__(self) -> Recording:
        state = THREAD.state
        if state.watch is not None:
            raise RuntimeError(
                "a recording is already running in this thread: leave its `with lab.record()` block first "
                "(a cell with %%step on top is recorded without one)"
            )
        state.watch = self._recorder
        self._recorder.base = sys._getframe(1)
        self._recorder.arrays = _arrays_in(sys._getframe(1))
        WATCHERS.append(self._recorder)
        collector.hold()
        refused.listen()
        state.refresh()
        _LAST.recording = Recording(self._recorder)
        return _LAST.recording

    @property
    def recorder(self) -> Recorder:
        """What takes the notes."""
        return self._recorder

    def __exit__(self, kind, error, trace):
        state = THREAD.state
        state.watch = None
        WATCHERS.remove(self._recorder)
        collector.release()
        state.refresh()
        full = isinstance(error, RecordingFull)
        if self._limit is not None:
            self._limit.lift()  # how the program ended is told in any case
        self._recorder.finish(None if full else error, sys._getframe(1))
        return full


class RecordingFull(BaseException):
    """A recording has as many events as it may have, or took too long: the program ends here. No Exception, which programs catch."""


_SILENT = {"asked", "assigned", "caught", "entered", "failed", "granted", "hook_added", "hook_removed", "kept_on_ctx", "left", "lent_to_it", "listed", "met", "moved", "opened", "part", "recomputed", "released", "untold"}  # fmt: skip
"""Notes that need not become an event."""


class AtMost(list[tuple[Any, ...]]):
    """Notes with a limit: at least `events` events, or what happens in `seconds` from now. The next one raises RecordingFull."""

    def __init__(self, events: int, seconds: float = math.inf) -> None:
        super().__init__()
        self.left = events
        self.until = time.monotonic() + seconds
        self.full = False

    def append(self, note: tuple[Any, ...]) -> None:
        """Keep a note."""
        if self.full:  # on its way out the engine tells that its pass ends
            return
        if note[0] not in _SILENT:
            self.left -= 1
            # not where `no_grad` ends, which would then go on
            if note[0] != "mode" and (self.left < 0 or time.monotonic() > self.until):
                self.full = True
                raise RecordingFull
        super().append(note)

    def lift(self) -> None:
        """Keep whatever comes, unless the limit was reached."""
        self.left, self.until = sys.maxsize, math.inf


class _Last(threading.local):
    recording: Recording | None = None
    torch: Any = None  # the active recorder of real PyTorch (see torch_adapter.py)


_LAST = _Last()  # so that `lab.why(w)` finds what just ran; the next recording replaces it


@contextmanager
def keep_last() -> Iterator[None]:
    """A context manager: a recording made inside does not become the last one, because it is not the user's."""
    last = _LAST.recording
    try:
        yield
    finally:
        _LAST.recording = last


def last_recording() -> Recording | None:
    """The current recording of this thread, or its last one."""
    return _LAST.recording


class scope:  # noqa: N801 - used like a function
    """Name a part of a program: what `with lab.scope("encoder"): ...` computes is one group in the stepper.

    Scopes nest, and each entry makes a new group. Outside a recording it does nothing.
    """

    def __init__(self, name: str):
        if not isinstance(name, str) or not name:
            raise TypeError(f"lab.scope() takes a name, got {name!r}")
        self.name = name
        self._watch: list[Any] = []

    def __enter__(self) -> None:
        watch = THREAD.state.watch or _LAST.torch
        self._watch.append(watch)
        if watch is not None:
            watch.entered(None, self.name)

    def __exit__(self, kind, error, trace):
        watch = self._watch.pop()
        if watch is not None and watch.running:
            watch.left()


class Recording(Trace):
    """The trace of a recording, built from the notes when its lists are first accessed."""

    def __init__(self, recorder: Recorder):
        object.__setattr__(self, "_recorder", recorder)

    def __getattr__(self, name: str) -> Any:
        """Build the lists of the trace."""
        if name not in ("sources", "values", "tensors", "nodes", "events"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__.update(self._recorder.lists())
        return self.__dict__[name]

    def beginning(self, notes: int) -> Trace | None:
        """The trace of the first `notes` notes; None if that is most of the trace, or if the trace has been built already."""
        return self._recorder.beginning(notes)

    def number_of(self, tensor: Any) -> int:
        """The number of a tensor object in this trace. Raises KeyError if it was not used in the recording."""
        number = self._recorder.number_of(tensor)
        if number is None:
            raise KeyError("this tensor was not used in the recording")
        return number

    @property
    def running(self) -> bool:
        """Whether the block is still open."""
        return self._recorder.running

    def knows(self, tensor: Any) -> bool:
        """Whether the recording has met the tensor object."""
        return self._recorder.number_of(tensor) is not None

    def owner_of(self, gradient: Any) -> Any:
        """The tensor whose `.grad` this very tensor is now, or None."""
        return self._recorder.owner_of(gradient)

    def grad_of(self, tensor: Any) -> Any:
        """`.grad` of a tensor object as it is now, as a trace keeps values."""
        return self._recorder._grad_of(tensor)

    def find_names(self, namespace: dict[str, Any], codes: Sequence[CodeType] = ()) -> None:
        """Name tensors after the variables of a namespace that the block itself cannot see, in which these code objects ran."""
        passing = {name for code in codes for name in passed_on_by(code)}
        self._recorder.find_names((namespace, passing))
        self._recorder.scopes.append((namespace, passing))

    def list_code(self, codes: Sequence[CodeType]) -> None:
        """Show all lines of these code objects of the program, also those that it did not come to."""
        self._recorder.notes.append(("listed", codes))

    def up_to_date(self, tensor: Any, loss: Any = None) -> bool:
        """Whether this recording knows the tensors, and `.grad` has not changed since."""
        return self._recorder.up_to_date(tensor, loss)

    def why(self, tensor: Any, loss: Any = None, name: str = "") -> Any:
        """Why the gradient of a tensor is what it is (see Trace.why); inside the block too, about what ran so far."""
        if not self._recorder.running:
            return super().why(tensor, loss, name)
        from .why import find, why

        trace, numbers = self._recorder.so_far(_user_frame())
        asked = [t if isinstance(t, (str, int, type(None))) else numbers.get(id(t)) for t in (tensor, loss)]
        if asked[0] is None or (loss is not None and asked[1] is None):
            raise KeyError("this tensor was not used in the recording so far")
        return why(trace, find(trace, asked[0]), asked[1], name)

    title = property(lambda self: self._recorder.title)


class Recorder(Watch):
    """The notes of one recording: a list of (name of a Builder method, its arguments)."""

    rewinds = True
    internal: tuple[str, ...] = (_PACKAGE, *PASSED_THROUGH)  # frames of these files are not the user's
    builder: type[Builder] = Builder
    apart = False  # see Builder

    def __init__(self, title: str, names: dict[str, Any]):
        self.title = title
        self.given = {id(t): name for name, t in names.items()}
        self.names = Names()
        self.notes: list[tuple[Any, ...]] = []
        self.met: dict[int, Any] = {}  # id -> tensor; kept alive, or Python could reuse the id
        self.grads: dict[
            int, tuple[Any, Any]
        ] = {}  # id of a `.grad` -> (it, its tensor); kept for the same reason
        self.returned: dict[int, tuple[Any, Any]] = {}  # the same for what `autograd.grad` returned
        self.aliases: dict[int, Any] = {}  # id of a `.grad.data` -> the tensor whose gradient it is
        self.failure: BaseException | None = None
        # The id of the last error that was told as a refusal, and the note.
        self.refusal: tuple[int, tuple[Any, ...]] = 0, ()
        self.call: FrameType | None = (
            None  # the frame of ours that the user's line called last: one function of ours may run several operations
        )
        self.base: FrameType | None = None  # the call that began the recording
        self.frame: FrameType | None = None  # the innermost call of the user's code at the last operation
        self.frames: dict[int, tuple[FrameType, int]] = {}  # kept and numbered while the recording runs
        self.lent: dict[int, list[Any]] = {}  # id of a pass of `autograd.grad` -> see messages.lend
        self.before: list[Any] = []  # what the running user code was handed
        self.old: Any = None  # `.grad` of the leaf whose accumulator is at work
        self.calls: dict[int, Call] = {}  # id of a user's frame -> where it was the last time we saw it
        self.running = True
        self.cut_off: set[int] = set()  # ids of tensors that were detached, or copied from others
        self.off = not THREAD.state.grad  # whether the user's program has switched recording off
        self.shared_memory = Shared(self._array_of, self._address_of)
        self.memory = self.shared_memory.memory  # empty until NumPy shares memory with a tensor
        self.nameless: list[Any] = []  # leaves met before they had a name
        self.beneath: dict[int, Any] = {}  # id of what was detached from a view -> the view's base
        self.used_in: dict[int, tuple[Any, str]] = {}  # of these: the library's function that uses it first
        self.unnamed: list[Any] = []  # other tensors without a name: buffers of modules, and parts of lists
        self.sought = 0  # how many of them have been searched in vain
        self.scopes: list[tuple[dict[str, Any], tuple[()]]] = []  # namespaces of programs that we run
        self.arrays: dict[int, np.ndarray] = {}  # of the user's variables when the recording began
        self.remakes: list[Any] = []  # leaves made from other tensors' numbers; kept until they are met
        self.hooks = Hooked(lambda note: self.notes.append(note))
        self.assigned = Assigned(lambda note: self.notes.append(note))
        self._lists: dict[str, Any] | None = None
        self._owners: dict[int, Any] = {}  # id of a `.grad` -> weak reference to its tensor
        self._numbers: dict[
            int, tuple[Any, int]
        ] = {}  # id of a tensor -> (weak reference, its number in the trace)

    # -- called by the core ---------------------------------------------------------------------------

    def operation(self, rule, inputs, outputs, node, args) -> None:
        """An operation ran; `node` is None if it was not recorded."""
        met = self.met
        try:
            frame, call = _user_call()
            if frame is not self.frame:
                self._moved(frame)
            before, self.call = self.call, call
            if self.memory:
                self._look(inputs, frame)
            for t in inputs:
                if id(t) not in met:
                    self._meet_operands(rule, inputs, frame)
                    break
            if len(outputs) == 1:
                (t,) = outputs
                met[id(t)] = t
                copies: Any = (snapshot(t._data),)
                wanted = None
            else:
                for t in outputs:
                    met[id(t)] = t
                copies, wanted = [snapshot(t._data) for t in outputs], [t.requires_grad for t in outputs]
            self.assigned.made(frame, call, outputs)
            if node is None:
                saved = versions = None
                if self.cut_off and not self.cut_off.isdisjoint(map(id, inputs)):
                    self.cut_off.update(map(id, outputs))
            elif node.kind == "op":
                saved, versions = node.saved, node.versions
            else:
                saved, versions = _of_function(node)
            self.notes.append((
                "operation", rule, inputs, outputs, copies, node, saved, versions,
                None if frame is None else (frame.f_code, frame.f_lasti),
                "" if node is not None or THREAD.state.grad else self._mode(),
                call is before and call is not None, self.frames.get(id(call), _NOBODY)[1], wanted,
            ))  # fmt: skip
            if node is not None and node.kind != "op":
                if type(node)._compiled:
                    self._open_compiled(node, inputs, outputs)
                else:
                    self._on_ctx(node, frame)
        except Exception as error:
            for t in outputs:  # not noted: they are met at their first use
                met.pop(id(t), None)
            self.missed("operation" if isinstance(rule, str) else rule.op or rule.__name__, error)

    @guarded
    def entered(self, what, name="") -> None:
        """A module is called, or the user enters a named scope; `what` is None for the latter."""
        frame, call = _user_call()
        if frame is not self.frame:
            self._moved(frame)
        if frame is None:
            self.notes.append(("entered", what, name, -1, -1))
            return
        known = self.frames.setdefault(id(call), (call, len(self.frames)))
        self.notes.append(("entered", what, name, frame.f_lasti, known[1]))

    @guarded
    def left(self) -> None:
        """The innermost module or scope is left."""
        self.notes.append(("left",))

    def _moved(self, frame) -> None:
        """Note the calls of the user's code that led here, if they differ from those of the last operation."""
        self.frame = frame
        chain: list[tuple[Any, ...]] = []  # calls that are new or have moved on, innermost first
        outer: Call | None = None
        here, inner = frame, -1
        while here is not None:
            known = self.frames.get(id(here))
            if known is None:
                known = self.frames[id(here)] = here, len(self.frames)
            if not here.f_code.co_filename.startswith(self.internal):
                chain.append((here, known[1], here.f_lasti, inner))
                call = self.calls.get(id(here))
                if call is not None and not here.f_code.co_flags & _RESUMED:
                    outer = (
                        call.outer
                    )  # a call that has not returned still waits in the same calls, at the same places
                    if (call.at, call.through) == (here.f_lasti, inner):
                        outer = call
                        chain.pop()
                    break
            if here is self.base:
                break
            here, inner = here.f_back, known[1]
        else:  # not called from where the recording began
            del chain[1:]
        for here, number, at, through in reversed(chain):
            outer = self.calls[id(here)] = Call(outer, number, here.f_code, at, through)
        self.notes.append(("moved", outer))

    def _mode(self) -> Any:
        """What switched recording of the graph off. If it was not the program: also where the checkpoint was called that runs, or None,
        and the name of the custom Function whose forward runs, or "".
        """
        if THREAD.state.inference:
            return "inference_mode"
        if self.off:
            return "no_grad"
        return "no_grad", self._checkpoint(sys._getframe(2)), self._forward_of(sys._getframe(2))

    def _checkpoint(self, frame) -> Any:
        """The place at which the user called the checkpoint that is running its function, or None."""
        while frame is not None and frame is not self.base:
            if frame.f_code.co_name == "checkpoint" and frame.f_code.co_filename.endswith("checkpoint.py"):
                while frame is not None and frame.f_code.co_filename.startswith(self.internal):
                    frame = frame.f_back
                return _place(frame)
            frame = frame.f_back
        return None

    def _forward_of(self, frame) -> str:
        """The name of the innermost custom Function whose forward is running, or ""."""
        while frame is not None and frame is not self.base:
            if frame.f_code.co_name == "apply" and frame.f_code.co_filename.endswith(_OF_FUNCTIONS):
                return str(getattr(frame.f_locals.get("cls"), "__name__", ""))
            frame = frame.f_back
        return ""

    def writing(self, target) -> None:
        """A tensor is about to be written: if it has not been met, its value must be noted now."""
        try:
            if self.memory:
                self._look((target,), _user_frame())
            if id(target) not in self.met and self._whose_gradient(target) is None:
                self._meet((target,), _user_frame())
        except Exception as error:
            self.missed("writing", error)

    def written(self, rule, inputs, target, node, name, args=()) -> None:
        """A tensor was written in place by the operation `name`."""
        try:
            frame = _user_frame()
            if self.memory:
                self.shared_memory.written(target, _place(frame))
            if name == "data =":
                self.shared_memory.moved(target)
            met, meta = self.met, target._meta
            if id(target) in self.grads or self.aliases or (meta is not None and meta.base is not None):
                owner = self._whose_gradient(target)
                if owner is not None:
                    self.grad_set(owner, name)
                    if id(target) not in met:
                        return  # it is known only as the `.grad` of a tensor
            if frame is not self.frame:
                self._moved(frame)
            for i, t in enumerate(inputs):
                if id(t) not in met:
                    self._meet((t,), frame, numbers=i > 0)
            if node is None:
                saved = versions = None
            else:
                saved, versions = (node.saved, node.versions) if node.kind == "op" else _of_function(node)
            self.notes.append((
                "written", rule, inputs, target, snapshot(target._data), _version(target), node, saved, versions, _maker(target),
                name, None if frame is None else (frame.f_code, frame.f_lasti), None if meta is None else _small_base(meta.base),
            ))  # fmt: skip
            if self.beneath:
                base = self.beneath.get(id(target if meta is None or meta.base is None else meta.base))
                if base is not None and name != "data =":
                    self.notes.append(
                        ("written_beneath", target, base, _small_base(base), name, _place(frame))
                    )
        except Exception as error:
            self.missed("written", error)

    def stepped(self, optimizer) -> None:
        """An optimizer has its gradients, and is about to change its parameters."""
        self._is_idle(optimizer, _user_frame())

    def _is_idle(self, optimizer, frame) -> None:
        """Each write of an optimizer is an event, so its step is noted only if there will be none."""
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if parameters and all(p.grad is None for p in parameters):
            self.notes.append(("idle", type(optimizer).__name__, len(parameters), _place(frame)))

    def mode(self, on) -> None:
        """Recording of the graph was switched on or off."""
        self.off = not on
        try:
            frame = sys._getframe(1)
            by = ("", "") if on else switch(frame, _IS_OURS.__getitem__)
            inside = library_function(frame, _IS_OURS.__getitem__)
            self._switched(on, _place(_user_frame()), by, inside)
        except Exception as error:
            self.missed("mode", error)

    def _switched(self, on, place, by, inside) -> None:
        """Note that the mode was switched, unless the library did it around mere writes, such as those that initialize a layer."""
        for i in range(len(self.notes) - 1 if on and inside else -1, -1, -1):
            kind, *note = self.notes[i]
            if kind == "mode" and not note[0] and note[1] == place and note[-1]:
                self.notes[i] = ("untold",)
                return
            if kind not in _ALIKE and not (kind == "written" and note[10] == place):
                break
        self.notes.append(("mode", on, place, *by, inside))

    @guarded
    def detached(self, source, out, how) -> None:
        """`out` shares the memory of `source` and has no history; `how` is "detach" or "data"."""
        frame, call = _user_call()
        if frame is not self.frame:
            self._moved(frame)
        self._meet((source,), frame)
        self.met[id(out)] = out
        self.shared_memory.moved(source)
        self.cut_off.add(id(out))
        self._shares(source, out)
        owner = self._whose_gradient(source)
        if owner is not None:
            self.aliases[id(out)] = owner
        inside = library_function(sys._getframe(1), _IS_OURS.__getitem__)
        self.notes.append(("detached", source, out, snapshot(out._data), how, _place(frame), inside))
        self.assigned.made(frame, call, (out,))

    def _shares(self, source, out) -> None:
        """`out` shares the memory of `source`: if that is a view, what is written into `out` changes its base, too."""
        base = self._base_of(source)
        base = self.beneath.get(id(source)) if base is None else base
        if base is not None:
            self.beneath[id(out)] = base

    def _base_of(self, t) -> Any:
        return None if t._meta is None else t._meta.base

    @guarded
    def copied(self, data, out) -> None:
        """`out` was made from Python data; of tensors in it, only the numbers were used."""
        sources = _tensors_in(data)
        if sources:
            frame, call = _user_call()
            self._meet(sources, frame)
            self.met[id(out)] = out
            self.cut_off.add(id(out))
            self.notes.append(("copied", sources, out, snapshot(out._data), _place(frame)))
            self.assigned.made(frame, call, (out,))

    @guarded
    def read(self, t, how) -> None:
        """The numbers of `t` left the graph through the method `how`: noted if there is a graph, or if `t` was met before."""
        if how == "numpy":
            self.shared(t)
        frame = _user_frame()
        self.assigned.moved_on(frame)
        if t.requires_grad:
            self._meet((t,), frame)
        if id(t) in self.met:
            inside = library_function(sys._getframe(1), _IS_OURS.__getitem__)
            self.notes.append(("read", t, snapshot(t._data), how, _place(frame), inside))

    def shared(self, t) -> None:
        """`t` shares memory with a NumPy array: from here on it may be written without an event."""
        frame = _user_frame()
        if self.memory:
            self._look((t,), frame)
        self.shared_memory.add(t, _place(frame))

    def remade(self, source, out, how) -> None:
        """The leaf `out` was made from the numbers of `source`: `how` is "Parameter", which shares memory, or "deepcopy"."""
        if how == "Parameter" and _is_copying(sys._getframe(1)):
            return  # the copy is an event, too
        if self._is_followed(source):
            frame, call = _user_call()
            self._meet((source,), frame)
            self.remakes.append(out)  # it is met, and perhaps named, when it is used
            if how == "deepcopy":
                self.unnamed.append(out)
            self.notes.append(("detached", source, out, snapshot(out._data), how, _place(frame)))
            self.assigned.made(frame, call, (out,))

    def _is_followed(self, source) -> bool:
        """Whether a user may expect a gradient to pass through `source`: it needs one, or was cut off from what needs one."""
        return source.requires_grad or (id(source) in self.met and (self.off or id(source) in self.cut_off))

    def moving(self, target, name, inputs, args, data) -> None:
        """A running statistic is about to be overwritten by the kernel `name`: neither an operation nor a counted write."""
        if self.memory:
            self.shared_memory.forget(target)

    def followed(self, out, sources) -> None:
        """A tensor was made from others without an operation: a conversion to integers, which ends their graph."""
        tensors = tuple(
            t for t in sources if isinstance(t, Variable)
        )  # linspace(x, 1, 5) has numbers beside them
        if out.is_floating_point() and all(t.dim() for t in tensors):
            return  # zeros_like and similar functions use the shape, not the numbers
        if any(t.requires_grad for t in tensors) and not out.requires_grad:
            self.operation("to", tensors, (out,), None, ())

    @guarded
    def flagged(self, t, how) -> None:
        """The method `how` changed whether `t` requires a gradient, or its hooks."""
        frame = _user_frame()
        if how == "register_hook":
            self._meet((t,), frame)
            return self.hooks.added(t)
        if not t.requires_grad:
            self._meet((t,), frame)  # a tensor that just got the flag is new; one that lost it is not
        if id(t) in self.met:
            inside = library_function(sys._getframe(1), _IS_OURS.__getitem__)
            if t.requires_grad and t.is_leaf and not inside:
                self.nameless.append(t)  # perhaps on its way into a list of parameters
            self.notes.append(("flagged", t, t.requires_grad, how, _place(frame), inside))

    @guarded
    def recomputed(self, holder, t) -> None:
        """A checkpoint has computed again what stands at `holder` in the graph."""
        self.notes.append(("recomputed", holder, t))

    @guarded
    def hooks_changed(self, what) -> None:
        """A hook is about to be registered on a node or a saved tensor, or was removed from a table of hooks."""
        self.hooks.changed(what)

    @guarded
    def grad_set(self, t, how) -> None:
        """The user's code assigned, cleared or wrote to `.grad` of `t`."""
        frame = _user_frame()
        if frame is not self.frame:
            self._moved(frame)
        if id(t) not in self.met:
            self._meet((t,), frame)
        grad = t._meta.grad
        if grad is not None:
            self.grads[id(grad)] = grad, t
            if self.memory:
                self.shared_memory.written(grad, _place(frame))
        self.notes.append(("grad_set", t, None if grad is None else snapshot(grad._data), how, _place(frame)))

    @guarded
    def asked(self, outputs, inputs) -> None:
        """`backward` or `grad` was called for some outputs, perhaps with `inputs`. A pass follows, or an error."""
        frame = _user_frame()
        self.assigned.moved_on(frame)
        if len(self.nameless) > self.sought:
            self._name_parts(frame)
        parts = [
            [t for t in _as_tuple(what) if isinstance(t, Variable)] if what is not None else None
            for what in (outputs, inputs)
        ]
        for part in parts:
            self._meet(part or (), frame)
        self.notes.append(("asked", *parts))

    @guarded
    def granted(self, inputs, results) -> None:
        """The result of `grad`."""
        inputs, results = _as_tuple(inputs), tuple(results)
        for t, g in zip(inputs, results, strict=True):
            if isinstance(g, self.tensor_type) and isinstance(t, self.tensor_type):  # or a GradientEdge
                self.returned[id(g)] = g, t
        tensors = [t if isinstance(t, self.tensor_type) else None for t in inputs]
        self.notes.append(("granted", tensors, [None if g is None else self._numbers_of(g) for g in results]))

    @guarded
    def pass_started(self, run, roots, call) -> None:
        """A backward pass is about to begin; its dependencies are counted. Another watcher may take its notes: see messages.py."""
        frame = _user_frame()
        if self.memory:
            self._look(self.shared_memory.latest(), frame)
        self.notes.append(("pass_started", run, roots, run.deps.copy(), call, _place(frame)))
        lent: list[Any] = []
        self.notes.append(("lent_to_it", lent))
        run.watch = watch_of(self, run, roots, lent)
        if run.captures is not None and run.watch is self:
            self.lent[id(run)] = lent

    def delivered(self, run, sender, i, fn, nr, g, old, total) -> None:
        """A message reached the input buffer of `fn`."""
        try:
            self.notes.append(("delivered", sender, i, fn, nr, g, old, total))
        except Exception as error:
            self.missed("delivered", error)

    def pushed(self, run, fn) -> None:
        """`fn` has all its messages and is ready."""
        try:
            self.notes.append(("pushed", run, fn, fn.priority))
        except Exception as error:
            self.missed("pushed", error)

    def popped(self, run, node, g) -> None:
        """The engine takes `node` from the queue."""
        try:
            if isinstance(node, AccumulateGrad):
                self.old = grad_now(node)
            self.notes.append(("popped", run, node, g if node.plain else list(g)))
        except Exception as error:
            self.missed("popped", error)

    @guarded
    def handing(self, run, node, stage, grads, context=()) -> None:
        """User code is about to be handed gradients: here only if another thread registered a hook since the pass began."""
        self.before = [_numbers(g) for g in grads]

    @guarded
    def hooked(self, run, node, stage, after, nr=0) -> None:
        """User code saw, and perhaps changed, gradients."""
        self.notes.append(("hooked", node, stage, self.before, [_numbers(g) for g in after], nr))

    def applied(self, run, node, slots, grads) -> None:
        """The rule of `node` ran; for an accumulator, `.grad` was written."""
        try:
            if not isinstance(node, AccumulateGrad):
                sent = grads if run.needed is None else asked_for(run, node, grads)
                self.notes.append(("applied", node, slots, sent))
            elif slots[0] is not None and node.variable._meta.requires_grad:
                grad = node.variable._meta.grad
                self.grads[id(grad)] = grad, node.variable
                if self.memory:
                    self.shared_memory.written(grad, None)
                self._accumulated(node, slots[0], self.old, grad._data)
        except Exception as error:
            self.missed("applied", error)

    def _accumulated(self, node, g, old, new) -> None:
        """`g` was added to the gradient of a leaf, which was `old` and is now in the array `new`."""
        if id(node.variable) not in self.met:
            self._meet((node.variable,), None)
        self.notes.append(("accumulated", node, g, snapshot(new), old))

    def released(self, run, node) -> None:
        """The saved values of `node` were dropped."""
        try:
            self.notes.append(("released", node))
        except Exception as error:
            self.missed("released", error)

    def pruned(self, run, node, i) -> None:
        """Nothing is sent to operand `i`."""
        try:
            self.notes.append(("pruned", node, i))
        except Exception as error:
            self.missed("pruned", error)

    @guarded
    def retained(self, run, t, g) -> None:
        """A non-leaf that asked for it keeps its gradient."""
        self._meet((t,), None)
        grad = t._meta.grad
        self.grads[id(grad)] = grad, t
        self.notes.append(("retained", t, _maker(t), snapshot(grad._data)))

    @guarded
    def failed(self, run, error) -> None:
        """The pass ended with an exception."""
        self._not_only_refused(error)
        self.failure = error
        self.notes.append(
            (
                "failed",
                type(error).__name__,
                text_of(error),
                _place_of(error, self.internal) or _place(_user_frame()),
                run is not None,
            )
        )

    @guarded
    def refused(self, name, values, error, frame) -> None:
        """A call of the library ended with an error, which is told unless it ends the pass or the program.

        Only if the program itself made the call: it does not see what the library tries for itself, or catches. And only if
        none of its own code, such as a hook, raised the error, and it is no private one, with which a checkpoint ends a call.
        """
        private = type(error).__name__.startswith("_")
        if private or error is self.failure or _place_of(error, self.internal) is not None:
            return
        caller = self._caller(frame)
        if caller is None:
            return
        operands = [t for value in values for t in (value if type(value) in (list, tuple) else (value,))]
        operands = [t for t in operands if isinstance(t, self.tensor_type)]
        if caller is not self.frame:
            self._moved(caller)
        self._meet(operands, caller)
        op = operation_called(name)
        self.notes.append(("refused", op, operands, type(error).__name__, text_of(error), _place(caller)))
        self.refusal = id(error), self.notes[-1]

    def _caller(self, frame) -> FrameType | None:
        """The user's frame that made the call `frame`, or None if the library did."""
        caller = frame.f_back
        ours = caller is None or caller.f_code.co_filename.startswith(self.internal)
        return None if ours else caller

    def _not_only_refused(self, error) -> None:
        """An error ends more than a call: what was told of it as a refusal is told as that end."""
        known, note = self.refusal
        if known == id(error) and note[3:5] == (type(error).__name__, text_of(error)):
            at = next((i for i in reversed(range(len(self.notes))) if self.notes[i] is note), None)
            if at is not None:
                self.notes[at] = ("untold",)
        self.refusal = 0, ()

    def pass_done(self, run) -> None:
        """The pass is complete: the caller of `autograd.grad` gets access to what it collected."""
        try:
            lent = self.lent.pop(id(run), None)
            if lent is not None:
                lend(lent, map(owner, run.captured.values()))
            self.notes.append(("pass_done", run))
            run.watch = None  # otherwise the notes are a cycle that only the garbage collector frees
        except Exception as error:
            self.missed("pass_done", error)

    # -- called by torch.compile, which undoes a run before it repeats it compiled ----------------------

    def mark(self) -> tuple[Any, ...]:
        """The current state, for `restore`."""
        return (
            list(self.notes),
            dict(self.met),
            dict(self.grads),
            dict(self.frames),
            dict(self.calls),
            self.call,
            self.frame,
            self.failure,
        )

    def restore(self, mark: tuple[Any, ...]) -> None:
        """Drop what was noted since `mark`, or restore what was dropped."""
        self.notes[:] = mark[0]
        self.met, self.grads, self.frames, self.calls = (part.copy() for part in mark[1:5])
        self.call, self.frame, self.failure = mark[5:]

    # -- when the recorder itself fails ---------------------------------------------------------------

    def missed(self, what, error, place=None) -> None:
        """The recorder failed to note `what`, which ran at `place`. Raises the error under AUTOGRAD_LAB_STRICT: see guard.py."""
        if strict():
            raise error
        try:
            place = place or self.here()
        except Exception:  # the search for the line may itself be what fails
            place = None
        self.notes.append(("unrecorded", what, type(error).__name__, text_of(error), place))

    def here(self) -> Any:
        """The current place in the program."""
        return _place(_user_frame())

    # -- the rest -------------------------------------------------------------------------------------

    def _meet_operands(self, rule, inputs, frame) -> None:
        """Note the operands of an operation; the results that a rule saves with them have no names."""
        extras = getattr(rule, "extras", 0)
        self._meet(inputs[:-extras] if extras else inputs, frame)
        if extras:
            self._meet(inputs[-extras:], None)

    def _look(self, tensors, frame, last=False) -> None:
        """Note what NumPy has written into the memory of some tensors since the last check.

        last   whether the program is over, so that any line may be responsible
        """
        shared, place = self.shared_memory, _place(frame)
        for key, found, since in shared.changes(tensors, None if last else place, frame, self.base):
            where, sure = None, False
            if found is not None:
                where, sure = (found.code, instruction_at(found.code, found.line)), found.only
            owners = {}
            for t in [*shared.over(key, self.met), *self._gradients_over(key)]:
                owner = self._whose_gradient(t)
                if owner is None:
                    self.notes.append(("unnoticed", t, self._numbers_of(t), sure, where, since, place))
                elif id(owner) not in owners:
                    owners[id(owner)] = owner
                    self.notes.append(("grad_set", owner, self._numbers_of(owner.grad), "NumPy", where))

    def _gradients_over(self, key) -> list[Any]:
        """The gradients over a piece of memory that are known only as the `.grad` of a tensor."""
        array = self.shared_memory.memory[key].array
        return [g for g, _ in self.grads.values() if id(g) not in self.met and self._array_of(g) is array]

    def _whose_gradient(self, t) -> Any:
        """The tensor whose `.grad` this is, or is a view or alias of; None for others, such as a result of `grad()`."""
        meta = t._meta
        base = None if meta is None else meta.base
        for known in (t,) if base is None else (t, base):
            if id(known) in self.grads:
                owner = self.grads[id(known)][1]
                return owner if owner._meta is not None and owner._meta.grad is known else None
            if id(known) in self.aliases:
                return self.aliases[id(known)]
        return None

    @staticmethod
    def _array_of(t) -> Any:
        """The array that owns the memory of `t`; None for a number without memory of its own."""
        data = t._data if isinstance(t, Variable) else None
        return owner_of(data) if isinstance(data, np.ndarray) else None

    @staticmethod
    def _address_of(t) -> int | None:
        """What identifies the memory of `t`; None for a number without memory of its own."""
        array = Recorder._array_of(t)
        return None if array is None else id(array)

    def _numbers_of(self, t) -> Any:
        """The numbers of `t` as notes store them."""
        return snapshot(t._data)

    def _open_compiled(self, node, inputs, outputs) -> None:
        """Note the lines that a compiled call ran forward."""
        from ..compiler.entry import UsedUp
        from ..compiler.opened import forward_lines, kept_values

        if not isinstance(node, UsedUp):
            lines = forward_lines(node, [t._data for t in inputs])
            self.notes.append(("opened", node, "forward", lines, kept_values(node, outputs)))

    def _on_ctx(self, node, frame) -> None:
        """Note the tensors that a custom Function's forward keeps as attributes of ctx and its backward reads."""
        kept = []
        for name, value in on_ctx(node, (self.tensor_type, np.ndarray)):
            if isinstance(value, np.ndarray):  # stands for a tensor over its memory, if there is one
                found = next((t for t in self.met.values() if is_over(t, value)), None)
                if found is not None:
                    self.shared(found)
            else:
                found = None if value.is_inference() else value
            if found is not None:
                kept.append((name, found, found._version))
        if kept:
            self._meet([t for _, t, _ in kept], frame)
            self.notes.append(("kept_on_ctx", node, kept))

    def _meet(self, tensors, frame, numbers=False) -> None:
        """Note a tensor that is used for the first time: its value, and its name while that can still be found.

        With `numbers`, a constant without a name may have been a number in the user's code, and is named by its value.
        """
        met, grads = self.met, self.grads
        for t in tensors:
            key = id(t)
            if key in met or not isinstance(t, Variable):
                continue
            wants, meta, maker = t.requires_grad, t._meta, _maker(t)
            name = self.given.get(key, "")
            if not name:
                is_gradient = (
                    meta is not None or key in grads or key in self.aliases
                ) and self._whose_gradient(t) is not None  # a gradient is named w.grad
                if frame is not None and not is_gradient:
                    name = self.names.name(frame, t, deep=wants)
                    if self.names.passing:  # an object may hold it for good: its part is then a better name
                        self.nameless.append(t)
                if not name and maker is None:
                    if wants:
                        self.nameless.append(t)
                    elif numbers and not t._data.ndim and not is_gradient:
                        name = f"{t._data:g}"
                    elif frame is not None and not is_gradient:
                        self.unnamed.append(t)
                        user = composing_function(sys._getframe(1), _IS_OURS.__getitem__)
                        if user:
                            self.used_in[key] = t, user
            grad = None
            if meta is not None:
                if meta.base is not None:
                    self._meet((meta.base,), frame)
                if meta.grad is not None:
                    grad = snapshot(meta.grad._data)
                    grads[id(meta.grad)] = meta.grad, t
            self.notes.append(("met", t, snapshot(t._data), name, maker, wants, grad, t._box is INFERENCE))
            if self.arrays and id(self._array_of(t)) in self.arrays:  # by an earlier from_numpy() or numpy()
                self.shared_memory.add(t, _place(frame))
            self.hooks.met(t, maker)
            met[key] = t

    @guarded
    def finish(self, error, frame) -> None:
        """End the recording, and find the names that were assigned inside the block."""
        if self.memory:
            self._look(self.shared_memory.all(), frame, last=True)
        if error is not None:
            self._meet_operands_of(error)
        self.assigned.end()
        self.assigned = Assigned(_no_more)  # the old one refers to this recorder
        self.running = False
        stopped = _frames_of(error, self.internal)
        calls = [
            one for one, _ in self.frames.values() if not one.f_code.co_filename.startswith(self.internal)
        ]
        self.call = self.base = self.frame = None
        del self.hooks
        self.frames.clear()
        self.calls.clear()
        self.names = Names()
        self._not_only_refused(error)
        if self.failure is not None and self.failure is not error:
            self.notes.append(("caught",))
        if error is not None and self.failure is not error and isinstance(error, Exception):
            self.notes.append(
                ("failed", type(error).__name__, text_of(error), _place_of(error, self.internal))
            )
        self.find_names(*_namespaces(frame), *(pair for one in stopped for pair in _namespaces(one)))
        self.nameless += self.unnamed
        self._name_parts(frame, *stopped, *calls)
        self.failure = None  # an exception holds the calls that it passed through, and they this recording
        nameless = {id(t): t for t in self.nameless}
        self.notes += [
            ("part", t, f"a tensor in {user}") for t, user in self.used_in.values() if id(t) in nameless
        ]
        modules = {id(note[1]): note[1] for note in self.notes if nameless and note[0] == "entered"}
        for module in modules.values():
            for name, t in parts_of("self", module):
                if nameless.pop(id(t), None) is not None:
                    self.notes.append(("part", t, f"the {name} of the {type(module).__name__} module"))

    def _name_parts(self, *frames) -> None:
        """Name the parameters that were met before anything held them: a module initializes its own before it has a name.

        What a call holds is looked at even if the call has ended. The longest name in a `self` is taken if no other variable has one.
        """
        nameless = {id(t) for t in self.nameless if id(t) not in self.given}
        rounds: list[list[tuple[str, Any]]] = [[], [], []]
        known_globals: set[tuple[int, int]] = set()  # many calls have the same
        spaces = list(self.scopes) if nameless else []
        for frame in frames if nameless else ():
            if frame is None or frame.f_code.co_filename.startswith(self.internal):
                continue
            for scope, passing in _namespaces(frame):
                key = id(scope), id(passing)
                if scope is not frame.f_globals or key not in known_globals:
                    spaces.append((scope, passing))
                if scope is frame.f_globals:
                    known_globals.add(key)
        for scope, passing in spaces:
            for name, held in dict(scope).items():
                if may_hold_parts(type(held)) and not name.startswith(("_", "@")):
                    rounds[1 if name == "self" else 2 if name in passing else 0].append((name, held))
        for variables in rounds:
            seen: set[int] = set()  # many variables hold the same
            found: dict[int, str] = {}
            for name, held in variables:
                if nameless and id(held) not in seen:
                    seen.add(id(held))
                    for inner, t in all_parts_of(name, held) if leads_to(held, nameless) else ():
                        known = found.get(id(t), "")
                        if id(t) in nameless and (not known or (name == "self" and len(inner) > len(known))):
                            found[id(t)] = inner
            nameless -= found.keys()
            self.given.update(found)
        self.nameless = [t for t in self.nameless if id(t) in nameless]
        self.sought = len(self.nameless)

    def _meet_operands_of(self, error) -> None:
        """Note the tensors named on the user's line at which the program stopped: the operation that failed was not noted."""
        stopped, here = None, error.__traceback__
        while here is not None:
            if not here.tb_frame.f_code.co_filename.startswith(self.internal):
                stopped = here
            here = here.tb_next
        if stopped is not None:
            self._meet(named_on_line(stopped.tb_frame, stopped.tb_lineno, self.tensor_type), stopped.tb_frame)

    tensor_type: type = Variable

    def find_names(self, *namespaces) -> None:
        """Give tensors without a name the one they have in the first of these namespaces: pairs of variables, and of names that say nothing of a leaf."""
        met = self.met
        for scope, passing in namespaces:
            if met.keys().isdisjoint(map(id, list(scope.values()))):
                continue
            for name, value in dict(scope).items():
                if id(value) in met and not name.startswith("_"):
                    if name in passing and value.requires_grad and value.is_leaf:
                        continue
                    self.given.setdefault(id(value), name)

    def lists(self) -> dict[str, Any]:
        """The lists of the trace, built on the first call."""
        if self.running:
            raise RuntimeError(
                "the recording is still running: look at the trace after its `with lab.record()` block"
            )
        if self._lists is None:
            builder = self.builder(self.given, self.grads, self.returned)
            builder.apart = self.apart
            with collector.paused():
                self._lists = builder.build(self.notes)
            gradients = {**self.returned, **self.grads}
            met = {**self.met, **{i: grad for i, (grad, _) in gradients.items()}}
            self._numbers = {i: (weakref.ref(met[i]), t) for i, t in builder.tensor_ids.items() if i in met}
            self._owners = {i: weakref.ref(owner) for i, (_, owner) in self.grads.items()}
            self.notes = []
            self.met, self.grads, self.returned, self.used_in, self.beneath = {}, {}, {}, {}, {}
            self.nameless, self.unnamed = [], []
            self.scopes = []
            self.shared_memory, self.remakes, self.arrays = Shared(_no_more, _no_more), [], {}
            self.memory = self.shared_memory.memory
        return self._lists

    def owner_of(self, gradient) -> Any:
        """The tensor whose `.grad` a tensor is, or None."""
        if self.running:
            _, owner = self.grads.get(id(gradient), (None, None))
        else:
            self.lists()
            owner = self._owners.get(id(gradient), lambda: None)()
        return owner if owner is not None and owner.is_leaf and owner.grad is gradient else None

    def beginning(self, notes) -> Trace | None:
        """The trace of the first `notes` notes, if there are many more and no trace has been built from them."""
        if self.running or self._lists is not None or len(self.notes) < 2 * notes:
            return None
        return Trace(
            self.title, **self.builder(self.given, self.grads, self.returned).build(self.notes[:notes])
        )

    def number_of(self, tensor) -> int | None:
        """The number of a tensor in the finished trace, if it was met."""
        self.lists()
        known, number = self._numbers.get(id(tensor), (lambda: None, None))
        return number if known() is tensor else None

    def up_to_date(self, tensor, loss) -> bool:
        """Whether the tensors were met, and the `.grad` of the first is what the recording has."""
        if self.running:
            return id(tensor) in self.met and (loss is None or id(loss) in self.met)
        number = self.number_of(tensor)
        if number is None or (loss is not None and self.number_of(loss) is None):
            return False
        lists = self.lists()
        changes = [
            value for e in lists["events"] for t, value in _grads_after(lists["nodes"], e) if t == number
        ]
        grad = self._grad_of(tensor)
        if not changes:
            return grad is None
        v = changes[-1]
        return (None if v is None else lists["values"][v]) == grad

    def _grad_of(self, tensor) -> Any:
        """`.grad` of a tensor as a trace keeps values."""
        meta = tensor._meta
        grad = None if meta is None else meta.grad
        return None if grad is None else encode(grad._data)

    def so_far(self, frame) -> tuple[Trace, dict[int, int]]:
        """The trace so far of a running recording, and the numbers of its tensors by id."""
        if self.memory:
            self._look(self.shared_memory.all(), frame)
        self.assigned.moved_on(frame)
        self.find_names(*_namespaces(frame))
        builder = self.builder(self.given, self.grads, self.returned)
        return Trace(self.title, **builder.build(self.notes)), builder.tensor_ids


def _grads_after(nodes, e) -> list[tuple[int, int | None]]:
    """(tensor, its `.grad`) after an event that may have changed it."""
    kind = e["k"]
    if kind == "hook" and e["stage"] == "post_accumulate":
        return [(nodes[e["n"]]["tensor"], e["after"][0])]
    if kind in ("accumulate", "retain", "grad"):
        return [(e["t"], e["new" if kind == "accumulate" else "v"])]
    return []


def _no_more(_: Any) -> None:
    """In the place of what a recorder lends to its parts while it runs: without it a recording dies with its last reference."""


def _user_frame():
    """The innermost frame outside this package: the user's line that is running."""
    frame = sys._getframe(2)
    while frame is not None and _IS_OURS[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def _is_copying(frame):
    """Whether the user's line led to a `__deepcopy__` of this package."""
    while frame is not None and _IS_OURS[frame.f_code.co_filename]:
        if frame.f_code.co_name == "__deepcopy__":
            return True
        frame = frame.f_back
    return False


def _user_call():
    """That frame, and the frame of ours that it called, which is the same for all operations of one call."""
    call, frame = None, sys._getframe(2)
    while frame is not None and _IS_OURS[frame.f_code.co_filename]:
        call, frame = frame, frame.f_back
    return frame, call


def _arrays_in(frame) -> dict[int, np.ndarray]:
    """The arrays that own the memory of the NumPy arrays among the variables of a call, by id."""
    local, shared = frame.f_locals, frame.f_globals
    scopes = [scope for scope in (local, shared)[local is shared :] if _ARRAY in map(type, scope.values())]
    arrays = [x for scope in scopes for x in scope.values() if type(x) is _ARRAY]
    return {id(owner): owner for owner in map(owner_of, arrays)}


_ALIKE = {"assigned", "grad_set", "hook_added", "hook_removed", "met", "moved", "untold"}
"""Notes of what is the same whether recording is on or off."""
_ENTERING = {"__enter__", "__init__", "switched"}  # methods of a mode
_MODES = "modes.py", "grad_mode.py"  # the files that define them
_BY_THE_USER = {"switched", "detach", "data", "__get__", "requires_grad_", "retain_grad"}
"""Methods that a program calls itself: of tensors, where they are not in a file called tensor.py, and of modules."""
_SWITCHING = (*_MODES, "contextlib.py", "torch_adapter.py", "guard.py", "tensor.py", "refused.py")
_DECORATED = {
    "call",
    "hooked",
    "generate",
    "decorate_context",
    "generator_context",
}  # what runs a decorated function, here and in PyTorch


def switch(frame, is_ours) -> tuple[str, str]:
    """(name of the mode, what switched it on: "decorator"; "manager", which ends it; or "") from our frames up to the user's."""
    outermost, through = None, ""
    while frame is not None and is_ours(frame.f_code.co_filename):
        code = frame.f_code
        if code.co_name in _ENTERING and (code.co_name == "switched" or code.co_filename.endswith(_MODES)):
            outermost = frame
        elif code.co_name in _DECORATED:
            through = through or "decorator"
        if code.co_filename == contextlib.__file__:
            through = "manager"
        frame = frame.f_back
    name = "" if outermost is None else type(outermost.f_locals.get("self")).__name__
    managed = frame is not None and (
        frame.f_code.co_name == "__enter__"
        or (frame.f_back is not None and frame.f_back.f_code.co_filename == contextlib.__file__)
    )
    return name, through or ("manager" if managed else "")


def library_function(frame, is_ours) -> str:
    """The library's function that does something for its own work, as its caller knows it; "" if the user's line does it."""
    found = name = ""
    while frame is not None and is_ours(frame.f_code.co_filename):
        code, here = frame.f_code, frame.f_locals
        if code.co_filename.endswith("checkpoint.py"):
            return "checkpoint"  # perhaps computed again, in a pass
        called, own = _called(code, here), "self" in here
        if called == "__format__":  # of PyTorch's tensors, which the dispatcher of its functions calls
            return "format"
        if not code.co_filename.endswith(_SWITCHING) and called not in _BY_THE_USER:
            name = called
            if own and name in ("__init__", "__call__", "_call_impl", "_wrapped_call_impl", "forward"):
                found = type(here["self"]).__name__.lstrip("_")
            elif not name.startswith("_") and name not in _DECORATED:
                found = f"{type(here['self']).__name__}.{name}" if own else name
        frame = frame.f_back
    return found or name.strip("_")


def _called(code, here) -> str:
    """The name of a function that runs; of one that only calls another, in PyTorch's decorators or in publish.py, the other's."""
    if "func" in code.co_freevars:
        return getattr(here["func"], "__name__", "_")
    if code.co_name == "call" and "key" in code.co_freevars and "self" not in here:
        return str(here["key"]).rpartition(".")[2]
    return code.co_name


def composing_function(frame, is_ours) -> str:
    """The function of `nn` that computes with several operations, as its caller knows it; "" outside of one."""
    here = frame
    while here is not None and is_ours(here.f_code.co_filename):
        if _OF_NN.search(here.f_code.co_filename):
            return library_function(frame, is_ours)
        here = here.f_back
    return ""


_OF_NN = re.compile(r"[\\/]nn[\\/]")


def on_ctx(node, kind) -> list[tuple[str, Any]]:
    """The attributes of a custom Function's ctx that have certain types and that its backward names."""
    kept = [(name, t) for name, t in vars(node).items() if isinstance(t, kind)]
    spoken = loaded_names(backward_of(node)) if kept else set()
    return [(name, t) for name, t in kept if name in spoken]


def _tensors_in(data) -> list[Any]:
    """The tensors in nested lists and tuples."""
    if isinstance(data, Variable):
        return [data]
    return [t for item in data for t in _tensors_in(item)] if isinstance(data, (list, tuple)) else []


def _maker(t):
    """The node that made `t`, as last known: asking a view for its `grad_fn` may rebuild it, or raise."""
    edge = t._edge or t._last_edge()
    return edge[0] if type(edge) is tuple else edge.unfold()


def _version(t):
    """The version of `t`; 0 of an inference tensor, which has none."""
    box = t._box
    return 0 if box is None or box is INFERENCE else box[0]


def _place(frame):
    return None if frame is None else (frame.f_code, frame.f_lasti)


def _namespaces(frame):
    """The variables of a frame and of its module, each with the names that its loops pass from hand to hand."""
    return zip((frame.f_locals, frame.f_globals), loop_variables(frame), strict=True)


def _place_of(error, internal):
    """The innermost line of user code that an exception passed through."""
    place, here = None, error.__traceback__
    while here is not None:
        code = here.tb_frame.f_code
        if not code.co_filename.startswith(internal):
            place = code, here.tb_lasti
        here = here.tb_next
    return place


def _frames_of(error, internal) -> list[FrameType]:
    """The calls of user code that an exception passed through, from the outermost on."""
    found, here = [], None if error is None else error.__traceback__
    while here is not None:
        if not here.tb_frame.f_code.co_filename.startswith(internal):
            found.append(here.tb_frame)
        here = here.tb_next
    return found


def _as_tuple(tensors):
    return (tensors,) if isinstance(tensors, Variable) else tuple(tensors)


def _of_function(node):
    """What the node of a Function holds now and may lose later: its saved values and their versions."""
    return ((), None) if type(node)._compiled else (node._kept, None)


def _numbers(g):
    """The numbers of a gradient, which may be None."""
    data = g._data if isinstance(g, Variable) else g
    return None if data is None else snapshot(data)


def _small_base(base):
    """The numbers of a view's base, if they are few: a loop that writes row by row would copy all of them each time."""
    return None if base is None or base._data.size > SMALL else base._data.copy()
