"""How fast is it? `python -m autograd_lab.bench`: ratios against PyTorch and hand-written NumPy, measured in one run.

Each pair of programs alternates in the same process, many times, and the smallest time of each counts; so the ratio says
what the code costs, not what the machine was doing. PyTorch runs on one thread; without it, its columns stay empty.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from types import FunctionType, ModuleType

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 - NumPy reads the number of threads when it is first imported

import autograd_lab  # noqa: E402 - the same

Program = Callable[[], object]


def best(programs: dict[str, Program], seconds: float = 1.5, inner: int = 1) -> dict[str, float]:
    """The smallest time of each program in seconds, the programs taking turns for about `seconds` in all.

    Whoever comes after a large program finds the processor's caches full of that one's data, so the order changes.
    """
    smallest = dict.fromkeys(programs, float("inf"))
    for program in programs.values():
        program()
    order = list(programs.items())
    draw = random.Random(0)
    end = perf_counter() + seconds
    while perf_counter() < end:
        draw.shuffle(order)
        for name, program in order:
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
        total = e.sum(axis=1, keepdims=True)
        (np.log(total[:, 0]) - y[rows, t]).sum() / batch  # the loss: log-sum-exp minus the right class
        e /= total
        e[rows, t] -= 1
        e /= batch
        gw2, gb2 = e.T @ h, e.sum(axis=0)
        gh = e @ w2
        gh *= z > 0
        gw1, gb1 = gh.T @ x, gh.sum(axis=0)
        for w, g in ((w1, gw1), (b1, gb1), (w2, gw2), (b2, gb2)):
            w -= 0.01 * g

    return program


def compiled_classifier(
    sizes: tuple[int, int, int], batch: int, compile: Callable, whole: bool = False
) -> Program:
    """The same step with its loss compiled; `whole`: all of it is compiled."""
    torch = autograd_lab
    functional = torch.nn.functional
    inputs, labels = _data(batch, sizes[0], sizes[2])
    x, t = torch.tensor(inputs), torch.tensor(labels)
    params = [torch.tensor(w, requires_grad=True) for w in _weights(sizes)]
    w1, b1, w2, b2 = params

    def loss_of(x, t):
        h = functional.relu(functional.linear(x, w1, b1))
        return functional.cross_entropy(functional.linear(h, w2, b2), t)

    forward = loss_of if whole else compile(loss_of)

    def step(x, t):
        loss = forward(x, t)
        loss.backward()
        with torch.no_grad():
            for p in params:
                p -= 0.01 * p.grad
                p.grad = None
        return loss

    run = compile(step) if whole else step

    def program() -> None:
        run(x, t)

    program.compiled = run if whole else forward  # type: ignore[attr-defined]
    return program


def pointwise(compile: Callable, shape: tuple[int, ...], n: int = 20) -> Program:
    """A chain of n pointwise operations, forward and backward: multiply, add, tanh, and so on."""
    torch = autograd_lab
    x = torch.tensor(
        np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape), requires_grad=True
    )
    w = torch.tensor(np.full(shape, 1.1, np.float32), requires_grad=True)
    g = torch.ones(*shape)

    def chain(x, w):
        y = x
        for i in range(n):
            y = (y * w, y + x, y.tanh(), y - w)[i % 4]
        return y

    compiled = compile(chain)

    def program() -> None:
        compiled(x, w).backward(g)
        x.grad = w.grad = None

    program.compiled = compiled  # type: ignore[attr-defined]
    return program


def peak(program: Program) -> int:
    """The most bytes that one run of a program holds at a time beyond what was there before."""
    program()
    gc.collect()
    tracemalloc.start()
    program()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    program()
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return most


def compiled_figures(torch: ModuleType | None, seconds: float) -> None:
    """What torch.compile gains, and what each pass has of it."""
    from autograd_lab.compiler.compiled import STAGES, Compiled

    def plain(fn: Callable) -> Callable:
        return fn

    sizes, batch = (64, 32, 10), 32
    step = compiled_classifier(sizes, batch, Compiled)
    whole = compiled_classifier(sizes, batch, Compiled, whole=True)
    programs = {
        "compiled step": whole,
        "compiled loss": step,
        "eager": classifier(autograd_lab, sizes, batch),
        "numpy": classifier_numpy(sizes, batch),
    }
    if torch is not None:
        programs["torch"] = classifier(torch, sizes, batch)
    times = best(programs, seconds, 5)
    print(
        "64-32-10 classifier step, batch 32: " + ", ".join(f"{k} {v * 1e6:.0f} us" for k, v in times.items())
    )
    for name, against, bound in (
        ("compiled step", "numpy", "(<= 1.25)"),
        ("compiled step", "torch", "(<= 0.5)"),
        ("compiled loss", "numpy", "(backward() and the update are outside)"),
        ("compiled loss", "torch", "(<= 0.5)"),
    ):
        if against in times:
            title = {"numpy": "NumPy", "torch": "PyTorch eager"}[against]
            print(f"    {name} / {title} {times[name] / times[against]:.2f}  {bound}")
    chain = best({"compiled": pointwise(Compiled, (4,)), "eager": pointwise(plain, (4,))}, seconds, 5)
    print(
        f"20 pointwise operations on 4 elements: compiled {chain['compiled'] * 1e6:.0f} us, eager {chain['eager'] * 1e6:.0f} us, "
        f"ratio {chain['compiled'] / chain['eager']:.2f}  (<= 0.5)"
    )
    for label, make in {
        "256-256-10 classifier step, batch 256": lambda c: compiled_classifier((256, 256, 10), 256, c),
        "20 pointwise operations on 256 x 256": lambda c: pointwise(c, (256, 256)),
    }.items():
        print(
            f"peak memory, {label}: compiled {peak(make(Compiled)) / 1024:.0f} KiB, eager {peak(make(plain)) / 1024:.0f} KiB"
        )
    for label, program in (
        ("64-32-10 classifier's loss", step),
        ("64-32-10 classifier's whole step", whole),
        ("20 pointwise operations", pointwise(Compiled, (4,))),
    ):
        program()
        print(f"capture of the {label}: {program.compiled.entry.seconds * 1e3:.0f} ms")  # type: ignore[attr-defined]
    print(
        "without one pass: time of forward and backward, steps of the graph, lines of the source, bytes saved"
    )
    for label, build in {
        "64-32-10 classifier": lambda c: compiled_classifier(sizes, batch, c),
        "20 pointwise operations on 256 x 256": lambda c: pointwise(c, (256, 256)),
    }.items():
        made = {
            name: build(lambda fn, n=name: Compiled(fn, without=() if n == "all passes" else (n,)))
            for name in ("all passes", *STAGES)
        }
        made["no passes"] = build(lambda fn: Compiled(fn, passes=False))
        times = best(made, seconds)
        print(f"  {label}")
        for name, program in made.items():
            entry = program.compiled.entry  # type: ignore[attr-defined]
            saved = sum(
                v.bytes
                for v in entry.backward_graph.inputs[: -len(entry.differentiable)]
                if v not in entry.joint.inputs
            )
            lines = entry.forward.statements + entry.backward.statements
            title = name if name.endswith("passes") else f"without {name}"
            print(
                f"    {title:<24}{times[name] * 1e6:>9.1f} us{len(entry.joint.steps):>6} steps{lines:>6} lines{saved:>12,} bytes"
            )


def long_chain(n: int) -> Program:
    """A chain of n additions, forward, backward and freed."""
    torch = autograd_lab

    def program() -> None:
        y = torch.tensor(1.0, requires_grad=True)
        for _ in range(n):
            y = y + 1.0
        y.backward()
        del y

    return program


def held_by_chain(n: int) -> float:
    """The bytes that a chain of n additions holds for each node."""
    tracemalloc.start()
    y = autograd_lab.tensor(1.0, requires_grad=True)
    for _ in range(n):
        y = y + 1.0
    held = tracemalloc.get_traced_memory()[0] / n
    tracemalloc.stop()
    return held


def long_figures() -> None:
    """What a node costs in a long chain and in a short one, each at its quickest.

    The second line is without Python's garbage collector, which the engine holds back while it makes or walks large graphs.
    """
    n, few = 1_000_000, 20_000
    for collects in (True, False):
        if not collects:
            gc.disable()
        long = best({"long": long_chain(n)}, seconds=20)["long"] / n
        short = best({"short": long_chain(few)}, seconds=3)["short"] / few
        print(
            f"chain of {n:,} nodes{'' if collects else ' (gc.disable())'}: {long * 1e6:.2f} us a node, "
            f"{long / short:.2f} x that of a chain of {few:,} (<= 1.3)"
        )
    gc.enable()
    print(f"{held_by_chain(few):.0f} bytes a node")


SCALARS = """
w, x, b = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 1.0))
(w * x + b).backward()
"""
NETWORK = """
W1, b1, W2, b2 = (torch.tensor(numpy.full(shape, 0.01), requires_grad=True) for shape in [(64, 16), 16, (16, 10), 10])
x, y = torch.tensor(numpy.ones((5, 64))), torch.tensor([0, 1, 2, 3, 4])
loss = torch.nn.functional.cross_entropy(torch.relu(x @ W1 + b1) @ W2 + b2, y)
loss.backward()
with torch.no_grad():
    for p in (W1, b1, W2, b2):
        p -= 0.5 * p.grad
        p.grad = None
"""  # notebook 04's

IMPORTS = {
    "import numpy": ("import numpy", 1.0),
    "import autograd_lab": ("import numpy, autograd_lab", 1.6),
    "... w*x+b and backward": ("import numpy, autograd_lab as torch" + SCALARS, 1.8),
    "... notebook 04's network, a step": ("import numpy, autograd_lab as torch" + NETWORK, 2.2),
    "from autograd_lab import lab": ("import numpy\nfrom autograd_lab import lab", 2.2),
}
"""Programs that start a Python of their own, and how many times as long as the first they may take."""


def import_figures(seconds: float) -> None:
    """How long a new Python needs until the library is there: wall clock, with warm byte code, the least of many turns."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        settings["PYTHONPYCACHEPREFIX"] = folder

        def run(text: str) -> Program:
            return lambda: subprocess.run([sys.executable, "-c", text], env=settings, check=True)

        times = best({name: run(text) for name, (text, _) in IMPORTS.items()}, seconds)
    for name, (_, bound) in IMPORTS.items():
        print(
            f"{name:<38}{times[name] * 1e3:>7.0f} ms{times[name] / times['import numpy']:>7.2f}  <= {bound}"
        )


def recorded(program: Program) -> Program:
    """The same program with a recorder looking on.

    The recorder leaves out what stands in the files of this package, so the program gets another file name.
    """
    assert isinstance(program, FunctionType)
    code = program.__code__.replace(co_filename="step.py")
    users = FunctionType(code, program.__globals__, program.__name__, closure=program.__closure__)

    def watched() -> None:
        with autograd_lab.lab.record():
            users()

    return watched


def main(argv: list[str] | None = None) -> int:
    """Print the table of figures; the targets stand beside what was measured."""
    parser = argparse.ArgumentParser(prog="python -m autograd_lab.bench", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        choices=("all", "compile", "import", "recording"),
        default="all",
        help="compile: only torch.compile's figures; import: only how long it takes to start; recording: how recording and opening a "
        "trace grow with its size",
    )
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="how long to measure each line (default 2)"
    )
    parser.add_argument("--no-long", action="store_true", help="leave out the chain of a million nodes")
    args = parser.parse_args(argv)
    if args.what == "recording":
        from autograd_lab.bench.recording import report

        report()
        return 0
    if args.what == "import":
        import_figures(10 * args.seconds)
        return 0
    try:
        import torch
    except ModuleNotFoundError:
        torch = None
        print("PyTorch is not installed: no ratios against it (pip install torch==2.13.0)")
    else:
        torch.set_num_threads(1)
    lab = autograd_lab
    lab.lab.fast()
    print(
        f"Python {sys.version.split()[0]}, NumPy {np.__version__}, PyTorch {getattr(torch, '__version__', '-')}"
    )
    if args.what == "compile":
        compiled_figures(torch, args.seconds)
        return 0
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
    for what in ("express on", "express off"):
        lab.lab.fast(what == "express on")
        line(
            f"the 64-32-10 step recorded / not, {what}",
            {"ours": recorded(step), "numpy": step},
            "numpy",
            "<= 3 x (NumPy column: not recorded)",
        )
    line("chain of 100 y*w+x, express off", both(chain), "torch", "<= 1.1 x PyTorch")
    line(
        "64-32-10 classifier step, express off",
        both(lambda t: classifier(t, (64, 32, 10), 32)),
        "torch",
        "<= 1.3 x PyTorch",
        5,
    )
    lab.lab.fast()
    compiled_figures(torch, args.seconds)
    import_figures(10 * args.seconds)
    if not args.no_long:
        long_figures()
    return 0
