"""Practice for notebook 00: operations that are written down, a first gradient, and what it says about a small step."""

from __future__ import annotations

import math
import random
import re

from .engines import Graph
from .question import Mistake, Part, Program, Question, leaf, show


def operations(rng: random.Random, level: int) -> Question:
    """How many operations a line writes down."""
    k, c, m = rng.randint(2, 5), rng.randint(1, 6), rng.randint(2, 5)
    sign = rng.choice("+-")
    formula, plain = {
        1: (rng.choice([f"{k} * x {sign} {c}", f"(x {sign} {c}) * {k}", f"x * x {sign} {c}"]), False),
        2: (
            rng.choice(
                [f"({k} * x {sign} {c}) ** 2", f"x * x * x {sign} {c}", f"(x {sign} {c}) * (x * {k})"]
            ),
            False,
        ),
        3: (
            rng.choice(
                [f"({k} * x {sign} {c}) ** 2 * {m}", f"x * x {sign} {k} * x {sign} {c}", f"{m} - (x {sign} {c}) * {k} * x"]
            ),
            False,
        ),
        4: (f"({k} + {c}) * x {sign} {rng.choice([f'{m} * x', 'x ** 2'])}", True),
        5: (f"({k} * {m} {sign} 1) * x ** 2 {sign} {rng.choice([f'{c} * x', f'x * x * {c}'])}", True),
    }[level]  # fmt: skip
    program = Program(leaf("x", rng.randint(1, 4)), f"y = {formula}")
    truth = sum(node["kind"] == "op" for node in program.trace.nodes)
    signs = len(re.findall(r"\*\*|[-+*]", formula))
    wrong = [
        Mistake(1, "It is one line of Python, but not one operation: each sign between two values makes a tensor of its own."),
        Mistake(len(re.findall(r"\w+", formula)), "These are the names and numbers in the line. What counts is the signs between them."),
    ]  # fmt: skip
    if plain:
        inside = formula[1 : formula.index(")")]
        wrong.append(
            Mistake(
                signs,
                f"`{inside}` are plain numbers: Python computes them, and no tensor is in it. It is not written down.",
            )
        )
    elif level > 1:
        wrong.append(
            Mistake(
                truth - 1,
                f"One is missing. Count the signs{', also that of the square' if '**' in formula else ''}.",
            )
        )
    names = [node["name"] for node in program.trace.nodes if node["kind"] == "op"]
    why = f"In the order in which they run: {', '.join(f'`{name}`' for name in names)}."
    return Question(
        "How many operations does autograd write down for the line that computes `y`?",
        program,
        [Part("operations", truth, why, wrong)],
        graph="after",
    )


def gradient(rng: random.Random, level: int) -> Question:
    """The gradient of a formula with one dial."""
    (k, c, m), x = rng.sample(range(2, 7), 3), rng.randint(1, 4)  # a sentence about "the 5" means one
    formula = {
        1: f"{k} * x + {c}",
        2: f"(x + {c}) ** 2",
        3: f"({k} * x + {c}) ** 2",
        4: f"x * ({k} * x + {c})",
        5: f"({k} * x + {c}) ** 2 + {m} * x",
    }[level]
    program = Program(leaf("x", x), f"y = {formula}", "y.backward()")
    graph = Graph(program.trace, "y")
    ways = graph.paths("x")
    wrong = [
        Mistake(
            program["y"],
            "That is the value of `y`. The gradient says how many times as far `y` moves as `x`.",
        )
    ]
    if level == 1:
        wrong.append(Mistake(k + c, f"The {c} does not move with `x`, so it adds nothing to how fast `y` moves."))  # fmt: skip
        wrong.append(Mistake(k * x, f"That is `{k} * x` itself. When `x` moves by 1, it moves by {k}."))
        why = f"When `x` moves by 1, `y` moves by {k}. The {c} moves nothing."
    elif level == 2:
        wrong.append(Mistake(2 * x, f"That is the slope of `x ** 2`. What is squared here is `x + {c}`."))
        wrong.append(Mistake(x + c, "The slope of a square is two times what is squared."))
        why = f"Two times what is squared, {x + c}, and that moves as fast as `x`."
    elif level == 3:
        wrong.append(Mistake(max(ways[0]), f"The square moves as fast as its inside moves. But the inside moves {k} times as fast as `x`."))  # fmt: skip
        wrong.append(
            Mistake(
                sum(one for one in ways[0] if one != 1),
                "One step after the other: the two factors are multiplied, not added.",
            )
        )
        why = f"The inside is {show(max(ways[0]) / 2)}, so its square moves {show(max(ways[0]))} times as fast. The inside moves {k} times as fast as `x`. Multiplied, that is {show(program['x.grad'])}."
    else:
        first, second = (math.prod(way) for way in ways[:2])
        if level == 4:
            wrong.append(Mistake(first, "The `x` in the bracket moves as well. It adds its share."))
            wrong.append(Mistake(second, "The `x` in front of the bracket moves as well. It adds its share."))
            why = f"`x` stands in two places. The one in front moves `y` {show(first)} times as far, and the one in the bracket {show(second)} times. Together: {show(first + second)}."
        else:
            wrong.append(Mistake(first, f"`{m} * x` moves as well. It adds its share, {m}."))
            wrong.append(Mistake(max(ways[0]) + second, f"The inside of the square moves {k} times as fast as `x`. That factor is missing."))  # fmt: skip
            why = f"`x` stands in two places. Through the square `y` moves {show(first)} times as far, and through `{m} * x` {show(second)} times. Together: {show(first + second)}."
    return Question(
        "What is `x.grad`? That is the gradient of `y`: how many times as far does `y` move as `x`?",
        program,
        [Part("x.grad", program["x.grad"], why, wrong)],
    )


def which_way(rng: random.Random, level: int) -> Question:
    """How far the result moves for a small step."""
    k, c, x = rng.randint(2, 6), rng.randint(1, 5), rng.randint(1, 4)
    formula = {
        1: f"{k} * x",
        2: f"{c} - {k} * x",
        3: f"x ** 2 - {k}",
        4: f"{k} * x - x ** 2",
        5: f"(x - {k}) ** 2 + {c}",
    }[level]
    step = {1: 0.001, 2: 0.001, 3: 0.01, 4: -0.01, 5: -0.01}[level]
    program = Program(leaf("x", x), f"y = {formula}", "y.backward()", f"step = {step}")
    slope, moved = program["x.grad"], program["x.grad * step"]
    wrong = [
        Mistake(
            -moved, "The size is right. Look at the signs: of the gradient, and of the step. Which way does `y` go?"
        ),
        Mistake(slope, f"That would be the change for a step of 1, if the curve were a line. The step is {step}."),
        Mistake(moved / 10, "One zero too many after the point."),
        Mistake(step, f"`y` moves {show(slope)} times as far as `x` does."),
    ]  # fmt: skip
    why = (
        f"The gradient is {show(slope)}, so `y` moves {show(slope)} times as far: {show(slope)} times {step}."
    )
    return Question(
        f"`x.grad` is {show(slope)}. Now `x` moves by {step}. By how much does `y` move, about?",
        program,
        [Part("y moves by", moved, why, wrong)],
        graph="never",
    )


KINDS = [gradient, operations, which_way]
