"""Sentences that were false: what is said of requires_grad, of seeds, and of what the library does in a pass."""

import contextlib

import pytest

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.tracing import narrate
from autograd_lab.utils.checkpoint import checkpoint


def told(program, *kinds):
    with lab.record() as trace:
        program()
    return [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] in kinds]


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_what_is_frozen_requires_no_gradient():
    def program(freeze):
        w = leaf(1.0, 2.0)
        w * 2
        freeze(w)
        w * 3
        w.requires_grad_()
        torch.gt(w, 1)

    for freeze in (
        lambda w: w.requires_grad_(False),
        lambda w: setattr(w, "requires_grad", False),
        lambda w: w.detach_(),
    ):
        frozen, compared = told(lambda freeze=freeze: program(freeze), "const")
        assert "None of its inputs requires a gradient" in frozen
        assert "Such numbers have no derivative" in compared


def test_a_flag_is_told_by_what_it_was_set_to():
    w = leaf(1.0)
    texts = told(lambda: [w * 1, setattr(w, "requires_grad", False), w.requires_grad_()], "flag")
    assert [text.rpartition(": ")[2] for text in texts] == [
        "its requires_grad was set to False.",
        "its requires_grad was set to True.",
    ]


def test_a_result_of_one_number_in_brackets_is_seeded_with_one():
    w = leaf(2.0)
    assert told(lambda: (w * 2).backward(), "seed") == [
        "MulBackward0 is seeded with [1]: the gradient of the result with respect to itself."
    ]
    assert "the given gradient: [3]" in told(lambda: (w * 2).backward(torch.tensor([3.0])), "seed")[0]
    assert (
        "the given gradient: [1, 1]" in told(lambda: (leaf(1.0, 2.0) * 2).backward(torch.ones(2)), "seed")[0]
    )


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_what_a_function_computes_after_a_checkpoint_in_a_pass_is_told_as_before():
    texts = told(
        lambda: checkpoint(torch.sin, Doubled.apply(leaf(1.0)), use_reentrant=False).backward(), "const"
    )
    assert [text for text in texts if text.startswith("mul runs in the backward pass")]
    assert not [text for text in texts if "no_grad" in text]


def test_the_library_detaches_by_its_name():
    layer = nn.Linear(1, 1)
    w = leaf(1.0)
    w.sum().backward()
    assert (
        told(layer.state_dict, "detach")[0]
        == "Linear.state_dict detaches layer.weight for its work: same numbers, no history."
    )
    assert told(lambda: nn.utils.clip_grad_norm_([w], 1.0), "detach") == [
        "clip_grad_norm_ detaches w.grad for its work: same numbers, no history."
    ]
    assert told(w.detach, "detach") == [
        "w is detached: the result has the same numbers, no history, so no gradient passes here."
    ]


def test_a_variable_that_is_detached_from_itself():
    def program():
        h = leaf(1.0)
        h = h * 2
        h = h.detach()
        return h

    assert told(program, "detach") == [
        "h is now what h was, detached: same numbers, no history, so no gradient passes here."
    ]


def test_a_program_that_catches_an_error_goes_on():
    def program(again):
        v = torch.tensor([1.0])
        for _ in range(again):
            with contextlib.suppress(RuntimeError):
                v.sum().backward()

    texts = told(lambda: program(2), "error")
    assert len(texts) == 2
    for text in texts:
        assert text.startswith(
            "A call fails with a RuntimeError, and the program goes on. The message: element 0 of tensors"
        )
    with pytest.raises(RuntimeError), lab.record() as trace:
        torch.tensor([1.0]).sum().backward()
    assert narrate(trace, len(trace)).startswith("The program stops with a RuntimeError: element 0")


def test_a_view_that_is_written_is_called_by_what_made_it():
    def program():
        u = torch.zeros(2)
        u[0] = leaf(1.0)[0] * 2

    assert told(program, "inplace")[0].startswith("The result of select is changed in place by copy_")
