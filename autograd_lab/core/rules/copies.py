"""The rules of copies: clone, conversion to another number type, and overwriting a tensor."""

import numpy as np

from ..array_or_tensor import cast, sum_to, zeros_like
from ..record import apply, apply_inplace
from ..rule import Rule, function, method
from ..seams import CLASSES


class CloneBackward0(Rule):
    """A copy.

    Math: y = a.   VJP: g.   Shapes: the same.   Saves: nothing.   PyTorch: torch.clone
    """

    def forward(x, order):
        return x.copy(order) if isinstance(x, np.ndarray) else x

    def vjp(self, g):
        return g


CLASSES["CloneBackward0"] = CloneBackward0


class ToCopyBackward0(Rule):
    """A copy in another number type or another order in memory.

    Math: y = a.   VJP: g. Both are rounded to the type they get.   Shapes: the same.   Saves: nothing.   PyTorch: torch.Tensor.to
    """

    def forward(x, dtype, old):
        return x.astype(dtype)

    def vjp(self, g):
        return cast(g, self.args[1])


class CopyBackwards(Rule):
    """One tensor overwritten with another.

    Math: y = expand(b, shape(a)).   VJP: to a: 0; to b: g.
    Shapes: b broadcasts to a.   Saves: nothing.   PyTorch: torch.Tensor.copy_
    """

    op = "copy"
    inputs = ("self", "src")

    def forward(x, y, _shape, _dtype):
        return np.broadcast_to(y, x.shape).astype(x.dtype)

    def vjp(self, g):
        shape, dtype = self.args
        to_src = cast(sum_to(g, shape), dtype) if self.needs(1) else None
        return zeros_like(g) if self.needs(0) else None, to_src

    def name(self):
        return "torch::autograd::CopyBackwards"


class FillBackward0(Rule):
    """All elements set to one number.

    Math: y = value.   VJP: 0.   Shapes: the same.   Saves: nothing.   PyTorch: torch.fill
    """

    op = "fill"

    def forward(x, value):
        return np.full(x.shape, value, x.dtype)

    def vjp(self, g):
        return zeros_like(g)


class FillBackward2(FillBackward0):
    """The in-place form of FillBackward0.

    Math, VJP, Shapes: the same.   Saves: nothing.   PyTorch: torch.Tensor.fill_
    """


class ZeroBackward0(FillBackward0):
    """All elements set to zero, in place.

    Math: y = 0.   VJP: 0.   Shapes: the same.   Saves: nothing.   PyTorch: torch.Tensor.zero_
    """

    op = "zero"


@function
def clone(input):
    """A copy that gradients flow through (torch.clone).

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (torch.clone(x) * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    return apply(CloneBackward0, (input,), "K")


@method
def to(self, dtype):
    """Convert to another number type; returns the tensor itself if it already has that type (torch.Tensor.to)."""
    old = self._data.dtype
    return self if old == dtype else apply(ToCopyBackward0, (self,), np.dtype(dtype), old)


@method
def copy_(self, src):
    """Overwrite the tensor with `src`, broadcast and converted to its type; returns the tensor (torch.Tensor.copy_).

    >>> torch.tensor([1.0, 2.0]).copy_(torch.tensor(5))
    tensor([5., 5.])
    """
    return apply_inplace(CopyBackwards, (self, src), src._data.shape, src._data.dtype)


@method
def fill_(self, value):
    """Set all elements to one number (torch.Tensor.fill_).

    >>> torch.tensor([1.0, 2.0]).fill_(4)
    tensor([4., 4.])
    """
    return apply_inplace(FillBackward2, (self,), value)


@method
def zero_(self):
    """Set all elements to zero (torch.Tensor.zero_)."""
    return apply_inplace(ZeroBackward0, (self,), 0)
