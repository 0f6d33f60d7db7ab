"""Distributions of vectors with a covariance, and of matrices."""

import math
import warnings
from numbers import Number

import autograd_lab as torch

from . import constraints
from .combined import TransformedFamily
from .continuous import Normal
from .distribution import Distribution, ExponentialFamily, Family
from .gammas import Beta, Chi2
from .transforms import StickBreakingTransform
from .utils import broadcast_all, lazy_property, standard_normal, tiny


def times_vector(matrix, vector):
    """Matrices times vectors."""
    return torch.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def mahalanobis(tril, away):
    """The squared length of `away` in units of the covariance whose lower Cholesky factor is `tril`."""
    return torch.linalg.solve_triangular(tril, away.unsqueeze(-1), upper=False).pow(2).sum((-2, -1))


def half_log_det(tril):
    """Half the logarithm of the determinant of a covariance, by its Cholesky factor."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _plus_one(matrix):
    """A matrix plus the identity."""
    return matrix + torch.eye(matrix.shape[-1], dtype=matrix.dtype)


def _factor_of_inverse(precision):
    """The lower Cholesky factor of the inverse of a matrix."""
    flipped = torch.linalg.cholesky(torch.flip(precision, (-2, -1)))
    inverse = torch.flip(flipped, (-2, -1)).mT
    identity = torch.eye(precision.shape[-1], dtype=precision.dtype)
    return torch.linalg.solve_triangular(inverse, identity, upper=False)


class WithCovariance(Family):
    """Families with a covariance matrix, which may be given by its inverse or its lower Cholesky factor instead."""

    _wrong_number: type[Exception] = ValueError

    def _given_matrix(self, **matrices):
        """The name and value of the one matrix that is given; ValueError unless there is exactly one, of two dims or more."""
        given = {name: m for name, m in matrices.items() if m is not None}
        if len(given) != 1:
            raise self._wrong_number(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        return next(iter(given.items()))

    def _set_factor(self, name, matrix):
        if name == "covariance_matrix":
            matrix = torch.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = _factor_of_inverse(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril

    def _matrices(self, matrix):
        return matrix.expand(*self._batch_shape, *matrix.shape[-2:])

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariances."""
        tril = self._unbroadcasted_scale_tril
        return self._matrices(torch.matmul(tril, tril.mT))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._matrices(torch.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(WithCovariance):
    """Gaussian vectors with mean `loc` and a covariance matrix, its inverse, or its lower Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self._given_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{what} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self):
        squared = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squared.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        drawn = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + times_vector(self._unbroadcasted_scale_tril, drawn)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        tril = self._unbroadcasted_scale_tril
        length = mahalanobis(tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + length) - half_log_det(tril)

    def entropy(self):
        half = half_log_det(self._unbroadcasted_scale_tril)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


class LowRankMultivariateNormal(Family):
    """Gaussian vectors whose covariance is cov_factor @ cov_factor.T + diag(cov_diag): cheap for a narrow cov_factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = (
            loc.expand(batch_shape + event_shape),
            cov_diag.expand(batch_shape + event_shape),
        )
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = torch.linalg.cholesky(_plus_one(self._whitened() @ cov_factor))

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))

    def _whitened(self):
        """W.T / D."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    def _matrices(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """The variances."""
        squared = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return squared.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The lower Cholesky factor of the covariance: of D ** 0.5 (1 + A @ A.T) D ** 0.5 with A = D ** -0.5 W."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        narrow = self._unbroadcasted_cov_factor / root
        return self._matrices(root * torch.linalg.cholesky(_plus_one(narrow @ narrow.mT)))

    @lazy_property
    def covariance_matrix(self):
        """The covariances."""
        W = self._unbroadcasted_cov_factor
        return self._matrices(W @ W.mT + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, by the formula of Woodbury."""
        A = torch.linalg.solve_triangular(self._capacitance_tril, self._whitened(), upper=False)
        return self._matrices(torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - A.mT @ A)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        narrow = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc)
        wide = standard_normal(shape, self.loc)
        return (
            self.loc
            + times_vector(self._unbroadcasted_cov_factor, narrow)
            + self._unbroadcasted_cov_diag.sqrt() * wide
        )

    def _mahalanobis(self, away):
        own = (away.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        return own - mahalanobis(self._capacitance_tril, times_vector(self._whitened(), away))

    def _log_det(self):
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + self._log_det() + self._mahalanobis(value - self.loc))

    def entropy(self):
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape) if self._batch_shape else entropy


class LogisticNormal(TransformedFamily):
    """Vectors of probabilities made of normal numbers by breaking a stick."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)


# -- matrices -------------------------------------------------------------------------------------------


def _mvdigamma(x, p):
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype) / 2).sum(-1)


class Wishart(WithCovariance, ExponentialFamily):
    """Sums of `df` outer products of Gaussian vectors with themselves."""

    support = constraints.positive_definite
    _wrong_number = AssertionError
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        name, matrix = self._given_matrix(
            covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        if isinstance(df, Number):
            batch_shape = matrix.shape[:-2]
            self.df = torch.tensor(df, dtype=matrix.dtype)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        n = event_shape[-1]
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self._set_factor(name, matrix)
        steps = torch.arange(n, dtype=matrix.dtype).expand(batch_shape + (-1,))
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps)

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _expand_parameters(self, new, batch_shape):
        super()._expand_parameters(new, batch_shape)
        new._dist_chi2 = self._dist_chi2.expand(batch_shape + (-1,))

    def _of_each(self, numbers):
        return numbers.view(self._batch_shape + (1, 1))

    mean = property(lambda self: self._of_each(self.df) * self.covariance_matrix)

    @property
    def mode(self):
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._of_each(factor.masked_fill(factor <= 0, math.nan)) * self.covariance_matrix

    @property
    def variance(self):
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self._of_each(self.df) * (V.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape):
        """L A (L A).T with roots of chi-squared numbers on the diagonal of A and normal ones below it."""
        p = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        rows, columns = torch.tril_indices(p, p, offset=-1)
        shape = torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        noise[..., rows, columns] = torch.randn(shape, dtype=noise.dtype)
        chol = self._unbroadcasted_scale_tril @ noise
        return chol @ chol.mT

    def rsample(self, sample_shape=(), max_try_correction=None):
        """Draws; what fails is drawn again, `max_try_correction` times at most.

        PyTorch takes the first draws for singular where they are not, and says so: to have its numbers, that is followed.
        """
        sample = self._bartlett_sampling(torch.Size(sample_shape))
        again = self._any_of_batch(self.support.check(sample))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            warnings.warn("Singular sample detected.", stacklevel=2)
            new = self._bartlett_sampling(again[again].shape)
            sample[again] = new
            again[again.clone()] = self._any_of_batch(~self.support.check(new))
        return sample

    def _any_of_batch(self, flags):
        return flags.amax(tuple(range(-len(self._batch_shape), 0))) if self._batch_shape else flags

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, p, tril = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = torch.cholesky_solve(value, tril).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -nu * (p * math.log(2) / 2 + half_log_det(tril))
            - torch.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + torch.mvlgamma(half, p=p)


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices whose determinants have a density of power `concentration` - 1."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = torch.arange(dim - 1, dtype=self.concentration.dtype)
        offset = torch.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = torch.Size(batch_shape)
        new.dim, new.concentration = self.dim, self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        return self._complete(new, batch_shape)

    def sample(self, sample_shape=()):
        """The onion method: each row is a direction, drawn on the sphere, and a length, drawn from Beta."""
        with torch.no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            directions = torch.randn(shape, dtype=squared.dtype).tril(-1)
            directions = directions / directions.norm(dim=-1, keepdim=True)
            directions[..., 0, :].fill_(0.0)
            w = torch.sqrt(squared) * directions
            rest = torch.clamp(1 - torch.sum(w**2, dim=-1), min=tiny(w)).sqrt()
            return w + torch.diag_embed(rest)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        power = torch.arange(2, self.dim + 1)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - power
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, less)
        return torch.sum(power * diagonal.log(), dim=-1) - (normalizer - torch.lgamma(alpha) * less)


_batch_mv, _batch_mahalanobis, _precision_to_scale_tril = times_vector, mahalanobis, _factor_of_inverse
"""The names by which other packages import them."""

__all__ = ["LKJCholesky", "LogisticNormal", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]
