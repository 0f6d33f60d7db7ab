"""A page for each student: the questions, what was wrong and why, and the smallest case that shows it, to step through.

    write(book, course, folder, make_runner)    RESULTS/feedback/<student>.html, if it has changed
    version(entries)                            what a page says, to compare it with the page that the student has

If an answer fails on a case that the notebook shows, the student's notebook runs once more in the same sandbox, with probes that record
that case instead of judging it; the trace comes back as text, and a separate process draws it. For other answers with a known
misconception, the program of `lab.classroom` that refutes it is recorded.

A student may read the whole page, so of hidden probes it contains only what scoring.py reveals: their category and points. They are not run
here at all, and nothing that the student's code printed while they ran is used.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from autograd_lab._version import __version__
from autograd_lab.course import plain as data
from autograd_lab.course.ballots import BALLOTS
from autograd_lab.course.items import Item, Probe, difference
from autograd_lab.course.misconceptions import MISCONCEPTIONS

from . import pages, tables
from .course import Course
from .files import put
from .gradebook import Entry, Gradebook
from .model import Answer, Job, Result, Run, Runner
from .pages import foreign, markdown, plain, said
from .policy import names_of

if TYPE_CHECKING:
    from autograd_lab.tracing import Trace

PAGES = 1
"""Incremented when the same results give a different page."""
FOLDER = "feedback"
MOST_RECORD = 400_000
"""Characters of a trace; a longer one is not worth stepping through."""
MOST_EVENTS = 2_000
PATIENCE = 30.0
"""Seconds for drawing one trace."""
_PART = 4_000  # characters of a trace in one text of an answer: fewer than engine.TEXT
STOPPED = {"timeout", "memory", "died"}
MARKS = {
    "passed": ("good", "\u2713", "right"),
    "partly": ("part", "\u25d0", "partly right"),
    "wrong": ("bad", "\u2717", "not right"),
    "not attempted": ("", "\u2013", "not attempted"),
    "error": ("bad", "!", "stopped with an error"),
    "timeout": ("bad", "!", "ran too long"),
    "memory": ("bad", "!", "out of memory"),
    "died": ("bad", "!", "ended its process"),
    "missing": ("", "\u2013", "not handed in"),
    "unreadable": ("bad", "!", "unreadable"),
    "overridden": ("part", "\u270e", "graded by hand"),
}
"""{state: class of the page, sign, words}."""


# --- recording the cases that failed ------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """A visible case on which an answer failed."""

    student: str
    notebook: str
    item: str
    probe: str
    case: int


def failures(entry: Entry, course: Course) -> list[Failure]:
    """The cases of a submission that can be recorded: visible ones whose code terminated."""
    items = {item.id: item for item in course.items.get(entry.notebook, ())}
    found = []
    for one in entry.results:
        probe = next((p for p in _probes(items, one.item) if p.name == one.probe), None)
        if probe is None or probe.hidden or one.hidden or one.state in STOPPED:
            continue
        if 0 <= one.case < len(probe.cases):
            found.append(Failure(entry.student, entry.notebook, one.item, one.probe, one.case))
    return found


def _probes(items: Mapping[str, Item], item: str) -> Sequence[Probe]:
    return items[item].probes if item in items else ()


def recording(probe: Probe, case: int) -> Probe:
    """A probe that runs one case of another probe under the recorder and returns the trace's JSON, cut into pieces.

    It has the other's name, so that it draws the same random numbers. If the trace is too long, only its length comes back.
    """
    source = f"""{probe.source}

_recorded = {probe.name}


def {probe.name}(*arguments):
    with lab.record() as trace:
        try:
            _recorded(*arguments)
        except Exception:
            pass
    text = trace.to_json()
    if len(text) > {MOST_RECORD}:
        return len(text)
    return ["|" + text[i : i + {_PART}] + "|" for i in range(0, len(text), {_PART})]
"""
    return Probe(probe.name, 0, source, cases=[probe.cases[case]], expected=[None])


def recorded(answer: Answer | None) -> str:
    """The trace's JSON from the result of a recording probe; "" if there is none."""
    parts = next(iter(answer.outputs.values()), None) if answer else None
    if not isinstance(parts, list) or not all(isinstance(part, str) and len(part) > 1 for part in parts):
        return ""
    text = "".join(part[1:-1] for part in parts)
    return text if len(text) <= MOST_RECORD + _PART else ""


def recording_jobs(
    found: Iterable[tuple[Failure, Job, Run]], course: Course
) -> tuple[dict[str, list[Item]], list[Job], dict[tuple[str, str], str]]:
    """What to run for these failures: (items of synthetic notebooks, jobs, {(student, synthetic notebook): the real one}).

    Students who failed the same cases of a notebook share one set of items. Cells that stopped the process are left out.
    """
    chosen: dict[tuple[str, str], tuple[Job, Run, dict[str, Failure]]] = {}
    for one, job, run in found:
        chosen.setdefault((one.student, one.notebook), (job, run, {}))[2][one.item] = one
    items: dict[str, list[Item]] = {}
    jobs: list[Job] = []
    names: dict[tuple[str, str], str] = {}
    for (student, notebook), (job, run, cases) in chosen.items():
        key = json.dumps([notebook, [[f.item, f.probe, f.case] for f in cases.values()]])
        if key not in items:
            items[key] = [
                replace(item, probes=_recording_probes(item, cases.get(item.id)), wrong=[])
                for item in course.items[notebook]
            ]
        stopped = {cell.id for cell in run.cells if cell.state in {*STOPPED, "skipped"}}
        cells = tuple(cell for cell in job.cells if cell.id not in stopped)
        jobs.append(replace(job, notebook=key, cells=cells))
        names[student, key] = notebook
    return items, jobs, names


def _recording_probes(item: Item, failure: Failure | None) -> list[Probe]:
    if failure is None:
        return []
    return [recording(next(p for p in item.probes if p.name == failure.probe), failure.case)]


def record_all(
    found: Sequence[tuple[Failure, Job, Run]],
    course: Course,
    make_runner: Callable[[Course], AbstractContextManager[Runner]],
    step: Callable[[str], None] = lambda _: None,
) -> dict[tuple[str, str, str], str]:
    """{(student, notebook, item): the trace's JSON} of all failures that could be recorded."""
    records: dict[tuple[str, str, str], str] = {}
    if not found:
        return records
    items, jobs, names = recording_jobs(found, course)
    with make_runner(type(course)(course.released, items)) as runner:
        for job, run in runner.run(jobs):
            for item in (item for item in items[job.notebook] if item.probes):
                text = recorded(run.answers.get(item.id))
                if text:
                    records[job.student, names[job.student, job.notebook], item.id] = text
            step(job.student)
    return records


# --- drawing records ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stepper:
    """A stepper as parts of a page."""

    live: str
    """The data that the page's script opens."""
    still: str
    """The same as a picture, for printing and for readers without JavaScript."""


def draw(title: str, text: str) -> Stepper | None:
    """The stepper for a trace, or None if the trace is invalid. Nothing in the trace is trusted."""
    from autograd_lab.tracing import Trace

    try:
        trace = Trace.from_json(text)
        if not 0 < len(trace.events) <= MOST_EVENTS or not any(
            e["k"] in ("node", "const", "error") for e in trace
        ):
            return None
        TopologicalSorter(
            {i: [edge[0] for edge in node["edges"] if edge] for i, node in enumerate(trace.nodes)}
        ).prepare()
        return stepper(replace(trace, title=title))
    except (
        CycleError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ):
        return None  # no honest recorder writes this


def stepper(trace: Trace) -> Stepper:
    """The stepper for a trace recorded here."""
    from autograd_lab import widgets
    from autograd_lab.widgets.export import data_block

    shown = widgets.step(trace)
    # a stepper in a notebook finds its picture by this name and hides it; here the style sheet decides which one shows
    return Stepper(data_block(shown), re.sub(r' data-agl="[^"]*"', "", shown.still(), count=1))


class Artist:
    """A process that draws traces, so that a malicious trace can harm nothing else. A context manager."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._known: dict[tuple[str, str], Stepper | None] = {}
        self._process: multiprocessing.process.BaseProcess | None = None
        self._line: Connection | None = None

    def __enter__(self) -> Artist:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def draw(self, title: str, text: str) -> Stepper | None:
        """The stepper for a trace; None if the trace is invalid, or takes too long."""
        if (title, text) not in self._known:
            self._known[title, text] = self._ask(title, text)
        return self._known[title, text]

    def _ask(self, title: str, text: str) -> Stepper | None:
        if self._line is None:
            context = multiprocessing.get_context("spawn")
            self._line, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=[theirs], daemon=True)
            self._process.start()
            theirs.close()
            try:
                ready = self._line.poll(120) and self._line.recv_bytes()
            except (OSError, EOFError):  # it has ended: there is no memory for it, or no disk
                ready = b""
            if not ready:
                self._end()
                return None
        with suppress(OSError, EOFError):
            self._line.send_bytes(json.dumps([title, text]).encode())
            if self._line.poll(self._patience):
                drawn = json.loads(self._line.recv_bytes())
                return Stepper(*drawn) if drawn else None
        self._end()
        return None

    def _end(self) -> None:
        if self._process is not None and self._line is not None:
            self._line.close()
            self._process.kill()
            self._process.join()
        self._process = self._line = None


def _serve(line: Connection) -> None:
    """Draw traces on request until the other side closes."""
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    from autograd_lab.widgets import stepper as _  # noqa: F401 (loaded before the clock runs)

    line.send_bytes(b"ready")
    while True:
        try:
            title, text = json.loads(line.recv_bytes())
        except (EOFError, OSError):
            return
        drawn = draw(title, text)
        line.send_bytes(json.dumps([drawn.live, drawn.still] if drawn else None).encode())


class Ballots:
    """The programs that refute misconceptions, as steppers; each runs once, when it is first needed."""

    def __init__(self) -> None:
        self._made: dict[str, Stepper] = {}

    def __getitem__(self, misconception: str) -> Stepper:
        from autograd_lab.course.classroom import ask
        from autograd_lab.tracing import Trace

        if misconception not in self._made:
            _, trace = ask(misconception)
            title = f"{misconception}: a program that shows it"
            self._made[misconception] = stepper(Trace.from_dict(trace.to_dict() | {"title": title}))
        return self._made[misconception]


# --- the page -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Since:
    """A page that was given back earlier."""

    at: str
    version: dict[str, Any]

    def item(self, notebook: str, item: str) -> dict[str, Any] | None:
        """What it said of an item."""
        found: dict[str, Any] | None = self.version.get(notebook, {}).get("items", {}).get(item)
        return found


def version(entries: Iterable[Entry]) -> dict[str, Any]:
    """What a student's page says, as far as a later one may say something else: plain data."""
    return {
        entry.notebook: {
            "digest": entry.digest,
            "lateness": [entry.penalty, entry.ceiling],
            "comment": entry.comments[""].text if "" in entry.comments else "",
            "items": {
                one.item: {
                    "points": entry.points(one),
                    "of": one.points,
                    "state": one.state,
                    "by hand": entry.overrides[one.item].reason if one.item in entry.overrides else "",
                    "comment": entry.comments[one.item].text if one.item in entry.comments else "",
                }
                for one in entry.results
            },
        }
        for entry in entries
    }


def since(returned: Sequence[tuple[str, dict[str, Any]]], entries: Sequence[Entry]) -> Since | None:
    """The last page that was given back and said something else, or None. Giving back the same page again makes no difference."""
    now = version(entries)
    return next((Since(at, old) for at, old in reversed(returned) if old != now), None)


@dataclass
class Sheet:
    """Everything a student's page is made of."""

    entries: list[Entry]
    jobs: dict[str, Job] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    steppers: dict[str, Stepper] = field(default_factory=dict)
    """{item: stepper for the student's own code on the case that failed}."""
    since: Since | None = None
    """The page that the student has, if it says something else."""
    name: str = ""
    """The student's, if the gradebook calls them otherwise."""


class Prompts:
    """What the released notebooks ask, as HTML."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self.given: dict[str, str] = {}
        """{item: the code that is given with it}, when `asked` has been read."""

    @cached_property
    def titles(self) -> dict[str, str]:
        """{notebook: its heading}."""
        found = {}
        for name, book in self._course.released.items():
            lines = [
                line
                for cell in book.raw.cells
                if cell.kind == "markdown"
                for line in cell.source.splitlines()
            ]
            heading = next((line[2:].strip() for line in lines if line.startswith("# ")), name)
            number, exercises, title = heading.partition("Exercises: ")
            found[name] = number + title[:1].upper() + title[1:] if exercises else heading
        return found

    @cached_property
    def asked(self) -> dict[str, tuple[str, str]]:
        """{item: (its heading, the rest with the code that is given)}; the heading as plain text."""
        found: dict[str, tuple[str, str]] = {}
        for book in self._course.released.values():
            roles = {cell.id: cell for cell in book.cells}
            heading, parts, given = "", [], list[str]()
            for raw in book.raw.cells:
                cell = roles.get(raw.id or raw.grade_id)
                if raw.kind == "markdown" and raw.source.lstrip().startswith("## "):
                    first, _, rest = raw.source.lstrip().partition("\n")
                    heading, parts, given = first[3:].strip(), [markdown(rest)], []
                elif raw.kind == "markdown":
                    parts.append(markdown(raw.source))
                elif cell is not None and cell.role == "given":
                    given.append(pages.block(raw.source))
                    parts.append(given[-1])
                elif cell is not None and cell.role == "check":
                    found[cell.item] = heading, "\n".join(parts)
                    self.given[cell.item] = "\n".join(given)
                    heading, parts, given = "", [], []
        return found


def page(sheet: Sheet, course: Course, prompts: Prompts, ballots: Ballots, basis: str = "") -> str:
    """A student's page."""
    student = sheet.entries[0].student
    total = sum(entry.total for entry in sheet.entries)
    most = sum(entry.most for entry in sheet.entries)
    body = [
        f'<p class="dim">Feedback</p><h1>{pages.who(student, sheet.name, 200)}</h1>',
        f"<p><strong>{pages.number(total)} of {pages.points(most)}</strong></p>",
    ]
    if len(sheet.entries) > 1:
        rows = []
        for e in sheet.entries:
            title = plain(prompts.titles.get(e.notebook, e.notebook))
            if not _absent(e):
                title = f'<a href="#{plain(e.notebook)}">{title}</a>'
            words = MARKS[e.status][2] if e.status in MARKS else ""
            rows.append([title, words, pages.number(e.total), pages.number(e.most)])
        body.append(pages.table(["notebook", "", "points", "of"], rows, (2, 3)))
    body += _changes(sheet, prompts)
    live = False
    for entry in sheet.entries:
        if _absent(entry) and len(sheet.entries) > 1:
            continue
        section, steps = _section(sheet, entry, course, prompts, ballots)
        body.append(section)
        live = live or steps
    return pages.page(f"Feedback for {sheet.name or student}", "\n".join(body), live=live, basis=basis)


def _absent(entry: Entry) -> bool:
    """Whether all there is to say about a notebook is that it was not handed in."""
    return entry.status == "missing" and not entry.overrides and not entry.comments


def _changes(sheet: Sheet, prompts: Prompts) -> list[str]:
    """What is different since the page that the student has."""
    if sheet.since is None:
        return []
    rows = []
    for entry in sheet.entries:
        title = plain(prompts.titles.get(entry.notebook, entry.notebook))
        link = f'<a href="#{plain(entry.notebook)}">{title}</a>'
        old = sheet.since.version.get(entry.notebook)
        if old is None:
            if not _absent(entry):
                rows.append(
                    [
                        link,
                        "",
                        f"{pages.number(entry.total)} of {pages.number(entry.most)}",
                        "new on this page",
                    ]
                )
            continue
        comment = entry.comments[""].text if "" in entry.comments else ""
        if comment != old["comment"]:
            rows.append([link, "", "", _about_comment(comment)])
        for one in entry.results:
            was = old["items"].get(one.item)
            now = version([entry])[entry.notebook]["items"][one.item]
            if was != now:
                heading = pages.inline(prompts.asked.get(one.item, ("", ""))[0] or one.item)
                shown = [
                    f"{pages.number(each['points'])} of {pages.number(each['of'])}" if each else ""
                    for each in (was, now)
                ]
                why = _why_changed(was, now, entry, old)
                rows.append([f'<a href="#item-{plain(one.item)}">{heading}</a>', *shown, why])
        gone = [item for item in old["items"] if item not in {one.item for one in entry.results}]
        rows += [
            [plain(item), f"{pages.number(old['items'][item]['points'])}", "", "not asked any more"]
            for item in gone
        ]
    for notebook in sheet.since.version.keys() - {entry.notebook for entry in sheet.entries}:
        rows.append([plain(prompts.titles.get(notebook, notebook)), "", "", "not graded any more"])
    before = sum(one["points"] for book in sheet.since.version.values() for one in book["items"].values())
    total = sum(entry.total for entry in sheet.entries)
    if not rows:
        return []
    at = datetime.fromisoformat(sheet.since.at).astimezone()
    day = f"{at.day} {at:%B %Y}"
    says = f"All in all {pages.number(before)} points before, {pages.number(total)} now."
    if round(before, 2) == round(total, 2):
        says = "The sum of your points is the same."
    return [
        f'<section class="changed"><h2>What has changed since your page of {day}</h2><p>{says}</p>'
        + pages.table(["", "before", "now", "why"], rows, (1, 2))
        + "</section>"
    ]


def _why_changed(
    was: dict[str, Any] | None, now: dict[str, Any], entry: Entry, old: Mapping[str, Any]
) -> str:
    """Why an item has other points or another comment than before, as HTML."""
    if was is None:
        return "not asked before"
    parts = []
    if now["by hand"] != was["by hand"]:
        parts.append(
            f"graded by hand: {foreign(now['by hand'])}" if now["by hand"] else "no longer graded by hand"
        )
    elif now["by hand"] and now["points"] != was["points"]:
        parts.append("graded by hand again")
    elif (now["points"], now["of"], now["state"]) != (was["points"], was["of"], was["state"]):
        late = [entry.penalty, entry.ceiling] != old["lateness"]
        another = "another file of yours counts" if old["digest"] else "it was handed in since"
        parts += [another] if entry.digest != old["digest"] else []
        parts += [f"it is worth {pages.points(now['of'])} now"] if now["of"] != was["of"] else []
        parts += ["lateness counts differently"] if late else []
        parts = parts or ["graded again"]
    if now["comment"] != was["comment"]:
        parts.append(_about_comment(now["comment"]))
    return "; ".join(parts)


def _about_comment(text: str) -> str:
    return "a new comment" if text else "the comment was taken back"


def _section(
    sheet: Sheet, entry: Entry, course: Course, prompts: Prompts, ballots: Ballots
) -> tuple[str, bool]:
    items = {item.id: item for item in course.items_of(entry.student, entry.notebook)}
    title = plain(prompts.titles.get(entry.notebook, entry.notebook))
    parts = [f'<section id="{plain(entry.notebook)}"><h2>{title}</h2>']
    late = f"; handed in {_days(entry.days_late)} late" if entry.days_late else ""
    late += f", {entry.penalty:.0%} taken off" if entry.penalty and not entry.closed else ""
    late += f", at most {entry.ceiling:.0%} of an item" if entry.ceiling < 1 else ""
    late += ", after closing: it counts nothing" if entry.closed else ""
    late += f"; due {plain(entry.extension)}" if entry.extension else ""
    parts.append(f"<p>{pages.number(entry.total)} of {pages.points(entry.most)}{late}</p>")
    if "" in entry.comments:
        parts.append(f'<h4>Comment</h4><p class="says">{foreign(entry.comments[""].text)}</p>')
    if entry.others:
        parts.append(f"<p>{_about_others(entry)}</p>")
    if entry.status != "graded" and not entry.overrides and not any(entry.comments):  # any about an item
        why = entry.results[0].says if entry.results else ""
        parts.append(f'<p class="says">{foreign(why)}</p>')
        if entry.status == "unreadable":
            parts.append("<p>Does the file open in JupyterLab? Then save it there and hand it in again.</p>")
        parts.append("</section>")
        return "\n".join(parts), False
    rows = []
    for one in entry.results:
        kind, mark, words = MARKS[state(entry, one)]
        heading = prompts.asked.get(one.item, ("", ""))[0] or one.item
        rows.append([
            f'<a href="#item-{plain(one.item)}">{pages.inline(heading)}</a>',
            f'<span class="{kind}"><span class="mark">{mark} {words}</span></span>',
            pages.number(entry.points(one)), pages.number(one.points),
        ])  # fmt: skip
    parts.append(pages.table(["item", "", "points", "of"], rows, (2, 3)))
    live = False
    for one in entry.results:
        card, steps = _card(sheet, entry, one, items.get(one.item), prompts, ballots)
        parts.append(card)
        live = live or steps
    return "\n".join([*parts, "</section>"]), live


def _about_others(entry: Entry) -> str:
    """Which of several submissions counts, and what the others would earn."""
    when = f", handed in on {_when(entry.handed_in)}" if entry.handed_in else ""
    others = ", ".join(
        f"{pages.number(one.total)}{f' ({_when(one.handed_in)})' if one.handed_in else ''}"
        for one in entry.others[-5:]
    )
    return f"This is the one that counts of your {len(entry.others) + 1} submissions{when}. The points of the others: {others}."


def _when(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M")


def state(entry: Entry, one: Result) -> str:
    """The state of a result on the page: one of MARKS."""
    if one.item in entry.overrides:
        return "overridden"
    return "partly" if one.state == "wrong" and one.score > 0 else one.state


def _card(
    sheet: Sheet, entry: Entry, one: Result, item: Item | None, prompts: Prompts, ballots: Ballots
) -> tuple[str, bool]:
    kind, mark, words = MARKS[state(entry, one)]
    heading, asked = prompts.asked.get(one.item, ("", ""))
    if item and item.question and not item.variant:  # with the student's own numbers
        asked = "\n".join([markdown(item.question), prompts.given.get(one.item, "")])
    good = one.state == "passed"
    parts = [
        f'<article class="item {kind}" id="item-{plain(one.item)}"><header><span class="mark" title="{words}">{mark}</span>'
        f"<h3>{pages.inline(heading or one.item)}</h3>"
        f'<span class="n">{_before(sheet, entry, one)}{pages.number(entry.points(one))} of {pages.number(one.points)}</span></header>'
    ]
    if asked:
        parts.append(
            f'<details class="print"{"" if good else " open"}><summary>What was asked</summary>{asked}</details>'
        )
    own = _own(sheet, entry, one)
    if own:
        parts.append(f'<details class="print"><summary>Your answer</summary>{pages.block(own)}</details>')
    override = entry.overrides.get(one.item)
    if override:
        parts.append(f'<h4>Graded by hand</h4><p class="says">{foreign(override.reason)}</p>')
    if one.item in entry.comments:
        parts.append(f'<h4>Comment</h4><p class="says">{foreign(entry.comments[one.item].text)}</p>')
    parts += _tried(sheet, entry, one, item)
    live = False
    if not good and not (override and override.points >= one.points):
        parts += _why(one, item)
        shown, about = _stepper(sheet, one, item, ballots)
        if shown:
            live = True
            parts.append(
                f'<details class="live"><summary>Step through it</summary><p class="dim">{about}</p>{shown.live}</details>'
                f'<div class="still"><p>{about}</p>{shown.still}</div>'
            )
        if item and item.hints and one.state not in ("missing", "unreadable"):
            hints = "".join(f"<li>{pages.inline(hint)}</li>" for hint in item.hints)
            parts.append(f"<details><summary>Hints</summary><ol>{hints}</ol></details>")
    return "\n".join([*parts, "</article>"]), live


def _before(sheet: Sheet, entry: Entry, one: Result) -> str:
    """The points that the student's page gives an item, if they were others."""
    was = sheet.since.item(entry.notebook, one.item) if sheet.since else None
    if was is None or was["points"] == entry.points(one):
        return ""
    return f'<span class="dim">{pages.number(was["points"])} before,</span> '


def _own(sheet: Sheet, entry: Entry, one: Result) -> str:
    """What the student wrote for an item."""
    job = sheet.jobs.get(entry.notebook)
    cells = (
        [c.source for c in job.cells if c.role == "answer" and c.item == one.item and not c.untouched]
        if job
        else []
    )
    return "\n\n".join(cells)


def _tried(sheet: Sheet, entry: Entry, one: Result, item: Item | None) -> list[str]:
    """What the probes of an item tried and earned; of hidden probes only the category."""
    run = sheet.runs.get(entry.notebook)
    answer = run.answers.get(one.item) if run else None
    if not item or not item.probes or answer is None or answer.state != "given" or answer.error:
        return []
    rows = []
    for probe in (probe for probe in item.probes if not probe.look):

        def same(
            key: str, want: Any, rtol: float = probe.rtol, outputs: dict[str, Any] = answer.outputs
        ) -> bool:
            return key in outputs and data.same(outputs[key], want, rtol)

        cases = list(zip(probe.names(), probe.expected, strict=True))
        right = sum(same(key, want) for key, want in cases)
        good = right == len(cases)
        if probe.hidden:
            about = plain(probe.category())
            about += ' <span class="dim">(hidden)</span>'
        else:
            first = next((i for i, (key, want) in enumerate(cases) if not same(key, want)), 0)
            about = plain(probe.about(first))
            about += f' <span class="dim">({right} of {len(cases)} cases)</span>' if len(cases) > 1 else ""
        kind, mark, words = MARKS["passed" if good else "wrong"]
        rows.append([
            about, f'<span class="{kind}"><span class="mark">{mark} {words}</span></span>',
            f"{pages.number(probe.points if good else 0)} of {pages.number(probe.points)}",
        ])  # fmt: skip
    return [pages.table(["what was tried", "", "points"], rows, (2,))]


def _why(one: Result, item: Item | None) -> list[str]:
    """What was wrong, and why."""
    parts = []
    probe = next((p for p in item.probes if p.name == one.probe), None) if item else None
    says = re.sub(
        r"\(<ipython-input-[^>\s]*>, (line \d+)\)", r"(\1)", one.says
    )  # the name of the cell tells nothing
    if one.state == "not attempted":
        says = "The answer is as it was handed out."
    detail = ""
    if item and not item.probes and one.got is not None:
        detail = f"You answered {data.show(one.got)}."
    elif (
        probe
        and not one.hidden
        and not probe.hidden
        and 0 <= one.case < len(probe.cases)
        and one.state == "wrong"
    ):
        about = probe.about(one.case)
        # where it begins like this it says so already, with dicts in the student's order
        detail = "" if says.startswith(f"{about}: ") else difference(about, one.got, one.want)
    if detail and detail not in says:
        parts.append(f"<h4>What was wrong</h4><p>{said(detail)}</p>")
        if says:
            parts.append(f'<h4>Why</h4><p class="says">{said(says)}</p>')
    elif says:
        parts.append(f'<h4>What was wrong</h4><p class="says">{said(says)}</p>')
    behind = MISCONCEPTIONS.get(one.misconception)
    if behind:
        parts.append(
            f"<p>Such an answer often comes from the belief that <em>{plain(behind.believes)}</em>. "
            f"Notebook {plain(behind.home)} takes it apart.</p>"
        )
    return parts


def _stepper(sheet: Sheet, one: Result, item: Item | None, ballots: Ballots) -> tuple[Stepper | None, str]:
    own = sheet.steppers.get(one.item)
    if own:
        probe = next((p for p in item.probes if p.name == one.probe), None) if item else None
        case = (
            f" <code>{plain(probe.names()[one.case], 300)}</code>:" if probe and probe.cases[one.case] else ""
        )
        return own, f"Your own code on the smallest case that fails:{case} every step that the engine took."
    if one.misconception in BALLOTS:
        return ballots[
            one.misconception
        ], "A small program in which that belief does not hold. Predict its result first."
    return None, ""


def _days(number: int) -> str:
    return "1 day" if number == 1 else f"{number} days"


# --- all pages ----------------------------------------------------------------------------------------


def basis(entries: Sequence[Entry], course: Course, before: Since | None = None, name: str = "") -> str:
    """A digest of everything a student's page depends on."""
    about: list[Any] = [name, *([asdict(before)] if before else [])]
    for entry in entries:
        one = asdict(entry)
        for name in ("seconds", "due", "notes", "file", *(() if entry.others else ("handed_in",))):
            one.pop(name)
        known = entry.notebook in course.items
        keys = [course.key_of(item, entry.student) for item in course.items[entry.notebook]] if known else []
        about.append([one, entry.days_late, course.asks[entry.notebook] if known else "", keys])
    text = json.dumps([PAGES, __version__, _look(), about], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _look() -> str:
    from autograd_lab.widgets import export

    return hashlib.sha256((pages.STYLE + export.script()).encode()).hexdigest()


def write(
    book: Gradebook,
    course: Course,
    folder: Path,
    make_runner: Callable[[Course], AbstractContextManager[Runner]],
    *,
    patience: float = PATIENCE,
    watch: Callable[[int], Callable[[str], None]] = lambda _: lambda _: None,
) -> list[Path]:
    """Write the pages of all students in a gradebook that differ from those in `folder`; returns their paths.

    make_runner    makes what runs the notebooks of a course; called only if a case has to be recorded
    watch          takes the number of notebooks that will run, and returns a function to call after each
    """
    students: dict[str, list[Entry]] = {}
    for entry in book.entries():
        students.setdefault(entry.student, []).append(entry)
    returned = book.returned()
    earlier = {student: since(returned.get(student, ()), entries) for student, entries in students.items()}
    names = names_of(book.setting)
    todo: dict[str, tuple[Path, str]] = {}
    for student, entries in students.items():
        path = page_of(folder, student)
        now = basis(entries, course, earlier[student], names.get(student, ""))
        if _basis_of(path) != now:
            todo[student] = path, now
    sheets = {student: _sheet(book, students[student], earlier[student]) for student in todo}
    for student, sheet in sheets.items():
        sheet.name = names.get(student, "")
    found = list(_failures(sheets.values(), course))
    step = watch(len({(one.student, one.notebook) for one, _, _ in found}))
    records = record_all(found, course, make_runner, step)
    prompts, ballots = Prompts(course), Ballots()
    items = {item.id: item for each in course.items.values() for item in each}
    with Artist(patience) as artist:
        for one, _, _ in found:
            text = records.get((one.student, one.notebook, one.item))
            probe = next(p for p in items[one.item].probes if p.name == one.probe)
            about = f"{one.item}: {probe.about(one.case)}"
            drawn = artist.draw(about, text) if text else None
            if drawn:
                sheets[one.student].steppers[one.item] = drawn
    for student, (path, now) in todo.items():
        put(path, page(sheets[student], course, prompts, ballots, now))
    return [path for path, _ in todo.values()]


def page_of(folder: Path, student: str) -> Path:
    """Where a student's page is."""
    return folder / f"{tables.file_name(student)}.html"


def _basis_of(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return pages.basis_of(file.read(2_000))
    except (OSError, ValueError):
        return ""


def _sheet(book: Gradebook, entries: list[Entry], before: Since | None) -> Sheet:
    sheet = Sheet(entries, since=before)
    for entry in entries:
        stored = book.stored_run(entry.student, entry.notebook)
        if stored:
            sheet.jobs[entry.notebook], sheet.runs[entry.notebook] = stored
    return sheet


def _failures(sheets: Iterable[Sheet], course: Course) -> Iterator[tuple[Failure, Job, Run]]:
    for sheet in sheets:
        for entry in sheet.entries:
            if entry.notebook in sheet.jobs:
                for one in failures(entry, course):
                    yield one, sheet.jobs[entry.notebook], sheet.runs[entry.notebook]
