# ---
# jupyter:
#   autograd_lab:
#     id: "02"
#     minutes: 45
#     points: 13
# ---

# %% [markdown]
# # 02 · Exercises: forward builds the graph
#
# Put your answers in place of the dots and run the check below. `lab.hint("02.1")`, in a cell of its own,
# gives the first of three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 02.1 · Who has a history? (2 points)
#
# The lines below run in this order, and nobody calls `backward`. Inside `with torch.no_grad():` nothing is recorded. Which of `a`, `b`, `c`, `d`,
# `e` have a `grad_fn` that is not `None`? Give a list of five, `True` or `False` for each.
#
# ```python
# a = torch.tensor(2.0, requires_grad=True)
# k = torch.tensor(3.0)
# b = k * k
# c = a * k
# with torch.no_grad():
#     d = a * a
# e = c + b
# ```

# %%
### BEGIN SOLUTION
with_history = [False, False, True, False, True]
### END SOLUTION

# %%
lab.check("02.1", with_history)

# %% tags=["item"]
item(
    "02.1",
    kind="predict",
    points=2,
    hints=[
        "An operation is recorded when it runs: if recording is on and some operand requires a gradient.",
        "b has no operand that requires a gradient; d is made while recording is off; a is not made by an operation.",
        "Two of the five are True.",
    ],
    wrong=[
        wrong_answer(
            [False, False, False, False, False],
            "M02",
            "The graph is not made by backward. Each operation records itself when it runs: c and e have a grad_fn now.",
        ),
        wrong_answer(
            [True, False, True, False, True],
            "M09",
            "a was made by you, not by an operation: it is a leaf, and its grad_fn is None.",
        ),
        wrong_answer(
            [False, True, True, False, True],
            "M03",
            "k does not require a gradient, so nothing of b = k * k is recorded: no node, not even a zero one.",
        ),
        wrong_answer(
            [False, False, True, True, True],
            "M16",
            "d is made under no_grad: a requires a gradient, but recording is off, and d gets no history.",
        ),
        wrong_answer(
            [False, True, True, True, True],
            "",
            "An operation is recorded if recording is on and an operand requires a gradient. b has no such operand, and for d recording is off.",
        ),
        wrong_answer(
            [True, False, True, True, True],
            "",
            "a is a leaf (made by you), and d is made while recording is off: neither has a grad_fn.",
        ),
        wrong_answer(
            [False, False, True, False, False],
            "",
            "e = c + b has an operand with a history, c. One is enough for it to be recorded.",
        ),
        wrong_answer(
            [True, True, True, True, True],
            "",
            "Not every tensor has a history: a was made by you, no operand of b requires a gradient, and d is made while recording is off.",
        ),
    ],
)

# %% [markdown]
# ## 02.2 · The edges of a product (2 points)
#
# `a` requires a gradient, `k` is a constant. What are the names in `next_functions` of `y = k * a`, in order? Use
# `"AccumulateGrad"`, `"MulBackward0"` or `"None"`.

# %%
### BEGIN SOLUTION
edges = ["None", "AccumulateGrad"]
### END SOLUTION

# %%
lab.check("02.2", edges)

# %% tags=["item"]
item(
    "02.2",
    kind="predict",
    points=2,
    hints=[
        "One edge for each operand, in the order of the operands.",
        "The first operand is the constant. Does anybody need its gradient?",
        "A dead end first, then the mailbox of the leaf a.",
    ],
    wrong=[
        wrong_answer(
            ["AccumulateGrad", "AccumulateGrad"],
            "M03",
            "A constant has no accumulator. Nobody needs its gradient, so its edge is a dead end: (None, 0).",
        ),
        wrong_answer(
            ["AccumulateGrad", "None"],
            "",
            "Edges stand in the order of the operands, and here k comes first.",
        ),
        wrong_answer(
            ["AccumulateGrad"], "", "There is one edge per operand, also for the constant: it is (None, 0)."
        ),
        wrong_answer(
            ["MulBackward0", "AccumulateGrad"],
            "M03",
            "k was not made by a recorded operation, and nobody needs its gradient: its edge is a dead end, (None, 0).",
        ),
        wrong_answer(
            ["None", "MulBackward0"],
            "",
            "MulBackward0 is the node of y itself. Its second edge leads to where a comes from: a is a leaf.",
        ),
    ],
)

# %% [markdown]
# ## 02.3 · Draw the graph (3 points)
#
# ```python
# p = a * b      # a and b require a gradient
# q = p + 2
# r = q * p
# s = r - a
# ```
#
# Write down where the edges of each node lead, in the order of the operands. Use the names of the tensors for
# their nodes (`"a"` and `"b"` are the mailboxes), and `None` for a dead end.

# %%
### BEGIN SOLUTION
graph = {"p": ["a", "b"], "q": ["p", None], "r": ["q", "p"], "s": ["r", "a"]}
### END SOLUTION
### BEGIN STUB
# graph = ...  # {"p": [...], ...}: for each tensor, a list of what its edges lead to
### END STUB

# %%
lab.check("02.3", graph)

# %% tags=["item"]
item(
    "02.3",
    kind="engine",
    points=3,
    hints=[
        "Each node has one edge per operand, and it leads to the node that made that operand.",
        "p is used twice, but it has one node: two edges lead to it.",
        "The 2 is a constant: q has a dead end in second place.",
    ],
    accept=[
        {"p": ["a", "b"], "q": ["p", None], "r": ["q", "p"], "s": ["r", "a"], "a": [], "b": []},
    ],
    wrong=[
        wrong_answer(
            {"p": ["q", "r"], "q": ["r"], "r": ["s"], "s": []},
            "",
            "Your edges lead forward, to where a tensor is used. A node's edges lead back, to where its operands come from.",
        ),
        wrong_answer(
            {"p": ["a", "b"], "q": ["p"], "r": ["q", "p"], "s": ["r", "a"]},
            "M03",
            "Nearly: there is one edge for each operand, also for the constant 2. It is a dead end, None.",
        ),
        wrong_answer(
            {"p": ["a", "b"], "q": ["p", "2"], "r": ["q", "p"], "s": ["r", "a"]},
            "M03",
            "The constant 2 has no node: nobody wants its gradient. Its edge is a dead end, None.",
        ),
        wrong_answer(
            {"p": [None, None], "q": ["p", None], "r": ["q", "p"], "s": ["r", None]},
            "",
            "a and b require a gradient: edges to them end in their accumulators, not in None.",
        ),
        wrong_answer(
            {"p": ["a", "b"], "q": ["p", None], "r": ["p", "q"], "s": ["r", "a"]},
            "",
            "r = q * p: edges stand in the order of the operands, q first.",
        ),
        wrong_answer(
            {"p": ["a", "b"], "q": ["p", None], "r": ["q", "p"], "s": ["r", None]},
            "M04",
            "a is a leaf that requires a gradient also when it is used a second time: s gets an edge to the accumulator that p leads to.",
        ),
        wrong_answer(
            {"p": ["a", "b"], "q": ["p", None], "r": ["q", "q"], "s": ["r", "a"]},
            "",
            "r = q * p has two different operands: one edge leads to q, the other one to p itself.",
        ),
        wrong_answer(
            {"p": ["a", "b"], "q": ["p", None], "r": ["q"], "s": ["r", "a"]},
            "",
            "r = q * p has two operands, and p is one of them although q uses it as well. Each use is an edge of its own.",
        ),
        wrong_answer(
            {"p": ["a", "b"], "q": ["p", None], "r": ["q", "p"], "s": ["r"]},
            "M04",
            "s uses a a second time: it gets an edge to the same accumulator as the one from p.",
        ),
    ],
)

# %% [markdown]
# ## 02.4 · Build this graph (3 points)
#
# Write `build(a, b)` so that its result has this graph. `a` and `b` are leaves that require a gradient. The edges
# are in this order.
#
# ```text
# AddBackward0
# ├── MulBackward0
# │   ├── AccumulateGrad of a
# │   └── ExpBackward0 ── AccumulateGrad of b
# └── AccumulateGrad of a
# ```


# %%
def build(a, b):
    """A result with the graph above."""
    ### BEGIN SOLUTION
    return a * torch.exp(b) + a
    ### END SOLUTION


# %%
lab.check("02.4", build)

# %% tags=["item"]
item(
    "02.4",
    kind="code",
    hints=[
        "Start at the root: the last operation is a sum. What are its two operands?",
        "The first operand of the sum is a product; the product's second operand is exp(b).",
        "(a times exp of b), plus a. Mind the order.",
    ],
)


@shared
def graph_of(y, leaves):
    def text(node):
        if node is None:
            return "None"
        if hasattr(node, "variable"):
            return next((n for n, t in leaves.items() if t is node.variable), "another leaf")
        return f"{node.name()}({', '.join(text(child) for child, _ in node.next_functions)})"

    return text(y.grad_fn) if hasattr(y, "grad_fn") else f"no tensor: {type(y).__name__}"


@probe(points=1)
def the_graph(build):
    "The graph of build(a, b)"
    leaves = {n: torch.tensor(v, requires_grad=True) for n, v in (("a", 2.0), ("b", 0.5))}
    return graph_of(build(leaves["a"], leaves["b"]), leaves)


@probe(points=2, hidden=True)
def other_leaves(build):
    "Leaves with other values and shapes, and others of the same shape, of 64 bits; whether they have no gradient yet, and what a message to the result then sends them"
    found = []
    for a, b, bits in (([1.0, -3.0], [0.0, 4.0], torch.float32), ([2.0, 0.5], [1.0, -1.0], torch.float64)):
        leaves = {n: torch.tensor(v, dtype=bits, requires_grad=True) for n, v in (("a", a), ("b", b))}
        as_they_were = untouched(*leaves.values())
        y = build(leaves["a"], leaves["b"])
        found += [graph_of(y, leaves), y.detach(), [t.grad for t in leaves.values()], torch.is_grad_enabled()]
        y.backward(torch.tensor([3.0, math.inf], dtype=bits))
        found += [[t.grad for t in leaves.values()], as_they_were()]
    leaves["a"].data.add_(1)
    return [*found, build(leaves["a"], leaves["b"]).detach()]


@wrong(
    "", "The edges of your sum are swapped. They stand in the order of the operands: the product comes first."
)
def build(a, b):
    return a + a * torch.exp(b)


@wrong("", "The edges of your product are swapped: a comes first, then exp(b).")
def build(a, b):
    return torch.exp(b) * a + a


@wrong(
    "",
    "The same value, another graph: a * (exp(b) + 1) adds inside and multiplies last. The graph follows the code, not the formula.",
)
def build(a, b):
    return a * (torch.exp(b) + 1)


@wrong(
    "M17",
    "The second a has no history in your sum, so its edge is a dead end. Add a itself, and nothing that was taken from it.",
)
def build(a, b):
    return a * torch.exp(b) + a.detach()


@wrong("", "The last edge of the sum leads to b in your graph. It should lead to a, which is used twice.")
def build(a, b):
    return a * torch.exp(b) + b


@wrong(
    "",
    "exp belongs to b, and what is added at the end is a. In your graph a and b have changed places there.",
)
def build(a, b):
    return a * torch.exp(a) + b


@wrong("", "exp stands over the whole product in your graph. It belongs to b alone.")
def build(a, b):
    return torch.exp(a * b) + a


@wrong("", "Your function hands nothing back: `return` the result.")
def build(a, b):
    str(a * torch.exp(b) + a)


@wrong(
    "M17",
    "What a is multiplied by has no history, so b is not in your graph. Use torch.exp(b) itself, "
    "recorded, and nothing that was taken from it.",
)
def build(a, b):
    import math

    return a * math.exp(b) + a


@wrong("", "exp belongs to b, the second operand of the product; you put it on a.")
def build(a, b):
    return torch.exp(a) * b + a


@wrong("", "The exp is missing: the product's second operand is exp(b), not b itself.")
def build(a, b):
    return a * b + a


@wrong(
    "M02",
    "Nothing here was recorded, so the result has no grad_fn at all. Compute with a and b themselves, while "
    "recording is on.",
)
def build(a, b):
    with torch.no_grad():
        return a * torch.exp(b) + a


@wrong(
    "",
    "The graph has the right nodes, but what arrives at the leaves is not the gradient: something changes what is sent back, or what the nodes have saved.",
    score=1,
)
def build(a, b):
    y = a * torch.exp(b) + a
    y.register_hook(lambda g: g * 2)
    return y


@wrong(
    "",
    "The graph has the right nodes, but what arrives at the leaves is not the gradient: something changes what is sent back, or what the nodes have saved.",
    score=1,
)
def build(a, b):
    e = torch.exp(b)
    e.register_hook(lambda g: g.clamp(-1, 1))
    return a * e + a


@wrong(
    "",
    "The graph has the right nodes, but what arrives at the leaves is not the gradient: something changes what is sent back, or what the nodes have saved.",
    score=1,
)
def build(a, b):
    e = torch.exp(b)
    y = a * e + a
    e.data.zero_()
    return y


@wrong(
    "M12",
    "The graph is right, but used up: a pass has run through it already, and the leaves have gradients. Hand back the result, and leave the pass to the caller.",
    score=1,
)
def build(a, b):
    y = a * torch.exp(b) + a
    y.sum().backward()
    return y


@wrong(
    "",
    "The graph is right, but recording is off afterwards: nothing that the caller computes next is recorded. Leave the switch as it was.",
    score=1,
)
def build(a, b):
    torch.set_grad_enabled(True)
    y = a * torch.exp(b) + a
    torch.set_grad_enabled(False)
    return y


@right
def build(a, b):
    y = a * b.exp()
    y += a
    return y


@right
def build(a, b):
    e = b.exp()
    p = a * e
    return p + a


@right
def build(a, b):
    return torch.add(torch.mul(a, torch.exp(b)), a)


@right
def build(a, b):
    product = a.mul(b.exp())
    result = product.add(a)
    return result


@right
def build(a, b):
    def times(left, right):
        return left * right

    def plus(left, right):
        return left + right

    return plus(times(a, torch.exp(b)), a)


@right
def build(a, b):
    return torch.add(a * b.exp(), other=a)


@right
def build(a, b):
    (first, second) = (a, torch.exp(b))
    total = first * second
    for more in [a]:
        total = total + more
    return total


@right
def build(a, b):
    exponential_of_b = torch.exp(b)
    a_times_exponential = torch.multiply(a, exponential_of_b)
    return a_times_exponential.__add__(a)


# %% [markdown]
# ## 02.5 · Switched on halfway (1 point)
#
# ```python
# x = torch.tensor({x}.0)
# w = torch.tensor({w}.0, requires_grad=True)
# early = x * x
# mixed = early * w
# x.requires_grad_()
# late = x * w
# (mixed + late).backward()
# ```
#
# What are `x.grad` and `w.grad` now? Give both, `x.grad` first; `None` counts as an answer.

# %%
### BEGIN SOLUTION
both = [2, 30]
### END SOLUTION
### BEGIN STUB
# both = [..., ...]  # x.grad, w.grad
### END STUB

# %%
lab.check("02.5", both)


# %% tags=["item"]
@variant(x=range(3, 31), w=range(2, 100))
def halfway(x=5, w=2):
    early = x * x
    both = early + x
    return varied(
        answer=[w, both],
        hints=[
            "Go through the lines one by one, and ask of each: which operand requires a gradient at this moment?",
            "When x * x ran, neither operand required grad, so it left no node. mixed and late have one each.",
            f"x gets a gradient only from late, whose other factor is w. w gets one from both: early = {early} from mixed, x = {x} from late.",
        ],
        wrong=[
            wrong_answer(
                [2 * x * w + w, both],
                "M05",
                "requires_grad_() works from its line on, not backwards. x * x ran before it and left no node, so no gradient comes back through early: x gets a gradient only from late.",
            ),
            wrong_answer(
                [2 * x * w, both],
                "M05",
                "You followed x through early, which ran before the switch and was not recorded. late ran after it, and that is where "
                "x gets its gradient.",
            ),
            wrong_answer(
                [None, both],
                "",
                "x was switched on in time for one operation: late = x * w is recorded with an edge to x, and brings it a gradient.",
            ),
            wrong_answer(
                [0, both],
                "M11",
                "Through early nothing comes to x, not even a zero. But late = x * w ran after the switch, and sends x its other factor.",
            ),
            wrong_answer(
                [w, x],
                "M03",
                "early is a constant for mixed = early * w, but w is not: the product is recorded, and sends w the value of early.",
            ),
            wrong_answer(
                [w, early],
                "M07",
                "w is used twice, in mixed and in late. Both send it a gradient, and these are added.",
            ),
            wrong_answer([both, w], "", "Both numbers are right; x.grad comes first."),
            wrong_answer(
                [2 * x, both],
                "M05",
                f"{2 * x} is the slope of x * x, but that ran before x required a gradient: it was not recorded. x gets a gradient only from late.",
            ),
        ],
    )


item("02.5", kind="number", points=1, variant=halfway)

# %% [markdown]
# ## 02.6 · Who may ask for a gradient? (1 point)
#
# Which of these lines run without an error? Give a list of six, `True` or `False` for each.
#
# ```python
# torch.tensor([3, 4], requires_grad=True)
# torch.tensor([3, 4.0], requires_grad=True)
# torch.tensor([3.7, 4.2]).long().requires_grad_()
# torch.tensor([3, 4]).double().requires_grad_()
# torch.tensor([3, 4]) * torch.tensor(0.5, requires_grad=True)
# torch.tensor([True, False], requires_grad=True)
# ```

# %%
### BEGIN SOLUTION
runs = [False, True, False, True, True, False]
### END SOLUTION
### BEGIN STUB
# runs = [..., ..., ..., ..., ..., ...]
### END STUB

# %%
lab.check("02.6", runs)

# %% tags=["item"]
item(
    "02.6",
    kind="predict",
    points=1,
    hints=[
        "A gradient says what a small change does. Which values can change by a little?",
        "What counts is the dtype that the tensor has at the moment when it should require a gradient. Print x.dtype if you are not sure.",
        "One floating point number makes the whole list floating point; long() gives integers, double() gives floats. "
        "An operand that requires no gradient may be anything.",
    ],
    wrong=[
        wrong_answer(
            [True, True, True, True, True, True],
            "M27",
            "Integers and truth values cannot change by a little, so there is no slope: only floating point tensors can require "
            "a gradient.",
        ),
        wrong_answer(
            [True, True, True, True, True, False],
            "M27",
            "You refuse truth values and let integers pass. Between 3 and 4 there is no integer either: without small changes, no "
            "gradient.",
        ),
        wrong_answer(
            [False, True, False, True, True, True],
            "M27",
            "Truth values are stored as whole numbers, 0 and 1: they cannot change by a little, so they cannot require a gradient.",
        ),
        wrong_answer(
            [False, True, True, True, True, False],
            "M27",
            "long() makes a tensor of integers, 3 and 4. That it was made of floating point numbers does not help: its own dtype "
            "counts.",
        ),
        wrong_answer(
            [False, False, False, True, True, False],
            "",
            "A tensor has one dtype for all its elements. One 4.0 in the list makes both of them floating point.",
        ),
        wrong_answer(
            [False, True, True, False, True, False],
            "M27",
            "Look at what the tensor is now, not at what it was made of: double() gives floating point numbers, long() gives integers.",
        ),
        wrong_answer(
            [False, True, False, False, True, False],
            "",
            "double() makes a floating point tensor, and that one is asked to require a gradient.",
        ),
        wrong_answer(
            [False, True, False, True, False, False],
            "M03",
            "Here the integers require nothing: they are a constant factor. Only what requires a gradient must be floating point.",
        ),
        wrong_answer(
            [True, False, True, False, False, True],
            "",
            "You marked the lines that fail. True is for those that run.",
        ),
    ],
)

# %% [markdown]
# ## 02.7 · An engine that grows: record (1 point)
#
# In exercises 02 to 06 you write an engine of your own, a piece in each; in exercise 13 you complete it. Its numbers are
# `Value`s. A leaf that requires a gradient has an `accumulator`, its mailbox; what an operation made has a `grad_fn`.
# A constant has neither.
#
# The first piece is what every operation does at its end. Write `record(name, operands, data)`. It returns the new
# `Value(data)`. If some operand has a history, or is a leaf that requires a gradient, then the new Value has a
# `grad_fn`: a new `Node(name, edges)`, with one edge for each operand, in their order, and `None` for a dead end.


# %%
class Node:
    """What an operation leaves: a name, and an edge for each operand. None is a dead end.

    The accumulator of a leaf is a Node too: it has no edges, and its `variable` is the leaf.
    """

    made = 0

    def __init__(self, name, edges, variable=None):
        self.name, self.edges, self.variable = name, edges, variable
        self.rule = None  # for later
        self.number = Node.made  # the newest node has the highest
        Node.made += 1

    def __repr__(self):
        return self.name


class Value:
    """A number. Without `grad_fn` it is a leaf, and has an accumulator if it requires a gradient."""

    def __init__(self, data, requires_grad=False, grad_fn=None):
        self.data, self.grad, self.grad_fn = data, None, grad_fn
        self.accumulator = Node("AccumulateGrad", [], self) if requires_grad else None


# %%
def record(name, operands, data):
    """The Value `data`, made by the operation `name`; with a node if an operand wants a gradient."""
    ### BEGIN SOLUTION
    edges = []
    for x in operands:
        if x.grad_fn is not None:
            edges.append(x.grad_fn)
        else:
            edges.append(x.accumulator)
    if all(edge is None for edge in edges):
        return Value(data)
    return Value(data, grad_fn=Node(name, edges))
    ### END SOLUTION


# %%
lab.check("02.7", record)

# %% [markdown]
# Your piece at work: when the lab makes a node, the tab **your engine** lights the line of yours that makes one, and
# the tab **engine** lights the lab's line. `lab.step_code(record, beside="record")` goes through your lines one by
# one.

# %%
lab.step(record, beside="record")

# %% tags=["item"]
item(
    "02.7",
    kind="code",
    hints=[
        "Go through the operands and collect one edge for each. There are three kinds of operands.",
        "The edge is x.grad_fn if there is one, and otherwise x.accumulator, which is None for a constant.",
        "If all edges are None, return Value(data). Otherwise return Value(data, grad_fn=Node(name, edges)).",
    ],
)


@shared
def values(record):
    "Two leaves a and b, of which b has a gradient, a constant k, and h and j, which operations have made."
    from autograd_lab.course import own_engine

    Node, Value = own_class(record, own_engine.Node), own_class(record, own_engine.Value)
    a, b, k = Value(2.0, requires_grad=True), Value(5.0, requires_grad=True), Value(3.0)
    b.grad = 1.0
    h = Value(6.0, grad_fn=Node("MulBackward0", [a.accumulator, None]))
    j = Value(7.0, grad_fn=Node("ExpBackward0", [b.accumulator]))
    known = {"a": a, "b": b, "k": k, "h": h, "j": j}
    for x in known.values():
        x.as_it_was = dict(
            vars(x)
        )  # an answer may change what it is given: that is told, and not taken for another edge
    return known


@shared
def told(y, known):
    "A Value, its node, and where each edge leads."

    def end(edge):
        for name, x in known.items():
            grad_fn, accumulator = x.as_it_was["grad_fn"], x.as_it_was["accumulator"]
            if edge is not None and (edge is grad_fn or edge is accumulator):
                return ("the node of " if edge is grad_fn else "the accumulator of ") + name
        return edge if edge is None else f"another {type(edge).__name__}"

    if y is None or not hasattr(y, "grad_fn"):
        return f"no Value: {type(y).__name__}"
    node = y.grad_fn
    edges = [] if node is None else list(node.edges)
    found = [y.data, None if node is None else [node.name, *[end(edge) for edge in edges]]]
    if y.accumulator is not None:
        found.append("and an accumulator")
    if y.grad is not None:
        found.append("and a gradient")
    if node is not None and list(node.edges) != edges:
        found.append("and edges that can be read only once")
    if node is not None and (node.variable is not None or node.rule is not None):
        found.append("and a node with more than a name and edges")
    changed = [name for name, x in known.items() if vars(x) != x.as_it_was | {"as_it_was": x.as_it_was}]
    return [*found, *(f"and {name} is no longer what it was" for name in changed)]


@probe(points=0.5, cases=[("k", "k"), ("a", "k"), ("k", "a"), ("a", "b"), ("h", "k"), ("h", "a"), ("a", "a")])
def two_operands(record, x, y):
    "A product of {0} and {1}: a and b are leaves that require a gradient, k is a constant, h was made by an operation"
    known = values(record)
    return told(record("MulBackward0", [known[x], known[y]], 4.0), known)


@probe(
    points=0.5,
    hidden=True,
    cases=[("k",), ("j",), ("b",), ("hkj",), ("kkb",), ("kbk",), ("kkkk",), ("jkah",)],
)
def other_numbers_of_operands(record, which):
    "Operands {0}, and a result of 0, twice: each call makes a Value and a node of its own, and no operand changes"
    known = values(record)
    operands = [known[name] for name in which]
    first = record("Sum", tuple(operands), 0.0)
    second, again = (record("Other", operands, -1.2e-5) for _ in range(2))
    made = [first, second, again] if first.grad_fn is None else [y.grad_fn for y in (first, second, again)]
    same = record("Same", [operands[0]], operands[0].data)
    own = len({id(one) for one in made}) == 3 and same is not operands[0]
    onward = record("Next", [second, first], 1.0)
    ends = (
        []
        if onward.grad_fn is None
        else [edge is x.grad_fn for edge, x in zip(onward.grad_fn.edges, (second, first))]
    )
    return [
        told(first, known),
        told(second, known),
        told(record("Nothing", [], 2.5), known),
        own,
        ends,
        len(operands),
        [x.data for x in known.values()],
    ]


@look("The lab's own engine records, instead of the function.")
def with_the_labs_piece(record):
    from autograd_lab.course.growing import runs_the_courses

    return runs_the_courses(
        "record", lambda: record("MulBackward0", [values(record)["a"], values(record)["k"]], 4.0)
    )


@wrong(
    "M03",
    "You make a node for k * k as well, where nobody wants a gradient. It needs one only if some edge leads to a node.",
)
def record(name, operands, data):
    return Value(data, grad_fn=Node(name, [x.grad_fn or x.accumulator for x in operands]))


@wrong(
    "M03",
    "Edges are missing: there is one for each operand. Where an operand is a constant, the edge is None, and keeps its place.",
)
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands if x.grad_fn or x.accumulator]
    return Value(data, grad_fn=Node(name, edges)) if edges else Value(data)


@wrong(
    "",
    "The edges are right, and gone when somebody has looked at them: a generator can be gone through only once. Make a list of it.",
)
def record(name, operands, data):
    if any(x.grad_fn or x.accumulator for x in operands):
        return Value(data, grad_fn=Node(name, (x.grad_fn or x.accumulator for x in operands)))
    return Value(data)


@wrong(
    "M04",
    "Your edge to a leaf leads to a new accumulator. A leaf has one for all its uses, x.accumulator, or its gradients would never meet.",
)
def record(name, operands, data):
    edges = []
    for x in operands:
        wants = x.accumulator is not None
        edges.append(x.grad_fn or (Node("AccumulateGrad", [], x) if wants else None))
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong(
    "",
    "The new Value is right, but an operand is no longer what it was. Read the operands, and write only into what is new.",
    score=0,
)
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    for x in operands:
        x.accumulator = None
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong(
    "",
    "Leaves are left out. Their grad_fn is None, but a leaf that requires a gradient has an accumulator, and the edge leads there.",
)
def record(name, operands, data):
    edges = [x.grad_fn for x in operands]
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong(
    "",
    "A leaf that has a gradient already is left out, as if it were a constant. It wants one in every pass: its edge leads to its accumulator.",
)
def record(name, operands, data):
    edges = [x.grad_fn or (x.accumulator if x.grad is None else None) for x in operands]
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong(
    "M03",
    "You record only if all operands want a gradient. One is enough; a constant beside it has the edge None.",
)
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    return Value(data, grad_fn=Node(name, edges)) if all(edges) else Value(data)


@wrong(
    "",
    "What operations have made is left out. It has no accumulator, but a node of its own, grad_fn, and the edge leads there.",
)
def record(name, operands, data):
    edges = [x.accumulator for x in operands]
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong(
    "M07",
    "An operand that is used twice, as in a * a, has two edges that lead to the same node. You have one.",
)
def record(name, operands, data):
    edges = list(dict.fromkeys(x.grad_fn or x.accumulator for x in operands))
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong(
    "",
    "Your edges are the operands themselves, which are Values. An edge leads to a node: x.grad_fn, or x.accumulator.",
)
def record(name, operands, data):
    edges = [x if x.grad_fn or x.accumulator else None for x in operands]
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong("", "The edges stand in the opposite order. The first one belongs to the first operand.")
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands][::-1]
    return Value(data, grad_fn=Node(name, edges)) if any(edges) else Value(data)


@wrong(
    "",
    "The result has no node, not even where a leaf requires a gradient. Is one made there, and handed over as grad_fn?",
)
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    Node(name, edges)
    return Value(data)


@wrong("", "What you return is the node. Return the new Value, with the node as its grad_fn.")
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    return Node(name, edges) if any(edges) else Value(data)


@wrong(
    "",
    "Your edges are the operands themselves, which are Values. An edge leads to a node: x.grad_fn, or x.accumulator.",
)
def record(name, operands, data):
    if any(x.grad_fn or x.accumulator for x in operands):
        return Value(data, grad_fn=Node(name, list(operands)))
    return Value(data)


@wrong(
    "M09",
    "Your result has an accumulator as well, as if it were a leaf. It requires a gradient through its node: Value(data, grad_fn=...), and no more.",
)
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    if any(edges):
        return Value(data, requires_grad=True, grad_fn=Node(name, edges))
    return Value(data)


@wrong(
    "M09",
    "Your node has a variable, as if it were the accumulator of a leaf. The node of an operation has a name and edges.",
)
def record(name, operands, data):
    edges, result = [x.grad_fn or x.accumulator for x in operands], Value(data)
    if any(edges):
        result.grad_fn = Node(name, edges, result)
    return result


@wrong(
    "",
    "Where a constant is the first operand, nothing is recorded. The operands after it may want a gradient: ask all of them.",
)
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    return Value(data, grad_fn=Node(name, edges)) if edges[0] else Value(data)


@wrong(
    "",
    "Where the number is that of the only operand, you give the operand itself. Every operation makes a new Value.",
    score=0.5,
)
def record(name, operands, data):
    if len(operands) == 1 and operands[0].data == data:
        return operands[0]
    edges = [x.grad_fn or x.accumulator for x in operands]
    return Value(data, grad_fn=Node(name, edges) if any(edges) else None)


@wrong("", "The new Value holds `data` rounded. Hand it on as it is.", score=0.5)
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    return Value(round(data, 4), grad_fn=Node(name, edges) if any(edges) else None)


@wrong(
    "",
    "Two constants with the same number are one and the same Value. Each call makes a new one, whatever its number is.",
    score=0.5,
)
def record(name, operands, data, constants={}):  # noqa: B006 (it is the mistake)
    edges = [x.grad_fn or x.accumulator for x in operands]
    if not any(edges):
        return constants.setdefault(data, Value(data))
    return Value(data, grad_fn=Node(name, edges))


@wrong("", "Your function hands nothing back: `return` the new Value.")
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    Value(data, grad_fn=Node(name, edges))


@wrong(
    "M03",
    "One operand in the middle wants a gradient, and nothing is recorded. Ask every operand, not only some.",
    score=0.5,
)
def record(name, operands, data):
    edges = [x.grad_fn if x.grad_fn is not None else x.accumulator for x in operands]
    if edges[0] is None and edges[-1] is None:
        return Value(data)
    return Value(data, grad_fn=Node(name, edges))


@wrong("", "The new Value has a gradient already. Nothing has arrived there yet, so its .grad stays None.")
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    y = Value(data, grad_fn=Node(name, edges) if any(edges) else None)
    y.grad = 0.0
    return y


@right
def record(name, operands, data):
    edges = [x.grad_fn or x.accumulator for x in operands]
    return Value(data, grad_fn=Node(name, edges) if any(edges) else None)


@right
def record(name, operands, data):
    result = Value(data)
    edges = tuple(x.accumulator if x.grad_fn is None else x.grad_fn for x in operands)
    if edges.count(None) < len(edges):
        result.grad_fn = Node(name, edges)
    return result


@right
def record(name, operands, data):
    def edge_of(x):
        if x.grad_fn:
            return x.grad_fn
        if x.accumulator:
            return x.accumulator
        return None

    edges = list(map(edge_of, operands))
    if not any(edges):
        return Value(data)
    return Value(data, grad_fn=Node(name, edges))


@right
def record(name, operands, data):
    edges = [
        x.grad_fn if isinstance(x.grad_fn, Node) else x.accumulator for x in operands if isinstance(x, Value)
    ]
    return Value(data, grad_fn=Node(name, edges) if any(isinstance(one, Node) for one in edges) else None)


@right
def record(name, operands, data):
    if len([x for x in operands if x.grad_fn is not None or x.accumulator is not None]) == 0:
        return Value(data)
    node = Node(name, [])
    for x in operands:
        node.edges += [x.grad_fn if x.grad_fn is not None else x.accumulator]
    return Value(data, False, node)


@right
def record(name, operands, data):
    def collect(rest):
        if not rest:
            return []
        return [rest[0].grad_fn or rest[0].accumulator, *collect(rest[1:])]

    edges = collect(list(operands))
    wanted = set(edges) - {None}
    return Value(data, grad_fn=Node(name, edges)) if wanted else Value(data)


@right
def record(name, operands, data):
    edges_of_this_operation, somebody_wants_a_gradient = [None] * len(operands), False
    for place, operand in enumerate(operands):
        where_its_gradient_goes = operand.accumulator
        if operand.grad_fn is not None:
            where_its_gradient_goes = operand.grad_fn
        edges_of_this_operation[place] = where_its_gradient_goes
        somebody_wants_a_gradient |= where_its_gradient_goes is not None
    new_value = Value(data)
    if somebody_wants_a_gradient:
        new_value.grad_fn = Node(name, edges_of_this_operation)
    return new_value


@avoiding
def record(name, operands, data):
    return lab.engine_so_far().record(name, operands, data)
