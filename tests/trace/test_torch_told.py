"""Sentences about recordings of PyTorch that were false: numbers nobody wrote, results of an LSTM, names of functions inside."""

import re

import pytest
from whole_programs import PROGRAMS

from autograd_lab import lab
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.rules import operands

torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
from unchanged import outcome  # noqa: E402 - after the question whether PyTorch is here


def told(trace, *kinds):
    narrator = Narrator(trace)
    return [narrator.sentence(k) for k, e in enumerate(trace.events, 1) if not kinds or e["k"] in kinds]


FROM_EMPTY = {
    "filled": "e = torch.empty(3); e.fill_(1.0); y = e * 2",
    "drawn": "e = torch.empty(2, 2).uniform_(); e.normal_()",
    "a part": "e = torch.empty(3); e[0] = 1.0; e[1:] = 2.0; y = e * 2",
    "row by row": "e = torch.empty(2, 2)\nfor row in e: row[:] = 1.0\ny = e * 2",
    "like": "e = torch.empty_like(x); e.copy_(x); y = e + x",
    "new": "e = x.new_empty(2); e.zero_()",
    "strided": "e = torch.empty_strided((2, 2), (1, 2)); e.zero_()",
    "a parameter": "w = nn.Parameter(torch.empty(3)); nn.init.ones_(w); (w * 2).sum().backward()",
    "a layer": "m = nn.Linear(3, 2); m(x).sum().backward()",
    "an LSTM": "m = nn.LSTM(3, 2); out, (h, c) = m(x[None])",
    "dropout": "y = nn.Dropout(0.5)(x); z = F.dropout(x, 0.3)",
    "a view": "e = torch.empty(4); v = e.view(2, 2); v.zero_(); y = e + 1",
    "by NumPy": "e = torch.empty(3); e.numpy()[:] = 1; y = e * 2",
    "freed": "for _ in range(20): torch.empty(1000)\ny = torch.full((1000,), 2.0); z = y + 1",
}


@pytest.mark.parametrize("name", FROM_EMPTY)
def test_nothing_is_said_of_numbers_that_nobody_wrote(name):
    """PyTorch fills the memory with nan here, so that it shows."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        source = f"x = torch.ones(3, requires_grad=True)\n{FROM_EMPTY[name]}"
        _, trace = outcome(name, source, torch, lab.record_torch)
    finally:
        torch.use_deterministic_algorithms(False)
    assert not [text for text in told(trace) if "nan" in text]
    wild = {
        v
        for v, value in enumerate(trace.values)
        if value.get("nan") or ("nan" in str(value.get("data")) and not value.get("unwritten"))
    }
    assert not wild & {tensor["value"] for tensor in trace.tensors}
    assert not [text for text in told(trace, "node") if "not written" in text]


def test_what_numpy_may_have_written_is_shown():
    with lab.record_torch() as trace:
        e = torch.empty(3)
        e.numpy()[:] = 1
        y = e * 2
    assert y.tolist() == [2, 2, 2]
    assert told(trace, "leaf")[0] == "e is plain data: it needs no gradient. Its value: [1, 1, 1]."


def test_dropout_says_that_its_mask_is_not_written_yet():
    with lab.record_torch() as trace:
        torch.nn.functional.dropout(torch.ones(4), 0.5)
    assert told(trace, "leaf")[0].endswith("Its value: 4 values, not written yet.")
    assert lab.step(trace).film  # and can be shown


# Views get a history by a write into their base; transforms, nested tensors and the parts of complex products have none to be seen.
OTHERS = re.compile(r".* of a constant.*|torch.func.*|forward over reverse|nested tensors|complex numbers")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if not OTHERS.fullmatch(name)])
def test_an_edge_belongs_to_an_operand_that_requires_a_gradient(name):
    """What an LSTM returns besides its output "needs no gradient", it was said, though edges lead to it."""
    _, trace = outcome(name, PROGRAMS[name].source, torch, lab.record_torch)
    changed = {e["t"] for e in trace.events if e["k"] in ("flag", "inplace")}
    for node in trace.nodes:
        for edge, t in zip(node["edges"], operands(node), strict=False):
            if edge is not None and t is not None and trace.tensors[t]["node"] is None and t not in changed:
                assert trace.tensors[t]["requires_grad"], (node["name"], trace.tensors[t])


def test_the_states_of_an_lstm_are_results_of_its_node():
    m = torch.nn.LSTM(2, 3)
    with lab.record_torch() as trace:
        out, (h, c) = m(torch.ones(2, 1, 2))
        (h.sum() + c.sum()).backward()
    assert out.shape == (2, 1, 3)
    assert not [text for text in told(trace, "leaf") if "comes in" in text]
    n = next(i for i, node in enumerate(trace.nodes) if "Rnn" in node["name"])
    stacked = [node for node in trace.nodes if node["name"] == "StackBackward0"]
    assert [node["edges"] for node in stacked] == [[[n, 1]], [[n, 2]]]
    assert "result 2 is" in told(trace, "node")[0]


def test_what_a_product_of_a_tensor_and_its_detached_self_saves():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record_torch() as trace:
        y = x * 3
        e = y.detach().requires_grad_()
        z = e * y
    assert "which saves e = 6 and y = 6." in told(trace, "node")[-1]
    assert z.grad_fn is not None


def test_functions_on_gradients_are_told_by_the_names_that_the_program_called():
    w, b = (torch.tensor(x, requires_grad=True) for x in (3.0, 4.0))
    with lab.record_torch() as trace:
        (w * w + b).backward()
        torch.nn.utils.clip_grad_norm_([w, b], 1.0)
        torch.nn.utils.clip_grad_value_([w, b], 0.1)
    texts = told(trace)
    assert not [text for text in texts if re.search(r"\b_?foreach", text)]
    assert any(text.startswith("w.grad was changed by clip_grad_norm_") for text in texts)
    with lab.record_torch() as trace:
        torch._foreach_mul_([w.detach()], 2.0)
    assert any("_foreach_mul_" in text for text in told(trace))


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_anomaly_mode_stops_at_the_node_whose_result_is_nan():
    x = torch.tensor([-1.0, 4.0], requires_grad=True)
    with (
        pytest.raises(RuntimeError, match="returned nan values"),
        lab.record_torch() as trace,
        torch.autograd.detect_anomaly(),
    ):
        x.sqrt().sum().backward()
    texts = told(trace)
    assert texts[-1].startswith("The pass stops in SqrtBackward0 with a RuntimeError")
    assert not [text for text in texts if text.startswith("The engine takes AccumulateGrad")]


def test_the_places_of_an_index_are_not_told_as_none():
    e, i = torch.ones(3, 1, requires_grad=True), torch.tensor([0, 2, 0])
    with lab.record_torch() as trace:
        e[i].sum().backward()
    assert "e gets index_put(zeros_like(e), [...], g, accumulate=True)" in " ".join(told(trace, "vjp"))


def test_a_tensor_in_a_formatted_text_is_told_by_what_formats_it():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record_torch() as trace:
        text = f"{x}"
    assert text == "2.0"
    assert told(trace, "detach") == ["format detaches x for its work: same numbers, no history."]
