"""Files of torchlike/ under two names: their place, and PyTorch's."""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import autograd_lab
from autograd_lab import torchlike
from autograd_lab.loading import paths

PLACES = [
    found.name
    for found in pkgutil.walk_packages(torchlike.__path__, f"{torchlike.__name__}.")
    if not found.name.endswith(
        ".world.standin"
    )  # replaces `torch` when it is told to, not when it is imported
]


def test_the_names_below_the_folder_are_listed():
    assert {place.split(".")[2] for place in PLACES} == paths._TOPS
    assert paths.MOVED.keys() & {paths.public(place).partition(".")[2] for place in PLACES} == {
        name for name in paths.MOVED if "." not in name and name != "standin"
    }


@pytest.mark.parametrize("place", PLACES)
def test_both_names_give_one_module(place):
    module = importlib.import_module(place)
    name = paths.public(place)
    assert importlib.import_module(name) is module is sys.modules[place] is sys.modules[name]
    assert (module.__name__, module.__spec__.name) == (name, place)
    assert ".torchlike" not in name
    for member in vars(module).values():  # what is defined here knows its public name
        assert not str(getattr(member, "__module__", "")).startswith("autograd_lab.torchlike"), member


@pytest.mark.parametrize("name", paths.MOVED)
def test_older_paths_still_lead_there(name):
    module = importlib.import_module(f"autograd_lab.{name}")
    assert module is importlib.import_module(f"autograd_lab.torchlike.{paths.MOVED[name]}")


BOTH_ORDERS = """
import sys, importlib
first, second = sys.argv[1:]
one = importlib.import_module(first)
two = importlib.import_module(second)
assert one is two and one.__spec__.name.startswith("autograd_lab.torchlike."), one
assert sys.modules[first] is sys.modules[second] is one
import autograd_lab
held = autograd_lab
for part in second.split(".")[1:]:
    held = getattr(held, part)
assert held is one
"""


@pytest.mark.parametrize(
    "page", ["distributions.kl", "nn.utils.prune", "optim.lbfgs", "ops.sorting", "utils.data", "special"]
)
@pytest.mark.parametrize("public_first", [True, False])
def test_whichever_is_imported_first(page, public_first):
    names = [f"autograd_lab.{page}", f"autograd_lab.torchlike.{page}"]
    order = names if public_first else names[::-1]
    done = subprocess.run(
        [sys.executable, "-c", BOTH_ORDERS, *order], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


MEANWHILE = """
import importlib, sys

import autograd_lab


class Other:
    "What another thread may do while Python looks for the public name."

    def find_spec(self, name, path=None, target=None):
        if name == "autograd_lab.special":
            self.module = importlib.import_module("autograd_lab.torchlike.special")


sys.meta_path.insert(0, other := Other())
module = importlib.import_module("autograd_lab.special")
assert module is other.module is sys.modules["autograd_lab.torchlike.special"] is autograd_lab.special
assert importlib.reload(module) is module
"""


def test_a_module_that_another_thread_loads_meanwhile_is_loaded_once():
    done = subprocess.run([sys.executable, "-c", MEANWHILE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_not_there_is_missing_by_the_name_that_was_asked_for():
    for name in (
        "autograd_lab.nn.nothing",
        "autograd_lab.nothing",
        "autograd_lab.torchlike.nothing",
        "autograd_lab.tensor.x",
    ):
        with pytest.raises(ModuleNotFoundError) as error:
            importlib.import_module(name)
        assert error.value.name == name


def test_pickles_name_the_public_path():
    text = pickle.dumps(autograd_lab.nn.Linear(2, 2))
    assert b"torchlike" not in text
    assert b"autograd_lab.nn.modules" in text


def test_tools_find_the_sources():
    assert inspect.getsourcefile(autograd_lab.nn.Linear) == str(
        Path(torchlike.__path__[0]) / "nn" / "modules.py"
    )
    assert inspect.getsource(autograd_lab.autograd.backward).startswith("def backward(")
    assert inspect.getmodule(autograd_lab.nn.Linear).__name__ == "autograd_lab.nn.modules"
