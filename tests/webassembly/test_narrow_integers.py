"""Integers are int64, and positions are taken, where NumPy counts with 32 bits: found without such a machine.

The banks and the sample calls of all rules run on a NumPy whose functions count with 32 bits. What arrays do themselves cannot be
replaced: the sources are searched for it. test_pyodide.py runs the same on such a machine.
"""

import ast
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import told
from test_bank import KNOWN

import autograd_lab

PACKAGE = Path(autograd_lab.__file__).parent
SOURCES = sorted(
    path for wing in ("core", "torchlike", "express", "compiler") for path in (PACKAGE / wing).rglob("*.py")
)

# -- a NumPy that counts with 32 bits ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow():
    done = subprocess.run([sys.executable, told.__file__, "--narrow"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_banks_hold(narrow):
    assert narrow["bank"].keys() == KNOWN.keys(), narrow["bank"]


@pytest.mark.parametrize("part", ["calls", "integers"])
def test_the_types_are_the_same(narrow, part):
    here, there = getattr(told, part)(autograd_lab), narrow[part]
    assert {name: [here[name], there[name]] for name in here if here[name] != there[name]} == {}


# -- what arrays do themselves ----------------------------------------------------------------------------

WANTING = {"take": 0, "put": 0, "repeat": 0, "choose": 0, "reduceat": 1}
"""Methods that refuse int64 positions there, and which argument has them."""

UNCHECKED = {
    "torchlike/ops/convolution.py: where.take(np.minimum(nearest, n - 1), axis=2 + i)": "nearest is np.intp",
    "torchlike/ops/convolution.py: where.take(np.arange(m) * n // m, axis=2 + i)": "np.arange counts as NumPy does",
    "torchlike/ops/embedding.py: np.add.reduceat(g[order], starts, axis=0)": "from np.flatnonzero, NumPy's own",
}
"""Calls whose positions need no as_places, with the reason."""

OTHERS = {"inputs", "bias_k", "bias_v", "t", "np"}
"""Names that are no arrays."""


@cache
def calls():
    """(page, call) of all calls in the engine's sources."""
    return [
        (path.relative_to(PACKAGE).as_posix(), node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
    ]


def found(kind):
    return {f"{page}: {ast.unparse(call)}" for page, call in calls() if kind(call)}


def takes_positions(call):
    """Whether an array is asked for elements at positions that are not in `as_places`; np.take and others are tried above."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in WANTING:
        return False
    place, owner = WANTING[call.func.attr], ast.unparse(call.func.value)
    if owner in OTHERS or len(call.args) <= place:
        return False
    where = call.args[place]
    return not (isinstance(where, ast.Call) and ast.unparse(where.func) == "as_places")


def test_positions_are_as_numpy_wants_them():
    assert found(takes_positions) == UNCHECKED.keys()


def asks_for_int(call):
    """Whether a call of NumPy, or `astype`, has Python's `int` for a dtype: that has 32 bits there."""
    if not isinstance(call.func, ast.Attribute):
        return False
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "dtype")]
    int_among = any(isinstance(value, ast.Name) and value.id == "int" for value in given)
    return int_among and (call.func.attr == "astype" or ast.unparse(call.func.value) == "np")


def test_no_array_is_asked_for_as_int():
    assert found(asks_for_int) == set()
