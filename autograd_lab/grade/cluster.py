"""The same grading on a Dask cluster: `autograd-lab grade SUBMISSIONS --out RESULTS --cluster tcp://host:8786`.

    with ClusterEngine("tcp://host:8786", items) as engine:      # in place of engine.Engine, with the same methods
        for job, run in engine.run(jobs): ...

Each Dask worker has its own engine, with the sandbox of its machine, and runs one submission for each of its threads. What is sent:

    there    merged notebooks, each under a number instead of the student's name; of the items, the probes with their inputs
    back     the answers, as JSON text

Expected values, banks of wrong answers, grades and names stay where the command runs, and so does the comparison: the keys
are on one machine instead of ten, an outdated or compromised worker can send a wrong answer but no wrong
grade, and all verdicts come from one place. The price is that answers come back whole, some
kilobytes each. Dask can send arbitrary objects; here both directions are text, and what comes back is read within limits.

A worker that dies loses nothing: its submissions go to the others. Dask itself trusts everyone who can reach its scheduler:
restrict that to a network of your own, or use its TLS (`tls://`).
"""

from __future__ import annotations

import hashlib
import json
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import autograd_lab
from autograd_lab.course.items import Item, Probe

from .engine import Engine, ProtocolError, WorkerError, clean, clean_text
from .model import CELL_STATES, RUN_STATES, Answer, CannotGradeError, Cell, CellRun, Job, Limits, Run
from .sandbox import SandboxError

WAIT = 30.0
"""Seconds to wait for the scheduler and the first worker."""
ALONE = 120.0
"""Seconds without any worker after which a run is abandoned."""
_MOST = 64 << 20  # characters of one run


# --- on the workers -----------------------------------------------------------------------------------

_told: dict[str, str] = {}
"""{digest: specification} of the runs in which this worker takes part."""
_idle: dict[str, list[Engine]] = {}
"""{digest: idle engines}; one run never has more of them than the worker has threads."""
_lock = threading.Lock()


class Holder:
    """A Dask plugin that gives every worker, later ones too, the specification of a run, and removes it at the end."""

    def __init__(self, specification: str) -> None:
        self.digest, self.specification = digest(specification), specification

    def setup(self, worker: Any) -> None:
        """Called on a worker when it joins."""
        _told[self.digest] = self.specification

    def teardown(self, worker: Any) -> None:
        """Called when the run, or the worker, ends."""
        with _lock:
            _told.pop(self.digest, None)
            engines = _idle.pop(self.digest, [])
        for engine in engines:
            engine.__exit__(None, None, None)


def digest(text: str) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def run_job(which: str, job: str) -> str:
    """Run one job on a worker: JSON in, JSON out. `which` is the digest of the specification of its run."""
    engine = _take(which)
    try:
        ((_, run),) = engine.run([_job(json.loads(job))])
    except BaseException:
        engine.__exit__(None, None, None)
        raise
    _give_back(which, engine)
    return json.dumps(asdict(run))


def hello(which: str) -> dict[str, Any]:
    """A worker's identity and the layers of its sandbox; `refused` says why it cannot run submissions."""
    said = {"code": code_digest(), "layers": [], "refused": ""}
    try:
        engine = _take(which)
    except (SandboxError, WorkerError) as error:
        return said | {"refused": str(error)}
    _give_back(which, engine)
    return said | {"layers": list(engine.layers)}


def _take(which: str) -> Engine:
    with _lock:
        if _idle.get(which):
            return _idle[which].pop()
    told = json.loads(_told[which])
    items = {stem: [_item(item) for item in each] for stem, each in told["items"].items()}
    engine = Engine(items, Limits(**told["limits"]), workers=1, require_sandbox=told["require_sandbox"])
    return engine.__enter__()


def _give_back(which: str, engine: Engine) -> None:
    with _lock:
        if which in _told:
            _idle.setdefault(which, []).append(engine)
            return
    engine.__exit__(None, None, None)  # the run has ended in the meantime


@cache
def code_digest() -> str:
    """A digest of this package's code, which must be the same on all machines."""
    root = Path(autograd_lab.__file__).parent
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


# --- what travels -------------------------------------------------------------------------------------


def without_answers(item: Item) -> Item:
    """An item for a machine that only runs submissions: no more of it than that needs, so without answers, bank and hints."""
    probes = [replace(probe, expected=[], points=0, says="", look="") for probe in item.probes]
    return Item(item.id, item.kind, item.points, stub=item.stub, earlier=item.earlier, probes=probes)


def _item(told: dict[str, Any]) -> Item:
    return Item(**{**told, "probes": [Probe(**probe) for probe in told["probes"]]})


def _job(told: dict[str, Any]) -> Job:
    cells = tuple(Cell(**cell) for cell in told["cells"])
    return Job(**{**told, "cells": cells, "notes": tuple(told["notes"])})


def read_run(text: str, job: Job, items: Mapping[str, Item]) -> Run:
    """The run of a job as sent by a worker. Raises ProtocolError if no engine would send it."""
    if not isinstance(text, str) or len(text) > _MOST:
        raise ProtocolError("a run of that size is none")
    try:
        told = json.loads(text)
        cells = [
            CellRun(cell["id"], cell["state"], clean_text(cell["error"], 10_000)) for cell in told["cells"]
        ]
        answers = {name: _answer(answer, name, items) for name, answer in told["answers"].items()}
        run = Run(
            told["state"], answers, cells, clean_text(told["printed"], 1 << 20),
            int(told["dropped"]), float(told["seconds"]), bool(told["careful"]),
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ProtocolError("that is no run") from error
    states = {cell.state for cell in cells}
    if (
        run.state not in RUN_STATES
        or not states <= set(CELL_STATES)
        or [c.id for c in cells] != [c.id for c in job.cells]
    ):
        raise ProtocolError("a run of another notebook, or in an unknown state")
    return run


def _answer(told: dict[str, Any], name: str, items: Mapping[str, Item]) -> Answer:
    known = {case for probe in items[name].probes for case in probe.names()}
    if told["item"] != name or not {*told["outputs"], *told["lost"]} <= known:
        raise ProtocolError("an answer to another question")
    return Answer(
        name, clean_text(told["state"], 100), clean(told["value"]),
        {case: clean(output) for case, output in told["outputs"].items()},
        clean_text(told["error"], 10_000), {case: clean_text(why, 100) for case, why in told["lost"].items()},
    )  # fmt: skip


# --- on this side -------------------------------------------------------------------------------------


class ClusterEngine:
    """An engine that uses the workers of a Dask cluster. Use it as a context manager.

    Parameters
    ----------
    address
        Of the scheduler: "tcp://host:8786" or "tls://host:8786".
    items, limits, require_sandbox
        As in engine.Engine.

    On entering, raises CannotGradeError if there is no cluster or its code differs from this machine's, and SandboxError if
    the sandbox is required and one of the workers does not offer it.
    """

    def __init__(
        self,
        address: str,
        items: Mapping[str, Sequence[Item]],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        require_sandbox: bool = True,
    ) -> None:
        self._address = address
        self._items = {stem: {item.id: item for item in each} for stem, each in items.items()}
        self._specification = json.dumps(
            {
                "items": {
                    stem: [asdict(without_answers(item)) for item in each] for stem, each in items.items()
                },
                "limits": asdict(limits),
                "require_sandbox": require_sandbox,
            },
            sort_keys=True,
        )
        self._which = digest(self._specification)
        self._name = f"autograd-lab-grade-{self._which}"
        self._client: Any = None
        self.layers: tuple[str, ...] = ()
        """The layers of the sandbox that are active on all workers."""
        self.workers = 0
        """The number of workers at the beginning."""

    def __enter__(self) -> ClusterEngine:
        self._client = connect(self._address)
        try:
            self._client.register_plugin(_plugin(self._specification), name=self._name)
            said = self._client.run(hello, self._which)
            self.workers = len(said)
            other = sorted(worker for worker, one in said.items() if one["code"] != code_digest())
            if other:
                raise CannotGradeError(
                    f"{_some(other)} of the cluster has another autograd_lab than this machine.",
                    "the same submission could get another result there.",
                    "install this version on the workers and restart them",
                )
            refused = {worker: one["refused"] for worker, one in sorted(said.items()) if one["refused"]}
            for worker, why in refused.items():
                raise SandboxError(f"{worker}: {why}")
            every = [one["layers"] for one in said.values()]
            self.layers = tuple(layer for layer in every[0] if all(layer in layers for layers in every))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        with suppress(OSError, TimeoutError, RuntimeError, ValueError):  # their worker was lost
            self._client.unregister_worker_plugin(self._name)
        self._client.close(timeout=5)

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Run]]:
        """Each job with its run, in the order in which they finish. Raises KeyError for a notebook without items."""
        source, number = iter(jobs), 0
        waiting: dict[Any, Job] = {}
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            while True:
                while len(waiting) < self._room() and (job := next(source, None)) is not None:
                    if job.notebook not in self._items:
                        known = ", ".join(sorted(self._items)) or "none"
                        raise KeyError(f"no items for the notebook {job.notebook!r}; there are for {known}")
                    number += 1
                    unnamed = replace(
                        job, student=f"{number}", notes=(), digest="", variant=None, variant_cell=None
                    )
                    future = self._client.submit(
                        run_job, self._which, json.dumps(asdict(unnamed)), pure=False
                    )
                    waiting[future] = job
                    future.add_done_callback(done.put)
                if not waiting:
                    return
                future = self._next(done)
                job = waiting.pop(future)
                yield job, self._result(future, job)
        finally:
            self._client.cancel(list(waiting))
            waiting.clear()

    def _room(self) -> int:
        """The maximum number of jobs in flight: two for each thread, so that no thread waits for this side."""
        return 2 + 2 * sum(self._client.nthreads().values())

    def _next(self, done: queue.SimpleQueue[Any]) -> Any:
        """The next future that is done. Raises WorkerError if there has been no worker for too long."""
        alone = 0.0
        while True:
            try:
                return done.get(timeout=5.0)
            except queue.Empty:
                alone = 0.0 if self._client.status == "running" and self._client.nthreads() else alone + 5.0
            if alone >= ALONE:
                raise WorkerError(f"no worker of {self._address} has been there for {ALONE:g} s")

    def _result(self, future: Any, job: Job) -> Run:
        from distributed import KilledWorker

        try:
            text = future.result(timeout=WAIT)
        except KilledWorker as error:
            raise WorkerError(
                f"every worker that was given {job.student}/{job.notebook} was killed meanwhile"
            ) from error
        finally:
            future.release()
        try:
            return read_run(text, job, self._items[job.notebook])
        except ProtocolError as error:
            raise WorkerError(f"a worker answered what no engine says: {error}") from error


def connect(address: str) -> Any:
    """A client of the cluster, once the first worker is there. Raises CannotGradeError if none appears."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise CannotGradeError(
            "The cluster cannot be used.",
            f"the package {error.name} is not installed.",
            'pip install "autograd_lab[cluster]", here and on the workers',
        ) from error
    try:
        client = Client(address, timeout=WAIT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise CannotGradeError(
            f"There is no cluster at {address}.",
            f"{error or 'nobody answered'}.",
            "start one with `dask scheduler` and `dask worker`, and give the address that the scheduler prints",
        ) from error
    try:
        client.wait_for_workers(1, timeout=WAIT)
    except TimeoutError as error:
        client.close(timeout=5)
        raise CannotGradeError(
            f"The cluster at {address} has no workers.",
            f"none came within {WAIT:g} s.",
            f"start one on each machine: dask worker {address}",
        ) from error
    return client


def _plugin(specification: str) -> Any:
    """A Holder as Dask wants it."""
    from distributed import WorkerPlugin

    class Plugin(Holder, WorkerPlugin):
        """Defined here because Dask is optional; it is sent by value."""

    return Plugin(specification)


def _some(workers: Sequence[str]) -> str:
    return workers[0] if len(workers) == 1 else f"{workers[0]} and {len(workers) - 1} more"
