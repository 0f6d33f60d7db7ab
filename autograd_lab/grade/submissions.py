"""Finds the submissions in a folder, and loads what was handed in.

    SUBMISSIONS/<student>/<notebook>.ipynb
    SUBMISSIONS/<student>/<assignment>/<notebook>.ipynb      nbgrader's `submitted/`

    find   the folder -> one Submission for each student and notebook, with the file that counts or why there is none
    load   the bytes of a file; raises UnreadableError with a sentence for the instructor (reading.py makes cells of them)

Nothing is written there, and no link is followed out of a student's own folder. The files are untrusted: sizes, depths and counts are
bounded, those of one file and those of one student's files together, so that nobody's files take more than about two seconds.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from autograd_lab.course.contents import PREFIX
from autograd_lab.course.student import FOLDERS

from .archives import MOST_ENTRIES, open_archive, read_member
from .model import CannotGradeError
from .people import COLUMNS, WHO, Person, Roster, heading, read_table
from .reading import (
    Notebook,
    RawCell,
    UnreadableError,
    decode,
    is_costly,
    marks_in,
    read,
)

MOST_BYTES = 50_000_000
"""The largest file that is read."""
DEEPEST = 6
LESSONS = FOLDERS[0]
MOST_ATTEMPTS = 10
"""How many of a student's files for one notebook are graded, where the best counts."""
PACKED = {".zip", ".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz"}
"""Endings of archives; only zip archives are opened."""
SKIPPED = {"__MACOSX", "__pycache__", "node_modules", "Thumbs.db", "desktop.ini"}
TIMESTAMP = "timestamp.txt"
"""nbgrader's file with the time of submission, beside the notebooks."""


@dataclass(frozen=True)
class File:
    """A file in a student's folder, or a link, a folder or a member of a zip archive that takes its place."""

    path: Path
    name: str
    """Its path as shown to the instructor: relative to the folder with the submissions."""
    trouble: str = ""
    """Why it cannot be read, if that is known without opening it."""
    member: str = ""
    """Its name in the zip archive `path`."""
    alone: bool = False
    """Whether it lies among the students' folders, where the files beside it are not its own."""
    untouched: bool = False
    """Whether its code is that of the notebook as it was handed out."""

    @property
    def of_lessons(self) -> bool:
        """Whether it lies where a whole working folder has the notebooks to read, some of which are called like the exercises."""
        place = PurePosixPath(self.member) if self.member else self.path
        return place.parent.name == LESSONS

    @property
    def stem(self) -> str:
        """The name of the notebook that it seems to be, without extension."""
        name = Path(self.member or self.path.name).name
        for ending in (".ipynb", ".json", ".txt", ".zip", ".py", ".html"):
            name = name.removesuffix(ending)
        return name


@dataclass(frozen=True)
class Submission:
    """What one student handed in for one notebook; nothing, if there is no `file`."""

    student: str
    notebook: str
    """The stem of the released notebook."""
    file: File | None = None
    handed_in: datetime | None = None
    notes: tuple[str, ...] = ()


@dataclass
class Allowance:
    """What may be read of one student's files. It counts characters, not seconds, so that a slow machine grades no differently."""

    files: int = 200
    size: int = 60_000_000
    """Bytes."""
    marks: int = 8_000_000
    """Brackets, commas and colons: what JSON costs."""
    costly: int = 2
    """Files that are read in a process of their own."""
    refused: int = 0
    """Files that were not read."""
    members: int = MOST_ENTRIES
    """Files in archives: to list those of many archives takes long, too."""
    cut: bool = False
    """Whether there are more files than are searched for notebooks."""
    deep: bool = False
    """Whether there are folders so far inside each other that they are not searched."""

    @property
    def used_up(self) -> bool:
        """Whether nothing more is read."""
        return min(self.files, self.size, self.costly, self.marks) < 0

    def takes(self, data: bytes) -> bool:
        """Whether a file may be read; it counts then."""
        costly = is_costly(data)
        self.size -= len(data)
        self.costly -= costly
        self.marks -= 0 if costly else marks_in(data)
        return not self.used_up


@dataclass
class Found:
    """What is in a folder."""

    submissions: list[Submission]
    warnings: list[str] = field(default_factory=list)
    """What was left out, and why."""
    attempts: list[list[Submission]] = field(default_factory=list)
    """The other files for the same notebooks: the second newest of each student, the third, ..."""


@dataclass
class Download:
    """A folder to grade, and what is known of its files if collect.py sorted a download into it."""

    folder: Path
    names: dict[str, str] = field(default_factory=dict)
    """{folder in it: the student}, where they differ."""
    labels: dict[str, str] = field(default_factory=dict)
    """{path in it: the path in what was downloaded}."""
    notes: list[str] = field(default_factory=list)
    """What was left out or unclear."""
    times: dict[str, datetime | None] = field(default_factory=dict)
    """{path in it: time of submission}; None if the download does not tell, because the files have the time of the download."""
    order: dict[str, int] = field(default_factory=dict)
    """{path in it: a number that grows with the time at which it was handed in}."""
    late: set[str] = field(default_factory=set)
    """The paths of what Canvas marks as late."""

    def place(self, file: File) -> str:
        """The path of a file in the folder."""
        return show(file.path.relative_to(self.folder)) if file.path.is_relative_to(self.folder) else ""


# ----------------------------------------------------------------------
# finding
# ----------------------------------------------------------------------


class Shelf:
    """The names and contents of the released notebooks, used to recognize files. Made by merge.py."""

    def __init__(self, words: Mapping[str, Iterable[str]], code: Mapping[str, Iterable[str]]) -> None:
        self._code = {name: set(sources) for name, sources in code.items()}
        self.names = {_fold(name): name for name in words}
        self._marks: dict[str, set[str]] = {}
        """{a cell's id, grade_id or check call: the notebooks that have it}."""
        for name, marks in words.items():
            for mark in marks:
                self._marks.setdefault(mark, set()).add(name)

    def by_name(self, file: File) -> str:
        """The notebook whose name the file has, perhaps with what marks a copy behind it, or ""."""
        return next((self.names[name] for name in _releasable(file) if name in self.names), "")

    def by_content(self, notebook: Notebook) -> str:
        """The notebook to which most of the cells belong, or ""."""
        count: dict[str, int] = {}
        for cell in notebook.cells:
            for mark in marks(cell):
                for name in self._marks.get(mark, ()):
                    count[name] = count.get(name, 0) + 1
        return max(sorted(count), key=lambda name: count[name], default="")

    def untouched(self, name: str, notebook: Notebook) -> bool:
        """Whether it has no code but that of the notebook of this name as it was handed out."""
        own = {cell.source.strip() for cell in notebook.cells if cell.kind == "code"} - {""}
        return own <= self._code.get(name, set())

    def by_number(self, file: File) -> str:
        """The one notebook whose name begins with the number in the file's name ("my 04 final"), or ""."""
        numbers = set(re.findall(r"(?<!\d)\d+(?!\d)", file.stem))
        fits = [n for n in self.names.values() if (m := re.match(r"\d+", n)) and m[0] in numbers]
        return fits[0] if len(fits) == 1 else ""


CHECK = re.compile(r"""\blab\s*\.\s*check\s*\(\s*["']([^"'\n]{1,40})["']""")
"""A call of lab.check; its group is the item's id."""


def marks(cell: RawCell) -> set[str]:
    """The marks by which a cell is recognized anywhere: its ids, the items that it checks."""
    return {mark for mark in (cell.id, cell.grade_id) if mark} | {
        f"check {item}" for item in CHECK.findall(cell.source)
    }


def find(
    folder: Path,
    shelf: Shelf,
    *,
    roster: Roster | Sequence[str] | None = None,
    wanted: Sequence[str] | None = None,
    students: Sequence[str] | None = None,
    assignment: str = "",
    times: Mapping[tuple[str, str], datetime] | None = None,
    trust_timestamps: bool = False,
    most_bytes: int = MOST_BYTES,
    download: Download | None = None,
    every: bool = False,
    people: Roster | None = None,
) -> Found:
    """The submissions in `folder`: one for each student and notebook, missing ones included, sorted.

    roster      the students of the class; without one, those who have a folder
    download    what collect.py knows of the folder, if it sorted a download into it
    people      whom earlier rosters knew: they say who is who, and bring nobody who is missing
    every       find a student's other files for a notebook as well, the newest MOST_ATTEMPTS at most
    wanted      the notebooks that are graded; without it, those that anyone handed in
    students    only these
    assignment  only files in the subfolder of this name in each student's folder
    times       {(student, notebook or ""): time of submission}, before a timestamp.txt and the file's own time
    trust_timestamps  believe each timestamp.txt; otherwise only those in nbgrader's folder `submitted`, which nbgrader wrote
    Raises CannotGradeError if the folder cannot be read or holds no students' folders.
    """
    found = Found([])
    folder = _top(folder)
    download = download or Download(folder)
    roster = Roster(map(Person, roster)) if isinstance(roster, Sequence) else roster
    found.warnings += [f"{note}." for note in roster.notes] if roster else []
    found.warnings += download.notes
    homes = _homes(folder, shelf, found, download)
    if not homes and not roster:
        raise CannotGradeError(
            f"{folder} holds no submissions.",
            "there is no student's folder in it"
            + (" (the notebooks in it belong to no student)." if found.warnings else "."),
            "give the folder that holds one folder per student: SUBMISSIONS/<student>/<notebook>.ipynb",
        )
    names = _names(homes, roster or people, found, everybody=roster is not None)
    if students is not None:
        chosen = {_norm(name) for name in students}
        for name in chosen - set(names):
            known = roster or people
            fits = known.match(name) if known else []
            chosen = chosen - {name} | {_norm(fits[0].student)} if len(fits) == 1 else chosen
        unknown = sorted(chosen - set(names))
        if unknown:
            raise CannotGradeError(
                f"There is no student {unknown[0]!r}.",
                f"neither a folder in {folder} nor the roster has this name.",
                f"there are: {', '.join(sorted(names)[:8])}" + (" ..." if len(names) > 8 else ""),
            )
        names = {name: paths for name, paths in names.items() if name in chosen}
    piles = {
        name: _pile(name, paths, folder, shelf, assignment, found, most_bytes, download)
        for name, paths in sorted(names.items())
    }
    books = sorted(wanted if wanted is not None else {book for pile, _ in piles.values() for book in pile})
    if not books:
        raise CannotGradeError(
            f"No file in {folder} belongs to a notebook of the course.",
            f"{len(piles)} students' folders were searched for {', '.join(sorted(shelf.names.values())[:3])} ..."
            + (f" in their subfolders {assignment!r}." if assignment else "."),
            "check the folder, or name the notebooks that are graded: --notebooks 04",
        )
    doubted: dict[str, None] = {}
    for name, (pile, instead) in piles.items():
        for book in books:
            if pile.get(book):
                ordered = _ordered(book, pile[book], download)
                given = (times or {}).get((name, book)) or (times or {}).get((name, ""))
                for place, (file, notes) in enumerate(ordered[: MOST_ATTEMPTS if every else 1]):
                    stamp = _stamp(file)
                    if stamp and not given and not (trust_timestamps or _of_nbgrader(file, folder)):
                        doubted[name] = stamp = None
                    if download.place(file) in download.late:
                        notes = (*notes, "Canvas marks it as late.")
                    own = _own_time(file, download)
                    when = given or stamp or own
                    if place:  # the time that was given is that of the newest; it was not handed in later
                        when = min(filter(None, (when, own)), default=None)
                        while len(found.attempts) < place:
                            found.attempts.append([])
                        found.attempts[place - 1].append(Submission(name, book, file, when, notes))
                        continue
                    if len(ordered) > 1:
                        notes = (*notes, _about_others(file, [other for other, _ in ordered[1:]], every))
                    found.submissions.append(Submission(name, book, file, when, notes))
            else:
                notes = (instead,) if instead else _misnamed(book, pile, shelf)
                found.submissions.append(Submission(name, book, notes=notes))
    if doubted:
        found.warnings.append(
            f"{TIMESTAMP} was not believed, for students could have written it themselves; the time of the file counts: "
            f"{', '.join(list(doubted)[:8])}{' ...' if len(doubted) > 8 else ''}. If it is true: --trust-timestamps."
        )
    return found


def _top(folder: Path) -> Path:
    try:
        top = folder.expanduser().resolve(strict=True)
        if not top.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        inner = top / "submitted"
        others = [p for p in top.iterdir() if p.is_dir() and not p.name.startswith(".") and p != inner]
        if (
            inner.is_dir()
            and not inner.is_symlink()
            and any((top / n).is_dir() for n in ("source", "release"))
        ):
            return inner  # this is an nbgrader course, with its other folders beside it
        return inner if inner.is_dir() and not inner.is_symlink() and not others else top
    except (OSError, RuntimeError) as error:
        raise CannotGradeError(
            f"The submissions in {folder} cannot be read.",
            f"the system says: {_reason(error)}.",
            "give the folder that holds one folder per student: SUBMISSIONS/<student>/<notebook>.ipynb",
        ) from error


def _homes(folder: Path, shelf: Shelf, found: Found, download: Download) -> dict[str, list[Path]]:
    """{student: their folders}; a loose zip archive or notebook counts as a folder."""
    homes: dict[str, list[Path]] = {}
    there = {_norm(_student(path, download)) for path in folder.iterdir()}
    for path in sorted(folder.iterdir(), key=lambda p: os.fsencode(p.name)):
        if skipped(path.name):
            continue
        name = show(path.name)
        if path.suffix.lower() == ".ipynb" and path.is_file() and not path.is_symlink():
            if shelf.by_name(File(path, name)):
                found.warnings.append(f"{name} was left out: it is in no student's folder.")
                continue
            found.warnings.append(f"{name} is in no student's folder: its name was taken for the student's.")
            homes.setdefault(_norm(_student(path, download)), []).append(path)
        elif path.is_dir() or path.is_symlink() or path.suffix.lower() == ".zip":
            student = _norm(_student(path, download))
            first, number = copied(student)
            if number and first in there and not path.is_dir():
                student = first  # "ada (1).zip" beside "ada.zip"
            homes.setdefault(student, []).append(path)
        elif path.suffix.lower() not in (".csv", ".txt", ".md", ".db"):
            found.warnings.append(f"{name} was left out: it is neither a folder nor a notebook.")
    for name, paths in list(homes.items()):
        spelled = {_student(path, download) for path in paths}
        if len({one for one in spelled if _norm(one) == name}) > 1:  # never mix the work of two students
            del homes[name]
            for one in spelled:
                homes[one] = [path for path in paths if _student(path, download) == one]
            found.warnings.append(
                f"There are {len(spelled)} students called {name}; Unicode spells the name in several ways."
            )
    return homes


def _student(path: Path, download: Download) -> str:
    if path.name in download.names:
        return download.names[path.name]
    return show(path.stem if path.suffix.lower() in (".zip", ".ipynb") and not path.is_dir() else path.name)


def _names(
    homes: dict[str, list[Path]], roster: Roster | None, found: Found, everybody: bool
) -> dict[str, list[Path]]:
    """{student: their folders}; with `everybody`, including students of the roster without one. A folder may have any name that it knows."""
    if roster is None:
        return homes
    on_it = {_norm(name) for name in roster.students}
    names: dict[str, list[Path]] = {name: [] for name in map(_norm, roster.students) if everybody}
    claims: dict[str, list[str]] = {}
    strangers = []
    for name in homes:
        fits = {person.student for person in roster.match(name)}
        if name in on_it or len(fits) != 1:
            claims.setdefault(name, []).append(name)
            if len(fits) > 1:
                found.warnings.append(
                    f"{name} may be {' or '.join(sorted(fits))} of the roster: graded as {name}. Rename the folder."
                )
            elif name not in on_it:
                strangers.append(name)
        else:
            claims.setdefault(_norm(fits.pop()), []).append(name)
    for student, folders in claims.items():
        if len(folders) > 1:
            found.warnings.append(
                f"{', '.join(folders)} are {student} on the roster, and were taken together."
            )
        names.setdefault(student, []).extend(path for name in folders for path in homes[name])
    if strangers and everybody:
        found.warnings.append(f"Not on the roster, and graded all the same: {', '.join(strangers)}.")
    return names


def _pile(
    student: str,
    homes: Sequence[Path],
    folder: Path,
    shelf: Shelf,
    assignment: str,
    found: Found,
    most: int,
    download: Download,
) -> tuple[dict[str, list[tuple[File, tuple[str, ...]]]], str]:
    """({notebook: the student's files for it, with remarks on each}, what there is instead if there are none)."""
    pile: dict[str, list[tuple[File, tuple[str, ...]]]] = {}
    loose, closed, others = [], [], []
    allowance = Allowance()
    files = [file for home in homes for file in _files(home, folder, assignment, allowance, most, download)]
    with Archives() as archives:
        for file in sorted(files, key=lambda one: not shelf.by_name(one)):  # those that count first
            book, notes, notebook = _recognize(file, shelf, most, allowance, archives)
            if book:
                untouched = notebook is not None and shelf.untouched(book, notebook)
                pile.setdefault(book, []).append((replace(file, untouched=untouched), notes))
            elif file.trouble:
                closed.append(f"{file.name} {file.trouble}")
            elif (file.path.suffix.lower() == ".ipynb" or file.member) and not file.of_lessons:
                loose.append(file.name)
            elif not file.member and file.path.suffix.lower() in PACKED:
                closed.append(f"{file.name} is no zip archive, and was not opened")
            elif not file.of_lessons:
                others.append(file.name)
    said = [f"more than {MOST_ENTRIES:,} files; the rest was not searched"] if allowance.cut else []
    if allowance.deep:
        said.append(f"folders more than {DEEPEST} inside each other were not searched")
    said += closed[:3] + ["and others like that"] * (len(closed) > 3)
    if allowance.refused:
        usual = Allowance()
        said.append(
            f"{allowance.refused:,} of {len(files):,} files were not looked at; of one student's at most {usual.files} are, of "
            f"{usual.size / 1e6:g} MB together"
        )
    elif loose:
        said.append(f"belongs to no notebook of the course: {', '.join(loose[:5])}")
    if others and not pile:
        names = ", ".join(others[:3]) + (" ..." if len(others) > 3 else "")
        said.append(f"{names} {'is no notebook' if len(others) == 1 else 'are no notebooks'}")
    whole = f"{'; '.join(said)}." if said else ""
    if whole:
        found.warnings.append(f"{student}: {whole}")
    return pile, "" if pile else whole


def _recognize(
    file: File, shelf: Shelf, most: int, allowance: Allowance, archives: Archives
) -> tuple[str, tuple[str, ...], Notebook | None]:
    """The notebook that a file is for, or "", remarks, and what is in it if that was read."""
    named = shelf.by_name(file)
    if file.trouble:
        return named or shelf.by_number(file), (), None
    ending = Path(file.member or file.path.name).suffix.lower()
    if ending not in (".ipynb", ".json", ".txt", ".zip", "") and not named:
        return "", (), None
    allowance.files -= 1
    try:
        data = b"" if allowance.used_up else load(file, most, archives)
        if allowance.used_up or not allowance.takes(data):
            allowance.refused += 1
            return "", (), None
        notebook = read(data)
        held = shelf.by_content(notebook)
    except UnreadableError:
        fits = (named or shelf.by_number(file)) if ending in (".ipynb", ".zip", ".py", ".html") else named
        return fits, (), None
    if not held and file.of_lessons:
        return "", (), None
    if named and held in ("", named):
        return named, (), notebook
    if held and named:
        return held, (f"{file.name} holds the cells of {held}, and was graded as that.",), notebook
    if held:
        return held, (f"{file.name} was recognized by its cells.",), notebook
    if ending != ".ipynb":
        return "", (), None
    guess = shelf.by_number(file)
    return guess, (f"{file.name} was recognized by the number in its name only.",) if guess else (), notebook


def _files(
    home: Path, folder: Path, assignment: str, allowance: Allowance, most: int, download: Download
) -> Iterator[File]:
    """The contents of a student's folder, sorted; without targets of links outside of it."""
    if home.is_symlink():
        yield File(home, show(home.name), "is a link; links are not followed")
        return
    if home.is_file():
        yield from _unpack(File(home, show(home.name), alone=True), most, allowance)
        return
    left = MOST_ENTRIES

    def walk(place: Path, depth: int) -> Iterator[File]:
        nonlocal left
        try:
            entries = sorted(islice(os.scandir(place), max(left, 0) + 1), key=lambda e: os.fsencode(e.name))
        except OSError as error:
            yield File(place, show(place.relative_to(folder)), f"cannot be opened: {_reason(error)}")
            return
        for entry in entries:
            if skipped(entry.name):
                continue
            left -= 1
            if left <= 0:
                allowance.cut = True
                return
            path = Path(entry.path)
            name = show(path.relative_to(folder))
            name = download.labels.get(name, name)
            if entry.is_symlink():
                target = _inside(path, home)
                if target is not None:
                    yield File(path, name)
                elif path.suffix.lower() == ".ipynb":
                    why = "is a link that leads out of the student's folder, or nowhere; it was not followed"
                    yield File(path, name, why)
            elif entry.is_dir(follow_symlinks=False):
                if path.suffix.lower() == ".ipynb":
                    yield File(path, name, "is a folder, not a file")
                if depth < DEEPEST:
                    yield from walk(path, depth + 1)
                else:
                    allowance.deep = True
            elif entry.is_file(follow_symlinks=False):
                yield from _unpack(File(path, name), most, allowance)
            elif path.suffix.lower() == ".ipynb":
                yield File(path, name, "is neither a file nor a folder")

    start = home / assignment if assignment else home
    if start.is_dir() and not start.is_symlink():
        yield from walk(start, 0)


def _inside(link: Path, home: Path) -> Path | None:
    """The target of a link, if it is a file in the student's own folder."""
    try:
        target = link.resolve(strict=True)
        return target if target.is_file() and target.is_relative_to(home.resolve()) else None
    except (OSError, RuntimeError):
        return None


def _unpack(file: File, most: int, allowance: Allowance) -> Iterator[File]:
    """The notebooks in a zip archive, or the file itself."""
    if file.path.suffix.lower() not in (".zip", ".ipynb") or not _is_zip(file.path):
        yield file
        return
    if allowance.members <= 0:
        allowance.cut = True
        return
    try:
        if file.path.stat().st_size > 10 * most:
            yield File(file.path, file.name, f"is a zip archive of more than {most / 1e5:g} MB")
            return
        with file.path.open("rb") as opened, open_archive(opened) as archive:
            allowance.members -= len(archive.infolist())
            members = [
                info.filename
                for info in archive.infolist()
                if not info.is_dir()
                and info.filename.lower().endswith(".ipynb")
                # tar, which Windows has, puts "./" before a name; nothing is unpacked to where a name says
                and not any(skipped(part) for part in info.filename.split("/") if part not in (".", ".."))
            ]
    except UnreadableError as error:
        yield File(file.path, file.name, str(error))
        return
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError) as error:
        yield File(file.path, file.name, f"is a damaged zip archive: {error}")
        return
    if not members:
        yield File(file.path, file.name, "is a zip archive without a notebook in it")
    for member in sorted(members):
        if len(members) == 1 and file.path.suffix.lower() == ".ipynb":
            yield File(file.path, file.name, member=file.path.name)  # named by the file, not by what is in it
        else:
            yield File(file.path, f"{file.name}/{show(member)}", member=member)


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as opened:
            return opened.read(4) in (b"PK\x03\x04", b"PK\x05\x06")  # the second: an empty one
    except OSError:
        return False


def _misnamed(
    book: str, pile: dict[str, list[tuple[File, tuple[str, ...]]]], shelf: Shelf
) -> tuple[str, ...]:
    """What a student handed in under the name of a different notebook."""
    return tuple(
        f"{file.name} has the name of {book}, but holds the cells of {other}."
        for other, files in sorted(pile.items())
        for file, _ in files
        if shelf.by_name(file) == book
    )


def _ordered(
    book: str, candidates: list[tuple[File, tuple[str, ...]]], download: Download
) -> list[tuple[File, tuple[str, ...]]]:
    """Several files for one notebook: the readable ones first, then those with work in them, then those of the released name or copies
    of it, then the newest.
    """

    def rank(candidate: tuple[File, tuple[str, ...]]) -> tuple[bool, bool, bool, int, int, str]:
        file, _ = candidate
        return (
            not file.trouble,
            not file.untouched,
            _fold(book) in _releasable(file),
            *_age(file, download),
            file.name,
        )

    return sorted(candidates, key=rank, reverse=True)


def _about_others(file: File, others: Sequence[File], every: bool) -> str:
    names = ", ".join(other.name for other in others[:3]) + (" ..." if len(others) > 3 else "")
    if not every:
        return f"{file.name} was graded; for the same notebook there is also {names}."
    left = len(others) + 1 - MOST_ATTEMPTS
    more = f"; the {left} oldest were not graded, because at most {MOST_ATTEMPTS} are" if left > 0 else ""
    newest = "the newest with work in it" if any(other.untouched for other in others) else "the newest"
    return f"{file.name} is {newest}; for the same notebook there is also {names}{more}."


def _age(file: File, download: Download) -> tuple[int, int]:
    """The greater, the newer: the time, or Canvas's number of the file; then the number that a copy has behind its name."""
    number = copied(file.path.stem)[1] + (copied(Path(file.member).stem)[1] if file.member else 0)
    return download.order.get(download.place(file)) or _mtime(file), number


def _own_time(file: File, download: Download) -> datetime | None:
    place = download.place(file)
    own = datetime.fromtimestamp(_mtime(file) // 1_000_000_000, UTC)
    return download.times.get(place, own)


def _mtime(file: File) -> int:
    try:
        return file.path.lstat().st_mtime_ns
    except OSError:
        return 0


def _of_nbgrader(file: File, folder: Path) -> bool:
    """Whether nbgrader collected a file: submitted/<student>/<assignment>/<file>, beside which it writes the timestamp.txt itself."""
    return folder.name == "submitted" and file.path.parent.parent.parent == folder


def _stamp(file: File) -> datetime | None:
    """The time in the timestamp.txt beside a file, if there is one."""
    stamp = file.path.parent / TIMESTAMP
    try:
        if not stamp.is_symlink() and stamp.is_file() and stamp.stat().st_size < 1000:
            return moment(decode(stamp.read_bytes())[0].strip(), UTC)
    except (OSError, ValueError):
        pass  # then the file's own time counts
    return None


def moment(text: str, zone: tzinfo | None = None) -> datetime:
    """A time in UTC: ISO 8601, or nbgrader's "2026-11-20 23:59:00.5 Europe/Paris". Without a zone it is in `zone` (here, if None).

    Raises ValueError if it is not a time.
    """
    text = " ".join(text.split())
    head, _, name = text.rpartition(" ")
    if head and re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/-]*", name):
        try:
            zone = ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is no time zone that this machine knows") from None
        text = head
    found = datetime.fromisoformat(text)
    if re.fullmatch(r"\d{4}-?\d\d-?\d\d", text):
        found += timedelta(days=1)  # a day ends when the next one begins
    if found.tzinfo is None:
        found = found.replace(tzinfo=zone) if zone is not None else found.astimezone()
    return found.astimezone(UTC)


def skipped(name: str) -> bool:
    """Whether a file or folder is not the student's own: hidden, or created by an operating system."""
    return name.startswith(".") or name in SKIPPED


_COPY = re.compile(
    r"(?: ?\((?:new version )?(?P<a>\d{1,3})\)| \(new version\)|-(?P<b>\d{1,3})| ?-? ?(?:copy|kopie|copie|copia)(?:[ _-]?\(?(?P<c>\d{1,3})\)?)?)$",
    re.IGNORECASE,
)
"""What browsers, Canvas, Jupyter, systems and the lab (course/resources.py) put behind the name of a copy: "name (1)", "name-1", "name-Copy1", "name - Copy (2)"."""


def copied(stem: str) -> tuple[str, int]:
    """(the name of which this is the name of a copy, the copy's number); the name itself and 0 if it is none."""
    found = _COPY.search(stem)
    if not found or not found.start():
        return stem, 0
    return stem[: found.start()], int(next(filter(None, found.groups()), 1))


def _releasable(file: File) -> list[str]:
    """The names that a file may have been released under: its own, and without what marks a copy; none has what a student's copy has before it."""
    names = [file.stem]
    for _ in range(3):  # "name-Copy1 (2)"
        names.append(copied(names[-1])[0])
    return list(dict.fromkeys(_fold(name).removeprefix(PREFIX) for name in names))


def _fold(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", _norm(name).casefold())


def _norm(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def show(name: str | Path) -> str:
    """A file's name as text that can be stored, whatever its bytes."""
    return os.fsencode(str(name)).decode("utf-8", "backslashreplace")


def _reason(error: Exception) -> str:
    return ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()


# ----------------------------------------------------------------------
# the class
# ----------------------------------------------------------------------


def read_times(
    path: Path, zone: tzinfo | None = None, roster: Roster | None = None
) -> dict[tuple[str, str], datetime]:
    """{(student, notebook or ""): time} from a CSV file with the columns student, timestamp and perhaps notebook.

    roster  who is who, if the file calls students otherwise than the gradebook does
    Raises CannotGradeError if the file is anything else.
    """
    rows = list(read_table(path, "list of times"))
    header = [heading(cell) for cell in rows[0][1]] if rows else []
    who = next((header.index(name) for kind in WHO for name in COLUMNS[kind] if name in header), None)
    when = next(
        (header.index(name) for name in ("timestamp", "time", "submitted", "handed_in") if name in header),
        None,
    )
    if who is None or when is None:
        raise CannotGradeError(
            f"{path} is no list of times.",
            "its first line must name the columns `student` and `timestamp`.",
            "begin it with: student,notebook,timestamp",
        )
    book = header.index("notebook") if "notebook" in header else None
    times = {}
    for number, row in rows[1:]:
        try:
            name = _norm(row[who].strip())
            fits = roster.match(name) if roster else []
            key = fits[0].student if len(fits) == 1 else name, row[book].strip() if book is not None else ""
            times[key] = moment(row[when], zone)
        except (IndexError, ValueError) as error:
            raise CannotGradeError(
                f"Row {number} of {path} has no time.",
                f"{error}.",
                "write times as 2026-11-20 23:59, or 2026-11-20T23:59+01:00",
            ) from error
    return times


# ----------------------------------------------------------------------
# reading
# ----------------------------------------------------------------------


class Archives(ExitStack):
    """Archives that stay open while their members are read one after the other: opening one reads its whole directory."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[Path, zipfile.ZipFile] = {}

    def archive(self, path: Path) -> zipfile.ZipFile:
        """The archive `path`. Raises what `open_archive` does, and OSError."""
        if path not in self._open:
            self.close()  # members come archive by archive: one is open at a time
            self._open = {path: open_archive(self.enter_context(open_file(path)))}
        return self._open[path]


def open_file(path: Path) -> IO[bytes]:
    """A file opened without following a link that was put there meanwhile, and without blocking on a pipe with a notebook's name.

    Raises OSError, and UnreadableError if it is not a file.
    """
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    opened = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        opened.close()
        raise UnreadableError("is not a file")
    return opened


def load(file: File, most: int = MOST_BYTES, archives: Archives | None = None) -> bytes:
    """The bytes of a file, or of a member of an archive. Raises UnreadableError."""
    if file.trouble:
        raise UnreadableError(f"{file.name} {file.trouble}.")
    too_large = f"{file.name} is larger than {most / 1e6:g} MB, the most that is read."
    try:
        path = file.path.resolve(strict=True) if file.path.is_symlink() else file.path
        if file.member:
            with ExitStack() as own:
                archive = (archives or own.enter_context(Archives())).archive(path)
                every = archive.NameToInfo
                inner = file.member if file.member in every else _only_notebook(list(every))
                data = read_member(archive, inner, most + 1)
        else:
            with open_file(path) as opened:
                data = opened.read(most + 1)
    except UnreadableError as error:
        raise UnreadableError(f"{file.name} {error}.") from error
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise UnreadableError(f"{file.name} is in a zip archive that cannot be opened: {error}.") from error
    except OSError as error:
        raise UnreadableError(f"{file.name} cannot be opened: {_reason(error)}.") from error
    if len(data) > most:
        raise UnreadableError(too_large)
    return data


def _only_notebook(names: list[str]) -> str:
    fits = [n for n in names if n.lower().endswith(".ipynb") and not any(map(skipped, n.split("/")))]
    if not fits:
        raise ValueError("there is no notebook in it")
    return fits[0]


def digest(data: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()
