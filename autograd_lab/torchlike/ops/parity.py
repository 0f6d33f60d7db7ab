"""What PyTorch does with the rules of the core that their formulas do not say.

The graph of a second derivative shows the steps that PyTorch's own code takes, and `_saved_<name>` what that keeps. The core's
rules stay pure; `PARITY` has the VJPs that are recorded in place of theirs, for Tensors.
"""

from ...core.rules.copies import CopyBackwards
from ...core.rules.pointwise import MaximumBackward0, ReluBackward0, SigmoidBackward0, TanhBackward0
from ...core.rules.reductions import SumBackward1, total
from ...core.rules.views import ExpandBackward0, SelectBackward0, SliceBackward0, ViewBackward0
from ...core.seams import extend
from ..autograd.handed import PARITY
from ..autograd.metadata import cast, summed
from ..autograd.record import apply
from ..layout import rows
from . import array_or_tensor as both
from .activations import ThresholdBackwardBackward0
from .broadcasting import to_winner
from .pointwise import SigmoidBackwardBackward0, TanhBackwardBackward0
from .reductions import Reduction, spread, wrap_dims
from .shapes import ShapeRule
from .slicing import SelectBackwardBackward0, SliceBackwardBackward0


def _copy(node, g):
    shape, dtype = node.args
    to_src = cast(summed(g, shape), dtype) if node.needs(1) else None
    return both.zeros_like(g) if node.needs(0) else None, to_src


def _maximum(node, g, a, b):
    a, b = both.array_of(a), both.array_of(b)
    return to_winner(g, a == b, a < b), to_winner(g, a == b, a > b)


def _sum(node, g):
    dims, keepdim, shape = node.args
    return both.expand(spread(g, shape, dims, keepdim), shape)


def _sum_over(x, dims, keepdim):
    return total(x, wrap_dims(dims, x.ndim), keepdim)


def _relu(node, g, y):
    return apply(ThresholdBackwardBackward0, (g, y), 0)


def _sigmoid(node, g, y):
    return apply(SigmoidBackwardBackward0, (g, y))


def _tanh(node, g, y):
    return apply(TanhBackwardBackward0, (g, y))


def _select(node, g):
    return apply(SelectBackwardBackward0, (g,), *node.args)


def _slice(node, g):
    return apply(SliceBackwardBackward0, (g,), *node.args)


PARITY.update({
    CopyBackwards: _copy,
    MaximumBackward0: _maximum,
    ReluBackward0: _relu,
    SelectBackward0: _select,
    SigmoidBackward0: _sigmoid,
    SliceBackward0: _slice,
    SumBackward1: _sum,
    TanhBackward0: _tanh,
})  # fmt: skip

for _rule in (ExpandBackward0, SelectBackward0, SliceBackward0, ViewBackward0):
    extend(_rule, kept=ShapeRule.kept, hides=(), __dir__=ShapeRule.__dir__)
SumBackward1.forward = staticmethod(_sum_over)
extend(SumBackward1, kept=Reduction.kept, layout=staticmethod(rows))
