"""The switches: whether operations are recorded, and who watches. One State for each thread.

Two of them matter to every operation. `grad` says whether to record. `special` is set while anything unusual is going on, such as
watching; while it is not, nobody has to be told of anything.
"""

import contextlib
import contextvars
import threading

import numpy as np

from .seams import CLASSES
from .watch import NOBODY


class State:
    """The switches of one thread.

    formula  whether the formula of a VJP is running and being recorded
    grad     whether operations are recorded
    special  whether anything unusual is going on
    watch    the watcher that hears of everything (see watch.py), or None
    run      run(fn, *args) calls a function of NumPy without its warnings: PyTorch does not warn of 1/0 and overflow
    """

    __slots__ = ("formula", "grad", "run", "special", "watch")

    def __init__(self):
        self.grad = True
        self.formula = self.special = False
        self.watch = None
        # A separate context with the warnings off costs 30 ns a call; np.errstate costs 1,200, and np.seterr would change the user's
        # session.
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run

    def refresh(self):
        """Recompute `special` after a change."""
        self.special = self.watch is not None

    def enabled(self):
        """Whether recording is switched on."""
        return self.grad

    def set_grad(self, on):
        """Switch recording on or off, and tell the watcher if there is one."""
        if on != self.grad:
            self.grad = on  # event: mode
            if self.watch is not None:
                self.watch.mode(on)


CLASSES["State"] = State


class _Thread(threading.local):
    def __init__(self):
        self.state = CLASSES["State"]()


THREAD = _Thread()

WATCHERS: list = []
"""The active watchers of all threads: events outside of operations check this list first, which costs next to nothing."""


def watcher():
    """The watcher of this thread, or NOBODY. Check WATCHERS first."""
    return THREAD.state.watch or NOBODY


class no_grad(contextlib.ContextDecorator):  # noqa: N801 - PyTorch's name
    """Record nothing inside: results are constants (torch.no_grad). A context manager and a decorator.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False
    """

    on = False

    def _recreate_cm(self):
        return type(self)()  # each call of a decorated function needs its own

    def __enter__(self):
        state = THREAD.state
        self._before = state.enabled()
        state.set_grad(self.on)

    def __exit__(self, *exc):
        THREAD.state.set_grad(self._before)


class enable_grad(no_grad):  # noqa: N801 - PyTorch's name
    """Record again, inside a `no_grad` (torch.enable_grad). A context manager and a decorator.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """

    on = True
