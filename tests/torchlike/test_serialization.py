"""torch.save and torch.load: what comes back, what is refused, and that PyTorch reads and writes the same files.

The files in tests/recordings/archives were written by PyTorch 2.13.0 with `python -m tests.record archives`.
"""

import io
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest
from recorded import FOLDER, differences, plain

import autograd_lab as torch

ARCHIVES = FOLDER / "archives"


def contents(torch):
    """Something of everything that either library may find in a file."""
    x = torch.arange(6.0).view(2, 3)
    numbers = ["float64", "float16", "uint8", "int8", "int16", "int32", "int64", "bool"]
    weight = torch.nn.Parameter(torch.tensor([[0.5, -2.0]]))
    noted = torch.nn.Parameter(torch.ones(1), requires_grad=False)
    noted.note = "kept"
    return OrderedDict(
        base=x, part=x.t()[1:], element=x[1, 1], wide=torch.tensor([1.0, 2.0]).expand(3, 2), empty=torch.zeros(0, 3), zero=torch.tensor(2.5),
        kinds={name: torch.tensor([0, 1, 1], dtype=getattr(torch, name)) for name in numbers},
        leaf=torch.tensor([1.0, float("inf")], requires_grad=True), result=torch.ones(2, requires_grad=True) * 3, weight=weight, twice=[weight, weight],
        noted=noted, buffer=torch.nn.Buffer(torch.ones(2)), plain=[None, True, -3, 2**80, 0.1, "\u00e9", b"ab", (1, (2,)), {1, 2}, 1j, bytearray(b"x")],
        counted=Counter("aab"), about=[torch.Size([2, 0]), torch.float32, torch.device("cpu"), torch.strided],
    )  # fmt: skip


def described(value):
    """What the two libraries must agree on."""
    if hasattr(value, "requires_grad"):
        own = {name: vars(value)[name] for name in sorted(vars(value))}
        return (type(value).__name__, str(value.dtype), value.tolist(), tuple(value.shape), value.stride(), value.storage_offset(),
                value.untyped_storage().nbytes(), value.requires_grad, value.is_leaf, own)  # fmt: skip
    if isinstance(value, dict):
        return type(value).__name__, {key: described(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return [described(one) for one in value]
    return f"{value!r} {type(value).__name__}"


def stored(value, **kwargs):
    buffer = io.BytesIO()
    torch.save(value, buffer, **kwargs)
    buffer.seek(0)
    return buffer


def there_and_back(value, **kwargs):
    return torch.load(stored(value), **kwargs)


def expected():
    """What comes back: every tensor is a leaf."""
    value = contents(torch)
    value["result"] = value["result"].detach().requires_grad_()
    return described(value)


def model(torch):
    torch.manual_seed(3)
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4), nn.Dropout(0.25), nn.Linear(4, 2, bias=False)
    )


def trained(torch, net, optimizer, steps):
    x = torch.linspace(-1, 1, 12).view(4, 3)
    for _ in range(steps):
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()


def checkpoint(torch):
    """Half of a training run."""
    net = model(torch)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, amsgrad=True)
    trained(torch, net, optimizer, 3)
    return {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "generator": torch.get_rng_state()}


def resumed(torch, half):
    """The weights after the other half."""
    net = model(torch)
    optimizer = torch.optim.Adam(net.parameters())
    net.load_state_dict(half["net"])
    optimizer.load_state_dict(half["optimizer"])
    torch.set_rng_state(half["generator"])
    trained(torch, net, optimizer, 3)
    return np.concatenate([np.array(p.tolist()).ravel() for p in net.parameters()])


def test_what_is_saved_comes_back(tmp_path):
    torch.save(contents(torch), tmp_path / "file.pt")
    back = torch.load(tmp_path / "file.pt", map_location="cpu")
    assert described(back) == expected()


def test_memory_and_identity_are_shared_again():
    back = there_and_back(contents(torch))
    back["base"][1, 1] = 40
    assert back["part"].tolist() == [[1, 40], [2, 5]]
    assert back["element"].item() == 40
    assert back["twice"][0] is back["twice"][1] is back["weight"]
    assert back["weight"].grad_fn is None
    (back["weight"] * 2).sum().backward()
    assert back["weight"].grad.tolist() == [[2, 2]]


@pytest.mark.parametrize("name", ["pytorch.pt", "pytorch_old_format.pt"])
def test_a_file_of_pytorch_is_read(name):
    back = torch.load(ARCHIVES / name)
    assert described(back["contents"]) == expected()
    assert np.allclose(resumed(torch, back["checkpoint"]), back["after"].numpy(), atol=1e-6)


def test_a_module_of_pytorch_is_read():
    """Whole, with the classes here."""
    net, x, y = torch.load(ARCHIVES / "pytorch_module.pt", weights_only=False)
    assert isinstance(net[0], torch.nn.Linear)
    assert torch.allclose(net(x), y, atol=1e-6)
    assert [name for name, _ in net.named_buffers()] == [
        "2.running_mean",
        "2.running_var",
        "2.num_batches_tracked",
    ]
    with (
        pytest.raises(pickle.UnpicklingError, match="weights_only=False"),
        torch.serialization.safe_globals([torch.nn.Linear]),
    ):
        torch.load(ARCHIVES / "pytorch_module.pt")


def test_pytorch_reads_what_is_written_here(tmp_path):
    live = pytest.importorskip("torch")
    torch.save({"contents": contents(torch), "checkpoint": checkpoint(torch)}, tmp_path / "ours.pt")
    for options in ({}, {"mmap": True}, {"weights_only": False}):
        back = live.load(tmp_path / "ours.pt", **options)
        assert described(back["contents"]) == expected()
    assert np.allclose(resumed(live, back["checkpoint"]), resumed(torch, checkpoint(torch)), atol=1e-6)


def test_the_recorded_files_are_what_pytorch_writes():
    live = pytest.importorskip("torch")
    with zipfile.ZipFile(ARCHIVES / "pytorch.pt") as archive:
        pickled = archive.read("pytorch/data.pkl")
    buffer = io.BytesIO()
    live.save(recorded(live), buffer)
    with zipfile.ZipFile(buffer) as archive:
        assert archive.read("archive/data.pkl") == pickled


def test_numbers_lie_where_they_can_be_mapped():
    with zipfile.ZipFile(stored(contents(torch))) as archive:
        data = archive.fp.getvalue()
        for entry in archive.infolist():
            name, extra = struct.unpack("<HH", data[entry.header_offset + 26 : entry.header_offset + 30])
            assert (entry.header_offset + 30 + name + extra) % 64 == 0
            assert entry.compress_type == zipfile.ZIP_STORED


WHOLE = stored(torch.arange(40.0)).getvalue()


def test_a_module_needs_trust():
    net = torch.nn.Linear(2, 1)
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        there_and_back(net)
    back = there_and_back(net, weights_only=False)
    assert torch.equal(back.weight, net.weight)
    with torch.serialization.safe_globals([torch.nn.Linear]):
        assert torch.equal(there_and_back(net).weight, net.weight)


def test_code_in_a_file_does_not_run():
    class Evil:
        def __reduce__(self):
            return print, ("it ran",)

    with pytest.raises(pickle.UnpicklingError, match=r"builtin(s|__)\.print"):
        there_and_back({"a": Evil()})


@pytest.mark.parametrize("state", [{"relu": 1}, (None, {"relu": 1})])
def test_a_file_does_not_write_to_classes(state):
    relu = torch.Tensor.relu
    with zipfile.ZipFile(io.BytesIO(WHOLE)) as old, zipfile.ZipFile(buffer := io.BytesIO(), "w") as new:
        for entry in old.infolist():
            write = (
                b"\x80\x02ctorch\nTensor\n" + pickle.dumps(state, 2)[2:-1] + b"b."
            )  # the class Tensor, BUILD
            data = write if entry.filename.endswith("data.pkl") else old.read(entry)
            new.writestr(entry.filename, data)
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="would change the class Tensor"):
        torch.load(buffer)
    assert torch.Tensor.relu is relu


def test_what_stands_for_a_layout_is_no_way_to_other_names():
    stored_layout = stored(torch.strided).getvalue()
    assert torch.load(io.BytesIO(stored_layout)) is torch.strided
    for name in (b"torch.np", b"torch.sys"):
        text = b"X\x0d\x00\x00\x00torch.strided"
        assert text in stored_layout
        with (
            zipfile.ZipFile(io.BytesIO(stored_layout)) as old,
            zipfile.ZipFile(buffer := io.BytesIO(), "w") as new,
        ):
            for entry in old.infolist():
                other = b"X" + struct.pack("<I", len(name)) + name
                new.writestr(entry.filename, old.read(entry).replace(text, other))
        buffer.seek(0)
        with pytest.raises(pickle.UnpicklingError, match="layout is"):
            torch.load(buffer)


class Named(torch.Tensor):
    """A class of the user's."""


def test_a_class_of_the_users_needs_trust():
    value = torch.ones(2, requires_grad=True)
    value.__class__ = Named
    value.title = "t"
    with pytest.raises(pickle.UnpicklingError, match="Named"):
        there_and_back(value)
    for back in (there_and_back(value, weights_only=False), _trusting(value)):
        assert (type(back), back.title, back.tolist(), back.requires_grad) == (Named, "t", [1, 1], True)


def _trusting(value):
    with torch.serialization.safe_globals([Named]):
        return there_and_back(value)


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (b"", EOFError, "empty"),
        (b"hello, I am no archive", pickle.UnpicklingError, r"not written by torch\.save"),
        (WHOLE[:300], RuntimeError, "PytorchStreamReader failed reading zip archive"),
    ],
)
def test_a_damaged_file_is_refused(data, error, text):
    with pytest.raises(error, match=text):
        torch.load(io.BytesIO(data))


def test_a_tensor_that_does_not_fit_into_its_storage_is_refused():
    """Nobody reads memory that is not the file's."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(WHOLE)) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry.filename, data[:80] if entry.filename.endswith("data/0") else data)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="the file is damaged"):
        torch.load(buffer)


def test_an_old_file_that_ends_too_early_is_refused():
    data = (ARCHIVES / "pytorch_old_format.pt").read_bytes()
    with pytest.raises(RuntimeError, match="unexpected end"):
        torch.load(io.BytesIO(data[:-4]))


def test_number_types_that_are_not_here_are_named():
    with pytest.raises(RuntimeError, match="BFloat16"):
        torch.load(ARCHIVES / "pytorch_bfloat16.pt")


def test_where_a_file_cannot_be_written_or_read(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .* does not exist"):
        torch.save(1, tmp_path / "none" / "file.pt")
    with pytest.raises(AttributeError, match="with a 'write' attribute"):
        torch.save(1, 3)
    with pytest.raises(AttributeError, match="torch.load from a file that is seekable"):
        torch.load(3)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(stored(torch.ones(1)), map_location="cuda")
    x = torch.zeros(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        stored([x, x.view(torch.int32)])


def test_empty_tensors_of_several_types_can_be_saved_again():
    """What was loaded of these may lie at one address."""
    back = there_and_back(there_and_back([torch.zeros(0), torch.zeros(0, dtype=torch.int64)]))
    assert [t.dtype for t in back] == [torch.float32, torch.int64]


def test_a_file_may_begin_with_something_else():
    buffer = io.BytesIO(b"a head")
    buffer.seek(6)
    torch.save(torch.ones(2), buffer)
    buffer.seek(6)
    assert torch.load(buffer).tolist() == [1, 1]


def recorded(torch):
    after = resumed(torch, checkpoint(torch))
    return {"contents": contents(torch), "checkpoint": checkpoint(torch), "after": torch.tensor(after, dtype=torch.float32)}  # fmt: skip


def record(live):
    """Write the files with PyTorch; where only rounding differs, the old file stays."""
    net = model(live).eval()
    x = live.linspace(-1, 1, 12).view(4, 3)
    values = {
        "pytorch": recorded(live),
        "pytorch_old_format": recorded(live),
        "pytorch_module": (net, x, net(x).detach()),
        "pytorch_bfloat16": live.ones(3, dtype=live.bfloat16),
    }
    for name, value in values.items():
        buffer = io.BytesIO()
        live.save(value, buffer, _use_new_zipfile_serialization=name != "pytorch_old_format")
        buffer.seek(0)
        path = ARCHIVES / f"{name}.pt"
        files = [buffer, path] if path.exists() else [buffer]
        after, *before = [plain(described(live.load(file, weights_only=False))) for file in files]
        if not before or differences(after, before[0]):
            live.save(value, path, _use_new_zipfile_serialization=name != "pytorch_old_format")
