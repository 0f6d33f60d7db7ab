# ---
# jupyter:
#   autograd_lab:
#     id: "05"
#     minutes: 40
#     points: 11
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
        "Two kinds of tensors keep a .grad: leaves that require a gradient, and those for which retain_grad was called.",
        "m is a leaf (nothing of k * k is recorded) without a gradient; h is not a leaf, but retains its gradient.",
    ],
    wrong=[
        wrong_answer(
            [True, False, False, False, False, *TRUE_GRADS],
            "M09",
            "k and m do not require a gradient, and are leaves all the same. A leaf is what no recorded operation made.",
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
            "Not every leaf has one: k and m do not require a gradient. And h is not a leaf, but was asked to retain its gradient.",
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
@variant(x=range(2, 13), k=range(3, 61))
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
# Mend it. (Look at `w.grad` from turn to turn. A caller may hand in a `w` that has a gradient already.)


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
    equivalent={
        "6: w - 3 -> 3 - w": "the square is the same",
        "10: lr * w.grad -> w.grad.mul_(lr)": "the next turn clears it, and nobody asks for the gradient of the last",
        "5: passed over where loss is negative": "no square is negative",
    },
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
    "It is still the same leaf afterwards, and has moved; no turn at all, turns that jump over 3, stay there, or stay below 0"
    w = torch.tensor(-2.0, requires_grad=True)
    values = learn(w, 4, 0.3)
    found = [w.is_leaf, w.requires_grad, w.item(), values[-1], torch.is_grad_enabled(), unhooked(w)]
    there = learn(torch.tensor(3.0, requires_grad=True), 3, 0.25)
    below = learn(torch.tensor(-0.712399, requires_grad=True), 3, 0.05)
    below += learn(torch.tensor(-1e4, requires_grad=True), 2, 0.25)
    return [*found, learn(w, 0, 0.3), *(learn(w, 2, 0.6) for _ in range(2)), w.item(), there, below]


@wrong(
    "M10",
    "Every update follows the sum of the gradients of all turns so far. Empty w.grad in every turn, before backward: w.grad = None.",
)
def learn(w, turns, lr):
    values, slopes = [], 0.0
    for _ in range(turns):
        slopes = slopes + torch.autograd.grad((w - 3) ** 2, w)[0]
        with torch.no_grad():
            w -= lr * slopes
        values.append(w.item())
    return values


@wrong(
    "M10",
    "Every update follows the sum of the gradients of all turns so far. Empty w.grad in every turn, before backward: w.grad = None.",
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
    "Every update follows the sum of the gradients of all turns so far. Empty w.grad in every turn, before backward: w.grad = None.",
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
    "The parameter itself is afterwards where it was before. Under no_grad write into w itself: w -= ...",
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


@wrong("M11", "The number 0 is not a tensor, and .grad holds a tensor or None. Write w.grad = None.")
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


@wrong(
    "",
    "Recording is still switched off when your function returns, so whatever comes after it has no gradient. `with torch.no_grad():` "
    "switches it on again by itself.",
    score=3,
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        torch.set_grad_enabled(True)
        w.grad = None
        loss = (w - 3) ** 2
        loss.backward()
        torch.set_grad_enabled(False)
        w -= lr * w.grad
        values.append(w.item())
    return values


@look("It steps by a formula of its own, without a backward pass.")
def by_a_formula(learn):
    with lab.record() as trace:
        learn(torch.tensor(1.0, requires_grad=True), 2, 0.25)
    return not any(event["k"] == "done" for event in trace.events)


@wrong("", "Uphill: the gradient points to where the loss grows. Subtract it; and clear it in every turn.")
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w += lr * w.grad
        values.append(w.item())
    return values


@wrong("", "Uphill: the gradient points to where the loss grows. Subtract it.")
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w.grad = None
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w += lr * w.grad
        values.append(w.item())
    return values


@wrong(
    "",
    "w stands still: nothing is subtracted, or only 0. Clear first, then call backward, then update with what has come.",
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        loss = (w - 3) ** 2
        loss.backward()
        w.grad.zero_()
        with torch.no_grad():
            w -= lr * w.grad
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


@wrong(
    "",
    "Every value is the last one: what you keep follows w when it is written to. Keep the number, which item() gives.",
    score=1,
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w.grad = None
        loss = (w - 3) ** 2
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.detach())
    return values


@wrong("", "The values are rounded. Give the numbers as they are.", score=3)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w.grad = None
        ((w - 3) ** 2).backward()
        with torch.no_grad():
            w -= lr * w.grad
        values.append(round(w.item(), 4))
    return values


@wrong(
    "",
    "Where little is left to learn, values are missing. The question asks for one after each turn.",
    score=3,
)
def learn(w, turns, lr):
    values = []
    for _ in range(turns):
        w.grad = None
        ((w - 3) ** 2).backward()
        if abs(w.grad.item()) < 1e-3:
            break
        with torch.no_grad():
            w -= lr * w.grad
        values.append(w.item())
    return values


@wrong(
    "",
    "The gradient of an earlier turn still pushes, a little less each time. Take away lr times the gradient of this turn, and nothing else.",
)
def learn(w, turns, lr):
    optimizer = torch.optim.SGD([w], lr=lr, momentum=0.9)
    values = []
    for _ in range(turns):
        optimizer.zero_grad()
        ((w - 3) ** 2).backward()
        optimizer.step()
        values.append(w.item())
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


@avoiding
def learn(w, turns, lr):
    """The slope by hand: 2 * (w - 3)."""
    values = []
    while len(values) < turns:
        with torch.no_grad():
            w -= lr * 2 * (w - 3)
        values.append(w.item())
    return values


# %% [markdown]
# ## 05.4 · An engine that grows: deliver (1 point)
#
# The fourth piece of your engine. During a pass, the gradients in between are kept in a dict of that pass, `buffers`:
# `{node: the sum of the messages that have arrived}`. Write `deliver(node, g, deps, buffers, ready)`, for one message `g` to
# `node`:
#
# - add it to what lies at the node; at first, nothing lies there, and the node is not in `buffers`,
# - `deps[node]` says for how many messages the node still waits. It is one fewer now,
# - if that was the last one, put the node at the end of the list `ready`,
# - where `node` is `None`, a dead end, nothing happens.
#
# A message may also be an array, and another node may hold the same one: make a new array for the sum.

# %%
engine = lab.engine_so_far("deliver")
engine


# %%
def deliver(node, g, deps, buffers, ready):
    """Add the message `g` to what lies at `node`; after its last one, `node` is ready."""
    ### BEGIN SOLUTION
    if node is None:
        return
    if node in buffers:
        g = buffers[node] + g
    buffers[node] = g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)
    ### END SOLUTION


# %%
lab.check("05.4", deliver)

# %% [markdown]
# Press **backward**, then **Step**: the lab adds, counts down, and pushes a node that is ready. The tab **your engine** lights your line
# that does the same. (In the lab a node may have several outputs, a slot for each. Here every node is plain.)
# `lab.step_code(deliver, beside="deliver")` goes through your lines one by one.

# %%
lab.step(deliver, beside="deliver")

# %% tags=["item"]
item(
    "05.4",
    kind="code",
    hints=[
        "The four lines of the list are four steps in your function. Begin with the last one: `if node is None: return`.",
        "The first message is stored as it is, each later one is added: buffers[node] = buffers[node] + g.",
        "Then deps[node] -= 1, and if deps[node] is 0 now, ready.append(node).",
    ],
    equivalent={
        "7: g = buffers[node] + g, only where not (deps[node] == 0)": "this message is still waited for",
        "7: g = buffers[node] + g, only where not (node is None)": "the function has returned where it is",
    },
)


@shared
def sent(deliver, messages, deps, passes=1):
    "Deliver these messages, each a name and a number, and say what deps, buffers and ready are then. m is the accumulator of a leaf."
    from autograd_lab.course.own_engine import Node, Value

    nodes = {name: Node(name, [None]) for name in deps}
    if "m" in nodes:
        nodes["m"] = Value(0.0, requires_grad=True).accumulator
        nodes["m"].name = "m"
    found = []
    for _ in range(passes):
        left = {nodes[name]: number for name, number in deps.items()}
        buffers, ready = {}, []
        for name, g in messages:
            deliver(nodes.get(name), g, left, buffers, ready)
        found.append(
            {
                "deps": {one.name: left[one] for one in left},
                "buffers": {one.name: buffers[one] for one in buffers},
                "ready": [one.name for one in ready],
            }
        )
    leaves = [one.variable.grad for one in nodes.values() if one.variable is not None]
    return (
        found[0]
        if passes == 1
        else [*found, leaves, sorted({name for one in nodes.values() for name in vars(one)})]
    )


@probe(
    points=0.5,
    cases=[
        ([["n", 5.0]], {"n": 1}),
        ([["n", 5.0]], {"n": 2}),
        ([["n", 5.0], ["n", 2.0]], {"n": 2}),
        ([["n", 5.0], ["m", 1.0], ["n", 2.0]], {"m": 1, "n": 3}),
        ([["n", 5.0], [None, 4.0], ["n", -7.0]], {"m": 1, "n": 2}),
    ],
)
def messages(deliver, messages, deps):
    "Messages {0}, where deps is {1}"
    return sent(deliver, messages, deps)


@probe(
    points=0.5,
    hidden=True,
    rtol=1e-9,
    cases=[
        ([["n", 0.0], ["n", 0.0], ["m", 0.0], ["n", 3.0]], {"m": 2, "n": 3}),
        ([["n", 2.0], ["m", 0.0], ["n", -2.0]], {"m": 1, "n": 2}),
        (
            [[None, 1.0], ["q", -2.0], ["n", 0.5], ["q", 2.0], ["n", 0.25], ["m", 4.0], ["q", 1.0]],
            {"m": 1, "n": 2, "q": 3},
        ),
    ],
)
def other_messages(deliver, messages, deps):
    "Zeros, negative messages, and nodes that are ready in another order: {0}, where deps is {1}, in two passes; and one array for two nodes of the same name"
    found = sent(deliver, messages, deps, passes=2)
    from autograd_lab.course.own_engine import Node

    n, m, g = Node("Op", [None]), Node("Op", [None]), np.array([1000.1, 2000.2])
    left, held, order = {n: 2, m: 2}, {}, []
    sent_later = np.array([10.0, 20.0]), np.array([100.0, 200.0])
    for node, message in ((n, g), (m, g), *zip((n, m), sent_later)):
        deliver(node, message, left, held, order)
    last = Node("Last", [None])
    left[last] = 3
    for _ in range(3):  # the same message along three edges
        deliver(last, g, left, held, order)
    stay = [one.tolist() for one in (g, *sent_later)]
    return [found, *(held[one].tolist() for one in (n, m, last)), stay, [one is n for one in order]]


@look("The lab's own engine delivers, instead of the function.")
def with_the_labs_piece(deliver):
    from autograd_lab.course.growing import runs_the_courses

    return runs_the_courses("deliver", lambda: sent(deliver, [["n", 5.0]], {"n": 1}))


@wrong("M07", "The second message replaces the first one at its node. Add it to what lies there.")
def deliver(node, g, deps, buffers, ready):
    if node is not None:
        buffers[node] = g
        deps[node] -= 1
        if deps[node] == 0:
            ready.append(node)


@wrong(
    "M06",
    "Your node is ready with its first message, while it still waits for others. Put it on the list only when deps[node] is 0.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    if node not in buffers:
        ready.append(node)
    buffers[node] = buffers.get(node, 0.0) + g
    deps[node] -= 1


@wrong(
    "M06",
    "Your node goes on the list with every message, and would run as often. Once is enough, with the last one: when deps[node] is 0.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 0.0) + g
    deps[node] -= 1
    ready.append(node)


@wrong(
    "",
    "The messages are added, but deps stays as it was, so no node is ever ready. It waits for one message fewer now: deps[node] -= 1.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 0.0) + g
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "A node that has got its last message does not come on the list. Do you count down before you ask whether deps[node] is 0, and append it then?",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 0.0) + g
    if deps[node] == 0:
        ready.append(node)
    deps[node] -= 1


@wrong(
    "M03",
    "At a dead end, None, your code looks for a number in deps or buffers. Nobody wants that message: return at once.",
)
def deliver(node, g, deps, buffers, ready):
    buffers[node] = buffers.get(node, 0.0) + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "M06",
    "A node is ready while one message is still missing: your test comes before, or at, 1. It is ready at 0.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 0.0) + g
    if deps[node] == 2:
        ready.append(node)
    deps[node] -= 1


@wrong(
    "",
    "Your code looks for the node where it is not: buffers is empty before the first message. Ask first, or use buffers.get(node, 0.0).",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] += g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "M06",
    "Your node is ready one message too early: deps[node] says for how many it still waits, and that must be 0.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 0.0) + g
    deps[node] -= 1
    if deps[node] <= 1:
        ready.append(node)


@wrong("", "The first message is there twice: it is put at the node, and then added once more.")
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers.setdefault(node, g)
    buffers[node] = buffers[node] + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong("", "Where two messages meet you multiply. They come on different paths, and are added.")
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 1.0) * g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "M10",
    "Nothing lies in buffers afterwards. A node in between keeps no gradient of its own, so its sum lies there until it runs.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    node.grad = getattr(node, "grad", 0.0) + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "Numbers are right. But if a message is an array, your sum is written into it, and another node may have the same array: make a new "
    "one for the sum.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    if node in buffers:
        buffers[node] += g
    else:
        buffers[node] = g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "Numbers are right. But if a message is an array, your sum is written into it, and another node may have the same array: make a new "
    "one for the sum.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    if node in buffers:
        g += buffers[node]
    buffers[node] = g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "A node whose sum is 0 is not ready. Its message is on its way all the same, and others wait for it.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers[node] + g if node in buffers else g
    deps[node] -= 1
    if deps[node] == 0 and np.any(buffers[node]):
        ready.append(node)


@wrong(
    "",
    "Two nodes that are called alike are taken for one. A graph may have many products: a node is known by itself, not by what it is called.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    there = next((one for one in buffers if one.name == node.name), node)
    buffers[there] = buffers[there] + g if there in buffers else g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "Right in 32 bits, but a message has 64: half of the digits are lost. Add the numbers and arrays as they come.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = np.float32(buffers.get(node, 0.0)) + np.asarray(g, np.float32)
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "A second pass begins with what the first one has left. Write the sums into the `buffers` that you are given, and keep none of your own.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready, mine={}):  # noqa: B006 (it is the mistake)
    if node is None:
        return
    mine[node] = buffers[node] = mine.get(node, 0.0) + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "M08",
    "You write into .grad of the leaf, too. That is the work of its accumulator, later, when it runs: here the message lies in `buffers`.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 0.0) + g
    if node.variable is not None:
        node.variable.grad = (node.variable.grad or 0.0) + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "Accumulators are left out. They are nodes like all others: they get messages, and are ready after the last one.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None or node.variable is not None:
        return
    buffers[node] = buffers.get(node, 0.0) + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "", "buffers has a list of the messages at each node. Add them up when they come: one number lies there."
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers.setdefault(node, []).append(g)
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "A node that is ready is put in front of those that were ready before. It belongs at the end of the list.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node is not None:
        buffers[node] = buffers.get(node, 0) + g
        deps[node] -= 1
        if not deps[node]:
            ready.insert(0, node)


@wrong(
    "",
    "After the last message of a node, deps still says 1. Count down for each message, the last one as well.",
)
def deliver(node, g, deps, buffers, ready):
    if node is not None:
        buffers[node] = buffers.get(node, 0) + g
        if deps[node] == 1:
            ready.append(node)
        else:
            deps[node] -= 1


@wrong(
    "",
    "A node that waits for a single message is never ready. After each message, the first one as well, ask whether it was the last.",
)
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    if node not in buffers:
        buffers[node] = g
        deps[node] -= 1
        return
    buffers[node] = buffers[node] + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong("", "A node that is ready is gone from deps. It stays there, with 0.")
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.get(node, 0) + g
    deps[node] -= 1
    if deps[node] == 0:
        del deps[node]
        ready.append(node)


@wrong("", "What lies in buffers is a list of messages. Add each one to the sum when it arrives.")
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers.setdefault(node, []).append(g)
    deps[node] -= 1
    if deps[node] == 0:
        buffers[node] = sum(buffers[node])
        ready.append(node)


@wrong(
    "M11",
    "A message of 0 is not counted, so its node waits for ever. It is a message like all others.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    import numpy as np

    if node is None or not np.any(g):
        return
    buffers[node] = buffers.get(node, 0) + g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@wrong(
    "",
    "A message may be an array, and Python cannot say whether an array of several numbers is true. Ask whether the node is in buffers.",
    score=0.5,
)
def deliver(node, g, deps, buffers, ready):
    if node:
        buffers[node] = (buffers.get(node) or 0) + g
        deps[node] = deps[node] - 1
        if deps[node] == 0:
            ready.append(node)


@right
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = buffers.setdefault(node, 0 * g)
    buffers[node] += g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@right
def deliver(node, g, deps, buffers, ready):
    """The first message is copied, and the copy is its own: what comes later may be written into it."""
    import copy

    if node is None:
        return
    if node in buffers:
        buffers[node] += g
    else:
        buffers[node] = copy.deepcopy(g)
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


@right
def deliver(node, g, deps, buffers, ready):
    if node is not None:
        buffers[node] = buffers.get(node, 0.0) + g
        deps[node] -= 1
        if deps[node] == 0:
            ready.append(node)


@right
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    try:
        total = buffers[node] + g
    except KeyError:
        total = g
    buffers[node] = total
    deps[node] = deps[node] - 1
    if not deps[node]:
        ready.append(node)


@right
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return None
    buffers.update({node: g if node not in buffers else g + buffers[node]})
    deps.update({node: deps[node] - 1})
    ready.extend([node] if deps[node] == 0 else [])


@right
def deliver(node, g, deps, buffers, ready):
    def add():
        lies_there = buffers.setdefault(node, 0.0)
        buffers[node] = lies_there + g

    def one_fewer():
        deps[node] -= 1
        return deps[node]

    if node is not None:
        add()
        if one_fewer() == 0:
            ready.append(node)


@right
def deliver(node, g, deps, buffers, ready):
    if not node:
        return
    arrived = [message for message in (buffers.get(node), g) if message is not None]
    buffers[node] = sum(arrived)
    was_the_last_one = deps[node] == 1
    deps[node] -= 1
    if was_the_last_one:
        ready.insert(len(ready), node)


@right
def deliver(node, g, deps, buffers, ready):
    if node is None:
        return
    buffers[node] = np.add(buffers.get(node, 0.0), g)
    deps[node] -= 1
    if deps[node] < 1:
        ready += [node]


@avoiding
def deliver(node, g, deps, buffers, ready):
    lab.engine_so_far().deliver(node, g, deps, buffers, ready)
