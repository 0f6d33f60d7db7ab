"""Tools that look at the graph, or ride along with it (torch.autograd.graph)."""

import threading
from collections import namedtuple

from .hooks import RemovableHandle
from .modes import THREAD
from .node import Node
from .variable import Variable, bump_version, edge_of

GradientEdge = namedtuple("GradientEdge", ["node", "output_nr"])
"""A place in the graph that a gradient can be asked for, like a tensor's (torch.autograd.graph.GradientEdge)."""


def get_gradient_edge(tensor):
    """The edge through which a gradient for `tensor` enters the graph. Raises RuntimeError if it requires none."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge_of(tensor))


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, each tensor saved for backward goes through `pack_hook`, and through `unpack_hook` when it is needed."""

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        state = THREAD.state
        if state.saved_hooks_disabled:
            raise RuntimeError(state.saved_hooks_disabled[-1])
        state.saved_hooks.append((self.pack_hook, self.unpack_hook))
        state.refresh()

    def __exit__(self, *exc):
        state = THREAD.state
        state.saved_hooks.pop()
        state.refresh()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - PyTorch's name
    """Keep saved tensors as copies on the CPU, which is where they are anyway (torch.autograd.graph.save_on_cpu)."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda t: t.detach().clone(), lambda t: t)


class disable_saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """Inside, entering `saved_tensors_hooks` raises RuntimeError with `error_message`."""

    def __init__(self, error_message):
        self.error_message = error_message

    def __enter__(self):
        state = THREAD.state
        if state.saved_hooks:
            raise RuntimeError(self.error_message)
        state.saved_hooks_disabled.append(self.error_message)
        state.refresh()

    def __exit__(self, *exc):
        state = THREAD.state
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


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """One hook for several gradients: fn(list) when all have arrived, or with mode="any" fn(grad) for the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    raise NotImplementedError


def increment_version(tensor):
    """Count a write to the memory of `tensor` that the library did not see."""
    for t in (tensor,) if isinstance(tensor, Variable) else tensor:
        bump_version(t)


__all__ = [
    "GradientEdge", "Node", "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version", "node_creation_hook",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks", "threading",
]  # fmt: skip
