"""The rules of LU factorization, and of what is solved with its factors: A = P L U, L lower with ones on its
diagonal, U upper, P a permutation. `packed` holds L without its diagonal and U in one matrix, as LAPACK does.
"""

import numpy as np

from .. import return_types
from ..autograd.engine import sum_to
from ..autograd.errors import not_for
from ..autograd.record import apply
from ..dtypes import ALL
from ..warning import warn_once
from . import both
from .comparison import constant_result
from .linalg import LinalgSolveTriangularBackward0, T, check_matrices, first_flag, triangular, zero_pivots
from .numerics import packed_lu, permutation
from .rule import Rule, function


def unpack(packed):
    """L and U of packed factors, arrays or Tensors, also of matrices that are not square."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower = both.tril(packed[..., :, :k], -1)
    return lower + both.constant(np.eye(m, k, dtype=both.array_of(packed).dtype), packed), both.triu(
        packed[..., :k, :]
    )


def factors_vjp(gl, gu, lower, upper):
    """The gradient of P^T A = L U from those of the factors.

    Square: L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T. The rows below a square L are A2 U^-1 and the columns beside a
    square U are L^-1 A2, which passes part of their gradient on to the other factor.
    """
    m, k, n = *lower.shape[-2:], upper.shape[-1]
    l1, u1, gl1, gu1 = lower[..., :k, :], upper[..., :, :k], gl[..., :k, :], gu[..., :, :k]
    parts, dim = [], len(lower.shape) - 1
    if m > k:
        below = triangular(T(u1), gl[..., k:, :], False, left=False)
        gu1 = gu1 - T(lower[..., k:, :]) @ below
        parts, dim = [below], dim - 1
    elif n > k:
        beside = triangular(T(l1), gu[..., :, k:], True, unit=True)
        gl1 = gl1 - beside @ T(upper[..., :, k:])
        parts = [beside]
    middle = both.tril(T(l1) @ gl1, -1) + both.triu(gu1 @ T(u1))
    square = triangular(T(u1), triangular(T(l1), middle, True, unit=True), False, left=False)
    return both.cat([square, *parts], dim) if parts else square


class LinalgLuFactorExBackward0(Rule):
    """LU factorization, both factors packed in one matrix.

    Math: A = P L U.   VJP: P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T, for square A.
    Shapes: (..., m, n) -> (..., m, n), row swaps and a flag for each matrix.   Saves: both factors and the swaps.
    PyTorch: torch.linalg.lu_factor_ex
    """

    op = "linalg_lu_factor_ex"
    inputs = ("A",)
    saves = ("LU", "pivots")
    results = {"LU": 0, "pivots": 1}
    keeps = ("pivot",)
    plain = False

    def forward(a, pivot):
        packed, swaps = packed_lu(a)
        return packed, swaps, zero_pivots(packed)

    def vjp(self, gs, packed, pivots):
        lower, upper = unpack(packed)
        m, n = packed.shape[-2:]
        k = min(m, n)
        g = gs[0]
        return _order(pivots, g) @ factors_vjp(
            both.tril(g[..., :, :k], -1), both.triu(g[..., :k, :]), lower, upper
        )


def _order(pivots, g):
    """The permutation matrix of some row swaps, of the kind of `g`."""
    swaps = both.array_of(pivots)
    return both.constant(permutation(swaps, g.shape[-2], both.array_of(g).dtype), g)


class LinalgLuBackward0(Rule):
    """LU factorization into three matrices.

    Math: A = P L U.   VJP: as lu_factor's; nothing from P, which does not move.
    Shapes: (..., m, n) -> (..., m, k), (..., k, n), k = min(m, n).   Saves: P, L, U.   PyTorch: torch.linalg.lu
    """

    op = "linalg_lu"
    inputs = ("A", "P")
    operands = 1
    saves = ("L", "P", "U")
    results = {"L": 0, "U": 1}
    keeps = ("pivot",)
    plain = False

    def forward(a, p, pivot):
        return unpack(packed_lu(a)[0])

    def vjp(self, gs, lower, p, upper):
        gl, gu = (both.zeros_like(x) if g is None else g for g, x in zip(gs, (lower, upper), strict=True))
        return p @ factors_vjp(gl, gu, lower, upper)


class LuUnpackBackward0(Rule):
    """The two factors out of the matrix in which they are packed.

    Math: L and U of LU = L - I + U.   VJP: tril(gL, -1) + triu(gU).
    Shapes: (..., m, n) -> (..., m, k), (..., k, n), k = min(m, n).   Saves: nothing.   PyTorch: torch.lu_unpack
    """

    op = "lu_unpack"
    inputs = ("LU_data",)
    keeps = ("LU_data_sym_argsize_minus_2", "LU_data_sym_argsize_minus_1")
    plain = False

    def forward(packed, _m, _n, unpack_data):
        return unpack(packed) if unpack_data else (np.empty(0, packed.dtype), np.empty(0, packed.dtype))

    def vjp(self, gs):
        gl, gu = gs
        m, n, _ = self.args
        k = min(m, n)
        parts = []
        if gl is not None:
            parts.append(_padded(both.tril(gl, -1), 0, n - k))
        if gu is not None:
            parts.append(_padded(both.triu(gu), m - k, 0))
        return parts[0] + parts[1] if len(parts) == 2 else parts[0]


def _padded(x, rows, columns):
    """`x` with rows of zeros below it, or columns of zeros beside it."""
    *batch, m, n = x.shape
    if rows:
        return both.cat([x, both.zeros((*batch, rows, n), x)], len(batch))
    return both.cat([x, both.zeros((*batch, m, columns), x)], len(batch) + 1) if columns else x


class LinalgLuSolveBackward0(Rule):
    """Solution of a linear system whose matrix is known by its LU factors.

    Math: X with A X = B (or X A = B), A = P L U, or with A^T for A.   VJP: to B: the same system with the
    transpose, for g; to LU: that of A, -gB X^T (or as fits the system), passed on to L and U.
    Shapes: LU (..., n, n), swaps (..., n), B (..., n, k).   Saves: the factors, the swaps, the result.
    PyTorch: torch.linalg.lu_solve
    """

    op = "linalg_lu_solve"
    inputs = ("LU", "B", "pivots")
    operands = 2
    saves = ("LU", "pivots", "result")
    saves_if = {"result": (0,)}
    keeps = ("left", "adjoint")

    def forward(packed, b, swaps, left, adjoint, *_):
        lower, upper = unpack(packed)
        p = permutation(swaps, packed.shape[-1], packed.dtype)
        if not left:
            b, adjoint = T(b), not adjoint
        if adjoint:
            x = p @ _substitute(T(lower), _substitute(T(upper), b, False), True)
        else:
            x = _substitute(upper, _substitute(lower, T(p) @ b, False), True)
        return x if left else np.ascontiguousarray(T(x))

    def vjp(self, g, packed, pivots, x):
        left, adjoint, b_shape = self.args
        to_b = both.run(LinalgLuSolveBackward0, (packed, g, pivots), left, not adjoint, g.shape)
        to_packed = None
        if self.needs(0):
            to_a = to_b @ T(x) if left else T(x) @ to_b
            lower, upper = unpack(packed)
            moved = -(T(_order(pivots, packed)) @ (T(to_a) if adjoint else to_a))
            whole = both.tril(moved @ T(upper), -1) + both.triu(T(lower) @ moved)
            to_packed = sum_to(whole, packed.shape)
        return to_packed, sum_to(to_b, b_shape) if self.needs(1) else None


def _substitute(a, b, upper):
    return LinalgSolveTriangularBackward0.forward(a, b, upper, True, False)


# -- the functions ------------------------------------------------------------------------------------


def _factored(name, A, pivot):
    """(LU, pivots, info) of matrices. Raises what `name` raises for what has no factors."""
    x = A._data
    if x.ndim < 2:
        raise RuntimeError(
            f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(x.shape)} instead"
        )
    _check_kernel(x, pivot)
    return apply(LinalgLuFactorExBackward0, (A,), pivot)


def _check_kernel(x, pivot):
    if x.dtype.kind != "f" or x.dtype.itemsize == 2:
        raise not_for(x.dtype, "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _check_flag(name, info):
    if info._data.any():
        which, flag = first_flag(info._data)
        raise RuntimeError(
            f"{name}: {which}U[{flag},{flag}] is zero and using it on lu_solve would result in a division by zero. "
            "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )


def lu_factor(A, *, pivot=True):
    """(LU, pivots): the factors packed in one matrix, and the row swaps, from 1 (torch.linalg.lu_factor).

    Raises RuntimeError if a pivot is zero.
    """
    packed, swaps, info = _factored("torch.lu_factor", A, pivot)
    _check_flag("torch.linalg.lu_factor", info)
    return return_types.linalg_lu_factor((packed, swaps))


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """(LU, pivots, info): info is the number of the first pivot that is zero, or 0 (torch.linalg.lu_factor_ex)."""
    out = _factored("torch.lu_factor", A, pivot)
    if check_errors:
        _check_flag("torch.linalg.lu_factor_ex", out[2])
    return return_types.linalg_lu_factor_ex(out)


def lu(A, *, pivot=True):
    """(P, L, U) with A = P L U (torch.linalg.lu)."""
    x = A._data
    if x.ndim < 2:
        raise RuntimeError(
            f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {list(x.shape)} instead"
        )
    _check_kernel(x, pivot)
    p = constant_result((A,), permutation(packed_lu(x)[1], x.shape[-2], x.dtype), "linalg_lu")
    return return_types.linalg_lu((p, *apply(LinalgLuBackward0, (A, p), pivot)))


def lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X with A X = B (or X A = B), A (or its transpose) given by `lu_factor` (torch.linalg.lu_solve)."""
    packed, swaps, b = LU._data, pivots._data, B._data
    if packed.dtype is not b.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {ALL[packed.dtype].type_name}"
            f" and B of type {ALL[b.dtype].type_name} instead"
        )
    if swaps.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_matrices("torch.linalg.lu_solve", LU)
    rows = b.shape[-2 if left else -1]
    n = packed.shape[-1]
    if rows != n:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({n}x{n} and {b.shape[-2]}x{b.shape[-1]})"
        )
    if swaps.shape[-1:] != (n,):
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix"
        )
    return apply(LinalgLuSolveBackward0, (LU, B, pivots), left, adjoint, b.shape)


@function(name="lu_solve")
def _old_lu_solve(b, LU_data, LU_pivots):
    """X with A X = b (torch.lu_solve)."""
    warn_once(
        "torch.lu_solve is deprecated in favor of torch.linalg.lu_solveand will be removed in a future PyTorch release.\n"
        "Note that torch.linalg.lu_solve has its arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced "
        "with\nX = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return lu_solve(LU_data, LU_pivots, b)


@function(name="lu")
def _old_lu(A, pivot=True, get_infos=False, out=None):
    """(LU, pivots), and info with `get_infos` (torch.lu)."""
    warn_once(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be removed in a "
        "future PyTorch release.\nLU, pivots = torch.lu(A, compute_pivots)\nshould be replaced with\nLU, pivots = "
        "torch.linalg.lu_factor(A, compute_pivots)\nand\nLU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
        "should be replaced with\nLU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)"
    )
    result = _factored("torch.lu_factor", A, pivot)
    if get_infos:
        return return_types._lu_with_info(result)
    _check_flag("torch.linalg.lu_factor_ex", result[2])
    return result[:2]


@function(method=False)
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """(P, L, U) out of what `lu_factor` gives (torch.lu_unpack); what is not asked for is empty."""
    packed, swaps = LU_data._data, LU_pivots._data
    if unpack_pivots and swaps.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    empty = np.empty(0, packed.dtype)
    p = permutation(swaps, packed.shape[-2], packed.dtype) if unpack_pivots else empty
    factors = apply(LuUnpackBackward0, (LU_data,), *packed.shape[-2:], unpack_data)
    return return_types.lu_unpack((constant_result((LU_pivots,), p, "lu_unpack"), *factors))


__all__ = ["lu", "lu_factor", "lu_factor_ex", "lu_solve"]
