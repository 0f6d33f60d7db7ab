"""Reading a solutions source: one text file per notebook holds its exercises, answers, checks and wrong answers.

    # %% [markdown]                  the question; the heading gives id and title: "## 04.1 · Two users"
    # %%                             the answer; students do not get what is between the markers
    ### BEGIN SOLUTION
    answer = 96
    ### END SOLUTION
    ### BEGIN STUB                   optional, after it: what students get instead of a gap, such as code
    # answer = broken()              with a bug in it; every line is a comment here
    ### END STUB
    # %%                             the check, alone in its cell
    lab.check("04.1", answer)
    # %% tags=["item"]               for authors and the builder only; not in any notebook
    item("04.1", kind="number", points=2, hints=[...], wrong=[wrong_answer(48, "M06", "...")])

A code item has probes instead of an expected answer. They are functions in the item's cell; the answer is their first
argument, their docstring says what is tried, and their result for the reference answer is the expected one:

    item("04.4", kind="code", points=5, hints=[...])

    @shared                                         what several probes use
    def make_graph(): ...
    @probe(points=2, cases=[(2.0,), (3.0,)])        {0} in the docstring is the first value of the case that failed
    def used_twice(backward, x):
        "A tensor used twice, at x = {0}"
        ...
    @probe(points=3, hidden=True)
    def ...
    @wrong("M06", "Your engine ...", score=2)       a program learners really write, and the points it still earns
    def backward(root): ...
    @right                                          another good program: must pass
    def backward(root): ...
    @look("It computes with the lab's own tensors.")     a hidden probe without points: True if an answer avoids the task. The
    def with_tensors(backward): ...                 class report then lists it, with this reason
    @avoiding                                       a program that does: must pass, and be listed
    def backward(root): ...

In a probe, `as_they_were = untouched(x, g)` notes tensors, and `as_they_were()` is False once an answer has written to them, even if it
has undone that, or left a hook. `unhooked(x)` is about hooks alone, for an answer that has to write (probe.py). Numbers are compared whatever their
dtype is: where a question asks for one, a probe returns `dtype_of(result)`. What a probe makes of a class that
the question hands out is of the class in the answer's notebook: a @shared class with its name becomes it, `own_class(answer, Node)` is it.

An item with a value may vary from student to student; variants.py explains how.

`read` runs the source in this process and returns the sheet; `problems` lists what is missing.
"""

from __future__ import annotations

import ast
import io
import json
import re
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograd_lab.tracing.sources import keep_source

from . import diagnoses, feedback, handed_out, plain, probe, spoken, variants
from .items import Item, Probe, Wrong, avoided, judge

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_STUB, END_STUB = "### BEGIN STUB", "### END STUB"
LEAST_WRONG, LEAST_WRONG_PROGRAMS, LEAST_RIGHT = 3, 5, 6
SEEDS = 20
"""Of each variant the build tries these; `python -m autograd_lab.course.bank --variants` tries 1,000."""
_HEADING = re.compile(
    r"^#+\s+(?P<id>\d\d\.\d+)\s*[·:.-]\s*(?P<title>.*?)\s*(?:\([\d.]+ points?\))?\s*$", re.MULTILINE
)


@dataclass
class Draft:
    """An item while its source is read: with the reference answer and the live wrong and right programs."""

    item: Item
    reference: Any = None
    checked: bool = False
    wrong: list[tuple[Wrong, Any]] = field(default_factory=list)
    """(entry of the bank, the wrong program itself or None for a value)."""
    right: list[Any] = field(default_factory=list)
    avoiding: list[Any] = field(default_factory=list)
    """Programs with the right results that avoid the task."""
    equivalent: dict[str, str] = field(default_factory=dict)
    """{equivalent mutant, as written in the report: why it does the same}."""
    answer_cell: int = -1
    """Number of the code cell (in `Sheet.code`) that holds the reference answer."""
    variant: Any = None
    """The function of its numbers, if it varies."""


@dataclass
class Sheet:
    """One solutions source, read and run."""

    name: str
    cells: list[dict[str, Any]]
    """The cells of the notebook, item cells left out: {"type", "source", "tags", "item": id, "role": "answer" | "check" | ""}."""
    metadata: dict[str, Any]
    drafts: list[Draft]
    code: list[str]
    """The code cells in order, as run."""

    @property
    def items(self) -> list[Item]:
        """All items, complete: with hidden probes and the results of every wrong answer."""
        return [draft.item for draft in self.drafts]

    def public(self) -> list[Item]:
        """The items as they are shipped: visible probes, and the wrong answers that these recognize."""
        return [public(item) for item in self.items]


def remember(sheet: Sheet, stored: Iterable[Item]) -> None:
    """Keep what is still needed from the items of the last build, `stored`.

    These are the stubs that were handed out before an item's present one (a stub is the same if only comments, docstring or
    layout have changed, and gaps with `...` need no memory), and numbers that differ by rounding only, as they do
    from one processor to another.
    """
    before = {item.id: item for item in stored}
    for item in sheet.items:
        if item.id not in before:
            continue
        old = before[item.id]
        item.expected = plain.settled(item.expected, old.expected, item.rtol)
        for one, was in zip(item.probes, old.probes, strict=False):
            one.expected = plain.settled(one.expected, was.expected, one.rtol)
        rtol = {name: one.rtol for one in item.probes for name in one.names()}
        for wrong, said in zip(item.wrong, old.wrong, strict=False):
            wrong.answer = plain.settled(wrong.answer, said.answer)
            wrong.outputs = {
                name: plain.settled(value, said.outputs.get(name), rtol.get(name, plain.RTOL))
                for name, value in wrong.outputs.items()
            }
        for stub in (*old.earlier, old.stub) if item.probes else ():
            if stub and not any(handed_out.same_code(stub, known) for known in item.stubs):
                item.earlier.append(stub)


def public(item: Item) -> Item:
    """An item without what must stay hidden. Hidden probes keep their points, so that totals are right."""
    visible = [p for p in item.probes if not p.hidden]
    keys = {key for p in visible for key in p.names()}
    bank = []
    for wrong in item.wrong:
        if not item.probes:
            bank.append(wrong)
            continue
        outputs = {key: value for key, value in wrong.outputs.items() if key in keys}
        if judge(item, outputs=outputs).state == "wrong":
            bank.append(replace(wrong, outputs=outputs))
    sealed = [
        Probe(name=f"hidden {i}", points=p.points, source="", hidden=True, cases=[])
        for i, p in enumerate((p for p in item.probes if p.hidden and not p.look), start=1)
    ]
    return replace(item, probes=[*visible, *sealed], wrong=bank)


# --- reading --------------------------------------------------------------------------------------


def read(source: Path) -> Sheet:
    """Read and run a solutions source. Raises ValueError, naming the cell, if it is malformed."""
    import jupytext

    notebook = jupytext.read(source, fmt="py:percent")
    sheet = Sheet(source.stem, [], dict(notebook.metadata.get("autograd_lab", {})), [], [])
    desk = Desk(sheet)
    title = ""
    for number, cell in enumerate(notebook.cells, start=1):
        tags = list(cell.metadata.get("tags", []))
        if "item" in tags:
            desk.define(cell.source, f"{source.name}, cell {number}")
            if not desk.draft.item.title:
                desk.draft.item.title = title
            continue
        entry = {"type": cell.cell_type, "source": cell.source, "tags": tags, "item": "", "role": ""}
        if cell.cell_type == "markdown":
            found = list(_HEADING.finditer(cell.source))
            if found:
                title = found[-1]["title"]
                desk.current = found[-1]["id"]
                desk.asked[desk.current] = entry
        else:
            entry["item"] = desk.current
            entry["role"] = "answer" if BEGIN in cell.source else "check" if _is_check(cell.source) else ""
            desk.run(cell.source, f"{source.name}, cell {number}", entry["role"] == "answer")
        sheet.cells.append(entry)
    for draft in sheet.drafts:
        _complete(draft)
        if draft.variant:
            _fill(draft, desk.asked.get(draft.item.id, {"source": ""}))
    return sheet


def _fill(draft: Draft, cell: dict[str, Any]) -> None:
    """Keep the question of an item that varies, and put today's numbers into the cell that asks it."""
    heading, _, draft.item.question = cell["source"].partition("\n")
    draft.item.question = draft.item.question.strip()
    try:
        cell["source"] = f"{heading}\n\n{variants.of(draft.item, None).question}"
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"{draft.item.id}: its question has something in braces that its variant does not give: {error}"
        ) from error


def _is_check(source: str) -> bool:
    return bool(re.fullmatch(r"\s*lab\.check\(.*\)\s*", source, re.DOTALL))


class Desk:
    """The environment that a source runs in: its namespace, and the functions for an item's cell."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.space: dict[str, Any] = {"__name__": "__main__"}
        self.current = ""  # the id of the last heading
        self.draft = Draft(Item("", "", 0))
        self.answers: dict[str, tuple[Any, int]] = {}
        self.answer_cell = -1
        self.stubs: dict[int, str] = {}
        self.asked: dict[str, dict[str, Any]] = {}
        """{item: the cell that asks it}."""

    def run(self, source: str, where: str, answer: bool) -> None:
        """Run a code cell; what it passes to lab.check is the reference answer."""
        self.sheet.code.append(source)
        if answer:
            self.answer_cell = len(self.sheet.code) - 1
        with catching() as given:
            execute(source, self.space, where)
        if BEGIN_STUB in source:
            self.stubs[self.answer_cell] = stub(source)
        for item_id, value in given:
            self.answers[item_id] = value, self.answer_cell
            for draft in self.sheet.drafts:
                self._hand_in(draft)

    def _hand_in(self, draft: Draft) -> None:
        if draft.item.id in self.answers and not draft.checked:
            (draft.reference, draft.answer_cell), draft.checked = self.answers[draft.item.id], True
            draft.item.stub = self.stubs.get(draft.answer_cell, "")

    def define(self, source: str, where: str) -> None:
        """Run an item's cell."""
        words = {
            "item": self.item, "shared": self.shared, "probe": self.probe, "wrong": self.wrong, "right": self.right,
            "look": self.look, "avoiding": self.avoiding,
            **variants.WORDS, **probe.namespace(),
        }  # fmt: skip
        self.cell = source
        self.prelude = ""
        space = self.space | words
        for node in _parsed(source, where):
            # each program has its own name to itself, as in a student's notebook: it may call itself, or make more of its own class
            own = dict(space) if _is_program(node) else space
            _execute(compile(ast.Module([node], []), f"<{where}>", "exec"), own, where)

    def item(
        self, item_id: str, *, kind: str, points: float = 0, hints: tuple[str, ...] | list[str] = (), wrong: tuple[Wrong, ...] | list[Wrong] = (),
        accept: tuple[Any, ...] | list[Any] = (), partial: bool = False, rtol: float = plain.RTOL,
        equivalent: dict[str, str] | None = None, variant: Any = None,
    ) -> None:  # fmt: skip
        """Begin an item; the probes and programs that follow in the cell belong to it. A `variant` gives hints and wrong answers."""
        if variant is not None:
            today = variant()
            hints, wrong, accept = today.hints, today.wrong, today.accept
        made = Item(
            item_id,
            kind,
            points,
            hints=list(hints),
            accept=[plain.plain(a) for a in accept],
            partial=partial,
            rtol=rtol,
            variant=_source_of(self.cell, variant.__name__) if variant else "",
        )
        self.draft = Draft(
            made, wrong=[(w, None) for w in wrong], equivalent=dict(equivalent or {}), variant=variant
        )
        self.sheet.drafts.append(self.draft)
        self._hand_in(self.draft)

    def shared(self, made: Any) -> Any:
        """A function or class that the following probes use. It is shipped with them, so it must not reveal answers."""
        self.prelude += _source_of(self.cell, made.__name__) + "\n\n"
        return made

    def probe(
        self,
        points: float,
        *,
        hidden: bool = False,
        cases: list[tuple[Any, ...]] | None = None,
        rtol: float = plain.RTOL,
    ) -> Callable[[Any], Any]:
        """A function that tries the answer (its first argument) and returns plain data."""

        def keep(function: Any) -> Any:
            says = (function.__doc__ or "").strip().split("\n")[0]
            # as read from the file: a tuple is a list there, and the bank's programs must get the same as students'
            arguments = json.loads(json.dumps([list(case) for case in cases or [()]]))
            text = self.prelude + _source_of(self.cell, function.__name__)
            self.draft.item.probes.append(
                Probe(function.__name__, points, text, says, arguments, [], hidden, rtol)
            )
            return function

        return keep

    def wrong(self, misconception: str, says: str, score: float = 0) -> Callable[[Any], Any]:
        """A wrong program of the bank."""

        def keep(program: Any) -> Any:
            self.draft.wrong.append((Wrong(says, misconception, score), program))
            return program

        return keep

    def right(self, program: Any) -> Any:
        """Another right program."""
        self.draft.right.append(program)
        return program

    def look(self, reason: str) -> Callable[[Any], Any]:
        """A function that says, with True, whether the answer (its argument) avoids the task; `reason` says how."""

        def keep(function: Any) -> Any:
            text = self.prelude + _source_of(self.cell, function.__name__)
            self.draft.item.probes.append(Probe(function.__name__, 0, text, hidden=True, look=reason))
            return function

        return keep

    def avoiding(self, program: Any) -> Any:
        """A program that gives the right results, and avoids the task."""
        self.draft.avoiding.append(program)
        return program


@contextmanager
def catching() -> Iterator[list[tuple[str, Any]]]:
    """A context manager: lab.check stores what it is given instead of judging it."""
    given: list[tuple[str, Any]] = []
    feedback.LISTENERS.append(given)
    try:
        yield given
    finally:
        feedback.LISTENERS.pop()


def execute(source: str, space: dict[str, Any], where: str) -> None:
    """Run the text of a cell; magics are left out. Functions in it keep their source. What it prints is for the notebook, not for the terminal."""
    lines = [line if not re.match(r"\s*[%!]", line) else "" for line in source.splitlines()]
    text = _remembered("\n".join(lines) + "\n", where)
    try:
        code = compile(text, f"<{where}>", "exec")
    except Exception as error:
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    with redirect_stdout(io.StringIO()):
        _execute(code, space, where)


def _execute(code: types.CodeType, space: dict[str, Any], where: str) -> None:
    try:
        exec(code, space)
    except Exception as error:
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error


def _remembered(text: str, where: str) -> str:
    """`text`, which is from now on the source of the functions in it."""
    keep_source(f"<{where}>", text)
    return text


def _parsed(source: str, where: str) -> list[ast.stmt]:
    try:
        return ast.parse(_remembered(source, where)).body
    except SyntaxError as error:
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error


def _is_program(node: ast.stmt) -> bool:
    """Whether it is a program of the bank, below @wrong or @right."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return False
    called = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(isinstance(one, ast.Name) and one.id in ("wrong", "right", "avoiding") for one in called)


def _source_of(cell: str, name: str) -> str:
    """The code of a function or class; of a variant with its decorator, which says what its numbers may be."""
    for node in ast.parse(cell).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            varies = [one.lineno for one in node.decorator_list if "variant" in ast.unparse(one)]
            first = min([node.lineno, *varies])
            return textwrap.dedent("\n".join(cell.splitlines()[first - 1 : node.end_lineno])) + "\n"
    raise ValueError(f"no function or class {name} at the top of its item's cell")


def _complete(draft: Draft) -> None:
    """Compute the expected results, and those of each wrong program of the bank."""
    item = draft.item
    if not item.probes:
        item.expected = plain.plain(draft.reference) if draft.checked else None
    else:
        outputs = probe.run(item.probes, draft.reference)
        for one in item.probes:
            one.expected = [outputs[key] for key in one.names()]
        item.points = sum(one.points for one in item.probes)
        for entry, program in draft.wrong:
            if program is not None:
                entry.outputs = probe.run([p for p in item.probes if not p.look], program)
    item.wrong = [entry for entry, _ in draft.wrong]


# --- what is still missing ------------------------------------------------------------------------


def problems(sheet: Sheet) -> list[str]:
    """What is missing or wrong in a sheet, one line each."""
    found = []
    defined = [draft.item.id for draft in sheet.drafts]
    asked = [cell["item"] for cell in sheet.cells if cell["role"] == "check"]
    found += [
        f"{item_id}: checked, but not defined in an item cell" for item_id in asked if item_id not in defined
    ]
    found += [f"{item_id}: defined twice" for item_id in sorted({d for d in defined if defined.count(d) > 1})]
    for draft in sheet.drafts:
        found += [f"{draft.item.id}: {text}" for text in _owed(draft, sheet.name.split("_")[0])]
        found += [f"{draft.item.id}: {text}" for text in _false_of_some(sheet, draft)]
    total = sum(item.points for item in sheet.items)
    if sheet.metadata.get("points") != total:
        found.append(f"metadata points: {sheet.metadata.get('points')}, but the items are worth {total:g}")
    return found


def _owed(draft: Draft, notebook: str) -> Iterator[str]:
    from .items import KINDS

    item = draft.item
    if item.id.split(".")[0] != notebook:
        yield f"its id does not begin with {notebook}"
    if item.kind not in KINDS:
        yield f"kind {item.kind!r} is none of {', '.join(KINDS)}"
    if not draft.checked:
        yield "no cell checks it"
        return
    if item.points <= 0:
        yield "worth no points"
    if not item.title:
        yield 'no heading "## 04.1 · Title" above it'
    if len(item.hints) != 3:
        yield f"{len(item.hints)} hints, 3 wanted: what to look at, how to think, nearly the answer"
    for text in (
        *item.hints,
        *(wrong.says for wrong in item.wrong),
        *(p.look or p.says for p in item.probes),
    ):
        yield from (f"nobody says {found}, in {text[:60]!r}" for found in spoken.stiff(text))
    if item.probes:
        yield from _owed_code(draft)
    else:
        yield from _owed_values(draft)


def _owed_values(draft: Draft) -> Iterator[str]:
    item = draft.item
    if len(item.wrong) < LEAST_WRONG:
        yield f"{len(item.wrong)} wrong answers in the bank, {LEAST_WRONG} wanted"
    for wrong in item.wrong:
        verdict = judge(item, wrong.answer)
        if verdict.state != "wrong" or verdict.says != wrong.says:
            yield f"the wrong answer {plain.show(wrong.answer)} is {verdict.state}: {verdict.says}"
    for answer in item.accept:
        if judge(item, answer).state != "passed":
            yield f"{plain.show(answer)} should be accepted"
    if item.variant:
        yield from _owed_variant(item)


def _owed_variant(item: Item) -> Iterator[str]:
    today = variants.of(item, None)
    if not plain.same(today.expected, item.expected, item.rtol):
        yield f"its variant gives {plain.show(today.expected)} with today's numbers, and the reference answer {plain.show(item.expected)}"
    if today.question == item.question:
        yield "its question shows none of the numbers of its variant"
    yield from variants.doubtful(item, range(SEEDS))


def _owed_code(draft: Draft) -> Iterator[str]:
    item = draft.item
    programs = [(wrong, program) for wrong, program in draft.wrong if program is not None]
    if len(programs) < LEAST_WRONG_PROGRAMS:
        yield f"{len(programs)} wrong programs in the bank, {LEAST_WRONG_PROGRAMS} wanted"
    if len(draft.right) < LEAST_RIGHT:
        yield f"{len(draft.right)} other right programs, {LEAST_RIGHT} wanted"
    if not any(p.hidden for p in item.probes):
        yield "no hidden probe: an answer made for the visible ones would pass"
    for p in item.probes:
        if p.says and _docstring_is_cut(p.source):
            yield f"probe {p.name}: its docstring ends with the first line; what follows is a string of its own"
        for key, want in zip(p.names(), p.expected, strict=True):
            if isinstance(want, dict) and "error" in want:
                yield f"probe {key}: the reference answer raises {plain.show(want)}"
    for number, (wrong, _) in enumerate(programs, start=1):
        verdict = judge(item, outputs=wrong.outputs)
        what = f"wrong program {number} ({wrong.id or wrong.says[:30]})"
        if verdict.state != "wrong":
            yield f"{what} passes every probe"
        elif verdict.says != wrong.says:
            yield f"{what} is taken for another: {verdict.says}"
        elif verdict.score != wrong.score:
            yield f"{what} earns {verdict.score:g} points; it says {wrong.score:g}"
    yield from _owed_diagnoses(item)
    for number, program in enumerate(draft.right, start=1):
        outputs = probe.run(item.probes, program)
        verdict = judge(item, outputs=outputs)
        if verdict.state != "passed":
            yield f"right program {number} is refused: {verdict.says}"
        yield from (
            f"right program {number} is said to avoid the task: {how}" for how in avoided(item, outputs)
        )
    yield from _owed_looks(draft)


def _docstring_is_cut(source: str) -> bool:
    """Whether a text follows the docstring of the last function, the probe itself."""
    *_, function = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    return all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in function.body[:2])


def _owed_looks(draft: Draft) -> Iterator[str]:
    item, seen = draft.item, set()
    for number, program in enumerate(draft.avoiding, start=1):
        outputs = probe.run(item.probes, program)
        seen.update(how := avoided(item, outputs))
        if not how or judge(item, outputs=outputs).state != "passed":
            yield f"avoiding program {number} is not right, or nobody is told of it"
    for p in item.probes:
        if p.look and (p.look not in seen or p.expected != [False]):
            yield f"{p.name}: no program in the bank avoids the task like this, or the reference answer does"


def _false_of_some(sheet: Sheet, draft: Draft) -> Iterator[str]:
    """Sentences of the bank about code that a program with the same results need not have."""
    if not draft.item.probes or not draft.checked:
        return
    answer = sheet.code[draft.answer_cell]
    question = " ".join(
        cell["source"]
        for cell in sheet.cells
        if cell["type"] == "markdown" and draft.item.id in cell["source"]
    )
    programs = [
        probe.text_of(program) for program in (*draft.right, *(program for _, program in draft.wrong))
    ]
    for says in dict.fromkeys(wrong.says for wrong, _ in draft.wrong):
        for code in diagnoses.other_code(says, answer, stub(answer), question, programs):
            yield f"not every program with these results has {code!r}, in {says[:60]!r}"


def _owed_diagnoses(item: Item) -> Iterator[str]:
    """Two wrong programs with the same results in the notebook must hear the same, or a visible probe must tell them apart."""
    shipped = public(item)
    visible = [key for p in item.probes if not p.hidden for key in p.names()]
    for number, wrong in enumerate(item.wrong, start=1):
        verdict = judge(shipped, outputs={key: wrong.outputs[key] for key in visible if key in wrong.outputs})
        if verdict.state == "wrong" and (verdict.says, verdict.misconception) != (wrong.says, wrong.id):
            yield f"in the notebook wrong program {number} ({wrong.id or wrong.says[:30]}) is taken for another: {verdict.says}"


# --- what students get ----------------------------------------------------------------------------


def stub(source: str) -> str:
    """A cell as students get it: what is between the markers becomes a gap of the same shape.

    Names that are assigned there become `name = ...`; a part that returns becomes `return ...`; anything else a line `...`.
    A stub written after it replaces the gap.
    """
    own = BEGIN_STUB in source
    out: list[str] = []
    region: list[str] | None = None
    written = False
    for line in source.splitlines():
        mark = line.strip()
        if mark == BEGIN:
            region = []
        elif mark == END and region is not None:
            out += [] if own else _gap(region)
            region = None
        elif mark in (BEGIN_STUB, END_STUB):
            written = mark == BEGIN_STUB
        elif region is not None:
            region.append(line)
        else:
            out.append(re.sub(r"^(\s*)# ?", r"\1", line) if written else line)
    if region is not None or written:
        raise ValueError(f"{BEGIN if region is not None else BEGIN_STUB} without its end")
    return "\n".join(out).strip("\n")


def solution(source: str) -> str:
    """A cell as in the executed solutions: without a written stub."""
    return re.sub(rf"^{BEGIN_STUB}\n.*?^{END_STUB}\n?", "", source, flags=re.DOTALL | re.MULTILINE).strip(
        "\n"
    )


def _gap(lines: list[str]) -> list[str]:
    first = next(line for line in lines if line.strip())
    indent = first[: len(first) - len(first.lstrip())]
    tree = ast.parse(
        textwrap.dedent("\n".join(lines)).replace("return ", "_return = ").replace("yield ", "_return = ")
    )
    names: list[str] = []
    returns = False
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            for part in parts:
                if isinstance(part, ast.Name) and part.id == "_return":
                    returns = True
                elif isinstance(part, ast.Name) and part.id not in names:
                    names.append(part.id)
    if returns or any(isinstance(n, ast.Name) and n.id == "_return" for n in ast.walk(tree)):
        return [f"{indent}return ...  {probe.STUB}"]
    if names and all(isinstance(node, ast.Assign) for node in tree.body):
        gap = f"{indent}{', '.join(names)} = {', '.join('...' for _ in names)}"
        return [f"{gap}  {probe.STUB}" if indent else gap]
    return [f"{indent}...  {probe.STUB}"]
