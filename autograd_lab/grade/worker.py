"""The process that runs students' code. It does not know the answers, and sends the code's results as plain data.

    python -m autograd_lab.grade.worker serve    a server: loads the libraries once, forks a process for each submission
    python -m autograd_lab.grade.worker once     one submission and out, where there is no fork (Windows) or none that is safe (macOS)

Messages are JSON with their length in front. A submission's process sends:

    {"cell": 3, "state": "ok", "error": "", "printed": "...", "dropped": 0, "answer": {...} or null}
    {"done": "cells"}                                 only now do the visible probes arrive
    {"item": "04.4", "probe": "a_chain", "outputs": {case: plain data}}
    {"item": "04.4", "ended": "ok"}                   or "timeout", "died"
    {"done": "visible"}                               and only now the hidden ones; the messages about them are alike
    {"done": "hidden"}

Code can read whatever is in its process: the frames that called it, every object, the messages that arrive. So a student may see what
was said before the hidden probes arrived, and nothing that was said after.

A code answer is probed as it was when its check cell ran: there a copy of the process is made (a fork), which waits.
Later cells cannot redefine parts of it, and its probes cannot break others. If the very last cell
is the check of a code answer, no copy is needed: its probes run in the process itself, after all
others. (Copies are half the cost of a submission, and most notebooks end with such a cell.)

In a careful pass each cell and each probe runs in a process of its own, so that what ends or stops it affects only itself:

    waits for the last one      a process that runs nothing; in a pid namespace it is the first process, which no other there can kill
    waits before the cell       continues with the next cell if the one below ends without a message, or takes too long
    runs the cell               a copy of the one above; afterwards its own copy replaces both

A student's code may change anything in its own process. That spoils its own messages; the engine trusts none of them.
"""

from __future__ import annotations

import _thread
import ast
import base64
import contextlib
import functools
import gc
import importlib
import io
import itertools
import json
import linecache
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import types
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autograd_lab.course import feedback, handed_out, items, plain, probe
from autograd_lab.grade import sandbox
from autograd_lab.grade.model import Limits

_encode = json.JSONEncoder(allow_nan=False).encode
_HEAD = struct.Struct("!I")
_PID = struct.Struct("!i")
_ERROR = 300  # characters of an exception's message
STAGES = ("visible", "hidden")
"""The probes, in the order in which they arrive."""
STARTS: dict[bytes, tuple[str, ...]] = {b"j": (), b"n": ("networkx", "autograd_lab.tracing.networks")}
"""{the command that starts a submission: modules that it needs}. A server loads them when the first such submission comes: loading takes
long, and they make every later fork dearer.
"""


# --- messages: both sides use these ------------------------------------------------------------------


def send(channel: socket.socket, message: Any) -> None:
    """Write one message. Raises ValueError for what JSON cannot hold, OSError if the other side is gone."""
    data = _encode(message).encode()
    channel.sendall(_HEAD.pack(len(data)) + data)


def receive(channel: socket.socket) -> Any:
    """Wait for one message, from the trusted side. Raises EOFError if the other side is gone."""
    size = _HEAD.unpack(_exactly(channel, _HEAD.size))[0]
    return json.loads(_exactly(channel, size))


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = channel.recv(min(size, 1 << 20))
        if not part:
            raise EOFError("the other side has gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


# --- one submission -----------------------------------------------------------------------------------


class Printed(io.TextIOBase):
    """The output stream of a submission: keeps the beginning and counts the rest."""

    encoding = "utf-8"

    def __init__(self, most: int) -> None:
        self.left = most
        self.new: list[str] = []
        self.dropped = 0

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, text: str) -> int:
        """Keep as much as there is room for."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        kept = text[: self.left]
        if kept:
            self.new.append(kept)
            self.left -= len(kept)
        self.dropped += len(text) - len(kept)
        return len(text)

    def take(self) -> tuple[str, int]:
        """The output since the last call, and how much was dropped."""
        taken = "".join(self.new), self.dropped
        self.new, self.dropped = [], 0
        return taken


class Sitting:
    """A student's notebook, running."""

    def __init__(self, channel: socket.socket, shell: Any, job: dict[str, Any]) -> None:
        self.channel, self.shell, self.job = channel, shell, job
        self.limits = Limits(**job["limits"])
        self.given: list[tuple[str, Any]] = []  # what lab.check was called with in this cell
        self.waiting: dict[
            str, Any
        ] = {}  # code answers: the process that holds the answer, how it ended, or the answer itself
        self.here = ""  # the item whose answer this process holds itself although it could fork
        self.printed = Printed(self.limits.printed)
        self.apart = job["fork"] and job["careful"]
        """Whether each cell and each probe gets a process of its own."""
        self.check = feedback.check
        self.chain = -1  # where the process that continues the notebook reports its id

    def run(self) -> None:
        """All the cells, then the probes."""
        feedback.LISTENERS[:] = [self.given]
        limit_depth(self.limits.depth)
        sys.stdout = sys.stderr = self.printed
        lay_out(self.job["files"])
        _seed("the notebook")
        if self.apart:
            self.chain = follow_chain()
        for number in range(len(self.job["cells"])):
            if number in self.job["skip"]:
                continue
            if self.apart:
                self.cell_apart(number)
            else:
                self.send(self.cell(number))
        sys.stdout = sys.stderr = self.printed = Printed(0)  # hidden inputs must not appear in any output
        send(self.channel, {"done": "cells"})
        for stage in STAGES:
            asked = receive(self.channel)
            for item_id in sorted(asked, key=lambda item_id: item_id == self.here):  # that one last
                self.probe(item_id, asked[item_id])
            send(self.channel, {"done": stage})

    # --- cells

    def cell(self, number: int) -> dict[str, Any]:
        """Run a cell here; returns the report on it."""
        cell = self.job["cells"][number]
        self.given.clear()
        this = os.getpid()
        with self.own_lab() if cell["role"] == "check" else contextlib.nullcontext():
            state, error = execute(self.shell, cell["source"])
        if os.getpid() != this:  # the cell has forked, and the copy would continue the notebook too
            os._exit(0)
        with contextlib.suppress(
            OSError
        ):  # a cell that made all descriptors non-blocking made this one non-blocking too
            self.channel.setblocking(True)
        message = {"cell": number, "state": state, "error": error, "answer": None}
        if cell["role"] == "check":
            last = number == len(self.job["cells"]) - 1
            message["answer"] = self.answer(cell["item"], error, last)
        message["printed"], message["dropped"] = self.printed.take()
        return message

    @contextlib.contextmanager
    def own_lab(self) -> Iterator[None]:
        """Check cells call the course's own `lab.check`, even if the student redefines `lab`; afterwards the student's name is restored."""
        names = self.shell.user_ns
        there, theirs = "lab" in names, names.get("lab")
        names["lab"] = types.SimpleNamespace(check=self.check)
        try:
            yield
        finally:
            if there:
                names["lab"] = theirs
            else:
                names.pop("lab", None)

    def cell_apart(self, number: int) -> None:
        """Run a cell in a copy of this process, which continues the notebook; if it ends or hangs, this one continues.

        The copy is replaced by a copy of its own: the cell's threads and alarms stay in the first, and end with it.
        """
        told, tell = os.pipe()
        allowed, allow = os.pipe()
        pid = fork()
        if pid:
            os.close(tell)
            os.close(allowed)
            how, heir = watch(pid, told, self.limits.cell_wall, self.limits.cell_cpu)
            if how == "ok":
                os.write(self.chain, heir)
                os.write(allow, b".")
                os._exit(0)
            os.close(told)
            os.close(allow)
            with contextlib.suppress(OSError):  # what the cell started ends with it, to free its resources
                os.killpg(pid, signal.SIGKILL)
            self.send({"cell": number, "state": how, "error": "", "printed": "", "dropped": 0})
            return
        os.close(told)
        os.close(allow)
        os.setpgid(0, 0)
        message = self.cell(number)
        above = os.getppid()
        if fork():
            while os.getppid() == above:  # until the parent knows the successor, and has ended
                time.sleep(0.001)
            os._exit(0)
        os.write(tell, _PID.pack(os.getpid()))
        if not os.read(allowed, 1):
            os._exit(0)
        os.close(tell)
        os.close(allowed)
        self.send(message)

    def send(self, message: dict[str, Any]) -> None:
        """Send the results of a cell; reports an answer that cannot be sent."""
        try:
            if len(_encode(message)) > self.limits.message:
                raise ValueError(f"it is larger than {self.limits.message >> 20} MB")
            send(self.channel, message)
        except (ValueError, TypeError, RecursionError, MemoryError) as error:
            reason = f"The answer cannot be handed in: {describe(error)}"
            message["answer"] = message["answer"] and {"state": "given", "value": None, "error": reason}
            send(self.channel, message)

    def answer(self, item_id: str, error: str, last: bool) -> dict[str, Any]:
        """The argument of an item's check: its value, or why there is none. `last`: no cell follows."""
        given = [answer for name, answer in self.given if name == item_id]
        if not given:
            return {
                "state": "error",
                "error": error
                or "The cell of lab.check ran, but did not call it: leave that cell and lab.check as they were.",
            }
        answer = given[-1]
        try:
            answer = getattr(answer, "engine_answer", answer)
            if isinstance(answer, list | tuple | set | frozenset | dict) and len(answer) > plain.MOST:
                return {"state": "given", "error": f"This cannot be an answer: it has {len(answer):,} parts."}
            if probe.unfinished(answer, self.job["items"][item_id]["stubs"]):
                return {"state": "not attempted"}
            if not self.job["items"][item_id]["code"]:
                return {"state": "given", "value": plain.plain(answer)}
            if not callable(answer) and not isinstance(answer, list | tuple):
                given_kind = feedback._kind(answer)
                return {
                    "state": "given",
                    "error": f"The question asks for a function; you gave {given_kind}.",
                }
            if last and self.job["fork"] and not self.apart and undisturbed():
                self.here = item_id
            stays = self.here == item_id or not self.job["fork"]
            self.waiting[item_id] = answer if stays else self.copy(answer)
            return {"state": "given"}
        except plain.NotPlainError as reason:
            return {"state": "given", "error": f"This cannot be an answer: {reason}."}
        except (
            Exception,
            KeyboardInterrupt,
            SystemExit,
        ) as reason:  # an answer may be an object of any class
            return {"state": "given", "error": f"The answer cannot be read: {describe(reason)}"}

    # --- probes

    def copy(self, answer: Any) -> tuple[int, socket.socket]:
        """A copy of this process, in which `answer` waits for its probes."""
        ours, theirs = socket.socketpair()
        pid = fork()
        if pid:
            theirs.close()
            return pid, ours
        try:
            ours.close()
            sys.stdout = sys.stderr = Printed(0)
            while True:  # until the other side has gone
                item_id, probes = receive(theirs)
                self.run_probes(item_id, probes, answer)
                theirs.send(b".")
        finally:
            os._exit(0)

    def probe(self, item_id: str, probes: list[dict[str, Any]]) -> None:
        """Run the probes of one item, and report how that ended."""
        held = self.waiting.get(item_id)
        if not self.job["fork"] or item_id == self.here:
            self.run_probes(item_id, probes, held)
            send(self.channel, {"item": item_id, "ended": "ok"})
        elif isinstance(held, str):
            send(self.channel, {"item": item_id, "ended": held})
        elif held is not None:
            pid, channel = held
            with contextlib.suppress(OSError):  # the copy has already ended; waiting for it tells how
                send(channel, [item_id, probes])
            seconds = self.limits.probe_wall * len(probes)
            if not self.apart:
                how, _ = watch(pid, channel.fileno(), seconds, self.limits.probe_cpu * len(probes))
            else:  # not a child of this process; it runs nothing itself, and reports when it has handled all of them
                ready, _, _ = select.select([channel], [], [], seconds + self.limits.probe_wall)
                how = "timeout" if not ready else "ok" if channel.recv(1) else "died"
            if how != "ok":
                self.waiting[item_id] = how
            send(self.channel, {"item": item_id, "ended": how})

    def run_probes(self, item_id: str, probes: list[dict[str, Any]], answer: Any) -> None:
        """Run probes here; in a careful pass, each in a process of its own.

        Once a probe has run into its limit there, the others get less time: an endless program never ends for any of them, and one that
        ends needs a fraction of the limit.
        """
        wall, cpu = self.limits.probe_wall, float(self.limits.probe_cpu)
        for given in probes:
            if self.apart:
                pid = fork()
                if pid:
                    how, _ = watch(pid, -1, wall, cpu)
                    if how == "timeout":
                        wall, cpu = self.limits.probe_wall / 3, self.limits.probe_cpu / 5
                    send(self.channel, {"item": item_id, "probe": given["name"], "ended": how})
                    continue
            try:
                if self.job["fork"] and item_id != self.here:  # otherwise the engine does it
                    sandbox.limit_cpu(self.limits.probe_cpu)
                _seed(given["name"])
                this = os.getpid()
                outputs = run_probe(items.Probe(**given), answer)
                if os.getpid() != this:
                    os._exit(0)
                send(self.channel, {"item": item_id, "probe": given["name"], "outputs": outputs})
            finally:
                if self.apart:
                    os._exit(0)


def run_probe(given: items.Probe, answer: Any) -> dict[str, Any]:
    """{case: plain data} of one probe."""
    try:
        return probe.run([given], answer)
    except (KeyboardInterrupt, SystemExit) as error:  # what exit() raises; other exceptions are data already
        return {case: {"error": type(error).__name__, "message": ""} for case in given.names()}


def execute(shell: Any, source: str) -> tuple[str, str]:
    """Run one cell: its state, and what it raised."""
    try:
        result = shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
    except BaseException as raised:  # from hooks that the student has installed in the shell
        error = raised
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        with contextlib.suppress(
            Exception
        ):  # a notebook closes its figures after each cell; these may be anything
            pyplot.close("all")
    if error is None:
        return "ok", ""
    return ("memory" if isinstance(error, MemoryError) else "error"), describe(error)


def undisturbed() -> bool:
    """Whether this process has no running threads and no alarms of earlier cells. Copies do not inherit these."""
    timers = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
    return not _thread._count() and not any(any(signal.getitimer(timer)) for timer in timers)


def shell_command(command: str) -> None:
    """Run a command and print its output; if it fails or is not permitted, print that instead of raising."""
    try:
        with subprocess.Popen(
            command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as running:
            assert running.stdout is not None
            while said := os.read(running.stdout.fileno(), 1 << 16):
                sys.stdout.write(said.decode("utf-8", "replace"))
    except OSError as error:
        sys.stdout.write(f"{error}\n")


def limit_depth(most: int) -> None:
    """Let `sys.setrecursionlimit` go up to `most` at the most.

    Endless recursion then raises RecursionError, which says what is wrong, instead of filling the
    memory frame by frame until its time is over.
    """

    @functools.wraps(_set_recursion_limit)
    def setrecursionlimit(limit: int, /) -> None:
        _set_recursion_limit(most if isinstance(limit, int) and limit > most else limit)

    sys.setrecursionlimit = setrecursionlimit


_set_recursion_limit = sys.setrecursionlimit


def describe(error: BaseException) -> str:
    """An exception's type and message, without addresses, which differ from run to run."""
    try:
        text = str(error)
    except Exception:  # __str__ may be the student's, too
        text = ""
    name = type(error).__name__
    return f"{name}: {text[:_ERROR]}" if text else name


def fork() -> int:
    """Like os.fork, but the copy draws the same random numbers: Python would reseed."""
    state = random.getstate()
    pid = os.fork()
    if not pid:
        random.setstate(state)
    return pid


def watch(pid: int, told: int, wall: float, cpu: float) -> tuple[str, bytes]:
    """How a child ended: "ok", "timeout" or "died". A child that exceeds its time, counted from now, is killed.

    With `told`, a file to read, it is "ok" as soon as the child writes there, and what it wrote is returned as well. A child that
    has closed its end can no longer report: it is killed.
    """
    end = time.monotonic() + wall
    handle = os.pidfd_open(pid)
    with contextlib.suppress(OSError):  # it has ended
        cpu += sandbox.cpu_of(pid)
    files = [handle] if told < 0 else [handle, told]
    overdue = False
    try:
        while not overdue:
            ready = select.select(files, [], [], 0.05)[0]
            if told in ready:
                if said := os.read(told, _PID.size):
                    return "ok", said
                os.kill(pid, signal.SIGKILL)  # no effect on a child that is already ending
                break
            if handle in ready:
                break
            overdue = time.monotonic() > end or sandbox.cpu_of(pid) > cpu
    finally:
        os.close(handle)
    if overdue:
        os.kill(pid, signal.SIGKILL)
    try:
        status = os.waitpid(pid, 0)[1]
    except ChildProcessError:  # the student's code has told the kernel to ignore children
        return "died", b""
    if overdue or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return "timeout", b""
    return ("ok" if status == 0 and told < 0 else "died"), b""


def follow_chain() -> int:
    """Fork, and return in the child: this process only waits until the last of its successors has ended.

    The id of each is written to the file whose descriptor is returned. This process runs no student code.
    """
    reader, writer = os.pipe()
    sandbox.adopt_orphans()
    last = fork()
    if not last:
        os.close(reader)
        return writer
    os.set_blocking(reader, False)
    ended = 0
    while ended != last:
        try:
            ended, _ = os.wait()
        except ChildProcessError:  # the number was a lie
            break
        with contextlib.suppress(BlockingIOError):
            while told := os.read(reader, _PID.size):
                last = _PID.unpack(told)[0]
    os._exit(0)


def lay_out(files: dict[str, str]) -> None:
    """Put the files handed in beside the notebook where its cells will look for them.

    Their folder is searched for modules last, so a file cannot shadow a module of Python's or of the lab.
    """
    for name, data in files.items():
        path = Path.cwd() / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(data))
        except OSError as error:
            print(f"{name}, which was handed in beside the notebook, could not be put beside it: {error}")
    if files:
        sys.path.append(str(Path.cwd()))


def _seed(name: str) -> None:
    """The same random numbers every time, regardless of what ran before."""
    number = zlib.crc32(name.encode())
    random.seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number)


# --- the process --------------------------------------------------------------------------------------


WARM = (
    "import autograd_lab as torch\nfrom autograd_lab import lab\nimport numpy as np\nimport math",
    'def code(x, times=3):\n    """A loop."""\n    total = 0.0\n    for number in range(times):\n        total += x * number\n    return total',
    "class Pair:\n    def __init__(self, one, other=()):\n        self.one, self.other = one, other\n\n    def both(self):\n        return [self.one, *self.other]",
    'x = torch.tensor([1.0, 2.0, 3.0])\ny = (x * x + x).sum()\nvalue = [round(v, 4) for v in x.tolist()]\nprint(f"{value} {y.item():.2f}")\nvalue',
)
"""Cells that do a little of everything that answers do."""
WARM_PROBE = {
    "name": "tries",
    "points": 0,
    "source": 'def tries(answer, times):\n    "{0}"\n    return {"a": answer(2.0, times), "b": np.ones(3) * times}',
    "cases": [[1], [2]],
}


def warm_up(shell: Any) -> None:
    """Run a small notebook, so that the one-time work of Python and IPython is done before copies are made and not in each copy."""
    ours, theirs = socket.socketpair()
    cells = [{"source": source, "role": "answer", "item": ""} for source in WARM]
    cells += [
        {"source": f'lab.check("{item}", {item})', "role": "check", "item": item}
        for item in ("value", "code")
    ]
    job = {
        "limits": {}, "fork": False, "careful": False, "skip": [], "files": {}, "cells": cells,
        "items": {"value": {"stubs": [], "code": False}, "code": {"stubs": ["def code(x): ..."], "code": True}},
    }  # fmt: skip
    before, known, listeners = (sys.stdout, sys.stderr), set(linecache.cache), feedback.LISTENERS[:]
    with ours, theirs:
        for _ in range(3):  # Python specializes code that it has run a few times
            for _ in STAGES:
                send(theirs, {"code": [WARM_PROBE]})
            Sitting(ours, shell, job).run()
            while receive(theirs).get("done") != STAGES[-1]:
                pass
    sys.stdout, sys.stderr = before
    feedback.LISTENERS[:] = listeners
    shell.reset(new_session=True)
    for name in set(linecache.cache) - known:
        del linecache.cache[name]


def open_stepper() -> None:
    """Load what steppers need, and let it read the sources that it shows: many notebooks open one.

    The nodes that it makes do not advance the numbering in the students' notebooks.
    """
    from autograd_lab.core import node
    from autograd_lab.course import in_stepper, own_engine

    kept, node.count_down = node.count_down, itertools.count(-1, -1).__next__
    try:
        in_stepper.EngineStepper("pop", own_engine.pop).close()
    finally:
        node.count_down = kept


def load(public: list[dict[str, Any]], plots: bool = True) -> Any:
    """Load what notebooks use, and make the shell that will run their cells. `public` holds the items without their answers.

    Without `plots`, matplotlib (half of the memory to copy) is not loaded. A notebook can still import it.
    """
    if plots:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.font_manager
        import matplotlib.pyplot
    from IPython.core.compilerop import CachingCompiler
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    import autograd_lab.lab  # noqa: F401 (every notebook imports it)
    from autograd_lab.loading import load_everything

    load_everything()

    _forget_answers(public)
    for item in public:
        for stub in items.Item(**item).stubs:
            handed_out.statements(stub)

    class Compiler(CachingCompiler):
        """Parses a cell once: not again what was parsed to see that it is Python."""

        seen: tuple[str, ast.Module | None] = "", None

        def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> ast.AST:
            """The syntax tree of a cell."""
            (text, tree), self.seen = self.seen, ("", None)
            if tree is not None and (text, symbol) == (source, "exec"):
                return tree
            parsed: ast.AST = super().ast_parse(source, filename, symbol)
            return parsed

    class Shell(InteractiveShell):
        """Runs cells as a notebook does, without a display: no windows, no pictures, no tracebacks."""

        compiler_class = Compiler

        def transform_cell(self, raw_cell: str) -> str:
            """Turn `%magic`, `!command` and `help?` into calls. None of them is Python, and Python is not searched for them.

            To search takes longer than most cells run. What may be both, such as the lines `ls` and `exit`, is searched.
            """
            if not _MAY_BE_BOTH.search(raw_cell) and self.transforms() == usual:
                with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                    tree = ast.parse(raw_cell)
                    if "\n" in raw_cell.strip() or _is_no_command(tree):
                        self.compile.seen = raw_cell, tree
                        return raw_cell
            return str(super().transform_cell(raw_cell))

        def transforms(self) -> list[Any]:
            """What turns cells into Python. A cell may register more."""
            manager = self.input_transformer_manager
            kinds = manager.cleanup_transforms, manager.line_transforms, manager.token_transformers
            return [*self.input_transformers_post, *itertools.chain(*kinds)]

        def enable_gui(self, gui: str | None = None) -> None:
            """`%matplotlib inline` and similar magics have no effect here."""

        def system(self, cmd: str) -> None:
            """`!ls`: without a terminal, which a sandbox does not have."""
            shell_command(self.var_expand(cmd, depth=1))

        def ask_exit(self) -> None:
            """`exit()` does not end the grading."""

        def showtraceback(self, *_: Any, **__: Any) -> None:
            """Print nothing: a cell's exception is in its result."""

        def showsyntaxerror(self, *_: Any, **__: Any) -> None:
            """Print nothing."""

        def _format_exception_for_storage(self, *_: Any, **__: Any) -> dict[str, str]:
            """Skip IPython's traceback text: nothing reads it, and for a traceback 10,000 calls deep it takes half a minute."""
            return {}

        def should_run_async(
            self, raw_cell: str, *, transformed_cell: str | None = None, **more: Any
        ) -> bool:
            """Whether the cell awaits something; a cell without the word `await` need not be parsed."""
            if transformed_cell is not None and not (
                "await" in transformed_cell or "async" in transformed_cell
            ):
                return False
            return bool(super().should_run_async(raw_cell, transformed_cell=transformed_cell, **more))

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.InteractiveShell.colors = "nocolor"
    settings.InteractiveShell.enable_tip = False
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = folder
        shell = Shell.instance(config=settings)
    usual = shell.transforms()
    # Outputs are not displayed: text is kept, pictures and HTML are not made.
    shell.display_formatter.active_types = ["text/plain"]
    shell.display_formatter.ipython_display_formatter.enabled = False
    shell.display_formatter.mimebundle_formatter.enabled = False
    for message in (".*FigureCanvasAgg is non-interactive.*", "To exit: use 'exit'.*"):
        warnings.filterwarnings("ignore", message=message)
    open_stepper()
    warm_up(shell)
    return shell


_MAY_BE_BOTH = re.compile(r"\A\s|^(?:>>>|\.\.\.|In \[|\s*\.{3,}:)", re.MULTILINE)
"""What IPython strips from the lines of a cell: indentation, and prompts that were copied with the code."""


def _is_no_command(tree: ast.Module) -> bool:
    """Whether a line of Python is not also a command of IPython's, such as `ls`: it assigns, or calls a method."""
    match tree.body:
        case [ast.Assign()] | [ast.Expr(ast.Call(ast.Attribute()))]:
            return True
    return False


def load_more(names: Sequence[str]) -> None:
    """Load these modules, in a process that will be forked."""
    missing = [name for name in names if name not in sys.modules]
    for name in missing:
        with contextlib.suppress(ImportError):  # a notebook's own import of it says what is wrong
            importlib.import_module(name)
    if missing:
        gc.collect()
        gc.freeze()


def _forget_answers(public: list[dict[str, Any]]) -> None:
    """Let `lab.hint` and `lab.progress` know titles, points and hints only. The files with the answers are not opened."""
    with tempfile.TemporaryDirectory() as folder:
        known = [items.Item(**item) for item in public]
        (Path(folder) / "items.json").write_text(items.to_json("all", known), encoding="utf-8")
        items.FOLDER = Path(folder)
        items.shipped.cache_clear()
        items.shipped()


def serve(control: socket.socket) -> None:
    """Fork a process for each submission that the engine sends a socket for, one at a time; end when the engine does."""
    specification = receive(control)
    zone = sandbox.Zone(specification["sandbox"])
    zone.enter()
    shell = load(specification["items"], specification["plots"])
    zone.close()
    gc.collect()
    gc.freeze()  # the pages of the libraries stay shared with the children
    send(control, report(zone))
    while True:
        command, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not command:
            return
        if command not in STARTS:
            continue  # the status of a submission that ended by itself
        load_more(STARTS[command])
        channel = socket.socket(fileno=descriptors[0])
        reader, writer = os.pipe()
        pid = zone.fork()
        if pid == 0:
            try:
                work(channel, writer, shell, zone)
            finally:
                os._exit(0)
        channel.close()
        os.close(writer)
        with os.fdopen(reader, "rb") as told:
            refused = told.read().decode()
        send(control, {"refused": refused})
        send(control, _await_end(control, zone, pid))


def report(zone: sandbox.Zone) -> dict[str, Any]:
    """The report on the sandbox for the engine."""
    groups = sorted({str(group) for group in zone.cgroups.values()})
    return {"layers": zone.layers, "missing": zone.missing, "cgroups": groups}


def _await_end(control: socket.socket, zone: sandbox.Zone, pid: int) -> dict[str, Any]:
    """Wait until a submission has ended, or the engine orders it to."""
    handle = os.pidfd_open(pid)
    gone = False
    try:
        ready, _, _ = select.select([handle, control.fileno()], [], [])
        if handle not in ready:
            gone = not control.recv(1)
            os.kill(pid, signal.SIGKILL)
        _, status, used = os.wait4(pid, 0)
    finally:
        os.close(handle)
    memory = zone.clean()
    if gone:
        sys.exit(0)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss,
        "memory": memory,
    }


def work(channel: socket.socket, writer: int, shell: Any, zone: sandbox.Zone) -> None:
    """In the submission's own process: confine it, then run it. If confining fails, report it and run nothing."""
    try:
        channel.send(b"!")  # the kernel tells the engine the process id outside the namespace
        zone.confine(keep=[channel.fileno(), writer])
    except BaseException as error:
        os.write(writer, describe(error).encode())
        return
    os.close(writer)
    Sitting(channel, shell, receive(channel)).run()


def once(channel: socket.socket) -> None:
    """One submission in a process that was started for it."""
    specification = receive(channel)
    zone = sandbox.Zone(specification["sandbox"])
    shell = load(specification["items"], specification["plots"])
    zone.weaken()
    send(channel, report(zone))
    Sitting(channel, shell, receive(channel)).run()


def main(arguments: list[str]) -> None:
    """`serve FD` or `once FD`; on Windows the socket comes through standard input."""
    mode = arguments[0]
    if sys.platform == "win32":
        channel = socket.fromshare(sys.stdin.buffer.read())
    else:
        # Use the lowest free descriptor: in an engine with thousands of open files it may exceed the limit of select().
        number = os.dup(int(arguments[1]))
        os.close(int(arguments[1]))
        channel = socket.socket(fileno=number)
    with contextlib.suppress(
        EOFError, BrokenPipeError, ConnectionResetError
    ):  # the engine has ended, so this process ends too
        (serve if mode == "serve" else once)(channel)


if __name__ == "__main__":
    main(sys.argv[1:])
