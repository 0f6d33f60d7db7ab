"""Does every check catch what it should? The bank of wrong answers, and mutants of every reference program, in one table.

A mutant is the reference answer with one small thing changed: an operator, a constant, a comparison, an axis, a sign, a transpose
or keepdim dropped, `+=` made `=`. One that passes every probe is a survivor: either it is equivalent (the item then
lists it under `equivalent`), or the probes have a gap.

An idle program does none of the work: the code as it was handed out, or with `return 0` or similar in place of the
work. It must earn nothing: each probe must check something that only the work achieves.

    python -m autograd_lab.course.bank [solutions/04_*.py ...]
    python -m autograd_lab.course.bank --times          how long lab.check takes on every answer of the bank
"""

from __future__ import annotations

import argparse
import ast
import copy
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import feedback, probe
from .author import BEGIN, END, Draft, Sheet, catching, execute, problems, public, read, stub
from .items import find, judge, recognize

SECONDS = 2.0
"""The time limit for one mutant, which counts as caught if it takes longer."""

_BINARY: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_COMPARE: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip

IDLE = ("pass", "return 0", "return 1", "return True", "return []", "raise NotImplementedError")
"""Replacements for the work; in addition, each argument of the function, returned unchanged."""


@dataclass
class Row:
    """One item of the table."""

    item: str
    kind: str
    points: float
    banked: int
    caught: int
    named: int
    mutants: int = 0
    killed: int = 0
    survivors: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    """Idle programs that earn something."""


def report(sheet: Sheet) -> list[Row]:
    """One row per item of a sheet."""
    rows = []
    for draft in sheet.drafts:
        item = draft.item
        caught = named = 0
        for wrong in item.wrong:
            verdict = judge(item, outputs=wrong.outputs) if item.probes else judge(item, wrong.answer)
            caught += verdict.state == "wrong"
            named += verdict.says == wrong.says
        row = Row(item.id, item.kind, item.points, len(item.wrong), caught, named)
        if item.probes:
            for name, alive in run_mutants(sheet, draft):
                row.mutants += 1
                row.killed += not alive
                if alive:
                    row.survivors.append(name)
            row.idle = [f"{name}: {score:g}" for name, score in run_idle(sheet, draft) if score]
        rows.append(row)
    return rows


def run_mutants(sheet: Sheet, draft: Draft) -> Iterator[tuple[str, bool]]:
    """(what was changed, whether every probe still passes) for each mutant of an item's reference answer."""
    attempt = _attempts(sheet, draft)
    for name, text in mutants(sheet.code[draft.answer_cell]):
        if name in draft.equivalent:
            continue
        outputs = attempt(text)
        yield name, outputs is not None and judge(draft.item, outputs=outputs).state == "passed"


def diagnosed_mutants(sheet: Sheet, draft: Draft) -> Iterator[tuple[str, str]]:
    """(what was changed, the diagnosis of the bank that a student would hear) for each mutant with the results of a known mistake."""
    attempt = _attempts(sheet, draft)
    shipped = public(draft.item)
    for name, text in mutants(sheet.code[draft.answer_cell]):
        outputs = attempt(text)
        visible = {
            key: (outputs or {}).get(key) for p in draft.item.probes if not p.hidden for key in p.names()
        }
        if outputs is not None and (known := recognize(shipped, visible)):
            yield name, known.says


def run_idle(sheet: Sheet, draft: Draft) -> Iterator[tuple[str, float]]:
    """(the replacement for the work, the points it earns) for each idle program of an item with probes."""
    attempt = _attempts(sheet, draft)
    for name, text in idle(stub(sheet.code[draft.answer_cell])):
        outputs = attempt(text)
        yield name, 0.0 if outputs is None else judge(draft.item, outputs=outputs).score


def _attempts(sheet: Sheet, draft: Draft) -> Callable[[str], dict[str, Any] | None]:
    """The results of an item's probes for another text of its answer's cell; None if they are not there in time."""
    before: dict[str, Any] = {"__name__": "__main__"}
    with catching():
        for number, source in enumerate(sheet.code[: draft.answer_cell]):
            execute(source, before, f"{sheet.name}, code {number}")
    rest = sheet.code[draft.answer_cell + 1 :]
    check = next(source for source in rest if f'"{draft.item.id}"' in source)

    def attempt(text: str) -> dict[str, Any] | None:
        space = dict(before)
        try:
            with catching() as given, limit(SECONDS):
                execute(text, space, "attempt")
                execute(check, space, "check")
                return probe.run(draft.item.probes, given[-1][1])
        except (ValueError, TimeUp):
            return None

    return attempt


class TimeUp(BaseException):
    """A mutant runs too long. Not an Exception, so that no probe catches it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp in the block after `seconds` (if the system has timers; otherwise mutants must end by themselves)."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: types.FrameType | None) -> None:
        raise TimeUp

    old = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(name, text) of every mutant of a cell; only what is between the solution markers is changed."""
    inside = _solution_lines(source)
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    for path, change in _changes(tree, inside):
        mutant = copy.deepcopy(tree)
        node: Any = mutant
        for step in path:
            node = getattr(node, step) if isinstance(step, str) else node[step]
        old = ast.unparse(node)
        change(node, mutant, path)
        ast.fix_missing_locations(mutant)
        text = ast.unparse(mutant)
        if text in seen:
            continue
        seen.add(text)
        new = _at(mutant, path)
        line = getattr(_at(tree, path), "lineno", 0)
        yield f"{line}: {old} -> {ast.unparse(new)}", text


def idle(handed_out: str) -> Iterator[tuple[str, str]]:
    """(name, text) of every idle program that can be made from an answer's cell as students get it."""
    yield "as handed out", handed_out
    found = [node for node in ast.walk(ast.parse(handed_out)) if isinstance(node, ast.FunctionDef)]
    for work in (*IDLE, *range(max(len(function.args.args) for function in found))):
        tree = ast.parse(handed_out)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                names = [argument.arg for argument in function.args.args]
                text = f"return {names[min(work, len(names) - 1)]}" if isinstance(work, int) else work
                function.body = ast.parse(text).body
        yield f"return argument {work + 1}" if isinstance(work, int) else work, ast.unparse(tree)
    for value in (None, 0):
        tree = ast.parse(handed_out)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value is ...:
                node.value = value
        yield f"{value} in the gaps", ast.unparse(tree)


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        tree = getattr(tree, step) if isinstance(step, str) else tree[step]
    return tree


def _solution_lines(source: str) -> set[int]:
    lines: set[int] = set()
    on = False
    for number, line in enumerate(source.splitlines(), start=1):
        if line.strip() == BEGIN:
            on = True
        elif line.strip() == END:
            on = False
        elif on:
            lines.add(number)
    return lines


Change = Callable[[Any, Any, tuple[Any, ...]], None]


def _changes(tree: ast.AST, inside: set[int]) -> Iterator[tuple[tuple[Any, ...], Change]]:
    for path, node in _walk(tree, ()):
        if getattr(node, "lineno", 0) in inside and not _is_docstring(tree, path, node):
            for change in _of(node):
                yield path, change


def _walk(node: ast.AST, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], ast.AST]]:
    yield path, node
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _walk(value, (*path, name))
        elif isinstance(value, list):
            for i, part in enumerate(value):
                if isinstance(part, ast.AST):
                    yield from _walk(part, (*path, name, i))


def _is_docstring(tree: ast.AST, path: tuple[Any, ...], node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _replace(make: Callable[[Any], ast.AST]) -> Change:
    def change(node: Any, tree: Any, path: tuple[Any, ...]) -> None:
        parent = _at(tree, path[:-1])
        new = make(node)
        if isinstance(path[-1], str):
            setattr(parent, path[-1], new)
        else:
            parent[path[-1]] = new

    return change


def _set(**fields: Any) -> Change:
    def change(node: Any, tree: Any, path: tuple[Any, ...]) -> None:
        for name, value in fields.items():
            setattr(node, name, value)

    return change


def _of(node: Any) -> Iterator[Change]:
    """The small changes that are possible at one place."""
    if isinstance(node, ast.BinOp):
        if type(node.op) in _BINARY:
            yield _set(op=_BINARY[type(node.op)]())
        if isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult):
            yield _set(left=node.right, right=node.left)
    elif isinstance(node, ast.AugAssign):
        yield _replace(lambda n: ast.Assign(targets=[n.target], value=n.value))
        if type(node.op) in _BINARY:
            yield _set(op=_BINARY[type(node.op)]())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        yield _set(ops=[_COMPARE[type(node.ops[0])]()])
    elif isinstance(node, ast.BoolOp):
        yield _set(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield _replace(lambda n: n.operand)
    elif isinstance(node, ast.Constant) and not isinstance(node.value, str):
        yield from _constants(node.value)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield _replace(lambda n: n.value)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in (
            "t",
            "transpose",
            "detach",
            "clone",
            "copy",
        ):
            yield _replace(lambda n: n.func.value)
        for i, keyword in enumerate(node.keywords):
            if keyword.arg in ("keepdim", "keepdims", "create_graph", "retain_graph"):
                yield _set(keywords=[k for j, k in enumerate(node.keywords) if j != i])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield _replace(lambda n: ast.Pass())


def _constants(value: Any) -> Iterator[Change]:
    if value is True or value is False:
        yield _set(value=not value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield _set(value=value + 1)
        if value:
            yield _set(value=type(value)(0))


# --- the table ------------------------------------------------------------------------------------


def table(rows: list[Row]) -> str:
    """The rows as text, with totals and the survivors below."""
    head = (
        f"{'item':<7}{'kind':<9}{'points':>6}{'wrong':>7}{'caught':>8}{'named':>7}{'mutants':>9}{'killed':>8}"
    )
    lines = [head]
    for row in rows:
        lines.append(f"{row.item:<7}{row.kind:<9}{row.points:>6g}{row.banked:>7}{row.caught:>8}{row.named:>7}{row.mutants:>9}{row.killed:>8}")  # fmt: skip
    if rows:
        points, *sums = (
            sum(getattr(row, name) for row in rows)
            for name in ("points", "banked", "caught", "named", "mutants", "killed")
        )
        lines.append(
            f"{'all':<7}{len(rows):<9}{points:>6g}"
            + "".join(f"{n:>{w}}" for n, w in zip(sums, (7, 8, 7, 9, 8), strict=True))
        )
    lines += [f"{row.item} survivor  {name}" for row in rows for name in row.survivors]
    lines += [f"{row.item} earns points for nothing  {name}" for row in rows for name in row.idle]
    return "\n".join(lines)


def slowest(sheet: Sheet) -> Iterator[tuple[str, int, float]]:
    """(item, how many answers, milliseconds of the slowest) for `lab.check` on all answers of a sheet, right and wrong.

    Includes formatting the result. It is CPU time, the minimum of five checks for each answer, so that other load
    does not count.
    """
    for draft in sheet.drafts:
        item = find(draft.item.id)
        answers = [draft.reference, *draft.right]
        answers += [wrong.answer if program is None else program for wrong, program in draft.wrong]
        worst = 0.0
        for answer in answers:
            took = []
            for _ in range(5):
                start = time.process_time()
                feedback.Result(feedback.verdict_on(item, answer), answer)._repr_html_()
                took.append(1000 * (time.process_time() - start))
            worst = max(worst, min(took))
        yield draft.item.id, len(answers), worst


def main(argv: list[str] | None = None) -> int:
    """Print the table for the given sources; 0 if every banked answer is caught and named, no mutant survives and nothing idle earns."""
    parser = argparse.ArgumentParser(prog="python -m autograd_lab.course.bank", description=__doc__)
    parser.add_argument("sources", nargs="*", type=Path, help="solutions/*.py (default: all)")
    parser.add_argument("--times", action="store_true", help="print how long lab.check takes instead")
    options = parser.parse_args(argv)
    sources = options.sources or sorted(Path("solutions").glob("*.py"))
    if options.times:
        print(f"{'item':<7}{'answers':>8}{'slowest':>12}")
        for source in sources:
            for name, answers, worst in slowest(read(source)):
                print(f"{name:<7}{answers:>8}{worst:>9.1f} ms")
        return 0
    rows: list[Row] = []
    owed = 0
    for source in sources:
        sheet = read(source)
        rows += report(sheet)
        for text in problems(sheet):
            print(f"{source}: {text}")
            owed += 1
    print(table(rows))
    return (
        1
        if owed
        or any(row.survivors or row.idle or row.caught < row.banked or row.named < row.banked for row in rows)
        else 0
    )


__all__ = ["Row", "idle", "limit", "mutants", "report", "run_idle", "run_mutants", "table"]

if __name__ == "__main__":
    sys.exit(main())
