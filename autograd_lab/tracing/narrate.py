"""One English sentence for each event, with the real numbers in it.

A sentence is a template and its parts, so that a trace of thousands of events contains each template once
(`Narrator.phrase`); `narrate` puts them together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from copy import copy

from .called import called_in, numbered
from .rules import (
    CONVERSIONS,
    OF_MODULES,
    Term,
    as_in_code,
    describe,
    is_number,
    names_of,
    operand_name,
    operands,
    scalar,
    terms,
)
from .trace import Record, Trace
from .words import explained

Phrase = tuple[str, ...]


def a_or_an(word: str) -> str:
    """A word with its article: "an IndexError"."""
    return f"an {word}" if word[:1] in "AEIOaeio" else f"a {word}"


def narrate(trace: Trace, k: int) -> str:
    """What step `k` of `trace` did (1 is the first event; 0 says what is about to be seen)."""
    return Narrator(trace).sentence(k)


def label(trace: Trace, n: int) -> str:
    """The name of node `n` in sentences: its own, with a number if the trace has several of that name."""
    return Narrator(trace).nodes[n]


def fill(phrase: Phrase) -> str:
    """The sentence: "{0}", "{1}" in the template stand for the parts after it."""
    return phrase[0].format(*phrase[1:])


class Narrator:
    """The sentences of one trace; makes the names once."""

    def __init__(self, trace: Trace, called: list[str] | None = None) -> None:
        self.trace = trace
        called = called_in(trace) if called is None else called
        self.called = called  # by the program, each tensor apart
        total = Counter(node["name"] for node in trace.nodes)
        seen: Counter[str] = Counter()
        self.nodes: list[str] = []
        for node in trace.nodes:
            name = node["name"]
            seen[name] += 1
            owner = node.get("tensor")
            if node["kind"] == "accumulate":
                named = owner is not None and called[owner]
                name = f"AccumulateGrad of {named}" if named else f"AccumulateGrad #{seen[name]}"
            elif total[name] > 1:
                name = f"{name} #{seen[name]}"
            self.nodes.append(name)
        makers: dict[int, str] = {}
        detached: dict[int, str] = {}
        self._made_by: Counter[int] = Counter()  # nodes that hold a value of a tensor
        for node in trace.nodes:
            self._made_by.update(node["outputs"])
        for event in trace.events:  # the first that made a tensor: others wrote into it
            if event["k"] == "node":
                by_function = (
                    trace.nodes[event["n"]]["kind"] == "function"
                )  # and not by a step of its forward
                for t in event["t"]:
                    makers[t] = (
                        self.nodes[event["n"]] if by_function else makers.get(t, self.nodes[event["n"]])
                    )
            elif event["k"] == "const":
                for t in event["t"]:
                    makers.setdefault(t, event["op"])
            elif (
                event["k"] == "detach"
                and trace.tensors[event["from"]]["name"]
                and event.get("how", "detach") in _CUT_OFF
            ):
                name = called[event["from"]] + _CUT_OFF[event.get("how", "detach")]
                detached.setdefault(event["t"], name)
        for n, node in enumerate(trace.nodes):
            for t in node["outputs"]:
                makers.setdefault(t, self.nodes[n])
        self.tensors = [
            called[t]
            or detached.get(t)
            or (f"the result of {makers[t]}" if t in makers else _nameless(tensor))
            for t, tensor in enumerate(trace.tensors)
        ]
        for t, tensor in enumerate(trace.tensors):
            if self.tensors[t] in _NAMELESS and tensor.get("part"):
                self.tensors[t] = tensor["part"]
            elif self.tensors[t] in _NAMELESS and tensor.get("grad_of") is not None:
                self.tensors[t] = f"the gradient of {self.tensors[tensor['grad_of']]}"
            elif self.tensors[t] in _NAMELESS and tensor.get("seed") is not None:
                self.tensors[t] = f"the seed of {self.nodes[tensor['seed']]}"
        self.alike = Counter(tensor["name"] for tensor in trace.tensors)
        self.versions = _versions(trace)
        self.written_into = _writes(self.versions)
        self.made: dict[int | None, int] = {}  # the number of the event at which a node was made
        for k, event in enumerate(trace.events):
            if event["k"] in ("node", "inplace"):
                self.made.setdefault(event.get("n"), k)
        self._terms: dict[int, list[Term]] = {}
        self._described: dict[int | None, str] = {}
        self.being_saved = dict(_being_saved(trace, self.made))
        for t in self.being_saved:
            if self.tensors[t] in _NAMELESS:
                self.tensors[t] = f"the result of {self.nodes[trace.tensors[t]['node']]}"
        self.filled: dict[int, set[int]] = {}  # per backward pass: the leaves whose .grad it wrote
        self.retaining: set[int] = set()  # the passes that wrote another `.grad`
        current: set[int] = set()  # of a pass whose beginning was not recorded
        running: list[set[int]] = []  # of the passes under way, the innermost last
        self._asides: set[int] = (
            set()
        )  # ids of events: what hooks and Functions compute in a pass, which records nothing
        self._underived: set[int] = (
            set()
        )  # ids of events: operations without a derivative on tensors that require one
        self._again: set[int] = set()  # ids of events: writes into a .grad that the event before has told
        before: Record = {"k": ""}
        flags: dict[int, bool] = {}  # what requires_grad was set to
        passes, off, last = 0, False, 0
        for event in trace.events:
            if event["k"] in ("backward", "done"):
                passes, off = max(passes + (1 if event["k"] == "backward" else -1), 0), False
            elif event["k"] == "error":
                passes = 0
                running.clear()
            elif event["k"] == "mode" and not event.get("inside"):
                off = not event["grad"]
            elif event["k"] == "flag" and event.get("how") != "retain_grad":
                flags[event["t"]] = event["requires_grad"]
            elif event["k"] == "const" and passes and not off and event.get("why") == "no_grad":
                self._asides.add(id(event))
            if event["k"] == "const" and any(
                flags.get(t, trace.tensors[t]["requires_grad"]) for t in event["in"]
            ):
                self._underived.add(id(event))
            if event["k"] == "inplace" and self._is_grad_told_of(event, before):
                self._again.add(id(event))
            before = event
            if event["k"] == "backward":
                current = self.filled.setdefault(event["p"], set())
                last = event["p"]
                running.append(current)
            elif event["k"] == "done":
                last = 0
                del running[-1:]
                current = running[-1] if running else set()
            elif event["k"] in ("retain", "grad"):
                self.retaining.add(last)
                if event["v"] is None:
                    current.discard(event["t"])
            elif event["k"] == "accumulate":
                current.add(event["t"])

    def on(self, trace: Trace) -> Narrator:
        """The sentences of another run, which took the same path with other numbers."""
        found = copy(self)
        found.trace, found._terms, found._described = trace, {}, {}
        found.versions = _versions(trace)
        found.written_into = _writes(found.versions)
        pairs = [(id(old), id(new)) for old, new in zip(self.trace.events, trace.events, strict=True)]
        found._asides = {new for old, new in pairs if old in self._asides}
        found._underived = {new for old, new in pairs if old in self._underived}
        found._again = {new for old, new in pairs if old in self._again}
        return found

    def _is_grad_told_of(self, e: Record, before: Record) -> bool:
        """Whether a write is into the .grad of a tensor, and the event before is about the same write."""
        if before["k"] != "grad" or before.get("how") != e.get("op") or e.get("unnoticed") is not None:
            return False
        return self.trace.tensors[e["t"]]["name"] == f"{self.trace.tensors[before['t']]['name']}.grad"

    def sentence(self, k: int) -> str:
        """What step `k` did, as `narrate` says it; many steps of a long trace cost less with one narrator."""
        return fill(self.phrase(k))

    def phrase(self, k: int) -> Phrase:
        """Template and parts of the sentence for step `k`."""
        if k == 0 and not len(self.trace):
            return ("Nothing was recorded: no operation ran on a tensor of autograd_lab.",)
        if k == 0:
            return ("Nothing has run yet. Press Step to see the first of {0} events.", str(len(self.trace)))
        event = self.trace.events[k - 1]
        sentence: Phrase = getattr(self, "_" + event["k"])(event)
        return sentence

    # One method per kind of event, named after it.

    def _leaf(self, e: Record) -> Phrase:
        tensor = self.trace.tensors[e["t"]]
        name, value = self.called[e["t"]], self._tensor_value(e["t"])
        if e["t"] in self.being_saved:
            text = "{0} has just computed {1}. A hook on saved values gets it before the node {2} is made."
            if self.being_saved[e["t"]]:
                text = "{0} has just computed {1} again. checkpoint takes it before the node {2} is made."
            n = tensor["node"]
            return (text, as_in_code(self.trace.nodes[n]), value, self.nodes[n])
        if tensor["requires_grad"] and not tensor["leaf"]:
            text = "{0} comes in with a history: it was computed before, and gradients go on from it. Its value: {1}."
            return (text, self._first(e["t"]), value)
        if tensor["requires_grad"]:
            who = "This" if self.tensors[e["t"]] in _NAMELESS else self._first(e["t"])
            if name != tensor["name"]:
                text = (
                    "{0} is a leaf tensor that requires a gradient, {2} tensors called {3}. Its value: {1}."
                )
                return (text, who, value, self._which(e["t"]), tensor["name"])
            return ("{0} is a leaf tensor that requires a gradient. Its value: {1}.", who, value)
        if (name and not is_number(tensor)) or (not name and tensor.get("part")):
            name = name or self._first(e["t"])
            return ("{0} is plain data: it needs no gradient. Its value: {1}.", name, value)
        if not name and tensor.get("grad_of") is not None:
            text = "{0}, which autograd.grad returned, comes in: {1}. It needs no gradient."
            return (text, self._first(e["t"]), value)
        if not name and tensor.get("seed") is not None:
            return ("{0} comes in: {1}. It needs no gradient.", self._first(e["t"]), value)
        if tensor["shape"]:
            return ("A tensor without a name comes in: {0}. It needs no gradient.", value)
        return ("The constant {0} comes in: it needs no gradient.", name if is_number(tensor) else value)

    def _node(self, e: Record) -> Phrase:
        node, name = self.trace.nodes[e["n"]], self.nodes[e["n"]]
        op = as_in_code(node)
        if node["name"] in OF_MODULES:
            text = "{2} passes on what it is given: {0}. It makes the node {1}, on which its hooks run."
            module = self._module(node)
            return (text, self._all_made(e["t"][:3]), name, module[0].upper() + module[1:])
        made = self._all_made(e["t"][:3], self.made.get(e["n"], -1) if node["kind"] == "function" else -1)
        saved = e.get("saved") or node.get("saved") or []
        names = _list(list(dict.fromkeys(self._saved(e["n"], item) for item in saved)))
        if node.get("compiled"):
            lines = _count(len(node["compiled"]["forward"]), "line")
            kept = f"keeps {names}" if saved else "keeps nothing"
            text = "{0} of compiled NumPy run: {1}. It all makes one node, {2}, which {3} for its backward."
            return (text, lines, made, name, kept)
        if saved:
            return ("{0} runs: {1}. It makes the node {2}, which saves {3}.", op, made, name, names)
        if _used_up(node):
            text = "Compiled NumPy runs: {0}. The backward pass was run in it, so its node, {1}, is used up."
            return (text, made, name)
        return ("{0} runs: {1}. It makes the node {2}, which has nothing to save.", op, made, name)

    def _edge(self, e: Record) -> Phrase:
        target, nr = e["to"]
        where = self.nodes[target] + (f", output {nr}" if nr else "")
        if _used_up(self.trace.nodes[e["n"]]):
            return (
                "Edge {0} of {1} leads to {2}: gradients went there.",
                str(e["i"]),
                self.nodes[e["n"]],
                where,
            )
        return (
            "Edge {0} of {1} leads to {2}: that is where this gradient will go.",
            str(e["i"]),
            self.nodes[e["n"]],
            where,
        )

    def _const(self, e: Record) -> Phrase:
        made = self._all_made(e["t"])
        op = str(CONVERSIONS.get(e["op"], e["op"]))
        why = self.reason(e)
        if why == "forward":
            text = (
                "{0} runs in the forward of {2}, which records nothing: {1}. Only {2} itself can make a node."
            )
            return (text, op, made, e["function"])
        if why == "pass":
            text = "{0} runs in the backward pass, which records nothing: {1}. So it makes no node."
            return (text, op, made)
        if why == "no_grad":
            return (
                "{0} runs under no_grad: {1}. It makes no node, so no gradient comes back through it.",
                op,
                made,
            )
        if why == "inference_mode":
            return (
                "{0} runs in inference mode: {1}. It makes no node, and its result can never have one.",
                op,
                made,
            )
        if why == "copy":
            sources = _list(list(dict.fromkeys(self._name(t) for t in e["in"])))
            return (
                "tensor() copies the numbers of {0}: {1}. That is new data without history, so no gradient passes here.",
                sources,
                made,
            )
        if id(e) in self._underived:
            if e["op"] == "CompiledFunction":
                return ("{0} runs: {1}. Its results are detached in it, so it makes no node.", op, made)
            return ("{0} runs: {1}. Such numbers have no derivative, so it makes no node.", op, made)
        return ("{0} runs: {1}. None of its inputs requires a gradient, so it makes no node.", op, made)

    def _inplace(self, e: Record) -> Phrase:
        value = self.described(e["v"]) if e.get("v") is not None else "written over"
        if e.get("op") == "data =":
            text = "{0} is set: {1} is now {2}. Nobody counted it: its version is still {3}."
            return (text, self._of("data", e["t"]), self._name(e["t"]), value, str(e["version"]))
        if id(e) in self._again:
            text = "That was a write in place: the version of {0} is now {1}."
            return (text, self._name(e["t"]), str(e["version"]))
        text = "{0} is changed in place by {1}: now {2}, version {3}."
        parts = (self._first(e["t"]), e.get("op", "an operation"), value, str(e["version"]))
        if e.get("unnoticed") == "data":
            text = "{0} shares that memory, so its numbers have changed, too: now {2}. Nobody counted it: its version is still {3}."
            return (text, *parts)
        if e.get("unnoticed") == "":
            return ("{0} shares that memory: it is {2} now, and its version is {3}, too.", *parts)
        if e.get("unnoticed"):
            text = "{0} was overwritten by NumPy, which shares its memory: now {2}. Nobody counted it: its version is still {3}."
            return (text, *parts)
        if e.get("n") is not None and e.get("n") != e.get("old"):
            copied = self.trace.rewritten(e)
            if copied is not None and (base := self.trace.nodes[copied]["outputs"][0]) != e["t"]:
                text += " Its grad_fn is now {4}, and that of {5}, whose memory it shares, is {6}."
                return (text, *parts, self.nodes[e["n"]], self._name(base), self.nodes[copied])
            return (text + " Its grad_fn is now {4}.", *parts, self.nodes[e["n"]])
        return (text, *parts)

    def _idle(self, e: Record) -> Phrase:
        count = e.get("count", 0)
        if count == 1:
            return ("A step of {0} changes nothing: its one parameter has no gradient.", e["op"])
        return (
            "A step of {0} changes nothing: none of its {1} parameters has a gradient.",
            e["op"],
            str(count),
        )

    def _mode(self, e: Record) -> Phrase:
        if e.get("inside"):
            switches = "{0} switches recording on" if e["grad"] else "{0} switches recording off"
            then = ": operations make nodes." if e["grad"] else ": operations run, but make no nodes."
            return (switches + then, e["inside"])
        if e["grad"]:
            return ("Recording is on again: operations make nodes.",)
        return ("Recording is off: operations run, but make no nodes.",)

    def _read(self, e: Record) -> Phrase:
        how = e.get("how", "item")
        what = (
            "a NumPy array" if how == "numpy" else "Python numbers" if how == "tolist" else "a Python number"
        )
        if e.get("inside"):
            return ("{0} reads {1} as {2} for its work.", e["inside"], self._name(e["t"]), what)
        return (
            "{0} hands out {1}. What is computed with that is not recorded.",
            self._of(f"{how}()", e["t"]),
            what,
        )

    def _flag(self, e: Record) -> Phrase:
        if e.get("how") == "retain_grad":
            return (
                "{0} asks to keep its gradient: the next backward pass will fill {1}.",
                self._first(e["t"]),
                self._its("grad", e["t"]),
            )
        if e.get("inside"):
            so = "requires a gradient from here on" if e["requires_grad"] else "no longer requires a gradient"
            return ("{0} {1}: {2} sets that for its work.", self._first(e["t"]), so, e["inside"])
        now = "requires a gradient" if e["requires_grad"] else "no longer requires a gradient"
        if e.get("how") == "detach_":
            return ("{0} {1} from here on: detach_ was called.", self._first(e["t"]), now)
        flag = str(e["requires_grad"])  # by requires_grad_() or an assignment
        return ("{0} {1} from here on: its requires_grad was set to {2}.", self._first(e["t"]), now, flag)

    def _grad(self, e: Record) -> Phrase:
        name = self._of("grad", e["t"])
        by = {"assigned": "was assigned", "zero_grad": "was reset by zero_grad"}
        how = by.get(e.get("how", ""), f"was changed by {e.get('how')}")
        if e["v"] is None and e.get("how") == "assigned":  # `w.grad = None` and `del w.grad` are the same
            return ("{0} was cleared: it is now None.", name)
        return ("{0} {1}: it is now {2}.", name, how, self.described(e["v"]))

    def _detach(self, e: Record) -> Phrase:
        if e.get("how") == "data" and e.get("inside") and not self.trace.tensors[e["t"]]["name"]:
            text = "{0} takes the numbers of {1} for its work, without history."
            return (text, e["inside"], self._name(e["from"]))
        if e.get("how") == "data":
            data, source = self._of("data", e["from"]), self._name(e["from"])
            text, name = "{0} hands out the numbers of {1}", self.called[e["t"]]
            text += (" as {2}" if name else "") + ", without history and behind the engine's back."
            return (text, data, source, name)
        if e.get("how") in ("Parameter", "deepcopy"):
            what = "a new leaf made of the numbers of" if e["how"] == "Parameter" else "a deep copy of"
            text = "{0} is {2} {1}. It has no history, so no gradient passes here."
            if self.tensors[e["t"]] in _NAMELESS:
                text = "Here is {2} {1}, without a name. It has no history, so no gradient passes here."
            return (text, self._first(e["t"]), self._name(e["from"]), what)
        source, name = self._first(e["from"]), self._first(e["t"])
        if e.get("inside") and not self.trace.tensors[e["t"]]["name"]:
            text = "{0} detaches {1} for its work: same numbers, no history."
            return (text, e["inside"], self._name(e["from"]))
        if name.endswith(".detach()"):
            return (
                "{0} is detached: the result has the same numbers, no history, so no gradient passes here.",
                source,
            )
        text = "{0} is detached from {1}: same numbers, no history, so no gradient passes here."
        return (text, name, self._name(e["from"]))

    def _backward(self, e: Record) -> Phrase:
        roots = _list(_counted([self.nodes[n] for n in e["roots"]]))
        if e.get("engine"):
            return ("A faulty engine starts at {0}. Its order: {1}.", roots, e["engine"])
        if e["p"] == 1:
            return ("The backward pass starts at {0}.", roots)
        return ("Backward pass {0} starts at {1}.", str(e["p"]), roots)

    def _counts(self, e: Record) -> Phrase:
        several = [f"{self.nodes[n]} for {count}" for n, count in e["deps"] if count > 1]
        if not several:
            return ("The engine counts the messages each node must wait for: one each, in this graph.",)
        rest = "" if len(several) == len(e["deps"]) else ", every other node for 1"
        return ("The engine counts the messages each node must wait for: {0}{1}.", _list(several, 3), rest)

    def _seed(self, e: Record) -> Phrase:
        value = self.trace.values[e["v"]]
        if scalar(value) == 1:
            return (
                "{0} is seeded with 1: the gradient of the result with respect to itself.",
                self.nodes[e["n"]],
            )
        single = value.get("data")
        while isinstance(single, list) and len(single) == 1:
            (single,) = single
        if single == 1:  # an array of one number is a result like any other
            text = "{0} is seeded with {1}: the gradient of the result with respect to itself."
            return (text, self.nodes[e["n"]], describe(value))
        return ("{0} is seeded with the given gradient: {1}.", self.nodes[e["n"]], describe(value))

    def _push(self, e: Record) -> Phrase:
        name, queue = self.nodes[e["n"]], e["queue"]
        if e.get("early"):
            arrived, of = map(str, e["early"])
            if e["early"][0] >= e["early"][1]:
                return ("{0} runs for this message alone: this engine passes each one on at once.", name)
            return (
                "{0} will run with {1} of its {2} messages: this engine does not wait.",
                name,
                arrived,
                of,
            )
        ready = "{0} has every message it waits for: it is ready"
        if len(queue) == 1:
            return (ready + ".", name)
        if queue[0] == e["n"]:
            return (ready + ", and goes to the front of the queue.", name)
        behind = e["behind"] if "at" in e else queue[queue.index(e["n"]) - 1]
        return (ready + ", and queues behind {1}.", name, self.nodes[behind])

    def _pop(self, e: Record) -> Phrase:
        name, incoming = self.nodes[e["n"]], _list([self.described(v) for v in e["g"]])
        return ("The engine takes {0} from the queue. Its incoming gradient: {1}.", name, incoming)

    def _hook(self, e: Record) -> Phrase:
        what = {"pre": "A pre-hook", "post": "A post-hook"}.get(e["stage"], "A hook")
        lead = "{0} on {1}"
        if (
            self.trace.nodes[e["n"]]["name"] in OF_MODULES
        ):  # user code need not have run: it may only note what came
            lead = "At {1}, {0}"
            what = self._module(self.trace.nodes[e["n"]])
        given, left = e.get("before") or [], e.get("after") or []
        before = _list([self.described(v) for v in given])
        after = _list([self.described(v) for v in left])
        same = self._same(given, left)
        if before == after and not same:  # in four digits, or from the smallest to the largest
            before, after = self._closely(given), self._closely(left)
        if e["stage"] == "shared":
            return (
                "The code that just ran wrote into a gradient that {0} has, too: it was {1} there and is now {2}.",
                self.nodes[e["n"]],
                before,
                after,
            )
        name = self.hook_place(e)
        if e["stage"] == "post_accumulate" and left:
            t = self.trace.nodes[e["n"]]["tensor"]
            its = "its .grad" if t is None else self._its("grad", t)
            if same:
                text = "A post-accumulate hook on {0} looks at {1}, which is {2}, and leaves it as it is."
                return (text, name, its, before)
            if before == after:
                text = "A post-accumulate hook on {0} puts other numbers into {1}: again {2}."
                return (text, name, its, after)
            return ("A post-accumulate hook on {0} changes {1} from {2} to {3}.", name, its, before, after)
        if not left:
            return (lead + " ran: there is no gradient it could change.", what, name)
        several = sum(v is not None for v in given) > 1
        them, they = ("gradients", "them as they are") if several else ("gradient", "it as it is")
        if same:
            return (lead + " looks at the {3} {2} and leaves {4}.", what, name, before, them, they)
        if before == after:
            return (lead + " puts other numbers into the {3}: again {2}.", what, name, after, them)
        return (lead + " changes the {4} from {2} to {3}.", what, name, before, after, them)

    def _same(self, before: list[int | None], after: list[int | None]) -> bool:
        """Whether a hook left what it got: equal texts do not say so."""
        values = [[None if v is None else self.trace.values[v] for v in part] for part in (before, after)]
        return values[0] == values[1]

    def _closely(self, values: list[int | None]) -> str:
        """Values with the six digits that a trace has."""
        found = [None if v is None else scalar(self.trace.values[v]) for v in values]
        return _list(
            [self.described(v) if x is None else f"{x:.6g}" for v, x in zip(values, found, strict=True)]
        )

    def hook_place(self, e: Record) -> str:
        """What the hook of an event "hook" was registered on, as its author knows it: a tensor, or a node.

        A hook stays with the old value of a tensor that is written in place: then the node tells which value that is.
        """
        node, t = self.nodes[e["n"]], self.trace.hooked(e)
        if t is None:
            return {"tensor": f"the result of {node}", "post_accumulate": "the leaf"}.get(e["stage"], node)
        return f"{self._name(t)} (as {node} made it)" if self._made_by[t] > 1 else self._name(t)

    def terms(self, e: Record) -> list[Term]:
        """What the node of a "vjp" event sends to each operand; computed once."""
        if id(e) not in self._terms:
            self._terms[id(e)] = terms(self.trace, e["n"], e["in"], e["out"])
        return self._terms[id(e)]

    def _vjp(self, e: Record) -> Phrase:
        node, name = self.trace.nodes[e["n"]], self.nodes[e["n"]]
        incoming = _list([self.described(v) for v in e["in"]])
        sent = [term for term in self.terms(e) if term.value is not None]
        targets = [self._operand(node, term) for term in sent]
        if not sent:
            return ("{0} has nothing to send on from its incoming {1}.", name, incoming)
        values = [self.described(term.value) for term in sent]
        given = self.trace.values[e["in"][0]] if e["in"] and e["in"][0] is not None else None
        simple = scalar(given) is not None
        letter = names_of(self.trace).gradient
        numbered = any(re.search(rf"(?<!\w){letter}\d", term.rule) for term in sent)
        same = [term.rule == letter and self.trace.values[term.value or 0] == given for term in sent]
        if all(same):
            text = "{0} passes the incoming {1} on unchanged to {2}."
            if not simple:
                text = "{0} passes its incoming gradient on unchanged to {2}: {1}."
            return (text, name, incoming, _list(_counted(targets)))
        if node["op"] == "mul" and all(term.numbers for term in sent):
            factors = [self._other(e["n"], term) for term in sent]
            if all(factors):
                parts = zip(factors, values, targets, strict=True)
                steps = [f"by its saved {factor} and sends {value} to {to}" for factor, value, to in parts]
                return (
                    "{0} multiplies the incoming {1} {2}.",
                    name,
                    incoming,
                    ", and ".join(_counted(steps)),
                )
        steps = []
        for term, value, target, unchanged in zip(sent, values, targets, same, strict=True):
            if unchanged:
                steps.append(f"{target} gets it unchanged")
            elif term.numbers == value:
                steps.append(f"{target} gets {term.rule} = {value}")
            elif term.numbers:
                steps.append(f"{target} gets {term.rule} = {term.numbers} = {value}")
            elif not term.rule:
                steps.append(f"{target} gets {value}")
            else:
                steps.append(f"{target} gets {term.rule}: {value}")
        steps = _counted(steps)
        if node.get("compiled"):
            lines = _count(len(node["compiled"].get("backward", ())), "line")
            text = "{0} runs its compiled backward, {3} of NumPy, on the incoming {4} = {1}: {2}."
            return (text, name, incoming, "; ".join(steps), lines, letter)
        text = "{0} applies its rule to the incoming {3} = {1}: {2}."
        if numbered:  # one for each result, as the rule has them
            text = text.replace("{3} = {1}", "{1}")
            arrived = ["0 (nothing arrived)" if v is None else self.described(v) for v in e["in"]]
            incoming = _list([f"{letter}{nr} = {value}" for nr, value in enumerate(arrived)])
        words = explained([term.rule for term in sent], names_of(self.trace).taken)
        if words:
            said = "; ".join(f"{word.removesuffix('(')} is {meaning}" for word, meaning in words.items())
            return (text + " Here {4}.", name, incoming, "; ".join(steps), letter, said)
        return (text, name, incoming, "; ".join(steps), letter)

    def _free(self, e: Record) -> Phrase:
        node = self.trace.nodes[e["n"]]
        if node["kind"] == "function" and not node.get("compiled"):  # saved values without names
            return ("{0} has done its work and frees what it saved.", self.nodes[e["n"]])
        called = {str(name): self.saved_name(node, name, t) for name, t, *_ in node["saved"]}
        names = _list(list(dict.fromkeys(called.get(str(name)) or str(name) for name in e["saved"])))
        return ("{0} has done its work and frees what it saved ({1}).", self.nodes[e["n"]], names)

    def _deliver(self, e: Record) -> Phrase:
        be = "is" if e["arrived"] == 1 else "are"
        arrived = f"{e['arrived']} of {e['of']} messages {be} here"
        if e["of"] == 1:
            arrived = "That is the only message it waits for"
        to, value, edge = self.nodes[e["to"]], self.described(e["v"]), str(e["i"])
        if e.get("late"):
            return (
                "The message {0} comes along edge {1} to {2}, which has run already: this message is lost.",
                value,
                edge,
                to,
            )
        if e["v"] is None:
            return (
                "Edge {0} brings {1} no gradient, which counts as a message, too. {2}.",
                edge,
                to,
                arrived,
            )
        single = scalar(self.trace.values[e["v"]]) is not None
        text = (
            "{0} travels along edge {1} to {2}" if single else "A message travels along edge {1} to {2}: {0}"
        )
        if e.get("old") is None:
            return (text + ". {3}.", value, edge, to, arrived)
        if not single:
            text += ". It is added to what was already there: now {3}. {4}."
            return (text, value, edge, to, self.described(e["sum"]), arrived)
        text += " and is added to the {3} already there: {4}. {5}."
        return (text, value, edge, to, self.described(e["old"]), self.described(e["sum"]), arrived)

    def _pruned(self, e: Record) -> Phrase:
        node = self.trace.nodes[e["n"]]
        if e["i"] < len(node["edges"]) and node["edges"][e["i"]] is None:
            ins, i, name = operands(node), e["i"], self.nodes[e["n"]]
            t = ins[i] if i < len(ins) else None
            known = operand_name(self.trace, e["n"], i) if t is None else self._name(t)
            if t is None and ins:
                return ("{0} sends nothing to {1}, which was not given.", name, known)
            if t is not None and is_number(self.trace.tensors[t]):
                known = f"the constant {known}"
            if t is not None and known == "a tensor":
                names = names_of(self.trace)
                own, value = names.tensors[t], self.described(names.read(e["n"], t))
                known = f"the tensor {own}" if own.startswith("[") else f"a tensor without a name ({value})"
                if not self.trace.tensors[t]["shape"]:
                    known = f"the constant {value}"  # as it came in
            text = "{0} sends nothing to {1}, which needs no gradient."
            return (text, name, known or "one of its operands")
        return (
            "Nothing is sent along edge {0} of {1}: this pass does not ask for it.",
            str(e["i"]),
            self.nodes[e["n"]],
        )

    def _accumulate(self, e: Record) -> Phrase:
        name, added = self._of("grad", e["t"]), self.described(e["add"])
        if e["old"] is None:
            return ("{0} was None and is now {1}.", name, added)
        return (
            "{0} was {1}; adding {2} makes it {3}.",
            name,
            self.described(e["old"]),
            added,
            self.described(e["new"]),
        )

    def _retain(self, e: Record) -> Phrase:
        name, value = self._first(e["t"]), self.described(e["v"])
        return ("{0} asked to retain its gradient: {1} is now {2}.", name, self._its("grad", e["t"]), value)

    def _error(self, e: Record) -> Phrase:
        where = f" in {self.nodes[e['n']]}" if e["n"] is not None else ""
        if e["n"] is None and (e.get("caught") or e is not self.trace.events[-1]):
            return (
                "A call fails with {0}, and the program goes on. The message: {1}",
                a_or_an(e["type"]),
                e["message"],
            )
        if e["n"] is None:
            return ("The program stops with {0}: {1}", a_or_an(e["type"]), e["message"])
        return ("The pass stops{0} with {1}: {2}", where, a_or_an(e["type"]), e["message"])

    def _refused(self, e: Record) -> Phrase:
        of = [self._name(t) for t in e["in"]]
        what = f"{e['op']}{'' if e['op'].endswith(' into') else ' of'} {_list(of, 3)}" if of else e["op"]
        text = "{0} is refused with {1}, and the program goes on. The message: {2}"
        return (text, what, a_or_an(e["type"]), e["message"])

    def _done(self, e: Record) -> Phrase:
        filled = len(self.filled.get(e["p"], ()))
        end = "The queue is empty: the backward pass is complete"
        if e.get("returned"):
            return self._returned(e, end)
        if not filled:
            return (end + ".",)
        if filled == 1:
            return (end + ", and 1 leaf has its .grad.",)
        return (end + ", and {0} leaves have their .grad.", str(filled))

    def _returned(self, e: Record, end: str) -> Phrase:
        """What the caller of `autograd.grad` gets."""
        names = ["an input" if t is None else self._name(t) for t in e["wrt"]]
        values = ["None" if v is None else self.described(v) for v in e["returned"]]
        left = "" if self.filled.get(e["p"]) or e["p"] in self.retaining else ". It adds nothing to any .grad"
        if len(names) == 1:
            return (end + ". autograd.grad returns the gradient of {0}: {1}{2}.", *names, *values, left)
        pairs = [f"{value} for {name}" for name, value in zip(names, values, strict=True)]
        return (end + ". autograd.grad returns the gradients: {0}{1}.", _list(pairs), left)

    def _unrecorded(self, e: Record) -> Phrase:
        text = "A step is missing here: the recorder failed to write down {0} ({1}: {2}). Your program went on as if nobody recorded it."
        return (text, e["op"], e["type"], e["message"])

    # Parts of sentences.

    def described(self, v: int | None) -> str:
        """A value in a sentence: see rules.describe."""
        text = self._described.get(v)
        if text is None:
            text = self._described[v] = describe(None if v is None else self.trace.values[v])
        return text

    def _tensor_value(self, t: int, k: int = -1) -> str:
        """The value that a tensor came with, or what was written into it before event `k`."""
        before = [v for at, v in self.written_into.get(t, ()) if at < k] if k >= 0 else []
        return self.described(before[-1] if before else self.trace.tensors[t]["value"])

    def _name(self, t: int) -> str:
        return self.tensors[t]

    def _first(self, t: int) -> str:
        """The same at the beginning of a sentence: variables keep their letters."""
        name = self._name(t)
        described = not self.trace.tensors[t]["name"] and name.startswith(("the ", "a "))
        return name[:1].upper() + name[1:] if described else name

    def _of(self, attribute: str, t: int) -> str:
        """An attribute at the beginning of a sentence: "w.grad", or "The .grad of the result of MulBackward0"."""
        name = self._name(t)
        return f"{name}.{attribute}" if self._first(t) == name else f"The .{attribute} of {name}"

    def _its(self, attribute: str, t: int) -> str:
        """The same where the tensor has just been named."""
        return self._of(attribute, t) if self._first(t) == self._name(t) else f"its .{attribute}"

    def _module(self, node: Record) -> str:
        """The module with hooks that made a node to run them on: the innermost group that it was made in."""
        group = str(node.get("scope", "")).rpartition(" / ")[2].rpartition(" #")
        path, _, kind = (group[0] or group[2]).rpartition(": ")
        return (
            f"the module {path} ({kind})" if path else f"the module {kind}" if kind else "a module with hooks"
        )

    def _made(self, t: int, k: int, nr: str = "the result") -> str:
        name, value = self.called[t], self._tensor_value(t, k)
        return f"{name} = {value}" if name else f"{nr} is {value}"

    def _all_made(self, made: list[int], k: int = -1) -> str:
        """What an operation made; with `k`, the event at which a Function is done, which may have written into its operand."""
        if len(made) > 1 and not any(self.trace.tensors[t]["name"] for t in made):
            return f"the results are {_list([self._tensor_value(t) for t in made])}"
        if len(made) > 1:
            return _list([self._made(t, k, f"result {i}") for i, t in enumerate(made, 1)])
        text = _list([self._made(t, k) for t in made])
        own = self.trace.tensors[made[0]]["name"] if made else ""
        # Said once, or a loop's h would be introduced in each turn.
        return (
            f"{text}, the second tensor called {own}"
            if own and self.called[made[0]] == numbered(own, 2)
            else text
        )

    def _which(self, t: int) -> str:
        """Which of the tensors of one name this is: "the first of 3"."""
        own = self.trace.tensors[t]["name"]
        place = {
            numbered(own, i): which for i, which in enumerate(("the first", "the second", "the third"), 1)
        }
        return f"{place.get(self.called[t], 'one')} of {self.alike[own]}"

    def reason(self, e: Record) -> str:
        """Why what an event "const" or "detach" made has no history: a key of the pictures' captions."""
        if e["k"] == "detach":
            return str(e.get("how", "detach"))
        if "function" in e:
            return "forward"
        return "pass" if id(e) in self._asides else str(e.get("why", "inputs"))

    def value_at(self, t: int, version: int, n: int) -> int | None:
        """The value that tensor `t` had at a version when node `n` was made: the one it came with, or what was written into it.

        A write that nobody counts, through `.data` or NumPy, leaves the version as it is.
        """
        writes = self.versions.get((t, version), ())
        before = [v for k, v in writes if k <= self.made.get(n, k)]
        came_with: int | None = self.trace.tensors[t]["value"]
        return before[-1] if before else writes[0][1] if version and writes else came_with

    def saved_name(self, node: Record, name: str, t: int | None) -> str:
        """What a learner calls a saved value: by the variable, or by the node that made it; the names in a rule are not theirs."""
        if t is None:
            return name
        if self.called[t]:
            return self.called[t]
        if name == "result" or (t in node["outputs"] and node["kind"] == "op"):
            return f"its {name}"
        own = node["kind"] != "op" or node.get(
            "compiled"
        )  # named by the user's Function, or by the compiled code
        if own or not (self.tensors[t] in _NAMELESS or self.tensors[t].startswith("a tensor in ")):
            return str(name) if own else self.tensors[t]
        return next(
            (what for rule, words, what in _OWN if rule in node["name"] and words == name), f"its {name}"
        )

    def _saved(self, n: int, item: list) -> str:
        node = self.trace.nodes[n]
        name, t, *version = item
        if t is None:
            return str(name)
        tensor, shown = self.trace.tensors[t], self.saved_name(node, name, t)
        if is_number(tensor):
            return self.called[t] or str(name)
        v = self.value_at(t, version[0] if version else 0, n)
        value = None if v is None else self.trace.values[v]
        return (
            f"{shown} = {self.described(v)}"
            if scalar(value) is not None
            else f"{shown} ({self.described(v)})"
        )

    def _operand(self, node: Record, term: Term) -> str:
        """The receiver of operand i's gradient, under the user's name."""
        ins = operands(node)
        t = ins[term.operand] if term.operand < len(ins) else None
        if t is not None and self.called[t]:
            edges = [edge for edge in node["edges"][term.operand : term.operand + 1] if edge is not None]
            if edges and self._made_by[t] > 1 and self.trace.tensors[t]["node"] != edges[0][0]:
                return f"{self.called[t]} (as {self.nodes[edges[0][0]]} made it)"
            return self.called[t]
        if term.operand < len(node["edges"]) and node["edges"][term.operand]:
            return self.nodes[node["edges"][term.operand][0]]
        return term.to

    def _other(self, n: int, term: Term) -> str:
        """The factor in `mul`'s rule beside g: "b = 3"."""
        inputs = self.trace.nodes[n]["inputs"]
        if len(inputs) != 2:
            return ""
        t = inputs[1 - term.operand]
        tensor, value = self.trace.tensors[t], self.described(names_of(self.trace).read(n, t))
        return f"{self.called[t]} = {value}" if self.called[t] and not is_number(tensor) else value


def _being_saved(trace: Trace, made: dict[int | None, int]) -> Iterator[tuple[int, bool]]:
    """The results that a hook on saved values got before their node was made, and whether it was a checkpoint's.

    The last of a checkpoint's second run gets no node: the run stops there.
    """
    for k, event in enumerate(trace.events):
        if event["k"] != "leaf" or (n := trace.tensors[event["t"]].get("node")) is None:
            continue
        after: Record = trace.events[k + 1] if k + 1 < len(trace.events) else {"k": ""}
        again = after["k"] == "detach" and after["from"] == event["t"] and after.get("inside") == "checkpoint"
        maker = trace.events[made.get(n, k)]
        if again or (made.get(n, k) > k and maker["k"] == "node"):  # and not data that is written into later
            yield event["t"], again


def _versions(trace: Trace) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """{(tensor, version): [(number of an event, the value that its write left)]}: several, where nobody counted them."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for k, event in enumerate(trace.events):
        if event["k"] == "inplace" and event.get("v") is not None:
            found.setdefault((event["t"], event["version"]), []).append((k, event["v"]))
            if event.get("base") is not None:
                t, v = event["base"]
                found.setdefault((t, event["version"]), []).append((k, v))
    return found


def _writes(versions: dict[tuple[int, int], list[tuple[int, int]]]) -> dict[int, list[tuple[int, int]]]:
    """{tensor: [(number of an event, the value that its write left)]}."""
    found: dict[int, list[tuple[int, int]]] = {}
    for (t, _), writes in versions.items():
        found.setdefault(t, []).extend(writes)
    return found


_OWN = [
    ("WeightNorm", "result1", "the norms as its result1"),
    ("Norm", "result1", "the mean as its result1"),
    ("Norm", "result2", "1 / the standard deviation as its result2"),
    ("MaxPool", "result1", "the places of the largest as its result1"),
    ("", "self", "its input"),
    ("", "other", "its other operand"),
    *(("", name, "its first operand") for name in ("mat1", "batch1", "tensor1", "vec1", "x1")),
    *(("", name, "its second operand") for name in ("mat2", "batch2", "tensor2", "vec2", "vec", "x2")),
]
"""(Part of a node's name, what PyTorch calls a value that it saves, words for it) where no variable has the value."""

_CUT_OFF = {"detach": ".detach()", "data": ".data"}
"""What stands behind the name of a tensor in the name of one that was cut off from its history, by how."""


_NAMELESS = ("a tensor", "a leaf without a name")


def _nameless(tensor: Record) -> str:
    """What a tensor is called of which nothing else is known."""
    return _NAMELESS[tensor["leaf"] and tensor["requires_grad"]]


def _used_up(node: Record) -> bool:
    """Whether a compiled call returned this node after running its backward pass inside: it cannot be opened."""
    return node["name"] == "CompiledFunctionBackward" and not node.get("compiled")


def _list(items: list[str], most: int = 6) -> str:
    """Items joined as in a sentence: "a, b and c"; long lists are cut."""
    if len(items) > most:
        items = [*items[:most], f"{len(items) - most} more"]
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "nothing"


def _counted(items: list[str]) -> list[str]:
    """Items of which equal ones are said once: x * x sends the same to x twice."""
    times = ("", " (twice)", *(f" ({n} times)" for n in range(3, len(items) + 1)))
    return [item + times[n - 1] for item, n in Counter(items).items()]


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"
