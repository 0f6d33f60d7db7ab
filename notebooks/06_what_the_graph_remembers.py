# ---
# jupyter:
#   autograd_lab:
#     id: "06"
#     minutes: 35
#     needs: ["03", "05"]
#     goals:
#       - say which numbers of the forward run a node keeps, and until when
#       - explain the error of a second backward, and decide whether retain_graph is the cure
#       - tell retain_graph, retain_grad and create_graph apart
#     refutes: [M12, M13, M14]
#     retests: [M02, M08]
#     points: 0
# ---

# %% [markdown]
# # 06 · What the graph remembers
#
# **35 minutes. You need:** notebooks 03 and 05.
#
# A network reads a sequence, word by word. It carries a number `h`, its *state*, from word to word:
#
# ```python
# for x in sequence:
#     h = torch.tanh(w * h + x)
#     h.backward()     # at the second word: Trying to backward through the graph a second time
# ```
#
# Somebody adds `retain_graph=True`, and the error is gone. **Is the program correct now?**
#
# **Warm-up**, from memory. (1) `x` is 2, and `(x * x).backward()` runs three times. What does `x.grad` hold?
# (2) Which of these must remember operands for the way back: `"a + b"` or `"a * b"`?

# %%
held, remembers = ..., ...  # fill in, then run

from itertools import pairwise

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.course import plots

lab.level("saved")  # with the saved values

x = torch.tensor(2.0, requires_grad=True)
for _ in range(3):
    (x * x).backward()
lab.reveal(held, x.grad, "06.a")
a, b = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
results = {"a + b": a + b, "a * b": a * b}
saver = next(name for name in results if hasattr(results[name].grad_fn, "_saved_self"))
lab.reveal(remembers, saver, "06.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 10 minutes to the edges, 7 for *Who saves what?*, 9 for the three
# switches, 7 for *The charm*, 2 for the ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M12")` in place of *Predict*, `lab.classroom("M13")` before *Three switches with similar
# names*, `lab.classroom("M14")` before *The charm*.
#
# *Short of time*: leave out *Modify* and the hand calculations before *The charm*.

# %% [markdown]
# ## Predict: which second call fails?
#
# Here are two programs. Each computes `y` from `a = 3` and calls `y.backward()` **twice**. One has `y = a + a`, the sum. The
# other has `y = a * a`, the product. Which of them fails at the second call: `"sum"`, `"product"`, `"both"` or
# `"neither"`?

# %%
prediction = ...


def fails_twice(y):
    y.backward()
    try:
        y.backward()
        return False
    except RuntimeError:
        return True


with lab.record() as trace:
    a = torch.tensor(3.0, requires_grad=True)
    fails = {"sum": fails_twice(a + a)}
    fails["product"] = fails_twice(a * a)

# %% [markdown]
# ## Step: what is saved, and when is it gone?
#
# The stepper has all four calls. Before each call it asks you: will there be an error? Answer, and go on with **Step**.
# Watch the line **Saved**: when does something appear there, and when is it gone? At the last step, read why
# the engine stops.

# %%
lab.step(trace, predict="error")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 2 of 50, the sum saves nothing, and at step 29 of 50, the product saves
# `a` twice. *Ask* there, with two passes still to come: "Which of the two calls can fail, and what will be
# missing?"
#
# *Expect* "the graph is gone". The sentence that helps: "The nodes are all still there. Their pockets are empty."

# %%
failed = [name for name in fails if fails[name]]
lab.reveal(prediction, failed[0] if len(failed) == 1 else "both" if failed else "neither", "06.c")
assert failed == ["product"]

# %% [markdown]
# What is left after a pass? **Predict** how many edges the node of `y = a * a` has, at two moments: before any call of
# backward, and after the first call.

# %%
prediction = [..., ...]

y = a * a
edges = [len(y.grad_fn.next_functions)]
y.backward()
edges.append(len(y.grad_fn.next_functions))
lab.reveal(prediction, edges, "06.d")
with lab.expect(RuntimeError, "after they have already been freed"):
    y.grad_fn._saved_self

# %% [markdown]
# ## Who saves what?
#
# **Predict**: for each line, how many tensors does its node save? `x` is a matrix
# that does not require a gradient, `w` and `b` do.

# %%
prediction = [..., ..., ..., ..., ...]  # for p, s, r, e, m

x = torch.ones(3, 4)
w = torch.full((4, 2), 0.5, requires_grad=True)
b = torch.zeros(2, requires_grad=True)
with lab.record() as trace:
    p = x @ w
    s = p + b
    r = torch.relu(s)
    e = torch.exp(r)
    m = e * 3
saved = [len(node["saved"]) for node in trace.nodes if node["kind"] == "op"]
answered = lab.reveal(prediction, saved, "06.e")

# %%
for node in trace.nodes if answered else ():
    for name, tensor, _ in node["saved"]:
        what = trace.tensors[tensor]
        print(f"{node['name']:14} saves {name:7} {what['name']}, shape {what['shape']}")
assert saved == [1, 0, 1, 1, 1]
assert edges == [2, 2]  # above: the forward run made them, and they stay

# %% [markdown]
# In forward, the memory that saved values hold grows step by step. **Predict** what it does in backward: it
# `"stays"`, it `"shrinks"` from node to node, or it `"drops"` as a whole.

# %%
prediction = ...

with lab.record() as trace:
    torch.exp(torch.tanh(torch.relu(x @ w + b))).sum().backward()
cost = lab.cost(trace)
falls = sum(now < before for before, now in pairwise(cost.held))
curve = "stays" if cost.held[-1] else "shrinks" if falls > 1 else "drops"
if lab.reveal(prediction, curve, "06.m"):
    plots.memory({"saved values": cost.held})
    print(cost)

# %% [markdown]
# ## Three switches with similar names
#
# | switch | keeps |
# |---|---|
# | `y.backward(retain_graph=True)` | the **saved values**, so that backward can run again |
# | `h.retain_grad()` | the **gradient** of a tensor that is not a leaf |
# | `y.backward(create_graph=True)` | a **record of backward itself**, so that gradients can be differentiated |
#
# You may read this advice: "To see the gradient of `h`, call `h.backward(retain_graph=True)` first." **Predict** `h.grad`, a
# number or `"None"`, and `a.grad`: first with that call, then with `retain_grad`.

# %%
with_extra_call, with_retain_grad = [..., ...], [..., ...]  # h.grad and a.grad

assert falls == 3
import warnings

a = torch.tensor(3.0, requires_grad=True)
h = a * 2
h.backward(retain_graph=True)
(h * h).backward()
with warnings.catch_warnings(action="ignore"):  # a warning would tell you
    lab.reveal(with_extra_call, [str(h.grad), a.grad], "06.f")
extra, a.grad, h = a.grad, None, a * 2
h.retain_grad()
(h * h).backward()
lab.reveal(with_retain_grad, [h.grad, a.grad], "06.g")

# %%
assert (h.grad, a.grad, extra) == (12, 24, 26)  # the extra call has added 2

# %% [markdown]
# **Worked.** When do you need `retain_graph`? When you call backward from two places that share a part of the graph, and
# that part has saved values. Below, `first` and `second` both use `h`, and both need what its node saved.

# %%
a = torch.tensor(2.0, requires_grad=True)
h = a * a
first, second = h * 3, h * 5
first.backward(retain_graph=True)
second.backward()
print(a.grad)
assert a.grad == 32  # 3 * 2a + 5 * 2a

# %% [markdown]
# **Half done.** One call could have done the same, without keeping anything: `(first + second).backward()`.
# What would `a.grad` be? **All yours:** suppose that you leave out `retain_graph=True` above. At which node does the
# second pass stop, at the node of `"second"` or of `"h"`?

# %%
half, yours = ..., ...

a = torch.tensor(2.0, requires_grad=True)
h = a * a
(h * 3 + h * 5).backward()
lab.reveal(half, a.grad, "06.h")

h = a * a
first, second = h * 3, h * 5
first.backward()
with lab.record() as trace, lab.expect(RuntimeError, "second time"):
    second.backward()
where = next(event["n"] for event in trace.events if event["k"] == "error")
edges_to_leaf = sum(to is not None for to in trace.nodes[where]["edges"])
lab.reveal(yours, "h" if edges_to_leaf == 2 else "second", "06.i")

# %% [markdown]
# ## The charm: `retain_graph` in a loop
#
# A loop carries a state `h` from turn to turn. The second turn fails with the error from the top. The message
# suggests `retain_graph=True`, and with it the error is gone, as if by a charm. **Predict**: compare the backward
# passes of turn 5 and of turn 1, with the charm. How many times as many nodes does the pass of turn 5 visit?

# %%
times_as_many = ...

w = torch.tensor(0.9, requires_grad=True)


def visited(turns, cut):
    h, sizes = torch.tensor(1.0), []
    for _ in range(turns):
        h = h.detach() if cut else h
        h = h * w
        with lab.record() as trace:
            h.backward(retain_graph=True)
        sizes.append(sum(event["k"] == "vjp" for event in trace.events))
    return sizes


charm = visited(5, cut=False)
answered = lab.reveal(times_as_many, charm[4] / charm[0], "06.j")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Expect* "but the message itself says `retain_graph`". The sentence that helps: "A
# message says what is missing. It cannot know what you meant. Why should turn 2 need anything of turn 1?"
#
# *Ask* who has met this error in code of their own, and what they did. It is the most copied line of this course.

# %% [markdown]
# Here is the cure. Cut the state loose where a turn begins, with `h.detach()`:

# %%
cured = visited(5, cut=True)
if answered:
    print("nodes per turn with the charm:", charm)
print("nodes per turn with detach:   ", cured)
assert charm == [1, 2, 3, 4, 5]
assert cured == [1, 1, 1, 1, 1]

# %% [markdown]
# ## Modify: take the charm away
#
# In `visited`, delete `retain_graph=True`. **Predict** first which of the two loops still works. Then run that cell
# (it calls the loop without `detach`) and the one below it (with `detach`). Say why in one sentence.
#
# ## Exit ticket: one call, one switch
#
# (1) `y = torch.exp(a)`, then `y.backward()` twice: does the second call fail? (2) Which switch do you need to
# read the gradient of a tensor in the middle: `"retain_graph"`, `"retain_grad"` or `"create_graph"`?

# %%
second_fails, switch = ..., ...

lab.reveal(second_fails, fails_twice(torch.exp(a)), "06.k")
names = ("retain_graph", "retain_grad", "create_graph")
found = next(name for name in names if hasattr(a, name))  # the others are flags of backward
lab.reveal(switch, found, "06.l")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("06", seed=2)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# a = torch.tensor(3.0, requires_grad=True)
# y = a.sin()
# y.backward()
# y.backward()   # RuntimeError: Trying to backward through the graph a second time ...
# ```
#
# ## In five lines
#
# 1. A node saves the numbers that its rule needs, when the node is made.
# 2. When its rule has run, backward drops them. The graph stays.
# 3. A second backward stops at the first node that needs what is gone.
# 4. Saved values, a gradient in the middle, a record of backward: each has a switch of its own.
# 5. A state that goes from turn to turn needs `detach`, not `retain_graph`.
#
# ![A node with a pocket. Forward fills the pocket, the first backward empties it, and the second backward finds nothing in it.](pictures/06.svg)
#
# - [Exercises 06](../exercises/06_what_the_graph_remembers.ipynb). The last one completes your engine: it keeps what reaches a leaf.
# - [Next: 07 · Switching it off](07_switching_it_off.ipynb)
