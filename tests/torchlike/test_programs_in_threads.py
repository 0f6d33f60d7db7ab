"""Programs in several threads at once: each computes, builds and records to the bit what it does alone.

A part of the programs of tests/compare_checkouts.py: sample calls of rules and random programs, without those that change what PyTorch, too,
has only once for all threads, such as its print options.
"""

import contextlib
import json
import sys
import threading

import numpy as np
from compare_checkouts import cleaned, programs
from graphs import bits, listed, tensors_in

import autograd_lab as torch
from autograd_lab import lab

THREADS, EACH = 4, 60
NOTHING = contextlib.nullcontext()


def told(program):
    """What a program leaves: bits, graphs, errors, and the events of a recording."""
    with np.errstate(all="ignore"):
        tensors, first, _ = run(program)
        _, second, trace = run(program, lab.record())
    data = json.loads(trace.to_json())
    order = sorted(node["seq"] for node in data["nodes"])
    for node in data["nodes"]:  # other threads make nodes, too
        node["seq"] = order.index(node["seq"])
    numbers, graphs = [repr(bits(t)) for t in tensors], [listed(t.grad_fn) for t in tensors]
    return numbers, graphs, first, second, cleaned(json.dumps(data))


def run(program, block=NOTHING):
    """Run a program in a block. Returns the tensors that it makes, its error, and what the block gives."""
    made, error = None, ""
    with block as given:
        try:
            made = program(torch)
        except Exception as problem:  # is compared
            error = cleaned(f"{type(problem).__name__}: {problem}")
    return list(tensors_in(made)), error, given


def test_programs_in_threads_do_what_they_do_alone():
    chosen = [
        program for name, program in programs() if name.partition(":")[0] not in ("public", "own", "recorded")
    ]
    chosen = chosen[:: len(chosen) // (THREADS * EACH)][: THREADS * EACH]
    random = torch.default_generator.rng
    alone = []
    for program in chosen:
        before, one = random.state, told(program)
        if random.state == before:  # all threads have one generator
            alone.append((program, one))
    together, begin = [None] * len(alone), threading.Barrier(THREADS)

    def work(i):
        begin.wait()
        for n in range(i, len(alone), THREADS):
            together[n] = told(alone[n][0])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(alone) > 200
    assert together == [one for _, one in alone]
