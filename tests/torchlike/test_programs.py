"""Whole scripts as people write them for PyTorch run here with one line changed, and print what PyTorch printed.

The scripts stand in programs/, what PyTorch 2.13.0 printed in recordings/programs/. To record them:

    python -m tests.record programs
"""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest
from recorded import FOLDER as RECORDINGS
from recorded import VERSION

FOLDER = Path(__file__).parent / "programs"
PRINTED = RECORDINGS / "programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
TOLERANCE = 2e-3  # training in single precision makes the last places of the two libraries drift apart


def translated(text):
    """The script with its imports of torch made into imports of autograd_lab, and nothing else changed."""
    text = re.sub(r"^import torch$", "import autograd_lab as torch", text, flags=re.M)
    return re.sub(r"^(import|from) torch\b", r"\1 autograd_lab", text, flags=re.M)


def printed(name, translate):
    """What the script prints."""
    path = FOLDER / f"{name}.py"
    text = path.read_text(encoding="utf-8")
    code = compile(translated(text) if translate else text, path, "exec")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what warns is tested elsewhere
        exec(code, {"__name__": "__main__"})
    return out.getvalue()


def differences(mine, theirs):
    """Lines that differ in their words, or in a number by more than rounding."""
    mine, theirs = mine.splitlines(), theirs.splitlines()
    found = [] if len(mine) == len(theirs) else [f"{len(mine)} lines instead of {len(theirs)}"]
    for a, b in zip(mine, theirs, strict=False):
        words = [re.sub(" +", " ", NUMBER.sub("#", line)) for line in (a, b)]
        numbers = [[float(n) for n in NUMBER.findall(line)] for line in (a, b)]
        if words[0] != words[1] or any(
            abs(x - y) > TOLERANCE * max(abs(y), 0.05) for x, y in zip(*numbers, strict=True)
        ):
            found.append(f"printed:  {a}\nrecorded: {b}")
    return found


def recorded(name):
    """What PyTorch printed."""
    return (PRINTED / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_script_prints_what_it_printed_in_pytorch(name):
    found = differences(printed(name, translate=True), recorded(name))
    assert not found, "\n".join(found[:5])


def test_the_record_is_what_live_pytorch_prints():
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: only the recorded texts are compared"
    )
    if torch.__version__.split("+")[0] != VERSION:
        pytest.skip(f"recorded on PyTorch {VERSION}, not {torch.__version__}")
    found = []
    for name in NAMES:
        try:
            lines = differences(printed(name, translate=False), recorded(name))
        except Exception as error:
            lines = [f"{type(error).__name__}: {error}"]
        found += [f"{name}: {line}" for line in lines[:5]]
    assert not found, "\n".join(found)


def test_the_comparison_notices_differences():
    assert not differences("loss 0.12341 [1, 2]", "loss 0.12340 [1,  2]".replace("  ", " "))
    assert differences("loss 0.1234", "loss 0.1251")
    assert differences("loss 0.1", "Loss 0.1")
    assert differences("a\nb", "a")


def record():
    """Write what PyTorch prints; where only rounding differs, the old text stays."""
    for name in NAMES:
        text = printed(name, translate=False)
        path = PRINTED / f"{name}.txt"
        if not path.exists() or differences(text, recorded(name)):
            path.write_text(text, encoding="utf-8")
