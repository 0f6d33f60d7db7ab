"""Tensor: numbers, and where their gradients go.

A tensor and the graph are two different things. The tensor holds numbers; the graph holds nodes. They meet in `_edge`: the
place where a gradient for this tensor enters the graph.

    _data   the numbers: a NumPy array, or a NumPy scalar for a 0-d value whose memory nothing else shares yet
    _edge   the node of the operation that made it, or (node, output_nr) if that has several outputs; NO_EDGE for a constant;
            or None, meaning "ask": a leaf that requires a gradient, or a view (see `edge_of`)
    _box    the version counter, a list of one int shared by all aliases; None: never written, never shared
    _meta   what only few tensors have: `.grad`, hooks, a base (AutogradMeta, ViewMeta); None for most
"""

import warnings
import weakref

import numpy as np

from .modes import WATCHERS, watcher
from .seams import CLASSES, DOORS

NO_EDGE = (None, 0)
"""The edge of a constant: there is no node, and nothing to send. It is recognized by identity."""

new = object.__new__


def pair_of(edge):
    """An edge as the pair (node, output_nr): a node alone means its output 0.

    Most edges are of that kind, which saves a million pairs in a graph of a million nodes.
    """
    return edge if isinstance(edge, tuple) else (edge.unfold(), 0)


class AutogradMeta:
    """The uncommon part of a tensor: leaves that require a gradient have one, and tensors with hooks or a `.grad`.

    accumulator  a weak reference to the AccumulateGrad of a leaf: the graph owns it, the leaf only finds it again
    base         of a view (see views.py): the tensor that it is a view of
    grad         what `.grad` gives
    hooks        the hooks of a leaf; those of a computed tensor are on its node
    requires_grad, retains_grad  what the user asked for
    """

    def __init__(self, requires_grad=False):
        self.requires_grad = requires_grad
        self.retains_grad = False
        self.accumulator = self.base = self.grad = self.hooks = None


CLASSES["AutogradMeta"] = AutogradMeta


class Tensor:
    """An array that can request its gradient.

    A *leaf* is a tensor that no recorded operation made; a leaf that requires a gradient collects its gradient in `.grad`.

    >>> w = torch.tensor(3.0, requires_grad=True)
    >>> y = w * w
    >>> y
    tensor(9., grad_fn=<MulBackward0>)
    >>> y.backward()
    >>> w.grad
    tensor(6.)
    """

    __slots__ = ("__dict__", "__weakref__", "_box", "_data", "_edge", "_meta")

    shape = property(lambda self: self._data.shape, doc="The size along each dim.")
    dtype = property(lambda self: self._data.dtype, doc="The number type.")
    ndim = property(lambda self: self._data.ndim, doc="The number of dims.")

    def _array(self):
        """The numbers as an array that may be written to and shared (a 0-d scalar becomes a 0-d array now)."""
        data = self._data
        if not isinstance(data, np.ndarray):
            data = self._data = np.array(data)
        return data

    def _shared_box(self):
        """The version counter as an object that an alias can hold on to."""
        box = self._box
        if box is None:
            box = self._box = [0]
        return box

    def _ensure_meta(self):
        if self._meta is None:
            self._meta = CLASSES["AutogradMeta"]()
        return self._meta

    # -- leaves and flags -----------------------------------------------------------------------------

    @property
    def requires_grad(self):
        """Whether operations on this tensor are recorded: it is a leaf with the flag set, or was computed from one."""
        if self._edge is not None:
            return self._edge is not NO_EDGE
        meta = self._meta
        return meta.requires_grad or (
            meta.base is not None and (meta.edge is not NO_EDGE or meta.base.requires_grad)
        )

    def requires_grad_(self, requires_grad=True):
        """Set the flag on a leaf and return the tensor itself.

        Raises RuntimeError for integer tensors, and when switching it off on a computed tensor.

        >>> x = torch.tensor([1.0, 2.0])
        >>> x.requires_grad_()
        tensor([1., 2.], requires_grad=True)
        >>> (x * 2).requires_grad_(False)
        Traceback (most recent call last):
        RuntimeError: you can only change requires_grad flags of leaf variables...
        """
        if requires_grad and self._data.dtype.kind != "f":
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self._last_edge() is NO_EDGE:
            self._set_requires_grad(requires_grad)
        elif not requires_grad:
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        return self

    def _set_requires_grad(self, value):
        if not value and not self.requires_grad:
            return
        meta = self._ensure_meta()
        meta.requires_grad = value  # event: flag
        if meta.base is None:
            self._edge = None if value else NO_EDGE
        if WATCHERS:
            watcher().flagged(self, "requires_grad_")

    @property
    def is_leaf(self):
        """Whether no recorded operation made this tensor (constants are leaves too)."""
        return self.grad_fn is None

    @property
    def grad_fn(self):
        """The node of the operation that made this tensor; None for a leaf.

        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> x.grad_fn is None, torch.exp(x).grad_fn.name()
        (True, 'ExpBackward0')
        """
        if self._edge is None and self._meta.base is not None:
            self._meta.refresh(self)
        return pair_of(self._last_edge())[0]

    @property
    def output_nr(self):
        """Which output of `grad_fn` this tensor is."""
        return pair_of(self._last_edge())[1]

    def _last_edge(self):
        """The last known edge: that of a view may be out of date, but reading it never raises."""
        meta = self._meta
        return self._edge or (NO_EDGE if meta.base is None else meta.edge)

    _version = property(lambda self: version_of(self))

    # -- the gradient ---------------------------------------------------------------------------------

    @property
    def grad(self):
        """The gradient collected so far, or None. Only leaves, and tensors with retain_grad, have one."""
        meta = self._meta
        if meta is not None and (meta.grad is not None or meta.retains_grad):
            return meta.grad
        if self.requires_grad and self._last_edge() is not NO_EDGE:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
                "by mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 "
                "for more information.",
                stacklevel=2,
            )
        return None

    @grad.setter
    def grad(self, value):
        meta = self._meta if value is None else self._ensure_meta()
        if meta is not None:
            meta.grad = value
            if WATCHERS:
                watcher().grad_set(self, "assigned")

    # -- stepping out of the graph --------------------------------------------------------------------

    def detach(self):
        """The same memory and version counter, without history.

        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x * 2
        >>> constant = y.detach()
        >>> constant
        tensor([2., 4.])
        >>> constant[0] = 7  # the same memory
        >>> y[0].item()
        7.0
        """
        out = alias(self)  # event: detach
        if WATCHERS:
            watcher().detached(self, out, "detach")
        return out

    @property
    def data(self):
        """The same memory as a constant with a version counter of its own: writes through it go unnoticed."""
        out = wrap(self._array())
        if WATCHERS:
            watcher().detached(self, out, "data")
        return out

    # -- numbers --------------------------------------------------------------------------------------

    def item(self):
        """The one number in this tensor, as Python's. Raises RuntimeError if there are more, or none.

        >>> torch.tensor([[2.0]]).item()
        2.0
        """
        data = self._data
        if data.size != 1:
            raise RuntimeError(f"a Tensor with {data.size} elements cannot be converted to Scalar")
        number = data.item()  # event: read
        if WATCHERS:
            watcher().read(self, "item")
        return number

    def tolist(self):
        """The numbers as nested lists."""
        numbers = self._data.tolist()  # event: read tolist
        if WATCHERS:
            watcher().read(self, "tolist")
        return numbers

    def __repr__(self):
        numbers = np.array2string(np.asarray(self._data), separator=", ", prefix="tensor(")
        node = self.grad_fn
        end = f", grad_fn=<{node.name()}>" if node else ", requires_grad=True" if self.requires_grad else ""
        return f"tensor({numbers}{end})"


DOORS.tensor = Tensor


def wrap(data, edge=NO_EDGE, box=None):
    """A new tensor around `data`, sharing nothing but the memory."""
    t = new(DOORS.tensor)
    t._data = data
    t._edge = edge
    t._box = box
    t._meta = None
    return t


def alias(t, edge=NO_EDGE):
    """A second tensor over the same memory and the same version counter."""
    return wrap(t._array(), edge, t._shared_box())


def tensor(data, requires_grad=False):
    """A leaf made from numbers, nested lists of them, or an array (torch.tensor); floats become float32.

    Raises RuntimeError if `requires_grad` is set for integers, TypeError for anything but numbers, and ValueError for lists of unequal
    lengths.

    >>> torch.tensor([[1, 2], [3, 4]]).shape == (2, 2)
    True
    >>> torch.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    >>> torch.tensor(3, requires_grad=True)
    Traceback (most recent call last):
    RuntimeError: Only Tensors of floating point and complex dtype can require gradients
    """
    array = np.array(data)
    kind = array.dtype.kind
    if kind not in "biuf":
        raise TypeError(f"a tensor holds numbers, or lists of them, not what NumPy calls {array.dtype}")
    if kind == "f" and not isinstance(data, (np.ndarray, np.generic)):
        array = array.astype(np.float32)
    if requires_grad and kind != "f":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    t = wrap(array if array.ndim else array[()])
    return t.requires_grad_() if requires_grad else t


# -- version counters -------------------------------------------------------------------------------------


def version_of(t):
    """How often the memory of `t` was written in place, through it or any alias.

    >>> x = torch.tensor([1.0, 2.0])
    >>> row = x.detach()
    >>> row[0] = 5
    >>> version_of(x)
    1
    """
    return 0 if t._box is None else t._box[0]


def bump_version(t):
    """Note that the memory of `t` is about to be written to."""
    t._shared_box()[0] += 1


# -- edges ------------------------------------------------------------------------------------------------


def edge_of(t):
    """The edge through which a gradient for `t` enters the graph; NO_EDGE if none is wanted."""
    if t._edge is not None:
        return t._edge
    meta = t._meta
    if meta.base is not None:
        return meta.find_edge(t)
    return accumulator_of(t) if meta.requires_grad else NO_EDGE


def accumulator_of(t):
    """The one AccumulateGrad of the leaf `t`: the existing one if a graph still holds it, otherwise a new one."""
    known = t._meta.accumulator
    found = known and known()  # None if no graph holds it any more
    if found is None:
        found = CLASSES["AccumulateGrad"](t)
        ref = weakref.ref(found)
        if t._meta.accumulator is not known:  # another thread was faster
            return accumulator_of(t)
        t._meta.accumulator = ref  # no call since the look at it: no other thread has run
    return found
