"""The first forms of weight_norm and spectral_norm: a hook before each forward computes the weight from its parts.

`parametrizations` has the forms that replace them; these remain for programs and saved states that have the older names
(weight_g and weight_v; weight_orig, weight_u and weight_v).
"""

from ...autograd import no_grad
from ...ops import normalization as rules
from ...ops.rule import FUNCTIONS
from ...world.warning import warn
from ..functional import normalize
from ..parameter import Parameter, is_lazy


class _Before:
    """A hook that sets the weight `name` of a module before its forward runs."""

    def __init__(self, name):
        self.name = name

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute(module))

    def compute(self, module):
        raise NotImplementedError

    def part(self, module, suffix):
        return getattr(module, f"{self.name}_{suffix}")


class _WeightNorm(_Before):
    def __init__(self, name, dim):
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def compute(self, module):
        return rules.weight_norm(self.part(module, "v"), self.part(module, "g"), self.dim)


class _SpectralNorm(_Before):
    def __init__(self, name, steps, dim, eps):
        super().__init__(name)
        self.steps, self.dim, self.eps = steps, dim, eps

    def matrix(self, weight):
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.reshape(weight.shape[0], -1)

    def compute(self, module):
        weight, u, v = [self.part(module, suffix) for suffix in ("orig", "u", "v")]
        matrix = self.matrix(weight)
        if module.training:
            with no_grad():
                for _ in range(self.steps):
                    v.copy_(normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(normalize(matrix.mv(v), dim=0, eps=self.eps))
            u, v = u.clone(), v.clone()
        return weight / FUNCTIONS["dot"](u, matrix.mv(v))


def _hook(module, kind, name):
    """(key, hook) of the hook of this kind for the weight `name`; None if the module has none."""
    return next(
        ((k, h) for k, h in module._forward_pre_hooks.items() if isinstance(h, kind) and h.name == name), None
    )


def _apply(module, hook, label):
    if _hook(module, type(hook), hook.name) is not None:
        raise RuntimeError(f"Cannot register two {label} hooks on the same parameter {hook.name}")
    weight = module._parameters[hook.name]
    if weight is None:
        raise ValueError(f"`{hook.name}` cannot be `None` when applying {label}")
    if is_lazy(weight):
        raise ValueError(
            f"The module passed to `{type(hook).__name__[1:]}` can't have uninitialized parameters. Make sure to run the dummy "
            f"forward before applying {label.removesuffix('_norm')} normalization"
        )
    del module._parameters[hook.name]
    return weight


def _remove(module, kind, name, label, parts):
    found = _hook(module, kind, name)
    if found is None:
        raise ValueError(f"{label} of '{name}' not found in {module}")
    key, hook = found
    training, module.training = module.training, False
    weight = hook.compute(module)
    module.training = training
    del module._forward_pre_hooks[key]
    for part in (name, *[f"{name}_{p}" for p in parts]):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight.detach()))
    return module


def weight_norm(module, name="weight", dim=0):
    """Length and direction of a weight as parameters `name`_g and `name`_v (torch.nn.utils.weight_norm). Returns the module."""
    warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
    )
    hook = _WeightNorm(name, dim)
    weight = _apply(module, hook, "weight_norm")
    module.register_parameter(name + "_g", Parameter(rules.norm_except_dim(weight, 2, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Make the weight one parameter again (torch.nn.utils.remove_weight_norm). Returns the module."""
    return _remove(module, _WeightNorm, name, "weight_norm", "gv")


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value (torch.nn.utils.spectral_norm). Returns the module."""
    if n_power_iterations <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
        )
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = _SpectralNorm(name, n_power_iterations, dim, eps)
    weight = _apply(module, hook, "spectral_norm")
    h, w = hook.matrix(weight.detach()).shape
    u, v = [normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in (h, w)]
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u.detach())
    module.register_buffer(name + "_v", v.detach())
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Make the weight a plain parameter again (torch.nn.utils.remove_spectral_norm). Returns the module."""
    return _remove(module, _SpectralNorm, name, "spectral_norm", ("orig", "u", "v"))


__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]
