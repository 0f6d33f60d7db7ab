# ---
# jupyter:
#   autograd_lab:
#     id: "08"
#     minutes: 40
#     points: 11
# ---

# %% [markdown]
# # 08 · Exercises: shapes
#
# Put your answers in place of the dots and run the check below. `lab.hint("08.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 08.1 · Four shapes (2 points)
#
# `x` has shape `(6, 3)`, `W` has `(3, 2)`, `b` has `(2,)` and `s` has `(6, 1)`. All four require a gradient.
#
# ```python
# y = (x @ W + b) * s
# y.sum().backward()
# ```
#
# Give four shapes: that of `W.grad`, of `b.grad`, of `s.grad`, and of the message that arrives at the node of
# `y`. Write each as a tuple; a shape with one number is `(2,)`, with the comma.

# %%
### BEGIN SOLUTION
shapes = [(3, 2), (2,), (6, 1), (6, 2)]
### END SOLUTION
### BEGIN STUB
# shapes = [..., ..., ..., ...]  # W.grad, b.grad, s.grad, the message at y: four tuples
### END STUB

# %%
lab.check("08.1", shapes)

# %% tags=["item"]
item(
    "08.1",
    kind="predict",
    points=2,
    partial=True,
    hints=[
        "First find the shape of y: x @ W has six rows and two columns.",
        "The gradient of a tensor has one number for each number of that tensor.",
        "So the first three are the shapes of W, b and s themselves. A message at a node has the shape of its result.",
    ],
    wrong=[
        wrong_answer(
            [[6, 2], [6, 2], [6, 2], [6, 2]],
            "M18",
            "That is the shape of y. A gradient has the shape of the tensor it belongs to, not of the output.",
            score=0.5,
        ),
        wrong_answer(
            [[3, 2], [6, 2], [6, 2], [6, 2]],
            "M18",
            "b and s were broadcast to the shape of y. On the way back the copies are summed, and their own shapes return.",
            score=1,
        ),
        wrong_answer(
            [[3, 2], [1, 2], [6, 1], [6, 2]],
            "M18",
            "b has one dimension. The one that broadcasting put in front is summed and gone: (2,), not (1, 2).",
            score=1.5,
        ),
        wrong_answer(
            [[3, 2], [2], [6], [6, 2]],
            "M18",
            "The 1 in the shape of s belongs to it. Its gradient keeps it: (6, 1).",
            score=1.5,
        ),
        wrong_answer(
            [[3, 2], [2], [6, 2], [6, 2]],
            "M18",
            "s was stretched to two columns. On the way back they are summed, and s.grad has the shape of s.",
            score=1.5,
        ),
        wrong_answer(
            [[3, 2], 2, [6, 1], [6, 2]],
            "",
            "Python reads (2) as the number 2. A shape with one number is a tuple too, and needs the comma: (2,).",
            score=1.5,
        ),
        wrong_answer(
            [[2, 3], [2], [6, 1], [6, 2]],
            "",
            "Inside the rule of @ there are transposes; what comes out has the shape of W, not of its transpose.",
            score=1.5,
        ),
        wrong_answer(
            [[3, 2], [2], [6, 1], []],
            "",
            "The sum receives a single number, but sends it to every cell of y: the message at y has the shape of y.",
            score=1.5,
        ),
    ],
)

# %% [markdown]
# ## 08.2 · The gradient of a bias (2 points)
#
# ```python
# G = torch.tensor([[{a}.0, {b}.0], [{c}.0, {d}.0], [{e}.0, {f}.0]])
# h = x + b + c
# (h * G).sum().backward()
# ```
#
# `x` has shape `(3, 2)`, `b` has `(2,)`, and `c` is a single number, of shape `()`. Work out by hand:
# `b.grad[0]`, `b.grad[1]` and `c.grad`.

# %%
### BEGIN SOLUTION
answer = [9, 16, 25]
### END SOLUTION
### BEGIN STUB
# answer = [..., ..., ...]  # b.grad[0], b.grad[1], c.grad
### END STUB

# %%
lab.check("08.2", answer)


# %% tags=["item"]
@variant(**dict.fromkeys("abcdef", range(1, 13)))
def bias(a=1, b=2, c=3, d=4, e=5, f=10):
    left, right = a + c + e, b + d + f

    def mean(total, count):
        return total / count

    return varied(
        answer=[left, right, left + right],
        hints=[
            "The message that arrives at h is G. Which of its six cells did b[0] feed?",
            "b[0] was added to the whole first column, b[1] to the second, c to everything.",
            f"{a} + {c} + {e}, {b} + {d} + {f}, and all of them.",
        ],
        wrong=[
            wrong_answer(
                [3, 3, 6],
                "",
                "You counted the uses. Each use brings a message of its own, the cell of G: these are added.",
            ),
            wrong_answer(
                [e, f, f],
                "M07",
                "Only the last message has come through each time. Messages that meet are added.",
            ),
            wrong_answer(
                [a + b, c + d, left + right],
                "M18",
                "These are sums along rows. b runs along the columns: b[0] is repeated down the first column.",
                score=0.67,
            ),
            wrong_answer(
                [mean(left, 3), mean(right, 3), mean(left + right, 6)],
                "M19",
                "You took means. The loss is a sum, and messages that meet are added; nothing divides.",
            ),
            wrong_answer(
                [left, right, 6],
                "",
                "c feeds six cells, but they do not count 1 each: every cell sends back its number of G.",
                score=1.33,
            ),
            wrong_answer(
                [left, right, f],
                "M07",
                "c feeds all six cells, and all six messages are added, not only the last one.",
                score=1.33,
            ),
            wrong_answer(
                [1, 1, 1],
                "M18",
                "That is the local derivative of one cell. Three cells of h move with b[0], each with its weight in G.",
            ),
        ],
    )


item("08.2", kind="number", points=2, partial=True, variant=bias)

# %% [markdown]
# ## 08.3 · Write `unbroadcast` (4 points)
#
# `g` is the message for a tensor **after** broadcasting. `shape` is the shape of the tensor itself. Sum `g` over
# every dimension that broadcasting added or stretched (a 1 may be stretched to 0, too), so that the result has exactly that shape, and the
# dtype of `g`. `g` itself stays as it is.


# %%
def unbroadcast(g, shape):
    """The message `g`, summed so that its shape is `shape`."""
    ### BEGIN SOLUTION
    while len(g.shape) > len(shape):
        g = g.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            g = g.sum(dim, keepdim=True)
    return g
    ### END SOLUTION


# %%
lab.check("08.3", unbroadcast)

# %% tags=["item"]
item(
    "08.3",
    kind="code",
    points=4,
    hints=[
        "Two things may have happened: new dimensions were put in front, and 1s were stretched. Undo one after the other.",
        "While g has more dimensions than shape: g = g.sum(0).",
        "Then for every dim where shape has a 1: g = g.sum(dim, keepdim=True).",
    ],
)


@probe(points=1, cases=[(1, 2), (2, 2), (3, 4)])
def a_row(unbroadcast, rows, columns):
    "The numbers 1, 2, 3, ... as a message of shape ({0}, {1}), for a tensor of shape ({1},)"
    g = torch.arange(1.0, rows * columns + 1).reshape(rows, columns)
    return unbroadcast(g, (columns,))


@probe(points=1, cases=[(1, 2), (2, 2), (3, 4)])
def a_column(unbroadcast, rows, columns):
    "The numbers 1, 2, 3, ... as a message of shape ({0}, {1}), for a tensor of shape ({0}, 1)"
    g = torch.arange(1.0, rows * columns + 1).reshape(rows, columns)
    return unbroadcast(g, (rows, 1))


@probe(
    points=1,
    hidden=True,
    cases=[
        ((3, 1),),
        ((2, 1, 4),),
        ((1, 1),),
        ((),),
        ((2, 3, 4),),
        ((4,),),
        ((1,),),
        ((1, 4),),
        ((2, 1, 1),),
        ((1, 3, 4),),
        ((1, 1, 1),),
    ],
)
def deeper(unbroadcast, shape):
    "A message with three dimensions"
    return unbroadcast(torch.arange(24.0).reshape(2, 3, 4), tuple(shape))


@probe(points=1, hidden=True, rtol=1e-9)
def against_autograd(unbroadcast):
    "The same numbers of 64 bits as autograd, for square tables and empty ones too; other numbers in the same shapes; whether each message stays as it is; messages as `expand` gives them; and the dtype in 32 bits"
    found, stays = [], []
    for left, right in [
        ((3,), (3, 3)),
        ((3, 1), (3, 3)),
        ((1, 5), (4, 1)),
        ((1,), (1, 1, 2)),
        ((1, 3), (0, 1)),
        ((3,), (3, 3)),
    ]:
        whole = np.broadcast_shapes(left, right)
        g = torch.tensor(np.random.default_rng(8 + len(found)).integers(1, 50, whole) + 0.1)
        g = g / 7000 if len(found) == 10 else g  # as small as a mean makes them
        as_it_was = untouched(g)
        found.extend([unbroadcast(g, left), unbroadcast(g, right)])
        stays.append(as_it_was())
    spread = torch.tensor([[[1.5, 2.0]], [[3.0, 5.0]]]).expand(2, 3, 2)
    found += [unbroadcast(g, shape) for g in (spread, spread.transpose(0, 1)) for shape in ((2,), (1, 2))]
    g = torch.arange(6.0).reshape(2, 3)
    found += [all(stays), dtype_of(unbroadcast(g, (3,))), dtype_of(unbroadcast(g, (2, 1)))]
    g += 1
    return [*found, unbroadcast(g, (3,))]


@look("The sums are left to the lab's autograd, whose work the function should do.")
def asks_autograd(unbroadcast):
    with lab.record() as trace:
        (
            unbroadcast(torch.arange(6.0).reshape(2, 3), (3,)),
            unbroadcast(torch.arange(6.0).reshape(2, 3), (2, 1)),
        )
    return any(event["k"] == "done" for event in trace.events)


@look("It leaves the sums to sum_to_size, which is this function ready-made.")
def is_ready_made(unbroadcast):
    ran = called(lambda: unbroadcast(torch.arange(6.0).reshape(2, 3), (2, 1)))
    return any(name == "sum_to_size" and module.startswith("autograd_lab") for module, name in ran)


@wrong(
    "M18",
    "The message keeps the shape of the broadcast result. The tensor has fewer numbers, and each wants one answer.",
)
def unbroadcast(g, shape):
    return g


@wrong("M18", "Dimensions put in front are summed, but not the 1s that were stretched.", score=1)
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g.sum(0)
    return g


@wrong("M18", "A stretched 1 is summed and then lost. It must stay: keepdim=True.", score=1)
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g.sum(0)
    dims = tuple(dim for dim, size in enumerate(shape) if size == 1)
    return g.sum(dims) if dims else g


@wrong(
    "M18", "A 1 that was stretched is summed and then gone. It belongs to the shape: keepdim=True.", score=1
)
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g.sum(0)
    for dim, size in enumerate(shape):
        if g.shape[dim] != size:
            g = g.sum(dim)
    return g


@wrong(
    "M18",
    "You always sum dimension 0. That is right for a row; a column was repeated along dimension 1. Let `shape` decide.",
    score=1,
)
def unbroadcast(g, shape):
    return g.sum(0)


@wrong("M19", "The copies were each used, so their messages are added. A mean would divide them.")
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g.mean(0)
    for dim, size in enumerate(shape):
        if size == 1:
            g = g.mean(dim, keepdim=True)
    return g


@wrong("M07", "You keep one of the messages and drop the others. All copies were used: add them.")
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g[-1]
    for dim, size in enumerate(shape):
        if size == 1:
            g = g.narrow(dim, g.shape[dim] - 1, 1)
    return g


@wrong(
    "",
    "Shapes are lined up at the right. New dimensions appear in front, so it is dimension 0 that is summed away.",
    score=1,
)
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g.sum(-1)
    for dim, size in enumerate(shape):
        if size == 1:
            g = g.sum(dim, keepdim=True)
    return g


@wrong(
    "",
    "Rearranging the numbers is not enough: there are more of them than places. Those that share a place must "
    "be summed.",
)
def unbroadcast(g, shape):
    return g.reshape(shape)


@wrong(
    "",
    "You sum a dimension where the two shapes differ, comparing them from the left. Bring both to the same number "
    "of dimensions first.",
    score=1,
)
def unbroadcast(g, shape):
    for dim, size in enumerate(shape):
        if g.shape[dim] != size:
            g = g.sum(dim, keepdim=True)
    return g


@wrong(
    "",
    "You remember an answer by its shapes. Another message may have the same shape and other numbers: sum it anew.",
    score=3,
)
def unbroadcast(g, shape):
    known = vars(unbroadcast).setdefault("known", {})
    key = tuple(g.shape), tuple(shape)
    if key not in known:
        while len(g.shape) > len(shape):
            g = g.sum(0)
        for dim, size in enumerate(shape):
            if size == 1:
                g = g.sum(dim, keepdim=True)
        known[key] = g
    return known[key]


@wrong(
    "",
    "The sums are right the first time, and then the message is no longer what it was: something is written into it. A node may have "
    "sent the same tensor to another operand as well. Sum into a new one.",
    score=3,
)
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g.data = g.data.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            g.data = g.data.sum(dim, keepdim=True)
    return g


@wrong(
    "",
    "Right in 32 bits, but the message has 64: half of its digits are lost. Sum tensors of its own dtype.",
    score=3,
)
def unbroadcast(g, shape):
    return g.float().sum_to_size(shape)


@wrong(
    "",
    "The numbers are right, but of 64 bits, while the message has 32. Sum tensors of its own dtype.",
    score=3,
)
def unbroadcast(g, shape):
    numbers = g.numpy().astype("float64")
    lead = numbers.ndim - len(shape)
    stretched = tuple(lead + i for i, size in enumerate(shape) if size == 1)
    return torch.tensor(numbers.sum(axis=tuple(range(lead)) + stretched).reshape(shape))


@wrong(
    "",
    "A 1 that was stretched to 0 is left out: then the message is empty there, and the tensor gets a 0. Ask whether the sizes differ, not which one is "
    "greater.",
    score=3,
)
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g.sum(0)
    for dim, size in enumerate(shape):
        if g.shape[dim] > size:
            g = g.sum(dim, keepdim=True)
    return g


@avoiding
def unbroadcast(g, shape):
    return g.sum_to_size(shape)


@wrong(
    "",
    "A message whose numbers do not lie in memory one after the other, as expand gives it, ends in an error. Summing works on all of them, without another shape first.",
    score=3,
)
def unbroadcast(g, shape):
    lead = g.dim() - len(shape)
    if lead:
        n = 1
        for size in g.shape[:lead]:
            n *= size
        g = g.view(n, *g.shape[lead:]).sum(0)
    for i, size in enumerate(shape):
        if size == 1:
            g = g.sum(i, keepdim=True)
    return g


@wrong(
    "M19", "These are means. Every copy of a number gets a message of its own, and they are added.", score=1
)
def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            g = g.mean(i, keepdim=True)
    return g


@wrong(
    "M18", "The 1s that were stretched are summed, but not the dimensions that were put in front.", score=1
)
def unbroadcast(g, shape):
    for i, n in enumerate(shape):
        if n == 1:
            g = g.sum(i, keepdim=True)
    return g


@wrong("", "Shapes are lined up from the right: what a shorter one lacks is missing in front.", score=1)
def unbroadcast(g, shape):
    for i in range(g.ndim):
        if i >= len(shape) or shape[i] == 1:
            g = g.sum(i, keepdim=True)
    return g.reshape(shape)


@wrong("", "A sum without keepdim takes its dimension away, and those behind it move up.", score=1)
def unbroadcast(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1:
            g = g.sum(i)
    return g.reshape(shape)


@wrong("", "Right in 32 bits, but the message has 64: half of the digits are lost on the way.", score=3)
def unbroadcast(g, shape):
    a = np.array(g.tolist(), dtype=np.float32)
    a = a.reshape(tuple(g.shape))
    extra = a.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(extra + i for i, n in enumerate(shape) if n == 1)
    return torch.tensor(a.sum(axes).reshape(tuple(shape)).tolist())


@wrong("", "The numbers are rounded. Hand them on as they are.", score=3)
def unbroadcast(g, shape):
    while len(g.shape) > len(shape):
        g = g.sum(0)
    for dim, size in enumerate(shape):
        if size == 1:
            g = g.sum(dim, keepdim=True)
    return torch.round(g * 10000) / 10000


@right
def unbroadcast(g, shape):
    lead = g.dim() - len(shape)
    keep = [lead + i for i, size in enumerate(shape) if size != 1]
    return torch.einsum(g, [*range(g.dim())], keep).reshape(tuple(shape))


@right
def unbroadcast(g, shape):
    lead = len(g.shape) - len(shape)
    padded = (1,) * lead + tuple(shape)
    dims = tuple(i for i, size in enumerate(padded) if size == 1)
    return (g.sum(dims, keepdim=True) if dims else g).reshape(shape)


@right
def unbroadcast(g, shape):
    if tuple(g.shape) == tuple(shape):
        return g
    if len(g.shape) > len(shape):
        return unbroadcast(g.sum(0), shape)
    dim = next(i for i, size in enumerate(shape) if size != g.shape[i])
    return unbroadcast(g.sum(dim, keepdim=True), shape)


@right
def unbroadcast(g, shape):
    letters = "abcdefgh"[: len(g.shape)]
    lead = len(letters) - len(shape)
    kept = "".join(letter for letter, size in zip(letters[lead:], shape) if size != 1)
    return torch.einsum(f"{letters}->{kept}", g).reshape(shape)


@avoiding
def unbroadcast(g, shape):
    """Let autograd do it: the gradient of a broadcast sum."""
    tensor = torch.zeros(tuple(shape), dtype=g.dtype, requires_grad=True)
    (tensor + torch.zeros(tuple(g.shape))).backward(g)
    return tensor.grad


@right
def unbroadcast(g, shape):
    import numpy as np

    numbers = g.numpy()
    lead = numbers.ndim - len(shape)
    stretched = tuple(lead + i for i, size in enumerate(shape) if size == 1)
    summed = np.sum(numbers, axis=tuple(range(lead)) + stretched)
    return torch.tensor(summed.reshape(shape))


@right
def unbroadcast(g, shape):
    """Number by number."""
    import itertools

    own = (1,) * (len(g.shape) - len(shape)) + tuple(shape)
    result = torch.zeros(own, dtype=g.dtype)
    for place in itertools.product(*map(range, g.shape)):
        home = tuple(0 if size == 1 else i for i, size in zip(place, own))
        result[home] += g[place]
    return result.reshape(tuple(shape))


@right
def unbroadcast(g, shape):
    def remove_leading_dimensions(message, wanted):
        extra = message.dim() - wanted
        return message.sum(dim=list(range(extra))) if extra else message

    def shrink(message, dimension):
        return message.sum(dimension).unsqueeze(dimension)

    message = remove_leading_dimensions(g, len(shape))
    for dimension in reversed(range(len(shape))):
        if shape[dimension] == 1 and message.shape[dimension] != 1:
            message = shrink(message, dimension)
    return message


# %% [markdown]
# ## 08.4 · The batch does not fit (3 points)
#
# The whole batch is too large for the memory, so this function takes `size` rows at a time and lets the
# gradients add up. The result should be the gradient of the mean squared error over **all** rows. It is too large.
# Mend it. (`y` has one number for each row. The last piece may be smaller than the others. Nothing changes but `w.grad`.)


# %%
### BEGIN SOLUTION
def batch_gradient(w, x, y, size):
    """The gradient of ((x @ w - y)**2).mean() with respect to w, `size` rows at a time."""
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() * (len(rows) / len(x))
        loss.backward()
    return w.grad


### END SOLUTION
### BEGIN STUB
# def batch_gradient(w, x, y, size):
#     """The gradient of ((x @ w - y)**2).mean() with respect to w, `size` rows at a time."""
#     w.grad = None
#     for start in range(0, len(x), size):
#         rows, targets = x[start : start + size], y[start : start + size]
#         loss = ((rows @ w - targets) ** 2).mean()
#         loss.backward()
#     return w.grad
### END STUB


# %%
lab.check("08.4", batch_gradient)

# %% tags=["item"]
item(
    "08.4",
    kind="debug",
    hints=[
        "Try size = len(x) and size = len(x) / 2. By which factor do the results differ?",
        "The mean of a piece divides by the rows of the piece; the mean of the batch divides by all rows.",
        "Weigh each piece by its share of the rows: loss = ... * len(rows) / len(x).",
    ],
    equivalent={
        "7: rows @ w - targets -> targets - rows @ w": "the square is the same",
        "5: x -> y": "x has as many rows as y",
        "7: x -> y": "x has as many rows as y",
        "7: rows -> targets (2)": "a piece has as many rows as targets",
        "5: passed over where loss is negative": "no square is negative",
        "2: size of the first call, in all calls": "smaller pieces give the same gradient",
        "9: w.grad in 64 bits": "w.grad has them already, and nobody asks for the dtype of what is returned",
    },
)


@shared
def problem(rows):
    rng = np.random.default_rng(rows)
    x = rng.integers(-3, 4, (rows, 2)).astype("float64")
    y = rng.integers(-5, 6, rows).astype("float64")
    w = torch.tensor([1.5, -0.5], dtype=torch.float64, requires_grad=True)
    return w, torch.tensor(x), torch.tensor(y)


@probe(points=1, cases=[(1, 1), (2, 2), (2, 1), (4, 2), (6, 2)])
def equal_pieces(batch_gradient, rows, size):
    "{0} rows, {1} at a time"
    return batch_gradient(*problem(rows), size)


@shared
def watched(batch_gradient, rows, size):
    "The gradient, and of how many rows the graphs waited for backward at once, at most."
    w, _, _ = problem(rows)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(rows, 2)), rng.normal(size=rows)
    told = np.column_stack(
        [x, x @ w.detach().numpy() - y]
    )  # the numbers by which a row is known: its own, and its error
    waiting, most, on_the_way_back = set(), [0], [False]

    def pack(saved):
        if on_the_way_back[0]:
            waiting.clear()
        on_the_way_back[0] = False
        numbers = np.abs(np.asarray(saved.detach().tolist()).ravel())
        waiting.update(
            row for row in range(rows) if np.isclose(numbers[:, None], np.abs(told[row]), 1e-9, 0).any()
        )
        most[0] = max(most[0], len(waiting))
        return saved

    def unpack(saved):
        on_the_way_back[0] = True
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        found = batch_gradient(w, torch.tensor(x), torch.tensor(y), size)
    return found, most[0]


@probe(points=0.5)
def rows_at_a_time(batch_gradient):
    "Six rows, 2 at a time: the gradient, and whether graphs of more than 2 rows waited for backward at once"
    found, most = watched(batch_gradient, 6, 2)
    return {"gradient": found, "more than 2 rows at once": most > 2}


@probe(points=1, hidden=True, cases=[(4,), (3,), (6,)])
def a_smaller_last_piece(batch_gradient, size):
    "Seven rows, the last piece smaller"
    return batch_gradient(*problem(7), size)


@probe(points=0.5, hidden=True, cases=[(8,), (3,)], rtol=1e-9)
def all_at_once_and_old_gradients(batch_gradient, size):
    "A gradient left over from before, all rows at once and in pieces; then other leaves, and errors of 0; whether w, x and y stay; and that no piece has more rows than `size`"
    w, x, y = problem(5)
    w, x, y = (w.detach() + 0.1).requires_grad_(), x + 0.1, y + 0.1
    w.grad = torch.tensor([100.0, 200.0], dtype=torch.float64)
    as_they_were = untouched(w, x, y)
    found = [batch_gradient(w, x, y, size), as_they_were()]
    x, y = (t / 128 for t in problem(4)[1:])  # as small as a mean makes them
    v = torch.tensor([0.25, 2.0], dtype=torch.float64, requires_grad=True)
    found += [one.clone() for one in (batch_gradient(v, x, y, 2), batch_gradient(v, x, (x @ v).detach(), 2))]
    v.data.add_(1)
    _, most = watched(batch_gradient, 7, 3)
    return [*found, batch_gradient(v, x, y, 2), 3 < most < 7]  # in pieces, but in larger ones


@look("No backward runs: the gradient comes from a formula.")
def by_a_formula(batch_gradient):
    with lab.record() as trace:
        batch_gradient(*problem(4), 2)
    return not any(event["k"] == "done" for event in trace.events)


@look("It pays no attention to `size`: it takes all rows at once, or one by one.")
def takes_no_pieces(batch_gradient):
    try:
        batch_gradient(*problem(7), object())
    except Exception:  # what is no number can be no size of a piece
        return False
    return True


@wrong(
    "M19",
    "Each piece divides by its own number of rows, so their sum is too large. Weigh each by its share of the batch.",
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean()
        loss.backward()
    return w.grad


@wrong(
    "M19",
    "Dividing by the number of pieces is right only if all have the same size. A small last piece would count too much.",
    score=1.5,
)
def batch_gradient(w, x, y, size):
    w.grad = None
    pieces = -(-len(x) // size)
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() / pieces
        loss.backward()
    return w.grad


@wrong(
    "M19",
    "You weigh every piece with the full size. The last one may be smaller: use the rows it really has.",
    score=1.5,
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() * size / len(x)
        loss.backward()
    return w.grad


@wrong(
    "M19",
    "Each piece is divided by its own rows and by all rows, by `mean` or by you. Once is enough: weigh the mean by the share of the rows.",
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).sum() / (len(rows) * len(x))
        loss.backward()
    return w.grad


@wrong(
    "M19",
    "Each piece is divided by its own rows and by all rows, by `mean` or by you. Once is enough: weigh the mean by the share of the rows.",
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() / len(x)
        loss.backward()
    return w.grad


@wrong(
    "M19",
    "Sums of pieces do add up, but to the gradient of the sum. The task is the mean: divide by all rows.",
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).sum()
        loss.backward()
    return w.grad


@wrong(
    "M19",
    "Each piece is divided by its own rows twice, by `mean` or by you. Weigh the mean by the piece's share of all rows.",
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() / size
        loss.backward()
    return w.grad


@wrong("M19", "The share is upside down: a piece counts by its rows out of all, len(rows) / len(x).")
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() * (len(x) / len(rows))
        loss.backward()
    return w.grad


@wrong(
    "",
    "The numbers are right. But when the first gradient comes, the graphs of all rows wait in memory. Call backward for "
    "each piece: then its graph can go before the next piece begins.",
    score=2.5,
)
def batch_gradient(w, x, y, size):
    w.grad = None
    ((x @ w - y) ** 2).mean().backward()
    return w.grad


@wrong(
    "",
    "The numbers are right. But when the first gradient comes, the graphs of all rows wait in memory. Call backward for "
    "each piece: then its graph can go before the next piece begins.",
    score=2.5,
)
def batch_gradient(w, x, y, size):
    w.grad = None
    total = 0
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        total = total + ((rows @ w - targets) ** 2).mean() * (len(rows) / len(x))
    total.backward()
    return w.grad


@wrong("", "Only the last piece counts. Here adding up is what we want: clear w.grad once, before the loop.")
def batch_gradient(w, x, y, size):
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean()
        (w.grad,) = torch.autograd.grad(loss, w)
    return w.grad


@wrong("", "Only the last piece counts. Here adding up is what we want: clear w.grad once, before the loop.")
def batch_gradient(w, x, y, size):
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        w.grad = None
        loss = ((rows @ w - targets) ** 2).mean()
        loss.backward()
    return w.grad


@wrong(
    "M10",
    "The weights are right; but a gradient left over from before is added. Clear w.grad before the loop.",
    score=2.5,
)
def batch_gradient(w, x, y, size):
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() * (len(rows) / len(x))
        loss.backward()
    return w.grad


@wrong(
    "",
    "The gradients are right, but w, x or y is no longer what it was. The question asks for a gradient: nothing moves, and the data stay.",
    score=2.5,
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        loss = ((rows @ w - targets) ** 2).mean() * (len(rows) / len(x))
        loss.backward()
    torch.optim.SGD([w], lr=0.1).step()
    return w.grad


@wrong(
    "",
    "The gradients are right, but w, x or y is no longer what it was. The question asks for a gradient: nothing moves, and the data stay.",
    score=2.5,
)
def batch_gradient(w, x, y, size):
    gradient = torch.zeros_like(w)
    with torch.no_grad():
        for start in range(0, len(x), size):
            rows, errors = x[start : start + size], y[start : start + size]
            errors -= rows @ w
            gradient -= 2 * rows.T @ errors / len(x)
    return gradient


@wrong(
    "M19",
    "Your gradient is half of what it should be. The mean is one over rows, not over all numbers in x; and the slope of a square has the factor 2.",
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        (((rows @ w - targets) ** 2).sum() / x.numel()).backward()
    return w.grad


@wrong(
    "",
    "Rows that do not fill a whole piece are left out. The last piece may be smaller, and counts as well.",
    score=1.5,
)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x) - size + 1, size):
        rows, targets = x[start : start + size], y[start : start + size]
        (((rows @ w - targets) ** 2).sum() / len(x)).backward()
    return w.grad


@wrong(
    "",
    "Some pieces have more than `size` rows: the rest is shared out among them. Leave it to a smaller last piece.",
    score=2.5,
)
def batch_gradient(w, x, y, size):
    w.grad = None
    pieces = max(1, len(x) // size)
    ends = [round(i * len(x) / pieces) for i in range(pieces + 1)]
    for i in range(pieces):
        start, end = ends[i], ends[i + 1]
        (((x[start:end] @ w - y[start:end]) ** 2).sum() / len(x)).backward()
    return w.grad


@wrong("", "The numbers are rounded. Hand them on as they are.", score=2.5)
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        (((rows @ w - targets) ** 2).sum() / len(x)).backward()
    return torch.round(w.grad * 10000) / 10000


@right
def batch_gradient(w, x, y, size):
    total = 0
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        w.grad = None
        (((rows @ w - targets) ** 2).sum() / len(x)).backward()
        total = total + w.grad
    return total


@right
def batch_gradient(w, x, y, size):
    w.grad = None
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        (((rows @ w - targets) ** 2).sum() / len(x)).backward()
    return w.grad


@right
def batch_gradient(w, x, y, size):
    total = 0
    for rows, targets in zip(x.split(size), y.split(size)):
        (g,) = torch.autograd.grad(((rows @ w - targets) ** 2).mean(), w)
        total = total + g * len(rows)
    return total / len(x)


@right
def batch_gradient(w, x, y, size):
    """Row by row within a piece."""
    w.grad = None
    for start in range(0, len(x), size):
        total = 0
        for i in range(start, min(start + size, len(x))):
            total = total + (x[i] @ w - y[i]) ** 2
        (total / len(x)).backward()
    return w.grad


@right
def batch_gradient(w, x, y, size):
    """Columns: w as a matrix of one column, y as well."""
    w.grad = None
    y = y.reshape(-1, 1)
    for start in range(0, len(x), size):
        rows, targets = x[start : start + size], y[start : start + size]
        error = rows @ w.reshape(-1, 1) - targets
        loss = (error**2).sum() / len(x)
        loss.backward()
    return w.grad


@right
def batch_gradient(w, x, y, size):
    w.grad = None
    n = x.shape[0]
    for rows, targets in zip(torch.split(x, size), torch.split(y, size)):
        guess = torch.einsum("nk,k->n", rows, w)
        error = guess - targets
        (torch.einsum("n,n->", error, error) / n).backward()
    return w.grad


@avoiding
def batch_gradient(w, x, y, size):
    """All rows, without a graph."""
    with torch.no_grad():
        return 2 * x.T @ (x @ w - y) / len(x)


@avoiding
def batch_gradient(w, x, y, size):
    """The row as its own loop, one backward for each row: fewer than `size` wait at a time."""
    w.grad = None
    for row, target in zip(x, y):
        error = sum(row[k] * w[k] for k in range(len(w))) - target
        (error * error / len(x)).backward()
    return w.grad


@right
def batch_gradient(w, x, y, size):
    def gradient_of_the_rest(start):
        if start >= len(x):
            return torch.zeros_like(w)
        rows, targets = x[start : start + size], y[start : start + size]
        (own,) = torch.autograd.grad((rows @ w - targets).pow(2).sum() / len(x), w)
        return own + gradient_of_the_rest(start + size)

    return gradient_of_the_rest(0).detach()


@right
def batch_gradient(w, x, y, size):
    """With a copy of w, and the loss of torch.nn."""
    copy_of_w = w.detach().clone().requires_grad_()
    first = 0
    while first < len(x):
        rows_of_this_piece = x[first : first + size]
        targets_of_this_piece = y[first : first + size]
        prediction = (rows_of_this_piece * copy_of_w).sum(1)
        loss = torch.nn.functional.mse_loss(prediction, targets_of_this_piece, reduction="sum")
        (loss / len(y)).backward()
        first += size
    return copy_of_w.grad


@avoiding
def batch_gradient(w, x, y, size):
    """The gradient by hand, without a graph."""
    gradient = torch.zeros_like(w)
    with torch.no_grad():
        for start in range(0, len(x), size):
            rows, targets = x[start : start + size], y[start : start + size]
            gradient += 2 * rows.T @ (rows @ w - targets) / len(x)
    return gradient
