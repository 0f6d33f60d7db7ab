"""Whether this checkout does what another one does, to the bit.

    python tests/compare_checkouts.py OTHER [--only WORD] [--show NAME] [--shuffle SEED]

For changes that must change nothing. Some 4,000 programs run on the package of both checkouts, each in a process of its own:
the sample calls of all rules, the conformance banks, the programs of the recorder's tests, and random ones. Of each, four things
are compared: the bits of all numbers, the graphs and reprs, the errors and warnings, and the events of a recording. The programs are
this checkout's. Prints what differs, and returns 1 if anything does. With --shuffle the other checkout, which may be this one again, runs
them in another order: then a program differs, too, if it depends on what ran before it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from graphs import bits, listed, tensors_in

TESTS = Path(__file__).parent
RANDOM_PROGRAMS = 400


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the other checkout's folder")
    parser.add_argument("--only", default="", help="programs whose names hold this word")
    parser.add_argument("--show", default="", help="print all that both checkouts say of this program")
    parser.add_argument("--shuffle", type=int, help="run the programs in another order on the other checkout")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        for name, told in results(options.only or options.show, options.shuffle):
            print(
                json.dumps([name, told if options.show == name else {k: digest(v) for k, v in told.items()}])
            )
        return 0
    ours, theirs = told_by(TESTS.parent, options), told_by(options.other.resolve(), options, options.shuffle)
    if options.show:
        for label, told in (("this checkout", ours), ("the other", theirs)):
            print(f"--- {label}\n{json.dumps(told.get(options.show), indent=1)}")
        return 0
    differing = {
        name: [what for what in ours[name] if ours[name][what] != theirs.get(name, {}).get(what)]
        for name in ours
    }
    differing = {name: whats for name, whats in differing.items() if whats}
    for name, whats in differing.items():
        print(f"{name}: {', '.join(whats)}")
    print(f"{len(ours)} programs, {len(differing)} differ")
    return min(len(differing), 1)


def told_by(
    folder: Path, options: argparse.Namespace, shuffle: int | None = None
) -> dict[str, dict[str, Any]]:
    """{program: what a checkout's package makes of it}."""
    words = ["--inside", "--only", options.only, "--show", options.show, str(folder)]
    if shuffle is not None:
        words += ["--shuffle", str(shuffle)]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONHASHSEED": "0"}
    run = subprocess.run(
        [sys.executable, __file__, *words], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(map(json.loads, run.stdout.splitlines()))


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


# -- the programs -----------------------------------------------------------------------------------------


def programs() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """(name, function of the library) of all programs."""
    for folder in (TESTS, TESTS / "trace", TESTS / "conformance"):
        sys.path.insert(0, str(folder))
    import operations
    import random_programs
    import runner
    import torch_programs

    for call in operations.CALLS:
        yield call.name, lambda torch, call=call: called(call, torch)
    for name, bank in runner.BANKS.items():
        for case in json.loads(bank.read_text("utf-8"))["cases"]:
            yield (
                f"{name}: {case['id']}",
                lambda torch, case=case: runner.run_case(case, torch, torch.__name__),
            )
    for name, program in torch_programs.PROGRAMS.items():
        yield f"recorded: {name}", lambda torch, program=program: list(program(torch))
    draw = random.Random(0)
    kinds = sorted(random_programs.STEPS)
    for number in range(RANDOM_PROGRAMS):
        leaves = [
            (draw.randrange(6), draw.random() < 0.7, draw.randrange(6)) for _ in range(draw.randint(1, 3))
        ]
        steps = [
            (draw.choice(kinds), draw.randrange(12), draw.randrange(12), draw.randrange(12))
            for _ in range(draw.randint(1, 12))
        ]
        yield f"random: {number}", lambda torch, one=(leaves, steps): random_programs.run(torch, one)


def called(call: Any, torch: Any) -> Any:
    """A sample call, its backward pass, and the gradients."""
    inputs = call.tensors(torch)
    made = call.run(torch, inputs)
    results = [t for t in tensors_in(made) if t.requires_grad]
    if results:
        torch.autograd.backward(results, [torch.ones_like(t) for t in results])
    return made, {name: t.grad for name, t in inputs.items() if t.is_leaf}


# -- what is noted of a program ---------------------------------------------------------------------------


def results(only: str, shuffle: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """(program, what is told of it) on the package that is imported here, in an order that `shuffle` chooses."""
    import numpy as np

    import autograd_lab as torch
    from autograd_lab import lab

    chosen = list(programs())
    if shuffle is not None:
        random.Random(shuffle).shuffle(chosen)
    for name, program in chosen:
        if only and only not in name:
            continue
        told: dict[str, Any] = {}
        for part in ("unrecorded", "recorded"):
            torch.manual_seed(0)
            np.random.seed(0)  # noqa: NPY002 - the programs use it
            error, made = "", None
            with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                try:
                    if part == "recorded":
                        with lab.record() as trace:
                            made = program(torch)
                    else:
                        made = program(torch)
                except Exception as problem:  # what it raises is compared
                    error = cleaned(f"{type(problem).__name__}: {problem}")
                finally:
                    torch.set_grad_enabled(True)
            warned = [cleaned(f"{w.category.__name__}: {w.message}") for w in caught]
            if part == "recorded":
                told["events"] = [events(trace), error]
            else:
                tensors = list(tensors_in(made))
                told["bits"] = [repr(bits(t)) for t in tensors] + ([] if tensors else [cleaned(repr(made))])
                told["graphs and reprs"] = [listed(t.grad_fn) for t in tensors] + [cleaned(repr(made))]
                told["errors and warnings"] = [error, warned]
        yield name, told


def events(trace: Any) -> str:
    try:
        data = json.loads(trace.to_json())
        first = min((node["seq"] for node in data["nodes"]), default=0)
        for node in data["nodes"]:  # what ran before may have made more nodes, or fewer
            if node["kind"] != "accumulate":
                node["seq"] -= first
        return cleaned(json.dumps(data))
    except Exception as problem:  # a trace that cannot be built is compared by why
        return cleaned(f"{type(problem).__name__}: {problem}")


def cleaned(text: str) -> str:
    """A text without addresses and folders."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return re.sub(r"(/[\w.+-]+)+/", "", text)


if __name__ == "__main__":
    sys.exit(main())
