"""How fast is it? `python -m autograd_lab.bench`: ratios against PyTorch and hand-written NumPy, measured in one run.

Each pair of programs alternates in the same process, many times, and the smallest time of each counts; so the ratio says
what the code costs, not what the machine was doing. PyTorch runs on one thread; without it, its columns stay empty.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from types import ModuleType

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 - NumPy reads the number of threads when it is first imported

import autograd_lab  # noqa: E402 - the same

Program = Callable[[], object]


def best(programs: dict[str, Program], seconds: float = 1.5, inner: int = 1) -> dict[str, float]:
    """The smallest time of each program in seconds, the programs taking turns for about `seconds` in all."""
    smallest = dict.fromkeys(programs, float("inf"))
    for program in programs.values():
        program()
    end = perf_counter() + seconds
    while perf_counter() < end:
        for name, program in programs.items():
            start = perf_counter()
            for _ in range(inner):
                program()
            smallest[name] = min(smallest[name], (perf_counter() - start) / inner)
    return smallest


def chain(torch: ModuleType, n: int = 100) -> Program:
    """N times y = y * w + x on 4 elements, forward and backward."""
    w = torch.tensor([1.0, 0.5, 0.25, 1.5], requires_grad=True)
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    g = torch.ones(4)

    def program() -> None:
        y = x
        for _ in range(n):
            y = y * w + x
        y.backward(g)

    return program


def scalar_net(torch: ModuleType) -> Program:
    """A 3-4-1 tanh network written op by op on zero-dim tensors, forward and backward."""
    values = [0.1 * i - 0.8 for i in range(21)]
    p = [torch.tensor(v, requires_grad=True) for v in values]
    x = [torch.tensor(v) for v in (0.5, -1.0, 2.0)]

    def program() -> None:
        out = p[20]
        for j in range(4):
            h = p[12 + j]
            for i in range(3):
                h = h + p[3 * j + i] * x[i]
            out = out + p[16 + j] * h.tanh()
        ((out - 1.0) ** 2).backward()

    return program


def _data(n: int, features: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, features)).astype(np.float32), rng.integers(0, classes, n)


def _weights(sizes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    made = []
    for a, b in pairwise(sizes):
        made += [(rng.standard_normal((b, a)) / a**0.5).astype(np.float32), np.zeros(b, np.float32)]
    return made


def classifier(torch: ModuleType, sizes: tuple[int, int, int], batch: int) -> Program:
    """One training step of a two-layer classifier: linear, relu, linear, cross_entropy, backward, SGD under no_grad."""
    functional = torch.nn.functional
    inputs, labels = _data(batch, sizes[0], sizes[2])
    x, t = torch.tensor(inputs), torch.tensor(labels)
    params = [torch.tensor(w, requires_grad=True) for w in _weights(sizes)]
    w1, b1, w2, b2 = params

    def program() -> None:
        h = functional.relu(functional.linear(x, w1, b1))
        loss = functional.cross_entropy(functional.linear(h, w2, b2), t)
        loss.backward()
        with torch.no_grad():
            for p in params:
                p -= 0.01 * p.grad
                p.grad = None

    return program


def classifier_numpy(sizes: tuple[int, int, int], batch: int) -> Program:
    """The same step by hand, in NumPy."""
    x, t = _data(batch, sizes[0], sizes[2])
    w1, b1, w2, b2 = _weights(sizes)
    rows = np.arange(batch)

    def program() -> None:
        z = x @ w1.T
        z += b1
        h = np.maximum(z, 0)
        y = h @ w2.T
        y += b2
        y -= y.max(axis=1, keepdims=True)
        e = np.exp(y)
        p = e / e.sum(axis=1, keepdims=True)
        -np.log(p[rows, t]).mean()
        p[rows, t] -= 1
        p /= batch
        gw2, gb2 = p.T @ h, p.sum(axis=0)
        gh = p @ w2
        gh *= z > 0
        gw1, gb1 = gh.T @ x, gh.sum(axis=0)
        for w, g in ((w1, gw1), (b1, gb1), (w2, gw2), (b2, gb2)):
            w -= 0.01 * g

    return program


def long_chain(n: int) -> tuple[float, float]:
    """(seconds per node, forward, backward and freeing; peak bytes per node) of a chain of n additions."""
    torch = autograd_lab

    def once() -> float:
        gc.collect()
        x = torch.tensor(1.0, requires_grad=True)
        start = perf_counter()
        y = x
        for _ in range(n):
            y = y + 1.0
        y.backward()
        del y
        return (perf_counter() - start) / n

    time = min(once() for _ in range(3))
    tracemalloc.start()
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(min(n, 20_000)):
        y = y + 1.0
    held = tracemalloc.get_traced_memory()[0] / min(n, 20_000)
    tracemalloc.stop()
    return time, held


def recorded(program: Program) -> Program:
    """The same program with a recorder looking on."""

    def watched() -> None:
        with autograd_lab.lab.record():
            program()

    return watched


def main(argv: list[str] | None = None) -> int:
    """Print the table of figures; the targets stand beside what was measured."""
    parser = argparse.ArgumentParser(prog="python -m autograd_lab.bench", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="how long to measure each line (default 2)"
    )
    parser.add_argument("--no-long", action="store_true", help="leave out the chain of a million nodes")
    args = parser.parse_args(argv)
    try:
        import torch
    except ModuleNotFoundError:
        torch = None
        print("PyTorch is not installed: no ratios against it (pip install torch==2.13.0)")
    else:
        torch.set_num_threads(1)
    lab = autograd_lab
    print(
        f"Python {sys.version.split()[0]}, NumPy {np.__version__}, PyTorch {getattr(torch, '__version__', '-')}"
    )
    print(f"{'program':<46}{'ours':>11}{'PyTorch':>11}{'NumPy':>11}{'ratio':>8}  target")

    def line(label: str, programs: dict[str, Program], against: str, target: str, inner: int = 1) -> None:
        times = best(programs, args.seconds, inner)
        cells = "".join(
            f"{times[k] * 1e6:>9.1f}us" if k in times else f"{'':>11}" for k in ("ours", "torch", "numpy")
        )
        ratio = f"{times['ours'] / times[against]:>8.2f}" if against in times else f"{'-':>8}"
        print(f"{label:<46}{cells}{ratio}  {target}")

    def both(make: Callable[[ModuleType], Program]) -> dict[str, Program]:
        return {"ours": make(lab)} | ({"torch": make(torch)} if torch else {})

    line("chain of 100 y*w+x, 4 elements", both(chain), "torch", "<= 0.8 x PyTorch")
    line("3-4-1 net op by op, zero-dim", both(scalar_net), "torch", "<= 0.8 x PyTorch", 5)
    for sizes, batch, target in (
        ((64, 32, 10), 32, "<= 1.0 x PyTorch"),
        ((256, 256, 10), 256, "<= 1.1 x PyTorch"),
    ):
        label = f"{'-'.join(map(str, sizes))} classifier step, batch {batch}"
        programs = both(lambda t, s=sizes, b=batch: classifier(t, s, b)) | {
            "numpy": classifier_numpy(sizes, batch)
        }
        line(label, programs, "torch", target, 5)
        line(label, programs, "numpy", "<= 2 x NumPy" if batch == 32 else "", 5)
    step = classifier(lab, (64, 32, 10), 32)
    line(
        "the 64-32-10 step recorded / not recorded",
        {"ours": recorded(step), "numpy": step},
        "numpy",
        "<= 3 x (NumPy column: not recorded)",
    )
    if not args.no_long:
        short, held = long_chain(20_000)
        long, _ = long_chain(1_000_000)
        print(
            f"chain of 1,000,000 nodes: {long * 1e6:.2f} us a node, {long / short:.2f} x that of 20,000 nodes (<= 1.3); {held:.0f} bytes a node"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
