"""torch.amp: programs that use it where there is a GPU run here in the types their tensors have.

autocast      chooses narrow types on a GPU; on a machine without one PyTorch switches it off, and so it is here
GradScaler    keeps small gradients from vanishing in narrow types: multiplies the loss, divides the gradients, and
              leaves out steps in which some overflowed
"""

import functools
from collections.abc import Iterable
from contextlib import ContextDecorator

import numpy as np

from .autograd import no_grad
from .autograd.modes import WATCHERS, watcher
from .autograd.record import write
from .autograd.variable import Variable, wrap
from .dtypes import float16
from .world.device import device as device_of
from .world.warning import warn


class autocast(ContextDecorator):  # noqa: N801 - PyTorch's name
    """A context that changes nothing here (torch.autocast).

    For "cuda" it is switched off with PyTorch's warning. On the CPU PyTorch computes in bfloat16 or float16 inside it:
    that raises RuntimeError here unless `enabled` is False, for NumPy has no bfloat16.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_of(device_type).type
        self.fast_dtype = dtype
        if enabled and self.device == "cuda":
            warn("CUDA is not available or torch_xla is imported. Disabling autocast.")
        if enabled and self.device == "cpu":
            if dtype is not None and dtype is not float16:
                warn(
                    "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                    "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
                )
                return
            raise RuntimeError(
                "autocast on the CPU computes in bfloat16 or float16; autograd_lab computes in the types that tensors have. "
                "Pass enabled=False, or leave the autocast out"
            )

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def is_autocast_enabled(*device_type):
    """Always False, for any kind of device or none (torch.is_autocast_enabled)."""
    if device_type:
        device_of(*device_type)
    return False


def is_autocast_available(device_type):
    """Whether PyTorch knows autocast for this kind of device (torch.amp.is_autocast_available)."""
    return device_of(device_type).type in ("cpu", "cuda", "mps", "xpu")


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Around the forward of a Function that runs under autocast; changes nothing here (torch.amp.custom_fwd)."""
    return functools.partial(custom_fwd, device_type=device_type) if fwd is None else fwd


def custom_bwd(bwd=None, *, device_type):
    """Around its backward; changes nothing here (torch.amp.custom_bwd)."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


class GradScaler:
    """Scale the loss up and the gradients down again, and find the largest scale that does not overflow (torch.amp.GradScaler).

    Every `growth_interval` steps without overflow the scale is multiplied by `growth_factor`; a step with an inf or nan in a
    gradient is left out, and multiplies it by `backoff_factor`. For "cuda", which is not there, everything is passed
    through, with PyTorch's warning.
    """

    def __init__(
        self,
        device="cuda",
        init_scale=65536.0,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        self._device = device
        if enabled and device == "cuda":
            enabled = False
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
        self._enabled = enabled
        if not enabled:
            return
        if not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._begun = False  # whether something was scaled
        self._overflowed = {}  # by optimizer: whether a gradient was not finite, since the last update
        self._stepped = set()

    def scale(self, outputs):
        """A tensor times the scale, or a list or tuple of them."""
        if not self._enabled:
            return outputs
        self._begun = True
        if isinstance(outputs, Variable):
            return outputs * wrap(np.float32(self._scale))
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(one) for one in outputs])
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divide the gradients of the optimizer's parameters by the scale; at most once between updates."""
        if not self._enabled:
            return
        self._check_begun("unscale_")
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._overflowed:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        factor = np.float32(1 / self._scale)
        found = []
        with no_grad():
            for p in (p for group in optimizer.param_groups for p in group["params"] if p.grad is not None):
                data = p.grad._array()
                found.append(not np.isfinite(data).all())
                write(p.grad, data * data.dtype.type(factor))
                if WATCHERS:
                    watcher().grad_set(p, "unscale_")
        if found:
            self._overflowed[id(optimizer)] = any(found)

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient overflowed; unscales first where that was not done. Returns what step() does."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_begun("step")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._overflowed:
            self.unscale_(optimizer)
        if id(optimizer) not in self._overflowed:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None if self._overflowed[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._stepped.add(id(optimizer))
        return result

    def update(self, new_scale=None):
        """After the step: let the scale grow or fall, or set it."""
        if not self._enabled:
            return
        self._check_begun("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            if not self._overflowed:
                raise AssertionError("No inf checks were recorded prior to update.")
            if any(self._overflowed.values()):
                self._scale *= self._backoff_factor
                self._growth_tracker = 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale *= self._growth_factor
                    self._growth_tracker = 0
        self._overflowed, self._stepped = {}, set()

    def _check_begun(self, name):
        if not self._begun:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use scaler.scale(loss or "
                "outputs) earlier in the iteration."
            )

    def get_scale(self):
        """The scale; 1.0 if this one is switched off."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self):
        """Whether this one scales."""
        return self._enabled

    def get_growth_factor(self):
        """What the scale is multiplied by after enough steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Set what `get_growth_factor` gives."""
        self._growth_factor = new_factor

    def get_backoff_factor(self):
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Set what `get_backoff_factor` gives."""
        self._backoff_factor = new_factor

    def get_growth_interval(self):
        """How many steps without overflow it takes to grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Set what `get_growth_interval` gives."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self):
        return self._growth_tracker if self._enabled else 0

    def state_dict(self):
        """The scale and its settings, to be saved; empty if this one is switched off."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict):
        """Take over a saved state."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._scale = state_dict["scale"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
