"""What Canvas and Moodle let an instructor download becomes one folder for each student, as submissions.py reads them.

    doejane_LATE_12345_678901_name-1.ipynb                    Canvas: the sortable name, the user's number, the file's number, the file
    Jane Doe_12345_assignsubmission_file_/name.ipynb          Moodle: the name, the participant's number in this assignment, the files

A zip archive of these, a folder of them, or a folder of such archives. They are copied (by hard links, where the system has them) into
a folder that is removed afterwards; what was downloaded is only read. The names and the contents come from students: they are bounded.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from .archives import MOST_ENTRIES, open_archive
from .model import CannotGradeError
from .people import Person, Roster, bare, name_words, norm
from .reading import UnreadableError
from .submissions import DEEPEST, MOST_BYTES, Download, show, skipped

CANVAS = re.compile(
    r"(?:(?P<also_late>LATE_)?(?P<anon>anon_[A-Za-z0-9]{5})|(?P<name>.*?)_(?P<late>LATE_)?(?P<user>\d+))"
    r"_(?:(?P<file>\d+)_(?P<rest>.+)|(?P<text>text|link)\.html)",
    re.DOTALL,
)
"""The first numbers count, as they do when Canvas takes the files back, unless the roster knows better (see _shifted). Anonymous
submissions have a code in place of name and number; it is tried first, because a file may be called "04_...".
"""
MOODLE = re.compile(
    r"(?P<name>[^_]*)_(?P<user>\d+)_assignsubmission_(?P<plugin>[a-z]+)(?:_(?P<rest>.*))?", re.DOTALL
)
PLACE = ".collected"
"""The folder in RESULTS where a download lies sorted while it is graded."""
MOST_OF_ONE = 60_000_000
"""Bytes that are unpacked of one student's files."""
MOST_FILES = 30_000
"""The most files of a downloaded archive."""
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
"""Characters that a name may not have on one system or another."""
_LONGEST = 180
"""Bytes of a name in the sorted folder: what is added to it must fit into 255."""


@dataclass
class _Piece:
    """A file or folder of a download that belongs to one student."""

    path: Path
    shown: str
    """Its name in the download."""
    system: str
    user: str
    """The number that the system gave to the student; in Moodle one for each assignment."""
    name: str
    rest: str
    """The file's own name; "" for a folder."""
    source: str
    """The archive that it came in."""
    file: int = 0
    late: bool = False


_Key = tuple[str, str, str, str]
"""What tells the students of a download apart: (system, archive if their numbers hold for it alone, number, name)."""


def piece_of(name: str) -> re.Match[str] | None:
    """The parts of a name that Canvas or Moodle gave to a student's file or folder, or None."""
    return MOODLE.fullmatch(name) or CANVAS.fullmatch(name)


@dataclass(frozen=True)
class _Canvas:
    """The parts of a name of Canvas's."""

    user: str
    name: str
    file: str
    rest: str
    late: bool = False
    typed: str = ""
    """Whether it holds a "text" or a "link" in place of a file."""
    doubtful: bool = False
    """Whether the numbers may be other ones: the student's name, or that of the file, may have one, too."""


def _of_canvas(name: str, roster: Roster | None = None) -> _Canvas | None:
    """The parts of a name that Canvas gave to a student's file, or None."""
    fits = CANVAS.fullmatch(name)
    if not fits:
        return None
    text, late = fits["text"] or "", bool(fits["late"] or fits["also_late"])
    rest = fits["rest"] or f"{text}.html"
    user = fits["user"] or fits["anon"]
    first = _Canvas(user, norm(fits["name"] or ""), fits["file"] or "", rest, late, text)
    other = _shifted(first)
    if not other:
        return first
    ours, others = _fit(first, roster), _fit(other, roster)
    return replace(other if others > ours else first, doubtful=ours == others == 0)


def _shifted(found: _Canvas) -> _Canvas | None:
    """The other way to read "student_3_1234_56789_name.ipynb", where the 3 belongs to the name; None if there is none.

    The notebooks of the course are called "04_...", so at least three digits make another number.
    """
    more = re.fullmatch(r"([1-9]\d{2,})_(.+)", found.rest, re.DOTALL)
    if not more or found.late or not found.name:
        return None
    return _Canvas(found.file, f"{found.name}_{found.user}", more[1], more[2])


def _fit(found: _Canvas, roster: Roster | None) -> int:
    """How well the roster knows somebody of this number and name; 0: not at all."""
    if roster is None:
        return 0
    numbered = roster.match(found.user, "canvas")
    named = [person for person in roster.match(found.name) if person.known]
    return 2 * bool(numbered) + bool(named and (not numbered or numbered[0] in named))


@contextmanager
def collected(top: Path, out: Path, roster: Roster | None = None) -> Iterator[Download]:
    """The submissions in `top`, a folder or a zip archive: as they are, or sorted into a folder of `out` while this is open.

    Raises CannotGradeError if it can be read as neither.
    """
    place = out.resolve() / PLACE
    shutil.rmtree(place, ignore_errors=True)  # of a run that was killed
    try:
        yield _collect(top, place, roster or Roster())
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _collect(top: Path, place: Path, roster: Roster) -> Download:
    made = Download(top)
    try:
        if not top.is_dir() and not top.is_file():
            return made  # find says why
        top = _inner(top) if top.is_dir() else _inner(_unpack(top, place, made), packed=True)
        pieces = list(_pieces(top, "", place, made, roster))
        if not pieces:
            made.folder = top
            return made
        made.folder = place / "students"
        _sort(pieces, top, made, roster)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise CannotGradeError(
            f"{top} could not be sorted by students.",
            f"the system says: {error}.",
            "make room in the folder of the results"
            if full
            else "check the folder of the results, or name another: --out RESULTS",
        ) from error
    return made


def _inner(top: Path, packed: bool = False) -> Path:
    """The folder that was packed or unpacked as a whole, if there is nothing else in `top`."""
    inside = _entries(top)
    if len(inside) != 1 or not inside[0].is_dir() or inside[0].is_symlink() or piece_of(inside[0].name):
        return top
    deeper = _entries(inside[0])
    students = (
        packed
        and inside[0].name != "submitted"
        and all(path.is_dir() or path.suffix == ".zip" for path in deeper)
    )
    return inside[0] if students or any(piece_of(path.name) for path in deeper) else top


def _entries(folder: Path) -> list[Path]:
    found = [path for path in folder.iterdir() if piece_of(path.name) or not skipped(path.name)]
    return sorted(found, key=lambda path: os.fsencode(path.name))


def _pieces(top: Path, source: str, place: Path, made: Download, roster: Roster) -> Iterator[_Piece]:
    """What in a folder has a name of Canvas's or Moodle's; if it holds nothing but downloaded archives, what is in these."""
    entries = _entries(top)
    packed = [path for path in entries if path.suffix.lower() == ".zip" and path.is_file()]
    others = [path for path in entries if path.is_dir() or path.suffix.lower() == ".ipynb"]
    # among other things, an archive is a student's, who may have packed what looks like another's
    if packed and not others and not source and all(map(_is_download, packed)):
        for path in packed:
            yield from _pieces(_inner(_unpack(path, place, made)), show(path.name), place, made, roster)
        return
    loose = [*packed, *(path for path in others if path.is_file())]
    of_canvas = [path for path in loose if CANVAS.fullmatch(path.name)]
    # one name that looks so by chance makes no download
    flat = 2 * len(of_canvas) >= len(loose) and (of_canvas or not others)
    for path in entries:
        moodle = MOODLE.fullmatch(path.name)
        canvas = _of_canvas(path.name, roster) if flat and not path.is_dir() else None
        shown = f"{source}/{show(path.name)}" if source else show(path.name)
        if moodle:
            rest = "" if path.is_dir() else moodle["rest"] or path.name
            yield _Piece(path, shown, "moodle", moodle["user"], norm(moodle["name"]), rest, source)
            if moodle["plugin"] == "onlinetext":
                made.notes.append(f"{shown} is a text that was typed into Moodle, not a notebook.")
        elif canvas:
            number = int(canvas.file or 0)
            yield _Piece(
                path, shown, "canvas", canvas.user, canvas.name, canvas.rest, source, number, canvas.late
            )
            if canvas.typed:
                made.notes.append(f"{shown} is a text or a link that was typed into Canvas, not a notebook.")


def _is_download(path: Path) -> bool:
    """Whether the names in an archive are mostly Canvas's or Moodle's."""
    try:
        with path.open("rb") as opened, open_archive(opened, MOST_FILES) as archive:
            names = [name for name in archive.namelist()[:2_000] if not name.endswith("/")]
    except (OSError, UnreadableError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False
    fits = [name for name in names if any(piece_of(part) for part in name.split("/")[:2])]
    return 2 * len(fits) > len(names)


# ----------------------------------------------------------------------
# whose it is
# ----------------------------------------------------------------------


def _sort(pieces: Sequence[_Piece], top: Path, made: Download, roster: Roster) -> None:
    """Put every piece into its student's folder, and everything else beside them."""
    made.folder.mkdir(parents=True)
    students = _students(pieces, roster, made)
    folders: dict[str, str] = {}
    for piece in pieces:
        student = students[_key(piece)]
        if student not in folders:
            folder = _safe(student)
            if folder.casefold() in {name.casefold() for name in made.names}:
                folder += f"-{hashlib.sha256(student.encode()).hexdigest()[:8]}"
            folders[student] = folder
            made.names[folder] = student
        folder = folders[student]
        home = made.folder / folder
        for path, inside in _files(piece.path, piece.rest, made):
            with _lenient(piece.shown, made):
                target = _free(home, inside)
                _link(path, target)
                name = show(target.relative_to(made.folder))
                made.labels[name] = piece.shown if piece.rest else f"{piece.shown}/{show(inside)}"
                made.times[name] = roster.times.get(piece.user) if piece.system == "moodle" else None
                if piece.file:
                    made.order[name] = piece.file
                if piece.late:
                    made.late.add(name)
    taken = {piece.path for piece in pieces}
    sources = {piece.source for piece in pieces}
    for path in _entries(top):
        if path in taken or show(path.name) in sources:
            continue
        if path.is_dir() or path.suffix.lower() in (".zip", ".ipynb"):
            made.notes.append(
                f"{show(path.name)} has no name of Canvas's or Moodle's: it was taken for a student's."
            )
        for each, inside in _files(path, "" if path.is_dir() else path.name, made):
            with _lenient(show(path.name), made):
                _link(each, _free(made.folder / (path.name if path.is_dir() else ""), inside))


def _key(piece: _Piece) -> _Key:
    return piece.system, piece.source if piece.system == "moodle" else "", piece.user, piece.name


def _students(pieces: Sequence[_Piece], roster: Roster, made: Download) -> dict[_Key, str]:
    """Who handed each piece in. Work of two people is never put together: if in doubt, they get names with their numbers."""
    keys = sorted({_key(piece) for piece in pieces})
    names = [key[3] for key in keys]  # where Moodle hides them, all have the same
    found: dict[_Key, str] = {}
    sure: set[tuple[str, str, str]] = set()
    by_name: dict[tuple[str, str, str], list[_Key]] = {}
    strangers: list[_Key] = []
    for key in keys:
        system, source, user, name = key
        known = roster.match(user, system)
        fits = known or called(roster, name)
        found[key] = f"{name}_{user}" if name else user
        if len(fits) == 1:
            found[key] = fits[0].student
            if known:
                sure.add((system, source, found[key]))
                if system == "moodle" and _is_another(known[0], name) and names.count(name) == 1:
                    made.notes.append(
                        f"{name}_{user} has the number of {found[key]} on the roster, but another name: graded as {found[key]}. "
                        "If it is a group's, the number is the group's: take it out of the roster."
                    )
            else:
                by_name.setdefault((system, source, found[key]), []).append(key)
        elif fits:
            made.notes.append(
                f"{found[key]} may be {_list([person.student for person in fits], ' or ')}: graded as {found[key]}. "
                f"Write {user} into the column {system}_id of the roster, in the right row."
            )
        else:
            strangers.append(key)
    for (system, source, student), several in by_name.items():
        if len({key[2] for key in several}) == 1 and (system, source, student) not in sure:
            if system == "canvas":
                roster.match(student)[0].known.setdefault("canvas", several[0][2])
            continue
        for key in several:
            found[key] = f"{key[3]}_{key[2]}"
        made.notes.append(
            f"{_list(sorted({found[key] for key in several}), ' and ')} may be {student} of the roster; graded as they are called here. "
            f"Write the right number into the roster's column {system}_id."
        )
    _call_strangers(strangers, found, made)
    return found


def _call_strangers(keys: Sequence[_Key], found: dict[_Key, str], made: Download) -> None:
    """Moodle's numbers are others in another assignment, so a student is called by the name alone, if nobody else has it."""
    numbers: dict[tuple[str, str], set[str]] = {}
    for system, source, user, name in keys:
        if system == "moodle" and name:
            numbers.setdefault((source, name), set()).add(user)
    doubtful = {name for (_, name), users in numbers.items() if len(users) > 1}
    taken = {found[key] for key in found if key not in keys}
    for key in keys:
        if key[0] == "moodle" and key[3] and key[3] not in doubtful | taken:
            found[key] = key[3]
    if doubtful:
        made.notes.append(
            f"Several are called {_list(sorted(doubtful))}; Moodle's numbers tell them apart, which are others in another "
            "assignment. To keep them apart there: --roster FILE"
        )


def _is_another(person: Person, name: str) -> bool:
    """Whether a name has no word of those that the roster has for this person. Long ones may have been cut."""
    known = [person.known[kind] for kind in ("name", "first", "last") if kind in person.known]
    theirs = {bare(word) for text in known for word in name_words(text)}
    return bool(theirs) and len(os.fsencode(name)) < 60 and theirs.isdisjoint(map(bare, name_words(name)))


def called(roster: Roster, name: str) -> list[Person]:
    """Those who may have this name; Moodle writes a group in front of it."""
    found = roster.match(name) if name else []
    while not found and "-" in name:
        name = name.partition("-")[2]
        found = roster.match(name.strip())
    return found


def _list(names: Sequence[str], last: str = ", ") -> str:
    """Names in a sentence."""
    if len(names) > 8:
        return ", ".join(names[:8]) + " ..."
    return last.join(filter(None, [", ".join(names[:-1]), names[-1]]))


# ----------------------------------------------------------------------
# files
# ----------------------------------------------------------------------


def _files(path: Path, rest: str, made: Download) -> Iterator[tuple[Path, Path]]:
    """Each file of a piece, with its path in the student's folder. Links are kept as links: submissions.py judges them."""
    if rest:
        yield path, Path(_safe(rest))
        return
    stack = [(path, Path(), 0)]
    while stack:
        place, inside, depth = stack.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda e: os.fsencode(e.name))
        except OSError as error:
            made.notes.append(
                f"{show(path.name)} cannot be opened: {(error.strerror or str(error)).lower()}."
            )
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST:
                    stack.append((Path(entry.path), inside / entry.name, depth + 1))
            else:
                yield Path(entry.path), inside / entry.name


def _safe(name: str) -> str:
    """A name that any system takes for one file, with its ending: as it is, if it is one already."""
    stem, dot, ending = name.rpartition(".")
    if not stem or len(os.fsencode(ending)) > 20:
        stem, dot, ending = name, "", ""
    plain = _FORBIDDEN.sub("_", stem).strip(" ")
    plain = re.sub(r"^\.", "_", plain) or "_"
    if re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d|submitted|__macosx|__pycache__|node_modules", plain):
        plain += "_"
    if len(os.fsencode(plain)) > _LONGEST:
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:8]
        plain = os.fsencode(plain)[:_LONGEST].decode("utf-8", "ignore") + "-" + digest
    return f"{plain}{dot}{ending}"


def _free(home: Path, inside: Path) -> Path:
    """A path in a student's folder that nothing has yet; a second file of this name counts as a later copy."""
    target = home / inside
    number = 1
    while os.path.lexists(target):
        mark = str(number) if number < 20 else secrets.token_hex(4)  # or many of one name would take long
        target = home / inside.with_name(f"{inside.stem} ({mark}){inside.suffix}")
        number += 1
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _link(path: Path, target: Path) -> None:
    if path.is_symlink():
        to = path.readlink()
        target.symlink_to(to if not to.is_absolute() and ".." not in to.parts else "/nowhere")
    elif path.is_file():
        try:
            os.link(path, target)
        except OSError:  # another file system, or one without hard links
            shutil.copy2(path, target)


def _unpack(archive_path: Path, place: Path, made: Download) -> Path:
    """The folder in `place` that holds the files of an archive, with their times."""
    place.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=place, prefix="unpacked-"))
    spent: dict[str, int] = {}
    counted: dict[str, int] = {}
    refused: dict[str, int] = {}
    try:
        with archive_path.open("rb") as opened, open_archive(opened, MOST_FILES) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                parts = [
                    part
                    for part in info.filename.replace("\\", "/").split("/")
                    if part not in ("", ".", "..")
                ]
                if not parts or any(skipped(part) and not piece_of(part) for part in parts):
                    continue
                whose = next((part for part in parts if piece_of(part)), parts[0])
                fits = piece_of(whose)
                if fits:
                    whose = fits.groupdict().get("anon") or f"{fits['name']}_{fits['user']}"
                counted[whose] = counted.get(whose, 0) + 1
                left = MOST_OF_ONE - spent.get(whose, 0)
                if counted[whose] > MOST_ENTRIES or left <= 0 or len(parts) > DEEPEST + 3:
                    refused[whose] = refused.get(whose, 0) + 1
                    continue
                with _lenient(show(info.filename), made):
                    target = _free(place, Path(*map(_short, parts)))
                    written = _copy(archive, info, target, min(MOST_BYTES + 1, left))
                    spent[whose] = spent.get(whose, 0) + written
    except (zipfile.BadZipFile, UnreadableError, ValueError, NotImplementedError) as error:
        damaged = "" if isinstance(error, UnreadableError) else "is no zip archive, or a damaged one: "
        raise CannotGradeError(
            f"{archive_path} cannot be unpacked.",
            f"it {damaged}{error}.",
            "download it again; or give the folder with the submissions",
        ) from error
    for whose, number in refused.items():
        made.notes.append(
            f"{number:,} file{'s' if number > 1 else ''} of {show(whose)} {'were' if number > 1 else 'was'} not unpacked; at most {MOST_ENTRIES:,} of one student are, of {MOST_OF_ONE / 1e6:g} MB "
            f"together, {DEEPEST} folders deep."
        )
    return place


@contextmanager
def _lenient(name: str, made: Download) -> Iterator[None]:
    """A file that cannot be put into its place is named, and hinders nobody else; a full disk does."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        made.notes.append(f"{name} was left out: the system says: {(error.strerror or str(error)).lower()}.")


def _short(part: str) -> str:
    """A part of a member's path, as a name on this system; a name of Canvas's or Moodle's stays one, with its numbers."""
    fits = piece_of(part)
    if not fits:
        return _safe(part)
    name, rest = fits["name"] or "", fits["rest"] or ""
    middle = part[len(name) : len(part) - len(rest)]
    short = _FORBIDDEN.sub("-", os.fsencode(name)[:70].decode("utf-8", "ignore"))  # "_" would end the name
    if len(os.fsencode(rest)) > 80:
        stem, dot, ending = rest.rpartition(".")
        cut = os.fsencode(stem if dot else rest)[:80].decode("utf-8", "ignore")
        rest = f"{cut}.{ending[:12]}" if dot else cut
    return f"{short}{middle}{_FORBIDDEN.sub('_', rest)}"


def _copy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, most: int) -> int:
    """Unpack at most `most` bytes of a member; returns how many. A damaged member leaves what could be read of it."""
    written = 0
    with target.open("wb") as file:
        try:
            with archive.open(info) as opened:
                while written < most and (data := opened.read(min(1 << 20, most - written))):
                    written += file.write(data)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
            pass  # the notebook is unreadable then, and the student's row says so
    try:
        when = time.mktime((*info.date_time, 0, 0, -1))
        os.utime(target, (when, when))
    except (ValueError, OverflowError, OSError):
        pass  # 1980-00-00: then it keeps the time of now
    return written


def origin(name: str, roster: Roster | None = None) -> Mapping[str, str]:
    """What Canvas or Moodle called a file, by its name in a download, as the gradebook has it; {} if it came another way.

    "system", "user" and "file" (the numbers), "name"; "doubtful" is not "" if the numbers may be other ones
    """
    for part in name.split("/")[:2]:
        fits = MOODLE.fullmatch(part)
        if fits:
            return {
                "system": "moodle",
                "user": fits["user"],
                "file": "",
                "name": fits["name"],
                "doubtful": "",
            }
        canvas = _of_canvas(part, roster)
        if canvas:
            return {
                "system": "canvas",
                "user": canvas.user,
                "file": canvas.file,
                "name": canvas.name,
                "doubtful": "yes" if canvas.doubtful else "",
            }
    return {}
