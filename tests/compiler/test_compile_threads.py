"""Compiled functions that several threads call, some while another one captures."""

import builtins
import sys
import threading

import autograd_lab as torch
from autograd_lab.compiler import compiled


def test_threads_that_call_a_function_first_share_one_graph():
    """Captures that ran at once took each other's borrowed numbers for constants, and left a `print` of theirs behind."""
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    f = torch.compile(lambda x: (x @ weight).tanh().sum())
    begin, results, before = threading.Barrier(8), [], builtins.print

    def work(i):
        x = torch.tensor([[0.1 * i, -0.2]], requires_grad=True)
        begin.wait()
        f(x).backward()
        results.append((x.tolist(), x.grad.tolist()))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert builtins.print is before
    assert len(f.entries) == 1
    assert weight.tolist() == [[1, 2], [3, 4]]
    assert len(results) == 8
    for numbers, grad in results:
        x = torch.tensor(numbers, requires_grad=True)
        (x @ weight).tanh().sum().backward()
        assert x.grad.tolist() == grad


def test_a_compiled_function_waits_while_a_capture_has_other_numbers_in_its_tensors(monkeypatch):
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    product = torch.compile(lambda: a * b)
    product()
    found, threads, turned = [], [], compiled._turned

    def turn(data, rng):
        if not threads:
            threads.append(None)
        elif len(threads) == 1:  # one of the two has other numbers now
            thread = threading.Thread(target=lambda: found.append(product().tolist()))
            threads.append(thread)
            thread.start()
            thread.join(0.1)
        return turned(data, rng)

    monkeypatch.setattr(compiled, "_turned", turn)
    total = torch.compile(lambda: a + b)
    assert total().tolist() == [4, 6]
    threads[1].join()
    assert found == [[3, 8]]


def test_a_captured_function_may_wait_for_a_thread_that_calls_a_compiled_one(monkeypatch):
    monkeypatch.setattr(compiled, "PATIENCE", 0.01)
    inner = torch.compile(lambda x: x * 2)

    def outer(x):
        thread = threading.Thread(target=lambda: inner(torch.ones(2)))
        thread.start()
        thread.join()
        return x * 3

    assert torch.compile(outer)(torch.ones(2)).tolist() == [3, 3]
