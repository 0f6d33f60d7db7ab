"""Functions that NumPy lacks: the error function, the gamma family, and functions that must not overflow in between.

Arrays in, arrays of the same floating type out (in and out may be 0-d). Nothing here knows of gradients.
"""

import functools
import math

import numpy as np

from ..autograd.metadata import MANY, ones


def in_double(fn):
    """Compute in float64 and return the input's type."""

    def call(x, *args):
        return fn(np.asarray(x, np.float64), *args).astype(x.dtype)[()]

    call.__name__ = call.__qualname__ = fn.__name__
    call.__doc__ = fn.__doc__
    return call


def sigmoid(x):
    """1 / (1 + exp(-x)); exp(-x) may be inf, the result is then 0."""
    return 1 / (1 + np.exp(-x))


def sign(x):
    """-1, 0 or 1; 0 for nan, as PyTorch has it."""
    if x.dtype.kind == "b":
        return x.copy()
    return np.where(x != x, x.dtype.type(0), np.sign(x))


def mean(x, dims, keepdim=False):
    """The mean over some dims, in the type of `x`; nan over nothing."""
    return np.true_divide(x.sum(axis=dims, keepdims=keepdim), count(x.shape, dims), dtype=x.dtype)


@functools.lru_cache(maxsize=16)
def identity(n, dtype):
    """The identity matrix, whose rows are the one-hot vectors."""
    made = np.eye(n, dtype=dtype)
    made.flags.writeable = False
    return made


FEW = 24
"""Up to this many classes it pays to process a matrix of logits by columns: NumPy is slow when its inner loop is short."""


def log_softmax(x, dim):
    """The logarithm of exp(x) / sum(exp(x)) along `dim`, without overflow."""
    if x.ndim != 2 or dim not in (1, -1) or not 0 < x.shape[1] <= MANY:
        z = x - np.maximum.reduce(x, axis=dim, keepdims=True)
        return z - np.log(np.add.reduce(np.exp(z), axis=dim, keepdims=True))
    n, classes = x.shape
    if n >= classes <= FEW:
        z = x.T.copy()
        z -= np.maximum.reduce(z, 0)
        z -= np.log(ones(classes, z.dtype).dot(np.exp(z)))
        return z.T.copy()
    z = x - np.maximum.reduce(x, 1, None, None, True)
    z -= np.log(np.exp(z).dot(ones((classes, 1), z.dtype)))
    return z


def log_softmax_backward(g, y, dim):
    """Its VJP: g - exp(y) * (the sum of g along `dim`), where y is its result."""
    share = np.exp(y)
    if g.ndim == 2 and dim in (1, -1) and g.shape[1] <= FEW:
        share *= g.dot(ones((g.shape[1], g.shape[1]), g.dtype))  # the sum of each row, repeated along the row
    else:
        share *= np.add.reduce(g, dim if g.ndim else None, None, None, True)
    return g - share


def xlogy(x, y, log=None):
    """X * log(y), 0 where x is 0 (but nan where y is nan)."""
    product = x * (np.log(y) if log is None else log)
    return np.where((x == 0) & ~np.isnan(y), product.dtype.type(0), product)


def logcumsumexp(x, dim):
    """The running log(sum(exp(x))) along `dim`: logaddexp, step by step, so that nothing overflows."""
    return np.logaddexp.accumulate(x, axis=dim)


def count(shape, dims):
    """The number of elements behind one result of a reduction over `dims`."""
    n = 1
    for d in dims if dims is not None else range(len(shape)):
        n *= shape[d]
    return n


# erfc(x) * exp(x * x) * (x + 2) for x >= 0 as a Chebyshev series in t = (x - 2) / (x + 2), fitted in 60 digits.
_ERFCX = (
    1.15406747723293938,
    -0.710873842540996975,
    0.130190317657573049,
    -0.00734228479167327833,
    -0.00222568948670526499,
    0.000321516598307561595,
    0.0000655606314834627412,
    -0.0000108848832910100321,
    -3.03093311063429632e-6,
    2.85952163623397298e-7,
    1.64692176548389869e-7,
    2.59256937046131251e-9,
    -8.30944326203039661e-9,
    -1.26941165567256224e-9,
    2.86416454245124474e-10,
    1.23207802104091711e-10,
    4.12242771094433926e-12,
    -7.14298629769540889e-12,
    -1.7172845686503593e-12,
    1.22912004275812611e-13,
    1.48374514971932341e-13,
    2.57900855100646512e-14,
    -4.71745277142126471e-15,
    -3.14586987633718228e-15,
    -4.55659324790929303e-16,
    1.26246609015128596e-16,
    7.1833527063629846e-17,
)


@in_double
def erf(x):
    """The error function: 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x."""
    z = np.minimum(np.abs(x), 1.0)
    term = total = z
    for k in range(1, 20):  # the series around 0, exact to the last digit up to 1
        term = term * (-z * z / k)
        total = total + term / (2 * k + 1)
    near = total * (2 / math.sqrt(math.pi))
    return np.where(np.abs(x) <= 1, np.copysign(near, x), np.copysign(1 - _erfc_positive(np.abs(x)), x))


@in_double
def erfc(x):
    """1 - erf(x), accurate for small results on the right."""
    right = _erfc_positive(np.abs(x))
    return np.where(x >= 0, right, 2 - right)


def _erfc_positive(x):
    x = np.minimum(x, 30.0)  # where erfc is zero in any float
    t = (x - 2) / (x + 2)
    return np.exp(-x * x) * np.polynomial.chebyshev.chebval(t, _ERFCX) / (x + 2)


@in_double
def erfinv(y):
    """The x with erf(x) = y."""
    tail = np.abs(y)
    w = -np.log((1 - tail) * (1 + tail))
    a = 2 / (math.pi * 0.147) - w / 2
    x = np.sqrt(
        np.sqrt(a * a + w / 0.147) - a
    )  # Winitzki's approximation, then Newton on log(erfc), which is nearly linear
    for _ in range(4):
        c = erfc(x)
        x = x + (np.log(c) - np.log1p(-tail)) * c * np.exp(x * x) * (math.sqrt(math.pi) / 2)
    small = tail < 0.5
    for _ in range(2):
        x = np.where(small, x - (erf(x) - tail) * np.exp(x * x) * (math.sqrt(math.pi) / 2), x)
    x = np.where(tail == 1, np.inf, np.where(tail == 0, 0, x))
    return np.where(tail > 1, np.nan, np.copysign(x, y))


def _lgamma(x):
    if abs(x) > 1e300 or (x <= 0 and x == math.floor(x)):  # Python's raises if the result overflows
        return math.inf
    return math.lgamma(x)


_lgamma_of_each = np.frompyfunc(_lgamma, 1, 1)


@in_double
def lgamma(x):
    """Log |gamma(x)|; inf at 0, -1, -2, ..."""
    return np.asarray(_lgamma_of_each(x), np.float64)


@in_double
def bessel(x, n):
    """The modified Bessel function I_n: the mean of exp(x cos t) cos(n t) over a half circle."""
    half = np.sinh if n % 2 else np.cosh  # exp without the factor that cancels
    total = np.zeros_like(x)
    for k in range(200):
        t = (k + 0.5) * math.pi / 200
        total = total + half(x * math.cos(t)) * (math.cos(n * t) / 200)
    return np.where(np.isinf(x), math.nan, total)  # PyTorch divides infinity by infinity there


@in_double
def log_ndtr(x):
    """log((1 + erf(x / sqrt(2))) / 2): far on the left by the logarithm of erfc's series."""
    z = np.abs(x) / math.sqrt(2)
    t = np.where(np.isinf(z), 1, (z - 2) / (z + 2))
    tail = np.log(np.polynomial.chebyshev.chebval(t, _ERFCX) / (z + 2)) - z * z - math.log(2)
    return np.where(x < -1, tail, np.log1p(-erfc(x / math.sqrt(2)) / 2))


def gammainc(a, x):
    """The regularized incomplete gamma function: the probability that a gamma variable of concentration a is at most x."""
    return _incomplete_gamma(a, x)[0]


def gammaincc(a, x):
    """1 - gammainc(a, x), accurate for small results on the right."""
    return _incomplete_gamma(a, x)[1]


def _incomplete_gamma(a, x):
    """Both parts: by the power series where x is below a + 1, by the continued fraction of the upper part elsewhere."""
    kind = x.dtype
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    with np.errstate(all="ignore"):
        density = np.exp(a * np.log(x) - x - lgamma(a))
        ends = [(x == 0) | np.isinf(a), (a == 0) | np.isinf(x)]
        wrong = (ends[0] & ends[1]) | (a < 0) | (x < 0) | np.isnan(a) | np.isnan(x)
        inside = ~(wrong | ends[0] | ends[1])  # elsewhere the series and the fraction go on without an end
        left, large = x < a + 1, a > 1e6
        part = np.zeros(x.shape)
        for here, fn in ((left & ~large & inside, _gamma_series), (~left & ~large & inside, _gamma_fraction)):
            part[here] = np.clip(density[here] * fn(a[here], x[here]), 0, 1)
        part[large] = _gamma_large(a[large], x[large])
    below = np.where(left, part, 1 - part)
    above = np.where(left, 1 - part, part)
    result = []
    for values, at_ends in ((below, (0, 1)), (above, (1, 0))):
        result.append(np.select([wrong, *ends], [np.nan, *at_ends], values).astype(kind)[()])
    return result


def _gamma_series(a, x):
    """The sum of x ** n / (a (a + 1) ... (a + n))."""
    term = total = 1 / a
    for n in range(1, 10000):
        term = term * (x / (a + n))
        total = total + term
        if not (term > total * 1e-17).any():
            break
    return total


def _gamma_fraction(a, x):
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), evaluated forward (Lentz's method)."""
    b = x + 1 - a
    c, d = np.full(x.shape, 1e300), 1 / b
    result, moving = d, np.ones(x.shape, bool)
    for n in range(1, 10000):
        b, factor = b + 2, -n * (n - a)
        d = 1 / (factor * d + b)
        c = b + factor / c
        result = result * (c * d)
        moving &= np.abs(c * d - 1) > 1e-16  # a factor of 1 may become one of 1 + 2e-16 again
        if not moving.any():
            break
    return result


def _gamma_large(a, x):
    """The smaller part for large a, by Temme's expansion: the normal distribution and its first correction."""
    away = x / a - 1
    eta = np.copysign(np.sqrt(2 * (away - np.log1p(away))), away)
    slope = np.where(np.abs(away) < 1e-5, -1 / 3, 1 / away - 1 / eta)
    correction = np.exp(-a * eta * eta / 2) / np.sqrt(2 * math.pi * a) * slope
    side = np.where(x < a + 1, -1, 1)
    return np.clip(0.5 * erfc(side * eta * np.sqrt(a / 2)) + side * correction, 0, 1)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


@in_double
def digamma(x):
    """The derivative of lgamma. Below zero it is reflected, then shifted right to where its asymptotic series holds."""
    reflected = x < 0
    z = np.where(reflected, 1 - x, x)
    shift = 0.0
    for _ in range(10):
        step = z < 10
        shift = shift + np.where(step, 1 / z, 0)
        z = np.where(step, z + 1, z)
    series = 0.0
    for k, b in enumerate(_BERNOULLI, 1):
        series = series + b / (2 * k * z ** (2 * k))
    psi = np.log(z) - 0.5 / z - series - shift
    frac = np.modf(x)[0]  # towards zero, which keeps all digits of small numbers
    psi = np.where(reflected, psi - math.pi / np.tan(math.pi * frac), psi)
    psi = np.where(reflected & (frac == 0), np.nan, psi)
    return np.where(x == 0, np.copysign(np.inf, -x), psi)


@in_double
def polygamma(x, n):
    """The n-th derivative of digamma: a sum of 1 / (x + k) ** (n + 1), with its tail by the Euler-Maclaurin formula."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return trigamma(x)
    s = n + 1
    total = np.zeros(x.shape)
    terms = max(12, math.ceil(12 - np.min(x, initial=0, where=np.isfinite(x))))
    for k in range(terms):
        total = total + (x + k) ** -s
    total = np.where((x <= 0) & (x == np.floor(x)), np.inf, total)
    z = x + terms
    tail = z ** (1 - s) / (s - 1) + 0.5 * z**-s
    factor = float(s)
    power = z ** (-s - 1)
    for k, b in enumerate(_BERNOULLI, 1):
        tail = tail + b * factor / math.factorial(2 * k) * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
        power = power / (z * z)
    return (-1.0) ** s * math.factorial(n) * (total + tail)


def trigamma(x):
    """The derivative of digamma, with PyTorch's six steps and short series, so that the last digits agree too."""
    reflected = x < 0.5
    z = np.where(reflected, 1 - x, x)
    total = np.where(reflected, -((math.pi / np.sin(math.pi * x)) ** 2), 0)
    for _ in range(6):
        total = total + 1 / (z * z)
        z = z + 1
    square = 1 / (z * z)
    total = total + (1 + 1 / (2 * z) + square * (1 / 6 - square * (1 / 30 - square / 42))) / z
    return np.where(reflected, -total, total)


def packed_lu(a):
    """The factors of PA = LU packed in one array, and the row swaps (from 1), as LAPACK gives them."""
    a = np.array(a)
    *batch, m, n = a.shape
    flat = a.reshape(math.prod(batch), m, n)
    pivots = np.empty((len(flat), min(m, n)), np.int32)
    each = np.arange(len(flat))
    for k in range(min(m, n)):
        best = np.abs(flat[:, k:, k]).argmax(1) + k
        pivots[:, k] = best + 1
        rows = flat[each, best].copy()
        flat[each, best] = flat[:, k]
        flat[:, k] = rows
        below, pivot = flat[:, k + 1 :, k], flat[:, k, k][:, None]
        np.divide(below, pivot, out=below, where=pivot != 0)
        flat[:, k + 1 :, k + 1 :] -= below[..., None] * flat[:, k, None, k + 1 :]
    return flat.reshape(a.shape), pivots.reshape(*batch, min(m, n))


def permutation(swaps, n, dtype):
    """The n x n matrix P (or a batch) with A = P LU, from the row swaps of `packed_lu`."""
    flat = swaps.reshape(math.prod(swaps.shape[:-1]), swaps.shape[-1])
    order = np.tile(np.arange(n), (len(flat), 1))
    each = np.arange(len(flat))
    for k, row in enumerate(flat.T - 1):
        order[each, row], order[:, k] = order[:, k].copy(), order[each, row]
    out = np.zeros((len(flat), n, n), dtype)
    out[each[:, None], order, np.arange(n)] = 1
    return out.reshape(*swaps.shape[:-1], n, n)
