"""With express off, the node on the screen is the node that computes: watched and unwatched, the same code runs."""

import random
import sys

import pytest

import autograd_lab as torch
from autograd_lab import express, lab

NETWORKS = 300


@pytest.fixture(autouse=True)
def _express_off():
    express.off()


def network(seed):
    """A function that makes a random network, runs it forward and backward, and returns its loss."""
    rng = random.Random(seed)
    width, depth, batch = rng.randint(1, 5), rng.randint(1, 4), rng.randint(1, 6)
    kinds = [
        rng.choice(["relu", "tanh", "sigmoid", "exp", "square", "norm", "residual"]) for _ in range(depth)
    ]
    bias, loss_kind = rng.random() < 0.7, rng.choice(["mean", "cross_entropy", "mse", "sum"])

    def run():
        torch.manual_seed(seed)
        layers = [torch.nn.Linear(width, width, bias=bias) for _ in range(depth)]
        x = torch.randn(batch, width)
        for kind, layer in zip(kinds, layers, strict=True):
            before, x = x, layer(x)
            if kind == "residual":
                x = x + before * 0.5
            elif kind == "norm":
                x = (x - x.mean(1, keepdim=True)) / (1 + x.abs().sum())
            elif kind == "square":
                x = x * x
            else:
                x = getattr(torch, kind)(x * 0.1)
        if loss_kind == "cross_entropy":
            loss = torch.nn.functional.cross_entropy(x, torch.zeros(batch, dtype=torch.int64))
        elif loss_kind == "mse":
            loss = ((x - 1) ** 2).mean()
        else:
            loss = getattr(x, loss_kind)()
        loss.backward()
        return loss.item(), [p.grad.tolist() for layer in layers for p in layer.parameters()]

    return run


def rules_run(fn):
    """What `fn` returns, and the code of every VJP that it ran, in order."""
    ran = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name == "vjp":
            ran.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return fn(), ran
    finally:
        sys.setprofile(before)


def test_watched_and_unwatched_networks_run_the_same_rules():
    rules = set()
    for seed in range(NETWORKS):
        run = network(seed)
        plain, unwatched = rules_run(run)

        with lab.record():
            seen, told = rules_run(run)
        assert seen == plain, seed
        assert len(told) >= len(unwatched)  # the recorder runs some once more, for the local Jacobians
        assert [code for code in told if code in set(unwatched)][: len(unwatched)] == unwatched, seed
        assert set(told) == set(unwatched), seed
        rules |= set(unwatched)
    assert len(rules) >= 12


def test_express_runs_others():
    """So that the test above could fail."""
    run = network(3)
    _, ours = rules_run(run)
    express.on()
    _, fast = rules_run(run)
    assert set(ours) != set(fast)
