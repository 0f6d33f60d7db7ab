"""Practice for notebook 07: what each switch cuts, and where a gradient gets lost."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, leaf, show


def path(rng: random.Random, level: int) -> Question:
    """A formula in which a part is detached: None, or a number."""
    x, k, j = rng.randint(2, 9 if level < 4 else 5), rng.randint(2, 9), rng.randint(2, 5)
    cut = rng.choice({
        1: ["x * x.detach()", "x.detach() * x", f"{k} * x * x.detach()", f"x * x.detach() + {k}"],
        2: ["x * x.detach() + x", f"x.detach() * {k} + x", f"x * x.detach() + {k} * x", f"{k} * x - x.detach()"],
        3: [f"(x * {k}).detach() * x", f"x * x.item() + {k} * x", f"(x * x).detach() + {k} * x", f"(x + {k}).item() * x", f"{j} * x * x.detach() + {k} * x"],
        4: ["x * x * x.detach()", f"(x * x).item() * x + {k} * x", f"{k} * x * x + x * x.detach()", f"(x + {k}) * x.detach() - {j} * x"],
        5: ["(x * x).detach() * x * x", f"(x - {k}) * (x * x).detach() + x * x", f"(x * {j}).item() * (x + {k}) + x * x", f"{j} * x * x * x.detach() - {k} * x"],
    }[level])  # fmt: skip
    nothing = level > 1 and rng.random() < 0.2
    if nothing:
        cut = rng.choice(
            [f"(x * {k}).detach() + {j}", f"x.detach() * {k} - {j}", f"x.item() * {k} + x.detach() * {j}"]
        )
    whole = cut.replace(".detach()", "").replace(".item()", "")
    program = Program(
        leaf("x", x), f"y = {cut}", "if y.requires_grad:\n    y.backward()" if level > 1 else "y.backward()"
    )
    full = Program(leaf("x", x), f"y = {whole}", "y.backward()")["x.grad"]
    truth = program["x.grad"]
    tool = " and ".join(one for one in ("item()", "detach") if one in cut)
    tools = f"`{tool}`".replace(" and ", "` and `")
    wrong = [Mistake(full, f"That is the gradient without {tools}. What is cut off is a constant: nothing flows through it.", "M17" if tool.startswith("item") else "M16")]  # fmt: skip
    if nothing:
        wrong.append(
            Mistake(0, "No way leads from `y` to `x`, so there is no gradient: None, and not zero.", "M11")
        )
        why = "Every way to `x` is cut."
    else:
        wrong += [
            Mistake(0, f"{tools} cuts one value off, not the whole line: the rest still moves with `x`.", "M16"),
            Mistake(None, f"{tools} cuts one value off, not the whole line. A way to `x` is left open.", "M16"),
            Mistake(program["y"], "That is the value of `y`, not the gradient."),
        ]  # fmt: skip
        why = f"What is cut off counts as a number. The rest gives {show(truth)}."
    return Question("What is `x.grad`: a number, or `None`?", program, [Part("x.grad", truth, why, wrong)])


def switch(rng: random.Random, level: int) -> Question:
    """Which of two parameters gets which gradient."""
    p, q, k = rng.randint(2, 4), rng.randint(2, 5), rng.randint(3, 6)
    ways = {
        "plain": [f"state = p * {k}", "y = state * q"],
        "detach": [f"state = p * {k}", "y = state.detach() * q"],
        "frozen": ["q.requires_grad_(False)", f"state = p * {k}", "y = state * q"],
        "no_grad": [f"state = p * {k}", "with torch.no_grad():\n    y = state * q"],
        "before": ["with torch.no_grad():\n    " + f"state = p * {k}", "y = state * q"],
        "frozen p": ["p.requires_grad_(False)", f"state = p * {k}", "y = state * q"],
        "late": [f"state = p * {k}", "y = state * q", "q.requires_grad_(False)"],
    }
    names = {1: ["detach", "plain"], 2: ["detach", "frozen", "plain"], 3: ["frozen", "before", "detach"], 4: ["no_grad", "before", "frozen p", "detach"], 5: ["late", "no_grad", "before", "frozen"]}  # fmt: skip
    way = rng.choice(names[level])
    program = Program(leaf("p", p), leaf("q", q), *ways[way], "if y.requires_grad:\n    y.backward()")
    to_p, to_q = k * q, k * p
    said = {
        "plain": ("Nothing is cut.", "Nothing is cut."),
        "detach": ("`detach` cuts the way back to `p`.", "`q` is used behind the cut, and gets its gradient."),
        "frozen": ("The gradient flows through what is frozen, on to `p`.", "`q` is frozen: it requires no gradient."),
        "no_grad": ("Nothing was recorded when `y` was made, so backward has nowhere to start.", "Nothing was recorded when `y` was made, so backward has nowhere to start."),
        "before": ("`state` was made while recording was off. No way leads to `p`.", "`q` is used while recording is on, and gets its gradient."),
        "frozen p": ("`p` is frozen: it requires no gradient.", "`q` is not frozen, and gets its gradient."),
        "late": ("The way to `p` is open.", "The product still sends to `q`. But `q` requires no gradient when the message comes, so it takes nothing."),
    }[way]  # fmt: skip
    parts = []
    for name, number, why in (("p", to_p, said[0]), ("q", to_q, said[1])):
        truth = program[f"{name}.grad"]
        other = to_q if name == "p" else to_p
        wrong = [
            Mistake(number, why, "M16") if truth is None else Mistake(None, why, "M16"),
            Mistake(
                0,
                "No gradient is not a gradient of zero: there is no way to it, so it is None."
                if truth is None
                else why,
                "M11" if truth is None else "M16",
            ),
        ]
        if truth is not None:
            wrong.append(
                Mistake(other, f"That is what goes to the other factor. `{name}` gets {show(number)}.")
            )
        parts.append(Part(f"{name}.grad", truth, why, wrong))
    return Question("What is the gradient of each: a number, or `None`?", program, parts)


def requires(rng: random.Random, level: int) -> Question:
    """Which results require a gradient."""
    k = rng.randint(2, 5)
    pool = {
        "b": (f"b = w * {k}", "`w` requires a gradient, and recording is on.", "It is computed from `w`, and recorded.", ""),
        "c": (f"c = w.detach() * {k}", "`detach` gives a constant.", "`detach` gives a tensor that is cut off: what is made of it alone requires no gradient.", "M16"),
        "d": (f"with torch.no_grad():\n    d = w * {k}", "It is made while recording is off.", "Under `no_grad` nothing is recorded, whatever the operands require.", "M16"),
        "e": ("e = torch.tensor(w.item()) + 1", "A number that went through Python has lost its history.", "`item()` hands out a plain number. The new tensor knows nothing of `w`.", "M17"),
        "f": ("f = d * w", "One operand that requires a gradient is enough.", "Outside of `no_grad` it is recorded again, and `w` requires a gradient.", "M16"),
        "g": ("g = torch.round(w)", "Its gradient is zero everywhere, but it is recorded.", "`round` is recorded like other operations. Its gradient is a zero.", "M11"),
        "h": (f"h = c * {k}", "`c` requires no gradient.", "`c` is a constant, and so is what is made of it.", "M16"),
    }  # fmt: skip
    names = rng.sample({1: "bc", 2: "bcd", 3: "bcdef", 4: "cdefgh", 5: "defgh"}[level], min(level + 1, 4))
    needed = {*names, *("d" if "f" in names else ""), *("c" if "h" in names else "")}
    program = Program(leaf("w", rng.randint(2, 5)), *(pool[name][0] for name in sorted(needed)))
    parts = []
    for name in sorted(names):
        truth = program[f"{name}.requires_grad"]
        _, why, says, id = pool[name]
        parts.append(Part(name, truth, why, [Mistake(not truth, says, id)], offered=True))
    return Question("Which of these require a gradient?", program, parts, graph="never")


KINDS = [path, switch, requires]
