# ---
# jupyter:
#   autograd_lab:
#     id: "09"
#     minutes: 45
#     needs: ["03", "08"]
#     goals:
#       - say what backward(v) computes, and which shape v must have
#       - count the passes that forward and backward mode need, and choose
#       - write the rule of a matrix product from its shapes
#     refutes: [M20, M21]
#     retests: [M12, M18]
#     points: 0
# ---

# %% [markdown]
# # 09 · What backward(v) means
#
# **45 minutes. You need:** notebooks 03 and 08.
#
# This fails, and the usual cure makes the error go away:
#
# ```python
# y = f(x)                          # several outputs
# y.backward()                      # RuntimeError: grad can be implicitly created only for scalar outputs
# y.backward(torch.ones_like(y))    # no error
# ```
#
# **What is in `x.grad` now?**
#
# **Warm-up**, from memory. (1) `b` of shape `(1, 6)` is added to a table of shape `(2, 6)`, and everything is
# summed. What is each number of `b.grad`? (2) What does a node drop after backward: its `"edges"` or its
# `"saved values"`?

# %%
each, drops = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.level("saved")  # with the saved values

b = torch.zeros(1, 6, requires_grad=True)
(torch.ones(2, 6) + b).sum().backward()
lab.reveal(each, b.grad[0, 0], "09.a")
e = torch.tensor(1.0, requires_grad=True).exp()
e.backward()
lab.reveal(drops, "saved values" if e.grad_fn.next_functions else "edges", "09.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 12 minutes to the two rows, 8 to *The other way*, 12 for columns and costs, 8 for
# the matrix product, 5 for the digit and the ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M20")` before *Predict*, `lab.classroom("M21")` before *The other way: columns*.
#
# *Short of time*: leave out *The real thing* and *Modify*.

# %% [markdown]
# So far each program ended in one number, the loss. This program ends in several:


# %%
A = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 3.0]])


def f(x):
    return A @ x**2  # one output for each row of A


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with lab.expect(RuntimeError, "only for scalar outputs"):
    f(x).backward()

# %% [markdown]
# ## Predict: the shape of `v`
#
# Backward starts with a message at the output, the seed. For a loss the seed is 1. For several outputs the engine does not
# guess: **you** give the seed, with `y.backward(v)`. Which shape must `v` have: `(3,)`, `(2,)` or `(2, 3)`?
# And which shape will `x.grad` have?

# %%
prediction = [..., ...]  # shape of v, shape of x.grad

seed = [1.0, 10.0, 100.0]  # of the first number, the second, and so on
with lab.record() as trace:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = f(x)
    y.backward(torch.tensor(seed[: len(y)]))
lab.reveal(prediction, [y.shape, x.grad.shape], "09.c")

# %% [markdown]
# ## Step: a seed of your own
#
# Here the seed is not 1, but the `v` of the cell above. It counts the first output once, and the next one ten times.
# Press **Go to the question** and follow the seed down to `x`: the stepper asks for each message. (`A` is an input
# too, but needs no gradient. What is computed for it?)

# %%
lab.step(trace, predict="grad")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 9 of 24, the seed. *Ask*: "Until today this was always 1. Who chose it?"
# Go on to step 18 of 24 with the curtain down, and let one half of the room compute with the first row of the
# Jacobian, the other with the second.
#
# *Expect* a `v` of shape `(3,)`, "like `x`". The sentence that helps: "`v` belongs to the end at which backward
# starts."

# %% [markdown]
# How does each output move with each input? Write it as a table, with a row for each output and a column for each input: the
# **Jacobian**. Imagine that the table is covered. `backward(v)` shows you one thing only: it weights each row by its number in
# `v`, and adds up the rows. This is the **vector-Jacobian product**, VJP for short.
#
# So `v = (1, 0)` uncovers the first row. **Predict** the rows, by hand: `y[0]` is
# `x[0]**2 + 2 * x[1]**2`, and `y[1]` is `x[1]**2 + 3 * x[2]**2`, at `x = (1, 2, 3)`.

# %%
first, second = [..., ..., ...], [..., ..., ...]


def vjp(v):
    (weighted_rows,) = torch.autograd.grad(f(x), x, torch.tensor(v))
    return weighted_rows.tolist()


lab.reveal([first, second], [vjp([1.0, 0.0]), vjp([0.0, 1.0])], "09.d")

# %% [markdown]
# **Half done.** With `v = (3, 1)`, the first number that arrives is three times the first number of the first row, plus the
# first number of the second row. What are the other two?

# %%
half = [..., ...]

both = vjp([3.0, 1.0])
answered = lab.reveal(half, both[1:], "09.e")

# %% [markdown]
# The next cell starts from `a**2`, once with ones and once with another `v`. Compare the two. And `v` has a meaning:
# if the loss is `(v * y).sum()`, then `v` is the gradient of `y`.

# %%
assert vjp([1.0, 0.0]) == [2, 8, 0]
assert vjp([0.0, 1.0]) == [0, 4, 18]
assert both == [3 * 2 + 1 * 0, 3 * 8 + 1 * 4, 3 * 0 + 1 * 18]
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for v in ([1.0, 1.0, 1.0], [1.0, 0.0, 0.0]):
    (message,) = torch.autograd.grad(a**2, a, torch.tensor(v))
    print(f"a**2, v = {v}: {message.tolist()}")
assert message.tolist() == [2, 0, 0]

x.grad = None
loss = (torch.tensor([3.0, 1.0]) * f(x)).sum()
loss.backward()
if answered:
    print("f, through a loss:", x.grad.tolist())
assert x.grad.tolist() == both

# %% [markdown]
# ## The other way: columns
#
# Choose a direction `t` at the *inputs* and ask how all outputs move. That is nudging, but exact. **Forward mode**
# sends `t` along with the values, through each operation in turn. The result is the **Jacobian-vector product**, or
# JVP. It adds up *columns*. **Predict** it for `t = (0, 1, 0)`.

# %%
prediction = [..., ...]

import autograd_lab.autograd.forward_ad as forward_ad
from autograd_lab.course import plots


def jvp(t):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x.detach(), torch.tensor(t))
        return forward_ad.unpack_dual(f(dual)).tangent.tolist()


lab.reveal(prediction, jvp([0.0, 1.0, 0.0]), "09.f")

# %% [markdown]
# Now uncover the whole table both ways. How many passes does each way need? **Predict**, then run. What is gray is still
# covered.

# %%
prediction = [..., ...]  # by rows (backward), by columns (forward)


def one_hot(n):
    return [[float(i == j) for j in range(n)] for i in range(n)]


rows, columns = [vjp(v) for v in one_hot(2)], [jvp(t) for t in one_hot(3)]
if lab.reveal(prediction, [len(rows), len(columns)], "09.g"):
    plots.uncovered(rows)

# %% [markdown]
# Here are more cases: a curve with one input and 50 outputs, and a chain of 20 steps. How many passes does each mode need
# for the curve? How many values does each mode keep for the chain?


# %%
def curve(t):
    return torch.sin(t * torch.arange(50.0))


assert rows == [list(row) for row in zip(*columns, strict=True)]
assert columns[1] == jvp([0.0, 1.0, 0.0]) == [8, 4]
t = torch.tensor(0.3, requires_grad=True)
y = curve(t)
by_rows = [torch.autograd.grad(y, t, torch.tensor(v), retain_graph=True)[0] for v in one_hot(50)]
with forward_ad.dual_level():
    column = forward_ad.unpack_dual(curve(forward_ad.make_dual(t.detach(), torch.tensor(1.0)))).tangent
print("backward passes:", len(by_rows), " forward passes: 1")
assert len(by_rows) == 50
assert torch.allclose(torch.stack(by_rows), column)


# %%
def chain(x):
    for _ in range(20):
        x = torch.sin(x)
    return x


kept = {}
with lab.record() as trace:
    chain(t)
kept["backward"] = sum(len(node["saved"]) for node in trace.nodes)
with lab.record() as trace, forward_ad.dual_level():
    chain(forward_ad.make_dual(t.detach(), torch.tensor(1.0)))
kept["forward"] = sum(len(node["saved"]) for node in trace.nodes)
print("values kept for later:", kept)
assert kept == {"backward": 20, "forward": 0}

# %% [markdown]
# ## The rule of a matrix product
#
# `Y = X @ W`. **Worked**, for `X`: its number in row `i`, column `k` feeds the whole row `i` of `Y`, and is
# scaled by row `k` of `W`. `G` is the message. Collect the messages of that row: `(G[i] * W[k]).sum()`. For all `i` and `k` at
# once this is `G @ W.T`. The shapes agree: `(5, 2) @ (2, 3)` is `(5, 3)`, the shape of `X`.
#
# **Half done.** Which message does `W` get, of shape `(3, 2)`: `"G.T @ X"`, `"X.T @ G"` or `"G @ X.T"`?
#
# **All yours.** In `z = M @ u` the message `(5, 7)` arrives, `u = (1, 2, 3)`, and `M` has shape `(2, 3)`.
# What is the shape of `M.grad`, and which number is `M.grad[0, 2]`?

# %%
half, yours = ..., [..., ...]

X, W, G = torch.randn(5, 3), torch.randn(3, 2, requires_grad=True), torch.randn(5, 2)
(X @ W).backward(G)
lab.reveal(half, "G.T @ X" if W.grad.shape == (G.T @ X).shape else "X.T @ G", "09.h")

M = torch.zeros(2, 3, requires_grad=True)
(M @ torch.tensor([1.0, 2.0, 3.0])).backward(torch.tensor([5.0, 7.0]))
lab.reveal(yours, [M.grad.shape, M.grad[0, 2]], "09.i")

# %% [markdown] tags=["instructor"]
# **For the instructor.** On the board use shapes only: `(5, 3)` times `(3, 2)` is `(5, 2)`. *Ask* for all ways to
# make `(3, 2)` of a `(5, 3)` and a `(5, 2)`. There is one.
#
# *Expect* `G.T @ X`, the right product lying on its side, and somebody who mends it with `.T`. "That is right
# too. Now choose the one you can remember."

# %% [markdown]
# ## The real thing: one row of a large table
#
# An image goes through a layer to ten scores. We seed a single score: `v` is 1 at digit 3, elsewhere 0. So one row
# of the Jacobian comes back. **Predict**: column 3 of `weights.grad`, laid out as 8 by 8, is a picture of what?
# `"noise"` · `"the image"` · `"a three"`

# %%
from autograd_lab import datasets

images, _ = datasets.digits()
image = torch.tensor(images[4:5])
v = torch.zeros(1, 10, dtype=image.dtype)
v[0, 3] = 1
assert torch.allclose(W.grad, X.T @ G)
prediction = ...

with lab.record() as trace:
    weights = torch.zeros(64, 10, dtype=image.dtype, requires_grad=True)
    scores = image @ weights
    scores.backward(v)
back = weights.grad[:, 3].tolist()
if lab.reveal(prediction, "the image" if back == images[4].tolist() else "noise", "09.j"):
    plots.images(weights.grad[:, 3])

# %%
assert weights.numel() == 640
assert 1400 * 10 * 640 == 8960000
lab.step(trace, predict="shape")

# %% [markdown]
# The whole Jacobian of this small layer has 10 rows of 640 numbers. For the 1400 images of notebook 04 it would have
# 8,960,000 numbers, at least nine in ten of them 0. The rule never makes this table. It needs only one more matrix
# product.
#
# ## Modify: seed two places
#
# Seed two places: below `v[0, 3] = 1` write `v[0, 7] = 0.5`. **Predict** which columns of `weights.grad` are filled
# now, and how they compare. Then run from there, and draw column 7 too.
#
# ## Exit ticket: sizes and passes
#
# A function takes `8` numbers to `3`. (1) How many numbers does the `v` of `backward(v)` have? (2) How many numbers
# come back at the inputs? (3) Which mode fills its Jacobian in fewer passes, `"forward"` or `"backward"`?

# %%
in_v, back, mode = ..., ..., ...

w = torch.ones(8, requires_grad=True)
y = torch.ones(3, 8) @ w
lab.reveal(in_v, y.numel(), "09.k")
lab.reveal(back, w.numel(), "09.l")
lab.reveal(mode, "backward" if y.numel() < w.numel() else "forward", "09.m")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("09", seed=3)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.tensor([1.0, 2.0], requires_grad=True)
# y = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]]) @ x**2
# y.backward(torch.tensor([1.0, 10.0, 100.0]))
# print(x.grad)   # tensor([602.,  48.])
# ```
#
# ## In five lines
#
# 1. `backward(v)` weights the rows of the Jacobian by `v`, and adds them up.
# 2. So `v` has the shape of the output. What comes back has the shape of the input.
# 3. Autograd never makes the whole table.
# 4. Backward needs a pass for each output, forward mode one for each input.
# 5. The rule of a matrix product is a matrix product for each factor. The shapes tell you which.
#
# ![The Jacobian as a table: a row for each output, a column for each input. Each row is weighted by its number in v, and the sum of the rows is x.grad.](pictures/09.svg)
#
# - [Exercises 09](../exercises/09_what_backward_v_means.ipynb)
# - [Next: 10 · Writing in place](10_writing_in_place.ipynb)
