"""The gradebook: one SQLite file, one transaction for each submission, so that nothing is lost or counted twice.

    submissions   what was handed in and what running it gave; one row for each student and notebook
    results       one row for each item, with the state of everything it was computed from (`basis`)
    overrides     points given by a person, with reason, author and time; never deleted, kept through regrades
    history       what changed, when

A grading run that is killed leaves only whole submissions behind; the next one compares `basis` and continues.
by_hand.py shows the gradebook and changes grades by hand; rescue.py keeps copies, and brings it back.
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
from .model import Answer, CannotGradeError, Cell, CellRun, Job, Result, Run

VERSION = 1
NAME = "gradebook.db"
DAY = 86_400
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
    results: list[Result] = field(default_factory=list)
    overrides: dict[str, Override] = field(default_factory=dict)

    @property
    def days_late(self) -> int:
        """Days late, each day begun counting as one; 0 if in time."""
        if self.due is None or self.handed_in is None:
            return 0
        return max(0, math.ceil((self.handed_in - self.due).total_seconds() / DAY))

    def points(self, result: Result) -> float:
        """What counts for an item: the override if there is one, otherwise the score less the late penalty."""
        override = self.overrides.get(result.item)
        return override.points if override else round(result.score * (1 - self.penalty), 4)

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
        own = _columns()
        if not there and not create:
            raise CannotGradeError(
                f"The gradebook {self.path} is empty.", "there is no table in it.", rescue.way_out(self.path)
            )
        if there and 2 * len(there & own.keys()) <= len(own):
            raise CannotGradeError(
                f"{self.path} is a database of something else.",
                f"it has the tables {', '.join(sorted(there - {'sqlite_sequence'}))[:200]}; it was not touched.",
                "give the folder that `autograd-lab grade ... --out RESULTS` wrote, or another one to write to",
            )
        for table, columns in own.items() if there else ():
            found = {row[1] for row in self._db.execute(f"PRAGMA table_info({table})")}
            if not columns <= found:
                lacks = ", ".join(sorted(columns - found))
                raise rescue.trouble(self.path, ValueError(f"the table {table} lacks {lacks}"))

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
                    earlier = self.path.parent / rescue.BY_HAND
                    if earlier.exists():
                        self.taken, _ = rescue.merge(self._db.connection, rescue.read(earlier))

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
        """Copy it to its backups, unless it is the same as the last; its path."""
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

    def take_by_hand(self, rows: rescue.Rows) -> tuple[int, int]:
        """Add what was done by hand, as `rescue.read` gives it; how many rows are new, and how many do not fit."""
        try:
            with self._transaction():
                return rescue.merge(self._db.connection, rows)
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
            raise

    # --- grading ---

    @_sensible
    def known(self) -> dict[tuple[str, str], Known]:
        """What the gradebook knows, by student and notebook."""
        found = {
            (row[0], row[1]): Known(row[2], row[3], row[4], row[5], row[6], tuple(json.loads(row[7])))
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

        basis   {item: digest of what its result depends on}
        asked   digest of what `run` depends on
        only    the one item whose result is replaced; the others are kept
        """
        results = list(results)
        who = (student, notebook)
        now = _now()
        with self._transaction():
            before = {
                row[0]: (row[1], row[2])
                for row in self._db.execute(
                    "SELECT item, score, state FROM results WHERE student = ? AND notebook = ?", who
                )
            }
            self._db.execute(
                "INSERT OR REPLACE INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*who, status, file, digest, _seconds(handed_in), _text(list(notes)), asked,
                 _pack(job), _pack(run), run.seconds if run else 0.0),
            )  # fmt: skip
            if not only:
                self._db.execute("DELETE FROM results WHERE student = ? AND notebook = ?", who)
            for place, one in enumerate(results):
                if only and one.item != only:
                    continue
                self._db.execute(
                    "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*who, one.item, place, one.score, one.points, one.state, one.says, one.misconception,
                     one.probe, one.case, int(one.hidden), _text(one.got), _text(one.want), basis.get(one.item, "")),
                )  # fmt: skip
                was = before.get(one.item)
                if was and was != (one.score, one.state):
                    self._log(
                        now, "regraded", *who, one.item, f"{was[0]:g} {was[1]}", f"{one.score:g} {one.state}"
                    )
            if not before:
                total = f"{sum(one.score for one in results):g} of {sum(one.points for one in results):g}"
                self._log(now, status, *who, "", "", total)

    def touch(
        self, student: str, notebook: str, file: str, handed_in: datetime | None, notes: Iterable[str]
    ) -> None:
        """Update where a graded submission is and when it was handed in."""
        with self._transaction():
            self._db.execute(
                "UPDATE submissions SET file = ?, handed_in = ?, notes = ? WHERE student = ? AND notebook = ?",
                (file, _seconds(handed_in), _text(list(notes)), student, notebook),
            )

    def stored_run(self, student: str, notebook: str) -> tuple[Job, Run] | None:
        """The merged notebook and the result of running it; None if they were stored in a form that this version does not know."""
        row = self._db.execute(
            "SELECT job, run FROM submissions WHERE student = ? AND notebook = ?", (student, notebook)
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

    def _log(
        self, at: str, event: str, student: str, notebook: str, item: str, before: str, after: str,
        reason: str = "", author: str = "",
    ) -> None:  # fmt: skip
        self._db.execute(
            "INSERT INTO history (at, event, student, notebook, item, before, after, reason, author)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (at, event, student, notebook, item, before, after, reason, author),
        )

    # --- settings ---

    @_sensible
    def setting(self, name: str, default: Any = None) -> Any:
        """A stored setting."""
        row = self._db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return default if row is None else json.loads(row[0])

    def set(self, name: str, value: Any) -> None:
        """Store a setting."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, _text(value)))

    # --- what counts ---

    @_sensible
    def entries(self) -> list[Entry]:
        """All submissions as they count, sorted by student and notebook. They are read again only if the database has changed."""
        at = (self._db.execute("PRAGMA data_version").fetchone()[0], self._db.total_changes)
        if at != self._read_at:
            self._entries, self._read_at = self._read(), at
        return list(self._entries)

    def _read(self) -> list[Entry]:
        due = {name: datetime.fromisoformat(text) for name, text in self.setting("due", {}).items()}
        rate = self.setting("late penalty", 0.0)
        found: dict[tuple[str, str], Entry] = {}
        self._db.execute("BEGIN")  # one consistent view of all tables
        try:
            for row in self._db.execute(
                "SELECT student, notebook, status, file, digest, handed_in, notes, seconds FROM submissions"
            ):
                at = None if row[5] is None else datetime.fromtimestamp(row[5], UTC)
                entry = Entry(row[0], row[1], row[2], row[3], row[4], at, json.loads(row[6]), row[7])
                entry.due = due.get(entry.notebook) or due.get("")
                entry.penalty = min(1.0, rate * entry.days_late)
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
        finally:
            if self._db.in_transaction:
                self._db.execute("COMMIT")
        return [found[key] for key in sorted(found)]

    # --- by hand ---

    def override(self, student: str, item: str, points: float | None, reason: str, author: str) -> Entry:
        """Override an item's points, whatever the grader says, or withdraw the override (points=None).

        An override survives regrading and has no late penalty. Raises CannotGradeError if there is no such result, if the item cannot have
        these points, or if no reason is given.
        """
        entry = next(
            (e for e in self.entries() if e.student == student and any(r.item == item for r in e.results)),
            None,
        )
        if entry is None:
            students = {e.student for e in self.entries()}
            near = sorted(s for s in students if student.casefold() in s.casefold())[:5]
            items = sorted({r.item for e in self.entries() if e.student == student for r in e.results})
            raise CannotGradeError(
                f"There is no result of {student} for the item {item}.",
                f"{student} has {', '.join(items)}."
                if items
                else f"the gradebook has no student {student!r}.",
                f"perhaps {', '.join(near)}"
                if near and not items
                else "see `autograd-lab gradebook RESULTS show`",
            )
        worth = next(r.points for r in entry.results if r.item == item)
        if points is not None and not 0 <= points <= worth:
            raise CannotGradeError(
                f"{points:g} points cannot be given for {item}.",
                f"it is worth {worth:g}.",
                f"give 0 to {worth:g}",
            )
        if points is None and item not in entry.overrides:
            raise CannotGradeError(
                f"There is nothing to withdraw for {student}, {item}.",
                "its points are the grader's.",
                "see `autograd-lab gradebook RESULTS history`",
            )
        reason = _reason(reason, "The override was not made.")
        was = next(entry.points(r) for r in entry.results if r.item == item)
        now = _now()
        self._db.execute(
            "PRAGMA synchronous = FULL"
        )  # after a power cut, an override would have to be typed again
        with self._transaction():
            self._db.execute(
                "INSERT INTO overrides (student, notebook, item, points, reason, author, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (student, entry.notebook, item, points, reason, author, now),
            )
            event = "overridden" if points is not None else "withdrawn"
            after = "" if points is None else f"{points:g}"
            self._log(now, event, student, entry.notebook, item, f"{was:g}", after, reason, author)
        self._db.execute("PRAGMA synchronous = NORMAL")
        return next(e for e in self.entries() if (e.student, e.notebook) == (student, entry.notebook))

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


@cache
def _columns() -> dict[str, set[str]]:
    """{table: its columns}, as SCHEMA says."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        tables = [
            row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
        ]
        return {table: {row[1] for row in db.execute(f"PRAGMA table_info({table})")} for table in tables}


def _result(
    student: str, notebook: str, item: str, score: float, points: float, state: str, says: str, misconception: str,
    probe: str, case: int, hidden: int, got: str, want: str,
) -> Result:  # fmt: skip
    if not (
        isinstance(score, float)
        and isinstance(points, float)
        and isinstance(says, str)
        and isinstance(case, int)
    ):
        raise ValueError(f"the result of {student} for {item}")
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
