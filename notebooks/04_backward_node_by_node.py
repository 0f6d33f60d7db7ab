# ---
# jupyter:
#   autograd_lab:
#     id: "04"
#     minutes: 45
#     needs: ["02", "03"]
#     goals:
#       - run a backward pass by hand, and say at each moment which nodes are ready
#       - explain why a node must wait for all its messages, with a graph where not waiting fails
#       - follow the gradient of a real network from its loss to its parameters
#     refutes: [M06, M07]
#     retests: [M03, M04]
#     points: 0
# ---

# %% [markdown]
# # 04 · Backward, node by node
#
# **45 minutes. You need:** notebooks 02 and 03.
#
# Somebody posted this backward pass:
#
# ```python
# def backward(node, gradient):
#     node.grad += gradient
#     for child, message in zip(node.inputs, node.rule(node.grad)):
#         backward(child, message)
# ```
#
# It is right on every chain, and on `a + a`. On the three lines of the next question it is **wrong**. **What does it
# do wrong, and what does a right one do?**
#
# **Warm-up**, from memory. (1) In `p * q` with `p = 5` and `q = 7`, the message `2` comes in at the
# node. Which message goes to `p`? (2) You nudge `x` up by `0.001`, and `y` moves down by `0.004`. What is
# the gradient, about?

# %%
message_to_p, gradient = ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.level("queue")  # with the ready queue

p, q = torch.tensor(5.0, requires_grad=True), torch.tensor(7.0, requires_grad=True)
to_p, to_q = (p * q).grad_fn(torch.tensor(2.0))
lab.reveal(message_to_p, to_p, "04.a")
nudged, moved = 0.001, -0.004
lab.reveal(gradient, moved / nudged, "04.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 8 minutes to the stepper, 14 to the engine they run themselves, 14 for the three
# engines, the one that waits and the lab's own, 7 for the network, 2 for the ticket. Each vote adds 8.
#
# *Ask* `lab.classroom("M06")` in place of *Predict*, `lab.classroom("M07")` before *Why not walk every
# path?*.
#
# *Short of time*: leave out *The real thing*. A student who has run one pass by hand has what this notebook is for.

# %% [markdown]
# ## Predict: `b` is used twice
#
# Here are three lines, at `a = 2`. `b` is used by `c`, and again by `loss`. What is `a.grad`
# after `loss.backward()`?
#
# `0` · `48` · `96` · `144`

# %%
prediction = ...


def forward():
    a = torch.tensor(2.0, requires_grad=True)
    b = a * a
    c = b * 3
    loss = b * c
    return a, b, c, loss


with lab.record() as trace:
    a, b, c, loss = forward()
    loss.backward()

# %% [markdown]
# ## Step: what does `b` wait for?
#
# Step first, and reveal the answer afterwards. The stepper asks for each message: type it, press **Commit**, then
# **Next question**. Whenever a message reaches the node of `b`, look at what that node is **waiting** for. What has
# come in when it runs at last?

# %%
lab.step(trace, predict="grad")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 18 of 35: a 12 lies at the node of `b`. *Ask*: "What is it waiting for,
# and where is that now?" Let them follow the other message with a finger until step 24 of 35.
#
# *Expect* that they want to send the 12 on, which gives 48. The sentence that helps: "What it sends depends on
# the whole sum, and the sum is not there yet."

# %%
answered = lab.reveal(prediction, a.grad, "04.c")
assert a.grad == 96

# %% [markdown]
# Say in one sentence what would go wrong if the node of `b` ran as soon as its first message arrived.
#
# **Worked example.** A node is a function: one message in, one message out per edge. So you can be the engine.

# %%
a, b, c, loss = forward()
straight, to_c = loss.grad_fn(torch.tensor(1.0))
through_c, _ = c.grad_fn(to_c)
left, right = b.grad_fn(straight + through_c)

print(f"to b: {straight:g} + {through_c:g}, to a: {left:g} + {right:g}")
assert (straight, to_c, through_c, straight + through_c) == (12, 4, 12, 24)
assert (left, right, left + right) == (48, 48, 96)

# %% [markdown]
# **Half done.** `u = a * a`, then `v = u * a`, at `a = 2`. The node of `v` sends 2 to `u`, and 4
# straight to `a`. How much does the node of `u` send to `a` in all? And what is `a.grad`?
#
# **All yours.** `u = a * 5`, `s = u + a` and `v = s * u`, at `a = 3`, and **you are the engine**. In this
# stepper no node runs unless you say so. Press **Go to the question**, choose the next node, type the messages
# that it sends.

# %%
half = [..., ...]  # what the node of u sends in all, and a.grad

a = torch.tensor(2.0, requires_grad=True)
u = a * a
v = u * a
sent_by_u = sum(u.grad_fn(torch.tensor(2.0)))
v.backward()
lab.reveal(half, [sent_by_u, a.grad], "04.d")

with lab.record() as mine:
    a = torch.tensor(3.0, requires_grad=True)
    u = a * 5
    s = u + a
    v = s * u
    v.backward()
lab.step(mine, mode="engine")

# %% [markdown]
# ## Three engines that do not wait
#
# Each of these engines is right on some small graph. On ours they give `0`, `48` and `144`. **Read, then predict**:
# which engine gives which number?


# %%
def messages(node, gradient):
    """What a node sends, each message with its receiver. Accumulators send nothing."""
    if node.next_functions:
        for (child, _), message in zip(node.next_functions, node(gradient), strict=True):
            if child is not None:
                yield child, message


def resend(node, gradient, total):
    """At every visit, add to the node's total, and send that total on."""
    total[node] = total.get(node, 0) + gradient
    for child, message in messages(node, total[node]):
        resend(child, message, total)


# %%
def visit_once(node, gradient, total):
    """Send at the first visit; what comes later is only added."""
    first = node not in total
    total[node] = total.get(node, 0) + gradient
    for child, message in messages(node, total[node]) if first else ():
        visit_once(child, message, total)


def children_first(node, gradient, total):
    """Let everything below a node send before the node does."""
    for child, _ in node.next_functions:
        if child is not None and child not in total:
            children_first(child, torch.tensor(0.0), total)
    total[node] = total.get(node, 0) + gradient
    for child, message in messages(node, total[node]):
        total[child] = total[child] + message


# %%
prediction = [..., ..., ...]  # what resend, visit_once and children_first give


def run(engine):
    _, b, _, loss = forward()
    total = {}
    engine(loss.grad_fn, torch.tensor(1.0), total)
    accumulator = b.grad_fn.next_functions[0][0]
    return total[accumulator].item()


wrong = [run(engine) for engine in (resend, visit_once, children_first)]
lab.reveal(prediction, wrong, "04.e")

# %% [markdown] tags=["instructor"]
# **For the instructor.** Without a screen: four students are `loss`, `c`, `b` and `a`, and a message is a slip of
# paper. First they play `resend`, then `visit_once`, then the rule "nobody moves before all slips are there".
# *Time*: 6 minutes, and nobody forgets who had to wait.
#
# *Expect* the question why anybody would write the wrong ones. "They are shorter, and right on every chain. Try
# them on one."

# %% [markdown]
# Compare our engine with one that runs a node at its first message. The button **difference** with the arrow down
# leads to the first step where they differ.
#
# After the comparison you find an engine that waits. It first counts how many messages each node will get. Then it starts
# with the message 1 at the loss, the **seed**. **Predict** the counts for the nodes of `b` and `c`, and for the
# mailbox of `a`.


# %%
def only_loss():
    return forward()[-1]


impatient = lab.wrong_order(only_loss, order="breadth-first")
lab.compare(trace, impatient, ("waits", "impatient"))

# %%
prediction = [..., ..., ...]  # b, c, a


def count_messages(root):
    waiting, nodes = {root: 0}, [root]
    for node in nodes:
        for child, _ in node.next_functions:
            if child is not None and child not in waiting:
                nodes.append(child)
            if child is not None:
                waiting[child] = waiting.get(child, 0) + 1
    return waiting


a, b, c, loss = forward()
accumulator = b.grad_fn.next_functions[0][0]
counts = count_messages(loss.grad_fn)
lab.reveal(prediction, [counts[b.grad_fn], counts[c.grad_fn], counts[accumulator]], "04.f")

# %%
names = {loss.grad_fn: "loss", c.grad_fn: "c", b.grad_fn: "b", accumulator: "a"}
waiting = count_messages(loss.grad_fn)
total, ready = {loss.grad_fn: torch.tensor(1.0)}, [loss.grad_fn]  # seed

while ready:
    node = ready.pop()
    if answered:  # it would tell you
        print(f"{names[node]:4} runs with {total[node]:g}")
    for child, message in messages(node, total[node]):  # apply the rule
        total[child] = total.get(child, 0) + message  # deliver
        waiting[child] -= 1  # one message fewer to wait for
        if waiting[child] == 0:
            ready.append(child)

assert wrong == [144, 48, 0]
assert total[accumulator] == 96
lab.step(trace)

# %% [markdown]
# This loop is the heart of PyTorch's engine, and of this lab's: **dependency counts** say how many messages a node still
# waits for, and the **ready queue** holds the nodes that wait for none. Both engines add one rule. If several nodes
# are ready, the one that was made last runs first. But an accumulator runs before all other nodes.
#
# Watch the lab's own loop: in the stepper above press **backward**, the tab **engine**, then **Step**. The marked
# line has just run. Above it are `ready`, `deps` (your `waiting`) and `buffers` (your `total`). Before
# `heappop`, **predict** the node.
#
# > **You may think** a tensor that is used again keeps the last gradient that arrives.
# >
# > **That is not what happens.** Both edges lead to the same node, and this node adds up its messages. **Here it is**, in the
# > next cell.
#
# ## Why not walk every path?
#
# Multiply the local derivatives along each path, and add up the paths: that gives the gradient, too. `lab.graph(loss)` lets
# the library networkx list the paths. **Predict**, for ten squarings in a row: how many paths are there? And how many edges
# does a backward pass touch?

# %%
import math

import networkx

a = torch.tensor(2.0, requires_grad=True)
(a * 5 + a * 2).backward()
print(a.grad)
assert a.grad == 7  # neither 5 nor 2


def walk(graph):
    """What each path brings from the loss, the last node, to the leaf, node 0."""
    for path in networkx.all_simple_edge_paths(graph, len(graph) - 1, 0):
        yield math.prod(graph.edges[edge]["derivative"] for edge in path)


a, b, c, loss = forward()
brought = list(walk(lab.graph(loss)))
print(*brought, "in all:", sum(brought))
assert sum(brought) == 96

# %%
prediction = [..., ...]  # paths, edges touched

first = y = torch.tensor(1.0, requires_grad=True)
for _ in range(10):
    y = y * y
graph = lab.graph(y)
total, touched = dict.fromkeys(graph, 0.0), 0
total[len(graph) - 1] = 1.0  # seed
for node in networkx.topological_sort(graph):
    for _, child, derivative in graph.out_edges(node, data="derivative"):
        total[child] += derivative * total[node]
        touched += 1
y.backward()
print("the same as backward():", total[0] == first.grad.item())
lab.reveal(prediction, [len(list(walk(graph))), touched], "04.g")

# %% [markdown]
# ## The real thing: a network reads digits
#
# Five handwritten digits go into a network of two layers. Each layer multiplies by a matrix of weights, `W`, and adds a
# **bias**, `b`. For each digit the network gives ten scores.
#
# **Predict** in the second cell which tensor gets its `.grad` first. Then step, node by node with *Page Down*,
# and at each node compare the shapes of gradient and tensor.

# %%
import numpy

from autograd_lab import datasets

assert (len(list(walk(graph))), touched) == (1024, 20)
images, labels = datasets.digits()
random = numpy.random.RandomState(0)


def layer(rows, columns):
    weights = torch.tensor(random.randn(rows, columns) / rows**0.5, requires_grad=True)
    bias = torch.tensor(numpy.zeros(columns), requires_grad=True)
    return weights, bias


(W1, b1), (W2, b2) = layer(64, 12), layer(12, 10)
x, y = torch.tensor(images[:5]), torch.tensor(labels[:5])
for row in images[4].reshape(8, 8):
    print("".join(" .:oO@"[int(5 * pixel)] * 2 for pixel in row))
print("label:", labels[4])

# %%
prediction = ...  # "W1", "b1", "W2" or "b2"

with lab.record() as trace:
    hidden = torch.relu(x @ W1 + b1)
    scores = hidden @ W2 + b2
    loss = torch.nn.functional.cross_entropy(scores, y)
    loss.backward()

order = [trace.tensors[event["t"]]["name"] for event in trace if event["k"] == "accumulate"]
lab.reveal(prediction, order[0], "04.h")
assert (x @ W1).grad_fn.next_functions[0] == (None, 0)  # for the images nothing is computed
lab.step(trace)

# %% [markdown]
# The graph has eleven nodes: seven operations and four accumulators. You could apply the rule of each by hand. The edge to
# `x` is a dead end.
#
# Now let the network learn, from 1400 images. Each turn builds a new graph, walks backward, and moves the
# **parameters** of the network, the weights and biases, against their gradients. At least 95 % of 397 new images must
# be right.

# %%
assert len(trace.nodes) == 11
assert order == ["b2", "W2", "b1", "W1"]
train_x, train_y = torch.tensor(images[:1400]), torch.tensor(labels[:1400])
for _ in range(300):
    loss = torch.nn.functional.cross_entropy(torch.relu(train_x @ W1 + b1) @ W2 + b2, train_y)
    for parameter in (W1, b1, W2, b2):
        parameter.grad = None
    loss.backward()
    with torch.no_grad():
        for parameter in (W1, b1, W2, b2):
            parameter -= parameter.grad  # a learning rate of 1

guess = (torch.relu(torch.tensor(images[1400:]) @ W1 + b1) @ W2 + b2).argmax(1).numpy()
print(f"right on {len(guess)} new images: {(guess == labels[1400:]).mean():.0%}")
assert len(guess) == 397
assert (guess == labels[1400:]).mean() >= 0.95

# %% [markdown]
# ## Exit ticket: count, and do not wait
#
# `b = a * 3`, then `loss = a * b`, at `a = 2`. (1) For how many messages does the accumulator of `a`
# wait? (2) Which number would `children_first` leave in it?

# %%
how_many, left_by_children_first = ..., ...

a = torch.tensor(2.0, requires_grad=True)
b = a * 3
loss = a * b
accumulator, total = b.grad_fn.next_functions[0][0], {}
children_first(loss.grad_fn, torch.tensor(1.0), total)
lab.reveal(how_many, count_messages(loss.grad_fn)[accumulator], "04.i")
lab.reveal(left_by_children_first, total[accumulator], "04.j")

# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("04", seed=2)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# a = torch.tensor(3.0, requires_grad=True)
# b = a * a
# c = b * 3
# (b * c).backward()
# print(a.grad)                          # tensor(324.)
# print(b.grad_fn(torch.tensor(54.0)))   # RuntimeError: its saved values are freed (notebook 06)
# ```
#
# ## In five lines
#
# 1. A node gets a message from each use of its output, and adds them.
# 2. What it sends depends on the whole sum. So it waits, and runs once.
# 3. Count the messages first. A node is ready when its last one has come.
# 4. There can be far more paths than edges. A pass that waits needs each edge once.
# 5. For three lines and for a network, the loop is the same.
#
# ![From the loss one message goes straight to the node of b, and one through c. The node of b waits until all have come, adds them, and sends the sum on to a.](pictures/04.svg)
#
# - [Exercises 04](../exercises/04_backward_node_by_node.ipynb). The last one is the next piece of your engine: it takes the node that runs next.
# - [Next: 05 · Who keeps a gradient?](05_who_keeps_a_gradient.ipynb)
