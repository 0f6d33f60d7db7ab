"""PyTorch's additions to core/node.py: node hooks, metadata, saved values read as PyTorch stores them."""

import threading
from itertools import chain, count, filterfalse, repeat

import numpy as np

from ...core import node as core
from ...core.node import FREED, Node, save
from ...core.seams import CLASSES, DOORS, extend
from ..dtypes import as_int64
from ..layout import check_layouts
from . import collector
from .errors import FREED_TEXT, modified_text
from .handed import formula
from .hooks import RemovableHandle, run_post_accumulate_hooks
from .memory import overlap_error
from .metadata import EXPECTED, fitted_to, note_type
from .modes import THREAD, WATCHERS, watcher
from .saved import PackedValues, as_packed
from .variable import INFERENCE, NO_EDGE, OWN_TYPE, Variable, bump_version, new, weak, wrap

DOORS.formula = formula

MANY = 1 << 16


def countdown(grow, many=MANY):
    """-1, -2, -3 and so on, for ever; `grow(k)` is called before the k-th batch of so many.

    No Python runs in what gives the batches: an exception there, such as a KeyboardInterrupt, would end the numbers for good. `grow`
    filters one number away, and a filter goes on after an exception.

    While `grow` runs, another thread may come to the end of the same filter, and the chain drops it. It must not be freed then: what runs in
    it would go on in freed memory. So all are `held`, one small object for so many nodes.
    """
    held: list = []
    batches = map(range, count(-1, -many), count(-1 - many, -many), repeat(-1))
    calls = filterfalse(held.append, map(filter, repeat(grow), zip(count(), strict=False)))
    return chain.from_iterable(chain.from_iterable(zip(calls, batches, strict=False)))


count_down = core.count_down = countdown(collector.grow).__next__
"""The creation numbers of core/node.py; Python's garbage collector is told of every 65,000 nodes."""


def created(node):
    """Tell of a node that the engine itself made, not an operation."""
    state = THREAD.state
    if state.special:
        DOORS.finish(state, None, (), (), node, ())


UNSIGNED = ("dim", "dim0", "dim1", "index", "start_dim", "end_dim")


def read_saved(node, name):
    """What `_saved_<name>` gives: a saved tensor, checked against later writes, or a plain value."""
    if name in node.keeps:
        return node.kept(name, node.args[node.keeps.index(name)])
    saved = node.saved
    if saved is FREED:
        raise RuntimeError(FREED_TEXT)
    i = node.saves.index(name) if name in node.saves else len(saved)
    if i == len(saved):
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '_saved_{name}'")
    return saved.read(node, i) if isinstance(saved, PackedValues) else read_value(node, i, saved[i])


def read_value(node, i, one):
    """The value `one`, saved as number `i` of a node, as the user reads it: a number as a 0-d tensor."""
    if isinstance(one, Variable):
        node.check_version(i, one)
        return node.restore(i, one)
    return wrap(as_int64(np.asarray(one))[()]) if isinstance(one, (int, float)) else one


def check_version(node, i, t):
    """Raise RuntimeError if `t`, saved tensor `i`, was overwritten since it was saved, and a wanted gradient needs it."""
    expected = 0 if node.versions is None else node.versions[i]
    if t._box is not None and t._box[0] != expected:
        node.refuse_overwritten(i, t, expected)


def refuse_overwritten(node, i, t, expected):
    """Raise RuntimeError, for saved tensor `i` was overwritten; but not if no gradient that goes somewhere needs it."""
    mask = node.save_plan[i][-1] if i < len(node.save_plan) else -1
    if any(fn and mask >> k & 1 for k, (fn, _) in enumerate(node.next_functions)):
        raise RuntimeError(modified_text(node, t, i, expected))


def kept(node, name, value):
    """The value of a plain argument as `_saved_<name>` returns it: PyTorch stores dims unsigned."""
    return value + 2**64 if name in UNSIGNED and isinstance(value, int) and value < 0 else value


def restore(node, i, t):
    """Saved tensor `i` as the user knows it, with its tangents."""
    out = _restored(node, i, t) if t._data.dtype.kind == "f" else t
    dual = THREAD.state.dual
    if dual is not None and out is not t:
        dual.restored(out, node, node.result_number(i))
    return out


def result_number(node, i):
    """Which output the i-th saved tensor is, or None if it is an operand."""
    return node.save_plan[i][1] if i < len(node.save_plan) else None


def share_result(node, output, data):
    """`output` just got an address (see Tensor._array): a saved copy of that result must share it."""
    for i, t in enumerate(node.saved):
        if isinstance(t, Variable) and node.result_number(i) is not None and t._box is output._box:
            t._data = data


def call(node, *grads):
    """Run the rule by hand: one gradient Tensor (or None) per output in, one per operand out.

    Only the rule runs: summing a gradient over the dims along which its operand was broadcast is the engine's job. Raises TypeError if the
    number of gradients is wrong, or if one of them is not a Tensor.
    """
    count = 1 if node.plain else node.n_outputs
    if len(grads) != count:
        raise TypeError(f"expected {count} arguments, got {len(grads)} instead")
    for i, g in enumerate(grads):
        if not isinstance(g, Variable | None):
            raise TypeError(f"argument {i} is not a Variable")
    return _called(node, grads[0] if node.plain else list(grads))


_restored, _called = Node.restore, Node.__call__
Node.restore, Node.result_number, Node.__call__ = restore, result_number, call
Node._read_saved, Node.refuse_overwritten = read_saved, refuse_overwritten


def packing_order(node, count):
    """The indices of `count` saved values in the order in which PyTorch packs them: operands by name, then results."""
    names = node.saves
    return sorted(
        range(count),
        key=lambda i: (node.result_number(i) is not None, names[i]) if i < len(names) else (True, ""),
    )


def names_of(node):
    """The names for `dir`: of the saved values, those that the class itself declares."""
    names = [n for n in object.__dir__(node) if not n.startswith(("_saved_", "_raw_saved_"))]
    shown = ["_saved_" + n for n in (*node.saves, *node.keeps, *node.shows)]
    return [*names, *shown, *["_raw_saved_" + n for n in node.saves]]


@property
def metadata(node):
    """A dict for the user's own notes on this node (torch.autograd.graph.Node.metadata)."""
    return node._hooks().metadata


def register_hook(node, fn):
    """Call fn(grad_inputs, grad_outputs) after the node ran; a tuple it returns replaces grad_inputs."""
    return _hook(node, node._hooks().post, fn)


def register_prehook(node, fn):
    """Call fn(grad_outputs) before the node runs; a tuple it returns replaces them."""
    return _hook(node, node._hooks().pre, fn)


def _hook(node, hooks, fn):
    if WATCHERS:
        watcher().hooks_changed(node)
    return RemovableHandle(hooks, fn)


def sequence_nr(node):
    return -node.priority


def before(node, other):
    """An order, for heapq: never asked while priorities differ."""
    return id(node) < id(other)


extend(
    Node,
    __dir__=names_of,
    __lt__=before,
    _read_value=read_value,
    _sequence_nr=sequence_nr,
    check_version=check_version,
    kept=kept,
    metadata=metadata,
    packing_order=packing_order,
    plain_numbers=True,  # whether a number in `vjp` stays a plain number under create_graph; see formulas.py
    register_hook=register_hook,
    register_prehook=register_prehook,
    share_result=share_result,
    rounds_numbers=False,  # whether a number next to float16 is rounded to float16 first
    skips_undefined=True,  # without an incoming gradient none goes out, and the rule does not run
    whole_pass=None,  # replaces the engine if this node is all there is between a root and the leaves
    fresh=False,  # whether the gradients are arrays that nothing else holds, so that a leaf may keep one without copying
    widens=True,  # whether float16 is computed in single precision
)
for _fn in (register_hook, register_prehook):
    _fn.__qualname__ = "Node." + _fn.__name__


def laid_out_like(x, dtype):
    """Zeros for the gradient of a leaf: in the leaf's memory order if it has no gaps and no overlaps.

    Not uninitialized memory, because a watcher sees the contents before a write.
    """
    own = np.zeros_like(x, dtype, subok=False)
    return own if own.strides == x.strides else np.zeros(x.shape, dtype)


_ACCUMULATING = threading.RLock()


class AccumulateGrad(core.AccumulateGrad):
    """The end of a path: adds what arrives to `.grad` of its leaf.

    Math: x.grad <- x.grad + g  (the first time: a copy of g).       Shapes: g has the shape of x.
    An existing `.grad` is added to in place; under create_graph it is replaced by the sum.
    """

    __slots__ = ()
    widens = False

    def __init__(self, leaf):
        # not by `super()`: a step of training makes one for each parameter
        self.variable, self.hooks = leaf, None
        meta = leaf._meta
        if meta.hooks is not None or meta.post_accumulate_hooks is not None:
            self._hooks()
        if meta.grad_dtype is not OWN_TYPE:
            note_type(self)
        if THREAD.state.anomaly:
            from .anomaly import note_creation

            note_creation(self)

    def _sequence_nr(self):
        return 2**64 - 1

    def __call__(self, *grads):
        """Add a gradient to `.grad` of the leaf by hand; only post-accumulate hooks are called."""
        super().__call__(*grads)
        if self.variable._meta.post_accumulate_hooks:
            run_post_accumulate_hooks(self.variable)
        return ()

    def vjp(self, g, fresh=False):
        leaf = self.variable
        meta, data = leaf._meta, leaf._data
        if g is None or ((meta.base is not None or not meta.requires_grad) and self.is_gone(leaf)):
            return ()
        if g.shape != data.shape and not THREAD.state.calling:
            g = fitted_to(leaf, (self, 0), g, THREAD.state.running)
        if isinstance(g, Variable):
            state = THREAD.state
            if state.grad or (state.calling and meta.grad is None):
                self.accumulate(g)
                check_layouts(meta.grad._data, data)
                return ()
            g = g._data
        if g.dtype is not data.dtype and self not in EXPECTED:
            g = g.astype(data.dtype)
        if meta.grad is None and data.flags.c_contiguous:  # what `first` does in the usual case
            first = wrap(g if fresh else g.copy())
            if meta.grad is None:  # no call follows, so no other thread can come in between
                meta.grad = first
                return ()
        return self.accumulate(g)

    def accumulate(self, g):
        """What the core does, in one thread at a time: NumPy lets others run while it adds, and of two sums one would be lost."""
        with _ACCUMULATING:
            return super().vjp(g)

    def is_gone(self, leaf):
        """Whether to add nothing because detach_() made the leaf a constant. Raises RuntimeError if a write gave it a history."""
        if (
            leaf.grad_fn is not None
        ):  # of a view through its base, or of something detach_() had made a constant
            raise RuntimeError("leaf variable has been moved into the graph interior")
        return not leaf._meta.requires_grad

    def first(self, g):
        data = self.variable._data
        if isinstance(g, Variable):
            return wrap(laid_out_like(data, g._data.dtype)).copy_(g)
        if data.flags.c_contiguous or g.shape != data.shape:
            return wrap(g.copy())
        own = laid_out_like(data, g.dtype)
        own[...] = g
        return wrap(own)

    def add(self, old, g):
        memory = old._data
        if not isinstance(memory, np.ndarray):
            old._data = memory + g
            bump_version(old)
            return
        if 0 in memory.strides and memory.size > 1:
            raise overlap_error()
        if old._box is not INFERENCE:
            bump_version(old)
        try:
            np.add(memory, g, out=memory)
        except ValueError:
            old.add_(wrap(g))  # another shape; this raises PyTorch's error
        if old._box is INFERENCE:
            bump_version(old)  # raises outside of inference mode
        check_layouts(memory, self.variable._data)


CLASSES["AccumulateGrad"] = AccumulateGrad

__all__ = [
    "FREED",
    "NO_EDGE",
    "AccumulateGrad",
    "Node",
    "as_packed",
    "count_down",
    "created",
    "new",
    "save",
    "weak",
]
