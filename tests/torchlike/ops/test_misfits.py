"""Arguments that do not fit: settings without sense, labels and places out of range, types an operation does not take, memory that is
read while it is written. What PyTorch refuses is refused with its words, and nothing else. Recorded and live.

To record: `python -m tests.record misfits`.
"""

import pytest
from recorded import check_live, differences, run, stored

START = """
import warnings
warnings.simplefilter("ignore")
inf, nan = float("inf"), float("nan")

def seen(x):
    if isinstance(x, (tuple, list)):
        return [seen(t) for t in x]
    if not isinstance(x, torch.Tensor):
        return str(x)
    numbers = x.tolist() if x.numel() < 30 else float(x.double().sum())
    return [str(x.dtype), list(x.shape), np.round(numbers, 4).tolist(), x.grad_fn and graph(x.grad_fn)]

def tried(fn):
    try:
        return str(seen(fn()))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:110]}"
"""

EACH = """
for text in {texts!r}.split(";"):
    text = " ".join(text.split())
    {setup}
    out[text] = tried(lambda: eval(text))
"""

TABLE = """
kinds = "float16 float32 float64 int64 int32 int16 int8 uint8 bool".split()

def of_type(x):
    return [of_type(t) for t in x] if isinstance(x, (tuple, list)) else [str(x.dtype), list(x.shape)]

for text in {texts!r}.split(";"):
    text, table = " ".join(text.split()), {{}}
    for kind in kinds:
        d = getattr(torch, kind)
        x = (torch.arange(16) % 5).to(d).reshape(4, 4)
        v, s, row, im, vol = x[0], torch.eye(2).to(d), x[None], x[None, None], (torch.arange(32) % 5).to(d).reshape(1, 1, 2, 4, 4)
        no, i, c = torch.zeros(2, 0, dtype=d), torch.tensor([0, 1, 2, 3]), torch.ones(4, 4).to(d)
        try:
            found = str(of_type(eval(text)))
        except Exception as error:
            found = f"{{type(error).__name__}}: {{str(error)[:110]}}".replace(type(x).__name__, "Tensor")
        table.setdefault(found.replace(kind, "its own"), []).append(kind)
    out[text] = table
"""

POOLS = """
sizes = {1: [(0, 1, 5), (5,), (1, 5), (1, 1, 0), (1, 1, 1, 5)], 2: [(0, 1, 49), (0, 1, 5, 5), (1, 0, 5, 5), (1, 1, 0, 5), (5,), (1, 5),
         (1, 1, 1, 5, 5), (1, 1, 5, 5)], 3: [(0, 1, 49, 50), (0, 1, 4, 4, 4), (4, 4, 4), (1, 1, 4, 0, 4), (1, 1, 1, 4, 4, 4), (1, 1, 4, 4, 4)]}
for nd, shapes in sizes.items():
    settings = [(2, 50, -1, 1), (2, 50, 4, 1), (2, 1, 0, 1), (7, 1, 0, 1), (2, 0, 0, 1), (2, -1, 0, 1), (0, 1, 0, 1), (-1, 1, 0, 1), ((2,) * (nd + 1), 1, 0, 1),
                (2, 1, 0, 0), ((), 1, 0, 1), (2, (1,) * (nd + 1), 0, 1), (2, 1, (0,) * (nd + 1), 1), (2, None, 0, 1), (2, (), 0, 1)]
    for kind in ("avg", "max", "max with places"):
        fn, table = getattr(F, f"{kind[:3]}_pool{nd}d"), {}
        for shape in shapes:
            for k, s, p, d in settings:
                x = torch.zeros(*shape)
                call = (lambda: fn(x, k, s, p)) if kind == "avg" else (lambda: fn(x, k, s, p, d, return_indices=len(kind) > 3))
                if kind != "avg" or d == 1:
                    table.setdefault(tried(call), []).append(str((shape, k, s, p, d)))
        out[f"{kind} {nd}"] = table
"""

MARGINS = """
L, x, t = torch.long, torch.tensor([[0.1, 0.5, -0.3, 1.0], [0.2, 0.1, 0.7, -1.0], [1.0, 2.0, 3.0, 4.0]]), torch.tensor([0, 3, 2])
scores = dict(rows=x, row=x[0], number=torch.tensor(1.5), empty=torch.zeros(3, 0), cube=x[None], half=x.half(), whole=x.long(), double=x.double())
labels = dict(all=t, one=torch.tensor(1), first=torch.tensor(0), vector=torch.tensor([1]), floats=t.float(), few=torch.tensor([0, 1]), below=torch.tensor([0, -1, 2]),
              above=torch.tensor([0, 4, 2]), none=torch.zeros(0, dtype=L), ints=t.int())
sets = torch.tensor([[0, 2, -1, 1], [3, -1, 0, 0], [1, 0, 2, 3]])
several = dict(all=sets, row=sets[0], one=torch.tensor(0), end=torch.tensor(-1), vector=torch.tensor([0]), floats=x * 0, few=sets[:1, :2], above=sets + 1, none=sets[:0])
for a, score in scores.items():
    for b, label in labels.items():
        out[f"multi_margin {a} {b}"] = [tried(lambda: F.multi_margin_loss(score, label, reduction=r)) for r in ("mean", "none")]
    for b, label in several.items():
        out[f"multilabel_margin {a} {b}"] = [tried(lambda: F.multilabel_margin_loss(score, label, reduction=r)) for r in ("mean", "none")]
    for b, w in dict(all=torch.ones(4), few=torch.ones(3), double=torch.ones(4).double()).items():
        out[f"weight {a} {b}"] = tried(lambda: F.multi_margin_loss(score, t, weight=w))
"""

SCATTERS = """
I = lambda *size: torch.zeros(*size, dtype=torch.long)
Z = torch.zeros
cases = [(Z(3, 5, 3), 0, I(2, 2), Z(2, 5)), (Z(3, 5), 0, I(2, 2), Z(2, 5, 2)), (Z(3, 5), 0, I(2, 2), Z(2, 1)), (Z(3, 5), 0, I(2, 6), Z(2, 6)),
         (Z(3, 5), 1, I(4, 2), Z(4, 2)), (Z(3, 5), 2, I(2, 2), Z(2, 2)), (Z(3, 5), 0, I(2, 2).float(), Z(2, 2)), (Z(3, 5), 0, I(2, 2), Z(2, 2).double()),
         (Z(3, 5), 0, I(2, 2) + 3, Z(2, 2)), (Z(3, 5), 0, I(2, 2) - 1, Z(2, 2)), (Z(3, 5), 0, I(0), Z(2, 2)), (Z(()), 0, I(2), torch.ones(2)),
         (Z(3), 0, torch.tensor(1), torch.tensor(2.0)), (Z(3, 5), 0, I(2, 2).int(), Z(2, 2)), (Z(3, 5), 0, I(0, 2), Z(2, 2)), (Z(3, 5), 0, I(2, 2, 2), Z(2, 2, 2)),
         (Z(3, 5), 0, I(2, 2), Z(2))]
for name in ("scatter", "scatter_add", "gather", "scatter_reduce", "scatter with reduce", "scatter a number", "scatter_", "scatter_add_"):
    for n, (x, dim, i, src) in enumerate(cases):
        out[f"{name} {n}"] = tried(lambda: {
            "gather": lambda: torch.gather(x, dim, i), "scatter_reduce": lambda: torch.scatter_reduce(x, dim, i, src, "sum"),
            "scatter with reduce": lambda: torch.scatter(x, dim, i, src, reduce="add"), "scatter a number": lambda: torch.scatter(x, dim, i, 1.0),
        }.get(name, lambda: getattr(x.clone(), name)(dim, i, src))())
"""

SETTINGS = """
F.softshrink(r, -0.5); F.softshrink(r, nan); F.softshrink(r.double(), inf); F.softshrink(r.half(), 1e39); F.soft_margin_loss(m, torch.ones(2, 3, 4))
F.soft_margin_loss(m, torch.ones(3)); torch.hsplit(q, 0); torch.vsplit(q, 0); torch.dsplit(q, 0); torch.hsplit(q, -1); torch.hsplit(r, 0); torch.tensor_split(q, 0)
torch.hsplit(torch.tensor(1.0), 1); torch.multinomial(torch.tensor([1.0, -1.0]), 2, True); torch.multinomial(torch.tensor([1.0, nan]), 2, True)
torch.multinomial(torch.tensor([1.0, inf]), 2, True); torch.multinomial(torch.tensor([0.0, 0.0]), 2, True); torch.multinomial(torch.tensor([1.0, -1.0]), 2)
torch.multinomial(torch.ones(2), 1, out=torch.empty(0)); torch.multinomial(torch.zeros(2**24 + 1), 1); torch.hstack([]); torch.vstack([]); torch.dstack([]); torch.row_stack([])
torch.column_stack([]); torch.cat([]); torch.stack([]); torch.renorm(torch.tensor(1.0), 0.5, 0, 1.0); torch.renorm(r, 0.5, 0, 1.0); torch.renorm(m, -1, 0, 1.0)
torch.renorm(m, 1, 0, -1.0); m.clone().renorm_(1, 0, -1.0); m.long().renorm_(1, 0, 1); torch.linalg.cross(m, m, dim=2); torch.cross(r[:3], r[:3], -2)
torch.linalg.cross(torch.ones(5, 3), torch.ones(4, 3)); torch.linalg.lstsq(torch.tensor(1.0), r); torch.linalg.lstsq(s, torch.tensor(1.0)); torch.linalg.lstsq(r, r)
torch.linalg.lstsq(s, torch.ones(3)); torch.linalg.lstsq(s, torch.ones(3, 2)); torch.linalg.lstsq(s, s.double()); torch.remainder(2, 3); torch.remainder(2.5, True)
torch.aminmax(torch.zeros(5, 0, 5), dim=1); torch.aminmax(torch.zeros(5, 0, 5), dim=-2); torch.aminmax(torch.zeros(5, 0)); torch.gradient(r.byte())
F.adaptive_avg_pool1d(q[0], []); F.adaptive_avg_pool1d(q[0], [1, 2]); F.adaptive_max_pool1d(q, []); F.adaptive_max_pool1d(q, [1, 2]); F.adaptive_max_pool2d(q[None], [])
F.adaptive_max_pool2d(q[None], [1]); F.adaptive_max_pool2d(q[None], [1, 2, 3]); F.adaptive_max_pool3d(q[None, None], [1, 2]); F.hardtanh(r.byte()); F.hardtanh_(r.byte())
F.gumbel_softmax(r.long()); r.long().exponential_(); torch.diff(s, prepend=r[:2]); torch.diff(s, append=s[None]); torch.diff(s, prepend=torch.ones(3, 1))
torch.diff(s, 0, prepend=r[:2]); torch.empty_strided((2, 3), (1,)); torch.empty_strided((2, 3), (-1, 1)); r.new_empty_strided((2,), (1, 1)); torch.randint(3, (2,), layout=torch.strided).shape
torch.tensor(loop); torch.as_tensor(loop); torch.index_reduce(torch.tensor(2.0), 0, torch.tensor([0]), torch.tensor(3.0), "prod")
torch.tensor(2.0).index_reduce_(0, torch.tensor([0]), torch.tensor(3.0), "mean", include_self=False); torch.lgamma(torch.tensor([1e308, inf, -inf, nan], dtype=torch.float64))
F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 1])); F.nll_loss(torch.zeros(2, 3), torch.tensor([0, 1]), torch.ones(3)); F.cross_entropy(torch.tensor([[100.0, 0.0]]), torch.tensor([0])); F.embedding_bag(torch.tensor([[0]]), m.long())
"""

TYPES = """
torch.div(x, c, rounding_mode="trunc"); torch.div(x, c, rounding_mode="floor"); v.clone().geometric_(0.5); v.clone().exponential_(); torch.cholesky(s); torch.linalg.cholesky(s)
x @ x; torch.dot(v, v); torch.kthvalue(v, 2); torch.median(v); torch.mode(v); torch.topk(v, 2); torch.sort(v); torch.quantile(v, 0.5); torch.histc(v.abs(), 4) if d.is_floating_point else torch.histc(v.float())
F.conv1d(row[:, :1], x[:1, :2][None]); F.conv2d(im, im[..., :2, :2]); F.conv2d(im, im[..., :2, :2], dilation=2); F.conv3d(vol, vol[..., :2, :2]); F.conv3d(vol, vol[..., :1, :2, :2], dilation=2)
F.conv_transpose1d(row[:, :1], x[:1, :2][None]); F.conv_transpose2d(im, im[..., :2, :2], v[:1], dilation=2); F.conv_transpose3d(vol, vol[..., :2, :2]); F.unfold(im, 2); F.unfold(im[:0], 2); F.fold(row, (3, 3), 2)
F.pad(row, (1, 2), mode="reflect"); F.pad(im, (1, 2, 1, 1), mode="reflect"); F.pad(vol, (1, 1, 1, 1, 1, 0), mode="replicate"); F.pad(im, (1, 1, 1, 1), mode="circular"); F.pad(im, (1, 1))
F.avg_pool1d(row, 2); F.avg_pool2d(im, 2); F.avg_pool3d(vol, 2); F.max_pool1d(row, 2); F.max_pool2d(im, 2); F.max_pool3d(vol, 2); F.adaptive_avg_pool2d(im, 2); F.adaptive_max_pool2d(im, 2)
F.interpolate(row, 3); F.interpolate(im, 3); F.interpolate(vol, 3); F.interpolate(im, 3, mode="nearest-exact"); F.interpolate(row, 3, mode="linear"); F.interpolate(im, 3, mode="bilinear")
F.interpolate(im, 3, mode="bicubic"); F.interpolate(vol, 3, mode="trilinear"); F.interpolate(im, 3, mode="area"); F.interpolate(im, 3, mode="bilinear", antialias=True); F.upsample_bilinear(im, 3)
F.hardtanh(x); F.threshold(x, 1, 1); F.softshrink(x); F.hardshrink(x); F.relu(x); F.relu6(x); F.gelu(x); F.leaky_relu(x); F.prelu(x, c[0, :1]); F.glu(x); F.gumbel_softmax(x); F.dropout(x, 0.0)
F.binary_cross_entropy(c, c); F.multi_margin_loss(x, i); F.multilabel_margin_loss(x, i.expand(4, 4)); F.nll_loss(x, i); F.cross_entropy(x, i); F.embedding_bag(i[None], x)
torch.linalg.vecdot(x, x); torch.linalg.householder_product(s, s[0]); torch.linalg.matrix_rank(s); torch.linalg.matrix_power(s, 2); torch.linalg.pinv(s); torch.linalg.lstsq(s, s)[0]
torch.linalg.det(s); torch.linalg.inv(s); torch.linalg.solve(s, s); torch.linalg.qr(s); torch.linalg.svd(s); torch.linalg.svdvals(s); torch.linalg.eigh(s); torch.linalg.eigvalsh(s); torch.linalg.matrix_norm(s)
torch.linalg.vector_norm(s); torch.linalg.cond(s); torch.linalg.slogdet(s); torch.linalg.lu_factor(s); torch.gradient(v); torch.cumsum(v, 0); torch.logcumsumexp(v, 0); torch.cdist(x, x); torch.renorm(x, 2, 0, 1.0)
"""

IN_PLACE = """
x.clone().add_(y, alpha=2.5); x.clone().sub_(y, alpha=-1); x.clone().add_(2, alpha=3); x.clone().sub_(2, alpha=3); torch.stack([x, x]).add_(y, alpha=3); x.clone().copysign_(-2.5)
x.clone().copysign_(y); x.clone().floor_divide_(2.5); x.clone().floor_divide_(y); x.clone().eq_(2.5); x.clone().eq_(y); x.clone().lt_(2); x.clone().lt_(y); x.clone().xlogy_(2.5); x.clone().xlogy_(y)
x.clone().mvlgamma_(2); x.clone().polygamma_(1); x.detach().long().mvlgamma_(1); x.detach().long().polygamma_(1); x.detach().long().eq_(2.5); x.detach().long().copysign_(2); x.detach().bool().eq_(1)
torch.remainder(5.5, x); 5.5 % x; torch.autograd.grad(torch.remainder(5.5, x).sum(), x); torch.autograd.grad(x.clone().add_(y, alpha=3).sum(), (x, y)); torch.quantile(x, 0.5); torch.nanquantile(x, 0.5)
torch.quantile(x.reshape(1, 3), 0.5); torch.func.grad(lambda t: torch.special.xlog1py(t, -2.0))(x.detach()[0] * 0); torch.func.grad(lambda t: torch.xlogy(t, -2.0))(x.detach()[0] * 0); torch.special.xlog1py(x, 2.5)
torch.special.xlog1py(2.5, x); torch.autograd.grad(torch.special.xlog1py(x, 2.5).sum(), x); torch.autograd.grad(torch.special.xlog1py(2.5, x).sum(), x); torch.movedim(x[0], [], []); torch.autograd.grad(x.clone().polygamma_(2).sum(), x); torch.autograd.grad(x.clone().mvlgamma_(2).sum(), x); torch.rsub(x, y, alpha=2)
"""

MEMORY = """
x.index_add_(0, six, x); x[:3].index_add_(0, i, x[1:4]); one.index_add_(0, six, ten); x.index_copy_(0, six, x); one.index_copy_(0, six, ten); one.index_fill_(0, i, 1.0); n.index_fill_(0, n, 0)
x.index_fill_(0, i, x[5]); x.index_put_((six,), x); x[:3].index_put_((i,), x[1:4]); one.index_put_((six,), ten); n.index_put_((n,), six); n[:4].index_put_((n[1:4],), i); one.masked_fill_(ten > 2, 0.0)
b.masked_fill_(b, False); b[:3].masked_fill_(b[1:4], False); x.masked_fill_(x > 2, x[1]); x.masked_scatter_(x > -1, x); x.put_(six, x); x[:3].put_(i, x[1:4]); n.put_(n, n); one.put_(six, ten)
x.scatter_(0, six, x); x[:3].scatter_(0, i, x[1:4]); x.scatter_(0, i[:1], x[3:]); one.scatter_(0, six, 2.0); n.scatter_(0, n, 1); x.scatter_add_(0, six, x); one.scatter_add_(0, six, ten)
x.scatter_reduce_(0, six, x, "sum"); x[:3].scatter_reduce_(0, i, x[1:4], "sum"); x.index_reduce_(0, six, x, "prod"); put(x, i, x[0]); put(x, i, x[3:4]); put(x, x > 2, x[0]); put(x, x > 2, x[:1])
put(x, x > 2, x[:3]); put(x, [0, 1, 2], x[3:]); put(m, i[:2], m[1]); put(m, (slice(None), i[:1]), m[:, 1:]); put(m, i, m); put(m, [0, 1], m[[1, 0]]); put(m, i, m.clone()); put(x, i, x.data[0])
put(x, i, x.detach()[4:5]); put(n, n[:2], 9); put(n, n[1], 9); put(n, n, 9); put(b, b, False); m.index_copy_(1, i[:1], m[:, 1:]); m.index_copy_(0, i[:1], m[1:2]); x.data.index_add_(0, i[:1], x[2:3])
torch.add(x[:3], 1, out=x[1:4]); torch.add(x, 1, out=x); torch.add(x, 1, out=x[:6]); torch.exp(x[:3], out=x[2:5]); torch.cat([x[:3], x[3:]], out=x); torch.stack([m[0]], out=m[:1]); torch.gather(x, 0, six, out=x)
torch.take(x, six, out=x); torch.index_select(x, 0, six, out=x); torch.masked_select(x, x > -1, out=x); torch.sort(x, out=(x, n)); torch.sort(x[:3], out=(x[1:4], n[:3])); torch.kthvalue(m, 1, 0, True, out=(m[:1], n[:2][None]))
torch.max(m, 0, True, out=(m[:1], n[:2][None])); torch.maximum(x, x, out=x); torch.maximum(x[:3], x[1:4], out=x[1:4]); torch.outer(m[0], m[1], out=m[:2]); torch.where(x > 2, x, x, out=x); torch.clamp(x[:3], 0, 2, out=x[1:4])
torch.scatter(x, 0, i, ten[:3], out=x); torch.scatter(x, 0, i, x[:3], out=x); torch.index_add(x, 0, i, ten[:3], out=x); torch.addr(m[:2], ten[:2], ten[:2], out=m[:2]); torch.cumsum(x[:3], 0, out=x[1:4]); torch.aminmax(m, dim=0, out=(m[0], m[1]))
torch.norm(x, out=torch.empty(0)); torch.norm(m, dim=1, out=torch.empty(5)); torch.norm(x, out=torch.empty(0).double()); torch.tensordot(m, m.t(), 1, out=torch.empty(0)); torch.tensordot(m, m.t(), 1, out=torch.empty(0).double())
F.normalize(m, out=torch.empty(0)); torch.chain_matmul(m, m.t(), out=torch.empty(0)); torch.linalg.norm(x, out=torch.empty(0).double()); torch.linalg.matrix_norm(m, out=torch.empty(0).double()); torch.linalg.vector_norm(x, out=torch.empty(0).half())
torch.linalg.solve_triangular(m[:2], m[:2], upper=True, left=True, unitriangular=True, out=torch.empty(0)); torch.exp(last, out=torch.empty(0)).stride(); torch.cat([last, last], out=torch.empty(0)).stride()
torch.add(last, 1, out=torch.ones(2, 3, 4, 5)).stride(); torch.linalg.inv(torch.eye(3), out=torch.empty(0)).stride(); torch.linalg.qr(torch.eye(3), out=(torch.empty(0), torch.empty(0)))[0].stride(); torch.cholesky(torch.eye(3), out=torch.empty(0)).stride()
"""

SEVERAL = """
for name in "cummax cummin max min mode median nanmedian kthvalue topk sort".split():
    for other in (torch.int16, torch.float64):
        for kinds in ((other, torch.long), (torch.float32, other)):
            target = tuple(torch.empty(0, dtype=d) for d in kinds)
            out[f"{name} {kinds}"] = tried(lambda: getattr(torch, name)(torch.arange(3.0), 2 if name in ("kthvalue", "topk") else 0, out=target))
"""

BYTES = """
x = torch.tensor((np.arange(2 * 7 * 5) * 37 % 256).astype(np.uint8)).reshape(1, 2, 7, 5)
for mode in ("bilinear", "bicubic"):
    for corners in (False, True):
        for antialias in (False, True):
            for size in ((5, 5), (3, 3), (9, 13), (7, 6)):
                y = F.interpolate(x, size=size, mode=mode, align_corners=corners, antialias=antialias)
                out[f"{mode} {corners} {antialias} {size}"] = y.tolist()
"""

RANDOM = """
for n in (16, 17, 25, 40):
    torch.manual_seed(0)
    out[str(n)] = torch.randn(n, dtype=torch.half).tolist() + torch.rand(2).tolist()
torch.manual_seed(0)
out["no dims"] = [torch.rand(()).item(), torch.randn(()).item(), torch.rand((), dtype=torch.float64).item(), torch.empty(()).normal_().item()]
"""

LAYERS = """
F.unfold(Z(3, 3), 2); F.unfold(Z(1, 1, 3, 3), 4); F.unfold(Z(1, 1, 3, 3), 0); F.unfold(Z(1, 1, 3, 3), 2, stride=0)
F.unfold(Z(1, 1, 3, 3), 2, padding=-1); F.unfold(Z(1, 1, 3, 3), 2, dilation=0); F.unfold(Z(1, 1, 3, 3), (2, 2, 2)); F.unfold(Z(1, 0, 3, 3), 2)
F.unfold(Z(0, 1, 3, 3), 2); F.unfold(Z(1, 1, 1, 3, 3), 2); F.fold(Z(1, 4, 4), (3, 3), 2); F.fold(Z(1, 5, 4), (3, 3), 2); F.fold(Z(1, 4, 5), (3, 3), 2)
F.fold(Z(4, 4), (3, 3), 2); F.fold(Z(4), (3, 3), 2); F.fold(Z(1, 4, 4), (3, 3), 0); F.fold(Z(1, 4, 4), (0, 3), 2); F.fold(Z(1, 4, 4), 3, 2)
F.fold(Z(0, 4, 4), 3, 2); F.fold(Z(1, 4, 4), (3, 3), 2, stride=0); F.fold(Z(1, 4, 4), (3, 3), 2, padding=-1)
F.fold(Z(1, 4, 4), (3, 3), 2, dilation=0); F.fold(Z(1, 4, 1), (1, 1), 2); F.pixel_shuffle(Z(1, 5, 2, 2), 2); F.pixel_shuffle(Z(2, 2), 2)
F.pixel_shuffle(Z(1, 4, 2, 2), 0); F.pixel_shuffle(Z(1, 4, 2, 2), -1); F.pixel_unshuffle(Z(1, 1, 3, 4), 2); F.pixel_unshuffle(Z(1, 1, 4, 4), 0)
F.pixel_unshuffle(Z(4, 4), 2); torch.channel_shuffle(Z(1, 4), 2); torch.channel_shuffle(Z(1, 4, 2, 2), 0); F.embedding(torch.tensor([5]), Z(5, 2))
F.embedding(torch.tensor([-1]), Z(5, 2)); F.embedding(torch.tensor([0.0]), Z(5, 2)); F.embedding(torch.tensor([0]), Z(5))
F.embedding(torch.tensor([0]), Z(5, 2), padding_idx=5); F.embedding(torch.tensor([0]), Z(5, 2), padding_idx=-6)
F.embedding(torch.tensor([0]), Z(5, 2, 2)); F.embedding(torch.tensor(0), Z(5, 2)); F.embedding(torch.tensor([0]), Z(0, 2))
F.one_hot(torch.tensor([-1])); F.one_hot(torch.tensor([3]), 3); F.one_hot(torch.tensor([0.0])); F.one_hot(Z(0, dtype=L)); F.one_hot(Z(0, dtype=L), 3)
F.one_hot(torch.tensor([1]), 0); F.one_hot(torch.tensor([1]), -2); F.layer_norm(Z(2, 3), (2,)); F.layer_norm(Z(2, 3), ())
F.layer_norm(Z(2, 3), (3,), Z(2)); F.layer_norm(Z(2, 3), (3,), Z(3), Z(2)); F.layer_norm(Z(3), (2, 3)); F.layer_norm(Z(0, 3), (3,))
F.layer_norm(Z(3, 0), (0,)); F.layer_norm(Z(2, 3), (3,), eps=-1); F.rms_norm(Z(2, 3), (2,)); F.rms_norm(Z(2, 3), (3,), Z(2))
F.batch_norm(Z(2, 3), Z(3), Z(2)); F.batch_norm(Z(2, 3), Z(2), Z(3)); F.batch_norm(Z(2, 3), None, None)
F.batch_norm(Z(1, 3), Z(3), Z(3), training=True); F.batch_norm(Z(2, 3), Z(3), Z(3), Z(2)); F.batch_norm(Z(2, 3), Z(3), Z(3), Z(3), Z(4))
F.batch_norm(Z(3), Z(3), Z(3)); F.batch_norm(Z(2, 0), Z(0), Z(0)); F.batch_norm(Z(0, 3), Z(3), Z(3))
F.batch_norm(Z(2, 3), Z(3), Z(3), eps=0.0, training=True); F.batch_norm(Z(0, 3), Z(3), Z(3), training=True); F.group_norm(Z(2, 3), 2)
F.group_norm(Z(3), 1); F.group_norm(Z(2, 4), 2, Z(3)); F.group_norm(Z(2, 4), 0); F.group_norm(Z(2, 4), -1); F.group_norm(Z(0, 4), 2)
F.group_norm(Z(2, 4, 0), 2); F.group_norm(Z(1, 4), 4); F.instance_norm(Z(2, 3)); F.instance_norm(Z(2, 3, 1)); F.instance_norm(Z(2, 3, 4), Z(2), Z(3))
F.instance_norm(Z(2, 3, 4), use_input_stats=False); F.instance_norm(Z(2, 3, 4), weight=Z(2)); F.local_response_norm(Z(2, 3), 2)
F.local_response_norm(Z(2, 3, 4), 0); F.local_response_norm(Z(2), 2); F.bilinear(Z(2, 3), Z(2, 4), Z(5, 3, 3))
F.bilinear(Z(2, 3), Z(3, 4), Z(5, 3, 4)); F.bilinear(Z(2, 3), Z(2, 4), Z(5, 3, 4), Z(4)); F.bilinear(Z(2, 3), Z(2, 4), Z(3, 4))
F.linear(Z(2, 3), Z(4, 2)); F.linear(Z(2, 3), Z(4, 3), Z(3)); F.linear(Z(3), Z(3)); F.linear(Z(3), Z(2)); F.linear(Z(2, 3), Z(4, 3, 3))
F.linear(one, Z(4, 3)); F.linear(Z(2, 3), Z(3)); F.linear(Z(2, 3), Z(3), Z(2)); F.linear(Z(2, 2, 3), Z(4, 3), Z(2, 1, 4)); F.linear(Z(0, 3), Z(4, 3))
F.linear(Z(2, 0), Z(4, 0)); F.scaled_dot_product_attention(Z(2, 3), Z(2, 4), Z(2, 4))
F.scaled_dot_product_attention(Z(1, 2, 3), Z(1, 2, 3), Z(1, 3, 3)); F.scaled_dot_product_attention(Z(3), Z(3), Z(3))
F.scaled_dot_product_attention(Z(1, 2, 3), Z(1, 2, 3), Z(1, 2, 3), attn_mask=Z(3, 3))
F.scaled_dot_product_attention(Z(1, 2, 3), Z(1, 2, 3), Z(1, 2, 3), attn_mask=Z(2, 2), is_causal=True)
F.scaled_dot_product_attention(Z(1, 2, 3), Z(1, 2, 3), Z(1, 2, 3), attn_mask=Z(2, 2, dtype=L))
F.scaled_dot_product_attention(Z(1, 2, 3), Z(1, 2, 3).double(), Z(1, 2, 3))
F.scaled_dot_product_attention(Z(1, 2, 3), Z(1, 2, 3), Z(1, 2, 3), dropout_p=2.0)
F.scaled_dot_product_attention(Z(1, 4, 2, 3), Z(1, 2, 2, 3), Z(1, 2, 2, 3), enable_gqa=True)
F.scaled_dot_product_attention(Z(1, 4, 2, 3), Z(1, 3, 2, 3), Z(1, 3, 2, 3), enable_gqa=True); F.cosine_similarity(Z(2, 3), Z(2, 4))
F.cosine_similarity(Z(2, 3), Z(2, 3), 2); F.pairwise_distance(Z(2, 3), Z(3, 3)); F.pdist(Z(3)); F.pdist(Z(2, 3), -1); torch.cdist(Z(2, 3), Z(2, 4))
torch.cdist(Z(3), Z(2, 3)); torch.cdist(Z(2, 3), Z(2, 3), -1); F.triplet_margin_loss(Z(2, 3), Z(2, 3), Z(3, 3))
F.triplet_margin_loss(Z(2, 3), Z(2, 3), Z(2)); F.triplet_margin_loss(Z(2, 3), Z(2, 3), Z(2, 3), margin=-1)
F.triplet_margin_with_distance_loss(Z(2, 3), Z(2, 3), Z(2, 3), margin=-1); F.margin_ranking_loss(Z(2), Z(3), Z(2))
F.margin_ranking_loss(Z(2), Z(2), Z(2, 2)); F.cosine_embedding_loss(Z(2, 3), Z(2, 3), Z(3)); F.cosine_embedding_loss(Z(3), Z(3), Z(1))
F.cosine_embedding_loss(Z(2, 3), Z(3), Z(2)); F.hinge_embedding_loss(Z(2, 3), Z(3, 2)); F.poisson_nll_loss(Z(2), Z(3))
F.gaussian_nll_loss(Z(2), Z(2), Z(3)); F.gaussian_nll_loss(Z(2), Z(2), Z(2) - 1); F.kl_div(Z(2), Z(3)); F.smooth_l1_loss(Z(2), Z(3))
F.smooth_l1_loss(Z(2), Z(2), beta=-1); F.huber_loss(Z(2), Z(2), delta=0); F.huber_loss(Z(2), Z(3)); F.mse_loss(Z(2), Z(3))
F.binary_cross_entropy(Z(2) + 2, Z(2)); F.binary_cross_entropy(Z(2), Z(3)); F.binary_cross_entropy(Z(2), Z(2), Z(3))
F.binary_cross_entropy_with_logits(Z(2), Z(3)); F.binary_cross_entropy_with_logits(Z(2, 3), Z(2, 3), pos_weight=Z(2))
F.multilabel_soft_margin_loss(Z(2, 3), Z(3, 2)); F.multilabel_soft_margin_loss(Z(2, 3), Z(2, 3), Z(2)); F.cross_entropy(Z(2, 3), Z(3, dtype=L))
F.cross_entropy(Z(2, 3), torch.tensor([0, 3])); F.cross_entropy(Z(2, 3), torch.tensor([0, -1])); F.cross_entropy(Z(2, 3), Z(2, 4))
F.cross_entropy(Z(2, 3), Z(2, 3, dtype=L)); F.cross_entropy(Z(2, 3), Z(2, dtype=L), Z(2))
F.cross_entropy(Z(2, 3), Z(2, dtype=L), label_smoothing=2.0); F.cross_entropy(Z(3), torch.tensor(0)); F.cross_entropy(one, torch.tensor(0))
F.cross_entropy(Z(2, 3, 4), Z(2, 4, dtype=L)); F.cross_entropy(Z(2, 3, 4), Z(2, 3, dtype=L)); F.cross_entropy(Z(2, 3), Z(2))
F.cross_entropy(Z(2, 3), Z(2).int()); F.cross_entropy(Z(0, 3), Z(0, dtype=L)); F.cross_entropy(Z(2, 0), Z(2, dtype=L))
F.cross_entropy(Z(2, 3), Z(2, dtype=L), reduction='x'); F.cross_entropy(Z(2, 3), torch.tensor([-100, -100]))
F.cross_entropy(Z(2, 3).requires_grad_(), torch.tensor([0, 5])); F.nll_loss(Z(2, 3), torch.tensor([0, 3])); F.nll_loss(Z(2), torch.tensor([0, 1]))
F.nll_loss(Z(2, 3, 4, 4), Z(2, 4, 3, dtype=L)); F.nll_loss(Z(2, 3, 4, 4), Z(2, 4, 4, dtype=L) + 3); F.nll_loss(Z(2, 3), Z(2, dtype=L), Z(2))
F.nll_loss(Z(2, 3, 4), Z(2, 4, dtype=L)); F.nll_loss(Z(2, 3, 4), Z(2, 4, dtype=L) - 1)
F.ctc_loss(Z(5, 2, 4), Z(2, 3, dtype=L), torch.tensor([5, 5]), torch.tensor([3, 3]))
F.ctc_loss(Z(5, 2, 4), torch.ones(2, 3, dtype=L), torch.tensor([6, 5]), torch.tensor([3, 3]))
F.ctc_loss(Z(5, 2, 4), torch.ones(2, 3, dtype=L), torch.tensor([5, 5]), torch.tensor([4, 3]))
F.ctc_loss(Z(5, 2, 4), torch.ones(2, 3, dtype=L), torch.tensor([5, 5, 5]), torch.tensor([3, 3]))
F.ctc_loss(Z(5, 2, 4), torch.ones(2, 3, dtype=L), torch.tensor([5, 5]), torch.tensor([3, 3]), blank=4)
F.ctc_loss(Z(5, 2, 4), torch.ones(2, 3, dtype=L), torch.tensor([5, 5]), torch.tensor([3, -1])); F.dropout(Z(2), -0.1); F.dropout(Z(2), 1.1)
F.dropout(Z(2), float('nan')); F.dropout2d(Z(2), 0.5); F.alpha_dropout(Z(2), 2.0); F.feature_alpha_dropout(Z(2), 2.0); F.dropout1d(Z(2), 0.5)
F.dropout3d(Z(2, 2), 0.5); F.dropout(Z(2, dtype=L), 0.5); F.glu(Z(3)); F.glu(one); F.glu(Z(4), 1); F.prelu(Z(2, 3), Z(2)); F.prelu(Z(2, 3), Z(2, 3))
F.prelu(one, Z(2)); F.rrelu(Z(2), 1.0, 0.5); F.hardtanh(Z(2), 1, -1); F.gelu(Z(2), approximate='x'); F.softplus(Z(2), 0)
F.celu(Z(2), 0); F.leaky_relu(Z(2), float('nan')); F.softmax(Z(2), 1)
F.log_softmax(Z(2, 2), -3); F.softmin(one, 1); F.grid_sample(Z(1, 1, 2, 2), Z(1, 2, 2, 3)); F.grid_sample(Z(1, 1, 2, 2), Z(2, 2, 2, 2))
F.grid_sample(Z(1, 1, 2), Z(1, 2, 1)); F.grid_sample(Z(1, 1, 2, 2), Z(1, 2, 2, 2), mode='x')
F.grid_sample(Z(1, 1, 2, 2), Z(1, 2, 2, 2), padding_mode='x'); F.grid_sample(Z(1, 1, 2, 2, 2), Z(1, 2, 2, 2, 3), mode='bicubic')
F.grid_sample(Z(1, 1, 0, 2), Z(1, 2, 2, 2)); F.grid_sample(Z(1, 1, 2, 2), Z(1, 2, 2, 2).double()); F.affine_grid(Z(1, 2, 2), (1, 1, 2, 2))
F.affine_grid(Z(1, 2, 3), (1, 1, 2)); F.affine_grid(Z(1, 2, 3), (1, 1, 0, 2)); F.affine_grid(Z(1, 2, 3, dtype=L), (1, 1, 2, 2))
F.interpolate(Z(1, 1, 4), size=(2, 2)); F.interpolate(Z(1, 1, 4), size=2, scale_factor=2); F.interpolate(Z(1, 1, 4))
F.interpolate(Z(1, 1, 4), size=0); F.interpolate(Z(1, 1, 4), size=-1); F.interpolate(Z(1, 4), size=2)
F.interpolate(Z(1, 1, 4, 4), size=2, mode='linear'); F.interpolate(Z(1, 1, 4, 4), size=2, mode='x')
F.interpolate(Z(1, 1, 4), size=2, align_corners=True); F.interpolate(Z(1, 1, 0), size=2); F.interpolate(Z(0, 1, 4), size=2)
F.interpolate(Z(1, 1, 4), scale_factor=0); F.interpolate(Z(1, 1, 4), scale_factor=(1, 2)); F.interpolate(Z(1, 1, 4, 4), scale_factor=-1.0)
F.interpolate(Z(1, 1, 4), size=2, mode='linear', antialias=True); F.pad(Z(2, 3), (1,)); F.pad(Z(2, 3), (1, 1, 1, 1, 1, 1)); F.pad(Z(2, 3), (-4, 0))
F.pad(Z(2, 3), (1, 1), mode='x'); F.pad(Z(2, 3), (1, 1), mode='reflect', value=1); F.pad(Z(1, 2, 3), (4, 1), mode='circular')
F.pad(Z(1, 2, 3), (-2, -2), mode='circular'); F.pad(Z(1, 1, 3), (-4, 1), mode='replicate'); F.pad(Z(3), (1, 1), mode='reflect')
F.pad(Z(1, 1, 3), (1, 1, 1, 1, 1, 1), mode='reflect'); F.conv2d(Z(1, 1, 2, 2), Z(1, 1, 3, 3)); F.conv2d(Z(1, 2, 3, 3), Z(1, 1, 2, 2))
F.conv2d(Z(1, 2, 3, 3), Z(3, 1, 2, 2), groups=2); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), Z(2)); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), stride=0)
F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), padding=-1); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), dilation=0)
F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), padding='x'); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), padding='same', stride=2)
F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2)); F.conv2d(Z(3, 3), Z(1, 1, 2, 2)); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2).double())
F.conv2d(Z(1, 1, 3, 3), Z(0, 1, 2, 2)); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 0, 2)); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), groups=0)
F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), stride=(1, 1, 1)); F.conv_transpose2d(Z(1, 1, 3, 3), Z(2, 1, 2, 2))
F.conv_transpose2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), output_padding=2); F.conv_transpose2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), padding=5)
F.conv_tbc(Z(3, 1, 1), Z(2, 2, 1), Z(1)); F.conv1d(Z(1, 1, 3), Z(1, 1, 2), bias=Z(1, 1)); F.conv1d(Z(1, 1, 3), Z(1, 1, 0))
F.conv3d(Z(1, 1, 3, 3, 3), Z(1, 1, 0, 1, 1)); F.conv_transpose1d(Z(1, 1, 3), Z(1, 1, 0)); F.conv_transpose1d(Z(1, 1, 3), Z(1, 1, 2), padding=5)
F.conv_transpose3d(Z(1, 1, 3, 3, 3), Z(1, 1, 2, 2, 2), padding=5); F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 0, 2), dilation=2)
F.conv2d(Z(1, 1, 3, 3), Z(1, 1, 2, 0), padding=1); F.conv_transpose2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), padding=2).shape
F.conv2d(Z(1, 1, 0, 3), Z(1, 1, 1, 1)); F.conv2d(Z(1, 1, 0, 3), Z(1, 1, 1, 1), padding=1).shape; F.conv_transpose2d(Z(1, 1, 0, 3), Z(1, 1, 2, 2))
F.conv_transpose2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), stride=0); F.conv_transpose2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), dilation=0)
F.conv_transpose2d(Z(1, 1, 3, 3), Z(1, 1, 2, 2), padding=-1).shape; F.one_hot(torch.tensor([0]), 0); F.one_hot(torch.tensor([0]), -2)
F.one_hot(torch.zeros(0, dtype=torch.long), 0); F.one_hot(torch.zeros(0, dtype=torch.long), -3); F.glu(one, -1)
F.embedding(torch.zeros(0, dtype=torch.long), Z(0, 2)).shape; F.embedding(torch.tensor([[0]]), Z(0, 2))
torch.index_select(Z(0, 2), 0, torch.tensor([0])); torch.prelu(Z(2, 3), Z(2, 3)); F.prelu(Z(2, 3), Z(1, 1)).shape; F.prelu(Z(2, 3), Z(1, 3))
F.prelu(Z(2, 3), Z(3, 1)); F.prelu(Z(3), Z(2, 2)); torch.prelu(Z(2, 3), Z(2)); F.binary_cross_entropy_with_logits(Z(2, 3), Z(2, 3), weight=Z(2))
F.binary_cross_entropy_with_logits(Z(2, 3), Z(2, 3), weight=Z(4, 2, 3)).shape; F.prelu(Z(2, 3), Z(2).double()); F.prelu(Z(2, 3), Z(3).double())
torch.broadcast_shapes((2,), (3,)); torch.broadcast_shapes(torch.Size((2,)), torch.Size((3,))); torch.broadcast_shapes(2, 3)
torch.broadcast_shapes([2], [3])
"""

TENSORS = """
x.view(5); x.view(-1, -1); x.view(3, -2); x.view(0, -1); Z(0).view(-1, 0); x.t().view(12); x.reshape(5); x.reshape(-1, 5); x.reshape(-1, -1)
x.permute(0); x.permute(0, 0); x.permute(0, 2); x.transpose(0, 2); x.t().t(); Z(2, 2, 2).t(); x.squeeze(2); x.squeeze((0, 0)); x.unsqueeze(3)
x.unsqueeze(-4); x.expand(2, 3, 5); x.expand(4); x.expand(-1, 3, 4); x.expand(2, -1, 4); x.expand(3, -2); x.flatten(1, 0); x.flatten(0, 2)
x.unflatten(1, (2, 3)); x.unflatten(2, (2, 2)); x.unflatten(1, ()); x.narrow(0, 0, 4); x.narrow(0, 4, 0); x.narrow(0, -4, 1); x.narrow(0, 0, -1)
x.narrow(2, 0, 1); one.narrow(0, 0, 1); x.select(0, 3); x.select(0, -4); x.select(2, 0); one.select(0, 0); x.split(0); x.split(-1); x.split([1, 1])
x.split([4, -1]); x.split(2, 2); x.chunk(0); x.chunk(-1); one.chunk(2); x.unbind(2); one.unbind(); x.tile(()); x.tile(2, -1); x.repeat(2)
x.repeat(-1, 1); x.repeat(()); x.repeat_interleave(-1); x.repeat_interleave(torch.tensor([1, 2]), 0); x.repeat_interleave(torch.tensor([1, -1, 1]), 0)
x.repeat_interleave(2.0); x.roll(1, 2); x.roll((1, 2), 0); x.roll(1); x.flip(2); x.flip(0, 0); x.rot90(1, (0, 0)); x.rot90(1, (0, 2))
x.rot90(1, (0,)); v.rot90(); x.diagonal(0, 0, 0); x.diagonal(5); x.diagonal(-5); v.diagonal(); x.diag(5); one.diag(); Z(2, 2, 2).diag()
x.unfold(0, 4, 1); x.unfold(0, 1, 0); x.unfold(0, -1, 1); x.unfold(2, 1, 1); one.unfold(0, 1, 1); one.unfold(0, 2, 1); x.as_strided((2, 2), (1,))
x.as_strided((4, 4), (4, 1)); x.as_strided((2, 2), (-1, 1)); x.as_strided((2, 2), (1, 1), -1); x.as_strided((2, 2), (1, 1), 20); x.movedim(0, 2)
x.movedim((0, 1), (0, 0)); x.movedim((0,), (0, 1)); x.swapaxes(0, 2); x.mT; v.mT; one.mT; v.T; Z(2, 2, 2).T; one.T; Z(2, 2, 2).H; v.H; x[3]; x[-4]
x[0, 0, 0]; x[None, None]; x[..., ...]; x[0.5]; x['a']; x[1:0]; x[::-1]; x[::0]; x[i, i, i]; x[torch.tensor([3])]; x[torch.tensor([-4])]
x[torch.tensor([0.0])]; x[torch.tensor([True])]; x[torch.tensor([True, False, True])]; x[b[:2]]; x[b, 0]; x[:, b]; x[torch.tensor(True)]
x[torch.tensor(False)]; x[True]; x[False]; x[[0, 3]]; x[[[0, 1]]]; x[i, torch.tensor([0, 1, 2])]; x[i[:, None], i]; x[0,]; x[()]; x[slice(0, 2)]
x[torch.tensor(0)]; x[torch.tensor(5)]; x[torch.tensor([], dtype=L)]; x[torch.tensor([])]; x[[]]; one[0]; one[...]; one[None]; one[()]; one[True]
one[torch.tensor([0])]; x[0:2.5]; x[torch.tensor(1):]; x[1:torch.tensor(3)]; x[range(2)]; x[i,]; x[{0}]; x[b.byte()]; x[i.byte()]; x[i.int()]
x[i.short()]; x.sum(2); x.sum((0, 0)); x.sum(()); x.sum([]); x.sum(dim=None); x.sum(0.0); x.mean(2); x.long().mean()
x.long().mean(dtype=torch.float32); x.prod((0, 1)); x.prod(2); x.max(2); x.amax((0, 0)); x.amax(2); x.argmax(2); x.argmax((0, 1)); Z(0).max()
Z(0).argmax(); Z(0).sum(); Z(0).mean(); Z(0).prod(); Z(0, 3).max(0); Z(0, 3).max(1); Z(0, 3).amax(0); Z(0, 3).argmax(1); Z(0).median()
Z(0, 2).median(0); Z(0).std(); Z(1).std(); Z(0).var(correction=0); x.std(2); x.std(correction=20); x.norm(2, 2); x.norm('x'); x.norm(p='nuc', dim=0)
x.norm(p='fro', dim=(0, 0)); v.norm('nuc'); x.logsumexp(2); x.cumsum(2); one.cumsum(0); one.cumsum(1); x.cumprod(-3); x.cummax(2); x.logcumsumexp(2)
x.all(2); x.any((0, 0)); x.count_nonzero(2); x.nansum(2); x.kthvalue(0); x.kthvalue(5); x.kthvalue(1, 2); x.topk(5); x.topk(-1); x.topk(1, 2)
one.topk(1); one.topk(2); one.topk(0); x.sort(2); one.sort(); x.argsort(2); x.mode(2); Z(0).mode(); Z(2, 0).mode(); Z(0, 2).mode(); x.quantile(1.5)
x.quantile(-0.1); x.quantile(torch.tensor([0.5, 2.0])); x.quantile(0.5, 2); Z(0).quantile(0.5); x.quantile(0.5, interpolation='x')
x.quantile(torch.tensor([[0.5]])); x.histc(0); x.histc(-1); x.histc(4, 1, 0); x.histc(4, nan, 1); x.bincount(); torch.tensor([-1]).bincount()
torch.tensor([[1]]).bincount(); i.bincount(torch.ones(3)); i.bincount(minlength=-1); Z(0, dtype=L).bincount(); x.unique(dim=2); one.unique(dim=0)
x.unique_consecutive(dim=2); Z(0).unique(); Z(0, 2).unique(dim=0); Z(0, 2).unique(dim=1); x.trace(); v.trace(); Z(2, 2, 2).trace()
x.cov(correction=5); Z(2, 2, 2).cov(); x.cov(fweights=i); x.cov(fweights=torch.tensor([1, -1, 1, 1])); x.cov(fweights=v); x.cov(aweights=-v)
Z(2, 2, 2).corrcoef(); x.diff(n=5); x.diff(dim=2); torch.trapezoid(x, dim=2); torch.trapezoid(x, Z(3)); torch.cumulative_trapezoid(x, dim=2)
torch.gradient(x, spacing=(1.0,)); torch.gradient(x, dim=(0, 0)); torch.gradient(v[:1]); torch.gradient(v, edge_order=3)
torch.gradient(v, spacing=0.0); x @ v[:3]; x @ x; v @ v[:2]; one @ v; v @ one; x @ Z(4, 0); Z(2, 3, 4) @ Z(3, 4, 5); Z(2, 3, 4) @ Z(2, 3, 5); x.mm(v)
x.mm(x); v.mm(x); x.mv(v[:3]); v.mv(v); x.mv(x); v.dot(x); v.dot(v[:2]); one.dot(one); v.outer(x); x.bmm(x); Z(2, 3, 4).bmm(Z(3, 4, 5))
Z(2, 3, 4).bmm(Z(2, 3, 5)); torch.addmm(x, x, x); torch.addmm(v, x, x.t()); torch.addmm(Z(2), x, x.t()); torch.addmm(one, x, x.t())
torch.addmm(Z(2, 3, 3), x, x.t()); torch.addmv(Z(2), x, v); torch.addr(Z(2, 2), v, v); torch.addr(one, v, v)
torch.addbmm(Z(2, 2), Z(2, 3, 4), Z(2, 4, 5)); torch.baddbmm(Z(3, 3), Z(2, 3, 4), Z(2, 4, 5)); torch.tensordot(x, x, 3)
torch.tensordot(x, x, ([0], [1])); torch.tensordot(x, x, ([0, 0], [0, 0])); torch.tensordot(x, x, ([2], [0])); torch.tensordot(x, x, -1)
torch.kron(one, x); torch.chain_matmul(x, x); torch.linalg.multi_dot([x]); torch.linalg.multi_dot([x, x]); torch.linalg.multi_dot([one, x])
torch.linalg.multi_dot([x, Z(2, 2, 2), x]); torch.einsum('ij,jk', x, x); torch.einsum('ij->k', x); torch.einsum('ij', v); torch.einsum('ii', x)
torch.einsum('i j, j k -> i k', x, x.t()); torch.einsum('ij,jk->ii', x, x.t()); torch.einsum('', x); torch.einsum('...i,...i', x, v)
torch.einsum('i...->', x); torch.einsum('ij->ji...', x); torch.einsum('i1', x); torch.einsum('ij,', x); torch.einsum('ij->ij->ij', x)
torch.einsum('ij', x, x); torch.einsum('ij,jk', x); torch.einsum('....', x); torch.einsum(x, [0, 1], [1, 0]); torch.einsum(x, [0, 52])
torch.einsum(x, [0]); torch.cross(v, v); torch.cross(x, x); torch.cross(x.t(), x.t()); torch.dist(x, v[:3]); torch.cdist(x, v)
torch.cdist(x, x[:, :2]); torch.inner(x, v[:3]); torch.vdot(x, x); torch.matrix_power(x, 2); torch.det(x); torch.inverse(x); torch.linalg.solve(x, x)
torch.linalg.solve(torch.eye(3), v); torch.linalg.inv(Z(2, 2)); torch.linalg.cholesky(-torch.eye(2)); torch.linalg.eigh(x)
torch.linalg.eigh(torch.eye(2), 'x'); torch.linalg.qr(x, 'x'); torch.linalg.qr(v); torch.linalg.svd(v); torch.linalg.matrix_rank(v)
torch.linalg.vander(one); torch.linalg.vecdot(x, v[:3]); torch.linalg.norm(x, ord='x'); torch.linalg.norm(x, ord=3)
torch.linalg.norm(Z(2, 2, 2), ord=2); torch.linalg.norm(Z(0), ord=inf); torch.linalg.norm(Z(0, 2), ord=2); torch.linalg.vector_norm(Z(0), ord=-1)
torch.linalg.vector_norm(Z(0), ord=inf); torch.linalg.vector_norm(Z(0)); torch.linalg.matrix_norm(v); torch.linalg.matrix_norm(x, dim=(0, 0))
torch.linalg.matrix_norm(x, dim=(0, 1, 2)); torch.linalg.matrix_norm(x, ord=3); torch.linalg.cond(Z(2, 2)); torch.linalg.cond(x, p=1)
torch.linalg.cond(x, p='x'); torch.linalg.tensorinv(x); torch.linalg.tensorsolve(x, v); torch.linalg.lu(v); torch.linalg.lu_factor(v)
torch.linalg.solve_triangular(x, x, upper=True); torch.cholesky_solve(x, x); torch.cholesky_inverse(x); torch.tril(v); torch.triu(one)
torch.tril_indices(-1, 2); torch.triu_indices(2, 2, 5); torch.tril(x, 10); torch.block_diag(Z(2, 2, 2)); torch.vander(x); torch.vander(v, -1)
torch.cartesian_prod(x); torch.combinations(x); torch.combinations(v, -1); torch.combinations(v, 5); torch.combinations(v, 0)
torch.meshgrid(v, v, indexing='x'); torch.broadcast_to(x, (2, 4)); torch.broadcast_tensors(x, Z(2, 4)); torch.atleast_2d(v); torch.cat([x, v])
torch.cat([x, Z(3, 5)]); torch.cat([x, x], 2); torch.cat([one, one]); torch.cat([x, Z(0)]); torch.cat([x, Z(0, 0)]); torch.cat([x, Z(0, 3)])
torch.stack([x, v]); torch.stack([x, x], 3); torch.stack([x, x], -4); torch.hstack([x, v]); torch.vstack([x, Z(5)]); torch.where(b, x, v[:3])
torch.where(x, x, x); torch.where(b); torch.where(x); torch.where(b, 1, 2); torch.where(b, x, 'a'); torch.masked_select(x, b[0])
torch.masked_select(x, x); torch.masked_select(x, b[:2]); x.masked_fill(x, 1); x.masked_fill(b[:2], 1); x.masked_fill(b, v); x.masked_fill(b[None], 1)
x.masked_scatter(b, v[:2]); x.masked_scatter(x, v); torch.take(x, torch.tensor([12])); torch.take(x, torch.tensor([-13])); torch.take(x, v)
torch.take(Z(0), i); x.put(torch.tensor([12]), one); x.put(i, v); x.put(i, v[:2].double()); torch.take_along_dim(x, i); torch.take_along_dim(x, i, 0)
torch.take_along_dim(x, i[None], 0); torch.take_along_dim(x, i[None].int(), 0); x.index_select(2, i); x.index_select(0, torch.tensor([3]))
x.index_select(0, i[None]); x.index_select(0, v); one.index_select(0, i); x.index_add(0, i, x); x.index_add(0, i, x[:2].double())
x.index_add(0, i, Z(2, 3)); x.index_add(0, torch.tensor([3]), x[:1]); x.index_add(0, v, x); x.index_add(2, i, x); x.index_copy(0, i, x)
x.index_copy(0, i, x[:2].double()); x.index_copy(0, torch.tensor([3]), x[:1]); x.index_copy(0, i, one); x.index_fill(0, torch.tensor([3]), 1)
x.index_fill(0, v, 1); x.index_fill(0, i, v); x.index_fill(2, i, 1); x.index_put((i,), Z(3, 4)); x.index_put((i, i), Z(3))
x.index_put((i, i, i), one); x.index_put((v,), one); x.index_put((i,), one.double()); x.index_put((torch.tensor([3]),), one)
x.index_reduce(0, i, x, 'prod'); x.index_reduce(0, i, x[:2], 'sum'); x.index_reduce(0, i, x[:2].double(), 'prod'); x.index_reduce(0, v, x, 'prod')
x.index_reduce(0, i, Z(2, 3), 'prod'); x.index_reduce(0, torch.tensor([3]), x[:1], 'prod'); x.index_reduce(0, i[None], x[:2], 'prod')
x.select_scatter(v, 2, 0); x.select_scatter(v, 0, 3); x.select_scatter(x, 0, 0); x.slice_scatter(x, 0, 0, 2); x.slice_scatter(v, 0)
x.diagonal_scatter(v); x.diagonal_scatter(v[:3], 0, 0, 0); x.as_strided_scatter(v, (2,), (1,)); x.scatter_reduce(0, i[None], x, 'x')
torch.searchsorted(x, v); torch.searchsorted(x, x[:2]); torch.searchsorted(v, x, side='x'); torch.searchsorted(v, x, right=True, side='left')
torch.searchsorted(one, v); torch.searchsorted(v, x, sorter=i); torch.searchsorted(v, v, sorter=torch.tensor([0, 1, 2, 4])); torch.bucketize(v, x)
torch.bucketize(v, one); torch.isin(x, 'a'); torch.clamp(x); torch.clamp(x, 'a'); torch.clamp(x, v, 1.0); torch.clamp(x, Z(2)); torch.clamp(x, 2, 1)
torch.lerp(x, v[:3], 0.5); torch.lerp(x, x, v[:3]); torch.lerp(x, x.double(), 0.5); torch.addcmul(x, v[:3], v); torch.addcdiv(x, x, x.long())
torch.addcdiv(x.long(), x.long(), x.long()); torch.pow(x.long(), -1); torch.pow(2, x); torch.pow(one, 'a'); torch.fmod(x.long(), 0)
torch.remainder(x.long(), 0); x.long() // 0; x.long() % 0; x / 0; x // 0; torch.bitwise_and(x, x); torch.bitwise_not(x)
torch.bitwise_left_shift(x, 1); x << 1; x.long() << 1; x >> 1; ~x; -b; b - b; b + b; b * b; x ^ x; x.long() ^ b; x & 1; x.long() | True
torch.logical_xor(x, v[:3]); torch.neg(b); torch.abs(b); torch.sign(b); torch.sqrt(b); torch.exp(b); torch.floor(b); torch.ceil(b); torch.round(b)
torch.round(x, decimals=400); torch.frac(x.long()); torch.nan_to_num(x, 'a'); torch.logit(x, 2.0); torch.logit(x.long()); torch.polygamma(-1, x)
torch.mvlgamma(x, 0); torch.mvlgamma(x, 2); torch.erfinv(b); torch.gcd(x, x); torch.gcd(i, 2); torch.lcm(i, i); torch.heaviside(x, v[:3])
torch.copysign(x, v[:3]); torch.nextafter(x, v[:3]); torch.hypot(x.long(), x.long()); torch.logaddexp(x.long(), x.long())
torch.igamma(x.long(), x.long()); torch.float_power(x, x[:2]); torch.ldexp(x, v[:3]); torch.xlogy(x, x[:2]); torch.maximum(x, v[:3])
torch.isclose(x, x.double()); torch.equal(x, x.long()); torch.isclose(x, x, rtol=-1); torch.can_cast(torch.float32, 'a'); torch.einsum(x, [0, -1])
torch.einsum(x, [0, 1]); torch.einsum(x, [1, 0]); torch.tensordot(x, x, ([0], [2])); torch.tensordot(x, x, ([0], [0, 1]))
torch.linalg.multi_dot([x, one]); torch.linalg.multi_dot([x, one, x]); torch.linalg.multi_dot([Z(2, 2, 2), x])
torch.linalg.multi_dot([x, Z(2, 2, 2)]); torch.linalg.cond(torch.eye(2), p='x'); torch.linalg.cond(torch.eye(2), p=3); torch.linalg.cond(x, p='fro')
torch.cholesky_solve(x, torch.eye(2)); torch.cholesky_solve(x, one); torch.cholesky_inverse(v); torch.cartesian_prod(v, x); torch.cartesian_prod(one)
torch.isin(1, 2); torch.clamp(x, 1.0, v); torch.take(Z(0), torch.zeros(0, dtype=torch.long)); x.index_copy(0, i[:1], one); v.index_copy(0, i[:1], one)
v.index_copy(0, i, one); x.index_reduce(0, i, one, 'prod'); v.index_reduce(0, i[:1], one, 'prod'); v.index_reduce(0, torch.tensor(0), one, 'prod')
x.index_reduce(0, torch.tensor([-1]), x[:1], 'prod'); x.index_reduce(0, i.int(), x[:2], 'prod').sum(); x.index_reduce(0, i, Z(2), 'prod')
torch.round(x, decimals=400).sum(); torch.round(x, decimals=-400).sum(); torch.mvlgamma(x + 5, 1).sum(); x.prod(dim=(0,)); torch.prod(x, [0])
torch.trapezoid(one); torch.linalg.norm(Z(0, 2), ord=1); torch.linalg.norm(Z(2, 0), ord=1); torch.linalg.norm(Z(0, 2), ord='nuc')
torch.linalg.norm(Z(0, 0), ord=2); torch.linalg.matrix_norm(Z(0, 2), ord=-1); torch.linalg.matrix_norm(Z(2, 0), ord=-1)
torch.linalg.matrix_norm(Z(2, 0), ord=float('inf')); torch.linalg.matrix_norm(Z(0, 2), ord=float('inf'))
x[Z(0) > 0]; x[Z(0, 4) > 0]; v[Z(0) > 0]; x[:, Z(0) > 0]; x[Z(3, 0) > 0]; v.index_put((Z(0) > 0,), one); x[:0][Z(0) > 0]; x[:0][Z(0, 4) > 0]; x.clone().__setitem__(Z(0) > 0, Z(0))
torch.gather(v, 0, Z(0)); torch.gather(x, 0, Z(0, 4) > 0); torch.gather(x, 0, Z(1, 4)); v.scatter(0, Z(0), Z(0)); x.scatter_add(0, Z(0, 4), Z(0, 4)); x.scatter_reduce(0, Z(0, 4), x, 'amax')
x.index_copy(0, i[None], x); x.index_copy(0, i.int(), x[:2]); one.index_copy(0, i, x[:2]); one.index_copy(0, i * 0, v[:2]); one.index_copy(0, i[:0], Z(0)); v.index_copy(0, i.double(), v[:1])
"""

MOVING = """
ad, x = torch.autograd.forward_ad, torch.tensor([[0.0, 2.0, -1.0], [1.0, 0.5, 3.0]], dtype=torch.float64)
m = x.mT @ x + torch.eye(3, dtype=torch.float64)
v = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)
with ad.dual_level():
    for dim in (0, 1):
        out[f"logcumsumexp {dim}"] = ad.unpack_dual(ad.make_dual(x, v[:2]).logcumsumexp(dim)).tangent
    for upper in (False, True):
        out[f"cholesky {upper}"] = ad.unpack_dual(torch.linalg.cholesky(ad.make_dual(m, v), upper=upper)).tangent
    out["old cholesky"] = tried(lambda: torch.cholesky(ad.make_dual(m, v))).partition("\\n")[0]
    out["unpooled"] = ad.unpack_dual(F.max_unpool1d(ad.make_dual(x[:1], v[:1]), torch.tensor([[0, 2, 4]]), 2)).tangent
    out["ctc"] = tried(lambda: F.ctc_loss(ad.make_dual(x[:, None], v[:2, None]), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))).partition("\\n")[0]
x, w = torch.ones(1, 1, 1, 1, 6, dtype=torch.float64, requires_grad=True), torch.ones(1, 1, 1, 1, 3, dtype=torch.float64, requires_grad=True)
out["convolution"] = torch.autograd.gradgradcheck(lambda x, w: F.conv3d(x, w), (x, w), check_fwd_over_rev=True)
out["seen by jvp"] = torch.func.jvp(lambda t: t.logcumsumexp(0), (x.detach().reshape(-1),), (x.detach().reshape(-1) * 2,))[1]
for name, f in (("sum", lambda t: (t.sin().logcumsumexp(1) * v[:2]).sum()), ("last", lambda t: t.logcumsumexp(0)[1, 1] ** 2)):
    t = v.reshape(-1)[3:6] * x.new_tensor([[1.0], [-1.0]])
    out[f"second derivatives {name}"] = torch.func.hessian(f)(t), torch.func.jacfwd(torch.func.jacfwd(f))(t)
    out[f"along {name}"] = torch.func.jvp(torch.func.grad(f), (t,), (t,)), torch.func.grad(lambda t: torch.func.jvp(f, (t,), (t,))[1])(t)
out["of each"] = torch.func.vmap(torch.func.grad(lambda t: t.logcumsumexp(0)[1]))(v)
"""

NAMES = """
    r, m, s, q = torch.tensor([0.5, -1.0, 2.0, 1.0]), torch.arange(12.0).reshape(3, 4), torch.eye(2), torch.zeros(5, 5, 5)
    loop = []
    loop.append(loop)
"""
OPERANDS = """
    x, v, i, one, Z, L = torch.arange(12.0).reshape(3, 4), torch.arange(4.0), torch.tensor([0, 1]), torch.tensor(1.0), torch.zeros, torch.long
    b = x > 3
"""
LEAVES = """
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.5, 2.0, 3.0], [4.0, -5.0, 6.0]))
"""
HALVES = """
def listed(f):
    try:
        return f().tolist()
    except RuntimeError as error:
        return str(error)

x, y = (torch.arange(1, 41) * 0.37 - 7).half(), (torch.arange(1, 41) * 0.21).half()
for n in (2.3, 0.1, 3, 2049, -0.7, 1e6):
    out[str(n)] = {
        name: listed(f)
        for name, f in dict(
            add=lambda: x + n, subtract=lambda: x - n, reversed=lambda: n - x, multiply=lambda: x * n, divide=lambda: x / n,
            fmod=lambda: torch.fmod(x, n), remainder=lambda: x % n, power=lambda: y**n, into=lambda: x.clone().add_(n),
            of_number=lambda: abs(n) ** x, rsub=lambda: torch.rsub(x, n), less=lambda: x < n,
        ).items()
    }  # fmt: skip
"""

PLACES = """
    x, ten, n, six, i, b = torch.arange(6.0), torch.arange(6.0) + 10, torch.arange(6), torch.arange(6), torch.tensor([0, 1, 2]), torch.ones(6).bool()
    one, m, last = torch.ones(1).expand(6), torch.arange(6.0).reshape(3, 2), torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)

    def put(t, where, value):
        t[where] = value
        return t
"""


def each(texts, setup):
    return START + EACH.format(texts=texts.strip().replace("\n", "; "), setup=setup.strip())


PROGRAMS = {
    "pools": START + POOLS,
    "margins": START + MARGINS,
    "scatters": START + SCATTERS,
    "settings": each(SETTINGS, NAMES),
    "types": START + TABLE.format(texts=TYPES.strip().replace("\n", "; ")),
    "in place": each(IN_PLACE, LEAVES),
    "memory": each(MEMORY, PLACES),
    "layers": each(LAYERS, "Z, L, one = torch.zeros, torch.long, torch.tensor(1.0)"),
    "tensors": each(TENSORS, OPERANDS),
    "forward mode": START + MOVING,
    "two results": START + SEVERAL,
    "images of bytes": START + BYTES,
    "random": START + RANDOM,
    "numbers beside halves": START + HALVES,
}
STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_does_not_fit_ends_as_in_pytorch(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


def test_the_record_is_what_live_pytorch_does():
    check_live(STORED, PROGRAMS)
