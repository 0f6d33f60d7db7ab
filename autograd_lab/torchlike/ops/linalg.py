"""The rules of linear algebra proper: determinants, inverses, solving, and factorizations, each for one
matrix or a batch.

Throughout, `T` swaps the last two dims, and a formula that needs an inverse solves a system instead: with NumPy or, under create_graph,
with the recorded `solve` of this page, so that it can be differentiated again.
"""

import math
import sys

import numpy as np

from .. import return_types
from ..autograd.errors import TYPE_NAMES, not_for, other_type
from ..autograd.memory import put
from ..autograd.metadata import summed
from ..autograd.record import apply
from ..autograd.variable import Variable, wrap
from ..creation import follow
from ..dtypes import ALL
from ..layout import columns
from ..world.warning import warn_once
from . import array_or_tensor as both
from .comparison import constant_result
from .draws import randn
from .general import GeneralRule, call
from .numerics import packed_lu, permutation
from .products import matmul
from .reductions import times_others, vector_norm, wrap_dim
from .rule import FUNCTIONS, METHODS, Rule, broadcast_shape, floats_only, function, no_bools, shape_error


class LinAlgError(RuntimeError):
    """A matrix has no inverse, or no such factorization (torch.linalg.LinAlgError)."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"


def check_matrices(name, *tensors, square=True):
    """Raise RuntimeError unless the argument is a matrix, or batch of matrices, of floats."""
    for t in tensors:
        x = t._data
        if x.ndim < 2:
            raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
        if square and x.shape[-1] != x.shape[-2]:
            raise RuntimeError(
                f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
            )
        if x.dtype.kind != "f":
            raise RuntimeError(
                f"{name}: Expected a floating point or complex tensor as input. Got {ALL[x.dtype].type_name}"
            )
        if x.dtype.itemsize < 4:
            if name in _KERNELS:
                raise not_for(x.dtype, _KERNELS[name])
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {ALL[x.dtype].type_name}")


_KERNELS = {
    "linalg.cholesky": "cholesky_cpu", "linalg.det": "lu_cpu", "linalg.eigh": "linalg_eigh_cpu", "linalg.qr": "geqrf_cpu",
    "linalg.solve": "lu_cpu", "linalg.svd": "linalg_svd_cpu",
}  # fmt: skip
"""Kernels without float16, in functions that find out only halfway through."""


# -- helpers that serve arrays and Tensors ------------------------------------------------------------

T = both.transpose


def _eye(n, like):
    return both.constant(np.eye(n, dtype=both.array_of(like).dtype), like)


def _solve(a, b, left=True):
    """a^-1 b for a matrix (or batch) b, or b a^-1."""
    if isinstance(a, Variable) or isinstance(b, Variable):
        return solve(a, b, left=left)
    return np.linalg.solve(a, b) if left else T(np.linalg.solve(T(a), T(b)))


def _column(v):
    """A vector (or batch of vectors) as a column."""
    return v.unsqueeze(-1) if isinstance(v, Variable) else v[..., None]


def _row(v):
    """A vector (or batch of vectors) as a row."""
    return v.unsqueeze(-2) if isinstance(v, Variable) else v[..., None, :]


def _scalar(v):
    """A number for each matrix as a 1x1 matrix."""
    return _column(_column(v))


def _vector(column):
    """A matrix of one column (or a batch of them) as a vector."""
    return column.squeeze(-1) if isinstance(column, Variable) else column[..., 0]


def _diagonal(v):
    """A diagonal matrix."""
    return v.diag_embed() if isinstance(v, Variable) else _column(v) * _eye(v.shape[-1], v)


def _times_identity(v, n):
    """A number for each matrix times the n x n identity."""
    if isinstance(v, Variable):
        return T(_column(v).expand(*v.shape, n).diag_embed())
    return v[..., None, None] * np.eye(n, dtype=v.dtype)


class _Factored(GeneralRule):
    """A rule in which PyTorch also saves the LU factors; here they are computed only when read."""

    shows = ("LU", "pivots")

    def _read_saved(self, name):
        if name in ("LU", "pivots"):
            return wrap(packed_lu(super()._read_saved("A")._data)[name == "pivots"])
        return super()._read_saved(name)


# -- determinants -------------------------------------------------------------------------------------


class LinalgDetBackward0(_Factored):
    """Determinant.

    Math: y = det(A).
    VJP: g * cofactors(A) if ndim(A) == 2 else spread(g, A, (-2, -1)) * cofactors(A). Where A can be inverted, the cofactors are
    det(A) times the transposed inverse.
    Shapes: (..., n, n) -> (...).   Saves: A and the result.   PyTorch: torch.linalg.det
    """

    op = "linalg_det"
    inputs = ("A",)
    saves = ("A", "result")

    def forward(a):
        det = np.linalg.det(a)
        return np.where(np.isnan(a).any((-2, -1)), np.nan, det).astype(a.dtype)[
            ()
        ]  # for nan, NumPy returns 0

    def vjp(self, g, a, det):
        n = a.shape[-1]
        if n < 2 or 0 in a.shape:
            return both.expand(_scalar(g), a.shape) if n == 1 and 0 not in a.shape else both.zeros_like(a)
        size = np.abs(both.array_of(det))
        singular = np.asarray(size < 100 * np.finfo(size.dtype).eps)
        if not singular.any():
            return _solve(T(a), _times_identity(g * det, n))
        if singular.all() or not isinstance(a, Variable):
            return _det_vjp_by_svd(g, a)
        some, others = wrap(singular), wrap(~singular)
        by_solving = _solve(T(a[others]), _times_identity(g * det, n)[others])
        return (
            both.zeros_like(a)
            .index_put((some,), _det_vjp_by_svd(g[some], a[some]))
            .index_put((others,), by_solving)
        )


def _det_vjp_by_svd(g, a):
    """From A = U S V^T: g det(U) det(V) U diag(products of the other singular values) V^T; right also for singular A."""
    if isinstance(a, Variable):
        (u, s, vh), of = svd(a), det
    else:
        (u, s, vh), of = np.linalg.svd(a), np.linalg.det
    rest = times_others(_column(of(u) * of(vh) * g), s, len(s.shape) - 1)
    return (u * _row(rest)) @ vh


def det(A):
    """The determinant (torch.linalg.det)."""
    check_matrices("linalg.det", A)
    return call(LinalgDetBackward0, (A,))


FUNCTIONS["det"] = METHODS["det"] = det


class LinalgSlogdetBackward0(_Factored):
    """Sign and logarithm of the size of a determinant.

    Math: y0 = sign(det(A)); y1 = log(abs(det(A))).
    VJP: g1 * inverse(A).T if ndim(A) == 2 else spread(g1, A, (-2, -1)) * inverse(A).T. Nothing comes from the sign, which does
    not move.
    Shapes: (..., n, n) -> (...), (...).   Saves: A and the sign.   PyTorch: torch.linalg.slogdet
    """

    op = "_linalg_slogdet"
    inputs = ("A",)
    saves = ("A", "sign")
    results = {"sign": 0}
    plain = False

    def forward(a):
        sign, size = np.linalg.slogdet(a)
        return sign.astype(a.dtype), size.astype(a.dtype)

    def vjp(self, gs, a, sign):
        g = gs[1]
        if g is None:
            return None
        try:
            return _solve(T(a), _times_identity(g, a.shape[-1]))
        except np.linalg.LinAlgError:
            return np.full(a.shape, np.nan, a.dtype)


def slogdet(A):
    """(sign, log of the absolute value) of the determinant (torch.linalg.slogdet)."""
    check_matrices("linalg.slogdet", A)
    return return_types.linalg_slogdet(apply(LinalgSlogdetBackward0, (A,)))


@function(name="slogdet")
def _slogdet(input):
    """(sign, log of the absolute value) of the determinant (torch.slogdet)."""
    return return_types.slogdet(slogdet(input))


@function
def logdet(input):
    """The logarithm of the determinant; nan if that is negative (torch.logdet)."""
    sign, size = slogdet(input)
    return FUNCTIONS["where"](sign == -1.0, wrap(input._data.dtype.type(np.nan)), size)


# -- inverses and solving -----------------------------------------------------------------------------


def _inverted(fn, a, *b):
    """NumPy's `inv` or `solve`. Raises its LinAlgError if a matrix of `a` is singular.

    NumPy reads that from the processor's floating-point flags. WebAssembly has none: there it returns nan, and raises nothing.
    """
    out = fn(a, *b)
    if sys.platform == "emscripten" and np.isnan(out).any() and zero_pivots(packed_lu(a)[0]).any():
        raise np.linalg.LinAlgError("Singular matrix")
    return out


class LinalgInvExBackward0(Rule):
    """Inverse.

    Math: y = inverse(A).   VJP: -y.T @ g @ y.T.   Shapes: (..., n, n).   Saves: the result.   PyTorch: torch.linalg.inv
    """

    layout = columns
    op = "linalg_inv_ex"
    inputs = ("A",)
    saves = ("inverse",)

    def forward(a, name):
        try:
            return _inverted(np.linalg.inv, a)
        except np.linalg.LinAlgError:
            if name and zero_pivots(packed_lu(a)[0]).any():
                raise LinAlgError(_singular(name, a)) from None
            return _leftovers(a, np.eye(a.shape[-1], dtype=a.dtype))

    def vjp(self, g, y):
        inner = g @ T(y)  # the last operand first, as in PyTorch: it shows in the order of the gradients
        return -(T(y) @ inner)


def _singular(name, a):
    """The message for the first singular matrix of a batch."""
    which, pivot = first_flag(zero_pivots(packed_lu(a)[0]))
    return (
        f"{name}: {which}The diagonal element {pivot} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


def _leftovers(a, b):
    """A^-1 b through the LU factors: inf and nan where a pivot is zero."""
    packed, swaps = packed_lu(a)
    n = a.shape[-1]
    lower = np.tril(packed, -1) + np.eye(n, dtype=a.dtype)
    return _substituted(packed, _substituted(lower, T(permutation(swaps, n, a.dtype)) @ b, False), True)


def zero_pivots(packed):
    """For each matrix the index of its first zero pivot, counted from 1; 0 if there is none."""
    zero = np.diagonal(packed, axis1=-2, axis2=-1) == 0
    first = np.where(zero.any(-1), zero.argmax(-1) + 1, 0) if zero.shape[-1] else np.zeros(zero.shape[:-1])
    return np.asarray(first, np.int32)[()]


def _singular_flags(a):
    """`zero_pivots` for matrices that NumPy cannot invert, zeros for the others."""
    try:
        _inverted(np.linalg.inv, a)
    except np.linalg.LinAlgError:
        return zero_pivots(packed_lu(a)[0])
    return np.zeros(a.shape[:-2], np.int32)[()]


def first_flag(flags):
    """The first nonzero flag in a batch, and the beginning of the message for its matrix."""
    flat = np.reshape(flags, -1)
    i = int((flat != 0).argmax())
    return f"(Batch element {i}): " if np.ndim(flags) else "", flat[i]


def inv(A):
    """The inverse (torch.linalg.inv). Raises LinAlgError if there is none."""
    check_matrices("linalg.inv", A)
    return apply(LinalgInvExBackward0, (A,), "linalg.inv")


def inv_ex(A, *, check_errors=False):
    """(inverse, info): info is the index of the first zero pivot, or 0 (torch.linalg.inv_ex)."""
    check_matrices("linalg.inv", A)
    inverse = apply(LinalgInvExBackward0, (A,), "linalg.inv_ex" if check_errors else "")
    return return_types.linalg_inv_ex(
        (inverse, constant_result((A,), _singular_flags(A._data), "linalg_inv_ex"))
    )


@function
def inverse(input):
    """The inverse (torch.inverse)."""
    return inv(input)


class LinalgSolveExBackward0(_Factored):
    """Solution of a linear system.

    Math: y = mv(inverse(A), B) if vector else inverse(A) @ B if left else B @ inverse(A).
    VJP: to B: G; to A: -unsqueeze(G, -1) * unsqueeze(y, -2) if vector else -G @ y.T if left else -y.T @ G; G = mv(inverse(A).T,
    g) if vector else inverse(A).T @ g if left else g @ inverse(A).T. A y = B is solved, or y A = B if not `left`.
    Shapes: A (..., n, n), B (..., n, k) or (..., n).   Saves: A and the result.   PyTorch: torch.linalg.solve
    """

    op = "_linalg_solve_ex"
    inputs = ("A", "B")
    saves = ("A", "result")
    keeps = ("left",)

    def forward(a, b, left, vector, _a_shape, _b_shape, name):
        if vector:
            b = b[..., None]
        a, b = (a, b) if left else (T(a), T(b))
        try:
            x = _inverted(np.linalg.solve, a, b)
        except np.linalg.LinAlgError:
            if name:
                which, _ = first_flag(_singular_flags(a))
                raise LinAlgError(
                    f"torch.{name}: {which}The solver failed because the input matrix is singular."
                ) from None
            x = _leftovers(a, b)
        if vector:
            return columns(x[..., 0]) if x.ndim > 2 else x[:, 0]
        return columns(x) if left else np.ascontiguousarray(T(x))

    def vjp(self, g, a, x):
        left, vector, a_shape, b_shape, _ = self.args
        if vector:
            g, x = _column(g), _column(x)
        to_b = _solve(T(a), g, left)
        to_a = None
        if self.needs(0):
            to_a = summed(-(to_b @ T(x) if left else T(x) @ to_b), a_shape)
        if vector:
            to_b = _vector(to_b)
        return to_a, summed(to_b, b_shape) if self.needs(1) else None


def solve(A, B, *, left=True):
    """X with A X = B, or X A = B if not `left` (torch.linalg.solve). Raises LinAlgError if A is singular."""
    return _solution(A, B, left, "linalg.solve")


def solve_ex(A, B, *, left=True, check_errors=False):
    """(result, info): the solution, and the index of A's first zero pivot, or 0 (torch.linalg.solve_ex)."""
    result = _solution(A, B, left, "linalg.solve_ex" if check_errors else "")
    return return_types.linalg_solve_ex(
        (result, constant_result((A, B), _singular_flags(A._data), "linalg_solve_ex"))
    )


def _is_vector(a, b):
    """Whether the right side of a system is a vector for each matrix of `a`, or one for all."""
    return b.ndim == 1 or b.shape == a.shape[:-1]


def _solution(A, B, left, name):
    check_matrices("linalg.solve", A)
    a, b = A._data, B._data
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{ALL[a.dtype].type_name} and B of type "
            f"{ALL[b.dtype].type_name} instead"
        )
    vector = _is_vector(a, b)
    m, n = (b.shape[-1], 1) if vector else b.shape[-2:]
    if (m if left else n) != a.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({a.shape[-2]}x{a.shape[-1]} and {m}x{n})"
        )
    return call(LinalgSolveExBackward0, (A, B), left, vector, a.shape, b.shape, name)


class LinalgSolveTriangularBackward0(Rule):
    """Solution of a triangular system.

    Math: y = inverse(M) @ B if left else B @ inverse(M); M = triangle(self, upper=upper, unitriangular=unitriangular).
    VJP: to B: G; to self: triu(D, 1 if unitriangular else 0) if upper else tril(D, -1 if unitriangular else 0); D = -G @ y.T if
    left else -y.T @ G; G = inverse(M).T @ g if left else g @ inverse(M).T. Only the triangle is read, and only it gets a
    gradient.
    Shapes: A (..., n, n), B (..., n, k).   Saves: A and the result.   PyTorch: torch.linalg.solve_triangular
    """

    op = "linalg_solve_triangular"
    inputs = ("self", "B")
    saves = ("self", "result")
    keeps = ("upper", "left", "unitriangular")

    def forward(a, b, upper, left, unit, *_):
        a = np.triu(a) if upper else np.tril(a)
        if unit:
            a = a - np.eye(a.shape[-1], dtype=a.dtype) * np.diagonal(a, axis1=-2, axis2=-1)[..., None, :]
            a = a + np.eye(a.shape[-1], dtype=a.dtype)
        if not left:
            a, b, upper = T(a), T(b), not upper
        x = _substituted(a, b, upper)
        return columns(x if left else T(x))

    def vjp(self, g, a, x):
        upper, left, unit, a_shape, b_shape = self.args
        to_b = triangular(T(a), g, not upper, left, unit)
        to_a = None
        if self.needs(0):
            whole = -(to_b @ T(x) if left else T(x) @ to_b)
            to_a = summed(both.triu(whole, int(unit)) if upper else both.tril(whole, -int(unit)), a_shape)
        return to_a, summed(to_b, b_shape) if self.needs(1) else None


def _substituted(a, b, upper):
    """Row by row: x_i = (b_i - sum of a_ij x_j over what is known) / a_ii. A zero pivot gives inf, as in PyTorch."""
    n = a.shape[-1]
    x = np.broadcast_to(b, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:])).copy()
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        x[..., i, :] = (x[..., i, :] - (a[..., None, i, known] @ x[..., known, :])[..., 0, :]) / a[..., i, i][
            ..., None
        ]
    return x


def triangular(a, b, upper, left=True, unit=False):
    """The solution of a triangular system of arrays or of Tensors."""
    if isinstance(a, Variable) or isinstance(b, Variable):
        return solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
    return LinalgSolveTriangularBackward0.forward(a, b, upper, left, unit)


def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with A X = B for a triangular A; only that triangle is read (torch.linalg.solve_triangular)."""
    check_matrices("linalg.solve_triangular", A)
    a, b = A._data, B._data
    return apply(LinalgSolveTriangularBackward0, (A, B), upper, left, unitriangular, a.shape, b.shape)


class TriangularSolveBackward0(Rule):
    """Solution of a triangular system, and a copy of its matrix: the older form, with the matrix second.

    Math: y0 = inverse(M) @ self; y1 = A; M = triangle(A, upper=upper, unitriangular=unitriangular).T if transpose else
    triangle(A, upper=upper, unitriangular=unitriangular).
    VJP: to self: G; to A: g1 + (triu(D, 1 if unitriangular else 0) if upper else tril(D, -1 if unitriangular else 0)); D = -y0 @
    G.T if transpose else -G @ y0.T; G = inverse(M).T @ g0.
    Shapes: B (..., n, k), A (..., n, n).   Saves: B, A and the solution.   PyTorch: torch.triangular_solve
    """

    layout = columns
    op = "triangular_solve"
    inputs = ("self", "A")
    saves = ("self", "A", "solution")
    results = {"solution": 0}
    keeps = ("upper", "transpose", "unitriangular")
    plain = False

    def forward(b, a, upper, transpose, unit):
        system = (T(a), b, not upper) if transpose else (a, b, upper)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        x = LinalgSolveTriangularBackward0.forward(*system, True, unit)
        return x, np.broadcast_to(a, (*batch, *a.shape[-2:])).copy()

    def vjp(self, gs, b, a, x):
        g, g_copy = gs
        upper, transpose, unit = self.args
        to_b = both.zeros(b.shape, b)
        to_a = None
        if g is not None:
            to_b = both.run(TriangularSolveBackward0, (g, a), upper, not transpose, unit)[0]
            if self.needs(1):
                whole = -(x @ T(to_b) if transpose else to_b @ T(x))
                to_a = both.triu(whole, int(unit)) if upper else both.tril(whole, -int(unit))
            to_b = summed(to_b, b.shape)
        if g_copy is not None:
            to_a = g_copy if to_a is None else to_a + g_copy
        return to_b, None if to_a is None else summed(to_a, a.shape)


@function
def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """(solution, cloned_coefficient): X with A X = b, or A^T X = b, for a triangular A, and a copy of A (torch.triangular_solve)."""
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular, which has the matrix first and "
        "returns the solution alone. Instead of X = torch.triangular_solve(B, A).solution write "
        "X = torch.linalg.solve_triangular(A, B, upper=True)"
    )
    if {type(upper), type(transpose), type(unitriangular)} != {bool}:
        raise TypeError("upper, transpose and unitriangular are True or False")
    for name, t in (("b", b), ("A", A)):
        if t._data.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {t._data.ndim} dimensions instead"
            )
    _check_system(b, A, "triangular_solve")
    if A.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b.dtype.type_name} and A of type "
            f"{A.dtype.type_name} instead."
        )
    floats_only(b._data, "triangular_solve_cpu")
    return return_types.triangular_solve(
        apply(TriangularSolveBackward0, (b, A), upper, transpose, unitriangular)
    )


class LinalgPinvBackward0(Rule):
    """Pseudo-inverse.

    Math: y = pinv(a).
    VJP: h - a @ y @ h + k - k @ y @ a - y.T @ g @ y.T; h = g.T @ y @ y.T; k = y.T @ y @ g.T. A must keep its rank nearby (Golub
    and Pereyra).
    Shapes: (..., n, m) -> (..., m, n).   Saves: A and the result.   PyTorch: torch.linalg.pinv
    """

    op = "linalg_pinv"
    saves = ("self", "result")

    def forward(a, rcond, hermitian):
        return np.linalg.pinv(a, rcond, hermitian).astype(a.dtype, copy=False)

    def vjp(self, g, a, y):
        return _pinv_vjp(g, a, y)


def _pinv_vjp(g, a, y):
    h, yt = T(g), T(y)
    if a.shape[-2] <= a.shape[-1]:
        k = h @ y
        ky = k @ yt
        rest = h - k @ a  # the last term first, as in PyTorch
        rest = (yt @ y) @ rest
        inner = (a @ y) @ ky
        return -T(y @ k) + ky - inner + rest
    k = y @ h
    yk = yt @ k
    rest = (yk @ y) @ a
    inner = (h - a @ k) @ y @ yt
    return -T(k @ y) + inner + yk - rest


def pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The pseudo-inverse (torch.linalg.pinv).

    Singular values count as zero up to atol, or up to rtol times the largest one of their matrix, whichever is larger. Both are numbers, or
    tensors with one number for each matrix; rtol defaults to the precision of the type if atol is not above 0. `rcond` is the older name of
    rtol. With `hermitian`, only the lower triangle of A is read.
    """
    rtol = rcond if rcond is not None else rtol
    x = A._data
    if x.ndim < 2 or x.dtype.name not in ("float32", "float64"):
        raise RuntimeError(
            f"linalg.pinv({TYPE_NAMES[x.dtype.name]}{{{list(x.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    for name, t in (("atol", atol), ("rtol", rtol)):
        if isinstance(t, Variable) and t.requires_grad:
            raise RuntimeError(
                f"The function 'linalg_pinv' is not differentiable with respect to argument '{name}'. This input cannot have "
                "requires_grad True."
            )
    if hermitian:
        check_matrices("linalg.eigh", A)
    given = A, atol, rtol
    least, part = (0.0 if t is None else t._data if isinstance(t, Variable) else t for t in (atol, rtol))
    if rtol is None:
        part = np.where(np.asarray(least) > 0, 0.0, max(x.shape[-2:]) * float(np.finfo(x.dtype).eps))
    if x.size and np.any(np.asarray(least) > 0):
        largest = abs(np.linalg.eigvalsh(x)).max(-1) if hermitian else np.linalg.norm(x, 2, (-2, -1))
        try:
            part = np.maximum(part, least / np.where(largest, largest, np.inf))
        except ValueError:
            raise shape_error(np.shape(least), largest.shape) from None
    if np.ndim(part):  # several limits for one matrix give as many results
        A = A.expand(*broadcast_shape([part, x[..., 0, 0]]), *x.shape[-2:])
    return follow(apply(LinalgPinvBackward0, (A,), part if np.ndim(part) else float(part), hermitian), *given)


@function(name="pinverse")
def _pinverse(input, rcond=1e-15):
    """The pseudo-inverse (torch.pinverse)."""
    return pinv(input, rtol=rcond)


class LinalgLstsqBackward0(Rule):
    """Least squares solution.

    Math: y0 = mv(Y, b) if vector else Y @ b; y1 = sum((a @ y0 - b) ** 2, dim=-2); Y = pinv(a).
    VJP: to b: mv(Y.T, g0) if vector else Y.T @ g0 - D; to a: h - a @ Y @ h + k - k @ Y @ a - Y.T @ G @ Y.T + (D @ y0.T if
    numel(y1) else 0); h = G.T @ Y @ Y.T; k = Y.T @ Y @ G.T; G = unsqueeze(g0, -1) * unsqueeze(b, -2) if vector else g0 @ b.T; D =
    2 * (a @ y0 - b) * unsqueeze(g1, -2) if numel(y1) else 0.
    Shapes: A (..., m, n), B (..., m, k) or (..., m).   Saves: A, B and the solution.   PyTorch: torch.linalg.lstsq
    """

    op = "linalg_lstsq"
    inputs = ("self", "b")
    saves = ("self", "b", "solution")
    results = {"solution": 0}
    plain = False

    def forward(a, b, vector, rcond, measured):
        if vector:
            b = b[..., None]
        x = np.linalg.pinv(a, rcond).astype(a.dtype, copy=False) @ b
        residuals = ((a @ x - b) ** 2).sum(-2) if measured else np.zeros(0, a.dtype)
        n, m = x.shape[-2], a.shape[-2]
        room = np.zeros((*x.shape[:-2], x.shape[-1], max(m, n)), x.dtype)  # LAPACK writes X over B
        room[..., :n] = T(x)
        x = T(room[..., :n])
        return x[..., 0] if vector else x, residuals

    def vjp(self, gs, a, b, x):
        g, of_residuals = gs
        vector, _, measured = self.args
        shaped = _vector if vector else lambda column: column
        if vector:
            g, b, x = None if g is None else _column(g), _column(b), _column(x)
        to_a = to_b = None
        if g is not None:
            y = pinv(a) if isinstance(a, Variable) else np.linalg.pinv(a).astype(a.dtype, copy=False)
            to_a = _pinv_vjp(g @ T(b), a, y) if self.needs(0) else None
            to_b = shaped(T(y) @ g) if self.needs(1) else None
        if of_residuals is not None and measured:
            off, g = a @ x - b, _row(of_residuals)
            if self.needs(0):
                more = 2 * ((g * off) @ T(x))
                to_a = more if to_a is None else to_a + more
            if self.needs(1):
                more = shaped(-2 * g * off)
                to_b = more if to_b is None else to_b + more
        return to_a, to_b


def lstsq(A, B, rcond=None, *, driver=None):
    """(solution, residuals, rank, singular_values) of the least squares problem (torch.linalg.lstsq).

    Results that the `driver` (default "gelsy") does not compute are empty: "gels" has no rank, only "gelsd" and "gelss" have singular
    values, and all but "gelsy" have residuals if there are more equations than unknowns and A has full rank.
    """
    a, b = A._data, B._data
    for what, x, least in (("input", a, "2 dimensions"), ("other", b, "1 dimension")):
        if x.ndim < int(least[0]):
            raise RuntimeError(f"torch.linalg.lstsq: {what} must have at least {least}.")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{TYPE_NAMES[a.dtype.name]} and other's dtype {TYPE_NAMES[b.dtype.name]}"
        )
    if a.dtype.name not in ("float32", "float64"):
        raise RuntimeError("This function doesn't handle types other than float and double")
    driver = driver or "gelsy"
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    m, n = a.shape[-2:]
    if a.ndim - b.ndim not in (0, 1):
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = _is_vector(a, b)
    last = -1 if vector else -2
    if b.shape[last] != m:
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({last})")
    if rcond is None or driver == "gels":
        rcond = max(m, n) * float(np.finfo(a.dtype).eps)
    values = np.linalg.svd(a, compute_uv=False)
    rank = np.asarray((values > rcond * values.max(-1, initial=0)[..., None]).sum(-1), np.int64)
    measured = driver != "gelsy" and m > n and (driver == "gels" or bool((rank == n).all()))
    solution, residuals = apply(LinalgLstsqBackward0, (A, B), vector, rcond, measured)
    nothing = np.zeros(0, a.dtype)
    return _linalg_lstsq(
        (
            solution,
            residuals,
            follow(wrap(rank[()] if driver != "gels" else np.zeros(0, np.int64)), A),
            follow(wrap(values if driver in ("gelsd", "gelss") else nothing), A),
        )
    )


_linalg_lstsq = return_types._result_type(
    "linalg_lstsq", ("solution", "residuals", "rank", "singular_values")
)

# -- Cholesky -----------------------------------------------------------------------------------------


class LinalgCholeskyExBackward0(Rule):
    """Cholesky factor of a positive definite matrix.

    Math: y = cholesky(a, upper=upper).
    VJP: inverse(C).T @ P @ inverse(C) / 2; P = symmetric(tril(C.T @ G)); C = y.T if upper else y; G = g.T if upper else g.
    Shapes: (..., n, n).   Saves: the result.   PyTorch: torch.linalg.cholesky
    """

    layout = columns
    op = "linalg_cholesky_ex"
    saves = ("L",)
    keeps = ("upper",)

    def forward(a, upper, name):
        factor = _cholesky(name, a, upper)
        return T(factor) if upper else factor

    def vjp(self, g, factor):
        return _cholesky_vjp(g, factor, self.args[0])

    def tangent(a, v, upper, _name):
        """L tril(L^-1 V L^-T) with the diagonal halved: for a V that is not symmetric, this is more than the VJP gives."""
        factor = cholesky(a.mT if upper else a)
        inside = solve_triangular(factor, v, upper=False)
        inside = solve_triangular(factor.mT, inside, upper=True, left=False).tril()
        moved = factor @ (inside - (inside.diagonal(0, -2, -1) / 2).diag_embed())
        return moved.mT if upper else moved


class CholeskyBackward0(Rule):
    """Cholesky factor, by its older name.

    Math: y = cholesky(a, upper=upper).
    VJP: inverse(C).T @ P @ inverse(C) / 2; P = symmetric(tril(C.T @ G)); C = y.T if upper else y; G = g.T if upper else g.
    Shapes: as linalg.cholesky.   Saves: the result.   PyTorch: torch.cholesky
    """

    layout = columns
    op = no_jvp = "cholesky"
    saves = ("result",)
    keeps = ("upper",)

    def forward(a, upper):
        factor = _cholesky("cholesky", a, upper)
        return T(factor) if upper else factor

    def vjp(self, g, factor):
        return _cholesky_vjp(g, factor, self.args[0])


def _cholesky(name, a, upper):
    """NumPy's lower factor; reads only the lower (or upper) triangle of `a`. If there is none, raises LinAlgError or, without a `name` for
    the message, returns the factor as far as it goes.
    """
    half = np.tril(T(a) if upper else a)
    try:
        factor = np.linalg.cholesky(half + T(np.tril(half, -1)))
        if np.isnan(factor).any():
            raise np.linalg.LinAlgError
        return factor
    except np.linalg.LinAlgError:
        factor, flags = _columns(half)
        if not name:
            return factor
        which, order = first_flag(flags)
        raise LinAlgError(
            f"{name}: {which}The factorization could not be completed because the input is not positive-definite (the "
            f"leading minor of order {order} is not positive-definite)."
        ) from None


def _columns(half):
    """Cholesky factorization column by column, up to the first pivot that is not positive; (factor, its index from 1)."""
    out = half.copy()
    n = half.shape[-1]
    flags = np.zeros(math.prod(half.shape[:-2]), np.int32)
    for i, m in enumerate(out.reshape(len(flags), n, n)):
        for j in range(n):
            m[j, j] -= m[j, :j] @ m[j, :j]
            if not m[j, j] > 0:
                flags[i] = j + 1
                break
            m[j, j] = np.sqrt(m[j, j])
            m[j + 1 :, j] = (m[j + 1 :, j] - m[j + 1 :, :j] @ m[j, :j]) / m[j, j]
    return out, flags.reshape(half.shape[:-2])[()]


def _cholesky_vjp(g, factor, upper):
    if upper:
        g, factor = T(g), T(factor)
    p = both.tril(T(factor) @ g)
    p = 0.5 * (p + T(both.tril(p, -1)))
    return triangular(factor, triangular(T(factor), p, True), False, left=False)


def cholesky(A, *, upper=False):
    """The Cholesky factor (torch.linalg.cholesky). Raises LinAlgError if A is not positive definite."""
    check_matrices("linalg.cholesky", A)
    return apply(LinalgCholeskyExBackward0, (A,), upper, "linalg.cholesky")


def cholesky_ex(A, *, upper=False, check_errors=False):
    """(L, info): info is the order of the first minor that is not positive definite, or 0 (torch.linalg.cholesky_ex)."""
    check_matrices("linalg.cholesky", A)
    factor = apply(LinalgCholeskyExBackward0, (A,), upper, "linalg.cholesky_ex" if check_errors else "")
    flags = _columns(np.tril(T(A._data) if upper else A._data))[1]
    return return_types.linalg_cholesky_ex((factor, constant_result((A,), flags, "linalg_cholesky_ex")))


@function(name="cholesky")
def _old_cholesky(input, upper=False):
    """The Cholesky factor (torch.cholesky)."""
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future "
        "PyTorch release.\nL = "
        "torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\nand\nU = "
        "torch.cholesky(A, upper=True)\nshould "
        "be replaced with\nU = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results "
        "for all valid (symmetric "
        "positive definite) inputs."
    )
    if input._data.ndim >= 2 and input._data.dtype.name not in ("float32", "float64"):
        raise not_for(input._data.dtype, "cholesky_cpu")
    check_matrices("cholesky", input)
    return apply(CholeskyBackward0, (input,), upper)


class CholeskySolveBackward0(Rule):
    """Solution of A X = B from the Cholesky factor of A.

    Math: y = inverse(C @ C.T) @ a; C = triangle(b, upper=upper).T if upper else triangle(b, upper=upper).
    VJP: to a: G; to b: -b @ S if upper else -S @ b; S = G @ y.T + y @ G.T; G = inverse(C @ C.T) @ g.
    Shapes: B (..., n, k), L (..., n, n).   Saves: B, L and the result.   PyTorch: torch.cholesky_solve
    """

    layout = columns
    op = "cholesky_solve"
    inputs = ("self", "input2")
    saves = ("self", "input2", "result")
    keeps = ("upper",)

    def forward(b, factor, upper):
        low = T(factor) if upper else factor
        return _substituted(T(np.tril(low)), _substituted(np.tril(low), b, False), True)

    def vjp(self, g, b, factor, x):
        upper = self.args[0]
        to_b = both.run(CholeskySolveBackward0, (g, factor), upper)
        to_factor = None
        if self.needs(1):
            common = to_b @ T(x)
            common = common + T(common)
            to_factor = summed(-(factor @ common if upper else common @ factor), factor.shape)
        return summed(to_b, b.shape) if self.needs(0) else None, to_factor


@function
def cholesky_solve(B, L, upper=False):
    """X with (L L^T) X = B (torch.cholesky_solve)."""
    if B._data.ndim < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {B._data.ndim} dimensions instead")
    if L._data.ndim < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {L._data.ndim} dimensions instead")
    _check_system(B, L, "cholesky_solve")
    return apply(CholeskySolveBackward0, (B, L), upper)


def _check_system(b, A, name):
    """Raise RuntimeError unless A is square and has as many rows as b."""
    (m, k), (n, p) = A._data.shape[-2:], b._data.shape[-2:]
    if m != k:
        raise RuntimeError(f"A must be batches of square matrices, but they are {m} by {k} matrices")
    if m != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {m} by {m} but each b matrix is {n} by {p}"
        )


class CholeskyInverseBackward0(Rule):
    """Inverse of A from its Cholesky factor.

    Math: y = inverse(C @ C.T); C = triangle(a, upper=upper).T if upper else triangle(a, upper=upper).
    VJP: -a @ y @ (g + g.T) @ y if upper else -y @ (g + g.T) @ y @ a.
    Shapes: (..., n, n).   Saves: L and the result.   PyTorch: torch.cholesky_inverse
    """

    layout = columns
    op = "cholesky_inverse"
    saves = ("self", "result")
    keeps = ("upper",)

    def forward(factor, upper):
        low = np.tril(T(factor) if upper else factor)
        return np.linalg.inv(low @ T(low))

    def vjp(self, g, factor, y):
        common = y @ ((g + T(g)) @ y)
        return -(factor @ common if self.args[0] else common @ factor)


@function
def cholesky_inverse(L, upper=False):
    """The inverse of L L^T (torch.cholesky_inverse)."""
    check_matrices("cholesky_inverse", L)
    return apply(CholeskyInverseBackward0, (L,), upper)


# -- QR, eigenvalues, singular values -----------------------------------------------------------------


class LinalgQrBackward0(Rule):
    """QR factorization.

    Math: y0 = qr(A, mode=mode)[0]; y1 = qr(A, mode=mode)[1].
    VJP: (g0 + y0 @ symmetric(tril(M.T))) @ inverse(y1).T if size(A, -2) >= size(A, -1) else fit(y0 @ tril(M.T - M) @
    inverse(y1[:, :size(A, -2)]).T, A) + y0 @ g1; M = g1 @ y1.T - y0.T @ g0.
    Shapes: (..., m, n) -> (..., m, k), (..., k, n), k = min(m, n).   Saves: Q, R.   PyTorch: torch.linalg.qr
    """

    op = "linalg_qr"
    inputs = ("A",)
    saves = ("Q", "R")
    results = {"Q": 0, "R": 1}
    keeps = ("mode",)
    plain = False

    def forward(a, mode):
        if mode == "r":
            return np.zeros(0, a.dtype), columns(np.linalg.qr(a, "r"))
        q, r = np.linalg.qr(a, mode)
        return columns(q), columns(r)

    def vjp(self, gs, q, r):
        gq, gr = gs
        mode = self.args[0]
        m, n = q.shape[-2] if mode != "r" else r.shape[-2], r.shape[-1]
        if mode == "r":
            raise RuntimeError(
                "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
            )
        if mode == "complete" and m > n:
            raise RuntimeError(
                "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
            )
        if gq is None and gr is None:
            return None
        if gq is None:
            low = gr @ T(r)
        else:
            low = -(T(q) @ gq) if gr is None else gr @ T(r) - T(q) @ gq
        if m < n:  # A = [X | Y] with X square
            to_x = triangular(T(both.narrow(r, -1, 0, m)), q @ both.tril(_skew(-low)), False, left=False)
            whole = both.cat([to_x, both.zeros((*r.shape[:-1], n - m), r)], len(r.shape) - 1)
            return whole if gr is None else whole + q @ gr
        middle = both.triu(low)
        middle = middle + T(middle)
        both.scale(both.diagonal(middle), 0.5)
        middle = q @ middle
        return triangular(T(r), middle if gq is None else middle + gq, False, left=False)


def qr(A, mode="reduced"):
    """(Q, R) with A = Q R (torch.linalg.qr)."""
    check_matrices("linalg.qr", A, square=False)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return return_types.linalg_qr(apply(LinalgQrBackward0, (A,), mode))


@function(name="qr")
def _old_qr(input, some=True):
    """(Q, R) (torch.qr)."""
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future PyTorch "
        "release.\nThe boolean parameter "
        "'some' has been replaced with a string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be "
        "replaced with\nQ, R = "
        "torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return return_types.qr(qr(input, "reduced" if some else "complete"))


class GeqrfBackward0(Rule):
    """QR factorization in LAPACK's format: R, and below it the vectors of the reflections that make Q.

    Math: y0 = geqrf(a)[0]; y1 = geqrf(a)[1].   VJP: nothing. PyTorch has no derivative of it.
    Shapes: (..., m, n) -> (..., m, n), (..., k), k = min(m, n).   Saves: nothing.   PyTorch: torch.geqrf
    """

    op = "geqrf"
    inputs = ("self",)
    plain = False

    def forward(a):
        reflections, tau = np.linalg.qr(a, "raw")
        return np.ascontiguousarray(T(reflections)), tau

    def vjp(self, gs):
        raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


@function
def geqrf(input):
    """(a, tau): R with the vectors of the reflections below it, and their factors (torch.geqrf)."""
    if input._data.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    floats_only(input._data, "geqrf_cpu")
    return return_types.geqrf(apply(GeqrfBackward0, (input,)))


class LinalgHouseholderProductBackward0(Rule):
    """The first columns of a product of reflections.

    Math: y = householder_product(input, tau).
    VJP: to tau: -w_i . u_i for each reflection i; to input: -tau_i * (G @ w_i + Q @ u_i) below the diagonal of column i. From the
    first reflection to the last, with v the vector of reflection i, Q the product of those behind it, w = v.T @ Q and u = v.T @
    G, G becomes G - tau_i * outer(v, u).
    Shapes: (..., m, n), (..., k) -> (..., m, n), k <= n <= m.   Saves: both, and the result.   PyTorch:
    torch.linalg.householder_product
    """

    layout = columns
    op = "linalg_householder_product"
    inputs = ("input", "tau")
    saves = ("input", "tau", "result")

    def forward(a, tau):
        return _reflected(a, tau)[0]

    def vjp(self, g, a, tau, _result):
        m, n = a.shape[-2:]
        if not math.prod(a.shape) or not math.prod(tau.shape):
            return None, None
        states = _reflected(a, tau)
        columns, factors = [], []
        for i in range(tau.shape[-1]):
            v, t, q = _reflection(a, i), _scalar(tau[..., i]), states[i + 1]
            w, u = T(v) @ q, T(v) @ g
            below = np.tri(m, 1, -i - 1, dtype=both.array_of(a).dtype)
            columns.append(-t * (g @ T(w) + q @ T(u)) * both.constant(below, a))
            factors.append(-(u @ T(w)))
            g = g - t * (v @ u)
        if tau.shape[-1] < n:
            columns.append(both.zeros((*a.shape[:-1], n - tau.shape[-1]), a))
        last = len(a.shape) - 1
        return both.cat(columns, last), both.cat(factors, last).reshape(tau.shape)


def _reflection(a, i):
    """v_i, as a column."""
    m = a.shape[-2]
    kind = both.array_of(a).dtype
    return a[..., i : i + 1] * both.constant(np.tri(m, 1, -i - 1, dtype=kind), a) + both.constant(
        np.eye(m, 1, -i, dtype=kind), a
    )


def _reflected(a, tau):
    """[Q_1, ..., Q_(k+1)]: the product after each reflection, the whole first and the identity last."""
    states = [both.constant(np.broadcast_to(np.eye(*a.shape[-2:], dtype=both.array_of(a).dtype), a.shape), a)]
    for i in reversed(range(tau.shape[-1])):
        v, q = _reflection(a, i), states[0]
        states.insert(0, q - _scalar(tau[..., i]) * (v @ (T(v) @ q)))
    return states


def householder_product(A, tau):
    """The product of reflections, as `geqrf` gives them (torch.linalg.householder_product)."""
    a, t = A._data, tau._data
    if a.dtype.name not in ("float32", "float64"):
        raise not_for(a.dtype, "orgqr_cpu")
    if a.ndim < 2:
        problem = "input must have at least 2 dimensions."
    elif a.shape[-2] < a.shape[-1]:
        problem = "input.shape[-2] must be greater than or equal to input.shape[-1]"
    elif a.shape[-1] < t.shape[-1]:
        problem = "input.shape[-1] must be greater than or equal to tau.shape[-1]"
    elif a.ndim - t.ndim != 1:
        problem = (
            f"Expected tau to have one dimension less than input, but got tau.ndim equal to {t.ndim} and input.ndim is "
            f"equal to {a.ndim}"
        )
    elif t.dtype is not a.dtype:
        problem = f"tau dtype {ALL[t.dtype].type_name} does not match input dtype {ALL[a.dtype].type_name}"
    else:
        return apply(LinalgHouseholderProductBackward0, (A, tau))
    raise RuntimeError(f"torch.linalg.householder_product: {problem}")


FUNCTIONS["orgqr"] = METHODS["orgqr"] = householder_product


class LinalgEighBackward0(Rule):
    """Eigenvalues and eigenvectors of a symmetric matrix.

    Math: y0 = eigh(A, UPLO=uplo)[0]; y1 = eigh(A, UPLO=uplo)[1].
    VJP: y1 @ (diag_embed(g0) + skew(y1.T @ g1) / (2 * gaps(y0))) @ y1.T.
    Shapes: (..., n, n) -> (..., n), (..., n, n).   Saves: both results.   PyTorch: torch.linalg.eigh
    """

    op = "_linalg_eigh"
    inputs = ("A",)
    saves = ("eigenvalues", "eigenvectors")
    results = {"eigenvalues": 0, "eigenvectors": 1}
    plain = False

    def forward(a, uplo):
        values, vectors = np.linalg.eigh(a, uplo)
        return values, columns(vectors)

    def vjp(self, gs, w, v):
        gw, gv = gs
        if gv is None:
            return None if gw is None else (v * _row(gw)) @ T(v)
        gaps = _row(w) - _column(w)
        put(both.diagonal(gaps), 1)
        inner = 0.5 * _skew(T(v) @ gv) / gaps
        if gw is not None:
            put(both.diagonal(inner), gw)
        return v @ (inner @ T(v))


def _skew(a):
    return a - T(a)


def eigh(A, UPLO="L"):
    """(eigenvalues, eigenvectors) of a symmetric matrix, of which one triangle is read (torch.linalg.eigh)."""
    _check_symmetric(A, UPLO)
    return return_types.linalg_eigh(apply(LinalgEighBackward0, (A,), UPLO))


def _check_symmetric(A, triangle):
    if triangle.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {triangle}")
    if A._data.ndim >= 2:
        floats_only(A._data, "linalg_eigh_cpu")
    check_matrices("linalg.eigh", A)


def eigvalsh(A, UPLO="L"):
    """The eigenvalues of a symmetric matrix (torch.linalg.eigvalsh)."""
    _check_symmetric(A, UPLO)
    return apply(LinalgEighBackward0, (A,), UPLO)[0]


class LinalgSvdBackward0(Rule):
    """Singular values and vectors.

    Math: y0 = svd(A, full_matrices)[0]; y1 = svd(A, full_matrices)[1]; y2 = svd(A, full_matrices)[2].
    VJP: (U @ K + (G - U @ U.T @ G) / unsqueeze(y1, -2)) @ V if size(A, -2) > size(A, -1) else U @ (K @ V + (H - H @ V.T @ V) /
    unsqueeze(y1, -1)) if size(A, -2) < size(A, -1) else U @ K @ V; K = diag_embed(g1) + (skew(U.T @ G) * unsqueeze(y1, -2) +
    unsqueeze(y1, -1) * skew(V @ H.T)) / gaps(y1 ** 2); U = y0[..., :size(y1, -1)] if full_matrices else y0; V = y2[..., :size(y1,
    -1), :] if full_matrices else y2; G = g0[..., :size(y1, -1)] if full_matrices else g0; H = g2[..., :size(y1, -1), :] if
    full_matrices else g2. The terms that are divided by singular values are what g0 and g2 have outside the spaces of U and V.
    Shapes: (..., m, n) -> (..., m, k), (..., k), (..., k, n).   Saves: U, S, V^T.   PyTorch: torch.linalg.svd
    """

    op = "_linalg_svd"
    inputs = ("A",)
    saves = ("U", "S", "Vh")
    results = {"U": 0, "S": 1, "Vh": 2}
    keeps = ("full_matrices", "S_sym_argsize_minus_1")
    plain = False

    def forward(a, full, _k):
        try:
            u, s, vh = np.linalg.svd(a, full)
            if sys.platform == "emscripten" and np.isnan(s).any():  # no flags there either: see _inverted
                raise np.linalg.LinAlgError
        except np.linalg.LinAlgError:
            raise LinAlgError(
                "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
            ) from None
        return columns(u), s, columns(vh)

    def vjp(self, gs, u, s, vh):
        gu, gs, gvh = gs
        m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
        if self.args[0]:
            u, gu = [None if x is None else both.narrow(x, -1, 0, k) for x in (u, gu)]
            vh, gvh = [None if x is None else both.narrow(x, -2, 0, k) for x in (vh, gvh)]
        if gu is None and gvh is None:
            if gs is None:
                return None
            return u @ (_column(gs) * vh) if m >= n else (u * _row(gs)) @ vh
        square = s * s
        gaps = _row(square) - _column(square)
        put(both.diagonal(gaps), 1)
        if gvh is None:
            inner = _skew(T(u) @ gu) / gaps * _row(s)
        elif gu is None:
            inner = _column(s) * (_skew(vh @ T(gvh)) / gaps)
        else:
            inner = (_skew(T(u) @ gu) * _row(s) + _column(s) * _skew(vh @ T(gvh))) / gaps
        if gs is not None:
            inner = inner + _diagonal(gs)
        if m > n and gu is not None:
            out = gu / _row(s)
            return (u @ inner + out - u @ (T(u) @ out)) @ vh
        if m < n and gvh is not None:
            out = gvh / _column(s)
            return u @ (inner @ vh + out - (out @ T(vh)) @ vh)
        return u @ (inner @ vh) if m >= n else (u @ inner) @ vh


def _svd(name, A, full):
    check_matrices(name, A, square=False)
    return apply(LinalgSvdBackward0, (A,), full, min(A._data.shape[-2:]))


def svd(A, full_matrices=True, *, driver=None):
    """(U, S, Vh) with A = U diag(S) Vh (torch.linalg.svd)."""
    return return_types.linalg_svd(_svd("linalg.svd", A, full_matrices))


def svdvals(A, *, driver=None):
    """The singular values, largest first (torch.linalg.svdvals)."""
    return _svd("linalg.svd", A, False)[1]


@function(name="svd")
def _old_svd(input, some=True, compute_uv=True):
    """(U, S, V) with A = U diag(S) V^T (torch.svd)."""
    u, s, vh = _svd("linalg.svd", input, not some)
    return return_types.svd((u, s, vh.mT))


@function(method=False)
def svd_lowrank(A, q=6, niter=2, M=None):
    """(U, S, V) for about the q largest singular values of A, or of A - M, by random projection (torch.svd_lowrank).

    The range of A is approximated by that of A R for a random R (..., n, q), better the more often A A^T is applied: `niter` times. In its
    basis A is small (Halko, Martinsson and Tropp 2009).
    """
    q = 6 if q is None else q
    m, n = A.shape[-2:]
    whole = A if M is None else A - M.broadcast_to(A.shape)
    if m < n:
        whole = whole.mT
    basis = qr(matmul(whole, randn(whole.shape[-1], q, dtype=A.dtype)))[0]
    for _ in range(niter):
        basis = qr(matmul(whole.mT, basis))[0]
        basis = qr(matmul(whole, basis))[0]
    u, s, vh = svd(matmul(basis.mT, whole), full_matrices=False)
    u, v = matmul(basis, u), vh.mT
    return (v, s, u) if m < n else (u, s, v)


@function(method=False)
def pca_lowrank(A, q=None, center=True, niter=2):
    """(U, S, V) of about the q first principal components of the rows of A (torch.pca_lowrank). q: min(6, m, n) if not given.

    Raises ValueError if q is not between 0 and min(m, n), or niter is negative.
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter)


# -- powers, exponential, small things ----------------------------------------------------------------


@function
def matrix_power(input, n):
    """The n-th power of a square matrix, by repeated squaring (torch.matrix_power)."""
    if input._data.dtype.kind == "b":
        raise not_for(input._data.dtype, "addmm_impl_cpu_")
    shape = input._data.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or n < 0:
        check_matrices("linalg.matrix_power", input)
    if n == 0:
        size = input._data.shape
        eye = np.broadcast_to(np.eye(size[-1], dtype=input._data.dtype), size)
        return METHODS["copy_"](input.clone(), wrap(np.array(eye)))
    a = inv(input) if n < 0 else input
    n = abs(n)
    if n == 1:
        return a.clone() if a is input else a
    if n == 2:
        return matmul(a, a)
    if n == 3:
        return matmul(matmul(a, a), a)
    result = square = None
    while n:
        square = a if square is None else matmul(square, square)
        if n % 2:
            result = square if result is None else matmul(result, square)
        n //= 2
    return result


class LinalgMatrixExpBackward0(Rule):
    """Exponential of a matrix.

    Math: y = matrix_exp(a).
    VJP: matrix_exp(quarters(a.T, g, zeros_like(a), a.T))[..., :size(a, -1), size(a, -1):]. This is the upper right quarter of the
    exponential of a matrix twice as wide and high.
    Shapes: (..., n, n).   Saves: A.   PyTorch: torch.linalg.matrix_exp
    """

    op = "linalg_matrix_exp"
    saves = ("self",)

    def forward(a):
        norm = np.abs(a).sum(-1).max() if a.size else 0
        halvings = max(0, math.ceil(math.log2(norm)) + 1) if norm > 0 and math.isfinite(norm) else 0
        x = a.astype(np.float64) / 2**halvings
        out = term = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
        for k in range(1, 20):
            term = term @ x / k
            out = out + term
        for _ in range(halvings):
            out = out @ out
        return out.astype(a.dtype)

    def vjp(self, g, a):
        n = a.shape[-1]
        block = both.zeros((*a.shape[:-2], 2 * n, 2 * n), g)
        turned = T(a)
        put(_quarter(block, 0, 0), turned)
        put(_quarter(block, n, n), turned)
        put(_quarter(block, 0, n), g)
        return _quarter(both.run(LinalgMatrixExpBackward0, (block,)), 0, n)


def _quarter(block, row, column):
    n = block.shape[-1] // 2
    return both.narrow(both.narrow(block, -2, row, n), -1, column, n)


@function
def matrix_exp(input):
    """The exponential of a square matrix (torch.matrix_exp)."""
    check_matrices("linalg.matrix_exp", input)
    return apply(LinalgMatrixExpBackward0, (input,))


class TraceBackward0(Rule):
    """Sum of the diagonal.

    Math: y = trace(a).   VJP: g * eye(size(a, 0), size(a, 1)).   Shapes: (n, m) -> ().   Saves: nothing.   PyTorch: torch.trace
    """

    op = "trace"
    keeps = ("self_sym_sizes",)

    def forward(a, *_):
        return np.asarray(np.trace(a), np.int64 if a.dtype.kind in "iub" else a.dtype)[()]

    def vjp(self, g):
        n, m = shape = self.args[0]
        if isinstance(g, Variable):
            diagonal = wrap(np.arange(min(n, m), dtype=np.int64) * (m + 1))
            return both.zeros((n * m,), g).index_fill(0, diagonal, g).reshape(shape)
        return g * np.eye(n, m, dtype=g.dtype)


@function
def trace(input):
    """The sum of the diagonal of a matrix (torch.trace)."""
    if input._data.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._data.ndim}")
    no_bools(input._data, "trace")
    return apply(TraceBackward0, (input,))


class LinalgCrossBackward0(Rule):
    """Cross product of vectors of three.

    Math: y = cross(a, b, dim).   VJP: to a: cross(b, g, dim); to b: cross(g, a, dim).
    Shapes: alike, or broadcast.   Saves: each for the other's gradient.   PyTorch: torch.linalg.cross
    """

    op = "linalg_cross"
    inputs = saves = ("self", "other")
    saves_if = {"self": (1,), "other": (0,)}
    keeps = ("dim",)

    def forward(a, b, dim, *_):
        return np.cross(a, b, axis=dim)

    def vjp(self, g, a, b):
        dim, shape, other_shape = self.args
        to_b = summed(_cross(g, a, dim), other_shape) if self.needs(1) else None
        return summed(_cross(b, g, dim), shape) if self.needs(0) else None, to_b


def _cross(a, b, dim):
    return both.run(LinalgCrossBackward0, (a, b), dim, tuple(a.shape), tuple(b.shape))


def cross(input, other, *, dim=-1):
    """The cross product along a dim of size 3 (torch.linalg.cross)."""
    a, b = input._data, other._data
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, a.ndim)
    if a.shape[d] != 3 or b.shape[d] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.shape[d]} and {b.shape[d]}"
        )
    broadcast_shape((a, b))
    no_bools(a, "cross")
    if a.dtype is not b.dtype:
        raise other_type(a, b)
    return _cross(input, other, dim)


@function(name="cross")
def _old_cross(input, other, dim=None):
    """The cross product along `dim`, or along the first dim of size 3 (torch.cross)."""
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
            "explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release."
        )
        dim = next((i for i, n in enumerate(input._data.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return cross(input, other, dim=dim)


def vecdot(x, y, *, dim=-1):
    """Sums of products along a dim (torch.linalg.vecdot)."""
    if x._data.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[x._data.dtype.name]}"
        )
    if x._data.ndim == 1 == y._data.ndim:
        return FUNCTIONS["vdot"](x, y)
    return (x * y).sum(dim)


class CdistBackwardBackward0(Rule):
    """The gradient of cdist for its first operand, of which PyTorch has no derivative.

    Math: y = sum(unsqueeze(grad, -1) * s, dim=-2); s = sign(u) if p == 1 else where(n == 0, 0, u / n) if p == 2 else 0 * u if p
    == 0 else sign(u) * (abs(u) == n) if p == inf else where(u == 0, 0, sign(u) * (abs(u) / n) ** (p - 1)); u = unsqueeze(x1, -2)
    - unsqueeze(x2, -3); n = unsqueeze(cdist, -1).
    VJP: to a, b, c, d: nothing. PyTorch has no derivative of it.
    Saves: nothing.
    """

    op = "_cdist_backward"
    no_jvp = "_cdist_backward"
    inputs = ("grad", "x1", "x2", "cdist")
    keeps = ("p",)

    def forward(g, a, b, y, p):
        return _cdist_moves(g, a, b, y, p).sum(-2) if g.size else np.zeros_like(a)

    def vjp(self, g):
        raise NotImplementedError("the derivative for '_cdist_backward' is not implemented.")


class CdistBackward0(GeneralRule):
    """Distances between all pairs of rows.

    Math: y = norm(u, p=p, dim=-1); u = unsqueeze(a, -2) - unsqueeze(b, -3).
    VJP: to a: sum(h, dim=-2); to b: -sum(h, dim=-3); h = unsqueeze(g, -1) * s; s = sign(u) if p == 1 else where(n == 0, 0, u / n)
    if p == 2 else 0 * u if p == 0 else sign(u) * (abs(u) == n) if p == inf else where(u == 0, 0, sign(u) * (abs(u) / n) ** (p -
    1)); n = unsqueeze(y, -1).
    Shapes: (..., n, d), (..., m, d) -> (..., n, m).   Saves: a, b, the result.   PyTorch: torch.cdist
    """

    op = "_cdist_forward"
    no_jvp = "_cdist_forward"
    inputs = ("x1", "x2")
    saves = ("x1", "x2", "result")
    keeps = ("p",)

    def forward(a, b, p):
        return _length(np.abs(a[..., :, None, :] - b[..., None, :, :]), p)

    def vjp(self, g, a, b, y):
        p = self.args[0]
        if not isinstance(g, Variable):
            moved = _cdist_moves(g, a, b, y, p)
            to_a = summed(moved.sum(-2), a.shape) if self.needs(0) else None
            return to_a, summed(-moved.sum(-3), b.shape) if self.needs(1) else None
        to_a = to_b = None
        if self.needs(0):
            to_a = summed(apply(CdistBackwardBackward0, (g.contiguous(), a, b, y), p), a.shape)
        if self.needs(1):
            turned = T(g).contiguous(), b, a, T(y).contiguous()
            to_b = summed(apply(CdistBackwardBackward0, turned, p), b.shape)
        return to_a, to_b


def _cdist_moves(g, a, b, y, p):
    """The contribution of each pair of rows to the gradient of the first one."""
    return _length_slope(a[..., :, None, :] - b[..., None, :, :], y, p) * g[..., None]


class EuclideanDistBackward0(Rule):
    """Distances between all pairs of many rows, whose gradients are matrix products.

    Math: y = norm(unsqueeze(a, -2) - unsqueeze(b, -3), 2, -1).
    VJP: to a: a * sum(r, dim=-1, keepdim=True) - r @ b; to b: b * sum(r.T, dim=-1, keepdim=True) - r.T @ a; r = where(y == 0, 0,
    g / y).
    Shapes: (..., n, d), (..., m, d) -> (..., n, m).   Saves: a, b, the result.   PyTorch: torch.cdist
    """

    op = "_euclidean_dist"
    no_jvp = "_euclidean_dist"
    inputs = ("x1", "x2")
    saves = ("x1", "x2", "result")

    def forward(a, b):
        return CdistBackward0.forward(a, b, 2)

    def vjp(self, g, a, b, y):
        r = both.filled(g / y, both.array_of(y) == 0)
        return a * both.sum_over(r, (-1,), True) - r @ b, b * _column(both.sum_over(r, (-2,))) - T(r) @ a


def _length(size, p):
    """The p-norm of magnitudes along the last dim."""
    if p == 2:
        return np.sqrt((size * size).sum(-1))
    if p == 0:
        return (size != 0).sum(-1).astype(size.dtype)
    return size.max(-1) if p == math.inf else (size**p).sum(-1) ** size.dtype.type(1 / p)


def _length_slope(d, y, p):
    """The derivative of y, the p-norm of `d` along the last dim, by each element of `d`."""
    apart = both.array_of(y) != 0
    if p == 1:
        return both.sign(d)
    if p == 2:
        return both.masked(d / _column(y), apart[..., None])
    if p == math.inf:
        return both.sign(d) * both.constant(
            (np.abs(both.array_of(d)) == both.array_of(y)[..., None]).astype(both.array_of(d).dtype), d
        )
    moves = (apart[..., None] & (both.array_of(d) != 0)) if p < 1 else apart[..., None]
    share = both.masked(both.abs_(d) / _column(y), moves)
    power = (share if p >= 1 else both.where(moves, share, 1)) ** (p - 1)  # 0 ** (p - 1) would be inf
    return both.sign(d) * power if p else d * 0


@function(method=False)
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between all rows of x1 and all rows of x2 (torch.cdist)."""
    a, b = x1._data, x2._data
    for i, x in enumerate((a, b)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{i + 1} got: {x.ndim}D")
        if x.dtype.kind != "f":
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, X{i + 1} got: {TYPE_NAMES[x.dtype.name]}"
            )
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {a.shape[-1]} X2: {b.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if a.dtype.name == "float16":
        raise not_for(a.dtype, "cdist")
    if a.dtype is not b.dtype:
        raise other_type(a, b)
    n, m, d = a.shape[-2], b.shape[-2], a.shape[-1]
    modes = {
        "use_mm_for_euclid_dist_if_necessary": max(n, m) > 25,
        "use_mm_for_euclid_dist": True,
        "donot_use_mm_for_euclid_dist": False,
    }
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    k = math.prod(batch)
    if p != 2 or not modes[compute_mode] or 0 in (k, n, m, d):
        return call(CdistBackward0, (x1, x2), float(p))
    if k > 1:
        x1, x2 = (x.expand(*batch, *x._data.shape[-2:]).contiguous().view(k, -1, d) for x in (x1, x2))
    return apply(EuclideanDistBackward0, (x1, x2)).view(*batch, n, m)


class PdistBackwardBackward0(Rule):
    """The gradient of pdist, of which PyTorch has no derivative.

    Math: y = index_add(index_add(zeros_like(self), 0, i, h), 0, j, -h); h = unsqueeze(grad, -1) * s; s = sign(u) if p == 1 else
    where(n == 0, 0, u / n) if p == 2 else 0 * u if p == 0 else sign(u) * (abs(u) == n) if p == inf else where(u == 0, 0, sign(u)
    * (abs(u) / n) ** (p - 1)); u = self[i] - self[j]; n = unsqueeze(pdist, -1); i = triu_indices(size(self, 0), size(self, 0),
    1)[0]; j = triu_indices(size(self, 0), size(self, 0), 1)[1].
    VJP: to a, b, c: nothing. PyTorch has no derivative of it.
    Saves: nothing.
    """

    op = "_pdist_backward"
    no_jvp = "_pdist_backward"
    inputs = ("grad", "self", "pdist")
    keeps = ("p",)

    def forward(g, x, y, p):
        first, second = np.triu_indices(len(x), 1)
        moved = _length_slope(x[first] - x[second], y, p) * g[:, None]
        out = np.zeros(x.shape, x.dtype)
        np.add.at(out, first, moved)
        np.subtract.at(out, second, moved)
        return out

    def vjp(self, g):
        raise NotImplementedError("the derivative for '_pdist_backward' is not implemented.")


class PdistBackward0(Rule):
    """Distances between each two rows.

    Math: y = norm(u, p=p, dim=-1); u = a[i] - a[j]; i = triu_indices(size(a, 0), size(a, 0), 1)[0]; j = triu_indices(size(a, 0),
    size(a, 0), 1)[1].
    VJP: index_add(index_add(zeros_like(a), 0, i, h), 0, j, -h); h = unsqueeze(g, -1) * s; s = sign(u) if p == 1 else where(n ==
    0, 0, u / n) if p == 2 else 0 * u if p == 0 else sign(u) * (abs(u) == n) if p == inf else where(u == 0, 0, sign(u) * (abs(u) /
    n) ** (p - 1)); n = unsqueeze(y, -1).
    Shapes: (n, d) -> (n (n - 1) / 2,).   Saves: a, the result.   PyTorch: torch.pdist
    """

    op = "_pdist_forward"
    no_jvp = "_pdist_forward"
    saves = ("self", "result")
    keeps = ("p",)

    def forward(x, p):
        first, second = np.triu_indices(len(x), 1)
        if not x.size:
            return np.zeros(len(first), x.dtype)
        return _length(np.abs(x[first] - x[second]), p)

    def vjp(self, g, x, y):
        return both.run(PdistBackwardBackward0, (g, x, y), *self.args)


@function(method=False)
def pdist(input, p=2.0):
    """The p-norm distances between each two rows of `input` (torch.pdist)."""
    x = input._data
    if x.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {x.ndim}D")
    if x.dtype.kind != "f":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if x.dtype == np.float16:
        raise not_for(x.dtype, "pdist")
    return apply(PdistBackward0, (input,), float(p))


# -- norms --------------------------------------------------------------------------------------------


@function(name="linalg_matrix_norm", method=False)
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """A norm of the matrices in two dims: "fro", "nuc", 1, -1, 2, -2, inf, -inf (torch.linalg.matrix_norm)."""
    if A._data.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if A._data.dtype.kind != "f":
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a floating point or complex tensor as input. Got {TYPE_NAMES[A._data.dtype.name]}"
        )
    if (not isinstance(ord, str) and abs(ord) not in (1, 2, math.inf)) or (
        isinstance(ord, str) and ord not in ("fro", "nuc")
    ):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if dtype is not None:
        A = A.to(dtype)
    ndim = A._data.ndim
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, cols = (d % ndim for d in dim)
    if rows == cols:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return vector_norm(A, 2, (rows, cols), keepdim)
    if ord in ("nuc", 2, -2):
        order = [i for i in range(ndim) if i not in (rows, cols)] + [rows, cols]
        values = svdvals(A.permute(*order))
        out = values.sum(-1, keepdim) if ord == "nuc" else _extreme(values, -1, ord, keepdim)
        return out.unsqueeze(-1).permute(*[order.index(i) for i in range(ndim)]) if keepdim else out
    summed, picked = (cols, rows) if abs(ord) == math.inf else (rows, cols)
    if summed < picked and not keepdim:
        picked -= 1
    sums = vector_norm(A, 1.0, summed, keepdim)
    return _extreme(sums, picked, ord, keepdim)


def _extreme(values, dim, ord, keepdim):
    """The largest along `dim`, or the smallest for a negative order; the largest of none is 0."""
    if ord < 0:
        return values.amin(dim, keepdim)
    return values.amax(dim, keepdim) if values._data.shape[dim] else values.sum(dim, keepdim)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector norm, or a matrix norm if `ord` or two dims call for one (torch.linalg.norm)."""
    if isinstance(ord, str):
        if dim is None and A._data.ndim > 2:
            raise RuntimeError(
                f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A._data.ndim}D."
            )
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if ord is not None and dim is None and A._data.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A._data.ndim}D."
        )
    if isinstance(dim, (tuple, list)) and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{', '.join(map(str, dim))}]"
        )
    two = A._data.ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2
    if ord is not None and two:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(A, 2.0 if ord is None else ord, dim, keepdim, dtype=dtype)


def cond(A, p=None):
    """The condition number norm(A) norm(A^-1) (torch.linalg.cond)."""
    if p in (None, 2, -2):
        values = svdvals(A)
        most, least = values.narrow(-1, 0, 1), values.narrow(-1, values._data.shape[-1] - 1, 1)
        return (least / most if p == -2 else most / least).squeeze(-1)
    x = A._data
    if x.ndim >= 2 and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


def matrix_rank(A, *, tol=None, atol=None, rtol=None, hermitian=False):
    """The number of singular values that are not negligible (torch.linalg.matrix_rank)."""
    if A._data.ndim < 2:
        raise RuntimeError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    if A._data.dtype.name not in ("float32", "float64"):
        raise RuntimeError("This function doesn't handle types other than float and double")
    if hermitian:
        check_matrices("linalg.eigh", A)
    values = abs(np.linalg.eigvalsh(A._data)) if hermitian else np.linalg.svd(A._data, compute_uv=False)
    given = tol, atol, rtol
    tol, atol, rtol = (t._data if isinstance(t, Variable) else t for t in given)
    least = tol if tol is not None else 0.0 if atol is None else atol
    if rtol is None:
        rtol = np.where(np.asarray(least) > 0, 0.0, max(A._data.shape[-2:]) * np.finfo(values.dtype).eps)
    limit = np.maximum(least, rtol * values.max(-1, initial=0))
    return follow(wrap(np.asarray((values > limit[..., None]).sum(-1), np.int64)[()]), A, *given)


def vander(x, *, N=None):
    """The powers 0 .. N - 1 of each element, along a new last dim (torch.linalg.vander)."""
    v = x._data
    if v.dtype.kind == "b" or (v.dtype.itemsize == 2 and v.dtype.kind == "f"):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            + TYPE_NAMES[v.dtype.name].capitalize()
        )
    if not v.ndim:
        x, v = x.unsqueeze(0), v[None]
    n = v.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand(*v.shape, n - 1).cumprod(-1)
    ones = wrap(np.ones((*v.shape, 1), powers._data.dtype))
    return FUNCTIONS["cat"]((ones, powers), -1)


@function(name="vander", method=False)
def _falling_vander(x, N=None, increasing=False):
    """The powers of each element of a vector, the highest first unless `increasing` (torch.vander)."""
    v = x._data
    if v.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = len(v) if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    # Step by step as in PyTorch, whose backward then finds the powers overwritten and raises.
    out = wrap(np.empty((len(v), n), v.dtype if v.dtype.kind == "f" else np.int64))
    if n > 0:
        out.select(1, 0).fill_(1)
    if n > 1:
        out.narrow(1, 1, n - 1).copy_(x.unsqueeze(1))
        out.narrow(1, 1, n - 1).copy_(out.narrow(1, 1, n - 1).cumprod(1))
    return out if increasing else out.flip(1)


def tensorsolve(A, B, dims=None):
    """X with tensordot(A, X, X.ndim) = B (torch.linalg.tensorsolve); `dims` of A are moved to its end first."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    rest = A._data.shape[B._data.ndim :]
    n, m = math.prod(rest), B._data.size
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {n} != {m}"
        )
    return solve(A.reshape(m, n), B.reshape(-1)).reshape(rest)


def tensorinv(A, ind=2):
    """The inverse of A seen as a matrix from its last dims to its first `ind` dims (torch.linalg.tensorinv)."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, rest = A._data.shape[:ind], A._data.shape[ind:]
    n, m = math.prod(rest), math.prod(first)
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{n} != {m}"
        )
    return inv(A.reshape(m, n)).reshape(*rest, *first)


__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "eigh",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
]
