# ---
# jupyter:
#   autograd_lab:
#     id: "08"
#     minutes: 40
#     needs: ["05", "07"]
#     goals:
#       - say the shape of every gradient without running the program
#       - work out the gradient of a tensor that was broadcast
#       - make micro-batches give the same gradient as the whole batch
#     refutes: [M18, M19]
#     retests: [M07, M10, M16]
#     points: 0
# ---

# %% [markdown]
# # 08 · Shapes
#
# **40 minutes. You need:** notebooks 05 and 07.
#
# A layer adds ten numbers, its *bias*, to each of a thousand rows. The loss looks at all of them. **Which shape does
# the gradient of the bias have, and what happens to the thousand messages?**
#
# **Warm-up**, from memory. (1) What is `a.grad` after `(a * a.detach()).backward()` at `a = 5`? (2) `b` is
# a leaf without a gradient yet. What is `b.grad` after `(b * 3).backward()`, run twice?

# %%
detached, twice = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.level("saved")  # with the saved values

a, b = torch.tensor(5.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
(a * a.detach()).backward()
for _ in range(2):
    (b * 3).backward()
lab.reveal(detached, a.grad, "08.a")
lab.reveal(twice, b.grad, "08.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 12 minutes to the weights, 8 for *Which dimensions are summed?*, 8 for *Sum
# or mean?*, 10 for moving numbers and the digits, 2 for the ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M18")` in place of *Predict*, `lab.classroom("M19")` before *Sum or mean?*.
#
# *Short of time*: leave out *Modify* and the second stepper. Do not leave out the micro-batches: that bug is
# silent, and exercise 08.4 rests on it.

# %% [markdown]
# So far nearly every tensor was one number. Now they are tables.
#
# ## Predict: a column plus a row
#
# `x` is a column of three numbers, `b` a row of four. In their sum each is repeated until it fits the other: it is
# **broadcast**. The sum has 3 rows and 4 columns. What are the shapes of `x.grad` and `b.grad` after `loss.backward()`?
#
# `(3, 4)` · `(3, 1)` · `(1, 4)` · `(3,)` · `(4,)`

# %%
prediction = [..., ...]  # for x.grad and b.grad

with lab.record() as trace:
    x = torch.tensor([[10.0], [20.0], [30.0]], requires_grad=True)
    b = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    h = x + b
    loss = h.sum()
    loss.backward()
lab.reveal(prediction, [x.grad.shape, b.grad.shape], "08.c")

# %% [markdown]
# ## Step: which numbers go back?
#
# You know the shapes. Which *numbers* are in them? Press **Go to the question**: the stepper shows what comes in and
# asks what goes out. Type a row as `[1, 2]`, a column as `[[1], [2]]`, press **Commit**, then **Next question**.

# %%
lab.step(trace, predict="grad")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 16 of 26, a table of ones comes in, and let them write both outgoing
# shapes on paper before step 17 of 26.
#
# *Expect* `(3, 4)` twice. The sentence that helps: "How many numbers has `b`? One answer for each of them, not
# more." Then point at one number of `b` and *ask* which cells it feeds.

# %% [markdown]
# Twelve ones came in at the node of `h`. Where did they go? Broadcasting *uses a number several times*. To see
# which cells of `h` one number feeds, nudge it: raise `b[2]` by 1, and look what moves.

# %%
with torch.no_grad():
    nudged = b + torch.tensor([0.0, 0.0, 1.0, 0.0])
    moved = (x + nudged) - (x + b)
print(moved)
print("x.grad:", x.grad.tolist(), " b.grad:", b.grad.tolist())
assert h.numel() == 12
assert moved.sum() == b.grad[2] == 3
assert x.grad.tolist() == [[4], [4], [4]]

# %% [markdown]
# Count the cells that `b[2]` feeds. Just as many messages come back to it, and messages that meet are added. It is
# the same for each number of `x`. So:
#
# **broadcast on the way forward = sum on the way back**, over just those dimensions in which the tensor was
# repeated.
#
# Now let the loss give each cell a weight of its own, as printed below. **Work out** by hand the gradient of each number of
# `b`. The cell prints the results below the weights, once from nudging each number of `b` alone, and once from backward.

# %%
weights = torch.arange(12.0).reshape(3, 4)


def weighted(b):
    return ((x.detach() + b) * weights).sum()


def nudge(i):
    step = torch.tensor([float(i == j) for j in range(4)])
    return (weighted(b.detach() + step) - weighted(b.detach())).item()


b.grad = None
weighted(b).backward()
print(weights, "\nnudged:", [nudge(i) for i in range(4)], "\nb.grad:", b.grad.tolist())
assert b.grad.tolist() == [nudge(i) for i in range(4)] == [12, 15, 18, 21]

# %% [markdown]
# The weights are the messages that come in at the node of `x + b`. `b.grad` holds the sums of their columns.
#
# ## Which dimensions are summed?
#
# **Worked.** Write the shapes under each other, lined up **at the right**. A dimension is summed where the
# tensor has nothing, or a 1 that was stretched:
#
# ```
# message   3  4        message   3  4
# b            4        x         3  1
# sum over  0           sum over     1, and keep the 1
# ```

# %%
message = weights
to_b = message.sum(0)
to_x = message.sum(1, keepdim=True)
print(to_b.tolist(), to_x.tolist())
assert to_b.tolist() == [12, 15, 18, 21]
assert to_x.tolist() == [[6], [22], [38]]

# %% [markdown]
# **Half done.** A message of shape `(5, 3, 2)` goes back to a tensor of shape `(3, 1)`. The tensor has nothing at
# dimension `0`, so that is summed first, and `(3, 2)` is left. Which dimension of *this* is summed next?
#
# **All yours.** `p` has shape `(2, 1, 3)`, `q` has `(5, 3)`. What is the shape of `r = p + q`? How many cells of
# the message does each number of `p.grad` add up? And each number of `q.grad`?

# %%
half = ...
yours = [..., ..., ...]  # a shape in parentheses, a number, a number

left = torch.ones(5, 3, 2).sum(0)
lab.reveal(half, next(dim for dim in (0, 1) if left.sum(dim, keepdim=True).shape == (3, 1)), "08.d")

p = torch.zeros(2, 1, 3, requires_grad=True)
q = torch.zeros(5, 3, requires_grad=True)
r = p + q
r.sum().backward()
lab.reveal(yours, [r.shape, p.grad[0, 0, 0], q.grad[0, 0]], "08.e")

# %% [markdown]
# ## Sum or mean?
#
# `w` is a number. It is multiplied by four other numbers. **Predict** `w.grad` for three losses: the **sum** of all
# four products; their **mean**; and the means of the first two and of the last two, in **two backward calls**
# without clearing.

# %%
prediction = [..., ..., ...]  # sum, mean, two halves

w = torch.tensor(2.0, requires_grad=True)
data = torch.tensor([4.0, 8.0, 20.0, 28.0])


def gradient(*losses):
    w.grad = None
    for loss in losses:
        loss.backward()
    return w.grad.item()


of_sum, of_mean = gradient((w * data).sum()), gradient((w * data).mean())
halves = gradient((w * data[:2]).mean(), (w * data[2:]).mean())
answered = lab.reveal(prediction, [of_sum, of_mean, halves], "08.f")

# %% [markdown]
# A batch that is too large is cut into pieces. Each piece must count as much as its **share** of the batch. Dividing
# by the number of pieces is right only if all pieces have the same size.

# %%
assert (of_sum, of_mean, halves) == (60, 15, 30)

pieces = [data[:3], data[3:]]  # three and one
by_count = gradient(*[(w * piece).mean() / 2 for piece in pieces])
by_share = gradient(*[(w * piece).mean() * len(piece) / 4 for piece in pieces])
if answered:
    print(f"divided by the number of pieces: {by_count:.2f}, weighted by share: {by_share:g}")
assert by_share == of_mean
assert by_count != of_mean

# %% [markdown]
# ## Moving numbers about: reshape and index
#
# `reshape` and indexing compute nothing. They move numbers, and backward moves the messages back to where the numbers
# came from. **Predict** the shape of `v.grad` below, and the four numbers of `u.grad`. Index `2` is picked twice.

# %%
shape, picked = ..., [..., ..., ..., ...]

v = torch.arange(6.0, requires_grad=True)
(v.reshape(2, 3) * 7).sum().backward()
lab.reveal(shape, v.grad.shape, "08.g")

u = torch.tensor([5.0, 6.0, 7.0, 8.0], requires_grad=True)
u[[0, 2, 2]].sum().backward()
lab.reveal(picked, u.grad.tolist(), "08.h")

# %% [markdown]
# ## The real thing: one layer and its bias
#
# Six handwritten digits go through one layer. **Predict** four shapes: that of `scores`, of `W.grad`, of
# `bias.grad`, and of the message that arrives at `scores`.

# %%
prediction = [..., ..., ..., ...]

from autograd_lab import datasets

images, labels = datasets.digits()
x, y = torch.tensor(images[:6]), torch.tensor(labels[:6])
W = torch.zeros(64, 10, dtype=x.dtype, requires_grad=True)
bias = torch.zeros(10, dtype=x.dtype, requires_grad=True)
with lab.record() as trace:
    scores = x @ W + bias
    scores.retain_grad()
    loss = torch.nn.functional.cross_entropy(scores, y)
    loss.backward()
answered = lab.reveal(prediction, [t.shape for t in (scores, W.grad, bias.grad, scores.grad)], "08.i")

# %%
from autograd_lab.course import plots

titles = ["message at scores, one row per image", "bias.grad: the same, summed over the images"]
if answered:
    plots.signed(scores.grad, bias.grad, titles=titles, columns="one column per digit")
assert torch.allclose(bias.grad, scores.grad.sum(0))
assert u.grad.tolist() == [1, 0, 2, 0]

# %% [markdown]
# Step through it. Now the stepper asks for shapes. Type them like `6x10`.

# %%
lab.step(trace, predict="shape")

# %% [markdown]
# ## Modify: a batch of one
#
# In the cell before the picture, take `images[:1]` and `labels[:1]`, a batch of one. **Predict** first: which
# of the four shapes change, and how will the two parts of the picture compare? Then run it.
#
# ## Exit ticket: shape, sum, mean
#
# `k` has shape `(7, 1)`. It is multiplied by a tensor of ones of shape `(7, 3)`. (1) What is the shape of
# `k.grad`? (2) The loss is the **sum** of the product. What is each number of `k.grad`? (3) Now the loss is the **mean**
# of all cells. What is that number divided by?

# %%
shape, each, divisor = ..., ..., ...

k = torch.zeros(7, 1, requires_grad=True)
(k * torch.ones(7, 3)).sum().backward()
lab.reveal(shape, k.grad.shape, "08.j")
lab.reveal(each, k.grad[0, 0], "08.k")
(mean_gradient,) = torch.autograd.grad((k * torch.ones(7, 3)).mean(), k)
lab.reveal(divisor, round((k.grad / mean_gradient)[0, 0].item()), "08.l")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("08", seed=1)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.ones(5, 1, requires_grad=True)
# b = torch.ones(2, requires_grad=True)
# (x + b).sum().backward()
# print(x.grad.shape, b.grad.shape)   # torch.Size([5, 1]) torch.Size([2])
# ```
#
# ## In five lines
#
# 1. A gradient has the shape of its tensor: one answer for each number.
# 2. Broadcasting uses a number several times. Its messages are added.
# 3. Line the shapes up at the right. Sum where the tensor has nothing, or a stretched 1.
# 4. A mean divides the gradient by its count.
# 5. A piece of a batch counts by its share.
#
# ![Forward: a row is copied down, and a column is copied across, into one table. Backward: the same table is summed down into the row, and across into the column.](pictures/08.svg)
#
# - [Exercises 08](../exercises/08_shapes.ipynb)
# - [Next: 09 · What backward(v) means](09_what_backward_v_means.ipynb)
#
# Source: `sum_to` in `autograd_lab/core/array_or_tensor.py`.
