"""Checkpointing. Expectations from PyTorch 2.13.0."""

import contextlib
import gc
import weakref

import pytest

import autograd_lab as torch
from autograd_lab.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


class Logged:
    """A function that notes how often it ran, and what it did when."""

    def __init__(self, first, later=None):
        self.first, self.later = first, later or first
        self.runs = 0

    def __call__(self, *args, **kwargs):
        self.runs += 1
        return (self.first if self.runs == 1 else self.later)(*args, **kwargs)


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_the_gradient_is_the_same(use_reentrant):
    w = leaf(3.0)
    x = leaf(1.0, 2.0)
    f = Logged(lambda t: ((t * w).exp() * t).sin())
    y = checkpoint(f, x, use_reentrant=use_reentrant)
    y.sum().backward()
    plain_x, plain_w = torch.autograd.grad(f.first(x).sum(), (x, w))
    assert x.grad.tolist() == pytest.approx(plain_x.tolist())
    assert w.grad.tolist() == pytest.approx(plain_w.tolist())
    assert f.runs == 2


def test_the_graph_is_the_functions_own():
    y = checkpoint(lambda t: (t * 2).exp(), leaf(1.0), use_reentrant=False)
    assert (y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()) == ("ExpBackward0", "MulBackward0")
    y = checkpoint(lambda t: (t * 2).exp(), leaf(1.0), use_reentrant=True)
    assert y.grad_fn.name() == "CheckpointFunctionBackward"


def test_one_second_run_for_everything_saved_and_one_per_pass():
    x = leaf(1.0)
    f = Logged(lambda t: t.exp() * t.sin() + t.tanh())
    y = checkpoint(f, x, use_reentrant=False)
    y.backward(retain_graph=True)
    assert f.runs == 2
    y.backward()
    assert f.runs == 3
    with pytest.raises(RuntimeError):
        y.backward()


def test_nothing_runs_again_without_need():
    f = Logged(lambda t: t * t)
    checkpoint(f, torch.ones(1), use_reentrant=False)
    with torch.no_grad():
        checkpoint(f, leaf(1.0), use_reentrant=False)
    g = Logged(lambda t: t + 1)
    checkpoint(g, leaf(1.0), use_reentrant=False).backward()
    assert (f.runs, g.runs) == (2, 1)


def test_early_stop():
    log = []

    def f(t):
        y = t.exp()
        log.append("end")
        return y + 1

    checkpoint(f, leaf(1.0), use_reentrant=False).backward()
    assert log == ["end"]
    checkpoint(f, leaf(1.0), use_reentrant=False, early_stop=False).backward()
    assert log == ["end"] * 3
    with set_checkpoint_early_stop(False):
        y = checkpoint(f, leaf(1.0), use_reentrant=False)
    y.backward()
    assert log == ["end"] * 5


def test_nested():
    log = []

    def inner(t):
        log.append("inner")
        return t.sin().exp()

    def outer(t):
        log.append("outer")
        return checkpoint(inner, t * 2, use_reentrant=False).tanh()

    x = leaf(0.5, -0.5)
    checkpoint(outer, x, use_reentrant=False).sum().backward()
    assert log == ["outer", "inner", "outer", "inner", "inner"]
    (plain,) = torch.autograd.grad((x * 2).sin().exp().tanh().sum(), x)
    assert x.grad.tolist() == pytest.approx(plain.tolist())


def test_autograd_grad_and_second_order():
    x = leaf(1.0, 2.0)
    (g,) = torch.autograd.grad(
        checkpoint(lambda t: (t**3).sum(), x, use_reentrant=False), x, create_graph=True
    )
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6.0, 12.0]
    y = checkpoint(lambda t: (t**2).sum(), x, use_reentrant=True)
    with pytest.raises(
        RuntimeError, match="When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad()"
    ):
        torch.autograd.grad(y, x)


def test_backward_inside_the_function():
    def f(t):
        y = t.sin()
        (g,) = torch.autograd.grad(y.cos().sum(), t)
        return t.cos() * g

    x = leaf(0.5)
    y = checkpoint(f, x, use_reentrant=False)
    y.backward()
    (plain,) = torch.autograd.grad(f(x), x)
    assert x.grad.item() == pytest.approx(plain.item())


def test_arguments():
    m = leaf(1.0)
    y = checkpoint(
        lambda a, n, k=1.0, m=None: (a * n * k + m).exp(), leaf(0.1), 2, k=0.5, m=m, use_reentrant=False
    )
    y.backward()
    assert m.grad.tolist() == y.tolist()
    a, c = checkpoint(lambda t: (t.exp(), 3), leaf(1.0), use_reentrant=False)
    assert c == 3
    a.backward()


def test_contexts():
    log = []

    @contextlib.contextmanager
    def note(name):
        log.append(name)
        yield

    checkpoint(
        lambda t: t.exp(), leaf(1.0), use_reentrant=False, context_fn=lambda: (note("first"), note("second"))
    ).backward()
    assert log == ["first", "second"]


def test_warnings_and_refused_arguments():
    with pytest.warns(
        UserWarning, match="torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly."
    ):
        y = checkpoint(lambda t: t.exp(), leaf(1.0))
    assert y.grad_fn.name() == "CheckpointFunctionBackward"
    with pytest.warns(
        UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"
    ):
        checkpoint(lambda t: t.exp(), torch.ones(1), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        checkpoint(lambda t, k: t, leaf(1.0), k=2, use_reentrant=True)
    with pytest.raises(
        ValueError, match="Passing `context_fn` or `debug` is only supported when use_reentrant=False."
    ):
        checkpoint(lambda t: t, leaf(1.0), debug=True, use_reentrant=True)
    with pytest.raises(
        ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got some"
    ):
        checkpoint(lambda t: t, leaf(1.0), determinism_check="some", use_reentrant=False)


# -- runs that differ ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("later", "options", "text"),
    [
        (lambda t: t + 1, {}, "A different number of tensors was saved during the original forward and recomputation.\nNumber of tensors saved during forward: 1\nNumber of tensors saved during recomputation: 0."),
        (lambda t: t.exp().exp(), {"early_stop": False}, "trying to save more tensors during recomputation than during the original forward pass."),
        (lambda t: t.repeat(2).exp(), {}, "Recomputed values for the following tensors have different metadata than during the forward pass."),
        (lambda t: t.double().exp(), {}, "Recomputed values for the following tensors have different metadata"),
    ],
)  # fmt: skip
def test_mismatch(later, options, text):
    y = checkpoint(Logged(lambda t: t.exp(), later), leaf(1.0), use_reentrant=False, **options)
    with pytest.raises(CheckpointError, match=text):
        y.sum().backward()


def test_the_check_can_be_switched_off():
    x = leaf(1.0)
    checkpoint(
        Logged(lambda t: t.exp(), lambda t: (t + 1).exp()), x, use_reentrant=False, determinism_check="none"
    ).backward()
    assert x.grad.item() == pytest.approx(7.389056)


def test_debug_tells_more():
    for everywhere, here in ((None, True), (True, False)):
        with set_checkpoint_debug_enabled(everywhere):
            y = checkpoint(
                Logged(lambda t: t.exp(), lambda t: t + 1), leaf(1.0), use_reentrant=False, debug=here
            )
        with pytest.raises(
            CheckpointError, match="(?s)dumping logs of latest computation.*ERROR: Detected non-determinism"
        ):
            y.backward()


def test_an_exception_in_the_function():
    with pytest.raises(ZeroDivisionError):
        checkpoint(lambda t: 1 / 0, leaf(1.0), use_reentrant=False)
    x = leaf(1.0)
    y = checkpoint(Logged(lambda t: t.exp(), lambda t: 1 / 0), x, use_reentrant=False)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    assert torch.is_grad_enabled()
    (x * x).backward()  # no hook was left behind


# -- the rest -----------------------------------------------------------------------------------------


def test_random_numbers_are_drawn_again():
    seen = []

    def f(t):
        r = torch.rand(1)
        seen.append(r.item())
        return t * r

    torch.manual_seed(0)
    checkpoint(f, leaf(1.0), use_reentrant=False, early_stop=False).backward()
    following = torch.rand(1).item()
    torch.manual_seed(0)
    assert seen == [torch.rand(1).item()] * 2
    assert following == torch.rand(1).item()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_sequential(use_reentrant):
    fs = [Logged(torch.tanh), Logged(torch.exp), Logged(torch.sin), Logged(torch.cos), Logged(torch.tanh)]
    x = leaf(0.5, -0.5)
    checkpoint_sequential(fs, 2, x, use_reentrant=use_reentrant).sum().backward()
    assert [f.runs for f in fs] == [2, 2, 1, 1, 1]
    (plain,) = torch.autograd.grad(x.tanh().exp().sin().cos().tanh().sum(), x)
    assert x.grad.tolist() == pytest.approx(plain.tolist())


def test_nothing_is_kept_after_the_pass():
    """Neither the recomputed values nor the function's own outlive the graph."""
    gc.disable()
    try:
        kept = []

        def f(t):
            y = t * 2
            kept.append(weakref.ref(y))
            return y.exp() * y

        y = checkpoint(f, leaf(1.0), use_reentrant=False)
        assert kept[0]() is None or y.grad_fn is not None
        y.backward()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
        assert all(ref() is None for ref in kept)
    finally:
        gc.enable()


@pytest.mark.parametrize("passes", [0, 1])
def test_inputs_die_with_the_graph(passes):
    """A frame holds the inputs; nothing of it may hold itself."""
    gc.disable()
    try:
        x = leaf(1.0)
        y = checkpoint(lambda t: checkpoint(torch.sin, t.cos(), use_reentrant=False), x, use_reentrant=False)
        for _ in range(passes):
            torch.autograd.grad(y, x, create_graph=True)
        ref = weakref.ref(x)
        del x, y
        assert ref() is None
    finally:
        gc.enable()


def test_saved_tensors_can_be_read_once_a_pass():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    y = checkpoint(lambda t: Twice.apply(t * 2), leaf(1.0), use_reentrant=False)
    with pytest.raises(
        CheckpointError, match="Unpack is being triggered for a tensor that was already unpacked once."
    ):
        y.backward()
