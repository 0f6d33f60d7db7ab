"""Does every check catch what it should? The bank of wrong answers, and mutants of every reference program, in one table.

A mutant (mutants.py) is the reference answer with one small thing changed. One that passes every probe is a survivor: either it
does the same, and the item says why under `equivalent`, or the probes have a gap.

An idle program does none of the work: the code as it was handed out, or with `return 0` or similar in place of the
work. It must earn nothing: each probe must check something that only the work achieves.

    python -m autograd_lab.course.bank [solutions/04_*.py ...]
    python -m autograd_lab.course.bank --times          how long lab.check takes on every answer of the bank
    python -m autograd_lab.course.bank --variants       every item that varies, with the numbers of 1,000 seeds
    python -m autograd_lab.course.bank --practice       every kind of question of lab.practice, over 1,000 seeds
"""

from __future__ import annotations

import argparse
import gc
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import feedback, plain, probe, variants
from .author import Draft, Sheet, catching, execute, problems, public, read, stub
from .items import Item, find, judge, recognize
from .mutants import idle, mutants

SECONDS, TIMES = 0.1, 10
"""A mutant gets as much processor time as the reference answer, times TIMES, and SECONDS at least; if it takes longer, it counts as caught."""


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
    outdated: list[str] = field(default_factory=list)
    """Mutants listed as equivalent that do not exist, or do not pass."""
    idle: list[str] = field(default_factory=list)
    """Idle programs that earn something."""
    differing: list[str] = field(default_factory=list)
    """What `lab.check` and the grader say of a program differently."""
    diagnosed: list[str] = field(default_factory=list)
    """Mutants with the results of a known mistake, each with what a student hears of it in the notebook."""


def report(sheet: Sheet) -> list[Row]:
    """One row per item of a sheet."""
    rows = []
    for draft in sheet.drafts:
        item = draft.item
        caught = named = 0
        differing = []
        for wrong in item.wrong:
            verdict = judge(item, outputs=wrong.outputs) if item.probes else judge(item, wrong.answer)
            caught += verdict.state == "wrong"
            named += verdict.says == wrong.says
            differing.append(disagreement(item, wrong.outputs) if item.probes else "")
        row = Row(item.id, item.kind, item.points, len(item.wrong), caught, named)
        if item.probes:
            alive = set()
            for one in run_mutants(sheet, draft):
                row.mutants += not (one.alive and one.name in draft.equivalent)
                row.killed += not one.alive
                if one.alive:
                    alive.add(one.name)
                differing.append(one.differs)
                if one.says:
                    row.diagnosed.append(f"{item.id} | {one.name} | {one.says}")
            row.survivors = sorted(alive - draft.equivalent.keys())
            row.outdated = sorted(draft.equivalent.keys() - alive)
            row.differing = sorted({text for text in differing if text})
            row.idle = [f"{name}: {score:g}" for name, score in run_idle(sheet, draft) if score]
        rows.append(row)
    return rows


@dataclass(frozen=True)
class Mutant:
    """A mutant of an item's reference answer, after its run."""

    name: str
    """What was changed."""
    alive: bool
    """Whether every probe passes."""
    says: str = ""
    """The diagnosis of the bank that a student would hear in the notebook, if its results are those of a known mistake."""
    differs: str = ""
    """What the notebook and the grader say, if they disagree."""


def run_mutants(sheet: Sheet, draft: Draft) -> Iterator[Mutant]:
    """Each mutant of an item's reference answer, equivalent ones among them."""
    attempt = _attempts(sheet, draft)
    shipped = public(draft.item)
    for name, text in mutants(sheet.code[draft.answer_cell]):
        shown = attempt(text, hidden=False)
        known = recognize(shipped, shown) if shown else None
        settled = not known and (shown is None or judge(shipped, outputs=shown).state != "passed")
        outputs = None if settled else attempt(text)
        if outputs is None:
            yield Mutant(name, alive=False, says=known.says if known else "")
            continue
        alive = judge(draft.item, outputs=outputs).state == "passed"
        yield Mutant(name, alive, known.says if known else "", disagreement(draft.item, outputs, shipped))


def disagreement(item: Item, outputs: dict[str, Any], shipped: Item | None = None) -> str:
    """What `lab.check` and the grader say of a program with these outputs, if it is not the same; "" where the notebook sees nothing wrong."""
    shipped = shipped or public(item)
    here, there = judge(shipped, outputs=_visible(shipped, outputs)), judge(item, outputs=outputs)
    if here.state == "passed" or (here.says, here.misconception) == (there.says, there.misconception):
        return ""
    return f"in the notebook {here.misconception} {here.says} when graded {there.misconception} {there.says}"


def _visible(shipped: Item, outputs: dict[str, Any]) -> dict[str, Any]:
    return {key: outputs[key] for p in shipped.probes for key in p.names()}


def run_idle(sheet: Sheet, draft: Draft) -> Iterator[tuple[str, float]]:
    """(the replacement for the work, the points it earns) for each idle program of an item with probes."""
    attempt = _attempts(sheet, draft)
    for name, text in idle(stub(sheet.code[draft.answer_cell])):
        outputs = attempt(text)
        yield name, 0.0 if outputs is None else judge(draft.item, outputs=outputs).score


def _attempts(sheet: Sheet, draft: Draft) -> Callable[..., dict[str, Any] | None]:
    """The results of an item's probes for another text of its answer's cell; None if they are not there in time."""
    before: dict[str, Any] = {"__name__": "__main__"}
    with catching():
        for number, source in enumerate(sheet.code[: draft.answer_cell]):
            execute(source, before, f"{sheet.name}, code {number}")
    rest = sheet.code[draft.answer_cell + 1 :]
    check = next(source for source in rest if f'"{draft.item.id}"' in source)
    probes = [one for one in draft.item.probes if not one.look]
    start = time.process_time()
    probe.run(probes, draft.reference)
    seconds = max(SECONDS, TIMES * (time.process_time() - start))

    def attempt(text: str, *, hidden: bool = True) -> dict[str, Any] | None:
        space = dict(before)
        try:
            with catching() as given, limit(seconds):
                execute(text, space, "attempt")
                execute(check, space, "check")
                return probe.run([p for p in probes if hidden or not p.hidden], given[-1][1])
        except (ValueError, TimeUp):
            return None

    return attempt


class TimeUp(BaseException):
    """A mutant runs too long. Not an Exception, so that no probe catches it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp in the block after `seconds` of processor time (without timers of the system, mutants must end by themselves)."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: types.FrameType | None) -> None:
        raise TimeUp

    old = signal.signal(signal.SIGPROF, ring)
    collecting = gc.isenabled()
    gc.disable()  # a collection takes as long as there are objects in this process, which is not the mutant's time
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if collecting:
            gc.enable()
        signal.signal(signal.SIGPROF, old)


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
    lines += [f"{row.item} listed as equivalent, and is not  {name}" for row in rows for name in row.outdated]
    lines += [f"{row.item} {text}" for row in rows for text in row.differing]
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


def varied(sheet: Sheet, seeds: int) -> Iterator[tuple[str, int, int, list[str]]]:
    """(item, wrong answers for each seed, how many different right answers, what is wrong) of the items of a sheet that vary.

    For each seed the right answer has to be accepted, and each wrong one refused with what belongs to it (variants.doubtful).
    """
    for item in (item for item in sheet.items if item.variant):
        found = list(variants.doubtful(item, range(seeds)))
        different = set() if found else {plain.show(variants.of(item, n).expected) for n in range(seeds)}
        yield item.id, len(item.wrong), len(different), found


def main(argv: list[str] | None = None) -> int:
    """Print the table for the given sources; 0 if every banked answer is caught and named, no mutant survives and nothing idle earns."""
    parser = argparse.ArgumentParser(prog="python -m autograd_lab.course.bank", description=__doc__)
    parser.add_argument("sources", nargs="*", type=Path, help="solutions/*.py (default: all)")
    parser.add_argument("--times", action="store_true", help="print how long lab.check takes instead")
    parser.add_argument("--variants", action="store_true", help="prove the items that vary instead")
    parser.add_argument("--practice", action="store_true", help="prove lab.practice instead")
    parser.add_argument(
        "--seeds",
        type=int,
        default=1000,
        metavar="N",
        help="of each variant, and of practice (default: %(default)s)",
    )
    options = parser.parse_args(argv)
    if options.practice:
        from .practice import proof

        tried = list(proof.rows(options.seeds))
        print(proof.table(tried))
        return 0 if all(row.holds for row in tried) else 1
    sources = options.sources or sorted(Path("solutions").glob("*.py"))
    if options.variants:
        print(f"{'item':<7}{'seeds':>7}{'wrong':>7}{'different':>11}")
        doubts = 0
        for source in sources:
            for name, wrong, different, found in varied(read(source), options.seeds):
                print(f"{name:<7}{options.seeds:>7}{wrong:>7}{different:>11}")
                for text in found:
                    print(f"{name} {text}")
                doubts += len(found)
        print(
            "every right answer accepted, every wrong one named"
            if not doubts
            else f"{doubts} not as they should be"
        )
        return 1 if doubts else 0
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
        or any(
            row.survivors
            or row.outdated
            or row.idle
            or row.differing
            or row.caught < row.banked
            or row.named < row.banked
            for row in rows
        )
        else 0
    )


__all__ = ["Mutant", "Row", "idle", "limit", "mutants", "report", "run_idle", "run_mutants", "table"]

if __name__ == "__main__":
    sys.exit(main())
