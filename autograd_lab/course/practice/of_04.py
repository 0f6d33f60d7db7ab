"""Practice for notebook 04: gradients where messages meet, the order of the nodes, and being the engine."""

from __future__ import annotations

import random

from .engines import Graph
from .question import Mistake, Part, Program, Question, RedrawError, bank, both, leaf, times

NAMES = "bcdef"
SIGNS = {1: "**+", 2: "**+", 3: "***+-", 4: "**+-", 5: "**+-"}
"""Between two tensors, by level."""


def _grown(rng: random.Random, lines: int, leaves: int = 1, signs: str = "***+-") -> Program:
    """A program in which each line uses the one before, and one of them is used again later; the last line is the loss."""
    known = ["a", "w"][:leaves]
    code = [leaf(name, rng.choice([1, 2, 3])) for name in known]
    used: dict[str, int] = {}
    for i in range(lines):
        name = "loss" if i == lines - 1 else NAMES[i]
        before = known[-1] if i else known[0]
        others = [one for one in known if not used.get(one) and one != before]
        second = rng.choice(others or [*known, "number", "number"])
        if i == lines - 1 and second == "number":
            second = rng.choice(known[:-1])
        if second == "number":
            code.append(f"{name} = {before} {rng.choice('**+')} {rng.randint(2, 5)}")
        else:
            pair = [before, second] if rng.random() < 0.5 else [second, before]
            sign = rng.choice(signs if before != second else "**+")
            code.append(f"{name} = {pair[0]} {sign} {pair[1]}")
            used[second] = 1
        used[before] = 1
        known.append(name)
    return Program(*code, "loss.backward()")


def values(rng: random.Random, level: int) -> Question:
    """The gradient of a leaf to which several paths lead."""
    program = _grown(rng, min(2 + level // 2, 4), 1 + (level == 5), SIGNS[level])
    graph = Graph(program.trace, "loss")
    a = graph.node("a")
    truth = program["a.grad"]
    why = f"{graph.told()} A node sends on when its last message has come."
    if level < 3:
        if graph.senders("a") < 2:
            raise RedrawError("nothing meets")
        wrong = [
            Mistake(graph.keeps("last")[a], "At a tensor with several messages you kept the last one alone. They are added.", "M07"),
            Mistake(graph.adds()[a], "On the way you added. Only messages that meet are added; a node multiplies the message by its own factor."),
            Mistake(program["loss"], "That is the value of `loss`. The question is how much it moves when `a` moves."),
        ]  # fmt: skip
    else:
        meeting = graph.meeting()
        if not meeting:
            raise RedrawError("nothing meets before the leaf")
        b = meeting[0]
        wrong = [
            Mistake(graph.visit_once()[a], f"The node of `{b}` ran at its first message, and the other came too late. It has to wait for {both(graph.senders(b))}.", "M06"),
            Mistake(graph.resend()[a], f"The first message at `{b}` was sent on twice: alone, and again inside the sum. A node has to wait, and to run once.", "M06"),
            Mistake(graph.keeps("last")[a], "At a node with several messages the last one replaced the others. They must be added.", "M07"),
        ]  # fmt: skip
        if level > 3:
            wrong.append(
                Mistake(
                    graph.children_first()[a],
                    f"The node of `{b}` ran before its messages had come, and sent on what was not there yet. A node waits for all of them.",
                    "M06",
                )
            )
    return Question("What is `a.grad`?", program, [Part("a.grad", truth, why, wrong)])


def order(rng: random.Random, level: int) -> Question:
    """The order in which the engine runs the nodes."""
    program = _grown(rng, min(3 + level // 3, 4), 1 + (level % 2 == 0), SIGNS[level])
    graph = Graph(program.trace, "loss")
    truth = graph.ran()
    made = [graph.names[n] for n in sorted(graph.order)]
    wrong = [
        Mistake(graph.by_level(), "Level by level: here a node ran at its first message. It has to wait for all of them.", "M06"),
        Mistake(made, "That is the order in which the lines ran. Backward starts at the loss.", "M06"),
    ]  # fmt: skip
    if level > 2:
        wrong.append(Mistake(graph.depth_first(), "You followed one path to its end first. A node on it was still waiting for another message.", "M06"))  # fmt: skip
    if any(map(graph.waits_in, (mistake.value for mistake in wrong))):
        raise RedrawError("no node ran too early in it, so it is another mistake")
    why = (
        "A node is ready when its last message has come. Of those that are ready, the accumulator of a leaf comes first, "
        "and then the one that was made last."
    )
    return Question(
        "In which order do the nodes run? Call each node by its tensor, and an accumulator by its leaf.",
        program,
        [Part("order", truth, why, wrong)],
        chips=sorted(truth),
    )


def engine(rng: random.Random, level: int) -> Question:
    """What each node runs with: the sums at all of them, from the loss on."""
    program = _grown(rng, 3 if level < 4 else 4, signs=SIGNS[level])
    graph = Graph(program.trace, "loss")
    if not (meeting := graph.meeting()):
        raise RedrawError("nothing meets")
    once, last, twice = graph.visit_once(), graph.keeps("last"), graph.resend()
    first = graph.keeps("first")
    b = graph.node(meeting[0])
    parts = []
    for name in graph.ran()[1:]:
        n, sums = graph.node(name), graph.told(name)
        if name == "a":
            wrong = [
                Mistake(once[n], f"The node of `{graph.names[b]}` ran at its first message, and sent on too little. It has to wait for {both(graph.senders(graph.names[b]))}.", "M06"),
                Mistake(twice[n], f"The node of `{graph.names[b]}` sent its first message on twice: alone, and again inside the sum.", "M06"),
            ]  # fmt: skip
        elif n == b:
            wrong = [
                Mistake(last[n], "Only the last message is left. It does not replace what is there: they are added.", "M07"),
                Mistake(first[n], "That is the first message alone. The node waits for the others, and runs with the sum.", "M06"),
            ]  # fmt: skip
        else:
            own = program[name]
            wrong = [
                Mistake(own, f"That is the value of `{name}`. The question is what arrives at its node.")
            ]
        label = f"{name} gets" if name == "a" else f"{name} runs with"
        parts.append(Part(label, graph.received(name), sums, wrong))
    return Question(
        "Be the engine. The node of `loss` runs first, with 1. With which gradient does each of the others run?",
        program,
        parts,
    )


def counts(rng: random.Random, level: int) -> Question:
    """For how many messages a node waits."""
    program = _grown(rng, min(2 + level, 5), 1 + (level > 3), SIGNS[level])
    graph = Graph(program.trace, "loss")
    name = max((graph.names[n] for n in graph.order[1:]), key=lambda one: (graph.senders(one), rng.random()))
    truth = graph.senders(name)
    goal = graph.node(name)
    users = [graph.names[n] for n in graph.order if any(child == goal for child, _ in graph.edges[n])]
    if truth < 2:
        raise RedrawError("one message only")
    wrong = [Mistake(len(graph.paths(name)), "You counted paths. Messages that meet travel on as one: a node waits for one message from each edge that leads to it.", "M06")] if level > 3 else []  # fmt: skip
    if len(users) < truth:
        wrong.append(bank("04.4", "A node that uses an input twice", len(users)))
    else:
        wrong.append(
            Mistake(
                1,
                f"`{name}` is used {times(truth)}, and each use sends a message.",
                "" if graph.edges[goal] else "M04",
            )
        )
    wrong.append(
        Mistake(
            truth + 1,
            "One too many. Count each place where it stands on the right side of a line, and no other.",
        )
    )
    where = f"the accumulator of `{name}`" if not graph.edges[goal] else f"the node of `{name}`"
    why = f"`{name}` is used by {' and '.join(f'`{u}`' for u in users)}: {times(truth)} in all, and each use has an edge."
    return Question(
        f"For how many messages does {where} wait?",
        program,
        [Part("messages", truth, why, wrong)],
        graph="before" if level < 3 else "after",
    )


KINDS = [values, order, engine, counts]
