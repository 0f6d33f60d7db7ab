"""torch.save and torch.load: tensors, state dicts and whole modules in a file.

The file is autograd_lab's own (a mark and a pickle), not PyTorch's archive: what one library saved the other does not read.
"""

import io
import os
import pickle
from pathlib import Path

MARK = b"autograd_lab 1\n"

_PLAIN = {
    ("collections", "OrderedDict"),
    ("collections", "Counter"),
    ("collections", "defaultdict"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.core.numeric", "_frombuffer"),
    ("autograd_lab.tensor", "_rebuild"),
    ("autograd_lab.tensor", "Tensor"),
    ("autograd_lab.nn.parameter", "_rebuild_parameter"),
    ("autograd_lab.nn.parameter", "Parameter"),
    ("autograd_lab.autograd.hooks", "HookDict"),
    ("autograd_lab.dtypes", "_named"),
    ("autograd_lab.dtypes", "Size"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
    ("builtins", "complex"),
    ("builtins", "slice"),
    ("builtins", "bytearray"),
}
"""What a file may name that is loaded with weights_only=True: it makes data, and runs nothing else."""


_allowed: list = []  # what the user trusts besides


class safe_globals:  # noqa: N801 - PyTorch's name
    """Inside, `load` may make objects of these classes too, and call these functions (torch.serialization.safe_globals)."""

    def __init__(self, safe_globals):
        self._trusted = list(safe_globals)

    def __enter__(self):
        self._before = list(_allowed)
        _allowed.extend(self._trusted)

    def __exit__(self, *exc):
        _allowed[:] = self._before


def add_safe_globals(safe_globals):
    """Let `load` make objects of these classes and call these functions, from now on (torch.serialization.add_safe_globals)."""
    _allowed.extend(safe_globals)


def get_safe_globals():
    """What was added by `add_safe_globals`."""
    return list(_allowed)


def clear_safe_globals():
    """Forget what was added."""
    _allowed.clear()


def _is_allowed(module, name):
    for one in _allowed:
        thing, path = one if isinstance(one, tuple) else (one, f"{one.__module__}.{one.__qualname__}")
        if path == f"{module}.{name}":
            return thing
    return None


class _WeightsOnly(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        allowed = _is_allowed(module, name)
        if allowed is not None:
            return allowed
        raise pickle.UnpicklingError(
            "Weights only load failed. The file holds more than tensors and plain containers: "
            f"{module}.{name}. If you trust where it comes from, name it to torch.serialization.add_safe_globals, or load the file with "
            "weights_only=False, which can run any code."
        )


def save(obj, f, pickle_module=pickle, pickle_protocol=4, _use_new_zipfile_serialization=True):
    """Write `obj` to the file `f`, a path or something with `write` (torch.save)."""
    if isinstance(f, str | os.PathLike):
        with Path(f).open("wb") as file:
            return save(obj, file, pickle_module, pickle_protocol)
    f.write(MARK)
    pickle_module.dump(obj, f, protocol=pickle_protocol)
    return None


def load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None, **pickle_load_args):
    """What `save` wrote to `f`, a path or something with `read` (torch.load).

    weights_only=True takes tensors and plain containers only and raises UnpicklingError for anything else; False unpickles
    whatever there is, modules included, and can run any code. map_location is read, and may only mean the CPU.
    """
    if isinstance(f, str | os.PathLike):
        with Path(f).open("rb") as file:
            return load(file, map_location, pickle_module, weights_only=weights_only, **pickle_load_args)
    if map_location is not None and not callable(map_location) and not isinstance(map_location, dict):
        from .creation import on_cpu

        on_cpu(map_location)
    data = f.read()
    if not data.startswith(MARK):
        written_by = "PyTorch" if data[:2] == b"PK" else "another program"
        raise RuntimeError(
            f"this file was not written by autograd_lab.save but, it seems, by {written_by}: the formats differ. "
            "Bring numbers over as NumPy arrays."
        )
    stream = io.BytesIO(data[len(MARK) :])
    if weights_only:
        return _WeightsOnly(stream).load()
    return (pickle_module or pickle).load(stream, **pickle_load_args)


__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
