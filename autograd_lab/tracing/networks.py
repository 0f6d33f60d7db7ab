"""A graph for networkx: nodes from results to operands, as gradients travel, with the local derivative on each edge.

The only file that imports networkx; it is loaded when somebody asks for such a graph. README.md lists the attributes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

import networkx as nx
import numpy as np

from ..torchlike.autograd.function import BackwardCFunction
from ..torchlike.autograd.node import Node
from ..torchlike.autograd.saved import FREED, Packed
from ..torchlike.autograd.variable import Variable
from ..torchlike.ops.rule import Rule
from .builder import results_last
from .jacobian import sent
from .names import Names
from .trace import Record, Trace

FULL = 64  # up to so many numbers a value is given, as in a trace
_KINDS = {"accumulate": "leaf", "op": "operation", "function": "Function"}


def of_trace(trace: Trace) -> Any:
    """The graph of everything that a trace recorded; the nodes have the numbers that they have in the trace."""
    graph = nx.MultiDiGraph()
    roots = {n for event in trace.events if event["k"] == "backward" for n in event["roots"]}
    used = {edge[0] for node in trace.nodes for edge in node["edges"] if edge}
    gradients = _gradients(trace)
    passed = _passed(trace)
    for n, node in enumerate(trace.nodes):
        leaf = node["kind"] == "accumulate"
        t = node.get("tensor") if leaf else next(iter(node["outputs"]), None)
        tensor: Record = {} if t is None else trace.tensors[t]
        graph.add_node(
            n,
            name=node["name"],
            kind=_KINDS.get(node["kind"], node["kind"]),
            root=n in roots if roots else n not in used,
            tensor=tensor.get("name", ""),
            line=_line(trace, node.get("src")),
            shape=tuple(tensor["shape"]) if tensor else None,
            value=_shown(trace, tensor.get("value")),
            gradient=_shown(trace, gradients.get(n)),
        )
    for n, node in enumerate(trace.nodes):
        known = {one["operand"]: _number(one) for one in node.get("jacobian", ())} or passed.get(n, {})
        line = _line(trace, node.get("src"))
        for i, edge in enumerate(node["edges"]):
            if edge is not None:
                graph.add_edge(n, edge[0], i, derivative=known.get(i), output=edge[1], line=line)
    return _labelled(graph)


def of_tensor(root: Any, frame: FrameType | None = None) -> Any:
    """The graph behind a tensor, as it is now; names and values are those of the variables of `frame`.

    The nodes are numbered from the operands to the results, so the root has the last number. The local derivatives come from
    running each rule once, on a message of ones, the backward of a custom Function included; of PyTorch's nothing is run. Raises what
    `lab.graph` lists.
    """
    _refuse(root)
    nodes = results_last(root.grad_fn)
    freed = next((node for node in nodes if getattr(node, "saved", None) is FREED), None)
    if freed is not None:
        raise RuntimeError(
            f"graph() needs the saved values of {freed.name()}, and a backward pass has freed them. What to do: call graph() before "
            "backward(), call backward(retain_graph=True), or record the program and call graph() with the trace"
        )
    tensors = _tensors(root, nodes, frame)
    derivatives, shapes = _derivatives(nodes, tensors)
    graph = nx.MultiDiGraph()
    for n, node in enumerate(nodes):
        leaf = getattr(node, "variable", None)
        name, tensor = tensors.get((id(node), 0), ("", None))
        graph.add_node(
            n,
            name=str(node.name()).rpartition("::")[2],
            kind="operation"
            if leaf is None and _is_operation(node)
            else "Function"
            if leaf is None
            else "leaf",
            root=node is root.grad_fn,
            tensor=name,
            line=None,
            shape=shapes.get((id(node), 0)) if tensor is None else tuple(tensor.shape),
            value=_numbers(tensor),
            gradient=_numbers(None if leaf is None else leaf.grad),
        )
    number = {id(node): n for n, node in enumerate(nodes)}
    for n, node in enumerate(nodes):
        for i, (to, nr) in enumerate(node.next_functions):
            if to is not None:
                graph.add_edge(n, number[id(to)], i, derivative=derivatives.get((n, i)), output=nr, line=None)
    return _labelled(graph)


def _refuse(root: Any) -> None:
    """Raise TypeError or ValueError, with what to do, if there is no graph behind `root`."""
    if not hasattr(root, "grad_fn"):
        raise TypeError(
            f"graph() takes a trace or a tensor that was computed from tensors that require a gradient, not {type(root).__name__}"
        )
    if root.grad_fn is None:
        raise ValueError(
            "graph() needs a tensor with a graph behind it, but this one "
            + (
                "is a leaf: no operation computed it. What to do: call graph() with what was computed from it"
                if root.requires_grad
                else "does not require a gradient: nothing that it was computed from does, or it was detached, or computed under no_grad"
            )
        )


def _is_operation(node: Any) -> bool:
    """Whether a node is one of an operation, and not of a custom Function: one of PyTorch's says so by its class."""
    return node.kind == "op" if isinstance(node, Node) else not hasattr(node, "saved_tensors")


def _derivatives(
    nodes: list[Any], tensors: Mapping[tuple[int, int], tuple[str, Any]]
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], tuple[int, ...]]]:
    """({(node, operand): local derivative} where both are one number, {(id of a node, output): its shape}).

    A node does not know the shape of its result. What a rule sends has the shape of the operand, so from the root on each shape is
    known when its node's turn comes; below a node whose rule is not run, only those of `tensors`.
    """
    derivatives: dict[tuple[int, int], float] = {}
    results: dict[tuple[int, int], tuple[tuple[int, ...], Any]] = {
        where: (t._data.shape, t._data.dtype) for where, (_, t) in tensors.items() if isinstance(t, Variable)
    }
    for n in range(len(nodes) - 1, -1, -1):
        node = nodes[n]
        result = results.get((id(node), 0))
        if result is None:
            continue
        for i, ((to, nr), message) in enumerate(
            zip(node.next_functions, _asked(node, *result), strict=False)
        ):
            if to is None or message is None:
                continue
            message = np.asarray(message)
            results.setdefault((id(to), nr), (message.shape, message.dtype))
            if np.prod(result[0]) == message.size == 1:
                derivatives[n, i] = message.item()
    return derivatives, {where: shape for where, (shape, _) in results.items()}


def _asked(node: Any, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    """What a node sends for a message of ones, unrecorded: an array for each operand, or None; [] if it cannot be asked.

    What was packed by a hook is the user's own: such a node is left alone. A custom Function is asked if it has one result, and
    what its backward raises is its own affair.
    """
    ones = np.ones(shape, dtype)
    if isinstance(node, BackwardCFunction):
        function: Any = node  # `apply` fills its slots
        kept = function._kept or ()
        if len(function._infos) != 1 or any(one is not None and one.packed is not None for one in kept):
            return []
        with suppress(Exception):
            messages = sent(node, [[ones]], ())[0]
            return [m.detach().numpy() if isinstance(m, Variable) else m for m in messages]
    elif isinstance(node, Rule) and node.plain and not any(isinstance(t, Packed) for t in node.saved):
        values = node.unpack(False)
        with suppress(NotImplementedError, RuntimeError, np.linalg.LinAlgError):  # a rule that cannot be run
            return sent(node, [ones], values)[0]
    return []


def _tensors(
    root: Any, nodes: Iterable[Any], frame: FrameType | None
) -> dict[tuple[int, int], tuple[str, Any]]:
    """{(id of a node, output): (name, the tensor that it made)}, as far as a variable, a saved value or the root is that tensor."""
    found: dict[tuple[int, int], tuple[str, Any]] = {(id(root.grad_fn), root.output_nr): ("", root)}
    names = Names()
    for node in nodes:
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found[id(node), 0] = ("" if frame is None else names.name(frame, leaf), leaf)
        elif isinstance(node, Rule):
            for i, t in enumerate(node.saved):
                if isinstance(t, Variable):
                    nr = node.result_number(i)
                    owner = (node, nr) if nr is not None else (_made_by(t), t.output_nr)
                    found.setdefault((id(owner[0]), owner[1]), ("", t))
    if frame is not None:
        for name, t in {**frame.f_globals, **frame.f_locals}.items():
            if isinstance(t, type(root)) and not name.startswith("_") and (fn := _made_by(t)) is not None:
                found[id(fn), t.output_nr] = (name, t)
    return found


def _made_by(t: Any) -> Any:
    """The node that made a tensor; None if there is none, or if a view cannot say since its base was written."""
    with suppress(RuntimeError):
        return t.grad_fn
    return None


def _numbers(t: Any) -> Any:
    """The number of a tensor, or its list of numbers; None if there is no tensor, or too many of them."""
    if t is None:
        return None
    data = t._data if isinstance(t, Variable) else t.detach().cpu().numpy()  # reading is not an event
    if data.size > FULL:
        return None
    return data.item() if data.size == 1 else data.tolist()


def _gradients(trace: Trace) -> dict[int, int | None]:
    """{node: the value of its gradient at the end}: what arrived in the last pass; of a leaf, its `.grad`."""
    found: dict[int, int | None] = {}
    accumulators = {node["tensor"]: n for n, node in enumerate(trace.nodes) if node["kind"] == "accumulate"}
    for t, n in accumulators.items():
        found[n] = trace.tensors[t].get("grad")
    for event in trace.events:
        if event["k"] == "accumulate":
            found[event["n"]] = event["new"]
        elif event["k"] == "grad" and event["t"] in accumulators:
            found[accumulators[event["t"]]] = event["v"]
        elif event["k"] == "pop" and trace.nodes[event["n"]]["kind"] != "accumulate":
            found[event["n"]] = event["g"][0] if event["g"] else None
    return found


def _passed(trace: Trace) -> dict[int, dict[int, float]]:
    """{custom Function: {operand: local derivative}} by what it has sent, divided by what came in: numbers both, and not 0."""
    found: dict[int, dict[int, float]] = {}
    for event in trace.events:
        if event["k"] != "vjp" or trace.nodes[event["n"]]["kind"] != "function" or len(event["in"]) != 1:
            continue
        came = _shown(trace, event["in"][0])
        for i, out in enumerate(event["out"]):
            went = _shown(trace, out)
            if isinstance(came, int | float) and isinstance(went, int | float) and came:
                found.setdefault(event["n"], {}).setdefault(i, went / came)
    return found


def _shown(trace: Trace, v: int | None) -> Any:
    """The number or the numbers of a value of a trace, None if it is unknown or only summarized."""
    if v is None or "data" not in trace.values[v]:
        return None
    value = trace.values[v]
    numbers = _floats(value["data"])
    if np.prod(value["shape"]) == 1:
        while isinstance(numbers, list):
            numbers = numbers[0]
    return numbers


def _floats(data: Any) -> Any:
    """The same numbers, with nan and inf, which stand as words in a trace."""
    if isinstance(data, list):
        return [_floats(one) for one in data]
    return float(data) if isinstance(data, str) else data


def _number(record: Mapping[str, Any]) -> float | None:
    """The local derivative that a Jacobian is if it has one entry; a zero is not listed as an entry."""
    if record["rows"] != 1 or record["columns"] != 1 or "entries" not in record:
        return None
    return float(record["entries"][2]) if record["entries"] else 0.0


def _line(trace: Trace, src: list[int] | None) -> tuple[str, int] | None:
    """(file or cell, number) of a line."""
    return None if src is None else (trace.sources[src[0]]["name"], src[1])


def _labelled(graph: Any) -> Any:
    """Give each node a short text that no other node has: the tensor's name, else its own; with a number if there are several."""
    words = {n: node["tensor"] or node["name"] for n, node in graph.nodes(data=True)}
    total, seen = Counter(words.values()), Counter[str]()
    for n, word in words.items():
        seen[word] += 1
        graph.nodes[n]["label"] = word if total[word] == 1 else f"{word} #{seen[word]}"
    return graph
