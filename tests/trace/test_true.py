"""Sentences that were false: what is said of requires_grad, of seeds, and of what the library does in a pass."""

import contextlib
import re

import pytest
from unchanged import outcome
from whole_programs import PROGRAMS

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
        "h₃ is detached from h₂: same numbers, no history, so no gradient passes here."
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


def test_a_hook_that_gives_other_numbers_changes_the_gradient():
    """Their range was the same, or four digits, and it was said to leave the gradient as it is."""
    x = torch.arange(6.0).requires_grad_()
    cases = {
        "leaves it as it is.": lambda g: g.neg().neg(),
        "puts other numbers into the gradient: again 6 values from 0 to 5.": lambda g: g.flip(0),
        "from 6 values from 0 to 5 to 6 values from 0 to 10.": lambda g: 2 * g,
    }
    for end, hook in cases.items():
        y = x * 1
        y.register_hook(hook)
        assert told(lambda y=y: y.backward(torch.arange(6.0)), "hook")[0].endswith(end)
    z = x.sum() * 1
    z.register_hook(lambda g: g * 1.00002)
    assert told(z.backward, "hook") == ["A hook on z changes the gradient from 1 to 1.00002."]
    x.register_post_accumulate_grad_hook(lambda t: setattr(t, "grad", t.grad.flip(0)))
    x.grad = None
    assert told(lambda: x.backward(torch.arange(6.0)), "hook") == [
        "A post-accumulate hook on x puts other numbers into x.grad: again 6 values from 0 to 5."
    ]
    w = leaf(2.0)
    w = w * w
    w.grad_fn.register_hook(lambda gi, go: None)
    assert told(w.backward, "hook")[0].endswith(
        "looks at the gradients [2] and [2] and leaves them as they are."
    )


def test_what_is_about_to_be_saved_was_not_computed_before():
    """Hooks on saved values get a result before its node is made: it was said to come in with a history."""
    x = leaf(0.3)

    def saving():
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
            (x * 2).tanh()

    def again():
        checkpoint(lambda x: (x * 2).tanh().exp(), x, use_reentrant=False).backward()

    for program, end in ((saving, "A hook on saved values gets it"), (again, "checkpoint takes it")):
        came = [text for text in told(program, "leaf") if "constant" not in text and "leaf" not in text]
        assert "has just computed [0.537" in came[0]
        assert all(end in text for text in came)


def test_a_gradient_that_is_deleted_was_not_assigned():
    x = leaf(1.0)

    def program():
        x.sum().backward()
        del x.grad
        x.grad = None
        x.grad = torch.ones(1)

    assert [text.partition(": ")[0] for text in told(program, "grad")] == ["x.grad was cleared"] * 2 + [
        "x.grad was assigned"
    ]


def test_data_that_is_written_into_was_not_just_computed():
    """It was said that a hook on saved values gets it, since the write gave it a node."""

    def program():
        y = torch.zeros(2)
        y.add_(leaf(2.0, 3.0))

    assert told(program, "leaf")[0] == "y is plain data: it needs no gradient. Its value: [0, 0]."


@pytest.mark.parametrize("name", [name for name in PROGRAMS if PROGRAMS[name].only != "torch"])
def test_only_who_asks_for_saved_values_gets_them_early(name):
    source = PROGRAMS[name].source
    _, trace = outcome(name, source, torch, lab.record)
    early = [
        narrate(trace, k)
        for k, e in enumerate(trace.events, 1)
        if e["k"] == "leaf" and "has just computed" in narrate(trace, k)
    ]
    assert not early or re.search(r"saved_tensors_hooks|checkpoint|save_on_cpu|disable_saved", source), early


def test_a_gradient_that_a_hook_cleared_is_not_counted_in_the_end():
    def program(clear):
        w = leaf(1.0)
        if clear:
            w.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
        w.sum().backward()

    (kept,), (cleared,) = (told(lambda c=c: program(c), "done") for c in (False, True))
    assert kept == "The queue is empty: the backward pass is complete, and 1 leaf has its .grad."
    assert cleared == "The queue is empty: the backward pass is complete."


def test_the_end_of_a_pass_counts_the_leaves_of_that_pass():
    """Those that a pass inside of it filled were counted at the wrong end; so were gradients that were reset later."""
    w, x = leaf(2.0), leaf(3.0)

    def inside():
        checkpoint(lambda x: (x * w).tanh(), x, use_reentrant=True).sum().backward()

    def twice():
        for p in (w, x):
            p.grad = None
        (w * x).sum().backward()
        for p in (w, x):
            p.grad = None
        (w * x).sum().backward()

    for program, ends in ((inside, [2, 1]), (twice, [2, 2])):
        found = [re.findall(r"(\d+) lea", text) for text in told(program, "done")]
        assert found == [[str(n)] for n in ends]


class Overwriting(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_a_function_that_writes_into_its_operand_returns_the_new_value():
    def program():
        b = leaf(3.0) * 1
        Overwriting.apply(b)

    assert told(program, "node")[-1].startswith("Overwriting runs: b = [6].")


def test_a_root_that_is_given_twice_is_named_once():
    def program():
        y = leaf(2.0).sum()
        torch.autograd.backward([y, y])

    assert told(program, "backward") == ["The backward pass starts at SumBackward0 (twice)."]


def test_a_write_into_what_was_detached_from_a_view_reaches_the_base():
    """X kept its old numbers on the screen, and x * x was said to save those."""

    def program(write):
        x = leaf(1.0, 2.0)
        write(x[1:])
        x * x

    def cut(v):
        v.detach().fill_(7.0)

    def behind(v):
        v.data.view(1, 1).fill_(7.0)

    for write, end in ((cut, "it is [1, 7] now, and its version is 1, too."), (behind, "now [1, 7]. Nobody counted it: its version is still 0.")):  # fmt: skip
        assert told(lambda w=write: program(w), "inplace")[-1].endswith(end)
        assert "saves x ([1, 7])" in told(lambda w=write: program(w), "node")[-1]
