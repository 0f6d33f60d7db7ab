"""The sandbox's own tests run while no other test of the grader does, even under pytest-xdist.

They take layers out of the sandbox and fill a user's processes.
"""

import os
import tempfile
from pathlib import Path

import pytest

try:
    import fcntl
except ImportError:  # Windows: there is no sandbox to take layers out of
    fcntl = None  # type: ignore[assignment]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the sandbox's tests first: a parallel worker then has another folder's tests, and need not wait for them."""
    items.sort(key=lambda item: item.path.name != "test_sandbox.py")


@pytest.fixture(autouse=True)
def alone(request):
    """Holds a lock shared by all workers of a run, and by runs side by side: alone for the sandbox's tests, together for others."""
    if fcntl is None:
        yield
        return
    place = Path(tempfile.gettempdir(), f"autograd-lab-grade-tests-{os.getuid()}.lock")
    with place.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if request.path.name == "test_sandbox.py" else fcntl.LOCK_SH)
        yield
