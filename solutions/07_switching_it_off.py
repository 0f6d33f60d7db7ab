# ---
# jupyter:
#   autograd_lab:
#     id: "07"
#     minutes: 40
#     points: 13
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
# `x = {x}`. What is `x.grad` after `y.backward()`?
#
# 1. `y = x * x.detach()`
# 2. `y = x * x * x.detach()`
# 3. `y = (x * {p}).detach() * x`
# 4. `y = x * (x * {q}).item()`

# %%
### BEGIN SOLUTION
gradients = [4, 32, 12, 8]
### END SOLUTION
### BEGIN STUB
# gradients = [..., ..., ..., ...]
### END STUB

# %%
lab.check("07.1", gradients)


# %% tags=["item"]
@variant(x=range(3, 10), p=range(3, 10), q=range(2, 10))
def path_cut(x=4, p=3, q=2):
    right = [x, 2 * x**2, p * x, q * x]

    def but(place, value):
        return [value if i == place else one for i, one in enumerate(right, start=1)]

    return varied(
        answer=right,
        hints=[
            "A detached tensor is a constant, and so is what item() gives: put the number in its place.",
            f"1: x * {x}. 2: x * x * {x}. 3: {p * x} * x. 4: x * {q * x}.",
            f"The slopes of {x}x, {x}x**2, {p * x}x and {q * x}x at x = {x}.",
        ],
        wrong=[
            wrong_answer(
                [2 * x, 3 * x**2, 2 * p * x, 2 * q * x],
                "M16",
                "These are the gradients without detach and item(). The factor they cut off is a constant: nothing flows through it.",
            ),
            wrong_answer(
                [0, 0, 0, 0],
                "M16",
                "detach and item() cut one value off, not the whole expression: the other factors still lead to x.",
            ),
            wrong_answer(
                but(2, x**2),
                "",
                f"In the second, two factors are still connected: the slope of {x} * x * x is {2 * x} * x.",
                score=1.5,
            ),
            wrong_answer(
                but(3, p),
                "",
                f"In the third, the detached factor is x * {p} as a whole: the constant {p * x}.",
                score=1.5,
            ),
            wrong_answer(
                but(2, 3 * x**2),
                "M16",
                f"In the second the last factor is a constant too, {x}. The slope of {x} * x * x is {2 * x} * x.",
                score=1.5,
            ),
            wrong_answer(
                but(1, 2 * x),
                "M16",
                f"In the first, one of the two factors is the constant {x}: the slope of {x} * x is {x}.",
                score=1.5,
            ),
            wrong_answer(
                but(1, 0),
                "M16",
                "In the first, detach makes one of the two factors a constant. The other one still leads to x.",
                score=1.5,
            ),
            wrong_answer(
                but(3, 2 * p * x),
                "M16",
                f"In the third, (x * {p}).detach() is the constant {p * x}, and no gradient goes through it: the slope of {p * x} * x is {p * x}.",
                score=1.5,
            ),
            wrong_answer(
                but(3, 0),
                "M16",
                "In the third, detach cuts the first factor. The second one, x itself, is still connected.",
                score=1.5,
            ),
            wrong_answer(
                but(4, 2 * q * x),
                "M17",
                f"In the fourth, item() hands out a plain Python number, {q * x}, that knows nothing of x: the slope of x * {q * x} is {q * x}.",
                score=1.5,
            ),
            wrong_answer(
                but(4, 0),
                "",
                "In the fourth, item() makes a plain number of one factor only. The other one is x itself, and still connected.",
                score=1.5,
            ),
            wrong_answer(
                but(4, x),
                "",
                f"In the fourth, the number taken out is that of x * {q}, not that of x.",
                score=1.5,
            ),
            wrong_answer(
                ["None", "None", "None", "None"], "M16", "In each of the four, one way to x is left open."
            ),
            wrong_answer(
                [x**2, x**3, p * x**2, q * x**2], "", "These are the values of y, not the slopes.", score=0
            ),
        ],
    )


item("07.1", kind="number", points=2, partial=True, variant=path_cut)

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
### BEGIN STUB
# switches = [..., ..., ..., ...]
### END STUB

# %%
lab.check("07.2", switches)

# %% tags=["item"]
item(
    "07.2",
    kind="predict",
    points=4,
    partial=True,
    hints=[
        "What do you want to cut: a stretch of time, one value, or one leaf? Or nothing of autograd at all?",
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
            ["detach", "requires_grad_(False)", "eval", "no_grad"],
            "M16",
            "1 and 4 are the wrong way round: no_grad is for a whole stretch of the program, detach for one value.",
            score=2,
        ),
        wrong_answer(
            ["detach", "requires_grad_(False)", "eval", "detach"],
            "M16",
            "Each operation of the thousand images would be recorded before you detach its result. Nothing is kept under no_grad.",
            score=3,
        ),
        wrong_answer(
            ["no_grad", "detach", "eval", "requires_grad_(False)"],
            "M16",
            "2 and 4 are the wrong way round: parameters are leaves, told once and for all; the target is a computed value, and "
            "requires_grad_(False) is refused there.",
            score=2,
        ),
        wrong_answer(
            ["no_grad", "eval", "eval", "detach"],
            "M16",
            "eval does not touch the gradients: the first layers would go on learning. Freeze their parameters.",
            score=3,
        ),
        wrong_answer(
            ["eval", "no_grad", "eval", "detach"],
            "M16",
            "eval goes on recording, so it saves no memory. And no_grad would have to be written around the first layers in every "
            "step; freezing marks the parameters themselves.",
            score=2,
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
            "The rest of the forward run must be recorded. Only this one value should be a constant: detach.",
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


@probe(points=0.5, cases=[(0.5,), (0.25,)])
def one_number(step, lr):
    "One parameter, 3, with the loss p * p, lr = {0}"
    p = torch.tensor(3.0, requires_grad=True)
    (p * p).backward()
    step([p], lr)
    return p.detach()


@shared
def two():
    p, q = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)
    (p.sum() * q).backward()
    return p, q


@probe(points=0.5)
def it_moves(step):
    "p = (1, 2) and q = 3 with loss sum(p) * q, lr = 0.5"
    p, q = two()
    step([p, q], 0.5)
    return [p.detach(), q.detach()]


@probe(points=1)
def it_stays_a_parameter(step):
    "After the step, for p, for q, and for r, whose gradient is 0: leaf, requires a gradient, gradient cleared"
    p, q = two()
    r = torch.tensor([2.0, 3.0], requires_grad=True)
    r.grad = torch.zeros(2)
    step([r, p, q], 0.5)
    return [[t.is_leaf, t.requires_grad, t.grad] for t in (p, q, r)]


@probe(points=1, hidden=True)
def training_goes_on(step):
    "Three turns in a row, with the same list; and two parameters that have one and the same gradient"
    p, q = two()
    p.grad = q.grad = None
    r = torch.tensor([[1.0, -1.0]], dtype=torch.float64, requires_grad=True)
    parameters = [p, q, r]
    for turn in range(3):
        ((p * torch.tensor([3.0, -1.0])).sum() - q + r.sum() * turn).pow(2).backward()
        step(parameters, 1e-3)
    fine = [r.dtype == torch.float64, bool((r * 2**40 % 1 > 0).any())]
    again = [*two(), *two()]
    for place in (0, 2):
        step(again[place : place + 2], 0.5)
    found = [p.detach(), q.detach(), r.detach(), len(parameters), torch.is_grad_enabled(), *fine]
    both = [torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2)]
    both[0].grad = both[1].grad = torch.tensor([8.0, -8.0])
    step(both, 0.5)
    return [*found, *(t.detach() for t in (*again, *both))]


@probe(points=1, hidden=True)
def one_without_a_gradient(step):
    "Parameters that the loss does not use, and a frozen one"
    p, q = two()
    unused, other = torch.tensor(7.0, requires_grad=True), torch.tensor([5.0, 6.0], requires_grad=True)
    frozen = torch.tensor([1.0, 2.0])
    step([unused, p, other, q, frozen], 0.25)
    moved = [unused.detach(), unused.grad, p.detach(), other.detach(), q.detach(), frozen.requires_grad]
    alone, _ = two()
    step([alone], 0.25)  # who never clears loses no second point here
    return [*moved, all((t.grad is None) == (alone.grad is None) for t in (p, q))]


@wrong("M15",
    "The parameters in the list have not moved, and new tensors do not help: write into the old ones, p -= "
    "..., wherever there is a gradient.")  # fmt: skip
def step(parameters, lr):
    for p in parameters:
        p = p - lr * p.grad
        p.grad = None


@wrong("M15",

    "The gradients are gone, and the parameters are where they were: nothing has been written into them. p -= "
    "... does that.", score=1)  # fmt: skip
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            old = p
            p = p - lr * p.grad
            old.grad = None


@wrong(
    "",
    "In place, but recorded: autograd refuses to write into a leaf that requires a gradient. Put no_grad around it.",
)
def step(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            p -= lr * p.grad
            p.grad = None


@wrong("M10", "The gradients stay where they are: the next backward would add to them. Clear them.", score=2)
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


@wrong(
    "M11",
    "A gradient of zeros is a gradient: it is cleared like the others. Ask only whether p.grad is None.",
    score=3,
)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None and p.grad.any():
                p -= lr * p.grad
                p.grad = None


@wrong(
    "",
    "Each parameter moves as a whole, by the mean of its gradient. Every element has a slope of its own: p -= lr * p.grad.",
    score=3,
)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= lr * p.grad.mean()
                p.grad = None


@wrong(
    "",
    "The caller's list is empty afterwards: you take the parameters out of it. Go through it with a loop.",
    score=3,
)
def step(parameters, lr):
    with torch.no_grad():
        while parameters:
            p = parameters.pop()
            if p.grad is not None:
                p -= lr * p.grad
                p.grad = None


@wrong(
    "",
    "A parameter without a gradient moves by the one before it in the list. Leave it as it is.",
    score=3,
)
def step(parameters, lr):
    g = 0.0
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                g = p.grad
            p -= lr * g
            p.grad = None


@wrong(
    "",
    "Every parameter requires a gradient afterwards, also one that was frozen before. Under no_grad its flag need not be touched.",
    score=3,
)
def step(parameters, lr):
    for p in parameters:
        p.requires_grad_(False)
        if p.grad is not None:
            p -= lr * p.grad
            p.grad = None
        p.requires_grad_(True)


@wrong(
    "",
    "A gradient is written to before all have used it: two parameters may have one and the same. Leave it as it is, and compute lr * p.grad.",
    score=3,
)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= p.grad.mul_(lr)
                p.grad = None


@wrong(
    "",
    "A gradient whose elements add up to 0 moves nothing. Each element has a slope of its own: ask only whether p.grad is None.",
    score=3,
)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= lr * p.grad if p.grad.sum() != 0 else 0
                p.grad = None


@wrong("", "Uphill: the gradient points to where the loss grows. Subtract it.", score=1)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p += lr * p.grad
                p.grad = None


@wrong("", "Python cannot say whether a tensor of several numbers is true. All that decides is whether there is a gradient: p.grad is not None.", score=0.5)  # fmt: skip
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad:
                p -= lr * p.grad
                p.grad = None


@wrong(
    "M11", "The gradients are zero now. The task says None, which means that there is no gradient.", score=2
)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= lr * p.grad
                p.grad.zero_()


@wrong(
    "M16",
    "The parameter is frozen from then on: it no longer requires a gradient, and the next backward gives it nothing. "
    "Under no_grad you may write without that.",
    score=2,
)
def step(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            g = p.grad
            p.requires_grad_(False)
            p -= lr * g
            p.grad = None


@wrong(
    "M11",
    "A parameter without a gradient is passed over. The step does not end there: those that come after it have their own.",
    score=3,
)
def step(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is None:
                break
            p -= lr * p.grad
            p.grad = None


@wrong(
    "M11",
    "Where one parameter has no gradient, the others keep theirs after the step. Each that was used for a step is cleared.",
    score=3,
)
def step(parameters, lr):
    if all(p.grad is not None for p in parameters):
        with torch.no_grad():
            for p in parameters:
                p -= lr * p.grad
                p.grad = None
    else:
        with torch.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p -= lr * p.grad


@wrong("", "Only the last parameter moves. The step is for each of them.", score=1.5)
def step(parameters, lr):
    for p in parameters:
        g = p.grad
        p.grad = None
    with torch.no_grad():
        if g is not None:
            p -= lr * g


@wrong(
    "M16",
    "Recording is still off afterwards, and nothing can be trained then. Switch it off for the update alone.",
    score=2,
)
def step(parameters, lr):
    torch.set_grad_enabled(False)
    for p in parameters:
        if p.grad is not None:
            p -= p.grad * lr
            p.grad = None


@wrong(
    "M11",
    "Where one parameter has no gradient, those after it get the gradients of others. Ask each parameter for its own.",
    score=3,
)
def step(parameters, lr):
    grads = [p.grad for p in parameters if p.grad is not None]
    with torch.no_grad():
        for p, g in zip(parameters, grads):
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


@right
def step(parameters, lr):
    for parameter in parameters:
        if parameter.grad is None:
            continue
        parameter.data = parameter.data - lr * parameter.grad
        parameter.grad = None


@right
@torch.no_grad()
def step(parameters, lr):
    for p in [p for p in parameters if p.grad is not None]:
        p.sub_(p.grad * lr)
        p.grad = None


@right
def step(parameters, lr):
    def move(parameter):
        with torch.no_grad():
            parameter.add_(parameter.grad, alpha=-lr)

    with_gradient = list(filter(lambda parameter: parameter.grad is not None, parameters))
    for parameter in with_gradient:
        move(parameter)
    for parameter in with_gradient:
        parameter.grad = None


@right
def step(parameters, lr):
    if not parameters:
        return
    first, *others = parameters
    if first.grad is not None:
        with torch.no_grad():
            first.copy_(first - lr * first.grad)
        first.grad = None
    step(others, lr)


@right
def step(parameters, lr):
    i = 0
    while i < len(parameters):
        p, g = parameters[i], parameters[i].grad
        p.grad = None
        if g is not None:
            with torch.no_grad():
                p[...] = p - g * lr
        i += 1


# %% [markdown]
# ## 07.4 · Freeze the layer in the middle (3 points)
#
# Here are three layers in a row. `middle` was trained before, and its gradients are cleared. It should stay as it is, in this step and in all that follow.
# `first` and `last` should learn: what backward brings is added to the gradients that they have. Write `backward_frozen`.


# %%
def backward_frozen(first, middle, last, x):
    """Backward from last(tanh(middle(tanh(first(x))))).sum(); `middle` gets no gradient any more."""
    ### BEGIN SOLUTION
    middle.requires_grad_(False)
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()
    ### END SOLUTION


# %%
lab.check("07.4", backward_frozen)

# %% tags=["item"]
item(
    "07.4",
    kind="code",
    hints=[
        "What do you want to cut: a stretch of time, one value, or some leaves? first lies behind middle on the way back.",
        "A layer's parameters are its leaves: middle.parameters(), or the layer's own requires_grad_.",
        "middle.requires_grad_(False), then compute the sum as written and call backward.",
    ],
    equivalent={
        "5: torch.tanh(middle(torch.tanh(first(x)))) -> (torch.exp(middle(torch.tanh(first(x)))) - torch.exp(-middle(torch.tanh(first(x))))) / (torch.exp(middle(torch.tanh(first(x)))) + torch.exp(-middle(torch.tanh(first(x)))))": "what comes out of middle is small, as its inputs are: between -1 and 1",
        "5: torch.tanh(first(x)) -> torch.tanh_(first(x))": "what a layer returns has no other name, and its node does not save it",
        "5: torch.tanh(middle(torch.tanh(first(x)))) -> torch.tanh_(middle(torch.tanh(first(x))))": "what a layer returns has no other name, and its node does not save it",
    },
)


@shared
def layers(*sizes):
    made = []
    for place in range(1, len(sizes)):
        columns, rows = sizes[place - 1], sizes[place]
        layer = torch.nn.Linear(columns, rows)
        weights = np.arange(1, rows * columns + 1, dtype=np.float32).reshape(rows, columns) / (rows * columns)
        layer.weight = torch.nn.Parameter(torch.tensor(weights))
        layer.bias = torch.nn.Parameter(torch.tensor([0.1 * place] * rows))
        made.append(layer)
    return made


@shared
def rows(n):
    return torch.tensor([[0.5 - 0.25 * i + 0.125 * j for j in range(n)] for i in range(n)])


@probe(points=1, cases=[("1-1-1-1",), ("2-1-1-1",), ("2-3-2-1",)], rtol=1e-3)
def who_learns(backward_frozen, widths):
    "Layers of the widths {0}: the gradients of the three weights, and of the bias of middle"
    sizes = [int(width) for width in widths.split("-")]
    first, middle, last = layers(*sizes)
    backward_frozen(first, middle, last, rows(sizes[0]))
    asked = {"bias": middle.bias, "first": first.weight, "last": last.weight, "middle": middle.weight}
    return {name: None if p.grad is None else p.grad.tolist() for name, p in asked.items()}


@probe(points=0.5)
def flags(backward_frozen):
    "Which weights require a gradient afterwards, and the bias of middle; and whether middle is in training mode"
    first, middle, last = layers(1, 2, 2, 1)
    backward_frozen(first, middle, last, torch.tensor([[0.5]]))
    asked = {"bias": middle.bias, "first": first.weight, "last": last.weight, "middle": middle.weight}
    return {name: p.requires_grad for name, p in asked.items()} | {"training": middle.training}


@probe(points=1, hidden=True, rtol=1e-3)
def trained_on(backward_frozen):
    "Two steps of an optimizer that was given all parameters, and a third one of a plain pass through the layers"
    three = layers(2, 2, 3, 1)
    parameters = [p for layer in three for p in layer.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1, weight_decay=0.01)
    rows = torch.tensor([[0.5, -1.0], [0.2, 0.3], [300.0, 400.0]])
    as_they_were = untouched(rows)
    for step in range(3):
        optimizer.zero_grad()
        if step < 2:
            backward_frozen(*three, rows)
        else:
            first, middle, last = three
            last(torch.tanh(middle(torch.tanh(first(rows))))).sum().backward()
        optimizer.step()
    return [*(p.detach() for p in parameters), as_they_were()]


@probe(points=0.5, hidden=True, rtol=1e-3)
def added_up(backward_frozen):
    "Called twice, with nothing cleared in between: what first and last have then"
    first, middle, last = layers(1, 2, 2, 1)
    for x in (0.5, -1.0):
        backward_frozen(first, middle, last, torch.tensor([[x]]))
    return [first.weight.grad, last.weight.grad]


@look("No backward runs: the gradients come from formulas.")
def by_a_formula(backward_frozen):
    with lab.record() as trace:
        backward_frozen(*layers(2, 2, 3, 1), rows(2))
    return not any(event["k"] == "done" for event in trace.events)


@wrong(
    "",
    "What first and last had before is gone. A backward adds; when to clear is for the caller to say.",
    score=2.5,
)
def backward_frozen(first, middle, last, x):
    for layer in (first, middle, last):
        layer.zero_grad()
    middle.requires_grad_(False)
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()


@wrong("M16", "The way back through middle is cut: first gets nothing either. Leave out the layer's own parameters only.")  # fmt: skip
def backward_frozen(first, middle, last, x):
    h = torch.tanh(first(x))
    with torch.no_grad():
        h = torch.tanh(middle(h))
    last(h).sum().backward()


@wrong("M16", "Frozen from now on, but the way to first is cut as well. The flag of the parameters is enough.", score=0.5)  # fmt: skip
def backward_frozen(first, middle, last, x):
    middle.requires_grad_(False)
    h = torch.tanh(middle(torch.tanh(first(x)).detach()))
    last(h).sum().backward()


@wrong(
    "M16",
    "middle is in evaluation mode now, which switches dropout and batch norm, not gradients: its parameters go on learning.",
    score=0.5,
)
def backward_frozen(first, middle, last, x):
    middle.eval()
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()


@wrong("",
    "The parameters of middle still get gradients: nothing has frozen them. The flag sits on each parameter, "
    "not on the layer; middle.requires_grad_(False) sets it on all of them.", score=0.5)  # fmt: skip
def backward_frozen(first, middle, last, x):
    middle.requires_grad = False
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()


@wrong(
    "M16",
    "first gets no gradient: the way to it is cut before middle. The flag of the parameters of middle is enough.",
    score=0,
)
def backward_frozen(first, middle, last, x):
    h = torch.tanh(first(x)).detach()
    last(torch.tanh(middle(h))).sum().backward()


@wrong(
    "",
    "middle has got gradients, and requires none afterwards: its flag was changed after the backward pass. Change it before.",
    score=1,
)
def backward_frozen(first, middle, last, x):
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()
    middle.requires_grad_(False)


@wrong("", "You froze the weight and forgot the bias. middle.parameters() has both.", score=0.5)
def backward_frozen(first, middle, last, x):
    middle.weight.requires_grad_(False)
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()


@wrong("", "The weights of middle still require a gradient afterwards. Cleared gradients, or a flag that is switched on again at the end, hold for "
    "this step only.", score=1.5)  # fmt: skip
def backward_frozen(first, middle, last, x):
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()
    for p in middle.parameters():
        p.grad = None


@wrong("", "The weights of middle still require a gradient afterwards. Cleared gradients, or a flag that is switched on again at the end, hold for "
    "this step only.", score=1.5)  # fmt: skip
def backward_frozen(first, middle, last, x):
    middle.requires_grad_(False)
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()
    middle.requires_grad_(True)


@wrong("M16", "first is frozen as well now. It lies behind middle, but the gradient flows through a frozen layer: leave it alone.")  # fmt: skip
def backward_frozen(first, middle, last, x):
    for p in (*first.parameters(), *middle.parameters()):
        p.requires_grad_(False)
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()


@wrong("", "last should learn, and you froze it too. Only the layer in the middle stays as it is.")
def backward_frozen(first, middle, last, x):
    middle.requires_grad_(False)
    last.requires_grad_(False)
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()


@wrong("", "The task asks for the sum; a mean divides every gradient by the number of rows.", score=1)
def backward_frozen(first, middle, last, x):
    middle.requires_grad_(False)
    last(torch.tanh(middle(torch.tanh(first(x))))).mean().backward()


@wrong("M16", "Nothing at all was recorded, so backward has nowhere to start. Freeze leaves, not a stretch of time.")  # fmt: skip
def backward_frozen(first, middle, last, x):
    with torch.no_grad():
        loss = last(torch.tanh(middle(torch.tanh(first(x))))).sum()
    loss.backward()


@wrong(
    "",
    "No layer got a gradient: either backward was not called, or not on this sum with its history.",
    score=0.5,
)
def backward_frozen(first, middle, last, x):
    middle.requires_grad_(False)
    loss = last(torch.tanh(middle(torch.tanh(first(x))))).sum()
    torch.tensor(loss.item(), requires_grad=True).backward()


@wrong(
    "",
    "middle is frozen, but in another mode: training mode has nothing to do with gradients. The flags of its parameters are enough.",
    score=2.5,
)
def backward_frozen(first, middle, last, x):
    middle.requires_grad_(False).eval()
    last(torch.tanh(middle(torch.tanh(first(x))))).sum().backward()


@wrong("", "The tanh between middle and last is missing.", score=0.5)
def backward_frozen(first, middle, last, x):
    middle.requires_grad_(False)
    last(middle(torch.tanh(first(x)))).sum().backward()


@right
def backward_frozen(first, middle, last, x):
    for p in middle.parameters():
        p.requires_grad_(False)
    learners = [*first.parameters(), *last.parameters()]
    net = torch.nn.Sequential(first, torch.nn.Tanh(), middle, torch.nn.Tanh(), last)
    for p, g in zip(learners, torch.autograd.grad(net(x).sum(), learners)):
        p.grad = g if p.grad is None else p.grad + g


@right
def backward_frozen(first, middle, last, x):
    for p in middle.parameters():
        p.requires_grad = False
    h = torch.tanh(first(x))
    h = torch.tanh(torch.nn.functional.linear(h, middle.weight, middle.bias))
    y = last(h).sum()
    y.backward()


@right
def backward_frozen(first, middle, last, x):
    y = last(torch.tanh(middle(torch.tanh(first(x)))))
    middle.weight.requires_grad_(False)
    middle.bias.requires_grad_(False)
    y.backward(torch.ones_like(y))


@right
def backward_frozen(first, middle, last, x):
    for _, p in middle.named_parameters():
        p.requires_grad_(False)
    torch.sum(last(middle(first(x).tanh()).tanh())).backward()


@right
def backward_frozen(first, middle, last, x):
    def freeze(layer):
        layer.weight.requires_grad = False
        layer.bias.requires_grad = False

    freeze(middle)
    activation = x
    for layer in (first, middle):
        activation = torch.tanh(layer(activation))
    output = last(activation)
    output.sum().backward()


@right
def backward_frozen(first, middle, last, x):
    y = last(torch.tanh(middle(torch.tanh(first(x))))).sum()
    learning = [*first.parameters(), *last.parameters()]
    for p, g in zip(learning, torch.autograd.grad(y, learning)):
        p.grad = g if p.grad is None else p.grad + g
    middle.requires_grad_(False)


@right
def backward_frozen(first, middle, last, x):
    net = torch.nn.Sequential(first, torch.nn.Tanh(), middle, torch.nn.Tanh(), last)
    net[2].requires_grad_(False)
    net(x).sum().backward()


@right
def backward_frozen(first, middle, last, x):
    hidden = torch.tanh(first(x))
    hidden = torch.tanh(hidden @ middle.weight.detach().T + middle.bias.detach())
    last(hidden).sum().backward()
    for p in middle.parameters():
        p.requires_grad_(False)


@avoiding
def backward_frozen(first, middle, last, x):
    """The gradients by hand; the last sum sends 1 to each number."""
    middle.requires_grad_(False)
    with torch.no_grad():
        h = torch.tanh(first(x))
        k = torch.tanh(middle(h))
        to_last = torch.ones(len(x), len(last.bias))
        to_middle = (to_last @ last.weight) * (1 - k * k)
        to_first = (to_middle @ middle.weight) * (1 - h * h)
        sent = [
            (last.weight, to_last.t() @ k), (last.bias, to_last.sum(0)),
            (first.weight, to_first.t() @ x), (first.bias, to_first.sum(0)),
        ]  # fmt: skip
        for p, g in sent:
            p.grad = g if p.grad is None else p.grad + g
