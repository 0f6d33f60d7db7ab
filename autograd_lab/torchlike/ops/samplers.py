"""Rejection sampling, number by number: gamma, Dirichlet, Poisson, binomial; and derivatives of gamma and beta draws by their parameters.

PyTorch's CPU samplers draw random numbers in the order in which they need them. These do the same, so that the samples, and the state of
the generator afterwards, are PyTorch's.
"""

import math

import numpy as np

from ..autograd.errors import CPP_NAMES, not_for
from ..autograd.record import apply
from ..random import rng_of
from . import array_or_tensor as both
from . import numerics
from .comparison import underived
from .rule import Rule, broadcast_shape, function

# -- numbers one by one -----------------------------------------------------------------------------------


class Supply:
    """Uniform and normal numbers of a stream, one by one: reads blocks from it, and returns what was not used."""

    def __init__(self, rng, count):
        self._rng, self._size = rng, 2 * count + 16

    def __enter__(self):
        self._used, self._second = 0, self._rng.second
        self._start = self._rng.state
        self._block, self._next = [], 0
        return self

    def __exit__(self, *exc):
        self._rng.state = self._start
        self._rng.long_words(self._used)
        self._rng.second = self._second

    def uniform(self):
        """The next number from [0, 1)."""
        if self._next == len(self._block):
            self._block, self._next = self._rng.random((self._size,)).tolist(), 0
        number = self._block[self._next]
        self._next += 1
        self._used += 1
        return number

    def normal(self):
        """The next normal number (Box and Muller make two at a time)."""
        if self._second is not None:
            number, self._second = self._second, None
            return number
        turn, length = self.uniform(), self.uniform()
        radius, angle = math.sqrt(-2 * math.log1p(-length)), 2 * math.pi * turn
        self._second = radius * math.sin(angle)
        return radius * math.cos(angle)


def drawn(sample, generator, *parameters):
    """`sample(supply, *numbers)` for each element of some arrays of one shape, in order."""
    rows = zip(*[p.astype(np.float64).ravel().tolist() for p in parameters], strict=True)
    rng = rng_of(generator)
    with rng.drawing, Supply(rng, parameters[0].size) as supply:
        numbers = [sample(supply, *row) for row in rows]
    return np.array(numbers, np.float64).reshape(parameters[0].shape)


def gamma_numbers(generator, a):
    """Gamma samples with concentrations `a`, in double precision; values derived from `a` are first rounded to its type."""
    with np.errstate(divide="ignore"):
        exponent = np.where(a < 1, 1 / a, 0)
    shape = np.where(a < 1, a + a.dtype.type(1), a) - np.float32(1 / 3)
    return drawn(_gamma_number, generator, exponent, shape.astype(a.dtype))


def _gamma_number(supply, exponent, d):
    """Marsaglia and Tsang's method: the cube of a normal number, accepted or drawn again; times u ** exponent."""
    if exponent == math.inf:
        return 0.0
    factor = (1 - supply.uniform()) ** exponent if exponent else 1.0
    c = 1 / math.sqrt(9 * d) if d > 0 else math.nan
    while True:
        x = supply.normal()
        y = 1 + c * x
        while y <= 0:
            x = supply.normal()
            y = 1 + c * x
        v = y * y * y
        u = 1 - supply.uniform()
        square = x * x
        if u < 1 - 0.0331 * square * square:
            return factor * d * v
        if math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return factor * d * v


def _transformed(supply, a, b, centre):
    """One proposal of Hoermann's methods: its uniform numbers, and the resulting integer."""
    u, v = supply.uniform() - 0.5, supply.uniform()
    us = 0.5 - abs(u)
    return us, v, math.floor((2 * a / us + b) * u + centre) if us else -1


def poisson_number(supply, rate):
    """A Poisson sample: by transformed rejection (Hoermann's PTRS) for rates from 10 on, otherwise by multiplying until exp(-rate)."""
    if rate == 0:
        return 0.0
    if rate < 10:
        least, product, count = math.exp(-rate), supply.uniform(), 0
        while product > least:
            product *= supply.uniform()
            count += 1
        return float(count)
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse, sure = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        us, v, k = _transformed(supply, a, b, rate + 0.43)
        if us >= 0.07 and v <= sure:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        height = math.log(v) + math.log(inverse) - math.log(a / (us * us) + b)
        if height <= -rate + k * log_rate - math.lgamma(k + 1):
            return float(k)


def binomial_numbers(generator, count, p):
    """Binomial samples: by rejection (Hoermann's BTRS) for many trials, by the waiting times between successes for few.

    For p above one half, failures are counted. Values derived from `count` and `p` are rounded to their type.
    """
    with np.errstate(all="ignore"):
        often = p > 0.5
        rare = np.where(often & (p < 1), 1 - p, p)
        deviation = np.sqrt(count * rare * (1 - rare))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * rare
        sure, odds = 0.92 - 4.2 / b, rare / (1 - rare)
        alpha = (2.83 + 5.1 / b) * deviation
        centre, m = count * rare + 0.5, np.floor((count + 1) * rare)
        many = count * rare >= 10
    numbers = drawn(_binomial_number, generator, *(count, rare, many, a, b, centre, sure, odds, alpha, m))
    return np.where(often & (p < 1) & (count > 0), count - numbers, numbers)


def _binomial_number(supply, count, p, many, *known):
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return count
    if p != p:
        return math.nan
    return _by_rejection(supply, count, *known) if many else _by_waiting(supply, count, p)


def _by_waiting(supply, count, p):
    log_failure, waited, successes = math.log1p(-p), 0.0, 0
    while True:
        u = supply.uniform()
        waited += math.ceil(math.log(u) / log_failure) if u else math.inf
        if waited > count:
            return float(successes)
        successes += 1


def _stirling_rest(k):
    """The correction to Stirling's formula for log(k!)."""
    if k <= 9:
        return math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1) - 0.5 * math.log(2 * math.pi)
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _by_rejection(supply, count, a, b, centre, sure, odds, alpha, m):
    while True:
        us, v, k = _transformed(supply, a, b, centre)
        if us >= 0.07 and v <= sure:
            return float(k)
        if k < 0 or k > count:
            continue
        height = math.log(v * alpha / (a / (us * us) + b))
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_rest(m)
            + _stirling_rest(count - m)
            - _stirling_rest(k)
            - _stirling_rest(count - k)
        )
        if height <= bound:
            return float(k)


# -- how a draw moves with its parameters -----------------------------------------------------------------
#
# The draw x of a given uniform number u solves cdf(x; a) = u: so dx/da = -(d cdf/da) / (d cdf/dx). PyTorch uses approximations of it, good
# to about four digits, and so do these functions, so that gradients agree. The rational ones were fitted to PyTorch's results: their
# coefficients solve numerator = result * denominator at thousands of points.

_GAMMA = np.array(
    [
        [
            (0.16009398, -0.094634809, 0.025146376, -0.0030648343),
            (0.53487893, 0.1298071, 0.065735949, -0.0015649758),
            (0.040121004, -0.0065914022, -0.0026286047, -0.0013441777),
        ],
        [
            (1, 0.32668115, 0.10406089, 0.0014179084),
            (0.16639465, 0.020070113, -0.0035938915, -0.00058392623),
            (0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07),
        ],
    ]
)
"""[numerator, denominator][power of log(x / a)][power of log(a)]."""

_BETA = np.array(
    [
        [
            (1.003668233, -0.01061107488, -0.0657888334, 0.01201642863),
            (0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033),
            (-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013),
            (0.221950385, -0.3187676331, 0.01799915743, 0.01074823814),
            (-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057),
            (0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05),
            (-0.05980841433, 0.008441916498, 0.01085618172, 0.002319392565),
            (0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181),
            (0.005900514878, -0.001936558688, -9.495446728e-06, 5.385558597e-05),
        ],
        [
            (1, -0.02924021934, -0.04438342661, 0.007285809825),
            (0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521),
            (-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149),
            (0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273),
            (0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956),
            (-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05),
            (0.06469649321, -0.0236701437, 0.002902096474, -5.89696308e-05),
            (0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05),
            (-0.0003477407336, 6.959756488e-05, 1.097287507e-05, -1.650964693e-06),
        ],
    ]
).reshape(2, 3, 3, 4)
"""[numerator, denominator][power of u][power of v][power of w]: see `_beta_middle`."""


def _by_region(conditions, functions, *arrays):
    """Elementwise: the first function whose condition holds, or the last one if none does."""
    arrays = np.broadcast_arrays(*arrays)
    result, left = np.zeros(arrays[0].shape), np.ones(arrays[0].shape, bool)
    for condition, fn in zip([*conditions, left], functions, strict=True):
        here = left & condition
        result[here] = fn(*[a[here] for a in arrays])
        left = left & ~here
    return result


def gamma_slope(a, x):
    """dx/da of gamma draws x with concentrations a (torch._standard_gamma_grad)."""
    kind = x.dtype
    a, x = [np.asarray(v, np.float64) for v in (a, x)]
    with np.errstate(all="ignore"):
        slope = _by_region(
            [x < 0.8, (a > 8) & (0.9 * a <= x) & (x <= 1.1 * a), a > 8],
            [_gamma_small_x, _gamma_centre, _gamma_large, _gamma_middle],
            *(a, x),
        )
    return slope.astype(kind)


def _gamma_small_x(a, x):
    """By the power series of the cdf in x."""
    term, plain, squared = np.ones(x.shape), 1 / a, 1 / (a * a)
    for i in range(1, 6):
        term = term * (-x / i)
        plain = plain + term / (a + i)
        squared = squared + term / ((a + i) * (a + i))
    power, density = x**a, x ** (a - 1) * np.exp(-x)
    by_a = (np.log(x) - numerics.digamma(a)) * power * plain - power * squared
    slope = -by_a / density
    return np.where(np.isnan(slope), 0, slope)


def _gamma_centre(a, x):
    """For large a and x near it: the Taylor series of `_gamma_large` about x = a."""
    first = 1 + 24 * a * (1 + 12 * a)
    second = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    return first * second / (1244160 * a**4)


def _gamma_large(a, x):
    """Large a: Rice's saddle point expansion of the cdf."""
    log, apart = np.log(x / a), a - x
    steep = (x - a - a * log) ** -1.5
    inner = np.sqrt(8 * a) / apart + np.where(x < a, -steep, steep)
    outer = log * inner - np.sqrt(2 / a) * (a + x) / (apart * apart)
    stirling = 1 + (1 + 1 / (24 * a)) / (12 * a)
    return -stirling * x * outer / np.sqrt(8 * a)


def _gamma_middle(a, x):
    u, v = np.log(x / a), np.log(a)
    top, bottom = [np.polynomial.polynomial.polyval2d(u, v, c) for c in _GAMMA]
    return np.exp(top / bottom)


def beta_slope(x, a, total):
    """dx/da / (1 - x) of beta draws x with concentrations a and total - a (torch._dirichlet_grad).

    Computed in double precision. PyTorch uses single precision for float32, and loses up to two digits where two nearly equal digammas are
    subtracted (if the other concentration is small compared to a).
    """
    kind = x.dtype
    x, a, total = [np.asarray(v, np.float64) for v in (x, a, total)]
    b, edge, rise = total - a, total * x * (1 - x), numerics.digamma(total) - numerics.digamma(a)
    many = (a > 6) & (b > 6)
    with np.errstate(all="ignore"):
        slope = _by_region(
            [
                (x <= 0.5) & (edge < 2.5),
                (x >= 0.5) & (edge < 0.75),
                many & (np.abs(x - a / total) <= _near(a, b)),
                many,
            ],
            [_beta_small_x, _beta_small_rest, _beta_centre, _beta_large, _beta_middle],
            *(x, a, b, rise),
        )
    return slope.astype(kind)


def _near(a, b):
    """A tenth of a standard deviation of beta draws."""
    return 0.1 * np.sqrt(a * b / (a + b + 1)) / (a + b)


def _beta_small_x(x, a, b, rise):
    """By the power series of the cdf in x."""
    factor = -rise - np.log(x)
    term, series = np.ones(x.shape), (1 / a) * (factor + 1 / a)
    for i in range(1, 11):
        term = term * (i - b) * x / i
        series = series + term / (a + i) * (factor + 1 / (a + i))
    slope = x * (1 - x) ** -b * series
    return np.where(np.isnan(slope), 0, slope)


def _beta_small_rest(x, a, b, rise):
    """By the power series in 1 - x of the draw with a and b exchanged."""
    x, a, b = 1 - x, b, a
    term, betas, slopes, series = np.ones(x.shape), 1.0, 0.0, rise / a
    for i in range(1, 9):
        term = term * -x / i
        slopes = slopes * (b - i) + betas
        betas = betas * (b - i)
        series = series + term / (a + i) * (slopes + rise * betas)
    slope = (1 - x) ** (1 - b) * series
    return np.where(np.isnan(slope), 0, slope)


def _beta_centre(x, a, b, _):
    """For large a and b and x near the mean: the Taylor series of `_beta_large`."""
    total = a + b
    factor = (1 + 12 * a) * (1 + 12 * b) / (total * total) / (12960 * a**3 * b**2 * (1 + 12 * total))
    fourth = 47 * x * b**4
    third = (43 + 20 * (16 + 27 * b) * x) * b**3
    second = 3 * (59 + 180 * b - 90 * x) * b**2
    first = (453 + 1620 * b * (1 - x) - 455 * x) * b
    last = 8 * (1 - x) * (135 * b - 11)
    return factor / (1 - x) * (fourth + a * (third + a * (second + a * (first + a * last))))


def _stirling(x):
    return 1 + 1 / (12 * x) + 1 / (288 * x * x)


def _beta_large(x, a, b, _):
    """Large a and b: Rice's saddle point expansion of the cdf."""
    total = a + b
    apart = a * (x - 1) + b * x
    first = (2 * a * a * (x - 1) + a * b * (x - 1) - x * b * b) / (
        np.sqrt(2 * a / b) * total**1.5 * apart * apart
    )
    steep = (b * np.log(b / (total * (1 - x))) + a * np.log(a / (total * x))) ** -1.5
    inner = np.sqrt(8 * a * b / total) / apart + np.where(x < a / total, steep, -steep)
    stirling = _stirling(a) * _stirling(b) / _stirling(total)
    return stirling * (-x / np.sqrt(2 * a * b / total)) * (first + 0.5 * np.log(a / (total * x)) * inner)


def _beta_middle(x, a, b, rise):
    """An analytic approximation, corrected by a quotient of polynomials in u = log x, v = log(a / x), w = log(total) - v."""
    u = np.log(x)
    v = np.log(a) - u
    w = np.log(a + b) - v
    top, bottom = [np.polynomial.polynomial.polyval3d(u, v, w, c) for c in _BETA]
    return top / bottom * x * rise / b


# -- the functions of torch -------------------------------------------------------------------------------


def _same_types(*tensors):
    first = tensors[0].dtype
    for t in tensors[1:]:
        if t.dtype != first:
            names = [CPP_NAMES[kind.np.name].capitalize() for kind in (t.dtype, first)]
            raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")


class StandardGammaBackward0(Rule):
    """Gamma numbers of rate 1, drawn by rejection; the gradient keeps the probability of a smaller draw.

    Math: y = gammadraw(a).   VJP: g * gammadraw_slope(a, y). The gradient keeps the probability of a smaller draw.
    Shapes: elementwise.   Saves: a, y.   PyTorch: torch._standard_gamma
    """

    op = "_standard_gamma"
    no_jvp = "_standard_gamma"
    saves = ("self", "result")

    def forward(a, generator):
        if a.dtype.kind != "f":
            raise not_for(a.dtype, "gamma_cpu")
        numbers = gamma_numbers(generator, a).astype(a.dtype)
        return np.fmax(numbers, np.finfo(a.dtype).tiny)

    def vjp(self, g, a, result):
        return g * both.run(StandardGammaGradBackward0, (a, result))


class StandardGammaGradBackward0(Rule):
    """How gamma draws move with their concentration. PyTorch has no derivative for it.

    Math: y = gammadraw_slope(a, b).   VJP: to a, b: nothing.
    Shapes: elementwise.   Saves: nothing.   PyTorch: torch._standard_gamma_grad
    """

    op = "_standard_gamma_grad"
    inputs = ("self", "output")
    no_jvp = "_standard_gamma_grad"
    forward = gamma_slope

    def vjp(self, g):
        raise NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented.")


class PoissonBackward0(Rule):
    """Poisson numbers, drawn by rejection: no gradient passes through.

    Math: y = poisson(a).   VJP: 0.   Shapes: elementwise.   Saves: nothing.   PyTorch: torch.poisson
    """

    op = "poisson"

    def forward(rates, generator):
        if rates.dtype.kind != "f":
            raise not_for(rates.dtype, "poisson_cpu")
        if not (rates >= 0).all():
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return drawn(poisson_number, generator, rates).astype(rates.dtype)

    def vjp(self, g):
        return both.zeros_like(g)


@function(method=False)
def poisson(input, generator=None):
    """Poisson samples with rates `input`, by rejection sampling (torch.poisson)."""
    return apply(PoissonBackward0, (input,), generator)


@function(method=False)
def binomial(count, prob, generator=None):
    """Binomial samples: successes in `count` trials with probability `prob`, by rejection sampling (torch.binomial)."""
    for name, t in (("count", count), ("prob", prob)):
        if t._data.dtype.kind != "f":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {t.dtype.type_name}"
            )
    _same_types(count, prob)
    shape = broadcast_shape([count._data, prob._data])
    trials, chances = [np.broadcast_to(t._data, shape) for t in (count, prob)]
    numbers = binomial_numbers(generator, trials, chances).astype(count._data.dtype)
    return underived("binomial", (count, prob), numbers)


@function(method=False)
def _standard_gamma(input, generator=None):
    """Gamma samples of rate 1 with concentrations `input`, by rejection sampling (torch._standard_gamma)."""
    return apply(StandardGammaBackward0, (input,), generator)


@function(method=False)
def _standard_gamma_grad(input, output):
    """The derivative of gamma draws `output` by their concentrations `input` (torch._standard_gamma_grad)."""
    _same_types(input, output)
    return apply(StandardGammaGradBackward0, (input, output))


@function(method=False)
def _sample_dirichlet(input, generator=None):
    """Dirichlet samples with concentrations `input`, made from gamma samples (torch._sample_dirichlet)."""
    a = input._data
    if a.dtype.kind != "f":
        raise not_for(a.dtype, "dirichlet")
    numbers = gamma_numbers(generator, a.astype(np.float64))
    with np.errstate(invalid="ignore"):
        parts = (numbers / numbers.sum(-1, keepdims=True) if a.ndim else numbers / numbers).astype(a.dtype)
    below_one = np.nextafter(a.dtype.type(1), a.dtype.type(0))
    parts = np.minimum(np.maximum(parts, np.finfo(a.dtype).tiny), below_one)
    return underived("_sample_dirichlet", (input,), parts)


@function(method=False)
def _dirichlet_grad(x, alpha, total):
    """The derivative of each part `x` of a Dirichlet draw by its own concentration `alpha` (torch._dirichlet_grad)."""
    _same_types(x, alpha, total)
    slope = beta_slope(x._data, alpha._data, total._data)
    return underived("_dirichlet_grad", (x, alpha, total), slope)
