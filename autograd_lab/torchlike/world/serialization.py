"""torch.save and torch.load: PyTorch's own archives, so that each library reads what the other wrote.

An archive is a zip file without compression:

    archive/data.pkl       the object, pickled: a tensor in it names its storage, and where in there it begins
    archive/data/0, 1, ..  the storages, plain numbers; tensors that share memory share one
    archive/byteorder      of the numbers

In the pickle stands PyTorch's name for what PyTorch has as well (`torch._utils._rebuild_tensor_v2`); `Stand` is such a name.
What older versions of PyTorch wrote, several pickles in a row and then the storages, can be read too.
"""

import io
import os
import pickle
import struct
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np

from .. import dtypes
from ..autograd.errors import TYPE_NAMES
from ..autograd.hooks import HookDict
from ..autograd.variable import wrap
from ..dtypes import Size
from ..layout import layout, strided
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .device import device, on_cpu

ALIGNMENT = 64  # of the numbers of a storage in the file, so that they can be mapped into memory
LEGACY = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # how the files of old versions begin

MAP_LOCATION = Callable | device | str | dict[str, str] | None
"""Where `load` puts tensors, in annotations."""


class Stand:
    """Something of PyTorch's that stands in a file by its name."""

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __call__(self, *args):
        """Picklers ask whether it could be called; only what it stands for can."""
        raise TypeError(f"{self.module}.{self.name} is a name in a file")


REBUILD_TENSOR = Stand("torch._utils", "_rebuild_tensor_v2")
REBUILD_PARAMETER = Stand("torch._utils", "_rebuild_parameter")
REBUILD_PARAMETER_WITH_STATE = Stand("torch._utils", "_rebuild_parameter_with_state")
REBUILD_SUBCLASS = Stand("torch._tensor", "_rebuild_from_type_v2")
GET_LAYOUT = Stand("torch.serialization", "_get_layout")

STORAGES = {name: Stand("torch", f"{kind}Storage") for name, kind in TYPE_NAMES.items()}
"""{NumPy's name of a number type: PyTorch's class of storages}"""

ELSEWHERE = (
    "BFloat16",
    "ComplexHalf",
    "ComplexFloat",
    "ComplexDouble",
    "QInt8",
    "QUInt8",
    "QInt32",
    "QUInt4x2",
    "QUInt2x4",
)
"""Kinds of storages that PyTorch has besides."""

CLASSES = {
    Tensor: ("torch", "Tensor"), Parameter: ("torch.nn.parameter", "Parameter"), Size: ("torch", "Size"),
    device: ("torch", "device"),
}  # fmt: skip


class Memory:
    """One storage on its way into a file."""

    def __init__(self, key, array):
        self.key, self.array = key, array


# -- writing ------------------------------------------------------------------------------------------


def _pickler(base):
    """A pickler class on top of `base`, which must be one that is written in Python: others look up each name they write."""

    class Pickler(base):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.storages = []
            self.at = {}  # address: storage

        def persistent_id(self, obj):
            if type(obj) is not Memory:
                return None
            return "storage", STORAGES[obj.array.dtype.name], str(obj.key), "cpu", obj.array.size

        def reducer_override(self, obj):
            if isinstance(obj, Tensor):
                return self.reduce_tensor(obj)
            if isinstance(obj, Size):
                return Size, (tuple(obj),)
            if isinstance(obj, device):
                return device, (str(obj),)
            if isinstance(obj, layout):
                return GET_LAYOUT, (str(obj),)
            if isinstance(obj, Stand | dtypes.dtype):
                return obj.name
            return NotImplemented

        def reduce_tensor(self, t):
            state, own = dict(vars(t)), type(t).__reduce_ex__
            if own is Parameter.__reduce_ex__:
                args = t.data, t.requires_grad, OrderedDict()
                return (REBUILD_PARAMETER_WITH_STATE, (*args, state)) if state else (REBUILD_PARAMETER, args)
            if own is not Tensor.__reduce_ex__:
                return NotImplemented
            args = (*self.place(t), t.requires_grad, OrderedDict())
            if type(t) is Tensor and not state:
                return REBUILD_TENSOR, args
            return REBUILD_SUBCLASS, (REBUILD_TENSOR, type(t), args, state)

        def place(self, t):
            """The storage of a tensor, and its offset, sizes and strides there."""
            from ..ops.shapes import address_of, offset_of, owner_of, storage_of

            x = t._array()
            where = address_of(owner_of(x))
            memory = self.at.get(where) if x.size else None  # nothing has an address of its own
            if memory is None:
                memory = self.at[where] = Memory(len(self.storages), storage_of(x))
                self.storages.append(memory)
            if memory.array.dtype != x.dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types"
                )
            return memory, offset_of(x), tuple(x.shape), tuple(t.stride())

        def save_global(self, obj, name=None):
            known = CLASSES.get(obj) if isinstance(obj, type) else None
            if isinstance(obj, Stand):
                known = obj.module, obj.name
            elif isinstance(obj, dtypes.dtype):
                known = "torch", obj.name
            if known is None:
                return super().save_global(obj, name)
            self.write(pickle.GLOBAL + "{}\n{}\n".format(*known).encode())
            self.memoize(obj)
            return None

    return Pickler


DEFAULT_PROTOCOL = 2


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True):
    """Write `obj` to the file `f`, a path or something with `write`, as PyTorch does (torch.save).

    Tensors that share memory are written once and share it again when they are loaded. Raises RuntimeError if the folder of
    the path does not exist, or if one memory is seen as two number types.
    """
    if isinstance(f, str | os.PathLike):
        parent = Path(f).parent
        if not parent.is_dir():
            raise RuntimeError(f"Parent directory {parent} does not exist.")
    elif not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    pickled = io.BytesIO()
    base = getattr(pickle_module, "_Pickler", None) or pickle_module.Pickler
    pickler = _pickler(base)(pickled, protocol=pickle_protocol)
    pickler.dump(obj)
    if isinstance(f, str | os.PathLike):
        with Path(f).open("wb") as file:
            _write_archive(file, pickled.getvalue(), pickler.storages)
    else:
        buffer = io.BytesIO()  # zip files are written with steps back, which not every file can make
        _write_archive(buffer, pickled.getvalue(), pickler.storages)
        f.write(buffer.getvalue())


def _write_archive(file, pickled, storages):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:

        def write(name, data):
            entry = zipfile.ZipInfo(f"archive/{name}")
            begin = file.tell() + zipfile.sizeFileHeader + len(entry.filename) + 4
            padding = -begin % ALIGNMENT
            entry.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
            archive.writestr(entry, data)

        write("data.pkl", pickled)
        write(".format_version", "1")
        write(".storage_alignment", str(ALIGNMENT))
        write("byteorder", sys.byteorder)
        for memory in storages:
            write(f"data/{memory.key}", memory.array.tobytes())
        write("version", "3\n")


# -- what a pickle may name ---------------------------------------------------------------------------


def _rebuild_tensor(storage, offset, size, stride, requires_grad=False, hooks=None, metadata=None):
    reach = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    if reach > storage.size or any(n < 0 for n in (offset, *size, *stride)):
        raise RuntimeError(
            f"the file is damaged: a tensor of sizes {list(size)} and strides {list(stride)} from element {offset} on does not fit "
            f"into its storage of {storage.size} elements"
        )
    if not size and storage.size == 1:
        array = storage[0]
    else:
        strides = [s * storage.itemsize for s in stride]
        array = np.lib.stride_tricks.as_strided(storage[offset:], size, strides)
    return wrap(array)._require_grad(requires_grad)


def _rebuild_parameter(data, requires_grad, hooks, state=None):
    return _with_state(Parameter(data, requires_grad), state)


def _rebuild_subclass(make, cls, args, state):
    t = make(*args)
    t.__class__ = cls
    return _with_state(t, state)


def _with_state(t, state):
    if isinstance(state, tuple):  # of what has slots as well
        state = {**(state[0] or {}), **(state[1] or {})}
    for name, value in (state or {}).items():
        setattr(t, name, value)
    return t


def _layout(name):
    if name != str(strided):
        raise pickle.UnpicklingError(
            f"the file holds a tensor whose layout is {name}: here all are {strided}"
        )
    return strided


def _encode(text, encoding):
    """How bytes are pickled."""
    return text.encode(encoding)


_KNOWN = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("torch._utils", "_rebuild_parameter_with_state"): _rebuild_parameter,
    ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_subclass,
    ("torch.serialization", "_get_layout"): _layout,
    **{place: cls for cls, place in CLASSES.items()},
    **{("torch", number.name): number for number in dtypes.ALL.values()},
    **{(one.module, one.name): np.dtype(name) for name, one in STORAGES.items()},
    **{("torch", f"{kind}Storage"): kind for kind in ELSEWHERE},
    ("autograd_lab.autograd.hooks", "HookDict"): HookDict,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("_codecs", "encode"): _encode,
    ("builtins", "set"): set,
    ("builtins", "complex"): complex,
    ("builtins", "bytearray"): bytearray,
    ("__builtin__", "set"): set,
    ("__builtin__", "complex"): complex,
    ("__builtin__", "bytearray"): bytearray,
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


def _trusted(module, name):
    """What the user allows under that name, ours under PyTorch's name as well; or None."""
    for one in _allowed:
        thing, path = one if isinstance(one, tuple) else (one, f"{one.__module__}.{one.__qualname__}")
        ours = module.startswith("torch.") and path.startswith("autograd_lab.")
        if path == f"{module}.{name}" or (ours and path.rpartition(".")[2] == name):
            return thing
    return None


def _ours(module, name):
    """What is here for PyTorch's `module.name`: torch.nn.modules.linear.Linear is found in nn. Raises AttributeError if there is nothing."""
    places = [sys.modules["autograd_lab"]]
    for part in module.split(".")[1:]:
        place = getattr(places[-1], part, None)
        if place is None:
            break
        places.append(place)
    for place in reversed(places):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(f"the file holds {module}.{name}, which autograd_lab does not have")


class _Names:
    """For an unpickler of a file whose storages are elsewhere: `storage(key, number type, how many)` has them."""

    storage = None

    def find_class(self, module, name):
        known = _KNOWN.get((module, name))
        if known is not None:
            return known
        return (
            _ours(module, name) if module.partition(".")[0] == "torch" else super().find_class(module, name)
        )

    def persistent_load(self, pid):
        kind, *about = pid
        if isinstance(kind, bytes):
            kind = kind.decode("ascii")
        if kind == "module":  # of old files: a class, and where its source was
            return about[0]
        if kind != "storage":
            raise pickle.UnpicklingError(f"the file refers to a {kind!r}, which nobody knows")
        number, key, _, count, *rest = about
        if not isinstance(number, np.dtype):
            raise RuntimeError(
                f"the file holds numbers of the type {number}, which autograd_lab does not have. Convert them with PyTorch, "
                "as by .float(), and save them again"
            )
        memory = self.storage(key, number, count)
        if rest and rest[0] is not None:  # of old files: a part of a storage
            _, offset, size = rest[0]
            return memory[offset : offset + size]
        return memory


class _Unpickler(_Names, pickle.Unpickler):
    """Makes whatever the file names."""


class _WeightsOnly(_Names, pickle._Unpickler):
    """Makes what is known or trusted, and changes nothing but what it made: a file may not write to a class."""

    dispatch: ClassVar = dict(pickle._Unpickler.dispatch)

    def load_build(self):
        if isinstance(self.stack[-2], type):
            raise pickle.UnpicklingError(
                f"Weights only load failed. The file would change the class {self.stack[-2].__name__}"
            )
        super().load_build()

    dispatch[pickle.BUILD[0]] = load_build

    def find_class(self, module, name):
        known = _KNOWN.get((module, name)) or _trusted(module, name)
        if known is not None:
            return known
        raise pickle.UnpicklingError(
            "Weights only load failed. The file holds more than tensors and plain containers: "
            f"{module}.{name}. If you trust where it comes from, name it to torch.serialization.add_safe_globals, or load the file with "
            "weights_only=False, which can run any code."
        )


# -- reading ------------------------------------------------------------------------------------------


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """What `save`, this one or PyTorch's, wrote to `f`: a path or something with `read` and `seek` (torch.load).

    weights_only=True, the default, takes tensors and plain containers only and raises UnpicklingError for anything else; False
    makes whatever there is, modules included, and can run any code. map_location may only mean the CPU; a function or a dict
    is not asked, for there is nowhere else. Raises RuntimeError for a damaged file and for number types that are not here.
    """
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if isinstance(f, str | os.PathLike):
        with Path(f).open("rb") as file:
            return load(file, map_location, pickle_module, weights_only=weights_only, **pickle_load_args)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    for need in ("seek", "read"):
        if not hasattr(f, need):
            raise AttributeError(
                f"'{type(f).__name__}' object has no attribute '{need}'. You can only torch.load from a file that is seekable. "
                "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead."
            )
    if map_location is not None and not callable(map_location) and not isinstance(map_location, dict):
        try:
            on_cpu(map_location)
        except AssertionError:
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
                "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
            ) from None
    pickle_load_args.setdefault("encoding", "utf-8")
    base = _WeightsOnly if weights_only or (weights_only is None and pickle_module is None) else _Unpickler
    begin = f.tell()
    head = f.read(len(LEGACY))
    f.seek(begin)
    if not head:
        raise EOFError("Ran out of input: the file is empty, or was read to its end before")
    if head == LEGACY:
        return _load_legacy(f, base, pickle_load_args)
    if isinstance(head, str):
        raise AssertionError("Expected bytes, got str")
    if not head.startswith(b"PK"):
        raise pickle.UnpicklingError(
            "this file was not written by torch.save: it begins neither as an archive nor as the files of older versions do"
        )
    try:
        archive = zipfile.ZipFile(f)
    except zipfile.BadZipFile as error:
        raise RuntimeError(
            f"PytorchStreamReader failed reading zip archive: {error}. The checkpoint is damaged: it was not saved or copied to its end, "
            "or was changed since"
        ) from None
    with archive:
        return _load_archive(archive, base, pickle_load_args)


def _load_archive(archive, base, options):
    root = archive.namelist()[0].partition("/")[0]
    names = set(archive.namelist())
    if f"{root}/data.pkl" not in names:
        raise RuntimeError("this zip file was not written by torch.save: it has no data.pkl")
    order = archive.read(f"{root}/byteorder").decode() if f"{root}/byteorder" in names else "little"
    storages = {}

    def storage(key, number, count):
        if key not in storages:
            data = bytearray(archive.read(f"{root}/data/{key}"))
            array = np.frombuffer(data, number)
            storages[key] = (array if order == sys.byteorder else array.byteswap())[:count]
        return storages[key]

    unpickler = base(io.BytesIO(archive.read(f"{root}/data.pkl")), **options)
    unpickler.storage = storage
    return unpickler.load()


def _load_legacy(f, base, options):
    for _ in range(3):  # a magic number, the version of the format, and sizes of the machine's integers
        _plain_pickle(f, options)
    begin, storages = f.tell(), {}

    def storage(key, number, count):
        return storages.setdefault(key, np.empty(count, number))

    def objects():
        unpickler = base(f, **options)
        unpickler.storage = storage
        return unpickler.load()

    objects()  # says which storages there are; their numbers come behind it
    for key in _plain_pickle(f, options):
        count = struct.unpack("<q", f.read(8))[0]
        memory = storages[key]
        data = f.read(count * memory.itemsize)
        if count != memory.size or len(data) != memory.nbytes:
            raise RuntimeError("unexpected end of the file: not all numbers of its storages are there")
        memory[...] = np.frombuffer(data, memory.dtype.newbyteorder("<"))  # all of these were written so
    f.seek(begin)
    return objects()


def _plain_pickle(f, options):
    """The next pickle of a file, one of numbers, strings and containers."""
    return _WeightsOnly(f, **options).load()


__all__ = [
    "MAP_LOCATION",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
