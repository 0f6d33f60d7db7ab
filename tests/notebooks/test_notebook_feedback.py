"""What the course says to a student: expect, reveal, and the copy a student receives."""

import doctest
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from notebook_fixtures import code, good, stream

import autograd_lab as torch
from autograd_lab.course import expect, reveal
from autograd_lab.course.reveal import judged
from autograd_lab.course.student import student_copy, without_asserts
from autograd_lab.widgets import guess


class TestExpect:
    def test_prints_the_message_and_goes_on(self, capsys):
        with expect(ZeroDivisionError, "division") as caught:
            1 / 0  # noqa: B018
        assert caught.message == "division by zero"
        assert capsys.readouterr().out == "ZeroDivisionError: division by zero\n"

    def test_fails_when_nothing_is_raised(self):
        with pytest.raises(AssertionError, match="nothing was raised"), expect(RuntimeError, "second time"):
            pass

    def test_fails_when_the_text_differs(self):
        with (
            pytest.raises(AssertionError, match="but got RuntimeError: first"),
            expect(RuntimeError, "second"),
        ):
            raise RuntimeError("first")

    def test_fails_when_the_kind_differs_and_keeps_the_cause(self):
        with pytest.raises(AssertionError, match="but got TypeError") as info, expect(RuntimeError, "x"):
            raise TypeError("x")
        assert isinstance(info.value.__cause__, TypeError)

    def test_lets_the_stop_button_through(self):
        with pytest.raises(KeyboardInterrupt), expect(RuntimeError, "x"):
            raise KeyboardInterrupt

    def test_takes_a_warning_every_time(self, capsys):
        for _ in range(2):
            with expect(UserWarning, "leaf"):
                warnings.warn("not a leaf", UserWarning, stacklevel=1)
        assert capsys.readouterr().out == "UserWarning: not a leaf\n" * 2

    def test_fails_when_the_warning_does_not_come(self):
        with pytest.raises(AssertionError, match="nothing was raised"), expect(UserWarning, "leaf"):
            pass

    def test_an_error_is_not_the_warning(self):
        with pytest.raises(ValueError, match="leaf"), expect(UserWarning, "leaf"):
            raise ValueError("leaf")


class TestReveal:
    @pytest.mark.parametrize("nothing", [..., [..., ...], [1, ...]])
    def test_hides_the_answer_until_there_is_a_prediction(self, capsys, nothing):
        reveal(nothing, 96)
        said = capsys.readouterr().out
        assert said.startswith("No prediction yet.")
        assert "96" not in said

    @pytest.mark.parametrize(
        ("prediction", "truth"),
        [
            (96, 96.0),
            (0.3333, 1 / 3),
            ("mulbackward0", "MulBackward0"),
            (" a ", "a"),
            (True, True),
            ([144, 48, 0], [144.0, 48.0, 0.0]),
            ((2, 1), [2, 1]),
            (96, np.float32(96)),
            (96, np.array([96.0])),
        ],
    )
    def test_right(self, capsys, prediction, truth):
        assert reveal(prediction, truth)
        assert "and it is" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("prediction", "truth"),
        [
            (48, 96.0),
            (0.33, 1 / 3),
            ("None", "MulBackward0"),
            (1, True),
            (True, 1),
            ([48, 144, 0], [144, 48, 0]),
            ([1], [1, 2]),
            ("96", 96),
            (None, 0),
            (1e-12, 1e-16),
        ],
    )
    def test_wrong(self, capsys, prediction, truth):
        assert reveal(prediction, truth)
        said = capsys.readouterr().out
        assert said.startswith("\u2717 You said")
        assert "It is" in said
        assert "Where do the two part?" not in said

    @pytest.mark.parametrize(
        ("prediction", "says"),
        [
            (48, "\u2717 You said 48. It is 96. The node of `b` ran at the first message"),
            (144, "\u2717 You said 144. It is 96. The first 12 was sent on twice"),
            (96, "\u2713 You said 96, and it is 96. The node of `b` waits for 12 and 12"),
            (
                7,
                "\u2717 You said 7. It is 96. The node of `b` waits for 12 and 12",
            ),  # nobody foresaw it: how it comes to 96
        ],
    )
    def test_each_answer_is_told_something_of_its_own(self, capsys, prediction, says):
        reveal(prediction, 96.0, "04.c")
        assert capsys.readouterr().out.startswith(says)

    def test_the_parts_of_a_question_are_judged_one_by_one(self, capsys):
        reveal([(3, 4), 4], [torch.zeros(3, 1).shape, torch.zeros(4).shape], "08.c")
        first, second, *after = capsys.readouterr().out.splitlines()
        assert after[0].startswith("You may think the gradient has the shape of the result")
        assert first.startswith("\u2717 x.grad: you said (3, 4). It is (3, 1). That is the shape of the sum.")
        assert second.startswith("\u2713 b.grad: you said 4, and it is (4,). A shape is a tuple")

    def test_the_examples_of_its_docstring(self):
        done = doctest.testmod(sys.modules["autograd_lab.course.reveal"])
        assert (done.failed, done.attempted) == (0, 4)

    def test_a_number_in_quotes_is_told_so(self, capsys):
        assert reveal("96", 96.0, "04.c")
        assert (
            capsys.readouterr()
            .out.splitlines()[0]
            .endswith("That would be right without the quotes: with them it is a word.")
        )

    def test_answers_by_name(self, capsys):
        reveal({"w": True, "k * 1": False}, {"k * 1": True, "w": True, "other": 1}, "05.d")
        first, second, *_ = capsys.readouterr().out.splitlines()
        assert first.startswith("\u2713 w: you said True")
        assert second.startswith("\u2717 k * 1: you said False. It is True. The operation was not recorded")

    def test_an_estimate_need_not_be_exact(self, capsys):
        for percent in (97, 98, 99, 100):
            reveal(percent, 98, "13.d")
        assert [line[0] for line in capsys.readouterr().out.splitlines()] == [*"\u2713\u2713\u2713\u2717"]

    def test_it_is_true_when_there_is_a_prediction(self, capsys):
        """`if lab.reveal(...):` shows what would tell the answer."""
        assert not reveal([1, ...], [1, 2])
        assert reveal([1, 3], [1, 2])
        assert repr(reveal(1, 1)) == ""

    def test_an_open_card_is_the_same_on_every_machine(self):
        pages = [guess.html(judged(..., truth, "13.d"), "words") for truth in (97, 98, 99)]
        assert len(set(pages)) == 1
        assert guess.html(judged(..., 90, "13.d"), "words") not in pages


def test_a_students_copy_has_the_cells_and_none_of_the_answers():
    book = good()
    book["cells"].append(code("notes()", 3, stream("for teachers\n"), tags=("instructor",)))
    text = student_copy(json.dumps(book))
    copy = json.loads(text)
    sources = ["".join(c["source"]) for c in copy["cells"]]
    assert sources == [without_asserts(c["source"]) for c in good()["cells"]]
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in copy["cells"] if "outputs" in c)
    assert copy["metadata"] == good()["metadata"]
    assert student_copy(text) == text


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("x = 1\nassert x == 1  # one\ny = 2", "x = 1\ny = 2"),
        ("assert 1", ""),
        ("x = 1; assert x; y = 2", "x = 1; pass; y = 2"),
        ("def f():\n    assert 1\n    assert 2", "def f():\n    pass"),
        ("z = 1\nif x:\n    assert y", "z = 1"),
        ("if x:\n    assert 1\nelse:\n    y()", "if x:\n    pass\nelse:\n    y()"),
        ("with a:\n    b()\n    assert (\n        1 == 2\n    )", "with a:\n    b()"),
        ("%matplotlib inline\nassert '\u00e9'; y = 3", "%matplotlib inline\npass; y = 3"),
        ("try:\n    a()\nexcept E:\n    assert 1", "try:\n    a()\nexcept E:\n    pass"),
        ("s = 'assert 1'  # assert 2", "s = 'assert 1'  # assert 2"),
        ("x = (", "x = ("),
    ],
)
def test_asserts_go_and_nothing_else(source, left):
    assert without_asserts(source) == left


def test_a_students_copy_has_no_asserts():
    book = good()
    book["cells"] += [code("assert 96", 3), code("x = 96\nassert x == 96", 4)]
    *before, last = json.loads(student_copy(json.dumps(book)))["cells"]
    assert "".join(last["source"]) == "x = 96"
    assert len(before) == len(good()["cells"])


NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_delivered_notebook_holds_nothing_of_the_instructors(path):
    text = path.read_text(encoding="utf-8")
    theirs = [c for c in json.loads(text)["cells"] if "instructor" in c["metadata"].get("tags", [])]
    copy = json.loads(student_copy(text))["cells"]
    assert not any("instructor" in c["metadata"].get("tags", []) for c in copy)
    delivered = {"".join(c["source"]) for c in copy}
    assert delivered.isdisjoint("".join(c["source"]) for c in theirs)


def test_importing_the_course_loads_nothing_heavy():
    heavy = ["IPython", "jupytext", "nbformat", "nbclient", "anywidget", "ipywidgets", "matplotlib", "pandas"]
    script = f"import sys, autograd_lab.course; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
