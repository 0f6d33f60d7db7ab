"""The core by itself, for tests of what the package does in other ways."""

import importlib
import shutil
import sys
from pathlib import Path

import pytest

import autograd_lab

CORE = Path(autograd_lab.__file__).parent / "core"


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The core, copied into an empty folder: another module than the package's core."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(CORE, folder / "core_alone", ignore=shutil.ignore_patterns("__pycache__"))
    sys.path.insert(0, str(folder))
    yield importlib.import_module("core_alone")
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "core_alone"]:
        del sys.modules[name]
