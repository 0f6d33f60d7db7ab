"""Where a tensor lives: torch.device. There is the CPU, and nothing else."""

from ..autograd.errors import type_name
from ..dtypes import Defaults

_KNOWN = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class device:  # noqa: N801 - PyTorch's name
    """Where a tensor lives (torch.device). Any of PyTorch's can be named; only the CPU can be used."""

    __slots__ = ("index", "type")
    __module__ = "autograd_lab.creation"  # where pickles look for it

    def __init__(self, type="cpu", index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        if not isinstance(type, (str, int)) or isinstance(type, bool):
            raise TypeError(f"device(): argument 'type' must be str, not {type_name(type)}")
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type_name(index)}")
        if isinstance(type, int):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        if not type:
            raise RuntimeError("Device string must not be empty")
        kind, colon, number = type.partition(":")
        if colon:
            if not number.isdigit() or str(int(number)) != number:
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if kind not in _KNOWN.split(", "):
            if kind.isalpha():
                raise RuntimeError(f"Expected one of {_KNOWN} device type at start of device string: {kind}")
            raise RuntimeError(f"Invalid device string: '{type}'")
        self.type, self.index = kind, index

    def __enter__(self):
        """What is made inside is made on this device: "cpu".

        Programs written for PyTorch build a model on "meta", where tensors have no numbers, before they load them. For those, tensors
        are made as always and say "meta", and draws are taken back at the end.
        """
        if self.type == "meta" and Defaults.meta is not None:
            _META.append(Defaults.meta())
            _META[-1].__enter__()
        else:
            on_cpu(self)
        return self

    def __exit__(self, *exc):
        if self.type == "meta" and _META:
            _META.pop().__exit__(*exc)

    def __repr__(self):
        return f"device(type='{self.type}'" + (")" if self.index is None else f", index={self.index})")

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type, self.index)


CPU, META = device("cpu"), device("meta")
_META: list = []
"""The blocks `with torch.device("meta")` that go on."""


def here():
    """The device that tensors are on, or say that they are on."""
    return META if _META else CPU


def on_cpu(where, pin_memory=False):
    """Raise an error unless `where` (a device, its name or None) is the CPU: there is nothing else here, nothing to pin memory for."""
    if pin_memory:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this system."
        )
    if where is None or where == "cpu" or (_META and where in ("meta", META)):
        return
    where = where if isinstance(where, device) else device(where)
    if where.type == "cuda":
        raise AssertionError("Torch not compiled with CUDA enabled")
    if where.type != "cpu":
        raise RuntimeError(f"autograd_lab computes on the CPU only: there is no device '{where}' here")
