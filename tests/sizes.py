"""How large is it? `python -m tests.sizes [OTHER]`: lines of code by wing, and the change against another checkout.

Lines without docstrings, comments and empty lines count. No wing but the course grows without a reason in its commit.
"""

import sys
from collections import Counter
from pathlib import Path

from tests.core.test_lesson import code_lines

ROOT = Path(__file__).parents[1]
WINGS = {
    "the lesson": ("autograd",),
    "rules": ("ops",),
    "express": ("express",),
    "compiler": ("compiler",),
    "PyTorch's other packages": ("nn", "optim", "utils", "distributions"),
    "tracing": ("tracing",),
    "widgets": ("widgets",),
    "course": ("course",),
    "grade": ("grade",),
}
REST = "loose files"


def sizes(root):
    """{wing: lines of code} of a checkout."""
    package = root / "autograd_lab"
    wing_of = {folder: wing for wing, folders in WINGS.items() for folder in folders}
    found = Counter(dict.fromkeys([*WINGS, REST], 0))
    for path in package.rglob("*.py"):
        folder = path.relative_to(package).parts[0]
        if folder != "_course":  # a copy of the notebooks, made when a wheel is built
            found[wing_of.get(folder, REST)] += len(code_lines(path.read_text(encoding="utf-8")))
    return found


def main():
    now = sizes(ROOT)
    before = sizes(Path(sys.argv[1])) if len(sys.argv) > 1 else None
    for wing, lines in [*now.items(), ("all", now.total())]:
        change = (
            f"{lines - (before.total() if wing == 'all' else before[wing]):>+8,}"
            if before is not None
            else ""
        )
        print(f"{wing:<26}{lines:>8,}{change}")


if __name__ == "__main__":
    main()
