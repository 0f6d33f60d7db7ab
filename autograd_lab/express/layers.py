"""Fully connected layers, and the loss of a classifier, as one node each, and relu written out: where most networks spend their time.

The forward passes compute the same as the rules of the two operations, with less overhead.
"""

import numpy as np

from ..core.rules.matrices import TBackward0
from ..core.rules.pointwise import ReluBackward0
from ..core.seams import DOORS as CORE
from ..torchlike.autograd.metadata import sum_rows
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import count_down, save
from ..torchlike.autograd.saved import FREED
from ..torchlike.autograd.variable import INFERENCE, NO_EDGE, accumulator_of, find_edge, new, wrap
from ..torchlike.autograd.views import DEFAULT, ViewMeta
from ..torchlike.dtypes import as_places
from ..torchlike.ops import losses, numerics
from ..torchlike.ops.products import AddmmBackward0, check_addmm
from ..torchlike.ops.reductions import LogSoftmaxBackward0
from .fused import Fused


def linear(input, weight, bias=None):
    """`input @ weight^T + bias` for a batch of vectors: an AddmmBackward0, fed by the TBackward0 of the weight, in one node (Layer).

    Returns None unless the weight is a leaf that requires a gradient.
    """
    state = THREAD.state
    try:
        x, w, c = input._data, weight._data, bias._data
    except AttributeError:  # an argument is not a tensor
        return None
    meta = weight._meta
    if (
        not state.grad or state.special or not c.dtype is x.dtype is w.dtype
        or x.ndim != 2 or w.ndim != 2 or c.ndim != 1 or len(c) != len(w)
        or weight._edge is not None or not meta.requires_grad or meta.base is not None
    ):  # fmt: skip
        return None
    y = w.T
    out = new(CORE.tensor)
    try:
        out._data = state.run(_add_product, c, x, y)
    except ValueError:
        check_addmm(c, x, y)
        raise
    out._box = out._meta = None
    edge, seen = input._edge or find_edge(input), input._box
    out._edge = node = new(Layer)
    node._next = bias._edge or find_edge(bias), edge, accumulator_of(weight)
    count_down()  # the number of TBackward0
    node.priority = count_down()
    node.args = y, x.shape, x.strides
    node.broadcast = node.hooks = None
    if edge is NO_EDGE:
        node.saved = input, None
        node.versions = None if seen is None or not seen[0] else (seen[0], 0)
        since = None
    else:
        since = weight._box
        node.saved = input, weight
        node.versions = 0 if seen is None else seen[0], 0 if since is None else since[0]
    if seen is INFERENCE or since is INFERENCE:
        save(node, node.saved)  # which refuses it
    return out


def _add_product(c, x, y):
    product = x.dot(y)  # x @ y for matrices, with less overhead
    product += c
    return product


class Layer(Fused):
    """The node of a fully connected layer: AddmmBackward0, fed by the TBackward0 of a weight that is a leaf.

    Math: y = x @ w^T + c.   VJP: to c: the sum of the rows of g;  to x: g @ w;  to w: g^T @ x.
    Saves: x; w, if x wants a gradient.
    """

    inputs = ("bias", "input", "weight")
    fresh = True

    def vjp(self, g, x, w):
        return (
            None if self._next[0] is NO_EDGE else sum_rows(g),
            None
            if w is None
            else g.dot(self.args[0].T),  # the numbers at that time, if `w.data` was replaced
            g.T.dot(x),
        )

    def unfold(self):
        y, x_shape, x_strides = self.args
        bias, edge, leaf = self._next
        turn = new(TBackward0)
        turn._next = (leaf,)
        turn.priority = self.priority + 1
        turn.args = turn.saved = ()
        turn.broadcast = turn.hooks = turn.versions = None
        if self.saved is not FREED and self.saved[1] is not None:
            input, weight = self.saved
            turned = wrap(y, None, weight._shared_box())  # as `make_view` would have made it at that time
            turned._meta = meta = ViewMeta(weight, turn)
            meta.version, meta.creation = self.versions[1], DEFAULT
            self.saved = input, turned
        self.args = 1, 1, y.shape[1:], x_shape, y.shape, x_strides, y.strides, y.itemsize
        self._next = bias, edge, turn
        self.__class__ = AddmmBackward0
        return self


def relu(input):
    """The rectifier and its ReluBackward0, made in one function; None unless it is of floats and nothing unusual goes on."""
    state, x = THREAD.state, input._data
    zero = _ZEROS.get(x.dtype)
    if state.special or zero is None:
        return None
    out = new(CORE.tensor)
    out._data = data = state.run(np.maximum, x, zero)
    out._box = out._meta = None
    edge = (input._edge or find_edge(input)) if state.grad else NO_EDGE
    if edge is NO_EDGE:
        out._edge = NO_EDGE
        return out
    out._box = [0]
    out._edge = node = new(ReluBackward0)
    node._next = (edge,) if type(edge) is tuple else edge
    node.priority = count_down()
    node.args = ()
    node.broadcast = node.hooks = node.versions = None
    node.saved = (wrap(data, NO_EDGE, out._box),)
    return out


def cross_entropy(input, target, reduction, ignore_index):
    """log_softmax and nll_loss of a batch of logits at once, with the nodes of both; None if the case is not that simple.

    The common case in training: no weights, no ignored rows, nothing unusual going on.
    """
    x, t = input._data, target._data
    state = THREAD.state
    if (
        state.special
        or x.ndim != 2
        or t.ndim != 1
        or reduction == losses.NONE
        or x.dtype not in _FLOATS
        or t.dtype is not losses.LONG
    ):
        return None
    n, n_classes = x.shape
    if not n or len(t) != n or 0 <= ignore_index < n_classes or losses.largest(t) >= n_classes:
        return None
    edge = (input._edge or find_edge(input)) if state.grad else NO_EDGE
    log_p, loss = state.run(_log_softmax_and_loss, x, t, n if reduction == losses.MEAN else 1)
    out = new(CORE.tensor)
    out._data = loss
    out._box = out._meta = None
    if edge is NO_EDGE:
        out._edge = NO_EDGE
        return out
    count_down()  # the number of LogSoftmaxBackward0
    node = new(CrossEntropy)
    node._next = (edge,)
    node.priority = count_down()
    node.args = reduction, ignore_index
    node.broadcast = node.hooks = None
    node.saved = log_p, target
    seen = target._box
    node.versions = None if seen is None or not seen[0] else (0, seen[0])
    if seen is INFERENCE:
        save(node, node.saved)  # which refuses it
    out._edge = node
    return out


class CrossEntropy(Fused):
    """The node of the loss of a classifier: NllLossBackward0, fed by LogSoftmaxBackward0.

    Math: y = -sum_i p[i, t_i] / n for p = log_softmax(x).   VJP: g / n * (exp(p) - 1 at [i, t_i]).   Saves: p, t.
    """

    inputs = ("self",)

    def vjp(self, g, log_p, target):
        if self.args[0] == losses.MEAN:
            g = np.array(
                g / len(target)
            )  # NumPy takes longer to understand a scalar of its own than an array
        to_x = np.exp(log_p)
        to_x *= g
        classes = to_x.shape[1]
        if classes <= numerics.FEW:  # taking rows is faster than finding single elements
            right = numerics.identity(classes, to_x.dtype).take(as_places(target), 0)
            right *= g
            to_x -= right
        else:
            to_x[losses.rows_of(len(target)), target] -= g
        return to_x

    def unfold(self):
        first = new(LogSoftmaxBackward0)
        first._next = self._next
        first.priority = self.priority + 1
        first.args = _ALONG_CLASSES
        first.saved = FREED
        first.broadcast = first.hooks = first.versions = None
        if self.saved is not FREED:
            log_p, target = self.saved
            result = wrap(log_p, NO_EDGE, [0])
            first.saved = (result,)
            weight = wrap(log_p.dtype.type(len(log_p)))
            self.saved = wrap(log_p, first, result._box), target, None, weight
            if self.versions is not None:
                self.versions = 0, self.versions[1], 0, 0
        self._next = (first,)
        self.__class__ = losses.NllLossBackward0
        return self


_ALONG_CLASSES = (1,)
_ZEROS = {np.dtype(t): np.zeros((), t) for t in (np.float32, np.float64)}
_FLOATS = tuple(_ZEROS)  # float16 is rounded after each of the two operations


def _log_softmax_and_loss(x, target, divisor):
    log_p = numerics.log_softmax(x, 1)
    return log_p, losses.plain_forward(log_p, target, divisor)


__all__ = ["cross_entropy", "linear", "relu"]
