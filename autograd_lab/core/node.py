"""Nodes: one for each recorded operation, and one for each leaf that collects a gradient.

A node knows where gradients go next (`next_functions`), what its rule needs to compute them (`saved`, `args`), and when it was
made (`priority`). The classes of nodes are the rules themselves (see rules/): `type(y.grad_fn)` is the rule that made y.
"""

import itertools
from functools import partial

import numpy as np

from .modes import THREAD
from .seams import CLASSES, DOORS
from .tensor import NO_EDGE, Tensor, bump_version, new, pair_of, version_of, wrap

count_down = itertools.count(-1, -1).__next__
"""Creation numbers, negated: the newest node is the smallest, as heapq likes it."""

FREED_TEXT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors after "
    "calling backward."
)


class Freed(tuple):
    """The `saved` of a node whose values were freed. Not empty, so that a read is noticed."""

    __slots__ = ()

    def unpack(self, node, tensors):
        raise RuntimeError(FREED_TEXT)


FREED = Freed((None,))


class NodeType(type):
    """The metaclass of nodes.

    It gives nodes no `__dict__`, because in a large graph each byte counts a million times, and an attribute `_saved_<name>` for each of
    `saves`, `keeps` and `shows`. (A `__getattr__` could do that too, but would slow down other attributes.)
    """

    def __new__(cls, name, bases, body, /, **options):
        body.setdefault("__slots__", () if body.get("plain", True) else ("n_outputs",))
        for what in ("saves", "keeps", "shows"):
            for saved in body.get(what, ()):
                body["_saved_" + saved] = property(lambda node, name=saved: node._read_saved(name))
        return super().__new__(cls, name, bases, body, **options)


class Node(metaclass=NodeType):
    """One step of the computation, seen from its result.

    _next      the edges of its operands: where their gradients go, NO_EDGE where none is wanted. For y + 1 or exp(y) just the node of y: a
               tuple around it would double what Python's garbage collector traverses in a long chain
    args       plain values its rule needs, named by `keeps`
    broadcast  None, or the (shape, dtype) of each operand, if broadcasting or promotion changed one of them
    hooks      None, or what the user registered (see hooks.py)
    priority   minus the creation number
    saved      the tensors its rule needs, named by `saves`; FREED after a backward pass that did not retain them
    versions   their version counters when they were saved; None for "all zero"

    >>> x, k = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0)
    >>> node = (x * k).grad_fn
    >>> node.name(), node._saved_other
    ('MulBackward0', tensor(5.))
    >>> [fn and fn.name() for fn, _ in node.next_functions]
    ['torch::autograd::AccumulateGrad', None]
    >>> node(torch.tensor(2.0))  # the rule, by hand: the gradient of the product in, those of the factors out
    (tensor(10.), None)
    """

    __slots__ = ("__weakref__", "_next", "args", "broadcast", "hooks", "priority", "saved", "versions")

    broadcast: tuple | None
    inputs: tuple = ("self",)
    saves: tuple = ()  # names of `saved`, as in PyTorch's _saved_<name>
    keeps: tuple = ()  # names of `args`, likewise
    shows: tuple = ()  # further names that can be read as _saved_<name>
    save_plan: tuple = ()  # where each of `saves` comes from, and which gradients need it; see rule.py
    plain = True  # one output, and `vjp` takes its gradient; other nodes have `n_outputs`, and take a list
    kind = "op"

    def vjp(self, g, *saved):
        """The vector-Jacobian product: from the gradient of the output to those of the operands.

        `g` and `saved` are NumPy arrays in an ordinary pass and Tensors under create_graph; the formula is written so
        that the same lines serve both. Returns one gradient, or a tuple of one per operand (None: nothing to send).
        """
        raise NotImplementedError(f"{type(self).__name__} has no vjp")

    # -- saved values ---------------------------------------------------------------------------------

    def unpack(self, tensors):
        """The saved values, checked against later writes: arrays, or Tensors with their history if `tensors`.

        Raises RuntimeError if they were freed, or overwritten since they were saved.
        """
        saved = self.saved
        if not saved:
            return saved
        if type(saved) is not tuple:
            return saved.unpack(self, tensors)
        versions, values = self.versions, []
        for i, t in enumerate(saved):
            if isinstance(t, Tensor):
                expected = 0 if versions is None else versions[i]
                if t._box is not None and t._box[0] != expected:
                    self.refuse_overwritten(i, t, expected)
                t = self.restore(i, t) if tensors else t._data
            values.append(t)
        return values

    def refuse_overwritten(self, i, t, expected):
        """Raise RuntimeError: saved tensor `i`, which is `t`, was overwritten after it was saved at version `expected`."""
        nr = self.result_number(i)
        fn, number = (self, nr) if nr is not None else (t.grad_fn, 0)  # PyTorch says 0 for any operand
        which = f", which is output {number} of {fn.name().removesuffix('Backward0')}," if fn else ""
        raise RuntimeError(
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"[torch.{'Double' if t._data.itemsize == 8 else 'Float'}Tensor {list(t.shape)}]{which} is at version {t._box[0]}; expected version {expected} instead."
        )

    def restore(self, i, t):
        """Saved tensor `i` as the user knows it: an operand is itself; a result gets its history back."""
        nr = self.result_number(i)
        return t if nr is None else wrap(t._array(), (self, nr), t._box)

    def result_number(self, i):
        """Which output the i-th saved tensor is, or None if it is an operand."""
        return self.save_plan[i][1]

    def release(self):
        """Drop the saved tensors; plain values stay. A node that saved none can run again."""
        for t in self.saved:
            if t is not None:
                self.saved, self.versions = FREED, None
                break

    def _read_saved(self, name):
        """The value of `_saved_<name>`: a saved tensor, checked against later writes, or a plain value."""
        if name in self.keeps:
            return self.args[self.keeps.index(name)]
        return self.unpack(True)[self.saves.index(name)]

    # -- what the user sees ---------------------------------------------------------------------------

    def unfold(self):
        """The node to show: one that combines two nodes for speed is split now."""
        return self

    def name(self):
        """The node's name, such as 'MulBackward0' (torch.autograd.graph.Node.name)."""
        return type(self).__name__

    def __repr__(self):
        return f"<{type(self).__name__} object at {hex(id(self))}>"

    @property
    def _edges(self):
        """One edge per operand."""
        edges = self._next
        return edges if type(edges) is tuple else (edges, *[NO_EDGE] * (len(self.inputs) - 1))

    @property
    def next_functions(self):
        """((node, output_nr), ...): where the gradient of each operand goes; (None, 0) where none is wanted."""
        return tuple([pair_of(edge) for edge in self._edges])

    def needs(self, i):
        """Whether operand `i` wants a gradient."""
        return self._edges[i] is not NO_EDGE

    def __call__(self, g):
        """Run the rule by hand: takes the gradient of the output as a Tensor, returns one per operand (None if it wants none).

        Only the rule runs: summing a gradient over the dims along which its operand was broadcast is the engine's job.
        """
        out = DOORS.formula(self, g, self.unpack(True), True)
        out = out if isinstance(out, tuple) else (out,)
        out = tuple([fn and g for g, (fn, _) in zip(out, self.next_functions, strict=False)])
        return out[0] if len(out) == 1 else out


def formula(node, g, values, by_hand):
    """The rule of `node` on Tensors: what it computes is recorded."""
    return type(node).vjp(node, g, *values)


DOORS.formula = formula


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to `.grad` of its leaf.

    Math: x.grad <- x.grad + g  (the first time: a copy of g).       Shapes: g has the shape of x.
    An existing `.grad` is added to in place; under create_graph it is replaced by the sum.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> (x * 2).backward()
    >>> (x * 5).backward()
    >>> x.grad
    tensor(7.)
    """

    __slots__ = ("variable",)
    variable: Tensor
    _next = saved = args = ()
    versions = broadcast = None
    kind = "accumulate"
    # Read when it becomes ready: it runs before every other kind of node, and the first to be ready is the first to run.
    # `next(counter, node)` counts up; the node would be the default if the counter ended.
    priority = property(partial(next, itertools.count(-(2**62))))

    def __init__(self, leaf):
        self.variable, self.hooks = leaf, None
        if leaf._meta.hooks:  # they belong to the leaf, which outlives this node; having NodeHooks makes the engine look for them
            self._hooks()

    def name(self):
        return "torch::autograd::AccumulateGrad"

    def vjp(self, g):
        meta = self.variable._meta
        if meta.grad is None:
            meta.grad = self.first(g)
        elif isinstance(g, Tensor):
            meta.grad = meta.grad + g
        else:
            self.add(meta.grad, g)
        return ()

    def first(self, g):
        """The first gradient: a copy, because the array that arrived may also go elsewhere."""
        return g.clone() if isinstance(g, Tensor) else wrap(g.copy())

    def add(self, old, g):
        """Add the array `g` to the gradient `old`, in place."""
        bump_version(old)
        np.add(old._data, g, out=old._array())


CLASSES["AccumulateGrad"] = AccumulateGrad


def make_node(rule, edges, args=(), saved=(), broadcast=None):
    """Make a node of class `rule`: the one place where nodes are made, except those of leaves.

    edges   one for each operand, or just the node of the first if the others lead nowhere
    saved   tensors (or None, or numbers) that it keeps for its rule, with their versions
    """
    node = new(rule)  # event: node
    node._next = edges  # event: edge
    node.priority = count_down()
    node.args = args
    node.saved = saved
    node.broadcast = broadcast
    node.hooks = node.versions = None
    if saved:
        save(node, saved)
    return node


def save(node, tensors):
    """Keep `tensors` for the rule of `node`, with their versions."""
    if THREAD.state.special and DOORS.keep is not None:
        tensors = DOORS.keep(node, tensors)
    node.saved = tensors
    for t in tensors:
        if isinstance(t, Tensor) and t._box is not None and t._box[0]:
            if t._box[0] < 0:
                DOORS.refuse(t, node)
            node.versions = tuple([version_of(t) if isinstance(t, Tensor) else 0 for t in tensors])
