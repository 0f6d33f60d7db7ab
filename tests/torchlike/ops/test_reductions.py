"""Reductions, running reductions, softmax, and what puts numbers in order."""

import math

import pytest
from helpers import Op, check_differences, check_like_pytorch, compare

from tests.each import each

NAN, INF = math.nan, math.inf


def along(name, fn, low=-1.0, high=1.0, shapes=((2, 3), (3,), (2, 1, 3), ()), **more):
    """A reduction called with several dims."""
    ops = []
    for shape in shapes:
        for dim in range(-len(shape), len(shape)) if shape else (0, -1):
            ops.append(
                Op(
                    f"{name} {list(shape)} dim={dim}",
                    lambda torch, x, d=dim: fn(torch, x, d),
                    [shape],
                    low,
                    high,
                    **more,
                )
            )
    return ops


def whole(name, fn, low=-1.0, high=1.0, shapes=((2, 3), (), (2, 1, 3)), **more):
    """A reduction of everything."""
    return [Op(f"{name} {list(s)}", fn, [s], low, high, **more) for s in shapes]


EMPTY = ((0,), (0, 3))
NORMS = [0, 0.5, 1, 1.5, 2, 3, -1, INF, -INF]

SMOOTH = [
    *whole("sum", lambda torch, x: x.sum()), *along("sum", lambda torch, x, d: x.sum(d)),
    *along("sum keep", lambda torch, x, d: torch.sum(x, d, keepdim=True)), *whole("sum empty", lambda torch, x: x.sum(), shapes=EMPTY),
    *whole("mean", lambda torch, x: x.mean()), *along("mean", lambda torch, x, d: x.mean(d)), *along("mean keep", lambda torch, x, d: x.mean(d, True)),
    *along("nansum", lambda torch, x, d: x.nansum(d)), *whole("nansum", lambda torch, x: torch.nansum(x)),
    *along("nanmean", lambda torch, x, d: x.nanmean(d)), *whole("nanmean", lambda torch, x: torch.nanmean(x)),
    *whole("prod", lambda torch, x: x.prod()), *along("prod", lambda torch, x, d: x.prod(d)), *along("prod keep", lambda torch, x, d: x.prod(d, keepdim=True)),
    *whole("prod empty", lambda torch, x: x.prod(), shapes=EMPTY),
    *whole("var", lambda torch, x: x.var(), shapes=((2, 3), (2, 1, 3))), *along("var", lambda torch, x, d: x.var(d), shapes=((2, 3), (3,))),
    *along("var 0", lambda torch, x, d: x.var(d, correction=0, keepdim=True)), *along("var biased", lambda torch, x, d: torch.var(x, d, unbiased=False)),
    *whole("std", lambda torch, x: x.std(), shapes=((2, 3), (2, 1, 3))), *along("std", lambda torch, x, d: x.std(d), shapes=((2, 3), (3,))),
    *whole("std biased", lambda torch, x: torch.std(x, False), shapes=((2, 3),)),
    *along("std 2", lambda torch, x, d: x.std(d, correction=2, keepdim=True), shapes=((4, 3),)),
    *whole("var_mean", lambda torch, x: torch.var_mean(x), shapes=((2, 3),)), *along("var_mean", lambda torch, x, d: torch.var_mean(x, d), shapes=((2, 3),)),
    *whole("std_mean", lambda torch, x: torch.std_mean(x), shapes=((2, 3),)), *along("std_mean", lambda torch, x, d: torch.std_mean(x, d, keepdim=True), shapes=((2, 3),)),
    *whole("var_mean one", lambda torch, x: torch.var_mean(x)[0], shapes=((2, 3),)), *whole("var_mean other", lambda torch, x: torch.var_mean(x)[1], shapes=((2, 3),)),
    *whole("max", lambda torch, x: x.max()), *whole("min", lambda torch, x: x.min()), *along("max", lambda torch, x, d: x.max(d)),
    *along("min", lambda torch, x, d: torch.min(x, d)), *along("max keep", lambda torch, x, d: x.max(d, keepdim=True)),
    *along("amax", lambda torch, x, d: x.amax(d)), *along("amin", lambda torch, x, d: x.amin(d, keepdim=True)),
    *whole("amax", lambda torch, x: x.amax()), *whole("amin", lambda torch, x: torch.amin(x, ())), *whole("aminmax", lambda torch, x: torch.aminmax(x)),
    *along("aminmax", lambda torch, x, d: torch.aminmax(x, dim=d, keepdim=True)),
    *along("argmax", lambda torch, x, d: x.argmax(d)), *along("argmin", lambda torch, x, d: x.argmin(d, keepdim=True)),
    *whole("median", lambda torch, x: x.median()), *along("median", lambda torch, x, d: x.median(d)), *along("nanmedian", lambda torch, x, d: x.nanmedian(d, keepdim=True)),
    *whole("nanmedian", lambda torch, x: torch.nanmedian(x)), *along("mode", lambda torch, x, d: x.mode(d)),
    *along("kthvalue", lambda torch, x, d: x.kthvalue(2, d), shapes=((2, 3), (3,))), *along("logsumexp", lambda torch, x, d: x.logsumexp(d)),
    *along("logsumexp keep", lambda torch, x, d: torch.logsumexp(x, d, keepdim=True)),
    *along("cumsum", lambda torch, x, d: x.cumsum(d)), *along("cumprod", lambda torch, x, d: x.cumprod(d)),
    *along("logcumsumexp", lambda torch, x, d: x.logcumsumexp(d)), *along("cummax", lambda torch, x, d: x.cummax(d)),
    *along("cummin", lambda torch, x, d: torch.cummin(x, d)), *along("softmax", lambda torch, x, d: x.softmax(d)),
    *along("log_softmax", lambda torch, x, d: torch.log_softmax(x, d)), *along("sort", lambda torch, x, d: x.sort(d)),
    *along("sort down", lambda torch, x, d: torch.sort(x, d, True)), *along("sort stable", lambda torch, x, d: torch.sort(x, dim=d, stable=True)),
    *along("topk", lambda torch, x, d: x.topk(1, d)), *along("topk 2", lambda torch, x, d: torch.topk(x, 2, d, largest=False), shapes=((2, 3), (3,))),
    *along("argsort", lambda torch, x, d: x.argsort(d, descending=True)), *whole("msort", lambda torch, x: x.msort(), shapes=((2, 3), (3,))),
    *whole("quantile", lambda torch, x: x.quantile(0.3)), *along("quantile", lambda torch, x, d: x.quantile(0.3, d)),
    *along("quantile keep", lambda torch, x, d: x.quantile(0.3, d, keepdim=True, interpolation="midpoint")),
    *along("quantile lower", lambda torch, x, d: torch.quantile(x, 0.3, d, interpolation="lower")),
    *along("quantile several", lambda torch, x, d: x.quantile(torch.tensor([0.2, 0.5, 1.0], dtype=torch.float64), d)),
    *whole("quantile keep", lambda torch, x: x.nanquantile(0.6, keepdim=True)),
    *along("diff", lambda torch, x, d: x.diff(dim=d), shapes=((2, 3), (3,))), *whole("diff 2", lambda torch, x: x.diff(n=2), shapes=((2, 3), (4,))),
    *[op for p in NORMS for op in along(f"norm {p}", lambda torch, x, d, p=p: x.norm(p, d), low=0.2)],
    *[op for p in NORMS for op in whole(f"norm {p}", lambda torch, x, p=p: torch.norm(x, p), low=0.2)],
    *whole("norm fro", lambda torch, x: x.norm()), *along("norm keep", lambda torch, x, d: torch.norm(x, dim=d, keepdim=True)),
    *[Op(f"{name} two dims", fn, [(2, 3, 2)]) for name, fn in {
        "sum": lambda torch, x: x.sum((0, -1)), "mean": lambda torch, x: x.mean((-1, 1), True), "var": lambda torch, x: x.var((0, 2)),
        "std": lambda torch, x: x.std([0, 1]), "amax": lambda torch, x: x.amax((0, 2)), "norm": lambda torch, x: x.norm(2, (0, 1)),
        "logsumexp": lambda torch, x: x.logsumexp((0, 2)), "nansum": lambda torch, x: x.nansum((0, 2)), "norm inf": lambda torch, x: x.norm(INF, (0, 2), True),
        "sum of none": lambda torch, x: x.sum(()), "mean of none": lambda torch, x: x.mean([]),
    }.items()],
    *[Op(f"dist {p}", lambda torch, a, b, p=p: torch.dist(a, b, p), [(2, 3), (3,)]) for p in (0.5, 1, 1.5, 2, 3, INF)],
    Op("sum_to_size", lambda torch, x: x.sum_to_size(1, 3), [(2, 3)]), Op("sum_to_size view", lambda torch, x: x.sum_to_size(3), [(2, 3)]),
    Op("sum_to_size same", lambda torch, x: x.sum_to_size(2, 3) * 1, [(2, 3)]), Op("sum_to_size all", lambda torch, x: x.sum_to_size(()), [(2, 3)]),
    Op("cov", lambda torch, x: x.cov(), [(2, 4)]), Op("cov of one", lambda torch, x: x.cov(correction=0), [(4,)]),
    Op("cov weights", lambda torch, x: x.cov(aweights=torch.tensor([1.0, 2.0, 0.5, 1.0], dtype=torch.float64)), [(2, 4)]), Op("corrcoef", lambda torch, x: x.corrcoef(), [(3, 4)]),
    *along("trapezoid", lambda torch, x, d: torch.trapezoid(x, dx=0.5, dim=d), shapes=((2, 3),)),
    Op("trapezoid x", lambda torch, y, x: torch.trapezoid(y, x.cumsum(0)), [(2, 3), (3,)]),
    *along("cumulative_trapezoid", lambda torch, x, d: torch.cumulative_trapezoid(x, dx=0.5, dim=d), shapes=((2, 3),)),
    Op("cumulative_trapezoid x", lambda torch, y, x: torch.cumulative_trapezoid(y, x.cumsum(0)), [(2, 3), (3,)]),
    *[Op(f"renorm {p}", lambda torch, x, p=p: torch.renorm(x * 2, p, 0, 1.0), [(3, 4, 2)]) for p in (1, 2, 3)],
    *along("cumsum_", lambda torch, x, d: (x * 1).cumsum_(d)), *along("cumprod_", lambda torch, x, d: (x * 1).cumprod_(d)),
    *along("numpy words", lambda torch, x, d: torch.sum(x, axis=d, keepdims=True) + x.amax(axis=d, keepdims=True)),
    Op("diff prepend", lambda torch, x, y: torch.diff(x, prepend=y, append=y), [(2, 3), (2, 1)]),
    Op("any", lambda torch, x: x.any(0), [(2, 3)]), Op("all", lambda torch, x: (x > 0).all(-1, keepdim=True), [(2, 3)]),
    Op("count_nonzero", lambda torch, x: x.count_nonzero(0), [(2, 3)]), Op("searchsorted", lambda torch, x, v: torch.searchsorted(x.sort()[0].detach(), v), [(4,), (2, 3)]),
    Op("bucketize", lambda torch, x, v: torch.bucketize(v, x.sort()[0].detach(), right=True), [(4,), (2, 3)]),
    Op("searchsorted rows", lambda torch, x, v: torch.searchsorted(x.sort()[0].detach(), v), [(2, 4), (2, 3)]),
    Op("histc", lambda torch, x: torch.histc(x.detach(), 4, -1, 1), [(10,)]),
]  # fmt: skip

# Computed in float32, where a difference quotient tells nothing.
COARSE = [
    Op("sum float", lambda torch, x: x.sum(0, dtype=torch.float32).double(), [(2, 3)], tolerance=1e-6),
    Op("softmax float", lambda torch, x: x.softmax(0, dtype=torch.float32).double(), [(2, 3)], tolerance=1e-5, second=False),
    Op("mean float", lambda torch, x: x.mean(0, dtype=torch.float32).double(), [(2, 3)], tolerance=1e-6),
    Op("prod float", lambda torch, x: x.prod(0, dtype=torch.float32).double(), [(2, 3)], tolerance=1e-5, second=False),
    Op("cumsum float", lambda torch, x: x.cumsum(0, dtype=torch.float32).double(), [(2, 3)], tolerance=1e-6),
]  # fmt: skip

TIES = [[[3.0, 1.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0], [0.0, 0.0, -1.0, 5.0]]]
ODD = [
    [
        [NAN, 1.0, INF, -INF],
        [0.0, 0.0, 0.0, 0.0],
        [-INF, -INF, -INF, -INF],
        [NAN, NAN, NAN, NAN],
        [1.0, NAN, 1.0, 2.0],
    ]
]
BY_TABLE = {
    op.name.rsplit(" [", 1)[0] + op.name.rsplit("]", 1)[-1]: op
    for op in reversed(SMOOTH)
    if op.shapes and len(op.shapes[0]) == 2
}
UNORDERED = ("topk", "kthvalue")  # which of equal elements they pick is not said
# With nan or inf among the numbers the result hangs on the order in which PyTorch's kernels visit them.
UNTOLD = ("cumprod", "mode", "nanmedian", "std_mean", "var_mean", "quantile", "histc")
EDGES = [
    *[Op(f"{name} ties", op.fn, values=TIES, second=op.second, tolerance=op.tolerance) for name, op in BY_TABLE.items()
      if len(op.shapes) == 1 and not name.startswith((*UNORDERED, "sum_to_size", "diff 2"))],
    *[Op(f"{name} odd", op.fn, values=ODD, second=False, tolerance=op.tolerance) for name, op in BY_TABLE.items()
      if len(op.shapes) == 1 and not name.startswith((*UNORDERED, *UNTOLD, "sum_to_size", "diff 2"))],
]  # fmt: skip


def test_derivatives_agree_with_central_differences():
    each(SMOOTH, check_differences)


def test_live_pytorch_does_the_same():
    each(SMOOTH + COARSE, check_like_pytorch, pytest.importorskip("torch"))


def test_live_pytorch_does_the_same_at_ties_and_infinities():
    each(EDGES, check_like_pytorch, pytest.importorskip("torch"))


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dim", [None, 0, (0, 1)])
def test_the_variance_of_too_few_has_pytorchs_gradient(dim):
    torch = pytest.importorskip("torch")
    few = [[[1.0, 2.0, 4.0], [3.0, 1.0, 2.0]]]
    for correction in range(8):
        op = Op("var", lambda torch, x, c=correction: x.var(dim, correction=c), values=few, second=False)
        assert not compare(op, torch)
