"""Captured forwards as ONNX models, run by onnxruntime: the numbers are those of the function."""

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import nn
from autograd_lab.compiler import GraphExportError
from autograd_lab.compiler.onnx import OPSET, model
from autograd_lab.datasets import digits

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed: pip install onnx")
ort = pytest.importorskip(
    "onnxruntime", reason="the package onnxruntime is not installed: pip install onnxruntime"
)

F = nn.functional


def leaf(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).uniform(0.3, 0.9, shape).astype(np.float32))


def session(compiled):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return ort.InferenceSession(
        model(compiled).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def assert_same(fn, *inputs, rtol=1e-5, atol=1e-6):
    compiled = torch.compile(fn, fullgraph=True)
    with torch.no_grad():
        compiled(*inputs)
        made = session(compiled)
        for again in (inputs, [t if t.dtype != torch.float32 else t * 0.9 + 0.05 for t in inputs]):
            want = compiled(*again)
            names = [one.name for one in made.get_inputs()]
            got = made.run(None, dict(zip(names, [t.numpy() for t in again], strict=True)))
            want = want if isinstance(want, tuple) else (want,)
            assert len(got) == len(want)
            for g, w in zip(got, want, strict=True):
                assert g.shape == tuple(w.shape)
                assert g.dtype == w.numpy().dtype
                np.testing.assert_allclose(g, w.numpy(), rtol=rtol, atol=atol)
    return compiled


def test_the_digits_classifier(tmp_path):
    images, labels = digits()
    x = torch.tensor(images[:200].reshape(200, -1).astype(np.float32))
    t = torch.tensor(labels[:200].astype(np.int64))
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    step = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(60):
        step.zero_grad()
        F.cross_entropy(net(x), t).backward()
        step.step()
    compiled = assert_same(net, x, atol=1e-5)
    compiled.to_onnx(tmp_path / "digits.onnx")
    made = ort.InferenceSession(tmp_path / "digits.onnx", providers=["CPUExecutionProvider"])
    (scores,) = made.run(None, {"input": x.numpy()})
    assert np.array_equal(scores.argmax(1), net(x).argmax(1).numpy())
    assert (scores.argmax(1) == labels[:200]).mean() > 0.9
    read = onnx.load(tmp_path / "digits.onnx")
    kept = {one.name: onnx.numpy_helper.to_array(one) for one in read.graph.initializer}
    for name, parameter in net.named_parameters():
        assert kept[name].tobytes() == parameter.detach().numpy().tobytes()
    assert read.opset_import[0].version == OPSET


def test_a_conv_net():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, stride=2), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, (3, 2), padding=(1, 0), groups=2),
        nn.GELU(), nn.AvgPool2d(2, 1), nn.Dropout(), nn.Flatten(), nn.Linear(36, 5), nn.LayerNorm(5), nn.LogSoftmax(1),
    )  # fmt: skip
    net(leaf(4, 1, 16, 16))  # running statistics
    assert_same(net.eval(), leaf(2, 1, 16, 16, seed=3), atol=1e-5)


PROGRAMS = {
    "arithmetic": lambda a, b: (
        (a * 2 + 1 - b / 3) ** 2 - torch.add(a, b, alpha=3) + torch.sub(a, b, alpha=0.5)
    ),
    "power": lambda a, b: a**b + a**1.5,
    "pointwise": lambda a, b: (
        torch.tanh(a) * torch.sigmoid(b)
        + a.exp().log()
        - b.sqrt().sin()
        + a.cos().abs()
        - (-b).erf()
        + a.reciprocal()
    ),
    "activations": lambda a, b: (
        F.relu(a - 0.5)
        + F.gelu(b)
        + F.gelu(a, approximate="tanh")
        + F.silu(b)
        + F.elu(a - 0.6)
        + F.leaky_relu(b - 0.5, 0.2)
    ),
    "matmul": lambda a, b: a @ b.T,
    "batched": lambda a, b: torch.bmm(a.reshape(2, 3, 2), b.reshape(2, 2, 3)),
    "addmm": lambda a, b: torch.addmm(a[:, :3], a, b.T, beta=0.5, alpha=2.0),
    "views": lambda a, b: (
        a.reshape(2, 6).t().reshape(3, 4) * b[:, ::2].repeat(1, 2) + a[1] + b[0, 1] + a[0].expand(3, 4)
    ),
    "slices": lambda a, b: a[1:, 1:3] * b[:2, ::2],
    "broadcast": lambda a, b: a[0].expand(2, 3, 4) * b.unsqueeze(0),
    "split": lambda a, b: a.split(2, 1)[1] * b.chunk(2, 1)[0],
    "reductions": lambda a, b: (
        a.sum() + b.mean() + a.sum(0) * b.mean(1, keepdim=True) + a.amax(1, keepdim=True) - b.amin((0, 1))
    ),
    "softmax": lambda a, b: torch.softmax(a, 1) * torch.log_softmax(b, 0),
    "where": lambda a, b: (
        torch.where(a > b, a * 2, b * 3) + torch.where(a <= 0.5, a, b) + torch.where(a != b, a, b)
    ),
    "limits": lambda a, b: a.clamp(0.4, 0.7) + torch.maximum(a, b) - torch.minimum(a, b) + a.clamp(min=0.5),
    "cat and stack": lambda a, b: (
        torch.cat([a, b * 2], 1).sum(0, keepdim=True) + torch.stack([a, b], 1).sum()
    ),
    "layer norm": lambda a, b: F.layer_norm(a, (4,)) + F.layer_norm(b, (3, 4)),
    "constants": lambda a, b: a * torch.arange(4.0) + torch.ones(3, 1) * b,
    "casts": lambda a, b: (a.double() * b.double()).exp(),
    "two results": lambda a, b: (a * b, a.sum(1)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_with_a_counterpart(name):
    assert_same(PROGRAMS[name], leaf(3, 4), leaf(3, 4, seed=1), atol=1e-5)


def test_an_embedding():
    torch.manual_seed(0)
    table = nn.Embedding(7, 3)
    assert_same(table, torch.tensor([[0, 6, 2], [1, 1, 5]]))


@pytest.mark.parametrize(("fn", "message"), [
    (lambda a: a.cumsum(0) * 2, r"cumsum \(test_compile_onnx.py, line \d+: .*\) has no counterpart in ONNX"),
    (lambda a: a.logcumsumexp(0), "logcumsumexp .* has no counterpart"),
    (lambda a: F.batch_norm(a, None, None, training=True), "native_batch_norm .* while it trains .call eval"),
    (lambda a: F.selu(a), "elu .* with a scale"),
    (lambda a: a.sort(1).indices * 2, "sort .* has no counterpart"),
])  # fmt: skip
def test_an_operation_without_one_is_named_with_its_line(fn, message):
    compiled = torch.compile(fn, fullgraph=True)
    compiled(leaf(3, 4))
    with pytest.raises(GraphExportError, match=message):
        model(compiled)
