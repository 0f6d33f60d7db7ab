"""Practice for notebook 09: what backward(v) gives, and how many passes a whole Jacobian takes."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, RedrawError, bank


def _matrix(rng: random.Random, rows: int, columns: int, most: int) -> list[list[float]]:
    return [[float(rng.randint(-1 if most > 3 else 0, most)) for _ in range(columns)] for _ in range(rows)]


def rows(rng: random.Random, level: int) -> Question:
    """backward(v) of a matrix product."""
    m, n = {1: (2, 2), 2: (2, 2), 3: (2, 3), 4: (3, 2), 5: (3, 3)}[level]
    matrix = _matrix(rng, m, n, 3 if level < 4 else 5)
    v = [float(one) for one in rng.sample([1, 2, 3, 10, -1], m)]
    program = Program(
        f"M = torch.tensor({matrix})",
        f"x = torch.tensor({[1.0] * n}, requires_grad=True)",
        "y = M @ x",
        f"v = torch.tensor({v})",
        "y.backward(v)",
    )
    truth = program["x.grad"]
    wrong = [
        Mistake(program["M.sum(0)"], "This is the sum of the rows, what `v` = ones would give. Each output counts as much as its number in `v` says.", "M20"),
        Mistake(program[f"M.T @ torch.tensor({v[::-1]})"], "The weights are the wrong way round. `v[0]` belongs to `y[0]`."),
        Mistake(program[f"{v[0]} * M[0]"], "That is only the first row, weighted. Each output has a row, and all of them are added.", "M20"),
    ]  # fmt: skip
    if m == n:
        wrong.append(
            Mistake(
                program[f"M @ torch.tensor({v})"],
                "You weighted the columns, which is what a nudge of the inputs does. `backward(v)` weights the rows.",
                "M20",
            )
        )
    told = " + ".join(f"{w:g} * {_row(row)}" for w, row in zip(v, matrix, strict=True)).replace("+ -", "- ")
    return Question("What is `x.grad`?", program, [Part("x.grad", truth, f"`{told}`.", wrong)], graph="never")


def _row(row: list[float]) -> str:
    return "(" + ", ".join(f"{one:g}" for one in row) + ")"


def products(rng: random.Random, level: int) -> Question:
    """backward(v) of a few products that share an input."""
    x = [float(one) for one in rng.sample(range(2, 8), 3)]
    k = rng.randint(2, 5)
    v = [float(one) for one in rng.sample([1, 2, 3, 10], 2)]
    first, second = {
        1: (f"{k} * x[0]", "x[0] * x[1]"),
        2: ("x[0] * x[1]", f"x[1] + {k} * x[2]"),
        3: ("x[0] * x[1]", "x[1] * x[2]"),
        4: ("x[0] * x[1]", "x[1] ** 2 - x[2]"),
        5: ("x[0] * x[1] * x[2]", f"x[1] ** 2 + {k} * x[2]"),
    }[level]
    if level == 1:
        x = x[:2]
    lines = [
        f"x = torch.tensor({x}, requires_grad=True)",
        f"y = torch.stack([{first}, {second}])",
    ]

    def back(weights: list[float]) -> list[float]:
        return list(Program(*lines, f"y.backward(torch.tensor({weights}))")["x.grad.tolist()"])

    program = Program(*lines, f"v = torch.tensor({v})", "y.backward(v)")
    truth = program["x.grad.tolist()"]
    one, two = back([v[0], 0.0]), back([0.0, v[1]])
    wrong = [
        Mistake(back([1.0, 1.0]), "This is what `v` = ones would give. Each output counts as much as its number in `v` says.", "M20"),
        Mistake(back(v[::-1]), "The weights are the wrong way round. `v[0]` belongs to `y[0]`."),
        Mistake(one, "That is only what comes from the first output. The second sends messages too.", "M20"),
        Mistake([b if b else a for a, b in zip(one, two, strict=True)], "An input that is used by both outputs gets two messages. They are added.", "M07"),
    ]  # fmt: skip
    why = f"The first output sends {one}, and the second {two}. They are added."
    return Question("What is `x.grad`?", program, [Part("x.grad", truth, why, wrong)], graph="never")


def passes(rng: random.Random, level: int) -> Question:
    """How many passes fill the whole Jacobian, each way."""
    m, n = rng.sample(range(2, 6) if level < 3 else range(3, 300), 2)
    outputs = f"torch.ones({m}, {n}) @ x" if level < 4 else f"(torch.ones({m}, {n}) * x).sum(1)"
    program = Program(f"x = torch.ones({n}, requires_grad=True)", f"y = {outputs}")
    if m == n or 1 in (m, n):
        raise RedrawError("a square table says nothing")
    back, forth = program["y.numel()"], program["x.numel()"]
    parts = [
        Part("backward passes", back, f"One for each output: {back}.", [
            Mistake(forth, "It is the other way round: a backward pass starts at one output and gives its row.", "M20"),
            bank("09.3", "One backward pass gives one weighted sum", 1),
            Mistake(m * n, "One pass gives a whole row, not one number of the table.", "M20"),
        ]),
        Part("forward passes", forth, f"One for each input: {forth}.", [
            Mistake(back, "It is the other way round: a forward pass nudges one input and gives its column.", "M21"),
            Mistake(1, "One forward pass gives one column. Each input needs a pass.", "M21"),
            Mistake(m * n, "One pass gives a whole column, not one number of the table.", "M20"),
        ]),
    ]  # fmt: skip
    if level > 1:
        better = "backward" if back < forth else "forward"
        parts.append(
            Part(
                "fewer passes",
                better,
                "Fewer passes are better.",
                [Mistake({"backward": "forward", "forward": "backward"}[better], "Compare the two numbers: the better mode is the one with fewer passes.", "M21")],
                offered=True,
            )
        )  # fmt: skip
    return Question(
        "You want the whole Jacobian of `y` by `x`. How many passes does each mode need?",
        program,
        parts,
        graph="never",
    )


KINDS = [rows, products, passes]
