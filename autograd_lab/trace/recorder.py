"""The recorder: watches the engine at work and writes down what it did.

The core calls the methods of whatever stands in `State.watch` of the thread; this module is all the core has for an audience.
While recording, little happens: ids are given out and arrays are copied. The JSON-like trace is made when somebody first
looks at it, so that recording costs the program as little as possible.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..autograd.modes import THREAD
from ..autograd.node import AccumulateGrad, Node, Packed
from ..autograd.variable import NO_EDGE, Variable
from .names import line_of, name_in
from .trace import Record, Trace

FULL = 64  # up to so many elements a value is stored whole
CORNER = 6
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class record:  # noqa: N801 - used like a function
    """Record what runs inside: `with lab.record() as trace: ...`.

    The trace is complete when the block is left, also by an exception (which the trace then ends with). Recording is per
    thread; one recording inside another raises RuntimeError.
    """

    def __init__(self, title: str = "", names: dict[str, Any] | None = None):
        self._recorder = Recorder(title, names or {})

    def __enter__(self) -> Recording:
        state = THREAD.state
        if state.watch is not None:
            raise RuntimeError("a recording is already running in this thread: leave its `with lab.record()` block first")
        recorder = self._recorder
        recorder.namespace = sys._getframe(1).f_globals
        state.watch = recorder
        state.refresh()
        return Recording(recorder)

    def __exit__(self, kind, error, trace):
        state = THREAD.state
        state.watch = None
        state.refresh()
        self._recorder.finish(error, sys._getframe(1).f_locals)


class Recording(Trace):
    """The trace of a recording; made of the raw notes when its lists are first looked at."""

    def __init__(self, recorder: Recorder):
        object.__setattr__(self, "_recorder", recorder)

    @property
    def _lists(self) -> dict[str, Any]:
        recorder = self._recorder
        if not recorder.finished:
            raise RuntimeError("the recording is still running: look at the trace after its `with lab.record()` block")
        return recorder.lists

    title = property(lambda self: self._recorder.title)
    sources = property(lambda self: self._lists["sources"])
    values = property(lambda self: self._lists["values"])
    tensors = property(lambda self: self._lists["tensors"])
    nodes = property(lambda self: self._lists["nodes"])
    events = property(lambda self: self._lists["events"])


class Recorder:
    """The notes of one recording. Its public methods are called by the core (`State.watch`)."""

    def __init__(self, title: str, names: dict[str, Any]):
        self.title = title
        self.given = {id(t): name for name, t in names.items()}
        self.namespace: dict[str, Any] = {}
        self.finished = False
        self.kept: list[Any] = []  # what ids were given to must stay alive, or its id() could be given out again
        self.tensor_ids: dict[int, int] = {}
        self.node_ids: dict[int, int] = {}
        self.tensors: list[Record] = []
        self.nodes: list[Record] = []
        self.events: list[Record] = []
        self.snapshots: list[Any] = []
        self.seen: dict[int, tuple[Any, int]] = {}  # id of a gradient array -> (array, value id)
        self.source_ids: dict[str, int] = {}
        self.spans: dict[int, set[range]] = {}
        self.passes: dict[int, int] = {}
        self.pass_now = 0
        self.old_grads: dict[int, int | None] = {}
        self.totals: dict[int, dict[int, int]] = {}

    # -- the forward pass -----------------------------------------------------------------------------

    def operation(self, rule, inputs, outputs, node, args) -> None:
        """An operation ran; `node` is None if it was not recorded."""
        src, target = self._where(len(outputs))
        ins = [self._operand(t, src) for t in inputs]
        op = rule if isinstance(rule, str) else rule.op or rule.__name__
        outs = [self._tensor(t, target if len(outputs) == 1 else "", leaf=node is None) for t in outputs]
        if node is None:
            why = "inputs" if THREAD.state.grad else "no_grad"
            self._event("const", src, op=op, **{"in": ins}, t=outs, why=why)
            return
        n = self._node(node, src, ins, outs, args)
        saved = self.nodes[n]["saved"]
        self._event("node", src, n=n, t=outs, saved=saved)
        for i, (fn, nr) in enumerate(node.next_functions):
            if fn is not None:
                self._event("edge", src, n=n, i=i, to=[self._known(fn), nr])

    def written(self, rule, inputs, target, node, name) -> None:
        """A tensor was written in place by the operation `name`."""
        src, _ = self._where(1)
        t = self._operand(target, src)
        others = [self._operand(x, src) for x in inputs[1:]]
        old = self.tensors[t]["node"]
        n = None
        if node is not None:
            inner = self._node(node, src, [t, *others], [t], node.args)
            for i, (fn, nr) in enumerate(node.next_functions):
                if fn is not None:
                    self._event("edge", src, n=inner, i=i, to=[self._known(fn), nr])
            fn = target.grad_fn
            n = inner if fn is node or fn is None else self._known(fn, src)
        self._event("inplace", src, t=t, op=name, version=target._version, n=n, old=old, v=self._copy(target._data))
        if n is not None:
            self.tensors[t]["node"] = n

    def mode(self, on) -> None:
        """Recording of the graph was switched on or off."""
        self._event("mode", self._where(0)[0], grad=on)

    def detached(self, source, out) -> None:
        """`out` shares the memory of `source` and has no history."""
        src, target = self._where(1)
        s = self._operand(source, src)
        self._event("detach", src, t=self._tensor(out, target, leaf=True), **{"from": s})

    # -- the backward pass ----------------------------------------------------------------------------

    def pass_started(self, run, roots, call) -> None:
        """A backward pass is about to begin; its dependencies are counted."""
        p = self.passes[id(run)] = len(self.passes) + 1
        self.kept.append(run)
        self.pass_now = p
        src, _ = self._where(0)
        nodes = [self._known(node) for (node, _), _ in roots]
        self._event("backward", src, p=p, call=call, roots=nodes, keep=run.keep_graph, create_graph=run.create_graph)
        counts = dict(run.deps)
        for (node, _), _g in roots:
            counts[node] -= 1  # the seed is not a message from another node
        reached = [n for n in run.deps if run.needed is None or n in run.needed]
        self._event("counts", src, p=p, deps=[[self._known(n), counts[n]] for n in reached if counts[n]])
        self.totals[p] = {self._known(n): counts[n] for n in reached}
        self.arrived: dict[int, int] = {}

    def delivered(self, run, sender, i, fn, nr, g, old, total) -> None:
        """A message reached the input buffer of `fn`."""
        to = self._known(fn)
        if sender is None:
            self._event("seed", None, n=to, slot=nr, v=self._gradient(g))
            return
        self.arrived[to] = self.arrived.get(to, 0) + 1
        self._event(
            "deliver", None, n=self._known(sender), i=i, to=to, slot=nr, v=self._gradient(g), old=self._gradient(old),
            sum=self._gradient(total), arrived=self.arrived[to], of=self.totals[self.pass_now].get(to, self.arrived[to]),
        )  # fmt: skip

    def pushed(self, run, fn) -> None:
        """`fn` has all its messages and is ready."""
        self._event("push", None, n=self._known(fn), queue=self._queue(run))

    def popped(self, run, node, g) -> None:
        """The engine takes `node` from the queue."""
        grads = [g] if node.plain else g
        n = self._known(node)
        if isinstance(node, AccumulateGrad):
            old = node.variable._meta.grad
            self.old_grads[n] = None if old is None else self._copy(old._data)
        self._event("pop", None, n=n, queue=self._queue(run), g=[self._gradient(x) for x in grads])

    def hooked(self, run, node, stage, before, after) -> None:
        """User code saw, perhaps changed, gradients."""
        self._event(
            "hook", None, n=self._known(node), stage=stage, before=[self._gradient(x) for x in before],
            after=[self._gradient(x) for x in after],
        )  # fmt: skip

    def applied(self, run, node, slots, grads) -> None:
        """The rule of `node` ran; for an accumulator, `.grad` was written."""
        n = self._known(node)
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            grad = leaf._meta.grad
            if slots[0] is not None:
                self._event(
                    "accumulate", None, n=n, t=self._tensor(leaf), old=self.old_grads.get(n), add=self._gradient(slots[0]),
                    new=self._copy(grad._data),
                )  # fmt: skip
            return
        out = [self._gradient(g) if fn is not None else None for g, (fn, _) in zip(grads, node.next_functions, strict=False)]
        self._event("vjp", None, n=n, **{"in": [self._gradient(s) for s in slots]}, out=out)

    def released(self, run, node) -> None:
        """The saved values of `node` were dropped."""
        saved = [name for name, *_ in self.nodes[self._known(node)]["saved"]]
        if saved:
            self._event("free", None, n=self._known(node), saved=saved)

    def pruned(self, run, node, i) -> None:
        """Nothing is sent to operand `i`."""
        self._event("pruned", None, n=self._known(node), i=i)

    def retained(self, run, t, g) -> None:
        """A non-leaf that asked for it keeps its gradient."""
        fn = t.grad_fn
        n = self._known(fn) if fn is not None else None
        self._event("retain", None, n=n, t=self._tensor(t), v=self._copy(t._meta.grad._data))

    def failed(self, run, error) -> None:
        """The pass ended with an exception."""
        last = next((e["n"] for e in reversed(self.events) if e["k"] == "pop"), None)
        self._event("error", None, n=last, type=type(error).__name__, message=str(error))
        self.failure = error

    def pass_done(self, run) -> None:
        """The pass is complete."""
        self._event("done", None, p=self.passes[id(run)])
        self.pass_now = 0

    def finish(self, error, namespace) -> None:
        """The recording ends: name what is still unnamed, forget what was kept alive."""
        if error is not None and getattr(self, "failure", None) is not error and isinstance(error, Exception):
            self._event("error", None, n=None, type=type(error).__name__, message=str(error))
        for scope in (namespace, self.namespace):
            for name, value in list(scope.items()):
                if isinstance(value, Variable) and not name.startswith("_"):
                    t = self.tensor_ids.get(id(value))
                    if t is not None and not self.tensors[t]["name"]:
                        self.tensors[t]["name"] = name
        self.kept.clear()
        self.seen.clear()
        self.namespace = {}
        self.finished = True

    # -- ids ------------------------------------------------------------------------------------------

    def _event(self, kind: str, src, **fields) -> None:
        event = {"k": kind, **fields}
        if src is not None:
            event["src"] = src
        self.events.append(event)

    def _operand(self, t, src) -> int:
        """The id of an operand; one that nobody in the recording made is a leaf event of its own."""
        if not isinstance(t, Variable):
            return self._number(t, src)
        known = self.tensor_ids.get(id(t))
        if known is not None:
            return known
        fn = t.grad_fn
        i = self._tensor(t, self._name_of(t), leaf=fn is None)
        if fn is not None:
            self.tensors[i]["node"] = self._known(fn)
        self._event("leaf", src, t=i)
        return i

    def _number(self, x, src) -> int:
        """The id of a Python number that is an operand: a constant, named by what it is."""
        i = len(self.tensors)
        self.tensors.append({
            "name": f"{x:g}", "shape": [], "dtype": "float32" if isinstance(x, float) else "int64", "requires_grad": False,
            "leaf": True, "value": self._copy(np.asarray(x)[()]), "base": None, "node": None, "output_nr": 0,
        })  # fmt: skip
        self._event("leaf", src, t=i)
        return i

    def _tensor(self, t, name="", leaf=True) -> int:
        i = self.tensor_ids.get(id(t))
        if i is None:
            i = self.tensor_ids[id(t)] = len(self.tensors)
            self.kept.append(t)
            base = t._meta.base if t._meta is not None else None
            self.tensors.append({
                "name": self.given.get(id(t), name), "shape": list(t._data.shape), "dtype": t._data.dtype.name,
                "requires_grad": t.requires_grad, "leaf": leaf, "value": self._copy(t._data),
                "base": None if base is None else self._tensor(base, self._name_of(base), base.is_leaf), "node": None,
                "output_nr": 0,
            })  # fmt: skip
        return i

    def _node(self, node: Node, src, ins, outs, args) -> int:
        n = self._known(node, src)
        record = self.nodes[n]
        record["inputs"], record["outputs"] = ins, outs
        record["saved"] = self._saved(node, ins, outs)
        record["params"] = _params(node)
        for nr, t in enumerate(outs):
            self.tensors[t]["node"], self.tensors[t]["output_nr"], self.tensors[t]["leaf"] = n, nr, False
        return n

    def _saved(self, node, ins, outs) -> list[list[Any]]:
        saved = []
        for i, name in enumerate(node.saves):
            if i >= len(node.saved) or node.saved[i] is None:
                continue
            t = node.saved[i]
            if not isinstance(t, Variable):
                if not isinstance(t, Packed):
                    saved.append([name, ins[-1], 0])
                continue
            nr = node.result_number(i)
            known = outs[nr] if nr is not None and nr < len(outs) else self.tensor_ids.get(id(t))
            if known is not None:
                saved.append([name, known, node.versions[i] if node.versions else 0])
        return saved

    def _known(self, node: Node, src=None) -> int:
        """The id of a node, which may be older than the recording, or the engine's own."""
        n = self.node_ids.get(id(node))
        if n is None:
            n = self.node_ids[id(node)] = len(self.nodes)
            self.kept.append(node)
            math, vjp = rule_texts(type(node))
            self.nodes.append({
                "name": type(node).__name__, "op": getattr(node, "op", "") or _op_name(node), "kind": node.kind,
                "seq": node._sequence_nr(), "inputs": [], "outputs": [], "edges": [], "saved": [], "params": {},
                "src": src, "tensor": None, "math": math, "vjp": vjp, "made_in": self.pass_now, "scope": "",
            })  # fmt: skip
            record = self.nodes[n]
            if isinstance(node, AccumulateGrad):
                leaf = node.variable
                record["tensor"] = self._tensor(leaf, self._name_of(leaf))
            record["edges"] = [None if fn is None else [self._known_later(fn), nr] for fn, nr in node.next_functions]
        return n

    def _known_later(self, fn: Node) -> int:
        """The id of a node behind an edge; a graph that was there before is taken in without recursion."""
        if id(fn) in self.node_ids:
            return self.node_ids[id(fn)]
        order: list[Node] = []
        stack = [(fn, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in self.node_ids:
                continue
            if ready:
                order.append(node)
                self._known(node)
            else:
                stack.append((node, True))
                stack += [(f, False) for f, _ in node.next_functions if f is not None and id(f) not in self.node_ids]
        return self.node_ids[id(fn)]

    def _queue(self, run) -> list[int]:
        return [self._known(node) for _, node in sorted(run.ready, key=lambda item: item[0])]

    # -- values ---------------------------------------------------------------------------------------

    def _copy(self, data) -> int:
        """Take a snapshot of numbers that may change later."""
        self.snapshots.append(data.copy() if isinstance(data, np.ndarray) else data)
        return len(self.snapshots) - 1

    def _gradient(self, g) -> int | None:
        """The id of a gradient; the engine never writes into one, so the array itself is kept."""
        if g is None:
            return None
        data = g._data if isinstance(g, Variable) else g
        found = self.seen.get(id(data))
        if found is None:
            self.snapshots.append(data)
            found = self.seen[id(data)] = (data, len(self.snapshots) - 1)
        return found[1]

    # -- where in the user's code ---------------------------------------------------------------------

    def _where(self, outputs: int) -> tuple[list[int] | None, str]:
        """([source, line], name being assigned) of the user's line that is running."""
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        if frame is None:
            return None, ""
        self.frame_code = frame.f_code
        self.frame = frame
        line, target = line_of(frame.f_code, frame.f_lasti)
        source = self.source_ids.setdefault(frame.f_code.co_filename, len(self.source_ids))
        self.spans.setdefault(source, set()).add(_span(frame.f_code))
        return [source, line], target

    def _name_of(self, t) -> str:
        """The name of a tensor in the user's frame that is running, or ''."""
        if id(t) in self.given:
            return self.given[id(t)]
        meta = t._meta
        if meta is not None and meta.name:
            return meta.name
        frame = getattr(self, "frame", None)
        return name_in(frame, t) if frame is not None else ""

    # -- the trace ------------------------------------------------------------------------------------

    @cached_property
    def lists(self) -> dict[str, Any]:
        """The lists of the trace, made of the notes."""
        self.frame = None
        values: list[Record] = []
        places: dict[Any, int] = {}
        where: list[int] = []
        for data in self.snapshots:
            value = encode(data)
            key = repr(value)
            if key not in places:
                places[key] = len(values)
                values.append(value)
            where.append(places[key])
        self.snapshots.clear()

        def at(v):
            return None if v is None else where[v]

        for tensor in self.tensors:
            tensor["value"] = at(tensor["value"])
        for event in self.events:
            for field in ("v", "old", "sum", "add", "new"):
                if field in event and not (event["k"] == "inplace" and field == "old"):
                    event[field] = at(event[field])
            for field in ("g", "out", "before", "after"):
                if field in event:
                    event[field] = [at(v) for v in event[field]]
            if event["k"] == "vjp":
                event["in"] = [at(v) for v in event["in"]]
        sources = [
            {"name": source_name(file), "lines": _lines(file, self.spans.get(s, set()))} for file, s in self.source_ids.items()
        ]
        return {"sources": sources, "values": values, "tensors": self.tensors, "nodes": self.nodes, "events": self.events}


def encode(data) -> Record:
    """One value of the trace, from an array or a NumPy scalar: whole if small, summarized if large."""
    data = np.asarray(data)
    record: Record = {"shape": list(data.shape), "dtype": data.dtype.name}
    if data.size <= FULL:
        record["data"] = _digits(data.tolist())
        return record
    corner = data.reshape(-1, *data.shape[-2:])[0] if data.ndim > 1 else data[None]
    record["corner"] = _digits(corner[:CORNER, :CORNER].tolist())
    real = data[np.isfinite(data)] if data.dtype.kind == "f" else data
    for name in ("min", "max"):
        record[name] = _digit(getattr(real, name)().item()) if real.size else None
    record["mean"] = _digit(float(real.mean(dtype=np.float64))) if real.size else None
    record["nan"] = int(np.isnan(data).sum()) if data.dtype.kind == "f" else 0
    record["inf"] = int(np.isinf(data).sum()) if data.dtype.kind == "f" else 0
    return record


def _digits(x):
    return [_digits(y) for y in x] if isinstance(x, list) else _digit(x)


def _digit(x):
    if not isinstance(x, float):
        return x
    if x != x:
        return "nan"
    if x in (float("inf"), float("-inf")):
        return "inf" if x > 0 else "-inf"
    return float(f"{x:.6g}")


_TEXTS = re.compile(r"Math:\s*(?P<math>.*?)\s*(?:VJP:\s*(?P<vjp>.*?)\s*)?(?=Shapes:|Saves:|PyTorch:|\n\s*\n|\Z)", re.DOTALL)


@lru_cache(maxsize=None)
def rule_texts(rule: type) -> tuple[str, str]:
    """The Math and VJP sentences of a rule's docstring."""
    found = _TEXTS.search(rule.__doc__ or "")
    if not found:
        return "", ""
    texts = [re.sub(r"\s+", " ", found[part] or "").strip(" .") for part in ("math", "vjp")]
    return texts[0], texts[1]


def _op_name(node: Node) -> str:
    return re.sub(r"Backward\d*$", "", type(node).__name__).lower()


def _params(node: Node) -> Record:
    return {name: _plain(value) for name, value in zip(node.keeps, node.args, strict=False)}


def _plain(value):
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, float):
        return _digit(value)
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return type(value).__name__


def source_name(file: str) -> str:
    """How a source is called on screen: "cell 3" for a notebook's cell, else the file's name."""
    number = None
    try:
        shell = sys.modules["IPython"].get_ipython()
        number = shell.compile._filename_map.get(file)
    except (KeyError, AttributeError):
        pass
    if number is not None:
        return f"cell {number}"
    return os.path.basename(file) if not file.startswith("<") else file.strip("<>")


def _span(code) -> range:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    return range(min(lines), max(lines) + 1) if lines else range(code.co_firstlineno, code.co_firstlineno + 1)


def _lines(file: str, spans: set[range]) -> dict[str, str]:
    text = linecache.getlines(file)
    wanted = {line for span in spans for line in span if span.stop - span.start <= 200}
    wanted |= {span.start for span in spans}
    return {str(i): text[i - 1].rstrip("\n") for i in sorted(wanted) if 0 < i <= len(text)}


__all__ = ["NO_EDGE", "Recorder", "Recording", "encode", "record"]
