"""einsum: sums of products over named dims, reduced to permutations, sums and batches of matrix products."""

import math

import numpy as np

from ..autograd.errors import CPP_NAMES
from ..autograd.record import apply
from ..autograd.variable import Variable
from ..interface.forms import type_name
from ..layout import rows
from . import array_or_tensor as both
from .products import bmm
from .rule import Rule, function, no_bools

ELLIPSIS = "..."


@function(method=False)
def einsum(equation, *operands):
    """Products summed over named dims: 'ij,jk->ik' is a matrix product (torch.einsum).

    Every operand is permuted to the same order of dims (first those of the result, then those summed away);
    then pairs are contracted from the left, each by one bmm.
    """
    if isinstance(equation, str) and len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        equation, operands = _equation_of_lists((equation, *operands))
    if not operands:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    for i, operand in enumerate(operands):
        if not isinstance(operand, Variable):
            raise TypeError(f"expected Tensor as element {i} in argument 1, but got {type_name(operand)}")
    plan = _Plan(equation, operands)
    ready = [plan.aligned(i, t) for i, t in enumerate(operands)]
    out = ready[0]
    for other in ready[1:]:
        out = plan.contract(out, other)
    if plan.n_dims == plan.n_out:
        return out
    if len(operands) > 1:
        return out.view(out._data.shape[: plan.n_out])
    return out.sum(tuple(range(plan.n_out, plan.n_dims)))


def _equation_of_lists(args):
    """The form einsum(a, [0, 1], b, [1, 2], [0, 2]) as an equation."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    def text(subscripts):
        if any(s is not Ellipsis and not 0 <= s < len(letters) for s in subscripts):
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
        return "".join(ELLIPSIS if s is Ellipsis else letters[s] for s in subscripts)

    pairs = len(args) // 2
    equation = ",".join(text(args[2 * i + 1]) for i in range(pairs))
    if len(args) % 2:
        equation += "->" + text(args[-1])
    return equation, tuple(args[: 2 * pairs : 2])


class _Plan:
    """An equation, read: which dim of the common order each label has, and how many operands still carry it."""

    def __init__(self, equation, operands):
        lhs, arrow, rhs = equation.partition("->")
        self.labels = _read_operands(lhs, len(operands))
        counts, ellipsis_dims = {}, 0
        for i, (labels, t) in enumerate(zip(self.labels, operands, strict=True)):
            named = [s for s in labels if s is not ELLIPSIS]
            for s in named:
                counts[s] = counts.get(s, 0) + 1
            n, dims = len(named), t._data.ndim
            if len(named) != len(labels):
                ellipsis_dims = max(ellipsis_dims, dims - n)
                if n > dims:
                    raise RuntimeError(
                        f"einsum(): the number of subscripts in the equation ({n}) is more than the number "
                        "of dimensions "
                        f"({dims}) for operand {i}"
                    )
            elif n != dims:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({n}) does not match the number of "
                    "dimensions "
                    f"({dims}) for operand {i} and no ellipsis was given"
                )
        if arrow:
            order = _read_output(rhs, counts, len(lhs))
        else:
            order = [ELLIPSIS] + [s for s in sorted(counts) if counts[s] == 1]
        self.place, at = {}, 0
        for s in order:
            self.place[s] = at
            at += ellipsis_dims if s is ELLIPSIS else 1
        self.n_out = at
        for s in [ELLIPSIS, *sorted(counts)]:
            if s not in self.place:
                self.place[s] = at
                at += ellipsis_dims if s is ELLIPSIS else 1
        self.n_dims, self.ellipsis_dims = at, ellipsis_dims
        self.sizes = [1] * at
        self.carriers = [0] * at

    def aligned(self, i, t):
        """Operand `i` with its dims in the common order, and dims of size 1 where it has none."""
        order = [None] * self.n_dims
        dim, covered = 0, t._data.ndim - (len(self.labels[i]) - 1)
        for s in self.labels[i]:
            if s is ELLIPSIS:
                for j in range(self.ellipsis_dims - covered, self.ellipsis_dims):
                    self._note(self.place[s] + j, t._data.shape[dim], i, dim, s)
                    order[self.place[s] + j] = dim
                    dim += 1
            elif order[self.place[s]] is None:
                self._note(self.place[s], t._data.shape[dim], i, dim, s)
                order[self.place[s]] = dim
                dim += 1
            else:
                before, shape = order[self.place[s]], t._data.shape
                if shape[dim] != shape[before]:
                    raise RuntimeError(
                        f"einsum(): subscript {s} is repeated for operand {i} but the sizes don't match, "
                        f"{shape[dim]} != "
                        f"{shape[before]}"
                    )
                t = t.diagonal(0, before, dim).movedim(-1, before)
        for place, found in enumerate(order):
            if found is None:
                t = t.unsqueeze(dim)
                order[place] = dim
                dim += 1
        return t.permute(*order)

    def _note(self, place, size, i, dim, s):
        if size == 1:
            return
        seen = self.sizes[place]
        if seen not in (1, size):
            if s is ELLIPSIS:
                raise RuntimeError(
                    f"einsum(): dimension {dim} covered by ellipsis in operand {i}has size {size} which "
                    "does not broadcast "
                    f"with previously seen ellipsis with size {seen} for the respective dimension"
                )
            raise RuntimeError(
                f"einsum(): subscript {s} has size {size} for operand {i} which does not broadcast with "
                "previously seen "
                f"size {seen}"
            )
        self.sizes[place] = size
        self.carriers[place] += 1

    def contract(self, a, b):
        """Multiply two aligned operands, summing every dim that no other operand carries."""
        alone_a, alone_b, both_ = [], [], []
        carriers = self.carriers
        for dim in range(self.n_out, self.n_dims):
            in_a, in_b = a._data.shape[dim] != 1, b._data.shape[dim] != 1
            if in_a and in_b:
                carriers[dim] -= 1
                if carriers[dim] == 1:
                    both_.append(dim)
                    carriers[dim] = 0
            elif carriers[dim] == 1 and (in_a or in_b):
                (alone_a if in_a else alone_b).append(dim)
                carriers[dim] = 0
        if alone_a:
            a = a.sum(tuple(alone_a), True)
        if alone_b:
            b = b.sum(tuple(alone_b), True)
        return _sum_of_products(a, b, both_) if both_ else a * b


def _read_operands(lhs, n):
    labels, i = [[]], 0
    while i < len(lhs):
        s, at = lhs[i], i
        i += 1
        if s == " ":
            continue
        if s == ",":
            labels.append([])
            if len(labels) > n:
                raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        elif s == ".":
            if ELLIPSIS in labels[-1]:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(labels) - 1} for which an ellipsis was already found"
                )
            if lhs[at : at + 3] != ELLIPSIS:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(labels) - 1} that is not part of any ellipsis"
                )
            labels[-1].append(ELLIPSIS)
            i += 2
        else:
            labels[-1].append(_letter(s, at))
    if len(labels) < n:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return labels


def _read_output(rhs, counts, offset):
    order, i = [], 0
    while i < len(rhs):
        s, at = rhs[i], i
        i += 1
        if s == " ":
            continue
        if s == ".":
            if ELLIPSIS in order:
                raise RuntimeError("einsum(): found '.' for output but an ellipsis (...) was already found")
            if rhs[at : at + 3] != ELLIPSIS:
                raise RuntimeError("einsum(): found '.' for output that is not part of any ellipsis (...)")
            order.append(ELLIPSIS)
            i += 2
            continue
        _letter(s, offset + 2 + at)
        if s in order:
            raise RuntimeError(f"einsum(): output subscript {s} appears more than once in the output")
        if s not in counts:
            raise RuntimeError(
                f"einsum(): output subscript {s} does not appear in the equation for any input operand"
            )
        order.append(s)
    return order


def _letter(s, at):
    if not (s.isascii() and s.isalpha()):
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {at} in the equation string, subscripts must be in [a-zA-Z]"
        )
    return s


def _sum_of_products(a, b, over):
    """A * b summed over the dims `over` (kept with size 1), as one bmm: batch dims, rows of a, columns of b."""
    x, y = a._data.shape, b._data.shape
    batch, rows, columns = [], [], []
    for i in range(len(x)):
        if i not in over:
            (batch if x[i] != 1 and y[i] != 1 else rows if x[i] != 1 else columns).append(i)
    k, n, m, p = (
        math.prod(s)
        for s in ([x[i] for i in batch], [x[i] for i in rows], [x[i] for i in over], [y[i] for i in columns])
    )
    left = a.permute(*batch, *rows, *over, *columns).reshape(k, n, m)
    right = b.permute(*batch, *over, *columns, *rows).reshape(k, m, p)
    shape = [x[i] for i in batch] + [x[i] for i in rows] + [1] * len(over) + [y[i] for i in columns]
    order = batch + rows + over + columns
    back = [order.index(i) for i in range(len(order))]
    return bmm(left, right).view(shape).permute(*back)


class TrilinearBackward0(Rule):
    """Sums of products of three tensors over common dims.

    Math: y = sum(u * v * w, sumdim); u = unsqueeze(i1, expand1); v = unsqueeze(i2, expand2); w = unsqueeze(i3, expand3).
    VJP: to i1: sum(G * v * w, expand1) if expand1 else G * v * w; to i2: sum(G * u * w, expand2) if expand2 else G * u * w; to
    i3: sum(G * u * v, expand3) if expand3 else G * u * v; G = unsqueeze(g, sumdim).
    Shapes: each has the common dims that it does not lack, the result those not summed.   Saves: each factor that another's
    gradient needs.   PyTorch: torch.nn.functional.bilinear
    """

    op = "_trilinear"
    inputs = saves = ("i1", "i2", "i3")
    saves_if = {"i1": (1, 2), "i2": (0, 2), "i3": (0, 1)}
    keeps = ("expand1", "expand2", "expand3", "sumdim")
    layout = rows

    def forward(a, b, c, *lacks):
        common = range(a.ndim + len(lacks[0]))
        of_a, of_b, of_c, of_y = ([d for d in common if d not in absent] for absent in lacks)
        return np.einsum(a, of_a, b, of_b, c, of_c, of_y, optimize=_FROM_THE_LEFT)

    def vjp(self, g, a, b, c):
        d1, d2, d3, summed = self.args
        return (
            both.run(TrilinearBackward0, (g, b, c), summed, d2, d3, d1) if self.needs(0) else None,
            both.run(TrilinearBackward0, (a, g, c), d1, summed, d3, d2) if self.needs(1) else None,
            both.run(TrilinearBackward0, (a, b, g), d1, d2, summed, d3) if self.needs(2) else None,
        )


_FROM_THE_LEFT = ["einsum_path", (0, 1), (0, 1)]


@function(method=False)
def bilinear(input1, input2, weight, bias=None):
    """x1^T W_k x2 (+ bias) for every output k (torch.nn.functional.bilinear)."""
    x, y, w = input1._data, input2._data, weight._data
    if x.ndim != y.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {x.ndim} and {y.ndim}")
    for i, (n, m) in enumerate(zip(x.shape[:-1], y.shape[:-1], strict=True)):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {n} and {m}")
    for i, n in enumerate((x.shape[-1], y.shape[-1]), 1):
        if i >= w.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-w.ndim}, {w.ndim - 1}], but got {i})"
            )
        m = w.shape[i]
        if n != m:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {n} but expected {m}"
            )
    if bias is not None and bias._data.shape[0] != w.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._data.shape[0]} but expected {w.shape[0]}"
        )
    named = {"input1": x, "input2": y, "weight": w} | ({} if bias is None else {"bias": bias._data})
    if any(a.dtype is not x.dtype for a in named.values()):
        kinds = ", ".join(f"{name}: {CPP_NAMES[a.dtype.name]}" for name, a in named.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {kinds}")
    no_bools(x, "bmm")
    rows = math.prod(x.shape[:-1])
    flat = input1.reshape(rows, x.shape[-1]), weight, input2.reshape(rows, y.shape[-1])
    out = apply(TrilinearBackward0, flat, (1, 3), (0,), (1, 2), (2, 3)).reshape(*x.shape[:-1], w.shape[0])
    return out if bias is None else out + bias


__all__ = ["einsum"]
