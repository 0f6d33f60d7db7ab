"""Which group of the user's program each node belongs to."""

import contextlib
import itertools

import pytest

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.tracing.scopes import common


def scopes(trace):
    return [
        (n["name"].removesuffix("Backward0"), n["scope"]) for n in trace.nodes if n["kind"] != "accumulate"
    ]


def neuron(ws, xs):
    s = ws[0]
    for w, x in zip(ws[1:], xs, strict=True):
        s = s + w * x
    return torch.tanh(s)


def test_calls_and_the_iterations_of_their_loops():
    ws, xs = [torch.tensor(0.5, requires_grad=True) for _ in range(3)], [torch.tensor(1.0), torch.tensor(2.0)]
    with lab.record() as trace:
        y = neuron(ws, xs) * neuron(ws, xs)
        y = y + 1.0
    found = scopes(trace)
    for call, part in ((1, found[:5]), (2, found[5:10])):
        turns = [f"neuron() #{call} / iteration {turn} of 2" for turn in (1, 1, 2, 2)]
        assert part == list(
            zip(["Mul", "Add", "Mul", "Add", "Tanh"], [*turns, f"neuron() #{call}"], strict=True)
        )
    assert found[10:] == [("Mul", ""), ("Add", "")]


def test_a_loop_in_the_recording_itself():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = x
        for i in range(3):
            y = y * x
            if i % 2:
                y = y + x
        for _ in range(2):
            y = torch.relu(y)
    line = trace.nodes[1]["src"][1] - 1
    first = [f"iteration {i} of 3 (line {line})" for i in (1, 2, 2, 3)]
    assert [path for _, path in scopes(trace)] == [
        *first,
        *[f"iteration {i} of 2 (line {line + 4})" for i in (1, 2)],
    ]


def test_what_runs_after_an_inner_loop_ends_it():
    """Also if it makes nothing for a group: a step, or cleared gradients, after batches whose gradients add up."""
    w = torch.tensor(2.0, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    with lab.record() as trace:
        for _ in range(2):
            for _ in range(2):
                (w * w).backward()
            opt.step()
        for _ in range(2):
            w.grad = None
            for _ in range(1):
                (w * w).backward()
    numbers = [[part.split()[1] for part in path.split(" / ")] for _, path in scopes(trace)]
    assert numbers == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"], ["1"], ["2"]]


def test_a_loop_around_the_recording_is_none_of_its_own():
    x = torch.tensor(2.0, requires_grad=True)
    for _ in range(3):
        with lab.record() as trace:
            for _ in range(2):
                x * x
        assert [path for _, path in scopes(trace)] == ["iteration 1 of 2", "iteration 2 of 2"]


def test_the_pass_of_an_iteration_that_makes_a_graph_is_part_of_it():
    w = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        for _ in range(2):
            torch.autograd.grad(w.exp() * w.sin(), w, create_graph=True)
        for _ in range(2):
            with pytest.warns(UserWarning, match="create_graph=True"):
                (w.exp() * w.sin()).backward(create_graph=True)
    paths = [node["scope"].partition(" (")[0] for node in trace.nodes if node["made_in"]]
    assert len(paths) > 8
    assert set(paths) == {"iteration 1 of 2", "iteration 2 of 2"}


def test_a_sum_over_a_generator_is_one_call():
    ws = [torch.tensor(float(i), requires_grad=True) for i in range(4)]
    with lab.record() as trace:
        for _ in range(2):
            sum(w * w for w in ws)
        for _ in range(2):
            sum(w * w for w in ws).exp()
    numbers = [path.split()[1] for _, path in scopes(trace)]
    assert len(numbers) == 34
    assert [number for number, _ in itertools.groupby(numbers)] == ["1", "2", "1", "2"]


def test_while_loops_and_loops_in_loops():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y, i = x, 0
        while i < 2:
            y = y + x
            for _ in range(2):
                y = y * x
            i += 1
    assert [[part.split()[1] for part in path.split(" / ")] for _, path in scopes(trace)] == [
        ["1"], ["1", "1"], ["1", "2"], ["2"], ["2", "1"], ["2", "2"],
    ]  # fmt: skip


def test_comprehensions_belong_to_what_they_stand_in():
    x = torch.tensor(2.0, requires_grad=True)

    def powers():
        return [x**i for i in (2, 3)]

    with lab.record() as trace:
        powers()
    assert [path.split(" / ")[1] for _, path in scopes(trace)] == ["iteration 1 of 2", "iteration 2 of 2"]
    assert all(path.startswith("powers() / ") for _, path in scopes(trace))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return x + self.l2(torch.relu(self.l1(x)))


def test_modules_by_their_path():
    net = nn.Sequential(Block(), Block(), nn.Linear(3, 1))
    with lab.record() as trace:
        net(torch.ones(2, 3)).sum().backward()
    found = [path for name, path in scopes(trace) if name not in ("T",)]
    inside = ["l1: Linear", "", "l2: Linear", ""]
    blocks = [f"Sequential / {i}: Block{' / ' if part else ''}{part}" for i in (0, 1) for part in inside]
    assert found == [*blocks, "Sequential / 2: Linear", ""]


def test_a_module_called_twice_and_in_a_loop():
    net = Block()
    x = torch.ones(2, 3)
    with lab.record() as trace:
        y = net(x) + net(x)
        for _ in range(2):
            y = net(y)
    tops = [path.split(" / ")[:-1] or [path] for name, path in scopes(trace) if name == "Relu"]
    assert [path for name, path in scopes(trace) if name == "Relu"][:2] == ["Block #1", "Block #2"]
    assert [top[0] for top in tops[2:]] == ["iteration 1 of 2", "iteration 2 of 2"]


def test_two_modules_of_one_call_are_not_two_turns():
    net = nn.Sequential(Block(), nn.ReLU(), Block())
    x = torch.ones(2, 3)
    with lab.record() as trace:
        for _ in range(2):
            x = net(x)
    assert {path.split(" / ")[0] for _, path in scopes(trace)} == {"iteration 1 of 2", "iteration 2 of 2"}
    assert {path.split(" / ")[1] for _, path in scopes(trace)} == {"Sequential"}


def test_named_scopes_nest_and_each_entering_is_its_own():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        with lab.scope("encoder"):
            y = x * x
            with lab.scope("inner"):
                y = y * x
        y = y * x
        for _ in range(2):
            with lab.scope("again"):
                y = y * x
    paths = [path for _, path in scopes(trace)]
    assert paths[:3] == ["encoder", "encoder / inner", ""]
    assert [path.split(" / ")[1] for path in paths[3:]] == ["again", "again"]
    assert len(set(paths)) == 5


def test_a_scope_outside_a_recording_does_nothing():
    with lab.scope("nobody looks"):
        assert torch.tensor(1.0).item() == 1.0


def test_a_module_that_raises_is_left():
    class Bad(nn.Module):
        def forward(self, x):
            raise ValueError

    x = torch.ones(1, requires_grad=True)
    with lab.record() as trace:
        with contextlib.suppress(ValueError):
            Bad()(x)
        x + 1.0
    assert scopes(trace) == [("Add", "")]


def test_loops_and_what_only_jumps_back_like_one():
    """Handlers stand at the end of the bytecode, and what follows them is reached by jumping back."""
    x = torch.tensor(2.0, requires_grad=True)

    def handled(fail):
        y = x * 1.0
        try:
            y = y.no_such() if fail else y * 2.0
        except AttributeError:
            y = y * 3.0
        with contextlib.suppress(ValueError):
            y = y * 4.0
            if fail:
                raise ValueError
        return y * 5.0

    def tried():
        tries = 0
        while True:
            tries += 1
            y = x * tries
            try:
                return y * 2.0 if tries > 2 else y.no_such()
            except AttributeError:
                continue

    def around():
        with contextlib.suppress(ValueError):
            for i in range(2):
                try:
                    x * i
                    raise KeyError
                except KeyError:
                    x + i

    def traced(fn, *args):
        with lab.record() as trace:
            fn(*args)
        return [path for _, path in scopes(trace)]

    assert traced(handled, False) == traced(handled, True) == ["handled()"] * 4
    assert [path.rpartition("iteration ")[2][0] for path in traced(tried)] == ["1", "2", "3", "3"]
    assert [path.rpartition("iteration ")[2][0] for path in traced(around)] == ["1", "1", "2", "2"]


def test_what_leaves_no_node_has_its_group_too():
    with lab.record() as trace, torch.no_grad():
        nn.Linear(2, 2)(torch.ones(1, 2))
    assert {e["scope"] for e in trace.events if e["k"] == "const"} == {"Linear"}


def test_the_innermost_common_group():
    assert common(["a / b / c", "a / b", "a / b / d"]) == "a / b"
    assert common(["a", "b"]) == ""
    assert common(["ab / c", "a / c"]) == ""
    assert common([]) == ""
