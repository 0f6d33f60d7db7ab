"""`draw(loss)`: the graph behind a tensor, with PyTorch's own names and edges, in one picture.

The walk uses `grad_fn`, `next_functions`, `name()` and `variable` only, so a loss of real PyTorch is drawn as well.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping
from html import escape
from itertools import accumulate
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from autograd_lab.tracing import Trace
from autograd_lab.tracing.builder import encode, results_last
from autograd_lab.tracing.names import Names
from autograd_lab.tracing.scopes import SEPARATOR
from autograd_lab.tracing.trace import Record

from .export import destination
from .frames import film
from .svg import MOST_UNITS
from .themed import themed

PARTS = 12  # into which a large graph without modules is folded


class Drawing:
    """A picture of a graph; notebooks show it, `save` writes it to a file."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        drawn = film(trace, MOST_UNITS)
        if len(drawn["units"]) > MOST_UNITS and not any(node.get("scope") for node in trace.nodes):
            drawn = film(_folded(trace), MOST_UNITS)
        self.svg = themed(drawn)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, .svg or .png; ValueError for other endings."""
        target = destination(path, "save", ".svg", ".png")
        if target.suffix.lower() == ".svg":
            target.write_text(self.svg, encoding="utf-8")
            return
        from .raster import Raster

        Raster().picture(self.svg).save(target, optimize=True)

    def __repr__(self) -> str:
        nodes = [node["name"] for node in self.trace.nodes]
        leaves = nodes.count("AccumulateGrad")
        return (
            f"Drawing({_count(len(nodes) - leaves, 'node')}, {_count(leaves, 'leaf', 'leaves')}: "
            f"{' <- '.join(_first(nodes[::-1]))})"
        )

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        picture = base64.b64encode(self.svg.encode()).decode("ascii")
        alt = escape(repr(self), quote=True)
        return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{picture}">'

    def _repr_mimebundle_(self, **kwargs: Any) -> Record:
        return {"text/plain": repr(self), "text/html": self._repr_html_(), "image/svg+xml": self.svg}


def draw(what: Any, params: Mapping[str, Any] | None = None, *, frame: FrameType | None = None) -> Drawing:
    """The graph of a recorded trace, or the one behind a tensor.

    params   names of leaves, as in {"w": w, "b": b}
    frame    others, and the tensor itself, have the names of its variables: `lab.draw` gives that of its caller

    A graph of more than 300 boxes is drawn with its modules folded: those of the recorded calls, or those in the names of the leaves,
    such as "model.0.weight"; without names, some nodes at a time.
    """
    if isinstance(what, Trace):
        return Drawing(what)
    if not hasattr(what, "grad_fn"):
        raise TypeError(f"draw() takes a trace or a tensor with a graph behind it, not {type(what).__name__}")
    if what.grad_fn is None:
        raise ValueError(
            "draw() needs a tensor with a graph behind it, but this one has grad_fn None: "
            + ("it is a leaf, draw what was computed from it" if what.requires_grad else
               "nothing that led to it requires a gradient, or it was detached or computed under no_grad")
        )  # fmt: skip
    return Drawing(_graph(what, {id(t): name for name, t in (params or {}).items()}, frame))


def _graph(root: Any, given: Mapping[int, str], frame: FrameType | None) -> Trace:
    """A trace that has the nodes and edges behind `root`, and only the tensors that can still be reached."""
    trace, found = Trace("graph"), Names()

    def called(tensor: Any, deep: bool) -> str:
        name = given.get(id(tensor), "")
        return name or ("" if frame is None else found.name(frame, tensor, deep))

    nodes = results_last(root.grad_fn)
    number = {id(node): n for n, node in enumerate(nodes)}
    for n, node in enumerate(nodes):
        edges = [None if to is None else [number[id(to)], nr] for to, nr in node.next_functions]
        leaf = getattr(node, "variable", None)
        record: Record = {
            "name": _name(node),
            "op": _name(node),
            "kind": "op",
            "inputs": [],
            "outputs": [],
            "edges": edges,
        }
        trace.nodes.append(record)
        if leaf is not None:
            t = _tensor(trace, leaf, called(leaf, True), True)
            record |= {"kind": "accumulate", "tensor": t}
            trace.events.append({"k": "leaf", "t": t})
            continue
        if node is root.grad_fn:
            record["outputs"] = [_tensor(trace, root, called(root, False), False)]
        trace.events.append({"k": "node", "n": n, "t": record["outputs"]})
        trace.events.extend({"k": "edge", "n": n, "i": i, "to": edge} for i, edge in enumerate(edges) if edge)
    return trace


def _folded(trace: Trace) -> Trace:
    """The same trace with each node in the module of its parameters, or in a part of the graph where the names of the parameters tell no two modules apart."""
    modules: list[str] = []
    for node in trace.nodes:
        operands = [edge[0] for edge in node["edges"] if edge is not None]
        own = [name for n in operands if (name := _module_of(trace, n, modules))]
        modules.append(_common_module(own) if own else "")
    named = len({*modules} - {""}) > 1
    paths = [module.split(".") for module in modules if module]
    outer = _common_module([module for module in modules if module])
    around = min(
        [len(outer.split(".")) if outer else 0, *(len(path) - 1 for path in paths)]
    )  # a box around everything would be all of the picture
    # The root stands by itself, and leaves need no scope: they are drawn where they are used.
    inside = [n for n, node in enumerate(trace.nodes[:-1]) if node["kind"] != "accumulate"]
    parts = {} if named else _parts(trace, inside)
    last = ""
    nodes = list(trace.nodes)
    for n, (node, module) in enumerate(zip(trace.nodes, modules, strict=True)):
        if named:  # what has no parameters belongs to the module around what it works on
            before = next((modules[edge[0]] for edge in node["edges"] if edge and modules[edge[0]]), last)
            module = modules[n] = module or before.rpartition(".")[0]
            last = module
            pieces = module.split(".") if module else []
            parts[n] = SEPARATOR.join(".".join(pieces[: i + 1]) for i in range(around, len(pieces)))
    for n in inside:
        nodes[n] = {**nodes[n], "scope": parts[n]}
    return Trace(trace.title, trace.sources, trace.values, trace.tensors, nodes, trace.events)


def _parts(trace: Trace, inside: list[int]) -> dict[int, str]:
    """{node: "nodes 1 to 33", the part of the graph that it is in}, in parts of the same size; leaves that only one part uses count there."""
    size = max(len(inside) // PARTS, 1)
    part = {n: place // size for place, n in enumerate(inside)}
    users: dict[int, set[int | None]] = {}
    for n, node in enumerate(trace.nodes):
        for edge in node["edges"]:
            if edge is not None and trace.nodes[edge[0]]["kind"] == "accumulate":
                users.setdefault(edge[0], set()).add(part.get(n))
    many = Counter(part.values())
    many.update(one for (one, *others) in users.values() if one is not None and not others)
    last = dict(zip(many, accumulate(many[one] for one in many), strict=True))
    return {n: f"nodes {last[one] - many[one] + 1} to {last[one]}" for n, one in part.items()}


def _module_of(trace: Trace, n: int, modules: list[str]) -> str:
    """The module whose parameter a node leads to directly, or through a node that only transposes or copies it."""
    node = trace.nodes[n]
    if node["kind"] == "accumulate":
        return str(trace.tensors[node["tensor"]]["name"]).rpartition(".")[0]
    only = [edge for edge in node["edges"] if edge is not None]
    return modules[n] if len(only) == 1 and trace.nodes[only[0][0]]["kind"] == "accumulate" else ""


def _common_module(names: list[str]) -> str:
    parts = [name.split(".") for name in names]
    shared = []
    for pieces in zip(*parts, strict=False):
        if len(set(pieces)) > 1:
            break
        shared.append(pieces[0])
    return ".".join(shared)


def _tensor(trace: Trace, tensor: Any, name: str, leaf: bool) -> int:
    array = np.asarray(tensor.detach().numpy())
    trace.values.append(encode(array))
    trace.tensors.append({
        "name": name, "shape": list(array.shape), "dtype": str(array.dtype), "requires_grad": True, "leaf": leaf,
        "value": len(trace.values) - 1, "base": None, "node": None, "output_nr": 0,
    })  # fmt: skip
    return len(trace.tensors) - 1


def _name(node: Any) -> str:
    return str(node.name()).rsplit("::", 1)[-1]


def _count(n: int, one: str, more: str = "nodes") -> str:
    return f"{n} {one if n == 1 else more}"


def _first(names: list[str], most: int = 5) -> list[str]:
    names = [name for name in names if name != "AccumulateGrad"]
    return [*names[:most], "..."] if len(names) > most else names
