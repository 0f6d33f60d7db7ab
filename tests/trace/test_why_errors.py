"""`lab.why(error)`: about the error with which a recording ended."""

import pytest

import autograd_lab as torch
from autograd_lab import lab


def overwritten(w):
    y = torch.exp(w)
    y += 1
    y.sum().backward()


def twice(w):
    loss = (w * w).sum()
    loss.backward()
    loss.backward()


def not_scalar(w):
    (w * 2).backward()


def leaf_written(w):
    w += 1


def copied(w):
    (torch.tensor(w.tolist()) * 2).sum().backward()


CAUSES = {
    overwritten: "inplace-saved",
    twice: "freed-graph",
    not_scalar: "loss-not-scalar",
    leaf_written: "inplace-leaf",
    copied: "item",
}


def stopped(program):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError) as caught, lab.record() as trace:
        program(w)
    return caught.value, w, trace


@pytest.mark.parametrize("program", CAUSES)
def test_an_error_is_explained_as_its_leaf_is(program):
    error, w, trace = stopped(program)
    answer = lab.why(error)
    assert answer.cause == CAUSES[program]
    assert str(answer) == str(lab.why(w)) == str(lab.why(error, trace=trace))


def test_a_loss_that_is_none_is_refused():
    with lab.record():
        w = torch.tensor(2.0, requires_grad=True)
        first, second = w * 2, w.detach() * 3
    for loss, name in ((first, "first"), (second, "second")):
        assert str(lab.why(w, name)) == str(lab.why(w, loss))
    assert str(lab.why(w, first)) != str(lab.why(w, second))
    with pytest.raises(KeyError, match="no tensor called 'third' is in the trace; it has"):
        lab.why(w, "third")
    with pytest.raises(
        TypeError, match="the loss that why.. is given is a tensor or the name of one, not float"
    ):
        lab.why(w, 3.0)


def test_an_error_of_another_program_is_not_explained():
    error, *_ = stopped(twice)
    other, *_ = stopped(overwritten)
    with pytest.raises(
        ValueError, match="did not end with this RuntimeError. What to do: run the code that raises it inside"
    ):
        lab.why(error)
    with lab.record():
        torch.ones(2) * 2
    with pytest.raises(ValueError, match="did not end with this RuntimeError"):
        lab.why(other)
    with pytest.raises(ValueError, match="did not end with this KeyError"):
        lab.why(KeyError("x"))


def test_an_error_that_has_nothing_to_do_with_gradients():
    def divide():
        (torch.ones(2) * 2).tolist()
        return 1 // 0

    with pytest.raises(ZeroDivisionError) as caught, lab.record():
        divide()
    with pytest.raises(ValueError, match="knows no more about this ZeroDivisionError than its text says"):
        lab.why(caught.value)
