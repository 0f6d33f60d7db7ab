"""A student's piece of the engine beside the lab's own: `lab.step_code(pop, beside="pop")`.

Both run on the same small graph. What counts is what the lines do to it, not how they do it: a node leaves the list of the ready ones, a
message is added. So a line of the student's, whatever it looks like, is lit together with the lab's line that does the same.
in_stepper.py has the whole pass, with all pieces so far.
"""

from __future__ import annotations

import linecache
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType, FunctionType
from typing import Any

import autograd_lab as torch
from autograd_lab.core import engine, node, record
from autograd_lab.core.rules.arithmetic import AddBackward0, MulBackward0
from autograd_lab.widgets.own_code import Beside, CodeStepper, Event, Witness, run

from . import own_engine as course
from .growing import ITEMS

PIECES = ("count", "pop", "deliver")
"""The functions that the last step calls."""
UNSAID = frozenset(
    {"_", "watch", "state", "limit", "run", "needed", "args", "broadcast", "kept", "sender", "nr", "i"}
)
"""Variables of the lab's own that are about what this graph does not have."""
_TURNS = 20  # more than a pass through the graph needs
_PASS = engine.BackwardPass
SHOWN: dict[str, tuple[Callable[..., Any], ...]] = {
    "record": (record.edges_of, record.wanted, record.record_all, record.record, node.make_node),
    "count": (engine.count_dependencies,),
    "pop": (_PASS._loop,),
    "deliver": (_PASS._deliver,),
    "accumulate": (_PASS._count, _PASS._seed, _PASS._loop, _PASS._deliver_all, node.AccumulateGrad.vjp),
}
"""What is shown of the lab, by step."""
TOLD: dict[str, dict[str, str]] = {
    "record": {r"node = new\(rule\)": "node", r"out\._edge = (NO_EDGE|node)": "result"},
    "count": {r"deps\[(fn|node)\] \+?= ": "count"},
    "pop": {r"heappop\(": "pop"},
    "deliver": {r"self\.buffers\[fn\] = ": "add to", r"self\.deps\[fn\] = ": "count down", r"heappush\(": "push"},
    "accumulate": {
        r"self\.deps = ": "count from", r"heappop\(": "pop", r"self\._deliver\(": "deliver to",
        r"meta\.grad = self\.first|self\.add\(meta": "accumulate",
    },
}  # fmt: skip
"""{step: {pattern of a line of the lab's: what it does}}."""
IN_ORDER = frozenset({"pop", "result"})
"""What has an order of its own: a student's second one is compared with the lab's second, whatever node it is."""


def step_beside(step: str, function: Any) -> CodeStepper:
    """Run the student's `function` for a step on the small graph, and open it beside the lab's own code for that step.

    Raises ValueError if there is no such step, TypeError if `function` is no function written in Python.
    """
    check("step_code", step, function)
    witness = Yours(step)
    ran = run(witness.play, function, shown=(function,), witness=witness)
    return CodeStepper(
        function, ran=ran, beside=Beside("The lab's own", SHOWN[step], the_labs(step), IN_ORDER)
    )


def check(called: str, step: str, function: Any) -> None:
    """Refuse a step that does not exist, and what is no function, for `lab.step` or `lab.step_code`."""
    if step not in ITEMS:
        raise ValueError(
            f"there is no step {step!r} to stand beside. The steps are {', '.join(map(repr, ITEMS))}"
        )
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"lab.{called}(..., beside={step!r}) takes your function, but this is a {type(function).__name__}"
        )


# -- the lab's ---------------------------------------------------------------------------------------------


class Ours(Witness):
    """The lab's own run of a step: its lines say what they do, see TOLD."""

    def __init__(self, step: str) -> None:
        self.step = step
        a, k = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
        box = node.AccumulateGrad(a)  # that of core, without PyTorch's corners
        a._meta.accumulator = weakref.ref(box)
        b = a * k
        c, d = b + a, b * k
        y = d * c
        self.root, self.a, self.b, self.k = y, a, b, k
        nodes = {"b": b.grad_fn, "c": c.grad_fn, "d": d.grad_fn, "y": y.grad_fn, "a": box}
        self.kept = nodes  # a name is known as long as its node lives
        self.names = {id(one): name for name, one in nodes.items()}

    def play(self) -> None:
        """Run the step."""
        if self.step == "record":
            for rule, operands in (
                (MulBackward0, (self.a, self.k)),
                (AddBackward0, (self.b, self.a)),
                (MulBackward0, (self.k, self.k)),
            ):
                record.apply(rule, operands)
        elif self.step == "count":
            engine.count_dependencies([self.root.grad_fn])
        else:
            _PASS([engine.root_of(self.root, None, False)], False, False).run()

    def held(self, frame: FrameType) -> Mapping[str, Any]:
        """Its variables without those that say nothing here, and before them what lies in the pass."""
        found, inside = dict(frame.f_locals), frame.f_locals.get("self")
        lies = {}
        if isinstance(inside, _PASS):
            del found["self"]
            names = [
                name for name in ("ready", "deps", "buffers") if name not in found and hasattr(inside, name)
            ]
            lies = {f"self.{name}": getattr(inside, name) for name in names}
        return lies | {name: x for name, x in found.items() if name not in UNSAID}

    def did(self, frame: FrameType, number: int, returned: Any) -> Sequence[Event]:
        """What the line does, by its text."""
        line, held = linecache.getline(frame.f_code.co_filename, number), frame.f_locals
        for pattern, kind in TOLD[self.step].items():
            if re.search(pattern, line):
                return [(kind, self.whom(kind, held))]
        return ()

    def whom(self, kind: str, held: Mapping[str, Any]) -> str:
        """The name of what a line is about."""
        if kind == "node":
            return str(held["rule"].__name__)
        if kind == "result":
            return "with a node" if held["out"].grad_fn is not None else "without a node"
        if kind == "count from":
            return "y"
        about = held["self"] if kind == "accumulate" else held.get("fn", held.get("node"))
        return self.names.get(id(about), "")


def the_labs(step: str) -> list[Any]:
    """The lines that the lab runs for a step."""
    witness = Ours(step)
    return run(witness.play, shown=SHOWN[step], witness=witness).lines


# -- the student's ------------------------------------------------------------------------------------------


class Yours(Witness):
    """The student's run of a step, on the same graph of the course's own nodes. What a line did is seen by what is different after it."""

    def __init__(self, step: str) -> None:
        self.step = step
        self.a, self.k = course.Value(2.0, requires_grad=True), course.Value(3.0)
        b = course.mul(self.a, self.k)
        c, d = course.add(b, self.a), course.mul(b, self.k)
        y = course.mul(d, c)
        self.b, self.root = b, y.grad_fn
        nodes = {"b": b.grad_fn, "c": c.grad_fn, "d": d.grad_fn, "y": y.grad_fn, "a": self.a.accumulator}
        self.nodes = list(nodes.values())
        self.names = {id(one): name for name, one in nodes.items()}
        self.made: list[Any] = []
        self.told: list[Event] = []
        self.ready: list[Any] = []
        self.deps: dict[Any, int] = {}
        self.buffers: dict[Any, Any] = {}
        self.counted: dict[int, Any] = {}
        self.note()

    def play(self, function: Callable[..., Any]) -> Any:
        """Run the step."""
        if self.step == "record":
            return [
                function("MulBackward0", [self.a, self.k], 6.0),
                function("AddBackward0", [self.b, self.a], 8.0),
                function("MulBackward0", [self.k, self.k], 9.0),
            ]
        if self.step in ("count", "accumulate"):
            return function(self.root)
        pop, deliver = (function, course.deliver) if self.step == "pop" else (course.pop, function)
        self.deps.update(course.count(self.root))
        self.note()
        deliver(self.root, 1.0, self.deps, self.buffers, self.ready)
        self.note()
        for _ in range(_TURNS):
            if not self.ready:
                break
            taken = pop(self.ready)
            self.note()
            if not any(taken is one for one in self.buffers):
                break
            g = self.buffers.pop(taken)
            for edge, message in zip(taken.edges, taken.rule(g) if taken.rule else (), strict=False):
                deliver(edge, message, self.deps, self.buffers, self.ready)
                self.note()
        return None

    def note(self) -> None:
        """Remember how things are."""
        self.before = list(self.ready), dict(self.deps), dict(self.buffers), self.a.grad

    def called(self, frame: FrameType) -> None:
        """A node is made, or one of the pieces is called."""
        name, held = frame.f_code.co_qualname, frame.f_locals
        if self.step == "record" and name == "Node.__init__":
            made, called = held["self"], str(held.get("name"))
            self.made.append(made)  # it lives as long as its name is known
            self.names = {**self.names, id(made): called}
            self.told.append(("node", called))
        elif self.step == "accumulate" and name in PIECES:
            first = held[frame.f_code.co_varnames[0]] if frame.f_code.co_argcount else None
            if name == "pop":
                self.taking = first, list(first) if isinstance(first, list) else []
                self.told.append(("pop", ""))
            elif first is not None:
                self.told.append(
                    (f"{name} {'from' if name == 'count' else 'to'}", self.names.get(id(first), ""))
                )

    def did(self, frame: FrameType, number: int, returned: Any) -> Sequence[Event]:
        """What is different after the line."""
        told, self.told = self.told, []
        if self.step == "record" and returned is not Witness.NOTHING:
            has = getattr(returned, "grad_fn", None) is not None
            told.append(("result", "with a node" if has else "without a node"))
        elif self.step == "count":
            told += self.counting(frame)
        elif self.step == "accumulate":
            told = [(kind, name if kind != "pop" else self.gone(*self.taking)) for kind, name in told]
        ready, deps, buffers, grad = self.before
        if self.step == "pop":
            gone = [one for one in ready if not any(one is other for other in self.ready)]
            told += [("pop", self.names.get(id(one), "")) for one in gone]
        elif self.step == "deliver":
            for one in self.nodes:
                name = self.names[id(one)]
                if one in self.buffers and self.buffers[one] is not buffers.get(one):
                    told.append(("add to", name))
                if self.deps.get(one) != deps.get(one):
                    told.append(("count down", name))
                if any(one is other for other in self.ready) and not any(one is other for other in ready):
                    told.append(("push", name))
        elif self.step == "accumulate" and self.a.grad is not grad:
            told.append(("accumulate", "a"))
        self.note()
        return told

    def gone(self, ready: Any, before: list[Any]) -> str:
        """The name of the node that a call of pop has taken."""
        left = [one for one in before if not any(one is other for other in ready)]
        return self.names.get(id(left[0]), "") if left else ""

    def counting(self, frame: FrameType) -> Iterator[Event]:
        """What has been counted in the line: a dict of nodes and numbers, whatever its name, has a new number."""
        for held in frame.f_locals.values():
            if not isinstance(held, dict):
                continue
            for one, number in held.items():
                if id(one) in self.names and type(number) is int and number != self.counted.get(id(one), 0):
                    self.counted[id(one)] = number
                    yield "count", self.names[id(one)]


__all__ = ["IN_ORDER", "PIECES", "SHOWN", "TOLD", "Ours", "Yours", "check", "step_beside", "the_labs"]
