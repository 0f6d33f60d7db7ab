# ---
# jupyter:
#   autograd_lab:
#     id: "12"
#     minutes: 40
#     points: 9
# ---

# %% [markdown]
# # 12 · Exercises: gradients of gradients
#
# Put your answers in place of the dots and run the check below. `lab.hint("12.1")` gives the first of
# three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 12.1 · Which flag? (2 points)
#
# Choose for each wish: `"retain_graph"`, `"retain_grad"`, `"create_graph"`, or `"none"`.
#
# 1. differentiate a gradient once more
# 2. read `.grad` of a tensor that is not a leaf
# 3. call backward a second time on the same `y = x * x`
# 4. call backward in each turn of a loop that computes its loss anew

# %%
### BEGIN SOLUTION
flags = ["create_graph", "retain_grad", "retain_graph", "none"]
### END SOLUTION
### BEGIN STUB
# flags = [..., ..., ..., ...]  # four words
### END STUB

# %%
lab.check("12.1", flags)

# %% tags=["item"]
item(
    "12.1",
    kind="predict",
    points=2,
    partial=True,
    hints=[
        "One flag records the pass, one keeps saved values, one keeps a gradient. Which is which?",
        "A second pass over the same graph needs its saved values; a new graph has its own.",
        "create_graph, retain_grad, retain_graph; and in 4 every turn has a new graph.",
    ],
    accept=[["create_graph", "retain_grad()", "retain_graph", "none"]],
    wrong=[
        wrong_answer(
            ["create_graph", "retain_grad", "retain_graph", "retain_graph"],
            "M14",
            "In 4 every turn builds a new graph with its own saved values: nothing has to be kept.",
            score=1.5,
        ),
        wrong_answer(
            ["retain_graph", "retain_grad", "retain_graph", "none"],
            "M13",
            "retain_graph keeps the saved values of the forward pass; the backward pass itself is recorded by create_graph only.",
            score=1.5,
        ),
        wrong_answer(
            ["create_graph", "retain_graph", "retain_graph", "none"],
            "M13",
            "retain_graph keeps saved values, not gradients: a tensor in between keeps its gradient after retain_grad().",
            score=1.5,
        ),
        wrong_answer(
            ["create_graph", "none", "retain_graph", "none"],
            "M08",
            "A tensor that is not a leaf drops its gradient as soon as it is used, unless retain_grad() was called before.",
            score=1.5,
        ),
        wrong_answer(
            ["create_graph", "retain_grad", "none", "none"],
            "M12",
            "x * x has saved x, and the first pass frees it. The second would find nothing, unless retain_graph keeps it.",
            score=1.5,
        ),
        wrong_answer(
            ["create_graph", "retain_grad", "create_graph", "none"],
            "M13",
            "That would run, since what it records needs the saved values; but nobody asked for a record. retain_graph keeps them and "
            "nothing else.",
            score=1.5,
        ),
        wrong_answer(
            ["none", "retain_grad", "retain_graph", "none"],
            "M28",
            "Without being asked, a pass is not recorded: its gradients are plain numbers.",
            score=1.5,
        ),
    ],
)

# %% [markdown]
# ## 12.2 · Numbers (2 points)
#
# `x` is {x} and has no gradient yet. Give (1) the second derivative of `x**{e}`; (2) `x.grad` after these lines;
# (3) `x.grad` if the last line were `torch.autograd.grad(g, x)` and the first line were not there (write `"None"` if there is
# none); (4) the derivative of `g * g` by `x`, with the `g` of these lines.
#
# ```python
# ({square}).backward()
# (g,) = torch.autograd.grad(x**3, x, create_graph=True)
# g.backward()
# ```

# %%
### BEGIN SOLUTION
numbers = [540, 24, "None", 972]
### END SOLUTION
### BEGIN STUB
# numbers = [..., ..., ..., ...]
### END STUB

# %%
lab.check("12.2", numbers)


# %% tags=["item"]
@variant(x=range(2, 8), e=range(4, 8), c=range(1, 21))
def numbers_of_order_two(x=3, e=5, c=1):
    second, left, g, slope = e * (e - 1) * x ** (e - 2), 2 * c * x, 3 * x**2, 6 * x
    right = [second, left + slope, "None", 2 * g * slope]

    def but(place, value):
        return [value if i == place else one for i, one in enumerate(right, start=1)]

    return varied(
        shown={"square": f"{c} * x * x" if c > 1 else "x * x"},
        answer=right,
        hints=[
            f"First derivatives as formulas: {e} * x**{e - 1}, and 3 * x**2. Then differentiate again.",
            "backward adds to .grad; torch.autograd.grad returns and adds nothing.",
            f"{e * (e - 1)} * x**{e - 2}; {left} + 6 * {x}; nothing has filled it; 2 * g * 6 * x with g = {g}.",
        ],
        wrong=[
            wrong_answer(
                but(2, left),
                "M29",
                f"torch.autograd.grad leaves x.grad alone, but the last line is a backward: it adds {slope}, the slope of g.",
                score=1.5,
            ),
            wrong_answer(
                but(1, e * x ** (e - 1)),
                "",
                f"{e} * x**{e - 1} is the first derivative. Differentiate it once more.",
                score=1.5,
            ),
            wrong_answer(
                but(2, slope),
                "M10",
                f"backward adds {slope} to the {left} that the first line has left there.",
                score=1.5,
            ),
            wrong_answer(
                but(2, left + slope + g),
                "M29",
                f"You added the {g} of torch.autograd.grad as well: it returns its gradient and leaves .grad alone.",
                score=1.5,
            ),
            wrong_answer(
                but(2, left + g),
                "M28",
                f"{g} is g itself. g.backward() sends back the slope of g, 6 * x, and that is added to the {left}.",
                score=1.5,
            ),
            wrong_answer(
                but(3, slope),
                "M29",
                f"torch.autograd.grad returns {slope}, and leaves .grad as it is: None.",
                score=1.5,
            ),
            wrong_answer(
                but(3, 0),
                "M11",
                "Nothing has ever been put into x.grad: that is None, not zero.",
                score=1.5,
            ),
            wrong_answer(
                but(4, 2 * g),
                "",
                f"2 * g is the slope of g * g by g. For the slope by x, multiply that by the slope of g, {slope}.",
                score=1.5,
            ),
            wrong_answer(
                but(4, g * slope),
                "M07",
                f"g is used twice in g * g, and both messages count: {g} * {slope} from each side.",
                score=1.5,
            ),
        ],
    )


item("12.2", kind="number", points=2, partial=True, variant=numbers_of_order_two)

# %% [markdown]
# ## 12.3 · The product without the matrix (3 points)
#
# Write `hvp(f, x, v)`: the Hessian of the number `f(x)`, times `v`, in two backward passes. `x` has any shape and may not
# require a gradient. Neither `x` nor its `.grad` may change, and the result has the dtype of `x`.


# %%
def hvp(f, x, v):
    """The Hessian of f at x times v; all of the shape of x."""
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]
    ### END SOLUTION


# %%
lab.check("12.3", hvp)

# %% tags=["item"]
item(
    "12.3",
    kind="code",
    hints=[
        "The gradient g has the shape of x. Of which number is Hessian times v the gradient?",
        "Of (g * v).sum(), with v constant. The first pass must be recorded.",
        "x = x.detach().requires_grad_(); g with create_graph=True; then the gradient of (g * v).sum().",
    ],
    equivalent={"6: g * v -> g.mul_(v)": "nobody else holds g, and no node has saved it"},
)


@shared
def cubic(x):
    return (x**3).sum() + x.flatten()[0] * x.flatten()[-1] ** 2


@probe(points=1, cases=[(1,), (2,), (3,)])
def a_vector(hvp, n):
    "f = sum(x**3) + x[0] * x[-1]**2, at the first {0} of x = 2, 1, -1 and v = 3, 5, -2"
    x, v = torch.tensor([2.0, 1.0, -1.0][:n], requires_grad=True), torch.tensor([3.0, 5.0, -2.0][:n])
    return hvp(cubic, x, v)


@probe(points=1)
def x_is_left_alone(hvp):
    "An x with a .grad of its own: what hvp gives, and afterwards x, x.grad and whether x requires a gradient"
    x = torch.tensor([2.0, 5.0], requires_grad=True)
    x.grad = torch.tensor([7.0, 7.0])
    found = hvp(cubic, x, torch.tensor([-1.0, 2.0]))
    return [found, x.detach(), x.grad, x.requires_grad]


@probe(points=1, hidden=True, rtol=1e-9)
def a_matrix(hvp):
    "x of shape (2, 3), of 64 bits, that does not require a gradient, and stays like that, and others, with three dimensions, and with none; v stays as it is; and the dtype in 32 bits"
    x = torch.tensor([[1.1, 2.0, 3.0], [0.5, -1.0, 4.0]], dtype=torch.float64) / 7
    v = torch.tensor([[1.0, 0.0, -2.0], [3.0, 1.0, 0.5]], dtype=torch.float64)
    as_they_were = untouched(x, v)
    found = [hvp(cubic, x, v), x.requires_grad, hvp(lambda x: (x**2).sum() ** 2, x, v), v]
    found += [hvp(cubic, x.reshape(2, 1, 3), v.reshape(2, 1, 3)), hvp(cubic, x[0, 0], v[1, 0])]
    found += [hvp(cubic, x * 2, v), as_they_were(), dtype_of(hvp(cubic, x.float(), v.float()))]
    x.mul_(3)
    return [*found, hvp(cubic, x, v)]


@look("It makes the whole Hessian, a pass for each of its rows, instead of two passes for the product.")
def makes_the_matrix(hvp):
    with lab.record() as trace:
        hvp(cubic, torch.arange(1.0, 9.0), torch.ones(8))
    return sum(event["k"] == "done" for event in trace.events) > 4


@look("It leaves the product to torch.autograd.functional or torch.func, where it is ready-made.")
def is_ready_made(hvp):
    ready_made = {torch.autograd.functional.__name__, torch.func.__name__}
    ran = called(lambda: hvp(cubic, torch.tensor([2.0, 5.0]), torch.tensor([-1.0, 2.0])))
    return any(module in ready_made for module, _ in ran)


@wrong(
    "M28",
    "The number from which a pass starts has no history. Compute it from x, and have the first pass recorded: "
    "create_graph=True.",
)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x)
    return torch.autograd.grad((g * v).sum(), x)[0]


@wrong(
    "M13",
    "This is v itself, with no second derivative in it. The second pass must go through the gradient, which "
    "takes a first pass that is recorded: create_graph=True.",
)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, retain_graph=True)
    g.requires_grad_()
    return torch.autograd.grad((g * v).sum(), g)[0]


@wrong(
    "M20",
    "This is the sum over each row of the Hessian, times the number of v at that place: v must go into the sum before the second pass.",
)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g.sum(), x)[0] * v


@wrong(
    "M29",
    "backward adds to .grad: the first gradient, and what was there before, are in your result, and x is changed.",
)
def hvp(f, x, v):
    x.requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    f(x).backward()
    (g * v).sum().backward()
    return x.grad


@wrong(
    "",
    "The second pass starts from one number for each number of x. It needs a single one: their sum.",
    score=0,
)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g * v, x)[0]


@wrong(
    "M05",
    "x may come without requires_grad, and then nothing of f(x) is recorded: begin with x.detach().requires_grad_().",
    score=2,
)
def hvp(f, x, v):
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]


@wrong(
    "",
    "torch.autograd.grad returns a tuple, also for a single input. Take its first entry.",
)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    g = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]


@wrong("", "The numbers are right, but torch.autograd.grad returns a tuple. Return its first entry: [0].")
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)


@wrong(
    "M28",
    "The first backward has left the gradient in .grad, and the second adds to it. torch.autograd.grad keeps them apart.",
)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    f(x).backward(create_graph=True)
    (x.grad * v).sum().backward()
    return x.grad


@wrong("M19", "A mean divides by the number of entries. The product with v is a sum.")
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).mean(), x)[0]


@wrong(
    "M29",
    "backward adds to .grad, which is x's own: what was there before is in your result, and x is changed.",
    score=1,
)
def hvp(f, x, v):
    x.requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (g * v).sum().backward()
    return x.grad


@wrong("", "x has changed: it requires a gradient now, and did not before. Work on x.detach().", score=2)
def hvp(f, x, v):
    x.requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]


@wrong(
    "M20",
    "For vectors it is right. But a matrix product is not the sum of the products entry by entry.",
    score=2,
)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g @ v, x)[0]


@wrong(
    "",
    "Right in 32 bits, but x has 64: half of the digits are lost on the way. Work in the dtype of x.",
    score=2,
)
def hvp(f, x, v):
    start = torch.tensor(x.tolist(), requires_grad=True)
    (g,) = torch.autograd.grad(f(start), start, create_graph=True)
    return torch.autograd.grad((g * v).sum(), start)[0]


@wrong(
    "",
    "The numbers are right, but of 64 bits, while x has 32. Work in the dtype of x.",
    score=2,
)
def hvp(f, x, v):
    start = x.detach().double().requires_grad_()
    (g,) = torch.autograd.grad(f(start), start, create_graph=True)
    return torch.autograd.grad((g * v).sum(), start)[0]


@wrong("", "That is the gradient times v, with no second derivative in it.")
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return (g * v).detach()


@wrong("", "Only the diagonal of the Hessian takes part: each element of the result needs all of v.")
def hvp(f, x, v):
    z = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(z), z, create_graph=True)
    return torch.stack(
        [
            torch.autograd.grad(a, z, retain_graph=True)[0].flatten()[i] * v.flatten()[i]
            for i, a in enumerate(g.flatten())
        ]
    ).reshape(x.shape)


@wrong(
    "M10",
    "What was in x.grad is part of your result, and gone afterwards. Take the gradients with torch.autograd.grad.",
    score=2,
)
def hvp(f, x, v):
    was = x.requires_grad
    x.requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (g * v).sum().backward()
    out = x.grad.clone()
    x.grad = None
    x.requires_grad_(was)
    return out


@wrong("", "x required a gradient before, and requires none afterwards. Work on x.detach().", score=2)
def hvp(f, x, v):
    x.requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    out = torch.autograd.grad((g * v).sum(), x)[0]
    x.requires_grad_(False)
    return out


@wrong("", "The result is too small by the length of v, as if v had been made to length 1. Take v as it is.")
def hvp(f, x, v):
    p = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(f(p), p, create_graph=True)
    u = v / v.pow(2).sum().sqrt()
    return torch.autograd.grad((g * u).sum(), p)[0]


@wrong("", "The numbers are rounded. Hand them on as they are.", score=2)
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.round(torch.autograd.grad((g * v).sum(), x)[0] * 10000) / 10000


@right
def hvp(f, x, v):
    z = torch.tensor(x.tolist(), dtype=x.dtype, requires_grad=True)
    f(z).backward(create_graph=True)
    g, z.grad = z.grad, None
    g.backward(v)
    return z.grad


@right
def hvp(f, x, v):
    x = x.detach().requires_grad_(True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad(g, x, grad_outputs=v)[0]


@right
def hvp(f, x, v):
    copy = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(f(copy), copy, create_graph=True)
    copy.grad = None
    (v * g).sum().backward()
    return copy.grad


@right
def hvp(f, x, v):
    point = x.detach().clone()
    point.requires_grad = True
    gradient = torch.autograd.grad(f(point), [point], create_graph=True)[0]
    along_v = torch.dot(gradient.flatten(), v.flatten())
    return torch.autograd.grad(along_v, [point])[0]


@right
def hvp(f, x, v):
    x = x.clone().detach().requires_grad_()
    f(x).backward(create_graph=True)
    gradient, x.grad = x.grad, None
    gradient.backward(v)
    return x.grad


@right
def hvp(f, x, v):
    def gradient_at(point):
        return torch.autograd.grad(f(point), point, create_graph=True)[0]

    def directional(point):
        total = 0
        for slope, weight in zip(gradient_at(point).flatten(), v.flatten()):
            total = total + slope * weight
        return total

    start = torch.tensor(x.tolist(), dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad(directional(start), start)[0]


@right
def hvp(f, x, v):
    """The slope of the gradient at x + t * v by t, by two passes the other way round."""
    x = x.detach().requires_grad_()
    u = torch.zeros_like(x, requires_grad=True)
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    (linear,) = torch.autograd.grad(g, x, u, create_graph=True)
    return torch.autograd.grad(linear, u, v)[0]


@right
def hvp(f, x, v):
    with torch.enable_grad():
        point = x.detach().requires_grad_()
        value = f(point)
        (slope,) = torch.autograd.grad(value, point, create_graph=True, retain_graph=True)
        product = torch.einsum("i,i->", slope.reshape(-1), v.reshape(-1))
        (result,) = torch.autograd.grad(product, point)
    return result.detach()


@avoiding
def hvp(f, x, v):
    table = torch.autograd.functional.hessian(f, x.detach())
    return (table.reshape(x.numel(), x.numel()) @ v.flatten()).reshape(x.shape)


@avoiding
def hvp(f, x, v):
    x = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    rows = [torch.autograd.grad(slope, x, retain_graph=True)[0].flatten() for slope in g.flatten()]
    return (torch.stack(rows) @ v.flatten()).reshape(x.shape)


@avoiding
def hvp(f, x, v):
    _, product = torch.autograd.functional.hvp(f, x.detach(), v)
    return product


@avoiding
def hvp(f, x, v):
    from autograd_lab.func import grad, jvp

    return jvp(grad(f), (x.detach(),), (v,))[1]


# %% [markdown]
# ## 12.4 · A penalty that does nothing (2 points)
#
# `penalized(f, w, x, strength)` should return the gradient by `w` of `f(w, x)` plus `strength` times the sum of the squared
# slopes of `f` by `x`. There is no error, but `strength` changes nothing. Mend it. (`w`, `x` and their `.grad` stay as they are.)


# %%
### BEGIN SOLUTION
def penalized(f, w, x, strength):
    """The gradient by w of f(w, x) + strength * sum((df/dx)**2); w, x are leaves that require grad."""
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    loss = y + strength * (slope**2).sum()
    return torch.autograd.grad(loss, w)[0]


### END SOLUTION
### BEGIN STUB
# def penalized(f, w, x, strength):
#     """The gradient by w of f(w, x) + strength * sum((df/dx)**2); w, x are leaves that require grad."""
#     y = f(w, x)
#     (slope,) = torch.autograd.grad(y, x, retain_graph=True)
#     loss = y + strength * (slope.detach()**2).sum()
#     return torch.autograd.grad(loss, w)[0]
### END STUB


# %%
lab.check("12.4", penalized)

# %% tags=["item"]
item(
    "12.4",
    kind="debug",
    hints=[
        "Does slope require a gradient? Print it.",
        "Two things cut the penalty from w: a flag that is missing, and a detach.",
        "create_graph=True in the first call, and slope**2 without detach.",
    ],
    equivalent={
        "6: slope ** 2 -> slope.pow_(2)": "nobody else holds slope, and no node has saved it",
        "7: torch.autograd.grad(loss, w)[0] in 64 bits": "the question asks for no dtype",
    },
)


@probe(points=1, cases=[(1.0, 3.0, 1.0), (1.0, 3.0, 0.0), (3.0, 2.0, 0.5)])
def a_number(penalized, w, x, strength):
    "f = w * w * x * x at w = {0}, x = {1}, strength {2}"
    w, x = torch.tensor(w, requires_grad=True), torch.tensor(x, requires_grad=True)
    return penalized(lambda w, x: w * w * x * x, w, x, strength)


@probe(points=1, hidden=True, rtol=1e-9)
def weights_that_are_a_vector(penalized):
    "A vector w, of 64 bits, with a vector and with a matrix x, strengths above and below 0, other numbers in the same shapes, old gradients; all left alone, what f gives as well"

    made = []

    def cubes(w, x):
        y = (w * w * x**3).sum()
        made.append((y, y.item()))
        return y

    w, x = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.1, -2.3], [3.0, 0.5]))
    as_they_were = untouched(w, x)
    found = [penalized(cubes, w, x, s) for s in (0.25, 2.0, -0.5)]
    found.append(penalized(cubes, x, w, 2.0))
    rows = torch.tensor([[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]], dtype=torch.float64, requires_grad=True)
    found.append(penalized(lambda w, x: ((x @ w) ** 2).sum(), w, rows, 0.5))
    same = all(y.item() == value for y, value in made)
    u, z = (t.detach().clone().requires_grad_() for t in (w, x))
    u.grad, z.grad = (torch.tensor(v, dtype=torch.float64) for v in ([7.0, 5.0], [3.0, 1.0]))
    for _ in range(2):
        found.append(penalized(cubes, u, z, 2.0))
        u.data.mul_(0.5)
    return [*found, w.detach(), w.grad, x.grad, rows.grad, u.grad, z.grad, as_they_were() and same]


@wrong(
    "M28",
    "The penalty still has no gradient by w, as if the slope were a constant: the first pass must be recorded "
    "(create_graph=True), and the slope must keep its history.",
)
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, retain_graph=True)
    return torch.autograd.grad(y + strength * (slope**2).sum(), w)[0]


@wrong(
    "M13",
    "The first pass frees what the second needs. But keeping it is not enough: the first pass must be "
    "recorded, and create_graph=True does both.",
)
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x)
    return torch.autograd.grad(y + strength * (slope**2).sum(), w)[0]


@wrong("", "The strength weighs the squares: here it is squared with them.")
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(y + ((strength * slope) ** 2).sum(), w)[0]


@wrong(
    "M28",
    "The penalty still has no gradient by w, as if the slope were a constant: the first pass must be recorded "
    "(create_graph=True), and the slope must keep its history.",
)
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(y + strength * (slope.detach() ** 2).sum(), w)[0]


@wrong(
    "M29",
    "backward leaves gradients in w.grad and x.grad, and adds to them at the next call: use torch.autograd.grad.",
    score=1,
)
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    (y + strength * (slope**2).sum()).backward()
    return w.grad


@wrong(
    "",
    "w.grad or x.grad is no longer what it was, and an old gradient in it may get into the penalty: use torch.autograd.grad.",
    score=1,
)
def penalized(f, w, x, strength):
    y = f(w, x)
    y.backward(create_graph=True)
    loss = y + strength * (x.grad**2).sum()
    (found,) = torch.autograd.grad(loss, w)
    w.grad = x.grad = None
    return found


@wrong("", "The penalty is the square of the slope, not the slope.")
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(y + strength * slope.sum(), w)[0]


@wrong("", "Now only the penalty is left: f itself belongs to the loss as well.")
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(strength * (slope**2).sum(), w)[0]


@wrong("M28", "That is the slope by w. The penalty is about the slope by x.")
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, w, create_graph=True)
    return torch.autograd.grad(y + strength * (slope**2).sum(), w, allow_unused=True)[0]


@wrong(
    "",
    "Each slope is squared by itself, and then the squares are added. You square the sum of the slopes.",
    score=1,
)
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(y + strength * slope.sum() ** 2, w)[0]


@wrong(
    "M19",
    "A mean divides the penalty by the number of slopes. The task is the sum of their squares.",
    score=1,
)
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(y + strength * (slope**2).mean(), w)[0]


@wrong("", "Half of the penalty is missing: strength times the sum of the squares, and no 1 / 2 in front.")
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad(y + strength / 2 * (slope**2).sum(), w)[0]


@right
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, [x], create_graph=True)
    first = torch.autograd.grad(y, w, retain_graph=True)[0]
    return first + strength * torch.autograd.grad(slope.pow(2).sum(), w)[0]


@right
def penalized(f, w, x, strength):
    slope = torch.autograd.grad(f(w, x), x, create_graph=True)[0]
    (found,) = torch.autograd.grad(f(w, x) + (slope * slope).sum() * strength, [w])
    return found


@right
def penalized(f, w, x, strength):
    value = f(w, x)
    slope = torch.autograd.grad(value, x, create_graph=True)[0]
    penalty = torch.sum(slope * slope)
    return torch.autograd.grad(torch.add(value, penalty, alpha=strength), w)[0]


@right
def penalized(f, w, x, strength):
    def slope_by_x(weights, place):
        return torch.autograd.grad(f(weights, place), place, create_graph=True)[0]

    def loss_of(weights, place):
        return f(weights, place) + strength * slope_by_x(weights, place).square().sum()

    weights, place = (t.detach().clone().requires_grad_() for t in (w, x))
    loss_of(weights, place).backward()
    return weights.grad


@right
def penalized(f, w, x, strength):
    y = f(w, x)
    (by_w, slope) = torch.autograd.grad(y, (w, x), create_graph=True)
    (of_penalty,) = torch.autograd.grad(slope, w, 2 * strength * slope.detach())
    return (by_w + of_penalty).detach()


@right
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    loss = y
    for one in slope.flatten():
        loss = loss + strength * one**2
    (gradient,) = torch.autograd.grad(loss, w)
    return gradient


@right
def penalized(f, w, x, strength):
    y = f(w, x)
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    flat = slope.reshape(-1)
    return torch.autograd.grad(
        y + torch.einsum("i,i,->", flat, flat, torch.tensor(strength, dtype=flat.dtype)), w
    )[0]
