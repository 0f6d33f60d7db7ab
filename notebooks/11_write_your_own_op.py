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
# # `11` · Write your own op
#
# **45 minutes. You need:** notebooks 03, 08 and 09.
#
# **After this notebook you can**
#
# - write an operation with a forward and a backward of its own, and check it with `gradcheck`;
# - say which slope autograd uses at a kink, and that it is a convention;
# - keep overflow and nan out of values and gradients, also behind `where()`.
#
# **Warm-up**, from memory. (1) `y = x.exp()`, then `x` is overwritten in place (say it is no leaf). Does
# backward work: `"fine"` or `"error"`? (2) `b` has shape `(4,)` and is added to a tensor of shape `(3, 4)`; the
# loss is the sum. What is each element of `b.grad`?

# %%
overwritten, bias = ..., ...  # fill in, then run

import math

import autograd_lab as torch
from autograd_lab import lab

lab.reveal(overwritten, "fine")
b = torch.zeros(4, requires_grad=True)
(torch.ones(3, 4) + b).sum().backward()
lab.reveal(bias, b.grad[0])

# %% [markdown]
# ## Predict
#
# An operation is a class with two functions. `forward` computes and saves; `backward` gets the message `g` from
# above and returns one message for each input. Here somebody forgot something. `x = 3`, and the true gradient
# of `10 * x * x` is 60. **What does `x.grad` say?**
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
lab.reveal(prediction, x.grad)
assert x.grad == 6
assert 10 * 2 * x == 60
lab.step(trace)

# %% [markdown]
# Find `SquareBackward` in the graph. A 10 arrives, and a 6 leaves, as if nothing had arrived. Autograd cannot
# know: your rule *is* the derivative as far as the engine is concerned. Three things to remember:
#
# - call `Square.apply(x)`, not `forward`, or nothing is recorded;
# - `backward` returns the message **times** the slope, in the shape of the input;
# - save tensors with `save_for_backward`, so that their versions are watched.
#
# ## Let the machine check
#
# `gradcheck` nudges each input, as you did in notebook 01, and compares with the rule. **Predict** for the broken
# rule at `x = (1, 3)`: does it notice, although for a message of 1 the rule is right?

# %%
prediction = ...  # True or False: it notices

x = torch.tensor([1.0, 3.0], dtype=torch.float64, requires_grad=True)
with lab.expect(RuntimeError, "Jacobian mismatch"):
    torch.autograd.gradcheck(Square.apply, (x,))
lab.reveal(prediction, True)

# %% [markdown]
# Two matrices with a row for each input: *numerical*, from nudging, and *analytical*, from the rule, one column for
# each message sent into it. The messages were `(1, 0)` and `(0, 1)`. A rule that ignores messages answers the same
# twice, and so puts numbers where nothing should arrive. `gradcheck` wants double precision: with `float32`,
# rounding drowns the difference.
#
# **Worked:** the mended rule. **Half done:** `exp(k * x)` for a number `k`. **All yours:** `x / (1 + x)`, whose
# slope is `1 / (1 + x)**2`. Write the two lines in place of the dots.


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


print(torch.autograd.gradcheck(Worked.apply, (x,)))
assert torch.autograd.gradcheck(Worked.apply, (x,))


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
def good(op, *more):
    try:
        return torch.autograd.gradcheck(lambda t: op.apply(t, *more), (x,), raise_exception=False)
    except (TypeError, RuntimeError):
        return False


print("half:", good(Half, 2.0), " yours:", good(Yours))

# %% [markdown]
# ## At a kink
#
# `relu` has a corner at 0: slope 0 on the left, 1 on the right, and none at the corner. **Predict** what autograd
# gives at `x = 0` for `relu`, `abs`, `sqrt`, and for both inputs of `maximum(a, b)` with `a = b`. (`"inf"` and
# `"error"` are possible answers.)

# %%
prediction = {"relu": ..., "abs": ..., "sqrt": ..., "maximum": [..., ...]}


def slope(f):
    x = torch.tensor(0.0, requires_grad=True)
    f(x).backward()
    return x.grad.item()


truth = {"relu": slope(torch.relu), "abs": slope(torch.abs), "sqrt": str(slope(torch.sqrt))}
a, b = (torch.tensor(5.0, requires_grad=True) for _ in "ab")
torch.maximum(a, b).backward()
truth["maximum"] = [a.grad.item(), b.grad.item()]

# %%
for name, value in truth.items():
    print(f"{name:8}", end=" ")
    lab.reveal(prediction[name], value)
assert truth == {"relu": 0, "abs": 0, "sqrt": "inf", "maximum": [0.5, 0.5]}

# %% [markdown]
# > **You may think** at a kink there is an error instead of a gradient.
# >
# > **That is not what happens.** Autograd never looks at the curve. It runs the rule that somebody wrote for the
# > operation, and the rule must return *something*: 0 for `relu` and `abs`, half of the message each for a tie.
# > These are **conventions**. For `sqrt`, the formula divides by zero: `inf`.
# >
# > **Here it is**: two ways to write one and the same function, and two answers at 0.

# %%
print(slope(torch.relu), slope(lambda x: (x + x.abs()) / 2))
assert [slope(torch.relu), slope(lambda x: (x + x.abs()) / 2)] == [0, 0.5]

# %% [markdown]
# ## The branch not taken
#
# To keep `sqrt` away from 0, somebody chooses with `where`. The values are fine. **Predict** `x.grad` for
# `x = (0, 4)`.
#
# `["0", "0.25"]` · `["inf", "0.25"]` · `["nan", "0.25"]`

# %%
prediction = ...

with lab.record() as trace:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    y = torch.where(x > 0, x.sqrt(), 0.0)
    y.sum().backward()
print("y:", y.tolist())
lab.reveal(prediction, [f"{g:g}" for g in x.grad.tolist()])
assert math.isnan(x.grad[0].item())
assert x.grad[1] == 0.25
lab.step(trace)

# %% [markdown]
# > **You may think** `where()` protects the branch that is not taken.
# >
# > **That is not what happens.** Both branches are computed, and backward walks through both. The one not taken
# > gets a message of 0, and `sqrt` multiplies it by its slope: 0 times `inf` is `nan`. One `nan` is enough to ruin
# > every weight before it.
# >
# > **Here it is**, mended: make the *input* safe before the dangerous operation, and choose afterwards.

# %%
x = torch.tensor([0.0, 4.0], requires_grad=True)
safe = torch.where(x > 0, x, 1.0)
y = torch.where(x > 0, safe.sqrt(), 0.0)
y.sum().backward()
print("y:", y.tolist(), " x.grad:", x.grad.tolist())
assert x.grad.tolist() == [0, 0.25]

# %% [markdown]
# ## Modify
#
# An own rule can be steadier than the graph. `log(1 + exp(x))`, the *softplus*, overflows at `x = 100` in
# `float32`, although its slope there is simply 1. **Predict** what the graph gives, then write a
# `Function` that gives 1 instead: the slope is `1 / (1 + exp(-x))`.

# %%
prediction = ...

x = torch.tensor(100.0, requires_grad=True)
(1 + x.exp()).log().backward()
lab.reveal(prediction, str(x.grad.item()))
assert math.isnan(x.grad.item())

# %% [markdown]
# ## Exit ticket
#
# (1) An operation takes `x` of shape `(5,)` and a number, and returns one element. What is the shape of the
# first message that its `backward` returns? (2) Does `gradcheck` compare the rule with a `"formula"` or with
# `"nudging"`?

# %%
shape, compared_with = ..., ...

lab.reveal(shape, (5,))
lab.reveal(compared_with, "nudging")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# import torch
#
# x = torch.tensor([0.0, 4.0], requires_grad=True)
# torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
# print(x.grad)            # tensor([   nan, 0.2500])
# ```
#
# A class derived from `torch.autograd.Function` runs there without a change.
#
# **Where in the source?** `autograd_lab/autograd/function.py` and `gradcheck.py`. **Exercises:** `exercises/11`.
# **Next:** *Gradients of gradients*, the next notebook.
