"""From a trace to a film: everything the stepper draws, computed once, so that stepping needs no kernel.

A film is one JSON document. What changes while stepping is stored in *timelines*, flat lists
`[step, state, step, state, ...]`: the picture at step k is the last state whose step is not above k, found by
bisection, so that any step can be shown at once, forwards or backwards. Equal states and strings are stored
once.

    units     boxes (tensors) and shapes (nodes) placed together: a result beside the node that made it;
              "size" is its extent to the left and right of its anchor, and its height, "boxes" and "shape" are
              relative to the anchor; "why" is a key of `captions` if its tensor has no history; "hooks" says for each box
              whether its tensor has hooks, over time (a node has the same)
    captions  why a tensor has no history, in a word
    words     what those words in the formulas mean that are no functions of PyTorch's
    groups    parts of the program that fold into one box; "open" says which are open at first; "pass" of one that stands for a
              backward pass and is never opened: [its first step, its last, [its nodes]]
    forward   edges of data, from unit "u" to unit "v"
    backward  lines of gradients, drawn from "v" to "u"; "w" is the width of the widest gradient on it; its states are
              [status, value, what a hook made of it or -1]
    nodes     "heap" is what lies at one that gets several messages and "seed" what starts a pass there, both over time, as
              [text, value of its strip or -1]; "dead" are operands without an edge: [operand, what happened to it over time];
              "aside" says that it was made while a pass ran, but not by the pass itself
    levels    of each value how large it is on the scale from 0 to `LEVELS`, with -1 for zero and LEVELS + 1 for nan and inf
    scale     the powers of ten at both ends of that scale; none if no gradient was sent
    say       the narration: [template, part, part, ...] as numbers into `strings`
    panels    what the rule panel shows for a node, over time
    cost      what saved values hold (see costs.py)
    queue     the ready queue: a timeline of its length, and one for each of the first nodes
    engine    the engine's source, if this engine ran (see engine_source.py); if so, of its variables:
    hand      the node in hand, over time
    deps      like queue: the nodes that wait for messages; for how many is in "left", a timeline for each of the first
    held      like queue: the nodes at which gradients lie; which gradients is in "lies" of the node
    told      {step: [mark, sentence]}, numbers into `strings` or -1, of the steps that are not told at the mark of their kind
    made      {step: [...]}: what the variables hold at a mark of `engine_source.BY_MARK`, tensors and nodes by number
    yours     an engine of the reader's own beside it, if there is one (see course/beside.py): its source in "pages", and for each step
              of the film [page, row or None, sentence, [[variable, text], ..], whether the row ran at this step or before]
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from math import ceil, floor, inf, isfinite, log10, prod
from typing import Any

from autograd_lab.torchlike.autograd import collector
from autograd_lab.tracing import rules
from autograd_lab.tracing.builder import Slot
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.scopes import SEPARATOR, common
from autograd_lab.tracing.state import State
from autograd_lab.tracing.told import Teller
from autograd_lab.tracing.trace import Record, Trace
from autograd_lab.tracing.words import explained

from . import engine_source
from .again import refilled, same_path
from .costs import costs
from .curves import curves, trained, turns
from .details import details
from .groups import BACKWARD, OPTIMIZER, bundled, folded, opened, visible

FORMAT = "autograd-lab-film"
VERSION = 2

BOX_HEIGHT = 40
NODE_RY = 17
DIAMOND = 19  # half a diagonal
#: Kinds of events at which `next node` stops: a node exists, or has done its work.
STOPS = (
    "node", "const", "inplace", "detach", "backward", "vjp", "accumulate", "error", "done", "refused", "unrecorded",
)  # fmt: skip
LEVELS = 8  # steps of the scale of magnitudes
STRIP = 22  # the width of a heat strip on a line of text
#: Why a tensor has no history, in a word for its box.
CAPTIONS = {
    "inputs": "no grad_fn", "no_grad": "no_grad", "pass": "not recorded", "forward": "not recorded", "inference_mode": "inference", "copy": "copied",
    "detach": "detached", "data": ".data",
}  # fmt: skip
_LONG = 24  # more letters than this are too many for four digits of each number
_BOXES = 4  # most tensors of a unit that have one
_SHOWN = 8  # most entries of the queue and of the waiting list that are shown
_SHOWN_BESIDE = 4  # and of the variables beside the engine's source

_WIDTHS = {c: 0.3 for c in "ijl.,:;|!'()[]{}ftrI-/ "} | {c: 0.9 for c in "mwMW@%"}


@lru_cache(10_000)
def text_width(text: str, size: float = 12, bold: bool = False) -> float:
    """About how wide a text is in a common sans-serif font, on the wide side."""
    em = sum(_WIDTHS.get(c, 0.7 if c.isupper() else 0.58) for c in text)
    return em * size * (1.08 if bold else 1.0)


def drawn_name(name: str) -> str:
    """A name as shown in its box: a very long one by its beginning and end (assets/graph.js does the same)."""
    return name if len(name) <= 36 else f"{name[:20]}\N{HORIZONTAL ELLIPSIS}{name[-14:]}"


class Table:
    """Stores equal items once, by number."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self.items: list[Any] = list(items)
        self._index: dict[Any, int] = {}

    def add(self, item: Any, key: Any = None) -> int:
        """The number of `item`."""
        new = len(self.items)
        number = self._index.setdefault(item if key is None else key, new)
        if number == new:
            self.items.append(item)
        return number

    def at(self, place: int) -> None:
        """What is added from now on belongs to this place of the film: a step, or -1 minus a node."""

    def again(self, number: int) -> None:
        """The item of this number is meant once more, and known to the caller."""


class Numbers:
    """The numbers that a film's tables gave, place by place. The film of another run gives them again, so that the two differ little.

    Where the run took the path of the one before, its film is that one's with other numbers put in.
    """

    def __init__(self) -> None:
        self.tables: dict[str, Noted] = {}
        self.last: Film | None = None  # that was made as a whole

    def table(self, name: str) -> Table:
        """The table of a film: of the first it is noted what it gives, the others give the same as far as they can."""
        if name in self.tables:
            return Following(self.tables[name])
        self.tables[name] = Noted()
        return self.tables[name]


class Noted(Table):
    """A table whose numbers are noted, by their places."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[int, list[int]] = {}
        self.at(0)

    def at(self, place: int) -> None:
        """What is added from now on belongs to this place."""
        self._here = self.given.setdefault(place, [])

    def add(self, item: Any, key: Any = None) -> int:
        """The number of `item`."""
        number = super().add(item, key)
        self._here.append(number)
        return number

    def again(self, number: int) -> None:
        """Note it once more."""
        self._here.append(number)


class Following(Table):
    """A table that gives the numbers which another one gave at the same places. What is equal has one number here, too."""

    def __init__(self, other: Noted) -> None:
        super().__init__()
        self.items = [""] * len(other.items)  # where it stays so, nobody refers to it
        self._free = [True] * len(other.items)
        self._given = other.given
        self.at(0)

    def at(self, place: int) -> None:
        """What is added from now on belongs to this place."""
        self._wanted = iter(self._given.get(place, ()))

    def add(self, item: Any, key: Any = None) -> int:
        """The number of `item`."""
        key = item if key is None else key
        wanted = next(self._wanted, None)
        number = self._index.get(key)
        if number is not None:
            return number
        if wanted is not None and self._free[wanted]:
            self._free[wanted] = False
            self.items[wanted] = item
        else:
            wanted = len(self.items)
            self.items.append(item)
        self._index[key] = wanted
        return wanted

    def again(self, number: int) -> None:
        """Go on to the next number."""
        next(self._wanted, None)


@dataclass
class Unit:
    """Boxes of tensors placed together with the node that made them or accumulates their gradient."""

    tensors: list[int]
    node: int | None
    since: int
    until: int = 1 << 30  # the last step before its tensor was written in place and got a box elsewhere
    scope: str | None = None  # for a tensor without a node: where it was made; None for leaves
    fed: bool = False  # whether lines end at the top of its boxes


@dataclass
class Sizes:
    """Of a unit, for all that it ever says."""

    left: float = 0  # its extent from its anchor, the right edge of its last box
    right: float = 0
    height: float = 0
    boxes: list[list[float]] = field(default_factory=list)  # x, y, w, h, relative to the anchor
    shape: list[float] = field(default_factory=list)  # x, y, rx, ry of the node, relative too
    heap: list[float] = field(default_factory=list)  # x, y, width of the label for what lies at the node
    seed: list[float] = field(default_factory=list)  # and of the one for what starts a pass there


@dataclass
class Line:
    """An edge to be drawn: from box to box (forward) or from node to node (backward)."""

    source: int  # unit above
    target: int  # unit below
    node: int | None
    operand: int
    since: int
    dotted: bool = False
    source_box: int = 0
    cut: bool = False  # numbers went on, history did not


@dataclass
class Pass:
    """A backward pass of a training loop that has a box of its own."""

    unit: int
    root: int  # the unit of the node it starts from
    turn: str  # the iteration
    first: int
    last: int | None = None
    nodes: dict[int, None] = field(default_factory=dict)


class Film:
    """Builds the document; `document()` is the result."""

    def __init__(self, trace: Trace, most: int | None = None, numbers: Numbers | None = None) -> None:
        self.trace = trace
        self.most = most
        self.narrator = Narrator(trace)
        self.strings, self.values, self.states = (
            Table() if numbers is None else numbers.table(name) for name in ("strings", "values", "states")
        )
        self.units: list[Unit] = []
        self.home: dict[int, int] = {}  # tensor -> the unit that shows it now
        self.homes: dict[int, list[int]] = {}  # tensor -> all units that have shown it, in turn
        self.place: dict[int, int] = {}  # node -> its unit
        self.forward: list[Line] = []
        self.backward: list[Line] = []
        self.tensor_lines: dict[int, list[int]] = {}
        self.node_lines: dict[int, list[int]] = {}
        self.edge_lines: dict[tuple[int, int], list[int]] = {}
        self.panels: dict[int, list[int]] = {}
        self.cut: dict[int, str] = {}  # tensors computed or copied without history, and why
        self.places: dict[int, int] = {}  # a value of the trace, or its slot -> its number here
        self._sizes: dict[int, float] = {}  # of each value the largest of its numbers
        self._joined: set[int] = set()  # nodes whose edges are drawn
        self.passes: list[Pass] = []
        self.running = 0  # passes that run now, one within the other
        self.trained, self.read = trained(trace)
        self.recorded = {node.get("made_in") for node in trace.nodes}  # passes that make a graph themselves
        self.plain = {e["p"] for e in trace.events if e["k"] == "backward" and e.get("create_graph") is False}
        self._walked: set[int] = set()  # and nodes looked at for such as are not
        # What another run of the same path says otherwise (see again.py):
        self.fixed: set[int] = set()  # strings that no number of the program is in
        self.labels: list[tuple[int, list[tuple[int, int]]]] = []  # a string, and the values that it shows
        self.sent: list[tuple[Any, ...]] = []  # terms, and what `terms` makes them of
        self.compared: list[tuple[int, int, bool]] = []  # slots, and whether they held the same
        self.doc: Record = {}
        self.apart = any(type(tensor["value"]) is Slot for tensor in trace.tensors)
        self.marks = Marks(self)
        self.phase: list[Any] = [0, "forward", 0]

    def document(self) -> Record:
        """The film as plain data."""
        trace = self.trace
        kinds = Table()
        kinds.add("start")
        doc: Record = {"format": FORMAT, "version": VERSION, "title": trace.title, "steps": len(trace)}
        state = State(trace)
        say = [self._say(0)]
        kind, focus, subject = [0], [-1], [-1]
        line: list[Any] = []
        phase = self.phase
        queue: list[list[int]] = [[] for _ in range(1 + _SHOWN)]
        queued: list[int] = []
        waiting: list[Any] = []
        grad_mode: list[Any] = []
        partly: dict[int, None] = {}
        engine = EngineLines(trace) if engine_source.ran(trace) else None
        sums: dict[int, list[int]] = {}
        for k, event in enumerate(trace.events, 1):
            self._at(k)
            changed = state.advance()
            self._grow(event, k)
            self.marks.add(state, k)
            for what in changed:
                self._record(state, what, k)
            self._panel(state, event, k)
            say.append(self._say(k))
            kind.append(kinds.add(event["k"]))
            focus.append(-1 if state.node is None else state.node)
            subject.append(self._subject(event))
            if not line or line[-1] != state.line:
                line += [k, state.line]
            if phase[-2:] != [state.phase, state.backward]:
                phase += [k, state.phase, state.backward]
            if event["k"] == "mode":
                grad_mode += [k, int(state.grad_mode)]
            if event["k"] == "deliver" and event.get("old") is not None:
                sums[k] = [event["to"], *(self.value(event[key]) for key in ("old", "v", "sum"))]
            moved = False
            for what, n, *_ in changed:
                if what == "node":
                    moved = True
                    node = state.nodes[n]
                    if 0 < node.arrived < node.of and node.status == "waiting":
                        partly[n] = None
                    else:
                        partly.pop(n, None)
            ready = [len(state.queue), *state.queue[:_SHOWN]]
            if ready != queued:
                _keep_each(queue, k, ready)
                queued = ready
            if engine is not None:
                engine.add(self, state, k)
            if moved or not waiting:
                first = islice(partly, _SHOWN)
                shown = [[n, state.nodes[n].arrived, state.nodes[n].of] for n in first]
                _keep(waiting, k, [shown, len(partly)])
        doc |= {
            "say": say,
            "kinds": kinds.items,
            "kind": kind,
            "focus": focus,
            "subject": subject,
            "line": line,
            "phase": phase,
            "queue": queue,
            "waiting": waiting,
            "gradMode": grad_mode,
            "sums": sums,
            "stops": [k for k, e in enumerate(trace.events, 1) if e["k"] in STOPS],
            "sources": self._sources(),
            "cost": costs(trace),
            "curves": curves(trace),
            "turns": turns(trace),
            "captions": CAPTIONS,
            "g": trace.names.gradient,
        }
        doc |= self.tensors() | self._nodes()
        self._at(-1 - len(trace.nodes))
        doc |= self._geometry() | {"details": details(self)}
        if engine is not None:
            engine.put(doc, trace)
        doc |= self.magnitudes(doc)
        doc |= {"strings": self.strings.items, "values": self.values.items, "states": self.states.items}
        self.doc = doc
        return doc

    def on(self, trace: Trace, named: bool) -> Film:
        """The film of another run of the same path, whose values and strings are still this one's; `named`: and all names are."""
        film = copy(self)
        film.trace, film._sizes = trace, {}
        film.narrator = self.narrator.on(trace) if named else Narrator(trace)
        film.values, film.strings = Table(self.values.items), Table(self.strings.items)
        return film

    # Words and numbers.

    def _at(self, place: int) -> None:
        for table in (self.strings, self.values, self.states):
            table.at(place)

    def _say(self, k: int) -> list[int]:
        return [self.strings.add(part) for part in self.narrator.phrase(k)]

    def word(self, text: str) -> int:
        """The number of a string that no number of the program is in."""
        number = self.strings.add(text)
        self.fixed.add(number)
        return number

    def held(self, name: str, x: Any) -> Any:
        """What a variable of the engine's holds, with the film's numbers for values and words."""
        if isinstance(x, str | bool):
            return self.word(str(x))
        return self.value(x) if name in engine_source.VALUES and x is not None else x

    def value(self, v: int | None) -> int:
        """A value's number in the film, -1 for none: a string for a scalar, otherwise shape, numbers and range."""
        if v is None:
            return -1
        slot = v.slot if type(v) is Slot else v
        known = self.places.get(slot)
        if known is None:
            item, text = self.item(v)
            known = self.places[slot] = self.values.add(item, ("slot", slot) if type(v) is Slot else text)
            self.count(known, v)
        else:
            self.values.again(known)
        return known

    def item(self, v: int) -> tuple[Any, str]:
        """What the film has of a value of the trace, and a text that differs where it does."""
        record = self.trace.values[v]
        single = rules.scalar(record)
        if single is not None:
            truth = isinstance(record["data"], bool)
            return (text := str(record["data"]) if truth else rules.number(single)), text
        data = record.get("data", record.get("corner"))
        item = {
            "shape": record["shape"],
            "data": _rounded(data),
            "text": self.narrator.described(v),
            "short": in_brief(record),
        }
        if "data" not in record:
            item |= {key: _rounded(record.get(key)) for key in ("min", "max", "mean", "nan", "inf")}
        return item, repr(item)

    def same(self, a: int | None, b: int | None) -> bool:
        """Whether two values of the trace are equal."""
        if type(a) is Slot and type(b) is Slot:
            self.compared.append((a.slot, b.slot, a == b))
        return a == b

    def count(self, number: int, v: int) -> None:
        """Note how large a value is, which has this number here."""
        if number not in self._sizes:
            self._sizes[number] = largest(self.trace.values[v])

    def magnitudes(self, doc: Record) -> Record:
        """The levels and the scale: how large each value is, on a scale with room for all gradients that were sent."""
        timelines = [line["tl"] for line in doc["backward"]]
        sent = {v for tl in timelines for s in tl[1::2] for v in self.states.items[s][1:]}
        sent |= {
            v for node in doc["nodes"] for s in node["seed"][1::2] if s >= 0 for v in self.states.items[s][2:]
        }
        powers = [log10(self._sizes[v]) for v in sent if v >= 0 and 0 < self._sizes[v] < inf]
        if not powers:
            return {"levels": [0] * len(self.values.items), "scale": []}
        low, high = floor(round(min(powers), 6)), ceil(round(max(powers), 6))
        missing = max(4 - (high - low), 0)  # what differs little must not look very different
        low, high = low - (missing + 1) // 2, high + missing // 2

        def level(size: float) -> int:
            if not isfinite(size):
                return LEVELS + 1
            part = (log10(size) - low) / (high - low) if size else 0.0
            return min(max(floor(LEVELS * part + 0.5), 0), LEVELS) if size else -1

        sizes = (self._sizes.get(v, 0.0) for v in range(len(self.values.items)))
        return {"levels": [level(size) for size in sizes], "scale": [low, high]}

    def label(self, pairs: Iterable[tuple[int, int]]) -> tuple[str, int]:
        """Values with what hooks made of them, as [text, value of its strip]."""
        pairs = list(pairs)
        texts = [
            f"{brief_at(self.values.items, v)} \N{RIGHTWARDS ARROW} {brief_at(self.values.items, after)}"
            if after != v and (min(v, after) < 0 or self.values.items[v] != self.values.items[after])
            else brief_at(self.values.items, v)
            for v, after in pairs
        ]
        return " \N{MIDDLE DOT} ".join(texts), pairs[0][1] if len(pairs) == 1 else -1

    def room(self, v: int, size: float = 12, bold: bool = False) -> float:
        """The width of a value of the film with its strip."""
        return self._room(brief_at(self.values.items, v), v, size, bold)

    def _room(self, text: str, v: int, size: float, bold: bool) -> float:
        strip = v >= 0 and has_strip(self.values.items[v])
        return text_width(text, size, bold) + (STRIP + 5 if strip else 0)

    def _label_width(self, timeline: list[int]) -> float:
        """The room for what a label says over time; 0 if it never says anything."""
        said = [self.states.items[s] for s in timeline[1::2] if s >= 0]
        return max(
            (self._room(self.strings.items[text], v, 11, True) + 14 for text, v, *_ in said), default=0.0
        )

    # What exists.

    def _grow(self, e: Record, k: int) -> None:
        """Add the boxes, nodes and edges of an event."""
        kind = e["k"]
        if kind == "leaf" and e["t"] not in self.home:
            self._unit([e["t"]], None, k)
        elif kind == "node":
            self._operation(e["n"], e["t"], k)
        elif kind == "edge":
            self._edge(e["n"], e["i"], e["to"][0], k)
        elif kind == "const":
            self.cut.update(dict.fromkeys(e["t"], self.narrator.reason(e)))
            unit = self._unit(e["t"], None, k)
            self.units[unit].scope = e.get("scope", "")
            for i, t in enumerate(dict.fromkeys(e["in"])):
                self._data(t, unit, i, k, dotted=True)
                self.forward[-1].cut = e.get("why") == "copy"
        elif kind == "detach":
            self.cut[e["t"]] = self.narrator.reason(e)
            unit = self._unit([e["t"]], None, k)
            self.units[unit].scope = e.get("scope", "")
            self._data(e["from"], unit, 0, k, dotted=True)
            self.forward[-1].cut = True
        elif kind == "backward":
            self._older(e["roots"], k)
            if not self.running:
                self._pass(e, k)
            self.running += 1
        elif kind in ("done", "error") and self.running:
            self.running = 0 if kind == "error" else self.running - 1
            if not self.running and self.passes:
                self.passes[-1].last = k
        elif kind == "pop" and self.passes and self.passes[-1].last is None:
            self.passes[-1].nodes[e["n"]] = None
        elif kind == "inplace" and e.get("n") is not None and e["n"] not in self.place:
            self._rewritten(e["n"], e["t"], self.trace.rewritten(e), k)
        elif kind in ("accumulate", "retain") and e["t"] not in self.home:
            self._unit([e["t"]], None, k)

    def _pass(self, e: Record, k: int) -> None:
        """A box for a backward pass of a training loop, unless what it computes will stand there."""
        root = e["roots"][0] if e["roots"] else None
        turn = "" if root is None else self._trained(self.trace.nodes[root].get("scope") or "")
        if turn and e["p"] not in self.recorded and root in self.place:
            unit = self._unit([], None, k)
            self.units[unit].scope = turn + SEPARATOR + BACKWARD
            self.passes.append(Pass(unit, self.place[root], turn, k))

    def _unit(self, tensors: Iterable[int], node: int | None, k: int) -> int:
        self.units.append(Unit(list(tensors), node, k))
        unit = len(self.units) - 1
        for t in tensors:
            if t in self.home and len(self.units[self.home[t]].tensors) == 1:
                self.units[self.home[t]].until = k - 1
            self.home[t] = unit
            self.homes.setdefault(t, []).append(unit)
        if node is not None:
            self.place[node] = unit
        return unit

    def _operation(self, n: int, outputs: list[int], k: int, before: int | None = None) -> None:
        node = self.trace.nodes[n]
        sources = [(t, self._seat(t, k)) for t in node["inputs"]]
        unit = self._unit(outputs, n, k)
        for i, (t, home) in enumerate(sources):
            edges = node["edges"]  # none for the target of a loss
            free = edges[i] is None if i < len(edges) else not self.trace.tensors[t]["requires_grad"]
            self._data(t, unit, i, k, free, home)
        if before is not None and all(home != before for _, home in sources):
            self._data(outputs[0], unit, len(sources), k, False, before)

    def _rewritten(self, n: int, t: int, copied: int | None, k: int) -> None:
        """New boxes for tensors written in place, beside their new node; after a write through a view, for the base as well."""
        before = self.home.get(t)
        whole = t if copied is None else self.trace.nodes[copied]["outputs"][0]
        if copied is not None and whole != t:
            self._operation(copied, [whole], k, before)
            before = None
        self._operation(n, [t], k, before)

    def _seat(self, t: int, k: int) -> int:
        if t not in self.home:
            self._unit([t], None, k)
        return self.home[t]

    def _data(self, t: int, unit: int, i: int, k: int, dotted: bool, home: int | None = None) -> None:
        home = self._seat(t, k) if home is None else home
        box = self.units[home].tensors.index(t) if t in self.units[home].tensors else 0
        self.forward.append(Line(home, unit, None, i, k, dotted, box))

    def _edge(self, n: int, i: int, target: int, k: int) -> None:
        if target not in self.place:
            owner = self.trace.nodes[target].get("tensor")
            if owner is not None and owner in self.home and self.units[self.home[owner]].node is None:
                self.place[target] = self.home[owner]  # an accumulator is placed beside its leaf
                self.units[self.home[owner]].node = target
            else:
                self._unit([] if owner is None or owner in self.home else [owner], target, k)
                if (
                    owner is not None and owner not in self.tensor_lines
                ):  # it stands there before anything told of it
                    self._record(State(self.trace), ("tensor", owner), k)
        if n not in self.place:
            self._unit([], n, k)
        self._joined.add(n)
        self.backward.append(Line(self.place[target], self.place[n], n, i, k))

    def _older(self, roots: list[int], k: int) -> None:
        """Nodes that were made before the recording: nothing told of their edges."""
        stack = [n for n in roots if n not in self._walked]
        self._walked.update(stack)
        while stack:
            n = stack.pop()
            known = n in self._joined
            for i, edge in enumerate(self.trace.nodes[n]["edges"]):
                if edge is None:
                    continue
                if not known:
                    self._edge(n, i, edge[0], k)
                    _keep(
                        self.edge_lines.setdefault((n, i), []),
                        k,
                        self.states.add(["made", -1, -1], ("e", "made", -1, -1)),
                    )
                if edge[0] not in self._walked:
                    self._walked.add(edge[0])
                    stack.append(edge[0])

    # What changes.

    def _record(self, state: State, what: tuple[Any, ...], k: int) -> None:
        entry: tuple[Any, ...]
        if what[0] == "tensor":
            t = state.shown(what[1])
            entry = ("t", self.value(t.value), t.version, self.value(t.grad), int(t.retains))
            line = self.tensor_lines.setdefault(what[1], [])
        elif what[0] == "node":
            node = state.nodes[what[1]]
            entry = ("n", node.status, node.arrived, node.of)
            line = self.node_lines.setdefault(what[1], [])
        else:
            edge = state.edges[what[1], what[2]]
            entry = ("e", edge.status, *self.marks.sent((what[1], what[2]), self.value(edge.value)))
            line = self.edge_lines.setdefault((what[1], what[2]), [])
        _keep(line, k, self.states.add(list(entry[1:]), entry))

    def _panel(self, state: State, e: Record, k: int) -> None:
        """The text of the rule panel for the node of the event."""
        n = e.get("n")
        if n is None or e["k"] in ("edge", "pruned", "deliver", "push", "seed"):
            return
        node = state.nodes.get(n)
        if node is None:
            return
        line = self.panels.setdefault(n, [])
        if e["k"] == "accumulate":
            entry: Record = {"add": [self.value(e["old"]), self.value(e["add"]), self.value(e["new"])]}
        elif e["k"] == "free" and line:
            entry = {**self.states.items[line[-1]], "saved": 0}
        else:
            entry = {"saved": int(not node.freed)}
            if node.incoming is not None:
                entry["g"] = [self.value(v) for v in node.incoming]
            if node.outgoing is not None:
                made = k if e["k"] == "vjp" else 0
                came, sent = list(node.incoming or ()), list(node.outgoing)
                entry["out"] = [
                    self._term(term, (k, i))
                    for i, term in enumerate(self.terms(n, e if made else None, came, sent))
                ]
                self.sent.append((entry["out"], n, made, came, sent))
        if e["k"] == "error":
            entry["error"] = self.word(f"{e['type']}: {e['message']}")
        _keep(line, k, self.states.add(entry, repr(entry)))

    def terms(
        self, n: int, e: Record | None, came: list[int | None], sent: list[int | None]
    ) -> list[rules.Term]:
        """What a node sends, at its event "vjp" if that is given."""
        return self.narrator.terms(e) if e else rules.terms(self.trace, n, came, sent)

    def _term(self, term: rules.Term, place: tuple[int, int]) -> list[int]:
        own = ("numbers", *place) if type(term.value) is Slot else None
        numbers = self.strings.add(term.numbers, own)
        to, rule = map(self.strings.add, (term.to, term.rule))
        return [term.operand, to, rule, numbers, self.value(term.value)]

    def _subject(self, e: Record) -> int:
        """The tensor of an event, if it has one."""
        t = e.get("t")
        if isinstance(t, list):
            t = t[0] if t else None
        return -1 if t is None or e["k"] == "node" else t

    # What does not change.

    def _sources(self) -> list[Record]:
        found = []
        for source in self.trace.sources:
            numbers = sorted(int(n) for n in source["lines"])
            found.append({"name": source["name"], "lines": [[n, source["lines"][str(n)]] for n in numbers]})
        return found

    def tensors(self) -> Record:
        """The tensors with their names, and which are leaves."""
        rows = []
        for t, tensor in enumerate(self.trace.tensors):
            label = self.narrator.called[t] or self.narrator.tensors[t]
            rows.append({
                "name": self._shown(t),
                "label": label,
                "shape": tensor["shape"],
                "dtype": tensor["dtype"],
                "grad": int(tensor["requires_grad"]),
                "leaf": int(tensor["leaf"]),
                "tl": self.tensor_lines.get(t, []),
            })  # fmt: skip
        retained = {e["t"] for e in self.trace.events if e["k"] == "retain"}
        shown = sorted(e["t"] for e in self.trace.events if e["k"] == "leaf")
        own = [
            t
            for t in shown
            if self.trace.tensors[t].get("grad_of") is None  # those stand in the rows of their tensors
            and t not in self.narrator.being_saved
        ]
        named = [t for t in own if rows[t]["name"] or rows[t]["grad"]]
        leaves = sorted(named, key=lambda t: not rows[t]["grad"])
        return {"tensors": rows, "leaves": [*leaves, *sorted(retained - set(leaves))]}

    def _shown(self, t: int) -> str:
        """The name in the box: none for a number, whose value suffices."""
        tensor = self.trace.tensors[t]
        return "" if rules.is_number(tensor) else self.narrator.called[t]

    def _nodes(self) -> Record:
        rows = []
        for n, node in enumerate(self.trace.nodes):
            self._at(-1 - n)
            math, numbers = rules.forward(self.trace, n)
            saved = []
            for name, t, *versions in node.get("saved") or []:
                tensor, version = self.trace.tensors[t] if t is not None else None, (versions or [0])[0]
                value = -1 if t is None else self.value(self.narrator.value_at(t, version, n))
                shown = self.narrator.saved_name(node, name, t)
                if tensor is not None and rules.is_number(tensor):
                    shown = ""
                saved.append([shown, value, version])
            rows.append({
                "name": node["name"],
                "label": self.narrator.nodes[n],
                "kind": node["kind"],
                "op": node["op"],
                "of": node["tensor"] if node["kind"] == "accumulate" else -1,
                "math": math,
                "numbers": numbers,
                "rule": rules.sends(self.trace, n),
                "saved": saved,
                "inputs": node["inputs"],
                "outputs": node["outputs"],
                "src": node.get("src"),
                "unit": self.place.get(n, -1),
                "heap": self.marks.heaps.get(n, []),
                "seed": self.marks.seeds.get(n, []),
                "dead": [
                    [i, self.edge_lines.get((n, i), [])] for i, edge in enumerate(node["edges"]) if edge is None
                ],
                "hooks": _timeline(node.get("hooks", [])),
                "pass": node.get("made_in") or 0,
                "tl": self.node_lines.get(n, []),
                "panel": self.panels.get(n, []),
            })  # fmt: skip
            if node.get("made_in") in self.plain:
                rows[-1]["aside"] = True
            if node.get("compiled"):
                rows[-1]["compiled"] = self._compiled(node["compiled"])
        texts = (text for row in rows for text in (row["math"], *(rule for _, rule in row["rule"])))
        return {"nodes": rows, "words": explained(texts, self.trace.names.taken)}

    def _compiled(self, inside: Record) -> Record:
        """What a compiled node ran: for each line its text, its inputs and results, and the rules it comes from."""
        names = {name: self.narrator.tensors[t] for name, t in inside["inputs"]}

        def shown(pairs: list[Any]) -> list[Any]:
            return [[name, names.get(name, ""), self.value(v)] for name, v in pairs]

        return {
            part: [
                {
                    "text": line["text"],
                    "reads": shown(line["reads"]),
                    "makes": shown(line["makes"]),
                    "from": line["from"],
                }
                for line in inside.get(part, [])
            ]
            for part in ("forward", "backward")
        }

    # The groups, the sizes of units, and their edges; scene.py places them.

    def _geometry(self) -> Record:
        for line in self.forward:
            self.units[line.target].fed = True
        sizes = [self.sizes(unit) for unit in self.units]
        for unit in self.units:
            unit.tensors = unit.tensors[:_BOXES]
        ignored = {(line.source, line.source_box) for line in self.forward if self._is_ignored(line)}
        paths = self._paths([*self.forward, *self.backward])
        for one in self.passes:
            self.forward.append(Line(one.root, one.unit, None, 0, one.first))
            read = [i for i, path in enumerate(paths) if path == one.turn + SEPARATOR + OPTIMIZER]
            self.forward += [Line(one.unit, i, None, 0, self.units[i].since) for i in read]
        lines = [*self.forward, *self.backward]
        ends = [(line.source, line.target) for line in lines]
        groups, group_of = folded(paths, ends)
        for _ in range(3 if self.most else 0):  # what is put together may be one of several crowds
            if visible(groups, group_of, opened(groups, group_of)) > (self.most or 0):
                paths = bundled(paths)
                groups, group_of = folded(paths, ends)
        for one in self.passes:
            group = groups[group_of[one.unit]]
            first, _, nodes = group.get("pass", [one.first, 0, []])
            last = len(self.trace) if one.last is None else one.last
            group["pass"] = [first, last, list(dict.fromkeys([*nodes, *one.nodes]))]
        for group in groups:
            group["size"] = [round(max(text_width(group["name"], 12, True) + 46, 150)), 50]
        reached = {
            n
            for n, line in self.node_lines.items()
            if any(self.states.items[s][0] != "made" for s in line[1::2])
        }
        units = [
            {
                **sizes[i],
                "node": -1 if unit.node is None else unit.node,
                "off": int(self._is_off(unit, reached)),
                "ignored": [box for box in range(len(unit.tensors)) if (i, box) in ignored],
                "since": unit.since,
                "until": min(unit.until, len(self.trace)),
                "fed": int(unit.fed),
                "why": self._why(unit),
                "hooks": [self._hooked_box(t, i) for t in unit.tensors],
                "group": group_of[i],
            }
            for i, unit in enumerate(self.units)
        ]
        forward = [
            {
                "k": line.since,
                "free": int(line.dotted),
                "cut": int(line.cut),
                "u": line.source,
                "v": line.target,
                "box": line.source_box,
            }
            for line in self.forward
        ]
        backward = []
        for line in self.backward:
            assert line.node is not None
            timeline = self.edge_lines.get((line.node, line.operand), [])
            backward.append({
                "n": line.node, "i": line.operand, "u": line.source, "v": line.target,
                "w": self.pill_width(timeline), "tl": timeline,
            })  # fmt: skip
        return {
            "units": units,
            "groups": groups,
            "open": opened(groups, group_of),
            "forward": forward,
            "backward": backward,
        }

    def _paths(self, lines: list[Line]) -> list[str]:
        """The group in which each unit was made; for leaves, the innermost one that contains all its users."""
        users: dict[int, set[int]] = {}
        for line in lines:
            users.setdefault(line.source, set()).add(line.target)
        paths: list[str | None] = []
        for unit in self.units:
            node = None if unit.node is None else self.trace.nodes[unit.node]
            known = unit.scope or (node or {}).get("scope") or ""
            leaf = (node is None or node["kind"] == "accumulate") and unit.scope is None
            paths.append(None if leaf else known)
        self._steps(paths, users)
        return [
            common(path for u in sorted(users.get(i, ())) if (path := paths[u]) is not None)
            if here is None
            else here
            for i, here in enumerate(paths)
        ]

    def _is_ignored(self, line: Line) -> bool:
        """Whether it leads from a constant into the program: what a hook computes is not part of that."""
        tensors = self.units[line.source].tensors
        constant = (
            line.source_box < len(tensors)
            and not self.trace.tensors[tensors[line.source_box]]["requires_grad"]
        )
        return constant and line.dotted and at(self.phase, line.since, 3)[0] == "forward"

    def _is_off(self, unit: Unit, reached: set[int]) -> bool:
        """Whether no gradient has to do with it: no operand of it requires a gradient, or no pass came there."""
        if any(t["leaf"] and t["requires_grad"] for t in (self.trace.tensors[t] for t in unit.tensors)):
            return False
        if unit.node is None and not unit.tensors:
            return False  # a pass
        return unit.node is None or (bool(reached) and unit.node not in reached)

    def _why(self, unit: Unit) -> str:
        """Why the tensor of a unit has no history, if that stands beside its box."""
        why = "" if unit.node is not None or not unit.tensors else self.cut.get(unit.tensors[0], "")
        return why if why in CAPTIONS else ""

    def _hooked_box(self, t: int, unit: int) -> list[int]:
        """When a tensor has hooks in this unit: they stay with the old value if it is written in place."""
        periods = self.trace.tensors[t].get("hooks", [])
        homes = self.homes[t]
        made = [self.units[home].since for home in homes]
        return _timeline(p for p in periods if homes[max(bisect_right(made, p[0]) - 1, 0)] == unit)

    def _trained(self, path: str) -> str:
        """The iteration of a training loop that a path lies in, "" for none."""
        parts = path.split(SEPARATOR)
        prefixes = (SEPARATOR.join(parts[:n]) for n in range(len(parts), 0, -1))
        return next((prefix for prefix in prefixes if prefix in self.trained), "")

    def _steps(self, paths: list[str | None], users: dict[int, set[int]]) -> None:
        """Part each iteration of a training loop: what the optimizer read, and the way there."""
        for i, (unit, path) in enumerate(zip(self.units, paths, strict=True)):
            if path is None and i not in users and unit.since in self.read:
                paths[i] = self.read[unit.since] + SEPARATOR + OPTIMIZER
            elif path is not None and (turn := self._trained(path)):
                rest = path[len(turn) :].removeprefix(SEPARATOR)
                if rest != BACKWARD:
                    made = unit.node is not None and self.trace.nodes[unit.node].get("made_in")
                    paths[i] = SEPARATOR.join(filter(None, (turn, BACKWARD if made else "forward", rest)))

    def sizes(self, unit: Unit) -> Record:
        """Places and sizes within a unit, as the document has them."""
        found = self._measured(unit)
        return {
            "size": [round(found.left), round(found.right), round(found.height)],
            "boxes": [[t, *map(round, box)] for t, box in zip(unit.tensors, found.boxes, strict=False)],
            "shape": [round(x) for x in found.shape],
            "heap": [round(x) for x in found.heap],
            "seed": [round(x) for x in found.seed],
        }

    def _measured(self, unit: Unit) -> Sizes:
        """Its boxes from left to right, then its node."""
        found = Sizes()
        if unit.node is None and not unit.tensors:
            return found  # a pass: its group is drawn
        x, gap = 0.0, 12.0
        leaf = any(self.trace.tensors[t]["leaf"] for t in unit.tensors)
        accumulates = unit.node is not None and self.trace.nodes[unit.node]["kind"] == "accumulate"
        for t in unit.tensors[:_BOXES]:
            w, h = self._box_size(t)
            last = at(self.tensor_lines.get(t, []), unit.until)
            if unit.fed and last is not None and (version := self.states.items[last][1]):
                x += text_width(f"version {version}", 10.9) + 7  # on its left, clear of those lines
            found.boxes.append([x, -h / 2, w, h])
            found.height = max(found.height, h)
            x += w + gap
        if unit.node is not None:
            if accumulates:
                caption = text_width("AccumulateGrad", 9.5)
                rx, ry = float(DIAMOND), float(DIAMOND)
                x += max(0.0, caption / 2 - rx - 4) if found.boxes else caption / 2 - rx
                found.shape = [x + rx, 4, rx, ry]
                beside = self._beside(unit.node, found, x + 2 * rx, 0.0)
                x = max(x + rx + max(rx + 46, caption / 2), beside)  # 46: the badge beside it
                found.height = max(found.height, 2 * ry)
            else:
                rx = round((text_width(self.narrator.nodes[unit.node], 12) / 2 + 9) / 0.93)
                found.shape = [x + rx, 0, rx, NODE_RY]
                x = self._beside(unit.node, found, x + 2 * rx, 3.0)
                dead = None in self.trace.nodes[unit.node]["edges"]
                found.height = max(found.height, 2.0 * (NODE_RY + 8 if dead else NODE_RY))  # 8: a stop sign
        else:
            x -= gap
            if self._why(unit):
                x += 56
        if leaf or accumulates:
            found.height += 14  # a caption above
        shift = 7 if leaf or accumulates else 0
        if found.boxes:
            anchor = found.boxes[-1][0] + found.boxes[-1][2]
        else:  # as if there were a box before it
            anchor = found.shape[0] - found.shape[2] - gap
        found.left, found.right = anchor, x - anchor
        for box in found.boxes:
            box[0] -= anchor
            box[1] += shift
        for part in (found.shape, found.heap, found.seed):
            if part:
                part[0] -= anchor
                part[1] += shift
        return found

    def _beside(self, n: int, found: Sizes, x: float, down: float) -> float:
        """Place the labels to the right of a node that ends at `x`: what lies there, and what a pass starts with."""
        if w := self._label_width(self.marks.heaps.get(n, [])):
            found.heap = [x + 6 + w / 2, down, w]
            x += 6 + w + 24  # the word beside it
        if w := self._label_width(self.marks.seeds.get(n, [])):
            found.seed = [x + 26 + w / 2, down, w]
            x += 26 + w
        return x

    def _box_size(self, t: int) -> tuple[float, float]:
        """The width for a tensor's name, its values and its gradients at any step."""
        tensor = self.trace.tensors[t]
        states = [self.states.items[s] for s in self.tensor_lines.get(t, [])[1::2]]
        values = {value for value, *_ in states} | {self.value(tensor["value"])}
        pictured = any(v >= 0 and has_strip(self.values.items[v]) for v in values)
        wide = max(text_width(brief(self.values.items[v]) if v >= 0 else "None") for v in values)
        w = max(text_width(drawn_name(self._shown(t)), 12, True), wide) + (52 if pictured else 22)
        h = float(BOX_HEIGHT)
        gathers = tensor["leaf"] and tensor["requires_grad"]
        if gathers or any(retains for *_, retains in states):
            h += 17
            grads = {grad for _, _, grad, _ in states} | {-1}
            w = max(w, text_width(".grad ") + max(self.room(grad) for grad in grads) + 18)
        return float(round(max(w, 58))), h

    def pill_width(self, timeline: list[int]) -> int:
        """The room for the label on a line with this timeline."""
        sent = [self.states.items[s] for s in timeline[1::2]]
        labels = [
            self.label([(v, after if after >= 0 else v)]) for status, v, after in sent if status == "sent"
        ]
        return round(max((self._room(text, v, 11, True) + 14 for text, v in labels), default=0.0))


class Marks:
    """What the picture says of messages beyond the edges: where a pass starts, what lies at a node, what hooks made of it.

    heaps   node -> timeline of the label for the sum that lies there, if it gets several messages
    seeds   node -> timeline of the label for the gradient that a pass starts with
    """

    def __init__(self, film: Film) -> None:
        self.film = weakref.proxy(film)  # which holds this
        self.heaps: dict[int, list[int]] = {}
        self.seeds: dict[int, list[int]] = {}
        self._into: dict[
            tuple[int, int], dict[tuple[int, int], None]
        ] = {}  # (node, slot) -> edges that sent there
        self._seeded: dict[int, dict[int, tuple[int, int]]] = {}  # node -> slot -> the seed, and after hooks
        self._before: dict[tuple[int, int], int] = {}  # (node, slot) -> what hooks changed, in the sum
        self._lying: set[int] = set()  # nodes at which something lies
        self._kept: dict[tuple[int, int], int] = {}  # edge -> what a hook after the rule changed

    def add(self, state: State, k: int) -> None:
        """What the last event, at step `k`, has changed."""
        e = state.event
        assert e is not None
        kind = e["k"]
        if kind == "deliver":
            self._into.setdefault((e["to"], e.get("slot", 0)), {})[e["n"], e["i"]] = None
        elif kind == "backward":
            if not state.outer:  # a pass within another leaves that as it is
                for n in self._seeded:
                    _keep(self.seeds[n], k, -1)
                self._seeded, self._before, self._kept = {}, {}, {}
        elif kind == "seed":
            v = self.film.value(e["v"])
            self._seeded.setdefault(e["n"], {})[e.get("slot", 0)] = (v, v)
            self._show_seed(e["n"], k)
        elif kind == "hook" and e.get("after") is not None:
            self._hook(state, e, k)
        self._show_heaps(state, e, k)

    def sent(self, edge: tuple[int, int], v: int) -> tuple[int, int]:
        """What a message was, and what a hook made of it before it was sent; -1 if nothing."""
        before = self._kept.get(edge, v)
        return (v, -1) if before == v else (before, v)

    def _hook(self, state: State, e: Record, k: int) -> None:
        n, film = e["n"], self.film
        for i, (before, after) in enumerate(zip(e.get("before") or [], e["after"], strict=False)):
            if film.same(before, after):
                continue
            slot = i + e.get("slot", 0)
            if e["stage"] == "post":
                self._kept[n, i] = film.value(before)
                continue
            if e["stage"] not in ("tensor", "pre", "shared"):
                continue
            edges = self._into.get((n, slot), ())
            sent = [edge for edge in edges if edge in state.edges and state.edges[edge].status == "sent"]
            seed = self._seeded.get(n, {}).get(slot)
            if len(sent) == 1 and seed is None:
                line = film.edge_lines[sent[0]]
                entry = ("e", "sent", film.states.items[line[-1]][1], film.value(after))
                _keep(line, k, film.states.add(list(entry[1:]), entry))
            elif seed is not None and not sent:
                self._seeded[n][slot] = (seed[0], film.value(after))
                self._show_seed(n, k)
            else:
                self._before.setdefault((n, slot), film.value(before))

    def _show_seed(self, n: int, k: int) -> None:
        self._show(self.seeds, n, k, list(self._seeded[n].values()))

    def _show_heaps(self, state: State, e: Record, k: int) -> None:
        """The sum at the node that the event is about, if it gets several messages."""
        if e["k"] == "backward":
            for gone in [m for m in self._lying if not state.nodes[m].buffer]:
                self._lying.remove(gone)
                _keep(self.heaps[gone], k, -1)
            return
        n: int = e["to"] if e["k"] == "deliver" else -1 if e.get("n") is None else e["n"]
        node = state.nodes.get(n)
        if node is None or not node.buffer or node.of + (n in self._seeded) < 2:
            return
        found = node.incoming
        if found is None:
            found = [node.buffer.get(slot) for slot in range(max(node.buffer) + 1)]
        values = [self.film.value(v) for v in found]
        self._lying.add(n)
        self._show(self.heaps, n, k, [(self._before.get((n, slot), v), v) for slot, v in enumerate(values)])

    def _show(self, lines: dict[int, list[int]], n: int, k: int, pairs: list[tuple[int, int]]) -> None:
        film = self.film
        text, strip = film.label(pairs)
        own = ("label", *chain.from_iterable(pairs)) if film.apart else None
        state = [film.strings.add(text, own), strip, *(v for pair in pairs for v in pair if v >= 0)]
        film.labels.append((state[0], pairs))
        _keep(lines.setdefault(n, []), k, film.states.add(state, ("label", *state)))


class EngineLines:
    """The timelines of the engine's variables, as far as they are not in the film anyway."""

    def __init__(self, trace: Trace) -> None:
        self.hand: list[Any] = []
        self.deps: list[list[int]] = [[] for _ in range(1 + _SHOWN_BESIDE)]
        self.left: list[list[int]] = [[] for _ in range(_SHOWN_BESIDE)]
        self.held: list[list[int]] = [[] for _ in range(1 + _SHOWN_BESIDE)]
        self.waiting: tuple[int, list[tuple[int, int]]] | None = None  # what `deps` and `left` say last
        self.holding: list[int] = []  # and `held`
        self.lies: dict[int, list[Any]] = {}
        self.told: dict[int, list[int]] = {}
        self.made: dict[int, list[Any]] = {}
        self.tellers = iter(Teller(trace))

    def add(self, film: Film, state: State, k: int) -> None:
        """What the last event, at step `k`, has changed."""
        e = state.event
        assert e is not None
        mark, sentence = next(self.tellers)
        if mark != e["k"] or sentence:
            self.told[k] = [film.word(text) if text else -1 for text in (mark, sentence)]
        if mark in engine_source.BY_MARK:
            held = engine_source.BY_MARK[mark](state.trace, e)
            self.made[k] = [film.held(name, x) for name, x in held.items()]
        _keep(self.hand, k, -1 if state.active is None else state.active)
        waiting = list(islice(state.deps.items(), _SHOWN_BESIDE))
        if ((count := len(state.deps)), waiting) != self.waiting:
            self.waiting = count, waiting
            _keep_each(self.deps, k, [count, *(n for n, _ in waiting)])
            _keep_each(self.left, k, [left for _, left in waiting])
        holding = [len(state.buffers), *islice(state.buffers, _SHOWN_BESIDE)]
        if holding != self.holding:
            self.holding = holding
            _keep_each(self.held, k, holding)
        if e["k"] == "done":  # of a pass within another, which goes on with what lay there
            touched: list[int] = list(state.buffers)
        else:
            touched = [e["to"] if e["k"] == "deliver" else e.get("n", -1)]
        for n in touched:
            if n in state.buffers:
                values = [film.value(v) for v in engine_source.lying(state, n)]
                _keep(self.lies.setdefault(n, []), k, values)

    def put(self, doc: Record, trace: Trace) -> None:
        """Put them into the film."""
        doc |= {name: getattr(self, name) for name in ("hand", "deps", "left", "held", "told", "made")}
        doc["engine"] = engine_source.listing()
        for n, row in enumerate(doc["nodes"]):
            row["edges"] = [-1 if edge is None else edge[0] for edge in trace.nodes[n]["edges"]]
            row["lies"] = self.lies.get(n, [])


def in_brief(record: Record) -> str:
    """A value of a trace as a picture shows it: up to four numbers as they are, of more how many there are.

    More numbers than four stand beside a small heat strip. A shape alone never stands for a value: "[2]" is a vector that holds a 2.
    """
    shape, count = record["shape"], prod(record["shape"])
    if count == 1 and not shape:
        return rules.describe(record)
    if 0 < count <= 4 and "data" in record:
        exact = rules.describe(record)
        return (
            exact if len(exact) <= _LONG else rules.describe(record | {"data": _rounded(record["data"], 3)})
        )
    return f"{count} numbers" if len(shape) == 1 else "\N{MULTIPLICATION SIGN}".join(map(str, shape))


def brief(item: Any) -> str:
    """A value of a film (an item of `values`) as the picture shows it."""
    return item if isinstance(item, str) else str(item["short"])


def brief_at(values: list[Any], v: int) -> str:
    """A value as the picture shows it, by its number among the film's values."""
    return brief(values[v]) if v >= 0 else "None"


def largest(record: Record) -> float:
    """The largest of the numbers of a value in magnitude; nan and inf count as infinite."""
    if record.get("nan") or record.get("inf"):
        return inf
    numbers = [record["data"]] if "data" in record else [record["min"], record["max"]]
    found = 0.0
    while numbers:
        x = numbers.pop()
        if isinstance(x, list):
            numbers += x
        elif x is not None:
            found = max(found, inf if isinstance(x, str) else abs(float(x)))
    return found


def has_strip(item: Any) -> bool:
    """Whether a value of a film has a heat strip beside its text: its numbers do not stand there."""
    return not isinstance(item, str) and item["short"][0] != "[" and 0 not in item["shape"]


def at(timeline: list[Any], k: int, width: int = 2) -> Any:
    """The state of a flat timeline at step k: the last entry not after it, None before the first."""
    low, high = 0, len(timeline) // width
    while low < high:
        middle = (low + high) // 2
        if timeline[middle * width] <= k:
            low = middle + 1
        else:
            high = middle
    if not low:
        return None
    entry = timeline[(low - 1) * width + 1 : low * width]
    return entry[0] if width == 2 else entry


def first(timelines: list[list[int]], k: int) -> tuple[list[int], int]:
    """What `_keep_each` kept: the first entries of a list at step k, and how many it has (assets/core.js has the same)."""
    count, *states = (at(timeline, k) or 0 for timeline in timelines)
    return states[:count], count


def film(trace: Trace, most: int | None = None, numbers: Numbers | None = None) -> Record:
    """The film of a trace: the document that the stepper, the static picture and the exports all draw.

    most      of more boxes than so many that would be visible at first, the outermost are put into groups
    numbers   of another run of the same program, or new: then it is noted there how this one counts
    """
    with collector.paused():
        if numbers is not None and (last := numbers.last) is not None:
            slots = same_path(last.trace, trace)
            if slots is not None and (found := refilled(last, trace, slots)) is not None:
                return found
        made = Film(trace, most, numbers)
        if numbers is not None:
            numbers.last = made
        return made.document()


def _keep(timeline: list[Any], k: int, state: Any) -> None:
    """Append a state to a timeline if it differs from the last one."""
    if timeline and timeline[-1] == state:
        return
    if timeline and timeline[-2] == k:
        timeline[-1] = state
    else:
        timeline += [k, state]


def _timeline(periods: Iterable[list[int | None]]) -> list[int]:
    """When something is so in at least one of the periods [first step, step at which it ends or None]: a timeline of 1 and 0."""
    changes = sorted(
        (k, sign) for period in periods for k, sign in zip(period, (1, -1), strict=True) if k is not None
    )
    found: list[int] = []
    now = 0
    for k, sign in changes:
        now += sign
        _keep(found, k, int(now > 0))
    return found


def _keep_each(timelines: list[list[int]], k: int, states: list[int]) -> None:
    """Append to as many timelines as there are states: how many a list has, then its first ones.

    Apart they are regular, and small when packed.
    """
    for timeline, state in zip(timelines, states, strict=False):
        _keep(timeline, k, state)


def _rounded(data: Any, digits: int = 4) -> Any:
    if type(data) is list:
        return [float(f"{x:.{digits}g}") if type(x) is float else _rounded(x, digits) for x in data]
    return data if data is None or isinstance(data, str | bool | int) else float(f"{data:.{digits}g}")
