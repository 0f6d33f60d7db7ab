"""What a compiled function saves for its way back: a least cut, and never more than the values that are read."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab.compiler.graph import run
from autograd_lab.compiler.partition import least_cut, split


def width(pipes, near):
    """How much flows out of a set of nodes."""
    return sum(w for a, to in pipes.items() if a in near for b, w in to.items() if b not in near)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=16))
def test_no_other_cut_is_smaller(edges):
    names = ["source", "a", "b", "c", "d", "e", "sink"]
    pipes = {name: {} for name in names}
    for a, b, w in edges:
        if a != b:
            pipes[names[a]][names[b]] = float(w)
    near = least_cut(pipes)
    assert "source" in near
    assert "sink" not in near
    others = [
        {"source"} | {n for n, inside in zip(names[1:-1], chosen, strict=True) if inside}
        for chosen in product((False, True), repeat=5)
    ]
    assert width(pipes, near) == min(width(pipes, other) for other in others)


def test_what_can_neither_be_saved_nor_computed_again_is_an_error():
    with pytest.raises(ValueError, match="neither be saved nor computed again"):
        least_cut({"source": {"a": math.inf}, "a": {"sink": math.inf}})


def leaf(*shape):
    return torch.tensor(
        np.random.default_rng(len(shape)).uniform(0.3, 0.9, shape).astype(np.float32), requires_grad=True
    )


def layer_norm(x, w, b):
    d = x - x.mean(1, keepdim=True)
    return d * torch.rsqrt((d * d).mean(1, keepdim=True) + 1e-5) * w + b


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.04 * x * x * x)))


def classifier(x, w, v, t):
    return torch.nn.functional.cross_entropy(torch.relu(x @ w) @ v, t)


NETS = {
    "layer norm": (layer_norm, lambda: (leaf(256, 256), leaf(256), leaf(256)), 2 * 256 * 4),
    "gelu, twice": (lambda x: gelu(gelu(x)), lambda: (leaf(256, 256),), 2 * 256 * 256 * 4),
    "classifier": (classifier, lambda: (leaf(32, 64), leaf(64, 32), leaf(32, 10), torch.arange(32) % 10), (32 * 32 + 32 * 10 + 1) * 4),
    "small, so nothing is computed again": (lambda x: gelu(x), lambda: (leaf(4, 4),), None),
}  # fmt: skip


@pytest.mark.parametrize("name", NETS)
def test_what_is_saved_and_that_it_is_enough(name):
    fn, make, most = NETS[name]
    inputs = make()
    compiled = torch.compile(fn, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(*inputs)
    joint = compiled.graph
    n = len(inputs)
    arrays = [t.detach().numpy() for t in inputs]
    arrays += [np.ones(v.shape, v.dtype)[()] for v in joint.inputs[n:]]
    want = run(joint, arrays)
    for recompute_from in (0, 1 << 16, math.inf):
        forward, backward, saved = split(joint, n, 1, recompute_from=recompute_from)
        results = run(forward, arrays[:n])
        got = [results[0], *run(backward, [*results[1:], *arrays[n:]])]
        for a, b in zip(got, want, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_array_equal(a, b)
        assert not any(step.rule == "MmBackward0" and step.part == "forward" for step in backward.steps)
    _, backward, saved = split(joint, n, 1)
    own = sum(v.bytes for v in saved if v not in joint.inputs)
    if most is None:
        assert not [step for step in backward.steps if step.part == "forward" and step.how == "call"]
    else:
        assert own <= most


def test_a_compiled_chain_holds_less_at_a_time_than_the_plain_one():
    """What is saved, what is dropped and when, counted in bytes."""
    from autograd_lab import bench

    compiled, plain = bench.pointwise(torch.compile, (256, 256)), bench.pointwise(lambda f: f, (256, 256))
    assert bench.peak(compiled) < bench.peak(plain)
    backward = compiled.compiled.backward_source
    assert "del " in backward
    again = [line for line in backward.splitlines() if " - x1" in line]
    assert again
    assert backward.splitlines().index(again[0]) > 1  # computed again when it is needed, not before


def test_a_pass_can_be_left_out_by_name():
    from autograd_lab.compiler.compiled import STAGES, Compiled

    x = leaf(4, 4)
    want = torch.autograd.grad(gelu(x).sum(), x)[0].numpy()
    sources = set()
    for name in STAGES:
        fn = Compiled(gelu, without=[name])
        fn(x)
        np.testing.assert_allclose(torch.autograd.grad(fn(x).sum(), x)[0].numpy(), want, rtol=1e-5)
        sources.add(fn.forward_source + fn.backward_source)
    assert len(sources) > 1
    with pytest.raises(ValueError, match="no such pass: fusion"):
        Compiled(gelu, without=["fusion"])
