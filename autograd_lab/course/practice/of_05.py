"""Practice for notebook 05: which tensor keeps which gradient, what a second pass does, and what a leaf is."""

from __future__ import annotations

import random

from .engines import Graph
from .question import Mistake, Part, Program, Question, bank, constant, leaf, show


def who(rng: random.Random, level: int) -> Question:
    """Which tensor has which gradient: None, or a number."""
    w, k, c = rng.randint(1, 4), rng.randint(2, 5), rng.randint(1, 4)
    retain = level > 2 and rng.random() < 0.5
    unused = level > 1
    zero = level > 3
    program = Program(
        leaf("w", w), constant("k", k), leaf("c", c) if unused else "", leaf("z", 2) if zero else "",
        rng.choice(["h = w * k", "h = k * w"]) if level < 5 else "h = w * k + w",
        "h.retain_grad()" if retain else "",
        f"loss = h * {rng.choice(['w', 'h'])}" + (" + z * 0" if zero else ""),
        "loss.backward()",
    )  # fmt: skip
    graph = Graph(program.trace, "loss")
    grad = program["w.grad"]
    at_h = graph.received("h")
    parts = [
        Part("w.grad", grad, graph.told("h", "w"), [
            Mistake(None, "`w` is a leaf that requires a gradient, and the loss was computed from it.", "M11"),
            Mistake(graph.keeps("last")[graph.node("w")], "Several messages meet on the way. They are added, and you kept the last one.", "M07"),
        ]),
        Part("k.grad", program["k.grad"], "`k` does not require a gradient, so nothing is computed for it.", [
            bank("05.1", "k does not require a gradient: nothing is computed", at_h * w),
            Mistake(0, "A constant gets no gradient, not even a zero one.", "M03"),
        ]),
        Part("h.grad", program["h.grad"], "`h.retain_grad()` was called before backward, so `h` keeps its gradient." if retain else "`h` is not a leaf, and nobody asked it to keep its gradient.", [
            bank("05.1", "h was asked to retain its gradient", None)
            if retain
            else Mistake(at_h, "A gradient passes by at `h`. But `h` is not a leaf, and nobody asked it to keep it.", "M08"),
            Mistake(0, "There is no gradient of zero here: either `h` keeps what passes, or it has none.", "M11"),
        ]),
    ]  # fmt: skip
    if unused:
        parts.append(
            Part("c.grad", program["c.grad"], "The loss does not use `c`: there is no path to it, so there is no gradient.", [
                Mistake(0, "Zero would mean that the loss was computed from `c`. There is no path to `c` at all: None.", "M11"),
            ])
        )  # fmt: skip
    if zero:
        parts.append(
            Part("z.grad", program["z.grad"], "There is a path to `z`, and its factor is 0: the gradient is a zero that was computed.", [
                Mistake(None, "The loss uses `z`, so there is a path. The gradient that comes along it is 0.", "M11"),
                Mistake(1, "`z` is multiplied by 0, and that is its local derivative."),
            ])
        )  # fmt: skip
    return Question(
        "What is the gradient of each? Write a number, or `None`.",
        program,
        parts[1:] if level > 4 else parts[: 2 + min(level, 2)],
    )


def twice(rng: random.Random, level: int) -> Question:
    """What several passes leave in .grad."""
    x, k, n = rng.randint(1, 4), rng.randint(2, 5), rng.randint(2, 4)
    first = rng.choice([f"x * {k}", "x * x", f"{k} * x * x"])
    second = rng.choice([f"x * {k + 1}", "x * x * x", f"x + {k}"])
    clear = "x.grad = None"
    lines = {
        1: [f"({first}).backward()", f"({first}).backward()"],
        2: [f"for _ in range({n + 1}):", f"    ({first}).backward()"],
        3: [f"({first}).backward()", f"({second}).backward()"],
        4: [f"({first}).backward()", clear, f"({second}).backward()"],
        5: [f"({first}).backward()", f"({second}).backward()", clear, f"for _ in range({n}):", f"    ({first}).backward()"],
    }[level]  # fmt: skip
    program = Program(leaf("x", x), *lines)
    truth = program["x.grad"]
    one = Program(leaf("x", x), f"({first}).backward()")["x.grad"]
    two = Program(leaf("x", x), f"({second}).backward()")["x.grad"]
    last = two if level in (3, 4) else one
    if level == 4:
        wrong = [
            Mistake(one + two, "You went on adding. Before the second pass `.grad` was set to None: it starts again from nothing.", "M10"),
            Mistake(one, "That is the gradient of the first pass. It was cleared before the second."),
        ]  # fmt: skip
        why = (
            f"The first pass leaves {show(one)}. Then `.grad` is cleared, and the second pass leaves {show(two)}."
        )  # fmt: skip
    else:
        wrong = [
            Mistake(last, f"A pass does not overwrite: it adds its {show(last)} to what is there.", "M10")
        ]
        total = one * n
        if level == 5:
            wrong.append(
                Mistake(
                    one + two + total,
                    "You went on adding. Before the loop `.grad` was set to None: it starts again from nothing.",
                    "M10",
                )
            )
            why = f"After the clearing, each of the {n} turns adds {show(one)}."
        elif level == 3:
            wrong.append(
                Mistake(one * two, f"Gradients of two passes are added, not multiplied: {show(one)} + {show(two)}.")
            )  # fmt: skip
            why = f"The first pass leaves {show(one)}, and the second adds {show(two)}."
        else:
            why = f"Each pass adds {show(one)}."
            wrong.append(Mistake(program[first], "That is the value, not the slope."))
    return Question(
        "What is `x.grad` at the end?", program, [Part("x.grad", truth, why, wrong)], graph="never"
    )


def is_leaf(rng: random.Random, level: int) -> Question:
    """Which tensors are leaves."""
    pool = {
        "h": (f"h = w * {rng.randint(1, 5)}", "It was computed from `w`, and that was recorded.", "A leaf is a tensor without history. `h` has one: it was computed from `w`."),
        "m": (f"m = k * {rng.randint(2, 9)}", "It was computed, but nothing was recorded: `k` does not require a gradient.", "`k` requires no gradient, so nothing was recorded and `m` has no history. It is a leaf."),
        "d": ("d = (w * 3).detach()", "`detach` gives a tensor that is cut off from its history.", "`detach` cuts the history off, so it is a leaf, and requires no gradient."),
        "p": ("p = torch.tensor(2.0) * 0.1\np.requires_grad_()", "It asks for a gradient after it was computed, and that was not recorded.", "When it was computed, nothing was recorded. Since then it requires a gradient: a leaf."),
        "q": ("q = torch.tensor(2.0, requires_grad=True) * 0.1", "What it was computed from requires a gradient: it has a history.", "The leaf is the 2.0 in front of it. `q` was computed from that, and has a history."),
        "k": ("", "Nothing made it but you.", "A leaf need not require a gradient. It is a tensor without history."),
        "r": ("r = h + 1\nr.retain_grad()", "It was computed, and that was recorded. `retain_grad` changes nothing of this.", "`retain_grad` makes it keep its gradient, not a leaf."),
    }  # fmt: skip
    chosen = rng.sample({1: "hk", 2: "hmk", 3: "hmdk", 4: "hmdpq", 5: "mdpqr"}[level], min(level + 1, 4))
    needed = {*chosen, "h"} if "r" in chosen else {*chosen}
    lines = [pool[name][0] for name in sorted(needed, key="hmdpqkr".index)]
    program = Program(leaf("w", rng.randint(2, 5)), constant("k", rng.randint(2, 5)), *lines)
    parts = []
    for name in chosen:
        _, why, says = pool[name]
        truth = program[f"{name}.is_leaf"]
        parts.append(Part(f"{name}.is_leaf", truth, why, [Mistake(not truth, says, "M09")], offered=True))
    return Question("Which of these are leaves?", program, parts, graph="after")


KINDS = [who, twice, is_leaf]
