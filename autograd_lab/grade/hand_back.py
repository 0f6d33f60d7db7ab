"""The command `autograd-lab feedback RESULTS --to canvas|moodle|folder`: gives the pages and the grades back, in the form that each imports.

    canvas   04_feedback.zip    "Upload Submissions" of the assignment; each page becomes an attachment of a comment
             grades.csv         "Import" of the gradebook
    moodle   04_grades.csv      "Upload grading worksheet", first
             04_feedback.zip    "Upload multiple feedback files in a zip"
    folder   <token>.html       to host yourself: names that cannot be guessed, listed beside the folder

What was given back is noted in the gradebook, so that a later page says what has changed since.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import re
import secrets
import sqlite3
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from autograd_lab.course.contents import TITLES

from . import collect, feedback, policy, run, tables
from .course import load_course
from .files import alone, put_bytes, refused
from .gradebook import NAME, Entry, Gradebook
from .model import CannotGradeError, Limits
from .people import Person, Roster, bare, heading, name_words, read_rosters, read_table
from .rescue import trouble

WAYS = ("canvas", "moodle", "folder")
PAGE = "feedback.html"
LINKS = "links.csv"
INDEX = '<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta name="robots" content="noindex"><title>Feedback</title><p>Open the link that you were sent.</p></html>\n'
"""So that a server does not list the folder."""
GRADE = ("grade", "bewertung", "note", "calificación", "cijfer", "nota", "valutazione", "ocena")
"""The heading of the grades in Moodle's worksheet, in some languages."""
_SIS = {"sis_user_id": "id", "sis_login_id": "login"}
"""{a heading of Canvas's gradebook: what a roster calls that}."""


@dataclass
class Handed:
    """What a way of giving back wrote, and whom it could not reach."""

    paths: list[Path] = field(default_factory=list)
    given: set[str] = field(default_factory=set)
    """The students who get their page."""
    lacking: list[str] = field(default_factory=list)
    """Lines about those who do not, and about what to look at."""
    todo: list[str] = field(default_factory=list)
    """Where to upload it."""
    files: dict[Path, bytes] = field(default_factory=dict)
    """{path: content}, until they are written."""


def main(argv: list[str] | None = None) -> int:
    """`autograd-lab feedback RESULTS --to WAY`; the exit status: 0 done, 2 not possible."""
    options = _parser().parse_args(argv)
    try:
        with run.ending_as_by_hand():
            return _main(options)
    except CannotGradeError as problem:
        print(f"autograd-lab: {problem}", file=sys.stderr)
    except OSError as error:
        print(f"autograd-lab: {refused(error)}", file=sys.stderr)
    except sqlite3.Error as error:
        print(f"autograd-lab: {trouble(options.results / NAME, error)}", file=sys.stderr)
    return 2


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab feedback",
        description="Give the students' pages and grades back: as files that Canvas or Moodle import, or as a folder to host yourself.",
    )
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="the folder that `autograd-lab grade` wrote"
    )
    parser.add_argument("--to", required=True, choices=WAYS, help="in whose form")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where it goes (default: RESULTS/to-WAY)")
    parser.add_argument(
        "--notebooks", default="", metavar="04,05", help="whose grades are given back (default: all)"
    )
    parser.add_argument(
        "--student", action="append", metavar="NAME", help="only this student (may be repeated)"
    )
    parser.add_argument(
        "--changed",
        action="store_true",
        help="only students whose page has changed since they got it",
    )
    parser.add_argument(
        "--roster",
        type=Path,
        action="append",
        metavar="FILE",
        help="CSV: what Canvas and Moodle call the students",
    )
    parser.add_argument(
        "--sheet",
        type=Path,
        metavar="FILE",
        help="Canvas's exported gradebook or Moodle's grading worksheet, to be filled in",
    )
    parser.add_argument(
        "--assignment",
        action="append",
        default=[],
        metavar="04=TITLE",
        help="the column of Canvas's gradebook for a notebook",
    )
    parser.add_argument("--scale", action="store_true", help="convert the points to the assignment's maximum")
    parser.add_argument(
        "--url", default="", metavar="https://...", help=f"where the folder will be, for the links in {LINKS}"
    )
    parser.add_argument(
        "--draft", action="store_true", help="write the files, but do not note that students have them"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and write nothing")
    parser.add_argument("--exercises", type=Path, metavar="FOLDER", help="as for grade")
    parser.add_argument("--keys", type=Path, metavar="FOLDER", help="as for grade")
    parser.add_argument(
        "--require-sandbox", action=argparse.BooleanOptionalAction, default=sys.platform == "linux",
        help="as for grade; failing cases may have to be drawn",
    )  # fmt: skip
    return parser


def _main(options: argparse.Namespace) -> int:
    folder: Path = options.results.expanduser()
    with Gradebook(folder / NAME) as book, alone(folder):
        entries, roster = _choose(book, options)
        if not options.dry_run:
            _renew(book, folder, options)
        students: dict[str, list[Entry]] = {}
        for entry in book.entries():
            students.setdefault(entry.student, []).append(entry)
        versions = {student: feedback.version(own) for student, own in students.items()}
        if options.changed:
            returned = book.returned()
            same = {student for student, old in returned.items() if old[-1][1] == versions.get(student)}
            entries = [entry for entry in entries if entry.student not in same]
            if not entries:
                print("Every student has the page as it is: there is nothing to give back.")
                return 0
        pages = {e.student: feedback.page_of(folder / feedback.FOLDER, e.student) for e in entries}
        out = (options.out or folder / f"to-{options.to}").expanduser()
        made = {"canvas": _canvas, "moodle": _moodle, "folder": _folder}[options.to](
            book, entries, pages, roster, out, options
        )
        for line in made.lacking:
            print(f"note: {_printable(line)}", file=sys.stderr)
        if not made.given and not made.files:
            raise CannotGradeError(
                f"There is nothing to give back to {options.to.capitalize()}.",
                f"of none of the {len(pages)} students is known what {options.to.capitalize()} calls them.",
                f"grade from what it lets you download, or give their numbers: --roster FILE with a column `{options.to} id`",
            )
        if options.dry_run:
            for path in sorted(made.files):
                print(f"would write {path}")
            print(f"Nothing was written. {len(made.given)} of {len(pages)} students would get their page.")
            return 0
        _write(made, options)
        if not options.draft:
            book.give_back({student: versions[student] for student in made.given}, options.to)
        print(f"{len(made.given)} of {len(pages)} students get their page.")
        for path in sorted(made.files):
            if path.suffix != ".html":
                print(path)
        print("\n".join(made.todo))
    return 0


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _choose(book: Gradebook, options: argparse.Namespace) -> tuple[list[Entry], Roster]:
    """The entries to give back, and who is who."""
    entries = book.entries()
    if not entries:
        raise CannotGradeError(
            "The gradebook is empty.", "nothing was graded yet.", "run `autograd-lab grade`"
        )
    names = sorted({entry.notebook for entry in entries})
    wanted = policy.notebooks_of(options.notebooks, names)
    roster = policy.people_of(book.setting, [entry.student for entry in entries])
    if options.roster:
        more = read_rosters(options.roster)
        roster.add(more)
    if options.student:
        chosen = {policy.student_of(text, roster) for text in options.student}
        entries = [entry for entry in entries if entry.student in chosen]
    return [entry for entry in entries if not wanted or entry.notebook in wanted], roster


def _renew(book: Gradebook, folder: Path, options: argparse.Namespace) -> None:
    """Bring the pages up to date: grades may have been changed by hand since they were written."""
    course = run.dealt(load_course(options.exercises, options.keys), book)
    private = [path for path in (folder, options.keys, options.exercises) if path is not None]
    workers = os.cpu_count() or 2
    run.write_feedback(
        book,
        course,
        folder,
        lambda of: run._engine(of, Limits(), workers, options.require_sandbox, private),
        quiet=True,
    )


def _write(made: Handed, options: argparse.Namespace) -> None:
    try:
        for path, data in made.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            put_bytes(path, data)
            if path.name == LINKS:
                path.chmod(0o600)
    except OSError as error:
        raise CannotGradeError(
            "It could not be written.", f"the system says: {error}.", "choose another folder: --out FOLDER"
        ) from error


# ----------------------------------------------------------------------
# who is who
# ----------------------------------------------------------------------


_Handles = Mapping[str, Mapping[str, str]]
"""{student: {notebook: the name of the newest file in a download}}."""


def _handle(handles: _Handles, entry: Entry, system: str, roster: Roster) -> Mapping[str, str]:
    """What a system called the newest file for an entry, if it came from there: as collect.origin has it.

    The newest, not the one that counts: Canvas takes a page only for a file of the latest submission.
    """
    kept = handles.get(entry.student, {}).get(entry.notebook, "")
    for name in (kept, entry.file):
        found = collect.origin(name, roster)
        if found.get("system") == system:
            return found
    return {}


def _short(notebook: str) -> str:
    """A notebook's number, or its name if it has none."""
    return notebook.split("_")[0]


def _title(notebook: str) -> str:
    number = notebook.split("_")[0]
    return f"{number} {TITLES[number]}" if number in TITLES else notebook


def _packed(files: Mapping[str, Path]) -> bytes:
    """A zip archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            info = zipfile.ZipInfo(name)  # no times, so that the same pages make the same archive
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, path.read_bytes() if path.is_file() else b"")
    return out.getvalue()


def _csv(rows: Iterable[Sequence[Any]], mark: str = ",") -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=mark, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _number(value: float, comma: bool = False) -> str:
    text = f"{round(value, 4):g}"
    return text.replace(".", ",") if comma else text


def _some(names: Iterable[str]) -> str:
    every = sorted(names)
    return ", ".join(every[:8]) + (f" and {len(every) - 8} more" if len(every) > 8 else "")


# ----------------------------------------------------------------------
# Canvas
# ----------------------------------------------------------------------


def _canvas(
    book: Gradebook,
    entries: Sequence[Entry],
    pages: Mapping[str, Path],
    roster: Roster,
    out: Path,
    options: argparse.Namespace,
) -> Handed:
    """Canvas attaches a page to the submission whose user and file stand in its name, so it reaches only those who handed a file in."""
    made = Handed()
    handles: _Handles = book.setting("handles", {})
    for notebook, own in _by_notebook(entries).items():
        files, without, doubtful = {}, [], []
        for entry in own:
            came = _handle(handles, entry, "canvas", roster)
            if came.get("file"):
                if came["doubtful"]:
                    doubtful.append(entry.student)
                files[_name_for_canvas(came)] = pages[entry.student]
                made.given.add(entry.student)
            elif entry.status != "missing":
                without.append(entry.student)
        if files:
            made.files[out / f"{_short(notebook)}_{PAGE[:-5]}.zip"] = _packed(files)
        if without:
            made.lacking.append(
                f"{notebook}: no page for {_some(without)}, whose files did not come from Canvas; it takes a page only for a file."
            )
        if doubtful:
            made.lacking.append(
                f"{notebook}: Canvas may not take the page of {_some(doubtful)}: the numbers in the file's name can be read in two ways. "
                "A --roster with a column `canvas id` says which is right."
            )
    _canvas_grades(book, entries, roster, out, options, made)
    made.todo.append(
        "Canvas: each zip goes to Grades, the assignment's menu, Re-Upload Submissions; each table of grades to Grades, Import. "
        "Canvas names a page after the file that was handed in, .ipynb: tell your students to save it under a name that ends in .html."
    )
    return made


def _name_for_canvas(came: Mapping[str, str]) -> str:
    """A name of which Canvas reads the first two numbers, or the code and the number behind a beginning "anon"."""
    if not came["name"]:
        return f"{came['user']}_{came['file']}_{PAGE}"
    words = [word for word in came["name"].split("_") if word and not re.fullmatch("[0-9]+", word)]
    if words[:1] in ([], ["anon"]):
        words.insert(0, "student")
    return f"{'_'.join(words)}_{came['user']}_{came['file']}_{PAGE}"


def _by_notebook(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.notebook, []).append(entry)
    return found


def _canvas_grades(
    book: Gradebook,
    entries: Sequence[Entry],
    roster: Roster,
    out: Path,
    options: argparse.Namespace,
    made: Handed,
) -> None:
    """The CSV of Canvas's gradebook: who, then a column for each notebook; the second row has the maxima.

    A blank cell would take a grade away that is there.
    """
    by = {(entry.student, entry.notebook): entry for entry in entries}
    notebooks = sorted({entry.notebook for entry in entries})
    students = sorted({entry.student for entry in entries})
    most = {name: max(entry.most for entry in entries if entry.notebook == name) for name in notebooks}
    titles = {name: _title(name) for name in notebooks}
    kept: dict[tuple[str, str], str] = {}
    if options.sheet:
        sheet = _CanvasSheet(options.sheet)
        columns = {name: sheet.column(name, options) for name in notebooks}
        if len(set(columns.values())) < len(columns):
            raise CannotGradeError(
                "Two notebooks have the same assignment.",
                f"{', '.join(notebooks)} would go into one column of {options.sheet}.",
                'name each: --assignment "04=TITLE"',
            )
        titles = {name: sheet.head[place] for name, place in columns.items()}
        for name, place in columns.items():
            there = _float(sheet.possible[place] if place < len(sheet.possible) else "")
            if there is not None and there != most[name]:
                _say_most(made, titles[name], there, most[name], options.scale)
                most[name] = there
        head = sheet.head[: sheet.who]
        people = {}
        for student, row in sheet.whose(book, set(students), roster, made).items():
            people[student] = row[: sheet.who]
            for name, place in columns.items():
                kept[student, name] = row[place].strip() if place < len(row) else ""
    else:
        head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
        people = _for_canvas(book.setting("handles", {}), entries, roster)
    left = set(students) - set(people)
    if left:
        made.lacking.append(
            f"no grades for {_some(left)}: it is not known what Canvas calls them (--roster, or --sheet)."
        )

    def cell(student: str, name: str) -> str:
        entry, there = by.get((student, name)), kept.get((student, name), "")
        if not entry or (entry.status == "missing" and there.casefold() in ("ex", "excused")):
            return there
        return _number(_points(entry, most[name], options.scale))

    rows = [student for student in people if student in set(students)]
    tables_of = {"grades.csv": notebooks}
    if not options.sheet and any((student, name) not in by for student in rows for name in notebooks):
        tables_of = {f"{_short(name)}_grades.csv": [name] for name in notebooks}
    for file, names in tables_of.items():
        those = [student for student in rows if options.sheet or (student, names[0]) in by]
        if those:
            possible = ["    Points Possible", *[""] * (len(head) - 1), *(_number(most[n]) for n in names)]
            made.files[out / file] = _csv(
                [
                    [*head, *(titles[name] for name in names)],
                    possible,
                    *([*people[student], *(cell(student, name) for name in names)] for student in those),
                ]
            )


def _for_canvas(handles: _Handles, entries: Sequence[Entry], roster: Roster) -> dict[str, list[str]]:
    """{student: what Canvas calls them}, as the columns of its gradebook have it, of those of whom it is known."""
    found: dict[str, list[str]] = {}
    names = [person.name.casefold() for person in roster.people]
    for student in sorted({entry.student for entry in entries}):
        person = next((p for p in roster.people if p.student == student), Person(student))
        came = (_handle(handles, e, "canvas", roster) for e in entries if e.student == student)
        numbers = [
            person.known.get("canvas", ""),
            *(one["user"] for one in came if one and not one["doubtful"]),
        ]
        number = next((number for number in numbers if number.isdigit()), "")
        if not number and not (person.known.get("login") or person.known.get("id")):
            continue
        name = person.known.get("name") or person.name
        if not number and names.count(person.name.casefold()) > 1:
            name = f"{name} ({student})"  # where Canvas does not know the login, it goes by the name: the first who has it
        known = [person.known.get(kind, "") for kind in ("id", "login", "section")]
        found[student] = [tables.cell(name), number, *known]
    return found


class _CanvasSheet:
    """Canvas's exported gradebook. Raises CannotGradeError if it is none."""

    def __init__(self, path: Path) -> None:
        table = [row for _, row in read_table(path, "gradebook of Canvas")]
        self.head = table[0] if table else []
        words = [heading(cell) for cell in self.head]
        self.who = words.index("section") + 1 if "section" in words else 0
        if "id" not in words[: self.who]:
            raise CannotGradeError(
                f"{path} is no gradebook of Canvas.",
                "its first line does not begin with Student, ID, ..., Section.",
                "export it again: Grades > Export",
            )
        self._kinds = {words.index(name): kind for name, kind in _SIS.items() if name in words[: self.who]}
        self._id = words.index("id")
        self.people = [row for row in table[1:] if self._number(row)]
        below = [row for row in table[1:] if not self._number(row)]
        self.possible = next((row for row in below if row and "Points Possible" in row[0]), [])

    def _number(self, row: Sequence[str]) -> str:
        return row[self._id].strip() if self._id < len(row) else ""

    def column(self, notebook: str, options: argparse.Namespace) -> int:
        """The place of a notebook's column."""
        return _column(notebook, self.head[self.who :], options) + self.who

    def whose(
        self, book: Gradebook, students: set[str], roster: Roster, made: Handed
    ) -> dict[str, list[str]]:
        """{student: their row}: by a number or a login, otherwise by a name that nobody else has.

        students    of whom something is said
        """
        handles: _Handles = book.setting("handles", {})
        files = ((e.student, _handle(handles, e, "canvas", roster)) for e in book.entries())  # of others, too
        came = {found.get("user"): (student, found) for student, found in files}
        sure: dict[str, list[str]] = {}
        claims: dict[str, list[list[str]]] = {}
        for row in self.people:
            number = self._number(row)
            student, found = came.get(number, ("", {}))
            ways = [(number, "canvas"), *((row[place], kind) for place, kind in self._kinds.items())]
            known = [one[0].student if len(one := roster.match(*way)) == 1 else "" for way in ways]
            by_file = "" if found.get("doubtful") else student
            known.insert(1, by_file)  # surer than a login
            fits = next(filter(None, known), "")
            if fits:
                sure.setdefault(fits, row)
                continue
            named = roster.match(row[0] if self._id == 1 else f"{row[0]}, {row[1]}")
            if len(named) == 1 and named[0].known.get("canvas", number) == number:
                claims.setdefault(named[0].student, []).append(row)
        for student, rows in claims.items():
            if len(rows) == 1 and student not in sure:
                sure[student] = rows[0]
            elif student in students:
                numbers = " and ".join(self._number(row) for row in rows)
                made.lacking.append(
                    f"{student} is not the only one of this name in Canvas: {numbers} got no grade. Write the right number into the roster's column canvas_id."
                )
        return sure


def _column(notebook: str, titles: Sequence[str], options: argparse.Namespace) -> int:
    """The column of an assignment: the one that was named, or the only one whose title has the notebook's number or name."""
    for word in options.assignment:
        name, mark, title = word.partition("=")
        if mark and name.strip() in (notebook, notebook.split("_")[0]):
            fits = [
                i for i, one in enumerate(titles) if one == title or re.sub(r" \(\d+\)$", "", one) == title
            ]
            break
    else:
        number = str(int(notebook[:2])) if notebook[:2].isdigit() else notebook
        free = [re.sub(r"\(\d+\)$", "", one) for one in titles]
        fits = [
            i
            for i, one in enumerate(free)
            if notebook in one or _title(notebook)[3:].casefold() in one.casefold()
        ]
        fits = fits or [i for i, one in enumerate(free) if re.search(rf"(?<!\d)0*{number}(?!\d)", one)]
    if len(fits) != 1:
        there = ", ".join(one for one in titles if re.search(r"\(\d+\)$", one)) or "none"
        raise CannotGradeError(
            f"Which assignment is {notebook}?",
            f"{'several columns fit' if fits else 'no column fits'}; the assignments are: {there}.",
            f'name it: --assignment "{notebook.split("_")[0]}=TITLE"',
        )
    return fits[0]


def _float(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _points(entry: Entry, most: float, scale: bool) -> float:
    """The points of an entry, where the maximum is `most`."""
    return entry.total * most / entry.most if scale and entry.most else entry.total


def _say_most(made: Handed, title: str, there: float, ours: float, scale: bool) -> None:
    what = f"{title}: the maximum there is {there:g}, the notebook's {ours:g}"
    made.lacking.append(
        f"{what}; the points were {'converted' if scale else 'not converted: --scale does that'}."
    )


# ----------------------------------------------------------------------
# Moodle
# ----------------------------------------------------------------------


def _moodle(
    book: Gradebook,
    entries: Sequence[Entry],
    pages: Mapping[str, Path],
    roster: Roster,
    out: Path,
    options: argparse.Namespace,
) -> Handed:
    """Moodle finds the participant by the number in a folder's name; the number is another one in each assignment."""
    made = Handed()
    notebooks = _by_notebook(entries)
    if options.sheet and len(notebooks) > 1:
        raise CannotGradeError(
            "Which notebook is the grading worksheet for?",
            f"a worksheet belongs to one assignment, and these are graded: {', '.join(notebooks)}.",
            "name one: --notebooks 04",
        )
    sheet = _Sheet(options.sheet) if options.sheet else None
    first: dict[str, str] = {}  # a number is of one assignment
    everything, handles = _by_notebook(book.entries()), book.setting("handles", {})
    for notebook, own in notebooks.items():
        files, rows = {}, []
        found, without = _participants(handles, everything[notebook], roster, sheet)
        asked = {entry.student for entry in own}
        for entry in own:
            if entry.student not in found:
                continue
            number, name = found[entry.student]
            name = re.sub(r"""[\x00-\x1f&<>"`|':\\/_]+""", " ", name).strip(" .") or "Participant"
            files[f"{name}_{number}_assignsubmission_file_/{PAGE}"] = pages[entry.student]
            made.given.add(entry.student)
            rows.append((number, name, entry))
        other = next((first[number] for number, _, _ in rows if number in first), "")
        if other:
            made.lacking.append(
                f"{other} and {notebook} were handed in for one assignment, which has one grade: the worksheet that you upload last counts."
            )
        first |= {number: notebook for number, _, _ in rows}
        if files:
            made.files[out / f"{_short(notebook)}_{PAGE[:-5]}.zip"] = _packed(files)
            made.files[out / f"{_short(notebook)}_grades.csv"] = _worksheet(
                notebook, rows, sheet, options, made
            )
        made.lacking += [
            f"{notebook}: nothing for {_some(those)}, {why}"
            for why, students in without.items()
            if (those := asked.intersection(students))
        ]
    if not sheet and made.files:
        made.lacking.append(
            "If your Moodle does not speak English, or groups handed in, let its own grading worksheet be filled in: --sheet FILE --notebooks 04."
        )
    made.todo.append(
        "Moodle: on the assignment's page, first Upload grading worksheet, then Upload multiple feedback files in a zip: after the zip it takes no grades. "
        'It leaves grades alone that it already has, unless you check the box "Allow updating records that have been modified more recently".'
    )
    return made


def _plain(name: str) -> str:
    """A name without what Moodle leaves out of a folder's."""
    return "".join(map(bare, name_words(name)))


class _Sheet:
    """Moodle's grading worksheet. Raises CannotGradeError if it is none."""

    def __init__(self, path: Path) -> None:
        self.rows = [row for _, row in read_table(path, "grading worksheet")]
        head = [heading(cell) for cell in self.rows[0]] if self.rows else []
        self.grade = next((head.index(name) for name in GRADE if name in head), -1)
        if self.grade < 0:
            self.grade = self._before_the_maximum()
        if self.grade < 1 or not all(re.search(r"\d$", row[0].strip()) for row in self.rows[1:]):
            raise CannotGradeError(
                f"{path} is no grading worksheet of Moodle.",
                f"its first column has no participants' numbers, or none is called {' or '.join(GRADE[:3])}.",
                "download it again: on the assignment's page, Download grading worksheet",
            )
        most = (
            self.rows[1][self.grade + 1] if len(self.rows) > 1 and len(self.rows[1]) > self.grade + 1 else ""
        )
        self.most = _float(most)
        self.comma = "," in most
        self.people: dict[str, list[str]] = {}
        """{participant's number: the row}."""
        for row in self.rows[1:]:
            number = re.search(r"\d+$", row[0].strip())
            assert number is not None
            self.people[number[0]] = row

    def _before_the_maximum(self) -> int:
        """The one column to the left of a number that is the same in all rows; -1 if there is none: for languages that GRADE lacks."""
        width = min(map(len, self.rows), default=0)
        maxima = [{row[i].strip() for row in self.rows[1:]} for i in range(width)]
        fits = [
            i - 1
            for i, cells in enumerate(maxima)
            if i > 1 and len(cells) == 1 and re.fullmatch(r"\d+[.,]\d+", next(iter(cells)))
        ]
        return fits[0] if len(fits) == 1 else -1

    def fits(self, number: str, name: str) -> bool:
        """Whether a folder of this number and name is that participant's. Names may be hidden: then all are "Participant"."""
        row = self.people[number]
        theirs = {_plain(cell) for cell in (re.sub(r"\d+$", "", row[0].strip()), *row[1:2])}
        cut = len(os.fsencode(name)) > 60  # as they are where an archive is unpacked
        rest, mark = name, "-"
        while mark:  # some versions write a group in front
            plain = _plain(rest)
            if plain in theirs or (cut and any(one.startswith(plain) for one in theirs)):
                return True
            _, mark, rest = rest.partition("-")
        return False

    def number_of(self, person: Person) -> str:
        """The number of the one participant who has a name or an address of this person, or ""."""
        kinds = {
            person.student.casefold(),
            *(text.casefold() for kind, text in person.known.items() if kind in ("email", "id", "login")),
        }
        fits = [
            n
            for n, row in self.people.items()
            if kinds & {cell.strip().casefold() for cell in row[1 : self.grade]}
        ]
        if len(fits) != 1:
            names = Roster([person])
            fits = [n for n, row in self.people.items() if len(row) > 1 and names.match(row[1])]
        return fits[0] if len(fits) == 1 else ""


_UNKNOWN = "whose participant numbers in this assignment are unknown: give its grading worksheet, --sheet."
_UNNAMED = (
    "whom the worksheet does not name, or names twice: write the numbers into the roster's column moodle_id."
)
_GROUP = (
    "who are no participants of these names: a group's folder has the group's number, which may be anybody's. "
    "If it is a student's, write the number into the roster's column moodle_id."
)
_MEMBER = "who handed in nothing of their own: they may be members of such a group."
_SHARED = "who may be the same participant: write the right numbers into the roster's column moodle_id."


def _participants(
    handles: _Handles, every: Sequence[Entry], roster: Roster, sheet: _Sheet | None
) -> tuple[dict[str, tuple[str, str]], dict[str, list[str]]]:
    """({student: (their number in the assignment, their name there)}, {why not: students}), of all students of a notebook."""
    came = {entry.student: _handle(handles, entry, "moodle", roster) for entry in every}
    people = {person.student: person for person in roster.people}
    listed = any(person.known for person in roster.people)
    names = [one["name"] for one in came.values() if one]
    found: dict[str, tuple[str, str]] = {}  # by their folders
    claims: dict[str, tuple[str, str]] = {}  # by the roster, or by name
    without: dict[str, list[str]] = {}
    for student, one in came.items():
        person = people.get(student, Person(student))
        number, name = one.get("user", ""), one.get("name", "")
        known = person.known.get("moodle", "")
        if sheet:
            named = known if known in sheet.people else sheet.number_of(person)
            if number in sheet.people and sheet.fits(number, name):
                found[student] = number, name
            elif named:
                claims[student] = named, sheet.people[named][1]
            else:
                without.setdefault(_GROUP if number in sheet.people else _UNNAMED, []).append(student)
        elif number:
            alone = names.count(name) == 1  # where names are hidden, all have the same
            if listed and alone and not any(p.known for p in (person, *collect.called(roster, name))):
                without.setdefault(_GROUP, []).append(student)
            else:
                found[student] = number, name
        elif known:
            claims[student] = known, person.name
        else:
            without.setdefault(_UNKNOWN, []).append(student)
    numbers = [number for number, _ in (*found.values(), *claims.values())]
    handed_in = {entry.student for entry in every if entry.status != "missing"}
    for student, claim in claims.items():
        if numbers.count(claim[0]) > 1:
            without.setdefault(_SHARED, []).append(student)
        elif _GROUP in without and student not in handed_in:
            without.setdefault(_MEMBER, []).append(student)
        else:
            found[student] = claim
    return found, without


def _worksheet(
    notebook: str,
    rows: Sequence[tuple[str, str, Entry]],
    sheet: _Sheet | None,
    options: argparse.Namespace,
    made: Handed,
) -> bytes:
    """The grading worksheet with the grades in it; everything else as it was."""
    if sheet is None:
        head = ("Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)")
        return _csv(
            [
                head,
                *(
                    (f"Participant {n}", tables.cell(name), _number(e.total), _number(e.most), "-")
                    for n, name, e in rows
                ),
            ]
        )
    ours = max((entry.most for _, _, entry in rows), default=0.0)
    if sheet.most is not None and sheet.most != ours:
        _say_most(made, notebook, sheet.most, ours, options.scale)
    grades = {}
    for number, _, entry in rows:
        points = _points(entry, sheet.most or entry.most, options.scale)
        if sheet.most is not None and points > sheet.most:
            made.lacking.append(
                f"{entry.student}: {points:g} points are more than Moodle's maximum of {sheet.most:g}; the row was left as it is."
            )
            continue
        grades[number] = _number(points, sheet.comma)
    filled = [sheet.rows[0]]
    for number, row in sheet.people.items():
        filled.append([*row[: sheet.grade], grades.get(number, row[sheet.grade]), *row[sheet.grade + 1 :]])
    return b"\xef\xbb\xbf" + _csv(filled)


# ----------------------------------------------------------------------
# a folder
# ----------------------------------------------------------------------


def _folder(
    book: Gradebook,
    entries: Sequence[Entry],
    pages: Mapping[str, Path],
    roster: Roster,
    out: Path,
    options: argparse.Namespace,
) -> Handed:
    """Pages under names that cannot be guessed; a student keeps the name, so a link that was sent stays good."""
    made = Handed(given=set(pages))
    tokens = dict(book.setting("tokens", {}))
    for student in pages:
        tokens.setdefault(student, secrets.token_hex(16))
    if not options.dry_run:
        book.set("tokens", tokens)
    for student, page in pages.items():
        made.files[out / f"{tokens[student]}.html"] = page.read_bytes() if page.is_file() else b""
    made.files[out / "index.html"] = INDEX.encode()
    base = options.url.rstrip("/") + "/" if options.url else ""
    rows = []
    for student in sorted({entry.student for entry in book.entries()} & set(tokens)):
        person = next((p for p in roster.people if p.student == student), Person(student))
        rows.append([student, person.name, person.known.get("email", ""), f"{base}{tokens[student]}.html"])
    links = out.parent / LINKS
    made.files[links] = tables.table(("student", "name", "email", "link"), rows).encode()
    made.todo.append(
        f"Host {out}. Anybody who has a link can open that page: send each student theirs, and keep {links} to yourself."
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
