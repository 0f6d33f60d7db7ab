"""Hooks: functions of the user's that see gradients pass, and may change them.

Tensor hooks live on the node that made the tensor, so a hook registered before an in-place operation stays with the old value; a leaf has
its own. They run before the node, each on the result of the previous one; then retain_grad stores the gradient of a computed tensor in
`.grad`.
"""

import itertools
import weakref

from .modes import WATCHERS, watcher
from .node import Node
from .seams import CLASSES, extend
from .tensor import NO_EDGE, Tensor, edge_of, pair_of, wrap

_ids = itertools.count().__next__


class RemovableHandle:
    """Returned when a hook is registered: `remove()` removes the hook."""

    def __init__(self, hooks, fn):
        self.id = _ids()
        self._hooks = weakref.ref(hooks)
        hooks[self.id] = fn

    def remove(self):
        """Remove the hook; doing so twice is harmless."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)


CLASSES["RemovableHandle"] = RemovableHandle


class HookDict(dict):
    """A dict of hooks that handles can refer to weakly."""

    __slots__ = ("__weakref__",)


class NodeHooks:
    """The hooks of one node.

    retain  {output number: weak reference to the tensor that keeps its gradient}
    tensor  [(output number, {id: fn})] in the order of registration
    """

    __slots__ = ("retain", "tensor")

    def __init__(self):
        self.retain, self.tensor = {}, []


CLASSES["NodeHooks"] = NodeHooks


def hooks_of(node):
    """The NodeHooks of `node`, created if needed: having them makes the engine look for hooks."""
    if node.hooks is None:
        node.hooks = CLASSES["NodeHooks"]()
    return node.hooks


extend(Node, _hooks=hooks_of)


def as_tensor(g):
    """A gradient as a Tensor, for the user."""
    return g if g is None or isinstance(g, Tensor) else wrap(g)


def register_hook(self, hook):
    """Call hook(grad) when this tensor's gradient is known; if it returns something, that replaces the gradient.

    Raises RuntimeError if the tensor does not require a gradient.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([20., 40.])
    >>> handle.remove()
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if WATCHERS:
        watcher().flagged(self, "register_hook")
    if (fn := self.grad_fn) is None:
        meta = self._ensure_meta()
        if meta.hooks is None:
            meta.hooks = HookDict()
            node, _ = pair_of(edge_of(self))
            if node is not None:
                node._hooks()  # now the engine looks for them
        hooks = meta.hooks
    else:
        hooks = dict(fn._hooks().tensor).get(self.output_nr)
        if hooks is None:
            hooks = HookDict()
            fn.hooks.tensor.append((self.output_nr, hooks))
    return CLASSES["RemovableHandle"](hooks, hook)


def retain_grad(self):
    """Keep this computed tensor's gradient in `.grad`; on a leaf it does nothing.

    Raises RuntimeError if the tensor does not require a gradient.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * x
    >>> y.retain_grad()
    >>> (y * 3).backward()
    >>> y.grad
    tensor(3.)
    """
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self._last_edge() is NO_EDGE or self.retains_grad:
        return
    self._ensure_meta().retains_grad = True
    self.grad_fn._hooks().retain[self.output_nr] = weakref.ref(self)  # event: flag retain_grad
    if WATCHERS:
        watcher().flagged(self, "retain_grad")


def retains_grad(self):
    """Whether `.grad` of this computed tensor will be filled."""
    return self._meta is not None and self._meta.retains_grad


extend(Tensor, register_hook=register_hook, retain_grad=retain_grad, retains_grad=property(retains_grad))


# -- in a pass --------------------------------------------------------------------------------------------


def run_before(run, node, slots):
    """Run the hooks of `node` on the gradients in its `slots`. Returns the results."""
    slots = list(slots)
    # A leaf's hooks are its own, unless a write in place has given it a history since.
    own = (
        node.kind == "accumulate" and not isinstance(node.variable._edge, Node) and node.variable._meta.hooks
    )
    for nr, table in [(0, own)] if own else list(node.hooks.tensor):
        slots[nr] = run.with_tensor_hooks(node, nr, table, slots[nr])
    for nr, ref in list(node.hooks.retain.items()):
        t = ref()
        if t is not None and slots[nr] is not None:
            keep_gradient(t, slots[nr])
            if run.watch is not None:
                run.watch.retained(run, t, slots[nr])
    return slots


def run_tensor_hooks(hooks, g):
    """Pass `g` (a Tensor or None) through each tensor hook in turn. Returns the result."""
    for fn in list(hooks.values()):
        result = fn(g)
        g = g if result is None else result
    return g


def keep_gradient(t, g):
    """Store the gradient for retain_grad: `.grad` of a non-leaf becomes (or grows by) `g`, always as a new tensor."""
    meta = t._ensure_meta()
    old = meta.grad
    if isinstance(g, Tensor):
        meta.grad = g.clone() if old is None else old + g
    else:
        meta.grad = wrap(g.copy() if old is None else old._data + g)
