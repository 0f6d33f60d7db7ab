"""Settings every test shares."""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import matplotlib
import pytest
from hypothesis import settings

import autograd_lab
from autograd_lab import lab
from autograd_lab.torchlike.world.standin import _import_all as import_all
from autograd_lab.torchlike.world.standin import undrawn

matplotlib.use("Agg")  # no window; and not by the environment, which kernels inherit
os.environ.pop(
    "PYTEST_ADDOPTS", None
)  # what was meant for this run; tests that start pytest start a plain one

if not (Path(autograd_lab.__file__).parent / "express").is_dir():
    collect_ignore = ["express"]  # without the folder all other tests pass

os.environ["AUTOGRAD_LAB_STRICT"] = "1"  # a recorder that fails raises, also in kernels

# In CI the same examples every time, so that a red run is red again; elsewhere new ones each time.
# No deadline: a shared machine's slow moment is not a bug.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def grad_mode_is_put_back() -> Iterator[None]:
    """A test, and what it tests, leaves recording switched on for the next one."""
    yield
    leaked = not autograd_lab.is_grad_enabled() or autograd_lab.is_inference_mode_enabled()
    if leaked:
        autograd_lab.set_grad_enabled(True)
    assert not leaked, "grad mode was left changed"


@pytest.fixture(autouse=True)
def express_is_on() -> None:
    """Each test begins as a script does: with express, unless AUTOGRAD_LAB_EXPRESS=0 says otherwise; and steppers show everything."""
    lab.fast()
    levels = sys.modules.get("autograd_lab.widgets.levels")
    if levels is not None:
        levels.level(levels.LEVELS[-1])  # a notebook that an earlier test ran has chosen another


@cache
def as_torchs() -> dict[str, ModuleType]:
    """The library's modules by PyTorch's names: all that a program can import, or it would make one a second time, as torch's."""
    import_all(autograd_lab)
    return {
        name.replace("autograd_lab", "torch", 1): module
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "autograd_lab"
    }


@pytest.fixture
def standing_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The library, which is also what a program finds under the name torch."""
    ours = as_torchs()
    monkeypatch.setattr(autograd_lab.dtypes.Defaults, "meta", undrawn)
    there = {name: sys.modules[name] for name in ours.keys() & sys.modules.keys()}
    sys.modules.update(ours)
    yield autograd_lab
    for name in ours:
        sys.modules.pop(name, None)
    sys.modules.update(there)
