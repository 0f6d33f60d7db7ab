"""A page about the class: which items were hard, which discriminate, what the class believes, which submissions to look at.

    write(book, course, folder)    RESULTS/report.html

It is for the instructor; it holds students' names and code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from autograd_lab.course.ballots import BALLOTS
from autograd_lab.course.items import Item, avoided
from autograd_lab.course.misconceptions import MISCONCEPTIONS
from autograd_lab.course.plain import show

from . import feedback, pages, tables
from .course import Course
from .feedback import MARKS, STOPPED, Prompts
from .files import put
from .gradebook import Entry, Gradebook
from .model import Limits, Result, Run
from .pages import foreign, plain, said
from .policy import names_of
from .similar import Code, Pair, Same, code_of, same, similar
from .variants import MARK, Variants, borrowed, some

NAME = "report.html"
FEWEST = 5
"""With fewer submissions than this, a correlation says nothing."""
REFUSED = (
    "PermissionError", "BlockingIOError", "ConnectionRefusedError", "ConnectionError", "gaierror", "OSError", "URLError",
    "timeout",
)  # fmt: skip
"""Errors of code that reaches for other people's files, the network, or more processes than allowed."""


# --- figures ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ItemFigures:
    """How an item did in this class."""

    notebook: str
    item: str
    count: int
    """Submissions of its notebook that were graded."""
    share: float | None
    """Mean share of its points: the lower, the harder."""
    discrimination: float | None
    """Correlation of its points with those of the notebook's other items."""
    why: str = ""
    """Why discrimination is undefined."""
    states: Mapping[str, int] = field(default_factory=dict)


def earned(entry: Entry, one: Result) -> float:
    """What an answer earned, lateness aside."""
    override = entry.overrides.get(one.item)
    return override.points if override else one.score


def item_figures(entries: Iterable[Entry]) -> list[ItemFigures]:
    """The figures of all items, in the notebooks' order. Submissions that are missing or unreadable do not count."""
    books: dict[str, list[Entry]] = {}
    order: dict[str, dict[str, None]] = {}
    for entry in entries:
        if entry.status == "graded":
            books.setdefault(entry.notebook, []).append(entry)
            order.setdefault(entry.notebook, {}).update(dict.fromkeys(one.item for one in entry.results))
    return [
        _figures(notebook, item, books[notebook])
        for notebook in sorted(books)
        for item in sorted(order[notebook])
    ]


def _figures(notebook: str, item: str, entries: list[Entry]) -> ItemFigures:
    own, rest, shares = [], [], []
    states: Counter[str] = Counter()
    for entry in entries:
        one = next((one for one in entry.results if one.item == item), None)
        if one is None:
            continue
        own.append(earned(entry, one))
        rest.append(sum(earned(entry, other) for other in entry.results if other is not one))
        if one.points:
            shares.append(own[-1] / one.points)
        states[feedback.state(entry, one)] += 1
    value, why = correlation(own, rest)
    return ItemFigures(notebook, item, len(own), fmean(shares) if shares else None, value, why, states)


def correlation(own: Sequence[float], rest: Sequence[float]) -> tuple[float | None, str]:
    """Pearson's correlation, or None and why there is none."""
    if len(own) < FEWEST:
        return None, f"fewer than {FEWEST} submissions"
    a, b = [x - fmean(own) for x in own], [x - fmean(rest) for x in rest]
    spread_a, spread_b = math.fsum(x * x for x in a), math.fsum(x * x for x in b)
    if spread_a < 1e-12:
        return None, "all have the same points in it"
    if spread_b < 1e-12:
        return None, "all have the same points in the others"
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(spread_a * spread_b), ""


@dataclass(frozen=True)
class Belief:
    """A misconception found in this class."""

    id: str
    students: tuple[str, ...]
    items: tuple[str, ...]
    """Where it showed, most often first."""


def beliefs(entries: Iterable[Entry]) -> list[Belief]:
    """The misconceptions of the class, most frequent first."""
    students: dict[str, set[str]] = {}
    items: dict[str, Counter[str]] = {}
    for entry in entries:
        for one in entry.results:
            if one.misconception:
                students.setdefault(one.misconception, set()).add(entry.student)
                items.setdefault(one.misconception, Counter())[one.item] += 1
    found = [
        Belief(name, tuple(sorted(who)), tuple(sorted(items[name], key=lambda i: (-items[name][i], i))))
        for name, who in students.items()
    ]
    return sorted(found, key=lambda belief: (-len(belief.students), belief.id))


def slips(
    entries: Iterable[Entry], items: Mapping[str, Item], of: Variants | None = None
) -> list[tuple[str, str, int]]:
    """Known mistakes without a misconception that at least two students made: (item, what refutes it, how many).

    In a class with copies `of` its own, a mistake is one whatever the numbers; what refutes it has the course's.
    """
    count: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        for one in entry.results:
            item = items.get(one.item)
            if item is None or one.state != "wrong" or one.misconception:
                continue
            (own,) = of.own([item], entry.student) if of else [item]
            known = dict(zip((w.says for w in own.wrong), (w.says for w in item.wrong), strict=True))
            if one.says in known:
                count[one.item, known[one.says]] += 1
    return [(*key, n) for key, n in sorted(count.items(), key=lambda pair: (-pair[1], pair[0])) if n > 1]


@dataclass(frozen=True)
class Look:
    """A submission that an instructor should look at."""

    student: str
    notebook: str
    what: str
    """Its category."""
    says: str


def looks(entry: Entry, run: Run | None, items: Mapping[str, Item]) -> list[Look]:
    """The reasons why an instructor should look at a submission; `items` by id."""
    found = []

    def say(what: str, says: str) -> None:
        found.append(Look(entry.student, entry.notebook, what, says))

    if entry.status == "unreadable":
        say("unreadable", entry.results[0].says if entry.results else "")
        return found
    if entry.status == "missing":
        if entry.notes:
            say("another notebook handed in", " ".join(entry.notes))
        return found
    stopped = [one for one in entry.results if one.state in STOPPED and one.item not in entry.overrides]
    for state in sorted({one.state for one in stopped}):
        say(MARKS[state][2], ", ".join(one.item for one in stopped if one.state == state))
    if run is not None:
        refused = [cell for cell in run.cells if cell.error.split(":")[0] in REFUSED]
        for cell in refused[:3]:
            say("refused by the sandbox", f"{cell.id}: {cell.error}")
        if run.state != "ok" and not stopped:
            say(MARKS[run.state][2], "in a cell that no item needs")
        if run.dropped:
            say("printed very much", f"{run.dropped:,} characters were not kept")
    for one in entry.results:
        answer = run.answers.get(one.item) if run is not None and one.score else None
        if answer and one.item in items and one.item not in entry.overrides:
            for how in avoided(items[one.item], answer.outputs):
                say("avoids the task", f"{one.item}: {how}")
    for note in entry.notes:
        if note.startswith(MARK):
            say("another copy", note.removeprefix(MARK))
    if rest := [note for note in entry.notes if not note.startswith(MARK)]:
        say("note", " ".join(rest))
    return found


def strangers(course: Course, given: Mapping[str, Mapping[str, Any]]) -> list[Look]:
    """The answers to items that vary that are none to the student's own numbers, and whose they are.

    given   {item that varies: {student: answer}}
    """
    found: list[Look] = []
    for notebook, items in course.items.items():
        for item in items:
            answers = given.get(item.id, {})
            for one in borrowed(item, answers, course.variants) if answers and course.variants else ():
                fits = (
                    f"fits the numbers of {some(one.owners)}, not those of {one.student}"
                    if one.owners
                    else f"is also what {some(one.same)} answered, to other numbers"
                )
                says = f"{item.id}: {show(answers[one.student])} {fits}"
                found.append(Look(one.student, notebook, "another's numbers", f"{says}."))
    return found


def stopped(run: Run) -> str:
    """What a run was stopped by, in the words of sandbox.HOLDS, or "time"; "" if by nothing."""
    lost = {why for answer in run.answers.values() for why in answer.lost.values()}
    if run.state == "memory" or "memory" in lost:
        return "memory of all processes"
    if any(cell.state == "memory" for cell in run.cells):
        return "memory of a process"
    if run.state == "timeout" or "timeout" in lost or any(cell.state == "timeout" for cell in run.cells):
        return "time"
    return ""


# --- the page -----------------------------------------------------------------------------------------


def page(book: Gradebook, course: Course, *, links: bool = True) -> str:
    """The report; `links` to the students' pages."""
    entries = book.entries()
    prompts = Prompts(course)
    items = {item.id: item for each in course.items.values() for item in each}
    codes: dict[str, dict[str, Code]] = {}
    seen: list[Look] = []
    given: dict[str, dict[str, Any]] = {}
    counts: Counter[str] = Counter()
    for entry in entries:
        stored = book.stored_run(entry.student, entry.notebook)
        if stored:
            codes.setdefault(entry.notebook, {})[entry.student] = code_of(stored[0])
            counts[stopped(stored[1])] += 1
            for item, answer in stored[1].answers.items():
                if item in items and items[item].variant and answer.state == "given":
                    given.setdefault(item, {})[entry.student] = answer.value
        seen += looks(entry, stored[1] if stored else None, items)
    seen += strangers(course, given)
    pairs = [
        pair
        for notebook, own in sorted(codes.items())
        if notebook in course.released
        for pair in similar(notebook, own.values(), course.released[notebook])
    ]
    alike = [
        group
        for notebook, own in sorted(codes.items())
        if notebook in course.released
        for group in same(notebook, own.values(), course.released[notebook], _of(course, notebook))
    ]
    who = _Who(links, names_of(book.setting))
    students = {entry.student for entry in entries}
    body = [
        '<p class="dim">Class report</p>',
        f"<h1>{_count(len(students), 'student')}, {_count(len({e.notebook for e in entries}), 'notebook')}</h1>",
        _overview(entries, prompts),
        '<h2 id="beliefs">What to reteach</h2>', _beliefs(entries, items, who, course.variants),
        '<h2 id="items">Items</h2>', _items(entries, prompts),
        '<h2 id="look">Who needs a look</h2>', _looks(seen, who),
        '<h2 id="similar">Similar submissions</h2>', _same(alike, who), _similar(pairs, codes, who),
        *_limits(book, counts),
    ]  # fmt: skip
    return pages.page("Class report", "\n".join(body))


def write(book: Gradebook, course: Course, folder: Path, *, links: bool = True) -> Path:
    """Write the report into `folder`; its path."""
    path = folder / NAME
    put(path, page(book, course, links=links))
    return path


class _Who:
    """Students' names, with links to their pages."""

    def __init__(self, links: bool, names: Mapping[str, str]) -> None:
        self._links, self._names = links, names

    def __call__(self, student: str, notebook: str = "") -> str:
        name = pages.who(student, self._names.get(student, ""), 80)
        if not self._links:
            return name
        at = f"{feedback.FOLDER}/{quote(tables.file_name(student))}.html" + (
            f"#{quote(notebook)}" if notebook else ""
        )
        return f'<a href="{plain(at)}">{name}</a>'

    def all(self, students: Sequence[str], most: int = 12) -> str:
        more = f" and {len(students) - most} more" if len(students) > most else ""
        return ", ".join(self(student) for student in students[:most]) + more


def _count(n: int, word: str) -> str:
    return f"{n} {word}" + ("" if n == 1 else "s")


def _overview(entries: Sequence[Entry], prompts: Prompts) -> str:
    books: dict[str, list[Entry]] = {}
    for entry in entries:
        books.setdefault(entry.notebook, []).append(entry)
    rows = []
    for notebook, own in sorted(books.items()):
        status = Counter(entry.status for entry in own)
        graded = [entry.total / entry.most for entry in own if entry.status == "graded" and entry.most]
        rows.append([
            plain(prompts.titles.get(notebook, notebook)),
            *(str(status[name]) for name in ("graded", "missing", "unreadable")),
            str(sum(1 for entry in own if entry.days_late)),
            f"{fmean(graded):.0%}" if graded else "\u2013", f"{median(graded):.0%}" if graded else "\u2013",
        ])  # fmt: skip
    counts = Counter(
        feedback.state(entry, one) for entry in entries if entry.status == "graded" for one in entry.results
    )
    answers = ", ".join(
        f"{n} {MARKS[name][2]}" for name, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    return (
        pages.table(
            ["notebook", "graded", "missing", "unreadable", "late", "mean", "median"],
            rows,
            (1, 2, 3, 4, 5, 6),
        )
        + f"<p>Answers: {answers or 'none'}.</p>"
    )


def _beliefs(
    entries: Sequence[Entry], items: Mapping[str, Item], who: _Who, of: Variants | None = None
) -> str:
    found = beliefs(entries)
    if not found:
        return "<p>No wrong answer here is one that a known misconception gives.</p>"
    first = found[0]
    ask = _ask(first.id)
    parts = []
    if ask:
        parts.append(
            f"<p>Begin with {ask}: {_count(len(first.students), 'student')} "
            f"answered as if <em>{plain(MISCONCEPTIONS[first.id].believes)}</em> (notebook {plain(MISCONCEPTIONS[first.id].home)}).</p>"
        )
    rows = []
    for belief in found:
        about = MISCONCEPTIONS.get(belief.id)
        rows.append([
            str(len(belief.students)), _whole(belief.id), plain(about.believes) if about else "",
            ", ".join(map(_whole, belief.items)), plain(about.home) if about else "", _ask(belief.id), who.all(belief.students),
        ])  # fmt: skip
    parts.append(
        pages.table(
            ["students", "id", "they answer as if", "items", "notebook", "ask the class", "who"], rows, (0,)
        )
    )
    rows = [[str(n), _whole(item), said(says)] for item, says, n in slips(entries, items, of)]
    if rows:
        parts.append("<h4>Other mistakes that more than one made</h4>")
        parts.append(pages.table(["students", "item", "what is said against it"], rows, (0,)))
    return "\n".join(parts)


def _whole(id_: str) -> str:
    """An id that no line break can split."""
    return f'<span class="line">{plain(id_)}</span>'


def _ask(misconception: str) -> str:
    return (
        f"<code class='line'>lab.classroom(&quot;{plain(misconception)}&quot;)</code>"
        if misconception in BALLOTS
        else ""
    )


def _items(entries: Sequence[Entry], prompts: Prompts) -> str:
    figures = item_figures(entries)
    if not figures:
        return "<p>Nothing was graded.</p>"
    rows = []
    for one in figures:
        heading = prompts.asked.get(one.item, ("", ""))[0] or one.item
        share = f"{one.share:.0%}" if one.share is not None else "\u2013"
        width = round(100 * one.share) if one.share is not None else 0
        value = f"{round(one.discrimination, 2) + 0.0:.2f}" if one.discrimination is not None else "\u2013"
        note = one.why or ("low" if one.discrimination is not None and one.discrimination < 0.1 else "")
        states = ", ".join(
            f"{n} {MARKS[name][2]}" for name, n in sorted(one.states.items(), key=lambda p: (-p[1], p[0]))
        )
        rows.append([
            pages.inline(heading), str(one.count),
            f'<span class="line"><span class="bar" aria-hidden="true"><i style="width:{width}%"></i></span> {share}</span>',
            value, f'<span class="dim">{plain(note)}</span>', f'<span class="dim">{states}</span>',
        ])  # fmt: skip
    return (
        "<p><strong>Points</strong>: the mean share of an item's points; the lower, the harder. <strong>Discrimination</strong>: the "
        "correlation of its points with those of the notebook's other items; near 1, those who know the rest get it right; near 0 "
        "or below, getting it right has nothing to do with the rest, and the item deserves a second look. Without missing and "
        "unreadable submissions; points given by hand count, lateness does not.</p>"
        + pages.table(["item", "n", "points", "discrimination", "", "answers"], rows, (1, 3))
    )


def _looks(seen: Sequence[Look], who: _Who) -> str:
    if not seen:
        return "<p>Nobody: all submissions could be read and ran to their end.</p>"
    order = {what: -n for what, n in Counter(one.what for one in seen).items()}
    order["note"] = 1  # mostly harmless: last
    rows = [
        [plain(one.what), who(one.student, one.notebook), plain(one.notebook), foreign(one.says, 400)]
        for one in sorted(seen, key=lambda one: (order[one.what], one.what, one.student, one.notebook))
    ]
    return pages.table(["what", "student", "notebook", ""], rows)


def _limits(book: Gradebook, counts: Mapping[str, int]) -> list[str]:
    """What held the submissions, as far as that was noted when they ran."""
    held: dict[str, list[str]] = book.setting("means", {})
    if not held:
        return []
    stored = book.setting("limits", {})
    known = Limits(**{one.name: stored[one.name] for one in fields(Limits) if one.name in stored})
    most = {
        "memory of a process": _size(known.memory),
        "memory of all processes": _size(known.memory),
        "number of processes": f"{known.processes}",
        "size of a file": _size(known.file),
        "size of all files": _size(known.folder),
        "number of open files": f"{known.files}",
    }
    rows = [
        [plain(what), most.get(what, ""), plain(", ".join(names)), str(counts[what] or "")]
        for what, names in held.items()
    ]
    rows.append(["time", f"{known.job_wall:g} s", "watched", str(counts["time"] or "")])
    return [
        '<h2 id="limits">What held the submissions</h2>',
        "<p>The limits of a submission, what kept it within them (the kernel, by a cgroup or by limits of a process; the grader, which "
        "watches it; or none of them), and how many submissions were stopped by it.</p>",
        pages.table(["limit", "at most", "kept by", "stopped"], rows, (1, 3)),
    ]


def _size(amount: int) -> str:
    return f"{amount / 2**30:g} GiB" if amount >= 1 << 30 else f"{amount / 2**20:g} MiB"


def _of(course: Course, notebook: str) -> dict[str, str]:
    """The course's own answers to the items of a notebook."""
    return {
        item.id: course.solutions[item.id] for item in course.items[notebook] if item.id in course.solutions
    }


def _same(groups: Sequence[Same], who: _Who) -> str:
    """The groups with one and the same long answer; "" if there are none."""
    if not groups:
        return ""
    rows = []
    for group in groups:
        what = (
            f"{len(group.students)} handed in the course's own solution"
            if group.of_the_course
            else f"{len(group.students)} handed in the same"
        )
        rows.append(
            [
                _whole(group.item or "own cells"),
                plain(what),
                who.all(group.students, 40),
                plain(group.notebook),
            ]
        )
    about = (
        "<p>Long answers that differ in names, layout, comments, annotations, lines that print and the order of functions alone. They are listed however alike the class is; that many have one "
        "points to one source.</p>"
    )
    return about + pages.table(["item", "what", "who", "notebook"], rows)


def _similar(
    pairs: Sequence[Pair], codes: Mapping[str, Mapping[str, Code]], who: _Who, most: int = 40
) -> str:
    about = (
        "<p>Pairs whose code is clearly more alike than nearest classmates usually are here, whatever things are called and however "
        "they are laid out; what the notebook gives and what many have does not count, and short answers are not compared. Similar "
        "code has many causes: work in pairs, a shared example. This is where to look, not what happened.</p>"
    )
    if not pairs:
        return about + "<p>There are no such pairs.</p>"
    parts = [about]
    for pair in pairs[:most]:
        where = ", ".join(item or "own cells" for item in pair.items)
        sides = []
        for student in (pair.one, pair.other):
            own = codes[pair.notebook][student].parts
            text = "\n\n\n".join(own[item] for item in pair.items if item in own)
            sides.append(f"<td><p>{who(student, pair.notebook)}</p>{pages.block(text)}</td>")
        parts.append(
            f"<details><summary>{foreign(pair.one, 80)} and {foreign(pair.other, 80)}: {pair.similarity:.0%} alike in "
            f'{plain(pair.notebook)} <span class="dim">({plain(where)})</span></summary>'
            f'<div class="wide"><table class="pair"><tr>{"".join(sides)}</tr></table></div></details>'
        )
    if len(pairs) > most:
        parts.append(f"<p>And {len(pairs) - most} more.</p>")
    return "\n".join(parts)
