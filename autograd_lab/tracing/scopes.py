"""Which calls, turns of loops and modules an operation belongs to: the groups that a large graph folds into.

The recorder notes the chain of calls in the user's code whenever the innermost one changes; here they become
paths such as "MLP / layers.0: Linear" or "neuron() #3 / iteration 4 of 20". A loop begins where the bytecode jumps
back to; its next iteration begins when code in it runs again, or code that precedes what ran.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any

from .names import Modules

SEPARATOR = " / "
ITERATION = re.compile(r"iteration (\d+)( of \d+(?: \(line \d+\))?)")
"""An iteration of a loop, as a path has it: its number, and what is the same for all of the loop."""


@dataclass(eq=False, slots=True)
class Call:
    """A call in the user's code, at one of its instructions; calls in the same place share their caller."""

    outer: Call | None
    number: int
    code: CodeType
    at: int  # the instruction
    through: int  # the number of the call made there, -1 of the innermost one


@dataclass
class _Visit:
    """The last place of a call in the user's code, and its iteration of each loop."""

    instruction: int = -1
    through: int = -1
    turns: dict[int, int] = field(default_factory=dict)  # where a loop begins -> its turn


@dataclass
class _Entered:
    """A module or a named scope that is currently entered."""

    what: Any  # the module, None for a named scope
    group: int
    caller: int


class Scopes:
    """Follows the program from note to note; `now` is the current group, -1 for none."""

    def __init__(self) -> None:
        self.groups: list[
            tuple[int, str, str]
        ] = []  # (parent, name, "call", "iteration", "module" or "scope")
        self.loop_of: dict[
            int, tuple[int, int, int]
        ] = {}  # group of an iteration -> (where the loop begins, its line, number)
        self.known: dict[Hashable, int] = {}
        self.chain: list[Call] = []  # from the outermost call to the innermost
        self.places: dict[Call, int] = {}  # the place of each in the chain
        self.inside: list[
            tuple[int, int, _Entered | None]
        ] = []  # what `_into` found for the outer calls of the chain
        self.visits: dict[int, _Visit] = {}
        self.entered: list[_Entered] = []
        self.modules = Modules()
        self.loops: dict[int, dict[int, tuple[int, int]]] = {}  # by the id of a code object

    def moved(self, call: Call | None) -> None:
        """The innermost call of the user's code has changed. Only the part that differs from the chain before is processed."""
        new: list[Call] = []
        while call is not None and call not in self.places:
            new.append(call)
            call = call.outer
        kept = 0 if call is None else self.places[call] + 1
        for gone in self.chain[kept:]:
            del self.places[gone]
        del self.chain[kept:]
        for one in reversed(new):
            self.places[one] = len(self.chain)
            self.chain.append(one)
        del self.inside[min(kept, max(len(self.chain) - 1, 0)) :]
        for one in self.chain[kept:-1]:
            self._visit(one.number, one.code, one.at, one.through, again=False)

    def enter(self, what: Any, name: str, instruction: int, through: int) -> None:
        """A module was called (its name is found here) or `lab.scope(name)` entered."""
        inside = self.at(instruction, through)
        caller = self.chain[-1].number if self.chain else -1
        if what is not None:
            name, outer = type(what).__name__, next((e.what for e in self.entered[::-1] if e.what), None)
            path = self.modules.path(outer, what) if outer is not None else ""
            name = f"{path}: {name}" if path else name
        kind = "scope" if what is None else "module"
        self.entered.append(_Entered(what, self._new(inside, name, kind), caller))

    def leave(self) -> None:
        """The innermost entry is left."""
        self.entered.pop()

    def at(self, instruction: int, through: int = -1, same_call: bool = False) -> int:
        """The group of an operation at an instruction of the innermost call, made `through` a call there."""
        group, level, last = -1, 0, len(self.chain) - 1
        if last > 0:
            while self.inside and not self._holds(*self.inside[-1]):
                self.inside.pop()
            if self.inside:
                group, level, _ = self.inside[-1]
            for i in range(len(self.inside), last):
                group, level = self._into(i, group, level)
                self.inside.append((group, level, self.entered[level - 1] if level else None))
        if last >= 0:
            call = self.chain[last]
            self._visit(call.number, call.code, instruction, through, same_call)
            group, level = self._into(last, group, level)
        return group if level == len(self.entered) else self.entered[-1].group

    def passed(self, code: CodeType, instruction: int) -> int:
        """The group of an instruction that makes nothing, run once or several times; -1 if the innermost call is not of this code."""
        if not self.chain or self.chain[-1].code is not code:
            return -1
        visit = self.visits.get(self.chain[-1].number)
        return self.at(instruction, same_call=visit is not None and visit.instruction == instruction)

    def _into(self, i: int, group: int, level: int) -> tuple[int, int]:
        """From the group around call `i` of the chain to the one inside it; `level`: how many of `entered` are in between."""
        number, code = self.chain[i].number, self.chain[i].code
        hidden = code.co_name.startswith("<")  # a comprehension or lambda is part of the function around it
        if i and not hidden and not (code.co_name == "forward" and self._called_by_module(level, i)):
            group = self._group(("call", number), group, _function(code), "call")
        loops, turns = self._loops(code), self.visits[number].turns
        for start, (_, line) in loops.items():
            if start in turns:
                turn = turns[start]
                group = self._group(("iteration", number, group, start, turn), group, "", "iteration")
                self.loop_of[group] = start, line, turn
        while level < len(self.entered) and self.entered[level].caller == number:
            group = self.entered[level].group
            level += 1
        return group, level

    def _holds(self, _group: int, level: int, entered: _Entered | None) -> bool:
        """Whether the result for an outer call is still valid: nothing that it counted was left, nothing else was entered from it."""
        if level > len(self.entered) or (level and self.entered[level - 1] is not entered):
            return False
        number = self.chain[len(self.inside) - 1].number
        return level == len(self.entered) or self.entered[level].caller != number

    def _name_iterations(self) -> None:
        """Now that their number is known: "iteration 3 of 20", with the line of the loop if there are several side by side.

        The only one of a loop keeps its empty name, and is no group: the recording may have begun inside the loop.
        """
        total: dict[tuple[int, int], int] = {}
        loops: dict[int, set[int]] = {}
        for group, (start, _, turn) in self.loop_of.items():
            parent = self.groups[group][0]
            total[parent, start] = max(turn, total.get((parent, start), 0))
            loops.setdefault(parent, set()).add(start)
        for group, (start, line, turn) in self.loop_of.items():
            parent, _, kind = self.groups[group]
            if total[parent, start] == 1:
                continue
            where = f" (line {line})" if len(loops[parent]) > 1 else ""
            self.groups[group] = parent, f"iteration {turn} of {total[parent, start]}{where}", kind

    def paths(self) -> list[str]:
        """The path of each group; several of the same name in one group are numbered."""
        self._name_iterations()
        count: dict[tuple[int, str], int] = {}
        order = []
        for parent, name, _ in self.groups:
            count[parent, name] = order_now = count.get((parent, name), 0) + 1
            order.append(order_now)
        found: list[str] = []
        for (parent, name, _), number in zip(self.groups, order, strict=True):
            own = f"{name} #{number}" if name and count[parent, name] > 1 else name
            found.append(SEPARATOR.join(filter(None, (found[parent] if parent >= 0 else "", own))))
        return found

    def _called_by_module(self, level: int, i: int) -> bool:
        """Whether call `i` of the chain is the `forward` of the module that the call before entered last."""
        return level > 0 and self.entered[level - 1].caller == self.chain[i - 1].number

    def _loops(self, code: CodeType) -> dict[int, tuple[int, int]]:
        found = self.loops.get(id(code))  # kept alive by the notes; hashing code takes linear time
        if found is None:
            found = self.loops[id(code)] = _loops(code)
        return found

    def _group(self, key: Hashable, parent: int, name: str, kind: str) -> int:
        if key not in self.known:
            self.known[key] = self._new(parent, name, kind)
        return self.known[key]

    def _new(self, parent: int, name: str, kind: str) -> int:
        self.groups.append((parent, name, kind))
        return len(self.groups) - 1

    def _visit(self, number: int, code: CodeType, at: int, through: int, again: bool) -> None:
        """Count the iterations of the loops in a call that has reached instruction `at`."""
        visit = self.visits.setdefault(number, _Visit())
        before, same = visit.instruction, through >= 0 and through == visit.through
        if at == before and through < 0 <= visit.through:
            return  # `sum` adds what the generator yields in between, in one call
        visit.instruction, visit.through = at, through
        if again or (at == before and same):
            return
        loops = [start for start, (end, _) in self._loops(code).items() if start <= at <= end]
        for start in set(visit.turns).difference(loops):
            del visit.turns[start]
        both = [start for start in loops if start in visit.turns]
        if both and at <= before:  # back to what has run: the innermost loop around both continues
            visit.turns[both[-1]] += 1
            for start in loops:
                if start > both[-1]:
                    visit.turns.pop(start, None)
        for start in loops:
            visit.turns.setdefault(start, 1)


BACK = {
    number for name, number in dis.opmap.items() if "JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name
}
"""The instructions that end an iteration of a loop."""


def iteration(path: str, outermost: bool = False) -> str:
    """The innermost iteration that a path lies in, or the outermost one, with all around it; "" if it is in none."""
    parts = path.split(SEPARATOR)
    ends = [i for i, part in enumerate(parts, 1) if ITERATION.fullmatch(part)]
    return SEPARATOR.join(parts[: ends[0 if outermost else -1]]) if ends else ""


@lru_cache(maxsize=1000)
def _loops(code: CodeType) -> dict[int, tuple[int, int]]:
    """The loops of a code object, outer ones first: start -> (end, line)."""
    if BACK.isdisjoint(code.co_code[::2]):
        return {}  # found out a hundred times as fast as by reading its instructions
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
    """Whether a jump back leaves an `except` or a `with`: Python 3.12 places these at the end, and jumps back to what follows."""
    guarded = code.exception_entries  # type: ignore[attr-defined]  # which the stubs of `dis` leave out
    return any(entry.start < target < entry.target <= offset for entry in guarded)


def _function(code: CodeType) -> str:
    """The name of a call of a function: "neuron()", "Layer.step()", "Neuron()" for its __call__."""
    return code.co_qualname.rpartition("<locals>.")[2].removesuffix(".__call__") + "()"


def _line_of_while(lines: dict[int, int], start: int, end: int) -> int:
    """The line of a `while`: that of its test, which precedes its body."""
    return min(line for offset, line in lines.items() if start <= offset <= end)


def common(paths: Iterable[str]) -> str:
    """The innermost group that all the paths lie in."""
    different = set(paths)
    if len(different) == 1:
        return different.pop()
    split = [path.split(SEPARATOR) if path else [] for path in different]
    shared = []
    for names in zip(*split, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return SEPARATOR.join(shared)
