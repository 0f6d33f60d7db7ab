# ---
# jupyter:
#   autograd_lab:
#     id: "06"
#     minutes: 35
#     points: 9
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
# `x` (shape `[8, 5]`) does not require grad, `w` (shape `[5, 3]`) does. How many **numbers** do the nodes of
# these lines keep in all, counting what they save and not counting a result twice?
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
item(
    "06.1",
    kind="number",
    points=2,
    hints=[
        "Write down the three rules, and which numbers of the forward run are in them.",
        "To w goes x^T g: x is kept. Nothing goes to x, so w is not kept. tanh is written with its result.",
        "x has 40 numbers, t has 24; the sum keeps nothing.",
    ],
    wrong=[
        wrong_answer(
            79,
            "",
            "w is not kept: it would only be needed for the gradient of x, which does not require grad.",
        ),
        wrong_answer(
            40,
            "",
            "tanh keeps something as well: its result t, 24 numbers, from which its slope 1 - t**2 is computed.",
        ),
        wrong_answer(
            88, "", "The sum t + 1 keeps nothing: its rule is g, with no number of the forward run in it."
        ),
        wrong_answer(24, "", "The product keeps x, 40 numbers: the gradient of w is x^T g."),
        wrong_answer(39, "", "It is x that is kept, not w: the gradient of w is x^T g."),
    ],
)

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
# `train` runs a tiny recurrent network over a sequence: each turn computes a new state `h` and a loss, and calls
# backward. At the second turn it fails, because the state still hangs on the graph of the turn before. Mend it so
# that every turn's gradient comes from **this turn only**. The charm `retain_graph=True` is not the cure.


# %%
### BEGIN SOLUTION
def train(w, xs):
    """h = tanh(w * h + x) for each x, loss h**2 per turn. Returns w.grad after each turn (cleared in between)."""
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
#     """h = tanh(w * h + x) for each x, loss h**2 per turn. Returns w.grad after each turn (cleared in between)."""
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
)


@probe(points=1)
def two_turns(train):
    "Two turns, w = 0.8"
    return train(torch.tensor(0.8, requires_grad=True), [0.1, -0.4])


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
    return [len(set(passes)), len(passes), grads[-1]]


@wrong("M14", "The charm hides the error, but each turn's gradient now comes from all turns before as well, and the work grows. "
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
    "The second turn still walks into the graph of the first, whose saved values are gone: cut h loose with detach().",
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


@wrong("M16", "You cut h after the update, inside of this turn's own loss: then nothing of w is left in it.")
def train(w, xs):
    h, grads = torch.tensor(0.5), []
    for x in xs:
        h = torch.tanh(w * h + x).detach()
        loss = h * h * w / w.detach()
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
