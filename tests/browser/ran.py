"""All notebooks as they run for their pages, in one kernel, one after the other: a kernel for each would take most of the time."""

from __future__ import annotations

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
    course.execute(whole, ROOT / "notebooks", ROOT)
    return {source: str(nbformat.writes(book)) for source, book in books.items()}
