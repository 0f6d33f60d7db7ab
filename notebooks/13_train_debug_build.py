# ---
# jupyter:
#   autograd_lab:
#     id: "13"
#     minutes: 60
#     needs: ["05", "06", "07", "08", "10", "11", "12"]
#     goals:
#       - write a training step from memory, and say what each line does to the graph
#       - find out from gradients why a network does not learn, and cure it
#       - say what a forward pass keeps in memory, and reduce it
#     refutes: []
#     retests: [M06, M10, M11, M14, M15, M17, M19, M23, M24, M25, M26, M28, M29, M30]
#     points: 0
# ---

# %% [markdown]
# # 13 · Train, debug, build
#
# **60 minutes. You need:** the notebooks before, above all 05 to 08 and 10 to 12.
#
# A network trains, without an error, without a warning, **and does not learn. What do you look at first?** Here you
# train one that learns. Then you meet several that do not, and read the cause from their gradients.
#
# **Warm-up**, from memory. (1) `(g,) = torch.autograd.grad(x**3, x)`, without any flag: does `g` require a gradient?
# And is `x.grad` filled? (2) `e = x.exp()`, then `e += 1`, then backward: `"error"` or `"fine"`?

# %%
g_requires_grad, x_grad, after_writing = ..., ..., ...  # True/False, "None"/"filled", "error"/"fine"

import autograd_lab as torch
from autograd_lab import lab


def outcome(loss):
    try:
        loss.backward()
        return "fine"
    except RuntimeError:
        return "error"


x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(x**3, x)
lab.reveal([g_requires_grad, x_grad], [g.requires_grad, "None" if x.grad is None else "filled"], "13.a")
e = x.exp()
e += 1
lab.reveal(after_writing, outcome(e), "13.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 16 minutes to the trained network, 6 for half batches, 17 for *It does not
# learn: too small, too large*, 9 for *What forward keeps*, 10 for *Debug*, 2 for the ticket.
#
# *Ask* `lab.classroom("M26")`, `lab.classroom("M28")` and `lab.classroom("M29")` as an opening, one after the
# other; the notebook has no vote of its own.
#
# *Short of time*: leave out the clock at each node and the half batches (exercise 08.4 had them). Exercise 13.3,
# the engine, is for the weeks after.

# %% [markdown]
# ## Predict: the first loss
#
# Everything you know now goes into one program: a network that reads handwritten digits. Before it has learned
# anything, it gives each of the ten digits about the same probability. **Which loss do you expect?** The loss
# is the **cross-entropy**: minus the logarithm of the probability of the right digit.
#
# `0` · `0.1` · `2.3` · `10`

# %%
prediction = ...

import numpy

from autograd_lab import datasets

F = torch.nn.functional
images, labels = (torch.tensor(array) for array in datasets.digits())
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)).double()
with torch.no_grad():
    first_loss = F.cross_entropy(model(images[:1400]), labels[:1400])
lab.reveal(prediction, round(first_loss.item(), 1), "13.c")

# %% [markdown]
# ## Step: one batch, forward and back
#
# Step through one batch of five images. When several nodes are ready, the stepper asks which comes next: click it. (The
# last recorded comes first, and accumulators before all others.) Which parameter gets its gradient last?

# %%
assert sum(p.numel() for p in model.parameters()) == 2410
assert round(first_loss.item(), 1) == 2.3
with lab.record() as trace:
    scores = model(images[:5])
    loss = F.cross_entropy(scores, labels[:5])
    loss.backward()
lab.step(trace, predict="next-node")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 27 of 78, where everything is made and nothing has moved. *Ask* each row
# of the room to name one thing on the screen and the notebook it comes from. Then go by nodes, and stop at step
# 50 of 78: the first `.grad` is there, and it is a bias. Which one will be last?
#
# *Expect* the order of the program. The sentence that helps: "Read the program from its last line."

# %% [markdown]
# **Worked example**: the training step. It has five lines, and you know each from a notebook. The loop takes 280 steps, a few
# seconds. Then **predict** the share of right answers on the 397 images that the network has never seen, in percent.


# %%
def training_step(x, y):
    scores = model(x)  # forward builds a new graph (02)
    loss = F.cross_entropy(scores, y)
    optimizer.zero_grad()  # accumulators add, so empty them (05)
    loss.backward()  # messages, node by node (04); saved values are freed (06)
    optimizer.step()  # in place, under no_grad: the parameters stay leaves (07)
    return loss.item()  # a number, without a graph behind it (07)


optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
shuffle = numpy.random.RandomState(0)
losses = []
for _ in range(20):  # epochs
    for rows in shuffle.permutation(1400).reshape(14, 100):
        losses.append(training_step(images[rows], labels[rows]))

# %%
percent = ...

from autograd_lab.course import plots

with torch.no_grad():
    right = model(images[1400:]).argmax(1) == labels[1400:]
accuracy = right.double().mean().item()
if lab.reveal(percent, round(100 * accuracy), "13.d"):
    plots.curves({"loss": losses}, xlabel="step", ylabel="loss", log="y")

# %% [markdown]
# **Half done.** A batch of 100 does not fit, so you run two halves of 50, with backward after each and one update
# at the end. The loss is a *mean*. By what do you divide each of the losses to get the `.grad` of the whole
# batch? **All yours:** the parts have 60 rows and the rest. By what do you *multiply* each loss?

# %%
half, yours = ..., [..., ...]
assert len(losses) == 280
assert len(right) == 397
assert accuracy >= 0.95


def gradient(first, last):
    model.zero_grad()
    F.cross_entropy(model(images[first:last]), labels[first:last]).backward()
    return model[0].weight.grad.flatten().numpy()


def factors(*parts):  # which multiples of the parts' gradients add up to that of the whole?
    return numpy.linalg.lstsq(numpy.stack(parts, 1), gradient(0, 100), rcond=None)[0]


lab.reveal(half, 1 / factors(gradient(0, 50), gradient(50, 100)).mean(), "13.e")
lab.reveal(yours, factors(gradient(0, 60), gradient(60, 100)).tolist(), "13.f")

# %% [markdown]
# ## It does not learn: too small, too large
#
# Now there are nine layers. Eight of them are followed by the sigmoid, a smooth curve from 0 to 1. **Predict**: how large is
# the gradient of the *first* weights, compared with that of the *last*?
#
# `"equal"` · `"10 times smaller"` · `"10000 times smaller"`


# %%
from itertools import pairwise


def deep(scale):
    random = numpy.random.RandomState(0)
    sizes = [64, 32, 32, 32, 32, 32, 32, 32, 32, 10]
    shapes = [*pairwise(sizes)]
    return [torch.tensor(random.randn(m, n) * scale / m**0.5, requires_grad=True) for m, n in shapes]


def deep_loss(weights, activation, rows):
    h = images[:rows]
    for W in weights[:-1]:
        h = activation(h @ W)
    return F.cross_entropy(h @ weights[-1], labels[:rows])


def norms(activation, scale):
    weights = deep(scale)
    deep_loss(weights, activation, 200).backward()
    return [W.grad.norm().item() for W in weights]


# %%
prediction = ...

vanishing = norms(torch.sigmoid, 1)
exploding = norms(torch.tanh, 6)
healthy = norms(torch.relu, 2**0.5)
ratio = vanishing[-1] / vanishing[0]
size = "10000 times smaller" if ratio > 10000 else "10 times smaller" if ratio > 10 else "equal"
if lab.reveal(prediction, size, "13.g"):
    names = ("sigmoid", "tanh, weights 6 times too large", "ReLU, weights of the right size")
    lines = dict(zip(names, (vanishing, exploding, healthy), strict=True))
    plots.curves(lines, xlabel="layer", ylabel="norm of the gradient", log="y")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Ask* for three lines on paper first, with the layers from left to right. *Expect* flat
# ones, or a first layer with the largest gradient, "because it is the most important".
#
# The sentence that helps: "Nine factors in a row. What is a quarter of a quarter, and so on, nine times?"

# %% [markdown]
# A gradient **vanishes** when every layer shrinks the message, and it **explodes** when every layer stretches it. To cure
# both, keep the product of the factors near one. ReLU passes on about half of the messages, unchanged. Weights with
# variance `2 / inputs` make up for the other half.
#
# Train the same nine layers on 400 images: **predict** which of the two learns, `"sigmoid"`, `"relu"`, or `"both"`.

# %%
prediction = ...

assert exploding[0] / exploding[-1] > 30
assert 1 / 3 < healthy[0] / healthy[-1] < 3
last = {}
for name, activation, scale in (("sigmoid", torch.sigmoid, 1), ("relu", torch.relu, 2**0.5)):
    weights = deep(scale)
    adam = torch.optim.Adam(weights, lr=0.005)
    for _ in range(60):
        loss = deep_loss(weights, activation, 400)
        adam.zero_grad()
        loss.backward()
        adam.step()
    last[name] = loss.item()
learned = [name for name in last if last[name] < 0.1]  # on 400 images
lab.reveal(prediction, "both" if len(learned) == 2 else learned[0], "13.h")

# %% [markdown]
# If a gradient explodes only now and then, **clip** it before the update: `clip_grad_norm_` shrinks all gradients until their
# common **norm** is 1. (The norm is the length: the root of the sum of the squares.) In the exploding network the first
# gradient was many times the last. **Predict** what it is after that:
# `"equal"` · `"fewer times"` · `"as many times"`

# %%
prediction = ...

assert last["sigmoid"] > 2.2
weights = deep(6)
deep_loss(weights, torch.tanh, 200).backward()
total = torch.nn.utils.clip_grad_norm_(weights, 1.0)  # the norm of all of them, before
clipped = [W.grad.norm().item() for W in weights]
assert numpy.isclose(numpy.linalg.norm(clipped), 1)
assert numpy.allclose(numpy.divide(exploding, clipped), total)  # layer by layer
if lab.reveal(prediction, "as many times" if clipped[0] > 30 * clipped[-1] else "fewer times", "13.i"):
    lines = {f"before: {total:.0f} in all": exploding, "clipped: 1 in all": clipped}
    plots.curves(lines, xlabel="layer", ylabel="norm of the gradient", log="y")

# %% [markdown]
# ## What forward keeps, and where the time goes
#
# The graph saves values for backward. **Predict** who holds most of them at its peak, from most to
# least: `"plain"`, `"no_grad"`, and `"checkpoint"`, which forgets what lies inside each half of the layers and
# computes it again when backward gets there. And is its curve over the steps `"one hill"` or `"a tooth for each
# half"`?

# %%
from autograd_lab.utils.checkpoint import checkpoint


def layers(h, weights):
    for W in weights:
        h = torch.relu(h @ W)
    return h


def halves(h, weights):
    for part in (weights[:4], weights[4:]):
        h = checkpoint(layers, h, part, use_reentrant=False)
    return h


# %%
prediction = [..., ..., ..., ...]  # most, next, least; the curve with checkpoint


def run(forward, recording=True):
    *weights, last = deep(2**0.5)
    with lab.record() as trace, torch.set_grad_enabled(recording):
        loss = F.cross_entropy(forward(images[:200], weights) @ last, labels[:200])
        if recording:
            loss.backward()
    return lab.cost(trace), weights[0].grad


runs = {"plain": run(layers), "no_grad": run(layers, False), "checkpoint": run(halves)}
held = {name: cost.held for name, (cost, _) in runs.items()}
levels = [now for before, now in pairwise(held["checkpoint"]) if now != before]
peaks = sum(a < b > c for a, b, c in zip(levels, levels[1:], levels[2:], strict=False))
order = sorted(runs, key=lambda name: -runs[name][0].peak)
if lab.reveal(prediction, [*order, "one hill" if peaks == 1 else "a tooth for each half"], "13.j"):
    plots.memory(held)

# %% [markdown]
# And where does the time go? Hooks before and after each node read the clock. **Predict**: which node takes longest?

# %%
import time

big = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).double()
clock, start, took = time.perf_counter, {}, {}
for _ in range(20):
    loss = F.cross_entropy(big(images[:1400]), labels[:1400])
    nodes = [loss.grad_fn]
    for i, node in enumerate(nodes):  # the list grows as we go
        nodes.extend(child for child, _ in node.next_functions if child and child not in nodes)
        node.register_prehook(lambda g, i=i: start.update({i: clock()}))
        node.register_hook(lambda sent, got, i=i: took.setdefault(i, []).append(clock() - start[i]))
    loss.backward()
shortest = {f"{i} {node.name()}": min(took[i]) for i, node in enumerate(nodes)}
plots.bars(shortest, xlabel="time in the node")  # the loss on top

# %% [markdown]
# ## Debug: a layer that does not move
#
# Somebody's network gets better only slowly: its first layer does not move. There is no error, and no warning. **Predict**
# `first.weight.grad`, then let the lab say why.

# %%
prediction = ...

assert [runs[name][0].peak for name in ("plain", "checkpoint", "no_grad")] == [425600, 256000, 0]
assert peaks == 3  # where forward ends, and one in each half
assert numpy.allclose(runs["plain"][1].numpy(), runs["checkpoint"][1].numpy())
first, second = torch.nn.Linear(64, 32).double(), torch.nn.Linear(32, 10).double()
with lab.record():
    hidden = torch.tensor(first(images[:50]).tolist())
    loss = F.cross_entropy(second(torch.relu(hidden).double()), labels[:50])
    loss.backward()
its_grad = "None" if first.weight.grad is None else first.weight.grad.abs().sum()
if lab.reveal(prediction, its_grad, "13.k"):
    print(*str(lab.why(first.weight, loss)).splitlines()[:2], sep="\n")

# %% [markdown]
# > **You may think** that a bug in training shows itself by an error.
# >
# > **That is not what happens.** The worst bugs are silent: a wrong gradient looks like any other.
# >
# > **Here it is**: four programs without an error. **Predict** the `.grad` of `x`: a number, or `"nan"`.
# > `x` is 0 in the first two, and 3 in the others.

# %%
prediction = {"where": ..., "relu": ..., "data": ..., "view": ...}


def silent(name, value):
    x = torch.tensor([value], requires_grad=True)
    y = x * x
    if name == "data":
        x.data[0] = 100.0  # behind autograd's back, before backward
    if name == "view":
        y[0] = 5 * x[0]  # y[0] is a view: writing into it writes into y
    y = {"where": torch.where(x > 0, x.sqrt(), 0), "relu": torch.relu(x)}.get(name, y)
    y.sum().backward()
    return x.grad.item()


truth = [silent("where", 0.0), silent("relu", 0.0), silent("data", 3.0), silent("view", 3.0)]
found = dict(zip(prediction, ("nan" if g != g else g for g in truth), strict=True))
lab.reveal(prediction, found, "13.l")

# %% [markdown]
# **Modify**: replace the line with `.data` by `with torch.no_grad(): x[0] = 100.0`. Predict what backward says.
#
# ## Exit ticket: two hasty programs
#
# (1) The optimizer steps between forward and backward: `"error"` or `"fine"`? (2) `b = a * a`, the loss is `b * (b * 3)`, and
# at `a = 2` the gradient is 96. A hasty engine runs the node of `b` at its first message. Does it give `"less"` or `"more"`?

# %%
between, hasty = ..., ...

assert str(truth[0]) == "nan"
assert truth[1:] == [0, 200, 5]
loss = F.cross_entropy(model(images[:5]), labels[:5])
optimizer.step()
lab.reveal(between, outcome(loss), "13.m")


def product(a):
    b = a * a
    return b * (b * 3)


a = torch.tensor(2.0, requires_grad=True)
product(a).backward()
assert a.grad == 96
early = lab.wrong_order(product, a, order="breadth-first")
given = next(event["new"] for event in early if event["k"] == "accumulate")
lab.reveal(hasty, "less" if early.values[given]["data"] < a.grad else "more", "13.n")

# %% [markdown]
# ## Build the engine yourself
#
# In the exercises you write the engine: a class of numbers that record what is done to them, and a `backward`. The checks
# compare it with this lab on random graphs.
#
# ## The same in PyTorch
#
# ```python
# import torch
#
# optimizer.zero_grad()
# torch.nn.functional.cross_entropy(model(x), y).backward()
# torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
# optimizer.step()
# ```
#
# Change the import, and the networks of this notebook train there. `lab`, `datasets` and `plots` belong to this lab.
#
# ## In five lines
#
# 1. Forward, clear, backward, step.
# 2. Keep the product of the layers' factors near one, or the gradient vanishes or explodes.
# 3. Forward keeps values for backward. You can keep fewer, or none.
# 4. The worst bugs are silent. Look at `.grad`: is it `None`, zero, `nan`, or far too large?
# 5. Then ask `lab.why`.
#
# ![A circle: forward, zero_grad, backward, step, and again with the next batch.](pictures/13.svg)
#
# - [Exercises 13](../exercises/13_train_debug_build.ipynb)
# - [Next: 14 · A graph captured once](14_a_graph_captured_once.ipynb)
