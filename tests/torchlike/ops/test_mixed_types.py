"""Operands of different types: where they meet, and where they are refused, for every pair of types, with and without gradients.

Each expression is tried on operands of all pairs of types; what is recorded says which pairs lead to which result. Recorded and live.

To record: `python -m tests.record mixed_types`.
"""

import pytest
from recorded import check_live, differences, run, stored

EXPRESSIONS = """
torch.cat([a, b]); torch.cat([b, a]); torch.stack([a, b]); torch.hstack([a, b]); torch.vstack([a, b]); torch.dstack([a, b])
torch.column_stack([a, b]); torch.cat([a, b[:0]]); torch.block_diag(a, b); torch.diff(a, prepend=b); torch.meshgrid(a, b)
torch.where(a > 0, a, b); torch.where(a > 0, a, 2.0); torch.broadcast_tensors(a, b); torch.cartesian_prod(a, b)
torch.add(a, b); torch.mul(a, b); torch.sub(a, b, alpha=2); a / b; a ** b; torch.atan2(a, b); torch.rsub(a, b); torch.fmod(a, b)
torch.remainder(a, b); torch.floor_divide(a, b); torch.hypot(a, b); torch.copysign(a, b); torch.nextafter(a, b); torch.xlogy(a, b)
torch.logaddexp(a, b); torch.heaviside(a, b); torch.maximum(a, b); torch.fmax(a, b); torch.float_power(a, b); torch.isclose(a, b)
torch.eq(a, b); torch.lerp(a, b, 0.5); torch.lerp(a, b, b); a.clone().lerp_(b, 0.5); a.clone().lerp_(b, b); torch.addcmul(a, b, b)
torch.addcdiv(a, b, b); torch.clamp(a, min=b); torch.clamp(a, b, a); torch.clamp(a, max=b); a.clone().clamp_(min=b)
torch.cross(a3, b3, dim=0); torch.dot(a, b); torch.outer(a, b); torch.inner(a, b); torch.kron(a, b); torch.tensordot(a, b, 1)
a2 @ b2; torch.mm(a2, b2); torch.mv(a2, b); torch.addmm(a2, b2, b2); torch.addmv(a, b2, b); torch.addmv(a, a2, b)
torch.bmm(a2[None], b2[None]); torch.baddbmm(a2[None], b2[None], b2[None]); torch.addbmm(b2, a2[None], a2[None]); torch.addr(a2, b, b)
torch.linalg.multi_dot([a2, b2]); torch.chain_matmul(a2, a2, b2); torch.cdist(a2, b2); torch.einsum("i,j->ij", a, b)
a.clone().add_(b); a.clone().mul_(b); a.clone().div_(b); a.clone().pow_(b); a.clone().copy_(b); a.clone().fill_(b[0])
a.clone().addcmul_(b, b); a.clone().masked_fill_(a > 0, b[0]); a.masked_fill(a > 0, b[0]); a.index_put((i,), b); a.index_add(0, i, b)
a.index_copy(0, i, b); a.index_fill(0, i, b[0]); a.scatter(0, i, b); a.scatter_add(0, i, b); a.scatter_reduce(0, i, b, "amax")
a.put(i, b); torch.select_scatter(a2, b, 0, 0); torch.slice_scatter(a, b); torch.diagonal_scatter(a2, b)
torch.searchsorted(a, b); torch.bucketize(a, b); torch.result_type(a, b); torch.trapezoid(a, b); torch.cov(a2, fweights=i)
torch.gradient(a, spacing=(b,)); torch.cosine_similarity(a, b, 0); torch.quantile(a, b / 2)
F.linear(a2, b2); F.linear(a2, b2, b); F.bilinear(a2, a2, b2[None]); F.bilinear(a2, b2, a2[None]); F.mse_loss(a.float(), b); F.l1_loss(a, b)
F.huber_loss(a, b.detach()); F.kl_div(a, b); F.soft_margin_loss(a, b.detach()); F.soft_margin_loss(a.float(), b); F.margin_ranking_loss(a, b, a)
F.binary_cross_entropy_with_logits(a, b.float()); F.binary_cross_entropy(a / 2, b / 2); F.nll_loss(a2, i, b.detach()); F.nll_loss(a2, i, a)
F.multi_margin_loss(a2.float(), i, weight=a.float()); F.binary_cross_entropy_with_logits(a.float(), a.float(), b); F.binary_cross_entropy_with_logits(a, a, pos_weight=a)
F.binary_cross_entropy(a / 2, a / 2, b); F.batch_norm(a2, a, torch.ones_like(a)); F.prelu(a, b[:1]); F.glu(a); F.embedding(i, a2)
F.layer_norm(a2, (2,), b, b); F.rms_norm(a2, (2,), b); F.cosine_embedding_loss(a2, b2, a); F.hinge_embedding_loss(a, b)
"""
KINDS = {"f16": "float16", "f32": "float32", "f64": "float64", "i64": "int64", "bool": "bool"}

PROGRAM = """
import warnings
warnings.simplefilter("ignore")
F = torch.nn.functional

def made(kind, values, wanted):
    t = torch.tensor(values, dtype=getattr(torch, kind))
    return t.requires_grad_() if wanted and t.is_floating_point() else t

def seen(x):
    return [seen(t) for t in x] if isinstance(x, (tuple, list)) else f"{{x.dtype}} {{list(x.shape)}}" if isinstance(x, torch.Tensor) else str(x)

for wanted in (False, True):
    table = {{}}
    for left, one in {kinds}.items():
        for right, other in {kinds}.items():
            a, b, i = made(one, [1, 2], wanted), made(other, [2, 1], wanted), torch.tensor([0, 1])
            a2, b2 = made(one, [[1, 2], [1, 1]], wanted), made(other, [[1, 2], [2, 1]], wanted)
            a3, b3 = made(one, [1, 2, 3], wanted), made(other, [1, 2, 1], wanted)
            try:
                found = str(seen({expression}))
            except Exception as error:
                found = f"{{type(error).__name__}}: {{str(error)[:110]}}"
            table.setdefault(found, []).append(f"{{left}} {{right}}")
    out["with gradients" if wanted else "plain"] = table
"""

PROGRAMS = {
    e.strip(): PROGRAM.format(expression=e.strip(), kinds=KINDS)
    for line in EXPRESSIONS.strip().splitlines()
    for e in line.split(";")
}
STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_types_meet_as_in_pytorch(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


def test_the_record_is_what_live_pytorch_does():
    check_live(STORED, PROGRAMS)
