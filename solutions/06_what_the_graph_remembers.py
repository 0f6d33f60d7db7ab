# ---
# jupyter:
#   autograd_lab:
#     id: "06"
#     minutes: 45
#     points: 13
# ---

# %% [markdown]
# # 06 · Exercises: what the graph remembers
#
# Put your answers in place of the dots and run the check below. `lab.hint("06.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 06.1 · What is kept? (2 points)
#
# `x` (shape `[{n}, {d}]`) does not require a gradient, `w` (shape `[{d}, {k}]`) does. How many **numbers** do the nodes of
# these lines keep in all? Count what they save, and count no result twice.
#
# ```python
# p = x @ w
# t = torch.tanh(p)
# s = t + 1
# ```

# %%
### BEGIN SOLUTION
numbers = 8 * 5 + 8 * 3
### END SOLUTION

# %%
lab.check("06.1", numbers)


# %% tags=["item"]
@variant(n=range(6, 31), d=range(3, 13), k=range(2, 13))
def kept(n=8, d=5, k=3):
    x, w, t = n * d, d * k, n * k
    return varied(
        answer=x + t,
        hints=[
            "Write down the three rules, and which numbers of the forward run are in them.",
            "w gets x^T g, so the node keeps x. x gets nothing, so it does not keep w. tanh is written with its result.",
            f"x has {x} numbers, t has {t}; the sum keeps nothing.",
        ],
        wrong=[
            wrong_answer(
                x + t + w,
                "",
                "w is not kept: it would only be needed for the gradient of x, which does not require a gradient.",
            ),
            wrong_answer(
                x,
                "",
                f"tanh keeps something as well: its result t, {t} numbers, from which its slope 1 - t**2 is computed.",
            ),
            wrong_answer(
                x + 2 * t,
                "",
                f"{t} too many. tanh keeps its result t and not its input p; the sum keeps nothing: its rule is g, with no number of "
                "the forward run in it.",
            ),
            wrong_answer(
                x + w + 2 * t,
                "",
                "Two are too many. w is not kept, because x needs no gradient; and p is not kept, because the rule of tanh uses its result t.",
            ),
            wrong_answer(
                0,
                "M02",
                "Nothing waits for backward here: a node is made, and saves what its rule needs, as soon as its line runs.",
            ),
            wrong_answer(
                x + w,
                "",
                f"x and w are both {x + w} numbers, and what tanh keeps is missing. w is not kept: it would only be needed for the gradient of x. "
                f"tanh keeps its result, {t} numbers.",
            ),
            wrong_answer(
                x + 3 * t,
                "",
                f"{t} three times: p and s are not kept. The rule of tanh is written with its result t, and the sum has no number of the "
                "forward run in its rule.",
            ),
            wrong_answer(t, "", f"The product keeps x, {x} numbers: the gradient of w is x^T g."),
            wrong_answer(w + t, "", "It is x that is kept, not w: the gradient of w is x^T g."),
        ],
    )


item("06.1", kind="number", points=2, variant=kept)

# %% [markdown]
# ## 06.2 · Does the second call fail? (4 points)
#
# Each program computes `y` from a leaf `a` and calls `y.backward()` twice. Answer `"fails"` or `"works"` for
# each of the four.
#
# 1. `y = a + a`
# 2. `y = torch.exp(a)`
# 3. `y = a - 2`
# 4. `y = a * a`, with the first call `y.backward(retain_graph=True)`

# %%
### BEGIN SOLUTION
second_call = ["works", "fails", "works", "works"]
### END SOLUTION
### BEGIN STUB
# second_call = [..., ..., ..., ...]
### END STUB

# %%
lab.check("06.2", second_call)

# %% tags=["item"]
item(
    "06.2",
    kind="predict",
    points=4,
    partial=True,
    hints=[
        "Only saved tensors are freed. Which of the four nodes saves one that it needs again?",
        "exp saves its result. The rules of a + a and a - 2 have no number of the forward run in them.",
        "Try them: two lines each, in a new cell.",
    ],
    wrong=[
        wrong_answer(
            ["fails", "fails", "fails", "fails"],
            "M12",
            "Not every second call fails: the graph itself stays. A node fails only if it needs a saved tensor that was freed.",
            score=1,
        ),
        wrong_answer(
            ["fails", "fails", "fails", "works"],
            "M12",
            "A second backward is not forbidden as such. a + a and a - 2 save nothing, so nothing is missing.",
            score=2,
        ),
        wrong_answer(
            ["works", "works", "works", "works"],
            "",
            "exp saves its result and needs it for the way back; after the first call it is freed.",
            score=3,
        ),
        wrong_answer(
            ["works", "fails", "fails", "works"],
            "",
            "a - 2 saves nothing: its rule is g, and nothing can be missing.",
            score=3,
        ),
        wrong_answer(
            ["fails", "works", "fails", "works"],
            "",
            "The other way round in 1 to 3: the sum and the difference save nothing, exp saves its result, which is freed.",
            score=1,
        ),
        wrong_answer(
            ["fails", "fails", "works", "works"],
            "M12",
            "In 1, a is used twice, but a + a saves neither: its rule is g for each, and nothing can be missing.",
            score=3,
        ),
        wrong_answer(
            ["fails", "fails", "works", "fails"],
            "M12",
            "Not every second call fails. In 1 the node saves nothing that could be missing, and in 4 retain_graph=True has kept it.",
            score=2,
        ),
        wrong_answer(
            ["works", "works", "fails", "works"],
            "",
            "The other way round in 2 and 3: exp saves its result, and a - 2 saves nothing, because its rule is g.",
            score=2,
        ),
        wrong_answer(
            ["works", "works", "works", "fails"],
            "M13",
            "exp saves its result, so 2 fails. And retain_graph=True at the first call keeps the saved values: 4 works.",
            score=2,
        ),
        wrong_answer(
            ["works", "fails", "works", "fails"],
            "M13",
            "retain_graph=True at the first call keeps the saved values: then the second call finds them.",
            score=3,
        ),
    ],
)

# %% [markdown]
# ## 06.3 · A state that drags its past along (3 points)
#
# `train` runs a tiny network over a sequence. Each turn computes a new state `h` from the old one, and a loss, and calls
# backward. At the second turn it fails, because the state still hangs on the graph of the turn before. Mend it so
# that every turn's gradient comes from **this turn only**. The charm `retain_graph=True` is not the cure.


# %%
### BEGIN SOLUTION
def train(w, xs):
    """h = tanh(w * h + x) for each x, loss h**2. Returns w.grad of each turn (cleared in between)."""
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h.detach() + x)
        loss = h * h
        w.grad = None
        loss.backward()
        grads.append(w.grad.item())
    return grads


### END SOLUTION
### BEGIN STUB
# def train(w, xs):
#     """h = tanh(w * h + x) for each x, loss h**2. Returns w.grad of each turn (cleared in between)."""
#     h, grads = torch.tensor(0.5), []
#     for x in xs:
#         h = torch.tanh(w * h + x)
#         loss = h * h
#         w.grad = None
#         loss.backward()
#         grads.append(w.grad.item())
#     return grads
### END STUB


# %%
lab.check("06.3", train)

# %% tags=["item"]
item(
    "06.3",
    kind="debug",
    hints=[
        "Read the error: which graph is walked through a second time? Which tensor leads there?",
        "The value of h must go on, its history must not.",
        "Use h.detach() where the next turn begins.",
    ],
    equivalent={
        "6: h.detach() -> h.detach_()": "the history of h is not needed any more",
        "6: torch.tanh(w * h.detach() + x) -> torch.tanh_(w * h.detach() + x)": "the sum has no other name, and its node saves nothing",
        "10: w.grad.item() -> w.grad": "a tensor with one number is taken for the number, and each turn has its own",
        "5: passed over where loss is negative": "no square is negative",
    },
)


@probe(points=1, cases=[(1,), (2,), (3,)])
def few_turns(train, turns):
    "w = 0.8, and of 0.1, -0.4, 0.7 the first {0}"
    return train(torch.tensor(0.8, requires_grad=True), [0.1, -0.4, 0.7][:turns])


@probe(points=1)
def five_turns(train):
    "Five turns, w = 1.5"
    return train(torch.tensor(1.5, requires_grad=True), [0.3, 0.1, -0.2, 0.4, 0.05])


@probe(points=1, hidden=True)
def nothing_is_dragged_along(train):
    "Work per turn does not grow; a large x; the list and w are left alone, and recording is on"
    w = torch.tensor(1.1, requires_grad=True)
    as_it_was = untouched(w)
    with lab.record() as trace:
        grads = train(w, [0.2] * 6)
    passes, count = [], 0
    for event in trace.events:
        count += event["k"] == "vjp"
        if event["k"] == "done":
            passes.append(count)
            count = 0
    grows = bool(passes) and passes[-1] > passes[0]
    xs = [0.4, -0.3]
    found = [grows, grads, train(w, xs), len(xs), train(w, []), w.is_leaf, w.requires_grad]
    other = torch.tensor(0.0, requires_grad=True)
    found += [
        *(train(other, xs) for xs in ([0.0, 0.5, 0.0], [0.2] * 6)),
        train(w, [100.0]),
        as_it_was(),
    ]
    w.data.mul_(0.5)
    return [*found, train(w, xs)]


@wrong("M14",
    "No error any more, but each turn's gradient now comes from all turns before as well, and the work grows. "
    "Cut the state loose instead.")  # fmt: skip
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h + x)
        loss = h * h
        w.grad = None
        loss.backward(retain_graph=True)
        grads.append(w.grad.item())
    return grads


@wrong(
    "M14",
    "The second turn still walks into the graph of the first, whose saved values are gone. Cut h loose, and use what detach "
    "returns: h.detach() on a line of its own leaves h as it was.",
)
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h + x)
        loss = h * h
        w.grad = None
        loss.backward()
        grads.append(w.grad.item())
    return grads


@wrong("M16",
    "No path leads from this turn's loss back to w: h must be computed with w, and keep its history until "
    "backward. Cut it where the next turn begins.")  # fmt: skip
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h + x).detach()
        loss = h * h
        w.grad = None
        loss.backward()
        grads.append(w.grad.item())
    return grads


@wrong("M16",
    "In the first turn already there is no gradient to read: .grad is None. Call backward on this turn's loss, "
    "read w.grad, and cut only the old state h loose.")  # fmt: skip
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w.detach() * h + x)
        h.requires_grad_()
        loss = h * h
        w.grad = None
        loss.backward()
        grads.append(w.grad.item())
    return grads


@wrong("M16",
    "Only a leaf's flag can be changed, and h was computed. What gives you the value without its history is "
    "h.detach().")  # fmt: skip
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h.requires_grad_(False)
        h = torch.tanh(w * h + x)
        loss = h * h
        w.grad = None
        loss.backward()
        grads.append(w.grad.item())
    return grads


@look("It computes the gradients by a formula of its own, without a backward pass.")
def by_a_formula(train):
    with lab.record() as trace:
        train(torch.tensor(0.5, requires_grad=True), [0.1, 0.2])
    return not any(event["k"] == "done" for event in trace.events)


@wrong(
    "",
    "The caller's list is empty afterwards: you take the numbers out of it. Go through it with a loop.",
    score=2,
)
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    while xs:
        h = torch.tanh(w * h.detach() + xs.pop(0))
        w.grad = None
        (h * h).backward()
        grads.append(w.grad.item())
    return grads


@wrong(
    "M16",
    "w is frozen afterwards: it no longer requires a gradient. Cut the state loose, and nothing else.",
    score=2,
)
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        copy_of_w = w.detach().requires_grad_()
        h = torch.tanh(copy_of_w * h.detach() + x)
        (h * h).backward()
        grads.append(copy_of_w.grad.item())
    w.requires_grad_(False)
    return grads


@wrong("", "The state starts anew in every turn: its value must go on, only its history must not.", score=0)
def train(w, xs):
    grads = []
    for x in xs:
        h = torch.tanh(w * torch.tensor(0.5) + x)
        loss = h * h
        w.grad = None
        loss.backward()
        grads.append(w.grad.item())
    return grads


@wrong(
    "M10",
    "The gradients of the turns add up. Each is that of this turn's loss alone, and w.grad is cleared in between.",
)
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h.detach() + x)
        loss = h * h
        loss.backward()
        grads.append(w.grad.item())
    return grads


@wrong(
    "",
    "One backward over the sum of all losses is a fine idea, but then every turn gets the gradient of the whole sequence.",
)
def train(w, xs):
    h, total = torch.tensor(0.5), 0
    for x in xs:
        h = torch.tanh(w * h + x)
        total = total + h * h
    w.grad = None
    total.backward()
    return [w.grad.item()] * len(xs)


@wrong(
    "M16",
    "Each gradient is half of what it should be. The loss is h * h, and both factors have a history: only the old state is cut loose.",
)
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h.detach() + x)
        loss = h * h.detach()
        w.grad = None
        loss.backward()
        grads.append(w.grad.item())
    return grads


@wrong("", "What goes on to the next turn is the loss. The state is h itself, before it is squared.")
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h + x)
        h = h * h
        w.grad = None
        h.backward()
        grads.append(w.grad.item())
        h = h.detach()
    return grads


@right
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h + x)
        w.grad = None
        (h * h).backward()
        grads.append(w.grad.item())
        h = h.detach()
    return grads


@right
def train(w, xs):
    value, grads = 0.5, []
    for x in xs:
        h = torch.tanh(w * value + x)
        (g,) = torch.autograd.grad(h**2, w)
        grads.append(float(g))
        value = h.item()
    return grads


@right
def train(w, xs):
    grads, state = [], torch.tensor(0.5)
    for x in xs:
        before = state.clone().detach()
        state = (before * w + x).tanh()
        w.grad = None
        torch.square(state).backward()
        grads.append(float(w.grad))
    return grads


@right
def train(w, xs):
    def turn(number, x):
        new = torch.tanh(w * torch.tensor(number) + x)
        loss = new * new
        w.grad = None
        loss.backward()
        return new.item(), w.grad.item()

    state, grads = 0.5, []
    for x in xs:
        state, slope = turn(state, x)
        grads.append(slope)
    return grads


@right
def train(w, xs, h=0.5):
    """A turn, and a call for the rest."""
    if not xs:
        return []
    new = torch.tanh(w * h + xs[0])
    (slope,) = torch.autograd.grad(new * new, w)
    return [slope.item(), *train(w, xs[1:], float(new.detach()))]


@right
def train(w, xs):
    grads = []
    h = torch.tensor(0.5)
    for x in xs:
        h = torch.tanh(w * h + x)
        loss = h * h
        w.grad = None
        loss.backward()
        grads.append(w.grad.clone())
        h.detach_()
    return grads


@right
def train(w, xs):
    grads = []
    hidden_state = torch.tensor(0.5)
    for input_number in xs:
        with torch.no_grad():
            previous_state = hidden_state + 0
        hidden_state = torch.tanh(torch.add(torch.mul(w, previous_state), input_number))
        if w.grad is not None:
            w.grad.zero_()
        hidden_state.pow(2).backward()
        grads.append(w.grad.item())
    return grads


@avoiding
def train(w, xs):
    """The gradient by hand: h**2 by w, with the old state as a number."""
    state, grads = 0.5, []
    with torch.no_grad():
        for x in xs:
            new = torch.tanh(w * state + x).item()
            grads.append(2 * new * (1 - new * new) * state)
            state = new
    return grads


@right
def train(w, xs):
    """Two passes in a turn: one to look, one to keep."""
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h.detach() + x)
        look = torch.autograd.grad(h * h, w, retain_graph=True)[0]
        w.grad = None
        (h * h).backward()
        assert torch.equal(look, w.grad)
        grads.append(w.grad.item())
    return grads


# %% [markdown]
# ## 06.4 · Kept for whose sake? (2 points)
#
# `a` and `b` require a gradient, `k` does not. Which of its two operands does the node of each product save: `"both"`,
# `"first"`, `"second"` or `"none"`? (Where nothing is recorded, there is no node, and nothing is saved.)
#
# 1. `a * b`
# 2. `k * b`
# 3. `a * 7`
# 4. `k * 7`

# %%
### BEGIN SOLUTION
saved = ["both", "first", "second", "none"]
### END SOLUTION
### BEGIN STUB
# saved = [..., ..., ..., ...]
### END STUB

# %%
lab.check("06.4", saved)

# %% tags=["item"]
item(
    "06.4",
    kind="predict",
    points=2,
    partial=True,
    hints=[
        "Write the rule of a product: the message to the first operand is g times the second, and the other way round.",
        "An operand is saved for the sake of the other one's gradient. For an operand that needs no gradient, the node saves nothing.",
        "In 2 only b needs a gradient, and its message is g * k: k is saved, the first.",
    ],
    wrong=[
        wrong_answer(
            ["both", "second", "first", "none"],
            "",
            "The factors swap: the message to b is g * k, so it is k that is saved for the sake of b.",
            score=1,
        ),
        wrong_answer(
            ["both", "both", "both", "both"],
            "M03",
            "A constant needs no gradient, so nothing is saved for its sake; and where no operand needs one, there is no node.",
            score=0.5,
        ),
        wrong_answer(
            ["both", "both", "both", "none"],
            "M03",
            "In 2 and 3 one operand needs no gradient, and the other factor, which only its message would need, is not kept.",
            score=1,
        ),
        wrong_answer(
            ["both", "second", "both", "none"],
            "M03",
            "The factors swap: in 2, k is saved for the message to b. In 3, only a needs a gradient, so only the 7 is kept.",
            score=1,
        ),
        wrong_answer(
            ["both", "first", "first", "none"],
            "",
            "In 3 the message to a is g * 7: it is the 7 that is saved, the second. A number may be saved like a tensor.",
            score=1.5,
        ),
        wrong_answer(
            ["both", "first", "none", "none"],
            "",
            "In 3 the message to a is g * 7. The 7 must be remembered like any other factor.",
            score=1.5,
        ),
        wrong_answer(
            ["both", "first", "second", "both"],
            "M02",
            "k * 7 needs no gradient at all: nothing is recorded, so no node is there to save anything.",
            score=1.5,
        ),
        wrong_answer(
            ["both", "none", "second", "none"],
            "",
            "In 2, b needs a gradient: its message is g * k, so k is saved, constant or not.",
            score=1.5,
        ),
        wrong_answer(
            ["both", "second", "second", "none"],
            "",
            "In 2 it is k that is saved, the first: it stands in the message to b. b itself would stand in the message to k.",
            score=1.5,
        ),
        wrong_answer(
            ["both", "first", "second", "second"],
            "M02",
            "k * 7 needs no gradient at all: nothing is recorded, so no node is there to save anything.",
            score=1.5,
        ),
        wrong_answer(
            [2, 1, 1, 0],
            "",
            'The numbers are right. The question is which: "both", "first", "second" or "none".',
        ),
        wrong_answer(
            ["none", "none", "none", "none"],
            "M02",
            "Backward has not been called, but the nodes are there already, and saved their factors when they were made.",
            score=0.5,
        ),
    ],
)

# %% [markdown]
# ## 06.5 · An engine that grows: accumulate (2 points)
#
# The last piece of your engine puts the others together. `engine` has them: `count`, `pop` and `deliver`, yours or, where an exercise is
# still open, the course's. Each node now has its `rule`, too: `node.rule(g)` is a list with one message, a number, for each of
# `node.edges`.
#
# Write `backward(root)`: count, deliver the first message, 1.0, to the root, and then pop and run nodes until none is ready. What
# arrived at a node is taken out of `buffers`: nothing of it outlives the pass. Only an accumulator keeps something. Instead of sending
# on, it adds what arrived to `.grad` of its leaf, `node.variable`, which is `None` as long as nothing has arrived. A graph may be
# thousands of nodes deep, and Python allows about a thousand calls inside each other.

# %%
engine = lab.engine_so_far("accumulate")
count, pop, deliver = engine.count, engine.pop, engine.deliver
engine


# %%
def backward(root):
    """Run every node from `root` on; what reaches an accumulator is added to `.grad` of its leaf."""
    ### BEGIN SOLUTION
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if leaf is None:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)
        elif leaf.grad is None:
            leaf.grad = g
        else:
            leaf.grad = leaf.grad + g
    ### END SOLUTION


# %%
lab.check("06.5", backward)

# %% [markdown]
# Your engine is complete: it records a graph and goes back through it, in the tab **your engine**. Follow one node from `pop` to `deliver`;
# at the end, the accumulator of `a`. `lab.step_code(backward, beside="accumulate")` goes through your lines one by one, and
# `lab.engine_so_far()` shows your whole engine.

# %%
lab.step(backward, beside="accumulate")

# %% tags=["item"]
item(
    "06.5",
    kind="code",
    hints=[
        "Before the loop: deps = count(root), an empty dict and an empty list, and one call of deliver, for the root.",
        "In the loop: node = pop(ready), g = buffers.pop(node). Is node.variable None? Then deliver each message of node.rule(g) along its edge.",
        "Otherwise it is an accumulator: node.variable.grad becomes g if it is None, and otherwise its old value plus g.",
    ],
    equivalent={
        "6: ready -> buffers": "while a message lies somewhere, some node is ready",
        "10: node.rule(g) without its None": "every message is a number",
        "15: leaf.grad = leaf.grad + g -> leaf.grad += g": "every message is a number",
    },
)


@shared
def program(text, **numbers):
    "The Values of a program: leaves that require a gradient, k is the constant 3, and y."
    from autograd_lab.course import own_engine

    def less(*operands):
        first, *others = operands
        y = own_engine.record("LessBackward0", operands, first.data - sum(one.data for one in others))
        y.grad_fn.rule = lambda g: [g, *[-g for _ in others]]
        return y

    names = {name: own_engine.Value(number, requires_grad=True) for name, number in numbers.items()}
    names |= {"k": own_engine.Value(3.0), "add": own_engine.add, "mul": own_engine.mul, "less": less}
    exec(text, names)
    return names


@shared
def noted(rule, note):
    "The rule, which says first what it is asked with."
    return lambda g: note(g) or rule(g)


@probe(
    points=1,
    cases=[
        ("y = mul(a, k)", 1), ("y = add(a, a)", 1), ("y = mul(a, a)", 2), ("b = mul(a, a); y = mul(b, k)", 1), ("b = mul(a, k); y = add(b, b)", 1),
        ("b = mul(a, a); c = mul(b, k); y = mul(b, c)", 1), ("b = mul(a, k); c = add(b, a); d = mul(b, k); y = mul(c, d)", 2),
    ],
)  # fmt: skip
def a_program(backward, text, times):
    "a = 2, k = 3 is a constant, and {0}; backward from y, {1} times: a.grad after each, and how many rules were asked"
    names, seen, asked = program(text, a=2.0), [], []
    for x in (names.get(name) for name in "bcdy"):
        if x is not None:
            x.grad_fn.rule = noted(x.grad_fn.rule, asked.append)
    for _ in range(times):
        backward(names["y"].grad_fn)
        seen.append(names["a"].grad)
    return {"a.grad": seen, "rules asked": len(asked)}


@probe(points=1, hidden=True)
def each_rule_once(backward):
    "Each rule asked once; two leaves, of the same number too, an accumulator as the root, more operands, dead ends in any place, gradients of 0 and below, one from before, a long chain"
    names = program("b = mul(a, a); c = mul(b, k); d = add(c, b); y = mul(d, b); z = mul(y, e)", a=0.5, e=4.0)
    asked, found = [], []
    for name in "bcdyz":
        node = names[name].grad_fn
        node.rule = noted(node.rule, lambda g, name=name: asked.append([name, g]))
    for name in ("y", "z", "b"):
        backward(names[name].grad_fn)
        found.append([names["a"].grad, names["e"].grad, names["k"].grad])
    backward(names["e"].accumulator)
    found.append(names["e"].grad)
    for text in (
        "x = mul(k, a); y = mul(k, x)",
        "b = mul(a, e); c = mul(b, zero); y = add(c, a)",
        "y = less(k, a, e, less(e))",
    ):
        more = program(text, a=0.5, e=-4.0, zero=0.0)
        backward(more["y"].grad_fn)
        found.append([*[more[name].grad for name in ("a", "e", "zero")], sorted(vars(more["y"].grad_fn))])
    alike = program("y = mul(mul(a, e), a)", a=0.5, e=0.5)
    alike["e"].grad = 8.0  # from before
    backward(alike["y"].grad_fn)
    found.append([alike["a"].grad, alike["e"].grad])
    twice = program("y = a\nfor _ in range(24): y = add(y, y)", a=1.0)
    soon(backward, twice["y"].grad_fn)
    deep = program("y = a\nfor _ in range(2000): y = add(y, k)", a=1.0)
    backward(deep["y"].grad_fn)
    return [sorted(asked), found, twice["a"].grad, deep["a"].grad, names["y"].grad]


@wrong(
    "M10", "After two passes `.grad` is what it was after one. It goes on from pass to pass: each adds to it."
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "M11",
    "You add to None: that is what .grad of a leaf holds before anything has arrived. Check for None first.",
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad += g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "",
    "No rule was asked, and nothing has arrived at a leaf: no node was ready before the loop. Is 1.0 delivered to the root, into buffers?",
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "",
    "An accumulator has no rule, only None, and None cannot be called. Ask a rule only where node.variable is None.",
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        for edge, message in zip(node.edges, node.rule(g)):
            deliver(edge, message, deps, buffers, ready)


@wrong(
    "",
    "Each rule was asked with 1, so every node sends its local derivatives. Ask it with what has arrived at the node.",
    score=0,
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad + g
        else:
            for edge, message in zip(node.edges, node.rule(1.0)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "M08",
    "Every rule was asked, but the leaf has no gradient. What reaches an accumulator is for `.grad` of its leaf.",
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        node.grad = buffers.pop(node)
        if node.rule is not None:
            for edge, message in zip(node.edges, node.rule(node.grad)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "M11",
    "A gradient of 0 is lost on its way. It is a message like all others: the nodes behind it wait for it, and a leaf that gets 0 has .grad 0.0, "
    "not None.",
    score=1,
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if g == 0:
            continue
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "M03",
    "You leave the dead ends out of the edges, but not out of the messages, and what comes after one goes to a wrong node. Each message belongs to "
    "the edge at its place.",
    score=1,
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad + g
        else:
            for edge, message in zip([edge for edge in node.edges if edge], node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "M08",
    "Something of the pass is left at the nodes: you write a gradient there. Only the leaves keep theirs, in node.variable.grad.",
    score=1,
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        node.grad = g
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "",
    "Two leaves with the same number are taken for one, and only one of them gets its gradient. A leaf is known by itself, not by what it holds.",
    score=1,
)
def backward(root):
    deps, buffers, ready, leaves = count(root), {}, [], {}
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            leaves[node.variable.data] = node.variable, g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)
    for leaf, g in leaves.values():
        leaf.grad = g if leaf.grad is None else leaf.grad + g


@look("The lab's own engine runs, instead of the function.")
def with_the_labs_piece(backward):
    from autograd_lab.course.growing import runs_the_courses

    return runs_the_courses("backward", lambda: backward(program("y = mul(a, k)", a=2.0)["y"].grad_fn))


@wrong("", "Only the first of a node's messages is delivered. There is one for each edge.")
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad + g
        else:
            deliver(node.edges[0], node.rule(g)[0], deps, buffers, ready)


@wrong(
    "",
    "Only the root runs, and no node after it. Are its messages delivered, and do you go on until no node is ready?",
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    node = pop(ready)
    g, leaf = buffers.pop(node), node.variable
    if leaf is not None:
        leaf.grad = g if leaf.grad is None else leaf.grad + g
    else:
        for edge, message in zip(node.edges, node.rule(g)):
            deliver(edge, message, deps, buffers, ready)


@wrong(
    "M06",
    "You run a node for each message that comes in, and send the sum so far each time. Deliver, and let pop say which node is ready.",
    score=0,
)
def backward(root):
    buffers, queue = {root: 1.0}, [root]
    while queue:
        node = queue.pop(0)
        g, leaf = buffers[node], node.variable
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                if edge is not None:
                    buffers[edge] = buffers.get(edge, 0.0) + message
                    queue.append(edge)


@wrong(
    "",
    "What arrived in an earlier pass is still there, and the next pass sends it once more. Each pass begins with nothing, and what arrived at a node is taken out.",
)
def backward(root, buffers={}):  # noqa: B006 (it is the mistake)
    deps, ready = count(root), []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers[node]
        if node.variable is not None:
            node.variable.grad = (node.variable.grad or 0.0) + g
        else:
            for e, m in zip(node.edges, node.rule(g)):
                deliver(e, m, deps, buffers, ready)


@wrong(
    "",
    "The root may be an accumulator, which has no rule. Deliver the first message to it as to every node.",
    score=1,
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    for edge, message in zip(root.edges, root.rule(1.0)):
        deliver(edge, message, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = (node.variable.grad or 0.0) + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "",
    "A rule is asked again for each of its edges. Ask it once: its answer has the messages for all of them.",
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = (node.variable.grad or 0.0) + g
            continue
        for i, edge in enumerate(node.edges):
            deliver(edge, node.rule(g)[i], deps, buffers, ready)


@wrong("", "Every gradient is twice what it should be. What the root gets is 1.0, and that once.")
def backward(root):
    deps, buffers, ready = count(root), {root: 1.0}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = (node.variable.grad or 0.0) + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "M07",
    "A node that uses an operand twice sends it two messages, and one of yours is lost, so the operand never runs. Go through the edges one by one.",
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = (node.variable.grad or 0.0) + g
        else:
            for edge, message in dict(zip(node.edges, node.rule(g))).items():
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "",
    "The second pass does nothing: what the first one has kept is still in use. Count and run anew in each pass.",
    score=1,
)
def backward(root, known={}):  # noqa: B006 (it is the mistake)
    if root not in known:
        known[root] = count(root)
    deps, buffers, ready = known[root], {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = (node.variable.grad or 0.0) + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)


@wrong(
    "",
    "Right for small graphs; but a call waits inside a call for every node, and Python allows about a thousand. A loop goes on while some node is ready.",
    score=1,
)
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)

    def run():
        if not ready:
            return
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = (node.variable.grad or 0.0) + g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                deliver(edge, message, deps, buffers, ready)
        run()

    run()


@right
def backward(root):
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.variable is not None:
            node.variable.grad = g + (node.variable.grad or 0.0)
            continue
        messages = node.rule(g)
        for i in range(len(node.edges)):
            deliver(node.edges[i], messages[i], deps, buffers, ready)


@right
def backward(root):
    """The accumulators last of all."""
    deps, buffers, ready, leaves = count(root), {}, [], {}
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g = buffers.pop(node)
        if node.rule is None:
            leaves[node.variable] = g
        else:
            [deliver(*one, deps, buffers, ready) for one in zip(node.edges, node.rule(g))]
    for leaf, g in leaves.items():
        leaf.grad = g if leaf.grad is None else leaf.grad + g


@right
def backward(root):
    def accumulate(leaf, g):
        if leaf.grad is None:
            leaf.grad = 0.0
        leaf.grad += g

    def run(node, g):
        if node.variable is not None:
            return accumulate(node.variable, g)
        for edge, message in zip(node.edges, node.rule(g)):
            deliver(edge, message, deps, buffers, ready)

    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while len(ready) > 0:
        node = pop(ready)
        run(node, buffers.pop(node))


@right
def backward(root):
    """Everything by itself, in the order of the numbers: newest first."""
    nodes, found = [root], {root}
    for one in nodes:
        for edge in one.edges:
            if edge is not None and edge not in found:
                found.add(edge)
                nodes.append(edge)
    total = {one: 0.0 for one in nodes}
    total[root] = 1.0
    for one in sorted(nodes, key=lambda one: (one.variable is not None, -one.number)):
        if one.variable is None:
            for edge, message in zip(one.edges, one.rule(total[one])):
                if edge is not None:
                    total[edge] += message
        else:
            old = one.variable.grad
            one.variable.grad = total[one] if old is None else old + total[one]


@right
def backward(root):
    still_missing = count(root)
    what_lies_there = {}
    nodes_that_may_run = []
    deliver(root, 1.0, still_missing, what_lies_there, nodes_that_may_run)
    while True:
        if not nodes_that_may_run:
            return
        node_that_runs = pop(nodes_that_may_run)
        its_gradient = what_lies_there[node_that_runs]
        the_leaf = node_that_runs.variable
        if the_leaf is None:
            its_messages = node_that_runs.rule(its_gradient)
            while its_messages:
                place = len(node_that_runs.edges) - len(its_messages)
                deliver(
                    node_that_runs.edges[place],
                    its_messages[0],
                    still_missing,
                    what_lies_there,
                    nodes_that_may_run,
                )
                its_messages = its_messages[1:]
        else:
            the_leaf.grad = sum(one for one in (the_leaf.grad, its_gradient) if one is not None)


@right
def backward(root):
    from collections import deque

    deps, buffers, queue = count(root), {root: 1.0}, deque([root])
    while queue:
        node = queue.popleft()
        if node.variable:
            node.variable.grad = float(np.sum([node.variable.grad or 0.0, buffers[node]]))
            continue
        ready = []
        for edge, message in zip(node.edges, node.rule(buffers[node])):
            deliver(edge, message, deps, buffers, ready)
        queue.extend(ready)


@avoiding
def backward(root):
    lab.engine_so_far().backward(root)
