"""Parametrizations in common use: weight normalization, spectral normalization, orthogonal matrices."""

from ...autograd import no_grad
from ...autograd.variable import Variable
from ...creation import eye
from ...dtypes import finfo
from ...linalg import householder_product, matrix_exp, solve
from ...ops import normalization as rules
from ...ops.rule import FUNCTIONS
from ..functional import normalize
from ..module import Module
from .parametrize import register_parametrization, type_before_parametrizations


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
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_older(state_dict, prefix, *_):
        """States of the older `nn.utils.weight_norm` fit too."""
        older = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in older):
            for i, key in enumerate(older):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_older)
    return module


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
    if not isinstance(weight, Variable):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type_before_parametrizations(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _Orthogonal(Module):
    """Orthonormal columns (or rows): base times a function of a skew-symmetric matrix, or times reflections."""

    def __init__(self, weight, map, use_trivialization):
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        tall = X if X.shape[-2] >= X.shape[-1] else X.mT
        n, k = tall.shape[-2:]
        if self.orthogonal_map == "householder":
            A = tall.tril(diagonal=-1)
            Q = householder_product(A, 2.0 / (1.0 + (A * A).sum(dim=-2)))
            Q = Q * tall.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            A = tall.tril()
            if n != k:
                A = FUNCTIONS["cat"]([A, A.new_zeros(n, n - k).expand(*A.shape[:-2], -1, -1)], -1)
            A = A - A.mT
            if self.orthogonal_map == "matrix_exp":
                Q = matrix_exp(A)
            else:
                one = eye(n, dtype=A.dtype)
                Q = solve(one.add(A, alpha=-0.5), one.add(A, alpha=0.5))
            if n != k:
                Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q if X.shape[-2] >= X.shape[-1] else Q.mT

    @no_grad()
    def right_inverse(self, Q):
        """The matrix from which Q is made; with a base, Q (made orthogonal) becomes the base."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        tall = Q if Q.shape[-2] >= Q.shape[-1] else Q.mT
        n, k = tall.shape[-2:]
        if hasattr(self, "base"):
            if n == k:
                self.base = tall.clone() if _is_orthogonal(tall) else _made_orthogonal(tall)
            else:
                more = FUNCTIONS["randn"](*tall.shape[:-2], n, n - k, dtype=tall.dtype)
                self.base = _made_orthogonal(FUNCTIONS["cat"]([tall, more], -1))
            start = Q.new_zeros(Q.shape)  # of which the first three maps make the identity
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when use_trivialization=False."
            )
        A, tau = FUNCTIONS["geqrf"](tall)
        signs = A.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0.0] *= -1  # where LAPACK left a reflection out
        return A if Q.shape[-2] >= Q.shape[-1] else A.mT


def _is_orthogonal(Q):
    n, k = Q.shape[-2:]
    return FUNCTIONS["allclose"](Q.mT @ Q, eye(k, dtype=Q.dtype), atol=10.0 * n * finfo(Q.dtype).eps)


def _made_orthogonal(A):
    """Q of A = QR with a diagonal of R that is not negative."""
    X, tau = FUNCTIONS["geqrf"](A)
    return householder_product(X, tau) * X.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix's columns (or, if it is wide, rows) orthonormal. Returns the module.

    orthogonal_map is "matrix_exp" (of square matrices if not given), "cayley" or "householder" (of others if not given).
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Variable):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return register_parametrization(
        module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True
    )


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]
