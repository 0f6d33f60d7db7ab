"""What a node holds instead of tensors when hooks pack what is saved, and the handle to one saved tensor."""

from ...core.node import FREED, Node
from ...core.seams import DOORS
from .errors import DETACHED_TEXT, FREED_TEXT, INFERENCE_SAVED, type_name
from .modes import THREAD, WATCHERS, watcher
from .variable import INFERENCE, NO_EDGE, AutogradMeta, Variable, alias, edge_of, version_of, weak


class PackedValues(tuple):
    """The `saved` of a node if hooks have packed some of the values."""

    __slots__ = ()

    def unpack(self, node, tensors):
        """Like Node.unpack: first the values that are not packed, then the others in the order in which they were packed."""
        values = unpacked(node, self, tensors)
        for i in node.packing_order(len(values)):
            if isinstance(values[i], Packed):
                t = values[i].unpack(node, i)
                values[i] = t if tensors else t._data
        return values

    def read(self, node, i):
        """The value `i` for `_saved_<name>`."""
        one = self[i]
        return one.unpack(node, i) if isinstance(one, Packed) else node._read_value(i, one)


class Packed:
    """A saved tensor that went through pack and unpack hooks (torch.autograd.graph.saved_tensors_hooks)."""

    __slots__ = ("content", "edge", "nr", "unpack_hook")

    def __init__(self, t, pack, unpack_hook, result_nr, node):
        if t._box is INFERENCE:
            raise RuntimeError(INFERENCE_SAVED)
        before = version_of(t)
        self.nr = result_nr
        self.unpack_hook = unpack_hook
        state = THREAD.state
        grad, state.grad = state.grad, False
        hooks, state.saved_hooks = state.saved_hooks, []
        state.refresh()
        # A hook that keeps the result itself, with its history, makes a cycle; that is its own responsibility.
        history = (
            result_nr is not None and t._data.dtype.kind == "f"
        )  # indices, as of a sort, have no history
        handed = alias(t, (node, result_nr)) if history else t
        try:
            self.content = pack(handed)
        finally:
            state.grad = grad
            state.saved_hooks = hooks
            state.refresh()
        if version_of(t) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "cannot be modified by in-place operations as this can lead to unexpected side-effects. Please open "
                "an issue if you need to perform in-place operations on the input to a pack hook."
            )
        self.edge = edge_of(t) if result_nr is None else None

    def unpack(self, node, i):
        t = self.unpack_hook(self.content)
        run = THREAD.state.running
        if run is not None:
            run.bare = False  # the hook may have changed modes, which counts until the end of this node
        if not isinstance(t, Variable):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                + type_name(t)
            )
        edge = self.edge if self.nr is None else (node, self.nr)
        if edge is NO_EDGE:
            return t.detach() if t.requires_grad else t
        # Whatever the hook did to the numbers, the gradient goes where that of the saved tensor would have gone.
        out = alias(t, edge)
        if not isinstance(edge, tuple) and edge.kind == "accumulate":
            out._edge, out._meta = None, AutogradMeta(True)
            out._meta.accumulator = weak(edge)
        return out


def unpacked(node, saved, tensors):
    """The values `saved` of a node, checked against later writes; what hooks have packed stays so."""
    values = list(saved)
    for i, t in enumerate(saved):
        if isinstance(t, Variable):
            node.check_version(i, t)
            values[i] = node.restore(i, t) if tensors else t._data
    return values


def check_attached(node, tensors):
    """Node.unpack from the first detach_() on: raises RuntimeError as well if a saved tensor was cut off since it was saved."""
    values = _unpack(node, tensors)
    for t in node.saved:
        if isinstance(t, Variable) and t._meta is not None:
            detached = t._meta.detached
            if detached is not None and node.priority > detached:
                raise RuntimeError(DETACHED_TEXT)
    return values


_unpack = Node.unpack


def check_inference(t, node):
    """Raise RuntimeError if `node`, which saves the inference tensor `t`, may be differentiated.

    It never is if torch.func made all leaves behind it.
    """
    if not _is_of_transforms(node):
        raise RuntimeError(INFERENCE_SAVED)


def _is_of_transforms(node):
    seen, waiting = {node}, [node]
    while waiting:
        for fn, _ in waiting.pop().next_functions:
            if fn is not None and fn.kind == "accumulate":
                if "_level" not in fn.variable.__dict__:
                    return False
            elif fn is not None and fn not in seen and not _has_inference_tensor(fn):
                seen.add(fn)
                waiting.append(fn)
    return True


def _has_inference_tensor(node):
    """Whether `node` saved an inference tensor. It was checked at that time, so there is no need to look behind it again."""
    return any(isinstance(t, Variable) and t._box is INFERENCE for t in node.saved)


class SavedTensor:
    """A handle to one saved tensor of one node: `node._raw_saved_<name>` (torch._C._autograd.SavedTensor)."""

    def __init__(self, node, name):
        if name not in node.saves:  # the class of `node` inherits from one that saves more
            raise AttributeError(f"'{type(node).__name__}' object has no attribute '_raw_saved_{name}'")
        self._node, self._i = node, node.saves.index(name)

    def _stored(self):
        """What the node stores: a Tensor, what a hook returned for it, or None."""
        node = self._node
        one = None if self._freed() else node.saved[self._i]
        return one if isinstance(one, (Variable, Packed)) else None

    def _freed(self):
        return self._node.saved is FREED

    def _result_number(self):
        return self._node.result_number(self._i)

    @property
    def data(self):
        """The saved tensor (a result: without its history), or what the pack hook returned; None if there is none."""
        one = self._stored()
        return one.content if isinstance(one, Packed) else one

    @property
    def unpack_hook(self):
        """The hook that unpacks it, or None."""
        one = self._stored()
        return one.unpack_hook if isinstance(one, Packed) else None

    def unpack(self):
        """The saved tensor. Raises RuntimeError if it was freed or overwritten, or if it is a result (its node is unknown here)."""
        if self._freed():
            raise RuntimeError(FREED_TEXT)
        one = self._stored()
        if one is None:
            return None
        if self._result_number() is not None:
            raise RuntimeError(DETACHED_TEXT)
        return self._unpacked(one)

    def _unpacked(self, one):
        if isinstance(one, Packed):
            return one.unpack(self._node, self._i)
        self._node.check_version(self._i, one)
        return one

    def register_hooks(self, pack_hook, unpack_hook):
        """Pack the saved tensor now with `pack_hook`, and unpack it with `unpack_hook` when it is needed."""
        t = self._stored()
        check_saved_hooks(self._freed(), isinstance(t, Packed), pack_hook, unpack_hook)
        if t is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if WATCHERS:
            watcher().hooks_changed(self)
        self._replace(Packed(t, pack_hook, unpack_hook, self._result_number(), self._node))

    def _replace(self, packed):
        node, i = self._node, self._i
        node.saved = PackedValues((*node.saved[:i], packed, *node.saved[i + 1 :]))


def check_saved_hooks(freed, packed, pack_hook, unpack_hook):
    """Raise the errors of SavedTensor.register_hooks: for freed values, values that have hooks already, or hooks that are not callable."""
    if not callable(pack_hook) or not callable(unpack_hook):
        raise TypeError(
            "register_hooks(): incompatible function arguments. The following argument types are supported:\n"
            "    1. (self: SavedTensor, arg0: Callable, arg1: Callable) -> None"
        )
    if freed:
        raise RuntimeError(
            "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
            "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
            "the graph a second time or if you need to access saved variables after calling backward."
        )
    if packed:
        raise RuntimeError(
            "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
            "allowed at a time."
        )


def as_packed(node, tensors):
    """What `node` saves for `tensors` while something unusual is going on: under saved-tensor hooks, what these return."""
    hooks = THREAD.state.saved_hooks
    if not hooks:
        return tuple(tensors)
    pack, unpack = hooks[-1]
    tensors = list(tensors)
    for i in node.packing_order(len(tensors)):
        if isinstance(tensors[i], Variable):
            tensors[i] = Packed(tensors[i], pack, unpack, node.result_number(i), node)
    return PackedValues(tensors)


def name_raw(cls):
    """Give a class of nodes `_raw_saved_<name>` for each tensor that it saves."""
    for name in vars(cls).get("saves", ()):
        setattr(cls, "_raw_saved_" + name, property(lambda node, name=name: SavedTensor(node, name)))


DOORS.keep, DOORS.refuse = as_packed, check_inference

__all__ = [
    "FREED",
    "Packed",
    "PackedValues",
    "SavedTensor",
    "as_packed",
    "check_attached",
    "check_saved_hooks",
    "name_raw",
]
