"""The Python that README, docs and the pages for instructors print runs as it stands, and gives the tensors that its comments promise."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT, ROOT / "docs", ROOT / "autograd_lab" / "course")
OTHERS = {"CONTRIBUTING.md"}  # its rule is tested in torchlike/ops/test_new_rule.py
PAGES = [
    path.relative_to(ROOT).as_posix()
    for folder in FOLDERS
    for path in sorted(folder.glob("*.md"))
    if path.name not in OTHERS
]
BLOCKS = {
    f"{page} {i}": block
    for page in PAGES
    for i, block in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL))
}
BEFORE = {
    "docs/stepper.md 1": """
import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.course.own_engine import pop

fn, inputs = lambda a, b: a * b, (torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True))
with lab.record() as trace_a:
    y = fn(*inputs)
    y.backward()
with lab.record() as trace_b:
    y = fn(*inputs)
    y.backward()
w = torch.tensor([2.0, -1.0], requires_grad=True)
loss = y = (w * w).sum()
with lab.record() as trace:
    for _ in range(2):
        v = (w * w).sum()
        v.backward()
try:
    with lab.record():
        z = w * 1
        z.sum().backward(torch.ones(3))
except RuntimeError as caught:
    error = caught
"""
}
"""Blocks that are lists of calls, and what each of the calls takes for granted."""


def test_there_are_blocks():
    assert len(BLOCKS) >= 5
    assert set(BEFORE) <= set(BLOCKS)


def checked(block: str) -> str:
    """The block, with an assert for each line whose comment says which tensor it gives."""
    return re.sub(r"^(\S.*?) +# (tensor\(.*\))$", r"assert repr(\1) == '\2', \1", block, flags=re.MULTILINE)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_runs(name, tmp_path):
    block = BLOCKS[name]
    if importlib.util.find_spec("torch") is None:
        block = re.sub(r"^with lab\.record_torch.*\n", "", block, flags=re.MULTILINE)
    program = tmp_path / "block.py"
    if name in BEFORE:
        block = "".join(BEFORE[name] + call + "\n" for call in block.splitlines())
    program.write_text(checked(block), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_promises_in_comments_are_checked():
    assert checked("w.grad        # tensor([ 4., -2.])\nx = 1  # one\n") == (
        "assert repr(w.grad) == 'tensor([ 4., -2.])', w.grad\nx = 1  # one\n"
    )
