"""Anomaly mode: remember where each node was made, and stop at the first nan of the backward pass."""

import traceback
import warnings

import numpy as np

from .modes import THREAD
from .variable import Variable


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """Switch anomaly mode on or off at once; as a context manager, restore it (torch.autograd.set_detect_anomaly)."""

    def __init__(self, mode, check_nan=True):
        state = THREAD.state
        self._before = state.anomaly, state.check_nan
        state.anomaly, state.check_nan = bool(mode), bool(check_nan)
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


def note_creation(node):
    """Remember the stack at which `node` was made, and the node whose backward made it, if any."""
    node.metadata["traceback_"] = traceback.format_stack()[:-3]
    if THREAD.state.grad and _running:
        node.metadata["parent_"] = _running[-1]


_running = []  # nodes whose rule is running under create_graph


def explain(node):
    """In anomaly mode, warn with the place where the node that failed was made."""
    if not THREAD.state.anomaly:
        return
    where = node.metadata.get("traceback_")
    if where is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information.",
            stacklevel=2,
        )
    else:
        warnings.warn(
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(where)}",
            stacklevel=2,
        )


def check(node, grads):
    """Raise RuntimeError if a gradient that `node` computed holds a nan."""
    for i, g in enumerate(grads):
        if g is None or node.next_functions[i][0] is None:
            continue
        data = g._data if isinstance(g, Variable) else g
        if data.dtype.kind == "f" and np.isnan(data).any():
            explain(node)
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
