"""All notebooks as they run for their pages, in one kernel, one after the other: a kernel for each would take most of the time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat

from autograd_lab.course import build as course
from autograd_lab.site import reading

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))


def ran(sources: list[Path] = SOURCES) -> dict[Path, str]:
    """What `reading.executed` gives for each source."""
    books = {source: course.read_source(source) for source in sources}
    cells = []
    for book in books.values():
        cells.append(nbformat.v4.new_code_cell(f"%reset -f\n{reading.BEGIN}"))
        cells += book["cells"]
    whole = nbformat.v4.new_notebook(cells=cells, metadata=course.NOTEBOOK_METADATA)
    with ThreadPoolExecutor(1) as aside:  # while Playwright is open, an event loop runs in this thread
        aside.submit(course.execute, whole, ROOT / "notebooks", ROOT).result()
    return {source: str(nbformat.writes(book)) for source, book in books.items()}
