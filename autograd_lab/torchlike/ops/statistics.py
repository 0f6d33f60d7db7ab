"""Functions made of others (covariance, areas under curves), and renorm."""

import numpy as np

from ..autograd.errors import TYPE_NAMES
from ..autograd.formulas import as_formula
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import Variable, wrap
from ..layout import rows
from ..world.warning import warn
from . import array_or_tensor as both
from . import reductions
from .reductions import wrap_dim
from .rule import FUNCTIONS, METHODS, Rule, function, method
from .scalars import over, times


@function
@as_formula
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of the rows of `input`, whose columns are observations (torch.cov)."""
    if input._data.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input._data.ndim} dimensions"
        )
    if input._data.dtype.kind == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input._data.ndim < 2 else input
    _check_weights("fweights", fweights, x._data.shape[1], "integral", "iu")
    _check_weights("aweights", aweights, x._data.shape[1], "floating point", "f")
    weights = None
    for w in (fweights, aweights):
        weights = w if weights is None else weights if w is None else weights * w
    total = wrap(np.int64(x._data.shape[1])) if weights is None else weights.sum()
    if weights is not None and total.item() == 0:
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = (x if weights is None else x * weights).sum(1) / total
    free = total
    if correction != 0:
        lost = correction if aweights is None else correction * (weights * aweights).sum() / total
        free = total - lost
    if free.item() <= 0:
        warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
        )
        free = free.zero_()
    x = x - mean.unsqueeze(1)
    return (x @ (x if weights is None else x * weights).t() / free).squeeze()


def _check_weights(name, weights, observations, kind, kinds):
    if weights is None:
        return
    w = weights._data
    if w.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.ndim} dimensions"
        )
    if w.dtype.kind not in kinds:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {TYPE_NAMES[w.dtype.name]} dtype"
        )
    if w.size != observations:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{w.size} != {observations}"
        )
    if w.size and w.min() < 0:
        raise RuntimeError(f"cov(): {name} cannot be negative")


@function
def corrcoef(input):
    """The correlations of the rows of `input` (torch.corrcoef)."""
    if input._data.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input._data.ndim} dimensions"
        )
    c = cov(input)
    if not c._data.ndim:
        return c / c
    deviation = c.diagonal().sqrt()
    return (c / deviation.view(-1, 1) / deviation.view(1, -1)).clamp(-1, 1)


def _panels(op, y, x, dx, dim):
    """The sums of neighbors along `dim` and the widths between them (a number, or a tensor that broadcasts)."""
    ndim = y._data.ndim
    dim = wrap_dim(dim, ndim)
    if x is not None:
        if x._data.ndim == 1:
            if len(x._data) != y._data.shape[dim]:
                raise RuntimeError(f"{op}: There must be one `x` value for each sample point")
            x = x.view([-1 if i == dim else 1 for i in range(ndim)])
        elif x._data.ndim < ndim:
            x = x.view((1,) * (ndim - x._data.ndim) + x._data.shape)
        left, right = _neighbors(x, dim)
        dx = right - left
    left, right = _neighbors(y, dim)
    return left + right, dx, dim


def _neighbors(x, dim):
    """All entries along `dim` but the last, and all but the first."""
    return both.slice_of(x, dim, 0, -1), both.slice_of(x, dim, 1, None)


@function(method=False)
def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The area under the points `y` along `dim`, `dx` or the differences of `x` apart (torch.trapezoid)."""
    if not y._data.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not y._data.shape[wrap_dim(dim, y._data.ndim)]:
        return wrap(np.zeros_like(y._data.sum(dim)))
    if "b" in (y._data.dtype.kind, None if x is None else x._data.dtype.kind):
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"trapezoid: received a bool input for {which}, but bool is not supported")
    if x is not None:
        pairs, width, dim = _panels("trapezoid", y, x, dx, dim)
        return over((pairs * width).sum(dim), 2.0)
    ends = times(y.select(dim, 0) + y.select(dim, -1), 0.5)
    return times(y.sum(dim) - ends, dx)


@function(method=False)
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The running area under the points `y` along `dim` (torch.cumulative_trapezoid)."""
    pairs, width, _ = _panels("cumulative_trapezoid", y, x, dx, dim)
    if x is not None:
        return over((pairs * width).cumsum(dim), 2.0)
    return times(pairs, dx / 2).cumsum(dim)


class RenormBackward0(Rule):
    """Slices along a dim whose norm is above a limit, scaled down to it.

    Math: y = where(n > maxnorm, a * maxnorm / (n + 1e-7), a); n = norm(a, p=p, dim=all_but(dim, ndim(a)), keepdim=True).
    VJP: where(n > maxnorm, maxnorm / (n + 1e-7) * (g - t * s / (n + 1e-7)), g); t = sum(a * g, dim=all_but(dim, ndim(a)),
    keepdim=True); s = where(a == 0, 0, sign(a) * (abs(a) / n) ** (p - 1)).
    Shapes: unchanged.   Saves: a.   PyTorch: torch.renorm
    """

    layout = rows
    op = "renorm"
    saves = ("self",)
    keeps = ("p", "dim", "maxnorm")

    def forward(x, p, dim, maxnorm):
        norm = reductions._norm(x, p, _others(x, dim), True)
        return np.where(norm > maxnorm, x * (maxnorm / (norm + 1e-7)), x).astype(x.dtype, copy=False)

    def vjp(self, g, x):
        p, dim, maxnorm = self.args
        dims = _others(x, dim)
        norm = both.run(reductions.LinalgVectorNormBackward0, (x,), p, dims, True)
        along = reductions._norm_vjp(both.sum_over(x * g, dims, True), x, norm, p, dims, True)
        inverse = both.reciprocal(norm + 1e-7)
        above = np.broadcast_to(both.array_of(norm) > maxnorm, x.shape)
        across = g - inverse * along
        return both.where(above, maxnorm * inverse * across, g)


def _others(x, dim):
    return tuple([i for i in range(len(x.shape)) if i != wrap_dim(dim, len(x.shape))])


@function
def renorm(input, p, dim, maxnorm):
    """`input` with each slice along `dim` scaled down to a p-norm of at most `maxnorm` (torch.renorm)."""
    _check_renorm(input, p, maxnorm)
    return apply(RenormBackward0, (input,), p, dim, maxnorm)


def _check_renorm(input, p, maxnorm):
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input._data.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input._data.ndim} dimensions")
    if input._data.dtype.kind != "f":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            + TYPE_NAMES[input._data.dtype.name]
        )


@method
def renorm_(self, p, dim, maxnorm):
    """The in-place form of `renorm`."""
    _check_renorm(self, p, maxnorm)
    return apply_inplace(RenormBackward0, (self,), p, dim, maxnorm)


@function(method=False)
def real(input):
    """`input` itself: it is not complex (torch.real)."""
    if not isinstance(input, Variable):
        raise TypeError("what is not a Tensor has no real part here")
    return input


FUNCTIONS["conj"] = METHODS["conj"] = METHODS["conj_physical"] = real
for _name in ("resolve_conj", "resolve_neg"):
    FUNCTIONS[_name] = METHODS[_name] = real
METHODS["is_signed"] = FUNCTIONS["is_signed"] = lambda self: self.dtype.is_signed


@function(method=False)
def trapz(y, x=None, *, dx=1.0, dim=-1):
    """An older form of `trapezoid`, whose `dx` is a float (torch.trapz)."""
    return trapezoid(y, x, dx=float(dx), dim=dim)


for _name in (
    *(
        "arccos_",
        "arccosh_",
        "arcsin_",
        "arcsinh_",
        "arctan_",
        "arctanh_",
        "clamp_",
        "clamp_max_",
        "clamp_min_",
        "clip_",
    ),
    *("fix_", "ldexp_", "logit_", "nan_to_num_", "square_", "xlogy_", "addmv_", "index_put_", "negative_"),
):
    FUNCTIONS[_name] = METHODS[_name]


@function(method=False)
def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """The slopes along some dims (all of them), by central differences inside and one-sided ones at the ends (torch.gradient).

    spacing     the distance of neighbours: a number, one for each dim, or the coordinates along each dim, as tensors
    edge_order  1 or 2: how many neighbours the slope at an end is made of
    Raises RuntimeError for a spacing that does not fit the dims or has several, and for dims with fewer than edge_order + 1 entries.
    """
    if input._data.dtype.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    ndim = input._data.ndim
    dims = list(range(ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = list(reductions.wrap_dims(dims, ndim))
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    several = isinstance(spacing, (tuple, list))
    if several and len(spacing) != len(dims):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
                f"{ndim}', since dim argument was not given, but got a list of length {len(spacing)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same "
            f"length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}."
        )
    if any(input._data.shape[d] < edge_order + 1 for d in dims):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    steps = spacing if several else [1.0 if spacing is None else spacing] * len(dims)
    return tuple([_slopes(input, d, step, edge_order) for d, step in zip(dims, steps, strict=True)])


@as_formula
def _slopes(x, d, step, edge_order):
    n = x._data.shape[d]

    def at(start, count=1):
        return x.narrow(d, start, count)

    def rise(start, end, count=1):
        earlier = at(start, count)  # first, as in PyTorch: it shows in the order of the gradients
        return at(end, count) - earlier

    if not isinstance(step, Variable):
        inside = rise(0, 2, n - 2) / step / 2
        if edge_order == 1:
            first, last = rise(0, 1) / step, rise(n - 2, n - 1) / step
        else:
            third, second = 0.5 * at(2), 2 * at(1)  # the last term first, as above
            first = (-1.5 * at(0) + second - third) / step
            third, second = 1.5 * at(n - 1), 2 * at(n - 2)
            last = (0.5 * at(n - 3) - second + third) / step
        return both.cat([first, inside, last], d)
    if step._data.ndim != 1:
        raise RuntimeError(
            "torch.gradient expected each element of spacing to have one dimension, but got an element with "
            f"{step._data.ndim} dimensions!"
        )
    gaps = step.diff(1, 0)
    before, after = _neighbors(gaps, 0)
    shape = [-1 if k == d else 1 for k in range(x._data.ndim)]
    # The parabola through three neighbors, `before` and `after` apart: its slope is a weighted sum of their values.
    left = (-after / (before * (before + after))).reshape(shape)
    middle = ((after - before) / (before * after)).reshape(shape)
    right = (before / (after * (before + after))).reshape(shape)
    inside = left * at(0, n - 2) + middle * at(1, n - 2) + right * at(2, n - 2)
    if edge_order == 1:
        first, last = rise(0, 1) / gaps[0], rise(n - 2, n - 1) / gaps[-1]
    else:
        left = -(2.0 * gaps[0] + gaps[1]) / (gaps[0] * (gaps[0] + gaps[1]))
        middle = (gaps[0] + gaps[1]) / (gaps[0] * gaps[1])
        right = -gaps[0] / (gaps[1] * (gaps[0] + gaps[1]))
        first = left * at(0) + middle * at(1) + right * at(2)
        left = gaps[-1] / (gaps[-2] * (gaps[-1] + gaps[-2]))
        middle = -(gaps[-1] + gaps[-2]) / (gaps[-1] * gaps[-2])
        right = (2 * gaps[-1] + gaps[-2]) / (gaps[-1] * (gaps[-1] + gaps[-2]))
        last = left * at(n - 3) + middle * at(n - 2) + right * at(n - 1)
    return both.cat([first, inside, last], d)
