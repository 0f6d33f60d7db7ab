"""Questions worked out from real recordings: the right answers, and the wrong ones of known misconceptions."""

import contextlib
import itertools
import json

import operations
import pytest
from each import each

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.answers import AnswerError, judge, read, read_shape, same
from autograd_lab.tracing.misconceptions import MISCONCEPTIONS
from autograd_lab.tracing.questions import ALWAYS, ASKED, ENGINE, KINDS, questions


def leaf(x):
    return torch.tensor(x, requires_grad=True)


def record(program, *inputs):
    """The questions about a program that works on the given leaves."""
    with lab.record() as trace:
        program(*inputs)
    return questions(trace)


def find(found, part, skip=0):
    """The question whose text contains `part`."""
    return [q for q in found if part in q["ask"]][skip]


def verdict(question, answer):
    judged = judge(question, answer)
    return judged["misconception"] or judged["verdict"]


def cubes(a):
    b = a * a
    c = b * 3
    (b * c).backward()


def test_the_whole_quiz_of_a_small_graph():
    found = record(cubes, leaf(2.0))
    usual = [(q["k"], q["kind"], q["shown"]) for q in found if q["level"] & ALWAYS]
    assert usual == [
        (2, "value", "4"), (6, "value", "12"), (8, "value", "48"), (16, "grad", "12"), (16, "grad", "4"),
        (21, "next-node", "MulBackward0 #2"), (22, "grad", "12"), (22, "grad", "None"), (24, "grad", "24"),
        (28, "grad", "48"), (28, "grad", "48"), (31, "grad", "96"), (35, "grad", "None"),
    ]  # fmt: skip
    engine = [q["k"] for q in found if q["level"] & ENGINE]
    assert engine == [15, 16, 16, 21, 22, 24, 27, 28, 28, 31, 33, 34]
    for q in found:
        right = q["answer"] if q["type"] in ("node", "choice") else q["shown"]
        assert judge(q, right)["verdict"] == "right"
        assert q["kind"] in KINDS
        assert "  " not in q["ask"]
    json.dumps(found, allow_nan=False)


def test_a_wrong_answer_is_never_right_and_always_named():
    for program in (cubes, regression, chain):
        for q in record(program, *INPUTS[program]):
            for misconception, value, note in q["wrong"]:
                assert misconception in MISCONCEPTIONS or (q["kind"] == "error" and not misconception)
                assert note.endswith(".")
                judged = judge(q, value if isinstance(value, str) else repr(value))
                assert judged == {"verdict": "wrong", "misconception": misconception, "note": note}


def regression(w, b, x):
    z = w * x + b
    ((z.relu() ** 2).mean() - z.sum() / 4).backward()


def chain(x):
    (x.tanh().exp() * 2.0).backward()


INPUTS = {
    cubes: [leaf(2.0)],
    regression: [leaf([1.0, 2.0]), leaf(0.5), torch.tensor([3.0, 4.0])],
    chain: [leaf(0.3)],
}


def test_forgotten_upstream_gradient():
    q = find(record(cubes, leaf(2.0)), "#1 got g = 24. What does it send to a")
    assert verdict(q, "2") == "local-only"
    assert judge(q, "2")["note"] == (
        "2 is only the derivative of MulBackward0 #1 itself; the incoming gradient 24 multiplies it: 48."
    )


def test_both_uses_in_one_message_and_one_use_in_the_sum():
    found = record(cubes, leaf(2.0))
    assert verdict(find(found, "#1 got g = 24"), "96") == "both-uses"
    assert verdict(find(found, "48 arrives at AccumulateGrad of a, where 48"), "48") == "one-use"


def test_messages_are_added():
    def program(a):
        (a * 3 + a * 5).backward()

    q = find(record(program, leaf(2.0)), "already lies")
    assert q["shown"] == "8"
    old, new = {"3", "5"}, {"5", "3"}
    assert {verdict(q, x) for x in old | new} == {"last-message", "first-message"}
    assert verdict(q, "15") == "multiplied-for-added"
    assert verdict(q, "4") == "averaged"


def test_grad_is_added_to():
    def program(a):
        (a * 3).backward()
        (a * 4).backward()

    q = find(record(program, leaf(2.0)), "a.grad is 3 and 4 arrives")
    assert q["shown"] == "7"
    assert verdict(q, "4") == "overwrote-grad"
    assert verdict(q, "3") == "kept-grad"
    assert verdict(q, "2") == "forward-value"
    assert verdict(q, "-7") == "sign"


def test_swapped_factors_and_added_for_multiplied():
    def program(a, b):
        (a * b * 10).backward()

    q = find(record(program, leaf(2.0), leaf(7.0)), "got g = 10. What does it send to a")
    assert q["shown"] == "70"
    assert verdict(q, "20") == "swapped"
    assert verdict(q, "17") == "added-for-multiplied"
    assert verdict(q, "7") == "local-only"
    assert verdict(q, "10") == "unchanged"
    assert verdict(q, "2") == "forward-value"
    assert verdict(q, "-70") == "sign"
    assert verdict(q, "None") == "none-sent"
    assert verdict(q, "123") == "wrong"


def test_the_sign_of_a_difference():
    def program(a, b):
        ((a - b) * 5).backward()

    q = find(record(program, leaf(2.0), leaf(7.0)), "What does it send to b")
    assert q["shown"] == "-5"
    assert verdict(q, "5") == "sign"


def test_the_quotient_s_two_messages():
    def program(a, b):
        (a / b).backward()

    found = record(program, leaf(6.0), leaf(2.0))
    q = find(found, "What does it send to a")
    assert (q["shown"], verdict(q, "-1.5")) == ("0.5", "swapped")
    q = find(found, "What does it send to b")
    assert (q["shown"], verdict(q, "1.5"), verdict(q, "1/2")) == ("-1.5", "sign", "swapped")


def test_the_sum_over_what_was_broadcast():
    q = find(record(regression, *INPUTS[regression]), "What does it send to b?")
    assert q["answer"] == 11.5
    assert verdict(q, "[3.25, 8.25]") == "no-broadcast-sum"
    assert verdict(q, "3.25") == "no-broadcast-sum"
    assert verdict(q, "5.75") == "mean-of-broadcast"


def test_broadcast_along_one_axis_keeps_the_other():
    def program(w, x):
        (w * x).sum().backward()

    q = find(record(program, leaf([[2.0], [3.0]]), torch.tensor([[1.0, 4.0]])), "What does it send to w?")
    assert q["answer"] == [[5.0], [5.0]]
    assert verdict(q, "[[1, 4], [1, 4]]") == "no-broadcast-sum"
    assert verdict(q, "[5, 5]") == "shape"


def test_mean_and_sum():
    found = record(regression, *INPUTS[regression])
    assert verdict(find(found, "MeanBackward0 got g = 1"), "[1, 1]") == "mean-is-sum"
    q = find(found, "SumBackward0 got g = -0.25")
    assert verdict(q, "[-0.125, -0.125]") == "mean-is-sum"
    assert verdict(find(found, "Next, mean runs"), "84.5") == "mean-is-sum"


def test_powers():
    def program(x):
        (x**3).backward()

    q = find(record(program, leaf(2.0)), "What does it send to x")
    assert (q["shown"], verdict(q, "24"), verdict(q, "4")) == ("12", "exponent-kept", "exponent-forgotten")


def test_rules_written_with_the_result():
    found = record(chain, leaf(0.3))
    q = find(found, "TanhBackward0 got")
    g = float(q["ask"].split("g = ")[1].split(". ")[0])
    assert verdict(q, f"{g * (1 - 0.3**2):.5f}") == "input-for-output"


def test_relu_s_closed_gate():
    def program(x):
        (x.relu() * 3).sum().backward()

    q = find(record(program, leaf([-1.0, 2.0])), "ReluBackward0 got")
    assert q["shown"] == "[0, 3]"
    assert verdict(q, "[3, 3]") == "dead-gate"


def test_the_value_a_name_has_now_is_not_the_one_that_was_saved():
    def program(w, x):
        y = w * x
        x = x + 10
        (y * 2 + x).backward()

    q = find(record(program, leaf(3.0), torch.tensor(4.0)), "What does it send to w")
    assert (q["shown"], verdict(q, "28")) == ("8", "new-value")
    assert judge(q, "28")["note"].startswith("x is 14 now, but the node saved 4 when it ran")


def test_an_old_value_of_a_name():
    def program(x):
        h = x * 2
        h = h + 1
        (h * 10).backward()

    q = find(record(program, leaf(3.0)), "Next, mul runs on h₂ = 7")
    assert verdict(q, "60") == "old-value"


def test_constants_get_nothing():
    q = find(record(cubes, leaf(2.0)), "has the operand 3")
    assert (q["shown"], verdict(q, "None"), verdict(q, "16")) == ("None", "right", "constant-grad")
    assert verdict(q, "0") == "zero-for-none"


def test_none_and_zero():
    def program(a, unused):
        unused * 2
        (a * 0).backward()

    found = record(program, leaf(2.0), leaf(5.0))
    q = find(found, "What is unused.grad?")
    assert (verdict(q, "None"), verdict(q, "0")) == ("right", "zero-for-none")
    q = find(found, "a.grad is None and 0 arrives")
    assert q["level"] & ALWAYS
    assert (verdict(q, "0"), verdict(q, "None")) == ("right", "none-for-zero")


def test_what_is_no_leaf_keeps_no_gradient():
    q = find(record(cubes, leaf(2.0)), "What is b.grad?")
    assert (verdict(q, "none"), verdict(q, "24")) == ("right", "non-leaf-grad")
    assert verdict(q, "5") == "wrong"


def test_a_retained_gradient_is_not_none():
    def program(a):
        b = a * 3
        b.retain_grad()
        (b * b).backward()

    assert not [q for q in record(program, leaf(2.0)) if "b.grad" in q["ask"]]


@pytest.mark.parametrize(
    ("expression", "answer", "wrong"),
    [
        (lambda a, b: a * b, "8", {"6": "wrong-operation", "-2": "wrong-operation"}),
        (lambda a, b: a - b, "-2", {"2": "swapped-operands", "6": "wrong-operation"}),
        (lambda a, b: a / b, "0.5", {"2": "swapped-operands"}),
        (lambda a, b: a**3, "8", {"6": "wrong-operation"}),
        (lambda a, b: (-a).relu(), "0", {"-2": "dead-gate", "2": "wrong-operation"}),
    ],
    ids=["mul", "sub", "div", "pow", "relu"],
)
def test_forward_values(expression, answer, wrong):
    q = [q for q in record(expression, leaf(2.0), leaf(4.0)) if q["kind"] == "value"][-1]
    assert q["shown"] == answer
    assert {text: verdict(q, text) for text in wrong} == wrong


def test_whoever_computes_the_whole_line_is_told_so():
    """Notebook 00: the first product, 2 * 3, is asked for; 7 and 49 are what becomes of it."""
    first, second, third = [q for q in record(lambda x: (2 * x + 1) ** 2, leaf(3.0)) if q["kind"] == "value"]
    assert [first["shown"], second["shown"], third["shown"]] == ["6", "7", "49"]
    assert judge(first, "7")["note"] == (
        "7 comes later, when add has run too. Python works from the inside out: this is mul alone, and gives 6."
    )
    assert judge(first, "49")["note"].startswith("49 comes later, when add and pow have run too.")
    assert (verdict(first, "7"), verdict(first, "49"), verdict(second, "49")) == ("too-far",) * 3
    assert not [w for w in third["wrong"] if w[0] == "too-far"]


def test_what_does_not_come_of_it_is_not_too_far():
    def program(x):
        y = x * 2
        z = x * 5
        (y + z).backward()

    q = find(record(program, leaf(3.0)), "Next, mul runs on x = 3 and 2")
    assert (verdict(q, "15"), verdict(q, "21")) == ("wrong", "too-far")


def test_writing_in_place():
    def program(x):
        y = x * 2
        y.add_(1)

    q = find(record(program, leaf(3.0)), "changes y = 6 in place")
    assert (q["shown"], verdict(q, "6"), verdict(q, "5")) == ("7", "inplace-copies", "sign")


def test_shapes():
    def program(w, x):
        (x @ w).sum().backward()

    found = record(program, leaf([[1.0] * 5] * 3), torch.tensor([[1.0] * 3] * 4))
    q = find(found, "What shape does the result have?")
    assert (q["answer"], verdict(q, "(4, 5)"), verdict(q, "3x5")) == ([4, 5], "right", "operand-shape")
    q = find(found, "What shape is sent to w?")
    assert q["answer"] == [3, 5]
    wrong = {
        "4x5": "output-shape",
        "(4, 5, 3, 5)": "jacobian-shape",
        "5 3": "transposed",
        "4, 3": "operand-shape",
    }
    assert {text: verdict(q, text) for text in wrong} == wrong


def test_next_node():
    found = record(cubes, leaf(2.0))
    q = next(q for q in found if q["k"] == 21)
    by_node = {n: (v, m, note) for n, v, m, note in q["options"]}
    assert by_node[2][0] == "right"
    note = "MulBackward0 #1 still waits: 1 of 2 messages have arrived, so its gradient is not complete yet."
    assert by_node[1] == ("wrong", "still-waiting", note)

    def two_ready(a, b):
        ((a * 2) * (b * 3)).backward()

    q = next(
        q for q in record(two_ready, leaf(2.0), leaf(3.0)) if q["kind"] == "next-node" and q["level"] & ALWAYS
    )
    verdicts = {v: note for _, v, _, note in q["options"]}
    assert "taking it would lead to the same gradients" in verdicts["ready"]
    assert [n for n, *_ in q["options"]] == sorted(n for n, *_ in q["options"])


def test_does_it_raise():
    def twice(a, keep):
        y = a * a
        y.backward(retain_graph=keep)
        y.backward()

    def nothing_saved(a):
        y = a + a
        y.backward()
        y.backward()

    def overwritten(x):
        y = x.exp()
        y.add_(1)
        y.backward()

    def harmless(x):
        y = x * 2
        y.add_(1)
        y.backward()

    def asked(program, *inputs):
        with contextlib.suppress(RuntimeError), lab.record() as trace:
            program(*inputs)
        return [q for q in questions(trace) if q["kind"] == "error" and q["level"] & ALWAYS]

    (q,) = asked(lambda a: twice(a, False), leaf(2.0))
    assert (q["answer"], verdict(q, "yes"), verdict(q, "no")) == ("yes", "right", "backward-twice-works")
    assert "RuntimeError" in judge(q, "no")["note"]
    (q,) = asked(lambda a: twice(a, True), leaf(2.0))
    assert (q["answer"], verdict(q, "YES")) == ("no", "backward-twice-fails")
    (q,) = asked(nothing_saved, leaf(2.0))
    assert "none were" in judge(q, "yes")["note"]
    (q,) = asked(overwritten, leaf(2.0))
    assert verdict(q, "no") == "inplace-works"
    (q,) = asked(harmless, leaf(2.0))
    assert verdict(q, "y") == "inplace-fails"
    (q,) = asked(lambda x: x.detach().backward(), leaf(2.0))
    assert verdict(q, "n") == "always-works"
    assert not asked(lambda x: (x * 2).backward(), leaf(2.0))


def test_every_kind_can_be_asked_for():
    found = record(regression, *INPUTS[regression])
    assert {q["kind"] for q in found if q["level"] & ASKED} == set(KINDS)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("24", 24), (" 24.0 ", 24), ("-2e-3", -0.002), ("1/3", 1 / 3), ("0.33", 1 / 3), (".5", 0.5), ("2*12", 24), ("2^3", 8),
        ("2 ** -1", 0.5), ("(1 + 2) * 8", 24), ("\u22125", -5), ("3 \u00d7 4", 12), ("-3 ** 2", -9), ("24.1", 24), ("nan", "nan"),
        ("-inf", "-inf"), ("None", None), ("null", None), ("[1, 2]", [1, 2]), ("1, 2", [1, 2]), ("1 2", [1, 2]), ("[1 -2]", [1, -2]),
        ("tensor([1., 2.])", [1, 2]), ("torch.tensor([[1, 2], [3, 4]])", [[1, 2], [3, 4]]), ("[1/2, 2*3,]", [0.5, 6]), ("[24]", 24),
        ("24", [24]), ("0", 0),
    ],
)  # fmt: skip
def test_answers_are_read_as_people_write_them(text, right):
    assert same(read(text), right)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("0.3", 1 / 3),
        ("24.2", 24),
        ("0.001", 0),
        ("101", 100),
        ("[1, 2]", [1, 3]),
        ("[1, 2]", [[1, 2]]),
        ("0", None),
        ("5", "nan"),
    ],
)
def test_near_is_not_enough(text, right):
    assert not same(read(text), right)


@pytest.mark.parametrize(
    "text", ["", "abc", "1/0", "[1, 2", "(1", "1 +", "0 ** -1", "9e99 ** 99", "2,]", "__import__('os')"]
)
def test_what_cannot_be_read_is_said(text):
    with pytest.raises(AnswerError, match=r"\.$"):
        read(text)


@pytest.mark.parametrize(
    ("text", "shape"),
    [("(2, 3)", [2, 3]), ("[2,3]", [2, 3]), ("2x3", [2, 3]), ("2 3", [2, 3]), ("2 \u00d7 3", [2, 3]), ("torch.Size([2, 3])", [2, 3]),
     ("()", []), ("scalar", []), ("[4]", [4]), ("(4,)", [4]), ("4", [4])],
)  # fmt: skip
def test_shapes_are_read(text, shape):
    assert read_shape(text) == shape


def test_a_shape_that_is_none():
    with pytest.raises(AnswerError, match="Write a shape"):
        read_shape("two by three")


def test_a_decimal_comma_is_no_answer_where_one_number_is_asked_for():
    q = find(record(cubes, leaf(2.0)), "send to b?")
    for text, point in ("0,5", "0.5"), (" -12,0", "-12.0"), ("\u22121,25", "-1.25"):
        with pytest.raises(AnswerError, match=f"write {point} with a point"):
            judge(q, text)
    assert judge(q, "[0, 5]")["verdict"] == judge(q, "0, 5")["verdict"] == "wrong"
    two = find(record(lambda w: (w * 3).sum().backward(), leaf([1.0, 2.0])), "What is the result?")
    assert judge(two, "3,6")["verdict"] == "right"


def test_a_value_of_the_forward_pass_is_not_said_to_have_the_messages_gradient():
    def square(a):
        b = a * 3
        loss = b * b
        loss.backward()

    q = find(record(square, leaf(2.0)), "got g = 1. What does it send to b")
    assert judge(q, "36")["note"] == (
        "36 is the value of loss from the forward pass; what is sent here is g * b = 6."
    )


EXTREMES = [float("inf"), -float("inf"), float("nan"), 0.0, -0.0, 1e300, 1e-300, 1.0]


def test_a_program_full_of_extremes_can_be_asked_about():
    """Of every rule: nothing raises, and nothing is printed in red below the student's cell, since warnings are errors here."""
    firsts = {call.rule: call for call in reversed(operations.CALLS)}

    def asked(call):
        tensors = call.tensors(torch)
        numbers = itertools.cycle(EXTREMES)
        for name, t in tensors.items():
            if t.is_floating_point():
                data = list(itertools.islice(numbers, t.numel()))
                tensors[name] = torch.tensor(data, dtype=t.dtype).reshape(t.shape).requires_grad_(t.requires_grad)  # fmt: skip
        with contextlib.suppress(RuntimeError, IndexError, ValueError), lab.record() as trace:
            y = call.run(torch, tensors)
            y = y[0] if isinstance(y, (tuple, list)) else y
            y.sum().backward()
        questions(trace)

    each(firsts.values(), asked)


def test_what_has_no_elements_or_another_shape_is_no_wrong_answer():
    empty, x = torch.zeros(0, 3, requires_grad=True), torch.tensor([[1.0, 2.0]], requires_grad=True)
    asked = record(lambda: (empty * 2).sum().backward())
    assert all(q["answer"] not in ([], [[]]) for q in asked)  # of what has no elements the shape is asked
    assert [q["answer"] for q in asked if q["type"] == "number"] == [0, None]
    assert find(asked, "sum runs")["wrong"] == []
    for change in ("t_()", "unsqueeze_(0)", "squeeze_()", "as_strided_((1,), (1,))"):
        changed = find(record(lambda change=change: eval("x.clone()." + change, {"x": x})), "in place")
        assert "sign" not in [misconception for misconception, *_ in changed["wrong"]]
