"""Kullback-Leibler divergences in closed form (torch.distributions.kl).

KL(p || q) is the mean under p of log p(x) - log q(x). For two of one family there is a formula each; for two of different
families it is -entropy(p) minus the mean of log q(x), which needs a few means under p alone: of x, x ** 2, log x, exp(-x).
"""

import math
import warnings

import autograd_lab as torch

from .combined import Independent, TransformedDistribution
from .continuous import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Pareto,
    Uniform,
)
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import ExponentialFamily
from .gammas import Beta, Dirichlet, Gamma
from .multivariate import LowRankMultivariateNormal, MultivariateNormal, half_log_det, mahalanobis
from .relaxed import ContinuousBernoulli
from .utils import euler_constant, sum_rightmost

_KL_REGISTRY: dict = {}
"""(class of p, class of q): the function of the two."""


def register_kl(type_p, type_q):
    """A decorator: the function gives kl_divergence(p, q) for these classes and, where nothing nearer is known, their subclasses."""
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # of any family: other packages have base classes of their own
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fn):
        _KL_REGISTRY[type_p, type_q] = fn
        return fn

    return decorator


def _find(type_p, type_q):
    """The function for the nearest classes, by p first; None if there is none."""
    places = [
        (type_p.__mro__.index(p), type_q.__mro__.index(q))
        for p, q in _KL_REGISTRY
        if issubclass(type_p, p) and issubclass(type_q, q)
    ]
    if not places:
        return None
    by_p, by_q = min(places), min(places, key=lambda place: place[::-1])
    (left_p, left_q), (right_p, right_q) = [(type_p.__mro__[i], type_q.__mro__[j]) for i, j in (by_p, by_q)]
    found, other = _KL_REGISTRY[left_p, left_q], _KL_REGISTRY[right_p, right_q]
    if found is not other:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left_p.__name__}, "
            f"{right_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return found


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of q from p, for each element of the batch; NotImplementedError without a formula."""
    fn = _find(type(p), type(q))
    if fn is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return fn(p, q)


def _of_pairs(ps, *qs):
    """Register a function for every pair of a p and a q."""

    def register(fn):
        for p in ps:
            for q in qs:
                register_kl(p, q)(fn)
        return fn

    return register


def _infinite_where(condition, value):
    return value.masked_fill(condition.expand_as(value), math.inf)


# -- of one family --------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = _infinite_where(q.probs == 0, one).masked_fill(p.probs == 0, 0)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return one + _infinite_where(q.probs == 1, zero).masked_fill(p.probs == 1, 0)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return _infinite_where(p.total_count > q.total_count, kl)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = _infinite_where(q.probs == 0, t)
    return t.masked_fill((p.probs == 0).expand_as(t), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehot_onehot(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    normalizers = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    own = p._log_norm() + torch.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + own - q._log_norm() - torch.log1p(-q.probs)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    a, b = p.concentration, q.concentration
    normalizers = b * (p.rate / q.rate).log() + torch.lgamma(b) - torch.lgamma(a)
    return normalizers + (a - b) * torch.digamma(a) + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    last = torch.exp((1 + ratio).lgamma() - away)
    return -ratio.log() + away + ratio * euler_constant + last - (1 + euler_constant)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    apart = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return apart.log() - (4 * p.scale * q.scale).log()


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _infinite_where(p.support.lower_bound < q.support.lower_bound, kl)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return _infinite_where((q.low > p.low) | (q.high < p.high), kl)


# -- Gaussian vectors -----------------------------------------------------------------------------------


def _check_events(p, q, what):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed")


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _check_events(p, q, "Multivariate Normals")
    mine, theirs = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    trace = torch.linalg.solve_triangular(theirs, mine, upper=False).pow(2).sum((-2, -1))
    length = mahalanobis(theirs, q.loc - p.loc)
    return half_log_det(theirs) - half_log_det(mine) + 0.5 * (trace + length - p.event_shape[0])


def _kl_with_low_rank(p, q, half_log_det_p, factors):
    """KL of q, of low rank, from a p whose covariance is the sum of f @ f.T over `factors`."""
    diagonal = q._unbroadcasted_cov_diag
    traces = [(f.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1)) for f in factors]
    whitened = torch.linalg.solve_triangular(q._capacitance_tril, q._whitened(), upper=False)
    taken = [(whitened @ f).pow(2).sum((-2, -1)) for f in factors]
    length = q._mahalanobis(q.loc - p.loc)
    trace = sum(traces) - sum(taken)
    return 0.5 * (q._log_det() + trace + length - p.event_shape[0]) - half_log_det_p


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    _check_events(p, q, "(Lowrank) Multivariate Normals")
    tril = p._unbroadcasted_scale_tril
    return _kl_with_low_rank(p, q, half_log_det(tril), [tril])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    _check_events(p, q, "Low Rank Multivariate Normals")
    factors = [p._unbroadcasted_cov_factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())]
    return _kl_with_low_rank(p, q, 0.5 * p._log_det(), factors)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    _check_events(p, q, "(Lowrank) Multivariate Normals")
    tril = q._unbroadcasted_scale_tril
    factors = [p._unbroadcasted_cov_factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())]
    whitened = [torch.linalg.solve_triangular(tril, f, upper=False) for f in factors]
    trace = sum([f.pow(2).sum((-2, -1)) for f in whitened])
    length = mahalanobis(tril, q.loc - p.loc)
    return 0.5 * (2 * half_log_det(tril) - p._log_det() + trace + length - p.event_shape[0])


# -- made of others -------------------------------------------------------------------------------------


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normalizer: its value at q less its tangent at p."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    leaves, normalizer, gradients = p._normalizer_and_gradients()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for mine, theirs, g in zip(leaves, q._natural_params, gradients, strict=True):
        result = result - sum_rightmost((theirs - mine) * g, len(q.event_shape))
    return result


# -- of two families: q is positive where p is ----------------------------------------------------------


def _x_log_x(x):
    return torch.special.xlogy(x, x)


def _mean_log(p):
    """The mean of log x under p."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1


def _mean_exp(p, loc, scale):
    """The mean of exp(-(x - loc) / scale) under p."""
    if isinstance(p, Exponential):
        product = p.rate * scale
        return torch.exp(loc / scale) * product / (product + 1)
    if isinstance(p, Gamma):
        return torch.exp(loc / scale) * (1 + (p.rate * scale).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return torch.exp((loc - p.loc) / scale + 0.5 * (p.scale / scale).pow(2))
    ends = torch.exp((loc - p.low) / scale) - torch.exp((loc - p.high) / scale)
    return ends * scale / (p.high - p.low)


def _moments(p):
    """Mean and variance under p; Pareto's by their formulas also where they are infinite, so that gradients stay finite."""
    if not isinstance(p, Pareto):
        return p.mean, p.variance
    a = p.alpha
    return a * p.scale / (a - 1), p.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))


def _none(p):
    return torch.zeros(p.batch_shape, dtype=torch.bool)


def _without_moment(p, order):
    """Where the mean (order 1) or the variance (2) under p is infinite."""
    return p.alpha <= order if isinstance(p, Pareto) else _none(p)


def _below_zero(p):
    """Where p gives negative numbers, of the p that may."""
    return p.low < 0 if isinstance(p, Uniform) else _none(p)


@_of_pairs((Beta, ContinuousBernoulli, Gamma, Pareto, Uniform), Exponential)
def _kl_to_exponential(p, q):
    kl = -p.entropy() - q.rate.log() + q.rate * _moments(p)[0]
    return _infinite_where(_below_zero(p) | _without_moment(p, 1), kl)


@_of_pairs((Beta, Exponential, Pareto, Uniform), Gamma)
def _kl_to_gamma(p, q):
    a = q.concentration
    normalizer = a.lgamma() - a * q.rate.log()
    kl = -p.entropy() + normalizer - (a - 1) * _mean_log(p) + q.rate * _moments(p)[0]
    return _infinite_where(_below_zero(p) | _without_moment(p, 1), kl)


@_of_pairs((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), Normal)
def _kl_to_normal(p, q):
    mean, variance = _moments(p)
    away = (mean - q.loc).pow(2) + variance
    kl = -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * away / q.scale.pow(2)
    return _infinite_where(_without_moment(p, 2), kl)


@_of_pairs((Exponential, Gamma, Normal, Uniform), Gumbel)
def _kl_to_gumbel(p, q):
    away = (p.mean - q.loc) / q.scale
    return -p.entropy() + q.scale.log() + away + _mean_exp(p, q.loc, q.scale)


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    away = p.loc - q.loc
    ratio = away / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * ratio.pow(2))
    mean_distance = mean_distance + away * torch.erf(math.sqrt(0.5) * ratio)
    return -(p.scale / q.scale).log() + mean_distance / q.scale - 0.5 * (1 + math.log(0.5 * math.pi))


@_of_pairs((Beta, Uniform), ContinuousBernoulli)
def _kl_to_continuous_bernoulli(p, q):
    kl = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._log_norm()
    if isinstance(p, Uniform):
        low, high = q.support.lower_bound, q.support.upper_bound
        return _infinite_where((p.high >= high) | (p.low <= low), kl)
    return kl


@_of_pairs((Beta, ContinuousBernoulli), Uniform)
def _kl_to_uniform(p, q):
    kl = -p.entropy() + (q.high - q.low).log()
    low, high = p.support.lower_bound, p.support.upper_bound
    if isinstance(p, Beta):
        return _infinite_where((q.low > low) | (q.high < high), kl)
    return _infinite_where((q.low >= low) | (q.high <= high), kl)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    mirrored = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / (p.high - p.low) - 1
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    kl = -p.entropy() - (a - 1) * _mean_log(p) - (b - 1) * mirrored + normalizer
    return _infinite_where((p.low < 0) | (p.high > 1), kl)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    kl = -p.entropy() - q.alpha.log() - q.alpha * q.scale.log() + (q.alpha + 1) * _mean_log(p)
    return _infinite_where(p.low < q.support.lower_bound, kl)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# -- of two families: p gives numbers that q never does -------------------------------------------------


@_of_pairs((Exponential, Gamma), Beta, ContinuousBernoulli, Pareto, Uniform)
@_of_pairs((Gumbel, Laplace, Normal), Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
@_of_pairs((Beta, ContinuousBernoulli), Pareto)
@_of_pairs((Pareto,), Beta, ContinuousBernoulli, Uniform)
@_of_pairs((Poisson,), Bernoulli, Binomial)
def _kl_infinite(p, q):
    return torch.full_like(p.mean, math.inf)


__all__ = ["kl_divergence", "register_kl"]
