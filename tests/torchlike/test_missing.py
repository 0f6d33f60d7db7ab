"""Names of PyTorch's that are not here say so; what is here is not on the list."""

import importlib

import pytest

import autograd_lab
from autograd_lab.torchlike.world.missing import NAMES


@pytest.mark.parametrize("module", NAMES)
def test_a_name_that_is_left_out_says_so(module):
    place = importlib.import_module("autograd_lab" + (f".{module}" if module else ""))
    for name in NAMES[module]:
        with pytest.raises(AttributeError, match=name):
            getattr(place, name)
        assert name not in vars(place)


def test_the_message():
    with pytest.raises(
        AttributeError, match="PyTorch has torch.optim.SparseAdam, autograd_lab leaves it out"
    ):
        autograd_lab.optim.SparseAdam  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Lineer'$"):
        autograd_lab.nn.Lineer  # noqa: B018
