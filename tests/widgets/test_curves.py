"""The curves of a training loop: which passes are points of them, and what they are called."""

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets.curves import curves


def shown(program):
    with lab.record() as trace:
        program()
    return curves(trace)


def losses_of(program, variable):
    """What a program's variable `variable` was at each pass, from the program itself."""
    seen = []
    program(lambda value: seen.append(float(f"{value.item():.4g}")))
    return variable, seen


def regression(see=lambda loss: None):
    w = torch.tensor(1.0, requires_grad=True)
    for x in (1.0, 2.0, 3.0):
        loss = (w * x - 5.0) ** 2
        see(loss)
        loss.backward()


def added_up(see=lambda loss: None):
    """The loss is written in place."""
    w = torch.tensor(1.0, requires_grad=True)
    for x in (1.0, 2.0, 3.0):
        loss = (w * x - 5.0) ** 2
        loss += 0.1 * w * w
        see(loss)
        loss.backward()


def penalty(see=lambda loss: None):
    """`autograd.grad` in each iteration, too."""
    x = torch.tensor(2.0, requires_grad=True)
    for _ in range(3):
        y = x**3
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        total = y + g * g
        see(total)
        total.backward()


def two_losses(see=lambda loss: None):
    """As in a generative adversarial network; the second pass reaches all parameters."""
    a, b = (torch.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    for _ in range(3):
        a.grad = b.grad = None
        d_loss = a * a
        d_loss.backward()
        g_loss = (a * b) ** 2
        see(g_loss)
        g_loss.backward()
        with torch.no_grad():
            b -= 0.01 * b.grad


@pytest.mark.parametrize(
    ("program", "name"),
    [(regression, "loss"), (added_up, "loss"), (penalty, "total"), (two_losses, "g_loss")],
)
def test_a_curve_has_the_passes_of_one_place_and_the_name_of_what_they_start_from(program, name):
    found = shown(program)
    assert (found["name"], found["loss"]) == losses_of(program, name)
    assert len(found["steps"]) == 3
    assert all(len(line) == 3 and None not in line for line in found["grads"].values())


def test_a_second_loss_has_a_curve_of_its_own():
    found, asked = shown(two_losses), []
    assert [(one["name"], len(one["steps"])) for one in found["others"]] == [("d_loss", 3)]
    assert all(first < then for first, then in zip(found["others"][0]["steps"], found["steps"], strict=True))

    def seeing(grad):
        asked.append(float(f"{(grad.item() / 2) ** 2:.4g}"))

    a = torch.tensor(1.0, requires_grad=True)
    a.register_hook(seeing)
    for _ in range(3):
        (a * a).backward()
    assert found["others"][0]["loss"] == asked, "a never changes: its square is the loss"


def test_passes_that_fill_no_grad_are_no_loss():
    assert shown(penalty)["others"] == []
    assert shown(regression)["others"] == []


def test_passes_of_two_places_are_no_loop():
    """The first begins at y and the second at the gradient of y: no curve leads from one to the other."""

    def program():
        x = torch.tensor(5.0, requires_grad=True)
        y = x**3
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.backward()

    assert shown(program) is None


def test_what_has_no_name_or_several_is_called_loss():
    def unnamed():
        w = torch.tensor(1.0, requires_grad=True)
        for x in (1.0, 2.0):
            (w * x).backward()

    def one_by_one():
        w = torch.tensor(1.0, requires_grad=True)
        first, second = w * 2, w * 3
        for loss in (first, second):
            loss.backward()

    assert [shown(program)["name"] for program in (unnamed, one_by_one)] == ["loss", "loss"]
