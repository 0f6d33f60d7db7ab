# ---
# jupyter:
#   autograd_lab:
#     id: "01"
#     minutes: 30
#     points: 8
# ---

# %% [markdown]
# # 01 · Exercises: nudge and measure
#
# Put your answers in place of the dots and run the check below. `lab.hint("01.1")`, in a cell of its own,
# gives the first of three hints.

# %%
import math

import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 01.1 · Which nudge? (2 points)
#
# A forward difference in ordinary Python numbers (sixteen digits) measures the slope of `math.exp` at `x = 1`.
# With which `h` is it most accurate? Answer with a letter in quotes.
#
# `"a"` 1e-2 · `"b"` 1e-8 · `"c"` 1e-13 · `"d"` 1e-20

# %%
### BEGIN SOLUTION
answer = "b"
### END SOLUTION

# %%
lab.check("01.1", answer)

# %% tags=["item"]
item(
    "01.1",
    kind="predict",
    points=2,
    hints=[
        "Two errors pull in opposite directions: the bend of the curve, and the digits lost in the subtraction.",
        "The bend costs about h. The lost digits cost about 1e-16 / h. Where are the two equal?",
        "h = 1e-16 / h means h * h = 1e-16.",
    ],
    wrong=[
        wrong_answer(
            "a",
            "",
            "With 1e-2 the curve bends noticeably between x and x + h: the error is about 0.01. A smaller h does better.",
        ),
        wrong_answer(
            "c",
            "",
            "With 1e-13 the two values agree in thirteen of their sixteen digits; after the subtraction three are left. Small is not enough.",
        ),
        wrong_answer(
            "d",
            "",
            "1 + 1e-20 is 1: the nudge is lost, nothing moves, and the measured slope is 0. Smaller is not always better.",
        ),
    ],
)

# %% [markdown]
# ## 01.2 · By hand (2 points)
#
# What does the forward difference with `h = {h}` say for `f(x) = {f}` at `x = {x}`, and what does the central
# difference say? Give a list of two numbers.

# %%
### BEGIN SOLUTION
slopes = [1.5, 1.0]
### END SOLUTION

# %%
lab.check("01.2", slopes)


# %% tags=["item"]
@variant(h=(0.5, 0.25, 0.2, 0.1), x=range(1, 21), c=range(1, 41))
def differences(h=0.5, x=1, c=1):
    f = {at: at**2 - c * at for at in (x - h, x, x + h)}
    below, here, above = map(number, f)
    low, middle, high = f.values()
    if low >= 0:
        return None  # the slip with its sign would be none
    forward, central = 2 * x - c + h, float(2 * x - c)
    fell = f"- {number(middle)}" if middle >= 0 else f"+ {number(-middle)}"
    return varied(
        shown={"f": f"x**2 - {c if c > 1 else ''}{' * ' if c > 1 else ''}x"},
        answer=[forward, central],
        hints=[
            f"Work out f at {below}, {here} and {above} first.",
            f"f({below}) = {number(low)}, f({here}) = {number(middle)}, f({above}) = {number(high)}. "
            f"Forward: from {here} to {above}; central: from {below} to {above}.",
            f"Forward ({number(high)} {fell}) / {h}. Central ({number(high)} + {number(-low)}) / {number(2 * h)}.",
        ],
        wrong=[
            wrong_answer(
                [high - middle, central],
                "",
                "You left out the division by h in the forward difference.",
                score=1,
            ),
            wrong_answer(
                [forward, 2 * central],
                "",
                f"The central difference spans 2h, so it is divided by {number(2 * h)}, not by {h}.",
                score=1,
            ),
            wrong_answer(
                [central, central],
                "M01",
                f"{number(central)} is the true slope. A forward difference is a measurement with an error of its own, here {h}.",
                score=1,
            ),
            wrong_answer(
                [forward, (high + low) / (2 * h)],
                "",
                f"f({below}) is {number(low)}. Taking it away adds {number(-low)} to the difference: {number(high)} - ({number(low)}).",
                score=1,
            ),
            wrong_answer(
                [central - h, central],
                "",
                f"You looked back, from {below} to {here}. A forward difference goes from x to x + h.",
                score=1,
            ),
            wrong_answer(
                [central, forward], "", "The two are swapped: first the forward one, then the central one."
            ),
        ],
    )


item("01.2", kind="number", points=2, partial=True, variant=differences)

# %% [markdown]
# ## 01.3 · Write a central difference (4 points)
#
# Write `central_difference(f, x, h)` for a function of a **list** of numbers: it returns the gradient,
# a list with one slope for each element of `x`. Leave the caller's `x` as it was.


# %%
def central_difference(f, x, h=1e-6):
    """The gradient of f at the list x, one nudge to each side per element."""
    ### BEGIN SOLUTION
    gradient = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / (2 * h))
    return gradient
    ### END SOLUTION


# %%
lab.check("01.3", central_difference)

# %% tags=["item"]
item(
    "01.3",
    kind="code",
    hints=[
        "One slope per element: a loop over the places i of x.",
        "In each turn make two copies of x, nudge one up and one down at place i, and compare f of the two.",
        "(f(up) - f(down)) / (2 * h), collected in a list. `list(x)` copies a list; `up = x` does not.",
    ],
)


@probe(points=1)
def one_number(central_difference):
    "x**3 at 2, with h = 0.1"
    return central_difference(lambda x: x[0] ** 3, [2.0], 0.1)


@probe(points=1)
def three_numbers(central_difference):
    "a * b**2 + c at (2, 3, 5)"
    return central_difference(lambda x: x[0] * x[1] ** 2 + x[2], [2.0, 3.0, 5.0], 0.25)


@probe(points=1, hidden=True)
def other_functions(central_difference):
    "Other functions, other nudges"
    f = lambda x: math.exp(x[0]) * math.sin(x[1]) - x[0] * x[2] ** 3
    found = [central_difference(f, [0.3, 1.2, -0.7], h) for h in (0.2, 0.05)]
    few = [central_difference(lambda x: 7 * x[1], [0.0] * 5, 0.5), central_difference(lambda x: 2.0, [], 0.5)]
    of_a_list = central_difference(lambda x: sum(x + x[:1]), [0.5, 0.25], 0.125)  # an array adds here
    return [*found, central_difference(f, [1, 2, 3]), *few, of_a_list]


@probe(points=1, hidden=True)
def x_is_left_alone(central_difference):
    "Asked twice with the same list, and for another function"
    x, y = [1.5, -2.0], [0.3, 1.1]
    first = central_difference(lambda v: v[0] ** 2 * v[1], x, 0.5)
    second = central_difference(lambda v: v[0] ** 2 * v[1], x, 0.5)
    central_difference(lambda v: v[0] + v[1], y, 0.1)
    third = central_difference(lambda v: v[0] - v[1], x, 0.5)
    found = {
        "first": first,
        "second": second,
        "third": third,
        "x": list(x),
        "to the last digit": y == [0.3, 1.1],
    }
    f = lambda v: v[0] ** 2 - v[1]
    for x[0] in (2.0, -0.5):
        found["another number in the same list"] = central_difference(f, x, 0.25)
    return found


@wrong("", "You measured to one side only. A central difference looks to both sides of x: f(x + h) - f(x - h).")  # fmt: skip
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up = list(x)
        up[i] += h
        gradient.append((f(up) - f(x)) / h)
    return gradient


@wrong(
    "",
    "You measured to one side only, downwards. A central difference looks to both sides of x: f(x + h) - f(x - h).",
)
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        down = list(x)
        down[i] -= h
        gradient.append((f(x) - f(down)) / h)
    return gradient


@wrong("", "From x - h to x + h it is 2h: divide by 2 * h, not by h.")
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / h)
    return gradient


@wrong(
    "",
    "All elements are nudged at once, so their slopes are mixed. Move one element at a time, and leave the others.",
    score=1,
)
def central_difference(f, x, h=1e-6):
    up, down = [v + h for v in x], [v - h for v in x]
    return [(f(up) - f(down)) / (2 * h)] * len(x)


@wrong(
    "",
    "The nudges stay in the caller's list: a second name for a list is no second list. Copy it with list(x).",
)
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up = x
        up[i] += h
        high = f(up)
        up[i] -= h
        gradient.append((high - f(up)) / (2 * h))
        up[i] += h
    return gradient


@wrong("", "The list stays nudged after each turn, so every later slope is measured elsewhere. Make new copies in each turn.", score=1)  # fmt: skip
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        old = x[i]
        x[i] = old + h
        high = f(x)
        x[i] = old - h
        low = f(x)
        gradient.append((high - low) / (2 * h))
    return gradient


@wrong(
    "",
    "The caller's list is not quite as it was: adding a nudge and taking it away rounds. Work on copies, or put the old number back.",
    score=3,
)
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        x[i] += h
        high = f(x)
        x[i] -= 2 * h
        low = f(x)
        x[i] += h
        gradient.append((high - low) / (2 * h))
    return gradient


@wrong(
    "",
    "A list without numbers has a gradient without slopes, []. Yours needs a first element.",
    score=3,
)
def central_difference(f, x, h=1e-6):
    def slopes_from(i):
        up, down = list(x), list(x)
        up[i] += h
        down[i] -= h
        slope = (f(up) - f(down)) / (2 * h)
        return [slope] if i + 1 == len(x) else [slope, *slopes_from(i + 1)]

    return slopes_from(0)


@wrong("", "The gradient has one slope per element of x; you gave only the first.", score=1)
def central_difference(f, x, h=1e-6):
    up, down = list(x), list(x)
    up[0] += h
    down[0] -= h
    return [(f(up) - f(down)) / (2 * h)]


@wrong("", "You divide by 2 and then multiply by h. Python reads from left to right: write / (2 * h).")
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / 2 * h)
    return gradient


@wrong("", "You added the slopes up. The gradient keeps them apart: a list, with one slope for each element.")
def central_difference(f, x, h=1e-6):
    gradient = 0
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += h
        down[i] -= h
        gradient += (f(up) - f(down)) / (2 * h)
    return gradient


@wrong("", "Each turn finds the elements before its own nudged as well. Nudge one element at a time: a new copy of x in each turn.", score=1)  # fmt: skip
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up, down = ([v + n if place <= i else v for place, v in enumerate(x)] for n in (h, -h))
        gradient.append((f(up) - f(down)) / (2 * h))
    return gradient


@wrong("", "Each turn finds the elements before its own nudged as well. Nudge one element at a time: a new copy of x in each turn.", score=1)  # fmt: skip
def central_difference(f, x, h=1e-6):
    gradient, up, down = [], list(x), list(x)
    for i in range(len(x)):
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / (2 * h))
    return gradient


@wrong("", "Only the last slope is left. Make the list once, before the loop, and put every slope into it.", score=1)  # fmt: skip
def central_difference(f, x, h=1e-6):
    for i in range(len(x)):
        gradient, up, down = [], list(x), list(x)
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / (2 * h))
    return gradient


@wrong("M01", "This is the true slope, or one with a nudge of your own. The h that the caller gives must be used: with 0.1 a "
       "measurement of x**3 at 2 says 12.01, not 12.", score=2)  # fmt: skip
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += 1e-6
        down[i] -= 1e-6
        gradient.append((f(up) - f(down)) / 2e-6)
    return gradient


@wrong("", "You have the slopes, but the function returns nothing: `return` the list at the end.")
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += h
        down[i] -= h
        gradient.append((f(up) - f(down)) / (2 * h))


@wrong(
    "",
    "x is a list, and Python cannot add the number h to a list. Nudge one element, in a copy of the list.",
)
def central_difference(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


@wrong("", "Up and down are swapped: the sign of every slope is turned around.")
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += h
        down[i] -= h
        gradient.append((f(down) - f(up)) / (2 * h))
    return gradient


@wrong("", "You go half of h to each side. A central difference goes the whole h to each side, so that the two are 2 * h apart.", score=2)  # fmt: skip
def central_difference(f, x, h=1e-6):
    gradient = []
    for i in range(len(x)):
        up, down = list(x), list(x)
        up[i] += h / 2
        down[i] -= h / 2
        gradient.append((f(up) - f(down)) / h)
    return gradient


@wrong(
    "",
    "Another function gets the slopes of an earlier one. What you remember from one call must not answer the next.",
    score=3,
)
def central_difference(f, x, h=1e-6, known={}):  # noqa: B006 (it is the mistake)
    def at(z):
        key = tuple(z)
        if key not in known:
            known[key] = f(z)
        return known[key]

    out = []
    for i in range(len(x)):
        a, b = list(x), list(x)
        a[i] += h
        b[i] -= h
        out.append((at(a) - at(b)) / (2 * h))
    return out


@wrong(
    "",
    "The nudge is not the h of the caller, but grows with x. The h that the caller gives must be used as it is.",
    score=2,
)
def central_difference(f, x, h=1e-6):
    out = []
    for i, v in enumerate(x):
        n = h * max(abs(v), 1)
        a, b = list(x), list(x)
        a[i] += n
        b[i] -= n
        out.append((f(a) - f(b)) / (2 * n))
    return out


@wrong(
    "",
    "For a list of one number you give a number. The gradient is a list in this case too, of one slope.",
    score=3,
)
def central_difference(f, x, h=1e-6):
    out = [
        (f([v + h * (j == i) for j, v in enumerate(x)]) - f([v - h * (j == i) for j, v in enumerate(x)]))
        / (2 * h)
        for i in range(len(x))
    ]
    return out[0] if len(out) == 1 else out


@wrong(
    "",
    "What you give to f is no list: where f puts two lists together with +, yours adds number to number. f is a function of a list.",
    score=3,
)
def central_difference(f, x, h=1e-6):
    x = np.array(x, dtype=float)
    return [float((f(x + e) - f(x - e)) / (2 * h)) for e in h * np.eye(len(x))]


@wrong(
    "",
    "Of two equal elements your nudge finds only the first. An element is known by its place in the list, not by its value.",
    score=3,
)
def central_difference(f, x, h=1e-6):
    out = []
    for v in x:
        i = x.index(v)
        up, down = x.copy(), x.copy()
        up[i] = v + h
        down[i] = v - h
        out.append((f(up) - f(down)) / (2 * h))
    return out


@wrong(
    "",
    "Where all elements are whole numbers, the nudged ones are cut to whole numbers as well. Nudge floats.",
    score=3,
)
def central_difference(f, x, h=1e-6):
    grad = []
    for i in range(len(x)):
        up, down = np.array(x), np.array(x)
        up[i] += h
        down[i] -= h
        grad.append(float((f(up.tolist()) - f(down.tolist())) / (2 * h)))
    return grad


@right
def central_difference(f, x, h=1e-6):
    def at(i, step):
        return f([v + step * (i == j) for j, v in enumerate(x)])

    return [(at(i, h) - at(i, -h)) / (2 * h) for i in range(len(x))]


@right
def central_difference(f, x, h=1e-6):
    import numpy as np

    point = np.array(x)
    nudges = h * np.eye(len(x))
    return [(f(list(point + n)) - f(list(point - n))) / (2 * h) for n in nudges]


@right
def central_difference(f, x, h=1e-6):
    slopes = []
    for place in range(len(x)):
        above = [value + h if i == place else value for i, value in enumerate(x)]
        below = [value - h if i == place else value for i, value in enumerate(x)]
        slopes += [(f(above) - f(below)) / 2 / h]
    return slopes


@right
def central_difference(f, x, h=1e-6):
    """On the caller's list, but every nudge is taken back exactly."""
    gradient = [0.0] * len(x)
    for i, old in enumerate(x):
        x[i] = old + h
        high = f(x)
        x[i] = old - h
        low = f(x)
        x[i] = old
        gradient[i] = (high - low) * 0.5 / h
    return gradient


@right
def central_difference(f, x, h=1e-6):
    def slopes_from(place):
        if place == len(x):
            return []
        value_up = f([*x[:place], x[place] + h, *x[place + 1 :]])
        value_down = f([*x[:place], x[place] - h, *x[place + 1 :]])
        return [(value_up - value_down) / (2 * h), *slopes_from(place + 1)]

    return slopes_from(0)


@right
def central_difference(f, x, h=1e-6):
    import numpy as np

    table = np.tile(np.array(x, dtype=float), (len(x), 1))
    step = np.diag([h] * len(x))
    return [(f(up.tolist()) - f(down.tolist())) / (2 * h) for up, down in zip(table + step, table - step)]


@right
def central_difference(f, x, h=1e-6):
    import copy

    gradient = {}
    for i in range(len(x) - 1, -1, -1):
        up = copy.copy(x)
        up[i] = up[i] + h
        down = x[:]
        down[i] = down[i] - h
        gradient[i] = f(up) / (2 * h) - f(down) / (2 * h)
    return [gradient[i] for i in range(len(x))]
