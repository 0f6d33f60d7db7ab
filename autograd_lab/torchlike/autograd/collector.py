"""Python's garbage collector, which graphs can do without.

A graph dies with its last reference. But the collector walks through all that is alive whenever that has grown by a quarter, and
so again and again through a graph that is being made: a chain of a million nodes would take half as long again. So its full
collections are put off while memory grows with the nodes, until a backward pass has run; the others go on. During such a pass, which
makes no garbage, there are none.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LARGE = 1 << 16
"""From so many nodes on, a graph is worth all this."""


MOST_AGED = 2_000_000
"""So many objects at most count as old before the collector looks at them."""


class _Waiting:
    """What is put off: the thresholds of before, or None; and how many blocks of memory there were at the last look."""

    thresholds: tuple[int, int, int] | None = None
    blocks = 0
    held = 0  # how many want it so, however the graph grows
    full = 0  # how many full collections there had been at the last look, and
    aged = 0  # how many objects count as old since, unseen by the collector


def grow(k):
    """The `k`-th LARGE nodes are about to be made: see to the collector."""
    before, _Waiting.blocks = _Waiting.blocks, sys.getallocatedblocks()
    if k and _Waiting.blocks - before > LARGE:
        _put_off()
    else:
        _take_up()


def pause():
    """Stop the collector. Returns whether it was at work."""
    enabled = gc.isenabled()
    gc.disable()
    return enabled


def go_on():
    """Let the collector do everything again."""
    gc.enable()
    _take_up()


def hold():
    """Put full collections off until `release`: what a recorder notes lives on, and grows with every event."""
    _Waiting.held += 1
    _put_off()


def release():
    """End what `hold` began."""
    _Waiting.held -= 1
    _take_up()


@contextmanager
def paused() -> Iterator[None]:
    """No collections inside: for making hundreds of thousands of objects, none of them garbage.

    If there are so many they count as old afterwards. As new ones they would all be walked through as soon as the collector is back,
    and found alive. But the collector does not know then that it has more to do: so it is called here, before the next many are made.
    """
    full = gc.get_stats()[2]["collections"]
    if full != _Waiting.full:
        _Waiting.full, _Waiting.aged = full, 0
    elif _Waiting.aged > MOST_AGED:
        gc.collect()
    enabled = pause()
    try:
        yield
    finally:
        if enabled:
            new = gc.get_count()[0]
            if new > LARGE and not gc.get_freeze_count():  # else what the program froze would thaw
                _Waiting.aged += new
                gc.freeze()
                gc.unfreeze()
            go_on()


def _put_off():
    if _Waiting.thresholds is None:
        _Waiting.thresholds = young, middle, old = gc.get_threshold()
        gc.set_threshold(young, middle, old * 100)


def _take_up():
    if _Waiting.thresholds is not None and not _Waiting.held:
        young, middle, old = _Waiting.thresholds
        _Waiting.thresholds = None
        if gc.get_threshold() == (young, middle, old * 100):  # nobody else has set them since
            gc.set_threshold(young, middle, old)


__all__ = ["LARGE", "go_on", "grow", "hold", "pause", "paused", "release"]
