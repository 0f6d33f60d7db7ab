"""The gradients of convolutions as functions of their own (torch.nn.grad): by the input, and by the weight."""

from ..autograd import enable_grad
from ..autograd import grad as gradient
from ..creation import FACTORIES
from . import functional


def _gradients(name):
    """conv_input and conv_weight for the convolution `name`."""
    conv = getattr(functional, name)

    def at(x, weight, wanted, grad_output, settings):
        with enable_grad():
            y = conv(x, weight, None, *settings)
        given = x if wanted is weight else weight
        again = grad_output.requires_grad or given.requires_grad
        return gradient(y, wanted, grad_output, create_graph=again)[0]

    def by_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        if input_size is None:
            raise TypeError("expand(): argument 'size' (position 1) must be tuple of ints, not NoneType")
        x = FACTORIES["zeros"](input_size, dtype=weight.dtype, requires_grad=True)
        return at(x, weight, x, grad_output, (stride, padding, dilation, groups))

    def by_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = FACTORIES["zeros"](weight_size, dtype=input.dtype, requires_grad=True)
        return at(input, weight, weight, grad_output, (stride, padding, dilation, groups))

    for fn, what in ((by_input, "input"), (by_weight, "weight")):
        fn.__name__ = fn.__qualname__ = f"{name}_{what}"
        fn.__doc__ = f"The gradient of {name} by its {what}, whose size is given, from that of its result (torch.nn.grad.{name}_{what})."
    return by_input, by_weight


conv1d_input, conv1d_weight = _gradients("conv1d")
conv2d_input, conv2d_weight = _gradients("conv2d")
conv3d_input, conv3d_weight = _gradients("conv3d")

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
