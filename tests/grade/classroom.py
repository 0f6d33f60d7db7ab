"""A small class for the grader's tests: notebooks made by code, and a runner that runs them in this very process."""

import json
import linecache
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from autograd_lab.course import feedback, plain, probe
from autograd_lab.grade import merge, run
from autograd_lab.grade.model import Answer, CellRun, Job, Run

ROOT = Path(__file__).parents[2]
BOOK = "04_backward_node_by_node"
OTHER = "05_who_keeps_a_gradient"
FULL = {"04.1": 4, "04.2": 3, "04.3": 2, "04.4": 5, "04.5": 1}


@cache
def course() -> run.Course:
    return run.load_course(ROOT / "exercises", ROOT / "solutions" / "keys")


def released(name: str = BOOK) -> merge.Released:
    return course().released[name]


def document(folder: str = "solutions", name: str = BOOK) -> dict:
    """A notebook of the checkout as JSON data, without outputs: "solutions" all right, "exercises" untouched."""
    data = json.loads((ROOT / folder / f"{name}.ipynb").read_text(encoding="utf-8"))
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return data


def solved(**answers: str) -> dict:
    """The exercises with some answers filled in: solved(a1="answer = [12, 4, 12, 160]")."""
    data = document("exercises")
    for name, source in answers.items():
        cell(data, f"04-{name[1:]}-answer")["source"] = source
    return data


def cell(data: dict, cell_id: str) -> dict:
    return next(cell for cell in data["cells"] if cell["id"] == cell_id)


def place(data: dict, cell_id: str) -> int:
    return next(i for i, cell in enumerate(data["cells"]) if cell["id"] == cell_id)


def code(source: str, cell_id: str = "mine") -> dict:
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def hand_in(folder: Path, student: str, data: dict | bytes | str, name: str = BOOK + ".ipynb") -> Path:
    path = folder / student / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, ensure_ascii=False) if isinstance(data, dict) else data
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def stand_in(patch: Any, engine: Callable[..., Any]) -> None:
    """Let `autograd-lab grade` run submissions with this instead of workers, and start none of these."""
    patch.setattr(run, "_engine", engine)
    patch.setattr(run, "_launched", lambda *_: nullcontext())


class HereRunner:
    """Runs jobs in this process: no isolation, no limits; for tests of what stands around the engine."""

    layers = ("none",)

    def __init__(self, stop_after: int | None = None, items: dict | None = None) -> None:
        self.ran: list[tuple[str, str]] = []
        self.items = items
        self.stop_after = stop_after

    def __enter__(self) -> "HereRunner":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Run]]:
        for job in jobs:
            if self.stop_after is not None and len(self.ran) >= self.stop_after:
                raise KeyboardInterrupt
            self.ran.append((job.student, job.notebook))
            yield job, run_here(job, self.items)


def run_here(job: Job, items_of: dict | None = None) -> Run:
    space: dict = {"__name__": "__main__"}
    items = {item.id: item for item in (items_of or course().items)[job.notebook]}
    made = Run("ok")
    live = {}
    for one in job.cells:
        given: list = []
        feedback.LISTENERS.append(given)
        name = f"<{job.student} {one.id}>"  # functions keep their source, by which stubs are known
        linecache.cache[name] = len(one.source), None, one.source.splitlines(keepends=True), name
        try:
            exec(compile(one.source, name, "exec"), space)
            made.cells.append(CellRun(one.id, "ok"))
        except Exception as error:
            made.cells.append(CellRun(one.id, "error", f"{type(error).__name__}: {error}"))
        finally:
            feedback.LISTENERS.pop()
        if one.role == "check":
            live.update(given)
    for item_id, answer in live.items():
        item = items[item_id]
        if probe.unfinished(answer, item.stubs):
            made.answers[item_id] = Answer(item_id, "not attempted")
        elif item.probes:
            made.answers[item_id] = Answer(item_id, "given", outputs=probe.run(item.probes, answer))
        else:
            made.answers[item_id] = Answer(item_id, "given", plain.plain(answer))
    return made
