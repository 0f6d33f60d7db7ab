"""Tools that inspect the graph or hook into it (torch.autograd.graph)."""

import weakref
from collections import namedtuple
from contextlib import ContextDecorator, contextmanager

from .hooks import RemovableHandle
from .modes import THREAD
from .node import AccumulateGrad, Node
from .variable import INFERENCE, Variable, bump_version, edge_of, pair_of, wrap


class GradientEdge(namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=(None,))):
    """A place in the graph that can be used like a tensor in backward and grad (torch.autograd.graph.GradientEdge)."""


def get_gradient_edge(tensor):
    """The edge through which a gradient for `tensor` enters the graph. Raises RuntimeError if the tensor does not require a gradient."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    edge = GradientEdge(*pair_of(edge_of(tensor)))
    if edge.node is None:  # a view made under no_grad
        raise AssertionError("Expected gradient function to be set")
    edge.meaning = tensor._data.shape, tensor._data.dtype
    return edge


def meaning_of(edge):
    """The shape and NumPy dtype of gradients at an edge, or (None, None) for an edge made by hand."""
    if isinstance(edge.node, AccumulateGrad):
        return edge.node.variable._data.shape, edge.node.variable._data.dtype
    return getattr(edge, "meaning", (None, None))


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, each tensor saved for backward goes through `pack_hook`, and through `unpack_hook` when it is needed."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        state = THREAD.state
        if state.saved_hooks_disabled:
            raise RuntimeError(state.saved_hooks_disabled[-1])
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(
                "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are "
                "supported:\n    1. (arg0: Callable, arg1: Callable) -> None"
            )
        state.saved_hooks.append((self.pack_hook, self.unpack_hook))
        state.refresh()

    def __exit__(self, *exc):
        state = THREAD.state
        state.saved_hooks.pop()
        state.refresh()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Keep saved tensors on the CPU, where they are anyway (torch.autograd.graph.save_on_cpu)."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: (t.device, t), lambda packed: packed[1])


@contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside, entering `saved_tensors_hooks` raises RuntimeError with `error_message`."""
    state = THREAD.state
    if state.saved_hooks:
        raise RuntimeError(error_message)
    state.saved_hooks_disabled.append(error_message)
    state.refresh()
    try:
        yield
    finally:
        state.saved_hooks_disabled.pop()
        state.refresh()


class node_creation_hook:  # noqa: N801 - PyTorch's name
    """Inside, `hook(node)` is called for each node made in this thread, once it is complete; outermost hook first."""

    def __init__(self, hook):
        self.hook = hook

    def __enter__(self):
        state = THREAD.state
        state.creation_hooks.append(self.hook)
        state.refresh()
        return self

    def __exit__(self, *exc):
        state = THREAD.state
        state.creation_hooks.remove(self.hook)
        state.refresh()


class _MultiHandle(RemovableHandle):
    def __init__(self, handles):
        self.handles = handles

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __reduce__(self):
        return _MultiHandle, (self.handles,)


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """One hook for the gradients of several tensors; returns a handle.

    With mode="all", fn(list) is called when every gradient that the running pass computes has arrived; None takes the place of the others.
    With mode="any", fn(grad) is called for the first one to arrive. Both happen at most once in each pass.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        return _MultiHandle(tuple(_first_of(tensors, fn)))
    nodes = [_node_behind(t) for t in tensors]
    arrived = {}  # id of the running pass -> [number still awaited, the gradients]

    def hook_for(place):
        def hook(grad):
            run = _running_pass()
            if run.id not in arrived:
                arrived[run.id] = [sum(_will_run(run, node) for node in nodes), [None] * len(nodes)]
            waiting = arrived[run.id]
            waiting[0] -= 1
            waiting[1][place] = grad
            if waiting[0] == 0:
                del arrived[run.id]
                fn(waiting[1])

        return hook

    return _MultiHandle(tuple(t.register_hook(hook_for(place)) for place, t in enumerate(tensors)))


def _first_of(tensors, fn):
    seen = set()

    def hook(grad):
        run = _running_pass().id
        if run not in seen:
            seen.add(run)
            fn(grad)

    return [t.register_hook(hook) for t in tensors if t.requires_grad]


def _running_pass():
    run = THREAD.state.running
    if run is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return run


def _node_behind(t):
    node = t.node if isinstance(t, GradientEdge) else pair_of(edge_of(t))[0]
    if node is None:
        raise AssertionError("Expected gradient function to be set")
    return node


def _will_run(run, node):
    """Whether the pass `run` computes the gradient that arrives at `node`. The gradient of a lone root is given, not computed."""
    if node is run.root:
        return False
    if run.needed is None:
        return node in run.deps
    if node in run.needed and run.captures is not None and isinstance(node, AccumulateGrad):
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
            "currently not supported."
        )
    return node in run.needed


def queue_callback(fn):
    """Call fn() after the running backward pass has ended (torch.autograd.Variable._execution_engine.queue_callback).

    Raises RuntimeError if none is.
    """
    run = THREAD.state.running
    if run is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    run.callbacks = run.callbacks or []
    run.callbacks.append(fn)


class _Handle:
    """What a node saves for a tensor under allow_mutation_on_saved_tensors."""

    __slots__ = ("__weakref__",)


class allow_mutation_on_saved_tensors(ContextDecorator):  # noqa: N801 - PyTorch's name
    """Inside, a saved tensor may be written in place: it is copied just before, and backward uses the copy.

    Forward and backward must both run inside. Entering returns an object with the copies made (`cloned`) and the saved tensors that were
    not written (`original`).
    """

    def __init__(self):
        self.cloned = weakref.WeakKeyDictionary()
        self.original = weakref.WeakKeyDictionary()
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)

    def _pack(self, t):
        t._shared_box()  # identifies the tensor that is written to
        for handle, saved in self.original.items():
            if saved is t:
                return handle
        handle = _Handle()
        self.original[handle] = t
        return handle

    def _unpack(self, handle):
        if THREAD.state.mutation is None or (handle not in self.cloned and handle not in self.original):
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return self.cloned[handle] if handle in self.cloned else self.original[handle]

    def before_write(self, t):
        """The memory of `t` is about to change: copy every saved tensor in it."""
        for handle, saved in list(self.original.items()):
            if saved._box is t._box:
                self.cloned[handle] = wrap(saved._data.copy())
                del self.original[handle]

    def clear(self):
        """Forget all copies."""
        self.cloned.clear()
        self.original.clear()

    def __enter__(self):
        state = THREAD.state
        if state.mutation is not None:
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        state.mutation = self
        self._hooks.__enter__()  # which refreshes the state
        return self

    def __exit__(self, *exc):
        THREAD.state.mutation = None
        self._hooks.__exit__()  # which refreshes the state
        self.clear()


def increment_version(tensor):
    """Count a write to the memory of `tensor` (or of several tensors) that happened outside of the library."""
    if isinstance(tensor, Variable):
        tensor = (tensor,)
    try:
        tensors = list(tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for t in tensors:
        if not isinstance(t, Variable):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if t._box is not INFERENCE:
            bump_version(t)


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "node_creation_hook", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip
