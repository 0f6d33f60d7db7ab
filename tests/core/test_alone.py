"""The core runs alone: copied into an empty folder, it does and tells what it does and tells inside of the package."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import autograd_lab
from tests.core.programs import PROGRAMS, RECORDED_PASSES

PACKAGE = Path(autograd_lab.__file__).parent
CORE = PACKAGE / "core"
TELL = Path(__file__).with_name("tell.py")


def verbs():
    """The events that the core itself tells of: calls on a watcher in its files."""
    found = set()
    for path in CORE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                receiver = ast.unparse(node.func.value)
                if receiver in ("watcher()", "watch") or receiver.endswith(".watch"):
                    found.add(node.func.attr)
    return sorted(found - {"followed"})  # the core makes zeros where PyTorch's own formulas do not


def told_by(folder, package):
    """{program: what it tells} in a process that finds `package` in `folder`."""
    given = json.dumps(verbs()) + "\n" + json.dumps(PROGRAMS) + "\n"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, str(TELL), str(folder), package],
        input=given,
        capture_output=True,
        text=True,
        env=environment | {"AUTOGRAD_LAB_EXPRESS": "0"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """What the programs tell on the core alone, and on the package."""
    empty = tmp_path_factory.mktemp("alone")
    shutil.copytree(CORE, empty / "core", ignore=shutil.ignore_patterns("__pycache__"))
    return told_by(empty, "core"), told_by(PACKAGE.parent, "autograd_lab")


def test_the_core_tells_of_most_events():
    assert len(verbs()) >= 20


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_tells_the_same(both, name):
    alone, inside = (told[name] for told in both)
    assert alone["seen"] == inside["seen"]
    assert len(alone["events"]) >= 3
    if name in RECORDED_PASSES:
        return
    for mine, theirs in zip(alone["events"], inside["events"], strict=False):
        assert mine == theirs
    assert len(alone["events"]) == len(inside["events"])


def test_the_core_needs_numpy_and_the_standard_library_only():
    for path in CORE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            elif isinstance(node, ast.ImportFrom):
                depth = len(path.relative_to(CORE).parts)
                assert node.level <= depth, f"{path.name}:{node.lineno} imports from above the core"
                continue
            else:
                continue
            for name in names:
                top = name.partition(".")[0]
                assert top == "numpy" or top in sys.stdlib_module_names, f"{path.name}:{node.lineno}"
