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
get_ipython().kernel.iopub_thread.schedule(lambda: time.sleep(6))
display({"text/plain": "96"}, raw=True)"""


def test_output_may_come_late(tmp_path):
    (tmp_path / "notebooks").mkdir()
    book = good() | {"cells": [code(LATE, 1, shown(**{"text/plain": "96"}))]}
    (tmp_path / "notebooks" / "late.ipynb").write_text(json.dumps(book), encoding="utf-8")
    shutil.copy(ROOT / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:nbval",
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout=120",
    ]
    ran = subprocess.run(
        [*command, "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},  # conftest.py imports from the checkout's tests
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 passed" in ran.stdout
