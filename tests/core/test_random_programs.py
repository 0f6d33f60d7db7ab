"""Random programs: PyTorch does the same, and a naive walk over every path of the graph finds the same gradients."""

import importlib.util
import math

import pytest
import random_programs as programs
from hypothesis import HealthCheck, assume, example, given, settings

import autograd_lab
from autograd_lab.autograd.metadata import unbroadcast
from autograd_lab.autograd.node import AccumulateGrad

EXAMPLES = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def same(a, b):
    """Whether two notes agree, numbers up to rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or a == b or abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        if is_error(a) and is_error(b) and (about_a_view(a) or about_a_view(b)):
            return True  # which of two complaints comes first depends on when an operation looks at its operands' history
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return a == b


def is_error(note):
    return (
        isinstance(note, tuple) and len(note) == 2 and isinstance(note[0], str) and note[0].endswith("Error")
    )


def about_a_view(note):
    return " is a" in note[1] or note[1].startswith("A view was")


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@EXAMPLES
@given(programs.program(12))
@example(
    (
        [(0, True, 4)],
        [
            ("with_number", 9, 2, 11),
            ("view", 2, 4, 8),
            ("inplace_number", 2, 0, 4),
            ("backward_with_gradient", 4, 6, 2),
        ],
    )
)
@example(
    (
        [(2, True, 2)],
        [
            ("retain", 0, 0, 0),
            ("unary", 0, 0, 7),
            ("retain", 0, 0, 0),
            ("inplace_number", 0, 1, 1),
            ("backward", 0, 0, 0),
        ],
    )
)
@example(([(1, True, 3)], [("several_views", 0, 1, 0), ("node_hook", 0, 0, 0), ("backward_inputs", 0, 2, 0)]))
def test_programs_do_what_they_do_in_pytorch(program):
    """Values, gradients, flags, versions, node names, what hooks see, and errors."""
    import torch

    want = programs.run(torch, program)
    assume("INTERNAL ASSERT" not in str(want))
    got = programs.run(autograd_lab, program)
    for i, (w, g) in enumerate(zip(want, got, strict=True)):
        assert same(w, g), f"note {i}\nPyTorch: {w}\nours:    {g}"


# What leads to the engine's own business: hooks change gradients, modes and other passes change what there is to find.
PLAIN = [
    "binary", "cumulative", "detach", "inplace_binary", "inplace_number", "inplace_on_part", "inplace_unary", "join", "masked",
    "picked", "product", "reduce", "set_item", "set_part", "several_results", "several_views", "strided_view", "unary", "view", "with_number", "without_grad",
]  # fmt: skip


def by_all_paths(node, nr, g, found):
    """Add to `found` {id of a leaf: what each path brings} by recursion over every path: exponential, but nobody doubts it."""
    if isinstance(node, AccumulateGrad):
        found.setdefault(id(node.variable), []).append(g)
        return
    grads = [None] * (1 if node.plain else node.n_outputs)
    grads[nr] = g
    results = node.vjp(g if node.plain else grads, *node.unpack(True))
    results = results if isinstance(results, tuple) else (results,)
    if node.broadcast is not None:
        results = unbroadcast(node, results)
    for (fn, number), part in zip(node.next_functions, results, strict=True):
        if fn is not None and part is not None:
            by_all_paths(fn, number, part, found)


def opposed(parts):
    """Where paths bring two of inf, -inf and nan: their sum is nan, but that of the same terms before a factor need not be.

    (1 + 0) * inf is inf, 1 * inf + 0 * inf is not.
    """
    kinds = ([g == math.inf for g in parts], [g == -math.inf for g in parts], [g.isnan() for g in parts])
    return sum(sum(kind).bool().long() for kind in kinds) > 1


def paths(node, counts):
    """How many paths lead from `node` to leaves."""
    if node not in counts:
        counts[node] = (
            1
            if not node.next_functions
            else sum(paths(fn, counts) for fn, _ in node.next_functions if fn is not None)
        )
    return counts[node]


WRITTEN_BEFORE = (
    "modified by an inplace operation",
    " is a view",
    "A view was created in no_grad mode and its base",
    "more than one element of the written-to tensor",
)
"""Programs without a gradient, in PyTorch as well: they wrote to what was saved or expanded, or viewed without recording."""


@EXAMPLES
@given(programs.program(10, PLAIN))
@example(
    ([(0, False, 0), (1, True, 1)], [("binary", 1, 0, 3), ("binary", 0, 0, 1), ("binary", 0, 1, 0)])
)  # a / b with b = 0: one path brings inf, one -inf
@example(
    ([(0, True, 3)], [("with_number", 0, 0, 8), ("join", 0, 0, 0), ("set_item", 0, 0, 0)])
)  # a factor inf, and a 0 on one of two paths to it
def test_gradients_are_the_sum_over_all_paths(program):
    """Without PyTorch: the pass agrees with a recursion that knows no order, no counting and no buffers."""
    torch = autograd_lab
    leaves, steps = program
    p = programs.Run(torch)
    for leaf in leaves:
        p.tensors.append(programs.make_leaf(torch, leaf))
    leaves = list(p.tensors)
    for name, i, j, k in steps:
        try:
            result = programs.STEPS[name](p, i, j, k)
        except Exception:
            continue
        if result is not None and result.dtype is torch.float64:
            p.tensors.append(result)
    try:
        loss = p.tensors[-1].sum()
        assume(loss.grad_fn is not None and paths(loss.grad_fn, {}) < 2000)
        found = {}
        with torch.no_grad():
            by_all_paths(loss.grad_fn, 0, torch.ones_like(loss), found)
        loss.backward()
    except RuntimeError as error:
        if not any(text in str(error) for text in WRITTEN_BEFORE):
            raise
        assume(False)
    for leaf in leaves:
        if leaf.requires_grad and leaf.is_leaf:
            if id(leaf) in found:
                parts = found[id(leaf)]
                settled = ~opposed(parts)
                assert same(programs.numbers(leaf.grad[settled]), programs.numbers(sum(parts)[settled]))
            else:
                assert leaf.grad is None


def test_the_comparison_notices_a_difference():
    """A comparison that never fails proves nothing."""
    program = ([(1, True, 0)], [("unary", 0, 0, 2), ("backward", 0, 0, 0)])
    notes = programs.run(autograd_lab, program)
    other = programs.run(autograd_lab, ([(1, True, 1)], program[1]))
    assert same(notes, programs.run(autograd_lab, program))
    assert not same(notes, other)
