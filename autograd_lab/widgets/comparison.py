"""Two traces side by side: `lab.compare(a, b)`.

Their events are aligned like the lines of two files: what happens in both at the same place of the order is shown
together; during an event of only one of them the other waits. Position p of the comparison is a pair of steps.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from typing import Any

import anywidget
import traitlets

from autograd_lab.tracing import Trace, state
from autograd_lab.tracing.called import numbered
from autograd_lab.tracing.narrate import Narrator, fill
from autograd_lab.tracing.rules import describe
from autograd_lab.tracing.trace import Record

from . import still
from .frames import film
from .front import packed, style
from .shown import Shown
from .stepper import Stepper
from .themed import themed
from .wire import encode

#: Longer traces are aligned by their order alone: the time is proportional to the product of their lengths.
MOST = 6000
#: The results of an event, which may differ between two matching ones: its fields with values.
_OUTCOMES = {
    "seed": "v",
    "deliver": "sum",
    "accumulate": "new",
    "retain": "v",
    "vjp": "out",
    "grad": "v",
    "inplace": "v",
}
#: Fields that distinguish two events of one kind.
_MARKS = (
    "op",
    "why",
    "how",
    "i",
    "slot",
    "stage",
    "name",
    "version",
    "grad",
    "requires_grad",
    "type",
    "early",
    "late",
)


@dataclass(frozen=True)
class Difference:
    """One difference between the traces.

    kind      "value": both do it, with different numbers; "only a", "only b"; "other": they do different things;
              "result": a leaf's `.grad` at the end
    position  where the comparison shows it
    a, b      the step of each trace there
    text      a sentence
    """

    kind: str
    position: int
    a: int
    b: int
    text: str

    def __repr__(self) -> str:
        return self.text


class Comparison(Shown, anywidget.AnyWidget):
    """Walk through two traces (or steppers) in lockstep, in the browser or from Python. `position` counts pairs of steps.

    Raises TypeError if one of them is neither a trace nor a stepper, ValueError unless there are two labels.

    differences  what differs, in order; the leaves' final gradients first
    pairs        the steps shown together at each position
    """

    _esm = packed()
    _css = style()
    _films = traitlets.List().tag(sync=True)
    _labels = traitlets.List().tag(sync=True)
    _pairs = traitlets.List().tag(sync=True)
    _differences = traitlets.List().tag(sync=True)
    position = traitlets.Int(0, help="the pair of steps shown").tag(sync=True)
    sync = traitlets.Bool(True, help="whether both sides move together").tag(sync=True)

    def __init__(
        self, a: Any, b: Any, labels: tuple[str, str] = ("trace a", "trace b"), **traits: Any
    ) -> None:
        self.traces = (_trace(a), _trace(b))
        if len(labels) != 2:
            raise ValueError(f"compare() shows two traces: labels must be two texts, not {labels!r}")
        self.labels = (str(labels[0]), str(labels[1]))
        self.films = [film(trace) for trace in self.traces]
        self.pairs, self.differences = align(*self.traces, self.labels)
        super().__init__(
            _films=[encode(one) for one in self.films],
            _labels=list(self.labels),
            _pairs=[k for pair in self.pairs for k in pair],
            _still=still.key(self.to_text()),
            _differences=[[d.kind, d.position, d.text] for d in self.differences],
            **traits,
        )

    @traitlets.validate("position")
    def _inside(self, proposal: Record) -> int:
        return int(min(max(proposal["value"], 0), len(self.pairs) - 1))

    # The methods of the buttons.

    def step(self, n: int = 1) -> Comparison:
        """Go forward by `n` pairs of steps."""
        return self.goto(self.position + n)

    def back(self, n: int = 1) -> Comparison:
        """Go back by `n` pairs of steps."""
        return self.goto(self.position - n)

    def first(self) -> Comparison:
        """Go to the beginning."""
        return self.goto(0)

    def last(self) -> Comparison:
        """Go to the end."""
        return self.goto(len(self.pairs) - 1)

    def goto(self, position: int) -> Comparison:
        """Show pair number `position`, clipped to the ends."""
        self.position = position
        return self

    def next_difference(self) -> Comparison:
        """Go to the next difference, or to the end if there is none."""
        later = [d.position for d in self.differences if d.position > self.position]
        return self.goto(min(later, default=len(self.pairs) - 1))

    def previous_difference(self) -> Comparison:
        """Go back to the previous difference, or to the beginning."""
        return self.goto(max((d.position for d in self.differences if d.position < self.position), default=0))

    @property
    def steps(self) -> tuple[int, int]:
        """The current step of each trace."""
        return self.pairs[self.position]

    @property
    def narration(self) -> tuple[str, str]:
        """The sentence on each side."""
        a, b = (fill(Narrator(trace).phrase(k)) for trace, k in zip(self.traces, self.steps, strict=True))
        return a, b

    # What viewers without widgets see.

    def __repr__(self) -> str:
        count = len(self.differences)
        a, b = (f"{label}: {len(trace)} steps" for label, trace in zip(self.labels, self.traces, strict=True))
        return f"Comparison({a}; {b}; {count} difference{'' if count == 1 else 's'})"

    @property
    def heading(self) -> str:
        """The titles of the traces."""
        return f"{self.labels[0]} and {self.labels[1]}"

    def summary(self) -> str:
        """The lengths of the traces and the number of differences."""
        return repr(self)[len("Comparison(") : -1]

    def to_text(self) -> str:
        """The differences as lines of text."""
        return "\n".join([repr(self), *(f"  {d.text}" for d in self.differences)])

    def still(self, note: str = "", beside_widget: bool = False) -> str:
        """Two pictures and the differences."""
        pictures = "".join(
            f'<td><p>{escape(label)}</p><img alt="Computation graph: {escape(label, quote=True)}" style="max-width:100%" '
            f'src="data:image/svg+xml;base64,{base64.b64encode(themed(one).encode()).decode("ascii")}"></td>'
            for label, one in zip(self.labels, self.films, strict=True)
        )
        items = "".join(f"<li>{escape(d.text)}</li>" for d in self.differences)
        inside = (
            f"<table><tr>{pictures}</tr></table><p>{escape(self.summary())}{escape(note)}</p><ul>{items}</ul>"
        )
        return still.framed(inside, self._still, beside_widget)


def align(a: Trace, b: Trace, labels: tuple[str, str]) -> tuple[list[tuple[int, int]], list[Difference]]:
    """The pairs of steps that are shown together, from (0, 0) to both ends, and the differences."""
    sides = (_Side(a), _Side(b))
    sides[0].name_nodes(None)
    sides[1].name_nodes(_same_nodes(*sides))
    pairs: list[tuple[int, int]] = [(0, 0)]
    found: list[Difference] = []
    for tag, i1, i2, j1, j2 in _blocks(sides[0].keys, sides[1].keys):
        start = len(pairs)
        wide = max(i2 - i1, j2 - j1)
        pairs += [(min(i1 + n + 1, i2), min(j1 + n + 1, j2)) for n in range(wide)]
        if tag == "equal":
            for n in range(wide):
                texts = [side.outcome(k) for side, k in zip(sides, pairs[start + n], strict=True)]
                if texts[0] != texts[1]:
                    what = sides[0].what(i1 + n + 1)
                    text = f'{what}: {texts[0]} in "{labels[0]}", {texts[1]} in "{labels[1]}".'
                    found.append(Difference("value", start + n, *pairs[start + n], text))
            continue
        passed = [e["k"] for side, low, high in ((a, i1, i2), (b, j1, j2)) for e in side.events[low:high]]
        if set(passed) == {"free"}:
            continue  # whether saved values are kept does not change what is computed
        kind = {"delete": "only a", "insert": "only b", "replace": "other"}[tag]
        told = [
            f'"{labels[s]}": {sides[s].say(sides[s].first(low, high))}{f" And {high - low - 1} more." if high - low > 1 else ""}'
            for s, low, high in ((0, i1, i2), (1, j1, j2))
            if high > low
        ]
        text = f"Only in {told[0]}" if len(told) == 1 else " \N{EM DASH} ".join(told)
        found.append(Difference(kind, start, *pairs[start], text))
    return pairs, [*_ends(sides, labels, pairs), *found]


def _same_nodes(a: _Side, b: _Side) -> dict[int, int]:
    """The nodes of b that match nodes of a: made in the same order, of the same kind, with results of the same name."""
    found = {}
    for tag, i1, i2, j1, _ in _blocks(a.made, b.made):
        if tag == "equal":
            found.update({b.order[j1 + n]: a.order[i1 + n] for n in range(i2 - i1)})
    return found


def _blocks(a: list[Any], b: list[Any]) -> Iterator[tuple[str, int, int, int, int]]:
    if len(a) * len(b) <= MOST * MOST:
        yield from SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        return
    same = 0  # too long: their common prefix, and the rest
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    yield "equal", 0, same, 0, same
    if same < max(len(a), len(b)):
        yield "replace", same, len(a), same, len(b)


def _ends(
    sides: tuple[_Side, _Side], labels: tuple[str, str], pairs: list[tuple[int, int]]
) -> list[Difference]:
    """The leaves whose final `.grad` differs."""
    grads = [side.grads() for side in sides]
    several = {name for one in grads for name, nr in one if nr > 1}
    found = []
    for name, nr in dict.fromkeys([*grads[0], *grads[1]]):
        ends = [one.get((name, nr), (False, "not there")) for one in grads]
        texts = [text for _, text in ends]
        if texts[0] != texts[1] and any(leaf for leaf, _ in ends):
            shown = numbered(name, nr) if name in several else name
            text = f'{shown}.grad in the end: {texts[0]} in "{labels[0]}", {texts[1]} in "{labels[1]}".'
            found.append(Difference("result", len(pairs) - 1, *pairs[-1], text))
    return found


class _Side:
    """The part of one trace that the comparison needs."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.narrator = Narrator(trace)
        self.order = list(range(len(trace.nodes)))
        self.made = [self._made(n) for n in self.order]
        self.keys: list[tuple[Any, ...]] = []

    def _made(self, n: int) -> tuple[Any, ...]:
        node = self.trace.nodes[n]
        owner = [] if node.get("tensor") is None else [node["tensor"]]
        return node["name"], *(self.trace.tensors[t]["name"] for t in [*owner, *node["outputs"]])

    def name_nodes(self, same: dict[int, int] | None) -> None:
        """Fix the names of the nodes in `keys`: `same` has the other trace's number of the nodes that both have."""
        self.same = same
        self.keys = [self._key(e) for e in self.trace.events]

    def _node(self, n: int) -> Any:
        return n if self.same is None else self.same.get(n, ("own", n))

    def _key(self, e: Record) -> tuple[Any, ...]:
        """The identity of an event in both traces: its kind and its subject, by name, without numbers."""
        marks = tuple(str(e[m]) for m in _MARKS if m in e)
        about = [self._node(e[n]) for n in ("n", "to") if isinstance(e.get(n), int)]
        if isinstance(e.get("to"), list):
            about.append(self._node(e["to"][0]))
        t = e.get("t")
        names = [self.trace.tensors[i]["name"] for i in (t if isinstance(t, list) else [t]) if i is not None]
        return e["k"], *marks, *about, *names

    def outcome(self, k: int) -> str:
        """The numbers that resulted from step k."""
        e = self.trace.events[k - 1]
        if e["k"] in ("node", "const", "leaf"):
            tensors = e["t"] if isinstance(e["t"], list) else [e["t"]]
            values = [self.trace.tensors[t]["value"] for t in tensors]
        else:
            field = e.get(_OUTCOMES.get(e["k"], ""))
            values = field if isinstance(field, list) else [] if e["k"] not in _OUTCOMES else [field]
        return ", ".join(describe(self.trace.values[v]) for v in values if v is not None) or "None"

    def say(self, k: int) -> str:
        return fill(self.narrator.phrase(k))

    def first(self, low: int, high: int) -> int:
        """The step that represents events `low` to `high`: the first that does more than free memory."""
        return next((k + 1 for k in range(low, high) if self.trace.events[k]["k"] != "free"), low + 1)

    def what(self, k: int) -> str:
        """The subject of step k, in a word."""
        e = self.trace.events[k - 1]
        if e["k"] == "deliver":
            return f"What has arrived at {self.narrator.nodes[e['to']]}"
        if e["k"] == "vjp":
            return f"What {self.narrator.nodes[e['n']]} sends"
        if e["k"] in ("accumulate", "retain", "grad"):
            return f"{self.narrator.tensors[e['t']]}.grad"
        t = e.get("t")
        t = t[0] if isinstance(t, list) and t else t
        return self.narrator.tensors[t] if isinstance(t, int) else self.narrator.nodes[e["n"]]

    def grads(self) -> dict[tuple[str, int], tuple[bool, str]]:
        """{(name, which of its tensors): (whether that is a leaf that requires a gradient, its final `.grad`)}."""
        end = state(self.trace, len(self.trace))
        seen: Counter[str] = Counter()
        found = {}
        for t, tensor in enumerate(self.trace.tensors):
            if tensor["name"] and t in end.tensors:
                now = end.tensors[t]
                seen[tensor["name"]] += 1
                leaf = tensor["leaf"] and (tensor["requires_grad"] or now.requires_grad)
                grad = describe(None if now.grad is None else self.trace.values[now.grad])
                found[tensor["name"], seen[tensor["name"]]] = leaf, grad
        return found


def _trace(what: Any) -> Trace:
    if isinstance(what, Stepper):
        return what.trace
    if not isinstance(what, Trace):
        raise TypeError(
            f"compare() takes two traces, not {type(what).__name__}: record them with lab.record()"
        )
    return what
