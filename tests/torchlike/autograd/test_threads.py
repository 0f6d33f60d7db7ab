"""Several threads at work on graphs, gradients and random numbers: nothing is lost, and each gets what it would get alone."""

import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab.core.seams import CLASSES
from autograd_lab.torchlike import tensor
from autograd_lab.torchlike.autograd.node import AccumulateGrad
from tests import fresh


@pytest.fixture
def _often(monkeypatch):
    """Threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work, count=8):
    """Run work(i) in `count` threads that begin together. Returns the results."""
    begin, results = threading.Barrier(count), [None] * count

    def run(i):
        begin.wait()
        results[i] = work(i)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# -- gradients --------------------------------------------------------------------------------------------


class Torn(np.ndarray):
    """A gradient that is added as NumPy may add a large one: other threads run between what is read and what is written."""

    meanwhile = staticmethod(lambda: None)

    def __array_ufunc__(self, ufunc, method, *inputs, out, **kwargs):
        before, one = out[0].copy(), np.array(self)
        thread = threading.Thread(target=Torn.meanwhile)
        thread.start()
        thread.join(0.1)
        out[0][...] = before + one
        return out[0]


def test_no_gradient_of_a_shared_leaf_is_lost():
    w = torch.zeros(3, requires_grad=True)
    (w * 1.0).sum().backward()
    node = (w * 1.0).grad_fn.next_functions[0][0]
    done = threading.Event()

    def meanwhile():
        (w * 2.0).sum().backward()
        done.set()

    Torn.meanwhile = meanwhile
    node.vjp(np.ones(3, np.float32).view(Torn))
    assert done.wait(30)
    assert w.grad.tolist() == [4, 4, 4]


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("size", [1, 20_000])
def test_threads_that_share_a_leaf_add_up_all_that_arrives(size):
    w = torch.zeros(size, requires_grad=True)

    def work(_):
        for _ in range(30):
            (w * 1.0).sum().backward()

    at_once(work)
    assert (w.grad.min().item(), w.grad.max().item()) == (240, 240)


class Slow(np.ndarray):
    """A gradient; while it is copied, another thread's pass reaches the same leaf."""

    def copy(self, *args):
        meanwhile, Slow.meanwhile = Slow.meanwhile, lambda: None
        meanwhile()
        return np.array(self)

    meanwhile = staticmethod(lambda: None)


def test_of_two_first_gradients_none_is_lost():
    w = torch.zeros(3, requires_grad=True)
    node = (w * 1.0).grad_fn.next_functions[0][0]
    Slow.meanwhile = lambda: (w * 2.0).sum().backward()
    node.vjp(np.ones(3, np.float32).view(Slow))
    assert w.grad.tolist() == [3, 3, 3]


def test_a_leaf_has_one_accumulator_whichever_thread_makes_it_first(monkeypatch):
    w = torch.zeros(3, requires_grad=True)
    found = []

    def slowly(leaf):
        monkeypatch.setitem(CLASSES, "AccumulateGrad", AccumulateGrad)
        found.append((w * 2.0).grad_fn)  # by another thread, meanwhile
        return AccumulateGrad(leaf)

    monkeypatch.setitem(CLASSES, "AccumulateGrad", slowly)
    found.append((w * 3.0).grad_fn)
    assert len({fn.next_functions[0][0] for fn in found}) == 1
    assert len(found) == 2


# -- memory -----------------------------------------------------------------------------------------------


def test_aliases_that_threads_take_of_one_number_share_it(monkeypatch):
    """A 0-d result gets its memory with the first alias."""
    y = torch.ones(2).sum()
    found = []

    def slowly(data):
        monkeypatch.undo()
        found.append(y.detach())  # by another thread, meanwhile
        return np.array(data)

    monkeypatch.setattr(tensor, "np", SimpleNamespace(array=slowly, ndarray=np.ndarray))
    found.append(y.detach())
    found[0].add_(5)
    assert [t.item() for t in (y, *found)] == [7, 7, 7]


# -- numbers of nodes -------------------------------------------------------------------------------------


def test_threads_that_make_many_nodes_at_once_get_different_numbers():
    """In a process of its own, which this ended once: two threads came to the end of the same 65,000 numbers."""
    code = """
from autograd_lab.torchlike.autograd.node import countdown

sys.setswitchinterval(1e-6)


def grow(k):
    for _ in range(20):
        str(k)


def work(i):
    begin.wait()
    for _ in range(2000):
        found[i].append(next(numbers))


for many in (3, 30, 300):
    numbers, begin, found = countdown(grow, many), threading.Barrier(8), [[] for _ in range(8)]
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(mine == sorted(mine, reverse=True) for mine in found)
    assert len({n for mine in found for n in mine}) == 8 * 2000
print(json.dumps("done"))
"""
    assert fresh.printed(code) == "done"


# -- random numbers ---------------------------------------------------------------------------------------

DRAWS = {
    "one normal number": lambda: torch.randn(1),
    "pairs of normal numbers": lambda: torch.randn(3),
    "blocks of normal numbers": lambda: torch.randn(40),
    "by rejection": lambda: torch.poisson(torch.tensor([30.0, 40.0])),
    "gamma": lambda: torch.distributions.Gamma(torch.tensor([0.5, 2.0]), torch.ones(2)).sample(),
    "row by row": lambda: torch.multinomial(torch.ones(3, 4), 5, replacement=True),
}


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_threads_draw_what_one_would_draw_in_a_row(draw):
    """Which thread gets which numbers is open, but none are lost, shared, or mixed from two calls, as in PyTorch."""
    for seed in range(20):
        torch.manual_seed(seed)
        drawn = [x for mine in at_once(lambda _: [draw().tolist() for _ in range(3)], 4) for x in mine]
        torch.manual_seed(seed)
        assert sorted(drawn) == sorted(draw().tolist() for _ in range(12))


# -- classes ----------------------------------------------------------------------------------------------


def test_subclasses_that_threads_make_first_have_one_base():
    """Whose methods are those of Tensor that a `__torch_function__` is told."""
    code = """
sys.setswitchinterval(1e-6)
begin, made = threading.Barrier(8), []


def work():
    begin.wait()

    class Told(torch.Tensor):
        told = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.told.append(func)
            return super().__torch_function__(func, types, args, kwargs)

    made.append(Told)


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
known = []
for kind in made:
    t = torch.ones(2, 2).as_subclass(kind)
    kind.told.clear()
    t[0] = t.sum()
    known.append([torch.Tensor.sum, torch.Tensor.__setitem__] == kind.told)
print(json.dumps([len({kind.__mro__[1] for kind in made}), known]))
"""
    assert fresh.printed(code) == [1, [True] * 8]
