"""Functions of the rules' texts, second half: linear algebra, convolutions, pooling, and what is drawn at random.

Written by definition, with loops, so that they have nothing in common with the library they are compared with.
"""

import itertools
import math

import numpy as np

import autograd_lab as torch

# -- matrices -----------------------------------------------------------------------------------------


def cofactors(a):
    """At i, j the determinant of what is left without row i and column j, with its sign."""
    n = np.shape(a)[-1]
    out = np.empty(np.shape(a))
    for i, j in itertools.product(range(n), range(n)):
        minor = np.delete(np.delete(a, i, -2), j, -1)
        out[..., i, j] = (-1) ** (i + j) * (np.linalg.det(minor) if n > 1 else 1.0)
    return out


def mv(a, x):
    """Matrix times vector, for each of a batch."""
    return (a @ np.asarray(x)[..., None])[..., 0]


def triangle(a, upper, unitriangular=False):
    """The upper or lower triangle, with ones on the diagonal if `unitriangular`."""
    k = int(bool(unitriangular))
    half = np.triu(a, k) if upper else np.tril(a, -k)
    return half + np.eye(np.shape(a)[-1]) * k


def cholesky(a, upper=False):
    half = np.triu(a) if upper else np.tril(a)
    whole = half + np.swapaxes(np.triu(a, 1) if upper else np.tril(a, -1), -1, -2)
    factor = np.linalg.cholesky(whole)
    return np.swapaxes(factor, -1, -2) if upper else factor


def symmetric(low):
    """The symmetric matrix with the lower triangle `low`."""
    return low + np.swapaxes(np.tril(low, -1), -1, -2)


def skew(x):
    """What a matrix is off being symmetric."""
    return x - np.swapaxes(x, -1, -2)


def gaps(w):
    """At i, j the difference w[j] - w[i], and 1 on the diagonal."""
    return w[..., None, :] - w[..., :, None] + np.eye(np.shape(w)[-1])


def matrix_exp(a):
    """The sum of a^k / k!."""
    out = term = np.broadcast_to(np.eye(np.shape(a)[-1]), np.shape(a))
    for k in range(1, 80):
        term = term @ a / k
        out = out + term
    return out


def quarters(a, b, c, d):
    """[[a, b], [c, d]]"""
    return np.concatenate([np.concatenate([a, b], -1), np.concatenate([c, d], -1)], -2)


def lu_factor(a):
    """(L - I + U, for each step which row was swapped with, from 1), of one matrix or of a batch."""
    if np.ndim(a) > 2:
        each = [lu_factor(m) for m in a]
        return np.stack([m for m, _ in each]), np.stack([swaps for _, swaps in each])
    m, swaps = np.array(a, float), []
    for k in range(min(m.shape)):
        best = k + int(np.abs(m[k:, k]).argmax())
        m[[k, best]] = m[[best, k]]
        swaps.append(best + 1)
        m[k + 1 :, k] /= m[k, k]
        m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return m, np.array(swaps)


def permutation(pivots, n):
    """P of A = P L U, from the swaps."""
    if np.ndim(pivots) > 1:
        return np.stack([permutation(p, n) for p in pivots])
    p = np.eye(n)
    for k, best in enumerate(pivots):
        p[[k, best - 1]] = p[[best - 1, k]]
    return p.T


def lu_lower(packed):
    k = min(np.shape(packed)[-2:])
    return np.tril(packed[..., :k], -1) + np.eye(np.shape(packed)[-2], k)


def lu_upper(packed):
    return np.triu(packed[..., : min(np.shape(packed)[-2:]), :])


def fit(x, a):
    """`x` with rows and columns of zeros behind it, in the shape of `a`."""
    rows, columns = (n - m for n, m in zip(np.shape(a)[-2:], np.shape(x)[-2:], strict=True))
    return np.pad(x, [(0, 0)] * (np.ndim(x) - 2) + [(0, rows), (0, columns)])


def householder_product(a, tau):
    """The first columns of the product of I - tau_i v_i v_i^T; v_i is column i with a one at i and zeros above."""
    m, n = np.shape(a)
    q = np.eye(m)
    for i, t in enumerate(tau):
        v = np.where(np.arange(m) < i, 0, np.where(np.arange(m) == i, 1, a[:, i]))
        q = q @ (np.eye(m) - t * np.outer(v, v))
    return q[:, :n]


def norm(x, p=2, dim=-1, keepdim=False):
    """The p-norm along some dims; for p = 0 how many elements are not 0."""
    x, dim = np.abs(x), dim if isinstance(dim, int) else tuple(dim)
    if p == math.inf:
        return x.max(dim, keepdims=keepdim)
    return (
        (x != 0).sum(dim, keepdims=keepdim).astype(float)
        if p == 0
        else (x**p).sum(dim, keepdims=keepdim) ** (1 / p)
    )


def triu_indices(n, m, offset=0):
    return np.triu_indices(n, offset, m)


# -- windows ------------------------------------------------------------------------------------------


def _full(values, n):
    values = (values,) if isinstance(values, int) else tuple(values)
    return values * n if len(values) == 1 else values


def _windows(size, kernel, stride, padding, dilation, out):
    """For each place of a window and each output place, the input place, None outside: pairs (k, o, i)."""
    for o in itertools.product(*map(range, out)):
        for k in itertools.product(*map(range, kernel)):
            i = tuple(
                a * s - p + b * d for a, s, p, b, d in zip(o, stride, padding, k, dilation, strict=True)
            )
            if all(0 <= x < n for x, n in zip(i, size, strict=True)):
                yield k, o, i


def _slid(sizes, kernel, stride, padding, dilation):
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )


def conv(x, weight, stride, padding, dilation, groups):
    """torch.conv1d, conv2d or conv3d, by the number of dims."""
    nd = np.ndim(x) - 2
    stride, padding, dilation = (_full(v, nd) for v in (stride, padding, dilation))
    out = _slid(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    y = np.zeros((x.shape[0], weight.shape[0], *out))
    for q in range(groups):
        o_q, c_q = _group(weight.shape[0], groups, q), _group(x.shape[1], groups, q)
        for k, o, i in _windows(x.shape[2:], weight.shape[2:], stride, padding, dilation, out):
            y[(slice(None), o_q, *o)] += x[(slice(None), c_q, *i)] @ weight[(o_q, slice(None), *k)].T
    return y


def _group(channels, groups, q):
    return slice(channels // groups * q, channels // groups * (q + 1))


def conv_input(shape, weight, g, stride, padding, dilation, groups):
    """The gradient of a convolution for its input: each window gets the weight times its g."""
    nd = len(shape) - 2
    stride, padding, dilation = (_full(v, nd) for v in (stride, padding, dilation))
    x = np.zeros(shape)
    for q in range(groups):
        o_q, c_q = _group(weight.shape[0], groups, q), _group(shape[1], groups, q)
        for k, o, i in _windows(shape[2:], weight.shape[2:], stride, padding, dilation, g.shape[2:]):
            x[(slice(None), c_q, *i)] += g[(slice(None), o_q, *o)] @ weight[(o_q, slice(None), *k)]
    return x


def conv_weight(x, shape, g, stride, padding, dilation, groups):
    """The gradient of a convolution for its weight: the sum of all windows, each times its g."""
    nd = len(shape) - 2
    stride, padding, dilation = (_full(v, nd) for v in (stride, padding, dilation))
    w = np.zeros(shape)
    for q in range(groups):
        o_q, c_q = _group(shape[0], groups, q), _group(x.shape[1], groups, q)
        for k, o, i in _windows(x.shape[2:], shape[2:], stride, padding, dilation, g.shape[2:]):
            w[(o_q, slice(None), *k)] += g[(slice(None), o_q, *o)].T @ x[(slice(None), c_q, *i)]
    return w


def conv_transpose(x, weight, stride, padding, output_padding, groups, dilation):
    nd = np.ndim(x) - 2
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(
            x.shape[2:],
            _full(stride, nd),
            _full(padding, nd),
            _full(dilation, nd),
            weight.shape[2:],
            _full(output_padding, nd),
            strict=True,
        )
    )
    return conv_input(
        (x.shape[0], weight.shape[1] * groups, *size), weight, x, stride, padding, dilation, groups
    )


def im2col(x, kernel_size, dilation, padding, stride):
    """Every window as a column."""
    out = _slid(x.shape[-2:], kernel_size, stride, padding, dilation)
    lead = x.shape[:-2]
    y = np.zeros((*lead, *kernel_size, *out))
    for k, o, i in _windows(x.shape[-2:], kernel_size, stride, padding, dilation, out):
        y[(..., *k, *o)] = x[(..., *i)]
    return y.reshape(*lead[:-1], -1, math.prod(out))


def col2im(columns, size, kernel_size, dilation, padding, stride):
    """Every column added back to its window."""
    out = _slid(size, kernel_size, stride, padding, dilation)
    lead = columns.shape[:-2]
    channels = columns.shape[-2] // math.prod(kernel_size)
    pieces, y = columns.reshape(*lead, channels, *kernel_size, *out), np.zeros((*lead, channels, *size))
    for k, o, i in _windows(size, kernel_size, stride, padding, dilation, out):
        y[(..., *i)] += pieces[(..., *k, *o)]
    return y


def window_sums(x, out, kernel_size, stride, padding):
    """The sum of each window."""
    nd = len(kernel_size)
    y = np.zeros((*x.shape[:-nd], *out))
    for _, o, i in _windows(x.shape[-nd:], kernel_size, stride, padding, (1,) * nd, out):
        y[(..., *o)] += x[(..., *i)]
    return y


def add_to_windows(g, shape, kernel_size, stride, padding):
    """Each g added to every element of its window."""
    nd = len(kernel_size)
    x = np.zeros(shape)
    for _, o, i in _windows(shape[-nd:], kernel_size, stride, padding, (1,) * nd, g.shape[-nd:]):
        x[(..., *i)] += g[(..., *o)]
    return x


def window_sizes(shape, out, kernel_size, stride, padding, count_include_pad):
    """How many elements each window has, those of the border counted or not."""
    counts = np.zeros(out)
    for o in itertools.product(*map(range, out)):
        n = 1
        for at, k, s, p, size in zip(o, kernel_size, stride, padding, shape[-len(out) :], strict=True):
            start = at * s - p
            end = min(start + k, size + p)
            n *= end - start if count_include_pad else min(end, size) - max(start, 0)
        counts[o] = n
    return counts


def max_pool(x, kernel_size, stride, padding, dilation, out):
    nd = len(kernel_size)
    y = np.full((*x.shape[:-nd], *out), -np.inf)
    for _, o, i in _windows(x.shape[-nd:], kernel_size, stride, padding, dilation, out):
        y[(..., *o)] = np.maximum(y[(..., *o)], x[(..., *i)])
    return y


def _cells(size, out):
    for o in itertools.product(*map(range, out)):
        yield o, tuple(slice(a * n // m, -(-(a + 1) * n // m)) for a, n, m in zip(o, size, out, strict=True))


def cell_means(x, out):
    """The image cut into a grid of cells, which may overlap, and the mean of each."""
    return _of_cells(x, out, np.mean)


def cell_maxima(x, out):
    return _of_cells(x, out, np.max)


def _of_cells(x, out, of):
    nd = len(out)
    y = np.zeros((*x.shape[:-nd], *out))
    for o, cell in _cells(x.shape[-nd:], out):
        y[(..., *o)] = of(x[(..., *cell)], tuple(range(-nd, 0)))
    return y


def add_to_cells(g, shape, out):
    """Each g divided by the size of its cell and added to every element of it."""
    nd = len(out)
    x = np.zeros(shape)
    for o, cell in _cells(shape[-nd:], out):
        part = x[(..., *cell)]
        part += g[(..., *o)][(..., *[None] * nd)] / math.prod(part.shape[-nd:])
    return x


def fractional_max_pool(x, samples, kernel_size, output_size):
    """The largest elements of windows at distances that `samples` make irregular."""
    nd = len(kernel_size)
    y = np.zeros((*x.shape[:-nd], *output_size))
    samples = samples.reshape(*x.shape[:2] if np.ndim(x) > nd + 1 else (1, x.shape[0]), nd)
    planes, out = x.reshape(*samples.shape[:2], *x.shape[-nd:]), y.reshape(*samples.shape[:2], *output_size)
    for n, c in np.ndindex(*samples.shape[:2]):
        starts = []
        for i in range(nd):
            last, u = x.shape[i - nd] - kernel_size[i], samples[n, c][nd - 1 - i if nd == 2 else i]
            step = last / (output_size[i] - 1) if output_size[i] > 1 else 0
            starts.append([int((j + u) * step) - int(u * step) for j in range(output_size[i] - 1)] + [last])
        for o in itertools.product(*map(range, output_size)):
            window = tuple(slice(starts[i][a], starts[i][a] + kernel_size[i]) for i, a in enumerate(o))
            out[(n, c, *o)] = planes[(n, c, *window)].max()
    return y


def pick(x, places, nd):
    """In each image, which are the last `nd` dims, the elements at `places`, counted row by row."""
    lead = x.shape[:-nd]
    found = np.take_along_axis(x.reshape(*lead, -1), np.reshape(places, (*lead, -1)), -1)
    return found.reshape(np.shape(places))


def add_at(shape, places, g, nd):
    """Zeros, and each g added in its image at its place."""
    out = np.zeros((*shape[:-nd], math.prod(shape[-nd:])))
    rows = out.reshape(-1, out.shape[-1])
    for row, where, values in zip(
        rows, np.reshape(places, (len(rows), -1)), np.reshape(g, (len(rows), -1)), strict=True
    ):
        np.add.at(row, where, values)
    return out.reshape(shape)


# -- images -------------------------------------------------------------------------------------------


def pad(x, pad, value=0.0, mode="constant"):
    """torch.nn.functional.pad: pairs (before, after), the last dim first; negative ones cut off."""
    pairs = [(0, 0)] * (np.ndim(x) - len(pad) // 2) + [
        (pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)
    ]
    x = x[tuple(slice(max(0, -a), n - max(0, -b)) for n, (a, b) in zip(np.shape(x), pairs, strict=True))]
    pairs = [(max(0, a), max(0, b)) for a, b in pairs]
    if mode == "constant":
        return np.pad(np.asarray(x, float), pairs, constant_values=value)
    return np.pad(x, pairs, mode="edge" if mode == "replicate" else mode)


def negative(values):
    return tuple(-v for v in values)


def pixel_shuffle(x, r):
    *lead, c, h, w = x.shape
    y = x.reshape(*lead, c // r**2, r, r, h, w)
    n = len(lead)
    return np.transpose(y, (*range(n), n, n + 3, n + 1, n + 4, n + 2)).reshape(*lead, c // r**2, h * r, w * r)


def pixel_unshuffle(x, r):
    *lead, c, h, w = x.shape
    y = x.reshape(*lead, c, h // r, r, w // r, r)
    n = len(lead)
    return np.transpose(y, (*range(n), n, n + 2, n + 4, n + 1, n + 3)).reshape(
        *lead, c * r * r, h // r, w // r
    )


def channel_shuffle(x, groups):
    n, c, *rest = x.shape
    return np.swapaxes(x.reshape(n, groups, c // groups, *rest), 1, 2).reshape(x.shape)


def unit_grid(size, align_corners):
    """For each place of an image its coordinates from -1 to 1, the last dim first, and a 1."""
    lines = []
    for n in size[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (n - 1) / n)
    grid = np.meshgrid(*lines, indexing="ij")
    return np.stack([*grid[::-1], np.ones(size[2:])], -1).reshape(-1, len(lines) + 1)


# -- tables and attention -----------------------------------------------------------------------------


def safe_softmax(x, dim):
    """Softmax, and zeros where everything along the dim is -inf."""
    e = np.exp(x - np.maximum(x.max(dim, keepdims=True), np.finfo(float).min))
    return e / np.maximum(e.sum(dim, keepdims=True), np.finfo(float).tiny)


def causal(s):
    """-inf where a query would look at a later key, else 0."""
    return np.where(np.tri(*np.shape(s)[-2:], dtype=bool), 0, -np.inf)


# -- order --------------------------------------------------------------------------------------------


def sort(x, dim, descending=False):
    """Sorted along a dim; nan counts as the largest."""
    up = np.sort(x, dim) if np.ndim(x) else x
    return np.flip(up, dim) if descending and np.ndim(x) else up


def nth(x, dim, k, keepdim=False):
    """Element k along a dim."""
    return x if not np.ndim(x) else np.take(x, [k], dim) if keepdim else np.take(x, k, dim)


def _of_rows(choose):
    def run(x, dim=None, keepdim=False):
        x = np.asarray(x)
        if dim is None or not x.ndim:
            return np.asarray(choose(x.reshape(-1))).reshape(())
        found = np.apply_along_axis(choose, dim, x)
        return np.expand_dims(found, dim) if keepdim else found

    return run


def _middle(row):
    return math.nan if np.isnan(row).any() else np.sort(row)[(len(row) - 1) // 2]


def _most_frequent(row):
    values, counts = np.unique(row, return_counts=True)
    return values[counts.argmax()]


def unique_consecutive(x, dim=None):
    rows = np.reshape(x, -1) if dim is None else np.moveaxis(x, dim, 0)
    kept = [row for i, row in enumerate(rows) if i == 0 or (row != rows[i - 1]).any()]
    return np.array(kept) if dim is None else np.moveaxis(np.array(kept), 0, dim)


def others(a, dim):
    """All dims of `a` but one."""
    return tuple(d for d in range(np.ndim(a)) if d != dim % np.ndim(a))


# -- special functions --------------------------------------------------------------------------------


def _igamma(a, x):
    """The regularized lower incomplete gamma function, by its series."""
    if x == 0:
        return 0.0
    term = total = 1 / a
    for n in range(1, 400):
        term *= x / (a + n)
        total += term
    return total * math.exp(a * math.log(x) - x - math.lgamma(a))


igamma = np.vectorize(_igamma, otypes=[float])


# -- random numbers -----------------------------------------------------------------------------------


def _again(method):
    """A function that draws as the first random call of a program does: the calls of the table start from seed 0."""

    def draw(shape, *args):
        generator = torch.Generator().manual_seed(0)
        blank = torch.zeros(shape, dtype=torch.float64)
        args = [torch.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
        return getattr(blank, method)(*args, generator=generator).numpy()

    return draw


def randn(shape):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).numpy()


def poisson(rate):
    return torch.poisson(torch.tensor(rate), generator=torch.Generator().manual_seed(0)).numpy()


def gammadraw(concentration):
    return torch._standard_gamma(
        torch.tensor(concentration), generator=torch.Generator().manual_seed(0)
    ).numpy()


def gammadraw_slope(concentration, draw):
    return torch._standard_gamma_grad(torch.tensor(concentration), torch.tensor(draw)).numpy()


VOCABULARY = {
    "inverse": np.linalg.inv,
    "det": np.linalg.det,
    "pinv": np.linalg.pinv,
    "qr": np.linalg.qr,
    "geqrf": lambda a: (np.linalg.qr(a, "raw")[0].T, np.linalg.qr(a, "raw")[1]),
    "eigh": np.linalg.eigh,
    "svd": np.linalg.svd,
    "eye": np.eye,
    "trace": np.trace,
    "cross": lambda a, b, dim: np.cross(a, b, axis=dim),
    "einsum": np.einsum,
    "bincount": np.bincount,
    "median": _of_rows(_middle),
    "nanmedian": _of_rows(lambda row: _middle(row[~np.isnan(row)])),
    "mode": _of_rows(_most_frequent),
    "len": len,
}
VOCABULARY |= {
    f.__name__: f
    for f in (
        cofactors, mv, triangle, cholesky, symmetric, skew, gaps, matrix_exp, quarters, lu_factor, permutation, lu_lower,
        lu_upper, fit, householder_product, triu_indices, conv, conv_input, conv_weight, conv_transpose, im2col, col2im,
        window_sums, add_to_windows, window_sizes, max_pool, cell_means, cell_maxima, add_to_cells, fractional_max_pool, pick, add_at,
        pad, negative, pixel_shuffle, pixel_unshuffle, channel_shuffle, unit_grid, safe_softmax, causal, sort, nth, unique_consecutive, others, randn, poisson,
        gammadraw, gammadraw_slope,
    )
}  # fmt: skip
VOCABULARY["igamma"] = igamma
VOCABULARY |= {
    name: _again(f"{name}_")
    for name in (
        "uniform",
        "normal",
        "exponential",
        "log_normal",
        "cauchy",
        "geometric",
        "random",
        "bernoulli",
    )
}
