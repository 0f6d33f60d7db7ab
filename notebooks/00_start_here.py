# ---
# jupyter:
#   autograd_lab:
#     id: "00"
#     minutes: 20
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
# **20 minutes. You need:** a little Python, and the chain rule, even if it is rusty.
#
# A small network, a program that has learned from examples, reads a handwritten **7**. You may make each of the
# picture's 64 pixels darker or lighter. **Which pixels do you change, so that the network reads a 3?** One call
# answers that for all 64 at once. In the next 20 minutes you train the network, you fool it, and you open the machine
# that gave the answer. Its name is *autograd*.
#
# Click into the cell below and press **Shift+Enter**. It trains the network while you wait. Do not try to
# understand its lines yet. You will write them yourself in the last notebooks.

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 5 minutes to the pictures, 5 for *Fool it*, 8 for the stepper, 2 for the ticket.
#
# *Ask* while the first cells run: who sees a percentage? Walk over to everybody who does not; that is what this
# notebook is for, and the only time in the course when an installation should cost minutes.
#
# *Expect* somebody who stops to read the training loop line by line. Say: "In the last notebook you write these
# lines. Today only the percentage counts."
#
# *Short of time*: leave out *Fool it* and go on at *Open the machine*; nothing below needs it.

# %%
import numpy

import autograd_lab as torch
from autograd_lab import datasets, lab

lab.level("simple")  # graph, code, sentence: more comes when it is needed

images, labels = datasets.digits()  # 8 x 8 pixels each, as 64 numbers: 0 is white, 1 is black
random = numpy.random.RandomState(0)
W1 = torch.tensor(random.randn(64, 20) / 8, requires_grad=True)
W2 = torch.tensor(random.randn(20, 10) / 4, requires_grad=True)
assert images.shape == (1797, 64)


def network(pixels):
    return torch.relu(pixels @ W1) @ W2  # ten scores, one for each digit


# %%
optimizer = torch.optim.SGD([W1, W2], lr=1.0)
for _ in range(100):
    optimizer.zero_grad()
    scores = network(torch.tensor(images[:600]))
    torch.nn.functional.cross_entropy(scores, torch.tensor(labels[:600])).backward()
    optimizer.step()

read = network(torch.tensor(images[600:])).argmax(1).numpy()
right = (read == labels[600:]).mean()
print(f"right on {right:.0%} of {len(read)} digits that it has never seen")
assert len(read) == 1197
assert right > 0.90

# %% [markdown]
# Do you see a percentage? Then the lab works. Here are four of those digits, and what the network reads.

# %%
from autograd_lab.course import plots


def reading(pixels):
    chances = network(torch.tensor(pixels)).softmax(0)
    return f"a {chances.argmax().item()}: {chances.max().item():.0%} sure"


def show(*pictures):
    plots.images(*pictures, titles=[reading(pixels) for pixels in pictures])


show(*images[600:604])

# %% [markdown]
# ## Fool it: which pixels count?
#
# Take the second digit, the 7. You want the network to read a **3**. Think of the pixels as 64 dials. Which ones
# would you turn up, and which ones down? You could try them one by one, but every try is a run of the network.
#
# One call, `backward()`, answers for all the dials at once. The answer is called the **gradient**. It says for each
# pixel: if this one gets a little darker, how fast does the chance of a 3 grow?

# %%
target = 3
pixels = torch.tensor(images[601], requires_grad=True)
network(pixels).softmax(0)[target].log().backward()

plots.images(images[601], pixels.grad, titles=["the 7", f"for a {target}: red darker,\nblue lighter"])

# %% [markdown]
# **Predict.** Now each pixel moves a little in the direction that its gradient says, again and again, until the
# network is 90 % sure that it reads a 3. White is 0, black is 1. How far has any pixel moved by then, at most?
#
# `0.96` · `0.64` · `0.32` · `0.16`
#
# Put your answer in place of the three dots, then run the cell. (While the dots are there, you can also click an
# answer below the cell.) A guess counts. If you commit to an answer first, you see more when you look, right or wrong.

# %%
prediction = ...

target = 3  # which digit it should read
start = images[601]  # any of images[0] to images[1796]

pixels = torch.tensor(start, requires_grad=True)
moved = 0.0
while moved < 2 and (chance := network(pixels).softmax(0)[target]) < 0.9:
    pixels.grad = None
    chance.log().backward()
    with torch.no_grad():
        pixels += 0.02 * pixels.grad.sign()
        pixels.clamp_(0, 1)
    moved += 0.02
if lab.reveal(prediction, round(moved, 2), "00.a"):
    show(start, pixels.detach().numpy())

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Ask* for a show of hands on the four distances before anybody runs the cell. *Expect*
# large ones, because a 7 and a 3 look so different.
#
# Afterwards, *expect* "then the network is bad". The sentence that helps: "64 small moves, each in the right
# direction, add up; and the gradient knew all 64 directions."
#
# *Time*: somebody who has begun to play does not stop. Promise the exploration for home and call them back after 3
# minutes.

# %% [markdown]
# **Play.** Change `target`, then the number in `start`, and run the cell again. Which digits turn into
# each other easily? Then let the network draw: `start = numpy.full(64, 0.01)` is an empty sheet. With
# `0.9999` in place of `0.9`, a `0`, a `4` and a `7` come out best.
#
# ## Open the machine: what is written down?
#
# How can one call answer for 64 dials, or for billions? It does not try them. It takes notes. A **tensor** is a number or a
# table of numbers. While your code runs, autograd writes down each **operation**, such as a sum, on a tensor that was made
# with `requires_grad=True`. Later `backward()` reads these notes in reverse. A formula with one dial is enough to see it.
#
# **Predict**: how many operations will autograd write down for the line `y = (2 * x + 1) ** 2`? `1` · `2` · `3` · `4`

# %%
prediction = ...


def formula(x):
    y = (2 * x + 1) ** 2
    return y


with lab.record() as trace:
    formula(torch.tensor(3.0, requires_grad=True))

operations = [node["name"] for node in trace.nodes if node["kind"] == "op"]
lab.reveal(prediction, len(operations), "00.b")

# %% [markdown]
# ## Step through one formula
#
# This is the **stepper**. It shows what was written down, one step at a time. Press **Step**. (Once you have clicked into
# the picture, the right arrow key does the same.) At each step look here:
#
# 1. **The code**: the line that is running is lit.
# 2. **The graph**: boxes are tensors, that is, values. Ellipses are **nodes**, one for each operation. (The
#    diamond waits for the way back. Leave it for now.)
# 3. **The sentence**: what just happened, with the numbers.
#
# Before the stepper shows a value, it asks you for it. Type your answer and press Enter.

# %%
stepper = lab.step(trace, predict="value")
stepper

# %% [markdown] tags=["instructor"]
# **For the instructor.** Press `P` and go to step 3 of 9. *Stop at* this step, and let three students point: one
# at the lit line, one at the new ellipse, one at the sentence. From then on everybody knows where to look for the
# rest of the course.
#
# *Expect* 7 or 49 for the first value: they compute the formula, not the operation. Say: "Inside out, one
# operation at a time, as Python does."
#
# Somebody asks about the diamond. Enough for now: "There the gradient of `x` will arrive. Nobody has gone back
# yet, so it is empty."

# %% [markdown]
# Now go the whole way, there and back, with the dial at 4. **Predict**: what is `y` there? And if `x` moves a
# little, how many times as far does `y` move? Put two numbers in place of the dots and run the cell. Then
# click on the value of `x` in the table at the lower right (`3 ✎`), type `4`, and press Enter. The formula
# runs again. Step to the end.

# %%
y_at_4, times_as_far = ..., ...

lab.step(formula, torch.tensor(3.0, requires_grad=True))

# %%
x = torch.tensor(4.0, requires_grad=True)
y = formula(x)
y.backward()

nudge = 0.001
measured = (formula(4 + nudge) - formula(4)) / nudge
if lab.reveal([y_at_4, times_as_far], [y, x.grad], "00.c"):
    print(f"measured: x moves by a thousandth, y by {measured:.3f} thousandths")

# %%
assert operations == ["MulBackward0", "AddBackward0", "PowBackward0"]
assert x.grad == 36
assert f"{measured:.3f}" == "36.004"

# %% [markdown]
# > **You may think** the stepper is an animation that somebody drew.
# >
# > **That is not what happens.** It replays the record of your own run. The engine that computed your result made
# > that record. Other code gives another picture.
# >
# > **Here it is**: the same formula, but now `x` is used twice.

# %%
with lab.record() as trace:
    x = torch.tensor(3.0, requires_grad=True)
    y = (x + x + 1) ** 2

lab.step(trace).last()

# %% [markdown]
# ## How the notebooks work
#
# You recall something from before, you **predict**, you **step**, and you explain in
# your own words. Then one example is worked out, one is half done, and one is all yours. After each answer a card says what
# happened, and why. *You may think* is followed by what most learners believe at first. Answer before you run, and
# run the cells in order.
#
# Are you lost? Choose *Kernel*, then *Restart Kernel and Run All Cells*. You cannot break anything: delete the file, start
# the lab again, and you get a fresh one.
#
# ## Exit ticket: one more line
#
# Answer from memory. `z = 5 * x - 2`: (1) How many operations are written down? (2) At `x = 3`, what is the gradient of
# `z` with respect to `x`?

# %%
how_many, gradient = ..., ...

x = torch.tensor(3.0, requires_grad=True)
with lab.record() as trace:
    z = 5 * x - 2
z.backward()
lab.reveal(how_many, sum(node["kind"] == "op" for node in trace.nodes), "00.d")
lab.reveal(gradient, x.grad, "00.e")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("00", seed=1)

# %% [markdown]
# ## The same in PyTorch
#
# PyTorch is the library that most people train networks with. The lab uses its names and works as it does, so autograd
# code runs there unchanged:
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
# ## In five lines
#
# 1. While your code runs, autograd writes down each operation on a tensor that requires a gradient.
# 2. `backward()` reads these notes in reverse.
# 3. A gradient says: when this dial moves a little, how many times as far does the result move?
# 4. One call answers that for every dial at once.
# 5. The stepper replays your own run. Other code gives another picture.
#
# ![Forward: x goes through a doubling, a sum and a square to y. Backward: from y the same way back to x.grad.](pictures/00.svg)
#
# - [Exercises 00](../exercises/00_start_here.ipynb)
# - [Next: 01 · Nudge and measure](01_nudge_and_measure.ipynb)
#
# Each operation is a class in `autograd_lab/core/rules/arithmetic.py`: what it computes, and how a gradient goes back.
