"""Keeps Python's garbage collector from slowing down large graphs, which do not need it.

A graph dies with its last reference. But the collector traverses all live objects whenever their number has grown by a quarter, and so
traverses a growing graph again and again: building a chain of a million nodes would take half as long again. So full collections are
postponed while memory grows with the nodes, until a backward pass has run; the other generations continue. During a pass, which makes no
garbage, nothing is collected.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LARGE = 1 << 16
"""A graph is worth this effort from this many nodes on."""


MOST_AGED = 2_000_000
"""The maximum number of objects that count as old before the collector sees them."""


class _Waiting:
    """What is postponed: the previous thresholds, or None; and the number of memory blocks at the last check."""

    thresholds: tuple[int, int, int] | None = None
    blocks = 0
    held = 0  # how many callers want it, however the graph grows
    full = 0  # how many full collections there had been at the last check, and
    aged = 0  # how many objects have become old since, unseen by the collector


def grow(k):
    """The `k`-th batch of LARGE nodes is about to be made: adjust the collector."""
    before, _Waiting.blocks = _Waiting.blocks, sys.getallocatedblocks()
    if k and _Waiting.blocks - before > LARGE:
        _put_off()
    else:
        _take_up()


def pause():
    """Stop the collector. Returns whether it was running."""
    enabled = gc.isenabled()
    gc.disable()
    return enabled


def go_on():
    """Let the collector run as usual again."""
    gc.enable()
    _take_up()


def hold():
    """Postpone full collections until `release`: a recorder's notes stay alive and grow with every event."""
    _Waiting.held += 1
    _put_off()


def release():
    """End what `hold` began."""
    _Waiting.held -= 1
    _take_up()


def as_now():
    """A function that puts the collector back to how it is now, for code that may be stopped between any two instructions."""
    collects, held = gc.isenabled(), _Waiting.held

    def put_back():
        _Waiting.held = held
        (gc.enable if collects else gc.disable)()
        _take_up()

    return put_back


@contextmanager
def paused() -> Iterator[None]:
    """Disable collection inside: for allocating hundreds of thousands of objects, none of them garbage.

    If there are that many, they count as old afterwards. As young objects they would all be traversed, and found alive, as soon as the
    collector is back. But then the collector does not know that it has more to do: so it is called here, before the next batch is made.
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
            if (
                new > LARGE and not gc.get_freeze_count()
            ):  # otherwise objects that the program froze would thaw
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
        if gc.get_threshold() == (young, middle, old * 100):  # they have not been changed since
            gc.set_threshold(young, middle, old)
        _Waiting.thresholds = None  # last: code that is stopped before this is put back by the next call


__all__ = ["LARGE", "as_now", "go_on", "grow", "hold", "pause", "paused", "release"]
