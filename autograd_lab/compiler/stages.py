"""What each pass did to a graph, before and after: which steps disappeared, why, and what that saves.

A pass only leaves two graphs. Comparing them tells what happened to a step: its value is now read elsewhere, an equal step replaced it, it
was fused into another, or it was dead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from .entry import Entry
from .graph import Graph, Step, Value
from .opened import origins
from .passes import _key, _value_key

SAYS = {
    "fold constants": "What depends on constants only is computed now, once, and not at every call.",
    "simplify": "Steps that change nothing are left out: times one, a view of a view, a cast to the same type.",
    "share": "What two steps compute alike is computed once (common subexpressions).",
    "drop": "What nobody reads is not computed (dead code).",
    "split": "Forward and backward become two functions. What the backward reads from the forward is saved.",
    "fuse: forward": "Chains of elementwise steps in the forward become one line: what is between gets no name.",
    "fuse: backward": "Chains of elementwise steps in the backward become one line.",
    "write": "The graph becomes NumPy source. A result is written over an array that nobody reads any more.",
}
WORDS = ("computed now", "left out", "merged", "dropped", "rewritten", "fused", "saved", "written over")
"""The kinds of Change."""


@dataclass
class Row:
    """One step of a graph as text: "v4 = tanh(v3)", the line of the user's code, and "forward" or "backward"."""

    text: str
    line: str
    part: str
    names: tuple[str, ...] = ()


@dataclass
class Change:
    """One change that a pass made.

    word     one of WORDS
    text     a sentence
    before   the rows before that it concerns; `after`: the rows after
    """

    word: str
    text: str
    before: list[int]
    after: list[int]


@dataclass
class Stage:
    """A pass: the rows before and after it, what it changed, and (before, after) counts of steps and of bytes.

    Bytes are those of named arrays, or at "split" of saved arrays; views take none.
    """

    title: str
    says: str
    before: list[Row]
    after: list[Row]
    changes: list[Change] = field(default_factory=list)
    steps: tuple[int, int] = (0, 0)
    bytes: tuple[int, int] = (0, 0)


def stages(entry: Entry) -> list[Stage]:
    """The passes that made the code of an entry, in order."""
    names = _named(entry)
    found = []
    joints = [(title, graph) for title, graph in entry.history if not title.startswith("fuse")]
    for (_, before), (title, after) in pairwise(joints):
        found.append(_stage(title, before, after, names))
    found.append(_split(entry, joints[-1][1], names))
    for title, graph in entry.history:
        if title.startswith("fuse"):
            flat = Graph(graph.inputs, [part for s in graph.steps for part in s.body or [s]], graph.outputs)
            found.append(_stage(title, flat, graph, names))
    found.append(_writing(entry, names))
    return found


def rows(steps: Iterable[Step], names: dict[Value, str]) -> list[Row]:
    """The steps as text."""
    return [
        Row(told(s, names), s.line, s.part, tuple(names.get(v, v.name or "?") for v in s.outs)) for s in steps
    ]


def told(step: Step, names: dict[Value, str]) -> str:
    """One step as text, with only the interesting arguments."""
    made = ", ".join(names.get(v, v.name or "?") for v in step.outs)
    return f"{made} = {_right(step, names, {})}"


def _right(step: Step, names: dict[Value, str], inside: dict[Value, str]) -> str:
    if step.body:
        within: dict[Value, str] = {}
        for part in step.body:
            text = _right(part, names, within)
            within.update(dict.fromkeys(part.outs, text))
        return within[step.outs[0]]
    taken = ["-" if v is None else inside.get(v) or _word(v, names) for v in step.inputs]
    while taken and taken[-1] == "-":
        taken.pop()
    extra = step.args[1:] if step.how == "view" else step.args
    shown = [str(x) for x in extra if _short(x)][: 2 if step.how != "vjp" else 0]
    if step.op in ("add", "sub") and shown == ["1"]:
        shown = []
    return f"{step.op}({', '.join([*taken, *shown])})"


def _short(x: Any) -> bool:
    return isinstance(x, bool | int | float | str | tuple) and len(str(x)) <= 18 and x != ()


def _word(value: Value, names: dict[Value, str]) -> str:
    if value.constant and np.ndim(value.array) == 0:
        return f"{value.array:g}" if not isinstance(value.array, bool | np.bool_) else str(value.array)
    return names.get(value) or value.name or "?"


def _named(entry: Entry) -> dict[Value, str]:
    """A name for every value in the history, including those that a pass removed."""
    names: dict[Value, str] = {}
    taken = {v.name for _, g in entry.history for s in g.steps for v in s.outs}
    letters = {"forward": "v", "backward": "g"}
    for _, graph in entry.history:
        for value in graph.inputs:
            names.setdefault(value, value.name)
        for step in graph.steps:
            for value in step.outs:
                if value not in names and not value.name:
                    n = 1
                    while f"{letters[step.part]}{n}" in taken:
                        n += 1
                    names[value] = f"{letters[step.part]}{n}"
                    taken.add(names[value])
                names.setdefault(value, value.name)
    return names


def _cost(steps: Iterable[Step]) -> int:
    """Bytes of the arrays that the steps make; a view makes none."""
    return sum(v.bytes for s in steps if s.how not in ("view", "views") for v in s.outs)


def _like(step: Step, inputs: list[Any]) -> Any:
    return step.how, step.rule, _key(step.args), _key(step.casts), step.needs, step.gives, tuple(inputs)


def _stage(title: str, before: Graph, after: Graph, names: dict[Value, str]) -> Stage:
    stage = Stage(title, SAYS.get(title, ""), rows(before.steps, names), rows(after.steps, names))
    stage.steps = len(before.steps), len(after.steps)
    stage.bytes = _cost(before.steps), _cost(after.steps)
    stage.changes = _changes(before, after, names)
    return stage


def _changes(before: Graph, after: Graph, names: dict[Value, str]) -> list[Change]:
    place = {v: i for i, s in enumerate(after.steps) for v in s.outs}
    home = {v: i for i, s in enumerate(after.steps) for part in s.body for v in part.outs if v not in place}
    twins = {_like(s, [_value_key(v) for v in s.inputs]): s for s in after.steps}
    instead = _read_instead(before, after)
    fused: dict[int, list[int]] = {}
    found = []
    for i, step in enumerate(before.steps):
        out = step.outs[0]
        mine = [i]
        if out in home or (out in place and after.steps[place[out]].body):
            fused.setdefault(place.get(out, home.get(out, -1)), []).append(i)
            continue
        if out in place:
            other = after.steps[place[out]]
            if (step.how, step.rule, _key(step.args)) != (other.how, other.rule, _key(other.args)):
                text = f"{told(step, names)} becomes {told(other, names)}."
                found.append(Change("rewritten", text, mine, [place[out]]))
            continue
        twin = twins.get(_like(step, [_value_key(instead.get(v, v) if v else v) for v in step.inputs]))
        heir = twin.outs[0] if twin is not None else instead.get(out)
        name = names.get(out, "?")
        readers = [] if heir is None else [k for k, s in enumerate(after.steps) if heir in s.inputs]
        if heir is None:
            found.append(
                Change("dropped", f"Nobody reads {name}: {told(step, names)} is not computed.", mine, [])
            )
            continue
        instead[out] = heir
        where = [place[heir]] if heir in place else []
        if heir.constant:
            text = f"{told(step, names)} reads constants only: its result{_result(heir)} is computed now."
            found.append(Change("computed now", text, mine, readers))
        elif twin is not None:
            text = f"{name} is the same computation as {names.get(heir)}: it is computed once, and who read {name} reads {names.get(heir)}."
            found.append(Change("merged", text, mine, where))
        else:
            text = f"{told(step, names)} changes nothing: who read {name} reads {_word(heir, names)}."
            found.append(Change("left out", text, mine, where or readers))
    for k, several in fused.items():
        text = f"{_count(len(several), 'step')} become one line: {told(after.steps[k], names)}."
        between = [names.get(v, "?") for i in several for v in before.steps[i].outs if v not in place]
        if between:
            text += f" {_list(between)} {'gets' if len(between) == 1 else 'get'} no name."
        found.append(Change("fused", text, several, [k]))
    return found


def _result(value: Value) -> str:
    return f" ({value.array:g})" if np.ndim(value.array) == 0 else ""


def _read_instead(before: Graph, after: Graph) -> dict[Value, Value]:
    """What is now read in place of a value, according to its remaining readers."""
    still = {s.outs[0]: s for s in after.steps if not s.body}
    instead: dict[Value, Value] = {}
    pairs = [(s.inputs, still[s.outs[0]].inputs) for s in before.steps if s.outs[0] in still]
    for was, now in [*pairs, (before.outputs, after.outputs)]:
        if len(was) == len(now):
            instead.update(
                {
                    v: w
                    for v, w in zip(was, now, strict=True)
                    if v is not None and w is not None and v is not w
                }
            )
    return instead


def _split(entry: Entry, joint: Graph, names: dict[Value, str]) -> Stage:
    forward = [part for s in entry.forward_graph.steps for part in s.body or [s]]
    backward = (
        [] if entry.backward_graph is None else [p for s in entry.backward_graph.steps for p in s.body or [s]]
    )
    parts = [*rows(forward, names), *rows(backward, names)]
    for i, row in enumerate(parts):
        row.part = "forward" if i < len(forward) else "backward"
    stage = Stage("split", SAYS["split"], rows(joint.steps, names), parts)
    stage.steps = len(joint.steps), len(parts)
    kept = (
        []
        if entry.backward_graph is None
        else entry.backward_graph.inputs[: -len(entry.differentiable) or None]
    )
    ahead = {v for s in forward for v in s.outs}
    read = {v: None for s in backward for v in s.values() if v in ahead or v in entry.forward_graph.inputs}
    stage.bytes = sum(v.bytes for v in read), sum(v.bytes for v in kept)
    place = {v: i for i, s in enumerate(joint.steps) for v in s.outs}
    row_of = {v: i for i, s in enumerate(forward) for v in s.outs}
    for value in kept:
        name, size = names.get(value, value.name), _bytes(value.bytes)
        whose = "an argument, which is there anyway" if value in entry.forward_graph.inputs else f"{size}"
        users = [len(forward) + i for i, s in enumerate(backward) if value in s.inputs]
        text = f"The backward reads {name}: it is saved ({whose})."
        after = [*([row_of[value]] if value in row_of else []), *users]
        stage.changes.append(Change("saved", text, [place[value]] if value in place else [], after))
    again = [i for i, s in enumerate(backward) if s.outs and s.outs[0] in row_of]
    for i in again:
        text = (
            f"{told(backward[i], names)} is computed again in the backward, so its result need not be saved."
        )
        stage.changes.append(Change("rewritten", text, [place[backward[i].outs[0]]], [len(forward) + i]))
    return stage


def _writing(entry: Entry, names: dict[Value, str]) -> Stage:
    """The stage from the fused graphs to lines of source."""
    stage = Stage("write", SAYS["write"], [], [])
    total = saved = 0
    for part, graph, emitted in (
        ("forward", entry.forward_graph, entry.forward),
        ("backward", entry.backward_graph, entry.backward),
    ):
        if graph is None or emitted is None:
            continue
        start, first = len(stage.before), len(stage.after)
        stage.before += rows(graph.steps, names)
        lines = [line.strip() for line in emitted.source.splitlines()[1:-1]]
        stage.after += [Row(line, "", part) for line in lines]
        total += _cost(graph.steps)
        owners = origins(graph, emitted, part)
        for i, step in enumerate(graph.steps):
            mine = [k for k, parts in enumerate(owners) if parts and parts[-1] is (step.body or [step])[-1]]
            own = {names.get(v, v.name) for v in step.outs}
            over = [k for k in mine if _writes_over(lines[k]) not in (None, *own)]
            if over:
                saved += sum(v.bytes for v in step.outs)
                text = f"{lines[over[0]]} writes over {_writes_over(lines[over[0]])}, which nobody reads any more: {_list(sorted(own))} needs no array of its own."
                stage.changes.append(Change("written over", text, [start + i], [first + k for k in over]))
    stage.steps = len(stage.before), len(stage.after)
    stage.bytes = total, total - saved
    return stage


def _writes_over(line: str) -> str | None:
    """The array that a line of source writes into, if it allocates none."""
    left, equals, _ = line.partition("=")
    if equals and left.rstrip().endswith(("+", "-", "*", "/")):
        return left.rstrip(" +-*/")
    if "out=" in line:
        return line.partition("out=")[2].partition(")")[0].partition(",")[0]
    return None


def _bytes(n: int) -> str:
    return f"{n:,} bytes"


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


__all__ = ["SAYS", "WORDS", "Change", "Row", "Stage", "rows", "stages", "told"]
