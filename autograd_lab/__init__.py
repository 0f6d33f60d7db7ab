"""autograd_lab: PyTorch's eager autograd in Python and NumPy, small enough to read. `import autograd_lab as torch`.

This module is the torch-like namespace. The teaching side is `from autograd_lab import lab`.
"""

from . import autograd, creation, dtypes, linalg, nn, ops, optim, special, utils
from .autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .dtypes import (
    Size,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    result_type,
    set_default_dtype,
    uint8,
)
from .dtypes import bool_ as bool  # noqa: A004 - PyTorch's name
from .dtypes import double, half, long, short
from .dtypes import float_ as float  # noqa: A004 - PyTorch's name
from .dtypes import int_ as int  # noqa: A004 - PyTorch's name
from .ops.rule import FUNCTIONS, METHODS
from .tensor import Tensor, install

from ._version import __version__

install(METHODS)
globals().update(creation.FACTORIES)
globals().update(FUNCTIONS)


def __getattr__(name):
    if name == "lab":
        import importlib

        return importlib.import_module(".lab", __name__)
    raise AttributeError(f"module 'autograd_lab' has no attribute '{name}'")
