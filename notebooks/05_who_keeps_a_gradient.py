# ---
# jupyter:
#   autograd_lab:
#     id: "05"
#     minutes: 35
#     needs: ["02", "04"]
#     goals:
#       - say for any tensor whether it is a leaf, and whether it will have a .grad after backward
#       - explain what a second backward does to .grad, and when to clear it
#       - tell a missing gradient from a gradient of zero, and find out why it is missing
#     refutes: [M08, M09, M10, M11]
#     retests: [M03, M07]
#     points: 0
# ---

# %% [markdown]
# # 05 · Who keeps a gradient?
#
# **35 minutes. You need:** notebooks 02 and 04.
#
# This training loop runs without an error, and learns worse and worse:
#
# ```python
# for x, y in batches:
#     loss = (model(x) - y) ** 2
#     loss.backward()
#     optimizer.step()     # moves the parameters
# ```
#
# The **optimizer** moves the parameters against their gradients. **Which line is missing, and who keeps what it should
# throw away?**
#
# **Warm-up**, from memory. (1) `y = a * 5 + a * 2`: what is `a.grad` after `y.backward()`? (2) In
# `a * k`, the constant `k` does not require a gradient. What is `k.grad` after backward: `"0"` or `"None"`?

# %%
grad_of_a, grad_of_k = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.level("queue")  # with the ready queue

a = torch.tensor(2.0, requires_grad=True)
k = torch.tensor(5.0)
y = a * k + a * 2
y.backward()
lab.reveal(grad_of_a, a.grad, "05.a")
lab.reveal(grad_of_k, str(k.grad), "05.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 9 minutes to the hook, 7 for leaves, 10 for *Twice*, 9 for the rest.
# Each vote adds 8.
#
# *Ask* `lab.classroom("M08")` before *Predict*, `lab.classroom("M09")` before *What is a leaf?*,
# `lab.classroom("M10")` before *Twice*, `lab.classroom("M11")` before *None is not zero*. If there is time for
# two, take M09 and M10: those two mistakes survive longest in working code.
#
# *Short of time*: leave out *Modify* and the hand calculations after *Twice*.

# %% [markdown]
# ## Predict: who keeps a gradient?
#
# Here are three tensors in a row. Backward computes a gradient at each of them. After `loss.backward()`, **which of
# them have a `.grad`?** Answer with a list of names.
#
# `["x"]` · `["x", "h"]` · `["x", "h", "loss"]`

# %%
prediction = ...

with lab.record() as trace:
    x = torch.tensor(3.0, requires_grad=True)
    h = x * 2
    loss = h * h
    loss.backward()

# %% [markdown]
# ## Step: what happens to the sum at `h`?
#
# Step first, and reveal the answer afterwards. The stepper stops where it wants a number from you: type it,
# press **Commit**, then **Next question**. Watch the sum that arrives at the node of `h`, and watch the **leaf table** at
# the lower right. Is that sum kept anywhere?

# %%
lab.step(trace, predict="grad")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 16 of 26. The 12 lies at the node of `h`, the sum of two sixes. *Ask*:
# "Is this the gradient of `h`? And where can I read it in ten seconds from now?" Go on to step 20 of 26, and look
# for it together.
#
# *Expect* the answer "in `h.grad`". The sentence that helps: "It was here. Nobody had asked to keep it."

# %%
import warnings

three = {"x": x, "h": h, "loss": loss}
with warnings.catch_warnings(action="ignore"):  # a warning would tell you
    kept = [name for name, tensor in three.items() if tensor.grad is not None]
if lab.reveal(prediction, kept, "05.c"):
    with lab.expect(UserWarning, "not a leaf"):
        print("h.grad is", h.grad)
assert kept == ["x"]
assert x.grad == 24

# %% [markdown]
# If you want the gradient of another tensor, ask before backward. `retain_grad` keeps it. A **hook** is a function
# that you write. Backward calls it with the gradient that passes.

# %%
x = torch.tensor(3.0, requires_grad=True)
h = x * 2
h.retain_grad()
h.register_hook(lambda gradient: print("passing h:", gradient))
loss = h * h
loss.backward()
print("h.grad:", h.grad, " h.is_leaf:", h.is_leaf, " h.retains_grad:", h.retains_grad)
assert h.grad == 12

# %% [markdown]
# ## What is a leaf?
#
# Notebook 02 gave you the word: a leaf has **no history**. **Predict** for each line: is the result a leaf? `w` requires a
# gradient, `k` does not. (`w.detach()` is a tensor with the value of `w`, but cut off from its history.)

# %%
leaves = {"w": ..., "k": ..., "w * 1": ..., "k * 1": ..., "w.detach()": ...}  # True or False

w = torch.tensor(5.0, requires_grad=True)
k = torch.tensor(5.0)
truth = {"w": w, "k": k, "w * 1": w * 1, "k * 1": k * 1, "w.detach()": w.detach()}
lab.reveal(leaves, {name: tensor.is_leaf for name, tensor in truth.items()}, "05.d")

# %% [markdown]
# Here is where it hurts. Somebody scales a new parameter, to start with small numbers. In the first try, they ask for
# the gradient after the scaling. In the second try, they ask for it before:

# %%
with lab.record():
    good = torch.tensor(5.0) * 0.1
    good.requires_grad_()
    bad = torch.tensor(5.0, requires_grad=True) * 0.1
    (good * bad).backward()
print("good:", good.is_leaf, good.grad, "| bad:", bad.is_leaf)
assert (good.is_leaf, bad.is_leaf) == (True, False)
assert ((k * 1).is_leaf, (w * 1).is_leaf) == (True, False)
assert good.grad == 0.5

# %% [markdown]
# `bad` is not the parameter. The parameter is the `5.0` in front of it. It has no name any more, and nobody will
# read the gradient that it collects. Ask the lab:

# %%
lab.why(bad)

# %% [markdown]
# ## Twice: what does a second backward do?
#
# Now a question about training. `x` is 3, and the loss is `x * x`. We compute the loss and
# call backward, and then we do the same again. **Predict** `x.grad` after the first and after the second time.

# %%
prediction = [..., ...]

seen = []
with lab.record() as trace:
    x = torch.tensor(3.0, requires_grad=True)
    for _ in range(2):
        loss = x * x
        loss.backward()
        seen.append(x.grad.item())
lab.reveal(prediction, seen, "05.e")

# %% [markdown]
# Step through both passes. At each *accumulate* read old + new.

# %%
assert seen == [6, 12]
lab.step(trace)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* two places and compare: step 13 of 33, where 3 meets 3 *within* one pass, and
# step 32 of 33, where 6 meets 6 from *two* passes.
#
# *Expect* that they take the two for one thing, or think that `zero_grad` prevents the first. The sentence
# that helps: "The first sum is the chain rule. The second is a habit of the mailbox, and you may empty it."

# %% [markdown]
# The mailbox goes on adding from pass to pass. That can be useful: if the data come in **batches**, a few examples
# each, you can add up the gradients of four batches before one update. If you do not want this, clear before each
# backward: `x.grad = None`, or `optimizer.zero_grad()`.
#
# **Half done.** A loop of three turns calls backward each time and forgets to clear. The gradient of each
# turn is 4. After the first turn `.grad` holds 4. What does it hold after the second and the third?
#
# **All yours.** The loss is `x * x * x`, at `x = 2`. Call backward, clear, compute the loss anew, and call backward
# again. What does `.grad` hold at the end?

# %%
half, yours = [..., ...], ...  # after the second and the third turn; at the end

x = torch.tensor(2.0, requires_grad=True)
held = []
for _ in range(3):
    (x * x).backward()
    held.append(x.grad.item())
lab.reveal(half, held[1:], "05.f")

x.grad = None
(x * x * x).backward()
x.grad = None
(x * x * x).backward()
lab.reveal(yours, x.grad, "05.g")

# %% [markdown]
# ## None is not zero
#
# Here are three parameters. The loss uses `a`, it uses `b` times zero, and it does not use `c`. **Predict** the three
# gradients: a number, or `"None"`.

# %%
prediction = [..., ..., ...]

a, b, c = (torch.tensor(v, requires_grad=True) for v in (1.0, 2.0, 3.0))
with lab.record():
    loss = a * 4 + b * 0
    loss.backward()
answered = lab.reveal(prediction, [a.grad, b.grad, str(c.grad)], "05.h")

# %% [markdown]
# When you have answered, the lab explains two of them, for the same loss:

# %%
assert (a.grad, b.grad, c.grad) == (4, 0, None)
if answered:
    print(lab.why(b, loss), lab.why(c, loss), sep="\n")

# %% [markdown]
# ## Modify: `retain_grad`, but too late
#
# Before, `retain_grad` was called before backward. Below it is called after backward.
# **Predict** `h.grad`, then move the line up to where it helps.

# %%
prediction = ...

x = torch.tensor(3.0, requires_grad=True)
h = x * 2
(h * h).backward()
h.retain_grad()
lab.reveal(prediction, str(h.grad), "05.i")

# %% [markdown]
# ## Exit ticket: leaves and sums
#
# (1) `p = torch.tensor(2.0, requires_grad=True).double()`: is `p` a leaf? (2) A loop of ten turns never clears, and the
# gradient is always 3. What does `.grad` hold at the end?

# %%
is_leaf, held = ..., ...

p = torch.tensor(2.0, requires_grad=True).double()
lab.reveal(is_leaf, p.is_leaf, "05.j")
x = torch.tensor(1.0, requires_grad=True)
for _ in range(10):
    (3 * x).backward()
lab.reveal(held, x.grad, "05.k")

# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("05", seed=2)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.tensor(5.0, requires_grad=True)
# h = x * 2
# h.retain_grad()
# (h * h).backward()
# print(x.grad, h.grad)    # tensor(40.) tensor(20.)
# ```
#
# ## In five lines
#
# 1. A leaf is a tensor without history.
# 2. Backward computes a gradient at every node. Somebody has to keep it, or it is dropped.
# 3. Do you want the gradient of a tensor in between? Call `h.retain_grad()` before backward.
# 4. Each pass adds to `.grad`, until you clear it.
# 5. `None` is not zero: ask whether there was a path.
#
# ![Within one pass, messages meet at a node, and their sum is used and dropped. At the mailbox of a leaf the sum stays, and the next pass adds to it.](pictures/05.svg)
#
# - [Exercises 05](../exercises/05_who_keeps_a_gradient.ipynb). The last one is the next piece of your engine: it delivers a message.
# - [Next: 06 · What the graph remembers](06_what_the_graph_remembers.ipynb)
#
# Source: `AccumulateGrad` in `autograd_lab/core/node.py`.
