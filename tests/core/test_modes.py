"""Grad modes and inference mode. Expectations from PyTorch 2.13.0."""

import asyncio
import threading

import pytest

import autograd_lab as torch

enabled = torch.is_grad_enabled


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def test_context_and_decorator():
    with torch.no_grad():
        assert not enabled()
        with torch.enable_grad():
            assert enabled()
        assert not enabled()
    assert enabled()

    @torch.no_grad
    def bare():
        return enabled()

    @torch.no_grad()
    def called():
        return enabled()

    @torch.enable_grad()
    def on():
        return enabled()

    with torch.no_grad():
        assert (bare(), called(), on()) == (False, False, True)
    assert (bare(), bare.__name__, enabled()) == (False, "bare", True)


def test_a_mode_ends_with_its_block_even_after_an_error():
    with pytest.raises(ZeroDivisionError), torch.no_grad():
        1 / 0  # noqa: B018
    assert enabled()


def test_one_object_inside_itself_forgets():
    """PyTorch keeps one former mode per object, so nesting an object in itself loses the outer one."""
    mode = torch.no_grad()
    with mode:
        with mode:
            pass
        assert not enabled()
    assert not enabled()
    torch.set_grad_enabled(True)


def test_set_grad_enabled():
    torch.set_grad_enabled(False)
    assert not enabled()
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False) as nothing:
        assert nothing is None
        assert not enabled()

    @torch.set_grad_enabled(False)
    def off():
        return enabled()

    assert enabled()  # as a decorator it acts only during calls
    assert not off()
    assert str(torch.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"


def test_a_generator_has_the_mode_only_while_it_runs():
    log = []

    @torch.no_grad()
    def generate():
        log.append(enabled())
        sent = yield 1
        log.append((sent, enabled()))
        try:
            yield 2
        except ValueError:
            log.append(("caught", enabled()))
        try:
            yield 3
        finally:
            log.append(("closed", enabled()))
        return "end"

    g = generate()
    assert (next(g), enabled()) == (1, True)
    assert (g.send("x"), enabled()) == (2, True)
    assert (g.throw(ValueError()), enabled()) == (3, True)
    g.close()
    assert log == [False, ("x", False), ("caught", False), ("closed", False)]
    assert enabled()


def test_a_generator_returns_its_value():
    @torch.no_grad()
    def generate():
        yield 1
        return "end"

    g = generate()
    next(g)
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == "end"


def test_a_coroutine_runs_in_the_mode_of_who_awaits_it():
    """PyTorch's decorator has left the mode before the body begins."""

    @torch.no_grad()
    async def body():
        before = enabled()
        await asyncio.sleep(0)
        return before, enabled()

    assert asyncio.run(body()) == (True, True)


def test_a_mode_in_one_coroutine_leaks_into_others():
    """The mode belongs to the thread, not to the task; as in PyTorch."""
    log = []

    async def one():
        with torch.no_grad():
            await asyncio.sleep(0)
            log.append(("one", enabled()))

    async def other():
        log.append(("other", enabled()))

    async def both():
        await asyncio.gather(one(), other())

    asyncio.run(both())
    assert log == [("other", False), ("one", False)]
    assert enabled()


def test_threads_do_not_disturb_each_other():
    inside, leave = threading.Event(), threading.Event()
    seen = {}

    def work():
        seen["start"] = enabled()
        x = leaf(1.0)
        with torch.no_grad():
            inside.set()
            leave.wait(10)
            seen["inside"] = (x * 2).requires_grad
        seen["end"] = (x * 2).requires_grad

    thread = threading.Thread(target=work)
    with torch.inference_mode():
        thread.start()
        assert inside.wait(10)
        with torch.enable_grad():
            seen["main"] = enabled()
        leave.set()
        thread.join()
    assert seen == {"start": True, "inside": False, "end": True, "main": True}


def test_many_threads_run_backward_through_graphs_of_their_own():
    errors = []

    def work(k):
        try:
            for _ in range(30):
                x = leaf(float(k), 1.0)
                with torch.no_grad():
                    assert not (x * 2).requires_grad
                ((x * k).exp().log() * 3).sum().backward()
                assert x.grad.tolist() == pytest.approx([3.0 * k, 3.0 * k], rel=1e-4)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @torch.no_grad()
        class Thing:
            def __init__(self):
                self.mode = enabled()

    assert Thing().mode is False


def test_no_grad_makes_constants_of_copies_but_not_of_views():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        copy, view = x * 1, x[:1]
    assert (copy.requires_grad, view.requires_grad, view.is_leaf, view.grad_fn) == (False, True, True, None)
    with pytest.raises(
        RuntimeError,
        match="A view was created in no_grad mode and is being modified inplace with grad mode enabled",
    ):
        view.add_(1)


def test_a_view_made_without_recording_leads_nowhere():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        v = x[:]
    y = (v * 2).sum()
    assert y.requires_grad
    assert y.grad_fn.next_functions[0][0].next_functions == ((None, 0), (None, 0))
    y.backward()
    assert (v.grad, x.grad) == (None, None)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad((v * 2).sum(), v)


# -- inference mode -----------------------------------------------------------------------------------


def test_inference_mode_forms():
    @torch.inference_mode
    def bare():
        return torch.is_inference_mode_enabled(), enabled()

    @torch.inference_mode(False)
    def off():
        return torch.is_inference_mode_enabled(), enabled()

    assert bare() == (True, False)
    with torch.inference_mode():
        assert off() == (False, True)
        assert torch.is_inference_mode_enabled()
    assert (torch.is_inference_mode_enabled(), enabled()) == (False, True)


def test_nothing_is_recorded_in_inference_mode_whatever_is_asked():
    with torch.inference_mode(), torch.enable_grad():
        assert enabled()
        assert not (leaf(1.0) * 2).requires_grad


def test_which_tensors_are_inference_tensors():
    x = leaf(1.0, 2.0)
    with torch.inference_mode():
        made = [torch.ones(2), x * 2, x.clone()]
        views = [x[:1], x[:1][:1], x.detach()]
        assert made[0].view(2).is_inference()
    assert all(t.is_inference() and torch.is_inference(t) for t in made)
    assert not any(t.is_inference() for t in views)
    assert not made[0].clone().is_inference()
    assert made[0].data.is_inference()


def test_what_inference_tensors_may_not_do():
    x = leaf(1.0, 2.0)
    with torch.inference_mode():
        t = torch.ones(2)
        t.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter."):
        t._version  # noqa: B018
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed."
    ):
        t.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward."):
        x * t
    with pytest.raises(
        RuntimeError,
        match="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
    ):
        t.requires_grad_()
    assert (x + t).requires_grad  # nothing saved, so nothing wrong
    (x * t.clone()).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]  # PyTorch, too, had written before it complained


def test_a_view_made_in_inference_mode_of_a_normal_tensor():
    h = leaf(1.0, 2.0) * 1
    with torch.inference_mode():
        v = h[:1]
    with pytest.raises(
        RuntimeError,
        match="A view was created in inference mode and is being modified inplace in normal mode.",
    ):
        v.add_(1)
    h.add_(1)
    with pytest.raises(
        RuntimeError,
        match="created in inference mode and its base or another view of its base has been modified",
    ):
        v.grad_fn  # noqa: B018


def test_normal_tensors_written_in_inference_mode_count_versions():
    t = torch.zeros(2)
    with torch.inference_mode():
        t.add_(1)
    assert (t._version, t.is_inference()) == (1, False)
