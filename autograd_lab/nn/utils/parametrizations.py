"""Parametrizations in common use: weight normalization, spectral normalization, orthogonal matrices."""

from ...autograd import no_grad
from ...linalg import matrix_exp, qr
from ...ops import normalization as rules
from ...ops.rule import FUNCTIONS
from ..functional import normalize
from ..module import Module
from .parametrize import register_parametrization


class _WeightNorm(Module):
    """Weight = g v / |v|, the norm taken over all dims but one."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return rules.weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        """Length and direction of a weight."""
        return rules.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Length and direction of a weight as separate parameters: original0 is g, original1 is v. Returns the module."""
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """Weight / its largest singular value, which power iteration follows (one step a call in training)."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.dim()}, {weight.dim() - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % weight.dim(), eps, n_power_iterations
        if weight.dim() > 1:
            with no_grad():
                matrix = self._matrix(weight)
                u = matrix.new_empty(matrix.shape[0]).normal_()
                v = matrix.new_empty(matrix.shape[1]).normal_()
                self.register_buffer("_u", normalize(u, dim=0, eps=eps))
                self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight):
        if self.dim:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.flatten(1)

    @no_grad()
    def _iterate(self, matrix, times):
        for _ in range(times):
            self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / FUNCTIONS["vdot"](u, matrix.mv(v))

    def right_inverse(self, value):
        """The weight itself: dividing by the norm again changes nothing but the scale."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value. Returns the module."""
    weight = getattr(module, name, None)
    if weight is None:
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    """Orthonormal columns (or rows): base times the exponential of a skew-symmetric matrix."""

    def __init__(self, weight):
        super().__init__()
        with no_grad():
            tall = weight if weight.shape[-2] >= weight.shape[-1] else weight.mT
            q, r = qr(tall, "complete")
            k = tall.shape[-1]
            signs = r.diagonal(dim1=-2, dim2=-1).sign()
            q[..., :k] *= signs.unsqueeze(-2)
            self.register_buffer("base", q.contiguous())

    def forward(self, X):
        tall = X if X.shape[-2] >= X.shape[-1] else X.mT
        n, k = tall.shape[-2:]
        A = tall.tril()
        if n != k:
            A = FUNCTIONS["cat"]([A, A.new_zeros((*A.shape[:-2], n, n - k))], -1)
        A = A - A.mT
        Q = (self.base @ matrix_exp(A))[..., :k]
        return Q if X.shape[-2] >= X.shape[-1] else Q.mT


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix's columns (or, if it is wide, rows) orthonormal. Returns the module.

    Only the matrix exponential is here as a map (PyTorch has Cayley's and Householder's too): another one raises NotImplementedError.
    """
    weight = getattr(module, name, None)
    if weight is None:
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map not in (None, "matrix_exp") or not use_trivialization:
        raise NotImplementedError(
            "autograd_lab's orthogonal has orthogonal_map='matrix_exp' with use_trivialization=True only"
        )
    register_parametrization(module, name, _Orthogonal(weight), unsafe=True)
    with no_grad():
        module.parametrizations[name].original.zero_()
    return module


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
