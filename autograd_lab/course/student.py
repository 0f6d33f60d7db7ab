"""A notebook as a student receives it: the same cells, none of the outputs, no assert. And the layout of a student's folder.

The committed notebooks contain their outputs, so that anyone can read them and nbval can compare them, and assert what the prose
says. In a student's folder either would give the answer before the prediction.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("notebooks", "exercises")
"""What a student gets, each in a folder of this name."""

INSTRUCTOR = "instructor"
"""The tag of cells for the instructor; see notebooks/*.py and TEACHING.md."""

PRIVATE = ".autograd_lab"
"""The folder inside a working folder for the lab's own files: the list of deliveries, the progress, JupyterLab's layout."""


def student_copy(notebook: str) -> str:
    """The text of a notebook file, without outputs, execution counts, asserts and the instructor's cells."""
    content = json.loads(notebook)
    kept = []
    for cell in content["cells"]:
        if INSTRUCTOR in cell["metadata"].get("tags", []):
            continue
        if cell["cell_type"] == "code":
            cell["outputs"] = []
            cell["execution_count"] = None
            source = "".join(cell["source"])
            if (shorter := without_asserts(source)) != source:
                cell["source"] = shorter.splitlines(keepends=True)
            if not shorter:
                continue
        kept.append(cell)
    content["cells"] = kept
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


_MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)


def without_asserts(source: str) -> str:
    """The code of a cell without its asserts; an `if` that holds nothing else goes with them.

    What cannot be parsed is unchanged. Raises nothing.
    """
    try:
        tree = ast.parse(_MAGIC.sub(r"\1pass", source))
    except SyntaxError:
        return source
    lines = source.split("\n")
    for node in reversed(list(_only_asserts(tree))):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = lines[first].encode()[: node.col_offset].decode()
        after = lines[last].encode()[node.end_col_offset :].decode()
        alone = not before.strip() and after.split("#")[0].strip() in ("", ";")
        held = (
            []
            if alone and not _alone_in_block(node, tree)
            else [before + "pass" + after.split("#")[0].rstrip()]
        )
        lines[first : last + 1] = held
    return (
        re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n") if lines != source.split("\n") else source
    )


def _only_asserts(node: ast.AST) -> Iterator[ast.stmt]:
    """Asserts, and statements `if` that hold only these, from the first to the last."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assert) or (
            isinstance(child, ast.If)
            and not child.orelse
            and all(isinstance(part, ast.Assert) for part in child.body)
        ):
            yield child
        else:
            yield from _only_asserts(child)


def _alone_in_block(node: ast.stmt, tree: ast.Module) -> bool:
    """Whether the block that `node` stands in would be empty without it and its like."""
    for parent in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and node in block:
                return parent is not tree and block[0] is node and set(block) <= set(_only_asserts(parent))
    return False


def is_source_checkout(folder: Path) -> bool:
    """Whether `folder` is a checkout of autograd_lab, or in the course folders of one."""
    return any(
        (place / "autograd_lab" / "course" / "resources.py").is_file()
        for place in (folder, *(folder.parents if folder.name in {*FOLDERS, "solutions"} else ()))
    )
