"""The data that the parts of the grader exchange: plain data, so that it can be stored, sent and compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

ROLES = ("given", "answer", "check", "extra")
"""The roles of cells in a merged notebook: released with the course, a student's answer, a released check, a student's own cell."""

NETWORKS = r"\bnetworkx\b|\blab\.graph\b"
"""Words in cells that need networkx, which a worker loads when the first of them comes."""

CELL_STATES = ("ok", "error", "timeout", "memory", "died", "skipped")
RUN_STATES = ("ok", "timeout", "memory", "died")
RESULT_STATES = (
    "passed",
    "wrong",
    "not attempted",
    "error",  # the answer's cell, or one that it needs, raised
    "timeout",
    "memory",
    "died",
    "missing",  # nothing was handed in
    "unreadable",  # the file is not a notebook
)


class CannotGradeError(Exception):
    """The grader cannot continue: what happened, why, and what the instructor can do."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        self.what, self.why = what, why
        super().__init__(f"{what}\n  Why:        {why}\n  What to do: {remedy}")


@dataclass(frozen=True)
class Limits:
    """What one submission may use. Endless loops are detected by processor time, so a busy machine fails no student."""

    cell_cpu: float = 5.0
    """Seconds of processor time for a cell."""
    cell_wall: float = 30.0
    """Seconds of wall time for a cell, for cells that wait rather than compute."""
    probe_cpu: int = 5
    """Whole seconds of processor time for a probe."""
    probe_wall: float = 15.0
    """Seconds of wall time for a probe."""
    job_wall: float = 180.0
    """Seconds of wall time for a whole submission, second passes included."""
    memory: int = 3 << 30
    """Bytes of address space of a process."""
    file: int = 16 << 20
    """Bytes of one file that it writes."""
    folder: int = 64 << 20
    """Bytes of all files that it writes together."""
    depth: int = 1_000_000
    """Depth of nested Python calls, however far a cell raises the recursion limit; this many take about a second."""
    processes: int = 64
    """Processes and threads at a time."""
    files: int = 256
    """Open files of a process."""
    printed: int = 64 << 10
    """Characters of output that are kept; the rest is counted."""
    message: int = 4 << 20
    """Bytes of one answer that is sent back."""


@dataclass(frozen=True)
class Cell:
    """A code cell of a merged notebook."""

    id: str
    source: str
    role: str
    """One of ROLES."""
    item: str = ""
    """The graded item that an answer or a check belongs to."""
    untouched: bool = False
    """For an answer: whether it is unchanged from the release."""


@dataclass(frozen=True)
class Job:
    """One student's merged notebook, ready to run."""

    student: str
    notebook: str
    """The stem of the file: "04_backward_node_by_node"."""
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()
    """What reading and merging had to repair, in sentences for the instructor."""
    digest: str = ""
    """SHA-256 of the file as handed in, hexadecimal."""
    files: dict[str, str] = field(default_factory=dict)
    """The files that lie beside it when it runs, in base 64, by their paths from there."""
    variant: int | None = None
    """The number of the copy that its metadata name (variants.py)."""
    variant_cell: int | None = None
    """The one that its cells choose."""


@dataclass
class CellRun:
    """The outcome of one cell."""

    id: str
    state: str
    """One of CELL_STATES."""
    error: str = ""
    """The exception's type and message, or the limit that was reached."""


@dataclass
class Answer:
    """What a student's process said about one item. None of it is trusted; it is compared elsewhere."""

    item: str
    state: str
    """"given", "not attempted", or why there is none: one of CELL_STATES other than "ok"."""
    value: Any = None
    """Plain data (course/plain.py), for items with a value."""
    outputs: dict[str, Any] = field(default_factory=dict)
    """{case: plain data} for items with probes, the hidden ones included."""
    error: str = ""
    lost: dict[str, str] = field(default_factory=dict)
    """{case: "timeout", "memory" or "died"} for cases whose probe did not come back; `outputs` has no entry for them."""


@dataclass
class Run:
    """The result of running a job."""

    state: str
    """One of RUN_STATES: how the first pass ended."""
    answers: dict[str, Answer] = field(default_factory=dict)
    cells: list[CellRun] = field(default_factory=list)
    printed: str = ""
    """The beginning of what the notebook printed."""
    dropped: int = 0
    """Characters of output that were dropped."""
    seconds: float = 0.0
    """Wall time; the only figure that may differ between two runs."""
    careful: bool = False
    """Whether another pass was needed: without what stopped the previous one, and with a process for each probe."""


@dataclass
class Result:
    """The grade of one item of one student."""

    student: str
    notebook: str
    item: str
    score: float
    points: float
    """The most points for the item."""
    state: str
    """One of RESULT_STATES."""
    says: str = ""
    """Why: the refutation of a known mistake, the first case that differs, or what stopped the code."""
    misconception: str = ""
    probe: str = ""
    case: int = -1
    """The first probe and case on which the answer failed, if any."""
    hidden: bool = False
    """Whether that case is hidden: the student sees neither its input nor its value."""
    got: Any = None
    want: Any = None


class Runner(Protocol):
    """Something that runs jobs, such as engine.Engine."""

    layers: tuple[str, ...]
    """The layers of the sandbox that are active."""

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Run]]:
        """Each job with its run, as they finish."""
