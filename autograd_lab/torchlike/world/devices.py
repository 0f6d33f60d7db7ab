"""What a program asks about the machine before it starts: there is the CPU, and nothing else.

    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"

The answers are those of PyTorch as it is built for the CPU: nothing is available, switches for devices can be read and
turned without effect, and what needs a device raises the error that PyTorch raises there. Beside them stand the modules
that programs import for several processes, for TorchScript and for PyTorch's compiler, with what can be answered here.
"""

import contextlib
import enum
import functools
import sys
from types import ModuleType, SimpleNamespace

import numpy as np

from ..._version import __version__
from .. import amp, utils
from ..dtypes import Size, dtype
from ..nn.module import Module, parse_to
from ..ops.linalg import LinAlgError
from ..tensor import Tensor
from . import overrides
from .device import device as device_of
from .missing import NO_PROCESS_GROUP
from .warning import warn

REFERENCE = "2.13.0"
"""The version of PyTorch that this library follows."""


def _module(path, doc, **names):
    """A module of the torch-like namespace that has no file of its own; `import autograd_lab.<path>` finds it."""
    name = f"autograd_lab.{path}"
    made = sys.modules.get(name) or ModuleType(name)  # loading/ may have announced it
    sys.modules[name] = made
    for key, value in {**names, "__doc__": doc}.items():
        setattr(made, key, value)
    parent, _, last = path.rpartition(".")
    if parent:
        setattr(sys.modules[f"autograd_lab.{parent}"], last, made)
    return made


def _answers(value):
    """A function that gives `value`, whatever it is asked."""
    return lambda *args, **kwargs: value


def _raises(kind, text):
    """A function that raises, whatever it is asked."""

    def refuse(*args, **kwargs):
        raise kind(text)

    return refuse


class _Around:
    """A context that switches to a device or a stream. Without one it changes nothing; there is none to be switched to."""

    error, text = None, ""

    def __init__(self, device=None):
        self.device = device

    def __enter__(self):
        if self.error is not None and self.device not in (None, -1):
            raise self.error(self.text)
        return self

    def __exit__(self, *exc):
        return False


class _Marked(contextlib.ContextDecorator, _Around):
    """A piece of a program that a profiler of devices would show by its name."""


def _switch(error, text):
    return type("device", (_Around,), {"error": error, "text": text})


_nothing = _answers(None)


def _device(path, kind):
    """The module of a kind of device that is not there."""
    absent = _raises(AssertionError, f"Torch not compiled with {path.upper()} enabled")
    return _module(
        path,
        f"torch.{path}: there is no {kind} here.",
        is_available=_answers(False),
        device_count=_answers(0),
        is_initialized=_answers(False),
        manual_seed=_nothing,
        manual_seed_all=_nothing,
        seed_all=_nothing,
        empty_cache=_nothing,
        device=_switch(RuntimeError, f"PyTorch was compiled without {path.upper()} support"),
        device_of=_Around,
        stream=_Around,
        **dict.fromkeys(
            [
                "synchronize", "current_device", "get_device_name", "get_device_properties", "get_device_capability",
                "initial_seed", "get_rng_state", "current_stream", "default_stream", "init", "ipc_collect", "mem_get_info",
                "set_device",
            ],
            absent,
        ),
    )  # fmt: skip


cuda = _device("cuda", "GPU of NVIDIA's")
vars(cuda).update(
    _initialized=False,
    seed=_nothing,
    StreamContext=_Around,
    set_rng_state=_nothing,
    get_rng_state_all=lambda: [],
    set_rng_state_all=_nothing,
    is_bf16_supported=_answers(False),
    is_tf32_supported=_answers(False),
    get_arch_list=lambda: [],
    **{
        name: type(name, (), {"__init__": _raises(RuntimeError, text)})
        for name, text in {
            "Stream": "torch.cuda.Stream requires CUDA support",
            "Event": "Tried to instantiate dummy base class Event",
            "CUDAGraph": "Tried to instantiate dummy base class CUDAGraph",
            "graph": "Tried to instantiate dummy base class CUDAGraph",
        }.items()
    },
    **dict.fromkeys(
        ["memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"], _answers(0)
    ),
)


class _CudaAutocast(amp.autocast):
    """torch.cuda.amp.autocast, the older name."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        _older_name("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class _CudaGradScaler(amp.GradScaler):
    """torch.cuda.amp.GradScaler, the older name."""

    def __init__(self, *args, **kwargs):
        _older_name("GradScaler")
        super().__init__("cuda", *args, **kwargs)


def _older_name(name):
    warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
    )


_module(
    "cuda.amp",
    "torch.cuda.amp: the older names of what is in torch.amp.",
    autocast=_CudaAutocast,
    GradScaler=_CudaGradScaler,
    custom_fwd=functools.partial(amp.custom_fwd, device_type="cuda"),
    custom_bwd=functools.partial(amp.custom_bwd, device_type="cuda"),
)
xpu = _device("xpu", "GPU of Intel's")
mps = _module(
    "mps",
    "torch.mps: there is no GPU of Apple's here.",
    is_available=_answers(False),
    device_count=_answers(0),
    manual_seed=_nothing,
    **{
        name: _raises(RuntimeError, f"Cannot execute {theirs}() without MPS backend.")
        for name, theirs in {
            "synchronize": "deviceSynchronize",
            "empty_cache": "emptyCache",
            "seed": "getDefaultGenerator",
        }.items()
    },
)
_NO_ACCELERATOR = "Cannot access accelerator device when none is available."
accelerator = _module(
    "accelerator",
    "torch.accelerator: there is none.",
    is_available=_answers(False),
    device_count=_answers(0),
    current_accelerator=_nothing,
    device_index=_switch(RuntimeError, _NO_ACCELERATOR),
    **dict.fromkeys(
        ["current_device_index", "set_device_index", "synchronize", "empty_cache", "memory_allocated"],
        _raises(RuntimeError, _NO_ACCELERATOR),
    ),
)
cpu = _module(
    "cpu",
    "torch.cpu: the device there always is.",
    is_available=_answers(True),
    device_count=_answers(1),
    current_device=_answers("cpu"),
    synchronize=_nothing,
    is_initialized=_answers(True),
)


class _CudnnFlags:
    """torch.backends.cudnn.flags: the switches are set, and put back."""

    def __init__(self, enabled=False, benchmark=False, deterministic=False, allow_tf32=True):
        self.switches = {
            "enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32
        }  # fmt: skip

    def __enter__(self):
        switches = vars(sys.modules["autograd_lab.backends.cudnn"])
        self.before = {name: switches[name] for name in self.switches}
        switches.update(self.switches)

    def __exit__(self, *exc):
        vars(sys.modules["autograd_lab.backends.cudnn"]).update(self.before)


backends = _module("backends", "torch.backends: switches of libraries that are not used here.")
_module(
    "backends.cudnn",
    "torch.backends.cudnn: not here; its switches have no effect.",
    is_available=_answers(False),
    version=_nothing,
    enabled=True,
    benchmark=False,
    deterministic=False,
    allow_tf32=True,
    flags=_CudnnFlags,
)
_module(
    "backends.mps", "torch.backends.mps: not here.", is_available=_answers(False), is_built=_answers(False)
)
_module(
    "backends.cuda",
    "torch.backends.cuda: not here; its switches have no effect.",
    is_built=_answers(False),
    sdp_kernel=lambda **switches: _Around(),
    **{f"{name}_sdp_enabled": _answers(True) for name in ("flash", "mem_efficient", "math", "cudnn")},
    **{f"enable_{name}_sdp": _nothing for name in ("flash", "mem_efficient", "math", "cudnn")},
)
_module(
    "backends.cuda.matmul",
    "torch.backends.cuda.matmul: switches without effect.",
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)
for _name in ("mkl", "mkldnn", "openmp", "opt_einsum"):
    _module(
        f"backends.{_name}", f"torch.backends.{_name}: NumPy computes here.", is_available=_answers(False)
    )

version = _module(
    "version",
    "torch.version: the version of PyTorch that is followed here.",
    __version__=f"{REFERENCE}+autograd.lab.{__version__}",
    cuda=None,
    hip=None,
    xpu=None,
    debug=False,
)

_precision = "highest"


def get_float32_matmul_precision():
    """The setting made by `set_float32_matmul_precision`; float32 is computed as float32 whatever it is."""
    return _precision


def set_float32_matmul_precision(precision):
    """Keeps the setting: "highest", "high" or "medium". There is one way to multiply here (torch.set_float32_matmul_precision)."""
    global _precision
    if precision in ("highest", "high", "medium"):
        _precision = precision
    else:
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect."
        )


def get_device_module(device=None):
    """The module of a kind of device: torch.cpu (torch.get_device_module)."""
    name = "cpu" if device is None else device_of(device).type
    found = sys.modules.get(f"autograd_lab.{name}")
    if found not in (cpu, cuda, mps, xpu):
        raise RuntimeError(
            f"Device '{name}' does not have a corresponding module registered as 'torch.{name}'."
        )
    return found


_module(
    "distributed",
    "torch.distributed: there is one process.",
    is_available=_answers(False),
    is_initialized=_answers(False),
    ProcessGroup=type("ProcessGroup", (), {"__doc__": "In annotations; there is none."}),
    ReduceOp=enum.Enum("ReduceOp", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM"),  # for defaults of arguments
    **dict.fromkeys(
        [
            "init_process_group", "destroy_process_group", "get_rank", "get_world_size", "barrier", "all_reduce", "broadcast",
            "all_gather",
        ],
        _raises(RuntimeError, NO_PROCESS_GROUP),
    ),
)  # fmt: skip


def _as_it_is(obj=None, *args, **kwargs):
    """What torch.jit makes of a function or module: itself, for there is no TorchScript here."""
    return obj if obj is not None else _as_it_is


def _traced(func, example_inputs=None, *args, example_kwarg_inputs=None, **kwargs):
    """What torch.jit.trace makes of a function or module: itself, after the one run on the examples that PyTorch traces."""
    examples = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    func(*(() if example_inputs is None else examples), **(example_kwarg_inputs or {}))
    return func


_module(
    "jit",
    "torch.jit: there is no TorchScript here; functions and modules stay what they are.",
    is_scripting=_answers(False),
    is_tracing=_answers(False),
    ScriptModule=type(
        "ScriptModule",
        (Module,),
        {"__doc__": "What torch.jit.script would make of a module; nothing is one."},
    ),
    trace=_traced,
    TracerWarning=type(
        "TracerWarning",
        (Warning,),
        {"__doc__": "What torch.jit.trace would warn with; programs name it in filters."},
    ),
    **dict.fromkeys(
        [
            "script", "script_if_tracing", "interface", "ignore", "unused", "export", "_overload", "_overload_method",
        ],
        _as_it_is,
    ),
)  # fmt: skip
_module("distributed.nn", "torch.distributed.nn: there is one process, and nothing to exchange.")


def _of_dynamo(name):
    if name not in ("OptimizedModule", "eval_frame"):
        raise AttributeError(f"module 'autograd_lab._dynamo' has no attribute '{name}'")
    from ...compiler import OptimizedModule

    return OptimizedModule if name == "OptimizedModule" else SimpleNamespace(OptimizedModule=OptimizedModule)


_module(
    "_dynamo",
    "torch._dynamo: what programs tell PyTorch's compiler; torch.compile here needs none of it.",
    __getattr__=_of_dynamo,
    reset=_nothing,
    **dict.fromkeys(
        [
            "allow_in_graph",
            "assume_constant_result",
            "disable",
            "mark_dynamic",
            "mark_static",
            "mark_static_address",
        ],
        _as_it_is,
    ),
)
_module(
    "_dynamo._trace_wrapped_higher_order_op",
    "torch._dynamo: there, x[i] under vmap needs a switch.",
    TransformGetItemToIndex=_Around,
)
_module(
    "types",
    "torch.types: names for annotations.",
    Number=int | float | bool,
    Device=device_of | str | int | None,
    Tensor=Tensor,
    **dict.fromkeys(["_size"], Size | list[int] | tuple[int, ...]),
    **{f"_{kind.__name__}": kind for kind in (int, float, bool, dtype)},
)
_module(
    "cuda.nvtx",
    "torch.cuda.nvtx: there is nothing that would read such marks.",
    range=_Marked,
    range_push=_nothing,
    range_pop=_nothing,
    mark=_nothing,
)
_config = f"autograd_lab {__version__}, which computes with NumPy {np.__version__}\n"
_module(
    "__config__",
    "torch.__config__: what the library was built with.",
    show=_answers(_config),
    parallel_info=_answers(_config),
)
_module("onnx", "torch.onnx: not here; a compiled function has to_onnx.", is_in_onnx_export=_answers(False))


class FlopCounterMode:
    """Stands for PyTorch's counter of multiplications: one can be made and asked, and says when it should count that it does not."""

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        self.flop_counts, self.depth, self.display = {}, depth, display

    def __enter__(self):
        warn("torch.utils.flop_counter.FlopCounterMode: autograd_lab counts no FLOPs, and the counts stay 0")
        return self

    def __exit__(self, *exc):
        return None

    def get_flop_counts(self):
        """The counts by module: none."""
        return {}

    def get_total_flops(self):
        """The sum of the counts: 0."""
        return 0


utils.flop_counter = _module(
    "utils.flop_counter",
    "torch.utils.flop_counter: what programs make of it before they count anything.",
    FlopCounterMode=FlopCounterMode,
)
_module(
    "_C",
    "torch._C: PyTorch's compiled part; what programs name of it.",
    _LinAlgError=LinAlgError,
    _TensorMeta=type(Tensor),
    DisableTorchFunction=overrides.DisableTorchFunctionSubclass,
    DisableTorchFunctionSubclass=overrides.DisableTorchFunctionSubclass,
    _disabled_torch_function_impl=overrides.disabled,
    _get_tracing_state=_nothing,
    _log_api_usage_once=_nothing,
)
_module("_C._nn", "torch._C._nn: what programs name of it.", _parse_to=parse_to)

NAMES = {
    "cuda": cuda,
    "xpu": xpu,
    "mps": mps,
    "cpu": cpu,
    "accelerator": accelerator,
    "backends": backends,
    "version": version,
    "get_float32_matmul_precision": get_float32_matmul_precision,
    "set_float32_matmul_precision": set_float32_matmul_precision,
    "get_device_module": get_device_module,
    **{
        name: sys.modules[f"autograd_lab.{name}"]
        for name in ("_C", "__config__", "_dynamo", "distributed", "jit", "onnx", "types")
    },
    "ScriptModule": sys.modules["autograd_lab.jit"].ScriptModule,
    **{name: type(name, (_Around,), {}) for name in ("Stream", "Event")},
    "amp": amp,
    "autocast": amp.autocast,
    "is_autocast_enabled": amp.is_autocast_enabled,
}
"""What of this page belongs in the torch-like namespace."""

__all__ = ["NAMES", "REFERENCE"]
