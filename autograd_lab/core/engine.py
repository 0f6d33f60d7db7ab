"""The reverse pass: gradients flow from the roots to the leaves.

A node may run only when everything that uses its output has sent its message, or it would pass on half a gradient. So
the engine first counts, for each node, how many messages it must wait for. Then it repeats: take the ready node that was
created last (accumulators before all others), let its rule turn the incoming gradient into one per operand, and deliver
these. Messages for the same place are added up on arrival.

    count    deps[node] = how many edges of this graph lead to it
    seed     the gradient of each root with respect to itself
    loop     pop the newest ready node; run its rule; deliver; a node that got its last message becomes ready

Nothing here recurses, so a chain of a million nodes is no deeper than one of three. The loop is a method that can stop
after any number of nodes: `backward()` runs it to the end, the stepper watches it one node at a time.

The stepper shows this page while it runs. `# event: pop` marks the statement after which that event is reported.
"""

import itertools
from heapq import heappop, heappush

import numpy as np

from .array_or_tensor import unbroadcast
from .hooks import as_tensor, run_before, run_tensor_hooks
from .modes import THREAD
from .seams import DOORS, extend
from .tensor import NO_EDGE, Tensor, edge_of, pair_of, wrap

_ids = itertools.count().__next__


class BackwardPass:
    """One reverse pass, which can run as a whole or a few nodes at a time.

    roots         [((node, output_nr), gradient)] with gradients as arrays, or as Tensors if `create_graph`
    keep_graph    whether nodes keep their saved values afterwards
    create_graph  whether the pass itself is recorded, so that its results can be differentiated again
    captures      {node: [(output_nr, place)]}: the gradients that `grad` wants, to be put into `captured`
    call          what the user called, "backward" or "grad", for the watcher

    While it runs:

    deps     {node: how many messages it still waits for}; a node that is missing was made during the pass, by `unfold`, and gets one
    buffers  {node: the sum of the messages that have arrived}, for a node with several outputs a list with one sum for each
    ready    the nodes that have all their messages: a heap of (priority, node)
    bare     whether a node without hooks has nothing else around its rule

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> run = BackwardPass([root_of(x * x, None, False)], False, False)
    >>> run.run(1)
    >>> [node.name() for _, node in run.ready]
    ['torch::autograd::AccumulateGrad']
    >>> run.run()
    >>> x.grad
    tensor(6.)
    """

    needed = None  # in a restricted pass: {node: whether it runs}
    expected = None  # the required shapes and types of gradients, where unusual
    tensors = False  # whether gradients are Tensors, as in a pass that is recorded; they are arrays otherwise

    def __init__(self, roots, keep_graph, create_graph, captures=None, call="backward"):
        self.id = _ids()
        self.captures, self.captured = captures, {}
        self.bare = captures is None
        self.keep_graph = keep_graph
        self.create_graph = self.tensors = create_graph
        self.ready = []
        self.buffers = {}
        self.watch = THREAD.state.watch
        self._count(roots)  # event: backward, counts
        if self.watch is not None:
            self.watch.pass_started(self, roots, call)  # which may put another watcher in its place
        self._seed(roots)

    def run(self, limit=-1):
        """Run `limit` nodes, or all that are left (the default). The grad mode is entered and left in here."""
        state = THREAD.state
        before, state.grad = state.grad, self.create_graph
        try:
            self._run(limit)
        except BaseException as error:
            if self.watch is not None:
                self.watch.failed(self, error)
            raise
        finally:
            state.grad = before
        if self.watch is not None and not self.ready:
            self.watch.pass_done(self)

    def _loop(self, limit):
        ready, buffers = self.ready, self.buffers
        while ready and limit:  # event: done
            limit -= 1  # a negative limit never reaches zero
            _, node = heappop(ready)  # event: pop
            if self.watch is not None:
                self.watch.popped(self, node, buffers[node])
            run = self._apply if self.bare and node.hooks is None else self._run_node
            g = buffers.pop(node)
            grads = run(node, [g] if node.plain else g)  # event: hook, retain
            if grads is not None:
                self._deliver_all(node, grads)

    def _run_node(self, node, slots):
        """Run one node on the gradients that arrived for its outputs. Returns None if it only captures."""
        if node.hooks is not None:
            slots = run_before(self, node, slots)
        if self.needed is not None and not self.needed[node]:
            self._capture(node, slots)
            return None
        return self._apply(node, slots)

    def _apply(self, node, slots):
        """Run the rule. Returns a tuple with one gradient (or None) per operand."""
        watch = self.watch
        rule = type(node)  # it has the methods: attributes of a custom Function's node may have any name
        values = rule.unpack(node, self.tensors)
        if watch is not None:
            watch.applying(self, node, slots)
        grads = self._vjp(rule, node, slots, values)  # event: vjp, accumulate
        if type(grads) is not tuple:
            grads = (grads,)
        if node.broadcast is not None:
            grads = unbroadcast(node, grads)
        if watch is not None:
            watch.applied(self, node, slots, grads)
        if not self.keep_graph:
            rule.release(node)  # event: free
            if watch is not None:
                watch.released(self, node)
        return grads

    def _deliver_all(self, node, grads):
        """Send each gradient of a node along its edge; prune those that are not needed."""
        needed = self.needed
        edges = node._next if type(node._next) is tuple else node._edges
        for i, edge in enumerate(edges):
            fn, nr = edge if type(edge) is tuple else (edge, 0)
            if fn is not None and (needed is None or fn in needed):  # event: pruned
                g = grads[i] if self.expected is None else self._fitted(grads[i], fn, nr, i, node)
                self._deliver(fn, nr, g, node, i)
            elif self.watch is not None:
                self.watch.pruned(self, node, i)

    def _deliver(self, fn, nr, g, sender, i):
        """Add message `g` to slot `nr` of `fn`, and queue `fn` if it was the last message."""
        if fn.plain:
            old = self.buffers.get(fn)
            self.buffers[fn] = total = old if g is None else g if old is None else old + g
        else:
            slots = self.buffers.get(fn) or self.buffers.setdefault(fn, [None] * fn.n_outputs)
            old = slots[nr]
            slots[nr] = total = old if g is None else g if old is None else old + g
        left = self.deps[fn] = self.deps.get(fn, 1) - 1  # event: seed, deliver
        watch = self.watch
        if watch is not None:
            watch.delivered(self, sender, i, fn, nr, g, old, total)
        if not left:
            heappush(self.ready, (fn.priority, fn))  # event: push
            if watch is not None:
                watch.pushed(self, fn)

    # A fuller pass overrides these.

    def _count(self, roots):
        self.deps = count_dependencies([node for (node, _), _ in roots])
        if self.captures is not None:
            self.needed = needed_nodes(self.deps, dict.fromkeys(self.captures, False))

    def _seed(self, roots):
        for (node, nr), g in roots:
            if self.needed is None or node in self.needed:
                self._deliver(node, nr, g, None, None)

    def _run(self, limit):
        with np.errstate(all="ignore"):  # as in the forward pass: see State
            self._loop(limit)

    def _vjp(self, rule, node, slots, values):
        g = slots[0] if node.plain else slots
        return DOORS.formula(node, g, values, False) if self.tensors else rule.vjp(node, g, *values)

    def _capture(self, node, slots):
        for nr, place in self.captures[node]:
            self.captured[place] = slots[nr]

    def with_tensor_hooks(self, node, nr, table, g):
        """Run the hooks in `table` on the gradient `g` of output `nr` of a node. Returns the result."""
        if self.watch is not None:
            self.watch.handing(self, node, "tensor", (g,), ())
        after = run_tensor_hooks(table, as_tensor(g))
        if self.watch is not None:
            self.watch.hooked(self, node, "tensor", (after,), nr)
        return after if self.tensors or after is None else after._data


def count_dependencies(roots):
    """{node: number of messages it will get} for every node reachable from `roots` (each root gets its seed)."""
    deps = {}
    for node in roots:
        deps[node] = deps.get(node, 0) + 1
    stack = list(deps)
    while stack:
        edges = stack.pop()._next
        for fn in edges if type(edges) is tuple else (edges,):
            fn = fn[0] if type(fn) is tuple else fn
            if fn in deps:
                deps[fn] += 1
            elif fn is not None:
                deps[fn] = 1
                if fn._next:
                    stack.append(fn)
    return deps


def needed_nodes(deps, wanted):
    """{node: whether it must run} for a pass to selected nodes; nodes that are not in it get no messages.

    A node must run if a wanted one lies behind it. `wanted` says whether these run themselves, or only collect their messages.
    """
    users = {}
    for node in deps:
        for fn, _ in node.next_functions:
            if fn is not None:
                users.setdefault(fn, []).append(node)
    needed = {node: runs for node, runs in wanted.items() if node in deps}
    stack = list(needed)
    while stack:
        for user in users.get(stack.pop(), ()):
            if user not in needed:
                stack.append(user)
            needed[user] = True
    return needed


# -- what the user calls ----------------------------------------------------------------------------------


def backward(tensor, gradient=None, retain_graph=None, create_graph=False):
    """Send a gradient back through the graph of `tensor` and add it to `.grad` of the leaves (torch.Tensor.backward).

    gradient      the gradient of the tensor, in its shape; optional for a tensor of one element (then 1)
    retain_graph  keep the saved values, so that backward can run again (default: create_graph)
    create_graph  record the pass itself, for second derivatives

    Raises RuntimeError if the tensor has no graph, if `gradient` is missing or has another shape, and if a saved value was freed or
    overwritten.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> y.backward(torch.tensor([1.0, 10.0]))
    >>> x.grad
    tensor([ 2., 40.])
    """
    keep = create_graph if retain_graph is None else retain_graph
    BackwardPass([root_of(tensor, gradient, create_graph)], keep, create_graph).run()


extend(Tensor, backward=backward)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False):
    """The gradients of the Tensor `outputs` with respect to `inputs` (one or several), as a tuple (torch.autograd.grad).

    No `.grad` is touched; the other arguments are those of `backward`. Raises RuntimeError as `backward` does, and if `outputs` does not
    depend on one of the inputs, unless `allow_unused` is set: then that gradient is None.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> (slope,) = grad(x**3, x, create_graph=True)
    >>> slope.item(), grad(slope, x)
    (12.0, (tensor(12.),))
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    captures = {}
    for place, t in enumerate(inputs):
        node, nr = pair_of(edge_of(t))
        captures.setdefault(node, []).append((nr, place))
    keep = create_graph if retain_graph is None else retain_graph
    run = BackwardPass([root_of(outputs, grad_outputs, create_graph)], keep, create_graph, captures, "grad")
    run.run()
    if len(run.captured) < len(inputs) and not allow_unused:
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
            "the desired behavior."
        )
    return tuple([as_tensor(run.captured.get(place)) for place in range(len(inputs))])


def root_of(t, gradient, create_graph):
    """((node, output_nr), gradient) for the root `t` of a pass.

    Raises RuntimeError if there is no graph, or if the gradient is missing or has another shape than `t`.
    """
    edge = edge_of(t)
    if edge is NO_EDGE:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if gradient is None:
        if t._data.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        gradient = wrap(np.ones_like(t._data)[()])
    elif gradient.shape != t.shape:
        raise RuntimeError(f"Mismatch in shape: the tensor has {t.shape}, its gradient {gradient.shape}")
    return pair_of(edge), gradient if create_graph else gradient._data
