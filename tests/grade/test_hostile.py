"""Submissions that break graders, through the real command and its sandbox.

Every second one of those that take no longer than honest work, with the processor time that students get; and some that wait
out a limit, in a run of their own with a short one, which on a slow machine would end some of the others. The whole table,
with the limits as they are: `python -m autograd_lab.grade.bench --hostile`.
"""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from corpus import Case, hostile_cases, mixture, write
from hostile import LEFTOVER

from autograd_lab.grade import bench
from autograd_lab.grade.model import CannotGradeError

SLOW = {
    "h-endless", "h-endless-stubborn", "h-endless-in-c", "h-sleeps", "h-stack", "h-memory-array", "h-memory-list", "h-os-exit",
    "h-answer-endless-detach", "h-answer-exits", "h-endless-program", "h-program-eats", "h-program-recurses", "h-5000-cells",
    "h-huge-cell", "h-huge-output", "t-ignores-signals", "t-stops-itself", "t-limits", "t-fork-bomb", "t-thread-bomb",
}  # fmt: skip
"""Those that wait out limits, or are huge."""
LIMITED = {"h-endless-stubborn", "h-endless-in-c", "h-os-exit", "h-endless-program", "t-ignores-signals"}
"""Of these, the ones that a short limit of processor time ends soon."""


def quick():
    chosen = {case.student for case in [one for one in hostile_cases() if one.student not in SLOW][::2]}
    return [case for case in hostile_cases() if case.student in chosen | {"t-reads-descriptors"}]


def limited():
    """Them, and honest students among them."""
    honest = [mixture(number, f"{name} and after") for number, name in enumerate(sorted(LIMITED)[::2])]
    return [*(case for case in hostile_cases() if case.student in LIMITED), *honest]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


def run(cases, place, *limits):
    try:
        return bench.hostile(cases, place, *limits)
    except CannotGradeError as error:
        if "cannot be isolated" in str(error):
            pytest.skip(f"hostile submissions run only where they can be isolated: {error}")
        raise


@pytest.fixture(scope="module")
def graded(place):
    return run(quick(), place)


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    return run(limited(), tmp_path_factory.mktemp("ended"), "--limit", "cell_cpu=1", "--limit", "probe_cpu=1")


def test_each_gets_what_it_deserves(graded, ended):
    assert graded.tried > 100
    assert ended.tried == len(LIMITED) + 3
    for one in (graded, ended):
        assert one.unfair == {}
        assert one.right == one.tried


def test_none_comes_out(graded, ended):
    assert graded.escaped == []
    assert ended.escaped == []


def test_descriptors_that_do_not_wait_change_no_result(graded, place):
    """The cell makes the engine's channel non-blocking; whether that killed the notebook depended on who was faster."""
    rows = bench.given(place / "results")["t-reads-descriptors"]
    assert {item: row["status"] for item, row in rows.items() if item.startswith("04.")} == {
        "04.1": "wrong",
        "04.2": "wrong",
        "04.3": "wrong",
        "04.4": "not attempted",  # its function does nothing
        "04.5": "not attempted",
    }


def test_nobody_else_is_harmed(graded):
    """Neither the grades of the honest students among them nor any student's files."""
    assert graded.harmed == []


# --- what watches sees something --------------------------------------------------------------------------


def test_a_trap_sees_what_comes_out(tmp_path):
    with bench.trap(tmp_path / "trap", LEFTOVER) as watched:
        pass
    assert watched.caught == []
    own = f"agl-{os.getpid()}"  # its own in each run: others may be under way on this machine
    code = f"import ctypes, time; ctypes.CDLL(None).prctl(15, b'{own}', 0, 0, 0); print(flush=True); time.sleep(3600)"
    with bench.trap(tmp_path / "trap2", own) as watched:
        (watched.folder / "shell").touch()
        (tmp_path.home() / f"{bench.LEFT_BEHIND}_{own}").touch()
        socket.create_connection(("127.0.0.1", watched.port)).close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as post:
            post.sendto(b"x", ("127.0.0.1", watched.port))
        if sys.platform == "linux":
            with socket.socket(socket.AF_UNIX) as abstract:
                abstract.connect(f"\0autograd-lab-{watched.port}")
            os.kill(watched.bystander.pid, signal.SIGCONT)
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        process.stdout.read(1)
    with process:
        process.kill()
    (tmp_path.home() / f"{bench.LEFT_BEHIND}_{own}").unlink()
    assert [caught.split()[0] for caught in watched.caught] == (
        ["connected", *(["connected"] if sys.platform == "linux" else []), "sent"]
        + [*(["signaled"] if sys.platform == "linux" else []), "wrote", "wrote"]
        + (["left"] if sys.platform == "linux" else [])
    )


def test_an_unfair_grade_is_seen(tmp_path):
    case = Case("eve", "tampered", fair={"04.1": (0.0, 0.0), "04.2": (1.0, 2.0), "04.3": (2.0, 2.0)})
    rows = [
        {"item": "04.1", "points": 4.0, "status": "passed", "says": ""},
        {"item": "04.2", "points": 1.5, "status": "wrong", "says": "close"},
    ]
    told = {"students": [{"student": "eve", "notebooks": [{"items": rows}]}]}
    (tmp_path / "grades.json").write_text(json.dumps(told), encoding="utf-8")
    assert bench.unfair([case], tmp_path) == {"eve": ["04.1: 4 instead of 0, passed. ", "04.3: no row"]}


def test_a_changed_file_is_seen(tmp_path):
    write([mixture(1)], tmp_path)
    before = bench.tree(tmp_path)
    assert bench.tree(tmp_path) == before
    path = next(tmp_path.rglob("*.ipynb"))
    os.utime(path, ns=(1, 1))
    assert bench.tree(tmp_path) != before


def test_files_that_differ_are_seen(tmp_path):
    for name, seconds, points in (("a", 1, "1"), ("b", 2, "1"), ("c", 1, "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "grades.json").write_text(json.dumps({"timing": seconds, "points": points}))
        (tmp_path / name / "gradebook.db").write_text(name)
    (tmp_path / "b" / "more.csv").touch()
    assert bench.differing(tmp_path / "a", tmp_path / "b") == ["more.csv"]
    assert bench.differing(tmp_path / "a", tmp_path / "c") == ["grades.json"]


def test_what_is_measured_counts_every_process():
    """Also one whose parent has gone."""
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    if os.fork() == 0:\n"
        "        while time.process_time() < 0.4: pass\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    if not hasattr(os, "fork"):
        pytest.skip("processes are counted where there is fork")
    assert bench.measure([sys.executable, "-c", code]).cpu > 0.4
    with pytest.raises(CannotGradeError, match="exit status 3"):
        bench.measure([sys.executable, "-c", "raise SystemExit(3)"])
