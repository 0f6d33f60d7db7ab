"""Programs that must leave the same results here and in PyTorch, and what PyTorch 2.13.0 left, stored in recordings/.

A program is a few lines that see `torch` (the library under test), `np`, `fill` and `graph`, and leave a dict `out`. Tests
compare autograd_lab with the stored results; where PyTorch is installed, another test holds the stored results
against it. `python -m tests.record nn` records what test_nn.py compares with; tests/record.py says the rest.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np
from graphs import nested

FOLDER = Path(__file__).parent / "recordings"
VERSION = "2.13.0"  # of PyTorch
PREFIX = 60  # characters of a message that count


def fill(module):
    """Give every parameter of a module fixed numbers, so that random initialization does not matter."""
    for k, p in enumerate(module.parameters()):
        values = np.sin(np.arange(p.numel()) * (1.3 + k) + k).reshape(tuple(p.shape)) * 0.5
        p.data.copy_(p.data.new_tensor(values.tolist()))
    return module


def run(code, torch):
    """What a program leaves in `out`, as plain data; an exception counts as a result."""
    space = {
        "torch": torch,
        "np": np,
        "nn": torch.nn,
        "F": torch.nn.functional,
        "fill": fill,
        "graph": nested,
        "out": {},
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code, space)
    out = {name: plain(value) for name, value in space["out"].items()}
    given = sorted({f"{w.category.__name__}: {str(w.message)[:PREFIX]}" for w in caught})
    return out | ({"warnings": given} if given else {})


def attempt(fn):
    """What calling fn raises, as text, or what it returns."""
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:PREFIX]}"


# Python itself refuses to divide by zero, and in newer Pythons says so in other words. Results were recorded with Python 3.11;
# a recorded text stands for what the Python that runs the tests says to the same division.
IN_THIS_PYTHON = {
    f"ZeroDivisionError: {words}": attempt(divide)
    for words, divide in {
        "division by zero": lambda: 1 / 0,
        "integer division or modulo by zero": lambda: 1 // 0,
        "integer modulo by zero": lambda: 1 % 0,
        "float division by zero": lambda: 1.0 / 0.0,
        "float floor division by zero": lambda: 1.0 // 0.0,
        "float modulo": lambda: 1.0 % 0.0,
    }.items()
}


def plain(value):
    """A value as JSON can hold it."""
    if hasattr(value, "requires_grad") and hasattr(value, "tolist"):
        node = value.grad_fn and value.grad_fn.name()
        digits = 16 if str(value.dtype) == "torch.float64" else 9
        return {
            "tensor": shortened(plain(value.detach().tolist()), digits),
            "dtype": str(value.dtype),
            "grad": value.requires_grad,
            "node": node,
        }
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (np.integer, np.floating)):
        return plain(value.item())
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def shortened(numbers, digits):
    """Nested lists of numbers without the digits that the type does not have."""
    if isinstance(numbers, list):
        return [shortened(n, digits) for n in numbers]
    return float(f"{numbers:.{digits}g}") if isinstance(numbers, float) else numbers


def differences(mine, theirs, path="out", tolerance=2e-5):
    """Where two results differ, as lines of text."""
    if isinstance(theirs, dict) and isinstance(mine, dict):
        if list(mine) != list(theirs):
            return [f"{path}: keys {list(mine)} instead of {list(theirs)}"]
        loose = 2e-12 if theirs.get("dtype") == "torch.float64" else tolerance
        return [
            d
            for k in theirs
            for d in differences(
                mine[k], theirs[k], f"{path}.{k}", loose if "tensor" in theirs else tolerance
            )
        ]
    if isinstance(theirs, list) and isinstance(mine, list):
        if len(mine) != len(theirs):
            return [f"{path}: {len(mine)} entries instead of {len(theirs)}"]
        return [
            d
            for i, (a, b) in enumerate(zip(mine, theirs, strict=True))
            for d in differences(a, b, f"{path}[{i}]", tolerance)
        ]
    if isinstance(theirs, float) and isinstance(mine, (int, float)):
        near = abs(mine - theirs) <= tolerance * max(1.0, abs(theirs))
        return [] if near else [f"{path}: {mine} instead of {theirs}"]
    if isinstance(theirs, str):
        theirs = IN_THIS_PYTHON.get(theirs, theirs)
    return (
        [] if mine == theirs and type(mine) is type(theirs) else [f"{path}: {mine!r} instead of {theirs!r}"]
    )


def path_of(test_file):
    """Where the results that belong to a test file are recorded."""
    return FOLDER / (Path(test_file).stem.removeprefix("test_") + ".json")


def stored(test_file):
    """The recorded results that belong to a test file."""
    path = path_of(test_file)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def differing(library, programs, results, compare=differences):
    """A line for each way in which a program leaves in a library what is not recorded; one that raises hides no other."""
    lines = []
    for name, code in programs.items():
        try:
            found = compare(run(code, library), results[name])
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        lines += [f"{name}: {line}" for line in found]
    return lines


def check_live(recorded, programs, compare=differences, of_the_build=()):
    """Fail if a program leaves in live PyTorch what is not recorded, and name each that does.

    Skips the test if PyTorch is not installed, or not the version of the record. What programs `of_the_build` leave depends on how
    PyTorch was built; the record is that of the build for the CPU.
    """
    import pytest

    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: only the recorded results are compared"
    )
    version = torch.__version__.split("+")[0]
    if version != recorded["torch"]:
        pytest.skip(f"recorded on PyTorch {recorded['torch']}, not {version}")
    if torch.version.cuda is not None:
        programs = {name: code for name, code in programs.items() if name not in of_the_build}
    lines = differing(torch, programs, recorded["results"], compare)
    if lines:
        pytest.fail("\n".join(lines), pytrace=False)
