"""Changing an input and running again: what is shown, and what stays as it was."""

import numpy as np
import pytest
import samples
from film_on_page import film_on_page

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets import step


def square(x, n=2):
    return (x * 3) ** n


def leaf(x):
    return torch.tensor(x, requires_grad=True)


def test_another_value_at_the_same_place():
    x = leaf(2.0)
    s = lab.step(square, x).goto(9)
    before = film_on_page(s), repr(s)
    assert s.edit("x", 5.0) is s
    assert (s.position, repr(s)) == (9, before[1])
    assert film_on_page(s) != before[0]
    assert s.last().state.tensors[0].grad is not None
    assert "x.grad was None and is now 90." in s.to_text()
    assert x.grad.item() == 36  # the user's own tensor keeps what the first run gave it
    assert x.item() == 2
    assert s.inputs["x"].item() == 5
    s.reset()
    assert film_on_page(s) == before[0]


def test_the_line_of_the_call_stays():
    s = lab.step(square, leaf(2.0))
    line = next(e["src"] for e in s.trace if e["k"] == "backward")
    sources = s.trace.sources
    namespace = {"s": s}
    exec(compile("\n" * 500 + "s.edit('x', 5)", "elsewhere.py", "exec"), namespace)
    assert next(e["src"] for e in s.trace if e["k"] == "backward") == line
    assert s.trace.sources == sources


def test_texts_lists_and_tensors():
    s = lab.step(lambda w: (w * w).sum(), leaf([1.0, 2.0]))
    for value in ("[3, 1/2]", [3, 0.5], torch.tensor([3.0, 0.5]), np.array([3, 0.5])):
        s.reset().edit("w", value)
        assert s.inputs["w"].tolist() == [3, 0.5]
        assert "w.grad was None and is now [6, 1]." in s.to_text()


def test_what_does_not_fit_changes_nothing():
    s = lab.step(lambda w: (w * w).sum(), leaf([1.0, 2.0])).goto(4)
    film = film_on_page(s)
    for value, message in [
        ("abc", "Write a number, please.* w stays as it is"),
        ("3", r"w has shape \[2\]: write all its numbers, like \[1, 2\]. It stays as it is"),
        ("[[1, 2]]", "w has shape"),
        ([[1], [2, 3]], "not an array of numbers"),
        ("None", "needs a number"),
        ("1/0", "divides by zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            s.edit("w", value)
    with pytest.raises(ValueError, match="there is no input 'v': the function's inputs are w"):
        s.edit("v", 1)
    assert (film_on_page(s), s.position) == (film, 4)
    for number in leaf(2.0), 2.0:
        with pytest.raises(ValueError, match=r"write 0.5 with a point. x stays as it is"):
            lab.step(lambda x, w: x * w, number, leaf(3.0)).edit("x", "0,5")
    with pytest.raises(ValueError, match="n holds int64 numbers"):
        lab.step(lambda x, n: x * n, leaf(2.0), torch.tensor(3)).edit("n", 2.5)


def test_what_the_function_raises_is_passed_on():
    def picky(x):
        if x.item() < 0:
            raise KeyError("negative")
        return x * 2

    s = lab.step(picky, leaf(2.0))
    film = film_on_page(s)
    with pytest.raises(KeyError):
        s.edit("x", -1)
    assert film_on_page(s) == film
    s._edit = {"n": 1, "name": "x", "text": "-1"}
    assert s._edit_answer == {"n": 1, "error": "With this value the function raises KeyError: 'negative'"}
    assert film_on_page(s) == film
    assert s.inputs["x"].item() == 2


def test_what_the_browser_asks_for():
    s = lab.step(square, leaf(2.0))
    stops = {"low": -2, "by": 0.2, "count": 41}
    assert s._inputs == [{"t": 0, "name": "x", "text": "2", "changed": False, "stops": stops}]
    s._edit = {"n": 1, "name": "x", "text": "two"}
    assert s._edit_answer["error"].startswith("Write a number")
    s._edit = {"n": 2, "name": "x", "text": "4"}
    assert s._edit_answer == {"n": 2, "error": ""}
    assert s._inputs == [{"t": 0, "name": "x", "text": "4", "changed": True, "stops": stops}]
    s._edit = {"n": 3, "reset": True}
    assert s._inputs[0]["changed"] is False
    s = lab.step(lambda w, x: (w * x).sum(), leaf([1.0] * 17), torch.tensor([2.0]))
    assert [i["name"] for i in s._inputs] == ["x"]  # the other has too many numbers for a field


def test_a_branch_that_goes_the_other_way():
    def branch(x):
        y = x * 2
        if y.item() > 0:
            y = y * y
        return y

    s = lab.step(branch, leaf(3.0))
    steps = len(s.trace)
    backward = next(k for k, e in enumerate(s.trace, 1) if e["k"] == "backward")
    s.goto(backward + 3)
    s.edit("x", -3)
    assert len(s.trace) < steps
    now = next(k for k, e in enumerate(s.trace, 1) if e["k"] == "backward")
    assert s.position == now + 3
    s.last().edit("x", 3)
    assert len(s.trace) == steps


def test_leaves_that_are_no_inputs_keep_their_gradient():
    for before, told in (
        (None, "w.grad was None and is now 7."),
        (1.0, "w.grad was 1; adding 7 makes it 8."),
    ):
        w = leaf(10.0)
        w.grad = None if before is None else torch.tensor(before)
        s = lab.step(lambda x, w=w: x * w, leaf(2.0))
        after = w.grad.item()
        s.edit("x", 7)
        assert w.grad.item() == after
        assert told in s.to_text()


def test_a_gradient_that_was_there_is_there_again():
    x = leaf(2.0)
    (x * 5).backward()
    s = lab.step(square, x)
    assert "x.grad was 5; adding 36 makes it 41." in s.to_text()
    assert len(s.trace) == len(lab.step(square, leaf(2.0)).trace)
    s.edit("x", 1)
    assert "x.grad was 5; adding 18 makes it 23." in s.to_text()
    assert x.grad.item() == 41


def test_plain_numbers_are_inputs_too():
    s = lab.step(square, leaf(2.0), 2)
    s.edit("n", 3)
    assert "x.grad was None and is now 324." in s.to_text()


def test_questions_are_those_of_the_new_run():
    s = lab.step(square, leaf(2.0), predict=True)
    assert s.predict(6)["correct"]
    s.edit("x", 4)
    assert s.predict(144)["correct"]
    assert [r["run"] for r in s.predictions] == [0, 1]


def test_a_recording_cannot_run_again():
    with pytest.raises(RuntimeError, match=r"only a recording: use lab.step\(fn, \*inputs\)"):
        step(samples.diamond()).edit("a", 3)


def test_an_export_says_that_it_has_no_kernel(tmp_path):
    lab.step(square, leaf(2.0)).save_html(tmp_path / "s.html")
    assert '"_kernel":false' in (tmp_path / "s.html").read_text(encoding="utf-8")


def test_times_are_measured_when_the_page_asks_and_kept_nowhere():
    from autograd_lab.widgets.export import traits

    def fn(x):
        return (x.exp() * x).sum()

    s = lab.step(fn, torch.ones(2, requires_grad=True))
    before = s.to_text(), s.trace.to_json(), film_on_page(s)
    assert s._can_measure
    assert s._measured == {}
    s._measure = 1
    assert s._measured["n"] == 1
    assert len(s._measured["times"]) == len(s.trace.nodes)
    assert all(forward >= 0 < backward for _, forward, backward in s._measured["times"])
    assert (s.to_text(), s.trace.to_json(), film_on_page(s)) == before
    assert not {"_measured", "_measure"} & set(traits(s))
    assert not lab.step(s.trace)._can_measure


def test_what_the_function_raises_is_said_beside_the_button():
    calls = []

    def fn(x):
        calls.append(1)
        if len(calls) > 1:
            raise KeyError("only once")
        return x.exp().sum()

    s = lab.step(fn, torch.ones(2, requires_grad=True))
    s._measure = 1
    assert s._measured == {"n": 1, "error": "The function raises KeyError: 'only once'"}
    s._measure = 2
    assert s._measured["n"] == 2


@pytest.mark.parametrize("before", [0, 1, 2, 5])
def test_a_run_draws_the_numbers_of_the_first_and_the_program_goes_on_with_its_own(before):
    """Normal numbers come in pairs: the second of one may be left over from what ran before."""

    def draw():
        return [torch.randn(()).item() for _ in range(3)]

    drawn = []

    def f(x):
        drawn.append(draw())
        return x * 2

    torch.manual_seed(3)
    expected = [torch.randn(()).item() for _ in range(before + 6)][before:]
    torch.manual_seed(3)
    for _ in range(before):
        torch.randn(())
    s = lab.step(f, torch.tensor(1.0, requires_grad=True))
    s.edit("x", 2.0)
    s.nudge("x")
    assert len(drawn) > 3
    assert all(one == expected[:3] for one in drawn)
    assert draw() == expected[3:]
