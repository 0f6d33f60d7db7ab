"""The rules of the losses: a prediction and a target in, one number (or one per element) out.

`reduction` is stored as PyTorch stores it: 0 none, 1 mean, 2 sum.
"""

import math

import numpy as np

from ..autograd.modes import THREAD
from ..autograd.node import count_down, save
from ..autograd.record import finish
from ..autograd.variable import NO_EDGE, Variable, find_edge, new, wrap
from . import both
from . import rule as book
from .general import GeneralRule, call

NONE, MEAN, SUM = 0, 1, 2


def reduced(values, reduction):
    """The elementwise losses (an array), reduced."""
    if reduction == NONE:
        return values
    total = values.sum()
    return total if reduction == SUM else total / values.size


def spread(g, like, reduction):
    """The gradient of every elementwise loss, from that of the reduced one: divided evenly by a mean."""
    return g / math.prod(like.shape) if reduction == MEAN else g


def logsigmoid(x):
    """log(1 / (1 + exp(-x))) of an array or a Tensor, without overflow."""
    if isinstance(x, Variable):
        return x.clamp(max=0) - (-x.abs()).exp().log1p()
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


# -- negative log likelihood --------------------------------------------------------------------------


class NllLossBackward0(GeneralRule):
    """Negative log likelihood of the right class.

    Math: y = -sum_i w[t_i] x[i, t_i] / sum_i w[t_i]  (mean).   VJP: -g w[t_i] / sum at [i, t_i], zero elsewhere.
    Shapes: x (n, classes) or (classes,), target (n,) or ().   Saves: x, the target, the weights, their sum.
    PyTorch: torch.nn.functional.nll_loss
    """

    op = "nll_loss"
    inputs = saves = ("self", "target", "weight", "total_weight")
    operands = extras = 1
    keeps = ("reduction", "ignore_index")

    def forward(x, target, weight, reduction, ignore_index):
        rows, classes, factors = _picked(x, target, weight, ignore_index)
        values = -(x.reshape(-1, x.shape[-1])[rows, classes] * factors)
        if reduction == NONE:
            return values.reshape(target.shape), x.dtype.type(0)
        total = factors.sum()
        return values.sum() / total if reduction == MEAN else values.sum(), total

    def vjp(self, g, x, target, weight, total):
        reduction, ignore_index = self.args
        if reduction == MEAN:
            g = g / total
        if weight is None and reduction != NONE and not isinstance(g, Variable) and total == target.size and target.ndim:
            out = np.zeros(x.shape, x.dtype)
            out[np.arange(len(target)), target] = -g
            return out
        arrays = [both.array_of(v) if v is not None else None for v in (x, target, weight)]
        rows, classes, factors = _picked(*arrays, ignore_index)
        local = np.zeros(arrays[0].shape, arrays[0].dtype)
        local.reshape(-1, local.shape[-1])[rows, classes] = -factors
        if reduction == NONE and arrays[1].ndim:
            g = g.reshape((*g.shape, 1))
        return both.constant(local, g) * g


def _picked(x, target, weight, ignore_index):
    """(rows, classes, weight of each) that enter the loss; ignored rows have weight 0 and some valid class."""
    target = target.reshape(-1).astype(np.int64, copy=False)
    n_classes = x.shape[-1]
    ignored = target == ignore_index
    wrong = ((target < 0) | (target >= n_classes)) & ~ignored
    if wrong.any():
        raise IndexError(f"Target {target[wrong][0]} is out of bounds.")
    classes = np.where(ignored, 0, target)
    factors = np.ones(len(target), x.dtype) if weight is None else weight[classes]
    return np.arange(len(target)), classes, np.where(ignored, x.dtype.type(0), factors)


class NllLoss2DBackward0(GeneralRule):
    """Negative log likelihood at every place of an image.

    Math: as nll_loss, with classes along dim 1.   VJP: as nll_loss.
    Shapes: x (n, classes, h, w), target (n, h, w).   Saves: x, the target, the weights, their sum.
    PyTorch: torch.nn.functional.nll_loss
    """

    op = "nll_loss2d"
    inputs = saves = ("self", "target", "weight", "total_weight")
    operands = extras = 1
    keeps = ("reduction", "ignore_index")

    def forward(x, target, weight, reduction, ignore_index):
        return NllLossBackward0.forward(np.moveaxis(x, 1, -1), target, weight, reduction, ignore_index)

    def vjp(self, g, x, target, weight, total):
        reduction, ignore_index = self.args
        if reduction == MEAN:
            g = g / total
        x, target, weight = (both.array_of(v) if v is not None else None for v in (x, target, weight))
        last = np.moveaxis(x, 1, -1)
        rows, classes, factors = _picked(last, target, weight, ignore_index)
        local = np.zeros(last.shape, x.dtype)
        local.reshape(-1, last.shape[-1])[rows, classes] = -factors
        if reduction == NONE:
            g = g.reshape((g.shape[0], 1, *g.shape[1:]))
        return both.constant(np.ascontiguousarray(np.moveaxis(local, -1, 1)), g) * g


def nll_loss_nd(input, target, weight, reduction, ignore_index):
    """The negative log likelihood for any number of dims, as torch.nll_loss_nd sends it to one of the two rules."""
    x, t = input._data, target._data
    if x.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {x.ndim})")
    if x.ndim != 1 and x.shape[0] != (t.shape[0] if t.ndim else 1):
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({t.shape[0] if t.ndim else 1})."
        )
    if x.ndim <= 2:
        return nll_loss(input, target, weight, reduction, ignore_index)
    if x.ndim == 4:
        _check_nll(x, t, weight)
        return call(NllLoss2DBackward0, (input, target, weight), reduction, ignore_index)
    n, c, *rest = x.shape
    if t.shape[1:] != x.shape[2:]:
        raise RuntimeError(f"Expected target size {[n, *rest]}, got {list(t.shape)}")
    flat = input.contiguous().view(n, c, 1, -1)
    flat_target = target.contiguous().view(n, 1, -1)
    _check_nll(flat._data, flat_target._data, weight)
    out = call(NllLoss2DBackward0, (flat, flat_target, weight), reduction, ignore_index)
    return out.view(n, *rest) if reduction == NONE else out


def nll_loss(input, target, weight=None, reduction=MEAN, ignore_index=-100):
    """The loss of (n, classes) or (classes,) log probabilities; the usual case has a short cut."""
    x, t = input._data, target._data
    if t.ndim == 1 and x.ndim == 2 and weight is None and reduction != NONE and t.dtype.kind == "i" and t.itemsize == 8:
        n, n_classes = x.shape
        # One look for all: seen as unsigned, a negative class is huge.
        if n and len(t) == n and x.dtype.kind == "f" and np.maximum.reduce(t.view(np.uint64)) < n_classes and not 0 <= ignore_index < n_classes:
            return _plain_nll(input, target, n, reduction, ignore_index)
    _check_nll(x, t, weight)
    return call(NllLossBackward0, (input, target, weight), reduction, ignore_index)


def _plain_nll(input, target, n, reduction, ignore_index):
    """No weights, nothing ignored: the loss of every training loop."""
    state = THREAD.state
    total = input._data.dtype.type(n)
    total_weight = wrap(total)
    out = new(book.Tensor)
    out._data = state.run(_plain_forward, input._data, target._data, total if reduction == MEAN else 1)
    out._box = out._meta = node = None
    edge = input._edge or find_edge(input)
    if edge is NO_EDGE or not state.grad:
        out._edge = NO_EDGE
    else:
        node = new(NllLossBackward0)
        node.next_functions = (edge,)
        node.priority = count_down()
        node.args = (reduction, ignore_index)
        node.fold = node.hooks = None
        save(node, (input, target, None, total_weight))
        out._edge = (node, 0)
    if state.special:
        finish(state, NllLossBackward0, (input, target, None, total_weight), (out,), node, (reduction, ignore_index))
    return out


def _plain_forward(x, target, divisor):
    return -np.add.reduce(x[np.arange(len(target)), target]) / divisor


def _check_nll(x, t, weight):
    from ..dtypes import ALL

    spatial = x.ndim == 4
    if t.dtype.kind not in "iu" or t.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {ALL[t.dtype].type_name}")
    if x.dtype.kind != "f":
        name = "nll_loss2d_forward_out_frame" if spatial else "nll_loss_out_frame"
        raise NotImplementedError(f"\"{name}\" not implemented for '{ALL[x.dtype].type_name}'")
    if spatial:
        if t.ndim != 3:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {t.ndim}"
            )
        if (x.shape[0], *x.shape[2:]) != t.shape:
            raise RuntimeError(f"size mismatch (got input: {list(x.shape)} , target: {list(t.shape)}")
    elif t.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    elif x.ndim == 2 and t.shape != (x.shape[0],):
        raise RuntimeError(f"size mismatch (got input: {list(x.shape)}, target: {list(t.shape)})")
    classes = x.shape[1] if spatial else x.shape[-1]
    if weight is not None and weight._data.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight._data.shape)}"
        )


# -- distances ----------------------------------------------------------------------------------------


class MseLossBackward0(GeneralRule):
    """Mean squared error.

    Math: y = mean (a - b)^2.   VJP: to a: g 2 (a - b) / n;  to b: minus that.
    Shapes: a and b alike.   Saves: both.   PyTorch: torch.nn.functional.mse_loss
    """

    op = "mse_loss"
    inputs = ("self", "target")
    saves = ("self", "target")
    keeps = ("reduction",)

    def forward(x, t, reduction):
        d = x - t
        return reduced(d * d, reduction)

    def vjp(self, g, x, t):
        reduction = self.args[0]
        to_x = (x - t) * (spread(g, x, reduction) * 2)
        return to_x, -to_x if self.needs(1) else None


class SmoothL1LossBackward0(GeneralRule):
    """Absolute error, rounded off near zero.

    Math: d = |a - b|;  y = d^2 / (2 beta) for d < beta, else d - beta / 2.   VJP: to a: g (a - b) / beta or g sign(a - b).
    Shapes: a and b alike.   Saves: both.   PyTorch: torch.nn.functional.smooth_l1_loss
    """

    op = "smooth_l1_loss"
    inputs = ("self", "target")
    saves = ("self", "target")
    keeps = ("reduction", "beta")

    def forward(x, t, reduction, beta):
        d = np.abs(x - t)
        return reduced(np.where(d < beta, d * d / (2 * beta), d - beta / 2).astype(d.dtype, copy=False), reduction)

    def vjp(self, g, x, t):
        reduction, beta = self.args
        d = x - t
        near = np.abs(both.array_of(d)) < beta
        to_x = both.where(near, d / beta, both.sign(d)) * spread(g, x, reduction)
        return to_x, -to_x if self.needs(1) else None


class HuberLossBackward0(GeneralRule):
    """Squared error near zero, absolute error further out.

    Math: d = |a - b|;  y = d^2 / 2 for d < delta, else delta (d - delta / 2).   VJP: to a: g (a - b) or g delta sign(a - b).
    Shapes: a and b alike.   Saves: both.   PyTorch: torch.nn.functional.huber_loss
    """

    op = "huber_loss"
    inputs = ("self", "target")
    saves = ("self", "target")
    keeps = ("reduction", "delta")

    def forward(x, t, reduction, delta):
        d = np.abs(x - t)
        return reduced(np.where(d < delta, d * d / 2, delta * (d - delta / 2)).astype(d.dtype, copy=False), reduction)

    def vjp(self, g, x, t):
        reduction, delta = self.args
        d = x - t
        near = np.abs(both.array_of(d)) < delta
        to_x = both.where(near, d, both.sign(d) * delta) * spread(g, x, reduction)
        return to_x, -to_x if self.needs(1) else None


# -- binary cross entropy -----------------------------------------------------------------------------


class BinaryCrossEntropyBackward0(GeneralRule):
    """Cross entropy of a probability and a target between 0 and 1.

    Math: y = -w (t log p + (1 - t) log(1 - p)), logarithms not below -100.
    VJP: to p: g w (p - t) / (p (1 - p));  to t: g w (log(1 - p) - log p).
    Shapes: all alike.   Saves: p, t, w.   PyTorch: torch.nn.functional.binary_cross_entropy
    """

    op = "binary_cross_entropy"
    inputs = ("self", "target", "weight")
    operands = 2
    saves = ("self", "target", "weight")
    keeps = ("reduction",)

    def forward(p, t, weight, reduction):
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("all elements of input should be between 0 and 1")
        values = (t - 1) * np.maximum(np.log1p(-p), -100) - t * np.maximum(np.log(p), -100)
        return reduced(values if weight is None else values * weight, reduction)

    def vjp(self, g, p, t, weight):
        g = spread(g, p, self.args[0])
        if weight is not None:
            g = g * weight
        room = (1 - p) * p
        room = room.clamp(min=1e-12) if isinstance(room, Variable) else np.maximum(room, room.dtype.type(1e-12))
        return g * (p - t) / room, g * (both.log(1 - p) - both.log(p)) if self.needs(1) else None


class BinaryCrossEntropyWithLogitsBackward0(GeneralRule):
    """Binary cross entropy of a logit: sigmoid and loss in one, without overflow.

    Math: y = w ((1 - t) x - (1 + (q - 1) t) log sigmoid(x)), q the weight of positives.
    VJP: to x: g w ((q t + 1 - t) sigmoid(x) - q t);  to t: g w (log sigmoid(-x) - q log sigmoid(x)).
    Shapes: x and t alike, w and q broadcast.   Saves: x, t, w, q.   PyTorch: binary_cross_entropy_with_logits
    """

    op = "binary_cross_entropy_with_logits"
    inputs = ("self", "target", "weight", "pos_weight")
    operands = 2
    saves = ("self", "target", "weight", "pos_weight")
    keeps = ("reduction",)

    def forward(x, t, weight, pos_weight, reduction):
        log_p = logsigmoid(x)
        values = (1 - t) * x - (log_p if pos_weight is None else log_p * ((pos_weight - 1) * t + 1))
        return reduced(values if weight is None else values * weight, reduction)

    def vjp(self, g, x, t, weight, pos_weight):
        g = spread(g, x, self.args[0])
        if weight is not None:
            g = g * weight
        to_t = None
        if pos_weight is None:
            to_x = (both.sigmoid(x) - t) * g
            if self.needs(1):
                to_t = -x * g
        else:
            q = pos_weight * t
            to_x = ((q + 1 - t) * both.sigmoid(x) - q) * g
            if self.needs(1):
                to_t = (logsigmoid(-x) - pos_weight * logsigmoid(x)) * g
        return to_x, to_t


# -- margins ------------------------------------------------------------------------------------------


class SoftMarginLossBackward0(GeneralRule):
    """Logistic loss of a score and a target of -1 or 1.

    Math: y = log(1 + exp(-t x)).   VJP: -g t both.sigmoid(-t x).   Shapes: all alike.   Saves: x, t.
    PyTorch: torch.nn.functional.soft_margin_loss
    """

    op = "soft_margin_loss"
    inputs = ("self", "target")
    operands = 1
    saves = ("self", "target")
    keeps = ("reduction",)

    def forward(x, t, reduction):
        return reduced(-logsigmoid(t * x), reduction)

    def vjp(self, g, x, t):
        return -(t * both.sigmoid(-(t * x))) * spread(g, x, self.args[0])


class MultiMarginLossBackward0(GeneralRule):
    """Hinge loss over classes: every wrong score must stay `margin` below the right one.

    Math: y_i = sum over j != t of w[t] max(0, margin - x[t] + x[j])^p / classes.
    VJP: g p w m^(p-1) / classes to each offending x[j], minus their sum to x[t].
    Shapes: x (n, classes) or (classes,).   Saves: x, t, w.   PyTorch: torch.nn.functional.multi_margin_loss
    """

    op = "multi_margin_loss"
    inputs = saves = ("self", "target", "weight")
    operands = 1
    keeps = ("p", "margin", "reduction")

    def forward(x, target, weight, p, margin, reduction):
        margins, w = _margins(np.atleast_2d(x), target, weight, margin)
        values = (margins**p * w).sum(1) / x.shape[-1]
        return reduced(values if x.ndim == 2 else values[0], reduction)

    def vjp(self, g, x, target, weight):
        p, margin, reduction = self.args
        n_classes = x.shape[-1]
        n = x.shape[0] if len(x.shape) == 2 else 1
        rows = x.reshape((n, n_classes))
        at = np.eye(n_classes, dtype=both.array_of(x).dtype)[both.array_of(target).reshape(-1)]
        at = both.constant(at, x)
        m = margin - (rows * at).sum(1).reshape((n, 1)) + rows
        offending = (both.array_of(m) > 0) & (both.array_of(at) == 0)
        w = 1 if weight is None else both.array_of(weight)[both.array_of(target).reshape(-1)].reshape(n, 1)
        factor = both.constant((offending * w / n_classes).astype(both.array_of(x).dtype), x)
        slope = factor if p == 1 else factor * (m * 2)
        g = g.reshape((n, 1)) if reduction == NONE else spread(g, target, reduction)
        return ((slope - at * slope.sum(1).reshape((n, 1))) * g).reshape(x.shape)


def _margins(rows, target, weight, margin):
    target = target.reshape(-1)
    at = np.arange(len(rows))
    m = np.maximum(margin - rows[at, target][:, None] + rows, 0)
    m[at, target] = 0
    w = np.ones((len(rows), 1), rows.dtype) if weight is None else weight[target][:, None]
    return m, w


__all__ = ["call", "nll_loss", "nll_loss_nd"]
