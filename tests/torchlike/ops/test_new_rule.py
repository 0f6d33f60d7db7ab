"""CONTRIBUTING's promise: a new pointwise rule is a dozen lines in one place, and a command writes down where it is."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

USE = """
import autograd_lab as torch
x = torch.tensor([0.5, -2.0, 100.0], dtype=torch.float64, requires_grad=True)
y = torch.logcosh(x)
assert y.grad_fn.name() == "LogcoshBackward0" and y.grad_fn._saved_self is x
assert torch.autograd.gradcheck(torch.Tensor.logcosh, x) and torch.autograd.gradgradcheck(torch.logcosh, x)
z = torch.zeros(3); assert z.logcosh_() is z and z._version == 1
from autograd_lab import lab
with lab.record() as trace:
    x.logcosh()
assert trace.nodes[-1]["vjp"] == "g * tanh(a)", trace.nodes[-1]
"""


def test_the_example_of_contributing_works_as_printed(tmp_path):
    """The block, added to a copy of the package, gives function, method, in-place form, derivatives and narration."""
    block = re.search(
        r"```python\n(@unary.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL
    )[1]
    assert len([line for line in block.splitlines() if line.strip()]) < 12
    shutil.copytree(
        ROOT / "autograd_lab", tmp_path / "autograd_lab", ignore=shutil.ignore_patterns("__pycache__", "data")
    )
    page = tmp_path / "autograd_lab" / "torchlike" / "ops" / "pointwise.py"
    page.write_text(page.read_text(encoding="utf-8") + "\n\n" + block, encoding="utf-8")
    for command in (["-m", "autograd_lab.loading"], ["-c", USE]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
