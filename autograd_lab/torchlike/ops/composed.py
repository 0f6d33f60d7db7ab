"""Losses and distances made of other operations: their graphs are those of the operations.

`reduction` is a number: 0 none, 1 mean, 2 sum (any other: none). Without one torch's functions do not reduce, though their
signatures in PyTorch's documentation say they take the mean. Of a sum's operands PyTorch computes the right one first, which is
seen in the order in which gradients are added up: hence a name for some of them.
"""

import math
import operator

import numpy as np

from ..autograd.formulas import as_formula
from ..autograd.record import apply
from ..autograd.variable import wrap
from . import losses
from .losses import MEAN, NONE, SUM
from .reductions import NormBackward1
from .rule import FUNCTIONS, broadcast_shape, floats_only, function
from .scalars import minus, plus


def reduced(loss, reduction):
    """The elementwise losses, reduced."""
    reduction = operator.index(reduction)
    return loss.mean() if reduction == MEAN else loss.sum() if reduction == SUM else loss


def _zeros(like):
    return wrap(np.zeros(like._data.shape, like._data.dtype))


@function(method=False)
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 along the last dim, eps being added to every difference (torch.pairwise_distance)."""
    last = max(x1._data.ndim, x2._data.ndim) - 1
    return apply(NormBackward1, (plus(x1 - x2, eps),), float(p), (last,), keepdim)


@function(method=False)
def kl_div(input, target, reduction=NONE, *, log_target=False):
    """Kullback-Leibler divergence: sum of t (log t - x), x being log probabilities (torch.kl_div)."""
    if input._data.dtype.kind != "f" or target._data.dtype.kind != "f":
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        apart = target - input
        return reduced(target.exp() * apart, reduction)
    crossed = target * input
    return reduced(FUNCTIONS["xlogy"](target, target) - crossed, reduction)


@function(method=False)
@as_formula
def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """Negative log likelihood of a count under a Poisson distribution (torch.poisson_nll_loss)."""
    if log_input:
        crossed = target * input
        loss = input.exp() - crossed
    else:
        loss = input - target * (input + eps).log()
    if full:
        root = 0.5 * (2 * math.pi * target).log()
        stirling = target * target.log() - target + root
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@function(method=False)
def hinge_embedding_loss(input, target, margin=1.0, reduction=NONE):
    """X where the target is 1, max(0, margin - x) where it is -1 (torch.hinge_embedding_loss)."""
    where, zero = FUNCTIONS["where"], _zeros(input)
    apart = where(target != 1, (wrap(input._data.dtype.type(margin)) - input).clamp_min_(0), zero)
    return reduced(apart + where(target != -1, input, zero), reduction)


@function(method=False)
def margin_ranking_loss(input1, input2, target, margin=0, reduction=NONE):
    """max(0, -target (x1 - x2) + margin) (torch.margin_ranking_loss)."""
    apart = input1 - input2  # first, as in PyTorch
    return reduced(plus(-target * apart, float(margin)).clamp_min_(0), reduction)


@function(method=False)
def cosine_embedding_loss(input1, input2, target, margin=0, reduction=NONE):
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1 (torch.cosine_embedding_loss)."""
    dim = target._data.ndim
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1._data.ndim != dim + 1 or input2._data.ndim != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    eps = 1e-12
    product = (input1 * input2).sum(dim)
    norm = (plus((input1 * input1).sum(dim), eps) * plus((input2 * input2).sum(dim), eps)).sqrt()
    cos = product / norm
    one, zero, where = wrap(np.ones(cos._data.shape, cos._data.dtype)), _zeros(cos), FUNCTIONS["where"]
    return reduced(
        where(target == 1, one - cos, zero) + where(target == -1, minus(cos, margin).clamp_min_(0), zero),
        reduction,
    )


def same_dims(anchor, positive, negative):
    """Raise RuntimeError if the three tensors differ in their number of dims."""
    a, p, n = (t._data.ndim for t in (anchor, positive, negative))
    if not a == p == n:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {a}D, positive {p}D, and negative {n}D inputs"
        )


@function(method=False)
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=NONE):
    """max(0, |a - p| - |a - n| + margin) (torch.triplet_margin_loss)."""
    same_dims(anchor, positive, negative)
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = FUNCTIONS["minimum"](far, pairwise_distance(positive, negative, p, eps))
    return reduced((plus(near, margin) - far).clamp_min(0), reduction)


@function(method=False)
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=NONE):
    """Cross entropy of sigmoid(input) and targets between 0 and 1 (torch.binary_cross_entropy_with_logits)."""
    floats_only(input._data, "log_sigmoid_cpu")
    if target._data.dtype.kind != "f":
        raise RuntimeError(
            f"result type {input.dtype.type_name} can't be cast to the desired output type {target.dtype.type_name}"
        )
    if np.broadcast_shapes(target._data.shape, input._data.shape) != target._data.shape:
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(input.shape)}"
        )
    input = input.to(target.dtype)  # the result is of the type of `target`
    weight, pos_weight = (None if t is None else t.to(input.dtype) for t in (weight, pos_weight))
    for t in (pos_weight, weight):
        if t is not None:
            pair = (t, target) if t is pos_weight else (target, t)
            whole = broadcast_shape([each._data for each in pair])
            if whole != target._data.shape and t is weight:
                raise RuntimeError(
                    f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(whole)}"
                )
    return losses.call(
        losses.BinaryCrossEntropyWithLogitsBackward0, (input, target, weight, pos_weight), reduction
    )


__all__ = ["pairwise_distance", "reduced", "same_dims"]
