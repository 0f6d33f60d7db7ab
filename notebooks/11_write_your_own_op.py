# ---
# jupyter:
#   autograd_lab:
#     id: "11"
#     minutes: 45
#     needs: ["03", "08", "09"]
#     goals:
#       - write an operation with a forward and a backward of its own, and check it with gradcheck
#       - say which slope autograd uses at a kink, and that it is a convention
#       - keep overflow and nan out of values and gradients, also behind where()
#     refutes: [M25, M26]
#     retests: [M01, M18, M20, M22]
#     points: 0
# ---

# %% [markdown]
# # 11 · Write your own op
#
# **45 minutes. You need:** notebooks 03, 08 and 09.
#
# The loss is fine. After the next step every weight is `nan`, "not a number", and no value was `nan` on the way. **Where does
# it come from?** In this notebook you write rules yourself, and see what a rule may do wrong.
#
# **Warm-up**, from memory. (1) `y = x.exp()`, then `x`, which is not a leaf, is overwritten in place. Does
# backward work: `"fine"` or `"error"`? (2) `b` has shape `(4,)` and is added to a tensor of shape `(3, 4)`. The
# loss is the sum. What is each element of `b.grad`?

# %%
overwritten, bias = ..., ...  # fill in, then run

import math

import autograd_lab as torch
from autograd_lab import lab

h = torch.tensor(1.0, requires_grad=True) * 2
y = h.exp()
h += 1
try:
    y.backward()
    lab.reveal(overwritten, "fine", "11.a")
except RuntimeError:
    lab.reveal(overwritten, "error", "11.a")
b = torch.zeros(4, requires_grad=True)
(torch.ones(3, 4) + b).sum().backward()
lab.reveal(bias, b.grad[0], "11.b")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Time*: 10 minutes to the check, 13 for *gradcheck* and the three rules, 7 for kinks, 10
# for *The branch not taken*, 5 for the rest. Each vote adds 8.
#
# *Ask* `lab.classroom("M25")` before *At a kink* and `lab.classroom("M26")` before *The branch not taken*, or
# keep that one for the next session.
#
# *Short of time*: leave out the two tables and *Modify*; exercise 11.2 is about overflow as well. Do not leave
# out `where`: of all that is here, it is what students meet first in their own code.

# %% [markdown]
# ## Predict: a rule with a slip
#
# An operation is a class with two functions. `forward` computes and saves. `backward` gets the message `g` that
# arrives, and returns a message for each input. Both get a `ctx` to keep things in. It is the node that will stand in
# the graph. Here somebody forgot something. `x = 3`, and the true gradient of `10 * x * x` is 60. **What does
# `x.grad` say?**
#
# `6` · `10` · `60` · `"error"`

# %%
prediction = ...


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x  # something is missing


# %%
with lab.record() as trace:
    x = torch.tensor(3.0, requires_grad=True)
    y = Square.apply(x) * 10
    y.backward()
ignored = x.grad.item()
lab.reveal(prediction, ignored, "11.c")
lab.step(trace)

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 18 of 27, a 10 comes in, and at step 21 of 27, a 6 goes out. *Ask*:
# "Which line should have mentioned the 10?"
#
# *Expect* 60, from "autograd knows what a square is". The sentence that helps: "It knows nothing. It believes
# you."
#
# Some save tensors as `ctx.x = x`, and it seems to work. Ask what the version counter of notebook 10 watches
# then.

# %% [markdown]
# `SquareBackward` is the node of your class. Step to it: what arrives there, and what leaves? Three things to remember:
#
# - call `Square.apply(x)`, not `forward`, or nothing is recorded;
# - `backward` returns the message **times** the slope, in the shape of the input;
# - save tensors with `save_for_backward`, so that autograd watches their versions.
#
# ## Let the machine check: `gradcheck`
#
# `gradcheck` nudges each input, as you did in notebook 01, and compares with the rule. **Predict** for the broken
# rule at `x = (1, 3)`: does it notice, although for a message of 1 the rule is right?

# %%
prediction = ...  # True or False: it notices

pair = torch.tensor([1.0, 3.0], dtype=torch.float64, requires_grad=True)
passes = torch.autograd.gradcheck(Square.apply, (pair,), raise_exception=False)
lab.reveal(prediction, not passes, "11.d")

# %% [markdown]
# `gradcheck` builds two tables with a row for each input: *numerical*, from nudging, and *analytical*, from the rule. Each
# message that goes into the rule makes a column. With two inputs the messages are `(1, 0)` and `(0, 1)`. The picture
# has five inputs. **Before you run it**: which of the tables shows numbers off the diagonal, where there should be
# zeros?

# %%
from autograd_lab.course import plots

assert not passes
assert (ignored, 10 * 2 * 3) == (6, 60)
points = torch.tensor([1.0, 3.0, 2.0, 5.0, 4.0], dtype=torch.float64, requires_grad=True)
messages = torch.eye(5, dtype=torch.float64)
nudges = [m / 10**6 for m in messages]
nudged = [(Square.apply(points + n) - Square.apply(points - n)) * 10**6 / 2 for n in nudges]
sent = [torch.autograd.grad(Square.apply(points), points, m)[0] for m in messages]
both = torch.stack(nudged), torch.stack(sent, 1)
plots.tables(*both, titles=["numerical", "analytical"], rows="input", columns="message")

# %% [markdown]
# If a rule ignores its message, it sends the same for every message. (`gradcheck` wants numbers of 64 bits. Nudging
# is never exact, and in `float32` the rounding would hide the difference.)
#
# Here are three rules to write. The cell below them checks each.
#
# - **Worked:** the square, mended.
# - **Half done:** `exp(k * x)` for a number `k`. The slope is `k * exp(k * x)`, and the second factor is what
#   `forward` has saved. Take away the `#`, then put the message for `x` in place of the dots.
# - **All yours:** `x / (1 + x)`, whose slope is `1 / (1 + x)**2`. Write both lines of its `backward`.


# %%
class Worked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


def verdict(op, *more):
    try:
        torch.autograd.gradcheck(lambda t: op.apply(t, *more), (pair,))
        return "right"
    except (TypeError, NameError, AttributeError, RuntimeError) as error:
        return f"not yet: {error}"


# %%
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        y = (k * x).exp()
        ctx.save_for_backward(y)  # the result is enough
        ctx.k = k  # a number, not a tensor: keep it on ctx
        return y

    @staticmethod
    def backward(ctx, g):
        # (y,) = ctx.saved_tensors
        return ..., None  # one for each input of forward; the number k gets None


# %%
class Yours(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x)

    @staticmethod
    def backward(ctx, g):
        return ...


# %%
assert verdict(Worked) == "right"
print("worked:", verdict(Worked))
print("half:", verdict(Half, 2.0))
print("yours:", verdict(Yours))

# %% [markdown]
# ## At a kink: which slope?
#
# `relu` has a **kink** at 0, a corner: slope 0 on the left, 1 on the right, and none at the corner. **Predict** what autograd
# gives at `x = 0` for `relu`, `abs`, `sqrt`, and for both inputs of `maximum(a, b)` with `a = b`. (`"inf"` and
# `"error"` are possible answers.)

# %%
prediction = {"relu": ..., "abs": ..., "sqrt": ..., "maximum": [..., ...]}


def slope(f, at=0.0):
    x = torch.tensor(at, requires_grad=True)
    f(x).backward()
    return x.grad.item()


truth = {"relu": slope(torch.relu), "abs": slope(torch.abs), "sqrt": str(slope(torch.sqrt))}
a, b = (torch.tensor(5.0, requires_grad=True) for _ in "ab")
torch.maximum(a, b).backward()
truth["maximum"] = [a.grad.item(), b.grad.item()]

# %%
answered = lab.reveal(prediction, truth, "11.e")

# %% [markdown]
# Here are two ways to write the same function. Do they agree at the kink?

# %%
assert truth == {"relu": 0, "abs": 0, "sqrt": "inf", "maximum": [0.5, 0.5]}
if answered:
    print(slope(torch.relu), slope(lambda x: (x + x.abs()) / 2))
assert [slope(torch.relu), slope(lambda x: (x + x.abs()) / 2)] == [0, 0.5]

# %% [markdown]
# ## The branch not taken
#
# To keep `sqrt` away from 0, somebody chooses with `where`. The values are fine. **Predict** `x.grad` for
# `x = (0, 4)`.
#
# `["0", "0.25"]` · `["inf", "0.25"]` · `["nan", "0.25"]`
#
# Then press *Step*: this time the stepper **asks you** what each node sends before it shows it. Answer for two numbers
# at once, such as `1, 1`.

# %%
prediction = ...

with lab.record() as trace:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    y = torch.where(x > 0, x.sqrt(), 0.0)
    y.sum().backward()
print("y:", y.tolist())
gradient = x.grad.tolist()
lab.reveal(prediction, [f"{g:g}" for g in gradient], "11.f")
lab.step(trace, predict="grad")

# %% [markdown] tags=["instructor"]
# **For the instructor.** *Stop at* step 22 of 32, when the message 0 sets out for the root. *Ask*: "What is 0
# times infinity?" Collect answers before step 26 of 32.
#
# *Expect* "0 times anything is 0", and after that "then `where` is broken". The sentence that helps: "`where`
# chose the *value*. The message is not a choice, it is a product."

# %% [markdown]
# Here is the cure: make the *input* safe before the dangerous operation, and choose afterwards.

# %%
assert math.isnan(gradient[0])
assert gradient[1] == 0.25
x = torch.tensor([0.0, 4.0], requires_grad=True)
safe = torch.where(x > 0, x, 1.0)
y = torch.where(x > 0, safe.sqrt(), 0.0)
y.sum().backward()
print("y:", y.tolist(), " x.grad:", x.grad.tolist())
assert x.grad.tolist() == [0, 0.25]

# %% [markdown]
# ## Modify: a steadier rule
#
# A rule of your own can be steadier than the graph. In `log(1 + exp(x))`, the *softplus*, `exp` overflows to `inf` at
# `x = 100` in `float32`, although the slope there is simply 1. **Predict** the slope that the graph gives: `"0"`, `"1"`,
# `"inf"` or `"nan"`?

# %%
prediction = ...

overflowed = slope(lambda x: (1 + x.exp()).log(), at=100.0)
lab.reveal(prediction, str(overflowed), "11.g")

# %% [markdown]
# Now **modify** the rule below. As a formula it is right, and `gradcheck` agrees. But it divides `exp(x)` by `1 + exp(x)`, and
# at 100 both are `inf`. Divide the top and the bottom of the fraction by `exp(x)`, and write the rule so that the
# slope at 100 is 1.


# %%
class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 50, x, (1 + x.exp()).log())

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.exp() / (1 + x.exp())


assert math.isnan(overflowed)
print("gradcheck:", verdict(Softplus), " slope at 100:", slope(Softplus.apply, at=100.0))

# %% [markdown]
# ## Exit ticket: a shape and a number
#
# (1) An operation takes `x` of shape `(5,)`, and returns one element, the sum. A message comes in. What is the shape of
# the message that its `backward` returns? (2) The slope of `x**3` at 2 is exactly 12. Which of gradcheck's two numbers
# is not quite 12: the `"numerical"` or the `"analytical"`?

# %%
shape, inexact = ..., ...

total = torch.ones(5, requires_grad=True).sum()
lab.reveal(shape, total.grad_fn(torch.tensor(1.0)).shape, "11.h")
h = 1e-6
nudged = ((2 + h) ** 3 - (2 - h) ** 3) / (2 * h)
assert slope(lambda x: x**3, at=2.0) == 12
lab.reveal(inexact, "analytical" if nudged == 12 else "numerical", "11.i")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
# print(torch.autograd.gradcheck(torch.tanh, (x,)))    # True
# ```
#
# A class derived from `torch.autograd.Function` runs there without a change.
#
# ## In five lines
#
# 1. A `Function` has a `forward`, and a `backward` that returns the message times the slope.
# 2. The engine believes your rule. `gradcheck` does not: it nudges.
# 3. At a kink there is no slope. The rule returns a value by convention.
# 4. `where` chooses values. Backward goes through both branches, and 0 times `inf` is `nan`.
# 5. So make the input safe first, and choose afterwards.
#
# ![Forward, where takes the value of one of two branches. Backward, a message goes into each branch, also into the one that was not taken.](pictures/11.svg)
#
# - [Exercises 11](../exercises/11_write_your_own_op.ipynb)
# - [Next: 12 · Gradients of gradients](12_gradients_of_gradients.ipynb)
#
# Source: `Function` in `autograd_lab/torchlike/autograd/function.py`.
