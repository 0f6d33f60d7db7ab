"""Arguments that do not fit: settings without sense, labels and places out of range, types an operation does not take, memory that is
read while it is written. What PyTorch refuses is refused with its words, and nothing else. Recorded and live.
"""

import pytest
from recorded import differences, live, run, stored

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
out["seen by jvp"] = torch.func.jvp(lambda t: t.logcumsumexp(0), (x.detach().reshape(-1),), (x.detach().reshape(-1) * 2,))[1].detach()
"""

NAMES = """
    r, m, s, q = torch.tensor([0.5, -1.0, 2.0, 1.0]), torch.arange(12.0).reshape(3, 4), torch.eye(2), torch.zeros(5, 5, 5)
    loop = []
    loop.append(loop)
"""
LEAVES = """
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.5, 2.0, 3.0], [4.0, -5.0, 6.0]))
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
    "forward mode": START + MOVING,
    "two results": START + SEVERAL,
    "images of bytes": START + BYTES,
    "random": START + RANDOM,
}
STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_does_not_fit_ends_as_in_pytorch(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_record_is_what_live_pytorch_does(name):
    assert not differences(live(STORED, PROGRAMS[name]), STORED["results"][name])
