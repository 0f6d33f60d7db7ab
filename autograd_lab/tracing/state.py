"""The picture after k events: `state(trace, k)` replays them and touches nothing else.

Going back means asking for a smaller k. For every picture in turn (the stepper's film), keep one `State`
and apply events one by one: each costs what it changes, so a whole trace costs O(events).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from .trace import Record, Trace

#: What changed: ("tensor", t), ("node", n), ("edge", n, i).
Changed = list[tuple[Any, ...]]
_FORWARD = ("leaf", "node", "const", "inplace", "mode", "idle", "detach")


@dataclass
class TensorState:
    """What is known about one tensor."""

    value: int | None
    version: int = 0
    grad: int | None = None
    retains: bool = False
    requires_grad: bool = False


@dataclass
class NodeState:
    """The status of one node.

    `status` goes "made", then in each backward pass "waiting", "ready", "active", "done" (or "error").
    """

    status: str = "made"
    arrived: int = 0
    of: int = 0
    buffer: dict[int, int] = field(default_factory=dict)
    incoming: list[int | None] | None = None
    outgoing: list[int | None] | None = None
    saved: list[list[Any]] = field(default_factory=list)
    freed: bool = False


@dataclass
class EdgeState:
    """One operand's edge: "made", then "sent" with the value it carried, or "pruned"."""

    status: str = "made"
    value: int | None = None


@dataclass
class Outer:
    """A pass that waits while one of its hooks runs another: what to restore when that is over."""

    queue: list[int]
    active: int | None
    nodes: dict[int, NodeState]
    edges: dict[tuple[int, int], EdgeState]
    deps: OrderedDict[int, int]
    buffers: dict[int, None]
    called: tuple[int, int] | None


@dataclass
class State:
    """Everything on screen after `k` events of a trace.

    `backward` counts the passes so far, `running` says whether one is under way; the phase stays "backward" after
    a pass until the program goes on. `node` is the one the event is about, `active` the one at work.
    Three are variables of the engine. `queue` is its `ready`, in the order in which it will take the nodes. `deps` says how many
    messages each node waits for, seeds included; a node that waits for none is not in it (it is ordered, because its head is
    read at every event and entries leave from anywhere). `buffers` are the nodes that hold gradients, in the order of arrival;
    the gradients are in `nodes[n].buffer`.
    """

    trace: Trace = field(repr=False, compare=False)
    k: int = 0
    phase: str = "forward"
    backward: int = 0
    running: bool = False
    node: int | None = None
    active: int | None = None
    line: tuple[int, int] | None = None
    called: tuple[int, int] | None = None
    grad_mode: bool = True
    queue: list[int] = field(default_factory=list)
    deps: OrderedDict[int, int] = field(default_factory=OrderedDict)
    buffers: dict[int, None] = field(default_factory=dict)
    tensors: dict[int, TensorState] = field(default_factory=dict)
    nodes: dict[int, NodeState] = field(default_factory=dict)
    edges: dict[tuple[int, int], EdgeState] = field(default_factory=dict)
    error: str | None = None
    outer: list[Outer] = field(default_factory=list, repr=False)
    _served: dict[int, None] = field(
        default_factory=dict, repr=False, compare=False
    )  # nodes of the last pass
    _sent: dict[tuple[int, int], None] = field(
        default_factory=dict, repr=False, compare=False
    )  # and its edges

    @property
    def event(self) -> Record | None:
        """The last event, None before the first."""
        return self.trace.events[self.k - 1] if self.k else None

    def advance(self) -> Changed:
        """Apply the next event; returns what it changed."""
        before, event = self.event, self.trace.events[self.k]
        if before is not None and before["k"] == "pop":
            self.buffers.pop(before["n"], None)  # a pop is reported before the loop takes them
        self.k += 1
        if event.get("src"):
            self.line = tuple(event["src"])
        elif (
            self.running
            and self.called is not None
            and not (before is not None and before.get("src") and self._is_users(event))
        ):
            self.line = self.called  # what a hook or a Function ran in between is over
        if not self.running and event["k"] in _FORWARD:
            self.phase = "forward"
        apply = getattr(self, "_" + event["k"])
        changed: Changed = apply(event)
        return changed

    def _is_users(self, e: Record) -> bool:
        """Whether code of the user's ran for this event of a pass: a hook, or the backward of a Function."""
        return e["k"] == "hook" or (e["k"] == "vjp" and self.trace.nodes[e["n"]]["kind"] == "function")

    # One method per kind of event, named after it.

    def _leaf(self, e: Record) -> Changed:
        self.node = None
        return self._show([e["t"]])

    def _node(self, e: Record) -> Changed:
        n = e["n"]
        node = self.trace.nodes[n]
        self.node = n
        self.line = tuple(e.get("src") or node.get("src") or ()) or None
        self.nodes[n] = NodeState(saved=list(e.get("saved") or node.get("saved") or ()))
        return [("node", n), *self._show(e["t"])]

    def _edge(self, e: Record) -> Changed:
        self.node = e["n"]
        target = e["to"][0]
        changed: Changed = [("edge", e["n"], e["i"])]
        if target not in self.nodes:  # an AccumulateGrad is created by the first edge to it
            self.nodes[target] = NodeState()
            changed.append(("node", target))
        self.edges[e["n"], e["i"]] = EdgeState()
        return changed

    def _const(self, e: Record) -> Changed:
        self.node = None
        return self._show(e["t"])

    def _inplace(self, e: Record) -> Changed:
        changed = self._show([e["t"]])
        tensor = self.tensors[e["t"]]
        tensor.version = e["version"]
        if e.get("v") is not None:
            tensor.value = e["v"]
        if e.get("base") is not None:
            base, value = e["base"]
            changed += self._show([base])
            self.tensors[base].value, self.tensors[base].version = value, e["version"]
        if e.get("n") is not None:
            self.node = e["n"]
            for n in (self.trace.rewritten(e), e["n"]):
                if n is not None and n not in self.nodes:
                    self.nodes[n] = NodeState(saved=list(self.trace.nodes[n].get("saved") or ()))
                    changed.append(("node", n))
        return changed

    def _mode(self, e: Record) -> Changed:
        if not self.running:  # in a pass it is switched for user code only, and restored with the pass
            self.grad_mode = e["grad"]
        return []

    def _idle(self, e: Record) -> Changed:
        self.node = None
        return []

    def _detach(self, e: Record) -> Changed:
        self.node = None
        return self._show([e["t"]])

    def _read(self, e: Record) -> Changed:
        return self._show([e["t"]])

    def _flag(self, e: Record) -> Changed:
        changed = self._show([e["t"]])
        tensor = self.tensors[e["t"]]
        tensor.requires_grad = e["requires_grad"]
        tensor.retains = tensor.retains or e.get("how") == "retain_grad"
        return changed

    def _grad(self, e: Record) -> Changed:
        changed = self._show([e["t"]])
        self.tensors[e["t"]].grad = e["v"]
        return changed

    def _backward(self, e: Record) -> Changed:
        if self.running:
            nodes = {n: copy(node) for n, node in self.nodes.items() if node.status != "made"}
            edges = {key: edge for key, edge in self.edges.items() if edge.status != "made"}
            outer = Outer(self.queue, self.active, nodes, edges, self.deps, self.buffers, self.called)
            self.outer.append(outer)
        self.called = self.line if e.get("src") else None
        self.phase, self.backward, self.queue = "backward", e["p"], []
        self.running, self.active, self.error = True, None, None
        self.deps, self.buffers = OrderedDict(), {}
        for n in e["roots"]:
            self.deps[n] = self.deps.get(n, 0) + 1
        self.node = e["roots"][0] if e["roots"] else None
        changed: Changed = []
        for n in self._served:  # clear what the last pass left on the nodes
            node = self.nodes[n]
            if node.status != "made":
                self.nodes[n] = NodeState(saved=node.saved, freed=node.freed)
                changed.append(("node", n))
        for key in self._sent:
            if self.edges[key].status != "made":
                self.edges[key] = EdgeState()
                changed.append(("edge", *key))
        self._served, self._sent = {}, {}
        return changed

    def _counts(self, e: Record) -> Changed:
        changed: Changed = []
        for n, count in e["deps"]:
            node = self._at(n)
            node.status, node.arrived, node.of = "waiting", 0, count
            self.deps[n] = self.deps.get(n, 0) + count
            changed.append(("node", n))
        return changed

    def _seed(self, e: Record) -> Changed:
        self.node = e["n"]
        self._at(e["n"]).buffer[e.get("slot", 0)] = e["v"]
        self._arrive(e["n"])
        return [("node", e["n"])]

    def _push(self, e: Record) -> Changed:
        if "at" in e:
            self.queue.insert(e["at"], e["n"])
        self._check_queue(e)
        self._at(e["n"]).status = "ready"
        return [("node", e["n"])]

    def _pop(self, e: Record) -> Changed:
        changed = self._finish()
        if "ready" in e and e["n"] in self.queue:
            self.queue.remove(e["n"])
        self._check_queue(e)
        self.node = self.active = e["n"]
        node = self._at(e["n"])
        node.status, node.incoming, node.outgoing = "active", list(e["g"]), None
        return [*changed, ("node", e["n"])]

    def _hook(self, e: Record) -> Changed:
        self.node = e["n"]  # what the hook computed came in between
        node, stage, after = self._at(e["n"]), e["stage"], e.get("after")
        if after is None:
            return [("node", e["n"])]
        if stage == "shared" and e["n"] != self.active:  # the code ran elsewhere: this node still waits
            self.node = self.active
            node.buffer[e["slot"]] = after[0]
        elif "slot" in e and node.incoming is not None:
            node.incoming[e["slot"]] = after[0]
        elif stage in ("tensor", "pre"):
            node.incoming = list(after)
        elif stage == "post" and after:
            node.outgoing = list(after)
        elif stage == "post_accumulate":
            t = self.trace.nodes[e["n"]]["tensor"]
            changed = self._show([t])
            self.tensors[t].grad = after[0]
            return [*changed, ("node", e["n"])]
        return [("node", e["n"])]

    def _vjp(self, e: Record) -> Changed:
        self.node = e["n"]  # what the backward of a Function computed came in between
        self._at(e["n"]).outgoing = list(e["out"])
        return [("node", e["n"])]

    def _free(self, e: Record) -> Changed:
        self._at(e["n"]).freed = True
        return [("node", e["n"])]

    def _deliver(self, e: Record) -> Changed:
        self.edges[e["n"], e["i"]] = EdgeState("sent", e["v"])
        self._sent[e["n"], e["i"]] = None
        target = self._at(e["to"])
        target.arrived, target.of = e["arrived"], e["of"]
        target.buffer[e.get("slot", 0)] = e["sum"]
        self._arrive(e["to"])
        return [("edge", e["n"], e["i"]), ("node", e["to"])]

    def _pruned(self, e: Record) -> Changed:
        self.edges[e["n"], e["i"]] = EdgeState("pruned")
        self._sent[e["n"], e["i"]] = None
        return [("edge", e["n"], e["i"])]

    def _accumulate(self, e: Record) -> Changed:
        changed = self._show([e["t"]])
        self.tensors[e["t"]].grad = e["new"]
        self.node = e["n"]
        return [*changed, ("node", e["n"])]

    def _retain(self, e: Record) -> Changed:
        changed = self._show([e["t"]])
        tensor = self.tensors[e["t"]]
        tensor.grad, tensor.retains = e["v"], True
        return changed

    def _error(self, e: Record) -> Changed:
        self.error, self.running = f"{e['type']}: {e['message']}", False
        self.outer.clear()
        if e["n"] is None:
            return []
        self.node = e["n"]
        self._at(e["n"]).status = "error"
        self.active = None
        return [("node", e["n"])]

    def _done(self, e: Record) -> Changed:
        changed = self._finish()
        self.running, self.node, self.queue = False, None, []
        if self.outer:
            around = self.outer.pop()
            self.running, self.node, self.active = True, around.active, around.active
            self.queue, self.deps, self.buffers = around.queue, around.deps, around.buffers
            self.called = around.called
            for n, node in around.nodes.items():
                node.freed = node.freed or self.nodes[n].freed
                self.nodes[n] = node
                changed.append(("node", n))
            for key, edge in around.edges.items():
                self.edges[key] = edge
                changed.append(("edge", *key))
        return changed

    def _refused(self, e: Record) -> Changed:
        if not self.running:  # in a pass user code was refused something, and its node is still at work
            self.node = None
        return self._show(e["in"])

    def _unrecorded(self, e: Record) -> Changed:
        return []

    # What several of them share.

    def shown(self, t: int) -> TensorState:
        """A tensor's state; if no event has told of it yet, that with which it came."""
        tensor = self.trace.tensors[t]
        return self.tensors.get(t) or TensorState(
            tensor["value"], grad=tensor.get("grad"), requires_grad=tensor["requires_grad"]
        )

    def _show(self, tensors: Iterable[int]) -> Changed:
        for t in tensors:
            self.tensors.setdefault(t, self.shown(t))
        return [("tensor", t) for t in tensors]

    def _arrive(self, n: int) -> None:
        """A gradient, or a seed, arrived at node `n`, which waits for one less."""
        self.buffers[n] = None
        left = self.deps.get(n, 1) - 1
        if left > 0:
            self.deps[n] = left
        else:
            self.deps.pop(n, None)

    def _check_queue(self, e: Record) -> None:
        """Set the queue to what the event says; for a long one, after a nested pass, only its beginning is known."""
        told = e["queue"]
        if len(self.queue) != e.get("ready", len(told)) or self.queue[: len(told)] != told:
            self.queue = list(told)

    def _at(self, n: int) -> NodeState:
        """A node of the pass."""
        self._served[n] = None
        node = self.nodes.get(n)
        if node is None:
            node = self.nodes[n] = NodeState()
        return node

    def _finish(self) -> Changed:
        """The active node is done as soon as another one is taken."""
        if self.active is None:
            return []
        n, self.active = self.active, None
        self.nodes[n].status = "done"
        return [("node", n)]


def state(trace: Trace, k: int) -> State:
    """The picture after the first `k` events of `trace` (0 is the empty one, `len(trace)` the last)."""
    if not 0 <= k <= len(trace):
        raise IndexError(f"step {k} is not in this trace, which has steps 0 to {len(trace)}")
    picture = State(trace)
    for _ in range(k):
        picture.advance()
    return picture
