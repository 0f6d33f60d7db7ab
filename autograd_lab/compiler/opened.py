"""A compiled call opened: the lines of its NumPy source, carried out one by one, with what each reads and makes.

The lines are those of the function that ran, executed in its own namespace; nothing is computed in another way. Each
line knows the steps of the graph it was written for, and these the rules and the lines of the user's code they come from.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..torchlike.autograd.variable import Variable
from .effects import redrawn
from .emit import Emitted, Writer
from .graph import Graph, Step, quietly


@dataclass
class Line:
    """One statement of a compiled function.

    text    the source
    reads   (name, array) for the values it reads, as they were before it ran
    makes   (name, array) for what it makes or writes over
    steps   what it was written for, in the order in which it is computed
    """

    text: str
    reads: list[tuple[str, Any]] = field(default_factory=list)
    makes: list[tuple[str, Any]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class _Noting(Writer):
    """Writes as the Writer does, and notes for which step each line was written."""

    def emitted(self) -> Emitted:
        self.origins: list[Step] = []
        return super().emitted()

    def _write(self, i: float, step: Step) -> None:
        super()._write(i, step)
        self.origins.extend([step] * (len(self.lines) - len(self.origins)))


_ORIGINS: WeakKeyDictionary[Emitted, list[list[Step]]] = WeakKeyDictionary()


def origins(graph: Graph, emitted: Emitted, name: str) -> list[list[Step]]:
    """For each line of the body of an emitted function, the steps it was written for; [] where that is not known."""
    found = _ORIGINS.get(emitted)
    if found is None:
        found = []
        for inplace in (True, False):
            writer = _Noting(graph, name, inplace=inplace)
            if writer.emitted().source == emitted.source:
                found = [list(step.body or [step]) for step in writer.origins]
                break
        _ORIGINS[emitted] = found
    return found


def run_lines(graph: Graph, emitted: Emitted, name: str, arrays: list[Any]) -> list[Line]:
    """Run an emitted function line by line on its arguments."""
    tree = ast.parse(emitted.source).body[0]
    assert isinstance(tree, ast.FunctionDef)
    text = emitted.source.splitlines()
    steps = origins(graph, emitted, name)
    known: dict[str, Any] = dict(zip([a.arg for a in tree.args.args], arrays, strict=True))
    space = emitted.function.__globals__
    lines = []
    for statement in tree.body:
        if isinstance(statement, ast.Return):
            break
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        words = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
        read = dict.fromkeys(n.id for n in words if isinstance(n.ctx, ast.Load) and n.id in known)
        made = dict.fromkeys([*(n.id for n in words if isinstance(n.ctx, ast.Store)), *_written(statement)])
        if isinstance(statement, ast.AugAssign):
            read = {**dict.fromkeys(made), **read}
        reads = [(word, _copy(known[word])) for word in read if word in known]
        code = compile(ast.Module([statement], []), f"<compiled {name}>", "exec")
        quietly(exec, code, space, known)
        lines.append(
            Line(
                "\n".join(line.strip() for line in text[first - 1 : last]),
                reads,
                [(word, _copy(known[word])) for word in made if word in known],
                list(
                    dict.fromkeys(
                        s for at in range(first - 2, last - 1) if at < len(steps) for s in steps[at]
                    )
                ),
            )
        )
    return lines


def _written(statement: ast.stmt) -> list[str]:
    """The arrays that a statement writes into: `out=x`, `x[...] = `, `np.putmask(x, ...)`."""
    found = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Call):
            found += [k.value.id for k in node.keywords if k.arg == "out" and isinstance(k.value, ast.Name)]
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if called in ("putmask", "copyto") and node.args and isinstance(node.args[0], ast.Name):
                found.append(node.args[0].id)
        target = getattr(node, "target", None) or (node.targets[0] if isinstance(node, ast.Assign) else None)
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            found.append(target.value.id)
    return found


def _copy(x: Any) -> Any:
    return np.array(x)[()]


def forward_lines(node: Any, arrays: list[Any]) -> list[Line]:
    """The lines of the forward that made a CompiledFunctionBackward, for the arrays it was called with."""
    entry = node.entry
    return redrawn(entry, lambda: run_lines(entry.forward_graph, entry.forward, "forward", arrays))


def backward_lines(node: Any, slots: list[Any]) -> list[Line]:
    """The lines of the backward of a CompiledFunctionBackward, while what it keeps is still there.

    slots   the gradients of its outputs, None where there is none
    """
    entry = node.entry
    given = []
    for i in entry.differentiable:
        one, value = slots[i], entry.joint.outputs[i]
        given.append(
            np.zeros(value.shape, value.dtype)[()]
            if one is None
            else one._data
            if isinstance(one, Variable)
            else one
        )
    return run_lines(entry.backward_graph, entry.backward, "backward", [*node._arrays(), *given])


def kept_values(node: Any, outputs: tuple) -> list[tuple[str, Any, int]]:
    """What a CompiledFunctionBackward keeps: (its name in the source, the tensor or the array of its own, version)."""
    entry = node.entry
    names = [v.name for v in entry.backward_graph.inputs[: len(node.kept)]]
    tensors = [*node.watched, *[(outputs[i], 0) for i in entry.kept_outputs if i < len(outputs)]]
    tensors += [(_copy(x), 0) for x in node.kept[len(tensors) :]]
    return [(name, t, version) for name, (t, version) in zip(names, tensors, strict=True)]


__all__ = ["Line", "backward_lines", "forward_lines", "kept_values", "origins", "run_lines"]
