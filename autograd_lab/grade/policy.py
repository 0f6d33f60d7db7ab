"""The policy of a course: what lateness costs, who has an extension, which of several submissions counts.

It is kept in the gradebook. `grade` and `gradebook RESULTS policy` take the same options; what is not given stays as it was. A change
counts at once for everything that was graded: nothing runs again.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from .model import CannotGradeError
from .people import COLUMNS, WHO, Person, Roster, heading, read_table
from .submissions import moment

DAY = 86_400
COUNTS = ("latest", "best")


@dataclass(frozen=True)
class Extension:
    """A later due date for one student."""

    until: datetime | None = None
    days: float = 0.0
    """Added to the due date, if there is no `until`."""
    reason: str = ""


@dataclass(frozen=True)
class Policy:
    """How lateness counts."""

    due: Mapping[str, datetime] = field(default_factory=dict)
    """{notebook, or "" for all others: when it is due}."""
    rate: float = 0.0
    """The share that each day begun costs."""
    grace: float = 0.0
    """Seconds after the due date that are not late."""
    cap: float = 1.0
    """The most that lateness costs."""
    ceiling: float = 1.0
    """The share of an item's points that late work earns at most."""
    closes: float | None = None
    """Seconds after the due date after which work earns nothing."""
    counts: str = "latest"
    """Which of several submissions counts: one of COUNTS."""
    extensions: Mapping[str, Mapping[str, Extension]] = field(default_factory=dict)
    """{student: {notebook, or "" for all others: extension}}."""

    @classmethod
    def of(cls, setting: Callable[[str, Any], Any]) -> Policy:
        """The policy in a gradebook, by its `setting`."""
        return cls(
            {name: datetime.fromisoformat(text) for name, text in setting("due", {}).items()},
            setting("late penalty", 0.0),
            setting("grace", 0.0),
            setting("late cap", 1.0),
            setting("late ceiling", 1.0),
            setting("closes", None),
            setting("counts", COUNTS[0]),
            {
                student: {
                    book: Extension(datetime.fromisoformat(one[0]) if one[0] else None, one[1], one[2])
                    for book, one in books.items()
                }
                for student, books in setting("extensions", {}).items()
            },
        )

    def extension(self, student: str, notebook: str) -> Extension | None:
        """The student's extension for a notebook."""
        own = self.extensions.get(student, {})
        return own.get(notebook) or own.get("")

    def extension_says(self, student: str, notebook: str) -> str:
        """A student's own due date in words; "" if it is that of the class."""
        due = self.due_of(student, notebook)
        return f"extended until {_local(due)}" if due and self.extension(student, notebook) else ""

    def due_of(self, student: str, notebook: str) -> datetime | None:
        """When a student's work is due."""
        due = self.due.get(notebook) or self.due.get("")
        extension = self.extension(student, notebook)
        if extension is None:
            return due
        return extension.until or (due and later(due, DAY * extension.days))

    def lateness(self, due: datetime | None, handed_in: datetime | None) -> tuple[int, float, bool]:
        """(days late, each day begun counting as one; the share that it costs; whether it came after closing)."""
        if due is None or handed_in is None:
            return 0, 0.0, False
        if handed_in <= later(due, self.grace):
            return 0, 0.0, False
        about = math.ceil((handed_in - due).total_seconds() / DAY)
        days = next(n for n in range(max(1, about - 1), about + 2) if handed_in <= later(due, n * DAY))
        if self.closes is not None and handed_in > later(due, self.closes + self.grace):
            return days, 1.0, True
        return days, min(1.0, self.cap, self.rate * days), False

    def says(self) -> list[str]:
        """The policy in lines."""
        due = [
            f"{name or 'all others' if len(self.due) > 1 else name or 'everything'}: {_local(at)}"
            for name, at in sorted(self.due.items())
        ]
        late = f"{100 * self.rate:g} % a day begun"
        late += f", at most {100 * self.cap:g} %" if self.cap < 1 else ""
        late += f"; it earns at most {100 * self.ceiling:g} % of an item" if self.ceiling < 1 else ""
        lines = [f"due           {'; '.join(due) or 'no dates'}", f"late          costs {late}"]
        lines.append(f"grace         {_length(self.grace) if self.grace else 'none'}")
        lines.append(
            f"closes        {_length(self.closes) + ' after the due date' if self.closes is not None else 'never'}"
        )
        lines.append(f"counts        the {self.counts} of several submissions")
        for student, books in sorted(self.extensions.items()):
            for book, one in sorted(books.items()):
                until = f"until {_local(one.until)}" if one.until else f"{one.days:g} days more"
                lines.append(
                    f"extension     {student}, {book or 'everything'}: {until}{f' ({one.reason})' if one.reason else ''}"
                )
        return lines


# ----------------------------------------------------------------------
# options
# ----------------------------------------------------------------------


def add_options(group: argparse._ArgumentGroup) -> None:
    """The options that change the policy."""
    group.add_argument(
        "--due", action="append", metavar="[04=]DATE",
        help="2026-11-20, or '2026-11-20 18:00'; of one notebook, or of all",
    )  # fmt: skip
    group.add_argument(
        "--late-penalty", type=float, metavar="PERCENT",
        help="taken off for each day begun (default: late ones are only marked)",
    )  # fmt: skip
    group.add_argument("--grace", metavar="TIME", help="after the due date this is not late yet: 15m, 2h, 1d")
    group.add_argument("--late-cap", type=float, metavar="PERCENT", help="the most that lateness takes off")
    group.add_argument(
        "--late-ceiling",
        type=float,
        metavar="PERCENT",
        help="the most that late work earns of an item's points",
    )
    group.add_argument(
        "--closes", metavar="TIME", help="work that is later than this earns nothing: 7d, or never (default)"
    )
    group.add_argument(
        "--count", choices=COUNTS, help="which of a student's submissions counts (default: latest)"
    )
    group.add_argument(
        "--extensions", type=Path, metavar="FILE",
        help="CSV: student, notebook (optional), until or days, reason (optional); it takes the place of the one given before",
    )  # fmt: skip


def settings(
    options: argparse.Namespace, notebooks: Iterable[str], roster: Roster, before: Policy
) -> tuple[dict[str, Any], list[str]]:
    """({setting: its new value}, what is wrong with the rows of the extensions). Raises CannotGradeError for an option that makes no sense.

    notebooks   the names that "04" may mean
    roster      the students who may have extensions
    before      the policy until now
    """
    books = sorted(notebooks)
    made: dict[str, Any] = {}
    bad: list[str] = []
    due = dict(before.due)
    for word in options.due or ():
        name, mark, text = word.rpartition("=")
        try:
            at = moment(text).astimezone(UTC)
        except ValueError as error:
            raise CannotGradeError(
                f"--due {word} is not a time.",
                f"{error}.",
                "for instance: --due 2026-11-20, or --due '04=2026-11-20 18:00'",
            ) from None
        if not mark:
            due = {}  # one for all takes the place of the earlier ones
        due |= dict.fromkeys(notebooks_of(name, books) if mark else [""], at)
    if options.due:
        made["due"] = {name: at.isoformat() for name, at in due.items()}
    for name, option in (
        ("late penalty", "late_penalty"),
        ("late cap", "late_cap"),
        ("late ceiling", "late_ceiling"),
    ):
        percent = getattr(options, option)
        if percent is not None:
            made[name] = _share(percent, option)
    for option in ("grace", "closes"):
        text = getattr(options, option)
        if text is not None:
            made[option] = _seconds(text, option)
    if options.count:
        made["counts"] = options.count
    if options.extensions:
        found, bad = read_extensions(options.extensions, books, roster, due)
        made["extensions"] = {
            student: {
                book: [one.until.isoformat() if one.until else "", one.days, one.reason]
                for book, one in own.items()
            }
            for student, own in found.items()
        }
    return made, bad


def notebooks_of(words: str, books: Sequence[str]) -> list[str]:
    """The notebooks meant by "04,05" or "04_backward_node_by_node". Raises CannotGradeError if there is no such notebook."""
    found = []
    for word in filter(None, re.split(r"[,\s]+", words)):
        fits = [book for book in books if word.removesuffix(".ipynb") in (book, book.split("_")[0])]
        if not fits:
            raise CannotGradeError(
                f"There is no notebook {word!r}.",
                "none has this name or number.",
                f"there are: {', '.join(book.split('_')[0] for book in books)}",
            )
        found += fits
    return sorted(set(found))


def _share(percent: float, option: str) -> float:
    if not 0 <= percent <= 100:
        raise CannotGradeError(
            f"--{option.replace('_', '-')} {percent:g} is not a percentage.",
            "it is in percent"
            + (" for each day begun." if option == "late_penalty" else " of an item's points."),
            "give 0 to 100",
        )
    return percent / 100


_UNITS = {"m": 60, "h": 3600, "d": DAY, "w": 7 * DAY}


def _seconds(text: str, option: str) -> float | None:
    """Seconds in "15m", "1d 12h"; None for "never"."""
    if option == "closes" and text.strip() == "never":
        return None
    form = r"(\d+(?:\.\d+)?)\s*(m|h|d|w)(?:in(?:ute)?s?|ours?|ays?|eeks?)?"
    if text.strip() != "0" and not re.fullmatch(rf"\s*(?:{form}\s*)+", text):
        raise CannotGradeError(
            f"--{option} {text} is not a length of time.",
            "a length is a number with its unit.",
            f"for instance: --{option} 15m, 2h, 1d" + (" or never" if option == "closes" else ""),
        )
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(form, text))


def later(at: datetime, seconds: float) -> datetime:
    """So much later. Whole days go by the clock on the wall: seven days from 18:00 end at 18:00, whatever the clocks do meanwhile."""
    days, rest = divmod(seconds, DAY)
    on_the_wall = at.astimezone().replace(tzinfo=None) + timedelta(days=days)
    return on_the_wall.astimezone(UTC) + timedelta(seconds=rest) if days else at + timedelta(seconds=rest)


def _length(seconds: float) -> str:
    for unit, name in ((DAY, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:g} {name}{'' if seconds == unit else 's'}"
    return f"{seconds / 60:g} minutes"


def _local(at: datetime) -> str:
    return at.astimezone().strftime("%Y-%m-%d %H:%M")


# ----------------------------------------------------------------------
# tables of rows
# ----------------------------------------------------------------------


class Rows:
    """The rows of a CSV file by the names of their columns; what is wrong with one is kept with its number.

    Raises CannotGradeError if the file cannot be read, or lacks a column.
    """

    def __init__(self, path: Path, what: str, needs: Sequence[Sequence[str]], begin: str) -> None:
        self.path = path
        self.bad: list[str] = []
        rows = list(read_table(path, what))
        self._header = [heading(cell) for cell in rows[0][1]] if rows else []
        self._rows = rows[1:]
        self.who = next((name for kind in WHO for name in COLUMNS[kind] if name in self._header), "")
        lacking = [names[0] for names in needs if not set(names) & set(self._header)]
        if not self.who or lacking:
            raise CannotGradeError(
                f"{path} is no {what}.",
                f"its first line does not name the column `{'student' if not self.who else lacking[0]}`.",
                f"begin it with: {begin}",
            )

    def read(self, each: Callable[[int, Mapping[str, str]], None]) -> None:
        """Call `each(row number, {column: text})`; a CannotGradeError that it raises is kept in `bad`."""
        for number, row in self._rows:
            cells = dict.fromkeys(self._header, "") | dict(
                zip(self._header, (cell.strip() for cell in row), strict=False)
            )
            try:
                if len(row) > len(self._header) and any(cell.strip() for cell in row[len(self._header) :]):
                    raise CannotGradeError(
                        "It has more cells than the first line.", "perhaps a comma is not in quotes", ""
                    )
                each(number, cells)
            except CannotGradeError as problem:
                why = f": {problem.why.rstrip('.')}" if problem.why else ""
                self.bad.append(f"row {number}: {problem.what.rstrip('.')}{why}.")


def student_of(text: str, roster: Roster) -> str:
    """The one student whom a cell means. Raises CannotGradeError."""
    fits = roster.match(text) if text else []
    if len(fits) == 1:
        return fits[0].student
    if fits:
        names = " or ".join(person.student for person in fits[:5])
        raise CannotGradeError(f"{text!r} may be {names}.", "write which", "")
    raise CannotGradeError("It names no student." if not text else f"There is no student {text!r}.", "", "")


def read_extensions(
    path: Path, books: Sequence[str], roster: Roster, due: Mapping[str, datetime]
) -> tuple[dict[str, dict[str, Extension]], list[str]]:
    """({student: {notebook or "": extension}}, what is wrong with which row)."""
    rows = Rows(
        path, "list of extensions", [("until", "due", "date", "days")], "student,notebook,until,reason"
    )
    made: dict[str, dict[str, Extension]] = {}
    first: dict[tuple[str, str], int] = {}

    def take(number: int, cells: Mapping[str, str]) -> None:
        student = student_of(cells[rows.who], roster)
        names = notebooks_of(cells["notebook"], books) if cells.get("notebook") else [""]
        text = next(filter(None, (cells.get(name, "") for name in ("until", "due", "date"))), "")
        days = cells.get("days", "")
        if bool(text) == bool(days):
            raise CannotGradeError(
                "It gives neither a date nor days." if not text else "It gives both a date and days.", "", ""
            )
        try:
            until = moment(text) if text else None
            more = float(days.replace(",", ".")) if days else 0.0
        except ValueError:
            raise CannotGradeError(
                f"{text or days!r} is no {'time' if text else 'number of days'}.",
                "write 2026-11-27, or 2026-11-27 18:00" if text else "",
                "",
            ) from None
        if days and not (math.isfinite(more) and 0 < more < 1000):
            raise CannotGradeError(f"{days!r} is not a number of days.", "it is from 0 to 1000", "")
        for name in names:
            usual = due.get(name) or due.get("")
            if until and usual and until < usual:
                raise CannotGradeError("It ends before the due date.", f"that is {_local(usual)}", "")
            if days and not usual and not (name == "" and due):
                raise CannotGradeError("Days cannot be added.", "there is no due date", "")
            before = first.setdefault((student, name), number)
            if before != number:
                raise CannotGradeError(
                    f"Row {before} is about {student} and {name or 'everything'} as well.", "", ""
                )
            made.setdefault(student, {})[name] = Extension(until, more, cells.get("reason", ""))

    rows.read(take)
    return made, rows.bad


def refuse(path: Path, bad: Sequence[str]) -> CannotGradeError:
    """What to raise for a file with bad rows, when they have been named."""
    return CannotGradeError(
        f"Nothing was changed: {len(bad)} row{'s' if len(bad) > 1 else ''} of {path} cannot be used.",
        "each is named above, with its number and the reason.",
        "mend them and try again; or leave them out: --good-rows",
    )


def names_of(setting: Callable[[str, Any], Any]) -> dict[str, str]:
    """{student: their name}, of those whom the gradebook calls otherwise: by a number or an address."""
    known = people_of(setting, ())
    return {person.student: person.name for person in known.people if person.name != person.student}


def people_of(setting: Callable[[str, Any], Any], students: Iterable[str]) -> Roster:
    """Whom the gradebook knows, with what the roster said of them."""
    known = setting("people", {})
    names = dict.fromkeys([*students, *known])
    return Roster(
        Person(name, {kind: text for kind, text in known.get(name, {}).items() if kind in COLUMNS})
        for name in names
    )
