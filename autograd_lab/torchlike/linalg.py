"""torch.linalg: linear algebra. The rules are in ops/linalg.py and ops/products.py."""

from .interface.publish import publish
from .ops.linalg import (
    LinAlgError,
    cholesky,
    cholesky_ex,
    cond,
    cross,
    det,
    eigh,
    eigvalsh,
    householder_product,
    inv,
    inv_ex,
    lstsq,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    norm,
    pinv,
    qr,
    slogdet,
    solve,
    solve_ex,
    solve_triangular,
    svd,
    svdvals,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from .ops.lu import lu, lu_factor, lu_factor_ex, lu_solve
from .ops.products import matmul, multi_dot
from .ops.reductions import vector_norm
from .ops.rule import FUNCTIONS
from .world.missing import finder


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of matrices, as a view (torch.linalg.diagonal)."""
    return FUNCTIONS["diagonal"](A, offset, dim1, dim2)


__getattr__ = finder("linalg")

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
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
    "vector_norm",
]

globals().update(publish({name: globals()[name] for name in __all__}, "linalg.", __name__))
