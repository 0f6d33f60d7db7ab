"""torch.distributions, the ones in common use: draw, weigh, compare; `rsample` passes gradients to the parameters.

A distribution has a batch_shape (independent ones side by side) and an event_shape (of one draw).
"""

import math

from .autograd import no_grad
from .autograd.variable import Variable
from .creation import FACTORIES, tensor
from .dtypes import Size
from .linalg import cholesky, inv, solve_triangular
from .ops.rule import FUNCTIONS
from .places import find_place


def _broadcast(*values):
    """Numbers and tensors as tensors of one shape."""
    like = next((v for v in values if isinstance(v, Variable)), None)
    given = [
        v if isinstance(v, Variable) else tensor(float(v), dtype=None if like is None else like.dtype)
        for v in values
    ]
    return list(FUNCTIONS["broadcast_tensors"](*given))


class Distribution:
    """What all distributions share (torch.distributions.Distribution).

    batch_shape, event_shape; sample(shape) and rsample(shape) give shape + batch_shape + event_shape, log_prob a value for
    each element of the batch. Without a formula a method raises NotImplementedError.
    """

    has_rsample = False
    names = ()

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)

    @property
    def batch_shape(self):
        """The shape of independent distributions side by side."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw."""
        return self._event_shape

    def _extended(self, sample_shape):
        return (*tuple(sample_shape), *self._batch_shape, *self._event_shape)

    def sample(self, sample_shape=()):
        """A draw, as a constant."""
        with no_grad():
            return self.rsample(sample_shape)

    def enumerate_support(self, expand=True):
        """All values, along a new first dim; with `expand` for every element of the batch, else of its shape with ones."""
        raise NotImplementedError(
            f"{type(self).__name__} cannot list its values: its support is not a finite set of them"
        )

    def _enumerated(self, values, expand):
        values = values.reshape(-1, *(1,) * len(self._batch_shape), *self._event_shape)
        shape = (-1, *self._batch_shape, *self._event_shape)
        return values.expand(shape) if expand else values

    def rsample(self, sample_shape=()):
        """A draw with a gradient to the parameters."""
        raise NotImplementedError(
            f"{type(self).__name__} has no rsample: its draws have no derivative by the parameters"
        )

    def log_prob(self, value):
        """The logarithm of the density (or probability) at `value`."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__} has no entropy here")

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def __repr__(self):
        shown = ", ".join(
            f"{n}: {v if v.numel() == 1 else v.size()}"
            for n in self.names
            if (v := self.__dict__.get(n)) is not None
        )
        return f"{type(self).__name__}({shown})"


class Normal(Distribution):
    """Gaussians with mean `loc` and standard deviation `scale`."""

    has_rsample = True
    names = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        _positive(self, "scale", self.scale)
        super().__init__(self.loc.shape)

    mean = mode = property(lambda self: self.loc, doc="The mean.")
    variance = property(lambda self: self.scale.pow(2), doc="The variance.")
    stddev = property(lambda self: self.scale, doc="The standard deviation.")

    def sample(self, sample_shape=()):
        shape = self._extended(sample_shape)
        with no_grad():
            return FUNCTIONS["normal"](self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        return self.loc + _standard_normal(self._extended(sample_shape), self.loc) * self.scale

    def log_prob(self, value):
        return (
            -((value - self.loc) ** 2) / (2 * self.scale**2)
            - self.scale.log()
            - math.log(math.sqrt(2 * math.pi))
        )

    def cdf(self, value):
        """The probability of a draw below `value`."""
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value):
        """The number that a draw stays below with probability `value`."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class LogNormal(Distribution):
    """Numbers whose logarithm is normal with mean `loc` and standard deviation `scale`."""

    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.base_dist = Normal(loc, scale)
        super().__init__(self.base_dist.batch_shape)

    loc = property(lambda self: self.base_dist.loc, doc="The mean of the logarithm.")
    scale = property(lambda self: self.base_dist.scale, doc="The standard deviation of the logarithm.")
    mean = property(lambda self: (self.loc + self.scale.pow(2) / 2).exp(), doc="The mean.")
    variance = property(
        lambda self: self.scale.pow(2).expm1() * (2 * self.loc + self.scale.pow(2)).exp(), doc="The variance."
    )

    def sample(self, sample_shape=()):
        with no_grad():
            return self.base_dist.sample(sample_shape).exp()

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape).exp()

    def log_prob(self, value):
        logarithm = value.log()
        return self.base_dist.log_prob(logarithm) - logarithm

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class Uniform(Distribution):
    """Numbers from [low, high)."""

    has_rsample = True
    names = ("low", "high")

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = _broadcast(low, high)
        super().__init__(self.low.shape)

    mean = property(lambda self: (self.high + self.low) / 2, doc="The mean.")
    variance = property(lambda self: (self.high - self.low).pow(2) / 12, doc="The variance.")

    def rsample(self, sample_shape=()):
        draws = FACTORIES["empty"](self._extended(sample_shape), dtype=self.low.dtype).uniform_(0, 1)
        return self.low + draws * (self.high - self.low)

    def log_prob(self, value):
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def entropy(self):
        return (self.high - self.low).log()


class Exponential(Distribution):
    """Waiting times with the given rate."""

    has_rsample = True
    names = ("rate",)

    def __init__(self, rate, validate_args=None):
        (self.rate,) = _broadcast(rate)
        _positive(self, "rate", self.rate)
        super().__init__(self.rate.shape)

    mean = stddev = property(lambda self: self.rate.reciprocal(), doc="The mean.")
    variance = property(lambda self: self.rate.pow(-2), doc="The variance.")

    def rsample(self, sample_shape=()):
        draws = FACTORIES["empty"](self._extended(sample_shape), dtype=self.rate.dtype).exponential_()
        return draws / self.rate

    def log_prob(self, value):
        return self.rate.log() - self.rate * value

    def entropy(self):
        return 1.0 - self.rate.log()


class Bernoulli(Distribution):
    """Ones with probability `probs` (or with log odds `logits`), else zeros."""

    names = ("probs", "logits")

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            (self.probs,) = _broadcast(probs)
            _within(self, "probs", self.probs, "Interval(lower_bound=0.0, upper_bound=1.0)")
            self._logits = None
        else:
            (self._logits,) = _broadcast(logits)
            self.logits = self._logits
        super().__init__((self.probs if probs is not None else self._logits).shape)

    def __getattr__(self, name):
        if name == "probs":
            self.probs = self._logits.sigmoid()
            return self.probs
        if name == "logits":
            p = None if self._logits is not None else self.probs
            self.logits = self._logits if p is None else _clamped(p).log() - (-_clamped(p)).log1p()
            return self.logits
        raise AttributeError(name)

    mean = property(lambda self: self.probs, doc="The probability of a one.")
    variance = property(lambda self: self.probs * (1 - self.probs), doc="The variance.")

    def enumerate_support(self, expand=True):
        return self._enumerated(FACTORIES["arange"](2, dtype=self.probs.dtype), expand)

    def sample(self, sample_shape=()):
        with no_grad():
            return FUNCTIONS["bernoulli"](self.probs.expand(self._extended(sample_shape)))

    def log_prob(self, value):
        return -_bce(*FUNCTIONS["broadcast_tensors"](self.logits, value))

    def entropy(self):
        return _bce(self.logits, self.probs)


class Categorical(Distribution):
    """One of the numbers 0 .. n - 1, with probabilities `probs` (or `logits`) along the last dim, which need not sum to one."""

    names = ("probs", "logits")

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = probs if probs is not None else logits
        if given.dim() < 1:
            raise ValueError(
                f"`{'probs' if logits is None else 'logits'}` parameter must be at least one-dimensional."
            )
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
            _within(self, "probs", self.probs, "Simplex()")
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1])

    def __getattr__(self, name):
        if name == "probs":
            self.probs = FUNCTIONS["softmax"](self.logits, -1)
            return self.probs
        if name == "logits":
            self.logits = _clamped(self.probs).log()
            return self.logits
        raise AttributeError(name)

    @property
    def mode(self):
        """The likeliest number."""
        return self.probs.argmax(-1)

    def enumerate_support(self, expand=True):
        return self._enumerated(FACTORIES["arange"](self._num_events), expand)

    def sample(self, sample_shape=()):
        count = math.prod(tuple(sample_shape))
        with no_grad():
            drawn = self.probs.reshape(-1, self._num_events).multinomial(count, True).T
            return drawn.reshape(self._extended(sample_shape))

    def log_prob(self, value):
        value, logits = FUNCTIONS["broadcast_tensors"](value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=_least(self.logits))
        return -(logits * self.probs).sum(-1)


class OneHotCategorical(Distribution):
    """Categorical draws as vectors with a single one."""

    names = ("probs", "logits")

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,))

    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    logits = property(lambda self: self._categorical.logits, doc="Their logarithms.")
    mean = property(lambda self: self._categorical.probs, doc="The mean.")

    def sample(self, sample_shape=()):
        number = self._categorical.sample(sample_shape)
        return (number.unsqueeze(-1) == FACTORIES["arange"](self._event_shape[0])).to(self.probs.dtype)

    def enumerate_support(self, expand=True):
        return self._enumerated(FACTORIES["eye"](self._event_shape[0], dtype=self.probs.dtype), expand)

    def log_prob(self, value):
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()


class Multinomial(Distribution):
    """How often each number came in `total_count` draws of a Categorical."""

    names = ()

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._categorical = total_count, Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,))

    probs = property(lambda self: self._categorical.probs, doc="The probabilities of one draw.")
    logits = property(lambda self: self._categorical.logits, doc="Their logarithms.")
    mean = property(lambda self: self.probs * self.total_count, doc="The mean.")
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs), doc="The variances.")

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *tuple(sample_shape)))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = FACTORIES["zeros"](self._extended(sample_shape), dtype=self.probs.dtype)
        return counts.scatter_add_(-1, drawn, FACTORIES["ones_like"](drawn, dtype=counts.dtype))

    def log_prob(self, value):
        logits, value = FUNCTIONS["broadcast_tensors"](self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)


class MultivariateNormal(Distribution):
    """Gaussian vectors with mean `loc` and a covariance matrix, its inverse, or its lower Cholesky factor."""

    has_rsample = True

    def __init__(
        self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        if (covariance_matrix is not None) + (precision_matrix is not None) + (scale_tril is not None) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        if covariance_matrix is not None:
            scale_tril = cholesky(covariance_matrix)
        elif precision_matrix is not None:
            scale_tril = cholesky(inv(precision_matrix))
        batch = FUNCTIONS["broadcast_tensors"](loc[..., 0], scale_tril[..., 0, 0])[0].shape
        n = loc.shape[-1]
        self.loc, self.scale_tril = loc.expand(*batch, n), scale_tril.expand(*batch, n, n)
        super().__init__(batch, (n,))

    mean = mode = property(lambda self: self.loc, doc="The mean.")
    covariance_matrix = property(lambda self: self.scale_tril @ self.scale_tril.mT, doc="The covariances.")
    variance = property(lambda self: self.scale_tril.pow(2).sum(-1), doc="The variances.")

    def rsample(self, sample_shape=()):
        draws = _standard_normal(self._extended(sample_shape), self.loc)
        return self.loc + (self.scale_tril @ draws.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        away = solve_triangular(self.scale_tril, (value - self.loc).unsqueeze(-1), upper=False).squeeze(-1)
        return (
            -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + away.pow(2).sum(-1)) - self._half_log_det()
        )

    def entropy(self):
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class Independent(Distribution):
    """The last dims of a distribution's batch taken as one event: their log-probabilities are added up."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        base, n = base_distribution, reinterpreted_batch_ndims
        if n > len(base.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{n} vs {len(base.batch_shape)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base, n
        cut = len(base.batch_shape) - n
        super().__init__(base.batch_shape[:cut], (*base.batch_shape[cut:], *base.event_shape))

    has_rsample = property(lambda self: self.base_dist.has_rsample, doc="Whether draws can have gradients.")
    mean = property(lambda self: self.base_dist.mean, doc="The mean.")
    variance = property(lambda self: self.base_dist.variance, doc="The variance.")

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def _summed(self, value):
        n = self.reinterpreted_batch_ndims
        return value.sum(tuple(range(-n, 0))) if n else value

    def log_prob(self, value):
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self):
        return self._summed(self.base_dist.entropy())

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of p from q, for two of one kind; NotImplementedError for pairs without a formula here."""
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        t = p.probs * (p.logits - q.logits)
        never, surely = (q.probs == 0).expand_as(t), (p.probs == 0).expand_as(t)
        return t.masked_fill(never, math.inf).masked_fill(surely, 0).sum(-1)
    if isinstance(p, OneHotCategorical) and isinstance(q, OneHotCategorical):
        return kl_divergence(p._categorical, q._categorical)
    if isinstance(p, Independent) and isinstance(q, Independent):
        if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
            raise NotImplementedError(
                "kl_divergence of Independents needs the same reinterpreted_batch_ndims"
            )
        return p._summed(kl_divergence(p.base_dist, q.base_dist))
    if isinstance(p, MultivariateNormal) and isinstance(q, MultivariateNormal):
        n = p.event_shape[0]
        ratio = solve_triangular(q.scale_tril, p.scale_tril, upper=False).pow(2).sum((-2, -1))
        away = solve_triangular(q.scale_tril, (q.loc - p.loc).unsqueeze(-1), upper=False).pow(2).sum((-2, -1))
        return q._half_log_det() - p._half_log_det() + 0.5 * (ratio + away - n)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


def _standard_normal(shape, like):
    return FACTORIES["empty"](shape, dtype=like.dtype).normal_()


def _bce(logits, target):
    """-log of the probability of `target` under log odds."""
    from .nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(logits, target, reduction="none")


def _clamped(p):
    eps = FACTORIES["finfo"](p.dtype).eps
    return p.clamp(min=eps, max=1 - eps)


def _least(t):
    return FACTORIES["finfo"](t.dtype).min


def _positive(distribution, name, value):
    if not bool((value > 0).all()):
        _refuse(distribution, name, value, "GreaterThan(lower_bound=0.0)")


def _within(distribution, name, value, what):
    if not bool(((value >= 0) & (value <= 1)).all()):
        _refuse(distribution, name, value, what)


def _refuse(distribution, name, value, what):
    raise ValueError(
        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
        f"{type(distribution).__name__} to satisfy the constraint {what}, but found invalid values:\n{value}"
    )


def __getattr__(name):
    found = find_place("distributions", name)
    if found is not None:
        return found
    raise AttributeError(
        f"module 'autograd_lab.distributions' has no attribute '{name}': here are {', '.join(__all__)} only"
    )


__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Exponential",
    "Independent",
    "LogNormal",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "Uniform",
    "kl_divergence",
]
