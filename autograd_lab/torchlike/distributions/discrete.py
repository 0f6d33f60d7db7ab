"""Coins, counts and choices: distributions of whole numbers."""

import math

import autograd_lab as torch

from . import constraints
from .distribution import ExponentialFamily, Family
from .utils import broadcast_all, draw_gamma, lazy_property, logits_to_probs, probs_to_logits, tiny

F = torch.nn.functional


def only_one(probs, logits):
    """Raise ValueError unless exactly one of two parameters is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Odds(Family):
    """Families with a probability `probs`, which may be given by its log odds `logits` instead."""

    arg_constraints: dict = {"probs": constraints.unit_interval, "logits": constraints.real}

    def _take(self, probs, logits, *others):
        """Set the one of probs and logits that is given, broadcast with other parameters, which are returned."""
        only_one(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        *others, given = broadcast_all(*others, given)
        setattr(self, name, given)
        return others

    @lazy_property
    def logits(self):
        """The log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self):
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    @property
    def param_shape(self):
        """The shape of the parameter."""
        return self._param.size()


class Bernoulli(Odds, ExponentialFamily):
    """Ones with probability `probs` (or with log odds `logits`), else zeros."""

    arg_constraints = Odds.arg_constraints
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs)
        return mode.masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._enumerated(torch.arange(2, dtype=self._param.dtype), expand)

    _natural_params = property(lambda self: (torch.logit(self.probs),))

    def _log_normalizer(self, x):
        return torch.log(1 + torch.exp(x))


class Geometric(Odds):
    """Failures before the first success, if each trial succeeds with probability `probs`."""

    arg_constraints = Odds.arg_constraints
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            if not (value > 0).all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to be positive but found invalid values:\n{value.data[~(value > 0)]}"
                )

    mean = property(lambda self: 1.0 / self.probs - 1.0)
    mode = property(lambda self: torch.zeros_like(self.probs))
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            drawn = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(tiny(self.probs), 1)
            return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


def _above_zero(x):
    """max(x, 0), with the gradient 1/2 at 0."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Odds):
    """Successes in `total_count` trials that succeed each with probability `probs`."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, **Odds.arg_constraints}
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = torch.lgamma(n + 1) - torch.lgamma(value + 1) - torch.lgamma(n - value + 1)
        normalizer = n * _above_zero(logits) + n * torch.log1p(torch.exp(-torch.abs(logits)))
        return value * logits + ways - normalizer

    def _one_count(self):
        count = int(self.total_count.max())
        return count if self.total_count.min() == count else None

    def entropy(self):
        if self._one_count() is None:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        count = self._one_count()
        if count is None:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return self._enumerated(torch.arange(1 + count, dtype=self._param.dtype), expand)


class NegativeBinomial(Odds):
    """Successes (of probability `probs` each) before the `total_count`-th failure."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        (total_count,) = self._take(probs, logits, total_count)
        self.total_count = total_count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * torch.exp(self.logits))
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits))

    def sample(self, sample_shape=()):
        with torch.no_grad():  # Poisson distributions, their rates drawn from a gamma distribution
            shape = self._extended_shape(sample_shape)
            return torch.poisson(draw_gamma(self.total_count, torch.exp(-self.logits), shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self.total_count
        unnormalized = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        normalizer = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        return unnormalized - normalizer.masked_fill(n + value == 0.0, 0.0)


class Poisson(Family, ExponentialFamily):
    """How many events happen, if on average `rate` do, each by itself."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda self: (torch.log(self.rate),))

    def _log_normalizer(self, x):
        return torch.exp(x)


# -- choices --------------------------------------------------------------------------------------------


class Categorical(Family):
    """One of the numbers 0 .. n - 1, with probabilities `probs` (or `logits`) along the last dim, which need not sum to one."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        only_one(probs, logits)
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if logits is None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.size()[:-1], validate_args=validate_args)

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new._num_events = self._num_events

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    _param = Odds._param
    param_shape = Odds.param_shape

    @lazy_property
    def logits(self):
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def mean(self):
        return torch.full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    variance = mean
    mode = property(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape=()):
        count = torch.Size(sample_shape).numel()
        with torch.no_grad():
            drawn = torch.multinomial(self.probs.reshape(-1, self._num_events), count, True).T
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        value, logits = torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._enumerated(torch.arange(self._num_events, dtype=torch.long), expand)


class OfCategorical(Family):
    """Families whose parameters are those of a Categorical, kept as `_categorical`; an event has a number for each choice."""

    arg_constraints: dict = Categorical.arg_constraints

    def __init__(self, probs, logits, validate_args):
        self._categorical = Categorical(probs, logits)
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args
        )

    def _expand_parameters(self, new, batch_shape):
        new._categorical = self._categorical.expand(batch_shape)

    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)


class OneHotCategorical(OfCategorical):
    """Categorical draws as vectors with a single one."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        best = self.probs.argmax(dim=-1)
        return F.one_hot(best, num_classes=self.probs.shape[-1]).to(self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample(torch.Size(sample_shape))
        return F.one_hot(drawn, self._categorical._num_events).to(self.probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        return self._enumerated(torch.eye(self.event_shape[0], dtype=self._param.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot draws whose gradient is passed to the probabilities as if they were the draw."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        drawn = self.sample(sample_shape)
        return drawn + (self.probs - self.probs.detach())


class Multinomial(OfCategorical):
    """How often each number came in `total_count` draws of a Categorical."""

    arg_constraints = Categorical.arg_constraints

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new.total_count = self.total_count

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample(torch.Size((self.total_count,)) + torch.Size(sample_shape))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn, dtype=counts.dtype)).type_as(self.probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self):
        n = torch.tensor(self.total_count)
        binomial = Binomial(self.total_count, self.probs)
        support = binomial.enumerate_support(expand=False)[1:]
        chances = torch.exp(binomial.log_prob(support))
        weighted = (chances * torch.lgamma(support + 1)).sum([0, -1])
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + weighted


__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
]
