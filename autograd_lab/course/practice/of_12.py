"""Practice for notebook 12: second derivatives, where a gradient ends up, and penalties that are recorded or not."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, bank, leaf, show


def second(rng: random.Random, level: int) -> Question:
    """A second derivative."""
    x, k, c = rng.randint(1, 5 if level < 4 else 3), rng.randint(2, 5), rng.randint(2, 6)
    formula = {
        1: f"{k} * x**2 + {c} * x",
        2: f"x**3 + {c} * x",
        3: f"x**3 + {k} * x**2",
        4: f"x**4 + {c} * x",
        5: f"x**4 - {k} * x**3",
    }[level]
    program = Program(
        leaf("x", x),
        f"y = {formula}",
        "(g,) = torch.autograd.grad(y, x, create_graph=True)",
        "(second,) = torch.autograd.grad(g, x)",
    )
    first = program["g"]
    wrong = [
        Mistake(first, "That is the first derivative. Differentiate it once more."),
        Mistake(
            program["y"], "That is the value of `y`. Its slope is the first derivative, and the slope of that the second."
        ),
        Mistake(first * first, "The second derivative is not the square of the first: differentiate the first one."),
    ]  # fmt: skip
    if level == 1:
        wrong.append(
            Mistake(
                2 * k + c,
                f"The slope of `{c} * x` is {c} everywhere, so it adds nothing to the second derivative.",
            )
        )
    third = {2: 6, 3: 6, 4: 24 * x, 5: 24 * x - 6 * k}.get(level)
    if third is not None:
        wrong.append(Mistake(third, "You differentiated three times."))
    slopes = {
        1: f"{2 * k} * x + {c}",
        2: f"3 * x**2 + {c}",
        3: f"3 * x**2 + {2 * k} * x",
        4: f"4 * x**3 + {c}",
        5: f"4 * x**3 - {3 * k} * x**2",
    }[level]
    why = f"The first derivative is `{slopes}`. Its slope at {x} is {show(program['second'])}."
    return Question(
        "What is `second`?", program, [Part("second", program["second"], why, wrong)], graph="never"
    )


def holds(rng: random.Random, level: int) -> Question:
    """What .grad holds after grad() and backward()."""
    x, k = rng.randint(2, 4), rng.randint(2, 5)
    f = rng.choice([f"{k} * x * x", "x ** 3", f"x * x + {k} * x"])
    ask = "(g,) = torch.autograd.grad(y, x, create_graph=True)"
    lines = [leaf("x", x), f"y = {f}"]
    ways = {
        1: [ask],
        2: rng.choice([[ask, "g.backward()"], [ask]]),
        3: [ask, "g.backward()"],
        4: ["y.backward(create_graph=True)", "g = x.grad", "x.grad = None", "g.backward()"],
        5: [f"({k} * x).backward()", ask, "g.backward()"],
    }[level]
    program = Program(*lines, *ways)
    truth = program["x.grad"]
    base = Program(*lines, ask, "(s,) = torch.autograd.grad(g, x)")
    first, two = base["g"], base["s"]
    if truth is None:
        why = "`torch.autograd.grad` returns the gradient, and leaves `.grad` as it is. Nothing was ever put there."
        wrong = [
            Mistake(first, "`torch.autograd.grad` returns its gradient and leaves `.grad` alone.", "M29"),
            bank("12.2", "Nothing has ever been put into x.grad", 0),
        ]
    elif level == 4:
        why = f"`.grad` was cleared. Then `g.backward()` puts the slope of `g` there, {show(two)}."
        wrong = [
            Mistake(first + two, "Between the two calls `.grad` was set to None.", "M10"),
            Mistake(first, f"That is `g` itself. `g.backward()` sends back the slope of `g`, {show(two)}.", "M28"),
        ]  # fmt: skip
    else:
        before = k if level == 5 else 0
        why = (
            f"`torch.autograd.grad` leaves `.grad` alone. `g.backward()` adds the slope of `g`, {show(two)}"
            + (f", to the {k} that is there." if before else ".")
        )  # fmt: skip
        wrong = [
            Mistake(first + two + before, f"You added the {show(first)} of `torch.autograd.grad` as well: it returns its gradient and leaves `.grad` alone.", "M29"),
            Mistake(first + before, f"{show(first)} is `g` itself. `g.backward()` sends back the slope of `g`.", "M28"),
        ]  # fmt: skip
        if before:
            wrong.append(
                Mistake(two, f"The last call adds: the {k} of the first line is still there.", "M10")
            )
    return Question(
        "What is `x.grad` at the end: a number, or `None`?",
        program,
        [Part("x.grad", truth, why, wrong)],
        graph="never",
    )


def penalty(rng: random.Random, level: int) -> Question:
    """A penalty on a slope, recorded or not."""
    w, x = rng.randint(1, 4), rng.randint(1, 3)
    y = {1: "w * x", 2: "w * x * x", 3: "w * x * x", 4: "w * w * x", 5: "w * x ** 3"}[level]
    flag = rng.choice(["create_graph", "retain_graph"]) if level > 1 else "create_graph"
    beside = level > 2 or (flag == "retain_graph" and rng.random() < 0.5)
    loss = "y + slope**2" if beside else "slope**2"
    start = [leaf("w", w), leaf("x", x), f"y = {y}"]
    program = Program(*start, f"(slope,) = torch.autograd.grad(y, x, {flag}=True)", f"({loss}).backward()")
    truth = program.outcome("w.grad")
    recorded = Program(
        *start, "(slope,) = torch.autograd.grad(y, x, create_graph=True)", f"({loss}).backward()"
    )
    right, slope = recorded["w.grad"], recorded["slope"]
    alone = Program(*start, "y.backward()")["w.grad"]
    if truth == "error":
        why = "`retain_graph` keeps saved values. The slope was not recorded, so the penalty has no history, and backward has nowhere to start."
        wrong = [
            Mistake(right, "That is the gradient with `create_graph=True`. Here the slope was not recorded.", "M13"),
            Mistake(0, "Backward cannot start from a penalty without history: there is an error.", "M28"),
        ]  # fmt: skip
    elif flag == "retain_graph":
        why = f"The slope was not recorded, so its square is a constant here. What is left is the gradient of `y`: {show(alone)}."
        wrong = [
            Mistake(right, "That is the gradient with `create_graph=True`. `retain_graph` keeps saved values, and records nothing.", "M13"),
            Mistake("error", "The penalty stands beside `y`, which has a history. So there is no error.", "M28"),
        ]  # fmt: skip
    else:
        why = f"The slope is {show(slope)}. Its square has the slope `2 * {show(slope)}`, times how fast the slope moves with `w`" + (
            f", and `y` adds {show(alone)}: {show(right)}." if beside else f": {show(right)}."
        )  # fmt: skip
        wrong = [
            Mistake(alone, "The slope was recorded, so the penalty has a gradient as well.", "M28"),
            Mistake("error", "`create_graph=True` has recorded the slope: backward can go through it.", "M28"),
        ]  # fmt: skip
        if level > 1:
            wrong.append(Mistake(2 * slope, "That is the slope of the square. The slope itself moves with `w`, too, and that is a factor."))  # fmt: skip
    return Question(
        "What is `w.grad`, or is there an `error`?",
        program,
        [Part("w.grad", truth, why, wrong, offered=True)],
        graph="never",
    )


KINDS = [second, holds, penalty]
