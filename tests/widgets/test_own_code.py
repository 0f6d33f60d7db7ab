"""A function of one's own, line by line: the lines that ran, what the variables held then, and how it ended."""

import json
import linecache
import math
import sys

import pytest

from autograd_lab import lab
from autograd_lab.widgets.own_code import MOST, MOST_AROUND, run, text


class Value:
    def __init__(self, data, inputs=(), slopes=()):
        self.data, self.inputs, self.slopes, self.grad = data, inputs, slopes, 0.0

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __repr__(self):
        raise AssertionError("the tracer runs the student's code")

    def order(self, found):
        if self not in found:
            for x in self.inputs:
                x.order(found)
            found.append(self)
        return found

    def backward(self):
        total = {self: 1.0}
        for node in reversed(self.order([])):
            slopes = [s * total[node] for s in node.slopes]
            for x, slope in zip(node.inputs, slopes, strict=True):
                total[x] = total.get(x, 0.0) + slope
        for node in total:
            node.grad += 0 if node.inputs else total[node]

    def recursive(self):
        def send(node, g):
            node.grad += g
            for x, slope in zip(node.inputs, node.slopes, strict=True):
                send(x, slope * g)

        send(self, 1.0)

    def endless(self):
        waiting = [self]
        while waiting:
            try:
                waiting.append(waiting.pop())
            except Exception:
                break

    def endless_elsewhere(self):
        return self.never()

    def never(self):
        while True:
            pass

    def wrong(self):
        found = {}
        for x in self.inputs:
            found[x] += 1

    def caught(self):
        found = {}
        try:
            found[self] += 1
        except KeyError:
            found[self] = 1
        return found[self]


def graph():
    a, b = Value(2.0), Value(3.0)
    return a, b, a * b * a


def shown(line):
    """The source of a line."""
    return linecache.getline(__file__, line.number).strip()


def test_the_lines_are_those_that_ran_with_what_they_left():
    a, b, y = graph()
    ran = run(y.backward)
    assert (a.grad, b.grad) == (12.0, 4.0)
    assert shown(ran.lines[0]) == "total = {self: 1.0}"
    assert ran.lines[0].variables == {"self": "Value(12)", "total": "{Value(12): 1}"}
    inner = [line for line in ran.lines if shown(line).startswith("total[x] =")]
    assert [line.variables["slope"] for line in inner] == ["2", "6", "6", "4"]
    assert [line.variables["x"] for line in inner] == ["Value(6)", "Value(2)", "Value(2)", "Value(3)"]
    assert inner[-1].variables["total"] == "{Value(12): 1, Value(6): 2, Value(2): 12, Value(3): 4}"
    assert ran.end == "backward has returned."
    assert not [
        line for line in ran.lines if "found" in line.variables
    ]  # other methods run, but are not shown


def test_functions_inside_are_shown_too():
    a, _, y = graph()
    ran = run(y.recursive)
    assert a.grad == 12.0
    sent = [line.variables["node"] for line in ran.lines if shown(line) == "node.grad += g"]
    assert sent == ["Value(12)", "Value(6)", "Value(2)", "Value(3)", "Value(2)"]
    assert shown(ran.lines[-1]) == "send(self, 1.0)"  # done last


def test_what_never_ends_is_ended():
    _, _, y = graph()
    stepper = lab.step_code(y.endless)
    assert len(stepper.lines) == MOST == 2_000
    assert stepper.end.startswith("Stopped after 2,000 lines, before endless returned.")
    ran = run(y.endless_elsewhere)
    assert f"{MOST_AROUND:,} lines of other functions" in ran.end


def test_an_error_stands_at_its_line():
    _, _, y = graph()
    stepper = lab.step_code(y.wrong)
    assert shown(stepper.lines[-1]) == "found[x] += 1"
    assert stepper.lines[-1].error.startswith("KeyError: ")
    assert "KeyError" in stepper.end
    caught = lab.step_code(y.caught)
    assert [bool(line.error) for line in caught.lines] == [False, False, True, False, False, False]
    assert (caught.result, caught.end) == (1, "caught has returned.")


def test_the_tracer_that_was_there_comes_back():
    def own(frame, event, arg):
        return None

    before = sys.gettrace()
    sys.settrace(own)
    try:
        run(graph()[2].endless)
        assert sys.gettrace() is own
    finally:
        sys.settrace(before)


def test_what_is_no_code_of_yours():
    with pytest.raises(TypeError, match="without parentheses"):
        lab.step_code(graph()[2].backward())
    with pytest.raises(TypeError, match="builtin_function"):
        lab.step_code(math.sin, 2)
    with pytest.raises(TypeError, match="positional argument"):
        lab.step_code(graph()[2].backward, 2)


@pytest.mark.parametrize(
    ("x", "wanted"),
    [
        (1.0, "1"), (1 / 3, "0.333333"), (True, "True"), (None, "None"), ("a", "'a'"), ((1,), "(1,)"), ([], "[]"),
        ([1, [2, [3]]], "[1, [2, […]]]"), (range(3), "range"), (set(), "{}"), ({1: [2.5]}, "{1: [2.5]}"),
        (list(range(9)), "[0, 1, 2, 3, …]"), (Value(0.5), "Value(0.5)"), (Value, "Value"), (10**40, "a large int"),
    ],
)  # fmt: skip
def test_a_variable_in_short(x, wanted):
    assert text(x) == wanted


def test_the_page_gets_the_rows_of_the_lines():
    stepper = lab.step_code(graph()[2].backward)
    document = json.loads(stepper._own)
    ((heading, _, body),) = document["parts"]
    assert heading == "test_own_code.py, class Value"
    rows = [f"# {heading}", *body.split("\n")]
    for line, (row, variables, error) in zip(stepper.lines, document["steps"], strict=True):
        assert rows[row].strip() == shown(line)
        assert {name: document["texts"][i] for name, i in variables} == line.variables
        assert error == line.error
    assert rows[1] == "def backward(self):"
    stepper.position = 10**6
    assert stepper.position == len(stepper.lines)
    assert repr(stepper) == f"CodeStepper({len(stepper.lines)} lines ran. backward has returned.)"
