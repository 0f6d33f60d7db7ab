"""The command `autograd-lab grade SUBMISSIONS --out RESULTS`: grades a folder into a gradebook, and resumes where it was stopped.

    find -> plan -> run -> score -> record -> tables

The plan compares every submission with the gradebook. Each result there names its basis: a digest of the file handed in, the
released notebook and the item's key. If all agree there is nothing to do; if only the comparison has changed (an expected value, points),
the stored answers are scored again; otherwise the notebook runs.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from . import by_hand, feedback, merge, policy, report, rescue, tables, variants
from .beside import beside
from .collect import collected, origin
from .course import Course, choose_notebooks, digest_of, load_course
from .files import alone, meanwhile, refused
from .gradebook import NAME, Gradebook, Known
from .model import NETWORKS, CannotGradeError, Job, Limits, Result, Run, Runner
from .people import Roster, read_rosters
from .reading import UnreadableError, read
from .rescue import BY_HAND, trouble
from .scoring import bounded, score
from .submissions import MOST_BYTES, File, Found, Submission, digest, find, load, read_times

if TYPE_CHECKING:
    from .engine import Engine

_LONG = re.compile(
    rb"while +(?:True|1)\b|itertools\.(?:count|cycle|repeat)\b|iter\(int\b|2 ?\*\* ?\d|10 ?\*\* ?\d|setrecursionlimit"
)
"""Endless loops and huge numbers: code that runs into a limit often has one of them."""
OF_THE_MACHINE = {"timeout", "memory", "died"}
"""States that other limits, or a less busy machine, may change."""


WAITING = 5.0
"""Seconds without a result after which the progress line says whose submission it is waiting for."""


@dataclass(frozen=True)
class Task:
    """A submission with work to do."""

    submission: Submission
    digest: str = ""
    trouble: str = ""
    """Why it cannot be read."""
    rescore: bool = False
    """Whether its stored answers are enough."""
    kept: bool = False
    """Whether they are all there is: its file is in the folder no more."""
    beside: str = ""
    """The digest of the files handed in beside it, if there are any."""
    long: bool = False
    """Whether it may run into its limits, as far as its text tells."""
    late: bool = False
    """Whether it makes its worker load more, after which every other costs more."""

    @property
    def handed_in(self) -> tuple[str, ...]:
        """The digests of everything handed in."""
        return (self.digest, self.beside) if self.beside else (self.digest,)


@dataclass
class Plan:
    """What a run has to do, and what it can skip."""

    tasks: list[Task] = field(default_factory=list)
    same: int = 0
    """Graded before, from the same file with the same key."""
    moved: list[tuple[Submission, str]] = field(default_factory=list)
    """Those of them that have moved, or have a different time of submission."""
    gone: list[Submission] = field(default_factory=list)
    """Graded before, and no longer in the folder."""
    dropped: list[Submission] = field(default_factory=list)
    """Those of them that count as missing now, because all is graded again."""
    digests: dict[tuple[str, str], str] = field(default_factory=dict)
    """{(student, notebook): that of the file}, but for those that are gone."""


@dataclass
class Summary:
    """What a run did."""

    run: int = 0
    rescored: int = 0
    without: int = 0
    """Missing or unreadable submissions: they get their rows without being run."""
    same: int = 0
    stopped: bool = False
    left: int = 0
    """Submissions still to be graded."""

    def __add__(self, other: Summary) -> Summary:
        """Both together."""
        return Summary(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Summary)))


# ----------------------------------------------------------------------
# planning
# ----------------------------------------------------------------------


def plan(
    found: Found,
    known: Mapping[tuple[str, str], Known],
    course: Course,
    *,
    limits: Limits = Limits(),  # noqa: B008 (frozen)
    again: bool = False,
    only: str = "",
    retry: bool = False,
    most_bytes: int = MOST_BYTES,
    attempts: Mapping[tuple[str, str, str], Known] | None = None,
) -> Plan:
    """What these submissions need.

    attempts  what is known of submissions that do not count, by their digests
    again   grade all of them, whatever is known
    only    one item: it is scored again in any case, and nothing else is
    retry   grade again those that ran into a limit
    """
    made = Plan()
    for one in found.submissions:
        if only and only not in course.released[one.notebook].items:
            continue
        before = known.get((one.student, one.notebook))
        task = _look(one, most_bytes)
        if not one.file and before and before.status == "graded":
            (made.dropped if again else made.gone).append(one)
            if not again:
                continue
        made.digests[one.student, one.notebook] = task.digest
        if before and before.digest != task.digest:
            before = (attempts or {}).get((one.student, one.notebook, task.digest), before)
        want = basis(course, one.notebook, task, only)
        if before and not again and not (retry and before.states & OF_THE_MACHINE):
            have = {item: before.results.get(item, "") for item in want}
            extra = set() if only else set(before.results) - set(want)
            if have == want and not extra and not only:
                made.same += 1
                when = None if one.handed_in is None else int(one.handed_in.timestamp())
                notes = _notes(course, task, before, most_bytes)
                now = one.file.name if one.file else "", when, notes
                if (before.file, before.handed_in, before.notes) != now:
                    made.moved.append((replace(one, notes=notes), task.digest))
                continue
            task = replace(task, rescore=before.asked == _asked(course, task))
        made.tasks.append(task)
    return made


def distinct(piles: Sequence[Sequence[Submission]], most_bytes: int = MOST_BYTES) -> list[list[Submission]]:
    """The piles, each with everybody's next file for each notebook, but of files with the same contents the first that was handed
    in, once: where the best counts, handing the same in again later costs nothing.
    """
    several = {(one.student, one.notebook) for pile in piles[1:] for one in pile}
    made: list[list[Submission]] = []
    seen: dict[tuple[str, str, str], tuple[list[Submission], int]] = {}
    for pile in piles:  # the newest come first
        made.append([])
        for one in pile:
            same = _look(one, most_bytes).digest if (one.student, one.notebook) in several else ""
            before = seen.setdefault((one.student, one.notebook, same), (made[-1], len(made[-1])))
            if same and before != (made[-1], len(made[-1])):
                kept, place = before
                kept[place] = replace(kept[place], file=one.file, handed_in=one.handed_in)
            else:
                made[-1].append(one)
    return made


def plan_kept(
    there: Iterable[Submission], known: Mapping[tuple[str, str], Known], attempts: Mapping[tuple[str, str, str], Known],
    course: Course, most_bytes: int = MOST_BYTES,
) -> Plan:  # fmt: skip
    """What earlier submissions need whose files are in the folder no more, where the best counts: after a change of the key they are
    scored again from their stored answers, if the notebook ran without files beside it.
    """
    made = Plan()
    present: dict[tuple[str, str], set[str]] = {}
    for one in there:
        digests = present.setdefault((one.student, one.notebook), set())
        if one.file:
            digests.add(_look(one, most_bytes).digest)
    every = [(*who, was) for who, was in known.items()]
    every += [(student, notebook, was) for (student, notebook, _), was in attempts.items()]
    for student, notebook, was in every:
        digests = present.get((student, notebook), set())
        if was.status != "graded" or not digests or was.digest in digests:
            continue
        when = None if was.handed_in is None else datetime.fromtimestamp(was.handed_in, UTC)
        gone = Submission(student, notebook, File(Path(was.file), was.file), when, was.notes)
        task = Task(gone, was.digest, rescore=True, kept=True)
        if was.results != basis(course, notebook, task) and was.asked == _asked(course, task):
            made.tasks.append(task)
    return made


def _notes(course: Course, task: Task, before: Known, most_bytes: int) -> tuple[str, ...]:
    """The notes of a submission that is graded already: where it lies now, and what had to be repaired in it then."""
    one = task.submission
    if task.trouble:
        return (*one.notes, task.trouble)
    if one.file is None or not (before.notes or one.notes):
        return one.notes
    marked = [note for note in before.notes if note.startswith(variants.MARK)]
    try:
        return (*_job(course, task, most_bytes).notes, *marked)
    except UnreadableError:  # it was readable a moment ago
        return before.notes


def _look(one: Submission, most_bytes: int) -> Task:
    if one.file is None:
        return Task(one)
    try:
        data = load(one.file, most_bytes)
    except UnreadableError as error:
        return Task(one, trouble=str(error))
    try:
        read(data)
    except UnreadableError as error:
        return Task(one, digest(data), f"{one.file.name}: {error}")
    return Task(
        one, digest(data), beside=_digest_beside(beside(one.file)[0]),
        long=bool(_LONG.search(data)), late=bool(re.search(NETWORKS.encode(), data)),
    )  # fmt: skip


def _digest_beside(files: Mapping[str, bytes]) -> str:
    return digest_of({name: digest(data) for name, data in files.items()}) if files else ""


def basis(course: Course, notebook: str, task: Task, only: str = "") -> dict[str, str]:
    """{item: digest of everything its result depends on}."""
    one = task.submission
    absent = one.file is None and (" ".join(one.notes) or True)  # what there is instead may change
    about = (*task.handed_in, task.trouble, absent, course.asks[notebook])
    return {
        item.id: _basis(*about, course.key_of(item, task.submission.student))
        for item in course.items[notebook]
        if only in ("", item.id)
    }


def _asked(course: Course, task: Task) -> str:
    """The digest of everything a run depends on."""
    return digest_of([*task.handed_in, course.asks[task.submission.notebook]])


@lru_cache(
    1 << 14
)  # both the plan and the record need it, and it is the same for everyone who handed in nothing
def _basis(*about: str | bool) -> str:
    return digest_of(about)


# ----------------------------------------------------------------------
# running
# ----------------------------------------------------------------------


def grade(
    made: Plan,
    book: Gradebook,
    course: Course,
    make_runner: Callable[[], AbstractContextManager[Runner]],
    *,
    only: str = "",
    most_bytes: int = MOST_BYTES,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
    started: Callable[[Runner], None] = lambda _: None,
) -> Summary:
    """Carry out a plan. What was recorded is kept whatever happens next; `stop` lets what is running finish.

    make_runner is called only if anything has to run.
    """
    progress = progress or Progress(0, quiet=True)
    stop = stop or threading.Event()
    done = Summary(same=made.same)
    for one, whole in made.moved:
        name = one.file.name if one.file else ""
        book.touch(one.student, one.notebook, name, one.handed_in, one.notes, whole)
    waiting: list[Task] = []
    lacking = [task for task in made.tasks if task.submission.file is None or task.trouble]
    if not stop.is_set():
        with book.together():  # one transaction each would take longer than everything else they need
            for task in lacking:
                _record_without(book, course, task, only)
        done.without += len(lacking)
    for task in made.tasks:
        if stop.is_set():
            break
        if task.submission.file is None or task.trouble:
            continue
        if not (task.rescore and _rescore(book, course, task, only, most_bytes)):
            if not task.kept:
                waiting.append(task)
            continue
        done.rescored += 1
        progress.step(task.submission.student)
    if waiting and not stop.is_set():
        # long ones first, or everyone waits for them at the end
        waiting.sort(key=lambda task: (not task.long, task.late))
        by_job: dict[tuple[str, str], Task] = {}
        changed: list[Task] = []

        def jobs() -> Iterator[Job]:
            for task in waiting:
                if stop.is_set():
                    return
                try:
                    job = _job(course, task, most_bytes)
                except UnreadableError as error:  # it was readable a moment ago
                    changed.append(replace(task, trouble=str(error)))
                    continue
                by_job[job.student, job.notebook] = task
                yield job

        progress.begin("starting")
        with make_runner() as runner:
            progress.close()
            started(runner)
            progress.begin("")
            progress.running = lambda: [student for student, _ in list(by_job)]
            for job, run in runner.run(jobs()):
                task = by_job.pop((job.student, job.notebook))
                _record(book, course, task, job, run, only)
                done.run += 1
                progress.step(task.submission.student)
        for task in changed:
            _record_without(book, course, task, only)
            done.without += 1
    done.left = len(made.tasks) - done.run - done.rescored - done.without
    done.stopped = stop.is_set() and done.left > 0
    return done


def _job(course: Course, task: Task, most_bytes: int) -> Job:
    one = task.submission
    assert one.file is not None
    data = load(one.file, most_bytes)
    files, left_out = beside(one.file)
    if digest(data) != task.digest or _digest_beside(files) != task.beside:
        raise UnreadableError(f"{one.file.name} changed while it was graded.")
    notes = [*one.notes, left_out] if left_out else one.notes
    job = merge.merge(
        course.released[one.notebook], read(data), student=one.student, digest=task.digest, notes=notes
    )
    return replace(job, files={name: base64.b64encode(data).decode("ascii") for name, data in files.items()})


def _record(book: Gradebook, course: Course, task: Task, job: Job, run: Run, only: str) -> None:
    one = task.submission
    items = course.items_of(one.student, one.notebook)
    run = bounded(run, items)
    odd = variants.note(job, course.variants) if course.varies(one.notebook) else ""
    book.record(
        one.student,
        one.notebook,
        score(job, run, {one.notebook: items}),
        basis(course, one.notebook, task),
        file=one.file.name if one.file else "",
        digest=task.digest,
        handed_in=one.handed_in,
        notes=[*job.notes, *([odd] if odd else [])],
        asked=_asked(course, task),
        job=replace(job, files={}),
        run=run,
        only=only,
    )


def _rescore(book: Gradebook, course: Course, task: Task, only: str, most_bytes: int) -> bool:
    stored = book.stored_run(task.submission.student, task.submission.notebook, task.digest)
    if stored is None:
        return False
    job, run = stored
    if not task.kept and (job.notes or task.submission.notes):  # the file may lie elsewhere now
        with suppress(UnreadableError):
            job = replace(job, notes=_job(course, task, most_bytes).notes)
    _record(book, course, task, job, run, only)
    return True


def _record_without(book: Gradebook, course: Course, task: Task, only: str) -> None:
    one = task.submission
    status = "unreadable" if one.file else "missing"
    absent = (
        f"This notebook was not handed in: {' '.join(one.notes)}" if one.notes else "Nothing was handed in."
    )
    says = task.trouble or absent
    book.record(
        one.student,
        one.notebook,
        [
            Result(one.student, one.notebook, item.id, 0.0, item.points, status, says)
            for item in course.items[one.notebook]
        ],
        basis(course, one.notebook, task),
        status=status,
        file=one.file.name if one.file else "",
        digest=task.digest,
        handed_in=one.handed_in,
        notes=[*one.notes, *([task.trouble] if task.trouble else [])],
        only=only,
    )


# ----------------------------------------------------------------------
# saying how far it is
# ----------------------------------------------------------------------


class Progress:
    """One line that shows the progress and the time left; silent if the output is not a terminal.

    A thread rewrites it each second, so that the clock keeps running while one submission takes long; then the line says which. The time
    left is estimated from the results so far, and counted down from the last of them: waiting for one submission tells nothing about the
    others. While it waits for one, the estimate includes that submission's limit and says "up to".
    """

    def __init__(
        self,
        total: int,
        *,
        quiet: bool = False,
        limit: float = 0.0,
        what: str = "",
        out: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.done = total, 0
        self._what = f" {what}" if what else ""  # is counted
        self._limit = limit  # seconds that a submission may take; 0: no limit
        self._out = out or sys.stderr
        self._clock = clock
        self._start = self._shown = self._last = clock()
        self._before = 0
        self._quiet = quiet or not self._out.isatty()
        self._wide = 0
        self._about = ""
        self._lock = threading.RLock()  # a signal may close the line during a step
        self._over: threading.Event | None = None
        self.running: Callable[[], Iterable[str]] = tuple
        """Whose submissions are running, longest first."""

    def step(self, about: str = "") -> None:
        """Count one more as done."""
        self.done += 1
        now = self._last = self._clock()
        if self._quiet or (now - self._shown < 0.1 and self.done < self.total):
            return
        self._shown, self._about = now, about
        self._write(self.line(about))

    def begin(self, about: str) -> None:
        """The slow part begins here: estimate the time left from now on."""
        self._start, self._before, self._about = self._clock(), self.done, about
        self._last = self._start
        if not self._quiet:
            self._write(self.line(about))

    def tick(self) -> None:
        """Update the line: time has passed and nothing else has happened."""
        waiting, longest = self._clock() - self._last, next(iter(self.running()), "")
        if longest and waiting >= WAITING:
            self._write(self.line(f"waiting for {longest}, {clock_time(waiting)}", waiting, self._limit))
        else:
            self._write(self.line(self._about, waiting))

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(1.0):
            with self._lock:
                if not over.is_set():
                    self.tick()

    def line(self, about: str, waiting: float = 0.0, limit: float = 0.0) -> str:
        """The line: a bar, counts, and the time left when no result has come for `waiting` seconds.

        What is running was started no later than the last result, so it ends within `limit`, if that is given.
        """
        full = self.done / max(1, self.total)
        bar = ("#" * round(20 * full)).ljust(20, ".")
        since, to_come = self.done - self._before, self.total - self.done
        each = (self._last - self._start) / max(1, since)
        left = ""
        if limit and (since or to_come == 1):
            left = f", up to {clock_time(max(0.0, limit - waiting) + each * (to_come - 1))} left"
        elif since:
            left = f", {clock_time(max(0.0, each * to_come - waiting))} left"
        return f"[{bar}] {self.done} of {self.total}{self._what}{left}  {_printable(about)}".rstrip()

    def close(self) -> None:
        """Remove the line."""
        with self._lock:
            if self._over:
                self._over.set()
                self._over = None
            if not self._quiet and self._wide:
                self._put("")
                self._out.write("\r")
                self._out.flush()
                self._wide = 0

    def _write(self, text: str) -> None:
        with self._lock:
            self._put(text)
            if self._over is None:
                self._over = threading.Event()
                threading.Thread(target=self._watch, args=[self._over], daemon=True).start()

    def _put(self, text: str) -> None:
        width = max(20, shutil.get_terminal_size().columns - 1)
        text = text[:width]
        self._out.write("\r" + text.ljust(self._wide))
        self._out.flush()
        self._wide = len(text)


def clock_time(seconds: float) -> str:
    """Minutes and seconds, "0:07"; with hours, "1:02:03"."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


# ----------------------------------------------------------------------
# the command
# ----------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """`autograd-lab grade SUBMISSIONS --out RESULTS`; the exit status: 0 done, 2 not possible, 130 interrupted."""
    options = _parser().parse_args(argv)
    try:
        with ending_as_by_hand():
            return _main(options)
    except CannotGradeError as problem:
        print(f"autograd-lab: {problem}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"autograd-lab: {refused(error)}", file=sys.stderr)
        return 2
    except sqlite3.Error as error:  # rows that contradict each other
        print(f"autograd-lab: {trouble(options.out / NAME, error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            f"\nStopped. What was graded is in {options.out / NAME}; run the same command to go on.",
            file=sys.stderr,
        )
        return 130


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab grade",
        description="Grade the notebooks of a class: SUBMISSIONS/<student>/<notebook>.ipynb, or nbgrader's submitted/ folder.",
        epilog="Stopped at any moment, the same command goes on where it was. SUBMISSIONS is never written to.",
    )
    parser.add_argument(
        "submissions",
        type=Path,
        metavar="SUBMISSIONS",
        help="the folder with one folder per student, or what Canvas or Moodle let you download, packed or unpacked",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="RESULTS", help="where the gradebook and the tables go"
    )

    what = parser.add_argument_group("what is graded")
    what.add_argument("--notebooks", default="", metavar="04,05", help="default: those that anyone handed in")
    what.add_argument(
        "--roster",
        type=Path,
        action="append",
        metavar="FILE",
        help="CSV with all students and what Canvas and Moodle call them, so that missing ones get rows (may be repeated)",
    )
    what.add_argument(
        "--student", action="append", metavar="NAME", help="only this student (may be repeated)"
    )
    what.add_argument(
        "--variants", metavar="WORD",
        help='the word with which `autograd-lab deliver` wrote the copies; kept in the gradebook, and "" forgets it',
    )  # fmt: skip
    what.add_argument(
        "--assignment", default="", metavar="NAME", help="only this subfolder of each student's folder"
    )
    what.add_argument(
        "--exercises",
        type=Path,
        metavar="FOLDER",
        help="the notebooks as released (default: this checkout's)",
    )
    what.add_argument(
        "--keys", type=Path, metavar="FOLDER", help="their keys (default: this checkout's solutions/keys)"
    )

    late = parser.add_argument_group(
        "late submissions, extensions, several submissions",
        "kept in the gradebook; what is not given stays as it was",
    )
    policy.add_options(late)
    late.add_argument(
        "--good-rows", action="store_true", help="of the extensions, leave out the rows that cannot be used"
    )
    late.add_argument(
        "--timestamps",
        type=Path,
        metavar="FILE",
        help="CSV: student, notebook (optional), timestamp; default: nbgrader's timestamp.txt, or the file's time",
    )
    late.add_argument(
        "--trust-timestamps",
        action="store_true",
        help="believe a timestamp.txt beside a notebook, which its student may have written",
    )

    again = parser.add_argument_group("grading again")
    again.add_argument(
        "--regrade", action="store_true", help="run everything that is chosen again, whatever is known"
    )
    again.add_argument(
        "--item", default="", metavar="04.2", help="score this item again for all, and nothing else"
    )
    again.add_argument("--retry", action="store_true", help="run again what ran into a limit")

    how = parser.add_argument_group("how it runs")
    how.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count() or 2,
        metavar="N",
        help="submissions at a time (default: %(default)s)",
    )
    how.add_argument(
        "--cluster", default="", metavar="tcp://HOST:PORT",
        help='run submissions on the workers of this Dask cluster (pip install "autograd_lab[cluster]")',
    )  # fmt: skip
    how.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help=f"of each submission: {', '.join(f.name for f in fields(Limits))}",
    )
    how.add_argument(
        "--max-size",
        type=float,
        default=MOST_BYTES / 1e6,
        metavar="MB",
        help="the largest file that is read (default: %(default)g)",
    )
    how.add_argument(
        "--require-sandbox", action=argparse.BooleanOptionalAction, default=sys.platform == "linux",
        help="refuse to run where submissions cannot be isolated (default on Linux)",
    )  # fmt: skip
    how.add_argument(
        "--feedback", action=argparse.BooleanOptionalAction, default=True,
        help="a page for each student, in RESULTS/feedback",
    )  # fmt: skip
    how.add_argument("--quiet", action="store_true", help="no progress, only the outcome")
    how.add_argument("--dry-run", action="store_true", help="say whose files would be graded, and do nothing")
    return parser


def _main(options: argparse.Namespace) -> int:
    out, top = _folders(options)
    limits = _limits(options.limit)
    most_bytes = int(options.max_size * 1e6)
    if options.workers < 1 or most_bytes < 1:
        raise CannotGradeError(
            "The numbers given make no sense.", "--workers and --max-size must be above 0.", "leave them out"
        )
    course = load_course(options.exercises, options.keys)
    wanted = choose_notebooks(course, options.notebooks) if options.notebooks else None
    if options.item:
        owners = [name for name, book in course.released.items() if options.item in book.items]
        if not owners:
            raise CannotGradeError(
                f"There is no item {options.item!r}.",
                "no released notebook asks for it.",
                "ids look like 04.2",
            )
        wanted = owners
    roster = read_rosters(options.roster) if options.roster else None
    known = _known(out)
    # without a roster, students are called as they were with it
    people = policy.people_of(known.get, ()) if not roster and known.get("people") else None
    times = read_times(options.timestamps, roster=roster or people) if options.timestamps else None
    private = [path for path in (out, top, options.keys, options.exercises) if path is not None]
    with (
        alone(out),
        _launched(options, course, limits, out, private) as engine,
        collected(top, out, roster or people) as download,
    ):
        found = find(
            download.folder,
            merge.shelf(course.released.values()),
            roster=roster,
            wanted=wanted,
            students=options.student,
            assignment=options.assignment,
            times=times,
            trust_timestamps=options.trust_timestamps,
            most_bytes=most_bytes,
            download=download,
            every=(options.count or known.get("counts")) == "best",
            people=people,
        )
        if options.dry_run:
            return _say_found(found)
        return _grade(options, course, found, out, limits, roster, private, engine)


def _known(out: Path) -> dict[str, Any]:
    """The settings of the gradebook; if it was lost, those that the next one takes from what was done by hand."""
    if (out / NAME).is_file():
        with Gradebook(out / NAME, create=True) as book:  # a full disk may have left an empty file
            return {name: book.setting(name) for name in ("people", "counts")}
    if not (out / BY_HAND).is_file():
        return {}
    rows = rescue.read(out / BY_HAND).get("settings", [])
    try:
        return {row["name"]: json.loads(row["value"]) for row in rows}
    except (LookupError, ValueError, TypeError):
        return {}  # the gradebook that takes them says so


def _grade(
    options: argparse.Namespace, course: Course, found: Found, out: Path, limits: Limits, roster: Roster | None,
    private: Sequence[Path], engine: Engine | None,
) -> int:  # fmt: skip
    most_bytes = int(options.max_size * 1e6)
    with Gradebook(out / NAME, create=True) as book:
        if roster:
            people = {person.student: {"name": person.name, **person.known} for person in roster.people}
            book.set("people", {**book.setting("people", {}), **people})
        handles = book.setting("handles", {})
        for one in found.submissions:
            if one.file and origin(one.file.name):
                handles.setdefault(one.student, {})[one.notebook] = one.file.name
        book.set("handles", handles)
        students = [*(one.student for one in found.submissions), *(entry.student for entry in book.entries())]
        by_hand.change_policy(book, options, course.released, policy.people_of(book.setting, students))
        if options.variants is not None:
            book.set("variants", options.variants)
        course = dealt(course, book, students)
        _say_times(found, book)
        best = book.setting("counts") == "best"
        piles = [found.submissions, *found.attempts]
        piles = distinct(piles, most_bytes) if best else piles[:1]
        known, attempts = book.known(), book.known_attempts() if best else {}
        made, *later = [
            plan(
                each, known, course, limits=limits, again=options.regrade, only=options.item, retry=options.retry,
                most_bytes=most_bytes, attempts=attempts,
            )
            for each in map(Found, piles)
        ]  # fmt: skip
        if best and not options.item:
            there = [one for pile in piles for one in pile]
            later.append(plan_kept(there, known, attempts, course, most_bytes))
        say = _quiet if options.quiet else print
        if book.taken:
            say(
                f"What was done by hand in an earlier gradebook is in the new one: {book.taken} entries of {BY_HAND}."
            )
        _say_plan(say, made, found, course)
        to_do = [
            task
            for each in (made, *later)
            for task in each.tasks
            if task.submission.file and not task.trouble
        ]
        if any(each.tasks for each in (made, *later)):
            book.back_up()
        progress = Progress(len(to_do), quiet=options.quiet, limit=limits.job_wall)
        stop = threading.Event()

        launched = [engine] if engine else []

        def make_runner(of: Course = course) -> AbstractContextManager[Runner]:
            ready = launched.pop() if launched and of.items is course.items else None
            workers = min(options.workers, max(1, len(made.tasks)))
            return _engine(of, limits, workers, options.require_sandbox, private, options.cluster, ready)

        start = time.monotonic()
        with ExitStack() as last:
            with _stopping(stop, progress):
                try:
                    done = Summary()
                    for each in (made, *later):  # a student's second file after the first
                        done += grade(
                            each, book, course, make_runner,
                            only=options.item, most_bytes=most_bytes, progress=progress, stop=stop,
                            started=lambda runner: _say_isolation(say, book, runner, limits),
                        )  # fmt: skip
                finally:
                    progress.close()
                    book.note_newest(made.digests)
                    last.enter_context(meanwhile(tables.writer(book, out)))
            written = tables.paths(out)
            if options.feedback and not done.stopped:
                written += write_feedback(book, course, out, make_runner, options.quiet)
            written.append(report.write(book, course, out, links=(out / feedback.FOLDER).is_dir()))
        _say_done(print, book, found, made, done, written, time.monotonic() - start)
        return 130 if done.stopped else 0


def dealt(course: Course, book: Gradebook, students: Iterable[str] = ()) -> Course:
    """The course with the copies of this class, if the gradebook knows the word for them; `students` are those it may not know yet."""
    word = book.setting("variants", "")
    if not word:
        return course
    known = dict.fromkeys([*students, *book.setting("people", {}), *(one.student for one in book.entries())])
    return replace(course, variants=variants.Variants(word, tuple(sorted(known))))


def write_feedback(
    book: Gradebook,
    course: Course,
    out: Path,
    make_runner: Callable[[Course], AbstractContextManager[Runner]],
    quiet: bool,
) -> list[Path]:
    """Write the students' pages that are out of date, and say how far it is; returns their folder, if any was written."""
    shown: list[Progress] = []

    def watch(total: int) -> Callable[[str], None]:
        shown.append(Progress(total, quiet=quiet, what="for the feedback pages"))
        return shown[0].step

    try:
        made = feedback.write(book, course, out / feedback.FOLDER, make_runner, watch=watch)
    finally:
        for progress in shown:
            progress.close()
    return [out / feedback.FOLDER] if made else []


@contextmanager
def _launched(
    options: argparse.Namespace, course: Course, limits: Limits, out: Path, private: Sequence[Path]
) -> Iterator[Engine | None]:
    """Workers that load their libraries while submissions are looked for, where nothing has been graded yet: they will be needed."""
    from .engine import Engine

    if options.dry_run or options.cluster or (out / NAME).is_file():
        yield None
        return
    engine = Engine(course.items, limits, options.workers, options.require_sandbox, private)
    try:
        engine.launch()
        yield engine
    finally:
        engine.close()


@contextmanager
def _engine(
    course: Course,
    limits: Limits,
    workers: int,
    require_sandbox: bool,
    private: Sequence[Path],
    cluster: str = "",
    launched: Engine | None = None,
) -> Iterator[Runner]:
    from .cluster import ClusterEngine
    from .engine import Engine, WorkerError
    from .sandbox import SandboxError

    try:
        made: AbstractContextManager[Runner]
        if cluster:
            made = ClusterEngine(cluster, course.items, limits, require_sandbox)
        else:
            made = launched or Engine(course.items, limits, workers, require_sandbox, private)
        with made as engine:
            yield engine
    except SandboxError as error:
        raise CannotGradeError(
            f"Submissions cannot be isolated well enough on {'the cluster' if cluster else 'this machine'}.",
            f"{error}",
            "grade on a machine that has these layers; or only work that you trust: --no-require-sandbox",
        ) from error
    except WorkerError as error:
        if cluster:
            raise CannotGradeError(
                "The cluster did not finish its work.",
                f"{error}.",
                "look at its workers; what was graded is kept, and the same command goes on from there",
            ) from error
        raise CannotGradeError(
            "A process for running submissions could not be started.",
            f"{error}.",
            "free some memory or try --workers 1; what was graded is kept, and the same command goes on from there",
        ) from error


def _folders(options: argparse.Namespace) -> tuple[Path, Path]:
    out: Path = options.out.expanduser()
    try:
        top = options.submissions.expanduser().resolve()
        target = out.resolve()
        if target == top or target.is_relative_to(top):
            raise CannotGradeError(
                f"The results cannot go to {out}.",
                "that is in the folder with the submissions, which is never written to.",
                "choose another folder: --out RESULTS",
            )
        out.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise CannotGradeError(
            f"The results cannot go to {out}.",
            f"the system says: {error}.",
            "choose another folder: --out RESULTS",
        ) from error
    return target, top


def _limits(words: Sequence[str]) -> Limits:
    names = {f.name: type(getattr(Limits(), f.name)) for f in fields(Limits)}
    given: dict[str, Any] = {}
    for word in words:
        name, _, number = word.partition("=")
        try:
            given[name] = names[name](number)
        except (KeyError, ValueError):
            raise CannotGradeError(
                f"--limit {word} is not a limit.",
                "a limit is a name and a number.",
                "for instance: --limit cell_cpu=20; the names are " + ", ".join(names),
            ) from None
    return replace(Limits(), **given)


@contextmanager
def _stopping(stop: threading.Event, progress: Progress) -> Iterator[None]:
    """Ctrl-C and other termination signals let what is running finish; a second one does not wait."""

    def ask(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        progress.close()
        print("Stopping: what is running is finished first. Ctrl-C again stops at once.", file=sys.stderr)

    with _handling(("SIGINT", "SIGTERM", "SIGHUP"), ask):
        yield


@contextmanager
def ending_as_by_hand() -> Iterator[None]:
    """Other termination signals end the command as Ctrl-C does: what it has started ends, and its temporary folder goes."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with _handling(("SIGTERM", "SIGHUP"), stop):
        yield


@contextmanager
def _handling(names: Iterable[str], handler: Callable[..., None]) -> Iterator[None]:
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # only the main thread handles signals
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _quiet(*_: object) -> None:
    pass


def _say_found(found: Found) -> int:
    """Print whose files would be graded."""
    for warning in found.warnings:
        print(f"note: {_printable(warning)}", file=sys.stderr)
    rows = [("student", "notebook", "handed in", "file")]
    for one in [*found.submissions, *(one for some in found.attempts for one in some)]:
        at = one.handed_in.astimezone().strftime("%Y-%m-%d %H:%M") if one.handed_in else "-"
        rows.append(
            (_printable(one.student), one.notebook, at, _printable(one.file.name) if one.file else "missing")
        )
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in [rows[0], *sorted(rows[1:])]:
        print(
            "  ".join(
                [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]
            ).rstrip()
        )
    print("Nothing was graded: --dry-run.")
    return 0


def _say_isolation(say: Callable[..., None], book: Gradebook, runner: Runner, limits: Limits) -> None:
    """Say what isolates the submissions, and keep for the report what holds them to their limits."""
    from .sandbox import means

    say(f"Isolation: {', '.join(runner.layers) or 'none'}.")
    before = book.setting("means", {})
    now = {
        what: [*dict.fromkeys([*before.get(what, []), name])] for what, name in means(runner.layers).items()
    }
    book.set("means", now)
    book.set("limits", asdict(limits))


def _say_plan(say: Callable[..., None], made: Plan, found: Found, course: Course) -> None:
    for warning in found.warnings:
        print(f"note: {_printable(warning)}", file=sys.stderr)
    students = {one.student for one in found.submissions}
    books = sorted({one.notebook for one in found.submissions})
    numbers = ", ".join(course.released[name].number for name in books)
    counted = [
        f"{number} {what}{'' if number == 1 else 's'}"
        for number, what in ((len(students), "student"), (len(found.submissions), "submission"))
    ]
    say(f"{counted[0]}, notebook{'s' if len(books) > 1 else ''} {numbers}: {counted[1]}.")
    if made.same:
        say(f"{made.same} are graded already, from the same files with the same keys.")
    if made.dropped:
        names = ", ".join(f"{one.student}/{one.notebook}" for one in made.dropped[:5])
        print(
            f"note: --regrade: {len(made.dropped)} graded earlier are not in the folder any more, and count as missing now: {_printable(names)}",
            file=sys.stderr,
        )
    if made.gone:
        names = ", ".join(f"{one.student}/{one.notebook}" for one in made.gone[:5])
        say(
            f"{len(made.gone)} graded earlier are not in the folder any more; their grades are kept: {_printable(names)}"
        )


def _say_times(found: Found, book: Gradebook) -> None:
    """Say whose time of submission is unknown, if it matters."""
    lacking = [one for one in found.submissions if one.file and one.handed_in is None]
    if not lacking or not book.setting("due"):
        return
    late = sorted({one.student for one in lacking if "Canvas marks it as late." in one.notes})
    found.warnings.append(
        f"The download does not tell when {len(lacking)} of the submissions were handed in, so they count as in time"
        + (f", though Canvas marks these as late: {', '.join(late)}" if late else "")
        + ". Give their times: --timestamps FILE, or Moodle's grading worksheet as another --roster."
    )


def _say_done(
    say: Callable[..., None],
    book: Gradebook,
    found: Found,
    made: Plan,
    done: Summary,
    written: list[Path],
    seconds: float,
) -> None:
    if done.stopped:
        print(
            f"Stopped with {done.left} submissions to go. Nothing that was graded is lost; run the same command to go on.",
            file=sys.stderr,
        )
    parts = [
        (done.run, "run"),
        (done.rescored, "scored again from their stored answers"),
        (done.without, "missing or unreadable"),
    ]
    text = ", ".join(f"{number} {what}" for number, what in parts if number) or "nothing to do"
    say(f"Done in {clock_time(seconds)}: {text}.")
    entries = book.entries()
    counts: dict[str, int] = {}
    for entry in entries:
        for result in entry.results:
            name = tables.status(entry, result)
            counts[name] = counts.get(name, 0) + 1
    say(
        "Items: "
        + ", ".join(f"{number} {name}" for name, number in sorted(counts.items(), key=lambda p: -p[1]))
        + "."
    )
    late = sum(1 for entry in entries if entry.days_late)
    mended = sum(1 for entry in entries if any(not note.startswith(variants.MARK) for note in entry.notes))
    if late:
        say(f"{late} submission{'s are' if late > 1 else ' is'} late.")
    odd = sum(1 for entry in entries if any(note.startswith(variants.MARK) for note in entry.notes))
    if odd and book.setting("variants"):
        say(
            f"{odd} submission{'s are' if odd > 1 else ' is'} not the copy that the student got: see who needs a look, in the report."
        )
    elif odd:
        say(
            f"{odd} submission{'s have' if odd > 1 else ' has'} numbers of {'their' if odd > 1 else 'its'} own, and the word for them is not "
            "known, so the course's count: --variants WORD."
        )
    if mended:
        say(f"{mended} submission{'s have' if mended > 1 else ' has'} notes: see submissions.csv.")
    say(f"Written: {', '.join(path.name for path in written)} in {written[0].parent}.")


if __name__ == "__main__":
    sys.exit(main())
