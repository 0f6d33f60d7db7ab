"""What brings a gradebook back: its backups, and a file with everything that people have done by hand.

    RESULTS/backups/gradebook-*.db    before a run that grades, the last few; made by SQLite, so they are whole
    RESULTS/by_hand.json              what no run can make again, such as overrides; written whenever it has changed

`autograd-lab gradebook RESULTS restore` puts a damaged gradebook aside, takes the newest backup that is whole, or begins a new gradebook, and
adds what was done by hand: from by_hand.json, and from the damaged file as far as SQLite can read it. The next
`autograd-lab grade` grades what is missing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .files import put, whole
from .model import CannotGradeError

FORMAT, VERSION = "autograd-lab-by-hand", 1
BY_HAND = "by_hand.json"
BACKUPS = "backups"
KEEP = 3
TABLES = ("overrides", "comments", "returned", "settings", "history")
"""What people have done, in the tables of a gradebook; those that it has not are left out."""
OWN = {"means", "limits", "newest"}
"""Settings that a run makes by itself."""
Rows = dict[str, list[dict[str, Any]]]
"""{table: its rows, each {column: value}}."""


def trouble(path: Path, error: Exception) -> CannotGradeError:
    """What to say of a gradebook that SQLite, or what it holds, makes trouble with."""
    name = getattr(error, "sqlite_errorname", "")
    says = (
        f"SQLite says: {error}."
        if isinstance(error, sqlite3.Error)
        else f"what it holds makes no sense: {error!r}."
    )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        what, way = (
            "could not be written",
            "free some space on its disk; what was recorded is kept, and the same command goes on from there",
        )
    elif name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        what, way = "is in use", "close other programs that have it open"
    elif name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        what, way = "cannot be opened", "allow reading and writing it and its folder"
    else:
        what, way = "is damaged", way_out(path)
    return CannotGradeError(f"The gradebook {path} {what}.", says, way)


def way_out(path: Path) -> str:
    """What to do about a gradebook that cannot be used."""
    return (
        f"`autograd-lab gradebook {path.parent} restore` puts it aside and brings back "
        "the newest backup and all that was done by hand; then run `autograd-lab grade` again"
    )


# --- backups ------------------------------------------------------------------------------------------


def backups(path: Path) -> list[Path]:
    """The backups of a gradebook, newest first."""
    return sorted((path.parent / BACKUPS).glob(f"{path.stem}-*{path.suffix}"), reverse=True)


def check(db: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError if SQLite finds damage."""
    told = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if told != "ok":
        raise sqlite3.DatabaseError(told)


def back_up(db: sqlite3.Connection, path: Path) -> Path | None:
    """Copy an open gradebook to its backups, if it is whole and not the same as the last one. Raises sqlite3.Error, OSError."""
    check(db)
    if not db.execute("SELECT 1 FROM submissions").fetchone():
        return None
    folder = path.parent / BACKUPS
    folder.mkdir(exist_ok=True)
    moment = datetime.now(UTC).strftime("%Y-%m-%d-%H%M%S-%f")
    target = folder / f"{path.stem}-{moment}{path.suffix}"
    before = backups(path)
    with whole(target) as temporary:
        with closing(sqlite3.connect(temporary)) as copy:
            db.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        same = bool(before) and before[0].read_bytes() == temporary.read_bytes()
    if same:
        target.unlink()
        return None
    for old in before[KEEP - 1 :]:
        old.unlink(missing_ok=True)
    return target


# --- what was done by hand ------------------------------------------------------------------------------


def by_hand(db: sqlite3.Connection) -> Rows:
    """What people have done, from an open gradebook; of a damaged one what can be read, from either end."""
    found: Rows = {}
    for table in TABLES:
        with suppress(sqlite3.Error):
            rows = {
                json.dumps(row, sort_keys=True): row
                for end in ("ASC", "DESC")
                for row in _rows(db, table, end)
            }
            found[table] = [row for row in rows.values() if _is_by_hand(table, row)]
            found[table].sort(key=lambda row: str(row.get("at", "")))
    return found


def _rows(db: sqlite3.Connection, table: str, end: str) -> Iterator[dict[str, Any]]:
    cursor = db.execute(f"SELECT * FROM {table} ORDER BY rowid {end}")
    names = [about[0] for about in cursor.description]
    try:
        for row in cursor:
            values = dict(zip(names, tuple(row), strict=True))
            values.pop("number", None)
            json.dumps(values)
            yield values
    except (sqlite3.Error, TypeError, UnicodeError):
        return


def _is_by_hand(table: str, row: Mapping[str, Any]) -> bool:
    if table == "settings":
        return row["name"] not in OWN
    return table != "history" or bool(row["author"])


def save(db: sqlite3.Connection, folder: Path) -> Path | None:
    """Write what was done by hand to the folder of a gradebook, if there is any; its path."""
    rows = by_hand(db)
    path = folder / BY_HAND
    if not any(rows.values()) and not path.exists():
        return None
    put(
        path,
        json.dumps(
            {"format": FORMAT, "version": VERSION, **rows}, indent=1, ensure_ascii=False, sort_keys=True
        )
        + "\n",
    )
    return path


def read(path: Path) -> Rows:
    """What was done by hand: from a file that `save` wrote, or from a gradebook. Raises CannotGradeError if it is neither."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise CannotGradeError(
            f"{path} cannot be read.",
            f"the system says: {error.strerror}.",
            "name a file by_hand.json, or a gradebook",
        ) from error
    if start.startswith(b"SQLite format 3"):
        return _read_gradebook(path)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        if told.pop("format") != FORMAT or told.pop("version") != VERSION:
            raise ValueError("it is of another format or version")
        rows = {str(table): [dict(row) for row in each] for table, each in told.items()}
        if not all(
            isinstance(value, str | int | float | None)
            for each in rows.values()
            for row in each
            for value in row.values()
        ):
            raise ValueError("it holds more than words and numbers")
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise CannotGradeError(
            f"{path} is no list of what was done by hand.", f"{error!r}.",
            "name the file by_hand.json that `autograd-lab gradebook RESULTS export` wrote, or a gradebook; or move this one away",
        ) from error  # fmt: skip
    return rows


def _read_gradebook(path: Path) -> Rows:
    for how in ("mode=ro", "immutable=1"):  # the first also reads its log, where that is possible
        with suppress(sqlite3.Error):
            with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?{how}", uri=True)) as db:
                rows = by_hand(db)
            if rows:
                return rows
    return {}


def merge(db: sqlite3.Connection, rows: Rows, newer: bool = False) -> tuple[int, int]:
    """Add rows to an open gradebook, in the order of time, within the caller's transaction; how many are new, and how many do not fit.

    A setting that is there already stays as it is, unless the rows are `newer`, and a row that does not fit its table is left out.
    """
    settings = "INSERT OR IGNORE INTO settings VALUES (?, ?)"
    if newer:
        settings = (
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            " WHERE value != excluded.value"
        )
    new, odd = 0, 0
    for table in TABLES:
        about = db.execute(f"PRAGMA table_info({table})").fetchall()
        columns = [row[1] for row in about if row[1] != "number"]
        given = [row for row in rows.get(table, []) if _fits(row, columns)]
        odd += len(rows.get(table, [])) - len(given)
        if table == "settings":
            for row in given:
                if row["name"] not in OWN:
                    values = row["name"], row["value"]
                    new += db.execute(settings, values).rowcount
            continue
        names = ", ".join(columns)
        here = [
            dict(zip(columns, tuple(row), strict=True))
            for row in (db.execute(f"SELECT {names} FROM {table} ORDER BY number") if given else ())
        ]
        more: list[dict[str, Any]] = []
        for row in given:
            if row not in here and row not in more:
                more.append(row)
        if more:
            new += len(more)
            every = sorted([*here, *more], key=lambda row: str(row["at"]))  # the last one counts
            db.execute(f"DELETE FROM {table}")
            marks = ", ".join("?" * len(columns))
            for row in every:
                values = tuple(row[name] for name in columns)
                db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)
    return new, odd


def _fits(row: Mapping[str, Any], columns: list[str]) -> bool:
    kinds = {"points": (int, float, type(None))}
    return row.keys() == set(columns) and all(
        isinstance(value, kinds.get(name, str)) for name, value in row.items()
    )


# --- restoring ------------------------------------------------------------------------------------------


def put_aside(path: Path) -> Path | None:
    """Rename a gradebook with its log, so that nothing of it is lost or mixed with another; its new name, None if there was none."""
    number = 1
    while (aside := path.with_name(f"{path.stem}-damaged-{number}{path.suffix}")).exists():
        number += 1
    found = None
    for end in ("", "-wal", "-shm"):
        old = path.with_name(path.name + end)
        if old.exists():
            old.rename(aside.with_name(aside.name + end))
            found = aside
    return found


def whole_backup(path: Path) -> Path | None:
    """The newest backup of a gradebook that SQLite finds whole."""
    return next(filter(is_whole, backups(path)), None)


def is_whole(path: Path) -> bool:
    """Whether a closed file is a gradebook in which SQLite finds no damage."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?immutable=1", uri=True)) as db,
    ):
        check(db)
        return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'submissions'").fetchone())
    return False
