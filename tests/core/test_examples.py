"""The examples in the core's docstrings hold, in the package and in the core alone."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import autograd_lab

PACKAGE = Path(autograd_lab.__file__).parent
CORE = PACKAGE / "core"
RUN = Path(__file__).with_name("examples.py")
WRITTEN = {
    path.relative_to(CORE).as_posix(): len(re.findall(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE))
    for path in CORE.rglob("*.py")
}  # fmt: skip
"""{page: how many examples it has}."""


def run(folder, package, express="0"):
    """{page: [examples run, examples failed]} in a process that finds `package` in `folder`, and what it printed."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, str(RUN), str(folder), package],
        capture_output=True,
        text=True,
        env=environment | {"AUTOGRAD_LAB_EXPRESS": express},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    printed, _, counts = done.stdout.rstrip().rpartition("\n")
    return json.loads(counts), printed


@pytest.mark.parametrize("express", ["0", "1"])
def test_the_examples_hold_in_the_package(express):
    counts, printed = run(PACKAGE.parent, "autograd_lab", express)
    assert counts == {page: [n, 0] for page, n in WRITTEN.items()}, printed


def test_the_examples_hold_in_the_core_alone(tmp_path):
    shutil.copytree(CORE, tmp_path / "core", ignore=shutil.ignore_patterns("__pycache__"))
    counts, printed = run(tmp_path, "core")
    assert counts == {page: [n, 0] for page, n in WRITTEN.items()}, printed


def test_every_page_has_an_example():
    assert {page for page, n in WRITTEN.items() if not n} == {"__init__.py", "rules/__init__.py"}
