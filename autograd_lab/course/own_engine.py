"""The engine that grows in exercises 02 to 06, complete: the pieces that a student who left one out is given.

Its words are those of `core`: an operation leaves a Node, `deps` says how many messages a node still waits for, `buffers` what lies
there, `ready` who has got the last one. Each piece is one exercise; `growing.py` says which, and puts a student's own in its place.

>>> a = Value(2.0, requires_grad=True)
>>> y = add(mul(a, Value(3.0)), a)
>>> backward(y.grad_fn)
>>> a.grad
4.0
"""


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


def record(name, operands, data):
    """The Value `data`, made by the operation `name`; with a node if an operand wants a gradient."""
    edges = []
    for x in operands:
        if x.grad_fn is not None:
            edges.append(x.grad_fn)
        else:
            edges.append(x.accumulator)
    if all(edge is None for edge in edges):
        return Value(data)
    return Value(data, grad_fn=Node(name, edges))


def count(root):
    """{node: how many messages it will get}, for every node from `root` on."""
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


def pop(ready):
    """Take the node that runs next out of the list `ready`, and return it."""
    best = ready[0]
    for node in ready:
        if best.variable is None and (node.variable is not None or node.number > best.number):
            best = node
    ready.remove(best)
    return best


def deliver(node, g, deps, buffers, ready):
    """Add the message `g` to what lies at `node`; after its last one, `node` is ready."""
    if node is None:
        return
    if node in buffers:
        g = buffers[node] + g
    buffers[node] = g
    deps[node] -= 1
    if deps[node] == 0:
        ready.append(node)


def backward(root):
    """Run every node from `root` on; what reaches an accumulator is added to `.grad` of its leaf."""
    deps, buffers, ready = count(root), {}, []
    deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if leaf is None:
            for edge, message in zip(node.edges, node.rule(g), strict=True):
                deliver(edge, message, deps, buffers, ready)
        elif leaf.grad is None:
            leaf.grad = g
        else:
            leaf.grad = leaf.grad + g


def mul(a, b):
    """The product of two Values, recorded."""
    y = record("MulBackward0", [a, b], a.data * b.data)
    if y.grad_fn is not None:
        y.grad_fn.rule = lambda g: [g * b.data, g * a.data]
    return y


def add(a, b):
    """The sum of two Values, recorded."""
    y = record("AddBackward0", [a, b], a.data + b.data)
    if y.grad_fn is not None:
        y.grad_fn.rule = lambda g: [g, g]
    return y
