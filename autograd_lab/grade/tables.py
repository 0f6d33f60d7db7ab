"""The gradebook as files: for people, for spreadsheets, for other systems.

    grades.csv                    one row for each item: student, notebook, item, points, max, status, misconception
    submissions.csv               one row for each submission: totals, lateness, what had to be repaired
    grades.json                   everything; two runs over the same files differ only in the key `timing`
    nbgrader.csv                  the columns of `nbgrader export`
    gradescope/<student>/results.json

Each file is written atomically.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from autograd_lab._version import __version__

from .files import put
from .gradebook import Entry, Gradebook
from .model import Result
from .people import Person
from .policy import names_of, people_of

FORMAT, VERSION = "autograd-lab-grades", 1
COLUMNS = ("student", "notebook", "item", "points", "max", "status", "misconception", "name")
SUBMISSION_COLUMNS = (
    "student", "notebook", "points", "max", "status", "handed_in", "days_late", "penalty", "file", "notes", "name",
)  # fmt: skip
NBGRADER_COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip


NAMES = ("grades.csv", "submissions.csv", "grades.json", "nbgrader.csv")


def write(book: Gradebook, folder: Path) -> list[Path]:
    """Write all tables into `folder`; returns their paths."""
    writer(book, folder)()
    return paths(folder)


def paths(folder: Path) -> list[Path]:
    """The paths of all tables, with Gradescope's folder as one path."""
    return [*(folder / name for name in NAMES), folder / "gradescope"]


def writer(book: Gradebook, folder: Path) -> Callable[[], None]:
    """Something that writes all tables as the gradebook is now; it has read the gradebook, and does not use it any more."""
    entries, names = book.entries(), names_of(book.setting)
    people = {person.student: person for person in people_of(book.setting, ()).people}

    def write_all() -> None:
        made = (
            table(COLUMNS, grade_rows(entries, names)),
            table(SUBMISSION_COLUMNS, submission_rows(entries, names)),
            dump(document(entries)),
            table(NBGRADER_COLUMNS, nbgrader_rows(entries, people)),
        )
        for name, text in zip(NAMES, made, strict=True):
            put(folder / name, text)
        students: dict[str, list[Entry]] = {}
        for entry in entries:
            students.setdefault(entry.student, []).append(entry)
        for student, own in students.items():
            put(folder / "gradescope" / file_name(student) / "results.json", dump(gradescope(own)))

    return write_all


def file_name(student: str) -> str:
    """A student's name as a file name on any system: characters other than letters and digits become "_", a hash makes it unique."""
    plain = re.sub(r"[^\w.-]", "_", student).strip("._-")[:60]
    reserved = re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", plain.split(".")[0])
    if plain == student and plain.isascii() and plain == plain.lower() and not reserved:
        return plain
    return f"{plain}-{hashlib.sha256(student.encode()).hexdigest()[:8]}"


# --- spreadsheets ---------------------------------------------------------------------------------


_FORMULAS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""Characters that begin a formula in a spreadsheet."""


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """CSV text in which nothing looks like a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(value) for value in row])
    return out.getvalue()


def cell(value: Any) -> str:
    """A value for a CSV cell; text that a spreadsheet would run as a formula gets an apostrophe in front."""
    if isinstance(value, float | int):
        return f"{value:.10g}"
    text = str(value)
    return f"'{text}" if text.lstrip(" ")[:1] in _FORMULAS else text


def grade_rows(entries: Iterable[Entry], names: Mapping[str, str]) -> Iterable[tuple[Any, ...]]:
    """The rows of grades.csv."""
    for entry in entries:
        for one in entry.results:
            yield (
                entry.student, entry.notebook, one.item, entry.points(one), one.points,
                status(entry, one), one.misconception, names.get(entry.student, ""),
            )  # fmt: skip


def status(entry: Entry, result: Result) -> str:
    """The state of a result, or "overridden" if a person changed it."""
    return "overridden" if result.item in entry.overrides else result.state


def submission_rows(entries: Iterable[Entry], names: Mapping[str, str]) -> Iterable[tuple[Any, ...]]:
    """The rows of submissions.csv."""
    for entry in entries:
        yield (
            entry.student, entry.notebook, entry.total, entry.most, entry.status, _time(entry), entry.days_late,
            entry.penalty, entry.file, " ".join([*entry.notes, *_about(entry)]), names.get(entry.student, ""),
        )  # fmt: skip


def _about(entry: Entry) -> Iterable[str]:
    """What else there is to know of a submission, in sentences."""
    if entry.extension:
        yield f"Due {entry.extension}."
    if entry.closed:
        yield "It came after closing and counts nothing."
    yield from (other.says for other in entry.others)


def nbgrader_rows(entries: Iterable[Entry], people: Mapping[str, Person]) -> Iterable[tuple[Any, ...]]:
    """The rows of nbgrader.csv. Its `score` is raw_score - late_submission_penalty, with overrides in it."""
    for entry in entries:
        raw = sum(o.points if (o := entry.overrides.get(r.item)) else r.score for r in entry.results)
        due = entry.due.strftime("%Y-%m-%d %H:%M:%S") if entry.due else ""
        at = entry.handed_in.strftime("%Y-%m-%d %H:%M:%S") if entry.handed_in else ""
        person = people.get(entry.student, Person(entry.student))
        yield (
            entry.notebook, due, at, entry.student, *person.parts, person.known.get("email", ""),
            float(raw), round(raw - entry.total, 4), entry.total, entry.most,
        )  # fmt: skip


def _time(entry: Entry) -> str:
    return entry.handed_in.isoformat() if entry.handed_in else ""


# --- JSON -----------------------------------------------------------------------------------------


_HOLDERS = {dict, list}
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False).encode


def dump(data: Mapping[str, Any]) -> str:
    """Canonical JSON: indented, but lists and objects without others inside are on one line, such as a result.

    (The library's own indentation is implemented in Python, which takes longer for a class than scoring it.)
    """
    return _lines(data, "\n") + "\n"


def _lines(value: Any, new: str) -> str:
    """`value` as JSON; `new` begins a line of the enclosing value."""
    deeper = new + " "
    if isinstance(value, dict) and not _HOLDERS.isdisjoint(map(type, value.values())):
        parts = [f"{_encode(key)}: {_lines(value[key], deeper)}" for key in sorted(value)]
        return f"{{{deeper}{f',{deeper}'.join(parts)}{new}}}"
    if isinstance(value, list) and not _HOLDERS.isdisjoint(map(type, value)):
        return f"[{deeper}{f',{deeper}'.join([_lines(part, deeper) for part in value])}{new}]"
    return _encode(value)


def document(entries: Iterable[Entry]) -> dict[str, Any]:
    """The content of grades.json."""
    entries = list(entries)
    students: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        students.setdefault(entry.student, []).append(_submission(entry))
    return {
        "format": FORMAT,
        "version": VERSION,
        "autograd_lab": __version__,
        "students": [
            {
                "student": name,
                "points": round(sum(book["points"] for book in books), 4),
                "max": round(sum(book["max"] for book in books), 4),
                "notebooks": books,
            }
            for name, books in sorted(students.items())
        ],
        "timing": {
            "seconds": [
                [entry.student, entry.notebook, round(entry.seconds, 3)] for entry in entries if entry.seconds
            ]
        },
    }


def _submission(entry: Entry) -> dict[str, Any]:
    return {
        "notebook": entry.notebook,
        "status": entry.status,
        "points": entry.total,
        "max": entry.most,
        "file": entry.file,
        "sha256": entry.digest,
        # a file's time is part of its grade only if there is a due date
        "handed_in": _time(entry) if entry.due else "",
        "days_late": entry.days_late,
        "penalty": entry.penalty,
        "notes": [*entry.notes, *_about(entry)],
        **({"comment": vars(entry.comments[""])} if "" in entry.comments else {}),
        "items": [_item(entry, one) for one in entry.results],
    }


def _item(entry: Entry, one: Result) -> dict[str, Any]:
    row = {
        "item": one.item,
        "points": entry.points(one),
        "score": one.score,
        "max": one.points,
        "status": one.state,
        "says": one.says,
        "misconception": one.misconception,
        "probe": one.probe,
        "case": one.case,
        "hidden": one.hidden,
    }
    override = entry.overrides.get(one.item)
    if override:
        row["override"] = vars(override)
    comment = entry.comments.get(one.item)
    if comment:
        row["comment"] = vars(comment)
    return row


def gradescope(entries: Iterable[Entry]) -> dict[str, Any]:
    """Gradescope's results.json for one student, who may read all of it: scoring.py omits hidden cases from `says`."""
    entries = list(entries)
    tests = []
    for entry in entries:
        for number, one in enumerate(entry.results, start=1):
            points = entry.points(one)
            tests.append(
                {
                    "name": f"{entry.notebook} {one.item}",
                    "number": one.item or str(number),
                    "score": points,
                    "max_score": one.points,
                    "status": "passed" if points >= one.points else "failed",
                    "output": student_says(entry, one),
                    "visibility": "visible",
                }
            )
    notes = [
        f"{e.notebook}: {e.days_late} days late, {e.penalty:.0%} taken off." for e in entries if e.penalty
    ]
    notes += [f"{e.notebook}: {e.comments[''].text}" for e in entries if "" in e.comments]
    return {
        "score": round(sum(entry.total for entry in entries), 4),
        "output": "\n".join(notes),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def student_says(entry: Entry, one: Result) -> str:
    """What a student may read about a result."""
    override, comment = entry.overrides.get(one.item), entry.comments.get(one.item)
    says = f"Graded by hand: {override.reason}" if override else one.says or one.state
    return f"{says}\n\nComment: {comment.text}" if comment else says
