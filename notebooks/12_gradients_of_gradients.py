# ---
# jupyter:
#   autograd_lab:
#     id: "12"
#     minutes: 45
#     needs: ["05", "06", "09"]
#     goals:
#       - take a second derivative, and say which flag recorded the way back
#       - compute a Hessian-vector product without the Hessian
#       - use a gradient inside a loss
#     refutes: [M28, M29]
#     retests: [M12, M13, M16, M20, M21]
#     points: 0
# ---

# %% [markdown]
# # 12 · Gradients of gradients
#
# **45 minutes. You need:** notebooks 05, 06 and 09.
#
# This program should punish steep slopes. It raises no error, but the punishment has no effect:
#
# ```python
# (slope,) = torch.autograd.grad(y, x, retain_graph=True)
# (y + slope**2).backward()
# ```
#
# **Why does it not count?**
#
# **Warm-up**, from memory. (1) What is the gradient of `relu` at 0? (2) A function takes 5 numbers to 2. How many
# passes does its whole Jacobian need in backward mode, and how many in forward mode?

# %%
at_zero, passes = ..., [..., ...]  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

x = torch.tensor(0.0, requires_grad=True)
torch.relu(x).backward()
lab.reveal(at_zero, x.grad, "12.a")
x = torch.ones(5)
y = torch.ones(2, 5) @ x
lab.reveal(passes, [y.numel(), x.numel()], "12.b")  # a row for each output, a column for each input

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 14 minutes to the second *Predict*, 12 to the hand calculations, 10 for the
# Hessian, 7 for the penalty, 2 for the ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M28")` in place of *Predict*, `lab.classroom("M29")` right after it.
#
# *Short of time*: leave out *A Hessian you never build*; exercise 12.3 comes back to it. Keep *Modify*, the
# penalty that does nothing.

# %% [markdown]
# ## Predict: can you differentiate a gradient?
#
# The slope of `x**3` is `3 * x**2`. At `x = 5` it is 75. That is a formula in `x`, so it has a slope too. We ask
# autograd for the first slope `g`: `torch.autograd.grad(y, x)` returns the gradients of `y`, one for each input that you
# name. **Does `g` require a gradient? And what is in `x.grad`?**
#
# `True` or `False`? `75` or `"None"`?

# %%
prediction = [..., ...]

x = torch.tensor(5.0, requires_grad=True)
(plain,) = torch.autograd.grad(x**3, x)
answered = lab.reveal(prediction, [plain.requires_grad, str(x.grad)], "12.c")

# %% [markdown]
# With the flag `create_graph=True` the way back is recorded:

# %%
assert (plain.item(), plain.requires_grad, x.grad) == (75, False, None)
with lab.record() as trace:
    x = torch.tensor(5.0, requires_grad=True)
    y = x**3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g, x)

# %% [markdown]
# ## Step: which nodes does the second pass walk on?
#
# With the flag, the first backward pass *makes* nodes: each rule is computed with recorded operations. The stepper asks you
# for each message. On which nodes does the second pass walk?

# %%
lab.step(trace, predict="grad")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 9 of 41: an operation of the forward kind, in the middle of a backward
# pass. *Ask*: "Who asked for this node?" At step 21 of 41 let somebody point at where the second pass begins: at
# a node that the first pass made.
#
# *Expect* that it walks the old nodes once more. The sentence that helps: "The second pass differentiates the
# *computation of the slope*. That is what was recorded."

# %% [markdown]
# The rule of `x**3` was computed as `1 * (x**2 * 3)`. That made the three nodes with a double outline, and the second pass
# walks on them. Which formula does it end with?
#
# `torch.autograd.grad` also checks what you ask for. An input that the output does not use is an error, unless you allow it:

# %%
assert g.requires_grad
assert (g, h) == (75, 30)
x, unused = (torch.tensor(5.0, requires_grad=True) for _ in range(2))
with lab.expect(RuntimeError, "appears to not have been used"):
    torch.autograd.grad(x**3, [x, unused])
found = torch.autograd.grad(x**3, [x, unused], allow_unused=True)
if answered:
    print("returned:", [str(f) for f in found], "| x.grad:", x.grad)
assert found[1] is None
assert x.grad is None

# %% [markdown]
# `backward` fills `.grad`, each time by adding. Here is `x = 5` again. **Predict** `x.grad`
# after each of the two calls.

# %%
prediction = [..., ...]

x = torch.tensor(5.0, requires_grad=True)
(slope,) = torch.autograd.grad(x**3, x, create_graph=True)
(x**3).backward()
seen = [x.grad.item()]
slope.backward()
seen.append(x.grad.item())
lab.reveal(prediction, seen, "12.d")

# %% [markdown]
# Three names look alike, and mean three things. `retain_graph` keeps the saved values for another pass over the
# *same* graph. `retain_grad()` keeps the gradient of a tensor in between. `create_graph` records the *pass*.
#
# **Predict**, `"fine"` or `"error"`: first comes one pass over `y`, then `y.backward()`. The four cases: `y = x**3`, no flag;
# `y = x * 3`, no flag; `y = x**3` with `retain_graph=True`; `y = x**3` with `create_graph=True`.

# %%
prediction = [..., ..., ..., ...]
assert seen == [75, 105]


def second_pass(y, **flags):
    torch.autograd.grad(y, x, **flags)
    try:
        y.backward()
        return "fine"
    except RuntimeError:
        return "error"


keep, create = {"retain_graph": True}, {"create_graph": True}
lab.reveal(
    prediction,
    [second_pass(x**3), second_pass(x * 3), second_pass(x**3, **keep), second_pass(x**3, **create)],
    "12.e",
)

# %% [markdown]
# **Worked example**: all derivatives of `x**4` at 2.

# %%
assert [second_pass(x * 3), second_pass(x + 3)] == ["error", "fine"]
x = torch.tensor(2.0, requires_grad=True)
y, derivatives = x**4, []
for _ in range(4):
    (y,) = torch.autograd.grad(y, x, create_graph=True)
    derivatives.append(y.item())
print(derivatives)
assert derivatives == [32, 48, 48, 24]

# %% [markdown]
# **Half done.** `y = x * x.detach() * x` at `x = 3`: the middle factor is a constant. The first derivative is
# `2 * x * 3`. What is the second? **All yours:** `y = a * a * b` at `a = 2`, `b = 5`: differentiate by `a`, and
# then differentiate the result by `b`.

# %%
half, yours = ..., ...


def twice(y, first, second):
    (g,) = torch.autograd.grad(y, first, create_graph=True)
    return torch.autograd.grad(g, second)[0]


x = torch.tensor(3.0, requires_grad=True)
lab.reveal(half, twice(x * x.detach() * x, x, x), "12.f")
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
lab.reveal(yours, twice(a * a * b, a, b), "12.g")

# %% [markdown]
# ## A Hessian you never build
#
# A loss of `n` parameters has `n * n` second derivatives, the **Hessian**. For a network with 2410 parameters these
# are 5,808,100 numbers. But often you want only its product with a vector `v`. If `g` is the gradient, that product
# is itself a gradient: the gradient of the sum of `g * v`, with `v` constant. **Predict**: how many backward passes
# does this take, for any `n`? Then work out the product below, by hand. At `x = (2, 3)` the Hessian of the `f` in the
# next cell has the rows `6, 4` and `4, 18`, and `v` is `(1, 10)`.

# %%
passes, by_hand = ..., [..., ...]


def hvp(f, x, v):
    (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    return torch.autograd.grad((g * v).sum(), x)[0]


def f(x):
    return x[0] ** 2 * x[1] + x[1] ** 3


x = torch.tensor([2.0, 3.0], requires_grad=True)
with lab.record() as trace:
    product = hvp(f, x, torch.tensor([1.0, 10.0]))
lab.reveal(passes, sum(event["k"] == "backward" for event in trace), "12.h")
lab.reveal(by_hand, product, "12.i")
assert [hvp(f, x, v).tolist() for v in torch.eye(2)] == [[6, 4], [4, 18]]

# %% [markdown]
# If you want the whole matrix, do this for each `v` that is 1 in one place and 0 elsewhere, as the last line does.
# Each gives a row.
#
# ## A gradient inside a loss
#
# Sometimes a loss should punish steep slopes: that is a **gradient penalty**. Here `y = w * x * x`, and the loss is the
# square of its slope by `x`. At `w = 3`, `x = 2` the slope is 12. **Predict** `w.grad` with `create_graph=True`
# (a number). And without the flag, does backward give `"a number"` or `"an error"`?

# %%
prediction, without = ..., ...

w, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
(slope,) = torch.autograd.grad(w * x * x, x, create_graph=True)
(slope**2).backward()
penalty = w.grad.item()
lab.reveal(prediction, penalty, "12.j")
(constant,) = torch.autograd.grad(w * x * x, x)
lab.reveal(without, "a number" if constant.requires_grad else "an error", "12.k")
assert 2410**2 == 5808100

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Expect* that a forgotten flag is always an error. The sentence that helps: "Alone it
# is. Beside another loss nobody hears it."

# %% [markdown]
# ## Modify: the penalty that does nothing
#
# Below, the penalty stands beside an ordinary loss, as in the program from the top. **Predict** `w.grad`. Then take the
# other flag, and predict again.

# %%
prediction = ...

w, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
y = w * x * x
(slope,) = torch.autograd.grad(y, x, retain_graph=True)
(y + slope**2).backward()
answered = lab.reveal(prediction, w.grad, "12.l")

# %% [markdown]
# When you have answered, the next cell shows both: the penalty alone, without the flag, and beside the loss, with it.

# %%
assert penalty == 96
if answered:
    with lab.expect(RuntimeError, "does not require grad"):
        (constant**2).backward()
w, x = torch.tensor(3.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
y = w * x * x
(slope,) = torch.autograd.grad(y, x, create_graph=True)
(y + slope**2).backward()
if answered:
    print("with create_graph=True:", w.grad)
assert w.grad == 100

# %% [markdown]
# ## Exit ticket: a second derivative, and `.grad`
#
# (1) What is the second derivative of `x**2 * 5`, at any place? (2) With `create_graph=True`, does `torch.autograd.grad` fill
# `x.grad`? `True` or `False`.

# %%
second, fills = ..., ...

x = torch.tensor(7.0, requires_grad=True)
lab.reveal(second, twice(x**2 * 5, x, x), "12.m")
lab.reveal(fills, x.grad is not None, "12.n")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("12", seed=2)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.tensor(2.0, requires_grad=True)
# (g,) = torch.autograd.grad(x**3, x, create_graph=True)
# print(torch.autograd.grad(g, x))    # (tensor(12.),)
# ```
#
# ## In five lines
#
# 1. A pass is not recorded, unless you ask for it with `create_graph=True`.
# 2. A recorded pass is made of nodes, and backward can walk on them.
# 3. `torch.autograd.grad` returns. `backward` adds to `.grad`.
# 4. For the product of the Hessian and a vector you never build the Hessian.
# 5. If the slope was not recorded, a penalty on it is a constant.
#
# ![Forward makes y. Backward, recorded, makes its slope, as forward would. Backward again makes the slope of the slope.](pictures/12.svg)
#
# - [Exercises 12](../exercises/12_gradients_of_gradients.ipynb)
# - [Next: 13 · Train, debug, build](13_train_debug_build.ipynb)
