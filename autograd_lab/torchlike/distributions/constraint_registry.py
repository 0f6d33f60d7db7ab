"""From free numbers into a constraint's set (torch.distributions.constraint_registry).

biject_to(constraint)     a bijective transform from the real numbers into the set
transform_to(constraint)  one that need not be bijective, but is well conditioned for optimization
"""

from numbers import Number

from . import constraints, transforms


class ConstraintRegistry:
    """For each class of constraints a function that makes the transform of one."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Make `factory(constraint)` the transform of a class of constraints; without a factory, a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        """The transform of a constraint."""
        if type(constraint) not in self._registry:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds):
    """Register a function with both registries, for some classes of constraints."""

    def register(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


@_both(type(constraints.real))
def _to_real(constraint):
    return transforms.identity_transform


@_both(constraints.greater_than_eq, constraints.greater_than)
def _to_above(constraint):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints.less_than)
def _to_below(constraint):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.half_open_interval, constraints.interval)
def _to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and low == 0 and isinstance(high, Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    )


@_both(type(constraints.corr_cholesky))
def _to_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_semidefinite)
@transform_to.register(constraints.positive_definite)
def _transform_to_positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


for _registry in (biject_to, transform_to):
    _registry.register(
        constraints.independent,
        lambda c, to=_registry: transforms.IndependentTransform(
            to(c.base_constraint), c.reinterpreted_batch_ndims
        ),
    )
    _registry.register(
        constraints.cat,
        lambda c, to=_registry: transforms.CatTransform([to(part) for part in c.cseq], c.dim, c.lengths),
    )
    _registry.register(
        constraints.stack,
        lambda c, to=_registry: transforms.StackTransform([to(part) for part in c.cseq], c.dim),
    )

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
