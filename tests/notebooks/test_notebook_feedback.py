"""What the course says to a student: expect, reveal, and the copy a student receives."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from notebook_fixtures import code, good, stream

from autograd_lab.course import expect, reveal
from autograd_lab.course.student import student_copy


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
        reveal(prediction, truth)
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
        ],
    )
    def test_wrong(self, capsys, prediction, truth):
        reveal(prediction, truth)
        said = capsys.readouterr().out
        assert said.startswith("You said")
        assert "Where do the two part?" in said


def test_a_students_copy_has_the_cells_and_none_of_the_answers():
    book = good()
    book["cells"].append(code("notes()", 3, stream("for teachers\n"), tags=("instructor",)))
    text = student_copy(json.dumps(book))
    copy = json.loads(text)
    assert [c["source"] for c in copy["cells"]] == [c["source"] for c in good()["cells"]]
    assert all(c["outputs"] == [] and c["execution_count"] is None for c in copy["cells"] if "outputs" in c)
    assert copy["metadata"] == good()["metadata"]
    assert student_copy(text) == text


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
