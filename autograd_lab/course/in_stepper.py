"""A student's engine in the stepper: `lab.step(pop, beside="pop")` opens a pass through a small graph, with a tab "your engine".

The student's pieces so far run on the same graph, the course's in place of those that are still to come. At each step of the lab's pass
the tab lights the line of the student's that does the same, with its variables: what counts is what a line changes, as in beside.py.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

import autograd_lab as torch
from autograd_lab.tracing.recorder import keep_last
from autograd_lab.tracing.trace import Record, Trace
from autograd_lab.widgets import levels, program
from autograd_lab.widgets.engine_source import rows
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.own_code import Event, Line, Witness, matched, run, source_of, text
from autograd_lab.widgets.stepper import Stepper

from .beside import IN_ORDER, check
from .growing import FUNCTIONS, ITEMS, engine_so_far

PROGRAM = """a = torch.tensor(2.0, requires_grad=True)
k = torch.tensor(3.0)

b = a * k
c = b + a
d = b * k
y = d * c

y.backward()
"""
DOES = {
    "node": "record", "counts": "count", "pop": "pop", "seed": "deliver", "deliver": "deliver", "push": "deliver", "vjp": "accumulate",
    "accumulate": "accumulate", "done": "accumulate",
}  # fmt: skip
"""{kind of an event of the lab's pass: the step of the engine that does the same}."""
_PAGE = 3  # those before it are the lab's
_DELIVER = 5  # arguments: node, g, deps, buffers, ready


class EngineStepper(Stepper):
    """A stepper on the pass through the small graph, with the student's engine in its film."""

    def __init__(self, step: str, function: Any, **options: Any) -> None:
        """Run the engine so far, with `function` as its piece for a step.

        Raises ValueError if there is no such step or no source of the function, TypeError if that is no function written in Python.
        """
        check("step", step, function)
        self._piece = step, function
        with keep_last():
            ran = program.run(PROGRAM, lambda _: None, namespace={"torch": torch})
        if ran.trace is None:
            raise RuntimeError(ran.error["message"] if ran.error else "nothing was recorded")
        level = max(levels.now(), "queue", key=levels.LEVELS.index)  # below it there is no engine to see
        super().__init__(ran.trace, **{"level": level} | options)

    def _film_of(self, trace: Trace) -> Record:
        whole = film(trace)
        return whole | {"yours": yours(*self._piece, trace, [node["label"] for node in whole["nodes"]])}


class Whole(Witness):
    """The run of an engine through the small graph: what a line did is seen by what is different after it."""

    def __init__(
        self, space: Mapping[str, Any], pieces: Mapping[CodeType, str], labels: Sequence[str]
    ) -> None:
        """The functions of the engine, {code: step} of the pieces to watch, and what its nodes are called: the accumulator's first."""
        self.space, self.pieces = space, pieces
        self.a = space["Value"](2.0, requires_grad=True)
        accumulator, *self.labels = labels
        self.names = {id(self.a.accumulator): accumulator}
        self.made = [self.a.accumulator]  # a name is known as long as its node lives
        self.is_over = False
        self.told: list[Event] = []
        self.ready: list[Any] = []
        self.buffers: dict[Any, Any] = {}
        self.edges: dict[str, list[str]] = {}
        """{a node: where its edges lead}."""
        self.amounts: dict[str, list[Any]] = {}
        """{a node: what lies there after each message}."""
        self.note()

    def play(self) -> None:
        """Record the graph, and go back through it."""
        mul, add, k = self.space["mul"], self.space["add"], self.space["Value"](3.0)
        b = mul(self.a, k)
        c, d = add(b, self.a), mul(b, k)
        y = mul(d, c)
        for one in self.made:
            if one.rule is not None:
                one.rule = self.telling(one, one.rule)
        self.space["backward"](y.grad_fn)
        self.is_over = True

    def telling(self, made: Any, rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The rule of a node, which says that it runs."""

        def told(g: Any) -> Any:
            self.told.append(("vjp", self.named(made)))
            return rule(g)

        return told

    def named(self, made: Any) -> str:
        """What a node is called."""
        return self.names.get(id(made), "")

    def counted(self, returned: Any) -> str:
        """For how many messages each node waits, as `_counts` writes it; "" if that is no dict of nodes."""
        if not isinstance(returned, dict):
            return ""
        return _counts([(self.named(one), count) for one, count in returned.items()])

    def note(self) -> None:
        """Remember how things are."""
        self.before = list(self.ready), dict(self.buffers), self.a.grad

    def called(self, frame: FrameType) -> None:
        """A node is made, or a piece is called: its arguments are what may change."""
        code, held = frame.f_code, frame.f_locals
        if code.co_qualname == "Node.__init__" and self.labels:
            made = held["self"]
            self.made.append(made)
            self.names = {**self.names, id(made): self.labels.pop(0)}
            edges = held["edges"] if isinstance(held["edges"], list | tuple) else ()
            self.edges[self.named(made)] = ["None" if one is None else self.named(one) for one in edges]
            self.told.append(("node", self.named(made)))
        step = self.pieces.get(code)
        given = [held[name] for name in code.co_varnames[: code.co_argcount]]
        if step == "pop" and given and isinstance(given[0], list):
            self.ready = given[0]
        if (
            step == "deliver"
            and len(given) == _DELIVER
            and isinstance(given[3], dict)
            and isinstance(given[4], list)
        ):
            *_, self.buffers, self.ready = given
        if step is not None:
            self.note()

    def did(self, frame: FrameType, number: int, returned: Any) -> Sequence[Event]:
        """What is different after the line."""
        told, self.told = self.told, []
        step, (were, lay, grad) = self.pieces.get(frame.f_code), self.before
        if step == "pop":
            told += [("pop", self.named(one)) for one in were if not _among(one, self.ready)]
        if step == "deliver":
            changed = [(self.named(one), g) for one, g in self.buffers.items() if lay.get(one) is not g]
            for name, g in changed:
                self.amounts.setdefault(name, []).append(g)
            told += [("deliver", name) for name, _ in changed]
            told += [("push", self.named(one)) for one in self.ready if not _among(one, were)]
        if self.a.grad is not grad:
            told.append(("accumulate", self.named(self.made[0])))
        ends = {"count": "counts", "accumulate": "done"}
        if step in ends and returned is not Witness.NOTHING:
            told.append((ends[step], self.counted(returned) if step == "count" else ""))
        self.note()
        return told


def _among(one: Any, others: Sequence[Any]) -> bool:
    return any(one is other for other in others)


def yours(step: str, function: FunctionType, trace: Trace, labels: Sequence[str]) -> Record:
    """What the film has of the student's engine, see frames.py; `labels` are what its nodes are called there."""
    so_far = list(ITEMS)[: 1 + list(ITEMS).index(step)]
    space, whose = engine_so_far(step).completed(FUNCTIONS[step], function)
    pieces = {one: space[FUNCTIONS[one]] for one in so_far}
    parts, at = _page(pieces, whose)
    nodes = [e["n"] for kind in ("accumulate", "node") for e in trace.events if e["k"] == kind]
    witness = Whole(space, {one.__code__: name for name, one in pieces.items()}, [labels[n] for n in nodes])
    ran = run(witness.play, shown=tuple(pieces.values()), witness=witness, name="your engine")
    theirs = [Line(0, {}, events=_does(e, labels)) for e in trace.events]
    both = matched(theirs, ran.lines, IN_ORDER | {"counts"})
    steps: list[list[Any]] = [[_PAGE, None, "Your engine runs on the same numbers.", [], 0]]
    last, stops = -1, len(both)
    if not witness.is_over:  # at what it would have done next
        while stops and not any(other for _, other in both[stops - 1]):
            stops -= 1
        stops += next((i for i, does in enumerate(both[stops:]) if does and DOES[does[0][0][0]] in so_far), 0)
    for i, does in enumerate(both):
        sentence, now = "", 0
        if i >= stops:
            last, sentence, does = len(ran.lines) - 1, ran.end[0].upper() + ran.end[1:], []
        for (kind, name), other in does:
            if DOES[kind] not in so_far:
                sentence = (
                    f"The course's {FUNCTIONS[DOES[kind]]} does this: yours is exercise {ITEMS[DOES[kind]]}."
                )
            elif other is not None:
                last, now = other[0], 1
                sentence = (
                    _apart(kind, other[1], name)
                    if other[1] != name
                    else _different(witness, kind, name, trace, trace.events[i], labels)
                )
            else:
                sentence = "Your engine does nothing here."
        row, held = None, []
        if last >= 0:
            line = ran.lines[last]
            row, held = at[line.file, line.number], [list(pair) for pair in line.variables.items()]
        steps.append([_PAGE, row, sentence, held, now])
    if witness.is_over:
        (new,) = (trace.values[e["new"]]["data"] for e in trace.events if e["k"] == "accumulate")
        mine, ours = text(witness.a.grad), text(new)
        steps[-1][2] = f"a.grad is {mine} in your engine" + (
            ", too." if mine == ours else f", and {ours} in the lab."
        )
    return {"pages": {_PAGE: parts}, "steps": steps}


def _counts(counts: Iterable[tuple[str, Any]]) -> str:
    """Numbers of messages, a line for each node."""
    return "\n".join(sorted(f"{name}\t{count}" for name, count in counts))


def _apart(kind: str, mine: str, ours: str) -> str:
    """What the student's engine and the lab do differently."""
    if kind != "counts":
        return f"Your engine takes {mine} here, the lab {ours}."
    own, labs = (dict(line.split("\t") for line in text.splitlines()) for text in (mine, ours))
    if "" in own:
        return "Your engine counts something that is not a node."
    for name in [*labs, *(name for name in own if name not in labs)]:
        has, should = (
            own.get(name, "none"),
            labs.get(name, "1"),
        )  # of the root, whose message comes from outside
        if has != should:
            return f"Your engine waits for {has} at {name}, the lab for {should}."
    return ""


def _different(witness: Whole, kind: str, name: str, trace: Trace, e: Record, labels: Sequence[str]) -> str:
    """What is different although both do the same to the node called `name`: where its edges lead, or what lies there then; or ""."""
    if kind == "node":
        edges = ["None" if one is None else labels[one[0]] for one in trace.nodes[e["n"]]["edges"]]
        mine = witness.edges.get(name, [])
        return (
            ""
            if mine == edges
            else f"The edges of your node are [{', '.join(mine)}], the lab's [{', '.join(edges)}]."
        )
    if kind != "deliver" or not witness.amounts.get(name):
        return ""
    lies = witness.amounts[name].pop(0)  # of the messages to this node, one after the other
    there = trace.values[e["v"] if e.get("sum") is None else e["sum"]]["data"]
    return (
        ""
        if text(lies) == text(there)
        else f"{text(lies)} lies at {name} in your engine, and {text(there)} in the lab."
    )


def _does(e: Record, labels: Sequence[str]) -> tuple[Event, ...]:
    """What an event of the lab's pass is to an engine."""
    kind, n = e["k"], e.get("to") if e["k"] == "deliver" else e.get("n")
    if kind not in DOES:
        return ()
    if kind == "counts":
        return ((kind, _counts([(labels[one], count) for one, count in e["deps"]])),)
    return (("deliver" if kind == "seed" else kind, "" if n is None else labels[n]),)


def _page(
    pieces: Mapping[str, FunctionType], whose: Mapping[str, str]
) -> tuple[list[list[Any]], dict[tuple[str, int], int]]:
    """The source of the pieces in parts, as `engine_source.page` has them, and {(file, line number): row}."""
    parts: list[list[Any]] = []
    at = {}
    for step, piece in pieces.items():
        lines, first = source_of(piece.__code__)
        code_of = (
            whose[FUNCTIONS[step]]
            .replace("yours", "your code", 1)
            .replace("the course's", "the course's code", 1)
        )
        parts.append([f"# {code_of}", first, textwrap.dedent("".join(lines)).rstrip()])
        begin = len(rows(parts)) - len(parts[-1][2].split("\n"))
        at.update({(piece.__code__.co_filename, first + i): begin + i for i in range(len(lines))})
    return parts, at


__all__ = ["DOES", "PROGRAM", "EngineStepper", "Whole", "yours"]
