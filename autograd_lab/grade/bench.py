"""Measures the grader on the test class: `python -m autograd_lab.grade.bench`, in a checkout (tests/grade/corpus.py makes the class).

    (nothing)           seconds, memory, and whether two runs write the same bytes: for the class, and for its honest students
    --nbgrader PATH     the same cells under `nbgrader autograde`; PATH is an nbgrader executable. It grades samples of the class: honest
                        students, endless loops, other broken work; each is weighted by how many there are of its kind
    --hostile           submissions that break graders: tried, graded right, escaped, others harmed
    --kill 50           kill -9 at this many random moments: lost, doubled, left running
    --agreement         the grader against `autograd-lab validate`, item for item

Wall time depends on what else the machine does, so processor time is reported too.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import autograd_lab
from autograd_lab.course.author import public
from autograd_lab.course.resources import course_root

from . import merge, validate
from .course import Course, load_course
from .engine import Engine
from .gradebook import NAME, Gradebook
from .model import CannotGradeError, Job
from .reading import read
from .scoring import score
from .submissions import find, load

MARK = "ESCAPED"
"""What hostile submissions print if they escape."""
LEFT_BEHIND = "agl_escaped"
"""The prefix of file names that must not appear anywhere."""
GET_NBGRADER = "python -m venv nbgrader-env && nbgrader-env/bin/pip install nbgrader ipykernel"


def corpus() -> Any:
    """The module that makes the test class. Raises CannotGradeError if there is none."""
    folder = course_root() / "tests" / "grade"
    if not (folder / "corpus.py").is_file():
        raise CannotGradeError(
            "There is no test class to measure with.",
            "tests/grade/corpus.py makes it, and what students install leaves the tests out.",
            "run this in a checkout of the project",
        )
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module("corpus")


# --- running and measuring ------------------------------------------------------------------------


@dataclass
class Measured:
    """What a command took."""

    wall: float
    """Seconds of wall time."""
    cpu: float
    """Seconds of processor time, of the command and everything it started."""
    peak: float
    """Peak memory of all its processes together, in MB; shared memory counts once."""
    said: str = ""

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f} s of processor time), peak {self.peak:.0f} MB"


# Runs a command and also waits for everything it leaves behind, so that the processor time of every process is counted.
_COUNTED = """
import ctypes, os, subprocess, sys, time
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
status = subprocess.call(sys.argv[1:])
end = time.monotonic() + 10
while time.monotonic() < end:
    try:
        if os.waitpid(-1, os.WNOHANG)[0] == 0:
            time.sleep(0.01)
    except ChildProcessError:
        break
sys.exit(status if status >= 0 else 128 - status)
"""


def measure(
    command: Sequence[str],
    may_fail: bool = False,
    env: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
) -> Measured:
    """Run a command to its end. Raises CannotGradeError with its output if it fails, unless failure is expected."""
    import resource  # not on Windows

    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with tempfile.TemporaryFile() as log:
        counted = [sys.executable, "-c", _COUNTED, *command]
        # without bytecode files, every process on both sides would compile what it imports
        usual = {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}
        process = subprocess.Popen(
            counted, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=usual, cwd=cwd
        )
        over, peak = threading.Event(), [0.0]

        def watch() -> None:
            while not over.wait(0.5):
                peak[0] = max(peak[0], memory(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            process.wait()
        finally:
            over.set()
            watcher.join()
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    if process.returncode and not may_fail:
        raise CannotGradeError(
            f"{Path(command[0]).name} failed with exit status {process.returncode}.",
            said.strip()[-1000:] or "it said nothing.",
            "mend what it says and run this again",
        )
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(wall, cpu, peak[0], said)


def memory(root: int) -> float:
    """Memory of a process and its descendants in MB, shared pages divided among those who share them; 0 without /proc."""
    total = 0.0
    for pid in _family(root):
        with suppress(OSError, ValueError, AttributeError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss: +(\d+)", text, re.MULTILINE)[1]) / 1024  # type: ignore[index]
    return total


def _family(root: int) -> set[int]:
    """A process and its descendants, if there is a /proc."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(path.parent.name)] = int(
                path.read_text(errors="replace").rpartition(")")[2].split()[1]
            )
    family, size = {root}, 0
    while len(family) != size:
        size = len(family)
        family |= {pid for pid, parent in parents.items() if parent in family}
    return family


def grade(submissions: Path, out: Path, *more: str) -> Measured:
    """The command, as an instructor gives it; always with the sandbox."""
    command = [sys.executable, "-m", "autograd_lab", "grade", str(submissions), "--out", str(out), "--quiet"]
    return measure([*command, "--require-sandbox", *more])


def given(out: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """{student: {item: its row}} of a grades.json."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for student in json.loads((out / "grades.json").read_text(encoding="utf-8"))["students"]:
        mine = rows.setdefault(student["student"], {})
        for notebook in student["notebooks"]:
            mine |= {row["item"]: row for row in notebook["items"]}
    return rows


def unfair(cases: Iterable[Any], out: Path) -> dict[str, list[str]]:
    """{student: what was graded wrongly or got no row}."""
    rows, found = given(out), {}
    for case in cases:
        mine, wrong = rows.get(case.listed, {}), []
        for item, (least, most) in case.fair.items():
            row = mine.get(item)
            if row is None:
                wrong.append(f"{item}: no row")
            elif not least - 1e-9 <= row["points"] <= most + 1e-9:
                fair = f"{least:g}" if least == most else f"{least:g} to {most:g}"
                wrong.append(
                    f"{item}: {row['points']:g} instead of {fair}, {row['status']}. {row['says'][:120]}"
                )
        if wrong:
            found[case.student] = wrong
    return found


def tree(folder: Path) -> str:
    """A digest of all names, contents and times in a folder."""
    told = hashlib.sha256()
    for path in sorted(folder.rglob("*"), key=os.fsencode):
        status = path.lstat()
        told.update(repr((os.fsencode(path), status.st_mode, status.st_size, status.st_mtime_ns)).encode())
        if path.is_file() and not path.is_symlink():
            with suppress(PermissionError):
                told.update(path.read_bytes())
    return told.hexdigest()


def differing(one: Path, other: Path) -> list[str]:
    """The files in which two runs over the same submissions differ, apart from the key `timing`."""

    def content(path: Path) -> Any:
        if path.name != "grades.json" or not path.is_file():
            return path.read_bytes() if path.is_file() else None
        data = json.loads(path.read_text(encoding="utf-8"))
        data.pop("timing")
        return data

    names = {p.relative_to(top) for top in (one, other) for p in top.rglob("*") if p.is_file()}
    # the gradebook is a database that stores times; every table is made from it
    return sorted(
        str(n) for n in names
        if not n.parts[0].startswith(("gradebook.db", ".grading", "backups")) and content(one / n) != content(other / n)
    )  # fmt: skip


# --- hostile submissions --------------------------------------------------------------------------


@dataclass
class Trap:
    """Detects submissions that escape from their sandbox: a folder, two sockets, a process, and places that many can write to."""

    folder: Path
    port: int = 0
    bystander: subprocess.Popen[bytes] | None = None
    """A process of the same user, which a signal ends."""
    caught: list[str] = field(default_factory=list)
    """What should have been impossible, in words."""


_ENDED_BY_A_SIGNAL = """
import signal, sys
signal.signal(signal.SIGCONT, lambda *_: sys.exit())
print("ready", flush=True)
while True:
    signal.pause()
"""
"""A program that a signal ends which harms no other. Whether it arrives must be seen outside: who sends it to all hears no error even if none
could have it.
"""


@contextmanager
def trap(folder: Path, leftover: str) -> Iterator[Trap]:
    """Watch while submissions run; afterwards `caught` says what escaped. `leftover` names processes that must not remain."""
    folder.mkdir(parents=True)
    there = set(_left_behind())
    made = Trap(folder)
    with ExitStack() as stack:
        doors = {"127.0.0.1": stack.enter_context(socket.create_server(("127.0.0.1", 0)))}
        made.port = doors["127.0.0.1"].getsockname()[1]
        if sys.platform == "linux":
            doors["abstract socket"] = stack.enter_context(socket.socket(socket.AF_UNIX))
            doors["abstract socket"].bind(f"\0autograd-lab-{made.port}")
            doors["abstract socket"].listen()
        post = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        post.bind(("127.0.0.1", made.port))
        if sys.platform != "win32":
            command = [sys.executable, "-S", "-c", _ENDED_BY_A_SIGNAL]
            made.bystander = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(made.bystander.kill)
            made.bystander.stdout.readline()  # type: ignore[union-attr]
        try:
            yield made
        finally:
            for name, door in doors.items():
                door.settimeout(0.01)
                with suppress(TimeoutError):
                    door.accept()[0].close()
                    made.caught.append(f"connected to {name}")
            post.settimeout(0.01)
            with suppress(TimeoutError):
                post.recv(1)
                made.caught.append("sent a datagram to 127.0.0.1")
            if made.bystander:
                with suppress(subprocess.TimeoutExpired):
                    made.bystander.wait(0.1)
                    made.caught.append("signaled a process")
            made.caught += [f"wrote {path}" for path in sorted(folder.rglob("*"))]
            made.caught += [f"wrote {path}" for path in sorted(set(_left_behind()) - there)]
            for path in Path("/proc").glob("[0-9]*/comm"):
                with suppress(OSError):
                    if path.read_text().strip() == leftover:
                        made.caught.append(f"left process {path.parent.name} behind")


def _left_behind() -> Iterator[str]:
    package = Path(autograd_lab.__file__).parent
    places = [
        Path.home(),
        Path("/tmp"),
        Path("/var/tmp"),
        Path("/dev/shm"),
        package,
        package.parent,
        Path(sys.prefix),
    ]
    for place in [*places, *map(Path, sys.path)]:
        if place.is_dir():
            yield from (str(path.resolve()) for path in place.glob(f"{LEFT_BEHIND}*"))


@dataclass
class Hostile:
    """The outcome for hostile submissions, and for honest ones among them."""

    tried: int
    right: int
    escaped: list[str]
    """Points that were not earned, and traces seen outside the sandbox."""
    harmed: list[str]
    """Honest submissions with a wrong grade, and students' files that changed."""
    unfair: dict[str, list[str]]
    took: Measured

    def table(self) -> str:
        """The table, and each submission that was not graded right."""
        lines = [
            f"{'tried':>8}{'graded right':>16}{'escaped':>12}{'others harmed':>16}",
            f"{self.tried:>8}{self.right:>16}{len(self.escaped):>12}{len(self.harmed):>16}",
            f"{self.took}",
        ]
        lines += [f"  {student}: {'; '.join(said)}" for student, said in self.unfair.items()]
        lines += [f"  escaped: {what}" for what in self.escaped]
        return "\n".join([*lines, *(f"  harmed: {what}" for what in self.harmed)])


def hostile(cases: Sequence[Any], folder: Path, *more: str) -> Hostile:
    """Grade hostile submissions in `folder`, with an honest one after every tenth."""
    make = corpus()
    leftover = importlib.import_module("hostile").LEFTOVER
    cases = sorted(cases, key=lambda case: case.student)
    honest = [make.mixture(i, f"{case.student} and after") for i, case in enumerate(cases[9::10])]
    submissions, out = folder / "submissions", folder / "results"
    with trap(folder / "trap", leftover) as watched:
        make.write([*cases, *honest], submissions, watched.folder, out, watched.port)
        before = tree(submissions)
        took = grade(submissions, out, *more)
        changed = tree(submissions) != before
    if not (out / "grades.json").is_file():
        return Hostile(len(cases), 0, watched.caught, ["the results are gone"], {}, took)
    wrong, harmed = unfair(cases, out), unfair(honest, out)
    cheated = [f"{case.student}: {'; '.join(wrong[case.student])}" for case in cases
               if case.kind == "tampered" and case.student in wrong]  # fmt: skip
    with Gradebook(out / NAME) as book:
        runs = (
            (case.listed, name, book.stored_run(case.listed, name))
            for case in cases
            for name in case.notebooks
        )
        printed = [
            f"{student}/{name}: {ran[1].printed}"
            for student, name, ran in runs
            if ran and MARK in ran[1].printed
        ]
    hurt = [f"{student}: {'; '.join(said)}" for student, said in harmed.items()]
    return Hostile(
        len(cases), len(cases) - len(wrong), [*watched.caught, *printed, *cheated],
        [*hurt, *(["files in the submissions changed"] if changed else [])], wrong, took,
    )  # fmt: skip


# --- kill -9 --------------------------------------------------------------------------------------


@dataclass
class Killed:
    """What survived of the results of runs that were killed."""

    kills: int = 0
    in_the_middle: int = 0
    """Kills at which some submissions were graded and some were not."""
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    """Processes that outlived the one that was killed."""
    other: list[str] = field(default_factory=list)
    """Files that finally differ from those of an undisturbed run."""


def killed(cases: Sequence[Any], folder: Path, times: int) -> Killed:
    """Kill the command with SIGKILL at random moments and restart it until it finishes; then run it once more from the beginning."""
    told, draw = Killed(), random.Random(times)
    submissions, whole = folder / "submissions", folder / "whole"
    corpus().write(cases, submissions)
    took = grade(submissions, whole, "--no-feedback")
    with Gradebook(whole / NAME) as book:
        expected = {(e.student, e.notebook): len(e.results) for e in book.entries()}
    number, seen = 0, set[tuple[str, str]]()
    while told.kills < times:
        out = folder / f"killed{number}"
        command = [sys.executable, "-m", "autograd_lab", "grade", str(submissions), "--out", str(out)]
        process = subprocess.Popen(
            [*command, "--quiet", "--no-feedback", "--require-sandbox"], stderr=subprocess.DEVNULL
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0, took.wall))
        family = _family(process.pid) - {process.pid}
        process.kill()
        process.wait()
        told.kills += 1
        end = time.monotonic() + 60  # a worker that is still loading its libraries notices only afterwards
        while any(map(_alive, family)) and time.monotonic() < end:
            time.sleep(0.1)
        told.running += [f"process {pid}" for pid in family if _alive(pid)]
        now = _whole_rows(out, expected, told)
        told.lost += [f"{student}/{notebook}" for student, notebook in seen - now]
        told.in_the_middle += 0 < len(now) < len(expected)
        seen = now
        if len(now) == len(expected) or told.kills == times:
            grade(submissions, out, "--no-feedback")
            told.lost += [
                f"{student}/{notebook}"
                for student, notebook in set(expected) - _whole_rows(out, expected, told)
            ]
            told.other += differing(whole, out)
            number, seen = number + 1, set()
    return told


def _whole_rows(out: Path, expected: dict[tuple[str, str], int], told: Killed) -> set[tuple[str, str]]:
    """The submissions in a gradebook: one stored in part counts as lost, one graded twice as doubled."""
    if not (out / NAME).is_file():
        return set()
    try:
        with Gradebook(out / NAME) as book:
            entries, history = book.entries(), book.history()
    except CannotGradeError:  # killed before the first table existed
        return set()
    told.lost += [
        f"{e.student}: a part of {e.notebook}"
        for e in entries
        if len(e.results) != expected[e.student, e.notebook]
    ]
    graded = [(row["student"], row["notebook"]) for row in history]
    told.doubled += [
        f"{student}/{notebook}" for student, notebook in {one for one in graded if graded.count(one) > 1}
    ]
    return {(e.student, e.notebook) for e in entries}


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# --- agreement with nbval -------------------------------------------------------------------------


@dataclass
class Agreement:
    """The grader and nbval, on the checks that students see."""

    items: int = 0
    differ: list[str] = field(default_factory=list)
    notebooks: int = 0

    @property
    def percent(self) -> float:
        """The percentage of items on which they agree."""
        return 100 * (1 - len(self.differ) / max(1, self.items))


def jobs(submissions: Path, course: Course) -> list[Job]:
    """The merged notebooks of a folder, as the grader runs them, without unreadable ones."""
    found = find(submissions, merge.shelf(course.released.values()))
    made = []
    for one in found.submissions:
        if one.file is not None:
            book = course.released[one.notebook]
            made.append(merge.merge(book, read(load(one.file)), student=one.student, notes=one.notes))
    return made


def agreement(wanted: Sequence[Job], course: Course, workers: int = 2) -> Iterator[tuple[Job, list[str]]]:
    """For each notebook, how the grader's result with the visible checks differs from nbval's, item by item.

    The results are "passed", "wrong", "not attempted" and "error"; a cell that had to be stopped is an error to nbval.
    """
    items = {name: [public(item) for item in each] for name, each in course.items.items()}
    with Engine(items, workers=workers, require_sandbox=False) as engine:  # nbval has no hidden probes
        for job, ran in engine.run(wanted):
            mine = {one.item: one.state for one in score(job, ran, items)}
            theirs = {row.item: row.state for row in validate.validate(job).rows}
            yield (
                job,
                [
                    f"{job.student}/{item}: {state}, nbval {theirs.get(item)}"
                    for item, state in mine.items()
                    if (state if state in validate.STATES else "error") != theirs.get(item)
                ],
            )


# --- beside nbgrader ------------------------------------------------------------------------------


HOSTILE_SAMPLE = {"endless": 3, "broken": 6}
"""The most submissions of each kind that nbgrader grades: of those that run into its limits, and of those that fail by themselves."""


class Nbgrader:
    """A course for nbgrader with the same notebooks, and the sample of the class that it grades."""

    def __init__(self, executable: Path, folder: Path) -> None:
        self.executable, self.folder = executable.absolute(), folder
        kernel = folder / "jupyter" / "kernels" / "python3"
        kernel.mkdir(parents=True)
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        about = {"argv": argv, "display_name": "Python 3", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(about), encoding="utf-8")
        source = folder / "source" / "course"
        source.mkdir(parents=True)
        for path in (course_root() / "exercises").glob("*.ipynb"):
            shutil.copy(path, source)
        self._run("generate_assignment", "course")

    def autograde(self, cases: Sequence[Any], may_fail: bool = False) -> Measured:
        """Grade these students' notebooks only. `may_fail`: nbgrader may give up on some of them."""
        shutil.rmtree(self.folder / "submitted", ignore_errors=True)
        for case in cases:
            home = self.folder / "submitted" / case.student / "course"
            home.mkdir(parents=True)
            for name, content in case.files.items():
                (home / name).write_bytes(content)
        took = self._run("autograde", "course", "--force", may_fail=may_fail)
        self._end_kernels()
        return took

    def _run(self, *words: str, may_fail: bool = False) -> Measured:
        environment = {
            **os.environ,
            "JUPYTER_PATH": str(self.folder / "jupyter"),
            "AUTOGRAD_LAB_PROGRESS": "off",
            "PATH": os.pathsep.join([str(self.executable.parent), os.environ.get("PATH", "")]),
            "PYTHONPATH": str(Path(autograd_lab.__file__).parents[1]),
        }
        return measure(
            [str(self.executable), *words, f"--CourseDirectory.root={self.folder}"],
            may_fail,
            env=environment,
            cwd=self.folder,
        )

    def _end_kernels(self) -> None:
        """End what looping submissions have left running."""
        mark = f"JUPYTER_PATH={self.folder / 'jupyter'}".encode()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                if mark in path.read_bytes().split(b"\0"):
                    os.kill(int(path.parent.name), signal.SIGKILL)


def sample(cases: Sequence[Any], count: int) -> list[Any]:
    """Honest students with one notebook each, taking the notebooks in turn."""
    fits = [
        c for c in cases if c.kind == "honest" and len(c.files) == 1 and re.fullmatch(r"mix-\d+", c.student)
    ]
    turns: dict[str, int] = {}
    ranked = []
    for case in fits:
        name = case.notebooks[0]
        turns[name] = turns.get(name, 0) + 1
        ranked.append((turns[name], name, case))
    return [case for *_, case in sorted(ranked, key=lambda entry: entry[:2])[:count]]


def kinds(cases: Iterable[Any]) -> dict[str, list[Any]]:
    """Hostile students by what they do without a sandbox: "endless", "broken", or "left out", who must not run there."""
    named: dict[str, list[Any]] = {"endless": [], "broken": [], "left out": []}
    outside = importlib.import_module("hostile").outside
    for case in cases:
        if case.kind != "honest":
            named[outside(case) or "left out"].append(case)
    return named


def beside(other: Nbgrader, cases: Sequence[Any], ran: Sequence[str], count: int) -> dict[str, Any]:
    """Seconds that nbgrader takes for the class: samples of each kind are measured, each multiplied by how many notebooks of that kind
    `ran`.

    `ran` lists the student of each notebook that the grader ran. Those left out count as honest ones.
    """
    chosen, hostile = sample(cases, count), kinds(cases)
    alone = other.autograde(chosen[:1])
    each = {"honest": _further(other.autograde(chosen), alone, len(chosen) - 1)}
    taken = {"honest": chosen}
    for kind, most in HOSTILE_SAMPLE.items():
        drawn = random.Random(kind).sample(hostile[kind], min(most, len(hostile[kind])))
        if drawn:
            each[kind] = _further(other.autograde([chosen[0], *drawn], may_fail=True), alone, len(drawn))
            taken[kind] = drawn
    number = {
        kind: sum(ran.count(case.listed) for case in hostile[kind]) for kind in each if kind != "honest"
    }
    number["honest"] = len(ran) - sum(number.values())
    whole = {}
    for unit, one in _UNITS.items():
        further = f"each further, {unit}"
        later = sum(number[kind] * each[kind][further] for kind in each) - each["honest"][further]
        whole[f"the class, {unit}"] = round(getattr(alone, one) + later, 1)
        whole[further] = round(later / (len(ran) - 1), 3)
    left_out = [case.listed for case in hostile["left out"]]
    return {
        "first submission": str(alone),
        "measured": {
            kind: {
                "submissions": len(taken[kind]), "which": [case.listed for case in taken[kind]], **each[kind],
            }
            for kind in each
        },
        "multiplied by, notebooks": number,
        "left out and counted as honest (attacks, what takes memory or processes without end, what is no plain notebook)": left_out,
        **whole,
    }  # fmt: skip


# --- the command ----------------------------------------------------------------------------------


def speed(folder: Path, size: int, nbgrader: Path | None, count: int) -> dict[str, Any]:
    """Measure the class and its honest students alone, each twice; the first submissions, for the marginal cost of one more; and nbgrader.

    Without feedback pages, for which nbgrader has another command.
    """
    make = corpus()
    cases = make.the_class(size)
    classes = {"the class": cases, "its honest students": [case for case in cases if case.kind == "honest"]}
    chosen = sample(cases, count)
    make.write(chosen[:2], folder / "first")  # two, so that as many workers start as for the whole class
    first = grade(folder / "first", folder / "first graded", "--no-feedback")
    told: dict[str, Any] = {"first two submissions": str(first)}
    best, ran = {}, {}
    for name, students in classes.items():
        submissions, out = folder / name, [folder / f"{name}, run {i}" for i in (1, 2)]
        make.write(students, submissions)
        before = tree(submissions)
        took = [grade(submissions, each, "--no-feedback") for each in out]
        timing = json.loads((out[0] / "grades.json").read_text(encoding="utf-8"))["timing"]
        ran[name] = [student for student, _, seconds in timing["seconds"] if seconds]
        best[name] = min(took, key=lambda one: one.wall)
        told[name] = {
            "students": len(students), "notebooks run": len(ran[name]), "runs": [str(one) for one in took],
            **_further(best[name], first, len(ran[name]) - 2),
            "files that differ between the runs": differing(*out),
            "submissions changed": tree(submissions) != before,
            "graded otherwise than deserved": unfair(students, out[0]),
        }  # fmt: skip
    if nbgrader is None:
        told["nbgrader"] = (
            f"not measured; to compare: {GET_NBGRADER}, then --nbgrader nbgrader-env/bin/nbgrader"
        )
        return told
    theirs = beside(Nbgrader(nbgrader, folder / "nbgrader"), cases, ran["the class"], count)
    told["nbgrader"] = theirs
    told["faster than nbgrader"] = {}
    for title, unit in (("", "seconds"), (", processor time", "processor seconds")):
        each = f"each further, {unit}"
        told["faster than nbgrader"] |= {
            f"the class{title}": round(
                theirs[f"the class, {unit}"] / getattr(best["the class"], _UNITS[unit]), 1
            ),
            f"each further of the class{title}": round(theirs[each] / told["the class"][each], 1),
            f"each further honest one{title}": round(
                theirs["measured"]["honest"][each] / told["its honest students"][each], 1
            ),
        }
    return told


_UNITS = {"seconds": "wall", "processor seconds": "cpu"}


def _further(several: Measured, first: Measured, number: int) -> dict[str, float]:
    """The cost of each of `number` more submissions."""
    return {
        f"each further, {unit}": round((getattr(several, one) - getattr(first, one)) / number, 4)
        for unit, one in _UNITS.items()
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0 if everything was as it should be, 1 if not, 2 if it could not be measured."""
    options = _parser().parse_args(argv)
    try:
        corpus()
        with tempfile.TemporaryDirectory(
            prefix="autograd-lab-bench-", ignore_cleanup_errors=True
        ) as temporary:
            return _main(options, Path(temporary).resolve())
    except (CannotGradeError, ValueError) as problem:
        print(f"autograd-lab bench: {problem}", file=sys.stderr)
        return 2


def _main(options: argparse.Namespace, folder: Path) -> int:
    make = corpus()
    if options.hostile:
        cases = [case for case in make.hostile_cases() if re.search(options.only, case.student)]
        made = hostile(cases, folder)
        print(made.table())
        return 1 if made.unfair or made.escaped or made.harmed else 0
    if options.kill:
        cases = [
            case
            for case in make.the_class(options.students)
            if case.kind == "honest" and len(case.files) == 1
        ][::2]
        ended = killed(cases, folder, options.kill)
        for name, value in asdict(ended).items():
            found = sorted(set(value)) if isinstance(value, list) else None
            print(
                f"{name.replace('_', ' ')}: {value if found is None else len(found)}",
                *(found or [])[:20],
                sep="\n  ",
            )
        return 1 if ended.lost or ended.doubled or ended.running or ended.other else 0
    if options.agreement:
        cases = [
            case
            for case in make.the_class(options.students)
            if case.kind == "honest" and re.search(options.only, case.student)
        ]
        make.write(cases, folder / "submissions")
        course, total = load_course(), Agreement()
        wanted = jobs(folder / "submissions", course)
        for job, differ in agreement(wanted, course):
            total.notebooks += 1
            total.items += len(course.items[job.notebook])
            total.differ += differ
            print(
                f"{total.notebooks} of {len(wanted)}: {job.student}/{job.notebook}",
                *differ,
                sep="\n  ",
                flush=True,
            )
        print(
            f"{total.items} items in {total.notebooks} notebooks, {len(total.differ)} differ: {total.percent:.2f} % agree"
        )
        return 1 if total.differ else 0
    told = speed(folder, options.students, options.nbgrader, options.sample)
    print(json.dumps(told, indent=2, ensure_ascii=False))
    classes = [one for one in told.values() if "submissions changed" in one]
    return int(
        any(one["files that differ between the runs"] or one["submissions changed"] for one in classes)
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autograd_lab.grade.bench", description="Measure the grader on the test class.",
        epilog=f"To get nbgrader: {GET_NBGRADER}",
    )  # fmt: skip
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--hostile", action="store_true", help="submissions that break graders")
    what.add_argument("--kill", type=int, default=0, metavar="N", help="kill it at N random moments")
    what.add_argument("--agreement", action="store_true", help="item for item against nbval")
    parser.add_argument("--only", default="", metavar="REGEX", help="of these, students whose names match")
    parser.add_argument(
        "--students", type=int, default=300, metavar="N", help="size of the class (default: %(default)s)"
    )
    parser.add_argument(
        "--nbgrader", type=Path, metavar="PATH", help="an nbgrader executable to compare with"
    )
    parser.add_argument(
        "--sample",
        type=int,
        default=14,
        metavar="N",
        help="honest students that nbgrader grades (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
