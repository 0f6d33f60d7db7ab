"""Capture: run a function once, watch it, and write down what it computes.

The function runs on real tensors, and every operation tells its watcher what it did (core/record.py). So the capture sees through calls,
loops and branches: loops are unrolled, and of a branch only the side taken is captured. What the watcher cannot follow is a *graph break*,
with the line where it happened: a number read out of a tensor, a write into an argument, a hook.

No watcher sees a number that was computed outside of operations. Therefore the function runs a second time, on other numbers: a constant
that has changed was not a constant. And each step is run the way it will run later, and must give the same bits as the function did.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..torchlike.autograd.modes import THREAD, WATCHERS
from ..torchlike.autograd.variable import NO_EDGE, Variable, pair_of
from ..torchlike.autograd.views import DEFAULT as DEFAULT_VIEW
from ..torchlike.autograd.watch import Both, Watch
from ..torchlike.dtypes import Defaults
from ..torchlike.ops.rule import FUNCTIONS, RULES
from ..torchlike.random import DEFAULT
from . import graph as ir
from .effects import Written
from .graph import Step, Value

HERE = __file__.rsplit("/", 2)[0].replace("\\", "/")


@dataclass
class Break:
    """Why a function cannot be captured as a whole, and where."""

    reason: str
    line: str = ""
    """The place in the user's code: "In [3], line 12: if x.sum() > 0:" or "model.py, line 12: ..."."""

    def __str__(self) -> str:
        return f"{self.reason} ({self.line})" if self.line else self.reason


@dataclass
class Tape:
    """The record of one run: the steps, the value of each tensor, the node of each step, and the graph breaks."""

    steps: list[Step] = field(default_factory=list)
    nodes: dict[Step, Any] = field(default_factory=dict)
    tensors: dict[Step, tuple[tuple, tuple]] = field(default_factory=dict)
    """The operands and results of each step as tensors."""
    breaks: list[Break] = field(default_factory=list)
    values: dict[int, Value] = field(default_factory=dict)
    """By id of the tensor."""
    strangers: list[tuple[Value, Any]] = field(default_factory=list)
    """Tensors that are neither inputs nor computed, in the order in which they were met."""
    keep: list[Any] = field(default_factory=list)
    """The tensors themselves: an id means nothing once its object is gone."""

    written: dict[int, Written] = field(default_factory=dict)
    """By id: the tensors that existed before the call and are written."""
    draws: bool = False
    """Whether random numbers are drawn by steps."""
    foreign: bool = False
    """Whether a tensor that was not computed requires a gradient."""
    drawn_at: str = ""
    """The first line that draws random numbers in a way that cannot be a step."""
    saved: list[Value] = field(default_factory=list)
    """What the nodes save, in the order in which a backward pass reads it; known once that pass was traced."""
    roots: list[Any] = field(default_factory=list)
    """The tensors from which a backward pass was run inside the function."""
    grads: dict[int, Any] = field(default_factory=dict)
    """By id: the tensors that existed before the call and whose `.grad` it sets or fills."""
    empty: set[int] = field(default_factory=set)
    """Those of them whose `.grad` was None when it was filled, other than because the call had set it to None."""
    left: dict[int, Any] = field(default_factory=dict)
    """By their id: the `.grad` at the end of the run."""

    def value_of(self, tensor: Any) -> Value | None:
        """The value of a tensor, if it was seen."""
        return self.values.get(id(tensor))


def is_compiling():
    """Whether a function is being captured in this thread (torch.compiler.is_compiling)."""
    return any(isinstance(one, Watcher) and one.state is THREAD.state for one in WATCHERS)


class Watcher(Watch):
    """Watches operations run, and fills a Tape."""

    def __init__(
        self,
        inputs: dict[int, Value],
        keep: Iterable[Any] = (),
        writable: Iterable[Any] = (),
        recorder: Any = None,
    ) -> None:
        """`keep`: the tensors of the inputs; `writable`: those of them that may be written; `recorder`: another watcher to tell."""
        self.tape = Tape(values=dict(inputs), keep=list(keep))
        self._inputs = frozenset(inputs)
        self._updated: set[int] = set()  # leaves that were written without recording
        self._writable = frozenset(map(id, writable))
        self._recorder = recorder
        self._made: dict[int, Any] = {}  # tensors created in this call: zeros, arange
        self._aliased: set[int] = set()  # tensors that have an alias without history
        self._stale: dict[int, Any] = {}  # views whose base was written since, with that base
        self._before: tuple[Any, Any] | None = None  # what is being written, and its old numbers

    def __enter__(self) -> Watcher:
        self.state = THREAD.state
        self.outer = self.state.watch
        self.state.watch = self if self._recorder is None else Both(self, self._recorder)
        self.state.refresh()
        WATCHERS.append(self)
        self._rng, self._drawn = DEFAULT.rng, DEFAULT.rng.bit_generator.state
        return self

    def __exit__(self, *exc: object) -> None:
        WATCHERS.remove(self)
        self.tape.left = {i: t._meta.grad for i, t in self.tape.grads.items()}
        self.state.watch = self.outer
        self.state.refresh()
        if self._rng is not DEFAULT.rng or self._drawn != DEFAULT.rng.bit_generator.state:
            self.tape.breaks.append(Break(RANDOM, self.tape.drawn_at))

    def stop(self, reason: str) -> None:
        """Note a break at the line of the user's code that is running."""
        self.tape.breaks.append(Break(reason, users_line()))

    # -- operations ----------------------------------------------------------------------------------

    def operation(self, rule: Any, inputs: tuple, outputs: tuple, node: Any, args: tuple) -> None:
        """An operation ran."""
        if self.tape.drawn_at:
            return None  # not run again, because that would draw again
        if node is not None and any(id(t) in self._updated for t in inputs):
            return self.stop("a leaf is used, and recorded, after it was written")
        if isinstance(rule, str):
            return self._named(rule, inputs, outputs, node, args)
        if rule.__name__ in COUNTED or (
            rule.__name__ in INDEXED and any(t is not None and t._data.dtype.kind == "b" for t in inputs[1:])
        ):
            return self.stop(f"how much {rule.__name__} gives depends on the numbers, not on the shapes")
        extras = getattr(rule, "extras", 0)
        if extras and len(inputs) == len(rule.inputs):  # extra results come after the operands
            inputs, outputs = inputs[:-extras], (*outputs, *inputs[-extras:])
        step = Step("call", rule.__name__, [self.value(t) for t in inputs], tuple(args), line=users_line())
        arrays = [None if t is None else t._data if isinstance(t, Variable) else t for t in inputs]
        results = [t._data for t in outputs]
        step.outs = [Value(np.shape(x), np.asarray(x).dtype) for x in results]
        if not self._settle(step, rule, inputs, arrays, results):
            return self.stop(f"{step.op} has no form that can be repeated without the library's own handling")
        self._add(step, inputs, outputs, node)
        return None

    def _named(self, name: str, inputs: tuple, outputs: tuple, node: Any, args: tuple) -> None:
        """An operation without a rule: it is not differentiable, or is a custom Function."""
        step = Step("named", name, [self.value(t) for t in inputs], tuple(args), line=users_line())
        step.outs = [Value(np.shape(t._data), np.asarray(t._data).dtype) for t in outputs]
        arrays = [t._data if isinstance(t, Variable) else t for t in inputs]
        if node is None and name in FUNCTIONS and name not in PLAIN:
            return self.stop(f"{name} has options that its watcher is not told")
        if node is not None or name not in FUNCTIONS:
            return self.stop(f"{name} is a custom Function: its two methods are Python, and stay so")
        if len(outputs) != 1 or not self._repeats(step, arrays, [outputs[0]._data]):
            return self.stop(f"{name} has no form that can be repeated without the library's own handling")
        self._add(step, inputs, outputs, None)
        return None

    def _settle(self, step: Step, rule: Any, inputs: tuple, arrays: list, results: list) -> bool:
        """Find the way to run a step that reproduces the bits of the run."""
        step.single = len(results) == 1
        if step.single and _is_view(arrays, results[0]):
            kind = placement(arrays[0], results[0], step)
            if kind is not None:
                step.how, step.args, step.inputs = "view", kind, step.inputs[:1]
                return True
        if not step.single and all(_is_view(arrays, x) for x in results):
            kinds = [placement(arrays[0], x, step) for x in results]
            if None not in kinds:
                step.how, step.args, step.inputs = "views", tuple(kinds), step.inputs[:1]
                return True
        if getattr(rule, "forward", None) is None:
            return False
        numbers = [i for i, t in enumerate(inputs) if t is not None and not isinstance(t, Variable)]
        types = [x.dtype for x in arrays if hasattr(x, "dtype")]
        meeting = np.result_type(*types) if types else np.dtype(Defaults.np)
        out = step.outs[0].dtype
        for numbers_as in dict.fromkeys([None, out, meeting, np.dtype(Defaults.np)] if numbers else [None]):
            given = list(arrays)
            for i in numbers:
                given[i] = arrays[i] if numbers_as is None else numbers_as.type(arrays[i])
            for to in (None, meeting, out, np.dtype(Defaults.np)):
                casts = tuple(
                    to if to is not None and hasattr(x, "dtype") and x.dtype != to else None for x in given
                )
                if to is not None and not any(casts):
                    continue
                step.casts = casts if any(casts) else ()
                for i in numbers:
                    x = given[i]
                    step.inputs[i] = Value(np.shape(x), np.asarray(x).dtype, array=x)
                if self._repeats(step, given, results):
                    return True
        return False

    def _repeats(self, step: Step, arrays: list, results: list) -> bool:
        try:
            again = ir.perform(step, arrays)
        except Exception:  # a rule may raise anything when it is called in an unintended way
            step.single = False
            try:
                again = ir.perform(step, arrays)
            except Exception:
                step.single = len(results) == 1
                return False
        fits = len(again) == len(results) and all(map(near, again, results))
        if not fits:
            step.single = len(results) == 1
        return fits

    def _add(self, step: Step, inputs: tuple, outputs: tuple, node: Any) -> None:
        tape = self.tape
        tape.tensors[step] = inputs, outputs
        tape.steps.append(step)
        if node is not None:
            tape.nodes[step] = node
        for value, tensor in zip(step.outs, outputs, strict=True):
            value.step = step
            tape.values[id(tensor)] = value
        tape.keep.extend(outputs)

    def value(self, tensor: Any) -> Value | None:
        """The value of an operand; a tensor met for the first time becomes a constant, noted as a stranger."""
        if tensor is None:
            return None
        base = self._stale.pop(id(tensor), None)
        if base is not None:
            if id(base) in self._updated:
                self.stop("a view of a leaf is used after the leaf was written")
            return self._fresh(tensor, base)
        known = self.tape.values.get(id(tensor))
        if known is None:
            data = tensor._data if isinstance(tensor, Variable) else tensor
            known = Value(np.shape(data), np.asarray(data).dtype, array=data)
            if isinstance(tensor, Variable):
                known.array = np.array(data)[()]
                self.tape.foreign |= tensor.requires_grad
                self.tape.values[id(tensor)] = known
                self.tape.strangers.append((known, tensor))
                self.tape.keep.append(tensor)
        return known

    # -- what is not an operation ---------------------------------------------------------------------

    def drawing(self, generator: Any) -> None:
        """Random numbers are about to be drawn; `drew` may follow and say by which kernel."""
        if not self.tape.drawn_at:
            self.tape.drawn_at = users_line() or "?"

    def drew(self, name: str, args: tuple, out: Any) -> None:
        """A kernel has drawn `out` from the default generator: a step, if the same state reproduces the numbers."""
        after = DEFAULT.rng.bit_generator.state
        step = Step("draw", name, [], args, line=users_line())
        step.outs = [Value(np.shape(out._data), np.asarray(out._data).dtype)]
        if self._rng is not DEFAULT.rng:
            return
        DEFAULT.rng.bit_generator.state = self._drawn
        (again,) = ir.perform(step, [])
        same = alike(again, out._data) and DEFAULT.rng.bit_generator.state == after
        DEFAULT.rng.bit_generator.state = after
        if same:
            self._drawn = after
            self.tape.drawn_at = ""
            self.tape.draws = True
            self._add(step, (), (out,), None)

    def seeded(self, generator: Any) -> None:
        """The state of a generator was read or set."""
        self.stop("the state of a generator of random numbers is read or set")

    def moving(self, target: Any, name: str, inputs: tuple, args: tuple, data: Any) -> None:
        """A running statistic is about to be overwritten with `data`, which a kernel computed; the write is not counted."""
        if self._sharers(target):
            return self.stop(f"{name} writes into memory that another tensor looks at")
        if not self._may_write(target, None, name):
            return
        step = Step("kernel", name, [self.value(t) for t in inputs], args, line=users_line())
        step.outs = [Value(np.shape(data), data.dtype)]
        if data.dtype != target._data.dtype or not self._repeats(step, [t._data for t in inputs], [data]):
            return self.stop(f"{name} has no form that can be repeated without the library's own handling")
        self._first_write(target)
        self._add(step, inputs, (target,), None)
        return

    def _may_write(self, target: Any, node: Any, name: str) -> bool:
        """Whether a write into `target` can be captured; if not, notes a break."""
        why = self._why_not(target, node)
        if why:
            self.stop(f"{name} writes into {why}")
        return not why

    def _why_not(self, target: Any, node: Any) -> str:
        base = self._base_of(target)
        others = self._sharers(target)
        if id(base) in self._inputs:
            if id(base) not in self._writable:
                return "a tensor that was there before the call"
            if node is not None or not base.is_leaf:
                return "a tensor that was there before the call and has a history, or gets one"
        elif self.tape.values.get(id(base)) is None or (
            self.tape.values[id(base)].step is None and id(base) not in self._made
        ):
            return "a tensor that no operation of this call has made"
        family = [base, target, *others]
        if any(id(t) in self._aliased for t in family):
            return "memory that a tensor without history looks at too"
        if any(self._base_of(t) is not base or (t is not base and id(t) in self._inputs) for t in family):
            return "memory that another tensor looks at"
        if node is None and base.requires_grad and id(base) not in self._inputs:
            return "a tensor with a history, without being recorded"
        if node is not None and any(t._meta.creation is not DEFAULT_VIEW for t in family if t is not base):
            return "memory that a view looks at that was made without recording, or is one of several"
        return ""

    def _base_of(self, t: Any) -> Any:
        """The base of the view `t`, or `t` itself; of an input, the input."""
        if id(t) in self._inputs or t._meta is None or t._meta.base is None:
            return t
        return t._meta.base

    def _sharers(self, target: Any) -> list[Any]:
        """The other tensors that share the memory of `target`, each once."""
        found = {
            id(t): t for t in self.tape.keep if t is not target and np.may_share_memory(t._data, target._data)
        }
        return list(found.values())

    def _spread(self, target: Any, others: list[Any], node: Any) -> None:
        """`target` was written: its base has a new value now, and so will the other views when they are next read.

        So a write through a view becomes a copy of the base with some elements replaced: nothing in a graph is written.
        """
        base = self._base_of(target)
        self._stale.pop(id(target), None)
        for t in others:
            if t is not base:
                self._stale[id(t)] = base
        if base is target:
            return
        tape = self.tape
        piece, whole = tape.values[id(target)], tape.values[id(base)]
        step = Step("put", "", [whole, piece], (), line=users_line())
        kind = placement(base._data, target._data, step)
        if kind is None or kind[0] == "broadcast" or not _once(kind):
            return self.stop("a write through a view cannot be placed in its base")
        if kind[0] in WHOLE:
            step = Step("view", "", [piece], _back(kind, whole.shape), line=step.line)
        else:
            step.args = (*kind, whole.shape)
        step.outs = [Value(whole.shape, whole.dtype)]
        history = pair_of(base._edge)[0] if node is not None else None
        before = history is not None and history._edges[0] is not NO_EDGE
        if not near(ir.perform(step, [x for x in self._numbers_of(step, base, target)])[0], base._data):
            return self.stop("a write through a view cannot be placed in its base")
        self._add(step, (), (base,), None if node is None else Placed(kind, (before, True), base))
        return None

    def _numbers_of(self, step: Step, base: Any, target: Any) -> list[Any]:
        """Numbers to try a step of `_spread` on: those in memory after the write."""
        return [target._data] if step.how == "view" else [base._data, target._data]

    def _fresh(self, view: Any, base: Any) -> Value:
        """The value of a view whose base was written: the same view of the new base."""
        step = Step("view", "", [self.value(base)], (), line=users_line())
        kind = placement(base._data, view._data, step)
        if kind is None:
            self.stop("a view cannot be found in its base")
            kind = ("same", None)
        step.args = kind
        step.outs = [Value(np.shape(view._data), view._data.dtype)]
        self._add(step, (), (view,), Placed(kind, (True,), view) if base.requires_grad else None)
        return step.outs[0]

    def _first_write(self, target: Any, before: Any = None) -> Written | None:
        """The old numbers of a tensor that existed before the call, noted at the first write."""
        if id(target) not in self._inputs:
            return None
        known = self.tape.written.get(id(target))
        if known is None:
            data = np.array(target._data)[()] if before is None else before
            version = 0 if target._box is None else target._box[0]
            known = self.tape.written[id(target)] = Written(target, data, version - (before is not None))
        return known

    def writing(self, target: Any) -> None:
        """Memory is about to be written: the old numbers are needed to repeat the step."""
        self.value(target)
        base = self._base_of(target)
        self._before = target, np.array(target._data)[()], np.array(base._data)[()]

    def written(self, rule: Any, inputs: tuple, target: Any, node: Any, name: str, args: tuple = ()) -> None:
        """A tensor was written in place: from here on it has a new value, if nothing else shares its memory."""
        if self.tape.drawn_at:
            return None
        if not self._may_write(target, node, name):
            return None
        if self._before is None or self._before[0] is not target or rule is None or isinstance(rule, str):
            return self.stop(f"{name} writes into a tensor in a way that is no operation")
        (_, before, whole), self._before = self._before, None
        others = self._sharers(target)
        arrays = [
            before if t is target else None if t is None else t._data if isinstance(t, Variable) else t
            for t in inputs
        ]
        step = Step("call", rule.__name__, [self.value(t) for t in inputs], tuple(args), line=users_line())
        step.outs = [Value(target._data.shape, target._data.dtype)]
        if not self._settle(step, rule, inputs, arrays, [target._data]):
            return self.stop(f"{name} has no form that can be repeated without the library's own handling")
        base = self._base_of(target)
        known = self._first_write(base, whole)
        if known is not None:
            known.counted += 1
        if id(base) in self._inputs and base.requires_grad:
            self._updated.add(id(base))
        self._add(step, inputs, (target,), node)
        return self._spread(target, others, node)

    def made(self, t: Any) -> None:
        """A tensor was created: a write into it stays within memory of this call."""
        self._made[id(t)] = t
        self.tape.keep.append(t)

    def followed(self, out: Any, sources: tuple) -> None:
        """A tensor was made from others without an operation: it counts as a constant."""

    def shared(self, t: Any) -> None:
        """A tensor was made over the memory of a NumPy array."""

    def remade(self, source: Any, out: Any, how: str) -> None:
        """A leaf was made from the numbers of a tensor."""

    def detached(self, source: Any, out: Any, how: str) -> None:
        """`detach()` or `.data`: the same value without history."""
        self.tape.values[id(out)] = self.value(source)  # type: ignore[assignment]
        self._aliased.update((id(source), id(out)))
        self.tape.keep.append(out)

    def copied(self, data: Any, out: Any) -> None:
        """`torch.tensor(t)` took the numbers of tensors."""
        if _holds_tensor(data):
            self.stop("torch.tensor(...) copies the numbers of a tensor; use clone() or detach()")

    def read(self, tensor: Any, how: str) -> None:
        """Numbers left the graph."""
        self.stop(f"{how}() reads a number out of a tensor: what Python does with it may differ next time")

    def looked(self, tensor: Any, how: str) -> None:
        """A tensor was asked for a truth value or a number."""
        self.read(tensor, how)

    def flagged(self, tensor: Any, how: str) -> None:
        """requires_grad_, detach_, retain_grad; a hook is no part of what is computed."""
        if how == "register_hook":
            return
        self.stop(f"{how}() changes a tensor's flags")

    # -- gradients and what fills them -----------------------------------------------------------------

    def grad_set(self, tensor: Any, how: str) -> None:
        """`.grad` was assigned: None, or something this call has computed. Or a function of the library wrote into it."""
        grad = tensor._meta.grad
        if how != "assigned" and grad is not None:
            return self.stop(f"{how} writes into a .grad")
        made = grad is None or (id(grad) in self.tape.values and self.tape.values[id(grad)].step is not None)
        if id(tensor) not in self._inputs or not made:
            return self.stop("a .grad is set to something that was there before the call")
        self.tape.grads[id(tensor)] = tensor

    def knows_grad(self, tensor: Any) -> bool:
        """Whether this call has set the `.grad` of a tensor."""
        return id(tensor) in self.tape.grads

    def pass_started(self, run: Any, roots: list, call: str) -> None:
        """A backward pass begins inside, which only the watcher of a whole call can follow (inside.py)."""
        self.stop("a backward pass is run inside")

    def stepped(self, optimizer: Any) -> None:
        """An optimizer is about to change its parameters."""
        self.stop(
            f"{type(optimizer).__name__} changes parameters, and its own state, in ways that are no operations: call it outside"
        )


RANDOM = "random numbers are drawn, and a captured graph would give the same ones for ever"

COUNTED = frozenset(
    ("MaskedSelectBackward0", "Unique2Backward0", "UniqueConsecutiveBackward0", "UniqueDimBackward0")
)
"""Rules whose result shape depends on the numbers."""

INDEXED = frozenset(("IndexBackward0", "IndexPutBackward0"))
"""The same, if a mask is among their operands."""

PLAIN = frozenset(
    (
        "gt", "lt", "ge", "le", "eq", "ne", "greater", "less", "greater_equal", "less_equal", "not_equal", "logical_and", "logical_or",
        "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift",
        "bitwise_right_shift", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit",
    )
)  # fmt: skip
"""Operations without a rule that are fully described by their operands."""


@dataclass
class Placed:
    """Takes the place of a step's node for steps that the capture inserted: a base after a write through a view, a view of it taken again.

    kind    how the view lies in its base, as from `placement`
    wants   for each operand whether it wants a gradient
    tensor  the tensor whose history this is
    """

    kind: tuple[str, Any]
    wants: tuple[bool, ...]
    tensor: Any


WHOLE = ("same", "reshape", "transpose")
"""The kinds of views that show every element of their base."""


def _back(kind: tuple[str, Any], shape: tuple[int, ...]) -> tuple[str, Any]:
    """The inverse of a view of all elements: back to the base of this shape."""
    if kind[0] == "transpose":
        return "transpose", tuple(int(i) for i in np.argsort(kind[1]))
    return ("reshape", shape) if kind[0] == "reshape" else kind


def _once(kind: tuple[str, Any]) -> bool:
    """Whether a view shows each element of its base at most once."""
    return kind[0] != "take" or len(np.unique(kind[1])) == kind[1].size


def _holds_tensor(data: Any) -> bool:
    if isinstance(data, tuple | list):
        return any(map(_holds_tensor, data))
    return isinstance(data, Variable)


def history(t: Any) -> Any:
    """The current node of a tensor, if it was looked up already."""
    edge = t._edge
    if edge is None and t._meta is not None and t._meta.base is not None:
        edge = t._meta.edge
    return None if edge is None else pair_of(edge)[0]


def hooks_on(t: Any) -> list[Any]:
    """The hooks of a tensor, by their ids."""
    meta, node = t._meta, history(t)
    tables: list[Any] = []
    if meta is not None:
        tables += [meta.hooks, meta.post_accumulate_hooks]
        node = node or (meta.accumulator and meta.accumulator())
    if node is not None and node.hooks is not None:
        tables += [node.hooks.pre, node.hooks.post, node.hooks.retain, *[on for _, on in node.hooks.tensor]]
    return [number for table in tables for number in table or ()]


def users_own(frame: Any) -> bool:
    """Whether a frame runs code outside the library."""
    return not frame.f_code.co_filename.replace("\\", "/").startswith(HERE)


def users_line() -> str:
    """The innermost line outside the library: "file.py, line 3: y = x * w"."""
    frame = sys._getframe(1)
    while frame is not None and not users_own(frame):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return ""
    import linecache

    file, number = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, number, frame.f_globals).strip()
    return f"{place_name(file)}, line {number}" + (f": {text}" if text else "")


def place_name(file: str) -> str:
    """The name of a frame's source: "In [3]" for a notebook cell, by its execution number, otherwise the file's name."""
    try:
        number = sys.modules["IPython"].get_ipython().compile._filename_map.get(file)
    except (KeyError, AttributeError):
        number = None
    if number is not None:
        return f"In [{number}]"
    if "ipykernel" in file:
        return "an earlier cell"
    return file.strip("<>") if file.startswith("<") else file.replace("\\", "/").rsplit("/", 1)[-1]


def alike(a: Any, b: Any) -> bool:
    """Whether two arrays have the same shape, number type and bits (a nan is a nan)."""
    a, b = np.asarray(a), np.asarray(b)
    return (
        a.shape == b.shape
        and a.dtype == b.dtype
        and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    )


def near(a: Any, b: Any) -> bool:
    """Whether two arrays have the same shape and number type, and the same numbers up to the order of a sum."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    rtol = 8 * float(np.finfo(a.dtype).eps)
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        scale = finite.max() if finite.size else 0.0
        return bool(np.allclose(a, b, rtol=rtol, atol=rtol * scale, equal_nan=True))


# --- views -----------------------------------------------------------------------------------------


def _is_view(arrays: list, result: Any) -> bool:
    return (
        bool(arrays)
        and isinstance(arrays[0], np.ndarray)
        and isinstance(result, np.ndarray)
        and arrays[0].dtype == result.dtype
        and np.may_share_memory(arrays[0], result)
    )


def placement(x: np.ndarray, out: np.ndarray, step: Step) -> tuple[str, Any] | None:
    """How the view `out` of `x` places its elements: the simplest description that NumPy can express.

    Derived from the addresses of the elements, so no rule needs to describe its view; None if they are not in `x`.
    """
    where = positions(x, out)
    if where is None:
        return None
    flat = np.arange(x.size).reshape(x.shape)
    if out.shape == x.shape and np.array_equal(where, flat):
        return ("same", None)
    if out.size == x.size and np.array_equal(where.reshape(-1), flat.reshape(-1)):
        return ("reshape", out.shape)
    for order in _orders(x, out):
        if np.array_equal(flat.transpose(order), where):
            return ("transpose", order)
    for index in _slices(flat, where):
        return ("slice", index)
    try:
        if np.array_equal(np.broadcast_to(flat, out.shape), where):
            return ("broadcast", out.shape)
    except ValueError:
        pass
    return ("take", where)


def positions(x: np.ndarray, out: np.ndarray) -> np.ndarray | None:
    """The row-major position in `x` of each element of `out`; None if one is not in `x`."""
    size = x.itemsize
    addresses = _addresses(x) // size, _addresses(out) // size
    order = np.argsort(addresses[0].reshape(-1), kind="stable")
    sorted_ = addresses[0].reshape(-1)[order]
    found = np.searchsorted(sorted_, addresses[1].reshape(-1))
    if x.size == 0 or (
        found.size and (found.max() >= sorted_.size or (sorted_[found] != addresses[1].reshape(-1)).any())
    ):
        return np.zeros(out.shape, np.int64) if out.size == 0 else None
    return order[found].reshape(out.shape)


def _addresses(x: np.ndarray) -> np.ndarray:
    start = x.__array_interface__["data"][0]
    at = np.full(x.shape, start, np.int64)
    for dim, (n, stride) in enumerate(zip(x.shape, x.strides, strict=True)):
        at += (np.arange(n) * stride).reshape([n if d == dim else 1 for d in range(x.ndim)])
    return at


def _orders(x: np.ndarray, out: np.ndarray) -> list[tuple[int, ...]]:
    """Permutations of the dims that could turn `x` into `out`: by strides, the usual ones first."""
    if out.ndim != x.ndim or x.ndim < 2:
        return []
    usual = [tuple(reversed(range(x.ndim)))]
    if x.ndim > 2:
        usual.append((*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    left = list(range(x.ndim))
    order = []
    for n, stride in zip(out.shape, out.strides, strict=True):
        fit = next((d for d in left if x.shape[d] == n and (x.strides[d] == stride or n == 1)), None)
        if fit is None:
            return usual
        left.remove(fit)
        order.append(fit)
    return [*usual, tuple(order)]


def _slices(flat: np.ndarray, where: np.ndarray) -> list[tuple]:
    """A basic index that selects `where`, if there is one: for each dim one position or start:stop:step."""
    if where.size == 0 or where.ndim > flat.ndim:
        return []
    corner = np.unravel_index(where.reshape(-1)[0], flat.shape)
    far = np.unravel_index(where.reshape(-1)[-1], flat.shape)
    index: list[Any] = []
    dim = 0
    for d, (start, stop) in enumerate(zip(corner, far, strict=True)):
        rest = flat.ndim - d - 1
        n = where.shape[dim] if dim < where.ndim else None
        if start == stop and (n != 1 or where.ndim - dim <= rest):
            index.append(int(start))
        elif n is None or n < 1:
            return []
        else:
            stride = (int(stop) - int(start)) // (n - 1) if n > 1 else 1
            if stride < 1:
                return []
            whole = start == 0 and stop == flat.shape[d] - 1 and stride == 1
            index.append(
                slice(None) if whole else slice(int(start), int(stop) + 1, stride if stride > 1 else None)
            )
            dim += 1
    while index and index[-1] == slice(None):
        index.pop()
    found = tuple(index)
    return [found] if np.array_equal(flat[found], where) else []


__all__ = ["NO_EDGE", "RULES", "Break", "Tape", "Watcher", "alike", "near", "placement", "positions"]
