"""Practice for notebook 03: what one node sends, and what comes through a few of them."""

from __future__ import annotations

import random

from .engines import Graph
from .question import Mistake, Part, Program, Question, leaf, show


def node(rng: random.Random, level: int) -> Question:
    """What a node with two operands sends."""
    a, b, g = rng.sample(range(2, 8), 3)
    operation = rng.choice({1: ["a * b"], 2: ["a * b", "a - b"], 3: ["a - b", "max", "a * b"], 4: ["max", "a * b", "b - a"], 5: ["a / b", "max", "b - a"]}[level])  # fmt: skip
    if level > 2:
        g = rng.choice([-1, 1]) * g
    if operation == "a / b":
        b = rng.choice([2, 4, 5])
        a, g = b * rng.choice([2, 3]), b * b * rng.choice([1, 2, -1])
    code = f"torch.maximum({', '.join(rng.sample('ab', 2))})" if operation == "max" else operation
    program = Program(leaf("a", a), leaf("b", b), f"y = {code}")
    order = {"a": 0, "b": 1}
    first = code.replace("torch.maximum(", "")[0]
    if first == "b":
        order = {"a": 1, "b": 0}
    parts = []
    for name, other in (("a", "b"), ("b", "a")):
        place, own = order[name], {"a": a, "b": b}
        truth, slope = (program[f"y.grad_fn(torch.tensor({float(one)}))[{place}]"] for one in (g, 1))
        if operation == "a * b":
            why = f"In a product the factors swap: {g} times `{other}`, which is {own[other]}."
            wrong = [
                Mistake(slope, f"That is the local derivative. The message {g} multiplies it."),
                Mistake(g, f"A sum would copy the message. A product scales it by the other factor, {own[other]}."),
                Mistake(g * own[name], f"The factors swap: what goes to `{name}` is scaled by `{other}`, the other one."),
            ]  # fmt: skip
        elif operation in ("a - b", "b - a"):
            minus = operation[-1] == name
            why = f"`{name}` is {'taken away: the message turns its sign' if minus else 'not taken away: the message goes on as it is'}."
            wrong = [
                Mistake(-truth, "In a difference the operand after the minus gets the message with its sign turned, and the other as it is."),
                Mistake(slope, f"That is the local derivative. The message {g} multiplies it."),
                Mistake(program["y"], "That is the value of the node. It sends the message times its local derivative."),
            ]  # fmt: skip
        elif operation == "max":
            larger = own[name] > own[other]
            why = (
                f"`{name}` is the {'larger' if larger else 'smaller'} one: "
                + (
                    "it takes the whole message."
                    if larger
                    else "when it moves a little, the output stands still."
                )
            )  # fmt: skip
            wrong = [
                Mistake(0 if larger else g, f"`maximum` sends the whole message to the larger operand. That is `{name if larger else other}`; the other gets 0."),
                Mistake(g / 2, f"`maximum` halves the message only if both operands are equal. Here `{name if larger else other}` is larger and takes all of it."),
                Mistake(max(a, b), "That is the value of the node. It sends on the message that comes in."),
            ]  # fmt: skip
        else:
            why = (
                f"`a` is multiplied by 1 / `b`: {g} / {b}."
                if name == "a"
                else f"The rule is minus the message times `a / b**2`: `{-g} * {a} / {b * b}`."
            )  # fmt: skip
            wrong = (
                [Mistake(g * b, "The swap is for products. In `a / b` the operand `a` is multiplied by 1 / `b`."), Mistake(slope, f"That is the local derivative. The message {g} multiplies it.")]
                if name == "a"
                else [Mistake(-truth, "When `b` grows, `a / b` shrinks. A minus is missing."), Mistake(slope, f"That is the local derivative. The message {g} multiplies it.")]
            )  # fmt: skip
        parts.append(Part(f"to {name}", truth, why, wrong))
    return Question(
        f"The message {g} comes in at the node of `y`. What does it send to `a`, and to `b`?", program, parts
    )


def function(rng: random.Random, level: int) -> Question:
    """What a node with one operand sends."""
    a, g, k = rng.randint(2, 9), rng.randint(2, 12), rng.randint(2, 9)
    code = rng.choice({
        1: [f"{k} * a", f"a * {k}", "a ** 2"], 2: ["a ** 2", "a ** 3", f"{k} * a", f"a / {k}"], 3: ["a ** 3", "a * a", "relu", f"a / {k}"],
        4: ["relu", "a * a", f"{k} / a"], 5: ["a * a * a", "relu", f"{k} / a", "1 / a"],
    }[level])  # fmt: skip
    if code == "relu" or level > 2:
        a = rng.choice([-1, 1]) * a
    if code.endswith(" / a"):
        a = rng.choice([2, 4, 5, 8, 10])
        g = rng.randint(1, 40)
        k = 1 if code == "1 / a" else k
    if level > 3 or (level > 1 and rng.random() < 0.3):
        g = -g
    line = "torch.relu(a)" if code == "relu" else code
    program = Program(leaf("a", a), f"y = {line}", f"y.backward(torch.tensor({float(g)}))")
    truth, slope = program["a.grad"], program[f"a.grad / {g}"]
    local = Mistake(slope, f"That is the local derivative. The message {g} multiplies it.")
    if code == "relu":
        why = (
            f"`a` is {'positive: the message passes' if a > 0 else 'negative: the curve is flat there'}."
        )  # fmt: skip
        wrong = [
            Mistake(0 if a > 0 else g, "`relu` lets the message through where `a` is positive. Elsewhere it sends 0."),
            Mistake(g * a, "`relu` does not multiply by `a`. Its slope is 1 or 0."),
        ]  # fmt: skip
    elif code in (f"{k} * a", f"a * {k}", f"a / {k}"):
        divides = "/" in code
        per = f"1 / {k}" if divides else f"{k}"
        why = f"The slope of `{code}` is {per} everywhere, and the message {g} multiplies it."
        wrong = [
            local,
            Mistake(g * a, f"That is the message times the value. The slope of `{code}` is {per}, whatever `a` is."),
            Mistake(g * k, f"`a` is divided by {k}, and so is the message.") if divides
            else Mistake(g * a * k, "That is the message times `y`. It is scaled by the slope."),
        ]  # fmt: skip
    elif code.endswith(" / a"):
        why = f"The rule is minus {'the message' if k == 1 else f'{k} times the message'} over `a ** 2`: {show(-k * g)} / {a * a}."
        wrong = [local, Mistake(-truth, f"When `a` grows, `{code}` shrinks. A minus is missing."), Mistake(k * g / a, f"That is the message times the value. The slope of `{code}` is minus {k} over `a ** 2`.")]  # fmt: skip
    else:
        power = {"a ** 2": 2, "a ** 3": 3, "a * a": 2, "a * a * a": 3}[code]
        why = f"The slope of `{code}` is {power} times {show(a ** (power - 1))}, and the message {g} multiplies it."
        wrong = [
            local,
            Mistake(g * a**power, "That is the message times the value. It is scaled by the slope."),
            Mistake(g * a ** (power - 1), f"The factor {power} is missing: the slope is {power} times `a` to the power of {power - 1}.")
            if "**" in code
            else Mistake(g * a ** (power - 1), f"`a` stands there {'twice' if power == 2 else f'{power} times'}, and each of them gets a message. They are added."),
        ]  # fmt: skip
    return Question(
        f"The message {g} comes in at `y`. What arrives at `a`?",
        program,
        [Part("arrives at a", truth, why, wrong)],
    )


def chain(rng: random.Random, level: int) -> Question:
    """The messages on the edges of a chain."""
    x, k, c, w = rng.randint(1, 3), rng.randint(2, 4), rng.randint(1, 9), rng.randint(3, 6)
    middle = "v = u ** 2" if level < 4 else "v = u * u"
    lines = [f"u = x * {k}", middle, f"loss = v * {w}"]
    if level % 2 == 0:
        lines[0] = f"u = x - {c}" if rng.random() < 0.5 else f"u = {c} - x"
    if level > 2:
        lines = [lines[0], f"t = u + {c}", middle.replace("u", "t"), lines[2]]
    program = Program(leaf("x", x), *lines, "loss.backward()")
    graph = Graph(program.trace, "loss")
    inside = "t" if level > 2 else "u"
    at_u = graph.received("u")
    does = (
        f"multiplies by {k}"
        if "*" in lines[0]
        else "turns the sign"
        if lines[0].endswith("- x")
        else "sends it on as it is"
    )
    by_sign = Mistake(-graph.received("x"), f"Look at the sign of `x` in `{lines[0]}`.")
    by_factor = Mistake(at_u, f"That is what the node of `u` gets. It sends on {k} times as much.")
    parts = [
        Part("v gets", graph.received("v"), f"The node of `loss` multiplies by {w}.", [
            Mistake(1, f"1 is what the node of `loss` gets. It sends on {w} times as much."),
            Mistake(program["v"], "That is the value of `v`. The question is what arrives at its node."),
        ]),
        Part(f"{inside} gets", graph.received(inside), f"The slope of the square is two times {show(program[inside])}, and {w} comes in.", [
            Mistake(program[f"2 * {inside}"], f"That is the local derivative. The message {w} multiplies it."),
            Mistake(program[f"{w} * {inside}"], "The square has the slope two times what is squared. The 2 is missing."),
            Mistake(program[f"{w} + 2 * {inside}"], "On the way a node multiplies the message by its own factor. It does not add it."),
        ]),
        Part("x gets", graph.received("x"), f"`u` gets {show(at_u)}, and the node of `u` {does}.", [
            by_sign if "-" in lines[0] else by_factor,
            Mistake(program["loss"], "That is the value of `loss`. The question is what arrives at `x`."),
        ]),
    ]  # fmt: skip
    return Question(
        "`loss.backward()` starts with the message 1. What arrives at these tensors?", program, parts
    )


KINDS = [node, function, chain]
