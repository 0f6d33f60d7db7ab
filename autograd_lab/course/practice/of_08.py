"""Practice for notebook 08: shapes of gradients, sums over copies, sum and mean, and picked numbers."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, bank, show, times


def shape(rng: random.Random, level: int) -> Question:
    """The shape of a gradient behind broadcasting."""
    n, m, o = rng.sample(range(2, 8), 3)
    p, q = {
        1: ((n, m), (m,)),
        2: ((n, m), (n, 1)),
        3: ((n, 1), (m,)),
        4: ((o, n, m), (n, 1)),
        5: ((o, 1, m), (n, 1)),
    }[level]
    name = "q" if level < 3 else rng.choice("pq")
    sign = rng.choice("+*")
    program = Program(
        f"p = torch.ones({p}, requires_grad=True)", f"q = torch.ones({q}, requires_grad=True)",
        f"y = p {sign} q", "y.sum().backward()",
    )  # fmt: skip
    truth, out = program[f"tuple({name}.grad.shape)"], program["tuple(y.shape)"]
    other = program[f"tuple({'p' if name == 'q' else 'q'}.shape)"]
    wrong = [
        bank("08.1", "That is the shape of y. A gradient", out),
        Mistake((), "The sum is a single number, but it sends its message to every cell."),
    ]  # fmt: skip
    if other != out:
        wrong.append(Mistake(other, f"That is the shape of the other operand. The gradient of `{name}` has the shape of `{name}`."))  # fmt: skip
    if 1 in truth:
        wrong.append(Mistake(tuple(size for size in truth if size != 1), f"The 1 in the shape of `{name}` belongs to it. Its gradient keeps it.", "M18"))  # fmt: skip
    if len(truth) < len(out):
        put = (1,) * (len(out) - len(truth)) + truth
        wrong.append(Mistake(put, f"The dimension that broadcasting put in front is summed and gone. `{name}` does not have it.", "M18"))  # fmt: skip
    why = f"The shape of `{name}` itself. Where it was repeated, the messages are added."
    return Question(
        f"What is the shape of `{name}.grad`?",
        program,
        [Part("shape", truth, why, wrong, offered=True)],
        graph="never",
    )


def number(rng: random.Random, level: int) -> Question:
    """A number of a gradient: how often it was used, and whether the loss is a sum or a mean."""
    n, m, k = *rng.sample(range(2, 6), 2), rng.choice([2, 3, 6])
    p, q = {
        1: ((m,), (n, m)),
        2: ((n, 1), (n, m)),
        3: ((m,), (n, m)),
        4: ((1, m), (n, m)),
        5: ((n, 1), (m,)),
    }[level]
    loss = rng.choice(["sum", "mean"]) if level > 2 else "sum"
    mean = loss == "mean"
    program = Program(
        f"p = torch.zeros({p}, requires_grad=True)", f"q = torch.full({q}, {float(k)})",
        "r = p * q", f"r.{loss}().backward()",
    )  # fmt: skip
    out = program["tuple(r.shape)"]
    cells = out[0] * out[1]
    numbers = 1
    for size in p:
        numbers *= size
    uses = cells // numbers
    truth = program["p.grad.flatten()[0]"]
    total = uses * k
    wrong = [
        Mistake(k / cells if mean else k, f"Each number of `p` is used {uses} times, and every use sends a message. They are added.", "M07"),
        Mistake(total if mean else total / cells, f"A mean divides by its count, {cells}. A sum does not.", "M19"),
    ]  # fmt: skip
    if mean:
        wrong.append(
            Mistake(
                total / uses / n if p == (n, 1) else total / uses,
                f"A mean over all cells divides by all of them: {cells}.",
                "M19",
            )
        )
    else:
        wrong.append(
            Mistake(uses, f"You counted the uses. Each use brings a message of its own, and that is {k}.")
        )
    why = f"Each number of `p` is used {uses} times, and {k} comes back from each use: {show(total)}" + (
        f". The mean divides by {cells}." if mean else "."
    )
    return Question(
        "All numbers of `p.grad` are the same. Which number is it?",
        program,
        [Part("each number", truth, why, wrong)],
        graph="never",
    )


def picked(rng: random.Random, level: int) -> Question:
    """The gradient of numbers that were picked, some of them twice."""
    n = 3 if level < 3 else 4
    index = [rng.randrange(n) for _ in range(min(level + 1, 4))]
    k = 1 if level == 1 else rng.randint(2, 5)
    values = [float(v) for v in rng.sample(range(2, 9), n)]
    weigh = level > 3
    program = Program(
        f"u = torch.tensor({values}, requires_grad=True)", f"v = u[{index}]",
        "(v * v).sum().backward()" if weigh else "v.sum().backward()" if k == 1 else f"(v * {k}).sum().backward()",
    )  # fmt: skip
    truth = program["u.grad.tolist()"]
    twice = max(index, key=index.count)
    one = [value / max(index.count(i), 1) for i, value in enumerate(truth)]
    wrong = [
        Mistake(one, f"`u[{twice}]` is picked {times(index.count(twice))} and gets as many messages. They are added.", "M07"),
        Mistake([v for v in truth if v], "The gradient has the shape of `u`. What was not picked gets a 0.", "M18"),
        Mistake([value if value else None for value in truth], "`u` is one tensor, with one gradient. What was not picked has a 0 in it, and not None.", "M11"),
    ]  # fmt: skip
    if not weigh and k > 1:
        wrong.append(
            Mistake([index.count(i) for i in range(n)], f"You counted. Each message is {k}, the factor.")
        )
    why = (
        "Each picked number gets a message for each time that it was picked, and they are added. The others get 0."
    )  # fmt: skip
    return Question("What is `u.grad`?", program, [Part("u.grad", truth, why, wrong)], graph="never")


KINDS = [shape, number, picked]
