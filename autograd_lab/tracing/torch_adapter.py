"""The same trace from real PyTorch: `with lab.record_torch() as trace: ...`, or `lab.record_torch(fn, *inputs)`.

Nothing of PyTorch is rebuilt or replaced. A dispatch mode sees every operation that runs below autograd, with the very
tensors whose `grad_fn` autograd sets a moment later; a function mode sees grad mode being switched; hooks on the nodes of the
graph see a backward pass (torch_pass.py). Everything is taken out again when the recording ends, also by an exception.

What is written down are the notes of recorder.py, so one builder writes both kinds of trace. Where the trace of a program
differs from the one `lab.record()` makes of it here:

    a write through a view     the operation's own node is hidden in CopySlices: its rule, and what it saved, are not told
    tensors given to hooks     what a hook before has made is known; our engine wraps anew for each hook
    an optimizer's step        grad mode off, add_ and the like, grad mode on; ours is one write
    a checkpoint's early stop  the operation at which it stops has left its node; not so here
    a convolution              saves its weight even if its input needs no gradient
    reshape                    the node does not keep the new shape
    numbers written in place   keep their own dtype

README.md beside this file has the reasons, tests/trace/test_torch_recording.py holds both to it.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

try:
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError as error:
    raise ImportError(
        "lab.record_torch() records a computation of PyTorch, and PyTorch cannot be imported here "
        f"({error}). Install it (pip install torch), or record the same program with lab.record() and "
        "`import autograd_lab as torch`, which needs no PyTorch.",
        name="torch",
    ) from error

from ..autograd import collector
from .builder import MADE_INSIDE
from .recorder import _LAST, SMALL, Recorder, Recording
from .torch_builder import (
    TorchBuilder,
    count_results,
    encode_tensor,
    is_accumulator,
    is_function,
    rows_of,
    saved_names,
)
from .torch_pass import TorchPass
from .trace import Trace

_OURS = tuple(f"{folder}{os.sep}" for folder in (Path(torch.__file__).parent, Path(__file__).parents[1]))
_FACTORIES = re.compile(r".*_like$|new_.*|lift_fresh.*|scalar_tensor|_local_scalar_dense|set_|resize_")
_FUNCTION_FILE = str(Path(torch.__file__).parent / "autograd" / "function.py")


def record_torch(fn: Any = None, *inputs: Any, title: str = "", names: dict[str, Any] | None = None) -> Any:
    """Record what real PyTorch does, as the same trace that `lab.record()` makes of autograd_lab.

    with lab.record_torch() as trace: ...     whatever runs inside, forward and backward
    lab.record_torch(fn, *inputs)             fn(*inputs), then backward from its result if that requires grad

    title   a heading for the trace
    names   {"w1": tensor, ...} for tensors whose names the recorder cannot find in your code

    Returns a Trace; for `with`, a context manager that gives it. Everything that was hooked into PyTorch is removed at the
    end, and an exception passes through with the trace up to it kept. Raises ImportError without PyTorch, RuntimeError inside
    another recording of the kind, TypeError if `fn` cannot be called. Written for PyTorch 2.13 on the CPU.
    """
    recording = _Recording(title, names or {})
    if fn is None:
        return recording
    if not callable(fn):
        raise TypeError(
            f"record_torch() takes a function and its inputs, not {type(fn).__name__}: "
            "record_torch(fn, *inputs), or a `with lab.record_torch() as trace:` block"
        )
    with recording as trace:
        _result = fn(*inputs)  # with an underscore it is no name the user gave
        if isinstance(_result, torch.Tensor) and _result.requires_grad:
            _result.backward()
    return trace


class _Recording:
    """The context manager: what is hooked into PyTorch goes in at its beginning and out at its end."""

    def __init__(self, title: str, names: dict[str, Any]):
        self._recorder = TorchRecorder(title, names)

    def __enter__(self) -> Recording:
        if _LAST.torch is not None:
            raise RuntimeError(
                "a recording of PyTorch is already running: leave its `with lab.record_torch()` block first"
            )
        self._recorder.base = sys._getframe(1)
        collector.hold()
        self._recorder.start()
        _LAST.torch = self._recorder
        _LAST.recording = Recording(self._recorder)
        return _LAST.recording

    def __exit__(self, kind, error, trace):
        _LAST.torch = None
        collector.release()
        self._recorder.stop()
        self._recorder.finish(error, sys._getframe(1))


class _Operations(TorchDispatchMode):
    """Below autograd: every operation with its operands and results."""

    def __init__(self, recorder: TorchRecorder):
        super().__init__()
        self.recorder = recorder

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else PyTorch loads its compiler to be told not to compile this

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self.recorder.busy:
            return func(*args, **(kwargs or {}))
        return self.recorder.dispatched(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """Above autograd: what is no operation, such as switching grad mode, assigning to .grad, reading numbers."""

    def __init__(self, recorder: TorchRecorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        recorder, kwargs = self.recorder, kwargs or {}
        if recorder.busy or any(_is_wrapped(t) for t in _flat(args)):
            return func(*args, **kwargs)
        if func in _CALLS:
            recorder.asked(*_CALLS[func](*args, **kwargs))
            try:
                return func(*args, **kwargs)
            finally:
                recorder.was_asked = False
        result = func(*args, **kwargs)
        recorder.called(func, args, result)
        return result


_CALLS = {
    torch.Tensor.backward: lambda t, gradient=None, retain_graph=None, create_graph=False, inputs=None: (
        t,
        inputs,
    ),
    torch.autograd.grad: lambda outputs, inputs, *args, **kwargs: (outputs, inputs),
}
_READS = {"item": "item", "__float__": "item", "__int__": "item", "tolist": "tolist", "numpy": "numpy"}
_FLAGS = {"requires_grad_", "detach_", "retain_grad"}


class TorchRecorder(Recorder):
    """The notes of one recording of PyTorch."""

    internal = _OURS
    builder = TorchBuilder

    def __init__(self, title: str, names: dict[str, Any]):
        super().__init__(title, names)
        self.busy = False  # while the recorder itself uses PyTorch, nothing is noted
        self.passes: list[TorchPass] = []  # the running backward passes, innermost last
        self.pending: Any = None  # the last operation, until autograd has given its results their history
        self.inside: FrameType | None = None  # the call of Function.apply that is running
        self.caller: FrameType | None = None  # the user's frame it came from, and where in it
        self.caller_place: Any = None
        self.caller_chain: Any = None
        self.caller_operands: list[Any] = []
        self.caller_through = -1
        self.candidates: list[Any] = []  # what was made inside it
        self.outside_grad = True
        self.unasked: list[Any] = []  # nodes that have not been asked for their Jacobian
        self.answers: list[tuple[Any, ...]] = []  # what the others said
        self.clearing = False  # whether the last write came out of zero_grad
        self.was_asked = False  # whether the next pass has been announced
        self.ours: set[int] = set()  # the ids of our hooks
        self.known: dict[int, Any] = {}  # id of a custom Function's node -> the node, once noted
        self.last: tuple[Any, ...] = ()  # (frame, instruction, results) of the operation before
        self.kept: list[Any] = []  # nodes: Python could give their ids out again
        self.grad = True

    # -- in and out -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Hook into PyTorch."""
        self.grad = torch.is_grad_enabled()
        self.engine = torch.autograd._engine_run_backward
        torch.autograd._engine_run_backward = self.run_backward
        hooks = torch.nn.modules.module
        self.handles = (
            hooks.register_module_forward_pre_hook(lambda module, args: self.entered(module)),
            hooks.register_module_forward_hook(lambda module, args, result: self.left(), always_call=True),
        )
        self.modes = (_Operations(self), _Functions(self))
        for mode in self.modes:
            mode.__enter__()

    def stop(self) -> None:
        """Take everything out of PyTorch again."""
        for mode in reversed(self.modes):
            mode.__exit__(None, None, None)
        for handle in self.handles:
            handle.remove()
        torch.autograd._engine_run_backward = self.engine
        self.settle()

    def lists(self) -> dict[str, Any]:
        """The lists of the trace, built on the first call."""
        if not self.running:
            self.notes, self.answers = self.answers + self.notes, []
        found = super().lists()
        self.kept, self.known, self.last, self.candidates = [], {}, (), []
        return found

    def finish(self, error, frame) -> None:
        """The recording ends. The trace is built at once: notes would keep the graph alive."""
        super().finish(error, frame)
        self.lists()

    def _grad_of(self, tensor) -> Any:
        return encode_tensor(tensor.grad)

    @contextmanager
    def quietly(self):
        """While the recorder itself computes: nothing is noted, nothing is recorded by autograd."""
        before, self.busy = self.busy, True
        try:
            with torch.no_grad():
                yield
        finally:
            self.busy = before

    # -- the forward pass -----------------------------------------------------------------------------

    def dispatched(self, func, args, kwargs):
        """Run one operation and note it."""
        frame = sys._getframe(2)
        op = func._schema.name.partition("::")[2]
        if op == "detach" and (self._same_instruction(frame, args) or _is_apply(frame)):
            return func(*args, **kwargs)  # a result that its own node saves: the operation is not over yet
        operands, written = _operands(func, args, kwargs)
        if self._copied_to_be_saved(frame, written):
            self.pending = None
        self.settle()
        running = self.passes[-1] if self.passes else None
        engine = (
            running is not None and frame.f_back is running.frame and frame.f_code is self.engine.__code__
        )
        if engine and not running.create_graph:
            return func(
                *args, **kwargs
            )  # the rules at work in an ordinary pass: their results are seen by the hooks
        user = _user_frame(frame)
        self._enter_function(frame)
        if engine and op == "add":
            running.before_sum()
        if op == "detach" and engine:
            return func(*args, **kwargs)  # a saved result that is unpacked
        with self.quietly():
            tensors = [t for t in operands if isinstance(t, torch.Tensor)]
            self.clearing = _is_clearing(frame)
            if any(id(t) in self.grads for t in written):
                self._meet([self.grads[id(t)][1] for t in written if id(t) in self.grads], user)
            elif tensors and not _FACTORIES.fullmatch(op):
                self._meet(tensors, user)
            before = [(t, t.grad_fn) for t in written]
        out = func(*args, **kwargs)
        results = [t for t in _flat(out) if isinstance(t, torch.Tensor)]
        self.last = (frame, frame.f_lasti, results if op != "detach" else [])
        if not results or not tensors or _FACTORIES.fullmatch(op):
            return out
        with self.quietly():
            copies = [encode_tensor(t) for t in results]
        user_place = _place(user)
        if user is not self.frame:
            self._moved(user)
        before_call, self.call = self.call, _user_call(frame)[1]
        through = self.frames.get(id(self.call), (None, -1))[1]
        same_call = self.call is not None and self.call is before_call
        if before:
            self.pending = ("written", op, operands, before, copies, user_place)
        else:
            for t in results:
                self.met[id(t)] = t
            off = (
                "inference_mode"
                if torch.is_inference_mode_enabled()
                else ""
                if torch.is_grad_enabled()
                else "no_grad"
            )
            self.pending = ("operation", op, operands, results, copies, user_place, off, same_call, through)
        return out

    def settle(self) -> None:
        """Note the last operation: by now its results have their `grad_fn` and their version."""
        pending, self.pending = self.pending, None
        if pending is not None:
            with self.quietly():
                getattr(self, "_settle_" + pending[0])(*pending[1:])
        if self.inside is not None and not _is_running(self.inside, sys._getframe(1)):
            with self.quietly():
                self._leave_function()

    def _settle_operation(self, op, operands, results, copies, place, off, same_call, through) -> None:
        if self.inside is not None:
            self.candidates += results
        node = next((t.grad_fn for t in results if t.grad_fn is not None), None)
        if is_function(node):
            node = (
                None  # the forward of a custom Function was over before we looked: this was a step inside it
            )
        if op in ("detach", "alias") and node is None and len(results) == 1:
            self.notes.append(("detached", operands[0], results[0], copies[0], "detach", place))
            return
        saved = None
        if node is not None:
            saved = self._saved(node, operands, results)
            extras = count_results(node, results)
            for t, copy in zip(results[extras:], copies[extras:], strict=True):
                self.notes.append(("met", t, copy, "", None, False))
            results, copies = results[:extras], copies[:extras]
            self._ask(node, operands, results)
        self.notes.append((
            "operation", op, operands, results, copies, node, saved, None, place, off, same_call, through,
        ))  # fmt: skip

    def _settle_written(self, op, operands, before, copies, place) -> None:
        if op == "detach_":
            return  # not a number was written
        for (t, old), copy in zip(before, copies, strict=False):
            owner = self.grads.get(id(t), (None, None))[1]
            if owner is not None:
                self.notes.append(("grad_set", owner, copy, "zero_grad" if self.clearing else op, place))
                if id(t) not in self.met:
                    continue  # it is known as somebody's `.grad`, and only as that
            fn = t.grad_fn
            node = None if fn is old else fn
            rest = [x for x in operands if x is not t]
            if (
                node is not None and t._base is not None
            ):  # its base has CopySlices now, and it a node made afterwards
                self.notes.append(
                    ("written_through_view", [t, *rest], copy, t._version, fn, op, place, _small_base(t))
                )
                continue
            if self.inside is not None:
                self.candidates.append(t)
            saved = None
            if node is not None:
                saved = self._saved(node, operands, [t])
                self._ask(node, operands, [t])
            self.notes.append((
                "written", op, [t, *rest], t, copy, t._version, node, saved, None, fn, op, place, _small_base(t),
            ))  # fmt: skip

    def _ask(self, node, operands, results) -> None:
        """Ask a small node for its Jacobian, but not in a pass that wants some gradients only: it would compute only those."""
        numbers = [i for i, t in enumerate(operands) if not isinstance(t, torch.Tensor)]
        if any(i < len(node.next_functions) and node.next_functions[i][0] is not None for i in numbers):
            return
        self.unasked.append((node, operands, results))
        if all(running.needed is None for running in self.passes):
            self._ask_all()

    def _ask_all(self) -> None:
        unasked, self.unasked = self.unasked, []
        self.answers += [
            ("asked_itself", node, rows_of(node, operands, results)) for node, operands, results in unasked
        ]

    def called(self, func, args, result) -> None:
        """A function of PyTorch has been called that may be no operation."""
        name = getattr(func, "__name__", "")
        if name == "_set_grad_enabled":
            self.mode(torch.is_grad_enabled())
            return
        if not args or not isinstance(args[0], torch.Tensor):
            if func is torch.tensor:
                self._copied(args[0], result)
            return
        t, frame = args[0], _user_frame(sys._getframe(1))
        place = _place(frame)
        if (
            name not in ("__get__", "__set__")
            and name not in _READS
            and name not in _FLAGS
            and func is not torch.tensor
        ):
            return
        self.settle()
        with self.quietly():
            if func is torch.tensor:
                self._copied(t, result)
            elif name in _READS:
                if id(t) in self.met:
                    self.notes.append(("read", t, encode_tensor(t), _READS[name], place))
            elif name in _FLAGS or func == torch.Tensor.requires_grad.__set__:
                if id(t) in self.met:
                    how = name if name in _FLAGS else "requires_grad_"
                    self.notes.append(("flagged", t, t.requires_grad, how, place))
            elif func == torch.Tensor.grad.__set__:
                self._meet((t,), frame)
                if t.grad is not None:
                    self.grads[id(t.grad)] = t.grad, t
                how = "zero_grad" if _is_clearing(sys._getframe(1)) else "assigned"
                self.notes.append(("grad_set", t, encode_tensor(t.grad), how, place))
            elif func == torch.Tensor.data.__get__:
                self._meet((t,), frame)
                self.met[id(result)] = result
                self.notes.append(("detached", t, result, encode_tensor(result), "data", place))
            elif func == torch.Tensor.data.__set__:
                self._meet(args[:2], frame)
                self.notes.append(("written", "data =", list(args[:2]), t, encode_tensor(t), t._version, None, None, None,
                                   t.grad_fn, "data =", place))  # fmt: skip

    def _copied(self, data, out) -> None:
        """`out` was made from Python data; if there are tensors in it, only their numbers were taken."""
        sources = [t for t in _flat(data) if isinstance(t, torch.Tensor)]
        if sources:
            frame = _user_frame(sys._getframe(1))
            with self.quietly():
                self._meet(sources, frame)
                self.met[id(out)] = out
                self.notes.append(("copied", sources, out, encode_tensor(out), _place(frame)))

    def asked(self, outputs, inputs) -> None:
        """`backward` or `grad` was called for some outputs, perhaps with `inputs`. A pass follows, or an error."""
        self.settle()
        parts = [
            None if x is None else [t for t in _flat(x) if isinstance(t, torch.Tensor)]
            for x in (outputs, inputs)
        ]
        frame = _user_frame(sys._getframe(1))
        with self.quietly():
            for part in parts:
                self._meet(part or (), frame)
        self.notes.append(("asked", *parts))
        self.was_asked = True

    def mode(self, on) -> None:
        """Recording of the graph was switched on or off."""
        self.settle()
        frame = sys._getframe(1)
        self._enter_function(frame)
        if on != self.grad:
            self.grad = on
            frame = _user_frame(frame)
            self.notes.append(("mode", on, _place(frame)))

    def _same_instruction(self, frame, args) -> bool:
        """Whether this comes out of the same call from Python as the operation before, and takes its result."""
        if not self.last or not args:
            return False
        before, instruction, results = self.last
        return before is frame and instruction == frame.f_lasti and any(t is args[0] for t in results)

    def _copied_to_be_saved(self, frame, written) -> bool:
        """Whether the operation before was the copy that an in-place operation saves of what it will overwrite."""
        if (
            not written
            or self.pending is None
            or self.pending[:1] != ("operation",)
            or self.pending[1] != "clone"
        ):
            return False
        before, instruction, _ = self.last
        return before is frame and instruction == frame.f_lasti and self.pending[2][0] is written[0]

    def entered(self, what, name="") -> None:
        """A module is called, or a scope named by the user entered."""
        self.settle()
        frame, call = _user_call(sys._getframe(1))
        if frame is not self.frame:
            self._moved(frame)
        known = (call, -1) if call is None else self.frames.setdefault(id(call), (call, len(self.frames)))
        self.notes.append(("entered", what, name, -1 if frame is None else frame.f_lasti, known[1]))

    def left(self) -> None:
        """The module or scope entered last is left."""
        self.settle()
        super().left()

    # -- custom Functions -----------------------------------------------------------------------------

    def _enter_function(self, frame) -> None:
        """Notice that this operation is part of the forward of a custom Function."""
        if self.inside is not None or self.passes:
            return
        outermost = None
        while frame is not None:
            if _is_apply(frame):
                outermost = frame
            frame = frame.f_back
        self.inside = outermost
        if outermost is not None:
            self.outside_grad, self.grad = self.grad, False
            self.caller = _user_frame(outermost)
            self.caller_place = _place(self.caller)
            before = self.frame
            self._moved(self.caller)
            self.caller_chain, self.frame = self.notes.pop(), before
            self.caller_operands = [
                t for t in outermost.f_locals.get("args", ()) if isinstance(t, torch.Tensor)
            ]
            self.caller_through = self.frames.get(id(_user_call(outermost)[1]), (None, -1))[1]

    def _leave_function(self) -> None:
        """The forward of a custom Function is over: what it returned has a node now."""
        self.inside = None
        self.grad = self.outside_grad
        candidates, self.candidates = self.candidates, []
        made = [t for t in candidates if is_function(t.grad_fn) and id(t.grad_fn) not in self.known]
        if made:
            node = made[0].grad_fn
            self.notes.append(self.caller_chain)
            self.frame = self.caller
            self._function(node, [t for t in made if t.grad_fn is node], self.caller_operands, self.caller,
                           self.caller_place, self.caller_through)  # fmt: skip

    def _function(self, node, results, operands, user, place, through) -> None:
        """Note the node of a custom Function."""
        self.known[id(node)] = node
        results = sorted({id(t): t for t in results}.values(), key=lambda t: t.output_nr)
        self._meet(operands, user)
        for t in results:
            self.met[id(t)] = t
        self.notes.append((
            "operation", type(node).__name__.removesuffix("Backward"), operands, results, [encode_tensor(t) for t in results],
            node, self._saved(node, operands, results), None, place, "", False, through,
        ))  # fmt: skip

    def _operands_of(self, node) -> list[Any]:
        """The tensors that the edges of a node lead to."""
        owners = {(id(t.grad_fn), t.output_nr): t for t in self.met.values() if t.grad_fn is not None}
        found = [
            fn.variable if is_accumulator(fn) else owners.get((id(fn), nr))
            for fn, nr in node.next_functions
            if fn
        ]
        return [t for t in found if t is not None]

    # -- the backward pass ----------------------------------------------------------------------------

    def run_backward(self, roots, grads, keep_graph, create_graph, inputs, *args, **kwargs):
        """Stands where torch.autograd calls its engine."""
        if self.busy or any(_is_wrapped(t) for t in (*roots, *grads)):
            return self.engine(roots, grads, keep_graph, create_graph, inputs, *args, **kwargs)
        self.settle()
        user = _user_frame(sys._getframe(1))
        if not self.was_asked:
            self.asked(roots, inputs or None)
        self.was_asked = False
        to_leaves = kwargs.get("accumulate_grad", False)
        with self.quietly():
            known = [t for t in (*roots, *(inputs or ())) if isinstance(t, torch.Tensor)]
            started = None
            if all(t.requires_grad for t in known):  # else the engine refuses
                started = TorchPass(self, roots, grads, keep_graph, create_graph, inputs, to_leaves, user)
        if started is None:
            return self.engine(roots, grads, keep_graph, create_graph, inputs, *args, **kwargs)
        self.passes.append(started)
        outer_grad, self.grad = self.grad, create_graph
        try:
            started.frame = sys._getframe()
            with _Functions(self):  # PyTorch has put ours aside while it is in a function such as backward()
                result = self.engine(roots, grads, keep_graph, create_graph, inputs, *args, **kwargs)
            self.settle()
            with self.quietly():
                started.finish(result)
                for t, g in zip(inputs or (), result or (), strict=False):
                    if isinstance(g, torch.Tensor):
                        self.grads[id(g)] = g, t
            return result
        except BaseException as error:
            self.settle()
            with self.quietly():
                started.fail(error, _place(user))
            raise
        finally:
            self.passes.pop()
            self.grad = outer_grad
            if not self.passes:
                with self.quietly():
                    self._ask_all()
            started.remove_hooks()

    def failed_with(self, error, place) -> None:
        """A pass ended with an exception."""
        self.failure = error
        self.notes.append(("failed", type(error).__name__, str(error), place))

    # -- tensors and what is in them ------------------------------------------------------------------

    def _meet(self, tensors, frame, numbers=False) -> None:
        """Note a tensor that is used for the first time: its value, and its name while that can still be found."""
        for t in tensors:
            if not isinstance(t, torch.Tensor):
                continue
            if id(t) in self.met:
                if is_function(t.grad_fn) and id(t.grad_fn) not in self.known and t.grad_fn is not None:
                    # a Function that did nothing we could see: its operands are where its edges lead
                    self._function(t.grad_fn, [t], self._operands_of(t.grad_fn), frame, _place(frame), -1)
                continue
            self.met[id(t)] = t
            name = self.given.get(id(t), "")
            if not name and frame is not None:
                name = self.names.name(frame, t, deep=t.requires_grad)
            if t._base is not None and (not self.passes or id(t._base) in self.met):
                self._meet((t._base,), frame)  # but nobody is shown of what a gradient in flight is a view
            self.notes.append(("met", t, encode_tensor(t), name, t.grad_fn, t.requires_grad))

    def _saved(self, node, operands, results) -> list[tuple[str, Any, int]]:
        """What a node just saved, if it is an operand or a result: (name, tensor or number of a constant operand, version)."""
        self.kept.append(node)
        found: list[tuple[str, Any, int]] = []
        if is_function(node):
            return self._saved_by_user(node, results)
        for name in saved_names(node):
            raw = getattr(node, "_raw_saved_" + name, None)
            for one in raw if isinstance(raw, (tuple, list)) else (raw,):
                if one is None or one.unpack_hook is not None or one.data is None:
                    continue
                same = [
                    t for t in (*operands, *results) if isinstance(t, torch.Tensor) and _is_same(t, one.data)
                ]
                numbers = [i for i, t in enumerate(operands) if not isinstance(t, torch.Tensor)]
                if same:
                    found.append((name, same[0], same[0]._version))
                elif numbers and not one.data.dim():
                    found.append((name, numbers[0], 0))
        return found

    def _saved_by_user(self, node, results) -> list[tuple[str, Any, int]]:
        """What the forward of a custom Function gave to save_for_backward, as `_saved` tells it."""
        found: list[tuple[str, Any, int]] = []
        for one in node._raw_saved_tensors:
            if one.data is not None and one.unpack_hook is None:
                result = next((t for t in results if _is_same(t, one.data)), None)
                known = self.met.get(id(one.data)) if result is None else result
                name = "result" if result is not None else "saved" if known is not None else MADE_INSIDE
                found.append((name, known, 0 if known is None else known._version))
        return found


def _is_apply(frame) -> bool:
    """Whether this is the call of a custom Function itself, before or after its forward."""
    return frame.f_code.co_name == "apply" and frame.f_code.co_filename == _FUNCTION_FILE


def _is_same(t, data) -> bool:
    """Whether two tensors are the same view of the same memory."""
    return t is data or (
        (t.shape, t.stride(), t.dtype) == (data.shape, data.stride(), data.dtype)
        and t.data_ptr() == data.data_ptr()
    )


def _small_base(t) -> Any:
    """What the tensor that `t` is a view of holds now, if that is few numbers (see recorder.py)."""
    base = t._base
    return None if base is None or base.numel() > SMALL else encode_tensor(base)


def _operands(func, args, kwargs) -> tuple[list[Any], list[Any]]:
    """The operands of an operation, as tensors and as numbers where a tensor is expected; and those it writes to."""
    operands, written = [], []
    for i, declared in enumerate(func._schema.arguments):
        if declared.kwarg_only or i >= len(args):
            if declared.name not in kwargs:
                continue
            given = kwargs[declared.name]
        else:
            given = args[i]
        tensors = [t for t in _flat(given) if isinstance(t, torch.Tensor)]
        if declared.alias_info is not None and declared.alias_info.is_write:
            written += tensors
        operands += tensors
        if "Tensor" in str(declared.type) and isinstance(given, (int, float)) and not isinstance(given, bool):
            operands.append(given)
    return operands, written


def _flat(x) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, (tuple, list)) else [x]


def _is_wrapped(t) -> bool:
    """Whether this is a tensor of torch.func: it has no numbers of its own, and a graph that is not there for others."""
    return isinstance(t, torch.Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(t)


def _is_clearing(frame: FrameType | None) -> bool:
    """Whether a method zero_grad of PyTorch is at work."""
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        if frame.f_code.co_name == "zero_grad":
            return True
        frame = frame.f_back
    return False


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside of PyTorch and this package: the user's line that is running."""
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame


def _user_call(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """That frame, and the one it called: the same for all the operations of one call."""
    call = None
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        call, frame = frame, frame.f_back
    return frame, call


def _place(frame: FrameType | None) -> Any:
    return None if frame is None else (frame.f_code, frame.f_lasti)


def _is_running(frame, inner) -> bool:
    while inner is not None:
        if inner is frame:
            return True
        inner = inner.f_back
    return False


__all__ = ["Trace", "record_torch"]
