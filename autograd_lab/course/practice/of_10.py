"""Practice for notebook 10: writes in place that are noticed, that do no harm, or that nobody sees; and views."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, bank, leaf, show

HARMLESS = "10.1", "A write in place ruins backward only if it overwrites"
"""A diagnosis of `lab.check`: the item, and how it begins."""


def write(rng: random.Random, level: int) -> Question:
    """A write between forward and backward: a number, or an error."""
    x, k, c = rng.randint(2, 4), rng.randint(2, 4), rng.randint(1, 5)
    y = rng.choice([f"x * {k}", f"x + {c}"] if level < 3 else [f"x * {k}", "x * x", f"x + {c}"])
    z = rng.choice(
        {1: ["y * y", "y + y"], 2: ["y * y", f"y * {k}", "y + y"], 3: ["y ** 2", f"y - {c}", "y * x"], 4: ["y * x", f"y * {k} + x", "y ** 2"], 5: ["y * y + x", f"(y + {c}) * x", f"y * {k} - y"]}[level]
    )  # fmt: skip
    edit = rng.choice([f"y += {c}", f"y *= {k}"])
    early = level > 1 and rng.random() < 0.3
    lines = [f"z = {z}", edit] if not early else [edit, f"z = {z}"]
    program = Program(leaf("x", x), f"y = {y}", *lines, "z.backward()")
    without = Program(leaf("x", x), f"y = {y}", f"z = {z}", "z.backward()")["x.grad"]
    turned = Program(leaf("x", x), f"y = {y}", *lines[::-1], "z.backward()").outcome("x.grad")
    truth = program.outcome("x.grad")
    if truth == "error":
        why = (
            "The node of the product has saved `y`, and the write changes it. Backward notices, and refuses."
            if "**" not in z
            else "The node of the square has saved `y`, and the write changes it. Backward notices, and refuses."
        )
        wrong = [
            Mistake(without, "That is the gradient with the old `y`. But the memory now holds the new one: backward notices, and refuses.", "M23"),
            Mistake(turned, "That is the gradient with the new `y`. Backward does not take it: what was saved has changed, and it refuses.", "M23"),
        ]  # fmt: skip
    elif early:
        why = f"The write comes before `z` is computed. It is recorded as an operation like others: {show(truth)}."
        wrong = [
            Mistake("error", "The write comes before `z` is computed. What is saved after it stays as it is.", "M22"),
            Mistake(without, "The write is recorded as well: `z` sees the new `y`."),
        ]  # fmt: skip
    else:
        why = f"No node has saved `y`, so the write does no harm: {show(truth)}."
        wrong = [bank(*HARMLESS, "error")]
        wrong.append(
            Mistake(turned, "`z` was computed before the write, and does not see it.")
            if turned not in ("error", truth)
            else Mistake(0, "The write does not cut the way back from `z`.")
        )
    return Question(
        "What is `x.grad`, or is there an `error`?",
        program,
        [Part("x.grad", truth, why, wrong, offered=True)],
        graph="never",
    )


def silent(rng: random.Random, level: int) -> Question:
    """A write through .data or detach()."""
    x, new, k = rng.randint(2, 4), rng.choice([5, 10, 20]), rng.randint(2, 4)
    formula = {1: "x * x", 2: f"x * x * {k}", 3: f"x * x + {k} * x", 4: "x ** 3", 5: f"(x + {k}) * x"}[level]
    way = "x.data" if level < 3 or rng.random() < 0.6 else "x.detach()"
    lines = [leaf("x", x), f"y = {formula}"]
    program = Program(*lines, f"{way}.fill_({float(new)})", "y.backward()")
    truth = program.outcome("x.grad")
    old = Program(*lines, "y.backward()")["x.grad"]
    fresh = Program(leaf("x", new), f"y = {formula}", "y.backward()")["x.grad"]
    if truth == "error":
        why = "`detach()` shares the memory and the counter. Backward notices the write, and refuses."
        wrong = [
            Mistake(old, "What was saved is the memory of `x`, and that has changed. Backward notices.", "M23"),
            Mistake(fresh, "`detach()` shares the counter with `x`, unlike `.data`. Backward notices the write.", "M23"),
        ]  # fmt: skip
    else:
        why = "`.data` has a counter of its own, so nobody sees the write: a rule works with the new number where its node has saved `x` itself."
        wrong = [
            bank("10.2", "x.data has a counter of its own", "error"),
            Mistake(old, f"That is the gradient at {x}, where `y` was computed. The memory that was saved now holds {new}.", "M23"),
        ]  # fmt: skip
        if fresh != truth:
            wrong.append(Mistake(fresh, f"That is the gradient at {new}. But a part of it was saved before the write, and is the old one.", "M23"))  # fmt: skip
    return Question(
        "What is `x.grad`, or is there an `error`?",
        program,
        [Part("x.grad", truth, why, wrong, offered=True)],
        graph="never",
    )


def view(rng: random.Random, level: int) -> Question:
    """A write into a view, or into a copy."""
    a = [float(one) for one in rng.sample(range(1, 9), 3)]
    k, m = rng.randint(2, 5), rng.randint(2, 4)
    i = rng.randrange(3)
    place = {1: f"{i}", 2: f"{i}", 3: rng.choice(["0:2", "1:3"]), 4: rng.choice(["1:", ":2"]), 5: "::2"}[
        level
    ]
    edit = rng.choice([f"v *= {m}"] if level < 4 else [f"v *= {m}", "v.zero_()"])
    copy = level > 1 and rng.random() < 0.4
    lines = [
        f"a = torch.tensor({a}, requires_grad=True)",
        f"b = a * {k}",
        f"v = b[{place}]" + (".clone()" if copy else ""),
    ]
    program = Program(*lines, edit, "b.sum().backward()")
    truth = program["a.grad.tolist()"]
    plain = [float(k)] * 3
    inside = Program(*lines[:2], f"v = b[{place}]", edit, "b.sum().backward()")["a.grad.tolist()"]
    whole = Program(*lines[:2], edit.replace("v", "b"), "b.sum().backward()")["a.grad.tolist()"]
    if copy:
        why = "`clone()` makes a copy. Writing into it leaves `b` as it is."
        wrong = [Mistake(inside, "`clone()` makes a copy, not a view: `b` does not change.", "M24"), Mistake("error", "The write goes into a copy, and no node has saved that.", "M22")]  # fmt: skip
    else:
        why = "`v` is a view of `b`: the write changes `b` in that place, and it is recorded."
        wrong = [
            Mistake(plain, "`v` is not a copy: it is a window onto the memory of `b`, and the write changes `b` there.", "M24"),
            Mistake(whole, "The write changes only what `v` shows. The rest of `b` stays."),
            bank(*HARMLESS, "error"),
        ]  # fmt: skip
    return Question(
        "What is `a.grad`, or is there an `error`?",
        program,
        [Part("a.grad", truth, why, wrong, offered=True)],
        graph="never",
    )


KINDS = [write, silent, view]
