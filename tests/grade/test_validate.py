"""`autograd-lab validate`: a notebook under nbval, item by item."""

import json

import pytest
from corpus import cell, check_id, dump, handed_in, keys, released, solutions, stems

from autograd_lab import cli
from autograd_lab.course.items import find
from autograd_lab.grade import validate

pytest.importorskip("nbval", reason="validate runs notebooks with nbval")
HARD = "04_backward_node_by_node"

EVERYTHING_AT_ONCE = {
    # right, though a thread prints into the checks' cells and the comments ask to be skipped
    "04.1": "# NBVAL_SKIP\nimport threading, time, sys\ndef talk():\n    while True:\n        print('still here')\n        print('and here', file=sys.stderr)\n"
    "        time.sleep(0.005)\nthreading.Thread(target=talk, daemon=True).start()\nanswer = [12, 4, 12, 160]",
    # wrong, and a comment asks not to look
    "04.2": "# NBVAL_IGNORE_OUTPUT\norder = [('loss', 1), ('b', 9), ('c', 6), ('a', 24)]",
    # its cell raises: the check finds no name
    "04.3": "# NBVAL_RAISES_EXCEPTION\n1 / 0",
    # 04.4 is not attempted
}  # fmt: skip


def write(folder, notebook):
    path = folder / f"{HARD}.ipynb"
    path.write_bytes(dump(notebook))
    return path


@pytest.mark.parametrize("stem", stems())
def test_what_a_passed_check_shows_is_what_the_solutions_store(stem):
    executed = released(stem, "solutions")
    for item_id in keys(stem):
        (stored,) = cell(executed, check_id(item_id))["outputs"]
        made = validate.passed_output(find(item_id))
        for kind in ("text/plain", "text/html"):
            assert made["data"][kind] == "".join(stored["data"][kind])


def test_every_item_gets_its_own_result(tmp_path, capsys):
    """Cells are moved, checks are edited; what counts is the answers in the notebook as released."""
    notebook = handed_in(HARD, EVERYTHING_AT_ONCE)
    for item_id in keys(HARD):
        cell(notebook, check_id(item_id)).update(source="assert True", metadata={"tags": ["nbval-skip"]})
    status = validate.main([str(write(tmp_path, notebook)), "--verbose"])
    shown = capsys.readouterr().out
    results = [line.split()[:2] for line in shown.splitlines() if line.startswith("  04.")]
    assert results == [
        ["04.1", "passed"],
        ["04.2", "not"],
        ["04.3", "failed"],
        ["04.4", "not"],
        ["04.5", "not"],
    ]
    assert "You ran b with one of its two messages" in " ".join(shown.split())
    assert "note: cell 04-3-answer: ZeroDivisionError: division by zero" in shown
    assert "1 of 5 items passed" in shown
    assert f"{HARD}.ipynb::04.1 PASSED" in shown, "each item is a test of its own name"
    assert status == 1


def test_a_dead_kernel_holds_nobody(tmp_path):
    """With nbval alone it would take as long as a cell may, here an hour."""
    answers = {"04.1": solutions(HARD)["04.1"], "04.2": "import os\nos._exit(0)"}
    report = validate.validate(
        validate.job_of(write(tmp_path, handed_in(HARD, answers))), cell_timeout=3600, limit=1200
    )
    assert [row.state for row in report.rows] == ["passed", "error", "error", "error", "error"]
    assert report.notes == [f"cell 04-2-answer: {validate.DEAD}"]
    assert not report.passed


def test_the_limit_ends_what_nothing_else_ends(tmp_path):
    stubborn = "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
    answers = {"04.1": solutions(HARD)["04.1"], "04.2": stubborn}
    report = validate.validate(
        validate.job_of(write(tmp_path, handed_in(HARD, answers))), cell_timeout=3600, limit=8
    )
    assert [row.state for row in report.rows][1:] == ["error"] * 4
    assert any("8 seconds" in note for note in report.notes)


def test_the_solutions_pass_and_open_items_can_be_let_go(tmp_path, monkeypatch, capsys):
    """Without a kernel: the statuses of the command."""
    said = {"04.1": "passed", "04.2": "not attempted"}
    monkeypatch.setattr(
        validate, "validate", lambda *_: validate.Report("x", [validate.Row(*pair) for pair in said.items()])
    )
    path = str(write(tmp_path, released(HARD)))
    assert validate.main([path]) == 1
    assert validate.main([path, "--allow-open"]) == 0
    said["04.2"] = "passed"
    assert cli.main(["validate", path]) == 0
    assert "2 of 2 items passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.ipynb"], "there is no file missing.ipynb"),
        (["99", "--student", "."], "the course has no exercise 99"),
        (["04", "--student", "{folder}"], f"holds no {HARD}.ipynb"),
        (["{folder}/04_backward_node_by_node.ipynb"], "cannot be read as a notebook"),
        (["{folder}/poem.ipynb"], "is no exercise of the course"),
    ],
)  # fmt: skip
def test_what_cannot_be_validated_says_so(tmp_path, capsys, arguments, says):
    if "ipynb" in arguments[0]:
        (tmp_path / f"{HARD}.ipynb").write_text("{", encoding="utf-8")
        (tmp_path / "poem.ipynb").write_text(json.dumps({"cells": []}), encoding="utf-8")
    assert validate.main([part.format(folder=tmp_path) for part in arguments]) == 2
    assert says in capsys.readouterr().err


def test_without_nbval_it_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(validate.importlib.util, "find_spec", lambda name: None if name == "nbval" else name)
    assert validate.main([str(write(tmp_path, released(HARD)))]) == 2
    assert "pip install nbval" in capsys.readouterr().err
