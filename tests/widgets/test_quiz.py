"""Predicting and being the engine from Python: the twins of what the widget's fields and buttons do."""

import base64
import json
import re

import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets import step, wire


def cubes(a):
    b = a * a
    c = b * 3
    return b * c


def stepper(**options):
    return lab.step(cubes, torch.tensor(2.0, requires_grad=True), **options)


def test_predicting_step_by_step():
    s = stepper(predict=True)
    assert s.question == "Next, mul runs on a = 2 and a = 2. What is b?"
    assert repr(s.predict(4)) == "Right: 4."
    assert repr(s) == "Stepper(forward 2/35: MulBackward0 #1)"
    assert repr(s.predict("7")) == "Not 7. 7 is the sum of the two; this is mul, which gives 12. It is 12."
    assert s.position == 6
    s.predict(48)
    s.predict(torch.tensor(12.0))
    assert s.position == 15  # a second message is asked for before the event is shown
    s.predict("16/4")
    assert s.position == 16
    assert s.question == "Which node does the engine take next?"
    assert s.predict("#2")["correct"] is True
    assert s.show_me()["correct"] is None
    assert repr(s.score) == "5 of 13 right, 1 wrong, 1 shown, 6 open"
    assert s.predictions[1] == {
        "id": 1, "run": 0, "mode": "predict", "step": 6, "kind": "value", "given": "7", "answer": "12", "correct": False,
        "question": "Next, mul runs on b = 4 and 3. What is c?", "attempt": 1, "verdict": "wrong",
        "misconception": "wrong-operation", "note": "7 is the sum of the two; this is mul, which gives 12.",
    }  # fmt: skip
    json.dumps(s.predictions)


def test_kinds_of_questions():
    assert stepper(predict=["next-node"]).question == "Which node does the engine take next?"
    assert (
        stepper(predict="error").question == "The next line starts a backward pass. Does it raise an error?"
    )
    s = stepper(predict=["grad", "value"])
    asked = [q["kind"] for _, q in s._asked()]
    assert set(asked) == {"grad", "value"}
    with pytest.raises(
        ValueError, match="takes True or kinds out of value, grad, shape, next-node, error, not 'gradient'"
    ):
        stepper(predict=["gradient"])
    with pytest.raises(ValueError, match="not 3"):
        stepper(predict=3)
    with pytest.raises(ValueError, match="exclude each other"):
        stepper(predict=True, mode="engine")


def test_an_answer_that_cannot_be_read_counts_for_nothing():
    s = stepper(predict=True)
    with pytest.raises(ValueError, match=r"'four' does not answer .*Write a number, please"):
        s.predict("four")
    assert s.predictions == []
    assert s.position == 1


def test_what_has_been_shown_is_not_asked():
    s = stepper(predict=True).goto(20).first()
    assert s.question == "Which node does the engine take next?"
    assert s.score["open"] == 13
    s.predict("MulBackward0 #2")
    assert s.position == 21


def test_the_end_and_once_more():
    s = stepper(predict=["next-node"])
    s.predict("#2")
    assert s.question == ""
    with pytest.raises(RuntimeError, match="no question is left"):
        s.predict(1)
    s.mode = "watch"
    with pytest.raises(RuntimeError, match=r"lab.step\(..., predict=True\)"):
        s.predict(1)
    s.last()
    s.mode = "predict"
    assert (s.position, s._run, len(s.predictions)) == (0, 1, 1)
    assert s.question


def test_being_the_engine():
    s = stepper(mode="engine")
    assert s.choose("MulBackward0 #3")["verdict"] == "right"
    assert s.position == 15
    with pytest.raises(RuntimeError, match="something to send first"):
        s.choose("#2")
    first, second = s.send(12, 12)
    assert (first["verdict"], second["misconception"]) == ("right", "swapped")
    assert repr(second).endswith("so g * b = 4. Try again.")
    assert s.send(4)["attempt"] == 2
    wrong = s.choose("#1")
    assert wrong["note"] == (
        "MulBackward0 #1 still waits: 1 of 2 messages have arrived, so its gradient is not complete yet."
    )
    assert s.choose("MulBackward0 #3")["misconception"] == "already-done"
    s.choose("#2")
    with pytest.raises(RuntimeError, match="the question asks for no message"):
        s.send(12, 24, 1)
    s.choose("#1")
    s.send(48, 48, 96)
    s.choose("AccumulateGrad")
    s.send(96)
    assert s.position == 35
    assert s.question == ""
    assert repr(s.score) == "10 of 12 right, 2 wrong"
    assert [r["verdict"] for r in s.engine_log].count("wrong") == 3
    assert s.predictions == []


def test_ready_but_not_first():
    def two(a, b):
        return (a * 2) * (b * 3)

    s = lab.step(
        two, torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True), mode="engine"
    )
    s.choose("#3")
    s.send(9, 4)
    outcome = s.choose("#1")
    assert outcome["verdict"] == "ready"
    assert repr(outcome) == (
        "MulBackward0 #1 is ready too, and taking it would lead to the same gradients; the engine takes MulBackward0 #2: "
        "of the nodes that are ready it was made last."
    )
    assert s.question.startswith("MulBackward0 #2 got g = 4.")


def test_a_node_that_is_not_offered():
    s = step(samples.chain(12), mode="engine")
    outcome = s.choose("TanhBackward0 #1")
    assert (outcome["verdict"], outcome["misconception"]) == ("wrong", "still-waiting")
    with pytest.raises(ValueError, match="11 nodes of this trace fit 'tanh'"):
        s.choose("tanh")


def test_nothing_leaks_into_the_still_output():
    s = stepper(predict=True)
    s.predict(4)
    s.predict(12)
    data = s._repr_mimebundle_()[0]
    assert data["text/plain"].splitlines()[-2:] == [
        " 6  mul runs: c = 12. It makes the node MulBackward0 #2, which saves 3.",
        "What comes next is asked first: Next, mul runs on b = 4 and c = 12. What is the result?",
    ]
    encoded = re.search(r'base64,([^"]+)', data["text/html"])[1]
    picture = base64.b64decode(encoded).decode()
    assert ">12<" in picture
    for text in (picture.split("</title>")[-1], data["text/html"].replace(encoded, ""), data["text/plain"]):
        assert ">48<" not in text
        assert "= 48" not in text
    assert len(data["text/html"]) < len(stepper()._repr_mimebundle_()[0]["text/html"])
    again = stepper(predict=True)
    again.predict(4)
    again.predict(12)
    assert again._repr_mimebundle_()[0]["text/plain"] == data["text/plain"]


def test_long_traces_carry_questions_only_when_asked():
    s = step(samples.big(120))
    assert s._quiz == ""
    s.mode = "predict"
    assert wire.decode(s._quiz)["questions"]
    assert len(s._quiz) < 60_000


def waiting(mode="engine"):
    """The program of item 04.2."""
    a = torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        b = a * 2
        c = b + a
        loss = b * c
        loss.backward()
    return lab.step(trace, mode=mode)


def test_what_the_engine_did_is_an_answer():
    s = waiting()
    assert s.engine_answer is ...
    s.choose("MulBackward0 #2")
    s.send(9, 6)
    s.choose("AddBackward0")
    s.send(6, "2 * 3", 15)
    s.choose("MulBackward0 #1")
    s.send(30, 36)
    assert s.engine_answer is ...
    s.choose("AccumulateGrad")
    s.send(36)
    assert s.engine_answer == [("loss", 1), ("c", 6), ("b", 15), ("a", 36)]
    assert (s.engine_answer.slip, s.engine_answer.clicked) == ("", False)
    assert s.engine_answer.engine_answer == s.engine_answer  # so that both are taken by lab.check
    assert waiting("watch").engine_answer is ...


def test_first_tries_are_the_answer_and_what_was_shown_is_none():
    s = waiting()
    s.choose("AccumulateGrad")  # nothing has arrived
    s.choose("MulBackward0 #2")
    s.send(6)  # swapped
    s.send(9)
    s.send(6)
    s.choose("MulBackward0 #1")  # one of two messages, which was said to be 6
    s.choose("AccumulateGrad")  # a second try: not in the answer
    s.choose("AddBackward0")
    s.send(6, 6)
    s.send(6)  # the last message for the sum
    s.send(15)
    s.choose("MulBackward0 #1")
    s.show_me()
    s.show_me()
    s.show_me()
    s.send(36)
    assert s.question == ""
    assert s.engine_answer == [("a", None), ("loss", 1), ("b", 6), ("c", 6), ("b", 6), (None, None)]
    assert s.engine_answer.slip.startswith("AccumulateGrad of a still waits: 0 of 2")
    s.mode = "watch"
    s.mode = "engine"  # once more: a new round, a new answer
    assert s.engine_answer is ...


def test_an_answer_as_the_engine_from_the_browser_or_of_arrays_or_of_two_passes():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 4.0, 5.0, 6.0, 7.0], requires_grad=True)
    with lab.record() as trace:
        y = (w * 3).sum()
        z = (x * x).sum()
        y.backward()
        z.backward()
    s = lab.step(trace, mode="engine")
    played = lab.step(trace, mode="engine")
    while s.question:
        _, q = s._next("engine")
        (s.choose if q["type"] == "node" else s.send)(q["shown"])
    assert s.engine_answer == [
        ("y", 1), ("MulBackward0 #1", [1, 1]), ("w", [3, 3]), ("z", 1), ("MulBackward0 #2", [1] * 5), ("x", [6, 8, 10, 12, 14]),
    ]  # fmt: skip
    played.engine_log = s.engine_log  # as it comes from the browser
    assert played.engine_answer == s.engine_answer
    assert (played.engine_answer.clicked, s.engine_answer.clicked) == (True, False)


@pytest.mark.parametrize("options", [{"predict": "grad"}, {"mode": "engine"}], ids=["predict", "engine"])
def test_the_still_output_shows_the_graph_as_outlines(options):
    """Before the first answer the picture was blank: a reopened notebook looked broken."""
    s = stepper(**options)

    def picture():
        return base64.b64decode(re.search(r'base64,([^"]+)', s.still())[1]).decode()

    nodes = len(s.trace.nodes)
    assert picture().count("<ellipse") + picture().count("<path") == nodes
    assert re.findall("<text[^>]*>([^<]+)", picture()) == ["Run to step"]
    s.step()
    assert "Run to step" not in picture()
    assert picture().count("<ellipse") == nodes - 1  # what is to come stays an outline
