# ---
# jupyter:
#   autograd_lab:
#     id: "03"
#     minutes: 40
#     points: 11
# ---

# %% [markdown]
# # 03 · Exercises: one node, one rule
#
# Put your answers in place of the dots and run the check below. `lab.hint("03.1")`, in a cell of its own,
# gives the first of three hints.

# %%
import math

import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 03.1 · Six nodes (3 points)
#
# The message `{m}` comes in at each node. What does the node send **to `a`**? In all six, `a = {a}` and `b = {b}`. Give a
# list of six numbers.
#
# 1. `a + b`
# 2. `b - a`
# 3. `a * b`
# 4. `a ** 3`
# 5. `max(a, b)`
# 6. `a / b`

# %%
### BEGIN SOLUTION
to_a = [6, -6, 30, 72, 0, 1.2]
### END SOLUTION

# %%
lab.check("03.1", to_a)


# %% tags=["item"]
@variant(m=range(4, 61), a=range(2, 8), b=(4, 5, 8, 10, 20, 25, 40, 50))
def six_nodes(m=6, a=2, b=5):
    if a >= b:
        return None  # max is to be b
    cube = 3 * a**2
    right = [m, -m, m * b, m * cube, 0, m / b]

    def but(place, value):
        return [value if i == place else one for i, one in enumerate(right, start=1)]

    return varied(
        answer=right,
        hints=[
            f"The message times the local derivative with respect to a, at a = {a} and b = {b}.",
            "Local derivatives: 1, -1, b, 3 * a**2, 0 or 1, 1 / b.",
            "max(a, b) is b here: moving a a little changes nothing.",
        ],
        wrong=[
            wrong_answer(
                [1, -1, b, cube, 0, 1 / b],
                "",
                f"These are the local derivatives. The message {m} says how much the output matters: each is multiplied by it.",
            ),
            wrong_answer(
                but(2, m),
                "",
                "In b - a the operand a is subtracted: when a goes up, the output goes down. Its message turns its sign.",
                score=2.5,
            ),
            wrong_answer(
                but(3, m * a),
                "",
                "In a product the factors swap: what goes to a is scaled by b, the other one.",
                score=2.5,
            ),
            wrong_answer(
                but(4, m * 3 * a),
                "",
                f"The power goes down by one, from 3 to 2: the local derivative of a**3 is 3 * a**2 = {cube}, not 3 * a.",
                score=2.5,
            ),
            wrong_answer(
                but(4, m * a**3),
                "",
                f"{a**3} is the value of a**3. Its message is scaled by the derivative, 3 * a**2 = {cube}.",
                score=2.5,
            ),
            wrong_answer(
                but(6, m * b),
                "",
                "The swap is for products. In a / b the operand a is multiplied by 1 / b, so that is its factor.",
                score=2.5,
            ),
            wrong_answer(
                but(6, -m * a / b**2),
                "",
                f"-{m} * a / b**2 is what a / b sends to b. The question is what goes to a.",
                score=2.5,
            ),
            wrong_answer(
                [a + b, b - a, a * b, a**3, b, a / b],
                "",
                "These are the values of the nodes. On the way back a node sends the message times its local derivative.",
                score=0,
            ),
            wrong_answer(
                but(5, m),
                "",
                "max sends the whole message to the larger operand. That is b; a gets 0.",
                score=2.5,
            ),
            wrong_answer(
                but(5, m / 2),
                "",
                "max halves the message only if both operands are equal. Here b is larger and takes all of it.",
                score=2.5,
            ),
        ],
    )


item("03.1", kind="number", points=3, partial=True, variant=six_nodes)

# %% [markdown]
# ## 03.2 · Who saves what? (2 points)
#
# On the way back a rule needs some numbers of the forward run. Which of them must the node save, if `a` and `b` both
# require a gradient? Choose for each node from `"nothing"`, `"operands"`, `"result"`.
#
# 1. `a + b`
# 2. `a * b`
# 3. `torch.exp(a)`
# 4. `torch.tanh(a)`

# %%
### BEGIN SOLUTION
saves = ["nothing", "operands", "result", "result"]
### END SOLUTION

# %%
lab.check("03.2", saves)

# %% tags=["item"]
item(
    "03.2",
    kind="predict",
    points=2,
    partial=True,
    hints=[
        "Write the rule down. Which letters are in it besides g?",
        "The rule of exp is g * exp(a), and exp(a) has been computed already. Look: `y.grad_fn._saved_result`.",
        "g and g; g * b and g * a; g * y; g * (1 - y**2).",
    ],
    wrong=[
        wrong_answer(
            ["nothing", "operands", "operands", "operands"],
            "",
            "It would work, but exp(a) and tanh(a) would be computed twice. Their rules are written with the result y: g * y and "
            "g * (1 - y**2).",
            score=1,
        ),
        wrong_answer(
            ["nothing", "operands", "operands", "result"],
            "",
            "The derivative of exp is exp itself: the rule is g * y, with the result y, which is there already.",
            score=1.5,
        ),
        wrong_answer(
            ["nothing", "operands", "result", "operands"],
            "",
            "The derivative of tanh is 1 - tanh(a)**2, that is 1 - y**2: the result is all that the rule needs.",
            score=1.5,
        ),
        wrong_answer(
            ["operands", "operands", "result", "result"],
            "",
            "The rule of a sum is g and g: no number of the forward run is in it. It saves nothing.",
            score=1.5,
        ),
        wrong_answer(
            ["nothing", "result", "result", "result"],
            "",
            "From the product alone you do not get the factors back. a gets g * b, so the node must keep b. And b gets g * a, so it must keep a.",
            score=1.5,
        ),
        wrong_answer(
            ["nothing", "nothing", "nothing", "nothing"],
            "",
            "Then backward would have nothing to multiply with. Only copying (a + b) needs no numbers.",
            score=0.5,
        ),
    ],
)

# %% [markdown]
# ## 03.3 · Write three rules (5 points)
#
# A rule gets the message `g` and the operands. It returns what goes to each operand (numbers in, numbers
# out). Write the rules of `a / b`, of `sigmoid(a)` and of `leaky(a)`, which is `a` for `a > 0` and `0.1 * a`
# elsewhere. The check waits until all three are written.


# %%
def divide_rule(g, a, b):
    """What the node of a / b sends: (to a, to b)."""
    ### BEGIN SOLUTION
    return g / b, -g * a / b**2
    ### END SOLUTION


def sigmoid_rule(g, a):
    """What the node of 1 / (1 + exp(-a)) sends to a."""
    ### BEGIN SOLUTION
    y = 1 / (1 + math.exp(-a))
    return g * y * (1 - y)
    ### END SOLUTION


def leaky_rule(g, a):
    """What the node of leaky(a) sends to a; at 0 the slope 0.1 counts."""
    ### BEGIN SOLUTION
    return g if a > 0 else 0.1 * g
    ### END SOLUTION


# %%
lab.check("03.3", [divide_rule, sigmoid_rule, leaky_rule])

# %% tags=["item"]
item(
    "03.3",
    kind="code",
    hints=[
        "Find the local derivative of each function first, then multiply by g. Unsure? Nudge it.",
        "a / b: 1 / b and -a / b**2. sigmoid with result y: y * (1 - y). leaky: 1 or 0.1.",
        "g multiplies every one of them, also in the branch where leaky has the slope 0.1.",
    ],
    equivalent={
        "11: -a -> a": "sigmoid(-a) is 1 - sigmoid(a), and y * (1 - y) is the same for both",
        "1: the first answer for these objects, in all calls": "a number does not change",
        "8: the first answer for these objects, in all calls": "a number does not change",
        "16: the first answer for these objects, in all calls": "a number does not change",
    },
)


@probe(points=1, cases=[(2.0, 4.0), (9.0, 4.0)])
def division(rules, a, b):
    "a / b with g = 3, a = {0}, b = {1}"
    return list(rules[0](3.0, a, b))


@probe(points=1)
def sigmoid(rules):
    "sigmoid with g = 2, a = 0.75"
    return rules[1](2.0, 0.75)


@probe(points=1)
def leaky(rules):
    "leaky with g = 3, at 2, at -2 and at 0"
    return [rules[2](3.0, a) for a in (2.0, -2.0, 0.0)]


@probe(points=2, hidden=True)
def against_autograd(rules):
    "Other numbers"
    divide, smooth, piece = rules
    found = [
        [list(divide(g, a, b)), smooth(g, a), piece(g, a)]
        for g, a, b in [
            (-1.5, 0.75, -2.5),
            (0.5, -1.25, 0.4),
            (0.0, 3.0, 7.0),
            (2.0, 1e-9, 1e3),
            (-40.0, -6.0, 0.01),
            (1.7e-3, -0.3, 11.0),
        ]
    ]
    return [*found, list(divide(4.0, 0.0, -3.0))]


@look("A rule asks the lab's autograd for the derivative, instead of knowing it.")
def asks_autograd(rules):
    with lab.record() as trace:
        ran = called(lambda: (rules[0](3.0, 2.0, 4.0), rules[1](2.0, 0.5), rules[2](3.0, -2.0)))
    asked = any(event["k"] == "done" for event in trace.events)
    return asked or any(module == torch.func.__name__ for module, _ in ran)


def _rules(divide=None, smooth=None, piece=None):
    def sig(g, a):
        y = 1 / (1 + math.exp(-a))
        return g * y * (1 - y)

    return [
        divide or (lambda g, a, b: (g / b, -g * a / b**2)),
        smooth or sig,
        piece or (lambda g, a: g if a > 0 else 0.1 * g),
    ]


wrong(
    "",
    "What goes to b is not divided by b**2, as it should be: the slope of a / b by b is -a / b**2.",
    score=2,
)(_rules(divide=lambda g, a, b: (g / b, -g * a / b)))
wrong(
    "M03",
    "Nothing goes to b, as if it were a constant. It is an operand like a: when b grows, a / b shrinks.",
    score=2,
)(_rules(divide=lambda g, a, b: (g / b, 0.0)))
wrong("", "The second operand of a division: when b grows, a / b shrinks. A minus is missing.", score=2)(
    _rules(divide=lambda g, a, b: (g / b, g * a / b**2))
)
wrong("", "b gets -g * a / b**2; you forgot the factor a.", score=2)(
    _rules(divide=lambda g, a, b: (g / b, -g / b**2))
)
wrong(
    "",
    "A swap is the rule of a product. For a / b write a * (1 / b) and differentiate both factors.",
    score=2,
)(_rules(divide=lambda g, a, b: (g * b, g * a)))
wrong(
    "",
    "Your rule of sigmoid leaves out the message g: it gives the local derivative, not the gradient.",
    score=2,
)(_rules(smooth=lambda g, a: (1 / (1 + math.exp(-a))) * (1 - 1 / (1 + math.exp(-a)))))
wrong(
    "",
    "The slope of sigmoid is its result times 1 minus its result. You take the operand a for the result.",
    score=2,
)(_rules(smooth=lambda g, a: g * a * (1 - a)))
wrong("", "Below 0 the line still rises by 0.1: your rule sends nothing there, like relu.", score=2)(
    _rules(piece=lambda g, a: g if a > 0 else 0.0)
)
wrong("", "Below 0 you send the slope 0.1 itself; the message g belongs to it.", score=2)(
    _rules(piece=lambda g, a: g if a > 0 else 0.1)
)
wrong("", "At the corner the slope 0.1 was agreed on: a > 0, not a >= 0.", score=4)(
    _rules(piece=lambda g, a: g if a >= 0 else 0.1 * g)
)
wrong(
    "",
    "What goes to a is right. What goes to b is the local derivative -a / b**2 alone; the message g is missing.",
    score=2,
)(_rules(divide=lambda g, a, b: (g / b, -a / b**2)))
wrong("", "You have the local derivatives, 1 / b and -a / b**2. The message g multiplies both.", score=2)(
    _rules(divide=lambda g, a, b: (1 / b, -a / b**2))
)
wrong(
    "",
    "You divide by b once and multiply by 2. The square is b**2, and Python divides and multiplies from left "
    "to right.",
    score=2,
)(_rules(divide=lambda g, a, b: (g / b, -g * a / b * 2)))
wrong("", "A division has two operands, so two gradients go back: return a pair, (to a, to b).", score=2)(
    _rules(divide=lambda g, a, b: g / b)
)
wrong("", "The two are swapped: first what goes to a, then what goes to b.", score=2)(
    _rules(divide=lambda g, a, b: (-g * a / b**2, g / b))
)
wrong(
    "",
    "Your rule of sigmoid sends the message times the result, which is the rule of exp. The factor 1 minus the "
    "result is missing.",
    score=2,
)(_rules(smooth=lambda g, a: g / (1 + math.exp(-a))))
wrong(
    "",
    "Your rule of sigmoid sends the message times 1 minus the result. The result itself, as a factor, is missing.",
    score=2,
)(_rules(smooth=lambda g, a: g * math.exp(-a) / (1 + math.exp(-a))))
wrong(
    "",
    "Your rule of leaky multiplies the message by a. Its slope is 1 or 0.1, and a itself is not in it.",
    score=2,
)(_rules(piece=lambda g, a: g * a if a > 0 else 0.1 * g * a))
wrong(
    "",
    "At 0 and below you send the whole message, as if the number had been let through. It depends on a whether the message goes through whole.",
    score=2,
)(_rules(piece=lambda g, a: g if g > 0 else 0.1 * g))
wrong("M20", "None of your rules uses the message. Each sends the message times its local derivative.")(
    _rules(
        lambda g, a, b: (1 / b, -a / b**2),
        lambda g, a: 1 / (2 + math.exp(a) + math.exp(-a)),
        lambda g, a: 1 if a > 0 else 0.1,
    )
)


wrong(
    "",
    "Your quotients are cut down to whole numbers, as // does it. Divide as a / b does.",
    score=2,
)(_rules(divide=lambda g, a, b: (g // b, -(g * a) // (b * b))))


wrong(
    "",
    "The slope of sigmoid is its result times 1 minus its result. You have that of another curve, which goes from -1 to 1.",
    score=2,
)(_rules(smooth=lambda g, a: g * (1 - math.tanh(a) ** 2)))


wrong(
    "",
    "Right as long as b is above 0. Where it is below, so is 1 / b: leave the sign of b as it is.",
    score=3,
)(_rules(divide=lambda g, a, b: (g / abs(b), -g * a / b**2)))


wrong(
    "",
    "Right as long as the message is above 0. Which slope counts depends on a alone, not on which of two messages is greater.",
    score=3,
)(_rules(piece=lambda g, a: max(g, 0.1 * g) if a > 0 else min(g, 0.1 * g)))


wrong(
    "",
    "Right as long as a is not 0. Where it is, b gets 0: a is a number like all others, and a factor of what b gets.",
    score=3,
)(_rules(divide=lambda g, a, b: (g / b, -g * (a or 1.0) / b**2)))


right(_rules(divide=lambda g, a, b: (g * (1 / b), g * (-a) * b**-2)))
right(
    _rules(
        smooth=lambda g, a: g * math.exp(-a) / (1 + math.exp(-a)) ** 2, piece=lambda g, a: [0.1, 1][a > 0] * g
    )
)


def _quotient(g, a, b):
    to_a = g * (1.0 / b)
    to_b = to_a * (-a / b)
    return [to_a, to_b]


def _logistic(g, a):
    def value_at(number):
        return 1 / (1 + math.exp(-number))

    return g * value_at(a) * value_at(-a)


def _bent(g, a):
    if a <= 0:
        return g / 10
    return g


right(_rules(divide=_quotient, smooth=_logistic, piece=_bent))
right(
    _rules(
        smooth=lambda g, a: g * (1 - math.tanh(a / 2) ** 2) / 4,
        piece=lambda g, a: g * max(0.1, float(a > 0)),
        divide=lambda g, a, b: (g / b, -(g / b) * (a / b)),
    )
)
right(
    _rules(
        smooth=lambda g, a: g / (math.exp(a) + 2 + math.exp(-a)),
        piece=lambda g, a: g * (1.0 if a > 0 else 0.1),
        divide=lambda g, a, b: (g * b / b**2, g * -a / (b * b)),
    )
)


def _with_arrays(g, a):
    result = np.reciprocal(1 + np.exp(-np.float64(a)))
    return float(g * result * (1 - result))


right(
    _rules(
        divide=lambda g, a, b: np.array([g / b, -g * a / b**2]),
        smooth=_with_arrays,
        piece=lambda g, a: np.where(np.array(a) > 0, g, 0.1 * g),
    )
)


def _by_names(g, a, b):
    numerator, denominator, message = a, b, g
    slope_of_numerator = 1 / denominator
    slope_of_denominator = -numerator / math.pow(denominator, 2)
    return tuple(message * slope for slope in (slope_of_numerator, slope_of_denominator))


right(_rules(divide=_by_names, piece=lambda g, a: {True: 1.0, False: 0.1}[a > 0] * g))


def _asked(formula):
    def rule(g, *numbers):
        operands = [torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in numbers]
        found = torch.autograd.grad(g * formula(*operands), operands)
        return [one.item() for one in found] if len(found) > 1 else found[0].item()

    return rule


wrong(
    "",
    "A rule with one operand returns one message: the number itself, with no brackets around it.",
    score=1,
)(
    _rules(
        smooth=lambda g, a: (g * math.exp(-a) / (1 + math.exp(-a)) ** 2,),
        piece=lambda g, a: (g if a > 0 else 0.1 * g,),
    )
)
avoiding(_rules(divide=_asked(lambda a, b: a / b)))
avoiding(_rules(smooth=lambda g, a: g * torch.func.grad(torch.sigmoid)(torch.tensor(a))))
avoiding(_rules(smooth=_asked(torch.sigmoid), piece=_asked(lambda a: torch.where(a > 0, a, 0.1 * a))))

# %% [markdown]
# ## 03.4 · An engine that grows: count (1 point)
#
# The second piece of your engine. One message comes in at a node, and one goes out along each edge. So before anything
# is sent, the graph tells how many messages a node will get: as many as there are edges that lead to it. Only the first node,
# the `root`, gets its one message from outside.
#
# Write `count(root)`. It returns a dict: for every node that can be reached from `root`, how many messages it will get.
# `node.edges` is a list of nodes; `None` is a dead end, not a node. A graph may be thousands of nodes deep, and Python allows
# about a thousand calls inside each other.
#
# `engine` below has what was there before. If your exercise 02.7 is still open, the course's piece stands there: look
# at it, and go on.

# %%
engine = lab.engine_so_far("count")
engine


# %%
def count(root):
    """{node: how many messages it will get}, for every node from `root` on."""
    ### BEGIN SOLUTION
    deps, stack = {root: 1}, [root]
    while stack:
        for node in stack.pop().edges:
            if node is None:
                continue
            if node not in deps:
                deps[node] = 0
                stack.append(node)
            deps[node] += 1
    return deps
    ### END SOLUTION


# %%
lab.check("03.4", count)

# %% [markdown]
# Your engine now records and counts: the tab **your engine** has both pieces. Press **backward** and step to the count. The lab calls
# the numbers `deps`, for dependencies. `lab.step_code(count, beside="count")` goes through your lines one by one.

# %%
lab.step(count, beside="count")

# %% tags=["item"]
item(
    "03.4",
    kind="code",
    hints=[
        "Keep a list of nodes whose edges you have not looked at yet. It begins with the root, and the dict with {root: 1}.",
        "Every edge to a node counts, but each node goes on the list only once: when you meet it for the first time.",
        "Take a node from the list. For each node in its edges, but None: if it is new, put it on the list and begin with 0; then add 1.",
    ],
)


@shared
def graphs():
    "Small graphs of nodes; n, which has no edges, is the accumulator of a leaf."
    from autograd_lab.course.own_engine import Node, Value

    n = Value(1.0, requires_grad=True).accumulator
    m = Node("m", [n, None])
    p = Node("p", [m, m])
    q = Node("q", [m, None, p])
    r = Node("r", [q, n])
    s = Node("s", [n, q, r, q])
    return {"n": n, "m": m, "p": p, "q": q, "r": r, "s": s}


@shared
def named(found, known):
    "A dict of nodes, with their names."
    names = {one: name for name, one in known.items()}
    return {str(names.get(one, one)): found[one] for one in found}


@probe(points=0.5, cases=[("m",), ("p",), ("q",), ("r",), ("s",)])
def from_a_node(count, root):
    "From the node {0}. The edges: m to n and None; p to m and m; q to m, None and p; r to q and n; s to n, q, r and q"
    known = graphs()
    return named(count(known[root]), known)


@probe(points=0.5, hidden=True, cases=[("n", 0, 0), ("q", 0, 0), ("s", 0, 0), ("n", 24, 0), ("m", 1, 3000)])
def again_and_far(count, end, double, single):
    "From {0}, with {1} nodes before it that lead to the next one twice, and {2} that do once, and short cuts; counted two times, where a pass has counted down the first; nothing is changed"
    from autograd_lab.course.own_engine import Node

    known = graphs()
    top = known[end]
    for _ in range(double):
        top = Node("double", [top, None, top])
    for _ in range(single):
        top = Node("single", [None, top])
    if end == "s":  # to nodes that a longer way leads to as well
        top = Node("short cuts", [top, known["p"], known["m"]])
    before = [vars(one) | {"edges": list(one.edges)} for one in known.values()]
    given, found = [], []
    for _ in range(2):
        given.append(count(top) if single else soon(count, top))
        found.append(dict(given[-1]))
        given[-1].update(dict.fromkeys(given[-1], 0))  # as a pass leaves it
    first, second = found
    numbers = sorted(first.values())
    few = {name: first[one] for name, one in known.items() if one in first}
    return [
        few,
        len(first),
        numbers[0],
        numbers[-1],
        first == second,
        given[0] is not given[1],
        [vars(one) for one in known.values()] == before,
    ]


@look("The lab's own engine counts, instead of the function.")
def with_the_labs_piece(count):
    from autograd_lab.course.growing import runs_the_courses

    return runs_the_courses("count", lambda: count(graphs()["p"]))


@wrong(
    "M06",
    "You count a node anew for every path that leads to it. Look at the edges of each node only once: remember which you have met.",
)
def count(root):
    deps, stack = {root: 1}, [root]
    while stack:
        for node in stack.pop().edges:
            if node is not None:
                deps[node] = deps.get(node, 0) + 1
                stack.append(node)
    return deps


@wrong(
    "M06",
    "A node that a short way and a long way lead to is counted anew when the long one arrives. Remember every node that you have met, "
    "not only the latest.",
    score=0.5,
)
def count(root):
    deps, level = {root: 1}, [root]
    while level:
        following = []
        for one in level:
            for node in one.edges:
                if node is not None:
                    deps[node] = deps.get(node, 0) + 1
                    if node not in level and node not in following:
                        following.append(node)
        level = following
    return deps


@wrong(
    "M07",
    "A node that leads to another twice sends it two messages. Count the edges, not the nodes that they come from.",
)
def count(root):
    deps, stack = {root: 1}, [root]
    while stack:
        for node in set(stack.pop().edges) - {None}:
            if node not in deps:
                deps[node] = 0
                stack.append(node)
            deps[node] += 1
    return deps


@wrong(
    "", "The root gets a message as well, the one from outside with which everything begins. Its number is 1."
)
def count(root):
    deps, stack = {root: 0}, [root]
    while stack:
        for node in stack.pop().edges:
            if node is not None:
                if node not in deps:
                    deps[node] = 0
                    stack.append(node)
                deps[node] += 1
    return deps


@wrong("", "The root is missing. It gets one message, from outside.")
def count(root):
    deps, stack = {}, [root]
    while stack:
        for node in stack.pop().edges:
            if node is not None:
                if node not in deps:
                    deps[node] = 0
                    stack.append(node)
                deps[node] += 1
    return deps


@wrong("M03", "You look for the edges of None. It is a dead end, not a node: skip it.")
def count(root):
    deps, stack = {root: 1}, [root]
    while stack:
        for node in stack.pop().edges:
            if node not in deps:
                deps[node] = 0
                stack.append(node)
            deps[node] += 1
    return deps


@wrong("M03", "None has got a number, too. It is a dead end: nothing is sent there.")
def count(root):
    deps, stack = {root: 1}, [root]
    while stack:
        for node in stack.pop().edges:
            if node not in deps:
                deps[node] = 0
                if node is not None:
                    stack.append(node)
            deps[node] += 1
    return deps


@wrong(
    "",
    "Your number says how many edges a node has. A message comes in over each edge that leads to it: count those.",
)
def count(root):
    deps, stack = {}, [root]
    while stack:
        one = stack.pop()
        if one not in deps:
            deps[one] = len(one.edges)
            stack += [node for node in one.edges if node is not None]
    return deps


@wrong(
    "",
    "Your number says how many edges a node has. A message comes in over each edge that leads to it: count those.",
)
def count(root):
    deps, stack = {}, [root]
    while stack:
        one = stack.pop()
        if one not in deps:
            deps[one] = sum(node is not None for node in one.edges)
            stack += [node for node in one.edges if node is not None]
    return deps


@wrong("", "You stop after the root. The nodes that it leads to have edges too.")
def count(root):
    deps = {root: 1}
    for node in root.edges:
        if node is not None:
            deps[node] = deps.get(node, 0) + 1
    return deps


@wrong(
    "M06",
    "Every node has 1, however many edges lead to it. You have noted which nodes there are: add 1 for each edge.",
)
def count(root):
    deps, stack = {root: 1}, [root]
    while stack:
        for node in stack.pop().edges:
            if node is not None and node not in deps:
                deps[node] = 1
                stack.append(node)
    return deps


@wrong(
    "M06",
    "The first edge to a node is not counted: where one leads to it you have 0. Add 1 for that one as well.",
)
def count(root):
    deps, stack = {root: 1}, [root]
    while stack:
        for node in stack.pop().edges:
            if node in deps:
                deps[node] += 1
            elif node is not None:
                deps[node] = 0
                stack.append(node)
    return deps


@wrong(
    "",
    "Right for small graphs; but you call yourself for every node, and Python allows about a thousand calls inside each other. Use a list "
    "of your own for the nodes that wait.",
    score=0.5,
)
def count(root):
    deps = {root: 1}

    def visit(one):
        for node in one.edges:
            if node is not None:
                if node not in deps:
                    deps[node] = 0
                    visit(node)
                deps[node] += 1

    visit(root)
    return deps


@wrong(
    "",
    "After the first dead end of a node its other edges are left out. Pass over the None alone, and go on.",
)
def count(root):
    deps, stack = {root: 1}, [root]
    while stack:
        for e in stack.pop().edges:
            if e is None:
                break
            if e not in deps:
                deps[e] = 0
                stack.append(e)
            deps[e] += 1
    return deps


@wrong(
    "",
    "All calls give one and the same dict, so that a second call changes what the first one gave. Make a new one in each call.",
    score=0.5,
)
def count(root, deps={}):  # noqa: B006 (it is the mistake)
    deps.clear()
    deps[root], stack = 1, [root]
    while stack:
        for node in stack.pop().edges:
            if node is not None:
                if node not in deps:
                    deps[node] = 0
                    stack.append(node)
                deps[node] += 1
    return deps


@wrong(
    "",
    "A second call gives the very dict of the first, in which the engine has counted down meanwhile. Make a new one in each call.",
    score=0.5,
)
def count(root, known={}):  # noqa: B006 (it is the mistake)
    if root not in known:
        messages, todo = {root: 1}, [root]
        for node in todo:
            for edge in node.edges:
                if edge is not None:
                    todo += [] if edge in messages else [edge]
                    messages[edge] = messages.get(edge, 0) + 1
        known[root] = messages
    return known[root]


@wrong(
    "",
    "Accumulators are left out. They get messages like all other nodes, even if nothing goes on from there.",
)
def count(root):
    got, todo = {root: 1}, [root]
    while todo:
        for e in todo.pop().edges:
            if e is not None and e.edges:
                if e not in got:
                    got[e] = 0
                    todo.append(e)
                got[e] += 1
    return got


@wrong(
    "",
    "Nodes that are called alike are taken for the same. Many nodes of a graph are called alike: what counts is which node it is.",
    score=0.5,
)
def count(root):
    got, todo, names = {root: 1}, [root], {root.name}
    while todo:
        n = todo.pop()
        for e in n.edges:
            if e is None:
                continue
            got[e] = got.get(e, 0) + 1
            if e.name not in names:
                names.add(e.name)
                todo.append(e)
    return got


@right
def count(root):
    todo, nodes = [root], []
    root.messages = 1
    while todo:
        n = todo.pop()
        nodes.append(n)
        for e in n.edges:
            if e is None:
                continue
            if not hasattr(e, "messages"):
                e.messages = 0
                todo.append(e)
            e.messages += 1
    return {n: n.__dict__.pop("messages") for n in nodes}


@right
def count(root):
    from collections import Counter

    deps, nodes = Counter([root]), [root]
    for one in nodes:
        for node in one.edges:
            if node and node not in deps:
                nodes.append(node)
            if node:
                deps[node] += 1
    return deps


@right
def count(root):
    """First all the nodes, then all the edges."""
    nodes, stack = set(), [root]
    while stack:
        one = stack.pop()
        if one is not None and one not in nodes:
            nodes.add(one)
            stack.extend(one.edges)
    deps = {one: 0 for one in nodes}
    deps[root] = 1
    for one in nodes:
        for node in one.edges:
            if node is not None:
                deps[node] += 1
    return deps


@right
def count(root):
    from collections import defaultdict, deque

    deps, queue, seen = defaultdict(int), deque([root]), {root}
    deps[root] = 1
    while queue:
        for node in queue.popleft().edges:
            if node is None:
                continue
            deps[node] += 1
            if node not in seen:
                seen.add(node)
                queue.append(node)
    return dict(deps)


@right
def count(root):
    """By levels."""
    deps, level = {root: 1}, [root]
    while level:
        below = [node for one in level for node in one.edges if node is not None]
        level = [node for node in dict.fromkeys(below) if node not in deps]
        for node in below:
            deps[node] = deps.get(node, 0) + 1
    return deps


@right
def count(root):
    """The edges of all nodes in one list, and how often each node stands in it."""
    nodes, edges, i = [root], [root], 0
    known = {root}
    while i < len(nodes):
        found = [node for node in nodes[i].edges if node is not None]
        edges += found
        for node in found:
            if node not in known:
                known.add(node)
                nodes.append(node)
        i += 1
    total = {}
    for node in edges:
        total[node] = total.get(node, 0) + 1
    return total


@right
def count(root):
    import sys

    number_of_messages = {}

    def one_more_message_for(node):
        if node is None:
            return
        met_before = node in number_of_messages
        number_of_messages[node] = number_of_messages.setdefault(node, 0) + 1
        if not met_before:
            for next_node in node.edges:
                one_more_message_for(next_node)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        one_more_message_for(root)
    finally:
        sys.setrecursionlimit(limit)
    return number_of_messages


@avoiding
def count(root):
    return lab.engine_so_far().count(root)
