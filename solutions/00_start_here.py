# ---
# jupyter:
#   autograd_lab:
#     id: "00"
#     minutes: 10
#     points: 3
# ---

# %% [markdown]
# # 00 · Exercises: start here
#
# Three small exercises, to see how they work. Put your answer in place of the dots, run the cell, then run
# the check below it. You may try as often as you like. In a cell of its own,
# `lab.hint("00.1")` gives a hint, and a better one if you ask again; `lab.progress()` counts your points.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 00.1 · Count the operations (1 point)
#
# How many operations does autograd record for this line, if `x` requires a gradient?
#
# ```python
# y = 3 * x**2 - x
# ```

# %%
### BEGIN SOLUTION
operations = 3
### END SOLUTION

# %%
lab.check("00.1", operations)

# %% tags=["item"]
item(
    "00.1",
    kind="predict",
    points=1,
    hints=[
        "One operation for each thing that Python computes.",
        "Python works from the inside out. What comes first: the power, the product or the difference?",
        "x**2, then 3 times that, then minus x.",
    ],
    wrong=[
        wrong_answer(
            1, "", "One line of Python, but not one operation: each of **, * and - makes a tensor of its own."
        ),
        wrong_answer(
            2,
            "",
            "One is missing. Count the signs: **, * and -. The minus between two tensors counts as well.",
        ),
        wrong_answer(
            4,
            "",
            "You may have counted x or the 3. They are there already; an operation is what makes a new tensor.",
        ),
        wrong_answer(
            5,
            "",
            "These are the names and numbers in the line. What counts is the signs between them: **, * and -.",
        ),
    ],
)

# %% [markdown]
# ## 00.2 · A value (1 point)
#
# Which number is `y` in the line from 00.1, at `x = -2`?

# %%
### BEGIN SOLUTION
y = 14
### END SOLUTION

# %%
lab.check("00.2", y)

# %% tags=["item"]
item(
    "00.2",
    kind="number",
    points=1,
    hints=["The square comes first.", "(-2)**2 is 4.", "3 * 4 - (-2)."],
    wrong=[
        wrong_answer(10, "", "Minus minus two is plus two: 12 - (-2)."),
        wrong_answer(-10, "", "The square of -2 is +4: the product is 12, not -12."),
        wrong_answer(38, "", "Only x is squared, not 3 * x: Python takes the power before the product."),
        wrong_answer(12, "", "That is 3 * x**2. The line goes on: minus x."),
        wrong_answer(34, "", "Only x is squared, not 3 * x; and minus minus two is plus two."),
        wrong_answer(-14, "", "The square of -2 is +4; and minus minus two is plus two."),
    ],
)

# %% [markdown]
# ## 00.3 · Which way? (1 point)
#
# After `y.backward()` the gradient of `x` is `{g}`. You raise `x` by a thousandth. By about how much does
# `y` change? (A number with its sign.)

# %%
### BEGIN SOLUTION
change = -0.013
### END SOLUTION

# %%
lab.check("00.3", change)


# %% tags=["item"]
@variant(g=range(-499, -10))
def thousandth(g=-13):
    return varied(
        answer=g / 1000,
        hints=[
            "The gradient says how many times as far y moves.",
            "A thousandth is 0.001.",
            f"{g} times 0.001.",
        ],
        wrong=[
            wrong_answer(
                -g / 1000, "", "The size is right. The gradient is negative: y goes down when x goes up."
            ),
            wrong_answer(
                g,
                "",
                f"{g} would be the change for a step of 1 (if the curve were a line). The step is 0.001.",
            ),
            wrong_answer(-g, "", "The gradient is negative, so y goes down; and the step is 0.001, not 1."),
            wrong_answer(g / 10_000, "", "One zero too many: a thousandth is 0.001."),
            wrong_answer(g / 100, "", "One zero too few: a thousandth is 0.001."),
            wrong_answer(0.001, "", f"y moves {-g} times as far as x does, and the other way."),
        ],
    )


item("00.3", kind="number", points=1, rtol=0.01, variant=thousandth)
