"""The arithmetic in sentences comes out, whatever was written in place since: random training loops of single numbers."""

import math
import random
import re

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.rules import _FUNCTIONS

NUMBER = r"-?(?:\d[\d.]*(?:e[+-]?\d+)?|inf|nan)"
CALLS = {**_FUNCTIONS, "inf": math.inf, "nan": math.nan, "where": lambda c, a, b: a if c else b}
STEPS = [
    "{0} = {1} * {2}",
    "{0} = {1} * {1}",
    "{0} = {1} + {2} * 0.5",
    "{0} = {1} - {2}",
    "{0} = {1} / ({2} * {2} + 1)",
    "{0} = {1} ** 2",
    "{0} = torch.sin({1})",
    "{0} = torch.tanh({1}) * {2}",
    "{0} = torch.exp(-{1} * {1})",
    "{0} = torch.relu({1})",
    "{0} = torch.maximum({1}, {2})",
    "{0} = data[{3}] * {1}",
    "{0} = {1} * torch.tensor({4})",
    "{0} = {1}.clone(); {0} *= {4}",
    "{0} = {1} * 1; {0} += {2}",
    "{0} = {1} * {2}; {0}.mul_({1})",
]
UPDATES = [
    "a.data = a.data - 0.1 * a.grad; b.detach().numpy()[...] *= 0.9",
    "with torch.no_grad():\n        for p in (a, b): p -= 0.1 * p.grad; p.grad = None",
    "with torch.no_grad():\n        for p in (a, b): p.sub_(p.grad, alpha=0.1); p.grad.zero_()",
    "optimizer.step(); optimizer.zero_grad()",
    "a.data -= 0.1 * a.grad; b.data.mul_(0.9)",
    "pass",
]


def program(seed):
    """A loop that computes a loss from a and b in a few random steps, runs backward, and updates them."""
    draw = random.Random(seed)
    names, lines = ["a", "b"], []
    for i in range(draw.randint(2, 6)):
        line = draw.choice(STEPS).format(
            f"t{i}", draw.choice(names[-3:]), draw.choice(names), draw.randrange(3), draw.randint(-9, 9) / 4
        )
        lines.append(line)
        names.append(f"t{i}")
    optimizer = draw.choice(
        ["SGD([a, b], lr=0.1)", "SGD([a, b], lr=0.1, momentum=0.9)", "Adam([a, b], lr=0.1)"]
    )
    return "\n".join([
        f"data = torch.tensor({[draw.randint(-9, 9) / 4 for _ in range(3)]})",
        "a, b = (torch.tensor(v, requires_grad=True, dtype=torch.float64) for v in (1.5, -0.75))",
        f"optimizer = torch.optim.{optimizer}",
        "for _ in range(3):",
        *[f"    {line}" for line in lines],
        f"    loss = {' + '.join(names[-2:])} + a * b",
        "    loss.backward()",
        f"    {draw.choice(UPDATES)}",
    ])  # fmt: skip


def close(computed, shown, *parts):
    """To the four digits that each number is shown with."""
    if not math.isfinite(shown) or not math.isfinite(computed):
        return str(computed) == str(shown)
    return abs(computed - shown) <= 2e-3 * max(1e-3, abs(shown), *map(abs, parts))


def sums(text):
    """(what the sentence says is computed, what it says comes out) for each sum and product of a sentence."""
    n = f"({NUMBER})"
    for x, f, y in [
        (x, f, y)
        for x, rest in re.findall(rf"multiplies the incoming {n} (.*)", text)
        for f, y in re.findall(rf"by its saved (?:[^=,]+ = )?{n} and sends {n} to", rest)
    ]:
        yield float(x) * float(f), float(y), (float(y),)
    for x, old, total in re.findall(rf"^{n} travels .* added to the {n} already there: {n}\.", text):
        yield float(x) + float(old), float(total), (float(x), float(old))
    for old, add, new in re.findall(rf"was {n}; adding {n} makes it {n}\.", text):
        yield float(old) + float(add), float(new), (float(old), float(add))
    for numbers, value in re.findall(rf"gets [^:;=]+ = ([^:;=]+) = {n}(?=[;.])", text):
        yield (
            eval(numbers, {**CALLS, "__builtins__": {}}),
            float(value),
            (1.0,),
        )  # of a number with four digits


@pytest.mark.parametrize("seed", range(120))
def test_every_sum_in_a_sentence_comes_out(seed):
    code = program(seed)
    with lab.record() as trace:
        exec(compile(code, f"<loop {seed}>", "exec"), {"torch": torch})
    checked, say = 0, Narrator(trace).sentence
    for k in range(len(trace) + 1):
        text = say(k)
        for computed, shown, parts in sums(text):
            checked += 1
            assert close(float(computed), shown, *parts), f"{text}\n{computed} is not {shown}\n{code}"
    assert checked > 5


@pytest.mark.parametrize("size", [(), (2,)])
def test_a_result_that_is_written_unnoticed_afterwards(size):
    with lab.record() as trace:
        w = torch.full(size, 2.0, requires_grad=True)
        y = w * 1
        y.sigmoid_()
        z = torch.exp(w)
        (y * z).sum().backward()
        y.data.zero_()
        z.data.zero_()
    slopes = {node["name"]: node["jacobian"][0]["entries"][2] for node in trace.nodes if node.get("jacobian")}
    flat = 1 / (1 + math.exp(-2.0))
    assert slopes["SigmoidBackward0"] == pytest.approx(flat * (1 - flat), rel=1e-4)
    assert slopes["ExpBackward0"] == pytest.approx(math.exp(2.0), rel=1e-4)


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
@pytest.mark.parametrize("seed", range(60))
def test_a_local_derivative_times_what_came_is_what_went(seed, library):
    lib = pytest.importorskip(library, exc_type=ImportError)
    code = program(seed)
    with (lab.record if lib is torch else lab.record_torch)() as trace:
        exec(compile(code, f"<loop {seed}>", "exec"), {"torch": lib})
    graph = trace.to_networkx()
    checked = 0
    for e in trace.events:
        if e["k"] != "vjp" or e["in"] == [None]:
            continue
        came = trace.values[e["in"][0]]["data"]
        local = {i: d["derivative"] for _, _, i, d in graph.edges(e["n"], keys=True, data=True)}
        for i, v in enumerate(e["out"]):
            if v is not None and local.get(i) is not None:
                checked += 1
                assert math.isclose(local[i] * came, trace.values[v]["data"], rel_tol=1e-4, abs_tol=1e-6), (
                    f"{trace.nodes[e['n']]['name']}, operand {i}\n{code}"
                )
    assert checked > 5
