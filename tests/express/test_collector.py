"""Large graphs and Python's garbage collector: it is left as it was found."""

import gc
from itertools import pairwise

import pytest

import autograd_lab as lab
from autograd_lab.autograd import collector
from autograd_lab.autograd.node import MANY, count_down
from tests import fresh


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


@pytest.fixture
def large(monkeypatch):
    """What counts as a large graph: so few nodes, here, that a look at the memory comes after each so many (`chain`)."""
    monkeypatch.setattr(collector, "LARGE", 1 << 10)
    look()
    return collector.LARGE


def look():
    """Let the numbers of nodes go by up to the next look at the memory."""
    while -count_down() % MANY:
        pass


def chain(n):
    y = lab.ones(2, requires_grad=True)
    for i in range(1, n + 1):
        y = y + 1
        if i % collector.LARGE == 0 and collector.LARGE < MANY:
            look()
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


def test_what_nobody_uses_is_given_up_soon(thresholds, large):
    """A large graph is made and dropped; then others, small ones: nothing is put off any more."""
    y = chain(3 * large)
    assert gc.get_threshold() != thresholds
    del y
    for i in range(22):
        chain(large // 10)
        if i % 10 == 9:
            look()
    assert gc.get_threshold() == thresholds


def test_small_graphs_put_nothing_off(thresholds, large):
    for i in range(25):
        chain(large // 10).sum().backward()
        if i % 10 == 9:
            look()
        assert gc.get_threshold() == thresholds


def test_what_the_user_sets_meanwhile_stays(thresholds, large):
    y = chain(3 * large)
    assert gc.get_threshold() != thresholds
    gc.set_threshold(500, 5, 5)
    y.sum().backward()
    assert gc.get_threshold() == (500, 5, 5)


@pytest.mark.parametrize("on", [True, False])
def test_it_is_switched_on_only_if_it_was(thresholds, large, on):
    y = chain(large + 10)
    if not on:
        gc.disable()
    try:
        y.sum().backward()
        assert gc.isenabled() is on
    finally:
        gc.enable()


def test_it_is_on_again_when_a_pass_fails(thresholds, large):
    x = lab.ones(2, requires_grad=True)
    y = chain(large + 10) * x
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


def test_garbage_among_it_is_collected_before_much_more_is_made():
    """In a Python of its own: a collection looks at all there is, which in a process with thousands of tests is much."""
    code = """
import gc, weakref
from autograd_lab.autograd import collector

class Cycle:
    def __init__(self):
        self.me = self

collector.MOST_AGED = 3 * collector.LARGE
gc.collect()
kept, alive = [], []
for _ in range(8):
    with collector.paused():
        cycle = Cycle()
        alive.append(weakref.ref(cycle))
        del cycle
        kept.append([[i] for i in range(collector.LARGE + 1000)])
print(json.dumps([ref() is not None for ref in alive]))
"""
    left = fresh.printed(code)
    assert sum(left) <= 5
    assert not left[0]
