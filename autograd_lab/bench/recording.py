"""The cost of recording, and of opening a recording, as programs grow: `python -m autograd_lab.bench recording`.

Four programs at three sizes. Both costs must grow linearly in the number of events. This is measured by slopes, which do not depend on
fixed costs: the marginal cost of an event between the larger two sizes, divided by that between the smaller two.

    record   the program under lab.record(), minus its own time
    build    the trace's lists, built when it is first read
    step     lab.step(trace): film, still picture and first questions, all at once
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from itertools import pairwise
from time import process_time

from autograd_lab import lab
from autograd_lab.tracing.sources import keep_source

SIZES = (640, 6_400, 64_000)
MOST = 1.3
"""The maximum of the larger slope divided by the smaller one."""

# As a string, so that the lines are not in this package: recordings leave out its lines.
_SOURCE = """
import autograd_lab as torch
from autograd_lab import nn


class Tree(nn.Module):
    def __init__(self, n):
        super().__init__()
        if n == 1:
            self.leaf = nn.Linear(2, 2)
        else:
            self.left, self.right = Tree(n // 2), Tree(n - n // 2)

    def forward(self, x):
        if hasattr(self, "leaf"):
            return torch.tanh(self.leaf(x))
        return self.right(self.left(x))


def sequential(n):
    net = nn.Sequential(*[layer for _ in range(n) for layer in (nn.Linear(4, 4), nn.Tanh())])
    x = torch.ones(2, 4)

    def program():
        net(x).sum().backward()

    return program


def training(n):
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.ones(4, 4), torch.zeros(4, 1)

    def program():
        for _ in range(n):
            optimizer.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()

    return program


def parameters(n):
    params = [torch.tensor([1.0, 0.01 * i], requires_grad=True) for i in range(n)]

    def program():
        total = torch.zeros(2)
        for p in params:
            total = total + p * 0.5
        total.sum().backward()

    return program


def tree(n):
    net, x = Tree(n), torch.ones(1, 2)

    def program():
        net(x).sum().backward()

    return program
"""
_FILE = "<recorded program>"
TITLES = {
    "sequential": "a deep Sequential",
    "training": "a loop of training steps",
    "parameters": "a list of parameters",
    "tree": "a tree of modules",
}


def programs() -> dict[str, Callable[[int], Callable[[], None]]]:
    """Functions that make the four programs, given a size."""
    keep_source(_FILE, _SOURCE)
    space: dict[str, Callable[[int], Callable[[], None]]] = {"__name__": "recorded"}  # type: ignore[dict-item]
    exec(compile(_SOURCE, _FILE, "exec"), space)
    return {name: space[name] for name in TITLES}


def sizes(make: Callable[[int], Callable[[], None]], wanted: tuple[int, ...]) -> list[int]:
    """The size of a program with about that many events."""
    small, large = (_events(make(n)) for n in (8, 16))
    each = (large - small) / 8
    return [max(round((events - small) / each) + 8, 1) for events in wanted]


def _events(program: Callable[[], None]) -> int:
    with lab.record() as trace:
        program()
    return len(trace)


def times(make: Callable[[int], Callable[[], None]], n: int, repeat: int) -> tuple[int, dict[str, float]]:
    """The number of events, and the processor time of each stage in seconds, the minimum of several runs."""
    from autograd_lab.widgets.stepper import Stepper

    least: dict[str, float] = {}
    events = 0
    for _ in range(repeat):
        plain, program = make(n), make(n)
        gc.collect()
        marks = [process_time()]
        plain()
        marks.append(process_time())
        with lab.record() as trace:
            program()
        marks.append(process_time())
        events = len(trace)
        marks.append(process_time())
        Stepper(trace)
        marks.append(process_time())
        alone, recorded, build, step = (b - a for a, b in pairwise(marks))
        for name, seconds in {"alone": alone, "recorded": recorded, "build": build, "step": step}.items():
            least[name] = min(seconds, least.get(name, seconds))
    return events, {
        "record": least["recorded"] - least["alone"],
        "build": least["build"],
        "step": least["step"],
    }


def ratio(curve: list[tuple[int, float]]) -> float:
    """The marginal cost of an event between the larger two of three sizes, divided by that between the smaller two."""
    (a, ta), (b, tb), (c, tc) = curve
    return ((tc - tb) / (c - b)) / ((tb - ta) / (b - a))


def report(repeat: int = 2) -> None:
    """Print the curves: microseconds an event, and the ratio of the slopes."""
    print(
        f"{'program':<28}{'stage':<8}"
        + "".join(f"{size:>9,}" for size in SIZES)
        + f"{'ratio':>8}  (us an event; ratio of slopes <= {MOST})"
    )
    for name, make in programs().items():
        curves: dict[str, list[tuple[int, float]]] = {}
        for size, n in zip(SIZES, sizes(make, SIZES), strict=True):
            # the smaller ones as often as this clock resolution requires
            events, found = times(make, n, repeat * (1 if size > 10_000 else 3))
            for stage, seconds in found.items():
                curves.setdefault(stage, []).append((events, seconds))
        for i, (stage, curve) in enumerate(curves.items()):
            cells = "".join(f"{1e6 * seconds / events:>9.2f}" for events, seconds in curve)
            print(f"{'' if i else TITLES[name]:<28}{stage:<8}{cells}{ratio(curve):>8.2f}", flush=True)
