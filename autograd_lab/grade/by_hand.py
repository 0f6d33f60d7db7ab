"""The command `autograd-lab gradebook RESULTS`: look at the grades of a class, and change them by hand, one by one or from a CSV file."""

from __future__ import annotations

import argparse
import getpass
import math
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from autograd_lab.course.resources import course_root

from . import feedback, policy, rescue, tables
from .files import alone, refused, whole
from .gradebook import NAME, Change, Entry, Gradebook
from .model import RESULT_STATES, CannotGradeError, Result
from .people import Roster


def main(argv: list[str] | None = None) -> int:
    """`autograd-lab gradebook RESULTS [show | override | overrides | comment | policy | ...]`; the exit status."""
    options = _parser().parse_args(argv)
    path = options.results / NAME if options.results.is_dir() else options.results
    try:
        if options.do is _restore:
            return _restore(path, options)
        with Gradebook(path, create=options.do is _import and options.results.is_dir()) as book:
            if options.student:
                options.student = _student(book, options.student)
            return int(options.do(book, options))
    except CannotGradeError as problem:
        print(f"autograd-lab: {problem}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"autograd-lab: {refused(error)}", file=sys.stderr)
        return 2
    except sqlite3.Error as error:  # rows that contradict each other
        print(f"autograd-lab: {rescue.trouble(path, error)}", file=sys.stderr)
        return 2


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab gradebook", description="Look at the grades of a class, and change them by hand."
    )
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="the folder that `autograd-lab grade` wrote"
    )
    parser.set_defaults(do=_show, student="", item="", notebook="", state="", mistake="")
    commands = parser.add_subparsers(metavar="COMMAND")

    show = commands.add_parser(
        "show", help="points by student and notebook, or the items of one student (default)"
    )
    show.add_argument("student", nargs="?", default="")
    show.add_argument("--notebook", default="", metavar="04", help="one notebook, by its number or its name")
    show.add_argument("--item", default="", metavar="04.2", help="one item of all students")
    show.add_argument(
        "--state", default="", metavar="STATE",
        help=f"items in this state ({', '.join(RESULT_STATES)}), overridden ones, or late submissions",
    )  # fmt: skip
    show.add_argument(
        "--mistake",
        default="",
        metavar="TEXT",
        help="items whose known mistake, or what is said of them, has these words",
    )
    show.set_defaults(do=_show)

    override = commands.add_parser("override", help="give an item other points; kept through regrades")
    override.add_argument("student")
    override.add_argument("item", help="such as 04.2")
    override.add_argument("points", type=float)
    withdraw = commands.add_parser("withdraw", help="take an override back")
    withdraw.add_argument("student")
    withdraw.add_argument("item")
    withdraw.set_defaults(points=None)
    comment = commands.add_parser(
        "comment", help="write to a student about an item or a notebook; points stay as they are"
    )
    comment.add_argument("student")
    comment.add_argument("about", metavar="ITEM", help="such as 04.2, or 04 for the notebook")
    comment.add_argument("text", help='what to write; "" takes it back')
    comment.add_argument("--author", default="", help="who writes (default: your login name)")
    comment.set_defaults(do=_comment)
    many = commands.add_parser("overrides", help="overrides and comments from a CSV file")
    many.add_argument(
        "file", type=Path, metavar="FILE",
        help="columns student, item, points (- takes an override back), reason, comment; points or comment may be empty",
    )  # fmt: skip
    many.add_argument("--reason", default="", help="for rows without one")
    many.add_argument(
        "--author", default="", help="who decided, for rows without an author (default: your login name)"
    )
    many.set_defaults(do=_overrides)
    rules = commands.add_parser(
        "policy", help="what lateness costs, extensions, which submission counts: show or change it"
    )
    policy.add_options(
        rules.add_argument_group("changes, kept in the gradebook; what is not given stays as it was")
    )
    rules.set_defaults(do=_policy)
    for command in (many, rules):
        command.add_argument(
            "--dry-run", action="store_true", help="say what would change, and change nothing"
        )
        command.add_argument(
            "--good-rows", action="store_true", help="leave out the rows of FILE that cannot be used"
        )
    forget = commands.add_parser("forget", help="take out a notebook that was graded by mistake")
    forget.add_argument("notebook", metavar="NOTEBOOK", help="its number or its name, such as 05")
    for command, do in ((override, _override), (withdraw, _override), (forget, _forget)):
        command.add_argument("--reason", required=True, help="why; it is kept")
        command.add_argument("--author", default="", help="who decided (default: your login name)")
        command.set_defaults(do=do)

    history = commands.add_parser("history", help="what was graded, regraded and overridden, and when")
    history.add_argument("student", nargs="?", default="")
    history.add_argument("--item", default="")
    history.set_defaults(do=_history)

    export = commands.add_parser(
        "export",
        help="write grades.csv, grades.json, Gradescope's and nbgrader's files again, and what was done by hand",
    )
    export.add_argument("--out", type=Path, help="the folder to write to (default: RESULTS)")
    export.set_defaults(do=_export)
    take = commands.add_parser("import", help="add what was done by hand in another gradebook")
    take.add_argument(
        "file", type=Path, metavar="FILE", help="its by_hand.json, a backup, or even a damaged gradebook.db"
    )
    take.set_defaults(do=_import)
    restore = commands.add_parser(
        "restore", help="bring a damaged gradebook back, with all that was done by hand"
    )
    restore.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        nargs="?",
        help="the backup to take (default: the newest one that is whole)",
    )
    restore.set_defaults(do=_restore)
    return parser


def _show(book: Gradebook, options: argparse.Namespace) -> int:
    entries = [e for e in book.entries() if not options.student or e.student == options.student]
    if not entries:
        raise CannotGradeError(
            f"The gradebook has no student {options.student!r}."
            if options.student
            else "The gradebook is empty.",
            "nothing was graded under this name." if options.student else "nothing was graded yet.",
            "see `autograd-lab gradebook RESULTS show` for all"
            if options.student
            else "run `autograd-lab grade`",
        )
    if options.notebook:
        entries = [e for e in entries if options.notebook in (e.notebook, e.notebook.split("_")[0])]
    if options.state == "late":
        entries = [e for e in entries if e.days_late]
    elif options.state and options.state not in (*RESULT_STATES, "overridden"):
        raise CannotGradeError(
            f"No item is ever {options.state!r}.",
            "that is none of the states.",
            f"choose one of: {', '.join([*RESULT_STATES, 'overridden', 'late'])}",
        )
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    names = policy.names_of(book.setting)
    if options.student or options.item or options.mistake or options.state not in ("", "late"):
        head = ("student", "name", "item", "points", "of", "state", "")
        rows = [
            (
                e.student,
                names.get(e.student, ""),
                r.item,
                f"{e.points(r):g}",
                f"{r.points:g}",
                r.state,
                _about(e, r),
            )
            for e in entries
            for r in e.results
            if options.item in ("", r.item)
            and options.state in ("", "late", r.state, "overridden" if r.item in e.overrides else "")
            and options.mistake.lower() in f"{r.misconception} {r.says}".lower()
        ]
    else:
        head = ("student", "name", "notebook", "points", "of", "status", "")
        rows = [
            (
                e.student,
                names.get(e.student, ""),
                e.notebook,
                f"{e.total:g}",
                f"{e.most:g}",
                e.status,
                _days(e.days_late),
            )
            for e in entries
        ]
    if not rows:
        print("Nothing in the gradebook is like that.")
        return 0
    if not names:  # no roster, or one that calls everybody by name
        head, rows = head[:1] + head[2:], [row[:1] + row[2:] for row in rows]
    _print_table(head, rows)
    for entry in entries if options.student else ():
        for note in [
            *entry.notes,
            *(f"comment on {item or entry.notebook}: {one.text}" for item, one in entry.comments.items()),
        ]:
            print(f"note: {_printable(note)}")
        for other in entry.others:
            print(_printable(f"note: {other.says}"))
    return 0


def _student(book: Gradebook, text: str) -> str:
    """The student whom a name, an id or an address means, if the gradebook or its roster knows it; otherwise the text."""
    fits = policy.people_of(book.setting, [entry.student for entry in book.entries()]).match(text)
    return fits[0].student if len(fits) == 1 else text


def _days(late: int) -> str:
    return f"{late} day{'s' if late > 1 else ''} late" if late else ""


def _about(entry: Entry, result: Result) -> str:
    override = entry.overrides.get(result.item)
    if override:
        return f"by {override.author}: {override.reason} (the grader gave {result.score:g})"
    return " ".join(filter(None, [result.misconception, result.says]))


def _override(book: Gradebook, options: argparse.Namespace) -> int:
    author = options.author or _login()
    entry = book.override(options.student, options.item, options.points, options.reason, author)
    result = next(r for r in entry.results if r.item == options.item)
    print(f"{entry.student}, {options.item}: {entry.points(result):g} of {result.points:g} points")
    tables.write(book, book.path.parent)
    return 0


def _comment(book: Gradebook, options: argparse.Namespace) -> int:
    entry = book.comment(options.student, options.about, options.text, options.author or _login())
    print(
        f"{entry.student}, {options.about}: {'written' if options.text.strip() else 'taken back'}; the points are as they were."
    )
    tables.write(book, book.path.parent)
    return 0


def _overrides(book: Gradebook, options: argparse.Namespace) -> int:
    roster = policy.people_of(book.setting, [entry.student for entry in book.entries()])
    changes, same, bad = read_overrides(options.file, book, roster, options.reason)
    for line in bad:
        print(f"{options.file.name}, {_printable(line)}", file=sys.stderr)
    if bad and not options.good_rows:
        raise policy.refuse(options.file, bad)
    points = {(e.student, r.item): e.points(r) for e in book.entries() for r in e.results}
    for one in changes:
        if one.comment is not None:
            print(
                _printable(
                    f"{one.student}, {one.item or one.notebook}: {one.comment or 'the comment is taken back'}"
                )
            )
        else:
            now = "the grader's points" if one.points is None else f"{one.points:g}"
            print(
                _printable(
                    f"{one.student}, {one.item}: {points[one.student, one.item]:g} -> {now} ({one.reason})"
                )
            )
    if options.dry_run:
        print(f"Nothing was changed: {len(changes)} changes would be made; {same} are made already.")
        return 0
    book.change_all(changes, options.author or _login())
    print(
        f"{len(changes)} changes were made; {same} were made already."
        + (" Run `autograd-lab grade` to renew the pages." if changes else "")
    )
    tables.write(book, book.path.parent)
    return 0


def read_overrides(
    path: Path, book: Gradebook, roster: Roster, reason: str = ""
) -> tuple[list[Change], int, list[str]]:
    """(what a CSV file changes, how many of its rows are so already, what is wrong with which row). Raises CannotGradeError."""
    begin = "student,item,points,reason,comment"
    rows = policy.Rows(
        path, "list of overrides", [("item", "exercise", "question"), ("points", "comment")], begin
    )
    changes: list[Change] = []
    first: dict[tuple[str, str, bool], int] = {}
    entries = {(e.student, e.notebook): e for e in book.entries()}
    same = 0

    def take(number: int, cells: Mapping[str, str]) -> None:
        nonlocal same
        student = policy.student_of(cells[rows.who], roster)
        about = next(filter(None, (cells.get(name, "") for name in ("item", "exercise", "question"))), "")
        points, comment = cells.get("points", ""), cells.get("comment", "")
        if not about:
            raise CannotGradeError("It names no item.", "", "")
        if not points and not comment:
            raise CannotGradeError("It gives neither points nor a comment.", "", "")
        made = []
        if points:
            value = None if points in ("-", "withdraw") else _number(points)
            made.append(book.change(student, about, value, cells.get("reason") or reason))
        if comment:
            made.append(book.change(student, about, None, "", comment))
        for one in made:
            key = (student, about, one.comment is not None)
            if first.setdefault(key, number) != number:
                raise CannotGradeError(f"Row {first[key]} is about {student}, {about} as well.", "", "")
        for one in made:
            entry = entries[student, one.notebook]
            override, written = entry.overrides.get(one.item), entry.comments.get(one.item)
            points_are_so = override and (override.points, override.reason) == (one.points, one.reason)
            comment_is_so = written and written.text == one.comment
            if comment_is_so if one.comment is not None else points_are_so:
                same += 1
            else:
                changes.append(replace(one, author=cells.get("author", "")))

    rows.read(take)
    return changes, same, rows.bad


def _number(text: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise CannotGradeError(f"{text!r} is not a number of points.", "", "")
    return value


def _policy(book: Gradebook, options: argparse.Namespace) -> int:
    books = {path.stem for path in (course_root() / "exercises").glob("[0-9]*.ipynb")}
    books |= {entry.notebook for entry in book.entries()}
    roster = policy.people_of(book.setting, [entry.student for entry in book.entries()])
    before = book.entries()
    try:
        with book.together():
            change_policy(book, options, books, roster)
            after = book.entries()
            lines = policy.Policy.of(book.setting).says()
            if options.dry_run:
                raise _UndoError
    except _UndoError:
        pass
    print("\n".join(map(_printable, lines)))
    now = {(e.student, e.notebook): e.total for e in after}
    for entry in before:
        if now[entry.student, entry.notebook] != entry.total:
            points = f"{entry.total:g} -> {now[entry.student, entry.notebook]:g} points"
            print(_printable(f"{entry.student}, {entry.notebook}: {points}"))
    if options.dry_run:
        print("Nothing was changed: this is what would be.")
    elif after != before:  # tables and pages tell the due date and what is late, too
        tables.write(book, book.path.parent)
        print("Run `autograd-lab grade` to renew the pages.")
    return 0


class _UndoError(Exception):
    """Takes back what a dry run has done."""


def change_policy(book: Gradebook, options: argparse.Namespace, books: Iterable[str], roster: Roster) -> None:
    """Store what the options change of the policy; rows that cannot be used are printed. Raises CannotGradeError."""
    made, bad = policy.settings(options, books, roster, policy.Policy.of(book.setting))
    for line in bad:
        print(f"{options.extensions.name}, {_printable(line)}", file=sys.stderr)
    if bad and not options.good_rows:
        raise policy.refuse(options.extensions, bad)
    if made:
        book.set_policy(made, _login())


def _forget(book: Gradebook, options: argparse.Namespace) -> int:
    gone = book.forget(options.notebook, options.reason, options.author or _login())
    there = sum(entry.status != "missing" for entry in gone)
    print(
        f"{gone[0].notebook}: forgotten for {len(gone)} students, {there} of whom had handed it in. "
        "Run `autograd-lab grade` to renew the pages."
    )
    folder = book.path.parent
    tables.write(book, folder)
    for student in {e.student for e in gone} - {e.student for e in book.entries()}:
        name = tables.file_name(student)
        (folder / "gradescope" / name / "results.json").unlink(missing_ok=True)
        (folder / feedback.FOLDER / f"{name}.html").unlink(missing_ok=True)
    return 0


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def _history(book: Gradebook, options: argparse.Namespace) -> int:
    rows = [
        (row["at"], row["event"], row["student"], row["item"] or row["notebook"], f"{row['before']} -> {row['after']}".strip("-> "),
         " ".join(filter(None, [row["author"] and f"{row['author']}:", row["reason"]])))
        for row in book.history(options.student, options.item)
    ]  # fmt: skip
    _print_table(("when (UTC)", "what", "student", "item", "points", ""), rows)
    return 0


def _export(book: Gradebook, options: argparse.Namespace) -> int:
    folder = options.out or book.path.parent
    written: list[Path | None] = [*tables.write(book, folder), book.save_by_hand(folder)]
    for path in filter(None, written):
        print(path)
    return 0


def _import(book: Gradebook, options: argparse.Namespace) -> int:
    rows = rescue.read(options.file)
    new, odd = book.take_by_hand(rows)
    count = sum(map(len, rows.values()))
    print(f"{options.file}: {count} entries made by hand, {new} of them new.")
    if odd:
        print(f"{odd} of them do not fit this version of autograd_lab, and were left out.")
    tables.write(book, book.path.parent)
    return 0


def _restore(path: Path, options: argparse.Namespace) -> int:
    known = path.parent / rescue.BY_HAND
    if not (path.exists() or known.exists() or rescue.backups(path)):
        raise CannotGradeError(
            f"There is no gradebook {path}.",
            "neither it nor anything that could bring it back is there.",
            "give the folder that `autograd-lab grade ... --out RESULTS` wrote",
        )
    with alone(path.parent):
        if options.file is None and _is_whole(path):
            raise CannotGradeError(
                f"The gradebook {path} is whole.",
                "there is nothing to bring back.",
                "name a backup to go back to it",
            )
        if options.file is not None and not rescue.is_whole(options.file):
            raise CannotGradeError(
                f"{options.file} cannot take the place of the gradebook.",
                "it is no gradebook, or a damaged one.",
                "name another backup, or none to take the newest one that is whole",
            )
        source = options.file or rescue.whole_backup(path)
        made_by_hand = []
        for one in (known, path):
            try:
                made_by_hand.append((rescue.read(one), one == known))
            except CannotGradeError:  # nothing in it can be read
                if one == known:
                    rescue.put_aside(known)
        if source is not None:
            with whole(path) as temporary:
                shutil.copyfile(source, temporary)
                aside = rescue.put_aside(path)
        else:
            aside = rescue.put_aside(path)
        with Gradebook(path, create=True) as book:
            new = book.taken + sum(book.take_by_hand(rows, newer)[0] for rows, newer in made_by_hand)
            book.settle()
            graded = len(book.entries())
            tables.write(book, path.parent)
    if aside:
        print(f"The gradebook as it was is {aside.name}.")
    print(
        f"{source} is the gradebook now."
        if source
        else "There is no backup that is whole: the gradebook is a new one."
    )
    print(
        f"It has {graded} submissions; {new} entries made by hand were added. Run `autograd-lab grade` to grade what is missing."
    )
    return 0


def _is_whole(path: Path) -> bool:
    try:
        with Gradebook(path) as book:
            book.entries()
            book.check()
    except CannotGradeError:
        return False
    return True


def _print_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    shown = [head, *(tuple(_printable(cell) for cell in row) for row in rows)]
    widths = [max(len(row[i]) for row in shown) for i in range(len(head) - 1)]
    for row in shown:
        print(
            "  ".join(
                [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]
            ).rstrip()
        )


def _printable(text: str) -> str:
    """Text that is safe to print: students choose their names, which may contain line ends and escape sequences."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


if __name__ == "__main__":
    sys.exit(main())
