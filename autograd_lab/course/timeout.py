"""A limit of time for a student's code that runs in the student's own kernel: a check must end even if the code does not.

Python has no call that stops another one. A second thread raises an exception in the first one, between two of its
instructions: that works on every system, Windows included, where there are no timers that send signals. Code that catches it (a
bare `except:` around an endless loop) meets the next one at the first call or jump of its handler, and so gets out of every `try`.

A call that waits (a sleep, a lock) ends at once in the main thread of a kernel, on every system but Windows. A single long call
of C (of NumPy, or `sum` over an endless iterator) cannot be stopped from inside its process: the exception comes when it has
returned. If Python can still run, the student is told so, and to interrupt or restart the kernel.

WebAssembly has no threads. There Python itself asks for the time, before each line that is not the package's own.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

AGAIN = 0.05  # seconds until the exception is raised once more
PATIENCE = 2.0  # seconds after which code counts as one that cannot be stopped
STUCK = (
    "Your code has been running for more than {:g} seconds, in one long call that cannot be stopped from here. "
    "Choose Kernel, then Interrupt; if that does not help, Kernel, then Restart."
)


class StillRunning(BaseException):
    """The time is over, and the code still runs."""


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of `call()`. Raises StillRunning if it takes longer than `seconds`; a single long call of C takes as long as it takes."""
    if sys.platform == "emscripten":
        return _within_lines(seconds, call)
    alarm = _Alarm(seconds)
    try:
        alarm.start()
        return call()
    finally:
        # Two assignments, at which no exception comes. After them at most one is on its way, and that meets the first call.
        alarm.over = True
        alarm.error.__init__ = BaseException.__init__  # type: ignore[method-assign]
        try:
            alarm.stop()
        finally:
            alarm.stop()


PACKAGE = str(Path(__file__).parents[1])


def _within_lines(seconds: float, call: Callable[[], Any]) -> Any:
    """`within`, where no thread can wait beside the code; needs Python 3.12."""
    monitoring: Any = vars(sys)["monitoring"]  # mypy checks for 3.11
    end, tool, lines = time.monotonic() + seconds, monitoring.PROFILER_ID + 1, monitoring.events.LINE

    def ask(code: CodeType, line: int) -> Any:
        if code.co_filename.startswith(PACKAGE):
            return monitoring.DISABLE  # this line is not asked about again
        if time.monotonic() > end:
            raise StillRunning  # at each further line as well: a bare `except:` catches one
        return None

    monitoring.use_tool_id(tool, "autograd_lab")
    monitoring.register_callback(tool, lines, ask)
    monitoring.set_events(tool, lines)
    try:
        return call()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)


class _Alarm(threading.Thread):
    """Waits beside the code, and interrupts it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self.seconds = seconds
        self.watched = threading.get_ident()
        self.error = _insisting(self.watched)
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.raised = self.over = False
        main = threading.current_thread() is threading.main_thread()
        self.signals = main and hasattr(signal, "pthread_kill")
        # SIGURG does nothing of itself. It wakes what waits, Python runs this function, and in it the exception is met.
        self.before = signal.signal(signal.SIGURG, _nothing) if self.signals else None

    def run(self) -> None:
        wait = self.seconds
        tell = time.monotonic() + self.seconds + PATIENCE
        while not self.ended.wait(wait):
            wait = AGAIN
            with self.lock:
                if not self.over:  # from here to the call no other thread runs
                    self.raised = True
                    _raise_in(self.watched, self.error)
                    if self.signals:
                        signal.pthread_kill(self.watched, signal.SIGURG)
            if time.monotonic() > tell and not self.over:
                tell = float("inf")
                print(STUCK.format(self.seconds), flush=True)

    def stop(self) -> None:
        """After this nothing is raised any more, nor is anything still to be raised."""
        over = False
        while True:
            try:
                with self.lock:
                    self.ended.set()
                if (
                    self.raised and not over
                ):  # the last one may be on its way: it is called once more, and met here
                    _raise_in(self.watched, self.error)
                    while True:
                        time.sleep(0)
                if self.signals:
                    signal.signal(signal.SIGURG, self.before or signal.SIG_DFL)
                return
            except StillRunning:
                over = self.ended.is_set()


def _nothing(_number: int, _frame: FrameType | None) -> None:
    pass


def _insisting(thread: int) -> type[StillRunning]:
    """An exception that follows itself: when `thread` makes one of it, because some code catches it, the next is on its way.

    It is C that makes and raises it. An `__init__` in Python would itself be interrupted by the next one.
    """
    error = type("StillRunning", (StillRunning,), {})
    error.__init__ = staticmethod(partial(_raise_in, thread, error))  # type: ignore[misc]
    return error


# Raise an exception in a thread at its next instruction, instead of one that has not been raised yet. Python can also take one back
# (with NULL), but then 3.11 goes on looking for it for ever, and hangs in the next function that is traced or profiled.
_raise_in = ctypes.PYFUNCTYPE(None, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)
