"""A captured graph as a file: the same numbers in both directions, and nothing is read that is not known."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import nn
from autograd_lab.compiler import GraphExportError, GraphFormatError, load
from autograd_lab.compiler.export import (
    array_from_json,
    array_to_json,
    document,
    from_document,
    plain_from_json,
    plain_to_json,
)

F = nn.functional


def leaf(*shape, seed=0):
    return torch.tensor(
        np.random.default_rng(seed).uniform(0.3, 0.9, shape).astype(np.float32), requires_grad=True
    )


def captured(fn, *inputs):
    compiled = torch.compile(fn, fullgraph=True)
    compiled(*inputs)
    return compiled


def through_a_file(compiled, path):
    compiled.save(path)
    return load(path)


OPERATIONS = ["a*b", "a+b*2.5", "a/(b+2)", "torch.tanh(a)", "a@b.t()@a", "a.sum(1,keepdim=True)+b", "torch.relu(a-b)", "a[1:,::2].sum()*b",
              "a.t().reshape(3,4)", "a.clone().mul_(b)", "b.cumsum(0)+a", "torch.softmax(a,1)", "torch.where(a>b,a,b*2)", "a.max()*b",
              "torch.cat([a,b],1)[:,2:6]", "F.layer_norm(a,(4,))", "a.double().float()", "a.split(2,1)[1].sum()+b"]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=6))
def test_a_loaded_graph_computes_bit_by_bit_what_was_saved(operations):
    def program(a, b):
        for text in operations:
            a, b = eval(text, {"torch": torch, "F": F, "a": a, "b": b}), a
        return a

    inputs = leaf(3, 4), leaf(3, 4, seed=1)
    compiled = captured(program, *inputs)
    loaded = from_document(json.loads(json.dumps(document(compiled))))
    assert (loaded.forward_source, loaded.backward_source) == (
        compiled.forward_source,
        compiled.backward_source,
    )
    for seed in (0, 5):
        inputs = leaf(3, 4, seed=seed), leaf(3, 4, seed=seed + 1)
        got, want = loaded(*inputs), compiled(*inputs)
        assert torch.equal(got, want)
        pairs = zip(
            torch.autograd.grad(got.sum(), inputs, allow_unused=True),
            torch.autograd.grad(want.sum(), inputs, allow_unused=True),
            strict=True,
        )
        for g, w in pairs:
            assert (g is None and w is None) or torch.equal(g, w)


def test_a_conv_net_takes_its_parameters_along(tmp_path):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(16, 10), nn.GELU(), nn.LayerNorm(10),
    ).eval()  # fmt: skip
    compiled = torch.compile(net, fullgraph=True)
    x = torch.randn(2, 1, 8, 8)
    want = compiled(x)
    loaded = through_a_file(compiled, tmp_path / "net.json")
    got = loaded(x)
    assert torch.equal(got, want)
    assert type(got.grad_fn).__name__ == "CompiledFunctionBackward"
    want.square().sum().backward()
    got.square().sum().backward()
    mine = dict(net.named_parameters())
    assert {name for name, t in loaded.parameters.items() if t.requires_grad} == set(mine)
    for name, parameter in mine.items():
        assert torch.equal(loaded.parameters[name].grad, parameter.grad)
        assert loaded.parameters[name] is not parameter
    with torch.no_grad():
        assert not loaded(x).requires_grad
        net[6].weight.zero_()  # what was saved does not change with the model
    assert torch.equal(loaded(x), want.detach())


def test_the_shape_of_what_is_returned_comes_back(tmp_path):
    def fn(x, y):
        return {"sum": x + y, "parts": [x * 2, (y.exp(), 3.5, None)], "again": "text"}

    x, y = leaf(2), leaf(2, seed=1)
    compiled = captured(fn, x, y)
    got, want = through_a_file(compiled, tmp_path / "f.json")(x, y), fn(x, y)
    assert got.keys() == want.keys()
    assert got["parts"][1][1:] == (3.5, None)
    assert torch.equal(got["parts"][1][0], want["parts"][1][0])
    assert got["again"] == "text"
    assert "again" in repr(list(got))


SCALE = leaf(3, seed=4)


def test_what_a_loaded_graph_is_called_with_is_checked(tmp_path):
    k = leaf(3, seed=5)
    fn = captured(lambda x: x * SCALE + k, torch.ones(2, 3))
    loaded = through_a_file(fn, tmp_path / "f.json")
    assert sorted(loaded.parameters) == ["SCALE", "k"]
    with pytest.raises(TypeError, match=r"takes 1 tensors \(x\), and was given 2"):
        loaded(torch.ones(2, 3), torch.ones(3))
    with pytest.raises(TypeError, match="x must be a tensor, not list"):
        loaded([1.0])
    with pytest.raises(RuntimeError, match=r"captured for x of shape \[2, 3\] and type float32, not \[3\]"):
        loaded(torch.ones(3))
    with pytest.raises(RuntimeError, match="captured with x that needs no gradient"):
        loaded(leaf(2, 3))
    with pytest.raises(RuntimeError, match="has no graph; call the function first"):
        torch.compile(lambda x: x).save(tmp_path / "none.json")


@pytest.mark.parametrize("x", [
    np.array([0.1, -0.0, np.nan, np.inf, 5e-324]), np.arange(6, dtype=np.int64).reshape(2, 3)[:, ::2], np.float32(0.1) * np.ones((), "f4"),
    np.zeros((0, 3), np.uint8), np.array([True, False]), np.array([65504, 6e-8], np.float16), np.ones((2, 3), ">f4"),
])  # fmt: skip
def test_arrays_come_back_bit_by_bit(x):
    back = array_from_json(json.loads(json.dumps(array_to_json(x))), "here")
    assert (back.shape, back.dtype) == (x.shape, x.dtype.newbyteorder("="))
    assert back.tobytes() == x.astype(back.dtype).tobytes()
    assert back.flags.writeable  # it is an array of its own


@pytest.mark.parametrize("x", [
    None, True, 3, 0.1, float("inf"), -float("inf"), "text", (1, (2.5, None)), [1, (2,)], slice(None, 3, -1), ..., np.dtype("float64"),
    np.float32(0.1), np.int64(7),
])  # fmt: skip
def test_plain_arguments_come_back_as_they_were(x):
    back = plain_from_json(json.loads(json.dumps(plain_to_json(x))), "here")
    assert back == x
    assert type(back) is type(x)


def good():
    def fn(x):
        return (x * 2 + 1).tanh().sum()

    return document(captured(fn, leaf(2, 3)))


def _put(path, content):
    def change(doc):
        *way, last = path
        for key in way:
            doc = doc[key]
        doc[last] = content

    return change


@pytest.mark.parametrize(("change", "message"), [
    (_put(["format"], "zip"), "expected a document with format 'autograd-lab-graph', found 'zip'"),
    (_put(["version"], 2), "has version 2, and this autograd_lab reads version 1"),
    (_put(["extra"], 1), "the document has the unknown field 'extra'"),
    (lambda d: d.pop("returns"), "the document has no 'returns'"),
    (_put(["joint", "steps", 0, "rule"], "TeleportBackward0"), "joint: step 0 uses the operation 'TeleportBackward0', which"),
    (_put(["joint", "steps", 0, "how"], "guess"), "is carried out by 'guess'; known ways are call, named"),
    (_put(["joint", "steps", 0, "color"], "red"), "joint: step 0 has the unknown field 'color'"),
    (lambda d: d["joint"]["steps"][0].pop("inputs"), "joint: step 0 has no 'inputs'"),
    (_put(["joint", "steps", 0, "inputs"], [99, 98]), "speaks of value 99, and there are values 0 to"),
    (lambda d: d["joint"]["steps"].reverse(), "before it is made"),
    (lambda d: d["joint"]["steps"].append(d["joint"]["steps"][0]), "which is there already"),
    (_put(["joint", "steps", 0, "single"], 3), "single is 3"),
    (_put(["joint", "steps", 0, "args"], 3), "args is 3"),
    (_put(["joint", "steps", 0, "args"], {"python": "1+1"}), "unknown kind of argument 'python'"),
    (_put(["joint", "steps", 0, "args"], {"record": ["convolution.np", {}]}), "unknown kind of record 'convolution.np'"),
    (_put(["joint", "steps", 0, "args"], {"record": ["os.path", {}]}), "unknown kind of record"),
    (_put(["values", 0, "name"], "x; import os"), "which is no plain name"),
    (_put(["values", 0, "name"], "lambda"), "which is no plain name"),
    (_put(["values", 0, "dtype"], "object"), "unknown number type 'object'"),
    (_put(["values", 0, "dtype"], "float12"), "unknown number type 'float12'"),
    (_put(["values", 0, "shape"], [2, -1]), "is no shape"),
    (_put(["values", 0, "extra"], 1), "value 0 has the unknown field 'extra'"),
    (_put(["arguments"], []), "0 arguments are described, and the graph has 1"),
    (_put(["returns"], {"output": 4}), "there is no output 4"),
    (_put(["returns"], {"eval": "1"}), "unknown kind 'eval'"),
    (_put(["entry", "kept_outputs"], [7]), "do not fit together"),
    (_put(["entry", "surprise"], 1), "entry has the unknown field 'surprise'"),
    (_put(["values"], 3), "the graph is damaged"),
])  # fmt: skip
def test_what_is_not_known_is_refused_and_named(change, message):
    doc = copy.deepcopy(good())
    from_document(copy.deepcopy(doc))
    change(doc)
    with pytest.raises(GraphFormatError, match=message.replace("(", r"\(")):
        from_document(doc)


def test_a_file_that_is_no_json_is_refused(tmp_path):
    path = tmp_path / "f.json"
    path.write_text("<html>")
    with pytest.raises(GraphFormatError, match="the text is not JSON"):
        load(path)


def test_a_step_that_cannot_be_written_names_its_line():
    compiled = captured(lambda x: (x * 2).sum(), leaf(2))
    compiled.entry.joint.steps[0].args = (object(),)
    with pytest.raises(
        GraphExportError, match=r"mul \(test_compile_export.py, line \d+: .*\) cannot be saved: a object"
    ):
        document(compiled)
