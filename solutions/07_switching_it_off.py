# ---
# jupyter:
#   autograd_lab:
#     id: "07"
#     minutes: 35
#     points: 10
# ---

# %% [markdown]
# # 07 · Exercises: switching it off
#
# Put your answers in place of the dots and run the check below. `lab.hint("07.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 07.1 · One path cut (2 points)
#
# `x = 4`. What is `x.grad` after `y.backward()`?
#
# 1. `y = x * x.detach()` · 2. `y = x * x * x.detach()` · 3. `y = (x * 3).detach() * x`

# %%
### BEGIN SOLUTION
gradients = [4, 32, 12]
### END SOLUTION

# %%
lab.check("07.1", gradients)

# %% tags=["item"]
item(
    "07.1",
    kind="number",
    points=2,
    partial=True,
    hints=[
        "A detached tensor is a constant: put its number in its place.",
        "1: x * 4. 2: x * x * 4. 3: 12 * x.",
        "The slopes of 4x, 4x**2 and 12x at x = 4.",
    ],
    wrong=[
        wrong_answer(
            [8, 48, 24],
            "M16",
            "This is the gradient without detach. The detached factor is a constant: nothing flows through it.",
        ),
        wrong_answer(
            [0, 0, 0],
            "M16",
            "detach cuts one value, not the whole expression: the other factors still lead to x.",
        ),
        wrong_answer(
            [4, 16, 12],
            "",
            "In the second, two factors are still connected: the slope of 4 * x * x is 8 * x.",
            score=1.33,
        ),
        wrong_answer(
            [4, 32, 3],
            "",
            "In the third, the detached factor is x * 3 as a whole: the constant 12.",
            score=1.33,
        ),
        wrong_answer([16, 64, 48], "", "These are the values of y, not the slopes.", score=0),
    ],
)

# %% [markdown]
# ## 07.2 · Which switch? (4 points)
#
# Choose for each purpose from `"no_grad"`, `"detach"`, `"requires_grad_(False)"`, `"eval"`.
#
# 1. Measure the accuracy on a thousand test images without filling the memory with saved values.
# 2. Train only the last layer of a network; the first layers stay as they are, in every step.
# 3. Stop dropout from dropping.
# 4. Use the output of one part of the network as a fixed target for another part, in the same forward run.

# %%
### BEGIN SOLUTION
switches = ["no_grad", "requires_grad_(False)", "eval", "detach"]
### END SOLUTION

# %%
lab.check("07.2", switches)

# %% tags=["item"]
item(
    "07.2",
    kind="predict",
    points=4,
    partial=True,
    hints=[
        "What is to be cut: a stretch of time, one value, or one leaf? Or nothing of autograd at all?",
        "Freezing concerns leaves (the parameters); a target is one value.",
        "Dropout is a matter of the layer's mode, not of gradients.",
    ],
    wrong=[
        wrong_answer(
            ["eval", "requires_grad_(False)", "eval", "detach"],
            "M16",
            "eval switches dropout and batch norm; it goes on recording. What saves the memory is no_grad.",
            score=3,
        ),
        wrong_answer(
            ["no_grad", "no_grad", "eval", "detach"],
            "M16",
            "no_grad around the first layers works only if nothing in front of them needs a gradient, and must be written in every "
            "step. Freezing marks the parameters themselves: requires_grad_(False).",
            score=3,
        ),
        wrong_answer(
            ["no_grad", "requires_grad_(False)", "no_grad", "detach"],
            "M16",
            "Dropout drops under no_grad as well. It is switched off by eval.",
            score=3,
        ),
        wrong_answer(
            ["no_grad", "requires_grad_(False)", "eval", "no_grad"],
            "M16",
            "The rest of the forward run must be recorded. Only this one value is to be a constant: detach.",
            score=3,
        ),
        wrong_answer(
            ["no_grad", "detach", "eval", "detach"],
            "M16",
            "detach cuts a value of this run. To freeze parameters for good, tell the leaves: requires_grad_(False).",
            score=3,
        ),
    ],
)

# %% [markdown]
# ## 07.3 · Mend the update (4 points)
#
# `step` should do one step of gradient descent on **each** parameter of a list and clear their gradients
# afterwards. It does nothing that lasts. Mend it. A parameter without a gradient stays as it is.


# %%
### BEGIN SOLUTION
def step(parameters, lr):
    """Move each parameter by -lr times its gradient, in place; the gradients are None afterwards."""
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= lr * p.grad
                p.grad = None


### END SOLUTION
### BEGIN STUB
# def step(parameters, lr):
#     """Move each parameter by -lr times its gradient, in place; the gradients are None afterwards."""
#     for p in parameters:
#         p = p - lr * p.grad
#         p.grad = None
### END STUB


# %%
lab.check("07.3", step)

# %% tags=["item"]
item(
    "07.3",
    kind="debug",
    hints=[
        "`p = p - ...` gives the name p to a new tensor. Who still holds the old one?",
        "Write into the tensor itself: p -= ... What does autograd say to that, and which switch helps?",
        "Under no_grad, in place, and only where p.grad is not None.",
    ],
)


@shared
def two():
    p, q = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    (p.sum() * q).backward()
    return p, q


@probe(points=1)
def it_moves(step):
    "p = (1, 2) and q = 3 with loss sum(p) * q, lr = 0.5"
    p, q = two()
    step([p, q], 0.5)
    return [p.detach(), q.detach()]


@probe(points=1)
def it_stays_a_parameter(step):
    "After the step: leaf, requires grad, gradient cleared"
    p, q = two()
    step([p, q], 0.5)
    return [[t.is_leaf, t.requires_grad, t.grad] for t in (p, q)]


@probe(points=1, hidden=True)
def training_goes_on(step):
    "Three turns in a row"
    p, q = two()
    p.grad = q.grad = None
    for _ in range(3):
        ((p.sum() - q) ** 2).backward()
        step([p, q], 0.1)
    return [p.detach(), q.detach()]


@probe(points=1, hidden=True)
def one_without_a_gradient(step):
    "A parameter that the loss does not use"
    p, _ = two()
    unused = torch.tensor(7.0, requires_grad=True)
    step([unused, p], 0.25)
    return [unused.detach(), p.detach()]


@wrong("M15", "p = p - ... makes a new tensor; the parameter in the list has not moved. Write into it: p -= ...", score=1)  # fmt: skip
def step(parameters, lr):
    for p in parameters:
        p = p - lr * p.grad
        p.grad = None


@wrong("M15", "Under no_grad the new tensor is made without a record, but it is still a new tensor. Write into the old one.", score=2)  # fmt: skip
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            old = p
            p = p - lr * p.grad
            old.grad = None


@wrong(
    "",
    "In place, but recorded: autograd refuses to write into a leaf that requires grad. Put no_grad around it.",
)
def step(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            p -= lr * p.grad
            p.grad = None


@wrong("M10", "The gradients stay where they are: the next backward would add to them. Clear them.", score=3)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= lr * p.grad


@wrong(
    "M11",
    "A parameter that the loss does not use has the gradient None, and None cannot be multiplied: leave it as it is.",
    score=3,
)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            p -= lr * p.grad
            p.grad = None


@wrong("", "Uphill: the gradient points to where the loss grows. Subtract it.", score=2)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p += lr * p.grad
                p.grad = None


@wrong(
    "M16",
    "requires_grad_(False) lets you write, but the parameter is frozen from then on: the next backward gives it nothing.",
    score=2,
)
def step(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            g = p.grad
            p.requires_grad_(False)
            p -= lr * g
            p.grad = None


@right
def step(parameters, lr):
    optimizer = torch.optim.SGD([p for p in parameters if p.grad is not None], lr=lr)
    optimizer.step()
    optimizer.zero_grad()


@right
@torch.no_grad()
def step(parameters, lr):
    for p in parameters:
        if p.grad is None:
            continue
        p.sub_(lr * p.grad)
        p.grad = None
