"""A captured computation as data: values, and the steps that compute them.

    Value   one array: its shape and number type, never its numbers (a constant has those as well)
    Step    one operation: which rule, how it runs, on which values
    Graph   inputs, steps in order, outputs

There are eleven ways to run a step; `run` below is the reference with which everything faster is compared.

    call    rule.forward(*arrays, *args)                   any operation of the rule book
    named   torch.<name>(*tensors, *args)                  an operation without a gradient: a comparison, argmax
    kernel  KERNELS[name](*arrays, *args)                  a side computation of an operation: a running mean
    draw    KERNELS[name](*args)                           random numbers, different each time
    view    the same numbers, rearranged                   reshape, transpose, broadcast, slice, take
    cast    another number type
    views   several of these of one array                  split, unbind
    put     a copy with some elements replaced             a write through a view; without a base: zeros elsewhere
    fold    summed back to the shape an operand had        (the backward of broadcasting)
    vjp     rule.vjp(g, *saved)                            a rule whose formula is not decomposed
    fused   several of these in sequence                   made by a pass
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..torchlike.autograd.metadata import sum_to
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import new
from ..torchlike.autograd.variable import NO_EDGE, wrap
from ..torchlike.ops.rule import FUNCTIONS, KERNELS, RULES

HOWS = ("call", "named", "kernel", "draw", "view", "views", "put", "cast", "fold", "vjp", "fused")


class Value:
    """One array of a graph. Two values are the same only if they are the same object."""

    __slots__ = ("array", "dtype", "name", "shape", "step", "written")

    def __init__(self, shape: tuple[int, ...], dtype: Any, name: str = "", array: Any = None) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.name = name
        self.array = array
        """The numbers of a constant; otherwise None."""
        self.step: Step | None = None
        """The step that computes it; None for inputs and constants."""
        self.written = False
        """Whether its memory is written at the end of the call: an input that is a buffer, or a view of one."""

    @property
    def constant(self) -> bool:
        """Whether its numbers are known at compile time."""
        return self.array is not None

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{self.name or '?'}: {self.dtype.name}{list(self.shape)}"


@dataclass(eq=False)
class Step:
    """One operation. `inputs` are Values, or None for an absent operand."""

    how: str
    """One of HOWS."""
    rule: str
    """The rule's node name ("MulBackward0"), or "" for a cast, a fold or a view that has none."""
    inputs: list[Value | None]
    args: tuple = ()
    """Plain values: for a call those that `forward` takes after the arrays; for a view (kind, parameters)."""
    outs: list[Value] = field(default_factory=list)
    single: bool = True
    """Whether the result is one array rather than a tuple of them."""
    casts: tuple = ()
    """For a call: the number type that each operand is converted to first, or None."""
    needs: tuple = ()
    """For a vjp: which operands want a gradient."""
    gives: tuple = ()
    """For a vjp: the operands that it sends gradients to; `outs` are these gradients."""
    saved: int = 0
    """For a vjp: how many of `inputs` are saved values; the others are the gradients of the outputs."""
    line: str = ""
    """Where the user wrote it: "model.py:12"."""
    part: str = "forward"
    """"forward" or "backward"."""
    of: str = ""
    """In the backward: the node whose formula it is part of ("TanhBackward0"); "" for sums of gradients."""
    body: list[Step] = field(default_factory=list)
    """For fused steps: the parts."""

    @property
    def op(self) -> str:
        """The operation's short name."""
        if self.body:
            return "+".join(step.op for step in self.body)
        if self.how == "view":
            return str(self.args[0])
        if self.how in ("named", "kernel", "draw"):
            return self.rule
        rule = RULES.get(self.rule)
        name = (
            getattr(rule, "op", "") or self.rule.removesuffix("Backward0").removesuffix("Backward1").lower()
        )
        return f"{name}_vjp" if self.how == "vjp" else name or self.how

    def values(self) -> Iterator[Value]:
        """The operands that are present."""
        return (value for value in self.inputs if value is not None)

    def __repr__(self) -> str:
        made = ", ".join(value.name or "?" for value in self.outs)
        taken = ", ".join(("-" if v is None else v.name or "?") for v in self.inputs)
        return f"{made} = {self.op}({taken}{', ' + repr(self.args) if self.args else ''})"


@dataclass(eq=False)
class Graph:
    """Steps in the order in which they run. Outputs may be None (a gradient that is zero everywhere by construction)."""

    inputs: list[Value]
    steps: list[Step]
    outputs: list[Value | None]

    def __str__(self) -> str:
        head = ", ".join(map(repr, self.inputs))
        tail = ", ".join("None" if v is None else v.name or "?" for v in self.outputs)
        return "\n".join([f"graph({head}):", *(f"    {step!r}" for step in self.steps), f"    return {tail}"])

    def users(self) -> dict[Value, int]:
        """How many times each value is read, as an operand or as a result."""
        count: dict[Value, int] = {}
        for step in self.steps:
            for value in step.values():
                count[value] = count.get(value, 0) + 1
        for out in self.outputs:
            if out is not None:
                count[out] = count.get(out, 0) + 1
        return count

    def constants(self) -> list[Value]:
        """The constants that are read, each once, in the order of their first use."""
        seen: dict[Value, None] = {}
        for value in [*(v for step in self.steps for v in step.values()), *self.outputs]:
            if value is not None and value.constant:
                seen[value] = None
        return list(seen)

    def named(self) -> Graph:
        """The same graph with a distinct name for every value."""
        taken = {value.name for value in self.inputs}
        number = 0
        for constant in self.constants():
            if not constant.name:
                constant.name = f"c{number}"
                number += 1
            taken.add(constant.name)
        for step in self.steps:
            letter = "g" if step.part == "backward" else "v"
            for value in step.outs:
                if not value.name or value.name in taken:
                    i = len(taken)
                    while f"{letter}{i}" in taken:
                        i += 1
                    value.name = f"{letter}{i}"
                taken.add(value.name)
        return self


# --- carrying out ----------------------------------------------------------------------------------


def run(graph: Graph, arrays: Iterable[Any]) -> list[Any]:
    """Interpret the graph on these input arrays, step by step with the rules."""
    known: dict[Value, Any] = dict(zip(graph.inputs, arrays, strict=True))
    for step in graph.steps:
        results = perform(step, [None if v is None else known.get(v, v.array) for v in step.inputs])
        known.update(zip(step.outs, results, strict=True))
    return [None if out is None else known.get(out, out.array) for out in graph.outputs]


def perform(step: Step, arrays: list[Any]) -> tuple[Any, ...]:
    """The results of one step."""
    result = quietly(function_of(step), *arrays)
    return (result,) if step.single else tuple(result)


def quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function with NumPy's warnings off: PyTorch has none."""
    with np.errstate(all="ignore"):
        return function(*args)


def function_of(step: Step) -> Callable[..., Any]:
    """The function of arrays that runs a step."""
    return {
        "call": _call,
        "named": _named,
        "kernel": _kernel,
        "draw": _kernel,
        "view": _view,
        "views": _views,
        "put": _put,
        "cast": _cast,
        "fold": _fold,
        "vjp": _vjp,
        "fused": _fused,
    }[step.how](step)


class NotAsCaptured(Exception):  # noqa: N818 - no error: the call is made again without the compiled code
    """Raised by compiled code when the numbers are of a kind that the capture did not see."""


INDEXED_ALONG = frozenset(
    f"{name}Backward{n}"
    for n in (0, 1)
    for name in ("IndexSelect", "Gather", "Scatter", "ScatterAdd", "ScatterReduce", "IndexAdd", "IndexCopy", "IndexFill", "IndexReduce")
)  # fmt: skip
"""Rules with integer indices along the dim that is their first argument. Their functions check these before the rule runs."""


def _checked(forward: Callable[..., Any], step: Step) -> Callable[..., Any]:
    where = [i for i, v in enumerate(step.inputs) if i and v is not None and v.dtype.kind in "iu"]
    shape = step.inputs[0].shape  # type: ignore[union-attr]
    size = shape[step.args[0]] if shape else 1

    def checked(*arrays: Any) -> Any:
        for i in where:
            index = arrays[i]
            if index.size and (index.min() < 0 or index.max() >= size):
                raise NotAsCaptured("an index is out of bounds")
        return forward(*arrays)

    return checked


def _call(step: Step) -> Callable[..., Any]:
    forward, args, casts = RULES[step.rule].forward, step.args, step.casts
    if step.rule in INDEXED_ALONG:
        forward = _checked(forward, step)
    if not any(casts):
        return lambda *arrays: forward(*arrays, *args)
    return lambda *arrays: forward(
        *[x if d is None else x.astype(d) for x, d in zip(arrays, casts, strict=True)], *args
    )


def _named(step: Step) -> Callable[..., Any]:
    function, args = FUNCTIONS[step.rule], step.args

    def named(*arrays: Any) -> Any:
        state = THREAD.state
        watch, state.watch = state.watch, None  # the watcher was told of the operation that this replaces
        state.refresh()
        try:
            return function(
                *[wrap(x) if isinstance(x, np.ndarray | np.generic) else x for x in arrays], *args
            )._data
        finally:
            state.watch = watch
            state.refresh()

    return named


def _kernel(step: Step) -> Callable[..., Any]:
    function, args = KERNELS[step.rule], step.args
    return lambda *arrays: function(*arrays, *args)


def _views(step: Step) -> Callable[..., Any]:
    takes = [placed(*one) for one in step.args]
    return lambda x: tuple([take(x) for take in takes])


def _view(step: Step) -> Callable[..., Any]:
    return placed(*step.args)


def _put(step: Step) -> Callable[..., Any]:
    kind, what, shape = step.args

    def put(base: Any, piece: Any) -> Any:
        result = np.zeros(shape, piece.dtype) if base is None else np.array(base, order="C")
        if kind == "take":
            result.reshape(-1)[what] = piece
        else:
            result[what] = piece
        return result if shape else result[()]

    return put


def placed(kind: str, what: Any) -> Callable[..., Any]:
    """A function that takes a view of this kind: "reshape" and a shape, "transpose" and an order, "slice" and an index."""
    return {
        "reshape": lambda x: x.reshape(what),
        "transpose": lambda x: x.transpose(what),
        "broadcast": lambda x: np.broadcast_to(x, what),
        "slice": lambda x: x[what],
        "take": lambda x: x.reshape(-1)[what],
        "same": lambda x: x,
    }[kind]


def _cast(step: Step) -> Callable[..., Any]:
    (dtype,) = step.args
    return lambda x: x.astype(dtype)


def _fold(step: Step) -> Callable[..., Any]:
    (shape,) = step.args
    return lambda g: sum_to(g, shape)


def _vjp(step: Step) -> Callable[..., Any]:
    rule = RULES[step.rule]
    node = stand_in(rule, step.args, step.needs)
    saved, gives = step.saved, step.gives

    def vjp(*arrays: Any) -> tuple[Any, ...]:
        slots = list(arrays[saved:])
        grads = rule.vjp(node, slots[0] if rule.plain else slots, *arrays[:saved])
        grads = grads if isinstance(grads, tuple) else (grads,)
        return tuple([grads[i] for i in gives])

    return vjp


def _fused(step: Step) -> Callable[..., Any]:
    own = Graph([v for v in step.inputs if v is not None], step.body, list(step.outs))
    one = step.single

    def fused(*arrays: Any) -> Any:
        results = run(own, arrays)
        return results[0] if one else tuple(results)

    return fused


def stand_in(rule: type, args: tuple, needs: tuple) -> Any:
    """A node that leads nowhere, for rules that read plain values from their node, or which operands want a gradient."""
    node = new(rule)
    node.args = args
    node._next = tuple([object() if needed else NO_EDGE for needed in needs])
    node.saved = ()
    node.broadcast = node.hooks = node.versions = None
    node.priority = 0
    return node
