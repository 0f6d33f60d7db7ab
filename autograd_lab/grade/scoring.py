"""From answers to grades: pure functions that use the keys, in the grader's own process.

The verdicts come from course/items.py, so that the notebook, the tests and the grader agree. This module adds the grader's own cases:
answers that are missing, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from autograd_lab.course.items import Item, Verdict, judge
from autograd_lab.grade.model import Answer, CellRun, Job, Result, Run

STOPPED = {
    "timeout": "Your code ran for too long and was stopped. Perhaps a loop in it never ends.",
    "memory": "Your code needed more memory than there is.",
    "died": "Your code ended the process that ran it.",
}


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
    verdict = judge(item, outputs=_outputs(answer)) if item.probes else judge(item, answer.value)
    return _judged(result, item, answer, verdict)


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
    elif probe.hidden and all(verdict.says != wrong.says for wrong in item.wrong):
        result.says = f"{probe.category()}: not right."
    return result
