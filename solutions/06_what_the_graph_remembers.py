# ---
# jupyter:
#   autograd_lab:
#     id: "06"
#     minutes: 35
#     points: 11
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
@variant(n=range(6, 16), d=range(3, 10), k=range(2, 8))
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
                "Too much twice over: w is not kept, for x needs no gradient; and of p and t only t is.",
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
            "The other way round in 2 and 3: exp saves its result, and a - 2 saves nothing, for its rule is g.",
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
        "10: w.grad.item() -> w.grad": "a tensor with one number is taken for the number, and each turn has its own"
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
    "Work per turn does not grow"
    w = torch.tensor(1.1, requires_grad=True)
    with lab.record() as trace:
        grads = train(w, [0.2] * 6)
    passes, count = [], 0
    for event in trace.events:
        count += event["k"] == "vjp"
        if event["k"] == "done":
            passes.append(count)
            count = 0
    grows = bool(passes) and passes[-1] > passes[0]
    return [grows, grads, train(w, [0.4, -0.3]), train(w, [])]


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


@wrong("M10", "The gradient was cleared in each turn; without that line the turns add up.")
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


@right
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
