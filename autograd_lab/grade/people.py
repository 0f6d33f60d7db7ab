"""The people of a class, and what each system calls them: a roster maps names, ids and addresses both ways.

read_rosters    CSV files -> one Roster: your own list, Canvas's exported gradebook, Moodle's grading worksheet
Roster.match    a name, an id or an address -> those whom it may mean
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from .model import CannotGradeError
from .reading import BEGINNINGS, UnreadableError, decode

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "student": ("student",),
    "id": (
        *("student_id", "studentid", "id", "sid", "sis_user_id", "sis_id", "id_number", "idnumber"),
        *("student_number", "matriculation_number"),
    ),
    "login": ("username", "user", "login", "sis_login_id", "login_id", "netid"),
    "name": ("name", "full_name", "fullname", "student_name"),
    "email": ("email", "email_address", "e_mail", "mail"),
    "canvas": ("canvas_id", "canvas_user_id", "canvas"),
    "moodle": ("moodle_id", "identifier", "participant", "participant_number", "participant_id", "moodle"),
    "first": ("first_name", "firstname", "given_name", "first"),
    "last": ("last_name", "lastname", "surname", "family_name", "last"),
    "section": ("section", "group"),
}
"""{what a column holds: the headings that say so}, in lower case with "_" for spaces. The first six can be a student's name in the gradebook, in this order."""
IDS = ("id", "login", "email", "canvas", "moodle")
WHO = ("student", "id", "login", "name", "email", "canvas", "moodle")
_OF_CANVAS = ("login", "id", "canvas")
_OF_MOODLE = ("student", "id", "login", "email", "moodle")


@dataclass
class Person:
    """A student."""

    student: str
    """What the gradebook calls them."""
    known: dict[str, str] = field(default_factory=dict)
    """{one of COLUMNS: the value}, without empty ones."""
    row: int = 0

    @property
    def name(self) -> str:
        """Their name as people say it, or what else there is."""
        both = " ".join(self.known[part] for part in ("first", "last") if part in self.known)
        return both or self.known.get("name", "") or self.student

    @property
    def parts(self) -> tuple[str, str]:
        """Their last and first names; the first is "" if the two cannot be told apart."""
        if "last" in self.known:
            return self.known["last"], self.known.get("first", "")
        last, _, first = self.known.get("name", "").partition(", ")  # as Canvas writes it
        return last, first


class Roster:
    """The students of a class, in the order of the list."""

    def __init__(self, people: Iterable[Person] = (), notes: Iterable[str] = ()) -> None:
        self.people = list(people)
        self.notes = list(notes)
        """What is wrong with the list, in lines."""
        self.times: dict[str, datetime] = {}
        """{Moodle's number of a participant: time of submission}, from a grading worksheet."""
        self._index()

    def _index(self) -> None:
        self._exact = {norm(person.student): person for person in self.people}
        self._by: dict[tuple[str, str], list[Person]] = {}
        for person in self.people:
            keys = {("student", person.student.casefold())}
            keys |= {(kind, person.known[kind].casefold()) for kind in IDS if kind in person.known}
            local, at, _ = person.known.get("email", "").casefold().partition("@")
            keys |= {("local", local)} if at else set()
            names = {person.known.get("name", ""), person.student, person.name}
            for words in filter(None, map(name_words, names)):
                for way, some in (("", words), ("bare ", [bare(word) for word in words])):
                    keys |= {(f"{way}words", " ".join(sorted(some)))}
                    keys |= {(f"{way}run", "".join(some[i:] + some[:i])) for i in range(len(some))}
            for key in keys:
                self._by.setdefault(key, []).append(person)

    @property
    def students(self) -> list[str]:
        """What the gradebook calls them."""
        return [person.student for person in self.people]

    def match(self, text: str, kind: str = "") -> list[Person]:
        """Those whom a name, an id or an address may mean: none, one, or several if it is ambiguous.

        kind    one of IDS: look at this column only
        """
        text = norm(text)
        key = text.casefold()
        if kind:
            return list(self._by.get((kind, key), ()))
        if text in self._exact:
            return [self._exact[text]]
        words = name_words(text)
        plain = [bare(word) for word in words]
        for ways in (
            [("student", key)],
            [(one, key) for one in IDS],
            [("words", " ".join(sorted(words))), ("run", "".join(words))],
            [("local", key)],
            [("bare words", " ".join(sorted(plain))), ("bare run", "".join(plain))],
        ):
            found = {id(person): person for way in ways for person in self._by.get(way, ())}
            if found:
                return list(found.values())
        return []

    def add(self, other: Roster) -> None:
        """Take over what another list knows of the same people, and those whom this one lacks."""
        for person in other.people:
            same = {
                id(one): one
                for kind in IDS
                for one in self.match(person.known.get(kind, ""), kind)
                if kind in person.known
            }
            same = same or {id(one): one for one in self.match(person.name)}
            if len(same) == 1:
                (one,) = same.values()
                one.known = {**person.known, **one.known}
            elif same:
                names = " and ".join(one.student for one in same.values())
                self.notes.append(f"row {person.row}: {person.name} may be {names}; the row was left out")
            else:
                self.people.append(person)
        self.notes += other.notes
        self.times |= other.times
        self._index()


def norm(name: str) -> str:
    """A name in Unicode's composed form: systems differ in how they write the same letter."""
    return unicodedata.normalize("NFC", name)


def name_words(name: str) -> list[str]:
    """The words of a name without case and punctuation, in order: of "Doe, Mary-Ann" doe and maryann."""
    words = norm(name).casefold().replace("_", " ").replace(",", " ").split()
    return [word for word in ("".join(c for c in word if c.isalnum()) for word in words) if word]


def bare(word: str) -> str:
    """A word without accents, which some systems drop."""
    apart = unicodedata.normalize("NFD", word)
    return norm("".join(c for c in apart if not unicodedata.combining(c)))


# ----------------------------------------------------------------------
# reading
# ----------------------------------------------------------------------


def read_rosters(paths: Sequence[Path]) -> Roster:
    """The students of these lists. Raises CannotGradeError if one cannot be read, names nobody, or calls two students the same."""
    made = read_roster(paths[0])
    for path in paths[1:]:
        made.add(read_roster(path))
    return made


def read_roster(path: Path) -> Roster:
    """The students of a list: a CSV file whose first row names its columns, or one name a line. Raises CannotGradeError."""
    rows = list(read_table(path, "roster"))
    header = [heading(cell) for cell in rows[0][1]] if rows else []
    columns, kinds = _columns(header, [row for _, row in rows[1:]])
    people: list[Person] = []
    notes: list[str] = []
    for number, row in rows[1 if columns else 0 :]:
        known = {
            kind: value
            for kind, place in (columns or {"student": 0}).items()
            if (value := _value(kind, row[place] if place < len(row) else ""))
        }
        if kinds is _OF_CANVAS and "canvas" not in known and not people:
            continue  # the rows below the headings: "Points Possible", and which assignments are hidden
        if kinds is _OF_CANVAS and name_words(Person("", known).name) in (
            ["student", "test"],
            ["test", "student"],
        ):
            notes.append(f"row {number} of {path.name} is Canvas's test student, and was left out")
        elif not any(kind in known for kind in kinds):
            notes.append(f"row {number} of {path.name} names nobody, and was left out")
        else:
            people.append(Person("", known, number))
    _call(people, kinds, path, notes)
    if not people:
        raise CannotGradeError(
            f"The roster {path} names no students.",
            "its first column, or the one called `student` or `id`, is empty.",
            "write one student per line, called as their folders are",
        )
    made = Roster(people, notes)
    _read_worksheet_times(made, header, rows[1:], columns, path)
    return made


def _columns(header: list[str], rows: Sequence[Sequence[str]]) -> tuple[dict[str, int], Sequence[str]]:
    """({what: its column}, what a student may be called, best first); no columns if the first row is a student's."""
    found: dict[str, int] = {}
    for kind, names in COLUMNS.items():
        place = next((header.index(name) for name in names if name in header), None)
        if place is not None:
            found[kind] = place
    if header[:1] in (["student"], ["lastname"]) and {"id", "sis_login_id", "section"} <= set(header):
        found.pop("student", None)
        found.pop("id", None)
        found["canvas"] = header.index("id")
        if "sis_user_id" in header:
            found["id"] = header.index("sis_user_id")
        if header[0] == "student":
            found["name"] = 0
        return found, _OF_CANVAS
    if header[:1] and (header[0] in COLUMNS["moodle"] or (len(header) > 5 and _is_worksheet(rows))):
        found = {kind: place for kind, place in found.items() if place} | {"moodle": 0}
        second = [row[1] for row in rows if len(row) > 1]
        if len(header) > 1 and 1 not in found.values() and 2 * len(set(second)) > len(second):
            found["name"] = 1  # where names are hidden, the state of the submission stands there
        return found, _OF_MOODLE
    return (found, WHO) if any(kind in found for kind in WHO) else ({}, WHO)


def _is_worksheet(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first cells are "Participant 1234" in whatever language: Moodle's worksheet has its headings in the site's language."""
    words = {re.sub(r"\d+$", "", row[0]) for row in rows}
    return len(words) == 1 and len(words.pop()) > 5 and all(row[0][-1:].isdigit() for row in rows)


def _value(kind: str, text: str) -> str:
    text = norm(" ".join(text.split()))
    if kind == "moodle" and (number := re.search(r"\d+$", text)):  # "Participant 1234"
        return number[0]
    return text


def _call(people: list[Person], kinds: Sequence[str], path: Path, notes: list[str]) -> None:
    """Give each student what the gradebook calls them: the first column in which all are told apart."""
    ways = {kind: [person.known.get(kind, "") for person in people] for kind in kinds}
    there = [kind for kind in kinds if any(ways[kind])]
    apart = [
        kind for kind in there if all(ways[kind]) and len(set(map(str.casefold, ways[kind]))) == len(people)
    ]
    best = (apart or there or [""])[0]
    if "student" in there and all(ways["student"]):
        best = "student"  # it was written to be used
    seen: dict[str, Person] = {}
    for person in list(people):
        person.student = person.known.get(best) or next(
            person.known[kind] for kind in kinds if kind in person.known
        )
        if best not in person.known:
            notes.append(f"row {person.row} of {path.name} has no {best}; it was called {person.student}")
        before = seen.setdefault(person.student.casefold(), person)
        if before is person:
            continue
        if before.known != person.known:
            raise CannotGradeError(
                f"Two students of {path} are called {person.student}.",
                f"rows {before.row} and {person.row} differ, and their work would be mixed up.",
                "give the file a column `student` with a name of its own for each",
            )
        people.remove(person)  # the same row again


def _read_worksheet_times(
    made: Roster,
    header: list[str],
    rows: Sequence[tuple[int, list[str]]],
    columns: Mapping[str, int],
    path: Path,
) -> None:
    column = next((i for i, name in enumerate(header) if name == "last_modified_(submission)"), None)
    if column is None or "moodle" not in columns:
        return
    for number, row in rows:
        text = row[column].strip() if column < len(row) else ""
        if text in ("", "-"):
            continue
        when = _worksheet_time(text)
        if when is None:
            made.notes.append(f"row {number} of {path.name} has a time that is not understood: {text}")
        else:
            made.times[_value("moodle", row[columns["moodle"]])] = when


def _worksheet_time(text: str) -> datetime | None:
    text = " ".join(text.split())
    for form in ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%d %B %Y, %I:%M %p", "%Y-%m-%d %H:%M"):
        try:
            return datetime.strptime(text, form).astimezone(UTC)
        except ValueError:
            continue
    return None


def heading(cell: str) -> str:
    """A column's heading as COLUMNS has it."""
    return re.sub(r"[\s-]+", "_", cell.strip().casefold())


def read_table(path: Path, what: str) -> Iterator[tuple[int, list[str]]]:
    """(line number, cells) of the rows of a CSV file that are not empty; commas, semicolons or tabs. Raises CannotGradeError.

    what    what the file is, for the message
    """
    try:
        data = path.expanduser().read_bytes()
        kind = next((name for begin, name in BEGINNINGS if data.startswith(begin)), "")
        if kind:
            raise UnreadableError(f"it is {kind}; if it comes from a spreadsheet, save it as CSV (UTF-8)")
        text, _ = decode(data)
    except (OSError, UnreadableError) as error:
        why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        raise CannotGradeError(
            f"The {what} {path} cannot be read.", f"{why}.", "give the path of a CSV or text file"
        ) from error
    head = text.splitlines()[0] if text.strip() else ""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise CannotGradeError(
            f"The {what} {path} cannot be read.", f"line {reader.line_num}: {error}.", "save it as CSV again"
        ) from error
