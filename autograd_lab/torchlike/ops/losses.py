"""The rules of the losses: a prediction and a target in, one number (or one per element) out.

`reduction` is stored as PyTorch stores it: 0 none, 1 mean, 2 sum.
"""

import functools
import math
import operator

import numpy as np

from ..autograd.errors import not_for, other_type
from ..autograd.metadata import sum_rows
from ..autograd.modes import THREAD
from ..autograd.record import record
from ..autograd.variable import NO_EDGE, Variable, edge_of, wrap
from ..creation import follow
from ..dtypes import as_places
from . import activations
from . import array_or_tensor as both
from .comparison import NoDerivative
from .general import GeneralRule, call
from .reductions import log_softmax
from .rule import FUNCTIONS, RULES, Rule, function
from .scalars import over

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
        return activations.logsigmoid(x)
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


# -- negative log likelihood --------------------------------------------------------------------------


class NllLossBackwardBackward0(Rule):
    """The gradient of nll_loss: h = g times the fixed weights -w[t_i] (over their sum), at the right classes.

    Math: y = local * spread(a, b, -1) if reduction == 'none' and ndim(b) > 1 else local * a.   VJP: to a: sum(g *
    local, dim=-1) if reduction == 'none' and ndim(b) > 1 else sum(g * local); to b: 0.
    Shapes: g as the loss, h as the log probabilities. Saves: nothing.
    """

    inputs = ("grad_output", "self")
    class_dim = -1

    def forward(g, _x, local, reduction):
        return local * NllLossBackwardBackward0.widened(g, local, reduction, -1)

    @staticmethod
    def widened(g, local, reduction, dim):
        """Gives g, one number for each sample, a dim for the classes."""
        return np.expand_dims(g, dim) if reduction == NONE and local.ndim > 1 else g

    def vjp(self, gg):
        local, reduction = self.args
        h = gg * both.constant(local, gg)
        to_g = h.sum() if reduction != NONE or local.ndim == 1 else h.sum(self.class_dim)
        return to_g, both.zeros(local.shape, gg)


class NllLoss2DBackwardBackward0(NllLossBackwardBackward0):
    """The same for images, with classes along dim 1.

    Math: y = local * spread(a, b, 1) if reduction == 'none' and ndim(b) > 1 else local * a.   VJP: to a: sum(g *
    local, dim=1) if reduction == 'none' and ndim(b) > 1 else sum(g * local); to b: 0.
    """

    inputs = ("grad_output", "self")
    class_dim = 1

    def forward(g, _x, local, reduction):
        return local * NllLossBackwardBackward0.widened(g, local, reduction, 1)


class NllLossBackward0(GeneralRule):
    """Negative log likelihood of the right class.

    Math: y = -sum(w * a) / sum(w) if reduction == 'mean' else -sum(w * a) if reduction == 'sum' else reshape(-sum(w *
    a, dim=-1), shape(target)); w = is_class(a, target, -1, ignore_index) if weight is None else is_class(a, target,
    -1, ignore_index) * weight.   VJP: -where(w == 0, 0, g * w / sum(w)) if reduction == 'mean' else -g * w if
    reduction == 'sum' else -spread(g, a, -1) * w; w = is_class(a, target, -1, ignore_index) if weight is None else
    is_class(a, target, -1, ignore_index) * weight.   Here w is the weight of each sample's right class there, and 0
    elsewhere.
    Shapes: x (n, classes) or (classes,), target (n,) or ().   Saves: x, the target, the weights, their sum. PyTorch:
    torch.nn.functional.nll_loss
    """

    op = "nll_loss"
    torch_name = "nll_loss_forward"
    inputs = saves = ("self", "target", "weight", "total_weight")
    operands = extras = 1
    keeps = ("reduction", "ignore_index")

    def kept(self, name, value):
        return value % 2**64 if name == "ignore_index" else value

    def forward(x, target, weight, reduction, ignore_index):
        rows, classes, factors = _picked(x, target, weight, ignore_index)
        values = -(x.reshape(-1, x.shape[-1])[rows, classes] * factors)
        if reduction == NONE:
            return values.reshape(target.shape), factors.sum() if x.ndim == 1 else x.dtype.type(0)
        total = factors.sum()
        loss = values.sum()
        return loss / total if reduction == MEAN else loss, total

    def vjp(self, g, x, target, weight, total):
        reduction, ignore_index = self.args
        if (
            not isinstance(g, Variable)
            and weight is None
            and reduction != NONE
            and total == target.size
            and target.ndim
        ):
            out = np.zeros(x.shape, x.dtype)
            out[rows_of(len(target)), target] = -(g / total) if reduction == MEAN else -g
            return out
        values, target, weight, total = (
            both.array_of(v) if v is not None else None for v in (x, target, weight, total)
        )
        local = _local(values, target, weight, total if reduction == MEAN else 1, ignore_index)
        return both.run(NllLossBackwardBackward0, (g, x), local, reduction)


def _local(x, target, weight, total, ignore_index):
    """The derivative of the summed loss by x: -w[t_i] / total at the target classes, zero elsewhere."""
    rows, classes, factors = _picked(x, target, weight, ignore_index)
    local = np.zeros(x.shape, x.dtype)
    count = np.flatnonzero(
        target.reshape(-1) != ignore_index
    )  # if none does, the total is 0: do not divide by it
    local.reshape(-1, x.shape[-1])[rows[count], classes[count]] = -factors[count] / x.dtype.type(total)
    return local


@functools.lru_cache(maxsize=4)
def rows_of(n):
    """The row indices 0 to n - 1: the same for every batch of a training loop, and only used as an index."""
    return np.arange(n)


@functools.lru_cache(maxsize=4)
def starts(n, width):
    """The flat positions at which the rows of a matrix start."""
    return np.arange(0, n * width, width)


def _picked(x, target, weight, ignore_index):
    """(rows, classes, weights) that enter the loss; ignored rows have weight 0 and an arbitrary valid class."""
    target = target.reshape(-1).astype(np.int64, copy=False)
    n_classes = x.shape[-1]
    ignored = target == ignore_index
    wrong = ((target < 0) | (target >= n_classes)) & ~ignored
    if wrong.any():
        raise IndexError(f"Target {target[wrong][0]} is out of bounds.")
    classes = np.where(ignored, 0, target)
    factors = np.ones(len(target), x.dtype) if weight is None else weight[classes]
    return rows_of(len(target)), classes, np.where(ignored, x.dtype.type(0), factors)


class NllLoss2DBackward0(GeneralRule):
    """Negative log likelihood at every place of an image.

    Math: y = -sum(w * a) / sum(w) if reduction == 'mean' else -sum(w * a) if reduction == 'sum' else reshape(-sum(w *
    a, dim=1), shape(target)); w = is_class(a, target, 1, ignore_index) if weight is None else is_class(a, target, 1,
    ignore_index) * reshape(weight, (-1, 1, 1)).   VJP: -where(w == 0, 0, g * w / sum(w)) if reduction == 'mean' else
    -g * w if reduction == 'sum' else -spread(g, a, 1) * w; w = is_class(a, target, 1, ignore_index) if weight is None
    else is_class(a, target, 1, ignore_index) * reshape(weight, (-1, 1, 1)).   Here w is the weight of each sample's right
    class there, and 0 elsewhere.
    Shapes: x (n, classes, h, w), target (n, h, w).   Saves: x, the target, the weights, their sum. PyTorch:
    torch.nn.functional.nll_loss
    """

    op = "nll_loss2d"
    torch_name = "nll_loss2d_forward"
    inputs = saves = ("self", "target", "weight", "total_weight")
    operands = extras = 1
    keeps = ("reduction", "ignore_index")

    def kept(self, name, value):
        return value % 2**64 if name == "ignore_index" else value

    def forward(x, target, weight, reduction, ignore_index):
        return NllLossBackward0.forward(np.moveaxis(x, 1, -1), target, weight, reduction, ignore_index)

    def vjp(self, g, x, target, weight, total):
        reduction, ignore_index = self.args
        values, target, weight, total = (
            both.array_of(v) if v is not None else None for v in (x, target, weight, total)
        )
        local = _local(
            np.moveaxis(values, 1, -1), target, weight, total if reduction == MEAN else 1, ignore_index
        )
        local = np.ascontiguousarray(np.moveaxis(local, -1, 1))
        return both.run(NllLoss2DBackwardBackward0, (g, x), local, reduction)


def nll_loss_nd(input, target, weight, reduction, ignore_index):
    """The negative log likelihood for any number of dims, as torch.nll_loss_nd sends it to one of the two rules."""
    x, t = input._data, target._data
    if x.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {x.ndim})")
    if x.ndim == 1 and t.ndim == 1 and t.size != 1:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {t.size}")
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
    """The loss of (n, classes) or (classes,) log probabilities; the common case has a shortcut."""
    x, t = input._data, target._data
    if (
        t.ndim == 1
        and x.ndim == 2
        and weight is None
        and reduction != NONE
        and t.dtype.kind == "i"
        and t.itemsize == 8
    ):
        n, n_classes = x.shape
        if (
            n
            and len(t) == n
            and x.dtype.kind == "f"
            and largest(t) < n_classes
            and not 0 <= ignore_index < n_classes
        ):
            return _plain_nll(input, target, n, reduction, ignore_index)
    _check_nll(x, t, weight)
    return call(NllLossBackward0, (input, target, weight), reduction, ignore_index)


def _plain_nll(input, target, n, reduction, ignore_index):
    """The common case in training: no weights, nothing ignored."""
    state = THREAD.state
    total = input._data.dtype.type(n)
    total_weight = wrap(total)
    data = state.run(plain_forward, input._data, target._data, total if reduction == MEAN else 1)
    inputs = input, target, None, total_weight
    edge = (input._edge or edge_of(input)) if state.grad else NO_EDGE
    args = reduction, ignore_index
    return record(state, NllLossBackward0, inputs, (edge,), edge is not NO_EDGE, data, args)


LONG, _UNSIGNED = np.dtype(np.int64), np.dtype(np.uint64)


def largest(target):
    """The largest class in a vector; read as unsigned, a negative one is huge."""
    seen = target.view(_UNSIGNED)
    return seen.item(seen.argmax())  # a third of the time of `max`


def plain_forward(x, target, divisor):
    right = x.take(as_places(starts(*x.shape) + target))
    return (0 - sum_rows(right)) / divisor  # not -0 for a loss of 0


def _check_nll(x, t, weight):
    from ..dtypes import ALL

    spatial = x.ndim == 4
    if not spatial and t.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if t.dtype.kind not in "iu" or t.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {ALL[t.dtype].type_name}")
    if x.dtype.kind != "f":
        name = "nll_loss2d_forward_out_frame" if spatial else "nll_loss_out_frame"
        raise not_for(x.dtype, name)
    if weight is not None and weight._data.dtype is not x.dtype:
        raise other_type(x, weight._data)
    if spatial:
        if t.ndim != 3:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {t.ndim}"
            )
        if (x.shape[0], *x.shape[2:]) != t.shape:
            raise RuntimeError(f"size mismatch (got input: {list(x.shape)} , target: {list(t.shape)}")
    elif x.ndim == 2 and t.shape != (x.shape[0],):
        raise RuntimeError(f"size mismatch (got input: {list(x.shape)}, target: {list(t.shape)})")
    classes = x.shape[1] if spatial else x.shape[-1]
    if weight is not None and weight._data.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
            "tensor of "
            f"shape: {list(weight._data.shape)}"
        )


# -- sequences whose alignment is not known -----------------------------------------------------------


def _labels(targets, lengths, blank):
    """Each target with a blank before, between and after its labels, as rows of one array padded with blanks."""
    most = max(lengths, default=0)
    rows = np.full((len(lengths), 2 * most + 1), blank, np.int64)
    parts = np.split(targets, np.cumsum(lengths)[:-1]) if targets.ndim == 1 else targets
    for row, labels, length in zip(rows, parts, lengths, strict=True):
        row[1 : 2 * length : 2] = labels[:length]
    return rows


def _may_skip(labels):
    """Whether a path may reach a state from two states earlier: over a blank, between different labels."""
    skip = np.zeros(labels.shape, bool)
    skip[:, 2:] = labels[:, 2:] != labels[:, :-2]
    return skip


def _arriving(paths, skip):
    """The log of the summed probability of arriving in each state: from itself, from the previous one and, where `skip`, from two
    before.
    """
    total = paths.copy()
    total[:, 1:] = np.logaddexp(total[:, 1:], paths[:, :-1])
    total[:, 2:] = np.where(skip[:, 2:], np.logaddexp(total[:, 2:], paths[:, :-2]), total[:, 2:])
    return total


def _emissions(log_p, labels):
    """(t, n, state): the log probability of each state's label at each time."""
    return np.take_along_axis(log_p, np.broadcast_to(labels, (len(log_p), *labels.shape)), 2)


def _forward_paths(log_p, labels, target_lengths):
    """The alpha (n, t, state): the log probability of all ways to be in a state at a time, its own label included."""
    emitted, skip = _emissions(log_p, labels), _may_skip(labels)
    alpha = np.full((labels.shape[0], len(log_p), labels.shape[1]), -np.inf, log_p.dtype)
    real = np.arange(labels.shape[1]) <= 2 * np.array(target_lengths)[:, None]
    for t, now in enumerate(emitted):
        if t == 0:
            alpha[:, 0, :2] = now[:, :2]
        else:
            alpha[:, t] = _arriving(alpha[:, t - 1], skip) + now
        alpha[:, t][~real] = -np.inf
    return alpha


def _backward_paths(log_p, labels, input_lengths, target_lengths):
    """The beta (n, t, state): the log probability of all ways to continue from a state at a time to the end, its own label included."""
    emitted, skip = _emissions(log_p, labels), _may_skip(labels)
    beta = np.full((labels.shape[0], len(log_p), labels.shape[1]), -np.inf, log_p.dtype)
    steps, last = np.array(input_lengths), 2 * np.array(target_lengths)
    state = np.arange(labels.shape[1])
    ends = (state == last[:, None]) | (state == last[:, None] - 1)
    # Continuing is arriving with the states in reverse order; a skip then belongs to the state it starts from.
    away = np.zeros_like(skip)
    away[:, :-2] = skip[:, 2:]
    for t in reversed(range(len(log_p))):
        if t + 1 < len(log_p):
            beta[:, t] = _arriving(beta[:, t + 1, ::-1], away[:, ::-1])[:, ::-1] + emitted[t]
        starts = (steps == t + 1)[:, None] & ends
        beta[:, t][starts] = emitted[t][starts]
    return beta


class CtcLossBackward0(GeneralRule):
    """How improbable a sequence of labels is, whatever the times at which they come (connectionist temporal classification).

    Math: y = -log of the sum over all paths of the product over t of p[t, path[t]].   VJP: to a: g times (p[t, c]
    minus the share of the paths that are at c at time t), zero behind the end of an input.   A path is the target,
    labels repeated and blanks put between. The derivative by log p has no p[t, c] in it: the term counts on
    log_softmax before the loss, which would bring it in anyway.
    Shapes: log p (t, n, classes), targets (n, s) or (sum of lengths,) -> (n,).   Saves: log p, the targets, y, alpha.
    PyTorch: torch.nn.functional.ctc_loss
    """

    op = "_ctc_loss"
    no_jvp = "_ctc_loss"
    inputs = ("log_probs", "targets", "result1")
    saves = ("log_probs", "targets", "result1", "result0")
    operands = extras = 1
    results = {"result0": 0}
    keeps = ("input_lengths", "target_lengths", "blank", "zero_infinity")

    def forward(log_p, targets, input_lengths, target_lengths, blank, _zero_infinity):
        labels = _labels(targets, target_lengths, blank)
        alpha = _forward_paths(log_p, labels, target_lengths)
        y = np.empty(len(labels), log_p.dtype)
        for i, (steps, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
            if steps == 0:
                y[i] = -0.0 if length == 0 else np.inf
            else:  # a path ends in the last label or in the blank after it
                y[i] = -np.logaddexp.reduce(alpha[i, steps - 1, max(2 * length - 1, 0) : 2 * length + 1])
        return y, alpha

    def vjp(self, g, log_p, targets, alpha, y):
        return both.run(CtcLossGradient, (g, log_p, targets, alpha, y), "_ctc_loss_backward", *self.args)


class CtcLossGradient(NoDerivative, name="NotImplemented"):
    """The gradient of ctc_loss. PyTorch cannot differentiate it.

    Math: h[t, c] = g (p[t, c] - exp(y - log p[t, c]) sum over states s of label c of exp(alpha[t, s] + beta[t, s])).
    Shapes: g (n,), log p (t, n, classes) -> (t, n, classes).   Saves: nothing.
    """

    op = "_ctc_loss_backward"
    inputs = ("grad", "log_probs", "targets", "log_alpha", "neg_log_likelihood")

    def forward(g, log_p, targets, alpha, y, _what, input_lengths, target_lengths, blank, zero_infinity):
        labels = _labels(targets, target_lengths, blank)
        paths = alpha + _backward_paths(log_p, labels, input_lengths, target_lengths)
        by_class = np.full(log_p.shape, -np.inf, log_p.dtype)
        rows = np.arange(len(labels))
        for s in range(labels.shape[1]):
            at = by_class[:, rows, labels[:, s]]
            by_class[:, rows, labels[:, s]] = np.logaddexp(at, paths[:, :, s].T)
        # An impossible target gives inf - inf here: its gradient is nan, as in PyTorch.
        with np.errstate(invalid="ignore"):
            h = (np.exp(log_p) - np.exp(by_class + y[:, None] - log_p)) * g[:, None]
        h[np.arange(len(log_p))[:, None] >= np.array(input_lengths)] = 0
        if zero_infinity:
            h[:, np.isinf(y)] = 0
        return h


@function(method=False)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=NONE, zero_infinity=False):
    """The loss of unaligned sequences (torch.ctc_loss); `reduction` is a number: 0 none, 1 mean, 2 sum.

    By default nothing is reduced, as in PyTorch, whose documentation says otherwise.
    log_probs (t, n, classes) or (t, classes), targets (n, s) or concatenated, lengths as tuples or tensors.
    Raises RuntimeError for lengths and shapes that do not fit, IndexError for a label that is not a class.
    """
    batched = log_probs._data.ndim != 2
    kinds = {isinstance(lengths, Variable) for lengths in (input_lengths, target_lengths)}
    if len(kinds) > 1 or isinstance(input_lengths, int) or isinstance(target_lengths, int):
        raise TypeError(
            "ctc_loss() received an invalid combination of arguments: the lengths are two tensors or two tuples of ints"
        )
    reduction = operator.index(reduction)
    steps = _lengths(input_lengths, "input_lengths")
    lengths = _lengths(target_lengths, "target_lengths")
    targets = targets if targets._data.dtype.kind in "iu" else targets.long()
    _check_ctc(log_probs._data, targets._data, steps, lengths, blank, batched)
    inputs = (log_probs if batched else log_probs.unsqueeze(1), targets)
    out = call(CtcLossBackward0, inputs, steps, lengths, blank, bool(zero_infinity))
    follow(out, input_lengths, target_lengths)
    if zero_infinity:
        impossible = wrap(np.isposinf(out._data))
        out = FUNCTIONS["where"](impossible, wrap(out._data.dtype.type(0)), out)
    if reduction == MEAN:
        return (out / wrap(np.maximum(lengths, 1).astype(out._data.dtype))).mean()
    if reduction == SUM:
        return out.sum()
    return out if batched else out.squeeze(0)


def _lengths(value, name):
    """Lengths as a tuple of ints."""
    if isinstance(value, Variable):
        if value._data.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral")
        value = value._data.reshape(-1).tolist()
    return tuple([int(v) for v in value])


def _check_ctc(x, t, steps, lengths, blank, batched):

    at = "(while checking arguments for ctc_loss_allocate_outputs)"
    if not x.size:
        raise RuntimeError("log_probs tensor must not be empty")
    if x.dtype.name not in ("float32", "float64"):
        raise not_for(x.dtype, "ctc_loss_cpu")
    if batched and x.ndim != 3:
        raise RuntimeError(  # by then PyTorch has added a batch dim
            f"Expected 3-dimensional tensor, but got {x.ndim + 1}-dimensional tensor for argument #1 'log_probs' {at}"
        )
    longest, n, classes = x.shape if batched else (x.shape[0], 1, x.shape[1])
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, values in (("input_lengths", steps), ("target_lengths", lengths)):
        if len(values) != n:
            raise RuntimeError(f"{name} must be of size batch_size")
    for name, values in (("target_lengths", lengths), ("input_lengths", steps)):
        if min(values) < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(values)} {at}")
    if t.ndim == 1 and len(t) != sum(lengths):
        raise RuntimeError(
            f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size {len(t)} for argument #2 'targets' {at}"
        )
    if t.ndim not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {t.ndim}-dimensional tensor for argument #2 'targets' {at}"
        )
    if t.ndim == 2 and len(t) != n:
        raise RuntimeError(
            f"Expected tensor to have size {n} at dimension 0, but got size {len(t)} for argument #2 'targets' {at}"
        )
    if t.ndim == 2 and t.shape[1] < max(lengths):
        raise RuntimeError(
            f"Expected tensor to have size at least {max(lengths)} at dimension 1, but got size {t.shape[1]} for argument "
            f"#2 'targets' {at}"
        )
    if max(steps) > longest:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {longest}, but got value {max(steps)} {at}"
        )
    labels = _labels(t, lengths, blank)
    wrong = (labels < 0) | (labels >= classes)
    if wrong.any():  # PyTorch reads uninitialized memory
        raise IndexError(f"Target {labels[wrong][0]} is out of bounds.")


# -- distances ----------------------------------------------------------------------------------------


class _Pointwise(GeneralRule):
    """A loss that is a function of each pair of elements, reduced.

    gradient  the rule that computes its gradient: a function of g and of both operands, so that it has
    derivatives too
    """

    inputs = saves = ("self", "target")
    promotes = True
    gradient = None

    @classmethod
    def run(cls, input, target, *args):
        """Compute the loss. Raises NotImplementedError for integers."""
        if input._data.dtype.kind != "f" != target._data.dtype.kind:
            raise not_for(input._data.dtype, cls.op.removesuffix("_loss") + "_cpu")
        return call(cls, (input, target), *args)

    def vjp(self, g, x, t):
        return (
            both.run(self.gradient, (g, x, t), *self.args) if self.needs(0) else None,
            both.run(self.gradient, (g, t, x), *self.args) if self.needs(1) else None,
        )


class _Gradient(Rule):
    """The gradient h = g * slope(x - t) / n of such a loss, as an operation.

    VJP: to g: gg * slope, reduced as the loss was;  to x: gg * g * bend(x - t) / n;  to t: minus that.

    bend(k, d)  k times the slope of the slope at d
    """

    inputs = saves = ("grad_output", "self", "target")

    @classmethod
    def along(cls, g, x, t, *args):
        return spread(g, x, args[0]) * cls.slope(x - t, *args[1:])

    def vjp(self, h, g, x, t):
        reduction, *settings = self.args
        to_g = to_x = None
        if self.needs(0):
            to_g = spread(h * self.slope(x - t, *settings), x, reduction)
            to_g = to_g if reduction == NONE else to_g.sum()
        if self.needs(1) or self.needs(2):
            to_x = spread(self.bend(h * g, x - t, *settings), x, reduction)
        return to_g, to_x, None if to_x is None else -to_x


class MseLossBackwardBackward0(_Gradient):
    """The gradient of mse_loss.

    Math: y = a * 2 * (b - c) / n; n = numel(b) if reduction == 'mean' else 1.   VJP: to a: g * 2 * (b - c) / n; to b:
    g * 2 * a / n; to c: -g * 2 * a / n; n = numel(b) if reduction == 'mean' else 1.
    """

    inputs = saves = ("grad_output", "self", "target")
    keeps = ("reduction",)

    def forward(g, x, t, *args):
        return MseLossBackwardBackward0.along(g, x, t, *args)

    @staticmethod
    def slope(d):
        return d * 2

    @staticmethod
    def bend(k, d):
        return k * 2


class MseLossBackward0(_Pointwise):
    """Mean squared error.

    Math: y = mean(v) if reduction == 'mean' else sum(v) if reduction == 'sum' else v; v = (a - b) ** 2.   VJP: to a:
    g * 2 * (a - b) / n; to b: -g * 2 * (a - b) / n; n = numel(a) if reduction == 'mean' else 1.
    Shapes: a and b alike.   Saves: both.   PyTorch: torch.nn.functional.mse_loss
    """

    op = "mse_loss"
    inputs = saves = ("self", "target")
    keeps = ("reduction",)
    gradient = MseLossBackwardBackward0

    def forward(x, t, reduction):
        d = x - t
        return reduced(d * d, reduction)


def _far(d, limit):
    """Where an error is at least as large as `limit`; false for nan."""
    return np.abs(both.array_of(d)) >= limit


def _near(d, limit):
    """1 where an error is smaller than `limit`, 0 elsewhere."""
    return both.indicator(~_far(d, limit), d)


class SmoothL1LossBackwardBackward0(_Gradient):
    """The gradient of smooth_l1_loss.

    Math: y = a * where(abs(b - c) >= beta, sign(b - c), (b - c) / beta) / n; n = numel(b) if reduction == 'mean' else
    1.   VJP: to a: g * where(abs(b - c) >= beta, sign(b - c), (b - c) / beta) / n; to b: d; to c: -d; d = where(abs(b
    - c) < beta, g * a / beta, 0) / n; n = numel(b) if reduction == 'mean' else 1.
    """

    inputs = saves = ("grad_output", "self", "target")
    keeps = ("reduction", "beta")

    def forward(g, x, t, *args):
        return SmoothL1LossBackwardBackward0.along(g, x, t, *args)

    @staticmethod
    def slope(d, beta):
        return both.where(_far(d, beta), both.sign(d), d / beta)

    @staticmethod
    def bend(k, d, beta):
        return k * _near(d, beta) / beta


class SmoothL1LossBackward0(_Pointwise):
    """Absolute error, rounded off near zero.

    Math: y = mean(v) if reduction == 'mean' else sum(v) if reduction == 'sum' else v; v = where(abs(a - b) < beta, (a
    - b) ** 2 / (2 * beta), abs(a - b) - beta / 2).   VJP: to a: d; to b: -d; d = g * where(abs(a - b) >= beta, sign(a
    - b), (a - b) / beta) / n; n = numel(a) if reduction == 'mean' else 1.
    Shapes: a and b alike.   Saves: both.   PyTorch: torch.nn.functional.smooth_l1_loss
    """

    op = "smooth_l1_loss"
    inputs = saves = ("self", "target")
    keeps = ("reduction", "beta")
    gradient = SmoothL1LossBackwardBackward0

    def forward(x, t, reduction, beta):
        d = np.abs(x - t)
        return reduced(
            np.where(d < beta, d * d / (2 * beta), d - beta / 2).astype(d.dtype, copy=False), reduction
        )


class HuberLossBackwardBackward0(_Gradient):
    """The gradient of huber_loss.

    Math: y = a * where(abs(b - c) >= delta, delta * sign(b - c), b - c) / n; n = numel(b) if reduction == 'mean' else
    1.   VJP: to a: g * where(abs(b - c) >= delta, delta * sign(b - c), b - c) / n; to b: d; to c: -d; d = where(abs(b
    - c) < delta, g * a, 0) / n; n = numel(b) if reduction == 'mean' else 1.
    """

    inputs = saves = ("grad_output", "self", "target")
    keeps = ("reduction", "delta")

    def forward(g, x, t, *args):
        return HuberLossBackwardBackward0.along(g, x, t, *args)

    @staticmethod
    def slope(d, delta):
        return both.where(_far(d, delta), both.sign(d) * delta, d)

    @staticmethod
    def bend(k, d, delta):
        return k * _near(d, delta)


class HuberLossBackward0(_Pointwise):
    """Squared error near zero, absolute error further out.

    Math: y = mean(v) if reduction == 'mean' else sum(v) if reduction == 'sum' else v; v = where(abs(a - b) < delta,
    (a - b) ** 2 / 2, delta * (abs(a - b) - delta / 2)).   VJP: to a: d; to b: -d; d = g * where(abs(a - b) >= delta,
    delta * sign(a - b), a - b) / n; n = numel(a) if reduction == 'mean' else 1.
    Shapes: a and b alike.   Saves: both.   PyTorch: torch.nn.functional.huber_loss
    """

    op = "huber_loss"
    inputs = saves = ("self", "target")
    keeps = ("reduction", "delta")
    gradient = HuberLossBackwardBackward0

    def forward(x, t, reduction, delta):
        d = np.abs(x - t)
        return reduced(
            np.where(d < delta, d * d / 2, delta * (d - delta / 2)).astype(d.dtype, copy=False), reduction
        )


# -- binary cross entropy -----------------------------------------------------------------------------


class BinaryCrossEntropyBackwardBackward0(GeneralRule):
    """The gradient of binary_cross_entropy: h = g w (p - t) / (p (1 - p)).

    Math: y = a * w * (b - c) / maximum(b * (1 - b), 1e-12) / n; w = 1 if d is None else d; n = numel(b) if reduction
    == 'mean' else 1.   VJP: to a: g * w * (b - c) / maximum(b * (1 - b), 1e-12) / n; to b: g * a * w * (b ** 2 - 2 *
    b * c + c) / ((b + 1e-12) ** 2 * (1 - b + 1e-12) ** 2) / n; to c: -g * a * w / (b * (1 - b)) / n; w = 1 if d is
    None else d; n = numel(b) if reduction == 'mean' else 1.
    """

    inputs = saves = ("grad_output", "self", "target", "weight")
    operands = 3
    keeps = ("reduction",)

    def forward(g, p, t, weight, reduction):
        h = spread(g, p, reduction) * (p - t) / _room(p)
        return h if weight is None else h * weight

    def vjp(self, gg, g, p, t, weight):
        reduction = self.args[0]

        def weighed(h):
            return h if weight is None else h * weight

        poles = (p + 1e-12) ** 2 * (1 - p + 1e-12) ** 2
        to_p = spread(weighed((p * p - p * 2 * t + t) / poles * (gg * g)), p, reduction)
        to_t = spread(weighed(-gg * g) / ((1 - p) * p), p, reduction) if self.needs(2) else None
        to_g = spread(weighed(gg), p, reduction) * (p - t) / _room(p)
        return to_g if reduction == NONE else to_g.sum(), to_p, to_t


def _room(p):
    room = (1 - p) * p
    return room.clamp(min=1e-12) if isinstance(room, Variable) else np.maximum(room, room.dtype.type(1e-12))


class BinaryCrossEntropyBackward0(GeneralRule):
    """Cross entropy of a probability and a target between 0 and 1.

    Math: y = mean(v) if reduction == 'mean' else sum(v) if reduction == 'sum' else v; v = w * ((b - 1) *
    maximum(log(1 - a), -100) - b * maximum(log(a), -100)); w = 1 if weight is None else weight.   VJP: to a: g * w *
    (a - b) / maximum(a * (1 - a), 1e-12) / n; to b: -g * w * log(a / (1 - a)) / n; w = 1 if weight is None else
    weight; n = numel(a) if reduction == 'mean' else 1.
    Shapes: all alike.   Saves: p, t, w.   PyTorch: torch.nn.functional.binary_cross_entropy
    """

    op = "binary_cross_entropy"
    inputs = saves = ("self", "target", "weight")
    operands = 2
    keeps = ("reduction",)

    def forward(p, t, weight, reduction):
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError("all elements of input should be between 0 and 1")
        values = (t - 1) * np.maximum(np.log1p(-p), -100) - t * np.maximum(np.log(p), -100)
        return reduced(values if weight is None else values * weight, reduction)

    def vjp(self, g, p, t, weight):
        reduction = self.args[0]
        to_p = to_t = None
        if self.needs(0):
            if isinstance(p, Variable):
                to_p = call(BinaryCrossEntropyBackwardBackward0, (g, p, t, weight), reduction)
            else:
                to_p = BinaryCrossEntropyBackwardBackward0.forward(g, p, t, weight, reduction)
        if self.needs(1):
            to_t = -both.run(RULES["LogitBackward0"], (p,), None) * g
            to_t = spread(to_t if weight is None else to_t * weight, p, reduction)
        return to_p, to_t


class BinaryCrossEntropyWithLogitsBackward0(GeneralRule):
    """Binary cross entropy of a logit: sigmoid and loss in one, without overflow.

    Math: y = mean(v) if reduction == 'mean' else sum(v) if reduction == 'sum' else v; v = w * ((1 - b) * a - (1 + (q
    - 1) * b) * log(sigmoid(a))); w = 1 if weight is None else weight; q = 1 if pos_weight is None else pos_weight.
    VJP: to a: g * w * (sigmoid(a) - b if pos_weight is None else (q * b + 1 - b) * sigmoid(a) - q * b) / n; to b: -g
    * w * a / n if pos_weight is None else g * w * (log(sigmoid(-a)) - q * log(sigmoid(a))) / n; w = 1 if weight is
    None else weight; q = 1 if pos_weight is None else pos_weight; n = numel(a) if reduction == 'mean' else 1.
    Shapes: x and t alike, w and q broadcast.   Saves: x, t, w, q.   PyTorch: binary_cross_entropy_with_logits
    """

    op = "binary_cross_entropy_with_logits"
    inputs = saves = ("self", "target", "weight", "pos_weight")
    operands = 2
    keeps = ("reduction",)

    def forward(x, t, weight, pos_weight, reduction):
        log_p = logsigmoid(x)
        values = (1 - t) * x - (log_p if pos_weight is None else log_p * ((pos_weight - 1) * t + 1))
        return reduced(values if weight is None else values * weight, reduction)

    def vjp(self, g, x, t, weight, pos_weight):
        to_x = to_t = None
        if self.needs(0):
            if pos_weight is None:
                to_x = (both.sigmoid(x) - t) * g
            else:
                q = pos_weight * t
                to_x = ((q + 1 - t) * both.sigmoid(x) - q) * g
        if self.needs(1):
            to_t = -x * g if pos_weight is None else (logsigmoid(-x) - logsigmoid(x) * pos_weight) * g
        return self._finished(to_x, weight, x), self._finished(to_t, weight, x)

    def _finished(self, h, weight, x):
        if h is None:
            return None
        if weight is not None:
            h = h * weight
        if self.args[0] != MEAN:
            return h
        n = math.prod(x.shape)
        return over(h, n) if isinstance(h, Variable) else h / n


# -- margins ------------------------------------------------------------------------------------------


class SoftMarginLossBackward0(GeneralRule):
    """Logistic loss of a score and a target of -1 or 1.

    Math: y = mean(v) if reduction == 'mean' else sum(v) if reduction == 'sum' else v; v = log(1 + exp(-b * a)).
    VJP: -g * b * sigmoid(-b * a) / n; n = numel(a) if reduction == 'mean' else 1.
    Shapes: all alike.   Saves: x, t. PyTorch: torch.nn.functional.soft_margin_loss
    """

    op = "soft_margin_loss"
    inputs = ("self", "target")
    operands = 1
    saves = ("self", "target")
    keeps = ("reduction",)

    def forward(x, t, reduction):
        return reduced(-logsigmoid(t * x), reduction)

    def vjp(self, g, x, t):
        return both.run(SoftMarginLossBackwardBackward0, (g, x, t), *self.args)


class SoftMarginLossBackwardBackward0(Rule):
    """The gradient of soft_margin_loss as an operation: h = -g t s, s = sigmoid(-t x).

    Math: y = -a * c * sigmoid(-c * b) / n; n = numel(b) if reduction == 'mean' else 1.   VJP: to a: -g * c * s / n;
    to b: g * a * c ** 2 * s * (1 - s) / n; s = sigmoid(-c * b); n = numel(b) if reduction == 'mean' else 1.
    Shapes: as the loss.   Saves: g, x, t.
    """

    op = "soft_margin_loss_backward"
    inputs = saves = ("grad_output", "self", "target")
    operands = 2
    keeps = ("reduction",)

    def forward(g, x, t, reduction):
        return -(t * both.sigmoid(-(t * x))) * spread(g, x, reduction)

    def vjp(self, gg, g, x, t):
        (reduction,) = self.args
        s = both.sigmoid(-(t * x))
        to_g = spread(gg * -(t * s), x, reduction)
        to_x = gg * t * t * s * (1 - s) * spread(g, x, reduction)
        return to_g if reduction == NONE else to_g.sum(), to_x


class MultiMarginLossBackward0(GeneralRule):
    """Hinge loss over classes: every wrong score must stay `margin` below the right one.

    Math: y = mean(v) if reduction == 'mean' else sum(v) if reduction == 'sum' else v; v = reshape(sum(where(right, 0,
    maximum(m, 0)) ** p * w, dim=-1), shape(target)) / size(a, -1); m = margin + a - sum(where(right, a, 0), dim=-1,
    keepdim=True); right = is_class(a, target, -1); w = 1 if weight is None else sum(weight * right, dim=-1,
    keepdim=True).   VJP: h * slope - h * right * sum(slope, dim=-1, keepdim=True); slope = where((m > 0) and not
    right, w * (1 if p == 1 else 2 * m), 0) / size(a, -1); h = g / numel(target) if reduction == 'mean' else g if
    reduction == 'sum' else spread(g, a, -1); m = margin + a - sum(where(right, a, 0), dim=-1, keepdim=True); right =
    is_class(a, target, -1); w = 1 if weight is None else sum(weight * right, dim=-1, keepdim=True).
    Shapes: x (n, classes) or (classes,).   Saves: x, t, w.   PyTorch: torch.nn.functional.multi_margin_loss
    """

    op = "multi_margin_loss"
    no_jvp = "multi_margin_loss"
    inputs = saves = ("self", "target", "weight")
    operands = 1
    keeps = ("p", "margin", "reduction")

    def forward(x, target, weight, p, margin, reduction):
        margins, w = _margins(np.atleast_2d(x), target, weight, margin)
        values = (margins**p * w).sum(1) / margins.shape[1]
        return _reduced_rows(values if target.ndim else values[0], reduction)

    def vjp(self, g, x, target, weight):
        inputs = (g, x, target) if weight is None else (g, x, target, weight)
        return both.run(MultiMarginLossGradient, inputs, "multi_margin_loss_backward", self.args)


class MultiMarginLossGradient(NoDerivative, name="NotImplemented"):
    """The gradient of multi_margin_loss. PyTorch cannot differentiate it.

    Math: h[j] = g p w m^(p-1) / classes for each offending j, minus their sum for the right class.   Saves: nothing.
    """

    op = "multi_margin_loss_backward"
    inputs = ("grad_output", "self", "target", "weight")
    operands = 2

    def forward(g, x, target, *rest):
        *weight, _what, (p, margin, reduction) = rest
        n, n_classes = (1, 1, *x.shape)[-2:]
        rows = x.reshape((n, n_classes))
        at = np.eye(n_classes, dtype=x.dtype)[target.reshape(-1)]
        m = margin - (rows * at).sum(1).reshape((n, 1)) + rows
        w = weight[0][target.reshape(-1)].reshape(n, 1) if weight else 1
        factor = (((m > 0) & (at == 0)) * w / n_classes).astype(x.dtype)
        slope = factor if p == 1 else factor * (m * 2)
        g = g.reshape((n, 1)) if reduction == NONE else spread(g, target, reduction)
        return ((slope - at * slope.sum(1).reshape((n, 1))) * g).reshape(x.shape)


class MultilabelMarginLossBackward0(GeneralRule):
    """Hinge loss over sets of classes: every right score must stay 1 above every wrong one.

    Math: y = sum over right r and wrong j of max(0, 1 - x[r] + x[j]) / classes.   VJP: to a: g / classes to x[j] of
    each offending pair and minus that to x[r].
    Shapes: x and target (n, classes) or (classes,); a row of targets ends at its first -1. Saves: x, the target,
    which classes are right.   PyTorch: torch.nn.functional.multilabel_margin_loss
    """

    op = "multilabel_margin_loss"
    no_jvp = "multilabel_margin_loss_forward"
    inputs = saves = ("self", "target", "is_target")
    operands = extras = 1
    keeps = ("reduction",)

    def forward(x, target, reduction):
        rows, targets, listed, right = _label_sets(x, target)
        margins, valid = _label_margins(rows, targets, listed, right)
        values = (np.maximum(margins, 0) * valid).sum((1, 2)) / x.dtype.type(max(rows.shape[1], 1))
        return _reduced_rows(values if x.ndim == 2 else values[0], reduction), right.reshape(x.shape)

    def vjp(self, g, x, target, _right):
        return both.run(
            MultilabelMarginLossGradient, (g, x, target), "multilabel_margin_loss_backward", *self.args
        )


class MultilabelMarginLossGradient(NoDerivative, name="NotImplemented"):
    """The gradient of multilabel_margin_loss. PyTorch cannot differentiate it.

    Math: h[j] = g / classes for each pair in which the wrong j offends, minus that for each in which the right j does.
    Saves: nothing.
    """

    op = "multilabel_margin_loss_backward"
    inputs = ("grad_output", "self", "target")
    operands = 2

    def forward(g, x, target, _what, reduction):
        rows, targets, listed, right = _label_sets(x, target)
        margins, valid = _label_margins(rows, targets, listed, right)
        offending = ((margins > 0) & (valid > 0)).astype(rows.dtype)
        slope = offending.sum(1)
        np.subtract.at(slope, (np.arange(len(rows))[:, None], targets), offending.sum(2))
        slope = (slope / max(rows.shape[1], 1)).astype(rows.dtype)
        if reduction == NONE:
            g = g.reshape((len(rows), 1))
        elif reduction == MEAN:
            g = g / len(rows)
        return (slope * g).reshape(x.shape)


def _reduced_rows(values, reduction):
    """Like `reduced`, except that the mean of no rows is 0."""
    return reduced(values, SUM if reduction == MEAN and not values.size else reduction)


def _label_sets(x, target):
    """Scores and targets as rows; which entries of a row of targets are classes, and which classes are targets."""
    rows, targets = np.atleast_2d(x), np.atleast_2d(target)
    listed = np.logical_and.accumulate(targets >= 0, 1)
    targets = np.where(listed, targets, 0)
    right = np.zeros_like(rows)
    np.maximum.at(right, (np.arange(len(rows))[:, None], targets), listed.astype(rows.dtype))
    return rows, targets, listed, right


def _label_margins(rows, targets, listed, right):
    """1 - x[right] + x[j] for every pair (n, right, j), and whether it pairs a target with another class."""
    own = np.take_along_axis(rows, targets, 1)
    return 1 - own[:, :, None] + rows[:, None, :], listed[:, :, None] * (1 - right)[:, None, :]


def _margins(rows, target, weight, margin):
    target = target.reshape(-1)
    at = np.arange(len(rows))
    m = np.maximum(margin - rows[at, target][:, None] + rows, 0)
    m[at, target] = 0
    w = np.ones((len(rows), 1), rows.dtype) if weight is None else weight[target][:, None]
    return m, w


__all__ = ["call", "log_softmax", "nll_loss", "nll_loss_nd"]
