"""Functions that teaching code meets now and then: factorizations, windows, special functions, and their corners.

Recorded and live; each line is one expression.
"""

import pytest
from recorded import differences, live, run, stored

import autograd_lab

START = """
import warnings
warnings.simplefilter("ignore")
torch.manual_seed(0)
T, nan, inf, L = torch.tensor, float("nan"), float("inf"), torch.linalg

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:140]}"

def saved(t):
    return t.grad_fn.name(), [n for n in dir(t.grad_fn) if n.startswith("_saved")], [f and f.name() for f, _ in t.grad_fn.next_functions]

def chain(t):
    nodes, node = [], t.grad_fn
    while node is not None:
        nodes.append(node.name())
        node = node.next_functions[-1][0] if node.next_functions else None
    return nodes

def double(*rows):
    return T(rows, dtype=torch.float64, requires_grad=True)

S, B = double([2.0, 1, 0], [4, 4, 1], [1, 3, 5]), double([1.0, 2], [3, 4], [5, 6])
Z = torch.zeros(2, 2)
LU, swaps = L.lu_factor(S)
x = T([1.0, 2, 3], requires_grad=True)
"""

LINES = """
L.lu_factor(S), saved(L.lu_factor(S).LU), L.lu_factor_ex(S).info
repr(L.lu(S)), saved(L.lu(S).U), [t.output_nr for t in L.lu(S)]
L.lu(S).L.grad_fn._saved_P
saved(L.lu_solve(LU, swaps, B)), saved(torch.lu_solve(B, LU, swaps))
repr(torch.lu_unpack(LU, swaps)), saved(torch.lu_unpack(LU, swaps).L)
repr(torch.lu_unpack(LU, swaps, unpack_data=False)), repr(torch.lu_unpack(LU, swaps, unpack_pivots=False))
torch.lu(S), repr(torch.lu(S, get_infos=True)), repr(S.lu())
L.lu_factor(S, pivot=False)
L.lu_factor(Z)
L.lu_factor(torch.zeros(2, 2, 2))
L.lu_factor_ex(Z), L.lu_factor_ex(torch.zeros(2, 2, 2)).info
L.lu_factor_ex(Z, check_errors=True)
L.lu_factor(torch.zeros(2))
L.lu(torch.zeros(2))
L.lu_factor(torch.zeros(2, 2, dtype=torch.long))
L.lu_factor(torch.eye(2).half())
L.lu_factor(torch.zeros(0, 3, 3)), L.lu(torch.zeros(2, 0)), L.lu_factor(torch.zeros(2, 0))
L.lu_solve(LU, swaps.long(), B)
L.lu_solve(LU, swaps, B[:2])
L.lu_solve(LU, swaps[:2], B)
L.lu_solve(LU, swaps, B.float())
L.lu_solve(LU[:2], swaps, B)
torch.lu_unpack(LU, swaps.long())
repr(L.cholesky_ex(S @ S.T)), saved(L.cholesky_ex(S @ S.T).L)
L.cholesky_ex(T([[4.0, 2, 2], [2, 1, 3], [2, 3, 9]])), L.cholesky_ex(T([[4.0, 2, 2], [2, 1, 3], [2, 3, 9]]), upper=True)
L.cholesky_ex(torch.stack([torch.eye(2), -torch.eye(2)])).info, L.cholesky_ex(torch.eye(2).repeat(2, 1, 1)).info
L.cholesky_ex(-torch.eye(3), check_errors=True)
L.cholesky(torch.stack([torch.eye(2), -torch.eye(2)]))
L.cholesky_ex(torch.ones(2, 3))
repr(L.inv_ex(S)), saved(L.inv_ex(S).inverse)
L.inv_ex(Z), L.inv_ex(T([[1.0, 2], [2, 4]])), L.inv_ex(torch.zeros(2, 2, 2)).info
L.inv_ex(Z, check_errors=True)
L.inv(torch.stack([torch.eye(2), Z]))
L.inv_ex(torch.ones(2, 3))
repr(L.solve_ex(S, B)), saved(L.solve_ex(S, B).result)
L.solve_ex(Z, torch.ones(2)), L.solve_ex(torch.stack([torch.eye(2), Z]), torch.ones(2, 2, 1))
L.solve_ex(Z, torch.ones(2), check_errors=True)
L.solve(torch.stack([torch.eye(2), Z]), torch.ones(2, 2, 1))
L.vander(x), chain(L.vander(x)), L.vander(T([1, 2, 3]), N=5), L.vander(T(2.0), N=3), L.vander(T([[1.0, 2], [3, 4]]), N=2)
L.vander(T(1.0))
L.vander(T([1, 2, 3]), N=1)
L.vander(torch.ones(2).half())
torch.vander(x), chain(torch.vander(x)), torch.vander(T([1, 2, 3])), torch.vander(x, 2), torch.vander(x, increasing=True), torch.vander(x, N=0), torch.vander(x, 1)
torch.vander(x).sum().backward()
torch.vander(T([[1, 2, 3]]))
torch.vander(x, N=-1)
torch.geqrf(B.detach()), repr(torch.geqrf(B)), torch.geqrf(torch.arange(12.0).view(2, 3, 2))
torch.geqrf(B)[0].sum().backward()
torch.geqrf(torch.ones(3))
torch.geqrf(torch.ones(3, 3).long())
saved(L.householder_product(B, B[0])), torch.orgqr(B, B[0]), L.householder_product(B, B[0, :1]), L.householder_product(B, B[0, :0])
L.householder_product(B.T, B[0])
L.householder_product(B, B[:, 0])
L.householder_product(B, B[0].float())
L.householder_product(B[0], B[0])
L.householder_product(B, B[:1])
L.tensorsolve(torch.eye(6).view(2, 3, 6), torch.ones(2, 3)), chain(L.tensorsolve(torch.eye(6).view(2, 3, 6).requires_grad_(), torch.ones(2, 3)))
L.tensorsolve(torch.eye(6).view(2, 3, 6), torch.ones(3, 3))
L.tensorsolve(torch.ones(2, 3, 5), torch.ones(2, 3))
L.tensorsolve(torch.eye(6).view(2, 3, 6).movedim(1, 2), torch.ones(2, 3), dims=(1,))
L.tensorinv(torch.eye(6).view(2, 3, 6), ind=2), L.tensorinv(torch.eye(6).view(6, 3, 2), ind=1).shape
L.tensorinv(torch.eye(6).view(2, 3, 6), ind=0)
L.tensorinv(torch.eye(6).view(2, 3, 6), ind=1)
"""

PROGRAMS = {line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES.strip().splitlines()}

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name):
    assert not differences(run(PROGRAMS[name], autograd_lab), STORED["results"][name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_record_is_what_live_pytorch_leaves(name):
    assert not differences(live(STORED, PROGRAMS[name]), STORED["results"][name])
