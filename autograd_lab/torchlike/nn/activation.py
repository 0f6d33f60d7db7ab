"""Activations as modules: each calls its function in nn.functional with its settings."""

from typing import ClassVar

from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


class _Activation(Module):
    """A function with settings.

    fn        the function
    settings  its settings and their defaults, in the order of the arguments
    """

    fn = None
    settings: ClassVar[dict] = {}

    def __init__(self, *args, **kwargs):
        super().__init__()
        values = dict(self.settings)
        if len(args) > len(values):
            raise TypeError(
                f"{type(self).__name__}.__init__() takes from 1 to {len(values) + 1} positional arguments but "
                f"{len(args) + 1} were given"
            )
        values.update(zip(values, args, strict=False))
        for name, value in kwargs.items():
            if name not in values:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'"
                )
            values[name] = value
        self.__dict__.update(values)

    def forward(self, input):
        return type(self).fn(input, **{name: getattr(self, name) for name in self.settings})

    def extra_repr(self):
        shown = [f"{name}={getattr(self, name)!r}" for name in self.settings if name != "inplace"]
        return ", ".join(shown + ["inplace=True"] * bool(getattr(self, "inplace", False)))


def _activation(name, fn, doc, /, **settings):
    body = {"fn": staticmethod(fn), "settings": settings, "__doc__": doc, "__module__": __name__}
    return type(name, (_Activation,), body)


class ReLU(Module):
    """max(x, 0)."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.relu(input, self.inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


LeakyReLU = _activation("LeakyReLU", F.leaky_relu, F.leaky_relu.__doc__, negative_slope=0.01, inplace=False)
ELU = _activation("ELU", F.elu, F.elu.__doc__, alpha=1.0, inplace=False)
CELU = _activation("CELU", F.celu, F.celu.__doc__, alpha=1.0, inplace=False)
SELU = _activation("SELU", F.selu, F.selu.__doc__, inplace=False)
SiLU = _activation("SiLU", F.silu, F.silu.__doc__, inplace=False)
Mish = _activation("Mish", F.mish, F.mish.__doc__, inplace=False)
GELU = _activation("GELU", F.gelu, "x times the Gaussian distribution function.", approximate="none")
Tanh = _activation("Tanh", F.tanh, "tanh(x).")
Sigmoid = _activation("Sigmoid", F.sigmoid, "1 / (1 + exp(-x)).")
LogSigmoid = _activation("LogSigmoid", F.logsigmoid, "log sigmoid(x).")
Softplus = _activation("Softplus", F.softplus, "log(1 + exp(beta x)) / beta.", beta=1.0, threshold=20.0)
Softsign = _activation("Softsign", F.softsign, "x / (1 + |x|).")
Tanhshrink = _activation("Tanhshrink", F.tanhshrink, "x - tanh(x).")
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid, F.hardsigmoid.__doc__, inplace=False)
Hardswish = _activation("Hardswish", F.hardswish, F.hardswish.__doc__, inplace=False)


class Hardtanh(_activation("Hardtanh", F.hardtanh, None, min_val=-1.0, max_val=1.0, inplace=False)):  # type: ignore[misc]
    """x cut off at min_val and max_val."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if not self.max_val > self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


Threshold = _activation("Threshold", F.threshold, F.threshold.__doc__, threshold=0, value=0, inplace=False)
GLU = _activation("GLU", F.glu, "The first half times the sigmoid of the second.", dim=-1)
Softmax = _activation("Softmax", F.softmax, F.softmax.__doc__, dim=None)
Softmin = _activation("Softmin", F.softmin, F.softmin.__doc__, dim=None)
LogSoftmax = _activation("LogSoftmax", F.log_softmax, F.log_softmax.__doc__, dim=None)


class ReLU6(Hardtanh):  # type: ignore[misc, valid-type]  # made by `_activation`
    """x cut off at 0 and 6."""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class _Shrink(Module):
    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(_Shrink):
    """x where |x| > lambd, else 0."""

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x moved towards 0 by lambd."""

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Softmax2d(Module):
    """Softmax over the channels of an image."""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class RReLU(Module):
    """LeakyReLU with a random slope in training."""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + ", inplace=True" * bool(self.inplace)


class PReLU(Module):
    """LeakyReLU whose slope is trained."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        from ..creation import FACTORIES

        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(FACTORIES["empty"](num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Start again from the initial slope."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]  # fmt: skip
