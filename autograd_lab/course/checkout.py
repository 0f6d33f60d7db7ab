"""Notebooks opened from a checkout of the project in JupyterLab are not marked unsaved by that.

JupyterLab notes in a notebook which kernel runs it, with the version of its Python, and marks the notebook unsaved if that is
news. The built notebooks cannot have it, because it differs between machines: this extension of the Jupyter server fills it in
when one is read. `pip install -e .` enables it (wheel.py puts server_extension.json in its place); outside a checkout it does
nothing. (A student's copies have it from the delivery, see resources.py.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autograd_lab.course.resources import note_kernel
from autograd_lab.course.student import is_source_checkout


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    # once the server runs: an extension that is loaded later, such as jupytext's, may replace its contents manager
    server.io_loop.add_callback(lambda: fill_in(server.contents_manager))


def fill_in(contents: Any) -> None:
    """From now on a notebook of a checkout that the contents manager reads says which kernel runs it; its file is left as it is."""
    from jupyter_core.utils import ensure_async

    read = contents.get

    async def get(path: str, content: bool = True, *args: Any, **kwargs: Any) -> Any:
        model = await ensure_async(read(path, content, *args, **kwargs))
        folder = Path(getattr(contents, "root_dir", ""), path.lstrip("/")).parent
        if content and model["type"] == "notebook" and is_source_checkout(folder):
            note_kernel(model["content"]["metadata"])
        return model

    contents.get = get
