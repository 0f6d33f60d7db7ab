"""Reverse-mode automatic differentiation (torch.autograd). README.md here says what is on each page."""

import importlib
from types import SimpleNamespace

from ..world.aliases import find_place
from .anomaly import detect_anomaly, set_detect_anomaly
from .api import backward, grad
from .function import Function
from .gradcheck import (  # at once: the function takes the name of its module, as in PyTorch
    gradcheck,
    gradgradcheck,
)
from .graph import GradientEdge, queue_callback
from .modes import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .node import Node
from .variable import Variable

Variable._execution_engine = SimpleNamespace(queue_callback=queue_callback)


def __getattr__(name):
    if name in ("forward_ad", "functional", "profiler"):
        return importlib.import_module(f"{__name__}.{name}")
    found = find_place("autograd", name)
    if found is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return found


__all__ = [
    "Function", "GradientEdge", "Node", "Variable", "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck",
    "gradgradcheck", "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip
