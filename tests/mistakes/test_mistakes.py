"""The bank of learners' mistakes: `lab.why` names the cause of each, on both engines, and its advice cures it."""

import ast
import re
from collections import Counter

import pytest
import run

from autograd_lab.tracing import Trace
from autograd_lab.tracing.why import CAUSES
from tests.each import each

BANK = run.read()
EVERY = sorted({(m.cause, engine) for m in BANK for engine in m.engines})
WITHOUT_RECORDING = {
    "needs-no-grad",
    "loss-needs-no-grad",
    "unknown",
}  # the tensors alone are asked: no program, no line
NAMES = re.compile(
    r"([A-Za-z_]\w*)(?:\[[^]]*\]|\.\w+)*\.(?:detach|retain_grad|requires_grad_|grad|copy_|clone|float|clear|zero_grad|backward)\b"
)
KNOWN = {"torch", "backward", "nn", "part", "tuple", "derivative"}  # besides what the program calls so


def of(cause, engine):
    """The programs with this cause that run there."""
    return [m for m in BANK if m.cause == cause and engine in m.engines]


def right(m, engine, complaint):
    assert complaint(m, engine) == ""


@pytest.mark.parametrize(("cause", "engine"), EVERY)
def test_the_cause_is_named(cause, engine):
    each(of(cause, engine), right, engine, run.complaint)


CURED = sorted({(m.cause, engine) for m in BANK if m.cure for engine in m.engines})


@pytest.mark.parametrize(("cause", "engine"), CURED)
def test_the_cure_gives_the_right_gradient(cause, engine):
    each((m for m in of(cause, engine) if m.cure), right, engine, run.uncured)


def test_no_template_is_used_too_often():
    used = Counter(m.options.get("template", m.name) for m in BANK)
    assert [name for name, count in used.items() if count > 3] == []


EDITED = sorted({(m.cause, engine) for m in BANK if m.edited for engine in m.engines})


@pytest.mark.parametrize(("cause", "engine"), EDITED)
def test_the_changes_that_are_proposed_give_the_right_gradient(cause, engine):
    each((m for m in of(cause, engine) if m.edited), right, engine, run.unmended)


@pytest.mark.parametrize(("cause", "engine"), EVERY)
def test_the_changes_that_are_proposed_run_and_remove_the_cause(cause, engine):
    each(of(cause, engine), right, engine, run.broken_edits)


@pytest.mark.parametrize("cause", sorted(set(CAUSES) - WITHOUT_RECORDING))
def test_the_advice_on_every_cause_is_applied_or_is_a_question(cause):
    """Of each cause a program is cured, by the answer's own changes or by hand; or what to do depends on what was meant.

    Nothing is to be cured where the answer says that the derivative is right as it is.
    """
    asked = [m for m in BANK if m.cause == cause]
    assert asked, "no program of the bank has this cause"
    if any(m.edited or m.cure for m in asked):
        return
    for m in asked:
        fix = run.answer(m, m.engines[0]).fix
        assert not fix or "?" in fix or fix.startswith("this is the true derivative"), (
            f"{m.name} is told to {fix!r}, and nobody tries that"
        )


@pytest.mark.parametrize(("cause", "engine"), EVERY)
def test_nothing_is_quoted_that_the_learner_did_not_write(cause, engine):
    """Lines are lines of the program, and names of variables in the text are names that occur in it."""
    each(of(cause, engine), quotes_what_is_there, engine)


def quotes_what_is_there(m, engine):
    found = run.answer(m, engine)
    source = run.recorded(m.source).splitlines()
    words = set(re.findall(r"\w+", run.recorded(m.source)))
    for line in found.lines:
        assert line.source == m.name
        assert line.text == source[line.number - 1].strip()
    text = " ".join([*found.sentences, found.fix])
    for name in NAMES.findall(text):
        assert name in words | KNOWN, f"{name} is no name of the program: {text}"
    for edit in found.edits:
        assert edit.source == m.name
        for node in ast.walk(ast.parse(run.applied(run.recorded(m.source), found))):
            assert not isinstance(node, ast.Name) or node.id in words | KNOWN, f"{node.id}: {edit}"


@pytest.mark.parametrize(("cause", "engine"), EVERY)
def test_the_trace_as_plain_data_gives_the_same_answer(cause, engine):
    each(of(cause, engine), answers_as_plain_data, engine)


def answers_as_plain_data(m, engine):
    found, scope = run.answer_and_scope(m.name, m.question, m.source, engine)
    asked = re.fullmatch(r"lab\.why\((.*)\)", m.question)
    trace = scope.get("trace")
    if found.hint or asked is None or trace is None:
        return  # it was not the recording that answered
    tensor = eval(asked[1].partition(", ")[0], scope)
    if not isinstance(tensor, str) and not trace.knows(tensor):
        return
    number = tensor if isinstance(tensor, str) else trace.number_of(tensor)
    assert repr(Trace.from_json(trace.to_json()).why(number)) == repr(trace.why(number))
