"""Practice for notebook 12: second derivatives, where a gradient ends up, and penalties that are recorded or not."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, bank, leaf, show


def second(rng: random.Random, level: int) -> Question:
    """A second derivative."""
    x = rng.randint(1, 9 if level == 1 else 6 if level < 4 else 4) * (rng.choice([-1, 1]) if level > 2 else 1)
    k, c = rng.randint(2, 9) if level == 1 else rng.randint(1, 4), rng.randint(2, 12) * rng.choice([-1, 1])
    powers = {1: (2, 1), 2: (3, 1), 3: (3, 2), 4: (4, 1), 5: (4, 3)}[level]
    terms = [*zip((k, c), powers, strict=True)]
    program = Program(
        leaf("x", x),
        f"y = {_polynomial(terms)}",
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
    slopes = _derived(terms)
    if level == 1:
        wrong.append(
            Mistake(
                2 * k + c,
                f"The slope of `{c} * x` is {c} everywhere, so it adds nothing to the second derivative.",
            )
        )
    else:
        third = sum(factor * x**power for factor, power in _derived(_derived(slopes)))
        wrong.append(Mistake(third, "You differentiated three times."))
    why = f"The first derivative is `{_polynomial(slopes)}`. Its slope at {x} is {show(program['second'])}."
    return Question(
        "What is `second`?", program, [Part("second", program["second"], why, wrong)], graph="never"
    )


def _derived(terms: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The derivative of a sum of (factor, power of x)."""
    return [(factor * power, power - 1) for factor, power in terms if power]


def _polynomial(terms: list[tuple[int, int]]) -> str:
    """A sum of (factor, power of x) as code: "3 * x**2 - 4 * x"."""
    text = ""
    for factor, power in terms:
        x = "" if not power else "x" if power == 1 else f"x**{power}"
        size = abs(factor)
        one = str(size) if not x else x if size == 1 else f"{size} * {x}"
        sign = ("-" if factor < 0 else "") if not text else " - " if factor < 0 else " + "
        text += sign + one
    return text


def holds(rng: random.Random, level: int) -> Question:
    """What .grad holds after grad() and backward()."""
    x, k, c, m = rng.randint(2, 7), rng.randint(2, 9), rng.randint(2, 9), rng.randint(2, 9)
    f = rng.choice(
        [
            f"{k} * x * x - {c}",
            f"x ** 3 + {k} * x",
            f"x * x + {k} * x",
            f"{k} * x * x + {c} * x",
            f"x ** 3 - {k} * x * x",
        ]
    )
    ask = "(g,) = torch.autograd.grad(y, x, create_graph=True)"
    lines = [leaf("x", x), f"y = {f}"]
    ways = {
        1: [ask],
        2: rng.choice([[ask, "g.backward()"], [ask]]),
        3: [ask, "g.backward()"],
        4: ["y.backward(create_graph=True)", "g = x.grad", "x.grad = None", "g.backward()"],
        5: [f"({m} * x).backward()", ask, "g.backward()"],
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
        before = m if level == 5 else 0
        why = (
            f"`torch.autograd.grad` leaves `.grad` alone. `g.backward()` adds the slope of `g`, {show(two)}"
            + (f", to the {m} that is there." if before else ".")
        )  # fmt: skip
        wrong = [
            Mistake(first + two + before, f"You added the {show(first)} of `torch.autograd.grad` as well: it returns its gradient and leaves `.grad` alone.", "M29"),
            Mistake(first + before, f"{show(first)} is `g` itself. `g.backward()` sends back the slope of `g`.", "M28"),
        ]  # fmt: skip
        if before:
            wrong.append(
                Mistake(two, f"The last call adds: the {m} of the first line is still there.", "M10")
            )
    return Question(
        "What is `x.grad` at the end: a number, or `None`?",
        program,
        [Part("x.grad", truth, why, wrong)],
        graph="never",
    )


def penalty(rng: random.Random, level: int) -> Question:
    """A penalty on a slope, recorded or not."""
    w, x, k, c = (
        rng.randint(1, 7),
        rng.randint(1, 9 if level == 1 else 5),
        rng.randint(2, 5),
        rng.randint(2, 9),
    )
    y = {1: f"{k} * w * x", 2: "w * x * x", 3: "w * x * x", 4: "w * w * x", 5: "w * x ** 3"}[level]
    if level > 1 and rng.random() < 0.7:
        y += rng.choice([f" + {k} * x", f" - {k} * w", f" + {k} * w * x"])
    flag = rng.choice(["create_graph", "retain_graph"]) if level > 1 else "create_graph"
    beside = level > 2 or (flag == "retain_graph" and rng.random() < 0.5)
    square = rng.choice(["slope**2", f"{c} * slope**2"])
    loss = f"y + {square}" if beside else square
    twice = 2 * c if "*" in square.replace("**", "") else 2
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
        why = f"The slope is {show(slope)}. `{square}` has the slope `{twice} * {show(slope)}`, times how fast the slope moves with `w`" + (
            f", and `y` adds {show(alone)}: {show(right)}." if beside else f": {show(right)}."
        )  # fmt: skip
        wrong = [
            Mistake(alone, "The slope was recorded, so the penalty has a gradient as well.", "M28"),
            Mistake("error", "`create_graph=True` has recorded the slope: backward can go through it.", "M28"),
        ]  # fmt: skip
        if level > 1:
            wrong.append(Mistake(twice * slope, "That is the slope of the square. The slope itself moves with `w`, too, and that is a factor."))  # fmt: skip
    return Question(
        "What is `w.grad`, or is there an `error`?",
        program,
        [Part("w.grad", truth, why, wrong, offered=True)],
        graph="never",
    )


KINDS = [second, holds, penalty]
