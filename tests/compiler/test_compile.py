"""torch.compile: what is captured agrees with the run it was captured from, and what cannot be captured runs as it is."""

import random as python_random
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import nn
from autograd_lab.bench import compiled_classifier
from autograd_lab.compiler import GraphBreakError
from autograd_lab.compiler.compiled import Compiled
from autograd_lab.compiler.graph import run

F = nn.functional

SCALE = 2.0


def leaf(*shape, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.uniform(0.3, 0.9, shape).astype(dtype), requires_grad=True)


def gradients(fn, inputs):
    """(result, gradients) of a plain call, the result made a number by weights that differ from place to place."""
    out = fn(*inputs)
    weights = torch.tensor(np.linspace(0.5, 1.5, int(np.prod(out.shape)) or 1).astype(np.float32)).reshape(
        out.shape
    )
    grads = torch.autograd.grad(
        (out * weights.to(out.dtype)).sum(), [t for t in inputs if t.requires_grad], allow_unused=True
    )
    return out, grads


def assert_same(fn, make, *, fullgraph=True):
    """A compiled function gives the results and gradients of the plain one, at the numbers it saw and at others."""
    compiled = torch.compile(fn, fullgraph=fullgraph)
    for seed in (0, 1, 2):
        inputs = make(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, got_grads = gradients(compiled, inputs)
        want, want_grads = gradients(fn, inputs)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=2e-5, atol=1e-6)
        for g, w in zip(got_grads, want_grads, strict=True):
            assert (g is None) == (w is None)
            if g is not None:
                assert g.shape == w.shape
                np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=2e-5, atol=1e-6)
    assert len(compiled.entries) == 1
    return compiled


def pair(seed):
    return leaf(3, 4, seed=seed), leaf(3, 4, seed=seed + 10)


PROGRAMS = {
    "product": lambda a, b: a * b,
    "numbers": lambda a, b: (a * 2 + 1 - b / 3) ** 2,
    "alpha": lambda a, b: torch.add(a, b, alpha=3),
    "broadcast row": lambda a, b: a + b[0],
    "broadcast column": lambda a, b: a * b.sum(1, keepdim=True),
    "matmul": lambda a, b: a @ b.T,
    "view of a view": lambda a, b: a.reshape(2, 6).t().reshape(3, 4) * b,
    "slices": lambda a, b: a[1:, ::2] * b[:2, 1:3],
    "one element": lambda a, b: a[1, 2] * b,
    "expand": lambda a, b: a[0].expand(3, 4) * b,
    "reductions": lambda a, b: a.mean(0) * b.sum(0) + a.max() - b.prod(),
    "pointwise": lambda a, b: torch.tanh(a) * torch.sigmoid(b) + a.exp().log1p() - b.sqrt().sin(),
    "relu": lambda a, b: torch.relu(a - 0.6) * b,
    "softmax": lambda a, b: torch.softmax(a, 1) * torch.log_softmax(b, 0),
    "where": lambda a, b: torch.where(a > b, a * 2, b * 3),
    "clamp and abs": lambda a, b: a.clamp(0.4, 0.7) + (b - 0.5).abs(),
    "cat and stack": lambda a, b: torch.cat([a, b * 2], 1).sum(0) + torch.stack([a, b]).sum(),
    "split": lambda a, b: a.split(2, 1)[1] * b.chunk(2, 1)[0],
    "cumulative": lambda a, b: a.cumsum(0) * b.cumprod(1),
    "sort": lambda a, b: a.sort(1).values * b,
    "loop": lambda a, b: sum((a * i + b for i in range(4)), a),
    "no_grad inside": lambda a, b: a * _constant(b),
    "detach": lambda a, b: a * b.detach() + b,
    "in place": lambda a, b: (a * b).add_(b).mul_(2),
    "norms": lambda a, b: F.layer_norm(a, (4,)) * b.norm(dim=1, keepdim=True),
    "mse": lambda a, b: F.mse_loss(a, b),
    "gelu": lambda a, b: F.gelu(a) + F.silu(b) + F.softplus(a) + F.leaky_relu(b - 0.5),
    "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b),
    "a made constant": lambda a, b: a * torch.arange(4.0) + torch.ones(3, 1) * b,
    "double use": lambda a, b: (a * a + a) * a - a,
    "gather": lambda a, b: a.gather(1, torch.tensor([[0, 2], [1, 1], [3, 0]])) * b[:, :2],
    "float64": lambda a, b: a.double() * b.double().exp(),
}  # fmt: skip


def _constant(b):
    with torch.no_grad():
        return b * 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_gradients_are_those_of_the_plain_function(name):
    assert_same(PROGRAMS[name], pair)


OPERATIONS = ["a*b", "a+b", "a-b", "a/(b+2)", "torch.tanh(a)", "a@b.t()@a", "a.sum(1,keepdim=True)+b", "torch.relu(a-b)",
              "a.t().reshape(3,4)", "a[1]*b", "torch.exp(-a)", "a.clone().mul_(b)", "b.mean(0)+a", "torch.sigmoid(a)*2"]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=7))
def test_random_programs_agree_with_the_plain_run(operations):
    def program(a, b):
        for text in operations:
            a, b = eval(text, {"torch": torch, "a": a, "b": b}), a
        return a

    assert_same(program, pair)


def test_formulas_that_look_at_their_values_look_again_each_time():
    """Which is the largest, which are inside the limits, is one zero: at the capture it was otherwise."""
    programs = [
        lambda a: a.max() * 2, lambda a: a.amax(1).sum(), lambda a: a.clamp(-5, 5).sum(), lambda a: a.prod(),
        lambda a: F.relu(a).sum(), lambda a: a.abs().sum(), lambda a: torch.where(a > 0, a, a * 3).sum(),
        lambda a: F.softplus(a).sum(), lambda a: F.elu(a).sum(), lambda a: a.sort(1).values[0].sum(), lambda a: F.logsigmoid(a).sum(),
        lambda a: F.smooth_l1_loss(a, a * 0.5), lambda a: a.cumprod(1).sum(), lambda a: a.norm(), lambda a: a.std(), lambda a: (a**2.0).sum(),
    ]  # fmt: skip
    seen = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    later = torch.tensor([[9.0, -2.0, 0.0], [-40.0, 5.0, 5.0]], requires_grad=True)
    for program in programs:
        fn = torch.compile(program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fn(seen)
        for x in (seen, later):
            (got,), (want,) = torch.autograd.grad(fn(x), x), torch.autograd.grad(program(x), x)
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def test_the_graph_after_each_pass_and_the_source_compute_the_same():
    compiled = assert_same(PROGRAMS["pointwise"], pair)
    entry = compiled.entry
    a, b = pair(5)
    arrays = [a.detach().numpy(), b.detach().numpy(), np.ones((3, 4), np.float32)]
    results = [run(graph, arrays) for title, graph in entry.history if not title.startswith("fuse")]
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)
    assert len(entry.history[-2][1].steps) < len([s for s in entry.joint.steps if s.part == "forward"])
    assert "np.tanh(" in compiled.forward_source
    assert "def backward(" in compiled.backward_source


@pytest.mark.parametrize(("rows", "fused"), [(2, True), (3, False), (300, False)])
def test_only_small_arrays_lose_their_names(rows, fused):
    """A large one keeps its name, so that its memory can be written over."""
    compiled = torch.compile(lambda a, b: ((a * b + a).tanh() - b).sum(), fullgraph=True)
    compiled(leaf(rows, 100), leaf(rows, 100, seed=1)).backward()
    ways = {
        step.how
        for title, graph in compiled.entry.history
        if title.startswith("fuse")
        for step in graph.steps
    }
    assert ("fused" in ways) is fused
    assert fused or "out=" in compiled.forward_source


def test_a_classifier_trains_as_it_does_uncompiled():
    def trained(wrap):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
        call = wrap(model)
        x, t = torch.randn(12, 5), torch.arange(12) % 3
        losses = []
        for _ in range(10):
            loss = F.cross_entropy(call(x), t)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None
            losses.append(loss.item())
        return losses

    np.testing.assert_allclose(trained(torch.compile), trained(lambda m: m), rtol=1e-5)


def test_cross_entropy_is_softmax_minus_one_and_watches_its_classes():
    def loss_of(x, t):
        return F.cross_entropy(x, t)

    compiled = torch.compile(loss_of, fullgraph=True)
    x, t = leaf(4, 3), torch.tensor([0, 2, 1, 1])
    for target in (t, t.flip(0)):
        got, want = (
            gradients(lambda a, u=target: compiled(a, u), [x]),
            gradients(lambda a, u=target: loss_of(a, u), [x]),
        )
        np.testing.assert_allclose(got[0].item(), want[0].item(), rtol=1e-6)
        np.testing.assert_allclose(got[1][0].numpy(), want[1][0].numpy(), rtol=1e-5, atol=1e-7)
    assert "take(places) - 1" in compiled.backward_source
    ignoring = torch.tensor([0, -100, 1, 1])  # what the compiled code does not know is run as it is
    assert compiled(x, ignoring).item() == loss_of(x, ignoring).item()
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(x, torch.tensor([0, 3, 1, 1]))


def test_the_node_is_one_custom_function():
    w = leaf(3)
    fn = torch.compile(lambda x: (x * w).sum())
    x = leaf(3, seed=1)
    fn(x)
    y = fn(x)
    assert type(y.grad_fn).__name__ == "CompiledFunctionBackward"
    assert {type(n).__name__ for n, _ in y.grad_fn.next_functions} == {"AccumulateGrad"}
    y.backward()
    assert torch.equal(x.grad, w.detach())
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    y = fn(x)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_double_backward_is_the_error_of_pytorch():
    fn = torch.compile(lambda x: (x**3).sum())
    x = leaf(3)
    fn(x)
    (g,) = torch.autograd.grad(fn(x), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), 3 * x.detach().numpy() ** 2, rtol=1e-6)
    with pytest.raises(
        RuntimeError, match="torch.compile with aot_autograd does not currently support double backward"
    ):
        g.sum().backward()


# --- guards ----------------------------------------------------------------------------------------


def test_a_changed_shape_or_type_or_flag_captures_anew_and_says_so():
    fn = torch.compile(lambda x: x * 2)
    fn(torch.ones(3))
    fn(torch.ones(3))
    assert len(fn.entries) == 1
    fn(torch.ones(4))
    fn(torch.ones(4, dtype=torch.float64))
    assert fn(torch.ones(4, dtype=torch.float64, requires_grad=True)).requires_grad
    assert len(fn.entries) == 4
    assert fn.misses[0] == "the shape of x is [3]"
    assert fn.misses[1] == "x is float32"
    assert fn.misses[2] == "x does not require a gradient"
    with torch.no_grad():
        assert not fn(torch.ones(4, dtype=torch.float64, requires_grad=True)).requires_grad
    assert fn.misses[3] == "grad mode is on"


def test_the_guard_named_is_that_of_the_capture_most_like_the_call():
    fn = torch.compile(lambda x: x * 2)
    fn(torch.ones(2, 3, requires_grad=True))
    fn(torch.ones(1, 3, requires_grad=True))
    fn(torch.ones(2, 3))
    assert fn.misses == ["the shape of x is [2, 3]", "x requires a gradient"]


def test_python_constants_are_guarded_wherever_they_come_from():
    global SCALE
    inner = 3.0

    def fn(x, k=1.0):
        return x * SCALE * inner * k

    compiled = torch.compile(fn)
    x = torch.ones(2)
    assert compiled(x).tolist() == [6, 6]
    try:
        SCALE = 5.0
        assert compiled(x).tolist() == [15, 15]
    finally:
        SCALE = 2.0
    inner = 1.0
    assert compiled(x).tolist() == [2, 2]
    assert compiled(x, 4.0).tolist() == [8, 8]
    assert compiled.misses[:2] == ["SCALE is 2.0", "inner is 3.0"]


def test_a_module_follows_its_parameters_and_its_mode():
    layer = nn.Linear(2, 2)
    compiled = torch.compile(layer)
    x = torch.ones(1, 2)
    compiled(x)
    with torch.no_grad():
        layer.weight.fill_(1)
        layer.bias.fill_(0)
    assert compiled(x).tolist() == [[2, 2]]
    layer.weight = nn.Parameter(torch.full((2, 2), 3.0))
    assert compiled(x).tolist() == [[6, 6]]
    assert len(compiled.entries) == 1
    layer.eval()
    compiled(x)
    assert "training" in compiled.misses[0]


def test_after_eight_graphs_the_function_is_left_as_it_is():
    fn = torch.compile(lambda x: x + 1)
    for n in range(1, 9):
        assert fn(torch.zeros(n)).sum().item() == n
    with pytest.warns(
        UserWarning, match="captured 8 times already; the last guard to fail was: the shape of x is"
    ):
        fn(torch.zeros(9))
    assert fn(torch.zeros(10)).sum().item() == 10
    assert len(fn.entries) == 8


# --- breaks ----------------------------------------------------------------------------------------


def _branch(x):
    if x.sum() > 0:
        return x * 2
    return x * 3


def _item(x):
    return x * x.sum().item()


def _print(x):
    print("hello")
    return x * 2


def _random(x):
    return x * torch.rand(2)


def _python_random(x):
    return x * python_random.random()


SEEN: list = []


def _appends(x):
    SEEN.append(1)
    return x * 2


def _writes(x):
    x.mul_(2)
    return x + 1


def _view(x):
    return x.t()


WEIGHT = leaf(1, 2)


def _hook(x):
    y = x * WEIGHT
    y.register_hook(lambda g: g * 10)
    return y * 1


def _numpy(x):
    return torch.tensor(x.detach().numpy() * 2)


@pytest.mark.parametrize(
    ("fn", "reason", "line"),
    [
        (_branch, "reads a number out of a tensor", "if x.sum() > 0"),
        (_item, r"item\(\) reads a number", "x.sum().item()"),
        (_print, "silent from the second call on", 'print("hello")'),
        (_random, "random numbers", ""),
        (_python_random, "random numbers", ""),
        (_appends, "changes something outside itself", ""),
        (_writes, "writes into a tensor that was there before", "x.mul_(2)"),
        (_view, "a view of one", "return x.t()"),
        (_hook, "hooks", ""),
        (_numpy, r"numpy\(\) reads", "numpy()"),
    ],
)
def test_what_cannot_be_captured_says_why_and_runs_as_it_is(fn, reason, line, capsys):
    SEEN.clear()
    compiled = torch.compile(fn)
    python_random.seed(0)
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match=reason):
        got = [compiled(torch.tensor([[1.0, -3.0]])).tolist(), compiled(torch.tensor([[5.0, 2.0]])).tolist()]
    assert compiled.breaks
    assert line in compiled.breaks[0].line
    heard, seen = capsys.readouterr().out, len(SEEN)
    SEEN.clear()
    python_random.seed(0)
    torch.manual_seed(0)
    assert got == [fn(torch.tensor([[1.0, -3.0]])).tolist(), fn(torch.tensor([[5.0, 2.0]])).tolist()]
    assert (capsys.readouterr().out, len(SEEN)) == (heard, seen)
    with pytest.raises(GraphBreakError, match="is not one graph"):
        torch.compile(fn, fullgraph=True)(torch.tensor([[1.0, -3.0]]))


def test_a_result_that_no_operation_made_is_not_taken_for_a_constant():
    compiled = torch.compile(torch.linalg.matrix_rank)
    one, two = torch.ones(2, 2), torch.eye(2)
    with pytest.warns(UserWarning, match="a result was not computed by operations"):
        assert compiled(one) == 1
    assert compiled(two) == 2


def test_the_places_that_a_pool_saves_are_a_result_like_others():
    def fn(x):
        return F.max_pool2d(x, 2, return_indices=True)

    compiled = torch.compile(fn, fullgraph=True)
    for seed in range(3):
        x = leaf(1, 1, 4, 4, seed=seed).detach()
        assert torch.equal(compiled(x)[1], fn(x)[1])


def test_the_hook_that_broke_the_capture_still_works():
    fn = torch.compile(_hook)
    with pytest.warns(UserWarning, match="hooks"):
        fn(torch.ones(1, 2))
    WEIGHT.grad = None
    fn(torch.ones(1, 2)).sum().backward()
    assert WEIGHT.grad.tolist() == [[10, 10]]


def test_errors_of_the_function_are_its_own():
    fn = torch.compile(lambda a, b: a @ b)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        fn(torch.ones(2, 3), torch.ones(2, 3))


def _twice(x, w, y):
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        return str(error)[:60]


def _kept(x, w, y):
    y.backward(retain_graph=True)
    y.backward()
    return torch.is_grad_enabled()


def _in_anomaly_mode(x, w, y):
    with torch.autograd.detect_anomaly(check_nan=True):
        y.backward()


def _after_a_hook(x, w, y, register):
    seen = []
    register(x, w, y)(lambda *args: seen.append(len(args)))
    y.backward()
    return seen


@pytest.mark.parametrize(
    "what",
    [
        lambda x, w, y: y.backward(),
        lambda x, w, y: y.backward(torch.tensor(2.0)),
        lambda x, w, y: y.backward(inputs=[w]),
        lambda x, w, y: (y * 2).backward(),
        lambda x, w, y: (y.retain_grad(), y.backward(), y.grad.item())[2],
        lambda x, w, y: _after_a_hook(x, w, y, lambda x, w, y: y.register_hook),
        lambda x, w, y: _after_a_hook(x, w, y, lambda x, w, y: y.grad_fn.register_hook),
        lambda x, w, y: _after_a_hook(x, w, y, lambda x, w, y: x.register_hook),
        lambda x, w, y: _after_a_hook(x, w, y, lambda x, w, y: w.register_post_accumulate_grad_hook),
        _twice,
        _kept,
        _in_anomaly_mode,
    ],
)
@pytest.mark.parametrize("leaves", [True, False])
def test_a_backward_of_one_node_is_as_any_other(what, leaves):
    """The engine's queue is left out where a compiled function and its leaves are the whole graph: nobody may notice."""

    def fn(x, w):
        return (x * w).sum() + (w * w).sum()

    def outcome(f):
        x, w = leaf(2, 3), leaf(3, seed=1)
        w.grad = torch.ones(3)
        y = f(x if leaves else x * 2, w)
        said = what(x, w, y)
        return said, x.grad.tolist() if x.grad is not None else None, w.grad.tolist(), torch.is_grad_enabled()

    compiled = torch.compile(fn, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # anomaly mode says that it is on
        want, got = outcome(fn), outcome(compiled)
        again = outcome(compiled)
    assert compiled.entries
    assert got == again
    assert got[0] == want[0]
    assert got[3] is want[3] is True
    for one, other in zip(got[1:3], want[1:3], strict=True):
        assert (one is None) == (other is None)
        np.testing.assert_allclose(one or [], other or [], rtol=1e-5)


def test_watchers_and_packers_see_what_they_came_for():
    fn = torch.compile(lambda x: (x * x).sum())
    x = leaf(3)
    fn(x)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        fn(x).backward()
    assert packed
    from autograd_lab import lab

    with lab.record() as trace:
        fn(x).backward()
    assert "CompiledFunctionBackward" in {node["name"] for node in trace.nodes}


@pytest.mark.parametrize("whole", [False, True])
def test_the_benchmarks_training_step_is_compiled(whole):
    program = compiled_classifier((8, 4, 3), 5, Compiled, whole)
    program()
    assert program.compiled.entry.joint.steps
