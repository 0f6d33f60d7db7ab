# ---
# jupyter:
#   autograd_lab:
#     id: "14"
#     minutes: 45
#     points: 15
# ---

# %% [markdown]
# # 14 · Exercises: a graph captured once
#
# Put your answers in place of the dots and run the check below. `lab.hint("14.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 14.1 · The value worth saving (2 points)
#
# `x` and `w` are large matrices that require a gradient. Both are in memory anyway. There is room to keep **one**
# more value for the way back. If backward needs others, they are computed again. But no matrix product may be
# computed twice.
#
# ```python
# p = x @ w
# s = torch.sin(p)
# t = torch.cos(s)
# loss = t.sum()
# ```
#
# Which one do you keep: `"p"`, `"s"`, `"t"` or `"none"`?

# %%
### BEGIN SOLUTION
keep = "p"
### END SOLUTION
### BEGIN STUB
# keep = ...
### END STUB

# %%
lab.check("14.1", keep)

# %% tags=["item"]
item(
    "14.1",
    kind="predict",
    points=2,
    hints=[
        "Write down the rule of each line. Which numbers of the forward run are in them?",
        "cos needs s, sin needs p. From which of the two can the other be computed without a matrix product?",
        "s is the sine of p. From a sine you do not get back to the angle.",
    ],
    wrong=[
        wrong_answer(
            "s",
            "",
            "The rule of sin is g * cos(p), and you do not get p back from s: many angles have the same sine. The product x @ w would be computed twice.",
        ),
        wrong_answer(
            "t",
            "",
            "No rule reads t: the rule of cos is -g * sin(s), and the rule of the sum is g alone.",
        ),
        wrong_answer(
            "none",
            "",
            "Then p has to come from x @ w again. The rules of sin and cos both need numbers of the forward run.",
        ),
        wrong_answer(
            "x",
            "",
            "x is an argument, and is in memory anyway. Which of the computed values is worth keeping?",
        ),
        wrong_answer(
            "w",
            "",
            "w is an argument, and is in memory anyway. Which of the computed values is worth keeping?",
        ),
        wrong_answer(
            "loss",
            "",
            "The way back begins at the loss, but no rule reads its value: the rule of the sum is g alone. Which number do sin and cos need?",
        ),
    ],
)

# %% [markdown]
# ## 14.2 · What fusing leaves (3 points)
#
# A value that is read **once**, by an elementwise step, gets no name: its step becomes a part of that line. Nobody
# needs a gradient.
#
# ```python
# def f(x, y):
#     a = x * y
#     b = torch.exp(a)
#     c = b + x
#     d = torch.tanh(c) * c
#     return (d - 1).sum(0)
# ```
#
# How many operations does `f` have, and how many lines are left?

# %%
### BEGIN SOLUTION
operations, lines = 7, 3
### END SOLUTION
### BEGIN STUB
# operations, lines = ..., ...
### END STUB
counted = [operations, lines]

# %%
lab.check("14.2", counted)

# %% tags=["item"]
item(
    "14.2",
    kind="number",
    points=3,
    partial=True,
    hints=[
        "An operation is each *, +, -, exp, tanh and sum. Some of them have no variable of their own.",
        "Which results are read twice? Which are read by the sum? These keep their names.",
        "c is read by tanh and by the product. d - 1 is read by the sum. And the sum itself is a line.",
    ],
    wrong=[
        wrong_answer(
            [7, 2],
            "",
            "c is read twice, by tanh and by the product: without a name it would be computed twice.",
            score=1.5,
        ),
        wrong_answer(
            [7, 1],
            "",
            "Not everything is one line: c is read twice, and a sum is not elementwise, so what it reads has a name.",
            score=1.5,
        ),
        wrong_answer(
            [7, 4],
            "",
            "One too many: tanh(c), the product d and d - 1 are each read once, up to the sum. They are one line.",
            score=1.5,
        ),
        wrong_answer(
            [5, 3],
            "",
            "The lines are right. But d = tanh(c) * c are two operations, and so are the difference and the sum.",
            score=1.5,
        ),
        wrong_answer(
            [6, 3],
            "",
            "The lines are right. Count again what happens in the last two lines of f: tanh, a product, a difference, a sum.",
            score=1.5,
        ),
        wrong_answer(
            [5, 5],
            "",
            "A line of Python may hold several operations; fusing goes by operations and by who reads their results.",
            score=0,
        ),
    ],
)

# %% [markdown]
# ## 14.3 · Break a guard (4 points)
#
# `f` is captured with `f(x, 2.0)`, where `x` is a float32 tensor of shape `[3, 4]` that does not require a gradient.
#
# ```python
# SCALE = 10.0
#
# def f(x, k):
#     return (x * k).sum() * SCALE
# ```
#
# For each of these calls: `"holds"` or `"missed"`? Each comes right after the capture.
#
# 1. `f(x + 100, 2.0)`
# 2. `f(x, 2)`
# 3. `f(x.t(), 2.0)`
# 4. `f(x, 2.0)` after `SCALE = 20.0`

# %%
### BEGIN SOLUTION
guards = ["holds", "missed", "missed", "missed"]
### END SOLUTION
### BEGIN STUB
# guards = [..., ..., ..., ...]
### END STUB

# %%
lab.check("14.3", guards)

# %% tags=["item"]
item(
    "14.3",
    kind="predict",
    points=4,
    partial=True,
    hints=[
        "Guards know shapes, number types, flags and Python constants. They do not know the numbers in a tensor.",
        "x.t() has another shape. 2 and 2.0 are equal, but are they the same constant? An int times a tensor may give another type.",
        "SCALE is a constant of the graph, wherever it comes from.",
    ],
    wrong=[
        wrong_answer(
            ["missed", "missed", "missed", "missed"],
            "",
            "In 1 only the numbers in the tensor differ. The graph is made for any numbers: that is its use.",
            score=3,
        ),
        wrong_answer(
            ["holds", "holds", "missed", "missed"],
            "",
            "2 and 2.0 are different constants: an integer times a tensor of integers would give integers.",
            score=3,
        ),
        wrong_answer(
            ["holds", "missed", "holds", "missed"],
            "",
            "x.t() has the shape [4, 3], and the graph was captured for [3, 4].",
            score=3,
        ),
        wrong_answer(
            ["holds", "missed", "missed", "holds"],
            "",
            "SCALE went into the graph as the number 10. If nobody watched it, the old number would be used for ever.",
            score=3,
        ),
        wrong_answer(
            ["holds", "holds", "missed", "holds"],
            "",
            "Every Python constant that the function reaches is guarded, its type too: arguments, globals, and variables of a function around it.",
            score=2,
        ),
    ],
)

# %% [markdown]
# ## 14.4 · Write a pass (6 points)
#
# A graph as plain data: `steps` is a list of `(name, op, operands)`, in the order in which they run, `outputs` a list
# of names. Operands are names of arguments, or of steps before.
#
# ```python
# steps = [("a", "mul", ("x", "y")), ("b", "mul", ("x", "y")), ("c", "add", ("a", "b"))]
# share(steps, ["c"])   # ([("a", "mul", ("x", "y")), ("c", "add", ("a", "a"))], ["c"])
# ```
#
# Write `share`. If several steps compute the same, only the **first** stays. Every step that read one of the others
# now reads the first. "The same" means: the same `op` on the same operands in the same order. One exception: `"rand"`
# draws new numbers each time, so two of them are never the same. The lists you are given must not change.


# %%
### BEGIN SOLUTION
def share(steps, outputs):
    """Compute once what is computed alike; returns (steps, outputs)."""
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        first = seen.get((op, operands)) if op != "rand" else None
        if first is None:
            seen[op, operands] = name
            kept.append((name, op, operands))
        else:
            instead[name] = first
    return kept, [instead.get(one, one) for one in outputs]


### END SOLUTION
### BEGIN STUB
# def share(steps, outputs):
#     """Compute once what is computed alike; returns (steps, outputs)."""
#     ...
### END STUB


# %%
lab.check("14.4", share)

# %% tags=["item"]
item(
    "14.4",
    kind="code",
    hints=[
        "Go through the steps once, in order. Keep a dict from (op, operands) to the name of the first step that computed it.",
        "Before you look a step up, put the first one's name in place of each operand that was left out.",
        "The outputs are names too: one of them may be a step that was left out.",
    ],
)


@probe(points=1)
def one_pair(share):
    "Two equal products"
    return list(share([("a", "mul", ("x", "y")), ("b", "mul", ("x", "y")), ("c", "add", ("a", "b"))], ["c"]))


@probe(points=1)
def a_chain_of_pairs(share):
    "Equal steps that read equal steps"
    steps = [("a", "exp", ("x",)), ("b", "exp", ("x",)), ("c", "neg", ("a",)), ("d", "neg", ("b",)), ("e", "add", ("c", "d"))]  # fmt: skip
    return list(share(steps, ["e", "d"]))


@probe(points=1)
def not_the_same(share):
    "Other operations, another order, random numbers"
    steps = [("a", "sub", ("x", "y")), ("b", "sub", ("y", "x")), ("c", "add", ("x", "y")), ("d", "rand", ()), ("e", "rand", ())]  # fmt: skip
    return list(share(steps, ["a", "b", "c", "d", "e"]))


@shared
def random_graph(seed, names, words, operations, often):
    """A step for each of `words`, on operands out of `names`; `often` of 9 words become names as well."""
    random, names, steps = np.random.RandomState(seed), list(names), []
    for word in words:
        op, count = operations[random.randint(len(operations))]
        steps.append((word, op, tuple(names[random.randint(len(names))] for _ in range(count))))
        names += [word] if random.randint(9) < often else []
    return steps


@probe(points=2, hidden=True, cases=[(0,), (1,), (2,), (3,)])
def random_graphs(share, seed):
    "Random graphs, the lists unchanged: seed {0}"
    words = [f"v{i}" for i in range(25)]
    steps = random_graph(seed, "xy", words, [("mul", 2), ("add", 2), ("sub", 2), ("neg", 1), ("rand", 0)], 2)
    outputs = words[20:]
    before = [list(steps), list(outputs)]
    result = list(share(steps, outputs))
    return [result, [steps, outputs], before]


@probe(points=0.5, hidden=True)
def numbers_from_nowhere(share):
    "Steps without operands that are no random numbers, random numbers with an operand, many operands, words in words; asked twice"
    steps = [("a", "zeros", ()), ("b", "zeros", ()), ("c", "rand", ("x",)), ("d", "rand", ("x",)), ("e", "add", ("b", "d")), ("f", "ones", ()), ("g", "rand", ("b",))]  # fmt: skip
    words = [f"{number:b}"[1:].replace("0", "x").replace("1", "y") for number in range(5, 36)]
    alike = [
        ("and", 2),
        ("sum", 2),
        ("sum", 1),
        ("log", 1),
        ("log2", 1),
        ("grand_mean", 1),
        ("where", 3),
        ("rand", 1),
    ]
    called_alike = [("zeros", "rand", ()), ("a", "zeros", ()), ("b", "rand", ()), ("c", "b", ())]
    growing, last, grown = [], ["b"], [list(share(called_alike, ["a", "c"])), list(share([], ["x"]))]
    for name in "ab":
        growing.append((name, "exp", ("x",)))
        grown.append([list(part) for part in share(growing, last)])
    return (
        [list(share(steps, outputs)) for outputs in (["e", "b", "b"], ["f"])]
        + [list(share([("b", "ones", ())], ["b"]))]
        + grown
        + [list(share([(name, "random_access", ("x", "y")) for name in "ab"], ["a", "b"]))]
        + [list(share([(name, "exp", ("x",)) for name in ("rand", "rand2")], ["rand", "rand2"]))]
        + [list(share(random_graph(57, ["x", "y", "xx"], words, alike, 1), words[-9:]))]
    )


@probe(points=0.5, hidden=True)
def the_last_word(share):
    "An output that was left out, and one that is an argument; two long chains that are the same; a step with the name of an operation"
    steps = [("a", "neg", ("x",)), ("b", "neg", ("x",)), ("c", "neg", ("b",)), ("d", "neg", ("a",))]
    links = [
        (f"{chain}{i}", "exp", (f"{chain}{i - 1}" if i else "x",)) for i in range(8) for chain in ("p", "q")
    ]
    called_alike = [("mul", "exp", ("x",)), ("neg", "exp", ("x",)), ("c", "neg", ("neg",))]
    return [
        list(share(steps, ["b", "x", "d"])),
        list(share(links, ["q7"])),
        list(share(called_alike, ["c", "neg"])),
    ]


@wrong(
    "",
    "What read the step that is gone must read the first one: no step has the old name any more.",
    score=1,
)
def share(steps, outputs):
    seen, kept = set(), []
    for name, op, operands in steps:
        if op == "rand" or (op, operands) not in seen:
            seen.add((op, operands))
            kept.append((name, op, operands))
    return kept, list(outputs)


@wrong(
    "",
    "Not every step that computes the same is gone. First put the new names of the operands in, then compare; and a step may go "
    "although it is an output.",
    score=4.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        first = seen.get((op, operands)) if op != "rand" else None
        if first is None:
            seen[op, operands] = name
            kept.append((name, op, tuple(instead.get(one, one) for one in operands)))
        else:
            instead[name] = first
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    'Two steps that draw random numbers got the same ones: "rand" must stay as often as it was written.',
    score=2.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        if (op, operands) in seen:
            instead[name] = seen[op, operands]
        else:
            seen[op, operands] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    'You ask whether a step has operands. The exception is "rand" alone: other steps without operands are the same each time, and '
    '"rand" is not even if it has one.',
    score=5.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        if operands and (op, operands) in seen:
            instead[name] = seen[op, operands]
        else:
            seen[op, operands] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong("", "x - y is not y - x: the order of the operands counts.", score=2.5)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        key = (op, tuple(sorted(operands)))
        if op != "rand" and key in seen:
            instead[name] = seen[key]
        else:
            seen[key] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong("", "The outputs are names as well, and one of them may be a step that you left out.", score=2)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        if op != "rand" and (op, operands) in seen:
            instead[name] = seen[op, operands]
        else:
            seen[op, operands] = name
            kept.append((name, op, operands))
    return kept, list(outputs)


@wrong("", "The same operands are not enough: x * y and x + y are different steps.", score=2.5)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        if op != "rand" and operands in seen:
            instead[name] = seen[operands]
        else:
            if op != "rand":
                seen[operands] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    "You wrote into the lists that you were given. Make new ones: the graph before the pass is still needed.",
    score=4,
)
def share(steps, outputs):
    instead, seen = {}, {}
    for name, op, operands in list(steps):
        new = tuple(instead.get(one, one) for one in operands)
        i = next(i for i, step in enumerate(steps) if step[0] == name)
        if op != "rand" and (op, new) in seen:
            instead[name] = seen[op, new]
            del steps[i]
        else:
            seen[op, new] = name
            steps[i] = (name, op, new)
    outputs[:] = [instead.get(one, one) for one in outputs]
    return steps, outputs


@wrong(
    "",
    "Not every step that computes the same is gone. First put the new names of the operands in, then compare; and a step may go "
    "although it is an output.",
    score=2,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        if op != "rand" and (op, operands) in seen and name not in outputs:
            instead[name] = seen[op, operands]
        else:
            seen.setdefault((op, operands), name)
            kept.append((name, op, operands))
    return kept, list(outputs)


@wrong(
    "",
    "The first of several equal steps stays, not the last: others may read it before the last one runs.",
    score=1,
)
def share(steps, outputs):
    last = {}
    for name, op, operands in steps:
        last[name if op == "rand" else (op, operands)] = name
    instead = {name: last[name if op == "rand" else (op, operands)] for name, op, operands in steps}
    kept = [
        (name, op, tuple(instead.get(one, one) for one in operands))
        for name, op, operands in steps
        if instead[name] == name
    ]
    return kept, [instead.get(one, one) for one in outputs]


@wrong("", "Two equal steps need not stand side by side: compare with all that came before.", score=3.5)
def share(steps, outputs):
    instead, kept = {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        if op != "rand" and kept and kept[-1][1:] == (op, operands):
            instead[name] = kept[-1][0]
        else:
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    'Operands that are different become the same text when they are put together: "x" and "yx", "xy" and "x". Keep them apart in a tuple.',
    score=5.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        key = op + "".join(operands)
        if op != "rand" and key in seen:
            instead[name] = seen[key]
        else:
            seen[key] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    'Only "rand" itself is the exception: an operation whose name merely has these letters in it is an ordinary one.',
    score=5.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        key = (op, operands)
        if "rand" not in op and key in seen:
            instead[name] = seen[key]
        else:
            seen[key] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    'No two "rand" are the same, but what one of them reads may be a step that is gone: it reads the first now, as every step does.',
    score=5.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        if op == "rand":
            kept.append((name, op, operands))
            continue
        operands = tuple(instead.get(one, one) for one in operands)
        if (op, operands) in seen:
            instead[name] = seen[op, operands]
        else:
            seen[op, operands] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong("", '"and" is in "rand", if you ask for letters. Compare the whole word: op != "rand".', score=5.5)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        key = (op, operands)
        if op not in "rand" and key in seen:
            instead[name] = seen[key]
        else:
            seen[key] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    "One operand is not the same as two that begin with it: sum(x) is not sum(x, y). Compare how many there are, too.",
    score=5.5,
)
def share(steps, outputs):
    instead, kept = {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        for first, same, others in kept:
            if op == same != "rand" and all(a == b for a, b in zip(operands, others)):
                instead[name] = first
                break
        else:
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong("", "Nothing is shared: the graph came back as it was.", score=1)
def share(steps, outputs):
    return list(steps), list(outputs)


@wrong(
    "",
    'Only "rand" draws new numbers. An operation whose name begins with these letters computes the same each time.',
    score=5.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(o, o) for o in operands)
        if not op.startswith("rand") and (op, operands) in seen:
            instead[name] = seen[op, operands]
        else:
            seen[op, operands] = name
            kept.append((name, op, operands))
    return kept, [instead.get(o, o) for o in outputs]


@wrong(
    "",
    "Of two outputs that have become one name, you give one. Both stay: there are as many outputs as before.",
    score=5.5,
)
def share(steps, outputs):
    first, name_of, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(name_of.get(o, o) for o in operands)
        if op != "rand" and (op, operands) in first:
            name_of[name] = first[op, operands]
        else:
            first[op, operands] = name
            kept.append((name, op, operands))
    return kept, list(dict.fromkeys(name_of.get(o, o) for o in outputs))


@wrong("", "The lists that you were given have changed. Put what stays into new ones.", score=3.5)
def share(steps, outputs):
    first, name_of = {}, {}
    for i, (name, op, operands) in enumerate(list(steps)):
        operands = tuple(name_of.get(o, o) for o in operands)
        if op != "rand" and (op, operands) in first:
            name_of[name] = first[op, operands]
            steps[i] = None
        else:
            first[op, operands] = name
            steps[i] = (name, op, operands)
    return [s for s in steps if s], [name_of.get(o, o) for o in outputs]


@wrong(
    "",
    "What reads a random number is no exception: two steps that do the same with the same one compute the same.",
    score=4,
)
def share(steps, outputs):
    first, name_of, kept, random = {}, {}, [], set()
    for name, op, operands in steps:
        operands = tuple(name_of.get(o, o) for o in operands)
        if op == "rand" or random & set(operands):
            random.add(name)
            kept.append((name, op, operands))
        elif (op, operands) in first:
            name_of[name] = first[op, operands]
        else:
            first[op, operands] = name
            kept.append((name, op, operands))
    return kept, [name_of.get(o, o) for o in outputs]


@wrong(
    "",
    "Of three equal steps the third gets the name of the second, which is gone. All of them get the name of the first.",
    score=4,
)
def share(steps, outputs):
    first, name_of, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(name_of.get(o, o) for o in operands)
        if op != "rand" and (op, operands) in first:
            name_of[name] = first[op, operands]
        else:
            kept.append((name, op, operands))
        first[op, operands] = name
    return kept, [name_of.get(o, o) for o in outputs]


@wrong("", "Steps that nobody reads are gone, too. Leave out only what is computed twice.", score=3.5)
def share(steps, outputs):
    first, name_of, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(name_of.get(o, o) for o in operands)
        if op != "rand" and (op, operands) in first:
            name_of[name] = first[op, operands]
        else:
            first[op, operands] = name
            kept.append((name, op, operands))
    outputs = [name_of.get(o, o) for o in outputs]
    used = {o for s in kept for o in s[2]} | set(outputs)
    return [s for s in kept if s[0] in used], outputs


@wrong(
    "",
    "Sums and products are taken for the same in either order. Here the order of the operands counts for every op.",
    score=4,
)
def share(steps, outputs):
    first, name_of, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(name_of.get(o, o) for o in operands)
        key = op, tuple(sorted(operands)) if op in ("add", "mul") else operands
        if op != "rand" and key in first:
            name_of[name] = first[key]
        else:
            first[key] = name
            kept.append((name, op, operands))
    return kept, [name_of.get(o, o) for o in outputs]


@wrong(
    "",
    "The name of a random step is taken for an operation that is called the same. What you look up has to keep names and operations apart.",
    score=5.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        key = (name,) if op == "rand" else (op, *operands)
        if key in seen:
            instead[name] = seen[key]
        else:
            seen[key] = name
            kept.append((name, op, operands))
    return kept, [instead.get(one, one) for one in outputs]


@wrong(
    "",
    "You look at the name of a step. What draws random numbers is the operation, whatever its step is called.",
    score=5.5,
)
def share(steps, outputs):
    instead, seen, kept = {}, {}, []
    for name, op, operands in steps:
        operands = tuple(instead.get(one, one) for one in operands)
        first = None if op == "rand" or "rand" in name else seen.get((op, operands))
        if first is None:
            seen[op, operands] = name
            kept.append((name, op, operands))
        else:
            instead[name] = first
    return kept, [instead.get(one, one) for one in outputs]


@right
def share(steps, outputs):
    steps, outputs = [list(s) for s in steps], list(outputs)
    i = 0
    while i < len(steps):
        a = steps[i]
        j = i + 1
        while j < len(steps):
            b = steps[j]
            if b[1] == a[1] != "rand" and tuple(b[2]) == tuple(a[2]):
                del steps[j]
                for s in steps:
                    s[2] = tuple(a[0] if o == b[0] else o for o in s[2])
                outputs = [a[0] if o == b[0] else o for o in outputs]
            else:
                j += 1
        i += 1
    return [tuple(s) for s in steps], outputs


@right
def share(steps, outputs):
    kept, same = [], {}
    for name, op, operands in steps:
        now = (op, tuple(same.get(one, one) for one in operands))
        twins = [other for other, *rest in kept if tuple(rest) == now and op != "rand"]
        if twins:
            same[name] = twins[0]
        else:
            kept.append((name, *now))
    return kept, [same.get(one, one) for one in outputs]


@right
def share(steps, outputs):
    steps, outputs, i = list(steps), list(outputs), 0
    while i < len(steps):
        name, *what = steps[i]
        first = next((other for other, *rest in steps[:i] if rest == what and what[0] != "rand"), None)
        if first is None:
            i += 1
            continue
        del steps[i]
        steps = [
            (n, op, tuple(first if one == name else one for one in operands)) for n, op, operands in steps
        ]
        outputs = [first if one == name else one for one in outputs]
    return steps, outputs


@right
def share(steps, outputs):
    """A step, and a call for the rest, in which its name has been replaced."""
    if not steps:
        return [], list(outputs)
    (name, op, operands), rest = steps[0], steps[1:]
    twins = {n for n, o, xs in rest if (o, xs) == (op, operands) and op != "rand"}
    if not twins:
        kept, out = share(rest, outputs)
        return [(name, op, operands), *kept], out
    twin = next(n for n, o, xs in rest if n in twins)
    rename = lambda one: name if one == twin else one
    left = [(n, o, tuple(map(rename, xs))) for n, o, xs in rest if n != twin]
    return share([(name, op, operands), *left], [rename(one) for one in outputs])


@right
def share(steps, outputs):
    """Each value gets a number; equal numbers are equal values."""
    number_of, first_with, fresh, kept = {}, {}, 0, []
    keys = {}

    def name_of(one):
        return first_with[number_of[one]] if one in number_of else one

    for name, op, operands in steps:
        key = (op, tuple(name_of(one) for one in operands))
        if op == "rand" or key not in keys:
            fresh += 1
            keys[key] = fresh
            first_with[fresh] = name
            kept.append((name, *key))
        number_of[name] = keys[key]
    return kept, [name_of(one) for one in outputs]


@right
def share(steps, outputs):
    replaced_by = {}

    def current_name(name):
        while name in replaced_by:
            name = replaced_by[name]
        return name

    def is_random(operation):
        return operation == "rand"

    remaining_steps = []
    for step_name, operation, operand_names in steps:
        current_operands = tuple(map(current_name, operand_names))
        for earlier_name, earlier_operation, earlier_operands in remaining_steps:
            if is_random(operation):
                continue
            if earlier_operation == operation and earlier_operands == current_operands:
                replaced_by[step_name] = earlier_name
                break
        else:
            remaining_steps.append((step_name, operation, current_operands))
    return remaining_steps, list(map(current_name, outputs))


@right
def share(steps, outputs):
    """Again and again, until nothing changes."""
    steps, outputs = [tuple(step) for step in steps], list(outputs)
    changed = True
    while changed:
        changed = False
        table = {}
        for name, op, operands in steps:
            if op != "rand":
                table.setdefault((op, operands), []).append(name)
        rename = {other: names[0] for names in table.values() for other in names[1:]}
        if rename:
            changed = True
            steps = [
                (name, op, tuple(rename.get(one, one) for one in operands))
                for name, op, operands in steps
                if name not in rename
            ]
            outputs = [rename.get(one, one) for one in outputs]
    return steps, outputs


@right
def share(steps, outputs):
    """Random steps get a key of their own, so that nothing equals them."""
    same, first, kept = {}, {}, []
    for i, (name, op, operands) in enumerate(steps):
        operands = tuple(same.get(one, one) for one in operands)
        key = (op, operands, i if op == "rand" else None)
        same[name] = first.setdefault(key, name)
        if same[name] == name:
            kept.append((name, op, operands))
    return (kept, [same.get(output, output) for output in outputs])
