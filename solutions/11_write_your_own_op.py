# ---
# jupyter:
#   autograd_lab:
#     id: "11"
#     minutes: 45
#     points: 11
# ---

# %% [markdown]
# # 11 · Exercises: write your own op
#
# Put your answers in place of the dots and run the check below. `lab.hint("11.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 11.1 · At the kink (2 points)
#
# What is `x.grad` at `x = 0`? Answer with a number, or `"inf"`, `"nan"`, `"error"`.
#
# 1. `torch.relu(x) + x`
# 2. `torch.maximum(x * 2, x * 5)`
# 3. `(x * x).sqrt()`
# 4. `x * x.abs()`
# 5. `x.sqrt()`

# %%
### BEGIN SOLUTION
slopes = [1, 3.5, "nan", 0, "inf"]
### END SOLUTION

# %%
lab.check("11.1", slopes)

# %% tags=["item"]
item(
    "11.1",
    kind="predict",
    points=2,
    partial=True,
    hints=[
        "Every rule returns something: relu and abs 0, a tie half to each side, sqrt the value of its formula.",
        "Multiply along the path. In 3, the message leaves sqrt as inf and meets the slope of x * x.",
        "2: half of the 1 goes through the 2, half through the 5. 3: inf times 0.",
    ],
    wrong=[
        wrong_answer(
            ["error", "error", "error", "error", "error"],
            "M25",
            "No rule looks at the curve: each returns what its author wrote down for this place. There is no error.",
        ),
        wrong_answer(
            [2, 3.5, "nan", 0, "inf"],
            "M25",
            "At its corner relu sends 0, by convention, not 1. What is left is the 1 of the other path.",
            score=1.6,
        ),
        wrong_answer(
            [1.5, 3.5, "nan", 0, "inf"],
            "M25",
            "relu does not split: its slope at 0 is 0 by convention. It is the tie of maximum that is halved.",
            score=1.6,
        ),
        wrong_answer(
            [1, 5, "nan", 0, "inf"],
            "M25",
            "At a tie maximum sends half of the message to each side: half of 2 and half of 5.",
            score=1.6,
        ),
        wrong_answer(
            [1, 7, "nan", 0, "inf"],
            "M25",
            "At a tie each side gets half of the message, not all of it.",
            score=1.6,
        ),
        wrong_answer(
            [1, 2, "nan", 0, "inf"],
            "M25",
            "At a tie maximum does not take the first: it sends half of the message to each side, half of 2 and half of 5.",
            score=1.6,
        ),
        wrong_answer(
            [1, 3.5, "inf", 0, "inf"],
            "M25",
            "In 3, sqrt sends inf, and x * x multiplies that by its slope, 0. inf times 0 is not a number.",
            score=1.6,
        ),
        wrong_answer(
            [1, 3.5, 1, 0, "inf"],
            "M25",
            "In 3 the formula equals abs(x), but no rule knows that. sqrt sends inf, and x * x multiplies that by its slope, 0.",
            score=1.6,
        ),
        wrong_answer(
            [1, 3.5, 0, 0, "inf"],
            "M25",
            "In 3 the formula equals abs(x), but backward sees two nodes: inf out of sqrt, times 0 out of the square.",
            score=1.6,
        ),
        wrong_answer(
            [1, 3.5, "nan", 0, 0],
            "M25",
            "The formula of sqrt is g / (2 sqrt(x)): at 0 that is inf, and nobody put a convention in its place.",
            score=1.6,
        ),
    ],
)

# %% [markdown]
# ## 11.2 · Log-sum-exp (3 points)
#
# Write the operation `log(sum(exp(x)))` for a tensor of one dimension. Its slope is `exp(x)` divided by the sum.
# Values up to 1000 must not overflow: take the greatest element `m` out first: `log(sum(exp(x))) = m + log(sum(exp(x - m)))`.
# `x`, the message and what you save stay as they are: backward may come through the same graph a second time. The value, and the message for
# `x`, have the dtype of `x`.


# %%
### BEGIN SOLUTION
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


### END SOLUTION
### BEGIN STUB
# class LogSumExp(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, x):
#         ...
#
#     @staticmethod
#     def backward(ctx, g):
#         ...
### END STUB


# %%
lab.check("11.2", LogSumExp)

# %% tags=["item"]
item(
    "11.2",
    kind="code",
    hints=[
        "forward: m = x.max(), then e = (x - m).exp(). No element of e is above 1.",
        "What does backward need? The quotients e / e.sum(): save them with ctx.save_for_backward.",
        "backward: (p,) = ctx.saved_tensors, then return g * p",
    ],
    equivalent={
        "8: m + e.sum().log() -> m.add_(e.sum().log())": "m is a tensor of its own, and not needed any more",
        "13: g * p in 64 bits": "autograd gives the message the dtype of x",
    },
)


@shared
def run(op, values, message):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = op.apply(x)
    (y * message).backward()
    return [y.item(), x.grad]


@probe(points=1, rtol=1e-5)
def value_and_gradient(op):
    "x = (0, 1, 3): the value and the gradient"
    return run(op, [0.0, 1.0, 3.0], 1.0)


@probe(points=0.5, hidden=True, rtol=1e-5)
def with_a_message(op):
    "A message other than 1 arrives"
    return run(op, [2.0, -1.0, 0.5, 0.0], -3.0)


@probe(
    points=1,
    hidden=True,
    rtol=1e-5,
    cases=[
        ([1000.0, 1001.0],),
        ([0.0, 1000.0],),
        ([-1000.0, -1000.0, -1001.0],),
        ([900.0, -900.0, 3.0],),
        ([5.0],),
        ([7.0, 6.0] * 8,),
    ],
)
def no_overflow(op, values):
    "Numbers too large for exp, or too small, and more of them"
    return run(op, values, 2.0)


@probe(points=0.5, hidden=True, rtol=1e-9)
def two_before_one_backward(op):
    "Applied twice, to different numbers of 64 bits, before backward is called; backward three times, a message of 0 among them; whether x and the message stay as they are; and the dtype in 32 bits"
    x, z = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.5, -1.1, 2.3], [1.0, 3.0]))
    message = torch.tensor(0.1, dtype=torch.float64)
    as_they_were = untouched(x, z, message)
    y = op.apply(x) * 2 + op.apply(z) * 5
    y.backward()
    first, _ = op.apply(x), op.apply(x.detach() * 2)
    for sent in (message, message * 0, message):
        first.backward(sent, retain_graph=True)
    found = [y.item() * 1e4, x.grad * 1e4, z.grad, as_they_were()]
    return [*found, dtype_of(op.apply(torch.tensor([1.0, 2.0])))]


@look("backward lets the lab's autograd differentiate, instead of having a rule.")
def asks_autograd(op):
    with lab.record() as trace:
        run(op, [0.0, 1.0], 1.0)
    return sum(event["k"] == "done" for event in trace.events) > 1


@look("Its forward leaves the whole operation to the lab's own logsumexp.")
def is_ready_made(op):
    with lab.record() as trace:
        run(op, [0.0, 1.0], 1.0)
    return any(event.get("op") == "logsumexp" for event in trace.events)


@wrong("M20", "backward ignores the message g. It returns g times the slope, not the slope.", score=1)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p


@wrong("", "exp(1000) is too large for any float: take the greatest element out first.", score=2)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e = x.exp()
        ctx.save_for_backward(e / e.sum())
        return e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@wrong("", "ctx.saved_tensors is a tuple, also when one tensor was saved. Take the tensor out of it first.")
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        p = ctx.saved_tensors
        return g * p


@wrong("", "ctx.saved_tensors is a tuple, also when one tensor was saved. Take the tensor out of it first.")
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.logsumexp(x, 0)

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors
        return g * torch.exp(x) / torch.exp(x).sum()


@wrong("", "You took m out and did not put it back: the value is log(sum(exp(x - m))).")
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        e = (x - x.max()).exp()
        ctx.save_for_backward(e / e.sum())
        return e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@wrong("", "exp(x - m) is not yet the slope: divide it by its sum.")
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.save_for_backward(e)
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (e,) = ctx.saved_tensors
        return g * e


@wrong("M18", "The gradient of x needs one element for each element of x; yours is a single number.")
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return (g * p).sum()


@wrong(
    "",
    "The slope of log(s) is 1 / s, not 1 / exp(s) or the log again: the elements of the gradient add up to 1.",
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        y = m + e.sum().log()
        ctx.save_for_backward(x / y)
        return y

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@wrong(
    "",
    "What you take out must be the greatest element. With any other number one that is far above it is still too large for exp.",
    score=2,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.mean()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@wrong(
    "M04",
    "Every use of the operation needs its own saved values. Yours share one place, where the second use replaces those of the first: "
    "ctx is new at each.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        LogSumExp.p = e / e.sum()
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        return g * LogSumExp.p


@wrong(
    "",
    "What you take out must be the greatest element. With any other number one that is far above it is still too large for exp.",
    score=2,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x[0]
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@wrong(
    "M24",
    "Something that you were given is no longer what it was: what is written in place is written into x or g itself. x belongs to the caller.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max().clone()
        x -= m
        e = x.exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@wrong(
    "",
    "Right in 32 bits, but x has 64: half of the digits are lost on the way. Compute with tensors of the dtype of x.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        numbers = x.numpy().astype("float32")
        e = np.exp(numbers - numbers.max())
        ctx.p = torch.from_numpy(e / e.sum())
        return torch.tensor(numbers.max() + np.log(e.sum()))

    @staticmethod
    def backward(ctx, g):
        return g * ctx.p


@wrong(
    "M24",
    "The second pass through the same graph fails: the first has written into what was saved. Compute with it, and write into a new tensor.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.save_for_backward(e, e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        e, total = ctx.saved_tensors
        e /= total
        return g * e


@wrong(
    "M24",
    "In the second pass through the same graph the gradient is another: the first has written into what was kept. Compute with it, and write into "
    "a new tensor.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.p = e / e.sum()
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        ctx.p *= g
        return ctx.p


@wrong(
    "M24",
    "In the second pass through the same graph the gradient is another: the first has written into what was kept. Compute with it, and write into "
    "a new tensor.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        ctx.e = (x - m).exp()
        return m + ctx.e.sum().log()

    @staticmethod
    def backward(ctx, g):
        ctx.e *= g / ctx.e.sum()
        return ctx.e


@wrong(
    "",
    "The numbers are right, but of 64 bits, while x has 32. Compute with tensors of the dtype of x.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        numbers = np.array(x.tolist())
        e = np.exp(numbers - numbers.max())
        ctx.save_for_backward(torch.tensor(e / e.sum(), dtype=x.dtype))
        return torch.tensor(numbers.max() + np.log(e.sum()))

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@avoiding
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.logsumexp(x, 0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (x - y).exp()


@wrong(
    "",
    "The greatest element may be far below 0. Take out that one, whatever its sign: if it is another number, what is left may be too small for exp.",
    score=2,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.abs().max()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return g * p


@wrong(
    "",
    "The value is right, but on the way back the large numbers go into exp themselves. Take m out there, too.",
    score=2,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        m = x.max()
        return m + (x - m).exp().sum().log()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = x.exp()
        return g * e / e.sum()


@wrong(
    "",
    "What you take out must be the greatest element. With any other number one that is far above it is still too large for exp.",
    score=2,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.min()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


@wrong(
    "",
    "The first pass takes away what was saved, and the second finds nothing. Read it, and leave it there.",
    score=2.5,
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.stack = [e / e.sum()]
        return m + e.sum().log()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.stack.pop()


@wrong("", "The value is a tensor of shape (1,). It should be a single number, of shape ().", score=2.5)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        total = e.sum(0, keepdim=True)
        ctx.save_for_backward(e / total)
        return m + total.log()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


@wrong(
    "M19",
    "The value is the logarithm of a mean. Take that of the sum: nothing is divided by how many elements there are.",
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        e = (x - m).exp()
        ctx.save_for_backward(e / e.sum())
        return m + e.mean().log()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


@wrong(
    "",
    "Only the greatest element gets a message, which is the slope of max. Here each gets its share, exp(x) divided by the sum.",
)
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        m = x.max()
        ctx.save_for_backward(x, m)
        return m + (x - m).exp().sum().log()

    @staticmethod
    def backward(ctx, g):
        x, m = ctx.saved_tensors
        return g * (x == m).to(x.dtype)


@right
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        m = x.max().item()
        return (x - m).exp().sum().log() + m

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.softmax(x, 0) * g


@right
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        greatest = max(x.tolist())
        total = sum(math.exp(number - greatest) for number in x.tolist())
        ctx.quotients = torch.tensor(
            [math.exp(number - greatest) / total for number in x.tolist()], dtype=x.dtype
        )
        return torch.tensor(greatest + math.log(total), dtype=x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.quotients


@right
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        numbers = x.detach().numpy()
        shift = np.max(numbers)
        exponentials = np.exp(numbers - shift)
        ctx.save_for_backward(torch.tensor(exponentials), torch.tensor(exponentials.sum()))
        return torch.tensor(shift + np.log(exponentials.sum()))

    @staticmethod
    def backward(ctx, g):
        exponentials, total = ctx.saved_tensors
        return g * exponentials / total


@right
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def shifted(x):
        return torch.exp(x - torch.max(x))

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.max(x) + torch.log(torch.sum(LogSumExp.shifted(x)))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        exponentials = LogSumExp.shifted(x)
        return exponentials / exponentials.sum() * g


@right
class LogSumExp(torch.autograd.Function):
    """Two numbers at a time: log(exp(a) + exp(b)) from the greater one."""

    @staticmethod
    def forward(ctx, x):
        total = x[0]
        for number in x[1:]:
            total = torch.logaddexp(total, number)
        ctx.save_for_backward(x, total)
        return total

    @staticmethod
    def backward(ctx, g):
        x, total = ctx.saved_tensors
        return torch.stack([g * (number - total).exp() for number in x])


@right
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ordered = torch.sort(x, descending=True).values
        largest_element = ordered[0]
        sum_of_the_rest = (x - largest_element).exp().sum()
        logarithm = largest_element + sum_of_the_rest.log()
        ctx.values = (x - logarithm).exp()
        return logarithm

    @staticmethod
    def backward(ctx, message):
        return torch.mul(message, ctx.values)


@avoiding
class LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.logsumexp(x, 0)

    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            return torch.autograd.grad(torch.logsumexp(x, 0), x, g)[0]


# %% [markdown]
# ## 11.3 · Softmax cross-entropy (4 points)
#
# This is the loss of most classifiers, as one operation. `z` has a row of scores for each example, `target` the number of
# the right class of each (integers). The forward part is given. It saves the probabilities `p`, and `target`.
# Write the rule: for each row, `p` minus 1 at the right class, divided by the number of rows, times the message. The result has the dtype of `p`.


# %%
class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z, target):
        p = torch.softmax(z, 1)
        ctx.save_for_backward(p, target)
        return -p[torch.arange(len(target)), target].log().mean()

    @staticmethod
    def backward(ctx, g):
        return rule(g, *ctx.saved_tensors), None  # the target has no gradient


# %%
def rule(g, p, target):
    """The message for z. g: a number; p: (rows, classes); target: (rows,). All stay as they are."""
    ### BEGIN SOLUTION
    d = p.clone()
    d[torch.arange(len(target)), target] -= 1
    return g * d / len(target)
    ### END SOLUTION


# %%
lab.check("11.3", rule)

# %% tags=["item"]
item(
    "11.3",
    kind="code",
    hints=[
        "d = p.clone() first, because p is saved and must not be overwritten.",
        "d[torch.arange(len(target)), target] names one element in each row: the right class.",
        "Subtract 1 there, multiply by g and divide by len(target): the loss is a mean over rows.",
    ],
    equivalent={
        "6: g * d -> d.mul_(g)": "d is a copy, and not needed any more",
        "5: len(target) -> target.shape[-1]": "target has one dimension",
        "6: len(target) -> target.shape[-1]": "target has one dimension",
        "5: target -> p": "p has as many rows as target",
        "6: target -> p": "p has as many rows as target",
        "5: target -> d": "d has as many rows as target",
        "6: target -> d": "d has as many rows as target",
    },
)


@shared
def ask(rule, rows, targets, g):
    p = torch.tensor(rows)
    return [rule(torch.tensor(g), p, torch.tensor(targets)), p]


@probe(points=1)
def two_rows(rule):
    "Two rows of three classes, message 1"
    return ask(rule, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [1, 0], 1.0)[0]


@probe(points=1, hidden=True, rtol=1e-9)
def three_rows_and_a_message(rule):
    "Several rows, another message, in 64 bits"
    rows = [[0.1, 0.2, 0.4, 0.3], [0.5, 0.1, 0.1, 0.3], [0.25, 0.25, 0.3, 0.2]]
    g, p = (torch.tensor(one, dtype=torch.float64) for one in (12345.678, rows))
    return [rule(message, p.clone(), torch.tensor([3, 2, 3])) for message in (g, g / 7e6)]


@probe(points=1, hidden=True)
def one_row(rule):
    "A single row, a negative message"
    return ask(rule, [[0.9, 0.1]], [1], -2.0)[0]


@probe(points=1, hidden=True)
def the_saved_values_stay(rule):
    "p holds the same numbers afterwards; g and target as well, and nobody has written to them; rows that are quite sure, rightly and not; and the dtype in 32 bits"
    found = ask(rule, [[0.2, 0.8], [0.7, 0.3], [1.0, 0.0], [1.0, 0.0]], [0, 0, 1, 0], 1.0)
    given = torch.tensor(1.0), torch.tensor([[0.1, 0.5, 0.4], [0.3, 0.3, 0.4]]), torch.tensor([2, 0])
    tenth = torch.tensor(0.1)  # which adding 1 and taking it away changes
    as_they_were = untouched(*given, tenth)
    twice = [rule(*given) for _ in range(2)]
    rule(tenth, given[1], 2 - given[2])
    found += [*twice, as_they_were(), dtype_of(twice[0])]
    given[1].copy_(torch.tensor([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3]]))
    return [*found, rule(*given)]


@look("The lab's autograd differentiates the loss, instead of the rule.")
def asks_autograd(rule):
    with lab.record() as trace:
        ask(rule, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [1, 0], 1.0)
    return any(event["k"] == "done" for event in trace.events)


@wrong(
    "M19",
    "The loss is a mean over the rows: each row gets its share, 1 divided by the number of rows.",
    score=1,
)
def rule(g, p, target):
    d = p.clone()
    d[torch.arange(len(target)), target] -= 1
    return g * d


@wrong("M19", "Divide by the number of rows, not by the number of all elements: the mean is over rows.")
def rule(g, p, target):
    d = p.clone()
    d[torch.arange(len(target)), target] -= 1
    return g * d / d.numel()


@wrong("M19", "The mean is over the rows: divide by how many rows there are, not by how many classes.")
def rule(g, p, target):
    d = p.clone()
    d[torch.arange(len(target)), target] -= 1
    return g * d / p.shape[1]


@wrong(
    "M20",
    "The message g is missing: without it the rule is right only as the last operation of all.",
    score=2,
)
def rule(g, p, target):
    d = p.clone()
    d[torch.arange(len(target)), target] -= 1
    return d / len(target)


@wrong(
    "M24",
    "The saved p has changed: what you write there, under this name or another, is written into p. Take a clone.",
    score=3,
)
def rule(g, p, target):
    p.sub_(torch.nn.functional.one_hot(target, p.shape[1]))
    return g * p / len(target)


@wrong(
    "M24",
    "The saved p has changed: what you write there, under this name or another, is written into p. Take a clone.",
    score=3,
)
def rule(g, p, target):
    d = p
    d[torch.arange(len(target)), target] -= 1
    return g * d / len(target)


@wrong(
    "M24",
    "The message g has changed: you write into it, and it may be on its way to another node as well. Divide into a new one.",
    score=3,
)
def rule(g, p, target):
    d = p.clone()
    d[torch.arange(len(target)), target] -= 1
    g /= len(target)
    return g * d


@wrong(
    "M24",
    "The saved p is written to, and undone. That is noticed: what has been written to since it was saved is refused by the next backward, and "
    "rounding is not undone. Take a clone.",
    score=3,
)
def rule(g, p, target):
    rows = torch.arange(len(target))
    p[rows, target] -= 1
    message = g * p / len(target)
    p[rows, target] += 1
    return message


@wrong(
    "",
    "You subtract 1 in whole columns, in every row. Pair each row with its own class.",
    score=1,
)
def rule(g, p, target):
    d = p.clone()
    d[:, target] -= 1
    return g * d / len(target)


@wrong("", "The sign is wrong: the score of the right class has to rise, so its gradient is negative.")
def rule(g, p, target):
    d = -p
    d[torch.arange(len(target)), target] += 1
    return g * d / len(target)


@wrong(
    "",
    "Right in 32 bits, but p has 64: half of the digits are lost. Give the result the dtype of p.",
    score=3,
)
def rule(g, p, target):
    d = p.float().clone()
    d[torch.arange(len(target)), target] -= 1
    return g.float() * d / len(target)


@wrong(
    "",
    "The numbers are right, but of 64 bits, while p has 32. Give the result the dtype of p.",
    score=3,
)
def rule(g, p, target):
    d = np.array(p.tolist())
    d[np.arange(len(d)), np.array(target.tolist())] -= 1
    return torch.tensor(d * float(g) / len(d))


@wrong("", "Without minus 1 at the right class the rule does not know the target at all.")
def rule(g, p, target):
    return g * p / len(target)


@wrong("", "Your ones stand in a square of rows by rows. Each row of p has one place for each class.")
def rule(g, p, target):
    hot = torch.eye(len(p), dtype=p.dtype)[target]
    return g * (p - hot) / len(p)


@wrong("", "1 is subtracted from every class. In each row only the right one loses it.")
def rule(g, p, target):
    return g * (p - 1) / len(p)


@wrong("", "Only the 1 is divided by the number of rows. All of the difference should be.", score=1)
def rule(g, p, target):
    q = p.clone()
    q[torch.arange(len(target)), target] -= 1 / len(target)
    return g * q


@wrong(
    "",
    "The wrong classes get nothing. Their share of p is a message as well: only the 1 belongs to the right class alone.",
)
def rule(g, p, target):
    q = torch.zeros_like(p)
    rows = torch.arange(len(target))
    q[rows, target] = p[rows, target] - 1
    return g * q / len(p)


@wrong(
    "",
    "This is the message for p, the slope of -log(p). On the way to z it still has to go through the softmax.",
)
def rule(g, p, target):
    q = torch.zeros_like(p)
    rows = torch.arange(len(target))
    q[rows, target] = -1 / p[rows, target]
    return g * q / len(p)


@wrong("", "You subtract the 1 at the class of the first row, in every row. Each row has its own.", score=1)
def rule(g, p, target):
    q = p.clone()
    q[:, int(target[0])] -= 1
    return g * q / len(p)


@wrong("", "The numbers are rounded. Hand them on as they are.", score=3)
def rule(g, p, target):
    d = p.clone()
    d[torch.arange(len(target)), target] -= 1
    return torch.round(g * d / len(target) * 10000) / 10000


@right
def rule(g, p, target):
    hot = torch.nn.functional.one_hot(target, p.shape[1])
    return (p - hot) * (g / len(p))


@right
def rule(g, p, target):
    rows = []
    for row, k in zip(p, target.tolist()):
        rows.append(torch.stack([row[j] - 1 if j == k else row[j] for j in range(len(row))]))
    return torch.stack(rows) * g / len(rows)


@right
def rule(g, p, target):
    number_of_rows, number_of_classes = p.shape
    one_hot = torch.zeros(number_of_rows, number_of_classes)
    for row in range(number_of_rows):
        one_hot[row, target[row]] = 1.0
    return g / number_of_rows * (p - one_hot)


@right
def rule(g, p, target):
    classes = torch.arange(p.shape[1])
    hit = target.unsqueeze(1) == classes
    return torch.where(hit, p - 1, p) * g / p.shape[0]


@right
def rule(g, p, target):
    d = p.clone()
    for row, right_class in enumerate(target.tolist()):
        d[row][right_class] -= 1
    return d.mul(g).div(len(target))


@right
def rule(g, p, target):
    import numpy as np

    numbers = np.array(p.tolist())
    numbers[np.arange(len(numbers)), target.tolist()] -= 1
    return torch.tensor(numbers * float(g) / len(numbers), dtype=p.dtype)


@right
def rule(g, p, target):
    return g * (p - torch.eye(p.shape[1])[target]) / len(p)


@right
def rule(g, p, target):
    ones = -torch.ones_like(p[:, :1])
    return p.scatter_add(1, target[:, None], ones) * g / len(target)


@avoiding
def rule(g, p, target):
    scores = p.clamp(min=1e-30).log().requires_grad_()
    loss = torch.nn.functional.cross_entropy(scores, target)
    return torch.autograd.grad(loss, scores, g)[0]


# %% [markdown]
# ## 11.4 · A nan in the mask (2 points)
#
# `entropy` adds up `-p * log(p)` over a tensor `p` of any shape, where `p = 0` counts as 0. The value is right, but at `p = 0` the
# gradient is `nan`. Mend it, so that the gradient is 0 there. `p` may be used in other losses as well, and stays as it is.


# %%
### BEGIN SOLUTION
def entropy(p):
    """The sum of -p * log(p); elements that are 0 add nothing and get the gradient 0."""
    safe = torch.where(p > 0, p, 1.0)
    return torch.where(p > 0, -safe * safe.log(), 0.0).sum()


### END SOLUTION
### BEGIN STUB
# def entropy(p):
#     """The sum of -p * log(p); elements that are 0 add nothing and get the gradient 0."""
#     return torch.where(p > 0, -p * p.log(), 0.0).sum()
### END STUB


# %%
lab.check("11.4", entropy)

# %% tags=["item"]
item(
    "11.4",
    kind="debug",
    hints=[
        "Record a call and ask lab.why(p). In which operation is the nan born?",
        "where chooses between values. The log of 0 is computed all the same, and backward goes through it.",
        "safe = torch.where(p > 0, p, 1.0) first; then compute with safe, and choose with where as before.",
    ],
    equivalent={
        "5: torch.where(p > 0, -safe * safe.log(), 0.0).sum() in 64 bits": "the question asks for no dtype",
        "5: safe.log() -> safe.log_()": "safe has been negated already, and its node does not save it",
        "4: 1.0 -> 2.0": "what safe holds where p is 0 is never chosen, and the first where keeps its gradient from p",
        "4: 1.0 -> 0.0": "what safe holds where p is 0 is never chosen, and the first where keeps its gradient from p",
        "5: p > 0 -> p >= 0": "where p is 0, safe is 1, and so the value 0 either way",
        "5: p -> safe": "where p is 0, safe is 1, and so the value 0 either way",
        "5: safe -> p": "where p is 0, this factor is never chosen",
    },
)


@shared
def slope(entropy, values):
    p = torch.tensor(values, requires_grad=True)
    entropy(p).backward()
    return p.grad


@probe(points=0.5, rtol=1e-4)
def value(entropy):
    "The value at (0, 0.25, 0.75), and whether its gradient is finite everywhere"
    p = torch.tensor([0.0, 0.25, 0.75], requires_grad=True)
    y = entropy(p)
    y.backward()
    return {"value": y.item(), "all finite": bool(torch.isfinite(p.grad).all())}


@probe(points=0.5, rtol=1e-4)
def gradient(entropy):
    "The gradient at (0, 0.5)"
    return slope(entropy, [0.0, 0.5])


@probe(points=0.5, hidden=True, rtol=1e-4)
def small_ones(entropy):
    "Very small elements are not zero; and p of other shapes: two dimensions, three, none, and no element"
    few = [
        [1e-12, 0.0, 0.125],
        [1e-30, 2.0, 1.0],
        [[0.5, 0.25, 0.0], [0.1, 0.0, 0.15]],
        [[[0.5, 0.0]], [[0.25, 0.1]]],
        0.25,
        0.0,
    ]
    return [*(slope(entropy, values) for values in few), entropy(torch.zeros(0, 2, requires_grad=True))]


@probe(points=0.5, hidden=True, rtol=1e-9)
def only_zeros(entropy):
    "Nothing but zeros; and another loss, whose gradient is infinite there, beside it; then the value in 64 bits"
    p = torch.zeros(2, 2, requires_grad=True)
    as_it_was = untouched(p)
    y = entropy(p)
    y.backward()
    q = torch.tensor([0.1, 0.0, 0.7], dtype=torch.float64)
    found = [y.item(), p.grad, as_it_was(), entropy(q).abs() * 1e4]
    q.mul_(0.5)
    return [*found, entropy(q).abs()]


@wrong("M26", "The log of 0 is infinite, and so is its derivative. To replace its value afterwards does not replace that: 0 * inf is nan. Make the input of log safe.")  # fmt: skip
def entropy(p):
    return torch.where(p > 0, -p * p.log(), 0.0).sum()


@wrong("M26", "The log of 0 is infinite, and so is its derivative. To replace its value afterwards does not replace that: 0 * inf is nan. Make the input of log safe.")  # fmt: skip
def entropy(p):
    return torch.nan_to_num(-p * p.log()).sum()


@wrong(
    "",
    "Right for a vector and for a table. But p may have any shape, none of its dimensions too: compute with all elements at once.",
    score=1.5,
)
def entropy(p):
    total = 0.0
    for row in p:
        safe = torch.where(row > 0, row, 1.0)
        total = total - (safe * safe.log()).sum()
    return total


@wrong(
    "M26", "Multiplying by a mask is worse: log(0) is -inf, and 0 * -inf is nan already in the forward run."
)
def entropy(p):
    return -((p > 0) * p * p.log()).sum()


@wrong(
    "",
    "True and False take no minus. Put it before the sum; but a mask that multiplies helps nobody: 0 * inf is nan.",
)
def entropy(p):
    return (-(p > 0) * p * p.log()).sum()


@wrong("", "A small number inside the log bends the gradient where p is very small, and gives one at 0 that is not 0.", score=0.5)  # fmt: skip
def entropy(p):
    return (-p * (p + 1e-8).log()).sum()


@wrong("", "The smallest elements are cut off. They are not 0, and their gradient is lost.", score=1.5)
def entropy(p):
    safe = p.clamp(min=1e-8)
    return torch.where(p > 1e-8, -safe * safe.log(), 0.0).sum()


@wrong(
    "M16", "To backward your log is a constant: the part of the slope that comes from it is missing.", score=1
)
def entropy(p):
    safe = torch.where(p > 0, p, 1.0).detach()
    return (-p * safe.log()).sum()


@wrong(
    "",
    "A hook on p itself changes all that arrives at p, and what other losses send as well. Let no nan arise in this one.",
    score=1.5,
)
def entropy(p):
    p.register_hook(lambda g: torch.nan_to_num(g))
    return torch.where(p > 0, -p * p.log(), 0.0).sum()


@wrong("", "The minus sign is missing.", score=0.5)
def entropy(p):
    safe = torch.where(p > 0, p, 1.0)
    return torch.where(p > 0, safe * safe.log(), 0.0).sum()


@wrong(
    "",
    "The gradient at 0 is that of a very small number, which is far from 0. Let nothing flow where p is 0.",
    score=0.5,
)
def entropy(p):
    return -(p * (p + 1e-38).log()).sum()


@wrong(
    "",
    "At 0 the gradient is -1, as if p were 1 there: what you put in place of a 0 still hangs on p.",
    score=0.5,
)
def entropy(p):
    zero = 1.0 * (p == 0)
    safe = p + zero
    return -(safe * safe.log()).sum()


@wrong(
    "",
    "What you have hung on p changes the gradients of other losses as well. Mend what is computed, not what is sent to p.",
    score=1.5,
)
def entropy(p):
    if p.requires_grad:
        p.register_hook(lambda g: torch.where(p > 0, g, 0.0))
    return torch.where(p > 0, -p * p.log(), 0.0).sum()


@wrong(
    "M19",
    "In two dimensions you average over the rows. The question asks for the sum over all elements.",
    score=1.5,
)
def entropy(p):
    safe = torch.where(p > 0, p, 1.0)
    return (-p * safe.log()).sum(-1).mean()


@wrong(
    "",
    "p may have any shape. Its parts may be rows, and Python cannot say whether a row of several numbers is above 0.",
    score=1,
)
def entropy(p):
    return sum(-q * q.log() for q in p if q > 0)


@wrong(
    "",
    "Where all elements are 0, you give the plain number 0. A tensor is needed, or backward has no place to begin.",
    score=1,
)
def entropy(p):
    return sum(-q * q.log() for q in p.reshape(-1) if q > 0)


@wrong("", "At 1 the value is 0, but the slope is -1. Only elements that are 0 get no gradient.", score=1.5)
def entropy(p):
    inside = (p > 0) & (p < 1)
    safe = torch.where(inside, p, 1.0)
    return torch.where(inside, -safe * safe.log(), 0.0).sum()


@right
def entropy(p):
    q = p.clamp(min=torch.finfo(p.dtype).tiny)
    return -(q * q.log()).sum()


@right
def entropy(p):
    p = p[p > 0]
    return -(p * p.log()).sum()


@right
def entropy(p):
    q = p.masked_fill(p == 0, 1.0)
    return -(q * q.log()).sum()


@right
def entropy(p):
    return -torch.xlogy(p[p != 0], p[p != 0]).sum()


@right
def entropy(p):
    total = 0 * p.sum()
    for number in p.flatten():
        if number > 0:
            total = total - number * number.log()
    return total


@right
def entropy(p):
    positive = p > 0
    inside = torch.where(positive, p, torch.ones_like(p))
    return (-inside * torch.log(inside)).sum()


@right
def entropy(p):
    def part(numbers):
        return torch.mul(numbers, torch.log(numbers)).neg()

    chosen = torch.masked_select(p, p > 0)
    return part(chosen).sum()


@right
def entropy(p):
    logarithm_base = (p == 0).float() + p
    return -torch.einsum("i,i->", p.flatten() * (p.flatten() > 0), logarithm_base.flatten().log())
