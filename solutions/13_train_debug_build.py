# ---
# jupyter:
#   autograd_lab:
#     id: "13"
#     minutes: 90
#     points: 15
# ---

# %% [markdown]
# # 13 · Exercises: train, debug, build
#
# Put your answers in place of the dots and run the check below. `lab.hint("13.1")` gives
# the first of three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 13.1 · The training step (3 points)
#
# Four of these seven lines make one training step of a model that is in training mode. Give their letters in
# order. If two orders do the same, either is right.
#
# - **A** `optimizer.step()`
# - **B** `loss.backward(retain_graph=True)`
# - **C** `loss = cross_entropy(model(x), y)`
# - **D** `loss.backward()`
# - **E** `optimizer.zero_grad()`
# - **F** `model.eval()`
# - **G** `loss = loss.detach()`

# %%
### BEGIN SOLUTION
parts = ["E", "C", "D", "A"]
### END SOLUTION
### BEGIN STUB
# parts = [..., ..., ..., ...]  # four letters
### END STUB

# %%
lab.check("13.1", parts)

# %% tags=["item"]
item(
    "13.1",
    kind="order",
    points=3,
    hints=[
        "Which three lines do not belong here? One keeps what should be freed, one cuts, one is for testing.",
        "The optimizer reads .grad; backward fills it; what was there before must be gone.",
        "Forward, clear, backward, step; clearing may also come first.",
    ],
    accept=[["C", "E", "D", "A"]],
    wrong=[
        wrong_answer(
            ["C", "D", "A"],
            "M10",
            "Nobody clears: each backward adds to what the turns before have left in .grad.",
        ),
        wrong_answer(
            ["C", "D", "E", "A"],
            "M11",
            "You clear after backward and before the step: the optimizer finds None everywhere, and moves nothing.",
        ),
        wrong_answer(
            ["E", "C", "A", "D"],
            "M30",
            "The optimizer steps between forward and backward: it writes into parameters whose values are saved for backward.",
        ),
        wrong_answer(
            ["E", "C", "B", "A"],
            "M14",
            "retain_graph=True keeps the saved values although no second backward comes: each turn has a graph of its own.",
        ),
        wrong_answer(
            ["C", "E", "B", "A"],
            "M14",
            "retain_graph=True keeps the saved values although no second backward comes: each turn has a graph of its own.",
        ),
        wrong_answer(
            ["C", "A", "D", "E"],
            "M30",
            "The optimizer steps between forward and backward: it writes into parameters whose values are saved for backward.",
        ),
        wrong_answer(
            ["C", "D", "A", "E"],
            "M10",
            "Clearing last works from the second turn on; but whatever is in .grad before the first turn goes into its step.",
        ),
        wrong_answer(
            ["E", "C", "G", "D", "A"],
            "M16",
            "After detach there is no graph behind the loss: backward refuses.",
        ),
        wrong_answer(
            ["F", "E", "C", "D", "A"],
            "M16",
            "eval() switches dropout and batch norm to testing; this is training.",
        ),
    ],
)

# %% [markdown]
# ## 13.2 · Five bugs (5 points)
#
# `train` should fit `x @ w + b` to `y`. Each step gets its batch in parts, because a whole batch does not fit, and
# makes **one** update with the gradient of the mean squared error over **all rows** of the step. It has five
# mistakes. You have met each kind before. Mend them.


# %%
### BEGIN SOLUTION
def train(steps, w, b, lr):
    """For each step, a list of parts (x, y), update the leaves w and b in place.

    Returns the mean loss of each step, as floats.
    """
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            guess = x @ w + b
            loss = ((guess - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


### END SOLUTION
### BEGIN STUB
# def train(steps, w, b, lr):
#     """For each step, a list of parts (x, y), update the leaves w and b in place.
#
#     Returns the mean loss of each step, as floats.
#     """
#     losses = []
#     w.grad = b.grad = None
#     for parts in steps:
#         total = 0.0
#         for x, y in parts:
#             guess = torch.tensor((x @ w).tolist()) + b
#             loss = ((guess - y) ** 2).mean()
#             total = total + loss
#             total.backward(retain_graph=True)
#         w = w - lr * w.grad
#         b = b - lr * b.grad
#         losses.append(total.item())
#     return losses
### END STUB


# %%
lab.check("13.2", train)

# %% tags=["item"]
item(
    "13.2",
    kind="debug",
    hints=[
        "Read .grad of w and b after the first backward: one of them is None. Ask lab.why(w).",
        "What does each part's backward add to .grad: its own gradient, or that of the running total? And how large a share of the step?",
        "No tolist; sum() / rows of the step; loss.backward(); w -= under no_grad; clear .grad in every step.",
    ],
    equivalent={
        "14: guess - y -> y - guess": "the square is the same",
        "14: guess - y -> guess.sub_(y)": "nobody else holds guess, and no node has saved it",
        "18: lr * w.grad -> w.grad.mul_(lr)": "the next step clears it, and nobody asks for the gradient of the last",
        "19: lr * b.grad -> b.grad.mul_(lr)": "the next step clears it, and nobody asks for the gradient of the last",
        "9: len(y) -> y.shape[-1]": "y has one dimension",
        "8: passed over where rows is 0": "a step has rows",
        "8: passed over where rows is negative": "no number of rows is negative",
        "8: passed over where total is negative": "no sum of squares is negative",
        "12: passed over where loss is negative": "no sum of squares is negative",
    },
)


@shared
def data(rows, seed):
    rng = np.random.RandomState(seed)
    x, y = rng.randint(-3, 5, (rows, 2)), rng.randint(-4, 7, rows)
    return torch.tensor(x.astype("float64")), torch.tensor(y.astype("float64"))


@shared
def leaves():
    w = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    return w, b


@probe(points=1, cases=[(1,), (3,)])
def one_part(train, rows):
    "One step, one part, rows in it: {0}; w, b and whether w is still the leaf it was"
    w, b = leaves()
    train([[data(rows, 0)]], w, b, 0.1)
    return [w.detach(), b.detach(), w.is_leaf, w.requires_grad]


@probe(points=0.5, cases=[(1, 1), (2, 1), (4, 1)])
def two_parts(train, first, second):
    "One step in two parts, rows in them: {0} and {1}; w and b"
    w, b = leaves()
    train([[data(first, 1), data(second, 2)]], w, b, 0.1)
    return [w.detach(), b.detach()]


@probe(points=0.5, cases=[(1,), (3,)])
def two_steps(train, rows):
    "Two steps of one part each, rows in it: {0}, and a w.grad left over from before; w and b"
    w, b = leaves()
    w.grad = torch.tensor([9.0, 9.0], dtype=torch.float64)
    train([[data(rows, 3)], [data(rows, 4)]], w, b, 0.2)
    return [w.detach(), b.detach()]


@probe(points=1, cases=[(1, 1), (2, 1), (4, 1)])
def the_loss(train, first, second):
    "One step in two parts, rows in them: {0} and {1}; the loss, and whether b has moved"
    w, b = leaves()
    return [train([[data(first, 1), data(second, 2)]], w, b, 0.1), b.item() != 0.5]


@probe(points=1, hidden=True, rtol=1e-9)
def equal_parts(train):
    "A step in three equal parts is the step of the whole batch; and the loss is not rounded"
    x, y = data(6, 5)
    w, b = leaves()
    w.data.div_(7)
    (loss,) = train([[(x[i : i + 2], y[i : i + 2]) for i in (0, 2, 4)]], w, b, 0.3)
    return [w.detach(), b.detach(), 1e-6 < float(loss) * 1e4 % 1 < 1 - 1e-6]


@probe(points=1, hidden=True)
def floats_come_back(train):
    "The losses are plain numbers; no part at all leaves all as it is, and recording is on; the parts are still there for another turn, with other leaves"
    w, b = leaves()
    steps = [[data(2, 6), data(3, 7)], [data(5, 8)], [data(1, 9)]]
    losses = train(steps, w, b, 0.05)
    found = [
        [type(loss).__name__ for loss in losses],
        list(map(len, steps)),
        train([], w, b, 0.05),
        b.detach(),
        torch.is_grad_enabled(),
    ]
    w, b = leaves()
    train(steps, w, b, 0.05)
    found += [b.item(), unhooked(w, b)]
    train(steps, w, b, 0.05)
    found.append(b.detach())
    w, b = leaves()
    x, _ = data(2, 6)
    return [*found, train([[(x, (x @ w + b).detach())]], w, b, 0.05), w.detach(), b.detach()]


@look("No backward runs: the gradients come from formulas.")
def by_a_formula(train):
    with lab.record() as trace:
        train([[data(4, 1), data(7, 2)]], *leaves(), 0.1)
    return not any(event["k"] == "done" for event in trace.events)


@look("The graphs of all parts of a step wait in memory at once, although the whole batch does not fit.")
def keeps_all_graphs(train):
    waiting, most = set(), [0]

    def pack(saved):
        waiting.update(set(saved.shape[:1]) & {4, 7})
        most[0] = max(most[0], len(waiting))
        return saved

    def unpack(saved):
        waiting.clear()
        return saved

    w, b = leaves()
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        train([[data(4, 1), data(7, 2)]], w, b, 0.1)
    return most[0] > 1


@look("It puts the parts of a step together, although the whole batch does not fit.")
def holds_the_whole_batch(train):
    w, b = leaves()
    with lab.record() as trace:
        train([[data(4, 1), data(7, 2)]], w, b, 0.1)
    return any(one["shape"][:1] == [11] for one in trace.tensors)


@wrong(
    "M17",
    "At the update there is None instead of a gradient: nothing has come to w, or to b. Call backward on each "
    "part's loss, and compute it from x @ w + b itself, with its history.",
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            guess = torch.tensor((x @ w).tolist()) + b
            loss = ((guess - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M19",
    "The mean of each part, added up, is not the mean over all rows: every row counts 1 / rows of the whole step.",
    score=1.5,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).mean()
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M19",
    "Dividing each part's mean by the number of parts is right for parts of equal size only: a row of a small part counts too much.",
    score=2.5,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).mean() / len(parts)
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M19",
    "Not every part has as many rows as the first. Count the rows of all parts of the step.",
    score=2.5,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = len(parts) * len(parts[0][1])
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M14",
    "Backward from the running total goes through the earlier parts again, so their gradients are added twice. "
    "Call backward on each part's own loss.",
    score=2.5,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            total = total + ((x @ w + b - y) ** 2).sum() / rows
            total.backward(retain_graph=True)
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total.item())
    return losses


@wrong("M15", "The caller's parameters have not moved: the update went into new tensors.")
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w, b = w.detach().requires_grad_(), b.detach().requires_grad_()
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        w = w - lr * w.grad
        b = b - lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M10",
    "From the second step on, the gradients of the steps before count as well. Clear at the beginning of each step.",
    score=3.5,
)
def train(steps, w, b, lr):
    losses = []
    to_w = to_b = 0.0
    for parts in steps:
        w.grad = b.grad = None
        rows = sum(len(x) for x, _ in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total = total + loss.item()
        to_w, to_b = to_w + w.grad, to_b + b.grad
        with torch.no_grad():
            w -= lr * to_w
            b -= lr * to_b
        losses.append(total)
    return losses


@wrong(
    "M10",
    "From the second step on, the gradients of the steps before count as well. Clear at the beginning of each step.",
    score=3.5,
)
def train(steps, w, b, lr):
    losses = []
    w.grad = b.grad = None
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M10",
    "Only the last part of a step counts: what the earlier ones have gathered is thrown away. Clear once in each step, and let its parts add up.",
    score=2.5,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(x) for x, _ in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            to_w, to_b = torch.autograd.grad(loss, (w, b))
            total = total + loss.item()
        with torch.no_grad():
            w -= lr * to_w
            b -= lr * to_b
        losses.append(total)
    return losses


@wrong(
    "M10",
    "Only the last part of a step counts: what the earlier ones have gathered is thrown away. Clear once in each step, and let its parts add up.",
    score=2.5,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        for x, y in parts:
            w.grad = b.grad = None
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M15",
    "The caller's parameters have not moved: the update went into new tensors. Under no_grad write into w "
    "itself: w -= ...",
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w = w - lr * w.grad
            b = b - lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M15",
    "w and b are leaves that require a gradient. To write into them would be recorded as a part of the computation, and is refused. Only the update "
    "writes, and under torch.no_grad().",
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        w -= lr * w.grad
        b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M11",
    "Before the first backward there is no gradient: w.grad is None, and None cannot be set to zero. Write "
    "None into it, not zeros.",
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad.zero_(), b.grad.zero_()
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong("M19", "You divide by the number of parts. The mean is over the rows of the step.")
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / len(parts)
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "",
    "The update is right, but the loss of a step is the sum over its parts, not that of the last part.",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(loss.item())
    return losses


@wrong(
    "",
    "You update after every part, so that the next part meets other weights. One update for each step, after all its parts.",
    score=1.5,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        for x, y in parts:
            w.grad = b.grad = None
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
            with torch.no_grad():
                w -= lr * w.grad
                b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M15",
    "w gets a gradient now, and that is one bug less. But the caller's w and b do not move: the update goes "
    "into new tensors. Then look at the loss, at what backward starts from, and at where .grad is cleared.",
)
def train(steps, w, b, lr):
    losses = []
    w.grad = b.grad = None
    for parts in steps:
        total = 0.0
        for x, y in parts:
            guess = x @ w + b
            loss = ((guess - y) ** 2).mean()
            total = total + loss
            total.backward(retain_graph=True)
        w = w - lr * w.grad
        b = b - lr * b.grad
        losses.append(total.item())
    return losses


@wrong(
    "",
    "Recording is still switched off when your function returns, so whatever comes after it has no gradient. `with torch.no_grad():` switches it "
    "on again by itself.",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        torch.set_grad_enabled(True)
        w.grad = b.grad = None
        rows = sum(len(x) for x, _ in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        torch.set_grad_enabled(False)
        w -= lr * w.grad
        b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "",
    "The losses you return are tensors, and one that has its graph keeps all of it in memory: take the number out with .item().",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        w.grad = b.grad = None
        rows = sum(len(x) for x, _ in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total = total + loss.detach()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "",
    "The losses you return are tensors, and one that has its graph keeps all of it in memory: take the number out with .item().",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            total = total + ((x @ w + b - y) ** 2).sum() / rows
        total.backward()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M19",
    "The update is right, but the loss of a step is divided by the rows already; now you divide it by the number of parts as well.",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        rows = sum(len(y) for _, y in parts)
        total = 0.0
        w.grad = b.grad = None
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / rows
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total / len(parts))
    return losses


@wrong(
    "",
    "Right to some digits, but w and b have 64 bits, and about sixteen. Compute with tensors of their own dtype, and round nothing.",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        n = sum(len(y) for _, y in parts)
        w.grad = b.grad = None
        total = 0.0
        for x, y in parts:
            loss = ((x.float() @ w.float() + b.float() - y.float()) ** 2).sum() / n
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "",
    "The steps are right, but each loss is that of the moved weights. Take it where the gradient is taken, before the update.",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        n = sum(len(y) for _, y in parts)
        w.grad = b.grad = None
        for x, y in parts:
            (((x @ w + b - y) ** 2).sum() / n).backward()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
            losses.append(sum(((x @ w + b - y) ** 2).sum().item() for x, y in parts) / n)
    return losses


@wrong(
    "M19",
    "The update is right, but the losses are sums over the rows of a step. The mean is that divided by how many rows there are.",
    score=4,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        w.grad = b.grad = None
        n = sum(len(y) for _, y in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum()
            (loss / n).backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong("M10", "In the second step b still has the gradient of the first. Clear both in each step.", score=3.5)
def train(steps, w, b, lr):
    losses = []
    w.grad = b.grad = None
    for parts in steps:
        n = sum(len(y) for _, y in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / n
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr * w.grad
            b -= lr * b.grad
        w.grad = None
        losses.append(total)
    return losses


@wrong(
    "M17",
    "w does not move. That takes a guess whose history leads to it, and an update of w itself.",
    score=1,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        w.grad = b.grad = None
        n = sum(len(y) for _, y in parts)
        total = 0.0
        for x, y in parts:
            loss = (((x @ w).detach() + b - y) ** 2).sum() / n
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            if w.grad is not None:
                w -= lr * w.grad
            b -= lr * b.grad
        losses.append(total)
    return losses


@wrong(
    "M19",
    "The gradients are means over the rows already, and you divide once more by their number, in the update.",
    score=1,
)
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        w.grad = b.grad = None
        n = sum(len(y) for _, y in parts)
        total = 0.0
        for x, y in parts:
            loss = ((x @ w + b - y) ** 2).sum() / n
            loss.backward()
            total += loss.item()
        with torch.no_grad():
            w -= lr / n * w.grad
            b -= lr / n * b.grad
        losses.append(total)
    return losses


@right
def train(steps, w, b, lr):
    def one_step(parts):
        squares, rows = 0.0, 0
        w.grad, b.grad = torch.zeros_like(w), torch.zeros_like(b)
        for x, y in parts:
            loss = torch.nn.functional.mse_loss(x @ w + b, y, reduction="sum")
            loss.backward()
            squares += loss.item()
            rows += len(x)
        for p in (w, b):
            p.data.add_(p.grad, alpha=-lr / rows)
        return squares / rows

    return [one_step(parts) for parts in steps]


@right
def train(steps, w, b, lr):
    optimizer = torch.optim.SGD([w, b], lr=lr)
    losses = []
    for parts in steps:
        optimizer.zero_grad()
        rows = sum(x.shape[0] for x, _ in parts)
        found = (((x @ w + b - y) ** 2).mean() * (len(y) / rows) for x, y in parts)
        losses.append(0.0)
        for loss in found:
            loss.backward()
            losses[-1] += float(loss.item())
        optimizer.step()
    return losses


@right
def train(steps, w, b, lr):
    """The slopes of each part as numbers, added up."""
    losses = []
    for parts in steps:
        n = sum(y.shape[0] for _, y in parts)
        asked = [
            (loss.item(), *torch.autograd.grad(loss, (w, b)))
            for loss in (torch.sum((x @ w + b - y) ** 2) / n for x, y in parts)
        ]
        total, to_w, to_b = map(sum, zip(*asked))
        with torch.no_grad():
            w.copy_(w - lr * to_w)
            b.copy_(b - lr * to_b)
        losses.append(total)
    return losses


@right
def train(steps, w, b, lr):
    def squared_error(x, y):
        return torch.sum((torch.matmul(x, w) + b - y) ** 2)

    def update(parameter):
        with torch.no_grad():
            parameter.add_(parameter.grad, alpha=-lr)
        parameter.grad = None

    w.grad, b.grad = None, None
    mean_losses = []
    for parts in steps:
        number_of_rows = sum(x.shape[0] for x, _ in parts)
        mean_loss = 0.0
        for x, y in parts:
            share = squared_error(x, y) / number_of_rows
            share.backward()
            mean_loss += share.item()
        update(w)
        update(b)
        mean_losses.append(mean_loss)
    return mean_losses


@right
def train(steps, w, b, lr):
    """Row by row."""
    losses = []
    for parts in steps:
        rows = [(x[i], y[i]) for x, y in parts for i in range(len(y))]
        w.grad = b.grad = None
        total = 0.0
        for x, y in rows:
            loss = (torch.dot(x, w) + b - y) ** 2 / len(rows)
            loss.backward()
            total += float(loss.detach())
        with torch.no_grad():
            for p in (w, b):
                p.copy_(p - lr * p.grad)
        losses.append(total)
    return losses


@avoiding
def train(steps, w, b, lr):
    """One backward for the whole step."""
    losses = []
    for parts in steps:
        total, rows = 0, 0
        for x, y in parts:
            total = total + torch.einsum("n,n->", x @ w + b - y, x @ w + b - y)
            rows += len(y)
        loss = total / rows
        w.grad = b.grad = None
        loss.backward()
        w.data -= lr * w.grad
        b.data -= lr * b.grad
        losses.append(loss.item())
    return losses


@avoiding
def train(steps, w, b, lr):
    """The gradients by hand."""
    losses = []
    with torch.no_grad():
        for parts in steps:
            n = sum(len(y) for _, y in parts)
            slope_w, slope_b, loss = torch.zeros_like(w), torch.zeros_like(b), 0.0
            for x, y in parts:
                error = x @ w + b - y
                slope_w += 2 * x.T @ error / n
                slope_b += 2 * error.sum() / n
                loss += (error @ error).item() / n
            w -= lr * slope_w
            b -= lr * slope_b
            losses.append(loss)
    return losses


@right
def train(steps, w, b, lr):
    """A step, and a call for the rest."""
    if not steps:
        return []
    parts, *later = steps
    rows = sum(map(len, (y for _, y in parts)))
    optimizer = torch.optim.SGD([w, b], lr)
    optimizer.zero_grad()
    found = []
    for x, y in parts:
        part = torch.nn.functional.mse_loss(x @ w + b, y, reduction="sum") / rows
        part.backward()
        found.append(part.item())
    optimizer.step()
    return [sum(found), *train(later, w, b, lr)]


@avoiding
def train(steps, w, b, lr):
    losses = []
    for parts in steps:
        x, y = torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])
        loss = (x @ w + b - y).pow(2).mean()
        for p, g in zip((w, b), torch.autograd.grad(loss, (w, b))):
            with torch.no_grad():
                p.sub_(lr * g)
        losses.append(loss.item())
    return losses


# %% [markdown]
# ## 13.3 · Write the engine (5 points)
#
# `Value(2.0)` holds a number. `+`, `-`, `*`, `** k` (k a plain number) and `.tanh()` make new Values, also when
# one side is a plain number. For every **leaf** behind `y`, `y.backward()` adds the gradient of `y` to its
# `.grad`. `.grad` starts at 0.0, and a second `backward()` adds again, as in PyTorch.
#
# The engine that grew in exercises 02 to 06 has its loop already: `lab.engine_so_far()` shows it, with the course's piece where
# yours is missing. What is left are the operations, each with its rule, and `backward` as a method.
#
# Your engine is compared with this lab: on random graphs, in a chain of thousands of operations, at 0 and far from it. To watch your own loop at work, run `lab.step_code(y.backward)`
# for a `y` of yours: it steps through the lines of `backward`, with your variables after each.

# %%
import math


### BEGIN SOLUTION
class Value:
    """A number that records how it was made."""

    def __init__(self, data, inputs=(), slopes=()):
        self.data, self.inputs, self.slopes, self.grad = data, inputs, slopes, 0.0

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, k):
        return Value(self.data**k, (self,), (k * self.data ** (k - 1),))

    def tanh(self):
        t = math.tanh(self.data)
        return Value(t, (self,), (1 - t * t,))

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return self * -1 + other

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        waiting, stack = {self: 0}, [self]
        while stack:
            for x in stack.pop().inputs:
                if x not in waiting:
                    waiting[x] = 0
                    stack.append(x)
                waiting[x] += 1
        total, ready = {self: 1.0}, [self]
        while ready:
            node = ready.pop()
            if not node.inputs:
                node.grad += total[node]
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
                waiting[x] -= 1
                if waiting[x] == 0:
                    ready.append(x)


### END SOLUTION
### BEGIN STUB
# class Value:
#     """A number that records how it was made."""
#
#     def __init__(self, data):
#         self.data, self.grad = data, 0.0
#
#     # __add__, __radd__, __sub__, __rsub__, __mul__, __rmul__, __pow__, tanh
#
#     def backward(self): ...  # your code here
### END STUB


# %%
lab.check("13.3", Value)

# %% tags=["item"]
item(
    "13.3",
    kind="code",
    hints=[
        "Let every result remember its inputs and, for each, the local slope: for a * b they are b and a.",
        "The loop is that of notebook 04: count messages, seed with 1, take a ready node, deliver slope times its sum.",
        "Keep the sums of one pass in a dict of that pass; only leaves (no inputs) add theirs to .grad at the end.",
    ],
    equivalent={
        "35: 0 -> 1": "nobody sends to the root, so nobody counts down what waits there",
        "13: (self, other) -> (other, self)": "both slopes of a sum are 1",
        "45: if not node.inputs: .. -> if True: ..": "what .grad holds in between is not asked for",
        "45: node.inputs -> node.slopes": "a node has as many slopes as inputs",
        "37: two turns at most": "no operation has more than two inputs",
        "47: two turns at most": "no operation has more than two inputs",
        "47: node.inputs without its None": "every input is a Value",
        "47: node.slopes without its None": "every slope is a number",
    },
)


@shared
def play(make, one, rng, size):
    """A random graph of `size` operations on three leaves; `make` makes a leaf, `one` applies tanh."""
    leaves = [make(float(v)) for v in rng.uniform(0.3, 1.1, 3)]
    nodes = list(leaves)
    for _ in range(size):
        i, j = len(nodes) - 1 - rng.randint(min(len(nodes), 4), size=2)
        a, b, kind = nodes[i], nodes[j], rng.randint(8)
        nodes.append(
            one(a + b) if kind == 0 else a + b if kind == 1 else a * b if kind == 2 else a - b if kind == 3
            else 0.5 - a if kind == 4 else 2 * a + 1 if kind == 5 else one(a) ** 3 if kind == 6 else a * 0.5 - 3 * b
        )  # fmt: skip
    return leaves, one(nodes[-1] * 0.1)


@probe(
    points=1,
    cases=[
        ("a + 5",), ("a * 5",), ("a - 5",), ("a**3",), ("a + a",), ("a * a",), ("(a * 3) * 4 - a",), ("(b := a * a) + b",),
        ("(b := a * a) * (b * 3)",), ("((b := a * a) * 3) * b - a**3",), ("(b := a * 3) * (a - a) + b",), ("(a + 5) * a",),
    ],
)  # fmt: skip
def by_hand(Value, y):
    "y = {0} at a = 2"
    a = Value(2.0)
    y = eval(y, {"a": a})
    y.backward()
    return {"y": y.data, "a.grad": a.grad}


@probe(
    points=1,
    cases=[
        ("5 + x",),
        ("5 * x",),
        ("5 - x",),
        ("x.tanh()",),
        ("(1 - x) * 3 + 2 * x.tanh() - (x - 4) * (0.5 + x)",),
    ],
)
def both_sides(Value, y):
    "y = {0} at x = 0.5"
    x = Value(0.5)
    y = eval(y, {"x": x})
    y.backward()
    return {"y": y.data, "x.grad": x.grad}


@probe(points=1, cases=[("2 * x",), ("(2 * x) ** 2",)])
def twice(Value, y):
    "y = {0} at x = 3, backward from y twice: x.grad after each"
    x = Value(3.0)
    y = eval(y, {"x": x})
    seen = []
    for _ in range(2):
        y.backward()
        seen.append(x.grad)
    return seen


# Graphs in which all three gradients are of the size of 1, so that 1e-6 is a real tolerance, and in which every wrong order shows.
@probe(points=1, hidden=True, cases=[(103, 10), (208, 20), (267, 20)], rtol=1e-6)
def random_graphs(Value, seed, size):
    "Random graphs: the gradients of three leaves, and beside them the lab's"
    leaves, y = play(Value, lambda v: v.tanh(), np.random.RandomState(seed), size)
    y.backward()
    theirs, z = play(
        lambda v: torch.tensor(v, dtype=torch.float64, requires_grad=True),
        torch.tanh,
        np.random.RandomState(seed),
        size,
    )
    z.backward()
    return [[a.grad for a in leaves], [0 if b.grad is None else b.grad.item() for b in theirs]]


@probe(points=0.5, hidden=True)
def deep_and_shared(Value):
    "A chain of 3,000 operations, and a leaf used by two losses; 24 sums, each of the one before and itself"
    x = Value(1.0)
    y = x
    for _ in range(3000):
        y = y + x * 0.25
    y.backward()
    deep = x.grad
    (x * 5).backward()
    z = doubled = Value(1.0)
    for _ in range(24):
        z = z + z
    soon(z.backward)
    return [deep, x.grad, doubled.grad]


@probe(points=0.5, hidden=True)
def at_the_edges(Value):
    "backward from a leaf, twice; other powers, 0, negative numbers, far out on tanh; losses that share what is in between; a leaf that is not used"
    x, far, other, unused, zero = Value(2.0), Value(1000.0), Value(3.0), Value(1.0), Value(0.0)
    x.backward(), x.backward()
    alone = x.grad
    h = x * other + 1
    for loss in (
        h**0.5,
        h**-1 + far.tanh() + 2 * (far * -1).tanh(),
        3 - h * (x - x),
        zero * other + x * zero + zero**2 + zero**1 + x**0,
        (x - 5) ** 3,
        (x - 4) ** 2,
        other,
    ):
        loss.backward()
    return [alone, x.grad, far.grad, other.grad, unused.grad, zero.grad]


@look("Its Values hold the lab's own tensors, whose engine does the work.")
def wraps_tensors(Value):
    with lab.record() as trace:
        x = Value(2.0)
        y = x * x + x.tanh()
        y.backward()
    return any(event["k"] == "done" for event in trace.events)


@look(
    "Its backward calls that of the engine from 02 to 06. In grading that is the course's: look whether they wrote their own there."
)
def calls_the_engine(Value):
    from autograd_lab.course.growing import runs_the_courses

    return runs_the_courses("backward", (Value(2.0) * 3).backward)


@look("Its gradients are quotients of small differences; no rule is in it.")
def takes_differences(Value):
    x = Value(1.1)
    y = x * 3 - x * 0.7
    y.backward()
    return abs(y.data - 2.53) < 1e-14 and 1e-13 < abs(x.grad - 2.3) < 1e-3


class Record:
    """What several programs share: the operations, and a backward that is right."""

    def __init__(self, data, inputs=(), slopes=()):
        self.data, self.inputs, self.slopes, self.grad = data, inputs, slopes, 0.0

    def lift(self, other):
        return other if isinstance(other, Record) else type(self)(other)

    def __add__(self, other):
        other = self.lift(other)
        return type(self)(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        other = self.lift(other)
        return type(self)(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, k):
        return type(self)(self.data**k, (self,), (k * self.data ** (k - 1),))

    def tanh(self):
        t = math.tanh(self.data)
        return type(self)(t, (self,), (1 - t * t,))

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return self * -1 + other

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def order(self):
        """All nodes, each after those that use it."""
        found, seen, stack = [], set(), [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                found.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(x, False) for x in node.inputs]
        return found[::-1]

    def backward(self):
        total = {self: 1.0}
        for node in self.order():
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
            if not node.inputs:
                node.grad += total[node]


class Direct(Record):
    """The same without detours: a difference is no sum, and a plain number becomes no node."""

    def __add__(self, other):
        if not isinstance(other, Record):
            return type(self)(self.data + other, (self,), (1.0,))
        return type(self)(self.data + other.data, (self, other), (1.0, 1.0))

    def __sub__(self, other):
        if not isinstance(other, Record):
            return self + -other
        return type(self)(self.data - other.data, (self, other), (1.0, -1.0))

    def __rsub__(self, other):
        return type(self)(other - self.data, (self,), (-1.0,))

    def __mul__(self, other):
        if not isinstance(other, Record):
            return type(self)(self.data * other, (self,), (other,))
        return type(self)(self.data * other.data, (self, other), (other.data, self.data))


class FirstMessage:
    def backward(self):
        total, queue, seen = {self: 1.0}, [self], {self}
        while queue:
            node = queue.pop(0)
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
                if x not in seen:
                    seen.add(x)
                    queue.append(x)
        for node, g in total.items():
            if not node.inputs:
                node.grad += g


says = "A node goes on at its first message, and what arrives later is only kept, not passed on. Count the messages first."
wrong("M06", says, score=3)(type("Value", (FirstMessage, Record), {}))
wrong("M06", says, score=3)(type("Value", (FirstMessage, Direct), {}))


class RunningSum:
    def backward(self):
        total = {}

        def visit(node, g):
            total[node] = total.get(node, 0.0) + g
            for x, slope in zip(node.inputs, node.slopes):
                visit(x, slope * total[node])

        visit(self, 1.0)
        for node, g in total.items():
            if not node.inputs:
                node.grad += g


says = "You walk down every path and send along, at each visit, all that has arrived so far: early messages are counted again."
wrong("M06", says, score=2.5)(type("Value", (RunningSum, Record), {}))
wrong("M06", says, score=2.5)(type("Value", (RunningSum, Direct), {}))


class LastMessage:
    def backward(self):
        total = {self: 1.0}
        for node in self.order():
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = slope * total[node]
            if not node.inputs:
                node.grad += total[node]


says = "Where messages meet, the last one replaces the others. Add them."
wrong("M07", says, score=1)(type("Value", (LastMessage, Record), {}))
wrong("M07", says, score=1)(type("Value", (LastMessage, Direct), {}))


class PositiveBase:
    def __pow__(self, k):
        return type(self)(self.data**k, (self,), (k * abs(self.data) ** (k - 1),))


says = (
    "Right as long as x is above 0. Below it the slope of x ** 2 is negative: take x as it is, with its sign."
)
wrong("", says, score=4.5)(type("Value", (PositiveBase, Record), {}))


class OldGradientAtTheRoot:
    def backward(self):
        total = {self: self.grad or 1.0}
        for node in self.order():
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
            if not node.inputs:
                node.grad += total[node]


says = "A pass begins with what is in .grad of its root already. It begins with 1, whatever has been added there before."
wrong("M10", says, score=4.5)(type("Value", (OldGradientAtTheRoot, Record), {}))


class SumsAddTo:
    def backward(self):
        self.grad = 1.0
        for node in self.order():
            for x, slope in zip(node.inputs, node.slopes):
                x.grad += slope * node.grad


says = (
    "What the first pass has left between the result and the leaves goes down again with the second. Only the .grad of leaves outlives a "
    "pass."
)
wrong("M10", says, score=3.5)(type("Value", (SumsAddTo, Record), {}))
wrong("M10", says, score=3.5)(type("Value", (SumsAddTo, Direct), {}))


class SumsStay:
    def backward(self):
        self.grad += 1.0
        for node in self.order():
            for x, slope in zip(node.inputs, node.slopes):
                x.grad += slope * node.grad


says = (
    "What the first pass has left between the result and the leaves goes down again with the second. Only the .grad of leaves outlives a "
    "pass."
)
wrong("M10", says, score=3.5)(type("Value", (SumsStay, Record), {}))
wrong("M10", says, score=3.5)(type("Value", (SumsStay, Direct), {}))


class Overwrites:
    def backward(self):
        nodes = self.order()
        for node in nodes:
            node.grad = 0.0
        self.grad = 1.0
        for node in nodes:
            for x, slope in zip(node.inputs, node.slopes):
                x.grad += slope * node.grad


says = "After a second backward, .grad of a leaf is what it was after the first. PyTorch adds, until somebody clears."
wrong("M10", says, score=3)(type("Value", (Overwrites, Record), {}))
wrong("M10", says, score=3)(type("Value", (Overwrites, Direct), {}))


class Freed(Record):
    """The same results as overwriting, by another way: after one pass the graph is gone."""

    def backward(self):
        super().backward()
        for node in self.order():
            node.inputs, node.slopes = (), ()


wrong("M10", says, score=3.5)(type("Value", (Freed,), {}))


class Recursive:
    def backward(self):
        found, seen = [], set()

        def visit(node):
            if node not in seen:
                seen.add(node)
                for x in node.inputs:
                    visit(x)
                found.append(node)

        visit(self)
        total = {self: 1.0}
        for node in reversed(found):
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
            if not node.inputs:
                node.grad += total[node]


says = (
    "The gradients are right, but there is a call inside a call for every node on the way: a chain of a few "
    "thousand operations is too deep for Python. Use a list of nodes instead of recursion."
)
wrong("", says, score=4.5)(type("Value", (Recursive, Record), {}))
wrong("", says, score=4.5)(type("Value", (Recursive, Direct), {}))


@wrong(
    "",
    "1 - x is not x - 1: when the plain number is on the left, Python calls __rsub__, and it is x that gets the minus.",
    score=3,
)
class Value(Record):
    def __rsub__(self, other):
        return self - other


@wrong("", "A plain number has no .data. Make a Value of it first, in every operation that takes two.")
class Value(Record):
    def lift(self, other):
        return other


@wrong("", "The two slopes of a product are swapped: the slope for a is b, and the slope for b is a.")
class Value(Record):
    def __mul__(self, other):
        other = self.lift(other)
        return type(self)(self.data * other.data, (self, other), (self.data, other.data))


@wrong("", "The slope of tanh is 1 - tanh(x) ** 2: the square of the result, not of the input.", score=2.5)
class Value(Record):
    def tanh(self):
        return type(self)(math.tanh(self.data), (self,), (1 - self.data**2,))


class LeafGetsNothing:
    def backward(self):
        total = {self: 1.0}
        for node in self.order():
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
                if not x.inputs:
                    x.grad += slope * total[node]


says = "backward from a leaf adds nothing. A leaf is its own root, and the gradient of a thing with respect to itself is 1."
wrong("", says, score=4.5)(type("Value", (LeafGetsNothing, Record), {}))
wrong("", says, score=4.5)(type("Value", (LeafGetsNothing, Direct), {}))


class LevelByLevel:
    def backward(self):
        total, level = {self: 1.0}, [self]
        while level:
            below = {}
            for node in level:
                for x, slope in zip(node.inputs, node.slopes):
                    total[x] = total.get(x, 0.0) + slope * total[node]
                    below[x] = None
            level = list(below)
        for node, g in total.items():
            if not node.inputs:
                node.grad += g


says = (
    "You go level by level from the result. A node that is used on two levels sends on both, and the second time what it had sent before as "
    "well. It must wait for all its messages, and go on once."
)
wrong("M06", says, score=3)(type("Value", (LevelByLevel, Record), {}))
wrong("M06", says, score=3)(type("Value", (LevelByLevel, Direct), {}))


class FirstMessageToLeaves:
    def backward(self):
        total, queue, seen = {self: 1.0}, [self], {self}
        for node in queue:
            if not node.inputs:
                node.grad += total[node]
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
                if x not in seen:
                    seen.add(x)
                    queue.append(x)


says = "A node goes on at its first message, and what arrives later is only kept, not passed on. Count the messages first."
wrong("M06", says, score=2)(type("Value", (FirstMessageToLeaves, Record), {}))
wrong("M06", says, score=2)(type("Value", (FirstMessageToLeaves, Direct), {}))


class DepthFirst:
    def backward(self):
        found = []

        def visit(node):
            if node not in found:
                found.append(node)
                for x in node.inputs:
                    visit(x)

        visit(self)
        total = dict.fromkeys(found, 0.0) | {self: 1.0}
        for node in found:
            for x, slope in zip(node.inputs, node.slopes):
                total[x] += slope * total[node]
            if not node.inputs:
                node.grad += total[node]


says = "A node goes on at its first message, and what arrives later is only kept, not passed on. Count the messages first."
wrong("M06", says, score=1)(type("Value", (DepthFirst, Record), {}))
wrong("M06", says, score=1)(type("Value", (DepthFirst, Direct), {}))


class OneSideOnly:
    def backward(self):
        total = {self: 1.0}
        for node in self.order():
            for x, slope in dict(zip(node.inputs, node.slopes)).items():
                total[x] = total.get(x, 0.0) + slope * total[node]
            if not node.inputs:
                node.grad += total[node]


says = "In a + a and in a * a the same Value stands on both sides, and each side sends a message. Only one of them arrives."
wrong("M07", says, score=3.5)(type("Value", (OneSideOnly, Record), {}))
wrong("M07", says, score=3)(type("Value", (OneSideOnly, Direct), {}))


class LeafIsSet:
    def backward(self):
        if not self.inputs:
            self.grad = 1.0
            return
        Record.backward(self)


says = "backward from a leaf does not add: its .grad is 1 at every call. A leaf is its own root, and its .grad grows by 1 each time."
wrong("", says, score=4.5)(type("Value", (LeafIsSet, Record), {}))
wrong("", says, score=4.5)(type("Value", (LeafIsSet, Direct), {}))


@wrong(
    "",
    "x ** 2 has a slope at 0 as well: k * x ** (k - 1) gives it, and a division by x does not.",
    score=4.5,
)
class Value(Record):
    def __pow__(self, k):
        return type(self)(self.data**k, (self,), (k * self.data**k / self.data,))


@wrong(
    "",
    "Far out your tanh fails: powers of e are too large for Python there. The tanh is simply 1 or -1, and math.tanh knows that.",
    score=4.5,
)
class Value(Record):
    def tanh(self):
        t = (math.exp(self.data) - math.exp(-self.data)) / (math.exp(self.data) + math.exp(-self.data))
        return type(self)(t, (self,), (1 - t * t,))


@wrong(
    "",
    "An operation changed the Value that it was given: x + 5 makes a new one, and x stays what it was.",
    score=2.5,
)
class Value(Record):
    def __add__(self, other):
        if isinstance(other, Record):
            return type(self)(self.data + other.data, (self, other), (1.0, 1.0))
        self.data += other
        return self


@wrong(
    "M06",
    "Every path through the graph is followed to its end. The gradients are right, but the number of paths doubles with every Value "
    "that is used twice: go on from each once, when everything has arrived.",
    score=4.5,
)
class Value(Record):
    def backward(self):
        pending = [(self, 1.0)]
        while pending:
            node, message = pending.pop()
            if not node.inputs:
                node.grad += message
            pending += [(x, message * slope) for x, slope in zip(node.inputs, node.slopes)]


@wrong(
    "",
    "At 0 your x ** 1 sends nothing, and its slope is 1 everywhere. Do not divide by x, and leave no 0 out.",
    score=4.5,
)
class Value(Record):
    def __pow__(self, k):
        y = self.data**k
        return type(self)(y, (self,), (k * y / self.data if self.data else 0.0,))


@wrong("", "x ** 0 is 1, whatever x is: its slope is 0.", score=4.5)
class Value(Record):
    def __pow__(self, k):
        return type(self)(self.data**k, (self,), ((k or 1) * self.data ** (k - 1),))


@wrong(
    "",
    "At 0 your product sends nothing to a factor. What goes there is the other factor: do not divide the result by the one that gets it.",
    score=4.5,
)
class Value(Record):
    def __mul__(self, other):
        other = self.lift(other)
        y = self.data * other.data
        return type(self)(y, (self, other), [y / x.data if x.data else 0.0 for x in (self, other)])


@wrong(
    "",
    "k may be any plain number, such as 0.5 or -1. Products in a row know nothing but whole numbers from 1 on.",
    score=4.5,
)
class Value(Record):
    def __pow__(self, k):
        y = self
        for _ in range(int(k) - 1):
            y = y * self
        return y


@wrong("", "The slope of tanh is 1 minus its square, and yours is 1 plus.", score=2.5)
class Value(Record):
    def tanh(self):
        t = math.tanh(self.data)
        return type(self)(t, (self,), (1 + t * t,))


@right
class Value(Record):
    pass


@right
class Value:
    def __init__(self, data, inputs=()):
        self.data, self.grad, self.inputs = float(data), 0.0, inputs

    def made(self, data, *pairs):
        return Value(data, pairs)

    def __add__(self, other):
        if not isinstance(other, Value):
            return self.made(self.data + other, (self, lambda g: g))
        return self.made(self.data + other.data, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other):
        if not isinstance(other, Value):
            return self.made(self.data * other, (self, lambda g: g * other))
        return self.made(
            self.data * other.data, (self, lambda g: g * other.data), (other, lambda g: g * self.data)
        )

    def __neg__(self):
        return self.made(-self.data, (self, lambda g: -g))

    def __sub__(self, other):
        return self + (-other)

    def __rsub__(self, other):
        return -self + other

    def __pow__(self, k):
        return self.made(self.data**k, (self, lambda g: g * k * self.data ** (k - 1)))

    def tanh(self):
        t = np.tanh(self.data)
        return self.made(t, (self, lambda g: g * (1 - t**2)))

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self):
        users, todo = {self: 0}, [self]
        for node in todo:
            for x, _ in node.inputs:
                todo += [] if x in users else [x]
                users[x] = users.get(x, 0) + 1
        arrived, ready = {self: [1.0]}, [self]
        for node in ready:
            g = math.fsum(arrived[node])
            if not node.inputs:
                node.grad += g
            for x, rule in node.inputs:
                arrived.setdefault(x, []).append(rule(g))
                users[x] -= 1
                if not users[x]:
                    ready.append(x)


@right
class Value:
    """With closures that deliver into a field of the pass, in reversed topological order."""

    def __init__(self, data, _children=()):
        self.data = data
        self.grad = 0.0
        self._sum = 0.0
        self._backward = lambda: None
        self._prev = _children

    @staticmethod
    def wrap(other):
        return other if isinstance(other, Value) else Value(other)

    def __add__(self, other):
        other = Value.wrap(other)
        out = Value(self.data + other.data, (self, other))

        def _backward():
            self._sum += out._sum
            other._sum += out._sum

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = Value.wrap(other)
        out = Value(self.data * other.data, (self, other))

        def _backward():
            self._sum += other.data * out._sum
            other._sum += self.data * out._sum

        out._backward = _backward
        return out

    def __pow__(self, k):
        out = Value(self.data**k, (self,))

        def _backward():
            self._sum += k * self.data ** (k - 1) * out._sum

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,))

        def _backward():
            self._sum += (1 - t**2) * out._sum

        out._backward = _backward
        return out

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-Value.wrap(other))

    def __radd__(self, other):
        return self + other

    def __rsub__(self, other):
        return Value.wrap(other) - self

    def __rmul__(self, other):
        return self * other

    def backward(self):
        topological, visited, stack = [], set(), [(self, iter(self._prev))]
        visited.add(id(self))
        while stack:
            node, children = stack[-1]
            child = next(children, None)
            if child is None:
                topological.append(node)
                stack.pop()
            elif id(child) not in visited:
                visited.add(id(child))
                stack.append((child, iter(child._prev)))
        for node in topological:
            node._sum = 0.0
        self._sum = 1.0
        for node in reversed(topological):
            node._backward()
            if not node._prev:
                node.grad += node._sum


@right
class Value:
    """Numbered as they are made: the newest first is an order in which everything has arrived."""

    made = 0

    def __init__(self, data, edges=()):
        self.data, self.edges, self.grad = data, edges, 0.0
        Value.made += 1
        self.number = Value.made

    def __add__(self, other):
        if isinstance(other, Value):
            return Value(self.data + other.data, [(self, 1), (other, 1)])
        return Value(self.data + other, [(self, 1)])

    def __sub__(self, other):
        if isinstance(other, Value):
            return Value(self.data - other.data, [(self, 1), (other, -1)])
        return Value(self.data - other, [(self, 1)])

    def __rsub__(self, other):
        return Value(other - self.data, [(self, -1)])

    def __mul__(self, other):
        if isinstance(other, Value):
            return Value(self.data * other.data, [(self, other.data), (other, self.data)])
        return Value(self.data * other, [(self, other)])

    def __pow__(self, k):
        return Value(self.data**k, [(self, k * self.data ** (k - 1))])

    def tanh(self):
        result = math.tanh(self.data)
        return Value(result, [(self, 1 - result * result)])

    __radd__ = __add__
    __rmul__ = __mul__

    def backward(self):
        import heapq

        arrived = {self.number: 1.0}
        heap = [(-self.number, self)]
        while heap:
            _, node = heapq.heappop(heap)
            g = arrived.pop(node.number)
            if not node.edges:
                node.grad += g
            for x, slope in node.edges:
                if x.number not in arrived:
                    arrived[x.number] = 0.0
                    heapq.heappush(heap, (-x.number, x))
                arrived[x.number] += g * slope


@right
class Value:
    """Operations as objects of their own; leaves know that they are leaves."""

    class Operation:
        def __init__(self, operands, local_slopes):
            self.operands = operands
            self.local_slopes = local_slopes

    def __init__(self, data):
        self.data = data
        self.grad = 0.0
        self.operation = None

    @classmethod
    def result_of(cls, data, *pairs):
        value = cls(data)
        operands = [operand for operand, _ in pairs]
        value.operation = cls.Operation(operands, [slope for _, slope in pairs])
        return value

    @classmethod
    def from_anything(cls, thing):
        if isinstance(thing, cls):
            return thing
        return cls(thing)

    def __add__(self, other):
        other = self.from_anything(other)
        return self.result_of(self.data + other.data, (self, 1.0), (other, 1.0))

    def __radd__(self, other):
        return self.from_anything(other) + self

    def __sub__(self, other):
        other = self.from_anything(other)
        return self.result_of(self.data - other.data, (self, 1.0), (other, -1.0))

    def __rsub__(self, other):
        return self.from_anything(other) - self

    def __mul__(self, other):
        other = self.from_anything(other)
        return self.result_of(self.data * other.data, (self, other.data), (other, self.data))

    def __rmul__(self, other):
        return self.from_anything(other) * self

    def __pow__(self, exponent):
        return self.result_of(self.data**exponent, (self, exponent * self.data ** (exponent - 1)))

    def tanh(self):
        small = math.exp(-2 * abs(self.data))
        result = math.copysign((1 - small) / (1 + small), self.data)
        return self.result_of(result, (self, 1 - result**2))

    def number_of_messages(self):
        expected = {self: 0}
        unvisited = [self]
        while unvisited:
            value = unvisited.pop()
            for operand in value.operation.operands if value.operation else []:
                if operand not in expected:
                    expected[operand] = 0
                    unvisited.append(operand)
                expected[operand] += 1
        return expected

    def backward(self):
        expected = self.number_of_messages()
        gradients = dict.fromkeys(expected, 0.0)
        gradients[self] = 1.0
        ready_values = [self]
        while ready_values:
            value = ready_values.pop()
            if value.operation is None:
                value.grad = value.grad + gradients[value]
                continue
            for operand, slope in zip(value.operation.operands, value.operation.local_slopes):
                gradients[operand] = gradients[operand] + slope * gradients[value]
                expected[operand] = expected[operand] - 1
                if expected[operand] == 0:
                    ready_values.append(operand)


@right
class Value(Record):
    """The passes recursive, with room for it."""

    def backward(self):
        import sys

        def visit(node, seen, order):
            seen.add(node)
            for x in node.inputs:
                if x not in seen:
                    visit(x, seen, order)
            order.append(node)
            return order

        before = sys.getrecursionlimit()
        sys.setrecursionlimit(30_000)
        try:
            order = visit(self, set(), [])
        finally:
            sys.setrecursionlimit(before)
        total = dict.fromkeys(order, 0.0) | {self: 1.0}
        for node in order[::-1]:
            for x, slope in zip(node.inputs, node.slopes):
                total[x] += total[node] * slope
            node.grad += 0.0 if node.inputs else total[node]


@right
class Value:
    """Forward mode in disguise: each Value carries its slope by every leaf behind it, and backward hands them out."""

    def __init__(self, data, slopes=None):
        self.data, self.grad = data, 0.0
        self.slopes = {self: 1.0} if slopes is None else slopes

    def mixed(self, data, *terms):
        slopes = {}
        for one, factor in terms:
            for leaf, slope in one.slopes.items():
                slopes[leaf] = slopes.get(leaf, 0.0) + factor * slope
        return Value(data, slopes)

    def __add__(self, other):
        if isinstance(other, Value):
            return self.mixed(self.data + other.data, (self, 1), (other, 1))
        return self.mixed(self.data + other, (self, 1))

    def __mul__(self, other):
        if isinstance(other, Value):
            return self.mixed(self.data * other.data, (self, other.data), (other, self.data))
        return self.mixed(self.data * other, (self, other))

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return self * -1 + other

    def __pow__(self, k):
        return self.mixed(self.data**k, (self, k * self.data ** (k - 1)))

    def tanh(self):
        t = math.tanh(self.data)
        return self.mixed(t, (self, 1 - t * t))

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def backward(self):
        for leaf, slope in self.slopes.items():
            leaf.grad += slope


@avoiding
class Value:
    """A Value of the engine that grew, in another wrapping."""

    def __init__(self, data, own=None):
        self.own = own or lab.engine_so_far().Value(data, requires_grad=True)
        self.data = self.own.data

    @property
    def grad(self):
        return self.own.grad or 0.0

    def made(self, data, *pairs):
        engine = lab.engine_so_far()
        y = engine.record("Op", [one.own for one, _ in pairs], data)
        y.grad_fn.rule = lambda g: [g * slope for _, slope in pairs]
        return Value(data, y)

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self.made(self.data + other.data, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self.made(self.data * other.data, (self, other.data), (other, self.data))

    def __pow__(self, k):
        return self.made(self.data**k, (self, k * self.data ** (k - 1)))

    def tanh(self):
        t = math.tanh(self.data)
        return self.made(t, (self, 1 - t * t))

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return self * -1 + other

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        lab.engine_so_far().backward(self.own.grad_fn or self.own.accumulator)


@avoiding
class Value:
    """Each Value can compute itself anew from changed leaves; a slope is what that changes."""

    def __init__(self, data, compute=None, given=()):
        self.data, self.grad, self.compute, self.given = data, 0.0, compute, given
        self.inputs = [one for one in given if isinstance(one, Value)]

    def made(self, compute, *given):
        return Value(compute(*(getattr(one, "data", one) for one in given)), compute, given)

    def __add__(self, other):
        return self.made(lambda a, b: a + b, self, other)

    def __sub__(self, other):
        return self.made(lambda a, b: a - b, self, other)

    def __rsub__(self, other):
        return self.made(lambda a, b: a - b, other, self)

    def __mul__(self, other):
        return self.made(lambda a, b: a * b, self, other)

    def __pow__(self, k):
        return self.made(lambda a: a**k, self)

    def tanh(self):
        return self.made(math.tanh, self)

    __radd__, __rmul__, order = __add__, __mul__, Record.order

    def backward(self):
        nodes = self.order()[::-1]

        def with_leaf(leaf, data):
            now = {node: node.data for node in nodes} | {leaf: data}
            for node in nodes:
                if node.inputs:
                    now[node] = node.compute(*(now.get(one, one) for one in node.given))
            return now[self]

        for leaf in [node for node in nodes if not node.inputs]:
            step = 1e-6 * max(1.0, abs(leaf.data))
            up, down = with_leaf(leaf, leaf.data + step), with_leaf(leaf, leaf.data - step)
            leaf.grad += (up - down) / (2 * step)


@avoiding
class Value:
    def __init__(self, data):
        own = isinstance(data, torch.Tensor)
        self.tensor = data if own else torch.tensor(float(data), dtype=torch.float64, requires_grad=True)

    @property
    def data(self):
        return self.tensor.item()

    @property
    def grad(self):
        return 0.0 if self.tensor.grad is None else self.tensor.grad.item()

    def number(self, other):
        return other.tensor if isinstance(other, Value) else other

    def __add__(self, other):
        return Value(self.tensor + self.number(other))

    def __mul__(self, other):
        return Value(self.tensor * self.number(other))

    def __sub__(self, other):
        return Value(self.tensor - self.number(other))

    def __rsub__(self, other):
        return Value(self.number(other) - self.tensor)

    def __pow__(self, k):
        return Value(self.tensor**k)

    def tanh(self):
        return Value(self.tensor.tanh())

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        self.tensor.backward(retain_graph=True)


# %% [markdown]
# ## 13.4 · Six last gradients (2 points)
#
# `x` is a leaf that has no gradient yet; its value is given. No line below raises an error. What is `x.grad` afterwards? Give six
# answers, numbers or `"nan"` or `"None"`.
#
# ```python
# # 1: x = {a}
# y = x**3
# x.data.fill_({n}.0)
# y.backward()
#
# # 2: x = 0
# torch.where(x > 0, torch.log(x), 0).backward()
#
# # 3: x = [1, 4]. Give x.grad[0].
# y = x * {p}
# y[0] *= {q}
# y.sum().backward()
#
# # 4: x = 0
# (x.abs() + {r} * x).backward()
#
# # 5: x = {z}
# (g,) = torch.autograd.grad(x**3, x, create_graph=True)
# (g * g).backward()
#
# # 6: x = {w}
# y = x * x
# torch.autograd.grad(y, x)
# ```

# %%
### BEGIN SOLUTION
gradients = [75, "nan", 14, 3, 36, "None"]
### END SOLUTION
### BEGIN STUB
# gradients = [..., ..., ..., ..., ..., ...]
### END STUB

# %%
lab.check("13.4", gradients)


# %% tags=["item"]
@variant(
    a=range(2, 6),
    n=range(5, 10),
    p=range(2, 6),
    q=range(6, 10),
    r=range(2, 10),
    z=range(1, 5),
    w=range(3, 10),
)
def last_gradients(a=2, n=5, p=2, q=7, r=3, z=1, w=4):
    g, twice = 3 * z**2, 36 * z**3
    right = [3 * n**2, "nan", p * q, r, twice, "None"]

    def but(place, value):
        return [value if i == place else one for i, one in enumerate(right, start=1)]

    return varied(
        answer=right,
        hints=[
            "Ask of each: what has the node saved, what is written later, and who fills .grad?",
            f"1: the rule reads the {n}. 2: the branch that is not taken has an infinite slope, times 0. 3: writing into a view.",
            "4: abs has slope 0 at its kink. 5: g is 3 * x * x and is recorded. 6: torch.autograd.grad only returns.",
        ],
        wrong=[
            wrong_answer(
                but(1, 3 * a**2),
                "M23",
                f"{3 * a**2} would be right, but you do not get it: .data writes past the version counter, and the rule of the cube reads the {n}.",
                score=1.67,
            ),
            wrong_answer(
                but(1, "error"),
                "M23",
                "An ordinary write in place would be an error. .data writes past the version counter, so nobody notices.",
                score=1.67,
            ),
            wrong_answer(
                but(2, "inf"),
                "M26",
                "The slope of log at 0 is infinite, but the message that comes from where() is 0, and 0 times infinity is not a number.",
                score=1.67,
            ),
            wrong_answer(
                but(2, 0),
                "M26",
                "where() sends 0 to the branch that is not taken, and the rule of log multiplies it by 1 / 0: not a number.",
                score=1.67,
            ),
            wrong_answer(
                but(3, p),
                "M24",
                f"y[0] is a view, not a copy: writing into it writes into y, and its history goes through the {q} as well.",
                score=1.67,
            ),
            wrong_answer(
                but(3, q),
                "M24",
                f"Both operations are in the history of y[0]: times {p}, then times {q}.",
                score=1.67,
            ),
            wrong_answer(
                but(4, "nan"),
                "M25",
                f"At its kink abs has a gradient by convention: 0. The other path brings {r}.",
                score=1.67,
            ),
            wrong_answer(
                but(4, "error"),
                "M25",
                f"No rule looks at the curve, so there is no error: abs sends 0 at its kink. The other path brings {r}.",
                score=1.67,
            ),
            wrong_answer(
                but(4, r + 1),
                "M25",
                f"At its kink abs has the gradient 0 by convention, neither 1 nor -1. The other path brings {r}.",
                score=1.67,
            ),
            wrong_answer(
                but(5, twice + g),
                "M29",
                f"torch.autograd.grad returned its {g} and left x.grad alone: only the {twice} of backward is in it.",
                score=1.67,
            ),
            wrong_answer(
                but(5, 2 * g),
                "M28",
                f"2 * g is the slope of g * g by g. The pass that made g was recorded, so backward goes on to x, times {6 * z}.",
                score=1.67,
            ),
            wrong_answer(
                but(6, 2 * w),
                "M29",
                f"torch.autograd.grad returns {2 * w} and fills no .grad.",
                score=1.67,
            ),
            wrong_answer(
                but(6, 0),
                "M11",
                "Nobody has ever put anything into x.grad: that is None, not zero.",
                score=1.67,
            ),
            wrong_answer(
                [3 * a**2, 0, p, r, twice, "None"],
                "M23",
                "The first three do not do what they seem to: .data hides a write from the rule, where() multiplies by an infinite slope, "
                "and y[0] is a part of y.",
                score=1,
            ),
        ],
    )


item("13.4", kind="number", points=2, partial=True, variant=last_gradients)
