"""A compiled call opened: its lines run one by one and make what the compiled function made."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.compiler.opened import run_lines
from autograd_lab.tracing import Trace

F = nn.functional


def leaf(*shape, seed=0):
    return torch.tensor(
        np.random.default_rng(seed).uniform(0.3, 0.9, shape).astype(np.float32), requires_grad=True
    )


OPERATIONS = ["a*b", "a+b*2.5", "a/(b+2)", "torch.tanh(a)", "a@b.t()@a", "a.sum(1,keepdim=True)+b", "torch.relu(a-b)", "a.clone().mul_(b)",
              "a.t().reshape(3,4)", "b.cumsum(0)+a", "torch.softmax(a,1)", "a.max()*b", "torch.log_softmax(a,1)", "a.split(2,1)[1].sum()+b"]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=6))
@example(["a@b.t()@a"] * 6)
@np.errstate(all="ignore")  # some programs overflow; their lines must make the same inf and nan
def test_the_lines_make_what_the_function_makes(operations):
    def program(a, b):
        for text in operations:
            a, b = eval(text, {"torch": torch, "F": F, "a": a, "b": b}), a
        return a

    compiled = torch.compile(program, fullgraph=True)
    a, b = leaf(3, 4), leaf(3, 4, seed=1)
    compiled(a, b)
    entry = compiled.entry
    arrays = [np.array(a.detach().numpy()), np.array(b.detach().numpy())]
    results = entry.forward.function(*arrays)
    parts = [(entry.forward_graph, entry.forward, "forward", arrays, results)]
    if entry.backward is not None:
        kept = [
            *[arrays[i] for i in entry.kept_inputs], *[results[i] for i in entry.kept_outputs], *results[entry.n_outputs :],
            np.ones(results[0].shape, np.float32)[()],
        ]  # fmt: skip
        parts.append((entry.backward_graph, entry.backward, "backward", kept, entry.backward.function(*kept)))
    for graph, emitted, name, given_, want in parts:
        lines = run_lines(graph, emitted, name, given_)
        body = emitted.source.splitlines()[1:-1]
        assert [text.strip() for line in lines for text in line.text.splitlines()] == [
            t.strip() for t in body
        ]
        made = dict(zip([v.name for v in graph.inputs], given_, strict=True))
        for line in lines:
            assert line.steps
            for word, array in line.reads:
                assert np.array_equal(made[word], array, equal_nan=True), (
                    "a line reads what the lines before left"
                )
            made.update(line.makes)
        returned = (
            emitted.source.splitlines()[-1]
            .strip()
            .removeprefix("return (")
            .removesuffix(")")
            .strip(",")
            .split(", ")
        )
        for word, array in zip(returned, want, strict=True):
            assert array is None if word == "None" else np.array_equal(made[word], array, equal_nan=True)


def recorded():
    def f(x, w):
        h = torch.tanh(x * w)
        return (h * h).sum()

    fn = torch.compile(f)
    x, w = leaf(1, 3), leaf(3, seed=1)
    with lab.record() as trace:
        y = fn(x, w)
        z = y * 3
        z.backward()
    return trace


def test_a_recorded_compiled_call_is_one_node_that_can_be_opened():
    trace = recorded()
    (node,) = [n for n in trace.nodes if n["name"] == "CompiledFunctionBackward"]
    inside = node["compiled"]
    assert [name for name, _ in inside["inputs"]] == ["x0", "x1"]
    assert [trace.tensors[t]["name"] for _, t in inside["inputs"]] == ["x", "w"]
    rules = {rule for line in inside["forward"] for rule, *_ in line["from"]}
    assert rules == {"MulBackward0", "TanhBackward0", "SumBackward0"}
    assert all(
        "test_compile_opened.py, line" in place for line in inside["forward"] for *_, place in line["from"]
    )
    back = [rule for line in inside["backward"] for rule, *_ in line["from"]]
    assert set(back) == {"SumBackward0", "MulBackward0", "TanhBackward0", ""}
    sent = {v for line in inside["backward"] for _, v in line["makes"]}
    (vjp,) = [e for e in trace.events if e["k"] == "vjp" and trace.nodes[e["n"]] is node]
    assert set(vjp["out"]) <= sent
    assert [name for name, *_ in node["saved"]][:2] == ["x", "w"]
    assert len(node["saved"]) == 3
    assert Trace.from_json(trace.to_json()).to_dict() == trace.to_dict()


def test_the_first_call_is_recorded_as_the_later_ones():
    fn = torch.compile(lambda x: (x * x).sum())
    with lab.record() as trace:
        fn(leaf(3)).backward()
    assert [n["name"] for n in trace.nodes if n["kind"] != "accumulate"] == ["CompiledFunctionBackward"]


def test_the_numbers_are_those_of_the_time_of_the_call():
    w = leaf(3)
    before = w.detach().clone()
    fn = torch.compile(lambda x: (x * w).sum())
    x = leaf(3, seed=1)
    with lab.record() as trace:
        fn(x).backward()
        with torch.no_grad():
            w.zero_()
    (node,) = [n for n in trace.nodes if "compiled" in n]
    line = node["compiled"]["forward"][0]
    v = dict(line["reads"])[
        "x0" if trace.tensors[dict(node["compiled"]["inputs"])["x0"]]["name"] == "w" else "x1"
    ]
    np.testing.assert_allclose(trace.values[v]["data"], before.numpy(), rtol=1e-5)


def test_two_results_of_which_one_gets_no_gradient():
    fn = torch.compile(lambda x: (x * 2, x * 3))
    with lab.record() as trace:
        a, _ = fn(leaf(3))
        a.sum().backward()
    (node,) = [n for n in trace.nodes if "compiled" in n]
    assert node["compiled"]["backward"]


def test_the_narration_and_the_text_say_what_ran():
    trace = recorded()
    s = lab.step(trace)
    text = s.to_text()
    assert "3 lines of compiled NumPy run: y = " in text
    assert "\n        v4 = np.tanh(x0 * x1)\n" in text
    assert "runs its compiled backward, 6 lines of NumPy, on the incoming g = 3: x gets" in text
    assert "<br>v4 = np.tanh(x0 * x1)<br>" in s.to_html()
    with pytest.raises(
        ValueError, match="nothing to open: no compiled node that ran its backward is on screen at step 0"
    ):
        s.opened()
    while "runs its compiled backward" not in s.narration:
        s.step()
    assert "from the" not in s.opened()
    assert "g10 *= x1" in s.opened()
    assert "frees what it saved (x, w and v4)" in text
    assert "from a sum of two gradients, TanhBackward0" in s.opened()
    assert "v4 = np.tanh" in s.opened("forward")
