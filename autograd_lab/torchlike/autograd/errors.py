"""The engine's error messages, in one place. They begin with PyTorch's words, so that searching for them works."""

import re
from functools import cache

from ...core.node import FREED_TEXT
from ...core.tensor import Tensor

DETACHED_TEXT = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
    "This is not supported, please use out-of-place `.detach()` instead"
)
INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)

MIXED = (
    "A tensor of PyTorch and one of autograd_lab cannot be used together: each library has its own. What to do: make them tensors of one, "
    "for example with autograd_lab.tensor(x.detach().numpy()) for a PyTorch tensor x."
)
"""For a RuntimeError: a TypeError would tell operators of PyTorch to ask the other operand."""

_HINT = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_ANOMALY_HINT = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
    "question was changed in there or anywhere later. Good luck!"
)

TYPE_NAMES = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
}
"""PyTorch's names for the scalar types, as its messages use them."""

CPP_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}
"""The names of the scalar types in C++, which some messages use instead."""


def not_for(dtype, kernel):
    """The error for an operation that does not support the NumPy type `dtype`; `kernel` is PyTorch's name of the kernel."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{TYPE_NAMES[dtype.name]}'")


def other_type(wanted, found):
    """The error for an array `found` whose type differs from that of the array `wanted`."""
    return RuntimeError(
        f"expected scalar type {TYPE_NAMES[wanted.dtype.name]} but found {TYPE_NAMES[found.dtype.name]}"
    )


def type_name(value):
    """The name of the type of `value` in messages: float, but numpy.ndarray."""
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def tensor_type(t):
    """The legacy type name of a tensor, such as torch.FloatTensor."""
    return f"torch.{TYPE_NAMES.get(t._data.dtype.name, t._data.dtype.name)}Tensor"


def no_forward_mode(op):
    """The error for an operation without forward mode, by PyTorch's name for it."""
    return NotImplementedError(
        f"Trying to use forward AD with {op} that does not support it because it has not been implemented yet.\n"
        "More operations have a formula for the way back: torch.autograd.grad may do instead."
    )


def short_name(node):
    """A node's name without its suffix, as in messages about in-place writes and views: MulBackward0 -> Mul, PowBackward1 -> Pow1."""
    return re.sub(r"Backward0?(\d*)$", r"\1", type(node).name(node))


def modified_text(node, t, i, expected):
    """The message for saved tensor `i` of `node`, which is `t`, overwritten since it was saved at version `expected`."""
    nr = node.result_number(i)
    return overwritten_text(t, node if nr is not None else None, nr, expected)


def overwritten_text(t, node, nr, expected):
    """The message for the saved tensor `t`, output `nr` of `node` (or None: an operand), no longer at version `expected`."""
    from .modes import THREAD

    # Reading the grad_fn of an overwritten view regenerates its history (or raises), so it is output 0 of AsStrided. For an operand,
    # PyTorch does not know which output it is, and says 0.
    own = t.__dict__["stands_for"]() if "stands_for" in t.__dict__ else None
    fn, number = (node, nr) if node is not None else ((t if own is None else own).grad_fn, 0)
    which = f", which is output {number} of {short_name(fn)}," if fn is not None else ""
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{tensor_type(t)} {list(t._data.shape)}]{which} is at version {t._box[0]}; expected version {expected} "
        f"instead. {_ANOMALY_HINT if THREAD.state.anomaly else _HINT}"
    )


def transformed_text(method, more=""):
    """The message for a method of Tensor that is called inside a function transformed by torch.func."""
    return (
        f"You are attempting to call Tensor.{method}() {more}inside of a function being transformed by a functorch transform. This is "
        "unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
        f"{method}() outside of a function being transformed instead."
    )


@cache
def is_of_pytorch(kind):
    """Whether a class is PyTorch's own Tensor, or inherits from it; ours may be called the same (see world/standin.py)."""
    return not issubclass(kind, Tensor) and any(
        (base.__module__, base.__qualname__) == ("torch", "Tensor") for base in kind.__mro__
    )


def refuse_pytorch(*values):
    """Raise RuntimeError if one of them is a tensor of PyTorch."""
    if any(is_of_pytorch(type(value)) for value in values):
        raise RuntimeError(MIXED)


__all__ = [
    "CPP_NAMES", "DETACHED_TEXT", "FREED_TEXT", "INFERENCE_SAVED", "MIXED", "TYPE_NAMES", "is_of_pytorch", "modified_text", "no_forward_mode", "not_for", "other_type", "overwritten_text",
    "refuse_pytorch", "short_name", "tensor_type", "transformed_text", "type_name",
]  # fmt: skip
