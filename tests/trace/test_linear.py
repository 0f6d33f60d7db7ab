"""Recording, building and opening take as many steps an event in a large program as in a small one.

Steps are counted, not timed: the lines of Python that run. What C does in one line is not seen here;
`python -m autograd_lab.bench recording` has the times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.tracing import Trace, narrate, state
from autograd_lab.tracing.builder import MOST_QUEUED
from autograd_lab.tracing.questions import questions
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.wire import encode

pytestmark = pytest.mark.slow  # large programs, whose lines are counted while they run

Program = Callable[[], Any]


def lines_of(fn: Callable[[], Any]) -> tuple[int, Any]:
    """How many lines run in fn(), and its result."""
    count = 0

    def step(frame, event, arg):
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        result = fn()
    finally:
        sys.settrace(before)
    return count, result


def sequential(n: int) -> Program:
    net = nn.Sequential(*[layer for _ in range(n) for layer in (nn.Linear(2, 2), nn.Tanh())])
    x = torch.ones(1, 2)
    return lambda: net(x).sum().backward()


def training(n: int) -> Program:
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def program():
        for _ in range(n):
            optimizer.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()

    return program


def parameters(n: int) -> Program:
    params = [torch.tensor(float(i), requires_grad=True) for i in range(n)]

    def program():
        total = torch.tensor(0.0)
        for p in params:
            total = total + p
        total.backward()

    return program


class Chain(nn.Module):
    """Modules in modules in modules."""

    def __init__(self, n: int):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.inner = Chain(n - 1) if n > 1 else None

    def forward(self, x):
        y = torch.tanh(self.layer(x))
        return y if self.inner is None else self.inner(y)


def chain(n: int) -> Program:
    net, x = Chain(n), torch.ones(1, 2)
    return lambda: net(x).sum().backward()


def leaves(n: int) -> Program:
    def program():
        ws = [torch.tensor(float(i), requires_grad=True) for i in range(n)]
        torch.stack(ws).sum().backward()

    return program


def one_tensor(n: int) -> Program:
    w = torch.tensor(1.0, requires_grad=True)

    def program():
        torch.stack([w * float(i) for i in range(n)]).sum().backward()

    return program


def variables(n: int) -> Program:
    lines = [f"w{i} = torch.tensor({i}.0, requires_grad=True)\ny = y * w{i}" for i in range(n)]
    code = compile("y = torch.tensor(1.0)\n" + "\n".join(lines) + "\ny.backward()", "variables.py", "exec")
    return lambda: exec(code, {"torch": torch})


def recursion(n: int) -> Program:
    w = torch.tensor(1.0, requires_grad=True)

    def down(depth, x):
        return x if not depth else down(depth - 1, x * w)

    return lambda: down(n, torch.tensor(1.0)).backward()


def same_names(n: int) -> Program:
    """Leaves and results of one name, and a Function that writes into each."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def program():
        for i in range(n):
            w = torch.tensor(float(i), requires_grad=True)
            h = w * 3
            h = Doubled.apply(h)
            h.backward()

    return program


SHAPES = (sequential, training, parameters, chain, leaves, one_tensor, variables, recursion, same_names)


def recorded(program: Program) -> Any:
    with lab.record() as trace:
        program()
    return trace


def work(make: Callable[[int], Program], n: int) -> tuple[int, dict[str, int]]:
    """How many events there are, and how many lines each stage runs."""
    alone, _ = lines_of(make(n))
    program = make(n)
    lines, trace = lines_of(lambda: recorded(program))
    build, events = lines_of(lambda: len(trace))
    drawn, document = lines_of(lambda: film(trace))
    encoded, _ = lines_of(lambda: encode(document))
    replayed, _ = lines_of(lambda: state(trace, events))
    stages = {"record": lines - alone, "build": build, "state": replayed, "film": drawn, "encode": encoded}
    return events, stages


@pytest.mark.parametrize("make", SHAPES)
def test_every_stage_is_linear(make):
    many = make in (leaves, one_tensor)  # values and queues of up to 64 and 16 are told whole
    work(make, 5)  # sources are read and rules looked up once
    counts = [work(make, n) for n in ((100, 150, 400) if many else (10, 20, 80))]
    curves = {stage: [(events, found[stage]) for events, found in counts] for stage in counts[0][1]}
    for stage, ((a, x), (b, y), (c, z)) in curves.items():
        first, second = (y - x) / (b - a), (z - y) / (c - b)
        assert second <= 1.15 * first + 0.5, (stage, curves[stage])


def test_questions_are_linear_until_there_are_enough():
    counts = []
    for n in (20, 40, 80):
        with lab.record() as trace:
            parameters(n)()
        counts.append(lines_of(lambda trace=trace: questions(trace))[0])
    assert counts[2] - counts[1] <= 2.6 * (counts[1] - counts[0]), counts


def test_a_long_queue_is_told_once():
    """Each event has the beginning of the queue; state knows all of it at every step."""
    with lab.record() as trace:
        leaves(100)()
    longest = 0
    queue: list[int] = []
    picture = state(trace, 0)
    for e in trace:
        picture.advance()
        if e["k"] == "push":
            assert len(e["queue"]) <= MOST_QUEUED
            queue.append(e["n"])  # accumulators are served in the order in which they came
        elif e["k"] == "pop":
            queue.remove(e["n"])
        if e["k"] in ("push", "pop"):
            assert picture.queue == queue
            longest = max(longest, len(queue))
    assert longest == 100
    sentence = next(
        narrate(trace, k) for k, e in enumerate(trace, 1) if e["k"] == "push" and e.get("at") == 50
    )
    assert sentence.endswith("it is ready, and queues behind AccumulateGrad of ws[49].")


def test_a_trace_with_whole_queues_still_opens():
    """Traces of before hold the queue of each event whole."""
    with lab.record() as trace:
        leaves(40)()
    document = Trace.from_json(trace.to_json()).to_dict()
    picture = state(trace, 0)
    for e in document["events"]:
        picture.advance()
        if e["k"] in ("push", "pop"):
            e["queue"] = list(picture.queue)
            for added in ("ready", "at", "behind"):
                e.pop(added, None)
    old = Trace.from_dict(document)
    for k in range(len(old) + 1):
        assert state(old, k).queue == state(trace, k).queue
        assert narrate(old, k) == narrate(trace, k)
