"""The real command, killed with SIGKILL at any moment and started again: nothing lost, nothing doubled, the same results.

A few moments here. `python tests/grade/test_kill.py 50` tries as many as it is told.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from corpus import mixture, stems, write

from autograd_lab.grade import bench, gradebook
from autograd_lab.grade.gradebook import Gradebook

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL there")
STUDENTS = 24


def start(folder, out):
    """The command, with a TMPDIR by which its processes can be known."""
    command = [
        sys.executable,
        "-m",
        "autograd_lab",
        "grade",
        f"{folder}/submissions",
        "--out",
        str(out),
        "--workers",
        "2",
    ]
    command += ["--quiet", "--no-require-sandbox"]  # the work is the course's own
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process):
    """Wait until it is done."""
    said = process.communicate(timeout=1800)[1]
    assert process.returncode == 0, said.decode()


def left(folder):
    """Processes of the command that do not end when it has gone: one that is still loading its libraries notices afterwards."""
    mark, end = f"TMPDIR={folder}/tmp".encode(), time.monotonic() + 180
    while True:
        there = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes():
                    there.append(entry.name)
            except OSError:
                continue
        if not there or time.monotonic() > end:
            return there
        time.sleep(0.1)


def kill_and_resume(folder, kills):
    """How it went: {"kills": ..., "finished": runs that came to their end before, "recorded": submissions there at each kill}."""
    (folder / "tmp").mkdir()
    write([mixture(len(stems()) * number + 4) for number in range(STUDENTS)], folder / "submissions")
    began = time.monotonic()
    finish(start(folder, folder / "whole"))
    whole = time.monotonic() - began
    draw, told = random.Random(9), {"kills": 0, "finished": 0, "recorded": []}
    out, before = folder / "out-0", 0
    while told["kills"] < kills:
        process = start(folder, out)
        try:
            process.wait(draw.uniform(0, 1.1 * whole))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            told["kills"] += 1
            assert left(folder) == [], "processes outlive the command"
            if (out / gradebook.NAME).exists():
                with Gradebook(out / gradebook.NAME) as book:
                    entries = book.entries()
                    assert all(entry.results for entry in entries), "a submission is half recorded"
                    assert len({(entry.student, entry.notebook) for entry in entries}) == len(entries)
                assert len(entries) >= before, "a result is lost"
                before = len(entries)
                told["recorded"].append(before)
            continue
        finish(process)
        told["finished"] += 1
        agrees(folder, out)
        out, before = folder / f"out-{told['finished']}", 0
    finish(start(folder, out))
    agrees(folder, out)
    assert list((folder / "tmp").iterdir()) == [], "what the killed ones left is still there"
    return told


def agrees(folder, out):
    """The results are those of the run that nobody disturbed, byte for byte but for `timing`; nothing was graded twice."""
    assert bench.differing(folder / "whole", out) == []
    students = json.loads((out / "grades.json").read_text())["students"]
    assert len(students) == STUDENTS
    with Gradebook(out / gradebook.NAME) as book:
        assert [row for row in book.history() if row["event"] == "regraded"] == []


@pytest.mark.slow
def test_killed_and_started_again(tmp_path):
    told = kill_and_resume(tmp_path, 3)
    assert told["kills"] == 3


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        told = kill_and_resume(Path(place), int(sys.argv[1]))
    print(
        f"{told['kills']} kills, {told['finished']} runs finished in between, recorded at each: {told['recorded']}; lost 0, doubled 0"
    )
