"""Tensors that the program calls by one name are told apart on the screen, the same way wherever they are told of."""

import linecache
import re
from collections import defaultdict

import pytest
from unchanged import tools
from whole_programs import PROGRAMS

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import narrate, rules
from autograd_lab.tracing.called import called_in, numbered
from autograd_lab.tracing.questions import questions
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.program import recorded
from autograd_lab.widgets.svg import svg


def traced(source):
    """The trace of a program, and what it left in variables."""
    space, file = tools(torch), f"<called {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    trace, _ = recorded([compile(source, file, "exec")], space, lab.record())
    len(trace)  # its lines are looked up now, before another program takes the name
    return trace, space


UPDATED = """
w = torch.tensor(3.0, requires_grad=True)
loss = (w - 1) ** 2
loss.backward()
w = w - 0.1 * w.grad
loss = (w - 1) ** 2
loss.backward()
"""


def test_after_an_update_the_old_and_the_new_tensor_have_names_of_their_own():
    trace, space = traced(UPDATED)
    told = [narrate(trace, k) for k in range(1, len(trace) + 1)]
    assert (
        told[0]
        == "w₁ is a leaf tensor that requires a gradient, the first of 2 tensors called w. Its value: 3."
    )
    assert any(text.startswith("sub runs: w₂ = 2.6, the second tensor called w. ") for text in told)
    assert "w₁.grad was 4; adding 3.2 makes it 7.2." in told
    assert (
        "Edge 0 of SubBackward0 #2 leads to AccumulateGrad of w₁: that is where this gradient will go."
        in told
    )
    assert not any(re.search(r"\bw\b(?!\.$| ?tensor)(?<!called w)", text) for text in told)
    doc = film(trace)
    assert {"w₁", "w₂", "loss₁", "loss₂", "w₁.grad"} <= {tensor["name"] for tensor in doc["tensors"]}
    assert {"w₁", "w₂"} <= set(re.findall(r">(w[^<]?)</text>", svg(doc)))
    n = next(
        i
        for i, node in enumerate(trace.nodes)
        if node["op"] == "sub" and trace.tensors[node["outputs"][0]]["name"] == "w"
    )
    assert rules.forward(trace, n)[0].startswith("w₂ = w₁ - ")
    assert any("What is w₂?" in q["ask"] for q in questions(trace))
    # The trace has the program's names.
    assert trace.why("w").cause == trace.why("w₂").cause != trace.why("w₁").cause
    assert space["w"].grad_fn is not None


def test_what_has_a_name_of_its_own_keeps_it():
    trace, _ = traced(
        "a = torch.tensor(2.0, requires_grad=True)\nb = a * 2 * 2\n(b * b).backward()\nc = a.grad"
    )
    assert called_in(trace) == [tensor["name"] for tensor in trace.tensors]


def test_a_value_written_into_a_numbered_tensor_has_a_prime():
    """The rule of an operation in place has the old and the new value: h₂ is another tensor."""
    source = "h = torch.tensor(3.0, requires_grad=True)\nh = h * 2\nh.tanh_()\nh.sum().backward()"
    trace, _ = traced(source)
    n = next(i for i, node in enumerate(trace.nodes) if node["op"] == "tanh")
    assert rules.forward(trace, n)[0] == "h₂\N{PRIME} = tanh(h₂)"
    assert numbered("h", 12) == "h₁₂"


@pytest.mark.parametrize("name", [name for name in PROGRAMS if PROGRAMS[name].only != "torch"][::3])
def test_no_two_tensors_of_a_trace_have_one_name(name):
    trace, _ = traced(PROGRAMS[name].source)
    shown = film(trace)["tensors"]
    found = defaultdict(set)
    for t in range(len(trace.tensors)):
        if shown[t]["name"] and not shown[t]["name"].endswith(".grad"):
            found[shown[t]["name"]].add(t)
    assert {name: t for name, t in found.items() if len(t) > 1} == {}
    for t, name in enumerate(called_in(trace)):
        own = trace.tensors[t]["name"]
        assert name == own or re.sub(r"[₀-₉]", "", name) == own


def test_a_name_that_was_deleted_was_the_tensors_until_then():
    trace, _ = traced("a = torch.tensor(2.0, requires_grad=True)\nb = a * 2\nc = b\ndel b\nc = c * a")
    assert any("mul runs: b = 4." in narrate(trace, k) for k in range(1, len(trace) + 1))


def test_what_is_saved_or_sent_twice_is_said_once():
    x = torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        (x * x + x + x).backward()
    told = " ".join(narrate(trace, k) for k in range(1, len(trace) + 1))
    assert "which saves x = 3." in told
    assert "by its saved x = 3 and sends 3 to x (twice)." in told
    assert not re.search(r"\b(\w+ = \d+) and \1\b|\bto (\w+) and \2\b", told)


def test_the_value_that_a_write_replaced_is_told_from_the_new_one():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = x.exp()
        y.mul_(2)
        y.sum().backward(inputs=[y])
    y = x.sin()
    with lab.record() as trace:
        y = x * 2
        y += 1
        y.sum().backward()
    told = [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] == "vjp"]
    assert told[0].startswith("SumBackward0 applies its rule to the incoming g = 1: y gets")
    assert told[1].startswith(
        "AddBackward0 passes its incoming gradient on unchanged to y (as MulBackward0 made it)"
    )


def told(source, *kinds):
    trace, _ = traced(source)
    return [narrate(trace, k) for k, e in enumerate(trace.events, 1) if not kinds or e["k"] in kinds]


def test_a_variable_that_a_function_binds_again_and_again_names_each():
    """The first result had lost its name: when it was looked at, the global variable was another's."""
    texts = told("""
count = torch.tensor(0.0, requires_grad=True)
def bump(x):
    global count
    count = count + x
for _ in range(3):
    bump(torch.tensor(1.0))
""", "node")  # fmt: skip
    assert [text.partition(".")[0] for text in texts] == [
        "add runs: count₂ = 1, the second tensor called count",
        "add runs: count₃ = 2",
        "add runs: count₄ = 3",
    ]


def test_new_parameters_in_a_list_have_its_name():
    texts = told("""
ps = [torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)]
(ps[0] * ps[1]).backward()
ps = [(p - 0.1 * p.grad).detach().requires_grad_() for p in ps]
(ps[0] * ps[1]).backward()
""", "accumulate")  # fmt: skip
    assert [text.partition(" ")[0] for text in texts] == [f"ps[{i}]{nr}.grad" for nr in "₁₂" for i in (0, 1)]


def test_what_a_loop_passed_on_names_no_parameter_of_a_cell():
    texts = told("""
params = {"w": torch.tensor(2.0, requires_grad=True), "b": torch.tensor(1.0, requires_grad=True)}
(params["w"] * params["b"]).backward()
for k, p in params.items():
    p.grad = None
""", "leaf")  # fmt: skip
    assert [text.partition(" ")[0] for text in texts] == ["params['w']", "params['b']"]


def test_what_the_program_does_not_want_has_no_name():
    texts = told("x = wave(3, grad=True)\nv, _ = x.max(0)\n_ = x * 2\n_ = x * 3", "node")
    assert not [text for text in texts if re.search(r"\b_", text)]
