"""The same trace from real PyTorch: `with lab.record_torch() as trace: ...`, or `lab.record_torch(fn, *inputs)`.

No part of PyTorch is rebuilt or replaced. A dispatch mode sees every operation that runs below autograd, with the same
tensors whose `grad_fn` autograd sets a moment later; a function mode sees grad mode being switched; hooks on the nodes of the
graph see a backward pass (torch_pass.py). Everything is removed again when the recording ends, even by an exception.

It writes the notes of recorder.py, so one builder makes both kinds of trace. A trace differs from the one that `lab.record()`
makes of the same program in these points:

    a write through a view     the operation's own node is hidden in CopySlices: its rule, and what it saved, are not shown
    tensors given to hooks     the result of an earlier hook is recognized; our engine makes a new tensor for each hook
    a step of LBFGS            is one write between two calls of the closure
    a checkpoint's early stop  the operation at which it stops leaves its node; here it does not
    a convolution              saves its weight even if its input needs no gradient
    reshape                    the node does not keep the new shape
    numbers written in place   keep their own dtype

README.md in this folder has the reasons, tests/trace/test_torch_recording.py tests both.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any

try:
    import torch
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.optim.optimizer import register_optimizer_step_post_hook
    from torch.overrides import TorchFunctionMode
    from torch.utils import checkpoint as checkpoints
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError as error:
    raise ImportError(
        "lab.record_torch() records a computation of PyTorch, and PyTorch cannot be imported here "
        f"({error}). Install it (pip install torch), or record the same program with lab.record() and "
        "`import autograd_lab as torch`, which needs no PyTorch.",
        name="torch",
    ) from error

from ..torchlike.autograd import collector
from ..torchlike.autograd.variable import Variable
from ..torchlike.ops.rule import RULES
from .builder import MADE_INSIDE
from .guard import strict, text_of
from .hooked import Polled
from .recorder import (
    _LAST,
    PASSED_THROUGH,
    SMALL,
    Recorder,
    Recording,
    _place_of,
    composing_function,
    library_function,
    switch,
)
from .torch_builder import (
    TorchBuilder,
    count_results,
    encode_tensor,
    gradient_of,
    has_numbers,
    is_accumulator,
    is_function,
    is_wrapped,
    node_name,
    rows_of,
    saved_names,
    version_of,
    without_numbers,
)
from .torch_pass import TorchPass, aside
from .trace import Trace

_OURS = (
    *[f"{folder}{os.sep}" for folder in (Path(torch.__file__).parent, Path(__file__).parents[1])],
    *PASSED_THROUGH,
)
_MANY = 1_000_000  # of the elements of larger memory nobody keeps book
_EMPTY = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"}
_FACTORIES = re.compile(r".*_like$|new_.*|lift_fresh.*|scalar_tensor|_local_scalar_dense|set_|resize_")
_STEP = torch.optim.Optimizer.profile_hook_step(lambda: None).__code__  # what runs the step of any optimizer
_FUNCTION_FILE = str(Path(torch.__file__).parent / "autograd" / "function.py")


def record_torch(fn: Any = None, *inputs: Any, title: str = "", names: dict[str, Any] | None = None) -> Any:
    """Record real PyTorch, as the same kind of trace that `lab.record()` makes of autograd_lab.

    with lab.record_torch() as trace: ...     whatever runs inside, forward and backward
    lab.record_torch(fn, *inputs)             fn(*inputs), then backward from its result if that requires a gradient

    title   a heading for the trace
    names   {"w1": tensor, ...} for tensors whose names the recorder cannot find in your code

    Returns a Trace; for `with`, a context manager that yields it. All hooks in PyTorch are removed at the
    end; an exception propagates, and the trace up to it is kept. Raises ImportError without PyTorch, RuntimeError inside
    another such recording, TypeError if `fn` is not callable. Written for PyTorch 2.13 on the CPU.
    """
    recording = _Recording(title, names or {})
    if fn is None:
        return recording
    if not callable(fn):
        raise TypeError(
            f"record_torch() takes a function and its inputs, not {type(fn).__name__}: "
            "record_torch(fn, *inputs), or a `with lab.record_torch() as trace:` block"
        )
    if any(isinstance(x, Variable) for x in inputs):
        raise TypeError(
            "record_torch() records PyTorch, and an input is a tensor of autograd_lab. What to do: give it tensors of PyTorch, or record the "
            "function with lab.step(fn, ...)"
        )
    with recording as trace:
        _result = fn(*inputs)  # the underscore keeps it from counting as a name of the user's
        if isinstance(_result, torch.Tensor) and _result.requires_grad:
            _result.backward()
    return trace


class _Recording:
    """The context manager: hooks into PyTorch are added at its beginning and removed at its end."""

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
        return False  # otherwise PyTorch loads its compiler only to learn not to compile this

    @classmethod
    def ignore_compile_internals(cls):
        return True  # a compiled function runs as it does without us, and is recorded as it runs

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if torch.compiler.is_compiling() or self.recorder.busy:
            return func(*args, **(kwargs or {}))
        return self.recorder.dispatched(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """Above autograd: what is not an operation, such as switching grad mode, assigning to .grad, reading numbers."""

    def __init__(self, recorder: TorchRecorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if torch.compiler.is_compiling():
            return func(*args, **(kwargs or {}))
        recorder, kwargs = self.recorder, kwargs or {}
        if recorder.busy or any(is_wrapped(t) for t in _flat(args)):
            return func(*args, **kwargs)
        recorder.calling(func, args, kwargs)
        recorder.busy = (  # what PyTorch runs inside is not an operation of the user's
            func in _ONE_EVENT or _copies_list(func, args) or sys._getframe(1).f_code is _FINDS_ACCUMULATOR
        )
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            recorder.busy = False
            recorder.ended_with(error, func, (*args, *kwargs.values()), sys._getframe())
            raise
        finally:
            recorder.busy = recorder.was_asked = False
        recorder.called(func, args, result)
        return result


class _Quietly:
    """Hide the recorder's own computations: from the user's modes and subclasses, from autograd, transforms and autocast.

    If they fail, the program continues: `failed` is set, and a note says that what the recorder was `doing` is missing.
    """

    def __init__(self, recorder: TorchRecorder, doing: str, place: Any):
        self.recorder, self.doing, self.place = recorder, doing, place
        self.failed = False

    def __enter__(self) -> _Quietly:
        recorder = self.recorder
        self.busy, recorder.busy = recorder.busy, True
        if not self.busy:
            grad = torch._C.is_grad_enabled()
            recorder.recorded = grad
            self.guards = [make() for make in _GUARDS]
            if torch._C._autograd._profiler_enabled():
                self.guards.append(_Unprofiled())
            for guard in self.guards:
                guard.__enter__()
            torch._C._set_grad_enabled(False)
        return self

    def __exit__(self, kind, error, trace) -> bool:
        recorder = self.recorder
        if not self.busy:
            torch._C._set_grad_enabled(recorder.recorded)
            for guard in reversed(self.guards):
                guard.__exit__(None, None, None)
        recorder.busy = self.busy
        if not isinstance(error, Exception) or strict():
            return False
        self.failed = True
        recorder.missed(self.doing or "an event", error, self.place)
        return True


class _Unprofiled:
    """Keep the recorder's computations out of the user's profile."""

    def __enter__(self) -> None:
        torch._C._autograd._enable_record_function(False)

    def __exit__(self, *_: object) -> None:
        torch._C._autograd._enable_record_function(True)


_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode)
for _key in ("FuncTorchDynamicLayerBackMode", "FuncTorchVmapMode", "AutocastCPU", "AutocastCUDA"):
    _KEYS = _KEYS.add(getattr(torch._C.DispatchKey, _key))
_GUARDS = (
    torch._C.DisableTorchFunction,
    torch._C._DisableTorchDispatch,
    torch._C._AutoDispatchBelowAutograd,
    lambda: torch._C._ExcludeDispatchKeyGuard(_KEYS),
)


_CALLS: dict[Any, Any] = {
    torch.Tensor.backward: lambda t, gradient=None, retain_graph=None, create_graph=False, inputs=None: (
        t,
        inputs,
    ),
    torch.autograd.grad: lambda outputs, inputs, *args, **kwargs: (outputs, inputs),
}
_READS = {
    "item": "item", "__float__": "item", "__int__": "item", "tolist": "tolist", "numpy": "numpy", "__array__": "numpy",
}  # fmt: skip
_FINDS_ACCUMULATOR = torch.autograd.graph._get_grad_fn_or_grad_acc.__code__
_ONE_EVENT = torch.tensor, torch.Tensor.data.__get__, torch.Tensor.numpy, torch.Tensor.__array__
_ON_GRADIENTS = "zero_grad", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"
_REGISTERS = "register_hook", "register_post_accumulate_grad_hook"
_FLAGS = {"requires_grad_", "detach_", "retain_grad"}


def _flag_is_so(t, requires_grad=True, *_, **__) -> bool:
    """Whether the flag already has this value; setting it on a leaf that already requires a gradient is still an event."""
    return t.requires_grad == requires_grad and not (requires_grad and t.is_leaf)


_UNLESS_SO: dict[Any, Any] = {
    torch.Tensor.retain_grad: lambda t, *_, **__: t.is_leaf or t.retains_grad,
    torch.Tensor.requires_grad_: _flag_is_so,
    torch.Tensor.requires_grad.__set__: _flag_is_so,
}
"""Calls that set a flag, and whether it is already set: then nothing happens, and there is no event."""
_COMPARISONS = {f"aten::{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")}


_FUNCTION_MODE = _Functions.__torch_function__.__code__


class TorchRecorder(Recorder):
    """The notes of one recording of PyTorch."""

    internal = _OURS
    builder = TorchBuilder
    tensor_type = torch.Tensor

    def __init__(self, title: str, names: dict[str, Any]):
        super().__init__(title, names)
        self.busy = False  # while the recorder itself uses PyTorch, nothing is noted
        self.passes: list[TorchPass] = []  # the running backward passes, innermost last
        self.pending: Any = None  # the last operation, until autograd has given its results their history
        self.inside: FrameType | None = None  # the running call of Function.apply
        self.caller: FrameType | None = None  # the user's frame it came from, and where in it
        self.caller_place: Any = None
        self.caller_chain: Any = None
        self.caller_operands: list[Any] = []
        self.caller_through = -1
        self.candidates: list[Any] = []  # what was created inside it
        self.outside_grad = True
        self.unasked: list[Any] = []  # nodes whose Jacobian has not been computed
        self.answers: list[tuple[Any, ...]] = []  # the Jacobians of the others
        self.by = ""  # the function that ran the last write, if it is one of _ON_GRADIENTS
        self.storages: dict[int, Any] = {}  # address of memory that NumPy shares -> its bytes
        self.was_asked = False  # whether the next pass has been announced
        self.was_so = False  # whether the flag that is being set said so before
        self.hooks: Polled = Polled(lambda note: self.notes.append(note))
        self.ours: set[int] = set()  # the ids of our hooks
        self.known: dict[int, Any] = {}  # id of a custom Function's node -> the node, once noted
        self.last: tuple[Any, ...] = ()  # (frame, instruction, results) of the operation before
        self.kept: list[Any] = []  # nodes, kept alive: Python could reuse their ids
        self.grad = True
        self.recorded = True  # whether grad mode is on in the program
        # address of memory that empty() took -> a weak reference to it, and which elements were written (None: none of them)
        self.unwritten: dict[int, tuple[Any, Any]] = {}
        self.histories: dict[
            int, tuple[int, Any]
        ] = {}  # id of a view -> (the version at which its `grad_fn` was seen, that `grad_fn`)
        self.unsure: list[
            tuple[int, Any]
        ] = []  # notes of views that were met while their `grad_fn` could not be queried

    # -- in and out -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Hook into PyTorch."""
        self.grad = torch.is_grad_enabled()
        self.thread = threading.get_ident()
        _install(self)
        self.modes = (_Operations(self), _Functions(self))
        for mode in self.modes:
            mode.__enter__()

    def stop(self) -> None:
        """Remove everything from PyTorch again."""
        with ExitStack() as last:  # all of it, even if one part should fail
            last.callback(self.settle)
            last.callback(_uninstall, self)
            for mode in self.modes:
                last.callback(mode.__exit__, None, None, None)

    def here(self) -> Any:
        """The current place in the program."""
        return _place(_user_frame(sys._getframe(1)))

    def lists(self) -> dict[str, Any]:
        """The lists of the trace, built on the first call."""
        if not self.running:
            self.notes, self.answers = self.answers + self.notes, []
        found = super().lists()
        self.kept, self.known, self.last, self.candidates = [], {}, (), []
        self.histories, self.unsure, self.unwritten, self.storages = {}, [], {}, {}
        return found

    def finish(self, error, frame) -> None:
        """End the recording. The trace is built at once: notes would keep the graph alive."""
        with self.quietly("the end of the recording"):
            super().finish(error, frame)
            self.lists()
        if not self.passes:
            self.modes = ()  # they refer to this recorder

    def _grad_of(self, tensor) -> Any:
        return encode_tensor(gradient_of(tensor))

    def quietly(self, doing: str = "", place: Any = None) -> _Quietly:
        """Hide the recorder's own computations; if it fails while `doing` something, that is noted."""
        return _Quietly(self, doing, place)

    # -- the forward pass -----------------------------------------------------------------------------

    def dispatched(self, func, args, kwargs):
        """Run one operation and note it."""
        frame, name = sys._getframe(2), func._schema.name.partition("::")[2]
        if _is_stepping(frame):
            return self._stepped(name, func, args, kwargs, frame)
        before = None
        with self.quietly(name):
            before = self._before(name, func, args, kwargs, frame)
        out = func(*args, **kwargs)
        if before is not None:
            with self.quietly(name):
                self._after(name, out, frame, *before)
        return out

    def _stepped(self, op, func, args, kwargs, frame):
        """Run one operation of an optimizer: all its step does to its parameters is told as one write of each."""
        user, written = _user_frame(frame), []
        with self.quietly(op):
            if self.pending is None or self.pending[0] != "step":
                self.settle()
                if user is not self.frame:
                    self._moved(user)
                self.pending = "step", _optimizer(frame), _place(user), {}
            operands, written = _operands(func, args, kwargs)
            if self.memory:
                self._look([t for t in operands if isinstance(t, torch.Tensor)], user)
            self._meet([t for t in written if t.requires_grad], user)
        versions = [version_of(t) for t in written]
        out = func(*args, **kwargs)
        with self.quietly(op):
            self._count(op, written, versions)
            for t in written:
                if self.memory:
                    self.shared_memory.written(t, _place(user))
                if t.requires_grad:
                    self.pending[3][id(t)] = t
        return out

    def _settle_step(self, optimizer, place, parameters) -> None:
        for p in parameters.values():
            grad = [] if p.grad is None else [p.grad]
            self._meet(grad, None)
            self.notes.append((
                "written", optimizer, [p, *grad], p, encode_tensor(p), version_of(p), None, None, None, p.grad_fn, optimizer,
                place, self._small_base(p),
            ))  # fmt: skip

    def _count(self, op, written, versions) -> None:
        """Under a dispatch mode PyTorch does not count a write to a list of tensors: it is counted here."""
        for t, version in zip(written, versions, strict=True):
            if op.startswith("_foreach_") and version_of(t) == version and not t.is_inference():
                torch.autograd.graph.increment_version(t)

    def _before(self, op, func, args, kwargs, frame) -> Any:
        """Inspect an operation before it runs: (operands, what it writes, the user's frame); None to skip it."""
        if op == "detach" and (self._same_instruction(frame, args) or _is_apply(frame)):
            return None  # a result that its own node saves: the operation is not over yet
        operands, written = _operands(func, args, kwargs)
        if self._copied_to_be_saved(frame, written):
            self.pending = None
        self.settle()
        running = self.passes[-1] if self.passes else None
        engine = running if running is not None and _is_rule(frame, running) else None
        if engine is not None and not engine.create_graph:
            return None  # rules that run in an ordinary pass: the hooks see their results
        user = _user_frame(frame)
        self._enter_function(frame)
        if engine is not None and op == "add":
            engine.before_sum()
        if op == "detach" and engine is not None:
            return None  # a saved result that is unpacked
        tensors = [t for t in operands if isinstance(t, torch.Tensor)]
        self.by = _working_on_gradients(frame)
        owners = [self._whose_gradient(t) for t in written]
        if self.memory:
            self._look(tensors, user)
        self._meet([owner for owner in owners if owner is not None], user)
        only_gradients = any(owner is not None for owner in owners) and all(
            id(t) not in self.met for t in written
        )
        if not only_gradients and not _FACTORIES.fullmatch(op):
            self._meet(tensors, user)
        # A view that is written without recording does not get its history rebuilt: it may not even be queried.
        old = [
            (t, owner, self.recorded, t.grad_fn if self.recorded else None, version_of(t))
            for t, owner in zip(written, owners, strict=True)
        ]
        return operands, tensors, old, user

    def _after(self, op, out, frame, operands, tensors, old, user) -> None:
        """Keep what an operation did until it can be noted."""
        results = [t for t in _flat(out) if isinstance(t, torch.Tensor)]
        results = results or [t for t, *_ in old]  # a write to a list of tensors returns nothing
        if self.memory:
            for t in tensors:  # more than what its schema says: batch norm updates its statistics
                self.shared_memory.written(t, _place(user))
        factory = _FACTORIES.fullmatch(op) is not None
        if op in _EMPTY:
            for t in filter(_is_ordinary, results):
                self.unwritten[t.untyped_storage()._cdata] = StorageWeakRef(t.untyped_storage()), None
        elif self.unwritten:
            for t, *_ in old:
                self._is_written(t)
        # There must be no other reference to the result of a factory: PyTorch would then copy it.
        self.last = (frame, frame.f_lasti, [] if factory or op == "detach" else results)
        if factory or not results or not tensors:
            return
        copies = [self._encode(t) for t in results]
        user_place = _place(user)
        said = op
        if op.startswith("_foreach_") and library_function(frame, lambda file: file.startswith(_OURS)):
            # The program called none of these.
            said = (self.by if old else "") or op.removeprefix("_foreach_")
        if user is not self.frame:
            self._moved(user)
        before_call, self.call = self.call, _user_call(frame)[1]
        through = self.frames.get(id(self.call), (None, -1))[1]
        same_call = self.call is not None and self.call is before_call
        if old:
            self.pending = ("written", op, user_place, operands, old, copies, said)
        else:
            for t in results:
                self.met[id(t)] = t
            self.assigned.made(user, self.call, results)
            off: Any = "" if self.recorded else "no_grad"
            if torch.is_inference_mode_enabled():
                off = "inference_mode"
            elif off:
                off = off, self._checkpoint(frame), "" if self.off else self._forward_of(frame)
            returned = frame.f_code is _FUNCTION_MODE and _is_apply(frame.f_back)
            self.pending = (
                "operation",
                said,
                user_place,
                operands,
                results,
                copies,
                off,
                same_call,
                through,
                returned,
                library_function(frame, lambda file: file.startswith(_OURS)) if op == "detach" else "",
            )

    def settle(self) -> None:
        """Note the last operation: by now its results have their `grad_fn` and their version."""
        if self.running:
            self.hooks.look(self.ours)
        pending, self.pending = self.pending, None
        if pending is not None:
            with self.quietly(pending[1], pending[2]) as trying:
                getattr(self, "_settle_" + pending[0])(*pending[1:])
            if trying.failed and pending[0] == "operation":
                for t in pending[4]:  # not noted: they are met at their first use
                    self.met.pop(id(t), None)
        if self.inside is not None and not _is_running(self.inside, sys._getframe(1)):
            with self.quietly("a custom Function"):
                self._leave_function()

    def _settle_operation(
        self, op, place, operands, results, copies, off, same_call, through, returned, inside
    ) -> None:
        if self.inside is not None:
            self.candidates += results
        node = next((t.grad_fn for t in results if t.grad_fn is not None), None)
        if returned and is_function(node):
            return  # the view that PyTorch makes of an operand where a custom Function returns that
        if is_function(node):
            node = None  # a step of a custom Function's forward, which has ended
        if op == "detach" and node is not None:
            for t in results:  # a saved result that is unpacked by the node that is running
                self.met.pop(id(t), None)
            return
        if op == "detach" and node is None and len(results) == 1:
            self.notes.append(("detached", operands[0], results[0], copies[0], "detach", place, inside))
            self._shares(operands[0], results[0])
            self.cut_off.add(id(results[0]))
            return
        saved = None
        operands = edges_first(node, operands)
        given = [t for t in operands if t is not None]
        if node is None and self.cut_off and not self.cut_off.isdisjoint(map(id, operands)):
            self.cut_off.update(map(id, results))
        if node is not None:
            saved = self._saved(node, given, results)
            extras = count_results(node, results)
            for t, copy in zip(results[extras:], copies[extras:], strict=True):
                self.notes.append(("met", t, copy, "", None, False))
            for t in results:
                self._is_fresh(t)
            self._make_sure(given)
            results, copies = results[:extras], copies[:extras]
            self._ask(node, given, results)
        self.notes.append((
            "operation", op, operands, results, copies, node, saved, None, place, off, same_call, through,
        ))  # fmt: skip

    def _settle_written(self, op, place, operands, before, copies, said) -> None:
        if op == "detach_":
            return  # nothing was written
        self._count(op, [t for t, *_ in before], [version for *_, version in before])
        for (t, owner, recorded, old, _), copy in zip(before, copies, strict=False):
            if owner is not None:  # for a view or alias of its `.grad` the whole gradient is noted
                now = copy if id(t) in self.grads else encode_tensor(gradient_of(owner))
                self.notes.append(("grad_set", owner, now, self.by or said, place))
                if id(t) not in self.met:
                    continue  # it is known only as the `.grad` of a tensor
            fn = t.grad_fn if recorded else old
            node = None if fn is old else fn
            if recorded:
                self._is_fresh(t)
            given = [x for x in operands if x is not None]
            rest = edges_first(fn, without(t, given), beside=1) if len(before) == 1 else []
            version = version_of(t)
            if (
                node is not None and t._base is not None
            ):  # its base now has CopySlices, and it a node made afterwards
                self.notes.append(
                    ("written_through_view", [t, *rest], copy, version, fn, said, place, self._small_base(t))
                )
                continue
            if self.inside is not None:
                self.candidates.append(t)
            saved = None
            if node is not None:
                saved = self._saved(node, operands, [t])
                self._ask(node, operands, [t])
            self.notes.append((
                "written", said, [t, *rest], t, copy, version, node, saved, None, fn, said, place, self._small_base(t),
            ))  # fmt: skip
            base = self.beneath.get(id(t if t._base is None else t._base)) if self.beneath else None
            if base is not None:
                numbers = None if base.numel() > SMALL else self._encode(base)
                self.notes.append(("written_beneath", t, base, numbers, said, place))

    def _base_of(self, t) -> Any:
        return t._base

    # Asking a view for its `grad_fn` may rebuild it, or raise: after a write into its memory, and depending on the grad mode.
    # So it is queried only where autograd itself has just done so.

    def history(self, t) -> Any:
        """The node that made `t`, if it may be queried; for a view that was written since, its node before the write."""
        if t._is_view():
            version, fn = self.histories.get(id(t), (0, None))
            if version_of(t) != version:
                return fn
        return t.grad_fn

    def _is_fresh(self, t) -> None:
        """Remember the history of a view that autograd has just created, or queried."""
        if t._is_view():
            self.histories[id(t)] = version_of(t), t.grad_fn

    def _make_sure(self, operands) -> None:
        """Autograd has queried these operands' history: now it is known for those just met."""
        unsure, self.unsure = self.unsure, []
        for i, t in unsure:
            if any(t is x for x in operands):
                self._is_fresh(t)
                kind, t, copy, name, _, *rest = self.notes[i]
                self.notes[i] = kind, t, copy, name, t.grad_fn, *rest

    def _ask(self, node, operands, results) -> None:
        """Compute the Jacobian of a small node, except in a pass to some inputs only: the node would compute only those."""
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

    def calling(self, func, args, kwargs) -> None:
        """A function of PyTorch is about to be called: the previous operation is over, and ran in the previous mode."""
        if _is_stepping(sys._getframe(2)):
            return
        self.settle()
        if func in _UNLESS_SO:
            with self.quietly(func.__name__):
                self.was_so = _UNLESS_SO[func](*args, **kwargs)
        if func in _CALLS:
            with self.quietly("the call of a backward pass"):
                self.asked(*_CALLS[func](*args, **kwargs))

    def ended_with(self, error, func, values, frame) -> None:
        """A function of PyTorch ended with an error."""
        self.settle()
        with self.quietly("an error"):
            if func not in _CALLS:
                self.refused(func.__name__, values, error, frame)
            elif error is not self.failure:  # before its pass began
                self.failure = error
                self.notes.append(
                    ("failed", type(error).__name__, text_of(error), _place(_user_frame(frame)))
                )

    def _caller(self, frame) -> FrameType | None:
        """As in recorder.py; functions that PyTorch has in Python call those of the modes."""
        caller = frame.f_back
        if caller is not None and caller.f_code.co_name == "handle_torch_function":
            frame = caller.f_back
        return super()._caller(frame)

    def called(self, func, args, result) -> None:
        """A function of PyTorch that may not be an operation has been called."""
        name = getattr(func, "__name__", "")
        if name == "_set_grad_enabled":
            self.mode(torch.is_grad_enabled())
        elif not (name in _READS and args[0].requires_grad) and _is_stepping(sys._getframe(2)):
            return  # but of the loss that a closure returned it is said that it is read
        elif _copies_list(func, args) or (
            (name in ("__get__", "__set__", "__deepcopy__", *_REGISTERS) or name in _READS or name in _FLAGS)
            and args
            and isinstance(args[0], torch.Tensor)
        ):
            self.settle()
            frame = _user_frame(sys._getframe(1))
            with self.quietly(name):
                self._called(func, name, args, result, frame)

    def _called(self, func, name, args, result, frame) -> None:
        t: Any = args[0] if args else None
        place = _place(frame)
        if _copies_list(func, args):
            self._copied(t, result, frame)
        elif name == "__deepcopy__":
            self.remade(t, result, "deepcopy")
        elif name in _READS:
            if _READS[name] == "numpy":
                self.shared(t)
            if t.requires_grad:
                self._meet((t,), frame)
            if id(t) in self.met:
                inside = library_function(sys._getframe(1), lambda file: file.startswith(_OURS))
                self.notes.append(("read", t, encode_tensor(t), _READS[name], place, inside))
        elif func in _UNLESS_SO and self.was_so:
            pass
        elif name in _FLAGS or func == torch.Tensor.requires_grad.__set__:
            if not t.requires_grad:
                self._meet((t,), frame)  # a tensor that just got the flag is new; one that lost it is not
            if id(t) in self.met:
                how = name if name in _FLAGS else "requires_grad_"
                inside = library_function(sys._getframe(1), lambda file: file.startswith(_OURS))
                if t.requires_grad and t.is_leaf and not inside:
                    self.nameless.append(t)  # perhaps on its way into a list of parameters
                self.notes.append(("flagged", t, t.requires_grad, how, place, inside))
        elif name in _REGISTERS:
            self._meet((t,), frame)
            self.hooks.seen(t, t._backward_hooks, t._post_accumulate_grad_hooks)
        elif func == torch.Tensor.grad_fn.__get__:
            self._is_fresh(t)
        elif func == torch.Tensor.grad.__set__:
            if frame is not self.frame:
                self._moved(frame)
            self._meet((t,), frame)
            grad = args[1]
            if grad is not None:
                self.grads[id(grad)] = grad, t
            how = _working_on_gradients(sys._getframe(1)) or "assigned"
            self.notes.append(("grad_set", t, encode_tensor(grad), how, place))
        elif func == torch.Tensor.data.__get__:
            self._meet((t,), frame)
            self.met[id(result)] = result
            self.cut_off.add(id(result))
            owner = self._whose_gradient(t)
            if owner is not None:
                self.aliases[id(result)] = owner
            self.notes.append(("detached", t, result, encode_tensor(result), "data", place))
            self._shares(t, result)
            self.assigned.made(*_user_call(sys._getframe(1)), (result,))
        elif func == torch.Tensor.data.__set__:
            self._meet(args[:2], frame)
            self.shared_memory.moved(t)
            self.notes.append(("written", "data =", list(args[:2]), t, encode_tensor(t), version_of(t), None, None, None,
                               None, "data =", place))  # fmt: skip

    def _copied(self, data, out, frame) -> None:
        """`out` was made from Python data; of tensors in it, only the numbers were used."""
        sources = [t for t in _flat(data) if isinstance(t, torch.Tensor)]
        if sources:
            self._meet(sources, frame)
            self.met[id(out)] = out
            self.cut_off.add(id(out))
            self.notes.append(("copied", sources, out, encode_tensor(out), _place(frame)))
            self.assigned.made(*_user_call(sys._getframe(1)), (out,))

    def asked(self, outputs, inputs) -> None:
        """`backward` or `grad` was called for some outputs, perhaps with `inputs`. A pass follows, or an error."""
        parts = [
            None if x is None else [t for t in _flat(x) if isinstance(t, torch.Tensor)]
            for x in (outputs, inputs)
        ]
        frame = _user_frame(sys._getframe(1))
        if len(self.nameless) > self.sought:
            self._name_parts(frame)
        for part in parts:
            self._meet(part or (), frame)
        self.notes.append(("asked", *parts))
        self.was_asked = True

    def mode(self, on) -> None:
        """Recording of the graph was switched on or off."""
        frame = sys._getframe(1)
        if _optimizer(frame):  # for its own work, or to let the closure record
            self.grad, self.off = on, not on
            return
        self.settle()
        with self.quietly("grad mode"):
            self._enter_function(frame)
            if on != self.grad:
                self.grad, self.off = on, not on
                by = ("", "") if on else switch(frame, lambda file: file.startswith(_OURS))
                inside = library_function(frame, lambda file: file.startswith(_OURS))
                self._switched(on, _place(_user_frame(frame)), by, inside)

    def _same_instruction(self, frame, args) -> bool:
        """Whether this comes from the same Python call as the previous operation, and uses its result."""
        if not self.last or not args:
            return False
        before, instruction, results = self.last
        return before is frame and instruction == frame.f_lasti and any(t is args[0] for t in results)

    def _copied_to_be_saved(self, frame, written) -> bool:
        """Whether the previous operation was the copy that an in-place operation saves of what it will overwrite."""
        if (
            not written
            or self.pending is None
            or self.pending[:1] != ("operation",)
            or self.pending[1] != "clone"
        ):
            return False
        before, instruction, _ = self.last
        return before is frame and instruction == frame.f_lasti and self.pending[3][0] is written[0]

    def entered(self, what, name="") -> None:
        """A module is called, or the user enters a named scope."""
        self.settle()
        frame, call = _user_call(sys._getframe(1))
        with self.quietly("the call of a module"):
            if frame is not self.frame:
                self._moved(frame)
            known = (call, -1) if call is None else self.frames.setdefault(id(call), (call, len(self.frames)))
            self.notes.append(("entered", what, name, -1 if frame is None else frame.f_lasti, known[1]))

    def left(self) -> None:
        """The innermost module or scope is left."""
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
            before, self.caller_chain = self.frame, None
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
        made = [
            (t, fn) for t in candidates if is_function(fn := self.history(t)) and id(fn) not in self.known
        ]
        if made:
            node = made[0][1]
            if self.caller_chain is not None:
                self.notes.append(self.caller_chain)
                self.frame = self.caller
            self._function(node, [t for t, fn in made if fn is node], self.caller_operands, self.caller,
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
        self._on_ctx(node, user)

    def _operands_of(self, node) -> list[Any]:
        """The tensors that the edges of a node lead to."""
        owners = {(id(fn), t.output_nr): t for t in self.met.values() if (fn := self.history(t)) is not None}
        found = [
            fn.variable if is_accumulator(fn) else owners.get((id(fn), nr))
            for fn, nr in node.next_functions
            if fn
        ]
        return [t for t in found if t is not None]

    # -- the backward pass ----------------------------------------------------------------------------

    def run_backward(self, roots, grads, keep_graph, create_graph, inputs, *args, **kwargs):
        """Replaces the function through which torch.autograd calls its engine."""
        if self.busy or any(is_wrapped(t) for t in (*roots, *grads)):
            return _ENGINE(roots, grads, keep_graph, create_graph, inputs, *args, **kwargs)
        self.settle()
        user = _user_frame(sys._getframe(1))
        if self.memory:
            with self.quietly("a look at shared memory"):
                self._look(self.shared_memory.latest(), user)
        started = self._start(
            roots, grads, keep_graph, create_graph, inputs, kwargs.get("accumulate_grad", False), user
        )
        if started is None:
            with aside(self.modes[0], create_graph):
                return _ENGINE(roots, grads, keep_graph, create_graph, inputs, *args, **kwargs)
        self.passes.append(started)
        outer_grad, self.grad = self.grad, create_graph
        try:
            started.frame = sys._getframe()
            with (
                aside(self.modes[0], create_graph) as started.apart,
                _Functions(self),
            ):  # PyTorch has suspended our mode inside a function such as backward()
                result = _ENGINE(roots, grads, keep_graph, create_graph, inputs, *args, **kwargs)
            self.settle()
            with self.quietly("the end of a backward pass"):
                started.finish(result)
                if result:
                    self.granted(inputs, result)
            return result
        except BaseException as error:
            self.settle()
            with self.quietly("the error of a backward pass"):
                started.fail(error, _place(user))
            raise
        finally:
            self.passes.pop()
            started.frame = None  # which holds the pass, and leads to all that the user's calls hold
            self.grad = outer_grad
            with self.quietly("the end of a backward pass"):
                started.remove_hooks()
                if not self.passes:
                    self._ask_all()

    def _start(self, roots, grads, keep_graph, create_graph, inputs, to_leaves, user) -> TorchPass | None:
        """Begin the notes of a pass; None if the engine will refuse it, or if they cannot be taken."""
        started = None
        with self.quietly("a backward pass") as trying:
            if not self.was_asked:
                self.asked(roots, inputs or None)
            self.was_asked = False
            known = [t for t in (*roots, *(inputs or ())) if isinstance(t, torch.Tensor)]
            if all(t.requires_grad for t in known):
                started = TorchPass(self, keep_graph, create_graph)
                started.begin(roots, grads, inputs, to_leaves, user)
        if trying.failed and started is not None:
            started.remove_hooks()
            return None
        return started

    def failed_with(self, error, place) -> None:
        """A pass ended with an exception."""
        self._not_only_refused(error)
        self.failure = error
        where = _place_of(error, self.internal) or place
        self.notes.append(("failed", type(error).__name__, text_of(error), where, True))

    # -- tensors and what is in them ------------------------------------------------------------------

    def _meet(self, tensors, frame, numbers=False) -> None:
        """Note a tensor that is used for the first time: its value, and its name while that can still be found."""
        for t in tensors:
            if not isinstance(t, torch.Tensor):
                continue
            fn = self.history(t)
            if id(t) in self.met:
                if is_function(fn) and id(fn) not in self.known:
                    # a Function without visible operations: its operands are where its edges lead
                    self._function(fn, [t], self._operands_of(fn), frame, _place(frame), -1)
                continue
            name = self.given.get(id(t), "")
            if not name and frame is not None:
                name = self.names.name(frame, t, deep=t.requires_grad)
                if self.names.passing:
                    self.nameless.append(t)
            if not name and t.requires_grad and t.is_leaf:
                self.nameless.append(t)
            elif not name and fn is None and frame is not None and self._whose_gradient(t) is None:
                self.unnamed.append(t)
                user = composing_function(sys._getframe(1), lambda file: file.startswith(_OURS))
                if user:
                    self.used_in[id(t)] = t, user
            if t._base is not None and (not self.passes or id(t._base) in self.met):
                self._meet((t._base,), frame)  # but the base of a gradient under way is not shown
            grad = gradient_of(t) if t.requires_grad and t.is_leaf else None
            if grad is not None:
                self.grads[id(grad)] = grad, t
            if fn is None and t.requires_grad and t._is_view():
                self.unsure.append((len(self.notes), t))
            self.notes.append((
                "met", t, self._encode(t), name, fn, t.requires_grad, encode_tensor(grad), t.is_inference(),
            ))  # fmt: skip
            self.hooks.seen(t, t._backward_hooks, t._post_accumulate_grad_hooks)  # from before
            self.met[id(t)] = t
            if (
                _is_ordinary(t) and not t.untyped_storage().resizable()
            ):  # from_numpy() made it, or numpy() was called
                self.shared(t)

    def _encode(self, t) -> Any:
        """The numbers of a tensor, unless nobody has written them yet: what empty() finds in its memory differs from run to run."""
        if self.unwritten and _is_ordinary(t) and t.untyped_storage()._cdata in self.unwritten:
            _, written = self.unwritten[t.untyped_storage()._cdata]
            if written is None or not (mine := _in_memory_of(t, written)).any():
                return without_numbers(t) | {"unwritten": "all"}
            if not mine.all():
                return without_numbers(t) | {"unwritten": "part"}
        return encode_tensor(t)

    def _small_base(self, t) -> Any:
        """The current numbers of the base of `t`, if they are few (see recorder.py)."""
        base = t._base
        return None if base is None or base.numel() > SMALL else self._encode(base)

    def _is_written(self, t) -> None:
        """Somebody wrote into a tensor: into all of the memory that it is in, or into a part."""
        if not _is_ordinary(t) or t.untyped_storage()._cdata not in self.unwritten:
            return
        address, size = t.untyped_storage()._cdata, t.untyped_storage().nbytes() // t.element_size()
        memory, written = self.unwritten[address]
        known = written is None or written.numel() == size  # it may be read as another dtype
        if known and t.numel() < size <= _MANY:
            written = torch.zeros(size, dtype=torch.bool) if written is None else written
            _in_memory_of(t, written).fill_(True)
        if not known or t.numel() >= size or size > _MANY or written.all():
            del self.unwritten[address]
        else:
            self.unwritten[address] = memory, written

    # -- memory that NumPy shares -----------------------------------------------------------------------

    def shared(self, t) -> None:
        """`t` shares memory with a NumPy array: from here on it may be written without an event."""
        if not _is_ordinary(t) or not t.numel():
            return
        with self.quietly("memory that NumPy shares"):
            # It will be written, and nobody will tell.
            self.unwritten.pop(t.untyped_storage()._cdata, None)
            frame = _user_frame(sys._getframe(1))
            if self.memory:
                self._look((t,), frame)
            storage = t.untyped_storage()
            if storage.data_ptr() not in self.storages:
                self.storages[storage.data_ptr()] = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
            self.shared_memory.add(t, _place(frame))

    def remade(self, source, out, how) -> None:
        """The leaf `out` was made from the numbers of `source`: `how` is "Parameter", which shares memory, or "deepcopy"."""
        self.settle()
        if self._is_followed(source):
            frame = _user_frame(sys._getframe(1))
            with self.quietly(how):
                self._meet((source,), frame)
                self.remakes.append(out)
                if how == "deepcopy":
                    self.unnamed.append(out)
                self.notes.append(("detached", source, out, encode_tensor(out), how, _place(frame)))
                self.assigned.made(*_user_call(sys._getframe(1)), (out,))

    def _array_of(self, t) -> Any:  # type: ignore[override]
        """The bytes of the memory of `t`, if NumPy shares it."""
        return self.storages.get(t.untyped_storage().data_ptr()) if _is_ordinary(t) else None

    def _address_of(self, t) -> int | None:  # type: ignore[override]
        return t.untyped_storage().data_ptr() if _is_ordinary(t) else None

    def _numbers_of(self, t) -> Any:
        return encode_tensor(t)

    def _whose_gradient(self, t) -> Any:
        for known in (t,) if t._base is None else (t, t._base):
            if id(known) in self.grads:
                owner = self.grads[id(known)][1]
                return owner if gradient_of(owner) is known else None
            if id(known) in self.aliases:
                return self.aliases[id(known)]
        return None

    def _saved(self, node, operands, results) -> list[tuple[str, Any, int]]:
        """What a node just saved, if it is an operand or a result: (name, tensor or number of a constant operand, version)."""
        self.kept.append(node)
        found: list[tuple[str, Any, int]] = []
        if is_function(node):
            return self._saved_by_user(node, results)
        inputs = getattr(RULES.get(node_name(node)), "inputs", ())
        for name in saved_names(node):
            raw = getattr(node, "_raw_saved_" + name, None)
            for one in raw if isinstance(raw, (tuple, list)) else (raw,):
                if one is not None and one.unpack_hook is not None:
                    self._note_packed(node, one, (*operands, *results))
                if one is None or one.unpack_hook is not None or one.data is None:
                    continue
                same = [
                    t for t in (*operands, *results) if isinstance(t, torch.Tensor) and _is_same(t, one.data)
                ]
                numbers = [i for i, t in enumerate(operands) if not isinstance(t, torch.Tensor)]
                if same:
                    place = inputs.index(name) if name in inputs else len(operands)
                    # y and y.detach() share their memory.
                    own = operands[place] if place < len(operands) else None
                    own = next((t for t in same if t is own), same[0])
                    found.append((name, own, version_of(own)))
                elif numbers and not one.data.dim():
                    found.append((name, numbers[0], 0))
        return found

    def _note_packed(self, node, one, near) -> None:
        """Hooks have put something in place of what a node saved: note the memory of its tensors, and which tensor's it is of those `near`.

        A checkpoint puts a holder there, and keeps its inputs; what it computes again for itself goes at once.
        """
        self.hooks.packed(node)
        if _runs_again(one.unpack_hook):
            return
        content = one.data
        holders: list[Any] = []
        if isinstance(content, checkpoints._Holder):
            content = list(self._inputs_of(one, holders))
            near = None
        parts = content.values() if isinstance(content, dict) else content
        held = [
            self._memory(t, near)
            for t in (parts if isinstance(content, (dict, list, tuple)) else (content,))
            if isinstance(t, torch.Tensor)
        ]
        self.notes.append(("packed", node, held, holders))

    def _inputs_of(self, one, holders) -> Iterator[Any]:
        """The tensors that a checkpoint keeps to compute a saved value again. Weak references to `holders`, also of those around it, are added."""
        holders.append(weakref.ref(one.data))
        for arg in _frame_of(one.unpack_hook).saved_args:
            hook = getattr(arg, "unpack_hook", None)
            if hook is None:
                yield getattr(arg, "data", None)
            elif isinstance(arg.data, checkpoints._Holder):
                yield from self._inputs_of(arg, holders)

    def _memory(self, t, near) -> tuple[Any, int, Any]:
        """(the tensor of those `near` whose memory `t` is in, or None; its bytes; `t`). Without `near`: of all that were met, the first."""
        memory = t.untyped_storage()
        among = self.met.values() if near is None else near
        address = memory.data_ptr()
        same = (
            x
            for x in among
            if isinstance(x, torch.Tensor) and _is_ordinary(x) and x.untyped_storage().data_ptr() == address
        )
        return next(same, None), memory.nbytes(), t

    def computed_again(self, frame, run) -> None:
        """A checkpoint has computed a value again: note which one, and its memory."""
        i = frame.recomp_counter[run] - 1
        holder = frame.weak_holders[i]() if 0 <= i < len(frame.weak_holders) else None
        handle = None if holder is None else holder.handles.get(run)
        if handle is not None:
            t = frame.recomputed[run][handle]
            self.notes.append(("recomputed", frame.weak_holders[i], self._memory(t, None)))

    def _saved_by_user(self, node, results) -> list[tuple[str, Any, int]]:
        """What a custom Function's forward passed to save_for_backward, in the form of `_saved`."""
        found: list[tuple[str, Any, int]] = []
        for one in node._raw_saved_tensors:
            if one.unpack_hook is not None:
                self._note_packed(node, one, results)
            elif one.data is not None:
                result = next((t for t in results if _is_same(t, one.data)), None)
                known = self.met.get(id(one.data)) if result is None else result
                name = "result" if result is not None else "saved" if known is not None else MADE_INSIDE
                found.append((name, known, 0 if known is None else version_of(known)))
        return found


_ENGINE: Any = None  # what torch.autograd calls to run a pass, and
_CALL: Any = None  # what calls a module, while recordings replace them
_AT_WORK: dict[int, TorchRecorder] = {}  # by thread
_LOCK = threading.Lock()


def _install(recorder: TorchRecorder) -> None:
    """Replace the functions through which PyTorch calls its engine, its modules and everything else that modes do not see, once for all
    threads.
    """
    global _ENGINE, _CALL
    with _LOCK:
        if not _AT_WORK:
            _ENGINE, torch.autograd._engine_run_backward = torch.autograd._engine_run_backward, _run_backward
            _CALL, torch.nn.Module.__call__ = torch.nn.Module.__call__, _call_module
            for owner, name, stand_in in _PLACES:
                before = owner.__dict__[name]
                _TAKEN.append((owner, name, before))
                made = stand_in(getattr(owner, name))
                setattr(owner, name, staticmethod(made) if isinstance(before, staticmethod) else made)
            _HANDLES.append(register_optimizer_step_post_hook(_stepping))
        _AT_WORK[recorder.thread] = recorder


def _uninstall(recorder: TorchRecorder) -> None:
    """Restore the original functions when the last recording ends."""
    with _LOCK:
        del _AT_WORK[recorder.thread]
        if not _AT_WORK:
            torch.autograd._engine_run_backward = _ENGINE
            torch.nn.Module.__call__ = _CALL
            while _TAKEN:
                setattr(*_TAKEN.pop())
            _HANDLES.pop().remove()


def _watcher() -> TorchRecorder | None:
    """The recorder of this thread, unless it is itself computing."""
    recorder = None if torch.compiler.is_compiling() else _AT_WORK.get(threading.get_ident())
    return None if recorder is None or recorder.busy else recorder


def _stepping(optimizer, args, kwargs) -> None:
    """PyTorch's hook after a step of any optimizer: a closure may have computed the gradients in it."""
    recorder = _watcher()
    if recorder is not None:
        recorder._is_idle(optimizer, _user_frame(sys._getframe(1)))


def _new_parameter(new):
    """Creates a Parameter and notes it: that is not an operation."""

    def make(cls, *args, **kwargs):
        out = new(cls, *args, **kwargs)
        recorder = _watcher()
        data = args[0] if args else kwargs.get("data")
        if recorder is not None and isinstance(data, torch.Tensor):
            maker = sys._getframe(1)
            copied = maker.f_locals.get("self") if maker.f_code.co_name == "__deepcopy__" else None
            if isinstance(copied, torch.Tensor):
                recorder.remade(copied, out, "deepcopy")
            else:
                recorder.remade(data, out, "Parameter")
        return out

    return make


def _switching(method):
    """A method of `inference_mode` that notes what it does: function modes do not see it."""

    def switched(self, *args):
        result = method(self, *args)
        recorder = _watcher()
        if recorder is not None:
            recorder.mode(torch.is_grad_enabled())
        return result

    return switched


def _computing_again(init):
    """The hooks under which a checkpoint runs again: they note each value that it keeps for its graph."""

    def begin(self, frame, run):
        init(self, frame, run)
        keep = self.pack_hook

        def pack(x):
            try:
                return keep(x)
            finally:  # the last value ends the run
                recorder, again = _watcher(), frame()
                if recorder is not None and again is not None:
                    with recorder.quietly("a checkpoint"):
                        recorder.computed_again(again, run)

        self.pack_hook = pack

    return begin


def _runs_again(unpack_hook) -> bool:
    """Whether a saved value belongs to the second run of a checkpoint."""
    return unpack_hook.__qualname__.startswith(checkpoints._recomputation_hook.__qualname__ + ".")


def _frame_of(unpack_hook) -> Any:
    """The checkpoint that the hook of one of its saved values belongs to."""
    cells = [cell.cell_contents for cell in unpack_hook.__closure__]
    return next(x for x in cells if isinstance(x, checkpoints._CheckpointFrame))


_PLACES = (
    (checkpoints._recomputation_hook, "__init__", _computing_again),
    (torch.nn.Parameter, "__new__", _new_parameter),
    (torch.inference_mode, "__enter__", _switching),
    (torch.inference_mode, "__exit__", _switching),
)
_TAKEN: list[tuple[Any, str, Any]] = []  # the original functions
_HANDLES: list[Any] = []


def _run_backward(*args, **kwargs):
    recorder = _AT_WORK.get(threading.get_ident())
    return (_ENGINE if recorder is None else recorder.run_backward)(*args, **kwargs)


def _call_module(module, *args, **kwargs):
    # PyTorch has global module hooks, but warns about them under torch.compile.
    recorder = None if torch.compiler.is_compiling() else _AT_WORK.get(threading.get_ident())
    if recorder is None:
        return _CALL(module, *args, **kwargs)
    recorder.entered(module)
    try:
        return _CALL(module, *args, **kwargs)
    except Exception as error:
        recorder.settle()
        with recorder.quietly("an error"):
            recorder.refused(type(module).__name__, (*args, *kwargs.values()), error, sys._getframe())
        raise
    finally:
        recorder.left()


def _is_apply(frame) -> bool:
    """Whether this is the call of a custom Function itself, before or after its forward."""
    return frame.f_code.co_name == "apply" and frame.f_code.co_filename == _FUNCTION_FILE


def _is_rule(frame, running) -> bool:
    """Whether the engine itself runs an operation, perhaps through the user's dispatch modes."""
    outer = here = frame
    while here is not None and here is not running.frame:
        if here.f_code.co_name == "__torch_dispatch__":
            outer = here.f_back
        here = here.f_back
    while outer.f_code.co_name in ("_fn", "inner"):  # what PyTorch wraps such a mode in
        outer = outer.f_back
    return outer.f_back is running.frame and outer.f_code is _ENGINE.__code__


def _is_same(t, data) -> bool:
    """Whether two tensors are the same view of the same memory."""
    return t is data or (
        t.layout is data.layout is torch.strided
        and has_numbers(t)
        and has_numbers(data)
        and (t.shape, t.stride(), t.dtype) == (data.shape, data.stride(), data.dtype)
        and t.data_ptr() == data.data_ptr()
    )


_UNBOUNDED = {"min": -math.inf, "max": math.inf}


def _operands(func, args, kwargs) -> tuple[list[Any], list[Any]]:
    """The operands of an operation, as tensors and as numbers where a tensor is expected; and those it writes to.

    None stands for one that was not given, such as the weight of a layer that has a bias only; a bound that was not is infinite.
    """
    operands: list[Any] = []
    written: list[Any] = []
    name = func._schema.name
    for i, declared in enumerate(func._schema.arguments):
        given = args[i] if not declared.kwarg_only and i < len(args) else kwargs.get(declared.name)
        if given is None and str(declared.type) == "Optional[Tensor]":
            given = _UNBOUNDED.get(declared.name) if name.startswith("aten::clamp") else None
            if given is None:
                operands.append(None)
        tensors = [t for t in _flat(given) if isinstance(t, torch.Tensor)]
        if declared.alias_info is not None and declared.alias_info.is_write:
            written += tensors
        operands += tensors
        takes_tensor = "Tensor" in str(declared.type) or name in _COMPARISONS
        if takes_tensor and isinstance(given, (int, float)) and not isinstance(given, bool):
            operands.append(given)
    while operands and operands[-1] is None:
        operands.pop()
    return operands, written


def without(target, operands) -> list[Any]:
    """The operands without the one that is written, once: in `x.mul_(x)` it is also another operand."""
    place = next((i for i, x in enumerate(operands) if x is target), len(operands))
    return [*operands[:place], *operands[place + 1 :]]


def edges_first(node, operands, beside=0) -> list[Any]:
    """The operands in the order of the edges: indices and masks, which have none, come last, as in our rules.

    PyTorch's functions have some of them before or between the others. `beside` these operands there are so many more.
    """
    if node is None or len(operands) + beside <= len(node.next_functions):
        return operands
    return sorted(
        operands,
        key=lambda x: isinstance(x, torch.Tensor) and not (x.is_floating_point() or x.is_complex()),
    )


def _copies_list(func, args) -> bool:
    """Whether a call makes a tensor from Python data, and so copies the numbers of tensors in it: as_tensor returns a tensor itself."""
    made = func is torch.tensor
    return made or (
        func in (torch.as_tensor, torch.asarray) and bool(args) and type(args[0]) in (list, tuple)
    )


def _flat(x) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, (tuple, list)) else [x]


def _in_memory_of(t, written) -> Any:
    """The part of the flags for each element of memory that is about a tensor in it."""
    return written.as_strided(t.shape, t.stride(), t.storage_offset())


def _is_ordinary(t) -> bool:
    """Whether a tensor has memory that NumPy could share."""
    return (
        not is_wrapped(t)
        and has_numbers(t)
        and t.layout is torch.strided
        and t.device.type == "cpu"
        and type(t) in _PLAIN
        and not t._is_zerotensor()
    )


_PLAIN = torch.Tensor, torch.nn.Parameter


def _working_on_gradients(frame: FrameType | None) -> str:
    """Which function of PyTorch that changes gradients is at work, such as zero_grad; '' for none."""
    found = ""
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        if frame.f_code.co_name in _ON_GRADIENTS:
            found = frame.f_code.co_name
        frame = frame.f_back
    return found


def _optimizer(frame: FrameType | None) -> str:
    """The name of the optimizer that runs this in its step; '' for none. A closure, or a hook, is the user's."""
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        if frame.f_code is _STEP:
            return type(frame.f_locals["self"]).__name__
        frame = frame.f_back
    return ""


def _is_stepping(frame: FrameType | None) -> bool:
    """Whether this is the work of an optimizer's step, unrecorded: a differentiable one makes nodes."""
    return not torch.is_grad_enabled() and bool(_optimizer(frame))


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
