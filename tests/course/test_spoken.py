"""The ear of the lint: what nobody says, and what it must leave alone."""

import ast
from pathlib import Path

import pytest

from autograd_lab.course.spoken import STIFF, stiff

SAID_BY_NOBODY = [
    "Here they are, both.",
    "**Here it is**, twice.",
    "Read on. To b goes the message.",
    "To `W` goes `X.T @ G`.",
    "One more thing: at the node of `b` waits a 12.",
    "In this cell stands an assert.",
    "Then comes the code in quotes.",
    "Nor is it anomaly mode that keeps it.",
    "Some cuts nobody asked for.",
    "Whoever does not want it must clear.",
    "The gradient shall be 0.",
    "It is freed, and thus gone.",
    "From a sine one can not get back.",
    "It can be differentiated, for it was computed from x.",
    "It is something else than None.",
    "The layer is to stay as it is.",
    "The whole Jacobian is wanted.",
    "The cell begins with the error of above.",
    "Nothing need be kept.",
    "A view is no copy.",
    "What has become of `w`?",
    "One from the product, one by way of `b * 3`.",
    "A number of Python's is part of the graph.",
    "The node saves nothing, for its rule is g.",
    "p cannot be had from s.",
    "Move this line behind backward().",
]
FINE = [
    "Here it is, for both.",
    "The message goes to b. At the node of b, a 12 waits.",
    "With two inputs the messages come in pairs.",
    "`w` is too small for it, and for this reason it waits.",
    "It asks: what goes to `x`?",
    "The last one may be smaller.",
    "First come, first served is not the rule here.",
    "What comes in goes out.",
    "```python\nTo b goes = 1  # code is code\n```",
    "Go from step 3 to step 9. From there it goes on.",
    "There is no copy, and there are no nodes. Three numbers, for x and b, are left.",
]


@pytest.mark.parametrize("text", SAID_BY_NOBODY)
def test_what_nobody_says_is_found(text):
    assert list(stiff(text))


@pytest.mark.parametrize("text", FINE)
def test_what_people_say_is_left_alone(text):
    assert list(stiff(text)) == []


def test_a_line_break_does_not_hide_it():
    assert list(stiff("> Here they\n> are, both."))


def test_every_pattern_is_needed():
    import re

    for pattern, _ in STIFF:
        found = [text for text in SAID_BY_NOBODY if re.search(pattern, text)]
        assert found, pattern


ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "exercises/*.md",
    "solutions/*.md",
    "docs/*.md",
    "autograd_lab/course/*.md",
]
PYTORCHS = "torchlike"
"""Its messages are PyTorch's."""


def test_no_page_is_stiff():
    pages = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    assert len(pages) > 12
    assert [
        (path.name, *stiff(path.read_text("utf-8"))) for path in pages if [*stiff(path.read_text("utf-8"))]
    ] == []


def spoken_in(path):
    """(line, text) of what a file may say to somebody: its strings, without docstrings; what is filled in is `x`."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    silent |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) not in silent and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif id(node) not in silent and isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values),
            )


def test_no_message_of_the_package_is_stiff():
    """Cards, diagnoses, sentences of the stepper, help and errors: all strings but PyTorch's and the patterns themselves."""
    files = [
        path
        for path in sorted((ROOT / "autograd_lab").rglob("*.py"))
        if PYTORCHS not in path.parts and path.name != "spoken.py"
    ]
    said = [
        (path.name, line, found) for path in files for line, text in spoken_in(path) for found in stiff(text)
    ]
    assert said == []


def test_no_rule_is_stiff():
    """The rule book and the stepper show what the docstrings of rules say."""
    rules = [
        (node.name, found)
        for path in sorted((ROOT / "autograd_lab").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and "VJP:" in (said := ast.get_docstring(node) or "")
        for found in [None, *stiff(said)]
    ]
    assert len(rules) > 300
    assert [rule for rule in rules if rule[1]] == []
