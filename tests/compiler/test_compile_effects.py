"""What a compiled call does beside its results: buffers and versions, random numbers, and what a recorder is told."""

import random as python_random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.compiler import GraphBreakError, GraphExportError

F = nn.functional


def numbers(k, *shape):
    return torch.tensor(np.random.default_rng(k).uniform(-1, 1, shape).astype(np.float32))


def plain(x):
    """Tensors as lists, in whatever they are."""
    if isinstance(x, torch.Tensor):
        return [x.tolist(), str(x.dtype), x.requires_grad]
    return [plain(y) for y in x] if isinstance(x, list | tuple) else x


def near(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-5 * max(1.0, abs(b)) or (a != a and b != b)
    return type(a) is type(b) and a == b


def outcome(model, call, make, seed, calls=4):
    """All that some calls leave behind: results, gradients, buffers, versions, errors, where the generators stand."""
    found = []
    torch.manual_seed(seed)
    for k in range(calls):
        inputs = make(k)
        error = ""
        try:
            out = call(*inputs)
            found.append(plain(out))
            outs = out if isinstance(out, list | tuple) else [out]
            total = sum((t * t).sum() for t in outs if t.requires_grad)
            if isinstance(total, torch.Tensor):
                total.backward()
        except (RuntimeError, ValueError, TypeError, IndexError) as problem:
            text = str(problem).split(", which is output")[0]
            if OVERWRITTEN in text:
                text = text.partition(" is at version ")[0]  # counted from the call on
            error = f"{type(problem).__name__}: {text}"
            for t in [*model.parameters(), *inputs]:
                t.grad = None  # those that came before the error: a compiled backward is one step
        state = [*model.parameters(), *model.buffers(), *inputs]
        found.append([[t.tolist(), t._version] for t in state])
        found.append([error, [None if t.grad is None else t.grad.tolist() for t in state]])
        found.append([torch.rand(2).tolist(), python_random.getstate()[1][-1]])
        for t in state:
            t.grad = None
    return found


def assert_agrees(build, make, *, captured=True, seed=3, calls=4):
    """A compiled module does to the world what the plain one does; `captured`: and it is one graph."""
    model, twin = (torch.manual_seed(0) and build() for _ in range(2))
    compiled = torch.compile(twin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = outcome(twin, compiled, make, seed, calls)
    want = outcome(model, model, make, seed, calls)
    for g, w in zip(got, want, strict=True):
        # PyTorch's compiler, and this one, know what a saved value was before the function itself wrote over it
        if not (isinstance(w[0], str) and OVERWRITTEN in w[0] and g[0] == ""):
            assert near(g, w), (g, w)
    assert bool(compiled.entries) == captured, compiled.breaks
    return compiled


OVERWRITTEN = "one of the variables needed for gradient computation has been modified by an inplace operation"


class Custom(nn.Module):
    """A module made of a function of the module and its inputs; it has a weight, buffers and parts to play with."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn
        self.weight = nn.Parameter(torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.3, -0.2]]))
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("other", torch.ones(3))
        self.register_buffer("count", torch.tensor(0))
        self.norm, self.drop = nn.BatchNorm1d(3), nn.Dropout(0.4)

    def forward(self, *xs):
        return self.fn(self, *xs)


def rows(k):
    return [numbers(k, 4, 3).requires_grad_()]


def ema(m, x):
    with torch.no_grad():
        m.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        m.count.add_(1)
    return (x - m.mean) * m.weight[0]


def read_before_and_after(m, x):
    before = m.mean + 1
    m.mean.add_(x.detach().sum(0))
    return x * before + m.mean


def swapped(m, x):
    old = m.mean.clone()
    m.mean.copy_(m.other)
    m.other.copy_(old + 1)
    return x * m.mean + m.other


def written_twice(m, x):
    m.count.add_(1)
    m.count.mul_(2)
    return x * m.count


def norm_twice(m, x):
    return m.norm(m.norm(x * 2) + x)


def norm_by_function(m, x):
    return F.batch_norm(x, m.mean, m.other, m.weight[0], None, True, 0.3)


def dropped_for_nobody(m, x):
    m.drop(x)
    return x * 2 + m.drop(torch.ones(4, 3))


def saved_then_written(m, x):
    y = x * m.other
    m.other.add_(1)
    return y


def keeps_a_view(m, x):
    v = m.mean[:2]
    m.mean.add_(1)
    return x[:, :2] * v


def through_a_view(m, x):
    m.mean[0] = 5.0
    return x * m.mean


def clone_of_a_statistic(m, x):
    old = m.norm.running_mean.clone() + x.detach()[0] * 0
    older = m.other.view(1, 3).clone()[0].clone()
    m.other.add_(1)
    return m.norm(x) * older + x * old.clone() * older


def computed_from_what_is_written(m, x):
    big = m.big * 2
    y = x.sum() * big * torch.sigmoid(big)
    m.big.add_(1)
    return y.sum()


def big_one():
    model = Custom(computed_from_what_is_written)
    model.register_buffer("big", torch.linspace(-1, 1, 40_000))
    return model


CAPTURED = {
    "batch norm": (lambda: nn.BatchNorm1d(3), rows),
    "batch norm of images": (lambda: nn.BatchNorm2d(2, momentum=0.5), lambda k: [numbers(k, 3, 2, 4, 4).requires_grad_()]),
    "batch norm without weights": (lambda: nn.BatchNorm1d(3, affine=False), rows),
    "batch norm without statistics": (lambda: nn.BatchNorm1d(3, track_running_stats=False), rows),
    "instance norm with statistics": (lambda: nn.InstanceNorm1d(2, track_running_stats=True), lambda k: [numbers(k, 3, 2, 5).requires_grad_()]),
    "dropout": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3), nn.Linear(4, 2), nn.Dropout(0.7)), rows),
    "dropout in place": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.3, inplace=True)), rows),
    "dropout of all": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Dropout(1.0)), rows),
    "dropout of channels": (lambda: nn.Sequential(nn.Conv2d(1, 3, 2), nn.Dropout2d(0.5)), lambda k: [numbers(k, 2, 1, 3, 3)]),
    "alpha dropout": (lambda: nn.Sequential(nn.Linear(3, 4), nn.AlphaDropout(0.3)), rows),
    "attention with dropout": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.2, batch_first=True), lambda k: [numbers(k, 2, 3, 4)]),
    "a mean by hand": (lambda: Custom(ema), rows),
    "read before and after": (lambda: Custom(read_before_and_after), rows),
    "clone of a statistic": (lambda: Custom(clone_of_a_statistic), rows),
    "computed from what is written": (big_one, rows),
    "two swapped": (lambda: Custom(swapped), rows),
    "written twice": (lambda: Custom(written_twice), rows),
    "one norm twice": (lambda: Custom(norm_twice), rows),
    "norm by function": (lambda: Custom(norm_by_function), rows),
    "draws that nobody reads": (lambda: Custom(dropped_for_nobody), rows),
    "saved, then written": (lambda: Custom(saved_then_written), rows),
    "a view of a buffer outlives the write": (lambda: Custom(keeps_a_view), rows),
    "a buffer written through a view": (lambda: Custom(through_a_view), rows),
    "norm of the weights": (lambda: Custom(lambda m, x: x + m.norm(m.weight).sum(0)), rows),
    "of a constant": (lambda: Custom(lambda m, x: x + m.norm(torch.arange(6.0).reshape(2, 3)).sum(0)), rows),
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURED)
def test_buffers_versions_and_random_numbers_are_those_of_the_plain_module(name):
    assert_agrees(*CAPTURED[name])


def through_an_alias(m, x):
    m.mean.detach().add_(1)
    return x * m.mean


def by_data(m, x):
    m.mean.data.add_(1)
    return x * m.mean


def writes_the_weight(m, x):
    with torch.no_grad():
        m.weight.mul_(0.9)
    return x * m.weight[0]


def gives_history(m, x):
    m.mean.copy_(x.sum(0))
    out = x * m.mean
    m.mean = torch.zeros(3)
    return out


def reads_the_count(m, x):
    m.count.add_(1)
    return x / m.count.item()


def writes_the_argument(m, x):
    x.detach().mul_(2)
    return x * 1


def noise(m, x):
    return x + torch.randn(4, 3)


def normal_noise(m, x):
    return x + torch.empty(4, 3).normal_()


def coin(m, x):
    return torch.bernoulli(x.detach().abs()) * x


def seeds(m, x):
    torch.manual_seed(5)
    return m.drop(x)


def seeds_as_it_is(m, x):
    torch.manual_seed(3)
    return x * 1


def forks(m, x):
    with torch.random.fork_rng():
        return m.drop(x)


def asks_for_the_seed(m, x):
    return x * float(torch.initial_seed())


def dropped_and_drawn(m, x):
    return m.drop(x) * torch.rand(3)


def drawn_and_dropped(m, x):
    return torch.rand(3) * m.drop(x)


BREAKS = {
    "a buffer written through an alias": (through_an_alias, "no operation of this call|was there before"),
    "a buffer written through data": (by_data, "no operation of this call|was there before"),
    "a weight written, then used": (writes_the_weight, "used, and recorded, after it was written"),
    "a buffer that gets a history": (gives_history, "gets one"),
    "a count read": (reads_the_count, "reads a number"),
    "an argument written": (writes_the_argument, "no operation of this call|was there before"),
    "an average over all batches": (lambda m, x: m.norm(x), "item() reads a number"),
    "noise": (noise, "random numbers"),
    "noise in place": (normal_noise, "random numbers"),
    "coins": (coin, "a number out of a tensor|random numbers"),
    "a seed": (seeds, "is read or set"),
    "the seed that there is": (seeds_as_it_is, "is read or set"),
    "a fork": (forks, "is read or set"),
    "the seed asked for": (asks_for_the_seed, "is read or set"),
    "dropout, then noise": (dropped_and_drawn, "random numbers"),
    "noise, then dropout": (drawn_and_dropped, "random numbers"),
    "leaky relu with noise": (lambda m, x: F.rrelu(x, training=True), "random numbers"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_stays_a_break_is_told_with_its_line_and_happens_once(name):
    fn, reason = BREAKS[name]

    def build():
        model = Custom(fn)
        if "average" in name:
            model.norm = nn.BatchNorm1d(3, momentum=None)
        return model

    compiled = assert_agrees(build, rows, captured=False)
    assert any(word in compiled.breaks[0].reason for word in reason.split("|")), compiled.breaks[0]
    assert "test_compile_effects.py, line" in compiled.breaks[0].line
    with pytest.raises(GraphBreakError, match="test_compile_effects"):
        torch.compile(build(), fullgraph=True)(*rows(0))


PARTS = ["x = m.norm(x)", "x = m.drop(x)", "x = x * m.weight[0]", "m.count.add_(1)", "x = x + m.mean", "x = x * m.count",
         "m.mean.add_(x.detach().mean(0))", "m.other.copy_(m.mean)", "x = F.dropout(x, 0.5)", "x = torch.tanh(x) - x",
         "y = x.detach() * 1", "m.mean.mul_(0.5)", "x = x.clone().mul_(m.other)", "m.drop(y)", "x = x + y"]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8), st.integers(0, 3))
def test_random_programs_leave_the_world_as_the_plain_run_does(parts, seed):
    code = compile("\n".join(parts), "<parts>", "exec")

    def fn(m, x):
        space = {"m": m, "x": x, "y": x * 1, "F": F, "torch": torch}
        exec(code, space)
        return space["x"] * 1

    assert_agrees(lambda: Custom(fn), rows, seed=seed, calls=3)


def test_in_training_and_evaluation_the_same_module_has_two_graphs():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    compiled = torch.compile(model, fullgraph=True)
    for k in range(6):
        model.train(k % 2 == 0)
        compiled(numbers(k, 5, 3))
    assert len(compiled.entries) == 2
    assert model[1].num_batches_tracked.item() == 3
    assert "rng().random((5, 4)) < 0.5" in compiled.entries[0].forward.source
    assert ".mean((0,))" in compiled.entries[0].forward.source
    assert "rng" not in compiled.entries[1].forward.source


def test_a_written_buffer_that_shares_its_memory_with_an_argument_runs_as_it_is():
    def build():
        model = Custom(lambda m, x: x * 2 + m.mean.add_(1) * 3)
        model.mean = torch.zeros(4)[1:]
        return model

    model, twin = build(), build()
    compiled = torch.compile(twin)
    compiled(torch.ones(3))
    model(torch.ones(3))
    shared = [m.mean.detach() for m in (model, twin)]
    got, want = compiled(shared[1]), model(shared[0])
    assert got.tolist() == want.tolist()
    assert twin.mean.tolist() == model.mean.tolist()
    assert len(compiled.entries) == 1


def test_an_expanded_buffer_is_refused_as_it_is_by_the_plain_module():
    model = Custom(ema)
    compiled = torch.compile(model)
    compiled(*rows(0))
    model.mean = torch.zeros(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        compiled(*rows(1))


def test_a_call_that_leaves_the_compiled_code_has_drawn_nothing():
    def fn(x, t):
        return F.cross_entropy(F.dropout(x, 0.5), t)

    compiled = torch.compile(fn)
    x = numbers(0, 4, 3)
    seen = []
    for call in (compiled, fn):
        call(x, torch.tensor([0, 1, 2, 0]))
        torch.manual_seed(1)
        seen.append([call(x, torch.tensor([0, -100, 2, 0])).item(), torch.rand(1).item()])
    assert len(compiled.entries) == 1
    assert near(*seen)


def test_the_first_call_happens_once_and_is_compiled():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    version = model[1].num_batches_tracked._version
    y = torch.compile(model)(numbers(0, 5, 3))
    assert type(y.grad_fn).__name__ == "CompiledFunctionBackward"
    assert model[1].num_batches_tracked.item() == 1
    assert model[1].num_batches_tracked._version == version + 1


def test_graphs_with_effects_are_not_saved():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    compiled = torch.compile(model)
    compiled(numbers(0, 5, 3))
    with pytest.raises(GraphExportError, match=r"writes buffers cannot be saved: call model.eval\(\)"):
        compiled.save("nowhere.json")
    dropping = torch.compile(nn.Dropout(0.5))
    dropping(numbers(0, 5, 3))
    with pytest.raises(GraphExportError, match="draws random numbers cannot be saved"):
        dropping.save("nowhere.json")


# --- recording -------------------------------------------------------------------------------------


def test_recording_a_compiled_dropout_draws_nothing_more():
    drop = torch.compile(lambda x: F.dropout(x, 0.5) * 2)
    x = torch.ones(6, requires_grad=True)
    seen = []
    for recorded in (False, True, True):
        torch.manual_seed(7)
        if recorded:
            with lab.record() as trace:
                y = drop(x)
                y.sum().backward()
            node = next(n for n in trace.nodes if n["name"] == "CompiledFunctionBackward")
            made = node["compiled"]["forward"][-1]["makes"][0][1]
            assert trace.values[made]["data"] == y.tolist()
        else:
            y = drop(x)
        seen.append([y.tolist(), torch.rand(1).item()])
    assert seen[0] == seen[1] == seen[2]


def test_a_call_that_breaks_while_it_is_recorded_is_in_the_trace():
    def choose(x):
        y = x * 2
        if y.sum() > 0:
            return y.exp()
        return y

    compiled = torch.compile(choose)
    x = torch.ones(3, requires_grad=True)
    with lab.record() as trace, pytest.warns(UserWarning, match="reads a number"):
        compiled(x).sum().backward()
    with lab.record() as want:
        choose(x).sum().backward()
    assert [n["name"] for n in trace.nodes] == [n["name"] for n in want.nodes]
    assert [e["k"] for e in trace.events] == [e["k"] for e in want.events]


def test_a_first_call_that_is_captured_while_it_is_recorded_is_one_node():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    compiled = torch.compile(model)
    with lab.record() as trace:
        compiled(numbers(0, 5, 3)).sum().backward()
    names = [n["name"] for n in trace.nodes if n["name"] != "AccumulateGrad"]
    assert names == ["CompiledFunctionBackward", "SumBackward0"]
    written = [e for e in trace.events if e["k"] == "inplace"]
    assert len(written) == 1  # num_batches_tracked; the running statistics count no write


def test_a_scope_inside_a_compiled_function():
    @torch.compile
    def scoped(x):
        with lab.scope("inner"):
            return x * 2

    with lab.record():
        assert scoped(torch.ones(2)).tolist() == [2, 2]
    assert scoped(torch.ones(2)).tolist() == [2, 2]


def test_a_break_that_only_other_numbers_show_leaves_buffers_and_versions_alone():
    def hidden(m, x):
        m.mean.add_(1)
        return m.drop(x) * float(x._data.sum())

    compiled = assert_agrees(lambda: Custom(hidden), rows, captured=False)
    assert "on other numbers it does something else" in compiled.breaks[0].reason


# --- lines -----------------------------------------------------------------------------------------


def test_a_line_names_the_cell_that_it_stands_in(monkeypatch):
    """A function of cell 2, called in cell 5, breaks in cell 2; its steps come from there."""
    pytest.importorskip("IPython")
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    cells = [
        "import autograd_lab as torch",
        "def f(x):\n    y = x * 2\n    if y.sum() > 0:\n        return y\n    return -y",
        "def g(x):\n    return torch.tanh(x)",
        "broken, whole = torch.compile(f), torch.compile(g)",
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    broken(torch.ones(2))\nwhole(torch.ones(2))",
    ]
    for cell in cells:
        assert shell.run_cell(cell, store_history=True).success
    assert shell.user_ns["broken"].breaks[0].line == "In [2], line 3: if y.sum() > 0:"
    assert shell.user_ns["whole"].graph.steps[0].line == "In [3], line 2: return torch.tanh(x)"


def test_a_saved_buffer_that_the_function_writes_is_found_overwritten():
    model = Custom(saved_then_written)
    out = torch.compile(model)(*rows(0))
    assert type(out.grad_fn).__name__ == "CompiledFunctionBackward"
    with pytest.raises(RuntimeError, match=OVERWRITTEN):
        out.sum().backward()


@pytest.mark.parametrize("order", ["other count y", "count other y", "y count other", "other y count"])
def test_of_several_overwritten_values_the_error_names_the_one_that_the_plain_backward_meets_first(order):
    """Saved by products in this order, so met the other way round: two buffers of two types and a result."""

    def fn(m, x):
        y = x.detach()[0] * 1
        out = x
        for name in order.split():
            out = out * {"other": m.other, "count": m.count, "y": y}[name]
        m.other.add_(1)
        m.count.add_(1)
        return out, y

    def error(call):
        out, y = call(*rows(0))
        y.mul_(2)
        with pytest.raises(RuntimeError, match=OVERWRITTEN) as found:
            out.sum().backward()
        return str(found.value).partition(" is at version ")[0].partition(", which is output")[0]

    compiled = torch.compile(Custom(fn), fullgraph=True)
    want = error(Custom(fn))
    assert error(compiled) == want
    assert error(compiled) == want


LAYOUTS = [
    lambda: torch.ones(4, 6), lambda: torch.ones(6, 4).t(), lambda: torch.ones(8, 6)[::2], lambda: torch.ones(1, 6).expand(4, 6),
    lambda: torch.ones(4, 3, 2).permute(1, 0, 2),
]  # fmt: skip


@pytest.mark.parametrize("first", range(5))
def test_dropout_draws_in_the_order_of_memory_whatever_was_captured_first(first):
    compiled = torch.compile(lambda x: F.dropout(x * 2.0, 0.5) * 3.0, fullgraph=True)
    for make in (LAYOUTS[first], *LAYOUTS):
        torch.manual_seed(3)
        got = compiled(make())
        torch.manual_seed(3)
        want = F.dropout(make() * 2.0, 0.5) * 3.0
        assert got.tolist() == want.tolist()


def test_a_function_that_assigns_a_global_assigns_it_in_each_call():
    """A capture would leave it out: such a function is not captured."""
    space = {}
    exec("def fn(x):\n    global told\n    told = True\n    return x * 2", space)
    fn = torch.compile(space["fn"])
    with pytest.warns(UserWarning, match="assigns the global told"):
        fn(torch.tensor(1.0))
    for k in range(3):
        del space["told"]
        assert fn(torch.tensor(float(k))).item() == 2 * k
        assert space["told"]
