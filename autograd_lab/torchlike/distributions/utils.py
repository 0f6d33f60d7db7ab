"""What distributions have in common below the level of classes (torch.distributions.utils)."""

from functools import update_wrapper
from numbers import Number

import autograd_lab as torch

from ..autograd.variable import Variable

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; numbers take the type of the first tensor, if there is one."""
    if not all(isinstance(v, (Number, Variable)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    first = next((v for v in values if isinstance(v, Variable)), None)
    dtype = torch.get_default_dtype() if first is None else first.dtype
    return torch.broadcast_tensors(
        *[v if isinstance(v, Variable) else torch.tensor(v, dtype=dtype) for v in values]
    )


def standard_normal(shape, like):
    """Normal numbers in the type of `like`."""
    return torch.empty(shape, dtype=like.dtype).normal_()


def sum_rightmost(value, dim):
    """`value` with its last `dim` dims added up."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def tiny(tensor):
    """The least normal positive number of the tensor's type."""
    return torch.finfo(tensor.dtype).tiny


def eps(tensor):
    """The step from 1 to the next number of the tensor's type."""
    return torch.finfo(tensor.dtype).eps


def draw_gamma(concentration, rate, shape):
    """Draws of a gamma distribution, of `shape`; gradients flow to `concentration` and `rate`."""
    drawn = torch._standard_gamma(concentration.expand(shape)) / rate.expand(shape)
    drawn.detach().clamp_(min=tiny(drawn))  # the numbers alone, not their history
    return drawn


def clamp_probs(probs):
    """Probabilities kept away from 0 and 1, so that their logarithms are finite."""
    return probs.clamp(min=eps(probs), max=1 - eps(probs))


def logits_to_probs(logits, is_binary=False):
    """Probabilities of log odds (`is_binary`), or of logarithms up to a constant along the last dim."""
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, dim=-1)


def probs_to_logits(probs, is_binary=False):
    """Log odds (`is_binary`) or logarithms of probabilities, finite also for 0 and 1."""
    inside = clamp_probs(probs)
    return torch.log(inside) - torch.log1p(-inside) if is_binary else torch.log(inside)


class lazy_property:  # noqa: N801 - PyTorch's name
    """A method that is called when its value is first asked for; from then on the value is an attribute."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat, diag=0):
    """The elements on and below the diagonal `diag` of square matrices, row by row, as vectors."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """The square matrices that have the elements of `vec` on and below the diagonal `diag`, and zeros above it."""
    extra = 1 + 2 * diag
    n = (-extra + (extra**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not round(n) - n < eps(vec):
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of "
            "a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    rows, columns = torch.tril_indices(n, n, diag)
    mat[..., rows, columns] = vec
    return mat


_standard_normal, _sum_rightmost = standard_normal, sum_rightmost
