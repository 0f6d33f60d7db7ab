"""What `lab.step(fn, ...)` says to a call that cannot show what its caller wants to see."""

import functools

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import narrate


def number():
    return torch.tensor(2.0, requires_grad=True)


def generator(x):
    yield x * 2


async def coroutine(x):
    return x * 2


async def async_generator(x):
    yield x * 2


class Callable:
    def __call__(self, x):
        yield x * 2


@pytest.mark.parametrize(
    "fn",
    [generator, coroutine, async_generator, Callable(), functools.partial(generator), Callable().__call__],
)
def test_a_function_whose_call_does_not_run_it_is_refused(fn):
    with pytest.raises(TypeError, match=r"only prepares it. What to do: run it inside `with lab.record"):
        lab.step(fn, number())


def test_tensors_of_pytorch_lead_to_record_torch():
    real = pytest.importorskip("torch", exc_type=ImportError)
    with pytest.raises(TypeError, match=r"weight is one of PyTorch's. What to do: trace = lab.record_torch"):
        lab.step(lambda weight: weight * 2, real.tensor(2.0, requires_grad=True))
    with pytest.raises(TypeError, match="record_torch"):
        lab.step(lambda x: x, real.nn.Parameter(real.ones(2)))


@pytest.mark.parametrize(
    ("fn", "what"),
    [
        (lambda x: None, r"None \(is there a `return`\?\)"),
        (lambda x: (x * 2, x * 3), "a tuple"),
        (lambda x: {"loss": x * 2}, "a dict"),
        (lambda x: (x * 2).item(), "a float"),
        (lambda x: (x * 2).detach().numpy(), "a ndarray"),
        (lambda x: int(x), "an int"),
    ],
)
def test_a_result_that_no_pass_can_start_from_is_told(fn, what):
    with pytest.warns(
        UserWarning, match=f"there is no backward pass to step through: the function returned {what}"
    ):
        stepper = lab.step(fn, number())
    assert not [e for e in stepper.trace.events if e["k"] == "backward"]


def test_a_function_that_runs_its_own_pass_may_return_nothing():
    assert [e for e in lab.step(lambda x: (x * x).backward(), number()).trace.events if e["k"] == "backward"]
    assert "nothing" in str(lab.cost(lambda x: None, number()))


def test_the_warning_points_at_the_call():
    with pytest.warns(UserWarning, match="no backward pass") as caught:
        lab.step(lambda x: None, number())
    assert caught[0].filename == __file__


def test_a_tensor_without_a_graph_needs_no_warning():
    """Here the graph that is shown says why."""
    assert lab.step(lambda x: x.detach() * 2, number()).trace.events


@pytest.mark.parametrize("fn", [lambda x: x * torch.ones(3), lambda x: [y := x * x, y.backward(), y][2]])
def test_a_pass_that_fails_says_whose_it_is(fn):
    with pytest.raises(RuntimeError) as caught:
        lab.step(fn, number())
    (note,) = caught.value.__notes__
    assert note.startswith(
        "lab.step(fn, ...) calls backward() on what fn returns. What to do: return one number"
    )


def test_options_that_are_none_say_what_there_is():
    with pytest.raises(TypeError, match=r"no option 'k'.*To give the function its k: lab.step\(lambda"):
        lab.step(lambda x, k: x * k, number(), k=3)
    with pytest.raises(
        ValueError, match="step.. takes level= one of simple, rules, queue, saved, all, not 'hard'"
    ):
        lab.step(lambda x: x * 2, number(), level="hard")
    with pytest.raises(ValueError, match="step.. takes mode= one of watch, predict, engine, not 'engin'"):
        lab.step(lambda x: x * 2, number(), mode="engin")
    with pytest.raises(ValueError, match="step.. takes by= one of event, node, iteration, not 'line'"):
        lab.step(lambda x: x * 2, number(), by="line")


def test_an_empty_recording_says_that_it_is_empty():
    with lab.record() as trace:
        np.ones(3) * 2
    assert narrate(trace, 0) == "Nothing was recorded: no operation ran on a tensor of autograd_lab."
    assert lab.step(trace).position == 0
