"""What is done to a joint graph before it becomes code. A pass takes a graph and returns another; it changes none.

fold_constants   steps on constants only are carried out now
simplify         x * 1, x + 0, two casts, a view of a view
share            one step for two that compute the same (common subexpressions)
drop             no step for what nobody reads (dead code)
split            forward and backward apart: what is saved, and what is computed again
fuse             chains of pointwise steps become one statement, without names for what is between
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..ops.rule import RULES
from . import graph as ir
from .graph import Graph, Step, Value

RECOMPUTE_FROM = 1 << 16
"""Bytes from which on it is worth computing a pointwise value again instead of keeping it for the way back."""

POINTWISE = frozenset(
    f"{name}Backward0"
    for name in (
        "Add", "Sub", "Mul", "Div", "Neg", "Exp", "Log", "Tanh", "Sigmoid", "Relu", "Sqrt", "Rsqrt", "Sin", "Cos", "Abs", "Sgn",
        "Reciprocal", "Pow", "Log1P", "Expm1", "Where", "Maximum", "Minimum", "Erf", "Softplus", "Silu", "Sinh", "Cosh", "Square", "TanhBackward", "SigmoidBackward",
    )
)  # fmt: skip
"""Rules that work element by element and keep shapes (up to broadcasting)."""


def pointwise(step: Step) -> bool:
    """Whether each element of the result needs only one element of each operand."""
    return step.how == "cast" or (step.how == "call" and step.rule in POINTWISE)


def rebuilt(graph: Graph, change: Callable[[Step], list[Step] | None]) -> Graph:
    """A copy of the graph in which each step is replaced by what `change` gives for it (None: the step as it is).

    Steps are copied, values are shared; a pass that replaces a value does it with `substituted`.
    """
    steps: list[Step] = []
    for step in graph.steps:
        made = change(step)
        steps.extend([step] if made is None else made)
    return Graph(list(graph.inputs), steps, list(graph.outputs))


def substituted(graph: Graph, instead: dict[Value, Value]) -> Graph:
    """The graph with some values replaced wherever they are read."""
    if not instead:
        return graph

    def now(value: Value | None) -> Value | None:
        while value is not None and value in instead:
            value = instead[value]
        return value

    steps = [replace(step, inputs=[now(v) for v in step.inputs]) for step in graph.steps]
    return Graph(list(graph.inputs), steps, [now(v) for v in graph.outputs])


def drop(graph: Graph) -> Graph:
    """Leave out every step of whose results none is read."""
    read = {out for out in graph.outputs if out is not None}
    kept = []
    for step in reversed(graph.steps):
        if any(out in read for out in step.outs):
            kept.append(step)
            read.update(step.values())
    return Graph(list(graph.inputs), kept[::-1], list(graph.outputs))


def fold_constants(graph: Graph) -> Graph:
    """Carry out now what depends on constants only."""
    instead: dict[Value, Value] = {}
    steps = []
    for step in graph.steps:
        operands = [instead.get(v, v) if v is not None else None for v in step.inputs]
        small = all(out.bytes <= 1 << 16 for out in step.outs)
        if small and operands and all(v is None or v.constant for v in operands):
            results = ir.perform(step, [None if v is None else v.array for v in operands])
            for out, array in zip(step.outs, results, strict=True):
                instead[out] = Value(out.shape, out.dtype, array=np.array(array)[()])
        else:
            steps.append(step)
    return substituted(Graph(list(graph.inputs), steps, list(graph.outputs)), instead)


def simplify(graph: Graph) -> Graph:
    """Leave out steps that change nothing, and turn a view of a view into one view where that is a reshape."""
    instead: dict[Value, Value] = {}

    def now(value: Value | None) -> Value | None:
        while value is not None and value in instead:
            value = instead[value]
        return value

    maker: dict[Value, Step] = {}
    steps = []
    for step in graph.steps:
        step = replace(step, inputs=[now(v) for v in step.inputs])
        same = _same_as(step)
        if same is not None and same.shape == step.outs[0].shape and same.dtype == step.outs[0].dtype:
            instead[step.outs[0]] = same
            continue
        source = step.inputs[0] if step.inputs else None
        before = maker.get(source) if source is not None else None
        if before is not None and step.how == before.how == "view" and step.args[0] == before.args[0]:
            if step.args[0] == "reshape":
                step = replace(step, inputs=[before.inputs[0]])
            elif step.args[0] == "transpose":
                order = tuple(before.args[1][i] for i in step.args[1])
                if order == tuple(range(len(order))):
                    instead[step.outs[0]] = before.inputs[0]  # type: ignore[assignment]
                    continue
                step = replace(step, inputs=[before.inputs[0]], args=("transpose", order))
            maker.update(dict.fromkeys(step.outs, step))
        elif before is not None and step.how == "view" and _summed_away(before, step):
            step = replace(
                before,
                inputs=list(before.inputs),
                args=(before.args[0], False),
                outs=step.outs,
                line=step.line,
            )
            maker.update(dict.fromkeys(step.outs, step))
        else:
            maker.update(dict.fromkeys(step.outs, step))
        steps.append(step)
    return drop(substituted(Graph(list(graph.inputs), steps, list(graph.outputs)), instead))


def _summed_away(before: Step, step: Step) -> bool:
    """Whether a sum kept its dims only for the reshape behind it to take them away."""
    if (
        before.rule != "SumBackward1"
        or before.how != "call"
        or before.args[1:] != (True,)
        or step.args[0] != "reshape"
    ):
        return False
    dims = before.args[0]
    have = before.inputs[0].shape  # type: ignore[union-attr]
    return step.args[1] == tuple(n for d, n in enumerate(have) if d not in [k % len(have) for k in dims])


def _same_as(step: Step) -> Value | None:
    """The operand that the step hands on unchanged, if it does."""
    a = step.inputs[0] if step.inputs else None
    b = step.inputs[1] if len(step.inputs) > 1 else None
    if step.how == "view" and (
        step.args[0] == "same" or (a is not None and step.args == ("reshape", a.shape))
    ):
        return a
    if step.how == "cast" and a is not None and a.dtype == step.args[0]:
        return a
    if step.how != "call" or (step.casts and any(step.casts)):
        return None
    if step.rule in ("MulBackward0", "DivBackward0") and _all(b, 1):
        return a
    if step.rule == "MulBackward0" and _all(a, 1):
        return b
    if step.rule in ("AliasBackward0", "CloneBackward0"):
        return a
    return None


def _all(value: Value | None, number: float) -> bool:
    return value is not None and value.constant and bool(np.all(value.array == number))


def share(graph: Graph) -> Graph:
    """Compute once what two steps compute alike. Random numbers cannot be among them: a graph draws none."""
    instead: dict[Value, Value] = {}
    seen: dict[Any, Step] = {}
    steps = []
    for step in graph.steps:
        step = replace(step, inputs=[instead.get(v, v) if v is not None else None for v in step.inputs])
        key = (
            step.how, step.rule, step.single, step.needs, step.gives, step.saved, _key(step.casts), _key(step.args),
            tuple(_value_key(v) for v in step.inputs),
        )  # fmt: skip
        twin = seen.get(key)
        if twin is None:
            seen[key] = step
            steps.append(step)
        else:
            instead.update(zip(step.outs, twin.outs, strict=True))
    return substituted(Graph(list(graph.inputs), steps, list(graph.outputs)), instead)


def separate(graph: Graph, n_inputs: int, n_outputs: int) -> Graph:
    """Give every result memory of its own, where the passes have made two of one, or a result of an input or a constant.

    What a caller gets may be written to; the first `n_inputs` inputs, the constants and the other results must not change with it.
    """
    root: dict[Value, Value] = {}
    for step in graph.steps:
        if step.how in ("view", "views") and step.inputs[0] is not None:
            root.update(dict.fromkeys(step.outs, root.get(step.inputs[0], step.inputs[0])))
    taken = set(graph.inputs[:n_inputs])
    steps = list(graph.steps)
    outputs: list[Value | None] = []
    for i, out in enumerate(graph.outputs):
        base = None if out is None else root.get(out, out)
        if out is not None and base is not None and (base in taken or base.constant):
            copy = Value(out.shape, out.dtype)
            part = "forward" if i < n_outputs else "backward"
            copy.step = Step("call", "CloneBackward0", [out], ("K",), [copy], part=part)
            steps.append(copy.step)
            out = copy
        elif base is not None and i < n_outputs:
            taken.add(base)
        outputs.append(out)
    return Graph(list(graph.inputs), steps, outputs)


def _value_key(value: Value | None) -> Any:
    if value is None:
        return None
    if value.constant:
        array = np.asarray(value.array)
        return "constant", array.shape, array.dtype.str, array.tobytes()
    return id(value)


def _key(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.str, x.tobytes()
    if isinstance(x, tuple | list):
        return type(x).__name__, tuple(_key(y) for y in x)
    if isinstance(x, slice):
        return "slice", x.start, x.stop, x.step
    return type(x).__name__, repr(x)


# --- forward and backward apart --------------------------------------------------------------------


def split(
    graph: Graph, n_inputs: int, n_outputs: int, *, recompute_from: int = RECOMPUTE_FROM
) -> tuple[Graph, Graph, list[Value]]:
    """(forward, backward, saved): the joint graph cut in two.

    forward   takes the inputs and returns the outputs, then the saved values
    backward  takes the saved values, then the gradients of the outputs, and returns the gradients of the inputs

    A value is saved if the way back reads it. Views are taken again instead, and so are pointwise values of `recompute_from`
    bytes and more, where what they are computed from is there anyway.
    """
    outputs, grads = graph.outputs[:n_outputs], graph.outputs[n_outputs:]
    inputs, given = graph.inputs[:n_inputs], graph.inputs[n_inputs:]
    made_by = {out: step for step in graph.steps for out in step.outs}
    ahead = _ahead(graph, outputs)  # what the results need: whatever else can wait for the way back
    back = [step for step in graph.steps if step not in ahead]
    tangent = set(given)
    late = []
    for step in back:
        if any(v in tangent for v in step.values()):
            tangent.update(step.outs)
            late.append(step)
    # A step that no result needs and that reads no gradient (a square for the way back) runs in the backward graph too.
    early = set(ahead)
    late_set = set(back)

    def read_late(steps: set[Step]) -> dict[Value, None]:
        read: dict[Value, None] = {}
        for step in graph.steps:
            if step in steps:
                for v in step.values():
                    if not v.constant and v not in tangent:
                        maker = made_by.get(v)
                        if maker is None or maker not in steps:
                            read[v] = None
        for g in grads:
            if g is not None and not g.constant and g not in tangent and made_by.get(g) not in steps:
                read[g] = None
        return read

    again = set(late_set)
    while True:
        saved = read_late(again)
        found = None
        for value in sorted(saved, key=lambda v: -v.bytes):
            maker = made_by.get(value)
            if maker is None or maker in again or maker not in early:
                continue
            free = all(v.constant or v in saved or v in inputs for v in maker.values())
            cheap = maker.how == "view" or (pointwise(maker) and value.bytes >= recompute_from)
            if free and cheap and not (maker.how != "view" and value in outputs):
                found = maker
                break
        if found is None:
            break
        again.add(found)
    kept = list(saved)
    forward = Graph(inputs, [s for s in graph.steps if s in early], [*outputs, *kept])
    backward = Graph([*kept, *given], [s for s in graph.steps if s in again], list(grads))
    return forward, backward, kept


def _ahead(graph: Graph, outputs: list[Value | None]) -> set[Step]:
    read = {out for out in outputs if out is not None}
    found = set()
    for step in reversed(graph.steps):
        if any(out in read for out in step.outs):
            found.add(step)
            read.update(step.values())
    return found


# --- fusing ----------------------------------------------------------------------------------------


def fuse(graph: Graph) -> Graph:
    """Put chains of pointwise steps together: a value that is read once, by another pointwise step, gets no name.

    A fused step keeps its parts in `body`, the last one's result is its own.
    """
    users = graph.users()
    reader: dict[Value, Step] = {}
    for step in graph.steps:
        for value in step.values():
            reader[value] = step
    graph = _softmax_minus_one(graph, users, reader)
    inside: dict[Step, list[Step]] = {}
    out = []
    for step in graph.steps:
        if not pointwise(step):
            out.append(step)
            continue
        body = [*inside.pop(step, []), step]
        result = step.outs[0]
        heir = reader.get(result)
        if users.get(result) == 1 and heir is not None and pointwise(heir) and heir.part == step.part:
            inside.setdefault(heir, []).extend(body)
        elif len(body) == 1:
            out.append(step)
        else:
            made = {v for part in body for v in part.outs}
            taken = list(dict.fromkeys(v for part in body for v in part.values() if v not in made))
            out.append(
                Step("fused", "", list(taken), (), [result], line=step.line, part=step.part, body=body)
            )
    return Graph(list(graph.inputs), out, list(graph.outputs))


def _softmax_minus_one(graph: Graph, users: dict[Value, int], reader: dict[Value, Step]) -> Graph:
    """The way back of cross entropy: that of nll_loss and that of log_softmax are put together, for it is softmax minus one."""
    steps = []
    waiting: dict[Value, Step] = {}
    for step in graph.steps:
        after = reader.get(step.outs[0])
        if (
            step.how == "vjp"
            and step.rule == "NllLossBackward0"
            and users.get(step.outs[0]) == 1
            and after is not None
            and after.rule == "LogSoftmaxBackwardDataBackward0"
            and after.inputs[1] is step.inputs[0]
        ):
            waiting[step.outs[0]] = step
            continue
        first = waiting.get(step.inputs[0]) if step.inputs and step.inputs[0] is not None else None
        if first is not None:
            body = [first, step]
            taken = list(dict.fromkeys(v for v in first.values()))
            step = Step("fused", "", list(taken), (), step.outs, line=step.line, part=step.part, body=body)
        steps.append(step)
    return Graph(list(graph.inputs), steps, list(graph.outputs))


PASSES: tuple[tuple[str, Callable[[Graph], Graph]], ...] = (
    ("fold constants", fold_constants),
    ("simplify", simplify),
    ("share", share),
    ("drop", drop),
)
"""What is done to the joint graph, in this order; `split` and `fuse` follow."""

__all__ = [
    "PASSES",
    "RULES",
    "drop",
    "fold_constants",
    "fuse",
    "pointwise",
    "separate",
    "share",
    "simplify",
    "split",
]
