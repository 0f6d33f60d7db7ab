# ---
# jupyter:
#   autograd_lab:
#     id: "00"
#     minutes: 15
#     needs: []
#     goals:
#       - run the lab and know that it works
#       - read the stepper, the graph, the code line and the sentence, at any step
#       - make a prediction, check it, and say why it was right or wrong
#     refutes: []
#     retests: []
#     points: 0
# ---

# %% [markdown]
# # 00 · Start here
#
# **15 minutes. You need:** a little Python, and the chain rule, even if it is rusty.
#
# Training a neural network takes gradients of programs with millions of numbers in them. A small, exact
# machine does it, called *autograd*. In these notebooks you watch that machine work, one step at a
# time, on your own code. By the end of the series you will have written one.
#
# **After this notebook you can**
#
# - run the lab and know that it works;
# - read the stepper at any step: the graph, the line of code, the sentence;
# - make a prediction, check it, and say why it was right or wrong.
#
# Put the cursor in the cell below and press **Shift+Enter**. That runs the cell and moves on to the
# next one.

# %%
import autograd_lab as torch
from autograd_lab import lab

x = torch.tensor(2.0, requires_grad=True)
y = (2 * x + 1) ** 2
y

# %% [markdown]
# The lab works if you see `tensor(25., grad_fn=<PowBackward0>)`. The value is what you expect from
# school: $(2 \cdot 2 + 1)^2 = 25$. The second part is new. `y` does not only know its value, it knows
# *how it was made*. That knowledge is what this series is about.
#
# The first line of the cell says `as torch` because the lab uses PyTorch's names and follows PyTorch's
# rules. With `import torch` in its place, the same autograd code runs in PyTorch unchanged.
#
# ## Predict
#
# The line `y = (2 * x + 1) ** 2` is one line of Python. How many **operations** does autograd record
# for it?
#
# `1` · `2` · `3` · `4`
#
# Replace the three dots by your answer and run both cells. A guess counts. People who commit to an
# answer first see more when they look, whether they were right or wrong.

# %%
prediction = ...

# %%
with lab.record() as trace:
    y = (2 * x + 1) ** 2

operations = [node for node in trace.nodes if node["kind"] == "op"]
lab.reveal(prediction, len(operations))

# %% [markdown]
# `lab.record()` keeps a record of everything that runs inside it. Nothing is simulated: what you see
# next is what the engine did.
#
# ## Step
#
# Run the next cell and use the buttons: **First**, **Step back**, **Step**, **Play**, **Last**. The
# arrow keys work as well, once you have clicked into the picture. Go slowly, and at each step look at
# three things.
#
# 1. **The code.** The line that is running is lit.
# 2. **The graph.** Boxes are tensors, the values. Ellipses are the operations that made them. One
#    appears each time the code computes something. (The diamond waits for the way back. Leave it for
#    now.)
# 3. **The sentence.** It says what just happened, with the numbers.
#
# Stop before each new operation and say aloud which one comes next. (*Page Down* goes on by a whole
# node.)

# %%
stepper = lab.step(trace)
stepper

# %% [markdown]
# Python works from the inside out: first `2 * x`, then `+ 1`, then `** 2`. Three operations, three
# nodes. So the numbers that appeared on the way were 4, 5 and 25.
#
# Each button has a twin in Python. That is handy in a talk, or when you want to keep a step in your
# notes.

# %%
stepper.goto(8)
print(stepper.narration)

# %%
print([node["name"] for node in operations])
assert len(operations) == 3
assert y.item() == 25

# %% [markdown]
# ## Change something
#
# A picture you only look at is soon forgotten. So change the code. In the next cell, `x` is 3. **Which
# value will `y` have?** Fill in your prediction, then run the cell.

# %%
my_y = ...

x = torch.tensor(3.0, requires_grad=True)
y = (2 * x + 1) ** 2
lab.reveal(my_y, y)

# %% [markdown]
# ## What the record is good for
#
# Because `y` knows how it was made, one call can go back through the operations and answer a question
# that matters: *if `x` moves a little, how much does `y` move?* That number is the **gradient** of `y`
# with respect to `x`.
#
# At $x = 3$ the chain rule gives $2 \cdot (2x + 1) \cdot 2 = 28$. Autograd must agree, and so must the
# simplest test there is: nudge `x` by a thousandth and measure.

# %%
x = torch.tensor(3.0, requires_grad=True)
y = (2 * x + 1) ** 2
y.backward()
print("autograd:", x.grad)

nudge = 0.001
slope = ((2 * (3 + nudge) + 1) ** 2 - (2 * 3 + 1) ** 2) / nudge
print("by nudging:", round(slope, 3))
assert x.grad == 28
assert round(slope - 28, 3) == 0.004

# %% [markdown]
# The two differ by 0.004. Why do they differ at all, and which one is right? Notebook 01 is about that.
# How one call finds the gradient of *everything* at once is the subject of notebook 04.
#
# > **You may think** the picture is an animation that somebody drew of autograd.
# >
# > **That is not what happens.** The stepper replays the record of your own run, made by the engine
# > that computed your result. Change the code, record it again, and the picture changes with it.
# >
# > **Here it is**: the same formula with `x` used twice, and a different graph.

# %%
with lab.record() as trace:
    y = (x + x + 1) ** 2

lab.step(trace).last()

# %% [markdown]
# ## How the notebooks work
#
# Every notebook has the same rhythm. You recall something from before, **predict**, **step**, explain
# in your own words, then do a little more each time: one example worked out, one half done, one that is
# all yours. The boxes with *You may think* take up what most learners believe at first, and show what
# happens instead.
#
# Three rules make it work:
#
# - Answer before you run. A wrong prediction teaches more than a right line that you only read.
# - Run the cells in order. If you get lost: *Kernel*, then *Restart Kernel and Run All Cells*.
# - Change things. You cannot break anything; deleting the file and starting the lab again brings a
#   fresh one.
#
# ## Exit ticket
#
# Two questions, from memory. Answer them and run the cell.
#
# 1. `z = 5 * x - 2`: how many operations are recorded?
# 2. At $x = 3$, what is the gradient of `z` with respect to `x`?

# %%
how_many, gradient = ..., ...

x = torch.tensor(3.0, requires_grad=True)
with lab.record() as trace:
    z = 5 * x - 2
z.backward()

operations = [node for node in trace.nodes if node["kind"] == "op"]
lab.reveal(how_many, len(operations))
lab.reveal(gradient, x.grad)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.tensor(3.0, requires_grad=True)
# y = (2 * x + 1) ** 2
# y.backward()
# print(y, x.grad)   # tensor(49., grad_fn=<PowBackward0>) tensor(28.)
# ```
#
# **Where in the source?** `autograd_lab/tensor.py`: each operation is one line that names its rule.
# Type `torch.Tensor??` into a cell to read it. **Next:** notebook 01, *Nudge and measure*.
