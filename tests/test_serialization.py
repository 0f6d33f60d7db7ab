"""torch.save and torch.load: what comes back, and what is refused."""

import io
import pickle
from collections import OrderedDict

import pytest

import autograd_lab as torch


def there_and_back(value, **kwargs):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, **kwargs)


def test_tensors_and_containers_come_back(tmp_path):
    value = OrderedDict(a=torch.arange(3), b=[torch.tensor(2.5, requires_grad=True), {"c": (1, "x", None)}])
    torch.save(value, tmp_path / "file.pt")
    back = torch.load(tmp_path / "file.pt", map_location="cpu")
    assert back["a"].tolist() == [0, 1, 2]
    assert back["b"][0].requires_grad
    assert back["b"][1] == {"c": (1, "x", None)}
    parameter = there_and_back(torch.nn.Parameter(torch.ones(2)))
    assert isinstance(parameter, torch.nn.Parameter)


def test_a_module_needs_trust():
    model = torch.nn.Linear(2, 1)
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False"):
        there_and_back(model)
    back = there_and_back(model, weights_only=False)
    assert torch.equal(back.weight, model.weight)


def test_code_in_a_file_does_not_run():
    class Evil:
        def __reduce__(self):
            return print, ("it ran",)

    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print"):
        there_and_back({"a": Evil()})


def test_a_file_from_elsewhere_is_refused():
    with pytest.raises(RuntimeError, match="by PyTorch"):
        torch.load(io.BytesIO(b"PK\x03\x04..."))
