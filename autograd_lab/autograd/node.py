"""Nodes: one for each recorded operation, and one for each leaf that collects a gradient.

A node knows where gradients go next (`next_functions`), what its rule needs to compute them (`saved`, `args`), and when it was
made (`priority`). The classes of nodes are the rules themselves (see ops/): `type(y.grad_fn)` is the rule that made y.
"""

import itertools
from functools import partial

import numpy as np

from ..layout import check_layouts
from .collector import numbers
from .errors import DETACHED_TEXT, FREED_TEXT, modified_text
from .handed import call
from .hooks import NodeHooks, RemovableHandle, run_post_accumulate_hooks
from .metadata import EXPECTED, fitted_to, note_type
from .modes import THREAD
from .saved import FREED, Packed, SavedTensor, as_packed, check_inference
from .variable import (
    INFERENCE,
    NO_EDGE,
    OWN_TYPE,
    Registry,
    Variable,
    bump_version,
    new,
    pair_of,
    weak,
    wrap,
)

count_down = itertools.chain.from_iterable(map(numbers, itertools.count())).__next__
"""Creation numbers, negated: the newest node is the smallest, as heapq likes it."""

_accumulators = itertools.count(-(2**62)).__next__  # below every other priority: a leaf is served at once
_ZEROS = itertools.repeat(0)
LEAVES = -(2**61)
"""The priorities of leaves lie below this number, all others above."""


class NodeType(type):
    """The class of the classes of nodes.

    It gives nodes no `__dict__`, for in a large graph each byte counts a million times, and an attribute `_saved_<name>` for
    each of `saves`, `keeps` and `shows`. (A `__getattr__` would do that too, but slow down the reading of all the others.)
    """

    def __new__(cls, name, bases, body, /, **options):
        body.setdefault("__slots__", () if body.get("plain", True) else ("n_outputs",))
        for saved in body.get("saves", ()):
            body["_raw_saved_" + saved] = property(partial(SavedTensor, name=saved))
        for what in ("saves", "keeps", "shows"):
            for saved in body.get(what, ()):
                body["_saved_" + saved] = property(lambda node, name=saved: node._read_saved(name))
        return super().__new__(cls, name, bases, body, **options)


class Node(metaclass=NodeType):
    """One step of the computation, seen from the way back.

    _edges          one edge per operand: where its gradient goes; NO_EDGE where none is wanted
    _next           the same as it is kept: of y + 1, or of exp(y), the node of y alone. A tuple around it would double what
                    Python's garbage collector has to walk through in a long chain
    saved           the tensors its rule needs, named by `saves`; FREED after a backward pass that did not retain them
    versions        their version counters when they were saved; None for "all zero"
    args            plain values its rule needs, named by `keeps`
    fold            None, or for each operand the (shape, dtype) that broadcasting or promotion changed
    hooks           None, or what the user registered or noted (NodeHooks)
    priority        minus the sequence number
    """

    __slots__ = (
        "__weakref__",
        "_next",
        "args",
        "fold",
        "hooks",
        "priority",
        "saved",
        "versions",
    )

    inputs: tuple = ("self",)
    saves = ()  # names of `saved`, as in PyTorch's _saved_<name>
    keeps = ()  # names of `args`, likewise
    shows = ()  # what else can be read as _saved_<name>: see _read_saved
    results = ()  # which of `saves` are outputs, as {name: output number} or a tuple of names (output 0)
    fold: tuple | None
    save_plan: tuple = ()  # which gradients need each of `saves`; see ops/rule.py
    plain = True  # one output, and `vjp` is happy with NumPy arrays; the others have `n_outputs`
    skips_undefined = True  # with no gradient coming in, none goes out and the rule is not asked
    kind = "op"
    widens = True  # whether halves are computed in single precision
    rounds_numbers = False  # whether a number beside halves becomes one first
    plain_numbers = True  # whether a number in `vjp` is no tensor under create_graph; see formulas.py
    fresh = False  # whether the gradients are arrays that nobody else holds, so that a leaf may keep one without a copy
    layout = None  # how the result is laid out in memory, if otherwise than NumPy does it
    whole_pass = None  # what may do the work of the engine where this node is all there is between a root and the leaves

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
        if saved is FREED:
            raise RuntimeError(FREED_TEXT)
        values = []
        packed = False
        for t, version in zip(saved, self.versions or _ZEROS):  # noqa: B905 - there is no end of zeros
            if isinstance(t, Variable):
                box, meta = t._box, t._meta
                if box is not None and box[0] != version:
                    self.check_version(len(values), t)
                if meta is not None and meta.detached is not None and self.priority > meta.detached:
                    raise RuntimeError(DETACHED_TEXT)
                values.append(t._data)
            else:
                values.append(t)
                if type(t) is Packed:
                    packed = True
        if tensors:
            values = [self.restore(i, t) if isinstance(t, Variable) else t for i, t in enumerate(saved)]
        if packed:
            for i in self.packing_order(len(values)):
                if isinstance(values[i], Packed):
                    t = values[i].unpack(self, i)
                    values[i] = t if tensors else t._data
        return values

    def check_version(self, i, t):
        """Raise RuntimeError if `t`, saved tensor `i`, was overwritten since it was saved."""
        if t._box is None or t._box[0] == (self.versions[i] if self.versions is not None else 0):
            return
        if i < len(self.save_plan):
            # What only a gradient that goes nowhere needs PyTorch does not save.
            users = self.save_plan[i][-1]
            if users is not None and not any(self.next_functions[k][0] for k in users):
                return
        raise RuntimeError(modified_text(self, t, i))

    def packing_order(self, count):
        """The numbers of `count` saved values in the order in which PyTorch packs them: operands by name, then results."""
        names = self.saves
        return sorted(
            range(count),
            key=lambda i: (self.result_number(i) is not None, names[i]) if i < len(names) else (True, ""),
        )

    def restore(self, i, t):
        """Saved tensor `i` as the user knew it: an operand is itself; a result gets its history back."""
        nr = self.result_number(i)
        if nr is None or t._data.dtype.kind != "f":
            return t
        out = wrap(t._array(), (self, nr), t._box)
        dual = THREAD.state.dual
        if dual is not None:
            dual.restored(out, self, nr)
        return out

    def result_number(self, i):
        """Which output the i-th saved tensor is, or None if it is an operand."""
        results = self.results
        if results and self.saves[i] in results:
            return results[self.saves[i]] if isinstance(results, dict) else 0
        return None

    def share_result(self, output, data):
        """`output` just got an address (see Variable._array): a saved copy of that result must share it."""
        for i, t in enumerate(self.saved):
            if isinstance(t, Variable) and self.result_number(i) is not None and t._box is output._box:
                t._data = data

    def release(self):
        """Drop the saved tensors; plain values stay. A node that saved none can run again."""
        for t in self.saved:
            if t is not None:
                self.saved, self.versions = FREED, None
                break

    def _read_saved(self, name):
        """What `_saved_<name>` gives: a saved tensor, checked against later writes, or a plain value."""
        if name in self.saves:
            i = self.saves.index(name)
            if self.saved is FREED:
                raise RuntimeError(FREED_TEXT)
            if i < len(self.saved):
                one = self.saved[i]
                if isinstance(one, Packed):
                    return one.unpack(self, i)
                if isinstance(one, Variable):
                    self.check_version(i, one)
                    return self.restore(i, one)
                if isinstance(one, (int, float)):
                    return self.scalar_as_saved(one)
                return one
        elif name in self.keeps:
            return self.kept(name, self.args[self.keeps.index(name)])
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '_saved_{name}'")

    def scalar_as_saved(self, number):
        """How a saved Python number reads back: PyTorch saves it as a 0-d tensor."""
        return wrap(np.asarray(number)[()])

    def kept(self, name, value):
        """How a plain value reads back through _saved_<name>: PyTorch stores dims unsigned."""
        if (
            name in ("dim", "dim0", "dim1", "index", "start_dim", "end_dim")
            and isinstance(value, int)
            and value < 0
        ):
            return value + 2**64
        return value

    def __dir__(self):
        names = [n for n in object.__dir__(self) if not n.startswith(("_saved_", "_raw_saved_"))]
        shown = ["_saved_" + n for n in (*self.saves, *self.keeps, *self.shows)]
        return [*names, *shown, *["_raw_saved_" + n for n in self.saves]]

    # -- what the user sees ---------------------------------------------------------------------------

    def unfold(self):
        """The node as it is shown: one that stands for two (see express/fused.py) becomes them now."""
        return self

    def name(self):
        """The node's name, such as 'MulBackward0' (torch.autograd.graph.Node.name)."""
        return type(self).__name__

    def __repr__(self):
        return f"<{type(self).__name__} object at {hex(id(self))}>"

    def __lt__(self, other):
        return id(self) < id(other)  # never reached while priorities differ; heapq wants an order

    def _sequence_nr(self):
        return -self.priority

    @property
    def _edges(self):
        edges = self._next
        return edges if type(edges) is tuple else (edges, *[NO_EDGE] * (len(self.inputs) - 1))

    @property
    def next_functions(self):
        """((node, output_nr), ...): where the gradient of each operand goes; (None, 0) where none is wanted."""
        return tuple([pair_of(edge) for edge in self._edges])

    @property
    def metadata(self):
        """A dict for the user's own notes on this node (torch.autograd.graph.Node.metadata)."""
        return self._hooks().metadata

    def _hooks(self):
        if self.hooks is None:
            self.hooks = NodeHooks()
        return self.hooks

    def register_hook(self, fn):
        """Call fn(grad_inputs, grad_outputs) after the node ran; a tuple it returns replaces grad_inputs."""
        return RemovableHandle(self._hooks().post, fn)

    def register_prehook(self, fn):
        """Call fn(grad_outputs) before the node runs; a tuple it returns replaces them."""
        return RemovableHandle(self._hooks().pre, fn)

    def __call__(self, *grads):
        """Run the rule by hand: one gradient Tensor (or None) per output in, one per operand out.

        What the rule gives is all: to sum a gradient over the dims along which its operand was broadcast is the engine's work.
        Raises TypeError for another number of gradients, or what is none.
        """
        out = call(self, grads)
        return out[0] if len(out) == 1 else out


def laid_out_like(x, dtype):
    """Zeros for the gradient of a leaf: in the order of the leaf's own, if that has no gaps and no overlaps.

    Not just any memory, for a watcher is shown what a write finds.
    """
    own = np.zeros_like(x, dtype, subok=False)
    return own if own.strides == x.strides else np.zeros(x.shape, dtype)


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to `.grad` of its leaf.

    Math: x.grad <- x.grad + g  (the first time: a copy of g).       Shapes: g has the shape of x.
    An existing `.grad` is added to in place; under create_graph it is replaced by the sum.
    """

    __slots__ = ("variable",)
    variable: Variable
    _next = saved = args = ()
    versions = fold = None
    kind = "accumulate"
    widens = False
    priority = property(
        lambda _: _accumulators()
    )  # asked for when it becomes ready: the first to be ready is the first to run

    def name(self):
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self):
        return 2**64 - 1

    def __call__(self, *grads):
        """Add a gradient to `.grad` of the leaf by hand; the hooks that run after that are called, and no others."""
        super().__call__(*grads)
        if self.variable._meta.post_accumulate_hooks:
            run_post_accumulate_hooks(self.variable)
        return ()

    def vjp(self, g, fresh=False):
        if g is None:
            return ()
        leaf = self.variable
        meta = leaf._meta
        if meta.base is not None or not meta.requires_grad:
            # A write may have given it a history since: a view by way of its base, or what detach_() had made a constant.
            if leaf.grad_fn is not None:
                raise RuntimeError("leaf variable has been moved into the graph interior")
            if not meta.requires_grad:
                return ()
        data = leaf._data
        state = THREAD.state
        if g.shape != data.shape and not state.calling:
            g = fitted_to(leaf, (self, 0), g, state.running)
        old = meta.grad
        if isinstance(g, Variable):
            if state.grad or (state.calling and old is None):
                meta.grad = wrap(laid_out_like(data, g._data.dtype)).copy_(g) if old is None else old + g
                check_layouts(meta.grad._data, data)
                return ()
            g = g._data
        if g.dtype is not data.dtype and self not in EXPECTED:
            g = g.astype(data.dtype)
        if old is None:
            if data.flags.c_contiguous or g.shape != data.shape:
                own = g if fresh else g.copy()
            else:
                own = laid_out_like(data, g.dtype)
                own[...] = g
            meta.grad = wrap(own)
        elif isinstance(old._data, np.ndarray):
            if 0 in old._data.strides and old._data.size > 1:
                from .memory import overlap_error

                raise overlap_error()
            if old._box is not INFERENCE:
                bump_version(old)
            try:
                np.add(old._data, g, out=old._data)
            except ValueError:
                old.add_(wrap(g))  # another shape; this says so as PyTorch does
            if old._box is INFERENCE:
                bump_version(old)  # raises outside of inference mode
            check_layouts(old._data, data)
        else:
            old._data = old._data + g
            bump_version(old)
        return ()


def _accumulator(variable, meta):
    """A new AccumulateGrad for the leaf `variable`."""
    node = new(AccumulateGrad)
    node.variable = variable
    # The hooks of a leaf are its own, for it outlives this node; having NodeHooks makes the engine look for them.
    node.hooks = NodeHooks() if meta.hooks is not None or meta.post_accumulate_hooks is not None else None
    if meta.grad_dtype is not OWN_TYPE:
        note_type(node)
    if THREAD.state.anomaly:
        from .anomaly import note_creation

        note_creation(node)
    return node


Registry.accumulator = _accumulator


def save(node, tensors):
    """Keep `tensors` (or None, or numbers) for the rule of `node`, with their versions.

    Results are kept as aliases without history: were the node to hold its own output, neither could ever be freed
    without the garbage collector.
    """
    state = THREAD.state
    if state.special:
        tensors = as_packed(node, tensors, state)
    node.saved = tensors
    versions = None
    for t in tensors:
        if isinstance(t, Variable) and t._box is not None and t._box[0]:
            if t._box is INFERENCE:
                check_inference(node)
            versions = versions or tuple([
                t._box[0] if isinstance(t, Variable) and t._box is not None else 0 for t in tensors
            ])  # fmt: skip
    node.versions = versions


__all__ = ["NO_EDGE", "AccumulateGrad", "Node", "count_down", "new", "save", "weak"]
