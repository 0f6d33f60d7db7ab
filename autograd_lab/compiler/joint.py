"""The joint graph: the captured forward, and behind it the backward that its rules make.

The way back is walked as the engine walks it, newest node first, sums where paths meet. But no numbers flow: each
node's rule is asked for its formula, on tensors that a watcher follows, and the operations it is made of become steps.
A rule that computes beside the operations (with a mask it makes itself, say) keeps its formula to itself: then the whole rule
is one step, `..._vjp`, which calls it on arrays just as the engine does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..torchlike.autograd.handed import recorded_vjp
from ..torchlike.autograd.modes import THREAD, no_grad
from ..torchlike.autograd.saved import Packed
from ..torchlike.autograd.variable import NO_EDGE, Variable, wrap
from ..torchlike.ops.rule import RULES
from . import graph as ir
from .capture import WHOLE, Placed, Tape, Watcher, _back, _once, alike
from .graph import Graph, Step, Value

OPENED = frozenset(
    f"{name}Backward{n}"
    for n in (0, 1)
    for name in (
        "Add", "Sub", "Mul", "Div", "Neg", "Exp", "Log", "Tanh", "Sigmoid", "Relu", "Sqrt", "Rsqrt", "Sin", "Cos", "Log1P", "Expm1",
        "Sum", "Mean", "Mm", "Bmm", "Mv", "Dot", "Addmm", "LogSoftmax", "Softmax", "Silu", "Square", "Reciprocal",
        "View", "UnsafeView", "Reshape", "ReshapeAlias", "T", "Transpose", "Permute", "Expand", "Squeeze", "Unsqueeze", "Alias", "Clone",
        "Select", "Slice", "Split", "ToCopy", "Stack", "Cat",
        "Exp2", "Log2", "Log10", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Erfc", "Deg2Rad",
        "Rad2Deg", "Rsub", "Addcmul", "Flip",
    )
)  # fmt: skip
"""Rules whose formula is the same whatever the numbers are. All others stay whole: a formula may look at its values (is one of
them zero? which is the largest?), and one look says nothing about the next. A rule belongs here after that was read in its vjp."""


class UnsupportedError(Exception):
    """A node whose way back cannot be written down; `line` is that of its operation."""

    line = ""


def backward_of(
    tape: Tape, outputs: list[Value], wanted: list[Value]
) -> tuple[list[Value], list[Step], list[Value | None]]:
    """(gradients of the outputs, the steps of the way back, gradients of the wanted values).

    A gradient is None where nothing depends on the value. Raises UnsupportedError.
    """
    rng = np.random.default_rng(0)
    given = [Value(out.shape, out.dtype, f"g_{out.name or i}") for i, out in enumerate(outputs)]
    sums: dict[Value, Value] = {}
    steps: list[Step] = []

    def send(value: Value, g: Value) -> None:
        held = sums.get(value)
        if held is None:
            sums[value] = g
            return
        total = Value(g.shape, g.dtype)
        step = Step("call", "AddBackward0", [held, g], (1,), [total], part="backward")
        total.step = step
        steps.append(step)
        sums[value] = total

    for out, g in zip(outputs, given, strict=True):
        send(out, g)
    for step in reversed(tape.steps):
        if step not in tape.nodes:
            continue
        slots = [sums.get(out) for out in step.outs]
        if all(slot is None for slot in slots):
            continue
        try:
            found = _way_back(tape, step, tape.nodes[step], slots, steps, rng)
        except UnsupportedError as error:
            error.line = step.line
            raise
        for value, g in found:
            send(value, g)
    return given, steps, [sums.get(value) for value in wanted]


def _way_back(
    tape: Tape,
    step: Step,
    node: Any,
    slots: list[Value | None],
    steps: list[Step],
    rng: np.random.Generator,
) -> list[tuple[Value, Value]]:
    """What one node sends: (operand, gradient) for each that wants one. Its steps are appended to `steps`."""
    if isinstance(node, Placed):
        assert slots[0] is not None  # it has one result
        return _way_back_of_a_place(step, node, slots[0], steps)
    saved = _saved_of(step, node, *tape.tensors[step])
    tape.saved += [value for value in saved if isinstance(value, Value)]
    needs = tuple(edge is not NO_EDGE for edge in node._edges)
    traced = _trace(step, node, slots, saved, rng) if node.plain and type(node).__name__ in OPENED else None
    if traced is None:
        made, grads = _whole(step, node, slots, saved, needs, rng)
    else:
        made, grads = traced
    for one in made:
        one.part, one.line = "backward", step.line
    start = len(steps)
    steps.extend(made)
    operands = step.inputs
    found = []
    for i, (g, needed) in enumerate(zip(grads, needs, strict=False)):
        operand = operands[i] if i < len(operands) else None
        if not needed or g is None or operand is None:
            continue
        found.append((operand, _fitted(g, operand, steps, step.line)))
    for one in steps[start:]:
        one.of = type(node).__name__
    return found


def _way_back_of_a_place(step: Step, node: Placed, g: Value, steps: list[Step]) -> list[tuple[Value, Value]]:
    """Of a base put together: its old value gets the gradient without the elements replaced, the piece these elements.
    Of a view looked up again: its base gets the gradient where the view lies, and zero elsewhere.
    """
    kind, what = node.kind

    def make(how: str, inputs: list[Value | None], args: tuple, shape: tuple[int, ...]) -> Value:
        out = Value(shape, g.dtype)
        out.step = Step(how, "", inputs, args, [out], line=step.line, part="backward")
        steps.append(out.step)
        return out

    operands = step.inputs
    if step.how == "put":
        whole, piece = operands
        assert whole is not None  # the capture gives it both
        assert piece is not None
        zero = Value((), g.dtype, array=g.dtype.type(0))
        found = [(piece, make("view", [g], node.kind, piece.shape))]
        if node.wants[0]:
            found.append((whole, make("put", [g, zero], step.args, whole.shape)))
        return found
    (source,) = operands
    assert source is not None
    if len(node.wants) == 2:  # all elements of the base were replaced
        return [(source, make("view", [g], node.kind, source.shape))]
    if kind in WHOLE:
        return [(source, make("view", [g], _back(node.kind, source.shape), source.shape))]
    if kind == "broadcast":
        return [(source, make("fold", [g], (source.shape,), source.shape))]
    if not _once(node.kind):
        raise UnsupportedError("a view shows an element of its base twice")
    return [(source, make("put", [None, g], (kind, what, source.shape), source.shape))]


def _fitted(g: Value, operand: Value, steps: list[Step], line: str) -> Value:
    """`g` in the shape and number type of its operand: broadcasting and promotion undone."""
    if g.shape != operand.shape:
        out = Value(operand.shape, g.dtype)
        steps.append(Step("fold", "", [g], (operand.shape,), [out], line=line, part="backward"))
        out.step, g = steps[-1], out
    if g.dtype != operand.dtype:
        out = Value(g.shape, operand.dtype)
        steps.append(Step("cast", "", [g], (operand.dtype,), [out], line=line, part="backward"))
        out.step, g = steps[-1], out
    return g


def _saved_of(step: Step, node: Any, inputs: tuple, outputs: tuple) -> list[Any]:
    """What the node keeps, in its order: Values of the graph, or plain values (None, numbers)."""
    plan = list(getattr(type(node), "save_plan", ()))
    found: list[Any] = []
    for i, kept in enumerate(node.saved):
        if isinstance(kept, Packed):
            raise UnsupportedError("a hook has packed what is saved")
        if not isinstance(kept, Variable):
            found.append(kept)
            continue
        fit = _itself(step, kept, inputs, outputs)
        if fit is None and i < len(plan):  # an in-place operation keeps a copy of what it wrote over
            where, nr, _users = plan[i]
            operands = [*step.inputs, *step.outs[1:]]  # behind the operands stand the further results
            fit = operands[where] if where is not None else step.outs[nr]
        if fit is None or fit.shape != np.shape(kept._data) or fit.dtype != np.asarray(kept._data).dtype:
            raise UnsupportedError(f"{step.op} saves something that is neither an operand nor a result")
        found.append(fit)
    return found


def _itself(step: Step, kept: Any, inputs: tuple, outputs: tuple) -> Value | None:
    """The operand or result of a step that a saved tensor is, or is an alias of."""
    for t, value in zip(outputs, step.outs, strict=False):
        if t is kept or t._data is kept._data:
            return value
    for t, value in zip(inputs, step.inputs, strict=False):
        if t is kept:
            return value
    return None


def _stuffed(value: Any, rng: np.random.Generator) -> Any:
    """Numbers for a value that is only a shape: all different, some negative, none twice the same in two calls."""
    if value.constant:
        return value.array
    shape, dtype = value.shape, value.dtype
    if dtype.kind == "f":
        return rng.uniform(0.2, 0.8, shape).astype(dtype)[()]
    if dtype.kind == "b":
        return (rng.random(shape) < 0.5)[()] if shape else np.bool_(rng.random() < 0.5)
    return rng.integers(0, 2, shape).astype(dtype)[()] if shape else dtype.type(rng.integers(0, 2))


def _trace(
    step: Step, node: Any, slots: list[Value | None], saved: list[Any], rng: np.random.Generator
) -> tuple[list[Step], list[Value | None]] | None:
    """The rule's formula as steps, or None if it does something that is no operation.

    It is asked twice, on different numbers: both times it must do the same, with the same constants.
    """
    first, second = (_ask(step, node, slots, saved, rng) for _ in range(2))
    if first is None or second is None or not _same_tapes(first[0], second[0]):
        return None
    tape, grads, arrays, known = first
    own = Graph(list(known), tape.steps, grads)
    try:
        again = ir.run(own, [arrays[v] for v in known])
        on_arrays = _on_arrays(step, node, [arrays.get(s) for s in slots], saved, arrays)
    except Exception:  # the formula needs what only the engine gives it: then it stays whole
        return None
    for mine, theirs in zip(again, on_arrays, strict=False):
        if (mine is None) != (theirs is None):
            return None
        if mine is not None and not (
            np.shape(mine) == np.shape(theirs)
            and np.allclose(mine, theirs, rtol=1e-4, atol=1e-6, equal_nan=True)
        ):
            return None
    return tape.steps, grads


def _ask(step: Step, node: Any, slots: list[Value | None], saved: list[Any], rng: np.random.Generator) -> Any:
    known: dict[Value, Any] = {}
    for value in [*saved, *slots]:
        if isinstance(value, Value) and not value.constant and value not in known:
            known[value] = _stuffed(value, rng)
    tensors = {value: wrap(np.asarray(x) if np.ndim(x) else x) for value, x in known.items()}
    for value in saved:
        if isinstance(value, Value) and value.constant:
            tensors[value] = wrap(value.array)
    values = {id(t): v for v, t in tensors.items()}
    given = [tensors[v] if isinstance(v, Value) else v for v in saved]
    state = THREAD.state
    try:
        with no_grad(), Watcher(values, tensors.values()) as watcher, np.errstate(all="ignore"):
            outer, state.running = state.running, None
            try:
                grads = recorded_vjp(type(node))(node, tensors[slots[0]], *given)  # type: ignore[index]
            finally:
                state.running = outer
    except Exception:  # a formula that is not for tensors: it stays whole
        return None
    if watcher.tape.breaks or any(np.ndim(v.array) and np.any(v.array) for v, _ in watcher.tape.strangers):
        return None  # an array made beside the operations: zeros may be, they hold nothing
    grads = grads if isinstance(grads, tuple) else (grads,)
    if any(g is not None and not isinstance(g, Variable) for g in grads):
        return None
    return watcher.tape, [None if g is None else watcher.value(g) for g in grads], known, list(known)


def _same_tapes(a: Tape, b: Tape) -> bool:
    """Whether two runs made the same steps with the same plain values and constants."""
    if len(a.steps) != len(b.steps) or len(a.strangers) != len(b.strangers):
        return False
    number = [{}, {}]  # type: list[dict[Value, int]]
    for one, other in zip(a.steps, b.steps, strict=True):
        if (one.how, one.rule, len(one.inputs)) != (other.how, other.rule, len(other.inputs)):
            return False
        if not same_plain(one.args, other.args):
            return False
        if [(v.shape, v.dtype) for v in one.outs] != [(v.shape, v.dtype) for v in other.outs]:
            return False
        for v, w in zip(one.inputs, other.inputs, strict=True):
            if (v is None) != (w is None):
                return False
            if v is None or w is None:
                continue
            if v.constant != w.constant or (v.constant and not alike(v.array, w.array)):
                return False
            if not v.constant and number[0].setdefault(v, len(number[0])) != number[1].setdefault(
                w, len(number[1])
            ):
                return False
    return True


def same_plain(a: Any, b: Any) -> bool:
    """Whether two plain arguments are the same: arrays bit by bit, nan equal to nan."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic):
        return alike(a, b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same_plain, a, b))
    if isinstance(a, slice):
        return same_plain((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return a is b or bool(a == b) or (a != a and b != b)


def _on_arrays(step: Step, node: Any, slots: list[Any], saved: list[Any], arrays: dict[Value, Any]) -> tuple:
    given = [(v.array if v.constant else arrays[v]) if isinstance(v, Value) else v for v in saved]
    with np.errstate(all="ignore"):
        grads = node.vjp(slots[0] if node.plain else slots, *given)
    return grads if isinstance(grads, tuple) else (grads,)


def _whole(
    step: Step, node: Any, slots: list[Value | None], saved: list[Any], needs: tuple, rng: np.random.Generator
) -> tuple[list[Step], list[Value | None]]:
    """The rule as one step that calls it on arrays."""
    rule = type(node)
    if rule.__name__ not in RULES or RULES[rule.__name__] is not rule:
        raise UnsupportedError(f"{rule.__name__} is not in the rule book")
    inputs = [
        v if isinstance(v, Value) or v is None else Value(np.shape(v), np.asarray(v).dtype, array=v)
        for v in saved
    ]
    one = Step(
        "vjp", rule.__name__, [*inputs, *slots], tuple(node.args), needs=needs, saved=len(saved), single=False
    )
    arrays: dict[Value, Any] = {}
    for value in [*inputs, *slots]:
        if isinstance(value, Value) and value not in arrays:
            arrays[value] = _stuffed(value, rng)
    stand_in = ir.stand_in(rule, one.args, needs)
    try:
        grads = _on_arrays(step, stand_in, [arrays.get(s) for s in slots], inputs, arrays)  # type: ignore[arg-type]
    except Exception as error:
        raise UnsupportedError(f"the way back of {step.op} cannot be written down: {error}") from error
    if not isinstance(grads, tuple):
        grads = (grads,)
    gives = tuple(i for i, g in enumerate(grads) if g is not None and i < len(needs) and needs[i])
    one.gives = gives
    result: list[Value | None] = [None] * len(grads)
    for i in gives:
        result[i] = Value(np.shape(grads[i]), np.asarray(grads[i]).dtype)
        result[i].step = one  # type: ignore[union-attr]
        one.outs.append(result[i])  # type: ignore[arg-type]
    return [one], result


__all__ = ["UnsupportedError", "backward_of", "same_plain"]
