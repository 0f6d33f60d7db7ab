"""torch.autograd.profiler: the same program lists the same events here and in PyTorch, in a table with the same columns.

Compared are the operations that autograd records (the innermost of those that share a node: `aten::mm` inside `aten::matmul`), the
ranges of `record_function`, and all that the engine does for each node, with shapes of tensors and counts. Not compared: times, the
kernels that PyTorch lists inside, and the operations with which it makes tensors.

To record: `python -m tests.record profiler`.
"""

import re
from threading import Event, Thread
from time import perf_counter

import pytest
from each import each
from recorded import check_live, differences, run, stored

import autograd_lab
from autograd_lab import lab
from autograd_lab.autograd import profiler

SETUP = """
profiler = torch.autograd.profiler
profile, record_function = profiler.profile, profiler.record_function

def recorded(events):
    found = []
    for e in events:
        if e.name.startswith("aten::"):
            inner = [c for c in e.cpu_children if c.sequence_nr == e.sequence_nr and c.name.startswith("aten::")]
            if e.sequence_nr < 0 or inner or e.name in ("aten::to", "aten::_has_compatible_shallow_copy_type"):  # which change nothing
                continue
        elif e.name in ("detach", "detach_"):  # inside aten::detach, of PyTorch's accumulator; and of what an optimizer makes
            continue
        inside = e.cpu_parent
        while inside is not None and inside.name.startswith("aten::"):
            inside = inside.cpu_parent
        shapes = [list(s) for s in e.input_shapes if s]
        found.append(f"{e.name} {shapes}" + (f" in {inside.name}" if inside is not None else ""))
    return found

def columns(table):
    return table.splitlines()[1].split("  ")
"""
BODIES = {
    "a network": "x = torch.ones(3, 4)\nw = torch.ones(4, 2, requires_grad=True)\nb = torch.zeros(2, requires_grad=True)\nwith p:\n    torch.relu(x @ w + b).mul(2).sum().backward()",
    "pointwise": "x = torch.ones(3, requires_grad=True)\nwith p:\n    y = (x.exp() - x.tanh() / x.sigmoid()).pow(2)\n    (-y).mean().backward()",
    "classes": "x, labels, layer = torch.ones(3, 4), torch.tensor([0, 1, 1]), nn.Linear(4, 2)\nwith p:\n    F.cross_entropy(layer(x), labels).backward()",
    "views": "x = torch.ones(2, 3, requires_grad=True)\nwith p:\n    (x.t().reshape(6)[1:].view(5) * x.view(6)[:5]).sum().backward()",
    "writes": "x = torch.ones(3, requires_grad=True)\nwith p:\n    y = x * 2\n    y.add_(1)\n    y.relu_()\n    y.sum().backward()",
    "without recording": "x = torch.ones(3, requires_grad=True)\nwith p, torch.no_grad():\n    (x * x).sum()",
    "ranges": "x = torch.ones(3, requires_grad=True)\nwith p:\n    with record_function('forward'):\n        y = (x * x).sum()\n    with record_function('backward'):\n        y.backward()",
    "a range as a decorator": "x = torch.ones(3, requires_grad=True)\n@record_function('squared')\ndef f(x):\n    return x * x\nwith p:\n    f(f(x)).sum().backward()",
    "a gradient by itself": "x = torch.ones(3, requires_grad=True)\nwith p:\n    torch.autograd.grad((x * x).sum(), x)",
    "a leaf used twice": "x = torch.ones(3, requires_grad=True)\nwith p:\n    (x.exp() + x.tanh()).sum().backward()",
    "twice": "x = torch.ones(3, requires_grad=True)\nwith p:\n    y = (x * x).sum()\n    y.backward(retain_graph=True)\n    y.backward()",
    "joined": "x, y = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, requires_grad=True)\nwith p:\n    z = torch.cat([x, y])\n    torch.stack([z, z * 2]).sum().backward()",
    "a constant": "x, w = torch.ones(3), torch.ones(3, requires_grad=True)\nwith p:\n    y = x.exp() * 2\n    y.add_(1)\n    (y * w).sum().backward()",
    "a graph of the pass": "x = torch.ones(2, 3, requires_grad=True)\nwith p:\n    g, = torch.autograd.grad((x * x).mean(0).sum(), x, create_graph=True)\n    (g * g).sum().backward()",
    "a graph of what was expanded": "x = torch.ones(1, 3, requires_grad=True)\nwith p:\n    z = x.expand(2, 3)\n    g, = torch.autograd.grad((z * z * z).sum(), x, create_graph=True)\n    (g * g).sum().backward()",
    "a graph of what was joined": "x, y = torch.ones(2, 3, requires_grad=True), torch.ones(1, 3, requires_grad=True)\nwith p:\n    z = torch.cat([x, y])\n    g, h = torch.autograd.grad((z * z).sum(), [x, y], create_graph=True)\n    (g.sum() + h.sum()).backward()",
    "optimizers": "w, v = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)\nw.grad, v.grad = torch.ones(3), torch.ones(2)\nsgd, adam = torch.optim.SGD([w], lr=0.1), torch.optim.AdamW([v])\nwith p:\n    with record_function('update'):\n        sgd.step()\n    adam.step()\n    sgd.zero_grad()\n    adam.zero_grad()",
    "a training step": "w = torch.ones(3, requires_grad=True)\nsgd = torch.optim.SGD([w], lr=0.1)\ndef closure():\n    sgd.zero_grad()\n    loss = (w * w).sum()\n    loss.backward()\n    return loss\nwith p:\n    sgd.step(closure)",
    "lists of indices": "x = torch.ones(3, 3, requires_grad=True)\ni, j, m = torch.tensor([0, 2]), torch.tensor([1, 1]), torch.ones(3, 3) > 0\nwith p:\n    (x[i].sum() + x[i, j].sum() + x[m].sum()).backward()",
    "what is computed inside": "x, w, b = torch.ones(3, 4, requires_grad=True), torch.ones(4, requires_grad=True), torch.zeros(4, requires_grad=True)\nwith p:\n    a = F.layer_norm(x, (4,), w, b) + F.batch_norm(x, torch.zeros(4), torch.ones(4), w, b, training=True) + F.group_norm(x, 2) + F.logsigmoid(x)\n    (a.sum() + F.max_pool2d(x[None], 2).sum()).backward()",
    "names with digits": "x = torch.ones(1, 1, 4, 4, requires_grad=True)\nwith p:\n    (F.interpolate(x, scale_factor=2).sum() + F.unfold(x, 2).sum() + F.avg_pool2d(x, 2).sum() + F.pad(x, (1, 1, 1, 1), mode='reflect').sum()).backward()",
    "names of PyTorch's own": "x = torch.eye(3, requires_grad=True)\nwith p:\n    y = x // 2\n    (x.double().sum() + torch.linalg.det(x)).backward()",
    "memory of another": "w = torch.ones(3, requires_grad=True)\nzeros = torch.zeros(3)\nwith p:\n    w.data = zeros\n    (w * w).sum().backward()",
    "a Function": "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a):\n        return a * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 2\nx = torch.ones(3, requires_grad=True)\nwith p:\n    Double.apply(x).sum().backward()",
}
END = """
out["events"] = [line for line in recorded(p.function_events) if not line.startswith("Double ")]
averages = p.key_averages()
known = {e.name for e in p.function_events if e.name + " " in " ".join(out["events"])}
out["counts"] = sorted((a.key, a.count) for a in averages if "evaluate_function" in a.key or "Backward" in a.key)
"""
TABLES = (
    SETUP
    + """
x = torch.ones(3, requires_grad=True)
with profile() as p:
    with record_function("mine"):
        y = x * x
out["columns"] = p.key_averages().table().splitlines()[1].split()
out["end"] = p.key_averages().table().splitlines()[-1].split(":")[0]
with profile(record_shapes=True) as q:
    y = x * x
out["columns with shapes"] = q.key_averages(group_by_input_shape=True).table().splitlines()[1].split()
out["the lines"] = [line for line in q.key_averages().table(row_limit=0).splitlines() if line.startswith("---")]
out["rows"] = [line.split()[0] for line in p.key_averages().table(sort_by="count", row_limit=1).splitlines()[3:4]]
out["short names"] = p.key_averages().table(sort_by="cpu_time_total", max_name_column_width=8).splitlines()[3].split()[0]
out["header"] = p.key_averages().table(header="Mine").splitlines()[1]
out["no shapes"] = [list(e.input_shapes) for e in p.function_events if e.name in ("mine", "aten::mul")]
nothing = profile(enabled=False)
with nothing as entered:
    y = x * x
out["not entered"] = entered is None
try:
    p.__enter__()
except RuntimeError as error:
    out["entered again"] = str(error)
with profile() as empty:
    pass
out["empty"] = empty.key_averages().table()
"""
)
PROGRAMS = {
    name: f"{SETUP}\np = profile(record_shapes=True)\n{body}\n{END}" for name, body in BODIES.items()
} | {"tables": TABLES}
STORED = stored(__file__)


@pytest.mark.parametrize("express", [False, True])
def test_the_events_are_pytorchs(express, standing_in):
    lab.fast(express)
    each(PROGRAMS, lambda name: _compared(name, standing_in))


def _compared(name, library):
    assert not differences(run(PROGRAMS[name], library), STORED["results"][name])


def test_the_record_is_what_live_pytorch_does():
    check_live(STORED, PROGRAMS)


def test_what_there_is_not_is_refused():
    asked = ["use_cuda", "with_flops", "profile_memory", "with_stack", "with_modules"]
    cases = [*({name: True} for name in asked), {"use_device": "cuda"}, {"use_cpu": False}]

    def refused(options):
        with pytest.raises(
            NotImplementedError, match=r"cannot do .* in autograd_lab: .*What to do: leave it out"
        ):
            profiler.profile(**options)

    each(cases, refused)
    with profiler.profile() as p:
        autograd_lab.ones(2).exp()
    with pytest.raises(AttributeError, match=r"has no attribute 'cuda_time'.*sorts by count"):
        p.key_averages().table(sort_by="cuda_time")


def test_the_times_are_those_of_the_program():
    x = autograd_lab.ones(200, 200, requires_grad=True)
    begun = perf_counter()
    with profiler.profile() as p:
        (x @ x).tanh().sum().backward()
    passed = (perf_counter() - begun) * 1e6
    assert 0 < p.self_cpu_time_total <= passed
    assert all(one.self_cpu_time_total <= one.cpu_time_total for one in p.function_events)
    inside = sum(one.cpu_time_total for one in p.function_events if one.cpu_parent is None)
    assert inside == pytest.approx(p.self_cpu_time_total)
    assert re.fullmatch(r"Self CPU time total: [\d.]+(us|ms|s)", p.table().splitlines()[-1])


def test_it_watches_inside_a_recording_and_leaves_it_as_it_was():
    x = autograd_lab.ones(3, requires_grad=True)
    with lab.record() as trace:
        with profiler.profile() as p:
            x.exp()
        x.tanh()
    assert [e.name for e in p.function_events] == ["aten::exp"]
    assert [node["name"] for node in trace.nodes if node["kind"] == "op"] == ["ExpBackward0", "TanhBackward0"]


def test_another_thread_has_events_of_its_own():
    def elsewhere():
        with profiler.record_function("elsewhere"):
            started.set()
            done.wait(60)

    started, done, x = Event(), Event(), autograd_lab.ones(3, requires_grad=True)
    thread = Thread(target=elsewhere)
    with profiler.profile() as p:
        thread.start()
        assert started.wait(60)
        x.exp()
        done.set()
        thread.join()
    assert [(e.name, e.cpu_parent) for e in p.function_events] == [("aten::exp", None)]


def test_a_failed_pass_ends_its_events():
    x = autograd_lab.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    with profiler.profile() as p:
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
        x.exp()
    assert p.function_events[-1].cpu_parent is None


def test_a_profile_that_another_thread_ends_meanwhile_hides_no_other():
    class Ended:
        @property
        def state(self):
            profiler._OPEN.remove(self)

    with profiler.profile() as profile:
        profiler._OPEN.insert(0, Ended())
        with profiler.record_function("mine"):
            pass
    assert [event.name for event in profile.function_events] == ["mine"]
