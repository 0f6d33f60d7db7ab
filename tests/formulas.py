"""The functions of the rules' texts in NumPy, each with one meaning: torch's, where torch has a function of that name."""

import math

import numpy as np

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
        return np.float64(total) / max(n - correction, 0) if np.ndim(total) == 0 else total / np.float64(max(n - correction, 0))


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


def count(condition, dim=None, keepdim=False):
    return np.asarray(condition).sum(axis=_dims(condition, dim), keepdims=bool(keepdim))


def _along(of):
    def run(x, dim):
        return of(x, axis=dim) if np.ndim(x) else np.asarray(x)

    return run


def flip(x, dims):
    return np.flip(x, _dims(x, dims)) if np.ndim(x) else x


def revcumsum(x, dim):
    """From each place to the end, the sum."""
    return np.flip(np.cumsum(np.flip(x, dim), dim), dim) if np.ndim(x) else x


def transpose(x, dim0, dim1):
    return np.swapaxes(x, dim0, dim1) if np.ndim(x) else x


def unpermute(x, dims):
    return np.transpose(x, np.argsort([d % np.ndim(x) for d in dims]))


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


def slices(x, dim, start, end, step):
    return x[at(x.ndim, dim, slice(start, end, step))]


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
    return _put(a, at(np.ndim(a), dim, np.reshape(index, -1)), value) if np.ndim(a) else np.asarray(value, float)


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
    src = np.broadcast_to(src, np.shape(index)) if not np.ndim(src) else src[tuple(map(slice, np.shape(index)))]
    return _put(a, _grid(index, dim), src)


def scatter_add(a, dim, index, src):
    out = np.array(a, dtype=np.result_type(a, src))
    if not out.ndim:
        return out + np.sum(src)
    np.add.at(out, _grid(index, dim), np.asarray(src)[tuple(map(slice, np.shape(index)))])
    return out


def picked(a, index):
    """a[index], where None in the index stands for a whole dim."""
    return a[tuple(slice(None) if i is None else i for i in index)]


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
    where = tuple(slice(None) if i is None else i for i in index)
    if accumulate:
        np.add.at(out, where, values)
    else:
        out[where] = values
    return out


def masked_scatter(a, mask, b):
    mask = np.broadcast_to(mask, np.broadcast_shapes(np.shape(a), np.shape(mask)))
    out = np.array(np.broadcast_to(a, mask.shape))
    out[mask] = np.reshape(b, -1)[: mask.sum()]
    return out


def before(shapes, k, dim):
    return sum(s[dim] for s in shapes[:k] if s != (0,))


def identity(x):
    return x


VOCABULARY = {
    name: getattr(np, name)
    for name in (
        "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "tanh", "sinh", "cosh", "sin", "cos", "tan", "abs", "sign",
        "floor", "ceil", "trunc", "where", "maximum", "minimum", "isfinite", "isnan", "outer", "kron", "roll", "tril", "triu",
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
    "square": np.square,
    "sum": _reduction(np.sum),
    "mean": _reduction(np.mean),
    "prod": prod,
    "amax": _reduction(np.max),
    "amin": _reduction(np.min),
    "nansum": _reduction(np.nansum),
    "any": _reduction(np.any),
    "all": _reduction(np.all),
    "count": count,
    "var": var,
    "std": lambda x, dim=None, correction=1, keepdim=False: np.sqrt(var(x, dim, correction, keepdim)),
    "logsumexp": logsumexp,
    "softmax": softmax,
    "cumsum": _along(np.cumsum),
    "cumprod": _along(np.cumprod),
    "cummax": _along(lambda x, axis: np.maximum.accumulate(x, axis)),
    "cummin": _along(lambda x, axis: np.minimum.accumulate(x, axis)),
    "logcumsumexp": _along(lambda x, axis: np.logaddexp.accumulate(x, axis)),
    "revcumsum": revcumsum,
    "cat": lambda xs, dim=0: np.concatenate([x for x in xs if np.shape(x) != (0,)] or xs[:1], dim),
    "stack": lambda xs, dim=0: np.stack(xs, dim),
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
        spread, flip, transpose, unpermute, reshape, select, narrow, slices, select_scatter, slice_scatter, diagonal,
        diagonal_scatter, index_select, index_add, index_copy, index_fill, gather, scatter, scatter_add, picked, put, index_put,
        masked_scatter, before, identity,
    )
}  # fmt: skip
try:
    from formulas_linear import VOCABULARY as LINEAR
except ImportError:
    LINEAR = {}
VOCABULARY |= LINEAR
