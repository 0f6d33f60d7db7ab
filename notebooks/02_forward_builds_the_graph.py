# ---
# jupyter:
#   autograd_lab:
#     id: "02"
#     minutes: 40
#     needs: ["00", "01"]
#     goals:
#       - name the nodes, edges and leaves of a graph, and say which line of code made each
#       - say what is recorded, when, and what leaves no record
#       - predict the graph of code with branches and loops
#     refutes: [M02, M03, M04, M05, M27]
#     retests: []
#     points: 0
# ---

# %% [markdown]
# # 02 · Forward builds the graph
#
# **40 minutes. You need:** notebooks 00 and 01.
#
# You never draw a graph. But `backward()` walks through one, even when your code has loops and branches. **When is
# that graph made: while your code runs, or when you call `backward`?** And which parts of your code are not in it?
#
# **Warm-up**, from memory. (1) `y = (2 * x + 1) ** 2`: what is the name of the node that `y` came from? (Write it as the
# stepper shows it.) (2) Nudge `x` from `3` to `3.001`: by how much does `x * x` grow, to three decimals?

# %%
name, growth = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.level("rules")  # with the rule of each node

x = torch.tensor(3.0, requires_grad=True)
lab.reveal(name, ((2 * x + 1) ** 2).grad_fn.name(), "02.a")
lab.reveal(growth, round(3.001 * 3.001 - 3 * 3, 3), "02.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 10 minutes to *Step*, 15 for stepper and edges, 7 for what leaves
# no record, 8 for loop, *Make* and ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M02")` in place of *Predict*, `lab.classroom("M03")` and `lab.classroom("M04")` after
# *Half done*, `lab.classroom("M05")` before *What leaves no record*. `lab.classroom("M27")` is best kept for the
# beginning of the next session.
#
# *Short of time*: leave out *Make*; exercise 02.4 asks for it again. Keep the loop: that each run builds its own
# graph is what all later debugging rests on.

# %% [markdown]
# ## Predict: what is there before `backward`?
#
# The attribute `grad_fn` of a tensor is the node that the tensor came from, if there is one. Below, `a` requires a gradient.
# The cell computes `b = a * a`. It does **not** call `backward`. What is `b.grad_fn` afterwards?
#
# `"None"` · `"MulBackward0"` · `"AccumulateGrad"` · `"an error"`

# %%
prediction = ...

a = torch.tensor(3.0, requires_grad=True)
b = a * a
answered = lab.reveal(prediction, b.grad_fn.name() if b.grad_fn else "None", "02.c")

# %% [markdown]
# The next cell draws the graph of `b`. It waits until you have answered: run it again then.

# %%
assert b.grad_fn.name() == "MulBackward0"
assert not torch.is_anomaly_enabled()
lab.draw(b, params={"a": a}) if answered else None

# %% [markdown]
# ## Step: which node does a line leave?
#
# Now there are three lines. `k` is a plain number in a tensor: nobody asked for its gradient. Step slowly. For
# each line, say before you press **Step**: which node will appear, and what will it be connected to?

# %%
k = torch.tensor(5.0)

with lab.record() as trace:
    b = a * a
    c = b * k
    d = c + a

lab.step(trace)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 4 of 10 and *ask*: "Two operands, two edges. How many mailboxes?" Then at
# step 6 of 10, before the edges of the second product come: "What will be in its second place?"
#
# *Expect* arrows in the direction of the data, from `a` to `b`, in their own drawings. The sentence that helps:
# "An edge is the way a gradient *will* travel, so it points back."
#
# A student who knows other pages calls the operations edges. That is a convention too, but not the one Python
# shows here; let them print `next_functions`.

# %% [markdown]
# **The words.** An operation leaves a **node**, and the result's `grad_fn` is this node. A node has one
# **edge** for each operand. The edge leads back, to the node that made the operand: a gradient will travel along it.
# A tensor that no recorded operation made is a **leaf**. If a leaf requires a gradient, an edge to it ends in a small
# node called `AccumulateGrad`. It is the **mailbox** of that leaf, also called its **accumulator**. What a recorded
# operation made has a **history**: all the nodes behind it. A leaf has no history.
#
# Some pages draw it the other way round, with operations as edges between tensors. In PyTorch an
# operation is a node. Python shows its edges as `next_functions`: pairs of a node and a number. (The number says
# which output of that node is meant. Here it is always 0.)
#
# **Worked example**: the edges of `d = c + a`.


# %%
def edges(tensor):
    """The names of the nodes that a tensor's node leads to, one for each operand."""
    nodes = [node for node, _ in tensor.grad_fn.next_functions]
    return ["None" if node is None else node.name().split("::")[-1] for node in nodes]


print(edges(d))  # c was made by a multiplication; a is a leaf
assert edges(d) == ["MulBackward0", "AccumulateGrad"]

# %% [markdown]
# **Half done**: `c = b * k`. The first edge leads to the node of `b`. What is in the second place?
# **All yours**: the two edges of `a * a`, and the two of `k - b`.

# %%
second_of_c = ...  # "MulBackward0", "AccumulateGrad" or "None"?
both_of_square = ...  # a list of two names
both_of_difference = ...

# %%
lab.reveal(second_of_c, edges(c)[1], "02.d")
lab.reveal(both_of_square, edges(a * a), "02.e")
lab.reveal(both_of_difference, edges(k - b), "02.f")

# %% [markdown]
# Do both edges of `a * a` lead to the same node? Ask Python:

# %%
b = a * a
c = b * k
c.backward()
assert c.grad_fn.next_functions[1] == (None, 0)
assert (b + 3).grad_fn.next_functions[1] == (None, 0)  # a plain number is a constant, too
assert k.grad is None

(left, _), (right, _) = b.grad_fn.next_functions
print("same node:", left is right, "| its leaf is a:", left.variable is a)
assert left is right
assert left.variable is a

# %% [markdown]
# ## What leaves no record
#
# An operation is recorded when it runs, or never. **Predict**: will `y` require a gradient?

# %%
prediction = ...  # True or False; fill in, then run

x = torch.tensor(4.0)
y = x * x
x.requires_grad_()
lab.reveal(prediction, y.requires_grad, "02.g")

# %% [markdown]
# > **You may think** any tensor can require a gradient.
# >
# > **That is not what happens.** A gradient asks for a *small* change, and between two integers there
# > is none.
# >
# > **Here it is**: an integer tensor that asks for a gradient.

# %%
assert y.grad_fn is None
assert (x * x).grad_fn is not None

with lab.expect(RuntimeError, "floating point"):
    torch.tensor([1, 2], requires_grad=True)

# %% [markdown]
# ## The code that runs is the graph
#
# `if` and `while` make no nodes. They decide which operations run, and those are recorded. So each call can build a
# different graph. **Predict**: how many multiplications does `grow` record for `2`, and how many for `20`?
#
# `[1, 1]` · `[3, 1]` · `[3, 3]` · `[4, 2]`

# %%
prediction = ...


def grow(x):
    while x < 50:
        x = x * 3
    return x


start = torch.tensor(2.0, requires_grad=True)
with lab.record() as long:
    result = grow(start)
with lab.record() as short:
    grow(torch.tensor(20.0, requires_grad=True))
counts = [sum(node["op"] == "mul" for node in trace.nodes) for trace in (long, short)]
answered = lab.reveal(prediction, counts, "02.h")

# %%
start = torch.tensor(2.0, requires_grad=True)
result = grow(start)
result.backward()
if answered:
    print("from 2:", result.item(), "with the gradient", start.grad)
assert counts == [3, 1]
assert result.item() == 54
assert start.grad == 27

# %% [markdown]
# ## Make: write code for a given graph
#
# Here is a printer of graphs. It walks from node to node. (On many pages you find one that walks from tensor to tensor
# and asks each *node* for its `grad_fn`. A node has none.) Change the last line of the cell until it prints this:
#
# ```
# AddBackward0
#   MulBackward0
#     AccumulateGrad
#     None
#   MulBackward0
#     AccumulateGrad
#     AccumulateGrad
# ```


# %%
def print_graph(node, depth=0):
    print("  " * depth + (node.name().split("::")[-1] if node else "None"))
    for child, _ in node.next_functions if node else ():
        print_graph(child, depth + 1)


with lab.expect(AttributeError, "grad_fn"):
    d.grad_fn.grad_fn

print_graph((a + k).grad_fn)  # <- change this expression

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Expect* two mistakes: `(a * a + a * k)`, the right graph in the wrong order (the edges
# come in the order of the operands), and `k * a`, which puts the `None` first. Both are good news: they read the
# graph. "Which operand is your first line about?"
#
# *Time*: 4 minutes; then show one solution on the projector, and ask for a second expression with the same graph.

# %% [markdown]
# ## Exit ticket: nodes and edges
#
# `p = torch.tensor(7.0)`, `q = torch.tensor(2.0, requires_grad=True)` and `r = (p * p) * q`.
#
# 1. How many nodes does the graph of `r` have, with `r.grad_fn` and the mailboxes?
# 2. What are the two edges of `r.grad_fn`?

# %%
how_many, two_edges = ..., ...

p, q = torch.tensor(7.0), torch.tensor(2.0, requires_grad=True)
with lab.record() as trace:
    r = (p * p) * q
lab.reveal(how_many, len(trace.nodes), "02.i")
lab.reveal(two_edges, edges(r), "02.j")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("02", seed=7)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# a, k = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0)
# d = (a + 1) * k + a
# print(d.grad_fn)                    # <AddBackward0 object at ...>
# print(d.grad_fn.next_functions)     # ((<MulBackward0 object at ...>, 0), (<AccumulateGrad object at ...>, 0))
# ```
#
# ## In five lines
#
# 1. An operation records itself while it runs. `backward()` builds nothing.
# 2. An operation is a node. Its edges lead back, to the nodes that made its operands.
# 3. A leaf that requires a gradient has one mailbox, `AccumulateGrad`, no matter how often you use it.
# 4. An edge to a constant is a dead end: there is nothing to send.
# 5. Loops and branches make no nodes. Only the operations that ran are in the graph.
#
# ![A node for each line of code: s = p + q leads to the node of p and to the mailbox of q; p = q * r leads to the mailboxes of q and of r.](pictures/02.svg)
#
# - [Exercises 02](../exercises/02_forward_builds_the_graph.ipynb). The last one begins an engine of your own: it records.
# - [Next: 03 · One node, one rule](03_one_node_one_rule.ipynb)
#
# `autograd_lab/core/node.py`: a node and its edges.
