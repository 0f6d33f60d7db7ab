"""functorch, the older place of torch.func, which programs import beside torch: its functions there, and models as functions."""

import copy
import functools

from .. import func
from ..func import functional_call, stack_module_state
from ..nn.module import Module
from .warning import warn

_NEW = {
    "vmap": "torch.vmap", "make_functional": "torch.func.functional_call",
    "make_functional_with_buffers": "torch.func.functional_call", "combine_state_for_ensemble": "torch.func.stack_module_state",
}  # fmt: skip
"""What to use instead of a function of that name, if it is not that of torch.func."""


def _older(fn):
    """`fn` as functorch's, which warns of its name."""
    name = fn.__name__
    text = (
        f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated as of "
        "PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use "
        f"`{_NEW.get(name, f'torch.func.{name}')}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration "
        "guide for more details https://pytorch.org/docs/main/func.migrating.html"
    )

    @functools.wraps(fn)
    def call(*args, **kwargs):
        warn(text, FutureWarning)
        return fn(*args, **kwargs)

    return call


grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap = (
    _older(getattr(func, name))
    for name in ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap")
)


class FunctionalModule(Module):
    """A model as a function of its parameters: fmodel(params, *args)."""

    def __init__(self, stateless_model, param_names):
        super().__init__()
        self.stateless_model, self.param_names = stateless_model, param_names

    def forward(self, params, *args, **kwargs):
        """What the model gives with these parameters."""
        state = dict(zip(self.param_names, params, strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModuleWithBuffers(FunctionalModule):
    """A model as a function of its parameters and buffers: fmodel(params, buffers, *args)."""

    def __init__(self, stateless_model, param_names, buffer_names):
        super().__init__(stateless_model, param_names)
        self.buffer_names = buffer_names

    def forward(self, params, buffers, *args, **kwargs):
        """What the model gives with these parameters and buffers."""
        state = dict(zip(self.param_names + self.buffer_names, [*params, *buffers], strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


def _copied(model, disable_autograd_tracking):
    model = copy.deepcopy(model)
    names, params = zip(*model.named_parameters(), strict=True) if list(model.parameters()) else ((), ())
    if disable_autograd_tracking:
        model.requires_grad_(False)
    return model, names, params


@_older
def make_functional(model, disable_autograd_tracking=False):
    """(a function of the parameters and of what the model takes, copies of the parameters). RuntimeError if it has buffers."""
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    model, names, params = _copied(model, disable_autograd_tracking)
    return FunctionalModule(model, names), params


def _with_buffers(model, disable_autograd_tracking=False):
    model, names, params = _copied(model, disable_autograd_tracking)
    buffers = dict(model.named_buffers())
    return FunctionalModuleWithBuffers(model, names, tuple(buffers)), params, tuple(buffers.values())


@_older
def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """(a function of the parameters, the buffers and what the model takes, copies of the parameters, of the buffers)."""
    return _with_buffers(model, disable_autograd_tracking)


@_older
def combine_state_for_ensemble(models):
    """(a function of parameters and buffers for vmap, the stacked parameters, the stacked buffers) of models of one class."""
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    params, buffers = stack_module_state(models)
    params = tuple(p.detach() for p in params.values())
    return _with_buffers(models[0])[0], params, tuple(buffers.values())


__all__ = [
    "combine_state_for_ensemble", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional",
    "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip
