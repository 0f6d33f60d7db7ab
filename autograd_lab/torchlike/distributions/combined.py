"""Distributions made of others: transformed, taken together as one event, mixed."""

import functools
import operator
from numbers import Number

import autograd_lab as torch

from . import constraints
from .discrete import Categorical
from .distribution import Distribution, Family
from .transforms import ComposeTransform, as_transforms
from .utils import sum_rightmost


class Independent(Distribution):
    """The last dims of a distribution's batch taken as one event: their log-probabilities are added up."""

    arg_constraints: dict = {}

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        base, n = base_distribution, reinterpreted_batch_ndims
        if n > len(base.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{n} vs {len(base.batch_shape)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base, n
        cut = len(base.batch_shape) - n
        super().__init__(
            base.batch_shape[:cut], base.batch_shape[cut:] + base.event_shape, validate_args=validate_args
        )

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Independent, _instance)
        batch_shape, n = torch.Size(batch_shape), self.reinterpreted_batch_ndims
        new.base_dist = self.base_dist.expand(batch_shape + self.event_shape[:n])
        new.reinterpreted_batch_ndims = n
        return self._complete(new, batch_shape)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @property
    def has_enumerate_support(self):
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        base, n = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(base, n) if n else base

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """Draws of `base_distribution`, changed by transforms: log p(y) = log p(x) - log |dy/dx|."""

    arg_constraints: dict = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = as_transforms(transforms)
        base, whole = base_distribution, ComposeTransform(self.transforms)
        shape = base.batch_shape + base.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {shape}."
            )
        forward = whole.forward_shape(shape)
        wanted = whole.inverse_shape(forward)
        event_dim = len(base.event_shape)
        if shape != wanted:
            base = base.expand(wanted[: len(wanted) - event_dim])
        more = whole.domain.event_dim - event_dim
        self.base_dist = Independent(base, more) if more > 0 else base
        grown = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(forward) - max(whole.codomain.event_dim, event_dim + grown)
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(TransformedDistribution, _instance)
        new.transforms = self.transforms
        shape = batch_shape = torch.Size(batch_shape)
        shape = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return self._complete(new, batch_shape)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        event_dim, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            stretched = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(stretched, event_dim - transform.domain.event_dim)
            y = x
        more = event_dim - len(self.base_dist.event_shape)
        return total + sum_rightmost(self.base_dist.log_prob(y), more)

    def _rising(self, value):
        """A probability as it is where the transforms rise, 1 minus it where they fall."""
        sign = functools.reduce(operator.mul, [t.sign for t in self.transforms], 1)
        return value if isinstance(sign, Number) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._transformed(self.base_dist.icdf(self._rising(value)))


class TransformedFamily(Family, TransformedDistribution):
    """A family that is another one, transformed."""

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(self._family(), _instance)
        self._expand_parameters(new, torch.Size(batch_shape))
        return TransformedDistribution.expand(self, batch_shape, _instance=new)


class MixtureSameFamily(Distribution):
    """Draws from one of several distributions of one kind, which lie along the last dim of a batch.

    mixture_distribution   a Categorical: which of them; component_distribution: the distributions
    """

    arg_constraints: dict = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        mixed, components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(components), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                    f"`component_distribution.batch_shape`({components})"
                )
        count, own = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != own:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` ({own})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components, component_distribution.event_shape, validate_args=validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = torch.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return self._complete(new, batch_shape, new._component_distribution.event_shape)

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _weighted(self, values):
        """The mean of values of the components, by the mixture's probabilities."""
        weights = self._mixture_distribution.probs
        weights = weights.reshape(weights.shape + (1,) * self._event_ndims)
        return torch.sum(weights * values, dim=-1 - self._event_ndims)

    @property
    def mean(self):
        return self._weighted(self._component_distribution.mean)

    @property
    def variance(self):
        """The mean of the variances and the variance of the means."""
        own = self._component_distribution
        away = own.mean - self._pad(self.mean)
        return self._weighted(own.variance) + self._weighted(away.pow(2.0))

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x):
        chances = self._component_distribution.cdf(self._pad(x))
        return torch.sum(chances * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        own = self._component_distribution.log_prob(self._pad(x))
        weights = torch.log_softmax(self._mixture_distribution.logits, dim=-1)
        return torch.logsumexp(own + weights, dim=-1)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            which = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            which = which.reshape(which.shape + (1,) * (self._event_ndims + 1))
            dim = len(sample_shape) + len(self.batch_shape)
            which = which.expand(*which.shape[: dim + 1], *self.event_shape)
            return torch.gather(drawn, dim, which).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
