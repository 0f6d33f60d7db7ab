"""PyTorch's hooks beyond those of core/hooks.py: of nodes, and after accumulation; and the checks of what they return.

For a non-leaf they run in this order: tensor hooks, then the capture of retain_grad, then the node's pre-hooks, the
node, its post-hooks. For a leaf: tensor hooks, pre-hooks of its AccumulateGrad, accumulation, post-accumulate hooks,
post-hooks. Each sees the changes of the ones before it.
"""

import itertools
import weakref

from ...core import hooks as core
from ...core.hooks import HookDict, as_tensor, keep_gradient
from ...core.seams import CLASSES
from .errors import refuse_pytorch, tensor_type, type_name
from .modes import WATCHERS, watcher
from .variable import Registry, Variable

_ids = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook out, as does leaving a `with` block.

    `flags` are sets that contain the id of the hook until then. A copy of the handle belongs to the copy of the hooks.
    """

    def __init__(self, hooks, fn=None, flags=()):
        self.id = next(_ids)
        self._hooks, self._flags = weakref.ref(hooks), flags
        if fn is not None:
            hooks[self.id] = fn
        for flag in flags:
            flag.add(self.id)

    def remove(self):
        """Take the hook out; doing so twice is harmless."""
        hooks = self._hooks()
        if hooks is not None and hooks.pop(self.id, None) is not None and WATCHERS:
            watcher().hooks_changed(hooks)
        for flag in self._flags:
            flag.discard(self.id)

    def __getstate__(self):
        return self._hooks(), self.id, self._flags

    def __setstate__(self, state):
        global _ids
        hooks, self.id, self._flags = state
        self._hooks = weakref.ref(HookDict() if hooks is None else hooks)
        _ids = itertools.count(max(next(_ids), self.id + 1))  # it may come from another process

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class NodeHooks(core.NodeHooks):
    """The hooks of one node.

    metadata   the user's own notes
    post, pre  hooks of the node itself: {id: fn}
    """

    __slots__ = ("metadata", "post", "pre")

    def __init__(self):
        super().__init__()
        self.metadata = {}
        self.pre, self.post = HookDict(), HookDict()


def run_tensor_hooks(hooks, g):
    """Pass `g` (a Tensor or None) through each tensor hook in turn; returns the result.

    Raises TypeError if a hook returns something that is not a Tensor, RuntimeError if the shape changed.
    """
    for fn in list(hooks.values()):
        result = fn(g)
        if result is not None:
            check_value(fn, g, result)
            g = result
    return g


def run_post_accumulate_hooks(leaf):
    """Call the hooks that run after `.grad` of `leaf` was written. Raises RuntimeError if one returns another tensor."""
    for fn in list(leaf._meta.post_accumulate_hooks.values()):
        result = fn(leaf)
        check_value(fn, leaf, result)
        if result is not None and result is not leaf:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def add_hook(hooks, hook, prepend=False, flags=()):
    """Register `hook` in the dict `hooks`, first if `prepend`, and note its id in each of the sets `flags`."""
    before = list(hooks) if prepend else ()
    handle = RemovableHandle(hooks, hook, flags)
    for key in before:
        hooks[key] = hooks.pop(key)  # after the new one
    return handle


def check_value(fn, g, result):
    """Check what the hook `fn` returned for the gradient `g`: a Tensor of the same shape and dtype, or None."""
    if result is None:
        return
    if g is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(result, Variable):
        refuse_pytorch(result)
        raise TypeError(f"expected Variable, but hook returned '{type_name(result)}'")
    name = getattr(fn, "__name__", None) or repr(fn)
    if result._data.shape != g._data.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
    if result._data.dtype != g._data.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {tensor_type(g)} got {tensor_type(result)})"
        )


def run_node_hooks(hooks, grads, *context):
    """Pass the tuple `grads` (and `context`) through each hook of a node in turn; returns the result.

    Raises TypeError if a hook returns anything but None or a tuple of Tensors and None, RuntimeError if these do not fit.
    """
    for fn in list(hooks.values()):
        result = fn(grads, *context)
        if result is None:
            continue
        if not isinstance(result, tuple):
            raise TypeError(f"expected tuple, but hook returned '{type_name(result)}'")
        if len(result) != len(grads):
            name = getattr(fn, "__name__", None) or repr(fn)
            raise RuntimeError(
                f"hook '{name}' has returned an incorrect number of values (got {len(result)}, but expected {len(grads)})"
            )
        for old, new in zip(grads, result, strict=True):
            check_value(fn, old, new)
        grads = result
    return grads


CLASSES["NodeHooks"], CLASSES["RemovableHandle"] = NodeHooks, RemovableHandle
HookDict.__module__ = __name__  # modules are pickled with it

__all__ = [
    "HookDict", "NodeHooks", "Registry", "RemovableHandle", "add_hook", "as_tensor", "check_value", "keep_gradient", "run_node_hooks", "run_post_accumulate_hooks",
    "run_tensor_hooks",
]  # fmt: skip
