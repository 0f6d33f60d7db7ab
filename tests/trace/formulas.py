"""The functions of the rules' texts in NumPy, each with one meaning: torch's, where torch has a function of that name."""

import math

import numpy as np
from formulas_linear import VOCABULARY as LINEAR

SPECIAL = np.vectorize


def _dims(x, dim):
    if dim is None or dim == () or dim == []:
        return tuple(range(np.ndim(x)))
    dims = (dim,) if isinstance(dim, int | np.integer) else tuple(dim)
    return tuple(d % max(np.ndim(x), 1) for d in dims if np.ndim(x))


def _reduction(of):
    def reduce(x, dim=None, keepdim=False):
        return of(np.asarray(x), axis=_dims(x, dim), keepdims=bool(keepdim))

    return reduce


def prod(x, dim=None, keepdim=False):
    return np.prod(x, axis=_dims(x, dim), keepdims=bool(keepdim))


def spread(g, a, dim=None):
    """`g`, which has lost the dims `dim` of `a` or has them with size one, copied to the shape of `a`."""
    g = np.asarray(g)
    if g.ndim != np.ndim(a):
        g = np.expand_dims(g, _dims(a, dim))
    return np.broadcast_to(g, np.shape(a))


def var(x, dim=None, correction=1, keepdim=False):
    x = np.asarray(x)
    n = math.prod(x.shape[d] for d in _dims(x, dim))
    with np.errstate(all="ignore"):
        d = x - x.mean(axis=_dims(x, dim), keepdims=True)
        total = (d * d).sum(axis=_dims(x, dim), keepdims=bool(keepdim))
        return (
            np.float64(total) / max(n - correction, 0)
            if np.ndim(total) == 0
            else total / np.float64(max(n - correction, 0))
        )


def logsumexp(x, dim=None, keepdim=False):
    top = np.asarray(x).max(axis=_dims(x, dim), keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    found = np.log(np.exp(x - top).sum(axis=_dims(x, dim), keepdims=True)) + top
    return found if keepdim else found.reshape(sum_shape(x, dim))


def sum_shape(x, dim):
    return tuple(n for d, n in enumerate(np.shape(x)) if d not in _dims(x, dim))


def softmax(x, dim):
    e = np.exp(x - np.asarray(x).max(axis=_dims(x, dim), keepdims=True))
    return e / e.sum(axis=_dims(x, dim), keepdims=True)


def _along(of):
    def run(x, dim):
        return of(x, axis=dim) if np.ndim(x) else np.asarray(x)

    return run


def flip(x, dims):
    return np.flip(x, _dims(x, dims)) if np.ndim(x) else x


def transpose(x, dim0, dim1):
    return np.swapaxes(x, dim0, dim1) if np.ndim(x) else x


def reshape(x, shape):
    return np.reshape(x, tuple(shape))


def sum_to(g, shape):
    """`g` summed over the dims along which `shape` was broadcast."""
    g, shape = np.asarray(g), tuple(shape)
    lead = g.ndim - len(shape)
    dims = (*range(lead), *[i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1])
    return g.sum(axis=dims, keepdims=True).reshape(shape)


def at(ndim, dim, index):
    return (slice(None),) * (dim % ndim) + (index,)


def select(x, dim, index):
    return x[at(x.ndim, dim, index)]


def narrow(x, dim, start, length):
    return x[at(x.ndim, dim, slice(start, start + length))]


def sliced(x, dim, start=None, end=None, step=1):
    return x[at(x.ndim, dim, slice(start, end, step))]


def squeeze(x, dim=None):
    dims = [d for d in _dims(x, dim) if np.shape(x)[d] == 1]
    return np.squeeze(x, tuple(dims))


def expand(x, shape):
    return np.broadcast_to(x, shape)


def split(x, sizes, dim):
    n = x.shape[dim]
    sizes = [sizes] * (n // sizes + 1) if isinstance(sizes, int) else sizes
    ends = np.cumsum(sizes).tolist()
    return [x[at(x.ndim, dim, slice(end - size, end))] for size, end in zip(sizes, ends, strict=True)]


def unbind(x, dim):
    return list(np.moveaxis(x, dim, 0))


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for d in sorted((dim1 % (x.ndim + 1), dim2 % (x.ndim + 1))):
        shape.insert(d, n)
    return diagonal_scatter(np.zeros(shape), x, offset, dim1, dim2)


def _window_places(shape, dim, size, step):
    ids = np.arange(math.prod(shape)).reshape(shape)
    if not ids.ndim:
        return ids.reshape(1)[:size]
    dim %= ids.ndim
    return np.moveaxis(np.lib.stride_tricks.sliding_window_view(ids, size, dim), dim, 0)[::step]


def unfold(x, dim, size, step):
    """Windows of a dim, the places in a window as a last dim."""
    places = np.moveaxis(
        _window_places(np.shape(x), dim, size, step), 0, dim % np.ndim(x) if np.ndim(x) else 0
    )
    return np.reshape(x, -1)[places]


def windows_added(g, shape, dim, size, step):
    """Of `unfold` the way back: what several windows have of one element is added up."""
    out = np.zeros(math.prod(shape))
    places = np.moveaxis(_window_places(shape, dim, size, step), 0, dim % len(shape) if shape else 0)
    np.add.at(out, places.reshape(-1), np.reshape(g, -1))
    return out.reshape(shape)


def _memory_places(size, stride, offset):
    grid = np.indices(size) if len(size) else np.zeros((0,), int)
    return (offset or 0) + sum((n * s for n, s in zip(grid, stride, strict=True)), np.zeros(size, int))


def as_strided(a, size, stride, storage_offset=0):
    """Elements of the memory of `a`, which lie there in row-major order."""
    return np.ascontiguousarray(a).reshape(-1)[_memory_places(size, stride, storage_offset)]


def as_strided_scatter(a, b, size, stride, storage_offset=0):
    out = np.array(a)
    out.reshape(-1)[_memory_places(size, stride, storage_offset)] = b
    return out


def as_strided_added(a, b, size, stride, storage_offset=0):
    out = np.array(a)
    np.add.at(out.reshape(-1), _memory_places(size, stride, storage_offset), b)
    return out


def _matrix(x):
    return np.reshape(x, np.shape(x) if np.ndim(x) == 2 else (1, -1))


def block_diag(xs):
    xs = [_matrix(x) for x in xs]
    out = np.zeros((sum(len(x) for x in xs), sum(x.shape[1] for x in xs)))
    i = j = 0
    for x in xs:
        out[i : i + len(x), j : j + x.shape[1]] = x
        i, j = i + len(x), j + x.shape[1]
    return out


def block(g, xs, k):
    """The block of `g` where block_diag(xs) has the k-th of them."""
    before = [_matrix(x).shape for x in xs[:k]]
    i, j = sum(n for n, _ in before), sum(m for _, m in before)
    n, m = _matrix(xs[k]).shape
    return g[i : i + n, j : j + m].reshape(np.shape(xs[k]))


def copies_summed(g, shape):
    """`g` of a tensor laid side by side several times, summed over the copies."""
    full = (1,) * (g.ndim - len(shape)) + tuple(shape)
    if not g.size:
        return np.zeros(shape)
    parts = [x for m, n in zip(g.shape, full, strict=True) for x in (m // max(n, 1), n)]
    return g.reshape(parts).sum(tuple(range(0, 2 * g.ndim, 2))).reshape(shape)


def rows(index, b, dim):
    """The `index` of rows, for each element of `b`."""
    if not np.ndim(b):
        return np.reshape(index, ())
    shape = [1] * np.ndim(b)
    shape[dim] = -1
    return np.broadcast_to(np.reshape(index, shape), np.shape(b))


_UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def scatter_reduce(a, dim, index, src, reduce, include_self=True):
    if not np.ndim(a):
        return scatter_reduce(
            np.reshape(a, 1), 0, np.reshape(index, -1), np.reshape(src, -1), reduce, include_self
        )[0]
    where, out = _grid(index, dim), np.array(a)
    if not include_self:
        out[where] = {"prod": 1, "amax": -np.inf, "amin": np.inf}.get(reduce, 0)
    _UFUNCS[reduce].at(out, where, np.asarray(src)[tuple(map(slice, np.shape(index)))])
    if reduce == "mean":
        out = out / np.maximum(
            scatter_add(np.full(np.shape(a), float(include_self)), dim, index, np.ones(np.shape(index))), 1
        )
    return out


def scatter_others(a, dim, index, src, include_self=True):
    """For each element of `src` the product of all others that meet at its place, and of `a` there if it counts."""
    found = np.ones(np.shape(src))
    flat = np.asarray(src, float).reshape(-1)
    for i in range(flat.size):
        others = flat.copy()
        others[i] = 1
        whole = scatter_reduce(
            np.asarray(a, float), dim, index, others.reshape(np.shape(src)), "prod", include_self
        )
        found.reshape(-1)[i] = gather(whole, dim, index).reshape(-1)[i]
    return found


def masked_select(a, mask):
    a, mask = np.broadcast_arrays(a, mask)
    return a[mask]


def masked_take(g, mask, shape):
    """The elements of `g` under the mask in a tensor of `shape`, which has zeros behind them."""
    out, picked = np.zeros(math.prod(shape)), np.asarray(g)[np.broadcast_to(mask, np.shape(g))]
    out[: picked.size] = picked
    return out.reshape(shape)


def _put(into, where, values):
    out = np.array(into)
    out[where] = values
    return out


def select_scatter(a, b, dim, index):
    return _put(a, at(np.ndim(a), dim, index), b)


def slice_scatter(a, b, dim, start=None, end=None, step=None):
    return _put(a, at(np.ndim(a), dim, slice(start, end, step)), b)


def diagonal(x, offset=0, dim1=0, dim2=1):
    return np.diagonal(x, offset, dim1, dim2)


def diagonal_scatter(a, b, offset=0, dim1=0, dim2=1):
    out = np.array(a)
    ids = np.arange(out.size).reshape(out.shape)
    out.reshape(-1)[np.diagonal(ids, offset, dim1, dim2)] = b
    return out


def index_select(x, dim, index):
    return np.take(x, np.reshape(index, -1), axis=dim) if np.ndim(x) else np.reshape(x, np.shape(index)[:0])


def index_add(a, dim, index, b):
    out = np.array(a)
    if not out.ndim:
        return out + np.sum(b)
    np.add.at(out, at(out.ndim, dim, np.reshape(index, -1)), b)
    return out


def index_copy(a, dim, index, b):
    return _put(a, at(np.ndim(a), dim, np.reshape(index, -1)), b) if np.ndim(a) else np.reshape(b, ())


def index_fill(a, dim, index, value):
    return (
        _put(a, at(np.ndim(a), dim, np.reshape(index, -1)), value) if np.ndim(a) else np.asarray(value, float)
    )


def _grid(index, dim):
    where = list(np.indices(np.shape(index)))
    where[dim] = np.asarray(index)
    return tuple(where)


def gather(x, dim, index):
    if not np.ndim(index):
        return np.reshape(x, -1)[np.reshape(index, -1)].reshape(())
    return np.reshape(x, np.shape(x) or (1,))[_grid(index, dim)]


def scatter(a, dim, index, src):
    if not np.ndim(a):
        return np.reshape(src, -1)[-1:].reshape(()) if np.size(index) else np.array(a)
    src = (
        np.broadcast_to(src, np.shape(index)) if not np.ndim(src) else src[tuple(map(slice, np.shape(index)))]
    )
    return _put(a, _grid(index, dim), src)


def scatter_add(a, dim, index, src):
    out = np.array(a, dtype=np.result_type(a, src, float))
    if not out.ndim:
        return out + np.sum(src)
    np.add.at(out, _grid(index, dim), np.asarray(src)[tuple(map(slice, np.shape(index)))])
    return out


def put(a, index, values, accumulate=False):
    """`a` as one row of numbers with `values` at the places `index`."""
    out = np.array(a).reshape(-1)
    if accumulate:
        np.add.at(out, np.reshape(index, -1), np.reshape(values, -1))
    else:
        out[np.reshape(index, -1)] = np.reshape(values, -1)
    return out.reshape(np.shape(a))


def index_put(a, index, values, accumulate=False):
    out = np.array(a)
    if accumulate:
        np.add.at(out, index[0], values)
    else:
        out[index[0]] = values
    return out


def masked_scatter(a, mask, b):
    mask = np.broadcast_to(mask, np.broadcast_shapes(np.shape(a), np.shape(mask)))
    out = np.array(np.broadcast_to(a, mask.shape))
    out[mask] = np.reshape(b, -1)[: mask.sum()]
    return out


def _polygamma(n, x):
    """Counted up to where the asymptotic series holds."""
    if x <= 0 and x == int(x):
        return math.nan if n == 0 else math.inf
    total = 0.0
    while x < 25:
        total += -1 / x if n == 0 else (-1) ** (n + 1) * math.factorial(n) / x ** (n + 1)
        x += 1
    bernoulli = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)
    if n == 0:
        return (
            total
            + math.log(x)
            - 1 / (2 * x)
            - sum(b / (2 * k * x ** (2 * k)) for k, b in enumerate(bernoulli, 1))
        )
    series = math.factorial(n - 1) / x**n + math.factorial(n) / (2 * x ** (n + 1))
    for k, b in enumerate(bernoulli, 1):
        series += b * math.factorial(2 * k + n - 1) / (math.factorial(2 * k) * x ** (2 * k + n))
    return total + (-1) ** (n + 1) * series


def polygamma(n, x):
    return np.vectorize(lambda x: _polygamma(n, float(x)), otypes=[float])(x)


def bessel(n):
    def series(x):
        return sum((x / 2) ** (2 * k + n) / (math.factorial(k) * math.factorial(k + n)) for k in range(80))

    return np.vectorize(series, otypes=[float])


def _erfinv(y):
    if abs(y) >= 1:
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    low, high = -6.0, 6.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    return (low + high) / 2


def product_of_others(a, dim=None):
    """For each element the product of the others along the dims."""
    a = np.asarray(a)
    if dim is None or not a.ndim:
        flat = a.reshape(-1)
        return np.array([np.prod(np.delete(flat, i)) for i in range(flat.size)]).reshape(a.shape)
    return (
        np.stack([np.prod(np.delete(a, i, dim), dim) for i in range(a.shape[dim])], dim)
        if a.shape[dim]
        else a
    )


def omitting_each(g, a, dim):
    """For each i the sum over k >= i of g[k] times the product of all a[j], j <= k, but a[i]."""
    if not np.ndim(a):
        return g
    g, a = np.moveaxis(g, dim, 0), np.moveaxis(np.asarray(a), dim, 0)
    found = np.zeros(a.shape)
    for i in range(len(a)):
        for k in range(i, len(a)):
            found[i] += g[k] * np.prod(np.delete(a[: k + 1], i, 0), 0)
    return np.moveaxis(found, 0, dim)


def later_shares(g, a, y, dim):
    """For each i the sum over k >= i of g[k] * exp(a[i] - y[k]); by logarithms, as the exponentials may be too large."""
    if not np.ndim(a):
        return g
    g, a, y = (np.moveaxis(np.asarray(x), dim, 0) for x in (g, a, y))
    found = np.zeros(a.shape)
    for sign in (1, -1):
        logs = np.where(g * sign > 0, np.log(np.abs(g)), np.finfo(float).min) - y
        rows = [np.exp(np.logaddexp.reduce(logs[i:], 0) + a[i]) for i in range(len(a))]
        found += sign * np.array(rows).reshape(a.shape)
    return np.moveaxis(found, 0, dim)


def is_class(a, target, dim, ignored=None):
    """1 where the number along the dim of classes is the target of the sample (and not the one to be ignored), 0 elsewhere."""
    classes = np.moveaxis(
        np.broadcast_to(np.arange(np.shape(a)[dim]), np.moveaxis(a, dim, -1).shape), -1, dim
    )
    target = np.reshape(target, sum_shape(a, dim))
    hot = classes == np.expand_dims(target, dim)
    return hot if ignored is None else hot & np.expand_dims(target != ignored, dim)


def per_channel(w, a):
    """A vector as dim 1 of what broadcasts with `a`."""
    return np.reshape(w, (-1, *[1] * (np.ndim(a) - 2)))


def _near(n, size):
    c, half = np.arange(n), (size - 1) // 2
    return ((np.abs(c[:, None] - c) <= half) | ((c == 0) & (c[:, None] > half))).astype(float)


def near(x, size):
    """For each channel (dim 1) the sum of those nearby; the first counts even if it is far."""
    return np.einsum("cd,nd...->nc...", _near(x.shape[1], size), x)


def near_back(x, size):
    """The sum of the channels that a channel is near to."""
    return np.einsum("dc,nd...->nc...", _near(x.shape[1], size), x)


def norm(x, p=2, dim=None, keepdim=False):
    """(sum of |x| ** p) ** (1 / p); the largest or smallest |x| for p = inf or -inf, for p = 0 how many are not 0."""
    x, kind = np.abs(x), {"axis": _dims(x, dim), "keepdims": bool(keepdim)}
    if abs(p) == math.inf:
        return x.max(**kind) if p > 0 else x.min(**kind)
    return (x != 0).sum(**kind) if p == 0 else (x**p).sum(**kind) ** (1 / p)


def _arg(of):
    def run(x, dim=None, keepdim=False):
        return of(x, axis=dim, keepdims=bool(keepdim)) if np.ndim(x) else np.zeros((), int)

    return run


def xlogy(a, b):
    a, b = np.broadcast_arrays(a, b)
    return np.where((a == 0) & ~np.isnan(b), 0.0, a * np.log(b))


def mvlgamma(x, p):
    x = np.asarray(x)
    return sum(VOCABULARY["lgamma"](x - j / 2) for j in range(p)) + p * (p - 1) / 4 * math.log(math.pi)


VOCABULARY = {
    name: getattr(np, name)
    for name in (
        "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "tanh", "sinh", "cosh", "sin", "cos", "tan", "abs", "sign",
        "floor", "ceil", "trunc", "where", "maximum", "minimum", "isfinite", "isnan", "outer", "kron", "tril", "triu",
        "exp2", "copysign", "hypot", "sinc", "fmax", "fmin", "nextafter", "rot90", "logaddexp", "logaddexp2", "round",
    )
}  # fmt: skip
VOCABULARY |= {
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "erf": SPECIAL(math.erf, otypes=[float]),
    "lgamma": SPECIAL(lambda x: math.inf if x <= 0 and x == int(x) else math.lgamma(x), otypes=[float]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-np.asarray(x))),
    "digamma": lambda x: polygamma(0, x),
    "erfc": SPECIAL(math.erfc, otypes=[float]),
    "erfinv": SPECIAL(_erfinv, otypes=[float]),
    "i0": bessel(0),
    "i1": bessel(1),
    "Phi": SPECIAL(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[float]),
    "phi": lambda x: np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi),
    "clamp": lambda x, low=None, high=None: np.minimum(np.maximum(x, -np.inf if low is None else low), np.inf if high is None else high),
    "arange": np.arange,
    "nan_to_num": lambda x, nan, posinf, neginf: np.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf),
    "sum": _reduction(np.sum),
    "mean": _reduction(np.mean),
    "prod": prod,
    "amax": _reduction(np.max),
    "amin": _reduction(np.min),
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
    "nansum": _reduction(np.nansum),
    "any": _reduction(np.any),
    "all": _reduction(np.all),
    "var": var,
    "std": lambda x, dim=None, correction=1, keepdim=False: np.sqrt(var(x, dim, correction, keepdim)),
    "logsumexp": logsumexp,
    "softmax": softmax,
    "cumsum": _along(np.cumsum),
    "cumprod": _along(np.cumprod),
    "cummax": _along(lambda x, axis: np.maximum.accumulate(x, axis)),
    "cummin": _along(lambda x, axis: np.minimum.accumulate(x, axis)),
    "logcumsumexp": _along(lambda x, axis: np.logaddexp.accumulate(x, axis)),
    "cat": lambda xs, dim=0: np.concatenate([x for x in xs if np.shape(x) != (0,)] or xs[:1], dim),
    "stack": lambda xs, dim=0: np.stack(xs, dim),
    "slice": sliced,
    "chunk": lambda x, n, dim: np.array_split(x, n, dim),
    "unique": np.unique,
    "take": lambda a, index: np.reshape(a, -1)[index],
    "repeat": lambda a, repeats: np.tile(a, repeats),
    "roll": lambda a, shifts, dims: np.roll(a, shifts, dims) if dims else np.roll(a, shifts[0]),
    "T": lambda x: np.swapaxes(x, -1, -2) if np.ndim(x) > 1 else x,
    "permute": lambda x, dims: np.transpose(x, dims),
    "unsqueeze": lambda x, dim: np.expand_dims(x, dim),
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "full_like": lambda a, x: np.full(np.shape(a), x, np.float64),
    "zeros": lambda *shape: np.zeros(shape[0] if shape and isinstance(shape[0], tuple) else shape),
    "numel": np.size,
    "shape": np.shape,
    "ndim": np.ndim,
    "size": lambda a, dim=None: math.prod(np.shape(a)[d] for d in _dims(a, dim)),
    "max": max,
    "min": min,
    "sum_to_size": sum_to,
}  # fmt: skip
VOCABULARY |= {
    f.__name__: f
    for f in (
        spread, flip, transpose, reshape, select, narrow, squeeze, expand, split, unbind, diag_embed, unfold, windows_added, as_strided, as_strided_scatter, as_strided_added, block_diag, block, copies_summed, rows, scatter_reduce, scatter_others, masked_select, masked_take, select_scatter, slice_scatter, diagonal,
        diagonal_scatter, index_select, index_add, index_copy, index_fill, gather, scatter, scatter_add, put, index_put,
        masked_scatter, polygamma, xlogy, product_of_others, omitting_each, later_shares, is_class, per_channel, near, near_back, norm, mvlgamma,
    )
}  # fmt: skip
VOCABULARY |= LINEAR
