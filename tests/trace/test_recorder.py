"""What the recorder writes is what the engine did: events, numbers, lines and names."""

from contextlib import suppress

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace, narrate, state
from autograd_lab.tracing.narrate import Narrator


def leaf(*values):
    return torch.tensor(values[0] if len(values) == 1 else list(values), requires_grad=True)


def kinds(trace):
    return [event["k"] for event in trace.events]


def number(trace, v):
    return trace.values[v]["data"]


def test_the_separating_graph_event_by_event():
    """B = a*a; c = b*3; b*c: the messages 12 and 4, 12 + 12 = 24, 48 + 48 = 96, in the engine's order."""
    a = leaf(2.0)
    with lab.record() as trace:
        b = a * a
        c = b * 3
        d = b * c
        d.backward()
    names = [n["name"] for n in trace.nodes]
    pops = [names[e["n"]] for e in trace.events if e["k"] == "pop"]
    assert pops == ["MulBackward0", "MulBackward0", "MulBackward0", "AccumulateGrad"]
    delivered = [
        (number(trace, e["v"]), number(trace, e["sum"]), e["arrived"], e["of"])
        for e in trace.events
        if e["k"] == "deliver"
    ]
    assert delivered == [
        (12.0, 12.0, 1, 2),
        (4.0, 4.0, 1, 1),
        (12.0, 24.0, 2, 2),
        (48.0, 48.0, 1, 2),
        (48.0, 96.0, 2, 2),
    ]
    accumulate = next(e for e in trace.events if e["k"] == "accumulate")
    assert (accumulate["old"], number(trace, accumulate["new"])) == (None, 96.0)
    assert a.grad.item() == 96.0
    assert [t["name"] for t in trace.tensors] == ["a", "b", "3", "c", "d"]


def test_lines_are_the_users():
    """Each node's source line is the line that made it."""
    x = leaf(3.0)
    with lab.record() as trace:
        y = x * x
        z = y + 1.0
    lines = trace.sources[0]["lines"]
    texts = [lines[str(node["src"][1])].strip() for node in trace.nodes if node["src"]]
    assert texts == ["y = x * x", "z = y + 1.0"]
    assert trace.sources[0]["name"] == "test_recorder.py"
    del z


def test_names_inside_functions_and_containers():
    """Locals, list items: what the user calls a tensor, also after the function has returned."""

    def net(x, ws):
        h = x * ws[0]
        out = h * ws[1]
        return out

    x, ws = torch.tensor(1.5), [leaf(2.0), leaf(3.0)]
    with lab.record() as trace:
        net(x, ws)
    assert [t["name"] for t in trace.tensors] == ["x", "ws[0]", "h", "ws[1]", "out"]


def test_json_round_trip_and_pure_state():
    """The trace survives JSON unchanged, and its states are the same however often they are asked for."""
    a = leaf(1.0, 2.0)
    with lab.record() as trace:
        (a * a).backward(torch.ones(2))
    again = Trace.from_json(trace.to_json())
    assert again.to_dict() == trace.to_dict()
    last = len(trace)
    before = trace.to_json()
    assert state(again, last) == state(again, last)
    assert trace.to_json() == before
    assert all(map(Narrator(trace).sentence, range(last + 1)))


def test_in_place_write_shows_version_and_new_history():
    """`y *= 3` bumps the version and gives y a new grad_fn."""
    x = leaf(1.0, 2.0)
    with lab.record() as trace:
        y = x * 2.0
        y *= 3.0
        y.backward(torch.ones(2))
    event = next(e for e in trace.events if e["k"] == "inplace")
    assert (event["op"], event["version"], number(trace, event["v"])) == ("mul_", 1, [6.0, 12.0])
    assert trace.nodes[event["n"]]["name"] == trace.nodes[event["old"]]["name"] == "MulBackward0"
    assert event["n"] != event["old"]
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_write_through_a_view_gives_base_and_view_new_nodes():
    """As PyTorch does it: the base's CopySlices has the write's own node inside, and the view leads to that."""
    x, w = leaf(1.0, 2.0), leaf(5.0)
    with lab.record() as trace:
        b = x * 3.0
        v = b[0]
        v.mul_(w)
        b.sum().backward()
    at = next(k for k, e in enumerate(trace.events) if e["k"] == "inplace")
    event = trace.events[at]
    view, base = trace.nodes[event["n"]], trace.nodes[trace.rewritten(event)]
    assert [node["name"] for node in trace.nodes if node["op"].startswith("mul")] == [
        "MulBackward0",
        "CopySlices",
    ]
    assert (base["name"], base["op"], view["name"], view["op"]) == ("CopySlices", "mul_", "AsStridedBackward0", "as_strided")  # fmt: skip

    def called(tensors):
        return [trace.tensors[t]["name"] for t in tensors]

    assert (called(base["inputs"]), called(base["outputs"])) == (["b", "w"], ["b"])
    assert (called(view["inputs"]), called(view["outputs"])) == (["b"], ["v"])
    assert [(name, trace.tensors[t]["name"]) for name, t, _ in base["saved"]] == [("other", "w")]
    t, v = event["base"]
    assert (trace.tensors[t]["name"], number(trace, v), number(trace, event["v"])) == ("b", [15.0, 6.0], 15.0)
    assert (
        narrate(trace, at + 1)
        == "v is changed in place by mul_: now 15, version 1. Its grad_fn is now AsStridedBackward0, "
        "and that of b, whose memory it shares, is CopySlices."
    )
    told = [trace.nodes[e["n"]]["name"] for e in trace.events[at + 1 :] if e["k"] == "edge"]
    assert told == ["CopySlices", "CopySlices", "AsStridedBackward0", "SumBackward0"]
    now = state(trace, at + 1)
    assert (now.tensors[t].value, now.tensors[t].version) == (v, 1)
    assert state(trace, at).tensors[t].version == 0
    assert {event["n"], trace.rewritten(event)} <= now.nodes.keys()
    assert trace.tensors[t]["node"] == trace.rewritten(event)
    assert x.grad.tolist() == [15.0, 3.0]


def test_what_has_no_name_is_called_by_what_made_it_not_by_who_wrote():
    x = leaf(1.0, 2.0)
    with lab.record() as trace:
        (x * 2.0).add_(1.0)
    k = next(k for k, e in enumerate(trace.events, 1) if e["k"] == "inplace")
    assert narrate(trace, k).startswith("The result of MulBackward0 is changed in place by add_: now [3, 5]")


def test_a_base_of_many_numbers_is_not_copied_at_each_write():
    table = torch.zeros(100, 100)
    with lab.record() as trace, torch.no_grad():
        table[1].add_(1.0)
    event = next(e for e in trace.events if e["k"] == "inplace")
    t, v = event["base"]
    assert (event["n"], trace.tensors[t]["name"], v) == (None, "table", None)
    assert state(trace, len(trace)).tensors[t].value is None


def test_no_grad_detach_and_constants_leave_no_node():
    """What is not recorded says why."""
    x = leaf(2.0)
    with lab.record() as trace:
        with torch.no_grad():
            a = x * 2.0
        b = x.detach()
        c = b * 3.0
    assert trace.nodes == []
    found = [
        (e["k"], e.get("why"), e.get("grad")) for e in trace.events if e["k"] in ("const", "detach", "mode")
    ]
    assert found == [
        ("mode", None, False), ("const", "no_grad", None), ("mode", None, True), ("detach", None, None), ("const", "inputs", None),
    ]  # fmt: skip
    del a, c


def test_a_failing_pass_ends_with_the_error():
    """A second backward fails; the trace says where and why, and the exception still reaches the user."""
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="second time"), lab.record() as trace:
        y.backward()
    last = trace.events[-1]
    assert last["k"] == "error"
    assert trace.nodes[last["n"]]["name"] == "MulBackward0"
    assert last["message"].startswith("Trying to backward through the graph a second time")


def test_hooks_and_retained_gradients_are_events():
    """A hook's change and a kept gradient are seen."""
    x = leaf(1.0)
    y = x * 2.0
    y.register_hook(lambda g: g * 10.0)
    y.retain_grad()
    with lab.record() as trace:
        (y * 3.0).backward()
    hook = next(e for e in trace.events if e["k"] == "hook")
    assert (hook["stage"], number(trace, hook["before"][0]), number(trace, hook["after"][0])) == (
        "tensor",
        3.0,
        30.0,
    )
    retain = next(e for e in trace.events if e["k"] == "retain")
    assert number(trace, retain["v"]) == 30.0
    assert x.grad.item() == 60.0


def test_second_order_makes_new_nodes_in_the_pass():
    """Under create_graph the pass itself leaves nodes, marked with the pass that made them."""
    x = leaf(2.0)
    with lab.record() as trace:
        y = x * x * x
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.backward()
    assert {node["made_in"] for node in trace.nodes} == {0, 1}
    assert x.grad.item() == 12.0


def test_large_values_are_summarized():
    """A large array ships its shape, range and a corner, not its thousand numbers."""
    x = torch.tensor([[float(i * 40 + j) for j in range(40)] for i in range(30)], requires_grad=True)
    with lab.record() as trace:
        x * 2.0
    value = trace.values[trace.tensors[-1]["value"]]
    assert (value["shape"], value["min"], value["max"], value["mean"]) == ([30, 40], 0.0, 2398.0, 1199.0)
    assert value["corner"][1][:2] == [80.0, 82.0]
    assert len(trace.to_json()) < 4000


def test_one_recording_at_a_time():
    """A recording inside another is refused, and the outer one goes on."""
    with lab.record() as trace:
        with pytest.raises(RuntimeError, match="already running"), lab.record():
            pass
        leaf(1.0) * 2.0
    assert "node" in kinds(trace)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((lambda x: x, 1.0), "a string, but was given a function"), (("", ["w"]), "as a dict, .* given a list")],
)
def test_what_record_does_not_take_it_says(arguments, says):
    with pytest.raises(TypeError, match=says):
        lab.record(*arguments)


def test_record_without_its_parentheses():
    with pytest.raises(TypeError, match=r"write `with lab.record\(\) as trace:`"), lab.record:
        pass


def test_a_running_recording_is_not_looked_at():
    """Half a trace is no trace: the message says to leave the block first."""
    with lab.record() as trace, pytest.raises(RuntimeError, match="still running"):
        _ = trace.events


def test_a_function_made_of_several_operations():
    """cross_entropy leaves two nodes; only the second is the loss that is assigned, and what is absent is no operand."""
    s = torch.tensor([[1.0, 2.0], [0.5, 3.0]], requires_grad=True)
    labels = torch.tensor([0, 1])
    with lab.record() as trace:
        loss = torch.nn.functional.cross_entropy(s, labels)
        loss.backward()
    names = {
        node["name"]: [trace.tensors[t]["name"] for t in node["outputs"]]
        for node in trace.nodes
        if node["outputs"]
    }
    assert names == {"LogSoftmaxBackward0": [""], "NllLossBackward0": ["loss"]}
    operands = [trace.tensors[t]["name"] for t in trace.nodes[-1]["inputs"]]
    assert operands == ["", "labels"]


def test_a_loop_keeps_the_names_of_every_turn():
    """The same line run twice makes two tensors of the same name, not one name that moves on."""
    h, w = leaf(1.0), leaf(2.0)
    with lab.record() as trace:
        for _ in range(2):
            h = h * w
    assert [trace.tensors[node["outputs"][0]]["name"] for node in trace.nodes if node["outputs"]] == [
        "h",
        "h",
    ]


def notes(trace, *which):
    """(kind, name of the tensor, how or why, number) of the events of some kinds."""
    found = []
    for e in trace.events:
        if e["k"] in which:
            t = e["t"][0] if isinstance(e["t"], list) else e["t"]
            v = e.get("v")
            found.append(
                (
                    e["k"],
                    trace.tensors[t]["name"],
                    e.get("how") or e.get("why"),
                    None if v is None else number(trace, v),
                )
            )
    return found


def test_what_users_do_to_grad_is_an_event():
    """Assigned, cleared, reset by zero_grad, written in place: each tells what `.grad` is now."""
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with lab.record() as trace:
        for set_to_none in (True, False):
            (w * w).sum().backward()
            optimizer.zero_grad(set_to_none=set_to_none)
        w.grad = torch.ones(2)
        w.grad.mul_(3)
        del w.grad
    assert notes(trace, "grad", "inplace") == [
        ("grad", "w", "zero_grad", None),
        ("grad", "w", "zero_grad", [0.0, 0.0]),
        ("grad", "w", "assigned", [1.0, 1.0]),
        ("grad", "w", "mul_", [3.0, 3.0]),
        ("grad", "w", "assigned", None),
    ]
    at = [k for k, e in enumerate(trace.events, 1) if e["k"] == "grad"]
    w_id = trace.events[at[0] - 1]["t"]
    grads = [state(trace, k).tensors[w_id].grad for k in at]
    assert [v and number(trace, v) for v in grads] == [None, [0.0, 0.0], [1.0, 1.0], [3.0, 3.0], None]
    assert narrate(trace, at[0]) == "w.grad was reset by zero_grad: it is now None."
    assert narrate(trace, at[3]) == "w.grad was changed by mul_: it is now [3, 3]."


def test_numbers_that_leave_the_graph_are_events():
    """item, tolist, numpy, .data, tensor([...]) of what the recording knows; of nothing else."""
    x = leaf(2.0)
    stranger = torch.tensor(1.0)
    with lab.record() as trace:
        y = x * x
        y.item()
        y.tolist()
        d = y.detach()
        d.numpy()
        c = torch.tensor([d, d])
        p = x.data
        stranger.item()
        torch.tensor([1.0, 2.0])
    assert notes(trace, "read", "detach", "const") == [
        ("read", "y", "item", 4.0),
        ("read", "y", "tolist", 4.0),
        ("detach", "d", "detach", None),
        ("read", "d", "numpy", 4.0),
        ("const", "c", "copy", None),
        ("detach", "p", "data", None),
    ]
    assert Trace.from_json(trace.to_json()).events == trace.events
    assert (c.tolist(), p.item()) == ([4.0, 4.0], 2.0)


def test_flags_and_modes_are_events():
    """requires_grad_, detach_ and inference mode each say so."""
    x = leaf(2.0)
    with lab.record() as trace:
        y = x * x
        y.detach_()
        x.requires_grad_(False)
        with torch.inference_mode():
            z = x * 3
    assert notes(trace, "flag", "const") == [
        ("flag", "y", "detach_", None),
        ("flag", "x", "requires_grad_", None),
        ("const", "z", "inference_mode", None),
    ]
    assert not z.requires_grad
    end = state(trace, len(trace))
    assert [t.requires_grad for t in end.tensors.values()] == [False] * len(end.tensors)


def test_a_gradient_that_is_used_bears_its_owners_name():
    """`w.grad` in the user's own update shows as w.grad, not as a nameless tensor."""
    w = leaf(3.0)
    with lab.record() as trace:
        (w * w).backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    assert "w.grad" in [t["name"] for t in trace.tensors]


def test_a_gradient_that_a_function_calls_otherwise_bears_it_too():
    w = leaf(3.0)

    def update():
        g = w.grad
        with torch.no_grad():
            w.sub_(0.1 * g)

    with lab.record() as trace:
        (w * w).backward()
        update()
    names = [t["name"] for t in trace.tensors]
    assert "w.grad" in names
    assert "g" not in names


def test_a_global_has_the_name_of_now():
    """A function's namespace may have changed since the last recording."""
    space = {}
    exec("def f():\n    return u * v", space)
    for _ in range(3):
        space.update(u=leaf(1.0), v=leaf(2.0))
        with lab.record() as trace:
            space["f"]()
        assert {"u", "v"} <= {t["name"] for t in trace.tensors}


def test_what_a_pass_was_asked_for():
    """The roots, the inputs, and whose gradient a result of autograd.grad is."""
    x, w = leaf(2.0), leaf(3.0)
    with lab.record() as trace:
        loss = x * w
        loss.backward(inputs=[w], retain_graph=True)
        (g,) = torch.autograd.grad(loss, x)
        g * 2
    names = [t["name"] for t in trace.tensors]
    asked = [
        (names[e["of"][0]], [names[t] for t in e["inputs"]]) for e in trace.events if e["k"] == "backward"
    ]
    assert asked == [("loss", ["w"]), ("loss", ["x"])]
    assert [names[t["grad_of"]] for t in trace.tensors if t["name"] == "g"] == ["x"]


def test_a_failure_outside_a_pass_has_its_line_and_what_was_asked():
    """An error before the pass begins, and one in the middle of the program."""
    x = leaf(2.0)
    y = x.detach() * 2
    with pytest.raises(RuntimeError, match="does not require grad"), lab.record() as trace:
        y.backward()
    error = trace.events[-1]
    line = trace.sources[error["src"][0]]["lines"][str(error["src"][1])].strip()
    assert (error["k"], trace.tensors[error["of"][0]]["name"], line) == ("error", "y", "y.backward()")
    with pytest.raises(RuntimeError, match="in-place"), lab.record() as trace:
        x.add_(1)
    error = trace.events[-1]
    assert trace.sources[error["src"][0]]["lines"][str(error["src"][1])].strip() == "x.add_(1)"
    assert narrate(trace, len(trace)).startswith("The program stops with a RuntimeError: a leaf Variable")


def test_a_comparison_is_not_blamed_on_its_inputs():
    """What has no derivative leaves no node although its input requires grad."""
    x = leaf([1.0, 2.0])
    with lab.record() as trace:
        best = x.argmax()
    assert "Such numbers have no derivative" in narrate(trace, len(trace))
    assert best.item() == 1


def test_what_a_function_saves_is_told():
    """Operands, results and what was made in its forward, by their names."""

    class Gauss(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            square = a * a
            result = torch.exp(-square)
            ctx.save_for_backward(a, result, square)
            return result

        @staticmethod
        def backward(ctx, g):
            a, result, _ = ctx.saved_tensors
            return -2 * a * result * g

    x = torch.tensor(0.0, requires_grad=True)
    with lab.record() as trace:
        y = Gauss.apply(x)
    made = next(k for k, e in enumerate(trace.events, 1) if e["k"] == "node")
    assert narrate(trace, made) == (
        "Gauss runs: y = 1. It makes the node GaussBackward, which saves x = 0, y = 1 and square = 0."
    )
    assert y.requires_grad


def test_what_a_function_returns_has_history():
    """Inside `forward` nothing is recorded; the result it hands out is the Function's all the same."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a**3

        @staticmethod
        def backward(ctx, g):
            (a,) = ctx.saved_tensors
            return g * 3 * a**2

    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = Cube.apply(x)
    (made,) = [t for t in trace.tensors if t["name"] == "y"]
    assert (made["requires_grad"], made["leaf"]) == (True, False)
    assert y.requires_grad


def test_an_output_without_history_beside_one_that_has_one():
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y, mark = x * 2, x * 3
            ctx.mark_non_differentiable(mark)
            return y, mark

        @staticmethod
        def backward(ctx, g, _):
            return g * 2

    w = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: ((w * x).sum(), (w * x).detach() * 3))
    for fn in (Both.apply, compiled, compiled):
        with lab.record() as trace:
            y, mark = fn(w)
        flags = {t["name"]: t["requires_grad"] for t in trace.tensors}
        assert (flags["y"], flags["mark"]) == (y.requires_grad, mark.requires_grad) == (True, False)


def test_memory_that_nobody_has_written_is_never_shown(monkeypatch):
    """Under create_graph a first `.grad` is copied into new memory, in whatever state that is."""
    garbage = 3.25
    for name in ("empty", "empty_like"):
        new = getattr(np, name)
        monkeypatch.setattr(
            np,
            name,
            lambda *args, new=new, **kwargs: np.copyto(x := new(*args, **kwargs), garbage, "unsafe") or x,
        )
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with lab.record() as trace, pytest.warns(UserWarning, match="create_graph=True"):
        (x**3).sum().backward(create_graph=True)
    assert x.grad.tolist() == [[3.0, 12.0], [27.0, 48.0]]
    assert str(garbage) not in str(trace.values)


@pytest.mark.parametrize("switched", [(), (False,), (False, True)], ids=["as it was", "off", "off and on"])
def test_operators_tell_of_a_refusal_whichever_were_there_before(switched):
    a = torch.ones(2, 3, requires_grad=True)
    with lab.record():
        pass
    for on in switched:  # this puts others into their place
        lab.fast(on)
    for _ in range(2):
        with lab.record() as trace:
            for call in (lambda: a @ a, lambda: a + torch.ones(4), lambda: a[7], lambda: a * torch.ones(4)):
                with suppress(RuntimeError, IndexError):
                    call()
        assert [e["op"] for e in trace.events if e["k"] == "refused"] == ["matmul", "add", "indexing", "mul"]
        assert narrate(trace, 2).startswith(
            "matmul of a and a is refused with a RuntimeError, and the program goes on."
        )
