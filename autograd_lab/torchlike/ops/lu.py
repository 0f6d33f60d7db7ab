"""The rules of LU factorization, and of what is solved with its factors: A = P L U, L lower with ones on its
diagonal, U upper, P a permutation. `packed` holds L without its diagonal and U in one matrix, as LAPACK does.
"""

import numpy as np

from .. import return_types
from ..autograd.errors import not_for
from ..autograd.metadata import summed
from ..autograd.record import apply
from ..dtypes import ALL
from ..layout import columns
from ..world.warning import warn_once
from . import array_or_tensor as both
from .comparison import constant_result
from .linalg import LinalgSolveTriangularBackward0, T, check_matrices, first_flag, triangular, zero_pivots
from .numerics import packed_lu, permutation
from .rule import Rule, function


def unpack(packed):
    """The arrays L and U of packed factors, also of matrices that are not square."""
    m, n = packed.shape[-2:]
    k = min(m, n)
    return np.tril(packed[..., :, :k], -1) + np.eye(m, k, dtype=packed.dtype), np.triu(packed[..., :k, :])


def _factors(packed):
    """L and U of packed factors, arrays or Tensors."""
    return both.run(LuUnpackBackward0, (packed,), *packed.shape[-2:], True)


def _factors_vjp(gl, gu, p, lower, upper):
    """The gradient of A = P L U from those of the factors, either of which may be None.

    Square: P L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T. The columns beside a square U, and the rows below a square L, have
    what they need to pass through the other factor alone.
    """
    m, k, n = *lower.shape[-2:], upper.shape[-1]
    if m == n:
        middle = None if gl is None else both.tril(T(lower) @ gl, -1)
        if gu is not None:
            of_u = both.triu(gu @ T(upper))
            middle = of_u if middle is None else middle + of_u
        return p @ _before(lower, _after(middle, upper))
    if m < n:
        of_u = None if gu is None else both.triu(gu) @ T(upper)
        middle = _minus(None if gl is None else T(lower) @ gl, of_u)
        square = _after(both.tril(middle, -1), both.narrow(upper, -1, 0, k))
        if gu is None:
            return p @ _padded(_before(lower, square), 0, n - k)
        square = square + both.triu(both.narrow(gu, -1, 0, k))
        return p @ _before(lower, both.cat([square, both.narrow(gu, -1, k, n - k)], len(gu.shape) - 1))
    of_l = None if gl is None else T(lower) @ both.tril(gl, -1)
    middle = _minus(None if gu is None else gu @ T(upper), of_l)
    square = _before(both.narrow(lower, -2, 0, k), both.triu(middle))
    if gl is None:
        return p @ _padded(_after(square, upper), m - k, 0)
    square = square + both.tril(both.narrow(gl, -2, 0, k), -1)
    return p @ _after(both.cat([square, both.narrow(gl, -2, k, m - k)], len(gl.shape) - 2), upper)


def _minus(a, b):
    """A - b, either of which may be None."""
    if a is None:
        return -b
    return a if b is None else a - b


def _before(lower, x):
    """The matrix L^-T x."""
    return triangular(T(lower), x, True, unit=True)


def _after(x, upper):
    """The matrix X U^-T."""
    return triangular(T(upper), x, False, left=False)


class LinalgLuFactorExBackward0(Rule):
    """LU factorization, both factors packed in one matrix.

    Math: y0 = lu_factor(A)[0].
    VJP: P @ inverse(L).T @ (tril(L.T @ g0, -1) + triu(triu(g0) @ U.T)) @ inverse(U).T; P = permutation(pivots, size(A, -1)); L =
    lu_lower(y0); U = lu_upper(y0). A = P L U, for square A; both factors are packed in y0.
    Shapes: (..., m, n) -> (..., m, n), row swaps and a flag for each matrix.   Saves: both factors and the swaps.   PyTorch:
    torch.linalg.lu_factor_ex
    """

    op = "linalg_lu_factor_ex"
    inputs = ("A",)
    saves = ("LU", "pivots")
    results = {"LU": 0, "pivots": 1}
    keeps = ("pivot",)
    plain = False

    def forward(a, pivot):
        packed, swaps = packed_lu(a)
        return columns(packed), swaps, zero_pivots(packed)

    def vjp(self, gs, packed, pivots):
        lower, upper = _factors(packed)
        k = min(packed.shape[-2:])
        gl, gu = both.narrow(gs[0], -1, 0, k), both.narrow(gs[0], -2, 0, k)
        return _factors_vjp(gl, gu, _order(pivots, gs[0]), lower, upper)


def _order(pivots, g):
    """The permutation matrix of some row swaps, of the kind of `g`."""
    swaps = both.array_of(pivots)
    return both.constant(permutation(swaps, g.shape[-2], both.array_of(g).dtype), g)


class LinalgLuBackward0(Rule):
    """LU factorization into three matrices.

    Math: y0 = lu_lower(lu_factor(A)[0]); y1 = lu_upper(lu_factor(A)[0]).
    VJP: P @ inverse(y0).T @ (tril(y0.T @ g0, -1) + triu(g1 @ y1.T)) @ inverse(y1).T. A = P L U, for square A; nothing comes from
    P, which does not move.
    Shapes: (..., m, n) -> (..., m, k), (..., k, n), k = min(m, n).   Saves: P, L, U.   PyTorch: torch.linalg.lu
    """

    op = "linalg_lu"
    inputs = ("A", "P")
    operands = 1
    saves = ("L", "P", "U")
    results = {"L": 0, "U": 1}
    keeps = ("pivot",)
    plain = False

    def packing_order(self, count):
        """As they are named: to PyTorch P is a result as well."""
        return range(count)

    def forward(a, p, pivot):
        return unpack(packed_lu(a)[0])

    def vjp(self, gs, lower, p, upper):
        return None if gs[0] is None and gs[1] is None else _factors_vjp(*gs, p, lower, upper)


class LuUnpackBackward0(Rule):
    """The two factors out of the matrix in which they are packed.

    Math: y0 = lu_lower(a); y1 = lu_upper(a).   VJP: fit(tril(g0, -1), a) + fit(triu(g1), a).
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
        if gu is None:
            return _padded(both.tril(gl, -1), 0, n - m)
        if gl is None:
            return _padded(both.triu(gu), m - n, 0)
        k = min(m, n)
        if m == n:
            return both.tril(gl, -1) + both.triu(gu)
        low, up = (gl, both.narrow(gu, -1, 0, k)) if m < n else (both.narrow(gl, -2, 0, k), gu)
        rest = both.narrow(gu, -1, k, n - k) if m < n else both.narrow(gl, -2, k, m - k)
        return both.cat([both.tril(low, -1) + both.triu(up), rest], len(gl.shape) - (1 if m < n else 2))


def _padded(x, rows, columns):
    """`x` with rows of zeros below it, or columns of zeros beside it."""
    *batch, m, n = x.shape
    if rows > 0:
        return both.cat([x, both.zeros((*batch, rows, n), x)], len(batch))
    return both.cat([x, both.zeros((*batch, m, columns), x)], len(batch) + 1) if columns > 0 else x


class LinalgLuSolveBackward0(Rule):
    """Solution of a linear system whose matrix is known by its LU factors.

    Math: y = inverse(A) @ B if left else B @ inverse(A); A = (P @ L @ U).T if adjoint else P @ L @ U; P = permutation(pivots,
    size(LU, -1)); L = lu_lower(LU); U = lu_upper(LU).
    VJP: to B: G; to LU: tril(D @ U.T, -1) + triu(L.T @ D); D = P.T @ (M.T if adjoint else M); M = -G @ y.T if left else -y.T @ G;
    G = inverse(A).T @ g if left else g @ inverse(A).T.
    Shapes: LU (..., n, n), swaps (..., n), B (..., n, k).   Saves: the factors, the swaps, the result.   PyTorch:
    torch.linalg.lu_solve
    """

    op = "linalg_lu_solve"
    inputs = ("LU", "B", "pivots")
    operands = 2
    saves = ("LU", "pivots", "result")
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
        return columns(x) if left else np.ascontiguousarray(T(x))

    def vjp(self, g, packed, pivots, x):
        left, adjoint, b_shape = self.args
        to_b = to_packed = None
        if self.needs(1):
            to_b = both.run(LinalgLuSolveBackward0, (packed, g, pivots), left, not adjoint, g.shape)
            to_b = summed(to_b, b_shape)
        if self.needs(0):
            lower, upper = _factors(packed)
            if left != adjoint:
                moved = triangular(T(upper), -(g @ T(x) if left else T(g) @ x), False)
                to_packed = both.tril(_before(lower, moved @ T(upper)), -1) + both.triu(moved)
            else:
                p = _order(pivots, packed)
                moved = -(T(p) @ x @ T(g) @ p if left else T(p) @ T(x) @ g @ p)
                moved = triangular(T(lower), moved, True, left=False, unit=True)
                to_packed = both.tril(moved, -1) + both.triu(_after(T(lower) @ moved, upper))
            to_packed = summed(to_packed, packed.shape)
        return to_packed, to_b


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
