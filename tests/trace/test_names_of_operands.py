"""Operands have names, not numbers, and a custom Function has that of its class, in all that the stepper shows."""

import re

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import rules
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.widgets.frames import film


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, times, by):
        ctx.by = by
        return x * times * by

    @staticmethod
    def backward(ctx, g):
        return g * ctx.by, None, None


class Backward_(Scaled):
    """Of a name in which PyTorch's own suffix stands."""


def sentences(trace):
    return list(map(Narrator(trace).sentence, range(len(trace) + 1)))


def test_operands_have_names():
    x, k, w = (torch.tensor(v, requires_grad=v > 2) for v in (3.0, 2.0, 5.0))
    before = Scaled.apply(x * w.detach(), 2, k)
    b = torch.ones(2) * x
    b[:1].mul_(w)
    with lab.record() as trace:
        y = Scaled.apply(x * 2, 4, k)
        z = Scaled.apply(y, 4, torch.tensor(1.0))
        n = torch.nn.functional.layer_norm(z.reshape(1), (1,), None, w.reshape(1))
        (before + n.sum() + b.sum()).backward()
    said = sentences(trace)
    texts = [to for n in range(len(trace.nodes)) for to, _ in rules.sends(trace, n)]
    for e in trace.events:
        if e["k"] == "vjp":
            texts += [term.to for term in rules.terms(trace, e["n"], e["in"], e["out"])]
    assert not re.search(r"operand \d", "\n".join([*said, *texts, str(film(trace))]))
    pruned = [said[i + 1] for i, e in enumerate(trace.events) if e["k"] == "pruned"]
    assert (
        {re.sub(r"\w+ #\d|\w+Backward\w*", "N", text) for text in pruned}
        == {
            "N sends nothing to k, which needs no gradient.",
            "N sends nothing to the constant 2, which needs no gradient.",
            "N sends nothing to by, which needs no gradient.",  # known only as forward's parameter
            "N sends nothing to weight, which was not given.",
            "N sends nothing to one of its operands, which needs no gradient.",  # of a Function from before the recording
            "N sends nothing to a, which needs no gradient.",  # and of products, by the letters of their rule
            "N sends nothing to b_, which needs no gradient.",
        }
    )
    first = next(e for e in trace.events if e["k"] == "vjp" and trace.nodes[e["n"]]["outputs"][:1] == [trace.nodes[2]["outputs"][0]])  # fmt: skip
    assert [t.to for t in rules.terms(trace, first["n"], first["in"], first["out"])] == [
        "result of mul #1",
        "k",
    ]
    copied = next(n for n, node in enumerate(trace.nodes) if node["name"] == "CopySlices")
    assert [to for to, _ in rules.sends(trace, copied)] == ["result of mul #3", "w"]


def test_a_function_has_the_name_of_its_class():
    x = torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        y = Scaled.apply(x, 2, 3.0) + 1
        z = Backward_.apply(y, 2, 3.0) * y
        with torch.no_grad():
            Scaled.apply(x, 2, 3.0) * 2
        z.sum().backward()
    shown = "\n".join(
        text for n in range(len(trace.nodes)) for text in (*rules.forward(trace, n), *map(" ".join, rules.sends(trace, n)))
    )  # fmt: skip
    assert "y = (result of Scaled) + 1" in shown
    assert "z = (result of Backward_) * y" in shown
    everything = "\n".join([shown, *sentences(trace), *(e.get("op", "") for e in trace.events), *(node["op"] for node in trace.nodes)])  # fmt: skip
    assert not re.search(r"\bscaled|\bbackward_\b", everything)
