"""What one plain `pytest` does with notebooks.

nbval turns each cell into a test. notebooks/ and solutions/ must print what is stored; exercises/ must run,
and may print anything, for their stubs are there to be filled in. Notebooks elsewhere are data: tests have
broken ones. In a parallel run `--dist loadscope` keeps the cells of a notebook, which share a kernel, on one worker.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from nbval.kernel import RunningKernel
from nbval.plugin import IPyNbFile

HERE = Path(__file__).resolve().parent
COMPARED = {"notebooks": True, "solutions": True, "exercises": False}


def execute_counted(self: RunningKernel, cell_input: str, allow_stdin: bool | None = None) -> str:
    """Run a cell as Jupyter does, so that cells are counted: nbval asks for no history, and every cell is then number 1.

    lab.why and tracebacks name cells by their number ("cell 6, line 3").
    """
    return self.kc.execute(cell_input, allow_stdin=allow_stdin, stop_on_error=False)


RunningKernel.execute_cell_input = execute_counted


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
