"""Whatever a student hands in costs the grader at most two seconds and 200 MB before it runs, and one line that names the student."""

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

import classroom as c
import pytest
from floods import floods

SECONDS, BYTES = 2.0, 200 * 2**20

#: Looks at each folder that is named on its input as the grader does before anything runs, in a process of its own, and tells what that
#: cost. The processes are forked from one that has imported all.
LOOK = r"""
import json, os, re, resource, sys
from pathlib import Path
import classroom as c
from autograd_lab.grade import merge, run, submissions
course = c.course()
shelf = merge.shelf(course.released.values())
def used():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    # Not ru_maxrss: it begins with that of the process that started this one.
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
    return sum(u.ru_utime + u.ru_stime for u in both), peak
def look(folder):
    seconds, before = used()
    found = submissions.find(Path(folder), shelf, wanted=[c.BOOK], roster=["ada", "bob"])
    tasks = [run._look(one, submissions.MOST_BYTES) for one in found.submissions]
    after, peak = used()
    print(json.dumps({
        "seconds": after - seconds, "bytes": peak - before, "warnings": found.warnings,
        "troubles": {task.submission.student: task.trouble for task in tasks},
        "read": all(task.submission.file and not task.trouble for task in tasks),
    }), flush=True)
for line in sys.stdin:
    if not (child := os.fork()):
        look(line.rstrip())
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(json.dumps({"ended": "the look failed"}), flush=True)
"""


@pytest.fixture(scope="module")
def looker():
    """The process that looks, and where it writes its errors."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [sys.executable, "-c", LOOK],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", env=environment,
        ) as process,
    ):  # fmt: skip
        yield process, errors
        process.stdin.close()


def looked(looker, folder):
    """What it cost to look at a folder."""
    process, errors = looker
    print(folder, file=process.stdin, flush=True)
    ready, _, _ = select.select([process.stdout], [], [], 120)
    told = json.loads(process.stdout.readline() or "{}") if ready else {"ended": "it took two minutes"}
    if "seconds" not in told:
        errors.seek(0)
        pytest.fail(f"{told}: {errors.read().decode()}")
    return told


@pytest.mark.skipif(sys.platform != "linux", reason="measures with /proc, which Linux alone has")
@pytest.mark.parametrize("name", floods())
def test_a_flood_costs_little_and_is_told_in_a_line(name, looker, tmp_path):
    (tmp_path / "ada").mkdir()
    floods()[name](tmp_path / "ada")
    c.hand_in(tmp_path, "bob", c.document())
    told = looked(looker, tmp_path)
    assert told["seconds"] <= SECONDS
    assert told["bytes"] <= BYTES
    lines = [line for line in told["warnings"] if "ada" in line] + [told["troubles"]["ada"]]
    assert len([line for line in lines if line]) == 1 or (told["read"] and not any(lines)), lines
    assert not told["troubles"]["bob"]
