"""Practice for notebook 06: second passes, what is saved, and a state that drags its past along."""

from __future__ import annotations

import random

from .question import Mistake, Part, Program, Question, bank, leaf, show

FREED = "The first call frees the saved values, and the second needs them."


def second(rng: random.Random, level: int) -> Question:
    """Two calls of backward on one result: a number, or an error."""
    a, k, c = rng.randint(2, 12), rng.randint(2, 12), rng.randint(2, 12)
    keeps = level > 2 and rng.random() < 0.4
    product, products = (
        "The node of the product saves its factors",
        "The nodes of the products save their factors",
    )
    square, power = "The node of the square saves what is squared", "The node of the power saves `a`"
    code, saves = rng.choice({
        1: [(f"a + a + {k}", ""), ("a * a", product), (f"a - {k}", ""), (f"a + {k}", ""), (f"a * a + {k}", product)],
        2: [(f"a + {k} - {c}", ""), (f"a ** 2 + {k}", square), (f"{k} - a", ""), (f"a * a - {k}", product)],
        3: [(f"a + a + a - {k}", ""), (f"a * a * a - {k}", products), (f"{k} - a - a", ""), (f"a ** 3 + {k}", power)],
        4: [(f"(a + {k}) * a", product), (f"a - {k} + a", ""), (f"(a + a) - {k} - {c}", ""), (f"(a + {k}) * (a - {c})", product)],
        5: [(f"(a - {k}) ** 2 + {c}", square), (f"a - (a - {k}) + a + {c}", ""), (f"(a + a) * (a - {k})", product)],
    }[level])  # fmt: skip
    flag = "retain_graph=True" if keeps else ""
    program = Program(leaf("a", a), f"y = {code}", f"y.backward({flag})", "y.backward()")
    truth = program.outcome("a.grad")
    one = Program(leaf("a", a), f"y = {code}", "y.backward()")["a.grad"]
    if truth == "error":
        why = f"{saves}. {FREED}"
        wrong = [
            Mistake(2 * one, FREED + " So there is no second gradient.", "M12"),
            Mistake(one, "The second call does not end quietly: it needs what the first has freed.", "M10"),
        ]
    else:
        kept = (
            "`retain_graph=True` has kept the saved values." if keeps and saves else "These nodes save nothing that could be missing."
        )  # fmt: skip
        why = f"{kept} Each call adds {show(one)}."
        wrong = [
            Mistake("error", kept, "M13")
            if keeps and saves
            else bank("06.2", "Not every second call fails: the graph itself stays", "error"),
            Mistake(one, f"The second call does not overwrite: it adds its {show(one)}.", "M10"),
        ]
    return Question(
        "What is `a.grad` at the end, or is there an `error`?",
        program,
        [Part("a.grad", truth, why, wrong, offered=True)],
    )


def shared(rng: random.Random, level: int) -> Question:
    """Two results that share a part of the graph."""
    a, k, m = rng.randint(2, 4), rng.randint(2, 4), rng.randint(5, 7)
    h = rng.choice(["a * a", "a + a", "a ** 2", f"a + {k}"] if level > 1 else ["a * a", "a + a"])
    sign = "*" if level < 3 else rng.choice("*+")
    flag = "retain_graph=True" if level > 1 and rng.random() < 0.35 else ""
    both = level > 3 and rng.random() < 0.5
    program = Program(
        leaf("a", a), f"h = {h}", f"first = h {sign} {k}", f"second = h * {m}",
        *(["(first + second).backward()"] if both else [f"first.backward({flag})", "second.backward()"]),
    )  # fmt: skip
    truth = program.outcome("a.grad")
    alone = [
        Program(leaf("a", a), f"h = {h}", line, f"{name}.backward()")["a.grad"]
        for name, line in (("first", f"first = h {sign} {k}"), ("second", f"second = h * {m}"))
    ]
    total = sum(alone)
    if truth == "error":
        why = "The node of `h` saves its operands, and the first call has freed them. The second call stops there."
        wrong = [
            Mistake(total, "Both calls go through the node of `h`. The first frees what it has saved, and nothing tells it to keep that.", "M12"),
            Mistake(alone[0], "The second call does not end quietly: it stops with an error at the node of `h`."),
        ]  # fmt: skip
    else:
        reason = (
            "One call goes through `h` once, with the sum of two messages."
            if both
            else "`retain_graph=True` keeps what the node of `h` has saved."
            if flag and h not in ("a + a", f"a + {k}")
            else "The node of `h` has saved nothing, so nothing is missing."
        )
        why = f"{reason} The gradient is {show(alone[0])} + {show(alone[1])}."
        wrong = [
            Mistake("error", reason, "M12"),
            Mistake(alone[1], "The gradient that comes through `first` is added. It is not replaced.", "M10"),
        ]
    return Question(
        "What is `a.grad` at the end, or is there an `error`?",
        program,
        [Part("a.grad", truth, why, wrong, offered=True)],
    )


def saved(rng: random.Random, level: int) -> Question:
    """How many tensors the nodes save."""
    pool = [("a * b", 2, "the product saves both factors"), ("a + b", 0, "the sum saves nothing"), ("a * k", 1, "of the product with the constant only `k` is saved"), ("torch.exp(a)", 1, "`exp` saves its result"), ("b - a", 0, "the difference saves nothing"), ("torch.tanh(b)", 1, "`tanh` saves its result"), ("b ** 2", 1, "the square saves `b`")]  # fmt: skip
    chosen = rng.sample(pool, 1 + (level + 1) // 2)
    lines = [f"{name} = {one[0]}" for name, one in zip("pqrst", chosen, strict=False)]
    program = Program(
        leaf("a", rng.randint(1, 3)), leaf("b", rng.randint(1, 3)), "k = torch.tensor(5.0)", *lines
    )
    truth = sum(len(node["saved"]) for node in program.trace.nodes)
    operands = sum(len(node["inputs"]) for node in program.trace.nodes)
    told = "; ".join(f"`{name}`: {one[2]}" for name, one in zip("pqrst", chosen, strict=False))
    wrong = [
        Mistake(operands, "Not every operand is kept. A node saves only what its rule needs."),
        Mistake(0, "Backward has not been called, but the nodes are there already, and saved what they need when they were made.", "M02"),
    ]  # fmt: skip
    if level > 2:
        wrong.append(
            Mistake(len(chosen), "Some rules need two numbers, and some need none. Go through them one by one.")
        )  # fmt: skip
    return Question(
        "How many tensors do the nodes of these lines save, in all?",
        program,
        [Part("saved", truth, f"{told[0].upper()}{told[1:]}.", wrong)],
        graph="never",
    )


def turns(rng: random.Random, level: int) -> Question:
    """How far a backward pass goes in a loop that carries a state."""
    n = rng.randint(3, 4 + 2 * level)
    every = rng.choice({1: [0], 2: [0, 1], 3: [0, 1], 4: [0, 1, 2, 3], 5: [0, 2, 3, 4]}[level])
    each, body = rng.choice(
        [(1, "h = h * w"), (1, "h = w * h"), (1, "h = h + w"), (1, "h = h - w")]
        if level < 4
        else [
            (2, "h = h * w + 1"),
            (2, "h = h * w + h"),
            (2, "h = (h * w).tanh()"),
            (3, "h = (h * w + 1).tanh()"),
        ]
    )
    program = Program(
        leaf("w", rng.choice([0.2, 0.5, 0.8, 1.5, 2.0])),
        "h = torch.tensor(1.0)",
        f"for turn in range({n}):",
        "" if every < 2 else f"    if turn % {every} == 0:",
        "" if not every else "    h = h.detach()" if every == 1 else "        h = h.detach()",
        f"    {body}",
        "    h.backward(retain_graph=True)",
    )
    passes = [k for k, e in enumerate(program.trace) if e["k"] == "backward"]
    last = program.trace.events[passes[-1] :]
    truth = sum(event["k"] == "vjp" for event in last)
    nodes = ("one node", "two nodes", "three nodes")[each - 1]
    if every > 1:
        begins = (n - 1) // every * every
        back = n - begins
        why = f"`detach` last cut the state loose where `turn` was {begins}. From there to the end {'is 1 turn' if back == 1 else f'are {back} turns'}, with {nodes} each."
        wrong = [
            Mistake(each * n, "That would be the way through all turns. `detach` cuts it off.", "M14"),
        ]  # fmt: skip
        if back > 1:
            wrong.append(Mistake(each, f"Not every turn detaches: only where `turn % {every}` is 0."))
        if back < every:
            wrong.append(
                Mistake(
                    each * every,
                    f"You counted {every} turns, from one `detach` to the next. The last stretch has {back} so far.",
                )
            )
    elif every:
        why = f"`detach` cuts the state loose where a turn begins, so each pass visits the {nodes} of its own turn."
        wrong = [
            Mistake(each * n, "That would be the way through all turns. `detach` cuts it off where a turn begins.", "M14"),
            Mistake(each * (n - 1), "Nothing of the turns before is left behind `h`: it was detached."),
        ]  # fmt: skip
    else:
        why = f"The state carries its history along: turn {n} goes back through all {n} turns, with {nodes} each."
        wrong = [
            Mistake(each, "`retain_graph=True` silences the error, but `h` still carries its history. The pass goes through the turns before as well.", "M14"),
            Mistake(each * (n - 1), f"The turn of its own counts as well: {n} turns."),
        ]  # fmt: skip
    return Question(
        f"How many operations does the backward pass of the last turn, turn {n}, visit?",
        program,
        [Part("visited", truth, why, wrong)],
        graph="never",
    )


KINDS = [second, shared, saved, turns]
