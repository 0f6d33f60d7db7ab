# ---
# jupyter:
#   autograd_lab:
#     id: "10"
#     minutes: 40
#     needs: ["05", "06", "07"]
#     goals:
#       - tell by the saved values which write in place is harmless and which one ruins the backward pass
#       - explain what the version counter counts, and why .data gets past it
#       - say what a write into a view does to the tensor behind it and to its gradient
#     refutes: [M22, M23, M24, M30]
#     retests: [M09, M12, M15]
#     points: 0
# ---

# %% [markdown]
# # 10 · Writing in place
#
# **40 minutes. You need:** notebooks 05, 06 and 07.
#
# A forum says: if backward complains about a write in place, write into `.data`, and the error is gone. It is gone.
# **Is the gradient right?** And why is such a write an error only sometimes?
#
# **Warm-up**, from memory. (1) `x` has 3 elements, `y = M @ x` has 2. How many elements does the `v` of
# `y.backward(v)` have? (2) `w` is a parameter. After `w = w - 0.1 * w.grad`: does `w` require a gradient, and is it a
# leaf?

# %%
elements_of_v, requires_and_leaf = ..., [..., ...]  # a number; True or False, twice

import autograd_lab as torch
from autograd_lab import lab

M = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
y = M @ torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
lab.reveal(elements_of_v, y.numel(), "10.a")
w = torch.tensor(2.0, requires_grad=True)
(w * w).backward()
w = w - 0.1 * w.grad
lab.reveal(requires_and_leaf, [w.requires_grad, w.is_leaf], "10.b")

# %% [markdown]
# ## Predict: overwritten after use
#
# `y += 1` does not make a new tensor. It writes into the memory of the old one: **in place**. So do `y *= 2`,
# `y[0] = 5`, and every method whose name ends in `_`, such as `y.zero_()`. Below, `x = 3`. **What happens at
# `z.backward()`?**
#
# `24` · `26` · `28` · `"error"`
#
# (`y = 6` would give `24`, `y = 7` would give `28`, and one of each `26`.)

# %%
prediction = ...


def outcome(z, x):
    """Backward from z: what it leaves in x.grad, or the word "error" if it refuses."""
    try:
        z.backward()
        return x.grad.tolist()
    except RuntimeError:
        return "error"


with lab.record() as trace:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * 2
    z = y * y
    y += 1
    happened = outcome(z, x)
lab.reveal(prediction, happened, "10.c")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 8 minutes to the stepper, 9 for harmless writes, 7 for `.data`, 7 for views, 7
# for the optimizer, 2 for the ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M22")` before the notebook, `lab.classroom("M23")` before *Getting past the counter*,
# `lab.classroom("M24")` before *Views*, `lab.classroom("M30")` before *The optimizer writes in place*. Where the
# notebook is homework, all four open the next session.
#
# *Short of time*: leave out the hand calculations and *Modify*; exercise 10.3 has such a repair.

# %% [markdown]
# ## Step: which version did the node save?
#
# Look for two things: which value does the node of `z` save, and what does `y += 1` do to it? Then follow
# backward to the node of `z`, and read the sentence there.

# %%
assert happened == "error"
assert y._version == 1
lab.step(trace)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 5 of 16 and write on the board what the node keeps: "6, version 0",
# twice. At step 9 of 16 write what is there now: "7, version 1". *Ask*: "Who notices, and when?"
#
# *Expect* "the line `y += 1` is the error". It is not: the write is never checked, the *use* is. Ask what happens
# if nobody ever calls backward.

# %% [markdown]
# How can autograd know that somebody wrote? The memory of every tensor has a **version**, a counter that goes up by 1 at each
# write in place. A node that saves a tensor notes the version beside it. Before it uses the value, it compares.
#
# ## Which writes are harmless?
#
# In each case `x = 1` and `y = x * 2`. Then the code in quotes runs, and backward starts at `z`. **Predict** for
# each: `"fine"` or `"error"`? Ask yourself: has a node saved the value that was overwritten?

# %%
prediction = {
    "z = y + 5; y += 1": ...,
    "z = y * y; y += 1": ...,
    "z = y.exp(); y += 1": ...,
    "z = y.exp(); z += 1": ...,
    "y += 1; z = y * y": ...,
}


# %%
truth = []
for code in prediction:
    x = torch.tensor(1.0, requires_grad=True)
    names = {"y": x * 2}
    exec(code, names)
    truth.append("error" if outcome(names["z"], x) == "error" else "fine")
answered = lab.reveal(prediction, dict(zip(prediction, truth, strict=True)), "10.d")

# %% [markdown]
# **Worked example.** Here is one of the five cases again. When you have answered, the lab names three lines: the one
# that saved the value, the one that overwrote it, and the one that needed it.

# %%
assert truth == ["fine", "error", "fine", "error", "fine"]


def fourth_case():
    with lab.record():
        x = torch.tensor(1.0, requires_grad=True)
        z = (x * 2).exp()
        z += 1
        with lab.expect(RuntimeError, "output 0 of Exp"):
            z.backward()
    return lab.why(x)


fourth_case() if answered else None

# %% [markdown]
# **Half done:** the same program runs if you write `z = z + 1` where it has `z += 1`. What does `z._version` say
# then? **All yours:** `x = 4`, `y = x * x`, `z = y * 3`, then `y.zero_()`, then backward from `z`. What is `x.grad`:
# a number, or `"error"`?

# %%
half, yours = ..., ...

z = (torch.tensor(1.0, requires_grad=True) * 2).exp()
z = z + 1
lab.reveal(half, z._version, "10.e")

x = torch.tensor(4.0, requires_grad=True)
y = x * x
z = y * 3
y.zero_()
lab.reveal(yours, outcome(z, x), "10.f")

# %% [markdown]
# ## Getting past the counter: `.data`
#
# Now the advice from the forum: write into `x.data`. Here `x = 3` and
# `y = x * x`. Then `x.data` is filled with `100`. **Predict** `x.grad` after backward from `y`.
#
# `6` · `103` · `200` · `"error"`

# %%
prediction = ...

x = torch.tensor(3.0, requires_grad=True)
y = x * x
x.data.fill_(100.0)
silent = outcome(y, x)
if lab.reveal(prediction, silent, "10.g"):
    print("y is", y.item(), "and the version of x is", x._version)

# %% [markdown]
# Now the same with `detach()`. It shares the memory *and* the counter:

# %%
assert silent == 200
x = torch.tensor(3.0, requires_grad=True)
y = x * x
x.detach().fill_(100.0)
print("version of x:", x._version)
with lab.expect(RuntimeError, "is at version 1; expected version 0"):
    y.backward()

# %% [markdown]
# ## Views: a window onto the same memory
#
# `v = b[0]` copies nothing. `v` is a **view**, a window onto the memory of `b`. Slices, `.T` and `view`
# give views as well, and `reshape` does wherever it can. Below, somebody triples `v`, and backward starts at the sum of `b`.
# **Predict** `a.grad`.
#
# `[5, 5, 5]` · `[15, 5, 5]` · `[15, 15, 15]` · `"error"`

# %%
prediction = ...

with lab.record() as trace:
    a = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    b = a * 5
    v = b[0]
    v *= 3
    tripled = outcome(b.sum(), a)
answered = lab.reveal(prediction, tripled, "10.h")
lab.step(trace)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 8 of 35: in one moment `v` has a new value and a new `grad_fn`. *Ask*:
# "Who else has changed?" The answer is at step 22 of 35, where `CopySlices` lets two of the three messages pass
# as they are.
#
# *Expect* 15 three times ("`b` was tripled") or 5 three times ("`v` is another tensor"). The sentence that helps:
# "A window is not a second room."

# %% [markdown]
# Compare it with a real copy, `clone()`:

# %%
assert tripled == [15, 5, 5]
if answered:
    print("b:", b.tolist(), " made by", b.grad_fn.name(), " versions:", b._version, v._version)
a.grad = None
c = a * 5
copy = c[0].clone()
copy *= 3
c.sum().backward()
print("c:", c.tolist(), " a.grad:", a.grad.tolist())
assert a.grad.tolist() == [5, 5, 5]

# %% [markdown]
# ## The optimizer writes in place
#
# Two losses come from one forward run, with `w = 2`. After backward from the first, the optimizer moves `w` to `1.7`.
# Then backward starts at the second, `w * v`. **Predict** `v.grad`: `2`, `1.7` or `"error"`.

# %%
prediction = ...

w = torch.tensor(2.0, requires_grad=True)
v = torch.tensor(5.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
first, second = w * 3, w * v
first.backward()
optimizer.step()
stepped_between = outcome(second, v)
lab.reveal(prediction, stepped_between, "10.i")

# %% [markdown]
# The right order is: first all calls of backward, then the step. **Predict** (notebook 06): there are two calls now, so does
# the first one need `retain_graph=True`?

# %%
prediction = ...  # True or False

assert stepped_between == "error"
w = torch.tensor(2.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
first, second = w * 3, w * v
first.backward()
needed = outcome(second, w) == "error"
optimizer.step()
if lab.reveal(prediction, needed, "10.j"):
    print(f"w.grad = {w.grad.item()}, w = {w.item():.1f}, leaf: {w.is_leaf}")

# %% [markdown]
# ## Modify: add `.clone()` once
#
# Here is a program like the first one, at `x = 2`. **Predict** where a single `.clone()` would mend it. Then put it in,
# until the line below says 8 and 5.

# %%
x = torch.tensor(2.0, requires_grad=True)
y = x * x
z = y * y / 4
y += 1
print("x.grad:", outcome(z, x), " y:", y.item())

# %% [markdown]
# ## Exit ticket: saved, and written
#
# (1) `y = x.sigmoid()`, whose slope is `y * (1 - y)`. Which must not be overwritten: `"x"` or `"y"`? (2)
# `b = a * 4` has 3 elements, then `b[1] = 0`, then `b.sum().backward()`. What is `a.grad`?

# %%
saved, gradient = ..., ...

y = torch.tensor([1.0, 2.0], requires_grad=True).sigmoid()
lab.reveal(saved, "y" if torch.equal(y.grad_fn._saved_result, y) else "x", "10.k")
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = a * 4
b[1] = 0
b.sum().backward()
lab.reveal(gradient, a.grad.tolist(), "10.l")

# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("10", seed=1)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# a = torch.tensor([1.0, 2.0], requires_grad=True)
# b = a * 2
# v = b[1]
# v *= 10
# b.sum().backward()
# print(a.grad)                    # tensor([ 2., 20.])
# print(b._version, v._version)    # 1 1
# ```
#
# ## In five lines
#
# 1. A write in place is an error only if backward needs the saved value that it overwrote.
# 2. A counter notices it: the node notes a version, and compares.
# 3. A write into `.data` does not move the counter. Nobody notices, and the gradient is wrong.
# 4. A view shares memory and history with the tensor behind it.
# 5. An optimizer writes in place. Step after all calls of backward.
#
# ![A tensor's memory has a counter. A node saves the tensor and notes the counter. A write in place moves the counter. Before it uses the value, the node compares the two.](pictures/10.svg)
#
# - [Exercises 10](../exercises/10_writing_in_place.ipynb)
# - [Next: 11 · Write your own op](11_write_your_own_op.ipynb)
