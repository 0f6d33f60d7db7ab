"""The engine and the course in a browser's Python: Pyodide, here without a browser, in Node.js.

One process runs everything: the examples of the core, the conformance banks, the sample calls of all rules, and all code cells
of the course. pyodide.txt says where Pyodide comes from; `.ci/run` gets it if it can.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import told
from test_bank import KNOWN
from test_examples import WRITTEN

import autograd_lab

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NODE, PYODIDE = shutil.which("node"), os.environ.get("PYODIDE_FOLDER")
PACKAGES = ("networkx", "ipywidgets", "anywidget", "comm", "psygnal", "typing_extensions")
"""What the course needs and Pyodide has not: those of this environment, which are Python alone or do without the rest."""

pytestmark = [
    pytest.mark.slow,  # a minute: Python starts in WebAssembly, and runs the course
    pytest.mark.skipif(NODE is None, reason="needs Node.js"),
    pytest.mark.skipif(
        PYODIDE is None,
        reason="needs Pyodide: set PYODIDE_FOLDER to it; tests/webassembly/pyodide.txt says where to get it",
    ),
]


def places(name):
    """The folders and files of an installed package."""
    found = importlib.metadata.distribution(name)
    tops = {file.parts[0] for file in found.files or () if ".." not in file.parts}
    return [
        str(found.locate_file(top))
        for top in sorted(tops)
        if not top.endswith((".so", "__pycache__", "share"))
    ]


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    """A function that gives the answer of a part."""
    out = tmp_path_factory.mktemp("pyodide")
    command = [NODE, HERE / "run.mjs", Path(PYODIDE).resolve(), ROOT, out]
    packages = [place for name in PACKAGES for place in places(name)]
    done = subprocess.run([*command, *packages], capture_output=True, text=True, timeout=900)
    errors = [line for line in done.stderr.splitlines() if len(line) < 1000]  # without Pyodide's own source
    assert done.returncode == 0, "\n".join(errors)[-3000:]
    print(done.stdout)  # the seconds of each part

    def answer(part):
        told = json.loads((out / f"{part}.json").read_text("utf-8"))
        assert not isinstance(told, str), told
        return told

    return answer


@pytest.mark.parametrize("part", ["core", "examples"])
def test_the_examples_of_the_core_hold(inside, part):
    assert inside(part) == {page: [n, 0] for page, n in WRITTEN.items()}


def test_the_banks_hold(inside):
    wrong = inside("bank")
    assert wrong.keys() == KNOWN.keys(), wrong


@pytest.mark.parametrize("part", ["calls", "integers"])
def test_the_types_are_the_same(inside, part):
    here, there = getattr(told, part)(autograd_lab), inside(part)
    assert {name: [here[name], there[name]] for name in here if here[name] != there[name]} == {}


def test_a_students_own_numbers_are_those_that_the_grader_derives(inside):
    assert inside("variants") == told.variants()


def test_nothing_needs_a_thread(inside):
    assert inside("threads") == {"deep": [2.0, "RecursionError"], "stopped": [True, True], "result": 7}


def test_all_cells_of_the_course_run(inside):
    books = inside("notebooks")
    assert {name: wrong for name, (_, wrong) in books.items() if wrong} == {}
    assert sum(count for count, _ in books.values()) > 400
