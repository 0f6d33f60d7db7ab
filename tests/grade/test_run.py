"""From a folder to grades, and on from wherever it was stopped."""

import csv
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import classroom as c
import pytest

from autograd_lab import grade as grade_package
from autograd_lab.grade import files, gradebook, merge, report, run, submissions, tables
from autograd_lab.grade.gradebook import Gradebook
from autograd_lab.grade.model import CannotGradeError

Progress = run.Progress
RIGHT = {"a1": "answer = [12, 4, 12, 160]"}


@pytest.fixture
def top(tmp_path):
    top = tmp_path / "sub"
    c.hand_in(top, "ada", c.document())
    c.hand_in(top, "bob", c.solved(**RIGHT))
    c.hand_in(top, "eve", b"{")
    return top


def grade(top, out, runner=None, course=None, find=None, stop=None, **options):
    """What the command does, with a runner of this process; returns (runner, summary)."""
    runner = runner or c.HereRunner()
    course = course or c.course()
    out.mkdir(exist_ok=True)
    found = submissions.find(top, merge.shelf(course.released.values()), **(find or {}))
    with Gradebook(out / gradebook.NAME, create=True) as book:
        made = run.plan(found, book.known(), course, **options)
        try:
            done = run.grade(made, book, course, lambda: runner, only=options.get("only", ""), stop=stop)
        finally:
            tables.write(book, out)
    return runner, done


def grades(out):
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["student"], row["item"]): (float(row["points"]), row["status"])
            for row in csv.DictReader(file)
        }


def settled(out):
    data = json.loads((out / "grades.json").read_text(encoding="utf-8"))
    data.pop("timing")
    return data


def changed(course, item, **changes):
    items = {
        n: [replace(i, **changes) if i.id == item else i for i in each] for n, each in course.items.items()
    }
    return run.Course(course.released, items)


def test_what_may_take_long_goes_first(top, tmp_path):
    """Else all others are done, and wait for it, if it comes last; the rest stays in its order."""
    for student, source in {
        "yan": "while  1:\n    break",
        "zoe": "while True:\n    break",
        "cy": "while Truely: 1\nx = 2 * 10",
        "xi": "import sys\nsys.setrecursionlimit(9)",
        "wim": "10**9",
    }.items():
        data = c.document()
        data["cells"].append(c.code(source))
        c.hand_in(top, student, data)
    runner, _ = grade(top, tmp_path / "out")
    assert [student for student, _ in runner.ran] == ["wim", "xi", "yan", "zoe", "ada", "bob", "cy"]


def test_a_class(top, tmp_path):
    _, done = grade(top, tmp_path / "out", find={"roster": ["ada", "bob", "eve", "gone"]})
    got = grades(tmp_path / "out")
    assert {k: v for k, v in got.items() if k[0] == "ada"} == {
        ("ada", i): (p, "passed") for i, p in c.FULL.items()
    }
    assert got["bob", "04.1"] == (4, "passed")
    assert got["bob", "04.2"] == (0, "not attempted")
    assert got["eve", "04.1"] == (0, "unreadable")
    assert got["gone", "04.4"] == (0, "missing")
    assert len(got) == 20
    assert (done.run, done.without, done.left) == (2, 2, 0)


def test_the_second_time_nothing_runs_and_nothing_changes(top, tmp_path):
    grade(top, tmp_path / "out")
    before = (tmp_path / "out/grades.json").read_bytes()
    runner, done = grade(top, tmp_path / "out")
    assert runner.ran == []
    assert done.same == 3
    assert (tmp_path / "out/grades.json").read_bytes() == before


def test_two_runs_agree(top, tmp_path):
    grade(top, tmp_path / "one")
    grade(top, tmp_path / "two")
    assert settled(tmp_path / "one") == settled(tmp_path / "two")
    assert (tmp_path / "one/grades.csv").read_bytes() == (tmp_path / "two/grades.csv").read_bytes()


def test_a_file_that_changed_is_graded_again(top, tmp_path):
    grade(top, tmp_path / "out")
    c.hand_in(top, "eve", c.solved(**RIGHT))
    runner, _ = grade(top, tmp_path / "out")
    assert runner.ran == [("eve", c.BOOK)]
    assert grades(tmp_path / "out")["eve", "04.1"] == (4, "passed")


def test_a_file_beside_the_notebook_that_changed_is_graded_again(top, tmp_path):
    c.hand_in(top, "ada", "x = 1", "helper.py")
    assert len(grade(top, tmp_path / "out")[0].ran) == 2
    assert grade(top, tmp_path / "out")[0].ran == []
    c.hand_in(top, "ada", "x = 2", "helper.py")
    assert grade(top, tmp_path / "out")[0].ran == [("ada", c.BOOK)]


def test_a_notebook_under_anothers_name_needs_a_look(top, tmp_path):
    c.hand_in(top, "bob", c.document(name=c.OTHER))
    grade(top, tmp_path / "out", find={"wanted": [c.BOOK]})
    with Gradebook(tmp_path / "out" / gradebook.NAME) as book:
        said = {
            one.student: (one.what, one.says)
            for entry in book.entries()
            for one in report.looks(entry, None, {})
        }
    assert said["bob"][0] == "another notebook handed in"
    assert f"holds the cells of {c.OTHER}" in said["bob"][1]


def test_a_file_that_is_gone_costs_nobody_a_grade(top, tmp_path):
    grade(top, tmp_path / "out")
    (top / "ada" / f"{c.BOOK}.ipynb").unlink()
    grade(top, tmp_path / "out")
    assert grades(tmp_path / "out")["ada", "04.1"] == (4, "passed")
    grade(top, tmp_path / "out", again=True)
    assert grades(tmp_path / "out")["ada", "04.1"] == (0, "missing")


def test_what_came_instead_of_a_notebook_is_said_whenever_it_comes(top, tmp_path):
    (top / "cleo").mkdir()
    rows = []
    for name in ("", "notes.pdf", "other.pdf"):
        if name:
            (top / "cleo" / name).touch()
        grade(top, tmp_path / "out")
        with Gradebook(tmp_path / "out" / gradebook.NAME) as book:
            (entry,) = [one for one in book.entries() if one.student == "cleo"]
        rows.append(entry.results[0].says)
    assert rows == [
        "Nothing was handed in.",
        "This notebook was not handed in: cleo/notes.pdf is no notebook.",
        "This notebook was not handed in: cleo/notes.pdf, cleo/other.pdf are no notebooks.",
    ]


def test_a_changed_key_scores_stored_answers_again(top, tmp_path):
    grade(top, tmp_path / "out")
    runner, done = grade(top, tmp_path / "out", course=changed(c.course(), "04.1", expected=[1, 1, 1, 1]))
    assert runner.ran == []
    assert done.rescored == 2
    got = grades(tmp_path / "out")
    assert got["ada", "04.1"][1] == "wrong"
    assert got["ada", "04.2"] == (3, "passed")


def test_a_changed_probe_runs_again(top, tmp_path):
    grade(top, tmp_path / "out")
    item = next(i for i in c.course().items[c.BOOK] if i.probes)
    probes = [replace(item.probes[0], source=item.probes[0].source + "\n"), *item.probes[1:]]
    runner, _ = grade(top, tmp_path / "out", course=changed(c.course(), item.id, probes=probes))
    assert runner.ran == [("ada", c.BOOK), ("bob", c.BOOK)]


def test_one_item_for_all(top, tmp_path):
    grade(top, tmp_path / "out")
    other = changed(changed(c.course(), "04.1", expected=[0, 0, 0, 0]), "04.3", expected="x")
    grade(top, tmp_path / "out", course=other, only="04.1")
    got = grades(tmp_path / "out")
    assert got["ada", "04.1"][1] == "wrong"
    assert got["ada", "04.3"][1] == "passed"  # not asked for yet
    grade(top, tmp_path / "out", course=other)
    assert grades(tmp_path / "out")["ada", "04.3"][1] == "wrong"


def test_one_student_again(top, tmp_path):
    grade(top, tmp_path / "out")
    runner, _ = grade(top, tmp_path / "out", find={"students": ["bob"]}, again=True)
    assert runner.ran == [("bob", c.BOOK)]
    assert len(grades(tmp_path / "out")) == 15


def test_overrides_outlive_it_all(top, tmp_path):
    out = tmp_path / "out"
    grade(top, out)
    with Gradebook(out / gradebook.NAME) as book:
        book.override("eve", "04.1", 3, "sent it by mail", "prof")
    grade(top, out, again=True)
    assert grades(out)["eve", "04.1"] == (3, "overridden")


def test_submissions_are_never_written_to(top, tmp_path):
    def state():
        return {
            p: (p.stat().st_mtime_ns, p.stat().st_mode, p.read_bytes() if p.is_file() else b"")
            for p in top.rglob("*")
        }

    before = state()
    grade(top, tmp_path / "out")
    assert state() == before


# --- stopped --------------------------------------------------------------------------------------------


def test_interrupted_it_goes_on(top, tmp_path):
    grade(top, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        grade(top, tmp_path / "out", c.HereRunner(stop_after=1))
    runner, done = grade(top, tmp_path / "out")
    assert runner.ran == [("bob", c.BOOK)]
    assert done.same == 2
    assert settled(tmp_path / "out") == settled(tmp_path / "whole")


def test_asked_to_stop_it_takes_no_more(top, tmp_path):
    stop = threading.Event()
    runner = c.HereRunner()
    here = runner.run
    runner.run = lambda jobs: (stop.set() or pair for pair in here(jobs))
    _, done = grade(top, tmp_path / "out", runner, stop=stop)
    assert (done.run, done.left, done.stopped) == (1, 1, True)


KILLED = """
import sys, time
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from typing import ClassVar
import classroom as c, test_run
class Slow(c.HereRunner):
    def run(self, jobs):
        for pair in super().run(jobs):
            time.sleep(0.02)
            yield pair
print("ready", flush=True)
test_run.grade(Path(sys.argv[1]), Path(sys.argv[2]), Slow())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL there")
def test_killed_at_any_moment_nothing_is_lost_or_doubled(top, tmp_path):
    for number in range(30):
        c.hand_in(top, f"s{number:02d}", c.document() if number % 2 else c.solved(**RIGHT))
    grade(top, tmp_path / "whole")
    out, rng, counts = tmp_path / "out", random.Random(1), []
    for _ in range(6):
        command = [sys.executable, "-c", KILLED, str(top), str(out), str(Path(__file__).parent)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(rng.uniform(0.0, 0.5))
        process.kill()
        process.wait()
        process.stdout.close()
        if (out / gradebook.NAME).exists():
            with Gradebook(out / gradebook.NAME) as book:
                entries = book.entries()
            assert all(len(entry.results) == 5 for entry in entries)
            counts.append(len(entries))
    assert counts == sorted(counts)
    runner, done = grade(top, out)
    assert len(runner.ran) + done.same + done.without == 33
    assert settled(out) == settled(tmp_path / "whole")
    with Gradebook(out / gradebook.NAME) as book:
        assert [row["event"] for row in book.history()].count("regraded") == 0


# --- the command ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--out", "{top}/results"], "folder with the submissions"),
        (["--out", "{out}", "--notebooks", "99"], "no notebook '99'"),
        (["--out", "{out}", "--item", "04.99"], "no item '04.99'"),
        (["--out", "{out}", "--student", "nobody"], "no student 'nobody'"),
        (["--out", "{out}", "--due", "soon"], "not a time"),
        (["--out", "{out}", "--late-penalty", "200"], "not a percentage"),
        (["--out", "{out}", "--limit", "speed=3"], "not a limit"),
        (["--out", "{out}", "--limit", "memory=much"], "not a limit"),
        (["--out", "{out}", "--workers", "0"], "above 0"),
        (["--out", "{out}", "--keys", "{top}"], "no keys"),
        (["--out", "{out}", "--exercises", "{out}"], "no released notebooks"),
        (["--out", "{out}", "--roster", "{top}/none"], "roster"),
    ],
)
def test_what_cannot_be_is_said(top, tmp_path, capsys, words, says):
    words = [word.format(top=top, out=tmp_path / "out") for word in words]
    assert run.main([str(top), *words]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert "Why:" in said
    assert "What to do:" in said
    assert sorted(p.name for p in top.iterdir()) == ["ada", "bob", "eve"]


def test_two_at_a_time_are_refused(tmp_path):
    with files.alone(tmp_path), pytest.raises(CannotGradeError, match="is in use"), files.alone(tmp_path):
        pass
    with files.alone(tmp_path):
        pass


def test_the_whole_command_with_its_engine(top, tmp_path, capsys):
    """One submission runs in a process of its own; what a machine lacks for isolation is no matter here."""
    out = tmp_path / "out"
    os.utime(top / "ada" / f"{c.BOOK}.ipynb", (1_800_000_000, 1_800_000_000))
    words = [str(top), "--out", str(out), "--workers", "1", "--no-require-sandbox"]
    assert run.main([*words, "--due", "2027-01-13", "--late-penalty", "10"]) == 0
    said = capsys.readouterr()
    assert "Isolation: " in said.out
    assert "2 run, 1 missing or unreadable" in said.out
    assert "[" not in said.err  # nobody watches: no progress
    got = grades(out)
    assert sum(points for (student, _), (points, _) in got.items() if student == "ada") == pytest.approx(
        15 * 0.8
    )
    assert got["bob", "04.1"][1] == "passed"
    assert run.main(words) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_the_map_of_files_is_true():
    folder = Path(grade_package.__file__).parent
    listed = re.findall(r"^    (\w+\.py) ", grade_package.__doc__, re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.py") if path.name != "__init__.py")


# --- progress -------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line_says_how_far_and_how_long():
    out, now = Terminal(), [0.0]
    line = run.Progress(4, out=out, clock=lambda: now[0])
    now[0] = 30.0
    line.step("ada\x1b[2J")
    assert out.getvalue() == "\r[#####...............] 1 of 4, 1:30 left  ada?[2J"
    line.close()
    assert out.getvalue().endswith("\r")
    line.begin("starting")  # what was done before, at another pace, says nothing of what is left
    assert out.getvalue().endswith("\r[#####...............] 1 of 4  starting")
    now[0] = 40.0
    line.step()
    assert out.getvalue().rstrip().endswith("\r[##########..........] 2 of 4, 0:20 left")


def test_the_line_says_for_whom_it_waits():
    out, now = Terminal(), [0.0]
    line = run.Progress(4, limit=180.0, out=out, clock=lambda: now[0])
    line.running = lambda: ["bob", "eve"]
    now[0] = 10.0
    line.step("ada")
    now[0] = 12.0
    line.tick()
    assert out.getvalue().endswith("\r[#####...............] 1 of 4, 0:28 left  ada")
    now[0] = 30.0
    line.tick()
    assert out.getvalue().endswith("\r[#####...............] 1 of 4, up to 3:00 left  waiting for bob, 0:20")
    line.close()
    assert out.getvalue().endswith("\r")


def test_the_time_that_is_left_never_grows_while_one_submission_hangs():
    """It takes as long as its limit at most, and what it holds up takes what others took."""
    out, now = Terminal(), [0.0]
    line = run.Progress(100, limit=60.0, out=out, clock=lambda: now[0])
    line.running = lambda: ["bob"]

    def left():
        text = re.findall(r"(?:(up to) )?(\d+):(\d\d) left", out.getvalue().rpartition("\r")[2])
        return [(word, 60 * int(minutes) + int(seconds)) for word, minutes, seconds in text]

    for second in range(1, 51):  # 50 results, one a second
        now[0] = float(second)
        line.step("ada")
    assert left() == [("", 50)]
    seen = []
    for second in range(51, 110):
        now[0] = float(second)
        line.tick()
        seen += left()
    assert len(seen) == 59
    at_once, waiting = seen[:4], seen[4:]
    assert at_once == [("", 49), ("", 48), ("", 47), ("", 46)]
    assert waiting == [
        ("up to", 104 - number) for number in range(55)
    ]  # 60 s less 5 to begin with, and 49 others
    now[0] = 110.0
    line.step("bob")
    assert left() == [("", round(110 / 51 * 49))]


def test_without_a_limit_or_a_result_it_promises_nothing():
    out, now = Terminal(), [0.0]
    line = run.Progress(2, out=out, clock=lambda: now[0])
    line.running = lambda: ["bob"]
    line.begin("")
    now[0] = 20.0
    line.tick()
    assert out.getvalue().endswith("\r[....................] 0 of 2  waiting for bob, 0:20")
    now[0] = 30.0
    line.step("bob")
    now[0] = 90.0
    line.tick()
    assert out.getvalue().endswith("\r[##########..........] 1 of 2, 0:00 left  waiting for bob, 1:00")
    alone = run.Progress(1, limit=60.0, out=out, clock=lambda: now[0])
    alone.running = lambda: ["eve"]
    now[0] = 100.0
    alone.tick()
    assert out.getvalue().endswith("\r[....................] 0 of 1, up to 0:50 left  waiting for eve, 0:10")


def test_the_line_lives_while_nothing_comes():
    """It is written anew by itself, and never after it was taken away."""
    out = Terminal()
    line = run.Progress(4, out=out)
    line.begin("starting")
    before, end = len(out.getvalue()), time.monotonic() + 120
    while len(out.getvalue()) == before and time.monotonic() < end:
        time.sleep(0.05)
    assert len(out.getvalue()) > before
    line.close()
    said = out.getvalue()
    time.sleep(1.2)
    assert out.getvalue() == said


def test_the_line_counts_what_runs(top, tmp_path, monkeypatch, capsys):
    """Not the missing and the unreadable, which take no time."""
    totals = []
    monkeypatch.setattr(
        run, "Progress", lambda total, **_: totals.append(total) or Progress(total, quiet=True)
    )
    words = [str(top), "--out", str(tmp_path / "out"), "--notebooks", "04,05"]
    c.stand_in(monkeypatch, lambda *_: c.HereRunner())
    assert run.main(words) == 0
    assert totals[0] == 2


def test_the_line_says_what_is_counted():
    out = Terminal()
    line = run.Progress(4, what="for the feedback pages", out=out, clock=lambda: 0.0)
    line.begin("ada")
    line.close()
    assert "\r[....................] 0 of 4 for the feedback pages  ada\r" in out.getvalue()


def test_quiet_says_the_outcome_and_nothing_before_it(top, tmp_path, monkeypatch, capsys):
    c.stand_in(monkeypatch, lambda *_: c.HereRunner())
    words = [str(top), "--out", str(tmp_path / "out"), "--notebooks", "04", "--student", "bob"]
    assert run.main([*words, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert re.match(r"Done in 0:\d\d: 1 run\.\nItems: ", said)
    assert run.main(words) == 0
    assert capsys.readouterr().out.startswith("1 student, notebook 04: 1 submission.\n")


def test_nobody_watches_nothing_is_said():
    out = io.StringIO()
    line = run.Progress(1, out=out)
    line.step("ada")
    line.close()
    assert out.getvalue() == ""


def test_times_as_on_a_clock():
    assert [run.clock_time(s) for s in (0, 7.4, 750, 3723)] == ["0:00", "0:07", "12:30", "1:02:03"]


# ----------------------------------------------------------------------
# two things at a time
# ----------------------------------------------------------------------


def test_something_else_happens_meanwhile(tmp_path):
    """Each of the two waits for the other."""
    work, block = tmp_path / "work", tmp_path / "block"

    def wait(path):
        end = time.monotonic() + 20
        while sys.platform == "linux" and not path.exists():
            assert time.monotonic() < end
            time.sleep(0.01)

    def write():
        work.touch()
        wait(block)
        (tmp_path / "done").touch()

    with files.meanwhile(write):
        wait(work)
        block.touch()
    assert (tmp_path / "done").exists()


@pytest.mark.parametrize("how", ["killed", "left", "raised"])
def test_work_that_a_copy_did_not_do_is_done_afterwards(tmp_path, how):
    here, done = os.getpid(), tmp_path / "done"

    def write():
        if os.getpid() != here:
            {
                "killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
                "left": lambda: os._exit(3),
                "raised": lambda: 1 / 0,
            }[how]()
        done.touch()

    with pytest.raises(KeyError), files.meanwhile(write):
        raise KeyError  # what happens in the block does not keep it from being done
    assert done.exists()


def test_what_cannot_be_done_raises_here(tmp_path):
    def write():
        raise CannotGradeError("No.", "it cannot be done.", "do something else")

    done = []
    with pytest.raises(CannotGradeError), files.meanwhile(write):
        done.append(1)
    assert done == ([1] if sys.platform == "linux" else [])


class Launched(c.HereRunner):
    """Stands for the workers, and notes what is done with them."""

    told: ClassVar[list[str]] = []

    def __init__(self, items, *_):
        super().__init__(items=items)
        self.told.append("made")

    def launch(self):
        self.told.append("launched")

    def __enter__(self):
        self.told.append("entered")
        return self

    def close(self):
        self.told.append("closed")


def test_workers_start_while_submissions_are_looked_for(top, tmp_path, monkeypatch, capsys):
    """Where nothing has been graded yet: then they will be needed."""
    find = run.find
    monkeypatch.setattr("autograd_lab.grade.engine.Engine", Launched)
    monkeypatch.setattr(
        run, "find", lambda *rest, **more: Launched.told.append("found") or find(*rest, **more)
    )

    def told(*more):
        Launched.told.clear()
        run.main(
            [str(top), "--out", str(tmp_path / "out"), "--notebooks", "04", "--quiet", "--no-feedback", *more]
        )
        return Launched.told

    assert told("--dry-run") == ["found"]
    assert told("--student", "nobody") == ["made", "launched", "found", "closed"]
    assert told() == ["made", "launched", "found", "entered", "closed"]
    assert told() == ["found"]
    assert told("--regrade") == ["found", "made", "entered"]
