"""torch.distributions: draw, weigh, compare; `rsample` passes gradients to the parameters.

A distribution has a batch_shape (independent ones side by side) and an event_shape (of one draw).
The base is in distribution.py, the families in continuous.py, gammas.py, discrete.py, relaxed.py, multivariate.py and
combined.py.
"""

from ..world.missing import finder
from . import constraint_registry, constraints, kl, transforms, utils
from .combined import Independent, MixtureSameFamily, TransformedDistribution
from .constraint_registry import biject_to, transform_to
from .continuous import *
from .continuous import __all__ as _continuous
from .discrete import *
from .discrete import __all__ as _discrete
from .distribution import Distribution, ExponentialFamily
from .gammas import *
from .gammas import __all__ as _gammas
from .kl import kl_divergence, register_kl
from .multivariate import *
from .multivariate import __all__ as _multivariate
from .relaxed import *
from .relaxed import __all__ as _relaxed
from .transforms import *
from .transforms import __all__ as _transforms

__getattr__ = finder("distributions")

__all__ = [
    "Distribution",
    "ExponentialFamily",
    "Independent",
    "MixtureSameFamily",
    "TransformedDistribution",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
    *_continuous,
    *_discrete,
    *_gammas,
    *_multivariate,
    *_relaxed,
    *_transforms,
]
