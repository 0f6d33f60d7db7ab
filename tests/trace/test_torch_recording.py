"""What lab.record_torch writes down of real PyTorch is what lab.record writes down of the same program here."""

import pytest
from agreement import Field, Only, compare
from torch_programs import PROGRAMS

import autograd_lab
import autograd_lab.utils.checkpoint
from autograd_lab import lab

torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
pytest.importorskip("torch.utils.checkpoint")

#: Every difference there is; autograd_lab/tracing/README.md says why.
DIFFERENCES = {
    "convolution": [
        Field("node", "ConvolutionBackward0", "saved", ("input",), ("input", "weight")),
        Field("free", "ConvolutionBackward0", "saved", ("input",), ("input", "weight")),
    ],
    "views": [
        Only("native", "edge", "MulBackward0", times=2, line="row.mul_(w)"),
        Field("node", "UnsafeViewBackward0", "params", ("shape",), ()),
    ],
    "hooks": [
        Only("native", "leaf", "", line="grads[0] * 0.5"),
        Only("native", "leaf", "g", line="g * 2"),
    ],
    "checkpointed": [
        Only("native", "leaf", "", line="tanh"),
        Only("real", "node", "TanhBackward0", line="tanh", after=1),
        Only("real", "edge", "TanhBackward0", line="tanh", after=1),
    ],
    "training": [
        Only("real", "mode", "False", times=2, line="optimizer.step()"),
        Only("real", "mode", "True", times=2, line="optimizer.step()"),
        Field("inplace", "SGD", "op", "SGD", "add_"),
    ],
}


def record(name, library, recorder):
    """The trace of a program, and the error it ended with."""
    steps = PROGRAMS[name](library)
    next(steps)
    error = None
    try:
        with recorder() as trace:
            for _ in steps:
                pass
    except RuntimeError as raised:
        error = str(raised)
    return trace, error


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_two_traces_agree(name):
    native, error = record(name, autograd_lab, lab.record)
    real, real_error = record(name, torch, lab.record_torch)
    assert error == real_error
    real.check()
    compare(native, real, DIFFERENCES.get(name, []))
