import contextlib
import json
import re

import numpy as np
import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import State, Trace, TraceError, narrate, state
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.widgets.frames import film

ALL = pytest.mark.parametrize("make", samples.SMALL.values(), ids=samples.SMALL)


@ALL
def test_json_there_and_back(make):
    trace = make()
    again = Trace.from_json(trace.to_json())
    assert again == trace
    assert again.to_json() == trace.to_json()


def test_repr_says_what_is_inside():
    assert repr(samples.diamond(2)) == (
        "Trace('b*c with c = 3b, b = a*a': 57 events, 4 nodes, 5 tensors, 2 backward passes)"
    )
    assert repr(Trace()) == "Trace(0 events, 0 nodes, 0 tensors, 0 backward passes)"
    assert len(samples.scalar()) == 32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="else"), "format 'autograd-lab-trace', found 'else'"),
        (lambda d: d.update(version=2), "version 2; this autograd_lab reads version 1"),
        (lambda d: d.pop("nodes"), "'nodes' must be a list, found NoneType"),
        (lambda d: d["events"].append({"k": "jump"}), "unknown kind 'jump'"),
        (lambda d: d["events"].append({"k": "leaf"}), r"event 32 \(leaf\): missing 't'"),
        (lambda d: d["events"].append({"k": "leaf", "t": 99}), "tensor 99 is not in the trace, which has 6"),
        (lambda d: d["nodes"][0]["edges"].append([7, 0]), "node 0: edge to node 7 is not in the trace"),
        (lambda d: d["tensors"][0].update(value=-1), "tensor 0: value -1 is not in the trace"),
    ],
)
def test_a_bad_document_is_refused_with_the_reason(change, message):
    document = json.loads(samples.scalar().to_json())
    change(document)
    with pytest.raises(TraceError, match=message):
        Trace.from_json(json.dumps(document))


def test_text_that_is_no_json():
    with pytest.raises(TraceError, match="not a trace: the text is not JSON"):
        Trace.from_json("{")
    with pytest.raises(TraceError, match="found 'list'"):
        Trace.from_json("[]")


@ALL
def test_state_is_pure_and_equals_going_on_step_by_step(make):
    trace = make()
    before = trace.to_json()
    walking = State(trace)
    for k in range(len(trace) + 1):
        assert state(trace, k) == walking
        if k < len(trace):
            walking.advance()
    assert trace.to_json() == before


def test_state_outside_the_trace():
    with pytest.raises(IndexError, match="step 33 is not in this trace, which has steps 0 to 32"):
        state(samples.scalar(), 33)


def test_the_diamond_adds_up_what_arrives():
    """Node b gets 12 and 12, a gets 48 and 48, and the numbers wait where they should."""
    trace = samples.diamond()
    first = next(k for k, e in enumerate(trace.events, 1) if e["k"] == "deliver")
    now = state(trace, first)
    inner = trace.events[first - 1]["to"]
    assert (now.nodes[inner].status, now.nodes[inner].arrived, now.nodes[inner].of) == ("waiting", 1, 2)
    end = state(trace, len(trace))
    assert trace.values[end.tensors[0].grad]["data"] == 96
    assert {node.status for node in end.nodes.values()} == {"done"}
    assert (end.phase, end.running, end.queue) == ("backward", False, [])


def test_a_second_pass_starts_with_clean_counts():
    trace = samples.diamond(2)
    second = [k for k, e in enumerate(trace.events, 1) if e["k"] == "backward"][1]
    now = state(trace, second)
    assert {node.status for node in now.nodes.values()} == {"made"}
    assert {edge.status for edge in now.edges.values()} == {"made"}
    end = state(trace, len(trace))
    assert trace.values[end.tensors[0].grad]["data"] == 192


@ALL
def test_every_event_has_a_sentence(make):
    trace = make()
    say = Narrator(trace).sentence
    for k in range(len(trace) + 1):
        sentence = say(k)
        assert sentence[0].isupper() or sentence[0].isdigit() or sentence[0] in "-[" or sentence[0].isalpha()
        assert sentence.endswith(".")
        assert "{" not in sentence


def sentences(trace, kind):
    return [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] == kind]


def test_sentences_have_the_numbers():
    trace = samples.diamond()
    assert sentences(trace, "vjp") == [
        "MulBackward0 #3 multiplies the incoming 1 by its saved c = 12 and sends 12 to b, "
        "and by its saved b = 4 and sends 4 to c.",
        "MulBackward0 #2 multiplies the incoming 4 by its saved three = 3 and sends 12 to b.",
        "MulBackward0 #1 multiplies the incoming 24 by its saved a = 2 and sends 48 to a (twice).",
    ]
    assert sentences(trace, "deliver")[2] == (
        "12 travels along edge 0 to MulBackward0 #1 and is added to the 12 already there: 24. "
        "2 of 2 messages are here."
    )
    assert sentences(trace, "counts") == [
        "The engine counts the messages each node must wait for: "
        "AccumulateGrad of a for 2 and MulBackward0 #1 for 2, every other node for 1."
    ]
    assert sentences(samples.diamond(2), "accumulate") == [
        "a.grad was None and is now 96.",
        "a.grad was 96; adding 96 makes it 192.",
    ]


def test_sentences_about_arrays_give_size_and_range():
    trace = samples.mlp()
    assert sentences(trace, "vjp")[0] == (
        "MeanBackward0 applies its rule to the incoming g = 1: PowBackward0 gets g / 24 to every element: 8x3 values, all 0.04167."
    )
    assert "h₂ gets g @ w2.T: 8x5 values from -0.2973 to 0.3317" in sentences(trace, "vjp")[4]


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ({"k": "mode", "grad": False}, "Recording is off: operations run, but make no nodes."),
        (
            {"k": "detach", "t": 3, "from": 0},
            "h is detached from x: same numbers, no history, so no gradient passes here.",
        ),
        (
            {"k": "inplace", "t": 3, "op": "add_", "version": 1, "n": None, "old": None, "v": 0},
            "h is changed in place by add_: now 3, version 1.",
        ),
        (
            {"k": "const", "op": "mul", "in": [0], "t": [3], "why": "no_grad"},
            "mul runs under no_grad: h = 6. It makes no node, so no gradient comes back through it.",
        ),
        (
            {"k": "error", "n": 2, "type": "RuntimeError", "message": "no {braces}"},
            "The pass stops in AddBackward0 with a RuntimeError: no {braces}",
        ),
        (
            {"k": "hook", "n": 2, "stage": "tensor", "before": [0], "after": [1]},
            "A hook on u changes the gradient from 3 to 2.",
        ),
        ({"k": "retain", "n": 2, "t": 3, "v": 0}, "h asked to retain its gradient: h.grad is now 3."),
    ],
)
def test_rarer_events(event, sentence):
    trace = samples.scalar()
    assert [t["name"] for t in trace.tensors] == ["x", "two", "one", "h", "u", "y"]
    trace.events.append(event)
    trace.check()
    assert narrate(trace, len(trace)) == sentence
    state(trace, len(trace))


def test_a_nan_of_memory_that_nobody_has_set_is_counted_and_warns_nobody():
    """NumPy warns of a cast of one kind of nan, which `torch.empty` may hold; the program did nothing that deserves it."""
    bits = np.full(100, 0x7FA00000, np.uint32).view(np.float32)
    with lab.record() as trace:
        y = torch.from_numpy(bits).requires_grad_()[None]
    assert y.isnan().all()
    assert {value["nan"] for value in trace.values} == {100}


def test_what_a_pass_does_not_record_is_not_said_to_be_under_no_grad():
    """Nobody wrote no_grad there; where somebody did, it is named."""
    w = torch.tensor(2.0, requires_grad=True)
    u = torch.tensor(2.0, requires_grad=True)
    for create_graph, said in ((False, "in the backward pass, which records nothing: "), (True, "under no_grad: ")):  # fmt: skip

        def hook(g, off=create_graph):
            with torch.no_grad() if off else contextlib.nullcontext():
                return g * 2

        with lab.record() as trace:
            y = w * u
            handle = y.register_hook(hook)
            torch.autograd.grad(y, w, create_graph=create_graph)
            handle.remove()
            with torch.no_grad():
                u * 3
        told = [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] == "const"]
        assert [text.startswith("mul runs " + said) for text in told[:1]] == [True]
        assert told[-1].startswith("mul runs under no_grad: ")
        captions = {why for _, _, why in film(trace)["details"]["origins"]}
        assert captions == ({"no_grad"} if create_graph else {"no_grad", "pass"})


class SinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx, angle):
        ctx.save_for_backward(angle)
        return angle.sin(), angle.cos()

    @staticmethod
    def backward(ctx, grad_sin, grad_cos):
        (angle,) = ctx.saved_tensors
        return grad_sin * angle.cos() - grad_cos * angle.sin()


def told(program):
    with lab.record() as trace:
        program(torch.tensor(2.0, requires_grad=True))
    return list(map(Narrator(trace).sentence, range(1, len(trace) + 1)))


def test_what_a_function_computes_is_not_said_to_be_under_no_grad():
    said = told(lambda x: sum(SinCos.apply(x)).backward())
    assert any(text.startswith("SinCos runs: ") for text in said)
    inside = [text for text in said if "in the forward of SinCos, which records nothing" in text]
    assert [text.split()[0] for text in inside] == ["sin", "cos"]
    assert not any("no_grad" in text for text in said)


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_what_runs_in_a_forward_is_told_by_where_it_runs(library):
    """Not by what comes next: a result before it, a Function that makes no node, and one that fails."""
    torch = pytest.importorskip(library, exc_type=ImportError)
    record = lab.record if library == "autograd_lab" else lab.record_torch

    def function(name, forward):
        body = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, g: g)}
        return type(name, (torch.autograd.Function,), body)

    def fails(ctx, x):
        raise ValueError(x.cos())

    ours, other = function("Ours", lambda ctx, x: x.sin()), function("Other", lambda ctx, x: x.exp())
    x, c = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0)
    with torch.no_grad(), record() as trace:
        x * 2
        with torch.enable_grad():
            ours.apply(x)
            other.apply(c)
            with contextlib.suppress(ValueError):
                function("Bad", fails).apply(x)
            ours.apply(x)
        ours.apply(x)
    said = list(map(Narrator(trace).sentence, range(1, len(trace) + 1)))
    inside = r"(\w+) runs in the forward of (\w+), which records nothing"
    found = [m.groups() for text in said if (m := re.match(inside, text))]
    assert found == [("sin", "Ours"), ("exp", "Other"), ("cos", "Bad"), ("sin", "Ours")]
    assert [text.split()[0] for text in said if "under no_grad" in text][:2] == ["mul", "sin"]


def test_a_saved_result_that_a_pass_reads_is_no_leaf():
    """With create_graph the result of exp comes in once more, as an operand: it is the one that exp made."""
    said = told(lambda x: torch.autograd.grad(x.exp(), x, create_graph=True))
    assert [text for text in said if "leaf tensor" in text] == ["x is a leaf tensor that requires a gradient. Its value: 2."]  # fmt: skip


def test_a_result_from_before_the_recording_is_no_leaf():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    with lab.record() as trace:
        y.sin()
    first = narrate(trace, 1)
    assert (
        first
        == "y comes in with a history: it was computed before, and gradients go on from it. Its value: 6."
    )


def test_what_has_no_name_is_called_by_what_made_it_and_begins_like_a_sentence():
    def program(x):
        y = x * 2
        z = y.detach() * x
        w = torch.where(z > 1, z, x)
        (w * 1).add_(1)

    said = "\n".join(told(program))
    assert "\ny is detached: the result has the same numbers" in said
    assert "which saves y.detach() = 4" in said
    assert "which saves the result of gt = True" in said
    assert "\nThe result of MulBackward0 #3 is changed in place by add_" in said


def test_operations_have_the_names_of_programs():
    def program(x):
        a, _ = torch.split(x * torch.ones(3), [1, 2])
        torch.nn.functional.mse_loss(a, torch.zeros(1))

    said = "\n".join(told(program))
    assert "\nsplit_with_sizes runs: " in said
    assert "\nmse_loss runs: " in said


def test_a_comparison_that_max_makes_is_not_called_by_the_variable():
    def program(x):
        z = max(x * 2, x * 3)
        z.backward()

    said = told(program)
    assert not any("z = True" in text or "z = False" in text for text in said)


def test_hooks_of_modules_are_told_as_such():
    def program(x):
        layer = torch.nn.Tanh()
        layer.register_full_backward_hook(lambda *_: None)
        (layer(x * 1) * 2).backward()

    said = told(program)
    with lab.record() as trace:
        program(torch.tensor(2.0, requires_grad=True))
    assert not any("of  #" in node["math"] for node in film(trace)["nodes"])
    assert any(text.startswith("The module Tanh passes on what it is given: ") for text in said)
    assert any(
        re.match(r"At BackwardHookFunctionBackward( #\d)?, the module Tanh looks", text) for text in said
    )
    assert not any(text.startswith(" ") for text in said)
