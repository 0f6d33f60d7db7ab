"""A build hook for hatchling: puts the notebooks into a wheel as students receive them (see student.py), and answers packed (packed.py).

The committed notebooks contain outputs and the instructor's cells, and every student gets the wheel. Instructors
work in a checkout.
"""

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXTENSION = "autograd_lab/course/server_extension.json"
ENABLED = "etc/jupyter/jupyter_server_config.d/autograd_lab.json"
"""Where Jupyter looks for it, see checkout.py."""


class StudentCopies(BuildHookInterface):
    """Puts copies of notebooks/*.ipynb into the wheel, without what is not for students, and files with answers packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is written; an editable one uses the checkout as it is, and enables the extension for it in Jupyter."""
        if version == "editable":
            build_data["shared_data"][str(Path(self.root) / EXTENSION)] = ENABLED
            return
        student_copy, packed = _module("student").student_copy, _module("packed")
        self.copies = tempfile.TemporaryDirectory()
        for folder, suffix in packed.FOLDERS.items():
            for path in sorted((_COURSE / folder).glob(f"*{suffix}")):
                copy = Path(self.copies.name) / f"{path.name}{packed.SUFFIX}"
                copy.write_text(packed.pack(path.read_text(encoding="utf-8")), encoding="utf-8")
                build_data["force_include"][str(copy)] = f"autograd_lab/course/{folder}/{copy.name}"
        for notebook in sorted((Path(self.root) / "notebooks").glob("*.ipynb")):
            copy = Path(self.copies.name) / notebook.name
            copy.write_text(student_copy(notebook.read_text(encoding="utf-8")), encoding="utf-8")
            build_data["force_include"][str(copy)] = f"autograd_lab/_course/notebooks/{notebook.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called when the wheel is written."""
        if version != "editable":
            self.copies.cleanup()


_COURSE = Path(__file__).parent


def _module(name: str) -> Any:
    """A module of this folder alone: a build has no NumPy, which importing the package would load."""
    spec = importlib.util.spec_from_file_location(name, _COURSE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
