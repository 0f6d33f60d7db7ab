"""`autograd-lab validate`: runs a notebook under nbval, with one test for each graded item. For students, for CI on push, and as a second
opinion.

    what was handed in ──merge──> the released notebook with the student's answers (merge.py)
                        ──────> the output that each check shows when all is well, stored under its cell
                        ──────> pytest --nbval-lax, in a process and a folder of its own: check cells are compared
                        ──────> a table: item, passed or not, and what the check said

The output of a passing check is known without the solutions ("04.1: passed, 4 of 4 points"), so this works wherever the
course is installed. It runs the student's code and the comparison in the same kernel, as every notebook test does: suitable for one's own
work, not for grading other people's (use `autograd-lab grade` for that).

In the process of pytest, this module is also the plugin that names the tests and records their results.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from autograd_lab.course import feedback
from autograd_lab.course.contents import PREFIX, exercise_name
from autograd_lab.course.items import Item, Verdict, shipped
from autograd_lab.course.resources import course_root

from . import merge
from .files import Scratch
from .model import Cell, Job
from .reading import UnreadableError, read
from .submissions import File, digest, load

CELL_TIMEOUT = 60
"""Seconds for one cell; nbval's own default is 2000."""
LIMIT = 600
"""Seconds for one notebook."""
REPORT = "AUTOGRAD_LAB_VALIDATE_REPORT"
"""The environment variable that tells the plugin where to write."""
DEAD = "the kernel died here (memory, os._exit, a crash) or had to be stopped; nothing after it can run"
STATES = ("passed", "wrong", "not attempted", "error")
PYTEST = "import sys; sys.modules['rfc3987_syntax'] = None; import pytest; sys.exit(pytest.main())"
"""`python -m pytest`, where nbformat's jsonschema builds no grammar of web addresses, which takes a second; no notebook needs any."""


@dataclass
class Row:
    """One graded item: `state` is one of STATES."""

    item: str
    state: str
    says: str = ""


@dataclass
class Report:
    """What nbval found in one notebook."""

    name: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Other problems: cells that raised, a kernel that died, a limit that was reached."""
    log: str = ""
    """What pytest printed."""

    @property
    def passed(self) -> bool:
        """Whether every item passed."""
        return all(row.state == "passed" for row in self.rows)

    def table(self) -> str:
        """Items, results and what the checks said, as text."""
        words = {
            "passed": "passed",
            "wrong": "not right yet",
            "not attempted": "not attempted",
            "error": "failed",
        }
        lines = [self.name]
        for row in self.rows:
            head = f"  {row.item:<6} {words[row.state]:<14} "
            for text in row.says.split("\n"):
                lines += textwrap.wrap(text, 100, initial_indent=head, subsequent_indent=" " * len(head)) or [
                    head
                ]
                head = " " * len(head)
        for note in self.notes:
            lines += textwrap.wrap(f"note: {note}", 100, initial_indent="  ", subsequent_indent="    ")
        done = sum(row.state == "passed" for row in self.rows)
        return "\n".join([*lines, f"  {done} of {len(self.rows)} items passed"])


class CannotValidateError(Exception):
    """The command cannot continue; the message says what happened, and what to do."""


# --- the command ----------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0 if every item passed, 1 if not, 2 if something could not be validated."""
    options = _parser().parse_args(argv)
    try:
        _needs("pytest", "nbval", "ipykernel", "nbformat")
        files = list(find(options.notebooks, options.student))
    except CannotValidateError as problem:
        print(f"autograd-lab validate: {problem}", file=sys.stderr)
        return 2
    status = 0
    for path, name in files:
        try:
            report = validate(job_of(path), name, options.cell_timeout, options.limit)
        except CannotValidateError as problem:
            print(f"autograd-lab validate: {problem}", file=sys.stderr)
            status = 2
            continue
        print(report.table(), flush=True)
        if options.verbose:
            print(report.log)
        open_items = {"passed", "not attempted"} if options.allow_open else {"passed"}
        if not all(row.state in open_items for row in report.rows):
            status = max(status, 1)
    return status


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab validate",
        description="Run exercise notebooks under nbval, with the checks as they were released, and say which items pass.",
        epilog="exit status: 0 every item passed, 1 some did not, 2 something could not be validated",
    )
    parser.add_argument(
        "notebooks", nargs="+", metavar="NOTEBOOK", help="an exercise's file; with --student its name, or 04"
    )
    parser.add_argument(
        "--student", nargs="+", type=Path, metavar="DIR", help="folders of students: validate their copies"
    )
    parser.add_argument(
        "--allow-open", action="store_true", help="items not attempted yet do not count as failures"
    )
    parser.add_argument(
        "--cell-timeout",
        type=int,
        default=CELL_TIMEOUT,
        metavar="S",
        help=f"seconds for one cell (default {CELL_TIMEOUT})",
    )
    parser.add_argument(
        "--limit", type=int, default=LIMIT, metavar="S", help=f"seconds for one notebook (default {LIMIT})"
    )
    parser.add_argument("--verbose", action="store_true", help="show what pytest prints as well")
    return parser


def _needs(*packages: str) -> None:
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise CannotValidateError(
            f"it needs {', '.join(missing)}, which this Python does not have.\n"
            f"  What to do: {sys.executable} -m pip install {' '.join(missing)}"
        )


def find(notebooks: Sequence[str], students: Sequence[Path] | None) -> Iterator[tuple[Path, str]]:
    """The files to validate, each with the name to show. Raises CannotValidateError for a missing file."""
    for text in notebooks:
        path = Path(text)
        if not students:
            if not path.is_file():
                raise CannotValidateError(
                    f"there is no file {path}.\n  What to do: name a notebook, such as exercises/{_stems()[0]}.ipynb"
                )
            yield path, path.name
            continue
        stem = _stem(path.stem)
        if stem is None:
            raise CannotValidateError(f"the course has no exercise {text}.\n  It has: {', '.join(_stems())}")
        for folder in students:
            path = folder / f"{exercise_name(stem)}.ipynb"
            path = path if path.is_file() else folder / f"{stem}.ipynb"
            if not path.is_file():
                raise CannotValidateError(
                    f"{folder} holds no {stem}.ipynb.\n  What to do: see what is in the folder"
                )
            yield path, f"{folder.name}: {path.name}"


@cache
def _books() -> dict[str, merge.Released]:
    """{name: exercise} of the course."""
    found = map(merge.released, sorted((course_root() / "exercises").glob("*.ipynb")))
    return {book.name: book for book in found if book.items}


def _stems() -> list[str]:
    return sorted(_books())


def _stem(name: str) -> str | None:
    """The exercise that a file's name, or 04, belongs to."""
    name = name.removeprefix(PREFIX)
    return next(
        (stem for stem in _stems() if name == stem or name.startswith(stem) or name == stem[:2]), None
    )


# --- merging --------------------------------------------------------------------------------------


def job_of(path: Path) -> Job:
    """A student's file merged into the released notebook, as in the grader. Raises CannotValidateError."""
    try:
        data = load(File(path, path.name))
        handed = read(data)
    except UnreadableError as error:
        raise CannotValidateError(
            f"{path} cannot be read as a notebook. {error}\n  What to do: open it in Jupyter and save it again"
        ) from error
    stem = _stem(path.stem) or merge.shelf(_books().values()).by_content(handed)
    if not stem:
        raise CannotValidateError(
            f"{path.name} is no exercise of the course.\n  It has: {', '.join(_stems())}"
        )
    return merge.merge(_books()[stem], handed, student=path.parent.name, digest=digest(data))


# --- running --------------------------------------------------------------------------------------


def notebook_of(job: Job, items: Mapping[str, Item]) -> dict[str, Any]:
    """The merged notebook as a file for nbval: under each check the output that it shows when it passes."""
    cells = []
    seed = job.variant if job.variant_cell is None else job.variant_cell
    numbers = [Cell("variant", f"from autograd_lab import lab\n\nlab.variant({seed})", "given")]
    for number, cell in enumerate([*(numbers if seed is not None else ()), *job.cells], start=1):
        outputs = [passed_output(items[cell.item])] if cell.role == "check" else []
        cells.append(
            {
                "cell_type": "code",
                "id": f"c{number}",
                "source": cell.source,
                "outputs": outputs,
                "execution_count": number if outputs else None,
                "metadata": {"autograd_lab": {"item": cell.item, "role": cell.role, "id": cell.id}},
            }
        )
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def passed_output(item: Item) -> dict[str, Any]:
    """The output of an item's check when everything that students can see passes, as stored in the executed solutions."""
    shown = feedback.Result(Verdict(item, "passed", item.points - item.hidden_points))
    return {
        "output_type": "execute_result", "execution_count": 1, "metadata": {},
        "data": {"text/plain": repr(shown), "text/html": shown._repr_html_()},
    }  # fmt: skip


def validate(job: Job, name: str = "", cell_timeout: float = CELL_TIMEOUT, limit: float = LIMIT) -> Report:
    """Run a merged notebook under nbval and report on its items. Ends within `limit` seconds, or a little after."""
    items = shipped()
    graded = [cell.item for cell in job.cells if cell.role == "check"]
    report = Report(name or job.notebook, notes=list(job.notes))
    with Scratch() as place:
        notebook, settings, records = (
            place / f"{job.notebook}.ipynb",
            place / "pytest.ini",
            place / "report.jsonl",
        )
        notebook.write_text(json.dumps(notebook_of(job, items), ensure_ascii=True), encoding="utf-8")
        settings.write_text("[pytest]\n", encoding="utf-8")
        command = [
            *(sys.executable, "-c", PYTEST, "-v", "--tb=short", "--color=no", "-p", "no:cacheprovider"),
            *("-p", "nbval.plugin", "-p", __name__, "-c", str(settings), "--rootdir", str(place)),
            *("--nbval-lax", "--nbval-current-env", f"--nbval-cell-timeout={cell_timeout:g}"),
            *("--nbval-kernel-startup-timeout=120", str(notebook)),
        ]
        report.log, over = _run(command, place, records, limit)
        told = _read(records)
    if over:
        report.notes.append(f"stopped after {limit:g} seconds; what had not run by then counts as failed")
    failed = [record for record in told.values() if record["outcome"] == "failed"]
    dead = [record for record in failed if record["says"] == DEAD]
    report.notes += [
        f"cell {record['id']}: {record['says']}"
        for record in failed
        if record["role"] != "check" and record not in dead[1:]
    ]
    for item_id in dict.fromkeys(graded):
        report.rows.append(_row(item_id, told.get(item_id)))
    return report


def _run(command: list[str], place: Path, records: Path, limit: float) -> tuple[str, bool]:
    """Run pytest; returns (what it printed, whether the limit was reached)."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    package = str(Path(__file__).resolve().parents[2])
    environment |= {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # without the caller's plugins and settings
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")])),
        "PYTHONHASHSEED": "0",
        "AUTOGRAD_LAB_PROGRESS": "off",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        REPORT: str(records),
    }
    log = place / "log.txt"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
        try:
            process.wait(limit)
            over = False
        except subprocess.TimeoutExpired:
            over = True
        finally:
            _stop(process, records.with_suffix(".pid"))
    with log.open("rb") as printed:
        return printed.read(1_000_000).decode("utf-8", "replace"), over


def _stop(process: subprocess.Popen[bytes], kernel: Path) -> None:
    """End pytest, and the kernel, which lives in a process group of its own."""
    pids = [process.pid] if process.poll() is None else []
    with suppress(OSError, ValueError):
        pids.append(int(kernel.read_text(encoding="ascii")))
    for pid in pids:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGTERM)
    process.wait()


def _read(records: Path) -> dict[str, dict[str, Any]]:
    """{test's name: its last record}."""
    if not records.is_file():
        return {}
    lines = records.read_text(encoding="utf-8").splitlines()
    return {record["name"]: record for record in map(json.loads, lines)}


def _row(item_id: str, record: dict[str, Any] | None) -> Row:
    if record is None:
        return Row(item_id, "error", "its check did not run")
    shown = record["shown"].removeprefix(f"{item_id}: ")
    if record["outcome"] == "passed":
        return Row(item_id, "passed", shown.removeprefix("passed, "))
    if shown.startswith("not attempted"):
        return Row(item_id, "not attempted", shown.removeprefix("not attempted").strip(" ()"))
    if shown.startswith("not right yet"):
        return Row(item_id, "wrong", shown.removeprefix("not right yet, "))
    if record["says"] == DEAD:
        return Row(item_id, "error", "did not run: the kernel had died")
    return Row(item_id, "error", record["says"] or "its check showed something other than a result")


# --- the plugin, in pytest's process --------------------------------------------------------------


def pytest_configure() -> None:
    """Patch nbval in a few places, in this process only."""
    from nbval.kernel import RunningKernel
    from nbval.plugin import IPyNbCell

    wait, begin = RunningKernel.get_message, IPyNbCell.__init__

    def get_message(self: Any, stream: str, timeout: float | None = None) -> Any:
        """Notice a dead kernel: nbval would wait for its answer until the cell's timeout."""
        end = time.monotonic() + (CELL_TIMEOUT if timeout is None else timeout)
        while True:
            left = end - time.monotonic()
            try:
                return wait(self, stream, timeout=max(0.01, min(left, 1.0)))
            except queue.Empty:
                if left <= 1.0 or not self.is_alive():
                    raise

    def named(self: Any, name: str, parent: Any, cell_num: int, cell: Any, options: dict[str, bool]) -> None:
        """Name tests by their items, compare only checks, and ignore markers in students' comments and tags."""
        about = cell.metadata["autograd_lab"]
        check = about["role"] == "check"
        options.update(check=check, check_exception=False, skip=False)
        begin(self, about["item"] if check else f"cell {about['id']}", parent, cell_num, cell, options)
        # other output of a cell (a thread, a warning) is not part of its result
        parent.skip_compare = (*parent.skip_compare, "stdout", "stderr")

    def reportinfo(self: Any) -> tuple[Path, int, str]:
        about = self.cell.metadata["autograd_lab"]
        return self.path, 0, f"graded item {self.name}" if about["role"] == "check" else f"the {self.name}"

    RunningKernel.get_message = get_message
    IPyNbCell.__init__ = named
    # Its own five seconds are enough for a cell that could not be interrupted, but not for the output of one that has ended.
    IPyNbCell.output_timeout = property(
        lambda self: 5 if self.parent.timed_out else CELL_TIMEOUT, lambda self, seconds: None
    )
    IPyNbCell.reportinfo = reportinfo


def pytest_runtest_call(item: Any) -> None:
    """Write the kernel's process id where the process that started pytest can find it."""
    kernel = item.parent.kernel
    with suppress(AttributeError):  # it has been stopped
        pid = kernel.km.provisioner.pid
        Path(os.environ[REPORT]).with_suffix(".pid").write_text(str(pid), encoding="ascii")


def pytest_runtest_makereport(item: Any, call: Any) -> None:
    """Record the result of a test."""
    if call.when == "teardown" or (call.when == "setup" and call.excinfo is None):
        return
    about = item.cell.metadata["autograd_lab"]
    shown = ""
    for output in item.test_outputs or []:
        # a verdict with a case to step through is displayed, with a button that says nothing below it
        if output["output_type"] in ("execute_result", "display_data"):
            shown = str(output["data"].get("text/plain", "")) or shown
    record = {
        "name": item.name, "role": about["role"], "id": about["id"], "shown": shown[:4000],
        "outcome": "passed" if call.excinfo is None else "failed", "says": _why(call.excinfo, item),
    }  # fmt: skip
    with Path(os.environ[REPORT]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def _why(failure: Any, test: Any) -> str:
    """One line on what stopped a cell."""
    if failure is None:
        return ""
    kernel = test.parent.kernel
    if not kernel.is_alive():
        return DEAD
    for output in test.test_outputs or []:
        if output["output_type"] == "error" and output["ename"] != "KeyboardInterrupt":
            return f"{output['ename']}: {output['evalue']}"[:300]
    return str(failure.value).split("\n")[0][:300]
