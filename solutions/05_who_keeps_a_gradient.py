# ---
# jupyter:
#   autograd_lab:
#     id: "05"
#     minutes: 35
#     points: 10
# ---

# %% [markdown]
# # 05 · Exercises: who keeps a gradient?
#
# Put your answers in place of the dots and run the check below. `lab.hint("05.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 05.1 · Flags (4 points)
#
# ```python
# w = torch.tensor(4.0, requires_grad=True)
# k = torch.tensor(2.0)
# h = w * k
# h.retain_grad()
# m = k * k
# y = h * m
# y.backward()
# ```
#
# Take `w`, `k`, `h`, `m` and `y`, in this order: is it a leaf? And does it have a `.grad` afterwards that is
# not `None`? Answer each with `True` or `False`.

# %%
### BEGIN SOLUTION
is_leaf = [True, True, False, True, False]
has_grad = [True, False, True, False, False]
### END SOLUTION
### BEGIN STUB
# is_leaf = [..., ..., ..., ..., ...]  # w, k, h, m, y
# has_grad = [..., ..., ..., ..., ...]
### END STUB

# %%
lab.check("05.1", [*is_leaf, *has_grad])

# %% tags=["item"]
TRUE_LEAVES, TRUE_GRADS = [True, True, False, True, False], [True, False, True, False, False]
item(
    "05.1",
    kind="predict",
    points=4,
    partial=True,
    hints=[
        "A leaf is what no recorded operation has made. What is recorded of k * k?",
        "A .grad is kept by leaves that require a gradient, and by what was asked to retain it.",
        "m is a leaf (nothing of k * k is recorded) without a gradient; h is none, but retains its own.",
    ],
    wrong=[
        wrong_answer(
            [True, False, False, False, False, *TRUE_GRADS],
            "M09",
            "k and m do not require a gradient; that makes them leaves, not the contrary. A leaf is what no recorded operation made.",
            score=3.2,
        ),
        wrong_answer(
            [True, True, False, False, False, *TRUE_GRADS],
            "M09",
            "m was computed, but from tensors that need no gradient: nothing was recorded, so it is a leaf too.",
            score=3.6,
        ),
        wrong_answer(
            [True, True, True, True, False, *TRUE_GRADS],
            "M09",
            "retain_grad makes h keep its gradient, not a leaf: the multiplication that made it was recorded.",
            score=3.6,
        ),
        wrong_answer(
            [False, False, True, True, True, *TRUE_GRADS],
            "M09",
            "You have it upside down. A leaf is where a path back ends, what no recorded operation made: w, k and m.",
        ),
        wrong_answer(
            [*TRUE_LEAVES, True, False, True, False, True],
            "M08",
            "y is not a leaf and nobody asked it to retain its gradient: the 1 it starts with is not kept.",
            score=3.6,
        ),
        wrong_answer(
            [*TRUE_LEAVES, True, False, False, False, False],
            "M08",
            "h was asked to retain its gradient before backward, so it has one.",
            score=3.6,
        ),
        wrong_answer(
            [*TRUE_LEAVES, True, True, True, False, False],
            "M03",
            "k does not require a gradient: nothing is computed for it, and its .grad stays None.",
            score=3.6,
        ),
        wrong_answer(
            [*TRUE_LEAVES, True, True, True, True, False],
            "M03",
            "k and m do not require a gradient: nothing is computed for them, and their .grad stays None.",
            score=3.2,
        ),
        wrong_answer(
            [*TRUE_LEAVES, True, True, False, True, False],
            "M08",
            "Not every leaf has one: k and m do not require a gradient. And h, no leaf, was asked to retain its own.",
            score=2.8,
        ),
        wrong_answer(
            [*TRUE_LEAVES, True, True, True, True, True],
            "M08",
            "Backward computes a gradient only where one is needed, and keeps it only at leaves that require a gradient and where "
            "retain_grad asked.",
            score=2.8,
        ),
        wrong_answer(
            [True, False, False, False, False, True, True, True, True, True],
            "M08",
            "Backward computes a gradient at every node, but keeps it only at leaves that require a gradient and where retain_grad asked.",
            score=2,
        ),
    ],
)

# %% [markdown]
# ## 05.2 · Two passes (2 points)
#
# `x = {x}`. What does `x.grad` hold after each of the three calls of backward?
#
# ```python
# (x * x).backward()
# (x * {k}).backward()
# x.grad = None
# (x * x * x).backward()
# ```

# %%
### BEGIN SOLUTION
held = [4, 9, 12]
### END SOLUTION
### BEGIN STUB
# held = [..., ..., ...]  # three numbers
### END STUB

# %%
lab.check("05.2", held)


# %% tags=["item"]
@variant(x=range(2, 9), k=range(3, 16))
def two_passes(x=2, k=5):
    first, third = 2 * x, 3 * x**2
    return varied(
        answer=[first, first + k, third],
        hints=[
            f"The three gradients by themselves are {first}, {k} and {third}.",
            "The accumulator of x adds to what is there.",
            f"After the second call: {first} + {k}. Then it is cleared.",
        ],
        wrong=[
            wrong_answer(
                [first, k, third],
                "M10",
                f"The second call does not overwrite: the accumulator adds {k} to the {first} that is there.",
                score=1.33,
            ),
            wrong_answer(
                [first, first + k, first + k + third],
                "M10",
                "You went on adding. Before the third call `.grad` was set to None: it starts again from nothing.",
                score=1.33,
            ),
            wrong_answer(
                [first, first + k, x**3],
                "",
                f"The third is the value of x * x * x. Its slope at {x} is 3 * x * x.",
                score=1.33,
            ),
            wrong_answer(
                [first, first * k, third],
                "",
                f"Gradients of two passes are added, not multiplied: {first} + {k}.",
                score=1.33,
            ),
            wrong_answer(
                [x**2, x * k, x**3],
                "",
                f"These are the values of the expressions at {x}, not their slopes.",
                score=0.67 if x == 2 else 0,  # then the first is right
            ),
        ],
    )


item("05.2", kind="number", points=2, partial=True, variant=two_passes)

# %% [markdown]
# ## 05.3 · Why does it learn backwards? (4 points)
#
# This loop should bring `w` to 3, where `(w - 3)**2` is least. Instead it jumps over 3, each time further.
# Mend it. (Look at `w.grad` from turn to turn.)


# %%
### BEGIN SOLUTION
def learn(w, turns, lr):
    """Plain gradient descent on (w - 3)**2; w is a leaf. Returns the values of w after each turn."""
    values = []
    for _ in range(turns):
        loss = (w - 3) ** 2
        w.grad = None
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.item())
    return values


### END SOLUTION
### BEGIN STUB
# def learn(w, turns, lr):
#     """Plain gradient descent on (w - 3)**2; w is a leaf. Returns the values of w after each turn."""
#     values = []
#     for _ in range(turns):
#         loss = (w - 3) ** 2
#         loss.backward()
#         with torch.no_grad():
#             w -= lr * w.grad
#         values.append(w.item())
#     return values
### END STUB


# %%
lab.check("05.3", learn)

# %% tags=["item"]
item(
    "05.3",
    kind="debug",
    hints=[
        "Print w.grad in each turn and compare it with 2 * (w - 3).",
        "The accumulator adds up the gradients of all turns. One line must empty it.",
        "`w.grad = None` before loss.backward(), in every turn.",
    ],
    equivalent={"6: w - 3 -> 3 - w": "the square is the same"},
)


@probe(points=1)
def two_turns(learn):
    "From w = 0, two turns with lr = 0.25"
    return learn(torch.tensor(0.0, requires_grad=True), 2, 0.25)


@probe(points=1, cases=[(1,), (5,), (40,)])
def it_settles(learn, turns):
    "From w = 10, lr = 0.1"
    return learn(torch.tensor(10.0, requires_grad=True), turns, 0.1)[-1]


@probe(points=1, hidden=True)
def an_old_gradient(learn):
    "A gradient that was there before does not count"
    w = torch.tensor(1.0, requires_grad=True)
    w.grad = torch.tensor(100.0)
    return learn(w, 3, 0.2)


@probe(points=1, hidden=True)
def the_same_parameter(learn):
    "It is still the same leaf afterwards, and has moved"
    w = torch.tensor(-2.0, requires_grad=True)
    values = learn(w, 4, 0.3)
    found = [w.is_leaf, w.requires_grad, w.item(), values[-1]]
    return [*found, learn(w, 0, 0.3), learn(w, 2, 0.6), w.item()]


@wrong(
    "M10",
    "The gradients of all turns add up in w.grad. Empty it in every turn, before backward: w.grad = None.",
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.item())
    return values


@wrong(
    "M10",
    "The gradients of all turns add up in w.grad. Empty it in every turn, before backward: w.grad = None.",
)
def learn(w, turns, lr):
    values = []
    w.grad = None
    for _ in range(turns):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.item())
    return values


@wrong(
    "",
    "A gradient left over from before the loop spoils the first turn: clear before backward, not after the update.",
    score=3,
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        w.grad = None
        values.append(w.item())
    return values


@wrong(
    "M15",
    "The parameter itself has not moved: your steps went into new tensors. Under no_grad write into w itself: "
    "w -= ...",
    score=3,
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w = w.detach().requires_grad_()
        loss = (w - 3) ** 2
        loss.backward()
        w = w - lr * w.grad
        values.append(w.item())
    return values


@wrong(
    "",
    "Dividing the sum by the number of turns gives the average gradient of the whole way, not that of this place.",
)
def learn(w, turns, lr):
    values = []
    w.grad = None
    for turn in range(1, turns + 1):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad / turn
        values.append(w.item())
    return values


@wrong(
    "",
    "At the update there is None instead of a gradient to follow. Clear first, then call backward, then update.",
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        loss = (w - 3) ** 2
        loss.backward()
        w.grad = None
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.item())
    return values


@wrong(
    "M11",
    "The place is right. But before the first backward there is no gradient at all: w.grad is None, and None cannot be "
    "set to zero. Write w.grad = None.",
    score=1,
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w.grad.zero_()
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.item())
    return values


@wrong("M11", "The number 0 is no tensor, and .grad holds a tensor or None. Write w.grad = None.")
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w.grad = 0
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.item())
    return values


@wrong(
    "M15",
    "In the second turn .grad is None: what you call w then is not the leaf of the beginning, but a tensor "
    "computed from it. Write into the old one, under no_grad.",
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w.grad = None
        loss = (w - 3) ** 2
        loss.backward()
        w = w - lr * w.grad
        values.append(w.item())
    return values


@wrong("", "These are the values before each turn. Note the number after the update.")
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        values.append(w.item())
        loss = (w - 3) ** 2
        w.grad = None
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
    return values


@right
def learn(w, turns, lr):
    optimizer = torch.optim.SGD([w], lr=lr)
    values = []
    for _ in range(turns):
        optimizer.zero_grad()
        ((w - 3) ** 2).backward()
        optimizer.step()
        values.append(w.item())
    return values


@right
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        (g,) = torch.autograd.grad((w - 3) ** 2, w)
        with torch.no_grad():
            w.sub_(lr * g)
        values.append(w.item())
    return values


@right
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        if w.grad is not None:
            w.grad.zero_()
        loss = (w - 3) ** 2
        loss.backward()
        w.data -= lr * w.grad
        values.append(w.item())
    return values


@right
def learn(w, turns, lr):
    def one_turn():
        squared_distance = torch.square(w - 3)
        w.grad = None
        squared_distance.backward()
        with torch.no_grad():
            w.add_(w.grad, alpha=-lr)
        return float(w)

    return [one_turn() for _ in range(turns)]


@right
def learn(w, turns, lr):
    """No loop: a call for each turn."""
    if turns == 0:
        return []
    w.grad = None
    ((w - 3) * (w - 3)).backward()
    with torch.no_grad():
        w.copy_(w - lr * w.grad)
    return [w.item(), *learn(w, turns - 1, lr)]


@right
@torch.no_grad()
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        with torch.enable_grad():
            gradient = torch.autograd.grad((3 - w).pow(2), [w])[0]
        w -= gradient * lr
        values += [w.detach().clone()]
    return values


@right
def learn(w, turns, lr):
    """The slope by hand: 2 * (w - 3)."""
    values = []
    while len(values) < turns:
        with torch.no_grad():
            w -= lr * 2 * (w - 3)
        values.append(w.item())
    return values
