"""Practice for notebook 01: differences by hand, and how many runs a gradient takes."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, bank, leaf


def _f(rng: random.Random, level: int) -> str:
    k = rng.randint(2, 4)
    return {
        1: "x**2",
        2: f"{k} * x**2",
        3: f"x**2 + {k} * x",
        4: "x**3",
        5: f"x**3 - {k} * x",
    }[level]


def _program(formula: str, x: float, h: float, slope: str) -> Program:
    return Program("def f(x):", f"    return {formula}", "", f"x, h = {x}, {h}", f"slope = {slope}")


def _exact(formula: str, x: float) -> float:
    """What the engine says."""
    return float(Program(leaf("x", x), f"y = {formula}", "y.backward()")["x.grad"])


def forward(rng: random.Random, level: int) -> Question:
    """A forward difference by hand."""
    formula, x, h = _f(rng, level), float(rng.randint(1, 4)), rng.choice([0.5, 0.1, 2.0, 0.2])
    program = _program(formula, x, h, "(f(x + h) - f(x)) / h")
    difference = program["f(x + h) - f(x)"]
    wrong = [
        bank("01.2", "You left out the division by h", difference),
        Mistake(_exact(formula, x), "That is the true slope. A forward difference is a measurement, with an error of its own.", "M01"),
        Mistake(program["(f(x) - f(x - h)) / h"], "You looked back, from `x - h` to `x`. A forward difference goes from `x` to `x + h`."),
    ]  # fmt: skip
    if level > 2:
        wrong.append(Mistake(program["f(x + h) / h"], "You took `f(x + h)` alone. Take `f(x)` away first."))
    if level > 3:
        wrong.append(Mistake(program["(f(x + h) - f(x - h)) / (2 * h)"], "That is the central difference, which looks to both sides."))  # fmt: skip
    why = f"`f(x + h)` is {program['f(x + h)']} and `f(x)` is {program['f(x)']}. The difference is {difference}, divided by {h}."
    return Question("What is `slope`?", program, [Part("slope", program["slope"], why, wrong)], graph="never")


def central(rng: random.Random, level: int) -> Question:
    """A central difference by hand."""
    a, k = rng.randint(2, 4), rng.randint(2, 9)
    cube = rng.choice(["x**3", f"{a} * x**3"])
    formula = {
        1: cube,
        2: rng.choice([cube, f"x**3 + {k} * x"]),
        3: f"{cube} + {k}",
        4: f"{cube} - {k} * x",
        5: f"x**3 + {a} * x**2 - {k} * x",
    }[level]
    x, h = float(rng.randint(1, 5)), rng.choice([0.5, 1.5, 2.0] if level == 1 else [0.1, 0.2, 0.5, 1.5, 2.0])
    program = _program(formula, x, h, "(f(x + h) - f(x - h)) / (2 * h)")
    wrong = [
        bank("01.3", "From x - h to x + h it is 2h", program["(f(x + h) - f(x - h)) / h"]),
        Mistake(
            _exact(formula, x),
            "That is the true slope. A central difference is nearer than a forward one, but it is a measurement, too.",
            "M01",
        ),
        Mistake(
            program["(f(x + h) - f(x)) / h"], "You measured to one side only. A central difference looks to both sides."
        ),
        Mistake(program["f(x + h) - f(x - h)"], "You left out the division by `2 * h`."),
    ]  # fmt: skip
    if h == 0.5:  # 2 * h is 1: what is not divided is right
        wrong.pop()
    why = f"`f(x + h)` is {program['f(x + h)']} and `f(x - h)` is {program['f(x - h)']}. The difference is {program['f(x + h) - f(x - h)']}, divided by {program['2 * h']}."
    return Question("What is `slope`?", program, [Part("slope", program["slope"], why, wrong)], graph="never")


def runs(rng: random.Random, level: int) -> Question:
    """How many runs of a function a gradient by nudging takes."""
    n = rng.randint(3, 9) if level < 3 else rng.randint(6, 20)
    some = rng.randint(2, n - 1) if level > 2 and rng.random() < 0.5 else n
    steps = rng.randint(2, 4) if level == 5 else 1
    ways = {
        "forward": "(f(up) - before) / h",
        "central": "(f(up) - f(down)) / (2 * h)",
        "forward, badly": "(f(up) - f(x)) / h",
    }
    way = rng.choice([*ways][: 2 if level < 4 else 3])
    formula = rng.choice(["sum(x)", "max(x)", "x[0] * x[1]", "sum(v * v for v in x)"])
    f = ["def f(x):", f"    return {formula}"]
    counting = ["calls = 0", "def f(x):", "    global calls", "    calls += 1", f"    return {formula}"]
    slopes = [
        "slopes = []",
        "before = f(x)" if way == "forward" else "",
        "for i in range(len(x)):" if some == n else f"for i in range({some}):",
        "    up = list(x)",
        "    up[i] += h",
        *(["    down = list(x)", "    down[i] -= h"] if way == "central" else []),
        f"    slopes.append({ways[way]})",
    ]
    rest = [f"x, h = [1.0] * {n}, {rng.choice([0.5, 0.1, 0.01])}"]
    if steps == 1:
        rest += slopes
    else:
        rest += [f"for step in range({steps}):", *(f"    {line}" for line in slopes if line)]
        rest += ["    for i, slope in enumerate(slopes):", "        x[i] -= 0.1 * slope"]
    program, truth = Program(*f, *rest), Program(*counting, *rest)["calls"]
    once, nudges = way == "forward", some * steps
    inputs = f"each of the {n} inputs" if some == n else f"each of the first {some} inputs"
    wrong = [
        Mistake(1, "Each input has a slope of its own, and its nudge needs a run of its own."),
        Mistake(nudges, "You counted the nudges. The run without a nudge counts as well." if once else f"Each turn of the loop runs `f` twice, and there are {nudges} turns{'' if steps == 1 else ' in all'}."),
        Mistake(2 * nudges if once else (some + 1) * steps, "The run without a nudge is made once, before the loop over the inputs." if once else "Look into the loop: `f` runs there twice in each turn."),
    ]  # fmt: skip
    if some < n:
        all_inputs = (n + 1) * steps if once else 2 * n * steps
        wrong.append(Mistake(all_inputs, f"Not all {n} inputs are nudged: the loop ends after {some}."))
    if steps > 1:
        wrong.append(Mistake(truth // steps, f"That is one step. Each of the {steps} steps measures anew."))
    why = {
        "forward": f"One run before the loop, and one for {inputs}",
        "central": f"Two runs for {inputs}",
        "forward, badly": f"Two runs for {inputs}, since `f(x)` is computed again in each turn",
    }[way] + (". " if steps == 1 else f"; and that in each of the {steps} steps.")
    why = why.strip()
    return Question("How many times does `f` run?", program, [Part("runs", truth, why, wrong)], graph="never")


KINDS = [forward, central, runs]
