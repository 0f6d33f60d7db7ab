# ---
# jupyter:
#   autograd_lab:
#     id: "07"
#     minutes: 35
#     needs: ["02", "05", "06"]
#     goals:
#       - choose between no_grad, detach, requires_grad_(False) and eval, and say what each one cuts
#       - update a parameter so that it stays the parameter
#       - find the place where a gradient was lost on its way
#     refutes: [M15, M16, M17]
#     retests: [M05, M09, M14]
#     points: 0
# ---

# %% [markdown]
# # 07 · Switching it off
#
# **35 minutes. You need:** notebooks 02, 05 and 06.
#
# **After this notebook you can**
#
# - choose between `no_grad`, `detach`, `requires_grad_(False)` and `eval`, and say what each one cuts;
# - update a parameter so that it stays the parameter;
# - find the place where a gradient was lost on its way.
#
# **Warm-up**, from memory. (1) A loop carries `h` from turn to turn, and the second backward fails. What is
# the cure: `"retain_graph"` or `"detach"`? (2) In notebook 04, what made a node ready to run: its `"place"` in
# the graph, or that all its `"messages"` had come?

# %%
cure, ready_by = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.reveal(cure, "detach")
lab.reveal(ready_by, "messages")

# %% [markdown]
# ## Predict
#
# Recording costs memory, and sometimes it is wrong. There are several switches, and they are often mixed up.
# Here `x = 3`, and the second factor is detached. **What is `x.grad`?**
#
# `6` · `3` · `0` · `None`

# %%
prediction = ...

with lab.record() as trace:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x.detach()
    y.backward()
lab.reveal(prediction, x.grad)

# %% [markdown]
# ## Step
#
# Look for the place where `detach` makes a second tensor with the same value. Which edges does the node of `y`
# have?

# %%
lab.step(trace)

# %% [markdown]
# The detached factor is a constant, with the value 3. So `y` is three times `x`, and the gradient is 3: one of
# the two paths is cut, the other is not.
#
# ## Four switches
#
# Each line computes `y` from `w = 2`, in its own way. **Predict** for each: does `y.requires_grad`?

# %%
prediction = {"plain": ..., "no_grad": ..., "detach": ..., "frozen": ..., "eval": ...}

layer = torch.nn.Linear(1, 1)


def use(switch):
    w = torch.tensor([2.0], requires_grad=True)
    if switch == "no_grad":
        with torch.no_grad():
            return w * 3
    if switch == "detach":
        return w.detach() * 3
    if switch == "frozen":
        return w.requires_grad_(False) * 3
    if switch == "eval":
        return layer.eval()(w)
    return w * 3


# %%
truth = {switch: use(switch).requires_grad for switch in prediction}
for switch, is_on in truth.items():
    print(f"{switch:8}", end=" ")
    lab.reveal(prediction[switch], is_on)

# %%
assert list(truth.values()) == [True, False, False, False, True]

# %% [markdown]
# | switch | cuts | for |
# |---|---|---|
# | `with torch.no_grad():` | **recording**, of everything inside | using a network; updating parameters |
# | `t.detach()` | **one value** from its history | carrying a state on; targets; plots |
# | `p.requires_grad_(False)` | **one leaf** from being learned | freezing a layer |
# | `model.eval()` | nothing! It switches dropout and batch norm | testing, *together with* `no_grad` |
#
# > **You may think** these are four words for one thing.
# >
# > **That is not what happens.** `eval` does not touch autograd at all. `no_grad` cuts a stretch of *time*,
# > `detach` one *value*, `requires_grad_(False)` one *leaf*.
# >
# > **Here it is**: freezing the first of two layers. The gradient still flows *through* what is frozen.

# %%
first = torch.tensor(2.0, requires_grad=True)
frozen = torch.tensor(5.0, requires_grad=True).requires_grad_(False)
((first * 3) * frozen).backward()
print("first:", first.grad, " frozen:", frozen.grad)
assert first.grad == 15
assert frozen.grad is None

# %% [markdown]
# With `no_grad` around the frozen layer, or `detach` behind it, `first` would get nothing. **Half done:** which
# of the two parameters below gets a gradient, if the state between them is detached? Answer with a list of
# names. **All yours:** and if the *second* product runs under `no_grad`?

# %%
half, yours = ..., ...


def names_with_grad(cut):
    p, q = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    state = p * 4
    if cut == "detach":
        y = state.detach() * q
    else:
        with torch.no_grad():
            y = state * q
    if y.requires_grad:
        y.backward()
    return [name for name, t in (("p", p), ("q", q)) if t.grad is not None]


lab.reveal(half, names_with_grad("detach"))
lab.reveal(yours, names_with_grad("no_grad"))

# %% [markdown]
# ## The update
#
# A parameter is moved against its gradient: `w` minus `0.1` times `w.grad`. Three ways to write it. **Predict**
# for each whether the result is still a leaf that requires grad, that is, whether a *second* training step
# would work.

# %%
prediction = [..., ..., ...]  # True or False


def parameter():
    w = torch.tensor(4.0, requires_grad=True)
    (w * w).backward()
    return w


w = parameter()
w = w - 0.1 * w.grad
v = parameter()
with torch.no_grad():
    v = v - 0.1 * v.grad
u = parameter()
with torch.no_grad():
    u -= 0.1 * u.grad
lab.reveal(prediction, [t.is_leaf and t.requires_grad for t in (w, v, u)])

# %% [markdown]
# > **You may think** `w = w - lr * w.grad` updates the parameter.
# >
# > **That is not what happens.** It makes a *new* tensor and gives it the old name. Recorded, the new `w` is
# > not a leaf, and its `.grad` stays `None` from now on. Under `no_grad`, it does not even require grad.
# >
# > **Here it is.** Only the third one, in place and unrecorded, moves the parameter itself. That is what every
# > optimizer does.

# %%
for name, t in (("w", w), ("v", v), ("u", u)):
    print(f"{name} = {t.item():.1f}   leaf {t.is_leaf!s:5}   requires grad {t.requires_grad}")
assert [(t.is_leaf, t.requires_grad) for t in (w, v, u)] == [(False, True), (True, False), (True, True)]

# %% [markdown]
# ## Lost on the way
#
# Some cuts nobody asked for. Each of these four lines makes something out of `x`. **Predict** for each, with
# `True` or `False`: does the result require grad?

# %%
prediction = [..., ..., ..., ...]

with lab.record():
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    item = torch.tensor(x.sum().item()) * 2
    fresh = torch.tensor(x.tolist()).sum()
    best = x.argmax()
    rounded = x.round().sum()
lab.reveal(prediction, [t.requires_grad for t in (item, fresh, best, rounded)])
assert rounded.requires_grad

# %% [markdown]
# > **You may think** a gradient passes through `item()`, `tensor([...])` or `argmax`.
# >
# > **That is not what happens.** The first two hand the number to Python, which keeps no record; the third makes
# > an integer, and integers have no gradient. `round` keeps its history, but its slope is 0 everywhere.
# >
# > **Here it is**, as the lab reports it:

# %%
print(lab.why("x", "item"))

# %% [markdown]
# ## Modify
#
# Mend the loss below, so that `x.grad` is not `None`: it should be the mean of the squares of `x`.

# %%
x = torch.tensor([1.0, 3.0], requires_grad=True)
loss = torch.tensor((x * x).mean().item(), requires_grad=True)
loss.backward()
print(x.grad)

# %% [markdown]
# ## Exit ticket
#
# (1) You want predictions for a thousand images and no training. Which switch saves the memory: `"eval"` or
# `"no_grad"`? (2) `y = x * x.detach() + x` at `x = 3`: what is the gradient? (3) `k = torch.tensor(2.0)`, then
# `y = k * k`, and only then `k.requires_grad_()`. Does `y.requires_grad`?

# %%
switch, gradient, late = ..., ..., ...

x = torch.tensor(3.0, requires_grad=True)
(x * x.detach() + x).backward()
lab.reveal(switch, "no_grad")
lab.reveal(gradient, x.grad)
k = torch.tensor(2.0)
y = k * k
k.requires_grad_()
lab.reveal(late, y.requires_grad)
assert not y.requires_grad

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# w = torch.tensor(4.0, requires_grad=True)
# (w * w).backward()
# with torch.no_grad():
#     w -= 0.1 * w.grad
# print(w.is_leaf, w.requires_grad)   # True True
# ```
#
# **Where in the source?** `autograd_lab/autograd/modes.py`. **Exercises:** `exercises/07`. **Next:** notebook
# 08, *Shapes*.
