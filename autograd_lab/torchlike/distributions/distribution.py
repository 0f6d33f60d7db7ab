"""The base of all distributions: shapes, checks of parameters and values, expansion."""

import warnings

import autograd_lab as torch

from ..autograd.variable import Variable
from . import constraints
from .utils import lazy_property


class Distribution:
    """What all distributions share (torch.distributions.Distribution).

    batch_shape   the shape of independent distributions side by side; event_shape: of one draw
    sample(shape), rsample(shape)   draws of shape + batch_shape + event_shape; only rsample passes gradients on
    log_prob(value)   a number for each element of the batch

    A subclass says in `arg_constraints` what its parameters must satisfy, and in `support` what its draws do; both are checked
    unless `validate_args` is False. Without a formula a method raises NotImplementedError.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether parameters and values are checked where nothing else is said."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            wanted = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in wanted.items():
            derived = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if derived or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The distribution with its batch expanded to `batch_shape`, without copying."""
        raise NotImplementedError

    @property
    def batch_shape(self):
        """The shape of independent distributions side by side."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """{name of a parameter: the set it must lie in}."""
        raise NotImplementedError

    @property
    def support(self):
        """The set that the draws come from."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The likeliest value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Draws, as constants."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws with a gradient to the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """`n` draws; an older name."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2
        )
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the density (or probability) at `value`."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of a draw up to `value`."""
        raise NotImplementedError

    def icdf(self, value):
        """The number that a draw stays below with probability `value`."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values, along a new first dim; with `expand` for every element of the batch, else of its shape with ones."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy)."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _enumerated(self, values, expand):
        values = values.reshape(-1, *(1,) * len(self._batch_shape), *self._event_shape)
        return values.expand(-1, *self._batch_shape, *self._event_shape) if expand else values

    def _validate_sample(self, value):
        """Raise ValueError unless `value` is a tensor that fits the shapes and lies in the support."""
        if not isinstance(value, Variable):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape = value.size()
        events = shape[len(shape) - len(self._event_shape) :]
        if events != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}."
            )
        expected = torch.Size((*self._batch_shape, *self._event_shape))
        for i, j in zip(reversed(shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        """An instance to fill, for `expand`: raises NotImplementedError if a subclass has an __init__ of its own."""
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define "
                "a custom .expand() method."
            )
        return self.__new__(type(self))

    def _complete(self, new, batch_shape, event_shape=None):
        """Finish `new`, whose parameters are this one's, expanded: they were checked already."""
        Distribution.__init__(
            new, batch_shape, self._event_shape if event_shape is None else event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    def __repr__(self):
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = ", ".join(f"{name}: {v if v.numel() == 1 else v.size()}" for name, v in given.items())
        return f"{type(self).__name__}({shown})"


class Family(Distribution):
    """Distributions that are fully described by the tensors which `arg_constraints` names: `expand` expands these."""

    _parameters: dict | None = None  # if they are others than those `arg_constraints` names

    def expand(self, batch_shape, _instance=None):
        """The distribution with its batch expanded to `batch_shape`, without copying."""
        batch_shape = torch.Size(batch_shape)
        new = self._get_checked_instance(self._family(), _instance)
        self._expand_parameters(new, batch_shape)
        return self._complete(new, batch_shape)

    def _family(self):
        """The class that defines the parameters; users' subclasses do not."""
        return next(kind for kind in type(self).__mro__ if "arg_constraints" in vars(kind))

    def _expand_parameters(self, new, batch_shape):
        for name, constraint in (self._parameters or self.arg_constraints).items():
            value = self.__dict__.get(name)
            if value is not None:
                own = value.shape[value.dim() - constraint.event_dim :]
                setattr(new, name, value.expand(batch_shape + own))


class ExponentialFamily(Distribution):
    """Densities exp(t(x) . theta - F(theta) + k(x)): entropies and divergences follow from F alone (Bregman).

    A subclass gives theta as `_natural_params`, F as `_log_normalizer`, the mean of k as `_mean_carrier_measure`.
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def _normalizer_and_gradients(self):
        """The natural parameters as leaves, F there, and its gradients, which can be differentiated again."""
        leaves = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*leaves)
        return leaves, normalizer, torch.autograd.grad(normalizer.sum(), leaves, create_graph=True)

    def entropy(self):
        """F(theta) - theta . grad F(theta) - E[k(x)]."""
        leaves, normalizer, gradients = self._normalizer_and_gradients()
        result = normalizer - self._mean_carrier_measure
        for p, g in zip(leaves, gradients, strict=True):
            result = result - (p * g).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
