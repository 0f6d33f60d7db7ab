"""Muon: momentum whose matrix is made nearly orthogonal before it moves the weights.

PyTorch computes the orthogonal matrix in bfloat16, on the CPU as well: products are summed in float32 and their results rounded to
16 bits. NumPy has no such type; float32 arrays rounded after every operation hold the same numbers.
"""

import math

import numpy as np

from ..autograd.variable import bump_version, wrap
from .optimizer import Optimizer, chosen, require, scalar
from .optimizers import lerp


def rounded(x):
    """`x` as float32 with the 8 bits of precision of bfloat16, rounded to even."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return ((bits + half) & np.uint32(0xFFFF0000)).view(np.float32)


def orthogonal(matrix, coefficients, steps, eps):
    """The nearest matrix with orthonormal rows (or columns), roughly: Newton and Schulz's iteration in bfloat16.

    coefficients  a, b, c: each step makes X of shape (n, m), n <= m, into (a + b (X X^T) + c (X X^T)^2) X
    eps           the least norm that the matrix is divided by at the start
    """
    a, b, c = (np.float32(k) for k in coefficients)
    x = rounded(matrix)
    wide = x.shape[0] <= x.shape[1]
    x = x if wide else x.T
    x = rounded(x / np.maximum(rounded(np.sqrt((x * x).sum(dtype=np.float32))), rounded(eps)))
    for _ in range(steps):
        gram = rounded(x @ x.T)
        x = rounded(a * x + rounded(b * gram + c * (gram @ gram)) @ x)
    return x if wide else x.T


class Muon(Optimizer):
    """Momentum made orthogonal: b <- lerp(b, g, 1 - m), x <- x - lr decay x - lr' O(lerp(g, b, m)), O being `orthogonal`.

    Without Nesterov it is O(b). lr' is lr times sqrt(max(1, rows / columns)), or with adjust_lr_fn="match_rms_adamw"
    lr 0.2 sqrt(max(rows, columns)). Parameters must be matrices.   PyTorch: torch.optim.Muon
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.775, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        if hasattr(lr, "numel"):
            require(lr.numel() == 1, "Tensor lr must be 1-element")
        require(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        require(momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}")
        require(weight_decay >= 0.0, f"weight decay should be >= 0 but is: {weight_decay}")
        require(
            adjust_lr_fn in (None, "original", "match_rms_adamw"),
            f"Adjust learning rate function {adjust_lr_fn} is not supported",
        )
        settings = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
        super().__init__(params, chosen(settings, locals()))
        for p in [p for group in self.param_groups for p in group["params"]]:
            require(
                p.ndim == 2,
                f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}",
            )

    def update(self, group, p, x, g):
        """One step of this rule."""
        state, momentum = self.state[p], group["momentum"]
        if not state:
            state["momentum_buffer"] = wrap(np.zeros_like(g))
        buffer = state["momentum_buffer"]
        b = buffer._array()
        lerp(b, g, 1 - momentum)
        bump_version(buffer)
        if group["nesterov"]:
            ahead = np.array(g)
            lerp(ahead, b, momentum)
            b = ahead
        require(group["ns_steps"] < 100, "Number of steps must be less than 100 for computational efficiency")
        require(len(group["ns_coefficients"]) == 3, "Coefficients must be a tuple of exactly 3 values")
        direction = orthogonal(b, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr, (rows, columns) = scalar(group["lr"]), x.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            adjusted = lr * 0.2 * math.sqrt(max(rows, columns))
        else:
            adjusted = lr * math.sqrt(max(1, rows / columns))
        x *= 1 - lr * group["weight_decay"]
        bump_version(p)
        x -= direction.astype(x.dtype) * x.dtype.type(adjusted)


__all__ = ["Muon"]
