"""Runs in each kernel of the lab as it starts, before a student's first cell: says what a browser cannot do, where Python's own error does not.

The lab has it as a package of its own (lab.py), so that it loads neither the engine nor NumPy.
"""

from __future__ import annotations

import logging
import re
from types import TracebackType
from typing import Any

ELSEWHERE = "It works where autograd_lab is installed: the first page of this site says how."
SENTENCES = (
    (ModuleNotFoundError, r"No module named 'torch(vision|audio)?\b", "PyTorch does not run in a browser. The lab does as it does: import autograd_lab as torch"),
    (ModuleNotFoundError, r"No module named '_multiprocessing'", f"A browser has one process for Python, and starts no other. {ELSEWHERE}"),
    (OSError, "does not support processes", f"A browser starts no other programs. {ELSEWHERE}"),
    (RuntimeError, "can't start new thread", f"Python has no threads in a browser. {ELSEWHERE}"),
    (Exception, "PyPI fallback is disabled", f"The lab in the browser installs nothing: what the course needs is there. {ELSEWHERE}"),
    (OSError, r"unknown url type: https|urlopen error|Name or service not known|Host is unreachable", f"The lab in the browser opens no address. {ELSEWHERE}"),
)  # fmt: skip
"""(kind of error, what its message contains, the sentence that is added)."""


def sentence(error: BaseException) -> str:
    """What is to be said about an error; "" if it speaks for itself."""
    message = str(error)
    return next(
        (said for kind, part, said in SENTENCES if isinstance(error, kind) and re.search(part, message)), ""
    )


class NoSystemError(OSError):
    """A command of the system was to be run."""


def begin(shell: Any) -> None:
    """Make a kernel's shell, IPython's, say the sentences."""

    def told(
        self: Any,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType,
        tb_offset: int | None = None,
    ) -> None:
        said = sentence(error)
        if said and said not in getattr(error, "__notes__", ()):
            error.add_note(said)
        self.showtraceback((kind, error, trace), tb_offset=tb_offset)

    def no_system(command: str) -> Any:
        raise NoSystemError(
            f"`!{command}` is a command of the system, and a browser has none. Python itself reads, writes and lists your files. {ELSEWHERE}"
        )

    shell.set_custom_exc((Exception,), told)
    shell.system = shell.getoutput = no_system
    logging.getLogger("matplotlib.font_manager").setLevel(
        logging.ERROR
    )  # it would call the first plot slow, in red
