"""The notebooks of the course: number, title, file. docs/course.md, lab.progress and the links between notebooks agree with it."""

from __future__ import annotations

import re

PREFIX = "exercise_"

TITLES = {
    "00": "Start here",
    "01": "Nudge and measure",
    "02": "Forward builds the graph",
    "03": "One node, one rule",
    "04": "Backward, node by node",
    "05": "Who keeps a gradient?",
    "06": "What the graph remembers",
    "07": "Switching it off",
    "08": "Shapes",
    "09": "What backward(v) means",
    "10": "Writing in place",
    "11": "Write your own op",
    "12": "Gradients of gradients",
    "13": "Train, debug, build",
    "14": "A graph captured once",
}


def title(number: str) -> str:
    """The title of a notebook, or its number if the course has no such notebook."""
    return TITLES.get(number, number)


def stem(number: str) -> str:
    """The name of a notebook's file without its suffix: "04_backward_node_by_node"."""
    words = re.sub(r"[^a-z0-9]+", "_", TITLES[number].lower()).strip("_")
    return f"{number}_{words}"


def exercise_name(stem: str) -> str:
    """The name that an exercise notebook has in a student's folder, where a tab of JupyterLab must not look like the notebook's."""
    return stem if stem.startswith(PREFIX) or not stem[:1].isdigit() else PREFIX + stem


def exercise_file(number: str) -> str:
    """The path of an exercise notebook in a student's folder: "exercises/exercise_04_backward_node_by_node.ipynb"."""
    return f"exercises/{exercise_name(stem(number))}.ipynb"
