"""What is read to follow `y = w * x + b; y.backward()` is counted right, and grows no longer."""

import re

import pytest

from tests import reading

MOST = {  # functions, files, lines: these only go down. Asked are 14, 5 and 220.
    "the core alone": (33, 6, 233),
    "the package without express": (32, 11, 321),
    "the package with express": (16, 9, 220),
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    return {title: engine for title, *engine in reading.engines(tmp_path_factory.mktemp("alone"))}


@pytest.mark.parametrize("title", [*MOST] if (reading.PACKAGE / "express").is_dir() else [*MOST][:2])
def test_there_is_no_more_to_read(engines, title):
    text = reading.read_apart(*engines[title])
    found = re.search(r"^all: (\d+) functions in (\d+) files, (\d+) lines$", text, re.MULTILINE)
    assert all(int(n) <= most for n, most in zip(found.groups(), MOST[title], strict=True)), text


def example(x):
    """A docstring counts for nothing."""
    y = [one for one in x]  # neither does a comment
    # of any kind

    return (
        y
    )  # fmt: skip


def test_lines_below_the_head_are_counted():
    name, path, lines = reading.body(example.__code__)
    assert (name, path.name, lines) == ("example", "test_reading.py", 4)


def test_what_runs_is_found_once_and_in_order():
    import autograd_lab

    names = [name.rpartition(".")[2] for name, _, _ in reading.read(autograd_lab)]
    assert len(names) > 15
    assert names.index("backward") < names.index("loop" if "loop" in names else "_loop")
    assert len(set(reading.read(autograd_lab))) == len(names)
