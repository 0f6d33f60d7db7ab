"""The recorder: watches the engine at work and notes what it did.

The core calls the methods of whatever stands in `State.watch` of the thread; this module is all the core has for an audience.
While the program runs, notes are only appended: who called, and copies of numbers that may change. They become a trace
(builder.py) when somebody first looks at it, so that recording costs the program as little as possible.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from ..autograd import collector
from ..autograd.modes import THREAD, WATCHERS
from ..autograd.node import AccumulateGrad
from ..autograd.variable import Variable
from ..compiler.compiled import CompiledFunctionBackward, UsedUp
from ..compiler.opened import backward_lines, forward_lines, kept_values
from .builder import Builder, encode
from .names import Names
from .scopes import Call
from .trace import Trace

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class _Ours(dict[str, bool]):
    """{file: whether it is one of this package}; asked for several frames of every operation, so the answers are kept."""

    def __missing__(self, file: str) -> bool:
        ours = self[file] = file.startswith(_PACKAGE)
        return ours


_IS_OURS = _Ours()
_NOBODY = None, -1
# Frames that go on after they were left, perhaps called from elsewhere: of generators and coroutines.
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
SMALL = 1 << 12  # of so many numbers at most the base is copied when a view of it is written
_LARGE = 1 << 16  # larger arrays are not copied but kept: 64k numbers are far more than a trace shows


class _WithoutParentheses(type):
    """`with lab.record as trace:` enters the class itself, which Python refuses in words of its own."""

    def __enter__(cls) -> Recording:
        raise TypeError("lab.record was not called: write `with lab.record() as trace:`, with parentheses")

    def __exit__(cls, *_: object) -> None:
        pass


class record(metaclass=_WithoutParentheses):  # noqa: N801 - used like a function
    """Record what runs inside: `with lab.record() as trace: ...`.

    title   a heading for the trace
    names   {"w1": tensor, ...} for tensors whose names the recorder cannot find in your code

    The trace is complete when the block is left, also by an exception (which the trace then ends with). Recording is per
    thread; a second recording inside raises RuntimeError. The last recording of a thread is kept until the next one begins,
    so that `lab.why(x)` can look into it.
    """

    def __init__(self, title: str = "", names: dict[str, Any] | None = None):
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

    def __enter__(self) -> Recording:
        state = THREAD.state
        if state.watch is not None:
            raise RuntimeError(
                "a recording is already running in this thread: leave its `with lab.record()` block first "
                "(a cell with %%step on top is recorded without one)"
            )
        state.watch = self._recorder
        self._recorder.base = sys._getframe(1)
        WATCHERS.append(self._recorder)
        collector.hold()
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
        self._recorder.finish(error, sys._getframe(1))


class _Last(threading.local):
    recording: Recording | None = None
    torch: Any = None  # the recorder of real PyTorch that is at work (see torch_adapter.py)


_LAST = _Last()  # so that `lab.why(w)` finds what just ran; the next recording takes its place


@contextmanager
def keep_last() -> Iterator[None]:
    """A recording made in here does not become the last one: it is not the user's."""
    last = _LAST.recording
    try:
        yield
    finally:
        _LAST.recording = last


def last_recording() -> Recording | None:
    """The recording of this thread that is running, or that ran last."""
    return _LAST.recording


class scope:  # noqa: N801 - used like a function
    """Name a part of a program: what `with lab.scope("encoder"): ...` computes is one group in the stepper.

    Scopes nest, and each time one is entered makes a group of its own. Outside a recording it does nothing.
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
    """The trace of a recording, built from the notes when its lists are first looked at."""

    def __init__(self, recorder: Recorder):
        object.__setattr__(self, "_recorder", recorder)

    def __getattr__(self, name: str) -> Any:
        """The lists of the trace, and with that they are there."""
        if name not in ("sources", "values", "tensors", "nodes", "events"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__.update(self._recorder.lists())
        return self.__dict__[name]

    def beginning(self, notes: int) -> Trace | None:
        """The trace of the first `notes` notes; None if it would be most of the trace, or if the trace is built already."""
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
        """Whether the tensor object was met in the recording."""
        return self._recorder.number_of(tensor) is not None

    def find_names(self, namespace: dict[str, Any]) -> None:
        """Name tensors after the variables of a namespace that the block itself does not see."""
        self._recorder.find_names(namespace)

    def up_to_date(self, tensor: Any, loss: Any = None) -> bool:
        """Whether this recording knows the tensors, and `.grad` is still as it left it."""
        return self._recorder.up_to_date(tensor, loss)

    def why(self, tensor: Any, loss: Any = None, name: str = "") -> Any:
        """Why the gradient of a tensor is what it is (see Trace.why); inside the block too, about what ran so far."""
        if not self._recorder.running:
            return super().why(tensor, loss, name)
        from .why import find, why

        trace, numbers = self._recorder.so_far(sys._getframe(1))
        asked = [t if isinstance(t, (str, int, type(None))) else numbers.get(id(t)) for t in (tensor, loss)]
        if asked[0] is None or (loss is not None and asked[1] is None):
            raise KeyError("this tensor was not used in the recording so far")
        return why(trace, find(trace, asked[0]), asked[1], name)

    title = property(lambda self: self._recorder.title)


class Recorder:
    """The notes of one recording: a list of (name of a Builder method, its arguments)."""

    internal: tuple[str, ...] = (_PACKAGE,)  # frames of these files are not the user's
    builder: type[Builder] = Builder

    def __init__(self, title: str, names: dict[str, Any]):
        self.title = title
        self.given = {id(t): name for name, t in names.items()}
        self.names = Names()
        self.notes: list[tuple[Any, ...]] = []
        self.met: dict[int, Any] = {}  # id -> tensor; kept, or Python could give the id out again
        self.grads: dict[
            int, tuple[Any, Any]
        ] = {}  # id of a `.grad` -> (it, its tensor); kept for the same reason
        self.failure: BaseException | None = None
        self.call: FrameType | None = (
            None  # the frame of ours that the user's line called last: one function of ours may do several operations
        )
        self.base: FrameType | None = None  # the call that began the recording
        self.frame: FrameType | None = None  # the innermost call of the user's code at the last operation
        self.frames: dict[int, tuple[FrameType, int]] = {}  # kept and numbered while the recording runs
        self.calls: dict[
            int, Call
        ] = {}  # id of a frame of the user's -> where it was when we came through it last
        self.running = True
        self._lists: dict[str, Any] | None = None
        self._numbers: dict[
            int, tuple[Any, int]
        ] = {}  # id of a tensor -> (weak reference, its number in the trace)

    # -- called by the core ---------------------------------------------------------------------------

    def operation(self, rule, inputs, outputs, node, args) -> None:
        """An operation ran; `node` is None if it was not recorded."""
        frame, call = _user_call()
        if frame is not self.frame:
            self._moved(frame)
        before, self.call = self.call, call
        met = self.met
        for t in inputs:
            if id(t) not in met:
                self._meet_operands(rule, inputs, frame)
                break
        if len(outputs) == 1:
            (t,) = outputs
            met[id(t)] = t
            data = t._data
            copies: Any = (data.copy() if data.size <= _LARGE else data,)
            wanted = None
        else:
            for t in outputs:
                met[id(t)] = t
            copies, wanted = [_copy(t._data) for t in outputs], [t.requires_grad for t in outputs]
        if node is None:
            saved = versions = None
        elif node.kind == "op":
            saved, versions = node.saved, node.versions
        else:
            saved, versions = _of_function(node)
        self.notes.append((
            "operation", rule, inputs, outputs, copies, node, saved, versions,
            None if frame is None else (frame.f_code, frame.f_lasti), "" if THREAD.state.grad else self._mode(),
            call is before and call is not None, self.frames.get(id(call), _NOBODY)[1], wanted,
        ))  # fmt: skip
        if node is not None and node.kind != "op" and isinstance(node, CompiledFunctionBackward):
            if isinstance(node, UsedUp):
                return
            lines = forward_lines(node, [t._data for t in inputs])
            self.notes.append(("opened", node, "forward", lines, kept_values(node, outputs)))

    def entered(self, what, name="") -> None:
        """A module is called, or a scope named by the user entered; `what` is None for the latter."""
        frame, call = _user_call()
        if frame is not self.frame:
            self._moved(frame)
        if frame is None:
            self.notes.append(("entered", what, name, -1, -1))
            return
        known = self.frames.setdefault(id(call), (call, len(self.frames)))
        self.notes.append(("entered", what, name, frame.f_lasti, known[1]))

    def left(self) -> None:
        """The module or scope entered last is left."""
        self.notes.append(("left",))

    def _moved(self, frame) -> None:
        """Note through which calls of the user's code this one came: only when it is not the one of the last operation."""
        self.frame = frame
        chain: list[tuple[Any, ...]] = []  # calls that are new or went on, innermost first
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
                    )  # a call that has not ended still waits in the same calls, at the same places
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

    def _mode(self) -> str:
        """What switched recording of the graph off, or ''."""
        state = THREAD.state
        return "inference_mode" if state.inference else "" if state.grad else "no_grad"

    def writing(self, target) -> None:
        """A tensor is about to be written: if it has not been met, its value must be seen now."""
        if id(target) not in self.grads and id(target) not in self.met:
            self._meet((target,), _user_frame())

    def written(self, rule, inputs, target, node, name, args=()) -> None:
        """A tensor was written in place by the operation `name`."""
        owner = self.grads.get(id(target), (None, None))[1]
        if owner is not None:
            self.grad_set(owner, name)
            if id(target) not in self.met:
                return  # it is known as somebody's `.grad`, and only as that
        frame = _user_frame()
        if frame is not self.frame:
            self._moved(frame)
        for i, t in enumerate(inputs):
            if id(t) not in self.met:
                self._meet((t,), frame, numbers=i > 0)
        if node is None:
            saved = versions = None
        else:
            saved, versions = (node.saved, node.versions) if node.kind == "op" else _of_function(node)
        self.notes.append((
            "written", rule, inputs, target, _copy(target._data), target._version, node, saved, versions, target.grad_fn, name,
            None if frame is None else (frame.f_code, frame.f_lasti), _small_base(target),
        ))  # fmt: skip

    def stepped(self, optimizer) -> None:
        """An optimizer is about to change its parameters: each write is told."""

    def mode(self, on) -> None:
        """Recording of the graph was switched on or off."""
        self.notes.append(("mode", on, _place(_user_frame())))

    def detached(self, source, out, how) -> None:
        """`out` shares the memory of `source` and has no history; `how` is "detach" or "data"."""
        frame = _user_frame()
        if frame is not self.frame:
            self._moved(frame)
        self._meet((source,), frame)
        self.met[id(out)] = out
        self.notes.append(("detached", source, out, _copy(out._data), how, _place(frame)))

    def copied(self, data, out) -> None:
        """`out` was made from Python data; if there are tensors in it, only their numbers were taken."""
        sources = _tensors_in(data)
        if sources:
            frame = _user_frame()
            self._meet(sources, frame)
            self.met[id(out)] = out
            self.notes.append(("copied", sources, out, _copy(out._data), _place(frame)))

    def read(self, t, how) -> None:
        """The numbers of `t` left the graph, through the method `how`. Tensors nobody has met are none of our business."""
        if id(t) in self.met:
            self.notes.append(("read", t, _copy(t._data), how, _place(_user_frame())))

    def looked(self, t, how) -> None:
        """A tensor was asked for a truth value or a number: the program may go on differently, the graph does not."""

    def moving(self, target, name, inputs, args, data) -> None:
        """A running statistic is about to be overwritten by the kernel `name`: no operation, and no write that is counted."""

    def made(self, t) -> None:
        """A tensor was made of nothing (`zeros`, `arange`): a leaf, met when it is used."""

    def followed(self, out, sources) -> None:
        """A tensor came from others by no operation: it is met when it is used."""

    def drawing(self, generator) -> None:
        """Random numbers are about to be drawn."""

    def drew(self, name, args, out) -> None:
        """The kernel `name` has drawn `out`: a constant as all others."""

    def seeded(self, generator) -> None:
        """A generator was asked for its state, or put into another."""

    def flagged(self, t, how) -> None:
        """Whether `t` requires grad was changed by the method `how`."""
        frame = _user_frame()
        if not t.requires_grad:
            self._meet((t,), frame)  # a tensor that just got the flag is new; one that lost it was there
        if id(t) in self.met:
            self.notes.append(("flagged", t, t.requires_grad, how, _place(frame)))

    def grad_set(self, t, how) -> None:
        """`.grad` of `t` was assigned, cleared or written to by the user's code."""
        frame = _user_frame()
        if id(t) not in self.met:
            self._meet((t,), frame)
        grad = t._meta.grad
        if grad is not None:
            self.grads[id(grad)] = grad, t
        self.notes.append(("grad_set", t, None if grad is None else _copy(grad._data), how, _place(frame)))

    def asked(self, outputs, inputs) -> None:
        """`backward` or `grad` was called for some outputs, perhaps with `inputs`. A pass follows, or an error."""
        frame = _user_frame()
        parts = [
            [t for t in _as_tuple(what) if isinstance(t, Variable)] if what is not None else None
            for what in (outputs, inputs)
        ]
        for part in parts:
            self._meet(part or (), frame)
        self.notes.append(("asked", *parts))

    def sent(self, gradients) -> None:
        """These are the gradients of the outputs, or None."""

    def granted(self, inputs, results) -> None:
        """What `grad` returned."""
        for t, g in zip(_as_tuple(inputs), results, strict=True):
            if isinstance(g, Variable):
                self.grads[id(g)] = g, t

    def pass_started(self, run, roots, call) -> None:
        """A backward pass is about to begin; its dependencies are counted."""
        self.notes.append(("pass_started", run, roots, dict(run.deps), call, _place(_user_frame())))

    def delivered(self, run, sender, i, fn, nr, g, old, total) -> None:
        """A message reached the input buffer of `fn`."""
        self.notes.append(("delivered", sender, i, fn, nr, g, old, total))

    def pushed(self, run, fn) -> None:
        """`fn` has all its messages and is ready."""
        self.notes.append(("pushed", run, fn, fn.priority))

    def popped(self, run, node, g) -> None:
        """The engine takes `node` from the queue."""
        old = None
        if isinstance(node, AccumulateGrad):
            grad = node.variable._meta.grad
            old = None if grad is None else _copy(grad._data)
        self.notes.append(("popped", run, node, g if node.plain else list(g), old))

    def hooked(self, run, node, stage, before, after) -> None:
        """User code saw, perhaps changed, gradients."""
        self.notes.append(("hooked", node, stage, _copies(before), _copies(after)))

    def applied(self, run, node, slots, grads) -> None:
        """The rule of `node` ran; for an accumulator, `.grad` was written."""
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            if slots[0] is not None and leaf._meta.requires_grad:
                if id(leaf) not in self.met:
                    self._meet((leaf,), None)
                grad = leaf._meta.grad
                self.grads[id(grad)] = grad, leaf
                self.notes.append(("accumulated", node, slots[0], _copy(grad._data)))
        else:
            if run.needed is not None:  # what nobody asked for is not sent, nor computed by PyTorch
                edges = zip(grads, node.next_functions, strict=False)
                grads = [g if fn in run.needed else None for g, (fn, _) in edges]
            self.notes.append(("applied", node, slots, grads))
            if isinstance(node, CompiledFunctionBackward):
                self.notes.append(("opened", node, "backward", backward_lines(node, slots), ()))

    def released(self, run, node) -> None:
        """The saved values of `node` were dropped."""
        self.notes.append(("released", node))

    def pruned(self, run, node, i) -> None:
        """Nothing is sent to operand `i`."""
        self.notes.append(("pruned", node, i))

    def retained(self, run, t, g) -> None:
        """A non-leaf that asked for it keeps its gradient."""
        self._meet((t,), None)
        self.notes.append(("retained", t, t.grad_fn, _copy(t._meta.grad._data)))

    def failed(self, run, error) -> None:
        """The pass ended with an exception."""
        self.failure = error
        self.notes.append(("failed", type(error).__name__, str(error), _place(_user_frame())))

    def pass_done(self, run) -> None:
        """The pass is complete."""
        self.notes.append(("pass_done", run))

    # -- called by torch.compile: a run that is made again compiled is taken back -----------------------

    def mark(self) -> tuple[Any, ...]:
        """All there is now, for `restore`."""
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
        """Forget what was noted since `mark`, or take back what was forgotten."""
        self.notes, self.met, self.grads, self.frames, self.calls = (part.copy() for part in mark[:5])
        self.call, self.frame, self.failure = mark[5:]

    # -- the rest -------------------------------------------------------------------------------------

    def _meet_operands(self, rule, inputs, frame) -> None:
        """Note the operands of an operation; nobody has named the results that a rule saves beside them."""
        extras = getattr(rule, "extras", 0)
        self._meet(inputs[:-extras] if extras else inputs, frame)
        if extras:
            self._meet(inputs[-extras:], None)

    def _meet(self, tensors, frame, numbers=False) -> None:
        """Note a tensor that is used for the first time: its value, and its name while that can still be found.

        With `numbers`, a constant without a name may have been a number in the user's code, and is called by it.
        """
        met = self.met
        for t in tensors:
            if id(t) not in met and isinstance(t, Variable):
                met[id(t)] = t
                wants, meta = t.requires_grad, t._meta
                name = self.given.get(id(t), "")
                if not name and frame is not None and id(t) not in self.grads:  # a gradient is w.grad
                    name = self.names.name(frame, t, deep=wants)
                if not name and numbers and not wants and not t._data.ndim and t.grad_fn is None:
                    name = f"{t._data:g}"
                if meta is not None and meta.base is not None:
                    self._meet((meta.base,), frame)
                self.notes.append(("met", t, _copy(t._data), name, t.grad_fn, wants))

    def finish(self, error, frame) -> None:
        """The recording ends; find the names that assignments inside the block gave."""
        self.running = False
        self.call = self.base = self.frame = None
        self.frames.clear()
        self.calls.clear()
        self.names = Names()
        if error is not None and self.failure is not error and isinstance(error, Exception):
            self.notes.append(("failed", type(error).__name__, str(error), _place_of(error, self.internal)))
        self.find_names(frame.f_locals, frame.f_globals)

    def find_names(self, *namespaces) -> None:
        """Tensors without a name get the one they have in the first of these namespaces."""
        met = self.met
        for scope in namespaces:
            if met.keys().isdisjoint(map(id, list(scope.values()))):
                continue
            for name, value in dict(scope).items():
                if id(value) in met and not name.startswith("_"):
                    self.given.setdefault(id(value), name)

    def lists(self) -> dict[str, Any]:
        """The lists of the trace, built on the first call."""
        if self.running:
            raise RuntimeError(
                "the recording is still running: look at the trace after its `with lab.record()` block"
            )
        if self._lists is None:
            builder = self.builder(self.given, self.grads)
            with collector.paused():
                self._lists = builder.build(self.notes)
            met = {**self.met, **{i: grad for i, (grad, _) in self.grads.items()}}
            self._numbers = {i: (weakref.ref(met[i]), t) for i, t in builder.tensor_ids.items() if i in met}
            self.notes = []
            self.met, self.grads = {}, {}
        return self._lists

    def beginning(self, notes) -> Trace | None:
        """The trace of the first `notes` notes, if there are many more and no trace has been built of them."""
        if self.running or self._lists is not None or len(self.notes) < 2 * notes:
            return None
        return Trace(self.title, **self.builder(self.given, self.grads).build(self.notes[:notes]))

    def number_of(self, tensor) -> int | None:
        """The number of a tensor in the finished trace, if it was met."""
        self.lists()
        known, number = self._numbers.get(id(tensor), (lambda: None, None))
        return number if known() is tensor else None

    def up_to_date(self, tensor, loss) -> bool:
        """Whether the tensors were met, and `.grad` of the first is what the recording says it is."""
        if self.running:
            return id(tensor) in self.met and (loss is None or id(loss) in self.met)
        number = self.number_of(tensor)
        if number is None or (loss is not None and self.number_of(loss) is None):
            return False
        lists = self.lists()
        changes = [
            e for e in lists["events"] if e["k"] in ("accumulate", "retain", "grad") and e["t"] == number
        ]
        grad = self._grad_of(tensor)
        if not changes:
            return grad is None
        v = changes[-1]["new" if changes[-1]["k"] == "accumulate" else "v"]
        return (None if v is None else lists["values"][v]) == grad

    def _grad_of(self, tensor) -> Any:
        """`.grad` of a tensor as a trace keeps values."""
        meta = tensor._meta
        grad = None if meta is None else meta.grad
        return None if grad is None else encode(grad._data)

    def so_far(self, frame) -> tuple[Trace, dict[int, int]]:
        """The trace up to now of a recording that is running, and the numbers of its tensors by id."""
        self.find_names(frame.f_locals, frame.f_globals)
        builder = self.builder(self.given, self.grads)
        return Trace(self.title, **builder.build(self.notes)), builder.tensor_ids


def _user_frame():
    """The innermost frame outside this package: the user's line that is running."""
    frame = sys._getframe(2)
    while frame is not None and _IS_OURS[frame.f_code.co_filename]:
        frame = frame.f_back
    return frame


def _user_call():
    """That frame, and the frame of ours that it called: the same for all the operations of one call."""
    call, frame = None, sys._getframe(2)
    while frame is not None and _IS_OURS[frame.f_code.co_filename]:
        call, frame = frame, frame.f_back
    return frame, call


def _tensors_in(data) -> list[Any]:
    """The tensors in nested lists and tuples."""
    if isinstance(data, Variable):
        return [data]
    return [t for item in data for t in _tensors_in(item)] if isinstance(data, (list, tuple)) else []


def _place(frame):
    return None if frame is None else (frame.f_code, frame.f_lasti)


def _place_of(error, internal):
    """The innermost line of the user's that an exception came through."""
    place, here = None, error.__traceback__
    while here is not None:
        code = here.tb_frame.f_code
        if not code.co_filename.startswith(internal):
            place = code, here.tb_lasti
        here = here.tb_next
    return place


def _as_tuple(tensors):
    return (tensors,) if isinstance(tensors, Variable) else tuple(tensors)


def _of_function(node):
    """What the node of a Function holds now and may lose later: its saved values and their versions, in one."""
    return ((), None) if isinstance(node, CompiledFunctionBackward) else (node._kept, None)


def _copy(data):
    return data.copy() if data.size <= _LARGE else data


def _small_base(t):
    """The numbers of the tensor that `t` is a view of, if they are few: a loop that writes row by row would copy them all each time."""
    base = None if t._meta is None else t._meta.base
    return None if base is None or base._data.size > SMALL else base._data.copy()


def _copies(tensors):
    return [None if t is None else _copy(t._data) for t in tensors]
