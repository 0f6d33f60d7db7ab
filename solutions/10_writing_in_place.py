# ---
# jupyter:
#   autograd_lab:
#     id: "10"
#     minutes: 40
#     points: 9
# ---

# %% [markdown]
# # 10 · Exercises: writing in place
#
# Put your answers in place of the dots and run the check below. `lab.hint("10.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 10.1 · Error or not? (3 points)
#
# `x = torch.tensor([1.0, 2.0], requires_grad=True)` and `y = x * 3` come before each line, and
# `z.sum().backward()` comes after it. Answer `"fine"` or `"error"` for each.
#
# 1. `z = y + y; y.zero_()`
# 2. `z = y * x; y += 1`
# 3. `z = y.sigmoid(); y += 1`
# 4. `z = y.sigmoid(); z *= 2`
# 5. `v = y[0]; v += 1; z = y * y`
# 6. `z = y * y; v = y[0]; v += 1`

# %%
### BEGIN SOLUTION
outcomes = ["fine", "error", "fine", "error", "fine", "error"]
### END SOLUTION

# %%
lab.check("10.1", outcomes)

# %% tags=["item"]
item(
    "10.1",
    kind="predict",
    points=3,
    partial=True,
    hints=[
        "Who saves the value that is overwritten: y + y, y * x, sigmoid? And is it overwritten after it was saved?",
        "sigmoid saves its result. A product saves both factors. A sum saves nothing.",
        "v is a window onto y: writing into v is writing into y. In 5 it happens before y is saved, in 6 after.",
    ],
    wrong=[
        wrong_answer(
            ["error", "error", "error", "error", "error", "error"],
            "M22",
            "A write in place ruins backward only if it overwrites a value that a node has saved and still needs.",
            score=1.5,
        ),
        wrong_answer(
            ["fine", "fine", "fine", "fine", "fine", "fine"],
            "M23",
            "In 2, 4 and 6 a saved value is overwritten before backward needs it: it notices, and refuses.",
            score=1.5,
        ),
        wrong_answer(
            ["error", "error", "fine", "error", "fine", "error"],
            "M22",
            "In 1, y + y saves nothing: its slope is the same whatever y is.",
            score=2.5,
        ),
        wrong_answer(
            ["fine", "error", "error", "error", "fine", "error"],
            "M22",
            "In 3, sigmoid has saved its result z, not y: y may change.",
            score=2.5,
        ),
        wrong_answer(
            ["fine", "error", "error", "fine", "fine", "error"],
            "",
            "You have them the wrong way round in 3 and 4: sigmoid saves its result, not its input.",
            score=2,
        ),
        wrong_answer(
            ["fine", "error", "fine", "fine", "fine", "error"],
            "",
            "In 4, the result of sigmoid is overwritten, and its rule z * (1 - z) needs that result.",
            score=2.5,
        ),
        wrong_answer(
            ["fine", "error", "fine", "error", "fine", "fine"],
            "M24",
            "In 6, v is not a copy: v += 1 writes into y, which the product has saved.",
            score=2.5,
        ),
        wrong_answer(
            ["fine", "error", "fine", "error", "error", "error"],
            "M22",
            "In 5 the write comes before y is saved: the product sees the new y and saves that one.",
            score=2.5,
        ),
    ],
)

# %% [markdown]
# ## 10.2 · Past the counter (2 points)
#
# `x = torch.tensor({x}.0, requires_grad=True)` comes before each line, and `x.data.fill_({n}.0)` and
# `y.backward()` come after it. What is `x.grad`?
#
# 1. `y = x * {k}`
# 2. `y = x * x`
# 3. `y = x * x * x`, which is the product `(x * x) * x`
# 4. `y = x.clone() * x.clone()`

# %%
### BEGIN SOLUTION
silent = [5, 20, 216, 8]
### END SOLUTION

# %%
lab.check("10.2", silent)


# %% tags=["item"]
@variant(x=range(2, 8), n=range(8, 16), k=range(3, 10))
def past_the_counter(x=4, n=10, k=5):
    half = x**2 + 2 * n**2
    return varied(
        answer=[k, 2 * n, half, 2 * x],
        hints=[
            "For each product: which tensors has it saved, and which of them share the memory of x?",
            f"x * x gives a new tensor, {x**2}, which the write does not reach. clone gives a new tensor too.",
            f"3: the outer product has saved {x**2} and x. It sends {x**2} to x, and x (now {n}) into x * x, which sends that times {n}, twice.",
        ],
        wrong=[
            wrong_answer(
                [k, 2 * x, 3 * x**2, 2 * x],
                "M23",
                f"These are the gradients at x = {x}, where y was computed. The products saved x itself, and its memory now holds {n}.",
                score=1,
            ),
            wrong_answer(
                [k, 2 * n, 3 * n**2, 2 * n],
                "M23",
                f"These are the gradients at {n}. But x * x was computed before the write and is {x**2}, and the clones still hold {x}.",
                score=1,
            ),
            wrong_answer(
                [k, 2 * n, 3 * n**2, 2 * x],
                "",
                f"In 3 the outer product has saved the {x**2} of the forward run: half of the gradient is old, half is new.",
                score=1.5,
            ),
            wrong_answer(
                [k, 2 * n, half, 2 * n],
                "M24",
                f"clone makes a copy, not a view: what the product has saved still holds {x}.",
                score=1.5,
            ),
            wrong_answer(
                [k, "error", "error", 2 * x],
                "M23",
                "An ordinary write would be an error in 2 and 3. x.data has a counter of its own, so nobody sees this one.",
                score=1,
            ),
            wrong_answer(
                ["error", "error", "error", "error"],
                "M23",
                "x.data has a counter of its own, so nobody sees the write: there is no error, only a wrong number.",
            ),
            wrong_answer(
                [0, 0, 0, 0],
                "",
                "The write through .data is not recorded, so it does not cut the history: gradients still reach x.",
            ),
        ],
    )


item("10.2", kind="number", points=2, partial=True, variant=past_the_counter)

# %% [markdown]
# ## 10.3 · A thrifty softmax (2 points)
#
# To save memory, somebody divides in place. The values are right, but `backward` fails. Mend it.


# %%
### BEGIN SOLUTION
def softmax(x):
    """exp(x) divided by its sum, for a tensor of one dimension; x stays as it is."""
    e = x.exp()
    return e / e.sum()


### END SOLUTION
### BEGIN STUB
# def softmax(x):
#     """exp(x) divided by its sum, for a tensor of one dimension; x stays as it is."""
#     e = x.exp()
#     e /= e.sum()
#     return e
### END STUB


# %%
lab.check("10.3", softmax)

# %% tags=["item"]
item(
    "10.3",
    kind="debug",
    hints=[
        "Read the message, or ask lab.why: which operation saved the tensor that is overwritten?",
        "exp saves its result e, and e /= ... writes into e.",
        "Give the quotient a tensor of its own: return e / e.sum()",
    ],
    equivalent={"5: e / e.sum() in 64 bits": "the question asks for no dtype"},
)


@probe(points=0.5, rtol=1e-4)
def values(softmax):
    "The values for (0, 1, 3), and whether backward gets through"
    s = softmax(torch.tensor([0.0, 1.0, 3.0], requires_grad=True))
    s.sum().backward()
    return s.detach()


@shared
def slope(softmax):
    x = torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    (softmax(x) * torch.tensor([2.0, -5.0, 1.0])).sum().backward()
    return x.grad


@probe(points=0.5, rtol=1e-4)
def gradient(softmax):
    "The gradient of 2 s[0] - 5 s[1] + s[2] at (0, 1, 3); then the same, with saved values kept as copies"
    found = [slope(softmax)]
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        found.append(slope(softmax))
    return found


@probe(points=0.5, hidden=True, rtol=1e-4)
def behind_a_layer(softmax):
    "x is the output of an earlier operation"
    w = torch.tensor([1.0, -1.0], requires_grad=True)
    (softmax(w * w * w)[0] * 10).backward()
    one, other = softmax(w * 2), softmax(w - 1)
    (one[0] * other[1]).backward()
    x = torch.tensor([8.0, 7.0, -3.0, 0.0], requires_grad=True)
    s = softmax(x * 1)
    (s[0] * 2 - s[3]).backward()
    found = [w.grad, s.detach(), x.grad]
    same = torch.zeros(2)
    for number in (1.0, 3.0):
        same.copy_(torch.tensor([0.0, number]))
        found.append(softmax(same))
    found.append(softmax(torch.zeros(1)))
    return found


@probe(points=0.5, hidden=True, rtol=1e-9)
def the_input_stays(softmax):
    "The input, of 64 bits, holds the same numbers afterwards, and backward reaches what it was made of"
    w = torch.tensor([0.1, 2.3, -1.1, 1.7], dtype=torch.float64, requires_grad=True)
    x = w * 1
    as_they_were = untouched(x, w)
    s = softmax(x)
    softmax(w)
    s.sum().backward()
    return [x, s * 1e4, w.grad is None, as_they_were()]


@look("It leaves everything to the lab's own softmax, instead of mending the division.")
def is_ready_made(softmax):
    with lab.record() as trace:
        softmax(torch.tensor([0.0, 1.0, 3.0]))
    return any(event.get("op") in ("_softmax", "_log_softmax") for event in trace.events)


@wrong("M22",
    "exp saves its result, because its slope is its result, and what is computed in place overwrites it. Put the quotient "
    "into a new tensor.")  # fmt: skip
def softmax(x):
    e = x.exp()
    e *= 1 / e.sum()
    return e


@wrong("M22",
    "exp saves its result, because its slope is its result, and what is computed in place overwrites it. Put the quotient "
    "into a new tensor.")  # fmt: skip
def softmax(x):
    e = x.exp()
    e /= e.sum()
    return e


@wrong("M23",
    "The division is neither recorded nor counted: no error, but exp works with an overwritten result, and the "
    "share that goes through the sum is missing.", score=1)  # fmt: skip
def softmax(x):
    e = x.exp()
    e.data /= e.data.sum()
    return e


@wrong("M17",
    "The sum has no history: this is the gradient of a division by a constant. Let the sum stay a tensor of "
    "the graph.", score=1)  # fmt: skip
def softmax(x):
    e = x.exp()
    return e / e.sum().item()


@wrong(
    "M16",
    "The error is gone, and the gradient with it: the result has no history, and nothing reaches x any more.",
)
def softmax(x):
    e = x.detach().exp()
    e /= e.sum()
    return e


@wrong("", "You write into x itself: a leaf that requires a gradient refuses that, and other inputs are lost for the caller.", score=0.5)  # fmt: skip
def softmax(x):
    e = x.exp_()
    return e / e.sum()


@wrong("", "Divide by the sum, not by the mean: the values of a softmax add up to 1.")
def softmax(x):
    e = x.exp()
    return e / e.mean()


@wrong("", "Divided by the greatest element, the values do not add up to 1. Divide by the sum.")
def softmax(x):
    e = x.exp()
    return e / e.max()


@wrong("M16", "Nothing reaches x: what you return has no history that leads to it.", score=0.5)
def softmax(x):
    e = x.exp().detach()
    e /= e.sum()
    return e.requires_grad_()


@wrong("", "The numbers of x have changed. What you take away from them belongs in a new tensor.", score=1.5)
def softmax(x):
    with torch.no_grad():
        x -= x.max()
    e = x.exp()
    return e / e.sum()


@right
def softmax(x):
    return (x - x.logsumexp(0)).exp()


@right
def softmax(x):
    return 1 / (x[None, :] - x[:, None]).exp().sum(1)


@right
def softmax(x):
    e = x.exp().clone()
    e /= e.sum()
    return e


@right
def softmax(x):
    return (x - x.exp().sum().log()).exp()


@avoiding
def softmax(x):
    return torch.softmax(x, 0)


@right
def softmax(x):
    shifted = x - x.max()
    powers = torch.exp(shifted)
    return powers / powers.sum()


@right
def softmax(x):
    powers = [number.exp() for number in x]
    total = sum(powers)
    return torch.stack([power / total for power in powers])


@right
def softmax(x):
    e = x.exp()
    return torch.einsum("i,->i", e, 1 / e.sum())


@right
def softmax(x):
    def normalized(numbers):
        return numbers.div(numbers.sum(0, keepdim=True))

    return normalized(torch.exp(x))


@right
def softmax(x):
    """One quotient for each element: 1 / sum(exp(x_j - x_i))."""
    return 1 / (x[None, :] - x[:, None]).exp().sum(1)


# %% [markdown]
# ## 10.4 · Two losses, one step (2 points)
#
# Two losses share a forward run. `learn` should add up their gradients, **both at the old values**, move the
# parameters once, and clear the gradients. It ends in an error. Mend it.


# %%
### BEGIN SOLUTION
def learn(w, v, lr):
    """A descent step on (w * v - 3)**2 plus w * v * w, for leaves w, v; then gradients are None."""
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    first, second = (h - 3) ** 2, h * w
    first.backward(retain_graph=True)
    second.backward()
    optimizer.step()
    optimizer.zero_grad()


### END SOLUTION
### BEGIN STUB
# def learn(w, v, lr):
#     """A descent step on (w * v - 3)**2 plus w * v * w, for leaves w, v; then gradients are None."""
#     optimizer = torch.optim.SGD([w, v], lr=lr)
#     h = w * v
#     first, second = (h - 3) ** 2, h * w
#     first.backward(retain_graph=True)
#     optimizer.step()
#     second.backward()
#     optimizer.step()
#     optimizer.zero_grad()
### END STUB


# %%
lab.check("10.4", learn)

# %% tags=["item"]
item(
    "10.4",
    kind="debug",
    hints=[
        "Who writes in place here, although no line shows a `+=`?",
        "optimizer.step() writes into w and v, which h = w * v has saved.",
        "All backward calls first, then step, once.",
    ],
    equivalent={
        "6: h - 3 -> 3 - h": "the square is the same",
        "6: h * w -> h.mul_(w)": "the first loss is there already, and no node has saved h",
        "6: ((h - 3) ** 2, h * w) -> (h * w, (h - 3) ** 2)": "the gradients are added, in any order",
    },
)


@shared
def after(learn, w, v, lr, turns=1):
    w, v = torch.tensor(w, requires_grad=True), torch.tensor(v, requires_grad=True)
    for _ in range(turns):
        learn(w, v, lr)
    return [w.item(), v.item(), w.grad, v.grad]


@probe(points=0.75, rtol=1e-4)
def one_step(learn):
    "w = 1.5, v = 5, lr = 0.01: w and v afterwards"
    return after(learn, 1.5, 5.0, 0.01)[:2]


@probe(points=0.25)
def cleared(learn):
    "w = 1.5, v = 5, lr = 0.01: whether w has moved, and w.grad and v.grad afterwards"
    w, _, *gradients = after(learn, 1.5, 5.0, 0.01)
    return [w != 1.5, *gradients]


@probe(points=0.5, hidden=True, rtol=1e-4)
def three_steps(learn):
    "Several turns"
    return after(learn, 1.0, -2.0, 0.02, turns=3)[:2]


@probe(points=0.5, hidden=True)
def same_leaves(learn):
    "The parameters have moved, and are still leaves that require a gradient; whether all that is sent to them arrives, and recording is on"
    w, v = torch.tensor(1.5, requires_grad=True), torch.tensor(4.0, requires_grad=True)
    learn(w, v, 0.1)
    found = [[p.item() != old, p.is_leaf, p.requires_grad, unhooked(p)] for p, old in ((w, 1.5), (v, 4.0))]
    return [*found, torch.is_grad_enabled()]


@look("No backward runs: the gradients come from formulas.")
def by_a_formula(learn):
    with lab.record() as trace:
        after(learn, 1.5, 5.0, 0.01)
    return not any(event["k"] == "done" for event in trace.events)


@wrong("M30",
    "The first step writes into w and v, whose old values their product has saved for the second backward. "
    "Step after both.")  # fmt: skip
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    first, second = (h - 3) ** 2, h * w
    first.backward(retain_graph=True)
    optimizer.step()
    second.backward()
    optimizer.step()
    optimizer.zero_grad()


@wrong("M30", "Computed anew after the step, the second loss is taken at the moved parameters. Take both gradients at the old values.", score=0.75)  # fmt: skip
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    ((w * v - 3) ** 2).backward()
    optimizer.step()
    optimizer.zero_grad()
    (w * v * w).backward()
    optimizer.step()
    optimizer.zero_grad()


@wrong("M30", "The second loss is computed at the moved parameters, and the first gradient is still in .grad: it moves them twice.", score=0.75)  # fmt: skip
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    ((w * v - 3) ** 2).backward()
    optimizer.step()
    (w * v * w).backward()
    optimizer.step()
    optimizer.zero_grad()


@wrong("M15", "The caller's parameters have not moved: the step went into new tensors. Write into w and v themselves.")  # fmt: skip
def learn(w, v, lr):
    h = w * v
    ((h - 3) ** 2 + h * w).backward()
    w = w - lr * w.grad
    v = v - lr * v.grad


@wrong("M16", "The second loss sends nothing to v, and to w only half: the product in it has no history.", score=0.75)  # fmt: skip
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    ((h - 3) ** 2 + h.detach() * w).backward()
    optimizer.step()
    optimizer.zero_grad()


@wrong("M23", "Nothing has noticed the first step: the second backward silently uses the moved values. Step once, after both.", score=0.75)  # fmt: skip
def learn(w, v, lr):
    h = w * v
    first, second = (h - 3) ** 2, h * w
    first.backward(retain_graph=True)
    for p in (w, v):
        p.data -= lr * p.grad
        p.grad = None
    second.backward()
    for p in (w, v):
        p.data -= lr * p.grad
        p.grad = None


@wrong("M10", "The step follows the second loss alone. Call backward on both, and clear nothing between the two calls: here you want them to add up.", score=0.75)  # fmt: skip
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    first, second = (h - 3) ** 2, h * w
    first.backward(retain_graph=True)
    optimizer.zero_grad()
    second.backward()
    optimizer.step()
    optimizer.zero_grad()


@wrong(
    "", "The parameters move twice as far as one step with the sum of both gradients takes them.", score=0.75
)
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    first, second = (h - 3) ** 2, h * w
    first.backward(retain_graph=True)
    second.backward()
    optimizer.step()
    optimizer.step()
    optimizer.zero_grad()


@wrong("M10", "The gradients stay, and the next turn adds to them. Clear them after the step.", score=1.25)
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    ((h - 3) ** 2 + h * w).backward()
    optimizer.step()


@wrong("M14",
    "The two losses share the product of w and v. Its saved values go with the first backward unless it is "
    "told to keep them.")  # fmt: skip
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    first, second = (h - 3) ** 2, h * w
    first.backward()
    second.backward()
    optimizer.step()
    optimizer.zero_grad()


@wrong("M11", "The gradients are zero now. The task says None, which means that there is no gradient.", score=1.75)  # fmt: skip
def learn(w, v, lr):
    h = w * v
    ((h - 3) ** 2 + h * w).backward()
    with torch.no_grad():
        for p in (w, v):
            p -= lr * p.grad
            p.grad.zero_()


@wrong(
    "",
    "The step is half of what it should be. The gradients of the two losses add up; nobody asks for their mean.",
    score=0.75,
)
def learn(w, v, lr):
    o = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    (((h - 3) ** 2 + h * w) / 2).backward()
    o.step()
    o.zero_grad()


@wrong(
    "M30",
    "When the gradient of v is taken, w has moved already. Take both gradients at the old values.",
    score=0.75,
)
def learn(w, v, lr):
    for p in (w, v):
        h = w * v
        loss = (h - 3) ** 2 + h * w
        (g,) = torch.autograd.grad(loss, p)
        with torch.no_grad():
            p -= lr * g
    w.grad = v.grad = None


@wrong("", "v has not moved. The step is for both parameters.", score=0.25)
def learn(w, v, lr):
    h = w * v
    ((h - 3) ** 2 + h * w).backward()
    with torch.no_grad():
        w -= lr * w.grad
    w.grad = v.grad = None


@right
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    h = w * v
    ((h - 3) ** 2 + h * w).backward()
    optimizer.step()
    optimizer.zero_grad()


@right
def learn(w, v, lr):
    h = w * v
    grads = torch.autograd.grad((h - 3) ** 2 + h * w, [w, v])
    with torch.no_grad():
        for p, g in zip((w, v), grads):
            p -= lr * g


@right
def learn(w, v, lr):
    h = w * v
    first, second = (h - 3) ** 2, h * w
    torch.autograd.backward([first, second])
    with torch.no_grad():
        w -= lr * w.grad
        v -= lr * v.grad
    w.grad = v.grad = None


@right
def learn(w, v, lr):
    optimizer = torch.optim.SGD([w, v], lr=lr)
    optimizer.zero_grad()
    losses = [(w * v - 3) ** 2, w * v * w]
    for loss in losses:
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@right
def learn(w, v, lr):
    def move(parameter, gradient):
        parameter.data = parameter.data - lr * gradient
        parameter.grad = None

    product = w * v
    gradients_of_first = torch.autograd.grad((product - 3).pow(2), (w, v), retain_graph=True)
    gradients_of_second = torch.autograd.grad(product * w, (w, v))
    for parameter, one, other in zip((w, v), gradients_of_first, gradients_of_second):
        move(parameter, one + other)


@avoiding
def learn(w, v, lr):
    """The gradients by hand."""
    a, b = w.item(), v.item()
    slope_of_first = 2 * (a * b - 3)
    with torch.no_grad():
        w -= lr * (slope_of_first * b + 2 * a * b)
        v -= lr * (slope_of_first * a + a * a)


@right
def learn(w, v, lr):
    optimizer = torch.optim.SGD(params=[w, v], lr=lr)
    h = torch.mul(w, v)
    total = torch.stack([torch.square(h - 3), h * w]).sum()
    total.backward()
    optimizer.step()
    for p in (w, v):
        p.grad = None
