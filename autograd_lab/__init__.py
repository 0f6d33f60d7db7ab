"""autograd_lab: PyTorch's eager autograd in Python and NumPy, small enough to read. `import autograd_lab as torch`.

This module is the torch-like namespace. The teaching side is `from autograd_lab import lab`.
"""

from . import autograd, checks, creation, dtypes, linalg, machine, nn, ops, optim, overrides, special, utils
from ._version import __version__
from .absent import finder
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
    FOREIGN,
    Size,
    bfloat16,
    complex32,
    complex64,
    complex128,
    double,
    dtype,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    int8,
    int16,
    int32,
    int64,
    long,
    promote_types,
    result_type,
    set_default_dtype,
    short,
    uint8,
)
from .dtypes import bool_ as bool
from .dtypes import complex64 as cfloat
from .dtypes import complex128 as cdouble
from .dtypes import float_ as float
from .dtypes import int_ as int
from .ops.publish import publish, publish_methods
from .ops.rule import FUNCTIONS, METHODS
from .ops.shapes import TypedStorage, UntypedStorage
from .serialization import load, save
from .tensor import Tensor, install

install(publish_methods(METHODS))
globals().update(publish(creation.FACTORIES, "", __name__))
globals().update(publish(FUNCTIONS, "", __name__))
globals().update(publish(machine.NAMES, "", __name__))
globals().update(FOREIGN)
globals().update(checks.NAMES)

_LAYERS = """
    adaptive_avg_pool1d avg_pool1d bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d channel_shuffle cosine_similarity
    max_pool1d max_pool2d max_pool3d pixel_shuffle pixel_unshuffle
"""
"""What stands in torch and in nn.functional."""
globals().update(
    publish({name: getattr(nn.functional, name).__wrapped__ for name in _LAYERS.split()}, "", __name__)
)
overrides.install()


def _compile(self, **options):
    """Let calls of this very module run compiled code from now on; `options` are those of torch.compile.

    (torch.nn.Module.compile) `torch.compile(module)` makes a second module instead and leaves this one as it is.
    """
    self.__dict__["forward"] = __getattr__("compile")(self.forward, **options)


_compile.__name__, _compile.__qualname__, _compile.__module__ = (
    "compile",
    "Module.compile",
    nn.Module.__module__,
)
nn.Module.compile = _compile
del _compile

try:  # speed, without which all is computed the same
    from .express import on as _on  # which importing it does
except ModuleNotFoundError as _error:
    if _error.name != "autograd_lab.express":
        raise

_find = finder("")


def __getattr__(name):
    if name in ("compiler", "distributions", "func", "lab", "library", "testing"):
        import importlib

        return importlib.import_module(f".{name}", __name__)
    if name == "vmap":
        from .func import vmap

        return vmap
    if name == "GradScaler":
        from .amp import GradScaler

        return GradScaler
    if name == "compile":
        from .compiler import compile

        return compile
    if name == "load_ipython_extension":  # for %load_ext autograd_lab
        import importlib

        return importlib.import_module(".widgets.magic", __name__).load_ipython_extension
    return _find(name)
