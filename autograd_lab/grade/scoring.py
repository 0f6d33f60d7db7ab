"""From answers to grades: pure functions that use the keys, in the grader's own process.

The verdicts come from course/items.py, so that the notebook, the tests and the grader agree. This module adds the grader's own cases:
answers that are missing, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograd_lab.course import kept
from autograd_lab.course.items import Item, Verdict, judge
from autograd_lab.course.plain import NotPlainError
from autograd_lab.grade.model import Answer, CellRun, Job, Result, Run

STOPPED = {
    "timeout": "Your code ran for too long and was stopped. Perhaps a loop in it never ends.",
    "memory": "Your code needed more memory than there is.",
    "died": "Your code ended the process that ran it.",
}

MARGIN = 400
"""By how many letters and numbers an answer may be longer than twice the longest that is known, right or wrong."""
MOST_NAME, MOST_MESSAGE = 60, 300
"""Characters of an exception's name and message."""
_TOO_LONG = "is far longer than the question asks for"


def bounded(run: Run, items: Sequence[Item]) -> Run:
    """`run`, but with answers that are far longer than any known answer replaced by a sentence: they are no answers.

    Raises KeyError if an answer is to none of `items`.
    """
    known = {item.id: item for item in items}
    return replace(run, answers={name: _bounded(answer, known[name]) for name, answer in run.answers.items()})


def _bounded(answer: Answer, item: Item) -> Answer:
    if _too_long(answer.value, [item.expected, *item.accept, *(wrong.answer for wrong in item.wrong)]):
        return replace(answer, value=None, error=f"This cannot be an answer: it {_TOO_LONG}.")
    outputs = {}
    for probe in item.probes:
        for case, want in zip(probe.names(), probe.expected, strict=True):
            if case in answer.outputs:
                known = [want, *(wrong.outputs.get(case) for wrong in item.wrong)]
                outputs[case] = _bounded_output(answer.outputs[case], known)
    return replace(answer, outputs=outputs)


def _bounded_output(output: Any, known: Sequence[Any]) -> Any:
    if isinstance(output, dict) and output.keys() == {"error", "message"}:
        return {
            "error": str(output["error"])[:MOST_NAME],
            "message": str(output["message"])[:MOST_MESSAGE],
        }
    if _too_long(output, known):
        return {"error": NotPlainError.__name__, "message": f"what your code gave {_TOO_LONG}"}
    return output


def _too_long(value: Any, known: Sequence[Any]) -> bool:
    much = size(value)
    return much > MARGIN and all(much > 2 * size(one) + MARGIN for one in known)


def size(value: Any) -> int:
    """How many letters and numbers there are in plain data; a list or dict counts as one more."""
    if type(value) is float:  # most are
        return 1
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return 1 + sum(len(key) + size(part) for key, part in value.items())
    if isinstance(value, list):
        return 1 + sum(map(size, value))
    return 1


def score(job: Job, run: Run, items: Mapping[str, Sequence[Item]]) -> list[Result]:
    """The grade of every item of the job's notebook, in the notebook's order. Raises KeyError if `items` lacks one.

    The list is always complete: an item without an answer has a state that says why, and 0 points.
    """
    cells = {cell.id: cell for cell in run.cells}
    return [_score_item(job, run, item, cells) for item in items[job.notebook]]


def _score_item(job: Job, run: Run, item: Item, cells: Mapping[str, CellRun]) -> Result:
    result = Result(job.student, job.notebook, item.id, 0.0, item.points, "error")
    own = [cell for cell in job.cells if cell.item == item.id]
    worked = [cells[cell.id] for cell in own if cell.role == "answer" and cell.id in cells]
    checks = [cells[cell.id] for cell in own if cell.role == "check" and cell.id in cells]
    untouched = all(cell.untouched for cell in own if cell.role == "answer")
    answer = run.answers.get(item.id)

    stopped = next(
        (cell for cell in [*worked, *checks] if cell.state in STOPPED and cell.state != "memory"), None
    )
    if stopped:
        return _unanswered(result, stopped.state, STOPPED[stopped.state])
    if answer is None or answer.state not in ("given", "not attempted"):
        return _without(result, run, worked, checks, answer, untouched)
    if answer.state == "not attempted":
        failed = next((cell for cell in worked if cell.state != "ok"), None)
        if failed and not untouched:
            return _unanswered(result, failed.state, _says(failed))
        return _unanswered(result, "not attempted", "")
    if answer.error:
        return _unanswered(result, "wrong", answer.error)
    if not item.probes:
        return _judged(result, item, answer, judge(item, answer.value))
    verdict = judge(item, outputs=_outputs(answer))
    _judged(result, item, answer, verdict)
    if result.state == "wrong" and not verdict.known:
        sources = (cell.source for cell in own if cell.role == "answer")
        result.says = f"{result.says} {kept.first(sources, item)}".strip()
    return result


def _without(
    result: Result,
    run: Run,
    worked: list[CellRun],
    checks: list[CellRun],
    answer: Answer | None,
    untouched: bool,
) -> Result:
    """The check was not reached, or raised. If a cell of the student's failed, that explains it better."""
    if untouched and worked:
        return _unanswered(result, "not attempted", "")
    for cell in worked:
        if cell.state not in ("ok", "skipped"):
            return _unanswered(result, cell.state, _says(cell))
    for cell in checks:
        if cell.state != "ok":
            says = f"Your answer could not be checked: {cell.error or 'the check did not run'}."
            if cell.error.startswith("NameError"):
                says += " The check uses the names of the exercise: keep them."
            return _unanswered(result, "error", says)
    if answer is None and run.state != "ok":
        return _unanswered(result, run.state, STOPPED[run.state])
    return _unanswered(result, "error", answer.error if answer else "There is no answer.")


def _says(cell: CellRun) -> str:
    return STOPPED[cell.state] if cell.state in ("timeout", "died") else f"Your cell raised {cell.error}."


def _unanswered(result: Result, state: str, says: str) -> Result:
    result.state, result.says = state, says
    return result


def _outputs(answer: Answer) -> dict[str, object]:
    """The results of the probes; for those without one, an error."""
    lost = {case: {"error": why, "message": STOPPED[why]} for case, why in answer.lost.items()}
    return {**answer.outputs, **lost}


def _judged(result: Result, item: Item, answer: Answer, verdict: Verdict) -> Result:
    result.score = float(min(max(verdict.score, 0), item.points))
    result.state, result.says, result.misconception = verdict.state, verdict.says, verdict.misconception
    result.got, result.want = verdict.got, verdict.want
    if verdict.case is None:
        return result
    name, number = verdict.case
    probe = next(probe for probe in item.probes if probe.name == name)
    case = probe.names()[number]
    result.probe, result.case, result.hidden = name, number, probe.hidden
    if case in answer.lost:
        result.state, result.says = answer.lost[case], STOPPED[answer.lost[case]]
    elif probe.hidden and not verdict.known:
        result.says = f"{probe.category()}: not right."
    return result
