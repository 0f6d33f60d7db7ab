"""What no variable holds is told by what it is for: saved values by their role, seeds, buffers and the parameters of passing modules."""

import re

import numpy as np
import pytest
from each import each
from library_calls import CALLS, recorded

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import narrate, rules
from autograd_lab.tracing.narrate import Narrator


def sentences(trace, *kinds):
    return [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] in kinds]


def check_saved(call):
    trace, _ = recorded(
        torch,
        lab.record,
        f"X = {call}\nX = X[0] if isinstance(X, tuple) else X\nX.sum().backward(create_graph=True)\n",
    )
    for text in sentences(trace, "node", "free"):
        kept = re.split(r"which saves|it saved", text)[-1] if "save" in text else ""
        assert "a tensor" not in kept, text


def test_no_saved_value_is_just_a_tensor():
    each(CALLS, check_saved)


def check_formulas(call):
    trace, _ = recorded(
        torch, lab.record, f"X = {call}\nX = X[0] if isinstance(X, tuple) else X\nX.sum().backward()\n"
    )
    written = {e["t"] for e in trace.events if e["k"] == "inplace"}
    for t, tensor in enumerate(trace.tensors):
        if trace.names.tensors[t] == "tensor without a name" and not tensor["requires_grad"]:
            few = len(np.ravel(trace.values[tensor["value"]].get("data", range(5)))) <= 4
            assert t in written or not (few or tensor.get("part")), tensor


def test_few_numbers_stand_for_themselves_in_a_formula():
    each(CALLS, check_formulas)
    trace, _ = recorded(
        torch, lab.record, "X = w * torch.tensor([-1.0, 2.0, 0.5]) + torch.ones(3, 3)\nX.sum().backward()\n"
    )
    (told,) = [text for text in sentences(trace, "vjp") if text.startswith("MulBackward0")]
    assert "w gets grad * [-1, 2, 0.5]:" in told
    assert any(
        "MulBackward0 sends nothing to the tensor [-1, 2, 0.5]," in text
        for text in sentences(trace, "pruned")
    )
    trace, _ = recorded(torch, lab.record, "X = w[0, 0] * torch.tensor(2.0)\nX.backward()\n")
    assert "MulBackward0 sends nothing to the constant 2, which" in " ".join(sentences(trace, "pruned"))


def test_many_numbers_are_told_by_their_range():
    trace, _ = recorded(torch, lab.record, "X = w + torch.ones(3, 3)\nX.sum().backward()\n")
    assert any(
        "AddBackward0 sends nothing to a tensor without a name (3x3 values, all 1)," in text
        for text in sentences(trace, "pruned")
    )


@pytest.mark.parametrize(
    ("call", "who"),
    [
        ("F.dropout(w.expand(4, 3, 3), 0.5)", "dropout"),
        ("nn.Dropout(0.5)(w.expand(4, 3, 3))", "Dropout"),
        ("nn.GRU(3, 4)(x)[0]", "GRU"),
        ("nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5))(x)", "Sequential"),
        ("F.gumbel_softmax(w)", "gumbel_softmax"),
    ],
)
def test_what_a_function_of_nn_makes_for_itself_is_called_by_the_function(call, who):
    trace, _ = recorded(torch, lab.record, f"X = {call}\nX.sum().backward()\n")
    told = " ".join(map(Narrator(trace).sentence, range(len(trace) + 1)))
    assert f"A tensor in {who} is plain data" in told
    assert "without a name" not in told


def test_equal_numbers_are_not_told_apart():
    trace, _ = recorded(torch, lab.record, "X = torch.where(w[0] > 0, torch.ones(3), torch.ones(3) * w[0])\n")
    made = next(n for n, node in enumerate(trace.nodes) if node["name"] == "WhereBackward0")
    assert rules.forward(trace, made)[0].endswith("where(result of gt, [1, 1, 1], result of mul)")


def test_numbers_that_are_written_over_do_not_stand_for_a_tensor():
    trace, _ = recorded(torch, lab.record, "X = w * [torch.ones(3).mul_(3), 1][0]\nX.sum().backward()\n")
    assert "[1, 1, 1]" not in " ".join(sentences(trace, "vjp"))


def test_the_gradients_of_several_results_are_called_as_in_the_rule():
    program = "X, X2 = torch.split(w[0] * 2, [1, 2])\nX2.sum().backward()\n"
    (told,) = [text for text in sentences(recorded(torch, lab.record, program)[0], "vjp") if "Split" in text]
    assert (
        "the incoming grad0 = 0 (nothing arrived) and grad1 = [1, 1]: MulBackward0 gets cat([grad0, grad1]"
        in told
    )


def test_how_many_are_true():
    trace, _ = recorded(torch, lab.record, "X = torch.linspace(-1, 1, 6) > 0.5\nX = torch.zeros(5) > 1\n")
    told = " ".join(sentences(trace, "const"))
    assert "6 values, 2 of them True" in told
    assert "5 values, none of them True" in told


def test_a_write_into_a_gradient_is_told_once():
    program = "X = w * 2\nX.sum().backward()\nwith torch.no_grad():\n    w -= w.grad\n    w.grad.zero_()\n"
    trace, _ = recorded(torch, lab.record, program)
    told = sentences(trace, "grad", "inplace")
    assert told[-2].startswith("w.grad was changed by zero_: it is now")
    assert told[-1] == "That was a write in place: the version of w.grad is now 2."


NORMS = {
    "torch.sort(w * 3)": ["saves its indices ("],
    "(w * 3).max(0)": ["saves its indices ("],
    "nn.LayerNorm(3)(x @ w)": ["the mean as its result1", "1 / the standard deviation as its result2"],
    "nn.GroupNorm(1, 3)(x @ w)": ["the mean as its result1", "1 / the standard deviation as its result2"],
    "nn.BatchNorm1d(3)(x @ w)": ["the mean as its result1", "1 / the standard deviation as its result2"],
    "F.max_pool1d(w[None], 2)": ["the places of the largest as its result1"],
    "torch._weight_norm(w, w[:, :1])": ["the norms as its result1"],
    "F.cross_entropy(x @ w, torch.tensor([0, 1, 2, 0, 1]))": [
        "its target (5 values from 0 to 2)",
        "its total_weight = 5",
    ],
    "w * torch.tensor([1.0, 2.0, 3.0])": ["its other operand ([1, 2, 3])"],
    "w @ torch.ones(3, 2)": ["its second operand (3x2 values, all 1)"],
    "torch.tensor([1.0, 2.0, 3.0]) * w": ["its input ([1, 2, 3])"],
}


@pytest.mark.parametrize("call", NORMS)
def test_what_a_node_computes_for_itself_has_words(call):
    trace, _ = recorded(torch, lab.record, f"X = {call}\n")
    text = " ".join(sentences(trace, "node"))
    for words in NORMS[call]:
        assert words in text


def test_a_seed_is_called_so():
    trace, _ = recorded(torch, lab.record, "X = w * w\nX.backward(torch.ones(3, 3), create_graph=True)\n")
    assert [text for text in sentences(trace, "leaf") if text.startswith("The seed of MulBackward0")]


@pytest.mark.parametrize(
    ("program", "names"),
    [
        ("X = nn.BatchNorm1d(3)\nX(x)\n", {"X.running_mean", "X.running_var", "X.num_batches_tracked"}),
        ("def f():\n    bn = nn.BatchNorm1d(3)\n    bn(x)\nf()\n", {"bn.running_mean", "bn.running_var"}),
        (
            "data = [x * 1, x[0]]\nX = [w[0] * torch.ones(3) for _ in data]\npair = [torch.ones(3)]\nw @ pair[0]\n",
            {"pair[0]"},
        ),
    ],
)
def test_what_a_variable_holds_has_its_name(program, names):
    trace, _ = recorded(torch, lab.record, program)
    assert names <= {t["name"] for t in trace.tensors}


def test_the_parameters_of_a_passing_module_are_called_by_it():
    trace, _ = recorded(torch, lab.record, "nn.GRU(3, 3)(x)\n")
    assert "The weight_ih_l0 of the GRU module is a leaf tensor" in " ".join(sentences(trace, "leaf"))


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
@pytest.mark.parametrize("step", [
    "torch.optim.SGD([v], 0.1).step()",
    "torch.optim.SGD([v], 0.1, momentum=0.9).step()",
    "torch.optim.Adam([v], 0.1).step()",
    "torch.optim.RMSprop([v], 0.1).step()",
    "nn.utils.clip_grad_norm_([v], 0.1)",
    "with torch.no_grad(): v.sub_(v.grad)",
    "with torch.no_grad(): v.add_(v.grad, alpha=-0.1)",
    "with torch.no_grad(): v -= 0.1 * v.grad",
])  # fmt: skip
def test_the_gradient_of_a_single_number_is_no_constant(step, library):
    lib = pytest.importorskip(library, exc_type=ImportError)
    program = f"v = torch.tensor(3.0, requires_grad=True)\nX = v * v\nX.backward()\n{step}\n"
    trace, _ = recorded(lib, lab.record if lib is torch else lab.record_torch, program)
    assert {t["name"] for t in trace.tensors if t.get("grad_of") is not None} <= {"v.grad"}
    told = " ".join(map(Narrator(trace).sentence, range(len(trace) + 1)))
    assert not re.search(r"constant 6\b|detaches 6\b", told)
