"""A course of two notebooks, what a class hands in, and what autograd_lab/course/GRADING.md says of its grades: the oracle of test_semester.py.

The oracle is written from the guide, not from the grader: Book knows what was handed in, which of it counts, and what it earns. It
shares no code with the grader but the form of its files.
"""

import ast
import csv
import hashlib
import html
import io
import json
import math
import os
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from autograd_lab.course.items import Item, Wrong
from autograd_lab.grade import merge, run
from autograd_lab.grade.model import Answer, CellRun, Run

BOOKS = {"91_alpha": ("91.1", "91.2"), "92_beta": ("92.1",)}
NAMES = {"91.1": "one", "91.2": "two", "92.1": "three"}
BOOK_OF = {item: book for book, items in BOOKS.items() for item in items}
DUE = datetime(2026, 11, 20, 18, tzinfo=UTC)
DAY = timedelta(days=1)
UNREADABLE = b"{"


# --- the course -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Key:
    """What the instructor may change in the keys."""

    worth: float = 2
    """The points of 91.1."""
    right: int = 5
    """The answer to 92.1."""

    def items(self) -> dict[str, list[Item]]:
        almost = [Wrong("That is one too many.", "", 1, 8)]
        return {
            "91_alpha": [
                Item("91.1", "number", self.worth, expected=7, wrong=almost),
                Item("91.2", "order", 4, expected=[1, 2, 3], partial=True),
            ],
            "92_beta": [Item("92.1", "number", 3, expected=self.right)],
        }

    def most(self, item: str) -> float:
        return {"91.1": self.worth, "91.2": 4, "92.1": 3}[item]

    def earns(self, item: str, answer: Any) -> float:
        if item == "91.1":
            return {7: self.worth, 8: 1}.get(answer, 0)
        if item == "92.1":
            return 3 if answer == self.right else 0
        return round(4 * sum(a == b for a, b in zip(answer, [1, 2, 3], strict=True)) / 3, 2)


def notebook(book: str, answers: dict[str, Any], mark: str = "") -> bytes:
    """A notebook as a student saves it; without an answer, a cell is as it was handed out. `mark` is a remark of the student's."""
    number = book[:2]

    def cell(name: str, kind: str, source: str, **metadata: Any) -> dict[str, Any]:
        code = {"outputs": [], "execution_count": None} if kind == "code" else {}
        return {"id": f"{number}-{name}", "cell_type": kind, "metadata": metadata, "source": source, **code}

    cells = [
        cell("start", "markdown", f"# {number} · Exercises: {book[3:]}\n{mark}"),
        cell("lab", "code", "from autograd_lab import lab"),
    ]
    for item in BOOKS[book]:
        cells.append(cell(f"{item}-asked", "markdown", f"## {item}\n\nHow much is it?"))
        source = f"{NAMES[item]} = {answers.get(item, ...)!r}".replace("Ellipsis", "...")
        cells.append(cell(f"{item}-answer", "code", source, nbgrader={"solution": True, "grade": False}))
        cells.append(cell(f"{item}-check", "code", f'lab.check("{item}", {NAMES[item]})'))
    data = {"cells": cells, "metadata": {"autograd_lab": {"id": number}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data).encode()


@cache
def course(key: Key) -> run.Course:
    return run.Course(released(), key.items())


@cache
def released() -> dict[str, merge.Released]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for book in BOOKS:
            Path(folder, f"{book}.ipynb").write_bytes(notebook(book, {}))
        return {book: merge.released(Path(folder, f"{book}.ipynb")) for book in BOOKS}


class KilledError(Exception):
    """The machine went down."""


class Runner:
    """Runs nothing: it reads the answers. `at` is called before each submission, with how many there were."""

    layers = ("none",)

    def __init__(self, ran: list[tuple[str, str]], at: Any = lambda number: None) -> None:
        self.ran, self.at = ran, at

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, jobs: Any) -> Any:
        for number, job in enumerate(jobs):
            self.at(number)
            self.ran.append((job.student, job.notebook))
            made = Run("ok", cells=[CellRun(cell.id, "ok") for cell in job.cells])
            for cell in (cell for cell in job.cells if cell.role == "answer"):
                value = ast.literal_eval(cell.source.partition("=")[2].strip())
                state = "not attempted" if cell.untouched else "given"
                made.answers[cell.item] = Answer(cell.item, state, None if cell.untouched else value)
            yield job, made


# --- the oracle -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """A file that a student handed in."""

    name: str
    """Its path in the student's folder."""
    data: bytes
    answers: dict[str, Any] | None
    """{item: answer}; None if the file cannot be read."""
    at: datetime | None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def blank(self) -> bool:
        return self.answers == {}


@dataclass(frozen=True)
class Graded:
    """A submission with what its items scored, lateness aside."""

    work: Work | None
    items: dict[str, tuple[float, float, str]]
    """{item: (score, worth, state)}."""

    @property
    def at(self) -> datetime | None:
        return self.work.at if self.work else None

    @property
    def status(self) -> str:
        if self.work is None:
            return "missing"
        return "unreadable" if self.work.answers is None else "graded"


def scored(work: Work | None, book: str, key: Key) -> Graded:
    items = {}
    for item in BOOKS[book]:
        score, state = 0.0, "missing" if work is None else "unreadable"
        if work and work.answers is not None:
            state = "not attempted"
            if item in work.answers:
                score = key.earns(item, work.answers[item])
                state = "passed" if score == key.most(item) else "wrong"
        items[item] = score, key.most(item), state
    return Graded(work, items)


@dataclass(frozen=True)
class Rules:
    """The policy, as the table of options has it."""

    due: dict[str, datetime] = field(default_factory=dict)
    """{notebook, or "" for all others: time}."""
    rate: float = 0
    grace: timedelta = timedelta()
    cap: float = 100
    ceiling: float = 100
    closes: timedelta | None = None
    count: str = "latest"
    extensions: dict[tuple[str, str], datetime | int] = field(default_factory=dict)
    """{(student, notebook or ""): until, or days}."""

    def late(self, who: tuple[str, str], at: datetime | None) -> tuple[int, float, float]:
        """(days late, percent taken off, the most percent of an item that it earns)."""
        student, book = who
        due = self.due.get(book, self.due.get(""))
        more = self.extensions.get(who, self.extensions.get((student, "")))
        if more is not None:
            due = more if isinstance(more, datetime) else due and due + more * DAY
        if due is None or at is None or at <= due + self.grace:
            return 0, 0, 100
        days = math.ceil((at - due) / DAY)
        if self.closes is not None and at > due + self.grace + self.closes:
            return days, 100, self.ceiling
        return days, min(self.cap, 100, days * self.rate), self.ceiling

    def earned(self, who: tuple[str, str], one: Graded) -> dict[str, float]:
        """{item: points}, overrides aside."""
        _, off, most = self.late(who, one.at)
        return {
            item: min(score * (100 - off) / 100, worth * most / 100)
            for item, (score, worth, _) in one.items.items()
        }


@dataclass
class Book:
    """What a gradebook must know."""

    rules: Rules = field(default_factory=Rules)
    counts: dict[tuple[str, str], Graded] = field(default_factory=dict)
    """{(student, notebook): the submission that counts}."""
    others: dict[tuple[str, str], dict[str, Graded]] = field(default_factory=dict)
    """{(student, notebook): {digest: a submission that does not}}."""
    newest: dict[tuple[str, str], str] = field(default_factory=dict)
    """The digest of the file that was the newest when the folder was last graded."""
    overrides: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    """{(student, item): (points, reason)}."""
    comments: dict[tuple[str, str], str] = field(default_factory=dict)
    """{(student, item or notebook): text}."""
    given: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """{student: what their pages said, oldest first}."""

    def grade(
        self, found: dict[tuple[str, str], list[Work]], key: Key, only: str = "", again: bool = False
    ) -> None:
        """`found`: the files for each student and notebook, the one that counts if the latest does first."""
        for who, files in found.items():
            now, others = self.counts.get(who), self.others.setdefault(who, {})
            if not files:
                if now is None or now.status != "graded" or again:  # else the grade is kept
                    self._count(who, scored(None, who[1], key), only)
                    self.newest[who] = ""
                    self.settle(who)
                continue
            self.newest[who] = files[0].digest
            if self.rules.count == "latest":
                self._count(who, scored(files[0], who[1], key), only)
                continue
            for work in {work.digest: work for work in files}.values():  # of the same contents the first
                if now and now.work and now.work.digest != work.digest:
                    before = others.get(work.digest)
                    others[work.digest] = mixed(before, scored(work, who[1], key), only)
                else:
                    self._count(who, scored(work, who[1], key), only)
                    now = self.counts[who]
            if not only:  # the stored answers of those that are there no more are scored again
                for digest, one in others.items():
                    others[digest] = scored(one.work, who[1], key)
                if self.counts[who].status == "graded":
                    self.counts[who] = scored(self.counts[who].work, who[1], key)
            self.settle(who)

    def _count(self, who: tuple[str, str], one: Graded, only: str) -> None:
        now, others = self.counts.get(who), self.others[who]
        if now and (now.work and now.work.digest) == (one.work and one.work.digest):
            one = mixed(now, one, only)
        elif now and now.work:
            others[now.work.digest] = now
        if one.work:
            others.pop(one.work.digest, None)
        self.counts[who] = one

    def settle(self, who: tuple[str, str]) -> None:
        """Let that submission count which the policy says."""
        now, pool = self.counts[who], {**self.others.get(who, {})}
        pool[now.work.digest if now.work else ""] = now

        def worth(digest: str) -> Any:
            one = pool[digest]
            at = one.at.timestamp() if one.at else 0
            if self.rules.count == "latest":
                return digest == self.newest.get(who), at, one is now
            total = round(sum(round(points, 4) for points in self.rules.earned(who, one).values()), 4)
            return one.status == "graded", total, at if one.work else math.inf, one is now

        self.counts[who] = pool.pop(max(pool, key=worth))
        pool.pop("", None)
        self.others[who] = pool

    # --- what students get ---

    def points(self, who: tuple[str, str]) -> dict[str, float]:
        earned = self.rules.earned(who, self.counts[who])
        by_hand = {
            item: self.overrides.get((who[0], item), (points, ""))[0] for item, points in earned.items()
        }
        return {item: round(points, 4) for item, points in by_hand.items()}

    def total(self, who: tuple[str, str]) -> float:
        return round(sum(self.points(who).values()), 4)

    def of(self, student: str) -> list[tuple[str, str]]:
        return sorted(who for who in self.counts if who[0] == student)

    def says(self, student: str) -> dict[str, Any]:
        """What a student's page says."""
        said: dict[str, Any] = {}
        for who in self.of(student):
            one, points = self.counts[who], self.points(who)
            said[who[1]] = {
                "digest": one.work.digest if one.work else "",
                "late": self.rules.late(who, one.at)[1:],
                "comment": self.comments.get(who, ""),
                "items": {
                    item: (
                        points[item],
                        worth,
                        state,
                        self.overrides.get((student, item), ("", ""))[1],
                        self.comments.get((student, item), ""),
                    )
                    for item, (_, worth, state) in one.items.items()
                },
            }
        return said

    def give(self, students: Any) -> None:
        for student in students:
            now, before = self.says(student), self.given.setdefault(student, [])
            if not before or before[-1] != now:
                before.append(now)

    def since(self, student: str) -> dict[str, Any] | None:
        """The last page that the student got and that said something else."""
        now = self.says(student)
        return next((old for old in reversed(self.given.get(student, [])) if old != now), None)


def mixed(before: Graded | None, now: Graded, only: str) -> Graded:
    """`now`, but of an earlier grading of the same file all items but `only`, if it is given."""
    if before is None or not only:
        return now
    return replace(now, items={**before.items, only: now.items[only]})


# --- what the grader tells ------------------------------------------------------------------------------


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def compare_tables(book: Book, out: Path) -> None:
    """Every table tells what the oracle says."""
    want = {(*who, item): points for who in book.counts for item, points in book.points(who).items()}
    got = {(r["student"], r["notebook"], r["item"]): r for r in rows(out / "grades.csv")}
    assert got.keys() == want.keys()
    for key, points in want.items():
        student, name, item = key
        one, row = book.counts[student, name], got[key]
        assert float(row["points"]) == near(points), (key, row["points"], points)
        assert float(row["max"]) == one.items[item][1]
        state = "overridden" if (student, item) in book.overrides else one.items[item][2]
        assert row["status"] == state, (key, row["status"], state)
    for row in rows(out / "submissions.csv"):
        who = row["student"], row["notebook"]
        one = book.counts[who]
        days, off, _ = book.rules.late(who, one.at)
        assert float(row["points"]) == near(book.total(who))
        assert (row["status"], int(row["days_late"])) == (one.status, days), (who, row)
        assert float(row["penalty"]) == near(off / 100)
        assert row["handed_in"] == (one.at.isoformat() if one.at else "")
        for other in book.others.get(who, {}).values():
            if other.status == "graded":
                earns = sum(round(points, 4) for points in book.rules.earned(who, other).values())
                at = f", handed in {other.at.isoformat()}," if other.at else ""
                assert f"{at} earns {round(earns, 4):g} and does not count." in row["notes"], (
                    who,
                    row["notes"],
                )
        assert row["notes"].count("does not count.") == sum(
            other.status == "graded" for other in book.others.get(who, {}).values()
        ), (who, row["notes"])
    told = json.loads((out / "grades.json").read_text(encoding="utf-8"))["students"]
    assert {student["student"] for student in told} == {student for student, _ in book.counts}
    for student in told:
        for one in student["notebooks"]:
            who = student["student"], one["notebook"]
            work = book.counts[who].work
            assert (one["points"], one["sha256"]) == (near(book.total(who)), work.digest if work else ""), who
            assert one.get("comment", {}).get("text", "") == book.comments.get(who, ""), who
            for item in one["items"]:
                mine = who[0], item["item"]
                override = item.get("override")
                assert (override and (override["points"], override["reason"])) == book.overrides.get(mine), (
                    mine
                )
                assert item.get("comment", {}).get("text", "") == book.comments.get(mine, ""), mine
        mine = [book.total(who) for who in book.of(student["student"])]
        scope = json.loads((out / "gradescope" / student["student"] / "results.json").read_text())
        score = scope["score"]
        for test in scope["tests"]:
            name, item = test["name"].split()
            assert test["score"] == near(book.points((student["student"], name))[item]), test
        assert (student["points"], score) == (near(sum(mine)), near(sum(mine)))
    for row in rows(out / "nbgrader.csv"):
        assert float(row["score"]) == near(book.total((row["student_id"], row["assignment"])))


def compare_pages(book: Book, out: Path) -> None:
    """Every student's page, and the report, tell what the oracle says."""
    students = {student for student, _ in book.counts}
    assert {path.stem for path in (out / "feedback").iterdir()} >= students
    for student in students:
        page = (out / "feedback" / f"{student}.html").read_text(encoding="utf-8")
        total = sum(book.total(who) for who in book.of(student))
        assert float(re.search(r"<strong>([\d.]+) of", page)[1]) == near(round(total, 2)), student
        for who in book.of(student):
            for item, points in book.points(who).items():
                card = re.search(rf'id="item-{item}">.*?<span class="n">(.*?) of \S+</span></header>', page)
                if card:
                    assert float(card[1].split()[-1]) == near(round(points, 2)), (who, item)
            for item in ("", *BOOKS[who[1]]):
                said = book.comments.get((student, item) if item else who, "")
                assert not said or html.escape(said) in page, (who, item, said)
        changed = re.search(r'<section class="changed">(.*?)</section>', page, re.DOTALL)
        compare_changes(book, student, changed[1] if changed else "")


def compare_changes(book: Book, student: str, section: str) -> None:
    """What has changed since the page that the student has."""
    before, now = book.since(student), book.says(student)
    want, headings = {}, re.findall(r"<tr>(.*?)</tr>", section, re.DOTALL)
    for name in {*(before or {}), *now} if before is not None else ():
        was, is_ = before.get(name, {"items": {}}), now.get(name, {"items": {}})
        for item in {*was["items"], *is_["items"]}:
            one, two = was["items"].get(item), is_["items"].get(item)
            if one != two and name in before and name in now:
                want[item] = one[0], two[0]
        if was.get("comment", "") != is_.get("comment", ""):
            assert name not in before or name not in now or "comment" in section, (student, name)
    got = {}
    for row in headings:
        item = re.search(r'href="#item-([\d.]+)"', row)
        if item:
            cells = re.findall(r'<td class="n">([\d.]+) of', row)
            got[item[1]] = tuple(map(float, cells))
    assert got.keys() == want.keys(), (student, got, want)
    for item, pair in want.items():
        assert got[item] == tuple(near(round(points, 2)) for points in pair), (student, item, got, want)
    totals = [
        sum(one[0] for name in version.values() for one in name["items"].values())
        for version in (before or {}, now)
    ]
    if section and "is the same" not in section:
        said = re.search(r"All in all ([\d.]+) points before, ([\d.]+) now", section)
        assert tuple(map(float, said.groups())) == tuple(near(round(one, 2)) for one in totals), student
    elif section:
        assert totals[0] == near(totals[1]), student


def compare_report(book: Book, out: Path) -> None:
    report = (out / "report.html").read_text(encoding="utf-8")
    if not any(one.status == "graded" for one in book.counts.values()):
        return
    table = re.search(r'id="items">.*?</table>', report, re.DOTALL)[0]
    shares = {}
    for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]:
        item = re.search(r"9\d\.\d", row)
        shares[item[0]] = int(re.search(r"([\d.]+)%</span>", row)[1])
    for name, items in BOOKS.items():
        graded = [who for who, one in book.counts.items() if who[1] == name and one.status == "graded"]
        for item in items if graded else ():
            own = [
                book.overrides.get((who[0], item), (book.counts[who].items[item][0],))[0]
                / book.counts[who].items[item][1]
                for who in graded
            ]
            assert abs(shares[item] - 100 * sum(own) / len(own)) <= 0.51, (item, shares)


def near(number: float) -> Any:
    import pytest

    return pytest.approx(number, abs=2e-4)


def copy(book: Book) -> Book:
    """A book that does not change with it."""
    return replace(
        book,
        counts=dict(book.counts),
        others={who: dict(some) for who, some in book.others.items()},
        newest=dict(book.newest),
        overrides=dict(book.overrides),
        comments=dict(book.comments),
    )


def table(head: str, lines: Any) -> str:
    """A CSV file."""
    out = io.StringIO()
    csv.writer(out).writerows([head.split(","), *lines])
    return out.getvalue()


def put(path: Path, data: bytes, at: datetime) -> None:
    """A file of this time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (at.timestamp(), at.timestamp()))
