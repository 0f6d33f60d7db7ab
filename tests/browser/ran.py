"""What several sites of these tests are made of, and takes long: notebooks that have run, and Python files that are compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import nbformat

from autograd_lab.course import build as course
from autograd_lab.site import reading
from autograd_lab.site.pyodide import Pyodide
from tests import kernels

Result = TypeVar("Result")
ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))


def aside(work: Callable[..., Result], *arguments: Any) -> Result:
    """What a function gives that runs notebooks: in a thread, since an event loop runs in this one while Playwright is open, and in forked kernels."""
    forked = mock.patch("jupyter_client.provisioning.local_provisioner.launch_kernel", kernels.launch)
    with ThreadPoolExecutor(1) as thread, forked if sys.platform == "linux" else nullcontext():
        return thread.submit(work, *arguments).result()


def ran(sources: list[Path] = SOURCES) -> dict[Path, str]:
    """What `reading.executed` gives for each source.

    In one kernel, one after the other: a kernel for each would take most of the time.
    """
    books = {source: course.read_source(source) for source in sources}
    cells = []
    for book in books.values():
        cells.append(nbformat.v4.new_code_cell(f"%reset -f\n{reading.BEGIN}"))
        cells += book["cells"]
    whole = nbformat.v4.new_notebook(cells=cells, metadata=course.NOTEBOOK_METADATA)
    aside(course.execute, whole, ROOT / "notebooks", ROOT)
    return {source: str(nbformat.writes(book)) for source, book in books.items()}


compiled: dict[frozenset[tuple[str, bytes]], dict[str, bytes]] = {}
compile_files = Pyodide._bytecode


def bytecode(python: Pyodide, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """In the place of the method `Pyodide._bytecode`: what it gives, which takes seconds, and is the same for every site."""
    key = frozenset(files.items())
    if key not in compiled:
        compiled[key] = compile_files(python, files)
    return compiled[key]
