"""A small notebook that satisfies everything, as plain data, for tests to break in one way each."""

import copy
from typing import Any

Notebook = dict[str, Any]

WIDGET = "application/vnd.jupyter.widget-view+json"

_PROSE = "word " * 700


def markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": "m", "metadata": {}, "source": text}


def code(
    text: str, count: int | None, *outputs: dict[str, Any], tags: tuple[str, ...] = ()
) -> dict[str, Any]:
    metadata = {"tags": list(tags)} if tags else {}
    return {
        "cell_type": "code",
        "id": f"c{count}",
        "metadata": metadata,
        "execution_count": count,
        "outputs": list(outputs),
        "source": text,
    }


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def shown(**data: str) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": data}


def error() -> dict[str, Any]:
    trace = ["ZeroDivisionError: division by zero"]
    return {
        "output_type": "error",
        "ename": "ZeroDivisionError",
        "evalue": "division by zero",
        "traceback": trace,
    }


def notebook(*cells: dict[str, Any]) -> Notebook:
    block = {
        "id": "07",
        "minutes": 30,
        "needs": ["06"],
        "goals": ["do one thing"],
        "refutes": ["M06"],
        "retests": [],
        "points": 0,
    }
    content = [copy.deepcopy(cell) for cell in cells]
    for number, cell in enumerate(content, start=1):
        cell["id"] = f"cell-{number}"
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {
        "cells": content,
        "metadata": metadata | {"autograd_lab": block},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def good() -> Notebook:
    """The notebook "07_good": prose, a run cell, an announced error."""
    return notebook(
        markdown(_PROSE),
        code("x = 48 + 48\nassert x == 96\nprint(x)", 1, stream("96\n")),
        markdown("The sum is 96."),
        code("1 / 0", 2, error(), tags=("raises-exception",)),
    )
