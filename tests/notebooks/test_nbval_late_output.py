"""On a loaded machine a cell's output may come long after the cell has ended: nbval by itself waits five seconds."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from notebook_fixtures import code, good, shown

ROOT = Path(__file__).resolve().parents[2]

LATE = """\
import sys, time
sys.stdout.flush = sys.stderr.flush = lambda: None  # the cell does not wait until its output has been sent
get_ipython().kernel.iopub_thread.schedule(lambda: time.sleep(2))
display({"text/plain": "96"}, raw=True)"""
HASTY = """\
from nbval.plugin import IPyNbCell
begin = IPyNbCell.__init__
def hasty(self, *words, **named):
    begin(self, *words, **named)
    assert self.output_timeout == 5, "nbval waits otherwise by itself"
    self.output_timeout = 1
IPyNbCell.__init__ = hasty"""
"""nbval with a second in place of its five: the test need not wait so long."""


def test_output_may_come_late(tmp_path):
    (tmp_path / "notebooks").mkdir()
    book = good() | {"cells": [code(LATE, 1, shown(**{"text/plain": "96"}))]}
    (tmp_path / "notebooks" / "late.ipynb").write_text(json.dumps(book), encoding="utf-8")
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "hasty.py").write_text(HASTY, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:nbval",
        "-p",
        "hasty",
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout=120",
    ]
    ran = subprocess.run(
        [*command, "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])
        },  # conftest.py imports from the checkout's tests
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
