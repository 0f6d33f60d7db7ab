"""Define-by-run beside captured: what ran, what was captured, what each pass did, and which guard was missed."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.compiler.graph import run
from autograd_lab.compiler.stages import WORDS, stages
from autograd_lab.widgets.front import front_end
from autograd_lab.widgets.wire import decode

NODE = shutil.which("node")


def leaf(*shape, seed=0):
    return torch.tensor(
        np.random.default_rng(seed).uniform(0.3, 0.9, shape).astype(np.float32), requires_grad=True
    )


def layers(x, w, n, flip=False):
    h = x
    for _ in range(n):
        h = torch.tanh(h * w)
    if flip:
        h = -h
    return (h * h + h * h).sum()


def compared():
    return lab.compare_static(layers, leaf(2, 3), leaf(3, seed=1), 3)


def test_the_loop_is_unrolled_on_both_sides():
    c = compared()
    (one,) = c.runs
    assert [o["op"] for o in one["operations"]] == ["mul", "tanh"] * 3 + ["mul", "mul", "add", "sum"]
    assert [s["op"] for s in c._data["graphs"][0]["steps"]] == [o["op"] for o in one["operations"]]
    assert one["same"] == list(range(10))
    assert "(iteration 3)" in one["operations"][5]["where"]
    assert one["operations"][1]["text"] == "[2] h = tanh([1])"
    assert one["operations"][9]["reads"] == [8]
    assert one["verdict"] == "captured"


def test_other_data_of_the_same_kind_hold_and_another_loop_misses_a_guard():
    c = compared()
    c.again(leaf(2, 3, seed=5), leaf(3, seed=6), 3)
    assert c.runs[1]["verdict"] == "holds"
    assert c.runs[1]["graph"] == 0
    c.again(leaf(2, 3), leaf(3), 2)
    assert c.runs[2]["verdict"] == "missed"
    assert "at the capture it was: n is 3" in c.runs[2]["says"]
    assert len(c.runs[2]["operations"]) == len(c._data["graphs"][1]["steps"]) == 8
    c.again(leaf(2, 3), leaf(3), 3)
    assert (c.runs[3]["verdict"], c.runs[3]["graph"]) == ("holds", 0)
    c.again(leaf(2, 3), leaf(3), 3, flip=True)
    assert [o["op"] for o in c.runs[4]["operations"]][6] == "neg"
    assert (c.run, c.position) == (4, 11)


def test_a_function_that_is_not_one_graph_says_where_it_breaks():
    def branch(x):
        if x.sum() > 0:
            return x * 2
        return x * 3

    c = lab.compare_static(branch, leaf(2))
    assert c.runs[0]["verdict"] == "broken"
    assert "reads a number out of a tensor" in c.runs[0]["says"]
    assert "if x.sum() > 0:" in c.runs[0]["says"]
    assert [o["op"] for o in c.runs[0]["operations"]] == ["sum", "gt", "mul"]
    assert c.stages == []
    assert c.show("passes").step().stage == 0
    c.again(-leaf(2))
    assert c.runs[1]["verdict"] == "broken"
    assert "[3] mul(x, 3)" in c.to_text()


def test_each_pass_says_what_became_of_each_step():
    c = compared()
    share = next(s for s in c.stages if s.title == "share")
    assert share.steps == (32, 28)
    assert [one.word for one in share.changes] == ["merged"] * 4
    assert share.bytes[0] - share.bytes[1] == 4 * 2 * 3 * 4
    for one in share.changes:
        a, b = share.before[one.before[0]], share.after[one.after[0]]
        assert a.text.partition("= ")[2] == b.text.partition("= ")[2]
    split = next(s for s in c.stages if s.title == "split")
    assert {one.word for one in split.changes} <= {"saved", "rewritten"}

    def other(x):
        k = torch.tensor(2.0) * torch.tensor(3.0)
        (x + 5).exp()
        y = x * k * 1
        return (y.reshape(6).reshape(3, 2) * y.reshape(3, 2)).sum()

    found = {(s.title, one.word) for s in lab.compare_static(other, leaf(2, 3)).stages for one in s.changes}
    assert {
        ("fold constants", "computed now"),
        ("simplify", "left out"),
        ("simplify", "dropped"),
        ("share", "merged"),
    } <= found


OPERATIONS = ["a*b", "a+b*2.5", "a/(b+2)", "torch.tanh(a)", "a@b.t()@a", "a.sum(1,keepdim=True)+b", "torch.relu(a-b)", "a.t().reshape(3,4)",
              "a*1", "torch.softmax(a,1)", "a.reshape(12).reshape(4,3).t()", "torch.cat([a,b],1)[:,2:6]", "b.exp()*0+a", "a*(torch.ones(1)*2)"]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=6))
def test_every_step_that_is_gone_is_accounted_for(operations):
    def program(a, b):
        for text in operations:
            a, b = eval(text, {"torch": torch, "a": a, "b": b}), a
        return a * 2  # not a view of an argument

    compiled = torch.compile(program, fullgraph=True)
    a, b = leaf(3, 4), leaf(3, 4, seed=1)
    compiled(a, b)
    joints = [g for title, g in compiled.entry.history if not title.startswith("fuse")]
    arrays = [t.detach().numpy() for t in (a, b)]
    arrays += [np.ones(v.shape, v.dtype)[()] for v in joints[0].inputs[2:]]
    want = run(joints[0], arrays)
    for stage in stages(compiled.entry):
        told = [i for one in stage.changes for i in one.before]
        gone = {row.names for row in stage.before} - {row.names for row in stage.after}
        if stage.title not in ("split", "write"):
            assert len(told) == len(set(told)), "one word for each step"
            assert {stage.before[i].names for i in told} >= gone
        for one in stage.changes:
            assert one.word in WORDS
            assert all(0 <= i < len(stage.before) for i in one.before)
            assert all(0 <= i < len(stage.after) for i in one.after)
        assert stage.bytes[0] >= stage.bytes[1] >= 0
    for graph in joints[1:]:
        for x, y in zip(run(graph, arrays), want, strict=True):
            assert (x is None and y is None) or np.allclose(x, y, rtol=1e-4, atol=1e-6, equal_nan=True)


def test_the_methods_do_what_the_buttons_do():
    c = compared()
    assert c.step(-100).position == 0
    assert c.step(4).back().position == 3
    assert (c.last().position, c.first().position) == (10, 0)
    c.show("passes")
    first = next(i for i, s in enumerate(c.stages) if s.changes)
    for _ in range(first + 1):
        c.step()
    assert (c.stage, c.change) == (first, 0)
    c.back(2)
    assert (c.stage, c.change) == (first - 1, -1)
    c.step(1000)
    assert (c.stage, c.change) == (len(c.stages) - 1, len(c.stages[-1].changes) - 1)
    end = c.stage, c.change
    assert (c.first().stage, c.change) == (0, -1)
    assert (c.last().stage, c.change) == end
    c.stage, c.change = 0, 50
    assert c.change <= len(c.stages[0].changes) - 1
    with pytest.raises(TypeError, match="takes a function or a module, not int"):
        lab.compare_static(3)


def test_what_stands_in_for_the_widget(tmp_path):
    c = compared()
    assert repr(c) == "StaticComparison(layers: 1 run, 1 captured graph)"
    assert c.to_text() == compared().to_text()
    assert "[1] mul(x, w)" in c.to_text()
    assert "def backward(" in c.to_text()
    html = c.to_html()
    assert html.count("data:image/svg+xml;base64,") == 2
    assert "<script" not in html
    c.save_html(tmp_path / "c.html")
    assert "layers: define-by-run beside captured" in (tmp_path / "c.html").read_text()
    assert decode(c._static) == json.loads(json.dumps(c._data))


def test_the_last_recording_of_the_user_stays_the_last():
    from autograd_lab.tracing.recorder import last_recording

    with lab.record() as trace:
        (leaf(2) * 2).sum().backward()
    compared()
    assert last_recording() is trace


@pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")
def test_the_arithmetic_of_the_front_end(tmp_path):
    c = compared()
    (tmp_path / "docs.json").write_text(json.dumps(c._data))
    script = """
const d = JSON.parse(readFileSync("docs.json", "utf8")), ops = d.runs[0].operations;
const line = ops[0].src[1], out = [[...timesRun(ops, 0)], [...timesRun(ops, 0, 3)], saving(d.stages[2])];
let spot = [0, -1], way = [];
for (let i = 0; i < 100; i++) { spot = stepped(d.stages, ...spot, 1); way.push(spot.join()); }
for (let i = 0; i < 100; i++) spot = stepped(d.stages, ...spot, -1);
console.log(JSON.stringify({ out, way, spot, line }));
"""
    (tmp_path / "run.mjs").write_text(f'import {{ readFileSync }} from "node:fs";\n{front_end()}\n{script}')
    found = subprocess.run(
        [NODE, "run.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300
    )
    assert not found.stderr
    said = json.loads(found.stdout)
    line = said["line"]
    assert dict(said["out"][0])[line] == 3
    assert dict(said["out"][1])[line] == 2
    assert said["out"][2] == ["32 → 28 steps", "664 → 568 bytes"]
    places = [f"{s},{i}" for s, stage in enumerate(c.stages) for i in range(-1, len(stage.changes))]
    assert said["way"][: len(places) - 1] == places[1:]
    assert said["spot"] == [0, -1]
