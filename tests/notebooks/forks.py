"""Runs notebooks in forks of one process that has imported everything: a kernel of its own would take each two seconds longer.

`run(book, folder)` fills in the outputs of a notebook's cells; `truths(book, folder)` tells the right answers (answers.py). The process
lives as long as the tests, and imports what each notebook has imported besides, for the next ones. Where the system cannot fork, each notebook gets a Python of its own.
"""

import atexit
import importlib
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import nbformat

from autograd_lab.course import build
from tests.kernels import in_fork

ROOT = Path(__file__).parents[2]
ENDS = ExitStack()
atexit.register(ENDS.close)
MOST_SECONDS = 200  # of a processor, for a notebook that never ends


def run(book, folder):
    """Run all cells in order as Jupyter does, and keep their outputs in `book`."""
    if not hasattr(os, "fork"):
        build.execute(book, folder, ROOT)
        return
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    told = asked({"do": "run", "cells": [cell.source for cell in cells], "folder": str(folder)})
    for count, (cell, outputs) in enumerate(zip(cells, told, strict=True), 1):
        cell.execution_count = count
        cell.outputs = [nbformat.from_dict(output) for output in outputs]
        for output in cell.outputs:
            assert output.output_type != "error" or "raises-exception" in cell.metadata.get("tags", []), (
                output
            )


def truths(book, folder):
    """{"holes": {number of a `...`: right answer}, "asked": [[id, [[label, truth] of each part]]]}."""
    return asked({"do": "truths", "notebook": json.dumps(book), "folder": str(folder)})


def asked(job):
    """What the process, or where it cannot fork a new one, says to a job."""
    process, errors = started() if hasattr(os, "fork") else started.__wrapped__()
    print(json.dumps(job), file=process.stdin, flush=True)
    told = json.loads(process.stdout.readline() or "null")
    if told is None:
        errors.seek(0)
        raise RuntimeError(errors.read().decode()[-3000:])
    return told


@cache
def started():
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    ENDS.enter_context(errors)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "AUTOGRAD_LAB_PROGRESS": "off",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    }
    process = subprocess.Popen(
        [sys.executable, __file__], env=environment, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
    )  # fmt: skip
    ENDS.callback(process.wait)
    ENDS.callback(process.stdin.close)
    ENDS.callback(process.stdout.close)
    return process, errors


# --- in that process ------------------------------------------------------------------------------------------------


def outputs_of(sources):
    """The outputs of each cell, as a notebook stores them."""
    from ipykernel.inprocess.manager import InProcessKernelManager

    manager = InProcessKernelManager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    found = []
    for source in sources:
        client.execute(source)
        outputs = []
        for message in client.iopub_channel.get_msgs():
            if message["msg_type"] in ("stream", "display_data", "execute_result", "error"):
                outputs.append(nbformat.v4.output_from_msg(message))
        found.append(outputs)
    return found


def answer(job, out):
    os.chdir(job["folder"])
    if job["do"] == "run":
        told = outputs_of(job["cells"])
    else:
        import warnings

        import answers

        warnings.simplefilter("ignore")
        with tempfile.NamedTemporaryFile("w+", suffix=".ipynb", encoding="utf-8") as file:
            file.write(job["notebook"])
            file.flush()
            told = answers.run(Path(file.name))
    print(json.dumps(told), file=out, flush=True)


IMPORTED = ("ipykernel.inprocess.manager", "ipywidgets", "matplotlib.pyplot", "networkx", "autograd_lab.lab")


def serve():
    if hasattr(os, "fork"):
        import resource
    for name in IMPORTED:
        importlib.import_module(name)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a notebook prints past Jupyter is no answer
    for line in sys.stdin:
        if not hasattr(os, "fork"):
            answer(json.loads(line), out)
            return

        def work(line=line):
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            answer(json.loads(line), out)

        if not in_fork(work):
            print("null", file=out, flush=True)


if __name__ == "__main__":
    serve()
