"""Elementwise operations: values, gradients and second derivatives."""

import itertools
import math

import numpy as np
import pytest
from helpers import Op, binary, check_differences, check_like_pytorch, unary

import autograd_lab
from autograd_lab.torchlike.ops import numerics
from tests.each import each

NAN, INF = math.nan, math.inf


def functional(name, *args, **kwargs):
    """torch.nn.functional.<name> with further arguments."""
    return lambda torch, *tensors: getattr(torch.nn.functional, name)(*tensors, *args, **kwargs)


def special(name):
    """torch.special.<name>."""
    return lambda torch, *tensors: getattr(torch.special, name)(*tensors)


SMOOTH = [
    *unary("frexp", low=-9, high=9), *unary("exp"), *unary("exp2"), *unary("expm1"), *unary("log", low=0.2), *unary("log2", low=0.2), *unary("log10", low=0.2),
    *unary("log1p", low=-0.8), *unary("sqrt", low=0.1), *unary("rsqrt", low=0.1), *unary("square"), *unary("reciprocal", low=0.3),
    *unary("sin", low=-4, high=4), *unary("cos", low=-4, high=4), *unary("tan"), *unary("asin", low=-0.9, high=0.9),
    *unary("acos", low=-0.9, high=0.9), *unary("atan", low=-3, high=3), *unary("sinh"), *unary("cosh"),
    *unary("tanh", low=-3, high=3), *unary("asinh", low=-3, high=3), *unary("acosh", low=1.1, high=3),
    *unary("atanh", low=-0.9, high=0.9), *unary("sigmoid", low=-6, high=6), *unary("erf", low=-3, high=3),
    *unary("erfc", low=-3, high=3), *unary("erfinv", low=-0.95, high=0.95), *unary("lgamma", low=0.2, high=4),
    *unary("digamma", low=0.2, high=4), *unary("sinc", low=-3, high=3), *unary("deg2rad"), *unary("rad2deg"), *unary("neg"),
    *unary("logit", low=0.1, high=0.9), *unary("nan_to_num"), *unary("frac", low=0.1, high=0.9), *unary("abs", low=0.1),
    *unary("mvlgamma", lambda torch, x: torch.mvlgamma(x + 1, 2)), *unary("entr", special("entr"), low=0.1), *unary("i1", special("i1"), low=-4, high=4), *unary("log_ndtr", special("log_ndtr"), low=-8, high=3),
    *unary("ndtr", special("ndtr"), low=-3, high=3, skip=("edges",)), *binary("xlog1py", special("xlog1py")),
    *unary("torch.rrelu", lambda torch, x: torch.rrelu(x, 0.2, 0.4), skip=("saved",)), *unary("rrelu_", lambda torch, x: torch.rrelu_(x * 1), skip=("saved",)),
    *unary("i0", low=-4, high=4), *unary("positive"), *unary("relu", low=0.1), *unary("relu", low=-1, high=-0.1), *unary("selu"), *unary("celu"),
    *unary("sign", low=0.1), *unary("sgn", low=0.1), *unary("floor", low=0.1, high=0.9), *unary("ceil", low=0.1, high=0.9),
    *unary("trunc", low=0.1, high=0.9), *unary("round", low=0.1, high=0.4), *unary("hardshrink"),
    *unary("round decimals", lambda torch, x: torch.round(x, decimals=1), low=0.31, high=0.34),
    *unary("logit eps", lambda torch, x: torch.logit(x, 0.3), low=0.05, high=0.95),
    *unary("celu 2", lambda torch, x: torch.celu(x, 2.0)), *unary("polygamma", lambda torch, x: torch.polygamma(2, x), low=0.5, high=3),
    *unary("threshold", lambda torch, x: torch.threshold(x, 0.2, 5.0)), *unary("hardshrink .1", lambda torch, x: torch.hardshrink(x, 0.1)),
    *unary("leaky_relu", functional("leaky_relu", 0.2)), *unary("hardtanh", functional("hardtanh", -0.5, 0.4)),
    *unary("relu6", functional("relu6"), low=-3, high=9, skip=("saved",)), *unary("hardsigmoid", functional("hardsigmoid"), low=-5, high=5, second=False, tolerance=1e-7),
    *unary("hardswish", functional("hardswish"), low=-5, high=5), *unary("softshrink", functional("softshrink", 0.3)),
    *unary("elu", functional("elu", 1.5)), *unary("gelu", functional("gelu"), low=-3, high=3),
    *unary("gelu tanh", functional("gelu", approximate="tanh"), low=-3, high=3), *unary("silu", functional("silu"), low=-3, high=3),
    *unary("mish", functional("mish"), low=-3, high=3), *unary("softplus", functional("softplus"), low=-3, high=3),
    *unary("softplus 2", functional("softplus", 2.0, 1.5), low=-3, high=3), *unary("logsigmoid", functional("logsigmoid"), low=-3, high=3),
    *unary("softsign", functional("softsign"), low=-3, high=3), *unary("tanhshrink", functional("tanhshrink"), low=-3, high=3),
    *unary("pow 3", lambda torch, x: x**3), *unary("pow 2", lambda torch, x: x**2), *unary("pow 1", lambda torch, x: x**1),
    *unary("pow 0", lambda torch, x: x**0), *unary("pow .5", lambda torch, x: x**0.5, low=0.2), *unary("pow -1.5", lambda torch, x: x**-1.5, low=0.2),
    *unary("rpow", lambda torch, x: 2.5**x), *unary("rsub", lambda torch, x: 3 - x), *unary("rdiv", lambda torch, x: 3 / x, low=0.2),
    *unary("add number", lambda torch, x: x + 2.5), *unary("mul number", lambda torch, x: 2.5 * x), *unary("div number", lambda torch, x: x / 2.5),
    *unary("sub number", lambda torch, x: x - 1), *unary("mod number", lambda torch, x: x % 0.7, low=0.1, high=0.6),
    *unary("fmod number", lambda torch, x: torch.fmod(x, 0.7), low=0.1, high=0.6),
    *unary("clamp", lambda torch, x: x.clamp(-0.5, 0.4)), *unary("clamp min", lambda torch, x: x.clamp(min=-0.5)),
    *unary("clamp max", lambda torch, x: torch.clamp(x, max=0.3)), *unary("clamp_min", lambda torch, x: torch.clamp_min(x, 0.1)),
    *unary("clamp_max", lambda torch, x: x.clamp_max(0.1)), *unary("where number", lambda torch, x: torch.where(x > 0.1, x, 2.0)),
    *unary("xlogy right", lambda torch, x: torch.xlogy(x, 2.5)), *unary("xlogy left", lambda torch, x: torch.xlogy(2.5, x), low=0.2),
    *unary("copysign number", lambda torch, x: torch.copysign(x, -2.0), low=0.1), *unary("float_power", lambda torch, x: torch.float_power(x, 3)),
    *unary("lerp same", lambda torch, x: torch.lerp(x, x * x, 0.7)), *unary("mul self", lambda torch, x: x * x),
    *unary("add self", lambda torch, x: x + x), *unary("div self", lambda torch, x: x / (x + 2)),
    *unary("in place", lambda torch, x: (x * 1).sin_().mul_(2).add_(x).exp_()),
    *unary("in place 2", lambda torch, x: (x * 1).clamp_(-0.3, 0.5).square_().sub_(0.1).div_(3).tanh_()),
    *binary("add"), *binary("sub"), *binary("mul"), *binary("div", low=0.3), *binary("pow", low=0.3), *binary("rsub"),
    *binary("maximum"), *binary("minimum"), *binary("fmax"), *binary("fmin"), *binary("max"), *binary("min"), *binary("atan2", low=0.2),
    *binary("hypot", low=0.2), *binary("xlogy", low=0.2), *binary("logaddexp"), *binary("logaddexp2"), *binary("ldexp"),
    *binary("copysign", low=0.1), *binary("remainder", low=0.35, high=0.6), *binary("fmod", low=0.35, high=0.6), *binary("true_divide", low=0.3),
    *binary("add alpha", lambda torch, x, y: torch.add(x, y, alpha=2.5)), *binary("sub alpha", lambda torch, x, y: x.sub(y, alpha=2.5)),
    *binary("lerp", lambda torch, x, y: torch.lerp(x, y, 0.3)), *binary("where", lambda torch, x, y: torch.where(x > y, x, y)),
    *binary("div floor", lambda torch, x, y: torch.div(x, y, rounding_mode="floor"), low=0.5, high=0.9),
    *binary("clamp_min t", lambda torch, x, y: x.clamp_min(y)), *binary("clamp_max t", lambda torch, x, y: x.clamp_max(y)),
    *binary("clamp min t", lambda torch, x, y: x.clamp(min=y)), *binary("clamp max t", lambda torch, x, y: x.clamp(max=y)),
    *binary("prelu like", lambda torch, x, y: torch.where(x > 0, x, x * y)),
    Op("lerp tensor", lambda torch, a, b, w: torch.lerp(a, b, w), [(2, 3), (3,), (2, 1)]),
    Op("lerp tensor far", lambda torch, a, b, w: torch.lerp(a, b, w + 1), [(2, 3), (3,), (2, 1)]),
    Op("addcmul", lambda torch, a, b, c: torch.addcmul(a, b, c, value=2.5), [(3,), (2, 3), (2, 1)]),
    Op("addcdiv", lambda torch, a, b, c: torch.addcdiv(a, b, c, value=2.5), [(3,), (2, 3), (2, 1)], 0.3),
    Op("addcmul_", lambda torch, a, b, c: (a * 1).addcmul_(b, c), [(2, 3), (3,), (2, 1)]),
    Op("addcdiv_", lambda torch, a, b, c: (a * 1).addcdiv_(b, c, value=3), [(2, 3), (3,), (2, 1)], 0.3),
    Op("lerp_", lambda torch, a, b: (a * 1).lerp_(b, 0.3), [(2, 3), (3,)]),
    Op("clamp tt", lambda torch, x, a, b: x.clamp(a, a + b * b), [(2, 3), (3,), (2, 1)]),
    Op("clamp_ tt", lambda torch, x, a, b: (x * 1).clamp_(a, a + b * b), [(2, 3), (3,), (2, 1)]),
    Op("prelu 1", lambda torch, x, w: torch.prelu(x, w), [(2, 3, 2), (1,)]),
    Op("prelu 3", lambda torch, x, w: torch.prelu(x, w), [(2, 3, 2), (3,)]),
    Op("prelu 0d", lambda torch, x, w: torch.prelu(x, w), [(), (1,)]),
    Op("glu", functional("glu"), [(2, 4)]), Op("glu 0", functional("glu", 0), [(4, 3)]),
    Op("copysign_", lambda torch, x, y: (x * 1).copysign_(y), [(2, 3), (3,)]),
    Op("atan2_", lambda torch, x, y: (x * 1).atan2_(y), [(2, 3), (3,)], 0.1), Op("hypot_", lambda torch, x, y: (x * 1).hypot_(y), [(2, 3), (3,)], 0.1),
    Op("pow_", lambda torch, x, y: (x * 1).pow_(y), [(2, 3), (3,)], 0.2), Op("pow_ 2", lambda torch, x: (x * 1).pow_(2)),
    Op("remainder_", lambda torch, x, y: (x * 1).remainder_(y), [(2, 3), (3,)], 0.35, 0.6),
    Op("elu_", lambda torch, x: functional("elu_")(torch, x * 1)), Op("leaky_relu_", lambda torch, x: functional("leaky_relu_")(torch, x * 1)),
    Op("selu_", lambda torch, x: torch.selu_(x * 1)), Op("celu_", lambda torch, x: torch.celu_(x * 1, 2.0)),
    Op("threshold_", lambda torch, x: torch.threshold_(x * 1, 0.1, 3.0)), Op("relu_", lambda torch, x: torch.relu_(x * 1)),
]  # fmt: skip

# What has no derivative at a place is pinned to what PyTorch does there.
EDGE = [[-INF, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 6.0, INF, NAN]]
PAIRS = [[0.0, 0.0, 0.0, -0.0, 1.0, 1.0, -2.0, -2.0, INF, INF, NAN, 1.0, NAN, 2.0, -2.0, 3.0],
         [0.0, 2.0, -2.0, 0.0, 1.0, 0.0, 3.0, -2.0, INF, 1.0, 1.0, NAN, NAN, -INF, 0.5, 2.0]]  # fmt: skip
# At their poles and at infinity PyTorch's gamma functions give 1e32 or nan where the limit is inf or 0; here the limit.
POLES = ("lgamma", "mvlgamma", "digamma", "polygamma", "i0", "i1")
EDGES = [
    *[
        Op(
            f"{op.name.split(' [')[0]} edges",
            op.fn,
            values=EDGE,
            second=op.second,
            tolerance=op.tolerance,
            skip=op.skip,
        )
        for op in SMOOTH
        if op.shapes == [(2, 3)] and op.name.endswith("[2, 3]") and not op.name.startswith(POLES)
    ],
    *[
        Op(f"{op.name.split(' [')[0]} edges", op.fn, values=PAIRS, skip=op.skip)
        for op in SMOOTH
        if op.name.endswith("[2, 3] [2, 3]")
    ],
]


def test_derivatives_agree_with_central_differences():
    each(SMOOTH, check_differences)


def test_live_pytorch_does_the_same():
    each(SMOOTH, check_like_pytorch, pytest.importorskip("torch"))


def test_live_pytorch_does_the_same_at_edges():
    each(EDGES, check_like_pytorch, pytest.importorskip("torch"))


@pytest.mark.parametrize("name", ["igamma", "igammac"])
def test_an_incomplete_gamma_function_waits_for_no_number_that_is_there(name, monkeypatch):
    """Among thousands, some without a value, each number is what it is alone to its last digits, and takes as many steps."""
    numbers, steps = np.random.default_rng(0), itertools.count()
    monkeypatch.setattr(
        numerics, "range", lambda *ends: (k for k in range(*ends) if next(steps) < 500), raising=False
    )
    a, x = numbers.gamma(2, 3, 2000), numbers.gamma(2, 6, 2000)
    a[:9], x[:9] = [0, 0, 1, INF, NAN, -1, -2.5, 3, 2], [0, 1, 0, 2, 1, 1, 3, -1, INF]
    fn = getattr(autograd_lab, name)
    among = fn(autograd_lab.tensor(a), autograd_lab.tensor(x)).numpy()
    assert next(steps) < 500
    monkeypatch.undo()
    alone = [fn(autograd_lab.tensor(a[k]), autograd_lab.tensor(x[k])).item() for k in range(len(a))]
    np.testing.assert_allclose(among, alone, rtol=2e-14, atol=1e-300)
