"""Functions that code meets now and then, factorizations among them, and corners found by PyTorch's own tests.

Recorded and live; each line is one expression.

To record: `python -m tests.record more_functions`.
"""

import pytest
from recorded import check_live, differences, run, stored

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
six = torch.arange(6.0).view(2, 3).requires_grad_()
PICKS = [lambda y: y[:, :1], lambda y: y[1], lambda y: y[:, ::2], lambda y: y[:, 1:], lambda y: y.diagonal(), lambda y: y[:0], lambda y: y.t(), lambda y: y]

import torch.autograd.forward_ad as fw

def overwritten(f):
    y = f()
    z = y.sin()
    torch.autograd.graph.increment_version(y)
    try:
        z.sum().backward()
    except RuntimeError as error:
        return str(error)[:200]

def packed(f):
    seen = []
    def pack(t):
        seen.append((str(t.dtype), t.requires_grad, t.grad_fn and t.grad_fn.name()))
        return t
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = f()
    return seen, torch.autograd.grad((y[0] if isinstance(y, tuple) else y).sum(), x)

def moving(f):
    with fw.dual_level():
        return fw.unpack_dual(f(fw.make_dual(T([5.0, 6, 7]), T([1.0, 2, 4])), torch.zeros(3), T([0, 0, 0])))[:]

def slope(f):
    x = T([0.3, 0.5], dtype=torch.float64, requires_grad=True)
    with fw.dual_level():
        tangent = fw.unpack_dual(f(fw.make_dual(x, T([1.0, 2], dtype=torch.float64)))).tangent
    return tangent.detach(), torch.autograd.grad(tangent.sum(), x)
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
torch.autograd.grad(x[::2].as_strided((2,), (1,)).sum(), x)
[torch.autograd.grad((pick(six).as_strided(*a) ** 2).sum(), six) for pick in PICKS for a in (((2,), (1,), 3), ((2, 2), (2, 1), 0), ((3,), (1,)), ((2, 2), (1, 1), 1), ((6,), (1,), 0))]
torch.autograd.grad(torch.autograd.grad((six[:, :1].as_strided((2,), (1,), 3) ** 3).sum(), six, create_graph=True)[0].sum(), six)
torch.zeros(6)[::2].resize_(3).fill_(7.0)._base, torch.zeros(5, 3).t().resize_(3, 5).stride(), torch.zeros(5, 3)[:, 1].resize_(5).stride()
torch.randn(2, 2).t().resize_as_(torch.ones(2, 2)).stride()
(torch.FloatTensor | None) == (None | torch.FloatTensor), torch.utils.checkpoint.get_device_states(x), torch.utils.checkpoint.set_device_states([], []), torch._C._log_api_usage_once("a"), torch._C._get_tracing_state(), isinstance(torch.nn.Tanh(), torch.jit.ScriptModule), isinstance(torch.nn.Tanh(), torch._dynamo.eval_frame.OptimizedModule), isinstance(torch.compile(torch.nn.Tanh()), torch._dynamo.OptimizedModule)
[(U.shape, S, V.shape, (U * S.unsqueeze(-2)) @ V.mT) for A in (S.detach(), B.detach().expand(2, 3, 2), B.detach().mT) for U, S, V in (torch.svd_lowrank(A, q=2), torch.svd_lowrank(A, 1, niter=3, M=A * 0.1), torch.pca_lowrank(A), torch.pca_lowrank(A, 1, center=False))]
torch.autograd.grad(torch.svd_lowrank(S, 3)[1].sum(), S), told(lambda: torch.pca_lowrank(Z, q=9)), told(lambda: torch.pca_lowrank(Z, niter=-1)), told(lambda: torch.svd_lowrank(x))
[str(torch._C._nn._parse_to(*a, **k)) for a, k in (((), dict(device="cpu")), (("cpu", torch.float64), {}), ((torch.float64,), {}), ((S,), {}), ((), {}), ((torch.float64, True), {}), (("cpu",), dict(non_blocking=True, memory_format=torch.channels_last)), ((torch.device("cpu"),), {}), ((None,), {}))], told(lambda: torch._C._nn._parse_to("cpu", torch.float64, True, True)), told(lambda: torch._C._nn._parse_to([1]))
six.split(split_size=2, dim=1), six.split(split_size=[1, 2], dim=1), torch.split(tensor=six, split_size_or_sections=2), six.split(T(1)), told(lambda: six.split(split_size_or_sections=2)), told(lambda: six.split()), told(lambda: six.split(2.5))
six.tensor_split(sections=2, dim=1), torch.tensor_split(six, indices=(1,), dim=1), six.tensor_split(tensor_indices_or_sections=T(2)), told(lambda: six.tensor_split(True))
[torch.randint_like(six.detach(), **kw).unique() for kw in (dict(high=1), dict(low=2, high=3))], torch.randint_like(six.detach(), 5, high=6, generator=torch.Generator())
[(torch.zeros(12).resize_(s, memory_format=f).stride()) for s, f in (((2, 6), torch.contiguous_format), ((1, 2, 3, 2), torch.channels_last), ((1, 2, 3, 1, 2), torch.channels_last_3d), ((12,), torch.contiguous_format))]
told(lambda: Z.clone().resize_(2, 2, memory_format=torch.channels_last)), told(lambda: Z.clone().resize_(2, 3, memory_format=torch.preserve_format)), told(lambda: Z.clone().resize_(2**62, 4)), Z.t().resize_(2, 2, memory_format=torch.contiguous_format).stride()
[torch.arange(12.).resize_as_(torch.zeros(1, 2, 3, 2).to(memory_format=a), memory_format=b) for a in (torch.contiguous_format, torch.channels_last) for b in (None, torch.contiguous_format, torch.channels_last, torch.preserve_format)]
[torch.triangular_solve(b, A, *given) for given in ((), (False,), (True, True), (False, True), (False, True, True)) for b, A in ((B, S), (B.detach().expand(4, 1, 3, 2), S.expand(5, 3, 3)))]
[torch.autograd.grad([r[i] for i in which], (B, S), [torch.arange(6.0).view(3, 2).double(), torch.arange(9.0).view(3, 3).double()][which[0] : which[-1] + 1], retain_graph=True) for given in ((), (False,), (True, True), (False, True), (True, False, True)) for r in [B.triangular_solve(S, *given)] for which in ((0,), (1,), (0, 1))]
saved(torch.triangular_solve(B, S)[0]), saved(torch.triangular_solve(B, S.detach())[1]), type(torch.triangular_solve(B, S)).__name__, torch.triangular_solve(B, S).cloned_coefficient.grad_fn.next_functions[1][0] is torch.triangular_solve(B, S)[0].grad_fn.next_functions[1][0]
[told(lambda: torch.triangular_solve(b, A)) for b, A in ((torch.ones(3), S), (B, S[0]), (B, torch.ones(2, 2).double()), (B, torch.ones(3, 2).double()), (B, S.float()), (B.long(), S.long()))]
torch.block_diag(torch.ones(2, dtype=torch.int8), T(1.5)), torch.block_diag(torch.ones(2, dtype=torch.uint8), torch.ones(1, 1, dtype=torch.int16)).dtype
torch.autograd.grad(torch.block_diag(x, torch.ones(1, 1, dtype=torch.float64)).sum(), x)[0].dtype
torch.empty(4, dtype=torch.uint8).random_(3, None), torch.empty(2, dtype=torch.int64).random_(-2**63, None), torch.empty(4).random_(3, None), torch.empty(3).random_(9), torch.empty(3).random_(2, 9), torch.empty(3).random_()
T([2, 1, -1, 0, 3]) ** T([-1, -2, -3, -1, 2]), T([2, 1, -1, 0, 3], dtype=torch.int8) ** T([-1, -2, -3, -4, 5], dtype=torch.int8), 2 ** T([1, -1]), (-1) ** T([-2, -1]), T([0, 1]) ** T(-1), T([2, 3]).pow_(T([-1, 2]))
torch.linspace(1, 127, 50, dtype=torch.int64), torch.linspace(-7, 33, 37, dtype=torch.int32)
torch.autograd.grad(torch.sinc(double([1e-300, 0.0, 1e-8]).view(-1)).sum(), double([1.0]), allow_unused=True), torch.autograd.functional.jacobian(torch.sinc, T([1e-300, 0.0, 0.5], dtype=torch.float64)).diagonal()
[torch.autograd.grad(f(z, T([0.0, 0.0, 0.0])), z) for f in (F.smooth_l1_loss, F.huber_loss) for z in [T([nan, 0.5, 1.0], requires_grad=True)]]
torch.special.xlog1py(T([1], dtype=torch.uint8), -1), torch.special.xlog1py(-1, T([1], dtype=torch.uint8))
torch.digamma(T([-1e-8, -0.9999, -1e-300, -2.5, -1.0, 0.0, -0.0, 0.3], dtype=torch.float64))
torch.polygamma(1, T([1.0, -0.5, 3.0, 0.2], dtype=torch.float64)), torch.polygamma(2, T([1.0, -0.5, 3.0, -1.0, -20.0, -20.5], dtype=torch.float64)), torch.polygamma(3, T([-2.0, -30.5], dtype=torch.float64))
torch.polygamma(-1, x)
[told(lambda: f()) for f in (lambda: x - True, lambda: True - x, lambda: torch.ones(2).sub_(True), lambda: torch.rsub(x, True), lambda: T([True]) - True, lambda: T([True]) - 1, lambda: x - T(True), lambda: torch.sub(x, False))]
[told(lambda: f(torch.ones(2).int(), torch.ones(3).int())) for f in (torch.isclose, torch.allclose, torch.logical_and, torch.bitwise_and, torch.gcd, torch.eq, torch.bitwise_left_shift)]
[getattr(torch.ones(2), n)(object()) is NotImplemented for n in "__floordiv__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__ __matmul__ __add__ __radd__ __rfloordiv__ __rpow__ __mod__ __lt__".split()]
torch.ones(2) // object()
[t.shape for t in torch.ones(3, 0).unsafe_chunk(3, 1)], torch.empty(0).unsafe_chunk(2), nn.GRUCell(10, 0)(torch.ones(3, 10)).shape
list(reversed(nn.ParameterDict({"p": nn.Parameter(torch.ones(1)), "x": nn.Parameter(torch.ones(2))})))
F.leaky_relu_(T([-1.0, 1.0]), -2.0)
F.leaky_relu_(x * 1, -2.0).sum().backward()
torch.cat([torch.empty(0), torch.empty(0)], dim=1), torch.arange(0, 3)
torch.arange(0, 1e300)
torch.asarray(torch.ones(2), dtype=torch.float64, copy=False)
torch.asarray(bytearray(b"abcdefgh")), torch.asarray(bytearray(b"abcdefgh"), dtype=torch.int16), torch.frombuffer(bytearray(b"abcdefgh"), dtype=torch.int16, count=2, offset=2)
[told(lambda: torch.frombuffer(b, dtype=torch.int32, **k)) for b, k in ((bytearray(8), dict(count=9)), (bytearray(8), dict(offset=2)), (bytearray(), {}), (bytearray(8), dict(offset=8)), (bytearray(8), dict(offset=-1)), ([1], {}), (bytearray(8), dict(count=0)), (bytearray(8), dict(requires_grad=True)))]
[told(lambda: torch.autograd.grad(f().sum(), x)) for f in (lambda: torch.zeros(3).scatter(0, T([1]), x), lambda: torch.zeros(3).scatter_add(0, T([1]), x), lambda: torch.zeros(3).scatter_reduce(0, T([1]), x, "sum"), lambda: torch.zeros(3).scatter_reduce(0, T([1]), x, "mean"))]
[told(f) for f in (lambda: x.clamp_(), lambda: x.tril_(), lambda: x.transpose_(0, 5), lambda: x.index_add_(0, T([5]), x), lambda: x.scatter_(0, T([9]), 1.0), lambda: x.fill_(torch.ones(2)), lambda: x.bernoulli_(2), lambda: x.uniform_(3, 1), lambda: x.unsqueeze_(7), lambda: x.resize_(4))]
F.threshold(T([1, 5], dtype=torch.uint8), -1, 0), F.threshold(T([1, 5], dtype=torch.uint8), 2, 3.7), F.threshold(T([1, 5]), 3.7, 300)
F.threshold(T([1, 5], dtype=torch.uint8), 2, 300)
F.pad(torch.ones(1, dtype=torch.uint8), (1, 1), value=-1)
torch.addr(torch.ones(2, 2, dtype=torch.int64), torch.ones(2), torch.ones(2)), torch.lerp(torch.ones(3), torch.ones(3), T(0.5, dtype=torch.float64))
torch.rsub(torch.ones(2, dtype=torch.int64), 1, alpha=1.5)
torch.addcdiv(torch.ones(2), torch.ones(2).int(), torch.ones(2).int())
torch.repeat_interleave(torch.arange(3), T([1, 2, 3]), output_size=5)
torch.cov(torch.randn(2, 3), fweights=T([0, 0, 0]))
torch.func.vmap(lambda x: torch.max(x, 0))(torch.ones(2, 3))
[(y, y.grad_fn.name(), torch.autograd.grad(y.sum(), x)) for y in [x * 1] if y.logical_and_(T([True, True, False])) is y]
torch.det(T([[nan, 1], [1, 1]])), torch.linalg.inv(T([[nan, 1], [1, 1]])), torch.matrix_power(torch.ones(2, 2).int(), 2)
L.cholesky(T([[nan, 1], [1, 1]]))
L.svd(T([[nan, 1], [1, 1]]))
torch.autograd.gradcheck(lambda x: x * 2, (torch.zeros(0, 3, 4, dtype=torch.double, requires_grad=True),))
[told(lambda: torch.func.functional_call(nn.Linear(2, 1), d, torch.ones(2), **k)) for d, k in (({"foo": x}, dict(strict=True)), ({"weight": torch.ones(1, 2)}, dict(strict=True)), (({"weight": x}, {"weight": x}), {}), (5, {}), (({}, 3), {}), ({"sub.w": x}, {}), ({"weight": torch.ones(1, 2), "bias": torch.ones(1), "foo": x}, {}))]
moving(lambda s, z, i: z.scatter(0, i, s)), moving(lambda s, z, i: z.index_copy(0, i, s)), moving(lambda s, z, i: z.index_put((i,), s)), moving(lambda s, z, i: z.put(i, s)), moving(lambda s, z, i: z.scatter_add(0, i, s))
moving(lambda s, z, i: z.scatter(0, i[:1], s)), moving(lambda s, z, i: z.scatter_add(0, i[:1], s)), moving(lambda s, z, i: z.scatter_reduce(0, i[:1], s, "sum")), moving(lambda s, z, i: z.scatter_reduce(0, i[:2], s, "mean")), moving(lambda s, z, i: s.sinc())
[slope(lambda d: getattr(d.clone() * d, n)()) for n in "sin_ cos_ tan_ exp_ log_ sqrt_ rsqrt_ tanh_ sigmoid_ square_ abs_ erf_ sinh_ cosh_ asin_ acos_ atan_ log1p_ expm1_ reciprocal_ relu_ exp2_ log2_ sinc_ lgamma_ erfinv_".split()]
[slope(lambda d: (lambda z: (getattr(z[:1], n)(), z)[1])(d * d)) for n in "sin_ exp_ sqrt_ tanh_ square_ abs_".split()]
[slope(lambda d: getattr(d * d, n)(T([0.4, 0.7], dtype=torch.float64))) for n in "pow_ atan2_ hypot_ xlogy_ copysign_ mul_ div_".split()]
slope(lambda d: (d * d).cumprod_(0)), slope(lambda d: F.silu(d * d, inplace=True)), slope(lambda d: F.elu(-d * d, inplace=True)), slope(lambda d: d ** 3 + d.clone().exp_()), slope(lambda d: (d * d).view(2, 1).mul_(d[:1]).view(2)), slope(lambda d: torch.zeros(2, dtype=torch.float64).copy_(d * d))
[f(h) for h in [T([[300.0, 400], [-300, 20]]).half()] for f in (torch.norm, torch.std, torch.mean, lambda h: F.layer_norm(h, (2,)), lambda h: F.rms_norm(h, (2,)), lambda h: F.batch_norm(h, None, None, training=True), F.normalize, lambda h: h.var(0), lambda h: h * 100000, lambda h: h / 1e5, lambda h: h.softmax(1), lambda h: h.renorm(2, 0, 5.0), lambda h: h.addcdiv(h, h, value=3.0))]
torch.ones(70000).half().mean(), torch.ones(3000, 3).half().cumsum(0)[-1], torch.full((3000,), 0.1).half().cumsum(0)[-1], F.mse_loss(torch.full((200,), 200.0).half(), torch.zeros(200).half()), F.softplus(T([5.0, 12, 20, 21]).half()), F.hardswish(T([65504.0, 30000]).half()), torch.lerp(T([6e4]).half(), T([-6e4]).half(), 0.5)
[torch.autograd.grad(f(h).sum(), h) for h in [T([[300.0, 400], [-300, 20]]).half().requires_grad_()] for f in (torch.norm, torch.mean, lambda h: F.layer_norm(h, (2,))[0, 0], lambda h: h.softmax(1)[0, 0], lambda h: h * 100000 / 1e5, F.softplus)]
[[told(lambda: f(*a)) for a in ((5,), (5, False), (1,), (0,), (4, True), (-1,), (3.5,))] for f in (torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window, torch.kaiser_window)]
torch.hamming_window(5, True, 0.5, 0.4), torch.kaiser_window(6, True, 6.0), torch.hann_window(5, dtype=torch.float64, requires_grad=True)
torch.gradient(x ** 2), torch.gradient(x ** 2, spacing=2.0), torch.gradient(x ** 3, spacing=(T([0.0, 1, 3]),)), torch.gradient(x ** 3, edge_order=2), chain(torch.gradient(x)[0]), torch.autograd.grad((torch.gradient(x ** 2)[0] ** 2).sum(), x)
torch.gradient(torch.arange(12.0).view(3, 4) ** 2, spacing=[2.0, 0.5]), torch.gradient(torch.arange(12.0).view(3, 4) ** 2, dim=(0, 1), spacing=(T([0.0, 2, 3]), T([0.0, 1, 2, 4])), edge_order=2), torch.gradient(torch.arange(6).view(2, 3), dim=1)
[told(lambda: torch.gradient(x, **k)) for k in (dict(edge_order=3), dict(dim=(0, 0)), dict(spacing=[1.0, 2.0]), dict(dim=0, spacing=[1.0, 2.0]))], told(lambda: torch.gradient(x[:1]))
[told(lambda: f(torch.ones(2, dtype=k), torch.ones(2, dtype=k))) for f in (F.smooth_l1_loss, F.huber_loss, F.mse_loss) for k in (torch.int32, torch.bool)]
(lambda m, seen: [m._register_load_state_dict_pre_hook(lambda sd, prefix, *a: seen.append((prefix, len(a)))), m._register_load_state_dict_pre_hook(lambda mod, sd, prefix, *a: seen.append((type(mod).__name__, prefix, len(a))), with_module=True), m._register_state_dict_hook(lambda mod, sd, prefix, meta: {**sd, "extra": 1}), list(m.state_dict()), told(lambda: m.load_state_dict(m.state_dict())), seen][3:])(nn.Linear(1, 1), [])
[[getattr(nn.grad, c + "_input")(t.shape, w, g, 2, 1, 2, 2), getattr(nn.grad, c + "_weight")(t, w.shape, g, 2, 1, 2, 2)] for nd, c in ((1, "conv1d"), (2, "conv2d"), (3, "conv3d")) for t, w in [(torch.randn(2, 4, *[5] * nd, dtype=torch.float64), torch.randn(4, 2, *[2] * nd, dtype=torch.float64))] for g in [torch.randn_like(getattr(F, c)(t, w, None, 2, 1, 2, 2))]]
nn.grad.conv2d_input((1, 1, 3, 3), torch.ones(1, 1, 2, 2, requires_grad=True), torch.ones(1, 1, 2, 2)), told(lambda: nn.grad.conv2d_input(None, x, x))
T([1.0, 2]).apply_(lambda v: v * 2), T([1.0, 2]).map_(torch.ones(1), lambda a, b: a + b), torch.arange(4).view(2, 2).t().apply_(lambda v: v + 1), T([1.0]).map2_(torch.ones(1), torch.ones(1), lambda a, b, c: a + b + c)
[told(f) for f in (lambda: x.apply_(abs), lambda: torch.ones(2).map_(torch.ones(2).double(), max), lambda: torch.ones(3).map_(x, max), lambda: torch.ones(2).apply_(3), lambda: torch.ones(2).apply_(str))]
torch.GradScaler is torch.amp.GradScaler
[overwritten(lambda: f(x)) for f in (lambda x: x ** x, lambda x: x ** 2, lambda x: 2 ** x, lambda x: x.sum(0), lambda x: x.mean(0), lambda x: x.clamp(0), lambda x: x + 1, lambda x: x.clone(), lambda x: torch.autograd.grad(x.sigmoid().sum(), x, create_graph=True)[0])]
[packed(f) for f in (lambda: (x * 1).max(0), lambda: (x * 1).sort(), lambda: (x * 1).topk(2), lambda: (x * 1).cummax(0), lambda: x.exp(), lambda: (x * 1).kthvalue(1))]
"""

LIBRARY = """
op, Tensor = torch.library.custom_op, torch.Tensor

@op("demo::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2

out["without a formula"] = twice(x), twice(x.detach()), repr(twice), told(lambda: twice(x).sum().backward())
twice.register_autograd(lambda ctx, g: g * 2 * ctx.k, setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[0].shape[0]))
y = twice(x)
out["with"] = y.grad_fn.name(), torch.autograd.grad(y.sum(), x), torch.ops.demo.twice(x), torch.ops.demo.twice.default(x), told(lambda: torch.ops.demo.nothing)
out["again"] = torch.autograd.grad(torch.autograd.grad((twice(x) ** 2).sum(), x, create_graph=True)[0].sum(), x)

def axpy(a: float, x: Tensor, y: Tensor, n: int = 1, *, shift: float = 0.0) -> Tensor:
    return a * x * n + y + shift

def keep(ctx, inputs, keyword_only_inputs, output):
    ctx.save_for_backward(inputs[1])
    ctx.a, ctx.shift, ctx.needs, ctx.shape = inputs[0] * inputs[3], keyword_only_inputs["shift"], ctx.needs_input_grad, output.shape

def back(ctx, g):
    out["kept"] = ctx.saved_tensors, ctx.shift, ctx.needs[:4], ctx.shape
    return None, g * ctx.a, g, None

op("demo::axpy", axpy, mutates_args=())
torch.library.register_autograd("demo::axpy", back, setup_context=keep)
out["axpy"] = torch.autograd.grad(torch.ops.demo.axpy(2.0, x, x * 3, n=3, shift=0.5).sum(), x), torch.ops.demo.axpy(2.0, x, T([1.0, 1.0, 1.0]))

@op("demo::inc", mutates_args={"x"})
def inc(x: Tensor) -> None:
    x.add_(1)

z = torch.zeros(2)
out["writes"] = inc(z), z, z._version

@op("demo::two", mutates_args=())
def two(x: Tensor) -> tuple[Tensor, Tensor]:
    return x + 1, x * 3

two.register_autograd(lambda ctx, a, b: a + 3 * b)
out["two"] = torch.autograd.grad(sum(v.sum() for v in two(x)), x), torch.autograd.grad(two(x)[0].sum(), x), type(two(x)).__name__

@op("demo::same", mutates_args=())
def same(x: Tensor) -> Tensor:
    return x

def alias(x):
    try:
        same(x)
    except RuntimeError as error:
        return re.sub("'.*?' from '.*?'|__main__", "", str(error))[:20]

import re
out["alias"] = alias(z), alias(x)
def bare(x, y: Tensor) -> Tensor: return y
out["not said"] = told(lambda: op("demo::bare", bare, mutates_args=()))[:70]
out["fake"] = twice.register_fake(lambda x: torch.empty_like(x)) is not None, twice.register_kernel("cpu")(lambda x: x * 5) is not None, twice(x.detach())
"""

CONTAINERS = """
from torch.utils import _pytree as P
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b
P.register_pytree_node(Pair, lambda p: ([p.a, p.b], "told"), lambda parts, context: Pair(*parts))
p = Pair(x.detach(), {"k": T(2.0)})
leaves, spec = P.tree_flatten(p)
again = P.tree_unflatten(leaves, spec)
out["leaves"] = leaves, spec.num_leaves, type(again).__name__, again.b, told(lambda: P.register_pytree_node(dict, None, None))
g = torch.func.grad(lambda p: (p.a.sum() * p.b["k"]))(p)
out["func"] = type(g).__name__, g.a, g.b
from collections import OrderedDict, defaultdict, deque, namedtuple
N, seen = namedtuple("N", "a b"), []
for t in (N(1, [2]), OrderedDict(b=1, a=(2,)), defaultdict(list, {"x": 1}), deque([1, 2], 3), [None, {}], ()):
    leaves, spec = P.tree_flatten(t)
    kind = P._get_node_type(t)
    out[type(t).__name__] = leaves, spec.type.__name__, spec.num_leaves, P.tree_unflatten(leaves, spec) == t, kind.__name__, kind in P.SUPPORTED_NODES, isinstance(spec, P.LeafSpec)
P.tree_map(lambda x: x, [1, (2, {"a": 3})], is_leaf=lambda x: (seen.append(str(x)), False)[1])
out["asked"] = seen, P.SUPPORTED_NODES[dict].flatten_fn({"a": 1}), str(P.SUPPORTED_NODES[deque].unflatten_fn([1], 2))
"""

DATASETS = """
import torch.utils.data as D
class It(D.IterableDataset):
    def __init__(s,n): s.n=n
    def __iter__(s): return iter(range(s.n))
    def __len__(s): return 3
    def __repr__(s): return "It"
def t(name,f):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        try: r=f()
        except Exception as e: r=f"{type(e).__name__}: {str(e)[:200]}"
    out[name] = r, [str(x.message)[:150] for x in w if 'Length' in str(x.message)]
class B(D.Dataset):
    def __init__(s,k=0): s.k=k
    def __getitem__(s,i): return i
    def __len__(s): return 6
    def __getitems__(s,i): return [-j for j in i]+[0]*s.k
class P(D.Dataset):
    def __getitem__(s,i): return i*10
    def __len__(s): return 6
def go():
    l=D.DataLoader(It(5),batch_size=None); r=[]; len(l); return list(l)
t('len',go)
t('nolen',lambda:list(D.DataLoader(It(5),batch_size=None)))
def go2():
    l=D.DataLoader(It(9),batch_size=2); len(l); return [b.tolist() for b in l]
t('len batch',go2)
def go3():
    l=D.DataLoader(It(4),batch_size=1,num_workers=2,multiprocessing_context="fork"); len(l); return [b.tolist() for b in l]
t('len work',go3)
t('sub',lambda:[b.tolist() for b in D.DataLoader(D.Subset(B(),[1,3,5]),batch_size=2)])
t('sub2',lambda:[b.tolist() for b in D.DataLoader(D.Subset(P(),[1,3,5]),batch_size=2)])
t('sub of sub',lambda:D.Subset(D.Subset(B(),[1,3,5]),[0,2]).__getitems__([1,0]))
t('st',lambda:D.StackDataset(B(),P()).__getitems__([1,2]))
t('std',lambda:D.StackDataset(a=B(),b=P()).__getitems__([1,2]))
t('bad',lambda:D.StackDataset(B(1),P()).__getitems__([1,2]))
t('badd',lambda:D.StackDataset(a=B(1),b=P()).__getitems__([1,2]))
t('ldr',lambda:[ [x.tolist() for x in b] for b in D.DataLoader(D.StackDataset(B(),P()),batch_size=2)])
t('rs',lambda:[a.__getitems__([0]) for a in D.random_split(B(),[2,4],generator=torch.Generator().manual_seed(0))])
"""

PROGRAMS = {line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES.strip().splitlines()} | {
    "operations of one's own": START + LIBRARY,
    "containers of one's own": START + CONTAINERS,
    "several items at once": START + DATASETS,
}

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)
