"""Matrix products and linear algebra: values, graphs, gradients and second derivatives."""

import math
import warnings

import numpy as np
import pytest
from helpers import Op, check_differences, check_like_pytorch

import autograd_lab
from tests.each import each

INF = math.inf


def near_identity(torch, x):
    """A matrix safely away from singular: x + 3 I."""
    return x + 3 * torch.eye(x.shape[-1], dtype=torch.float64)


def definite(torch, x):
    """A symmetric positive definite matrix."""
    return x @ x.mT + 2 * torch.eye(x.shape[-1], dtype=torch.float64)


def symmetric(torch, x):
    """A symmetric matrix whose eigenvalues lie well apart."""
    return x + x.mT + torch.diag(torch.arange(x.shape[-1], dtype=torch.float64) * 7)


def matmul(*shapes):
    return Op(f"matmul {' '.join(map(str, shapes))}", lambda torch, a, b: a @ b, list(shapes))


def half(fn, constant):
    """A product in which one factor is a constant."""

    def call(torch, a, b):
        return fn(torch, a.detach() if constant == 0 else a, b.detach() if constant == 1 else b)

    return call


PRODUCTS = [
    matmul((2, 3), (3, 4)), matmul((2, 3), (3,)), matmul((3,), (3, 2)), matmul((3,), (3,)), matmul((5, 2, 3), (5, 3, 4)),
    matmul((5, 2, 3), (3, 4)), matmul((5, 2, 3), (3,)), matmul((2, 3), (5, 3, 4)), matmul((3,), (5, 3, 4)),
    matmul((2, 1, 2, 3), (4, 3, 5)), matmul((2, 5, 2, 3), (2, 5, 3, 4)), matmul((2, 5, 2, 3), (3, 4)), matmul((2, 3), (2, 5, 3, 4)),
    matmul((2, 5, 2, 3), (3,)), matmul((3,), (2, 5, 3, 4)), matmul((1, 2, 3), (5, 3, 4)), matmul((5, 2, 3), (1, 3, 4)),
    matmul((2, 0), (0, 3)), matmul((0, 2), (2, 3)), matmul((2, 0, 3), (3, 4)), matmul((1, 1), (1, 1)),


    Op("mm transposed", lambda torch, a, b: a.t() @ b.t(), [(3, 2), (4, 3)]),
    Op("mm self", lambda torch, a: a @ a, [(3, 3)]), Op("mm self T", lambda torch, a: a @ a.T, [(3, 2)]),
    Op("mm", lambda torch, a, b: torch.mm(a, b), [(2, 3), (3, 4)]), Op("mv", lambda torch, a, b: torch.mv(a, b), [(2, 3), (3,)]),
    Op("dot", lambda torch, a, b: torch.dot(a, b), [(3,), (3,)]),
    Op("dot empty", lambda torch, a, b: torch.dot(a, b), [(0,), (0,)]), Op("vdot", lambda torch, a, b: torch.vdot(a, b), [(3,), (3,)]),
    Op("bmm", lambda torch, a, b: torch.bmm(a, b), [(5, 2, 3), (5, 3, 4)]),
    Op("outer", lambda torch, a, b: torch.outer(a, b), [(2,), (3,)]), Op("ger", lambda torch, a, b: a.ger(b), [(2,), (3,)]),
    Op("addmm", lambda torch, c, a, b: torch.addmm(c, a, b), [(4,), (2, 3), (3, 4)]),
    Op("addmm beta alpha", lambda torch, c, a, b: torch.addmm(c, a, b, beta=2.0, alpha=0.5), [(2, 4), (2, 3), (3, 4)]),
    Op("addmm column", lambda torch, c, a, b: torch.addmm(c, a, b), [(2, 1), (2, 3), (3, 4)]),
    Op("addmm one", lambda torch, c, a, b: torch.addmm(c, a, b), [(1,), (2, 3), (3, 4)]),
    Op("addmm 0d", lambda torch, c, a, b: torch.addmm(c, a, b), [(), (2, 3), (3, 4)]),
    Op("addmm beta 0", lambda torch, c, a, b: torch.addmm(c, a, b, beta=0), [(4,), (2, 3), (3, 4)]),
    Op("addmv", lambda torch, c, a, b: torch.addmv(c, a, b, beta=2.0, alpha=3.0), [(2,), (2, 3), (3,)]),
    Op("addmv 0d", lambda torch, c, a, b: torch.addmv(c, a, b), [(), (2, 3), (3,)]),
    Op("addr", lambda torch, c, a, b: torch.addr(c, a, b, beta=2.0, alpha=3.0), [(2, 3), (2,), (3,)]),
    Op("addbmm", lambda torch, c, a, b: torch.addbmm(c, a, b, beta=2.0, alpha=3.0), [(2, 4), (5, 2, 3), (5, 3, 4)]),
    Op("baddbmm", lambda torch, c, a, b: torch.baddbmm(c, a, b, beta=2.0, alpha=3.0), [(5, 2, 4), (5, 2, 3), (5, 3, 4)]),
    Op("baddbmm row", lambda torch, c, a, b: torch.baddbmm(c, a, b), [(4,), (5, 2, 3), (5, 3, 4)]),
    Op("addmm_", lambda torch, c, a, b: (c * 1).addmm_(a, b, beta=2.0), [(2, 4), (2, 3), (3, 4)]),
    Op("addmv_", lambda torch, c, a, b: (c * 1).addmv_(a, b), [(2,), (2, 3), (3,)]),
    Op("addr_", lambda torch, c, a, b: (c * 1).addr_(a, b), [(2, 3), (2,), (3,)]),
    Op("baddbmm_", lambda torch, c, a, b: (c * 1).baddbmm_(a, b, alpha=2.0), [(5, 2, 4), (5, 2, 3), (5, 3, 4)]),
    Op("addbmm_", lambda torch, c, a, b: (c * 1).addbmm_(a, b), [(2, 4), (5, 2, 3), (5, 3, 4)]),
    Op("linear", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(2, 3), (4, 3), (4,)]),

    Op("linear no bias", lambda torch, x, w: torch.nn.functional.linear(x, w), [(2, 3), (4, 3)]),
    Op("linear 1", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(3,), (4, 3), (4,)]),
    Op("linear 1 no bias", lambda torch, x, w: torch.nn.functional.linear(x, w), [(3,), (4, 3)]),
    Op("linear 3", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(5, 2, 3), (4, 3), (4,)]),
    Op("linear 3 no bias", lambda torch, x, w: torch.nn.functional.linear(x, w), [(5, 2, 3), (4, 3)]),
    Op("linear 3 turned", lambda torch, x, w, b: torch.nn.functional.linear(x.transpose(0, 1), w, b), [(5, 2, 3), (4, 3), (4,)]),
    Op("linear vector weight", lambda torch, x, w: torch.nn.functional.linear(x, w), [(2, 3), (3,)]),
    Op("linear empty", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(0, 3), (4, 3), (4,)]),
    Op("linear one out", lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(2, 3), (1, 3), (1,)]),
    Op("inner", lambda torch, a, b: torch.inner(a, b), [(2, 3), (4, 3)]), Op("inner 1 1", lambda torch, a, b: torch.inner(a, b), [(3,), (3,)]),
    Op("inner 2 1", lambda torch, a, b: torch.inner(a, b), [(2, 3), (3,)]), Op("inner 0 1", lambda torch, a, b: torch.inner(a, b), [(), (3,)]),
    Op("tensordot", lambda torch, a, b: torch.tensordot(a, b, 2), [(2, 3, 4), (3, 4, 5)]),
    Op("tensordot dims", lambda torch, a, b: torch.tensordot(a, b, dims=([1, 2], [1, 0])), [(2, 3, 4), (4, 3, 5)]),
    Op("tensordot 0", lambda torch, a, b: torch.tensordot(a, b, 0), [(2, 3), (4,)]),
    Op("kron", lambda torch, a, b: torch.kron(a, b), [(2, 3), (4, 5)]), Op("kron 1 2", lambda torch, a, b: torch.kron(a, b), [(2,), (3, 2)]),
    Op("multi_dot", lambda torch, *m: torch.linalg.multi_dot(m), [(2, 3), (3, 4), (4, 5), (5, 2)]),
    Op("multi_dot ends", lambda torch, *m: torch.linalg.multi_dot(m), [(3,), (3, 4), (4,)]),
    Op("vecdot", lambda torch, a, b: torch.linalg.vecdot(a, b), [(2, 3), (2, 3)]),
]  # fmt: skip


# A factor that is a constant takes no gradient, so central differences have nothing to say.
CONSTANTS = [
    Op("matmul const left", half(lambda torch, a, b: a @ b, 0), [(2, 3), (3, 4)]),
    Op("matmul const right", half(lambda torch, a, b: a @ b, 1), [(2, 3), (3, 4)]),
    Op("matmul const batch left", half(lambda torch, a, b: a @ b, 0), [(5, 2, 3), (3, 4)]),
    Op("matmul const batch right", half(lambda torch, a, b: a @ b, 1), [(5, 2, 3), (3, 4)]),
    Op("matmul const batch", half(lambda torch, a, b: a @ b, 0), [(2, 3), (5, 3, 4)]),
    Op("mv const", half(lambda torch, a, b: torch.mv(a, b), 0), [(2, 3), (3,)]),
    Op("dot const", half(lambda torch, a, b: a.dot(b), 1), [(3,), (3,)]),
    Op("bmm const", half(lambda torch, a, b: a.bmm(b), 1), [(5, 2, 3), (5, 3, 4)]),
    Op("addmm const", lambda torch, c, a, b: torch.addmm(c, a.detach(), b), [(4,), (2, 3), (3, 4)]),
    Op("linear const", lambda torch, x, w, b: torch.nn.functional.linear(x.detach(), w, b), [(2, 3), (4, 3), (4,)]),
    Op("linear frozen", lambda torch, x, w, b: torch.nn.functional.linear(x, w.detach(), b), [(2, 3), (4, 3), (4,)]),
]  # fmt: skip


def einsum(equation, *shapes):
    return Op(f"einsum {equation}", lambda torch, *ts: torch.einsum(equation, *ts), list(shapes))


EINSUMS = [
    einsum("ij,jk->ik", (2, 3), (3, 4)), einsum("ij,jk", (2, 3), (3, 4)), einsum("ij,ij", (2, 3), (2, 3)), einsum("i,ij,j->", (2,), (2, 3), (3,)),
    einsum("i,j->ij", (2,), (3,)), einsum("ii", (3, 3)), einsum("ii->i", (3, 3)), einsum("ij->ji", (2, 3)), einsum("ij->j", (2, 3)),
    einsum("ij->", (2, 3)), einsum("bij,bjk->bik", (5, 2, 3), (5, 3, 4)), einsum("...ij,jk->...ik", (5, 2, 3), (3, 4)),
    einsum("ij,ij->ij", (2, 3), (2, 3)), einsum("bi,kij,bj->bk", (4, 2), (5, 2, 3), (4, 3)), einsum("...ij->...ji", (5, 2, 3)),
    einsum("ij,kj->ik", (2, 3), (4, 3)), einsum("i,i", (3,), (3,)), einsum("ij,j->i", (2, 3), (3,)), einsum("abc,cd->abd", (2, 3, 4), (4, 5)),
    einsum("iij->j", (3, 3, 2)), einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), einsum("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    einsum("i j , j k -> i k", (2, 3), (3, 4)), einsum("ij,j->ij", (2, 3), (3,)), einsum("a...b,b->a...", (2, 4, 3), (3,)),
    einsum("ij,ij->j", (1, 3), (2, 3)), einsum("ij,k->", (2, 3), (4,)),
]  # fmt: skip


def square(name, fn, shape=(3, 3), make=near_identity, **more):
    return Op(
        name,
        lambda torch, x, *rest: fn(torch, make(torch, x), *rest),
        shape if isinstance(shape, list) else [shape],
        **more,
    )


def quiet(fn):
    """`fn` without the warning that it is deprecated."""

    def call(*args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*args)

    return call


FACTORS = [
    square("det", lambda torch, a: torch.det(a)), square("linalg.det", lambda torch, a: torch.linalg.det(a), (2, 3, 3)), square("det 1", lambda torch, a: a.det(), (1, 1), second=False),
    square("slogdet", lambda torch, a: torch.slogdet(a)[1]), square("linalg.slogdet", lambda torch, a: torch.linalg.slogdet(a).logabsdet, (2, 3, 3)),
    square("logdet", lambda torch, a: torch.logdet(a)), square("inverse", lambda torch, a: torch.inverse(a)),
    square("inv", lambda torch, a: torch.linalg.inv(a), (2, 3, 3)), square("solve v", lambda torch, a, b: torch.linalg.solve(a, b), [(3, 3), (3,)]),
    square("solve m", lambda torch, a, b: torch.linalg.solve(a, b), [(3, 3), (3, 2)]),
    square("solve batch", lambda torch, a, b: torch.linalg.solve(a, b), [(2, 3, 3), (2, 3, 2)]),
    square("solve batch v", lambda torch, a, b: torch.linalg.solve(a, b), [(2, 3, 3), (2, 3)]),
    square("solve right", lambda torch, a, b: torch.linalg.solve(a, b, left=False), [(3, 3), (2, 3)]),
    square("solve_triangular", lambda torch, a, b: torch.linalg.solve_triangular(a, b, upper=True), [(3, 3), (3, 2)]),
    square("solve_triangular low", lambda torch, a, b: torch.linalg.solve_triangular(a, b, upper=False), [(3, 3), (3, 2)]),
    square("solve_triangular unit", lambda torch, a, b: torch.linalg.solve_triangular(a, b, upper=False, unitriangular=True), [(3, 3), (3, 2)]),
    square("solve_triangular right", lambda torch, a, b: torch.linalg.solve_triangular(a, b, upper=True, left=False), [(3, 3), (2, 3)]),
    square("cholesky", lambda torch, a: torch.linalg.cholesky(a), make=definite), square("cholesky upper", lambda torch, a: torch.linalg.cholesky(a, upper=True), (2, 3, 3), definite),
    square("triangular_solve", lambda torch, a, b: quiet(torch.triangular_solve)(b, a), [(3, 3), (3, 2)]),
    square("triangular_solve transposed", lambda torch, a, b: quiet(torch.triangular_solve)(b, a, False, True).solution, [(3, 3), (3, 2)]),
    square("triangular_solve of batches", lambda torch, a, b: quiet(torch.triangular_solve)(b, a, True, True, True).solution, [(3, 3), (2, 3, 2)]),
    square("cholesky_solve", lambda torch, a, b: torch.cholesky_solve(b, a.tril()), [(3, 3), (3, 2)]),
    square("cholesky_solve upper", lambda torch, a, b: torch.cholesky_solve(b, a.triu(), upper=True), [(3, 3), (3, 2)]),
    square("cholesky_inverse", lambda torch, a: torch.cholesky_inverse(a.tril())),
    square("cholesky_inverse upper", lambda torch, a: torch.cholesky_inverse(a.triu(), upper=True)),
    square("qr", lambda torch, a: torch.linalg.qr(a)), Op("qr tall", lambda torch, a: torch.linalg.qr(a), [(4, 2)]), Op("qr wide", lambda torch, a: torch.linalg.qr(a), [(2, 4)]),
    Op("qr R", lambda torch, a: torch.linalg.qr(a).R, [(4, 2)]), Op("qr batch", lambda torch, a: torch.linalg.qr(a), [(2, 3, 2)]),
    square("eigh", lambda torch, a: torch.linalg.eigh(a)[0], make=symmetric), square("eigvalsh", lambda torch, a: torch.linalg.eigvalsh(a), (2, 3, 3), symmetric),
    square("eigh vectors", lambda torch, a: torch.linalg.eigh(a)[1] ** 2, make=symmetric, tolerance=1e-7),
    Op("svd values", lambda torch, a: torch.linalg.svd(a, full_matrices=False).S, [(2, 3)]), Op("svdvals", lambda torch, a: torch.linalg.svdvals(a), [(2, 4, 3)]),
    Op("svd product", lambda torch, a: (lambda u, s, v: (u * s.exp().unsqueeze(-2)) @ v)(*torch.linalg.svd(a, full_matrices=False)), [(4, 2)], tolerance=1e-7),
    Op("svd product wide", lambda torch, a: (lambda u, s, v: (u * s.exp().unsqueeze(-2)) @ v)(*torch.linalg.svd(a, full_matrices=False)), [(2, 4)], tolerance=1e-7),
    square("svd product square", lambda torch, a: (lambda u, s, v: (u * s.exp().unsqueeze(-2)) @ v)(*torch.linalg.svd(a)), tolerance=1e-7),
    Op("pinv tall", lambda torch, a: torch.linalg.pinv(a), [(4, 2)]), Op("pinv wide", lambda torch, a: torch.linalg.pinv(a), [(2, 4)]),
    Op("lstsq", lambda torch, a, b: torch.linalg.lstsq(a, b).solution, [(4, 2), (4, 3)]),
    *[square(f"matrix_power {n}", lambda torch, a, n=n: torch.matrix_power(a, n), low=-0.3, high=0.3) for n in (0, 1, 2, 3, 4, 5, 7, -1, -3)],
    square("matrix_exp", lambda torch, a: torch.matrix_exp(a)), Op("matrix_exp batch", lambda torch, a: torch.linalg.matrix_exp(a), [(2, 2, 2)]),
    Op("trace", lambda torch, a: torch.trace(a), [(3, 3)]), Op("trace wide", lambda torch, a: a.trace(), [(2, 3)]),
    Op("cross", lambda torch, a, b: torch.linalg.cross(a, b), [(2, 3), (2, 3)]), Op("cross dim", lambda torch, a, b: torch.cross(a, b, dim=0), [(3, 2), (3, 2)]),
    Op("cross broadcast", lambda torch, a, b: torch.linalg.cross(a, b), [(2, 3), (1, 3)]),
    *[Op(f"matrix_norm {o}", lambda torch, a, o=o: torch.linalg.matrix_norm(a, o), [(2, 3)]) for o in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)],
    *[Op(f"matrix_norm keep {o}", lambda torch, a, o=o: torch.linalg.matrix_norm(a, o, keepdim=True), [(2, 3, 2)]) for o in ("fro", "nuc", 1, 2, INF)],
    *[Op(f"vector_norm {o}", lambda torch, a, o=o: torch.linalg.vector_norm(a, o), [(2, 3)], 0.1) for o in (1, 2, 3, 0.5, INF, -INF)],
    Op("vector_norm dim", lambda torch, a: torch.linalg.vector_norm(a, 1, dim=1), [(2, 3)]), Op("norm", lambda torch, a: torch.linalg.norm(a), [(2, 3)]),
    Op("norm 2", lambda torch, a: torch.linalg.norm(a, 2), [(2, 3)]), Op("norm v", lambda torch, a: torch.linalg.norm(a, 3), [(4,)], 0.1),
    Op("norm fro dims", lambda torch, a: torch.linalg.norm(a, "fro", dim=(0, 2)), [(2, 3, 2)]), Op("norm dim", lambda torch, a: torch.linalg.norm(a, dim=1), [(2, 3)]),
    square("cond", lambda torch, a: torch.linalg.cond(a)),
    *[Op(f"lu {shape}", lambda torch, a: torch.linalg.lu(a)[1:], [shape], -2) for shape in ((3, 3), (2, 4), (4, 2), (2, 3, 3))],
    *[Op(f"lu_factor {shape}", lambda torch, a: torch.linalg.lu_factor(a).LU, [shape], -2) for shape in ((3, 3), (2, 4), (4, 2))],
    *[Op(f"lu_unpack {shape}", lambda torch, a: torch.lu_unpack(*torch.linalg.lu_factor(a * 1))[1:], [shape], -2) for shape in ((3, 3), (2, 4), (4, 2))],
    Op("lu L", lambda torch, a: torch.linalg.lu(a).L, [(3, 3)]), Op("lu U", lambda torch, a: torch.linalg.lu(a).U, [(3, 3)]),
    *[square(f"lu_solve {left} {adjoint}", lambda torch, a, b, k={"left": left, "adjoint": adjoint}: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, **k), [(3, 3), (3, 3)])
      for left in (True, False) for adjoint in (True, False)],
    square("lu_solve batch", lambda torch, a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b), [(2, 3, 3), (3, 2)]),
    square("cholesky_ex", lambda torch, a: torch.linalg.cholesky_ex(a).L, make=definite), square("inv_ex", lambda torch, a: torch.linalg.inv_ex(a).inverse),
    square("solve_ex", lambda torch, a, b: torch.linalg.solve_ex(a, b).result, [(3, 3), (3, 2)]),
    Op("householder_product", lambda torch, a, t: torch.linalg.householder_product(a, t), [(4, 3), (3,)]),
    Op("householder_product batch", lambda torch, a, t: torch.orgqr(a, t), [(2, 3, 3), (2, 2)]),
    Op("linalg.vander", lambda torch, a: torch.linalg.vander(a, N=4), [(2, 3)]),
    Op("tensorsolve", lambda torch, a, b: torch.linalg.tensorsolve(a, b, dims=(1,)), [(2, 6, 3), (2, 3)]),
    *[Op(f"pdist {p}", lambda torch, a, p=p: torch.pdist(a, p), [(4, 3)], second=False) for p in (0.5, 1.0, 2.0, 3.0, INF)],
    Op("cdist", lambda torch, a, b: torch.cdist(a, b), [(2, 3), (4, 3)], second=False),
    Op("cdist batch", lambda torch, a, b: torch.cdist(a, b), [(2, 2, 3), (2, 4, 3)], second=False),
    Op("cdist mm", lambda torch, a, b: torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist"), [(2, 2, 3), (4, 3)]),
    *[Op(f"cdist {p}", lambda torch, a, b, p=p: torch.cdist(a, b, p=p), [(2, 3), (4, 3)], second=False) for p in (1.0, 3.0, 1.5, INF)],
    Op("diagonal", lambda torch, a: torch.linalg.diagonal(a), [(2, 3, 3)]),
]  # fmt: skip

ALL = PRODUCTS + EINSUMS + FACTORS


def test_derivatives_agree_with_central_differences():
    each(ALL, check_differences)


def test_live_pytorch_does_the_same():
    torch = pytest.importorskip("torch")
    each(PRODUCTS + EINSUMS + CONSTANTS, check_like_pytorch, torch)
    each(FACTORS, check_like_pytorch, torch, {"saved"})


def test_determinant_of_a_singular_matrix_has_its_cofactors_as_gradient():
    torch = autograd_lab
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(torch.det(a), a, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), [[4, -2], [-2, 1]], atol=1e-12)
    (second,) = torch.autograd.grad(g[0, 0], a)
    np.testing.assert_allclose(second.numpy(), [[0, 0], [0, 1]], atol=1e-12)


MESSAGES = {
    "o(2, 3) @ o(4, 5)": "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
    "o(2, 3) @ o(2)": "size mismatch, got input (2), mat (2x3), vec (2)",
    "torch.mm(o(2), o(2, 3))": "self must be a matrix",
    "torch.mm(o(2, 3), o(2))": "mat2 must be a matrix",
    "o(2) @ o(3)": "inconsistent tensor size, expected tensor [2] and src [3] to have the same number of elements, but got 2 and 3 elements",
    "o(2, 2, 3) @ o(2, 4, 4)": "Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 4].",
    "o(2, 2, 3) @ o(3, 3, 4)": "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0",
    "torch.tensor(1.0) @ o(2)": "both arguments to matmul need to be at least 1D, but they are 0D and 1D",
    "o(2, 2) @ o(2, 2).double()": "expected m1 and m2 to have the same dtype, but got: float != double",
    "o(2) @ o(2).double()": "dot : expected both vectors to have same dtype, but found Float and Double",
    "torch.addmm(o(3), o(2, 3), o(3, 2))": "The expanded size of the tensor (2) must match the existing size (3) at non-singleton dimension 1.",
    "torch.nn.functional.linear(o(2, 3).double(), o(4, 3), o(4))": "mat1 and mat2 must have the same dtype, but got Double and Float",
    "torch.einsum('ij,jk', o(2, 3), o(4, 5))": "einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously seen size 3",
    "torch.einsum('ij->k', o(2, 3))": "einsum(): output subscript k does not appear in the equation for any input operand",
    "torch.linalg.inv(o(2, 2))": "linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular.",
    "torch.linalg.solve(o(2, 2), o(2))": "torch.linalg.solve: The solver failed because the input matrix is singular.",
    "torch.linalg.det(o(2, 3))": "linalg.det: A must be batches of square matrices, but they are 2 by 3 matrices",
    "torch.linalg.cholesky(-torch.eye(2))": "linalg.cholesky: The factorization could not be completed because the input is not positive-definite",
    "torch.linalg.matrix_norm(o(2, 2), 3)": "linalg.matrix_norm: Order 3 not supported.",
}  # fmt: skip


@pytest.mark.parametrize("code", MESSAGES)
def test_misuse_says_what_pytorch_says(code):
    torch = autograd_lab
    with pytest.raises(RuntimeError) as raised:
        eval(code, {"torch": torch, "o": torch.ones})
    assert str(raised.value).startswith(MESSAGES[code])


def test_a_product_with_something_else_is_a_type_error():
    torch = autograd_lab
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2) @ 2
    with pytest.raises(
        TypeError, match=r"matmul\(\): argument 'other' \(position 2\) must be Tensor, not int"
    ):
        torch.matmul(torch.ones(2), 2)


def test_a_vector_times_a_matrix_is_no_view_and_was_written_once():
    torch = autograd_lab
    y = torch.ones(3, requires_grad=True) @ torch.ones(3, 2)
    assert (y._is_view(), y._version, y.grad_fn.name()) == (False, 1, "SqueezeBackward4")


def steps(t):
    """The nodes that made a tensor, down to the leaves."""

    def text(fn):
        if fn is None or fn.name().endswith("AccumulateGrad"):
            return "-"
        return f"{fn.name().removesuffix('0')}({', '.join(text(f) for f, _ in fn.next_functions)})"

    return text(t.grad_fn)


def gradient_steps(fn, *shapes):
    """The steps of the gradients of fn(...), one text for each operand."""
    torch = autograd_lab
    torch.manual_seed(0)
    xs = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in shapes]
    return [steps(g) for g in torch.autograd.grad(fn(torch, *xs).sum(), xs, create_graph=True)]


def test_gradients_are_recorded_in_pytorchs_steps():
    solved = "LinalgSolveExBackward(TransposeBackward(-), TransposeBackward(DiagEmbedBackward(ExpandBackward(UnsqueezeBackward({})))))"
    assert gradient_steps(lambda torch, a: torch.det(a), (3, 3)) == [
        solved.format("MulBackward(-, LinalgDetBackward(-))")
    ]
    assert gradient_steps(lambda torch, a: torch.linalg.svdvals(a), (3, 2)) == [
        "MmBackward(LinalgSvdBackward(-), MulBackward(-, LinalgSvdBackward(-)))"
    ]
    assert gradient_steps(lambda torch, a, b: torch.linalg.solve(a, b), (3, 3), (3,))[1] == (
        "SqueezeBackward1(LinalgSolveExBackward(TransposeBackward(-), -))"
    )
    assert gradient_steps(lambda torch, a: a.prod(), (3,)) == [
        "MulBackward(-, DivBackward(ProdBackward(-), -))"
    ]


def test_factors_lie_in_memory_column_after_column():
    torch = autograd_lab
    a = torch.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]).expand(2, 3, 3)
    for x in (torch.linalg.inv(a), torch.linalg.cholesky(a), *torch.linalg.qr(a), torch.linalg.eigh(a)[1]):
        assert x.stride() == (9, 1, 3)
    assert torch.linalg.solve(a, torch.ones(2, 3)).stride() == (1, 2)


def test_gradient_of_the_determinant_of_nan_is_nan():
    torch = autograd_lab
    a = torch.tensor([[math.nan, 1.0], [0.0, 2.0]], requires_grad=True)
    torch.det(a).backward()
    assert a.grad.isnan().all()


def test_nuclear_norm_of_two_dims():
    torch = autograd_lab
    x = torch.ones(2, 3, 4)
    assert torch.norm(x, "nuc", dim=(0, 2)).shape == (3,)
    assert torch.norm(x, "nuc", dim=(0, 2), keepdim=True).shape == (1, 3, 1)
    with pytest.raises(RuntimeError, match="dim must be a 2-tuple. Got 0 1 2"):
        torch.norm(x, "nuc")


def test_least_squares_by_its_drivers():
    torch = autograd_lab
    a = torch.tensor([[1.0, 0.0], [0.0, 0.5], [1.0, 1.0]], requires_grad=True)
    b = torch.ones(3, 1)
    for driver, sizes in {
        "gelsy": (0, 1, 0),
        "gels": (1, 0, 0),
        "gelsd": (1, 1, 2),
        "gelss": (1, 1, 2),
    }.items():
        _, *rest = torch.linalg.lstsq(a, b, driver=driver)
        assert tuple(t.numel() for t in rest) == sizes
        assert rest[0].requires_grad
    with pytest.raises(RuntimeError, match="parameter `driver` should be one of"):
        torch.linalg.lstsq(a, b, driver="x")
    double = [t.detach().double().requires_grad_() for t in (a, b)]
    assert torch.autograd.gradcheck(lambda a, b: torch.linalg.lstsq(a, b, driver="gels")[:2], double)


def test_cdist_has_a_second_derivative_where_it_is_by_matrix_products():
    torch = autograd_lab
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)

    def gradient(mode):
        y = torch.cdist(x, torch.zeros(1, 2), compute_mode=mode)
        return torch.autograd.grad(y.sum(), x, create_graph=True)[0]

    gradient("use_mm_for_euclid_dist").sum().backward()
    with pytest.raises(NotImplementedError, match="the derivative for '_cdist_backward' is not implemented"):
        gradient("use_mm_for_euclid_dist_if_necessary").sum().backward()
    assert torch.cdist(torch.ones(30, 2), x).grad_fn.next_functions[0][0].name() == "EuclideanDistBackward0"


def test_tensordot_of_numbers_and_of_all_dims():
    torch = autograd_lab
    two = torch.tensor(2.0)
    assert torch.tensordot(two, torch.tensor([1.0, 3.0]), 0).tolist() == [2, 6]
    a = torch.ones(2, 3, requires_grad=True)
    assert (
        steps(torch.tensordot(a, a))
        == "ViewBackward(DotBackward(ViewBackward(PermuteBackward(-)), ViewBackward(PermuteBackward(-))))"
    )


def test_bilinear_is_one_node_and_refuses_what_does_not_fit():
    torch = autograd_lab
    x, y, w = (torch.ones(*s, requires_grad=True) for s in ((5, 3), (5, 4), (2, 3, 4)))
    out = torch.nn.functional.bilinear(x, y, w)
    assert steps(out) == "ViewBackward(TrilinearBackward(ViewBackward(-), -, ViewBackward(-)))"
    assert (out == 12).all()
    with pytest.raises(RuntimeError, match="input2 size does not match weight size: got 3 but expected 4"):
        torch.nn.functional.bilinear(x, x, w)
