"""lab.source: the rule of a node, to be read."""

import pytest

import autograd_lab as torch
from autograd_lab import lab


def test_the_source_of_a_rule_is_printed(capsys):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    lab.source(x * x)
    text = capsys.readouterr().out
    assert text.startswith("# autograd_lab/core/rules/arithmetic.py")
    assert "class MulBackward0" in text
    assert "def vjp" in text
    w, b = torch.ones(3, 2, requires_grad=True), torch.ones(3, requires_grad=True)
    lab.source(torch.nn.functional.linear(torch.ones(4, 2), w, b).grad_fn)  # fused until somebody looks
    assert "class AddmmBackward0" in capsys.readouterr().out
    with pytest.raises(TypeError, match="a leaf, which no node made"):
        lab.source(x)
    with pytest.raises(TypeError, match="this is a float"):
        lab.source(2.0)


def test_the_rules_of_pytorch_are_not_to_be_read():
    real = pytest.importorskip("torch", reason="asks for a node of real PyTorch", exc_type=ImportError)
    with pytest.raises(TypeError, match="a PyTorch node, whose rules are C\\+\\+"):
        lab.source(real.ones(2, requires_grad=True) * 2)
