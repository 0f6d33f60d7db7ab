"""What a user does first with an installed autograd_lab, for an environment that has nothing else: `python installed.py`.

tests/test_package.py runs it on the wheel, and so does the workflow that builds the package, outside the checkout.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import autograd_lab as torch
from autograd_lab import lab


def main() -> None:
    """The engine, a stepper as a page, and the student's copies. Raises AssertionError for what is not there."""
    home = Path(torch.__file__).resolve().parent
    assert (home / "_course").is_dir(), f"{home} is a checkout, not an installation"

    w = torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        loss = (w * 2 - 1) ** 2
        loss.backward()
    assert w.grad.item() == 20.0

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "steps.html")
        lab.step(trace).save_html(page)
        assert "PowBackward0" in page.read_text(encoding="utf-8")
        assert page.stat().st_size > 50_000
        assert "PowBackward0" in lab.draw(loss).svg

        places = [
            Path(sysconfig.get_path("scripts")),
            home.parent / "bin",
        ]  # the second one: pip install --target
        command = next(path for place in places for path in place.glob("autograd-lab*"))
        student = Path(folder, "work")
        subprocess.run(
            [command, "--copy-only", "--dir", student], check=True, env={**os.environ, "HOME": folder}
        )
        copied = {path.name for path in student.rglob("*.ipynb")}
        assert {"04_backward_node_by_node.ipynb", "exercise_04_backward_node_by_node.ipynb"} <= copied
        assert len(copied) >= 30, copied
    print(
        f"autograd_lab {torch.__version__} on Python {sys.version.split()[0]}: works, {len(copied)} notebooks"
    )


if __name__ == "__main__":
    main()
