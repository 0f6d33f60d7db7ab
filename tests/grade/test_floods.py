"""Whatever a student hands in costs the grader at most two seconds and 200 MB before it runs, and one line that names the student."""

import json
import os
import subprocess
import sys
from pathlib import Path

import classroom as c
import pytest
from floods import floods

SECONDS, BYTES = 2.0, 200 * 2**20

#: Finds what was handed in and looks at it as the grader does before anything runs; tells what that cost.
LOOK = r"""
import json, re, resource, sys
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
seconds, before = used()
found = submissions.find(Path(sys.argv[1]), shelf, wanted=[c.BOOK], roster=["ada", "bob"])
tasks = [run._look(one, submissions.MOST_BYTES) for one in found.submissions]
after, peak = used()
json.dump({
    "seconds": after - seconds, "bytes": peak - before, "warnings": found.warnings,
    "troubles": {task.submission.student: task.trouble for task in tasks},
}, sys.stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measures with /proc, which Linux alone has")
@pytest.mark.parametrize("name", floods())
def test_a_flood_costs_little_and_is_told_in_a_line(name, tmp_path):
    (tmp_path / "ada").mkdir()
    floods()[name](tmp_path / "ada")
    c.hand_in(tmp_path, "bob", c.document())
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path)],
        capture_output=True, encoding="utf-8", timeout=120, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert told["seconds"] <= SECONDS
    assert told["bytes"] <= BYTES
    lines = [line for line in told["warnings"] if "ada" in line] + [told["troubles"]["ada"]]
    assert len([line for line in lines if line]) <= 1, lines
    assert not told["troubles"]["bob"]
