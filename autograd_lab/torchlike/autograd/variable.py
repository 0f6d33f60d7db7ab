"""Tensors as the rest of the package sees them: those of core/tensor.py, and inference tensors, which count no writes."""

import weakref
from collections.abc import Callable
from typing import ClassVar

from ...core.seams import CLASSES, DOORS, extend
from ...core.tensor import (
    NO_EDGE,
    AutogradMeta,
    accumulator_of,
    alias,
    edge_of,
    new,
    pair_of,
    wrap,
)
from ...core.tensor import Tensor as Variable
from .modes import THREAD

weak = weakref.ref
find_edge = edge_of  # asked after a look at `_edge`, which says it of nearly all tensors

DEAD_END = tuple([None, 0])
"""The edge of a view made without recording of a tensor that requires a gradient: operations on it are recorded, but lead nowhere."""

OWN_TYPE = object()
"""The `grad_dtype` of a tensor whose gradient has its own type, whatever that is at the time."""

extend(
    AutogradMeta,
    detached=None,  # when detach_() cut this tensor off: nodes made before may not use it any more
    grad_dtype=OWN_TYPE,  # the type of `.grad`, if another than the tensor's own was asked for
    post_accumulate_hooks=None,  # hooks that run when `.grad` was written
)


class FullMeta(AutogradMeta):
    """The meta of a tensor that is no view, with what every accumulator asks for: sooner found here than on the class."""

    def __init__(self, requires_grad=False):
        super().__init__(requires_grad)
        self.grad_dtype, self.post_accumulate_hooks = OWN_TYPE, None


CLASSES["AutogradMeta"] = FullMeta


class Registry:
    """What this page uses from pages above it without importing them: they register it here themselves."""

    tensor = Variable
    clone: type  # CloneBackward0, of core/rules/copies.py
    compile: Callable  # torch.compile, of the package's __init__
    functions: ClassVar[dict[str, Callable]] = {}  # the functions of the torch-like namespace, by name


class _Uncounted(list):
    """A version counter that refuses to count outside of inference mode."""

    def __setitem__(self, i, value):
        if not THREAD.state.inference:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed."
                "You can make a clone to get a normal tensor before doing inplace update."
                "See https://github.com/pytorch/rfcs/pull/17 for more details."
            )


INFERENCE = _Uncounted([-1])
"""The one version counter of all inference tensors; it is recognized by identity and never counts."""


def version_of(t):
    """How often the memory of `t` was written in place, through it or any alias.

    Raises RuntimeError for an inference tensor, which has no counter.
    """
    box = t._box
    if box is None:
        return 0
    if box is INFERENCE:
        raise RuntimeError("Inference tensors do not track version counter.")
    return box[0]


def bump_version(t):
    """Note that the memory of `t` is about to be written to. Raises RuntimeError for an inference tensor outside of that mode."""
    box = t._box
    if box is None:
        t._box = [1]
    else:
        mutation = THREAD.state.mutation
        if mutation is not None and box is not INFERENCE:
            mutation.before_write(t)
        box[0] += 1


__all__ = [
    "DEAD_END", "DOORS", "INFERENCE", "NO_EDGE", "OWN_TYPE", "AutogradMeta", "Registry", "Variable", "accumulator_of", "alias",
    "bump_version", "edge_of", "find_edge", "new", "pair_of", "version_of", "weak", "wrap",
]  # fmt: skip
