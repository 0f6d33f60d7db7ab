"""A notebook as a student receives it: the same cells, none of the outputs. And what a student's folder looks like.

The committed notebooks hold their outputs, so that they can be read anywhere and compared by nbval. In a
student's folder an output that stands under its question would answer it before anything was predicted.
"""

import json
from pathlib import Path

FOLDERS = ("notebooks", "exercises")
"""What a student gets, each in a folder of this name."""

INSTRUCTOR = "instructor"
"""The tag of cells that are for whoever teaches; see notebooks/*.py and TEACHING.md."""

PRIVATE = ".autograd_lab"
"""The folder inside a working folder that holds what is ours: the list of deliveries, the progress, JupyterLab's layout."""


def student_copy(notebook: str) -> str:
    """The text of a notebook file, with outputs, execution counts and the teacher's cells taken out."""
    content = json.loads(notebook)
    kept = []
    for cell in content["cells"]:
        if INSTRUCTOR in cell["metadata"].get("tags", []):
            continue
        if cell["cell_type"] == "code":
            cell["outputs"] = []
            cell["execution_count"] = None
        kept.append(cell)
    content["cells"] = kept
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def is_source_checkout(folder: Path) -> bool:
    """Whether `folder` is a checkout of autograd_lab, or lies in one's course folders."""
    return any(
        (place / "autograd_lab" / "_resources.py").is_file()
        for place in (folder, *(folder.parents if folder.name in {*FOLDERS, "solutions"} else ()))
    )
