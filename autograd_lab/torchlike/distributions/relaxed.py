"""Coins and choices made continuous, so that draws have gradients."""

import math

import autograd_lab as torch

from . import constraints
from .combined import TransformedFamily
from .discrete import Categorical, Odds, OfCategorical
from .distribution import ExponentialFamily
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs

F = torch.nn.functional


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Numbers x from [0, 1] with a density proportional to probs ** x * (1 - probs) ** (1 - x).

    Between the probabilities `lims` about 1/2 formulas would divide by zero: there their Taylor series serve.
    """

    arg_constraints = Odds.arg_constraints
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._take(probs, logits)
        if logits is None:
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new._lims = self._lims

    def _outside(self):
        """Where the probability is far enough from 1/2."""
        return torch.max(torch.le(self.probs, self._lims[0]), torch.gt(self.probs, self._lims[1]))

    def _cut(self):
        """The probabilities, those near 1/2 replaced by one that is not."""
        return torch.where(self._outside(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _log_norm(self):
        p = self._cut()
        below = torch.where(torch.le(p, 0.5), p, torch.zeros_like(p))
        above = torch.where(torch.ge(p, 0.5), p, torch.ones_like(p))
        log = torch.log(torch.abs(torch.log1p(-p) - torch.log(p))) - torch.where(
            torch.le(p, 0.5), torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0)
        )
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._outside(), log, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        p = self._cut()
        exact = p / (2.0 * p - 1.0) + 1.0 / (torch.log1p(-p) - torch.log(p))
        x = self.probs - 0.5
        return torch.where(self._outside(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x)

    stddev = property(lambda self: torch.sqrt(self.variance))

    @property
    def variance(self):
        p = self._cut()
        exact = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(
            torch.log1p(-p) - torch.log(p), 2
        )
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._outside(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape=()):
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._log_norm()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut()
        powers = torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value)
        exact = (powers + p - 1.0) / (2.0 * p - 1.0)
        inside = torch.where(self._outside(), exact, value)
        inside = torch.where(torch.ge(value, 1.0), torch.ones_like(inside), inside)
        return torch.where(torch.le(value, 0.0), torch.zeros_like(inside), inside)

    def icdf(self, value):
        p = self._cut()
        exact = (torch.log1p(-p + value * (2.0 * p - 1.0)) - torch.log1p(-p)) / (
            torch.log(p) - torch.log1p(-p)
        )
        return torch.where(self._outside(), exact, value)

    def entropy(self):
        inverse = torch.log1p(-self.probs)
        log = torch.log(self.probs)
        return self.mean * (inverse - log) - self._log_norm() - inverse

    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x):
        outside = torch.max(torch.le(x, self._lims[0] - 0.5), torch.gt(x, self._lims[1] - 0.5))
        cut = torch.where(outside, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(outside, exact, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0)


class LogitRelaxedBernoulli(Odds):
    """The log odds of RelaxedBernoulli's draws."""

    arg_constraints = Odds.arg_constraints
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new.temperature = self.temperature

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(torch.rand(shape, dtype=probs.dtype))
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class _Relaxed(TransformedFamily):
    """Families that draw the log odds, or logarithms, of what they give."""

    arg_constraints: dict = Odds.arg_constraints
    has_rsample = True

    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)


class RelaxedBernoulli(_Relaxed):
    """Numbers from (0, 1) that come the nearer to Bernoulli's zeros and ones the lower the temperature is."""

    arg_constraints = Odds.arg_constraints
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of RelaxedOneHotCategorical's draws."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new.temperature = self.temperature

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(torch.rand(shape, dtype=self.logits.dtype))
        gumbels = -((-(drawn.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        count = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        scale = torch.full_like(self.temperature, float(count)).lgamma() - self.temperature.log().mul(
            -(count - 1)
        )
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """Vectors of the simplex that come the nearer to one-hot ones the lower the temperature is (Gumbel softmax)."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)


__all__ = ["ContinuousBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]
