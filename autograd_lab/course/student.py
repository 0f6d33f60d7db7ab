"""A notebook as a student receives it: the same cells, none of the outputs. And the layout of a student's folder.

The committed notebooks contain their outputs, so that anyone can read them and nbval can compare them. In a
student's folder, an output below its question would give the answer before the prediction.
"""

import json
from pathlib import Path

FOLDERS = ("notebooks", "exercises")
"""What a student gets, each in a folder of this name."""

INSTRUCTOR = "instructor"
"""The tag of cells for the instructor; see notebooks/*.py and TEACHING.md."""

PRIVATE = ".autograd_lab"
"""The folder inside a working folder for the lab's own files: the list of deliveries, the progress, JupyterLab's layout."""


def student_copy(notebook: str) -> str:
    """The text of a notebook file, without outputs, execution counts and the instructor's cells."""
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
    """Whether `folder` is a checkout of autograd_lab, or in the course folders of one."""
    return any(
        (place / "autograd_lab" / "course" / "resources.py").is_file()
        for place in (folder, *(folder.parents if folder.name in {*FOLDERS, "solutions"} else ()))
    )
