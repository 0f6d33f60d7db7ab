"""Anomaly mode: remember where each node was made, and stop at the first nan of the backward pass."""

import sys
import traceback
import warnings

import numpy as np

from .modes import THREAD
from .variable import Variable


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch anomaly mode on or off at once; as a context manager, restore it (torch.autograd.set_detect_anomaly)."""

    def __init__(self, mode, check_nan=True):
        for place, (name, value) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
            if not isinstance(value, bool):
                raise TypeError(
                    f"set_anomaly_enabled(): argument '{name}' (position {place}) must be bool, not {type(value).__name__}"
                )
        state = THREAD.state
        self._before = state.anomaly, state.check_nan
        state.anomaly, state.check_nan = mode, check_nan
        state.refresh()

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        state = THREAD.state
        state.anomaly, state.check_nan = self._before
        state.refresh()


class detect_anomaly(set_detect_anomaly):  # noqa: N801 - PyTorch's name
    """A `with` block in anomaly mode; it announces itself with a warning (torch.autograd.detect_anomaly)."""

    def __init__(self, check_nan=True):
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )
        self._check_nan = check_nan

    def __enter__(self):
        super().__init__(True, self._check_nan)


def is_anomaly_enabled():
    """Whether anomaly mode is on (torch.is_anomaly_enabled)."""
    return THREAD.state.anomaly


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode looks for nan (torch.is_anomaly_check_nan_enabled)."""
    return THREAD.state.check_nan


_PACKAGE = (
    __file__.removesuffix("anomaly.py")
    .rstrip("/\\")
    .removesuffix("autograd")
    .rstrip("/\\")
    .removesuffix("torchlike")
)  # where our own frames come from


def note_creation(node):
    """Remember the user's stack at which `node` was made, and the node whose backward made it, if any."""
    stack = traceback.extract_stack()
    while stack and stack[-1].filename.startswith(_PACKAGE):
        stack.pop()
    node.metadata["traceback_"] = traceback.format_list(stack)
    run = THREAD.state.running
    if run is not None and run.node is not None:
        node.metadata["parent_"] = run.node


def explain(node):
    """Warn with the place where the node that failed was made, and where those were in whose backward it was made."""
    _tell(
        node,
        "Error detected in {}. Traceback of forward call that caused the error:\n{}",
        "Error detected in {}. No forward pass information available. Enable detect anomaly during forward pass for more "
        "information.",
    )
    while "parent_" in node.metadata:
        node = node.metadata["parent_"]
        _tell(
            node,
            "\n\nPrevious calculation was induced by {}. Traceback of forward call that induced the previous calculation:\n{}",
            "\n\nPrevious calculation was induced by {}. No forward pass information available.",
        )


def _tell(node, known, unknown):
    where = node.metadata.get("traceback_")
    text = known if where is not None else unknown
    try:
        warnings.warn(text.format(type(node).name(node), "".join(where or ())), stacklevel=3)
    except Warning as warning:  # warnings are errors here, but the failure itself is what has to come out
        print(f"{type(warning).__name__}: {warning}", file=sys.stderr)


def check(node, grads):
    """Raise RuntimeError if a gradient that `node` computed holds a nan."""
    for i, g in enumerate(grads):
        if g is None or node.next_functions[i][0] is None:
            continue
        data = g._data if isinstance(g, Variable) else g
        if data.dtype.kind == "f" and np.isnan(data).any():
            explain(node)
            raise RuntimeError(f"Function '{type(node).name(node)}' returned nan values in its {i}th output.")
