# ---
# jupyter:
#   autograd_lab:
#     id: "03"
#     minutes: 40
#     needs: ["01", "02"]
#     goals:
#       - say what goes into a node on the way back, and what comes out
#       - apply the rules of sum, product, power, exp, relu and max by hand
#       - recognize four patterns - copy, swap, scale, route - without computing anything
#     refutes: []
#     retests: [M01, M03, M27]
#     points: 0
# ---

# %% [markdown]
# # 03 · One node, one rule
#
# **40 minutes. You need:** notebooks 01 and 02.
#
# Somebody says: "The derivative of `a * b` by `a` is `b`. So with `b = 5`, the gradient of `a` is 5." Autograd says `35`.
# **Both know the chain rule. Who forgot what?**
#
# **Warm-up**, from memory. (1) In `a * c`, only `a` requires a gradient. What stands in the node's
# `next_functions` where the edge for `c` would be: `"AccumulateGrad"` or `"None"`? (2) You nudge `x` up by
# `0.01`, and `y` moves up by `0.05`. What is the derivative, about? (3) `torch.tensor(3, requires_grad=True)`: `"fine"` or
# `"error"`?

# %%
place_of_c, derivative, whole_number = ..., ..., ...  # fill in, then run

import autograd_lab as torch
from autograd_lab import lab

lab.level("rules")  # with the rule of each node

a = torch.tensor(2.0, requires_grad=True)
c = torch.tensor(3.0)
(_, (edge, _)) = (a * c).grad_fn.next_functions
lab.reveal(place_of_c, str(edge), "03.a")
nudged, moved = 0.01, 0.05
lab.reveal(derivative, moved / nudged, "03.b")
try:
    torch.tensor(3, requires_grad=True)
    lab.reveal(whole_number, "fine", "03.c")
except RuntimeError:
    lab.reveal(whole_number, "error", "03.c")

# %% [markdown]
# ## Put one node on the bench
#
# Take one node out of its graph. On the way back it does one thing. A **message** comes in, the *gradient of its
# output*: how far does the loss move when this output moves? For each operand a message goes out, the *gradient of that
# operand*. (The **loss** is the number at the end, the one that `backward` starts from.) What the node knows by
# itself is the **local derivative**: how fast its output moves with one operand. From these two, the **rule** of the
# node makes the messages that go out.
#
# You can call a node like a function. The engine, the part of autograd that walks backward, does the same. (Nodes have no
# `.backward()`: that is a method of tensors.)

# %%
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
node = (a * b).grad_fn
print(node.name(), "receives 1, sends", [g.item() for g in node(torch.tensor(1.0))])
assert not hasattr(node, "backward")

# %% [markdown]
# ## Predict: ten comes in, what goes out?
#
# Now **10** comes in at the same node, instead of 1. What does the node send to `a` and to `b`?
#
# `[5, 2]` · `[10, 10]` · `[50, 20]` · `[20, 50]`

# %%
prediction = ...

sent = node(torch.tensor(10.0))
lab.reveal(prediction, [sent[0], sent[1]], "03.d")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 10 minutes to here, 10 for the stepper, 12 for the patterns, 8 for the rest. The
# notebook has no vote of its own; `lab.classroom("M27")` opens the session, a retest of notebook 02.
#
# *Ask* here without a computer: "The message is 10. And if it is 0? And -1?" Keep on until they say that it only
# scales.
#
# *Expect* "`a` gets 5" whatever comes in. The sentence that helps: "The node knows its operands. How much its
# output matters, it has to be told."

# %% [markdown]
# ## Step: a product with something behind it
#
# Here the loss is not the product `p` itself, but `p * weight`. The `weight` says how much the loss depends on `p`.
# So it becomes the message that arrives at the node of `p`. The stepper asks for each number before it shows it. A
# constant gets no message: type `None`. (The last question, about `p.grad`, is one for notebook 05: press **Show
# me**.)


# %%
def behind(a, b, weight):
    p = a * b
    loss = p * weight
    return loss


a = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(4.0, requires_grad=True)
lab.step(behind, a, b, torch.tensor(7.0), predict=True)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 14 of 30: the 7 is on its way to the node of `p`. *Ask* for both numbers
# of step 20 of 30 before anybody types, and let a pair defend 4 and 3 if they said so: "Who told the node about
# the 7?"
#
# Then set `weight` to `-1` on the projector. That the signs turn and nothing else changes is the whole lesson, in
# two seconds.

# %%
a.grad = b.grad = None
behind(a, b, torch.tensor(7.0)).backward()
print("to a:", a.grad.item(), " to b:", b.grad.item())
assert (a.grad, b.grad) == (28, 21)
assert [g.item() for g in sent] == [50, 20]  # before, with 10 coming in

# %% [markdown]
# Compare the two numbers with 4 and 3, the local derivatives, and with 7, the message. **Try it**: set the switch on top of
# the stepper from *Predict* to *Watch*. Click the value of `weight` in the table at the lower right (scroll in it), type `-1`,
# press Enter. Say what goes to `a` and `b` before you look.
#
# ## Four patterns: copy, swap, route, scale
#
# Run each node below with the message 6. **Predict all eight numbers before you run the cell**; `a` is 2 and `b` is
# 5 again. If you forgot a rule, measure it: nudge the operand and watch the output.

# %%
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
answers = {"a + b": [..., ...], "a - b": [..., ...], "a * b": [..., ...], "max(a, b)": [..., ...]}

results = {"a + b": a + b, "a - b": a - b, "a * b": a * b, "max(a, b)": torch.maximum(a, b)}
sent = {name: list(result.grad_fn(torch.tensor(6.0))) for name, result in results.items()}
lab.reveal(answers, sent, "03.e")

# %% [markdown] tags=["instructor"]
# **For the instructor.** The best ten minutes of the notebook need no screen: pass a paper around on which single
# nodes and messages are drawn, everybody fills in one, the neighbor checks it by nudging.
#
# *Expect* the two messages of the product the wrong way round, 12 for `a` and 30 for `b`. Say: "If `b` is large,
# whose nudge matters more?"
#
# *Short of time*: leave out *Check a rule you do not trust* and *Make*. Exercise 03.3 has three rules to write.

# %% [markdown]
# The fourth pattern is **scale**: a function `f(a)` sends the message times $f'(a)$.
#
# A copy has nothing to remember. A swap must remember both operands, so the forward run **saves** them.
#
# ## Scale: worked, half done, all yours
#
# **Worked.** The message 4 comes in at `a**3`, and `a` is 2. The rule is $g \cdot 3a^2$ for a message $g$, so the node sends
# $4 \cdot 3 \cdot 4 = 48$.

# %%
(a**3).grad_fn(torch.tensor(4.0))

# %%
assert (a**3).grad_fn(torch.tensor(4.0)) == 48

# %% [markdown]
# **Half done.** `exp(a)` at `a = 0`, message 4: the rule is $g \cdot e^a$. And `1 / b` at `b = 5`,
# message 4: the rule is $-g / b^2$.
#
# **All yours.** `relu(a)` lets positive numbers through and makes the others 0. The message is 4. What does
# the node send at `a = 3`, at `a = -3`, and at `a = 0`, where the curve has a corner?

# %%
half, yours = [..., ...], [..., ..., ...]


def sent(operation, at, message=4.0):
    x = torch.tensor(at, requires_grad=True)
    return operation(x).grad_fn(torch.tensor(message))


reciprocal = torch.reciprocal
lab.reveal(half, [sent(torch.exp, 0.0), sent(reciprocal, 5.0)], "03.f")
lab.reveal(yours, [sent(torch.relu, at) for at in (3.0, -3.0, 0.0)], "03.g")

# %% [markdown]
# ## Check a rule you do not trust
#
# Notebook 01 gave you the tool. Somebody claims that the rule of `tanh` is $g \cdot (1 - y^2)$, where `y` is
# the *output*. Nudge it.

# %%
import math

at, h = 0.7, 1e-5
measured = (math.tanh(at + h) - math.tanh(at - h)) / (2 * h)
claimed = 1 - math.tanh(at) ** 2
print(f"measured {measured:.8f}, claimed {claimed:.8f}")
assert abs(measured - claimed) < 1e-8
torch.tanh(torch.tensor(at, requires_grad=True)).grad_fn._saved_result

# %% [markdown]
# The claim is right. It also tells you what this node saves: its **result**, and not its operand. The rule needs
# nothing else. The last line shows that it is there.
#
# ## Modify: three messages in a chain
#
# Here is a chain of three nodes. **Predict** the message on each of its three edges, from the loss
# back. Then change `x` to 2, and predict again.

# %%
messages = [..., ..., ...]  # into the square, out of it, and what reaches x

x = torch.tensor(1.0, requires_grad=True)
u = x * 3
v = u**2
loss = v + 1
(into_square, _) = loss.grad_fn(torch.tensor(1.0))
out_of_square = v.grad_fn(into_square)
(reaches_x, _) = u.grad_fn(out_of_square)
answered = lab.reveal(messages, [into_square, out_of_square, reaches_x], "03.h")

# %%
x.grad = None
((x * 3) ** 2 + 1).backward()
if answered:
    print("the same from backward():", x.grad)
if x.item() == 1:
    assert x.grad == 18

# %% [markdown]
# ## Make: a rule of your own
#
# Write a rule of your own, for `a * b + a`, as if that were a single operation. From the
# message `g` it must send `g * (b + 1)` to `a` and `g * a` to `b`. Then compare with what
# autograd sends.


# %%
def rule(g, a, b):
    return ..., ...  # to a, to b


a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
(a * b + a).backward(torch.tensor(7.0))
lab.reveal(list(rule(7.0, 2.0, 5.0)), [a.grad, b.grad], "03.i")

# %% [markdown]
# ## Exit ticket: what is sent, what is saved
#
# (1) The message 8 comes in at a node of `a + b`. What does the node send to `b`? (2) Which of these nodes must save
# something in forward: `"a + b"`, `"a * b"` or `"a - b"`?

# %%
to_b, saves = ..., ...

lab.reveal(to_b, (a + b).grad_fn(torch.tensor(8.0))[1], "03.j")
saver = next(name for name in results if hasattr(results[name].grad_fn, "_saved_self"))
lab.reveal(saves, saver, "03.k")

# %%
# Practice as long as you like. Without the seed, the questions are new each time.
lab.practice("03", seed=1)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# a = torch.tensor(2.0, requires_grad=True)
# b = torch.tensor(5.0, requires_grad=True)
# print((a * b).grad_fn(torch.tensor(3.0)))   # (tensor(15., ...), tensor(6., ...))
# ```
#
# ## In five lines
#
# 1. One message comes in at a node, and one goes out to each operand.
# 2. What goes out is what came in, times the local derivative. If twice as much comes in, twice as much goes out.
# 3. A sum copies, a product swaps, `max` routes, a function scales.
# 4. The local derivative is the gradient only if the message is 1.
# 5. What the rule needs later, the node saves on the way forward.
#
# ![The message g comes in at the node of a times b. It sends g times b to a, and g times a to b. It has saved a and b.](pictures/03.svg)
#
# - [Exercises 03](../exercises/03_one_node_one_rule.ipynb). The last one is the next piece of your engine: it counts.
# - [Next: 04 · Backward, node by node](04_backward_node_by_node.ipynb)
#
# `autograd_lab/core/rules/arithmetic.py`: each rule has its forward and its `vjp` side by side.
