"""Distributions of numbers on the line, on half of it, or on an interval."""

import math

import autograd_lab as torch

from . import constraints
from .combined import TransformedFamily
from .distribution import ExponentialFamily, Family
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform
from .utils import broadcast_all, eps, euler_constant, lazy_property, standard_normal, tiny


class LocationScale(Family):
    """Families moved by `loc` and stretched by `scale`."""

    arg_constraints: dict = {"loc": constraints.real, "scale": constraints.positive}
    support: constraints.Constraint = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)


class Normal(LocationScale, ExponentialFamily):
    """Gaussians with mean `loc` and standard deviation `scale`."""

    arg_constraints = LocationScale.arg_constraints
    _mean_carrier_measure = 0

    mean = mode = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (
            -((value - self.loc) ** 2) / (2 * self.scale**2)
            - self.scale.log()
            - math.log(math.sqrt(2 * math.pi))
        )

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)

    _natural_params = property(
        lambda self: (self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal())
    )

    def _log_normalizer(self, x, y):
        return -0.25 * x.pow(2) / y + 0.5 * torch.log(-math.pi / y)


class Laplace(LocationScale):
    """Two exponential distributions, back to back at `loc`."""

    arg_constraints = LocationScale.arg_constraints

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.pow(2))
    stddev = property(lambda self: (2**0.5) * self.scale)

    def rsample(self, sample_shape=()):
        drawn = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(eps(self.loc) - 1, 1)
        return self.loc - self.scale * drawn.sign() * torch.log1p(-drawn.abs())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)


class Cauchy(LocationScale):
    """The quotient of two centred normal numbers, `scale` wide at half height."""

    arg_constraints = LocationScale.arg_constraints

    mean = property(lambda self: torch.full(self._extended_shape(), math.nan, dtype=self.loc.dtype))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.loc.dtype))

    def rsample(self, sample_shape=()):
        drawn = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + drawn * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Family):
    """Numbers from [low, high)."""

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: math.nan * self.high)
    stddev = property(lambda self: (self.high - self.low) / 12**0.5)
    variance = property(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape=()):
        drawn = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return torch.log(inside) - torch.log(self.high - self.low)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch.log(self.high - self.low)


class Exponential(Family, ExponentialFamily):
    """Waiting times with the given rate."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    mean = stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: torch.zeros_like(self.rate))
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape=()):
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value):
        return -torch.log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - torch.log(self.rate)

    _natural_params = property(lambda self: (-self.rate,))

    def _log_normalizer(self, x):
        return -torch.log(-x)


class GeneralizedPareto(Family):
    """Excesses over a threshold `loc`: a tail that is heavy (concentration > 0), exponential (0) or ends (< 0)."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, torch.where(self.concentration < 0, end, math.inf))

    def rsample(self, sample_shape=()):
        drawn = torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.icdf(drawn)

    def _near_zero(self, concentration):
        return torch.isclose(concentration, torch.zeros_like(concentration))

    def _standardized(self, x):
        return (x - self.loc) / self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, k = self._standardized(value), self.concentration
        zero = self._near_zero(k)
        k = torch.where(zero, torch.ones_like(k), k)
        where_not = -(1 + 1 / k) * torch.log1p(k * z)
        return torch.where(zero, -z, where_not) - self.scale.log()

    def log_survival_function(self, value):
        """log(1 - cdf(value))."""
        if self._validate_args:
            self._validate_sample(value)
        z, k = self._standardized(value), self.concentration
        zero = self._near_zero(k)
        k = torch.where(zero, torch.ones_like(k), k)
        return torch.where(zero, -z, -torch.log1p(k * z) / k)

    def log_cdf(self, value):
        """log(cdf(value))."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        k = self.concentration
        zero = self._near_zero(k)
        safe = torch.where(zero, torch.ones_like(k), k)
        log_left = torch.log1p(-value)
        where_zero = self.loc - self.scale * log_left
        where_not = self.loc + self.scale / safe * torch.expm1(-safe * log_left)
        return torch.where(zero, where_zero, where_not)

    @property
    def mean(self):
        k = self.concentration
        safe = torch.where(k < 1, k, 0.5)
        return torch.where(k < 1, self.loc + self.scale / (1 - safe), math.inf)

    mode = property(lambda self: self.loc)

    @property
    def variance(self):
        k = self.concentration
        safe = torch.where(k < 0.5, k, 0.25)
        return torch.where(k < 0.5, self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe)), math.inf)

    def entropy(self):
        return torch.log(self.scale) + self.concentration + 1


# -- made of others by transforms -----------------------------------------------------------------------


class LogNormal(TransformedFamily):
    """Numbers whose logarithm is normal with mean `loc` and standard deviation `scale`."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale), ExpTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = property(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self):
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class _Half(TransformedFamily):
    """The absolute values of a distribution that is even about 0."""

    arg_constraints: dict = {"scale": constraints.positive}
    support: constraints.Constraint = constraints.nonnegative
    has_rsample = True

    scale = property(lambda self: self.base_dist.scale)
    mode = property(lambda self: torch.zeros_like(self.scale))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute values of Normal(0, scale)."""

    arg_constraints = _Half.arg_constraints

    def __init__(self, scale, validate_args=None):
        base = Normal(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """The absolute values of Cauchy(0, scale)."""

    arg_constraints = _Half.arg_constraints

    def __init__(self, scale, validate_args=None):
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    mean = property(lambda self: torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype))
    variance = property(lambda self: self.base_dist.variance)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value = torch.as_tensor(value, dtype=self.base_dist.scale.dtype)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)


class Gumbel(TransformedFamily):
    """The largest of many numbers, in the limit."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        low = torch.full_like(self.loc, tiny(self.loc))
        base = Uniform(low, torch.full_like(self.loc, 1 - eps(self.loc)), validate_args=validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-torch.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


class Pareto(TransformedFamily):
    """Numbers from `scale` on, larger than x with probability (scale / x) ** alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)  # infinite up to 1
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale)

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)  # infinite up to 2
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedFamily):
    """Waiting times whose rate grows (concentration > 1) or falls (< 1) with time."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(torch.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new.concentration_reciprocal = new.concentration.reciprocal()

    def _moment(self, n):
        """Log of the n-th moment of scale 1."""
        return torch.lgamma(1 + n * self.concentration_reciprocal)

    mean = property(lambda self: self.scale * torch.exp(self._moment(1)))

    @property
    def mode(self):
        shape = (self.concentration - 1) / self.concentration
        return self.scale * shape ** self.concentration.reciprocal()

    @property
    def variance(self):
        return self.scale.pow(2) * (torch.exp(self._moment(2)) - torch.exp(2 * self._moment(1)))

    def entropy(self):
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + torch.log(self.scale * inverse) + 1


class Kumaraswamy(TransformedFamily):
    """Numbers from (0, 1), much like Beta's, with a cdf in closed form: 1 - (1 - x ** a) ** b."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            torch.full_like(self.concentration0, 0),
            torch.full_like(self.concentration0, 1),
            validate_args=validate_args,
        )
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def _moment(self, n):
        a, b = self.concentration1, self.concentration0
        first = 1 + n / a
        log = torch.lgamma(first) + torch.lgamma(b) - torch.lgamma(first + b)
        return b * torch.exp(log)

    mean = property(lambda self: self._moment(1))

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        log = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return log.exp().masked_fill((a < 1) | (b < 1), math.nan)

    variance = property(lambda self: self._moment(2) - torch.pow(self.mean, 2))

    def entropy(self):
        first, second = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = torch.digamma(self.concentration0 + 1) + euler_constant
        return second + first * harmonic - torch.log(self.concentration1) - torch.log(self.concentration0)


# -- on the circle --------------------------------------------------------------------------------------

# Abramowitz and Stegun, 9.8.1 to 9.8.4: polynomials in (x / 3.75) ** 2 up to 3.75, in 3.75 / x beyond; right to 2e-7.
_BESSEL = (
    (
        (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
        (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377),
    ),
    (
        (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
        (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059),
    ),
)  # fmt: skip


def _polynomial(coefficients, y):
    result = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = c + y * result
    return result


def _log_bessel(x, order):
    """The logarithm of the modified Bessel function of order 0 or 1."""
    near, far = _BESSEL[order]
    small = _polynomial(near, (x / 3.75) ** 2)
    small = (x.abs() * small if order else small).log()
    large = x - 0.5 * x.log() + _polynomial(far, 3.75 / x).log()
    return torch.where(x < 3.75, small, large)


class VonMises(Family):
    """Angles about `loc`: the normal distribution's counterpart on the circle."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """One minus the mean length of the cosine."""
        k = self.concentration
        return 1 - (_log_bessel(k, 1) - _log_bessel(k, 0)).exp()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        return k * torch.cos(value - self.loc) - math.log(2 * math.pi) - _log_bessel(k, 0)

    @lazy_property
    def _proposal_r(self):
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=()):
        """Best and Fisher's rejection: all angles are proposed again until each was accepted once."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            r = self._proposal_r.expand(shape)
            k = self.concentration.double().expand(shape)
            angles, done = torch.empty(shape, dtype=r.dtype), torch.zeros(shape, dtype=torch.bool)
            while not done.all():
                u1, u2, u3 = torch.rand((3, *shape), dtype=r.dtype).unbind()
                z = torch.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                angles = torch.where(accept, (u3 - 0.5).sign() * f.acos(), angles)
                done = done | accept
            angles = (angles + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return angles.to(self.loc.dtype)


__all__ = [
    "Cauchy",
    "Exponential",
    "GeneralizedPareto",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Kumaraswamy",
    "Laplace",
    "LogNormal",
    "Normal",
    "Pareto",
    "Uniform",
    "VonMises",
    "Weibull",
]
