# ---
# jupyter:
#   autograd_lab:
#     id: "09"
#     minutes: 50
#     points: 14
# ---

# %% [markdown]
# # 09 · Exercises: what backward(v) means
#
# Put your answers in place of the dots and run the check below. `lab.hint("09.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 09.1 · The shape of v (2 points)
#
# All tensors here require a gradient: `x` of shape `(3,)`, `M` of shape `(4, 3)`, `X` of shape `(5, 3)` and `W` of
# shape `(3, 2)`. Which shape must `v` have in each of these four calls? Write each shape as a tuple. A vector of two
# numbers has the shape `(2,)`, and a single number has the shape `()`.
#
# 1. `(M @ x).backward(v)`
# 2. `(x * x).backward(v)`
# 3. `x.sum().backward(v)`
# 4. `(X @ W).backward(v)`

# %%
### BEGIN SOLUTION
shapes = [(4,), (3,), (), (5, 2)]
### END SOLUTION
### BEGIN STUB
# shapes = [..., ..., ..., ...]  # four tuples, one for each call
### END STUB

# %%
lab.check("09.1", shapes)

# %% tags=["item"]
item(
    "09.1",
    kind="predict",
    points=2,
    partial=True,
    hints=[
        "Backward starts with the message v. At which end of the graph does it start?",
        "v has one number for each number of the output, whatever the inputs are.",
        "What are the shapes of M @ x, x * x, x.sum() and X @ W?",
    ],
    wrong=[
        wrong_answer(
            [[3], [3], [3], [5, 3]],
            "M20",
            "These are shapes of inputs. v weighs the outputs: it has the output's shape, and what comes back has the input's.",
            score=0.5,
        ),
        wrong_answer(
            [[4, 3], [3, 3], [3], [5, 2, 5, 3]],
            "M20",
            "These are shapes of Jacobians. Nobody makes them: v is one message, with one number for each output.",
        ),
        wrong_answer(
            [4, 3, [], [5, 2]],
            "",
            "Python reads (4) as the number 4. A shape with one number is a tuple too, and needs the comma: (4,).",
            score=1,
        ),
        wrong_answer(
            [[], [], [], []],
            "",
            "A single number is enough for a single output. Where there are several, each needs a number in v.",
            score=0.5,
        ),
        wrong_answer(
            [[4], [3], [1], [5, 2]],
            "M18",
            "A full sum has the shape (), no dimension at all; (1,) is a row with one number in it.",
            score=1.5,
        ),
        wrong_answer(
            [[4], [3], [3], [5, 2]],
            "M20",
            "In the third, x has three numbers, but the output of sum is one.",
            score=1.5,
        ),
        wrong_answer(
            [[3], [3], [3], [3, 2]],
            "M20",
            "These are shapes of inputs. v weighs the outputs: it has the output's shape, and what comes back has the input's.",
            score=0.5,
        ),
        wrong_answer(
            [[4, 3], [3], [], [5, 2]],
            "M20",
            "In the first, that is the shape of M, which is the Jacobian. v has one number for each of the four outputs.",
            score=1.5,
        ),
    ],
)

# %% [markdown]
# ## 09.2 · One message, three gradients (2 points)
#
# Work by hand, at `x = ({p}, {q}, {r})`. There are two outputs, `y[0] = x[0] * x[1]` and `y[1] = x[1] + {k} * x[2]`. After
# `y.backward(torch.tensor([{v}.0, 1.0]))`, which three numbers are in `x.grad`?

# %%
### BEGIN SOLUTION
gradient = [30, 21, 4]
### END SOLUTION
### BEGIN STUB
# gradient = [..., ..., ...]
### END STUB

# %%
lab.check("09.2", gradient)


# %% tags=["item"]
@variant(p=range(2, 9), q=range(3, 10), r=range(2, 10), k=range(2, 10), v=(10, 20, 30, 100))
def one_message(p=2, q=3, r=5, k=4, v=10):
    times = {10: "ten", 20: "twenty", 30: "thirty", 100: "a hundred"}[v]
    return varied(
        answer=[v * q, v * p + 1, k],
        hints=[
            "Write down the Jacobian: two rows, three columns.",
            f"Its rows are ({q}, {p}, 0) and (0, 1, {k}).",
            f"{times.capitalize()} times the first row plus once the second.",
        ],
        wrong=[
            wrong_answer(
                [q, p + 1, k],
                "M20",
                f"This is the sum of the rows, what v = (1, 1) would give. The first output counts {times} times.",
                score=0.67,
            ),
            wrong_answer(
                [q, p + v, k * v],
                "",
                f"You gave the {v} to the second output. v[0] belongs to y[0].",
            ),
            wrong_answer(
                [v * p, v * q + 1, k],
                "",
                "In a product the factors swap: x[0] gets the message times x[1].",
                score=0.67,
            ),
            wrong_answer(
                [v * q, 1, k],
                "M07",
                f"x[1] is used by both outputs, and both messages count: {v} * {p} + 1 * 1.",
                score=1.33,
            ),
            wrong_answer(
                [v * q, v * p, k],
                "M07",
                f"x[1] is used by both outputs. The second sends it a message too: {v} * {p} + 1 * 1.",
                score=1.33,
            ),
            wrong_answer(
                [v * q, v * p, 0],
                "M20",
                "That is only the first row, weighted. The second output has the weight 1, not 0.",
                score=0.67,
            ),
            wrong_answer(
                [v * q, v * p + 1, k * r],
                "",
                f"The slope of {k} * x[2] is {k}, wherever x[2] is; the value {k * r} does not matter.",
                score=1.33,
            ),
        ],
    )


item("09.2", kind="number", points=2, partial=True, variant=one_message)

# %% [markdown]
# ## 09.3 · How many passes? (2 points)
#
# You want the *whole* Jacobian of `f`, with 300 inputs and 4 outputs, and of `g`, with 2 inputs and 700 outputs. Give six
# answers: the passes for `f` in backward mode, for `f` in forward mode, for `g` in backward mode, for `g` in forward mode; then
# the better mode for `f` and for `g`, each `"backward"` or `"forward"`.

# %%
### BEGIN SOLUTION
passes = [4, 300, 700, 2, "backward", "forward"]
### END SOLUTION
### BEGIN STUB
# # f backward, f forward, g backward, g forward, better for f, better for g
# passes = [..., ..., ..., ..., ..., ...]
### END STUB

# %%
lab.check("09.3", passes)

# %% tags=["item"]
item(
    "09.3",
    kind="number",
    points=2,
    partial=True,
    hints=[
        "What does one backward pass uncover: a row or a column? How many are there?",
        "Rows belong to outputs, columns to inputs. Backward uncovers a row, forward a column.",
        "f: 4 rows, 300 columns. g: 700 rows, 2 columns.",
    ],
    wrong=[
        wrong_answer(
            [300, 4, 2, 700, "forward", "backward"],
            "M20",
            "It is the other way round: a backward pass starts at one output and uncovers its row.",
        ),
        wrong_answer(
            [300, 4, 2, 700, "backward", "forward"],
            "M20",
            "The better modes are right, but by your counts they would be the worse ones. A backward pass uncovers a row, the row of "
            "an output: 4 of them for f.",
            score=0.67,
        ),
        wrong_answer(
            [4, 4, 2, 2, "backward", "forward"],
            "M21",
            "Each mode has its own count, whichever is better: forward mode needs a pass for each input, all 300 of f.",
            score=1.33,
        ),
        wrong_answer(
            [300, 300, 2, 2, "backward", "forward"],
            "M20",
            "Backward mode needs a pass for each output, not for each input: 4 for f, and 700 for g.",
            score=1.33,
        ),
        wrong_answer(
            [4, 300, 700, 2, "backward", "backward"],
            "M21",
            "Your counts are right. Two passes are fewer than 700, so for g forward mode is better.",
            score=1.67,
        ),
        wrong_answer(
            [1, 300, 1, 2, "backward", "backward"],
            "M20",
            "One backward pass gives one weighted sum of the rows, not all of them. Each row needs a pass.",
            score=1,
        ),
        wrong_answer(
            [1200, 1200, 1400, 1400, "backward", "backward"],
            "M20",
            "One pass uncovers a whole row or column, not one number of the table.",
            score=0.33,
        ),
        wrong_answer(
            [4, 300, 700, 2, "forward", "backward"],
            "M21",
            "The counts are right. Fewer passes are better.",
            score=1.33,
        ),
    ],
)

# %% [markdown]
# ## 09.4 · The rule of a matrix product (3 points)
#
# `G` is the message that arrives at `X @ W`. Return what goes to `X` and what goes to `W`, each with the shape and the dtype of its
# matrix; all three stay as they are.


# %%
def matmul_rule(G, X, W):
    """What the node of X @ W sends: (to X, to W)."""
    ### BEGIN SOLUTION
    return G @ W.T, X.T @ G
    ### END SOLUTION


# %%
lab.check("09.4", matmul_rule)

# %% tags=["item"]
item(
    "09.4",
    kind="code",
    points=3,
    hints=[
        "Write down three shapes: of X, of W, and of G, which is that of X @ W. Which products fit?",
        "X[i, k] feeds row i of the result, scaled by row k of W.",
        "X gets G times W transposed; W gets X transposed times G.",
    ],
)


@shared
def numbers(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.integers(1, 10, shape).astype("float64")) for shape in shapes]


@probe(points=1, cases=[(1, 1, 2), (1, 2, 1), (2, 1, 1), (2, 3, 4)])
def three_shapes(matmul_rule, n, k, m):
    "G of shape ({0}, {2}), X of shape ({0}, {1}), W of shape ({1}, {2}); sent to X and to W"
    return list(matmul_rule(*numbers(1, (n, m), (n, k), (k, m))))


@probe(points=1, hidden=True, rtol=1e-9)
def square(matmul_rule):
    "Square matrices of 64 bits, where every product fits, and then others of the same shape; whether they stay as they are; and the dtypes in 32 bits"
    first, other = ([t + 0.1 for t in numbers(seed, (3, 3), (3, 3), (3, 3))] for seed in (2, 5))
    other[0] = other[0] / 7e5  # as small as a mean makes it
    as_they_were = untouched(*first, *other)
    found = [*map(torch.as_tensor, (*matmul_rule(*first), *matmul_rule(*other))), as_they_were()]
    found += map(dtype_of, matmul_rule(*(t.float() for t in first)))
    first[0].mul_(3)
    found += map(torch.as_tensor, matmul_rule(*first))
    return [*found, *map(torch.as_tensor, matmul_rule(other[0], first[1], first[1]))]  # of X @ X


@probe(points=1, hidden=True, cases=[(1, 5, 2), (4, 1, 3), (3, 2, 1)])
def narrow_matrices(matmul_rule, n, k, m):
    "A single row, column or inner dimension"
    return list(matmul_rule(*numbers(3, (n, m), (n, k), (k, m))))


@look("The lab's autograd differentiates the product, instead of the rule.")
def asks_autograd(matmul_rule):
    with lab.record() as trace:
        matmul_rule(*numbers(4, (2, 4), (2, 3), (3, 4)))
    return any(event["k"] == "done" for event in trace.events)


@wrong(
    "",
    "In the rule of a product of numbers the factors swap, and nothing else. For matrices the other factor must be transposed "
    "as well, or the shapes do not fit.",
)
def matmul_rule(G, X, W):
    return G @ W, X @ G


@wrong(
    "",
    "For matrices it is not enough to multiply with the other factor: it must be transposed, or the shapes do not fit.",
)
def matmul_rule(G, X, W):
    return W @ G, G @ X


@wrong("", "Two messages leave this node: one to X and one to W. Yours returns the one to X only.")
def matmul_rule(G, X, W):
    return G @ W.T


@wrong("", "What arrives is G, not the value of X @ W: a rule sends on its message, times the other factor.")
def matmul_rule(G, X, W):
    return (X @ W) @ W.T, X.T @ (X @ W)


@wrong("", "Both are right, but in the wrong order: first what goes to X, then what goes to W.")
def matmul_rule(G, X, W):
    return X.T @ G, G @ W.T


@wrong("M18", "What goes to W comes out transposed. Its shape must be that of W: X.T @ G.")
def matmul_rule(G, X, W):
    return G @ W.T, G.T @ X


@wrong("M18", "What goes to X comes out transposed. Its shape must be that of X: G @ W.T.")
def matmul_rule(G, X, W):
    return W @ G.T, X.T @ G


@wrong("M20", "The message is missing: with ones in place of G every output counts the same.")
def matmul_rule(G, X, W):
    ones = torch.ones_like(G)
    return ones @ W.T, X.T @ ones


@wrong("", "These are the local factors, each transposed. Where is the message G?")
def matmul_rule(G, X, W):
    return W.T, X.T


@wrong(
    "M19",
    "A mean over the rows of the batch: nothing in X @ W divides. The messages to W are added.",
    score=0,
)
def matmul_rule(G, X, W):
    return G @ W.T, X.T @ G / len(X)


@wrong(
    "M24",
    "G, X or W does not stay as it is: it is written to, or its flag is switched, even if that is undone. X and W belong to the caller, and G may "
    "be on its way to another operand as well: make new tensors.",
    score=2,
)
def matmul_rule(G, X, W):
    to_W = X.T @ G
    X.copy_(G @ W.T)
    return X, to_W


@wrong(
    "M24",
    "G, X or W does not stay as it is: it is written to, or its flag is switched, even if that is undone. X and W belong to the caller, and G may "
    "be on its way to another operand as well: make new tensors.",
    score=2,
)
def matmul_rule(G, X, W):
    to_X = G @ W.t_()
    W.t_()
    return to_X, X.T @ G


@wrong(
    "",
    "Right in 32 bits, but the matrices have 64: half of the digits are lost. Compute with tensors of their own dtype.",
    score=2,
)
def matmul_rule(G, X, W):
    return (G @ W.T).float(), (X.T @ G).float()


@wrong(
    "",
    "The numbers are right, but of 64 bits, while the matrices have 32. Compute with tensors of their own dtype.",
    score=2,
)
def matmul_rule(G, X, W):
    G, X, W = (np.array(t.tolist()) for t in (G, X, W))
    return torch.tensor(G @ W.T), torch.tensor(X.T @ G)


@wrong(
    "",
    "You remember an answer by its shapes. The next call may have the same shapes and other numbers: multiply anew.",
    score=2,
)
def matmul_rule(G, X, W):
    known = vars(matmul_rule).setdefault("known", {})
    key = G.shape, X.shape, W.shape
    if key not in known:
        known[key] = G @ W.T, X.T @ G
    return known[key]


@wrong(
    "",
    "The shapes are right and the numbers stand in other places: transposing swaps rows and columns, it does not only count them anew.",
)
def matmul_rule(G, X, W):
    return G @ W.reshape(W.shape[1], W.shape[0]), X.reshape(X.shape[1], X.shape[0]) @ G


@wrong(
    "",
    "X and W collect gradients in your rule, and require one afterwards. They should stay as they are: the rule only computes.",
    score=2,
)
def matmul_rule(G, X, W):
    X.requires_grad_()
    W.requires_grad_()
    (X @ W).backward(G)
    return X.grad, W.grad


@wrong(
    "M24",
    "G, X or W does not stay as it is: it is written to, or its flag is switched, even if that is undone. X and W belong to the "
    "caller, and G may be on its way to another operand as well: make new tensors.",
    score=2,
)
def matmul_rule(G, X, W):
    W.t_()
    X.t_()
    return G @ W, X @ G


@wrong("", "The numbers are rounded. Hand them on as they are.", score=2)
def matmul_rule(G, X, W):
    return tuple(torch.round(one * 10000) / 10000 for one in (G @ W.T, X.T @ G))


@right
def matmul_rule(G, X, W):
    return torch.einsum("nm,km->nk", G, W), torch.einsum("nk,nm->km", X, G)


@right
def matmul_rule(G, X, W):
    return (W @ G.T).T, (G.T @ X).T


@right
def matmul_rule(G, X, W):
    return torch.matmul(G, W.transpose(0, 1)), torch.matmul(X.transpose(0, 1), G)


@right
def matmul_rule(G, X, W):
    (n, k), m = X.shape, W.shape[1]
    to_X, to_W = torch.zeros_like(X), torch.zeros_like(W)
    for i in range(n):
        for j in range(m):
            for inner in range(k):
                to_X[i, inner] += G[i, j] * W[inner, j]
                to_W[inner, j] += G[i, j] * X[i, inner]
    return to_X, to_W


@right
def matmul_rule(G, X, W):
    import numpy as np

    g, x, w = (np.asarray(t.numpy()) for t in (G, X, W))
    return g.dot(w.T), np.dot(x.T, g)


@right
def matmul_rule(G, X, W):
    to_X = (G[:, None, :] * W[None, :, :]).sum(2)
    to_W = (X[:, :, None] * G[:, None, :]).sum(0)
    return [to_X, to_W]


@right
def matmul_rule(G, X, W):
    def message_for_the_left_factor(message, right_factor):
        return torch.stack([right_factor @ row for row in message])

    def message_for_the_right_factor(message, left_factor):
        outer_products = [torch.outer(row, sent) for row, sent in zip(left_factor, message)]
        return sum(outer_products[1:], outer_products[0])

    return message_for_the_left_factor(G, W), message_for_the_right_factor(G, X)


@avoiding
def matmul_rule(G, X, W):
    X, W = X.clone().requires_grad_(), W.clone().requires_grad_()
    (X @ W).backward(G)
    return X.grad, W.grad


# %% [markdown]
# ## 09.5 · The Jacobian, row by row (2 points)
#
# `f` takes a vector to a vector. Uncover its Jacobian with one backward pass for each output. The result is a tensor of the dtype of `x`, with
# a row for each output and a column for each input. `x` requires a gradient, and stays as it is (only its `.grad` may change).


# %%
def jacobian(f, x):
    """The Jacobian of f at x, shape (outputs, inputs)."""
    ### BEGIN SOLUTION
    y = f(x)
    rows = []
    for i in range(len(y)):
        v = torch.zeros_like(y)
        v[i] = 1
        (row,) = torch.autograd.grad(y, x, v, retain_graph=True)
        rows.append(row)
    return torch.stack(rows)
    ### END SOLUTION


# %%
lab.check("09.5", jacobian)

# %% tags=["item"]
item(
    "09.5",
    kind="code",
    points=2,
    hints=[
        "Which v uncovers row i? It has the shape of the output.",
        "torch.autograd.grad(y, x, v) returns a tuple with one gradient and leaves x.grad alone.",
        "All rows use the same graph, so keep its saved values: retain_graph=True. Then torch.stack(rows).",
    ],
    equivalent={
        "6: len(y) -> y.shape[-1]": "y has one dimension",
        "8: v[i] = 1 -> v[i] += 1": "what v holds there is 0",
    },
)


@probe(points=1, cases=[(1, 2), (2, 1), (2, 2), (2, 3)])
def few_from_few(jacobian, outputs, inputs):
    "f(x) = A[:{0}, :{1}] @ x**2, with A and x as in notebook 09"
    A = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])[:outputs, :inputs]
    return jacobian(lambda x: A @ x**2, torch.tensor([1.0, 2.0, 3.0][:inputs], requires_grad=True))


@probe(points=0.5, hidden=True, rtol=1e-9)
def more_outputs(jacobian):
    "More outputs than inputs, in 64 bits; a single one, and some that are all 0"
    A = torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 1.0], [5.0, 0.5]], dtype=torch.float64)
    x = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    return [
        jacobian(lambda x: A @ torch.exp(x) * 2, x),
        jacobian(lambda x: A @ x, x),
        jacobian(lambda x: (x * x).sum()[None], x),
        jacobian(lambda x: torch.stack([x[0] - x[1] - 1.5, x[1] + 1, x[1] * x[1] - 1]), x),
    ]


@probe(points=0.5, hidden=True)
def an_old_gradient(jacobian):
    "A square one, with a gradient left over from before; the same function at another place; whether both places stay as they are; and the dtype"
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    x.grad = torch.tensor([100.0, 200.0])
    other = torch.tensor([-1.1, 4.3], requires_grad=True)
    as_they_were = untouched(x, other)

    def f(x):
        return torch.stack([x[0] * x[1], x[0] ** 2 * 3])

    found = [jacobian(f, x), jacobian(f, other), as_they_were()]
    x.data.mul_(2)
    return [*found, dtype_of(found[0]), jacobian(f, x)]


@shared
def ran_for_four_rows(jacobian):
    "The functions that run for a table of four rows."
    x = torch.tensor([2.0, 5.0], requires_grad=True)
    return called(lambda: jacobian(lambda x: torch.stack([x[0], x[1], x[0] * x[1], x[0] * x[0]]), x))


@look("It leaves the table to torch.autograd.functional or torch.func, where it is ready-made.")
def is_ready_made(jacobian):
    ready_made = {torch.autograd.functional.__name__, torch.func.__name__}
    return any(module in ready_made for module, _ in ran_for_four_rows(jacobian))


@look("It asks for fewer backward passes than there are outputs.")
def asks_for_fewer_passes(jacobian):
    asked = {(f.__globals__["__name__"], f.__name__) for f in (torch.autograd.grad, torch.autograd.backward)}
    return sum(one in asked for one in ran_for_four_rows(jacobian)) < 4


@wrong(
    "M20",
    "This is the sum of the rows, as one backward pass with ones gives it. To tell them apart, each needs a pass, and a place, of its own.",
)
def jacobian(f, x):
    y = f(x)
    return sum(torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y)))


@wrong(
    "M20",
    "This is the sum of the rows, as one backward pass with ones gives it. To tell them apart, each needs a pass, and a place, of its own.",
)
def jacobian(f, x):
    y = f(x)
    return torch.autograd.grad(y, x, torch.ones_like(y))[0]


@wrong(
    "M12",
    "The first pass frees the saved values, and the second needs them. Here retain_graph=True is right.",
)
def jacobian(f, x):
    y = f(x)
    rows = []
    for i in range(len(y)):
        v = torch.zeros_like(y)
        v[i] = 1
        rows.append(torch.autograd.grad(y, x, v)[0])
    return torch.stack(rows)


@wrong(
    "",
    "Each row contains the ones before it: something goes on adding. Begin each row with an empty gradient and "
    "an empty message.",
)
def jacobian(f, x):
    y = f(x)
    rows = []
    for i in range(len(y)):
        v = torch.zeros_like(y)
        v[i] = 1
        y.backward(v, retain_graph=True)
        rows.append(x.grad.clone())
    return torch.stack(rows)


@wrong(
    "",
    "Each row contains the ones before it: something goes on adding. Begin each row with an empty gradient and "
    "an empty message.",
)
def jacobian(f, x):
    y = f(x)
    rows = []
    v = torch.zeros_like(y)
    for i in range(len(y)):
        v[i] = 1
        rows.append(torch.autograd.grad(y, x, v, retain_graph=True)[0])
    return torch.stack(rows)


@wrong("", "torch.autograd.grad returns a tuple, also for a single input. The row is its first entry: [0].")
def jacobian(f, x):
    y = f(x)
    rows = []
    for i in range(len(y)):
        v = torch.zeros_like(y)
        v[i] = 1
        rows.append(torch.autograd.grad(y, x, v, retain_graph=True))
    return torch.stack(rows)


@wrong("", "The rows are right, but a list of rows is not yet a table: torch.stack(rows) makes one.")
def jacobian(f, x):
    y = f(x)
    return [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]


@wrong(
    "M20",
    "A message has the shape of the output. A whole table of them does not go through in one pass: one row, "
    "one pass.",
)
def jacobian(f, x):
    y = f(x)
    return torch.autograd.grad(y, x, torch.eye(len(y)))[0]


@wrong("", "Your table is transposed: the rows belong to the outputs, the columns to the inputs.")
def jacobian(f, x):
    y = f(x)
    rows = []
    for i in range(len(y)):
        v = torch.zeros_like(y)
        v[i] = 1
        rows.append(torch.autograd.grad(y, x, v, retain_graph=True)[0])
    return torch.stack(rows, 1)


@wrong(
    "M20", "Your message has the shape of the input. It weighs outputs, so it must look like them.", score=0.5
)
def jacobian(f, x):
    y = f(x)
    rows = []
    for i in range(len(x)):
        v = torch.zeros_like(x)
        v[i] = 1
        rows.append(torch.autograd.grad(y, x, v, retain_graph=True)[0])
    return torch.stack(rows)


@wrong(
    "M10",
    "x.grad is emptied between the rows, but what was there before the first one is still in it.",
    score=1.5,
)
def jacobian(f, x):
    y = f(x)
    rows = []
    for i in range(len(y)):
        v = torch.zeros_like(y)
        v[i] = 1
        y.backward(v, retain_graph=True)
        rows.append(x.grad)
        x.grad = None
    return torch.stack(rows)


@wrong(
    "",
    "You remember an answer by its function or by its shapes. At another x the same function has another Jacobian.",
    score=1.5,
)
def jacobian(f, x):
    known = vars(jacobian).setdefault("known", {})
    if f not in known:
        y = f(x)
        known[f] = torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))])
    return known[f]


@wrong(
    "",
    "Right in 32 bits, but x has 64: half of the digits are lost on the way into your table. Give it the dtype of x.",
    score=1.5,
)
def jacobian(f, x):
    y = f(x)
    table = torch.zeros(len(y), len(x))
    for i in range(len(y)):
        table[i] = torch.autograd.grad(y[i], x, retain_graph=True)[0]
    return table


@wrong(
    "",
    "The numbers are right, but of 64 bits, while x has 32. Give your table the dtype of x.",
    score=1.5,
)
def jacobian(f, x):
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    return torch.stack(rows).double()


@avoiding
def jacobian(f, x):
    return torch.autograd.functional.jacobian(f, x)


@avoiding
def jacobian(f, x):
    """All rows in one batch."""
    y = f(x)
    return torch.autograd.grad(y, x, torch.eye(len(y)), is_grads_batched=True)[0]


@wrong(
    "M20",
    "Your rows are all alike: each is the sum of all. Ask for one output at a time, 1 for it and 0 for the others, and keep its row where nothing is added to it.",
)
def jacobian(f, x):
    y = f(x)
    rows = []
    x.grad = None
    for i in range(len(y)):
        y[i].backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


@wrong(
    "",
    "Outputs with the same value get the same row. An output is known by its place, not by its value.",
    score=1.5,
)
def jacobian(f, x):
    y = f(x)
    values = y.tolist()
    rows = []
    for v in values:
        rows.append(torch.autograd.grad(y[values.index(v)], x, retain_graph=True)[0])
    return torch.stack(rows)


@wrong(
    "",
    "All rows are alike, and each is the last one: they are one and the same tensor, which was filled again and again. Keep a copy of each.",
)
def jacobian(f, x):
    y = f(x)
    rows = []
    x.grad = torch.zeros_like(x)
    for i in range(len(y)):
        x.grad.zero_()
        y[i].backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


@wrong(
    "",
    "A table with a single row or column has two dimensions all the same: leave its shape as it is.",
    score=0.5,
)
def jacobian(f, x):
    y = f(x)
    return torch.stack([torch.autograd.grad(one, x, retain_graph=True)[0] for one in y]).squeeze()


@right
def jacobian(f, x):
    return torch.stack([torch.autograd.grad(f(x)[i], x)[0] for i in range(len(f(x)))])


@right
def jacobian(f, x):
    y = f(x)
    rows = []
    for v in torch.eye(len(y)):
        rows.append(torch.autograd.grad(y, x, v, retain_graph=True)[0])
    return torch.stack(rows)


@right
def jacobian(f, x):
    """With backward, from an empty .grad each time; what was there before is put back."""
    old, rows = x.grad, []
    for i in range(len(f(x))):
        x.grad = None
        f(x)[i].backward()
        rows.append(x.grad)
    x.grad = old
    return torch.stack(rows)


@right
def jacobian(f, x):
    outputs = f(x)
    table = torch.zeros(len(outputs), len(x), dtype=x.dtype)
    for place, output in enumerate(outputs):
        table[place] = torch.autograd.grad(output, x, retain_graph=True)[0]
    return table


@right
def jacobian(f, x):
    def rows_from(place, outputs):
        if place == outputs.shape[0]:
            return []
        is_last = place == outputs.shape[0] - 1
        row = torch.autograd.grad(outputs[place], x, retain_graph=not is_last)[0]
        return [row, *rows_from(place + 1, outputs)]

    return torch.stack(rows_from(0, f(x)), dim=0)


@right
def jacobian(f, x):
    import numpy as np

    copy = x.detach().clone().requires_grad_()
    y = f(copy)
    rows = np.empty((y.numel(), copy.numel()))
    for i in range(y.numel()):
        one_hot = torch.zeros(y.numel())
        one_hot[i] = 1.0
        copy.grad = None
        y.backward(one_hot, retain_graph=True)
        rows[i] = copy.grad.numpy()
    return torch.tensor(rows, dtype=x.dtype)


# %% [markdown]
# ## 09.6 · Every path, or every edge once (3 points)
#
# The library networkx knows much about graphs, and `lab.graph(loss)` gives it yours. An edge leads from
# a result to an operand.
#
# ```python
# graph.out_edges(node, data="derivative")            # (node, operand, local derivative), for each edge
# networkx.all_simple_edge_paths(graph, root, leaf)   # every path, as a list of edges
# graph.edges[edge]["derivative"]                     # of one edge of such a path
# networkx.topological_sort(graph)                    # each node after all nodes that lead to it
# ```
#
# Write the gradient of the root by a leaf in two ways.
#
# - `by_paths`: multiply along each path, add up the paths. Return the gradient, and how many paths there are.
# - `by_edges`: give the root 1, go through the nodes in order, and let each send its sum on. Return the gradient, and how
#   many edges you have touched.
#
# The check waits until both are written.

# %%
import math

import networkx


def by_paths(graph, root, leaf):
    ### BEGIN SOLUTION
    paths = networkx.all_simple_edge_paths(graph, root, leaf)
    brought = [math.prod(graph.edges[edge]["derivative"] for edge in path) for path in paths]
    return sum(brought), len(brought)
    ### END SOLUTION


def by_edges(graph, root, leaf):
    ### BEGIN SOLUTION
    total, touched = dict.fromkeys(graph, 0.0), 0
    total[root] = 1.0
    for node in networkx.topological_sort(graph):
        for _, operand, derivative in graph.out_edges(node, data="derivative"):
            total[operand] += total[node] * derivative
            touched += 1
    return total[leaf], touched
    ### END SOLUTION


# %%
lab.check("09.6", [by_paths, by_edges])

# %% [markdown]
# Why does nobody train by paths? Ask both for ten squarings in a row, then for fifteen:

# %%
y = torch.tensor(1.0, requires_grad=True)
for _ in range(10):
    y = y * y
graph = lab.graph(y)
print("by paths:", by_paths(graph, len(graph) - 1, 0), " by edges:", by_edges(graph, len(graph) - 1, 0))

# %% tags=["item"]
item(
    "09.6",
    kind="code",
    points=3,
    hints=[
        "Where two paths meet in a node, `by_edges` adds first and goes on once. `by_paths` goes on with each of them.",
        "`by_paths` is one product for each path; `by_edges` is the loop of notebook 04, with `total` in place of messages.",
        "by_edges: for node in networkx.topological_sort(graph): for _, operand, d in graph.out_edges(node, data='derivative'): "
        "total[operand] += total[node] * d, and count.",
    ],
    equivalent={
        "17: total[root] = 1.0 -> total[root] += 1.0": "what the root has there is 0",
        "18: passed over where node is negative": "the nodes' numbers begin with 0",
        "19: passed over where _ is negative": "the nodes' numbers begin with 0",
        "19: passed over where operand is negative": "the nodes' numbers begin with 0",
        "10: len(brought) to four digits": "a count is a whole number",
        "22: touched to four digits": "a count is a whole number",
    },
)


@shared
def graph_of(program):
    "The graph of a program for a = 2, with its root and the leaf a."
    a = torch.tensor(2.0, requires_grad=True)
    names = {"a": a}
    for line in program.split("; "):
        name, formula = line.split(" = ")
        names[name] = eval(formula, {}, names)
    graph = lab.graph(names["y"])
    return graph, len(graph) - 1, next(n for n, kind in graph.nodes(data="kind") if kind == "leaf")


PROGRAMS = [("y = a * 3",), ("b = a * 3; y = b * 4",), ("y = a + a",), ("y = a - a * 1",), ("y = a / a",),
            ("b = a * a; y = a * b",), ("b = a * a; c = b * 3; y = b * c",)]  # fmt: skip


@probe(points=1, cases=PROGRAMS)
def along_paths(answers, program):
    "by_paths at a = 2 for {0}: the gradient, and how many paths"
    gradient, paths = answers[0](*graph_of(program))
    return {"gradient": gradient, "paths": paths}


@probe(points=1, cases=PROGRAMS)
def along_edges(answers, program):
    "by_edges at a = 2 for {0}: the gradient, and how many edges"
    gradient, edges = answers[1](*graph_of(program))
    return {"gradient": gradient, "edges": edges}


@probe(points=1, hidden=True)
def larger_ones(answers):
    "Random graphs in any numbering, three operands, and forty squarings in a row"
    import networkx

    rng = np.random.default_rng(5)
    found = []
    for _ in range(4):
        made = [torch.tensor(1.1, requires_grad=True), torch.tensor(0.7, requires_grad=True)]
        for _ in range(8):
            i, j = len(made) - 1 - rng.integers(min(3, len(made)), size=2)
            made.append(made[i] * made[j] if rng.random() < 0.5 else made[i] - 0.5 * made[j])
        graph = lab.graph(made[-1])
        order = rng.permutation(len(graph)).tolist()
        mixed = networkx.relabel_nodes(graph, dict(enumerate(order)))
        for leaf in (n for n, kind in mixed.nodes(data="kind") if kind == "leaf"):
            found += [answer(mixed, order[len(graph) - 1], leaf) for answer in answers]
    a = torch.tensor(2.0, requires_grad=True)
    graph = lab.graph(torch.addcmul(a * 3, a * a, a))
    leaf = next(n for n, kind in graph.nodes(data="kind") if kind == "leaf")
    found += [answer(graph, len(graph) - 1, leaf) for answer in answers]
    for edge in graph.edges:
        graph.edges[edge]["derivative"] *= 2
    found += [answer(graph, len(graph) - 1, leaf) for answer in answers]
    squared = torch.tensor(1.0, requires_grad=True)
    for _ in range(40):
        squared = squared * squared
    graph = lab.graph(squared)
    return [*found, soon(answers[1], graph, 40, 0)]


def _two(paths=None, edges=None):
    import networkx

    def along(graph, root, leaf):
        found = [
            [graph.edges[e]["derivative"] for e in path]
            for path in networkx.all_simple_edge_paths(graph, root, leaf)
        ]
        return sum(map(math.prod, found)), len(found)

    def once(graph, root, leaf):
        total, touched = dict.fromkeys(graph, 0.0) | {root: 1.0}, 0
        for u, v, d in _edges(graph, networkx.topological_sort(graph)):
            total[v] += total[u] * d
            touched += 1
        return total[leaf], touched

    return [paths or along, edges or once]


def _edges(graph, order):
    for node in order:
        yield from graph.out_edges(node, data="derivative")


def _sent(graph, root, leaf, order, send=lambda total, u, v, d: total[v] + total[u] * d, seed=1.0):
    total, touched = dict.fromkeys(graph, 0.0) | {root: seed}, 0
    for u, v, d in _edges(graph, order):
        total[v] = send(total, u, v, d)
        touched += 1
    return total[leaf], touched


def _summed(graph, root, leaf):
    import networkx

    found = [
        [graph.edges[e]["derivative"] for e in path]
        for path in networkx.all_simple_edge_paths(graph, root, leaf)
    ]
    return sum(map(sum, found)), len(found)


def _by_nodes(graph, root, leaf):
    import itertools

    import networkx

    found = list(networkx.all_simple_paths(graph, root, leaf))
    return sum(
        math.prod(graph.edges[u, v, 0]["derivative"] for u, v in itertools.pairwise(p)) for p in found
    ), len(found)


def _simple(graph, root, leaf):
    import networkx

    return _two()[0](networkx.MultiDiGraph(networkx.DiGraph(graph)), root, leaf)


def _walk(graph, root, leaf):
    total, touched, stack = 0.0, 0, [(root, 1.0)]
    while stack:
        node, g = stack.pop()
        total += g if node == leaf else 0
        for _, v, d in graph.out_edges(node, data="derivative"):
            stack.append((v, g * d))
            touched += 1
    return total, touched


def _topological(graph):
    import networkx

    return list(networkx.topological_sort(graph))


def _breadth(graph, root):
    import networkx

    return [root, *(v for _, v in networkx.bfs_edges(graph, root))]


wrong("", "Along one path the derivatives are multiplied: each says how many times as far. Only the paths are added.", score=1)(
    _two(paths=_summed))  # fmt: skip
wrong("", "The products of the paths are added, not multiplied.", score=1)(
    _two(paths=lambda g, r, x: (math.prod(math.prod(g.edges[e]["derivative"] for e in p)
         for p in __import__("networkx").all_simple_edge_paths(g, r, x)), _two()[0](g, r, x)[1])))  # fmt: skip
wrong("M04", "A path is a list of edges, not of nodes: between the same two nodes there may be two edges with two derivatives, as in "
      "a - a * 1. Take each edge with its key, from all_simple_edge_paths.", score=1)(_two(paths=_by_nodes))  # fmt: skip
wrong("M04", "You have one edge between two nodes. In a + a there are two edges from y to a, and each is a way of its own.", score=1)(
    _two(paths=_simple))  # fmt: skip
wrong("M06", "You go through the nodes in the wrong direction, operands first. A node may send only when everything has reached it: "
      "networkx.topological_sort.", score=1)(
    _two(edges=lambda g, r, x: _sent(g, r, x, g)))  # fmt: skip
wrong("M06", "In breadth-first order a node sends when the first path has reached it, and what comes later is lost. It must wait for all: "
      "networkx.topological_sort.", score=1)(_two(edges=lambda g, r, x: _sent(g, r, x, _breadth(g, r))))  # fmt: skip
wrong("", "The gradient is right, but you walk down every path, and touch an edge once for each of them. Add up in a node first, and send "
      "its sum on once.", score=1)(_two(edges=_walk))  # fmt: skip
wrong("", "The gradient and the number are right, but you follow every path to get there: forty squarings in a row have 2**40 of them. Add up in a "
      "node first, and send its sum on once.", score=2)(
    _two(edges=lambda g, r, x: (_two()[0](g, r, x)[0], g.number_of_edges())))  # fmt: skip
wrong("M07", "At a node with several messages the last one replaces the others. They must be added.", score=1)(
    _two(edges=lambda g, r, x: _sent(g, r, x, _topological(g), lambda total, u, v, d: total[u] * d)))  # fmt: skip
wrong("",
    "Only zeros arrive at the leaf. The root begins with 1, and each node adds its own sum times the "
    "derivative to that of the operand.", score=1)(
    _two(edges=lambda g, r, x: _sent(g, r, x, _topological(g), seed=0.0)))  # fmt: skip
wrong("", "You send the local derivative alone. Multiply it by the sum of what has come to the node.", score=1)(
    _two(edges=lambda g, r, x: _sent(g, r, x, _topological(g), lambda total, u, v, d: total[v] + d)))  # fmt: skip
wrong("", "Both gradients are right. Return the number as well: (gradient, how many).")(
    [lambda g, r, x: _two()[0](g, r, x)[0], lambda g, r, x: _two()[1](g, r, x)[0]])  # fmt: skip


def _edges_of_paths(graph, root, leaf):
    import networkx

    return _two()[0](graph, root, leaf)[0], sum(map(len, networkx.all_simple_edge_paths(graph, root, leaf)))


def _nodes(graph, root, leaf):
    return _two()[1](graph, root, leaf)[0], len(graph)


wrong("", "You count the edges of all paths. The question is how many paths there are.", score=1)(
    _two(paths=_edges_of_paths)
)


wrong("", "You count the nodes. Count the edges: a node has one for each operand.", score=1)(
    _two(edges=_nodes)
)


right(_two(edges=lambda g, r, x: _sent(g, r, x, _topological(g))))


def _backwards(graph, root, leaf):
    """From the leaf: how much the root moves with a node, by what its users say."""
    total = {}
    for node in reversed(_topological(graph)):
        total[node] = 1.0 if node == leaf else 0.0
        for _, v, d in graph.out_edges(node, data="derivative"):
            total[node] += total[v] * d
    return total[root], graph.number_of_edges()


right(_two(edges=_backwards))


def _depth_first(graph, root, leaf):
    """By paths, with a stack of the way so far."""
    gradient, paths, stack = 0.0, 0, [(root, 1.0)]
    while stack:
        node, product = stack.pop()
        if node == leaf:
            gradient, paths = gradient + product, paths + 1
        for _, operand, derivative in graph.out_edges(node, data="derivative"):
            stack.append((operand, product * derivative))
    return gradient, paths


def _recursive(graph, root, leaf):
    if root == leaf:
        return 1.0, 1
    gradient, paths = 0.0, 0
    for _, operand, derivative in graph.out_edges(root, data="derivative"):
        behind, more = _recursive(graph, operand, leaf)
        gradient += derivative * behind
        paths += more
    return gradient, paths


def _counted(graph, root, leaf):
    """By edges: a node sends when all that lead to it have sent."""
    waiting = {node: graph.in_degree(node) for node in graph}
    gradient_of = {root: 1.0}
    ready, edges = [root], 0
    while ready:
        node = ready.pop()
        for _, operand, data in graph.out_edges(node, data=True):
            gradient_of[operand] = gradient_of.get(operand, 0.0) + gradient_of[node] * data["derivative"]
            edges += 1
            waiting[operand] -= 1
            if waiting[operand] == 0:
                ready.append(operand)
    return gradient_of[leaf], edges


def _pulled(graph, root, leaf):
    """By edges, each node asking those that use it."""
    import networkx

    arrived = {}
    edges = 0
    for node in networkx.topological_sort(graph):
        arrived[node] = 1.0 if node == root else 0.0
        for user, _, key in graph.in_edges(node, keys=True):
            arrived[node] += arrived[user] * graph.edges[user, node, key]["derivative"]
            edges += 1
    return arrived[leaf], edges


def _with_a_matrix(graph, root, leaf):
    """By paths: powers of the table of derivatives add up the paths of each length."""
    nodes = list(graph)
    at = {node: place for place, node in enumerate(nodes)}
    slopes, ways = np.zeros((len(nodes), len(nodes))), np.zeros((len(nodes), len(nodes)))
    for u, v, d in graph.edges(data="derivative"):
        slopes[at[u], at[v]] += d
        ways[at[u], at[v]] += 1
    gradient, paths = 0.0, 0.0
    value, count = np.eye(len(nodes))[at[root]], np.eye(len(nodes))[at[root]]
    for _ in nodes:
        gradient, paths = gradient + value[at[leaf]], paths + count[at[leaf]]
        value, count = value @ slopes, count @ ways
    return gradient, int(paths)


def _with_helpers(graph, root, leaf):
    import networkx

    def length_of(path):
        product = 1.0
        for edge in path:
            product *= graph.edges[edge]["derivative"]
        return product

    brought_by_each_path = [length_of(path) for path in networkx.all_simple_edge_paths(graph, root, leaf)]
    return math.fsum(brought_by_each_path), len(brought_by_each_path)


right(_two(paths=_depth_first, edges=_counted))
right(_two(paths=_recursive, edges=_pulled))
right(_two(paths=_with_a_matrix))
right(_two(paths=_with_helpers))
