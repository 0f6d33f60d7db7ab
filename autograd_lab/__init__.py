"""autograd_lab: PyTorch's eager autograd in Python and NumPy, small enough to read. `import autograd_lab as torch`.

This module is the torch-like namespace. The teaching side is `from autograd_lab import lab`.
"""

from importlib import import_module as _import
from typing import TYPE_CHECKING

from . import loading
from ._version import __version__
from .torchlike import autograd, creation, dtypes, ops
from .torchlike.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
from .torchlike.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .torchlike.autograd.variable import Registry
from .torchlike.dtypes import (
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
from .torchlike.dtypes import bool_ as bool
from .torchlike.dtypes import complex64 as cfloat
from .torchlike.dtypes import complex128 as cdouble
from .torchlike.dtypes import float_ as float
from .torchlike.dtypes import int_ as int
from .torchlike.interface.publish import publish, publish_methods
from .torchlike.ops.rule import FUNCTIONS, METHODS
from .torchlike.tensor import Tensor, install
from .torchlike.tensor import closed as _closed
from .torchlike.world import overrides
from .torchlike.world.missing import finder

if TYPE_CHECKING:  # loading/table.py has it from here: what is loaded when it is first asked for
    from .torchlike import amp, linalg, nn, optim, special, utils
    from .torchlike.ops.shapes import TypedStorage, UntypedStorage
    from .torchlike.world import checks, serialization
    from .torchlike.world import devices as machine
    from .torchlike.world.serialization import load, save


def _method(name):
    return _closed(name, publish_methods({name: METHODS[name]})[name])


for _name in METHODS.names():
    setattr(Tensor, _name, loading.later(Tensor, _name, _method))
globals().update(FOREIGN)
loading.announce()
overrides.install()
Registry.compile = lambda *args, **options: _other("compile")(*args, **options)

try:  # speed, without which all is computed the same
    from .express import on as _on  # which importing it does
except ModuleNotFoundError as _error:
    if _error.name != "autograd_lab.express":
        raise

_LAYERS = frozenset((
    "adaptive_avg_pool1d", "avg_pool1d", "bilinear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "channel_shuffle", "cosine_similarity", "max_pool1d", "max_pool2d", "max_pool3d", "pixel_shuffle",
    "pixel_unshuffle",
))  # fmt: skip
"""What stands in torch and in nn.functional."""
_UNLISTED = {
    "vmap": "func",
    "GradScaler": "amp",
    "compile": "compiler",
    "load_ipython_extension": "widgets.magic",  # for %load_ext autograd_lab
}
"""Names that `dir` does not show, with their modules."""
_UNLISTED_MODULES = ("compiler", "lab")
_MODULES = ("distributions", "func", "library", "testing")
_find = finder("")


def _published(name):
    """What stands in the namespace as `name` and comes from a table. KeyError if there is no such thing."""
    if name in _LAYERS:
        from .torchlike.nn import functional

        fn = getattr(functional, name).__wrapped__
    elif name in loading.LISTED:
        fn = _import(loading.LISTED[name]).NAMES[name]
    elif name in FUNCTIONS:
        fn = FUNCTIONS[name]
    else:
        fn = creation.FACTORIES[name]
    return publish({name: fn}, "", __name__)[name]


def _other(name):
    if name in _LAYERS or name in loading.LISTED or name in FUNCTIONS or name in creation.FACTORIES:
        return globals().setdefault(name, _published(name))
    if name in _MODULES or name in _UNLISTED_MODULES:
        return _import(f"{__name__}.{name}")
    if name in _UNLISTED:
        return getattr(_import(f"{__name__}.{_UNLISTED[name]}"), name)
    return _find(name)


__getattr__, _own_names = loading.late(__name__, _other)


for _name in creation.FACTORIES:  # importing a module of such a name ("tensor") has put the module here
    if _name in globals():
        globals()[_name] = _published(_name)
del TYPE_CHECKING, Registry, _name


def __dir__():
    return [*{*_own_names(), *_MODULES, *_LAYERS, *loading.LISTED, *FUNCTIONS.names(), *creation.FACTORIES}]
