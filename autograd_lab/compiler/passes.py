"""The optimization passes on a joint graph. A pass takes a graph and returns a new one.

fold_constants   runs steps on constants now
simplify         x * 1, x + 0, two casts, a view of a view
share            merges steps that compute the same (common subexpressions)
drop             removes steps whose results are not read (dead code)
separate         gives results separate memory
(split)          forward and backward: see partition.py
fuse             merges chains of pointwise steps on small arrays into one statement, without names for intermediate values
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..torchlike.ops.rule import RULES
from . import graph as ir
from .graph import Graph, Step, Value

LARGE = 1 << 16
"""An array of at least this many bytes is freed as soon as it is no longer read."""

SMALL = 1 << 10
"""Bytes up to which NumPy has memory for an array at hand, so that a value without a name costs nothing."""

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


def substituted(graph: Graph, instead: dict[Value, Value]) -> Graph:
    """The graph with some values substituted wherever they are read."""
    if not instead:
        return graph

    def now(value: Value | None) -> Value | None:
        while value is not None and value in instead:
            value = instead[value]
        return value

    steps = [replace(step, inputs=[now(v) for v in step.inputs]) for step in graph.steps]
    return Graph(list(graph.inputs), steps, [now(v) for v in graph.outputs])


def drop(graph: Graph) -> Graph:
    """Remove every step none of whose results is read. Random draws stay: they advance the generator."""
    read = {out for out in graph.outputs if out is not None}
    kept = []
    for step in reversed(graph.steps):
        if step.how == "draw" or any(out in read for out in step.outs):
            kept.append(step)
            read.update(step.values())
    return Graph(list(graph.inputs), kept[::-1], list(graph.outputs))


def fold_constants(graph: Graph) -> Graph:
    """Compute now what depends on constants only."""
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
    """Remove steps that change nothing, and merge a view of a view into one view where that is a reshape.

    A copy of something written at the end of the call must stay, and so must a result that is a copy, since the caller may write into it:
    the backward may read the original.
    """
    instead: dict[Value, Value] = {}
    results = set(graph.outputs)

    def now(value: Value | None) -> Value | None:
        while value is not None and value in instead:
            value = instead[value]
        return value

    maker: dict[Value, Step] = {}
    steps = []
    for step in graph.steps:
        step = replace(step, inputs=[now(v) for v in step.inputs])
        same = _same_as(step)
        copy = step.how == "call" and (
            (same is not None and same.written) or (step.part == "forward" and step.outs[0] in results)
        )
        if (
            same is not None
            and not copy
            and same.shape == step.outs[0].shape
            and same.dtype == step.outs[0].dtype
        ):
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
    """Whether a sum keeps its dims only for a following reshape to remove them."""
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
    """The operand that the step returns unchanged, if it does."""
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
    if step.rule == "CopyBackwards":
        return b  # if the shapes match, everything is overwritten
    if step.rule in ("AliasBackward0", "CloneBackward0"):
        return a
    return None


def _all(value: Value | None, number: float) -> bool:
    return value is not None and value.constant and bool(np.all(value.array == number))


def share(graph: Graph) -> Graph:
    """Merge steps that compute the same. Two random draws never do."""
    instead: dict[Value, Value] = {}
    seen: dict[Any, Step] = {}
    steps = []
    for step in graph.steps:
        step = replace(step, inputs=[instead.get(v, v) if v is not None else None for v in step.inputs])
        key = (
            step.how, step.rule, step.single, step.needs, step.gives, step.saved, _key(step.casts), _key(step.args),
            tuple(_value_key(v) for v in step.inputs),
        )  # fmt: skip
        twin = seen.get(key) if step.how != "draw" else None
        if twin is None:
            seen[key] = step
            steps.append(step)
        else:
            instead.update(zip(step.outs, twin.outs, strict=True))
    return substituted(Graph(list(graph.inputs), steps, list(graph.outputs)), instead)


def separate(graph: Graph, n_inputs: int, n_outputs: int) -> Graph:
    """Give every result separate memory where the passes have merged two results, or a result with an input or a constant.

    The caller may write into a result; the first `n_inputs` inputs, the constants and the other results must not change with it.
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


# --- fusing ----------------------------------------------------------------------------------------


def fuse(graph: Graph) -> Graph:
    """Fuse chains of pointwise steps: a small value that is read once, by another pointwise step, gets no name.

    A fused step keeps its parts in `body`; the result of the last part is its own. It runs in the place of its last part. A larger array
    keeps its name: writing the next value over a named one saves more than one line less.
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
        if (
            users.get(result) == 1
            and heir is not None
            and pointwise(heir)
            and heir.part == step.part
            and result.bytes < SMALL
        ):
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
    """The backward of cross entropy: fuses that of nll_loss with that of log_softmax into softmax minus one."""
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
"""The passes on the joint graph, in this order; `split` and `fuse` follow."""

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
]
