"""Writes that no operation tells of are seen: what a trace shows is what the memory holds, and the line is the one that wrote."""

import importlib
import itertools
import linecache
import random

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.builder import encode
from autograd_lab.widgets.frames import film

ENGINES = [
    "autograd_lab",
    pytest.param(
        "torch", marks=pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no PyTorch")
    ),
]
RECORD = {"autograd_lab": lab.record, "torch": lab.record_torch}

SHARED = {  # how x comes to share memory with the array a
    "from_numpy": "a = np.array([3.0, 1.0, 2.0], dtype=np.float32)\nx = torch.from_numpy(a)",
    "as_tensor": "a = np.array([3.0, 1.0, 2.0], dtype=np.float32)\nx = torch.as_tensor(a)",
    "detach().numpy()": "x = torch.tensor([3.0, 1.0, 2.0])\na = x.detach().numpy()",
    "asarray by its own name": "from numpy import asarray\nx = torch.tensor([3.0, 1.0, 2.0])\na = asarray(x)",
    "asarray": "x = torch.tensor([3.0, 1.0, 2.0])\na = np.asarray(x)",
    "numpy(force=True)": "x = torch.tensor([3.0, 1.0, 2.0])\na = x.numpy(force=True)",
    "frombuffer": "raw = bytearray(np.array([3, 1, 2], dtype=np.float32).tobytes())\na = np.frombuffer(raw, np.float32)\n"
    "x = torch.frombuffer(raw, dtype=torch.float32)",
    "a view": "big = np.array([0, 3, 1, 2], dtype=np.float32)\na = big[1:]\nx = torch.from_numpy(big)[1:]",
}
WRITES = [
    "a *= 2", "a[0] = 7", "a[...] = 7", "a[a > 1] = 0", "a.fill(7)", "a.sort()", "np.copyto(a, 9)", "np.multiply(a, 3, out=a)",
    "np.put(a, [0], [8])", "a.flat[1] = 5", "a[1:] -= 1", "a[::-1][0] += 4", "a.reshape(3, 1)[2] = 6", "np.random.default_rng(3).shuffle(a)",
    "write(a)", "for i in range(3): a[i] = i + 10", "other = a[:2]; other += 1", "write_deep(a)", "Writer(a).write()",
]  # fmt: skip
READS = [
    "a.sum()", "b = a * 2", "b = np.sort(a)", "b = a.copy(); b *= 3", "b = list(a)", "b = np.array(a); b[0] = 9", "look(a)", "a[0]",
    "b = a + 0; b.fill(3)",
]  # fmt: skip
HELPERS = """
def write(values):
    values += 1
def write_deep(values):
    def inner(numbers):
        numbers[0] = -5
    inner(values)
def look(values):
    return values.mean()
class Writer:
    def __init__(self, values):
        self.values = values
    def write(self):
        self.values *= 5
"""


def run(engine, source, **names):
    """The trace of a program, its names, and its lines."""
    torch = importlib.import_module(engine)
    file = f"<writes {engine} {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"torch": torch, "np": np, "record": RECORD[engine], **names}
    exec(compile(source, file, "exec"), scope)
    return scope["trace"], scope, source.splitlines()


def indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


def program(share, write, style):
    inside = (
        "w = torch.tensor([1.0, 1.0, 1.0], requires_grad=True)\n"
        + share
        + "\nloss = (w * x).sum()\n"
        + write
        + "\nloss.backward()"
    )
    if style == "module":
        return HELPERS + "with record() as trace:\n" + indented(inside)
    return (
        HELPERS
        + "def train():\n"
        + indented(inside)
        + "    return x\nwith record() as trace:\n    x = train()\n"
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("style", ["module", "function"])
@pytest.mark.parametrize("share", SHARED)
def test_a_write_by_numpy_is_seen(engine, style, share):
    for write in WRITES:
        trace, scope, lines = run(engine, program(SHARED[share], write, style))
        events = [e for e in trace.events if e.get("unnoticed") == "numpy"]
        assert events, (write, "was not seen")
        shown = [trace.values[e["v"]] for e in events if trace.tensors[e["t"]]["name"] == "x"]
        assert shown, write
        assert shown[-1]["data"] == pytest.approx(scope["x"].tolist()), write
        said = {lines[e["src"][1] - 1].strip() for e in events if "src" in e}
        inner = {
            "write(a)": "values += 1",
            "write_deep(a)": "numbers[0] = -5",
            "Writer(a).write()": "self.values *= 5",
        }
        wanted = inner.get(write, write)
        if write == "Writer(a).write()":  # nobody has kept the object, so its method cannot be looked up
            assert said <= {"self.values *= 5", write}, said
            continue
        assert said == {wanted}, write
        assert all(e["sure"] for e in events), write


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("share", SHARED)
def test_nothing_is_said_of_what_only_reads(engine, share):
    for read in READS:
        trace, _, _ = run(engine, program(SHARED[share], read, "module"))
        assert not [e for e in trace.events if e.get("unnoticed")], read


CHANGES = [
    "w.data.mul_(2)", "w.data[0] = 5", "w.data[1:].add_(1)", "w.detach().sub_(1)", "w.detach()[1] = 3", "w.detach().numpy()[0] += 1",
    "a[1] *= 3", "w.data = w.data * 2", "w.data = torch.tensor([4.0, 4.0, 4.0])", "w.data.copy_(torch.tensor([1.0, 2.0, 3.0]))",
    "w.data.detach().add_(2)", "w.detach().data.mul_(0.5)", "alias.mul_(2)", "np.negative(a, out=a)", "b = w.detach().numpy(); b /= 2",
    "y = (w * w).sum(); y.backward()", "w.grad = None", "w.detach().numpy().sum()",
    "torch.nn.init.normal_(w)",
]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(40))
def test_what_is_shown_at_the_end_is_what_memory_holds(engine, seed):
    """Random programs that write into a leaf by every way there is."""
    lines = random.Random(seed).choices(CHANGES, k=8)
    source = (
        "with record() as trace:\n    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n    a = w.detach().numpy()\n"
        "    alias = w.data\n    z = w * 1\n" + indented("\n".join(lines))
    )
    trace, scope, _ = run(engine, source)
    t = trace.number_of(scope["w"])
    state = lab.state(trace, len(trace))
    wanted = encode(np.asarray(scope["w"].tolist(), np.float32))["data"]
    assert trace.values[state.tensors[t].value]["data"] == wanted, "\n".join(lines)
    assert state.tensors[t].version == scope["w"]._version, "\n".join(lines)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(20))
def test_a_node_saves_what_memory_holds_when_it_is_made(engine, seed):
    """Between two such writes, which nobody may count, a node saves the leaf: the trace once told the numbers of before."""
    lines = random.Random(seed).choices([c for c in CHANGES if "backward" not in c], k=8)
    source = (
        "squares, held = [], []\nwith record() as trace:\n    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n"
        "    a = w.detach().numpy()\n    alias = w.data\n"
        + indented("\n".join(f"{line}\nsquares.append(w * w)\nheld.append(w.tolist())" for line in lines))
    )
    trace, scope, _ = run(engine, source)
    rows = film(trace)
    for square, numbers in zip(scope["squares"], scope["held"], strict=True):
        node = rows["nodes"][trace.tensors[trace.number_of(square)]["node"]]
        told = [rows["values"][v]["data"] for _, v, _ in node["saved"]]  # rounded to four digits
        np.testing.assert_allclose(told, [numbers] * 2, rtol=1e-3, err_msg="\n".join(lines))


TOLD = """
with record() as trace:
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
    bn = torch.nn.BatchNorm1d(3)
    arrays = [w.detach().numpy(), bn.running_mean.numpy(), bn.weight.detach().numpy()]
    opt = torch.optim.SGD([w, *bn.parameters()], lr=0.1, momentum=0.9)
    other = torch.optim.LBFGS([w], max_iter=2)
    for i in range(3):
        opt.zero_grad()
        loss = (bn(torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 5.0]])) * w).pow(2).sum()
        loss.backward()
        arrays.append(w.grad.numpy())
        torch.nn.utils.clip_grad_norm_([w], 0.5)
        torch.nn.utils.clip_grad_value_([w], 0.1)
        opt.step()
    def closure():
        w.grad = None
        loss = (w * w).sum()
        loss.backward()
        return loss
    other.step(closure)
    with torch.no_grad():
        w.mul_(2)
        w.clamp_(max=2)
        torch.nn.init.uniform_(w)
        bn.load_state_dict(bn.state_dict())
    w.data.add_(1)
    loss = (w * w).sum()
    w.grad.zero_()
    arrays.append(w.grad.numpy())
    loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_operation_writes_is_not_said_to_be_numpys(engine):
    trace, _, _ = run(engine, TOLD)
    assert not [e for e in trace.events if e.get("unnoticed") == "numpy"]
    assert not [e for e in trace.events if e["k"] == "grad" and e["how"] == "NumPy"]


def test_recording_leaves_the_memory_of_pytorch_as_it_is():
    """numpy() makes the memory of a tensor one of fixed size: the recorder has to take its numbers in another way."""
    pytest.importorskip("torch")
    source = "with record() as trace:\n    u = torch.ones(3)\n    v = u * 2\n    v.add_(1)\n"
    _, scope, _ = run("torch", source)
    for t in (scope["u"], scope["v"]):
        assert t.resize_(10).shape == (10,)


@pytest.mark.parametrize("engine", ENGINES)
def test_many_arrays_cost_no_more_than_a_few(engine):
    """At the start of a pass only the arrays that were shared last are looked at."""
    source = (
        "import collections\nseen = []\nwith record() as trace:\n    w = torch.tensor([1.0], requires_grad=True)\n    kept = []\n"
        "    for i in range(150):\n        loss = (w * w).sum()\n        kept.append(loss.detach().numpy())\n        loss.backward()\n"
        "    looked = trace._recorder.shared_memory.latest()\n    count = len(trace._recorder.memory)\n"
    )
    _, scope, _ = run(engine, source)
    assert scope["count"] == 150
    assert len(scope["looked"]) == 64


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_shares_its_memory_too(engine):
    source = (
        "with record() as trace:\n    a = np.ones(2, dtype=np.float32)\n    x = torch.from_numpy(a)\n"
        "    w = torch.tensor(2.0, requires_grad=True)\n    y = w * x\n    a += 1\n    z = (w * x).sum()\n"
        "    b = w.detach().numpy()\n    b += 5\n    z.backward()\n"
    )
    trace, scope, _ = run(engine, source)
    state = lab.state(trace, len(trace))
    assert trace.values[state.tensors[trace.number_of(scope["w"])].value]["data"] == 7


@pytest.mark.parametrize("engine", ENGINES)
def test_each_tensor_is_asked_once_whose_memory_it_has(engine, monkeypatch):
    """Recording a loop that writes into its buffer costs as much per step at the end as at the beginning."""
    shared = importlib.import_module("autograd_lab.tracing.shared")
    asked = []
    counted = shared.Shared.over

    def over(self, key, met):
        asked.append(len(met) - (self._seen if len(met) >= self._seen else 0))
        return counted(self, key, met)

    monkeypatch.setattr(shared.Shared, "over", over)
    source = (
        "with record() as trace:\n    a = np.ones(3, dtype=np.float32)\n    x = torch.from_numpy(a)\n"
        "    w = torch.ones(3, requires_grad=True)\n    for i in range(40):\n        a += 1\n        (w * x).sum().backward()\n"
    )
    run(engine, source)
    assert len(asked) >= 39
    assert max(asked) < 12


@pytest.mark.parametrize("engine", ENGINES)
def test_a_write_that_does_not_count_is_recorded(engine):
    """Tensors made in inference mode have no version."""
    source = "with record() as trace, torch.inference_mode():\n    layer = torch.nn.Linear(2, 1)\n    x = torch.ones(2) * 2\n    x.add_(1)\n"
    trace, scope, _ = run(engine, source)
    written = [e["version"] for e in trace.events if e["k"] == "inplace"]
    assert scope["x"].tolist() == [3, 3]
    assert written
    assert set(written) == {0}


def test_every_pair_of_sharing_and_writing_is_tried():
    assert len(list(itertools.product(SHARED, WRITES))) > 120


@pytest.mark.parametrize("engine", ENGINES)
def test_who_called_the_recording_has_not_written(engine):
    """The source does not show who wrote; a line above the recording, which had not run by then, is not blamed."""
    source = """
x = torch.tensor([3.0, 1.0, 2.0])
a = x.detach().numpy()
def recorded():
    with record() as trace:
        y = x * 2
        eval("a.__setitem__(0, 7)", {"a": a})
        y = x * 3
    return trace
trace = recorded()
a[1] = 9
"""
    trace, _, _ = run(engine, source)
    (event,) = [e for e in trace.events if e.get("unnoticed") == "numpy"]
    assert "src" not in event


def test_a_write_gives_a_base_a_copyslices_only_through_a_view():
    """Also where the base got one before, by another write: what is written into it then has a node of its own."""
    x = torch.ones(3, requires_grad=True)
    with lab.record() as trace:
        y = x * 1.0
        y.exp_()
        y[0].mul_(2.0)
        y.sin_()
        v = y[1:]
        v.mul_(3.0)
        v.tanh_()
        y.mul_(4.0)
        y[:2].zero_()
    names = [node["name"] for node in trace.nodes]
    found = [
        (e["op"], None if (copied := trace.rewritten(e)) is None else names[copied])
        for e in trace
        if e["k"] == "inplace" and "unnoticed" not in e
    ]
    one = "CopySlices"
    assert found == [
        ("exp_", None),
        ("mul_", one),
        ("sin_", None),
        ("mul_", one),
        ("tanh_", one),
        ("mul_", None),
        ("zero_", one),
    ]
