"""What one plain `pytest` does with notebooks.

nbval turns each cell into a test. notebooks/ and solutions/ must print what is stored; exercises/ must run,
and may print anything, for their stubs are there to be filled in. Notebooks elsewhere are data: tests have
broken ones. In a parallel run `--dist loadscope` keeps the cells of a notebook, which share a kernel, on one worker.
"""

import os

# Hundreds of tests start a Python of their own: without compiled files each would compile the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Parallel workers share the cores: the threads of PyTorch's or NumPy's that wait for each other would only take them away.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import gc
import sys

if "rfc3987_syntax" not in sys.modules:
    # nbformat's jsonschema would have it build a grammar of web addresses, which takes a second in each process; no test checks any.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import nbval.kernel
import pytest
from hypothesis import given, settings
from hypothesis.strategies import just
from jupyter_client.manager import KernelManager
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbCell, IPyNbFile

from autograd_lab.course.kernel import manager_of_files
from tests.kernels import launch

pytest_plugins = ["nbval.plugin"]  # here and not by its entry point, which pytest loads before this file

sys.dont_write_bytecode = False  # what pytest makes of the test files is kept for the next run, too
os.environ["AUTOGRAD_LAB_STRICT"] = "1"  # a recorder that fails raises, also in the kernels of notebooks

HERE = Path(__file__).resolve().parent
COMPARED = {"notebooks": True, "solutions": True, "exercises": False}
QUICK = [HERE / "tests" / wing for wing in ("core", "trace", "course")]


def execute_counted(self: RunningKernel, cell_input: str, allow_stdin: bool | None = None) -> str:
    """Run a cell as Jupyter does, so that cells are counted: nbval asks for no history, and every cell is then number 1.

    lab.why and tracebacks name cells by their number ("cell 6, line 3").
    """
    return self.kc.execute(cell_input, allow_stdin=allow_stdin, stop_on_error=False)


RunningKernel.execute_cell_input = execute_counted

FORKS = sys.platform == "linux"  # macOS can fork, but not safely after all that is imported; Windows cannot
LAUNCH = "jupyter_client.provisioning.local_provisioner.launch_kernel"
start_once = nbval.kernel.start_new_kernel


def start_kernel(**settings: Any) -> Any:
    """Start a kernel; if it dies before it has run anything, start another, and show what the first one said."""
    with tempfile.TemporaryFile("w+") as said:  # nbval sends it to /dev/null
        try:
            with mock.patch(LAUNCH, launch) if FORKS else nullcontext():
                return start_once(**settings | {"stderr": said})
        except RuntimeError as error:
            said.seek(0)
            warnings.warn(f"{error}; it said:\n{said.read()}", stacklevel=1)
    return start_once(**settings)


nbval.kernel.start_new_kernel = start_kernel
nbval.kernel.KernelManager = partial(manager_of_files, KernelManager)


RARELY = 50_000, 10, 10
"""What the tests make is garbage soon, and few of it in cycles: to look as often as Python does takes up to a fifth of a test's time."""


@settings(max_examples=1, database=None)
@given(just(None))
def draw(_: None) -> None:
    """Let Hypothesis make its random numbers.

    When it does, it asks the garbage collector who holds them, and warns if nobody does: from Python 3.14 on it would find nobody once
    those who do are frozen.
    """


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Keep the tests, and all that they import, out of the garbage collector's sight.

    They live until the end of the run and are millions of objects: each full collection would walk through them, for
    most of a second, again and again while they are made, and hundreds of times while they run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        draw()
        gc.freeze()
        gc.set_threshold(*RARELY)


def pytest_unconfigure() -> None:
    """Let everything be collected at the end: what is frozen outlives PyTorch's modules, and complains."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Iterator[list[pytest.Collector] | None]:
    """Choose strict or lax for each notebook, and mark what needs a browser."""
    collectors = yield
    folder = file_path.relative_to(HERE).parts[0] if file_path.is_relative_to(HERE) else ""
    wanted = []
    for collector in collectors or []:
        if isinstance(collector, IPyNbFile):
            if folder not in COMPARED:
                continue
            collector.compare_outputs = COMPARED[folder]
        elif file_path.is_relative_to(HERE / "tests" / "browser"):
            collector.add_marker(pytest.mark.browser)
        wanted.append(collector)
    return wanted


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read the other tests for `pytest -m quick`: that would take longer than the quick ones run."""
    if config.option.markexpr != "quick":
        return None
    wanted = any(
        collection_path.is_relative_to(wing) or wing.is_relative_to(collection_path) for wing in QUICK
    )
    return None if wanted else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is quick, before `-m` selects; give a notebook's output as long as its cell.

    nbval waits five seconds for output after a cell has ended, and has no option for it: on a loaded machine it may take longer.
    """
    for item in items:
        if isinstance(item, IPyNbCell):
            item.output_timeout = float(item.config.option.nbval_cell_timeout)
        if is_in_quick(item.path) and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.quick)


@cache
def is_in_quick(file: Path) -> bool:
    """Whether a file of tests is in one of the quick wings."""
    return any(file.is_relative_to(wing) for wing in QUICK)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """With --dist loadscope, share the files as tests/scheduling.py does."""
    if config.getvalue("dist") != "loadscope":
        return None
    from tests.scheduling import Files  # only here: pytest-xdist is optional

    return Files(config, log)
