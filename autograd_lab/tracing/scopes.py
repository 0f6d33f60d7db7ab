"""Which calls, turns of loops and modules an operation belongs to: the groups into which a large graph folds.

The recorder notes through which calls of the user's code it came whenever the innermost one is another; here they
become paths such as "MLP / layers.0: Linear" or "neuron() #3 / line 12, turn 4". A loop is where the bytecode jumps
back to; it has come to its next turn when code in it runs that had run before, or that stands before what ran.
"""

from __future__ import annotations

import dis
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

from .names import parts

#: A call of the user's code: its number, its code, the instruction it is at, and the number of the call made there.
Call = tuple[int, CodeType, int, int]
SEPARATOR = " / "


@dataclass
class _Visit:
    """Where a call of the user's code was last, and in which turn of which loop."""

    instruction: int = -1
    through: int = -1
    turns: dict[int, int] = field(default_factory=dict)  # where a loop begins -> its turn


@dataclass
class _Entered:
    """A module, or a named scope, that has been entered and not left."""

    what: Any  # the module, None for a named scope
    group: int
    caller: int


class Scopes:
    """Follows the program from note to note; `now` is the group it is in, -1 for none."""

    def __init__(self) -> None:
        self.groups: list[tuple[int, str, str]] = []  # (parent, name, "call", "turn", "module" or "scope")
        self.known: dict[Hashable, int] = {}
        self.chain: tuple[Call, ...] = ()
        self.visits: dict[int, _Visit] = {}
        self.entered: list[_Entered] = []
        self.names: dict[int, dict[int, str]] = {}

    def moved(self, chain: tuple[Call, ...]) -> None:
        """The innermost call of the user's code is another one now."""
        self.chain = chain
        for call in chain[:-1]:
            self._visit(*call, again=False)

    def enter(self, what: Any, name: str, instruction: int, through: int) -> None:
        """A module was called (its name is found here) or `lab.scope(name)` entered."""
        inside = self.at(instruction, through)
        caller = self.chain[-1][0] if self.chain else -1
        if what is not None:
            name, outer = type(what).__name__, next((e.what for e in self.entered[::-1] if e.what), None)
            path = self._paths(outer).get(id(what), "") if outer is not None else ""
            name = f"{path}: {name}" if path else name
        kind = "scope" if what is None else "module"
        self.entered.append(_Entered(what, self._new(inside, name, kind), caller))

    def leave(self) -> None:
        """What was entered last is left."""
        self.entered.pop()

    def at(self, instruction: int, through: int = -1, same_call: bool = False) -> int:
        """The group of an operation at an instruction of the innermost call, made `through` a call there."""
        group, level, last = -1, 0, len(self.chain) - 1
        for i, (number, code, at, inner) in enumerate(self.chain):
            if i == last:
                at, inner = instruction, through
                self._visit(number, code, at, inner, same_call)
            hidden = code.co_name.startswith("<")  # a comprehension or lambda is part of what it stands in
            if i and not hidden and not (code.co_name == "forward" and self._called_by_module(level, i)):
                group = self._group(("call", number), group, _function(code), "call")
            for start, turn in self._turns(number, code, at):
                name = f"line {_loops(code)[start][1]}, turn {turn}"
                group = self._group(("turn", number, group, start, turn), group, name, "turn")
            while level < len(self.entered) and self.entered[level].caller == number:
                group = self.entered[level].group
                level += 1
        return group if level == len(self.entered) else self.entered[-1].group

    def paths(self) -> list[str]:
        """The path of each group; of several with the same name in one group, each has its number."""
        count: dict[tuple[int, str], int] = {}
        order = []
        for parent, name, _ in self.groups:
            count[parent, name] = order_now = count.get((parent, name), 0) + 1
            order.append(order_now)
        found: list[str] = []
        for (parent, name, _), number in zip(self.groups, order, strict=True):
            own = f"{name} #{number}" if count[parent, name] > 1 else name
            found.append(own if parent < 0 else found[parent] + SEPARATOR + own)
        return found

    def _called_by_module(self, level: int, i: int) -> bool:
        """Whether call `i` of the chain is the `forward` of the module entered last from the call before."""
        return level > 0 and self.entered[level - 1].caller == self.chain[i - 1][0]

    def _paths(self, module: Any) -> dict[int, str]:
        if id(module) not in self.names:
            self.names[id(module)] = {
                id(child): path for path, child in reversed([*parts(module, "_modules")])
            }
        return self.names[id(module)]

    def _group(self, key: Hashable, parent: int, name: str, kind: str) -> int:
        if key not in self.known:
            self.known[key] = self._new(parent, name, kind)
        return self.known[key]

    def _new(self, parent: int, name: str, kind: str) -> int:
        self.groups.append((parent, name, kind))
        return len(self.groups) - 1

    def _visit(self, number: int, code: CodeType, at: int, through: int, again: bool) -> None:
        """Count the turns of the loops of a call that has come to instruction `at`."""
        visit = self.visits.setdefault(number, _Visit())
        before, same = visit.instruction, through >= 0 and through == visit.through
        visit.instruction, visit.through = at, through
        if again or (at == before and same):
            return
        loops = [start for start, (end, _) in _loops(code).items() if start <= at <= end]
        for start in set(visit.turns).difference(loops):
            del visit.turns[start]
        both = [start for start in loops if start in visit.turns]
        if both and at <= before:  # back to what has run: the innermost loop around both goes on
            visit.turns[both[-1]] += 1
            for start in loops:
                if start > both[-1]:
                    visit.turns.pop(start, None)
        for start in loops:
            visit.turns.setdefault(start, 1)

    def _turns(self, number: int, code: CodeType, at: int) -> Iterator[tuple[int, int]]:
        turns = self.visits[number].turns
        return ((start, turns[start]) for start in _loops(code) if start in turns)


@lru_cache(maxsize=1000)
def _loops(code: CodeType) -> dict[int, tuple[int, int]]:
    """The loops of a code, outer ones first: where each begins -> (where it ends, its line)."""
    found: dict[int, tuple[int, int]] = {}
    lines: dict[int, int] = {}
    heads = set()
    instructions = dis.Bytecode(code)
    for step in instructions:
        lines[step.offset] = (step.positions.lineno if step.positions else None) or code.co_firstlineno
        if step.opname == "FOR_ITER":
            heads.add(step.offset)
    for step in instructions:
        if "JUMP_BACKWARD" in step.opname and "NO_INTERRUPT" not in step.opname:
            start = int(step.argval)
            if start not in heads and _ends_handler(instructions, step.offset, start):
                continue
            line = lines[start] if start in heads else _line_of_while(lines, start, step.offset)
            if start not in found or found[start][0] < step.offset:
                found[start] = step.offset, line
    return dict(sorted(found.items(), key=lambda loop: (loop[0], -loop[1][0])))


def _ends_handler(code: dis.Bytecode, offset: int, target: int) -> bool:
    """Whether a jump back leaves an `except` or a `with`: Python 3.12 has these at the end, and goes on after what they guard."""
    guarded = code.exception_entries  # type: ignore[attr-defined]  # which the stubs of `dis` leave out
    return any(entry.start < target < entry.target <= offset for entry in guarded)


def _function(code: CodeType) -> str:
    """How a call of a function is called: "neuron()", "Layer.step()", "Neuron()" for its __call__."""
    return code.co_qualname.rpartition("<locals>.")[2].removesuffix(".__call__") + "()"


def _line_of_while(lines: dict[int, int], start: int, end: int) -> int:
    """The line of a `while`: that of its test, which stands before its body."""
    return min(line for offset, line in lines.items() if start <= offset <= end)


def common(paths: Iterable[str]) -> str:
    """The innermost group that all the paths lie in."""
    split = [path.split(SEPARATOR) if path else [] for path in paths]
    shared = []
    for names in zip(*split, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return SEPARATOR.join(shared)
