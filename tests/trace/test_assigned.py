"""A sentence that calls a tensor X is true only of the tensor that X is: whatever else a library function makes inside a line that assigns to X."""

import re

import pytest
from each import each
from library_calls import CALLS, recorded

import autograd_lab
from autograd_lab import lab

FORMS = {
    "line": "X = {}\n",
    "loop": "for turn in range(3):\n    X = {}\n",
    "rebound": "X = {}\nX = {}\n",
    "function": "def call():\n    X = {}\n    return X\nkept = call()\n",
    "pair": "X, kept_too = {}, w * 2\n",
    "walrus": "kept = (X := {})\n",
}


def check_line(call, form, torch=autograd_lab, record=lab.record):
    trace, space = recorded(torch, record, FORMS[form].format(*[call] * 2))
    called = {t: tensor["name"] for t, tensor in enumerate(trace.tensors) if re.match(r"X\b", tensor["name"])}
    space["X"] = bound = space.get("X", space.get("kept"))
    if form in ("loop", "rebound"):  # each turn has its X
        several = [t for t, name in called.items() if name == "X"]
        assert len(several) <= (0 if not isinstance(bound, torch.Tensor) else 3 if form == "loop" else 2)
        return
    for t, name in called.items():
        held = eval(
            re.sub(r"\.(\d+)", r"[\1]", name), space
        )  # "X.0.weight" is PyTorch's name in a Sequential
        assert isinstance(held, torch.Tensor), f"{name} is {type(held).__name__}"
        # what was made of another tensor's numbers is met when it is used
        assert not trace.knows(held) or trace.number_of(held) == t, f"{name} is another tensor"


@pytest.mark.parametrize("form", FORMS)
def test_what_a_library_makes_on_the_way_is_not_called_by_the_assigned_name(form):
    each(CALLS, check_line, form)


def test_nor_in_a_recording_of_pytorch():
    torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
    pytest.importorskip("torch.utils.checkpoint")
    each(CALLS, check_line, "line", torch, lab.record_torch)


def test_each_turn_names_what_its_statements_assign():
    def program(x):
        total = torch.tensor(0.0)
        for _ in range(3):
            x = (x * 2).detach().requires_grad_()
            a, b = (x * x).chunk(2)
            (g,) = torch.autograd.grad((a * b).sum(), x, create_graph=True)
            total = total + g.sum()
            total += a.sum()
            y: torch.Tensor = (b * 2).exp()
        return y, total

    torch = autograd_lab
    with lab.record() as trace:
        program(torch.tensor([1.0, 2.0], requires_grad=True))
    names = [t["name"] for t in trace.tensors]
    assert {name: names.count(name) for name in ("a", "b", "g", "y")} == dict.fromkeys("abgy", 3)
    assert names.count("x") == 4
    assert names.count("total") == 4  # 0, and what each turn makes of it: += writes in place
