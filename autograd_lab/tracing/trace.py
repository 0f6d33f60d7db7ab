"""A recorded computation as plain data: what `README.md` beside this file describes, and nothing else.

The lists hold plain dicts exactly as in the JSON document, so a trace can be written, read, diffed
and shown without the engine that made it. A trace is immutable once it is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

FORMAT = "autograd-lab-trace"
VERSION = 1

Record = dict[str, Any]

#: Every kind of event, and the fields it must have besides "k".
EVENT_FIELDS: dict[str, tuple[str, ...]] = {
    "leaf": ("t",),
    "node": ("n", "t"),
    "edge": ("n", "i", "to"),
    "const": ("op", "in", "t"),
    "inplace": ("t", "version"),
    "mode": ("grad",),
    "idle": ("op",),
    "detach": ("t", "from"),
    "read": ("t",),
    "flag": ("t", "requires_grad"),
    "grad": ("t", "v"),
    "backward": ("p", "roots"),
    "counts": ("p", "deps"),
    "seed": ("n", "v"),
    "push": ("n", "queue"),
    "pop": ("n", "queue", "g"),
    "hook": ("n", "stage"),
    "vjp": ("n", "in", "out"),
    "free": ("n", "saved"),
    "deliver": ("n", "i", "to", "v", "sum", "arrived", "of"),
    "pruned": ("n", "i"),
    "accumulate": ("n", "t", "old", "add", "new"),
    "retain": ("n", "t", "v"),
    "error": ("n", "type", "message"),
    "done": ("p",),
    "refused": ("op", "in", "type", "message"),
    "unrecorded": ("op", "type", "message"),
}
_TENSOR_FIELDS = ("name", "shape", "dtype", "requires_grad", "leaf", "value")
_NODE_FIELDS = ("name", "op", "kind", "inputs", "outputs", "edges")


class TraceError(ValueError):
    """The document is not a trace that this version can read; the message says where and why."""


@dataclass(frozen=True, repr=False)
class Trace:
    """Events in order, and the sources, values, tensors and nodes they refer to by number."""

    title: str = ""
    sources: list[Record] = field(default_factory=list)
    values: list[Record] = field(default_factory=list)
    tensors: list[Record] = field(default_factory=list)
    nodes: list[Record] = field(default_factory=list)
    events: list[Record] = field(default_factory=list)

    why: ClassVar[Callable[..., Any]]
    names: ClassVar[Any]
    to_networkx: ClassVar[Callable[..., Any]]
    """What can be asked of a trace stands above it; the folder's __init__ gives it these three."""

    def __len__(self) -> int:
        return len(self.events)

    def __getstate__(self) -> Record:
        """A copy works its names in formulas out again: those kept with this trace refer to it (rules.names_of)."""
        return {name: part for name, part in vars(self).items() if name != "_names"}

    def __iter__(self) -> Iterator[Record]:
        return iter(self.events)

    def __bool__(self) -> bool:
        return True  # an empty trace is still a trace

    def __repr__(self) -> str:
        passes = sum(event["k"] == "backward" for event in self.events)
        title = f"{self.title!r}: " if self.title else ""
        return (
            f"Trace({title}{_count(len(self.events), 'event')}, {_count(len(self.nodes), 'node')}, "
            f"{_count(len(self.tensors), 'tensor')}, {_count(passes, 'backward pass', 'es')})"
        )

    def rewritten(self, event: Record) -> int | None:
        """The CopySlices that a write through a view (an event "inplace") gave the view's base, None for other writes."""
        n = event.get("n")
        for edge in [] if n is None else self.nodes[n]["edges"][:1]:
            inner = None if edge is None else self.nodes[edge[0]].get("inner")
            if inner is not None and inner["view"] == event["t"]:  # and not of an earlier write
                return int(edge[0])
        return None

    def hooked(self, event: Record) -> int | None:
        """The tensor that the hook of an event "hook" was registered on; None if it is not recorded, or if that was a node."""
        if event["stage"] not in ("tensor", "post_accumulate"):
            return None
        n, slot = event["n"], event.get("slot", 0)
        node = self.nodes[n]
        if node["kind"] == "accumulate":
            return node.get("tensor")
        if slot < len(node["outputs"]):
            return int(node["outputs"][slot])
        edge = n, slot  # of a node from before the recording, whose result came in later
        return next(
            (t for t, one in enumerate(self.tensors) if (one.get("node"), one.get("output_nr")) == edge), None
        )

    def number_of(self, tensor: Any) -> int:
        """The number of a tensor object; only a recording knows those. Raises KeyError."""
        raise KeyError(
            "this trace is plain data and knows no tensor objects: give the tensor's name, such as 'w'"
        )

    def to_json(self, *, indent: int | None = None) -> str:
        """The trace as a JSON document; `from_json` reads it back to an equal trace."""
        separators = None if indent else (",", ":")
        return json.dumps(self.to_dict(), indent=indent, separators=separators, allow_nan=False)

    def to_dict(self) -> Record:
        """The document `to_json` writes, as Python lists and dicts (shared with the trace, not copied)."""
        head: Record = {"format": FORMAT, "version": VERSION}
        return head | {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Read a trace from its JSON document. Raises `TraceError` if it is invalid."""
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise TraceError(f"not a trace: the text is not JSON ({error})") from None
        return cls.from_dict(document)

    @classmethod
    def from_dict(cls, document: Any) -> Trace:
        """Build a trace from what `to_dict` returned, checking format, version and every reference."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            found = document.get("format") if isinstance(document, dict) else type(document).__name__
            raise TraceError(f"not a trace: expected a document with format {FORMAT!r}, found {found!r}")
        if document.get("version") != VERSION:
            raise TraceError(
                f"this trace has version {document.get('version')!r}; this autograd_lab reads version "
                f"{VERSION}. Record it again, or use the release that wrote it."
            )
        parts: Record = {"title": str(document.get("title", ""))}
        for f in fields(cls)[1:]:
            parts[f.name] = document.get(f.name)
            if not isinstance(parts[f.name], list):
                raise TraceError(f"trace: {f.name!r} must be a list, found {type(parts[f.name]).__name__}")
        trace = cls(**parts)
        trace.check()
        return trace

    def check(self) -> None:
        """Raise `TraceError` unless every event has its fields and every reference points at something."""
        for i, tensor in enumerate(self.tensors):
            _need(tensor, _TENSOR_FIELDS, f"tensor {i}")
            _ref(tensor["value"], self.values, f"tensor {i}: value")
        for i, node in enumerate(self.nodes):
            _need(node, _NODE_FIELDS, f"node {i}")
            for t in (*node["inputs"], *node["outputs"]):
                _ref(t, self.tensors, f"node {i}: tensor")
            for edge in node["edges"]:
                _ref(edge and edge[0], self.nodes, f"node {i}: edge to node")
            if "inner" in node:
                _need(node["inner"], ("view",), f"node {i}: inner")
                _ref(node["inner"]["view"], self.tensors, f"node {i}: inner: view")
        for i, event in enumerate(self.events):
            where = f"event {i}"
            kind = event.get("k") if isinstance(event, dict) else None
            if kind not in EVENT_FIELDS:
                raise TraceError(f"{where}: unknown kind {kind!r}; known kinds: {', '.join(EVENT_FIELDS)}")
            _need(event, EVENT_FIELDS[kind], f"{where} ({kind})")
            if "n" in event:
                _ref(event["n"], self.nodes, f"{where} ({kind}): node")
            tensors = event.get("t")
            for t in tensors if isinstance(tensors, list) else [tensors]:
                _ref(t, self.tensors, f"{where} ({kind}): tensor")


def _count(n: int, word: str, plural: str = "s") -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}{plural}"


def _need(record: Any, names: tuple[str, ...], where: str) -> None:
    missing = [name for name in names if name not in record]
    if missing:
        raise TraceError(f"{where}: missing {', '.join(map(repr, missing))}")


def _ref(index: Any, items: list[Record], where: str) -> None:
    if index is not None and not (isinstance(index, int) and 0 <= index < len(items)):
        raise TraceError(f"{where} {index!r} is not in the trace, which has {len(items)}")
