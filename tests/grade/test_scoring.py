"""From runs to grades: every item gets a result, and the state that says why."""

from dataclasses import replace

import pytest
import tiny
from classroom import course

from autograd_lab.course import kept
from autograd_lab.course.items import Wrong, judge
from autograd_lab.grade.model import RESULT_STATES, Answer, CellRun, Run
from autograd_lab.grade.scoring import MARGIN, MOST_MESSAGE, MOST_NAME, bounded, score, size


def ran(**changes):
    """A run of the tiny notebook in which all is right; changes are a1=Answer or None, c_<cell>=state."""
    answers = {
        "1.1": Answer("1.1", "given", 7),
        "1.2": Answer("1.2", "given", outputs={"small(1)": 2, "small(2)": 4, "large(8642097)": tiny.SECRET}),
        "1.3": Answer("1.3", "given", [1, 2]),
    }
    cells = [CellRun(cell.id, "ok") for cell in tiny.job().cells]
    for name, change in changes.items():
        item = f"1.{name[1:]}"
        if change is None:
            del answers[item]
        else:
            answers[item] = change
    return Run("ok", answers, cells)


def stopped(run, cell_id, state, error=""):
    """The same, with one cell in another state."""
    return replace(run, cells=[CellRun(c.id, state, error) if c.id == cell_id else c for c in run.cells])


def one(run, item, job=None):
    results = tiny.results(run, job or tiny.job())
    assert [result.item for result in results] == list(tiny.FULL)
    assert all(result.state in RESULT_STATES and 0 <= result.score <= result.points for result in results)
    return next(result for result in results if result.item == item)


def test_all_right():
    assert {r.item: r.score for r in tiny.results(ran(), tiny.job())} == tiny.FULL
    assert {r.state for r in tiny.results(ran(), tiny.job())} == {"passed"}


def test_a_known_mistake_has_its_name_and_its_points():
    result = one(ran(a1=Answer("1.1", "given", 8)), "1.1")
    assert (result.score, result.state, result.misconception, result.says) == (
        0.5, "wrong", "off-by-one", "That is one too many.",
    )  # fmt: skip


def test_a_list_earns_its_part():
    assert one(ran(a3=Answer("1.3", "given", [1, 3])), "1.3").score == 2


def test_a_hidden_case_shows_neither_input_nor_value():
    outputs = {"small(1)": 2, "small(2)": 4, "large(8642097)": 0}
    result = one(ran(a2=Answer("1.2", "given", outputs=outputs)), "1.2")
    assert (result.score, result.state, result.probe, result.hidden) == (1, "wrong", "large", True)
    assert result.says == "A large number: not right."


def test_a_known_mistake_of_a_program():
    outputs = {"small(1)": 1, "small(2)": 4, "large(8642097)": 0}
    result = one(ran(a2=Answer("1.2", "given", outputs=outputs)), "1.2")
    assert (result.misconception, result.score) == ("square", 0)  # a program earns what its probes earn


@pytest.mark.parametrize(
    ("third", "says"),
    [(0, "A large number: not right."), (tiny.SECRET, "small(2): you gave 5, it should be 4.")],
)
def test_what_an_answer_keeps_from_call_to_call_is_said_as_in_the_notebook(third, says):
    keeps = "seen = []\ndef double(x):\n    seen.append(x)\n    return sum(seen) + x"
    outputs = {"small(1)": 2, "small(2)": 4 if third == 0 else 5, "large(8642097)": third}
    result = one(ran(a2=Answer("1.2", "given", outputs=outputs)), "1.2", tiny.job(a2=keeps))
    assert result.says == f"{says} {kept.remark(keeps)}"


def test_a_slip_that_only_a_hidden_case_shows_is_told_of_too():
    slip = Wrong(
        "That is too small a number for it.", outputs={"small(1)": 2, "small(2)": 4, "large(8642097)": 0}
    )
    item = replace(tiny.ITEMS[tiny.BOOK][1], wrong=[slip])
    answer = Answer("1.2", "given", outputs=dict(slip.outputs))
    run = ran(a2=answer)
    results = score(tiny.job(), run, {tiny.BOOK: [tiny.ITEMS[tiny.BOOK][0], item, tiny.ITEMS[tiny.BOOK][2]]})
    assert (results[1].says, results[1].hidden) == (slip.says, True)


@pytest.mark.parametrize("why", ["timeout", "memory", "died"])
def test_a_probe_that_was_lost_costs_itself(why):
    answer = Answer("1.2", "given", outputs={"small(1)": 2, "small(2)": 4}, lost={"large(8642097)": why})
    result = one(ran(a2=answer), "1.2")
    assert (result.score, result.state, result.hidden) == (1, why, True)


@pytest.mark.parametrize(
    ("cell", "state"), [("1-1-answer", "timeout"), ("1-1-answer", "died"), ("1-1-check", "died")]
)
def test_a_cell_that_was_stopped_costs_its_item(cell, state):
    """Even if its check was given something, from elsewhere."""
    run = stopped(ran(), cell, state)
    assert (one(run, "1.1").score, one(run, "1.1").state) == (0, state)
    assert one(run, "1.2").score == 3


def test_an_answer_that_raised_is_told_of_before_its_check():
    run = stopped(ran(a1=Answer("1.1", "error", error="NameError: name 'seven' is not defined")), "1-1-answer", "error",
                  "ZeroDivisionError: division by zero")  # fmt: skip
    assert one(run, "1.1").state == "error"
    assert one(run, "1.1").says == "Your cell raised ZeroDivisionError: division by zero."
    run = stopped(ran(a1=None), "1-1-check", "error", "NameError: name 'seven' is not defined")
    assert (
        "could not be checked: NameError: name 'seven' is not defined. The check uses" in one(run, "1.1").says
    )


def test_a_cell_that_raised_after_the_answer_was_made_costs_nothing():
    assert one(stopped(ran(), "1-1-answer", "error", "ValueError: later"), "1.1").score == 2


def test_not_attempted():
    assert one(ran(a2=Answer("1.2", "not attempted")), "1.2").state == "not attempted"
    untouched = tiny.job(a2=tiny.STUB)
    assert one(ran(a2=None), "1.2", untouched).state == "not attempted"
    tried = stopped(
        ran(a2=Answer("1.2", "not attempted")), "1-2-answer", "error", "SyntaxError: invalid syntax"
    )
    assert one(tried, "1.2").state == "error"


def test_what_cannot_be_an_answer_says_why():
    result = one(ran(a1=Answer("1.1", "given", error="This cannot be an answer: a module.")), "1.1")
    assert (result.score, result.state, result.says) == (0, "wrong", "This cannot be an answer: a module.")


@pytest.mark.parametrize("state", ["timeout", "memory", "died"])
def test_a_run_that_ended_early_leaves_no_item_out(state):
    results = tiny.results(Run(state), tiny.job())
    assert [(r.score, r.state) for r in results] == [(0, state)] * 3
    assert all(r.says for r in results)


def test_a_deleted_answer_cell_gets_a_row():
    job = tiny.job()
    job = replace(job, cells=tuple(cell for cell in job.cells if cell.item != "1.1"))
    run = ran(a1=None)
    assert (one(run, "1.1", job).score, one(run, "1.1", job).state) == (0, "error")
    assert one(run, "1.2", job).score == 3


@pytest.mark.parametrize("value", [None, "seven", [7], {"float": "nan"}, {"shape": [1], "dtype": "x", "data": [7]},
                                   {"error": "x", "message": "y"}, 1e308, {}, [[]], True])  # fmt: skip
def test_any_plain_data_is_judged(value):
    assert one(ran(a1=Answer("1.1", "given", value)), "1.1").score == 0
    one(ran(a2=Answer("1.2", "given", outputs={"small(1)": value})), "1.2")
    one(ran(a3=Answer("1.3", "given", value)), "1.3")


LONG = [
    "x" * 5_000, ["x"] * 5_000, [["x" * 4_000]], {"x" * 5_000: 1}, {str(n): 1 for n in range(900)}, list(range(5_000)),
    {"error": "x" * 5_000, "message": "y" * 5_000}, {"error": "x", "message": ["y" * 5_000]}, {"error": {"x" * 5_000: 1}, "message": ""},
    {"shape": [1] * 5_000, "dtype": "float64", "data": []}, {"shape": [5_000], "dtype": "float64", "data": [0.5] * 5_000},
    {"float": "x" * 5_000}, {"error": "x" * 5_000}, {"error": "x", "message": "y", "more": "z" * 5_000},
]  # fmt: skip


@pytest.mark.parametrize("value", LONG)
def test_what_is_far_longer_than_any_answer_is_not_kept(value):
    for item, case in (("1.1", None), ("1.2", "small(1)"), ("1.2", "large(8642097)"), ("1.3", None)):
        given = Answer(item, "given", outputs={case: value}) if case else Answer(item, "given", value)
        answer = bounded(Run("ok", {item: given}), tiny.ITEMS[tiny.BOOK]).answers[item]
        kept = size([answer.value, answer.outputs, answer.error])
        assert kept <= MARGIN + MOST_NAME + MOST_MESSAGE + 100
        assert one(ran(**{f"a{item[-1]}": answer}), item).score == 0


def test_no_known_answer_is_too_long():
    """Right or wrong, each is judged as it was given."""
    tried = 0
    for book, items in course().items.items():
        for item in items:
            for value in (item.expected, *item.accept, *(wrong.answer for wrong in item.wrong)):
                run = bounded(Run("ok", {item.id: Answer(item.id, "given", value)}), items)
                assert run.answers[item.id] == Answer(item.id, "given", value), book
            right = {
                case: want for p in item.probes for case, want in zip(p.names(), p.expected, strict=True)
            }
            for outputs in (right, *(wrong.outputs for wrong in item.wrong)):
                run = bounded(Run("ok", {item.id: Answer(item.id, "given", outputs=outputs)}), items)
                kept = run.answers[item.id].outputs
                assert not item.probes or vars(judge(item, outputs=kept)) == vars(
                    judge(item, outputs=outputs)
                )
                tried += 1
    assert tried > 200


def test_an_unknown_notebook_is_said():
    with pytest.raises(KeyError):
        tiny.results(ran(), replace(tiny.job(), notebook="02_other"))
