# ---
# jupyter:
#   autograd_lab:
#     id: "14"
#     minutes: 45
#     needs: ["06", "11"]
#     goals:
#       - say what of a function is in a captured graph, and what is not
#       - predict which guard a call misses, and what breaks a capture
#       - read what a compiled backward keeps, and what each pass takes away
#     refutes: []
#     retests: [M02, M12]
#     points: 0
# ---

# %% [markdown]
# # 14 · A graph captured once
#
# **45 minutes, a bonus. You need:** notebooks 06 and 11.
#
# `torch.compile` writes down the graph of **one** run of your function. From then on it runs that graph in place of
# your function. **What if the loop takes more turns the next time, or the `if` goes the other way?**
#
# **Warm-up**, from memory. (1) A class `Cube(torch.autograd.Function)`, `y = Cube.apply(x)`: what is the node of
# `y` called? (2) Which line of a training step empties `.grad`: `"step"`, `"zero_grad"` or `"backward"`?

# %%
node_name, empties = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x**3


x = torch.tensor(2.0, requires_grad=True)
lab.reveal(node_name, Cube.apply(x).grad_fn.name(), "14.a")
x.grad, optimizer = torch.tensor(1.0), torch.optim.SGD([x], lr=0.1)
lines = {"step": optimizer.step, "zero_grad": optimizer.zero_grad}
found = next((name for name, run in lines.items() if run() or x.grad is None), "backward")
lab.reveal(empties, found, "14.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 14 minutes to *Guards*, 10 to the joint graph, 12 for it and the passes, 7 for
# the node, 2 for the ticket. A bonus: nothing else in the course needs it, and it has no vote of its own;
# `lab.classroom("M02")` before *Predict* recalls what define by run means.
#
# *Ask* before *Step*: "Where is the `if`?" *Stop at* the third turn of the loop, and count on the right what was
# there from the start. *Expect* a loop in the captured graph. The sentence that helps: "It has never seen your
# loop. It saw what three turns did."
#
# *Short of time*: leave out *Passes*; the exercises come back to it.

# %% [markdown]
# ## Predict: what is in a captured graph?
#
# So far every run of your code built a graph of its own: **define by run**. `torch.compile` watches a **single** run,
# and **captures** its graph: it keeps the graph and runs it from then on.
#
# The function below has a loop and a branch. It is captured with `n = 3` and `flip = False`. **How many** `tanh`
# are in the captured graph, how many loops, and how many `neg`?


# %%
def layers(x, w, n, flip):
    h = x
    for _ in range(n):
        h = torch.tanh(h * w)
    if flip:
        h = -h
    return (h * h + h * h).sum()


prediction = [..., ..., ...]  # tanh, loops, neg

x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7]], requires_grad=True)
w = torch.tensor([0.9, 0.4, -0.6], requires_grad=True)

# %%
both = lab.compare_static(layers, x, w, 3, False)
ops = [step.op for step in both.compiled.graph.steps if step.part == "forward"]
answered = lab.reveal(prediction, [ops.count("tanh"), ops.count("loop"), ops.count("neg")], "14.c")
assert [ops.count("tanh"), ops.count("loop"), ops.count("neg")] == [3, 0, 0]

# %% [markdown]
# ## Step: the loop and its graph
#
# The code is on the left. The graph of an ordinary run, in the middle, grows with **Step**. The captured graph, on the right,
# is there from the start. Step through the turns of the loop.

# %%
both.first()

# %% [markdown]
# When you have answered, the next cell prints the captured graph. Each of its steps is one operation:

# %%
captured = both.compiled.entries[0].history[0][1]  # before the passes, which come below
for step in captured.steps if answered else ():
    if step.part == "forward":
        print(step)

# %% [markdown]
# ## Guards: when is the graph still right?
#
# The graph is right only for calls like the one it was captured in. So `torch.compile` checks some conditions before
# each call, the **guards**: shapes, number types, `requires_grad`, whether recording is on, and every Python
# constant. If a call misses a guard, the function is captured again.
#
# **Predict** for each of these four calls: do all guards hold, `"holds"`, or is one `"missed"`?
#
# 1. `x` with other numbers · 2. `n = 2` · 3. `x` with one row · 4. `x` without `requires_grad`

# %%
prediction = [..., ..., ..., ...]

both = lab.compare_static(layers, x, w, 3, False)
calls = [(x * 2 + 1, 3), (x, 2), (x[:1], 3), (x.detach(), 3)]
for data, n in calls:
    both.again(data, w, n, False)
verdicts = [run["verdict"] for run in both.runs[1:]]
if lab.reveal(prediction, verdicts, "14.d"):
    print(*(run["says"] for run in both.runs[1:]), sep="\n")

# %% [markdown]
# ## What breaks a capture
#
# A guard can look at a shape before the call. It cannot look at a number that the function computes on the way. The
# branch below depends on the sign of a sum. **Predict** what `torch.compile` does with it: `"captures one side"`,
# `"raises an error"` or `"runs it as it is"`?

# %%
prediction = ...

import warnings


def choose(x):
    if x.sum() > 0:
        return x * 2
    return x * 3


compiled = torch.compile(choose)
with warnings.catch_warnings(record=True, action="always") as said:  # kept back: it would tell you
    first = compiled(x)
second = compiled(-x)
right = torch.equal(second, choose(-x))
if lab.reveal(prediction, "runs it as it is" if right else "captures one side", "14.e"):
    print(said[0].message)

# %% [markdown]
# Five more things break a capture: `print`, `.item()`, a hook, a write into an argument, and `torch.rand`.
#
# Two things do not break it. **Dropout** sets random values to 0. It is a step of the graph, and it draws new random
# numbers at each call. **Batch norm** keeps statistics of all the data it has seen. The graph returns the new
# statistics, and each call stores them.

# %%
assert right
assert verdicts == ["holds", "missed", "missed", "missed"]  # above, in Guards
drop = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5))
drop(x)
print(drop.forward_source)

# %% [markdown]
# ## Forward and backward in one graph
#
# `torch.compile` also differentiates the captured graph, with the rules that you know. Forward and backward are then
# one **joint graph**. In it you can see which numbers of the forward run the backward reads.
#
# **Predict**, for each of `a`, `b`, `c`: does the backward read it?


# %%
def chain(x):
    a = torch.exp(x)
    b = a * 3
    c = torch.tanh(b)
    return (c * c).sum()


prediction = {"a": ..., "b": ..., "c": ...}  # True or False

compiled = torch.compile(chain)
compiled(x)
names = dict(zip("abc", [step.outs[0] for step in compiled.graph.steps[:3]], strict=True))
read = [value for step in compiled.graph.steps if step.part == "backward" for value in step.values()]
truth = {name: value in read for name, value in names.items()}
lab.reveal(prediction, truth, "14.f")

# %% [markdown]
# ## Passes: a smaller graph
#
# In a compiler, a **pass** takes a graph and returns a better one. **Worked:** the pass
# `share` looks for steps that compute the same. In `h * h + h * h` both products are the same. So `share` keeps one,
# and the sum reads it twice. **Step** shows the graph before and after each pass:

# %%
assert truth == {"a": True, "b": False, "c": True}
passes = lab.compare_static(layers, x, w, 3, False).show("passes")
passes.stage = 2
passes

# %% [markdown]
# **Half done.** The pass `fuse` works on **elementwise** operations, those that treat each number alone. If one
# elementwise step reads a value, and no other step does, the value gets no name: the step that computes it becomes a
# part of the line that reads it. In `c = torch.tanh(x * 2 + 1)` two values lose their names. Which **single** step
# remains?
#
# **All yours:** how many lines are left of the function below, if nobody needs a gradient? Count its operations,
# then take away those whose result is read once, by another elementwise step. A sum is not elementwise.

# %%
half, yours = ..., ...  # the name of an operation; a number


def bend(x):
    h = torch.tanh(x) * 2 + 1
    k = h * h
    return (k - h).sum()


one, compiled = torch.compile(lambda x: torch.tanh(x * 2 + 1)), torch.compile(bend)
with torch.no_grad():
    one(x), compiled(x)
lab.reveal(half, one.entry.forward_graph.steps[-1].op.split("+")[-1], "14.g")
lines = compiled.entry.forward_graph.steps
if lab.reveal(yours, len(lines), "14.h"):
    print(compiled.forward_source)

# %% [markdown]
# ## Just another node, for autograd
#
# What does autograd see of all this? Below, `layers` is compiled and called. `x` and `w` require a gradient.
# **Predict** the name of the node that the call leaves, and how many edges this node has.

# %%
name, edges = ..., ...

compiled = torch.compile(layers)
with lab.record() as trace:
    y = compiled(x, w, 3, False)
    loss = y * 2
    loss.backward()
lab.reveal(name, y.grad_fn.name(), "14.i")
lab.reveal(edges, len(y.grad_fn.next_functions), "14.j")

# %%
assert (len(lines), len(y.grad_fn.next_functions)) == (3, 2)
lab.step(trace)

# %% [markdown]
# In the stepper, open this node at the step where it runs: you see each line of its NumPy, and the rule that the line
# came from.
#
# ## A whole training step
#
# You may call `backward()` **inside** the function, and update the weight after it. (PyTorch breaks the graph there.)
# **Predict** the operator in the last line before `return`: `"="`, `"-="` or `"+="`. Then read the source.

# %%
operator = ...

data, weight = torch.randn(8, 4), torch.randn(4, 2, requires_grad=True)


@torch.compile
def train(data):
    out = torch.tanh(data @ weight)
    loss = (out * out).sum()
    loss.backward()
    with torch.no_grad():
        weight.sub_(0.1 * weight.grad)
        weight.grad = None
    return loss


first = train(data)
if lab.reveal(operator, train.forward_source.splitlines()[-2].split()[1], "14.k"):
    print(train.forward_source)
assert train(data) < first

# %% [markdown]
# ## Modify: print inside
#
# In `layers`, write `print(h.shape)` into the loop, and run that cell. **Predict** what the comparison of the loop
# and its graph says now. Then run its two cells again.
#
# ## Exit ticket: twice, and how many
#
# (1) `y` comes from a compiled call. Then `y.backward()` runs twice: `"fails"` or `"works"`? (2) A function is
# captured with `n = 3`, then called with 2, 3, 2 and 3. How many graphs does it have in the end?

# %%
twice, graphs = ..., ...

y = compiled(x, w, 3, False)
y.backward()
try:
    y.backward()
    lab.reveal(twice, "works", "14.l")
except RuntimeError:
    lab.reveal(twice, "fails", "14.l")
for n in (2, 3, 2, 3):
    compiled(x, w, n, False)
lab.reveal(graphs, len(compiled.entries), "14.m")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# compiled = torch.compile(layers, backend="aot_eager")
# y = compiled(x, w, 3, False)
# y.backward()
# ```
#
# After a graph break PyTorch goes on with a second graph. This lab runs the whole function uncompiled.
#
# ## In five lines
#
# 1. A captured graph has the operations of a single run. Loops and branches are not in it.
# 2. Guards check shapes, types and Python constants before each call.
# 3. A number read out of a tensor breaks the capture.
# 4. Passes make the graph smaller: one shares equal steps, another fuses steps into one line.
# 5. For autograd, the whole compiled function is one node.
#
# ![One run of your code gives a captured graph, and passes make it smaller. At each call guards are checked: if all hold, the graph runs; if one is missed, your code is captured again.](pictures/14.svg)
#
# - [Exercises 14](../exercises/14_a_graph_captured_once.ipynb)
