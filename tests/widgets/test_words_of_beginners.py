"""No name of a rule's own variables reaches a learner, for all operations that the tests know: a saved value is called as in the program."""

import re

import pytest
from each import each

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.narrate import Narrator

RULES_OWN = re.compile(r"\b(self|(?<!every )other|exponent|mat1|mat2|tensor1|tensor2|indices|grad_output)\b")


def chain():
    """Each operation works on a value without a name, so that nothing but the rule's name is at hand."""
    x = torch.tensor([[0.5, 1.5], [2.5, 0.25]], requires_grad=True)
    with lab.record() as trace:
        y = (x * 2).exp() * (x + 1).sin()
        z = (y @ (x * 3)).pow(2).tanh() / (x + 5)
        torch.where(z > 0, (z * 1).sqrt().clamp(max=1), (z * 1).abs()).sum().backward()
    return trace


def numbers():
    with lab.record() as trace:
        x = torch.tensor(3.0, requires_grad=True)
        ((2 * x + 1) ** 2 / (x * x) * (x - 7)).backward()
    return trace


PROGRAMS = {"matrices": chain, "numbers": numbers}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_sentence_is_free_of_them(name):
    trace = PROGRAMS[name]()
    assert any(node["saved"] for node in trace.nodes)

    say = Narrator(trace).sentence

    def one(k):
        assert not RULES_OWN.search(say(k)), say(k)

    each(range(len(trace) + 1), one)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_saved_value_in_the_panel_is_free_of_them(name):
    film = lab.step(PROGRAMS[name]()).film
    names = [name for node in film["nodes"] for name, *_ in node["saved"]]
    assert names
    assert not [name for name in names if RULES_OWN.search(name)]
