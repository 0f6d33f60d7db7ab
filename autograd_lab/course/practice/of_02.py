"""Practice for notebook 02: nodes and edges of a graph, and what leaves no record."""

from __future__ import annotations

import random
from typing import Any

from .question import Mistake, Part, Program, Question, RedrawError, bank, constant, leaf

NAMES = "cdef"


def _grown(rng: random.Random, lines: int) -> Program:
    """A program of a leaf `a`, a constant `k` and some lines, each of which uses the one before."""
    known, code = ["a", "k"], [leaf("a", rng.randint(1, 4)), constant("k", rng.randint(2, 5))]
    for i in range(lines):
        pair = [known[-1] if i else "a", rng.choice(known)]
        rng.shuffle(pair)
        sign = rng.choice("*+" if pair[0] == pair[1] else "*+-")
        code.append(f"{NAMES[i]} = {pair[0]} {sign} {pair[1]}")
        known.append(NAMES[i])
    return Program(*code)


def _behind(trace: Any, root: str) -> list[int]:
    """The nodes that a tensor leads to, its own first."""
    nodes = [next(t["node"] for t in trace.tensors if t["name"] == root)]
    for node in nodes:
        nodes += [edge[0] for edge in trace.nodes[node]["edges"] if edge is not None and edge[0] not in nodes]
    return nodes


def nodes(rng: random.Random, level: int) -> Question:
    """How many nodes a tensor leads to."""
    program = _grown(rng, 1 + (level + 1) // 2)
    trace, root = program.trace, NAMES[(level + 1) // 2]
    behind = [*dict.fromkeys(_behind(trace, root))]
    edges = [edge for n in behind for edge in trace.nodes[n]["edges"]]
    ends = sum(edge is None for edge in edges)
    to_a = sum(edge is not None and trace.nodes[edge[0]]["kind"] == "accumulate" for edge in edges)
    truth = len(behind)
    if not ends or (level > 2 and to_a < 2):
        raise RedrawError("no constant, or no leaf that is used twice")
    wrong = [
        Mistake(truth + 1, "The constant `k` has no mailbox: nobody wants its gradient. Its edge is a dead end.", "M03"),
        Mistake(truth - 1, "The mailbox of `a` is a node as well: `AccumulateGrad`."),
    ]  # fmt: skip
    if level > 2:
        wrong.append(
            Mistake(
                truth + to_a - 1 + ends,
                "You counted a node at the end of each edge. All edges to `a` lead to one mailbox, and those to `k` lead nowhere.",
                "M04",
            )
        )
    why = f"A node for each operation, {truth - 1} in all, and one mailbox for `a`. `k` has none."
    return Question(
        f"How many nodes does `{root}` lead to, `{root}.grad_fn` and mailboxes included?",
        program,
        [Part("nodes", truth, why, wrong)],
        graph="after",
    )


def edges(rng: random.Random, level: int) -> Question:
    """The two edges of a node."""
    program = _grown(rng, 1 + level // 2)
    trace, root = program.trace, NAMES[level // 2]
    node = trace.nodes[_behind(trace, root)[0]]
    truth = ["None" if edge is None else trace.nodes[edge[0]]["name"] for edge in node["edges"]]
    line = program.code.splitlines()[-1]
    operands = line.split(" = ")[1].split()[::2]
    wrong = [Mistake(truth[::-1], "Edges stand in the order of the operands: first the one on the left.")]
    if "None" in truth:
        has_all = ["AccumulateGrad" if one == "None" else one for one in truth]
        wrong.append(bank("02.2", "A constant has no accumulator", has_all))
    else:
        same = ", also if both are the same" if len({*operands}) == 1 else ""
        wrong.append(Mistake([truth[0]], f"There is one edge for each operand{same}."))
    own = node["name"]
    wrong.append(Mistake([own if one != own else "None" for one in truth], f"`{own}` is the node of `{root}` itself. Its edges lead to where its operands come from."))  # fmt: skip
    told = [
        f"`{operand}` comes from {'no node: it is a constant' if name == 'None' else f'`{name}`'}"
        for operand, name in dict(zip(operands, truth, strict=True)).items()
    ]
    return Question(
        f"To which nodes do the edges of `{root}.grad_fn` lead? `None` is a dead end.",
        program,
        [Part("edges", truth, f"{' and '.join(told)}.", wrong, offered=True)],
        graph="after",
    )


def history(rng: random.Random, level: int) -> Question:
    """Which tensors have a grad_fn."""
    k = rng.randint(2, 5)
    pool = {
        "b": f"b = a * {k}",
        "c": rng.choice(["c = k * k", "c = k + 1", f"c = {k} - k"]),
        "d": rng.choice(["d = c + a", "d = a * c", "d = c - a"]),
        "e": "with torch.no_grad():\n    e = a * k",
        "f": rng.choice(["f = e + 1", "f = e * e"]),
        "g": "k2 = torch.tensor(3.0)\ng = k2 * k2\nk2.requires_grad_()",
    }
    names = rng.sample({1: "bc", 2: "bcd", 3: "bcde", 4: "bcdef", 5: "cdefg"}[level], min(level + 1, 4))
    needed = {*names, *("c" if "d" in names else ""), *("e" if "f" in names else "")}
    program = Program(
        leaf("a", rng.randint(1, 4)), constant("k", k), *(pool[name] for name in sorted(needed))
    )
    said = {
        "b": ("`a` requires a gradient, so the product is recorded.", "The graph is not made by `backward`. Each operation records itself when it runs.", "M02"),
        "c": ("`k` does not require a gradient, so nothing is recorded.", "`k` does not require a gradient, so nothing is recorded here: no node, not even a zero one.", "M03"),
        "d": ("`a` requires a gradient. One operand is enough.", "One operand that requires a gradient is enough for it to be recorded.", ""),
        "e": ("It is made while recording is off.", "`a` requires a gradient, but under `no_grad` nothing is recorded.", "M16"),
        "f": ("`e` has no history, and does not require a gradient.", "`e` was made while recording was off. Outside, it is a constant.", "M16"),
        "g": ("The product ran before `k2` required a gradient.", "`requires_grad_()` works from its line on. The product ran before it.", "M05"),
    }  # fmt: skip
    parts = []
    for name in sorted(names):
        truth = program[f"{name}.grad_fn is not None"]
        why, says, id = said[name]
        parts.append(Part(name, truth, why, [Mistake(not truth, says, id)], offered=True))
    return Question("Which of these tensors have a `grad_fn`?", program, parts, graph="after")


KINDS = [nodes, edges, history]
