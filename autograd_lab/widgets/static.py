"""The dynamic graph beside the captured one: `lab.compare_static(fn, *inputs)`.

Three views of one function: its operations as they run, beside the graph that was captured once; what each pass did to
that graph, before and after; and the final source. `again(*inputs)` runs it on other data: the dynamic
graph is built again and may differ, the captured one is reused or says which guard failed.
"""

from __future__ import annotations

import base64
import warnings
from dataclasses import asdict
from difflib import SequenceMatcher
from html import escape
from typing import Any

import anywidget
import traitlets

from autograd_lab.compiler import Compiled, OptimizedModule
from autograd_lab.compiler.module import code_of
from autograd_lab.compiler.stages import Stage, _named, stages, told
from autograd_lab.tracing.recorder import keep_last, record
from autograd_lab.tracing.rules import describe
from autograd_lab.tracing.scopes import ITERATION, SEPARATOR
from autograd_lab.tracing.trace import Record, Trace

from . import still
from .frames import text_width
from .front import packed, style
from .layout import layered
from .shown import Shown
from .svg import palette
from .themed import themed
from .wire import encode

VIEWS = ("run", "passes", "source")
HEIGHT = 34


class StaticComparison(Shown, anywidget.AnyWidget):
    """A function as it runs, beside the graph that torch.compile captured from it.

    The function runs several times: to record it, and twice to capture it. Its arguments are those given, and every run
    is a plain call. Raises TypeError if `fn` is not callable.

    compiled   the compiled function; `compiled.graph`, `compiled.forward_source` and so on are there to read
    stages     what each pass did (see compiler/stages.py); [] if there is no graph
    runs       one record for each call: what it did, and whether the captured graph was reused
    """

    _esm = packed()
    _css = style()
    _static = traitlets.Unicode().tag(sync=True)
    view = traitlets.Enum(VIEWS, "run", help="what is shown").tag(sync=True)
    run = traitlets.Int(0, help="which run is shown").tag(sync=True)
    position = traitlets.Int(0, help="how many operations of that run have happened").tag(sync=True)
    stage = traitlets.Int(0, help="which pass is shown").tag(sync=True)
    change = traitlets.Int(-1, help="which of its changes is pointed at; -1: none").tag(sync=True)

    def __init__(self, fn: Any, *inputs: Any, **kwargs: Any) -> None:
        if not callable(fn):
            raise TypeError(f"compare_static() takes a function or a module, not {type(fn).__name__}")
        self.fn = code_of(fn).fn if isinstance(fn, Compiled | OptimizedModule) else fn
        self.compiled = Compiled(self.fn)
        self.runs: list[Record] = []
        self.stages: list[Stage] = []
        self._sources: list[Record] = []
        super().__init__()
        self.again(*inputs, **kwargs)
        self.run = 0

    def again(self, *inputs: Any, **kwargs: Any) -> StaticComparison:
        """Run it on other data, as it is and compiled, and show this run; returns the comparison itself."""
        before, missed = len(self.compiled.entries), len(self.compiled.misses)
        with keep_last(), warnings.catch_warnings():
            with record() as trace:
                self.fn(*inputs, **kwargs)
            warnings.simplefilter("ignore")  # that it is not one graph is explained below
            self.compiled(*inputs, **kwargs)
        operations = _operations(trace)
        entries = self.compiled.entries
        if self.compiled._eager:
            verdict, graph = "broken", -1
            says = f"Not one graph: {self.compiled.breaks[-1]}. It runs as it is, operation by operation."
        elif len(entries) == before:
            graph = next(i for i, e in enumerate(entries) if e.check(inputs, kwargs, self.fn) is not None)
            verdict, says = "holds", f"All guards hold: graph {graph + 1} runs, as it is."
        elif len(self.compiled.misses) > missed:
            verdict, graph = "missed", len(entries) - 1
            says = (
                f"A guard is missed; at the capture it was: {self.compiled.misses[-1]}. "
                f"So the function is captured anew: graph {len(entries)}."
            )
        else:
            verdict, graph = "captured", 0
            says = (
                "Captured: the function ran once under watch, and the graph is complete before it runs again."
            )
        self._number_sources(trace, operations)
        self.runs.append({
            "title": _title(self.compiled, inputs, kwargs), "verdict": verdict, "says": says, "graph": graph, "operations": operations,
            "picture": _picture([(o["op"], o["shape"], o["reads"]) for o in operations]),
        })  # fmt: skip
        if verdict == "captured":
            self.stages = stages(entries[0])
        self._tell()
        self.run = len(self.runs) - 1
        self.position = len(operations)
        return self

    def _number_sources(self, trace: Trace, operations: list[Record]) -> None:
        """Map the operations' lines to one list of sources for all runs."""
        place = {}
        for s, source in enumerate(trace.sources):
            known = next((i for i, one in enumerate(self._sources) if one["name"] == source["name"]), None)
            if known is None:
                known = len(self._sources)
                self._sources.append({"name": source["name"], "lines": {}})
            self._sources[known]["lines"].update(source["lines"])
            place[s] = known
        for one in operations:
            one["src"] = None if one["src"] is None else [place[one["src"][0]], one["src"][1]]

    def _graphs(self) -> list[Record]:
        found = []
        for entry in self.compiled.entries:
            names = _named(entry)
            steps = [s for s in entry.history[0][1].steps if s.part == "forward"]
            made = {v: i for i, s in enumerate(steps) for v in s.outs}
            reads = [[made[v] for v in s.values() if v in made] for s in steps]
            found.append({
                "steps": [{"text": told(s, names), "op": s.op, "line": s.line} for s in steps],
                "picture": _picture([(s.op, list(s.outs[0].shape), r) for s, r in zip(steps, reads, strict=True)]),
                "forward": entry.forward.source, "backward": "" if entry.backward is None else entry.backward.source,
                "guards": [c.says for c in entry.world.conditions if not c.says.endswith(_DULL)],
            })  # fmt: skip
        return found

    def _tell(self) -> None:
        """Send all to the browser."""
        graphs = self._graphs()
        for one in self.runs:
            steps = graphs[one["graph"]]["steps"] if one["graph"] >= 0 else []
            one["same"] = _aligned([o["op"] for o in one["operations"]], [s["op"] for s in steps])
        self._data: Record = {
            "name": str(self.compiled.__name__),
            "sources": [
                {"name": s["name"], "lines": sorted([int(n), text] for n, text in s["lines"].items())} for s in self._sources
            ],
            "runs": self.runs, "graphs": graphs, "stages": [asdict(s) for s in self.stages],
        }  # fmt: skip
        self._static = encode(self._data)
        self._still = still.key(self.to_text())

    @traitlets.validate("run", "position", "stage", "change")
    def _inside(self, proposal: Record) -> int:
        name, wanted = proposal["trait"].name, int(proposal["value"])
        low, most = (-1 if name == "change" else 0), 0
        if name == "run":
            most = len(self.runs) - 1
        elif name == "position":
            most = len(self.runs[self.run]["operations"]) if self.runs else 0
        elif self.stages:
            most = len(self.stages) - 1 if name == "stage" else len(self.stages[self.stage].changes) - 1
        return max(min(wanted, most), low)

    # The methods of the buttons.

    def show(self, view: str) -> StaticComparison:
        """Show "run", "passes" or "source"."""
        self.view = view
        return self

    def step(self, n: int = 1) -> StaticComparison:
        """Go forward by `n` operations; among the passes by `n` changes, across passes."""
        if self.view != "passes":
            self.position += n
            return self
        for _ in range(abs(n) if self.stages else 0):
            if 0 <= self.change + (1 if n > 0 else -1) < len(self.stages[self.stage].changes):
                self.change += 1 if n > 0 else -1
            elif n > 0 and self.stage < len(self.stages) - 1:
                self.stage, self.change = self.stage + 1, -1
            elif n < 0 and self.change >= 0:
                self.change = -1
            elif n < 0 and self.stage > 0:
                self.stage -= 1
                self.change = len(self.stages[self.stage].changes) - 1
        return self

    def back(self, n: int = 1) -> StaticComparison:
        """Go back by `n` operations or changes."""
        return self.step(-n)

    def first(self) -> StaticComparison:
        """Go to the beginning: before the first operation, or to the first pass."""
        if self.view == "passes":
            self.stage, self.change = 0, -1
        else:
            self.position = 0
        return self

    def last(self) -> StaticComparison:
        """Go to the end: after the last operation, or to the last change of the last pass."""
        if self.view != "passes":
            self.position = len(self.runs[self.run]["operations"])
        elif self.stages:
            self.stage = len(self.stages) - 1
            self.change = len(self.stages[-1].changes) - 1
        return self

    # What viewers without widgets see.

    def __repr__(self) -> str:
        graphs = len(self.compiled.entries)
        return f"StaticComparison({self.compiled.__name__}: {_count(len(self.runs), 'run')}, {_count(graphs, 'captured graph')})"

    @property
    def heading(self) -> str:
        """The title of the comparison."""
        return f"{self.compiled.__name__}: define-by-run beside captured"

    def summary(self) -> str:
        """The numbers of runs and graphs."""
        return repr(self)[len("StaticComparison(") : -1]

    def to_text(self) -> str:
        """All of it as lines of text."""
        lines = [repr(self)]
        for i, run in enumerate(self.runs, 1):
            lines += [
                f"run {i}, {run['title']}: {_count(len(run['operations']), 'operation')}. {run['says']}"
            ]
            lines += [f"    {o['text']}   {o['where']}" for o in run["operations"]]
        for n, graph in enumerate(self._data["graphs"] if self.runs else [], 1):
            lines += [
                f"graph {n}, as it was captured (forward):",
                *(f"    {s['text']}" for s in graph["steps"]),
            ]
        for stage in self.stages:
            lines.append(f"{stage.title}: {_saving(stage)}")
            lines += [f"    {change.word}: {change.text}" for change in stage.changes]
        for graph in self._data["graphs"][:1]:
            lines += [graph["forward"].rstrip(), *([graph["backward"].rstrip()] if graph["backward"] else [])]
        return "\n".join(lines)

    def still(self, note: str = "", beside_widget: bool = False) -> str:
        """Two pictures, and the rest as text."""
        run = self.runs[0]
        pictures = [("define-by-run: " + run["title"], run["picture"])]
        if run["graph"] >= 0:
            pictures.append(("captured", self._data["graphs"][run["graph"]]["picture"]))
        cells = "".join(
            f'<td><p>{escape(label)}</p><img alt="{escape(label, quote=True)}: {_count(len(picture["nodes"]), "operation")}" '
            f'style="max-width:100%" src="data:image/svg+xml;base64,{base64.b64encode(themed(picture, draw=_drawn).encode()).decode("ascii")}"></td>'
            for label, picture in pictures
        )
        says = "".join(f"<li>{escape(one['title'])}: {escape(one['says'])}</li>" for one in self.runs)
        inside = (
            f"<table><tr>{cells}</tr></table><ul>{says}</ul><details><summary>{escape(self.summary())}{escape(note)}</summary>"
            f"<pre>{escape(self.to_text())}</pre></details>"
        )
        return still.framed(inside, self._still, beside_widget)


_DULL = (
    "positional arguments",
    "the same keyword arguments",
    "is a Tensor",
    "is a Parameter",
    "has no hooks",
)


def _title(compiled: Compiled, inputs: tuple, kwargs: dict) -> str:
    """The call in a few words: "f(x: 2x3, n=3)"."""
    names = [*compiled._names, *(f"argument {i + 1}" for i in range(len(inputs)))][: len(inputs)]
    words = []
    for name, x in [*zip(names, inputs, strict=True), *kwargs.items()]:
        shape = getattr(x, "shape", None)
        words.append(f"{name}={x!r}" if shape is None else f"{name}: {'x'.join(map(str, shape)) or 'number'}")
    text = ", ".join(words)
    return text if len(text) <= 80 else text[:77] + "..."


def _operations(trace: Trace) -> list[Record]:
    """What ran, in order: each operation with its inputs, its line, and its results."""
    found: list[Record] = []
    made: dict[int, int] = {}
    for event in trace.events:
        kind = event["k"]
        if kind == "backward":
            break
        if kind not in ("node", "const", "inplace") or event.get("why") == "copy":
            if kind == "detach" and event["from"] in made:
                made[event["t"]] = made[event["from"]]
            continue
        node = trace.nodes[event["n"]] if kind == "node" else None
        outs = event["t"] if isinstance(event["t"], list) else [event["t"]]
        ins = node["inputs"] if node else event.get("in", [])
        out = trace.tensors[outs[0]]
        value = event.get("v") if kind == "inplace" else out["value"]
        op = (
            (node["op"] if node else event["op"])
            .removeprefix("_")
            .removesuffix("_" if kind == "inplace" else "\0")
        )
        src = event.get("src")
        line = trace.sources[src[0]]["lines"].get(str(src[1]), "").strip() if src else ""
        where = f"line {src[1]}: {line}" if src else ""
        if iteration := ITERATION.fullmatch((node or event).get("scope", "").rpartition(SEPARATOR)[2]):
            where += f"  (iteration {iteration[1]})"
        name = out["name"]
        words = [trace.tensors[t]["name"] or (f"[{made[t] + 1}]" if t in made else "constant") for t in ins]
        text = f"[{len(found) + 1}] {f'{name} = ' if name else ''}{op}({', '.join(words)})"
        found.append({
            "op": op, "text": text, "shape": out["shape"], "src": src, "where": where, "value": describe(trace.values[value]) if value is not None else "",
            "reads": list(dict.fromkeys(made[t] for t in ins if t in made)),
        })  # fmt: skip
        made.update(dict.fromkeys(outs, len(found) - 1))
    return found


def _aligned(a: list[str], b: list[str]) -> list[int]:
    """For each operation the corresponding step of the graph, -1 for none."""
    if len(a) == len(b):
        return list(range(len(a)))
    same = [-1] * len(a)
    for i, j, n in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        for k in range(n):
            same[i + k] = j + k
    return same


def _picture(operations: list[tuple[str, list[int], list[int]]]) -> Record:
    """A small drawing of operations: boxes with name and shape, lines from results to their readers."""
    texts = [(op, "\N{MULTIPLICATION SIGN}".join(map(str, shape)) or "number") for op, shape, _ in operations]
    widths = [max(text_width(op, 12, True), text_width(shape, 11)) + 18 for op, shape in texts]
    edges = [(u, v, 0.0, 0.0, 0) for v, (_, _, reads) in enumerate(operations) for u in reads]
    place = layered([(w / 2, w / 2, HEIGHT) for w in widths], edges, gap=14, row_gap=22)
    lines = []
    for u, v, *_ in edges:
        (x1, y1), (x2, y2) = place.anchors[u], place.anchors[v]
        points = [(x1, y1 + HEIGHT / 2), *place.between(u, v, 0), (x2, y2 - HEIGHT / 2)]
        lines.append([u, v, [round(c) for point in points for c in point]])
    nodes = [
        [round(x), round(y), round(w), *text]
        for (x, y), w, text in zip(place.anchors, widths, texts, strict=True)
    ]
    return {"nodes": nodes, "edges": lines, "width": round(place.width), "height": round(place.height)}


def svg(picture: Record) -> str:
    """The drawing as a picture of its own, in the colors of one theme."""
    color = palette()
    left = min((x - w / 2 for x, _, w, *_ in picture["nodes"]), default=0) - 6
    top = min((y for _, y, *_ in picture["nodes"]), default=0) - HEIGHT / 2 - 6
    right = max((x + w / 2 for x, _, w, *_ in picture["nodes"]), default=40) + 6
    bottom = max((y for _, y, *_ in picture["nodes"]), default=20) + HEIGHT / 2 + 6
    parts = []
    for _, _, p in picture["edges"]:
        parts.append(
            f'<polyline points="{" ".join(map(str, p))}" fill="none" stroke="{color["outline"]}" stroke-width="1.4"/>'
        )
    for x, y, w, op, shape in picture["nodes"]:
        parts.append(
            f'<rect x="{x - w / 2:g}" y="{y - HEIGHT / 2:g}" width="{w}" height="{HEIGHT}" rx="6" fill="{color["blue-tint"]}" stroke="{color["blue"]}"/>'
            f'<text x="{x}" y="{y - 2}" class="b">{escape(op)}</text><text x="{x}" y="{y + 12}">{escape(shape)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left:g} {top:g} {right - left:g} {bottom - top:g}" width="{right - left:g}" '
        f'font-family="sans-serif" text-anchor="middle"><style>text{{font-size:11px;fill:{color["dim"]}}}'
        f'.b{{font-size:12px;font-weight:600;fill:{color["fg"]}}}</style><rect x="{left:g}" y="{top:g}" width="100%" height="100%" '
        f'fill="{color["bg"]}"/>{"".join(parts)}</svg>'
    )


def _drawn(picture: Record, *_: Any) -> str:
    return svg(picture)


def _saving(stage: Stage) -> str:
    """The numbers of steps and bytes before and after."""
    (s0, s1), (b0, b1) = stage.steps, stage.bytes
    what = "bytes saved for the backward" if stage.title == "split" else "bytes in named arrays"
    unit = "lines" if stage.title == "write" else "steps"
    steps = f"{s0} {unit}" if s0 == s1 else f"{s0} to {s1} {unit}"
    return f"{steps}, {b0:,} {what}" if b0 == b1 else f"{steps}, {b0:,} to {b1:,} {what}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


__all__ = ["StaticComparison", "svg"]
