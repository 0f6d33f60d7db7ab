"""What one plain `pytest` does with notebooks, and how a parallel run deals out the slow tests.

nbval turns each cell into a test. notebooks/ and solutions/ must print what is stored; exercises/ must run,
and may print anything, for their stubs are there to be filled in. Notebooks elsewhere are data: tests have
broken ones.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbval.plugin import IPyNbFile

HERE = Path(__file__).resolve().parent
COMPARED = {"notebooks": True, "solutions": True, "exercises": False}


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Iterator[list[pytest.Collector] | None]:
    """Choose strict or lax for each notebook, and keep what shares a kernel or a browser on one worker."""
    collectors = yield
    folder = file_path.relative_to(HERE).parts[0] if file_path.is_relative_to(HERE) else ""
    wanted = []
    for collector in collectors or []:
        if isinstance(collector, IPyNbFile):
            if folder not in COMPARED:
                continue
            collector.compare_outputs = COMPARED[folder]
            collector.add_marker(pytest.mark.xdist_group(file_path.name))
        elif file_path.is_relative_to(HERE / "tests" / "browser"):
            collector.add_marker(pytest.mark.browser)
            collector.add_marker(pytest.mark.xdist_group(file_path.name))
        wanted.append(collector)
    return wanted
