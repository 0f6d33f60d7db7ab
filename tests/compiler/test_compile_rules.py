"""torch.compile against the plain run, operation by operation: every entry of the tables with which the rule book is tested."""

import importlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import autograd_lab as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "torchlike" / "ops"))
helpers = importlib.import_module("helpers")

PAGES = ("pointwise", "reductions", "shapes", "linalg", "losses", "attention", "conv", "indexing")


LEAST = dict.fromkeys(PAGES, 0.5) | {"shapes": 0.4}
"""At least this part of each page is captured; the rest are views of their operand, in-place writes through views and the like."""


def tables(page):
    """The operations of one page of tests, with at most two shapes for each function."""
    found, count = [], {}

    def walk(x):
        if isinstance(x, helpers.Op):
            count[id(x.fn)] = count.get(id(x.fn), 0) + 1
            if count[id(x.fn)] <= 2:
                found.append(x)
        elif isinstance(x, list | tuple | dict):
            for y in x.values() if isinstance(x, dict) else x:
                walk(y)

    for key, value in vars(importlib.import_module(f"test_{page}")).items():
        if not key.startswith("_"):
            walk(value)
    return list({id(op): op for op in found}.values())


def stirred(op):
    """Operands of the same kind, with other numbers."""
    rng = np.random.default_rng(5)
    if op.values is not None:
        return [rng.permutation(np.array(v, np.float64).reshape(-1)).reshape(np.shape(v)) for v in op.values]
    return [rng.uniform(op.low, op.high, shape) for shape in op.shapes]


def run(fn, arrays):
    """What a call gives, or the text of the error it raises: (outputs, gradients)."""
    xs = [torch.tensor(a, dtype=torch.float32, requires_grad=True) for a in arrays]
    torch.manual_seed(3)
    try:
        outs = helpers.outputs(fn(*xs))
        moving = [o for o in outs if isinstance(o, torch.Tensor) and o.requires_grad]
        seeds = [
            torch.tensor(c, dtype=o.dtype) for c, o in zip(helpers.cotangents(moving), moving, strict=True)
        ]
        grads = torch.autograd.grad(moving, xs, seeds, allow_unused=True) if moving else [None for _ in xs]
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
        return str(error)
    return [*outs, *[g if g is None else g.to(torch.float32) for g in grads]]


def assert_alike(got, want):
    assert isinstance(got, str) == isinstance(want, str), (got, want)
    if isinstance(want, str):
        assert got == want
        return
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        if not isinstance(b, torch.Tensor):
            assert a is b or a == b or (a != a and b != b)
            continue
        assert (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
        np.testing.assert_allclose(helpers.array(a), helpers.array(b), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("page", PAGES)
def test_every_operation_is_captured_or_left_as_it_is(page):
    """At the numbers it saw and at others: the same values, types, shapes, gradients and errors."""
    ops = tables(page)
    captured = 0
    for op in ops:

        def plain(*xs, op=op):
            return op.fn(torch, *xs)

        compiled = torch.compile(plain)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, other = run(plain, op.arrays()), run(plain, stirred(op))
            for arrays, want in ((op.arrays(), first), (op.arrays(), first), (stirred(op), other)):
                try:
                    assert_alike(run(compiled, arrays), want)
                except AssertionError as problem:
                    raise AssertionError(f"{op.name}: {problem}") from None
        captured += bool(compiled.entries)
        assert compiled.entries or compiled.breaks or isinstance(first, str)
    assert captured > len(ops) * LEAST[page]
