"""The inputs of a program that are one number: found in its text, changed, and run again."""

import io
from contextlib import redirect_stdout

import pytest
from each import each
from hypothesis import given
from hypothesis import strategies as st

from autograd_lab.widgets import literals, program
from autograd_lab.widgets.wire import decode

SOURCE = """import autograd_lab as torch

π, x = 3, torch.tensor(1.0)  # two targets: no input
w = torch.tensor(-2.5, requires_grad=True); n = torch.tensor(3)
v = torch.tensor([1.0, 2.0])
é = torch.tensor(
    1e-3,  # on a line of its own
    requires_grad=True,
)
y = w**2 * n + é
y.backward()
print("w.grad is", w.grad)
"""


def slid(source=SOURCE, **asked):
    begun = []
    answer = literals.slid(source, {"more": False, **asked}, lambda: begun.append(1), program.run)
    return answer, len(begun)


def test_which_numbers_are_inputs():
    def check(case):
        source, names = case
        assert [*literals.literals(source)] == names

    each([
        (SOURCE, ["w", "n", "é"]),
        ("x = tensor(+1.0)", []),
        ("x = torch.tensor(2)\nx = torch.tensor(3)", []),
        ("x = torch.tensor(2)\nx = x + 1", []),
        ("for _ in range(3):\n    x = torch.tensor(2.0)", []),
        ("x = torch.tensor(True)", []),
        ("x = torch.tensor(2j)", []),
        ("x = y = torch.tensor(2.0)", []),
        ("x = torch.tensor()", []),
        ("x = (", []),
        ("x = torch.tensor(1_000.5)", ["x"]),
        ("", []),
    ], check)  # fmt: skip


@given(st.floats(-1e9, 1e9), st.integers(-99, 99))
def test_only_the_numbers_change(w, n):
    text = literals.changed(SOURCE, {"w": repr(w), "n": str(n), "é": "7"})
    assert [text.count(f"torch.tensor({one}") for one in (f"{w!r}, ", f"{n!r})\n")] == [1, 1]
    assert "    7.0,  # on a line of its own\n" in text
    back = literals.changed(text, {"w": "-2.5", "n": "3", "é": "1e-3"})
    assert back == SOURCE.replace("1e-3", "0.001")


def test_what_is_no_number_is_refused():
    for values, told in (
        ({"w": "two"}, "Write a number.* w stays as it is"),
        ({"n": "2.5"}, "n holds whole numbers"),
        ({"x": "1"}, "no input 'x'"),
        ({"w": "None"}, "needs a number"),
    ):
        with pytest.raises(ValueError, match=told):
            literals.changed(SOURCE, values)
        assert slid(values=values)[0].keys() == {"error"}


def test_a_program_runs_with_another_number_and_prints_nothing():
    heard = io.StringIO()
    with redirect_stdout(heard):
        answer, begun = slid(values={"w": "3"}, name="w", h=1e-3)
    assert heard.getvalue() == ""
    film = decode(answer["film"])
    assert "w = torch.tensor(3.0, requires_grad=True)" in dict(film["sources"][0]["lines"])[4]
    shown = {one["name"]: (one["text"], one["changed"]) for one in answer["inputs"]}
    assert shown == {"w": ("3", True), "n": ("3", False), "é": ("0.001", False)}
    nudge = answer["nudge"]
    assert (nudge["gradient"], nudge["dtype"], nudge["h"][0], nudge["why"]) == (18, "float32", 1e-3, "")
    assert abs(nudge["q"][0] - 18) < 0.02
    assert begun == 1 + len(nudge["h"])


def test_a_result_without_a_name_has_no_quotient():
    answer, _ = slid("import autograd_lab as torch\nx = torch.tensor(2.0, requires_grad=True)\n(x**3).backward()\n", values={}, name="x", h=1e-3)  # fmt: skip
    assert answer["nudge"]["q"] == []
    assert answer["nudge"]["why"].startswith("The quotient needs the result in a variable")


def test_a_number_with_which_the_program_fails():
    source = "import autograd_lab as torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x / (1 if x.item() else 1 / 0)\ny.backward()\n"
    answer, _ = slid(source, values={"x": "0"}, name="x")
    assert answer == {"error": "With this value the program raises ZeroDivisionError: division by zero"}  # fmt: skip


def test_the_page_knows_the_inputs_from_the_first_run():
    shown = program.run(SOURCE, lambda text: None).shown()
    assert [(one["name"], one["stops"]["count"]) for one in shown["traits"]["_inputs"]] == [("w", 41), ("n", 41), ("é", 41)]  # fmt: skip
