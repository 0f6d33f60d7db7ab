"""The command `autograd-lab`.

Without arguments it copies the notebooks and exercises into the student's working folder (course/resources.py says
how their edits are kept) and opens JupyterLab there, on the first notebook:

    autograd-lab [--dir FOLDER] [--port N] [--no-browser]
    autograd-lab build [--check]            for authors: write the notebooks from their text sources
    autograd-lab run train.py [ARGUMENTS]               a program written for PyTorch, on autograd_lab
    autograd-lab slides 04                              for instructors: a notebook as slides
    autograd-lab site DIR                               the lab as a web site, for people who install nothing
    autograd-lab submit 04                              for students: pack exercises to hand them in
    autograd-lab deliver FOLDER --roster class.csv --variants WORD      for instructors: each student's copies, with numbers of their own
    autograd-lab grade SUBMISSIONS --out RESULTS        for instructors: grade a class
    autograd-lab feedback RESULTS --to canvas           for instructors: give pages and grades back
    autograd-lab gradebook RESULTS [show ...]           for instructors: look at the grades, change them

An error message says what happened, why, and what to do; the exit status is then 2.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, cast
from urllib.parse import quote

from autograd_lab._version import __version__
from autograd_lab.course.resources import Delivery, course_files, course_root, deliver
from autograd_lab.course.student import PRIVATE, is_source_checkout

DEFAULT_DIR = Path("~/autograd-lab-work")
FIRST_PORT = 8888

# Subcommands: the module whose `main(argv) -> int` runs each one, imported only when needed.
COMMANDS = {
    "build": ("autograd_lab.course.build", "for authors: write the notebooks from their text sources"),
    "run": (
        "autograd_lab.torchlike.world.standin",
        "run a program written for PyTorch, with autograd_lab in its place",
    ),
    "slides": (
        "autograd_lab.course.slides",
        "for instructors: slides of a notebook, with live steppers and your notes",
    ),
    "site": ("autograd_lab.site.build", "write the lab as a static web site"),
    "validate": (
        "autograd_lab.grade.validate",
        "run exercises under nbval: which items pass, for students and CI",
    ),
    "submit": ("autograd_lab.grade.submit", "pack your exercises to hand them in"),
    "deliver": (
        "autograd_lab.grade.deliver",
        "for instructors: write each student's exercises, with numbers of their own",
    ),
    "grade": ("autograd_lab.grade.run", "for instructors: grade the notebooks of a class"),
    "feedback": (
        "autograd_lab.grade.hand_back",
        "for instructors: give pages and grades back to Canvas, Moodle, or a folder",
    ),
    "gradebook": ("autograd_lab.grade.by_hand", "for instructors: look at grades, and change them by hand"),
}


class CannotStartError(Exception):
    """The command cannot continue; the message tells a student what to do."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(f"{what}\n  Why:        {why}\n  What to do: {remedy}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; `argv` leaves out the program's name. Returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments and arguments[0] in COMMANDS:
            return _run_command(arguments[0], arguments[1:])
        if arguments and not arguments[0].startswith("-"):
            raise CannotStartError(
                f"There is no command `{arguments[0]}`.",
                f"the commands are {', '.join(COMMANDS)}; without one, JupyterLab is opened.",
                "see `autograd-lab --help`",
            )
        options = _parser().parse_args(arguments)
        return _open_lab(options)
    except CannotStartError as problem:
        print(f"autograd-lab: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nautograd-lab: stopped before JupyterLab had started.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    commands = "\n".join(f"  {name:<10}{text}" for name, (_, text) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="autograd-lab",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Copy the notebooks and exercises into your working folder and open JupyterLab there.\n"
        "Files you have changed are never overwritten.",
        epilog=f"other commands:\n{commands}",
    )
    parser.add_argument(
        "--dir", metavar="FOLDER", default=None, help=f"your working folder (default: {DEFAULT_DIR})"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        default=None,
        help=f"JupyterLab's port, 1024 to 65535 (default: the first free one from {FIRST_PORT})",
    )
    parser.add_argument(
        "--copy-only",
        action="store_true",
        help="copy the notebooks and open nothing: for VS Code, Colab or a hub; needs no JupyterLab",
    )
    parser.add_argument(
        "--variant",
        metavar="N",
        default=None,
        help="the number of your own exercises, if you were given one; it is needed only once",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser; print the address")
    parser.add_argument("--version", action="version", version=f"autograd_lab {__version__}")
    return parser


def _run_command(name: str, argv: list[str]) -> int:
    module_name, _ = COMMANDS[name]
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("autograd_lab"):
            raise CannotStartError(
                f"`autograd-lab {name}` needs the package {error.name}.",
                "it is not installed in this Python; authors' tools come with the extra `test`.",
                'in the checkout, run: pip install -e ".[test]"',
            ) from error
        raise CannotStartError(
            f"`autograd-lab {name}` is not part of this version ({__version__}).",
            f"the module {error.name} is missing.",
            "update autograd_lab, or run `autograd-lab --help` to see what there is.",
        ) from error
    if name == "run":  # somebody else's program
        return int(module.main(argv))
    try:
        with redirect_stdout(_unheard(sys.stdout)), redirect_stderr(_unheard(sys.stderr)):
            status: int = module.main(argv)
            print(end="", flush=True)
    except KeyboardInterrupt:
        print(f"\nautograd-lab {name}: stopped.", file=sys.stderr)
        return 130
    return status


def _unheard(out: TextIO) -> TextIO:
    return cast("TextIO", _Unheard(out))


class _Unheard:
    """An output that need not be read to its end: a command piped into `head` does all of its work."""

    def __init__(self, out: Any) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write it, if anybody reads."""
        with self._going_on():
            self._out.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what waits, if anybody reads."""
        with self._going_on():
            self._out.flush()

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:  # what waits to be written goes nowhere, or Python would complain at its end
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._out.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


# ----------------------------------------------------------------------
# the lab
# ----------------------------------------------------------------------


def _open_lab(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("jupyterlab") is None and not options.copy_only:
        raise CannotStartError(
            "JupyterLab is not installed.",
            f"this Python ({sys.executable}) has no package `jupyterlab`.",
            f"run: {sys.executable} -m pip install jupyterlab\n"
            "              or, to work in another program, copy the notebooks only: autograd-lab --copy-only",
        )
    port = _port(options)
    variant = _variant(options.variant)
    work = _prepare_folder(DEFAULT_DIR if options.dir is None else Path(options.dir))
    root = course_root()
    try:
        report = deliver(root, work, variant)
    except OSError as error:
        raise CannotStartError(
            f"The notebooks could not be copied into {work}.",
            _reason(error),
            "free some space or repair the folder, or choose another one: autograd-lab --dir FOLDER",
        ) from error
    print(describe(report, work), flush=True)
    if port is None:
        return 0
    return _run_jupyter(work, port, may_move=options.port is None, browser=not options.no_browser)


def _variant(text: str | None) -> int | None:
    """The number of a student's own exercises."""
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 12:
        raise CannotStartError(
            f"--variant {text} is not a number of exercises.",
            "it is a whole number, of 12 digits at most.",
            "copy it from your instructor's message; without one, leave --variant out",
        )
    return int(text)


def _port(options: argparse.Namespace) -> int | None:
    """The port to open JupyterLab on, or None if it is not to be opened."""
    if options.copy_only:
        return None
    return _check_port(options.port) if options.port is not None else _free_port()


def describe(report: Delivery, work: Path) -> str:
    """What happened to the working folder, in plain words."""
    lines = [f"Your working folder is {work}."]
    if report.lost_list:
        lines.append("The list of what was delivered was damaged: every file that differs counts as yours.")
    if report.new:
        lines.append(f"Copied {_count(report.new)}.")
    if report.updated:
        lines.append(f"Updated {_count(report.updated)} that you had not changed: {_names(report.updated)}.")
    if report.restored:
        back = _names(report.restored)
        lines.append(f"Brought back {_count(report.restored)} that you had deleted or renamed: {back}.")
    for mine, aside in report.beside:
        lines.append(f"You have changed {mine}: it stays as it is, and beside it is the new {aside.name}.")
    if report.kept:
        lines.append(f"Left {_count(report.kept)} of yours as you saved {_it(report.kept)}.")
    if len(lines) == 1:
        lines.append("Everything in it is up to date.")
    if report.variant is not None:
        lines.append(f"Your exercises have numbers of their own: variant {report.variant}.")
    lines.append("To start a notebook over, delete or rename it and run autograd-lab again.")
    return "\n".join(lines)


def _count(files: list[Path]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files)} files"


def _it(files: list[Path]) -> str:
    return "it" if len(files) == 1 else "them"


def _names(files: list[Path]) -> str:
    shown = [str(file) for file in files[:3]]
    return ", ".join(shown) + (f" and {len(files) - 3} more" if len(files) > 3 else "")


def _prepare_folder(folder: Path) -> Path:
    """The working folder, created if necessary and checked to be writable."""
    another = "choose another folder: autograd-lab --dir FOLDER"
    try:
        work = folder.expanduser().resolve()
    except (RuntimeError, OSError) as error:  # no home folder, or a loop of links
        raise CannotStartError(f"The folder {folder} cannot be found.", str(error), another) from error
    if is_source_checkout(work):
        raise CannotStartError(
            f"{work} cannot be your working folder.",
            "it holds autograd_lab's own source, which your edits would change.",
            f"leave out --dir (your work then goes to {DEFAULT_DIR}), or {another}",
        )
    if work.exists() and not work.is_dir():
        raise CannotStartError(
            f"{work} cannot be your working folder.", "it is a file, not a folder.", another
        )
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStartError(f"The folder {work} cannot be made.", _reason(error), another) from error
    try:
        with tempfile.TemporaryFile(dir=work):
            pass
    except OSError as error:
        raise CannotStartError(f"The folder {work} cannot be written to.", _reason(error), another) from error
    return work


def _reason(error: OSError) -> str:
    text = (error.strerror or str(error)).lower()
    return f"the system says: {text}" + (f" ({error.filename})." if error.filename else ".")


# ----------------------------------------------------------------------
# the port
# ----------------------------------------------------------------------


def _check_port(text: str) -> int:
    leave_out = (
        f"leave out --port (it takes the first free one from {FIRST_PORT}), or name another up to 65535."
    )
    try:
        port = int(text)
    except ValueError:
        raise CannotStartError(
            f"--port {text} is not a port.", "a port is a whole number.", leave_out
        ) from None
    if not 0 < port < 65536:
        raise CannotStartError(f"--port {port} is not a port.", "ports go from 1 to 65535.", leave_out)
    if port < 1024:
        reserved = "ports below 1024 are reserved for the system."
        raise CannotStartError(f"Port {port} cannot be used.", reserved, leave_out)
    problem = _port_problem(port)
    if problem is not None:
        if problem.errno == errno.EADDRINUSE:
            raise CannotStartError(
                f"Port {port} is in use.",
                "another program listens on it, perhaps a JupyterLab you started earlier.",
                f"stop that program, or {leave_out}",
            )
        raise CannotStartError(f"Port {port} cannot be used.", _reason(problem), leave_out)
    return port


def _free_port() -> int:
    for port in range(FIRST_PORT, FIRST_PORT + 100):
        if _port_problem(port) is None:
            return port
    raise CannotStartError(
        "No port could be found for JupyterLab.",
        f"the ports from {FIRST_PORT} to {FIRST_PORT + 99} are all in use.",
        "stop some of the programs that use them, or name a port: autograd-lab --port N",
    )


def _port_problem(port: int) -> OSError | None:
    """Why JupyterLab cannot listen on localhost's `port`, or None if it can."""
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            listener = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            continue  # this machine has no IPv6
        with listener:
            if os.name == "posix":  # as tornado does: a port that was closed a moment ago is free
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((address, port))
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    continue  # IPv6 is there, its loopback address is not
                return error
    return None


# ----------------------------------------------------------------------
# JupyterLab
# ----------------------------------------------------------------------


def _run_jupyter(work: Path, port: int, *, may_move: bool, browser: bool) -> int:
    """Run JupyterLab until it is stopped (Ctrl-C, or its own File > Shut Down)."""
    with _own_jupyter_settings() as environment, _Stopper() as stopper:
        command = jupyter_command(work, port, may_move=may_move, browser=browser)
        print(f"Starting JupyterLab on port {port}; Ctrl-C stops it.", flush=True)
        stopper.server = subprocess.Popen(command, cwd=work, env=environment)
        status = stopper.server.wait()
    if status != 0 and not stopper.asked:
        raise CannotStartError(
            "JupyterLab ended by itself.",
            f"its exit status was {status}; its own messages are above.",
            f"if they do not help, run: {sys.executable} -m jupyterlab --debug",
        )
    print(f"\nJupyterLab has stopped. Your work is in {work}.")
    return 0


def jupyter_command(work: Path, port: int, *, may_move: bool, browser: bool) -> list[str]:
    """The command line that starts JupyterLab in `work`, on the first notebook."""
    first = next((path for path in course_files(work) if path.suffix == ".ipynb"), None)
    page = "/lab" if first is None else "/lab/tree/" + quote(first.as_posix())
    command = [
        *(
            sys.executable,
            "-P",
            "-m",
            "jupyterlab",
        ),  # -P: a student's random.py must not shadow Python's
        "--log-level=ERROR",  # Jupyter's own warnings are about things no student can change
        "--LabApp.log_level=ERROR",
        "--ServerApp.answer_yes=True",  # Ctrl-C stops; it does not ask first
        f"--ServerApp.root_dir={work}",
        f"--ServerApp.port={port}",
        f"--ServerApp.port_retries={50 if may_move else 0}",
        f"--LabApp.default_url={page}",
        f"--LabApp.workspaces_dir={work / PRIVATE / 'workspaces'}",  # not the layout of another course's lab
    ]
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # containers; Jupyter refuses root otherwise
        command.append("--allow-root")
    return command


@contextmanager
def _own_jupyter_settings() -> Iterator[dict[str, str]]:
    """An environment in which the kernel "python3" is this very Python, and no news pops up over the notebook.

    Outside a virtual environment Jupyter prefers a kernel "python3" in the user's folder, which may belong to
    a Python that was removed long ago or has no autograd_lab. Folders named in JUPYTER_PATH take precedence over all others.
    """
    from ipykernel.kernelspec import get_kernel_dict

    with tempfile.TemporaryDirectory(prefix="autograd-lab-") as folder:
        kernel = Path(folder) / "kernels" / "python3" / "kernel.json"
        kernel.parent.mkdir(parents=True)
        kernel.write_text(
            json.dumps(
                get_kernel_dict()  # with its name: the copies say it, and JupyterLab marks unsaved what says another one
                | {
                    "argv": [
                        *(sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"),
                        "--log-level=ERROR",  # as for the server
                    ]
                }
            ),
            encoding="utf-8",
        )
        page = Path(folder) / "labconfig" / "page_config.json"
        page.parent.mkdir()
        news = "@jupyterlab/apputils-extension:announcements"
        page.write_text(json.dumps({"disabledExtensions": {news: True}}), encoding="utf-8")
        environment = dict(os.environ)
        for name in ("JUPYTER_PATH", "JUPYTER_CONFIG_PATH"):
            environment[name] = os.pathsep.join(filter(None, [folder, environment.get(name)]))
        yield environment


class _Stopper:
    """A context manager: signals that would end this process (Ctrl-C, a closed terminal) end JupyterLab instead.

    The first signal lets JupyterLab stop its kernels; a second one does not wait for that.
    """

    def __init__(self) -> None:
        self.server: subprocess.Popen[bytes] | None = None
        self.asked = 0
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> _Stopper:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            if hasattr(signal, name):  # Windows has no SIGHUP
                number = signal.Signals[name]
                self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal returned

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1
        if self.server is None:
            raise KeyboardInterrupt
        if self.asked == 1:
            self.server.terminate()
        else:
            self.server.kill()
