"""From a recorder's notes to the lists of a trace: assigns ids, encodes values, looks source lines up."""

from __future__ import annotations

import linecache
import re
import sys
from bisect import bisect_left, insort
from collections.abc import Iterable
from functools import lru_cache
from inspect import CO_GENERATOR as GENERATOR
from inspect import unwrap
from itertools import chain
from math import isfinite, isinf
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..torchlike.autograd.function import BackwardCFunction
from ..torchlike.autograd.node import AccumulateGrad, Node
from ..torchlike.autograd.saved import Packed
from ..torchlike.autograd.variable import Variable
from ..torchlike.autograd.views import AsStridedBackward0
from . import jacobian
from .guard import strict, text_of
from .held import Held
from .hooked import SAVED, has_packed
from .names import Places, is_in_with
from .rules import rule_texts
from .scopes import Scopes
from .statements import backward_of, line_of_def, returns_nothing
from .trace import Record

FULL = 64  # a value of at most this many elements is stored whole
CORNER = 6
MOST_QUEUED = 16  # the nodes of a longer ready queue that an event lists
MOST_ENTRIES = 50_000  # entries of all local Jacobians of a trace together
REMADE = ("Parameter", "deepcopy")  # ways to make a leaf from another tensor's numbers
MADE_INSIDE = "a tensor made in its forward"  # saved by a custom Function, and never seen outside


class Builder:
    """Replays the notes of one recording in order; one method for each kind of note."""

    def __init__(
        self,
        names: dict[int, str],
        grads: dict[int, tuple[Any, Any]] | None = None,
        returned: dict[int, tuple[Any, Any]] | None = None,
    ):
        self.names = names  # id of a tensor -> its name
        self.grads = grads or {}  # id of a `.grad` -> (it, the tensor whose gradient it is)
        self.returned = returned or {}  # the same for what `autograd.grad` returned
        self.tensor_ids: dict[int, int] = {}
        self.node_ids: dict[int, int] = {}
        self.tensors: list[Record] = []
        self.nodes: list[Record] = []
        self.events: list[Record] = []
        self.values: list[Record] = []
        self.value_ids: dict[str, int] = {}
        self.seen: dict[int, tuple[Any, int]] = {}  # id of an array -> (the array, its value's id)
        self.lent: dict[int, Lent] = {}  # id of an array that the user holds -> what it held during a pass
        self.source_ids: dict[str, int] = {}
        self.spans: dict[int, set[range]] = {}
        self.cited: dict[int, set[int]] = {}  # the lines of each source that events name
        self.seen_codes: set[int] = set()
        self.passes: dict[int, int] = {}
        self.pass_now = 0
        self.at: int | None = None  # the node at work in it
        self.called_at: Any = None  # where it was called
        self.recorded_there = False  # whether it has recorded an operation of its own
        self.outer: list[tuple[Any, ...]] = []  # facts about the passes that it runs in
        self.arrived: dict[int, int] = {}
        self.expected: dict[int, int] = {}
        self.queues: dict[
            int, list[tuple[int, int, int]]
        ] = {}  # for each pass: (order, number of the push, node)
        self.pushes = 0
        self.places = Places()
        self.scopes = Scopes()
        self.scoped: list[tuple[Record, int]] = []  # nodes and events, and the groups they belong to
        self.asked_for: Record = {}  # the tensors of the call that is about to start a pass
        # id of a tensor -> its numbers at this point of the notes
        self.copies: dict[int, Any] = {}
        # number of a result of .data or detach() -> (the tensor whose memory it shares, whether a write bumps that one's version)
        self.sources_of: dict[int, tuple[int, bool]] = {}
        self.now: dict[int, tuple[int | None, int]] = {}  # number of a written tensor -> (value, version)
        # id of a version counter -> the ids of the tensors written through it
        self.writers: dict[int, set[int]] = {}
        self.entries = 0
        # id of a tensor or node -> see hooked.py -> when it had hooks, as [first, end or None] in numbers of events
        self.hook_periods: dict[int, dict[Any, list[list[int | None]]]] = {}
        self.held = Held(self)
        self.grads_now: dict[int, int | None] = {}  # `.grad` of a leaf when it was last recorded
        self.faulty = ""  # the order of an intentionally wrong pass
        self.ran: set[int] = set()
        self.last_done: Record = {}
        self.seeds: dict[
            int, tuple[Any, int]
        ] = {}  # id of a gradient that a pass began with -> (it, the node)
        self.named: int | None = (
            None  # the tensor that the last operation named after the variable it was assigned to
        )

    apart = False
    """Whether to refer to each value by a `Slot`: for runs that will be compared with others."""
    slots = 0

    def build(self, notes: list[tuple[Any, ...]]) -> dict[str, Any]:
        """The five lists of the trace."""
        self.unnoticed_ever = _written_unnoticed(notes)
        return self.replay(notes)

    def replay(self, notes: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
        """The same, note by note."""
        for kind, *note in notes:
            try:
                getattr(self, kind)(*note)
            except Exception as error:
                if strict():
                    raise
                self.unrecorded(kind, type(error).__name__, text_of(error), None)
        paths = self.scopes.paths()
        for what, group in self.scoped:
            what["scope"] = paths[group]
        for tensor in self.tensors:
            tensor.pop("unseen", None)
        for owner_id, periods in self.hook_periods.items():
            for ids, records in ((self.tensor_ids, self.tensors), (self.node_ids, self.nodes)):
                if owner_id in ids:
                    records[ids[owner_id]]["hooks"] = sorted(chain(*periods.values()), key=itemgetter(0))
        for tensor_id, t in self.tensor_ids.items():
            if not self.tensors[t]["name"]:
                self.tensors[t]["name"] = self.names.get(tensor_id, "")
        for tensor_id, (_, leaf) in (self.returned | self.grads).items():
            t, owner = self.tensor_ids.get(tensor_id), self.tensor_ids.get(id(leaf))
            if t is not None and owner is not None:
                self.tensors[t]["grad_of"] = owner
                if tensor_id in self.grads and not self.tensors[t]["name"] and self.tensors[owner]["name"]:
                    self.tensors[t]["name"] = f"{self.tensors[owner]['name']}.grad"
        for tensor_id, (_, n) in self.seeds.items():
            if tensor_id in self.tensor_ids:
                self.tensors[self.tensor_ids[tensor_id]]["seed"] = n
        sources = [
            {"name": source_name(file), "lines": _lines(file, self.spans[s], self.cited.get(s, set()))}
            for file, s in self.source_ids.items()
        ]
        return {
            "sources": sources, "values": self.values, "tensors": self.tensors, "nodes": self.nodes, "events": self.events,
        }  # fmt: skip

    # -- the forward pass -----------------------------------------------------------------------------

    def met(self, t, data, name, fn, requires_grad, grad=None, inference=False) -> None:
        made = self.nodes[self.node_ids[id(fn)]]["outputs"] if id(fn) in self.node_ids else []
        result = made[t.output_nr] if id(t) not in self.tensor_ids and t.output_nr < len(made) else None
        # saved, and unpacked as a tensor of its own; what a hook made of it lies elsewhere
        if result is not None and self.held.lies_in(t, result):
            self.tensor_ids[id(t)] = result
            self.copies[id(t)] = data
            return
        i = self._tensor(t, data, name, fn is None, requires_grad)
        self.tensors[i]["name"] = self.tensors[i]["name"] or name
        if grad is not None:
            self.tensors[i]["grad"] = self._value(grad)
        if inference:
            self.tensors[i]["inference"] = True
        self.copies[id(t)] = data
        self.tensors[i]["unseen"] = True
        if fn is not None:
            self.tensors[i]["node"], self.tensors[i]["output_nr"] = self._known(fn), t.output_nr
        self._find_home(t, i)

    def listed(self, codes) -> None:
        for code in codes:
            if code.co_filename in self.source_ids:
                self.spans.setdefault(self.source_ids[code.co_filename], set()).add(_span(code))

    def moved(self, call) -> None:
        self.scopes.moved(call)

    def entered(self, what, name, instruction, through) -> None:
        self.scopes.enter(what, name, instruction, through)

    def left(self) -> None:
        self.scopes.leave()

    def _passed(self, place) -> int:
        """The group of a place that makes nothing for it, -1 for none: that the program left a loop there counts all the same."""
        return -1 if place is None else self.scopes.passed(*place)

    def _scope(self, what: Record, place, through=-1, same_call=False) -> None:
        """Assign a node or an event to its group."""
        if place is not None:
            if place == self.called_at:  # what a pass records is made by one call
                same_call, self.recorded_there = self.recorded_there or same_call, True
            group = self.scopes.at(place[1], through, same_call)
            if group >= 0:
                self.scoped.append((what, group))

    def operation(
        self,
        rule,
        inputs,
        outputs,
        copies,
        node,
        saved,
        versions,
        place,
        off,
        same_call,
        through,
        recorded=None,
    ) -> None:
        src, target = self._where(place)
        ins = [self._operand(t, src) for t in _given(rule, inputs)]
        name = target if len(outputs) == 1 else ""
        if same_call and self.named is not None:
            self.tensors[self.named]["name"] = ""  # an intermediate step of the value that is assigned
        self.named = None
        outs = [
            self._tensor(t, data, name, node is None, False) for t, data in zip(outputs, copies, strict=True)
        ]
        if name and self.tensors[outs[0]]["name"] == name:
            self.named = outs[0]
        if node is None:
            op = rule if isinstance(rule, str) else rule.op or op_name(rule)
            why, checkpoint, function = off if isinstance(off, tuple) else (off, None, "")
            self._event("const", src, op=op, **{"in": ins}, t=outs, why=why or "inputs")
            if checkpoint is not None:
                self.events[-1]["checkpoint"] = self._where(checkpoint)[0]
            if function:
                self.events[-1]["function"] = function
            self._scope(self.events[-1], place, through, same_call)
            return
        n = self._node(node, src, ins, outs, saved, versions)
        if self.nodes[n]["kind"] == "op" and any(t is None for t in inputs):
            self.nodes[n]["operands"] = _with_gaps(rule, inputs, ins)
        for t, data in zip(outputs, copies, strict=True):
            self.copies[id(t)] = data
        self._jacobian(node, n, saved, versions, outputs, copies[0])
        self._scope(self.nodes[n], place, through, same_call)
        for nr, t in enumerate(outs):  # what a Function computed without recording has history now
            record = self.tensors[t]
            record.update(node=n, output_nr=nr, name=record["name"] or name)
            # Not the indices of a maximum, or what a Function marked: with several results, `recorded` says which.
            if record["dtype"].startswith(("float", "bfloat", "complex")) and (
                recorded is None or recorded[nr]
            ):
                record.update(requires_grad=True, leaf=False)
        self._event("node", src, n=n, t=outs, saved=self.nodes[n]["saved"])
        self._edges(node, n, src)

    def written(
        self, rule, inputs, target, data, version, node, saved, versions, fn, name, place, whole=None
    ) -> None:
        src, _ = self._where(place)
        ins = [self._operand(t, src) for t in inputs]
        before = self._overwritten(target, data)
        if node is None:
            group = self._passed(place)
            self._written(src, ins, data, version, name, None, whole)
            if group >= 0:
                self.scoped.append((self.events[-1], group))
        elif fn is not None and fn is not node:
            inside: Any = type(node)
            math, vjp = rule_texts(inside)
            self._through_view(
                src, ins, data, version, name, fn, place, whole, self._saved(node, ins, ins[:1], saved, versions),
                (node, saved), name=inside.__name__, math=math, vjp=vjp, params={**_params(node), **_settings(node)},
            )  # fmt: skip
        else:
            n = self._node(node, src, ins, ins[:1], saved, versions)
            self._jacobian(node, n, saved, versions, (target,), data, {id(target): before})
            self._scope(self.nodes[n], place)
            self._written(src, ins, data, version, name, n, whole)
            self._edges(node, n, src)

    def _written(self, src, ins, data, version, op, n, whole) -> None:
        """Add the event of a write into the first of `ins`, whose node is now `n` (None: no new one).

        whole   for a view, what its base holds now; None if there is no base, or it is too large
        """
        t = ins[0]
        old, base = self.tensors[t]["node"], self.tensors[t]["base"]
        if n is not None:
            self.tensors[t]["node"] = n
        self._event(
            "inplace", src, t=t, op=op, version=version, n=n, old=old, v=self._value(data), **{"in": ins},
            base=None if base is None else [base, self._value(whole)],
        )  # fmt: skip
        self.now[t] = self._value(data), version
        if op == "data =":
            others = self.sources_of.items()
            self.sources_of = {a: known for a, known in others if a != t and known[0] != t}
            return  # it has other memory now
        source, counted = self.sources_of.get(t if base is None else base, (None, False))
        if source is not None:
            v = self._value(data if base is None else whole)
            same = v is not None and self.values[v]["shape"] == self.tensors[source]["shape"]
            if counted:
                self._also_written(source, v if same else None, "", op, src, version)
            else:
                self._also_written(source, v if same else None, "data", op, src)

    def _also_written(self, t, v, how, op, src, version=None, **more) -> None:
        """Add the event of a write into the memory of `t` through something else; without a new `version` the write was not counted."""
        version = self.now.get(t, (None, 0))[1] if version is None else version
        self.now[t] = v, version
        old = self.tensors[t]["node"]
        self._event(
            "inplace",
            src,
            t=t,
            op=op,
            version=version,
            n=None,
            old=old,
            v=v,
            **{"in": []},
            base=None,
            unnoticed=how,
            **more,
        )

    def written_beneath(self, target, base, data, name, place) -> None:
        """What was written into `target`, which was detached from a view, has changed the view's `base`, too."""
        t, i = self.tensor_ids[id(target)], self.tensor_ids.get(id(base))
        own = self.tensors[t]["base"]
        source, counted = self.sources_of.get(t if own is None else own, (None, False))
        if source is not None and i is not None:
            how, version = ("", self.now[t][1]) if counted else ("data", None)
            self._also_written(i, self._value(data), how, name, self._where(place)[0], version)

    def unnoticed(self, t, data, sure, place, since, until) -> None:
        """NumPy wrote into the memory of `t` between two places; if `sure`, `place` is the statement that did."""
        i, v = self._operand(t, None), self._value(data)
        if v == self.now.get(i, (self.tensors[i]["value"], 0))[0] and "data" in self.values[v or 0]:
            return  # this part of the memory has not changed
        between = [self._where(since)[0], self._where(until)[0]]
        self._also_written(i, v, "numpy", "numpy =", self._where(place)[0], between=between, sure=sure)

    def _through_view(
        self, src, ins, data, version, op, fn, place, whole, saved, inside=None, **inner
    ) -> None:
        """The operation `op` wrote into a view, whose new node is `fn`.

        That node leads to the new node of the base, a CopySlices, which contains the operation's own node. Gradients reach the latter
        only through the CopySlices, so it is not part of the graph; what is known of its rule is kept as `inner`. `inside` is that node
        and what it saved, where it is known.
        """
        made = len(self.nodes)
        n = self._known(fn, src)
        t = ins[0]
        base = self.tensors[t]["base"]
        written = t if base is None else base  # a base that was never met gets the name of its view
        math, vjp = rule_texts(AsStridedBackward0)
        copied, _ = self.nodes[n]["edges"][0]
        self.nodes[n].update(op="as_strided", inputs=[written], outputs=[t], math=math, vjp=vjp)
        self.nodes[copied].update(
            op=op, inputs=[written, *ins[1:]], outputs=[written], saved=saved, inner={"view": t, **inner}
        )
        if inside is not None:
            self.held.saved(inside[0], self.nodes[copied], inside[1], fn.next_functions[0][0])
        for new in (copied, n):
            self._scope(self.nodes[new], place)
        self._written(src, ins, data, version, op, n, whole)
        if base is not None:
            self.tensors[base]["node"] = copied
        for new in range(made, len(self.nodes)):
            for i, edge in enumerate(self.nodes[new]["edges"]):
                if edge is not None:
                    self._event("edge", src, n=new, i=i, to=edge)

    def _overwritten(self, target, data) -> Any:
        """What `target` held before `data` was written into it, if that is known."""
        before = self.copies.get(id(target))
        self.copies[id(target)] = data
        self.writers.setdefault(id(target._box), set()).add(id(target))
        return before

    def mode(self, on, place, name="", through="", inside="") -> None:
        src = self._where(place)[0]
        self._event("mode", src, grad=on)
        if inside:
            self.events[-1]["inside"] = inside
            through = "manager"
        if not on:
            by = through or ("with" if place is not None and is_in_with(*place) else "call")
            self.events[-1].update(how=name, by=by)
            if place is not None and place[0].co_flags & GENERATOR:
                span = _span(place[0])
                self.events[-1]["generator"] = [span.start, span.stop - 1]

    def untold(self) -> None:
        """A mode of the library's own, which is no event."""

    def idle(self, name, count, place) -> None:
        self._event("idle", self._where(place)[0], op=name, count=count)

    def kept_on_ctx(self, node, kept) -> None:
        self.nodes[self._known(node)]["kept"] = [[name, self.tensor_ids[id(t)], v] for name, t, v in kept]

    def detached(self, source, out, data, how, place, inside="") -> None:
        src, target = self._where(place)
        s = self._operand(source, src)
        if how == "deepcopy":  # perhaps a part of a module, which then gets the assigned name
            target = ""
        t = self._tensor(out, data, target, True, how in REMADE and out.requires_grad)
        self.tensors[t].pop("shares", None)  # the event says it
        self._event("detach", src, t=t, **{"from": s}, how=how)
        if inside:
            self.events[-1]["inside"] = inside
        if how in ("data", "detach"):
            root, counted = self.sources_of.get(s, (s, True))
            self.sources_of[t] = root, counted and how == "detach"
        self._scope(self.events[-1], place)

    def copied(self, sources, out, data, place) -> None:
        src, target = self._where(place)
        ins = [self._operand(t, src) for t in sources]
        t = self._tensor(out, data, target, True, out.requires_grad)
        self._event("const", src, op="tensor", **{"in": ins}, t=[t], why="copy")

    def assigned(self, name, bound, others) -> None:
        """A statement that assigns to `name` is over: it is bound to `bound`, and to none of the others that were made in it."""
        for t in others:
            i = self.tensor_ids.get(id(t))
            if i is not None and self.tensors[i]["name"] == name != self.names.get(id(t)):
                self.tensors[i]["name"] = ""
        i = self.tensor_ids.get(id(bound))
        if i is not None:
            self.tensors[i]["name"] = self.tensors[i]["name"] or name

    def read(self, t, data, how, place, inside="") -> None:
        src, _ = self._where(place)
        self._event("read", src, t=self._operand(t, src), how=how, v=self._value(data))
        if inside:
            self.events[-1]["inside"] = inside

    def flagged(self, t, requires_grad, how, place, inside="") -> None:
        src, _ = self._where(place)
        self._event("flag", src, t=self._operand(t, src), requires_grad=requires_grad, how=how)
        if inside:
            self.events[-1]["inside"] = inside

    def hook_added(self, owner, key) -> None:
        periods = self.hook_periods.setdefault(id(owner), {}).setdefault(key, [])
        if not periods or periods[-1][1] is not None:
            periods.append([len(self.events), None])

    def hook_removed(self, owner, key) -> None:
        periods = self.hook_periods.get(id(owner), {}).get(key)
        if periods and periods[-1][1] is None:
            periods[-1][1] = len(self.events)

    def grad_set(self, t, data, how, place) -> None:
        self._passed(place)
        src, _ = self._where(place)
        i, v = self._operand(t, src), self._value(data)
        self.grads_now[i] = v
        self._event("grad", src, t=i, v=v, how=how)

    # -- the backward pass ----------------------------------------------------------------------------

    def asked(self, outputs, inputs) -> None:
        ids = [None if part is None else [self.tensor_ids[id(t)] for t in part] for part in (outputs, inputs)]
        self.asked_for = {"of": ids[0], "inputs": ids[1]}
        self.last_done = {}

    def pass_started(self, run, roots, deps, call, place) -> None:
        deps = dict(deps)  # the note itself may be replayed again
        p = self.passes[id(run)] = len(self.passes) + 1
        self.queues[id(run)] = []
        around = self.pass_now, self.at, self.arrived, self.expected, self.faulty, self.ran
        self.outer.append((*around, self.called_at, self.recorded_there))
        self.pass_now, self.at = p, None
        self.called_at, self.recorded_there = place, False
        src, _ = self._where(place)
        nodes = [self._known(node) for (node, _), _ in roots]
        self._event(
            "backward",
            src,
            p=p,
            call=call,
            roots=nodes,
            keep=bool(run.keep_graph),
            create_graph=run.create_graph,
            **self.asked_for,
        )
        self.asked_for = {}
        self.faulty = getattr(run, "engine", "")  # see wrong_order.py
        if self.faulty:
            self.events[-1]["engine"] = self.faulty
        if library := getattr(run, "library", ""):  # see torch_pass.py
            self.events[-1]["library"] = library
        self.ran = set()
        for (node, _), g in roots:
            deps[node] -= 1  # the seed is not a message from another node
            if g is not None:
                self.seeds[id(g)] = g, self._known(node)
        reached = [n for n in deps if run.needed is None or n in run.needed]
        self.expected = {self._known(n): deps[n] for n in reached}
        self.arrived = {}
        self._event("counts", src, p=p, deps=[[n, count] for n, count in self.expected.items() if count])

    def lent_to_it(self, arrays) -> None:
        self.lent.update((id(array), Lent(array, numbers)) for array, numbers in arrays)

    def delivered(self, sender, i, fn, nr, g, old, total) -> None:
        to = self._known(fn)
        if sender is None:
            self._event("seed", None, n=to, slot=nr, v=self._value(g))
            return
        arrived = self.arrived[to] = self.arrived.get(to, 0) + 1
        self._event(
            "deliver", None, n=self._known(sender), i=i, to=to, slot=nr, v=self._value(g), old=self._value(old),
            sum=self._value(total), arrived=arrived, of=self.expected.get(to, arrived),
        )  # fmt: skip
        if self.faulty and to in self.ran:
            self.events[-1]["late"] = self.faulty != "path-recursion"

    def pushed(self, run, fn, key) -> None:
        n, queue = self._known(fn), self.queues[id(run)]
        self.pushes += 1
        item = key, self.pushes, n
        insort(queue, item)
        self._event("push", None, n=n, **_head(queue))
        if len(queue) > MOST_QUEUED:
            place = bisect_left(queue, item)
            self.events[-1].update(at=place, behind=queue[place - 1][2] if place else None)
        if self.faulty == "path-recursion" or (
            self.faulty and self.arrived.get(n, 0) < self.expected.get(n, 0)
        ):
            self.events[-1]["early"] = [self.arrived.get(n, 0), self.expected.get(n, 0)]

    def popped(self, run, node, g) -> None:
        n, queue = self._known(node), self.queues[id(run)]
        self.at = n
        if self.faulty:
            self.ran.add(n)
        place = next((i for i, item in enumerate(queue) if item[2] == n), None)
        if place is not None:
            del queue[place]
        grads = g if isinstance(g, list | tuple) else [g]
        self._event("pop", None, n=n, **_head(queue), g=[self._value(x) for x in grads])

    def hooked(self, node, stage, before, after, nr=0, place=None) -> None:
        slot = {"slot": nr} if stage in ("tensor", "shared") else {}
        self._event(
            "hook", self._where(place)[0], n=self._known(node), stage=stage, **slot, before=[self._value(x) for x in before],
            after=[self._value(x) for x in after],
        )  # fmt: skip

    def applied(self, node, slots, grads, place=None) -> None:
        out = [
            self._value(g) if fn is not None else None
            for g, (fn, _) in zip(grads, node.next_functions, strict=False)
        ]
        src = self._where(place)[0]
        self._event("vjp", src, n=self._known(node), **{"in": [self._value(s) for s in slots]}, out=out)
        self.held.applied(node)

    def opened(self, node, part, lines, kept) -> None:
        """The lines that a compiled node ran, with the numbers they read and computed; `kept`: what it keeps for its backward."""
        record = self.nodes[self._known(node)]
        inside = record.setdefault("compiled", {})
        if part == "forward":
            joint = node.entry.joint
            names = [v.name for v in joint.inputs[: len(record["inputs"])]]
            inside["inputs"] = [list(pair) for pair in zip(names, record["inputs"], strict=True)]
        for name, t, version in kept:
            i = self.tensor_ids[id(t)] if isinstance(t, Variable) else self._inner(name, t)
            record["saved"].append([self.tensors[i]["name"] or name, i, version])
        inside[part] = [
            {
                "text": line.text,
                "reads": [[name, self._value(x)] for name, x in line.reads],
                "makes": [[name, self._value(x)] for name, x in line.makes],
                "from": [
                    [step.of if part == "backward" else step.rule, step.op, step.line] for step in line.steps
                ],
            }
            for line in lines
        ]

    def accumulated(self, node, g, new, old) -> None:
        t = self._operand(node.variable, None)
        was, now = self._value(old), self._value(new)
        if not self.faulty:  # those passes write into no `.grad`
            if (
                self.grads_now.get(t, was) != was
            ):  # PyTorch may keep the message itself as `.grad`, where code that holds the message may write
                self._event("grad", None, t=t, v=was, how="a write through another name")
            self.grads_now[t] = now
        self._event("accumulate", None, n=self._known(node), t=t, old=was, add=self._value(g), new=now)

    def released(self, node) -> None:
        self.hook_removed(node, SAVED)
        saved = [name for name, *_ in self.nodes[self._known(node)]["saved"]]
        if saved:
            self._event("free", None, n=self._known(node), saved=saved)
        self.held.released(node, 0 if saved else 1)

    def recomputed(self, holder, t) -> None:
        self.held.recomputed(holder, t)

    def pruned(self, node, i) -> None:
        self._event("pruned", None, n=self._known(node), i=i)

    def retained(self, t, fn, data) -> None:
        n = None if fn is None else self._known(fn)
        self._event("retain", None, n=n, t=self._operand(t, None), v=self._value(data))

    def failed(self, kind, message, place, in_pass=False) -> None:
        self._event("error", self._where(place)[0], n=self.at, type=kind, message=message, **self.asked_for)
        self.asked_for = {}
        if in_pass:
            self._leave_pass()

    def caught(self) -> None:
        """The program has gone on after the last error."""
        next((e for e in reversed(self.events) if e["k"] == "error"), {})["caught"] = True

    def refused(self, name, operands, kind, message, place) -> None:
        """A call ended with an error, which the program caught."""
        src, _ = self._where(place)
        ins = [self._operand(t, src) for t in operands]
        self._event("refused", src, op=name, **{"in": ins}, type=kind, message=message)

    def pass_done(self, run) -> None:
        self._event("done", None, p=self.passes[id(run)])
        self.last_done = self.events[-1]
        self._leave_pass()

    def granted(self, inputs, results) -> None:
        """`autograd.grad` returns: its pass is the last one that was complete."""
        ids = [None if t is None else self.tensor_ids.get(id(t)) for t in inputs]
        self.last_done.update(returned=[self._value(g) for g in results], wrt=ids)

    def _leave_pass(self) -> None:
        """A pass is over: an outer one, if any, continues."""
        *around, self.called_at, self.recorded_there = self.outer.pop()
        self.pass_now, self.at, self.arrived, self.expected, self.faulty, self.ran = around

    def part(self, t, of) -> None:
        """A tensor without a name is a part of something that no variable holds."""
        i = self.tensor_ids.get(id(t))
        if i is not None:
            self.tensors[i]["part"] = of

    def unrecorded(self, what, kind, message, place) -> None:
        """The recorder failed, here or when it took the note: nothing is known except that `what` ran."""
        src = None if place is None else self._where(place)[0]
        self._event("unrecorded", src, op=what, type=kind, message=message)

    # -- ids ------------------------------------------------------------------------------------------

    def _event(self, kind: str, src, **fields) -> None:
        event = {"k": kind, **fields}
        if src is not None:
            event["src"] = src
        self.events.append(event)

    def _operand(self, t, src) -> int:
        """The id of an operand. One that was made before the recording gets a leaf event at its first use."""
        if not isinstance(t, Variable):
            return self._number(t, src)
        i = self.tensor_ids.get(id(t))
        if i is None:  # a result of code that was not recorded
            i = self._tensor(t, t._data, "", True, t.requires_grad)
            self.tensors[i]["unseen"] = True
        if self.tensors[i].pop("unseen", False):
            self._event("leaf", src, t=i)
        return i

    def _number(self, x, src) -> int:
        """The id of a Python number that is an operand: a constant, named by its value."""
        self.tensors.append({
            "name": f"{x:g}", "shape": [], "dtype": "float32" if isinstance(x, float) else "int64", "requires_grad": False,
            "leaf": True, "value": self._value(np.asarray(x)[()]), "base": None, "node": None, "output_nr": 0,
        })  # fmt: skip
        i = len(self.tensors) - 1
        self._event("leaf", src, t=i)
        return i

    def _inner(self, name, data) -> int:
        """The id of an array that compiled code keeps and that none of the user's tensors holds."""
        self.tensors.append({
            "name": name, "shape": list(data.shape), "dtype": name_of(data.dtype), "requires_grad": False, "leaf": False,
            "value": self._value(data), "base": None, "node": None, "output_nr": 0,
        })  # fmt: skip
        return len(self.tensors) - 1

    def _tensor(self, t, data, name, leaf, requires_grad) -> int:
        """The id of a new tensor; `unseen` marks one that came from outside, until it is used."""
        known = self.tensor_ids.get(id(t))
        if known is not None:
            return known
        i = self.tensor_ids[id(t)] = len(self.tensors)
        base = t._meta.base if t._meta is not None else None
        self.tensors.append({
            "name": self.names.get(id(t)) or name, "shape": list(data.shape), "dtype": name_of(data.dtype),
            "requires_grad": requires_grad, "leaf": leaf, "value": self._value(data),
            "base": self.tensor_ids.get(id(base)), "node": None, "output_nr": 0,
        })  # fmt: skip
        self._find_home(t, i)
        return i

    def _find_home(self, t, i) -> None:
        """Note which earlier tensor's memory `t` is in, if its base does not tell."""
        home = self.held.home(t, i)
        if home != i and self.tensors[i]["base"] is None:
            self.tensors[i]["shares"] = home

    def _node(self, node: Node, src, ins, outs, saved, versions) -> int:
        n = self._known(node, src)
        record = self.nodes[n]
        record["inputs"], record["outputs"] = ins, outs
        record["saved"] = self._saved(node, ins, outs, saved, versions)
        self.held.saved(node, record, saved)
        if has_packed(saved or ()):
            self.hook_added(node, SAVED)
        return n

    def _saved(self, node, ins, outs, saved, versions) -> list[list[Any]]:
        listed: list[list[Any]] = []
        if isinstance(node, BackwardCFunction):
            for kept in saved or ():
                if kept is not None and kept.packed is None:
                    known = self.tensor_ids.get(id(kept.tensor)) if kept.result is None else outs[kept.result]
                    name = MADE_INSIDE if known is None else "saved" if kept.result is None else "result"
                    listed.append([name, known, kept.version])
            return listed
        for i, (name, t) in enumerate(zip(node.saves, saved, strict=False)):
            if t is None or isinstance(t, Packed):
                continue
            if not isinstance(t, Variable):
                listed.append([name, ins[-1], 0])
                continue
            nr = node.result_number(i)
            known = outs[nr] if nr is not None and nr < len(outs) else self.tensor_ids.get(id(t))
            if known is not None:
                listed.append([name, known, versions[i] if versions else 0])
        return listed

    def _jacobian(self, node, n, saved, versions, outputs, data, before=None) -> None:
        """Compute the local Jacobian of a node if it is small; `before`: what an in-place operation overwrote."""
        record = self.nodes[n]
        operands = [self.tensors[t]["shape"] for t in record["inputs"]]
        if node.kind != "op" or len(operands) < len(node.next_functions):
            return
        values = None
        if self.entries < MOST_ENTRIES and jacobian.askable(node, saved, data.shape):
            values = self._values_then(node, saved, versions, outputs, before or {})
        self._put_jacobian(record, jacobian.records(node, values, operands, data.shape, data.dtype))

    def _put_jacobian(self, record, found) -> None:
        for one in found:
            if "entries" in one:
                one["entries"] = _digits(one["entries"])
                self.entries += len(one["entries"]) // 3
        if found:
            record["jacobian"] = found

    def _values_then(self, node, saved, versions, outputs, before) -> list[Any] | None:
        """The saved arrays as they were when the node was made, None if one was overwritten and there is no copy."""
        values = []
        for i, t in enumerate(saved):
            if not isinstance(t, Variable):
                values.append(t)
                continue
            nr = node.result_number(i)
            owner = t if nr is None else outputs[nr]
            if id(owner) in self.unnoticed_ever:
                value = self._known_now(t) if nr is None else self.copies.get(id(owner))
                if value is None or np.size(value) > FULL * 16:
                    return None
                values.append(value)
                continue
            box = t._box
            if box is None or box[0] == (versions[i] if versions is not None else 0):
                values.append(t._data)
                continue
            shared = self.writers.get(id(box), set()) - {
                id(owner)
            }  # a view wrote here: the copy may be older
            copy = (
                before.get(id(owner), self.copies.get(id(owner)))
                if nr is None
                else self.copies.get(id(owner))
            )
            if copy is None or shared or np.size(copy) > FULL * 16:
                return None
            values.append(copy)
        return values

    def _known_now(self, t) -> Any:
        """The numbers of a tensor at this point of the notes, as the trace has them; None if it has only their outline."""
        i = self.tensor_ids.get(id(t))
        v = None if i is None else self.now.get(i, (self.tensors[i]["value"], 0))[0]
        if v is None or "data" not in self.values[v]:
            return None
        return np.array(self.values[v]["data"], t._data.dtype).reshape(t._data.shape)

    def _edges(self, node: Node, n: int, src) -> None:
        for i, (fn, nr) in enumerate(node.next_functions):
            if fn is not None:
                self._event("edge", src, n=n, i=i, to=[self._known(fn), nr])

    def _known(self, node: Node, src=None) -> int:
        """The id of a node; a graph older than the recording is added from its far end, without recursion."""
        n = self.node_ids.get(id(node))
        if n is not None:
            return n
        stack = [node]
        while stack:
            top = stack[-1]
            behind = [fn for fn, _ in top.next_functions if fn is not None and id(fn) not in self.node_ids]
            if behind:
                stack += behind
            else:
                stack.pop()
                if id(top) not in self.node_ids:
                    self._new_node(top, src if top is node else None)
        return self.node_ids[id(node)]

    def _new_node(self, node: Node, src) -> None:
        rule: Any = type(node)
        math, vjp = rule_texts(rule)
        leaf = node.variable if isinstance(node, AccumulateGrad) else None
        if leaf is not None and id(leaf) not in self.tensor_ids:
            self._tensor(leaf, leaf._data, "", True, True)
        self.node_ids[id(node)] = len(self.nodes)
        self.nodes.append({
            "name": type(node).__name__, "op": getattr(node, "op", "") or op_name(type(node)), "kind": node.kind,
            "seq": node._sequence_nr(), "inputs": [], "outputs": [],
            "edges": [None if fn is None else [self.node_ids[id(fn)], nr] for fn, nr in node.next_functions],
            "saved": [], "params": _params(node), "src": src, "tensor": None if leaf is None else self.tensor_ids[id(leaf)],
            "math": math, "vjp": vjp, "made_in": self.pass_now, "scope": "",
        })  # fmt: skip
        settings = _settings(node)
        if settings:
            self.nodes[-1]["settings"] = settings
        self._say_if_nothing_returns(node)

    def _say_if_nothing_returns(self, node) -> None:
        """Where the backward of a custom Function begins, if it has no `return`."""
        record, backward = self.nodes[-1], backward_of(node)
        if record["kind"] == "function" and returns_nothing(backward):
            code = unwrap(backward).__code__
            source = self.source_ids.setdefault(code.co_filename, len(self.source_ids))
            self.spans.setdefault(source, set()).add(range(code.co_firstlineno, _span(code).stop))
            record["no_return"] = [source, line_of_def(code)]

    # -- values and places ----------------------------------------------------------------------------

    def _value(self, data) -> int | None:
        """The id of a value; equal ones are stored once."""
        if data is None:
            return None
        if isinstance(data, Variable):
            data = data._data
        seen, memory = self.seen, None
        if self.lent and isinstance(data, np.ndarray):
            memory = self.lent.get(id(owner(data)))
            if memory is not None:
                seen = memory.seen
        found = seen.get(id(data))
        if found is not None:
            return found[1]
        value = encode(data if memory is None else memory.read(data))
        key = repr(value)
        v = self.value_ids.get(key)
        if v is None:
            v = self.value_ids[key] = len(self.values)
            self.values.append(value)
        v = self._reference(v)
        seen[id(data)] = data, v
        return v

    def _reference(self, v: int) -> int:
        """What refers to a value that was met for the first time; an equal one may have the same number."""
        if not self.apart:
            return v
        found = Slot(v)
        found.slot, self.slots = self.slots, self.slots + 1
        return found

    def _where(self, place) -> tuple[list[int] | None, str]:
        """([source, line], name being assigned) of an instruction of the user's code."""
        if place is None:
            return None, ""
        code, instruction = place
        line, target = self.places.line_of(code, instruction)
        source = self.source_ids.setdefault(code.co_filename, len(self.source_ids))
        if id(code) not in self.seen_codes:
            self.seen_codes.add(id(code))  # the notes keep it alive
            self.spans.setdefault(source, set()).add(_span(code))
        self.cited.setdefault(source, set()).add(line)
        return [source, line], target


class Lent:
    """An array that user code has received, and the numbers it held until then: messages may be views of it."""

    def __init__(self, array: Any, numbers: Any):
        self.array, self.numbers = array, numbers
        self.seen: dict[int, tuple[Any, int]] = {}

    def read(self, view: Any) -> Any:
        """What `view`, an array in the same memory, held then."""
        offset = view.ctypes.data - self.array.ctypes.data
        return np.ndarray(view.shape, view.dtype, self.numbers, offset, view.strides)


def owner(array: Any) -> Any:
    """The owner of an array's memory, which may be something other than an array (a buffer, a tensor of PyTorch): all views lead to it.

    `shared.owner_of` stops at the last array, whose numbers it can read.
    """
    while (base := getattr(array, "base", None)) is not None:
        array = base
    return array


class Summary:
    """What a trace keeps of a large array, computed at once: the array may be overwritten."""

    __slots__ = ("dtype", "record", "shape", "size")

    def __init__(self, data: Any):
        self.shape, self.dtype, self.size, self.record = data.shape, data.dtype, data.size, encode(data)


def _head(queue: list[tuple[int, int, int]]) -> Record:
    """The ready queue as an event stores it: a long one by its beginning and its length."""
    head: Record = {"queue": [n for _, _, n in queue[:MOST_QUEUED]]}
    if len(queue) > MOST_QUEUED:
        head["ready"] = len(queue)
    return head


def results_last(root: Any) -> list[Any]:
    """The nodes behind `root`, each after all nodes that it leads to."""
    order: list[Any] = []
    seen = {id(root)}
    stack = [(root, iter(root.next_functions))]
    while stack:
        node, edges = stack[-1]
        for to, _ in edges:
            if to is not None and id(to) not in seen:
                seen.add(id(to))
                stack.append((to, iter(to.next_functions)))
                break
        else:
            order.append(node)
            stack.pop()
    return order


@lru_cache(maxsize=100)
def name_of(dtype: Any) -> str:
    """`dtype.name`, which NumPy builds anew each time."""
    return str(dtype.name)


class Slot(int):
    """The number of a value in a trace, which tells it from other values that are equal by chance.

    `slot` counts the values as they are met: a run that takes the same path with other numbers has the same ones.
    """

    slot: int


def _written_unnoticed(notes: list[tuple[Any, ...]]) -> set[int]:
    """The ids of the tensors into whose memory something writes that no version counts: `.data`, or NumPy."""
    behind: dict[int, Any] = {}  # id of a result of `.data` -> the tensor it came from
    found: set[int] = set()
    for kind, *note in notes:
        if kind == "unnoticed":
            found.add(id(note[0]))
        elif kind == "detached" and note[3] == "data":
            behind[id(note[1])] = note[0]
        elif kind == "written":
            target, name = note[2], note[9]
            meta = getattr(target, "_meta", None)
            base = target if meta is None or meta.base is None else meta.base
            if name == "data =":
                found.add(id(target))
            while id(base) in behind:
                base = behind[id(base)]
                found.add(id(base))
    return found


def encode(data) -> Record:
    """One value of the trace, from an array or a NumPy scalar: whole if small, summarized if large."""
    if isinstance(data, Summary):
        return data.record
    data = np.asarray(data)
    record: Record = {"shape": list(data.shape), "dtype": name_of(data.dtype)}
    if data.size <= FULL:
        record["data"] = _digits(data.tolist())
        return record
    corner = data.reshape(-1, *data.shape[-2:])[0] if data.ndim > 1 else data[None]
    record["corner"] = _digits(corner[:CORNER, :CORNER].tolist())
    real = data[np.isfinite(data)] if data.dtype.kind == "f" else data
    for name in ("min", "max"):
        record[name] = _digit(getattr(real, name)().item()) if real.size else None
    record["mean"] = _digit(float(real.mean(dtype=np.float64))) if real.size else None
    with np.errstate(invalid="ignore"):  # memory that nobody has set may hold a nan of which NumPy warns
        record["norm"] = _digit(float(np.linalg.norm(data.astype(np.float64, copy=False).ravel())))
    record["nan"] = int(np.isnan(data).sum()) if data.dtype.kind == "f" else 0
    record["inf"] = int(np.isinf(data).sum()) if data.dtype.kind == "f" else 0
    return record


def _digits(x):
    if not isinstance(x, list):
        return _digit(x)
    # most are integers or finite, in rows: avoids two calls for each
    return [
        y if type(y) is int else float(f"{y:.6g}") if type(y) is float and isfinite(y) else _digits(y)
        for y in x
    ]


def _digit(x):
    if not isinstance(x, float):
        return x
    if x != x:
        return "nan"
    if isinf(x):
        return "inf" if x > 0 else "-inf"
    return float(f"{x:.6g}")


def _given(rule: Any, inputs: Any) -> list[Any]:
    """The operands that the user passed, without absent ones and without the extra results that a rule saves with them."""
    extras = getattr(rule, "extras", 0)
    return [t for t in (inputs[:-extras] if extras else inputs) if t is not None]


def _with_gaps(rule: Any, inputs: Any, ins: list[int]) -> list[int | None]:
    """The operands `ins` at the positions of the rule's parameters: None for each that is absent."""
    extras = getattr(rule, "extras", 0)
    left = iter(ins)
    return [None if t is None else next(left) for t in (inputs[:-extras] if extras else inputs)]


def op_name(rule: type) -> str:
    """The name of an operation whose rule does not state it; a custom Function has that of its class."""
    if issubclass(rule, BackwardCFunction):
        return rule.__name__.removesuffix("Backward")
    return re.sub(r"Backward\w*$", "", rule.__name__).lower()


def _params(node: Node) -> Record:
    keeps: tuple[str, ...] = node.keeps
    return {name: _plain(value) for name, value in zip(keeps, node.args, strict=False)}


def _settings(node: Node) -> Record:
    """The plain arguments of the call that PyTorch's node does not keep, such as the number of `2 - x`, and eps."""
    names, keeps = _further(type(node)), node.keeps
    return {name: _plain(value) for name, value in zip(names, node.args[len(keeps) :], strict=False)}


@lru_cache(maxsize=1000)
def _further(rule: Any) -> tuple[str, ...]:
    """The names of the plain arguments of a rule's forward that follow those it `keeps`."""
    code = getattr(getattr(rule, "forward", None), "__code__", None)  # np.exp has none, and nothing to keep
    if code is None or not hasattr(rule, "inputs"):
        return ()
    arrays = len(rule.inputs) - getattr(rule, "extras", 0)
    return tuple(code.co_varnames[: code.co_argcount][arrays + len(rule.keeps) :])


def _plain(value):
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, float):
        return _digit(value)
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return f"<{type(value).__name__}>"


def source_name(file: str) -> str:
    """The name of a source on screen: "cell 3" for a notebook's cell, else the file's name."""
    try:
        number = sys.modules["IPython"].get_ipython().compile._filename_map.get(file)
    except (KeyError, AttributeError):
        number = None
    if number is not None:
        return f"cell {number}"
    return file.strip("<>") if file.startswith("<") else Path(file).name


@lru_cache(maxsize=1000)
def _span(code) -> range:
    lines = [line for _, _, line in code.co_lines() if line is not None and line > 0]
    return range(min(lines), max(lines) + 1) if lines else range(code.co_firstlineno, code.co_firstlineno + 1)


_WHOLE = 1000  # code of so many lines is kept as it is
_AROUND = 20  # lines above and below one that an event names


def _lines(file: str, spans: set[range], cited: set[int]) -> dict[str, str]:
    """{number: text} of the code that ran: all of a short one, and of a long one the lines that events name, and those around them."""
    text = linecache.getlines(file)
    wanted = {line for span in spans for line in span if span.stop - span.start <= _WHOLE}
    wanted |= {span.start for span in spans}
    wanted |= {line for at in cited if at not in wanted for line in range(at - _AROUND, at + _AROUND + 1)}
    return {str(i): text[i - 1].rstrip("\n") for i in sorted(wanted) if 0 < i <= len(text)}
