"""What lab.record_torch writes down of real PyTorch is what lab.record writes down of the same program here."""

import gc
import weakref
from contextlib import nullcontext

import pytest
from agreement import Field, Only, compare
from graphs import nodes_behind
from torch_programs import PROGRAMS

import autograd_lab
import autograd_lab.utils.checkpoint
from autograd_lab import lab
from autograd_lab.tracing import Trace, state
from autograd_lab.tracing.narrate import Narrator

torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
pytest.importorskip("torch.utils.checkpoint")

#: Every difference there is; autograd_lab/tracing/README.md says why.
DIFFERENCES = {
    "views": [
        Only("native", "free", "CopySlices"),
        Field("node", "UnsafeViewBackward0", "params", ("shape",), ()),
    ],
    "hooks": [
        Only("native", "leaf", "grads[0]", line="grads[0] * 0.5"),
        Only("native", "leaf", "g", line="g * 2"),
    ],
    "checkpointed": [
        Only("native", "leaf", "", line="tanh"),
        Only("real", "node", "TanhBackward0", line="tanh", after=1),
        Only("real", "edge", "TanhBackward0", line="tanh", after=1),
    ],
}


def exhaust(steps):
    for _ in steps:
        pass


def record(name, library, recorder):
    """The trace of a program, and the error it ended with."""
    steps = PROGRAMS[name](library)
    next(steps)
    error = None
    try:
        with recorder() as trace:
            exhaust(steps)
    except RuntimeError as raised:
        error = str(raised)
    return trace, error


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_two_traces_agree(name):
    native, error = record(name, autograd_lab, lab.record)
    real, real_error = record(name, torch, lab.record_torch)
    assert error == real_error
    real.check()
    compare(native, real, DIFFERENCES.get(name, []))


def leaves_of(steps):
    """The tensors that a program set up and that can have a gradient."""
    found = []
    for value in steps.gi_frame.f_locals.values():
        if isinstance(value, torch.Tensor) and value.requires_grad:
            found.append(value)
        elif isinstance(value, torch.nn.Module):
            found += value.parameters()
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_recording_changes_no_gradient(name):
    """Recorded or not, every `.grad` and every parameter has the same bits."""
    results = []
    for recorder in (lab.record_torch, nullcontext):
        steps = PROGRAMS[name](torch)
        next(steps)
        leaves = leaves_of(steps)
        fails = name in ("overwritten", "twice", "unused_input", "not_a_scalar", "refused")
        with pytest.raises(RuntimeError) if fails else nullcontext(), recorder():
            exhaust(steps)
        results.append([(t.detach().clone(), t.grad) for t in leaves])
    assert results[0]
    for (value, grad), (plain_value, plain_grad) in zip(*results, strict=True):
        assert torch.equal(value, plain_value)
        assert (grad is None) == (plain_grad is None)
        assert grad is None or torch.equal(grad, plain_grad)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_can_be_shown(name):
    """A trace of PyTorch survives JSON, has a state and a sentence at every step, and the stepper draws it."""
    trace, _ = record(name, torch, lab.record_torch)
    again = Trace.from_json(trace.to_json())
    assert again.to_dict() == trace.to_dict()
    assert all(map(Narrator(again).sentence, range(len(again) + 1)))
    end = state(again, len(again))
    assert end.k == len(again)
    assert end.grad_mode, "every program leaves its no_grad blocks, also those inside a pass"


def hooks_left(nodes, leaves):
    """How many hooks there are on these nodes and tensors: a new one gets a look at the table it is put in."""
    count = 0
    for node in nodes:
        for register in (node.register_prehook, node.register_hook):
            handle = register(lambda *args: None)
            count += len(handle.hooks_dict_ref()) - 1
            handle.remove()
    for t in leaves:
        count += len(t._backward_hooks or ()) + len(t._post_accumulate_grad_hooks or ())
    return count


@pytest.mark.parametrize("failing", [None, "forward", "backward"])
def test_nothing_is_left_in_pytorch(failing):
    """Modes, hooks on modules, nodes and tensors, the function that calls the engine: all as before, also after an error."""
    module = torch.nn.modules.module
    before = (
        torch.autograd._engine_run_backward,
        len(module._global_forward_pre_hooks),
        len(module._global_forward_hooks),
    )
    model = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)

    def fail(_grad):
        if failing == "backward":
            raise ValueError("on purpose")

    y = model(x).exp()
    y.register_hook(fail)
    loss = y.sum()
    nodes = nodes_behind(loss.grad_fn)
    raised = pytest.raises(ValueError, match="on purpose") if failing else nullcontext()
    with raised, lab.record_torch() as trace:
        loss.backward(retain_graph=True)
        if failing == "forward":
            model(x)
            raise ValueError("on purpose")
    after = (
        torch.autograd._engine_run_backward,
        len(module._global_forward_pre_hooks),
        len(module._global_forward_hooks),
    )
    assert before == after
    assert hooks_left(nodes, [x, y, *model.parameters()]) == 1  # the user's own
    assert x._backward_hooks is None
    assert torch.overrides._get_current_function_mode_stack() == []
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []
    count = len(trace)
    failing = None
    model(x).sum().backward()
    assert len(trace) == count


def test_the_graph_is_let_go():
    """The trace is plain data: it keeps neither the graph nor the tensors alive."""
    alive = []

    def run(x):
        y = x * 2
        z = y.sum()
        alive.extend(weakref.ref(t) for t in (y, z))
        return z

    trace = lab.record_torch(run, torch.ones(3, requires_grad=True))
    gc.collect()
    assert [ref() for ref in alive] == [None, None]
    assert len(trace.nodes) == 3


def test_a_failing_pass_says_where():
    """A hook that raises: the trace ends at the node that was about to run, with the exception's own words."""
    x = torch.ones(2, requires_grad=True)

    def fail(_grad):
        raise ValueError("on purpose")

    y = x * 2
    y.register_hook(fail)
    loss = y.exp().sum()
    with pytest.raises(ValueError, match="on purpose"), lab.record_torch() as trace:
        loss.backward()
    last = trace.events[-1]
    assert (last["k"], last["type"], last["message"]) == ("error", "ValueError", "on purpose")
    assert trace.nodes[last["n"]]["name"] == "MulBackward0"


def test_a_function_is_run_with_its_backward_pass():
    """record_torch(fn, *inputs): what fn returns is differentiated; names are those inside fn."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def net(x, w):
        h = x * w
        return h.sum()

    trace = lab.record_torch(net, torch.tensor([3.0, 4.0]), w)
    assert isinstance(trace, Trace)
    assert w.grad.tolist() == [3.0, 4.0]
    assert [t["name"] for t in trace.tensors][:3] == ["x", "w", "h"]
    assert trace.events[-1]["k"] == "done"


def test_the_order_is_the_engines():
    """Pops come in the order in which PyTorch calls the nodes, which ours are compared with, and that order is by number."""
    x = torch.ones(2, requires_grad=True)
    called = []
    with lab.record_torch() as trace:
        a = x.sin()
        b = x.cos()
        c = a * b
        loss = (b.exp() + c).sum()
        for node in nodes_behind(loss.grad_fn):
            node.register_prehook(lambda grads, node=node: called.append(type(node).__name__))
        loss.backward()
    pops = [trace.nodes[e["n"]]["name"] for e in trace.events if e["k"] == "pop"]
    assert pops == called == ["SumBackward0", "AddBackward0", "ExpBackward0", "MulBackward0", "CosBackward0", "SinBackward0",
                              "AccumulateGrad"]  # fmt: skip


@pytest.mark.parametrize("given", [("max",), ("min",), ("min", "max")], ids=str)
def test_a_bound_that_was_not_given_is_infinite(given):
    """PyTorch's node of `clamp` has an edge for each bound, as ours has."""
    told = []
    for library, recorder in ((autograd_lab, lab.record), (torch, lab.record_torch)):
        x, bound = (library.tensor(v, requires_grad=True) for v in ([1.0, 5.0], [2.0, 3.0]))
        with recorder() as trace:
            library.clamp(x, **dict.fromkeys(given, bound)).sum().backward()
        say = Narrator(trace).sentence
        told.append([say(k + 1) for k, event in enumerate(trace.events) if event["k"] == "vjp"])
    assert told[0] == told[1]


def test_refusals():
    with pytest.raises(TypeError, match="takes a function and its inputs, not Tensor"):
        lab.record_torch(torch.ones(2))
    with lab.record_torch(), pytest.raises(RuntimeError, match="already running"), lab.record_torch():
        pass


def test_a_second_derivative_of_products():
    """The rules make other nodes in another order here and there (see the README), and the same numbers."""

    def second(library):
        x, y = library.tensor(2.0, requires_grad=True), library.tensor(3.0, requires_grad=True)
        with (lab.record_torch if library is torch else lab.record)() as trace:
            (g,) = library.autograd.grad(x**3 * y, x, create_graph=True)
            g.backward()
        return trace, x.grad.item(), y.grad.item()

    real, *grads = second(torch)
    native, *ours = second(autograd_lab)
    assert grads == ours == [36.0, 12.0]
    for trace in (real, native):
        assert {node["made_in"] for node in trace.nodes} == {0, 1}
        filled = {
            trace.tensors[e["t"]]["name"]: trace.values[e["new"]]["data"]
            for e in trace.events
            if e["k"] == "accumulate"
        }
        assert filled == {"x": 36.0, "y": 12.0}


def test_why_knows_recorded_tensors_of_pytorch():
    x = torch.ones(2, requires_grad=True)
    with lab.record_torch():
        y = x.detach() * 2
        z = (y.requires_grad_() * 3).sum()
        z.backward()
    assert "detach" in str(lab.why(x))
