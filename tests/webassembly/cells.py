"""Runs the code cells of a notebook in this process, in IPython and without Jupyter."""

import json
import os
import re

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from told import FLOAT

os.environ |= {
    "AUTOGRAD_LAB_PROGRESS": "off",
    "AUTOGRAD_LAB_STRICT": "1",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}
NUMBER = re.compile(r"Out\[\d+\]: ?")  # IPython prints it before a result, Jupyter does not


def run(path, folder, compared):
    """(number of code cells, {number of a cell: its error, or what it prints that is not what is stored}), run in `folder`."""
    os.chdir(folder)
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.reset(new_session=True)  # no notebook sees another's names; the package stays imported
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    wrong = {}
    for number, cell in enumerate(cells, 1):
        with capture_output() as said:
            result = shell.run_cell("".join(cell["source"]), store_history=True)
        error = result.error_before_exec or result.error_in_exec
        texts = [NUMBER.sub("", said.stdout), *(output.data.get("text/plain", "") for output in said.outputs)]
        told, stored = same("".join(texts)), same("".join(map(text, cell["outputs"])))
        if error is not None:
            wrong[number] = f"{type(error).__name__}: {error}"
        elif compared and told != stored:
            wrong[number] = f"prints {told!r} instead of {stored!r}"
    return len(cells), wrong


def text(output):
    return "".join(
        output["text"] if output["output_type"] == "stream" else output["data"].get("text/plain", [])
    )


def same(printed):
    """Without what may differ between machines."""
    return "".join(FLOAT.sub("_", printed).split())
