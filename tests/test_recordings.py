"""What is recorded lies in recordings/ as `python -m tests.record` writes it, and each file belongs to a test."""

import json
import re

import pytest
from record import OTHERS, file_of, laid_out
from recorded import FOLDER, IN_THIS_PYTHON, attempt, differences, differing, run

import autograd_lab

FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_recording_has_one_value_a_line(path):
    text = path.read_text(encoding="utf-8")
    assert text == laid_out(json.loads(text)) + "\n"


@pytest.mark.parametrize("name", [path.stem for path in FILES if path.stem not in OTHERS])
def test_a_recording_belongs_to_a_test_file_that_says_how_it_is_made(name):
    text = file_of(name).read_text(encoding="utf-8")
    assert f"`python -m tests.record {name}`" in text
    assert "stored(__file__)" in text


def test_what_is_longer_than_a_line_is_broken_up():
    tensor = {"tensor": list(range(100)), "dtype": "torch.int64"}
    value = {"a": 1, "b": [tensor, "text"], "c": list(range(100))}
    assert laid_out({"a": 1, "b": ["text"]}) == '{"a": 1, "b": ["text"]}'
    assert json.loads(laid_out(value)) == value
    assert [line.strip()[:13] for line in laid_out(value).splitlines()] == [
        "{", '"a": 1,', '"b": [', '{"tensor": [0', '"text"', "],", '"c": [0, 1, 2', "}"
    ]  # fmt: skip


def test_every_program_that_differs_is_named():
    programs = {
        "same": "out['r'] = torch.ones(2)",
        "raises": "raise KeyError('x')",
        "differs": "out['r'] = torch.ones(2)",
        "new": "out['r'] = 1",
    }
    results = {name: run(programs["same"], autograd_lab) for name in ("same", "raises")}
    results["differs"] = run("out['r'] = torch.zeros(2)", autograd_lab)
    assert differing(autograd_lab, programs, results) == [
        "raises: KeyError: 'x'",
        "differs: out.r.tensor[0]: 1.0 instead of 0.0",
        "differs: out.r.tensor[1]: 1.0 instead of 0.0",
        "new: KeyError: 'new'",
    ]


def test_a_division_by_zero_is_compared_in_the_words_of_this_python():
    texts = [
        text
        for path in FILES
        for text in re.findall(r'"(ZeroDivisionError: .*?)"', path.read_text(encoding="utf-8"))
    ]
    assert texts
    assert [text for text in texts if text not in IN_THIS_PYTHON] == []
    recorded = "ZeroDivisionError: integer division or modulo by zero"
    assert differences({"r": attempt(lambda: 1 // 0)}, {"r": recorded}) == []
    assert differences({"r": "ZeroDivisionError: y cannot be 0"}, {"r": recorded})
