"""What the engine needs to know of a tensor.

A tensor and the graph are two different things. The tensor holds numbers; the graph holds nodes. They meet in
`_edge`: the place where a gradient for this tensor enters the graph.

    _data   the numbers: a NumPy array, or a NumPy scalar for a 0-d value nobody shares memory with yet
    _edge   the node of the operation that made it, or (node, output_nr) if that has several outputs; NO_EDGE for
            a constant; or None, meaning "ask": a leaf that requires grad, or a view (see `find_edge`)
    _box    the version counter, a list of one int shared by all aliases; None: never written, never shared
    _meta   what only few tensors have: `.grad`, hooks, a base (AutogradMeta, ViewMeta); None for the many
"""

import weakref
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from .modes import THREAD

NO_EDGE = (None, 0)
"""The edge of a constant: there is no node, and nothing is to be sent."""

DEAD_END = tuple([None, 0])
"""The edge of a view made without recording of a tensor that requires grad: operations on it are recorded, but lead nowhere."""


def pair_of(edge):
    """An edge as the pair (node, output_nr): a node alone stands for its output 0.

    Nearly every edge is of that kind, and a graph of a million nodes does without a million pairs.
    """
    return edge if isinstance(edge, tuple) else (edge.unfold(), 0)


new = object.__new__
weak = weakref.ref


OWN_TYPE = object()
"""What stands for the type of the tensor itself, whatever that is at the time."""


class AutogradMeta:
    """The uncommon part of a tensor: leaves that require grad have one, and whatever was given hooks or a `.grad`."""

    __slots__ = (
        "accumulator",
        "base",
        "detached",
        "grad",
        "grad_dtype",
        "hooks",
        "post_accumulate_hooks",
        "requires_grad",
        "retains_grad",
    )

    def __init__(self, requires_grad=False):
        self.requires_grad = requires_grad
        self.grad = None
        self.grad_dtype = OWN_TYPE  # the NumPy type of `.grad`, or None for any
        self.accumulator = (
            None  # a weak reference: the graph owns its AccumulateGrad, the leaf only finds it again
        )
        self.hooks = None  # of a leaf; a non-leaf's hooks live on its node
        self.post_accumulate_hooks = None
        self.retains_grad = False
        self.base = None  # only a ViewMeta has one
        self.detached = None  # when detach_() cut this tensor off: nodes made before may not use it any more


class Variable:
    """The base class of Tensor, as the engine sees it: see the module's page."""

    __slots__ = ("__dict__", "__weakref__", "_box", "_data", "_edge", "_meta")

    def _array(self):
        """The numbers as an array that may be written to and shared (a 0-d scalar becomes a 0-d array now)."""
        data = self._data
        if not isinstance(data, np.ndarray):
            data = self._data = np.array(data)
            edge = self._edge
            node = edge[0] if isinstance(edge, tuple) else edge
            if node is not None:
                type(node).share_result(node, self, data)
        return data

    def _shared_box(self):
        """The version counter as an object that an alias can hold on to."""
        box = self._box
        if box is None:
            box = self._box = [0]
        return box

    def _ensure_meta(self):
        meta = self._meta
        if meta is None:
            meta = self._meta = AutogradMeta()
        return meta


class Registry:
    """What this page may use of those above it, which it does not import: they enter it here themselves."""

    tensor = Variable
    accumulator: Callable  # makes an AccumulateGrad, see node.py
    clone: type  # CloneBackward0, of ops/convert.py
    functions: ClassVar[dict] = {}  # the functions of the torch-like namespace, by name


def wrap(data, edge=NO_EDGE, box=None):
    """A new tensor around `data`, sharing nothing but the memory."""
    t = new(Registry.tensor)
    t._data = data
    t._edge = edge
    t._box = box
    t._meta = None
    return t


def alias(t, edge=NO_EDGE):
    """A second tensor over the same memory and the same version counter."""
    return wrap(t._array(), edge, t._shared_box())


def version_of(t):
    """How often the memory of `t` was written in place, through it or any alias.

    Raises RuntimeError for an inference tensor, which does not count.
    """
    box = t._box
    if box is None:
        return 0
    if box is INFERENCE:
        raise RuntimeError("Inference tensors do not track version counter.")
    return box[0]


INFERENCE = [-1]
"""The one version box of all inference tensors; it is recognized by identity and never counts."""


def bump_version(t):
    """Note that the memory of `t` is about to be written to."""
    box = t._box
    if box is None:
        t._box = [1]
    elif box is INFERENCE:
        if not THREAD.state.inference:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed."
                "You can make a clone to get a normal tensor before doing inplace update."
                "See https://github.com/pytorch/rfcs/pull/17 for more details."
            )
    else:
        mutation = THREAD.state.mutation
        if mutation is not None:
            mutation.before_write(t)
        box[0] += 1


def find_edge(t):
    """The edge of a tensor whose `_edge` is None: of a leaf that requires grad, or of a view."""
    meta = t._meta
    if meta is None:
        return NO_EDGE
    if meta.base is not None:
        return meta.find_edge(t)
    return accumulator_of(t) if meta.requires_grad else NO_EDGE


def edge_of(t):
    """The edge through which a gradient for `t` enters the graph; NO_EDGE where none is wanted."""
    return t._edge or find_edge(t)


def accumulator_of(t):
    """The one AccumulateGrad of the leaf `t`: found again while some graph still holds it, else made anew."""
    meta = t._meta
    found = meta.accumulator and meta.accumulator()  # a weak reference: None if no graph holds it any more
    if found is None:
        found = Registry.accumulator(t, meta)
        meta.accumulator = weak(found)
    return found
