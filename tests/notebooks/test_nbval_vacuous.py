"""What nbval lets through, and that the lint does not. If nbval ever closes a gap, the first test says so."""

import json
import re
import subprocess
import sys

import pytest
from notebook_fixtures import code, error, good, markdown, shown, stream

from autograd_lab.course import lint
from autograd_lab.grade.validate import PYTEST

pytestmark = pytest.mark.slow

_PROSE = good()["cells"][0]


def books():
    """Name of the notebook: (its cells, whether strict nbval passes it)."""
    return {
        "07_honest": ([code("print(96)", 1, stream("96\n"))], True),
        "07_changed_text": ([code("print(96)", 1, stream("144\n"))], False),
        "07_changed_picture": (
            [code(_SHOW_SVG, 1, shown(**{"image/svg+xml": "<svg><text>48</text></svg>", "text/plain": "s"}))],
            False,
        ),
        "07_error_gone": ([code("1 / 1", 1, error(), tags=("raises-exception",))], False),
        # From here on nbval passes what proves nothing.
        "07_stripped": ([code("print(96)", None)], True),
        "07_announced_error_never_run": ([code("1 / 1", None, tags=("raises-exception",))], True),
        "07_ignored": ([code("# NBVAL_IGNORE_OUTPUT\nprint(96)", 1, stream("144\n"))], True),
        "07_shell": ([code("!false", 1)], True),
    }


_SHOW_SVG = """
class S:
    def __repr__(self):
        return "s"
    def _repr_svg_(self):
        return "<svg><text>96</text></svg>"
S()
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Strict nbval over all of them, in one run: {notebook: passed}."""
    folder = tmp_path_factory.mktemp("vacuous")
    for name, (cells, _) in books().items():
        book = good() | {"cells": [_PROSE | {"id": "m0"}, *cells]}
        (folder / f"{name}.ipynb").write_text(json.dumps(book), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [
        sys.executable,
        "-c",
        PYTEST,
        "--nbval",
        "--nbval-current-env",
        "-v",
        "-p",
        "no:cacheprovider",
    ]
    command += ["--color=no", "--nbval-cell-timeout=300", "--nbval-kernel-startup-timeout=300", "."]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    lines = re.findall(r"^(07_\w+)\S*::Cell 0 (PASSED|FAILED|SKIPPED)", ran.stdout, re.MULTILINE)
    assert len(lines) == len(books()), ran.stdout + ran.stderr
    return {name: word == "PASSED" for name, word in lines}


@pytest.mark.parametrize("name", books())
def test_what_nbval_says(outcome, name):
    assert outcome[name] is books()[name][1]


@pytest.mark.parametrize("name", books())
def test_what_nbval_passes_for_nothing_the_lint_rejects(name):
    """Together they pass only the honest notebook."""
    cells, passes = books()[name]
    found = lint.problems(good() | {"cells": [_PROSE, *cells, markdown("The end.")]}, name)
    if name == "07_honest":
        assert found == []
    elif passes:
        assert found != []
