"""`loss.backward()` in one go: what hooks do inside is as in any other pass, and afterwards all is as before."""

import pytest

import autograd_lab as torch
from autograd_lab.autograd.graph import queue_callback
from autograd_lab.autograd.modes import THREAD
from autograd_lab.express.loop import WholePass


@pytest.fixture(autouse=True)
def with_express(monkeypatch):
    monkeypatch.setenv("AUTOGRAD_LAB_EXPRESS", "1")
    torch.lab.fast()


@pytest.fixture
def seen():
    return []


def graph(hook):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.register_hook(hook)
    return x, y * y


def test_a_pass_of_which_nothing_unusual_is_known_is_one(seen):
    x, z = graph(lambda g: seen.append(type(THREAD.state.running)))
    z.backward()
    assert seen == [WholePass]
    assert x.grad == 36
    assert THREAD.state.running is None


def test_a_pass_in_a_pass_is_another(seen):
    def hook(g):
        with torch.enable_grad():
            inner, w = graph(lambda g: seen.append(type(THREAD.state.running)))
        w.backward()
        seen.append((type(THREAD.state.running), torch.is_grad_enabled(), inner.grad.item()))

    x, z = graph(hook)
    z.backward()
    assert seen[0] is not WholePass
    assert seen[1] == (WholePass, False, 36.0)
    assert x.grad == 36


def test_callbacks_run_at_its_end(seen):
    x, z = graph(lambda g: queue_callback(lambda: seen.append(x.grad.item())))
    z.backward()
    assert seen == [36.0]


def test_a_hook_that_raises_leaves_nothing_behind():
    def hook(g):
        torch.enable_grad().__enter__()
        torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
        raise ValueError("of the hook")

    _, z = graph(hook)
    with torch.no_grad(), pytest.raises(ValueError, match="of the hook"):
        z.backward()
    state = THREAD.state
    assert (state.saved_hooks, state.special, state.running, state.grad) == ([], False, None, True)


def test_the_grad_mode_is_that_of_before():
    _, z = graph(lambda g: torch.enable_grad().__enter__())
    with torch.no_grad():
        z.backward()
        assert not torch.is_grad_enabled()


def test_a_rule_may_write_into_the_single_number_that_arrives_or_send_it_through_a_pass_of_its_own():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            g.mul_(2)
            return g

    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x * x).sum()

        @staticmethod
        def backward(ctx, g):
            with torch.enable_grad():
                x = ctx.saved_tensors[0].detach().requires_grad_()
                return torch.autograd.grad((x * x).sum(), x, g)[0]

    a, x = torch.tensor(3.0, requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    (Doubled.apply(a) * 1.0 + Squared.apply(x) * 5.0).backward()
    assert (a.grad.item(), x.grad.tolist()) == (2.0, [10.0, 30.0])
