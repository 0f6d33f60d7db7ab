"""`out=` of another type than the result: converted, computed in, or refused, for every pair of types. Recorded and live.

To record: `python -m tests.record out_types`.
"""

import pytest
from recorded import check_live, differences, run, stored

CALLS = """
neg(x); floor(x); ceil(x); trunc(x); round(x); abs(x); sign(x); sgn(x); clamp(x, 0, 1); square(x); positive(x); relu(x); sqrt(x)
reciprocal(x); sigmoid(x); isnan(x); logical_not(x); signbit(x); cumsum(x, 0); cumprod(x, 0); sum(x, 0); prod(x, 0); amax(x, 0); amin(x, 0)
argmax(x, 0); all(x, 0); any(x, 0); tril(m); triu(m); diag(m); nonzero(x); nan_to_num(x); add(x, 1); mul(x, 2); div(x, 2); sub(x, x + 1)
remainder(x, 2); floor_divide(x, 2); pow(x, 2); eq(x, 1); lt(x, 1); maximum(x, x); minimum(x, x); logical_and(x, x); where(x > 0, x, x)
dot(x, x); mm(m, m); outer(x, x); gather(x, 0, i); take(x, i); index_select(x, 0, i); masked_select(x, x > 0); cat([x]); stack([x]); addcmul(x, x, x)
msort(x); isin(x, x); isposinf(x); isneginf(x); matmul(m, m); matmul(m, x); matmul(x, x); mv(m, x); inner(x, x); vdot(x, x)
addmm(m, m, m); addmv(x, m, x); addr(m, x, x); addbmm(m, m[None], m[None]); baddbmm(m[None], m[None], m[None]); bmm(m[None], m[None])
index_add(x, 0, i, x); index_copy(x, 0, i, x); index_reduce(x, 0, i, x, "prod"); scatter(x, 0, i, x); scatter_add(x, 0, i, x)
scatter_reduce(x, 0, i, x, "sum"); take_along_dim(x, i); clamp_min(x, 1); clamp_max(x, 1); float_power(x, 2)
cross(m[:, :1].expand(2, 3), m[:, :1].expand(2, 3), dim=1); linalg.cross(m[:, :1].expand(2, 3), m[:, :1].expand(2, 3)); searchsorted(x, x)
bucketize(x, x, out_int32=True); quantile(x, 0.5); kron(x, x)
sum(x, 0, dtype=torch.float32); prod(x, 0, dtype=torch.float32); cumsum(x, 0, dtype=torch.float32); mean(x, 0, dtype=torch.float32)
"""

PROGRAM = """
import warnings
warnings.simplefilter("ignore")
kinds = dict(f16="float16", f32="float32", f64="float64", i32="int32", i64="int64", u8="uint8", bool="bool")
table = {{}}
for left, one in list(kinds.items())[:-1]:
    for right, other in kinds.items():
        x = torch.tensor([1, 1], dtype=getattr(torch, one))
        m, i = torch.eye(2).to(x.dtype), torch.tensor([0, 0])
        target = torch.zeros(0, dtype=getattr(torch, other))
        try:
            torch.{call[0]}({call[1]}, out=target)
            found = str((target.dtype, target.tolist()))
        except Exception as error:
            found = f"{{type(error).__name__}}: {{str(error)[:110]}}"
        table.setdefault(found, []).append(f"{{left}} {{right}}")
out["r"] = table
"""

PROGRAMS = {
    c.strip(): PROGRAM.format(call=c.strip()[:-1].split("(", 1))
    for line in CALLS.strip().splitlines()
    for c in line.split(";")
}
STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_out_is_filled_or_refused_as_in_pytorch(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


def test_the_record_is_what_live_pytorch_does():
    check_live(STORED, PROGRAMS)
