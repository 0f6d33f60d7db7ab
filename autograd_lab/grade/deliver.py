"""The command `autograd-lab deliver`: a copy of the exercises for each student of a class, with numbers of their own.

    autograd-lab deliver copies --roster class.csv --variants WORD
        copies/ada/exercise_04_....ipynb      to hand out as it is
        copies/variants.csv                   or the numbers alone: autograd-lab --variant 123456789

A student's number comes from the word and the student's name in the roster (variants.py), so it is the same each time. A file that is there
already, and differs, is left alone.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from autograd_lab.course.resources import course_root, exercise_copy, students_name

from . import tables
from .files import put_bytes
from .model import CannotGradeError
from .people import Roster, read_rosters
from .policy import notebooks_of
from .variants import Variants

LIST = "variants.csv"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 written, 2 not possible."""
    options = _parser().parse_args(argv)
    try:
        return _deliver(options)
    except CannotGradeError as problem:
        print(f"autograd-lab: {problem}", file=sys.stderr)
    except OSError as error:
        print(
            f"autograd-lab: The copies could not all be written.\n  Why:        the system says: {error}.\n"
            "  What to do: free some space or choose another folder; the same command goes on from there",
            file=sys.stderr,
        )
    return 2


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab deliver",
        description="Write a copy of the exercises for each student of a class, with numbers of their own.",
        epilog="Grade them with the same roster and word: autograd-lab grade SUBMISSIONS --roster FILE --variants WORD",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the students' folders go")
    parser.add_argument(
        "--roster", type=Path, action="append", required=True, metavar="FILE",
        help="CSV with all students, as for `autograd-lab grade` (may be repeated)",
    )  # fmt: skip
    parser.add_argument(
        "--variants", required=True, metavar="WORD", help="a word that only you know; with it anyone can derive the numbers"
    )  # fmt: skip
    parser.add_argument("--notebooks", default="", metavar="04,05", help="default: all exercises")
    return parser


def _deliver(options: argparse.Namespace) -> int:
    if not options.variants.strip():
        raise CannotGradeError(
            "There is no word.",
            "the students' numbers are made from it.",
            "think of a long one, and keep it: --variants WORD",
        )
    root = course_root()
    books = {path.stem: path for path in sorted((root / "exercises").glob("*.ipynb"))}
    wanted = notebooks_of(options.notebooks, sorted(books)) or sorted(books)
    roster = read_rosters(options.roster)
    for line in roster.notes:
        print(f"note: {line}", file=sys.stderr)
    of = Variants(options.variants, tuple(roster.students))
    _apart(of)
    written, left = 0, []
    varied: set[str] = set()
    for student in roster.students:
        home = options.folder.expanduser() / folder_of(student)
        for name in wanted:
            data, varies = exercise_copy(books[name], of.seed(student))
            varied |= {name} if varies else set()
            path = home / students_name(books[name].relative_to(root)).name
            if path.exists() and path.read_bytes() != data:
                left.append(path)
                continue
            put_bytes(path, data)
            written += 1
    listed = _listed(roster, of)
    put_bytes(options.folder.expanduser() / LIST, listed)
    (options.folder.expanduser() / LIST).chmod(0o600)
    _say(options.folder, len(roster.students), written, left, len(wanted), sorted(varied))
    return 0


def folder_of(student: str) -> str:
    """The name of a student's folder: the student's own, where a folder can have it."""
    plain = Path(student).name == student and not student.startswith(".") and "\\" not in student
    return student if plain else tables.file_name(student)


def _apart(of: Variants) -> None:
    """Raise CannotGradeError if two students have the same number: about once in 20,000 classes of 300."""
    for student in of.students:
        if (other := of.owners[of.seed(student)]) != student:
            raise CannotGradeError(
                f"{student} and {other} would have the same numbers.",
                "that happens by chance.",
                "take another word: --variants WORD",
            )


def _listed(roster: Roster, of: Variants) -> bytes:
    """The numbers of all students, for a mail merge."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("student", "name", "variant"))
    rows.writerows((one.student, one.name, of.seed(one.student)) for one in roster.people)
    return out.getvalue().encode()


def _say(folder: Path, students: int, written: int, left: list[Path], books: int, varied: list[str]) -> None:
    numbers = ", ".join(name.split("_")[0] for name in varied)
    print(
        f"{students} student{'' if students == 1 else 's'}, {books} exercise{'' if books == 1 else 's'} each: {written} files in {folder}."
    )
    print(f"Numbers differ in {numbers}." if varied else "In none of these do the numbers differ.")
    for path in left[:5]:
        print(f"Left alone, because it is there already and differs: {path}")
    if len(left) > 5:
        print(f"And {len(left) - 5} more. To write a copy anew, delete it.")
    print(
        f"{folder / LIST} has everybody's number. It is yours alone, and so is the word: grading needs it again."
    )
