"""Combines two watchers, and adds the events of a checkpoint and of refusals. The protocol itself is core/watch.py."""

from ...core.seams import extend
from ...core.watch import NOBODY, Watch


def recomputed(self, holder, t):
    """A checkpoint has computed again what stands at `holder` in the graph: `t`."""


def refused(self, name, values, error, frame):
    """The call `frame`, of the function called `name`, ends with an error: the program, if it made the call, may catch it."""


extend(Watch, recomputed=recomputed, refused=refused)


class Both(Watch):
    """Two watchers combined: each is told everything, `first` first."""

    def __init__(self, first, second):
        self._first, self._second = first, second
        self.batch = first.batch

    def pass_started(self, run, roots, call):
        told = []
        for watch in (self._first, self._second):
            run.watch = watch
            watch.pass_started(run, roots, call)
            told.append(run.watch)
        run.watch = Both(*told)


def _told_to_both(name):
    def tell(self, *args, **kwargs):
        getattr(self._first, name)(*args, **kwargs)
        getattr(self._second, name)(*args, **kwargs)

    return tell


for _name in [name for name, value in vars(Watch).items() if callable(value) and name not in vars(Both)]:
    setattr(Both, _name, _told_to_both(_name))


__all__ = ["NOBODY", "Both", "Watch"]
