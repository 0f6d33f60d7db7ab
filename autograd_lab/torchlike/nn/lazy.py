"""Layers that find out the size of their input when they see it: LazyLinear(10) becomes a Linear(n, 10) at its first call.

Until then their parameters have no shape (parameter.py). The first call of the network, a dry run on a dummy batch, gives them
one, and draws their numbers as the ordinary layer does; from then on the layer is of the ordinary class.
"""

import itertools

from ..autograd.modes import no_grad
from . import modules
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy


class LazyModuleMixin:
    """What makes a layer lazy.

    (torch.nn.modules.lazy.LazyModuleMixin) A subclass names the ordinary layer as its next base, and as `cls_to_become`, and
    says in `initialize_parameters(*inputs)` how to find the shapes.
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(type(self)._shapes_from_state)
        self._initialize_hook = self.register_forward_pre_hook(type(self)._infer_parameters, with_kwargs=True)

    def _parts(self):
        return [
            part
            for part in itertools.chain(self._parameters.items(), self._buffers.items())
            if part[1] is not None
        ]

    def has_uninitialized_params(self):
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(tensor) for _, tensor in self._parts())

    def initialize_parameters(self, *args, **kwargs):
        """Give the parameters shapes that fit this input."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def _infer_parameters(self, args, kwargs):
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become

    def _shapes_from_state(self, state_dict, prefix, *_):
        """Before a state is loaded: what has a shape there gets it here."""
        for name, tensor in self._parts():
            loaded = state_dict.get(prefix + name)
            if is_lazy(tensor) and loaded is not None and not is_lazy(loaded):
                tensor.materialize(loaded.shape)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, True)
        for name, _ in self._parts():
            key = prefix + name
            if key in destination and not keep_vars and not is_lazy(destination[key]):
                destination[key] = destination[key].detach()


class _Lazy(LazyModuleMixin):
    """What the layers below share."""

    size = ""
    """The attribute that says how large an input is; 0 until that is known."""

    def reset_parameters(self):
        """Draw new weights, once there are any."""
        if not self.has_uninitialized_params() and getattr(self, self.size) != 0:
            super().reset_parameters()

    def _without_shapes(self, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _give_shapes(self, shapes):
        with no_grad():
            for name, shape in shapes.items():
                if is_lazy(getattr(self, name)):
                    getattr(self, name).materialize(shape)
            self.reset_parameters()


def _lazy(shared, layer):
    doc = f"{layer.__name__} for as many channels as its first input has."
    return type(
        f"Lazy{layer.__name__}",
        (shared, layer),
        {"cls_to_become": layer, "__doc__": doc, "__module__": __name__},
    )


class LazyLinear(_Lazy, modules.Linear):
    """A Linear whose in_features is the size of the last dim of its first input."""

    cls_to_become, size = modules.Linear, "in_features"

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, out_features, False)
        self._without_shapes(bias, device, dtype)

    def initialize_parameters(self, input):
        """Weight (out, in), bias (out,)."""
        n = input.shape[-1]
        if self.has_uninitialized_params():
            self.in_features = n
            self._give_shapes({"weight": (self.out_features, n), "bias": (self.out_features,)})
        elif self.in_features == 0:  # its weight came with a state
            assert n == self.weight.shape[-1], (
                f"The in_features inferred from input: {n} is not equal to in_features from self.weight: {self.weight.shape[-1]}"
            )
            self.in_features = n


class _LazyConv(_Lazy):
    size = "in_channels"

    def __init__(
        self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
        device=None, dtype=None,
    ):  # fmt: skip
        super().__init__(
            0, out_channels, kernel_size, stride, padding, dilation, groups, False, padding_mode, dtype=dtype
        )
        self._without_shapes(bias, device, dtype)

    def initialize_parameters(self, input, *args, **kwargs):
        """Weight (out, in / groups, *kernel), or (in, out / groups, *kernel) of a transposed one; bias (out,)."""
        if not self.has_uninitialized_params():
            return
        if input.dim() not in (self.nd + 1, self.nd + 2):
            raise RuntimeError(
                f"Expected {self.nd + 1}D (unbatched) or {self.nd + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        n = input.shape[-self.nd - 1]
        if n % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.in_channels = n
        rows, cols = (n, self.out_channels) if self.transposed else (self.out_channels, n)
        self._give_shapes(
            {"weight": (rows, cols // self.groups, *self.kernel_size), "bias": (self.out_channels,)}
        )


LazyConv1d = _lazy(_LazyConv, modules.Conv1d)
LazyConv2d = _lazy(_LazyConv, modules.Conv2d)
LazyConv3d = _lazy(_LazyConv, modules.Conv3d)


class _LazyConvTranspose(_LazyConv):
    def __init__(
        self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
        padding_mode="zeros", device=None, dtype=None,
    ):  # fmt: skip
        super(_LazyConv, self).__init__(
            0, out_channels, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, dtype=dtype
        )  # fmt: skip
        self._without_shapes(bias, device, dtype)


LazyConvTranspose1d = _lazy(_LazyConvTranspose, modules.ConvTranspose1d)
LazyConvTranspose2d = _lazy(_LazyConvTranspose, modules.ConvTranspose2d)
LazyConvTranspose3d = _lazy(_LazyConvTranspose, modules.ConvTranspose3d)


class _LazyNorm(_Lazy):
    size = "num_features"

    def __init__(
        self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True
    ):  # fmt: skip
        super().__init__(0, eps, momentum, False, False, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self._without_shapes(bias, device, dtype)
        if track_running_stats:
            for name in ("running_mean", "running_var"):
                self.register_buffer(name, UninitializedBuffer(device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", modules.tensor(0))

    def initialize_parameters(self, input):
        """Scale, shift and running statistics, one each per channel of the input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            names = [name for name, tensor in self._parts() if is_lazy(tensor)]
            self._give_shapes(dict.fromkeys(names, (self.num_features,)))


LazyBatchNorm1d = _lazy(_LazyNorm, modules.BatchNorm1d)
LazyBatchNorm2d = _lazy(_LazyNorm, modules.BatchNorm2d)
LazyBatchNorm3d = _lazy(_LazyNorm, modules.BatchNorm3d)
LazyInstanceNorm1d = _lazy(_LazyNorm, modules.InstanceNorm1d)
LazyInstanceNorm2d = _lazy(_LazyNorm, modules.InstanceNorm2d)
LazyInstanceNorm3d = _lazy(_LazyNorm, modules.InstanceNorm3d)
