"""A limit of time for a student's code that runs in the student's own kernel: a check must end even if the code does not.

Python has no call that stops another one. A second thread raises an exception in the first one, between two of its
instructions: that works on every system, Windows included, where there are no timers that send signals. A single call that
does not come back to Python, such as one long sleep, is stopped only after it has returned.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

AGAIN = 0.05  # seconds until the exception is raised once more: a bare `except:` around a part of the loop catches one


class StillRunning(BaseException):
    """The time is over, and the code still runs."""


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of `call()`. Raises StillRunning if it takes longer than `seconds`."""
    alarm = _Alarm(seconds)
    try:
        alarm.start()
        try:
            return call()
        finally:
            alarm.stop()
    finally:
        alarm.stop()  # again: the exception may have come while the alarm was being stopped


class _Alarm(threading.Thread):
    """Waits beside the code, and interrupts it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(daemon=True)
        self.seconds = seconds
        self.watched = threading.get_ident()
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.raised = False

    def run(self) -> None:
        wait = self.seconds
        while not self.ended.wait(wait):
            wait = AGAIN
            with self.lock:
                if not self.ended.is_set():
                    self.raised = True
                    _raise_in(self.watched, StillRunning)

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
                    _raise_in(self.watched, StillRunning)
                    while True:
                        time.sleep(0)
                return
            except StillRunning:
                over = self.ended.is_set()


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise `error` in a thread at its next instruction, instead of one that has not been raised yet.

    Python can also take one back (with NULL), but then 3.11 goes on looking for it for ever, and hangs in the next function that is
    traced or profiled.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
