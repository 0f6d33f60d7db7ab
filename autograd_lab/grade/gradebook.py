"""The gradebook: one SQLite file, one transaction for each submission, so that nothing is lost or counted twice.

    submissions   what was handed in and what running it gave; one row for each student and notebook
    results       one row for each item, with the state of everything it was computed from (`basis`)
    overrides     points given by a person, with reason, author and time; never deleted, kept through regrades
    comments      what a person wrote about an item or a notebook, without changing points
    attempts      what was handed in earlier, or later with fewer points where the best counts
    returned      what the pages said that students have
    history       what changed, when

Policy (policy.py) is in the settings, and applied when entries are read. A grading run that is killed leaves only whole submissions
behind; the next one compares `basis` and continues. by_hand.py shows the gradebook and changes grades by hand; rescue.py keeps copies, and
brings it back.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import rescue
from .model import RESULT_STATES, Answer, CannotGradeError, Cell, CellRun, Job, Result, Run
from .policy import Policy

VERSION = 1
NAME = "gradebook.db"
STATUSES = ("graded", "missing", "unreadable")
SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE submissions (
    student TEXT NOT NULL, notebook TEXT NOT NULL,
    status TEXT NOT NULL,       -- "graded", "missing" or "unreadable"
    file TEXT NOT NULL,         -- relative to the folder with the submissions
    digest TEXT NOT NULL,       -- SHA-256 of the file
    handed_in INTEGER,          -- seconds since 1970, UTC
    notes TEXT NOT NULL,        -- JSON: what had to be mended
    asked TEXT NOT NULL,        -- digest of all that the run below depends on
    job BLOB, run BLOB,         -- compressed JSON: the merged notebook and what came back
    seconds REAL NOT NULL,
    PRIMARY KEY (student, notebook));
CREATE TABLE results (
    student TEXT NOT NULL, notebook TEXT NOT NULL, item TEXT NOT NULL,
    place INTEGER NOT NULL,     -- its place in the notebook
    score REAL NOT NULL, points REAL NOT NULL, state TEXT NOT NULL, says TEXT NOT NULL, misconception TEXT NOT NULL,
    probe TEXT NOT NULL, "case" INTEGER NOT NULL, hidden INTEGER NOT NULL,
    got TEXT NOT NULL, want TEXT NOT NULL,   -- JSON
    basis TEXT NOT NULL,        -- digest of all that this result depends on
    PRIMARY KEY (student, notebook, item));
CREATE TABLE overrides (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    student TEXT NOT NULL, notebook TEXT NOT NULL, item TEXT NOT NULL,
    points REAL,                -- NULL: an earlier one is withdrawn
    reason TEXT NOT NULL, author TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE history (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL, event TEXT NOT NULL, student TEXT NOT NULL, notebook TEXT NOT NULL, item TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, reason TEXT NOT NULL, author TEXT NOT NULL);
"""
LATER = """
CREATE TABLE IF NOT EXISTS comments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    student TEXT NOT NULL, notebook TEXT NOT NULL,
    item TEXT NOT NULL,         -- "": about the notebook
    text TEXT NOT NULL,         -- "": an earlier one is withdrawn
    author TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS attempts (
    student TEXT NOT NULL, notebook TEXT NOT NULL, status TEXT NOT NULL, file TEXT NOT NULL, digest TEXT NOT NULL,
    handed_in INTEGER, notes TEXT NOT NULL, asked TEXT NOT NULL, job BLOB, run BLOB, seconds REAL NOT NULL,
    results TEXT NOT NULL,      -- JSON: the rows that `results` had
    PRIMARY KEY (student, notebook, digest));
CREATE TABLE IF NOT EXISTS returned (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    student TEXT NOT NULL, at TEXT NOT NULL, way TEXT NOT NULL,
    version TEXT NOT NULL);     -- JSON: what the page said, as feedback.py compares it
"""
"""Tables that gradebooks of this version may lack; earlier programs do not look at them."""
_RESULT = 'student, notebook, item, place, score, points, state, says, misconception, probe, "case", hidden, got, want, basis'
_RESULTS = _RESULT.replace('"', "").split(", ")
_SUBMISSION = "student, notebook, status, file, digest, handed_in, notes, asked, job, run, seconds"


@dataclass(frozen=True)
class Comment:
    """What a person wrote to a student."""

    text: str
    author: str
    at: str


@dataclass(frozen=True)
class Attempt:
    """A submission that does not count, because another one does."""

    file: str
    handed_in: datetime | None
    total: float

    @property
    def says(self) -> str:
        """A sentence about it. The one that counts may have the same name, if it was handed in over this one: so it has the time."""
        when = f", handed in {self.handed_in.isoformat()}," if self.handed_in else ""
        return f"{self.file}{when} earns {self.total:g} and does not count."


@dataclass(frozen=True)
class Override:
    """Points that a person assigned."""

    points: float
    reason: str
    author: str
    at: str
    """When, ISO 8601 in UTC."""


@dataclass
class Known:
    """What the gradebook knows of one submission, to decide what is left to do."""

    status: str
    digest: str
    asked: str
    file: str
    handed_in: int | None
    notes: tuple[str, ...]
    results: dict[str, str] = field(default_factory=dict)
    """{item: basis}."""
    states: set[str] = field(default_factory=set)


@dataclass
class Entry:
    """One submission as it counts: its results, its lateness, and the overrides."""

    student: str
    notebook: str
    status: str
    file: str
    digest: str
    handed_in: datetime | None
    notes: list[str]
    seconds: float
    due: datetime | None = None
    penalty: float = 0.0
    """The share of each item's points that lateness costs, from 0 to 1."""
    days_late: int = 0
    """Days late, each day begun counting as one; 0 if in time, or within the days of grace."""
    ceiling: float = 1.0
    """The share of an item's points that it earns at most."""
    closed: bool = False
    """Whether it came when nothing was taken any more."""
    extension: str = ""
    """The student's own due date, in words, if it is not that of the class."""
    results: list[Result] = field(default_factory=list)
    overrides: dict[str, Override] = field(default_factory=dict)
    comments: dict[str, Comment] = field(default_factory=dict)
    """{item, or "" for the notebook: comment}."""
    others: list[Attempt] = field(default_factory=list)
    """The student's other submissions."""

    def points(self, result: Result) -> float:
        """What counts for an item: the override if there is one, otherwise the score less what lateness costs."""
        override = self.overrides.get(result.item)
        return override.points if override else self.earned(result)

    def earned(self, result: Result) -> float:
        """What an item earns without anybody's help: its score less what lateness costs."""
        return round(min(result.score * (1 - self.penalty), result.points * self.ceiling), 4)

    @property
    def total(self) -> float:
        """The points of all items."""
        return round(sum(map(self.points, self.results)), 4)

    @property
    def most(self) -> float:
        """The most points they can earn."""
        return round(sum(result.points for result in self.results), 4)


class _Database:
    """A connection to SQLite whose errors are sentences: CannotGradeError, with a way out."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> _Rows:
        """The rows that a statement gives: all of them, since damage may be found at any."""
        try:
            return _Rows(self.connection.execute(statement, values).fetchall())
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise  # the mistake of a program
        except sqlite3.Error as error:
            raise rescue.trouble(self.path, error) from error

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement that gives no rows, once for each of these."""
        try:
            self.connection.executemany(statement, rows)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
            raise
        except sqlite3.Error as error:
            raise rescue.trouble(self.path, error) from error

    def close(self) -> None:
        self.connection.close()

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    @property
    def total_changes(self) -> int:
        return self.connection.total_changes


class _Rows(list[Any]):
    """Rows, as a cursor gives them."""

    def fetchone(self) -> Any:
        return self[0] if self else None

    def fetchall(self) -> list[Any]:
        return self


P = ParamSpec("P")
T = TypeVar("T")


def _sensible(method: Callable[Concatenate[Gradebook, P], T]) -> Callable[Concatenate[Gradebook, P], T]:
    """For methods that read: what makes no sense is damage that SQLite does not see, and a sentence says so."""

    @wraps(method)
    def reading(self: Gradebook, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, OSError) as error:
            raise rescue.trouble(self.path, error) from error

    return reading


class Gradebook:
    """An open gradebook; a context manager.

    Raises CannotGradeError, here and whenever SQLite refuses something, if the file is not a gradebook, is of a newer version, is damaged,
    or cannot be written.
    """

    def __init__(self, path: Path, create: bool = False) -> None:
        self.path = path
        self._entries: list[Entry] = []
        self._by_item: dict[tuple[str, str], Entry] = {}
        self._by_item_of: list[Entry] | None = None
        self._read_at: tuple[int, int] | None = None
        """The state of the database when the entries were read: what this connection and others had written until then."""
        if not create and not path.is_file():
            raise CannotGradeError(
                f"There is no gradebook {path}.",
                "the file is not there.",
                "give the folder that `autograd-lab grade ... --out RESULTS` wrote",
            )
        self.taken = 0
        """How many rows a new gradebook took from the file of what was done by hand in an earlier one."""
        try:
            connection = sqlite3.connect(path, timeout=30, isolation_level=None)
        except sqlite3.Error as error:
            raise rescue.trouble(path, error) from error
        self._db = _Database(path, connection)
        with ExitStack() as unless_ready:
            unless_ready.callback(self._db.close)
            connection.row_factory = sqlite3.Row
            self._recognize(create)
            self._db.execute("PRAGMA journal_mode = WAL")
            # A kill loses nothing either way; after a power cut the last submissions would be graded again.
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._prepare()
            self._changes = self._db.total_changes
            unless_ready.pop_all()

    def _recognize(self, create: bool) -> None:
        """Raise CannotGradeError for a file of something else, before anything is written to it."""
        there = {row[0] for row in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        own = {table for table, kinds in _kinds().items() if f"CREATE TABLE {table} " in SCHEMA}
        known = (self.path.parent / rescue.BY_HAND).exists() or rescue.backups(self.path)
        if not there and not create and known:  # else a run was killed before it had made its tables
            raise CannotGradeError(
                f"The gradebook {self.path} is empty.", "there is no table in it.", rescue.way_out(self.path)
            )
        if there and 2 * len(there & own) <= len(own):
            raise CannotGradeError(
                f"{self.path} is a database of something else.",
                f"it has the tables {', '.join(sorted(there - {'sqlite_sequence'}))[:200]}; it was not touched.",
                "give the folder that `autograd-lab grade ... --out RESULTS` wrote, or another one to write to",
            )
        for table, kinds in _kinds().items():
            if table not in there and (table not in own or not there):
                continue  # it will be made
            found = {row[1] for row in self._db.execute(f"PRAGMA table_info({table})")}
            if lacks := ", ".join(sorted(kinds.keys() - found)):
                raise rescue.trouble(self.path, ValueError(f"the table {table} lacks {lacks}"))
            odd = " OR ".join(f'typeof("{column}") NOT IN {allowed}' for column, allowed in kinds.items())
            for (number,) in self._db.execute(f"SELECT rowid FROM {table} WHERE {odd} LIMIT 1"):
                raise rescue.trouble(self.path, ValueError(f"row {number} of the table {table}"))

    def _prepare(self) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise CannotGradeError(
                f"The gradebook {self.path} is of version {version}.",
                f"this autograd_lab knows versions up to {VERSION}.",
                "update autograd_lab",
            )
        if version == 0:
            with self._transaction():
                if not self._db.execute(
                    "SELECT 1 FROM sqlite_master"
                ).fetchone():  # no other process was faster
                    for statement in SCHEMA.split(";\n"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {VERSION}")
                    for statement in LATER.split(";\n"):
                        self._db.execute(statement)
                    earlier = self.path.parent / rescue.BY_HAND
                    if earlier.exists():
                        self.taken, _ = rescue.merge(self._db.connection, rescue.read(earlier))
        for statement in LATER.split(";\n"):
            self._db.execute(statement)

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._db.total_changes > self._changes:
                self.save_by_hand(self.path.parent)
        finally:
            self.close()

    # --- copies ---

    def back_up(self) -> Path | None:
        """Copy it to its backups, unless it is the same as the last; its path. What was done by hand is never older than a backup."""
        self.save_by_hand(self.path.parent)
        with self._copying("backup"):
            return rescue.back_up(self._db.connection, self.path)

    def check(self) -> None:
        """Raise CannotGradeError if SQLite finds damage in it."""
        with self._copying("check"):
            rescue.check(self._db.connection)

    def save_by_hand(self, folder: Path) -> Path | None:
        """Write what was done by hand into a file in a folder, if there is any; its path."""
        with self._copying("copy of what was done by hand"):
            return rescue.save(self._db.connection, folder)

    def take_by_hand(self, rows: rescue.Rows, newer: bool = False) -> tuple[int, int]:
        """Add what was done by hand, as `rescue.read` gives it; how many rows are new, and how many do not fit.

        newer   whether it was done later than what is here, so that its policy counts
        """
        try:
            with self._transaction():
                return rescue.merge(self._db.connection, rows, newer)
        except sqlite3.Error as error:
            raise rescue.trouble(self.path, error) from error

    @contextmanager
    def _copying(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise rescue.trouble(self.path, error) from error
        except OSError as error:
            raise CannotGradeError(
                f"The {what} could not be written.",
                f"the system says: {error.strerror or error}.",
                "free some space, or allow writing there; what is in the gradebook is kept",
            ) from error

    def close(self) -> None:
        """Close the file and merge its log into it."""
        with suppress(CannotGradeError):
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Record everything inside in one transaction: for many records that are cheap to make again."""
        with self._transaction():
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._db.in_transaction:
            yield
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.connection.in_transaction:  # SQLite has ended it if the disk is full
                with suppress(CannotGradeError):
                    self._db.execute("ROLLBACK")
            self._read_at = None
            raise

    # --- grading ---

    @_sensible
    def known(self) -> dict[tuple[str, str], Known]:
        """What the gradebook knows, by student and notebook."""
        found = {
            (row[0], row[1]): Known(row[2], row[3], row[4], row[5], row[6], tuple(_notes(row[7])))
            for row in self._db.execute(
                "SELECT student, notebook, status, digest, asked, file, handed_in, notes FROM submissions"
            )
        }
        for student, notebook, item, basis, state in self._db.execute(
            "SELECT student, notebook, item, basis, state FROM results"
        ):
            found[student, notebook].results[item] = basis
            found[student, notebook].states.add(state)
        return found

    @_sensible
    def known_attempts(self) -> dict[tuple[str, str, str], Known]:
        """What the gradebook knows of the submissions that do not count, by student, notebook and digest."""
        found = {}
        for row in self._db.execute(
            "SELECT student, notebook, status, digest, asked, file, handed_in, notes, results FROM attempts"
        ):
            results = json.loads(row[8])
            found[row[0], row[1], row[3]] = Known(
                row[2], row[3], row[4], row[5], row[6], tuple(_notes(row[7])),
                {one["item"]: one["basis"] for one in results}, {one["state"] for one in results},
            )  # fmt: skip
        return found

    def record(
        self,
        student: str,
        notebook: str,
        results: Iterable[Result],
        basis: Mapping[str, str],
        *,
        status: str = "graded",
        file: str = "",
        digest: str = "",
        handed_in: datetime | None = None,
        notes: Iterable[str] = (),
        asked: str = "",
        job: Job | None = None,
        run: Run | None = None,
        only: str = "",
    ) -> None:
        """Store a submission with its results, replacing what was known of it; after a kill, all of it or nothing.

        If it is another one than before, the earlier one is kept as an attempt. Where the best counts, that may be the new one.

        basis   {item: digest of what its result depends on}
        asked   digest of what `run` depends on
        only    the one item whose result is replaced; the others are kept, unless they are those of another file
        """
        results = list(results)
        who = (student, notebook)
        now = _now()
        row = (*who, status, file, digest, _seconds(handed_in), _text(list(notes)), asked,
               _pack(job), _pack(run), run.seconds if run else 0.0)  # fmt: skip
        with self._transaction():
            counted = self._digest(*who)
            other = counted not in (None, "", digest)
            if other and status != "missing" and self.setting("counts", "latest") == "best":
                self._keep_attempt(row, results, basis, only)
                self.settle([who])
                return
            if counted != digest:
                only = ""  # points of two files, or of part of one, would be nobody's
            if other:
                self._put_aside(*who)
            before = {
                row[0]: (row[1], row[2])
                for row in self._db.execute(
                    "SELECT item, score, state FROM results WHERE student = ? AND notebook = ?", who
                )
            }
            self._db.execute(f"INSERT OR REPLACE INTO submissions VALUES ({', '.join('?' * len(row))})", row)
            self._db.execute(
                "DELETE FROM attempts WHERE student = ? AND notebook = ? AND digest = ?", (*who, digest)
            )
            if not only:
                self._db.execute("DELETE FROM results WHERE student = ? AND notebook = ?", who)
            new = [(place, one) for place, one in enumerate(results) if not only or one.item == only]
            self._put_results(_result_row(who, one, place, basis.get(one.item, "")) for place, one in new)
            for _, one in new:
                was = before.get(one.item)
                if was and was != (one.score, one.state):
                    self._log(
                        now, "regraded", *who, one.item, f"{was[0]:g} {was[1]}", f"{one.score:g} {one.state}"
                    )
            if not before:
                total = f"{sum(one.score for one in results):g} of {sum(one.points for one in results):g}"
                self._log(now, status, *who, "", "", total)
            if self.setting("counts", "latest") == "best":
                self.settle([who])

    def _put_results(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._db.execute_many(
            f"INSERT OR REPLACE INTO results ({_RESULT}) VALUES ({', '.join('?' * len(_RESULTS))})",
            ([row[name] for name in _RESULTS] for row in rows),
        )

    # --- attempts ---

    def _digest(self, student: str, notebook: str) -> str | None:
        """The digest of the submission that counts."""
        row = self._db.execute(
            "SELECT digest FROM submissions WHERE student = ? AND notebook = ?", (student, notebook)
        ).fetchone()
        return None if row is None else str(row[0])

    def _keep_attempt(
        self, row: tuple[Any, ...], results: list[Result], basis: Mapping[str, str], only: str
    ) -> None:
        who = row[0], row[1]
        rows = [_result_row(who, one, place, basis.get(one.item, "")) for place, one in enumerate(results)]
        known = self._db.execute(
            "SELECT results FROM attempts WHERE student = ? AND notebook = ? AND digest = ?",
            (*row[:2], row[4]),
        ).fetchone()
        if only and known:
            rows = [
                next((new for new in rows if new["item"] == only == one["item"]), one)
                for one in self._loads(known[0])
            ]
        elif not known:
            total = f"{sum(one.score for one in results):g} of {sum(one.points for one in results):g}"
            self._log(_now(), "another submission", row[0], row[1], "", "", total)
        self._db.execute(
            f"INSERT OR REPLACE INTO attempts ({_SUBMISSION}, results) VALUES ({', '.join('?' * 12)})",
            (*row, _text(rows)),
        )

    def _put_aside(self, student: str, notebook: str) -> None:
        """Keep the submission that counted as one that does not."""
        who = (student, notebook)
        rows = [
            dict(row)
            for row in self._db.execute(
                f"SELECT {_RESULT} FROM results WHERE student = ? AND notebook = ?", who
            )
        ]
        self._db.execute(
            f"INSERT OR REPLACE INTO attempts ({_SUBMISSION}, results) SELECT {_SUBMISSION}, ? FROM submissions"
            " WHERE student = ? AND notebook = ? AND status != 'missing'",
            (_text(rows), *who),
        )

    def settle(self, which: Iterable[tuple[str, str]] | None = None) -> list[tuple[str, str]]:
        """Let the submissions count that the policy says, of these students and notebooks or of all; returns those that changed."""
        best = self.setting("counts", "latest") == "best"
        policy = Policy.of(self.setting)
        newest = self.setting("newest", {})
        changed = []
        with self._transaction():
            pairs = (
                which
                if which is not None
                else self._db.execute("SELECT DISTINCT student, notebook FROM attempts").fetchall()
            )
            for student, notebook in map(tuple, pairs):
                who = (student, notebook)
                rows = self._db.execute(
                    "SELECT digest, status, handed_in, results FROM attempts WHERE student = ? AND notebook = ?",
                    who,
                ).fetchall()
                now = self._db.execute(
                    "SELECT digest, status, handed_in FROM submissions WHERE student = ? AND notebook = ?",
                    who,
                ).fetchone()
                if not rows or now is None:
                    continue
                results = [
                    dict(row)
                    for row in self._db.execute(
                        "SELECT item, score, points FROM results WHERE student = ? AND notebook = ?", who
                    )
                ]

                def worth(
                    digest: str,
                    status: str,
                    at: int | None,
                    results: list[dict[str, Any]],
                    who: tuple[str, str] = who,
                ) -> tuple[Any, ...]:
                    if not best:
                        return newest.get(who[0], {}).get(who[1]) == digest, at or 0
                    # that there is nothing any more is newer than any file that could not be read
                    when = math.inf if status == "missing" else at or 0
                    return status == "graded", _total(policy, who, _moment(at), results), when

                ranked = [(worth(row[0], row[1], row[2], self._loads(row[3])), row[0]) for row in rows]
                top, digest = max(ranked)
                if top > worth(now[0], now[1], now[2], results):
                    self._exchange(student, notebook, digest)
                    changed.append(who)
        return changed

    def note_newest(self, found: Mapping[tuple[str, str], str]) -> None:
        """Note which file was the newest, by its digest, where a student has several submissions: times do not always tell."""
        several = set(map(tuple, self._db.execute("SELECT DISTINCT student, notebook FROM attempts")))
        newest = self.setting("newest", {})
        for student, notebook in several & found.keys():
            newest.setdefault(student, {})[notebook] = found[student, notebook]
        if newest:
            self.set("newest", newest)

    def _exchange(self, student: str, notebook: str, digest: str) -> None:
        """Let another submission count."""
        who = (student, notebook)
        old = self._db.execute(
            "SELECT SUM(score) FROM results WHERE student = ? AND notebook = ?", who
        ).fetchone()[0]
        row = self._db.execute(
            f"SELECT {_SUBMISSION}, results FROM attempts WHERE student = ? AND notebook = ? AND digest = ?",
            (*who, digest),
        ).fetchone()
        self._put_aside(*who)
        self._db.execute(
            "DELETE FROM attempts WHERE student = ? AND notebook = ? AND digest = ?", (*who, digest)
        )
        self._db.execute("DELETE FROM results WHERE student = ? AND notebook = ?", who)
        self._db.execute(
            f"INSERT OR REPLACE INTO submissions VALUES ({', '.join('?' * 11)})", tuple(row)[:11]
        )
        results = self._loads(row[11])
        self._put_results(results)
        new = sum(one["score"] for one in results)
        self._log(
            _now(),
            "another counts",
            *who,
            "",
            f"{old or 0:g}",
            f"{new:g}",
            f"the {self.setting('counts', 'latest')} counts",
        )

    def touch(
        self,
        student: str,
        notebook: str,
        file: str,
        handed_in: datetime | None,
        notes: Iterable[str],
        digest: str = "",
    ) -> None:
        """Update where a graded submission is and when it was handed in; of the one with this digest, if there are several."""
        aside = bool(digest) and self._digest(student, notebook) != digest
        with self._transaction():
            self._db.execute(
                f"UPDATE {'attempts' if aside else 'submissions'} SET file = ?, handed_in = ?, notes = ?"
                f" WHERE student = ? AND notebook = ?{' AND digest = ?' if aside else ''}",
                (
                    file,
                    _seconds(handed_in),
                    _text(list(notes)),
                    student,
                    notebook,
                    *([digest] if aside else []),
                ),
            )

    def stored_run(self, student: str, notebook: str, digest: str = "") -> tuple[Job, Run] | None:
        """The merged notebook and the result of running it; None if they were stored in a form that this version does not know.

        digest  of the submission, if not the one that counts is meant
        """
        aside = bool(digest) and self._digest(student, notebook) != digest
        row = self._db.execute(
            f"SELECT job, run FROM {'attempts' if aside else 'submissions'} WHERE student = ? AND notebook = ?"
            f"{' AND digest = ?' if aside else ''}",
            (student, notebook, *([digest] if aside else [])),
        ).fetchone()
        if row is None or row[0] is None or row[1] is None:
            return None
        try:
            job, run = _unpack(row[0]), _unpack(row[1])
            job["cells"] = tuple(Cell(**cell) for cell in job["cells"])
            job["notes"] = tuple(job["notes"])
            run["cells"] = [CellRun(**cell) for cell in run["cells"]]
            run["answers"] = {item: Answer(**answer) for item, answer in run["answers"].items()}
            return Job(**job), Run(**run)
        except (TypeError, KeyError, ValueError, zlib.error):
            return None  # written by another version: the submission is run again

    def _loads(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise rescue.trouble(self.path, error) from error

    def _log(
        self, at: str, event: str, student: str, notebook: str, item: str, before: str, after: str,
        reason: str = "", author: str = "",
    ) -> None:  # fmt: skip
        self._db.execute(
            "INSERT INTO history (at, event, student, notebook, item, before, after, reason, author)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (at, event, student, notebook, item, before, after, reason, author),
        )

    # --- what students have ---

    @_sensible
    def returned(self) -> dict[str, list[tuple[str, dict[str, Any]]]]:
        """{student: [(when, version)]} of the pages that were given back, oldest first."""
        found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        for student, at, version in self._db.execute(
            "SELECT student, at, version FROM returned ORDER BY number"
        ):
            found.setdefault(student, []).append((at, json.loads(version)))
        return found

    def give_back(self, versions: Mapping[str, Mapping[str, Any]], way: str) -> None:
        """Note what the pages say that students have from now on."""
        now = _now()
        before = self.returned()
        with self._transaction():
            for student, version in versions.items():
                earlier = before.get(student)
                if earlier and earlier[-1][1] == version:
                    self._db.execute(
                        "UPDATE returned SET at = ?, way = ? WHERE number = (SELECT MAX(number) FROM returned WHERE student = ?)",
                        (now, way, student),
                    )
                else:
                    self._db.execute(
                        "INSERT INTO returned (student, at, way, version) VALUES (?, ?, ?, ?)",
                        (student, now, way, _text(version)),
                    )

    # --- settings ---

    @_sensible
    def setting(self, name: str, default: Any = None) -> Any:
        """A stored setting."""
        row = self._db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return default if row is None else json.loads(row[0])

    def set(self, name: str, value: Any) -> None:
        """Store a setting. If it is so already nothing is written: a run without anything new leaves every file as it is."""
        with self._transaction():
            self._db.execute(
                "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                " WHERE value != excluded.value",
                (name, _text(value)),
            )

    # --- what counts ---

    @_sensible
    def entries(self) -> list[Entry]:
        """All submissions as they count, sorted by student and notebook. They are read again only if the database has changed."""
        at = (self._db.execute("PRAGMA data_version").fetchone()[0], self._db.total_changes)
        if at != self._read_at:
            self._entries, self._read_at = self._read(), at
        return list(self._entries)

    def _read(self) -> list[Entry]:
        policy = Policy.of(self.setting)
        found: dict[tuple[str, str], Entry] = {}
        inside = self._db.in_transaction
        if not inside:
            self._db.execute("BEGIN")  # one consistent view of all tables
        try:
            for row in self._db.execute(
                "SELECT student, notebook, status, file, digest, handed_in, notes, seconds FROM submissions"
            ):
                at = _moment(row[5])
                if row[2] not in STATUSES:
                    raise ValueError(f"the status {row[2]!r}")
                entry = Entry(row[0], row[1], row[2], row[3], row[4], at, _notes(row[6]), row[7])
                entry.due = policy.due_of(entry.student, entry.notebook)
                entry.days_late, entry.penalty, entry.closed = policy.lateness(entry.due, at)
                entry.ceiling = policy.ceiling if entry.days_late else 1.0
                entry.extension = policy.extension_says(entry.student, entry.notebook)
                found[row[0], row[1]] = entry
            for row in self._db.execute(
                'SELECT student, notebook, item, score, points, state, says, misconception, probe, "case", hidden, got, want'
                " FROM results ORDER BY student, notebook, place, item"
            ):
                found[row[0], row[1]].results.append(_result(*row))
            for student, notebook, item, points, reason, author, at in self._db.execute(
                "SELECT student, notebook, item, points, reason, author, at FROM overrides ORDER BY number"
            ):
                if (student, notebook) not in found:
                    continue  # the notebook was forgotten; if it is graded again, this counts again
                changed = found[student, notebook].overrides
                changed.pop(item, None)
                if points is not None:
                    changed[item] = Override(points, reason, author, at)
            for student, notebook, item, text, author, at in self._db.execute(
                "SELECT student, notebook, item, text, author, at FROM comments ORDER BY number"
            ):
                if (student, notebook) in found:
                    written = found[student, notebook].comments
                    written.pop(item, None)
                    if text:
                        written[item] = Comment(text, author, at)
            for student, notebook, file, at, results in self._db.execute(
                "SELECT student, notebook, file, handed_in, results FROM attempts WHERE status = 'graded' ORDER BY handed_in, digest"
            ):
                if (student, notebook) in found:
                    when = _moment(at)
                    total = _total(policy, (student, notebook), when, json.loads(results))
                    found[student, notebook].others.append(Attempt(file, when, total))
        finally:
            if not inside and self._db.in_transaction:
                self._db.execute("COMMIT")
        return [found[key] for key in sorted(found)]

    # --- by hand ---

    def override(self, student: str, item: str, points: float | None, reason: str, author: str) -> Entry:
        """Override an item's points, whatever the grader says, or withdraw the override (points=None).

        An override survives regrading and has no late penalty. Raises CannotGradeError if there is no such result, if the item cannot have
        these points, or if no reason is given.
        """
        self.change_all([self.change(student, item, points, reason)], author)
        entry = self._entry(student, item)
        assert entry is not None
        return entry

    def comment(self, student: str, about: str, text: str, author: str) -> Entry:
        """Write to a student about an item or a notebook, without changing points; an empty text withdraws it.

        Raises CannotGradeError if there is no such student, item or notebook.
        """
        change = self.change(student, about, None, "", comment=text)
        self.change_all([change], author)
        return next(e for e in self.entries() if (e.student, e.notebook) == (student, change.notebook))

    def change(
        self, student: str, about: str, points: float | None, reason: str, comment: str | None = None
    ) -> Change:
        """A change by hand, checked but not made. Raises CannotGradeError.

        about    an item; for a comment also a notebook
        comment  what to write; points stay as they are then
        """
        entry = self._entry(student, about, comment is not None)
        if entry is None:
            students = {e.student for e in self.entries()}
            near = sorted(s for s in students if student.casefold() in s.casefold())[:5]
            items = sorted({r.item for e in self.entries() if e.student == student for r in e.results})
            raise CannotGradeError(
                f"There is no result of {student} for the item {about}.",
                f"{student} has {', '.join(items)}."
                if items
                else f"the gradebook has no student {student!r}.",
                f"perhaps {', '.join(near)}"
                if near and not items
                else "see `autograd-lab gradebook RESULTS show`",
            )
        result = next((r for r in entry.results if r.item == about), None)
        item = about if result else ""
        if comment is not None:
            return Change(student, entry.notebook, item, None, "", comment.strip(), "")
        assert result is not None
        if points is not None and not 0 <= points <= result.points:
            raise CannotGradeError(
                f"{points:g} points cannot be given for {about}.",
                f"it is worth {result.points:g}.",
                f"give 0 to {result.points:g}",
            )
        if points is None and about not in entry.overrides:
            raise CannotGradeError(
                f"There is nothing to withdraw for {student}, {about}.",
                "its points are the grader's.",
                "see `autograd-lab gradebook RESULTS history`",
            )
        reason = _reason(reason, "The override was not made.")
        return Change(student, entry.notebook, item, points, reason, None, f"{entry.points(result):g}")

    def _entry(self, student: str, about: str, notebooks: bool = False) -> Entry | None:
        """The student's entry with an item or, if they are meant as well, of a notebook."""
        entries = self.entries()
        if self._by_item_of is not self._entries:
            self._by_item = {(e.student, r.item): e for e in entries for r in e.results}
            self._by_item_of = self._entries
        found = self._by_item.get((student, about))
        if found is None and notebooks:
            own = (e for e in entries if e.student == student)
            found = next((e for e in own if about in (e.notebook, e.notebook.split("_")[0])), None)
        return found

    def change_all(self, changes: Iterable[Change], author: str) -> None:
        """Make changes by hand, all or none. After a power cut they would have to be typed again, so this waits for the disk."""
        now = _now()
        if not self._db.in_transaction:
            self._db.execute("PRAGMA synchronous = FULL")
        with self._transaction():
            for one in changes:
                who = (one.student, one.notebook, one.item)
                by = one.author or author
                if one.comment is not None:
                    self._db.execute(
                        "INSERT INTO comments (student, notebook, item, text, author, at) VALUES (?, ?, ?, ?, ?, ?)",
                        (*who, one.comment, by, now),
                    )
                    self._log(
                        now,
                        "commented" if one.comment else "comment withdrawn",
                        *who,
                        "",
                        "",
                        one.comment,
                        by,
                    )
                    continue
                self._db.execute(
                    "INSERT INTO overrides (student, notebook, item, points, reason, author, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (*who, one.points, one.reason, by, now),
                )
                event = "overridden" if one.points is not None else "withdrawn"
                after = "" if one.points is None else f"{one.points:g}"
                self._log(now, event, *who, one.before, after, one.reason, by)
        if not self._db.in_transaction:
            self._db.execute("PRAGMA synchronous = NORMAL")

    def set_policy(self, changes: Mapping[str, Any], author: str) -> None:
        """Store settings of the policy, and let the submissions count that it says. The history tells whose extension changed."""
        with self._transaction():
            before, now = self.setting("extensions", {}), _now()
            counted = self.setting("counts", "latest")
            for name, value in changes.items():
                self.set(name, value)
            after = changes.get("extensions", before)
            for student in sorted({*before, *after}):
                for book in sorted({*before.get(student, {}), *after.get(student, {})}):
                    was, is_ = before.get(student, {}).get(book), after.get(student, {}).get(book)
                    if was != is_:
                        reason = is_[2] if is_ else ""
                        self._log(
                            now, "extension", student, book, "", _until(was), _until(is_), reason, author
                        )
            if "best" in (counted, self.setting("counts", "latest")):
                self.settle()

    def forget(self, notebook: str, reason: str, author: str) -> list[Entry]:
        """Remove a notebook that was graded by mistake, given by number or name. Returns what was removed.

        The submissions stay where they are, so grading them again restores it. The history keeps each total. Raises CannotGradeError if
        there is no such notebook, if it has overrides (then it was no mistake), or if no reason is given.
        """
        entries = self.entries()
        gone = [e for e in entries if notebook in (e.notebook, e.notebook.split("_")[0])]
        if not gone:
            raise CannotGradeError(
                f"The gradebook has no notebook {notebook!r}.",
                f"it has {', '.join(sorted({e.notebook for e in entries})) or 'none yet'}.",
                "give one of these, or its number",
            )
        by_hand = [f"{e.student} {item}" for e in gone for item in e.overrides]
        if by_hand:
            raise CannotGradeError(
                f"{gone[0].notebook} was not forgotten.",
                f"points were given by hand in it, so somebody counts on it: {', '.join(by_hand[:5])}"
                f"{f' and {len(by_hand) - 5} more' if len(by_hand) > 5 else ''}.",
                "take them back first: `autograd-lab gradebook RESULTS withdraw STUDENT ITEM`",
            )
        reason = _reason(reason, "Nothing was forgotten.")
        now = _now()
        with self._transaction():
            for entry in gone:
                who = (entry.student, entry.notebook)
                self._db.execute("DELETE FROM results WHERE student = ? AND notebook = ?", who)
                self._db.execute("DELETE FROM submissions WHERE student = ? AND notebook = ?", who)
                self._db.execute("DELETE FROM attempts WHERE student = ? AND notebook = ?", who)
                self._log(
                    now, "forgotten", *who, "", f"{entry.total:g} of {entry.most:g}", "", reason, author
                )
        return gone

    def history(self, student: str = "", item: str = "") -> list[dict[str, str]]:
        """The history, oldest first; of one student or one item, if given."""
        names = ("at", "event", "student", "notebook", "item", "before", "after", "reason", "author")
        return [
            dict(zip(names, tuple(row), strict=True))
            for row in self._db.execute(
                f"SELECT {', '.join(names)} FROM history WHERE (? = '' OR student = ?) AND (? = '' OR item = ?) ORDER BY number",
                (student, student, item, item),
            )
        ]


@dataclass(frozen=True)
class Change:
    """A change by hand, checked by Gradebook.change: of points, or a comment."""

    student: str
    notebook: str
    item: str
    points: float | None
    reason: str
    comment: str | None
    before: str
    author: str = ""


def _result_row(who: tuple[str, str], one: Result, place: int, basis: str) -> dict[str, Any]:
    """A row of `results`, in the order of its columns."""
    return {
        "student": who[0], "notebook": who[1], "item": one.item, "place": place, "score": one.score,
        "points": one.points, "state": one.state, "says": one.says, "misconception": one.misconception, "probe": one.probe,
        "case": one.case, "hidden": int(one.hidden), "got": _text(one.got), "want": _text(one.want), "basis": basis,
    }  # fmt: skip


def _total(
    policy: Policy, who: tuple[str, str], at: datetime | None, results: Iterable[Mapping[str, Any]]
) -> float:
    """What a submission earns with this policy, without overrides."""
    days, penalty, _ = policy.lateness(policy.due_of(*who), at)
    ceiling = policy.ceiling if days else 1.0
    earned = (min(one["score"] * (1 - penalty), one["points"] * ceiling) for one in results)
    return round(sum(round(points, 4) for points in earned), 4)  # as Entry.total has it


def _until(extension: list[Any] | None) -> str:
    if not extension:
        return ""
    return str(extension[0] or f"{extension[1]:g} days")


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


@cache
def _kinds() -> dict[str, dict[str, str]]:
    """{table: {column: what it may hold, as SQL's typeof says}}. SQLite itself takes anything in any column."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA + LATER)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")]
        found = {}
        for table in names:
            found[table] = {
                column: f"('{kind.lower()}')" if needed or key else f"('{kind.lower()}', 'null')"
                for _, column, kind, needed, _, key in db.execute(f"PRAGMA table_info({table})")
            }
        return found


def _notes(text: str) -> list[str]:
    """The notes of a submission. Raises ValueError if they are none."""
    notes = json.loads(text)
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise ValueError(f"these notes: {text[:40]}")
    return notes


def _result(
    student: str, notebook: str, item: str, score: float, points: float, state: str, says: str, misconception: str,
    probe: str, case: int, hidden: int, got: str, want: str,
) -> Result:  # fmt: skip
    if state not in RESULT_STATES:
        raise ValueError(f"the state {state!r}")
    plain = [None if text == "null" else json.loads(text) for text in (got, want)]
    return Result(
        student, notebook, item, score, points, state, says, misconception, probe, case, bool(hidden), *plain
    )


def _reason(text: str, what: str) -> str:
    """The reason given for a change, stripped. Raises CannotGradeError if there is none."""
    if not text.strip():
        raise CannotGradeError(
            what,
            "it has no reason, and who reads the gradebook later will want one.",
            'add --reason "..."',
        )
    return text.strip()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _pack(value: Job | Run | None) -> bytes | None:
    return None if value is None else zlib.compress(json.dumps(value, default=vars).encode(), 1)


def _unpack(data: bytes) -> dict[str, Any]:
    return dict(json.loads(zlib.decompress(data)))
