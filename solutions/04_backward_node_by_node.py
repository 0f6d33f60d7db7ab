# ---
# jupyter:
#   autograd_lab:
#     id: "04"
#     minutes: 55
#     points: 15
# ---

# %% [markdown]
# # 04 · Exercises: backward, node by node
#
# Put your answers in place of the dots and run the check below. Run a check as often as you
# like. Stuck? `lab.hint("04.1")` gives the first of three hints.

# %%
import autograd_lab as torch
from autograd_lab import lab

# %% [markdown]
# ## 04.1 · Four graphs, four gradients (4 points)
#
# In each graph `a = {a}`. What is `a.grad` after `backward()` from the last line? Work them out by
# hand: write the message on every edge, and add up where paths meet.
#
# | | graph |
# |---|---|
# | 1 | `(a * {p}) * {q}` |
# | 2 | `b = a + a` then `b + b` |
# | 3 | `b = a * {r}` then `a * b` |
# | 4 | `b = a * a`, `c = b * {s}`, then `b * c` |

# %%
### BEGIN SOLUTION
answer = [12, 4, 12, 160]
### END SOLUTION
### BEGIN STUB
# answer = [..., ..., ..., ...]
### END STUB

# %%
lab.check("04.1", answer)


# %% tags=["item"]
@variant(a=range(2, 7), p=range(2, 7), q=range(3, 8), r=range(3, 8), s=range(2, 8))
def four_graphs(a=2, p=3, q=4, r=3, s=5):
    c = s * a**2
    once, first, second, third = 2 * a * c, p * q, 4, 2 * r * a
    fourth = 2 * once
    return varied(
        answer=[first, second, third, fourth],
        hints=[
            "Draw each graph. A tensor that is used twice has two arrows leaving it; backward, two messages come back.",
            "In graph 4 the node of b gets one message from the product directly and one through c. Add them before going on to a.",
            f"Graph 4: directly c = {c}; through c it is b * {s} = {c}. Together {2 * c}, times 2a = {2 * a}.",
        ],
        wrong=[
            wrong_answer(
                [first, second, third, once + fourth],
                "M06",
                "In graph 4 your way back goes down from b once for each message, and sends the first one again with the second: "
                f"{once} + {fourth}. The node of b must wait for both messages and go on once, with their sum.",
                score=3,
            ),
            wrong_answer(
                [first, second, third, once],
                "M06",
                f"In graph 4 only one of the two messages for b got through: {c} instead of {c} + {c}. b is used by c and by the product.",
                score=3,
            ),
            wrong_answer(
                [first, 2, r * a, once],
                "M07",
                "Where a tensor is used twice you kept one message and lost the other. Gradients that meet are added.",
                score=1,
            ),
            wrong_answer(
                [first, 8, third, fourth],
                "M06",
                "In graph 2 you counted a path twice: b gets 1 + 1 = 2, and sends 2 to each of its two operands: 4 in all.",
                score=3,
            ),
            wrong_answer(
                [p + q, second, third, fourth],
                "",
                "In graph 1 you added. Only messages that meet at a node are added; on the way, each node multiplies by its own factor.",
                score=3,
            ),
            wrong_answer(
                [first, 2, third, fourth],
                "M07",
                "In graph 2, b = a + a sends 2 to each of its two operands, and both are a: 2 + 2. One of the two got lost.",
                score=3,
            ),
            wrong_answer(
                [first, second, r * a, fourth],
                "M07",
                f"In graph 3, a gets two messages: {r * a} straight from the product, and {a} * {r} = {r * a} through b. They are added.",
                score=3,
            ),
            wrong_answer(
                [first, second, a + r, fourth],
                "",
                f"In graph 3 you added the two factors. The product sends the value of the other factor: b = {r * a} to a, and a = {a} to b.",
                score=3,
            ),
            wrong_answer(
                [first, 2, r * a, fourth],
                "M07",
                "In graphs 2 and 3 two messages reach a, and you kept one of them. They are added.",
                score=2,
            ),
            wrong_answer(
                [first, second, third, 2 * c],
                "",
                f"In graph 4 you stopped at b: {2 * c} is what its node receives. From there it sends {2 * c} * {a} to each of its two operands.",
                score=3,
            ),
            wrong_answer(
                [first, second, third, 0],
                "M06",
                "In graph 4 you let b send before anything had reached it. It runs last of the three, when both messages are in.",
                score=3,
            ),
            wrong_answer(
                [first, 8, third, once + fourth],
                "M06",
                "In graphs 2 and 4 you sent a sum on that contains messages you had sent on before. A node waits, and sends once.",
                score=2,
            ),
            wrong_answer(
                [a * p * q, 4 * a, r * a**2, a**2 * c],
                "",
                "These are values of the graph, not gradients: the question is how much the last line moves when a moves.",
                score=1 if a in (2, 4) else 0,  # then one of them is right
            ),
        ],
    )


item("04.1", kind="number", points=4, partial=True, variant=four_graphs)

# %% [markdown]
# ## 04.2 · You are the engine (3 points)
#
# `b = a * 2`, `c = b + a` and `loss = b * c`, at `a = 3`. The nodes are called `"loss"`, `"c"`, `"b"` and `"a"`
# here (the last is the accumulator of `a`). In which order do they run, and which gradient does each one get?
# Write pairs, beginning with the node that runs first.
#
# Work on paper, or be the engine in the stepper below: choose each node and type what it sends. Then run
# `lab.check("04.2", stepper)` in a cell of your own: it judges your first tries. `stepper.engine_answer` has them as
# pairs. Your clicks are not handed in, only your cells. So copy the pairs into your answer.

# %%
a = torch.tensor(3.0, requires_grad=True)
with lab.record() as trace:
    b = a * 2
    c = b + a
    loss = b * c
    loss.backward()

stepper = lab.step(trace, mode="engine")
stepper

# %%
### BEGIN SOLUTION
order = [("loss", 1), ("c", 6), ("b", 15), ("a", 36)]
### END SOLUTION
### BEGIN STUB
# order = ...  # [("loss", 1), ...]: as many pairs as there are runs
### END STUB

# %%
lab.check("04.2", order)

# %% tags=["item"]
item(
    "04.2",
    kind="engine",
    points=3,
    hints=[
        "A node may run when every node that uses its output has sent its message.",
        "After the loss has run, the node of b holds one message (9) and still waits for the one from c.",
        "The order is loss, c, b, a. b receives 9 + 6, and a receives 6 from c and 2 * 15 from b.",
    ],
    wrong=[
        wrong_answer(
            [["loss", 1], ["b", 9], ["c", 6], ["a", 24]],
            "M06",
            "You ran b with one of its two messages. c uses b as well, so b must wait until c has sent its own.",
        ),
        wrong_answer(
            [["loss", 1], ["b", 9], ["c", 6], ["a", 36]],
            "M06",
            "b ran with 9 alone, before c had sent its message: then a would end at 24, not at 36. b must wait for c.",
        ),
        wrong_answer(
            [["loss", 1], ["b", 9], ["c", 6], ["b", 15], ["a", 36]],
            "M06",
            "You took b when only 9 had arrived. c uses b as well, and its message was still to come: b must wait for it, and run "
            "once.",
        ),
        wrong_answer(
            [["loss", 1], ["a", None], ["c", 6], ["b", 15], ["a", 36]],
            "M06",
            "You went from the loss straight to the accumulator of a, where nothing had arrived yet. Take the nodes that send to it first, c and b.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["a", 6], ["b", 15], ["a", 36]],
            "M06",
            "You took the accumulator of a when only the 6 from c had arrived. b uses a as well, so it waits for the message from b.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 6], ["a", 36]],
            "M07",
            "At b the second message, 6, does not replace the 9 that lies there. They are added: 15, and only with that a ends at 36.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 9], ["a", 36]],
            "M07",
            "b does not keep its first message alone. The 6 from c is added to the 9: 15, and only with that a ends at 36.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 9], ["b", 15], ["a", 36]],
            "",
            "The message to c is not c's own value. A product sends each operand the value of the other one: c gets b = 6.",
        ),
        wrong_answer(
            [["loss", 1], ["b", 9], ["c", 6], ["b", 6], ["a", 36]],
            "M06",
            "You ran b twice. The sum is right here, but every node behind b would run twice as well, and so on: the engine waits, "
            "and runs each node once.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 9], ["b", 6], ["a", 36]],
            "M06",
            "b runs once, with the sum of its two messages, not once for each.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 15], ["a", 6], ["a", 30]],
            "M06",
            "The accumulator of a waits like every node: it runs once, with 6 + 30.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["a", 6], ["b", 15], ["a", 30]],
            "M06",
            "The accumulator of a does not run at its first message. b uses a as well, so it waits, and runs last, with 6 + 30.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 6], ["a", 18]],
            "M07",
            "The second message replaced the first at b. Messages for the same tensor are added: 9 + 6.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 9], ["a", 24]],
            "M07",
            "What c sends to b got lost. It is added to the 9 that lies there, and b goes on with both.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 15], ["a", 30]],
            "M07",
            "a is used by c too, whose node sends it 6. That is added to the 30 from b.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 9], ["b", 15], ["a", 39]],
            "",
            "At the loss the messages are swapped: the gradient for c is b = 6, and the one for b is c = 9.",
        ),
        wrong_answer(
            [["loss", 1], ["c", 6], ["b", 27], ["a", 90]],
            "",
            "c is a sum: its node hands the 6 on to both operands as it is. Only a product multiplies by the other operand.",
        ),
        wrong_answer(
            [["loss", 54], ["c", 9], ["b", 6], ["a", 3]],
            "",
            "The order is right, but these are the values of the forward run. The loss starts with the gradient 1.",
        ),
        wrong_answer(
            ["loss", "c", "b", "a"],
            "",
            'The order is right. Now write beside each node the gradient it receives: ("loss", 1) is the first pair.',
        ),
        wrong_answer(
            [["a", 36], ["b", 15], ["c", 6], ["loss", 1]],
            "",
            "The gradients are right; but backward starts at the loss, and the accumulator of a is the end of the way.",
        ),
    ],
)

# %% [markdown]
# ## 04.3 · Put the engine together (2 points)
#
# Here are the parts of a backward pass, shuffled. Give their letters in the right order. Put the parts of the loop
# in the order in which they happen for one node.
#
# - **A** loop: while a node is ready, take the one made last
# - **B** count how many messages every node will get
# - **C** deliver: add each gradient to what already waits at its node
# - **D** seed the root with the gradient 1
# - **E** apply the node's rule to its summed gradient
# - **F** a node that has got its last message is ready now

# %%
### BEGIN SOLUTION
parts = ["B", "D", "A", "E", "C", "F"]
### END SOLUTION
### BEGIN STUB
# parts = [..., ..., ..., ..., ..., ...]  # letters in quotes
### END STUB

# %%
lab.check("04.3", parts)

# %% tags=["item"]
item(
    "04.3",
    kind="order",
    points=2,
    hints=[
        "Two parts come before the loop, three happen inside of it.",
        "You cannot know that a message is the last one unless you have counted first.",
        "Count, seed, loop; in the loop: apply, deliver, and see who is ready.",
    ],
    accept=[["D", "B", "A", "E", "C", "F"]],
    wrong=[
        wrong_answer(
            ["D", "A", "E", "C", "F", "B"],
            "M06",
            "Without counting first (B) nobody knows which message is a node's last, so F cannot be decided.",
        ),
        wrong_answer(
            ["B", "D", "A", "C", "E", "F"],
            "",
            "C before E delivers gradients that the rule has not computed yet.",
        ),
        wrong_answer(
            ["A", "B", "D", "E", "C", "F"],
            "",
            "The loop (A) takes a node that is ready. Before anything is counted (B) and seeded (D), none is.",
        ),
        wrong_answer(
            ["B", "D", "A", "F", "E", "C"],
            "",
            "Nobody new is ready before something has been delivered: the rule (E), its messages (C), then who is ready (F).",
        ),
        wrong_answer(
            ["D", "A", "B", "E", "C", "F"],
            "",
            "Counting (B) happens once, before the loop: inside it, the counts would begin anew with every node.",
        ),
        wrong_answer(
            ["B", "D", "A", "E", "F", "C"],
            "",
            "F asks who has got the last message; the messages are delivered in C, before.",
        ),
        wrong_answer(
            ["B", "A", "D", "E", "C", "F"],
            "",
            "The seed (D) goes in once, before the loop: inside, the root would be started again and again.",
        ),
    ],
)

# %% [markdown]
# ## 04.4 · Write backward (5 points)
#
# Here is a very simple graph. A node knows its `value`, its `inputs`, and its `rule`: from
# the gradient `g` of its value, `rule(g)` makes a list with one gradient per input. At first every `.grad` is 0.0. Write
# `backward(root)`. Afterwards the `.grad` of every node is the gradient of the root with respect to that node. A graph may be
# thousands of nodes deep, and Python allows about a thousand calls inside each other.


# %%
class Node:
    """A number in a graph."""

    def __init__(self, value, inputs=(), rule=None):
        self.value, self.inputs, self.rule, self.grad = value, inputs, rule, 0.0


def mul(a, b):
    return Node(a.value * b.value, (a, b), lambda g: [g * b.value, g * a.value])


# %%
def backward(root):
    """Fill `.grad` of every node behind `root`; ask each rule once, with the whole gradient."""
    ### BEGIN SOLUTION
    waiting, stack = {root: 0}, [root]
    while stack:
        for x in stack.pop().inputs:
            if x not in waiting:
                waiting[x] = 0
                stack.append(x)
            waiting[x] += 1
    root.grad, ready = 1.0, [root]
    while ready:
        node = ready.pop()
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g
            waiting[x] -= 1
            if waiting[x] == 0:
                ready.append(x)
    ### END SOLUTION


# %%
lab.check("04.4", backward)

# %% tags=["item"]
item(
    "04.4",
    kind="code",
    points=5,
    hints=[
        "First go through the graph once and count, for each node, how often it is an input.",
        "Keep a list of ready nodes. Take one, ask its rule, add each result to the input's .grad, and count down.",
        "An input joins the list when its count reaches zero. Do not call yourself for the inputs: that goes down every path.",
    ],
    equivalent={
        "4: 0 -> 1": "nobody sends to the root, so nobody counts down what waits there",
        "14: node.inputs without its None": "every input is a node",
        "14: node.rule(node.grad) if node.inputs else [] without its None": "every message is a number",
    },
)


@shared
class Node:
    def __init__(self, value, inputs=(), rule=None):
        self.value, self.inputs, self.rule, self.grad = value, inputs, rule, 0.0


@shared
def mul(a, b):
    return Node(a.value * b.value, (a, b), lambda g: [g * b.value, g * a.value])


@shared
def add(a, b):
    return Node(a.value + b.value, (a, b), lambda g: [g, g])


@shared
def less(a, b):
    return Node(a.value - b.value, (a, b), lambda g: [g, -g])


@shared
def product(a, b, c):
    x, y, z = a.value, b.value, c.value
    return Node(x * y * z, (a, b, c), lambda g: [g * y * z, g * x * z, g * x * y])


@shared
def made(graph, value):
    "The graph of Nodes, its first node and its root; the same one of tensors runs beside it, for the stepper to show."
    with torch.enable_grad():
        a = torch.tensor(value, requires_grad=True)
        graph(a, torch.mul, torch.add, float).backward()
    a = Node(value)
    return a, graph(a, mul, add, Node)


@shared
def asking(rule, asked):
    "A rule that notes what it is asked with."
    return lambda g: asked.append(float(g)) or rule(g)


@probe(points=0.5, cases=[(1,), (2,), (4,)])
def a_chain(backward, times):
    "a = 2, multiplied by 3, this many times: {0}"

    def graph(y, mul, add, number):
        for _ in range(times):
            y = mul(y, number(3.0))
        return y

    a, root = made(graph, 2.0)
    asked, node = [], root
    while node.inputs:
        node.rule = asking(node.rule, asked)
        node = node.inputs[0]
    backward(root)
    return {"a": a.grad, "root": root.grad, "the rules were asked with": asked}


@probe(points=0.5, cases=[("a + a",), ("a * a",), ("b + b",)])
def used_twice_at_once(backward, root):
    "a = 3, b = a * a, and the root is {0}"

    def graph(a, mul, add, number):
        if root == "a + a":
            return add(a, a)
        b = mul(a, a)
        return b if root == "a * a" else add(b, b)

    a, y = made(graph, 3.0)
    backward(y)
    return {"a": a.grad}


@probe(points=1, cases=[(2,), (3,), (6,)])
def doubled(backward, times):
    "a = 1, and y = y + y, this many times in a row: {0}"

    def graph(y, mul, add, number):
        for _ in range(times):
            y = add(y, y)
        return y

    a, root = made(graph, 1.0)
    backward(root)
    return {"a": a.grad}


@probe(points=1, cases=[("a * b",), ("b * c",), ("c * b",)])
def used_at_two_depths(backward, root):
    "a = 2, b = a * 5, c = b * 3, and the root is {0}"

    def graph(a, mul, add, number):
        b = mul(a, number(5.0))
        if root == "a * b":
            return mul(a, b)
        c = mul(b, number(3.0))
        return mul(b, c) if root == "b * c" else mul(c, b)

    a, y = made(graph, 2.0)
    backward(y)
    return {"a": a.grad}


@probe(points=1, hidden=True)
def random_graphs(backward):
    "Random graphs of sums and products, with zeros and negative numbers; each one twice, and then from another root, with the gradients set back to 0.0 in between"
    rng = np.random.default_rng(11)
    found = []
    for lowest in (*[0.5] * 4, *[-1.2] * 3, 0.0, 0.0):
        nodes = [Node(float(v)) for v in rng.uniform(lowest, 1.2, 3)]
        if lowest == 0:
            nodes[1].value = 0.0
        for _ in range(12):
            i, j, k = len(nodes) - 1 - rng.integers(4 if len(nodes) > 3 else 3, size=3)
            more = [mul, add, less, product][rng.integers(4 if lowest <= 0 else 2)]
            nodes.append(more(nodes[i], nodes[j], nodes[k]) if more is product else more(nodes[i], nodes[j]))
        values = [n.value for n in nodes]
        for root in (nodes[-1], nodes[-1], nodes[-2]):
            for n in nodes:
                n.grad = 0.0
            backward(root)
            found.append([n.grad for n in nodes])
        found.append([n.value for n in nodes] == values)
    alone = Node(5.0)
    backward(alone)
    return [*found, alone.grad]


@probe(points=1, hidden=True)
def each_rule_once_and_deep(backward):
    "Each rule is asked once, also in a chain of 3,000 nodes"
    asked = []

    def double(a):
        return Node(2 * a.value, (a, a), lambda g: asked.append(g) or [g, g])

    a = y = Node(1.0)
    for _ in range(24):
        y = double(y)
    soon(backward, y)
    deep = z = Node(1.0)
    for _ in range(3000):
        z = Node(z.value, (z,), lambda g: [g])
    backward(z)
    return {"gradient": a.grad, "rules asked": len(asked), "deep": deep.grad}


@wrong("M06", "Your engine walks down every path by itself and sends along what had arrived before as well. "
       "A node must wait for all its messages, and go on once.", score=0.5)  # fmt: skip
def backward(root):
    root.grad = 1.0

    def go(node):
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g
            go(x)

    go(root)


@wrong("M06", "Your engine goes on from a node at its first message; what arrives later is not passed on. Count first how many "
       "messages each node will get.", score=3)  # fmt: skip
def backward(root):
    root.grad, queue, seen = 1.0, [root], {root}
    while queue:
        node = queue.pop(0)
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g
            if x not in seen:
                seen.add(x)
                queue.append(x)


@wrong(
    "M07",
    "At a node with several messages the last one replaces the others. They must be added: x.grad += g.",
    score=0.5,
)
def backward(root):
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for x in node.inputs:
                visit(x)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad = g


@wrong("M06", "You go through the nodes in the order in which they were made. Backward is the other way round: first the "
       "node that everything else has led to.")  # fmt: skip
def backward(root):
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for x in node.inputs:
                visit(x)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in order:
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g


@wrong(
    "M08",
    "The gradients are right where the graph ends. But the task asks for those of every node, also in between: that is not PyTorch, where "
    "only leaves keep theirs.",
    score=4,
)
def backward(root):
    order, stack, seen = [], [(root, False)], set()
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in node.inputs)
    total = {root: 1.0}
    root.grad = 1.0
    for node in reversed(order):
        for x, g in zip(node.inputs, node.rule(total[node]) if node.inputs else []):
            total[x] = total.get(x, 0.0) + g
            if not x.inputs:
                x.grad += g


@wrong("", "Every path through the graph is followed to its end. The gradients are right, but the number of paths doubles "
       "with every node that is used twice: go on from each node once.", score=4)  # fmt: skip
def backward(root):
    stack = [(root, 1.0)]
    while stack:
        node, g = stack.pop()
        node.grad += g
        if node.inputs:
            stack.extend(zip(node.inputs, node.rule(g)))


@wrong(
    "M08",
    "The leaves have their gradients, but the nodes in between, and the root, have lost theirs. Here every node keeps its own.",
    score=3.5,
)
def backward(root):
    order, stack, seen = [], [(root, False)], set()
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in node.inputs)
    root.grad = 1.0
    for node in reversed(order):
        if node.inputs:
            g, node.grad = node.grad, 0.0
            for x, message in zip(node.inputs, node.rule(g)):
                x.grad += message


@wrong("", "The root needs the gradient 1 before anything else: how much does it change if it changes by 1?")
def backward(root):
    waiting, stack = {root: 0}, [root]
    while stack:
        for x in stack.pop().inputs:
            if x not in waiting:
                waiting[x] = 0
                stack.append(x)
            waiting[x] += 1
    ready = [root]
    while ready:
        node = ready.pop()
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g
            waiting[x] -= 1
            if waiting[x] == 0:
                ready.append(x)


@wrong("", "Right for small graphs; but you call yourself for every input, and Python allows about a thousand calls inside each "
       "other. Use a list of your own as the stack.", score=4)  # fmt: skip
def backward(root):
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for x in node.inputs:
                visit(x)
            order.append(node)

    visit(root)
    root.grad = 1.0
    for node in reversed(order):
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g


@wrong("M06", "You count a node once for every path that leads to it, and wait for messages that never come. Go into each node once when you count: remember which you have seen.", score=2)  # fmt: skip
def backward(root):
    waiting, stack = {root: 0}, [root]
    while stack:
        for x in stack.pop().inputs:
            waiting[x] = waiting.get(x, 0) + 1
            stack.append(x)
    root.grad, ready = 1.0, [root]
    while ready:
        node = ready.pop()
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g
            waiting[x] -= 1
            if waiting[x] == 0:
                ready.append(x)


@wrong("M06", "You count users. A node that uses an input twice, such as a * a, sends it two messages: count every edge.", score=4)  # fmt: skip
def backward(root):
    waiting, stack = {root: 0}, [root]
    while stack:
        for x in set(stack.pop().inputs):
            if x not in waiting:
                waiting[x] = 0
                stack.append(x)
            waiting[x] += 1
    root.grad, ready = 1.0, [root]
    while ready:
        node = ready.pop()
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g
            waiting[x] -= 1
            if waiting[x] == 0:
                ready.append(x)


@wrong(
    "", "A leaf has no rule, only None, and None cannot be called. Ask a rule only where there are inputs."
)
def backward(root):
    root.grad, stack = 1.0, [root]
    while stack:
        node = stack.pop()
        for x, g in zip(node.inputs, node.rule(node.grad)):
            x.grad += g
            stack.append(x)


@wrong("", "The rule multiplies by what it is asked with, node.grad. Multiplied again, the gradient counts twice.")  # fmt: skip
def backward(root):
    waiting, stack = {root: 0}, [root]
    while stack:
        for x in stack.pop().inputs:
            if x not in waiting:
                waiting[x] = 0
                stack.append(x)
            waiting[x] += 1
    root.grad, ready = 1.0, [root]
    while ready:
        node = ready.pop()
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += node.grad * g
            waiting[x] -= 1
            if waiting[x] == 0:
                ready.append(x)


@wrong("", "The rule was asked with 1, so each node sends only its local derivative. Hand it the gradient that has arrived: node.grad.")  # fmt: skip
def backward(root):
    waiting, stack = {root: 0}, [root]
    while stack:
        for x in stack.pop().inputs:
            if x not in waiting:
                waiting[x] = 0
                stack.append(x)
            waiting[x] += 1
    root.grad, ready = 1.0, [root]
    while ready:
        node = ready.pop()
        for x, g in zip(node.inputs, node.rule(1.0) if node.inputs else []):
            x.grad += g
            waiting[x] -= 1
            if waiting[x] == 0:
                ready.append(x)


@wrong("", "Only the root's rule was asked, so nothing gets further than the root's own inputs. Each of them is a node too: go on until no node "
       "is ready.")  # fmt: skip
def backward(root):
    root.grad = 1.0
    for x, g in zip(root.inputs, root.rule(1.0)):
        x.grad += g


@wrong(
    "M06",
    "You go level by level from the root. A node that is used on two levels sends on both, and the second time what it had sent before as "
    "well. It must wait for all its messages, and go on once.",
    score=3,
)
def backward(root):
    root.grad, level = 1.0, [root]
    while level:
        below = []
        for node in level:
            for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
                x.grad += g
                if x not in below:
                    below.append(x)
        level = below


@wrong(
    "M07",
    "A node that uses an input twice, such as a + a, sends it two messages, and one of yours is lost. Go through the inputs one by one, "
    "and add.",
    score=1.5,
)
def backward(root):
    order, stack, seen = [], [(root, False)], set()
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in node.inputs)
    root.grad = 1.0
    for node in reversed(order):
        messages = dict(zip(node.inputs, node.rule(node.grad) if node.inputs else []))
        for x, g in messages.items():
            x.grad += g


@wrong(
    "",
    "A second pass through the same graph finds nothing to do. What you note about the nodes must be new in each call, and nothing of the graph "
    "may be used up.",
    score=4,
)
def backward(root, seen=set()):  # noqa: B006 (it is the mistake)
    order, stack = [], [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in node.inputs)
    root.grad = 1.0
    for node in reversed(order):
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g


@wrong(
    "",
    "A node whose gradient is not positive does not send on. Zero and negative numbers are gradients like all others.",
    score=4,
)
def backward(root):
    order, stack, seen = [], [(root, False)], set()
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in node.inputs)
    root.grad = 1.0
    for node in reversed(order):
        if node.inputs and node.grad > 0:
            for x, g in zip(node.inputs, node.rule(node.grad)):
                x.grad += g


@wrong(
    "",
    "A rule is asked again for each of its inputs. Ask it once: its answer has the messages for all of them.",
    score=3.5,
)
def backward(root):
    order, stack, seen = [], [(root, False)], set()
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in node.inputs)
    root.grad = 1.0
    for node in reversed(order):
        for i, x in enumerate(node.inputs):
            x.grad += node.rule(node.grad)[i]


@wrong(
    "",
    "A second pass from another root sends what the first one has sent. Ask each rule anew in each pass, with the gradient of this pass.",
    score=4,
)
def backward(root):
    waiting, stack = {root: 0}, [root]
    while stack:
        for x in stack.pop().inputs:
            if x not in waiting:
                waiting[x] = 0
                stack.append(x)
            waiting[x] += 1
    root.grad, ready = 1.0, [root]
    while ready:
        node = ready.pop()
        if node.inputs and not hasattr(node, "given"):
            node.given = node.rule(node.grad)
        for x, g in zip(node.inputs, node.given if node.inputs else []):
            x.grad += g
            waiting[x] -= 1
            if waiting[x] == 0:
                ready.append(x)


@wrong(
    "",
    "Every path through the graph is followed to its end. The gradients are right, but the number of paths doubles "
    "with every node that is used twice: go on from each node once.",
    score=4,
)
def backward(root):
    order = [root]
    for n in order:
        order.extend(n.inputs)
    seen, final = set(), []
    for n in reversed(order):
        if n not in seen:
            seen.add(n)
            final.append(n)
    root.grad = 1.0
    for n in reversed(final):
        if n.rule is not None:
            for i, g in zip(n.inputs, n.rule(n.grad)):
                i.grad += g


@wrong(
    "M06",
    "Your engine goes on from a node at its first message; what arrives later is not passed on. Count first how many messages each node will get.",
    score=3,
)
def backward(root):
    order, seen, stack = [], set(), [root]
    while stack:
        n = stack.pop()
        if n not in seen:
            seen.add(n)
            order.append(n)
            stack.extend(n.inputs)
    root.grad = 1.0
    for n in order:
        if n.rule:
            for i, g in zip(n.inputs, n.rule(n.grad)):
                i.grad += g


@wrong(
    "M11",
    "A message of 0 is left out, and the node that waits for it never runs. It is a message like all others.",
    score=4,
)
def backward(root):
    waits, todo = {}, [root]
    while todo:
        for i in todo.pop().inputs:
            waits[i] = waits.get(i, 0) + 1
            if waits[i] == 1:
                todo.append(i)
    root.grad = 1.0
    ready = [root]
    while ready:
        n = ready.pop()
        if n.rule:
            for i, g in zip(n.inputs, n.rule(n.grad)):
                if g == 0:
                    continue
                i.grad += g
                waits[i] -= 1
                if waits[i] == 0:
                    ready.append(i)


@wrong(
    "",
    "Nodes with the same value are taken for one. What counts is which node it is, not its number.",
    score=3,
)
def backward(root):
    waits, todo = {}, [root]
    while todo:
        for i in todo.pop().inputs:
            waits[i.value] = waits.get(i.value, 0) + 1
            if waits[i.value] == 1:
                todo.append(i)
    root.grad = 1.0
    ready = [root]
    while ready:
        n = ready.pop()
        if n.rule:
            for i, g in zip(n.inputs, n.rule(n.grad)):
                i.grad += g
                waits[i.value] -= 1
                if waits[i.value] == 0:
                    ready.append(i)


@wrong("", "The root may be a leaf. It has no rule to ask, and its gradient is 1.", score=4)
def backward(root):
    waits, todo = {}, [root]
    while todo:
        for i in todo.pop().inputs:
            waits[i] = waits.get(i, 0) + 1
            if waits[i] == 1:
                todo.append(i)
    root.grad = 1.0
    ready = [root]
    while ready:
        n = ready.pop()
        for i, g in zip(n.inputs, n.rule(n.grad)):
            i.grad += g
            waits[i] -= 1
            if waits[i] == 0 and i.inputs:
                ready.append(i)


@right
def backward(root):
    def visit(node):
        if node not in done:
            done[node] = True
            for one in node.inputs:
                yield visit(one)
            reihenfolge.append(node)

    done, reihenfolge, stack = {}, [], [visit(root)]
    while stack:
        try:
            stack.append(next(stack[-1]))
        except StopIteration:
            stack.pop()
    root.grad = 1.0
    for node in reihenfolge[::-1]:
        for one, g in zip(node.inputs, node.rule(node.grad) if node.inputs else ()):
            one.grad += g


@right
def backward(root):
    order, stack, seen = [], [(root, False)], set()
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in node.inputs)
    root.grad = 1.0
    for node in reversed(order):
        if node.inputs:
            for x, g in zip(node.inputs, node.rule(node.grad)):
                x.grad += g


@right
def backward(root):
    """It asks for the class that the question hands out."""
    users, stack = {root: 0}, [root]
    while stack:
        for x in stack.pop().inputs:
            if isinstance(x, Node) and x not in users:
                users[x] = 0
                stack.append(x)
            users[x] += 1
    root.grad, ready = 1.0, [root]
    while ready:
        node = ready.pop()
        for x, g in zip(node.inputs, node.rule(node.grad) if node.inputs else []):
            x.grad += g
            users[x] -= 1
            if not users[x]:
                ready.append(x)


@right
def backward(root):
    from collections import Counter, deque

    count, queue, seen = Counter(), deque([root]), {root}
    while queue:
        for x in queue.popleft().inputs:
            count[x] += 1
            if x not in seen:
                seen.add(x)
                queue.append(x)
    root.grad = 1.0
    queue = deque([root])
    while queue:
        node = queue.popleft()
        grads = node.rule(node.grad) if node.inputs else ()
        for i, x in enumerate(node.inputs):
            x.grad = x.grad + grads[i]
            count[x] -= 1
            if not count[x]:
                queue.append(x)


@right
def backward(root):
    """By levels: a node's is one more than the highest of those that use it."""
    level, todo = {root: 0}, [root]
    while todo:
        node = todo.pop()
        for x in node.inputs:
            if level.get(x, -1) < level[node] + 1:
                level[x] = level[node] + 1
                todo.append(x)
    root.grad = 1.0
    for node in sorted(level, key=level.get):
        if node.inputs:
            for x, g in zip(node.inputs, node.rule(node.grad)):
                x.grad += g


@right
def backward(root):
    import sys

    def order_of(node, seen, order):
        seen.add(node)
        for x in node.inputs:
            if x not in seen:
                order_of(x, seen, order)
        order.append(node)
        return order

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        order = order_of(root, set(), [])
    finally:
        sys.setrecursionlimit(before)
    root.grad = 1.0
    while order:
        node = order.pop()
        for place in range(len(node.inputs)):
            if place == 0:
                sent = node.rule(node.grad)
            node.inputs[place].grad += sent[place]


@right
def backward(root):
    def all_nodes_behind(start):
        found, frontier = [start], [start]
        while frontier:
            frontier = list(dict.fromkeys(x for node in frontier for x in node.inputs if x not in set(found)))
            found += frontier
        return found

    def count_users(nodes):
        number = {id(node): 0 for node in nodes}
        for node in nodes:
            for x in node.inputs:
                number[id(x)] += 1
        return number

    def deliver(node, outstanding, ready):
        messages = node.rule(node.grad) if node.rule is not None else []
        for receiver, message in zip(node.inputs, messages):
            receiver.grad = receiver.grad + message
            outstanding[id(receiver)] -= 1
            if outstanding[id(receiver)] == 0:
                ready.append(receiver)

    outstanding = count_users(all_nodes_behind(root))
    root.grad, ready = 1.0, [root]
    while ready:
        deliver(ready.pop(0), outstanding, ready)


@right
def backward(root):
    """The sums in a dict first, and into .grad at the end."""
    import graphlib

    users, todo = {}, [root]
    while todo:
        node = todo.pop()
        if node not in users:
            users[node] = node.inputs
            todo.extend(node.inputs)
    sums = dict.fromkeys(users, 0.0)
    sums[root] = 1.0
    for node in reversed(list(graphlib.TopologicalSorter(users).static_order())):
        for x, g in zip(node.inputs, node.rule(sums[node]) if node.inputs else ()):
            sums[x] += g
    for node, total in sums.items():
        node.grad = total


@right
def backward(root):
    """Pulling: a node asks for what each of its users sends, when all of them are done."""
    users, nodes, i = {root: []}, [root], 0
    while i < len(nodes):
        for place, x in enumerate(nodes[i].inputs):
            if x not in users:
                users[x] = []
                nodes.append(x)
            users[x].append((nodes[i], place))
        i += 1
    sent, open_nodes = {}, list(nodes)
    while open_nodes:
        rest = []
        for node in open_nodes:
            if all(user in sent for user, _ in users[node]):
                node.grad = 1.0 if node is root else sum(sent[user][place] for user, place in users[node])
                sent[node] = node.rule(node.grad) if node.inputs else []
            else:
                rest.append(node)
        open_nodes = rest


# %% [markdown]
# ## 04.5 · An engine that grows: pop (1 point)
#
# The third piece of your engine. `ready` is a list of the nodes that wait for no message any more. Write `pop(ready)`:
# it takes the node that runs next out of the list, and returns it. An accumulator runs before all others, and of several
# accumulators any may be first. Of the other nodes, the one that was made last runs first.
#
# The accumulator of a leaf has the leaf as its `variable`; the `variable` of other nodes is `None`. `number` says in
# which order nodes were made: the newest has the highest.

# %%
engine = lab.engine_so_far("pop")
engine


# %%
def pop(ready):
    """Take the node that runs next out of the list `ready`, and return it."""
    ### BEGIN SOLUTION
    best = ready[0]
    for node in ready:
        if best.variable is None and (node.variable is not None or node.number > best.number):
            best = node
    ready.remove(best)
    return best
    ### END SOLUTION


# %%
lab.check("04.5", pop)

# %% [markdown]
# Press **backward**, then **Step**: when the lab takes a node, the tab **your engine** lights your line that takes one, and the tab
# **engine** lights the lab's `heappop`. Is it the same node? `lab.step_code(pop, beside="pop")` goes through your lines one by one.

# %%
lab.step(pop, beside="pop")

# %% tags=["item"]
item(
    "04.5",
    kind="code",
    hints=[
        "Two questions decide: is one of them an accumulator? If not, which has the highest number?",
        "Go through the list and keep the best one so far. Take it out only after the loop.",
        "ready.remove(node) takes a node out of the list; or find its place and use ready.pop(place). Then return it.",
    ],
    equivalent={
        "6: node.number > best.number -> node.number >= best.number": "no two nodes have the same number",
    },
)


@shared
def waiting(which, later=0):
    "Nodes n1, n2, ..., made in this order, of which those with a capital N are accumulators; in the order of `which`."
    from autograd_lab.course.own_engine import Node, Value

    made = {}
    for name in sorted(which, key=lambda name: int(name[1:])):
        number = int(name[1:]) + later
        edges = [Value(0.0, requires_grad=True).accumulator, *[None] * (7 * number % 5)]
        called = ("MulBackward0", "AbsBackward0", "AddBackward0")[
            number % 3
        ]  # one of them comes before AccumulateGrad
        made[name] = Value(0.0, requires_grad=True).accumulator if name[0] == "N" else Node(called, edges)
        made[name].number = number
        if name[0] == "N" and number % 2 == 0:  # as in a second pass
            made[name].variable.grad = 1.0
    return [made[name] for name in which], {one: name for name, one in made.items()}


@probe(
    points=0.5,
    cases=[
        (["n1"],), (["n2", "n1"],), (["n1", "n2"],), (["N1", "n2"],), (["n1", "N2"],), (["n1", "n3", "n2"],), (["n3", "n4", "N1", "n2"],),
        (["n5", "n1", "n4", "n2"],),
    ],
)  # fmt: skip
def one_taken(pop, which):
    "ready is {0}: n2 was made after n1; a capital N is an accumulator. What is returned, and what is left"
    ready, names = waiting(which)
    taken = pop(ready)
    return [names.get(taken, f"no node: {type(taken).__name__}"), sorted(names[one] for one in ready)]


@probe(
    points=0.5,
    hidden=True,
    cases=[
        (["n7", "n3", "N5", "n9"],),
        (["N4", "n1", "n3", "N2"],),
        (["n10", "n100", "n9"],),
        (["n6", "n2", "n4", "n8", "n1", "N3"],),
        (["n4", "N1", "n3", "N2"],),
        (["n0", "N3"],),
    ],
)
def until_none_is_left(pop, which):
    "ready is {0}, and two more come when one has been taken; until the list is empty"
    ready, names = waiting(which)
    nodes = list(ready)
    before = [dict(vars(one)) for one in nodes]
    order = [names.get(pop(ready))]
    more, others = waiting(["n2", "n1"], later=1000)
    ready.extend(more)
    names |= {one: f"later {name}" for one, name in others.items()}
    while ready and len(order) < 20:
        order.append(names.get(pop(ready)))
    leaves = sum(name[0] == "N" for name in which)
    return [sorted(order[:leaves]), order[leaves:], len(ready), [vars(one) for one in nodes] == before]


@look("The lab's own engine chooses, instead of the function.")
def with_the_labs_piece(pop):
    from autograd_lab.course.growing import runs_the_courses

    return runs_the_courses("pop", lambda: pop(waiting(["n2", "n1"])[0]))


@wrong(
    "",
    "You take the one that stands last in the list: it was the last to become ready, which is not the last to be made. Look at number.",
)
def pop(ready):
    return ready.pop()


@wrong(
    "",
    "You take the one that stands first in the list, as if they stood in a queue. What decides is when the nodes were made: number.",
)
def pop(ready):
    return ready.pop(0)


@wrong(
    "",
    "Among the nodes that are not accumulators you take the one made first. It is the other way round: the newest, with the highest number.",
)
def pop(ready):
    ready.sort(key=lambda node: (node.variable is None, node.number))
    return ready.pop(0)


@wrong(
    "",
    "An accumulator has to wait until it is the newest. It runs before all others, whatever its number is.",
)
def pop(ready):
    node = max(ready, key=lambda node: node.number)
    ready.remove(node)
    return node


@wrong("", "An accumulator waits until no other node is left. It runs before all others.")
def pop(ready):
    node = max(ready, key=lambda node: (node.variable is None, node.number))
    ready.remove(node)
    return node


@wrong(
    "",
    "The right node, but it is still in the list that you were given, and would run again and again. Take it out of that one.",
)
def pop(ready):
    ready = sorted(ready, key=lambda node: (node.variable is not None, node.number))
    return ready.pop()


@wrong(
    "",
    "The list is right afterwards, but what you return is not a node. Return the node that you have taken out.",
)
def pop(ready):
    ready.remove(max(ready, key=lambda node: (node.variable is not None, node.number)))


@wrong(
    "", "You take out the right node, and return its number. The engine wants to run the node: return that."
)
def pop(ready):
    node = max(ready, key=lambda node: (node.variable is not None, node.number))
    ready.remove(node)
    return node.number


@wrong(
    "",
    "The list is empty afterwards. Take out the one that you return; the others still wait for their turn.",
)
def pop(ready):
    node = max(ready, key=lambda node: (node.variable is not None, node.number))
    ready.clear()
    return node


@wrong(
    "",
    "Right as long as there is one accumulator. Of two, you take neither, but the newest node: any accumulator may be first, but one of them.",
    score=0.5,
)
def pop(ready):
    accumulators = [node for node in ready if node.variable is not None]
    if len(accumulators) == 1:
        node = accumulators[0]
    else:
        node = max(ready, key=lambda node: node.number)
    ready.remove(node)
    return node


@wrong(
    "",
    "A node whose number is 0 is not found: the search begins as if 0 were the number of another one. Begin with a node of the list.",
    score=0.5,
)
def pop(ready):
    best, highest = None, 0
    for node in ready:
        if node.variable is not None:
            best = node
            break
        if node.number > highest:
            best, highest = node, node.number
    ready.remove(best)
    return best


@wrong(
    "",
    "An accumulator whose leaf has a gradient already has to wait. It runs before all others in a later pass, too.",
    score=0.5,
)
def pop(ready):
    def runs_first(node):
        return node.variable is not None and node.variable.grad is None

    node = max(ready, key=lambda node: (runs_first(node), node.number))
    ready.remove(node)
    return node


@wrong(
    "",
    "A node that was made later has to wait for one of another kind. Among nodes that are not accumulators, the newest runs first.",
)
def pop(ready):
    best = ready[0]
    for n in ready[1:]:
        if (n.name, n.number) < (best.name, best.number) if n.name != best.name else n.number > best.number:
            best = n
    ready.remove(best)
    return best


@wrong(
    "",
    "More than one node leaves the list. Take out the one that you return; other accumulators still wait for their turn.",
    score=0.5,
)
def pop(ready):
    mail = [n for n in ready if n.variable is not None]
    if mail:
        ready[:] = [n for n in ready if n.variable is None]
        return mail[0]
    ready.sort(key=lambda n: n.number)
    return ready.pop()


@right
def pop(ready):
    node = max(ready, key=lambda node: (node.variable is not None, node.number))
    ready.remove(node)
    return node


@right
def pop(ready):
    ready.sort(key=lambda node: (node.variable is not None, node.number))
    return ready.pop()


@right
def pop(ready):
    for place, node in enumerate(ready):
        if node.variable is not None:
            return ready.pop(place)
    numbers = [node.number for node in ready]
    return ready.pop(numbers.index(max(numbers)))


@right
def pop(ready):
    """An accumulator is the node that leads nowhere."""
    for node in ready:
        if not any(node.edges):
            break
    else:
        node = max(ready, key=lambda node: node.number)
    ready.remove(node)
    return node


@right
def pop(ready):
    import heapq

    heap = [(node.variable is None, -node.number, place) for place, node in enumerate(ready)]
    heapq.heapify(heap)
    return ready.pop(heap[0][2])


@right
def pop(ready):
    def runs_before(one, other):
        if (one.variable is None) != (other.variable is None):
            return one.variable is not None
        return one.number > other.number

    for one in list(ready):
        if all(one is other or runs_before(one, other) for other in ready):
            ready.remove(one)
            return one


@right
def pop(ready):
    place = int(np.argmax([node.number + (node.variable is not None) * 10**9 for node in ready]))
    node = ready[place]
    del ready[place]
    return node


@right
def pop(ready):
    accumulators_that_are_ready = [node for node in ready if node.variable]
    other_nodes_that_are_ready = sorted((node.number, i) for i, node in enumerate(ready) if not node.variable)
    if accumulators_that_are_ready:
        runs_next = accumulators_that_are_ready[0]
    else:
        runs_next = ready[other_nodes_that_are_ready[-1][1]]
    ready[:] = [node for node in ready if node is not runs_next]
    return runs_next


@avoiding
def pop(ready):
    return lab.engine_so_far().pop(ready)
