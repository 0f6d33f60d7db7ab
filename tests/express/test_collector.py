"""Large graphs and Python's garbage collector: it is left as it was found."""

import gc
import weakref
from itertools import pairwise

import pytest

import autograd_lab as lab
from autograd_lab.autograd import collector
from autograd_lab.autograd.node import count_down


@pytest.fixture
def nothing_frozen():
    """As in a user's program; conftest.py at the top froze what was there when the run began."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def thresholds():
    """Those of Python, whatever other tests made of them; restored afterwards."""
    collector._take_up()
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    collector._take_up()
    gc.set_threshold(*before)


def chain(n):
    y = lab.ones(2, requires_grad=True)
    for _ in range(n):
        y = y + 1
    return y


def test_full_collections_wait_until_a_large_graph_has_been_used(thresholds):
    full = []

    def note(phase, info):
        if phase == "start" and info["generation"] == 2:
            full.append(info)

    y = chain(3 * collector.LARGE)  # two looks at the memory at least, one after the other
    assert gc.get_threshold() == (700, 10, 1000)
    gc.callbacks.append(note)
    try:
        z = y
        for _ in range(2 * collector.LARGE):
            z = z + 1
    finally:
        gc.callbacks.remove(note)
    assert full == []
    z.sum().backward()
    assert gc.get_threshold() == thresholds
    assert gc.isenabled()


def test_what_nobody_uses_is_given_up_soon(thresholds):
    """A large graph is made and dropped; then others, small ones: nothing is put off any more."""
    y = chain(3 * collector.LARGE)
    assert gc.get_threshold() != thresholds
    del y
    for _ in range(22):
        chain(collector.LARGE // 10)
    assert gc.get_threshold() == thresholds


def test_small_graphs_put_nothing_off(thresholds):
    for _ in range(25):
        chain(collector.LARGE // 10).sum().backward()
        assert gc.get_threshold() == thresholds


def test_what_the_user_sets_meanwhile_stays(thresholds):
    y = chain(3 * collector.LARGE)
    gc.set_threshold(500, 5, 5)
    y.sum().backward()
    assert gc.get_threshold() == (500, 5, 5)


@pytest.mark.parametrize("on", [True, False])
def test_it_is_switched_on_only_if_it_was(thresholds, on):
    y = chain(collector.LARGE + 10)
    if not on:
        gc.disable()
    try:
        y.sum().backward()
        assert gc.isenabled() is on
    finally:
        gc.enable()


def test_it_is_on_again_when_a_pass_fails(thresholds):
    x = lab.ones(2, requires_grad=True)
    y = chain(collector.LARGE + 10) * x
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert gc.isenabled()
    assert gc.get_threshold() == thresholds


def test_numbers_go_on_over_the_looks():
    numbers = [count_down() for _ in range(collector.LARGE + 100)]
    assert all(a - b == 1 for a, b in pairwise(numbers))


def generation_of(thing):
    return next(g for g in range(3) if any(x is thing for x in gc.get_objects(generation=g)))


def many():
    return [[i] for i in range(collector.LARGE + 1000)]


def test_what_is_made_while_it_is_paused_counts_as_old(thresholds, nothing_frozen):
    """So nobody walks through it as soon as the collector is back; and what a program froze stays frozen."""
    with collector.paused():
        made = many()
    assert generation_of(made) == 2
    with collector.paused():
        few = [[i] for i in range(10)]
    assert generation_of(few) == 0
    gc.freeze()
    try:
        with collector.paused():
            made = many()
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()


class Cycle:
    def __init__(self):
        self.me = self


def test_garbage_among_it_is_collected_before_much_more_is_made(thresholds, nothing_frozen, monkeypatch):
    monkeypatch.setattr(collector, "MOST_AGED", 3 * collector.LARGE)
    gc.collect()
    kept, alive = [], []
    for _ in range(8):
        with collector.paused():
            cycle = Cycle()
            alive.append(weakref.ref(cycle))
            del cycle
            kept.append(many())
    left = [ref() is not None for ref in alive]
    assert sum(left) <= 5
    assert not left[0]
