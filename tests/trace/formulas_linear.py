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


def triangle(a, upper=False, unitriangular=False):
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


def conv(x, weight, stride=1, padding=0, dilation=1, groups=1):
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


def conv_input(shape, weight, g, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of a convolution for its input: each window gets the weight times its g."""
    nd = len(shape) - 2
    stride, padding, dilation = (_full(v, nd) for v in (stride, padding, dilation))
    x = np.zeros(shape)
    for q in range(groups):
        o_q, c_q = _group(weight.shape[0], groups, q), _group(shape[1], groups, q)
        for k, o, i in _windows(shape[2:], weight.shape[2:], stride, padding, dilation, g.shape[2:]):
            x[(slice(None), c_q, *i)] += g[(slice(None), o_q, *o)] @ weight[(o_q, slice(None), *k)]
    return x


def conv_weight(x, shape, g, stride=1, padding=0, dilation=1, groups=1):
    """The gradient of a convolution for its weight: the sum of all windows, each times its g."""
    nd = len(shape) - 2
    stride, padding, dilation = (_full(v, nd) for v in (stride, padding, dilation))
    w = np.zeros(shape)
    for q in range(groups):
        o_q, c_q = _group(shape[0], groups, q), _group(x.shape[1], groups, q)
        for k, o, i in _windows(x.shape[2:], shape[2:], stride, padding, dilation, g.shape[2:]):
            w[(o_q, slice(None), *k)] += g[(slice(None), o_q, *o)].T @ x[(slice(None), c_q, *i)]
    return w


def conv_transpose(x, weight, stride, padding, dilation, groups, output_padding):
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


def window_sums(x, kernel_size, stride, padding, size):
    """The sum of each window."""
    nd = len(kernel_size)
    y = np.zeros((*x.shape[:-nd], *size))
    for _, o, i in _windows(x.shape[-nd:], kernel_size, stride, padding, (1,) * nd, size):
        y[(..., *o)] += x[(..., *i)]
    return y


def add_to_windows(g, zeros, kernel_size, stride, padding):
    """Each g added to every element of its window."""
    nd = len(kernel_size)
    x = np.array(zeros)
    for _, o, i in _windows(x.shape[-nd:], kernel_size, stride, padding, (1,) * nd, g.shape[-nd:]):
        x[(..., *i)] += g[(..., *o)]
    return x


def window_sizes(shape, kernel_size, stride, padding, size, count_include_pad=False):
    """How many elements each window has, those of the border counted or not."""
    counts = np.zeros(size)
    for o in itertools.product(*map(range, size)):
        n = 1
        for at, k, s, p, length in zip(o, kernel_size, stride, padding, shape[-len(size) :], strict=True):
            start = at * s - p
            end = min(start + k, length + p)
            n *= end - start if count_include_pad else min(end, length) - max(start, 0)
        counts[o] = n
    return counts


def _windows_of(x, kernel_size, stride, padding, dilation, size):
    """(output place, the places of its window), as `_best` takes them."""
    found = {}
    for _, o, i in _windows(x.shape[-len(size) :], kernel_size, stride, padding, dilation, size):
        found.setdefault(o, []).append(i)
    return found.items()


def _cells(x, size):
    """(cell, the places in it) of a grid of cells that covers the image."""
    for o in itertools.product(*map(range, size)):
        sides = [
            range(a * n // m, -(-(a + 1) * n // m))
            for a, n, m in zip(o, x.shape[-len(size) :], size, strict=True)
        ]
        yield o, list(itertools.product(*sides))


def _best(x, size, windows):
    """(the largest of each window, its number in `x`): the first of equal ones."""
    nd = len(size)
    numbers = np.arange(x.size).reshape(x.shape)
    y, winners = np.empty((*x.shape[:-nd], *size)), np.empty((*x.shape[:-nd], *size), int)
    for o, places in windows:
        seen = np.stack([x[(..., *i)] for i in places], -1)
        which = seen.argmax(-1)[..., None]
        y[(..., *o)] = np.take_along_axis(seen, which, -1)[..., 0]
        winners[(..., *o)] = np.take_along_axis(
            np.stack([numbers[(..., *i)] for i in places], -1), which, -1
        )[..., 0]
    return y, winners


def max_pool(x, kernel_size, stride, size, padding=0, dilation=1):
    padding, dilation = (_full(v, len(size)) for v in (padding, dilation))
    return _best(x, size, _windows_of(x, kernel_size, stride, padding, dilation, size))[0]


def max_pool_winners(x, kernel_size, stride, size, padding=0, dilation=1):
    padding, dilation = (_full(v, len(size)) for v in (padding, dilation))
    return _best(x, size, _windows_of(x, kernel_size, stride, padding, dilation, size))[1]


def cell_means(x, size):
    """The image cut into a grid of cells, which may overlap, and the mean of each."""
    y = np.zeros((*x.shape[: -len(size)], *size))
    for o, places in _cells(x, size):
        y[(..., *o)] = sum(x[(..., *i)] for i in places) / len(places)
    return y


def add_to_cells(g, zeros):
    """Each g divided by the size of its cell and added to every element of it."""
    x = np.array(zeros)
    size = g.shape[2:] if np.ndim(x) > 3 else g.shape[1:]
    for o, places in _cells(x, size):
        for i in places:
            x[(..., *i)] += g[(..., *o)] / len(places)
    return x


def cell_maxima(x, size):
    return _best(x, size, _cells(x, size))[0]


def cell_winners(x, size):
    return _best(x, size, _cells(x, size))[1]


def _irregular(x, samples, kernel_size, size):
    """The windows of fractional pooling in each image, where `samples` say how the distances vary: (largest, their numbers)."""
    nd = len(size)
    images = x.reshape(-1, *x.shape[-nd:])
    y, winners = np.empty((len(images), *size)), np.empty((len(images), *size), int)
    for n, (image, u) in enumerate(zip(images, np.reshape(samples, (-1, nd)), strict=True)):
        u = u[::-1] if nd == 2 else u  # of an image the width comes first
        starts = []
        for i in range(nd):
            last = image.shape[i] - kernel_size[i]
            step = last / (size[i] - 1) if size[i] > 1 else 0
            starts.append([int((j + u[i]) * step) - int(u[i] * step) for j in range(size[i] - 1)] + [last])
        windows = [
            (
                o,
                list(
                    itertools.product(
                        *[range(starts[i][a], starts[i][a] + kernel_size[i]) for i, a in enumerate(o)]
                    )
                ),
            )
            for o in itertools.product(*map(range, size))
        ]
        y[n], which = _best(image, size, windows)
        winners[n] = which + n * image.size
    return y.reshape(*x.shape[:-nd], *size), winners.reshape(*x.shape[:-nd], *size)


def fractional_max_pool(x, samples, kernel_size, output_size):
    return _irregular(x, samples, kernel_size, output_size)[0]


def fractional_max_pool_winners(x, samples, kernel_size, output_size):
    return _irregular(x, samples, kernel_size, output_size)[1]


def in_all(places, size):
    """Places counted in each image of `size`, counted in all images together."""
    starts = np.arange(math.prod(np.shape(places)[: -len(size)])) * math.prod(size)
    return places + starts.reshape(*np.shape(places)[: -len(size)], *(1,) * len(size))


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


def interpolate(x, size, mode, scale_factor=None):
    """An image of another size, each place of which copies the nearest of the old ones."""
    for i, m in enumerate(size):
        n = x.shape[2 + i]
        step = n / m if scale_factor is None else 1 / scale_factor[i]
        places = [min(math.floor((k + 0.5 * (mode == "nearest-exact")) * step), n - 1) for k in range(m)]
        x = np.take(x, places, 2 + i)
    return x


_CURVES = {
    "linear, antialias": lambda d: max(0.0, 1 - abs(d)),
    "cubic, antialias": lambda d: _keys(abs(d), -0.5),
    "lanczos, antialias": lambda d: np.sinc(d) * np.sinc(d / 3) if abs(d) < 3 else 0.0,
    "linear": lambda d: max(0.0, 1 - abs(d)),
    "cubic": lambda d: _keys(abs(d), -0.75),
}


def _keys(d, a):
    """The weight of a neighbor at distance `d` in cubic convolution."""
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0


def resizing(n, m, mode, scale_factor=None, align_corners=False):
    """The (m, n) matrix that makes m places of n: how much each old place counts at each new one."""
    if align_corners:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
        at = np.arange(m) * step
    else:
        step = 1 / scale_factor if scale_factor else n / m
        at = (np.arange(m) + 0.5) * step - 0.5
    curve, w = _CURVES[mode], np.zeros((m, n))
    if "antialias" in mode:  # the curve grows wider as the image shrinks
        if n == m:
            return np.eye(n)
        at = (np.arange(m) + 0.5) * step - 0.5
        for j, i in np.ndindex(m, n):
            w[j, i] = curve((i - at[j]) / max(step, 1))
        return w / w.sum(1, keepdims=True)
    at = np.maximum(at, 0) if mode == "linear" else at
    for j in range(m):
        for i in range(math.floor(at[j]) - 1, math.floor(at[j]) + 3):
            w[j, min(max(i, 0), n - 1)] += curve(i - at[j])  # what lies outside counts for the border
    return w


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


def unit_grid(size, align_corners=False):
    """For each place of an image its coordinates from -1 to 1, the last dim first, and a 1."""
    lines = []
    for n in size[2:]:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (n - 1) / n)
    grid = np.meshgrid(*lines, indexing="ij")
    return np.stack([*grid[::-1], np.ones(size[2:])], -1).reshape(-1, len(lines) + 1)


def _reflected(u, low, high):
    """(where `u` is after reflections at both ends, how it moves there)."""
    if high == low:
        return 0.0, 0.0
    span, sign = high - low, 1.0 if u >= low else -1.0
    turns, rest = divmod(abs(u - low), span)
    return (low + rest, sign) if turns % 2 == 0 else (high - rest, -sign)


def _kept_inside(u, n, padding_mode, align_corners):
    """A place along a dim of `n` elements, moved inside (1 the border, 2 reflection), and how it moves."""
    move = 1.0
    if padding_mode == 2:
        u, move = _reflected(u, *((0.0, n - 1.0) if align_corners else (-0.5, n - 0.5)))
    if padding_mode and not 0 < u < n - 1:
        return min(max(u, 0.0), n - 1.0), 0.0
    return u, move


def _cubic(d, near):
    """The weight of one of the two near or the two far neighbors at distance `d`, and its first three derivatives."""
    a, sign, d = -0.75, math.copysign(1.0, d), abs(d)
    curve = np.polynomial.Polynomial([1, 0, -(a + 3), a + 2] if near else [-4 * a, 8 * a, -5 * a, a])
    return [curve.deriv(k)(d) * sign**k for k in range(4)]


def _along_line(x, n, mode, padding_mode, align_corners):
    """Of one coordinate of the grid: the weight of each of `n` elements, and its first three derivatives."""
    scale = (n - 1) / 2 if align_corners else n / 2
    u = (x + 1) * scale if align_corners else (x + 1) * scale - 0.5
    out = np.zeros((4, n))
    if mode == 2:
        first = math.floor(u)
        for i in range(first - 1, first + 3):
            where, _ = _kept_inside(float(i), n, padding_mode, align_corners)
            if 0 <= where < n:
                out[:, int(where)] += _cubic(u - i, first <= i <= first + 1) * scale ** np.arange(4)
        return out
    u, move = _kept_inside(u, n, padding_mode, align_corners)
    if mode == 1:
        if 0 <= round(u) < n:
            out[0, round(u)] = 1
        return out
    first = math.floor(u)
    for i, w, d in ((first, first + 1 - u, -1), (first + 1, u - first, 1)):
        if 0 <= i < n:
            out[:2, i] += w, d * scale * move
    return out


def sample_weights(grid, shape, mode, padding_mode, align_corners, order=0, orders=(0, 0, 0)):
    """How much each element of an image counts at each place of the grid: (n, places, elements).

    order   1: the derivatives by all coordinates of the places (n, dims, places, elements); 2: the second ones (n, dims, dims, ...)
    orders  how often it has been differentiated by each coordinate before
    """
    nd = np.shape(grid)[-1]
    places = np.reshape(grid, (len(grid), -1, nd))
    out = np.zeros((len(grid), *(nd,) * order, places.shape[1], math.prod(shape[2:])))
    for n, p in np.ndindex(*places.shape[:2]):
        lines = [
            _along_line(places[n, p, k], shape[-1 - k], mode, padding_mode, align_corners) for k in range(nd)
        ]
        for by in itertools.product(range(nd), repeat=order):
            whole = np.ones(1)
            for k in reversed(range(nd)):
                whole = np.multiply.outer(whole, lines[k][orders[k] + by.count(k)])
            out[(n, *by, p)] = whole.reshape(-1)
    return out


# -- tables and attention -----------------------------------------------------------------------------


def safe_softmax(x, dim):
    """Softmax, and zeros where everything along the dim is -inf."""
    e = np.exp(x - np.maximum(x.max(dim, keepdims=True), np.finfo(float).min))
    return e / np.maximum(e.sum(dim, keepdims=True), np.finfo(float).tiny)


def bag_of(indices, offsets):
    """For each index the number of its bag."""
    return np.searchsorted(offsets, np.arange(len(indices)), side="right") - 1


def bag_sizes(indices, offsets, padding_idx=None):
    """How many indices are in each bag, the padding not counted."""
    return (
        np.bincount(bag_of(indices, offsets)[indices != padding_idx], minlength=len(offsets))
        if padding_idx is not None
        else np.bincount(bag_of(indices, offsets), minlength=len(offsets))
    )


def _of_bags(indices, offsets, padding_idx):
    bags = bag_of(indices, offsets)
    for b in range(len(offsets)):
        yield (
            b,
            [k for k, i in enumerate(indices) if bags[k] == b and (padding_idx is None or i != padding_idx)],
        )


def embedding_bag(indices, weight, offsets, mode, per_sample_weights=None, padding_idx=None):
    """Rows of a table, added up, averaged or compared within each bag; zeros for an empty one."""
    p = np.ones(len(indices)) if per_sample_weights is None else per_sample_weights
    y = np.zeros((len(offsets), weight.shape[1]))
    for b, members in _of_bags(indices, offsets, padding_idx):
        if members:
            rows = np.stack([p[k] * weight[indices[k]] for k in members])
            y[b] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows, 0)
    return y


def bag_winners(weight, indices, offsets, padding_idx=None):
    """For each bag and column which row of the table has the largest element; 0 for an empty bag."""
    out = np.zeros((len(offsets), weight.shape[1]), int)
    for b, members in _of_bags(indices, offsets, padding_idx):
        if members:
            out[b] = np.asarray(indices)[members][weight[np.asarray(indices)[members]].argmax(0)]
    return out


def causal(s):
    """-inf where a query would look at a later key, else 0."""
    return np.where(np.tri(*np.shape(s)[-2:], dtype=bool), 0, -np.inf)


# -- order --------------------------------------------------------------------------------------------


def sort(x, dim, descending=False):
    """Sorted along a dim; nan counts as the largest."""
    up = np.sort(x, dim) if np.ndim(x) else x
    return np.flip(up, dim) if descending and np.ndim(x) else up


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
}
VOCABULARY |= {
    f.__name__: f
    for f in (
        cofactors, mv, triangle, cholesky, symmetric, skew, gaps, matrix_exp, quarters, lu_factor, permutation, lu_lower,
        lu_upper, fit, householder_product, triu_indices, conv, conv_input, conv_weight, conv_transpose, im2col, col2im,
        window_sums, add_to_windows, window_sizes, max_pool, max_pool_winners, cell_means, add_to_cells, cell_maxima, cell_winners,
        fractional_max_pool, fractional_max_pool_winners, in_all, bag_of, bag_sizes, bag_winners, embedding_bag, pad, pixel_shuffle, pixel_unshuffle, channel_shuffle, unit_grid, interpolate, resizing, sample_weights, safe_softmax, causal, sort, unique_consecutive, randn, poisson,
        gammadraw, gammadraw_slope,
    )
}  # fmt: skip
VOCABULARY["igamma"] = igamma
VOCABULARY |= {
    f"conv{n}d{of}": VOCABULARY[f"conv{of}"] for n in (1, 2, 3) for of in ("", "_input", "_weight")
}
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
