# ---
# jupyter:
#   autograd_lab:
#     id: "01"
#     minutes: 30
#     needs: ["00"]
#     goals:
#       - say what a derivative tells about a program, and measure one by nudging
#       - choose the size of a nudge, and explain both ways in which it can go wrong
#       - tell three things apart that give derivatives - differences, formulas, autograd
#     refutes: [M01]
#     retests: []
#     points: 0
# ---

# %% [markdown]
# # 01 · Nudge and measure
#
# **30 minutes. You need:** notebook 00.
#
# This program has no formula:
#
# ```python
# guess = a
# for _ in range(6):
#     guess = (guess + a / guess) / 2     # closer and closer to the square root of a
# ```
#
# **How fast does the result move when `a` moves?** You can measure it with a nudge. You will see where measuring
# fails, and how autograd works without a nudge.
#
# **Warm-up**, from memory. (1) How many operations does autograd record for `(x + 1) * 3`? (2) `y` was computed from an
# `x` with `requires_grad=True`. What does `y` know besides its value: `"its gradient"` or `"how it was made"`?

# %%
operations, knows = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.level("simple")  # graph, code, sentence: more comes when it is needed

x = torch.tensor(2.0, requires_grad=True)
with lab.record() as trace:
    y = (x + 1) * 3
lab.reveal(operations, sum(node["kind"] == "op" for node in trace.nodes), "01.a")
lab.reveal(knows, "how it was made" if y.grad_fn else "its gradient", "01.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 12 minutes to the two valleys, 6 for the hand calculations, 8 for stepper and
# loop, 4 for cost and ticket.
#
# *Ask* `lab.classroom("M01")` before the notebook is opened. *Expect* that they say 6 for both: a small
# enough `h` must be exact, they think. Show the truth, but do not explain it: *Predict* is the same surprise, and
# the picture after it is the explanation.
#
# *Short of time*: leave out *Modify*; exercise 01.1 asks for the best nudge as well.

# %% [markdown]
# ## A derivative is something you can measure
#
# Turn a dial a little and watch the needle. If the needle moves twelve times as far as the dial, the
# **derivative** is 12. It is also called the slope. You need no formula for it, only a nudge `h`, and a run of the program
# before and after it:


# %%
def f(x):
    return x**3


def forward_difference(f, x, h):
    return (f(x + h) - f(x)) / h


for h in (1.0, 0.1, 0.01):
    print(f"h = {h:<5g} slope = {forward_difference(f, 2.0, h):.4f}")
assert round(forward_difference(f, 2.0, 1.0)) == 19

# %% [markdown]
# The true slope of $x^3$ at 2 is $3 \cdot 2^2 = 12$. A nudge of 1 says 19. A smaller nudge does better.
#
# ## Predict: how small a nudge?
#
# Python's numbers hold about sixteen digits. With which `h` does `forward_difference` come **nearest**
# to 12?
#
# `1e-3` · `1e-8` · `1e-12` · `1e-16`

# %%
prediction = ...


def error(h):
    return abs(forward_difference(f, 2.0, h) - 12)


best = min((1e-3, 1e-8, 1e-12, 1e-16), key=error)
answered = lab.reveal(prediction, best, "01.c")

# %% [markdown]
# When you have answered, the next cell shows all sizes. First draw the curve that you expect on a sheet of paper: the
# error over `h`, both on logarithmic scales.

# %%
from autograd_lab.course import plots


def central_difference(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


sizes = [10.0**-k for k in range(1, 16)]
errors = {
    method.__name__: [max(abs(method(f, 2.0, h) - 12), 1e-13) for h in sizes]
    for method in (forward_difference, central_difference)
}
if answered:
    plots.curves(errors, x=sizes, xlabel="nudge h", ylabel="error", log="xy")
assert best == 1e-8
assert forward_difference(f, 2.0, 1e-16) == 0

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Ask* for the paper before you show the picture: "Hold up the curve you drew." *Expect*
# curves that go down to the left for ever.
#
# "Smaller is always better", they say. Write $(2 + h)^3$ for a tiny `h` under $2^3$ on the board, `8.000000012`
# under `8.000000000`, and strike out the digits that agree. "This is what is left to divide. How many digits of
# it are true?"
#
# *Stop at* the left slope: it is ragged, the right one is straight. Bending is lawful, rounding is not.

# %% [markdown]
# The plot has two valleys. Two things go wrong, and they pull in opposite directions.
#
# - **On the right** the nudge is too large. The curve bends between `x` and `x + h`, and you measure the slope
#   somewhere in between. Halve `h`, and you halve the error.
# - **On the left** the nudge is too small. `f(x + h)` and `f(x)` agree in nearly all their digits, and
#   the subtraction throws those away. What is left is mostly rounding, and you divide it by `h`.
#
# The second curve, `central_difference`, looks to both sides of `x`. The bend to the left and the bend to
# the right cancel. So its error falls with the *square* of `h`, and its valley is deeper. Why does its lowest point lie
# further to the right? Say it in one sentence.
#
# **Worked.** The forward difference of $x^2$ at 3 with `h = 0.5` is $(3.5^2 - 3^2) / 0.5 = 6.5$. The slope is 6.
#
# **Half done.** With `h = 0.1`, what does each method say for $x^2$ at 3? Expand $(3 + h)^2$ and
# $(3 - h)^2$ by hand. **All yours:** what does the central difference say for $x^3$ at 2, with `h = 0.1`?

# %%
square_forward, square_central, cube_central = ..., ..., ...

assert forward_difference(lambda x: x**2, 3.0, 0.5) == (3.5**2 - 9) / 0.5 == 6.5
lab.reveal(square_forward, forward_difference(lambda x: x**2, 3.0, 0.1), "01.d")
lab.reveal(square_central, central_difference(lambda x: x**2, 3.0, 0.1), "01.e")
lab.reveal(cube_central, central_difference(f, 2.0, 0.1), "01.f")

# %% [markdown]
# ## Step: where is the nudge?
#
# Now let autograd do it, for the same $x^3$. The stepper asks before it shows. When it asks what goes to `x`, use what
# you have measured. (Its last question, about `y.grad`, is one for notebook 05: press **Show me**.) And watch
# for an `h`: where is the nudge?

# %%
with lab.record() as trace:
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    y.backward()
lab.step(trace, predict=True)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 8 of 15, just before the rule is applied, with the curtain down (`C`).
# *Ask*: "You measured 12.0601 with a nudge of a hundredth. What will it send, and where is the nudge?" Lift the
# curtain at step 9 of 15 and read the rule aloud.
#
# *Expect* "so it differentiated the formula". The loop below is the answer: ask for its formula, and wait until
# somebody gives up.

# %%
print(x.grad)
assert x.grad == 12

# %% [markdown]
# There is no nudge. The node of `x**3` has a **rule**. It takes the gradient that arrives and multiplies it by
# $3x^2$, with the `x` of this run. That gives 12, not 12 and a bit.
#
# Now see the rule and the nudge side by side. Drag `x` below the graph: values and gradient follow. Then press
# **Nudge**, and drag `h`. The small curve is the valley of this `x`. Does its lowest point stay where it is when you
# drag `x`?

# %%
lab.step(f, torch.tensor(2.0, requires_grad=True, dtype=torch.float64))

# %% [markdown]
# > **You may think** automatic differentiation is one of the two things you know: measuring with a
# > small `h`, or doing algebra on a formula.
# >
# > **That is not what happens.** It follows the run of a *program*, operation by operation. At each one it applies
# > one exact rule, with the numbers of this run. There is no `h`, so there is no valley. There is no formula, so nothing
# > grows.
# >
# > **Here it is**, on the program from the top, the loop without a formula.


# %%
def root(a, turns=6):
    guess = a
    for _ in range(turns):
        guess = (guess + a / guess) / 2
    return guess


a = torch.tensor(2.0, requires_grad=True, dtype=torch.float64)
with lab.record() as trace:
    y = root(a)
    y.backward()
operations = sum(node["kind"] == "op" for node in trace.nodes)
print(f"root {y.item():.12f}, derivative {a.grad.item():.12f}, operations {operations}")
assert operations == 18

# %% [markdown]
# Calculus says $\frac{1}{2\sqrt{2}} = 0.353553390593$, and autograd's number agrees with it to the last
# digits. The program has 18 operations, and the way back visits each of them once. If you wrote the turns of this
# loop as *one* formula, you would get a fraction with a polynomial of degree 32 on top: from the second turn on, each
# doubles the degree.
#
# ## Modify: nudge the square root
#
# Measure the same derivative by nudging. **Predict first**: how many digits after the point will you get
# right? Run the cell, then change `h`, and look for the best one.

# %%
digits = ...
h = 1e-2  # change me

exact = 1 / (2 * 2**0.5)
measured = central_difference(root, 2.0, h)
right = next((n for n in range(16) if abs(measured - exact) > 0.5 * 10**-n), 16) - 1
if lab.reveal(digits, right, "01.g"):
    print(f"exact    {exact:.15f}\nmeasured {measured:.15f}")
assert abs(a.grad.item() - exact) < 1e-15
assert f"{exact:.12f}" == "0.353553390593"
assert 2 ** (6 - 1) == 32

# %% [markdown]
# ## What measuring costs, and what autograd costs
#
# The network of notebook 00 learned by changing 1480 numbers. Nudging has to move one of them at a time. **Predict**:
# how many runs of the network does a gradient by forward differences take? And autograd: how many passes does it take,
# forward and backward counted together?

# %%
runs, passes = ..., ...

parameters = 64 * 20 + 20 * 10
assert parameters == 1480
lab.reveal(runs, parameters + 1, "01.h")
with lab.record() as trace:  # from a number to its gradient
    forward = [root(a)]
    forward[0].backward()
lab.reveal(passes, len(forward) + sum(event["k"] == "backward" for event in trace), "01.i")

# %% [markdown]
# This is why nobody trains by nudging. But a nudge is a good *test*: it is slow and inexact, but it does not trust
# the rules, so it finds a wrong one. `torch.autograd.gradcheck` nudges for you.
#
# ## Exit ticket: what went wrong?
#
# (1) With `h = 1e-15` the forward difference of some function is far off. Is it because the curve `"bends"`, or
# because digits are `"lost"`? (2) A function has three inputs. How many runs does its gradient take by *central* differences?

# %%
cause, runs = ..., ...

found = "lost" if error(1e-15) > error(1e-8) else "bends"  # a smaller nudge bends less
lab.reveal(cause, found, "01.j")
inputs, sides = 3, ("up", "down")
lab.reveal(runs, inputs * len(sides), "01.k")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("01", seed=2)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.tensor(2.0, requires_grad=True, dtype=torch.float64)
# (x**3).backward()
# print(x.grad)                                            # tensor(12., dtype=torch.float64)
# print(torch.autograd.gradcheck(lambda x: x**3, (x,)))    # True
# ```
#
# ## In five lines
#
# 1. A derivative says how many times as far the result moves as the dial.
# 2. A nudge can be too large or too small. Each goes wrong in its own way.
# 3. A central difference looks to both sides, so it is more exact.
# 4. Autograd does not nudge. It applies one exact rule for each operation that ran.
# 5. So train with autograd, and test it with a nudge.
#
# ![The error over the size of the nudge: a valley. On its left wall the digits run out, on its right wall the curve bends.](pictures/01.svg)
#
# - [Exercises 01](../exercises/01_nudge_and_measure.ipynb)
# - [Next: 02 · Forward builds the graph](02_forward_builds_the_graph.ipynb)
#
# Source: `gradcheck` in `autograd_lab/torchlike/autograd/gradcheck.py`.
