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
# The first turn computes the right numbers. In the second turn, `backward` fails:
#
# ```python
# for x, y in batches:
#     loss = (x * w - y) ** 2
#     loss.backward()
#     with torch.no_grad():
#         w = w - 0.1 * w.grad
# ```
#
# **What happened to `w`?**
#
# **Warm-up**, from memory. (1) A loop carries `h` from turn to turn, and the second backward fails. What is
# the cure: `"retain_graph"` or `"detach"`? (2) `b = a * a`, and the loss is `b * (b * 3)`. How many messages
# does the node of `b` wait for before it runs?

# %%
cure, waits_for = ..., ...  # fill in, then run

import math

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.course import plots

lab.level("saved")  # with the saved values

a = torch.tensor(2.0, requires_grad=True)
with lab.record() as trace:
    b = a * a
    (b * (b * 3)).backward()
next_turn = {"retain_graph": b, "detach": b.detach()}  # what it would begin with
lab.reveal(cure, next(way for way in next_turn if next_turn[way].grad_fn is None), "07.a")
lab.reveal(waits_for, max(event["of"] for event in trace if event["k"] == "deliver"), "07.b")

# %% [markdown]
# ## Predict: a factor is detached
#
# Recording costs memory, and sometimes you do not want it. There are several switches, and people often mix them up.
# Here `x = 3`, and the second factor is detached. **What is `x.grad`?**
#
# `6` · `3` · `0` · `None`

# %%
prediction = ...

with lab.record() as trace:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * x.detach()
    y.backward()

# %% [markdown]
# ## Step: where does the path end?
#
# First look for the place where `detach` makes a second tensor with the same value. Then the stepper asks which message
# each operand of the product gets. Type a number, or `None`.

# %%
lab.step(trace, predict="grad")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 8 minutes to here, 10 for the switches, 8 for the update, 6 for *Lost on the
# way*, 3 for the ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M16")` in place of *Predict*, `lab.classroom("M15")` before *The update*,
# `lab.classroom("M17")` before *Lost on the way*.
#
# *Stop at* step 2 of 17, where a second tensor with the same value appears, and at step 3 of 17: what does the
# node save, and how many of its edges lead on? *Expect* "an error", or 0. The sentence that helps: "`detach` cuts
# one value, not the program."
#
# *Short of time*: leave out *Modify*; exercise 07.3 has such a repair.

# %%
lab.reveal(prediction, x.grad, "07.c")
assert x.grad == 3

# %% [markdown]
# And if the *only* path is cut? Somebody writes about the next program that `z.grad_fn` is `AddBackward0`, and that
# `z.backward()` leaves a zero in `x.grad`. Is that so? **Predict**: the `grad_fn`, `"AddBackward0"` or `"None"`;
# the call, `"works"` or `"error"`; and `x.grad`, `"0"` or `"None"`.

# %%
prediction = [..., ..., ...]

with lab.record():
    x = torch.tensor(2.0, requires_grad=True)
    w = (x**3).detach()
    z = w + 2
    try:
        z.backward()
        call = "works"
    except RuntimeError as error:
        call, says = "error", error
if lab.reveal(prediction, [str(z.grad_fn), call, str(x.grad)], "07.d"):
    print(says, lab.why(x), sep="\n")

# %% [markdown]
# ## Switches: what does each one cut?
#
# Here are five switches, and a line without a switch. Each result is a tensor times 3, or what a layer computes from it.
# **Predict** for each: does the result require a gradient?

# %%
prediction = {"plain": ..., "detach": ..., "frozen": ..., "eval": ...}
prediction |= {"no_grad": ..., "enable_grad": ...}

assert (z.grad_fn, call, x.grad) == (None, "error", None)  # the program before
w = torch.tensor([2.0], requires_grad=True)
frozen = torch.tensor([2.0], requires_grad=True).requires_grad_(False)
layer = torch.nn.Linear(1, 1)
results = {"plain": w * 3, "detach": w.detach() * 3, "frozen": frozen * 3, "eval": layer.eval()(w)}
with torch.no_grad():
    results["no_grad"] = w * 3
    with torch.enable_grad():
        results["enable_grad"] = w * 3
lab.reveal(prediction, {switch: result.requires_grad for switch, result in results.items()}, "07.e")

# %% [markdown]
# What do the switches save? Five images run forward through two layers. Without a switch, the nodes keep 500 numbers
# for the way back. **Predict** how many they keep with `eval`, and how many under `no_grad`. No backward follows.
# With `eval`, what does the memory that saved values hold do over the steps: is it `"flat"`, does it grow and
# `"stay"`, or does it grow and `"shrink"`?

# %%
prediction = [..., ..., ...]

model = torch.nn.Sequential(torch.nn.Linear(64, 12), torch.nn.ReLU(), torch.nn.Linear(12, 10))


def kept(recording):
    with recording, lab.record() as trace:
        model(torch.ones(5, 64))
    tensors = {tensor for node in trace.nodes for _, tensor, _ in node["saved"]}
    return sum(math.prod(trace.tensors[tensor]["shape"]) for tensor in tensors), lab.cost(trace).held


plain, _ = kept(torch.enable_grad())
model.eval()
(with_eval, grown), (under_no_grad, flat) = kept(torch.enable_grad()), kept(torch.no_grad())
curve = "flat" if max(grown) == 0 else "stay" if grown[-1] == max(grown) else "shrink"
if lab.reveal(prediction, [with_eval, under_no_grad, curve], "07.f"):
    plots.memory({"eval": grown, "no_grad": flat})
assert plain == 500  # the images, 320, the hidden values, 60, and the weights of the second layer, 120

# %% [markdown]
# And what does freezing cut? Of two layers, the first learns, and the second is frozen. The gradient still flows
# *through* what is frozen.

# %%
first = torch.tensor(2.0, requires_grad=True)
frozen = torch.tensor(5.0, requires_grad=True).requires_grad_(False)
((first * 3) * frozen).backward()
print("first:", first.grad, " frozen:", frozen.grad)
assert first.grad == 15
assert frozen.grad is None

# %% [markdown]
# With `no_grad` around the frozen layer, or `detach` after it, `first` would get nothing. **Half done:** the state between
# the parameters `p` and `q` below is detached. Which of them gets a gradient? Answer with a list of
# names. **All yours:** and if nothing is detached, but the *second* product runs under `no_grad`?

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


lab.reveal(half, names_with_grad("detach"), "07.g")
lab.reveal(yours, names_with_grad("no_grad"), "07.h")

# %% [markdown]
# ## The update: is it still the parameter?
#
# A parameter moves against its gradient: `w` minus `0.1` times `w.grad`. Here are three ways to write it. The last one, with
# `-=`, writes **in place**: into the tensor that is there. A *second*
# training step works only with a leaf that requires a gradient. **Predict** for each: is it a leaf, and does it require a
# gradient?

# %%
prediction = {"w": [..., ...], "v": [..., ...], "u": [..., ...]}  # True or False


def parameter():
    w = torch.tensor(4.0, requires_grad=True)
    (w * w).backward()
    return w


w, v, u = parameter(), parameter(), parameter()
w = w - 0.1 * w.grad
with torch.no_grad():
    v = v - 0.1 * v.grad
    u -= 0.1 * u.grad
print(f"w = {w.item():.1f}, v = {v.item():.1f}, u = {u.item():.1f}")
now = {"w": w, "v": v, "u": u}
lab.reveal(prediction, {name: [t.is_leaf, t.requires_grad] for name, t in now.items()}, "07.i")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Expect* that they take all three for right, because all three have the same number in the
# end. The sentence that helps: "The right number, in the wrong tensor." Then *ask*: "Which of these tensors does
# the optimizer hold?"

# %% [markdown]
# The next cell takes a second step with one of the three:

# %%
u.grad = None
(u * u).backward()
with torch.no_grad():
    u -= 0.1 * u.grad
print(f"u after a second step: {u.item():.2f}")
assert [(t.is_leaf, t.requires_grad) for t in (w, v, u)] == [(False, True), (True, False), (True, True)]

# %% [markdown]
# ## Lost on the way: cuts by accident
#
# Some cuts happen by accident. Each of these four lines makes something out of `x`. **Predict** for each, with
# `True` or `False`: does the result require a gradient?

# %%
prediction = [..., ..., ..., ...]

with lab.record():
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    item = torch.tensor(x.sum().item()) * 2
    fresh = torch.tensor(x.tolist()).sum()
    best = x.argmax()
    rounded = x.round().sum()
answered = lab.reveal(prediction, [t.requires_grad for t in (item, fresh, best, rounded)], "07.j")

# %% [markdown]
# When you have answered, the lab tells you about the first of them:

# %%
assert rounded.requires_grad
if answered:
    print(lab.why("x", "item"))

# %% [markdown]
# ## Modify: find the cut, and mend it
#
# The loss below should be the mean of the squares of `x`. Its value is right, but `x.grad` is `None`. Where does the
# gradient get lost? Mend it, until the last line prints `tensor([1., 3.])`.

# %%
x = torch.tensor([1.0, 3.0], requires_grad=True)
loss = torch.tensor((x * x).mean().item(), requires_grad=True)
loss.backward()
print(x.grad)

# %% [markdown]
# ## Exit ticket: three cuts
#
# (1) You want predictions for a thousand images and no training. Which switch saves the memory: `"eval"` or
# `"no_grad"`? (2) `y = x * x.detach() + x` at `x = 3`: what is the gradient? (3) `k = torch.tensor(2.0)`, then
# `y = k * k`, and only then `k.requires_grad_()`. What is `y.requires_grad`?

# %%
switch, gradient, late = ..., ..., ...

x = torch.tensor(3.0, requires_grad=True)
(x * x.detach() + x).backward()
now, _ = kept(torch.enable_grad())  # model.eval() is still on
lab.reveal(switch, "no_grad" if now else "eval", "07.k")
lab.reveal(gradient, x.grad, "07.l")
k = torch.tensor(2.0)
y = k * k
k.requires_grad_()
lab.reveal(late, y.requires_grad, "07.m")

# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("07", seed=6)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# w = torch.tensor(4.0, requires_grad=True)
# (w * w).backward()
# with torch.no_grad():
#     w -= 0.25 * w.grad
# print(w.item())   # 2.0
# ```
#
# ## In five lines
#
# 1. Each switch cuts something different: a stretch of time, one value, one leaf, or nothing at all.
# 2. A gradient flows through what is frozen, and it stops at what is detached.
# 3. What runs while nothing is recorded leaves no way back.
# 4. Update a parameter in place, under `no_grad`. Then it stays the parameter.
# 5. A number that went through Python has lost its history.
#
# ![From the loss back through two layers. If the second layer is frozen, the gradient passes through it to the first. If the state between them is detached, it stops there. If nothing is recorded, it does not even set out.](pictures/07.svg)
#
# - [Exercises 07](../exercises/07_switching_it_off.ipynb)
# - [Next: 08 · Shapes](08_shapes.ipynb)
#
# The modes are in `autograd_lab/torchlike/autograd/modes.py`.
