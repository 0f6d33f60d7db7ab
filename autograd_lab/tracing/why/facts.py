"""What a trace says about tensors over time: what made them, which needed a gradient and when, which passes ran, what cut the path."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..narrate import Narrator
from ..rules import describe, is_number
from ..trace import Record, Trace
from .answer import Line
from .source import Source

#: The cause for each kind of event that ends a path of gradients.
_MADE_BY = {"data": "data", "Parameter": "parameter-copy", "deepcopy": "deep-copy"}
_INDEX = re.compile(
    r"(?<=[\w\]])\.(\d+)(?=\.|$)"
)  # for "net.0.weight", which the program writes as net[0].weight
_MODES = {"no_grad": "no-grad", "inference_mode": "inference-mode", "copy": "copied"}


@dataclass(frozen=True)
class Pass:
    """One backward pass: its events are those from `start` to `end`."""

    p: int
    start: int
    end: int
    failed: bool
    event: Record

    @property
    def fills(self) -> bool:
        """Whether it writes to `.grad`: autograd.grad does not."""
        return bool(self.event.get("call", "backward") != "grad")


@dataclass(frozen=True)
class Hop:
    """One step of data from tensor `a` to tensor `b`, at event `k`; `cut` names what ended the gradient's path there."""

    k: int
    a: int
    b: int
    cut: str = ""
    also: int | None = None  # a second relevant event: where a number re-entered


class Facts:
    """Look-ups over one trace. Event numbers `k` are indices into `trace.events`; the stepper's step is k + 1."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.events = trace.events
        own = [tensor["name"] for tensor in trace.tensors]  # which of several: see `name`
        self.words = Narrator(trace, own)
        self._called: dict[int, str] = {}
        self.maker: dict[int, int] = {}  # tensor -> the event that made it
        self.node_event: dict[int, int] = {}  # node -> the event that made it
        self.flags: dict[int, list[tuple[int, bool, str]]] = defaultdict(list)
        self.writes: dict[int, list[int]] = defaultdict(list)  # tensor -> in-place events
        self.grads: dict[int, list[int]] = defaultdict(list)  # tensor -> events that changed its .grad
        self.uses: dict[int, list[int]] = defaultdict(list)  # tensor -> events that used it
        self.passes: list[Pass] = []
        self._hooks: dict[int, list[tuple[int, Record]]] = {}
        self._leading: dict[int, set[int]] = {}
        self.inside: list[int] = []  # event -> the pass it belongs to, or 0
        self._read()
        self.accumulator = {
            node["tensor"]: n for n, node in enumerate(trace.nodes) if node.get("tensor") is not None
        }

    def _read(self) -> None:
        start, now = 0, 0
        for k, e in enumerate(self.events):
            kind = e["k"]
            if kind == "backward":
                start, now = k, e["p"]
            self.inside.append(now)
            if kind in ("done", "error") and now:
                self.passes.append(Pass(now, start, k, kind == "error", self.events[start]))
                now = 0
            for b in self.outputs(e):
                self.maker.setdefault(b, k)
            if kind == "node":
                self.node_event[e["n"]] = k
                for how, t, *_ in e["saved"]:  # an extra result that the call passed to library code only
                    if t is not None and how.startswith("result"):
                        self.maker.setdefault(t, k)
            elif kind == "inplace":
                self.writes[e["t"]].append(k)
                if e.get("n") is not None:
                    self.node_event.setdefault(e["n"], k)
            elif kind == "flag":
                self.flags[e["t"]].append((k, e["requires_grad"], e.get("how", "")))
            elif kind in ("accumulate", "retain", "grad"):
                nothing = kind == "grad" and e["v"] is not None and e["v"] == self.grad_now(e["t"])
                if not nothing:  # such as clipping with a limit that was not reached
                    self.grads[e["t"]].append(k)
            for a in self.inputs(e):
                self.uses[a].append(k)

    def outputs(self, e: Record) -> list[int]:
        """The tensors that an event made."""
        if e["k"] in ("node", "const"):
            return list(e["t"])
        return [e["t"]] if e["k"] == "detach" else []

    def inputs(self, e: Record) -> list[int]:
        """The tensors that an event computed from."""
        if e["k"] == "node":
            return list(self.trace.nodes[e["n"]]["inputs"])
        if e["k"] in ("const", "inplace"):
            return list(e.get("in") or ())
        return [e["from"]] if e["k"] == "detach" else []

    # -- tensors --------------------------------------------------------------------------------------

    def name(self, t: int) -> str:
        """The user's name for a tensor, or a description of its origin."""
        name = self._called.get(t) or self.trace.tensors[t]["name"]
        if name:
            return _INDEX.sub(r"[\1]", str(name))
        k = self.maker.get(t)
        if k is None:
            return self.trace.tensors[t].get("part") or "a tensor without a name"
        e = self.events[k]
        op = (
            self.trace.nodes[e["n"]]["op"]
            if e["k"] == "node"
            else e.get("op") or e.get("how") or "an operation"
        )
        return f"the result of {op.removeprefix('_')}"

    def hook_place(self, e: Record) -> str:
        """What a hook was registered on: see Narrator.hook_place."""
        t = self.trace.hooked(e)
        return self._called[t] if t in self._called else self.words.hook_place(e)

    def named(self, t: int) -> bool:
        """Whether the tensor has a name in the user's code."""
        return bool(self._called.get(t) or self.trace.tensors[t]["name"])

    def rename(self, t: int, name: str) -> None:
        """Give a tensor a name, if the trace has none."""
        self._called[t] = self.trace.tensors[t]["name"] or name

    def floating(self, t: int) -> bool:
        """Whether a tensor holds floating point numbers."""
        return bool(self.trace.tensors[t]["dtype"].startswith("float"))

    def leaf(self, t: int) -> bool:
        """Whether no recorded operation made the tensor (at the end of the trace)."""
        tensor = self.trace.tensors[t]
        return tensor.get("node") is None or self.trace.nodes[tensor["node"]]["kind"] == "accumulate"

    def needs(self, t: int, k: int | None = None) -> bool:
        """Whether the tensor required grad just before event k (or at the end)."""
        if not self.floating(t):
            return False
        k = len(self.events) if k is None else k
        now: bool = self.trace.tensors[t]["requires_grad"]
        for at, on, how in self.flags.get(t, ()):
            if at < k and how != "retain_grad":
                now = on
        return now or any(w < k and self.events[w].get("n") is not None for w in self.writes.get(t, ()))

    def born(self, t: int) -> int | None:
        """The event at which a tensor is first known to be new: it was made, or filled."""
        first = next((k for k in self.uses.get(t, ()) if self.events[k]["k"] == "inplace"), None)
        made = self.maker.get(t)
        return made if made is not None else first if first is not None and not self.used(t, first) else None

    def used(self, t: int, until: int) -> list[int]:
        """The events before `until` that computed with the tensor; a write into it alone (an initializer) does not count."""
        return [
            k
            for k in self.uses.get(t, ())
            if k < until
            and not (
                self.events[k]["k"] == "inplace"
                and self.events[k]["t"] == t
                and self.events[k].get("n") is None
            )
        ]

    def retain_asked(self, t: int) -> int | None:
        """The event at which retain_grad was called."""
        return next((k for k, _, how in self.flags.get(t, ()) if how == "retain_grad"), None)

    def grad_now(self, t: int) -> int | None:
        """The id of the value in `.grad` at the end."""
        if not self.grads.get(t):
            return None
        e = self.events[self.grads[t][-1]]
        found: int | None = e["new"] if e["k"] == "accumulate" else e["v"]
        return found

    def cancelled(self, t: int) -> bool:
        """Whether the last pass added something to `.grad` that made it 0."""
        e = self.events[self.grads[t][-1]]
        return e["k"] == "accumulate" and not self.zero(e["add"])

    def memory(self, t: int, uncounted: bool = False) -> set[int]:
        """The tensors that share the memory of t and its version: views, bases, what detach() gave.

        uncounted   also those that share only the memory: results of .data
        """
        return self._all_memory[t] if uncounted else self._memory[t]

    @cached_property
    def _memory(self) -> list[set[int]]:
        return self._groups(("detach", "Parameter"))

    @cached_property
    def _all_memory(self) -> list[set[int]]:
        return self._groups(("detach", "Parameter", "data"))

    def _groups(self, kinds: tuple[str, ...]) -> list[set[int]]:
        root = list(range(len(self.trace.tensors)))

        def find(t: int) -> int:
            while root[t] != t:
                t = root[t]
            return t

        for t, tensor in enumerate(self.trace.tensors):
            if tensor.get("base") is not None:
                root[find(t)] = find(tensor["base"])
        for e in self.events:
            if e["k"] == "detach" and e.get("how", "detach") in kinds:
                root[find(e["t"])] = find(e["from"])
        groups: dict[int, set[int]] = defaultdict(set)
        for t in range(len(root)):
            groups[find(t)].add(t)
        return [groups[find(t)] for t in range(len(root))]

    # -- values ---------------------------------------------------------------------------------------

    def say(self, v: int | None) -> str:
        """A value in words."""
        return describe(None if v is None else self.trace.values[v])

    def numbers(self, v: int | None) -> list[float]:
        """The numbers of a value; for a large one, those in its summary."""
        if v is None:
            return []
        value = self.trace.values[v]
        if "data" in value:
            return [float(x) for x in _flat(value["data"])]
        found = [float(value[name]) for name in ("min", "max") if value.get(name) is not None]
        found += [math.nan] * bool(value.get("nan")) + [math.inf] * bool(value.get("inf"))
        return found

    def wild(self, v: int | None) -> bool:
        """Whether a value holds nan or inf."""
        return any(not math.isfinite(x) for x in self.numbers(v))

    def nan(self, v: int | None) -> bool:
        """Whether a value holds nan."""
        return any(math.isnan(x) for x in self.numbers(v))

    def zero(self, v: int | None) -> bool:
        """Whether a value exists and consists of zeros only; False if the trace has no numbers for it."""
        numbers = self.numbers(v)
        return (
            v is not None
            and all(x == 0 for x in numbers)
            and (bool(numbers) or 0 in self.trace.values[v]["shape"])
        )

    # -- lines ----------------------------------------------------------------------------------------

    def line(self, src: list[int] | None, what: str = "") -> list[Line]:
        """The line of a place, as a list of one; empty if it is not known."""
        if src is None:
            return []
        source = self.trace.sources[src[0]]
        return [Line(source["name"], src[1], source["lines"].get(str(src[1]), "").strip(), what)]

    def at(self, k: int | None, what: str = "") -> list[Line]:
        """The line of an event."""
        if k is None:
            return []
        e = self.events[k]
        src = e.get("src")
        if src is None and e.get("n") is not None:
            src = self.trace.nodes[e["n"]].get("src")
        return self.line(src, what)

    def made(self, n: int, what: str = "") -> list[Line]:
        """The line that made a node."""
        return self.line(self.trace.nodes[n].get("src"), what)

    @cached_property
    def code(self) -> list[Source]:
        """The sources as programs."""
        return [Source(record) for record in self.trace.sources]

    def place(self, k: int | None) -> tuple[Source, int] | None:
        """The source and the number of the line of an event."""
        if k is None:
            return None
        src = self.events[k].get("src")
        if src is None and self.events[k].get("n") is not None:
            src = self.trace.nodes[self.events[k]["n"]].get("src")
        return None if src is None else (self.code[src[0]], src[1])

    def text(self, k: int | None) -> str:
        """The line of an event as written in the program."""
        where = self.place(k)
        return "" if where is None else where[0].lines.get(where[1], "")

    def mentioned(self, name: str) -> bool:
        """Whether a name, or the first part of a dotted one, is a word of the student's program."""
        return any(source.mentions(name) for source in self.code)

    def stepped(self, k: int) -> bool:
        """Whether an optimizer's step made a write: it has the optimizer's name."""
        return not self.events[k]["op"].endswith(("_", "="))

    def statement(self, k: int | None) -> str:
        """The line of an event, quoted."""
        return _quoted(self.at(k))

    def quoted(self, src: list[int] | None) -> str:
        """The line of a place, quoted."""
        return _quoted(self.line(src))

    def mentions(self, text: str, t: int) -> bool:
        """Whether a line mentions a tensor by its name."""
        return re.search(rf"(?<![\w.]){re.escape(self.name(t))}\b", text) is not None

    def off_at(self, k: int) -> int | None:
        """The event that switched recording off before event k, if none has switched it on again."""
        off = next((at for at in reversed(range(k)) if self.events[at]["k"] == "mode"), None)
        return off if off is not None and not self.events[off]["grad"] else None

    def switched_off(self, k: int) -> list[Line]:
        """The line at which recording was switched off before event k."""
        return self.at(self.off_at(k), "recording is off from here on")

    def _off(self, k: int, mode: str) -> str:
        """What prevented event k from being recorded: its own `with` block, or a mode that should have ended before."""
        off = self.off_at(k)
        e = self.events[off] if off is not None else {}
        if off is None and self.events[k].get("checkpoint"):
            return "reentrant-checkpoint"
        if e.get("by") == "call":
            return "grad-left-off"
        if e.get("by") == "with" and e.get("generator"):
            src, here = e.get("src"), self.events[k].get("src")
            first, last = e["generator"]
            if src and here and (src[0] != here[0] or not first <= here[1] <= last):
                return "grad-left-off"
        return mode

    def assignment(self, t: int) -> list[Line]:
        """The line `name = ...` that made a tensor from outside, found in the text of the sources."""
        name = self.trace.tensors[t]["name"]
        if not name.isidentifier():
            return []
        first = next((e.get("src") for e in self.events if e["k"] == "leaf" and e["t"] == t), None)
        for s, source in enumerate(self.trace.sources):
            if first is not None and s != first[0]:
                continue
            found = [
                int(n)
                for n, text in source["lines"].items()
                if (made := re.match(rf"\s*{name}\s*(:[^=]+)?=(?!=)", text))
                and (first is None or int(n) <= first[1])
                and not re.search(rf"(?<![\w.]){name}\b(?!\s*=[^=])", text[made.end() :])  # `x = x / 2`
            ]
            if found:
                return self.line([s, max(found)], "made here")
        return []

    # -- the graph ------------------------------------------------------------------------------------

    def behind(self, roots: Iterable[int], without: int | None = None) -> set[int]:
        """The nodes that a pass from `roots` can reach, or could reach if there were no node `without`."""
        seen = set(roots)
        stack = list(seen)
        while stack:
            for edge in self.trace.nodes[stack.pop()]["edges"]:
                if edge is not None and edge[0] not in seen and edge[0] != without:
                    seen.add(edge[0])
                    stack.append(edge[0])
        return seen

    def leading_to(self, goal: int | None) -> set[int]:
        """The nodes from which a gradient can come to node `goal`, itself included."""
        if goal is None:
            return set()
        if goal not in self._leading:
            seen = {goal}
            stack = [goal]
            while stack:
                for n in self._users[stack.pop()]:
                    if n not in seen:
                        seen.add(n)
                        stack.append(n)
            self._leading[goal] = seen
        return self._leading[goal]

    @cached_property
    def _users(self) -> dict[int, list[int]]:
        users: dict[int, list[int]] = defaultdict(list)
        for n, node in enumerate(self.trace.nodes):
            for edge in node["edges"]:
                if edge is not None:
                    users[edge[0]].append(n)
        return users

    def node_of(self, t: int) -> int | None:
        """The node through which a gradient for t enters the graph: its grad_fn, or its accumulator."""
        return self.accumulator.get(t) if self.leaf(t) else self.trace.tensors[t]["node"]

    def during(self, run: Pass, *kinds: str) -> Iterator[tuple[int, Record]]:
        """The events of some kinds in a pass."""
        for k in range(run.start, run.end + 1):
            if self.events[k]["k"] in kinds:
                yield k, self.events[k]

    def hooks(self, run: Pass) -> list[tuple[int, Record]]:
        """The hooks that ran in a pass; looked up once."""
        if run.p not in self._hooks:
            self._hooks[run.p] = list(self.during(run, "hook"))
        return self._hooks[run.p]

    def root_of(self, run: Pass) -> int | None:
        """The tensor the pass started from."""
        of = run.event.get("of")
        if of:
            return int(of[0])
        outputs = self.trace.nodes[run.event["roots"][0]]["outputs"] if run.event["roots"] else ()
        return outputs[0] if outputs else None

    # -- the path of the data -------------------------------------------------------------------------

    def hops(self, t: int, until: int | None = None) -> dict[int, Hop]:
        """For every tensor computed from t before event `until`: the last step of the path with the fewest cuts."""
        until = len(self.events) if until is None else until
        cost = {t: 0}
        came: dict[int, Hop] = {}
        handed_out: dict[tuple[float, ...], tuple[int, int, str]] = {}  # numbers -> (event, tensor, how)

        def offer(hop: Hop) -> None:
            price = cost[hop.a] + bool(hop.cut)
            if hop.b != hop.a and price < cost.get(hop.b, 1 << 30):
                cost[hop.b] = price
                came[hop.b] = hop

        for k in range(until):
            e = self.events[k]
            kind = e["k"]
            if self.inside[k] and kind != "node":
                continue
            if kind == "read" and e["t"] in cost and e.get("v") is not None:
                how = "numpy" if e.get("how") == "numpy" else "item"
                handed_out.setdefault(tuple(self.numbers(e["v"])), (k, e["t"], how))
            elif kind == "leaf" and e["t"] not in cost and e["t"] not in self.maker:
                key = tuple(self.numbers(self.trace.tensors[e["t"]]["value"]))
                if key in handed_out and key:
                    at, a, how = handed_out[key]
                    if self.trace.tensors[e["t"]]["requires_grad"] is False:
                        offer(Hop(at, a, e["t"], how, k))
            elif kind == "flag" and e["t"] in cost and not e["requires_grad"] and e["t"] in came:
                hop = came[e["t"]]
                if not hop.cut and e.get("how") == "detach_":
                    cost[e["t"]] += 1
                    came[e["t"]] = Hop(k, hop.a, hop.b, "detached-in-place")
            elif kind == "inplace":
                for a in self.inputs(e):
                    if a in cost:
                        for b in self.memory(e["t"], uncounted=True):
                            if self.maker.get(b, -1) < k:
                                offer(Hop(k, a, b, self._cut(k, e, a, b)))
            else:
                for a in dict.fromkeys(self.inputs(e)):
                    if a in cost:
                        for b in self.outputs(e):
                            offer(Hop(k, a, b, self._cut(k, e, a, b)))
        return came

    def _cut(self, k: int, e: Record, a: int, b: int) -> str:
        """What ended the gradient's path between a and b at event k, or ''. If a needed no gradient, the path ended before."""
        if not self.needs(a, k):
            return ""
        kind = e["k"]
        if kind == "detach":
            return _MADE_BY.get(e.get("how", "detach"), "detached")
        if kind == "const":
            cut = _MODES.get(e.get("why", ""), "no-derivative")
            if cut == "no-derivative" and self.trace.tensors[a].get("inference"):
                return "inference-tensor"
            return self._off(k, cut) if cut in ("no-grad", "inference-mode") else cut
        if not self.floating(b):
            return "no-derivative"
        if kind == "inplace":
            if e.get("op") == "data =":
                return "data"
            return "" if e.get("n") is not None else self._off(k, "no-grad")
        node = self.trace.nodes[e["n"]]
        edges = [node["edges"][i] for i, t in enumerate(node["inputs"]) if t == a and i < len(node["edges"])]
        return "no-derivative" if edges and all(edge is None for edge in edges) else ""

    def cuts(self, sources: set[int], until: int) -> list[Hop]:
        """Every step before event `until` at which data computed from one of `sources` lost its history."""
        found = []
        handed_out: dict[tuple[float, ...], Hop] = {}
        for k in range(until):
            e = self.events[k]
            if self.inside[k]:
                continue
            if e["k"] == "read" and e["t"] in sources and e.get("v") is not None and self.needs(e["t"], k):
                cut = "numpy" if e.get("how") == "numpy" else "item"
                handed_out[tuple(self.numbers(e["v"]))] = Hop(k, e["t"], e["t"], cut)
            elif e["k"] == "leaf" and e["t"] not in self.maker:
                hop = handed_out.get(tuple(self.numbers(self.trace.tensors[e["t"]]["value"])))
                if hop is not None and not self.trace.tensors[e["t"]]["requires_grad"]:
                    found.append(Hop(hop.k, hop.a, e["t"], hop.cut, k))
            for a in self.inputs(e):
                if a in sources:
                    found += [Hop(k, a, b, cut) for b in self.outputs(e) if (cut := self._cut(k, e, a, b))]
        return found

    def way(self, t: int, end: int, until: int | None = None) -> list[Hop] | None:
        """The steps from t to `end` with the fewest cuts, or None if `end` was not computed from t."""
        came = self.hops(t, until)
        if end not in came:
            return [] if t == end else None
        hops = [came[end]]
        while hops[-1].a != t:
            hops.append(came[hops[-1].a])
        return hops[::-1]

    def cut_before(self, t: int) -> Hop | None:
        """The nearest step, going back from t, at which a tensor that requires a gradient led to one that does not."""
        seen = {t}
        row = [t]
        while row:
            further = []
            for b in row:
                steps = [self.maker[b]] if b in self.maker else []
                for k in [*self.writes.get(b, ())[::-1], *steps]:
                    e = self.events[k]
                    for a in self.inputs(e):
                        cut = self._cut(k, e, a, b)
                        if cut:
                            return Hop(k, a, b, cut)
                        if a not in seen:
                            seen.add(a)
                            further.append(a)
            row = further
        return None

    def ancestors(self, t: int) -> list[int]:
        """Every tensor that t was computed from, through operations and writes, nearest first, across cuts."""
        found = {t: None}
        row = [(t, len(self.events))]
        for b, until in row:
            made = self.maker.get(b)
            writes = [w for w in self.writes.get(b, ()) if w < until and self.events[w].get("n") is not None]
            for k in [*reversed(writes), *([made] if made is not None else [])]:
                for a in self.inputs(self.events[k]):
                    if a not in found:
                        found[a] = None
                        row.append((a, k))
        return list(found)[1:]

    def is_constant(self, t: int) -> bool:
        """Whether a tensor is a number the user wrote."""
        return is_number(self.trace.tensors[t])


def _quoted(line: list[Line]) -> str:
    return f"`{line[0].text}`" if line and line[0].text else "a line that is not known"


def _flat(data: Any) -> list[Any]:
    return [x for part in data for x in _flat(part)] if isinstance(data, list) else [data]
