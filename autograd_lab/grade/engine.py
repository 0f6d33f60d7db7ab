"""Keeps the workers busy: every job results in a Run, whatever the student's code did.

    with Engine(items) as engine:
        print(engine.layers)
        for job, run in engine.run(jobs):
            results = score(job, run, items)

A first, optimistic pass runs a notebook in one process. If that dies or hangs, a careful pass runs it again, with a copy
of the process before each cell to continue from, and a process for each probe: what stops a process costs only its own question.
A cell or a probe that ran into a limit is then left out, so that the limit is waited for only once. If the
careful pass is stopped as well (the student's code can reach its processes), it is run again without what was
running, until it completes. Without fork, all further passes are of this last kind.

Nothing that a submission's process sends is trusted: messages are bounded in size, checked to be plain data, and only stored. A student
sees what came before the hidden probes were sent for the first time. From then on, in this pass and in later ones, only the
results of hidden probes are taken in, and they stay here.
"""

from __future__ import annotations

import json
import math
import os
import queue
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol

import autograd_lab
from autograd_lab.course.items import Item, Probe
from autograd_lab.course.plain import MOST
from autograd_lab.grade import worker
from autograd_lab.grade.files import Scratch
from autograd_lab.grade.model import NETWORKS, Answer, CellRun, Job, Limits, Run
from autograd_lab.grade.sandbox import SandboxError, cpu_of, memory_of, refusal

START = 120.0  # seconds that a worker may take to load its libraries, on a busy machine
LOOK = 0.1  # seconds after which a submission's memory is looked at again
DEPTH = 20  # nesting of lists in an answer
TEXT = 5_000  # characters of a text in an answer
MESSAGE = 500  # characters of what is said of a cell or an answer that failed
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # Windows has only the second
_PLOTS = re.compile(r"matplotlib|pyplot|pylab|plt|png|gif|raster", re.IGNORECASE)
"""Words in cells that need matplotlib. For other cells it is not loaded in advance: the cost of forking grows with the size of the
process.
"""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")


class WorkerError(RuntimeError):
    """A worker process that could not be started, or a sandbox that could not be set up."""


# --- reading what a submission says ---------------------------------------------------------------------


class ProtocolError(ValueError):
    """A message that an honest process never sends."""


def clean(value: Any, room: list[int] | None = None, depth: int = 0) -> Any:
    """`value` if it is plain data of an acceptable size. Raises ProtocolError if it is not.

    Integers beyond 64 bits become floats; addresses (which differ from run to run) and lone surrogates are removed from texts.
    """
    room = [2 * MOST] if room is None else room
    room[0] -= 1
    if room[0] < 0 or depth > DEPTH:
        raise ProtocolError("the answer is too large")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value, TEXT)
    if isinstance(value, int):
        if abs(value) < 1 << 63:
            return value
        value = float(value) if abs(value) < 1 << 1000 else math.inf if value > 0 else -math.inf
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        return [clean(part, room, depth + 1) for part in value]
    if isinstance(value, dict):
        return {clean_text(key, TEXT): clean(part, room, depth + 1) for key, part in value.items()}
    raise ProtocolError("the answer is no plain data")


def clean_text(text: Any, most: int) -> str:
    """The beginning of a text, cleaned of addresses, that can be stored anywhere."""
    if not isinstance(text, str):
        raise ProtocolError("a text was expected")
    return _ADDRESS.sub("0x...", text[:most].encode("utf-8", "replace").decode("utf-8"))


class Inbox:
    """Splits a stream of bytes into messages."""

    def __init__(self, most: int) -> None:
        self._bytes = bytearray()
        self._most = most + 4096

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The messages that `data` completes. Raises ProtocolError for a stream that does not consist of messages."""
        self._bytes += data
        while len(self._bytes) >= 4:
            size = struct.unpack_from("!I", self._bytes)[0]
            if size > self._most:
                raise ProtocolError("a message is too large")
            if len(self._bytes) < 4 + size:
                return
            text = bytes(self._bytes[4 : 4 + size])
            del self._bytes[: 4 + size]
            try:
                message = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise ProtocolError("a message is not JSON") from error
            if not isinstance(message, dict):
                raise ProtocolError("a message is not an object")
            yield message


# --- workers ----------------------------------------------------------------------------------------------


@dataclass
class End:
    """How a submission's process ended."""

    status: int
    """Its exit status, or minus the signal that ended it."""
    cpu: float = 0.0
    """Seconds of processor time."""
    peak: int = 0
    """Peak memory, in KiB."""
    memory: bool = False
    """Whether it was killed for using too much memory."""


def _environment(folder: Path) -> dict[str, str]:
    """The environment variables of a worker's process: none of the instructor's own."""
    keep = (
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "LD_LIBRARY_PATH",
        "SYSTEMROOT",
        "MPLCONFIGDIR",
    )
    return {
        **{name: os.environ[name] for name in keep if name in os.environ},
        **dict.fromkeys(
            ("TMPDIR", "TEMP", "TMP"), str(folder)
        ),  # so that nothing is left elsewhere if it is killed
        "PYTHONPATH": str(Path(autograd_lab.__file__).parents[1]),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONIOENCODING": "utf-8",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "IPYTHONDIR": str(folder),
        "AUTOGRAD_LAB_PROGRESS": "off",
        "USER": "student",
        "LOGNAME": "student",
    }


class _Server(Protocol):
    """Runs submissions, one at a time."""

    forks: bool
    """Whether a submission's process starts processes for its probes."""

    def hello(self) -> dict[str, Any]:
        """Wait until it is ready; returns its report on its sandbox. Raises WorkerError if it does not become ready."""

    def start(self, command: bytes) -> socket.socket:
        """Start a submission by one of `worker.STARTS`; returns the socket to talk to it. Raises WorkerError if this worker is gone."""

    def wait(self, channel: socket.socket, seconds: float) -> bytes | None:
        """The next bytes of the submission, b"" at its end, None if nothing came in time."""

    def cpu(self) -> float:
        """Seconds of processor time that the submission has used so far, or 0 where that is unknown."""

    def memory(self, most: int) -> int:
        """Bytes that its processes use together, exact above `most`; 0 where something else limits them, or nothing can."""

    def stop(self) -> End:
        """End the submission if it has not ended yet; returns how it ended. Raises WorkerError if this worker is gone."""

    def close(self) -> None:
        """End it, and the submission with it."""


class _ForkServer:
    """A process that has the libraries loaded and forks one submission at a time."""

    forks = True

    def __init__(self, specification: dict[str, Any], folder: Path) -> None:
        self._pid = 0
        self._started = False
        self._watched = False
        self._without = specification["sandbox"]["without"]
        self._cgroups: list[str] = []
        self._process, self._control, self._log = _launch("serve", folder)
        worker.send(self._control, specification)

    def hello(self) -> dict[str, Any]:
        try:
            said = dict(worker.receive(self._control))
        except (OSError, EOFError) as error:
            raise WorkerError(f"a worker did not start: {_last_line(self._log) or error}") from error
        self._cgroups = said["cgroups"]
        self._pids_apart = "pid namespace" in said["layers"]
        if "cgroup memory" not in said["layers"]:
            self._watch(said)
        return said

    def _watch(self, said: dict[str, Any]) -> None:
        """Add up the memory of a submission's processes, where the kernel does not."""
        try:
            if "watched memory" in self._without:
                raise OSError("left out on request")
            memory_of(self._process.pid, 1 << 60)
        except OSError as error:
            said["missing"]["watched memory"] = error.strerror or str(error)
        else:
            self._watched = True
            said["layers"].append("watched memory")

    def start(self, command: bytes) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ours.settimeout(START)
        try:
            socket.send_fds(self._control, [command], [theirs.fileno()])
            theirs.close()
            refused = worker.receive(self._control)["refused"]
            if refused:
                worker.receive(self._control)
                raise SandboxError(f"the sandbox did not hold for a submission: {refused}")
            _, told, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(12))
            self._pid = struct.unpack("3i", told[0][2])[0]
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        except (OSError, EOFError, IndexError) as error:
            ours.close()
            raise WorkerError(f"a worker was lost: {_last_line(self._log) or error}") from error
        finally:
            theirs.close()
        self._started = True
        return ours

    def wait(self, channel: socket.socket, seconds: float) -> bytes | None:
        ready = _readable([channel, self._control], seconds)
        if channel in ready:
            try:
                return channel.recv(1 << 20)
            except ConnectionResetError:
                return b""
        return b"" if ready else None  # its server reports its end

    def cpu(self) -> float:
        with suppress(OSError):
            return cpu_of(self._pid)
        return 0.0

    def memory(self, most: int) -> int:
        if not self._watched:
            return 0
        with suppress(OSError):
            if self._pids_apart:
                return memory_of(self._pid, most)
            return memory_of(self._process.pid, most, itself=False)  # what loses its parent becomes its child
        return 0

    def stop(self) -> End:
        try:
            if self._started:
                self._started = False
                self._control.send(b"k")
            return End(**worker.receive(self._control))
        except (OSError, EOFError) as error:
            raise WorkerError(f"a worker was lost: {_last_line(self._log) or error}") from error

    def close(self) -> None:
        self._control.close()
        _end(self._process)
        self._log.close()
        for group in self._cgroups:
            for _ in range(50):  # its last process may still be exiting
                with suppress(OSError):
                    Path(group).rmdir()
                    break
                time.sleep(0.01)


class _Spawner:
    """Starts a new process for each submission, one ahead of time."""

    forks = False

    def __init__(self, specification: dict[str, Any], folder: Path) -> None:
        self._specification, self._folder = specification, folder
        self._closed = False
        self._next = self._launch()
        self._now = self._next

    def _launch(self) -> tuple[subprocess.Popen[bytes], socket.socket, BinaryIO]:
        launched = _launch("once", self._folder)
        worker.send(launched[1], self._specification)
        return launched

    def hello(self) -> dict[str, Any]:
        try:
            return dict(worker.receive(self._next[1]))
        except (OSError, EOFError) as error:
            raise WorkerError(f"a worker did not start: {_last_line(self._next[2]) or error}") from error

    def start(self, command: bytes) -> socket.socket:
        if self._now is not self._next:
            self.hello()
        self._now, self._next = self._next, self._launch()
        return self._now[1]

    def wait(self, channel: socket.socket, seconds: float) -> bytes | None:
        if not _readable([channel], seconds):
            return None
        try:
            return channel.recv(1 << 20)
        except ConnectionResetError:
            return b""

    def cpu(self) -> float:
        if sys.platform == "linux":
            with suppress(OSError):
                return cpu_of(self._now[0].pid)
        return 0.0

    def memory(self, most: int) -> int:
        return 0

    def stop(self) -> End:
        process, channel, log = self._now
        channel.close()
        _end(process)
        log.close()
        return End(process.returncode)

    def close(self) -> None:
        for process, channel, log in (self._now, self._next):
            channel.close()
            _end(process)
            log.close()


def _launch(mode: str, folder: Path) -> tuple[subprocess.Popen[bytes], socket.socket, BinaryIO]:
    """A worker's process, the socket to talk to it, and the file where it leaves its last words."""
    ours, theirs = socket.socketpair()
    ours.settimeout(START)
    log = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (its worker's close() closes it)
    command = [sys.executable, "-m", "autograd_lab.grade.worker", mode]
    common: dict[str, Any] = {"stdout": log, "stderr": log, "env": _environment(folder), "cwd": folder}
    if sys.platform == "win32":
        process = subprocess.Popen(command, stdin=subprocess.PIPE, **common)
        assert process.stdin is not None
        process.stdin.write(theirs.share(process.pid))
        process.stdin.close()
    else:
        number = theirs.fileno()
        process = subprocess.Popen(
            [*command, str(number)],
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            **common,
        )
    theirs.close()
    return process, ours, log


def _readable(channels: Sequence[socket.socket], seconds: float) -> list[Any]:
    """The workers that have something to read, or have ended; waits at most `seconds` for the first."""
    with _Selector() as selector:  # not select.select, which refuses file descriptors from 1024 on
        for channel in channels:
            selector.register(channel, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(seconds)]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and everything it has started."""
    if process.returncode is not None:
        return  # its number may be another's by now
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(log: BinaryIO) -> str:
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


# --- one job ------------------------------------------------------------------------------------------------


@dataclass
class _Lost:
    """What stopped earlier passes of a job and is left out of the next: the reasons, by cell number and by item and probe."""

    cells: dict[int, str] = field(default_factory=dict)
    probes: dict[tuple[str, str], str] = field(default_factory=dict)
    shown: _Pass | None = None
    """The pass that was the first to send hidden probes: what a student may see is what it had until then."""

    def doubt(self) -> None:
        """Keep only the timeouts, which cost time: what died may have been killed by something an earlier cell left behind."""
        self.cells = {key: why for key, why in self.cells.items() if why == "timeout"}
        self.probes = {key: why for key, why in self.probes.items() if why == "timeout"}


class _Pass:
    """One run of a job from its first cell to its last probe, or to where it was stopped."""

    def __init__(
        self, job: Job, items: Mapping[str, Item], limits: Limits, lost: _Lost, careful: bool, end: float
    ) -> None:
        self.job, self.items, self.limits, self.lost, self.careful, self.end = (
            job,
            items,
            limits,
            lost,
            careful,
            end,
        )
        self.answers: dict[str, Answer] = {}
        self.cells: dict[int, CellRun] = {}
        self.printed: list[str] = []
        self.dropped = 0
        self.running = list(job.cells)
        while self.running and self.running[-1].role == "given":
            self.running.pop()  # a last look, as at a stepper: no answer depends on it
        self.order = [number for number in range(len(self.running)) if number not in lost.cells]
        """The cells that have not finished; the first of them is running."""
        self.unanswered: dict[tuple[str, str], str] = {}
        """The unanswered probes, by item and name, and how their process ended, if it did."""
        last = self.running[-1] if self.running else None
        self.here = last.item if last and last.role == "check" and not careful else ""
        """The item whose probes may run last, in the process itself: no cell follows its check."""
        self.left_out = dict(lost.cells)
        self.stage = ""
        """The probes that were sent last: "", "visible" or "hidden"."""
        self.finished = False
        self.stopped = ""
        """Why it did not finish: "timeout", "memory" or "died"."""

    def run(self, server: _Server) -> None:
        """Run it in a fresh process. Raises WorkerError if the worker is lost, which is not the job's fault."""
        channel = server.start(
            b"n" if any(re.search(NETWORKS, cell.source) for cell in self.job.cells) else b"j"
        )
        with channel:
            channel.settimeout(self.limits.cell_wall)
            try:
                worker.send(channel, self._task(server.forks))
                self._listen(server, channel)
            except ProtocolError:
                self.stopped = "died"
            except OSError:
                self.stopped = "died"
            finally:
                end = server.stop()
        if end.memory:
            self.stopped = "memory" if self.stopped == "died" else self.stopped
            for cell in self.cells.values():
                if cell.state == "died":
                    cell.state, cell.error = "memory", self._reason("memory")

    def _task(self, fork: bool) -> dict[str, Any]:
        return {
            "limits": asdict(self.limits),
            "fork": fork,
            "careful": self.careful,
            "skip": sorted(self.lost.cells),
            "files": self.job.files,
            "items": {
                item.id: {"stubs": item.stubs, "code": bool(item.probes)} for item in self.items.values()
            },
            "cells": [{"source": cell.source, "role": cell.role, "item": cell.item} for cell in self.running],
        }

    def _listen(self, server: _Server, channel: socket.socket) -> None:
        inbox = Inbox(self.limits.message)
        used, since = server.cpu(), time.monotonic()
        look, pause = since, LOOK
        while not self.finished:
            data = server.wait(channel, pause)
            if data == b"":
                self.stopped = "died"
                return
            now = time.monotonic()
            if now >= look:
                memory = server.memory(self.limits.memory)
                if memory > self.limits.memory:
                    self.stopped = "memory"
                    return
                pause = LOOK if memory < self.limits.memory / 4 else LOOK / 5
                look = now + max(
                    pause, 5 * (time.monotonic() - now)
                )  # looking may take long: most time is for others
            if data is None:
                if now > self.end or self._overdue(server, server.cpu() - used, now - since):
                    self.stopped = "timeout"
                    return
                continue
            for message in inbox.feed(data):
                before = self.stage
                self._note(message)
                if self.stage != before:
                    worker.send(channel, self._questions())
            used, since = server.cpu(), now

    def _overdue(self, server: _Server, cpu: float, wall: float) -> bool:
        """Whether the running cell or probe has used up its time since the last message."""
        if self.order and self.careful and server.forks:
            return wall > self.limits.cell_wall + 5  # it limits its cells itself
        if self.order:
            return cpu > self.limits.cell_cpu or wall > self.limits.cell_wall
        copies = [
            item_id for (item_id, _), how in self.unanswered.items() if not how and item_id != self.here
        ]
        if not server.forks or not (self.careful or copies):
            return cpu > self.limits.probe_cpu or wall > self.limits.probe_wall
        return wall > self.limits.probe_wall * (3 + len(self.unanswered))  # it limits its probes itself

    def _questions(self) -> dict[str, list[dict[str, Any]]]:
        """The probes of this stage for the given answers, without expected results and without probes that were lost before."""
        asked: dict[str, list[dict[str, Any]]] = {}
        if self.stage == "visible" and self.lost.shown:
            return asked
        for item_id, answer in sorted(self.answers.items(), key=lambda pair: pair[0] == self.here):
            if answer.state != "given" or answer.error:
                continue
            for probe in self.items[item_id].probes:
                if self._is_open(probe) and (item_id, probe.name) not in self.lost.probes:
                    self.unanswered[item_id, probe.name] = ""
                    question = {"name": probe.name, "points": 0, "source": probe.source, "cases": probe.cases}
                    asked.setdefault(item_id, []).append(question)
        return asked

    def _is_open(self, probe: Probe) -> bool:
        """Whether results of a probe are taken in at this stage."""
        return probe.hidden == (self.stage == "hidden")

    def _note(self, message: dict[str, Any]) -> None:
        """Process one message. Raises ProtocolError if it does not belong here."""
        if "cell" in message:
            self._note_cell(message)
        elif message.get("done") == "cells" and not self.order and not self.stage:
            self.stage = "visible"
        elif message.get("done") == "visible" and self.stage == "visible":
            self._end_visible()
        elif message.get("done") == "hidden" and self.stage == "hidden":
            self.finished = True
        elif "item" in message:
            self._note_probe(message)
        else:
            raise ProtocolError("a message out of order")

    def _end_visible(self) -> None:
        """Go on to the hidden probes, if another pass would give nothing more for the visible ones."""
        self.unanswered = {key: how or "died" for key, how in self.unanswered.items()}
        if self.unanswered and not self.careful:
            self.finished = True
            return
        self.stage = "hidden"
        self.lost.shown = self.lost.shown or self

    def _note_cell(self, message: dict[str, Any]) -> None:
        if not self.order or message["cell"] != self.order[0]:
            raise ProtocolError("a cell out of order")
        number = self.order.pop(0)
        cell = self.job.cells[number]
        state = message.get("state")
        if state not in ("ok", "error", "memory", *(("timeout", "died") if self.careful else ())):
            raise ProtocolError("a cell in an unknown state")
        error = self._reason(state) if state in ("timeout", "died") else message.get("error", "")
        self.cells[number] = CellRun(cell.id, str(state), clean_text(error, MESSAGE))
        self.printed.append(clean_text(message.get("printed", ""), self.limits.printed))
        dropped = message.get("dropped")
        self.dropped += min(max(dropped, 0), 1 << 40) if isinstance(dropped, int) else 0
        answer = message.get("answer")
        if cell.role != "check" or not isinstance(answer, dict) or cell.item not in self.items:
            return
        if answer.get("state") not in ("given", "not attempted", "error"):
            raise ProtocolError("an answer in an unknown state")
        taken = Answer(cell.item, answer["state"], error=clean_text(answer.get("error", ""), MESSAGE))
        try:
            taken.value = clean(answer.get("value"))
        except ProtocolError as error:
            taken.error = f"This cannot be an answer: {error}."
        self.answers[cell.item] = taken

    def _note_probe(self, message: dict[str, Any]) -> None:
        item_id, name, outputs = message["item"], message.get("probe"), message.get("outputs")
        how = message.get("ended", "ok")
        if how not in ("ok", "timeout", "died") or (name is None and outputs is not None):
            raise ProtocolError("a probe with an unknown end")
        for key in [key for key in self.unanswered if key[0] == item_id and name in (None, key[1])]:
            probe = self._probe(item_id, key[1])
            if not self._is_open(probe):
                continue
            if isinstance(outputs, dict):
                try:
                    found = {case: clean(outputs.get(case)) for case in probe.names()}
                except ProtocolError as error:
                    found = {case: {"error": "TooLarge", "message": str(error)} for case in probe.names()}
                self.answers[item_id].outputs.update(found)
                del self.unanswered[key]
            else:
                self.unanswered[key] = self.unanswered[key] or ("died" if how == "ok" else how)

    def _probe(self, item_id: str, name: str) -> Probe:
        return next(probe for probe in self.items[item_id].probes if probe.name == name)

    def blame(self) -> bool:
        """Note in `lost` what stopped this pass; returns whether another pass can get further."""
        if self.stopped and not self.stage:
            ran = [number for number in self.cells if number not in self.lost.cells]
            culprit = (
                self.order[0] if self.order else max(ran, default=-1)
            )  # or something the last one left behind
            self.lost.cells[culprit] = self.stopped
            return culprit >= 0
        before = len(self.lost.probes)
        blamed: set[str] = set()
        for (item_id, name), how in self.unanswered.items():
            if how and (
                self.careful or item_id not in blamed
            ):  # in a first pass, the later ones were not reached
                self.lost.probes[item_id, name] = how
                blamed.add(item_id)
        first = next((key for key, how in self.unanswered.items() if not how), None)
        if self.stopped and first:
            self.lost.probes[first] = self.stopped
        return len(self.lost.probes) > before and bool(self.stopped or not self.careful)

    def result(self, first: str, seconds: float) -> Run:
        """The run, once no further pass is needed."""
        shown = self.lost.shown or self
        lost_cells = shown.left_out if self.lost.shown else self.lost.cells
        for item_id, answer in shown.answers.items():
            if answer.state == "given" and not answer.error:
                later = self.answers.get(item_id, answer).outputs
                for probe in self.items[item_id].probes:
                    if probe.hidden:
                        answer.outputs.update((case, later[case]) for case in probe.names() if case in later)
                    why = self.lost.probes.get((item_id, probe.name)) or self.stopped or "timeout"
                    answer.lost.update((case, why) for case in probe.names() if case not in answer.outputs)
        cells = []
        for number, cell in enumerate(self.job.cells):
            why = lost_cells.get(number, "")
            if why:
                cells.append(CellRun(cell.id, why, self._reason(why)))
            else:
                cells.append(shown.cells.get(number, CellRun(cell.id, "skipped")))
        return Run(
            state=first,
            answers=shown.answers,
            cells=cells,
            printed="".join(shown.printed)[: self.limits.printed],
            dropped=shown.dropped,
            seconds=seconds,
            careful=self.careful,
        )

    def _reason(self, state: str) -> str:
        if state == "timeout":
            return (
                f"stopped after {self.limits.cell_cpu:g} s of computing or {self.limits.cell_wall:g} s in all"
            )
        return "it needed more memory than it may use" if state == "memory" else "it ended its process"


# --- all jobs -----------------------------------------------------------------------------------------------


class Engine:
    """Workers that run jobs. Use it as a context manager.

    Parameters
    ----------
    items
        The items of each notebook, by the stem of its file; with the hidden probes.
    limits
        What one submission may use.
    workers
        The number of submissions that run at a time.
    require_sandbox
        Refuse to start if a submission could not be isolated from files, network and other processes.
    private
        Files and folders that a submission must not see even if they are among the libraries.
    fork
        Whether to fork each submission from a process that has the libraries loaded, or to start a new process, which takes
        a second or two. Default: fork on Linux.
    without
        Layers of the sandbox to leave out, to test the others: "mount namespace", "Landlock", "cgroup", ...

    On entering, raises SandboxError if the sandbox is required and this machine does not offer it, and WorkerError if a
    worker cannot be started.
    """

    def __init__(
        self,
        items: Mapping[str, Sequence[Item]],
        limits: Limits = Limits(),  # noqa: B008 (frozen)
        workers: int = 2,
        require_sandbox: bool = True,
        private: Sequence[Path] = (),
        fork: bool = sys.platform == "linux",
        without: Sequence[str] = (),
    ) -> None:
        self._items = {stem: {item.id: item for item in each} for stem, each in items.items()}
        self._limits = limits
        self._count = workers
        self._require = require_sandbox
        self._private = [str(path) for path in private]
        self._fork = fork
        self._without = list(without)
        self._scratch: Scratch | None = None
        self._stopping = threading.Event()
        self._servers: list[_Server] = []
        self._plotters: list[_Server | None] = [None] * workers  # with matplotlib; started when one is needed
        self._threads: list[threading.Thread] = []
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Job, Run] | BaseException] = queue.SimpleQueue()
        self.layers: tuple[str, ...] = ()
        """The layers of the sandbox that are active."""
        self.missing: dict[str, str] = {}
        """The layers that are not, and why."""

    def launch(self) -> None:
        """Start the workers' processes: they load their libraries while the caller does something else. To enter does it as well."""
        self._scratch = Scratch()
        while len(self._servers) < self._count:
            self._servers.append(self._server(plots=not self._fork))

    def __enter__(self) -> Engine:
        try:
            if self._scratch is None:
                self.launch()
            for server in self._servers:
                said = server.hello()
                self.layers, self.missing = tuple(said["layers"]), dict(said["missing"])
            why = refusal(self.layers, self.missing) if self._require else ""
            if why:
                raise SandboxError(why)
        except BaseException:
            self.close()
            raise
        for slot in range(self._count):
            thread = threading.Thread(target=self._work, args=[slot], daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers, and remove what they have left. Leaving does it as well."""
        self._close()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._servers, self._plotters, self._threads = [], [], []
        if self._scratch:
            self._scratch.close()

    def _close(self) -> None:
        self._stopping.set()
        for server in [*self._servers, *filter(None, self._plotters)]:
            server.close()

    def _server(self, plots: bool) -> _Server:
        specification = {
            "plots": plots,
            "items": [_public(item) for each in self._items.values() for item in each.values()],
            "sandbox": {"limits": asdict(self._limits), "private": self._private, "without": self._without},
        }
        kind = _ForkServer if self._fork else _Spawner
        assert self._scratch is not None  # launch made it
        return kind(specification, self._scratch.path)

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, Run]]:
        """Each job with its run, in the order in which they finish. Raises KeyError for a notebook without items."""
        source, waiting = iter(jobs), 0
        try:
            while True:
                while waiting < self._count + 2 and (job := next(source, None)) is not None:
                    if job.notebook not in self._items:
                        known = ", ".join(sorted(self._items)) or "none"
                        raise KeyError(f"no items for the notebook {job.notebook!r}; there are for {known}")
                    self._jobs.put(job)
                    waiting += 1
                if not waiting:
                    return
                done = self._done.get()
                waiting -= 1
                if isinstance(done, BaseException):
                    raise done
                yield done
        except KeyboardInterrupt:  # at once: running submissions are ended, not awaited
            self._close()
            raise
        finally:
            with suppress(queue.Empty):  # the caller has stopped: leave nothing for the next caller
                while waiting:
                    self._jobs.get_nowait()
                    waiting -= 1
            for _ in range(waiting):
                self._done.get()

    def _work(self, slot: int) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                self._done.put((job, self._passes(slot, job)))
            except BaseException as error:  # raised again in the caller's thread
                self._done.put(error)

    def _passes(self, slot: int, job: Job) -> Run:
        """Run a job until nothing stops it any more, or its time is up."""
        lost, first, lost_workers, careful = _Lost(), "", 0, False
        plots = self._fork and any(_PLOTS.search(cell.source) for cell in job.cells)
        if plots and not self._plotters[slot]:
            self._replace(slot, plots)
        start = time.monotonic()
        while True:
            server = (plots and self._plotters[slot]) or self._servers[slot]
            this = _Pass(
                job, self._items[job.notebook], self._limits, lost, careful, start + self._limits.job_wall
            )
            try:
                this.run(server)
            except WorkerError:
                self._replace(slot, plots)
                lost_workers += 1
                if (
                    lost_workers < 3
                ):  # most likely killed from outside: try again without blaming the submission
                    continue
                this.stopped = "died"
            first = first or this.stopped or next(filter(None, this.unanswered.values()), "ok")
            if not this.blame() or time.monotonic() > this.end:
                return this.result(first, time.monotonic() - start)
            if not careful and server.forks:
                lost.doubt()
            careful = True

    def _replace(self, slot: int, plots: bool) -> None:
        """A new worker for a slot: a replacement for a lost one, or the slot's first with matplotlib."""
        old = self._plotters[slot] if plots else self._servers[slot]
        if old:
            old.close()
        if self._stopping.is_set():
            raise WorkerError("the engine has been closed")
        new = self._server(plots or not self._fork)
        if plots:
            self._plotters[slot] = new
        else:
            self._servers[slot] = new
        if self._stopping.is_set():  # closed by another thread, which may not have seen the new worker
            new.close()
        new.hello()


def _public(item: Item) -> dict[str, Any]:
    """An item without its answers, as the notebook shows it."""
    return {key: getattr(item, key) for key in ("id", "kind", "points", "title", "hints", "stub", "earlier")}
